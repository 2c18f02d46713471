"""Reports of live techniques: tables in, every number by name out, and its print on a terminal.

A technique is a package of four modules: ``types`` (what its report holds), ``build`` (``build_report``), ``words``
(sentences) and ``render`` (tables). :mod:`~parlai_humaneval.analysis.reports.study` finds them by its name.
"""
