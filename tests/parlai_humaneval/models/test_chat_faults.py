"""The chat_completions agent in a pool, before a server on loopback that breaks in every way that servers do."""

from __future__ import annotations

import json
import logging
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from aiohttp import web
from chat_pool import AGENT, KEY, MakePool, say
from faulty_server import FaultyServer, answers, completion, cut_in_mid_body, piece, streams

from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.pool.asking import ModelFailed
from parlai_humaneval.models.zoo.entries import ModelSpec, Running, ZooError

PAGE = "<html><style>p {color: red}</style><h1>502 Bad\nGateway</h1>" + "<p>nginx</p>" * 500 + "</html>"
TWICE = 2  # tries of the pool: one retry


def test_a_reply_keeps_what_the_server_says_of_it(server: FaultyServer, chat: MakePool) -> None:
    """Guards the accounting: model as served, tokens, money, reason, requests; and what is sent."""
    options = {"temperature": 0.5, "max_tokens": 30, "stop": ["\n", "Human:"], "extra_body": '{"top_k": 40}'}
    speaker = chat(price_prompt=2.0, price_completion=10.0, currency="EUR", **options).speaker(["m"], seed=3)
    got = say(speaker)
    assert (got["text"], got["failed"]) == ("Fine.", False)
    assert got["info"] == {
        "served_model": "served-1",
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "cost": pytest.approx(0.0004),
        "currency": "EUR",
        "finish_reason": "stop",
        "requests": 1,
        "outage_s": None,
        "turns_left_out": None,
        "thoughts": None,
    }
    say(speaker, "And you?")
    first, second = server.requests
    assert first["messages"] == [{"role": "user", "content": "Hi!"}]
    assert [message["role"] for message in second["messages"]] == ["user", "assistant", "user"]
    assert {key: first[key] for key in ("model", "temperature", "max_tokens", "stop", "top_k")} == {
        "model": "asked", "temperature": 0.5, "max_tokens": 30, "stop": ["\n", "Human:"], "top_k": 40,
    }  # fmt: skip
    assert not {"top_p", "presence_penalty", "frequency_penalty", "stream", "stream_options"} & set(first)
    assert 0 <= first["seed"] < 2**31
    assert first["seed"] != second["seed"]
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_seeds_are_of_the_conversation_and_turn(server: FaultyServer, chat: MakePool) -> None:
    """Guards repeatable conversations: the same seed asks for the same chance, another seed for another."""
    pool = chat()
    for seed in (1, 1, 2):
        say(pool.speaker(["m"], seed=seed))
    one, again, other = (request["seed"] for request in server.requests)
    assert one == again != other
    say(chat(send_seed=False).speaker(["m"]))
    assert "seed" not in server.requests[-1]


