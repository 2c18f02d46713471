"""``parlai-humaneval unblock``: whom a task turns away, why, and how to let them in again.

``parlai-humaneval workers unblock`` is the same for several workers, and for blocks in all studies.
"""

from __future__ import annotations

import shlex
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mephisto_tasks.commands.options import (
    LONGEST,
    as_written,
    clear_errors,
    console,
    data_dir_of,
    data_dir_option,
    json_option,
)
from parlai_humaneval.one_line import on_one_line
from parlai_humaneval.plain_output import say_json

if TYPE_CHECKING:
    from mephisto_tasks.workers.blocking import Block, Lifted

EPILOG = """\b
Examples:
  parlai-humaneval unblock --task-name pw-turn-preference --list
  parlai-humaneval unblock --task-name pw-turn-preference --worker w3f9a0c1b2d4e
  parlai-humaneval unblock --task-name pw-turn-preference --all
"""


@click.command(epilog=EPILOG)
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
        raise click.UsageError("choose one of --list, --worker and --all")
    directory = data_dir_of(data_dir)
    with clear_errors():
        from mephisto_tasks.workers import blocking

        if workers or everybody:
            lifted = blocking.unblock(directory, task_name, workers or None)
            print_lifted(lifted, blocking.blocks_of(directory, [one.block.worker for one in lifted]), as_json)
        else:
            print_blocked(blocking.blocked(directory, task_name), task_name, directory, as_json)


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
