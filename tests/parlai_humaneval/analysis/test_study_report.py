"""One report for each technique: dispatch, 80 columns, and nothing printed that the JSON lacks."""

from __future__ import annotations

import json
import re
from io import StringIO

import numpy as np
import pytest
from make_judgements import make_pair, make_pairs, make_ranking, make_spotting, make_third_party
from make_live_records import TICKS, make_assessment, make_choice, make_choices, make_ticked, make_verdict
from make_records import make_study
from rich.console import Console

from parlai_humaneval.analysis.reports.study import TECHNIQUES, render, study_report
from parlai_humaneval.analysis.reports.types import Excluded, Left, PracticeCount
from parlai_humaneval.quality import exclude
from parlai_humaneval.statistics.wording import number_words, p_cell, percent, points_words, seconds_words, signed
from parlai_humaneval.tables.columns import TableError
from parlai_humaneval.tables.files import read_tables, write_tables
from parlai_humaneval.tables.from_records import tables

LONG = "blenderbot_3B_with_a_long_name"
"""As long as names of models get."""


def sata():
    names = {LONG: 0.8, f"{LONG}_2": 0.6, "c": 0.5, "[red]d[/red]": 0.1}
    soba = make_choices({LONG: 0.6, f"{LONG}_2": 0.4}, setting="soba", one_pick=True)
    left = make_choice("left", [(LONG,)], models=list(names), worker="w99", setting="sata_random", status="partial")
    return [*make_choices(names, setting="sata_random", workers=14), *soba, left]


def single_model():
    rng = np.random.default_rng(3)
    return [
        make_ticked(
            f"{model}-{worker}",
            [[tick for tick in TICKS if rng.random() < chance] for _ in range(6)],
            model=model,
            worker=f"w{worker}",
            ratings={tick: float(rng.integers(1, 6)) for tick in TICKS},
        )
        for model, chance in ((LONG, 0.5), (f"{LONG}_2", 0.7), ("[red]d[/red]", 0.1))
        for worker in range(11)
    ]


def free_for_all():
    weights = {LONG: 4, f"{LONG}_2": 3, "c": 2, "[red]d[/red]": 1}
    return make_choices(weights, technique="free_for_all", setting="", one_pick=True)


def arena():
    rounds = ["a", "a", "b", "tie", "a", "both_bad"] * 4
    return [
        make_verdict(f"{models[0]}-{number}", verdict, models=models, worker=f"w{number % 11}")
        for models in ((LONG, f"{LONG}_2"), ("[red]d[/red]", LONG))
        for number, verdict in enumerate(rounds)
    ]


def direct_assessment():
    return make_assessment({LONG: 75, f"{LONG}_2": 60, "[red]d[/red]": 55, "qc": 20})


def pw_dialog():
    return [
        *make_pairs({LONG: 3, f"{LONG}_2": 2, "[red]d[/red]": 1}),
        *make_pairs({LONG: 3, "c": 2}, setting="human_bot", left_bias=0.2),
        make_pair("gold", "x", "y", "second", expected={"preference": "first"}),
        make_pair("left", "x", "y", "first", end="left"),
    ]


def spot_the_bot():
    return make_spotting({LONG: 0.7, f"{LONG}_2": 0.4, "[red]d[/red]": 0.2, "human": 0.9})


def third_party():
    return make_third_party((LONG, f"{LONG}_2", "[red]d[/red]"))


STUDIES = {
    "pw_turn": lambda: make_study(12, 2),
    "sata": sata,
    "single_model": single_model,
    "free_for_all": free_for_all,
    "arena": arena,
    "direct_assessment": direct_assessment,
    "pw_dialog": pw_dialog,
    "spot_the_bot": spot_the_bot,
    "third_party": third_party,
}
JUDGED = ("pw_dialog", "spot_the_bot", "third_party")


@pytest.fixture(scope="module")
def reports():
    return {technique: study_report(tables(make())) for technique, make in STUDIES.items()}


