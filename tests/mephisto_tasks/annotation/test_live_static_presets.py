"""Every preset on finished dialogues from end to end, practice and checks included, by raters who know only their page."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hands import always
from judging_hands import (
    LONG,
    SHORT,
    TERSE,
    WORDY,
    chats,
    duets,
    everything_heard,
    judgements,
    launch_study,
    long_texts,
    page_config,
    says,
    simulate,
    talked,
    told_of,
)
from live import eventually, rows, threads_of_launches

from mephisto_tasks.cli.report import report
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.simulation.raters import Behaviour, Outcome
from parlai_humaneval.schema.pseudonyms import Pseudonymizer
from parlai_humaneval.schema.records import JudgementRecord
from parlai_humaneval.tables.build import tables

MODELS = (WORDY, TERSE)
Sent = tuple[str, Any]
Settings = dict[str, Any]


def of_files(folder: Path) -> Settings:
    files = [chats(folder, WORDY, says(LONG)), chats(folder, TERSE, says(SHORT))]
    return {"dialogues": files, "judgements_per_group": 12, "items_per_unit": 2, "golds_per_unit": 1}


def of_a_live_task(folder: Path) -> Settings:
    """Two models that people just talked to, in the same data directory."""
    always({WORDY: LONG, TERSE: SHORT})
    talked(folder / "data", "single_model", "lived", dialogues=4)
    return {"dialogues": [{"task": "lived"}], "judgements_per_group": 12, "items_per_unit": 3}


def of_three_bots(folder: Path) -> Settings:
    other = "zz-other-model"
    files = [
        duets(folder, *pair, dialogues=2, exchanges=6) for pair in ((WORDY, TERSE), (WORDY, other), (TERSE, other))
    ]
    people = duets(folder, "human", "human", dialogues=3, exchanges=6)
    return {
        "models": [WORDY, TERSE, other],
        "generate": "",
        "dialogues": files,
        "human_dialogues": [people],
        "segment_lengths": [1, 3, 5],
        "judgements_per_item": 2,
        "items_per_unit": 3,
        "golds_per_unit": 1,
        "units_per_worker": 3,
    }


@dataclass(frozen=True)
class Preset:
    """A task, and what makes the settings of a study of it."""

    task: str
    settings: Callable[[Path], Settings]

    def __str__(self) -> str:
        return f"{self.task}-{self.settings.__name__}"


PRESETS = [Preset("pw_dialog", of_files), Preset("pw_dialog", of_a_live_task), Preset("spot_the_bot", of_three_bots)]


@dataclass
class Held:
    """A study that is over."""

    preset: Preset
    run: RunningStudy
    outcomes: list[Outcome]
    heard: list[str]
    records: list[JudgementRecord]
    by_worker: dict[str, list[JudgementRecord]] = field(default_factory=lambda: defaultdict(list))

    def of(self, outcome: Outcome) -> list[JudgementRecord]:
        """The judgements of one rater, in order."""
        names = Pseudonymizer.load_or_create(self.run.data_dir / "pseudonym.key")
        return self.by_worker[names.worker(f"{outcome.worker}_sandbox")]

    @property
    def ordinary(self) -> list[JudgementRecord]:
        return [record for record in self.records if record.expected is None]


@pytest.fixture(scope="module", params=PRESETS, ids=str)
def held(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Held:
    preset: Preset = request.param
    folder = tmp_path_factory.mktemp(preset.task)
    settings = {"onboarding_qualification": "practised", **preset.settings(folder)}
    with launch_study(folder / "data", preset.task, **settings) as run, everything_heard() as heard:
        assert run.study.practice is not None, "the preset has a practice of its own"
        heard.append(page_config(run))
        outcomes = simulate(run, Behaviour(practice=run.study.practice, taste=long_texts))
        asyncio.run(eventually(run.is_done))
    assert threads_of_launches() == []
    found = Held(preset, run, outcomes, heard, judgements(run))
    for record in found.records:
        found.by_worker[record.worker].append(record)
    return found


def sent(answers: list[dict[str, Any]]) -> list[Sent]:
    """What a rater sent, in the terms of a record."""
    return [
        ("feedback", answer["text"])
        if answer["kind"] == "feedback"
        else ("form", (answer["values"], answer["reasons"]))
        for answer in answers
    ]


def stored(record: JudgementRecord) -> list[Sent]:
    """The same of what is stored of one judgement."""
    values = {one.question_id: one.option for one in record.answers}
    reasons = {one.question_id: one.reason for one in record.answers if one.reason is not None}
    found: list[Sent] = [("form", (values, reasons))]
    return found + ([("feedback", record.feedback)] if record.feedback is not None else [])


def test_every_rater_finishes_and_the_study_ends(held: Held) -> None:
    """Nobody is stopped by a fault of ours, and Mephisto knows every unit that was taken as done."""
    finished = [outcome for outcome in held.outcomes if outcome.finished]
    assert [(o.refused, o.stopped) for o in finished] == [(None, None)] * len(finished)
    assert {status for (status,) in rows(held.run.data_dir, UNITS, held.run.task_run_id)} <= {"completed", "expired"}
    assert {record.status for record in held.records} == {"complete"}
    assert held.run.study.remaining == 0
    for group in held.run.study.progress():
        assert (group.completed, group.running) == (group.wanted, 0)


UNITS = "SELECT status FROM units WHERE task_run_id = ?"


def test_nothing_is_lost_or_doubled(held: Held) -> None:
    """Each answer that a rater sent stands once in their records, in order, and nothing else does."""
    for outcome in held.outcomes:
        own = held.of(outcome)
        assert [answer for record in own for answer in stored(record)] == sent(outcome.answers)
        assert sum(record.refused_answers for record in own) == 0
    assert sum(len(held.of(outcome)) for outcome in held.outcomes) == len(held.records)


def test_nobody_meets_a_dialogue_twice(held: Held) -> None:
    """Not in a unit, not over units, whichever the segment or the other side."""
    for own in held.by_worker.values():
        shown = [dialogue.dialogue_id for record in own for dialogue in record.dialogues]
        assert len(shown) == len(set(shown))


def test_every_item_reaches_its_number_and_no_more(held: Held) -> None:
    """An item's judgements are of different workers."""
    config = held.run.study.config
    workers = defaultdict(list)
    for record in held.ordinary:
        workers[record.item_id].append(record.worker)
    for who in workers.values():
        assert len(who) == len(set(who)) <= config.judgements_per_item
    if config.show == "pair":
        assert len(held.ordinary) == config.judgements_per_group
    else:
        assert set(workers) == set(held.run.study.items)
        assert {len(who) for who in workers.values()} == {config.judgements_per_item}


