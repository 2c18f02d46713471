"""Section ``judges``: agreement of models with the raters on the raters' questions, and biases of these models.

Only where there are judges. No number of another section rests on their answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd

from parlai_humaneval.report import views
from parlai_humaneval.report.section import Options, Section, say
from parlai_humaneval.report.sections import agreement as agreeing
from parlai_humaneval.statistics.core.clustered import cluster_sums, clustered_share
from parlai_humaneval.statistics.core.formatting import ABSENT
from parlai_humaneval.statistics.core.means import clustered_mean
from parlai_humaneval.statistics.core.multiplicity import ALPHA
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.rows import Column, Count, Estimate, Key, Name, Row, interval_keys
from parlai_humaneval.statistics.judges.answers import (
    choices,
    first_chosen,
    inconsistent,
    judged_lengths,
    longest_chosen,
)
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.filters import is_set

GOES_BY_PLACE = 0.95
"""A judge that chooses one position this often says nothing about the candidates."""
_GROUP = ["technique", "setting", "metric"]
_JUDGE = "\x1fjudge "
"""Before the name of a judge, where its rows stand among those of people: a worker may have the same name. (pandas reads no
text beyond a NUL, so that two judges would be one.)"""


def _alone(label: str, kind: views.CellKind, name: str) -> tuple[Key, ...]:
    """An estimate whose interval is only in the JSON."""
    return Column(label, kind, name=name, path="estimate"), *interval_keys("", name)[1:]


def _ends_last(label: str, kind: views.CellKind, name: str) -> tuple[Column, ...]:
    """An estimate, and its interval behind all other columns."""
    ends = ((f"From, {label}", "low"), (f"To, {label}", "high"))
    last = (Column(words, kind, name=f"{name}_{end}", path=f"ci_{end}", last=True) for words, end in ends)
    return Column(label, kind, name=name, path="estimate"), *last


def _p_of(name: str) -> Column:
    return Column("p, clustered", "p", name=f"p_{name}", path="p_value")


class JudgedRow(Row):
    """A judge's answers in one study."""

    judge: Annotated[str, Column(telling=True)]
    technique: Name
    setting: Name
    metric: Name


class AgreementRow(JudgedRow):
    """A judge's agreement with people on ``what``, and people's agreement with each other.

    ``n``: pairs of an answer of the judge and one of a person about the same thing, of ``n_things``; both orders count.
    ``same``, ``kappa`` (Cohen's) and ``alpha``: of these pairs. ``people_…``: of two people who answered about the same
    thing, among those that the judge answered about (κ is Fleiss'); None where nobody did. ``ceiling``: the most that
    anybody with one answer for each thing could agree with these people. ``difference``: of ratings, the judge minus people.
    """

    source: agreeing.Source
    what: Annotated[str, Column()]
    scale: agreeing.Scale
    n: Annotated[int, Column("Pairs")]
    n_dialogues: int
    same: Annotated[Result, _ends_last("Agree", "share", "percent")]
    people_same: Annotated[Result | None, _ends_last("People agree", "share", "people_percent")]
    kappa: Annotated[Result | None, _ends_last("κ", "number", "kappa")]
    people_kappa: Annotated[Result | None, _ends_last("κ of people", "number", "people_kappa")]
    alpha: Annotated[Result, _ends_last("α", "number", "alpha")]
    people_alpha: Annotated[Result | None, _ends_last("α of people", "number", "people_alpha")]
    ceiling: Annotated[Result | None, Column("Ceiling", "share", name="ceiling", path="estimate")]
    difference: Annotated[Result | None, Estimate("Judge − people"), _p_of("difference")]
    n_things: Annotated[int, Column("Things")]
    people_things: Annotated[int, Column("Things of two people")]

    @property
    def title(self) -> str:
        metric = "" if self.metric == self.what else self.metric
        return f"{self.what}, {', '.join(filter(None, (self.technique, self.setting, metric)))}"


class JudgedPair(JudgedRow):
    """Two models by the judge and by people, on the same things. ``judge_rate``, ``people_rate``: A's share of what was won,
    ties as half, each thing once. ``difference``: the judge's minus people's, thing by thing, clustered by dialogue."""

    kind: Annotated[str, Column()]
    model_a: Annotated[str, Column()]
    model_b: Annotated[str, Column()]
    n: int
    n_things: Annotated[int, Column("Things")]
    judge_rate: Annotated[Result, _ends_last("A by judge", "share", "judge_rate")]
    people_rate: Annotated[Result, _ends_last("A by people", "share", "people_rate")]
    difference: Annotated[Result, Estimate("Judge − people", "points"), _p_of("difference")]
    same: Annotated[Result, _ends_last("Agree", "share", "percent")]
    kappa: Annotated[Result, _alone("κ", "number", "kappa")]


