"""The page is never trusted: whatever it sends out of order is refused with a sentence, and changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from live import REASON, Rater, eventually, launch, records, same_but_for_the_notice

from mephisto_tasks.engine.answer_reading import NOT_FINISHED
from mephisto_tasks.engine.page_session import MAX_REFUSED_STORED
from mephisto_tasks.study.launching import Launched
from parlai_humaneval.protocol.page.steps import ChooseStep
from parlai_humaneval.protocol.records.dialogue import DialogueRecord


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launched]:
    with launch(tmp_path_factory.mktemp("refusals"), dialogues_per_group=30) as run:
        yield run


def stored(run: Launched, rater: Rater) -> DialogueRecord:
    return next(r for r in records(run) if r.dialogue_id.endswith(f"-{rater.client.agent_id}"))


def forged(case: str, step: ChooseStep) -> dict[str, Any]:
    good = {"kind": "choose", "step_id": step.step_id, "selected": [step.cards[0].candidate_id], "reason": REASON}
    changes: dict[str, dict[str, Any]] = {
        "unknown candidate": {"selected": ["0" * 16]},
        "no candidate": {"selected": []},
        "both candidates": {"selected": [card.candidate_id for card in step.cards]},
        "the same twice": {"selected": [step.cards[0].candidate_id] * 2},
        "missing reason": {"reason": ""},
        "reason of spaces": {"reason": "   \n  "},
        "reason too short": {"reason": "just two"},
        "reason of signs": {"reason": "!!! ??? ... ---"},
        "wrong step": {"step_id": "choose-7"},
        "field too much": {"model": "alpha"},
        "selected is no list": {"selected": step.cards[0].candidate_id},
        "number for a reason": {"reason": 5},
        "reason without end": {"reason": "many words " * 5000},
    }
    whole: dict[str, dict[str, Any]] = {
        "wrong kind": {"kind": "message", "step_id": step.step_id, "text": "I write instead"},
        "feedback before its time": {"kind": "feedback", "step_id": step.step_id, "text": "bye"},
        "garbage": {"kind": "delete everything", "step_id": [], "x": {"y": None}},
        "empty": {},
    }
    return whole[case] if case in whole else {**good, **changes[case]}


CASES = [
    "unknown candidate",
    "no candidate",
    "both candidates",
    "the same twice",
    "missing reason",
    "reason of spaces",
    "reason too short",
    "reason of signs",
    "wrong step",
    "field too much",
    "selected is no list",
    "number for a reason",
    "reason without end",
    "wrong kind",
    "feedback before its time",
    "garbage",
    "empty",
]


async def test_forged_choices_change_nothing_and_the_dialogue_goes_on(run: Launched) -> None:
    """Every forgery in turn, at one step: a sentence each, the same step again; then the dialogue completes."""
    async with Rater(run, "forger") as rater:
        before = await rater.talk_until("choose", turn=2)
        assert isinstance(before.step, ChooseStep)
        turns = stored(run, rater).turns
        for case in CASES:
            after = await rater.send(**forged(case, before.step))
            assert after.notice is not None, case
            assert after.notice.level == "error", case
            assert len(after.notice.text) > 20, case
            assert same_but_for_the_notice(before, after), case
        record = stored(run, rater)
        assert record.turns == turns
        assert record.refused_answers == len(CASES)
        assert record.status == "running"
        end = await rater.finish()
    assert end.step.kind == "end"
    record = stored(run, rater)
    assert record.status == "complete"
    assert len(record.complete_turns) == 2


async def test_a_second_pick_of_a_turn_is_refused(run: Launched) -> None:
    """The same answer again under a new id, after the turn has gone on: the first one stands."""
    async with Rater(run, "second-pick") as rater:
        state = await rater.talk_until("choose", turn=1)
        assert isinstance(state.step, ChooseStep)
        first, second = (card.candidate_id for card in state.step.cards)
        answer = {"kind": "choose", "step_id": "choose-1", "reason": REASON}
        await rater.send(**answer, selected=[first])
        after = await rater.send(**answer, selected=[second])
        assert after.notice is not None
        assert "earlier step" in after.notice.text
        await rater.finish()
    assert stored(run, rater).turns[0].continued == first


async def test_the_same_answer_sent_again_counts_once(run: Launched) -> None:
    """A page that resends an unconfirmed answer under its old id does not answer the next step with it."""
    async with Rater(run, "repeater") as rater:
        await rater.talk_until("message", turn=2)
        answer = {"kind": "message", "step_id": "message-2", "text": "once only", "update_id": "same-id"}
        await rater.send(**answer)
        await rater.client.send_raw(
            {"packet_type": "mephisto_bound_live_update", "subject_id": rater.client.agent_id, "data": answer}
        )
        await rater.finish()
    record = stored(run, rater)
    assert [turn.human_text for turn in record.turns] == ["Hi!", "once only"]
    assert record.refused_answers == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "write a message"),
        (" \n ", "write a message"),
        ("?!", "at least one word"),
        ("x" * 2001, "2000 characters"),
    ],
)
async def test_messages_that_cannot_be_sent(run: Launched, text: str, said: str) -> None:
    async with Rater(run, f"wordless-{len(text)}") as rater:
        before = await rater.talk_until("message", turn=2)
        after = await rater.send(kind="message", step_id="message-2", text=text)
        assert after.notice is not None
        assert said in after.notice.text
        assert same_but_for_the_notice(before, after)
        await rater.finish()
    assert stored(run, rater).refused_answers == 1


async def test_packets_that_are_no_packets_do_not_end_the_dialogue(run: Launched) -> None:
    async with Rater(run, "noise") as rater:
        await rater.talk_until("message", turn=2)
        for raw in ("", "not json", "[1, 2]", "null", json.dumps({"packet_type": "mephisto_bound_live_update"})):
            await rater.client.send_raw(raw)
        await rater.client.next_error(after=4)
        await rater.finish()
    assert stored(run, rater).status == "complete"


@pytest.mark.parametrize("stage", ["choose", "message"])
async def test_a_unit_handed_in_early_is_refused_and_goes_on(run: Launched, stage: str) -> None:
    """A page that submits in mid-dialogue is told that it is not finished; nothing ends, and it hands in again later."""
    async with Rater(run, f"early-{stage}") as rater:
        before = await rater.talk_until(stage, turn=1 if stage == "choose" else 2)
        await rater.client.submit_task()
        await eventually(lambda: rater.newest.notice is not None)
        assert rater.newest.notice is not None
        assert rater.newest.notice.text == NOT_FINISHED
        assert same_but_for_the_notice(before, rater.newest)
        await rater.finish()
        await eventually(lambda: rater.client.status == "completed")
    record = stored(run, rater)
    assert (record.status, len(record.complete_turns), record.refused_answers) == ("complete", 2, 1)


async def test_a_flood_of_wrong_answers_does_not_fill_the_disk(run: Launched, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first refusals are written down; the page still gets its sentence each time."""
    monkeypatch.setattr("mephisto_tasks.engine.page_session.MAX_REFUSED_STORED", 3)
    assert MAX_REFUSED_STORED > 3
    async with Rater(run, "flood") as rater:
        await rater.talk_until("message", turn=2)
        for _ in range(6):
            state = await rater.send(kind="message", step_id="message-2", text="")
            assert state.notice is not None
        await rater.finish()
    assert stored(run, rater).refused_answers == 3


async def test_what_a_model_or_a_rater_writes_is_kept_letter_by_letter(run: Launched) -> None:
    """Mark-up, quotes, other scripts, line breaks: stored and shown as written."""
    text = '<script>alert("x")</script> {brace} \\n “quote” 你好 \U0001f600\nsecond line\t.'
    async with Rater(run, "letters") as rater:
        await rater.talk_until("message", turn=2)
        state = await rater.write(text)
        assert state.transcript[-1].text == text
        await rater.finish(feedback=text)
    record = stored(run, rater)
    assert record.turns[1].human_text == text
    assert record.feedback == text
