"""A program as a model: real processes that answer, die, hang, chatter, and are gone in the end."""

from __future__ import annotations

import gc
import json
import logging
import os
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from own_models import PROGRAM, eventually, is_gone, own, program, said, written

from parlai_humaneval.models.model_pool import ModelFailed, ModelPool
from parlai_humaneval.models.pool.loading import load_agent
from parlai_humaneval.models.zoo.entries import ZooError
from parlai_humaneval.models.zoo.files import missing

SLEEPS = """
    import os, subprocess, time

    def fall_asleep():
        child = subprocess.Popen(["sleep", "60"])
        with open("pids", "w") as file:
            file.write(f"{os.getpid()} {child.pid}")
        time.sleep(60)
"""


def test_it_gets_the_question_and_its_answer_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the contract over pipes, in the zoo file's folder, with any text and without flushing."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    with ModelPool([program(tmp_path, "return json.dumps([question, os.getcwd()])")]) as pool:
        (reply,) = said(pool, "¿Qué\u2028tal? 👍\n$(touch x)", personas={"mine": ["I cook."]})
    question, folder = json.loads(reply)
    assert question == {
        "history": [{"speaker": "human", "text": "¿Qué\u2028tal? 👍\n$(touch x)"}],
        "persona": ["I cook."],
        "seed": 7,
    }
    assert folder == str(tmp_path)


def test_no_shell_reads_the_command(tmp_path: Path) -> None:
    """Guards the machine: what stands in the command is words, whatever they look like."""
    written(tmp_path / "bot.py", PROGRAM.format(how="return json.dumps(sys.argv[1:])"))
    command = f"{sys.executable} bot.py 'two words' $(touch x) `touch x` ; touch x > x"
    with ModelPool([own("command", tmp_path, command=command)]) as pool:
        assert json.loads(said(pool, "Hi!")[0]) == [
            "two words", "$(touch", "x)", "`touch", "x`", ";", "touch", "x", ">", "x",
        ]  # fmt: skip
    assert not (tmp_path / "x").exists()


def test_each_process_is_asked_by_one_conversation_at_a_time(tmp_path: Path) -> None:
    """Guards answers that would reach the wrong person; so many processes as asked for, and no more."""
    spec = program(tmp_path, "time.sleep(0.05); return f'{os.getpid()} {text}'", concurrency=3)
    with ModelPool([spec]) as pool, ThreadPoolExecutor(8) as people:
        replies = [r.split(maxsplit=1) for r in people.map(lambda n: said(pool, f"I am {n}")[0], range(24))]
    assert [text for _, text in replies] == [f"I am {n}" for n in range(24)]
    assert len({pid for pid, _ in replies}) == 3


def test_one_that_dies_is_started_again(tmp_path: Path) -> None:
    """Guards the dialogue: the next try finds a fresh process, which gets the whole history."""
    spec = program(
        tmp_path, "'die' in text and not os.path.exists('dead') and (open('dead', 'w'), os._exit(3)); return text"
    )
    with ModelPool([spec], retries=1) as pool:
        assert said(pool, "Hi!", "please die", "go on") == ["Hi!", "please die", "go on"]
    assert (tmp_path / "dead").exists()


def test_one_that_died_between_two_turns_is_no_failure(tmp_path: Path) -> None:
    """Guards the count of tries: a process that was ended while nobody asked is replaced before it is asked."""
    with ModelPool([program(tmp_path, "return str(os.getpid())")], retries=0) as pool:
        (first,) = said(pool, "Hi!")
        os.kill(int(first), 9)
        eventually(lambda: is_gone(first))
        (second,) = said(pool, "Hi!")
    assert second != first


def test_a_lasting_death_names_status_and_last_words(tmp_path: Path) -> None:
    """Guards the one who has to mend it: the error of the program is in ours."""
    spec = program(tmp_path, "1 / 0 if text != 'Hi!' else 0; return text")
    with (
        ModelPool([spec], retries=1) as pool,
        pytest.raises(ModelFailed, match=r"ended in the middle, with status 1; it last wrote: 'ZeroDivisionError"),
    ):
        said(pool, "Hello!")


def test_one_that_is_late_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    """Guards the machine: neither the program nor its own children stay behind."""
    written(tmp_path / "sleeps.py", SLEEPS)
    how = "text == 'Hi!' or __import__('sleeps').fall_asleep(); return text"
    with (
        ModelPool([program(tmp_path, how, request_timeout_s=2)], retries=0) as pool,
        pytest.raises(ModelFailed, match=r"gave no answer within 2 s and was ended"),
    ):
        said(pool, "Hello!")
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 2
    eventually(lambda: all(map(is_gone, pids)))


