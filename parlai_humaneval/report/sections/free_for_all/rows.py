"""What the section on free-for-alls holds, as rows."""

from __future__ import annotations

from parlai_humaneval.report.section import Part


class GroupPart(Part):
    """Of dialogues that were rated together: of one setting and metric."""

    setting: str
    metric: str

    @property
    def where(self) -> str:
        """“setting, metric”, empty where the table names neither."""
        return ", ".join(part for part in (self.setting, self.metric) if part)


class ModelRow(GroupPart):
    """One model. ``score``: μ − 3σ after all dialogues in order; ``rank`` by it, 1 best. ``strength``: Plackett–Luce."""

    model: str
    rank: int
    points: int
    dialogues: int
    mu: float
    sigma: float
    score: float
    order_low: float
    order_high: float
    bootstrap_low: float | None
    bootstrap_high: float | None
    rank_low: int | None
    rank_high: int | None
    strength: float | None
    strength_low: float | None
    strength_high: float | None


class PairRow(GroupPart):
    """Strength of the first minus that of the second; ``chance``: of the first being chosen over the second."""

    name: str
    models: list[str]
    estimate: float | None
    ci_low: float | None
    ci_high: float | None
    statistic: float | None
    p_value: float | None
    p_holm: float | None
    p_independent: float | None
    chance: float | None
    method: str


class PositionRow(GroupPart):
    """Pull of a position, in log-odds against the mean of all."""

    position: str
    pull: float | None
    ci_low: float | None
    ci_high: float | None
    p_value: float | None


class StabilityRow(GroupPart):
    """See :class:`~parlai_humaneval.statistics.rank_stability.StabilityPoint`; ``turns`` None: all."""

    dialogues: int
    turns: int | None
    same: float
    tau_b: float | None
    samples: int


class GroupRow(GroupPart):
    """Dialogues that were rated together; ``tau_b``, ``pearson``: of TrueSkill scores and Plackett–Luce strengths."""

    n_dialogues: int
    n_turns: int
    n_workers: int
    p_equal: float | None
    p_no_position_effect: float | None
    tau_b: float | None
    pearson: float | None
    draws: int
    seed: int
