"""The pairwise report: right numbers, plain and honest sentences, all that is printed is in the JSON."""

from __future__ import annotations

import json
import re
from io import StringIO

import pandas as pd
import pytest
from make_records import QUESTION, make_record, make_study, make_turn
from rich.console import Console

from parlai_humaneval.analysis.reports.pairwise import PairwiseReport, pairwise_report, render
from parlai_humaneval.statistics.shares import binomial_p
from parlai_humaneval.statistics.wording import p_cell, percent, percent_range, seconds_words
from parlai_humaneval.tables.columns import from_rows
from parlai_humaneval.tables.from_records import Tables, tables

SHOWN = ("retrieval", "eliza")


def printed(report: PairwiseReport, width: int = 80) -> str:
    stream = StringIO()
    render(report, Console(file=stream, width=width))
    return stream.getvalue()


def dialogue(name: str, wins: str, worker: str, **more):
    """A dialogue from its winners by turn: “r” retrieval, “e” eliza, “-” not answered."""
    names = {"r": "retrieval", "e": "eliza", "-": None}
    turns = [make_turn(t, SHOWN, names[letter]) for t, letter in enumerate(wins, start=1)]
    return make_record(name, turns, worker=worker, **more)


@pytest.fixture
def small() -> PairwiseReport:
    """Three complete dialogues of three workers, one partial, one failed, one running."""
    records = [
        dialogue("d1", "errrrr", "w1"),
        dialogue("d2", "rrreee", "w2"),
        dialogue("d3", "rrrrre", "w3"),
        dialogue("d4", "ee-", "w4", status="partial"),
        dialogue("d5", "", "w5", status="failed"),
        dialogue("d6", "r-", "w1", status="running"),
    ]
    return pairwise_report(tables(records))


def test_counts_of_dialogues_turns_and_workers(small):
    """What there is, whether it counts or not."""
    assert small.dialogue_count.model_dump() == {"complete": 3, "partial": 1, "failed": 1, "running": 1}
    assert small.turn_count.model_dump() == {"complete": 21, "incomplete": 2}
    assert small.workers == 5
    assert small.median_turn_seconds == 12.5
    assert small.median_dialogue_seconds == 400
    assert small.questions == {"preference": [QUESTION]}


def test_win_rates_over_all_turns_and_from_the_second(small):
    """5:1, 3:3 and 5:1, worked by hand; without the first turn 5:0, 2:3 and 4:1."""
    (pair,) = small.pairs
    whole = pair.win_rates["retrieval"].all_turns
    assert (whole.wins, whole.losses, whole.lin.estimate, whole.wta.estimate) == (13, 5, 13 / 18, 2.5 / 3)
    assert whole.sqr.estimate == pytest.approx((25 / 26 + 1 / 2 + 25 / 26) / 3)
    later = pair.win_rates["retrieval"].turns_2_to_last
    assert (later.first_turn, later.last_turn, later.n_turns) == (2, 6, 15)
    assert later.lin.estimate == pytest.approx(11 / 15)
    assert later.sqr.estimate == pytest.approx((1 + 4 / 13 + 16 / 17) / 3)
    assert later.wta.estimate == pytest.approx(2 / 3)
    assert later.binomial_p == pytest.approx(binomial_p(11, 15))
    assert pair.p_value == pytest.approx(binomial_p(13, 18))


def test_the_other_model_has_the_rest(small):
    """eliza's rates are 1 − retrieval's, in every variant and interval."""
    (pair,) = small.pairs
    assert pair.win_rate_a == pair.win_rates["eliza"].all_turns.lin.estimate
    for part in ("all_turns", "turns_2_to_last"):
        one, other = (getattr(pair.win_rates[name], part) for name in ("retrieval", "eliza"))
        for kind in ("lin", "sqr", "wta"):
            a, b = getattr(one, kind), getattr(other, kind)
            assert (a.estimate, a.ci_low, a.bootstrap_high) == pytest.approx(
                (1 - b.estimate, 1 - b.ci_high, 1 - b.bootstrap_low)
            )
            assert a.ci_low <= a.estimate <= a.ci_high


