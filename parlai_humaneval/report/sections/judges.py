"""Section ``judges``: how far models that were asked what raters were asked agree with them, and what else they go by.

Only where there are judges. No number of another section rests on their answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from parlai_humaneval.report.rows import Labels, Row, columns, ends, part_table, published, whole
from parlai_humaneval.report.section import Options, Section
from parlai_humaneval.report.sections.agreement import Judged, Scale, Source, questions
from parlai_humaneval.report.views import DataTable, Figure, Method, interval_figures, method
from parlai_humaneval.statistics.core.clustered import cluster_sums, clustered_share
from parlai_humaneval.statistics.core.formatting import ABSENT, counted, format_range, percent, signed
from parlai_humaneval.statistics.core.means import clustered_mean
from parlai_humaneval.statistics.core.multiplicity import ALPHA
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.judges.bias import (
    choices,
    first_chosen,
    inconsistent,
    judged_lengths,
    longest_chosen,
)
from parlai_humaneval.statistics.raters.agreement import (
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    pair_agreement,
    percent_agreement,
    rating_counts,
)
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.filters import is_set

MOST_LABELS = 10
"""κ asks for the very same answer: on longer scales that says nothing."""
GOES_BY_PLACE = 0.95
"""Who takes what stands in one place so often says nothing of the candidates."""
_GROUP = ["technique", "setting", "metric"]
_JUDGE = "\x1fjudge "
"""Before the name of a judge, where its rows stand among those of people: a worker may have the same name. (pandas reads no
text beyond a NUL, so that two judges would be one.)"""


class AgreementRow(Row):
    """How far a judge agrees with people on ``what``, and they with each other.

    ``n``: pairs of an answer of the judge and one of a person about the same thing, of ``n_things``; both orders count.
    ``same``, ``kappa`` (Cohen's) and ``alpha``: of these pairs. ``people_…``: of two people who answered about the same
    thing, among those that the judge answered about (κ is Fleiss'); None where nobody did. ``ceiling``: the most that
    anybody with one answer for each thing could agree with these people. ``difference``: of ratings, the judge minus people.
    """

    FROM = published(
        ends("same", "percent", "percent"),
        ends("people_same", "people_percent", "people_percent"),
        whole("kappa", "alpha", "people_kappa", "people_alpha", "difference"),
        ceiling="ceiling.estimate",
        p_difference="difference.p_value",
    )

    judge: str
    source: Source
    technique: str
    setting: str
    metric: str
    what: str
    scale: Scale
    n: int
    n_things: int
    n_dialogues: int
    same: Result
    kappa: Result | None
    alpha: Result
    people_things: int
    people_same: Result | None
    people_kappa: Result | None
    people_alpha: Result | None
    ceiling: Result | None
    difference: Result | None


class PairRow(Row):
    """Two models by the judge and by people, on the same things. ``judge_rate``, ``people_rate``: A's share of what was won,
    ties as half, each thing once. ``difference``: the judge's minus people's, thing by thing, clustered by dialogue."""

    FROM = published(
        whole("kappa", "judge_rate", "people_rate", "difference"),
        ends("same", "percent", "percent"),
        p_difference="difference.p_value",
    )

    judge: str
    technique: str
    setting: str
    metric: str
    kind: str
    model_a: str
    model_b: str
    n: int
    n_things: int
    same: Result
    kappa: Result
    judge_rate: Result
    people_rate: Result
    difference: Result


class BiasRow(Row):
    """What a judge goes by beside the candidates, where it chose one of ``options``. ``chance``: one of them.

    ``first``: what stood first was chosen; ``changed``: its second order has another answer than the first, of
    ``n_both``; ``longest``: the longest was chosen, beside how often people did so among the same.
    """

    FROM = published(
        whole("first", "changed", "longest"),
        p_first="first.p_value",
        n_both="changed.n",
        people_longest="people_longest.estimate",
    )

    judge: str
    technique: str
    setting: str
    metric: str
    options: int
    n: int
    chance: float
    first: Result
    changed: Result | None
    longest: Result
    people_longest: Result


class FamilyRow(Row):
    """Models of the judge's own house against others. ``excess``: how much more they win by the judge than by people."""

    FROM = published(whole("judge_rate", "people_rate", "excess"), p_excess="excess.p_value")

    judge: str
    technique: str
    setting: str
    metric: str
    family: str
    n_things: int
    judge_rate: Result
    people_rate: Result
    excess: Result


class JudgeRow(Row):
    """What a judge is, what it was asked, and what that took. ``cost``: in ``currency``, where it has a price."""

    judge: str
    model: str
    served_model: str
    version: str
    asked: int
    answered: int
    refused: int
    unparsable: int
    reminded: int
    prompt_tokens: int
    completion_tokens: int
    estimated: bool
    cost: float | None
    currency: str


class Judges(Section):
    """Models that answered what raters were asked, beside the raters."""

    TITLE: ClassVar[str] = "Judges, which are models, beside people"

    judges: list[JudgeRow]
    agreement: list[AgreementRow]
    pairs: list[PairRow]
    bias: list[BiasRow]
    family: list[FamilyRow]
    seed: int
    draws: int

    def data_tables(self) -> list[DataTable]:
        with_people = (
            "Pairs of an answer of the judge and one of a person; both orders count. People: two people on the same thing, "
            "Fleiss' κ. Ceiling: the most that one answer for each thing could agree with these people.",
        )
        tables = [
            part_table(
                "judges_agreement", "Agreement with people", _AGREEMENT, self.agreement, with_people, ("judge",)
            ),
            part_table("judges_pairs", "Two models by the judge and by people", _PAIRS, self.pairs, (), ("judge",)),
            part_table("judges_bias", "Place and length", _BIAS, self.bias, (), ("judge",)),
            part_table("judges_family", "Models of the judge's own house", _FAMILY, self.family, (), ("judge",)),
            part_table("judges_asked", "What judges were asked, and what it took", _ASKED, self.judges),
        ]
        return [table for table in tables if table.rows]

    def figures(self) -> list[Figure]:
        found: list[tuple[str, Result | None]] = []
        for row in self.agreement:
            found += [
                (f"{_named(row)}: {row.judge} and people", row.alpha),
                (f"{_named(row)}: people", row.people_alpha),
            ]
        title = "Krippendorff's α of judges with people, and of people (0: chance, 1: full agreement)"
        return [*interval_figures("judges_alpha", title, "α", found, reference=0.0)]

    def methods(self) -> list[Method]:
        return [
            method("judges", "judges", draws=self.draws, seed=self.seed),
            method("judges", "place_length_and_house"),
        ]

    def in_short(self) -> list[str]:
        """A line for each judge: that it is one, and how far it agrees."""
        return [line for judge in self.judges for line in _key_findings(self, judge)]


def build(tables: Tables, options: Options) -> Judges | None:
    """Of all judges; None where none was asked."""
    if tables.judges is None or tables.judges.judgements.empty:
        return None
    matched = list(_matched(tables, tables.judges))
    lengths = judged_lengths(tables.judgements)
    by_people, by_judges = choices(tables, lengths), choices(tables.judges, lengths)
    section = Judges(
        judges=[_asked(name, rows) for name, rows in _by_judge(tables.judges.judgements)],
        agreement=[_agreement(one, options) for one in matched],
        pairs=[row for one in matched for row in _pairs(one, options)],
        bias=[row for key, rows in _by_options(by_judges) for row in _bias(key, rows, by_people, options)],
        family=[
            row
            for name, rows in _by_judge(tables.judges.judgements)
            for row in _family(name, _families(rows), [one for one in matched if one.judge == name], options)
        ],
        seed=options.seed,
        draws=options.draws,
    )
    section.headline = " ".join(section.in_short())
    section.remarks = [*_remarks(section)]
    return section


@dataclass(frozen=True)
class Matched:
    """What a judge and people answered about the same things: rows of :class:`~.rated_things.Judged` of either."""

    judge: str
    question: Judged
    by_judge: pd.DataFrame
    by_people: pd.DataFrame

    @property
    def pairs(self) -> pd.DataFrame:
        """A row for each answer of the judge and each person's about the same: ``judged``, ``label``, ``dialogue``."""
        judged = self.by_judge[["thing", "label"]].rename(columns={"label": "judged"})
        rows: pd.DataFrame = self.by_people.merge(judged, on="thing")
        return rows

    @property
    def things(self) -> pd.DataFrame:
        """A row for each thing: what the judge (``judged``) and people (``label``) said in the mean."""
        about = {name: (name, "first") for name in ("dialogue", "model_a", "model_b", "kind")}
        people = self.by_people.groupby("thing", sort=False).agg(label=("label", "mean"), **about)
        rows: pd.DataFrame = people.assign(judged=self.by_judge.groupby("thing")["label"].mean())
        return rows


def _matched(people: Tables, judges: Tables) -> Iterator[Matched]:
    together = Tables(
        turns=_people_and_judges(people.turns, judges.turns),
        dialogues=people.dialogues,
        comparisons=_people_and_judges(people.comparisons, judges.comparisons),
        ratings=_people_and_judges(people.ratings, judges.ratings),
        segments=_people_and_judges(people.segments, judges.segments),
    )
    for question in questions(together):
        is_judge = question.rows["worker"].str.startswith(_JUDGE).astype(bool)
        by_people = question.rows[~is_judge].drop_duplicates(["thing", "worker"])
        for judge, rows in question.rows[is_judge].groupby("worker", sort=True):
            answered = by_people[by_people["thing"].isin(rows["thing"])]
            if len(answered):
                yield Matched(
                    str(judge).removeprefix(_JUDGE), question, rows[rows["thing"].isin(answered["thing"])], answered
                )


def _people_and_judges(people: pd.DataFrame, judges: pd.DataFrame) -> pd.DataFrame:
    judges = judges.assign(worker_id=_JUDGE + judges["worker_id"])
    rows: pd.DataFrame = pd.concat(
        [people, judges[list(people.columns.intersection(judges.columns))]], ignore_index=True
    )
    return rows


def _names_of(question: Judged) -> dict[str, str]:
    return {name: getattr(question, name) for name in _GROUP}


def _agreement(one: Matched, options: Options) -> AgreementRow:
    question, pairs = one.question, one.pairs
    labels = pd.concat([pairs["label"], pairs["judged"]])
    dialogues = pairs["dialogue"]
    few = labels.nunique() <= MOST_LABELS
    answers = (pairs["judged"], pairs["label"], dialogues)
    apart = (pairs["judged"] - pairs["label"]).to_numpy(dtype=float)
    name = f"{question.what}: {one.judge} − people"
    return AgreementRow(
        judge=one.judge,
        source=question.source,
        **_names_of(question),
        what=question.what,
        scale=question.scale,
        n=len(pairs),
        n_things=int(pairs["thing"].nunique()),
        n_dialogues=int(dialogues.nunique()),
        same=percent_agreement(*answers, cluster="dialogue", level=options.level),
        kappa=cohen_kappa(*answers, seed=options.seed, draws=options.draws, level=options.level) if few else None,
        # Each pair of answers is a thing of its own here, so that α is of pairs, as κ is.
        alpha=_alpha([*range(len(pairs))] * 2, labels, dialogues, question.scale, options),
        difference=clustered_mean(apart, dialogues, name=name, null=0.0, level=options.level, cluster="dialogue")
        if question.scale == "interval"
        else None,
        **_agreement_of_people(one, options),
    )


def _agreement_of_people(one: Matched, options: Options) -> dict[str, object]:
    rows = one.by_people
    twice = rows[rows["thing"].duplicated(keep=False).to_numpy(dtype=bool)]
    if twice.empty:
        return dict.fromkeys(("people_same", "people_kappa", "people_alpha", "ceiling")) | {"people_things": 0}
    counts, labels, things = rating_counts(twice["thing"], twice["label"])
    dialogues = twice.drop_duplicates("thing").set_index("thing").loc[list(things), "dialogue"].to_numpy(dtype=object)
    kappa = fleiss_kappa(counts, dialogues, seed=options.seed, draws=options.draws, level=options.level)
    most = cluster_sums(counts.max(axis=1), counts.sum(axis=1), dialogues)
    few = len(labels) <= MOST_LABELS
    return {
        "people_things": len(things),
        "people_same": pair_agreement(counts, dialogues, cluster="dialogue", level=options.level),
        "people_kappa": kappa if few else None,
        "people_alpha": _alpha(twice["thing"], twice["label"], dialogues, one.question.scale, options),
        "ceiling": _plain(clustered_share(most, name="ceiling", cluster="dialogue")) if few else None,
    }


def _plain(share: Result) -> Result:
    return share.but(p_value=None, statistic=None)


def _alpha(things: object, labels: pd.Series[float], dialogues: object, scale: Scale, options: Options) -> Result:
    counts, values, _ = rating_counts(np.asarray(things), labels)
    return krippendorff_alpha(
        counts,
        np.asarray(dialogues, dtype=object),
        [float(str(value)) for value in values] if scale == "interval" else None,
        ordered=scale == "ordinal",
        seed=options.seed,
        draws=options.draws,
        level=options.level,
    )


def _pairs(one: Matched, options: Options) -> Iterator[PairRow]:
    if one.question.source != "comparisons":
        return
    things, pairs = one.things, one.pairs
    for key, rows in things.groupby(["kind", "model_a", "model_b"], sort=True):
        kind, model_a, model_b = map(str, key)
        answers = pairs[pairs["thing"].isin(rows.index)]
        both = (answers["judged"], answers["label"], answers["dialogue"])
        yield PairRow(
            judge=one.judge,
            **_names_of(one.question),
            kind=kind,
            model_a=model_a,
            model_b=model_b,
            n=len(answers),
            n_things=len(rows),
            same=percent_agreement(*both, cluster="dialogue", level=options.level),
            kappa=cohen_kappa(*both, seed=options.seed, draws=options.draws, level=options.level),
            **_rates(rows, (rows["judged"] + 1) / 2, (rows["label"] + 1) / 2, "difference", options),
        )


def _rates(
    things: pd.DataFrame, by_judge: pd.Series[float], by_people: pd.Series[float], name: str, options: Options
) -> dict[str, Result]:
    ones, dialogues = np.ones(len(things)), things["dialogue"].to_numpy(dtype=object)

    def share(won: pd.Series[float], of: str) -> Result:
        sums = cluster_sums(won.to_numpy(dtype=float), ones, dialogues)
        return _plain(clustered_share(sums, name=f"won by {of}", cluster="dialogue", level=options.level))

    apart = (by_judge - by_people).to_numpy(dtype=float)
    return {
        "judge_rate": share(by_judge, "the judge"),
        "people_rate": share(by_people, "people"),
        name: clustered_mean(
            apart, dialogues, name=name, null=0.0, limits=(-1, 1), level=options.level, cluster="dialogue"
        ),
    }


Choice = tuple[str, str, str, str, int]
"""Judge, technique, setting, metric, options."""


def _by_options(chosen: pd.DataFrame) -> Iterator[tuple[Choice, pd.DataFrame]]:
    for key, rows in chosen.groupby(["worker", *_GROUP, "options"], sort=True):
        judge, technique, setting, metric, options = key
        yield (str(judge), str(technique), str(setting), str(metric), int(str(options))), rows


def _bias(key: Choice, rows: pd.DataFrame, people: pd.DataFrame, options: Options) -> Iterator[BiasRow]:
    judge, technique, setting, metric, count = key
    first = first_chosen(rows, level=options.level)
    changed = inconsistent(rows, level=options.level)
    if not first.n and not changed.n:
        return
    asked = people["thing"].isin(rows["thing"]) & (people["options"] == count)
    for name, value in zip(_GROUP, (technique, setting, metric), strict=True):
        asked &= people[name] == value
    yield BiasRow(
        judge=judge,
        technique=technique,
        setting=setting,
        metric=metric,
        options=count,
        n=len(rows),
        chance=1 / count,
        first=first,
        changed=changed if changed.n else None,
        longest=longest_chosen(rows, level=options.level),
        people_longest=longest_chosen(people[asked], level=options.level),
    )


def _family(judge: str, family: set[str], matched: Sequence[Matched], options: Options) -> Iterator[FamilyRow]:
    for one in matched:
        if one.question.source != "comparisons" or not family:
            continue
        things = one.things
        own_a, own_b = things["model_a"].isin(family), things["model_b"].isin(family)
        rows = things[own_a != own_b]
        if rows.empty:
            continue
        sign = np.where(rows["model_a"].isin(family), 1.0, -1.0)
        yield FamilyRow(
            judge=judge,
            **_names_of(one.question),
            family=", ".join(sorted(family & {*rows["model_a"], *rows["model_b"]})),
            n_things=len(rows),
            **_rates(rows, (sign * rows["judged"] + 1) / 2, (sign * rows["label"] + 1) / 2, "excess", options),
        )


def _by_judge(judgements: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    for name, rows in judgements.groupby("judge", sort=True):
        yield str(name), rows


def _families(judgements: pd.DataFrame) -> set[str]:
    return {name for cell in judgements["family"].dropna().unique() for name in str(cell).split(";")}


def _asked(name: str, rows: pd.DataFrame) -> JudgeRow:
    outcomes = rows["outcome"].value_counts()
    costs = rows["cost"].dropna()
    counts = {outcome: int(outcomes.get(outcome, 0)) for outcome in ("answered", "refused", "unparsable")}
    return JudgeRow(
        judge=name,
        model=_listed(rows["judge_model"]),
        served_model=_listed(rows["served_model"]),
        version=_listed(rows["judge_version"]),
        asked=len(rows),
        **counts,
        reminded=int(is_set(rows, "reminded").sum()),
        prompt_tokens=int(rows["prompt_tokens"].fillna(0).sum()),
        completion_tokens=int(rows["completion_tokens"].fillna(0).sum()),
        estimated=bool(is_set(rows, "estimated").any()),
        cost=math.fsum(costs) if len(costs) else None,
        currency=_listed(rows["currency"]),
    )


def _listed(cells: pd.Series[str]) -> str:
    return ", ".join(sorted({str(cell) for cell in cells.dropna()}))


def _key_findings(section: Judges, judge: JudgeRow) -> Iterator[str]:
    rows = [row for row in section.agreement if row.judge == judge.judge]
    told = f"Judge {judge.judge} is a model, and in no number of people's"
    if not rows:
        yield f"{told}: {counted(judge.answered, 'answer')} of {judge.asked:,} could be read."
        return
    row = max(rows, key=lambda one: (one.source == "comparisons", one.n))
    people = row.people_same
    beside = (
        f"people with each other in {percent(people.estimate)}{_kappa(row.people_kappa)}"
        if people is not None
        else "how far people agree is not known, as no two of them answered about the same"
    )
    yield (
        f"{told}: it agrees with people in {percent(row.same.estimate)}{_interval(row.same)}{_kappa(row.kappa)} of "
        + (f"{counted(row.n, 'pair')} of answers ({_named(row)}); {beside}.")
    )


def _interval(result: Result) -> str:
    interval = format_range(result.ci_low, result.ci_high)
    return "" if interval == ABSENT else f" ({interval})"


def _kappa(result: Result | None) -> str:
    return "" if result is None or result.estimate is None else f", κ {signed(result.estimate)},"


def _named(row: AgreementRow) -> str:
    metric = "" if row.metric == row.what else row.metric
    return f"{row.what}, {', '.join(text for text in (row.technique, row.setting, metric) if text)}"


def goes_by_place(first: float, options: int) -> bool:
    """Whether what stood first was chosen so often, or, of two, so seldom, that nothing else counted."""
    return first >= GOES_BY_PLACE or (options == 2 and first <= 1 - GOES_BY_PLACE)


def _remarks(section: Judges) -> Iterator[str]:
    for judge in section.judges:
        counts = {"refused": judge.refused, "unreadable": judge.unparsable}
        lost = [f"{count:,} {word}" for word, count in counts.items() if count]
        if lost:
            yield f"{judge.judge}: of {counted(judge.asked, 'answer')} {' and '.join(lost)}; they count nowhere else."
    for row in section.bias:
        share = row.first.estimate
        if share is not None and goes_by_place(share, row.options):
            yield (
                f"{row.judge} chose what stood first in {percent(share)} of {counted(row.first.n, 'choice')}: it goes by "
                "the place, and its answers say nothing of the models."
            )
    for one in section.family:
        if one.excess.p_value is not None and one.excess.p_value < ALPHA and (one.excess.estimate or 0) > 0:
            yield (
                f"{one.judge} has models of its own house ({one.family}) win more often than people do: "
                f"{percent(one.judge_rate.estimate)} against {percent(one.people_rate.estimate)}."
            )


_LABELS: Labels = {
    "judge": ("Judge", "text"),
    "what": ("What", "text"),
    "n": ("Pairs", "count"),
    "n_things": ("Things", "count"),
    "percent": ("Agree", "share"),
    "kappa": ("κ", "number"),
    "alpha": ("α", "number"),
    "people_things": ("Things of two people", "count"),
    "people_percent": ("People agree", "share"),
    "people_kappa": ("κ of people", "number"),
    "people_alpha": ("α of people", "number"),
    "ceiling": ("Ceiling", "share"),
    "difference": ("Judge − people", "number"),
    "p_difference": ("p, clustered", "p"),
    "judge_rate": ("A by judge", "share"),
    "people_rate": ("A by people", "share"),
    "kind": ("Kind", "text"),
    "options": ("Of", "count"),
    "chance": ("Chance", "share"),
    "first": ("First shown chosen", "share"),
    "p_first": ("p of first", "p"),
    "n_both": ("In both orders", "count"),
    "changed": ("Changed with the order", "share"),
    "longest": ("Longest chosen", "share"),
    "people_longest": ("… by people", "share"),
    "family": ("Own house", "text"),
    "excess": ("More than by people", "points"),
    "p_excess": ("p, clustered", "p"),
    "model": ("Model", "text"),
    "served_model": ("Served as", "text"),
    "version": ("Version", "text"),
    "asked": ("Asked", "count"),
    "answered": ("Answered", "count"),
    "refused": ("Refused", "count"),
    "unparsable": ("Unreadable", "count"),
    "reminded": ("Asked twice", "count"),
    "prompt_tokens": ("Tokens read", "count"),
    "completion_tokens": ("Tokens written", "count"),
    "cost": ("Cost", "money"),
    "currency": ("Currency", "text"),
}


def _ends_of(*estimates: str) -> Labels:
    return {
        f"{name}_{end}": (f"{word}, {_LABELS[name][0]}", _LABELS[name][1])
        for name in estimates
        for end, word in (("low", "From"), ("high", "To"))
    }


_AGREEMENT = columns(
    "judge technique setting metric what n percent people_percent kappa people_kappa alpha people_alpha ceiling difference "
    "difference_low difference_high p_difference n_things people_things percent_low percent_high people_percent_low "
    "people_percent_high kappa_low kappa_high people_kappa_low people_kappa_high alpha_low alpha_high people_alpha_low "
    "people_alpha_high",
    {**_LABELS, **_ends_of("percent", "people_percent", "kappa", "people_kappa", "alpha", "people_alpha")},
)
_PAIRS = columns(
    "judge technique setting metric kind model_a model_b n_things judge_rate people_rate difference difference_low "
    "difference_high p_difference percent kappa judge_rate_low judge_rate_high people_rate_low people_rate_high percent_low "
    "percent_high",
    {
        **_LABELS,
        **_ends_of("judge_rate", "people_rate", "percent"),
        "difference": ("Judge − people", "points"),
    },
)
_BIAS = columns(
    "judge technique setting metric options n chance first first_low first_high p_first n_both changed changed_low "
    "changed_high longest longest_low longest_high people_longest",
    {**_LABELS, "n": ("Choices", "count")},
)
_FAMILY = columns(
    "judge technique setting metric family n_things judge_rate people_rate excess excess_low excess_high p_excess",
    {**_LABELS, "judge_rate": ("Won by judge", "share"), "people_rate": ("Won by people", "share")},
)
_ASKED = columns(
    "judge model served_model version asked answered refused unparsable reminded prompt_tokens completion_tokens cost "
    "currency",
    _LABELS,
)
