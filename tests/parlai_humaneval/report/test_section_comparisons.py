"""The section on comparisons: its JSON, its words, and tables from anywhere."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Annotated

import numpy as np
import pandas as pd
import pytest
from make_comparisons import comparisons_frame, exchange_tables
from make_judgements import METRICS, make_pair, make_pairs
from make_live_records import make_choices, make_verdict

from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.conclusions import told_leader
from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.comparisons import build
from parlai_humaneval.report.summary import models_table, pairs_table
from parlai_humaneval.report.views import laid_out
from parlai_humaneval.statistics.core.formatting import format_p
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.rows import CUT, Column, Row, interval_keys, row_table, table_of
from parlai_humaneval.statistics.core.shares import binomial_p
from parlai_humaneval.statistics.ranking.plackett_luce import comparison_strengths
from parlai_humaneval.tables.build import Tables, tables
from parlai_humaneval.tables.columns import from_rows
from parlai_humaneval.tables.filters import taken_as_finished
from parlai_humaneval.tables.validate import with_dialogues

CHANCES = {("apple", "pear"): 0.75, ("apple", "plum"): 0.5, ("pear", "plum"): 0.35}
KEYS = {"model_a", "model_b", "metric", "wins_a", "wins_b", "ties", "win_rate_a", "ci_low", "ci_high", "p_value"}


@pytest.fixture(scope="module")
def exchanged(tmp_path_factory) -> Tables:
    return exchange_tables(
        tmp_path_factory.mktemp("exchanged"),
        {"comparisons": comparisons_frame(CHANCES, metrics=("humanness", "preference"))},
    )


@cache
def built(exchanged):
    """Their section, which most tests here read."""
    return build(exchanged, Options())


def test_tables_from_elsewhere(exchanged):
    """Only the exchange columns: a row for each pair and metric, with the keys that were promised."""
    section = built(exchanged)
    assert section is not None
    assert [(p.metric, p.model_a, p.model_b) for p in section.pairs] == [
        (metric, *pair) for metric in ("humanness", "preference") for pair in sorted(CHANCES)
    ]
    found = json.loads(section.model_dump_json())
    assert KEYS | {"p_clustered"} <= set(found["pairs"][0])
    for pair in section.pairs:
        assert pair.win_rate.ci_low < pair.win_rate.estimate < pair.win_rate.ci_high
        assert pair.n == pair.wins_a + pair.wins_b + pair.ties == 120
        assert pair.win_rate.p_decides >= pair.win_rate.p_value
    assert "apple won" in section.headline
    assert "95 %" in section.headline


def test_what_is_shown_holds_together(exchanged):
    """Every column of a table is in every row; a matrix and its mirror sum to 1."""
    section = built(exchanged)
    for table in section.data_tables():
        keys = [column.key for column in table.columns]
        assert all(list(row) == keys for row in table.rows)
    names = {table.key for table in section.data_tables()}
    assert names == {"comparisons_pairs", "comparisons_models", "comparisons_reuse"}
    heat = next(figure for figure in section.figures() if figure.kind == "heat")
    for i in range(3):
        assert heat.values[i][i] is None
        for j in range(i):
            assert heat.values[i][j] + heat.values[j][i] == pytest.approx(1)
    assert len({figure.key for figure in section.figures()}) == len(section.figures()) == 6
    assert all(method.source for method in section.methods())


def test_strengths_agree_with_the_fit_of_the_rows(exchanged):
    """Each model has the strength that a fit of its metric's rows gives; they average 0."""
    section = built(exchanged)
    rows = exchanged.comparisons
    for metric in ("humanness", "preference"):
        expected = comparison_strengths(rows[(rows["metric"] == metric).to_numpy()])
        by_name = dict(zip(("apple", "pear", "plum"), expected.models, strict=True))
        own = [model for model in section.models if model.metric == metric]
        assert sum(model.strength.estimate for model in own) == pytest.approx(0, abs=1e-9)
        for model in own:
            assert model.strength.estimate == pytest.approx(by_name[model.model].estimate)
            assert model.strength.ci_low == pytest.approx(by_name[model.model].ci_low)


