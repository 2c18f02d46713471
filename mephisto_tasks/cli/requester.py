"""``parlai-humaneval requester``: accounts at crowds' sites that may launch tasks.

Mephisto's own command for this does not start on Python 3.11, and writes to another database.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from mephisto_tasks.cli.options import (
    CrowdCommand,
    CrowdGroup,
    at_a_terminal,
    clear_errors,
    console,
    data_dir_of,
    data_dir_option,
    json_option,
    waiting_for,
)
from parlai_humaneval._util.errors import choose_from
from parlai_humaneval._util.terminal import say_json
from parlai_humaneval.cli.errors import BadValue, CommandError

if TYPE_CHECKING:
    from mephisto_tasks.crowds.base import Accounts

EPILOG = """\b
Example:
  parlai-humaneval requester add my_lab --provider {account}
  parlai-humaneval requester check my_lab
"""


class Place(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic in newer versions of click
    """The word of a crowd that has accounts."""

    name = "place"

    @property
    def choices(self) -> list[str]:
        """All of them."""
        return list(_places())

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            raise BadValue(f"cannot be {value!r}", option="--provider", **choose_from(str(value), self.choices))
        return str(value)


def _places() -> dict[str, Accounts]:
    from mephisto_tasks.crowds.registry import crowds

    found = {crowd.place: crowd.accounts() for crowd in crowds()}
    return {place: accounts for place, accounts in found.items() if accounts is not None}


@click.group(cls=CrowdGroup, epilog=EPILOG)
def requester() -> None:
    """Register accounts at crowds' sites that launches are made with, check them, and list them.

    {closed}
    """


@requester.command(cls=CrowdCommand, epilog=EPILOG)
@click.argument("name")
@click.option("--provider", type=Place(), required=True, help="The place of the site, as place=… of a launch names it.")
@click.option("--access-key-id", help="The first key of an account that has two (AWS); asked for when not given.")
@data_dir_option
def add(name: str, provider: str, access_key_id: str | None, data_dir: str | None) -> None:
    """Register NAME, or renew its keys. The secret is asked for, never typed into the command, and kept for its owner only.

    {needs}
    """
    with clear_errors():
        from mephisto_tasks.crowds.registry import crowds

        crowd = next(crowd for crowd in crowds() if crowd.place == provider)
        accounts = _places()[provider]
        *others, secret = accounts.key_words
        if access_key_id and not others:
            raise BadValue(f"an account of {crowd.title} has no access key id", option="--access-key-id")
        keys: tuple[str, ...] | None = None
        if access_key_id or accounts.needs_keys(name):
            if not at_a_terminal() and not access_key_id:
                raise CommandError(accounts.no_keys.format(name=name), try_=accounts.keys_advice)
            given = [access_key_id] if access_key_id else [click.prompt(words) for words in others]
            keys = tuple(key.strip() for key in (*given, click.prompt(secret, hide_input=True)))
        directory = data_dir_of(data_dir)
        stored = accounts.add(directory, name, keys)
        only_here = keys is None and not accounts.has_keys(name)
        with waiting_for(f"Asking {crowd.title}…"):
            checks = [] if crowd.status() is not None else accounts.check(stored)
    if only_here:
        click.echo(accounts.only_here)
    click.echo(f"Registered. Launch with:  place={provider} requester_name={stored}")
    if (status := crowd.status()) is not None:
        click.echo(f"{status}.", err=True)
        click.echo(f"See whether {crowd.title} knows it:  parlai-humaneval requester check {stored}")
    for each in checks:
        click.echo(each)
    if any(each.wrong for each in checks):
        raise SystemExit(1)


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
                check
                for known_name, kind in known
                if name in (None, known_name) and (accounts := crowd_of(kind).accounts()) is not None
                for check in accounts.check(known_name)
            ]
    if as_json:
        said = [{**asdict(each), "balance": None if each.balance is None else str(each.balance)} for each in checks]
        say_json(said, indent=None)
    else:
        for each in checks:
            click.echo(each)
    if not checks:
        who = "requester with an account" if name is None else f"requester {name!r} with an account"
        raise CommandError(f"there is no {who} in {directory}", try_="see `parlai-humaneval requester add --help`")
    sys.exit(1 if any(each.wrong for each in checks) else 0)


@requester.command(epilog="\b\nExample:\n  parlai-humaneval requester forget my_lab\n")
@click.argument("name")
@data_dir_option
def forget(name: str, data_dir: str | None) -> None:
    """Delete the keys that are kept for requester NAME. Studies that it launched are read as before."""
    with clear_errors():
        from mephisto_tasks.storage.results import requesters

        directory = data_dir_of(data_dir)
        kinds = dict(requesters(directory)) if (directory / "database.db").exists() else {}
        places = [accounts for place, accounts in _places().items() if kinds.get(name, place) == place]
        of_name = [accounts for accounts in places if name in kinds or accounts.has_keys(name)]
        if not of_name:
            raise CommandError(f"no keys are kept for {name!r}", try_="see `parlai-humaneval requester list`")
        said = [accounts.forget(name) for accounts in of_name]
    for sentence in said:
        click.echo(sentence)


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
            taken = {place: accounts.take_off(directory, task_name) for place, accounts in _places().items()}
        words = {crowd.words.unit for crowd in crowds() if taken.get(crowd.place)}
        unit = words.pop() if len(words) == 1 else "unit"
    count = sum(taken.values())
    many = f"{count} {unit}{'' if count == 1 else 's'}"
    click.echo(
        f"Taken off the market: {many} of {task_name!r}." if count else f"Nothing of {task_name!r} was on the market."
    )