def test_units_are_whole(held: Held) -> None:
    """Numbered from 1 without gaps; as long as set but for the last ones; with as many checks as set."""
    config = held.run.study.config
    sessions = defaultdict(list)
    for record in held.records:
        sessions[record.session].append(record)
    for own in sessions.values():
        assert [record.number for record in own] == list(range(1, len(own) + 1))
        assert {record.numbers for record in own} == {len(own)}
        assert len({record.worker for record in own}) == 1
        assert sum(record.expected is not None for record in own) == config.golds_per_unit
        assert 1 <= sum(record.expected is None for record in own) <= config.items_per_unit
    lengths = Counter(sum(record.expected is None for record in own) for own in sessions.values())
    assert lengths.most_common(1)[0][0] == config.items_per_unit


def test_checks_are_marked_and_never_repeated(held: Held) -> None:
    """Their ids, their right answers, and no gold twice for a worker; the practice is passed and recorded."""
    for own in held.by_worker.values():
        golds = [record.item_id for record in own if record.expected is not None]
        assert len(golds) == len(set(golds))
        assert {record.checks["practice"]["passed"] for record in own} == {True}
    for record in held.records:
        assert (record.expected is not None) == record.item_id.startswith("gold:")
        if record.expected is not None:
            assert set(record.expected) <= {question.question_id for question in record.questions}
            assert record.gold_passed is not None


def test_no_page_was_told_a_model(held: Held) -> None:
    """In nothing that any page was sent or could load."""
    assert len(held.heard) > len(held.records)
    secrets = [*MODELS, "zz-other", "jsonl", "human_bot", "self_chat", "bot_bot", "human_human", "expected", "gold:"]
    assert told_of(held.heard, secrets) == []


def test_raters_who_like_long_texts_prefer_the_wordy_model(held: Held) -> None:
    """The winner is right whichever side it stood on; and it stood on each about equally often."""
    if held.preset.task != "pw_dialog":
        pytest.skip("a preference between two models")
    wins, left = 0, 0
    for record in held.ordinary:
        assert sorted(record.group) == sorted(MODELS)
        entities = [shown.entities[judged_of(shown.judged)] for shown in record.dialogues]
        assert sorted(entities) == sorted(MODELS)
        left += entities[0] == WORDY
        (answer,) = record.answers
        wins += entities[{"first": 0, "second": 1}[str(answer.option)]] == WORDY
    assert wins >= 10, f"{wins} of {len(held.ordinary)}"
    assert 2 <= left <= 10
    right = [record.gold_passed for record in held.records if record.expected is not None]
    assert not right or any(right)


def judged_of(index: int | None) -> int:
    assert index is not None
    return index


def test_segments_are_the_first_exchanges(held: Held) -> None:
    """k exchanges from the start, both speakers asked about, people among them."""
    if held.preset.task != "spot_the_bot":
        pytest.skip("segments")
    kinds = Counter()
    for record in held.ordinary:
        (shown,) = record.dialogues
        assert shown.k in (1, 3, 5)
        assert len(shown.lines) == 2 * (shown.k + 1), "after the exchange that no model said"
        assert [line.text.partition(" says")[0] for line in shown.lines] == ["one", "two"] * (shown.k + 1)
        assert shown.judged is None
        assert record.group == sorted(shown.entities)
        kinds[shown.kind] += 1
        assert [answer.question_id for answer in record.answers] == [
            "label_0",
            "label_1",
            "fluent",
            "specific",
            "sensible",
        ]
        assert len({answer.seconds for answer in record.answers}) == 1
    assert set(kinds) == {"bot_bot", "human_human"}
    share = kinds["human_human"] / len(held.ordinary)
    assert abs(share - held.run.study.config.human_share) < 0.12


def test_tables_and_report_are_made(held: Held) -> None:
    """On the screen within 80 columns, and as JSON."""
    arguments = ["--task-name", held.run.task_name, "--data-dir", str(held.run.data_dir)]
    done = CliRunner().invoke(report, arguments, env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    assert max(map(len, done.output.splitlines())) <= 80
    done = CliRunner().invoke(report, [*arguments, "--json"])
    found = json.loads(done.output)
    assert found["technique"] == held.preset.task
    assert tables(held.records) is not None
