"""A study that stops once it reaches a decision launched from a terminal: killed, stopped, and launched again."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from live import TASK, Rater
from test_commands_as_processes import launched

from mephisto_tasks.storage.logs import DECISIONS
from mephisto_tasks.storage.results import read_dialogues
from parlai_humaneval.stopping.events import Arrived, Folded
from parlai_humaneval.stopping.study import replay

CAP = 8
SETTINGS = ("stop=decided", "margin=0.1", f"max_dialogues={CAP}", "answer_timeout_s=60")


@pytest.mark.slow
async def test_killed_and_stopped_it_ends_without_the_raters_who_stay_away(tmp_path: Path) -> None:
    """kill -9 with one rater in the middle of a dialogue, SIGTERM with another one: neither comes back.

    Guards the end of the launch after that: nobody is turned away, everything collected counts in the order of arrival, and
    the process ends by itself with status 0 and says why.
    """
    for end, ghost in ((signal.SIGKILL, "first-ghost"), (signal.SIGTERM, "second-ghost")):
        with launched(tmp_path, *SETTINGS) as (process, url):
            async with Rater(url, ghost) as rater:
                await rater.client.enter()
                await rater.talk_until("message", turn=2)
                process.send_signal(end)
                process.wait(120)
    with launched(tmp_path, *SETTINGS) as (process, url):
        for number in range(CAP):
            async with Rater(url, f"w{number}") as rater:
                await rater.client.enter()
                assert rater.client.refused is None
                await rater.finish()
        said, _ = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert f"The cap of {CAP} dialogues is reached" in said
    found = read_dialogues(tmp_path / "data", TASK)
    assert sorted(record.status for record in found) == [*["complete"] * CAP, *["partial"] * 2]
    log = DECISIONS.read(tmp_path / "data", TASK)
    folded = [event.worker for event in log if isinstance(event, Folded)]
    assert folded == [event.worker for event in log if isinstance(event, Arrived)]
    standing = replay(log).standing()
    assert (standing.ended, standing.answered, standing.workers) == ("cap", CAP, CAP + 2)
