"""The section on judges: agreement beside people's, place, length, house; and that no other number knows of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from make_judgements import make_pair
from make_judges import judged, letter
from make_live_records import make_choice, make_rated

from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.render.files import write_document
from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.judges import Judges, build
from parlai_humaneval.schema.records import Rated
from parlai_humaneval.tables.build import judge_tables, tables
from parlai_humaneval.tables.columns import Tables

OPTIONS = Options(draws=200)


def with_judges(records: list[Rated], *lines: Any) -> Tables:
    return replace(tables(records), judges=judge_tables(records, [line for one in lines for line in one]))


def section(records: list[Rated], *lines: Any) -> Judges:
    made = build(with_judges(records, *lines), OPTIONS)
    assert made is not None
    return made


def pairs(choices: dict[str, list[str]]) -> list[Rated]:
    """Item → what each of its raters chose; the dialogues of item 1 are a-1 and b-1."""
    return [
        make_pair(
            f"{item}-{n}", "a", "b", chosen, worker=f"w{n}", dialogues=(f"a-{item}", f"b-{item}"), item=f"i{item}"
        )
        for item, chosen_by in choices.items()
        for n, chosen in enumerate(chosen_by)
    ]


def prefers(model: str) -> Any:
    """A judge that always takes this model, in whatever order."""
    return lambda question: letter([name.startswith(model) for name in question.shown].index(True) + 1)


MIXED = pairs(
    {
        "1": ["first", "first", "first"],
        "2": ["first", "first", "second"],
        "3": ["second", "second", "second"],
        "4": ["second", "first", "first"],
        "5": ["first", "first", "first"],
        "6": ["second", "second", "first"],
    }
)


def test_agreement_stands_beside_that_of_people_and_the_ceiling() -> None:
    """Guards the figures by hand: 11 of 18 people chose a; each item has three pairs of people; the best answers 15."""
    made = section(MIXED, judged(MIXED, prefers("a")))
    (row,) = made.agreement
    assert (row.what, row.n, row.n_things, row.people_things) == ("winner", 36, 6, 6)
    assert row.same.estimate == pytest.approx(11 / 18)
    assert row.people_same is not None
    assert row.people_same.estimate == pytest.approx((3 + 1 + 3 + 1 + 3 + 1) / 18)
    assert row.ceiling is not None
    assert row.ceiling.estimate == pytest.approx(15 / 18)
    assert row.kappa is not None
    assert row.kappa.estimate == pytest.approx(0)  # it says the same of all: beyond chance it agrees with nobody
    assert row.people_kappa is not None
    assert row.people_alpha is not None
    (pair,) = made.pairs
    assert (pair.model_a, pair.model_b, pair.kind) == ("a", "b", "dialogue")
    assert (pair.judge_rate.estimate, pair.people_rate.estimate) == (1.0, pytest.approx(11 / 18))
    assert pair.difference.estimate == pytest.approx(7 / 18)
    assert "people's numbers do not include its answers" in made.headline
    assert "61 %" in made.headline


def test_each_judge_has_figures_of_its_own() -> None:
    """Guards judges from one another: κ by hand of one that follows the majority, beside one that always says the same.

    Of 18 people 11 chose a, and the majority's judge says a for 12: 15 / 18 agree, 174 / 324 by chance.
    """
    most = {"1": "a", "2": "a", "3": "b", "4": "a", "5": "a", "6": "b"}
    follows = judged(MIXED, lambda question: prefers(most[question.unit[1:]])(question), "follows")
    made = section(MIXED, judged(MIXED, prefers("a"), "always"), follows)
    always, majority = made.agreement
    assert [(row.judge, row.n) for row in made.agreement] == [("always", 36), ("follows", 36)]
    assert (always.same.estimate, majority.same.estimate) == (pytest.approx(11 / 18), pytest.approx(15 / 18))
    by_chance = (11 * 12 + 7 * 6) / 18**2
    assert majority.kappa is not None
    assert majority.kappa.estimate == pytest.approx((15 / 18 - by_chance) / (1 - by_chance))
    assert [(row.judge, row.judge_rate.estimate) for row in made.pairs] == [
        ("always", 1.0),
        ("follows", pytest.approx(4 / 6)),
    ]


def test_a_judge_that_agrees_with_all_reaches_the_ceiling() -> None:
    """Guards the ceiling: nobody with one answer for each thing can be above it, and the majority's is there."""
    most = {"1": "a", "2": "a", "3": "b", "4": "a", "5": "a", "6": "b"}
    lines = judged(MIXED, lambda question: prefers(most[question.unit[1:]])(question))
    (row,) = section(MIXED, lines).agreement
    assert row.ceiling is not None
    assert row.same.estimate == pytest.approx(row.ceiling.estimate)
    assert row.kappa is not None
    assert row.kappa.estimate is not None
    assert row.kappa.estimate > 0.5


