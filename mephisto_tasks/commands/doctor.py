"""``parlai-humaneval doctor``: what is wrong with this installation, and how to mend it."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from mephisto_tasks.commands.options import (
    clear_errors,
    console,
    data_dir_of,
    data_dir_option,
    json_option,
    waiting_for,
)

if TYPE_CHECKING:
    from mephisto_tasks.study.health import Finding
    from mephisto_tasks.study.hosting import Server

EPILOG = """\b
Examples:
  parlai-humaneval doctor
  parlai-humaneval doctor --load eliza,retrieval
  parlai-humaneval doctor --server ec2 --profile my_lab
  parlai-humaneval doctor --json
"""

MARKS = {"ok": "[green]ok[/green]", "warning": "[yellow]look[/yellow]", "error": "[red]wrong[/red]"}


@click.command(epilog=EPILOG)
@data_dir_option
@click.option("--host", default="127.0.0.1", show_default=True, help="Address that a launch would listen on.")
@click.option("--port", type=click.IntRange(1, 65535), default=3000, show_default=True, help="Port to look at.")
@click.option("--load", "load", metavar="MODELS", help="Load these models (comma between them, or `all`) and ask each.")
@click.option("--server", type=click.Choice(["heroku", "ec2"]), help="Look also at what server=… of a launch needs.")
@click.option("--profile", default="", help="With --server ec2: the profile in ~/.aws/credentials.")
@json_option
def doctor(
    data_dir: str | None,
    host: str,
    port: int,
    load: str | None,
    server: Server | None,
    profile: str,
    as_json: bool,
) -> None:
    """Check Python, packages, the rater's page, port, data directory, providers and models.

    Exit code 1 when something is wrong.
    """
    from mephisto_tasks.study import health

    with clear_errors():
        with waiting_for("Looking at this installation…"):
            findings = health.examine(data_dir_of(data_dir), host, port)
            findings += health.server(server, profile) if server else []
        if load:
            with waiting_for("Loading the models that you name…"):
                findings += health.load_models([name.strip() for name in load.split(",") if name.strip()])
    wrong = [finding for finding in findings if finding.status == "error"]
    if as_json:
        click.echo(json.dumps({"ok": not wrong, "findings": [asdict(finding) for finding in findings]}, indent=2))
    else:
        _print(findings)
    sys.exit(1 if wrong else 0)


def _print(findings: list[Finding]) -> None:
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for _ in range(3):
        table.add_column(overflow="fold")  # an address that is cut off helps nobody
    for finding in findings:
        text = finding.found + (f"\n[dim]→ {finding.mend}[/dim]" if finding.mend else "")
        table.add_row(MARKS[finding.status], f"[bold]{finding.what}[/bold]", text)
    console().print(table)
    click.echo(f"\n{closing_sentence(findings)}")


def closing_sentence(findings: list[Finding]) -> str:
    """What is to be done, if anything is."""
    wrong = list(dict.fromkeys(finding.what for finding in findings if finding.status == "error"))
    if wrong:
        return f"To be mended, as the lines marked “wrong” say: {', '.join(wrong)}."
    if any(finding.status == "warning" for finding in findings):
        return "All is right; lines marked “look” matter only if you want what they name."
    return "All is right."
