"""A whole storm: studies launched, raters at work, faults, healing, the end, and the checks."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import uuid4

from forked import WarmServer, run
from killable_server import KillableServer, free_port

from mephisto_tasks.storage.results import read_records
from storm import checks
from storm.browser import BrowserRater
from storm.disk import Disk
from storm.notebook import Notebook
from storm.plan import drawn
from storm.rater import StormRater
from storm.report import StormReport
from storm.studies import Script, scripts
from storm.study import StormStudy, environment
from storm.weather import Weather

HEALED_S = 60.0
"""How long after everything was healed a rater may still be at it."""
ENDING_S = 150.0
"""How long raters go on coming, after a storm, to a study that stops once it reaches a decision."""
COMMAND_S = 120
LOOK_S = 0.5
MOST_HISTORIES = 3

ENDS = "every study ends that can, and every complete dialogue counts"

Say = Callable[[str], None]


class Crowd:
    """Raters who come one after another, so many at a time, until it is late; then those who are here finish, and somebody
    new comes only to what stops once it reaches a decision."""

    def __init__(self, chosen: Sequence[Script], seed: int, until: float, on_end: Say) -> None:
        self.raters: list[StormRater] = []
        self._chosen = chosen
        self._seed = seed
        self._until = until
        self._on_end = on_end

    def present(self) -> list[StormRater]:
        """Those at a page now, the earliest first."""
        return [rater for rater in self.raters if rater.book.ended is None and rater.has_page]

    def _there(self) -> list[Script]:
        """Studies to which somebody new may come now."""
        now = time.monotonic()
        return [
            script
            for script in self._chosen
            if now < self._until + ENDING_S * script.is_decided and not script.study.has_ended()
        ]

    @property
    def is_over(self) -> bool:
        """Whether nobody new comes, to no study."""
        return not self._there()

    async def stream(self, place: int) -> None:
        """One place in the crowd: when somebody ends, the next one comes."""
        while there := self._there():
            script = there[place % len(there)]
            rater = StormRater(script.study, f"w{len(self.raters) + 1}", script.behaviour, self._seed)
            self.raters.append(rater)
            await rater.run()
            self._on_end(f"{rater.book.worker} {rater.book.ended} {rater.book.told}")


async def storm(
    seed: int,
    seconds: float,
    places: int,
    folder: Path,
    say: Say,
    *,
    logs: Path | None = None,
    chromium: str | None = None,
) -> StormReport:
    """One storm in an empty folder.

    ``logs``: where to keep what the launches said, and what happened to each worker. ``chromium``: the program; a person
    with a browser is among the raters then.
    """
    mark = uuid4().hex
    studies: list[StormStudy] = []
    person: BrowserRater | None = None
    disk = Disk(folder / "disk", lambda: [study.pid for study in studies if study.pid is not None], seconds)
    server = KillableServer(folder, free_port())
    of_launches = environment(folder / "home", mark)
    forks = WarmServer(environment=of_launches)
    data_dir = folder / "disk" / "data"
    with disk:
        try:
            chosen = scripts(folder, data_dir, server, of_launches, forks, seconds, seed)
            studies += [script.study for script in chosen]
            say(f"{len(studies)} studies begin; the disk is {disk.how}")
            await studies[0].start()  # it makes the database
            await asyncio.gather(*(study.start() for study in studies[1:]))
            crowd = Crowd(chosen, seed, time.monotonic() + seconds, say)
            judging = next(study for study in studies if study.task_name == "storm-pw-dialog")
            person = None if chromium is None else BrowserRater(judging, folder, chromium, seed)
            kill_browser = (lambda: False) if person is None else person.kill
            deciding = next(script.study for script in chosen if script.is_decided)
            weather = Weather(studies, disk, data_dir / "database.db", server, crowd.present, kill_browser, deciding)
            streams = [asyncio.create_task(crowd.stream(place)) for place in range(places)]
            watch = asyncio.create_task(_watch_for_hanging(crowd, weather))
            if person is not None:
                person.start()
            await weather.blow(drawn(seed, seconds, browser=person is not None))
            say("healed; whoever is here finishes")
            if person is not None:
                person.come_to_an_end()
            await _finish(crowd, streams, say)
            watch.cancel()
            books = [rater.book for rater in crowd.raters]
            if person is not None:
                await asyncio.to_thread(person.give_up, HEALED_S)
                books += person.books
            report = StormReport(seed, seconds, disk.how, events=dict(weather.done))
            report.problems[ENDS] = checks.has_ended(deciding.task_name, deciding.has_ended())
            await asyncio.gather(*(study.stop() for study in studies))
            await _check(report, chosen, books, weather, data_dir, forks, say)
            forks.close()
            problems = checks.nothing_left_behind(data_dir, [study.task_name for study in studies], mark)
            report.problems["no process, lock or temporary file is left"] = problems
            report.histories = _histories(report.problems, books)
            if logs is not None:
                _keep(logs / f"seed-{seed}", studies, books, weather, data_dir)
            return report
        finally:
            if person is not None:
                person.end()
            for study in studies:
                study.end()
            forks.close()
            server.kill()


async def _watch_for_hanging(crowd: Crowd, weather: Weather) -> None:
    """Notice whoever waits for long while all is well: the next fault, or a reload, may well wake them up again."""
    while True:
        began = time.monotonic()
        await asyncio.sleep(LOOK_S)
        if time.monotonic() - began > 2 * LOOK_S:
            continue  # the machine has no time for anybody
        for rater in crowd.present():
            if rater.study.has_ended():
                rater.find_closed()
            elif not weather.touches(rater):
                rater.book.waits_in_calm(LOOK_S)


async def _finish(crowd: Crowd, streams: Sequence[asyncio.Task[None]], say: Say) -> None:
    """Give everybody time; who is still there then hangs."""
    late = time.monotonic() + HEALED_S
    while not crowd.is_over or (crowd.present() and time.monotonic() < late):
        await asyncio.wait(streams, timeout=1.0)
        for rater in crowd.present():
            if rater.study.has_ended():
                rater.find_closed()
    for rater in crowd.present():
        say(f"{rater.book.worker} hangs")
        rater.give_up()
    for task in streams:
        if task.done() and task.exception() is not None:
            raise task.exception() or AssertionError
    await asyncio.wait(streams, timeout=10)


async def _check(
    report: StormReport,
    chosen: Sequence[Script],
    books: Sequence[Notebook],
    weather: Weather,
    data_dir: Path,
    forks: WarmServer,
    say: Say,
) -> None:
    """Every check; statuses twice: a launch's next start mends what the one before may have left."""
    studies = [script.study for script in chosen]
    report.problems["every status is right when a launch has ended"] = [
        problem for study in studies for problem in checks.left_at_work(data_dir, study.task_name, study.fate.ended)
    ]
    say("launching once more, as somebody would tomorrow")
    await asyncio.gather(*(study.start() for study in studies))
    await asyncio.gather(*(study.stop() for study in studies))
    say("checking")
    problems = report.problems
    names = checks.Names(data_dir)
    answers: Counter[str] = Counter()
    problems["every confirmed answer is stored once, unchanged; nothing else is"] = []
    problems["every worker was told the truth"] = []
    problems["nobody hangs"] = checks.nobody_hangs(books)
    problems["whoever came back went on in the middle, asked nothing twice"] = checks.found_as_it_was(books)
    problems["nobody speaks for another worker"] = weather.thefts
    for script in chosen:
        study = script.study
        records = read_records(data_dir, study.task_name)
        grouped = checks.by_worker(records)
        mine = [book for book in books if book.study == study.task_name]
        answers += checks.tallies(mine, grouped, names)
        problems["every confirmed answer is stored once, unchanged; nothing else is"] += checks.answers_stored_once(
            mine, grouped, names
        )
        problems["every worker was told the truth"] += checks.told_the_truth(mine, grouped, names)
        problems.setdefault("every unit's state is possible", []).extend(
            checks.units_are_possible(data_dir, study.task_name, records, script.wanted, study.fate.ended)
        )
        if script.is_decided:
            problems[ENDS] += checks.every_dialogue_counts(data_dir, study.task_name)
        problems.setdefault("pay's books agree", []).extend(checks.books_agree(data_dir, study.task_name, records))
        problems.setdefault("no traceback but what faults explain", []).extend(checks.unexplained(study.log))
        problems.setdefault("launches end cleanly", []).extend(f"{study.task_name}: {how}" for how in study.fate.exits)
        report.launches += study.fate.launches
        report.failed_launches += len(study.fate.failed)
        report.explained_tracebacks += len(checks.tracebacks(study.log)) - sum(
            int(line.split(" ")[0]) for line in checks.unexplained(study.log)
        )
        for unit in checks.units_of(records).values():
            report.units["complete" if checks.is_complete(unit) else "partial"] = (
                report.units.get("complete" if checks.is_complete(unit) else "partial", 0) + 1
            )
    problems["report and export read it"] = []
    *read, problems["doctor finds nothing to mend"] = await asyncio.gather(
        *(asyncio.to_thread(_commands, forks, data_dir, study.task_name) for study in studies),
        asyncio.to_thread(_doctor, forks, data_dir),
    )
    problems["report and export read it"] = [problem for found in read for problem in found]
    _figures(report, books, answers)


