"""A program as a model: real processes that answer, die, hang, chatter, and are gone in the end."""

from __future__ import annotations

import gc
import json
import logging
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
from own_models import own, said, written

from parlai_humaneval.models.files import missing
from parlai_humaneval.models.loading import load_agent
from parlai_humaneval.models.pool import ModelFailed, ModelPool
from parlai_humaneval.models.zoo import ModelSpec, ZooError

PROGRAM = """
    import json, os, sys, time

    def answer(text, question):
        {how}

    for line in sys.stdin:
        question = json.loads(line)
        text = question["history"][-1]["text"]
        print(json.dumps({{"text": answer(text, question)}}))
"""
"""It does not flush: that must not be asked of anyone."""

SLEEPS = """
    import os, subprocess, time

    def fall_asleep():
        child = subprocess.Popen(["sleep", "60"])
        with open("pids", "w") as file:
            file.write(f"{os.getpid()} {child.pid}")
        time.sleep(60)
"""


def program(folder: Path, how: str, **options: Any) -> ModelSpec:
    """A model whose ``answer(text, question)`` runs ``how``."""
    written(folder / "bot.py", PROGRAM.format(how=how))
    return own("command", folder, command=f"{sys.executable} bot.py", **{"start_timeout_s": 20, **options})


def eventually(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_gone(pid: str | int) -> bool:
    """No process, or one that has ended and waits for its parent to notice."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


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
        ('input(); print(\'{"text": "a"}\\n{"text": "b"}\', end=\'\')', "said more than one line"),
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
        ("", "expected a program and its arguments"),
        ("python 'bot.py", "No closing quotation"),
        ("no-such-program bot.py", "there is no program 'no-such-program'"),
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
    assert missing(spec) == [f"command: there is no program './bot' that could be started in {tmp_path}."]
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


DETACHES = """
    import subprocess, sys

    def helper():
        process = subprocess.Popen(["sleep", "30"], start_new_session=True)
        with open("helper", "w") as file:
            file.write(str(process.pid))
"""


@pytest.mark.parametrize("then", ["time.sleep(60)", "os._exit(3)"])
def test_a_daemon_that_holds_the_pipes_is_not_waited_for(tmp_path: Path, then: str) -> None:
    """Guards the time-out, and the pool's end, against a helper in a session of its own that inherited the pipes."""
    written(tmp_path / "detaches.py", DETACHES)
    how = f"text == 'Hi!' or (__import__('detaches').helper(), {then}); return text"
    spec = program(tmp_path, how, request_timeout_s=1.5)
    before = psutil.Process().num_fds()
    try:
        with (
            ModelPool([spec], retries=0, timeout_s=20) as pool,
            pytest.raises(ModelFailed, match="no answer within" if "sleep" in then else "with status 3"),
        ):
            said(pool, "Hello!")
        assert psutil.Process().num_fds() == before
        assert not is_gone((tmp_path / "helper").read_text())
    finally:
        os.kill(int((tmp_path / "helper").read_text()), 9)


def test_closing_the_pool_leaves_neither_process_nor_file(tmp_path: Path) -> None:
    """Guards a process that runs many studies: also while a program is being asked, and when it is closed twice."""
    spec = program(tmp_path, "text == 'Hi!' or time.sleep(60); return text", concurrency=2)
    before = psutil.Process().num_fds(), {child.pid for child in psutil.Process().children(recursive=True)}
    pool = ModelPool([spec], retries=0).load()
    with ThreadPoolExecutor(1) as people:
        waiting = people.submit(said, pool, "Hello!")
        eventually(lambda: len(pool.worker("mine").batch_sizes) > 0)
        pool.close()
        pool.close()
        with pytest.raises(ModelFailed):
            waiting.result(20)
    eventually(lambda: {child.pid for child in psutil.Process().children(recursive=True)} == before[1])
    eventually(lambda: psutil.Process().num_fds() == before[0])


def test_a_program_that_does_not_read_is_late_as_well(tmp_path: Path) -> None:
    """Guards the thread: a question longer than a pipe holds would block it for ever."""
    written(tmp_path / "bot.py", 'import sys, time\nsys.stdin.readline()\nprint(\'{"text": "Hi"}\')\ntime.sleep(60)\n')
    spec = own("command", tmp_path, command=f"{sys.executable} bot.py", request_timeout_s=1)
    with ModelPool([spec], retries=0) as pool, pytest.raises(ModelFailed, match="no answer within 1 s"):
        said(pool, "x" * 300_000)


def test_the_example_ends_with_the_one_who_asks(tmp_path: Path) -> None:
    """Guards against programs left behind by a process that was killed: its standard input ends, and so does it."""
    example = Path(__file__).parents[3] / "examples" / "own_server"
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom parlai_humaneval.agents.command import Programs\n"
        f"programs = Programs('{sys.executable} my_program.py', Path({str(example)!r}), 60)\n"
        "programs.start(1)\nprint(*(p._process.pid for p in programs._all))\nsys.stdout.flush()\nos.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr[-2000:]
    eventually(lambda: is_gone(done.stdout.split()[-1]))
