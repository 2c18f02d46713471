"""Section ``comparisons``: who won against whom, over turns, verdicts and finished dialogues."""

from parlai_humaneval.report.sections.comparisons.build import build

__all__ = ["build"]
