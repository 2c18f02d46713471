"""What a document says of the data: from full tables, and from those with nothing but what must be there."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas as pd
import pytest
from fake_sections import HOSTILE, NOW, said_tables

from parlai_humaneval.planning.preregistration import Preregistration
from parlai_humaneval.report.build import EXAMPLES, build_report, default_title, examples_of, tables_of
from parlai_humaneval.report.document import Excluded, Facts, Left, TaskFacts
from parlai_humaneval.report.facts import NAMED, facts_of, qualifying, raters_line, raters_words
from parlai_humaneval.report.section import Options
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.columns import TableError, from_rows
from parlai_humaneval.tables.schema import COLUMNS, TABLES

JUDGED = {
    "item_id": "i",
    "technique": "pw_dialog",
    "metric": "preference",
    "group": "alpha;beta",
    "dialogues": "a1;b1",
    "status": "complete",
}


def with_tables(**rows: list[dict[str, object]]) -> Tables:
    tables = {"turns": [], "dialogues": [], "comparisons": []} | rows
    return Tables(**{name: from_rows(name, given) for name, given in tables.items()})


def facts(tables: Tables) -> Facts:
    return facts_of(tables, Options(), title="t", now=NOW)


def dialogue(number: int, **values: object) -> dict[str, object]:
    return {
        "dialogue_id": f"d{number}",
        "worker_id": f"w{number % 2}",
        "technique": "sata",
        "started": f"2024-01-0{number + 1}T10:00:00+00:00",
        "seconds": 60.0 * number,
        "n_turns": 6,
        "complete": 1,
        **values,
    }


def test_questions_are_told_as_worded() -> None:
    """Each once, from whichever table holds it; a judgement's several questions are several; golds ask nothing new."""
    judged = [
        JUDGED | {"judgement_id": "j1", "worker_id": "w", "question": "Who was livelier?\nWhy?"},
        JUDGED | {"judgement_id": "j2", "worker_id": "w", "question": "A check?", "gold": 1},
    ]
    found = facts(with_tables(dialogues=[dialogue(1, metric="m", question="Which?")] * 1, judgements=judged)).questions
    assert [(one.technique, one.metric, one.text) for one in found] == [
        ("pw_dialog", "preference", "Who was livelier?"),
        ("pw_dialog", "preference", "Why?"),
        ("sata", "m", "Which?"),
    ]
    assert facts(said_tables()).questions[0].text == f"Which is better? {HOSTILE}"


def test_who_rated_is_counted() -> None:
    """By how they ended; the median and the most of each worker; days; time of complete ones only."""
    rows = [dialogue(1), dialogue(2), dialogue(3), dialogue(4, complete=0, n_turns=2, seconds=None)]
    raters = facts(with_tables(dialogues=rows)).raters
    assert raters.dialogues is not None
    assert (raters.workers, raters.dialogues.complete, raters.dialogues.partial, raters.turns) == (2, 3, 1, 20)
    assert (raters.units_per_worker_median, raters.units_per_worker_most) == (2, 2)
    assert (raters.median_dialogue_seconds, raters.first_day, raters.last_day) == (120, "2024-01-02", "2024-01-05")
    assert raters.judgements is None
    assert raters.practice is None


def test_attention_checks_are_no_results() -> None:
    """They are counted as what they are."""
    judged = [
        JUDGED | {"judgement_id": f"j{n}", "worker_id": f"w{n}", "gold": int(n > 2), "gold_passed": {3: 1, 4: 0}.get(n)}
        for n in (1, 2, 3, 4)
    ]
    raters = facts(with_tables(judgements=judged)).raters
    assert raters.judgements is not None
    assert raters.attention_checks is not None
    assert (raters.judgements.complete, raters.attention_checks.passed, raters.attention_checks.failed) == (2, 1, 1)
    assert raters.units_per_worker_most == 1


def test_what_failed_a_check_and_counts_is_said() -> None:
    """Of finished dialogues and judgements; attention checks, and what is unfinished, count nowhere."""
    rows = [
        dialogue(1, checks_failed="capitals;greeting"),
        dialogue(2),
        dialogue(3, checks_failed="greeting"),
        dialogue(4, complete=0, checks_failed="greeting"),
    ]
    assert [(one.check, one.units, one.workers) for one in facts(with_tables(dialogues=rows)).flagged] == [
        ("capitals", 1, 1),
        ("greeting", 2, 1),
    ]
    judged = [
        JUDGED | {"judgement_id": f"j{n}", "worker_id": "w", "gold": int(n == 2), "checks_failed": "failed_gold"}
        for n in (1, 2)
    ]
    (line,) = qualifying(facts(with_tables(judgements=judged)), [], [])
    assert line == (
        "Check failed_gold: failed by 1 of 1 rater, in 1 of 1 judgement; it still counts. "
        "For its meaning, see “Which answers count” in the documentation."
    )


