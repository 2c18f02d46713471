"""`pay --send` killed (SIGKILL) at any step of its own: each call of the site and each write, before it and after it.

``python tests/mephisto_tasks/payments/killing.py prolific 20 7`` prints a table of 20 places, drawn with the seed 7.

A process that has loaded everything forks one child for every run, so that a kill costs no start of Python.
"""

from __future__ import annotations

import gc
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
if __name__ == "__main__":
    # The repository, too: beside it, the folders of tests that are named as our packages would pass for them.
    sys.path += [str(HERE), str(HERE.parent), str(HERE.parents[1]), str(HERE.parents[2])]

import prolific_study
import turk_study
from servers import mturk, prolific
from turk_study import TASK, client_at

from mephisto_tasks.payments.ledger import Ledger

Money = dict[Any, Decimal]


@dataclass(frozen=True)
class Site:
    """A stand-in, and what is asked of it.

    Args:
        name: of the crowd.
        environment: of a process that pays.
        everybody: makes a study, and says what everybody is to get by machine.
        got: what everybody has got, as the server says.
        take_back: nobody has been paid any more.
        batch_is_paid: whether a set-up of bonuses was paid, as a person would look it up.
    """

    name: str
    environment: Mapping[str, str]
    everybody: Callable[[Path], Money]
    got: Callable[[], Money]
    take_back: Callable[[], None]
    batch_is_paid: Callable[[str], bool] = lambda batch: False


def on_mturk(server: mturk.StandIn) -> Site:
    return Site(
        "mturk",
        server.environment,
        lambda data_dir: turk_study.everybody(data_dir, server),
        lambda: turk_study.got(server),
        lambda: turk_study.take_back(server),
    )


def on_prolific(server: prolific.StandIn) -> Site:
    """A study in two currencies; what Prolific does later, it does at once."""
    remembered: list[prolific_study.Remembered] = []
    delays = server.market.delays

    def everybody(data_dir: Path) -> Money:
        delays.bonus_seen_s = 0.0
        owed = prolific_study.everybody(data_dir, server)
        server.market.pass_time()
        remembered.append(prolific_study.Remembered(server))
        delays.approve_s = delays.pay_s = 0.0  # so that each run takes the same steps
        return owed

    def is_paid(batch: str) -> bool:
        return any(one.batch == batch for space in server.market.workspaces.values() for one in space.charges)

    def got() -> Money:
        server.clock.move(60)
        server.market.pass_time()
        return prolific_study.got(server)

    return Site("prolific", server.environment, everybody, got, lambda: remembered[0].again(), is_paid)


@dataclass(frozen=True)
class Run:
    """A run of the command: its exit code (−9: killed), and the steps that it took, by name."""

    code: int
    steps: tuple[str, ...]


@dataclass(frozen=True)
class Kill:
    """A killed run and the one after it: what everybody had got after each, as the server says."""

    step: int
    place: str
    ledger: dict[str, int]
    """State → payments in the ledger, when the run was killed."""
    after_kill: Money
    after_next: Money
    noted: Decimal
    """What the ledger has as paid in the end."""
    by_hand: int
    """Payments that a person had to look up, and say whether they were paid."""


