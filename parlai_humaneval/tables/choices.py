"""A table of turns → groups of turns that can be analysed together, each as matrices of turns × models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import Literal

import numpy as np
import pandas as pd

from parlai_humaneval._util.arrays import Flags, Floats, Ints, Objects
from parlai_humaneval.tables.columns import Tables
from parlai_humaneval.tables.filters import finished, is_set, of_unfinished
from parlai_humaneval.tables.schema import is_problem
from parlai_humaneval.tables.validate import picks_one
from parlai_humaneval.techniques.registry import picking, with_trait

Kind = Literal["one", "any", "single"]
"""One reply of several is picked each turn, any number of them is, or a single reply is found good or not."""
MOST_SETS = 20
"""With more sets of models shown together, as if 8 of 30 are drawn for each dialogue, all turns of a question are one
group: each set would have a dialogue or two."""
_TURN = ["dialogue_id", "turn"]
_NAMES = ["dialogue_id", "worker_id", "technique", "setting", "metric", "turn", "model", "position"]
_ANSWERS = ["selected", "continued", "written", "seconds", "complete", "ticks", "tick_choices", "tick_problems"]
_ANSWERS += ["same_as", "dialogue_status"]
_FLAGS = ["automatic", "failed", "continued_each"]
_BY = " by "  # Between a dialogue that several people rated and the name of one of them


@dataclass(frozen=True)
class ChosenTurns:
    """Answered turns of one group of models. All arrays have an entry a turn. ``chosen``: turns × ``models``; 1 chosen,
    0 not, nan where nothing of that model was shown. ``by_position``: the same by place shown, where equal replies were
    shown once."""

    models: list[str]
    chosen: Floats
    by_position: Floats
    workers: Objects
    dialogues: Objects
    turns: Floats
    written: Floats

    def only(self, keep: Flags) -> ChosenTurns:
        """Some of the turns: ``keep`` has an entry a turn."""
        return replace(self, **{name: getattr(self, name)[keep] for name in _OF_TURNS})


_OF_TURNS = ("chosen", "by_position", "workers", "dialogues", "turns", "written")


def _matrix(rows: pd.DataFrame, models: list[str]) -> tuple[ChosenTurns, Floats]:
    """The turns of ``rows``, and the place of each reply: nan where that is not known."""
    codes = np.asarray(rows.groupby(_TURN, sort=False).ngroup(), dtype=np.int64)
    first = rows.drop_duplicates(_TURN)
    model_codes = pd.Categorical(rows["model"], categories=models).codes
    shown = ~is_set(rows, "failed")
    selected = rows["selected"].to_numpy(dtype=float)
    chosen, positions = np.full((2, len(first), len(models)), np.nan)
    chosen[codes[shown], model_codes[shown]] = selected[shown]
    position = rows["position"].to_numpy(dtype=int)
    known = position > 0
    positions[codes[known], model_codes[known]] = position[known]
    first_of_place = known & rows["same_as"].isna().to_numpy(dtype=bool)
    places = np.full((len(first), int(position.max()) if len(position) else 0), np.nan)
    places[codes[first_of_place], position[first_of_place] - 1] = selected[first_of_place]
    turns = ChosenTurns(
        models=models,
        chosen=chosen,
        by_position=places,
        workers=first["worker_id"].to_numpy(dtype=object),
        dialogues=first["dialogue_id"].to_numpy(dtype=object),
        turns=first["turn"].to_numpy(dtype=float),
        written=is_set(first, "written").astype(float),
    )
    return turns, positions


@dataclass(frozen=True)
class ComparisonGroup:
    """Answered turns of one technique, setting and metric; of several replies also of one set of models, unless there
    are more than ``MOST_SETS`` of them. ``turns.chosen``: turns × models; 1 chosen (a single model: found good), 0 not,
    nan where the model was not shown. ``positions``: of the same shape, the place at which each reply stood, from 1;
    nan where that is not known. ``problem``: of a single model 1 is a mark that speaks against the reply, so that fewer
    is better. ``several_sets``: not all of the models were in each dialogue. Beside them what does not count: turns
    with equal replies only, replies that failed, unfinished dialogues."""

    technique: str
    setting: str
    metric: str
    kind: Kind
    turns: ChosenTurns
    positions: Floats
    automatic_turns: int = 0
    failed_replies: int = 0
    unfinished_dialogues: int = 0
    unfinished_turns: int = 0
    problem: bool = False
    several_sets: bool = False

    @property
    def good(self) -> Floats:
        """Which replies were found good: chosen, or marked as such, or not marked with a problem."""
        return 1 - self.turns.chosen if self.problem else self.turns.chosen

    @property
    def models(self) -> list[str]:
        return self.turns.models

    @property
    def family(self) -> tuple[str, str, str]:
        """The family for corrections."""
        return self.technique, self.setting, self.metric

    def only(self, keep: Flags) -> ComparisonGroup:
        """The same group with some of its turns: ``keep`` has an entry a turn."""
        return replace(self, turns=self.turns.only(keep), positions=self.positions[keep])

    def at_turns(self, first: int, last: int | None = None) -> ComparisonGroup:
        """Turns ``first`` to ``last``, both with; without ``last`` all later ones."""
        numbers = self.turns.turns
        return self.only((numbers >= first) & (numbers <= (np.inf if last is None else last)))


def merged(groups: Sequence[ComparisonGroup]) -> ComparisonGroup:
    """The groups of one question as one: a column for every model, nan where it was not shown. Places are only known
    where those of every group are."""
    if len(groups) == 1:
        return groups[0]
    models = sorted({model for group in groups for model in group.models})
    places = [str(place) for place in range(max(group.turns.by_position.shape[1] for group in groups))]
    known = not any(np.isnan(group.positions).all() for group in groups)

    def joined(tables: Sequence[Floats]) -> Floats:
        return np.concatenate([spread(each, group.models, models) for group, each in zip(groups, tables, strict=True)])

    positions = joined([group.positions for group in groups])
    by_position = [
        spread(group.turns.by_position, places[: group.turns.by_position.shape[1]], places) for group in groups
    ]
    turns = ChosenTurns(
        models=models,
        chosen=joined([group.turns.chosen for group in groups]),
        by_position=np.concatenate(by_position),
        **{name: np.concatenate([getattr(group.turns, name) for group in groups]) for name in _OF_TURNS[2:]},
    )
    first = groups[0]
    counts = ("automatic_turns", "failed_replies", "unfinished_dialogues", "unfinished_turns")
    return ComparisonGroup(
        *first.family,
        kind="any" if any(group.kind == "any" for group in groups) else first.kind,
        turns=turns,
        positions=positions if known else np.full(positions.shape, np.nan),
        **{name: sum(getattr(group, name) for group in groups) for name in counts},
    )


def spread(table: Floats, own: Sequence[str], names: Sequence[str]) -> Floats:
    """A table with a column for each of ``names``; nan for those that are not among its ``own``."""
    whole = np.full((len(table), len(names)), np.nan)
    whole[:, [names.index(name) for name in own]] = table
    return whole


def choice_groups(tables: Tables) -> list[ComparisonGroup]:
    """Choices among several replies, and judgements of single replies; reads ``turns``, ``dialogues``.

    Sorted by technique, setting and metric, then those with most dialogues first, then models. A turn counts when its
    dialogue was finished and it was answered: as its column ``complete`` says. Tables from elsewhere lack it: there a
    turn with nothing chosen, nothing written and no time, though others have one, was not answered; any other is an
    answer, also "none of them". Dialogues that were rated once more by another person do not belong here, nor turns in
    which nothing was asked.

    A single model's marks are its ticks, each criterion a metric of its own; where there are none, ``selected``. Where
    one reply of several has to be picked, a single one was not judged: it is in no group.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> [(group.technique, group.models) for group in choice_groups(example_tables())]
    [('sata', ['ada', 'bob', 'cyd']), ('single_model', ['ada', 'bob', 'cyd'])]
    """
    return list(_choice_groups(tables))


def of_own_rater(turns: pd.DataFrame) -> Flags:
    """Turns as answered by the dialogue's own rater; raters who read it again do not count here."""
    again = turns["technique"].isin(with_trait("read_again"))
    return (turns["own_worker"].isna() & turns["judgement_id"].isna() & ~again).to_numpy(dtype=bool)


