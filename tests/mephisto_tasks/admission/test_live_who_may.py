"""A running study: who is turned away, before any practice and with a true reason, and who comes in again."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hands import Hands
from live import TASK, Rater, config_of, eventually, good_replies, launch, launch_beside, records, rows
from omegaconf import OmegaConf

from mephisto_tasks.adapter.blueprint import build_study
from mephisto_tasks.admission.admission import BLOCKED, DONE_ALL, DONE_ALL_ACROSS, PHRASES, SEEN_BEFORE
from mephisto_tasks.admission.identity import BUSY, OTHER_BROWSER
from mephisto_tasks.admission.visits import only_closing
from mephisto_tasks.chat.config import InteractiveConfig
from mephisto_tasks.cli.launch import announce
from mephisto_tasks.config.task import read_config
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.server.security import Browser
from mephisto_tasks.storage.logs import REFUSALS
from mephisto_tasks.storage.results import PSEUDONYM_KEY
from parlai_humaneval.cli import main
from parlai_humaneval.i18n.translate import t
from parlai_humaneval.schema.pseudonyms import Pseudonymizer

PRACTICE = "pw-practice"
WRONG = ["good", "bad", "good", "good"]
RIGHT = ["good"] * 4


async def whole_unit(run: RunningStudy, worker: str) -> None:
    async with Rater(run, worker) as rater:
        await rater.finish()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStudy]:
    """“veteran” took part in an earlier study; “listed” stands in the block list; a unit for each worker. The program is
    started by its path, as the README does."""
    folder = tmp_path_factory.mktemp("who-may")
    data_dir = folder / "data"
    with launch(data_dir, task_name="earlier", dialogues_per_group=2) as earlier:
        asyncio.run(whole_unit(earlier, "veteran"))
    (folder / "barred.csv").write_text("Worker ID,why\nlisted,rude\n")
    rules = {"exclude_tasks": ["earlier"], "block_list": str(folder / "barred.csv"), "max_units": 1, "locales": ["US"]}
    settings: dict[str, Any] = {
        "disconnect_after_s": 1,
        "models": ["alpha", "beta", "gamma"],
        "dialogues_per_group": 20,
        "onboarding_qualification": PRACTICE,
    }
    (folder / "parlai-humaneval").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", [str(folder / "parlai-humaneval")])
        with launch(data_dir, **settings, workers=rules) as run:
            patch.undo()
            yield run


def command(run: RunningStudy, *arguments: str) -> Result:
    done = CliRunner().invoke(main, ["workers", *arguments, "--data-dir", str(run.data_dir)], terminal_width=200)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    for name in ("veteran", "listed", "once", "banned", "clumsy"):
        assert name not in done.output, "only pseudonyms are printed"
    return done


def pseudonym(run: RunningStudy, worker: str) -> str:
    return Pseudonymizer.load_or_create(run.data_dir / PSEUDONYM_KEY).worker(f"{worker}_sandbox")


async def refusal(run: RunningStudy, worker: str, visit: str = "1") -> str | None:
    async with Rater(run, worker, f"{worker}-{visit}") as rater:
        return rater.client.refused


def practised(run: RunningStudy, worker: str) -> int:
    sql = "SELECT COUNT(*) FROM onboarding_agents JOIN workers USING (worker_id) WHERE worker_name = ?"
    return int(rows(run.data_dir, sql, f"{worker}_sandbox")[0][0])


@pytest.mark.parametrize(
    ("worker", "words", "kind"), [("veteran", SEEN_BEFORE, "took_part_before"), ("listed", BLOCKED, "block_list")]
)
async def test_who_may_not_take_part_never_practises(run: RunningStudy, worker: str, words: str, kind: str) -> None:
    """A kind sentence for them; the truth for researchers, once, in a file that others cannot read."""
    for visit in "12":
        assert await refusal(run, worker, visit) == only_closing(words)
    assert practised(run, worker) == 0
    (noted,) = [one for one in REFUSALS.read(run.data_dir, run.task_name) if one.worker == pseudonym(run, worker)]
    assert noted.kind == kind
    (file,) = run.data_dir.glob("studies/*/turned_away.jsonl")
    assert file.stat().st_mode & 0o077 == 0
    assert worker not in file.read_text()


async def test_what_the_place_cannot_check_is_said_at_launch(
    run: RunningStudy, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it is, also where it names a file that passes for markup."""
    (remark,) = [one for one in run.study.remarks if "locales" in one]
    assert remark.startswith("A launch does not check that raters live in US")
    run.study.remarks.append("people[/INST].csv names 1 twice.")
    announce(run)
    run.study.remarks.pop()
    said = " ".join(capsys.readouterr().out.split())
    assert remark in said
    assert "people[/INST].csv names 1 twice." in said


