"""The section on free-for-alls: from exchange tables, from our own, and what it says where it cannot say much."""

from __future__ import annotations

import json

import numpy as np
import pytest
from make_live_records import make_choice, make_choices
from make_records import START

from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.free_for_all import build
from parlai_humaneval.statistics.ranking.plackett_luce import plackett_luce
from parlai_humaneval.statistics.ranking.trueskill import trueskill
from parlai_humaneval.tables.build import Tables, tables
from parlai_humaneval.tables.columns import from_rows
from parlai_humaneval.tables.files import read_tables

FFA = {"technique": "free_for_all", "setting": ""}
OPTIONS = Options(draws=50)
MODELS = ["a", "b", "c"]


def _exchange(picks, *, started=None, metric="preference"):
    """Only the columns of the exchange format; ``picks``: dialogue → chosen model of each turn, None unanswered."""
    rng = np.random.default_rng(0)
    rows, dialogues = [], []
    for number, (name, chosen) in enumerate(picks.items()):
        same = {"dialogue_id": name, "worker_id": f"w{number % 5}", **FFA}
        for turn, pick in enumerate(chosen, start=1):
            for model, place in zip(MODELS, rng.permutation(3) + 1, strict=True):
                won = int(pick == model)
                rows.append(
                    {**same, "metric": metric, "turn": turn, "model": model, "position": place, "selected": won}
                    | {"continued": won, "written": 0, "seconds": None if pick is None else 4.0}
                )
        begun = None if started is None else started[name]
        dialogues.append({**same, "started": begun, "seconds": 60, "n_turns": len(chosen), "complete": 1})
    return from_rows("turns", rows), from_rows("dialogues", dialogues)


def _tables(picks, **options):
    turns, dialogues = _exchange(picks, **options)
    return Tables(turns=turns, dialogues=dialogues, comparisons=from_rows("comparisons", []))


PICKS = {"x": "aab", "y": "abc", "z": "bbc", "u": "aaa", "v": "cab", "w": "bac"}


def _points(name):
    return {model: PICKS[name].count(model) for model in MODELS}


def test_nothing_for_other_techniques():
    """No turns, or turns of another technique: no section."""
    assert build(tables([]), OPTIONS) is None
    assert build(tables(make_choices({"a": 0.5, "b": 0.5}, setting="soba")), OPTIONS) is None


def test_trueskill_in_the_order_in_which_dialogues_began():
    """μ, σ and score as rated one by one, by when they began; the text of the time may differ in form."""
    times = {"x": "2024-01-02T00:00:00+00:00", "y": "2024-01-01T00:00:00Z", "z": "2024-01-03T02:00:00+05:00"}
    times |= {"u": "2024-01-04T00:00:00Z", "v": "2024-01-05T00:00:00Z", "w": "2023-12-31T00:00:00.500Z"}
    section = build(_tables(PICKS, started=times), OPTIONS)
    expected = trueskill([_points(name) for name in "wyxzuv"], MODELS)
    for row in section.models:
        skill = expected[row.model]
        assert (row["mu"], row["sigma"], row["score"]) == pytest.approx((skill.mu, skill.sigma, skill.score), abs=1e-5)
        assert row.points == sum(_points(name)[row.model] for name in PICKS)
        assert row["dialogues"] == 6
    assert [row.rank for row in section.models] == [1, 2, 3]
    assert not any("not known when" in text for text in section.remarks)


def test_without_times_the_table_orders():
    """And it says so."""
    section = build(_tables(PICKS), OPTIONS)
    expected = trueskill([_points(name) for name in PICKS], MODELS)
    assert {row.model: row["score"] for row in section.models} == pytest.approx(
        {model: skill.score for model, skill in expected.items()}, abs=1e-5
    )
    assert any("not known when" in text for text in section.remarks)


def test_an_unanswered_turn_is_nobodys_point():
    """It changes neither points nor scores."""
    with_hole = {**{k: list(v) for k, v in PICKS.items()}, "x": ["a", None, "a", "b"]}
    one, other = build(_tables(PICKS), OPTIONS), build(_tables(with_hole), OPTIONS)
    assert [(row.model, row.points) for row in one.models] == [(row.model, row.points) for row in other.models]
    assert [row["score"] for row in one.models] == pytest.approx([row["score"] for row in other.models])