def printed(report, width=80):
    stream = StringIO()
    render(report, Console(file=stream, width=width))
    return stream.getvalue()


def test_every_technique_has_a_study_here():
    """A new technique is held to these tests."""
    assert set(STUDIES) == set(TECHNIQUES)


@pytest.mark.parametrize("technique", STUDIES)
def test_a_report_names_its_technique_and_fits_80_columns(reports, technique):
    """Long names are folded, none is read as markup, and no number is cut off."""
    report = reports[technique]
    assert report.technique == technique
    screen = printed(report)
    assert max(len(line) for line in screen.splitlines()) <= 80
    assert "…" not in screen
    assert " ".join(report.headline.split()) in " ".join(" ".join(s for s, _ in report.findings()).split())
    if technique != "pw_turn":
        assert "[red]d[/red]" in screen


@pytest.mark.parametrize("technique", STUDIES)
def test_everything_printed_is_in_the_json(reports, technique):
    """Every number on the screen is one of the JSON's, in one of the ways of writing it."""
    known = set()

    def collect(value):
        if isinstance(value, dict):
            for part in value.values():
                collect(part)
        elif isinstance(value, list):
            for part in value:
                collect(part)
        elif isinstance(value, str):
            known.update(numbers(value))
        elif value is not None:
            number = float(value)
            ways = (f"{value:,}", str(value), percent(number), p_cell(abs(number)), seconds_words(abs(number)))
            ways += (number_words(number), signed(number), points_words(number), f"{100 * number:.0f}")
            for text in (*ways, f"{number:.1f}", f"{number:g}"):
                known.update(numbers(text))

    def numbers(text):
        return re.findall(r"\d(?:[\d,]*\d)?(?:\.\d+)?|\.\d+", text.replace("–", " "))

    report = reports[technique]
    collect(json.loads(json.dumps(report.model_dump(mode="json"), allow_nan=False)))
    known.add("95")  # the level, as a column's title
    assert set(numbers(printed(report))) <= known


@pytest.mark.parametrize("technique", STUDIES)
def test_the_json_reads_back(reports, technique):
    """What a program gets is the whole report."""
    report = reports[technique]
    assert type(report).model_validate_json(report.model_dump_json()) == report


@pytest.mark.parametrize("technique", STUDIES)
def test_exported_tables_give_the_same_report(tmp_path, technique, reports):
    """Nothing that a report needs is lost in the files."""
    write_tables(tables(STUDIES[technique]()), tmp_path)
    assert study_report(read_tables(tmp_path)) == reports[technique]


@pytest.mark.parametrize("technique", STUDIES)
def test_only_unfinished_dialogues_are_no_error(technique):
    """A task that has just begun is reported too."""
    records = [record.model_copy(update={"status": "running"}) for record in STUDIES[technique]()[:3]]
    report = study_report(tables(records))
    assert (report.judgements if technique in JUDGED else report.dialogue_count).running == 3
    assert printed(report)


def test_no_dialogue_at_all():
    """The task exists and nobody came yet."""
    assert "No turn has been answered yet" in printed(study_report(tables([])))


def test_several_techniques_and_unknown_ones_are_refused():
    """By name, with what to do."""
    with pytest.raises(TableError, match="arena, sata: report one technique at a time"):
        study_report(tables([make_choice("d1", [("a",)]), make_verdict("d2", "a")]))
    with pytest.raises(TableError, match=r"'tea_leaves' has no report; techniques that have one: pw_turn"):
        study_report(tables([make_choice("d1", [("a",)], technique="tea_leaves")]))


