"""The Bot Speaker as an engine sees it: observe, act, accept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from parlai_humaneval.models.bot_speaker.bot_speaker import BotSpeakerAgent, NothingToAnswer, UnknownCandidate
from parlai_humaneval.models.model_pool import ModelFailed
from parlai_humaneval.models.zoo.entries import ZooError
from parlai_humaneval.schema.records import Candidate


def human(text: str, **fields: Any) -> dict[str, Any]:
    return {"id": "human", "text": text, "episode_done": False, **fields}


def heard_by_children(speaker: BotSpeakerAgent) -> list[list[tuple[str, str]]]:
    return [child.agent.dialogue for child in speaker._children]


@pytest.fixture
def speaker(scripted_pool: Any) -> BotSpeakerAgent:
    pool = scripted_pool({"up": str.upper, "down": lambda text: f"so, {text.lower()}"})
    return pool.speaker(["up", "down"], seed=5)


def test_a_message_is_plain_json_and_its_candidates_are_records(speaker: BotSpeakerAgent) -> None:
    """Guards what the engine stores: default first, positions from 1, every field of the record's Candidate."""
    speaker.observe(human("Hi there"))
    message = speaker.act()
    assert json.loads(json.dumps(message)) == message
    assert message["id"] == "BotSpeaker"
    assert message["episode_done"] is False
    candidates = [Candidate(**candidate) for candidate in message["candidates"]]
    assert [candidate.position for candidate in candidates] == [1, 2]
    assert {candidate.model: candidate.text for candidate in candidates} == {"up": "HI THERE", "down": "so, hi there"}
    assert message["text_candidates"] == [candidate.text for candidate in candidates]
    assert message["text"] == candidates[0].text
    assert all(candidate.latency_s >= 0 for candidate in candidates)


def test_torch_agents_leave_no_tensor_in_the_message(tiny_pool: Any) -> None:
    """Guards that a real TorchAgent's scores and metrics do not leak into what is sent and stored."""
    speaker = tiny_pool.speaker(["tiny_a", "tiny_b"], seed=1)
    speaker.observe(human("Hi!"))
    message = speaker.act()
    assert json.loads(json.dumps(message)) == message


def test_candidate_ids_cannot_be_guessed_and_are_never_used_again(speaker: BotSpeakerAgent) -> None:
    """Guards against a page that replays or invents an id: 64 random bits, fresh in each turn."""
    seen = set()
    for turn in range(20):
        speaker.observe(human(f"line {turn}"))
        ids = [candidate["candidate_id"] for candidate in speaker.act()["candidates"]]
        assert all(len(bytes.fromhex(candidate_id)) == 8 for candidate_id in ids)
        seen.update(ids)
        speaker.accept(ids[0])
    assert len(seen) == 40


def test_what_is_accepted_is_heard_by_every_model_as_its_own(speaker: BotSpeakerAgent) -> None:
    """Guards the shared history: second candidate, then a written text, then an observe() without accept()."""
    speaker.observe(human("One"))
    second = speaker.act()["candidates"][1]
    assert speaker.accept(second["candidate_id"]) == second["text"]
    speaker.observe(human("Two"))
    speaker.act()
    speaker.accept(text="A better answer.")
    speaker.observe(human("Three"))
    default = speaker.act()["text"]
    speaker.observe(human("Four"))
    expected = [
        ("human", "One"), ("bot", second["text"]), ("human", "Two"), ("bot", "A better answer."),
        ("human", "Three"), ("bot", default), ("human", "Four"),
    ]  # fmt: skip
    assert speaker.dialogue == expected
    assert heard_by_children(speaker) == [expected, expected]


def test_accept_refuses_what_it_cannot_know(speaker: BotSpeakerAgent) -> None:
    """Guards that a forged or repeated choice changes nothing."""
    speaker.observe(human("Hi"))
    chosen = speaker.act()["candidates"][0]
    with pytest.raises(UnknownCandidate, match="no candidate of this turn"):
        speaker.accept("0123456789abcdef")
    with pytest.raises(ValueError, match="either"):
        speaker.accept(chosen["candidate_id"], text="both")
    with pytest.raises(ValueError, match="either"):
        speaker.accept()
    with pytest.raises(ValueError, match="blank"):
        speaker.accept(text="  ")
    with pytest.raises(ValueError, match="blank"):
        speaker.accept(text="\u200b")
    assert speaker.dialogue == [("human", "Hi")]
    speaker.accept(chosen["candidate_id"])
    with pytest.raises(KeyError):
        speaker.accept(chosen["candidate_id"])
    assert speaker.dialogue == [("human", "Hi"), ("bot", chosen["text"])]


def test_act_again_before_accepting_gives_the_same_candidates(speaker: BotSpeakerAgent) -> None:
    """Guards a world that asks twice, after a reconnect say: ids on the page stay valid."""
    speaker.observe(human("Hi"))
    assert speaker.act() is speaker.act()


def test_act_before_anything_was_said_is_a_named_error(speaker: BotSpeakerAgent) -> None:
    """Guards against models that are asked to answer nothing."""
    with pytest.raises(NothingToAnswer, match="observe"):
        speaker.act()


def test_an_opening_line_and_a_second_line_in_a_row(speaker: BotSpeakerAgent) -> None:
    """Guards that the Bot Speaker may be given its first line, and may go on speaking after its own."""
    speaker.accept(text="Hello, who are you?")
    assert speaker.act()["text_candidates"]
    speaker.observe(human("I am Ann"))
    assert speaker.dialogue[0] == ("bot", "Hello, who are you?")


