"""The public function for tables: people's answers on some items and a judge's on all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from parlai_humaneval._util.arrays import Floats
from parlai_humaneval.statistics.core.clustered import SHARE_LIMITS, Limits
from parlai_humaneval.statistics.core.means import clustered_difference, clustered_mean
from parlai_humaneval.statistics.core.multiplicity import Family, corrected
from parlai_humaneval.statistics.core.result import Detail, Result, check_level
from parlai_humaneval.statistics.core.two_way import crossed_share
from parlai_humaneval.statistics.judges.answers import compared, levels, people_and_judge
from parlai_humaneval.statistics.judges.prediction_powered import (
    Answers,
    Matched,
    Question,
    combined,
    evidence_of_rates,
    matched,
)
from parlai_humaneval.statistics.ranking.plackett_luce import fitted_strengths
from parlai_humaneval.tables.columns import TableError, Tables


@dataclass(frozen=True)
class StrengthsWithJudge:
    """Each model's strength, each two models' difference, and the answers behind them."""

    models: list[Result]
    pairs: list[Result]
    answers: Matched


def strengths_with_judge(
    people: pd.DataFrame, judge: pd.DataFrame, unit: str, *, level: float
) -> StrengthsWithJudge | None:
    """Strengths by people and judge together; None where no strength can be estimated, or the judge answered nothing."""
    fitted = fitted_strengths(people, level=level)
    rows, influence = fitted.rows, fitted.influence
    if rows is None or influence is None:
        return None
    known = people[fitted.kept]
    pairs = set(zip(known["model_a"], known["model_b"], strict=True))
    theirs = judge[[pair in pairs for pair in zip(judge["model_a"], judge["model_b"], strict=True)]]
    if not len(theirs):
        return None
    both = matched(_answers(known, pairs), _answers(theirs, pairs))
    if not both.known.any():
        return None
    # Parameters × items: how the judge's answers to each, averaged, would move the parameters; items as in
    # ``matched``.
    moved = fitted.moved_by(theirs["model_a"], theirs["model_b"], theirs["outcome"])
    names = theirs["item"] + " of " + theirs["model_a"] + " and " + theirs["model_b"]
    codes, items = pd.factorize(names.to_numpy(dtype=object))
    size = np.bincount(codes, minlength=len(items))
    evidence = both.evidence(
        influence, np.stack([np.bincount(codes, weights=row, minlength=len(items)) / size for row in moved])
    )
    power = evidence.tuned(rows)
    units = len(known) if unit == "comparison" else int(known["dialogue_a"].nunique())
    first, second = (pd.Index(fitted.known).get_indexer(pd.Index(known[side])) for side in ("model_a", "model_b"))
    alone = {result.name: result for result in (*fitted.strengths.models, *fitted.strengths.pairs)}

    def answer(name: str, of: Floats) -> Result:
        """Test a combination of the strengths; ``of`` holds the weight of each model."""
        sizes = np.abs(of)[first] + np.abs(of)[second]
        return combined(evidence, Question(alone[name], of @ rows, sizes, unit, units, null=0.0), power)

    single = np.eye(len(fitted.known))
    return StrengthsWithJudge(
        models=[answer(f"strength of {name}", single[place]) for place, name in enumerate(fitted.known)],
        pairs=[
            answer(f"{fitted.known[a]} over {fitted.known[b]}", single[a] - single[b])
            for a, b in combinations(range(len(fitted.known)), 2)
        ],
        answers=both,
    )


def _answers(rows: pd.DataFrame, pairs: set[tuple[str, str]]) -> Answers:
    """Comparisons by pair. Their values are unused, because a strength is not a mean of them."""
    order = {pair: number for number, pair in enumerate(sorted(pairs))}
    strata = np.array([order[pair] for pair in zip(rows["model_a"], rows["model_b"], strict=True)], dtype=np.intp)
    items = (rows["item"] + " of " + rows["model_a"] + " and " + rows["model_b"]).to_numpy(dtype=object)
    workers, first, second = (rows[name].to_numpy(dtype=object) for name in ("worker_id", "dialogue_a", "dialogue_b"))
    ones = np.ones(len(rows))
    return Answers(ones, ones, strata, items, workers, (first, second))


_PAIRED = ("technique", "setting", "kind", "metric")
_RATED = ("scope", "source", "technique", "setting", "metric", "criterion")
_UNITS = {"dialogue": "comparison"}  # What people judged, by the kind of a comparison; else a dialogue
_MAY_DIFFER = ("technique", "setting")
_MAY_DIFFER_OF_RATINGS = (*_MAY_DIFFER, "source", "metric")
"""What a judge's answers are called tells them apart only where people's have the same names."""


def prediction_powered(tables: Tables, judge: Tables | str, *, level: float = 0.95) -> list[Result]:
    """Combine people's answers on some items with a judge's answers on all, for everything that both answered.

    Win rates of pairs, Bradley–Terry strengths, means of ratings on scales and sliders, shares of good turns and of
    speakers who were taken for people. The judge may be useless or biased: its bias is measured where people answered
    too, and taken off. Its weight λ is chosen from the data, and an answer is people's alone where the judge does not
    help, so that no interval is wider than people's by more than 1 %, and of fewer than six effective workers.

    Args:
        tables: people's answers. Rows whose column ``rater_kind`` says ``judge`` are left out.
        judge: the judge's answers in tables of the same columns, to what people answered and to more of the same kind;
            or the name under which ``tables`` contains them, next to people's or among them. Answers are matched by
            dialogue, turn, pair or model, and metric or criterion; several to the same (both orders, several judges) are
            averaged.
        level: coverage of the intervals.

    Returns:
        A result for each question. Its first note is the gain in words. ``details``: ``people`` with ``people_low`` and
        ``people_high`` (the answer by people alone), ``judge`` (that by the judge alone), ``lambda``, ``gain`` (people's
        variance by this one), ``human`` and ``worth`` (so many human dialogues are worth so many), ``judged_only`` (what
        only the judge answered); ``technique``, ``setting``, ``metric``. Holm's correction is over the pairs of a
        question.

    Raises:
        TableError: either one is not tables, there are no answers of people or of the judge, both are the same, none of them
            are on the same, or the judge answered nothing but what people answered.
        ValueError: ``level`` is not between 0 and 1.

    Assumes that what people judged was drawn by chance from what the judge judged, that the judge judged both alike, and
    that answers without a common worker or dialogue are independent. For one look at data that are complete: it is not
    for studies that stop once they reach a decision.

    Source: Angelopoulos, Duchi & Zrnic 2023, PPI++; clusters: Cameron, Gelbach & Miller 2011.

    >>> from dataclasses import replace
    >>> from parlai_humaneval.tables.example import example_tables
    >>> everyone = example_tables()
    >>> nothing = {name: getattr(everyone, name)[:0] for name in ('turns', 'comparisons', 'ratings')}
    >>> labels = everyone.segments
    >>> people = replace(everyone, segments=labels[labels['worker_id'] < 'w6'], **nothing)
    >>> judge = replace(everyone, segments=labels.assign(worker_id='gpt'), **nothing)
    >>> ada = prediction_powered(people, judge)[0]
    >>> print(ada)
    share of ada, taken for human: 0.553, 95% interval 0.422 to 0.678, n = 36 [prediction-powered t, clustered by rater
    and dialogue]
    >>> print(ada.notes[0])
    these 12 human dialogues are worth 16
    """
    check_level(level)
    people, judged = people_and_judge(tables, judge)
    of_people, of_judge = (compared(people), levels(people)), (compared(judged), levels(judged))
    _check_answers(of_people, "tables: people answered nothing that counts")
    _check_answers(of_judge, "judge: it answered nothing that counts")
    results = [
        *_of_pairs(*_alike(of_people[0], of_judge[0], _MAY_DIFFER), level),
        *_of_levels(*_alike(of_people[1], of_judge[1], _MAY_DIFFER_OF_RATINGS), level),
    ]
    if not results:
        raise _nothing_matched(of_people, of_judge)
    if not any(result.details["judged_only"] for result in results):
        what = "it answered only what people answered as well, so it adds nothing to their answers"
        raise TableError(what, where="judge", try_="let it answer the other dialogues as well")
    return results


Both = tuple[pd.DataFrame, pd.DataFrame]


def _check_answers(frames: Both, words: str) -> None:
    if not sum(map(len, frames)):
        raise TableError("expected finished comparisons, turns, ratings or segments", where=words)


def _nothing_matched(people: Both, judge: Both) -> TableError:
    pairs: list[str] = []
    for of_people, of_judge, names in zip(people, judge, (("metric", "item"), ("criterion", "item")), strict=True):
        if len(of_people) and len(of_judge):
            firsts = [" of ".join(repr(str(rows[name].iloc[0])) for name in names) for rows in (of_people, of_judge)]
            pairs.append(f"people's first answer is about {firsts[0]}, the judge's to {firsts[1]}")
    hint = f" ({'; '.join(pairs)})" if pairs else ": they hold different kinds of answers"
    return TableError(
        f"none of its answers is about an item that people answered{hint}",
        where="judge",
        try_="use the same names of dialogues, turns, models and metrics or criteria",
    )


def _alike(people: pd.DataFrame, judge: pd.DataFrame, may_differ: Sequence[str]) -> Both:
    """Both; what the judge's answers are called is emptied where it is none of people's names, to fit any of them."""
    for name in may_differ:
        if not set(people[name]) & set(judge[name]):
            judge = judge.assign(**{name: None})
    return people, judge


def _groups(
    people: pd.DataFrame, judge: pd.DataFrame, columns: Sequence[str]
) -> Iterator[tuple[dict[str, str], pd.DataFrame, pd.DataFrame]]:
    for key, rows in people.groupby(list(columns), sort=True):
        names = dict(zip(columns, (str(part) for part in key), strict=True))
        fits = np.ones(len(judge), dtype=bool)
        for name, value in names.items():
            fits &= (judge[name].isna() | judge[name].eq(value)).to_numpy(dtype=bool)
        if fits.any():
            yield names, rows, judge[fits]


def _of_pairs(people: pd.DataFrame, judge: pd.DataFrame, level: float) -> Iterator[Result]:
    for names, rows, of_judge in _groups(people, judge, _PAIRED):
        family = Family(names["technique"], names["setting"], names["metric"])
        unit = _UNITS.get(names["kind"], "dialogue")
        rates = []
        for pair, own in rows.groupby(["model_a", "model_b"], sort=True):
            a, b = (str(model) for model in pair)
            theirs = of_judge[(of_judge["model_a"].eq(a) & of_judge["model_b"].eq(b)).to_numpy(dtype=bool)]
            both = matched(_decided_wins(own), _decided_wins(theirs))
            if both.known.any():
                of, name = both.people, f"win rate of {a} over {b}"
                alone = crossed_share(of.values, of.counted, of.workers, of.dialogues, name=name, level=level)
                units = len(own) if names["kind"] == "dialogue" else int(own["dialogue_a"].nunique())
                parts = (alone, np.ones(1), of.counted, unit, units)
                question = Question(*parts, null=0.5, limits=SHARE_LIMITS, share=True)
                rates.append(_with_question(_of_rates(both, question), both, names))
        yield from corrected(rates, [family] * len(rates))
        two = (rows["n_models"] == 2).to_numpy(dtype=bool)
        found = strengths_with_judge(rows[two], of_judge, unit, level=level) if rates and two.any() else None
        if found is not None:
            yield from (_with_question(result, found.answers, names) for result in found.models)
            pairs = [_with_question(result, found.answers, names) for result in found.pairs]
            yield from corrected(pairs, [family] * len(pairs))


def _decided_wins(rows: pd.DataFrame) -> Answers:
    outcome = rows["outcome"].to_numpy(dtype=float)
    items, workers, first, second = (
        rows[name].to_numpy(dtype=object) for name in ("item", "worker_id", "dialogue_a", "dialogue_b")
    )
    nothing = np.zeros(len(rows), dtype=np.intp)
    return Answers((outcome > 0).astype(float), (outcome != 0).astype(float), nothing, items, workers, (first, second))


def _of_rates(both: Matched, question: Question, signs: Sequence[float] = (1.0,)) -> Result:
    evidence = evidence_of_rates(both, signs)
    result = combined(evidence, question, evidence.tuned(np.ones((1, 1))))
    strata = [both.judge.strata == stratum for stratum in range(len(signs))]
    counted = [float(both.judge.counted[here].sum()) for here in strata]
    values = [float(both.judge.values[here].sum()) for here in strata]
    of_judge = sum(sign * x / n for sign, x, n in zip(signs, values, counted, strict=True)) if all(counted) else None
    return result.but(details={**result.details, "judge": of_judge})


def _with_question(result: Result, both: Matched, names: dict[str, str]) -> Result:
    question = names.get("criterion") or names["metric"]
    missing = int((~both.known).sum())
    notes = (
        (f"{missing:,} of {len(both.known):,} answers of people are about items that the judge did not answer",)
        if missing
        else ()
    )
    details: dict[str, Detail] = {
        **result.details,
        "judged_only": both.only_judged,
        **{name: names[name] for name in ("technique", "setting", "metric")},
    }
    return result.but(name=f"{result.name}, {question}", notes=(*result.notes, *notes), details=details)


def _of_levels(people: pd.DataFrame, judge: pd.DataFrame, level: float) -> Iterator[Result]:
    for names, rows, of_judge in _groups(people, judge, _RATED):
        of_judge = _on_scale(of_judge, _scale(rows))
        models = [str(model) for model in sorted(rows["model"].unique()) if of_judge["model"].eq(model).any()]
        for model in models:
            both = matched(_rated(rows, [model]), _rated(of_judge, [model]))
            if both.known.any():
                yield _with_question(_mean(both, rows, model, level), both, names)
        gaps = []
        for a, b in combinations(models, 2):
            both = matched(_rated(rows, [a, b]), _rated(of_judge, [a, b]))
            if all(both.known[both.people.strata == stratum].any() for stratum in (0, 1)):
                gaps.append(_with_question(_difference(both, rows, (a, b), level), both, names))
        family = Family(names["technique"], names["setting"], names["metric"], names["criterion"])
        yield from corrected(gaps, [family] * len(gaps))


def _rated(rows: pd.DataFrame, models: Sequence[str]) -> Answers:
    place = pd.Index(models).get_indexer(pd.Index(rows["model"].to_numpy(dtype=object)))
    own, strata = rows[place >= 0], np.asarray(place[place >= 0], dtype=np.intp)
    items = (own["model"] + " in " + own["item"]).to_numpy(dtype=object)
    workers, dialogues = (own[name].to_numpy(dtype=object) for name in ("worker_id", "dialogue"))
    values = own["value"].to_numpy(dtype=float)
    return Answers(values, np.ones_like(values), strata, items, workers, (dialogues, dialogues))


def _scale(rows: pd.DataFrame) -> Limits:
    low, high = rows["low"].min(), rows["high"].max()
    return None if pd.isna(low) or pd.isna(high) else (float(low), float(high))


def _on_scale(judge: pd.DataFrame, limits: Limits) -> pd.DataFrame:
    """The judge's values on people's scale, where both are known: λ, at most 1, could not make up for a smaller one."""
    own = _scale(judge)
    if limits is None or own is None or own == limits or own[0] >= own[1]:
        return judge
    return judge.assign(value=np.interp(judge["value"].to_numpy(dtype=float), own, limits))


def _mean(both: Matched, rows: pd.DataFrame, model: str, level: float) -> Result:
    of, shown, limits = both.people, both.people.dialogues[0], _scale(rows)
    share, units = limits == SHARE_LIMITS, len(pd.unique(shown))
    name = f"{'share' if share else 'mean'} of {model}"
    alone = clustered_mean(of.values, of.workers, dialogues=shown, name=name, limits=limits, level=level)
    return _of_rates(both, Question(alone, np.ones(1), of.counted, "dialogue", units, limits=limits, share=share))


def _difference(both: Matched, rows: pd.DataFrame, models: tuple[str, str], level: float) -> Result:
    of, limits = both.people, _scale(rows)
    span = None if limits is None else (limits[0] - limits[1], limits[1] - limits[0])
    a, b = of.strata == 0, of.strata == 1
    sides = [part[here] for here in (a, b) for part in (of.values, of.workers)]
    shown, units = (of.dialogues[0][a], of.dialogues[0][b]), len(pd.unique(of.dialogues[0]))
    name = f"{'share' if limits == SHARE_LIMITS else 'mean'} of {models[0]} − {models[1]}"
    alone = clustered_difference(*sides, name=name, limits=span, level=level, dialogues=shown)
    question = Question(alone, np.ones(1), of.counted, "dialogue", units, null=0.0, limits=span)
    return _of_rates(both, question, (1.0, -1.0))
