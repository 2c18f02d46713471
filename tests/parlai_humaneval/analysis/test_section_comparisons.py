"""The section on comparisons: its JSON, its words, and tables from anywhere."""

from __future__ import annotations

import json

import pytest
from make_comparisons import comparisons_frame, exchange_tables
from make_judgements import make_pairs
from make_live_records import make_choices, make_verdict

from parlai_humaneval.report.cells import laid_out
from parlai_humaneval.report.rows import CUT, part_table
from parlai_humaneval.report.section import Options, Part
from parlai_humaneval.report.sections.comparisons import build
from parlai_humaneval.statistics.strengths.tables import comparison_strengths
from parlai_humaneval.statistics.wording import p_words
from parlai_humaneval.tables.from_records import Tables, tables

CHANCES = {("apple", "pear"): 0.75, ("apple", "plum"): 0.5, ("pear", "plum"): 0.35}
KEYS = {"model_a", "model_b", "metric", "wins_a", "wins_b", "ties", "win_rate_a", "ci_low", "ci_high", "p_value"}


@pytest.fixture
def exchanged(tmp_path) -> Tables:
    return exchange_tables(tmp_path, {"comparisons": comparisons_frame(CHANCES, metrics=("humanness", "preference"))})


def test_tables_from_elsewhere(exchanged):
    """Only the exchange columns: a row for each pair and metric, with the keys that were promised."""
    section = build(exchanged, Options())
    assert section is not None
    assert [(p.metric, p.model_a, p.model_b) for p in section.pairs] == [
        (metric, *pair) for metric in ("humanness", "preference") for pair in sorted(CHANCES)
    ]
    found = json.loads(section.model_dump_json())
    assert KEYS | {"p_clustered"} <= set(found["pairs"][0])
    for pair in section.pairs:
        assert pair.ci_low < pair.win_rate_a < pair.ci_high
        assert pair.n == pair.wins_a + pair.wins_b + pair.ties == 120
        assert pair.p_clustered_holm >= pair.p_clustered
    assert "apple won" in section.headline
    assert "95 % interval" in section.headline


def test_what_is_shown_holds_together(exchanged):
    """Every column of a table is in every row; a matrix and its mirror sum to 1."""
    section = build(exchanged, Options())
    for table in section.data_tables():
        keys = [column.key for column in table.columns]
        assert all(list(row) == keys for row in table.rows)
    assert {table.key for table in section.data_tables()} == {"comparisons_pairs", "comparisons_models"}
    heat = next(figure for figure in section.figures() if figure.kind == "heat")
    for i in range(3):
        assert heat.values[i][i] is None
        for j in range(i):
            assert heat.values[i][j] + heat.values[j][i] == pytest.approx(1)
    assert len({figure.key for figure in section.figures()}) == len(section.figures()) == 6
    assert all(method.source for method in section.methods())


def test_strengths_agree_with_the_fit_of_the_rows(exchanged):
    """Each model has the strength that a fit of its metric's rows gives; they average 0."""
    section = build(exchanged, Options())
    rows = exchanged.comparisons
    for metric in ("humanness", "preference"):
        expected = comparison_strengths(rows[(rows["metric"] == metric).to_numpy()])
        by_name = dict(zip(("apple", "pear", "plum"), expected.models, strict=True))
        own = [model for model in section.models if model.metric == metric]
        assert sum(model.strength for model in own) == pytest.approx(0, abs=1e-9)
        for model in own:
            assert model.strength == pytest.approx(by_name[model.model].estimate)
            assert model.strength_low == pytest.approx(by_name[model.model].ci_low)


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
    assert any("both were called bad 2 times" in remark for remark in section.remarks)


def test_nothing_compared():
    """No comparisons, no section."""
    assert build(tables([]), Options()) is None


def test_only_ties(tmp_path):
    """Nothing decided: said in words, None in the numbers."""
    frame = comparisons_frame({("a", "b"): 0.5}, n=20).assign(winner="tie")
    section = build(exchange_tables(tmp_path, {"comparisons": frame}), Options())
    assert section.pairs[0].win_rate_a is None
    assert section.pairs[0].p_value == section.pairs[0].p_clustered == 1.0
    assert "ties" in section.headline
    assert not section.figures()


def test_one_worker(tmp_path):
    """A single worker gives a rate but no interval, and the section says so."""
    frame = comparisons_frame({("a", "b"): 0.8}, n=30, workers=1)
    section = build(exchange_tables(tmp_path, {"comparisons": frame}), Options())
    pair = section.pairs[0]
    assert pair.win_rate_a is not None
    assert (pair.ci_low, pair.p_clustered) == (None, None)
    assert any("too few workers" in remark for remark in section.remarks)
    assert "no interval can be given" in section.headline


