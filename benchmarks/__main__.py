"""``python -m benchmarks [NAMES]``: every figure beside the peer's."""

from __future__ import annotations

import ast
import json
import logging
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from benchmarks import results
from benchmarks.figures import Figure, number
from benchmarks.processes import BenchmarkError, NothingToMeasure
from parlai_humaneval.cli.errors import CommandError

HERE = Path(__file__).parent
RESULTS = "results"
"""Measures what ``benchmarks/RESULTS.md`` holds and writes that file."""


def benchmarks() -> dict[str, str]:
    """Name → what it measures, of every module of this folder with a ``run(quick) -> list[Figure]``."""
    found = {}
    for path in sorted([*HERE.glob("*.py"), *HERE.glob("*/__init__.py")]):
        module = ast.parse(path.read_text(encoding="utf-8"))
        if any(isinstance(each, ast.FunctionDef) and each.name == "run" for each in module.body):
            name = path.parent.name if path.stem == "__init__" else path.stem
            found[name] = (ast.get_docstring(module) or "").partition("\n")[0]
    return found


BENCHMARKS = benchmarks()
EPILOG = (
    """\b
Benchmarks:
"""
    + "\n".join(f"  {name:19s} {line}" for name, line in BENCHMARKS.items())
    + f"""
  {RESULTS:19s} Write benchmarks/RESULTS.md anew (some seven minutes).

\b
Examples:
  python -m benchmarks
  python -m benchmarks bundle reading
  python -m benchmarks load --json > load.json
  python -m benchmarks --quick
  python -m benchmarks results
"""
)


def load(name: str) -> Callable[[bool], list[Figure]]:
    """The ``run`` of a benchmark."""
    run: Callable[[bool], list[Figure]] = import_module(f"benchmarks.{name}").run
    return run


def machine() -> dict[str, object]:
    """What the figures were measured on; ``load`` are the processes that wanted a processor in the last minute."""
    return {
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
    }


@click.command(epilog=EPILOG)
@click.argument("names", nargs=-1, type=click.Choice([*BENCHMARKS, RESULTS]), metavar="[NAMES]...")
@click.option("--quick", is_flag=True, help="Tiny sizes, to see that all of it runs. Not figures to report.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs instead of a table.")
def main(names: tuple[str, ...], quick: bool, as_json: bool) -> None:
    """Measure speed next to ParlAI's and Mephisto's own way, in the same run.

    A ratio above 1 is in our favor; a benchmark that fails is an error.
    Everything takes over an hour; launch and load need npm and its registry.
    """
    with errors_alone():
        measure(names, quick, as_json)


@contextmanager
def errors_alone() -> Iterator[None]:
    """Warnings are not logged within: a bar that moves and a peer's own lines would stand in each other."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)


def measure(names: tuple[str, ...], quick: bool, as_json: bool) -> None:
    """Run the benchmarks of these names, or all, and show what they measured; raises :class:`click.ClickException`."""
    status = Console(stderr=True)
    figures: dict[str, list[Figure]] = {}
    skipped: dict[str, NothingToMeasure] = {}
    failed: dict[str, str] = {}
    before = machine()
    asked = [each for name in names for each in (results.NAMES if name == RESULTS else (name,))]
    for name in dict.fromkeys(asked) or BENCHMARKS:
        with status.status(f"{name}: {BENCHMARKS[name]}"):
            try:
                figures[name] = load(name)(quick)
            except NothingToMeasure as lack:
                skipped[name] = lack
                status.print(f"{name}: {lack}", highlight=False, soft_wrap=True)
            except BenchmarkError as error:  # no figure rests on what did not work
                failed[name] = f"it failed: {error}"
    measurements = [figure for each in figures.values() for figure in each]
    if RESULTS in names and not quick:
        reasons = {name: str(lack) for name, lack in skipped.items()} | failed
        text = results.document(figures, reasons, float(str(before["load"])), os.getloadavg()[0])
        results.FILE.write_text(text, encoding="utf-8")
        status.print(f"{results.FILE} was written", highlight=False)
    if failed:
        raise CommandError("; ".join(f"{name}: {reason}" for name, reason in failed.items()))
    if as_json:
        shown = {
            "machine": before,
            "quick": quick,
            "figures": [figure.model_dump() for figure in measurements],
            "not_measured": {name: {"need": lack.need, "reason": str(lack)} for name, lack in skipped.items()},
        }
        click.echo(json.dumps(shown, indent=2, ensure_ascii=False))
    elif measurements:
        show(measurements, Console())


def show(figures: list[Figure], console: Console) -> None:
    """The table, and below it what the peers are."""
    notes = list(dict.fromkeys(figure.note for figure in figures))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("figure", "ours", "peer", "unit", "ratio", "note"):
        table.add_column(column, justify="right" if column in ("ours", "peer", "ratio") else "left")
    for figure in figures:
        table.add_row(
            figure.name,
            number(figure.ours),
            number(figure.peer) + (" (quoted)" if figure.peer_source == "quoted" else ""),
            figure.unit,
            "–" if figure.ratio is None else f"{figure.ratio:.1f}×",
            str(1 + notes.index(figure.note)),
        )
    console.print(table)
    for index, note in enumerate(notes, start=1):
        console.print(f"{index}  {note}", style="dim", highlight=False)


if __name__ == "__main__":
    main()
