"""``parlai-humaneval workers``: who took part, who may, and what researchers know of them. Pseudonyms alone are printed.

``parlai-humaneval returned``: submissions that were returned at a panel free their places here.

``parlai-humaneval unblock``: whom a task turns away, why, and how to let them in again.

``parlai-humaneval workers unblock`` is the same for several workers, and for blocks in all studies.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mephisto_tasks.cli.options import (
    LONGEST,
    READING,
    as_written,
    clear_errors,
    console,
    data_dir_of,
    data_dir_option,
    json_option,
)
from parlai_humaneval._util.terminal import say_json
from parlai_humaneval._util.text import on_one_line
from parlai_humaneval.cli.errors import WrongUsage
from parlai_humaneval.cli.options import SuggestingGroup
from parlai_humaneval.statistics.core.formatting import counted

if TYPE_CHECKING:
    from mephisto_tasks.storage.logs import Block
    from mephisto_tasks.workers.blocks import Lifted
    from mephisto_tasks.workers.lists import SiteBlocks
    from mephisto_tasks.workers.profiles import WorkerLine, WorkerProfile, WorkerTask
    from mephisto_tasks.workers.roster import KnownWorker


RETURNED_EPILOG = """\b
Example:
  parlai-humaneval returned --task-name pw-turn-preference --file prolific_export.csv
"""


@click.command(epilog=RETURNED_EPILOG)
@click.option("--task-name", required=True, help="Task whose raters came from the panel.")
@click.option("--file", required=True, type=click.Path(dir_okay=False, path_type=str), help="The panel's export (CSV).")
@data_dir_option
@json_option
def returned(task_name: str, file: str, data_dir: str | None, as_json: bool) -> None:
    """Free what returned and timed-out submissions hold, as the panel's export lists them (RETURNED, TIMED-OUT).

    A running launch gives their places to other people within seconds. Reading the same file again changes nothing. All
    statuses are noted: `pay` approves nothing that was returned or timed out.
    """
    with clear_errors():
        from mephisto_tasks.crowds.panels.submissions import free_returned, read_submissions

        result = free_returned(data_dir_of(data_dir), task_name, read_submissions(Path(file)))
    if as_json:
        say_json(asdict(result))
        return
    click.echo(f"{counted(len(result.freed), 'place')} freed.")
    if result.done:
        click.echo(
            f"{counted(len(result.done), 'submission')} returned at the panel had completed their work here; it stays: "
            + ", ".join(result.done)
        )
    if result.unknown:
        click.echo(f"{counted(len(result.unknown), 'submission')} never began here.")


UNBLOCK_EPILOG = """\b
Examples:
  parlai-humaneval unblock --task-name pw-turn-preference --list
  parlai-humaneval unblock --task-name pw-turn-preference --worker w3f9a0c1b2d4e
  parlai-humaneval unblock --task-name pw-turn-preference --all
"""


@click.command(epilog=UNBLOCK_EPILOG)
@click.option(
    "--task-name", required=True, help="Task whose blocks are meant (`parlai-humaneval report` lists the tasks)."
)
@click.option(
    "--worker", "workers", multiple=True, metavar="PSEUDONYM", help="Let this worker in again; may be repeated."
)
@click.option("--all", "everybody", is_flag=True, help="Let all blocked workers of the task in again.")
@click.option(
    "--list", "only_list", is_flag=True, help="Only list who is blocked and why (done without a choice, too)."
)
@data_dir_option
@json_option
def unblock(
    task_name: str, workers: tuple[str, ...], everybody: bool, only_list: bool, data_dir: str | None, as_json: bool
) -> None:
    """List workers who were blocked because a check failed, or lift their blocks; a running launch lets them in at once.

    Workers are named by their pseudonyms, as in reports and exports.
    """
    if bool(workers) + everybody + only_list > 1:
        raise WrongUsage("choose one of --list, --worker and --all")
    directory = data_dir_of(data_dir)
    with clear_errors():
        from mephisto_tasks.workers import blocks as blocking

        if workers or everybody:
            with opened_database(directory) as db:
                lifted = blocking.unblock(db, task_name, workers or None)
            print_lifted(lifted, blocking.blocks_of(directory, [one.block.worker for one in lifted]), as_json)
        else:
            print_blocked(blocking.list_blocks(directory, task_name), task_name, directory, as_json)


def print_blocked(found: list[Block], task_name: str, data_dir: Path, as_json: bool) -> None:
    """A line a worker, and how to lift the block."""
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
    click.echo(f"Let one in again:  parlai-humaneval {how}")


def print_lifted(lifted: list[Lifted], left: list[Block], as_json: bool) -> None:
    """Who may come in again, where the provider did not follow, and which blocks are ``left``."""
    if as_json:
        rows = [{**one.block.model_dump(), "provider_agreed": one.provider_agreed} for one in lifted]
        say_json({"unblocked": rows})
        return
    for one in lifted:
        why = on_one_line(one.block.reason, LONGEST)
        others = [block for block in left if block.worker == one.block.worker]
        click.echo(f"{one.block.worker} may take part again (was blocked: {why})" + "".join(map(_but, others)))
        if not one.provider_agreed:
            click.echo(
                f"  The crowd provider still holds {one.block.qualification}: take it back there, too.", err=True
            )
    if not lifted:
        click.echo("Nobody was blocked.")


def _but(block: Block) -> str:
    return f"; but still blocked {block.place}: {on_one_line(block.reason, LONGEST)} (lifted by {block.lifted_by})"


def since(at: float | None) -> str:
    """Local date and time."""
    return "" if at is None else f"{datetime.fromtimestamp(at):%Y-%m-%d %H:%M}"


F = TypeVar("F", bound=Callable[..., Any])

WORKERS_EPILOG = """\b
Examples:
  parlai-humaneval workers list
  parlai-humaneval workers show w3f9a0c1b2d4e
  parlai-humaneval workers block w3f9a0c1b2d4e --reason "Pastes answers of a chatbot." --all-tasks
  parlai-humaneval workers reset-practice w3f9a0c1b2d4e --task-name pw-turn-preference