def test_a_judge_that_always_takes_the_first_is_told_in_words() -> None:
    """Guards against a judge that reads nothing: all first, all changed with the order, and a remark that says so."""
    records: list[Rated] = [make_choice(f"d{n}", [["a"], ["b"]], worker=f"w{n}", setting="soba") for n in range(6)]
    made = section(records, judged(records, lambda question: letter(1)))
    (bias,) = made.bias
    assert (bias.options, bias.chance, bias.first.estimate) == (2, 0.5, 1.0)
    assert bias.changed is not None
    assert (bias.changed.estimate, bias.changed.n) == (1.0, 12)
    assert any("follows the position" in remark for remark in made.remarks)
    last = section(records, judged(records, lambda question: letter(2)))
    assert any(
        "chose the first candidate in 0 % of 24 choices: it follows the position" in remark for remark in last.remarks
    )
    steady = section(records, judged(records, lambda question: letter(question.shown[0].endswith("b") + 1)))
    (bias,) = steady.bias
    assert bias.changed is not None
    assert (bias.first.estimate, bias.changed.estimate) == (0.5, 0.0)
    assert not any("follows the position" in remark for remark in steady.remarks)


def test_a_judge_that_reads_descriptions_of_images_says_so() -> None:
    """Guards a comparison with people who saw the images. An image that two turns show counts once for each question."""
    records: list[Rated] = [make_choice("d0", [["a"], ["b"]], setting="soba")]
    card, *lines = judged(records, lambda question: letter(1))
    described = [line.model_copy(update={"images_described": 2}) for line in lines[:3]]
    blind = section(records, [card, *described, *lines[3:]])
    assert blind.remarks.count("j read descriptions instead of images in 3 questions.") == 1
    assert not any("instead of images" in remark for remark in section(records, [card, *lines]).remarks)


def test_length_is_told_beside_that_of_people() -> None:
    """Guards the length bias: of replies, and of dialogues, by the letters of the speaker who is judged."""
    record = make_choice("d1", [["a"], ["a"]], models=("a", "longer"), setting="soba")
    made = section([record], judged([record], lambda q: letter([len(r.text) for r in q.replies].index(15) + 1)))
    assert made.bias[0].longest.estimate == 1.0
    assert made.bias[0].people_longest.estimate == 0.0
    many = pairs({"1": ["first"]})
    many[0].dialogues[0].lines = many[0].dialogues[0].lines[:2]  # type: ignore[union-attr]  # it is a judgement
    made = section(many, judged(many, prefers("b")))
    assert (made.bias[0].longest.estimate, made.bias[0].people_longest.estimate) == (1.0, 0.0)


