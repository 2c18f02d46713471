"""Raters' time: of answers, dialogues and judgements (Smith et al. 2022, App. C.7).

A page that was left open overnight does not count as work (`idle_answers`): means leave such times out. In sums they
count as the median of the others, as missing times do.

And how much of it tells two models apart (App. C.6).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval._util.arrays import Flags, Floats, Ints, Objects
from parlai_humaneval.statistics.core.formatting import with_article
from parlai_humaneval.statistics.core.means import clustered_mean
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.rows import Column, Estimate, Name, Row
from parlai_humaneval.statistics.core.sequential import anytime_p_values, crossing, t_p_values
from parlai_humaneval.statistics.core.shares import binomial_p_values
from parlai_humaneval.statistics.preference.pairs import GROUP, counted_comparisons, orient_pairs
from parlai_humaneval.statistics.ratings.likert import likert_groups
from parlai_humaneval.tables.choices import ComparisonGroup, choice_groups
from parlai_humaneval.tables.columns import Tables
from parlai_humaneval.tables.filters import is_set

Keys: TypeAlias = "Objects | Floats | pd.Series[Any]"
Collection = Literal["none", "counted", "unknown"]
STUDY = ("technique", "setting")
_RATED = ["dialogue_id", "worker_id"]

LEFT_OPEN_SECONDS = 3600.0
LEFT_OPEN_MEDIANS = 10.0
"""A longer time than either of both, an hour and ten medians, is taken for that of a page that was left open."""


def idle_answers(seconds: npt.ArrayLike, kinds: npt.ArrayLike | None = None) -> Flags:
    """Which times are those of a page that was left open: more than an hour, and than ten times the median of their
    kind."""
    times = np.asarray(seconds, dtype=float)
    names = np.zeros(len(times)) if kinds is None else np.asarray(kinds, dtype=object)
    codes = pd.factorize(names, use_na_sentinel=False)[0]
    in_order = times[np.lexsort([times, codes])]  # of each kind the shortest first, and what is not known last
    known, ends = np.bincount(codes, weights=~np.isnan(times)).astype(int), np.cumsum(np.bincount(codes))
    medians = in_order[(ends - np.bincount(codes) + np.maximum(known - 1, 0) // 2)[codes]]
    return np.asarray(times > np.maximum(LEFT_OPEN_SECONDS, LEFT_OPEN_MEDIANS * medians), dtype=bool)


def _worked(rows: pd.DataFrame, kinds: Sequence[str]) -> Floats:
    """``seconds`` of ``rows``, nan where the page was left open, as for times that are not known."""
    seconds = rows["seconds"].to_numpy(dtype=float, na_value=np.nan)
    codes = rows.groupby(list(kinds), dropna=False, sort=False).ngroup().to_numpy()
    return np.where(idle_answers(seconds, codes), np.nan, seconds)


class RaterClock:
    """Times of ``tables``, in seconds; nan where nothing is said, or where the page was left open. Dialogues are known
    by their names, and by "NAME by WORKER", as they are called where several people rated one."""

    def __init__(self, tables: Tables) -> None:
        dialogues, turns, judged = tables.dialogues, tables.turns, tables.judgements
        keys = pd.MultiIndex.from_frame(dialogues[_RATED])
        talk: pd.Series[Any] = pd.Series(_worked(dialogues, STUDY), index=keys)
        told = turns["judgement_id"].isna().to_numpy(dtype=bool) & turns["seconds"].notna().to_numpy(dtype=bool)
        timed = turns[[*_RATED, "turn", *STUDY, "seconds"]][told].drop_duplicates([*_RATED, "turn"])
        timed = timed[~np.isnan(_worked(timed, STUDY))].astype({"turn": float, "seconds": float})
        of_turns = timed.set_index([*_RATED, "turn"])["seconds"]
        self._known = {
            "talk": talk,
            "talk or turns": talk.dropna().combine_first(of_turns.groupby(level=[0, 1]).sum()),
            "turns": of_turns,
            "started": pd.Series(_epoch(dialogues["started"]), index=keys),
        }
        for name, rows in (("row of turns", turns), ("row of ratings", tables.ratings)):
            numbered = rows[_RATED].assign(row=np.arange(len(rows), dtype=float)).drop_duplicates(_RATED)
            self._known[name] = numbered.set_index(_RATED)["row"]
        self._known = {name: _by_both_names(of) for name, of in self._known.items()}
        self._judged: pd.Series[Any] = pd.Series(_epoch(judged["started"]), index=judged["judgement_id"])
        # The dialogue's rater does not matter when its pair is judged.
        self._of_dialogue = talk.groupby(level=0).mean()

    def _at(self, name: str, *keys: Keys) -> Floats:
        return _found(self._known[name], pd.MultiIndex.from_arrays(list(keys)))

    def seconds(self, dialogues: Keys, workers: Keys) -> Floats:
        """Seconds of whole conversations: their own time, or else the sum of their turns."""
        return self._at("talk or turns", dialogues, workers)

    def of_turns(self, dialogues: Keys, workers: Keys, turns: Floats) -> Floats:
        """Seconds of each of these turns, all answered turns of their conversations. A conversation's time is spread
        over its turns, because raters talk in order to answer; if it is unknown, use a turn's own."""
        if not len(turns):
            return np.zeros(0)
        codes, names = pd.factorize(pd.MultiIndex.from_arrays([dialogues, workers]))
        spread = self._at("talk", dialogues, workers) / np.bincount(codes, minlength=len(names))[codes]
        return np.where(np.isnan(spread), self._at("turns", dialogues, workers, turns), spread)

    def places(self, dialogues: Keys, workers: Keys, table: Literal["turns", "ratings"]) -> tuple[Floats, Floats]:
        """What answers are sorted by: the row of their conversation in the ``table``, and before it when that began, as
        far as it is said."""
        return self._at(f"row of {table}", dialogues, workers), self.started(dialogues, workers)

    def started(self, dialogues: Keys, workers: Keys) -> Floats:
        return self._at("started", dialogues, workers)

    def judged(self, judgements: pd.Series[Any]) -> Floats:
        return _found(self._judged, pd.Index(judgements))

    def collected(self, dialogues: pd.Series[Any]) -> Floats:
        return _found(self._of_dialogue, pd.Index(dialogues.unique()))


