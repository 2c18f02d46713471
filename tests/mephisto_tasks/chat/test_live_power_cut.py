"""The power goes at any moment: what a rater's page was told to be saved is on the disk."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from live import TASK, Launch, eventually, whole_dialogue

from mephisto_tasks.adapter.client_io import StudyIOHandler
from mephisto_tasks.monitoring.status import BLIND_NAMES, kept_blind_names


class Disk:
    """What is left below a folder when the power goes: contents and names that were synced, and no others.

    The folder itself is there. A name that was not synced may be on the disk all the same: a rename can reach it before
    the content of what it renames does.
    """

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._contents: dict[int, bytes] = {}
        self._names: dict[int, dict[str, tuple[int, bytes]]] = {}
        self._fsync, self._replace = os.fsync, os.replace
        patch.setattr(os, "fsync", self.fsync)
        patch.setattr(os, "replace", self.replace)

    def fsync(self, descriptor: int) -> None:
        self._fsync(descriptor)
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            with os.scandir(descriptor) as entries:
                self._names[status.st_ino] = {
                    entry.name: (entry.inode(), self._contents.get(entry.inode(), b"")) for entry in entries
                }
        else:
            self._contents[status.st_ino] = Path(f"/proc/self/fd/{descriptor}").read_bytes()

    def replace(self, draft: Any, path: Any) -> None:
        before = Path(path).stat().st_ino if Path(path).exists() else None
        self._replace(draft, path)
        if before is not None:
            self._contents.pop(before, None)  # its number is given out again

    def left_of(self, path: Path, *, with_new_names: bool) -> bytes:
        """The content of a file; nothing where the file has no name."""
        if with_new_names:
            return self._contents.get(path.stat().st_ino, b"")
        inode, content = self._folder.stat().st_ino, b""
        for name in path.relative_to(self._folder).parts:
            known = self._names.get(inode, {})
            if name not in known:
                return b""
            inode, content = known[name]
        return content


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="reads what is synced by /proc")
async def test_what_was_confirmed_outlasts_a_loss_of_power(
    start: Launch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At whatever moment a page is sent anything, the disk holds all events up to then, in each way that it may be left."""
    lost: list[str] = []
    looks = 0
    send = StudyIOHandler.send_live_update

    def look(handler: Any, agent_id: str, update: dict[str, Any]) -> None:
        nonlocal looks
        agent = handler.get_live_run().worker_pool.get_agent_for_id(agent_id)
        path = Path(agent.get_data_dir()) / "state.json"
        if agent.state.messages:
            looks += 1
            for with_new_names in (True, False):
                left = disk.left_of(path, with_new_names=with_new_names)
                events = json.loads(left)["outputs"]["messages"] if left else []
                if events != agent.state.messages:
                    lost.append(f"{len(agent.state.messages)} events, {len(events)} left ({with_new_names=})")
        send(handler, agent_id, update)

    with monkeypatch.context() as patch:
        patch.setattr(StudyIOHandler, "send_live_update", look)
        disk = Disk(tmp_path, patch)
        async with start() as run:
            await whole_dialogue(run, "w1")
            await eventually(run.is_done)
    assert run.task_name == TASK
    assert looks > 5
    assert lost == []


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="reads what is synced by /proc")
@pytest.mark.parametrize("with_new_names", [True, False])
def test_which_model_has_which_blind_name_outlasts_a_loss_of_power(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_new_names: bool
) -> None:
    """Guards results that were told under blind names: with the file they would be nobody's."""
    with monkeypatch.context() as patch:
        disk = Disk(tmp_path, patch)
        names = kept_blind_names(tmp_path, ["alpha", "beta"])
    (tmp_path / BLIND_NAMES).write_bytes(disk.left_of(tmp_path / BLIND_NAMES, with_new_names=with_new_names))
    assert kept_blind_names(tmp_path, ["alpha", "beta"]) == names