def test_who_has_finished_nothing_is_said() -> None:
    """Beside the number of workers; nothing is said where all of them finished."""
    begun = [dialogue(1), dialogue(2, complete=0)]
    assert raters_line(facts(with_tables(dialogues=begun))).startswith("2 raters, 1 of whom finished; 1 complete")
    assert raters_line(facts(with_tables(dialogues=[dialogue(1), dialogue(2)]))).startswith("2 raters; 2 complete")


@pytest.mark.usefixtures("only_answers")
def test_nothing_finished_is_no_answer() -> None:
    """What is unfinished, and how it can be counted, stand in the verdict's place; no section without an answer does."""
    tables = said_tables()
    left = with_tables(
        turns=[{**row, "complete": 1, "dialogue_status": "partial"} for row in tables.turns.to_dict("records")],
        dialogues=[dialogue(number, dialogue_id=f"d{number}", complete=0) for number in (1, 2)],
    )
    assert build_report(left, Options(draws=100), title="t").headline() == (
        "No rating is complete yet, so nothing can be said about the models: 2 dialogues are unfinished. "
        "With --include-partial, `report` counts the answered turns of unfinished dialogues."
    )
    document = build_report(left, Options(draws=100, include_partial=True), title="t")
    assert "No rating is complete" not in document.headline()
    silent = with_tables(dialogues=[dialogue(1, complete=0, n_turns=0)])
    assert facts(silent).nothing.endswith("1 dialogue is unfinished.")
    ended = [dialogue(number, complete=0, n_turns=0, status=how) for number, how in enumerate(("partial", "failed"))]
    assert facts(with_tables(dialogues=ended)).nothing.endswith("2 dialogues are unfinished."), "failed ones, too"


def test_what_a_model_failed_with_is_told() -> None:
    """Guards whoever tries a model that breaks: its error stands where the answer would be, without codes of a terminal,
    and next to the numbers of what is unfinished where something is finished."""
    reason = "models failed: no reply from bot: KeyError: 'mood'\x1b[31m (bot.py, line 3)"
    broken = [dialogue(n, dialogue_id=f"d{n}", complete=0, status="failed", failure=reason) for n in (0, 1)]
    shown = "Error: no reply from bot: KeyError: 'mood'�[31m (bot.py, line 3)."
    assert facts(with_tables(dialogues=broken)).nothing_finished.startswith(
        "No rating is complete yet, so nothing can be said about the models: 2 dialogues are unfinished. " + shown
    )
    (line,) = qualifying(facts(with_tables(dialogues=[*broken, dialogue(2)])), [], [])
    assert line.endswith(f"(0 partial, 2 failed, 0 running). {shown}")


def test_simulated_raters_are_named_although_the_checks_leave_nobody() -> None:
    here = Left(dialogues=2, workers=2, turns=4, simulated=2)
    task = TaskFacts(tasks=["t"], excluded=Excluded(scope="worker", here=here))
    found = facts_of(with_tables(), Options(), title="t", task=task, now=NOW)
    assert found.note == "All raters are programs (2): nothing here was rated by people."


def test_models_and_settings_come_with_what_is_known_of_them() -> None:
    """Text that is no JSON, or another JSON, does no harm."""
    models = json.dumps([{"name": "alpha", "description": "big", "options": {"model": "x"}}, 3])
    rows = [
        dialogue(1, model_settings=models, settings='{"turns": 6}', turn_criteria='[{"name": "fun", "text": "Fun?"}]'),
        dialogue(2, model_settings="no json", settings="[1]", turn_criteria="{}"),
        dialogue(3, settings='{"turns": 6}'),
    ]
    found = facts(with_tables(dialogues=rows))
    assert [(model.name, model.description) for model in found.models] == [("alpha", "big")]
    assert [(one.values, one.units) for one in found.settings] == [({"turns": 6}, 2)]
    assert [(one.criterion, one.text) for one in found.statements] == [("fun", "Fun?")]