def test_by_turn_and_by_position(small):
    """Turn 1 went 2:1; retrieval always stood first here, so that position and model coincide."""
    (pair,) = small.pairs
    first = pair.by_turn[0]
    assert (first.turn, first.n, first.wins) == (1, 3, {"eliza": 1, "retrieval": 2})
    assert [row.selected for row in pair.by_position] == [13, 5]
    assert pair.by_position[0].share.estimate == pytest.approx(13 / 18)
    assert pair.by_position[0].win_rates == {"eliza": None, "retrieval": pytest.approx(13 / 18)}
    assert pair.by_position[1].win_rates == {"eliza": pytest.approx(5 / 18), "retrieval": None}


def test_unfinished_dialogues_are_left_out_and_shown_beside(small):
    """Three answered turns of two unfinished dialogues; with them it would be 14 of 21."""
    (pair,) = small.pairs
    assert (pair.unfinished.turns, pair.unfinished.dialogues, pair.n_turns) == (3, 2, 18)
    assert pair.unfinished.win_rates_with_them["retrieval"] == pytest.approx(14 / 21)
    assert (
        "3 answered turns of 2 unfinished dialogues left out; with them retrieval would have won 67 %." in pair.remarks
    )


def test_unfinished_dialogues_count_when_asked_for():
    """`include_partial` takes the answered turns in, and says so."""
    records = [dialogue("d1", "rrrrre", "w1"), dialogue("d2", "ee-", "w2", status="partial")]
    (pair,) = pairwise_report(tables(records), include_partial=True).pairs
    assert (pair.n_turns, pair.n_dialogues) == (8, 2)
    assert "2 answered turns of 1 unfinished dialogue counted as well." in pair.remarks


def test_headline_of_a_clear_difference():
    """Winner, share, turns, interval, workers and p in one sentence."""
    report = pairwise_report(tables(make_study(20, 1, strength=0.8)))
    assert re.fullmatch(
        r"retrieval was preferred to eliza in \d\d % of 120 turns "
        r"\(95 % interval \d\d–\d\d %, clustered by 20 workers; p < \.0001\)\.",
        report.headline,
    )


def test_headline_where_the_models_cannot_be_told_apart():
    """No winner is announced when p is .05 or more. By hand: wins 4, 2, 5, 3 of 6; t = .7746 with 3 df."""
    won = ("eeeerr", "rrrree", "eeeeer", "rrreee")
    records = [dialogue(f"d{i}", wins, f"w{i}", metric="humanness") for i, wins in enumerate(won)]
    assert pairwise_report(tables(records)).headline == (
        "eliza and retrieval cannot be told apart (humanness): eliza was found more human than retrieval in "
        "58 % of 24 turns (95 % interval 24–93 %, clustered by 4 workers; p = .50)."
    )


def test_disagreement_of_independent_and_clustered_answers_is_said():
    """Two thirds of 12 workers always choose retrieval: 48 of 72 turns are not 72 opinions."""
    records = [dialogue(f"d{i}", "rrrrrr" if i % 3 else "eeeeee", f"w{i}") for i in range(12)]
    (pair,) = pairwise_report(tables(records)).pairs
    assert pair.p_value < 0.05 < pair.p_clustered
    assert "cannot be told apart" in pair.headline
    assert any("answers of one worker resemble each other" in remark for remark in pair.remarks)


def test_agreement_is_not_remarked_as_disagreement():
    """No warning where both tests say the same."""
    (pair,) = pairwise_report(tables(make_study(20, 1, strength=0.8))).pairs
    assert not any("Taken as independent" in remark for remark in pair.remarks)


def test_several_metrics_are_corrected_and_each_has_its_sentence():
    """Holm over the three metrics: smallest p thrice, and the words say so."""
    records = [
        r
        for i, m in enumerate(("preference", "humanness", "interestingness"))
        for r in make_study(12, 1, metric=m, seed=i)
    ]
    report = pairwise_report(tables(records))
    smallest = min(report.pairs, key=lambda pair: pair.p_clustered)
    assert smallest.p_holm == pytest.approx(min(1, 3 * smallest.p_clustered))
    assert all(pair.headline in report.headline for pair in report.pairs)
    assert report.headline.count("after Holm's correction") == 3


