"""The answer to what a study takes that ends when every two of its models are decided."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

STUDIES = {2: 400, 3: 200, 4: 200, 5: 100}
"""Models → studies of each truth that are simulated, if nothing is said: fewer where each takes longer."""


class Needed(BaseModel):
    """What is collected, losses to checks included, and what that takes. ``n``: dialogues; of finished ones, judgements."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    n: int
    n_workers: int
    hours: float
    cost: float


class Truth(BaseModel):
    """What studies take if each model is above the next by ``gap``.

    Attributes:
        name: the gap in words.
        expected, percentile_90: on average, and the most that nine of ten studies take; those in flight at the end count.
        at_cap: share of studies that end at the cap, with pairs open.
        false_claims: share that call one model better that is not, or two equal that are the margin apart.
        of_fixed, of_pooled: expected dialogues, in those of the fixed plans.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    gap: float
    expected: Needed
    percentile_90: Needed
    at_cap: float
    false_claims: float
    of_fixed: float
    of_pooled: float | None


class UntilDecided(BaseModel):
    """A study that ends when every two models are decided, or at its cap.

    Attributes:
        models: how many there are.
        unit: what ``n`` counts: dialogues, or comparisons of finished ones.
        margin, alpha, beta, floor, max_dialogues: of the rule; the cap counts dialogues that checks will drop, too.
        is_cap_chosen: with this cap nearly all studies of equal models end before; otherwise it was given.
        in_flight, turns, icc, ties, dialogues_per_worker, heavy_tail: of the simulated workers.
        fixed: the plan of a fixed study with the same errors, each pair by itself; ``fixed_power`` is its power.
        fixed_pooled: the same of one Bradley–Terry analysis of all dialogues; None of two models.
        truths: what such a study takes, by what is true.
        studies, seed: of the simulation of each truth.
        headline, notes, sources: in words.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    unit: str
    models: int
    margin: float
    alpha: float
    beta: float
    floor: int
    max_dialogues: int
    is_cap_chosen: bool
    in_flight: int
    turns: int
    icc: float
    ties: float
    dialogues_per_worker: float
    heavy_tail: float
    fixed_power: float
    fixed: Needed
    fixed_pooled: Needed | None
    truths: tuple[Truth, ...]
    studies: int
    seed: int
    headline: str = ""
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