def test_designs_are_what_was_collected() -> None:
    (design,) = facts(said_tables()).designs
    assert (design.technique, design.setting, design.metric) == ("sata", "soba", "preference")
    assert (design.models, design.workers, design.tables) == (["alpha", "beta"], 2, {"turns": 8})


def test_versions_are_those_that_ran() -> None:
    found = facts(said_tables()).versions
    assert found["pandas"] == pd.__version__
    assert found["Python"] == ".".join(map(str, sys.version_info[:3]))
    assert set(found) == {
        "parlai-humaneval",
        "Python",
        "numpy",
        "scipy",
        "pandas",
        "scikit-learn",
        "matplotlib",
    }


def exchange_only(table: str, row: dict[str, object]) -> dict[str, object]:
    return {column.name: row.get(column.name) for column in TABLES[table] if column.exchange}


def test_tables_with_nothing_but_what_must_be_there_are_enough(tmp_path: Path) -> None:
    """No wording, no texts, no settings: counts all the same, no example, no made-up fact."""
    rows = [exchange_only("turns", row) for row in said_tables().turns.to_dict("records")]
    pd.DataFrame(rows).to_csv(tmp_path / "turns.csv", index=False)
    tables = tables_of(tmp_path)
    found = facts(tables)
    assert (found.questions, found.settings, found.statements) == ([], [], [])
    assert (found.raters.workers, found.raters.turns, found.raters.dialogues) == (2, 4, None)
    assert [model.name for model in found.models] == ["alpha", "beta"]
    assert examples_of(tables, seed=0) == []
    whole = build_report(tables, Options(draws=100), title="t").to_json()
    assert {"facts", "examples"} <= set(whole)
    json.dumps(whole, allow_nan=False)


@pytest.mark.parametrize("table", COLUMNS)
def test_tables_without_rows_are_nothing_to_report(tmp_path: Path, table: str) -> None:
    header = ",".join(column.name for column in TABLES[table])
    (tmp_path / f"{table}.csv").write_text(header + "\n", encoding="utf-8")
    with pytest.raises(TableError, match="have no rows"):
        tables_of(tmp_path)


def test_an_empty_folder_holds_no_tables(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="holds none of"):
        tables_of(tmp_path)


def test_examples_are_drawn_by_seed() -> None:
    """The same for the same seed, whatever the order of rows; each dialogue once; replies in their places."""
    tables = said_tables()
    shuffled = Tables(
        turns=tables.turns.sample(frac=1, random_state=1), dialogues=tables.dialogues, comparisons=tables.comparisons
    )
    first, again = (examples_of(one, seed=5) for one in (tables, shuffled))
    assert first == again
    assert sorted(example.dialogue_id for example in first) == ["d1", "d2"]
    assert len({examples_of(tables, seed=seed, count=1)[0].dialogue_id for seed in range(12)}) == 2
    turn = first[0].turns[0]
    assert [(bubble.who, bubble.mark) for bubble in turn.bubbles] == [
        ("Human Speaker", ""),
        ("alpha", "chosen"),
        ("beta", ""),
    ]
    assert turn.bubbles[0].text == "Hi & <b>bye</b> 1"


def test_unfinished_dialogues_and_replays_are_no_examples() -> None:
    tables = said_tables()
    turns = tables.turns.assign(dialogue_status=["partial"] * 4 + ["complete"] * 4, own_worker=[None] * 4 + ["w9"] * 4)
    assert examples_of(Tables(turns=turns, dialogues=tables.dialogues, comparisons=tables.comparisons), seed=0) == []


def test_examples_show_different_designs_first() -> None:
    """Of two techniques both are seen, although one has many more dialogues; never more than wanted."""
    shown = json.dumps(
        [{"entities": ["human", "beta"], "lines": [{"speaker": 0, "text": "Hi"}, {"speaker": 1, "text": "Yo"}]}]
    )
    answers = json.dumps([{"question_id": "preference", "option": "second"}, "odd"])
    judged = [JUDGED | {"judgement_id": "j", "worker_id": "w", "shown": shown, "answers": answers, "reason": "polite"}]
    tables = said_tables()
    both = Tables(
        turns=tables.turns,
        dialogues=tables.dialogues,
        comparisons=tables.comparisons,
        judgements=from_rows("judgements", judged),
    )
    found = examples_of(both, seed=0)
    assert len(found) == EXAMPLES
    assert [example.title for example in found[:2]] == ["sata, soba, preference", "pw_dialog, preference"]
    assert [(bubble.who, bubble.side, bubble.text) for bubble in found[1].turns[0].bubbles] == [
        ("Human Speaker", "person", "Hi"),
        ("beta", "model", "Yo"),
    ]
    assert found[1].answer == "preference: second; polite"


