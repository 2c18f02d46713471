"""Launches with a person among the models, as processes: two beside each other, and Ctrl-C while a partner writes."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import stat
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from forked import Forked
from live import Rater
from partner_hands import Partner, human_zoo
from test_commands_as_processes import arguments, environment

from mephisto_tasks.chat import wizard as link
from mephisto_tasks.chat import wizard as words
from mephisto_tasks.storage.results import read_dialogues
from parlai_humaneval.schema.steps import EndStep, MessageStep


@contextmanager
def launched(folder: Path, task_name: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """The process of a launch, the address for raters and the one for partners."""
    command = arguments(
        folder,
        "launch",
        "pw_turn",
        "mephisto.blueprint.models=[alpha,person]",
        f"mephisto.blueprint.zoo_files=[{human_zoo(folder)}]",
        "mephisto.blueprint.dialogues_per_group=1",
        "mephisto.blueprint.onboarding_qualification=null",
        "mephisto.architect.port=0",
        f"mephisto.task.task_name={task_name}",
        "--data-dir",
        str(folder / "data"),
    )
    process = Forked(command, env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            both = re.search(r"http://127\.0\.0\.1:\d+", said), re.search(r"http://\S+/partner/\S+/", said)
            if both[0] and both[1]:
                yield process, both[0].group(), both[1].group()
                return
        raise AssertionError(f"the launch ended without both addresses:\n{said}")
    finally:
        process.kill()
        process.communicate()


def status_of(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=10) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.slow
def test_two_studies_in_one_folder_and_ctrl_c_while_a_partner_writes(tmp_path: Path) -> None:
    """Each has its own link, good at no other; the partner is told of the end, the dialogue is kept, and the link stays."""
    with launched(tmp_path, "one") as (process, url, door), launched(tmp_path, "two") as (_, other_url, other_door):
        path, other_path = (each.split("/partner/")[1] for each in (door, other_door))
        assert path != other_path
        assert [status_of(door), status_of(other_door)] == [200, 200]
        assert [status_of(f"{url}/partner/{other_path}"), status_of(f"{other_url}/partner/{path}")] == [403, 403]
        rest = asyncio.run(interrupted(process, url, door))
        assert process.returncode == 0, rest
        assert "Traceback" not in rest
        assert status_of(other_door) == 200
    (record,) = read_dialogues(tmp_path / "data", "one")
    assert (record.status, record.failure) == ("partial", None)
    with launched(tmp_path, "one") as (_, _, again):
        assert again.split("/partner/")[1] == path
    assert [stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "data" / link.FOLDER).iterdir()] == [0o600] * 2


async def interrupted(process: subprocess.Popen[str], url: str, door: str) -> str:
    """Ctrl-C while the partner has a message in hand: their page says that it is over. What the launch said then."""
    async with Partner(door) as partner, Rater(url, "w1"):
        assert isinstance((await partner.asked()).step, MessageStep)
        process.send_signal(signal.SIGINT)
        step = (await partner.until("end")).step
        assert isinstance(step, EndStep)
        assert step.title == words.ENDED[0]
        rest, _ = await asyncio.to_thread(process.communicate, None, 30)
    return rest


def test_a_token_that_others_could_read_is_made_private(tmp_path: Path) -> None:
    """As after a copy, and where an earlier launch was killed before it had written it."""
    token = link.link_token(tmp_path, "study")
    (file,) = (tmp_path / link.FOLDER).iterdir()
    os.chmod(file, 0o644)
    assert link.link_token(tmp_path, "study") == token
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text("")
    os.chmod(file, 0o644)
    assert link.link_token(tmp_path, "study") != token
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