def _by_both_names(known: pd.Series[Any]) -> pd.Series[Any]:
    if known.empty:
        return known
    dialogues, workers, *more = (known.index.get_level_values(level) for level in range(known.index.nlevels))
    names = pd.Index(dialogues.to_numpy(dtype=object) + " by " + workers.to_numpy(dtype=object))
    other = known.set_axis(pd.MultiIndex.from_arrays([names, workers, *more]))
    both: pd.Series[Any] = pd.concat([known, other])
    return both[~both.index.duplicated()]


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
    """All answers on two models under one metric or criterion, in order of time.

    ``kind``: turn, verdict or dialogue of comparisons; ticks or rating of single models. ``values``: of comparisons 1
    where A won, ½ a tie; of single models the tick or the rating, with ``of_a``. ``seconds``: rater time, with the
    answer's share of the conversation where raters talk. ``collection``: whether dialogues had to be collected, and the
    time of one is known.
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
    """Comparisons first, then turns, ticks and ratings of single models. What has no time at all is left out."""
    clock, groups = RaterClock(tables), choice_groups(tables)
    compared = list(_comparisons(tables, clock))
    known = {(of.metric, of.model_a, of.model_b) for of in compared if of.kind == "turn"}
    turns = (of for of in _turns(groups, clock) if (of.metric, of.model_a, of.model_b) not in known)
    return [*compared, *turns, *_ticks(groups, clock), *_ratings(tables, clock)]


def _comparisons(tables: Tables, clock: RaterClock) -> Iterator[TimedAnswers]:
    rows = counted_comparisons(tables)
    if rows.empty:
        return
    rows = orient_pairs(rows)
    began = clock.started(rows["dialogue_a"], rows["worker_id"])
    number, of_dialogues = np.arange(len(rows)), rows["kind"] == "dialogue"
    first = pd.Series(number, index=rows.index).groupby([rows["dialogue_a"], rows["worker_id"]]).transform("min")
    rows = rows.assign(
        at=np.where(of_dialogues, clock.judged(rows["judgement_id"]), began),
        talk=clock.seconds(rows["dialogue_a"], rows["worker_id"]),
        seconds=_worked(rows, (*STUDY, "kind")),
        # Where no time is said the order is that of the table, in which turns of one conversation belong together.
        row=np.where(of_dialogues, number, first),
    ).sort_values(["at", "row", "turn"], kind="stable")
    for key, comparisons in rows.groupby([*GROUP, "model_a", "model_b"], sort=True):
        technique, setting, kind, metric, a, b = (str(part) for part in key)
        seconds = comparisons["seconds"].to_numpy(dtype=float, na_value=np.nan)
        collection: Collection = "none"
        each = None
        if kind != "dialogue":
            # Raters talk to be able to answer: the whole conversation is spent on its answers.
            answers = comparisons.groupby(["dialogue_a", "worker_id"])["turn"].transform("size").to_numpy(dtype=float)
            talk = comparisons["talk"].to_numpy(dtype=float) / answers
            seconds = np.where(np.isnan(talk), seconds, talk)
        elif setting != "self_chat":
            known = clock.collected(pd.concat([comparisons["dialogue_a"], comparisons["dialogue_b"]]))
            known = known[~np.isnan(known)]
            collection, each = ("counted", float(known.mean())) if known.size else ("unknown", None)
        filled = _filled(seconds)
        if filled is None:
            continue
        values = (comparisons["outcome"].to_numpy(dtype=float) + 1) / 2
        workers = comparisons["worker_id"].to_numpy(dtype=object)
        yield TimedAnswers(technique, setting, kind, metric, a, b, values, None, filled, workers, collection, each)


def _filled(seconds: Floats) -> Floats | None:
    """Times that are missing, or of pages that were left open, are taken for the median; None where none is known."""
    known = seconds[~np.isnan(seconds)]
    return np.where(np.isnan(seconds), np.median(known), seconds) if known.size else None


def _turns(groups: Sequence[ComparisonGroup], clock: RaterClock) -> Iterator[TimedAnswers]:
    """Every two models whose replies stood side by side, in whichever company: 1 where only A's was chosen, ½ a tie."""
    by_pair: dict[tuple[str, ...], list[tuple[npt.NDArray[Any], ...]]] = {}
    for group in groups:
        if group.kind == "single":
            continue
        turns = group.turns
        seconds = clock.of_turns(turns.dialogues, turns.workers, turns.turns)
        places = clock.places(turns.dialogues, turns.workers, "turns")
        for i, j in combinations(range(len(group.models)), 2):
            values = (1 + turns.chosen[:, i] - turns.chosen[:, j]) / 2
            both = ~np.isnan(values)
            columns = (values, seconds, turns.turns, *places, turns.workers)
            part = tuple(column[both] for column in columns)
            by_pair.setdefault((*group.family, group.models[i], group.models[j]), []).append(part)
    for (technique, setting, metric, a, b), parts in by_pair.items():
        values, seconds, *order_by, workers = (np.concatenate(column) for column in zip(*parts, strict=True))
        filled = _filled(seconds)
        if filled is None:
            continue
        order = np.lexsort(order_by)
        yield TimedAnswers(technique, setting, "turn", metric, a, b, values[order], None, filled[order], workers[order])


