"""`pay --send` killed (SIGKILL) at any step of its own: each call of MTurk and each write, before it and after it.

``python tests/mephisto_tasks/payments/killing.py 20 7`` prints a table of 20 places, drawn with the seed 7.

A process that has loaded everything forks one child for every run, so that a kill costs no start of Python.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
if __name__ == "__main__":
    # The repository, too: beside it, the folders of tests that are named as our packages would pass for them.
    sys.path += [str(HERE), str(HERE.parent), str(HERE.parents[1]), str(HERE.parents[2])]

from servers.mturk import StandIn
from turk_study import TASK, client_at, everybody, got, take_back

from mephisto_tasks.payments.ledger import Ledger


@dataclass(frozen=True)
class Run:
    """A run of the command: its exit code (−9: killed), and the steps that it took, by name."""

    code: int
    steps: tuple[str, ...]


@dataclass(frozen=True)
class Kill:
    """A killed run and the one after it: dollars that everybody had got after each, as the server says."""

    step: int
    place: str
    ledger: dict[str, int]
    """State → payments in the ledger, when the run was killed."""
    after_kill: dict[str, Decimal]
    after_next: dict[str, Decimal]
    noted: Decimal
    """Dollars that the ledger has as confirmed in the end."""


class Runner:
    """The process that forks the runs."""

    def __init__(self, mturk: StandIn, home: Path) -> None:
        environment = {**os.environ, **mturk.environment, "HOME": str(home)}
        self._process = subprocess.Popen(
            [sys.executable, __file__, "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def run(self, arguments: Sequence[str], kill_at: int = 0) -> Run:
        """The command once; ``kill_at``: killed before its step of that number, from 1."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([list(arguments), kill_at]) + "\n")
        self._process.stdin.flush()
        code, steps = json.loads(self._process.stdout.readline())
        return Run(code, tuple(steps))

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@contextmanager
def runner(mturk: StandIn, home: Path) -> Iterator[Runner]:
    process = Runner(mturk, home)
    try:
        yield process
    finally:
        process.close()


def kill_everywhere(folder: Path, mturk: StandIn, number: int, seed: int) -> tuple[dict[str, Decimal], list[Kill]]:
    """What everybody is owed, and so many kills of ``pay --send``, each of a study that nobody has been paid for."""
    owed = everybody(folder / "study", mturk)
    with runner(mturk, folder) as process:
        copy = _copied(folder)
        steps = process.run(_arguments(copy)).steps
        places = sorted(random.Random(seed).sample(range(1, len(steps) + 1), number))
        kills = []
        for place in places:
            take_back(mturk)
            kills.append(_kill(process, _copied(folder), mturk, place))
    return owed, kills


def _copied(folder: Path) -> Path:
    copy = folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    return Path(shutil.copytree(folder / "study", copy))


def _arguments(data_dir: Path) -> list[str]:
    return ["pay", "--task-name", TASK, "--data-dir", str(data_dir), "--send", "--yes"]


def _kill(process: Runner, data_dir: Path, mturk: StandIn, place: int) -> Kill:
    killed = process.run(_arguments(data_dir), kill_at=place)
    assert killed.code == -signal.SIGKILL, killed
    ledger: dict[str, int] = {}
    for payment in Ledger(data_dir, TASK).payments():
        ledger[payment.state] = ledger.get(payment.state, 0) + 1
    after_kill = got(mturk)
    assert process.run(_arguments(data_dir)).code == 0
    noted = [payment.amount for payment in Ledger(data_dir, TASK).payments() if payment.state == "confirmed"]
    return Kill(place, killed.steps[-1], ledger, after_kill, got(mturk), sum(noted, Decimal(0)))


def table(owed: dict[str, Decimal], kills: Sequence[Kill]) -> str:
    """As Markdown: dollars paid after the kill and after the next run, of those owed; who got another amount."""
    lines = [
        "| killed at step | before or after | ledger then | paid then | paid after the next run | ledger | owed | wrong |",
        "|---:|---|---|---:|---:|---:|---:|---|",
    ]
    for kill in kills:
        wrong = [name for name in {*owed, *kill.after_next} if owed.get(name) != kill.after_next.get(name)]
        ledger = ", ".join(f"{number} {state}" for state, number in sorted(kill.ledger.items())) or "empty"
        lines.append(
            f"| {kill.step} | {kill.place} | {ledger} | ${sum(kill.after_kill.values(), Decimal(0)):.2f} "
            f"| ${sum(kill.after_next.values()):.2f} | ${kill.noted:.2f} | ${sum(owed.values()):.2f} "
            f"| {', '.join(wrong) or 'nobody'} |"
        )
    return "\n".join(lines)


# The process that forks


def _serve() -> None:
    from botocore import session

    from mephisto_tasks.cli import pay  # noqa: F401  # loaded once, before there are children
    from mephisto_tasks.crowds import database as opened  # noqa: F401
    from mephisto_tasks.payments import statement as books  # noqa: F401
    from parlai_humaneval.cli import main

    loader = session.create_loader()  # what it has read of botocore's data, the children need not read again
    session.create_loader = lambda *_: loader
    client_at(os.environ["AWS_ENDPOINT_URL_MTURK"])

    for line in sys.stdin:
        arguments, kill_at = json.loads(line)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _run(main, arguments, kill_at, writing)
        os.close(writing)
        with os.fdopen(reading) as said:
            steps = said.read().splitlines()
        _, status = os.waitpid(child, 0)
        print(json.dumps([os.waitstatus_to_exitcode(status), steps]), flush=True)


def _run(main: Callable[..., Any], arguments: list[str], kill_at: int, writing: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    count = 0

    def step(name: str) -> None:
        nonlocal count
        count += 1
        os.write(writing, f"{name}\n".encode())
        if count == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    _watch(step)
    code = 1
    try:
        main(arguments, standalone_mode=True)
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        os._exit(code)


def _watch(step: Callable[[str], None]) -> None:
    """Every call of MTurk and every write is two steps, from the first write into the ledger to the last elsewhere."""
    from botocore.client import BaseClient

    from mephisto_tasks.crowds import send_payments as sending
    from mephisto_tasks.payments import ledger

    paying = False

    def around(function: Callable[..., Any], name: Callable[..., str]) -> Callable[..., Any]:
        def watched(*args: Any, **kwargs: Any) -> Any:
            nonlocal paying
            paying = paying or name is _intending
            if paying:
                step(f"before {name(*args, **kwargs)}")
            answer = function(*args, **kwargs)
            if paying:
                step(f"after {name(*args, **kwargs)}")
            paying = paying and name is not _ending
            return answer

        return watched

    BaseClient._make_api_call = around(BaseClient._make_api_call, _operation)
    ledger.Ledger.intend = around(ledger.Ledger.intend, _intending)  # type: ignore[method-assign]  # to be killed there
    ledger.Ledger.note = around(ledger.Ledger.note, _noting)  # type: ignore[method-assign]  # to be killed there
    sending._tell_mephisto = around(sending._tell_mephisto, _ending)


def _intending(*_: Any) -> str:
    return "writing what is intended"


def _ending(*_: Any) -> str:
    return "telling Mephisto"


def _operation(client: Any, operation: str, params: Any) -> str:
    return operation


def _noting(ledger: Any, token: str, state: str, words: str = "", batch: str | None = None) -> str:
    return f"noting “{state}”"


def _print_table(number: int, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder, StandIn(sandbox=False, deposited="100.00") as mturk:
        print(table(*kill_everywhere(Path(folder), mturk, number, seed)))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        _serve()
    else:
        _print_table(int(sys.argv[1]), int(sys.argv[2]))
