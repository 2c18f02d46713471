"""Raters' time: when each answer was there, and how long dialogues, judgements and comparisons took.

A page that was left open overnight is no work: :func:`idle_answers` says which times are taken for such, here and wherever
time is counted. Medians hold them, means and sums do not: means leave them out, and in sums they count as the median of the
others, as times that are missing do. Nothing is deleted from the tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval._util.arrays import Flags, Floats, Ints, Objects
from parlai_humaneval.statistics.core.means import clustered_mean
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.preference.pairs import GROUP, counted_comparisons, orient_pairs
from parlai_humaneval.statistics.ratings.likert import likert_groups
from parlai_humaneval.tables.choices import ComparisonGroup, choice_groups
from parlai_humaneval.tables.columns import Tables
from parlai_humaneval.tables.filters import is_set

Keys: TypeAlias = "Objects | pd.Series[Any]"
Collection = Literal["none", "counted", "unknown"]
STUDY = ("technique", "setting")

LEFT_OPEN_SECONDS = 3600.0
LEFT_OPEN_MEDIANS = 10.0
"""A longer time than either of both, an hour and ten medians, is taken for that of a page that was left open."""


def idle_answers(seconds: npt.ArrayLike, kinds: npt.ArrayLike | None = None) -> Flags:
    """Which times are those of a page that was left open: more than an hour, and than ten times the median of their kind.

    Args:
        seconds: of units of work; nan where a time is not known, which is never left open.
        kinds: what each unit is; None: all are of one kind.

    True: rather a break than work. Of an even number of times the lower one in the middle is the median, so that one of
    two can be told. An own rule: cut-offs at a fixed multiple do not move with what they are to cut, as those of standard
    deviations do (Ratcliff 1993), and with a floor of an hour no slow rater is cut.

    Assumes that fewer than half of the units of a kind were left open.

    Source: own rule, after Ratcliff 1993.

    >>> idle_answers([20, 25, 600_000, 3_000]).tolist()
    [False, False, True, False]
    """
    times = np.asarray(seconds, dtype=float)
    groups: Any = np.zeros(len(times)) if kinds is None else np.asarray(kinds, dtype=object)
    medians = pd.Series(times).groupby(groups, dropna=False).transform(_lower_median).to_numpy(dtype=float)
    return np.asarray(times > np.maximum(LEFT_OPEN_SECONDS, LEFT_OPEN_MEDIANS * medians), dtype=bool)


def _lower_median(times: pd.Series[Any]) -> float:
    return float(times.quantile(0.5, interpolation="lower"))


def _worked(rows: pd.DataFrame, kinds: Sequence[str]) -> Floats:
    """``seconds`` of ``rows``, nan where the page was left open, as for times that are not known."""
    seconds = rows["seconds"].to_numpy(dtype=float, na_value=np.nan)
    codes = rows.groupby(list(kinds), dropna=False, sort=False).ngroup().to_numpy()
    return np.where(idle_answers(seconds, codes), np.nan, seconds)


class RaterClock:
    """Times of ``tables``, in seconds; nan where nothing is said, or where the page was left open.

    Dialogues are known by their names, and by "NAME by WORKER", as they are called where several people rated one.
    """

    def __init__(self, tables: Tables) -> None:
        dialogues = tables.dialogues
        keys = pd.MultiIndex.from_frame(dialogues[["dialogue_id", "worker_id"]])
        conversations: pd.Series[Any] = pd.Series(_worked(dialogues, STUDY), index=keys)
        turns = _time_of_turns(tables.turns)
        self._talk = _by_both_names(conversations)
        self._seconds = _by_both_names(conversations.dropna().combine_first(_dialogue_times(turns)))
        self._turns = _by_both_names(turns)
        self._started = _by_both_names(pd.Series(_epoch(dialogues["started"]), index=keys))
        self._rows = {
            name: _by_both_names(_first_rows(rows))
            for name, rows in (("turns", tables.turns), ("ratings", tables.ratings))
        }
        judged = tables.judgements
        self._judged: pd.Series[Any] = pd.Series(_epoch(judged["started"]), index=judged["judgement_id"])
        # Who held a dialogue does not matter when its pair is judged.
        self._of_dialogue = conversations.groupby(level=0).mean()

    def seconds(self, dialogues: Keys, workers: Keys) -> Floats:
        """Of whole conversations: their own time, else that of their turns together."""
        return _found(self._seconds, pd.MultiIndex.from_arrays([dialogues, workers]))

    def of_turns(self, dialogues: Keys, workers: Keys, turns: Floats) -> Floats:
        """Of each of these turns, which are all that were answered in their conversations.

        A conversation's time is spread over its turns, as raters talk to be able to answer; where it is not known, a
        turn takes its own time.
        """
        if not len(turns):
            return np.zeros(0)
        keys = pd.MultiIndex.from_arrays([dialogues, workers])
        codes, names = pd.factorize(keys)
        spread = _found(self._talk, keys) / np.bincount(codes, minlength=len(names))[codes]
        of_turn = _found(self._turns, pd.MultiIndex.from_arrays([dialogues, workers, turns]))
        return np.where(np.isnan(spread), of_turn, spread)

    def order(self, dialogues: Keys, workers: Keys, turns: Floats | None = None) -> Ints:
        """By when conversations began, as far as it is said, then by the rows of the table; turns of one in their order.

        Without ``turns`` these are ratings.
        """
        rows = self._rows["ratings" if turns is None else "turns"]
        row = _found(rows, pd.MultiIndex.from_arrays([dialogues, workers]))
        within = np.zeros(len(row)) if turns is None else turns
        return np.asarray(np.lexsort((within, row, self.started(dialogues, workers))), dtype=np.int64)

    def started(self, dialogues: Keys, workers: Keys) -> Floats:
        return _found(self._started, pd.MultiIndex.from_arrays([dialogues, workers]))

    def judged(self, judgements: pd.Series[Any]) -> Floats:
        return _found(self._judged, pd.Index(judgements))

    def collected(self, dialogues: pd.Series[Any]) -> Floats:
        return _found(self._of_dialogue, pd.Index(dialogues.unique()))


def _time_of_turns(turns: pd.DataFrame) -> pd.Series[Any]:
    told = turns["judgement_id"].isna().to_numpy(dtype=bool) & turns["seconds"].notna().to_numpy(dtype=bool)
    names = ["dialogue_id", "worker_id", "turn"]
    timed = turns[[*names, "technique", "setting", "seconds"]][told].drop_duplicates(names)
    timed = timed[~np.isnan(_worked(timed, STUDY))]
    keys = pd.MultiIndex.from_arrays([timed["dialogue_id"], timed["worker_id"], timed["turn"].to_numpy(dtype=float)])
    seconds: pd.Series[Any] = pd.Series(timed["seconds"].to_numpy(dtype=float), index=keys)
    return seconds


def _dialogue_times(turns: pd.Series[Any]) -> pd.Series[Any]:
    return turns.groupby(level=[0, 1]).sum()


def _first_rows(rows: pd.DataFrame) -> pd.Series[Any]:
    first = ~rows.duplicated(["dialogue_id", "worker_id"]).to_numpy(dtype=bool)
    keys = pd.MultiIndex.from_frame(rows[["dialogue_id", "worker_id"]][first])
    first_rows: pd.Series[Any] = pd.Series(np.flatnonzero(first).astype(float), index=keys)
    return first_rows


def _by_both_names(known: pd.Series[Any]) -> pd.Series[Any]:
    if known.empty:
        return known
    dialogues, workers, *more = (known.index.get_level_values(level) for level in range(known.index.nlevels))
    names = pd.Index(dialogues.to_numpy(dtype=object) + " by " + workers.to_numpy(dtype=object))
    other = known.set_axis(pd.MultiIndex.from_arrays([names, workers, *more]))
    both: pd.Series[Any] = pd.concat([known, other])
    named: pd.Series[Any] = both[~both.index.duplicated()]
    return named


def _found(known: pd.Series[Any], keys: pd.Index[Any]) -> Floats:
    if known.empty:
        return np.full(len(keys), np.nan)
    return np.asarray(known.reindex(keys).to_numpy(dtype=float))


def _epoch(times: pd.Series[Any]) -> Floats:
    """Seconds since 1970; nan where nothing is said, or nothing that can be read."""
    read = pd.to_datetime(times.fillna(""), utc=True, errors="coerce", format="ISO8601")
    seconds = (read - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1)
    return np.asarray(seconds.to_numpy(dtype=float))


@dataclass(frozen=True)
class TimedAnswers:
    """All answers on two models under one metric or criterion, in order of time; arrays have an entry an answer.

    Attributes:
        kind: turn, verdict or dialogue of comparisons; ticks or rating of single models.
        values: of comparisons 1 where A won, 0 where B did, ½ a tie; of single models the tick or the rating.
        of_a: of single models, where a value is A's; None of comparisons.
        seconds: rater time of the answer, with its share of the conversation where raters talk themselves.
        collection: whether the dialogues that were judged had to be collected from raters, and their time is known.
        dialogue_seconds: mean time of one of those; None unless it is known.
    """

    technique: str
    setting: str
    kind: str
    metric: str
    model_a: str
    model_b: str
    values: Floats
    of_a: Flags | None
    seconds: Floats
    workers: Objects
    collection: Collection = "none"
    dialogue_seconds: float | None = None


def timed_answers(tables: Tables) -> list[TimedAnswers]:
    """Comparisons first, then turns, ticks and ratings of single models. What has no time at all is left out.

    Turns in which replies stood side by side are read from ``comparisons``; where these do not hold them, from ``turns``.

    Assumes that a conversation's time is spread evenly over its turns, and that times that are missing are like the
    median.

    Source: Smith et al. 2022, App. C.7.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> answers = timed_answers(example_tables())[0]
    >>> answers.technique, answers.model_a, answers.model_b, len(answers.values)
    ('pw_dialog', 'ada', 'bob', 32)
    """
    clock, groups = RaterClock(tables), choice_groups(tables)
    compared = list(_comparisons(tables, clock))
    known = {_question(answers) for answers in compared if answers.kind == "turn"}
    turns = (answers for answers in _turns(groups, clock) if _question(answers) not in known)
    return [*compared, *turns, *_ticks(groups, clock), *_ratings(tables, clock)]


def _question(answers: TimedAnswers) -> tuple[str, str, str]:
    return answers.metric, answers.model_a, answers.model_b


def _comparisons(tables: Tables, clock: RaterClock) -> Iterator[TimedAnswers]:
    rows = counted_comparisons(tables)
    if rows.empty:
        return
    rows = orient_pairs(rows)
    began = clock.started(rows["dialogue_a"], rows["worker_id"])
    rows = rows.assign(
        at=np.where(rows["kind"] == "dialogue", clock.judged(rows["judgement_id"]), began),
        talk=clock.seconds(rows["dialogue_a"], rows["worker_id"]),
        seconds=_worked(rows, (*STUDY, "kind")),
        row=_rows(rows),
    ).sort_values(["at", "row", "turn"], kind="stable")
    for key, comparisons in rows.groupby([*GROUP, "model_a", "model_b"], sort=True):
        technique, setting, kind, metric, a, b = (str(part) for part in key)
        seconds = comparisons["seconds"].to_numpy(dtype=float, na_value=np.nan)
        if kind != "dialogue":
            # Raters talk to be able to answer: the whole conversation is spent on its answers.
            answers = comparisons.groupby(["dialogue_a", "worker_id"])["turn"].transform("size").to_numpy(dtype=float)
            talk = comparisons["talk"].to_numpy(dtype=float) / answers
            seconds = np.where(np.isnan(talk), seconds, talk)
        filled = _filled(seconds)
        if filled is None:
            continue
        collection, each = _collection(comparisons, kind, setting, clock)
        values = (comparisons["outcome"].to_numpy(dtype=float) + 1) / 2
        workers = comparisons["worker_id"].to_numpy(dtype=object)
        yield TimedAnswers(technique, setting, kind, metric, a, b, values, None, filled, workers, collection, each)


def _rows(rows: pd.DataFrame) -> Ints:
    """The order where no time is said: that of the table, in which turns of one conversation belong together."""
    number = np.arange(len(rows))
    first = pd.Series(number, index=rows.index).groupby([rows["dialogue_a"], rows["worker_id"]]).transform("min")
    return np.asarray(np.where(rows["kind"] == "dialogue", number, first), dtype=np.int64)


def _collection(rows: pd.DataFrame, kind: str, setting: str, clock: RaterClock) -> tuple[Collection, float | None]:
    if kind != "dialogue" or setting == "self_chat":
        return "none", None
    seconds = clock.collected(pd.concat([rows["dialogue_a"], rows["dialogue_b"]]))
    known = seconds[~np.isnan(seconds)]
    return ("counted", float(known.mean())) if known.size else ("unknown", None)


def _filled(seconds: Floats) -> Floats | None:
    """Times that are missing, or of pages that were left open, are taken for the median; None where none is known."""
    known = seconds[~np.isnan(seconds)]
    return np.where(np.isnan(seconds), np.median(known), seconds) if known.size else None


def _turns(groups: Sequence[ComparisonGroup], clock: RaterClock) -> Iterator[TimedAnswers]:
    """Every two models whose replies stood side by side, in whichever company: 1 where only A's was chosen, ½ a tie."""
    by_pair: dict[tuple[str, ...], list[_Turns]] = {}
    for group in groups:
        if group.kind == "single":
            continue
        turns = group.turns
        seconds = clock.of_turns(turns.dialogues, turns.workers, turns.turns)
        for i, j in combinations(range(len(group.models)), 2):
            values = (1 + turns.chosen[:, i] - turns.chosen[:, j]) / 2
            both = ~np.isnan(values)
            part = _Turns(values[both], seconds[both], turns.turns[both], turns.dialogues[both], turns.workers[both])
            by_pair.setdefault((*group.family, group.models[i], group.models[j]), []).append(part)
    for (technique, setting, metric, a, b), parts in by_pair.items():
        values, seconds, numbers, dialogues, workers = (np.concatenate(column) for column in zip(*parts, strict=True))
        filled = _filled(seconds)
        if filled is None:
            continue
        order = clock.order(dialogues, workers, numbers)
        yield TimedAnswers(technique, setting, "turn", metric, a, b, values[order], None, filled[order], workers[order])


