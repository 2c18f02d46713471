"""A storm's plan comes from its seed alone, and its checks see what a storm could do."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from forked import WarmServer

from mephisto_tasks.storage.logs import DECISIONS
from parlai_humaneval.schema.records import Candidate, ContextRecord, DialogueRecord, Rated, Turn
from parlai_humaneval.schema.steps import Card, ChooseStep, PageState
from parlai_humaneval.stopping.events import Outcome
from parlai_humaneval.stopping.rule import StoppingRule
from parlai_humaneval.stopping.study import SequentialStudy
from storm import checks, disk, facts
from storm.facts import Fact
from storm.notebook import Notebook, Sent
from storm.plan import LASTS, counts, drawn
from storm.report import StormReport
from storm.study import StormStudy


def test_one_seed_is_one_plan() -> None:
    assert drawn(7, 60) == drawn(7, 60)
    assert drawn(7, 60) != drawn(8, 60)


@pytest.mark.parametrize("seed", range(20))
def test_every_big_thing_happens_in_every_minute(seed: int) -> None:
    """Whatever the seed: no storm is calm, and all of it happens while it lasts."""
    for seconds in (60, 600):
        plan = drawn(seed, seconds, browser=seconds == 600)
        assert all(0 < event.at_s < seconds for event in plan)
        assert [event.at_s for event in plan] == sorted(event.at_s for event in plan)
        found = counts(plan)
        for kind in (
            "kill_launcher",
            "stop_launcher",
            "kill_deciding",
            "end_deciding",
            "freeze_launcher",
            "kill_server",
            "full_disk",
            "locked_database",
        ):
            assert found[kind] >= seconds / 60
        for event in plan:
            least, most = LASTS.get(event.kind, (0.0, 0.0))
            assert least <= event.lasts_s <= most


class OneName(checks.Names):
    """Every worker is called as they are."""

    def __init__(self) -> None:
        """Nothing has to be read."""

    def of(self, worker: str) -> str:
        return worker


def dialogue(*said: str, status: str = "complete") -> DialogueRecord:
    """A record of a worker ``w``, a turn for each text."""
    turns = [
        Turn(
            turn=number,
            human_text=text,
            human_at=1.0,
            candidates=[
                Candidate(candidate_id=f"{number}{name}", model=name, text=name, position=place, latency_s=0.1)
                for place, name in enumerate("ab", start=1)
            ],
            selected=[f"{number}a"],
            continued=f"{number}a",
            answered_at=2.0,
        )
        for number, text in enumerate(said, start=1)
    ]
    return DialogueRecord.model_validate(
        {
            "worker": "w",
            "unit_id": "1",
            "dialogue_id": "d",
            "technique": "sata",
            "metric": "appropriate",
            "seed": 1,
            "status": status,
            "started_at": 0.0,
            "question": "?",
            "models": [],
            "context": ContextRecord(),
            "turns": turns,
        }
    )


def book(*said: str, told: str = "", ended: str = "handed in") -> Notebook:
    """What a worker ``w`` knows: these messages were confirmed, and the first card chosen after each."""
    notebook = Notebook("w", "study", ended=ended, told=told)
    for number, text in enumerate(said, start=1):
        notebook.answers.append(Sent([Fact("message", text, "")], f"message-{number}", confirmed=True))
        choice = Fact("choose", f"{number}a {number}b", json.dumps([[f"{number}a"], ""]))
        notebook.answers.append(Sent([choice], f"choose-{number}", confirmed=True))
    return notebook


def problems(notebook: Notebook, *records: Rated) -> list[str]:
    return checks.answers_stored_once([notebook], {"w": list(records)}, OneName())


def test_what_is_as_it_was_confirmed_is_no_problem() -> None:
    assert problems(book("one", "two"), dialogue("one", "two")) == []


def test_lost_doubled_changed_and_invented_answers_are_seen() -> None:
    assert any("lost" in line and "two" in line for line in problems(book("one", "two"), dialogue("one")))
    assert any("2 times" in line for line in problems(book("one"), dialogue("one"), dialogue("one")))
    assert any("never sent" in line for line in problems(book("one"), dialogue("one", "of another")))
    other = dialogue("one")
    other.turns[0].selected = ["1b"]
    assert any("changed" in line for line in problems(book("one"), other))


def test_an_answer_that_was_not_confirmed_may_be_stored_or_not() -> None:
    notebook = book("one")
    notebook.answers.append(Sent([Fact("message", "two", "")], "message-2"))
    assert problems(notebook, dialogue("one")) == []
    half = dialogue("one", "two")
    half.turns[1].selected = []
    assert problems(notebook, half) == []


def test_a_worker_who_was_lied_to_is_seen() -> None:
    thanked = book("one", told=checks.THANKED)
    assert checks.told_the_truth([thanked], {"w": [dialogue("one")]}, OneName()) == []
    assert checks.told_the_truth([thanked], {"w": [dialogue("one", status="partial")]}, OneName())
    paused = book("one", told="The study was paused", ended="told")
    assert checks.told_the_truth([paused], {"w": [dialogue("one")]}, OneName())
    assert checks.told_the_truth([book(told="Go away", ended="refused")], {}, OneName())
    assert checks.nobody_hangs([book(ended="hangs")]) == ["w hangs"]


def test_who_waits_while_nothing_is_wrong_hangs_though_a_later_fault_wakes_them_up() -> None:
    """A launch that is killed and comes back would hide a page that it had forgotten."""
    waiting = book("one", ended="handed in", told=checks.THANKED)
    waiting.waits()
    for _ in range(50):
        waiting.waits_in_calm(0.5)
    waiting.has_it()
    assert checks.nobody_hangs([waiting]) == ["w waited 25 s while nothing was wrong"]
    patient = book("one")
    patient.waits()
    for _ in range(90):  # each answer is due for ten seconds
        patient.waits_in_calm(0.5)
        if patient.calm_s >= 10:
            patient.has_it()
            patient.waits()
    assert checks.nobody_hangs([patient]) == []


def test_a_study_that_waits_for_somebody_and_a_dialogue_that_does_not_count_are_seen(tmp_path: Path) -> None:
    """The log of a study that stops once it reaches a decision, without its end, and with an unrecorded answer."""
    study = SequentialStudy(StoppingRule(models=("a", "b"), margin=0.2, max_dialogues=8), seed=1)
    study.arrive("ghost", at=0.0)
    study.arrive("quick", at=1.0)
    study.answer("quick", 0, Outcome(picks=(1, 1), turns=2), at=2.0)
    DECISIONS.append(tmp_path, *study.log, task="study")
    assert checks.every_dialogue_counts(tmp_path, "study") == [
        "ghost waits to be folded in",
        "quick waits to be folded in",
        "quick has 0 complete dialogues, and 1 count",
    ]
    assert checks.has_ended("study", ended=False) == ["study has not ended, though raters go on coming"]


def test_a_fact_is_the_same_as_it_is_sent_and_as_it_is_stored() -> None:
    """Of two equal replies one is shown, and both are credited: that is one choice."""
    record = dialogue("one")
    record.turns[0].candidates[1].same_as = "1a"
    record.turns[0].selected = ["1a", "1b"]
    step = ChooseStep(step_id="choose-1", question="?", cards=[Card(candidate_id="1a", text="a")])
    state = PageState(version=1, phase="task", step=step)
    answer = {"kind": "choose", "step_id": "choose-1", "selected": ["1a"], "none": False, "reason": ""}
    assert facts.sent(answer, state)[0] in facts.stored([record])


def test_tracebacks_are_told_from_each_other() -> None:
    log = [
        "Traceback (most recent call last):\n",
        '  File "a.py", line 1\n',
        "OSError: [Errno 28] No space left on device\n",
        "all goes on\n",
        "Traceback (most recent call last):\n",
        "    raise KeyError('x')\n",
        "KeyError: 'x'\n",
    ]
    assert len(checks.tracebacks(log)) == 2
    assert checks.unexplained(log) == ["1 × KeyError: 'x'"]


def test_half_written_files_are_seen(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "state.json.7f.new").write_text("{")
    assert checks.nothing_left_behind(tmp_path, [], "no such mark") == ["runs/state.json.7f.new is left"]


_WRITES = """
import sys
for _ in sys.stdin:
    try:
        with open(sys.argv[1], "a") as file:
            file.write("x")
        print("written", flush=True)
    except OSError as error:
        print(error.errno, flush=True)
