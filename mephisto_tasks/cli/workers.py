"""``parlai-humaneval workers``, ``returned``, ``unblock``: workers, their permissions, and notes on them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mephisto_tasks.cli.options import LONGEST, READING, as_written, console, described
from parlai_humaneval._util.terminal import say_json
from parlai_humaneval._util.text import on_one_line
from parlai_humaneval.cli.errors import WrongUsage
from parlai_humaneval.cli.options import SuggestingGroup
from parlai_humaneval.statistics.core.formatting import counted

if TYPE_CHECKING:
    from mephisto_tasks.storage.logs import Block
    from mephisto_tasks.workers.qualifications import Lifted
    from mephisto_tasks.workers.roster import KnownWorker, SiteBlocks


@described("returned")
def returned(task_name: str, file: str, data_dir: Path, as_json: bool) -> None:
    from mephisto_tasks.crowds.registry import offered

    result = offered(lambda crowd: crowd.submissions(data_dir, task_name)).free_returned(Path(file))
    if as_json:
        say_json(asdict(result))
        return
    click.echo(f"{counted(len(result.freed), 'place')} reopened.")
    if result.done:
        click.echo(
            f"Raters returned {counted(len(result.done), 'submission')} on the panel after they had finished the work. "
            f"This work is kept: {', '.join(result.done)}"
        )
    if result.unknown:
        click.echo(f"{counted(len(result.unknown), 'submission')} never began here.")


@described("unblock")
def unblock(
    task_name: str, workers: tuple[str, ...], everybody: bool, only_list: bool, data_dir: Path, as_json: bool
) -> None:
    from mephisto_tasks.workers import qualifications as blocking

    if bool(workers) + everybody + only_list > 1:
        raise WrongUsage("choose one of --list, --worker and --all")
    if workers or everybody:
        with opened_database(data_dir) as db:
            lifted = blocking.unblock(db, task_name, workers or None)
        print_lifted(lifted, blocking.blocks_of(data_dir, [one.block.worker for one in lifted]), as_json)
        return
    found = blocking.list_blocks(data_dir, task_name)
    if as_json:
        say_json({"blocked": [block.model_dump() for block in found]})
        return
    if not found:
        click.echo(f"Nobody is blocked in task {task_name!r} ({data_dir}).")
        return
    from rich.table import Table

    table = Table("worker", "since", "check", "reason", "by task", box=None, padding=(0, 2, 0, 0))
    for block in found:
        by = "(in all studies)" if block.everywhere else block.task_name
        table.add_row(*map(as_written, (block.worker, since(block.at), block.check, block.reason, by)))
    console().print(table)
    how = f"unblock --task-name {shlex.quote(task_name)} --worker {found[0].worker}"
    if found[0].everywhere:
        how = found[0].lifted_by
    click.echo(f"To unblock one:  parlai-humaneval {how}")


def print_lifted(lifted: list[Lifted], left: list[Block], as_json: bool) -> None:
    """Prints the workers who may come in again, where the provider did not follow, and which blocks are ``left``."""
    if as_json:
        rows = [{**one.block.model_dump(), "provider_agreed": one.provider_agreed} for one in lifted]
        say_json({"unblocked": rows})
        return
    for one in lifted:
        why = on_one_line(one.block.reason, LONGEST)
        others = "".join(
            f"; but still blocked {block.place}: {on_one_line(block.reason, LONGEST)} (lifted by {block.lifted_by})"
            for block in left
            if block.worker == one.block.worker
        )
        click.echo(f"{one.block.worker} may take part again (was blocked: {why}){others}")
        if not one.provider_agreed:
            words = f"  The rater still has {one.block.qualification} at the crowd provider. Revoke it there as well."
            click.echo(words, err=True)
    if not lifted:
        click.echo("Nobody was blocked.")


def since(at: float | None) -> str:
    return "" if at is None else f"{datetime.fromtimestamp(at):%Y-%m-%d %H:%M}"


@described("workers", cls=SuggestingGroup)
def workers() -> None:
    pass


@described("workers list")
def list_(task_name: str | None, data_dir: Path, as_json: bool) -> None:
    from mephisto_tasks.workers.profiles import list_workers

    lines = list_workers(data_dir, task_name, read_with_progress)
    if as_json:
        say_json([line.model_dump() for line in lines])
    else:
        if not lines:
            click.echo("Nobody has come yet.")
            return
        from rich.table import Table

        table = Table(box=None, padding=(0, 1, 0, 0))
        for column in ("worker", "from", "done", "part", "practice", "blocked", "notes", "last seen"):
            table.add_column(column, no_wrap=column != "blocked")
        for line in lines:
            place = "a program" if line.simulated else line.provider
            partial = f"{line.partial + line.stopped}" + (f" (+{line.running} now)" if line.running else "")
            cells = (line.worker, place, str(line.complete), partial, line.practice, ", ".join(line.blocked))
            table.add_row(*map(as_written, (*cells, str(line.notes or ""), since(line.last_seen))))
        console().print(table)
        people = sum(not line.simulated for line in lines)
        click.echo(
            f"{counted(len(lines), 'rater')} ({people} real, {len(lines) - people} simulated). Details of one:  "
            f"parlai-humaneval workers show {lines[0].worker}"
        )


@described("workers show")
def show(pseudonyms: tuple[str, ...], ids: tuple[str, ...], data_dir: Path, as_json: bool) -> None:
    from mephisto_tasks.payments.policy import DOLLARS, money
    from mephisto_tasks.workers.profiles import profile_of

    pages = [profile_of(data_dir, known, read_with_progress) for known in chosen(data_dir, pseudonyms, ids)]
    if as_json:
        say_json([page.model_dump(mode="json") for page in pages])
        return
    for page in pages:
        out = console()
        kind = " (simulated: a program)" if page.simulated else ""
        heading = f"{page.worker}{kind}, from {page.provider}, first seen {since(page.since)}"
        out.print(as_written(heading), style="bold")
        for block in page.blocks:
            blocked = f"blocked {block.place} {since(block.at)}: {block.reason}"
            out.print(as_written(blocked), style="red", soft_wrap=True)
        for noted in page.notes:
            what = f"practice reset ({noted.qualification})" if noted.event == "practice_reset" else noted.text
            out.print(as_written(f"note {since(noted.at)}: {what}"), soft_wrap=True)
        for task in page.tasks:
            tries = f"{task.practice_tries} {'try' if task.practice_tries == 1 else 'tries'}"
            practice = f"; practice {task.practice} ({tries})" if task.practice else ""
            out.print()
            out.print(as_written(f"{task.task_name}{practice}"), style="bold")
            for agreed in task.agreed_to:
                consent = f"agreed {since(agreed.at)} to the consent text, version {agreed.version}"
                out.print(as_written(consent, indent=2))
            for work in task.work:
                if work.outcome != "practice_only":
                    done = f"{work.done} of {work.whole} {work.counted}"
                    # A unit is paid once, with the visit that ended it.
                    reward = money(work.reward, task.currencies.get(work.task_run_id, DOLLARS))
                    pay = "" if work.outcome == "continued" else f", {reward}"
                    out.print(f"  {since(work.begun)}  {work.outcome}, {done}, {work.seconds / 60:.1f} minutes{pay}")
            for check, reason in task.failed_checks.items():
                out.print(as_written(f"failed {check}: {reason}", indent=2), soft_wrap=True)
            for turned in task.turned_away:
                out.print(as_written(f"turned away {since(turned.at)}: {turned.why}", indent=2), soft_wrap=True)
        if not page.tasks:
            out.print("has done nothing yet")


@described("workers block")
def block(
    pseudonyms: tuple[str, ...],
    ids: tuple[str, ...],
    reason: str,
    task_name: str | None,
    all_tasks: bool,
    everywhere: bool,
    data_dir: Path,
) -> None:
    from mephisto_tasks.workers.qualifications import block_by_hand

    check_place(task_name, all_tasks, everywhere)
    if not reason.strip():
        raise WrongUsage("--reason is empty", try_="give the reason in a sentence")
    whom = chosen(data_dir, pseudonyms, ids)
    with opened_database(data_dir) as db:
        problems = block_by_hand(db, whom, reason.strip(), task_name, blocks_of_site if everywhere else None)
    for known in whom:
        click.echo(f"{known.pseudonym} is blocked in {f'task {task_name!r}' if task_name else 'all studies'}.")
    for problem in problems:
        click.echo(problem, err=True)


@described("workers unblock")
def unblock_worker(
    pseudonyms: tuple[str, ...],
    ids: tuple[str, ...],
    task_name: str | None,
    all_tasks: bool,
    everywhere: bool,
    data_dir: Path,
    as_json: bool,
) -> None:
    from mephisto_tasks.workers import qualifications as blocking

    check_place(task_name, all_tasks, everywhere)
    whom = chosen(data_dir, pseudonyms, ids)
    names = [known.pseudonym for known in whom]
    problems = []
    if everywhere:  # there somebody may be blocked who is not, or no more, blocked here
        with opened_database(data_dir) as db:
            problems = blocking.unblock_on_sites(db, whom, blocks_of_site)
        here = {block.worker for block in blocking.list_blocks(data_dir, None)}
        names = [name for name in names if name in here]
    with opened_database(data_dir) as db:
        lifted = blocking.unblock(db, task_name, names)
    left = blocking.blocks_of(data_dir, names)
    print_lifted(lifted, left, as_json)
    sites = [blocks_of_site(known.provider) for known in whom] if everywhere and not problems else []
    for title in sorted({site.title for site in sites if site is not None}):
        click.echo(f"None of these raters are blocked on {title} any more.", err=True)
    for problem in problems:
        click.echo(problem, err=True)


@described("workers note")
def note(pseudonym: str, text: str, data_dir: Path) -> None:
    from mephisto_tasks.storage.logs import NOTES, Note

    if not text.strip():
        raise WrongUsage("the note is empty")
    (known,) = chosen(data_dir, (pseudonym,), ())
    NOTES.append(data_dir, Note(worker=known.pseudonym, text=text.strip()))
    click.echo(f"Noted on {known.pseudonym}.")


@described("workers reset-practice")
def reset_practice(pseudonyms: tuple[str, ...], ids: tuple[str, ...], task_name: str, data_dir: Path) -> None:
    from mephisto_tasks.workers.qualifications import reset_practice as reset

    whom = chosen(data_dir, pseudonyms, ids)
    with opened_database(data_dir) as db:
        left = reset(db, task_name, whom)
    for known in whom:
        click.echo(f"{known.pseudonym} can try the practice round again.")
    for pseudonym in left:
        words = f"{pseudonym}: the crowd provider still lists the rater as disqualified. Revoke that there too."
        click.echo(words, err=True)


@described("workers new-browser")
def new_browser(pseudonyms: tuple[str, ...], ids: tuple[str, ...], data_dir: Path) -> None:
    from mephisto_tasks.admission.browsers import BrowserBook

    whom, book = chosen(data_dir, pseudonyms, ids), BrowserBook(data_dir)
    for known in whom:
        book.release(known.name)
        click.echo(f"{known.pseudonym}: the next browser that opens the study under the rater's name can continue.")
    book.close()


for command in (list_, show, block, unblock_worker, note, reset_practice, new_browser):
    workers.add_command(command)


def opened_database(data_dir: Path) -> AbstractContextManager[Any]:
    """Mephisto's database, with the providers of all crowds. Raises ResultsError where there is none."""
    from mephisto_tasks.crowds.registry import opened
    from mephisto_tasks.storage.results import database_file

    return opened(database_file(data_dir))


