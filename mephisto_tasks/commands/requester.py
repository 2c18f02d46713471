"""``parlai-humaneval requester``: MTurk accounts that may launch tasks.

Mephisto's own command for this does not start on Python 3.11, and writes to another database.
"""

from __future__ import annotations

import json

import click

from mephisto_tasks.commands.options import clear_errors, console, data_dir_of, data_dir_option, json_option

EPILOG = """\b
Example:
  parlai-humaneval requester add my_lab --provider mturk_sandbox
"""


@click.group(epilog=EPILOG)
def requester() -> None:
    """Register the MTurk accounts that launch tasks, and list them."""


@requester.command(epilog=EPILOG)
@click.argument("name")
@click.option("--provider", type=click.Choice(["mturk", "mturk_sandbox"]), required=True, help="Real money, or not.")
@click.option("--access-key-id", help="Of an IAM user with AmazonMechanicalTurkFullAccess; asked for when not given.")
@data_dir_option
def add(name: str, provider: str, access_key_id: str | None, data_dir: str | None) -> None:
    """Register NAME. The secret key is asked for, never taken from the command line, and kept in ~/.aws/credentials.

    With an AWS profile of that name in place, nothing is asked.
    """
    with clear_errors():
        from mephisto_tasks.workers.requesters import has_profile, register

        keys: tuple[str, str] | None = None
        if access_key_id or not has_profile(name):
            key_id = access_key_id or click.prompt("AWS access key id")
            keys = (key_id.strip(), click.prompt("AWS secret access key", hide_input=True).strip())
        stored = register(data_dir_of(data_dir), name, provider, keys)
    click.echo(f"Registered. Launch with:  conf={provider} mephisto.provider.requester_name={stored}")


@requester.command(name="list", epilog="\b\nExample:\n  parlai-humaneval requester list --json\n")
@data_dir_option
@json_option
def list_(data_dir: str | None, as_json: bool) -> None:
    """Requesters of the data directory."""
    with clear_errors():
        from mephisto_tasks.stored.results import requesters

        directory = data_dir_of(data_dir)
        found = requesters(directory) if (directory / "database.db").exists() else []
    if as_json:
        click.echo(json.dumps([{"name": name, "provider": kind} for name, kind in found]))
        return
    for name, kind in found:
        console().print(f"{name}  [dim]{kind}[/dim]")
    if not found:
        click.echo(f"none in {directory}; see `parlai-humaneval requester add --help`")