def test_our_own_records():
    """Judged pairs and turn-by-turn choices stand apart; who was shown first is known."""
    section = build(tables([*make_pairs({"a": 0.7, "b": 0.4}), *make_choices({"a": 0.7, "b": 0.4})]), Options())
    kinds = {(pair.technique, pair.kind) for pair in section.pairs}
    assert {kind for _, kind in kinds} == {"turn", "dialogue"}
    assert section.first_shown


def test_verdicts_that_both_are_bad_are_ties():
    """A verdict on two bad partners is counted as a tie, and said."""
    records = [make_verdict(f"d{i}", "both_bad" if i < 2 else "a", worker=f"w{i}") for i in range(6)]
    section = build(tables(records), Options())
    verdict = next(pair for pair in section.pairs if pair.kind == "verdict")
    assert (verdict.both_bad, verdict.ties, verdict.wins_a + verdict.wins_b) == (2, 2, 4)
    assert any("raters called both bad 2 times" in remark for remark in section.remarks)


def test_nothing_compared():
    """No comparisons, no section."""
    assert build(tables([]), Options()) is None


def test_only_ties(tmp_path):
    """Nothing decided: said in words, None in the numbers."""
    frame = comparisons_frame({("a", "b"): 0.5}, n=20).assign(winner="tie")
    section = build(exchange_tables(tmp_path, {"comparisons": frame}), Options())
    assert section.pairs[0].win_rate.estimate is None
    assert section.pairs[0].paper.p_value == section.pairs[0].win_rate.p_value == 1.0
    assert "ties" in section.headline
    assert not section.figures()


def test_one_worker(tmp_path):
    """A single worker gives a rate but no interval, and the section says so."""
    frame = comparisons_frame({("a", "b"): 0.8}, n=30, workers=1)
    section = build(exchange_tables(tmp_path, {"comparisons": frame}), Options())
    pair = section.pairs[0]
    assert pair.win_rate.estimate is not None
    assert (pair.win_rate.ci_low, pair.win_rate.p_value) == (None, None)
    assert any("too few" in remark for remark in section.remarks)
    assert "95 %" not in section.headline


def test_independent_and_clustered_answers_that_disagree(tmp_path):
    """Three workers with one opinion each make a tiny binomial p: the section says which to believe."""
    frame = comparisons_frame({("a", "b"): 0.5}, n=90, workers=1, tie=0.0)
    frame["worker_id"] = [f"w{i % 3}" for i in range(90)]
    frame["winner"] = ["b" if i % 3 == 0 else "a" for i in range(90)]
    section = build(exchange_tables(tmp_path, {"comparisons": frame}), Options())
    pair = section.pairs[0]
    assert pair.paper.p_value < 0.05 < pair.win_rate.p_value
    assert any("Rely on the second result" in remark for remark in section.remarks)


def test_few_dialogues_that_are_judged_again_and_again(tmp_path):
    """Many workers agree on three dialogues a model: the headline counts the dialogues too, and the section says why."""
    frame = comparisons_frame({("a", "b"): 0.5}, n=90, workers=30, tie=0.0)
    frame["dialogue_a"] = [f"{model}{i % 3}" for i, model in enumerate(frame["model_a"])]
    frame["dialogue_b"] = [f"{model}{i // 3 % 3}" for i, model in enumerate(frame["model_b"])]
    of_a = frame["dialogue_a"].where(frame["model_a"] == "a", frame["dialogue_b"])
    frame["winner"] = ["a" if name in ("a0", "a1") else "b" for name in of_a]
    section = build(exchange_tables(tmp_path, {"comparisons": frame}), Options())
    pair = section.pairs[0]
    assert pair["p_worker"] == pair["p_worker_holm"] < 0.05 < pair["p_clustered"]
    assert pair["ci_low"] < 0.5 < pair["ci_high"], "the interval says what its p says"
    assert pair["dialogue_low"] < 0.5 < pair["dialogue_high"]
    assert any("significant for these dialogues" in remark for remark in section.remarks)
    assert any(remark.startswith("The answer is about these 6 dialogues") for remark in section.remarks)
    assert "they are statistically tied" in section.headline
    assert "Dialogues judged by several raters" in [method.name for method in section.methods()]