def _ticks(groups: Sequence[ComparisonGroup], clock: RaterClock) -> Iterator[TimedAnswers]:
    for group in groups:
        if group.kind != "single":
            continue
        turns, names = group.turns, (group.technique, group.setting, "ticks", group.metric)
        seconds = clock.of_turns(turns.dialogues, turns.workers, turns.turns)
        order = np.lexsort((turns.turns, *clock.places(turns.dialogues, turns.workers, "turns")))
        shown = ~np.isnan(turns.chosen)
        for i, j in combinations(range(len(turns.models)), 2):
            rows = order[(shown[:, i] | shown[:, j])[order]]
            values, of_a = np.where(shown[:, i], turns.chosen[:, i], turns.chosen[:, j])[rows], shown[rows, i]
            a, b = turns.models[i], turns.models[j]
            yield from _single(names, a, b, values, of_a, seconds[rows], turns.workers[rows])


def _ratings(tables: Tables, clock: RaterClock) -> Iterator[TimedAnswers]:
    for group in likert_groups(tables):
        names = (group.technique, group.setting, "rating", group.criterion)
        for a, b in combinations(group.models, 2):
            dialogues, workers = (np.concatenate([getattr(x, n) for x in (a, b)]) for n in ("dialogues", "workers"))
            order = np.lexsort(clock.places(dialogues, workers, "ratings"))
            values = np.concatenate([a.values, b.values])[order]
            of_a, seconds = order < len(a.values), clock.seconds(dialogues, workers)[order]
            yield from _single(names, a.model, b.model, values, of_a, seconds, workers[order])