class _Turns(NamedTuple):
    values: Floats
    seconds: Floats
    turns: Floats
    dialogues: Objects
    workers: Objects


def _ticks(groups: Sequence[ComparisonGroup], clock: RaterClock) -> Iterator[TimedAnswers]:
    for group in groups:
        if group.kind != "single":
            continue
        turns, names = group.turns, (group.technique, group.setting, "ticks", group.metric)
        seconds = clock.of_turns(turns.dialogues, turns.workers, turns.turns)
        order = clock.order(turns.dialogues, turns.workers, turns.turns)
        shown = ~np.isnan(turns.chosen)
        for i, j in combinations(range(len(turns.models)), 2):
            rows = order[(shown[:, i] | shown[:, j])[order]]
            values, of_a = np.where(shown[:, i], turns.chosen[:, i], turns.chosen[:, j])[rows], shown[rows, i]
            yield from _single(
                names, turns.models[i], turns.models[j], values, of_a, seconds[rows], turns.workers[rows]
            )


def _ratings(tables: Tables, clock: RaterClock) -> Iterator[TimedAnswers]:
    for group in likert_groups(tables):
        names = (group.technique, group.setting, "rating", group.criterion)
        for a, b in combinations(group.models, 2):
            dialogues, workers = (np.concatenate([getattr(x, n) for x in (a, b)]) for n in ("dialogues", "workers"))
            order = clock.order(dialogues, workers)
            values = np.concatenate([a.values, b.values])[order]
            of_a, seconds = order < len(a.values), clock.seconds(dialogues, workers)[order]
            yield from _single(names, a.model, b.model, values, of_a, seconds, workers[order])


