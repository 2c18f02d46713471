"""``parlai-humaneval doctor``: what is wrong with this installation, and how to mend it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click
from rich.markup import escape

from mephisto_tasks.cli.options import clear_errors, console, data_dir_of, data_dir_option, json_option, waiting_for
from parlai_humaneval._util.terminal import say_json
from parlai_humaneval.cli.errors import WrongUsage

if TYPE_CHECKING:
    from mephisto_tasks.cli.doctor_checks import Finding, Status
    from mephisto_tasks.launch.hosting import Server
    from parlai_humaneval.models.check import Checked

EPILOG = """\b
Examples:
  parlai-humaneval doctor
  parlai-humaneval doctor --models
  parlai-humaneval doctor --load eliza,retrieval
  parlai-humaneval doctor --server ec2 --profile my_lab
  parlai-humaneval doctor --repair
  parlai-humaneval doctor --json
"""

PROVIDER = "Provider "
"""Begins what findings on crowds are called."""
LINES = (
    ("Python", ("Python", "Packages")),
    ("Rater's page", ("Rater's page",)),
    ("Port", ("Port",)),
    ("Data directory", ("Data directory",)),
    ("Statuses", ("Statuses",)),
    ("Raters", (PROVIDER,)),
    ("Models", ("Models",)),
)
"""What is told of what is right, and which of it stands together on a line."""
UNTOLD = ("Plain parlai", "Mephisto", "Node.js", "Privacy")
"""Has a line only where it is not right."""
MARKS = {"ok": "[green]ok[/green]", "warning": "[yellow]look[/yellow]", "error": "[red]wrong[/red]"}


@click.command(epilog=EPILOG)
@data_dir_option
@click.option("--host", default="127.0.0.1", show_default=True, help="Address that a launch would listen on.")
@click.option("--port", type=click.IntRange(1, 65535), default=3000, show_default=True, help="Port to look at.")
@click.option("--models", "with_models", is_flag=True, help="Tell the state of every model, as `models check --all`.")
@click.option("--load", "load", metavar="MODELS", help="Load these models (comma between them, or `all`) and ask each.")
@click.option("--server", type=click.Choice(["heroku", "ec2"]), help="Look also at what server=… of a launch needs.")
@click.option("--profile", default="", help="With --server ec2: the profile in ~/.aws/credentials.")
@click.option(
    "--repair",
    is_flag=True,
    help="Have Mephisto's statuses say what the records say, where a launch was killed between the two.",
)
@json_option
def doctor(
    data_dir: str | None,
    host: str,
    port: int,
    with_models: bool,
    load: str | None,
    server: Server | None,
    profile: str,
    repair: bool,
    as_json: bool,
) -> None:
    """Check Python, packages, the rater's page, port, data directory, statuses, providers and models.

    A few lines say what is right; what is wrong has a line of its own that says how to mend it, and the last line is the
    verdict. Exit code 1 when something is wrong.
    """
    if profile and server != "ec2":
        raise WrongUsage("--profile is of --server ec2", try_="add that, or leave --profile out")
    from mephisto_tasks.cli import doctor_checks as health

    directory = data_dir_of(data_dir)
    checked: list[Checked] | None = None
    with clear_errors():
        wanted = health.named_models([name.strip() for name in load.split(",") if name.strip()]) if load else []
        with waiting_for("Looking at this installation…"):
            findings = health.examine(directory, host, port)
            of_statuses, statuses = health.statuses(directory, repair=repair)
            findings += of_statuses
            findings += health.server(server, profile) if server else []
        if with_models:
            with waiting_for("Looking what every model lacks…"):
                checked = health.check_models()
            findings.append(health.other_models(checked))
        for spec in wanted:
            with waiting_for(f"Loading {spec.name}…"):
                findings.append(health.load_model(spec))
    wrong = [finding for finding in findings if finding.status == "error"]
    if as_json:
        said = {"ok": not wrong, "verdict": closing_sentence(findings), "findings": [asdict(each) for each in findings]}
        told = {"statuses": None if statuses is None else statuses.model_dump()}
        say_json({**said, **told, "models": None if checked is None else [one.as_json() for one in checked]})
    else:
        _print(findings, checked)
    sys.exit(1 if wrong else 0)


def _print(findings: Sequence[Finding], checked: Sequence[Checked] | None) -> None:
    from rich.table import Table

    from parlai_humaneval.cli.model_options import table_console
    from parlai_humaneval.cli.models import table_of

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for _ in range(3):
        table.add_column(overflow="fold")  # an address that is cut off helps nobody
    for name, status, text in lines(findings):
        table.add_row(MARKS[status], f"[bold]{name}[/bold]", escape(text))
    console().print(table)
    if checked is not None:
        click.echo()
        table_console().print(table_of(checked))
    click.echo(f"\n{closing_sentence(findings)}")


def lines(findings: Sequence[Finding]) -> list[tuple[str, Status, str]]:
    """What is printed: name, status and text; what is right stands together, and each finding that is not by itself."""
    of_line = {what: name for name, whats in LINES for what in whats}
    of_line |= {finding.what: of_line[PROVIDER] for finding in findings if finding.what.startswith(PROVIDER)}
    told: dict[str, list[str]] = {name: [] for name, _ in LINES}
    others = []
    for finding in findings:
        if finding.status == "ok" and finding.what in of_line:
            told[of_line[finding.what]].append(finding.found)
        elif finding.status != "ok" or finding.what not in UNTOLD:
            others.append(
                (finding.what, finding.status, finding.found + (f"\n→ {finding.mend}" if finding.mend else ""))
            )
    return [*((name, "ok", "; ".join(texts)) for name, texts in told.items() if texts), *others]


def closing_sentence(findings: Sequence[Finding]) -> str:
    """What is to be done, if anything is."""
    wrong = list(dict.fromkeys(finding.what for finding in findings if finding.status == "error"))
    if wrong:
        return f"To be mended, as the lines marked “wrong” say: {', '.join(wrong)}."
    if any(finding.status == "warning" for finding in findings):
        return "All is right; lines marked “look” matter only if you want what they name."
    return "All is right. To see it at work: parlai-humaneval demo"