async def test_units_are_limited_and_then_it_says_so(run: RunningStudy) -> None:
    """A second page beside the first is told of the first, and not that they have done enough."""
    async with Rater(run, "once", "once-1") as rater:
        await rater.practise(RIGHT, good_replies(run))
        await rater.client.submit_onboarding()
        await rater.talk_until("message", turn=2)
        assert await refusal(run, "once", "beside") == BUSY
        await rater.finish()
    await eventually(lambda: not run.live_run.task_runner.running_units)
    assert await refusal(run, "once", "2") == only_closing(DONE_ALL)
    noted = [one for one in REFUSALS.read(run.data_dir, run.task_name) if one.worker == pseudonym(run, "once")]
    assert [one.kind for one in noted] == ["busy", "max_units"]
    assert noted[-1].why == "has begun 1 of max_units=1"


@pytest.mark.parametrize("where", [["--all-tasks"], ["--task-name", "test-task"]], ids=["all studies", "this study"])
async def test_a_block_by_hand_holds_at_once_until_it_is_lifted(run: RunningStudy, where: list[str]) -> None:
    worker = f"banned-{where[0]}"
    assert await refusal(run, worker, "1") is None
    await eventually(lambda: not run.live_run.worker_pool.onboarding_agents, timeout=15)
    name = pseudonym(run, worker)
    assert command(run, "block", name, "--reason", "Pastes answers of a chatbot.", *where).exit_code == 0
    assert await refusal(run, worker, "2") == BLOCKED
    (page,) = json.loads(command(run, "show", name, "--json").output)
    assert [block["reason"] for block in page["blocks"]] == ["Pastes answers of a chatbot."]
    lifted = command(run, "unblock", name, *where, "--json")
    assert [one["worker"] for one in json.loads(lifted.output)["unblocked"]] == [name]
    assert await refusal(run, worker, "3") is None


async def test_who_lost_their_browser_goes_on_in_another_when_a_researcher_says_so(run: RunningStudy) -> None:
    """Nobody else does, and the browser that comes then is the one from there on."""
    lost, new, late = Browser(), Browser(), Browser()
    async with Rater(run, "moves", browser=lost) as rater:
        begun = await rater.state()
    async with Rater(run, "moves", browser=new) as rater:
        assert rater.client.details["title"] == OTHER_BROWSER
    said = command(run, "new-browser", pseudonym(run, "moves"))
    moved = f"{pseudonym(run, 'moves')}: the next browser that opens the study under the rater's name can continue.\n"
    assert said.output == moved
    async with Rater(run, "moves", browser=new) as rater:
        assert await rater.state() == begun
    for other in (lost, late):
        async with Rater(run, "moves", browser=other) as rater:
            assert rater.client.details["title"] == OTHER_BROWSER


