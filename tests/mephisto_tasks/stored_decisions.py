"""The log of a study that stops once it reaches a decision, beside stored dialogues of models alpha and beta."""

from __future__ import annotations

from pathlib import Path

from stored_study import START, StoredStudy, choices

from mephisto_tasks.storage.logs import DECISIONS
from parlai_humaneval.stopping.events import Outcome
from parlai_humaneval.stopping.rule import StoppingRule
from parlai_humaneval.stopping.study import SequentialStudy

RULE = StoppingRule(models=("alpha", "beta"), margin=0.3, max_dialogues=40)


def decided_study(
    data_dir: Path, task: str, workers: int, *, left: int = 0, names: str = "A1DECIDED{:05}"
) -> SequentialStudy:
    """Up to so many workers with a dialogue of six turns each, in which alpha was chosen five times; its log is stored.

    ``left``: further ones who never answered in time, which the study warns of.
    """
    study, stored = (
        SequentialStudy(RULE, seed=3, technique="sata", setting="soba", metric="preference"),
        StoredStudy(data_dir),
    )
    for number in range(workers):
        if study.ended is not None:
            break
        at = START + 60 * number
        study.arrive(f"name-{number}", at=at)
        study.answer(f"name-{number}", 0, Outcome(picks=(5, 1), turns=6), at=at + 50)
        # alpha stands at odd places in turn
        picked = [[1], [2], [1], [2], [1], [1]]
        stored.add(task, names.format(number), [*choices(f"{task}-{number}", picked, setting="soba")])
    for number in range(left):
        study.arrive(f"gone-{number}", at=START + 60 * workers)
    if left:
        study.look(at=START + 60 * workers + 2 * RULE.timeout)
    DECISIONS.append(data_dir, *study.log, task=task)
    return study
