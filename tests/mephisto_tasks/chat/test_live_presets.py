"""Every preset from its own local conf, its own practice and embedded models, by simulated raters, from end to end."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest
from click.testing import CliRunner
from live import eventually, rows, threads_of_launches

from mephisto_tasks.cli.report import report
from mephisto_tasks.launch import launch as launching
from mephisto_tasks.launch.config import compose_config
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.simulation.raters import Behaviour, Outcome, run_raters
from mephisto_tasks.storage.results import read_dialogues
from parlai_humaneval.schema.pseudonyms import Pseudonymizer
from parlai_humaneval.schema.records import DialogueRecord, Turn
from parlai_humaneval.tables.build import tables

Sent = tuple[str, Any]
"""Kind of an answer, and what it said."""


@dataclass(frozen=True)
class Preset:
    """A task, a conf of it, numbers to override, and the raters that it takes to collect all."""

    task: str
    raters: int
    conf: str = "local"
    changes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "-".join([self.task, self.conf, *(change.rpartition("=")[2] for change in self.changes)])


PRESETS = [
    Preset("pw_turn", 4),
    Preset("sata", 4),
    Preset("sata", 4, changes=("setting=soba",)),
    Preset("sata", 8, changes=("setting=[sata_random,sata_user]",)),
    Preset("single_model", 8),
    Preset("single_model", 8, conf="appropriate"),
    Preset("free_for_all", 4),
    Preset("free_for_all", 4, changes=("setting=many", "history=independent")),
    Preset("arena", 4),
    Preset("direct_assessment", 4),
]


@dataclass
class Held:
    """A study that is over."""

    preset: Preset
    run: RunningStudy
    outcomes: list[Outcome]
    records: list[DialogueRecord]

    def of(self, outcome: Outcome) -> list[DialogueRecord]:
        """The dialogues of one rater, in order."""
        names = Pseudonymizer.load_or_create(self.run.data_dir / "pseudonym.key")
        return [r for r in self.records if r.worker == names.worker(f"{outcome.worker}_sandbox")]


@pytest.fixture(scope="module", params=PRESETS, ids=str)
def held(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Held:
    preset: Preset = request.param
    data_dir = tmp_path_factory.mktemp(preset.task)
    numbers = ["turns=3", "dialogues_per_group=4", "seed=5", *preset.changes]
    overrides = [f"mephisto.blueprint.{change}" for change in numbers] + ["mephisto.architect.port=0"]
    with launching.run_launch(preset.task, compose_config(preset.task, preset.conf, overrides), data_dir) as run:
        assert run.study.practice is not None, "the preset has a practice of its own"
        behaviour = Behaviour(
            model_of=run.study.shown.get,
            prefer="retrieval",
            strength=0.8,
            practice=run.study.practice,
            more_turns=1,
        )
        raters = run_raters(
            run.url, behaviour, announce=run.study.simulated.add, raters=4, dialogues=preset.raters, seed=1
        )
        outcomes = asyncio.run(asyncio.wait_for(raters, timeout=60))
        asyncio.run(eventually(run.is_done))
    assert threads_of_launches() == []
    return Held(preset, run, outcomes, read_dialogues(data_dir, run.task_name))


def sent(answers: list[dict[str, Any]]) -> list[Sent]:
    """What a rater sent, in the terms of a record."""
    found: list[Sent] = []
    for answer in answers:
        match answer:
            case {"kind": "message" | "write" | "feedback", "text": text}:
                found.append((answer["kind"], text.strip()))
            case {"kind": "choose", "selected": selected, "none": none, "reason": reason}:
                found.append(("choose", (sorted(selected), none, reason or None)))
            case {"kind": "tick", "step_id": "verdict", "selected": [verdict]}:
                found.append(("verdict", verdict))
            case {"kind": "tick", "selected": selected, "none": none}:
                found.append(("tick", (selected, none)))
            case {"kind": "rate", "values": values}:
                found.append(("rate", values))
            case {"kind": "topic", "text": text, "opinion": opinion}:
                found.append(("topic", (text, opinion)))
            case {"kind": "action", "action_id": "end"}:
                found.append(("end", True))
            case {"kind": "action", "action_id": verdict}:
                found.append(("verdict", verdict))
            case _:
                raise AssertionError(f"an answer that no record would hold: {answer}")
    return found


def stored(record: DialogueRecord) -> list[Sent]:
    """The same of what is stored of one dialogue."""
    found: list[Sent] = []
    if record.context.topic_source == "free":
        found.append(("topic", (record.context.topic, record.context.opinion)))
    found += [answer for turn in record.turns for answer in stored_turn(turn)]
    if record.verdict is not None:
        found.append(("verdict", record.verdict))
    elif record.ended_by_rater:
        found.append(("end", True))
    if record.criteria:
        found.append(("rate", record.final_ratings))
    if record.feedback is not None:
        found.append(("feedback", record.feedback))
    return found


def stored_turn(turn: Turn) -> list[Sent]:
    found: list[Sent] = [] if turn.human_fixed else [("message", turn.human_text.strip())]
    own_cards = {candidate.candidate_id for candidate in turn.candidates if candidate.same_as is None}
    if turn.ticks is not None:
        found.append(("tick", (turn.ticks, turn.none_said)))
    elif (turn.selected or turn.none_said) and not turn.automatic:
        found.append(("choose", (sorted(own_cards & set(turn.selected)), turn.none_said, turn.reason)))
    if turn.written is not None:
        found.append(("write", turn.written))
    return found


def test_every_rater_finishes(held: Held) -> None:
    """Nobody is stopped or refused, and Mephisto knows every unit and practice as done."""
    assert [(o.finished, o.refused, o.stopped) for o in held.outcomes] == [(True, None, None)] * held.preset.raters
    assert {status for (status,) in rows(held.run.data_dir, "SELECT status FROM units")} == {"completed"}
    assert {record.status for record in held.records} == {"complete"}
    assert held.run.study.allocator.remaining == 0


def test_nothing_is_lost_or_doubled(held: Held) -> None:
    """Each answer that a rater sent stands once in their records, in order, and nothing else does."""
    for outcome in held.outcomes:
        own = held.of(outcome)
        assert own
        assert [answer for record in own for answer in stored(record)] == sent(outcome.answers)
        assert sum(record.refused_answers for record in own) == 0
    assert sum(len(held.of(outcome)) for outcome in held.outcomes) == len(held.records)


def test_records_are_whole(held: Held) -> None:
    """Turns without gaps, models of the conf, times in order, the practice passed, and the settings that were in force."""
    config = held.run.study.config
    for record in held.records:
        assert [turn.turn for turn in record.turns] == list(range(1, len(record.turns) + 1))
        assert len(record.complete_turns) == len(record.turns) >= config.turns
        assert {model.name for model in record.models} <= set(config.model_names())
        assert record.technique == held.preset.task
        assert record.setting in config.settings()
        assert record.question
        assert record.checks["practice"]["passed"] is True
        assert record.finished_at is not None
        assert record.started_at <= record.finished_at
        assert record.settings["study_seed"] == 5
        for turn in record.turns:
            assert sorted({c.model for c in turn.candidates}) == sorted(model.name for model in record.models)
            assert turn.answered_at is not None


def test_points_follow_from_the_picks(held: Held) -> None:
    """A point for each pick where replies are picked, none elsewhere; and the stated preference shows in them."""
    picks = asks_for_picks(held)
    for record in held.records:
        assert bool(record.points) == picks
        assert set(record.ranks) == set(record.points)
    if picks:
        won = {name: sum(r.points[name] for r in held.records if name in r.points) for name in ("eliza", "retrieval")}
        assert won["retrieval"] > won["eliza"]


def asks_for_picks(held: Held) -> bool:
    config = held.run.study.config
    return config.of(config.settings()[0]).turn_question == "choose"


def test_tables_hold_every_turn_and_rating(held: Held) -> None:
    """A row a candidate, a dialogue, a rating and a model with points; nothing of the records is left out."""
    got = tables(held.records)
    assert len(got.dialogues) == len(held.records)
    assert len(got.turns) == sum(len(turn.candidates) for record in held.records for turn in record.turns)
    assert len(got.ratings) == sum(len(record.final_ratings) for record in held.records)
    assert len(got.points) == sum(len(record.points) for record in held.records)
    assert set(got.turns["technique"]) == {held.preset.task}


def test_the_report_is_made(held: Held) -> None:
    """On the screen within 80 columns, and as JSON with the numbers of this study."""
    arguments = ["--task-name", held.run.task_name, "--data-dir", str(held.run.data_dir)]
    done = CliRunner().invoke(report, arguments, env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    assert max(map(len, done.output.splitlines())) <= 80
    assert "retrieval" in done.output
    done = CliRunner().invoke(report, [*arguments, "--json"])
    found = json.loads(done.output)
    assert found["technique"] == held.preset.task
    assert found["dialogue_count"]["complete"] == len(held.records)
    assert found["practice"]["passed"] == held.preset.raters


def test_no_page_was_told_a_model(held: Held) -> None:
    """The last state of every page names none of the models: a rater stays blind."""
    for file in held.run.data_dir.glob("data/runs/NO_PROJECT/*/*/*/state.json"):
        page = json.dumps(json.loads(file.read_text())["last_page"]["state"]).lower()
        assert not [name for name in ("retrieval", "eliza", "degraded") if name in page]
