"""Orders in their file: none is lost or mixed with another, whoever gives them, and nothing damaged is followed."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

import pytest
from forked import Forked

from mephisto_tasks.control.orders import ORDERS, More, Pause, RetireModel, StopGroup, give
from mephisto_tasks.control.snapshot import GroupStatus, Snapshot, read_snapshot, snapshot_file, write_snapshot

TASK = "a study / with any name"
GIVE_MANY = """
import sys
from pathlib import Path
from mephisto_tasks.control.orders import RetireModel, give
for number in range(40):
    give(Path(sys.argv[1]), sys.argv[2], RetireModel(model=f"{sys.argv[3]}-{number}-" + "x" * 500))
"""


def snapshot(**groups: int) -> Snapshot:
    return Snapshot(
        at=1.0,
        task_name=TASK,
        task_run_id="1",
        pid=1,
        began=1.0,
        url="http://127.0.0.1:1",
        technique="pw_turn",
        metric="preference",
        counted="conversations",
        remaining=1,
        groups=[
            GroupStatus(
                label=label,
                models=label.split("_"),
                metric="preference",
                setting="",
                asked=asked,
                wanted=asked,
                completed=0,
                running=0,
            )
            for label, asked in groups.items()
        ],
    )


def test_orders_come_back_as_they_were_given(tmp_path: Path) -> None:
    assert ORDERS.read(tmp_path, TASK) == []
    given = [
        give(tmp_path, TASK, order)
        for order in (
            Pause(by="page"),
            More(number=3, models=["b", "a"], setting="soba"),
            StopGroup(models=["a\nb", "“c”"]),
        )
    ]
    assert ORDERS.read(tmp_path, TASK) == given
    assert ORDERS.read(tmp_path, "another study") == []
    assert ORDERS.path(tmp_path, TASK).stat().st_mode & 0o777 == 0o600


def test_more_remembers_what_was_asked_for_by_then(tmp_path: Path) -> None:
    """Guards a study against getting the number twice, where a later launch asks for as many by its settings."""
    write_snapshot(tmp_path, TASK, snapshot(a_b=10, a_c=4))
    given = give(tmp_path, TASK, More(number=3))
    assert isinstance(given, More)
    assert given.base == {"a_b": 10, "a_c": 4}
    assert ORDERS.read(tmp_path, TASK) == [given]


def test_processes_that_give_orders_at_once_lose_none(tmp_path: Path) -> None:
    names = ["one", "two", "three"]
    processes = [Forked([sys.executable, "-c", GIVE_MANY, str(tmp_path), TASK, name]) for name in names]
    assert [process.wait(timeout=60) for process in processes] == [0, 0, 0]
    given = [order.model for order in ORDERS.read(tmp_path, TASK) if isinstance(order, RetireModel)]
    assert len(given) == 120
    for name in names:
        own = [model for model in given if model.startswith(f"{name}-")]
        assert own == [f"{name}-{number}-" + "x" * 500 for number in range(40)], "those of one process keep their order"


def test_damaged_lines_are_left_out_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A process that was killed in the middle of a line damages that line alone."""
    first = give(tmp_path, TASK, Pause())
    with ORDERS.path(tmp_path, TASK).open("ab") as file:
        file.write(b'{"kind": "dance"}\n{"kind": "more", "number": -1}\n\xff\xfe\n{"kind": "retire_model", "mod')
    last = give(tmp_path, TASK, RetireModel(model="a"))
    with caplog.at_level(logging.WARNING):
        assert ORDERS.read(tmp_path, TASK) == [first, last]
    assert sum("is damaged" in record.message for record in caplog.records) == 4


def test_a_snapshot_is_private_and_whole(tmp_path: Path) -> None:
    assert read_snapshot(tmp_path, TASK) is None
    write_snapshot(tmp_path, TASK, snapshot(a_b=1))
    write_snapshot(tmp_path, TASK, snapshot(a_b=2))
    assert read_snapshot(tmp_path, TASK) == snapshot(a_b=2)
    path = snapshot_file(tmp_path, TASK)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in path.parent.iterdir()] == [path.name], "no drafts are left"
    path.write_text("{", encoding="utf-8")
    assert read_snapshot(tmp_path, TASK) is None


def test_an_order_that_does_not_fit_on_the_disk_is_not_half_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk with some bytes left takes the beginning of a line, and calls that success."""
    first = give(tmp_path, TASK, Pause(by="page"))
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, text: write(descriptor, text[:5]))
        with pytest.raises(OSError, match="No space left"):
            give(tmp_path, TASK, Pause(by="page"))
    second = give(tmp_path, TASK, Pause(by="page"))
    assert ORDERS.read(tmp_path, TASK) == [first, second]
    assert len(ORDERS.path(tmp_path, TASK).read_bytes().splitlines()) == 2
