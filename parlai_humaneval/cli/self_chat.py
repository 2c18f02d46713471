"""``parlai-humaneval self-chat``: have models talk to themselves or to each other, into files."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from parlai_humaneval._util.terminal import PlainConsole, say_json
from parlai_humaneval.cli.options import described, placed
from parlai_humaneval.models.selection import specs_of
from parlai_humaneval.models.zoo.entries import Engine, ModelSpec, load_zoo
from parlai_humaneval.self_chat import (
    GeneratedFile,
    GenerationProgress,
    SelfChatError,
    SelfChatSettings,
    generate,
    pairs_of,
)
from parlai_humaneval.self_chat.merge import merge
from parlai_humaneval.self_chat.settings import WHOLE, Shard, StartKind, checked_settings, shard_of


@described(
    "self-chat", start={"type": click.Choice(get_args(StartKind))}, engine={"type": click.Choice(get_args(Engine))}
)
def self_chat(
    names: str,
    pairs: bool,
    out: str,
    batch_size: int,
    engine: Engine | None,
    replicas: int | None,
    ray_address: str | None,
    shard: str | None,
    zoo_files: Sequence[str],
    force: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    try:
        settings = checked_settings(**{**asked, "start_file": asked["start_file"] or ""})
        typed = [name.strip() for name in names.split(",") if name.strip()]
        pairs_of(typed, pairs=pairs)  # wrong lists are reported before models are looked for
        specs, _ = specs_of(typed, load_zoo(more=zoo_files))
        meetings = pairs_of([spec.name for spec in specs], pairs=pairs)
        specs = placed(specs, engine, replicas, ray_address)
        began = time.monotonic()
        part = shard_of(shard) if shard is not None else None
        files = run_with_bar(specs, meetings, settings, Path(out), batch_size=batch_size, force=force, shard=part)
    except KeyboardInterrupt:
        click.echo(f"Stopped. Complete dialogues are kept in {out}. Run the same command to continue.", err=True)
        sys.exit(130)
    show(files, time.monotonic() - began, as_json)


def run_with_bar(
    specs: Sequence[ModelSpec],
    pairs: Sequence[tuple[str, str]],
    settings: SelfChatSettings,
    out: Path,
    *,
    shard: Shard | None = None,
    **how: Any,
) -> list[GeneratedFile]:
    """:func:`generate` with a bar; where models fail, the rest is shown. Raises SelfChatError, DataError, ZooError."""
    from parlai_humaneval.parlai_plugin.setup import parlai_without_torch

    parlai_without_torch()  # a model that needs it imports it
    # Imported here: ParlAI takes seconds, and --help needs none of it.
    from parlai_humaneval.models.agent.isolation import quiet_parlai, quiet_tries

    # The stream is named now: what a model prints while it is loaded is led elsewhere.
    console = PlainConsole(file=sys.stderr)
    times = (TimeElapsedColumn(), TimeRemainingColumn())
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *times)
    done: dict[Path, GenerationProgress] = {}
    with Progress(*columns, console=console) as bar, quiet_parlai(), quiet_tries():
        from parlai_humaneval.self_chat.dialogue import ModelsFailed

        of_pair = len((shard or WHOLE).numbers(settings.num_dialogues))
        task = bar.add_task("Starting", total=of_pair * len(pairs))

        def on_load(name: str) -> None:
            bar.update(task, description=f"Loading {name}")

        def on_progress(step: GenerationProgress) -> None:
            done[step.path] = step
            total = sum(file.wanted for file in done.values()) + of_pair * (len(pairs) - len(done))
            made = sum(file.done for file in done.values())
            bar.update(task, completed=made, total=total, description=" – ".join(dict.fromkeys(step.models)))

        try:
            tell: dict[str, Any] = {"on_progress": on_progress, "on_load": on_load}
            files = generate(specs, pairs, settings, out, shard=shard, **tell, **how)
        except ModelsFailed as error:
            kept = ", ".join(f"{file.path.name} {file.dialogues}" for file in error.files)
            raise SelfChatError(
                error,
                try_=f"run the same command again: complete dialogues are kept in {out} ({kept}); those that "
                f"{', '.join(error.models)} left unfinished begin again",
            ) from error
        bar.update(task, description=", ".join(spec.name for spec in specs) if len(specs) <= 3 else "All models")
        return files


def show(files: Sequence[GeneratedFile], seconds: float, as_json: bool) -> None:
    if as_json:
        say_json({"files": [file.model_dump(mode="json") for file in files], "seconds": round(seconds, 2)})
        return
    table = Table(
        "models", "dialogues", "new", "replies", "repeated", "empty", "equal dialogues", box=None, pad_edge=False
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for file in files:
        counts = (file.dialogues, file.generated, file.replies, file.repeated, file.empty, file.equal_dialogues)
        table.add_row(" – ".join(dict.fromkeys(file.models)), *map(str, counts))
    PlainConsole().print(table)
    folder = files[0].path.parent
    click.echo(f"{sum(file.generated for file in files)} new dialogues in {seconds:.0f} s; the files are in {folder}")


@described("self-chat-merge")
def self_chat_merge(folders: Sequence[str], out: str | None, allow_missing: bool, force: bool, as_json: bool) -> None:
    if out is None and len(folders) > 1:
        raise SelfChatError("several folders are named", try_="name a folder for the files, for example --out chats")
    merged = merge(list(map(Path, folders)), Path(out or folders[0]), allow_missing=allow_missing, force=force)
    if as_json:
        files = [file.model_dump(mode="json") for file in merged.files]
        say_json({"files": files, "missing": merged.missing})
        return
    for file in merged.files:
        lacking = len(merged.missing.get(file.path.name, ()))
        click.echo(f"{file.path}: {file.dialogues} dialogues" + (f", {lacking} are missing" if lacking else ""))
