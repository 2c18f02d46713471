"""Dialogues that grow longer than a model can read: the newest turns are read, whole, and the record says what is not."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web
from chat_pool import MakePool, say
from faulty_server import Fault, FaultyServer, completion
from hypothesis import given
from hypothesis import strategies as st
from tiny_hugging_face import folder_of, heard, spec_of

from parlai_humaneval.models.agent.dialogue_agent import HistoryLimit, Line, count_turns, history_limit, newest_turns
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.pool.asking import ModelFailed
from parlai_humaneval.models.pool.loading import load_agent
from parlai_humaneval.models.zoo.entries import ZooError

WORDS = "one two three four five six seven eight nine ten "
LINES = ("I have two dogs.", "They are nice.", "And a very old cat.", "How old is it?", "It is ten years old now.")
lines = st.lists(st.tuples(st.sampled_from(["human", "bot"]), st.text("ab ", min_size=1, max_size=9)), max_size=12)


def reads(most: int, words: str = "This model's maximum context length is {most} tokens. However, your messages resulted "
          "in {sent} tokens.", status: int = 400) -> Fault:  # fmt: skip
    """A server whose model reads ``most`` tokens, which are words here, the reply included."""

    async def answer(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        sent = sum(len(message["content"].split()) for message in body["messages"])
        if sent + body.get("max_tokens", 0) > most:
            return web.json_response({"error": {"message": words.format(most=most, sent=sent)}}, status=status)
        return web.json_response(completion(f"Answer {body['messages'][-1]['content'].split()[-1]}."))

    return answer


def converse(speaker: Any, turns: int, words: str = WORDS) -> list[dict[str, Any]]:
    """The replies to that many messages of ten words and a number."""
    replies = []
    for number in range(turns):
        replies.append(say(speaker, f"{words}{number}"))
        speaker.accept(replies[-1]["candidate_id"])
    return replies


def left_out(replies: list[dict[str, Any]]) -> list[int | None]:
    return [reply["info"]["turns_left_out"] for reply in replies]


@pytest.mark.parametrize(
    ("written", "means"),
    [
        (None, HistoryLimit()),
        ("20 turns", HistoryLimit(turns=20)),
        ("1 turn", HistoryLimit(turns=1)),
        (" 4000 Tokens ", HistoryLimit(tokens=4000)),
    ],
)
def test_a_limit_is_a_number_of_turns_or_tokens(written: str | None, means: HistoryLimit) -> None:
    """Guards the spelling of the option."""
    assert history_limit(written) == means


@pytest.mark.parametrize("written", [20, "20", "0 turns", "-3 turns", "many", "20 lines", "1.5 turns", "turns"])
def test_any_other_limit_is_refused_with_an_example(chat: MakePool, written: Any) -> None:
    """Guards against a number whose unit is a guess, and against a start that fails at the first message."""
    with pytest.raises(ZooError, match="write it as “20 turns” or “4000 tokens”"):
        chat(history_limit=written)


@given(lines, st.integers(0, 40), st.none() | st.integers(1, 6))
def test_the_newest_whole_turns_stay(dialogue: list[Line], room: int, most: int | None) -> None:
    """Guards the choice: an end of the dialogue, from the person on, as long as fits, and its last line in any case."""

    def fits(end: Any) -> bool:
        return sum(len(text) for _, text in end) <= room

    kept, out = newest_turns(dialogue, fits, most)
    start = len(dialogue) - len(kept)
    assert list(kept) == dialogue[start:]
    if not dialogue:
        return
    turns = [
        place for place in range(len(dialogue)) if count_turns(dialogue[:place]) < count_turns(dialogue[: place + 1])
    ]
    allowed = turns if most is None else turns[-most:]
    fitting = [place for place in [*allowed, *range(allowed[-1], len(dialogue))] if fits(dialogue[place:])]
    assert start == (fitting[0] if fitting else len(dialogue) - 1)
    assert out == len([place for place in turns[:-1] if place < start])


def test_a_limit_of_turns_is_kept_and_written_down(server: FaultyServer, chat: MakePool) -> None:
    """Guards the option for servers: system text and persona stay, roles alternate, the record says what was left out."""
    replies = converse(chat(history_limit="2 turns", system_prompt="Be kind.").speaker(["m"]), 4)
    assert left_out(replies) == [None, None, 1, 2]
    roles = [message["role"] for message in server.requests[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert server.requests[-1]["messages"][1]["content"] == f"{WORDS}2"


def test_a_limit_of_tokens_is_about_as_long(server: FaultyServer, chat: MakePool) -> None:
    """Guards tokens, which are estimated for servers: three messages of some 13 tokens each, and the replies."""
    replies = converse(chat(history_limit="50 tokens").speaker(["m"]), 6)
    assert left_out(replies) == [None, None, None, 1, 2, 3]


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (
            "This model's maximum context length is {most} tokens. However, your messages resulted in {sent} tokens.",
            400,
        ),
        ("the request exceeds the available context size, try increasing it", 400),
        ("Error code: context_length_exceeded", 413),
        ("Request too large for model on tokens per minute (TPM): Limit {most}, Requested {sent}", 429),
        ("request ({sent} tokens) exceeds the available context size ({most} tokens)", 500),
    ],
)
def test_without_a_limit_a_refused_history_is_shortened(
    server: FaultyServer, chat: MakePool, words: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Guards a dialogue against its end when it outgrows the model, whether or not the server says by how much."""
    server.otherwise = reads(100, words, status)
    replies = converse(chat(system_prompt="Be kind to all.", request_retries=0, max_tokens=20).speaker(["m"]), 12)
    assert [reply["text"] for reply in replies] == [f"Answer {number}." for number in range(12)]
    assert left_out(replies)[:5] == [None] * 5
    assert all(number is not None and number > 0 for number in left_out(replies)[6:])
    assert all(request["messages"][0]["content"] == "Be kind to all." for request in server.requests)
    assert all(reply["info"]["requests"] <= 4 for reply in replies)
    assert "history_limit" in caplog.text