"""


@click.group(cls=SuggestingGroup, epilog=WORKERS_EPILOG)
def workers() -> None:
    """Who took part, what they did, and who may take part.

    Workers are named by their pseudonyms, as in reports and exports; --worker-id takes the id that their
    crowd's site uses.
    """


def which_workers(function: F) -> F:
    """``PSEUDONYM…`` and ``--worker-id``."""
    by_id = click.option(
        "--worker-id",
        "ids",
        multiple=True,
        metavar="ID",
        help="The id of their crowd's site, in place of the pseudonym.",
    )
    return click.argument("pseudonyms", nargs=-1, metavar="[PSEUDONYM]...")(by_id(function))


task_option = click.option("--task-name", help="Of one study (`parlai-humaneval report` lists them).")
all_tasks_option = click.option(
    "--all-tasks", is_flag=True, help="In all studies of the data directory, later ones too."
)


@workers.command(
    name="list",
    short_help="Everybody who took part.",
    epilog="\b\nExample:\n  parlai-humaneval workers list --task-name pw-turn-preference --json\n",
)
@task_option
@data_dir_option
@json_option
def list_(task_name: str | None, data_dir: str | None, as_json: bool) -> None:
    """Everybody who took part: units done, practice, blocks, notes, and when they were last seen."""
    with clear_errors():
        from mephisto_tasks.workers.profiles import list_workers

        lines = list_workers(data_dir_of(data_dir), task_name, read_with_progress)
    if as_json:
        say_json([line.model_dump() for line in lines])
    else:
        print_lines(lines)


@workers.command(
    short_help="All that is known of one.",
    epilog="\b\nExample:\n  parlai-humaneval workers show --worker-id A1B2C3D4E5F6G7\n",
)
@which_workers
@data_dir_option
@json_option
def show(pseudonyms: tuple[str, ...], ids: tuple[str, ...], data_dir: str | None, as_json: bool) -> None:
    """All that is known of a worker: their studies, units, times, failed checks, blocks, and notes."""
    directory = data_dir_of(data_dir)
    with clear_errors():
        from mephisto_tasks.workers.profiles import profile_of

        pages = [profile_of(directory, known, read_with_progress) for known in chosen(directory, pseudonyms, ids)]
    if as_json:
        say_json([page.model_dump(mode="json") for page in pages])
        return
    for page in pages:
        print_page(page)


@workers.command(
    short_help="Turn somebody away, in a study or in all.",
    epilog='\b\nExample:\n  parlai-humaneval workers block w3f9a0c1b2d4e --task-name sata --reason "Copies my texts."\n',
)
@which_workers
@click.option(
    "--reason", required=True, help="A sentence, for who decides on lifting the block. The worker does not see it."
)
@task_option
@all_tasks_option
@click.option(
    "--everywhere",
    is_flag=True,
    help="With --all-tasks: the crowd's site blocks them, too. (It counts against workers: use it rarely.)",
)
@data_dir_option
def block(
    pseudonyms: tuple[str, ...],
    ids: tuple[str, ...],
    reason: str,
    task_name: str | None,
    all_tasks: bool,
    everywhere: bool,
    data_dir: str | None,
) -> None:
    """Turn workers away, in one study or in all; a running launch does so from now on. Who is inside may finish."""
    must_be_one(task_name, all_tasks)
    if everywhere and not all_tasks:
        raise WrongUsage("--everywhere goes with --all-tasks")
    if not reason.strip():
        raise WrongUsage("--reason is empty", try_="say in a sentence why")
    directory = data_dir_of(data_dir)
    with clear_errors():
        from mephisto_tasks.workers.blocks import block_by_hand

        whom = chosen(directory, pseudonyms, ids)
        with opened_database(directory) as db:
            problems = block_by_hand(db, whom, reason.strip(), task_name, blocks_of_site if everywhere else None)
    for known in whom:
        click.echo(f"{known.pseudonym} is blocked in {f'task {task_name!r}' if task_name else 'all studies'}.")
    for problem in problems:
        click.echo(problem, err=True)


@workers.command(
    "unblock",
    short_help="Let somebody in again.",
    epilog="\b\nExample:\n  parlai-humaneval workers unblock w3f9a0c1b2d4e --all-tasks\n",
)
@which_workers
@task_option
@all_tasks_option
@click.option("--everywhere", is_flag=True, help="With --all-tasks: the crowd's site lets them in again, too.")
@data_dir_option
@json_option
def unblock_worker(
    pseudonyms: tuple[str, ...],
    ids: tuple[str, ...],
    task_name: str | None,
    all_tasks: bool,
    everywhere: bool,
    data_dir: str | None,
    as_json: bool,
) -> None:
    """Let workers in again; a running launch does so at once."""
    must_be_one(task_name, all_tasks)
    if everywhere and not all_tasks:
        raise WrongUsage("--everywhere goes with --all-tasks")
    directory = data_dir_of(data_dir)
    with clear_errors():
        from mephisto_tasks.workers import blocks as blocking

        whom = chosen(directory, pseudonyms, ids)
        names = [known.pseudonym for known in whom]
        problems = []
        if everywhere:  # there somebody may be blocked who is not, or no more, blocked here
            with opened_database(directory) as db:
                problems = blocking.unblock_on_sites(db, whom, blocks_of_site)
            here = {block.worker for block in blocking.list_blocks(directory, None)}
            names = [name for name in names if name in here]
        with opened_database(directory) as db:
            lifted = blocking.unblock(db, task_name, names)
        left = blocking.blocks_of(directory, names)
    print_lifted(lifted, left, as_json)
    sites = [blocks_of_site(known.provider) for known in whom] if everywhere and not problems else []
    for title in sorted({site.title for site in sites if site is not None}):
        click.echo(f"On {title} nobody of them is blocked any more.", err=True)
    for problem in problems:
        click.echo(problem, err=True)


@workers.command(
    short_help="Write a note on somebody.",
    epilog='\b\nExample:\n  parlai-humaneval workers note w3f9a0c1b2d4e "Wrote to us; the page froze."\n',
)
@click.argument("pseudonym")
@click.argument("text")
@data_dir_option
def note(pseudonym: str, text: str, data_dir: str | None) -> None:
    """Write a note on a worker; `workers show` prints it. Write nothing in it that tells who they are."""
    if not text.strip():
        raise WrongUsage("the note is empty")
    directory = data_dir_of(data_dir)
    with clear_errors():
        from mephisto_tasks.storage.logs import NOTES, Note

        (known,) = chosen(directory, (pseudonym,), ())
        NOTES.append(directory, Note(worker=known.pseudonym, text=text.strip()))
    click.echo(f"Noted on {known.pseudonym}.")


@workers.command(
    short_help="Let who failed the practice try again.",
    name="reset-practice",
    epilog="\b\nExample:\n  parlai-humaneval workers reset-practice w3f9a0c1b2d4e --task-name pw-turn-preference\n",
)
@which_workers
@click.option(
    "--task-name", required=True, help="Whose practice they failed. Studies that share a practice share this, too."
)
@data_dir_option
def reset_practice(pseudonyms: tuple[str, ...], ids: tuple[str, ...], task_name: str, data_dir: str | None) -> None:
    """Let workers who failed the practice try again, with all tries; a running launch lets them in at once."""
    directory = data_dir_of(data_dir)
    with clear_errors():
        from mephisto_tasks.workers import practice as practising

        whom = chosen(directory, pseudonyms, ids)
        with opened_database(directory) as db:
            left = practising.reset_practice(db, task_name, whom)
    for known in whom:
        click.echo(f"{known.pseudonym} may try the practice again.")
    for pseudonym in left:
        click.echo(f"{pseudonym}: the crowd provider still holds them disqualified; take it back there, too.", err=True)


@workers.command(
    short_help="Let somebody go on in another browser.",
    name="new-browser",
    epilog="\b\nExample:\n  parlai-humaneval workers new-browser w3f9a0c1b2d4e\n",
)
@which_workers
@data_dir_option
def new_browser(pseudonyms: tuple[str, ...], ids: tuple[str, ...], data_dir: str | None) -> None:
    """Let workers go on in another browser, whose own is lost: the next that comes under their name has it.

    Be sure that it is they who ask: whoever has their link can come first. A running launch follows at once.
    """
    directory = data_dir_of(data_dir)
    with clear_errors():
        from mephisto_tasks.admission.browsers import BrowserBook

        whom, book = chosen(directory, pseudonyms, ids), BrowserBook(directory)
        for known in whom:
            book.release(known.name)
            click.echo(f"{known.pseudonym}: the next browser that comes under their name goes on.")
        book.close()


def opened_database(data_dir: Path) -> AbstractContextManager[Any]:
    """Mephisto's database, with the providers of all crowds. Raises ResultsError where there is none."""
    from mephisto_tasks.crowds.database import opened
    from mephisto_tasks.storage.results import database_file

    return opened(database_file(data_dir))


