"""``parlai-humaneval steer``: orders to a study that runs, which hold at its next launches, too, and what its launch says.

``launch`` of a task that runs already changes the running launch, as far as orders can do that.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from mephisto_tasks.cli.options import (
    clear_errors,
    confirm,
    console,
    data_dir_of,
    data_dir_option,
    json_option,
    task_options,
)
from mephisto_tasks.control.orders import ORDERS, Order, give, in_words
from mephisto_tasks.control.snapshot import OrderResult, is_alive, read_snapshot
from mephisto_tasks.control.steering import Field, Group, fold
from mephisto_tasks.launch.changes import CannotChange, changes, price
from mephisto_tasks.storage.locks import AlreadyRunning, running_task_run
from mephisto_tasks.storage.run_settings import Settings, read_settings
from parlai_humaneval._util.terminal import say, say_json
from parlai_humaneval.cli.errors import CommandError, WrongUsage
from parlai_humaneval.cli.options import SuggestingGroup

F = TypeVar("F", bound=Callable[..., Any])

EPILOG = """\b
Examples:
  parlai-humaneval steer pause --task-name pw-turn-preference
  parlai-humaneval steer resume --task-name pw-turn-preference
  parlai-humaneval steer more 20 --task-name pw-turn-preference
  parlai-humaneval steer more 20 --pair my_bot --pair baseline --task-name pw-turn-preference
  parlai-humaneval steer stop-pair my_bot baseline --task-name sata --setting soba
  parlai-humaneval steer retire old_bot --task-name pw-turn-preference
  parlai-humaneval steer orders --task-name pw-turn-preference --json
"""


@click.group(cls=SuggestingGroup, epilog=EPILOG)
def steer() -> None:
    """Pause a study, collect more, stop a pair or retire a model, while raters are at work.

    Whoever is inside goes on undisturbed: what is under way is finished, and counts. Only who is still in the practice when
    nothing is left to give reads that the study is complete. A running launch follows within a second and says what it did.
    Orders hold at the next launches of the task, too, until they are taken back.
    """


def _options(function: F) -> F:
    task = click.option("--task-name", required=True, help="The study.")
    return task(data_dir_option(json_option(function)))


def _example(words: str) -> str:
    return f"\b\nExample:\n  parlai-humaneval steer {words}\n"


_setting = click.option("--setting", help="In this setting only. Default: in every setting.")


@steer.command(epilog=_example("pause --task-name pw-turn-preference"))
@_options
def pause(task_name: str, data_dir: str | None, as_json: bool) -> None:
    """Let nobody new in; those inside finish, and who is in the practice goes on to a first unit.

    Visitors read that the researchers have paused the study. Where a crowd's site lists units, those that nobody has
    begun are taken off it, and put there again when the study is resumed.
    """
    from mephisto_tasks.control.orders import Pause

    _give(Pause(), task_name, data_dir, as_json)


@steer.command(epilog=_example("resume --task-name pw-turn-preference"))
@_options
def resume(task_name: str, data_dir: str | None, as_json: bool) -> None:
    """Let new workers in again."""
    from mephisto_tasks.control.orders import Resume

    _give(Resume(), task_name, data_dir, as_json)


class _More(click.Command):
    """A command whose argument is a number, so that -3 is one, too, rather than an option that there is not."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The arguments, unless one of them is a negative number."""
        if negative := next((each for each in args if re.fullmatch(r"-\d+", each)), None):
            raise WrongUsage(
                f"NUMBER takes a number from 1 to 100000, not {negative}",
                try_="to collect fewer, stop the pairs that have enough (`parlai-humaneval steer stop-pair`), or the launch",
            )
        return super().parse_args(ctx, args)


@steer.command(cls=_More, epilog=_example("more 20 --pair my_bot --pair baseline --task-name pw-turn-preference"))
@click.argument("number", type=click.IntRange(1, 100_000))
@click.option(
    "--pair", "models", multiple=True, metavar="MODEL", help="Of this group only: once for each of its models."
)
@_setting
@click.option("--yes", is_flag=True, help="Agree to what it can cost, without being asked.")
@_options
def more(
    number: int,
    models: tuple[str, ...],
    setting: str | None,
    yes: bool,
    task_name: str,
    data_dir: str | None,
    as_json: bool,
) -> None:
    """Collect NUMBER further dialogues (judgements) of every group that is not stopped, or of one.

    Where that spends real money, it is shown first, and asked about.
    """
    from mephisto_tasks.control.orders import More

    _give(More(number=number, models=list(models), setting=setting), task_name, data_dir, as_json, yes=yes)