@lru_cache(maxsize=2)
def _choice_groups(tables: Tables) -> tuple[ComparisonGroup, ...]:
    """Kept, as several parts of a report ask for the groups of the same tables."""
    turns = tables.turns
    # The texts, which are most of the table, are not copied.
    rows = turns[_NAMES + _ANSWERS + _FLAGS][of_own_rater(turns)]
    if rows.empty:
        return ()
    rated, status = rows["dialogue_id"], rows["dialogue_status"].to_numpy(dtype=object)
    pairs = rows.drop_duplicates(["dialogue_id", "worker_id"])
    if len(pairs) > pairs["dialogue_id"].nunique():  # each rater has a dialogue of their own
        rows = rows.assign(dialogue_id=rated + _BY + rows["worker_id"])
    unknown = rows["dialogue_status"].isna().to_numpy(dtype=bool)
    if len(tables.dialogues) and unknown.any():
        left = unknown & of_unfinished(rated, rows["worker_id"], tables.dialogues)
        status = np.where(left, "partial", status)
    # Elsewhere place 0 tells that a reply failed, and several continued ones that nothing was to be chosen.
    turn = [rows[name] for name in ("technique", "setting", "metric", *_TURN)]
    each = rows["continued"].groupby(turn, sort=False, dropna=False).transform("sum") > 1
    rows = rows.assign(
        failed=rows["failed"].fillna((rows["position"] == 0).astype("Int64")),
        continued_each=rows["continued_each"].fillna(each.astype("Int64")),
        dialogue_status=status,
        setting=rows["setting"].fillna(""),
    )
    parts = rows.groupby(["technique", "setting", "metric"], sort=True)
    groups = [group for (technique, _, _), part in parts for group in _groups(str(technique), part)]
    return tuple(sorted(groups, key=lambda group: (group.family, -len(set(group.turns.dialogues)), group.models)))


