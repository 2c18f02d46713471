"""``parlai-humaneval requester``: accounts at crowds' sites. (Mephisto's own command does not start on Python 3.11.)"""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from mephisto_tasks.cli.options import CrowdCommand, CrowdGroup, at_a_terminal, console, described, waiting_for
from mephisto_tasks.crowds.crowd import Accounts
from mephisto_tasks.crowds.registry import crowd_of, crowds
from mephisto_tasks.storage.locks import task_lock
from mephisto_tasks.storage.results import database_file, requesters
from parlai_humaneval._util.errors import choose_from
from parlai_humaneval._util.terminal import say_json
from parlai_humaneval.cli.errors import BadValue, CommandError


class Place(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic in newer versions of click
    name = "place"

    @property
    def choices(self) -> list[str]:
        return list(_places())

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            raise BadValue(f"cannot be {value!r}", option="--provider", **choose_from(str(value), self.choices))
        return str(value)


def _places() -> dict[str, Accounts]:
    found = {crowd.place: crowd.accounts() for crowd in crowds()}
    return {place: accounts for place, accounts in found.items() if accounts is not None}


@described("requester", cls=CrowdGroup)
def requester() -> None:
    pass


@described("requester add", cls=CrowdCommand, provider={"type": Place()})
def add(name: str, provider: str, access_key_id: str | None, data_dir: Path) -> None:
    crowd = next(crowd for crowd in crowds() if crowd.place == provider)
    accounts = _places()[provider]
    *others, secret = accounts.words["key_words"]
    if access_key_id and not others:
        raise BadValue(f"an account of {crowd.title} has no access key id", option="--access-key-id")
    keys: tuple[str, ...] | None = None
    if access_key_id or accounts.needs_keys(name):
        if not at_a_terminal() and not access_key_id:
            raise CommandError(accounts.words["no_keys"].format(name=name), try_=accounts.words["keys_advice"])
        given = [access_key_id] if access_key_id else [click.prompt(words) for words in others]
        keys = tuple(key.strip() for key in (*given, click.prompt(secret, hide_input=True)))
    stored = accounts.add(data_dir, name, keys)
    only_here = keys is None and not accounts.has_keys(name)
    with waiting_for(f"Asking {crowd.title}…"):
        checks = [] if crowd.status() is not None else accounts.check(stored)
    if only_here:
        click.echo(accounts.words["only_here"])
    click.echo(f"Registered. Launch with:  place={provider} requester_name={stored}")
    if (status := crowd.status()) is not None:
        click.echo(f"{status}.", err=True)
        click.echo(f"To check it with {crowd.title}:  parlai-humaneval requester check {stored}")
    for each in checks:
        click.echo(each)
    if any(each.wrong for each in checks):
        raise SystemExit(1)


@described("requester list")
def list_(data_dir: Path, as_json: bool) -> None:
    found = requesters(data_dir)
    if as_json:
        say_json([{"name": name, "provider": kind} for name, kind in found], indent=None)
        return
    for name, kind in found:
        console().print(f"{name}  [dim]{kind}[/dim]")
    if not found:
        click.echo(f"none in {data_dir}; see `parlai-humaneval requester add --help`")


@described("requester check")
def check(name: str | None, data_dir: Path, as_json: bool) -> None:
    known = requesters(data_dir)
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
        raise CommandError(f"there is no {who} in {data_dir}", try_="see `parlai-humaneval requester add --help`")
    sys.exit(1 if any(each.wrong for each in checks) else 0)


@described("requester forget")
def forget(name: str, data_dir: Path) -> None:
    kinds = dict(requesters(data_dir))
    places = [accounts for place, accounts in _places().items() if kinds.get(name, place) == place]
    of_name = [accounts for accounts in places if name in kinds or accounts.has_keys(name)]
    if not of_name:
        raise CommandError(f"no keys are kept for {name!r}", try_="see `parlai-humaneval requester list`")
    said = [accounts.forget(name) for accounts in of_name]
    for sentence in said:
        click.echo(sentence)


@described("requester expire")
def expire(task_name: str, data_dir: Path) -> None:
    database_file(data_dir)
    # A launch takes its units off itself.
    with waiting_for("Asking the crowds' sites…"), task_lock(data_dir, task_name):
        taken = {place: accounts.take_off(data_dir, task_name) for place, accounts in _places().items()}
    words = {crowd.words.unit for crowd in crowds() if taken.get(crowd.place)}
    unit = words.pop() if len(words) == 1 else "assignment"
    count = sum(taken.values())
    many = f"{count} {unit}{'' if count == 1 else 's'}"
    click.echo(f"Withdrawn: {many} of {task_name!r}." if count else f"There was nothing to withdraw for {task_name!r}.")


for command in (add, list_, check, forget, expire):
    requester.add_command(command)
