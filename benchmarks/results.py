"""``benchmarks/RESULTS.md``: the figures of one run, the machine that they are of, and how to make them again."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.figures import Figure, number

FILE = Path(__file__).with_name("RESULTS.md")
NAMES = ("limits", "waits", "self_chat", "loading", "gpu")
"""The benchmarks of the file, in its order; together some six minutes on two quiet processors."""
BUSY = 0.5
"""Processes a processor that wanted to run before the first benchmark, beyond which the figures are marked."""


def document(
    figures: Mapping[str, Sequence[Figure]], skipped: Mapping[str, str], load: float, busy_after: float
) -> str:
    """The file. ``load``: processes that wanted a processor in the minute before the run; ``busy_after``: in its last."""
    parts = [
        "# Results",
        "`python -m benchmarks results` generated this file. A ratio above 1 is in our favor. Both sides were measured in "
        "the same run and took turns. The notes below each table explain its figures.",
        _machine(load, busy_after),
    ]
    for name in (name for name in NAMES if name in figures or name in skipped):
        parts.append(f"## {name}")
        parts += [f"Not measured: {skipped[name]}."] if name in skipped else _table(figures[name])
        parts.append(f"To measure again: `python -m benchmarks {name}`")
    return "\n\n".join(parts) + "\n"


def _machine(load: float, busy_after: float) -> str:
    processors = len(os.sched_getaffinity(0))
    words = f"Measured on: {device_name()}, with {processors} processors; Python {platform.python_version()}."
    words += (
        f" Processes waiting for a processor: {load:.1f} in the minute before, {busy_after:.1f} in the last minute."
    )
    if load > BUSY * processors:
        words += " **The machine was busy with other work, so these figures are only a first look.**"
    return words


def device_name() -> str:
    """What the system calls the processor, and the GPU where there is one."""
    import torch

    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "no GPU"
    return f"{names[0] if names else platform.processor() or platform.machine()}, {gpu}"


def _table(figures: Sequence[Figure]) -> list[str]:
    notes = list(dict.fromkeys(figure.note for figure in figures))
    rows = ["| figure | ours | peer | unit | ratio | note |", "| --- | ---: | ---: | --- | ---: | ---: |"]
    for figure in figures:
        ratio = "–" if figure.ratio is None else f"{figure.ratio:.2f}×"
        note = 1 + notes.index(figure.note)
        rows.append(
            f"| {figure.name} | {number(figure.ours)} | {number(figure.peer)} | {figure.unit} | {ratio} | {note} |"
        )
    return ["\n".join(rows), "\n".join(f"{place}. {note}." for place, note in enumerate(notes, start=1))]
