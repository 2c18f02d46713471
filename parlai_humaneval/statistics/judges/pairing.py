"""Tables of people and of a judge → comparisons of two models and values of one, named alike so that they can be matched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pandas as pd

from parlai_humaneval._util.arrays import Flags, Objects
from parlai_humaneval.statistics.preference.pairs import counted_comparisons, orient_pairs
from parlai_humaneval.statistics.ratings.likert import likert_rows
from parlai_humaneval.statistics.ratings.sliders import assessed
from parlai_humaneval.tables.choices import READ_AGAIN, ComparisonGroup, choice_groups, first_hand_dialogues
from parlai_humaneval.tables.columns import TableError, Tables
from parlai_humaneval.tables.filters import finished
from parlai_humaneval.tables.schema import HUMAN, TableName

JUDGE, RATER_KIND = "judge", "rater_kind"
"""Rows whose column ``rater_kind`` holds it are a judge's, and no people's."""
PAIR_COLUMNS = ("technique", "setting", "kind", "metric", "model_a", "model_b", "item", "worker_id")
PAIR_VALUES = ("dialogue_a", "dialogue_b", "outcome", "first_a", "n_models")
LEVEL_COLUMNS = ("scope", "source", "technique", "setting", "metric", "criterion", "model", "item", "worker_id")
LEVEL_VALUES = ("dialogue", "value", "low", "high")
OVERALL = "overall, raw"
"""What the mean of a dialogue's sliders is called, turned round where more is worse."""
ONE_CRITERION, ALL_CRITERIA = "one criterion", "all criteria"
"""Values of the column ``scope``, which tells that mean from a criterion of the same name."""
_ANSWERED: tuple[TableName, ...] = ("turns", "comparisons", "ratings", "segments")


def people_and_judge(tables: Tables, judge: Tables | str) -> tuple[Tables, Tables]:
    """The tables of people alone, and those of the judge alone.

    Raises:
        TableError: one of both has no answers, or an answer is claimed by both.
    """
    for name, value, kinds in (("tables", tables, Tables), ("judge", judge, (Tables, str))):
        if not isinstance(value, kinds):
            or_name = ", or the name under which the judge stands in tables" if name == "judge" else ""
            raise TableError(
                f"expected Tables, as read_tables(folder) gives them{or_name}, not {type(value).__name__}", where=name
            )
    if isinstance(judge, str):
        people = _only(tables, lambda rows: ~_is_judge(rows) & _others(rows, judge))
        judged = _named(tables, judge)
    else:
        people, judged = _only(tables, lambda rows: ~_is_judge(rows)), judge
    if not _workers(people):
        raise TableError(
            "no answers of people",
            where="tables",
            try_="give tables with comparisons, turns, ratings or segments that people filled",
        )
    if not _workers(judged):
        raise TableError(
            "its tables hold no answers", where="judge", try_="give tables that the judge filled, of the same columns"
        )
    both = _workers(people) & _workers(judged)
    if both:
        raise TableError(
            f"{sorted(both)[0]!r} stands among people and among judges, so that the same rows would count as both",
            where="judge",
            try_="give people's rows as tables and the judge's as judge, or the tables of all and the judge's "
            "name as judge",
        )
    return people, _as_first_hand(judged)


def _named(tables: Tables, judge: str) -> Tables:
    beside = tables.judges
    for place in (beside, tables):
        if place is not None and judge in _workers(place):
            return _only(place, lambda rows: ~_others(rows, judge))
    names = _some(tables) if beside is None else _some(beside, "judges")
    raise TableError(f"judge {judge!r}: no row of the tables is by a worker or judge of that name{names}")


def _only(tables: Tables, keep: Callable[[pd.DataFrame], Flags]) -> Tables:
    frames = {name: getattr(tables, name) for name in get_args(TableName)}
    return replace(tables, **{name: rows[keep(rows)] for name, rows in frames.items()})


def _is_judge(rows: pd.DataFrame) -> Flags:
    if RATER_KIND not in rows.columns:
        return np.zeros(len(rows), dtype=bool)
    return np.asarray(rows[RATER_KIND].eq(JUDGE).fillna(False), dtype=bool)