def test_strengths_and_pairs_are_those_of_the_turns():
    """As fitted from the matrices: intervals, Holm, independent p, positions."""
    data = _tables({f"d{i}": list(picks) for i, picks in enumerate(["abc", "aab", "bca", "cab", "aba", "bbc"] * 5)})
    section = build(data, OPTIONS)
    turns = data.turns
    wide = turns.pivot_table(index=["dialogue_id", "turn"], columns="model", values="selected", sort=False)
    places = turns.pivot_table(index=["dialogue_id", "turn"], columns="model", values="position", sort=False)
    workers = turns.drop_duplicates(["dialogue_id", "turn"])["worker_id"]
    expected = plackett_luce(wide.to_numpy(float), workers, positions=places.to_numpy(float), models=MODELS)
    by_model = {row.model: row for row in section.models}
    for model, result in zip(MODELS, expected.models, strict=True):
        row = by_model[model]
        assert (row["strength"], row["strength_low"], row["strength_high"]) == pytest.approx(
            (result.estimate, result.ci_low, result.ci_high), abs=1e-7
        )
    assert [row.models for row in section.tests] == [["a", "b"], ["a", "c"], ["b", "c"]]
    assert [row["p_holm"] for row in section.tests] == pytest.approx([r.p_holm for r in expected.pairs], rel=1e-5)
    assert [row["pull"] for row in section.positions] == pytest.approx(
        [r.estimate for r in expected.positions], abs=1e-7
    )
    assert "interval" in section.headline


def test_our_own_tables():
    """Unfinished dialogues and unanswered turns do not count, and are remarked."""
    records = [
        make_choice("d1", [("a",), ("b",), ("a",)], models="abc", worker="w1", started=START + 50, **FFA),
        make_choice("d2", [("a",), ("b",)], models="abc", worker="w2", started=START, **FFA),
        make_choice("d3", [("c",)] * 4, models="abc", worker="w3", status="partial", started=START + 9, **FFA),
    ]
    section = build(tables(records), OPTIONS)
    expected = trueskill([{"a": 1, "b": 1, "c": 0}, {"a": 2, "b": 1, "c": 0}], MODELS)
    assert {row.model: row.points for row in section.models} == {"a": 3, "b": 2, "c": 0}
    assert {row.model: row["mu"] for row in section.models} == pytest.approx({m: s.mu for m, s in expected.items()})
    never = next(row for row in section.models if row.model == "c")
    assert never["strength"] is None
    text = " ".join(section.remarks)
    assert "1 unfinished dialogue" in text
    assert "strength of c cannot be estimated" in text


def test_a_model_that_nobody_chose_differs_from_the_others():
    """Twelve workers choose a and b in turn, and c never: c has no strength; its pairs have a p, corrected over three."""
    records = [
        make_choice(f"d{i}", [("a",), ("b",)] * 2, models="abc", worker=f"w{i}", started=START + i, **FFA)
        for i in range(12)
    ]
    section = build(tables(records), OPTIONS)
    (summary,) = section.summary()
    pairs = {(pair.first, pair.second): pair for pair in summary.pairs}
    for models in (("a", "c"), ("b", "c")):
        assert (pairs[models].gap, pairs[models].differs, pairs[models].family_tests) == (None, True, 3)
        assert pairs[models].p_decides == pytest.approx(3 * 2.0**-11)
    assert [pair.differs for models, pair in pairs.items() if "c" not in models] == [False]
    assert "c" in summary.best.told


def test_points_ranks_and_ties_by_hand():
    """Points a, b, c: 2, 1, 0 and then 1, 1, 0: mean ranks 1, 1.5, 3; a won 3 of 5 turns; one dialogue has two firsts."""
    records = [
        make_choice("d1", [("a",), ("b",), ("a",)], models="abc", worker="w1", started=START + 50, **FFA),
        make_choice("d2", [("a",), ("b",)], models="abc", worker="w2", started=START, **FFA),
    ]
    section = build(tables(records), OPTIONS)
    rows = {row.model: row for row in section.models}
    assert [rows[model].points for model in "abc"] == [3, 2, 0]
    assert [rows[model]["mean_rank"] for model in "abc"] == [1, 1.5, 3]
    assert (rows["a"]["point_share"], rows["a"]["turns"]) == (pytest.approx(3 / 5), 5)
    assert section.groups[0].tied_dialogues == 1
    assert any("Several models tie for first place in 1 dialogue." in text for text in section.remarks)


