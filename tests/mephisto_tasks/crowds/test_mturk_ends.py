"""However a launch on MTurk ends, its HITs are off the market: at once, or with the next launch."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from forked import Forked
from live import TASK
from mturk_hands import arguments, mturk_at_home, not_expired, open_hits
from servers.mturk import DENIED, StandIn
from test_commands_as_processes import arguments as command_line
from test_commands_as_processes import environment

from mephisto_tasks.cli.launch import launch
from mephisto_tasks.cli.requester import requester
from mephisto_tasks.launch.launch import RunningStudy


@pytest.fixture(scope="module")
def mturk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
    with (
        pytest.MonkeyPatch.context() as patch,
        mturk_at_home(patch, tmp_path_factory.mktemp("aws"), sandbox=False, deposited="3.00") as mturk,
    ):
        yield mturk


def until(condition: Callable[[], object], process: subprocess.Popen[str], seconds: float = 60.0) -> None:
    """Wait for what a launch is to do."""
    deadline = time.monotonic() + seconds
    while not condition():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            pytest.fail(f"it did not come true; the launch said: {process.communicate()[0]}")
        time.sleep(0.05)


@contextmanager
def launched(folder: Path, *more: str, place: str = "mturk") -> Iterator[subprocess.Popen[str]]:
    """The command, from a shell without a terminal."""
    settings = arguments(folder, place, "mephisto.blueprint.dialogues_per_group=3", *more)
    words = command_line(folder, "launch", "pw_turn", "--data-dir", str(folder / "data"), "--yes", *settings)
    process = Forked(
        words,
        fully=True,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@pytest.mark.parametrize(("how", "refused"), [(signal.SIGINT, False), (signal.SIGTERM, True)])
def test_an_end_within_seconds_of_the_launch(
    mturk: StandIn, tmp_path: Path, how: signal.Signals, refused: bool
) -> None:
    """Mephisto waits for ever when it is interrupted that early; the HITs stay where they are.

    Where MTurk does not take them off, whoever launched is told, in words and by the exit status.
    """
    made = len(mturk.crowd.hits())
    with launched(tmp_path) as process:
        until(lambda: len(mturk.crowd.hits()) > made, process)
        if refused:
            mturk.faults.always("UpdateExpirationForHIT", DENIED)
        process.send_signal(how)
        output, _ = process.communicate(timeout=60)
    mturk.faults.clear()
    assert process.returncode == int(refused), output
    assert f"parlai-humaneval pay --task-name {TASK}" in output, "who did some work by then is to be paid"
    if refused:
        assert "HITs are still on MTurk" in " ".join(output.split())
        assert "Withdrawn: 3 HITs" in expire_by_hand(tmp_path)
    assert not_expired(mturk) == []
    assert "Traceback" not in output


def test_what_a_killed_launch_left_is_found(mturk: StandIn, tmp_path: Path) -> None:
    """By the next launch, or by hand; also a HIT that Mephisto's database had not heard of when the launch was killed.

    The account has enough for one launch: what the HITs that were left hold is there for the next.
    """
    with launched(tmp_path) as process:
        until(lambda: len(open_hits(mturk)) == 3, process)
        assert "is already launched" in expire_by_hand(tmp_path)
        process.kill()
        process.wait()
    left = {hit.id for hit in open_hits(mturk)}
    assert len(left) == 3
    _forget_one(tmp_path / "data")
    (tmp_path / "data" / "data" / "runs" / "NO_PROJECT" / "2" / "build" / "router").mkdir(parents=True)
    with launched(tmp_path) as process:  # a folder that an earlier server left does not stop it either
        until(lambda: len(open_hits(mturk)) == 3 and not left & {hit.id for hit in open_hits(mturk)}, process)
        process.kill()
        output, _ = process.communicate()
    assert "3 HITs of an earlier launch" in " ".join(output.split())
    assert expire_by_hand(tmp_path).endswith(f"Withdrawn: 3 HITs of '{TASK}'.\n")
    assert not_expired(mturk) == []
    assert "There was nothing to withdraw" in expire_by_hand(tmp_path)
    assert "no task 'which-bott'" in expire_by_hand(tmp_path, "which-bott"), "a slip of the pen is no success"


def expire_by_hand(folder: Path, task_name: str = TASK) -> str:
    return (
        CliRunner().invoke(requester, ["expire", "--task-name", task_name, "--data-dir", str(folder / "data")]).output
    )


def _forget_one(data_dir: Path) -> None:
    """As if the launch had been killed between MTurk's answer and its being written down."""
    database = next(data_dir.rglob("mturk.db"))
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("DELETE FROM hits WHERE rowid = (SELECT max(rowid) FROM hits)")


def test_a_launch_that_ends_before_everything_is_collected_says_why_by_its_exit_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards scripts that launch: HITs can be used up while units are left, and a status of 0 said that all was well."""
    why = "2 assignments must still be done, but all HITs you agreed to are used up"
    monkeypatch.setattr(RunningStudy, "is_done", lambda run: True)
    for unfinished, status in ((why, 1), (None, 0)):
        monkeypatch.setattr(RunningStudy, "unfinished", lambda run, said=unfinished: said)
        done = CliRunner().invoke(
            launch, ["pw_turn", "models=[eliza,retrieval]", "port=0", "--data-dir", str(tmp_path)]
        )
        assert done.exit_code == status, done.output
        assert (why in " ".join(done.output.split())) == bool(status)