def test_answers_to_shared_questions_are_said_to_be_clustered_by_question(tmp_path):
    """Where dialogues share their start, the table, its notes, the methods and the summary say question."""
    frame = comparisons_frame({("a", "b"): 0.5}, n=90, workers=30, tie=0.0)
    tables = exchange_tables(tmp_path, {"comparisons": frame})
    asked = [f"q{i % 9}" for i in range(len(frame))]
    section = build(replace(tables, comparisons=tables.comparisons.assign(start=asked)), Options())
    table = section.data_tables()[0]
    labels = {column.key: column.label for column in table.columns}
    assert (labels["p_dialogue"], labels["p_dialogue_holm"]) == ("p, by question alone", "p, by question alone, Holm")
    assert any("and by question if several raters" in note for note in table.notes)
    assert any("about these 9 questions: with other questions, it" in remark for remark in section.remarks)
    assert "Questions judged by several raters" in [method.name for method in section.methods()]
    assert [line.by_question for summary in section.summary() for line in summary.pairs] == [True]


def test_the_answer_tells_the_order_and_the_p_that_decides(tmp_path):
    """Of three models: how often each won, which pairs differ, and Holm's p, not the smaller one without it."""
    frame = comparisons_frame({("a", "b"): 0.8, ("a", "c"): 0.72, ("b", "c"): 0.5}, n=90, workers=15)
    section = build(exchange_tables(tmp_path, {"comparisons": frame}), Options())
    rates = {one.model: one.win_rate.estimate for one in section.models}
    order = sorted(rates, key=rates.get, reverse=True)
    assert ", ".join(f"{name} {100 * rates[name]:.0f} %" for name in order) in section.headline
    apart = [pair for pair in section.pairs if pair.win_rate.p_decides < 0.05]
    assert apart
    assert all(f"{pair.model_a} from {pair.model_b}" in section.headline for pair in apart)
    assert (
        "2 of 3 pairs of models differ after Holm's correction: a is ahead of both others (a from " in section.headline
    )
    middle = build(
        exchange_tables(
            tmp_path,
            {"comparisons": comparisons_frame({("a", "b"): 0.62, ("a", "c"): 0.5, ("b", "c"): 0.5}, n=90, workers=15)},
        ),
        Options(),
    )
    best = min(middle.pairs, key=lambda pair: pair.win_rate.p_decides)
    assert best.win_rate.p_decides > best.win_rate.p_value
    assert (
        f"{format_p(best.win_rate.p_decides)} after Holm's correction ({format_p(best.win_rate.p_value)} without)"
        in (middle.headline)
    )


def test_intervals_of_several_pairs_are_said_to_stand_by_themselves(exchanged):
    """The figure draws them at 95 % each, while the p are corrected."""
    figure = built(exchanged).figures()[0]
    assert "not corrected for several pairs" in figure.title


def test_one_answer_from_turns_is_not_told_as_two():
    """The headline says that it is about the turns of another section; of finished dialogues there is no such thing."""
    section = build(tables(make_choices({"a": 0.7, "b": 0.4})), Options())
    assert "Cite “Turn by turn”. This section tests the same answers" in section.headline
    assert "ties left out, so p may differ" in section.headline
    assert "once more" not in build(tables(make_pairs({"a": 0.7, "b": 0.4})), Options()).headline


def test_both_bad_is_counted_only_where_it_can_be_said(exchanged):
    """Of turns and of tables from elsewhere it is unknown, which is not 0; of verdicts it may be 0."""
    assert {pair.both_bad for pair in built(exchanged).pairs} == {None}
    assert {pair.both_bad for pair in build(tables(make_choices({"a": 0.7, "b": 0.4})), Options()).pairs} == {None}
    verdicts = build(tables([make_verdict(f"d{i}", "a", worker=f"w{i}") for i in range(4)]), Options())
    assert {pair.kind: pair.both_bad for pair in verdicts.pairs}["verdict"] == 0