def test_a_position_bias_is_said():
    """Raters who take the upper card three times in four are remarked, whoever wins."""
    (pair,) = pairwise_report(tables(make_study(20, 1, strength=0.5, first_bias=0.25))).pairs
    assert pair.by_position[0].p_value < 0.001
    assert any(remark.startswith("Position matters: the reply shown first was chosen in") for remark in pair.remarks)


def test_one_worker():
    """A share without a claim of how sure it is."""
    report = pairwise_report(tables([dialogue("d1", "rrrrre", "w1")]))
    (pair,) = report.pairs
    assert pair.ci_low is pair.p_clustered is None
    assert report.headline == (
        "retrieval was preferred to eliza in 83 % of 6 turns; too few workers for an interval and a p-value "
        "(at least 3 are needed)."
    )


def test_an_even_score_favours_nobody():
    """3 : 3 in every dialogue."""
    (pair,) = pairwise_report(tables([dialogue(f"d{i}", "rerere", f"w{i}") for i in range(4)])).pairs
    assert pair.favoured is None
    assert pair.headline.startswith(
        "eliza and retrieval cannot be told apart (preference): each was chosen in 50 % of 24"
    )


def test_all_ties():
    """Both replies chosen in every turn: no estimate, no error."""
    record = dialogue("d1", "rrr", "w1")
    for turn in record.turns:
        turn.selected = [candidate.candidate_id for candidate in turn.candidates]
    report = pairwise_report(tables([record]))
    (pair,) = report.pairs
    assert (pair.ties, pair.win_rate_a, pair.p_value) == (3, None, 1)
    assert report.headline == "eliza and retrieval cannot be told apart (preference): every one of 3 turns was a tie."
    assert "–" in printed(report)


def test_one_answered_turn_says_nothing_of_later_ones():
    """No p of 1, no “0 : 0 : 0” and no turns “2–1” where there is nothing: dashes, and why."""
    record = dialogue("d1", "r--", "w1", status="partial")
    report = pairwise_report(tables([record]), include_partial=True)
    lines = printed(report).splitlines()
    assert any("All turns" in line and "Turns from 2 on" in line for line in lines)
    (won,) = (line.split() for line in lines if "won : lost" in line)
    (clustered,) = (line.split() for line in lines if "p, clustered" in line)
    (paper,) = (line.split() for line in lines if "p, binomial" in line)
    assert (won[-1], clustered[-2:], paper[-2:]) == ("–", ["–", "–"], ["1", "–"])
    assert "No answer that counts was given from turn 2 on" in " ".join(printed(report).split())


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([], "No turn has been answered yet"),
        ([dialogue("d1", "-", "w1", status="running")], "No turn has been answered yet"),
        ([dialogue("d1", "rr-", "w1", status="partial")], "No turn that counts has compared eliza and retrieval yet"),
    ],
)
def test_nothing_to_count_yet(records, words):
    """An empty or just begun task is reported, not an error."""
    report = pairwise_report(tables(records))
    assert words in report.headline
    assert words in " ".join(printed(report).split())


@pytest.mark.parametrize(
    "records",
    [
        [*make_study(12, 2, first_bias=0.1), dialogue("p", "er-", "w1", status="partial")],
        make_study(6, 1) + make_study(6, 1, metric="humanness", seed=2),
        [dialogue("d1", "rrrrrr", "w1"), dialogue("d2", "rrrrrr", "w2")],
        [dialogue("d1", "rrrrre", "w1")],
        [],
    ],
)
def test_everything_printed_is_in_the_json(records):
    """Every number on the screen is one of the JSON's, and every sentence stands there."""
    report = pairwise_report(tables(records))
    data = json.loads(json.dumps(report.model_dump(mode="json"), allow_nan=False))
    known, sentences = set(), []

    def collect(value):
        if isinstance(value, dict):
            for part in value.values():
                collect(part)
        elif isinstance(value, list):
            for part in value:
                collect(part)
        elif isinstance(value, str):
            sentences.append(value)
            known.update(numbers(value))
        elif value is not None:
            as_number = float(value)
            for text in (f"{value:,}", str(value), percent(as_number), p_cell(as_number), seconds_words(as_number)):
                known.update(numbers(text))

    def numbers(text):
        return re.findall(r"\d(?:[\d,]*\d)?(?:\.\d+)?|\.\d+", text.replace("–", " "))

    collect(data)
    screen = printed(report)
    assert set(numbers(screen)) <= known
    flat = " ".join(screen.split())
    for sentence in [
        *(p.headline for p in report.pairs),
        *(r for p in report.pairs for r in p.remarks),
        *report.methods,
    ]:
        assert sentence in sentences
        assert " ".join(sentence.split()) in flat


