"""The section on the study's design: how alike answers of one worker are, and which gaps the data could show."""

from parlai_humaneval.report.sections.design.build import build

__all__ = ["build"]