def test_heads_of_columns_say_which_p_they_are(exchanged):
    """No two alike, none that refers to its neighbour; the note names what is there."""
    table = built(exchanged).data_tables()[0]
    heads = [column.label for column in laid_out(table).columns]
    assert len(heads) == len(set(heads))
    assert not [head for head in heads if head in ("Holm", "Holm of it")]
    assert not any("From and to" in note for note in table.notes)


def test_cells_of_shares_are_cut():
    """Only shares, and only then with a note."""
    table = table_of("t", "T", [Ends(x=1.04, y=1.5), Ends(x=-0.04, y=-2.0)])
    assert [tuple(row.values()) for row in table.rows] == [(1.0, 1.5), (0.0, -2.0)]
    assert CUT in table.notes
    assert table_of("t", "T", [Ends(x=0.5, y=9.0)]).notes == ()


class Ends(Row):
    x: Annotated[float, Column("X", "share")]
    y: Annotated[float, Column("Y")]


class Curve(Row):
    points: Annotated[dict[str, Result], interval_keys("survival", "survival", path="*")]


def test_a_star_stands_for_every_name():
    """Results of a mapping are published by their names, and a table leaves out what a row lacks."""
    curve = Curve(points={"2": Result(name="S(2)", estimate=0.5, ci_low=0.4, n=9, method="count")})
    assert curve.model_dump() == {"survival": {"2": 0.5}, "survival_low": {"2": 0.4}, "survival_high": {"2": None}}
    columns = (("x", "X", "number"), ("name", "Name", "text"))
    assert [dict(row) for row in row_table("t", "T", columns, [{"x": 1, "other": 2}, {}]).rows] == [
        {"x": 1},
        {"x": None},
    ]


def verdicts(given, models=("m1", "m2"), prefix="d"):
    """A verdict of each of several workers, in a round."""
    return [
        make_verdict(f"{prefix}{i}", verdict, worker=f"w{i % 12}", models=models) for i, verdict in enumerate(given)
    ]


def judged(winners, *, left="a", right="b", prefix="j", **fields):
    """A judgement of two finished dialogues by each of several workers, in a round; ``winners``: first, second or tie."""
    return [
        make_pair(f"{prefix}{i}", left, right, side, worker=f"w{i % 10}", item=f"{prefix}-item{i}", **fields)
        for i, side in enumerate(winners)
    ]


def test_verdicts_by_hand():
    """9 for m1, 3 for m2, 2 ties, 1 both bad: 9 of 12 decided; m1 always stood first."""
    section = build(tables(verdicts(["a"] * 9 + ["b"] * 3 + ["tie"] * 2 + ["both_bad"])), Options())
    (pair,) = section.pairs
    assert (pair.wins_a, pair.wins_b, pair.ties, pair.both_bad, pair.n) == (9, 3, 3, 1, 15)
    assert (pair.win_rate.estimate, pair.win_rate.n) == (0.75, 12)
    assert pair.paper.p_value == binomial_p(9, 12)
    (first,) = section.first_shown
    assert (first.result.estimate, first.result.n) == (0.75, 12)


def test_sides_are_told_from_models():
    """Half of the time m2 stands left, and is “a”: m1 wins all, and the side says nothing."""
    section = build(tables(verdicts(["a"] * 6) + verdicts(["b"] * 6, models=("m2", "m1"), prefix="e")), Options())
    (pair,) = section.pairs
    assert (pair.model_a, pair.wins_a, pair.wins_b) == ("m1", 12, 0)
    assert (section.first_shown[0].result.estimate, section.first_shown[0].result.n) == (0.5, 12)


def test_the_side_that_is_always_chosen_is_told():
    """Always the left one, whoever that is: no model is better, and the side is all that counts."""
    section = build(tables(judged(["first"] * 15) + judged(["first"] * 15, left="b", right="a", prefix="k")), Options())
    assert section.pairs[0].win_rate.estimate == 0.5
    assert (section.first_shown[0].result.estimate, section.first_shown[0].result.n) == (1.0, 30)
    assert any("the model shown first won 100 % of decided comparisons" in remark for remark in section.remarks)


