"""``parlai-humaneval watch`` and ``report --leaderboard``: what they print, write and refuse."""

from __future__ import annotations

import asyncio
import json
import re
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from click import Command
from click.testing import CliRunner, Result
from stored_study import StoredStudy, choices

from mephisto_tasks.cli.report import report
from mephisto_tasks.cli.steer import price_of, steer
from mephisto_tasks.cli.watch import given_by_page, watch
from mephisto_tasks.control.orders import ORDERS, More, RetireModel
from mephisto_tasks.control.snapshot import GroupStatus, OrderResult, Snapshot, write_snapshot
from mephisto_tasks.monitoring import web as served
from mephisto_tasks.monitoring.observe import Observer
from mephisto_tasks.monitoring.status import BLIND_NAMES, StudyStatus, kept_blind_names
from mephisto_tasks.monitoring.terminal import plain, steering
from mephisto_tasks.monitoring.web import Drawer, LeaderboardPage, Told
from mephisto_tasks.storage.locks import study_folder
from mephisto_tasks.storage.results import RunSettings, flat, note_settings
from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.report.render.leaderboard import to_fragment

TASK = "watched"
REPORTS = "mephisto_tasks.cli.report_documents"
NAMED = re.compile("alpha|beta")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve workers of SATA, of whom most choose the model that stands at even places in turn."""
    study = StoredStudy(tmp_path_factory.mktemp("stored"))
    for number in range(12):
        study.add(TASK, f"w{number}", [*choices(f"d{number}", [[1], [2], [1], [2], [1], [1 + number % 2]])])
    return study.data_dir


@pytest.fixture(scope="module")
def seen(stored: Path) -> StudyStatus:
    return Observer(stored, TASK, draws=100).standing()


def run(command: Any, data_dir: Path, *arguments: str) -> Result:
    return CliRunner().invoke(
        command, [*arguments, "--data-dir", str(data_dir)], env={"COLUMNS": "80"}, default_map={"draws": 100}
    )


def test_once(stored: Path) -> None:
    """Guards the one look: within 80 columns, the answer, what looking costs, and how the study is steered."""
    done = run(watch, stored, "--task-name", TASK, "--once")
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    for words in (
        "No launch is running",
        "alpha was chosen",
        "stop when one looks good",
        "12 dialogues are complete",
        "steer pause|resume",
    ):
        assert words in said
    assert max(map(len, done.output.splitlines())) <= 80


def test_json_and_the_list_of_tasks(stored: Path) -> None:
    """Guards programs: the standing as JSON, and the names where none is given."""
    standing = json.loads(run(watch, stored, "--task-name", TASK, "--json").output)
    assert (standing["schema"], standing["state"], standing["groups"][0]["completed"]) == (
        "parlai-humaneval/watch",
        "not_running",
        12,
    )
    assert json.loads(run(watch, stored, "--json").output) == {"tasks": [TASK]}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--task-name", "wacthed", "--once"], "Did you mean watched?"),
        (["--task-name", TASK, "--once", "--page"], "print once"),
        (["--task-name", TASK, "--page", "--host", "0.0.0.0"], "add --public"),
        (["--task-name", TASK, "--blind-names"], "add --public"),
        (["--task-name", TASK, "--port", "80"], "--port needs a page"),
        (["--task-name", TASK, "--page", "--public", "--port", "80"], "one command for each page"),
    ],
)
def test_what_cannot_be_done_is_said(stored: Path, options: list[str], said: str) -> None:
    """Guards who mistypes: a sentence that says what to do, and no traceback."""
    done = run(watch, stored, *options)
    assert done.exit_code == 1
    assert said in " ".join(done.output.split())


def test_a_leaderboard_to_show(stored: Path, tmp_path: Path) -> None:
    """Guards the page that others see: ranks and intervals, how many rated, and nobody who did; never over an older one."""
    page = tmp_path / "ranks.html"
    options = ["--task-name", TASK, "--leaderboard", str(page)]
    done = run(report, stored, *options)
    assert done.exit_code == 0, done.output
    assert f"Leaderboard → {page}" in done.output
    html = page.read_text(encoding="utf-8")
    assert "12 raters, 12 complete dialogues" in html
    assert "Which would you rather talk to?" in html
    assert "alpha" in html
    for worker in Observer(stored, TASK, draws=100)._books().workers:
        assert worker.worker not in html
    assert TASK not in html
    assert str(stored) not in html
    assert run(report, stored, *options).exit_code == 1
    assert run(report, stored, *options, "--force").exit_code == 0
    assert json.loads(run(report, stored, *options, "--force", "--json").output)["leaderboard"] == str(page)


def test_blind_names_stay_and_stay_here(stored: Path, tmp_path: Path) -> None:
    """Guards blinding: no model's own name stands anywhere on the page, the names are the same next time, and who is who
    is kept beside the study, for its owner only."""
    page = tmp_path / "ranks.html"
    done = run(report, stored, "--task-name", TASK, "--leaderboard", str(page), "--blind-names")
    assert done.exit_code == 0, done.output
    html = page.read_text(encoding="utf-8")
    assert "Model A" in html
    assert "Model B" in html
    assert not NAMED.search(html)
    kept = study_folder(stored, TASK) / BLIND_NAMES
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    first = json.loads(kept.read_text())["names"]
    assert set(first) == {"alpha", "beta"}
    assert kept_blind_names(kept.parent, ["alpha", "beta", "gamma"]) == {**first, "gamma": "Model C"}
    kept.write_text("{")
    with pytest.raises(DataError, match="damaged"):
        kept_blind_names(kept.parent, ["alpha"])
    alone = run(report, stored, "--task-name", TASK, "--blind-names")
    assert "--leaderboard FILE" in alone.output


def test_the_page_escapes_what_others_wrote(stored: Path) -> None:
    """Guards the page from names of tasks, models and workers, wherever they stand; terminals from what they would obey."""
    evil = "<img src=x onerror=alert(1)>\"'"
    standing = Observer(stored, TASK, draws=100).standing()
    group = standing.groups[0].model_copy(update={"models": [evil, "beta"], "label": evil, "stopped": evil})
    standing = standing.model_copy(
        update={
            "task_name": evil,
            "groups": [group],
            "state_words": evil,
            "problem": evil,
            "remarks": [evil],
            "url": evil,
        }
    )
    html = Drawer().page(standing)
    assert "<img" not in html
    assert html.count("&lt;img src=x") >= 8
    assert plain("red \x1b[31malert\x07\u202e") == "red �[31malert��"


@pytest.mark.parametrize(
    ("changes", "offered"),
    [
        ({}, {"pause", "more", "group-0", "group-1", "model-0", "model-1", "model-2"}),
        ({"state": "paused"}, {"resume", "more", "group-0", "group-1", "model-0", "model-1", "model-2"}),
        ({"state": "starting"}, {"pause", "more", "group-0", "group-1", "model-0", "model-1", "model-2"}),
        ({"state": "ending"}, {"more", "group-0", "group-1", "model-0", "model-1", "model-2"}),
        ({"remaining": 0}, {"more", "group-0", "group-1", "model-0", "model-1", "model-2"}),
        ({"state": "ended"}, {"more", "group-1"}),
        ({"state": "cut_off"}, {"more", "group-1"}),
        ({"state": "not_running"}, {"more", "group-1"}),
        ({"state": "ended", "orders": ["pause"]}, {"resume", "more", "group-1"}),
        ({"state": "ended", "orders": ["pause", "more", "resume"]}, {"more", "group-1"}),
    ],
)
def test_only_buttons_that_do_something_are_there(
    seen: StudyStatus, changes: dict[str, Any], offered: set[str]
) -> None:
    """Guards the page of a study of which nothing runs: no Pause, no Stop, no Retire; what the next launch would follow
    stays. A pair that has all that was asked for has no Stop either; one that was stopped can go on."""
    groups = [
        GroupStatus(label=f"{models}", models=models, metric="m", setting="", completed=done, wanted=4, stopped=stopped)
        for models, done, stopped in (
            (["alpha", "beta"], 3, None),
            (["alpha", "gamma"], 2, "stopped"),
            (["beta", "gamma"], 4, None),
        )
    ]
    orders = [
        OrderResult(order_id=str(at), kind=kind, at=at, by="page", done=True, text="")
        for at, kind in enumerate(changes.get("orders", []))
    ]
    told = {"state": "running", "remaining": 3, **changes, "groups": groups, "orders": orders}
    html = Drawer().fragment(seen.model_copy(update=told))
    assert set(re.findall(r'<button type="button" id="([\w-]+)"', html)) == offered
    assert ("take effect at the next launch" in html) is (told["state"] in ("ended", "cut_off", "not_running"))


def test_an_old_standing_is_said_to_be_old(seen: StudyStatus) -> None:
    """Guards against numbers that look fresh while the watcher waits for a database."""
    assert "\u00a0s old" not in Drawer(lambda: seen.at + 5).fragment(seen)
    assert "are 40\u00a0s old" in Drawer(lambda: seen.at + 40).fragment(seen)


def test_more_from_the_page_is_agreed_to_with_its_price(tmp_path: Path) -> None:
    """Guards real money: the page asks with the sentence that ``steer more`` asks with, and nothing is ordered before."""
    group = GroupStatus(
        label="a vs b", models=["a", "b"], metric="m", setting="", asked=9, wanted=9, completed=3, running=0
    )
    snapshot = Snapshot(
        at=1.0,
        task_name=TASK,
        task_run_id="1",
        pid=1,
        began=1.0,
        url="",
        technique="sata",
        metric="m",
        counted="conversations",
        remaining=6,
        groups=[group],
    )
    write_snapshot(tmp_path, TASK, snapshot)
    settings = flat({"provider": {"_provider_type": "mturk"}, "task": {"task_reward": 2}})
    note_settings(tmp_path, TASK, RunSettings(task="sata", task_run_id="1", settings=settings))
    order = More(number=10, by="page")
    asked = given_by_page(tmp_path, TASK, order, "")
    assert asked == Told(
        "This change spends real money on MTurk: up to $24.00 for 10 more HITs, including the fee.", True
    )
    assert asked.words == price_of(tmp_path, TASK, [order])
    assert ORDERS.read(tmp_path, TASK) == []
    assert "will take effect at the next launch" in given_by_page(tmp_path, TASK, order, asked.words).words
    assert [one.kind for one in ORDERS.read(tmp_path, TASK)] == ["more"]
    assert "no model x" in given_by_page(tmp_path, TASK, RetireModel(model="x"), "").words
    assert len(ORDERS.read(tmp_path, TASK)) == 1


def test_what_it_says_of_steering_can_be_typed() -> None:
    """Guards the hint against another spelling than the command's."""
    words = steering("a task").plain.split()
    named = words[words.index("parlai-humaneval") + 2].split("|")
    assert set(named) <= set(steer.commands)
    assert steering("a task").plain.endswith("--task-name 'a task'")