def _single(
    names: Sequence[str], a: str, b: str, values: Floats, of_a: Flags, seconds: Floats, workers: Objects
) -> Iterator[TimedAnswers]:
    filled = _filled(seconds)
    if filled is not None and of_a.any() and not of_a.all():
        technique, setting, kind, metric = names
        yield TimedAnswers(technique, setting, kind, metric, a, b, values, of_a, filled, workers)


class TimeSpent(Row):
    """Rater time on one kind of unit: dialogue, judgement, attention check, segment, comparison or turn.

    ``trimmed``: the mean of a unit, clustered by rater, without the ``n_cut`` whose page was left open;
    ``trimmed_hours``: all units, these counted as the median. ``seconds``, ``hours``: as measured.
    """

    technique: Name
    setting: Name
    unit: Name
    n_workers: Annotated[int, Column("Units", "count", name="n", of="seconds", path="n"), Column()]
    median_seconds: Annotated[float, Column("Median", "seconds")]
    trimmed: Annotated[
        Result,
        Estimate(
            "Mean, trimmed", "seconds", name="trimmed_mean_seconds", ends="trimmed_mean", end_labels=("From", "To")
        ),
    ]
    trimmed_hours: Annotated[float, Column("Hours, trimmed")]
    n_cut: Annotated[int, Column("Left open")]
    seconds: Annotated[
        Result, Estimate("Mean as measured", "seconds", name="mean_seconds", ends="mean", end_labels=("From", "To"))
    ]
    hours: Annotated[float, Column("Hours as measured")]


