"""What plans promise, and in how many made-up studies of their size the report finds the gap."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parlai_humaneval.planning.inputs import ask
from parlai_humaneval.planning.plan import plan_study
from parlai_humaneval.planning.simulation import simulated_power

GAP, SEED, STUDIES, FEW = 0.2, 1, 400, 10
Question = Mapping[str, Any]

QUESTIONS: tuple[tuple[str, Question], ...] = (
    ("SM-Turn", {"technique": "single_model"}),
    ("SM-Turn, two dialogues a worker", {"technique": "single_model", "dialogues_per_worker": 2}),
    ("SM-Turn, three models", {"technique": "single_model", "models": 3}),
    ("SM-Turn, one model 15 points from .80", {"technique": "single_model", "models": 1, "gap": 0.15}),
    ("PW-Turn", {"technique": "pw_turn"}),
    ("PW-Turn, a gap of 40 points", {"technique": "pw_turn", "gap": 0.4}),
    ("PW-Turn, unequal workers", {"technique": "pw_turn", "worker_inequality": 1.0, "dialogues_per_worker": 3}),
    ("PW-Turn, four models", {"technique": "pw_turn", "models": 4}),
    ("PM-SATA", {"technique": "sata"}),
    ("MM-SATA, four models at once", {"technique": "sata", "models": 4}),
    ("MM-SATA, pairs of four", {"technique": "sata", "models": 4, "tests": "pairs"}),
    ("MM-SOBA, pairs of four", {"technique": "sata", "setting": "soba", "models": 4, "tests": "pairs"}),
    ("FFAEval", {"technique": "free_for_all"}),
    ("FFAEval, four models at once", {"technique": "free_for_all", "models": 4}),
    ("FFAEval, pairs of four", {"technique": "free_for_all", "models": 4, "tests": "pairs"}),
    ("Arena", {"technique": "arena"}),
    ("Arena, three models", {"technique": "arena", "models": 3}),
    ("PW-Dialog, self-chats", {"technique": "pw_dialog"}),
    ("PW-Dialog, four models", {"technique": "pw_dialog", "models": 4}),
    ("PW-Dialog, dialogues differ (SD .7)", {"technique": "pw_dialog", "dialogue_sd": 0.7}),
    ("Spot The Bot", {"technique": "spot_the_bot"}),
    ("Spot The Bot, three bots", {"technique": "spot_the_bot", "models": 3}),
    ("Spot The Bot, dialogues differ (ICC .1)", {"technique": "spot_the_bot", "dialogue_icc": 0.1}),
    ("Direct assessment", {"technique": "direct_assessment"}),
    ("Direct assessment, five models, 30 points", {"technique": "direct_assessment", "models": 5, "gap": 0.3}),
    ("Direct assessment, three dialogues a model", {"technique": "direct_assessment", "dialogues_per_worker": 9}),
)
"""Every technique, with two models and with more, workers of one dialogue and of several, equal ones and others."""


@dataclass(frozen=True)
class Kept:
    """A plan: its judgements a sample, what it promises, and the share of ``studies`` in which the report finds the gap."""

    name: str
    n: int
    promised: float
    found: float
    studies: int

    @property
    def error(self) -> float:
        """Standard error of the simulation, at the promise."""
        return math.sqrt(self.promised * (1 - self.promised) / self.studies)


FORMER: Mapping[str, tuple[int, float, float, int]] = {
    "SM-Turn": (84, 0.823, 0.831, 1_000),
    "SM-Turn, two dialogues a worker": (114, 0.842, 0.843, 1_000),
    "SM-Turn, one model 15 points from .80": (121, 0.835, 0.859, 1_000),
    "PW-Turn": (254, 0.811, 0.840, 100),
    "PW-Turn, four models": (389, 0.806, 0.987, 150),
    "PM-SATA": (253, 0.821, 0.770, 100),
    "FFAEval": (439, 0.831, 0.740, 100),
    "FFAEval, four models at once": (347, 0.878, 0.880, 150),
    "Arena": (229, 0.807, 0.790, 100),
    "PW-Dialog, self-chats": (260, 0.808, 0.760, 100),
    "Spot The Bot": (1_325, 0.803, 0.840, 100),
    "Direct assessment": (124, 0.799, 0.473, 150),
    "Direct assessment, five models, 30 points": (94, 0.802, 0.673, 150),
}
"""Of plans before they were sized for what reports go by: judgements, promise, share found by the report, of how many."""


TEXT = """
`plan` sizes a study for what its report goes by: Holm's correction over all pairs, the paper's p where that is the larger,
strengths of a free-for-all, one ranking of more than two models of PW-Turn, and scores that each worker's ratings
standardise. *Found* is the share of made-up studies of that size (`plan --simulate`) of which tidy tables were made, and in
which the functions of the report tell the best from the worst model; behind ±, one standard error. The gap is {gap} points
unless another is named, power .8, α .05; *n*: kept judgements of a pair, or of a model. *Before* are plans for the clustered
test of one pair alone, whose studies were simulated by tests that the planner derived itself.
"""


def measured(studies: int = STUDIES, questions: Iterable[tuple[str, Question]] = QUESTIONS) -> list[Kept]:
    """Every plan and its promise."""
    rows = []
    for name, question in questions:
        asked = ask(**{"gap": GAP, "seed": SEED, **question})
        plan, found = plan_study(asked), simulated_power(asked, replicates=studies)
        rows.append(Kept(name, plan.n_per_sample, plan.power, float(found.estimate or 0.0), studies))
    return rows


def section(rows: Sequence[Kept]) -> str:
    """The part of the page that is about plans, in Markdown."""
    lines = [
        "| | n | promised | found | before: n | promised | found |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        *(_line(row) for row in rows),
    ]
    text = TEXT.format(gap=f"{100 * GAP:.0f}").strip()
    return "\n\n".join(["## What plans promise", text, "\n".join(lines)]) + "\n"


def _line(row: Kept) -> str:
    cells = [row.name, *_cells(row.n, row.promised, row.found, row.studies)]
    former = FORMER.get(row.name)
    cells += _cells(*former) if former else ["", "", ""]
    return f"| {' | '.join(cells)} |"


def _cells(n: int, promised: float, found: float, studies: int) -> list[str]:
    error = math.sqrt(found * (1 - found) / studies)
    return [
        f"{n:,}",
        *(f"{share:.3f}".removeprefix("0") for share in (promised,)),
        f"{_share(found)} ± {_share(error)}",
    ]


def _share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def main() -> None:
    """Print the section."""
    print(section(measured()), end="")


if __name__ == "__main__":
    main()
