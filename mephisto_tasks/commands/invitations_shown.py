"""What `invite` writes and prints: links as CSV, as QR codes, on a terminal, as JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.cells import cell_len, set_cell_size

from mephisto_tasks.commands.options import console
from mephisto_tasks.commands.qr_codes import show_code, write_codes
from parlai_humaneval.plain_output import say_json
from parlai_humaneval.private_files import write_private
from parlai_humaneval.tables.formulas import guarded

if TYPE_CHECKING:
    from mephisto_tasks.crowds.link.invitations.book import Invitation


def write_links(file: Path, made: Sequence[Invitation], links: Sequence[str]) -> None:
    """Names and links as CSV, for its owner's eyes only."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["name", "email", "link"])
    for invitation, link in zip(made, links, strict=True):
        writer.writerow([guarded(invitation.name), guarded(invitation.email), link])
    write_private(file, text.getvalue().encode())


def write_codes_of(folder: Path, made: Sequence[Invitation], links: Sequence[str]) -> list[Path]:
    """A QR code of each link."""
    return write_codes(folder, [(invitation.name, link) for invitation, link in zip(made, links, strict=True)])


def print_links(
    made: Sequence[Invitation], links: Sequence[str], task_name: str, file: Path | None, qr: str | None
) -> None:
    """A line a link; of a single one its QR code, too."""
    until = _time(made[0].expires)
    if made[0].seats is not None:
        click.echo(f"Up to {made[0].seats} people may come to {task_name} by this link until {until}:")
    else:
        click.echo(f"Invited to {task_name} until {until}; each link is for one person:")
    width = max(cell_len(invitation.name) for invitation in made)
    for invitation, link in zip(made, links, strict=True):
        click.echo(f"  {set_cell_size(invitation.name, width)}  {link}")
    if len(links) == 1:
        show_code(links[0])
    if file is not None:
        click.echo(f"The links → {file} (only you can read it)")
    if qr is not None:
        click.echo(f"Their QR codes → {qr}")


def print_invitations(
    invitations: Sequence[Invitation], task_name: str, as_json: bool, pseudonym_of: Callable[[str], str]
) -> None:
    """A line an invitation: whose, its state, until when, who came, and which pseudonym is theirs in all other commands."""

    def worker(invitation: Invitation) -> str | None:
        return pseudonym_of(invitation.worker) if invitation.worker is not None and invitation.guests else None

    if as_json:
        rows = [{**_row(invitation), "worker": worker(invitation)} for invitation in invitations]
        say_json({"task": task_name, "invitations": rows})
        return
    if not invitations:
        click.echo(f"Nobody is invited to {task_name!r}.")
        return
    from rich.markup import escape
    from rich.table import Table

    table = Table("name", "email", "state", "until", "came", "worker", box=None, padding=(0, 2, 0, 0))
    for invitation in invitations:
        row = _row(invitation)
        came = _time(invitation.first_came) if invitation.first_came is not None else "no"
        if invitation.seats is not None:
            came = f"{invitation.guests} of {invitation.seats}"
        until, pseudonym = _time(invitation.expires), worker(invitation) or ""
        table.add_row(*map(escape, (invitation.name, invitation.email, row["state"], until, came, pseudonym)))
    console().print(table)


def print_withdrawn(withdrawn: Sequence[Invitation], as_json: bool) -> None:
    """Whose links are good no more."""
    if as_json:
        rows = [{"name": invitation.name, "email": invitation.email} for invitation in withdrawn]
        say_json({"revoked": rows})
        return
    for invitation in withdrawn:
        click.echo(f"The link of {invitation.name} is withdrawn: from now on it lets nobody in.")


def _row(invitation: Invitation) -> dict[str, Any]:
    return {
        "name": invitation.name,
        "email": invitation.email,
        "limit": invitation.seats,
        "state": invitation.state(datetime.now().timestamp()),
        "expires": datetime.fromtimestamp(invitation.expires).astimezone().isoformat(timespec="seconds"),
        "came": invitation.guests,
    }


def as_json_of(
    task_name: str, made: Sequence[Invitation], links: Sequence[str], file: Path | None, codes: Sequence[Path]
) -> dict[str, Any]:
    """Invitations that were made, with their links and files."""
    rows = [{**_row(invitation), "link": link} for invitation, link in zip(made, links, strict=True)]
    files = {"file": None if file is None else str(file), "codes": [str(path) for path in codes]}
    return {"task": task_name, "invitations": rows, **files}


def _time(at: float) -> str:
    return f"{datetime.fromtimestamp(at):%Y-%m-%d %H:%M}"
