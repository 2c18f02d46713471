"""``parlai-humaneval requester``: accounts at crowds' sites that may launch tasks.

Mephisto's own command for this does not start on Python 3.11, and writes to another database.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from mephisto_tasks.cli.options import (
    CrowdGroup,
    clear_errors,
    console,
    data_dir_of,
    data_dir_option,
    json_option,
    waiting_for,
)
from parlai_humaneval._util.terminal import say_json
from parlai_humaneval.cli.errors import CommandError

if TYPE_CHECKING:
    from mephisto_tasks.crowds.base import AccountCheck, Accounts

EPILOG = """\b
Example:
  parlai-humaneval requester add my_lab --provider PLACE
  parlai-humaneval requester check my_lab
"""


class Place(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic in newer versions of click
    """The word of a crowd that has accounts."""

    name = "place"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        places = _places()
        if value not in places:
            self.fail(f"{value!r} is not one of {', '.join(map(repr, places))}.", param, ctx)
        return str(value)


def _places() -> dict[str, Accounts]:
    from mephisto_tasks.crowds.registry import crowds

    found = {crowd.place: crowd.accounts() for crowd in crowds()}
    return {place: accounts for place, accounts in found.items() if accounts is not None}


@click.group(cls=CrowdGroup, epilog=EPILOG)
def requester() -> None:
    """Register accounts of crowds' sites that are asked in somebody's name, and list them.

    {closed} Neither needs an account here.
    """


@requester.command(epilog=EPILOG)
@click.argument("name")
@click.option("--provider", type=Place(), required=True, help="The place of the site, as place=… of a launch names it.")
@click.option("--access-key-id", help="The first of the account's keys; asked for when not given.")
@data_dir_option
def add(name: str, provider: str, access_key_id: str | None, data_dir: str | None) -> None:
    """Register NAME. The secret key is asked for, never taken from the command line, and kept for its owner only.

    Where the keys are in place already, or in the environment, nothing is asked.
    """
    with clear_errors():
        from mephisto_tasks.crowds.registry import crowds

        crowd = next(crowd for crowd in crowds() if crowd.place == provider)
        accounts = _places()[provider]
        keys: tuple[str, str] | None = None
        if access_key_id or accounts.needs_keys(name):
            if not sys.stdin.isatty() and not access_key_id:
                raise CommandError(accounts.no_keys.format(name=name), try_=accounts.keys_advice)
            first, second = accounts.key_words
            key_id = access_key_id or click.prompt(first)
            keys = (key_id.strip(), click.prompt(second, hide_input=True).strip())
        stored = accounts.add(data_dir_of(data_dir), name, keys)
        only_here = keys is None and not accounts.has_keys(name)
    if only_here:
        click.echo(accounts.only_here)
    click.echo(f"Registered. Launch with:  place={provider} requester_name={stored}")
    if (status := crowd.status()) is not None:
        click.echo(f"{status}.", err=True)
    click.echo(f"See whether {crowd.title} knows it:  parlai-humaneval requester check {stored}")


@requester.command(name="list", epilog="\b\nExample:\n  parlai-humaneval requester list --json\n")
@data_dir_option
@json_option
def list_(data_dir: str | None, as_json: bool) -> None:
    """Requesters of the data directory."""
    with clear_errors():
        from mephisto_tasks.storage.results import requesters

        directory = data_dir_of(data_dir)
        found = requesters(directory) if (directory / "database.db").exists() else []
    if as_json:
        say_json([{"name": name, "provider": kind} for name, kind in found], indent=None)
        return
    for name, kind in found:
        console().print(f"{name}  [dim]{kind}[/dim]")
    if not found:
        click.echo(f"none in {directory}; see `parlai-humaneval requester add --help`")


@requester.command(epilog="\b\nExample:\n  parlai-humaneval requester check my_lab\n")
@click.argument("name", required=False)
@data_dir_option
@json_option
def check(name: str | None, data_dir: str | None, as_json: bool) -> None:
    """Ask the crowd's site in the name of requester NAME, or of all: keys, address and balance.

    Exit code 1 when it does not answer as it should.
    """
    with clear_errors():
        from mephisto_tasks.crowds.registry import crowd_of
        from mephisto_tasks.storage.results import requesters

        directory = data_dir_of(data_dir)
        known = requesters(directory) if (directory / "database.db").exists() else []
        with waiting_for("Asking the crowds' sites…"):
            checks = [
                accounts.check(known_name)
                for known_name, kind in known
                if name in (None, known_name) and (accounts := crowd_of(kind).accounts()) is not None
            ]
    if as_json:
        said = [{**asdict(each), "balance": None if each.balance is None else str(each.balance)} for each in checks]
        say_json(said, indent=None)
    else:
        for each in checks:
            click.echo(in_words(each))
    if not checks:
        who = "requester with an account" if name is None else f"requester {name!r} with an account"
        raise CommandError(f"there is no {who} in {directory}", try_="see `parlai-humaneval requester add --help`")
    sys.exit(1 if any(each.wrong for each in checks) else 0)


def in_words(each: AccountCheck) -> str:
    """The outcome of a check in a line."""
    if each.wrong is not None:
        return f"{each.name} ({each.provider}): {each.wrong}"
    return f"{each.name} ({each.provider}): balance ${each.balance:,.2f}, at {each.endpoint}"


@requester.command(epilog="\b\nExample:\n  parlai-humaneval requester expire --task-name pw-turn\n")
@click.option("--task-name", required=True, help="The task whose units are taken off the market.")
@data_dir_option
def expire(task_name: str, data_dir: str | None) -> None:
    """Take off the market what launches of a task left on crowds' sites, such as one that was killed.

    The next launch of the task does the same. Workers who have a unit may finish it.
    """
    with clear_errors():
        from mephisto_tasks.crowds.registry import crowds
        from mephisto_tasks.storage.locks import task_lock
        from mephisto_tasks.storage.results import database_file

        directory = data_dir_of(data_dir)
        database_file(directory)
        # A launch takes its units off itself.
        with waiting_for("Asking the crowds' sites…"), task_lock(directory, task_name):
            count = sum(accounts.take_off(directory, task_name) for accounts in _places().values())
        words = {crowd.words.unit for crowd in crowds() if crowd.accounts() is not None}
        unit = words.pop() if len(words) == 1 else "unit"
    click.echo(f"{count} {unit}(s) of {task_name!r} were on the market, and were taken off.")