@pytest.mark.parametrize("shown", ["", "no json", "{}", "[3]", '[{"lines": [3, {"speaker": "x"}], "entities": []}]'])
def test_odd_records_of_what_was_shown_do_no_harm(shown: str) -> None:
    judged = [JUDGED | {"judgement_id": "j", "worker_id": "w", "shown": shown, "answers": shown}]
    for example in examples_of(with_tables(judgements=judged), seed=0):
        assert example.dialogue_id == "a1;b1"


def checked(n_workers: int, failing: int) -> Tables:
    """Slider ratings of two models and the degraded one, which the first ``failing`` workers rate as highly."""
    rows: list[dict[str, object]] = []
    for worker in range(n_workers):
        for model, value in (("alpha", 80), ("beta", 60), ("bad", 70 if worker < failing else 10)):
            rows += [
                {
                    "dialogue_id": f"d{worker}{model}",
                    "worker_id": f"w{worker:02d}",
                    "model": model,
                    "criterion": criterion,
                    "value": value + place + worker % 3,
                    "degraded": int(model == "bad"),
                }
                for place, criterion in enumerate(("interesting", "fun", "consistent", "fluent"))
            ]
    return with_tables(ratings=rows)


@pytest.mark.usefixtures("only_answers")
def test_whom_a_section_leaves_out_is_said_of_those_who_rated() -> None:
    """The answer rests on those who passed: the others are named, where it says who rated; all in the JSON."""
    document = build_report(checked(8, 3), Options(draws=100), title="t")
    (left,) = document.facts.left_out
    assert (left.workers, left.of, left.section) == (["w00", "w01", "w02"], 8, "Direct assessment")
    (words,) = [words for label, words in raters_words(document.facts) if label.startswith("Left out")]
    assert words.startswith("3 of 8 raters, who did not rate the degraded model")
    assert words.endswith("w00, w01, w02")
    many = build_report(checked(NAMED + 8, NAMED + 2), Options(draws=100), title="t").facts
    assert "and 2 more (all are named in report.json)" in dict(raters_words(many))["Left out of “Direct assessment”"]
    assert len(many.left_out[0].workers) == NAMED + 2


@pytest.mark.usefixtures("only_answers")
@pytest.mark.parametrize("failing", [0, 8])
def test_nobody_is_said_to_be_left_out_who_counts(failing: int) -> None:
    """All passed; or nobody did, and the scores are those of everyone."""
    assert build_report(checked(8, failing), Options(draws=100), title="t").facts.left_out == []


def test_tables_are_called_by_what_they_hold() -> None:
    """Models and technique; the degraded model is not evaluated; many models are counted."""
    assert default_title(said_tables()) == "alpha and beta, rated with SATA"
    assert default_title(checked(2, 0)) == "alpha and beta"
    rows = [{**row, "model": f"m{row['position']}{row['turn']}{n}"} for n in range(2) for row in TURNS]
    assert default_title(with_tables(turns=rows)) == "8 models, rated with SATA"
    assert default_title(with_tables(dialogues=[dialogue(1)])) == "Rated dialogues"
    named = [*rows[:1], {**rows[1], "model": "human"}]
    assert default_title(with_tables(turns=named)).startswith(f"human and {rows[0]['model']}")  # a candidate, no person


TURNS = said_tables().turns.drop_duplicates(["turn", "position"]).to_dict("records")


def test_simulated_raters_in_a_registered_study_are_a_deviation() -> None:
    """Guards “followed the registration”: programs among people are named where it says how the study went."""
    registered = Preregistration(technique="sata", question="", settings={"seed": 5})
    settings = json.dumps({"seed": 5, "prereg": registered.canonical})
    people = [dialogue(number, settings=settings, simulated=0) for number in range(2)]
    (one,) = facts(with_tables(dialogues=people)).registered
    assert one.words.endswith(" and followed the registration.")
    program = dialogue(2, settings=settings, worker_id="demo", simulated=1)
    (one,) = facts(with_tables(dialogues=[*people, program])).registered
    assert one.words.endswith(", but differs from the registration: 1 of its raters was simulated.")
