"""Sequential studies of made-up raters, and the records of their dialogues, for tests of what is shown of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from make_live_records import make_choice

from parlai_humaneval.stopping.events import Answered, Arrived, Outcome, log_rows
from parlai_humaneval.stopping.rule import StoppingRule
from parlai_humaneval.stopping.study import SequentialStudy
from parlai_humaneval.tables.build import tables
from parlai_humaneval.tables.columns import StoppingLog, Tables

TURNS = 6
STRENGTH = {"A": 1.4, "B": 0.0, "C": 0.0}
DESIGN = {"technique": "sata", "setting": "soba", "metric": "preference"}


def stopped(
    *,
    strength: Mapping[str, float] | None = None,
    margin: float = 0.3,
    cap: int = 600,
    seed: int = 1,
    workers: int = 1000,
    slow: int = 0,
    design: Mapping[str, str] = DESIGN,
    **rule: Any,
) -> SequentialStudy:
    """A study of models of these strengths, one worker after the other, to its end or until no ``workers`` are left.

    ``slow``: each so-many-th worker never answers, until they have run out of time.
    """
    odds = {"A": STRENGTH["A"], "B": STRENGTH["B"], "C": STRENGTH["C"]} if strength is None else strength
    whole = StoppingRule(models=tuple(odds), margin=margin, max_dialogues=cap, **rule)
    study, rng = SequentialStudy(whole, seed=seed, **design), np.random.default_rng(seed)
    for number in range(workers):
        if study.ended is not None or study.free < 1:
            break
        (pair,) = study.arrive(f"name{number}", at=60.0 * number).dialogues
        if slow and number % slow == 0:
            continue
        chances = np.exp([odds[model] for model in pair])
        picks = tuple(map(int, rng.multinomial(TURNS, chances / chances.sum())))
        study.finish(f"name{number}", [Outcome(picks=picks, turns=TURNS)], at=60.0 * number + 50)
    return study


def log_of(study: SequentialStudy, name: str = "study") -> StoppingLog:
    """The log as it goes with tables."""
    return StoppingLog(name, tuple(log_rows(study.log)))


def tables_of(study: SequentialStudy) -> Tables:
    """Tables of the dialogues that were answered in a study of two models each, with its log."""
    given = {event.worker: event.dialogues for event in study.log if isinstance(event, Arrived)}
    records = [
        make_choice(
            f"d-{event.worker}",
            [[pair[0]]] * event.outcome.picks[0] + [[pair[1]]] * event.outcome.picks[1],
            models=pair,
            worker=event.worker,
            technique=DESIGN["technique"],
            setting=DESIGN["setting"],
        )
        for event in study.log
        if isinstance(event, Answered)
        for pair in [given[event.worker][event.dialogue]]
    ]
    return replace(tables(records), stopping=(log_of(study),))