def time_spent(tables: Tables, *, level: float = 0.95) -> list[TimeSpent]:
    """Rater time per unit of each technique and setting, from the most detailed tables.

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
    spent = []
    for (technique, setting, unit), rows in units.groupby(["technique", "setting", "unit"], sort=True):
        seconds, workers = rows["seconds"].to_numpy(dtype=float), rows["worker_id"].to_numpy(dtype=object)
        worked = ~idle_answers(seconds)
        n_cut = int((~worked).sum())
        means = [
            clustered_mean(
                seconds[of],
                workers[of],
                name=f"seconds {with_article(str(unit))}{cut}",
                limits=(0.0, np.inf),
                level=level,
            )
            for of, cut in ((np.ones(len(seconds), dtype=bool), ""), (worked, ", left-open pages cut"))
        ]
        spent.append(
            TimeSpent(
                technique=str(technique),
                setting=str(setting),
                unit=str(unit),
                seconds=means[0],
                median_seconds=float(np.median(seconds)),
                n_workers=int(rows["worker_id"].nunique()),
                hours=float(seconds.sum()) / 3600,
                trimmed=means[1],
                trimmed_hours=(float(seconds[worked].sum()) + n_cut * float(np.median(seconds[worked]))) / 3600,
                n_cut=n_cut,
            )
        )
    return spent


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
    return rows[["technique", "setting", "worker_id", "seconds"]].assign(unit=unit)


CHUNK_MINUTES = 45.0  # Smith et al. 2022, Table 8.


@dataclass(frozen=True)
class TimeToSignificance:
    """When a growing study became significant, in the unit of its times: ``first`` look with p < α (optimistic: a study
    that stops there has looked many times), ``sustained`` (below α to the end), ``anytime`` (of the p that allows for
    looking).
    """

    first: float | None
    sustained: float | None
    p_values: Floats
    anytime: float | None
    total: float | None
    n: int
    anytime_p_values: Floats | None = None


def time_to_significance(
    outcomes: npt.ArrayLike, times: npt.ArrayLike, *, alpha: float = 0.05, p0: float = 0.5, min_looks: int = 1
) -> TimeToSignificance:
    """Time until the two-sided binomial test tells two models apart, looking after every outcome.

    Args:
        outcomes: 1 where A won, 0 where B did, in the order in which they came; ties are left out.
        times: time spent by all raters up to and with each outcome; it never falls. Time of ties, of onboarding and of
            collecting dialogues is part of it (:func:`cumulative_time`, :func:`collection_time`).
        min_looks: earlier looks do not count.

    Raises:
        ValueError: lists of different length, an outcome that is not 0 or 1, a time that is missing or falls.

    Assumes that outcomes are independent, also those of one worker. Source: Smith et al. 2022, App. C.7.

    ``sustained`` is the honest figure: stopping at ``first`` finds differences that are none.

    >>> found = time_to_significance([1, 1, 0, 1, 1, 1, 1, 1, 1, 1], range(10, 101, 10))
    >>> found.first, found.sustained, found.total
    (90.0, 90.0, 100.0)
    """
    x, at = np.asarray(outcomes, dtype=float), _times(times)
    anytime = anytime_p_values(x, p0)
    if len(x) != len(at):
        raise ValueError(f"{len(x)} outcomes but {len(at)} times: each outcome needs its time")
    p = binomial_p_values(np.cumsum(x).astype(np.int64), np.arange(1, len(x) + 1), p0)
    return _crossed(p, at, alpha, min_looks, anytime)


def time_to_difference(
    values: npt.ArrayLike, of_a: npt.ArrayLike, times: npt.ArrayLike, *, alpha: float = 0.05, min_looks: int = 1
) -> TimeToSignificance:
    """Time until the two-sided t test tells the ratings of two models apart, looking after every rating (Smith et al.
    2022, App. C.7); ``of_a``: which values are A's."""
    at, p = _times(times), t_p_values(values, of_a)
    if len(p) != len(at):
        raise ValueError(f"{len(p)} values but {len(at)} times: each value needs its time")
    return _crossed(p, at, alpha, min_looks)


def _crossed(p: Floats, at: Floats, alpha: float, min_looks: int, anytime: Floats | None = None) -> TimeToSignificance:
    looks = crossing(p, alpha, min_looks)
    allowed = None if anytime is None else crossing(anytime, alpha, min_looks).first
    first, sustained, allows = (None if i is None else float(at[i]) for i in (looks.first, looks.sustained, allowed))
    return TimeToSignificance(first, sustained, p, allows, float(at[-1]) if at.size else None, len(p), anytime)


def _times(times: npt.ArrayLike) -> Floats:
    at = np.asarray(times, dtype=float)
    if at.ndim != 1 or not np.isfinite(at).all():
        raise ValueError("times must be a list without missing numbers")
    if (np.diff(at) < 0).any():
        raise ValueError("times must not decrease: give the time spent by all raters so far")
    return at


