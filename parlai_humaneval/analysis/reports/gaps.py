"""Two models against each other: differences and win rates, corrected for how many there are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from parlai_humaneval.analysis.reports.types import Part
from parlai_humaneval.statistics.correction import corrected
from parlai_humaneval.statistics.result import Result


class Contest(Part):
    """Two models of which one may be ahead."""

    model_a: str
    model_b: str

    @property
    @abstractmethod
    def tested(self) -> Result:
        """What says whether one is ahead, clustered by worker."""

    @property
    @abstractmethod
    def a_leads(self) -> bool:
        """Whether A is the higher one, or as high."""

    @property
    def leader(self) -> str:
        return self.model_a if self.a_leads else self.model_b

    @property
    def leader_first(self) -> str:
        """“A over B”, the higher one first."""
        return f"{self.leader} over {self.model_b if self.a_leads else self.model_a}"


class Gap(Contest):
    """Model A minus model B, clustered by worker, tested against 0; ``difference.p_holm`` once corrected."""

    difference: Result

    @property
    def tested(self) -> Result:
        return self.difference

    @property
    def a_leads(self) -> bool:
        return (self.difference.estimate or 0) >= 0


def correct_gaps(gaps: Sequence[Gap]) -> None:
    """Holm's correction over the gaps that rest on something and could be tested, if several."""
    for gap, result in zip(gaps, corrected([gap.difference for gap in gaps]), strict=True):
        gap.difference = result
