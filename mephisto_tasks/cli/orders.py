"""Giving orders to a study from a command, and what its launch says of them.

``launch`` of a task that runs already: the running launch is changed, as far as orders can do that.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import click

from mephisto_tasks.cli.options import console, must_agree, task_options
from mephisto_tasks.control.orders import ORDERS, Order, give, in_words
from mephisto_tasks.control.snapshot import OrderResult, is_alive, read_snapshot
from mephisto_tasks.control.steering import Field, Group, fold
from mephisto_tasks.launch.changes import CannotChange, changes, price
from mephisto_tasks.storage.locks import AlreadyRunning, running_task_run
from mephisto_tasks.storage.run_settings import Settings, read_settings
from parlai_humaneval._util.terminal import say_json

PATIENCE_S = 10.0
"""How long a running launch may take to say what became of an order; it looks four times a second."""


def refusals(data_dir: Path, task_name: str, new: Sequence[Order]) -> list[str]:
    """Why some of the orders can never be followed, by what the newest launch knows; they are not given then."""
    if read_snapshot(data_dir, task_name) is None:
        return []
    return [result.text for result in results_of(data_dir, task_name, new)[-len(new) :] if not result.done]


def results_of(data_dir: Path, task_name: str, new: Sequence[Order] = ()) -> list[OrderResult]:
    """All orders, ``new`` ones last, and what becomes of them with the groups of the newest launch."""
    snapshot = read_snapshot(data_dir, task_name)
    if snapshot is not None and not new and is_alive(data_dir, task_name):
        return snapshot.orders
    now = [] if snapshot is None else snapshot.groups
    groups = [Group(group.label, tuple(group.models), group.setting, group.asked) for group in now]
    about = Field(groups, "conversations" if snapshot is None else snapshot.counted)
    return list(fold([*ORDERS.read(data_dir, task_name), *new], about).results)


def price_of(data_dir: Path, task_name: str, new: Sequence[Order]) -> str | None:
    """What the orders can cost, by the newest launch; None where nothing real is spent."""
    settings, snapshot = read_settings(data_dir, task_name), read_snapshot(data_dir, task_name)
    return None if settings is None or snapshot is None else price(new, settings.settings, snapshot.groups)


def give_and_wait(data_dir: Path, task_name: str, new: Sequence[Order]) -> list[OrderResult]:
    """The orders, and what the running launch says of them; where none runs, or it is silent, that they will hold."""
    given = [give(data_dir, task_name, order) for order in new]
    said: dict[str, OrderResult] = {}
    until = time.monotonic() + PATIENCE_S
    while is_alive(data_dir, task_name) and time.monotonic() < until:
        snapshot = read_snapshot(data_dir, task_name)
        said = {result.order_id: result for result in snapshot.orders} if snapshot is not None else {}
        if all(order.order_id in said for order in given):
            break
        time.sleep(0.1)
    alive = is_alive(data_dir, task_name)
    if not alive and (last := read_snapshot(data_dir, task_name)) is not None:  # the order may have ended the launch
        said |= {result.order_id: result for result in last.orders}
    return [said.get(order.order_id) or _pending(order, task_name, alive) for order in given]


def _pending(order: Order, task_name: str, alive: bool) -> OrderResult:
    text = (
        f"The launch of {task_name} has not answered yet; it follows the order as soon as it can."
        if alive
        else f"No launch of {task_name} runs now: the order holds from the next launch on ({in_words(order)})."
    )
    return OrderResult(order_id=order.order_id, kind=order.kind, at=order.at, by=order.by, done=True, text=text)


def print_results(results: Sequence[OrderResult], running: bool, as_json: bool) -> None:
    """A line an order; an order that was refused makes the command fail."""
    if as_json:
        rows = [result.model_dump() for result in results]
        say_json({"running": running, "orders": rows})
    else:
        for result in results:
            console(stderr=not result.done).print(result.text, markup=False, soft_wrap=True)
    if not all(result.done for result in results):
        raise click.exceptions.Exit(1)


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
            f"task {task_name!r} is already launched from {data_dir}, and only just begins", try_="try again soon"
        )
    if running.task != task:
        raise CannotChange(
            f"task {task_name!r} is already launched from {data_dir} as {running.task}, and not as {task}",
            try_="give this one another task_name=…",
        )
    orders = changes(running.settings, asked, snapshot.groups, task_name)
    if not orders:
        stopped = "".join(f"\n  {group.label}: {group.stopped}" for group in snapshot.groups if group.stopped)
        raise AlreadyRunning(
            f"task {task_name!r} is already launched from {data_dir} (process {snapshot.pid}) with these "
            f"settings, at {snapshot.url}",
            try_=f"see how it stands: `parlai-humaneval watch {where}`. Stop that launch first, or give this one "
            f"another task_name=…{stopped}",
        )
    click.echo(f"{task_name} runs already, at {snapshot.url}. Its launch would be told to:")
    for order in orders:
        click.echo(f"  {in_words(order)}")
    if (sentence := price(orders, running.settings, snapshot.groups)) is not None:
        click.echo(sentence)
    must_agree(yes)
    print_results(give_and_wait(data_dir, task_name, orders), is_alive(data_dir, task_name), as_json=False)
    click.echo(f"See how it stands:  parlai-humaneval watch {where}")
