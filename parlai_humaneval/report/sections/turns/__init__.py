"""The section on turns: who was chosen how often, turn by turn (Smith et al. 2022, Liu et al. 2023)."""

from parlai_humaneval.report.sections.turns.build import build

__all__ = ["build"]