def test_points_sum_to_the_turns():
    """One pick a turn, no ties."""
    section = build(tables(make_choices({"a": 4, "b": 3, "c": 2, "d": 1}, one_pick=True, **FFA)), OPTIONS)
    assert sum(row.points for row in section.models) == section.groups[0].n_turns == 120


def test_rows_in_another_order_give_the_same():
    """The order of dialogues is that of their start, not of the table."""
    records = [
        make_choice(f"d{i}", [("abc"[i % 3],), ("abc"[i % 2],)], models="abc", worker=f"w{i}", started=START - i, **FFA)
        for i in range(6)
    ]
    data = tables(records)
    other = Tables(data.turns[::-1], data.dialogues, data.comparisons, data.ratings, data.points[::-1])
    one, two = build(data, OPTIONS), build(other, OPTIONS)
    assert [row["mu"] for row in one.models] == [row["mu"] for row in two.models]
    assert one.headline == two.headline


def test_the_summary_holds_the_numbers_of_the_rows():
    """Models by TrueSkill score with the bootstrap interval, pairs by strengths, corrected in one named family."""
    data = _tables({f"d{i}": list(picks) for i, picks in enumerate(["abc", "aab", "bca", "cab", "aba", "bbc"] * 5)})
    section = build(data, OPTIONS)
    (answer,) = section.summary()
    assert [(line.model, line.estimate, line.low, line.high) for line in answer.models] == [
        (row.model, row["typical_score"], row["bootstrap_low"], row["bootstrap_high"]) for row in section.models
    ]
    tests = {frozenset(row.models): row for row in section.tests}
    for line in answer.pairs:
        row = tests[frozenset((line.first, line.second))]
        assert (line.gap, line.p_paper) == (abs(row["estimate"]), row["p_independent"])
        larger = row.independent.p_decides if line.decided_by == "paper" else row["p_holm"]
        assert line.p_decides == larger >= row["p_holm"]
        assert (line.family, line.family_tests) == ("free_for_all, preference", 3)
    assert section.headline == f"preference: {answer.verdict}"


def test_what_is_shown_of_trueskill_lies_inside_of_its_interval():
    """Points that the score after all dialogues in their order does not have: the last ones pull it out of the range."""
    late = {f"d{i:02}": "bbb" if i > 33 else "aab" for i in range(40)}
    section = build(_tables(late), OPTIONS)
    first = {row.model: row for row in section.models}
    assert not all(row["order_low"] <= row["score"] <= row["order_high"] for row in section.models), "what it guards"
    for row in section.models:
        assert row["order_low"] <= row["order_middle"] <= row["order_high"]
        assert row["bootstrap_low"] <= row["typical_score"] <= row["bootstrap_high"]
        assert row["rank_low"] <= row.rank <= row["rank_high"]
    for line in section.summary()[0].models:
        assert line.estimate == first[line.model]["typical_score"]
    for figure in section.figures():
        if figure.kind == "intervals":
            assert all(point.low <= point.estimate <= point.high for point in figure.points if point.low is not None)
    best = section.models[0]
    assert f"{best.model} has the highest TrueSkill score ({best['typical_score']:.2f}" in section.headline


def test_other_sets_of_models_belong_together():
    """A model that was not in a dialogue plays no match there."""
    records = [
        make_choice("d1", [("a",), ("a",)], models="ab", worker="w1", started=START, **FFA),
        make_choice("d2", [("c",), ("b",), ("c",)], models="bc", worker="w2", started=START + 1, **FFA),
    ]
    section = build(tables(records), OPTIONS)
    expected = trueskill([{"a": 2, "b": 0}, {"b": 1, "c": 2}], MODELS)
    assert {row.model: row["score"] for row in section.models} == pytest.approx(
        {model: skill.score for model, skill in expected.items()}
    )
    assert {row.model: row["dialogues"] for row in section.models} == {"a": 1, "b": 2, "c": 1}


