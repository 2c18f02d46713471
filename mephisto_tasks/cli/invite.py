"""``parlai-humaneval invite``: signed links for colleagues, annotators and classes; as CSV, QR codes, JSON."""

from __future__ import annotations

import csv
import difflib
import io
import re
import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.cells import cell_len, set_cell_size
from rich.markup import escape

from mephisto_tasks.cli.options import console, described
from mephisto_tasks.storage.locks import running_url
from parlai_humaneval._util.errors import misspelt
from parlai_humaneval._util.files import write_private
from parlai_humaneval._util.terminal import say_json
from parlai_humaneval._util.text import guarded
from parlai_humaneval.cli.errors import BadValue, CommandError, WrongUsage

if TYPE_CHECKING:
    from mephisto_tasks.crowds.crowd import Invitation, Invitations, Person

KINDS = {"svg": 4, "png": 8}  # Format → pixels of a module


def write_codes(folder: Path, links: Sequence[tuple[str, str]]) -> list[Path]:
    """An SVG and a PNG of each link, named after whose it is, in a folder; the links are secret, and so are the files."""
    import segno

    written = []
    for number, (name, link) in enumerate(links, start=1):
        code = segno.make(link, error="m", micro=False)
        # Letters and digits of any alphabet: everything else might mean something to a file system.
        plain = re.sub(r"[^\w]+", "-", name).strip("-_").lower()[:60] or "link"
        for kind, scale in KINDS.items():
            image = io.BytesIO()
            code.save(image, kind=kind, scale=scale)
            path = folder / f"{number:0{len(str(len(links)))}}-{plain}.{kind}"
            write_private(path, image.getvalue())
            written.append(path)
    return written


def show_code(link: str) -> None:
    """The link as a QR code, where somebody sits at a terminal that can draw it."""
    import segno

    if sys.stdout.isatty() and (sys.stdout.encoding or "").lower().replace("-", "") == "utf8":
        segno.make(link, error="l", micro=False).terminal(compact=True)


def write_links(file: Path, made: Sequence[Invitation], links: Sequence[str]) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["name", "email", "link"])
    for invitation, link in zip(made, links, strict=True):
        writer.writerow([guarded(invitation.name), guarded(invitation.email), link])
    write_private(file, text.getvalue().encode())


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


def _row(invitation: Invitation) -> dict[str, Any]:
    return {
        "name": invitation.name,
        "email": invitation.email,
        "limit": invitation.seats,
        "state": invitation.state(datetime.now().timestamp()),
        "expires": datetime.fromtimestamp(invitation.expires).astimezone().isoformat(timespec="seconds"),
        "came": invitation.guests,
    }


def _time(at: float) -> str:
    return f"{datetime.fromtimestamp(at):%Y-%m-%d %H:%M}"


