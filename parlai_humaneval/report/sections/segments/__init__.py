"""Spot The Bot: who passes for a person, for how long, and why (Deriu et al. 2020)."""

from parlai_humaneval.report.sections.segments.build import build

__all__ = ["build"]