async def test_who_failed_the_practice_may_try_again_when_a_researcher_says_so(run: RunningStudy) -> None:
    """With both tries, at once, and not a third time by coming back."""
    good, name = good_replies(run), pseudonym(run, "clumsy")
    async with Rater(run, "clumsy", "clumsy-1") as rater:
        early = command(run, "reset-practice", name, "--task-name", run.task_name)
        assert early.output.splitlines()[0] == f"error: {name}: did not fail the practice round of task 'test-task'"
        await rater.practise([*WRONG, *WRONG], good)
        await rater.client.submit_onboarding()
    refused = await refusal(run, "clumsy", "2")
    program = run.data_dir.parent / "parlai-humaneval"
    again = f"{program} workers reset-practice {name} --task-name {run.task_name} --data-dir {run.data_dir}"
    closed = PHRASES["practice_failed"].replace("Please return the task.", "Please close this page.")
    assert str(refused) == f"{closed} {t(PHRASES['practice_again'], command=again)}", "no site takes the task back"
    assert (
        command(run, "reset-practice", name, "--task-name", run.task_name).output
        == f"{name} can try the practice round again.\n"
    )
    (line,) = [one for one in json.loads(command(run, "list", "--json").output) if one["worker"] == name]
    assert line["practice"] == "reset"
    async with Rater(run, "clumsy", "clumsy-3") as rater:
        state = await rater.practise(WRONG, good)
        assert state.notice is not None, "all tries are theirs again, so that one is left"
        await rater.practise(RIGHT, good)
        assert (await rater.client.submit_onboarding())["failure_reason"] is None
    (page,) = json.loads(command(run, "show", name, "--json").output)
    (task,) = page["tasks"]
    assert task["practice"] == "passed"
    assert [turned["kind"] for turned in task["turned_away"]] == ["practice_failed"]


