"""Free-for-all (Ma et al. 2023): points, TrueSkill, order-free strengths, and how firm the ranking is."""

from parlai_humaneval.report.sections.free_for_all.make import build

__all__ = ["build"]
