"""Section ``agreement``: how far people who judged the same agree, and how a third party differs from the own rater.

Answers as who said what of which thing: the long form in which the agreement of raters is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval._util.arrays import Floats, Objects
from parlai_humaneval.report.rows import Labels, Row, columns, ends, part_table, published, whole
from parlai_humaneval.report.section import Options, Section
from parlai_humaneval.report.views import DataTable, Figure, Method, interval_figures, method
from parlai_humaneval.statistics.core.formatting import (
    ABSENT,
    counted,
    format_p,
    format_range,
    percent,
    signed,
    signed_range,
)
from parlai_humaneval.statistics.core.multiplicity import ALPHA
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.two_way import crossed_mean
from parlai_humaneval.statistics.preference.pairs import orient_pairs
from parlai_humaneval.statistics.raters.agreement import (
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    pair_agreement,
    percent_agreement,
    rating_counts,
)
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.filters import finished, is_set, nobody_won

Source = Literal["turns", "comparisons", "ratings", "segments"]
Scale = Literal["nominal", "ordinal", "interval"]

CHOSEN = "chosen"
LABELS = {"bot": 0.0, "unsure": 1.0, "human": 2.0}
"""In order, from bot to human."""
OWN_RATER = "own rater"
"""Stands where the table does not name them."""
_GROUP = ["technique", "setting", "metric"]
_MODELS = ("model", "model_a", "model_b", "kind")
"""Columns that say whom an answer is about, in the tables that have them."""


@dataclass(frozen=True)
class Judged:
    """Answers on one question. ``rows``: ``thing``, ``dialogue``, ``turn``, ``worker``, ``label`` (a number), ``own``,
    ``own_worker``; and ``model``, ``model_a``, ``model_b`` and ``kind``, empty where the table has no such column.

    ``own``: what the dialogue's own rater, ``own_worker``, had said of the thing, nan where that is not known.
    """

    source: Source
    technique: str
    setting: str
    metric: str
    what: str
    scale: Scale
    rows: pd.DataFrame

    @property
    def names(self) -> dict[str, Any]:
        """What the question is called in a row."""
        return {name: getattr(self, name) for name in ("source", "technique", "setting", "metric", "what")}

    @property
    def again(self) -> pd.DataFrame:
        """Rows of things of which it is known what the own rater had said."""
        rows: pd.DataFrame = self.rows[self.rows["own"].notna().to_numpy(dtype=bool)]
        return rows


def questions(tables: Tables) -> Iterator[Judged]:
    """All questions that were answered, with all answers."""
    yield from _turns(tables.turns)
    # Who won: B, a tie or A, which is the first in the alphabet.
    rows = tables.comparisons
    rows = orient_pairs(rows[finished(rows) & ~is_set(rows, "automatic")])
    own = rows["own_winner"]
    lead = ((own == rows["model_a"]).astype(float) - (own == rows["model_b"]).astype(float)) * ~nobody_won(rows, "own_")
    known = np.where(own.notna(), lead, np.nan)
    things = [rows[name] for name in ("kind", "item_id", "model_a", "model_b", "dialogue_a", "dialogue_b", "turn")]
    said = _said(rows, things, rows["dialogue_a"], rows["outcome"].to_numpy(dtype=float), known)
    yield from _by_group("comparisons", said, "winner", "ordinal")
    yield from _ratings(tables.ratings)
    yield from _segments(tables.segments)


def judged(tables: Tables) -> Iterator[Judged]:
    """Those of which some thing was judged by two people, or by one besides the dialogue's own rater; each thing counts once
    of everybody."""
    for question in questions(tables):
        once = question.rows.drop_duplicates(["thing", "worker"])
        if once["own"].notna().any() or once["thing"].duplicated().any():
            yield replace(question, rows=once)


def _turns(turns: pd.DataFrame) -> Iterator[Judged]:
    """Reply by reply: chosen or not, and each tick; turns that both raters were asked about. Ranks stand elsewhere."""
    asked = ~is_set(turns, "automatic") & ~is_set(turns, "continued_each") & is_set(turns, "complete", missing=1)
    shown = turns["same_as"].isna().to_numpy(dtype=bool) & ~is_set(turns, "failed")
    rows = turns[finished(turns) & asked & shown & turns["rank"].isna().to_numpy(dtype=bool)]
    known = is_set(rows, "own_asked", missing=1)
    ticked = rows["tick_choices"].notna().to_numpy(dtype=bool)
    label = rows["selected"].to_numpy(dtype=float, na_value=np.nan)
    own = np.where(known, rows["own_selected"].to_numpy(dtype=float, na_value=np.nan), np.nan)
    things = [rows["dialogue_id"], rows["turn"], rows["candidate_id"].fillna(rows["model"])]
    # A dialogue that was rated once more keeps the name of its own technique.
    named = rows.assign(
        technique=rows["own_technique"].fillna(rows["technique"]), setting=rows["own_setting"].fillna(rows["setting"])
    )
    said = _said(named, things, named["dialogue_id"], label, own)
    yield from _by_group("turns", said[~ticked], CHOSEN, "nominal")
    choices = dict.fromkeys(name for text in rows["tick_choices"].dropna().unique() for name in str(text).split(";"))
    for name in choices:
        could = np.array([name in str(text).split(";") for text in rows["tick_choices"].fillna("")], dtype=bool)
        again = known & rows["own_worker"].notna().to_numpy(dtype=bool)
        own_tick = np.where(again, _has(rows["own_ticks"], name), np.nan)
        ticks = _said(named, things, named["dialogue_id"], _has(rows["ticks"], name), own_tick)
        yield from _by_group("turns", ticks[ticked & could], name, "nominal")


def _has(ticks: pd.Series[str], name: str) -> Floats:
    return np.array([float(name in str(text).split(";")) for text in ticks.fillna("")], dtype=float)


def _ratings(ratings: pd.DataFrame) -> Iterator[Judged]:
    rows = ratings[finished(ratings)]
    own = rows["own_value"].to_numpy(dtype=float, na_value=np.nan)
    named = rows.assign(
        technique=rows["own_technique"].fillna(rows["technique"]), setting=rows["own_setting"].fillna(rows["setting"])
    )
    value = rows["value"].to_numpy(dtype=float, na_value=np.nan)
    things = [rows["dialogue_id"], rows["model"], rows["criterion"]]
    said = _said(named, things, rows["dialogue_id"], value, own)
    for name, part in said.groupby(rows["criterion"].to_numpy(dtype=object), sort=True):
        yield from _by_group("ratings", part, str(name), "interval")


def _segments(segments: pd.DataFrame) -> Iterator[Judged]:
    rows = segments[finished(segments)]
    nobody = np.full(len(rows), np.nan)
    things = [rows["dialogue_id"], rows["k"], rows["entity"]]
    said = _said(rows, things, rows["dialogue_id"], rows["label"].map(LABELS).to_numpy(dtype=float), nobody)
    yield from _by_group("segments", said, "label", "ordinal")


def _said(
    rows: pd.DataFrame,
    things: Sequence[pd.Series[Any]],
    dialogues: pd.Series[str],
    label: npt.ArrayLike,
    own: npt.ArrayLike,
) -> pd.DataFrame:
    """Rows of :class:`Judged`, with what they are grouped by; ``things``: columns that name a thing together."""
    names = pd.DataFrame(dict(enumerate(things)))
    codes: npt.ArrayLike = names.groupby(list(names.columns), sort=False, dropna=False).ngroup() if len(names) else []
    said: pd.DataFrame = pd.DataFrame(
        {
            **{name: rows[name].fillna("").to_numpy(dtype=object) for name in _GROUP},
            "thing": np.asarray(codes, dtype=int),
            "dialogue": dialogues.to_numpy(dtype=object),
            "worker": rows["worker_id"].to_numpy(dtype=object),
            "label": np.asarray(label, dtype=float),
            "own": np.asarray(own, dtype=float),
            "own_worker": _own_workers(rows),
            "turn": rows["turn"].to_numpy(dtype=float, na_value=np.nan) if "turn" in rows else np.nan,
            **{name: rows[name].to_numpy(dtype=object) if name in rows else "" for name in _MODELS},
        },
        index=rows.index,
    )
    return said


def _own_workers(rows: pd.DataFrame) -> Objects:
    if "own_worker" not in rows:
        return np.full(len(rows), OWN_RATER, dtype=object)
    return np.asarray(rows["own_worker"].fillna(OWN_RATER).to_numpy(dtype=object))


def _by_group(source: Source, said: pd.DataFrame, what: str, scale: Scale) -> Iterator[Judged]:
    known = said[said["label"].notna().to_numpy(dtype=bool)]
    for key, rows in known.groupby(_GROUP, sort=True):
        technique, setting, metric = (str(part) for part in key)
        yield Judged(source, technique, setting, metric, what, scale, rows)


Kind = Literal["own", "several"]

MOST_LABELS = 10
"""κ asks for the very same answer: on longer scales that says nothing."""
NAMED = 3
"""As many as a remark names."""
WHO = {"own": "own rater and another", "several": "several raters"}


class AskedRow(Row):
    """Agreement on ``what``, of one technique, setting and metric. ``same``: pairs of raters who said the same, clustered
    by dialogue; intervals of ``kappa`` are a bootstrap over dialogues. ``n``: things that were judged twice or more."""

    FROM = published(ends("same", "percent", "percent"), whole("kappa"))

    source: Source
    technique: str
    setting: str
    metric: str
    what: str
    n: int
    n_dialogues: int
    same: Result
    kappa: Result | None


class AgreementRow(AskedRow):
    """Agreement on a question.

    ``kind``: ``own``, of the dialogue's own rater and somebody who rated it once more; ``several``, of all who judged
    the same, the own rater among them where it is known what they said. Things were judged ``per_thing`` times each in
    the mean, by ``n_raters`` people (with ``own``: besides own raters).

    ``kappa``: Cohen's for ``own``, Fleiss' for ``several``; None on scales of more than ten points. ``alpha``:
    Krippendorff's at level ``scale``, bootstrap over dialogues. ``own_mean`` and ``other_mean``: of ``own`` what each
    said in the mean, of a yes or no the share of yes. ``difference``: of ratings, the other minus the own rater,
    clustered by worker and tested against 0.
    """

    FROM = published(AskedRow.FROM, whole("alpha", "difference"), p_difference="difference.p_value")

    kind: Kind
    scale: Scale
    per_thing: float
    n_raters: int
    alpha: Result
    own_mean: float | None = None
    other_mean: float | None = None
    difference: Result | None = None


class TurnRow(AskedRow):
    """Agreement of the own rater and another in one turn of the dialogues."""

    turn: int


class Agreement(Section):
    """How far people who judged the same agree."""

    TITLE: ClassVar[str] = "Agreement of raters"

    rows: list[AgreementRow]
    by_turn: list[TurnRow]
    seed: int
    draws: int

    def data_tables(self) -> list[DataTable]:
        notes = ("own: the dialogue's own rater and somebody who rated it once more (Cohen's κ); several: Fleiss' κ.",)
        again = [row for row in self.rows if row.own_mean is not None]
        tables = [
            part_table("agreement_measures", "Agreement on what was judged twice", _MEASURES, self.rows, notes),
            part_table(
                "agreement_with_own_rater",
                "What the dialogue's own rater said, and who rated it once more",
                _MEANS,
                again,
                ("Share of yes, or mean rating. Difference: the other minus the own rater, clustered by worker.",),
            ),
            part_table("agreement_by_turn", "Agreement with the own rater, turn by turn", _TURNS, self.by_turn),
        ]
        return [table for table in tables if table.rows]

    def figures(self) -> list[Figure]:
        title = "Krippendorff's α with its interval (0: chance, 1: full agreement)"
        alphas = [(name_of(row), row.alpha) for row in self.rows]
        return [*interval_figures("agreement_alpha", title, "α", alphas, reference=0.0)]

    def methods(self) -> list[Method]:
        return [
            method("agreement", "agreement"),
            method("agreement", "kappa_and_alpha", draws=self.draws, seed=self.seed),
        ]


def build(tables: Tables, options: Options) -> Agreement | None:
    """Of everything that two people judged; None where nothing was judged twice."""
    questions = list(judged(tables))
    rows = [
        row
        for question in questions
        for row in (*_own_and_other_raters(question, options), *_several(question, options))
    ]
    if not rows:
        return None
    by_turn = [row for question in questions for row in _by_turn(question, options)]
    section = Agreement(rows=rows, by_turn=by_turn, seed=options.seed, draws=options.draws)
    section.headline = _headline(max(rows, key=lambda row: row.n))
    section.remarks = [*_notes(rows), *_mean_differences(rows)]
    return section


def _own_and_other_raters(question: Judged, options: Options) -> Iterator[AgreementRow]:
    rows = question.again
    if rows.empty:
        return
    both = pd.concat([rows["label"], rows["own"]])
    # Each pair of answers is a thing of its own here, so that α is of pairs, as κ is.
    things = [*range(len(rows))] * 2
    yield AgreementRow(
        **question.names,
        kind="own",
        scale=question.scale,
        n=len(rows),
        per_thing=2.0,
        n_raters=int(rows["worker"].nunique()),
        n_dialogues=int(rows["dialogue"].nunique()),
        same=_same(rows, options),
        kappa=_cohen(rows, options) if both.nunique() <= MOST_LABELS else None,
        alpha=_alpha(question, things, both, rows["dialogue"], options),
        own_mean=None if question.scale == "ordinal" else float(rows["own"].mean()),
        other_mean=None if question.scale == "ordinal" else float(rows["label"].mean()),
        difference=_difference(question, rows, options) if question.scale == "interval" else None,
    )


def _difference(question: Judged, rows: pd.DataFrame, options: Options) -> Result:
    apart = (rows["label"] - rows["own"]).to_numpy(dtype=float)
    name = f"{question.what}: other − own rater"
    workers, dialogues = (rows[column].to_numpy(dtype=object) for column in ("worker", "dialogue"))
    return crossed_mean(apart, workers, dialogues, name=name, null=0.0, level=options.level)


def _same(rows: pd.DataFrame, options: Options) -> Result:
    return percent_agreement(rows["label"], rows["own"], rows["dialogue"], cluster="dialogue", level=options.level)


def _cohen(rows: pd.DataFrame, options: Options) -> Result:
    answers = (rows["label"], rows["own"], rows["dialogue"])
    return cohen_kappa(*answers, seed=options.seed, draws=options.draws, level=options.level)


def _by_turn(question: Judged, options: Options) -> Iterator[TurnRow]:
    """Of the own rater and another, in each turn, where several turns were rated once more."""
    rows = question.again
    if question.source != "turns" or rows["turn"].nunique() < 2:
        return
    for turn, of_turn in rows.groupby("turn", sort=True):
        yield TurnRow(
            **question.names,
            turn=int(float(str(turn))),
            n=len(of_turn),
            n_dialogues=int(of_turn["dialogue"].nunique()),
            same=_same(of_turn, options),
            kappa=_cohen(of_turn, options),
        )


def _several(question: Judged, options: Options) -> Iterator[AgreementRow]:
    """Of all who judged the same thing, with the own rater, once, where it is known what they said."""
    if not question.rows["thing"].duplicated().any():
        return
    again = question.again
    # The table may hold the own rater's answers too, as a row of theirs.
    everybody = pd.concat([question.rows, again.assign(label=again["own"], worker=again["own_worker"])])
    everybody = everybody.drop_duplicates(["thing", "worker"])
    counts, labels, things = rating_counts(everybody["thing"], everybody["label"])
    dialogues = everybody.drop_duplicates("thing").set_index("thing").loc[list(things), "dialogue"]
    twice = everybody[everybody["thing"].duplicated(keep=False).to_numpy(dtype=bool)]
    kappa = None
    if len(labels) <= MOST_LABELS:
        kappa = fleiss_kappa(counts, dialogues, seed=options.seed, draws=options.draws, level=options.level)
    times = counts.sum(axis=1)
    yield AgreementRow(
        **question.names,
        kind="several",
        scale=question.scale,
        n=int((times > 1).sum()),
        per_thing=float(times[times > 1].mean()),
        n_raters=int(twice["worker"].nunique()),
        n_dialogues=int(twice["dialogue"].nunique()),
        same=pair_agreement(counts, dialogues, cluster="dialogue", level=options.level),
        kappa=kappa,
        alpha=_alpha(question, everybody["thing"], everybody["label"], dialogues, options),
    )


def _alpha(
    question: Judged, things: npt.ArrayLike, labels: pd.Series[float], dialogues: pd.Series[str], options: Options
) -> Result:
    counts, values, _ = rating_counts(things, labels)
    return krippendorff_alpha(
        counts,
        dialogues,
        [float(str(value)) for value in values] if question.scale == "interval" else None,
        ordered=question.scale == "ordinal",
        seed=options.seed,
        draws=options.draws,
        level=options.level,
    )


def name_of(row: AgreementRow) -> str:
    """“label (spot_the_bot), several raters”."""
    metric = "" if row.metric == row.what else row.metric
    where = ", ".join(text for text in (row.technique, row.setting, metric) if text)
    return f"{row.what}{f' ({where})' if where else ''}, {WHO[row.kind]}"


def _headline(row: AgreementRow) -> str:
    same, alpha = row.same, row.alpha
    interval = format_range(same.ci_low, same.ci_high)
    sure = "" if interval == ABSENT else f" ({percent(same.level)} interval {interval})"
    limits = signed_range(alpha.ci_low, alpha.ci_high)
    beyond_chance = f", Krippendorff's α {signed(alpha.estimate)}{'' if limits == ABSENT else f' ({limits})'}"
    told = "" if alpha.estimate is None else beyond_chance
    return f"{name_of(row)}: {percent(same.estimate)}{sure} of {_double_answers(row)} agree{told}."


def _double_answers(row: AgreementRow) -> str:
    if abs(row.per_thing - 2) < 1e-9:
        return counted(row.n, "doubly judged answer")
    times = f"{row.per_thing:.3g} people" if row.per_thing.is_integer() else f"{row.per_thing:.1f} people on average"
    return f"the pairs of answers to the same, of {counted(row.n, 'thing')} that {times} judged,"


def _notes(rows: Sequence[AgreementRow]) -> list[str]:
    """What must be known of the measures, each once, with the questions that it is about."""
    notes: dict[str, list[str]] = {}
    for row in rows:
        results = [result for result in (row.same, row.kappa, row.alpha) if result is not None]
        for note in dict.fromkeys(note for result in results for note in result.notes):
            notes.setdefault(note, []).append(name_of(row))
    return [f"{note[:1].upper()}{note[1:]}: {_listed(names)}." for note, names in notes.items()]


def _listed(names: Sequence[str]) -> str:
    more = f"; and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return "; ".join(names[:NAMED]) + more


def _mean_differences(rows: Sequence[AgreementRow]) -> Iterator[str]:
    for row in rows:
        gap = row.difference
        if gap is not None and gap.p_value is not None and gap.estimate is not None and gap.p_value < ALPHA:
            way = "higher" if gap.estimate > 0 else "lower"
            by = f"{way} by {signed(abs(gap.estimate))} on average ({format_p(gap.p_value)})"
            yield f"Who rated once more rates {row.what} {by} than the dialogue's own rater."


_LABELS: Labels = {
    "what": ("What", "text"),
    "percent": ("Agree", "share"),
    "kappa": ("κ", "number"),
    "kind": ("Who", "text"),
    "n": ("Judged twice or more", "count"),
    "per_thing": ("Times each", "number"),
    "n_raters": ("Raters", "count"),
    "scale": ("Level of α", "text"),
    "alpha": ("α", "number"),
    "own_mean": ("Own rater", "number"),
    "other_mean": ("The other", "number"),
    "difference": ("Difference", "number"),
    "p_difference": ("p, clustered", "p"),
}
_MEASURES = columns(
    "source technique setting metric what kind n per_thing n_raters n_dialogues percent percent_low percent_high "
    "kappa kappa_low kappa_high scale alpha alpha_low alpha_high",
    _LABELS,
)
_MEANS = columns(
    "technique setting metric what n own_mean other_mean difference difference_low difference_high p_difference",
    {**_LABELS, "n": ("Answers", "count")},
)
_TURNS = columns(
    "technique setting metric what turn n percent percent_low percent_high kappa kappa_low kappa_high",
    {**_LABELS, "n": ("Answers", "count")},
)