_UNITS = {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_LONGEST_S = 3650 * _UNITS["d"]


def duration(value: str) -> float:
    match = re.fullmatch(r"(\d{1,6})\s*([mhdw])", value.strip().lower())
    seconds = 0.0 if match is None else int(match[1]) * _UNITS[match[2]]
    if not 0 < seconds <= _LONGEST_S:
        raise BadValue(f"{value!r} is not a valid time", try_="write 90m, 36h, 14d or 2w, up to ten years")
    return seconds


@described("invite", expires={"type": duration})
def invite(
    task_name: str,
    names: str | None,
    for_class: bool,
    limit: int | None,
    name: str,
    only_list: bool,
    revoke: tuple[str, ...],
    expires: float,
    url: str | None,
    out: str | None,
    qr: str | None,
    force: bool,
    data_dir: Path,
    as_json: bool,
) -> None:
    from mephisto_tasks.crowds.registry import offered
    from mephisto_tasks.storage.logs import note_written
    from mephisto_tasks.storage.results import PSEUDONYM_KEY
    from parlai_humaneval.schema.pseudonyms import Pseudonymizer

    if sum([names is not None, for_class, only_list, bool(revoke)]) != 1:
        raise WrongUsage("choose one of --names, --open, --list and --revoke")
    if for_class != (limit is not None):
        raise WrongUsage("--open needs --limit N, and --limit needs --open: a link for at most N people")
    book = offered(lambda crowd: crowd.invitations(data_dir, task_name))
    if only_list:
        key = data_dir / PSEUDONYM_KEY
        print_invitations(book.all(), task_name, as_json, lambda one: Pseudonymizer.load_or_create(key).worker(one))
        return
    if revoke:
        withdrawn = book.revoke(revoke)
        if as_json:
            say_json({"revoked": [{"name": invitation.name, "email": invitation.email} for invitation in withdrawn]})
        for invitation in [] if as_json else withdrawn:
            click.echo(f"The link of {invitation.name} has been withdrawn and no longer works.")
        return
    base = base_address(data_dir, task_name, url)
    lost_key = book.lost_key
    people = people_of(book, names, name)
    file = Path(out) if out is not None else None if names is None else Path(f"{Path(names).stem}-links.csv")
    codes_folder = None if qr is None else Path(qr)
    if file is not None:
        if file.exists() and not force:
            raise CommandError(f"{file} already exists", try_="add --force, or choose another file with --out")
        if not file.absolute().parent.is_dir():
            raise CommandError("there is no such folder", where=f"{file.absolute().parent}")
    if codes_folder is not None:
        codes_folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    of_class = [] if limit is None else [book.invite_class(people[0].name, limit, expires)]
    made = of_class or book.invite_people(people, expires)
    links = [book.link(invitation, base) for invitation in made]
    if lost_key is not None:
        click.echo(
            f"{lost_key}, the key that signs this study's links, was missing, so a new key was created. "
            "Earlier links no longer work; use these new links instead.",
            err=True,
        )
    if file is not None:
        write_links(file, made, links)
    named = [(invitation.name, link) for invitation, link in zip(made, links, strict=True)]
    codes = [] if codes_folder is None else write_codes(codes_folder, named)
    note_written(data_dir, [task_name], "links", [*([] if file is None else [file]), *codes])
    if as_json:
        rows = [{**_row(invitation), "link": link} for invitation, link in zip(made, links, strict=True)]
        files = {"file": None if file is None else str(file), "codes": [str(path) for path in codes]}
        say_json({"task": task_name, "invitations": rows, **files})
    else:
        until = _time(made[0].expires)
        if made[0].seats is not None:
            click.echo(f"Up to {made[0].seats} people can take part in {task_name} with this link until {until}:")
        else:
            click.echo(f"Invitations to {task_name}, valid until {until}. Each link is for one person:")
        width = max(cell_len(invitation.name) for invitation in made)
        for invitation, link in zip(made, links, strict=True):
            click.echo(f"  {set_cell_size(invitation.name, width)}  {link}")
        if len(links) == 1:
            show_code(links[0])
        if file is not None:
            click.echo(f"Links → {file} (only you can read this file)")
        if qr is not None:
            click.echo(f"QR codes → {qr}")


def base_address(data_dir: Path, task_name: str, url: str | None) -> str:
    """Where the links lead: as it was given, or to the launch that runs now. Raises CommandError."""
    from mephisto_tasks.crowds.registry import crowd_of, invited_place
    from mephisto_tasks.server.hosts import is_web_address, opens_elsewhere
    from mephisto_tasks.storage.results import stored_runs
    from parlai_humaneval.i18n.translate import worded

    if url is not None:
        if not is_web_address(url):
            raise CommandError(f"--url {url} is not an address such as https://study.example.org")
        if task_name not in (known := _launched_tasks(data_dir)):
            near = difflib.get_close_matches(task_name, known, n=1)
            meant = f" Did you mean {near[0]}?" if near else ""
            click.echo(f"Task {task_name!r} has not been launched here. Launch it under this name.{meant}", err=True)
        return url
    running, place = running_url(data_dir, task_name), invited_place()
    if running is None:
        problem = worded(__file__, "not_running", task_name=task_name, data_dir=data_dir, place=place)
        raise CommandError(problem, misspelt=misspelt(task_name, _launched_tasks(data_dir)))
    runs = stored_runs(data_dir, task_name)
    crowd = crowd_of(runs[0].provider if runs else "")
    if crowd.invitations(data_dir, task_name) is None:
        what = f"task {task_name!r} is launched with place={crowd.place}, whose raters need no invitation"
        raise CommandError(what, try_=f"launch it with place={place}")
    if not opens_elsewhere(running):
        click.echo(
            "These links work only on this machine. For links that work elsewhere, launch with hostname=0.0.0.0 (on your "
            "network) or public_url=https://… (anywhere).",
            err=True,
        )
    return running


def _launched_tasks(data_dir: Path) -> list[str]:
    from mephisto_tasks.storage.results import task_names

    return task_names(data_dir) if (data_dir / "database.db").exists() else []


def people_of(book: Invitations, names: str | None, class_name: str) -> list[Person]:
    """The people in the file of names; without a file, a class by its name. Raises DataError, UsageError."""
    from mephisto_tasks.crowds.crowd import Person

    if names is not None:
        return book.read_people(Path(names))
    group = Person(class_name.strip())
    if trouble := book.trouble_of(group):
        raise WrongUsage(f"--name {trouble}" if group.name else "--name is empty")
    return [group]
