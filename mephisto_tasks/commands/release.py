"""``parlai-humaneval export --release``: what is said of a release, in the terminal and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mephisto_tasks.commands.options import clear_errors, waiting_for
from parlai_humaneval.plain_output import say_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from mephisto_tasks.releasing.anonymous import Coarse
    from mephisto_tasks.releasing.making import Released


def release(
    data_dir: Path,
    as_json: bool,
    *,
    tasks: Sequence[str],
    folder: Path,
    review: Path,
    file_format: Literal["csv", "jsonl"],
    coarse: Coarse,
    only_who_agreed: bool,
    without_text: str,
    regions: Sequence[str],
    licence: str,
    force: bool,
) -> None:
    """Write a release, and say what is in it and what is still to be done by a person."""
    with clear_errors(), waiting_for("Reading the answers, and making them anonymous…", on_screens_only=True):
        from mephisto_tasks.releasing import making
        from mephisto_tasks.stored.written_files import note_written

        wanted = making.Wanted(
            tasks=tasks,
            folder=folder,
            review=review,
            file_format=file_format,
            coarse=coarse,
            only_who_agreed=only_who_agreed,
            without_text=without_text,
            regions=regions,
            licence=licence,
            force=force,
        )
        released = making.release(data_dir, wanted)
        note_written(data_dir, tasks, "release", released.files)
        note_written(data_dir, tasks, "report", [] if released.review is None else [released.review])
    if as_json:
        facts = released.card.model_dump(mode="json", include={"name", "counts", "marks", "left_out"})
        files = [str(path) for path in released.files]
        say_json({**facts, "files": files, "review": released.review and str(released.review)}, indent=None)
    else:
        _print(released, folder, licence)


def _counted(number: int, name: str) -> str:
    """“1 person”, “2 people”."""
    return f"1 {'person' if name == 'people' else name.removesuffix('s')}" if number == 1 else f"{number:,} {name}"


def _print(released: Released, folder: Path, licence: str) -> None:
    counts = ", ".join(_counted(number, name) for name, number in released.card.counts.items() if number)
    click.echo(f"{counts} → {folder}")
    for words in released.card.left_out:
        click.echo(f"Left out: {words}")
    if released.review is None:
        click.echo("Nothing was found in texts that tells who somebody is.")
    else:
        marks = ", ".join(f"{number:,} × {mark}" for mark, number in released.card.marks.items())
        click.echo(f"Replaced in texts: {marks}. What stood there → {released.review} (do not publish it)")
    click.echo(
        "Before you publish, read the texts: a program does not find every name. Workers have other names in every "
        "release." + ("" if licence else " Nobody may use data without a licence: name one with --license.")
    )
