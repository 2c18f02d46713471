"""``watch`` on a terminal that is too low for everything: what is cut off is said, and keys reach it."""

from __future__ import annotations

import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from fcntl import ioctl
from pathlib import Path

import pytest
from forked import Forked
from rich.console import Console
from rich.text import Text
from stored_study import StoredStudy, choices

from mephisto_tasks.monitoring.terminal import Window, named

TASK = "watched"
WAIT_S = 60


def drawn(window: Window, height: int, width: int = 60) -> list[str]:
    console = Console(width=width, height=height, force_terminal=True, color_system=None, legacy_windows=False)
    with console.capture() as captured:
        console.print(window, end="")
    return captured.get().splitlines()


@pytest.mark.parametrize("height", [2, 3, 10, 24])
def test_never_higher_than_the_terminal_and_what_is_hidden_is_counted(height: int) -> None:
    """Guards what a low screen cut off without a word."""
    window = Window(Text("\n".join(f"line {number}" for number in range(30))), keys=True)
    lines = drawn(window, height)
    assert len(lines) < height or height == 2
    shown = len(lines) - 1
    assert [line.strip() for line in lines[:-1]] == [f"line {number}" for number in range(shown)]
    assert f"{30 - shown} more below" in lines[-1]
    assert "scroll, q quits" in lines[-1]


def test_what_fits_has_no_last_line() -> None:
    """Guards a high terminal."""
    window = Window(Text("\n".join("abc")), keys=True)
    assert [line.strip() for line in drawn(window, 4)] == ["a", "b", "c"]


def test_keys_move_the_window_and_stop_at_its_ends() -> None:
    """Guards scrolling, also after the terminal has become higher; without a keyboard no key is named."""
    window = Window(Text("\n".join(str(number) for number in range(30))), keys=True)
    drawn(window, 11)
    for key, first in (
        ("down", "1"),
        ("page down", "10"),
        ("end", "21"),
        ("down", "21"),
        ("page up", "12"),
        ("up", "11"),
    ):
        window.press(key)
        lines = drawn(window, 11)
        assert lines[0].strip() == first, key
    assert "11 more above, 10 more below" in lines[-1]
    assert drawn(window, 40)[0].strip() == "0"
    window.press("end")
    window.press("home")
    assert drawn(window, 11)[0].strip() == "0"
    unattended = Window(window.content, keys=False)
    assert drawn(unattended, 11, 80)[-1].strip() == "Lines: 21 more below. a taller terminal or --once shows them"


def test_keys_that_come_together_are_told_apart() -> None:
    """Guards who holds a key down; what means nothing here is no key."""
    assert named(b"\x1b[A\x1b[A\x1b[6~x q") == ["up", "up", "page down", "page down", "quit"]
    assert named(b"\x1b[1;5C\x1b") == []


def test_a_real_terminal_of_24_lines_scrolls_and_is_left_as_it_was(tmp_path: Path) -> None:
    """Guards the whole command on a pseudo-terminal: the last line names keys, they reach the end, and ``q`` quits."""
    study = StoredStudy(tmp_path)
    for number in range(12):
        study.add(TASK, f"w{number}", [*choices(f"d{number}", [[1], [2], [1], [2], [1], [1 + number % 2]])])
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 18, 80, 0, 0))
    before = termios.tcgetattr(theirs)
    # The program's terminal is its own, as in a shell.
    command = (
        "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); from parlai_humaneval.cli import main; main()"
    )
    process = Forked(
        [sys.executable, "-c", command, "watch", "--task-name", TASK, "--data-dir", str(tmp_path)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm"},
    )
    try:
        assert "q quits" in _read_until(ours, "q quits")
        os.write(ours, b"\x1b[F")
        assert "more above" in _read_until(ours, "more above")
        os.write(ours, b"q")
        assert process.wait(WAIT_S) == 0
        assert termios.tcgetattr(theirs) == before
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()
        os.close(ours)
        os.close(theirs)


def _read_until(terminal: int, words: str) -> str:
    said, until = "", time.monotonic() + WAIT_S
    while words not in said and time.monotonic() < until:
        if select.select([terminal], [], [], 1.0)[0]:
            said += os.read(terminal, 65536).decode("utf-8", "replace")
    return said