class Runner:
    """The process that forks the runs."""

    def __init__(self, site: Site, home: Path) -> None:
        environment = {**os.environ, **site.environment, "HOME": str(home), "XDG_CONFIG_HOME": str(home)}
        self._process = subprocess.Popen(
            [sys.executable, __file__, "serve", site.name],
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
def runner(site: Site, home: Path) -> Iterator[Runner]:
    process = Runner(site, home)
    try:
        yield process
    finally:
        process.close()


def kill_everywhere(folder: Path, site: Site, number: int, seed: int) -> tuple[Money, list[Kill]]:
    """What everybody is owed, and so many kills of ``pay --send``, each of a study that nobody has been paid for."""
    owed = site.everybody(folder / "study")
    with runner(site, folder) as process:
        copy = _copied(folder)
        steps = process.run(_arguments(copy)).steps
        kills = []
        for place in _places(steps, number, seed):
            site.take_back()
            kills.append(_kill(process, _copied(folder), site, place))
    return owed, kills


def _places(steps: Sequence[str], number: int, seed: int) -> list[int]:
    """Steps to be killed at, from 1: drawn at random, but of each kind of step before a second one of any."""
    chance, kinds = random.Random(seed), dict[str, list[int]]()
    for place, name in enumerate(steps, 1):
        kinds.setdefault(name, []).append(place)
    for of_kind in kinds.values():
        chance.shuffle(of_kind)
    by_turns = [of_kind[turn] for turn in range(len(steps)) for of_kind in kinds.values() if turn < len(of_kind)]
    assert len(kinds) <= number, f"{len(kinds)} kinds of steps"
    return sorted(by_turns[: len(kinds)] + chance.sample(by_turns[len(kinds) :], number - len(kinds)))


def _copied(folder: Path) -> Path:
    copy = folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    return Path(shutil.copytree(folder / "study", copy))


def _arguments(data_dir: Path) -> list[str]:
    return ["pay", "--task-name", TASK, "--data-dir", str(data_dir), "--send", "--yes"]


def _kill(process: Runner, data_dir: Path, site: Site, place: int) -> Kill:
    killed = process.run(_arguments(data_dir), kill_at=place)
    assert killed.code == -signal.SIGKILL, killed
    ledger: dict[str, int] = {}
    for payment in Ledger(data_dir, TASK).payments():
        ledger[payment.state] = ledger.get(payment.state, 0) + 1
    after_kill = site.got()
    code = process.run(_arguments(data_dir)).code
    asked = [payment for payment in Ledger(data_dir, TASK).payments() if payment.state == "paying"]
    assert code == bool(asked)
    for payment in asked:
        answer = "paid" if site.batch_is_paid(payment.batch) else "unpaid"
        settled = process.run([*_arguments(data_dir)[:-2], "--by-hand", answer, payment.token])
        assert settled.code == 0, (killed.steps[-1], answer, payment)
    if asked:
        assert process.run(_arguments(data_dir)).code == 0
    noted = [one.amount for one in Ledger(data_dir, TASK).payments() if one.state in ("confirmed", "by_hand")]
    return Kill(place, killed.steps[-1], ledger, after_kill, site.got(), sum(noted, Decimal(0)), len(asked))


def table(owed: Money, kills: Sequence[Kill]) -> str:
    """As Markdown: what was paid after the kill and after the next run, of what is owed; who got another amount."""
    lines = [
        "| killed at step | before or after | ledger then | paid then | paid after the next run | ledger | owed | by hand "
        "| wrong |",
        "|---:|---|---|---:|---:|---:|---:|---:|---|",
    ]
    for kill in kills:
        wrong = [name for name in {*owed, *kill.after_next} if owed.get(name) != kill.after_next.get(name)]
        ledger = ", ".join(f"{number} {state}" for state, number in sorted(kill.ledger.items())) or "empty"
        lines.append(
            f"| {kill.step} | {kill.place} | {ledger} | {sum(kill.after_kill.values(), Decimal(0)):.2f} "
            f"| {sum(kill.after_next.values()):.2f} | {kill.noted:.2f} | {sum(owed.values()):.2f} | {kill.by_hand} "
            f"| {', '.join(map(str, wrong)) or 'nobody'} |"
        )
    return "\n".join(lines)


# The process that forks


def _serve(site: str) -> None:
    from mephisto_tasks.cli import pay  # noqa: F401  # loaded once, before there are children
    from mephisto_tasks.crowds import registry as opened  # noqa: F401  # for the same reason
    from mephisto_tasks.crowds import send_payments as sending  # noqa: F401  # for the same reason
    from mephisto_tasks.payments import statement as books  # noqa: F401
    from parlai_humaneval.cli import main

    if site == "mturk":
        from botocore import session

        loader = session.create_loader()  # what it has read of botocore's data, the children need not read again
        session.create_loader = lambda *_: loader
        client_at(os.environ["AWS_ENDPOINT_URL_MTURK"])
    else:
        from httpx._transports import default

        from mephisto_tasks.crowds.prolific import payer
        from mephisto_tasks.payments import ledger

        authorities = default.create_ssl_context()  # a hundred certificates, which the children need not read again
        default.create_ssl_context = lambda **_: authorities
        payer.WAITS = payer.Waits(approved=3.0, listed=3.0, poll=0.05)
        ledger.LISTED_LATE_S = 0.0

    gc.freeze()  # nothing that is loaded is ever garbage, and what a child looks at is copied for it
    gc.disable()
    for line in sys.stdin:
        arguments, kill_at = json.loads(line)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _run(site, main, arguments, kill_at, writing)
        os.close(writing)
        with os.fdopen(reading) as said:
            steps = said.read().splitlines()
        _, status = os.waitpid(child, 0)
        print(json.dumps([os.waitstatus_to_exitcode(status), steps]), flush=True)


def _run(site: str, main: Callable[..., Any], arguments: list[str], kill_at: int, writing: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    count = 0

    def step(name: str) -> None:
        nonlocal count
        count += 1
        os.write(writing, f"{name}\n".encode())
        if count == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    _watch(site, step)
    code = 1
    try:
        main(arguments, standalone_mode=True)
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        os._exit(code)


def _watch(site: str, step: Callable[[str], None]) -> None:
    """Every call of the site and every write is two steps, from the first write into the ledger to the last elsewhere."""
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

    if site == "mturk":
        from botocore.client import BaseClient

        BaseClient._make_api_call = around(BaseClient._make_api_call, _operation)
    else:
        from mephisto_tasks.crowds.prolific.client import Prolific

        Prolific._ask = around(Prolific._ask, _path)  # type: ignore[method-assign]  # to be killed there
    ledger.Ledger.intend = around(ledger.Ledger.intend, _intending)  # type: ignore[method-assign]  # to be killed there
    ledger.Ledger.note = around(ledger.Ledger.note, _noting)  # type: ignore[method-assign]  # to be killed there
    ledger.Ledger.note_batch = around(ledger.Ledger.note_batch, _noting)  # type: ignore[method-assign]  # to be killed there
    sending._tell_mephisto = around(sending._tell_mephisto, _ending)


def _intending(*_: Any) -> str:
    return "writing what is intended"


def _ending(*_: Any) -> str:
    return "telling Mephisto"


def _operation(client: Any, operation: str, params: Any) -> str:
    return operation


def _path(client: Any, method: str, path: str, **_: Any) -> str:
    return f"{method} {re.sub('[0-9a-fA-F]{20,}', '…', path)}"


def _noting(ledger: Any, what: Any, state: str, words: str = "", batch: str | None = None) -> str:
    return f"noting “{state}”"


def _print_table(site: str, number: int, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if site == "mturk":
            with mturk.StandIn(sandbox=False, deposited="100.00") as turk:
                print(table(*kill_everywhere(Path(folder), on_mturk(turk), number, seed)))
        else:
            with prolific.StandIn() as server:
                print(table(*kill_everywhere(Path(folder), on_prolific(server), number, seed)))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        _serve(sys.argv[2])
    else:
        _print_table(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