def _single(
    names: Sequence[str],
    model_a: str,
    model_b: str,
    values: Floats,
    of_a: Flags,
    seconds: Floats,
    workers: Objects,
) -> Iterator[TimedAnswers]:
    filled = _filled(seconds)
    if filled is not None and of_a.any() and not of_a.all():
        technique, setting, kind, metric = names
        yield TimedAnswers(technique, setting, kind, metric, model_a, model_b, values, of_a, filled, workers)


class TimeSpent(NamedTuple):
    """What raters spent on one unit of a technique and setting.

    ``trimmed`` holds the mean, clustered by worker, without the ``n_cut`` units whose page was left open
    (:func:`idle_answers`); ``trimmed_hours`` are all units together, those counted as the median of the others. ``seconds``
    and ``hours`` are the mean and the sum of all times as they were measured.
    """

    technique: str
    setting: str
    unit: str
    seconds: Result
    median_seconds: float
    n_workers: int
    hours: float
    trimmed: Result
    trimmed_hours: float
    n_cut: int


def time_spent(tables: Tables, *, level: float = 0.95) -> list[TimeSpent]:
    """What raters spent on each unit of each technique and setting, from the tables that say most.

    Live dialogues from ``dialogues``, else what ``turns`` say; judgements of finished dialogues from ``judgements``
    (attention checks apart), else from ``segments`` and ``comparisons``. Units without a time do not count.

    Assumes independent workers, of the intervals.

    Source: Smith et al. 2022, App. C.7; Cameron & Miller 2015, §II.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> spent = time_spent(example_tables())[0]
    >>> spent.technique, spent.unit, spent.seconds.n, spent.median_seconds
    ('pw_dialog', 'comparison', 32, 45.0)
    """
    parts = list(_units(tables))
    if not parts:
        return []
    units = pd.concat(parts, ignore_index=True)
    units = units[units["seconds"].notna().to_numpy(dtype=bool)]
    units = units.assign(**{name: units[name].fillna("") for name in ("technique", "setting")})
    groups = units.groupby(["technique", "setting", "unit"], sort=True)
    return [
        _of_unit(rows, str(technique), str(setting), str(unit), level) for (technique, setting, unit), rows in groups
    ]


