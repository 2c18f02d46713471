"""The section on ratings at the end of dialogues."""

from __future__ import annotations

import json

import pytest
from make_comparisons import exchange_tables, ratings_frame, tick_study
from make_live_records import make_assessment, make_ticked

from parlai_humaneval.report.conclusions import deciding_p
from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.likert import build
from parlai_humaneval.statistics.core.formatting import format_p
from parlai_humaneval.tables.build import tables

KINDS_OF_P = {"p_value": "p_holm", "p_clustered": "p_clustered_holm", "p_effective": "p_effective_holm"}
"""p of a pair → the same, corrected."""


def test_tables_from_elsewhere(tmp_path):
    """Only the exchange columns: means, pairs, no regression; models by name."""
    frame = ratings_frame({"c": 3.0, "a": 4.2, "b": 3.1})
    section = build(exchange_tables(tmp_path, {"ratings": frame}), Options())
    assert [(one.criterion, one.model) for one in section.models] == [
        (criterion, model) for criterion in ("engaging", "human") for model in "abc"
    ]
    assert [(pair.model_a, pair.model_b) for pair in section.pairs] == [("a", "b"), ("a", "c"), ("b", "c")] * 2
    assert all(pair["p_clustered_holm"] >= pair["p_clustered"] for pair in section.pairs)
    assert not section.regression
    assert "a was rated" in section.headline
    assert "interval" in section.headline
    found = json.loads(section.model_dump_json())
    assert {"mean", "ci_low", "ci_high", "n"} <= set(found["models"][0])
    for table in section.data_tables():
        assert all(list(row) == [column.key for column in table.columns] for row in table.rows)
    assert [figure.key for figure in section.figures()] == ["likert_means_1", "likert_means_2"]
    assert all(method.source for method in section.methods())


def test_our_own_records_have_turn_weights():
    """Ticks and ratings of one study: a coefficient a turn, for all models and for each."""
    section = build(tables(tick_study([0.2, 0.5, 1.0])), Options())
    terms = {(term.model, term["term"]): term["estimate"] for term in section.regression}
    assert terms[("", "turn 3")] == pytest.approx(1.0)
    assert {model for model, _ in terms} == {"", "a", "b"}
    figure = next(figure for figure in section.figures() if figure.key == "likert_turn_weights")
    assert [curve.name for curve in figure.curves] == ["all models", "a", "b"]
    assert figure.curves[0].x == (1.0, 2.0, 3.0)


def test_nothing_for_it():
    """No ratings, or sliders only."""
    assert build(tables([]), Options()) is None
    assert build(tables(make_assessment({"good": 70, "qc": 20})), Options()) is None


def test_one_model_of_one_worker():
    """Nothing to compare and no interval: both are said, and no number is made up."""
    section = build(tables([make_ticked(f"d{i}", ratings={"engaging": 4.0}) for i in range(3)]), Options())
    assert not section.pairs
    assert section.models[0]["mean"] == 4.0
    assert section.models[0]["ci_low"] is None
    assert any("Only one model" in remark for remark in section.remarks)
    assert "95 %" not in section.headline


def test_stored_dialogues_that_several_workers_rate(tmp_path):
    """Eight dialogues a model, rated by many: the answer counts them too, says so, and keeps that by worker beside."""
    own = ratings_frame({"a": 3.3, "b": 2.9}, workers=30)
    stored = [f"{name[0]}{int(name[1:]) % 8}" for name in own["dialogue_id"]]
    once = ~own.assign(dialogue_id=stored).duplicated(["dialogue_id", "worker_id", "criterion"])
    section, fresh = (
        build(exchange_tables(tmp_path, {"ratings": frame[once]}), Options())
        for frame in (own.assign(dialogue_id=stored), own)
    )
    for pair, alone in zip(section.pairs, fresh.pairs, strict=True):
        assert (pair["p_worker"], alone["p_worker"]) == (alone["p_clustered"], None)
        assert "rater and dialogue" in pair.gap.method
        assert "rater and dialogue" in pair.effective.method
    told = "The answer is about these 16 dialogues"
    assert any(remark.startswith(told) for answer in section.summary() for remark in answer.remarks)
    assert not any(remark.startswith("The answer is about") for answer in fresh.summary() for remark in answer.remarks)
    names = [method.name for method in section.methods()]
    assert "Dialogues judged by several raters" in names


def test_all_alike_is_said_so(tmp_path):
    """No “clearest” pair that is rated 0.000 points higher."""
    frame = ratings_frame({"a": 3.0, "b": 3.0, "c": 3.0}).assign(value=3)
    section = build(exchange_tables(tmp_path, {"ratings": frame}), Options())
    assert "rated exactly the same on" in section.headline
    assert "0.000 points higher" not in section.headline
    two = frame[frame["model"] != "c"]
    assert "exactly the same" in build(exchange_tables(tmp_path, {"ratings": two}), Options()).headline


