"""``python -m storm``: a storm from the command line; exit status 1 when a check fails."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import click
from browser_tests.chromium import find_chromium

from storm.storming import own_environment, storm

EPILOG = """\b
Examples:
  make storm
  make storm ARGS="--seconds 60 --seed 7"
  make storm ARGS="--seconds 60 --seed 1 --seed 2 --seed 3 --markdown storms.md"
"""


@click.command(epilog=EPILOG)
@click.option("--seconds", default=600.0, show_default=True, help="How long raters come, and faults happen.")
@click.option(
    "--seed", "seeds", type=int, multiple=True, help="Draws the plan; several: a storm each. Default: random."
)
@click.option("--raters", default=9, show_default=True, help="At a time.")
@click.option("--browser/--no-browser", default=True, show_default=True, help="Have a real Chromium among the raters.")
@click.option("--markdown", type=click.Path(dir_okay=True), help="Write the tables here.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--logs", type=click.Path(dir_okay=True), help="Folder for the launches' logs and all workers' histories."
)
def main(
    seconds: float,
    seeds: tuple[int, ...],
    raters: int,
    browser: bool,
    markdown: str | None,
    as_json: bool,
    logs: str | None,
) -> None:
    """Launch studies, have raters work in them, break what can break, and check what must hold.

    The plan of faults and all that raters choose is drawn from the seed; which of the two is quicker at a given moment
    is not, so that a second run with one seed is alike and not the same.
    """
    own_environment()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: nothing stays mounted or running
    reports = []
    for seed in seeds or (random.SystemRandom().randrange(10**6),):
        began = time.monotonic()

        def say(line: str, began: float = began) -> None:
            click.echo(f"{time.monotonic() - began:6.1f} s  {line}", err=True)

        click.echo(f"storm of {seconds:g} s, seed {seed}", err=True)
        with tempfile.TemporaryDirectory(prefix="storm-") as folder:
            work = storm(
                seed,
                seconds,
                raters,
                Path(folder),
                say,
                logs=Path(logs) if logs else None,
                chromium=find_chromium() if browser else None,
            )
            reports.append(asyncio.run(work))
    text = "\n".join(report.markdown() for report in reports)
    if markdown is not None:
        Path(markdown).write_text(text, encoding="utf-8")
    click.echo(json.dumps([report.as_json() for report in reports], indent=2) if as_json else text)
    for report in reports:  # last: of a log, the end is what people read
        click.echo(report.failures(), err=True)
    sys.exit(0 if all(report.passed for report in reports) else 1)


if __name__ == "__main__":
    main()