def cumulative_time(durations: npt.ArrayLike, workers: npt.ArrayLike, *, onboarding: float = 0.0) -> Floats:
    """Time spent up to and with each answer: ``durations`` summed, and ``onboarding`` once for each new worker."""
    spent, names = np.asarray(durations, dtype=float), np.asarray(workers, dtype=object)
    if len(spent) != len(names):
        raise ValueError(f"{len(spent)} durations but {len(names)} raters")
    if not np.isfinite(spent).all() or (spent < 0).any() or onboarding < 0:
        raise ValueError("durations and onboarding must be known and not negative")
    newcomer = ~pd.Series(names, dtype=object).duplicated().to_numpy(dtype=bool)
    return np.asarray(np.cumsum(spent + onboarding * newcomer), dtype=float)


def dialogues_needed(n_judgements: npt.ArrayLike, reuse: int | None = None) -> Ints:
    """The dialogues *of each model* that this many judgements of pairs need."""
    n = np.asarray(n_judgements, dtype=np.int64)
    if (n < 0).any() or (reuse is not None and reuse < 1):
        raise ValueError("the number of judgements must not be negative, and reuse at least 1")
    needed = np.ceil(np.sqrt(n)).astype(np.int64)
    needed = np.where(needed.astype(float) ** 2 < n, needed + 1, needed)
    return np.asarray(needed if reuse is None else np.maximum(needed, -(-n // reuse)), dtype=np.int64)


def collection_time(n_judgements: npt.ArrayLike, dialogue_time: float, reuse: int | None = None) -> Floats:
    """Time spent on collecting the dialogues of both models for so many judgements, in the unit of ``dialogue_time``."""
    if not dialogue_time >= 0:
        raise ValueError(f"the time of a dialogue must not be negative: {dialogue_time}")
    return np.asarray(2 * dialogue_time * dialogues_needed(n_judgements, reuse), dtype=float)


@dataclass(frozen=True)
class ChunkVariability:
    """Win rate of each full chunk of rater time, and their standard deviation; None where it cannot be estimated."""

    rates: list[float]
    sd: float | None


def chunk_variability(
    outcomes: npt.ArrayLike, durations: npt.ArrayLike, *, chunk: float = CHUNK_MINUTES, ddof: int = 0
) -> ChunkVariability:
    """How much the win rate varies between equal stretches of rater time (Smith et al. 2022, App. C.6, Table 8)."""
    x = np.asarray(outcomes, dtype=float)
    ends = chunk_ends(durations, chunk=chunk)
    if x.ndim != 1 or len(x) != np.size(durations) or not np.isfinite(x).all():
        raise ValueError("outcomes and durations must have the same length, and outcomes must be finite numbers")
    starts = [0, *ends[:-1]] if ends else []
    rates = [float(x[start:end].mean()) for start, end in zip(starts, ends, strict=True)]
    return ChunkVariability(rates, spread(rates, ddof))


def chunk_ends(durations: npt.ArrayLike, *, chunk: float = CHUNK_MINUTES) -> list[int]:
    """Number of answers up to the end of each full chunk; see :func:`chunk_variability`."""
    spent = np.asarray(durations, dtype=float)
    if spent.ndim != 1 or not np.isfinite(spent).all() or (spent < 0).any() or not chunk > 0:
        raise ValueError("outcomes and durations must be known, durations not negative, and chunk above 0")
    totals, ends, before = np.cumsum(spent), [], 0.0
    slack = 1e-9 * chunk  # durations that sum to the chunk up to rounding fill it
    while (end := int(np.searchsorted(totals, before + chunk - slack)) + 1) <= len(spent):
        ends.append(end)
        before = float(totals[end - 1])
    return ends


def spread(rates: Sequence[float | None], ddof: int = 0) -> float | None:
    """Standard deviation of the rates that are known; None with too few of them."""
    known = [rate for rate in rates if rate is not None]
    return float(np.std(known, ddof=ddof)) if len(known) > ddof else None
