"""Servers that come and go: conversations are held meanwhile, go on as if nothing had been, and end only after long."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from chat_pool import AGENT, MakePool, say
from click.testing import CliRunner
from faulty_server import FaultyServer, answers, completion
from killable_server import KillableServer, free_port
from own_models import eventually, own, program, said

from parlai_humaneval.cli import main
from parlai_humaneval.display.presenter import Presenter
from parlai_humaneval.models.agent.isolation import quiet_tries
from parlai_humaneval.models.backends.base import Absence, absence_of
from parlai_humaneval.models.check import load_and_ask
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.pool import breaker
from parlai_humaneval.models.pool.asking import OUTAGE_SENTENCE, Answer, Asking, ModelFailed
from parlai_humaneval.models.pool.loading import Child, Utterance
from parlai_humaneval.models.zoo.entries import ModelSpec, Running, ZooError, load_zoo

PEOPLE, TURNS = 8, 4
Before = Callable[[int, int], object]
GONE = answers({"error": {"message": "starting"}}, 503)


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is looked for twice a second at least."""
    monkeypatch.setattr(breaker, "LONGEST_PAUSE_S", 0.4)


@pytest.fixture
def killable(tmp_path: Path) -> Iterator[KillableServer]:
    server = KillableServer(tmp_path, free_port())
    yield server
    server.kill()


def spec_of(base_url: str, **options: Any) -> ModelSpec:
    given = {"base_url": base_url, "served_model": "m", "api_key_env": "", "request_retries": 1}
    return ModelSpec(name="m", options={"model": AGENT, **given, **options})


def talk(pool: ModelPool, seed: int, told: list[str], before: Before) -> list[dict[str, Any]]:
    """The candidates of a whole conversation; ``before`` is called with the person and the turn."""
    speaker = pool.speaker(["m"], seed=seed)
    candidates = []
    for turn in range(TURNS):
        before(seed, turn)
        speaker.observe({"text": f"person {seed} in turn {turn}", "episode_done": False})
        candidates.append(dict(speaker.act(on_delay=told.append)["candidates"][0]))
    return candidates


def talk_all(pool: ModelPool, before: Before = lambda seed, turn: None) -> tuple[list[list[dict[str, Any]]], list[str]]:
    """The conversations of all people at once, and what they were told of delays."""
    told: list[str] = []
    with ThreadPoolExecutor(PEOPLE) as people:
        return list(people.map(lambda seed: talk(pool, seed, told, before), range(PEOPLE))), told


def texts(conversations: Sequence[Sequence[dict[str, Any]]]) -> list[list[str]]:
    return [[candidate["text"] for candidate in candidates] for candidates in conversations]


def prompts(server: KillableServer) -> set[str]:
    return {json.dumps(asked, sort_keys=True) for asked in server.asked}


def said_of_outages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == breaker.__name__]