def _others(rows: pd.DataFrame, judge: str) -> Flags:
    return np.asarray(rows["worker_id"].ne(judge), dtype=bool)


def _workers(tables: Tables) -> set[str]:
    return {str(name) for table in _ANSWERED for name in getattr(tables, table)["worker_id"].unique()}


def _some(tables: Tables, who: str = "workers") -> str:
    names = sorted(_workers(tables))
    return f"; {who} are {', '.join(names[:3])}{' …' if len(names) > 3 else ''}" if names else ""


def _as_first_hand(tables: Tables) -> Tables:
    """A judge's answers to what people had rated before, as if they were the first; each judgement by a rater of its own."""
    changed: dict[str, Any] = {name: _first_hand(getattr(tables, name)) for name in ("turns", "comparisons", "ratings")}
    return replace(tables, **changed)


def _first_hand(rows: pd.DataFrame) -> pd.DataFrame:
    raters = rows["worker_id"].where(rows["judgement_id"].isna(), rows["worker_id"] + " in " + rows["judgement_id"])
    named: pd.DataFrame = rows.assign(worker_id=raters, own_worker=None, judgement_id=None)
    if "own_technique" in named.columns:
        technique = named["own_technique"].where(named["own_technique"].notna(), named["technique"])
        setting = named["own_setting"].where(named["own_technique"].notna(), named["setting"])
        named = named.assign(technique=technique.where(technique != READ_AGAIN, JUDGE), setting=setting)
    return named


def compared(tables: Tables) -> pd.DataFrame:
    """Every answered comparison of two models, a row each: of finished dialogues, verdicts and turns.

    ``item`` names what was compared, alike for whoever judged it; ``outcome``: 1 the first model won, −1 the second, 0 a
    tie. Comparisons of turns are taken from the table of turns, where there is one.
    """
    rows = orient_pairs(counted_comparisons(tables))
    of_turns = rows["kind"].eq("turn").to_numpy(dtype=bool) & bool(len(tables.turns))
    rows = rows[~of_turns]
    rows = rows.assign(item=_items(rows), n_models=rows["n_models"].fillna(2))
    for side in ("dialogue_a", "dialogue_b"):
        rows[side] = rows[side].where(rows[side].notna(), rows["item"] + f"#{side}")
    parts = [rows[[*PAIR_COLUMNS, *PAIR_VALUES]]]
    parts += [part for group in choice_groups(tables) if group.kind != "single" for part in _pairs(group)]
    return _together(parts)


def _items(rows: pd.DataFrame) -> pd.Series[Any]:
    dialogue, turn = rows["dialogue_a"], rows["turn"].astype("Int64").astype(object)
    of_two = (rows["kind"] == "dialogue") & dialogue.notna() & rows["dialogue_b"].notna()
    named = rows["item_id"].where(~of_two, dialogue + " | " + rows["dialogue_b"])
    of_turn = (rows["kind"] == "turn") & rows["turn"].notna()
    named = named.where(~of_turn, dialogue + ":" + turn.astype(str))
    verdict: pd.Series[Any] = named.where(rows["kind"] != "verdict", dialogue + ":verdict")
    return verdict


def _pairs(group: ComparisonGroup) -> Iterator[pd.DataFrame]:
    turns, dialogues = group.turns, first_hand_dialogues(group)
    items = _turn_items(group)
    order = sorted(range(len(turns.models)), key=lambda place: turns.models[place])
    n_models = (~np.isnan(turns.chosen)).sum(axis=1)
    for i, a in enumerate(order):
        for b in order[i + 1 :]:
            outcome, first = turns.chosen[:, a] - turns.chosen[:, b], group.positions[:, a]
            known = ~np.isnan(outcome)
            yield pd.DataFrame(
                {
                    "technique": group.technique,
                    "setting": group.setting,
                    "kind": "turn",
                    "metric": group.metric,
                    "model_a": turns.models[a],
                    "model_b": turns.models[b],
                    "item": items[known],
                    "worker_id": turns.workers[known],
                    "dialogue_a": dialogues[known],
                    "dialogue_b": dialogues[known],
                    "outcome": outcome[known].astype(int),
                    "first_a": np.where(np.isin(first, (1, 2)), first == 1, np.nan)[known],
                    "n_models": n_models[known],
                }
            )