def test_models_that_were_drawn_anew_for_each_dialogue_are_ordered_by_strengths():
    """Of many sets of models one that was not in a dialogue did not lose it, and the strongest leads."""
    rng = np.random.default_rng(0)
    names, rows = [f"m{i}" for i in range(7)], []
    for dialogue in range(120):
        shown = rng.choice(7, 3, replace=False)
        for turn in range(1, 4):
            won = (np.linspace(1.5, -1.5, 7)[shown] + rng.gumbel(size=3)).argmax()
            same = {"dialogue_id": f"d{dialogue}", "worker_id": f"w{dialogue % 20}", **FFA, "turn": turn}
            same |= {"metric": "preference", "continued": 0, "written": 0}
            rows += [
                {**same, "model": names[m], "position": i + 1, "selected": int(i == won)} for i, m in enumerate(shown)
            ]
    turns = from_rows("turns", rows)
    section = build(
        Tables(turns=turns, dialogues=from_rows("dialogues", []), comparisons=from_rows("comparisons", [])), OPTIONS
    )
    assert {row.model: row["dialogues"] for row in section.models} == (
        turns.drop_duplicates(["dialogue_id", "model"])["model"].value_counts().to_dict()
    )
    (summary,) = section.summary()
    strengths = [row["strength"] for row in section.models]
    assert strengths == sorted(strengths, reverse=True)
    assert [line.estimate for line in summary.models] == strengths
    assert summary.best.leader == section.models[0].model == "m0"
    assert "m0 is the strongest" in summary.verdict
    assert "TrueSkill score" not in summary.verdict
    assert sum("TrueSkill compares a model only with the models that it met" in text for text in summary.remarks) == 1


def test_several_metrics_are_kept_apart():
    """Rows say which, tables show it, figures have keys of their own."""
    turns, dialogues = _exchange(PICKS)
    others, more = _exchange({f"{name}2": picks for name, picks in PICKS.items()}, metric="humanness")
    rows = [*turns.to_dict("records"), *others.to_dict("records")]
    both = [*dialogues.to_dict("records"), *more.to_dict("records")]
    section = build(
        Tables(from_rows("turns", rows), from_rows("dialogues", both), from_rows("comparisons", [])), OPTIONS
    )
    assert [group.metric for group in section.groups] == ["humanness", "preference"]
    assert len(section.models) == 6
    assert section.data_tables()[0].columns[0].key == "metric"
    keys = [figure.key for figure in section.figures()]
    assert len(set(keys)) == len(keys) == 8


def test_the_json_and_the_views_hold_no_nan(tmp_path):
    """Read back from files; every table shows the keys that its rows have, and figures are drawn from numbers."""
    turns, _ = _exchange(PICKS)
    exchange = ["dialogue_id", "worker_id", "technique", "setting", "metric", "turn", "model", "position"]
    turns[[*exchange, "selected", "continued", "written", "seconds"]].to_csv(tmp_path / "turns.csv", index=False)
    section = build(read_tables(tmp_path), OPTIONS)
    document = json.loads(section.model_dump_json())
    assert {"model", "points", "mu", "sigma", "score"} <= set(document["models"][0])
    json.dumps(document, allow_nan=False)
    for table in section.data_tables():
        assert all(set(row) == {column.key for column in table.columns} for row in table.rows)
    assert {figure.kind for figure in section.figures()} == {"intervals", "curves"}
    assert all(method.source for method in section.methods())


def test_one_worker_and_all_ties():
    """Estimates without intervals, and no strengths at all: honest words in both."""
    one = _tables(PICKS)
    one.turns["worker_id"] = "w"
    one.dialogues["worker_id"] = "w"
    section = build(one, OPTIONS)
    assert section.models[0]["bootstrap_low"] is None
    assert section.models[0]["strength_low"] is None
    assert "no interval" in section.headline
    only = build(_tables(dict.fromkeys(PICKS, "aaa")), OPTIONS)
    assert "cannot be estimated" in only.headline
    assert all(row["strength"] is None for row in only.models)