@steer.command("stop-pair", epilog=_example("stop-pair my_bot baseline --task-name sata --setting soba"))
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@_setting
@_options
def stop_pair(
    models: tuple[str, ...], setting: str | None, task_name: str, data_dir: str | None, as_json: bool
) -> None:
    """Give out no new dialogues (judgements) of the group of these models; what is under way is finished."""
    from mephisto_tasks.control.orders import StopGroup

    _give(StopGroup(models=list(models), setting=setting), task_name, data_dir, as_json)


@steer.command("resume-pair", epilog=_example("resume-pair my_bot baseline --task-name sata --setting soba"))
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@_setting
@_options
def resume_pair(
    models: tuple[str, ...], setting: str | None, task_name: str, data_dir: str | None, as_json: bool
) -> None:
    """Give out the group of these models again."""
    from mephisto_tasks.control.orders import ResumeGroup

    _give(ResumeGroup(models=list(models), setting=setting), task_name, data_dir, as_json)


@steer.command(epilog=_example("retire old_bot --task-name pw-turn-preference"))
@click.argument("model")
@_options
def retire(model: str, task_name: str, data_dir: str | None, as_json: bool) -> None:
    """Stop every group with MODEL; it is not loaded any more at the next launch."""
    from mephisto_tasks.control.orders import RetireModel

    _give(RetireModel(model=model), task_name, data_dir, as_json)


@steer.command(epilog=_example("restore old_bot --task-name pw-turn-preference"))
@click.argument("model")
@_options
def restore(model: str, task_name: str, data_dir: str | None, as_json: bool) -> None:
    """Take a retired MODEL in again."""
    from mephisto_tasks.control.orders import RestoreModel

    _give(RestoreModel(model=model), task_name, data_dir, as_json)


@steer.command("orders", epilog=_example("orders --task-name pw-turn-preference --json"))
@_options
def list_orders(task_name: str, data_dir: str | None, as_json: bool) -> None:
    """What was ordered, and what became of it."""
    directory = data_dir_of(data_dir)
    with clear_errors():
        _must_be_there(directory, task_name)
        from datetime import datetime

        from mephisto_tasks.control.snapshot import is_alive

        results = results_of(directory, task_name)
    if as_json:
        rows = [result.model_dump() for result in results]
        say_json({"running": is_alive(directory, task_name), "orders": rows})
        return
    for result in results:
        refused = "" if result.done else "  refused:"
        say(f"{datetime.fromtimestamp(result.at):%Y-%m-%d %H:%M:%S}  {result.by}{refused}  {result.text}")
    if not results:
        click.echo("No orders were given.")


def _give(order: Any, task_name: str, data_dir: str | None, as_json: bool, *, yes: bool = False) -> None:
    directory = data_dir_of(data_dir)
    with clear_errors():
        _must_be_there(directory, task_name)
        from mephisto_tasks.cli.options import confirm
        from mephisto_tasks.control.snapshot import is_alive

        for refused in refusals(directory, task_name, [order]):
            raise CommandError(refused)
        if (sentence := price_of(directory, task_name, [order])) is not None:
            click.echo(sentence, err=as_json)
            confirm(yes)
        results = give_and_wait(directory, task_name, [order])
        print_results(results, is_alive(directory, task_name), as_json)


def _must_be_there(data_dir: Path, task_name: str) -> None:
    """Raises ResultsError for a task that was never launched: it would be a slip of the pen."""
    from mephisto_tasks.storage.results import stored_agents

    stored_agents(data_dir, task_name)


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
    confirm(yes)
    print_results(give_and_wait(data_dir, task_name, orders), is_alive(data_dir, task_name), as_json=False)
    click.echo(f"See how it stands:  parlai-humaneval watch {where}")