"""


def test_a_disk_can_be_full_where_nothing_may_be_mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the processes' files cannot grow; and they can again."""
    monkeypatch.setattr(disk.shutil, "which", lambda name: None)
    command = [sys.executable, "-c", _WRITES, str(tmp_path / "file")]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process,
        disk.Disk(tmp_path / "disk", lambda: [process.pid]) as full,
    ):
        assert process.stdin is not None
        assert process.stdout is not None

        def says() -> str:
            process.stdin.write("go\n")
            return process.stdout.readline().strip()

        assert says() == "written"
        full.fill()
        assert says() == str(errno.EFBIG)
        full.free()
        assert says() == "written"


def test_a_failed_storm_says_how_to_see_it_again() -> None:
    report = StormReport(
        seed=7, seconds=60, disk="", problems={"nobody hangs": ["w3 hangs"]}, histories=["w3 in sata:"]
    )
    assert not report.passed
    assert "w3 hangs" in report.failures()
    assert "--seconds 60 --seed 7" in report.failures()
    assert "**1 wrong**" in report.markdown()
    assert StormReport(seed=7, seconds=60, disk="", problems={"nobody hangs": []}).failures() == ""


@pytest.mark.parametrize(
    ("of", "explained"), [(checks.OF_PYTHON, True), ("Exception ignored in: <function Page.__del__", False)]
)
def test_what_python_says_at_its_end_is_no_fault_of_ours(of: str, explained: bool) -> None:
    log = [
        f"{of} at 0x7f>\n",
        "Traceback (most recent call last):\n",
        '  File "x.py", line 1\n',
        "TypeError: it is None\n",
    ]
    assert (checks.unexplained(log) == []) == explained


