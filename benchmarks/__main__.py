"""``python -m benchmarks [NAMES]``: every figure beside the peer's."""

from __future__ import annotations

import json
import logging
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module

import click
from rich.console import Console
from rich.table import Table

from benchmarks import results
from benchmarks.figures import Figure, number
from benchmarks.processes import BenchmarkError, NothingToMeasure
from parlai_humaneval.cli.errors import CommandError

BENCHMARKS = {
    "bundle": ("benchmarks.bundle", "what a rater's browser loads"),
    "reading": ("benchmarks.reading", "reading 2,000 units back"),
    "pool": ("benchmarks.replies", "replies a second of the model pool"),
    "serving": ("benchmarks.serving", "replies a second by kind of model, at 1 to 32 conversations"),
    "self_chat": ("benchmarks.self_chat", "self-chats, many at once"),
    "engines": ("benchmarks.engines", "self-chats in one process and two, on one Ray node and two"),
    "limits": ("benchmarks.limits", "the pool beside the bare call of the model; one conversation beside ParlAI's way"),
    "waits": ("benchmarks.waits", "p50 and p99 of a reply at 32 conversations with replies of mixed lengths"),
    "loading": ("benchmarks.loading", "most memory that loading a model takes"),
    "capacity": ("benchmarks.capacity", "how many raters one launching process serves"),
    "gpu": ("benchmarks.gpu", "replies a second on a GPU, where there is one"),
    "latency": ("benchmarks.latency", "from a message to both replies"),
    "raters": ("benchmarks.raters", "20 raters at once: what is stored, their wait, the server's memory"),
    "load": (
        "benchmarks.load",
        "50 to 500 raters who come in the same second: what is stored, their wait, memory, threads",
    ),
    "floods": ("benchmarks.floods", "a rater's wait while somebody else sends all that they can"),
    "analysis": ("benchmarks.analysis_speed", "statistics beside packages and the obvious way"),
    "prediction_powered": (
        "benchmarks.prediction_powered",
        "intervals of people's answers on a part and a judge's on all (about ten minutes)",
    ),
    "report": ("benchmarks.report_speed", "a report of 10,000 dialogues"),
    "false_positives": ("benchmarks.false_positives", "differences found between equal models (about ten minutes)"),
    "plans": ("benchmarks.plans", "whether the report finds what plans promise (about twenty minutes)"),
    "sequential": (
        "benchmarks.sequential",
        "dialogues until the answer, beside fixed plans; false claims (ten minutes)",
    ),
    "startup": ("benchmarks.startup", "from a command to its answer, or to its first word"),
    "launch": ("benchmarks.launch", "from the launch command to a page that answers"),
}
"""Name → module with ``run(quick) -> list[Figure]``, and one line on it."""

RESULTS = "results"
"""Measures what stands in ``benchmarks/RESULTS.md`` and writes that file."""

EPILOG = (
    """\b
Benchmarks:
"""
    + "\n".join(f"  {name:15s} {line}" for name, (_, line) in BENCHMARKS.items())
    + f"""
  {RESULTS:15s} what stands in benchmarks/RESULTS.md, and writes it (some seven minutes)

\b
Examples:
  python -m benchmarks
  python -m benchmarks bundle reading
  python -m benchmarks latency --json > latency.json
  python -m benchmarks --quick
  python -m benchmarks results
"""
)


def load(name: str) -> Callable[[bool], list[Figure]]:
    """The ``run`` of a benchmark."""
    run: Callable[[bool], list[Figure]] = import_module(BENCHMARKS[name][0]).run
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
    """Measure speed beside ParlAI's and Mephisto's own way, in the same run.

    A ratio above 1 is in our favour; a benchmark that fails is an error.
    Everything takes about half an hour; launch needs npm and its registry.
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
    skipped: dict[str, str] = {}
    failed: dict[str, str] = {}
    before = machine()
    asked = [each for name in names for each in (results.NAMES if name == RESULTS else (name,))]
    for name in dict.fromkeys(asked) or BENCHMARKS:
        with status.status(f"{name}: {BENCHMARKS[name][1]}"):
            try:
                figures[name] = load(name)(quick)
            except NothingToMeasure as lack:
                skipped[name] = str(lack)
                status.print(f"{name}: {lack}", highlight=False, soft_wrap=True)
            except BenchmarkError as error:  # no figure rests on what did not work
                failed[name] = f"it failed: {error}"
    measurements = [figure for each in figures.values() for figure in each]
    if RESULTS in names and not quick:
        text = results.document(figures, skipped | failed, float(str(before["load"])), os.getloadavg()[0])
        results.FILE.write_text(text, encoding="utf-8")
        status.print(f"{results.FILE} was written", highlight=False)
    if failed:
        raise CommandError("; ".join(f"{name}: {reason}" for name, reason in failed.items()))
    if as_json:
        shown = {"machine": before, "quick": quick, "figures": [figure.model_dump() for figure in measurements]}
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
