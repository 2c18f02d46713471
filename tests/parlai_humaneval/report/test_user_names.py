"""Whatever a researcher calls a model, a criterion, a worker or a setting, the report is the same but for the name.

Real tables of each technique are reported twice: with names that the program uses for something itself (an aggregate, a tie,
a missing value), and with the same names and a mark behind them, which nothing knows and which sort alike.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timezone
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from make_judgements import make_pairs, make_spotting, make_third_party
from make_live_records import TICKS, make_assessment, make_choices, make_ticked, make_verdict

from parlai_humaneval.importers.tidy import TidyPlan, read_tidy, table_paths
from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.section import Options
from parlai_humaneval.tables.build import tables
from parlai_humaneval.tables.columns import TableError
from parlai_humaneval.tables.files import read_tables, write_tables
from parlai_humaneval.tables.schema import TableName

MARK = "!~!"
MODELS = ("m0zq", "m1zq", "m2zq", "m3zq")
NOW = datetime(2024, 1, 1, tzinfo=timezone.utc)
GROUPS = (
    ("overall", "tie", "human", "none"),
    ("any model", "mean of models", "tie-win", "all places"),
    ("both bad", "nobody", "unsure", "bot"),
    ("NA", "nan", "null", "None"),
    ("1.0", "true", "a, b", "a vs b"),
    ("paper", "degraded", "a|b", "nothing ticked"),
)
NAMES = [name for group in GROUPS for name in group]
IDS = {"dialogue_id", "item_id", "dialogue_a", "dialogue_b", "judgement_id", "dialogues", "worker_id", "own_worker"}
OF_ALL = GROUPS[0]
"""What most sections have a word of their own for: models of every study are called so, and of some as one other group says,
so that each name is given in a study at least; all else that has a name is called by every one of them in each round."""
OTHERS = {"sata": 1, "arena": 2, "direct_assessment": 3, "pw_dialog": 4, "single_model": 5}
"""Technique → the other group of names of its models, one that its sections have words of."""
RESERVED = {"pw_dialog": {"human"}, "spot_the_bot": {"human"}, "third_party": {"human"}}
"""Technique → names that the format of finished dialogues has a meaning for: “human” is a person among the speakers."""


def _single_models():
    rng = np.random.default_rng(3)
    return [
        make_ticked(
            f"d{place}-{worker}",
            [[tick for tick in TICKS if rng.random() < chance] for _ in range(3)],
            model=model,
            worker=f"w{worker}",
            ratings={tick: float(rng.integers(1, 6)) for tick in TICKS},
        )
        for place, (model, chance) in enumerate(zip(MODELS, (0.5, 0.7, 0.1, 0.3), strict=True))
        for worker in range(6)
    ]


def _arena():
    rounds = ["a", "a", "b", "tie", "a", "both_bad"] * 3
    return [
        make_verdict(
            f"{first}-{second}-{number}", verdict, models=(MODELS[first], MODELS[second]), worker=f"w{number % 6}"
        )
        for first, second in ((0, 1), (2, 0), (3, 1))
        for number, verdict in enumerate(rounds)
    ]


def _weights(*values):
    return dict(zip(MODELS, values, strict=False))


STUDIES = {
    "sata": lambda: make_choices(_weights(0.8, 0.6, 0.5, 0.1), setting="sata_random", workers=6, turns=4),
    "single_model": _single_models,
    "free_for_all": lambda: make_choices(
        _weights(4, 3, 2, 1), technique="free_for_all", setting="", one_pick=True, workers=6, turns=4
    ),
    "arena": _arena,
    "direct_assessment": lambda: make_assessment({**_weights(75, 60, 55, 50), "qc": 20}, workers=6),
    "pw_dialog": lambda: make_pairs(_weights(4, 3, 2, 1)),
    "spot_the_bot": lambda: make_spotting(
        {**_weights(0.7, 0.4, 0.2, 0.3), "human": 0.9}, workers=6, dialogues=2, raters=1
    ),
    "third_party": lambda: make_third_party(MODELS, dialogues=6, turns=3),
}


def _cells(data, change, columns):
    """``data`` with every text of the ``columns`` changed."""
    frames = {}
    for name in get_args(TableName):
        frame = getattr(data, name)
        changed = {
            column: pd.Series(
                [change(v) if isinstance(v, str) else v for v in frame[column]], frame.index, dtype=object
            )
            for column in frame.columns
            if columns(column) and not pd.api.types.is_numeric_dtype(frame[column])
        }
        frames[name] = frame.assign(**changed)
    return replace(data, **frames)


def _models_renamed(data, names):
    """In every cell but ids; in cells of JSON as JSON writes them."""

    def change(text):
        for old, new in names.items():
            if old in text:
                text = text.replace(old, json.dumps(new, ensure_ascii=False)[1:-1] if text[:1] in "[{" else new)
        return text

    return _cells(data, change, lambda column: column not in IDS)


def _renamed(data, names, *columns):
    """In these columns, where a cell holds just the name."""
    return _cells(data, lambda text: names.get(text, text), lambda column: column.removeprefix("own_") in columns)


def _report(data):
    return json.loads(json.dumps(build_report(data, Options(draws=10), now=NOW).to_json()))


def _without(value, mark):
    if isinstance(value, dict):
        return {_without(key, mark): _without(inner, mark) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without(inner, mark) for inner in value]
    return value.replace(mark, "") if isinstance(value, str) else value


def _named(study):
    """The tables of a study, in which each cell that can say where it was collected does."""
    data = tables(STUDIES[study]())
    frames = {name: getattr(data, name) for name in get_args(TableName) if "setting" in getattr(data, name)}
    return replace(
        data, **{name: frame.assign(setting=frame["setting"].fillna("zq")) for name, frame in frames.items()}
    )


def _values(data, column):
    """All that is called by a name in a column."""
    frames = [frame for name in get_args(TableName) if column in (frame := getattr(data, name))]
    return sorted({value for frame in frames for value in frame[column].dropna()}, key=str)


def _names_of(study, data, number):
    """Column → what its cells are called in a round: somebody or something else each time, of each kind of name at once."""
    given = {"model": dict(zip(MODELS, (n for n in GROUPS[number] if n not in RESERVED.get(study, ())), strict=False))}
    for place, column in enumerate(("worker_id", "criterion", "setting", "metric", "technique", "dialogue_id"), 1):
        first = (number + place) * len(MODELS)
        allowed = [name for name in (*NAMES[first:], *NAMES[:first]) if (column, name) != ("metric", "overall")]
        given[column] = dict(zip(_values(data, column), allowed, strict=False))  # overall is said once: see Family
    return given


@pytest.mark.parametrize("study", STUDIES)
def test_whatever_is_named_may_have_any_name(study):
    """Guards against a name that is taken for something of the program.

    Of models a win that counts as a tie, or a model that is taken for an aggregate; of workers ids that look like missing
    ones; the criterion called overall that is taken for the mean over all criteria, and changes the leader; a setting that
    is left out of the name of its tests, as it is called what the question is.
    """
    data = _named(study)
    for number in (0, OTHERS[study]) if study in OTHERS else (0,):
        group = GROUPS[number]
        given = _names_of(study, data, number)
        assert set(given["model"].values()) == set(group) - RESERVED.get(study, set())
        marked = {column: {old: new + MARK for old, new in names.items()} for column, names in given.items()}
        report, expected = (_report(_all_renamed(data, names)) for names in (given, marked))
        assert report == _without(expected, MARK), given


def _all_renamed(data, given):
    """Models first, which stand within texts; then the cells that are just a name."""
    (_, models), *others = given.items()
    data = _models_renamed(data, models)
    for column, names in others:
        data = _renamed(data, names, column)
    return data


@pytest.mark.usefixtures("only_answers")
def test_a_win_of_a_model_called_tie_survives_files(tmp_path):
    """Guards the round trip: the column tied says which winners are no model."""
    data = _models_renamed(tables(_arena()), dict(zip(MODELS, ("tie", "b", "c", "d"), strict=True)))
    write_tables(data, tmp_path)
    assert _report(read_tables(tmp_path))["comparisons"] == _report(data)["comparisons"]
    imported = read_tidy(table_paths([tmp_path], None), TidyPlan()).tables
    assert imported.comparisons["tied"].tolist() == data.comparisons["tied"].tolist()
    data.comparisons.drop(columns=["tied"]).to_csv(tmp_path / "comparisons.csv", index=False)
    with pytest.raises(TableError, match="tied that marks the comparisons that neither model won"):
        read_tables(tmp_path)


@pytest.mark.usefixtures("only_answers")
def test_a_replication_tells_its_mean_from_a_criterion_called_overall():
    """Of two runs: r of the mean over all criteria has a field of its own, and the matrix says where it is."""
    data = tables(STUDIES["direct_assessment"]())
    half = data.ratings["worker_id"].isin([f"w{number}" for number in range(3)])
    plain = replace(data, ratings=data.ratings.assign(run=np.where(half, "first", "second")))
    documents = [
        build_report(one, Options(draws=10)) for one in (plain, _renamed(plain, {"fun": "overall"}, "criterion"))
    ]
    found, other = (document.to_json()["direct_assessment"] for document in documents)
    (before,), (after,) = found["replications"], other["replications"]
    assert before["r"]["overall"] == before["overall"] == after["overall"], "readers of today find it where it was"
    assert after["r"]["overall"] == before["r"]["fun"] != after["overall"]
    assert other["correlations"]["criteria"].count("overall") == 2
    assert other["correlations"]["overall_at"] == 0
    labels = [
        row["criterion"]
        for table in documents[1].sections["direct_assessment"].data_tables()
        if table.key == "direct_assessment_correlations"
        for row in table.rows
    ]
    assert labels[0] == "overall (all criteria)"
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_names_survive_files_and_imports(tmp_path, ending):
    """Guards names that a reader of files takes for missing values, numbers or truths; lines and marks within them stay."""
    names = [*NAMES, "01", "1", "False", "N/A", "a\nb", "x;", "=1+1", '"quoted"']
    frame = tables(STUDIES["direct_assessment"]()).ratings.head(len(names)).assign(worker_id=names, criterion=names)
    data = replace(tables([]), ratings=frame.reset_index(drop=True))
    write_tables(data, tmp_path, ending)
    for read in (read_tables(tmp_path), read_tidy(table_paths([tmp_path], None), TidyPlan()).tables):
        assert read.ratings["worker_id"].tolist() == read.ratings["criterion"].tolist() == names
        assert read.cleaned == ()
