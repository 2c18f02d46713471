"""A study on MTurk is steered: what its workers see there follows, and whoever has a HIT goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from live import TASK, eventually, records
from mturk_hands import Turker, mturk_at_home, on_mturk_beside, open_hits
from servers.mturk import StandIn

from mephisto_tasks.admission.admission import PAUSED
from mephisto_tasks.control.orders import More, Pause, Resume, give
from mephisto_tasks.crowds.mturk import hits as following
from mephisto_tasks.launch import running


@pytest.fixture
def mturk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StandIn]:
    monkeypatch.setattr(following, "POLL_S", 0.1)
    monkeypatch.setattr(running, "LOOK_S", 0.05)
    with mturk_at_home(monkeypatch, tmp_path, sandbox=False) as mturk:
        yield mturk


async def test_hits_are_off_the_market_in_a_pause_and_back_after_it(
    mturk: StandIn, data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Two workers have a HIT: who is inside goes on and hands in, who accepted it just now reads that it is paused. Nobody
    is told that HITs were ended by hand, no more than before are open at once, and all that was agreed to is done."""
    real_money = {"place": "mturk", "agree": lambda total: None}
    async with on_mturk_beside(data_dir, "mephisto.task.max_num_concurrent_units=3", dialogues=6, **real_money) as run:
        await eventually(lambda: len(open_hits(mturk)) == 3)
        async with Turker(run, mturk, "A1INSIDE") as inside:
            await inside.choose()
            late = Turker(run, mturk, "A2LATE")
            give(data_dir, TASK, Pause())
            await eventually(lambda: open_hits(mturk) == [])
            made = len(mturk.crowd.hits())
            async with late:
                assert late.client.refused == PAUSED
            await inside.do_all()
            await eventually(lambda: run.study.remaining == 5)
        assert (open_hits(mturk), len(mturk.crowd.hits())) == ([], made), "nothing is made in a pause"
        give(data_dir, TASK, Resume())
        give(data_dir, TASK, More(number=1))
        await eventually(lambda: run.study.remaining == 6 and len(open_hits(mturk)) >= 3)
        for number in range(6):
            await eventually(lambda: open_hits(mturk) != [])
            async with Turker(run, mturk, f"A3LATER{number}") as worker:
                assert worker.client.refused is None
                await worker.do_all()
        await eventually(run.is_done)
    assert [record.status for record in records(run)] == ["complete"] * 7
    assert open_hits(mturk) == []
    assert "ended them by hand" not in caplog.text