def test_the_print_holds_the_answer_and_its_tables(small):
    """Names, rates and intervals of the JSON are on the screen, at 80 columns, unbroken."""
    screen = printed(small)
    assert max(len(line) for line in screen.splitlines()) <= 80
    (pair,) = small.pairs
    for part in (pair.win_rates["retrieval"].all_turns, pair.win_rates["retrieval"].turns_2_to_last):
        for kind in ("lin", "sqr", "wta"):
            rate = getattr(part, kind)
            label = {"lin": "Lin", "sqr": "Sqr", "wta": "WTA"}[kind]
            shown = f"{percent(rate.estimate)} +{percent_range(rate.ci_low, rate.ci_high)}"
            assert re.search(f"{label} .*{shown}", screen)
    assert "3 complete, 1 partial, 1 failed, 1 running" in screen
    assert "Turns 2–6" in screen
    assert "13 : 5 : 0" in screen


def test_names_that_look_like_markup_print_as_they_are():
    """A model may be called “[red]x[/red]”; the terminal shows its name."""
    models = ("[red]x[/red]", "y")
    report = pairwise_report(tables(make_study(6, 1, models=models)))
    assert "[red]x[/red]" in printed(report)


def test_same_seed_same_report():
    """A report can be repeated; its seed is in it."""
    data = tables(make_study(9, 2))
    one, other = pairwise_report(data, seed=4), pairwise_report(data, seed=4)
    assert one == other
    assert one.seed == 4


def test_order_of_rows_does_not_matter():
    """A shuffled table gives the same estimates and t intervals."""
    data = tables(make_study(9, 2))
    shuffled = Tables(data.turns, data.dialogues, data.comparisons.sample(frac=1, random_state=1))
    one, other = (pairwise_report(part).pairs[0] for part in (data, shuffled))
    assert (one.win_rate_a, one.ci_low, one.p_clustered) == pytest.approx(
        (other.win_rate_a, other.ci_low, other.p_clustered)
    )
    assert [row.wins for row in one.by_turn] == [row.wins for row in other.by_turn]


def test_a_comparisons_table_from_elsewhere_is_enough():
    """No dialogues, no positions, no turns: rates and tests are still given."""
    rows = [
        {
            "item_id": i,
            "worker_id": f"w{i % 12}",
            "metric": "humanness",
            "model_a": "a",
            "model_b": "b",
            "dialogue_a": f"d{i // 5}",
            "dialogue_b": f"d{i // 5}",
            "winner": "a" if i % 3 else "b",
        }
        for i in range(60)
    ]
    report = pairwise_report(Tables(from_rows("turns", []), from_rows("dialogues", []), from_rows("comparisons", rows)))
    (pair,) = report.pairs
    assert (pair.n_turns, pair.win_rate_a, pair.by_turn) == (60, pytest.approx(40 / 60), [])
    assert "a was found more human than b in 67 % of 60 turns" in printed(report).replace("\n", " ")


def test_comparisons_of_two_dialogues_are_not_turns():
    """A judgment between two finished dialogues belongs to another report."""
    data = tables([dialogue("d1", "rrrrrr", "w1")])
    other = data.comparisons.assign(dialogue_b="d9")
    assert pairwise_report(Tables(data.turns, data.dialogues, other)).pairs == []


def test_ten_thousand_dialogues_take_seconds():
    """No pass over rows in Python: 60,000 turns of 300 workers are reported in under ten seconds."""
    comparisons = tables(make_study(20, 2)).comparisons
    many = pd.concat(
        [
            comparisons.assign(
                dialogue_a=comparisons["dialogue_a"] + f"-{i}", worker_id=comparisons["worker_id"] + f"-{i % 15}"
            )
            for i in range(250)
        ],
        ignore_index=True,
    )
    many["dialogue_b"] = many["dialogue_a"]
    empty = tables([])
    (pair,) = pairwise_report(Tables(empty.turns, empty.dialogues, many)).pairs
    assert pair.n_dialogues == 10_000