def _turn_items(group: ComparisonGroup) -> Objects:
    pairs = zip(first_hand_dialogues(group), group.turns.turns, strict=True)
    return np.array([f"{dialogue}:{turn:g}" for dialogue, turn in pairs], dtype=object)


def levels(tables: Tables) -> pd.DataFrame:
    """Every value that was given to one model, a row each: ratings, good turns of a single model, labels of speakers.

    ``low`` and ``high`` are the ends of the scale, nan where it is not known; 0 and 1 for what was either so or not.
    """
    return _together([*_ratings(tables), *_sliders(tables), *_good_turns(tables), *_labels(tables)])


def _ratings(tables: Tables) -> Iterator[pd.DataFrame]:
    rows = likert_rows(tables)
    named = rows.assign(source="rating", item=rows["dialogue_id"], low=rows["minimum"], high=rows["maximum"])
    yield _levels(named)


def _sliders(tables: Tables) -> Iterator[pd.DataFrame]:
    data = assessed(tables)
    if data is None or data.counted.empty:
        return
    rows = data.counted
    low, high = rows["minimum"].fillna(0.0), rows["maximum"].fillna(100.0)
    whole = rows.assign(source="slider", item=rows["dialogue_id"], low=low, high=high)
    for name in ("technique", "setting", "metric"):
        whole[name] = whole[name].fillna("")
    yield _levels(whole)
    key = ["dialogue_id", "worker_id", "model"]
    first = whole.drop_duplicates(key).set_index(key)
    means = whole.groupby(key)["raw"].mean()
    overall = first.assign(value=means.reindex(first.index), criterion=OVERALL).reset_index()
    yield _levels(overall, ALL_CRITERIA)


def _good_turns(tables: Tables) -> Iterator[pd.DataFrame]:
    for group in choice_groups(tables):
        if group.kind != "single":
            continue
        dialogues, items = first_hand_dialogues(group), _turn_items(group)
        for number, model in enumerate(group.models):
            good = group.good[:, number]
            known = ~np.isnan(good)
            yield pd.DataFrame(
                {
                    "scope": ONE_CRITERION,
                    "source": "good turn",
                    "technique": group.technique,
                    "setting": group.setting,
                    "metric": group.metric,
                    "criterion": f"good turns ({group.metric})",
                    "model": model,
                    "item": items[known],
                    "worker_id": group.turns.workers[known],
                    "dialogue": dialogues[known],
                    "value": good[known],
                    "low": 0.0,
                    "high": 1.0,
                }
            )


def _labels(tables: Tables) -> Iterator[pd.DataFrame]:
    rows = tables.segments[finished(tables.segments)]
    rows = rows[(rows["model"] != HUMAN).to_numpy(dtype=bool)]
    item = rows["dialogue_id"] + ":" + rows["k"].astype(str) + ":" + rows["entity"].astype(str)
    human = rows["label"].eq(HUMAN).astype(float)
    named = rows.assign(source="label", criterion="taken for human", item=item, value=human, low=0.0, high=1.0)
    for name in ("technique", "setting", "metric"):
        named[name] = named[name].fillna("")
    yield _levels(named)


def _levels(rows: pd.DataFrame, scope: str = ONE_CRITERION) -> pd.DataFrame:
    named: pd.DataFrame = rows.assign(scope=scope, dialogue=rows["dialogue_id"])[[*LEVEL_COLUMNS, *LEVEL_VALUES]]
    return named


def _together(parts: list[pd.DataFrame]) -> pd.DataFrame:
    filled = [part for part in parts if len(part)]
    whole: pd.DataFrame = pd.concat(filled or parts[:1], ignore_index=True)
    return whole