def test_positions_are_balanced_over_a_dialogue(speaker: BotSpeakerAgent) -> None:
    """Guards that a rater who always takes the first card does not favour a model: 3 of 6 turns each."""
    first = []
    for turn in range(6):
        speaker.observe(human(f"line {turn}"))
        first.append(speaker.act()["candidates"][0]["model"])
    assert sorted(first) == ["down"] * 3 + ["up"] * 3


def test_reset_and_clone_begin_with_an_empty_history(speaker: BotSpeakerAgent) -> None:
    """Guards that conversations share weights and nothing else."""
    speaker.observe(human("Secret"))
    speaker.act()
    clone = speaker.clone()
    clone.observe(human("Hello"))
    assert clone.dialogue == [("human", "Hello")]
    assert heard_by_children(clone) == [[("human", "Hello")]] * 2
    speaker.reset()
    assert speaker.dialogue == []
    assert heard_by_children(speaker) == [[], []]


def test_episode_done_ends_the_dialogue_after_its_answer(speaker: BotSpeakerAgent) -> None:
    """Guards ParlAI's tasks: the last example is answered in context, the next begins anew."""
    speaker.observe(human("Bye", episode_done=True))
    speaker.act()
    speaker.observe(human("New"))
    assert speaker.dialogue == [("human", "New")]


def test_end_of_input_is_answered_without_asking_a_model(speaker: BotSpeakerAgent) -> None:
    """Guards `parlai interactive` at end of input, which sends a message of nothing but episode_done."""
    speaker.observe(human("Hi"))
    speaker.act()
    speaker.observe({"episode_done": True})
    assert speaker.act()["episode_done"] is True
    assert speaker.dialogue == []


def test_labels_never_reach_the_models(tiny_pool: Any) -> None:
    """Guards a TorchAgent's history: given a label, it would note that in place of what was said."""
    speaker = tiny_pool.speaker(["tiny_a", "tiny_b"], seed=1)
    speaker.observe(human("Hi!", eval_labels=["the label"]))
    speaker.act()
    speaker.accept(text="What was said.")
    for child in speaker._children:
        assert child.agent.history.history_raw_strings == ["Hi!", "What was said."]


def test_a_failed_turn_keeps_the_dialogue_and_can_be_tried_again(scripted_pool: Any) -> None:
    """Guards that a model's failure costs no conversation: same dialogue, then a good answer, one more turn."""
    broken = [True]

    def fragile(text: str) -> str:
        if broken[0]:
            raise RuntimeError("disk full")
        return f"fine: {text}"

    pool = scripted_pool({"good": str.upper, "fragile": fragile}, retries=1)
    speaker = pool.speaker(["good", "fragile"], seed=0)
    speaker.observe(human("Hi"))
    with pytest.raises(ModelFailed, match="disk full") as failure:
        speaker.act()
    assert failure.value.models == ["fragile"]
    assert speaker.dialogue == [("human", "Hi")]
    broken[0] = False
    assert sorted(speaker.act()["text_candidates"]) == ["HI", "fine: Hi"]
    speaker.accept(text="Go on.")
    assert heard_by_children(speaker) == [[("human", "Hi"), ("bot", "Go on.")]] * 2


def test_a_name_is_masked_and_the_masked_text_is_what_all_hear(scripted_pool: Any) -> None:
    """Guards blindness of raters, and that histories hold what was shown."""
    pool = scripted_pool({"giveaway": lambda _: "I am ChatGPT.", "plain": lambda _: "Hello."})
    speaker = pool.speaker(["giveaway", "plain"], seed=0)
    speaker.observe(human("Who are you?"))
    by_model = {candidate["model"]: candidate for candidate in speaker.act()["candidates"]}
    assert by_model["giveaway"]["text"] == "I am [name]."
    assert by_model["giveaway"]["raw_text"] == "I am ChatGPT."
    mask = {"start": 5, "end": 12, "original": "ChatGPT", "replacement": "[name]", "kind": "name"}
    assert by_model["giveaway"]["masks"] == [mask]
    assert by_model["plain"]["raw_text"] is None
    speaker.accept(by_model["giveaway"]["candidate_id"])
    assert heard_by_children(speaker) == [[("human", "Who are you?"), ("bot", "I am [name].")]] * 2


def test_a_model_can_stand_against_itself(scripted_pool: Any) -> None:
    """Guards the A/A comparison that shows how large a difference chance makes."""
    speaker = scripted_pool({"up": str.upper}).speaker(["up", "up"], seed=0)
    speaker.observe(human("Hi"))
    candidates = speaker.act()["candidates"]
    assert [candidate["model"] for candidate in candidates] == ["up", "up"]
    assert candidates[0]["candidate_id"] != candidates[1]["candidate_id"]


def test_models_must_be_named(scripted_pool: Any) -> None:
    """Guards the messages for a wrong start: no models, one that the pool lacks, none on the command line."""
    pool = scripted_pool({"up": str.upper})
    with pytest.raises(ZooError, match="at least one model"):
        pool.speaker([], seed=0)
    with pytest.raises(ZooError, match="has no model called “down”, only up"):
        pool.speaker(["down"], seed=0)
    with pytest.raises(ZooError, match="--models eliza,retrieval"):
        BotSpeakerAgent({"models": ""})


def test_conversations_leave_no_notes_of_copies_behind(tiny_pool: Any, scripted_pool: Any) -> None:
    """ParlAI notes each deep copy of options in them: each conversation would carry those of all before it."""
    for pool, names in ((tiny_pool, ["tiny_a", "tiny_b"]), (scripted_pool({"up": str.upper}), ["up"])):
        speakers = [pool.speaker(names) for _ in range(4)]
        notes = [[len(child.agent.opt.deepcopies) for child in speaker._children] for speaker in speakers]
        assert notes == [notes[0]] * 4
        assert len({id(speaker.opt) for speaker in speakers}) == 4
