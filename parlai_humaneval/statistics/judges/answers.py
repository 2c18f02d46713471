"""Answers of people and of judges (models), with the same names so that they can be matched; and the position and
length of replies, which may sway judges."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pandas as pd

from parlai_humaneval._util.arrays import Flags, Objects
from parlai_humaneval.i18n.translate import worded
from parlai_humaneval.statistics.core.clustered import cluster_sums, clustered_share
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.preference.pairs import counted_comparisons, is_turn, orient_pairs
from parlai_humaneval.statistics.ratings.likert import likert_rows
from parlai_humaneval.statistics.ratings.sliders import assessed
from parlai_humaneval.tables.choices import ComparisonGroup, choice_groups, first_hand_dialogues
from parlai_humaneval.tables.columns import TableError, Tables
from parlai_humaneval.tables.filters import finished, is_set
from parlai_humaneval.tables.schema import HUMAN, TableName
from parlai_humaneval.techniques.registry import with_trait

JUDGE, RATER_KIND = "judge", "rater_kind"  # Rows whose column ``rater_kind`` holds it are a judge's, and no people's
PAIR_COLUMNS = ("technique", "setting", "kind", "metric", "model_a", "model_b", "item", "worker_id")
PAIR_VALUES = ("dialogue_a", "dialogue_b", "outcome", "first_a", "n_models")
LEVEL_COLUMNS = ("scope", "source", "technique", "setting", "metric", "criterion", "model", "item", "worker_id")
LEVEL_VALUES = ("dialogue", "value", "low", "high")
OVERALL = "overall, raw"  # What the mean of a dialogue's sliders is called, turned round where more is worse
ONE_CRITERION, ALL_CRITERIA = "one criterion", "all criteria"
"""Values of the column ``scope``, which tells that mean from a criterion of the same name."""
_ANSWERED: tuple[TableName, ...] = ("turns", "comparisons", "ratings", "segments")


def people_and_judge(tables: Tables, judge: Tables | str) -> tuple[Tables, Tables]:
    """The tables of people alone, and those of the judge alone."""
    for name, value, kinds in (("tables", tables, Tables), ("judge", judge, (Tables, str))):
        if not isinstance(value, kinds):
            or_name = ", or the name of the judge in tables" if name == "judge" else ""
            raise TableError(worded(__file__, "no_tables", or_name=or_name, kind=type(value).__name__), where=name)
    if isinstance(judge, str):
        people = _only(tables, lambda rows: ~_is_judge(rows) & rows["worker_id"].ne(judge).to_numpy(dtype=bool))
        judged = _named(tables, judge)
    else:
        people, judged = _only(tables, lambda rows: ~_is_judge(rows)), judge
    if not _workers(people):
        raise TableError(worded(__file__, "no_people"), where="tables")
    if not _workers(judged):
        raise TableError(worded(__file__, "no_judge"), where="judge")
    both = _workers(people) & _workers(judged)
    if both:
        raise TableError(worded(__file__, "people_and_judges", worker=sorted(both)[0]), where="judge")
    # A judge's answers to what people had rated before count as if they were the first.
    changed: dict[str, Any] = {name: _first_hand(getattr(judged, name)) for name in ("turns", "comparisons", "ratings")}
    return people, replace(judged, **changed)


def _named(tables: Tables, judge: str) -> Tables:
    beside = tables.judges
    for place in (beside, tables):
        if place is not None and judge in _workers(place):
            return _only(place, lambda rows: rows["worker_id"].eq(judge).to_numpy(dtype=bool))
    # Names of people are nobody's business.
    known = _workers(_only(tables, _is_judge) if beside is None else beside)
    if not known:
        raise TableError(worded(__file__, "no_judges", judge=judge))
    names = sorted(known)
    named = f"{', '.join(names[:3])}{' …' if len(names) > 3 else ''}"
    raise TableError(worded(__file__, "unknown_judge", judge=judge, named=named))


def _only(tables: Tables, keep: Callable[[pd.DataFrame], Flags]) -> Tables:
    frames = {name: getattr(tables, name) for name in get_args(TableName)}
    return replace(tables, **{name: rows[keep(rows)] for name, rows in frames.items()})


def _is_judge(rows: pd.DataFrame) -> Flags:
    if RATER_KIND not in rows.columns:
        return np.zeros(len(rows), dtype=bool)
    return np.asarray(rows[RATER_KIND].eq(JUDGE).fillna(False), dtype=bool)


def _workers(tables: Tables) -> set[str]:
    return {str(name) for table in _ANSWERED for name in getattr(tables, table)["worker_id"].unique()}


def _first_hand(rows: pd.DataFrame) -> pd.DataFrame:
    raters = rows["worker_id"].where(rows["judgement_id"].isna(), rows["worker_id"] + " in " + rows["judgement_id"])
    named: pd.DataFrame = rows.assign(worker_id=raters, own_worker=None, judgement_id=None)
    if "own_technique" in named.columns:
        technique = named["own_technique"].where(named["own_technique"].notna(), named["technique"])
        setting = named["own_setting"].where(named["own_technique"].notna(), named["setting"])
        named = named.assign(technique=technique.mask(technique.isin(with_trait("read_again")), JUDGE), setting=setting)
    return named


def compared(tables: Tables) -> pd.DataFrame:
    """Every answered comparison of two models, a row each: of finished dialogues, verdicts and turns (these from the
    table of turns, where there is one). ``item`` names what was compared, alike for whoever judged it; ``outcome``: 1 A
    won, −1 B, 0 a tie.
    """
    rows = orient_pairs(counted_comparisons(tables))
    of_turns = rows["kind"].eq("turn").to_numpy(dtype=bool) & bool(len(tables.turns))
    rows = rows[~of_turns]
    dialogue, turn = rows["dialogue_a"], rows["turn"].astype("Int64").astype(object)
    of_two = (rows["kind"] == "dialogue") & dialogue.notna() & rows["dialogue_b"].notna()
    named = rows["item_id"].where(~of_two, dialogue + " | " + rows["dialogue_b"])
    of_turn = (rows["kind"] == "turn") & rows["turn"].notna()
    named = named.where(~of_turn, dialogue + ":" + turn.astype(str))
    named = named.where(rows["kind"] != "verdict", dialogue + ":verdict")
    rows = rows.assign(item=named, n_models=rows["n_models"].fillna(2))
    for side in ("dialogue_a", "dialogue_b"):
        rows[side] = rows[side].where(rows[side].notna(), rows["item"] + f"#{side}")
    parts = [rows[[*PAIR_COLUMNS, *PAIR_VALUES]]]
    parts += [part for group in choice_groups(tables) if group.kind != "single" for part in _pairs(group)]
    return _together(parts)


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
    """Every value that was given to one model, a row each: ratings, good turns of a single model, labels of speakers;
    ``low`` and ``high`` are the ends of the scale."""
    rows = likert_rows(tables)
    named = rows.assign(source="rating", item=rows["dialogue_id"], low=rows["minimum"], high=rows["maximum"])
    speakers = tables.segments[finished(tables.segments)]
    speakers = speakers[(speakers["model"] != HUMAN).to_numpy(dtype=bool)]
    item = speakers["dialogue_id"] + ":" + speakers["k"].astype(str) + ":" + speakers["entity"].astype(str)
    human = speakers["label"].eq(HUMAN).astype(float)
    labels = speakers.assign(source="label", criterion="taken for human", item=item, value=human, low=0.0, high=1.0)
    for name in ("technique", "setting", "metric"):
        labels[name] = labels[name].fillna("")
    return _together([_levels(named), *_sliders(tables), *_good_turns(tables), _levels(labels)])


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


def _levels(rows: pd.DataFrame, scope: str = ONE_CRITERION) -> pd.DataFrame:
    return rows.assign(scope=scope, dialogue=rows["dialogue_id"])[[*LEVEL_COLUMNS, *LEVEL_VALUES]]


def _together(parts: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


SOURCE = "Zheng et al. 2023, §3.3"
OF_CHOICE = ["worker", "technique", "setting", "metric", "thing", "order"]
COLUMNS = [*OF_CHOICE, "dialogue", "options", "answer", "first", "longest"]


def choices(tables: Tables, lengths: Mapping[str, int] | None = None) -> pd.DataFrame:
    """A row for each choice among replies or dialogues, of raters or of judges.

    ``thing``: what was chosen from; ``options``: among how many; ``answer``: what was chosen, sorted, or tie. ``first``,
    ``longest``: 1 where the one that was chosen stood first, or was the longest; nan where that is not known.
    """
    parts = [part for part in (_of_turns(tables.turns), _of_whole(tables.comparisons, lengths or {})) if len(part)]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=COLUMNS)


def first_chosen(chosen: pd.DataFrame, *, name: str = "first shown chosen", level: float = 0.95) -> Result:
    """How often the first option was chosen, tested against chance; ``chosen``: from :func:`choices`, with equally many
    options."""
    return _share(chosen, "first", chosen["options"], name, level)


def longest_chosen(chosen: pd.DataFrame, *, name: str = "longest chosen", level: float = 0.95) -> Result:
    """How often the longest option was chosen, as in :func:`first_chosen`; people may prefer long replies, too."""
    return _share(chosen, "longest", chosen["options"], name, level)


def inconsistent(chosen: pd.DataFrame, *, name: str = "changed with the order", level: float = 0.95) -> Result:
    """How often a judge gave different answers in the two orders."""
    keys = [key for key in OF_CHOICE if key != "order"]
    both = chosen.groupby(keys, sort=False).agg({"order": "nunique", "answer": "nunique", "dialogue": "first"})
    both = both[both["order"] == 2]
    changed = np.asarray(both["answer"] > 1, dtype=float)
    sums = cluster_sums(changed, np.ones(len(both)), both["dialogue"].to_numpy(dtype=object))
    return clustered_share(sums, name=name, level=level, cluster="dialogue").but(p_value=None, statistic=None)


def _share(chosen: pd.DataFrame, what: str, options: pd.Series[int], name: str, level: float) -> Result:
    values = chosen[what].to_numpy(dtype=float)
    known = ~np.isnan(values)
    chance = float(1 / options.iloc[0]) if len(options) else 0.5
    sums = cluster_sums(values[known], np.ones(int(known.sum())), chosen["dialogue"].to_numpy(dtype=object)[known])
    return clustered_share(sums, name=name, null=chance, level=level, cluster="dialogue")


def _of_turns(turns: pd.DataFrame) -> pd.DataFrame:
    """Replies of one turn among which was chosen; equal ones, which were shown as one, are one."""
    asked = ~is_set(turns, "automatic") & ~is_set(turns, "continued_each") & is_set(turns, "complete", missing=1)
    cards = turns["same_as"].isna() & turns["rank"].isna() & turns["tick_choices"].isna()
    rows: pd.DataFrame = turns[finished(turns) & asked & cards.to_numpy(dtype=bool) & ~is_set(turns, "failed")]
    if rows.empty:
        return pd.DataFrame(columns=COLUMNS)
    length = rows["text"].str.len().to_numpy(dtype=float)
    said: pd.DataFrame = pd.DataFrame(
        {
            **_names_of(rows),
            "thing": (rows["dialogue_id"].astype(str) + ":" + rows["turn"].astype(str)).to_numpy(dtype=object),
            "dialogue": rows["dialogue_id"].to_numpy(dtype=object),
            "card": rows["candidate_id"].fillna(rows["model"]).to_numpy(dtype=object),
            "selected": rows["selected"].to_numpy(dtype=int),
            "first": (rows["position"].to_numpy(dtype=int) == 1).astype(float),
            "length": length,
        },
        index=range(len(rows)),
    )
    turn = said.groupby(OF_CHOICE, sort=False).ngroup()
    cards, longest = said.groupby(turn)["length"].transform("size"), said.groupby(turn)["length"].transform("max")
    is_longest = said["length"] == longest
    told_apart = is_longest.groupby(turn).transform("sum") == 1
    picked = said[said["selected"] == 1].sort_values("card")
    answer = picked.groupby(turn[picked.index])["card"].agg(lambda names: ";".join(map(str, names)))
    of_one = picked[picked.groupby(turn[picked.index])["card"].transform("size") == 1]
    first = pd.Series(of_one["first"].to_numpy(), index=turn[of_one.index])
    long = is_longest[of_one.index].astype(float).where(told_apart[of_one.index])
    longest_picked = pd.Series(long.to_numpy(), index=turn[of_one.index])
    once = said[~turn.duplicated() & (cards > 1)]
    codes = turn[once.index]
    return once.assign(
        options=cards[once.index],
        answer=codes.map(answer).fillna(""),
        first=codes.map(first),
        longest=codes.map(longest_picked),
    )[COLUMNS]


def _of_whole(comparisons: pd.DataFrame, lengths: Mapping[str, int]) -> pd.DataFrame:
    rows = comparisons[finished(comparisons) & ~is_set(comparisons, "automatic")]
    rows = orient_pairs(rows[~is_turn(rows)])
    outcome, first_a = rows["outcome"].to_numpy(dtype=float), rows["first_a"].to_numpy(dtype=float)
    decided = outcome != 0
    first = np.where(decided, np.where(outcome > 0, first_a, 1 - first_a), np.nan)
    sizes = [rows[name].map(lengths).to_numpy(dtype=float, na_value=np.nan) for name in ("dialogue_a", "dialogue_b")]
    longer_a = np.where(sizes[0] == sizes[1], np.nan, (sizes[0] > sizes[1]).astype(float))
    longer_a[np.isnan(sizes[0]) | np.isnan(sizes[1])] = np.nan
    return pd.DataFrame(
        {
            **_names_of(rows),
            "thing": rows["item_id"].to_numpy(dtype=object),
            "dialogue": rows["dialogue_a"].to_numpy(dtype=object),
            "options": 2,
            "answer": rows["outcome"].to_numpy(dtype=object),
            "first": first,
            "longest": np.where(decided, np.where(outcome > 0, longer_a, 1 - longer_a), np.nan),
        },
        columns=COLUMNS,
    )


def _names_of(rows: pd.DataFrame) -> dict[str, object]:
    order = rows["order"].to_numpy(dtype=int) if "order" in rows else 1
    names = {name: rows[name].fillna("").to_numpy(dtype=object) for name in ("technique", "setting", "metric")}
    return {"worker": rows["worker_id"].to_numpy(dtype=object), **names, "order": order}


def judged_lengths(judgements: pd.DataFrame) -> dict[str, int]:
    """Dialogue → letters of the speaker who is judged there, by the table ``judgements`` of raters."""
    found: dict[str, int] = {}
    for cell in judgements["shown"].dropna():
        for shown in json.loads(cell):
            if shown.get("judged") is not None:
                said = (line["text"] for line in shown["lines"] if line["speaker"] == shown["judged"])
                found.setdefault(shown["dialogue_id"], sum(map(len, said)))
    return found