def test_eight_conversations_go_on_when_their_killed_server_is_back(
    killable: KillableServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Guards a study against a restart: no conversation fails, each says what it would have said, the prompts are the
    same, the operator reads two lines, the people one sentence, and the records tell how long it took. Half of them have
    asked when it is killed in the middle of its answers, the others ask while it is gone."""
    with ModelPool([spec_of(killable.base_url)], retries=0) as pool:
        undisturbed, told = talk_all(pool)
        wanted = prompts(killable)
        assert told == []

        together, gone = threading.Barrier(PEOPLE, killable.hold), threading.Event()

        def before(seed: int, turn: int) -> None:
            if turn == TURNS // 2:
                together.wait(20)
                assert seed < PEOPLE // 2 or gone.wait(20)

        def restart() -> None:
            in_time = len(wanted) * 3 // 2
            eventually(lambda: len(killable.asked) == in_time + PEOPLE // 2)
            killable.kill()
            gone.set()
            time.sleep(2.0)
            killable.start()

        restarting = threading.Thread(target=restart)
        restarting.start()
        disturbed, told = talk_all(pool, before)
        restarting.join()
    assert texts(disturbed) == texts(undisturbed)
    assert prompts(killable) == wanted
    went, came = said_of_outages(caplog)
    assert "m has been down since" in went
    assert "cannot be reached" in went
    assert "m is back after" in came
    assert f"conversations that waited for it: {PEOPLE}" in came
    assert told == [OUTAGE_SENTENCE] * PEOPLE
    held = [c for candidates in disturbed for c in candidates if (c["info"] or {}).get("outage_s")]
    assert len(held) == PEOPLE
    assert all(c["latency_s"] > c["info"]["outage_s"] > 0.5 for c in held)
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("parlai_humaneval.")]
    assert not [message for message in ours if "try 1 of" in message]


def test_a_server_that_is_out_is_asked_one_thing_at_a_time(server: FaultyServer, chat: MakePool) -> None:
    """Guards a server that starts against all who wait for it: each has asked once, and then one asks for all."""
    server.otherwise = GONE
    pool = chat(outage_s=30, request_retries=0)
    with ThreadPoolExecutor(PEOPLE) as people:
        replies = [people.submit(say, pool.speaker(["m"], seed=seed)) for seed in range(PEOPLE)]
        eventually(lambda: len(server.requests) == PEOPLE + 3)
        assert server.most_at_once <= PEOPLE
        server.most_at_once = 0
        eventually(lambda: len(server.requests) == PEOPLE + 5)
        assert server.most_at_once == 1
        assert pool.out() == {"m"}
        assert not pool.out(for_good=True)
        server.otherwise = answers()
        assert [reply.result(20)["text"] for reply in replies] == ["Fine."] * PEOPLE
    assert not pool.out()


def test_who_comes_while_the_server_is_out_is_held_as_well(server: FaultyServer, chat: MakePool) -> None:
    """Guards a rater who arrives in an outage: nothing of theirs is sent before the server is back."""
    server.otherwise = GONE
    pool = chat(outage_s=30, request_retries=0)
    with ThreadPoolExecutor(2) as people:
        first = people.submit(say, pool.speaker(["m"]), "I was here")
        eventually(lambda: pool.out() == {"m"})
        late = pool.speaker(["m"])
        second = people.submit(say, late, "I come now")
        eventually(late.interrupted)
        server.otherwise = answers()
        assert first.result(20)["text"] == second.result(20)["text"] == "Fine."
    assert not late.interrupted()
    assert sum(request["messages"][-1]["content"] == "I come now" for request in server.requests) == 1


def test_too_many_requests_are_left_alone_for_as_long_as_the_server_says(server: FaultyServer, chat: MakePool) -> None:
    """Guards a limit of requests: the conversation waits for it, and no probe comes before its time."""
    times: list[float] = []

    async def limited(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        times.append(time.monotonic())
        return await answers({"error": "slow"}, 429, Retry_After="1.5")(request, body)

    server.plan.append(limited)
    assert say(chat(outage_s=30, request_retries=0).speaker(["m"]))["info"]["outage_s"] >= 1.5 - 0.1
    assert time.monotonic() - times[0] >= 1.5


@pytest.mark.parametrize(("status", "headers"), [(400, {}), (401, {}), (404, {}), (429, {}), (500, {})])
def test_what_is_wrong_with_the_request_is_not_waited_for(
    server: FaultyServer, chat: MakePool, status: int, headers: dict[str, str]
) -> None:
    """Guards against minutes of hope for a wrong key, model or quota: the conversation ends at once, and nothing is out."""
    server.otherwise = answers({"error": {"message": "no"}}, status, **headers)
    pool = chat(outage_s=300, request_retries=0)
    with pytest.raises(ModelFailed) as failed:
        say(pool.speaker(["m"]))
    assert len(server.requests) == 1
    assert failed.value.out_since is None
    assert not pool.out()


@pytest.mark.parametrize("behind", [False, True])
def test_one_question_that_the_server_falls_over_does_not_stop_the_others(
    server: FaultyServer, chat: MakePool, behind: bool
) -> None:
    """Guards many conversations against one whose text crashes the server, or what is ``behind`` it, each time: it ends,
    they go on."""

    async def falls(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if body["messages"][-1]["content"] != "poison":
            return web.json_response(completion())
        if not behind:
            request.transport.close()  # type: ignore[union-attr]  # it is there while a request is answered
        return await GONE(request, body)

    server.otherwise = falls
    pool = chat(outage_s=300, request_retries=0)
    with ThreadPoolExecutor(1) as people:
        bad = people.submit(say, pool.speaker(["m"]), "poison")
        for seed in range(100):  # others come and find the server there, again and again
            assert say(pool.speaker(["m"], seed=seed), "fine")["text"] == "Fine."
            if bad.done():
                break
            time.sleep(0.05)
        with pytest.raises(ModelFailed, match="status 503" if behind else "cut the connection"):
            bad.result(0)
    eventually(lambda: not pool.out())


def test_an_outage_that_is_too_long_ends_all_at_once_until_the_server_is_back(
    server: FaultyServer, chat: MakePool, caplog: pytest.LogCaptureFixture
) -> None:
    """Guards raters against waiting for ever, the log against a line each, and those who come later against dead
    conversations; when the server is back, it is found without anybody's help, and the histories are as they were."""
    pool = chat(outage_s=1.2, request_retries=0)
    speakers = [pool.speaker(["m"], seed=seed) for seed in range(PEOPLE)]
    for speaker in speakers:
        say(speaker, "before")
    server.otherwise = GONE
    with ThreadPoolExecutor(PEOPLE) as people:
        replies = [people.submit(say, speaker, "during") for speaker in speakers]
        failures = [reply.exception(20) for reply in replies]
    assert all(isinstance(failure, ModelFailed) for failure in failures)
    assert len({failure.out_since for failure in failures if isinstance(failure, ModelFailed)}) == 1
    assert pool.out(for_good=True) == {"m"}
    newcomer = pool.speaker(["m"])
    with pytest.raises(ModelFailed, match=r"down for more than 1\.2 s \(outage_s\).*status 503") as late:
        say(newcomer, "afterwards")
    assert late.value.out_since is not None
    assert all(request["messages"][-1]["content"] != "afterwards" for request in server.requests)
    assert [line.split("(")[0] for line in said_of_outages(caplog)[1:]] == ["m did not come back within 1.2 s "]
    server.otherwise = answers()
    eventually(lambda: not pool.out())
    assert speakers[3].act()["text"] == "Fine."
    assert [message["content"] for message in server.requests[-1]["messages"]] == ["before", "Fine.", "during"]


def test_silence_counts_as_an_outage(server: FaultyServer, chat: MakePool) -> None:
    """Guards a server that hangs, and is started again: its time-outs, several in a row, are no failed tries."""
    server.plan.extend([server.silent, server.silent])
    got = say(chat(outage_s=30, request_timeout_s=0.3).speaker(["m"]))
    assert got["text"] == "Fine."
    assert got["info"]["outage_s"] > 0


def test_a_patient_wait_is_longer_than_the_time_in_which_a_model_is_late(server: FaultyServer, chat: MakePool) -> None:
    """Guards the count of tries: an outage of several times the model's own time-out uses none of them up."""
    server.otherwise = GONE
    threading.Timer(1.5, lambda: setattr(server, "otherwise", answers())).start()
    got = say(chat(outage_s=30, request_retries=0, running=Running(timeout_s=0.4, retries=0)).speaker(["m"]))
    assert got["text"] == "Fine."
    assert got["latency_s"] > got["info"]["outage_s"] > 1.0


def test_a_look_that_hangs_is_not_the_last(server: FaultyServer, chat: MakePool) -> None:
    """Guards those who come later: a server hung at the question that was to show whether it is back, and is well again
    long before that question's own time is over."""
    server.otherwise = server.silent
    server.plan.append(GONE)
    pool = chat(outage_s=1.0, request_retries=0, request_timeout_s=120, running=Running(timeout_s=120))
    with pytest.raises(ModelFailed, match="down for more than 1 s"):
        say(pool.speaker(["m"]))
    assert pool.out(for_good=True) == {"m"}
    server.otherwise = answers()
    eventually(lambda: not pool.out())
    assert say(pool.speaker(["m"]))["text"] == "Fine."


def test_a_greeting_that_hangs_is_not_the_last(server: FaultyServer, chat: MakePool) -> None:
    """Guards the same of the greetings after that: the server hangs at one of them, and is well again at the next."""
    server.otherwise = GONE
    pool = chat(outage_s=0.3, request_retries=0, request_timeout_s=120, running=Running(timeout_s=120))
    with pytest.raises(ModelFailed, match=r"down for more than 0\.3 s"):
        say(pool.speaker(["m"]))
    server.otherwise = server.silent
    asked = len(server.requests)
    eventually(lambda: len(server.requests) > asked)
    server.otherwise = answers()
    eventually(lambda: not pool.out())
    assert say(pool.speaker(["m"]))["text"] == "Fine."


def test_closing_the_pool_ends_those_who_wait(server: FaultyServer, chat: MakePool) -> None:
    """Guards the end of a launch in the middle of an outage: nobody and no thread is left."""
    server.otherwise = GONE
    pool = chat(outage_s=300, request_retries=0)
    with ThreadPoolExecutor(2) as people:
        replies = [people.submit(say, pool.speaker(["m"], seed=seed)) for seed in range(2)]
        eventually(lambda: pool.out() == {"m"})
        pool.close()
        for reply in replies:
            with pytest.raises(ModelFailed):
                reply.result(10)
    eventually(lambda: not [one for one in threading.enumerate() if one.name.startswith("outage-of")])


def test_who_leaves_is_not_waited_for(server: FaultyServer, chat: MakePool) -> None:
    """Guards the server against replies that nobody reads any more."""
    server.otherwise = GONE
    pool = chat(outage_s=300, request_retries=0)
    with ThreadPoolExecutor(2) as people:
        stays = people.submit(say, pool.speaker(["m"]), "I stay")
        eventually(lambda: pool.out() == {"m"})
        leaver = pool.speaker(["m"])
        leaves = people.submit(say, leaver, "I leave")
        eventually(leaver.interrupted)
        leaver.leave()
        with pytest.raises(ModelFailed, match="no reply is needed any more"):
            leaves.result(10)
        server.otherwise = answers()
        assert stays.result(20)["text"] == "Fine."
    assert all(request["messages"][-1]["content"] != "I leave" for request in server.requests)


def test_dialogues_that_are_dropped_are_not_waited_for(server: FaultyServer, chat: MakePool) -> None:
    """Guards a server that comes back against the self-chats whose other model has failed meanwhile."""
    server.otherwise = GONE
    pool = chat(outage_s=300, request_retries=0)
    stays, dropped = (Child(pool.worker("m"), seed) for seed in range(2))
    asking = Asking(timeout_s=20, retries=0)
    asking.ask(stays, [Utterance("human", "I stay")])
    eventually(lambda: pool.out() == {"m"})
    asking.ask(dropped, [Utterance("human", "I am dropped")])
    asking.forget([dropped])
    server.otherwise = answers()
    ((child, answer),) = asking.answered()
    assert child is stays
    assert isinstance(answer, Answer)
    assert say(pool.speaker(["m"]), "last")["text"] == "Fine."
    assert all(request["messages"][-1]["content"] != "I am dropped" for request in server.requests)


def test_words_that_are_there_are_taken_rather_than_waited_for(server: FaultyServer, chat: MakePool) -> None:
    """Guards a rater whose model was only asked again for better words: an outage then is no reason to wait."""
    server.plan.append(answers(completion("As an AI language model, I like tea.")))
    server.otherwise = GONE
    speaker = chat(outage_s=300, request_retries=0).speaker(["m"], presenter=Presenter(ai_talk=True, ask_again=2))
    assert say(speaker)["raw_text"] == "As an AI language model, I like tea."


def test_commands_that_are_typed_wait_for_nobody(tmp_path: Path) -> None:
    """Guards `models check --load`, `models chat` and `doctor`: a server that is not there is found at once, whatever its
    entry says."""
    spec = spec_of(f"http://127.0.0.1:{free_port()}/v1").model_copy(update={"running": Running(outage_s=60)})
    began = time.monotonic()
    with pytest.raises(ModelFailed, match="is it running there"):
        load_and_ask(spec)
    entry = {"options": spec.options, "running": {"outage_s": 60}}
    (tmp_path / "zoo.yaml").write_text(yaml.safe_dump({"models": {"m": entry}}))
    talked = CliRunner().invoke(main, ["models", "chat", "m", "--zoo", str(tmp_path / "zoo.yaml")], input="Hi!\n")
    assert "is it running there" in talked.output
    assert time.monotonic() - began < 45


def test_who_keeps_tries_from_the_log_still_learns_what_is_waited_for(
    server: FaultyServer, chat: MakePool, caplog: pytest.LogCaptureFixture
) -> None:
    """Guards self-chats, which say nothing of single tries, against minutes of silence."""
    server.plan.append(GONE)
    with quiet_tries():
        say(chat(outage_s=30, request_retries=0).speaker(["m"]))
    assert len(said_of_outages(caplog)) == 2


def test_a_posting_model_is_waited_for_as_well(killable: KillableServer) -> None:
    """Guards servers of the JSON contract; the server of one's own, started again, is told the whole history."""
    spec = own("http_endpoint", Path.cwd(), outage_s=30, url=killable.url, connect_retries=0)
    with ModelPool([spec], retries=0) as pool:
        undisturbed = said(pool, "Hi!", "And?")
        killable.kill()
        threading.Timer(1.0, killable.start).start()
        assert said(pool, "Hi!", "And?") == undisturbed


def test_a_program_that_cannot_be_started_yet_is_waited_for(tmp_path: Path) -> None:
    """Guards a program that dies, and whose memory is not free again at once."""
    spec = program(tmp_path, "'die' in text and os._exit(3); return text", outage_s=30)
    bot = tmp_path / "bot.py"
    bot.write_text("import os, sys\nif os.path.exists('down'): sys.exit('no memory')\n" + bot.read_text())
    with ModelPool([spec], retries=0) as pool:
        with pytest.raises(ModelFailed, match="ended in the middle, with status 3"):
            said(pool, "die")
        (tmp_path / "down").touch()
        threading.Timer(1.0, (tmp_path / "down").unlink).start()
        assert said(pool, "Hello!") == ["Hello!"]


@pytest.mark.parametrize(
    ("status", "retry_after", "expected"),
    [
        (503, None, Absence()),
        (502, "7", Absence(retry_after_s=7)),
        (503, "3600", Absence(retry_after_s=30)),
        (429, "0.5", Absence(retry_after_s=0.5)),
        (429, None, None),
        (429, "soon", None),
        (500, "7", None),
        (404, None, None),
    ],
)
def test_what_a_status_says_of_a_server(status: int, retry_after: str | None, expected: Absence | None) -> None:
    """Guards the line between a server that is not there, and a request that is wrong."""
    assert absence_of(status, retry_after) == expected


def test_a_date_says_how_long_to_wait() -> None:
    """Guards the other form of Retry-After; one that has passed is no wait."""
    later, before = (absence_of(429, formatdate(time.time() + seconds, usegmt=True)) for seconds in (30, -30))
    assert later is not None
    assert 25 < later.retry_after_s <= 30
    assert before == Absence()


def test_the_zoo_says_how_long_a_model_is_waited_for(tmp_path: Path) -> None:
    """Guards ``running.outage_s``: taken from the file, and refused where it is no time."""
    entry = "models:\n  m:\n    options: {model: parlai_humaneval/eliza}\n    running: {outage_s: %s}\n"
    (tmp_path / "zoo.yaml").write_text(entry % 20)
    assert load_zoo([tmp_path / "zoo.yaml"])["m"].running.outage_s == 20
    for wrong in ("-1", ".inf", "soon"):
        (tmp_path / "zoo.yaml").write_text(entry % wrong)
        with pytest.raises(ZooError, match="outage_s"):
            load_zoo([tmp_path / "zoo.yaml"])
