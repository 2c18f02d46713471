"""A report as a document: facts and sections in; HTML, JSON, CSV, LaTeX and a print on a terminal out.

``model`` (what it holds) · ``making`` (tables → document) · ``html``, ``latex``, ``files``, ``terminal`` (ways out). What
a section says stands in :mod:`parlai_humaneval.report.sections`; nothing here calculates a statistic.
"""
