"""``parlai-humaneval forget``: deletes a worker's data everywhere. ``export --release``: messages about a release."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import yaml

from mephisto_tasks.cli.options import READING, as_written, confirm, console, described, waiting_for
from parlai_humaneval._util.terminal import say_json
from parlai_humaneval.cli.errors import BadValue, WrongUsage
from parlai_humaneval.statistics.core.formatting import counted

if TYPE_CHECKING:
    from mephisto_tasks.privacy.erase import Forgotten, Planned
    from mephisto_tasks.privacy.erase_traces import ErasurePlan, Outside
    from mephisto_tasks.privacy.release import Released
    from mephisto_tasks.workers.roster import KnownWorker


# Not by `read_yaml`, whose module takes too long to load for a command that only prints its help.
_WORDS = yaml.safe_load(Path(__file__).with_name("forget.yaml").read_text(encoding="utf-8"))
REMAINS = tuple(map(tuple, _WORDS["remains"]))
KEPT_OUT, LOGGED = tuple(_WORDS["kept_out"]), tuple(_WORDS["logged"])
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(d|w|m|y)")
_DAYS = {"d": 1.0, "w": 7.0, "m": 30.44, "y": 365.25}


def span(value: str) -> float:
    match = _SPAN.fullmatch(value.strip().lower())
    if match is None or not float(match[1]):
        raise BadValue(f"{value!r} is not a duration", try_="write 90d, 12w, 6m or 2y")
    return float(match[1]) * _DAYS[match[2]] * 86_400


@described("forget", older_than={"type": span})
def forget(
    who: tuple[str, ...],
    older_than: float | None,
    task_name: str | None,
    lift_blocks: bool,
    finish: bool,
    dry_run: bool,
    yes: bool,
    data_dir: Path,
    as_json: bool,
) -> None:
    from mephisto_tasks.privacy import erase as erasing
    from mephisto_tasks.storage.logs import DECISIONS, unblock_erased

    if bool(who) + (older_than is not None) + finish != 1:
        advice = "name raters, or use --older-than TIME or --finish (only one of these)"
        raise WrongUsage("it is not clear whose data to delete", try_=advice)
    if as_json and not (yes or dry_run):
        raise WrongUsage("--json never asks for confirmation", try_="add --yes, or --dry-run")
    with waiting_for(READING, on_screens_only=True):
        cut_off = erasing.unfinished(data_dir)
        lifted = [name for name in who if unblock_erased(data_dir, name)] if lift_blocks and not dry_run else []
        people = _people(data_dir, [name for name in who if name not in lifted], older_than, task_name)
        plans = [erasing.planned(data_dir, person) for person in [*cut_off, *people]]
    if not plans:
        if as_json:
            say_json({"planned": [], "forgotten": [], "let_in_again": lifted}, indent=None)
        elif lifted:
            click.echo(f"May come back: {', '.join(lifted)}.")
        else:
            click.echo("There is nobody to forget.")
        return
    if not as_json:
        _print_plans(plans, lift_blocks)
    if dry_run:
        if as_json:
            say_json({"planned": [plan.model_dump(mode="json") for plan in plans]})
        else:
            click.echo("Nothing was deleted (--dry-run).")
        return
    confirm(yes, why="this cannot be undone, and ", otherwise="Nothing was deleted.")
    forgotten = _forget(data_dir, people, len(plans), lift_blocks)
    remains = [*REMAINS]
    blocked = not lift_blocks and any(plan.blocks for plan in plans)
    remains += [KEPT_OUT] if blocked else []
    if any(DECISIONS.exists(data_dir, task) for plan in plans for task in plan.tasks):
        remains.append(LOGGED)
    if as_json:
        told = {
            "planned": [plan.model_dump(mode="json") for plan in plans],
            "forgotten": [one.model_dump(mode="json") for one in forgotten],
            "remains": dict(remains),
        }
        say_json(told)
    else:
        _print_done(forgotten, {file for plan in plans for file in plan.files}, remains)


def _people(data_dir: Path, who: Sequence[str], older_than: float | None, task_name: str | None) -> list[ErasurePlan]:
    from mephisto_tasks.privacy.erase_traces import all_going
    from mephisto_tasks.workers.roster import UnknownWorker, known_workers

    if not who and older_than is None:
        return []
    everybody = known_workers(data_dir)
    if older_than is None:
        named = {known.pseudonym: known for name in who for known in _named(everybody, name)}
        people = all_going(data_dir, list(named.values()), task_name)
        left = sorted(named.keys() - {person.pseudonym for person in people})
        if left:
            raise UnknownWorker(f"did nothing in task {task_name!r}", where=f"{', '.join(left)}")
        return people
    before = time.time() - older_than
    return [person for person in all_going(data_dir, everybody.values(), task_name) if person.last_seen < before]


def _named(everybody: dict[str, KnownWorker], name: str) -> list[KnownWorker]:
    from mephisto_tasks.workers.roster import UnknownWorker, by_worker_id

    if name in everybody:
        return [everybody[name]]
    try:
        return by_worker_id(everybody.values(), name)
    except UnknownWorker:
        what = "this data directory has no rater with this pseudonym or ID, so there is nothing to forget"
        raise UnknownWorker(what, where=name, try_="`parlai-humaneval workers list` shows all") from None


def _forget(data_dir: Path, people: Sequence[ErasurePlan], total: int, lift_blocks: bool) -> list[Forgotten]:
    from rich.progress import Progress

    from mephisto_tasks.privacy import erase as erasing

    out = console(stderr=True)
    if not out.is_terminal:
        return erasing.forget(data_dir, people, lift_blocks=lift_blocks)
    with Progress(console=out, transient=True) as bar:
        task = bar.add_task("Forgetting…", total=total)
        return erasing.forget(data_dir, people, lift_blocks=lift_blocks, ticking=lambda _: bar.advance(task))


def _print_plans(plans: Sequence[Planned], lift_blocks: bool) -> None:
    from mephisto_tasks.payments.statement import in_words

    out = console()
    for plan in plans:
        what = [counted(plan.units, "assignment"), counted(plan.practices, "practice visit")]
        where = ", ".join(plan.tasks) or "no task"
        whole = "all of their data is deleted" if plan.everywhere else "only this: they also did other tasks"
        out.print(as_written(f"{plan.worker}: {', '.join(what)} in {where}; {whole}"), soft_wrap=True)
        if plan.judged_by_others:
            words = f"others judged their dialogues: {counted(plan.judged_by_others, 'assignment')} will lose texts"
            out.print(as_written(words, indent=2), soft_wrap=True)
        if plan.unpaid_in:
            unpaid = in_words(plan.unpaid_in)
            words = f"according to the ledger, up to {unpaid} of their work is unpaid: pay it first"
            out.print(as_written(words, "yellow", indent=2), soft_wrap=True)
        if plan.blocks:
            kept = "may come back" if lift_blocks else "remains blocked: their pseudonym is kept only for this"
            out.print(as_written(f"blocked; {kept}", indent=2), soft_wrap=True)
        for file in plan.files:
            if file.done != "nothing of theirs":
                out.print(as_written(f"{file.path}: {file.words}", indent=2), soft_wrap=True)
    click.echo(_WORDS["given_out_again"])


def _print_done(
    forgotten: Sequence[Forgotten], planned: Collection[Outside], remains: Sequence[tuple[str, str]]
) -> None:
    from rich.table import Table

    out = console()
    click.echo(f"Forgotten: {', '.join(one.worker for one in forgotten)}.")
    for one in forgotten:
        for file in one.files:
            if file not in planned:
                out.print(as_written(f"{file.path}: {file.words}", indent=2), soft_wrap=True)
        for problem in one.problems:
            out.print(as_written(f"{problem}.", "red", indent=2), soft_wrap=True)
        for name in one.left_over:
            out.print(as_written(f"still named in {name}: PLEASE CHECK", "red", indent=2), soft_wrap=True)
    table = Table(
        title="What remains, and why", title_justify="left", box=None, show_header=False, padding=(0, 2, 0, 0)
    )
    table.add_column(no_wrap=True)
    table.add_column()
    for what, why in remains:
        table.add_row(what, why)
    out.print(table)
    if KEPT_OUT not in remains:
        click.echo(_WORDS["key"])


def tell_release(released: Released, folder: Path, licence: str, as_json: bool) -> None:
    """Say what is in a release, and what is still to be done by a person."""
    if as_json:
        facts = released.card.model_dump(mode="json", include={"name", "counts", "marks", "left_out"})
        files = [str(path) for path in released.files]
        say_json({**facts, "files": files, "review": released.review and str(released.review)}, indent=None)
        return
    counts = ", ".join(
        (f"1 {'person' if name == 'people' else name.removesuffix('s')}" if number == 1 else f"{number:,} {name}")
        for name, number in released.card.counts.items()
        if number
    )
    from parlai_humaneval.report.section import say as sentences

    marks = ", ".join(f"{number:,} × {mark}" for mark, number in released.card.marks.items())
    facts = {"counts": counts, "folder": folder, "left_out": released.card.left_out, "marks": marks, "licence": licence}
    for line in sentences("release", "written", **facts, review=released.review):
        click.echo(line)
