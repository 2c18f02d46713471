"""Estimates from a study's evidence on pairs and workers, and reasons to doubt them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from parlai_humaneval._util.data_files import packaged, read_yaml
from parlai_humaneval.statistics.core.formatting import counted
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.sequential import PRIOR_COUNT, PRIOR_VARIANCE, share_interval, squares
from parlai_humaneval.statistics.ranking.bradley_terry import bradley_terry
from parlai_humaneval.statistics.ranking.fit import Strengths
from parlai_humaneval.stopping.batch import Studies
from parlai_humaneval.stopping.events import Outcome, PairStatus
from parlai_humaneval.stopping.simulation import Crowd
from parlai_humaneval.stopping.units import Scores

AFTER = "after optional stopping"
WORDS: Mapping[str, Any] = read_yaml(packaged("stopping_words.yaml"))
NOTE: str = WORDS["after_stopping"]
MANY_TIMED_OUT = 0.03  # From this share on, those who ran out of time may make the answer one about the quick
MANY_LEFT = 0.1  # From so many dialogues (workers) for each worker on, those who leave are warned of
FINE = 12  # Turns by which simulations have a variance that is less than that of single verdicts
SPREADS_OF_RATINGS = np.arange(0.02, 0.51, 0.02)  # Standard deviations, as parts of the scale
MOST_ALIKE = 0.8  # for turns of one worker, in simulations, whatever the data


def pair_status(studies: Studies, pair: int) -> PairStatus:
    """The decision about a pair of the first study, and the evidence of dialogues with these two alone. The interval
    holds all that an interval by either filling holds (see :class:`.Evidence`)."""
    rule, decisions = studies.rule, studies.decisions
    i, j = int(decisions.pairs.first[pair]), int(decisions.pairs.second[pair])
    better, equal = decisions.better[0], bool(decisions.equal[0, pair])
    shares, terms, asked = studies.of_pair(0, pair)
    share, low, high = None, 0.0, 1.0
    if len(shares):
        share = float(shares @ terms / terms.sum())
        is_cut = studies.evidence.filled and bool((terms < asked).any())
        ends = [
            share_interval(shares, filled, asked=asked, margin=rule.margin, level=1 - rule.alpha, last=True)
            for filled in ((terms, asked) if is_cut else (terms,))
        ]
        low, high = min(float(end[0]) for end, _ in ends), max(float(end[0]) for _, end in ends)
    return PairStatus(
        first=rule.models[i],
        second=rule.models[j],
        decided="first" if better[i, j] else "second" if better[j, i] else "equal" if equal else None,
        through=bool(decisions.through[0, i, j] | decisions.through[0, j, i]),
        workers=len(shares),
        dialogues=studies.dialogues_of(0, pair),
        share=share,
        low=low,
        high=high,
    )


def warnings(studies: Studies, *, timed_out: int, cut_off: int, unheard: int) -> tuple[str, ...]:
    """Reasons to doubt the first study: pairs that contradict each other, and workers who left or were too slow.
    ``cut_off``: dialogues that were left in the middle; ``unheard``: workers who left before they had chosen anything.
    """
    models, pairs, words = studies.rule.models, studies.evidence.pairs, WORDS["warnings"]
    said = [
        words["circle"].format(first=models[pairs.first[pair]], second=models[pairs.second[pair]])
        for pair in np.flatnonzero(studies.contradicted()[0])
    ]
    workers, filled = max(1, int(studies.folded[0])), studies.evidence.filled
    if (share := timed_out / workers) > MANY_TIMED_OUT:
        said.append(words["timed_out"].format(workers=counted(timed_out, "rater"), share=share))
    if filled and cut_off > MANY_LEFT * workers:
        said.append(words["cut_off"].format(dialogues=counted(cut_off, "dialogue")))
    if filled and unheard > MANY_LEFT * workers:
        said.append(words["unheard"].format(raters=counted(unheard, "rater"), workers=workers))
    return tuple(said)


def crowd_seen(studies: Studies, outcomes: Sequence[Outcome], dialogues: Sequence[int]) -> Crowd | Scores:
    """Workers with as many turns and ``dialogues``, and as much variance, as those of the first study; before anybody has
    answered, the usual ones."""
    rule = studies.rule
    typical = round(float(np.median([outcome.turns for outcome in outcomes]))) if outcomes else Crowd().turns
    # The variance of a pair's shares between workers, in that of a single turn; what is usual, where few are known.
    seen, possible, known = PRIOR_COUNT * PRIOR_VARIANCE, PRIOR_COUNT / 4, float(PRIOR_COUNT)
    for pair in range(studies.evidence.pairs.count):
        shares, terms, _ = studies.of_pair(0, pair)
        if len(shares) > 1:
            mean = float(shares @ terms / terms.sum())
            seen += float(squares((shares - mean) * terms, terms).sum())
            possible += (len(shares) - 1) * mean * (1 - mean)
            known += len(shares) - 1
    if rule.is_apart:
        at_once = round(float(np.median(dialogues))) if dialogues else 1
        at_once = min(at_once, 2 if rule.shown == "pairs" else len(rule.models))
        variances = [Scores(at_once, within=spread).share_variance() for spread in SPREADS_OF_RATINGS]
        return Scores(at_once, within=float(np.interp(seen / known, variances, SPREADS_OF_RATINGS)))
    if rule.shown == "panel":
        any_number = any(sum(outcome.picks) != outcome.turns for outcome in outcomes)
        like = Scores(len(rule.models), turns=typical, any_number=any_number)
        alike = _alike(seen / known / (like.share_variance() * typical), typical)
        return dataclasses.replace(like, icc=alike)
    if not outcomes:
        return Crowd()
    if studies.evidence.judged:  # what is left of the variance once a judge's predictions are taken off
        typical = max(typical, FINE)
        seen /= float(studies.evidence.help_of_judge(np.zeros(1, dtype=np.int64))[1][0])
    return Crowd(turns=typical, icc=_alike(seen / possible, typical), dialogues=float(np.mean(dialogues)))


def _alike(variance: float, turns: int) -> float:
    """The ICC of turns whose mean has such a variance, in that of a single turn."""
    icc = (variance - 1 / turns) / (1 - 1 / turns) if turns > 1 else 0.0
    return min(max(icc, 0.0), MOST_ALIKE)


def strengths_after_stopping(
    answered: Iterable[tuple[str, tuple[str, ...], Outcome]], *, level: float = 0.95
) -> Strengths | None:
    """Bradley–Terry strengths, clustered by worker and labelled “after optional stopping”; None where there is nothing.
    ``answered``: worker, models and outcome of each dialogue. There are no p-values: those of a fixed study do not
    hold."""
    rows = [
        (models[i], models[j], lead, worker)
        for worker, models, said in answered
        for i, j in combinations(range(len(models)), 2)
        for lead in _leads(said.picks[i], said.picks[j], said.turns)
    ]
    if not rows:
        return None
    found = bradley_terry(*map(list, zip(*rows, strict=True)), slots=False, level=level)
    return found.model_copy(
        update={
            "models": tuple(map(_labelled, found.models)),
            "pairs": tuple(map(_labelled, found.pairs)),
            "equal": _labelled(found.equal),
            "best": None,
            "notes": (*found.notes, NOTE),
        }
    )


def _leads(picks: int, others: int, turns: int) -> list[int]:
    """For each turn: 1 if only the first was chosen, −1 if only the second was, else 0."""
    both = max(0, picks + others - turns)
    won, lost = picks - both, others - both
    return [1] * won + [-1] * lost + [0] * (turns - won - lost)


def _labelled(result: Result) -> Result:
    return result.but(p_value=None, p_holm=None, statistic=None, method=f"{result.method}, {AFTER}")