def blocks_of_site(provider: str) -> SiteBlocks | None:
    """The block list of the site behind one of Mephisto's provider types."""
    from mephisto_tasks.crowds.registry import crowd_of

    return crowd_of(provider).blocks()


def must_be_one(task_name: str | None, all_tasks: bool) -> None:
    if (task_name is None) != all_tasks:
        raise WrongUsage("say where: --task-name NAME, or --all-tasks")


def chosen(data_dir: Path, pseudonyms: tuple[str, ...], ids: tuple[str, ...]) -> list[KnownWorker]:
    """The workers whom a command names.

    Raises:
        UnknownWorker: nobody is called so.
    """
    from mephisto_tasks.workers.roster import by_worker_id, known_workers, named

    if not pseudonyms and not ids:
        raise WrongUsage("name a worker: their pseudonym, or --worker-id ID")
    everybody = known_workers(data_dir)
    by_id = [known.pseudonym for one in ids for known in by_worker_id(everybody.values(), one)]
    return named(everybody, [*pseudonyms, *by_id])


def read_with_progress(tasks: Iterable[str]) -> Iterable[str]:
    """Goes through the tasks; on a screen a bar shows how far it is."""
    from rich.progress import track

    tasks, out = list(tasks), console(stderr=True)
    if not out.is_terminal or len(tasks) < 2:
        yield from tasks
    else:
        yield from track(tasks, description=READING, console=out, transient=True)


