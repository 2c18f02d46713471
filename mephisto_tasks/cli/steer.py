"""``parlai-humaneval steer``: orders to a running study; ``launch`` of a running task also gives orders."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from mephisto_tasks.cli.options import confirm, console, described, task_options
from mephisto_tasks.config.names import ConfigError
from mephisto_tasks.control import orders as steering
from mephisto_tasks.control.snapshot import OrderResult, is_alive, read_snapshot
from mephisto_tasks.launch.changes import changes, price
from mephisto_tasks.storage.locks import AlreadyRunning, running_task_run
from mephisto_tasks.storage.results import Settings, read_settings, stored_agents
from parlai_humaneval._util.errors import misspelt
from parlai_humaneval._util.terminal import say, say_json
from parlai_humaneval.cli.errors import CommandError, WrongUsage
from parlai_humaneval.cli.options import Command, SuggestingGroup
from parlai_humaneval.i18n.translate import worded


@described("steer", cls=SuggestingGroup)
def steer() -> None:
    pass


def _giving(kind: Callable[..., steering.Order]) -> Callable[..., None]:
    """What a command does that gives orders of this kind: its arguments are the order's fields."""

    def give_it(task_name: str, data_dir: Path, as_json: bool, yes: bool = False, **fields: Any) -> None:
        stored_agents(data_dir, task_name)  # a task that was never launched would be a slip of the pen
        orders = [kind(**fields)]
        for refused in refusals(data_dir, task_name, orders):
            snapshot = read_snapshot(data_dir, task_name)
            known = sorted({model for group in snapshot.groups for model in group.models} if snapshot else ())
            typed = [fields.get("model") or "", *(fields.get("models") or ())]
            meant = next(filter(None, (misspelt(word, known) for word in typed)), None)
            raise CommandError(refused.removesuffix("."), misspelt=meant)
        if (sentence := price_of(data_dir, task_name, orders)) is not None:
            click.echo(sentence, err=as_json)
            confirm(yes)
        results = give_and_wait(data_dir, task_name, orders)
        print_results(results, is_alive(data_dir, task_name), as_json)

    return give_it


class _More(Command):
    """A command whose argument is a number, so that -3 is one, too, rather than an option that there is not."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if negative := next((each for each in args if re.fullmatch(r"-\d+", each)), None):
            raise WrongUsage(worded(__file__, "number", negative=negative))
        return super().parse_args(ctx, args)


@described("steer orders")
def list_orders(task_name: str, data_dir: Path, as_json: bool) -> None:
    stored_agents(data_dir, task_name)
    results = results_of(data_dir, task_name)
    if as_json:
        rows = [result.model_dump() for result in results]
        say_json({"running": is_alive(data_dir, task_name), "orders": rows})
        return
    for result in results:
        refused = "" if result.done else "  refused:"
        say(f"{datetime.fromtimestamp(result.at):%Y-%m-%d %H:%M:%S}  {result.by}{refused}  {result.text}")
    if not results:
        click.echo("No orders have been given.")


KINDS: Mapping[str, type[steering.Order]] = {
    "pause": steering.Pause,
    "resume": steering.Resume,
    "more": steering.More,
    "stop-pair": steering.StopGroup,
    "resume-pair": steering.ResumeGroup,
    "retire": steering.RetireModel,
    "restore": steering.RestoreModel,
}
for name, kind in KINDS.items():
    steer.add_command(described(f"steer {name}", cls=_More if kind is steering.More else Command)(_giving(kind)))
steer.add_command(list_orders)

PATIENCE_S = 10.0  # How long a running launch may take to say what became of an order; it looks four times a second.


def refusals(data_dir: Path, task_name: str, new: Sequence[steering.Order]) -> list[str]:
    """Why some of the orders can never be followed, by what the newest launch knows; they are not given then."""
    if read_snapshot(data_dir, task_name) is None:
        return []
    return [result.text for result in results_of(data_dir, task_name, new)[-len(new) :] if not result.done]


def results_of(data_dir: Path, task_name: str, new: Sequence[steering.Order] = ()) -> list[OrderResult]:
    """All orders, ``new`` ones last, and what becomes of them with the groups of the newest launch."""
    snapshot = read_snapshot(data_dir, task_name)
    if snapshot is not None and not new and is_alive(data_dir, task_name):
        return snapshot.orders
    now = [] if snapshot is None else snapshot.groups
    groups = [steering.Group(group.label, tuple(group.models), group.setting, group.asked) for group in now]
    about = steering.Field(groups, "conversations" if snapshot is None else snapshot.counted)
    return list(steering.fold([*steering.ORDERS.read(data_dir, task_name), *new], about).results)


def price_of(data_dir: Path, task_name: str, new: Sequence[steering.Order]) -> str | None:
    """The maximum cost of the orders, by the newest launch; None if no real money is spent."""
    settings, snapshot = read_settings(data_dir, task_name), read_snapshot(data_dir, task_name)
    return None if settings is None or snapshot is None else price(new, settings.settings, snapshot.groups)


def give_and_wait(data_dir: Path, task_name: str, new: Sequence[steering.Order]) -> list[OrderResult]:
    """The orders, and what the running launch says of them; where none runs, or it is silent, that they will hold."""
    given = [steering.give(data_dir, task_name, order) for order in new]
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


def _pending(order: steering.Order, task_name: str, alive: bool) -> OrderResult:
    text = f"The launch of {task_name} has not carried out the order yet, but will do so as soon as possible."
    if not alive:
        later = f"The order will take effect at the next launch ({steering.in_words(order)})."
        text = f"No launch of {task_name} is running. {later}"
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
    """Show what would change, ask, and give the orders. Raises AlreadyRunning, ConfigError, ClickException."""
    running, snapshot = read_settings(data_dir, task_name), read_snapshot(data_dir, task_name)
    run_id = running_task_run(data_dir, task_name)
    where = task_options(task_name, data_dir)
    facts = {"task_name": task_name, "data_dir": data_dir}
    if running is None or snapshot is None or not run_id == running.task_run_id == snapshot.task_run_id:
        raise AlreadyRunning(worded(__file__, "starting", **facts))
    if running.task != task:
        raise ConfigError(worded(__file__, "other_technique", **facts, running=running, task=task))
    orders = changes(running.settings, asked, snapshot.groups, task_name)
    if not orders:
        stopped = "".join(f"\n  {group.label}: {group.stopped}" for group in snapshot.groups if group.stopped)
        raise AlreadyRunning(worded(__file__, "launched", **facts, snapshot=snapshot, where=where, stopped=stopped))
    click.echo(f"{task_name} is already running at {snapshot.url}. The running launch would receive these orders:")
    for order in orders:
        click.echo(f"  {steering.in_words(order)}")
    if (sentence := price(orders, running.settings, snapshot.groups)) is not None:
        click.echo(sentence)
    confirm(yes)
    print_results(give_and_wait(data_dir, task_name, orders), is_alive(data_dir, task_name), as_json=False)
    click.echo(f"To follow it:  parlai-humaneval watch {where}")
