"""How a launch goes, a line a minute, where nobody looks on: under systemd, nohup, or into a file."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime

from mephisto_tasks.control.snapshot import one_line
from mephisto_tasks.session.study import Study
from mephisto_tasks.storage.retry import passing
from parlai_humaneval._util.terminal import say

EVERY_S = 60.0


def follow_in_lines(
    study: Study, is_over: Callable[[], bool], warning: Callable[[], str | None], stop: threading.Event
) -> None:
    """A line at the beginning, a minute after the last one, and at the end; warnings and orders at once."""
    next_line = time.monotonic()
    while not stop.is_set() and not is_over():
        if said := warning():
            _say(said)
        if time.monotonic() >= next_line:
            _say(line(study))
            next_line += EVERY_S
        stop.wait(0.5)
    while said := warning():  # such as the order that ended it
        _say(said)
    _say(line(study))


def line(study: Study) -> str:
    """How the launch stands."""
    done, wanted = study.so_far()
    return one_line(
        done,
        wanted,
        study.unit_words.counted,
        inside=study.floor.inside(str),
        door=study.floor.door(),
        models=study.models_now(),
        is_paused=study.steered.paused is not None,
        deciding=study.deciding_now(),
    )


def _say(text: str) -> None:
    try:
        say(f"{datetime.now():%Y-%m-%d %H:%M:%S}  {text}")
    except OSError as error:  # lines that go into a file of a full disk must not end the study
        if passing(error) is None:
            raise