def test_a_fresh_one_may_take_its_time(tmp_path: Path) -> None:
    """Guards a program that loads a model for minutes: when it is started again, its replies' time-out does not end it."""
    spec = program(tmp_path, "return text", request_timeout_s=1)
    bot = tmp_path / "bot.py"
    bot.write_text("import time; time.sleep(2)\n" + bot.read_text())
    with ModelPool([spec], retries=0) as pool:
        assert said(pool, "Hello!") == ["Hello!"]
        (process,) = pool.worker("mine").agent.programs._all
        process.end()
        assert said(pool, "Hello!") == ["Hello!"]


def test_fresh_ones_that_cannot_answer_do_not_pile_up(tmp_path: Path) -> None:
    """Guards the machine: a program that never comes right is started at each try, and each time ended."""
    written(
        tmp_path / "bot.py",
        """
        import json, os, sys

        with open("pids", "a") as file:
            file.write(f"{os.getpid()} ")
        first = len(open("pids").read().split()) == 1
        for line in sys.stdin:
            if "die" in line:
                os._exit(1)
            print(json.dumps({"text": "Hello!" if first else 3}))
        """,
    )
    with ModelPool([own("command", tmp_path, command=f"{sys.executable} bot.py")], retries=2) as pool:
        with pytest.raises(ModelFailed, match="is not a string"):
            said(pool, "die")
        pids = (tmp_path / "pids").read_text().split()
        assert len(pids) == 3
        eventually(lambda: all(map(is_gone, pids)))


def test_nothing_is_left_when_the_pool_is_closed(tmp_path: Path) -> None:
    """Guards the machine after a study, and agents that nobody shuts down."""
    with ModelPool([program(tmp_path, "return str(os.getpid())")]) as pool:
        (pid,) = said(pool, "Hi!")
        assert not is_gone(pid)

    def gone() -> bool:
        gc.collect()
        return is_gone(pid)

    eventually(gone)


def test_its_standard_error_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Guards what a program says of itself: it is in the log, not lost and not on the terminal."""
    caplog.set_level(logging.INFO)
    with ModelPool([program(tmp_path, "print('thinking', text, file=sys.stderr); return text")]) as pool:
        said(pool, "Hi!")
        eventually(lambda: any("thinking Hi!" in message for message in caplog.messages))


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("import nothing_like_it", r"ended in the middle, with status 1; it last wrote: .ModuleNotFoundError"),
        ("print('Loading…'); input(); input()", "not JSON in UTF-8"),
        ('input(); print(\'{"text": "a"}\\n{"text": "b"}\', end=\'\')', "wrote more than one line"),
        ("input(); print('{\"text\": 3}')", '"text" of the answer is not a string'),
        ("input(); print('x' * 10_000_000)", "longer than 1,000,000 bytes"),
        ("import time; time.sleep(60)", r"no answer within 0\.5 s"),
    ],
)
def test_a_program_that_cannot_answer_is_found_when_it_is_loaded(tmp_path: Path, code: str, sentence: str) -> None:
    """Guards a study with a model that never answers: no rater is let in before it has answered “Hi!”."""
    written(tmp_path / "bot.py", code)
    with pytest.raises(ZooError, match=f"mine cannot be loaded: .*{sentence}"):
        load_agent(
            own("command", tmp_path, command=f"{sys.executable} bot.py", start_timeout_s=0.5 if "sleep" in code else 20)
        )


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("", "a program and its arguments are missing"),
        ("python 'bot.py", "No closing quotation"),
        ("no-such-program bot.py", "the program 'no-such-program' does not exist"),
    ],
)
def test_a_wrong_command_is_refused(tmp_path: Path, command: str, sentence: str) -> None:
    """Guards the sentence for a command that cannot run."""
    spec = own("command", tmp_path, command=command)
    assert re.search(sentence, " ".join(missing(spec))), "models check says it as well"
    with pytest.raises(ZooError, match=f"mine cannot be loaded: .*{sentence}"):
        load_agent(spec)


def test_checking_starts_nothing(tmp_path: Path) -> None:
    """Guards `models check` without --load: a program may take minutes and gigabytes; a path is the zoo file's."""
    bot = written(tmp_path / "bot", "#!/bin/sh\ntouch started\n")
    spec = own("command", tmp_path, command="./bot")
    assert missing(spec) == [f"command: the program './bot' does not exist (it would be started in {tmp_path})."]
    bot.chmod(0o755)
    assert missing(spec) == []
    assert not (tmp_path / "started").exists()


def test_chatter_between_questions_is_not_taken_for_an_answer(tmp_path: Path) -> None:
    """Guards the order: a late second line would be the answer to the next question, perhaps another person's."""
    written(
        tmp_path / "bot.py",
        """
        import json, sys, time

        for line in sys.stdin:
            text = json.loads(line)["history"][-1]["text"]
            print(json.dumps({"text": text}))
            if text != "Hi!":
                time.sleep(0.1)
                print(json.dumps({"text": "late"}))
        """,
    )
    with ModelPool([own("command", tmp_path, command=f"{sys.executable} bot.py")], retries=0) as pool:
        for number in range(3):
            time.sleep(0.5)
            assert said(pool, f"I am {number}") == [f"I am {number}"]