def test_independent_and_clustered_answers_that_disagree(tmp_path):
    """Three workers with one opinion each make a tiny binomial p: the section says which to believe."""
    frame = comparisons_frame({("a", "b"): 0.5}, n=90, workers=1, tie=0.0)
    frame["worker_id"] = [f"w{i % 3}" for i in range(90)]
    frame["winner"] = ["b" if i % 3 == 0 else "a" for i in range(90)]
    section = build(exchange_tables(tmp_path, {"comparisons": frame}), Options())
    pair = section.pairs[0]
    assert pair.p_value < 0.05 < pair.p_clustered
    assert any("Believe the second" in remark for remark in section.remarks)


def test_few_dialogues_that_are_judged_again_and_again(tmp_path):
    """Many workers agree on three dialogues a model: the section warns that other dialogues might say otherwise."""
    frame = comparisons_frame({("a", "b"): 0.5}, n=90, workers=30, tie=0.0)
    frame["dialogue_a"] = [f"{model}{i % 3}" for i, model in enumerate(frame["model_a"])]
    frame["dialogue_b"] = [f"{model}{i // 3 % 3}" for i, model in enumerate(frame["model_b"])]
    of_a = frame["dialogue_a"].where(frame["model_a"] == "a", frame["dialogue_b"])
    frame["winner"] = ["a" if name in ("a0", "a1") else "b" for name in of_a]
    section = build(exchange_tables(tmp_path, {"comparisons": frame}), Options())
    pair = section.pairs[0]
    assert pair.p_clustered < 0.05 < pair.p_dialogue
    assert any("might come out differently" in remark for remark in section.remarks)


def test_the_answer_tells_the_order_and_the_p_that_decides(tmp_path):
    """Of three models: how often each won, which pairs differ, and Holm's p, not the smaller one without it."""
    frame = comparisons_frame({("a", "b"): 0.8, ("a", "c"): 0.72, ("b", "c"): 0.5}, n=90, workers=15)
    section = build(exchange_tables(tmp_path, {"comparisons": frame}), Options())
    rates = {one.model: one.win_rate for one in section.models}
    order = sorted(rates, key=rates.get, reverse=True)
    assert ", ".join(f"{name} {100 * rates[name]:.0f} %" for name in order) in section.headline
    apart = [pair for pair in section.pairs if pair.p_clustered_holm < 0.05]
    assert apart
    assert all(f"{pair.model_a} from {pair.model_b}" in section.headline for pair in apart)
    middle = build(
        exchange_tables(
            tmp_path,
            {"comparisons": comparisons_frame({("a", "b"): 0.62, ("a", "c"): 0.5, ("b", "c"): 0.5}, n=90, workers=15)},
        ),
        Options(),
    )
    best = min(middle.pairs, key=lambda pair: pair.p_clustered_holm)
    assert best.p_clustered_holm > best.p_clustered
    assert f"{p_words(best.p_clustered_holm)} after Holm's correction ({p_words(best.p_clustered)} without)" in (
        middle.headline
    )


def test_intervals_of_several_pairs_are_said_to_stand_by_themselves(exchanged):
    """The figure draws them at 95 % each, while the p are corrected."""
    figure = build(exchanged, Options()).figures()[0]
    assert "not corrected for several pairs" in figure.title


def test_one_answer_from_turns_is_not_told_as_two():
    """The headline says that it is about the turns of another section; of finished dialogues there is no such thing."""
    section = build(tables(make_choices({"a": 0.7, "b": 0.4})), Options())
    assert "These are the choices told under “Turn by turn” once more" in section.headline
    assert "once more" not in build(tables(make_pairs({"a": 0.7, "b": 0.4})), Options()).headline


def test_both_bad_is_counted_only_where_it_can_be_said(exchanged):
    """Of turns and of tables from elsewhere it is unknown, which is not 0; of verdicts it may be 0."""
    assert {pair.both_bad for pair in build(exchanged, Options()).pairs} == {None}
    assert {pair.both_bad for pair in build(tables(make_choices({"a": 0.7, "b": 0.4})), Options()).pairs} == {None}
    verdicts = build(tables([make_verdict(f"d{i}", "a", worker=f"w{i}") for i in range(4)]), Options())
    assert {pair.kind: pair.both_bad for pair in verdicts.pairs}["verdict"] == 0


def test_heads_of_columns_say_which_p_they_are(exchanged):
    """No two alike, none that refers to its neighbour; the note names what is there."""
    table = build(exchanged, Options()).data_tables()[0]
    heads = [column.label for column in laid_out(table).columns]
    assert len(heads) == len(set(heads))
    assert not [head for head in heads if head in ("Holm", "Holm of it")]
    assert not any("From and to" in note for note in table.notes)


def test_cells_of_shares_are_cut():
    """Only shares, and only then with a note."""
    columns = (("x", "X", "share"), ("y", "Y", "number"))
    table = part_table("t", "T", columns, [Ends(x=1.04, y=1.5), Ends(x=-0.04, y=-2.0)])
    assert [tuple(row.values()) for row in table.rows] == [(1.0, 1.5), (0.0, -2.0)]
    assert CUT in table.notes
    assert part_table("t", "T", columns, [Ends(x=0.5, y=9.0)]).notes == ()


class Ends(Part):
    x: float
    y: float
