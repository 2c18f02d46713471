"""What a researcher sees of a study that stops once it reaches a decision: while it runs, at its end, and later."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from live import TASK, Launch, whole_dialogue
from stored_decisions import RULE, decided_study
from stored_study import START

from mephisto_tasks.cli.launch import line as line_of_launch
from mephisto_tasks.cli.report import answers_of
from mephisto_tasks.cli.watch import watch
from mephisto_tasks.control.snapshot import DecidingNow, GroupStatus, Snapshot, write_snapshot
from mephisto_tasks.monitoring.observe import Observer
from mephisto_tasks.monitoring.status import WORDS, estimated_end
from mephisto_tasks.monitoring.view import decided_table, line, progress_words
from mephisto_tasks.monitoring.web import Drawer
from mephisto_tasks.simulation.raters import Behaviour, run_raters
from mephisto_tasks.storage.locks import task_lock
from mephisto_tasks.storage.logs import DECISIONS
from parlai_humaneval.cli import main
from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.stopping import CHANGED, Stopping
from parlai_humaneval.stopping.events import Forecast, JudgeHelp, PairForecast, StoppingStatus
from parlai_humaneval.stopping.study import SequentialStudy
from parlai_humaneval.tables.files import read_tables

STORED = "stored-study"
NOW = START + 10_000
PAIR = PairForecast(first="alpha", second="beta", expected=121.0, low=61, high=1190)
FORECAST = Forecast(expected=203.4, low=131, high=429, pairs=(PAIR,), capped=0.0, simulations=200, seed=0)


def watched(data_dir: Path, *arguments: str) -> str:
    done = CliRunner().invoke(watch, [*arguments, "--data-dir", str(data_dir)], env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    return done.output


def launched(standing: StoppingStatus, **changes: Any) -> Snapshot:
    """What a launch says of itself."""
    group = GroupStatus(
        label="alpha vs beta (preference, soba)",
        models=["alpha", "beta"],
        metric="preference",
        setting="soba",
        asked=40,
        wanted=None,
        completed=standing.answered,
        running=1,
    )
    whole = Snapshot(
        at=NOW,
        task_name=STORED,
        task_run_id="1",
        pid=1,
        began=NOW - 600,
        url="http://127.0.0.1:3000",
        technique="sata",
        metric="preference",
        counted="conversations",
        remaining=standing.cap - standing.answered,
        groups=[group],
        deciding=DecidingNow(standing=standing, margin=0.3, forecast=FORECAST),
    )
    return whole.model_copy(update=changes)


@pytest.fixture
def going(tmp_path: Path) -> SequentialStudy:
    """Five workers answered, and one ran out of time: too little to decide anything, and a warning."""
    study = decided_study(tmp_path, STORED, 5, left=1)
    assert study.ended is None
    assert study.standing().warnings
    return study


async def test_a_real_study_is_watched_to_its_answer(start: Launch) -> None:
    """Guards the whole: what the launch, the watcher and the report say is one standing, before the end and after."""
    async with start(stop="decided", margin=0.3, max_dialogues=60) as run:
        await whole_dialogue(run, "w1")
        said = line_of_launch(run.study)
        assert said.startswith("1 of at most 60 conversations complete, ")
        assert "; 1 of 1 pairs open" in said
        begun = Observer(run.data_dir, TASK, draws=100).standing()
        assert begun.deciding is not None
        assert begun.answers == []
        behaviour = Behaviour(model_of=run.study.shown.get, prefer="alpha", strength=1.0)
        for begin in range(0, 40, 4):
            if run.study.remaining == 0:
                break
            await run_raters(
                run.url,
                behaviour,
                announce=run.study.simulated.add,
                raters=4,
                dialogues=4,
                seed=begin,
                name=f"sim{begin}",
            )
        now = run.study.deciding_now()
        assert now is not None
        assert str(now).startswith("answer reached: alpha > beta; ")
        assert str(now) in line_of_launch(run.study)
    data_dir = run.data_dir
    over = Observer(data_dir, TASK, draws=100).standing()
    assert over.headline == f"A{str(now)[1:]}."
    assert over.deciding is not None
    assert (over.deciding.standing, over.wanted) == (now.standing, over.completed)
    assert over.end.words == "The answer is reached."
    tables, known = answers_of(data_dir, TASK)
    document = build_report(tables, Options(draws=100), task=known)
    assert document.headline() == over.headline
    section = document.sections["stopping"]
    assert isinstance(section, Stopping)
    (pair,), (told,) = section.pairs, now.standing.pairs
    assert (pair.share, pair.low, pair.high) == (told.share, told.low, told.high)


def test_while_it_runs_every_number_may_be_looked_at(tmp_path: Path, going: SequentialStudy) -> None:
    """Guards the promise: no interval and no p of one look is shown, in the terminal, on the page, in the JSON."""
    standing = going.standing()
    with task_lock(tmp_path, STORED) as lock:
        lock.name_run("1")
        write_snapshot(tmp_path, STORED, launched(standing))
        seen = Observer(tmp_path, STORED, draws=100, clock=lambda: NOW).standing()
        once = " ".join(watched(tmp_path, "--task-name", STORED, "--once").split())
        whole = json.loads(watched(tmp_path, "--task-name", STORED, "--json"))
    assert seen.headline == "1 of 1 pairs open; about 203 more dialogues (80 %: 131–429)."
    assert (seen.answers, seen.looking) == ([], WORDS["looking"]["whenever"])
    assert progress_words(seen) == "5 of at most 40 conversations are complete"
    (row,) = decided_table(seen).rows
    pair = standing.pairs[0]
    assert (row["anytime_low"], row["anytime_high"], row["state"]) == (pair.low, pair.high, "open")
    assert row["to_go"] == "61–1,190"
    assert WORDS["foreseen"] in decided_table(seen).notes
    over = DecidingNow(standing=standing.model_copy(update={"ended": "cap"}), margin=0.3, forecast=FORECAST)
    assert "to_go" not in [column.key for column in decided_table(seen.model_copy(update={"deciding": over})).columns]
    for words in (
        "about 203 more dialogues (80 %: 131–429)",
        "you can check it at any time",
        "5 of at most 40",
        "61–1,190",
        "pause|resume --",
    ):
        assert words in once
    page = Drawer(lambda: NOW).page(seen)
    assert "61–1,190" in page
    for words in (once, page, line(seen)):
        assert "95 % from" not in words
        assert "Holm" not in words
        assert "p <" not in words
    assert whole["answers"] == []
    assert whole["deciding"]["standing"]["pairs"][0]["low"] == pair.low
    assert whole["deciding"]["forecast"]["expected"] == FORECAST.expected
    assert whole["deciding"]["forecast"]["pairs"] == [PAIR.model_dump()]
    assert "5 of at most 40 conversations complete" in line(seen)
    warning = f"{standing.warnings[0][:1].upper()}{standing.warnings[0][1:]}."
    assert warning in once
    assert warning in page.replace("\u00a0", " ")


def test_what_a_judge_adds_is_said_while_it_runs(tmp_path: Path, going: SequentialStudy) -> None:
    """Guards its line in the terminal and on the page, in words of dialogues."""
    judge = JudgeHelp(name="gpt@1", weight=0.4, worth=1.25)
    with task_lock(tmp_path, STORED) as lock:
        lock.name_run("1")
        write_snapshot(tmp_path, STORED, launched(going.standing().model_copy(update={"judge": judge})))
        once = " ".join(watched(tmp_path, "--task-name", STORED, "--once").split())
        page = Drawer(lambda: NOW).page(Observer(tmp_path, STORED, draws=100, clock=lambda: NOW).standing())
    for text in (once, page):
        assert "With gpt, a dialogue counts as 1.25 dialogues without it (weight 0.40)" in text
    assert JudgeHelp(name="gpt@1", weight=0.0, worth=1.0).said == "no help from gpt so far"


def test_the_page_offers_no_order_that_is_refused(tmp_path: Path, going: SequentialStudy) -> None:
    """Guards buttons: such a study can be paused, and what is rated is nobody's choice."""
    with task_lock(tmp_path, STORED) as lock:
        lock.name_run("1")
        write_snapshot(tmp_path, STORED, launched(going.standing()))
        page = Drawer(lambda: NOW).page(Observer(tmp_path, STORED, draws=100, clock=lambda: NOW).standing())
    assert 'id="pause"' in page
    assert 'id="more"' not in page
    assert "Retire a model" not in page
    assert 'id="group-0"' not in page
    assert '<figure class="forest"><svg' in page


