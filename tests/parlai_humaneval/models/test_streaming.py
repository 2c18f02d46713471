"""Replies that are heard while models write them: from a server that breaks off, from a model here, and from others."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Callable
from threading import Thread
from typing import Any

from aiohttp import web
from chat_pool import MakePool
from faulty_server import Fault, FaultyServer, answers, completion, piece, streams
from tiny_hugging_face import folder_of, spec_of

from parlai_humaneval.display.presenter import Presenter
from parlai_humaneval.models.bot_speaker.bot_speaker import BotSpeakerAgent
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.pool.loading import Utterance
from parlai_humaneval.models.zoo.entries import load_zoo, resolve
from parlai_humaneval.schema.records import Candidate

WORDS = (
    "Tea is what I like best of all. I drink it in the morning, at noon and in the evening. And what do you like, "
    "my friend?"
)
PAUSE_S = 0.01


def slowly(text: str, *, cut_after: int | None = None, pause_s: float = PAUSE_S) -> Fault:
    """Streams ``text`` word by word where that is asked for; the connection is cut after so many of them."""

    async def answer(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if not body.get("stream"):
            return web.json_response(completion(text))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for number, word in enumerate(text.split(" ")):
            if number == cut_after:
                request.transport.close()  # type: ignore[union-attr]  # it is there while a request is answered
                return response
            await response.write(f"data: {json.dumps(piece(f'{word} '))}\n\n".encode())
            await asyncio.sleep(pause_s)
        await response.write(f"data: {json.dumps(piece(None, 'stop'))}\n\ndata: [DONE]\n\n".encode())
        return response

    return answer


def said_once(speaker: BotSpeakerAgent) -> None:
    """The first reply of a server shows whether its template begins thoughts; it is not heard before it is complete."""
    speaker.observe({"text": "Hello!", "episode_done": False})
    speaker.act()


def heard_of(speaker: BotSpeakerAgent, look: Callable[[list[str]], None] = lambda texts: None) -> list[Candidate]:
    """Have the models reply and look at what is shown meanwhile, all ten milliseconds, until it is over."""
    speaker.observe({"text": "Hi!", "episode_done": False})
    growth, got = speaker.growth(), []
    acting = Thread(target=lambda: got.append(speaker.act(growth=growth)))
    acting.start()
    until = time.monotonic() + 30
    while (acting.is_alive() or not growth.is_over) and time.monotonic() < until:
        look([text for _, text in growth.shown(time.monotonic())])
        time.sleep(0.01)
    acting.join()
    candidates = [Candidate.model_validate(one) for one in got[0]["candidates"]]
    shown = dict(growth.shown(time.monotonic()))
    assert {one.candidate_id: one.text for one in candidates} == shown
    return [one.model_copy(update={"replaced": one.candidate_id in growth.replaced}) for one in candidates]


def test_a_servers_reply_is_shown_while_it_is_written(server: FaultyServer, chat: MakePool) -> None:
    """Guards the point of it all: sentences are there long before the reply is, each a beginning of it; and the times
    are on record."""
    server.otherwise = slowly(WORDS)
    speaker = chat().speaker(["m"])
    said_once(speaker)
    frames: list[str] = []
    (reply,) = heard_of(speaker, lambda texts: frames.append(texts[0]))
    assert reply.text == WORDS
    assert not reply.replaced
    assert reply.first_token_s is not None
    assert reply.first_token_s < reply.latency_s / 3
    assert all(WORDS.startswith(frame) for frame in frames)
    assert len(set(frames)) > 3
    assert [request.get("stream") for request in server.requests] == [None, True]


def test_before_anything_is_known_of_a_servers_thoughts_its_reply_comes_whole(
    server: FaultyServer, chat: MakePool
) -> None:
    """Guards raters against thoughts whose beginning the chat template keeps: until they end they look like a reply."""
    thinking = f"They ask about tea. I must not say what I am. {WORDS}</think>{WORDS}"
    server.otherwise = slowly(thinking, pause_s=0.002)
    speaker = chat().speaker(["m"])
    for _ in range(2):
        frames: list[str] = []
        (reply,) = heard_of(speaker, lambda texts, seen=frames: seen.append(texts[0]))  # type: ignore[misc]  # a default has no type here
        assert (reply.text, reply.replaced) == (WORDS, False)
        assert all(WORDS.startswith(frame) for frame in frames)
        speaker.accept(reply.candidate_id)


def test_a_stream_that_breaks_off_is_asked_again_and_goes_on(server: FaultyServer, chat: MakePool) -> None:
    """Guards raters: what they have read stays while the reply is written again, and nothing comes twice."""
    server.plan.extend([slowly(WORDS), slowly(WORDS, cut_after=20)])
    server.otherwise = slowly(WORDS)
    speaker = chat().speaker(["m"])
    said_once(speaker)
    frames: list[str] = []
    (reply,) = heard_of(speaker, lambda texts: frames.append(texts[0]))
    assert (reply.text, reply.replaced) == (WORDS, False)
    assert len(server.requests) == 3
    assert all(after.startswith(before) for before, after in itertools.pairwise(frames))


def test_another_text_after_a_break_takes_the_place_of_the_first_and_is_noted(
    server: FaultyServer, chat: MakePool
) -> None:
    """Guards the record: raters had read the beginning of something else."""
    other = WORDS.replace("Tea", "No, coffee")
    server.plan.extend([slowly(WORDS), slowly(WORDS, cut_after=22, pause_s=0.05)])
    server.otherwise = slowly(other)
    speaker = chat().speaker(["m"])
    said_once(speaker)
    frames: list[str] = []
    (reply,) = heard_of(speaker, lambda texts: frames.append(texts[0]))
    assert (reply.text, reply.replaced) == (other, True)
    changes = [after for before, after in itertools.pairwise(frames) if not after.startswith(before)]
    assert len(changes) == 1


def test_a_server_that_cannot_stream_is_asked_for_the_whole(server: FaultyServer, chat: MakePool) -> None:
    """Guards studies of older servers: one request tells, and later ones ask for whole replies at once."""
    server.plan.append(answers({"error": {"message": "Unrecognized argument: stream"}}, 400))
    server.otherwise = answers(completion(WORDS))
    speaker = chat().speaker(["m"])
    for _ in range(2):
        (reply,) = heard_of(speaker)
        assert (reply.text, reply.first_token_s) == (WORDS, None)
        speaker.accept(reply.candidate_id)
    assert ["stream" in request for request in server.requests] == [True, False, False]


def test_a_server_that_gives_the_whole_all_the_same_is_understood(server: FaultyServer, chat: MakePool) -> None:
    """Guards studies of servers that ignore `stream`."""
    server.otherwise = answers(completion(WORDS))
    (reply,) = heard_of(chat().speaker(["m"]))
    assert (reply.text, reply.first_token_s) == (WORDS, None)
    assert [request.get("stream") for request in server.requests] == [True]


def test_a_reply_that_gives_its_model_away_is_not_seen_before_it_is_withdrawn(
    server: FaultyServer, chat: MakePool
) -> None:
    """Guards the blinding: the name is in the second sentence, of which no word is shown."""
    telling = f"I like tea a lot. I'm ChatGPT, made by OpenAI. {WORDS}"
    better = f"I like tea a lot. {WORDS}"
    server.plan.extend([slowly(WORDS), slowly(telling)])
    server.otherwise = slowly(better)
    pool = chat()
    speaker = pool.speaker(["m"], presenter=Presenter(ai_talk=True, ask_again=1))
    said_once(speaker)
    frames: list[str] = []
    (reply,) = heard_of(speaker, lambda texts: frames.append(texts[0]))
    assert (reply.text, reply.replaced) == (better, False)
    assert [one.text for one in reply.asked_again] == [telling]
    assert all(better.startswith(frame) for frame in frames)


def test_a_model_here_is_heard_word_by_word() -> None:
    """Guards local models: all of a reply so far, again and again, and each time the beginning of the whole."""
    with ModelPool([spec_of(folder_of("gpt2"), "gpt2", "m", do_sample=True, min_new_tokens=12)]) as pool:
        (child,) = pool.children(["m"], seed=3)
        heard: list[str] = []
        reply = child.ask([Utterance("human", "Hi!")], heard.append).future.result(timeout=60)
    assert len(heard) > 3
    assert all(reply.text.startswith(text.removesuffix("\ufffd").rstrip()) for text in heard)


def test_a_model_that_cannot_be_heard_waits_for_the_others_pace(server: FaultyServer, chat: MakePool) -> None:
    """Guards the clock: a rule-based model that has answered at once shows no word before the server's."""
    server.otherwise = slowly(WORDS)
    pool = chat()
    pool.specs.update({spec.name: spec for spec in resolve(["eliza"], load_zoo())})
    pool.load()
    speaker = pool.speaker(["m", "eliza"])
    said_once(speaker)
    frames: list[list[str]] = []
    heard_of(speaker, frames.append)
    assert all(bool(one) == bool(other) for one, other in frames)
    assert [bool(one) for one, _ in frames].count(False) > 3


def test_streams_of_the_faulty_server_are_gathered_as_before(server: FaultyServer, chat: MakePool) -> None:
    """Guards servers that only stream: `stream` alone lets nobody hear them."""
    server.otherwise = streams(piece("Fine.", "stop"))
    speaker = chat(stream=True).speaker(["m"])
    speaker.observe({"text": "Hi!", "episode_done": False})
    assert speaker.act()["candidates"][0]["first_token_s"] is None
