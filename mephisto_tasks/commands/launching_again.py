"""``launch`` of a task that runs already: the running launch is changed, as far as orders can do that."""

from __future__ import annotations

from pathlib import Path

import click

from mephisto_tasks.commands.agreeing import must_agree
from mephisto_tasks.commands.giving import give_and_wait, print_results
from mephisto_tasks.commands.options import task_options
from mephisto_tasks.running.orders import in_words
from mephisto_tasks.running.price import price
from mephisto_tasks.running.run_settings import Settings, read_settings
from mephisto_tasks.running.second_launch import CannotChange, changes
from mephisto_tasks.running.snapshot import is_alive, read_snapshot
from mephisto_tasks.stored.task_lock import AlreadyRunning, running_task_run


def change_running(task: str, asked: Settings, data_dir: Path, task_name: str, yes: bool) -> None:
    """Show what would change, ask, and give the orders.

    Raises:
        AlreadyRunning: nothing is to be changed, or the launch is only beginning and cannot be compared yet.
        CannotChange: a setting that a running launch cannot change.
        click.ClickException: nobody agreed.
    """
    running, snapshot = read_settings(data_dir, task_name), read_snapshot(data_dir, task_name)
    run_id = running_task_run(data_dir, task_name)
    where = task_options(task_name, data_dir)
    if running is None or snapshot is None or not run_id == running.task_run_id == snapshot.task_run_id:
        raise AlreadyRunning(
            f"task {task_name!r} is already launched from {data_dir}, and only just begins: try again soon"
        )
    if running.task != task:
        raise CannotChange(
            f"task {task_name!r} is already launched from {data_dir} as {running.task}, and not as {task}: give this one "
            "another task_name=…"
        )
    orders = changes(running.settings, asked, snapshot.groups, task_name)
    if not orders:
        stopped = "".join(f"\n  {group.label}: {group.stopped}" for group in snapshot.groups if group.stopped)
        raise AlreadyRunning(
            f"task {task_name!r} is already launched from {data_dir} (process {snapshot.pid}) with these settings, at "
            f"{snapshot.url}. See how it stands: `parlai-humaneval watch {where}`. Stop that launch first, or give this one "
            f"another task_name=…{stopped}"
        )
    click.echo(f"{task_name} runs already, at {snapshot.url}. Its launch would be told to:")
    for order in orders:
        click.echo(f"  {in_words(order)}")
    if (sentence := price(orders, running.settings, snapshot.groups)) is not None:
        click.echo(sentence)
    must_agree(yes)
    print_results(give_and_wait(data_dir, task_name, orders), is_alive(data_dir, task_name), as_json=False)
    click.echo(f"See how it stands:  parlai-humaneval watch {where}")