def print_lines(lines: list[WorkerLine]) -> None:
    """A table, and what its words mean where that is needed."""
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
        f"{counted(len(lines), 'worker')} ({people} real, {len(lines) - people} simulated). One in detail:  "
        f"parlai-humaneval workers show {lines[0].worker}"
    )


def print_page(page: WorkerProfile) -> None:
    """Everything of one worker, a paragraph a study."""
    out = console()
    kind = " (simulated: a program)" if page.simulated else ""
    out.print(as_written(f"{page.worker}{kind}, from {page.provider}, first seen {since(page.since)}"), style="bold")
    for block in page.blocks:
        out.print(as_written(f"blocked {block.place} {since(block.at)}: {block.reason}"), style="red", soft_wrap=True)
    for noted in page.notes:
        what = f"practice reset ({noted.qualification})" if noted.event == "practice_reset" else noted.text
        out.print(as_written(f"note {since(noted.at)}: {what}"), soft_wrap=True)
    for task_of_worker in page.tasks:
        print_task(task_of_worker)
    if not page.tasks:
        out.print("has done nothing yet")


def print_task(task: WorkerTask) -> None:
    """A line a unit, then what was wrong."""
    from mephisto_tasks.payments.quote import DOLLARS, money

    out = console()
    tries = f"{task.practice_tries} {'try' if task.practice_tries == 1 else 'tries'}"
    practice = f"; practice {task.practice} ({tries})" if task.practice else ""
    out.print()
    out.print(as_written(f"{task.task_name}{practice}"), style="bold")
    for agreed in task.agreed_to:
        out.print(as_written(f"agreed {since(agreed.at)} to the consent text, version {agreed.version}", indent=2))
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
