"""``parlai-humaneval view``: every dialogue of a study with its answers, in a folder that a browser opens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mephisto_tasks._util.gc import collector_off
from mephisto_tasks.cli.options import READING, described, waiting_for
from parlai_humaneval._util.terminal import say_json
from parlai_humaneval.cli.errors import CommandError

if TYPE_CHECKING:
    from parlai_humaneval.tables.columns import Repeats


@described("view")
def view(
    sources: tuple[str, ...],
    out: str,
    title: str | None,
    repeats: Repeats | None,
    force: bool,
    open_it: bool,
    data_dir: Path,
    as_json: bool,
) -> None:
    folder = Path(out).expanduser()
    tables_at = [path for one in sources if (path := Path(one).expanduser()).exists()]
    if tables_at and len(sources) > 1:
        raise CommandError("one folder of tables can be viewed, or several tasks", try_=f"view {tables_at[0]} alone")
    with waiting_for("Loading the statistics…", on_screens_only=True), collector_off():
        from mephisto_tasks.storage.logs import note_written
        from parlai_humaneval.report.build import default_title, tables_of
        from parlai_humaneval.tables.filters import rater_kinds
        from parlai_humaneval.viewer.entries import entries
        from parlai_humaneval.viewer.write import check_folder, viewer_files, write_viewer
    check_folder(folder, force=force)
    tasks = [] if tables_at else list(dict.fromkeys(sources))
    with waiting_for(READING, on_screens_only=True), collector_off():
        if tables_at:
            tables = tables_of(tables_at[0], repeats)
        else:
            from mephisto_tasks.cli.report import answers_of

            tables = answers_of(data_dir, tasks, repeats=repeats)[0]
        named = title or ", ".join(tasks) or default_title(tables)
        every = entries(tables)
        files = viewer_files(every, title=named, note=rater_kinds(tables).note)
        written = write_viewer(files, folder, force=force)
        note_written(data_dir, tasks, "report", written if tasks else [])
    page = written[0]
    if as_json:
        say_json({"page": str(page), "entries": len(every), "files": [str(path) for path in written]})
    else:
        click.echo(f"{len(every):,} {'entry' if len(every) == 1 else 'entries'} → {page}")
    if open_it:
        click.launch(page.absolute().as_uri())


def viewer_of_task(data_dir: Path, task_name: str) -> Iterator[tuple[str, bytes]]:
    """The files of the viewer of a task as it stands. Raises ViewerMissing, ResultsError, TableError."""
    from mephisto_tasks.cli.report import answers_of
    from parlai_humaneval.tables.filters import rater_kinds
    from parlai_humaneval.viewer.entries import entries
    from parlai_humaneval.viewer.write import viewer_files

    tables, _ = answers_of(data_dir, task_name, repeats="keep")
    return viewer_files(entries(tables), title=task_name, note=rater_kinds(tables).note)