class BiasRow(JudgedRow):
    """Cues other than content that a judge may follow when it chooses one of ``options``. ``chance``: one of them.

    ``first``: the candidate shown first was chosen; ``changed``: its second order has another answer than the first, of
    ``n_both``; ``longest``: the longest candidate was chosen, with how often people did so among the same.
    """

    options: Annotated[int, Column("Of")]
    n: Annotated[int, Column("Choices")]
    chance: Annotated[float, Column(kind="share")]
    first: Annotated[
        Result, Estimate("First shown chosen", "share"), Column("p of first", "p", name="p_first", path="p_value")
    ]
    changed: Annotated[
        Result | None,
        Column("In both orders", "count", name="n_both", path="n"),
        Estimate("Changed with the order", "share"),
    ]
    longest: Annotated[Result, Estimate("Longest chosen", "share")]
    people_longest: Annotated[Result, Column("… by people", "share", name="people_longest", path="estimate")]


class FamilyRow(JudgedRow):
    """Models of the judge's own maker against others. ``excess``: how much more they win by the judge than by people."""

    family: Annotated[str, Column("Own house")]
    n_things: Annotated[int, Column("Things")]
    judge_rate: Annotated[Result, _alone("Won by judge", "share", "judge_rate")]
    people_rate: Annotated[Result, _alone("Won by people", "share", "people_rate")]
    excess: Annotated[Result, Estimate("More than by people", "points"), _p_of("excess")]


class JudgeRow(Row):
    """A judge, its questions, and their cost. ``cost``: in ``currency``, where it has a price."""

    judge: Annotated[str, Column()]
    model: Name
    served_model: Annotated[str, Column("Served as")]
    version: Annotated[str, Column()]
    asked: Count
    answered: Count
    refused: Count
    unparsable: Annotated[int, Column("Unreadable")]
    reminded: Annotated[int, Column("Asked twice")]
    prompt_tokens: Annotated[int, Column("Tokens read")]
    completion_tokens: Annotated[int, Column("Tokens written")]
    estimated: bool
    cost: Annotated[float | None, Column(kind="money")]
    currency: Annotated[str, Column()]


class Judges(Section):
    """Models that answered the raters' questions, in addition to the raters."""

    TITLE: ClassVar[str] = "Judges (models) compared with people"

    judges: list[JudgeRow]
    agreement: list[AgreementRow]
    pairs: list[JudgedPair]
    bias: list[BiasRow]
    family: list[FamilyRow]
    seed: int
    draws: int

    def data_tables(self) -> list[views.DataTable]:
        parts = ("agreement", "pairs", "bias", "family")
        return views.shown(
            *(views.table(f"judges_{part}", getattr(self, part)) for part in parts),
            views.table("judges_asked", self.judges),
        )

    def figures(self) -> list[views.Figure]:
        found = [
            (f"{row.title}: {whose}", alpha)
            for row in self.agreement
            for whose, alpha in ((f"{row.judge} and people", row.alpha), ("people", row.people_alpha))
        ]
        return [*views.interval_figures(**views.look("judges_alpha"), results=found)]

    def methods(self) -> list[views.Method]:
        return [
            views.method("judges", "judges", draws=self.draws, seed=self.seed),
            views.method("judges", "place_length_and_house"),
        ]

    def in_short(self) -> list[str]:
        """A line on each judge and its agreement with people."""
        rows = sorted(self.agreement, key=lambda row: (row.source != "comparisons", -row.n))
        led = [(judge, next((row for row in rows if row.judge == judge.judge), None)) for judge in self.judges]
        return say("judges", "in_short", led=led, absent=ABSENT)