def _of_unit(rows: pd.DataFrame, technique: str, setting: str, unit: str, level: float) -> TimeSpent:
    seconds, workers = rows["seconds"].to_numpy(dtype=float), rows["worker_id"].to_numpy(dtype=object)
    worked = ~idle_answers(seconds)

    def mean(counted: Flags, name: str) -> Result:
        return clustered_mean(seconds[counted], workers[counted], name=name, limits=(0.0, np.inf), level=level)

    n_cut = int((~worked).sum())
    return TimeSpent(
        technique,
        setting,
        unit,
        mean(np.ones(len(seconds), dtype=bool), f"seconds a {unit}"),
        median_seconds=float(np.median(seconds)),
        n_workers=int(rows["worker_id"].nunique()),
        hours=float(seconds.sum()) / 3600,
        trimmed=mean(worked, f"seconds a {unit}, left-open pages cut"),
        trimmed_hours=(float(seconds[worked].sum()) + n_cut * float(np.median(seconds[worked]))) / 3600,
        n_cut=n_cut,
    )


def _units(tables: Tables) -> Iterator[pd.DataFrame]:
    if len(tables.dialogues):
        yield _named(tables.dialogues, "dialogue")
    elif len(tables.turns):
        names = ["dialogue_id", "worker_id", "setting", "metric", "turn"]
        first_hand = tables.turns["judgement_id"].isna().to_numpy(dtype=bool)
        rows = tables.turns[[*names, "technique", "seconds"]][first_hand]
        yield _named(rows.drop_duplicates(names), "turn")
    if len(tables.judgements):
        checks = is_set(tables.judgements, "gold")
        yield _named(tables.judgements[~checks], "judgement")
        yield _named(tables.judgements[checks], "attention check")
        return
    yield _named(tables.segments.drop_duplicates(["dialogue_id", "worker_id", "k"]), "segment")
    rows = tables.comparisons
    between = (rows["dialogue_a"] != rows["dialogue_b"]).to_numpy(dtype=bool)
    # Replies of one turn are in the time of their dialogue or turn.
    alone = between | (not len(tables.dialogues) and not len(tables.turns))
    yield _named(rows[alone].drop_duplicates(["item_id", "worker_id", "metric"]), "comparison")


def _named(rows: pd.DataFrame, unit: str) -> pd.DataFrame:
    units: pd.DataFrame = rows[["technique", "setting", "worker_id", "seconds"]].assign(unit=unit)
    return units