def first_hand_dialogues(group: ComparisonGroup) -> Objects:
    """The dialogues of its turns by their own names, also where several people rated the same one."""
    pairs = zip(group.turns.dialogues, group.turns.workers, strict=True)
    return np.array([str(dialogue).removesuffix(f"{_BY}{worker}") for dialogue, worker in pairs], dtype=object)


def self_comparisons(turns: pd.DataFrame) -> int:
    """Turns of a model against itself, which have no winner and do not count."""
    key = ["dialogue_id", "worker_id", "technique", "setting", "metric", "turn"]
    first_hand = turns[[*key, "model"]][turns["own_worker"].isna().to_numpy(dtype=bool)]
    twice = first_hand[first_hand.duplicated([*key, "model"]).to_numpy(dtype=bool)]
    return len(twice.drop_duplicates(key))


def _groups(technique: str, part: pd.DataFrame) -> Iterator[ComparisonGroup]:
    part = part[_answered(part)]
    several = part.groupby("dialogue_id")["model"].transform("nunique").to_numpy(dtype=int) > 1
    yield from _several_model_groups(technique, part[several])
    # A group a criterion. Our own tables say where nothing could be ticked; elsewhere nothing was ever chosen
    # then.
    rows = part[~several & ~part.duplicated([*_TURN, "model"], keep=False).to_numpy(bool)]
    rows = rows[is_set(rows, "complete", missing=1) & ~is_set(rows, "failed")]
    ticked = rows["tick_choices"].notna().to_numpy(dtype=bool)
    other = rows[~ticked & rows["complete"].isna().to_numpy(dtype=bool) & ~picks_one(rows)]
    if is_set(other, "selected").any():
        yield _single(technique, str(other["metric"].iloc[0]), other, other["selected"].to_numpy(dtype=float))
    rows = rows[ticked]
    offered, given = (rows[name].fillna("").str.split(";") for name in ("tick_choices", "ticks"))
    for criterion in dict.fromkeys(name for choices in offered.drop_duplicates() for name in choices):
        asked = np.fromiter((criterion in choices for choices in offered), dtype=bool, count=len(rows))
        marks = np.fromiter((criterion in ticks for ticks in given), dtype=float, count=len(rows))
        # As the rows say where they say anything, else by its name.
        said = rows[asked]["tick_problems"].dropna().drop_duplicates()
        problem = any(criterion in names.split(";") for names in said) if len(said) else is_problem(criterion)
        yield _single(technique, str(criterion), rows[asked], marks[asked], problem=problem)


def _answered(rows: pd.DataFrame) -> Flags:
    """Rows of turns that were answered, as far as tables from elsewhere tell; ours say so themselves."""
    timed = rows["seconds"].notna().to_numpy(dtype=bool)
    if not timed.any():
        return np.ones(len(rows), dtype=bool)
    told = (rows["complete"].notna() | rows["tick_choices"].notna()).to_numpy(dtype=bool)
    acted = is_set(rows, "selected") | is_set(rows, "written") | timed | told
    codes = np.asarray(rows.groupby(_TURN, sort=False).ngroup(), dtype=np.int64)
    return np.asarray(np.bincount(codes, weights=acted)[codes] > 0, dtype=bool)