def _keep(
    folder: Path, studies: Sequence[StormStudy], books: Sequence[Notebook], weather: Weather, data_dir: Path
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for study in studies:
        (folder / f"{study.task_name}.log").write_text("".join(study.log), encoding="utf-8")
    (folder / "events.log").write_text("\n".join(weather.lines), encoding="utf-8")
    shutil.copytree(data_dir, folder / "data", dirs_exist_ok=True)
    histories = [book.history(most=10_000) for book in books]
    (folder / "workers.log").write_text("\n\n".join(histories), encoding="utf-8")


def _figures(report: StormReport, books: Sequence[Notebook], answers: Counter[str]) -> None:
    report.workers = len(books)
    report.endings = dict(Counter(book.ended or "hangs" for book in books))
    report.answers = {name: answers[name] for name in ("sent", "confirmed", "stored", "lost", "doubled")}
    report.resumed = sum(book.resumed for book in books)
    report.began_anew = sum(book.began_anew for book in books)
    report.reloads = sum(book.reloads for book in books)
    waits = [wait for book in books for wait in book.waits_s] or [0.0]
    report.median_wait_s, report.longest_wait_s = statistics.median(waits), max(waits)


def _histories(problems: dict[str, list[str]], books: Sequence[Notebook]) -> list[str]:
    """Of the workers whom a problem names first: the shortest ones, by which it can be understood."""
    named = {problem.split(" ")[0].rstrip(":") for found in problems.values() for problem in found}
    concerned = sorted((book for book in books if book.worker in named), key=lambda book: len(book.lines))
    return [book.history() for book in concerned[:MOST_HISTORIES]]


def _run(forks: WarmServer, data_dir: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from parlai_humaneval.cli import main; main()", *arguments]
    return run([*command, "--data-dir", str(data_dir)], timeout=COMMAND_S, server=forks)


def _commands(forks: WarmServer, data_dir: Path, task_name: str) -> list[str]:
    """report and export, as a researcher runs them."""
    out = data_dir.parent / f"tables-{task_name}"
    problems = []
    for arguments in (["report", "--json"], ["export", "--out", str(out)]):
        done = _run(forks, data_dir, arguments[0], "--task-name", task_name, *arguments[1:])
        if done.returncode != 0:
            problems.append(f"{arguments[0]} {task_name}: {done.stderr.strip()[-300:]}")
    return problems


def _doctor(forks: WarmServer, data_dir: Path) -> list[str]:
    """What a doctor finds wrong with this data directory."""
    done = _run(forks, data_dir, "doctor", "--json", "--port", str(free_port()))
    try:
        said = json.loads(done.stdout)
    except ValueError:
        return [f"doctor: {done.stderr.strip()[-300:]}"]
    wrong = [f"{one['what']}: {one['found']}" for one in said["findings"] if one["status"] == "error"]
    return wrong + [f"a status is behind its record: {one}" for one in said["statuses"]["behind"]]


def own_environment() -> None:
    """Commands of this process find this copy of the project, and count on one core."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
