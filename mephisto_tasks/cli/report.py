"""``parlai-humaneval report``, ``view`` and ``export``: the better model, the dialogues, the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from mephisto_tasks._util.gc import collector_off
from mephisto_tasks.cli.options import DATA_DIR_GIVEN, READING, described, waiting_for
from mephisto_tasks.storage.locks import image_store, study_folder
from parlai_humaneval._util.terminal import say_json
from parlai_humaneval.cli.errors import CommandError, WrongUsage
from parlai_humaneval.i18n.translate import worded
from parlai_humaneval.statistics.core.formatting import counted

if TYPE_CHECKING:
    from parlai_humaneval.report.document import TaskFacts
    from parlai_humaneval.schema.records import Rated
    from parlai_humaneval.tables.columns import Repeats, Tables


OF_PAPER = "paper"  # Value of ``--exclude`` for the checks that the technique's own paper uses

Scope = Literal["worker", "dialogue"]


@described("report")
def report(
    tasks: tuple[str, ...],
    tables_dir: str | None,
    out: str | None,
    leaderboard: str | None,
    blind_names: bool,
    title: str | None,
    full: bool,
    force: bool,
    data_dir: Path,
    as_json: bool,
    repeats: Repeats | None,
    include_partial: bool,
    seed: int,
    draws: int,
    exclude: str | None,
    exclude_scope: Scope,
    onboarding: float,
    reuse: int | None,
    everywhere: bool,
    judge: str | None,
    by: tuple[str, ...],
) -> None:
    folder = None if tables_dir is None else Path(tables_dir).expanduser()
    page = None if out is None else Path(out).expanduser()
    if blind_names and leaderboard is None:
        raise CommandError("--blind-names is for a leaderboard", try_="add its page: --leaderboard FILE")
    board = None if leaderboard is None else Path(leaderboard).expanduser()
    if page is not None and board is not None and page.absolute() == board.absolute():
        raise CommandError(f"--out and --leaderboard both name {page}", try_="name another page for one of them")
    if folder is None and not tasks:
        for option, value in (("--out", out), ("--leaderboard", leaderboard)):
            if value is not None:
                raise CommandError(f"{option} needs answers", try_="name a task (--task-name) or tables (--tables)")
        list_tasks(data_dir, as_json)
        return
    if folder is not None:
        _only_tables(folder, tasks, exclude, exclude_scope, everywhere)
    for task in tasks:  # none where there are tables
        from mephisto_tasks.storage.results import check_task

        check_task(data_dir, task)
    with waiting_for("Loading the statistics…", on_screens_only=True), collector_off():
        from mephisto_tasks.cli.report_documents import Wanted
        from mephisto_tasks.storage.logs import note_written
        from parlai_humaneval.report.build import default_title, tables_of
        from parlai_humaneval.report.section import Options
    wanted = Wanted(
        page=page,
        leaderboard=board,
        blind_in=(folder or study_folder(data_dir, "\n".join(tasks))) if blind_names else None,
        as_json=as_json,
        options=Options(
            seed=seed,
            draws=draws,
            include_partial=include_partial,
            onboarding_seconds=onboarding,
            reuse=reuse,
            judge=judge or "",
            by=by,
        ),
        full=full,
        title=title,
    )
    if folder is not None:
        wanted.check(force, folder)
        with wanted.progress("Reading tables"):
            tables = tables_of(folder, repeats)
        wanted.report(tables, default_title(tables))
        return
    wanted.check(force)
    if everywhere and exclude_scope == "dialogue":
        raise CommandError("--everywhere excludes raters, so it cannot be combined with --exclude-scope dialogue")
    with waiting_for(READING, on_screens_only=True):
        tables, known = answers_of(
            data_dir,
            tasks,
            exclude=exclude if exclude is not None or not everywhere else OF_PAPER,
            scope=exclude_scope,
            everywhere=everywhere,
            repeats=repeats,
        )
    note = partial(note_written, data_dir, known.tasks)
    wanted.report(tables, ", ".join(known.tasks), known, note)


def _only_tables(
    folder: Path, tasks: tuple[str, ...], exclude: str | None, exclude_scope: Scope, everywhere: bool
) -> None:
    """Refuse, before the statistics load, options that tables do not go with, and a folder that cannot be read."""
    given = {
        "--task-name": bool(tasks),
        "--data-dir": click.get_current_context().meta[DATA_DIR_GIVEN],
        "--exclude": exclude is not None,
        "--exclude-scope": exclude_scope != "worker",
        "--everywhere": everywhere,
    }
    names = [name for name, is_given in given.items() if is_given]
    if names:
        raise CommandError(worded(__file__, "of_tables", names=", ".join(names)))
    if not folder.is_dir():
        what = "is a file, not a folder of tables" if folder.exists() else "does not exist"
        advice = "name the folder that holds turns.csv, comparisons.csv, ratings.csv …"
        raise CommandError(f"{folder} {what}", try_=advice)


def answers_of(
    data_dir: Path,
    task_name: str | Sequence[str],
    *,
    exclude: str | None = None,
    scope: Scope = "worker",
    everywhere: bool = False,
    repeats: Repeats | None = None,
) -> tuple[Tables, TaskFacts]:
    """The tidy tables of tasks, without what quality checks leave out (None: nobody), and what only the database knows
    of them. Raises ResultsError, TableError, CheckError."""
    from mephisto_tasks.cli.report_documents import leave_out, wanted_checks
    from mephisto_tasks.storage.results import practice_count, read_records, technique_of
    from parlai_humaneval.report.document import TaskFacts

    names = [task_name] if isinstance(task_name, str) else list(dict.fromkeys(task_name))
    checks = None if exclude is None else wanted_checks(exclude, OF_PAPER)
    records: list[Rated] = [record for name in names for record in read_records(data_dir, name)]
    technique = records[0].technique if records else technique_of(data_dir, names[0])
    excluded = None
    if exclude is not None:
        records, excluded = leave_out(data_dir, names, records, checks, scope, everywhere)
    known = TaskFacts(tasks=names, technique=technique, practice=practice_count(data_dir, names), excluded=excluded)
    return pseudonymous(records, data_dir, names, repeats)[0], known


def list_tasks(data_dir: Path, as_json: bool) -> None:
    from mephisto_tasks.storage.results import task_names

    names = task_names(data_dir)
    if as_json:
        say_json({"tasks": names}, indent=None)
        return
    click.echo("Name one of these tasks with --task-name:" if names else f"There is no task in {data_dir} yet.")
    for name in names:
        click.echo(f"  {name}")


@described("view")
def view(
    sources: tuple[str, ...],
    out: str,
    title: str | None,
    repeats: Repeats | None,
    with_images: bool,
    force: bool,
    open_it: bool,
    data_dir: Path,
    as_json: bool,
) -> None:
    folder = Path(out).expanduser()
    tables_at = [path for one in sources if (path := Path(one).expanduser()).exists()]
    if tables_at and len(sources) > 1:
        raise CommandError("the viewer shows one folder of tables, or several tasks", try_=f"view {tables_at[0]} alone")
    with waiting_for("Loading the statistics…", on_screens_only=True), collector_off():
        from mephisto_tasks.storage.logs import note_written
        from mephisto_tasks.storage.results import ResultsError, check_task
        from parlai_humaneval.display.images import SUFFIX
        from parlai_humaneval.report.build import default_title, tables_of
        from parlai_humaneval.tables.filters import rater_kinds
        from parlai_humaneval.viewer.entries import entries
        from parlai_humaneval.viewer.write import check_folder, viewer_files, write_viewer
    tasks = [] if tables_at else list(dict.fromkeys(sources))
    for task in tasks:
        try:
            check_task(data_dir, task)
        except ResultsError as error:
            what = f"the folder {task} does not exist, and {error.what}"
            raise CommandError(what, try_=error.try_, misspelt=error.problems[0].misspelt) from error
    check_folder(folder, force=force)
    with waiting_for(READING, on_screens_only=True), collector_off():
        tables = tables_of(tables_at[0], repeats) if tables_at else answers_of(data_dir, tasks, repeats=repeats)[0]
        named = title or ", ".join(tasks) or default_title(tables)
        stores = [image_store(data_dir, task) for task in tasks if with_images]
        pictures = {one.stem: one.read_bytes() for store in stores for one in store.folder.glob(f"*{SUFFIX}")}
        every = entries(tables, pictures)
        files = viewer_files(every, title=named, note=rater_kinds(tables).note, pictures=pictures)
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
    from parlai_humaneval.tables.filters import rater_kinds
    from parlai_humaneval.viewer.entries import entries
    from parlai_humaneval.viewer.write import viewer_files

    tables, _ = answers_of(data_dir, task_name, repeats="keep")
    return viewer_files(entries(tables), title=task_name, note=rater_kinds(tables).note)


@described("export")
def export(
    tasks: tuple[str, ...],
    out: str,
    file_format: str,
    force: bool,
    for_release: bool,
    review: str | None,
    dates: str,
    only_who_agreed: bool,
    without_consent_text: str,
    licence: str,
    with_viewer: bool,
    with_images: bool,
    regions: tuple[str, ...],
    data_dir: Path,
    as_json: bool,
) -> None:
    if for_release:
        from mephisto_tasks.cli.privacy import tell_release

        folder = Path(out).expanduser()
        with waiting_for("Reading the answers and anonymizing them…", on_screens_only=True):
            from mephisto_tasks.privacy import release as making
            from mephisto_tasks.storage.logs import note_written

            wanted = making.Wanted(
                tasks=tuple(dict.fromkeys(tasks)),
                folder=folder,
                review=Path(review).expanduser() if review else folder.with_name(f"{folder.name}-to-review.csv"),
                file_format="jsonl" if file_format == "jsonl" else "csv",
                coarse="week" if dates == "week" else "day",
                only_who_agreed=only_who_agreed,
                without_text=without_consent_text,
                regions=tuple(code.upper() for code in regions),
                licence=licence,
                with_viewer=with_viewer,
                with_images=with_images,
                force=force,
            )
            released = making.release(data_dir, wanted)
            note_written(data_dir, wanted.tasks, "release", released.files)
            note_written(data_dir, wanted.tasks, "report", [] if released.review is None else [released.review])
        tell_release(released, folder, licence, as_json)
        return
    if review or only_who_agreed or without_consent_text or licence or with_viewer or with_images:
        what = "--review, --only-who-agreed, --without-consent-text, --license, --viewer and --images need --release"
        raise WrongUsage(what)
    with waiting_for("Reading the answers and writing the tables…", on_screens_only=True):
        from mephisto_tasks.storage.logs import note_written
        from mephisto_tasks.storage.results import read_records
        from parlai_humaneval.schema.records import JudgementRecord
        from parlai_humaneval.tables.files import check_free, save_tables

        folder = Path(out).expanduser()
        check_free(folder, force=force)
        chosen = list(dict.fromkeys(tasks))
        records = [record for task in chosen for record in read_records(data_dir, task)]
        judged = sum(isinstance(record, JudgementRecord) for record in records)
        clean, changed = pseudonymous(records, data_dir, chosen)
        written = save_tables(clean, folder, "jsonl" if file_format == "jsonl" else "csv", force=force)
        note_written(data_dir, chosen, "table", written)
    live = len(records) - judged
    workers = len({record.worker for record in records})
    if as_json:
        files = [str(path) for path in written]
        facts = {"tasks": chosen, "dialogues": live, "judgements": judged, "workers": workers}
        say_json({**facts, "texts_with_names": changed, "files": files}, indent=None)
        return
    parts = [counted(judged, "judgement")] * bool(judged) + [counted(live, "dialogue")] * bool(live or not judged)
    click.echo(f"{', '.join(parts)} → " + ", ".join(str(path) for path in written))
    if changed:
        click.echo(f"Raters' IDs were replaced with pseudonyms in {counted(changed, 'text')}.")


def pseudonymous(
    records: Sequence[Rated], data_dir: Path, tasks: Sequence[str], repeats: Repeats | None = None
) -> tuple[Tables, int]:
    """Tidy tables of ``records``, all of ``tasks``, with judges and logs, without names; texts in which names stood."""
    from mephisto_tasks.storage.logs import JUDGE_ANSWERS, stopping_logs
    from mephisto_tasks.storage.results import PSEUDONYM_KEY, stored_agents
    from parlai_humaneval.importers.readers import without_names
    from parlai_humaneval.schema.pseudonyms import Pseudonymizer
    from parlai_humaneval.tables.build import judge_tables, tables

    judges = judge_tables(records, [line for task in tasks for line in JUDGE_ANSWERS.read(data_dir, task)])
    whole = replace(tables(records, repeats=repeats), judges=judges, stopping=stopping_logs(data_dir, tasks))
    names = {agent.worker_name for task in tasks for agent in stored_agents(data_dir, task)}
    made = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY)
    return without_names(whole, {name: made.worker(name) for name in names})