def _several_model_groups(technique: str, rows: pd.DataFrame) -> Iterator[ComparisonGroup]:
    asked = rows["tick_choices"].isna().to_numpy(dtype=bool) & ~is_set(rows, "continued_each")
    counted = rows[asked & is_set(rows, "complete", missing=1)]
    counted = counted[~counted.duplicated([*_TURN, "model"], keep=False).to_numpy(dtype=bool)]
    names_of: dict[str, list[str]] = {}
    for dialogue, model in rows[["dialogue_id", "model"]].drop_duplicates().itertuples(index=False):
        names_of.setdefault(dialogue, []).append(model)
    together = {dialogue: ";".join(sorted(names)) for dialogue, names in names_of.items()}
    counted = counted[counted["dialogue_id"].isin([name for name, names in together.items() if ";" in names])]
    counted = counted.assign(models=counted["dialogue_id"].map(together))
    for (setting, metric), asked_rows in counted.groupby(["setting", "metric"], sort=True):
        many = asked_rows["models"].nunique() > MOST_SETS
        if many:
            asked_rows = asked_rows.assign(models=";".join(sorted(asked_rows["model"].unique())))
        for names, part in asked_rows.groupby("models", sort=True):
            group = _of_models(technique, str(setting), str(metric), str(names).split(";"), part)
            yield replace(group, several_sets=many)


def _of_models(technique: str, setting: str, metric: str, models: list[str], rows: pd.DataFrame) -> ComparisonGroup:
    left = rows[~finished(rows)].drop_duplicates(_TURN)
    rows = rows[finished(rows)]
    automatic = is_set(rows, "automatic")
    turns, positions = _matrix(rows[~automatic], models)
    group = ComparisonGroup(
        technique=technique,
        setting=setting,
        metric=metric,
        kind="one" if _picks_one(technique, setting, turns) else "any",
        turns=turns,
        positions=positions,
        automatic_turns=len(rows[automatic].drop_duplicates(_TURN)),
        failed_replies=int(is_set(rows, "failed").sum()),
        unfinished_dialogues=int(left["dialogue_id"].nunique()),
        unfinished_turns=len(left),
    )
    # A rater who must pick one and picked none has not answered.
    return group if group.kind == "any" else group.only(np.nansum(turns.chosen, axis=1) > 0)


def _picks_one(technique: str, setting: str, turns: ChosenTurns) -> bool:
    names = {technique.lower(), setting.lower()}
    if names & picking("any"):
        return False
    # Equal replies are shown once, and picked together: then places tell, else models.
    picks = np.minimum(*(np.nansum(shown, axis=1) for shown in (turns.by_position, turns.chosen)))
    return bool((picks <= 1).all() if names & picking("one", always=False) else (picks == 1).all())


def _single(
    technique: str, metric: str, rows: pd.DataFrame, marks: Floats, *, problem: bool = False
) -> ComparisonGroup:
    setting, left = str(rows["setting"].iloc[0]), rows[~finished(rows)]
    rows = rows.assign(selected=marks)[finished(rows)]
    turns, _ = _matrix(rows, sorted(str(name) for name in rows["model"].unique()))
    return ComparisonGroup(
        technique=technique,
        setting=setting,
        metric=metric,
        kind="single",
        turns=replace(turns, by_position=np.full((len(rows), 0), np.nan)),
        positions=np.full(turns.chosen.shape, np.nan),
        unfinished_dialogues=int(left["dialogue_id"].nunique()),
        unfinished_turns=len(left),
        problem=problem,
    )


@dataclass(frozen=True)
class Dialogues:
    """Dialogues of one setting and metric, and their answered turns; ``models`` are all that took part in any.
    ``points``: dialogues × models, turns won; nan for a model that did not take part. ``workers``: per dialogue.
    ``chosen``, ``positions``: turns × models, nan where not shown; ``positions`` None where none is known.
    ``turn_workers``, ``turn_numbers``, ``turn_dialogues``: per turn; the last are rows of ``points``.
    ``started_known``: dialogues are in the order in which they began; else in that of the table."""

    setting: str
    metric: str
    models: list[str]
    points: Floats
    workers: Objects
    chosen: Floats
    positions: Floats | None
    turn_workers: Objects
    turn_numbers: Floats
    turn_dialogues: Ints
    started_known: bool
    automatic_turns: int
    failed_replies: int
    unfinished_dialogues: int

    def points_in_first_turns(self, most: int) -> tuple[list[int | None], Floats]:
        """Limits of turns (1, 2 … at most ``most`` − 1 of them, then None: all), and limits × dialogues × models."""
        numbers = np.unique(self.turn_numbers)[:-1][: most - 1]
        limits = [int(number) for number in numbers]
        cubes = [_points(self.chosen, self.turn_dialogues, self.turn_numbers <= limit, self.points) for limit in limits]
        return [*limits, None], np.stack([*cubes, self.points])