def test_practice_and_exclusion_stand_in_the_print():
    """Who was left out, by which check, and that nothing was deleted."""
    shown = [("a", "b"), ("b", "a")] * 5
    same = make_choice("d1", [("a",)] * 10, worker="w1", shown=[("a", "b")] * 10)
    other = [make_choice(f"e{i}", [("a",), ("b",)] * 5, worker=f"v{i}", shown=shown) for i in range(3)]
    mixed = make_choice("f", [("a", "b"), ("a",), ("b",)], worker="u")
    records = [same, *other, mixed]
    kept, exclusions = exclude(records, ["same_position", "short_tokens"])
    report = study_report(tables(kept)).model_copy(
        update={
            "excluded": Excluded(
                **exclusions.model_dump(), here=Left(dialogues=len(records) - len(kept), workers=4, turns=40)
            ),
            "practice": PracticeCount(passed=5, failed=2, not_ended=1),
        }
    )
    assert [record.dialogue_id for record in kept] == ["f"]
    screen = printed(report)
    assert max(len(line) for line in screen.splitlines()) <= 80
    assert "5 passed, 2 failed, 1 not ended" in screen
    assert "Left out, nothing is deleted: all that a failing worker did" in screen
    assert re.search(r"same_position +4 +4 +40 +1", screen)
    assert re.search(r"left out here +4 +4 +40", screen)


TWO_MODELS = {
    "pw_turn": lambda: make_study(12, 1),
    "sata": lambda: make_choices({"a": 0.8, "b": 0.4}),
    "free_for_all": lambda: make_choices({"a": 2, "b": 1}, technique="free_for_all", setting="", one_pick=True),
    "arena": lambda: [make_verdict(f"d{i}", "a" if i % 3 else "b", worker=f"w{i}") for i in range(12)],
    "single_model": lambda: [
        make_ticked(f"{m}{w}", [], model=m, worker=f"w{w}", ratings={"interestingness": 3 + (w + i) % 2})
        for i, m in enumerate((LONG, "b"))
        for w in range(12)
    ],
    "direct_assessment": lambda: make_assessment({"a": 75, "b": 60, "qc": 20}),
    "pw_dialog": lambda: make_pairs({"a": 1, "b": 2}),
    "spot_the_bot": lambda: make_spotting({"a": 0.3, "b": 0.7}),
    "third_party": lambda: [
        make_ranking(f"k{i}", make_choice(f"d{i}", [("a",)]), 1, {"a": 1 + i % 2, "b": 2 - i % 2}, worker=f"t{i % 5}")
        for i in range(15)
    ],
}


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_one_test_needs_no_correction_and_none_is_spoken_of(technique):
    """Two models and one question: no Holm column, and no note on it."""
    assert "Holm" not in printed(study_report(tables(TWO_MODELS[technique]())))


@pytest.mark.parametrize("technique", [name for name in TECHNIQUES if name != "pw_turn"])
def test_corrected_values_are_explained(reports, technique):
    """Several pairs: the column, and what it is."""
    screen = printed(reports[technique])
    assert re.search(r"(?m)^Holm: ", screen)
    assert re.search(r"Holm +(Binomial|p, paper|paper|\n)|Holm *\n", screen)


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_a_report_of_nothing_has_no_notes_on_methods(technique):
    """They would speak of tables that are not there."""
    report = study_report(tables([]), technique=technique)
    assert (report.methods, report.footnotes()) == ([], [])


def test_criteria_are_not_broken_at_80_columns():
    """“interestingness” on one line, beside long names of models."""
    assert printed(study_report(tables(TWO_MODELS["single_model"]()))).count("interestingness") >= 4


def test_times_of_turns_are_of_turns_that_were_rated():
    """A conversation that is only rated at its end has no time a turn; one with choices has."""
    rated = make_assessment({"a": 75, "b": 60, "qc": 20})
    for record in rated:
        record.turns[0].seconds = 0
    report = study_report(tables(rated))
    assert report.median_turn_seconds is None
    assert "Median time  5 min 0 s a dialogue\n" in re.sub(r" +\n", "\n", printed(report))
    assert study_report(tables(TWO_MODELS["sata"]())).median_turn_seconds == 8
