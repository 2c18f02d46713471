"""One study of every technique: terminal, page, JSON and CSV give the same answer, number by number."""

from __future__ import annotations

import csv
import html
import json
import re
from io import StringIO

import numpy as np
import pytest
from make_judgements import make_pair, make_pairs, make_spotting, make_third_party
from make_live_records import TICKS, make_assessment, make_choice, make_choices, make_ticked, make_verdict
from make_records import make_study
from rich.console import Console

from parlai_humaneval.report.answers import leading, models_table, pairs_table
from parlai_humaneval.report.cells import laid_out
from parlai_humaneval.report.document import SCHEMA, TaskFacts
from parlai_humaneval.report.draw.files import folder_of, write_document
from parlai_humaneval.report.draw.terminal import print_document, print_summary
from parlai_humaneval.report.making import make_document
from parlai_humaneval.report.section import Options
from parlai_humaneval.tables.files import read_tables
from parlai_humaneval.tables.from_records import tables
from parlai_humaneval.techniques import techniques

OPTIONS = Options(draws=100)
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


@pytest.fixture(scope="module", params=STUDIES)
def study(request, tmp_path_factory):
    """Technique, document, and the page that was written of it."""
    data = tables(STUDIES[request.param]())
    document = make_document(data, OPTIONS)
    page = tmp_path_factory.mktemp("page") / "report.html"
    write_document(document, page, data)
    return request.param, document, page


def printed(document, show=print_summary, width=200):
    stream = StringIO()
    show(document, Console(file=stream, width=width, highlight=False))
    return stream.getvalue()


def flat(text):
    return " ".join(text.split())


def test_every_technique_has_a_study_here():
    """A new technique is held to these tests."""
    assert set(STUDIES) | {"self_chat"} == set(techniques()) | {"self_chat"}


def test_every_form_begins_with_the_same_verdict(study):
    """Word for word, and the summary fits 80 columns."""
    technique, document, page = study
    verdict = document.headline()
    found = json.loads((folder_of(page) / "report.json").read_text(encoding="utf-8"))
    assert found["headline"] == verdict
    assert found["schema"] == SCHEMA
    assert found["techniques"] == [technique]
    assert flat(verdict) in flat(printed(document))
    assert flat(verdict) in flat(printed(document, print_document))
    text = html.unescape(page.read_text(encoding="utf-8")).replace("\u00a0", " ").replace("\u2060", "")
    assert f'<p class="verdict">{verdict}</p>' in text
    assert max(map(len, printed(document, width=80).splitlines())) <= 80
    assert verdict in (folder_of(page) / "README.md").read_text(encoding="utf-8")


def test_every_form_has_the_same_numbers(study):
    """Each model's and pair's cells, as they are written, stand on the page, and on the screen where it has tables; the
    numbers behind them stand in the JSON and in the CSV file that the answer names."""
    _, document, page = study
    answers = leading(document.summaries())
    assert answers
    text, screen = (
        html.unescape(page.read_text(encoding="utf-8")).replace("\u00a0", " ").replace("\u2060", ""),
        printed(document),
    )
    found = json.loads((folder_of(page) / "report.json").read_text(encoding="utf-8"))
    in_json = [one for one in found["summaries"] if one["section"] in {answer.section for answer in answers}]
    for answer in answers:
        (same,) = [one for one in in_json if one == answer.model_dump(mode="json")]
        for table in (models_table(answer), pairs_table(answer)):
            for rows in laid_out(table).groups.values():
                for cells in rows:
                    assert all(f">{cell}<" in text for cell in cells)
                    assert len(answers) > 1 or all(cell in screen for cell in cells[:2])
        lines = [(line["model"], line["estimate"]) for line in same["models"]]
        check_csv(folder_of(page), answer.model_table, lines)


def check_csv(folder, key, lines):
    """The table has a row of each model with its value; of a row on two models, the other one has the rest."""
    if not key:
        return
    rows = list(csv.DictReader((folder / f"{key}.csv").open(encoding="utf-8", newline="")))
    for model, value in lines:
        own = [row for row in rows if model in row.values() or f"'{model}" in row.values()]
        numbers = [value, None if value is None else 1 - value]
        assert any(is_among(number, row.values()) for row in own for number in numbers), (key, model, value)


def is_among(value, cells):
    if value is None:
        return True
    numbers = [float(cell) for cell in cells if re.fullmatch(r"-?[\d.]+(e-?\d+)?", cell)]
    return any(number == pytest.approx(value, abs=1e-9) for number in numbers)


def test_the_tables_beside_the_page_give_the_same_report(study):
    """Nothing that a report needs is lost in the files."""
    _, document, page = study
    again = make_document(read_tables(folder_of(page)), OPTIONS)
    assert [summary.model_dump() for summary in again.summaries()] == [
        summary.model_dump() for summary in document.summaries()
    ]
    assert again.headline() == document.headline()


def test_names_that_look_like_markup_print_as_they_are(study):
    _, document, _ = study
    if any("[red]" in model.name for model in document.facts.models):
        assert "[red]d[/red]" in printed(document, print_document)


@pytest.mark.parametrize("technique", STUDIES)
def test_a_study_without_any_answer_is_no_error(technique):
    """The task exists and nobody came yet."""
    document = make_document(tables([]), OPTIONS, title="t", task=TaskFacts(tasks=["t"], technique=technique))
    assert "nothing can be said about the models" in flat(printed(document))
    assert document.to_json()["technique"] == technique


def test_times_of_turns_are_of_turns_that_were_rated():
    """A conversation that is only rated at its end has no time a turn; one with choices has."""
    rated = make_assessment({"a": 75, "b": 60, "qc": 20})
    for record in rated:
        record.turns[0].seconds = 0
    raters = make_document(tables(rated), OPTIONS).facts.raters
    assert (raters.median_turn_seconds, raters.median_dialogue_seconds) == (None, 300)
    choices = make_choices({"a": 0.6, "b": 0.4}, workers=4)
    assert make_document(tables(choices), OPTIONS).facts.raters.median_turn_seconds == 8


def test_simulated_raters_are_counted():
    """Those of the records; a study of both says how many of each."""
    records = make_study(6)
    for record in records[::2]:
        record.simulated = True
    facts = make_document(tables(records), OPTIONS).facts
    simulated = {record.worker for record in records if record.simulated}
    people = {record.worker for record in records} - simulated
    assert (facts.raters.simulated, facts.raters.people) == (len(simulated), len(people))
    mixed = f"{len(simulated)} simulated, {len(people)} people"
    assert facts.rater_kinds.kind == (mixed if people else "simulated")
