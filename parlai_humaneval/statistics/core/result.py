"""The one type that every test and estimate of this package returns.

What public functions are asked for, checked: a wrong argument must not come back as a number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field, field_validator

from parlai_humaneval.statistics.core.formatting import format_number, format_p


def check_level(level: float) -> None:
    """Refuse a coverage that no interval can have."""
    if not 0 < level < 1:
        raise ValueError(f"level {level}: expected a share above 0 and below 1; a 95 % interval is level=0.95")


def check_null(null: float | None, limits: tuple[float, float] | None = None) -> None:
    """Refuse a hypothesis that cannot be true; None, where nothing is tested, is one."""
    if null is None:
        return
    least, most = limits or (-math.inf, math.inf)
    if not math.isfinite(null):
        raise ValueError(f"null {null}: expected a finite number, the value that is tested")
    if not least <= null <= most:
        raise ValueError(f"null {null}: expected a value from {least:g} to {most:g}, all that is possible here")


def check_share(numerators: float, denominators: float) -> None:
    """Refuse sums that do not form a share."""
    slack = 1e-9 * max(1.0, denominators)
    if not -slack <= numerators <= denominators + slack:
        raise ValueError(
            f"{numerators:g} of {denominators:g} is not a share: expected numerators that sum to between 0 and the "
            "denominators; take clustered_mean for other values"
        )


OBSERVATIONS_INDEPENDENT = "all observations are independent of each other, also those of one rater"
Detail = float | int | str | None


def called(cluster: str) -> str:
    """A cluster in a sentence."""
    return "rater" if cluster == "worker" else cluster


class Result(BaseModel, extra="forbid", frozen=True):
    """An estimate or a test, its uncertainty, and its assumptions.

    A value that cannot be given is None, never nan, and ``notes`` says why.

    Attributes:
        name: what the number is about ("win rate of A over B").
        estimate: the value, on the scale that ``name`` implies (a share is 0–1).
        ci_low, ci_high: ends of the interval of coverage ``level``.
        statistic: the test statistic.
        p_value: two-sided unless ``method`` says otherwise.
        p_holm: ``p_value`` after Holm's correction over the family it was tested in.
        n: number of observations (turns, dialogues …) used.
        method: test and interval in words.
        assumptions: what must hold for p-value and interval to be right.
        source: paper and section.
        notes: whatever a reader must know before using the numbers.
        details: named extras, such as ``seed``, ``df`` and ``n_workers``.
    """

    name: str
    estimate: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    level: float = 0.95
    statistic: float | None = None
    p_value: float | None = None
    p_holm: float | None = None
    n: int
    method: str
    assumptions: tuple[str, ...] = ()
    source: str = ""
    notes: tuple[str, ...] = ()
    details: dict[str, Detail] = Field(default_factory=dict)

    @classmethod
    def by(
        cls,
        method: str,
        source: str,
        *assumptions: str,
        name: str,
        n: int,
        level: float = 0.95,
        estimate: float | None = None,
        details: Mapping[str, Detail] | None = None,
    ) -> Result:
        """The method behind a number; :meth:`but` fills in the number."""
        how = {"method": method, "source": source, "assumptions": assumptions, "details": dict(details or {})}
        return cls.model_validate({"name": name, "n": n, "level": level, "estimate": estimate, **how})

    @field_validator("estimate", "ci_low", "ci_high", "statistic", "p_value", "p_holm")
    @classmethod
    def _finite(cls, value: float | None) -> float | None:
        """JSON has neither nan nor infinity."""
        return value if value is not None and math.isfinite(value) else None

    @property
    def p_decides(self) -> float | None:
        """The deciding p-value: the corrected one if the test belongs to a family."""
        return self.p_value if self.p_holm is None else self.p_holm

    def __str__(self) -> str:
        parts = [f"{self.name}: {format_number(self.estimate)}"]
        if self.ci_low is not None and self.ci_high is not None:
            parts.append(f"{self.level:.0%} interval {format_number(self.ci_low)} to {format_number(self.ci_high)}")
        if self.statistic is not None:
            parts.append(f"statistic {format_number(self.statistic)}")
        if self.p_value is not None:
            parts.append(format_p(self.p_value))
        if self.p_holm is not None:
            parts.append(f"Holm {format_p(self.p_holm)}")
        return ", ".join([*parts, f"n = {self.n} [{self.method}]"])

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe: plain types, None where there is no value."""
        return self.model_dump(mode="json")

    def but(self, **changes: object) -> Result:
        """The same result with other values of some fields."""
        return self.model_copy(update=changes)

    def explain(self) -> str:
        """The line of ``str()``, then assumptions, sources and warnings."""
        lines = [str(self)]
        lines += [f"  assumes: {text}" for text in self.assumptions]
        lines += [f"  source: {self.source}"] if self.source else []
        lines += [f"  note: {text}" for text in self.notes]
        lines += [f"  {key}: {value}" for key, value in self.details.items()]
        return "\n".join(lines)