def test_metrics_and_settings_are_apart():
    """A group each; of a form with three metrics each is counted once."""
    asked = dict(zip(METRICS, ("first", "second", "first"), strict=True))
    section = build(tables(judged([asked] * 4) + judged(["second"] * 3, prefix="h", setting="human_bot")), Options())
    assert {(pair.setting, pair.metric): (pair.wins_a, pair.wins_b) for pair in section.pairs} == {
        ("human_bot", "preference"): (0, 3),
        ("self_chat", "humanness"): (0, 4),
        ("self_chat", "interestingness"): (4, 0),
        ("self_chat", "preference"): (4, 0),
    }


def test_a_family_is_the_pairs_of_one_setting_and_metric():
    """Three pairs of self-chats are one family, the pair of human–bot dialogues is alone; both are named, with counts."""
    records = make_pairs({"a": 1, "b": 2, "c": 4}) + make_pairs({"a": 1, "b": 1}, setting="human_bot")
    section = build(tables(records), Options())
    (alone,) = (pair for pair in section.pairs if pair.setting == "human_bot")
    together = [pair for pair in section.pairs if pair.setting == "self_chat"]
    assert (alone.win_rate.p_decides, alone["family_tests"]) == (alone.win_rate.p_value, 1)
    for tests in ([pair.win_rate for pair in together], [pair.paper for pair in together]):
        smallest = min(tests, key=lambda test: test.p_value)
        assert smallest.p_holm == pytest.approx(min(1, 3 * smallest.p_value))
    assert {pair["family"] for pair in together} == {"pw_dialog, self_chat, preference, finished dialogues"}
    assert {pair["family_tests"] for pair in together} == {3}
    (method,) = (method for method in section.methods() if method.name == "Holm's correction")
    assert "pw_dialog, self_chat, preference, finished dialogues (3 tests)" in method.text


def test_a_model_is_summed_over_its_opponents():
    """Wins of all models are as many as comparisons that were decided."""
    records = verdicts(["a", "b", "a"] * 4) + verdicts(["a"] * 7 + ["b"] * 5, models=("m2", "m3"), prefix="e")
    section = build(tables(records), Options())
    (m2,) = (model for model in section.models if model.model == "m2")
    assert (m2.wins, m2.losses) == (4 + 7, 8 + 5)
    assert sum(model.wins for model in section.models) == sum(pair.wins_a + pair.wins_b for pair in section.pairs)


def test_reuse_counts_how_often_each_dialogue_was_judged():
    """a-1 three times, a-2 once, against four of b."""
    ids = [("a-1", "b-1"), ("a-1", "b-2"), ("a-1", "b-3"), ("a-2", "b-4")]
    records = [make_pair(f"j{i}", "a", "b", "first", worker=f"w{i}", dialogues=pair) for i, pair in enumerate(ids)]
    section = build(tables(records), Options())
    rows = {row.model: (row.dialogues, row.judgements, row.mean, row.most) for row in section.reuse}
    assert rows == {"a": (2, 4, 2.0, 3), "b": (4, 4, 1.0, 1)}
    assert [row["model"] for row in section.data_tables()[-1].rows] == ["a"], "only what was shown again"


def test_attention_checks_and_unfinished_judgements_change_no_number():
    """Those that were left are told; a check has no answer of its own."""
    good = judged(["first"] * 9 + ["second"] * 3)
    more = [
        make_pair("g1", "x", "y", "second", expected={"preference": "first"}, worker="w1"),
        make_pair("u1", "a", "b", "second", end="left"),
        make_pair("u2", "a", "b", "second", end="failed"),
    ]
    one, other = build(tables(good), Options()), build(tables(good + more), Options())
    assert one == other
    answered = make_pair("u3", "a", "b", "second").model_copy(update={"status": "failed"})
    left = build(tables([*good, answered]), Options())
    assert left.pairs == one.pairs
    assert left.remarks[-1].startswith("1 comparison left out")


def test_a_verdict_that_was_not_given_is_none():
    """An unfinished dialogue has none; one that was given before the dialogue was left does not count."""
    nothing = make_verdict("d1", "a").model_copy(update={"verdict": None, "verdict_model": None, "status": "partial"})
    assert build(tables([nothing]), Options()) is None
    given = tables([make_verdict("d1", "a", status="partial")])
    assert build(given, Options()) is None
    assert build(taken_as_finished(given), Options()).pairs[0].n == 1, "unless it is asked for"