def test_models_of_the_judges_own_house_are_compared_with_what_people_say() -> None:
    """Guards self-preference: how much more they win by the judge than by people on the same things."""
    made = section(MIXED, judged(MIXED, prefers("b"), family=["b", "stranger"]))
    assert made.remarks == []  # six items show nothing yet
    (row,) = made.family
    assert (row.family, row.n_things) == ("b", 6)
    assert (row.judge_rate.estimate, row.people_rate.estimate) == (1.0, pytest.approx(7 / 18))
    assert row.excess.estimate == pytest.approx(11 / 18)
    many = pairs({str(n): ["first", "first", "second"] for n in range(10)})
    told = section(many, judged(many, prefers("b"), family=["b"])).remarks
    assert told == ["j lets models of its own maker (b) win more often than people do: 100 % against 33 %."]
    assert section(MIXED, judged(MIXED, prefers("b"), family=["a", "b"])).family == []


def test_each_criterion_has_a_row() -> None:
    """Guards ratings: by criterion, with how much higher the judge rates; of replies chosen and of ticks as well."""
    records: list[Rated] = [
        make_rated(f"d{n}", ratings={"fluent": 60.0 + n, "robotic": 20.0}, worker=f"w{n}") for n in range(5)
    ]
    made = section(records, judged(records, lambda question: '{"answer": {"fluent": 70, "robotic": 15}}'))
    found = {row.what: row.difference for row in made.agreement}
    assert set(found) == {"fluent", "robotic"}
    assert found["fluent"] is not None
    assert found["fluent"].estimate == pytest.approx(8)
    assert all(row.people_same is None for row in made.agreement)
    assert "because no two of them answered about the same item" in made.headline


def test_counts_tokens_and_cost_are_told() -> None:
    """Guards the bill, and what could not be read: a judge none of whose answers can be has a section all the same."""
    prose = section(MIXED, judged(MIXED, lambda question: "Well, it depends."))
    (judge,) = prose.judges
    assert (judge.asked, judge.answered, judge.refused, judge.unparsable) == (12, 0, 0, 12)
    assert (judge.prompt_tokens, judge.completion_tokens, judge.cost, judge.currency) == (1200, 120, 6.0, "USD")
    assert (judge.model, judge.served_model, judge.version) == ("m", "served", "v1")
    assert "0 of 12 answers could be read" in prose.headline
    assert any("12 unreadable" in remark for remark in prose.remarks)


@pytest.mark.usefixtures("undrawn")
def test_no_number_of_people_knows_of_judges(tmp_path: Path) -> None:
    """Guards the one promise: with and without judges all else of a report is the same, to the last digit."""
    alone = build_report(tables(MIXED), OPTIONS).to_json()
    both = build_report(
        with_judges(MIXED, judged(MIXED, prefers("a"), "one"), judged(MIXED, prefers("b"), "two")), OPTIONS
    )
    found = both.to_json()
    made = found.pop("judges")
    assert [row["judge"] for row in made["judges"]] == ["one", "two"]
    ours = {f"{method.name}: {method.text}" for method in both.sections["judges"].methods()}
    assert len(ours) == 2
    assert [method for method in found.pop("methods") if method not in ours] == alone.pop("methods")
    for document in (alone, found):
        document["facts"].pop("made")
    assert found == alone
    written = write_document(both, tmp_path / "report.html", with_judges(MIXED, judged(MIXED, prefers("a"))))
    names = {path.name for path in written}
    assert {"judges_agreement.csv", "judges_pairs.csv", "judges_bias.csv", "judges_asked.csv"} <= names
    assert "Judges (models) compared with people" in (tmp_path / "report.html").read_text()


def test_a_worker_may_be_called_as_a_judge_is() -> None:
    """Guards tables from elsewhere: people's answers are people's, whatever they are called."""
    named = [record.model_copy(update={"worker": "j" if record.worker == "w0" else record.worker}) for record in MIXED]
    (row,) = section(named, judged(named, prefers("a"))).agreement
    assert (row.judge, row.n, row.people_things) == ("j", 36, 6)


def test_without_judges_there_is_no_section() -> None:
    """Guards every report of today."""
    assert build(tables(MIXED), OPTIONS) is None