def build(tables: Tables, options: Options) -> Judges | None:
    """The section about all judges; None if none was asked."""
    if tables.judges is None or tables.judges.judgements.empty:
        return None
    matched = list(_matched(tables, tables.judges))
    lengths = judged_lengths(tables.judgements)
    by_people, by_judges = choices(tables, lengths), choices(tables.judges, lengths)
    by_judge = {str(name): rows for name, rows in tables.judges.judgements.groupby("judge", sort=True)}
    section = Judges(
        judges=[_asked(name, rows) for name, rows in by_judge.items()],
        agreement=[_agreement(one, options) for one in matched],
        pairs=[row for one in matched for row in _pairs(one, options)],
        bias=list(_bias(by_judges, by_people, options)),
        family=[
            row
            for name, rows in by_judge.items()
            for family in [{house for cell in rows["family"].dropna().unique() for house in str(cell).split(";")}]
            for row in _family(family, [one for one in matched if one.judge == name], options)
        ],
        seed=options.seed,
        draws=options.draws,
    )
    section.headline = " ".join(section.in_short())
    section.remarks = say(
        "judges",
        "remarks",
        s=section,
        described={name: int((rows.filter(["images_described"]) > 0).sum().sum()) for name, rows in by_judge.items()},
        by_place=[
            row
            for row in section.bias
            if row.first.estimate is not None and goes_by_place(row.first.estimate, row.options)
        ],
        partial=[
            row
            for row in section.family
            if row.excess.p_value is not None and row.excess.p_value < ALPHA and (row.excess.estimate or 0) > 0
        ],
    )
    return section


@dataclass(frozen=True)
class Matched:
    """A judge's and people's answers about the same things: rows of :class:`~.rated_things.Judged` of either."""

    judge: str
    question: agreeing.Judged
    by_judge: pd.DataFrame
    by_people: pd.DataFrame

    @property
    def pairs(self) -> pd.DataFrame:
        """A row for each answer of the judge and each person's about the same: ``judged``, ``label``, ``dialogue``."""
        judged = self.by_judge[["thing", "label"]].rename(columns={"label": "judged"})
        return self.by_people.merge(judged, on="thing")

    @property
    def things(self) -> pd.DataFrame:
        """A row for each thing: what the judge (``judged``) and people (``label``) said in the mean."""
        about = {name: (name, "first") for name in ("dialogue", "model_a", "model_b", "kind")}
        people = self.by_people.groupby("thing", sort=False).agg(label=("label", "mean"), **about)
        return people.assign(judged=self.by_judge.groupby("thing")["label"].mean())


def _matched(people: Tables, judges: Tables) -> Iterator[Matched]:
    together: dict[str, Any] = {}
    for name in ("turns", "comparisons", "ratings", "segments"):
        by_people, by_judges = getattr(people, name), getattr(judges, name)
        by_judges = by_judges.assign(worker_id=_JUDGE + by_judges["worker_id"])
        known = list(by_people.columns.intersection(by_judges.columns))
        together[name] = pd.concat([by_people, by_judges[known]], ignore_index=True)
    for question in agreeing.questions(Tables(dialogues=people.dialogues, **together)):
        is_judge = question.rows["worker"].str.startswith(_JUDGE).astype(bool)
        by_people = question.rows[~is_judge].drop_duplicates(["thing", "worker"])
        for judge, rows in question.rows[is_judge].groupby("worker", sort=True):
            answered = by_people[by_people["thing"].isin(rows["thing"])]
            if len(answered):
                same = rows[rows["thing"].isin(answered["thing"])]
                yield Matched(str(judge).removeprefix(_JUDGE), question, same, answered)