@pytest.mark.parametrize(
    ("records", "words"),
    [
        (
            verdicts(["a"] * 22 + ["b"] * 2),
            "m1 won 92 % of the decided comparisons with m2, preference (arena,",
        ),
        (judged(["first", "second"] * 12), "a won 50 % of the decided comparisons with b"),
        (verdicts(["tie", "both_bad"]), "All 2 comparisons are ties: nothing distinguishes the models."),
        (judged(["first"]), "; no interval can be given, p cannot be estimated."),
    ],
)
def test_the_headline_claims_no_more_than_the_data(records, words):
    """Clear, equal, all ties, one worker."""
    assert words in build(tables(records), Options()).headline


def test_the_summary_is_the_rows(exchanged):
    """One of each metric; its models and pairs are the very numbers of the rows, with the leader first."""
    section = built(exchanged)
    summaries = section.summary()
    assert [summary.metric for summary in summaries] == ["humanness", "preference"]
    for summary in summaries:
        rows = {(row.model_a, row.model_b): row for row in section.pairs if row.metric == summary.metric}
        assert len(summary.pairs) == len(rows) == 3
        for line in summary.pairs:
            row = rows.get((line.first, line.second)) or rows[line.second, line.first]
            assert line.first == (row.model_a if row.wins_a >= row.wins_b else row.model_b)
            assert line.gap == abs(row["lead_a"]) == pytest.approx(abs(2 * row.win_rate.estimate - 1))
            assert line.low < line.gap < line.high
            assert (line.p_paper, line.p_decides) == (row["p_value"], row["p_clustered_holm"])
            assert (line.family, line.family_tests) == (str(row.group), 3)
        rates = {row.model: row["win_rate"] for row in section.models if row.metric == summary.metric}
        assert {line.model: line.estimate for line in summary.models} == rates
        assert summary.verdict.startswith("Win rates against")
    assert {summaries[0].model_table, summaries[0].pair_table} <= {table.key for table in section.data_tables()}


def test_the_summary_of_two_models_has_both():
    """Each is the mirror of the other; the better one first."""
    section = build(tables(judged(["second"] * 9 + ["first"] * 3)), Options())
    (summary,) = section.summary()
    assert "Holm" not in summary.verdict, "one test needs no correction"
    assert not [method for method in section.methods() if "Holm" in method.name]
    assert [(line.model, line.estimate, line.n, line.unit) for line in summary.models] == [
        ("b", 0.75, 12, "decided judgements"),
        ("a", 0.25, 12, "decided judgements"),
    ]
    assert summary.models[0].low == pytest.approx(1 - summary.models[1].high)


def test_turns_that_another_section_tells_are_not_summed_up_twice():
    """Choices of turns stand in the summary of turns; judged dialogues only here."""
    assert build(tables(make_choices({"a": 0.7, "b": 0.4})), Options()).summary() == []
    both = build(tables([*make_pairs({"a": 0.7, "b": 0.4}), *make_choices({"a": 0.7, "b": 0.4})]), Options())
    assert [summary.technique for summary in both.summary()] == ["pw_dialog"]


def test_a_gap_that_proves_nothing_is_told_as_such():
    """Four of five by three workers, and a tie: nobody is ahead, the interval is rough, and the tie is told."""
    section = build(tables(judged(["first"] * 4 + ["second", "tie"])), Options())
    (summary,) = section.summary()
    assert summary.verdict.endswith("; they are statistically tied.")
    assert "(1 tie left out)" in summary.verdict
    assert "Fewer than 10 raters: take the interval as a rough guide." in summary.remarks
    assert not [figure for figure in section.figures() if "pw_dialog" in figure.title], "there is but one group"


