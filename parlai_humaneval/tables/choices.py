"""A table of turns → groups of turns that can be analysed together, each as matrices of turns × models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval._util.arrays import Flags, Floats, Ints, Objects
from parlai_humaneval.tables.columns import Tables
from parlai_humaneval.tables.filters import finished, is_set
from parlai_humaneval.tables.schema import is_problem
from parlai_humaneval.tables.validate import picks_one
from parlai_humaneval.techniques.registry import picking

Kind = Literal["one", "any", "single"]
"""One reply of several is picked each turn, any number of them is, or a single reply is found good or not."""
MOST_SETS = 20
"""Of more sets of models that stood side by side, as where 8 of 30 are drawn for each dialogue, all turns of a question
are one group: each set would have a dialogue or two."""
_TURN = ["dialogue_id", "turn"]
_NAMES = ["dialogue_id", "worker_id", "technique", "setting", "metric", "turn", "model", "position"]
_ANSWERS = [
    "selected",
    "continued",
    "written",
    "seconds",
    "complete",
    "ticks",
    "tick_choices",
    "tick_problems",
    "same_as",
    "dialogue_status",
]
READ_AGAIN = "third_party"
"""Technique of those who read a finished dialogue and judge it once more; they are compared, not counted."""
_FLAGS = ["automatic", "failed", "continued_each"]
_BY = " by "
"""Between a dialogue that several people rated and the name of one of them."""


@dataclass(frozen=True)
class ChosenTurns:
    """Answered turns of one group of models. All arrays have an entry a turn.

    ``chosen``: turns × ``models``; 1 chosen, 0 not, nan where nothing of that model was shown. ``by_position``: the
    same by place shown, where equal replies were shown once.
    """

    models: list[str]
    chosen: Floats
    by_position: Floats
    workers: Objects
    dialogues: Objects
    turns: Floats
    written: Floats

    def only(self, keep: Flags) -> ChosenTurns:
        """Some of the turns: ``keep`` has an entry a turn."""
        return ChosenTurns(
            models=self.models,
            chosen=self.chosen[keep],
            by_position=self.by_position[keep],
            workers=self.workers[keep],
            dialogues=self.dialogues[keep],
            turns=self.turns[keep],
            written=self.written[keep],
        )


def _models_of(turns: pd.DataFrame) -> dict[str, str]:
    """Dialogue → names of its models, sorted and joined by ;."""
    names: dict[str, list[str]] = {}
    for dialogue, model in turns[["dialogue_id", "model"]].drop_duplicates().itertuples(index=False):
        names.setdefault(dialogue, []).append(model)
    return {dialogue: ";".join(sorted(models)) for dialogue, models in names.items()}


def _matrix(rows: pd.DataFrame, models: list[str]) -> ChosenTurns:
    codes = np.asarray(rows.groupby(_TURN, sort=False).ngroup(), dtype=np.int64)
    first = rows.drop_duplicates(_TURN)
    model_codes = pd.Categorical(rows["model"], categories=models).codes
    shown = ~is_set(rows, "failed")
    selected = rows["selected"].to_numpy(dtype=float)
    chosen = np.full((len(first), len(models)), np.nan)
    chosen[codes[shown], model_codes[shown]] = selected[shown]
    return ChosenTurns(
        models=models,
        chosen=chosen,
        by_position=_selected_by_position(rows, codes, selected, len(first)),
        workers=first["worker_id"].to_numpy(dtype=object),
        dialogues=first["dialogue_id"].to_numpy(dtype=object),
        turns=first["turn"].to_numpy(dtype=float),
        written=is_set(first, "written").astype(float),
    )


def _selected_by_position(rows: pd.DataFrame, codes: Ints, selected: Floats, n: int) -> Floats:
    position = rows["position"].to_numpy(dtype=int)
    first_of_place = (position > 0) & rows["same_as"].isna().to_numpy(dtype=bool)
    places = np.full((n, int(position.max()) if len(position) else 0), np.nan)
    places[codes[first_of_place], position[first_of_place] - 1] = selected[first_of_place]
    return places


@dataclass(frozen=True)
class ComparisonGroup:
    """Answered turns of one technique, setting and metric; of several replies also of one set of models, unless there are
    more than ``MOST_SETS`` of them.

    ``turns.chosen``: turns × models; 1 chosen (a single model: found good), 0 not, nan where the model was not shown.
    ``positions``: of the same shape, the place at which each reply stood, from 1; nan where that is not known.
    ``problem``: of a single model 1 is a mark that speaks against the reply, so that fewer is better. ``several_sets``: not
    all of the models were in each dialogue. Beside them what does
    not count: turns with equal replies only, replies that failed, unfinished dialogues.
    """

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
        """What is corrected for together."""
        return self.technique, self.setting, self.metric

    def only(self, keep: Flags) -> ComparisonGroup:
        """The same group with some of its turns: ``keep`` has an entry a turn."""
        return replace(self, turns=self.turns.only(keep), positions=self.positions[keep])

    def at_turns(self, first: int, last: int | None = None) -> ComparisonGroup:
        """Turns ``first`` to ``last``, both with; without ``last`` all later ones."""
        numbers = self.turns.turns
        return self.only((numbers >= first) & (numbers <= (np.inf if last is None else last)))


def merged(groups: Sequence[ComparisonGroup]) -> ComparisonGroup:
    """The groups of one question as one: a column for every model, nan where it was not shown.

    Places are only known where those of every group are.
    """
    if len(groups) == 1:
        return groups[0]
    models = sorted({model for group in groups for model in group.models})
    places = max(group.turns.by_position.shape[1] for group in groups)
    known = not any(np.isnan(group.positions).all() for group in groups)
    joined = {
        name: np.concatenate([getattr(group.turns, name) for group in groups])
        for name in ("workers", "dialogues", "turns", "written")
    }
    chosen, positions = (
        np.concatenate([_spread(table, group.models, models) for group, table in zip(groups, tables, strict=True)])
        for tables in ([group.turns.chosen for group in groups], [group.positions for group in groups])
    )
    by_position = [_spread(group.turns.by_position, *_places(group, places)) for group in groups]
    first = groups[0]
    return ComparisonGroup(
        technique=first.technique,
        setting=first.setting,
        metric=first.metric,
        kind="any" if any(group.kind == "any" for group in groups) else first.kind,
        turns=ChosenTurns(models=models, chosen=chosen, by_position=np.concatenate(by_position), **joined),
        positions=positions if known else np.full(positions.shape, np.nan),
        **{name: sum(getattr(group, name) for group in groups) for name in _LEFT},
    )


_LEFT = ("automatic_turns", "failed_replies", "unfinished_dialogues", "unfinished_turns")


def _places(group: ComparisonGroup, most: int) -> tuple[list[str], list[str]]:
    names = [str(place) for place in range(most)]
    return names[: group.turns.by_position.shape[1]], names


def _spread(table: Floats, own: Sequence[str], names: Sequence[str]) -> Floats:
    """A table with a column for each of ``names``; nan for those that are not among its ``own``."""
    whole = np.full((len(table), len(names)), np.nan)
    whole[:, [names.index(name) for name in own]] = table
    return whole


def choice_groups(tables: Tables) -> list[ComparisonGroup]:
    """What was chosen of several replies, and which single replies were found good; reads ``turns``, ``dialogues``.

    Sorted by technique, setting and metric, then those with most dialogues first, then models. A turn counts when its
    dialogue was finished and it was answered: as its column ``complete`` says. Tables from elsewhere lack it: there a
    turn with nothing chosen, nothing written and no time, though others have one, was not answered; any other is an
    answer, also "none of them". Dialogues that were rated once more by another person do not belong here, nor turns in
    which nothing was asked.

    A single model's marks are its ticks, each criterion a metric of its own; where there are none, ``selected``. Where
    one reply of several has to be picked, a single one was not judged: it is in no group.
    """
    return list(_choice_groups(tables))


@lru_cache(maxsize=2)
def _choice_groups(tables: Tables) -> tuple[ComparisonGroup, ...]:
    """Kept, as several parts of a report ask for the groups of the same tables."""
    turns = tables.turns
    first_hand = turns["own_worker"].isna() & turns["judgement_id"].isna() & (turns["technique"] != READ_AGAIN)
    # The texts, which are most of the table, are not copied.
    rows = turns[_NAMES + _ANSWERS + _FLAGS][first_hand.to_numpy(dtype=bool)]
    if rows.empty:
        return ()
    rows = _with_status(_with_flags(_one_rater_each(rows)), tables.dialogues)
    rows = rows.assign(setting=rows["setting"].fillna(""))
    parts = rows.groupby(["technique", "setting", "metric"], sort=True)
    groups = [group for (technique, _, _), part in parts for group in _groups(str(technique), part)]
    return tuple(sorted(groups, key=lambda group: (group.family, -len(set(group.turns.dialogues)), group.models)))


def _with_flags(rows: pd.DataFrame) -> pd.DataFrame:
    """Elsewhere place 0 tells that a reply failed, and several continued ones that nothing was to be chosen."""
    turn = [rows[name] for name in ("technique", "setting", "metric", *_TURN)]
    each = rows["continued"].groupby(turn, sort=False, dropna=False).transform("sum") > 1
    assigned: pd.DataFrame = rows.assign(
        failed=rows["failed"].fillna((rows["position"] == 0).astype("Int64")),
        continued_each=rows["continued_each"].fillna(each.astype("Int64")),
    )
    return assigned


def _one_rater_each(rows: pd.DataFrame) -> pd.DataFrame:
    pairs = rows.drop_duplicates(["dialogue_id", "worker_id"])
    if len(pairs) == pairs["dialogue_id"].nunique():
        return rows
    named = rows["dialogue_id"] + _BY + rows["worker_id"]
    assigned: pd.DataFrame = rows.assign(dialogue_id=named, rated_dialogue=rows["dialogue_id"])
    return assigned


def first_hand_dialogues(group: ComparisonGroup) -> Objects:
    """The dialogues of its turns by their own names, also where several people rated the same one."""
    pairs = zip(group.turns.dialogues, group.turns.workers, strict=True)
    return np.array([str(dialogue).removesuffix(f"{_BY}{worker}") for dialogue, worker in pairs], dtype=object)


def _with_status(rows: pd.DataFrame, dialogues: pd.DataFrame) -> pd.DataFrame:
    unknown = rows["dialogue_status"].isna().to_numpy(dtype=bool)
    if dialogues.empty or not unknown.any():
        return rows
    names = rows["rated_dialogue"] if "rated_dialogue" in rows else rows["dialogue_id"]
    left = dialogues[(dialogues["complete"] == 0).to_numpy(dtype=bool)]
    unfinished = pd.MultiIndex.from_frame(left[["dialogue_id", "worker_id"]])
    here = pd.MultiIndex.from_arrays([names, rows["worker_id"]]).isin(unfinished)
    status = np.where(unknown & here, "partial", rows["dialogue_status"].to_numpy(dtype=object))
    assigned: pd.DataFrame = rows.assign(dialogue_status=status)
    return assigned


def self_comparisons(turns: pd.DataFrame) -> int:
    """Turns in which a model stood against itself, which has no winner and counts nowhere."""
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
        problem = _is_problem(criterion, rows[asked])
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
    counted = counted.assign(models=counted["dialogue_id"].map(_models_of(rows)))
    counted = counted[np.fromiter((";" in names for names in counted["models"]), dtype=bool, count=len(counted))]
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
    turns = _matrix(rows[~automatic], models)
    group = ComparisonGroup(
        technique=technique,
        setting=setting,
        metric=metric,
        kind="one" if _picks_one(technique, setting, turns) else "any",
        turns=turns,
        positions=_positions(turns, rows),
        automatic_turns=len(rows[automatic].drop_duplicates(_TURN)),
        failed_replies=int(is_set(rows, "failed").sum()),
        unfinished_dialogues=int(left["dialogue_id"].nunique()),
        unfinished_turns=len(left),
    )
    # Who must pick one and picked none has not answered.
    return group if group.kind == "any" else group.only(np.nansum(turns.chosen, axis=1) > 0)


def _picks_one(technique: str, setting: str, turns: ChosenTurns) -> bool:
    names = {technique.lower(), setting.lower()}
    if names & picking("any"):
        return False
    # Equal replies are shown once, and picked together: then places tell, else models.
    picks = np.minimum(*(np.nansum(shown, axis=1) for shown in (turns.by_position, turns.chosen)))
    return bool((picks <= 1).all() if names & picking("one", always=False) else (picks == 1).all())


def _positions(turns: ChosenTurns, rows: pd.DataFrame) -> Floats:
    where = pd.MultiIndex.from_arrays([turns.dialogues, turns.turns])
    place = rows["position"].to_numpy(dtype=float)
    here = where.get_indexer(pd.MultiIndex.from_arrays([rows["dialogue_id"], rows["turn"].to_numpy(dtype=float)]))
    model = pd.Categorical(rows["model"], categories=turns.models).codes
    known = (here >= 0) & (model >= 0) & (place > 0)
    positions = np.full(turns.chosen.shape, np.nan)
    positions[here[known], model[known]] = place[known]
    return positions


def _is_problem(criterion: str, rows: pd.DataFrame) -> bool:
    """As the rows say where they say anything, else by its name."""
    said = rows["tick_problems"].dropna().drop_duplicates()
    return any(criterion in names.split(";") for names in said) if len(said) else is_problem(criterion)


def _single(
    technique: str, metric: str, rows: pd.DataFrame, marks: Floats, *, problem: bool = False
) -> ComparisonGroup:
    counts = finished(rows)
    left = rows[~counts]
    rows, marks = rows[counts], marks[counts]
    models = sorted(str(name) for name in rows["model"].unique())
    chosen = np.full((len(rows), len(models)), np.nan)
    codes: npt.NDArray[np.int8] = pd.Categorical(rows["model"], categories=models).codes
    chosen[np.arange(len(rows)), codes] = marks
    setting = rows["setting"] if len(rows) else left["setting"]
    return ComparisonGroup(
        technique=technique,
        setting=str(setting.iloc[0]),
        metric=metric,
        kind="single",
        turns=ChosenTurns(
            models=models,
            chosen=chosen,
            by_position=np.full((len(rows), 0), np.nan),
            workers=rows["worker_id"].to_numpy(dtype=object),
            dialogues=rows["dialogue_id"].to_numpy(dtype=object),
            turns=rows["turn"].to_numpy(dtype=float),
            written=is_set(rows, "written").astype(float),
        ),
        positions=np.full(chosen.shape, np.nan),
        unfinished_dialogues=int(left["dialogue_id"].nunique()),
        unfinished_turns=len(left),
        problem=problem,
    )