def _agreement(one: Matched, options: Options) -> AgreementRow:
    question, pairs = one.question, one.pairs
    labels, dialogues = pd.concat([pairs["label"], pairs["judged"]]), pairs["dialogue"]
    few = labels.nunique() <= agreeing.MOST_LABELS
    apart = (pairs["judged"] - pairs["label"]).to_numpy(dtype=float)
    name = f"{question.what}: {one.judge} − people"
    return AgreementRow.of(
        question,
        judge=one.judge,
        n=len(pairs),
        n_things=int(pairs["thing"].nunique()),
        n_dialogues=int(dialogues.nunique()),
        **agreeing.same_and_kappa(pairs["judged"], pairs["label"], dialogues, options, few=few),
        # Each pair of answers is a thing of its own here, so that α is of pairs, as κ is.
        alpha=agreeing.alpha_of(question.scale, [*range(len(pairs))] * 2, labels, dialogues, options),
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
    people = agreeing.of_several(twice, one.question.scale, options)
    most = cluster_sums(people.counts.max(axis=1), people.counts.sum(axis=1), people.dialogues)
    ceiling = None if people.kappa is None else _plain(clustered_share(most, name="ceiling", cluster="dialogue"))
    agreed = {f"people_{name}": getattr(people, name) for name in ("same", "kappa", "alpha")}
    return agreed | {"people_things": len(people.counts), "ceiling": ceiling}


def _plain(share: Result) -> Result:
    return share.but(p_value=None, statistic=None)


def _pairs(one: Matched, options: Options) -> Iterator[JudgedPair]:
    if one.question.source != "comparisons":
        return
    things, pairs = one.things, one.pairs
    for key, rows in things.groupby(["kind", "model_a", "model_b"], sort=True):
        kind, model_a, model_b = map(str, key)
        answers = pairs[pairs["thing"].isin(rows.index)]
        yield JudgedPair.of(
            one.question,
            judge=one.judge,
            kind=kind,
            model_a=model_a,
            model_b=model_b,
            n=len(answers),
            n_things=len(rows),
            **agreeing.same_and_kappa(answers["judged"], answers["label"], answers["dialogue"], options),
            **_rates(rows, (rows["judged"] + 1) / 2, (rows["label"] + 1) / 2, "difference", options),
        )


def _rates(
    things: pd.DataFrame, by_judge: pd.Series[float], by_people: pd.Series[float], name: str, options: Options
) -> dict[str, Result]:
    ones, dialogues = np.ones(len(things)), things["dialogue"].to_numpy(dtype=object)

    def share(won: pd.Series[float], of: str) -> Result:
        sums = cluster_sums(won.to_numpy(dtype=float), ones, dialogues)
        return _plain(clustered_share(sums, name=f"won by {of}", cluster="dialogue", level=options.level))

    how: dict[str, Any] = {"name": name, "level": options.level, "cluster": "dialogue"}
    mean = clustered_mean((by_judge - by_people).to_numpy(dtype=float), dialogues, null=0.0, limits=(-1, 1), **how)
    return {"judge_rate": share(by_judge, "the judge"), "people_rate": share(by_people, "people"), name: mean}


def _bias(chosen: pd.DataFrame, by_people: pd.DataFrame, options: Options) -> Iterator[BiasRow]:
    for key, rows in chosen.groupby(["worker", *_GROUP, "options"], sort=True):
        names = dict(zip(("judge", *_GROUP, "options"), key, strict=True))
        first, changed = first_chosen(rows, level=options.level), inconsistent(rows, level=options.level)
        if first.n or changed.n:
            people = by_people[by_people["thing"].isin(rows["thing"])]
            alike = np.all([people[name] == names[name] for name in (*_GROUP, "options")], axis=0)
            yield BiasRow(
                **names,
                n=len(rows),
                chance=1 / int(str(names["options"])),
                first=first,
                changed=changed if changed.n else None,
                longest=longest_chosen(rows, level=options.level),
                people_longest=longest_chosen(people[alike], level=options.level),
            )


def _family(family: set[str], matched: Sequence[Matched], options: Options) -> Iterator[FamilyRow]:
    for one in matched:
        if one.question.source != "comparisons" or not family:
            continue
        things = one.things
        own_a, own_b = things["model_a"].isin(family), things["model_b"].isin(family)
        rows = things[own_a != own_b]
        if rows.empty:
            continue
        sign = np.where(rows["model_a"].isin(family), 1.0, -1.0)
        yield FamilyRow.of(
            one.question,
            judge=one.judge,
            family=", ".join(sorted(family & {*rows["model_a"], *rows["model_b"]})),
            n_things=len(rows),
            **_rates(rows, (sign * rows["judged"] + 1) / 2, (sign * rows["label"] + 1) / 2, "excess", options),
        )


def _asked(name: str, rows: pd.DataFrame) -> JudgeRow:
    outcomes = rows["outcome"].value_counts()
    costs = rows["cost"].dropna()
    texts = {"model": "judge_model", "served_model": "served_model", "version": "judge_version", "currency": "currency"}
    return JudgeRow(
        judge=name,
        **{field: ", ".join(sorted({str(cell) for cell in rows[column].dropna()})) for field, column in texts.items()},
        asked=len(rows),
        **{outcome: int(outcomes.get(outcome, 0)) for outcome in ("answered", "refused", "unparsable")},
        reminded=int(is_set(rows, "reminded").sum()),
        **{name: int(rows[name].fillna(0).sum()) for name in ("prompt_tokens", "completion_tokens")},
        estimated=bool(is_set(rows, "estimated").any()),
        cost=math.fsum(costs) if len(costs) else None,
    )


def goes_by_place(first: float, options: int) -> bool:
    """Whether the first candidate was chosen so often (or, of two, so rarely) that content did not matter."""
    return first >= GOES_BY_PLACE or (options == 2 and first <= 1 - GOES_BY_PLACE)
