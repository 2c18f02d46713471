"""``parlai-humaneval requester``: MTurk accounts that may launch tasks.

Mephisto's own command for this does not start on Python 3.11, and writes to another database.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from mephisto_tasks.cli.options import clear_errors, console, data_dir_of, data_dir_option, json_option, waiting_for
from parlai_humaneval._util.terminal import say_json
from parlai_humaneval.cli.options import SuggestingGroup

if TYPE_CHECKING:
    from mephisto_tasks.crowds.mturk.requesters import RequesterCheck

EPILOG = """\b
Example:
  parlai-humaneval requester add my_lab --provider mturk_sandbox
  parlai-humaneval requester check my_lab
"""
NO_TERMINAL = (
    "there is no AWS profile {name!r} in ~/.aws, no AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment, and no "
    "terminal to ask for keys at: give one of these"
)


@click.group(cls=SuggestingGroup, epilog=EPILOG)
def requester() -> None:
    """Register accounts of MTurk, or of a site that speaks its protocol, and list them.

    Amazon closed MTurk on 30 September 2026: use a panel such as Prolific, or invitations (place=link). Neither needs an
    account here.
    """


@requester.command(epilog=EPILOG)
@click.argument("name")
@click.option("--provider", type=click.Choice(["mturk", "mturk_sandbox"]), required=True, help="Real money, or not.")
@click.option("--access-key-id", help="Of an IAM user with AmazonMechanicalTurkFullAccess; asked for when not given.")
@data_dir_option
def add(name: str, provider: str, access_key_id: str | None, data_dir: str | None) -> None:
    """Register NAME. The secret key is asked for, never taken from the command line, and kept in ~/.aws/credentials.

    With an AWS profile of that name in place, or keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, nothing is asked.
    """
    with clear_errors():
        from mephisto_tasks.crowds.mturk.client import keys_in_environment
        from mephisto_tasks.crowds.mturk.requesters import has_profile, register

        keys: tuple[str, str] | None = None
        if access_key_id or not (has_profile(name) or keys_in_environment()):
            if not sys.stdin.isatty() and not access_key_id:
                raise click.ClickException(NO_TERMINAL.format(name=name))
            key_id = access_key_id or click.prompt("AWS access key id")
            keys = (key_id.strip(), click.prompt("AWS secret access key", hide_input=True).strip())
        from mephisto_tasks.crowds.mturk.closed import CLOSED, asks_amazon

        stored = register(data_dir_of(data_dir), name, provider, keys)
        only_here = keys is None and not has_profile(name)
    if only_here:
        click.echo("Its keys are those of the environment, and are not kept: set them wherever you launch.")
    click.echo(f"Registered. Launch with:  place={provider} requester_name={stored}")
    if asks_amazon():
        click.echo(f"{CLOSED}.", err=True)
    click.echo(f"See whether MTurk knows it:  parlai-humaneval requester check {stored}")


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


@requester.command(epilog="\b\nExample:\n  parlai-humaneval requester check my_lab_sandbox\n")
@click.argument("name", required=False)
@data_dir_option
@json_option
def check(name: str | None, data_dir: str | None, as_json: bool) -> None:
    """Ask MTurk in the name of requester NAME, or of all: keys, address and balance.

    Exit code 1 when it does not answer as it should.
    """
    with clear_errors():
        from mephisto_tasks.crowds.mturk.requesters import check_requesters

        directory = data_dir_of(data_dir)
        with waiting_for("Asking MTurk…"):
            checks = [each for each in check_requesters(directory) if name in (None, each.name)]
    if as_json:
        say_json([each.model_dump(mode="json") for each in checks], indent=None)
    else:
        for each in checks:
            click.echo(in_words(each))
    if not checks:
        who = "requester of MTurk's" if name is None else f"requester {name!r} of MTurk's"
        raise click.ClickException(f"there is no {who} in {directory}; see `parlai-humaneval requester add --help`")
    sys.exit(1 if any(each.wrong for each in checks) else 0)


def in_words(each: RequesterCheck) -> str:
    """The outcome of a check in a line."""
    if each.wrong is not None:
        return f"{each.name} ({each.provider}): {each.wrong}"
    return f"{each.name} ({each.provider}): balance ${each.balance:,.2f}, at {each.endpoint}"


@requester.command(epilog="\b\nExample:\n  parlai-humaneval requester expire --task-name pw-turn\n")
@click.option("--task-name", required=True, help="The task whose HITs are taken off the market.")
@data_dir_option
def expire(task_name: str, data_dir: str | None) -> None:
    """Take off the market what launches of a task left on MTurk, such as one that was killed.

    The next launch of the task does the same. Workers who have a HIT may finish it.
    """
    with clear_errors():
        from mephisto_tasks.crowds.mturk.requesters import expire_task
        from mephisto_tasks.storage.locks import task_lock
        from mephisto_tasks.storage.results import database_file

        directory = data_dir_of(data_dir)
        database_file(directory)
        with waiting_for("Asking MTurk…"), task_lock(directory, task_name):  # a launch takes its HITs off itself
            count = expire_task(directory, task_name)
    click.echo(f"{count} HIT(s) of {task_name!r} were on the market, and were taken off.")
