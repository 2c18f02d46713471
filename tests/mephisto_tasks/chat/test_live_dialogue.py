"""A dialogue from arrival to submit: everything sent is stored exactly once, in Mephisto's database and files."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest
from live import eventually, launch, records, rows, threads_of_launches

from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.simulation.raters import Behaviour, Outcome, run_raters
from parlai_humaneval.materials.contexts import load_personas
from parlai_humaneval.schema.pseudonyms import Pseudonymizer
from parlai_humaneval.schema.records import DialogueRecord

DIALOGUES = 8
TURNS = 6


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunningStudy, list[Outcome], list[DialogueRecord]]:
    """Eight simulated raters, four at a time, with practice, on the embedded models; over when the tests look."""
    data_dir = tmp_path_factory.mktemp("study")
    with launch(
        data_dir,
        models=["eliza", "retrieval"],
        turns=TURNS,
        dialogues_per_group=DIALOGUES,
        onboarding_qualification="pw-practice",
    ) as run:
        assert run.study.practice is not None
        behaviour = Behaviour(
            model_of=run.study.shown.get, prefer="retrieval", strength=0.8, practice=run.study.practice
        )
        outcomes = asyncio.run(
            run_raters(run.url, behaviour, announce=run.study.simulated.add, raters=4, dialogues=DIALOGUES, seed=1)
        )
        asyncio.run(eventually(run.is_done))
        left = dict(run.study.shown)
        pool = run.live_run.worker_pool
        states = [agent._state for agent in (*pool.agents.values(), *pool.final_onboardings.values())]
        assert len(states) == 2 * DIALOGUES
        assert states == [None] * len(states), "transcripts of dialogues that ended are kept in memory"
    assert left == {}, "the oracle for simulated raters keeps candidates of dialogues that ended"
    return run, outcomes, records(run)


def by_worker(study: tuple[RunningStudy, list[Outcome], list[DialogueRecord]]) -> dict[str, DialogueRecord]:
    run, outcomes, found = study
    names = Pseudonymizer.load_or_create(run.data_dir / "pseudonym.key")
    pseudonyms = {record.worker: record for record in found}
    return {outcome.worker: pseudonyms[names.worker(f"{outcome.worker}_sandbox")] for outcome in outcomes}


Study = tuple[RunningStudy, list[Outcome], list[DialogueRecord]]


def test_every_rater_finished(study: Study) -> None:
    _, outcomes, found = study
    assert [outcome.finished for outcome in outcomes] == [True] * DIALOGUES
    assert [record.status for record in found] == ["complete"] * DIALOGUES


def test_everything_sent_is_stored_exactly_once(study: Study) -> None:
    """Messages, selections and reasons of every turn, and the comment, in order, and nothing else."""
    stored = by_worker(study)
    for outcome in study[1]:
        record = stored[outcome.worker]
        assert len(record.turns) == len(outcome.turns) == TURNS
        for sent, turn in zip(outcome.turns, record.turns, strict=True):
            assert turn.selected == sent.selected
            assert turn.continued == sent.selected[0]
            assert turn.reason == sent.reason
            if turn.turn > 1:
                assert turn.human_text == sent.message
        assert (record.turns[0].human_text, record.turns[0].human_fixed) == ("Hi!", True)
        assert record.feedback == outcome.feedback
        assert record.refused_answers == 0


def test_times_are_in_order_and_add_up(study: Study) -> None:
    for record in study[2]:
        moments = [record.started_at]
        for turn in record.turns:
            assert turn.shown_at is not None
            assert turn.answered_at is not None
            assert turn.seconds is not None
            moments += [turn.human_at, turn.shown_at, turn.answered_at]
            assert 0 <= turn.seconds <= turn.answered_at - turn.human_at
        assert record.finished_at is not None
        assert [*moments, record.finished_at] == sorted([*moments, record.finished_at])


def test_mephisto_knows_every_unit_as_completed(study: Study) -> None:
    """Agents and units in the database agree with what happened; there are as many as were asked for."""
    run = study[0]
    agents = rows(run.data_dir, "SELECT status FROM agents")
    units = rows(run.data_dir, "SELECT status, agent_id FROM units")
    assert agents == [("completed",)] * DIALOGUES
    assert [status for status, _ in units] == ["completed"] * DIALOGUES
    assert len({agent for _, agent in units}) == DIALOGUES


def test_state_files_have_mephistos_layout_and_no_draft_is_left(study: Study) -> None:
    run_dir = study[0].data_dir / "data" / "runs" / "NO_PROJECT" / study[0].task_run_id
    files = list(run_dir.glob("*/*/state.json"))
    assert len(files) == 2 * DIALOGUES  # a practice and a dialogue each
    for file in files:
        stored = json.loads(file.read_text())
        assert set(stored["outputs"]) == {"messages", "final_submission"}
        assert stored["inputs"]
    assert not list(run_dir.rglob("*.new"))


def test_the_setting_is_stored_with_the_answers(study: Study) -> None:
    run, _, found = study
    for record in found:
        assert record.settings["study_seed"] == run.study.seed == 5
        assert record.settings["turns"] == TURNS
        assert record.question == run.study.config.question
        assert [model.name for model in record.models] == ["eliza", "retrieval"]
        assert record.models[0].options["model"] == "parlai_humaneval.agents.eliza:ElizaAgent"
        assert (record.task_name, record.task_run_id) == (run.task_name, run.task_run_id)
    assert len({record.seed for record in found}) == DIALOGUES
    assert len({record.dialogue_id for record in found}) == DIALOGUES


def test_personas_come_from_the_set_and_none_twice_before_all_were_used(study: Study) -> None:
    known = [persona.sentences for persona in load_personas()]
    given = [record.context.persona for record in study[2]]
    assert all(persona in known for persona in given)
    assert len({tuple(persona) for persona in given}) == DIALOGUES


def test_the_order_of_replies_is_random_and_balanced(study: Study) -> None:
    """Each model is first in half of the turns of a dialogue, and not in the same ones everywhere."""
    orders = []
    for record in study[2]:
        first = [turn.candidates[0].model for turn in record.turns]
        assert set(Counter(first).values()) == {TURNS // 2}
        orders.append(tuple(first))
        for turn in record.turns:
            assert [candidate.position for candidate in turn.candidates] == [1, 2]
            assert {candidate.model for candidate in turn.candidates} == {"eliza", "retrieval"}
    assert len(set(orders)) > 1


def test_records_hold_pseudonyms_only(study: Study) -> None:
    text = json.dumps([record.model_dump(mode="json", exclude={"feedback"}) for record in study[2]])
    assert "sim-" not in text
    assert len({record.worker for record in study[2]}) == DIALOGUES


def test_the_stated_preference_shows(study: Study) -> None:
    """A rater who prefers a model at 0.8 chooses it clearly more often than the other."""
    chosen = [
        next(c.model for c in turn.candidates if c.candidate_id == turn.continued)
        for record in study[2]
        for turn in record.turns
    ]
    assert chosen.count("retrieval") > 0.6 * len(chosen)


def test_the_practice_is_stored_as_a_qualification(study: Study) -> None:
    sql = """SELECT qualification_name, value FROM granted_qualifications
             JOIN qualifications USING (qualification_id) WHERE qualification_name = 'pw-practice'"""
    assert rows(study[0].data_dir, sql) == [("pw-practice", 1)] * DIALOGUES


def test_nothing_of_the_launch_is_left_running(study: Study) -> None:
    assert threads_of_launches() == []


def test_nothing_secret_reaches_a_page(study: Study) -> None:
    """No model name and no reason of a practice item stands in what a page was last shown."""
    run_dir = study[0].data_dir / "data" / "runs" / "NO_PROJECT" / study[0].task_run_id
    for file in run_dir.glob("*/*/state.json"):
        page = json.dumps(json.loads(file.read_text())["last_page"]["state"])
        assert "retrieval" not in page
        assert "eliza" not in page.lower()


def test_the_data_directory_has_no_build_left(study: Study) -> None:
    """The page's files are served from memory; a copy per launch would pile up."""
    assert not list(Path(study[0].data_dir).rglob("index.html"))