def test_the_p_of_the_answer_is_the_one_that_decides(tmp_path):
    """Holm's, with the other beside it."""
    section = build(exchange_tables(tmp_path, {"ratings": ratings_frame({"a": 3.4, "b": 3.1, "c": 3.1})}), Options())
    best = min(section.pairs, key=lambda pair: (pair["p_clustered_holm"], pair["p_clustered"]))
    assert best["p_clustered_holm"] > best["p_clustered"]
    assert deciding_p(best["p_clustered"], best["p_clustered_holm"]) in section.headline
    assert deciding_p(0.004, 0.0112) == "p = .011 after Holm's correction (p = .004 without)"
    assert (deciding_p(0.004, 0.004), deciding_p(None, None)) == ("p = .004", format_p(None))


def test_ratings_by_hand():
    """Means, sd with n − 1, n and the ends of the scale, beyond which no interval reaches."""
    ratings = [("a", "w1", 5, 3), ("a", "w2", 4, 3), ("b", "w1", 2, 3), ("b", "w3", 3, 4)]
    records = [
        make_ticked(f"d{i}", model=model, worker=worker, ratings={"engaging": engaging, "humanlike": human})
        for i, (model, worker, engaging, human) in enumerate(ratings)
    ]
    section = build(tables(records), Options())
    rows = {(row.criterion, row.model): row for row in section.models}
    engaging = rows["engaging", "a"]
    assert (engaging["mean"], engaging["n"], engaging.minimum, engaging.maximum) == (4.5, 2, 1, 5)
    assert engaging.sd == pytest.approx(0.5**0.5)
    assert {pair.criterion for pair in section.pairs} == {"engaging", "humanlike"}
    for row in section.models:
        assert row["ci_low"] is None or 1 <= row["ci_low"] <= row["ci_high"] <= 5
    for pair in section.pairs:
        assert pair["ci_low"] is None or -4 <= pair["ci_low"] <= pair["ci_high"] <= 4


def test_each_criterion_has_its_answer(tmp_path):
    """Models from the highest mean down, pairs with the one rated higher first; Holm over the pairs of the criterion."""
    frame = ratings_frame({"c": 3.0, "a": 4.2, "b": 3.1})
    section = build(exchange_tables(tmp_path, {"ratings": frame}), Options())
    answers = section.summary()
    assert [answer.question for answer in answers] == ["engaging", "human"]
    for answer in answers:
        rows = {row.model: row for row in section.models if row.criterion == answer.question}
        assert [line.model for line in answer.models] == sorted(rows, key=lambda model: -rows[model]["mean"])
        pairs = [pair for pair in section.pairs if pair.criterion == answer.question]
        for line, pair in zip(answer.pairs, pairs, strict=True):
            assert (line.gap, line.family_tests) == (abs(pair["difference"]), 3)
            assert (line.p_paper, line.p_decides) == (pair["p_value"], pair["p_clustered_holm"])
            assert answer.question in line.family
    assert any("(3 tests)" in method.text for method in section.methods())


def test_where_more_is_worse_the_lower_one_is_ahead(tmp_path):
    """Of a criterion that is called robotic: in the pair, its words, its superiority, and who is ahead of all others."""
    frame = ratings_frame({"a": 4.4, "b": 2.2, "c": 3.6}).replace({"criterion": {"engaging": "robotic"}})
    section = build(exchange_tables(tmp_path, {"ratings": frame}), Options())
    answer = next(answer for answer in section.summary() if answer.question == "robotic")
    assert [line.model for line in answer.models] == ["b", "c", "a"]
    assert {pair.first for pair in answer.pairs if "b" in (pair.first, pair.second)} == {"b"}
    assert all(pair.gap > 0 and pair.superiority > 0.5 for pair in answer.pairs)
    assert "b was rated" in answer.verdict
    assert "points lower than a on robotic" in answer.verdict


def test_each_p_is_corrected_by_itself(tmp_path):
    """Holm's correction of three p-values: the least times 3, the next times 2, none below the one before. No two
    kinds have the same p-values, so that none can stand for another."""
    frame = ratings_frame({"a": 3.4, "b": 3.0, "c": 2.8})
    section = build(exchange_tables(tmp_path, {"ratings": frame}), Options())
    pairs = [pair for pair in section.pairs if pair.criterion == "engaging"]
    told = {tuple(pair[name] for pair in pairs) for kind in KINDS_OF_P.items() for name in kind}
    assert len(told) == 2 * len(KINDS_OF_P)
    for name, corrected in KINDS_OF_P.items():
        first, second, third = sorted(pairs, key=lambda pair: pair[name])
        least = min(1.0, 3 * first[name])
        middle = min(1.0, max(least, 2 * second[name]))
        by_hand = (least, middle, max(middle, third[name]))
        assert tuple(pair[corrected] for pair in (first, second, third)) == pytest.approx(by_hand), name
