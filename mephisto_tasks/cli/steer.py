"""``parlai-humaneval steer``: orders to a study that runs, which hold at its next launches, too."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from mephisto_tasks.cli.options import clear_errors, data_dir_of, data_dir_option, json_option
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

        from mephisto_tasks.cli.orders import results_of
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
        from mephisto_tasks.cli.options import must_agree
        from mephisto_tasks.cli.orders import give_and_wait, price_of, print_results, refusals
        from mephisto_tasks.control.snapshot import is_alive

        for refused in refusals(directory, task_name, [order]):
            raise CommandError(refused)
        if (sentence := price_of(directory, task_name, [order])) is not None:
            click.echo(sentence, err=as_json)
            must_agree(yes)
        results = give_and_wait(directory, task_name, [order])
        print_results(results, is_alive(directory, task_name), as_json)


def _must_be_there(data_dir: Path, task_name: str) -> None:
    """Raises ResultsError for a task that was never launched: it would be a slip of the pen."""
    from mephisto_tasks.storage.results import stored_agents

    stored_agents(data_dir, task_name)
