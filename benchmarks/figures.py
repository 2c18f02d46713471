"""What every benchmark returns, and how repeated measurements become one value."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, computed_field

PeerSource = Literal["same run", "quoted", "none"]
"""Where the peer's value comes from: measured beside ours, measured before on such a machine, or there is none."""


class Figure(BaseModel):
    """One measured value and the peer's.

    Args:
        name: what was measured.
        unit: of ``ours`` and ``peer``.
        ours: our value, the median over repeats unless ``note`` says otherwise.
        peer: the value of ParlAI's or Mephisto's own way, or None.
        better: whether less or more of the unit is better.
        peer_source: where ``peer`` comes from.
        note: what the peer is, and what the values contain.
        repeats: values behind ``ours``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1)
    unit: str = Field(min_length=1)
    ours: float
    peer: float | None = None
    better: Literal["less", "more"] = "less"
    peer_source: PeerSource = "none"
    note: str = Field(min_length=1)
    repeats: int = Field(default=1, ge=1)

    @computed_field  # type: ignore[prop-decorator]  # pydantic documents it so: mypy knows no decorated property
    @property
    def ratio(self) -> float | None:
        """How many times better ours is (below 1: worse); None without a peer."""
        if self.peer is None or 0 in (self.ours, self.peer):
            return None
        return self.peer / self.ours if self.better == "less" else self.ours / self.peer


def median(values: Iterable[float]) -> float:
    """The middle value. Raises ValueError when there is none."""
    found = list(values)
    if not found:
        raise ValueError("a benchmark gave no value at all")
    return statistics.median(found)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` (0 to 1) of ``values`` lie, by the nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def number(value: float | None) -> str:
    """Three significant digits; a dash for None."""
    if value is None:
        return "–"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