LAUNCH = """
import http.server, os, signal, sys, threading, time
class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b'"operator_connected": true')
    def log_message(self, *_): pass
def end(*_):
    print("error: {why}", flush=True)
    os._exit(1)
signal.signal(signal.SIGTERM, end)
port = int(next(word for word in sys.argv if "port=" in word).partition("=")[2])
server = http.server.HTTPServer(("127.0.0.1", port), Health)
threading.Thread(target=server.serve_forever).start()
time.sleep(0.5)
print("Ctrl-C stops", flush=True)
"""


@pytest.mark.parametrize(("why", "excused"), [("another program holds it: nobody was let in", True), ("1 / 0", False)])
async def test_a_fault_that_kept_a_launch_from_its_beginning_is_none_of_its_end(
    tmp_path: Path, why: str, excused: bool
) -> None:
    """Guards a storm on a slow machine: a server that answers is no launch yet, and one that a locked database ended is none
    that did not end cleanly."""
    forks = WarmServer(())
    study = StormStudy("pw_turn", [], tmp_path, tmp_path, dict(os.environ), forks)
    study._command[1:3] = ["-c", LAUNCH.format(why=why)]
    try:
        await study.start()
        assert "Ctrl-C stops" in "".join(study.log)
        await study.stop(signal.SIGTERM)
        assert (study.fate.exits == [], len(study.fate.failed)) == (excused, int(excused))
    finally:
        study.end()
        forks.close()
