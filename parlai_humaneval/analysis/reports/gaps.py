"""Differences between two models, corrected for how many there are."""

from __future__ import annotations

from collections.abc import Sequence

from parlai_humaneval.analysis.correction import holm
from parlai_humaneval.analysis.reports.types import Part
from parlai_humaneval.analysis.result import Result


class Gap(Part):
    """Model A minus model B, clustered by worker, tested against 0; ``difference.p_holm`` once corrected."""

    model_a: str
    model_b: str
    difference: Result

    @property
    def a_leads(self) -> bool:
        """Whether A is the higher one, or as high."""
        return (self.difference.estimate or 0) >= 0

    @property
    def leader(self) -> str:
        return self.model_a if self.a_leads else self.model_b

    @property
    def leader_first(self) -> str:
        """“A over B”, the higher one first."""
        return f"{self.leader} over {self.model_b if self.a_leads else self.model_a}"


def correct_gaps(gaps: Sequence[Gap]) -> None:
    """Holm's correction over the gaps that rest on something and could be tested, if several."""
    tested = [gap for gap in gaps if gap.difference.n and gap.difference.p_value is not None]
    if len(tested) > 1:
        for gap, p in zip(tested, holm([gap.difference.p_value for gap in tested]), strict=True):
            gap.difference = gap.difference.model_copy(update={"p_holm": p})