async def test_the_public_page_is_drawn_once_for_all(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards the study's machine from its visitors: however many look, one document is drawn once; and blind names hold."""
    observer = Observer(stored, TASK, draws=100)
    observer.standing()
    drawn: list[str] = []
    monkeypatch.setattr(served, "to_fragment", lambda board: drawn.append(board.title) or to_fragment(board))
    page = LeaderboardPage(observer.document, title="Which bot?", blind_in=tmp_path)
    async with TestClient(TestServer(page.app())) as visitors:
        answers = await asyncio.gather(*(visitors.get("/part") for _ in range(20)))
        texts = {await answer.text() for answer in answers}
        whole = await (await visitors.get("/")).text()
    assert drawn == ["Which bot?"]
    assert len(texts) == 1
    assert "Model A" in whole
    assert not NAMED.search(whole + texts.pop())


@pytest.mark.parametrize(("command", "heavy"), [(watch, "mephisto_tasks.monitoring.observe"), (report, REPORTS)])
def test_a_task_that_is_not_there_is_told_before_anything_heavy_is_imported(
    stored: Path, command: Command, heavy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards who mistypes a task against waiting for the statistics first."""
    monkeypatch.setitem(sys.modules, heavy, None)
    for data_dir, what in ((stored, "there is no task 'wached'"), (stored / "no", "there is no Mephisto database in")):
        refused = CliRunner().invoke(command, ["--task-name", "wached", "--data-dir", str(data_dir)])
        assert refused.exit_code == 1
        assert what in refused.output