async def test_who_failed_the_practice_reads_so_however_soon_they_come_back(
    run: RunningStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while Mephisto, which has told them, still holds their practice: neither page is "another page open"."""
    pool = run.live_run.worker_pool
    told, let_go = pool.register_agent_from_onboarding, asyncio.Event()

    async def tells_and_holds(agent: Any) -> None:
        await told(agent)
        await let_go.wait()

    monkeypatch.setattr(pool, "register_agent_from_onboarding", tells_and_holds)
    good = good_replies(run)
    async with Rater(run, "hasty") as rater:
        await rater.practise([*WRONG, *WRONG], good)
        await rater.client.submit_onboarding()
    assert pool.onboarding_agents, "it is still held"
    async with Rater(run, "hasty") as reloaded:
        assert str(reloaded.client.refused).startswith(only_closing(PHRASES["practice_failed"]))
    assert str(await refusal(run, "hasty", "2")).startswith(only_closing(PHRASES["practice_failed"]))
    run.live_run.loop_wrap.loop.call_soon_threadsafe(let_go.set)
    await eventually(lambda: not pool.onboarding_agents)


async def test_workers_are_listed_and_noted_and_found_by_their_id(run: RunningStudy) -> None:
    name = pseudonym(run, "veteran")
    assert command(run, "note", name, "Wrote to us: the page froze.").output == f"Noted on {name}.\n"
    (line,) = [one for one in json.loads(command(run, "list", "--json").output) if one["worker"] == name]
    assert (line["complete"], line["partial"], line["tasks"], line["notes"]) == (1, 0, ["earlier"], 1)
    assert (line["provider"], line["simulated"]) == ("mock", False)
    table = command(run, "list", "--task-name", "earlier").output
    assert name in table
    assert "1 rater (1 real, 0 simulated)" in table
    shown = CliRunner().invoke(main, ["workers", "show", "--worker-id", "veteran", "--data-dir", str(run.data_dir)])
    assert shown.exit_code == 0
    assert f"{name}, from mock" in shown.output
    assert "Wrote to us: the page froze." in shown.output
    odd = "[/] is [red]no[/red] markup :smile: \x1b[31mhere\n\\"
    long = "one line of a file of notes, however long it is, " * 4
    assert command(run, "note", name, long).exit_code == 0
    assert long.strip() in command(run, "show", name).output
    assert command(run, "note", name, odd).exit_code == 0
    assert "[/] is [red]no[/red] markup :smile: �[31mhere \\" in command(run, "show", name).output
    assert "complete, 2 of 2 turns" in shown.output
    assert "veteran" not in shown.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", "w000000000000"], "no rater in this data directory has this pseudonym"),
        (["show", "--worker-id", "A1SOMEBODY"], "this data directory has no rater with this ID"),
        (["show"], "name a rater"),
        (["block", "w000000000000", "--reason", "x"], "choose --task-name NAME, or --all-tasks"),
        (["block", "w000000000000", "--reason", " ", "--all-tasks"], "--reason is empty"),
        (["block", "w000000000000", "--reason", "x", "--all-tasks"], "has this pseudonym"),
        (
            ["block", "w000000000000", "--reason", "x", "--task-name", "test-task", "--everywhere"],
            "--everywhere needs --all-tasks",
        ),
        (["list", "--task-name", "nothing"], "there is no task 'nothing'"),
        (["note", "w000000000000", " "], "the note is empty"),
        (["reset-practice", "w000000000000", "--task-name", "nothing"], "has this pseudonym"),
    ],
)
async def test_wrong_commands_say_what_to_do(run: RunningStudy, arguments: list[str], said: str) -> None:
    done = command(run, *arguments)
    assert done.exit_code in (1, 2)
    assert said in " ".join(done.output.split())


async def test_the_same_models_once_in_whatever_setting_study_and_launch(tmp_path: Path) -> None:
    """Three pairs in three settings; one pair was rated in another study, and two are left for this worker."""
    async with launch_beside(tmp_path, task_name="earlier", turns=1) as earlier:
        await whole_unit(earlier, "regular")
    later: dict[str, Any] = {
        "task": "sata",
        "task_name": "later",
        "setting": "all",
        "turns": 1,
        "models": ["alpha", "beta", "gamma"],
        "dialogues_per_group": 2,
        "workers": {"pair_once": True, "across_tasks": ["earlier"]},
    }
    async with launch_beside(tmp_path, **later) as run:
        for visit in "12":
            async with Hands(run, "regular", visit) as rater:
                await rater.say()
                await rater.pick(0)
                await rater.do("end")
                await rater.hand_in()
            await eventually(lambda: not run.live_run.task_runner.running_units)
        assert await refusal(run, "regular", "3") == only_closing(DONE_ALL_ACROSS)
        assert {tuple(model.name for model in record.models) for record in records(run)} == {
            ("alpha", "gamma"),
            ("beta", "gamma"),
        }
    async with launch_beside(tmp_path, **later) as again:
        assert await refusal(again, "regular", "4") == only_closing(DONE_ALL_ACROSS)


async def test_a_failed_practice_and_its_reset_outlive_the_launch(tmp_path: Path) -> None:
    """Also a launch that was killed between the last wrong answer and the verdict; what was reset counts no more."""
    async with launch_beside(tmp_path, onboarding_qualification=PRACTICE) as run:
        async with Rater(run, "clumsy") as rater:
            await rater.practise([*WRONG, *WRONG], good_replies(run))
            await rater.client.submit_onboarding()
        name = pseudonym(run, "clumsy")

    def tries_used() -> list[int]:
        composed = config_of(tmp_path, onboarding_qualification=PRACTICE)
        blueprint = OmegaConf.to_container(composed.mephisto.blueprint, resolve=True, throw_on_missing=False)
        assert isinstance(blueprint, dict)
        settings = {str(key): None if value == "???" else value for key, value in blueprint.items()}
        study = build_study(read_config(InteractiveConfig, settings), "pw_turn", tmp_path, TASK, 1.0)
        return list(study.practice_tries_used.values())

    assert tries_used() == [2]
    with closing(sqlite3.connect(tmp_path / "database.db")) as connection, connection:  # as the kill leaves it
        connection.execute("UPDATE onboarding_agents SET status = 'onboarding'")
        connection.execute("DELETE FROM granted_qualifications")
    async with launch_beside(tmp_path, onboarding_qualification=PRACTICE) as run:
        assert str(await refusal(run, "clumsy", "2")).startswith(only_closing(PHRASES["practice_failed"]))
    assert command(run, "reset-practice", name, "--task-name", TASK).exit_code == 0
    assert tries_used() == []
