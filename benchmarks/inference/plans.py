"""What plans promise, and in how many made-up studies of their size the report finds the gap."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parlai_humaneval.planning.inputs import ask
from parlai_humaneval.planning.made_studies import simulated_power
from parlai_humaneval.planning.plan import plan_study

GAP, SEED, STUDIES, FEW = 0.2, 1, 400, 5
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


TEXT = """
`plan` computes the size of a study for the test that its report uses: with Holm's correction over all pairs, the paper's
p-value if it is larger, strengths for free-for-alls, a single ranking for PW-Turn with more than two models, and scores
standardized by each worker's ratings. *Found* is the share of simulated studies of that size (`plan --simulate`) in which
the report's functions find a difference between the best and the worst model in tidy tables. The standard error follows ±.
The gap is {gap} points unless the row names a different one, the power is .8, and α is .05. *n* is the number of kept
judgements for each pair or for each model.
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
    lines = ["| | n | promised | found |", "| --- | ---: | ---: | ---: |", *map(_line, rows)]
    text = TEXT.format(gap=f"{100 * GAP:.0f}").strip()
    return "\n\n".join(["## What plans promise", text, "\n".join(lines)]) + "\n"


def _line(row: Kept) -> str:
    error = math.sqrt(row.found * (1 - row.found) / row.studies)
    return f"| {row.name} | {row.n:,} | {_share(row.promised)} | {_share(row.found)} ± {_share(error)} |"


def _share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def main() -> None:
    """Print the section."""
    print(section(measured()), end="")


if __name__ == "__main__":
    main()
