"""Section ``agreement``: agreement of people who judged the same, and differences between third parties and the
dialogue's own rater.

Answers as who said what of which thing: the long form in which the agreement of raters is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval._util.arrays import Floats, Objects
from parlai_humaneval.report.section import Options, Section, told
from parlai_humaneval.report.views import DataTable, Figure, Method, interval_figures, look, method, shown, table
from parlai_humaneval.statistics.core.formatting import ABSENT
from parlai_humaneval.statistics.core.means import crossed_mean
from parlai_humaneval.statistics.core.multiplicity import ALPHA
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.rows import EVERY, Column, Count, Estimate, Name, Row
from parlai_humaneval.statistics.preference.pairs import orient_pairs
from parlai_humaneval.statistics.raters import agreement
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
    def again(self) -> pd.DataFrame:
        """Rows of things with a known answer by the dialogue's own rater."""
        return self.rows[self.rows["own"].notna().to_numpy(dtype=bool)]


def questions(tables: Tables) -> Iterator[Judged]:
    """All questions that were answered, with all answers."""
    held = (tables.turns, tables.comparisons, tables.ratings, tables.segments)
    for rows, of_table in zip(held, (_turns, _comparisons, _ratings, _segments), strict=True):
        yield from of_table(rows) if len(rows) else ()


def _comparisons(rows: pd.DataFrame) -> Iterator[Judged]:
    """Winners: B, a tie or A, where A is the first in the alphabet."""
    rows = orient_pairs(rows[finished(rows) & ~is_set(rows, "automatic")])
    own = rows["own_winner"]
    lead = ((own == rows["model_a"]).astype(float) - (own == rows["model_b"]).astype(float)) * ~nobody_won(rows, "own_")
    known = np.where(own.notna(), lead, np.nan)
    things = [rows[name] for name in ("kind", "item_id", "model_a", "model_b", "dialogue_a", "dialogue_b", "turn")]
    said = _said(rows, things, rows["dialogue_a"], rows["outcome"].to_numpy(dtype=float), known)
    yield from _by_group("comparisons", said, "winner", "ordinal")


def _ratings(rows: pd.DataFrame) -> Iterator[Judged]:
    rows = rows[finished(rows)]
    value, before = (rows[name].to_numpy(dtype=float, na_value=np.nan) for name in ("value", "own_value"))
    things = [rows["dialogue_id"], rows["model"], rows["criterion"]]
    said = _said(_named(rows), things, rows["dialogue_id"], value, before)
    for name, part in said.groupby(rows["criterion"].to_numpy(dtype=object), sort=True):
        yield from _by_group("ratings", part, str(name), "interval")


def _segments(rows: pd.DataFrame) -> Iterator[Judged]:
    rows = rows[finished(rows)]
    things = [rows["dialogue_id"], rows["k"], rows["entity"]]
    taken_for = rows["label"].map(LABELS).to_numpy(dtype=float)
    said = _said(rows, things, rows["dialogue_id"], taken_for, np.full(len(rows), np.nan))
    yield from _by_group("segments", said, "label", "ordinal")


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
    named = _named(rows)
    said = _said(named, things, named["dialogue_id"], label, own)
    yield from _by_group("turns", said[~ticked], CHOSEN, "nominal")
    choices = dict.fromkeys(name for text in rows["tick_choices"].dropna().unique() for name in str(text).split(";"))
    for name in choices:
        could = np.array([name in str(text).split(";") for text in rows["tick_choices"].fillna("")], dtype=bool)
        again = known & rows["own_worker"].notna().to_numpy(dtype=bool)
        own_tick = np.where(again, _has(rows["own_ticks"], name), np.nan)
        ticks = _said(named, things, named["dialogue_id"], _has(rows["ticks"], name), own_tick)
        yield from _by_group("turns", ticks[ticked & could], name, "nominal")


def _named(rows: pd.DataFrame) -> pd.DataFrame:
    """A dialogue that was rated once more keeps the name of its own technique."""
    known = {name: rows[f"own_{name}"].fillna(rows[name]) for name in ("technique", "setting")}
    return rows.assign(**known)


def _has(ticks: pd.Series[str], name: str) -> Floats:
    return np.array([float(name in str(text).split(";")) for text in ticks.fillna("")], dtype=float)


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
    return pd.DataFrame(
        {
            **{name: rows[name].fillna("").to_numpy(dtype=object) for name in _GROUP},
            "thing": np.asarray(codes, dtype=int),
            "dialogue": dialogues.to_numpy(dtype=object),
            "worker": rows["worker_id"].to_numpy(dtype=object),
            "label": np.asarray(label, dtype=float),
            "own": np.asarray(own, dtype=float),
            "own_worker": rows["own_worker"].fillna(OWN_RATER).to_numpy(dtype=object)
            if "own_worker" in rows
            else OWN_RATER,
            "turn": rows["turn"].to_numpy(dtype=float, na_value=np.nan) if "turn" in rows else np.nan,
            **{name: rows[name].to_numpy(dtype=object) if name in rows else "" for name in _MODELS},
        },
        index=rows.index,
    )


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
WITH_OWN = "agreement_with_own_rater"
"""A second table of the same rows."""
WHO = {"own": "own rater and another", "several": "several raters"}


