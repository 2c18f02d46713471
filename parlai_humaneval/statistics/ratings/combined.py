"""Win rates of two techniques put together, and scores of conversations from turns and final ratings (Smith et al. 2022)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval._util.arrays import Floats, Objects
from parlai_humaneval.statistics.core import sign_flip
from parlai_humaneval.statistics.core.clustered import (
    FLIPPED,
    MIN_CLUSTERS,
    SHARE_LIMITS,
    Deviations,
    too_few_clusters,
    with_sign_flips,
)
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.preference.win_rates import pw_combo_score, sm_combo_score, sm_wta_scores
from parlai_humaneval.statistics.ratings.likert import RatedCriterion
from parlai_humaneval.tables.choices import ComparisonGroup

PAIR_TURNS = (2, 6)
"""Turns of PW-Turn in the PW combo (Smith et al. 2022, Table 3)."""
SINGLE_TURNS = (3, 6)
"""Turns of SM-Turn in its combos (App. C.8)."""
SINGLE_WEIGHTS = ((1.0, 5.0), (1.0, 10.0))
"""Turns : final rating. Those that the paper finds to tell models apart fastest (App. C.8)."""
PAIR_SOURCE = "Smith et al. 2022, §5 and Table 3"
_PAPERS_SCALE = (1.0, 5.0)


def pair_combo(
    won_turns: npt.ArrayLike,
    turn_workers: npt.ArrayLike,
    won_dialogs: npt.ArrayLike,
    dialog_workers: npt.ArrayLike,
    *,
    w_turn: float = 1,
    w_dialog: float = 5,
    name: str = "PW combo",
    level: float = 0.95,
) -> Result:
    """The win rate of ratings drawn from turns and from dialogues at ``w_turn`` : ``w_dialog``, clustered by worker.

    Args:
        won_turns: 1 where A won the turn, 0 where B did; turns that decided nothing are left out.
        won_dialogs: the same of comparisons of whole dialogues.
        turn_workers, dialog_workers: whose they are; one who gave both counts as one cluster.

    The estimate is that of :func:`~parlai_humaneval.analysis.pw_combo_score`. Its test is by the workers' weighted
    deviations from both win rates against one half, which holds for workers who gave both, too. p = 1 and no estimate
    where one of the two is empty.

    Assumes that workers are independent.

    Source: Smith et al. 2022, §5 and Table 3.

    >>> turns, turn_workers = [1, 1, 0, 1, 0, 1], list('aabbcc')
    >>> dialogues, dialogue_workers = [1, 0, 1, 1], list('defg')
    >>> print(pair_combo(turns, turn_workers, dialogues, dialogue_workers))
    PW combo: 0.736, 95% interval 0.109 to 1.000, statistic 1.202, p = .28, n = 10 [weighted 1 : 5, sign-flip test,
    clustered by worker]
    """
    parts = [
        (np.asarray(won, dtype=float), np.asarray(workers, dtype=object))
        for won, workers in ((won_turns, turn_workers), (won_dialogs, dialog_workers))
    ]
    base = Result(
        name=name,
        level=level,
        n=sum(len(won) for won, _ in parts),
        method=f"weighted {w_turn:g} : {w_dialog:g}, {FLIPPED}, clustered by worker",
        assumptions=("workers are independent of each other",),
        source=f"{PAIR_SOURCE}; {sign_flip.SOURCE}",
        details={"w_turn": w_turn, "w_dialog": w_dialog, "null": 0.5},
    )
    if not all(len(won) for won, _ in parts):
        return base.but(p_value=1.0, notes=("nothing was decided: nothing can be estimated",))
    turn, dialog = (float(won.mean()) for won, _ in parts)
    share = pw_combo_score(turn, dialog, w_turn, w_dialog)
    base = base.but(estimate=share)
    fewest = min(len(pd.unique(workers)) for _, workers in parts)
    if fewest < MIN_CLUSTERS:
        return base.but(notes=(too_few_clusters(),))
    weights = (w_turn / (w_turn + w_dialog), w_dialog / (w_turn + w_dialog))
    deviations = np.concatenate([w * (won - won.mean()) / len(won) for w, (won, _) in zip(weights, parts, strict=True)])
    rests_on = np.concatenate([np.full(len(won), w / len(won)) for w, (won, _) in zip(weights, parts, strict=True)])
    codes, names = pd.factorize(np.concatenate([workers for _, workers in parts]))
    of_workers, their_weights = (
        np.bincount(codes, weights=values, minlength=len(names)).astype(float) for values in (deviations, rests_on)
    )
    return with_sign_flips(base, Deviations(share, of_workers, their_weights), 0.5, "worker", SHARE_LIMITS)


@dataclass(frozen=True)
class ComboScores:
    """Scores of the conversations of one model: turns, and final rating, weighted ``w_turn`` : ``w_dialog``."""

    model: str
    values: Floats
    workers: Objects


def single_combos(
    turns: ComparisonGroup, rated: RatedCriterion, w_turn: float = 1, w_dialog: float = 5
) -> list[ComboScores]:
    """Of conversations that have both: whether at least half of turns 3–6 were good, and the rating brought to 0–1.

    ``turns``: of single replies. A reversed criterion is turned round. Where the scale is not known it is taken for the
    paper's, 1 to 5; none where ratings lie beyond it. Models by name. Source: Smith et al. 2022, App. C.8.

    Assumes that the steps of the rating scale are equally wide.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> from parlai_humaneval.tables.choices import choice_groups
    >>> from parlai_humaneval.statistics.ratings.likert import likert_groups
    >>> tables = example_tables()
    >>> turns, rated = choice_groups(tables)[1], likert_groups(tables)[0]
    >>> [(scores.model, round(float(scores.values.mean()), 2)) for scores in single_combos(turns, rated)]
    [('ada', 0.77), ('bob', 0.64), ('cyd', 0.24)]
    """
    scale = rated.limits or _PAPERS_SCALE
    chosen = turns.at_turns(*SINGLE_TURNS)
    part = chosen.turns
    if not len(part.turns):
        return []
    keys = pd.MultiIndex.from_arrays([part.dialogues, part.workers])
    codes, conversations = pd.factorize(keys)
    good = np.bincount(codes, weights=np.nansum(chosen.good, axis=1), minlength=len(conversations)).astype(float)
    asked = np.bincount(codes, minlength=len(conversations)).astype(float)
    scores = sm_wta_scores(good, asked)
    found = []
    for one in rated.models:
        own = pd.MultiIndex.from_arrays([one.dialogues, one.workers])
        at = conversations.get_indexer(own)
        both = at >= 0
        ratings = one.values[both]
        if not both.any() or (ratings < scale[0]).any() or (ratings > scale[1]).any():
            continue
        ratings = sum(scale) - ratings if rated.reversed else ratings
        values = sm_combo_score(scores[at[both]], ratings, w_turn, w_dialog, scale=scale)
        found.append(ComboScores(one.model, values, one.workers[both]))
    return found