def test_too_many_requests_wait_as_long_as_the_server_says(server: FaultyServer, chat: MakePool) -> None:
    """Guards Retry-After: 0.5 s would be the client's own first wait."""
    times: list[float] = []

    def noting(fault: Any) -> Any:
        async def answer(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
            times.append(time.monotonic())
            result: web.StreamResponse = await fault(request, body)
            return result

        return answer

    server.plan.extend([noting(answers({"error": {"message": "slow"}}, 429, Retry_After="1.2")), noting(answers())])
    assert say(chat().speaker(["m"]))["info"]["requests"] == TWICE
    assert times[1] - times[0] >= 1.2


@pytest.mark.parametrize("fault", [answers({"error": "oh"}, 500), cut_in_mid_body], ids=["500", "cut"])
def test_a_fault_that_passes_is_asked_again_by_the_client(server: FaultyServer, chat: MakePool, fault: Any) -> None:
    """Guards the person against hearing of a passing fault, and counts the requests."""
    server.plan.append(fault)
    got = say(chat().speaker(["m"]))
    assert (got["text"], got["info"]["requests"], len(server.requests)) == ("Fine.", 2, 2)


@pytest.mark.parametrize(
    "data",
    [
        '{"choices": [', "", "[]", {}, {"choices": []}, {"choices": None}, {"choices": [{}]}, "null",
        {"choices": [{"message": {"content": 7}}]}, {"error": {"message": "out of memory"}}, PAGE,
    ],
)  # fmt: skip
@pytest.mark.parametrize("stream", [False, True])
def test_what_is_no_chat_completion_is_asked_again_by_the_pool(
    server: FaultyServer, chat: MakePool, data: Any, stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Guards against malformed JSON, wrong schemas, no choices and pages, whole or as pieces: no crash, a clear log."""
    server.plan.append(streams(data) if stream else answers(data))
    server.otherwise = streams(piece("Fine.", "stop")) if stream else answers()
    assert say(chat(stream=stream).speaker(["m"]))["text"] == "Fine."
    (problem,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert "“asked” at http" in problem.getMessage()
    assert len(problem.getMessage()) < 600
    assert problem.exc_info is None


@pytest.mark.parametrize(
    ("fault", "requests", "says"),
    [
        (answers({"error": {"message": "oh no"}}, 500), 2, "answered with status 500 and says “oh no” (2 requests)"),
        (answers(PAGE, 502), 2, "status 502 and says “502 Bad Gateway nginx nginx"),
        (cut_in_mid_body, 2, "cannot be reached or cut the connection"),
        (answers({"error": {"message": "no such model"}}, 404), 1, "no such model”; check served_model"),
        (answers({"detail": "bad key"}, 401), 1, "bad key”: the key in OPENAI_API_KEY is wrong"),
        (answers({"detail": "no"}, 403), 1, "the key in OPENAI_API_KEY is wrong, or this is not allowed with it"),
        (
            answers({"error": {"message": "API key not valid"}}, 400),
            1,
            "not valid”: the key in OPENAI_API_KEY is wrong",
        ),
        (answers({"error": {"message": "Invalid API-key"}}, 404), 1, "API-key”: the key in OPENAI_API_KEY is wrong"),
        (
            answers({"error": {"message": "AuthenticationError: bad api_key"}}, 500),
            2,
            "the key in OPENAI_API_KEY is wrong",
        ),
        (answers({"error": {"message": "too many for this API key"}}, 429), 2, "for this API key” (2 requests)"),
        (
            answers({"error": {"message": "unknown key 'topp'"}}, 400),
            1,
            "check served_model and the options of the request",
        ),
        (answers({"detail": [{"msg": "x"}]}, 400), 1, "check served_model and the options of the request"),
        (answers("{}", 200), 2, "not with a chat completion: “{}”"),
    ],
)
def test_a_fault_that_stays_ends_in_one_clear_sentence_and_keeps_the_dialogue(
    server: FaultyServer, chat: MakePool, fault: Any, requests: int, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Guards against hopeless repetition, floods of tracebacks, and a dialogue lost with its server."""
    speaker = chat().speaker(["m"])
    say(speaker)
    server.otherwise, before = fault, len(server.requests)
    with pytest.raises(ModelFailed) as failed:
        say(speaker, "Are you there?")
    assert says in str(failed.value)
    assert len(server.requests) - before == requests
    assert "Traceback" not in caplog.text
    server.otherwise = answers()
    assert speaker.act()["text"] == "Fine."
    assert speaker.dialogue == [("human", "Hi!"), ("bot", "Fine."), ("human", "Are you there?")]


def test_a_silent_server_is_given_up_in_time(server: FaultyServer, chat: MakePool) -> None:
    """Guards against a thread that waits for ever."""
    server.otherwise = server.silent
    with pytest.raises(ModelFailed, match=r"did not answer in time \(request_timeout_s\) \(2 requests\)"):
        say(chat(request_timeout_s=0.2).speaker(["m"]))
    assert len(server.requests) == TWICE, "the pool's own retry does not multiply the client's"


def test_the_pool_waits_for_all_tries_of_the_client(server: FaultyServer, chat: MakePool) -> None:
    """Guards a hanging server: as many requests a turn as request_retries allow, though the pool is less patient."""
    server.otherwise = server.silent
    pool = chat(timeout_s=0.3, request_timeout_s=0.4, request_retries=2)
    with pytest.raises(ModelFailed, match=r"\(3 requests\)"):
        say(pool.speaker(["m"]))
    assert len(server.requests) == 3
    assert pool.worker("m").timeout_s == pytest.approx(3 * 0.4 + 2 * 8)


@pytest.mark.parametrize("stream", [False, True])
def test_a_server_that_goes_and_comes_back_goes_on_with_the_dialogue(
    server: FaultyServer, chat: MakePool, stream: bool
) -> None:
    """Guards a dialogue against a restart of its server: all that was said is sent to the new one."""
    server.otherwise = streams(piece("Fine.", "stop")) if stream else answers()
    speaker = chat(stream=stream).speaker(["m"])
    say(speaker)
    server.stop()
    with pytest.raises(ModelFailed, match="cannot be reached"):
        say(speaker, "Still there?")
    server.start()
    assert speaker.act()["text"] == "Fine."
    told = [message["content"] for message in server.requests[-1]["messages"]]
    assert told == ["Hi!", "Fine.", "Still there?"]


def test_a_very_long_reply_is_whole_and_one_that_was_cut_is_noted(server: FaultyServer, chat: MakePool) -> None:
    """Guards against a limit of ours: what a reply may look like is decided where it is shown."""
    words = "word " * 10
    choice = {"index": 0, "message": {"content": words * 1_000}, "finish_reason": "length"}
    server.otherwise = answers(completion(choices=[choice]))
    got = say(chat().speaker(["m"]))
    assert (got["text"], got["info"]["finish_reason"]) == ((words * 1_000).strip(), "length")
    server.otherwise = streams(*[piece(words)] * 1_000, piece("", "length"))
    assert say(chat(stream=True).speaker(["m"]))["text"] == (words * 1_000).strip()


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_a_reply_with_no_text_is_a_blank_one(server: FaultyServer, chat: MakePool, text: str | None) -> None:
    """Guards null content (a tool call): the pool asks again, then counts a blank reply."""
    server.otherwise = answers(completion(text))
    with pytest.raises(ModelFailed, match="no text in any of its replies"):
        say(chat().speaker(["m"]))
    assert len(server.requests) == TWICE


def test_the_key_is_sent_and_stands_nowhere_else(
    server: FaultyServer, chat: MakePool, caplog: pytest.LogCaptureFixture
) -> None:
    """Guards the key against options, records, logs and errors, also where the server repeats it in all it says."""
    caplog.set_level(logging.DEBUG)
    logging.getLogger("openai").setLevel(logging.DEBUG)
    choice = {"index": 0, "message": {"content": f"Your key is {KEY}."}, "finish_reason": KEY}
    server.otherwise = answers(completion(choices=[choice], model=f"m-{KEY}"))
    pool = chat()
    speaker = pool.speaker(["m"])
    candidate = say(speaker)
    assert "[key]" in candidate["text"]
    agent = pool.worker("m").agent
    kept = [json.dumps(candidate), pool.specs["m"].model_dump_json(), str(dict(agent.opt)), repr(vars(agent))]
    kept += [repr(vars(agent.server)), str(agent.server.server), repr(speaker.dialogue)]
    for status in (401, 500):
        server.otherwise = answers({"error": {"message": f"{KEY} is wrong"}, "code": KEY}, status)
        with pytest.raises(ModelFailed) as failed:
            say(speaker)
        kept += traceback.format_exception(failed.value)
    server.otherwise = answers(f"<p>{KEY}</p>")
    with pytest.raises(ModelFailed) as failed:
        say(speaker)
    own = "\n".join(record.getMessage() for record in caplog.records if record.name.startswith("parlai_humaneval"))
    assert "[key] is wrong" in own
    assert KEY in server.headers[0]["Authorization"]
    assert not [text for text in [*kept, own, str(failed.value)] if KEY in text]
    assert not [record for record in caplog.records if KEY in record.getMessage()]


def test_as_many_requests_are_under_way_as_may_be_and_no_more(server: FaultyServer, chat: MakePool) -> None:
    """Guards both sides: sixteen wait for each other at the server, which fewer would never end; and four are four."""
    for concurrency in (16, 4):
        server.most_at_once = 0
        server.otherwise = server.waits_for(concurrency)
        pool = chat(concurrency=concurrency, request_timeout_s=20)
        speakers = [pool.speaker(["m"], seed=number) for number in range(16)]
        with ThreadPoolExecutor(16) as threads:
            replies = list(threads.map(say, speakers, [f"number {number}" for number in range(16)]))
        assert [reply["text"] for reply in replies] == [f"Reply to number {number}" for number in range(16)]
        assert server.most_at_once == concurrency


def test_threads_that_replace_hanging_ones_keep_the_limit(server: FaultyServer, chat: MakePool) -> None:
    """Guards a server that takes one request at a time against the pool's impatience."""
    server.otherwise = server.silent
    with pytest.raises(ModelFailed, match="silent"):
        say(chat(running=Running(timeout_s=0.5), concurrency=1).speaker(["m"]))
    assert (server.most_at_once, len(server.requests)) == (1, 1)


def test_two_names_of_one_server_have_sampling_of_their_own(server: FaultyServer) -> None:
    """Guards a comparison of settings against a name that gets the other's."""
    base = {"model": AGENT, "base_url": server.base_url, "served_model": "asked"}
    own: dict[str, dict[str, Any]] = {
        "cold": {"temperature": 0.1},
        "warm": {"temperature": 0.9, "system_prompt": "Hm."},
    }
    with ModelPool([ModelSpec(name=name, options={**base, **options}) for name, options in own.items()]) as pool:
        for name in own:
            say(pool.speaker([name]))
    assert [request["temperature"] for request in server.requests] == [0.1, 0.9]
    assert [len(request["messages"]) for request in server.requests] == [1, 2]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"served_model": None}, "served_model: is missing"),
        ({"base_url": None}, "is missing; write an address such as"),
        ({"base_url": "localhost:8000"}, "is not a web address"),
        ({"base_url": "http://me:secretword@localhost/v1"}, "the address contains a name or password"),
        ({"base_url": "http://localhost/v1?key=secretword"}, "“key” in the address looks like a key"),
        ({"base_url": "http://localhost/v1?k=secretword"}, "must not contain a user, password or query"),
        ({"api_key_env": "secretword-7"}, "api_key_env takes the NAME of an environment variable"),
        ({"api_key_env": "NO_SUCH_KEY"}, "NO_SUCH_KEY is not set"),
        ({"max_tokens": 0}, "max_tokens: 0 is too low"),
        ({"stop": "END"}, "stop: must be a list; write a list of texts, such as ['END']"),
        ({"extra_body": "top_k"}, "extra_body: must be a JSON object"),
        ({"request_timeout_s": -1}, "choose a time-out above 0"),
        ({"price_prompt": -3}, "price_prompt: -3.0 is not a price"),
        ({"concurrency": -1}, "concurrency: -1 is too low"),
    ],
)
def test_wrong_options_are_refused_in_words_that_say_what_to_do(
    chat: MakePool, options: dict[str, Any], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards against a start that fails only at the first message, and a secret repeated in its error."""
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    given = {key: value for key, value in options.items() if value is not None}
    left = {"base_url": "http://127.0.0.1:9/v1", "served_model": "asked"}
    spec_options = {**{key: value for key, value in left.items() if key not in options}, **given}
    with pytest.raises(ZooError) as refused, ModelPool([ModelSpec(name="m", options={"model": AGENT, **spec_options})]):
        pass
    assert says in str(refused.value)
    assert "secretword" not in str(refused.value)


def test_loading_asks_nothing_and_the_address_may_come_from_the_environment(
    server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards `models check` and a start while the server is still down; and servers that need no key."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    server.stop()
    with ModelPool([ModelSpec(name="m", options={"model": AGENT, "served_model": "asked"})]) as pool:
        assert server.requests == []
        server.start()
        assert say(pool.speaker(["m"]))["text"] == "Fine."
    assert "sk-" not in server.headers[0]["Authorization"]