Same = Annotated[Result, Estimate("Agree", "share", name="percent")]
Kappa = Annotated[Result | None, Estimate("κ")]


class AgreementBase(Row):
    """Agreement on ``what``, of one technique, setting and metric. ``same``: pairs of raters who said the same, clustered
    by dialogue; intervals of ``kappa`` are a bootstrap over dialogues. ``n``: things that were judged twice or more."""

    source: Annotated[Source, Column()]
    technique: Name
    setting: Name
    metric: Name
    what: Annotated[str, Column(table=EVERY)]


class AgreementRow(AgreementBase):
    """Agreement on a question: of the dialogue's ``own`` rater and somebody who rated it once more, or of ``several``,
    all who judged the same, the own rater among them where it is known what they said.

    Things were judged ``per_thing`` times each in the mean, by ``n_raters`` people (with ``own``: besides own raters).
    ``kappa``: Cohen's for ``own``, Fleiss' for ``several``; None on scales of more than ten points. ``alpha``:
    Krippendorff's at level ``scale``. ``own_mean``, ``other_mean``: what each said, of a yes or no the share of yes.
    ``difference``: of ratings, the other minus the own rater, clustered by rater.
    """

    kind: Annotated[Kind, Column("Who")]
    n: Annotated[int, Column("Judged twice or more"), Column("Answers", table=WITH_OWN, in_json=False)]
    per_thing: Annotated[float, Column("Times each")]
    n_raters: Annotated[int, Column("Raters")]
    n_dialogues: Count
    same: Same
    kappa: Kappa
    scale: Annotated[Scale, Column("Level of α")]
    alpha: Annotated[Result, Estimate("α")]
    own_mean: Annotated[float | None, Column("Own rater", table=WITH_OWN)] = None
    other_mean: Annotated[float | None, Column("The other", table=WITH_OWN)] = None
    difference: Annotated[
        Result | None,
        Estimate("Difference", table=WITH_OWN),
        Column("p, clustered", "p", name="p_difference", path="p_value", table=WITH_OWN),
    ] = None

    @property
    def title(self) -> str:
        """“label (spot_the_bot), several raters”."""
        metric = "" if self.metric == self.what else self.metric
        where = ", ".join(filter(None, (self.technique, self.setting, metric)))
        return f"{self.what}{f' ({where})' if where else ''}, {WHO[self.kind]}"


class TurnRow(AgreementBase):
    """Agreement of the own rater and another in one turn of the dialogues."""

    source: Source
    turn: Count
    n: Annotated[int, Column("Answers")]
    n_dialogues: int
    same: Same
    kappa: Kappa


class Agreement(Section):
    """Agreement of people who judged the same things."""

    TITLE: ClassVar[str] = "Agreement of raters"

    rows: list[AgreementRow]
    by_turn: list[TurnRow]
    seed: int
    draws: int

    def data_tables(self) -> list[DataTable]:
        again = [row for row in self.rows if row.own_mean is not None]
        measures, with_own = table("agreement_measures", self.rows), table(WITH_OWN, again)
        return shown(measures, with_own, table("agreement_by_turn", self.by_turn))

    def figures(self) -> list[Figure]:
        alphas = [(row.title, row.alpha) for row in self.rows]
        return [*interval_figures(**look("agreement_alpha"), results=alphas)]

    def methods(self) -> list[Method]:
        return [
            method("agreement", "agreement"),
            method("agreement", "kappa_and_alpha", draws=self.draws, seed=self.seed),
        ]


def build(tables: Tables, options: Options) -> Agreement | None:
    """The section about everything that two people judged; None if nothing was judged twice."""
    questions = list(judged(tables))
    rows = [
        row
        for question in questions
        for row in (*_own_and_other_raters(question, options), *_several(question, options))
    ]
    if not rows:
        return None
    by_turn = [row for question in questions for row in _by_turn(question, options)]
    largest = max(rows, key=lambda row: row.n)
    notes: dict[str, list[AgreementRow]] = {}
    for row in rows:
        results = [result for result in (row.same, row.kappa, row.alpha) if result is not None]
        for note in dict.fromkeys(note for result in results for note in result.notes):
            notes.setdefault(note, []).append(row)
    words = told(
        "agreement",
        largest=largest,
        notes=notes,
        differing=[
            row
            for row in rows
            if row.difference is not None and row.difference.p_value is not None and row.difference.p_value < ALPHA
        ],
        named=NAMED,
        absent=ABSENT,
    )
    return Agreement(rows=rows, by_turn=by_turn, seed=options.seed, draws=options.draws, **words)


