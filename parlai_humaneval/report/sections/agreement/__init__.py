"""The section on agreement: what several people judged, and what was rated once more by somebody else."""

from parlai_humaneval.report.sections.agreement.build import build

__all__ = ["build"]
