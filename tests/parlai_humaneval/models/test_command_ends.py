"""A program as a model: what is left of it when it is late, when the pool is closed, and when we are killed."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from own_models import eventually, is_gone, own, program, said, written

from parlai_humaneval.models.model_pool import ModelFailed, ModelPool

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
        "import os, sys\nfrom pathlib import Path\nfrom parlai_humaneval.models.backends.program import Programs\n"
        f"programs = Programs('{sys.executable} my_program.py', Path({str(example)!r}), 60)\n"
        "programs.start(1)\nprint(*(p.process.pid for p in programs._all))\nsys.stdout.flush()\nos.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr[-2000:]
    eventually(lambda: is_gone(done.stdout.split()[-1]))