def test_nothing_is_left_to_pause_where_it_ended(tmp_path: Path, going: SequentialStudy) -> None:
    """Guards the page of a study that needs nobody else: no button to pause; at the cap, what can be done; who paused it
    before can take that back."""
    with task_lock(tmp_path, STORED) as lock:
        lock.name_run("1")
        for ended, next_step in (("decided", False), ("cap", True)):
            over = going.standing().model_copy(update={"ended": ended})
            write_snapshot(tmp_path, STORED, launched(over))
            seen = Observer(tmp_path, STORED, draws=100, clock=lambda: NOW).standing()
            assert 'id="pause"' not in Drawer(lambda: NOW).page(seen)
            end = estimated_end(NOW, "running", 0, [], None, [], seen.deciding)
            assert ("max_dialogues" in end.words) is next_step
        paused = seen.model_copy(update={"state": "paused"})
        assert 'id="resume"' in Drawer(lambda: NOW).page(paused)


def test_what_is_said_while_it_runs_is_of_what_is_shown(tmp_path: Path, going: SequentialStudy) -> None:
    """Guards the words beside the numbers: nothing has stopped yet, and the share that is shown is not called hidden."""
    with task_lock(tmp_path, STORED) as lock:
        lock.name_run("1")
        write_snapshot(tmp_path, STORED, launched(going.standing()))
        seen = Observer(tmp_path, STORED, draws=100, clock=lambda: NOW).standing()
    assert (
        seen.remarks[0]
        == "Intervals use only dialogues that compare the two models. All of the intervals are jointly valid at all times."
    )
    assert seen.remarks[0] in decided_table(seen).notes
    assert "would estimate" not in seen.looking