def free_for_all_dialogues(tables: Tables) -> list[Dialogues]:
    """The free-for-alls of ``tables``, sorted by setting and metric; none without two models that were compared. Which
    turns count is said in :func:`~parlai_humaneval.tables.choices.choice_groups`. Dialogues with other sets of models
    belong together. When a dialogue began is read from the table ``dialogues``."""
    mine = tables.turns["technique"].str.lower().isin(with_trait("points")).to_numpy(dtype=bool)
    # The same tables where all turns are of free-for-alls, as what was made of them is kept.
    only = tables if mine.all() else Tables(tables.turns[mine], tables.dialogues, tables.comparisons)
    groups = [group for group in choice_groups(only) if group.kind != "single" and len(group.turns.turns)]
    families = groupby(groups, key=lambda group: group.family)  # they come sorted
    return [_dialogues(list(family), tables) for _, family in families]


def _dialogues(groups: Sequence[ComparisonGroup], tables: Tables) -> Dialogues:
    whole = merged(groups)
    models, turns, names = whole.models, whole.turns, whole.turns.dialogues
    positions = np.concatenate([spread(group.positions, group.models, models) for group in groups])
    took_part = np.concatenate([_took_part(group, models) for group in groups])
    first = np.unique(names.astype(str), return_index=True)[1]
    ranked, known = _order(names[first], tables)
    first = first[ranked]
    turn_dialogues = pd.Index(names[first]).get_indexer(pd.Index(names)).astype(np.int64)
    absent = np.where(took_part[first], 0.0, np.nan)
    return Dialogues(
        setting=whole.setting,
        metric=whole.metric,
        models=models,
        points=_points(turns.chosen, turn_dialogues, np.ones(len(names), dtype=bool), absent),
        workers=turns.workers[first],
        chosen=turns.chosen,
        positions=None if np.isnan(positions).all() else positions,
        turn_workers=turns.workers,
        turn_numbers=turns.turns,
        turn_dialogues=turn_dialogues,
        started_known=known,
        automatic_turns=whole.automatic_turns,
        failed_replies=whole.failed_replies,
        unfinished_dialogues=whole.unfinished_dialogues,
    )


def _took_part(group: ComparisonGroup, models: Sequence[str]) -> Flags:
    """Turns × models: was the model in the turn's dialogue? A reply that failed is one of a model that was."""
    if not group.several_sets:
        return np.tile(np.isin(models, group.models), (len(group.turns.turns), 1))
    shown = pd.DataFrame(~np.isnan(spread(group.turns.chosen, group.models, models)))
    return np.asarray(shown.groupby(group.turns.dialogues).transform("any"), dtype=bool)


def _points(chosen: Floats, dialogues: Ints, counted: Flags, shape: Floats) -> Floats:
    """Sums by dialogue of the counted turns; nan where ``shape`` is, as the model did not take part."""
    points = np.zeros(shape.shape)
    np.add.at(points, dialogues[counted], np.nan_to_num(chosen[counted]))
    return np.where(np.isnan(shape), np.nan, points)


def _order(names: Objects, tables: Tables) -> tuple[Ints, bool]:
    """Order of the dialogues: by their beginning if it is known of all, else as in ``turns``."""
    place = _by_name(tables.turns, np.arange(len(tables.turns)))
    rows = tables.dialogues
    times = pd.to_datetime(rows["started"], utc=True, format="ISO8601", errors="coerce")
    begun = _by_name(rows[times.notna().to_numpy(dtype=bool)], pd.DatetimeIndex(times.dropna()).asi8)
    at_table = np.array([place[name] for name in names], dtype=np.int64)
    if any(name not in begun for name in names):
        return np.argsort(at_table).astype(np.int64), False
    times_of = np.array([begun[name] for name in names], dtype=np.int64)
    return np.lexsort((at_table, times_of)).astype(np.int64), True


def _by_name(rows: pd.DataFrame, values: Ints) -> dict[str, int]:
    """The first of ``values`` of each dialogue, also by the name it has where several people rated it."""
    first = (~rows.duplicated(["dialogue_id", "worker_id"])).to_numpy(dtype=bool)
    own, places = rows[first][::-1], values[first][::-1].tolist()
    names = [own["dialogue_id"], own["dialogue_id"] + _BY + own["worker_id"]]
    return {name: place for each in names for name, place in zip(each, places, strict=True)}