def test_a_server_that_says_how_much_is_asked_once_more_with_about_that(server: FaultyServer, chat: MakePool) -> None:
    """Guards the history that stays against being halved where the server's numbers say what fits."""
    server.otherwise = reads(100)
    replies = converse(chat().speaker(["m"]), 12)
    assert [reply["info"]["requests"] for reply in replies] == [1] * 7 + [2] * 5
    kept = [len(request["messages"]) for request in server.requests[-9:] if len(request["messages"]) % 2][-1]
    assert kept >= 11, "six turns of 13 words, and the newest message, fit into 100"


def test_the_seed_is_that_of_the_whole_dialogue(server: FaultyServer, chat: MakePool) -> None:
    """Guards the chance of a reply against depending on how much of the dialogue is read."""
    for limit in (None, "1 turn"):
        converse(chat(**({"history_limit": limit} if limit else {})).speaker(["m"], seed=3), 3)
    seeds = [request["seed"] for request in server.requests]
    assert seeds[:3] == seeds[3:]


def test_one_turn_that_is_too_long_alone_is_told(server: FaultyServer, chat: MakePool) -> None:
    """Guards against asking for ever, and against silence: what is left to do is named."""
    server.otherwise = reads(100)
    with pytest.raises(ModelFailed, match="even the newest turn is too long for the model: lower max_tokens") as failed:
        say(chat(max_tokens=95).speaker(["m"]), WORDS)
    assert len(server.requests) == 1
    assert [mend.is_settled for mend in failed.value.mends] == [False]


@pytest.mark.parametrize("limit", ["2 turns", "40 tokens"])
@pytest.mark.parametrize("kind", ["gpt2", "bart"])
def test_local_models_keep_the_limit_and_write_it_down(kind: str, limit: str) -> None:
    """Guards the same option for models that compute here, in batches and word by word; persona and newest turn stay."""
    spec = spec_of(folder_of(kind), kind, history_limit=limit, system_prompt="Be kind.")
    with ModelPool([spec]) as pool:
        replies = converse(pool.speaker(["mine"], seed=1), 5, "I like it. ")
        agent = pool.worker("mine").agent
        prompt = agent._prompt_key(heard(agent, *LINES))[0]
    out = [reply["info"] and reply["info"]["turns_left_out"] for reply in replies]
    assert out[0] is None
    assert out[-1] >= 1
    assert out == sorted(out, key=lambda number: number or 0)
    assert all(reply["info"]["requests"] == 0 for reply in replies if reply["info"])
    text = agent.pretrained.tokenizer.decode(prompt)
    assert "Be kind." in text
    assert LINES[4] in text
    assert LINES[0] not in text
    assert prompt.turns_left_out >= 1


def test_a_limit_that_leaves_no_room_for_the_system_prompt_is_an_error() -> None:
    """Guards against replies without the persona, for a limit as for the model's own."""
    with pytest.raises(ZooError, match=r"system prompt and persona take \d+ tokens, but the model reads only 8"):
        load_agent(
            spec_of(
                folder_of("gpt2"), "gpt2", history_limit="8 tokens", system_prompt="Be kind to all of them, please."
            )
        )
