"""``parlai-humaneval export``: the answers as tidy tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mephisto_tasks.cli.options import described, waiting_for
from parlai_humaneval._util.terminal import say_json
from parlai_humaneval.cli.errors import WrongUsage
from parlai_humaneval.statistics.core.formatting import counted

if TYPE_CHECKING:
    from parlai_humaneval.schema.records import Rated
    from parlai_humaneval.tables.columns import Repeats, Tables


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
        raise WrongUsage(
            "--review, --only-who-agreed, --without-consent-text, --license, --viewer and --images need --release"
        )
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
        click.echo(f"Raters' own IDs in {counted(changed, 'text')} were replaced by their pseudonyms.")


def pseudonymous(
    records: Sequence[Rated], data_dir: Path, tasks: Sequence[str], repeats: Repeats | None = None
) -> tuple[Tables, int]:
    """Tidy tables of ``records``, all of ``tasks``, with judges and logs, without names; texts in which names stood."""
    from mephisto_tasks.storage.logs import JUDGE_ANSWERS, stopping_logs
    from mephisto_tasks.storage.results import PSEUDONYM_KEY, stored_agents
    from parlai_humaneval.importers.worker_names import without_names
    from parlai_humaneval.schema.pseudonyms import Pseudonymizer
    from parlai_humaneval.tables.build import judge_tables, tables

    judges = judge_tables(records, [line for task in tasks for line in JUDGE_ANSWERS.read(data_dir, task)])
    whole = replace(tables(records, repeats=repeats), judges=judges, stopping=stopping_logs(data_dir, tasks))
    names = {agent.worker_name for task in tasks for agent in stored_agents(data_dir, task)}
    made = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY)
    return without_names(whole, {name: made.worker(name) for name in names})