def blocks_of_site(provider: str) -> SiteBlocks | None:
    """The block list of the site behind one of Mephisto's provider types."""
    from mephisto_tasks.crowds.registry import crowd_of

    return crowd_of(provider).blocks()


def check_place(task_name: str | None, all_tasks: bool, everywhere: bool) -> None:
    if (task_name is None) != all_tasks:
        raise WrongUsage("choose --task-name NAME, or --all-tasks")
    if everywhere and not all_tasks:
        raise WrongUsage("--everywhere needs --all-tasks")


def chosen(data_dir: Path, pseudonyms: tuple[str, ...], ids: tuple[str, ...]) -> list[KnownWorker]:
    """The workers whom a command names. Raises UnknownWorker."""
    from mephisto_tasks.workers.roster import by_worker_id, known_workers, named

    if not pseudonyms and not ids:
        raise WrongUsage("name a rater: their pseudonym, or --worker-id ID")
    everybody = known_workers(data_dir)
    by_id = [known.pseudonym for one in ids for known in by_worker_id(everybody.values(), one)]
    return named(everybody, [*pseudonyms, *by_id])


def read_with_progress(tasks: Iterable[str]) -> Iterable[str]:
    from rich.progress import track

    tasks, out = list(tasks), console(stderr=True)
    if not out.is_terminal or len(tasks) < 2:
        yield from tasks
    else:
        yield from track(tasks, description=READING, console=out, transient=True)