def test_without_a_launch_of_its_own_the_log_says_how_it_stands(tmp_path: Path, going: SequentialStudy) -> None:
    """Guards who deleted the snapshot, or brought the data from elsewhere; a log that was changed says nothing."""
    observer = Observer(tmp_path, STORED, draws=100, clock=lambda: NOW)
    seen = observer.standing()
    assert seen.deciding is not None
    assert seen.deciding.standing == going.standing()
    path = DECISIONS.path(tmp_path, STORED)
    path.write_text(path.read_text().replace('"picks":[5,1]', '"picks":[0,6]', 1).replace('"at":', '"at":1', 1))
    changed = Observer(tmp_path, STORED, draws=100, clock=lambda: NOW).standing()
    assert (changed.deciding, changed.answers) == (None, [])
    assert CHANGED.partition("). ")[2] in changed.headline


def test_the_end_is_that_of_the_forecast() -> None:
    """Guards the time to go: it is reckoned with what is foreseen, and not with the cap; before that, nothing is told."""
    standing = SequentialStudy(RULE).standing()
    foreseen = DecidingNow(standing=standing, margin=0.3, forecast=FORECAST)
    groups = [
        GroupStatus(label="", models=["alpha", "beta"], metric="", setting="", completed=24, wanted=None, running=0)
    ]
    came = [NOW - 100 * number for number in range(12)]  # of two conversations each
    end = estimated_end(NOW, "running", 400, came, NOW - 3600, groups, foreseen)
    assert end.at is not None
    assert end.at == pytest.approx(NOW + FORECAST.expected / 2 * 3600 / 12)
    assert end.words.endswith("and the forecast is right.")
    unforeseen = foreseen.model_copy(update={"forecast": None})
    words = estimated_end(NOW, "running", 400, came, NOW - 3600, groups, unforeseen).words
    assert words == "When every pair is decided. There is no forecast yet; the cap is 40 dialogues."


def test_the_log_goes_out_and_comes_back(tmp_path: Path) -> None:
    """Guards `export`: the folder alone says what was decided, with the words of the data directory."""
    study = decided_study(tmp_path, STORED, 30)
    where = ["--task-name", STORED, "--data-dir", str(tmp_path)]
    done = CliRunner().invoke(main, ["export", *where, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    (log,) = read_tables(tmp_path / "out").stopping
    assert log.study == STORED
    said = CliRunner().invoke(main, ["report", "--tables", str(tmp_path / "out"), "--json", "--draws", "100"])
    assert json.loads(said.output)["headline"] == f"A{str(study.standing())[1:]}."