def test_models_that_did_not_meet_all_others_have_not_won_against_them(tmp_path):
    """a wins most often, but met the weak ones only; b met mostly c, the next best: strengths lead, and it is said why."""
    often = {("a", "x"): 0.75, ("a", "y"): 0.75, ("b", "c"): 0.6, ("x", "y"): 0.5}
    seldom = {("b", "x"): 0.93, ("c", "x"): 0.9}
    only = pd.concat([comparisons_frame(often, n=240), comparisons_frame(seldom, n=30, seed=1)])
    section = build(exchange_tables(tmp_path, {"comparisons": only}), Options())
    rates = {row.model: row.win_rate.estimate for row in section.models}
    assert rates["a"] > rates["b"]
    assert [row.model for row in section.models][:2] == ["b", "c"]
    (answer,) = section.summary()
    assert told_leader(answer).best.leader == answer.models[0].model == "b"
    assert "all other models" not in answer.verdict
    assert "Win rates against the models that each model met (not all others)" in answer.verdict
    (why,) = [remark for remark in answer.remarks if "Strengths account for" in remark]
    assert why.startswith("a won ")
    assert "the former met weaker models" in why


def test_all_others_is_said_where_all_met(exchanged):
    """Three fruits, every two compared."""
    section = built(exchanged)
    assert "Win rates against all other models, ties excluded, for " in section.summary()[0].verdict


def test_of_reused_dialogues_the_pairs_tell_who_may_be_the_best(tmp_path):
    """Guards a model called worse by worker alone, where by worker and dialogue no pair differs; the column says by what."""
    rng = np.random.default_rng(0)
    # Six dialogues of each model, which all workers judge: what they say is of these dialogues.
    good = {
        (model, d): chance + 0.8 * rng.normal()
        for model, chance in (("1", 0), ("b", 0.2), ("h", 1.5))
        for d in range(6)
    }
    rows = []
    for number in range(900):
        a, b = (("1", "b"), ("1", "h"), ("b", "h"))[number % 3]
        i, j = rng.integers(0, 6, 2)
        won = rng.random() < 1 / (1 + np.exp(good[b, j] - good[a, i]))
        sides = {"model_a": a, "model_b": b, "dialogue_a": f"{a}-{i}", "dialogue_b": f"{b}-{j}"}
        rows.append({**sides, "worker_id": f"w{number % 20}", "winner": a if won else b})
    frame = pd.DataFrame(rows).drop_duplicates(["worker_id", "dialogue_a", "dialogue_b"])
    frame = frame.assign(metric="preference", item_id=[f"i{row}" for row in range(len(frame))], seconds=20.0)
    document = build_report(exchange_tables(tmp_path, {"comparisons": frame}), Options(draws=20))
    (summary,) = document.summaries()
    assert all(pair.by_dialogue for pair in summary.pairs)
    assert {*summary.best.told} == {pair.second for pair in summary.pairs if pair.differs} == set()
    assert "No model leads: all are statistically tied; h has the best estimate" in summary.verdict
    labels = [column.label for column in pairs_table(summary).columns]
    assert "p, clustered" in labels
    assert "p, by rater" not in labels


def test_models_out_of_the_order_of_their_shares_are_said_to_be_in_the_order_of_strength() -> None:
    """A model that beat weak models only has a larger share than one above it: the table itself says why."""
    met = [("a", "b", 45, 15), ("b", "c", 57, 3), ("a", "c", 5, 1), ("c", "d", 39, 21)]
    winners = [(a, b, w) for a, b, wins, losses in met for w in [a] * wins + [b] * losses]
    vote = {"metric": "m", "technique": "t"}
    rows = [
        {**vote, "item_id": f"i{n}", "worker_id": f"w{n % 12}", "model_a": a, "model_b": b, "winner": w}
        for n, (a, b, w) in enumerate(winners)
    ]
    empty = {name: from_rows(name, []) for name in ("turns", "dialogues")}
    comparisons = with_dialogues(from_rows("comparisons", rows))
    (answer,) = build_report(Tables(comparisons=comparisons, **empty), Options(draws=100)).summaries()
    shares = [line.estimate for line in answer.models if line.estimate is not None]
    assert shares != sorted(shares, reverse=True)
    assert "in the order of strength" in models_table(answer).title
    even = answer.model_copy(update={"models": sorted(answer.models, key=lambda line: -(line.estimate or 0))})
    assert "strength" not in models_table(even).title