def _own_and_other_raters(question: Judged, options: Options) -> Iterator[AgreementRow]:
    rows = question.again
    if rows.empty:
        return
    both = pd.concat([rows["label"], rows["own"]])
    # Each pair of answers is a thing of its own here, so that α is of pairs, as κ is.
    things = [*range(len(rows))] * 2
    workers, dialogues = (rows[name].to_numpy(dtype=object) for name in ("worker", "dialogue"))
    apart = (rows["label"] - rows["own"]).to_numpy(dtype=float)
    name = f"{question.what}: other − own rater"
    yield AgreementRow.of(
        question,
        kind="own",
        n=len(rows),
        per_thing=2.0,
        n_raters=int(rows["worker"].nunique()),
        n_dialogues=int(rows["dialogue"].nunique()),
        **same_and_kappa(rows["label"], rows["own"], rows["dialogue"], options, few=both.nunique() <= MOST_LABELS),
        alpha=alpha_of(question.scale, things, both, rows["dialogue"], options),
        own_mean=None if question.scale == "ordinal" else float(rows["own"].mean()),
        other_mean=None if question.scale == "ordinal" else float(rows["label"].mean()),
        difference=crossed_mean(apart, workers, dialogues, name=name, null=0.0, level=options.level)
        if question.scale == "interval"
        else None,
    )


def same_and_kappa(
    first: pd.Series[float], second: pd.Series[float], dialogues: pd.Series[str], options: Options, *, few: bool = True
) -> dict[str, Any]:
    """For two answers to each item: ``same`` and, where labels are ``few``, Cohen's ``kappa``."""
    answers = (first, second, dialogues)
    kappa = agreement.cohen_kappa(*answers, **options.bootstrap) if few else None
    return {"same": agreement.percent_agreement(*answers, cluster="dialogue", level=options.level), "kappa": kappa}


class Several(NamedTuple):
    """Agreement of all who judged each of some things. ``counts``: things by labels; ``kappa``: Fleiss'."""

    counts: Floats
    dialogues: Objects
    same: Result
    kappa: Result | None
    alpha: Result


def of_several(rows: pd.DataFrame, scale: Scale, options: Options) -> Several:
    """``rows``: of :class:`Judged`, each thing once of everybody."""
    counts, labels, things = agreement.rating_counts(rows["thing"], rows["label"])
    dialogues = rows.drop_duplicates("thing").set_index("thing").loc[list(things), "dialogue"].to_numpy(dtype=object)
    kappa = agreement.fleiss_kappa(counts, dialogues, **options.bootstrap) if len(labels) <= MOST_LABELS else None
    same = agreement.pair_agreement(counts, dialogues, cluster="dialogue", level=options.level)
    alpha = alpha_of(scale, rows["thing"], rows["label"], dialogues, options)
    return Several(counts, dialogues, same, kappa, alpha)


def _by_turn(question: Judged, options: Options) -> Iterator[TurnRow]:
    """Agreement of the dialogue's own rater with another rater, turn by turn, if several turns were rated again."""
    rows = question.again
    if question.source != "turns" or rows["turn"].nunique() < 2:
        return
    for turn, of_turn in rows.groupby("turn", sort=True):
        yield TurnRow.of(
            question,
            turn=int(float(str(turn))),
            n=len(of_turn),
            n_dialogues=int(of_turn["dialogue"].nunique()),
            **same_and_kappa(of_turn["label"], of_turn["own"], of_turn["dialogue"], options),
        )


def _several(question: Judged, options: Options) -> Iterator[AgreementRow]:
    """Agreement of all raters of the same thing, including the dialogue's own rater once, if that answer is known."""
    if not question.rows["thing"].duplicated().any():
        return
    again = question.again
    # The table may hold the own rater's answers too, as a row of theirs.
    everybody = pd.concat([question.rows, again.assign(label=again["own"], worker=again["own_worker"])])
    everybody = everybody.drop_duplicates(["thing", "worker"])
    agreed = of_several(everybody, question.scale, options)
    twice = everybody[everybody["thing"].duplicated(keep=False).to_numpy(dtype=bool)]
    times = agreed.counts.sum(axis=1)
    yield AgreementRow.of(
        question,
        agreed._asdict(),
        kind="several",
        n=int((times > 1).sum()),
        per_thing=float(times[times > 1].mean()),
        n_raters=int(twice["worker"].nunique()),
        n_dialogues=int(twice["dialogue"].nunique()),
    )


def alpha_of(
    scale: Scale, things: npt.ArrayLike, labels: pd.Series[float], dialogues: npt.ArrayLike, options: Options
) -> Result:
    """Krippendorff's α at the level of ``scale``; ``dialogues``: of each thing."""
    counts, values, _ = agreement.rating_counts(things, labels)
    numbers = [float(str(value)) for value in values] if scale == "interval" else None
    clusters = np.asarray(dialogues, dtype=object)
    return agreement.krippendorff_alpha(counts, clusters, numbers, ordered=scale == "ordinal", **options.bootstrap)
