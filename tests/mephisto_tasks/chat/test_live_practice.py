"""The practice before the first dialogue: judged on the server, two tries, and the true reason for who comes back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from live import Launch, Rater, eventually, good_replies, launch, records, rows

from mephisto_tasks.admission.admission import PHRASES
from mephisto_tasks.admission.identity import BUSY
from mephisto_tasks.admission.visits import only_closing
from mephisto_tasks.cli.report import answers_of
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.session.steps import FAILED_TITLE, PASSED_TITLE
from mephisto_tasks.session.study import PRACTICE_PASSED, UnitWords, filled
from parlai_humaneval.materials.instructions import ChooseItem
from parlai_humaneval.schema.steps import ChooseStep, EndStep, Notice

QUALIFICATION = "pw-practice"
WRONG = ["good", "bad", "good", "good"]
RIGHT = ["good"] * 4


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStudy]:
    folder = tmp_path_factory.mktemp("practice")
    with launch(folder, dialogues_per_group=20, onboarding_qualification=QUALIFICATION) as run:
        yield run


@pytest.fixture(scope="module")
def good(run: RunningStudy) -> frozenset[str]:
    assert run.study.practice is not None
    return good_replies(run)


def granted(data_dir: Path, worker: str) -> dict[str, int]:
    sql = """SELECT qualification_name, value FROM granted_qualifications
             JOIN qualifications USING (qualification_id) JOIN workers USING (worker_id) WHERE worker_name = ?"""
    return dict(rows(data_dir, sql, f"{worker}_sandbox"))


async def test_wrong_then_right_passes_with_feedback_between(run: RunningStudy, good: frozenset[str]) -> None:
    assert run.study.practice is not None
    async with Rater(run, "second-try") as rater:
        state = await rater.practise(WRONG, good)
        assert state.notice is not None
        assert "One answer was not what we were looking for" in state.notice.text
        wrong = run.study.practice.items[1]
        assert "answer again. The order of the replies may have changed." in state.notice.text
        assert wrong.why in "\n".join([state.notice.text, *state.notice.points])
        assert "one more try" in state.notice.text
        assert state.progress is not None
        assert (state.progress.unit, state.progress.current, state.progress.total) == ("practice", 1, 4)
        assert len(state.transcript) == 1, "the second try begins with an empty conversation"
        state = await rater.practise(RIGHT, good)
        assert isinstance(state.step, EndStep)
        assert (state.step.title, state.step.next) == (PASSED_TITLE, "submit_onboarding")
        details = await rater.client.submit_onboarding()
        assert details["failure_reason"] is None
        state = await rater.state()
        assert state.phase == "task"
        assert state.notice == Notice(level="success", text=filled(PRACTICE_PASSED, UnitWords()))
        assert (await rater.choose()).notice is None, "said once"
        await rater.finish()
    assert granted(run.data_dir, "second-try") == {QUALIFICATION: 1}


async def test_twice_wrong_is_refused_politely_for_good(run: RunningStudy, good: frozenset[str]) -> None:
    """The refusal, both qualifications in the database, and the true reason on coming back and on reloading."""
    async with Rater(run, "twice-wrong") as rater:
        await rater.practise(WRONG, good)
        state = await rater.practise(WRONG, good)
        assert isinstance(state.step, EndStep)
        assert state.step.title == FAILED_TITLE
        assert granted(run.data_dir, "twice-wrong") == {QUALIFICATION: 0, f"{QUALIFICATION}-failed": 0}
        details = await rater.client.submit_onboarding()
        assert details["failure_reason"].startswith(only_closing(PHRASES["practice_failed"]))
    for assignment in ("a-twice-wrong", "another"):
        async with Rater(run, "twice-wrong", assignment) as rater:
            assert str(rater.client.refused).startswith(only_closing(PHRASES["practice_failed"]))


async def test_a_reload_in_the_practice_finds_its_place(run: RunningStudy, good: frozenset[str]) -> None:
    async with Rater(run, "reloader") as first:
        before = await first.practise(["good", "bad"], good)
    async with Rater(run, "reloader") as again:
        assert await again.state() == before
        state = await again.practise(["good", "good"], good)
        assert state.notice is not None, "the wrong answer before the reload counts"
        await again.practise(RIGHT, good)
        await again.client.submit_onboarding()
        await again.finish()
    assert granted(run.data_dir, "reloader") == {QUALIFICATION: 1}


async def test_a_failed_practice_that_is_never_handed_in_counts(run: RunningStudy, good: frozenset[str]) -> None:
    """A page that stops before handing in would otherwise get as many tries as it likes."""
    async with Rater(run, "keeps-it") as rater:
        await rater.practise(WRONG, good)
        await rater.practise(WRONG, good)
    assert granted(run.data_dir, "keeps-it")[QUALIFICATION] == 0


async def test_handing_the_practice_in_before_its_end_does_not_pass_it(run: RunningStudy, good: frozenset[str]) -> None:
    """Whatever the page claims, only what the server saw counts."""
    async with Rater(run, "claims") as rater:
        await rater.practise(["good"], good)
        details = await rater.client.submit_onboarding()
        assert details["failure_reason"].startswith(only_closing(PHRASES["practice_failed"]))
    assert granted(run.data_dir, "claims")[QUALIFICATION] == 0


async def test_a_second_page_of_a_practising_worker_is_refused(run: RunningStudy, good: frozenset[str]) -> None:
    """Two practices at once would be twice the tries; the first page goes on."""
    async with Rater(run, "two-pages", "one") as first:
        state = await first.state()
        async with Rater(run, "two-pages", "two") as second:
            assert second.client.refused == BUSY
        assert (await first.state()).step == state.step
        await first.practise(RIGHT, good)
        await first.client.submit_onboarding()
        await first.finish()


async def test_cards_tell_nothing_of_which_is_right(run: RunningStudy) -> None:
    """Ids are random, and the better reply stands first about as often as second."""
    assert run.study.practice is not None
    item = run.study.practice.items[0]
    assert isinstance(item, ChooseItem)
    first = 0
    for number in range(12):
        async with Rater(run, f"looks-{number}") as rater:
            step = (await rater.state()).step
            assert isinstance(step, ChooseStep)
            assert not {card.candidate_id for card in step.cards} & {"good", "bad"}
            first += step.cards[0].text == item.replies[0]
    assert 2 <= first <= 10


async def test_tries_are_not_given_back_to_who_leaves(start: Launch) -> None:
    """Fail the first try, leave, come back: one try is left. And the new page begins with its own first state."""
    async with start(onboarding_qualification=QUALIFICATION, disconnect_after_s=1) as run:
        assert run.study.practice is not None
        good = good_replies(run)
        async with Rater(run, "leaver") as rater:
            await rater.practise([*WRONG, "good"], good)
            agent_id = rater.client.agent_id
        await eventually(lambda: not run.live_run.task_runner.running_onboardings, timeout=25)
        async with Rater(run, "leaver") as rater:
            assert rater.client.agent_id != agent_id
            state = await rater.state()
            assert len(state.transcript) == 1
            state = await rater.practise(WRONG, good)
            assert isinstance(state.step, EndStep)
            assert state.step.title == FAILED_TITLE


async def test_nobody_practises_for_nothing(start: Launch) -> None:
    """When the only dialogue is being rated, a newcomer is told so at once, and not after four practice questions."""
    async with start(onboarding_qualification=QUALIFICATION) as run:
        assert run.study.practice is not None
        good = good_replies(run)
        async with Rater(run, "first") as first:
            await first.practise(RIGHT, good)
            await first.client.submit_onboarding()
            await first.state()
            async with Rater(run, "second") as second:
                assert second.client.refused is not None
                assert "are taken right now" in second.client.refused
            await first.finish()
        async with Rater(run, "third") as third:
            assert third.client.refused is not None
            assert "All conversations in this study have been completed" in third.client.refused


async def test_a_restart_gives_no_try_back_and_the_record_tells_of_the_practice(start: Launch) -> None:
    """One try failed before the stop: after it, one is left; the dialogue's record holds both, and so does the report."""
    settings = {"onboarding_qualification": "across", "dialogues_per_group": 2}
    async with start(**settings) as run:
        assert run.study.practice is not None
        good = good_replies(run)
        async with Rater(run, "twice") as rater:
            assert (await rater.practise(WRONG, good)).notice is not None
    async with start(**settings) as run:
        async with Rater(run, "twice", "again") as rater:
            state = await rater.state()
            assert isinstance(state.step, ChooseStep)
            assert state.step.step_id.startswith("practice-2-")
            await rater.practise(RIGHT, good)
            await rater.client.submit_onboarding()
            await rater.finish()
        await eventually(lambda: records(run)[0].status == "complete")
        (record,) = records(run)
        practice = {"passed": True, "tries": 2, "choices": [WRONG, RIGHT]}
        assert record.checks["practice"] == practice
        counted = answers_of(run.data_dir, run.task_name)[1].practice
        assert counted is not None
        assert (counted.passed, counted.failed, counted.not_ended) == (1, 0, 0)
