"""The section on 0–100 slider ratings: how good each model was found by workers who can tell a degraded one."""

from parlai_humaneval.report.sections.direct_assessment.build import build

__all__ = ["build"]
