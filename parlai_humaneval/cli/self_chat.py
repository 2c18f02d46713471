"""``parlai-humaneval self-chat``: have models talk to themselves or to each other, into files."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from parlai_humaneval._util.terminal import PlainConsole, say_json
from parlai_humaneval.cli.model_options import engine_options, json_option, placed, zoo_option
from parlai_humaneval.models.zoo.entries import Engine, ModelSpec, load_zoo, resolve
from parlai_humaneval.self_chat import (
    GeneratedFile,
    GenerationProgress,
    SelfChatError,
    SelfChatSettings,
    generate,
    pairs_of,
)
from parlai_humaneval.self_chat.merge import Merged, merge
from parlai_humaneval.self_chat.settings import WHOLE, Shard, StartKind, checked_settings, shard_of

if TYPE_CHECKING:
    from parlai_humaneval.self_chat.dialogue import ModelsFailed


@click.command("self-chat")
@click.option("--models", "names", required=True, help="Names from the zoo, comma separated, e.g. eliza,retrieval.")
@click.option("--pairs", is_flag=True, help="Every two models talk to each other, in place of each to itself.")
@click.option(
    "--num-dialogues", type=click.IntRange(min=1), required=True, help="How many of each model, or of each pair."
)
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=str),
    help="Folder for the files, one a model or pair. What it has already is kept and gone on with.",
)
@click.option(
    "--exchanges",
    type=click.IntRange(min=1),
    default=6,
    show_default=True,
    help="Lines of each speaker, those of the beginning included.",
)
@click.option(
    "--start",
    type=click.Choice(get_args(StartKind)),
    default="hi",
    show_default=True,
    help="How a dialogue begins: with “Hi!”, with a line of a file, with the first two lines of a dialogue of a file, "
    "or with personas.",
)
@click.option(
    "--start-file",
    type=click.Path(exists=True, dir_okay=False, path_type=str),
    help="Where beginnings come from; by default the packaged ones.",
)
@click.option(
    "--context-kind",
    type=click.Choice(["jsonl", "bst", "convai2"]),
    default="jsonl",
    show_default=True,
    help="The format of the file for --start contexts.",
)
@click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    default=32,
    show_default=True,
    help="Most replies that a model computes at once. It changes the speed, not the dialogues.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Of the beginnings, and of what models draw.",
)
@click.option(
    "--shard",
    help="Make a part of the dialogues only, such as 2/8, in a folder of its own within --out: on another machine, say. "
    "`parlai-humaneval self-chat-merge` puts them together.",
)
@engine_options
@zoo_option
@click.option("--force", is_flag=True, help="Throw away what the folder has of these models, and begin anew.")
@json_option
def self_chat(
    names: str,
    pairs: bool,
    num_dialogues: int,
    out: str,
    exchanges: int,
    start: str,
    start_file: str | None,
    context_kind: str,
    batch_size: int,
    seed: int,
    engine: Engine | None,
    replicas: int | None,
    ray_address: str | None,
    shard: str | None,
    zoo_files: Sequence[str],
    force: bool,
    as_json: bool,
) -> None:
    """Have models talk to themselves, or every two of them to each other.

    Each model or pair gets a file in ParlAI's conversations format (NAME.jsonl or A--B.jsonl) with its settings beside it
    (.metadata). An interrupted run is gone on with by the same command. When a model fails, the others go on, and the
    command ends with status 1. Counted at the end are replies that repeat
    what the speaker said before, replies without text, and dialogues that are the same as another.

    \b
    Examples:
      parlai-humaneval self-chat --models eliza,retrieval --num-dialogues 20 --start openers --out chats
      parlai-humaneval self-chat --models blender_3B,blender_90M --num-dialogues 100 --out chats
      parlai-humaneval self-chat --models eliza,retrieval,dull --pairs --num-dialogues 45 \\
          --exchanges 5 --start first_exchange --start-file test_set.txt --out tournament
      parlai-humaneval self-chat --models my_bot --zoo my_models.yaml --num-dialogues 500 --out chats \\
          --engine processes --replicas 2
      parlai-humaneval self-chat --models blender_3B --num-dialogues 100 --out chats --shard 1/4
    """
    try:
        settings = checked_settings(
            num_dialogues=num_dialogues,
            exchanges=exchanges,
            start=start,
            start_file=start_file or "",
            context_kind=context_kind,
            seed=seed,
        )
        meetings = pairs_of([name.strip() for name in names.split(",") if name.strip()], pairs=pairs)
        zoo = load_zoo(more=zoo_files)
        specs = resolve(list(dict.fromkeys(name for pair in meetings for name in pair)), zoo)
        specs = placed(specs, engine, replicas, ray_address)
        began = time.monotonic()
        part = shard_of(shard) if shard is not None else None
        files = run_with_bar(specs, meetings, settings, Path(out), batch_size=batch_size, force=force, shard=part)
    except KeyboardInterrupt:
        click.echo(f"Stopped. Complete dialogues are kept in {out}; the same command goes on with them.", err=True)
        sys.exit(130)
    show(files, time.monotonic() - began, as_json)


def run_with_bar(
    specs: Sequence[ModelSpec],
    pairs: Sequence[tuple[str, str]],
    settings: SelfChatSettings,
    out: Path,
    *,
    batch_size: int,
    force: bool,
    shard: Shard | None = None,
) -> list[GeneratedFile]:
    """:func:`generate` with a progress bar on the terminal; where models fail, what there is is shown and a sentence raised.

    Raises:
        SelfChatError: also when a model broke or was silent; the dialogues of all others are made by then.
        DataError, ZooError: as :func:`generate`.
    """
    # Imported here: ParlAI takes seconds, and --help needs none of it.
    from parlai_humaneval.models.agent.isolation import quiet_parlai, quiet_tries

    # The stream is named now: what a model prints while it is loaded is led elsewhere.
    console = PlainConsole(file=sys.stderr)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
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
            files = generate(
                specs,
                pairs,
                settings,
                out,
                batch_size=batch_size,
                on_progress=on_progress,
                on_load=on_load,
                force=force,
                shard=shard,
            )
        except ModelsFailed as error:
            raise SelfChatError(error, try_=_kept(error, out)) from error
        bar.update(task, description=", ".join(spec.name for spec in specs) if len(specs) <= 3 else "All models")
        return files


def _kept(error: ModelsFailed, out: Path) -> str:
    files = [f"{file.path.name} {file.dialogues}" for file in error.files]
    return (
        f"run the same command again: complete dialogues are kept in {out} ({', '.join(files)}); dialogues that "
        f"{', '.join(error.models)} left unfinished are not, and begin again"
    )


def show(files: Sequence[GeneratedFile], seconds: float, as_json: bool) -> None:
    """What was made and how much of it is repeated, as a table or as JSON."""
    if as_json:
        result = {"files": [file.model_dump(mode="json") for file in files], "seconds": round(seconds, 2)}
        say_json(result)
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


@click.command("self-chat-merge")
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=str))
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=str),
    help="Where the files go.  [default: the folder that holds the shards, if only one is named]",
)
@click.option("--allow-missing", is_flag=True, help="Write what there is, though dialogues are missing.")
@click.option("--force", is_flag=True, help="Replace files that are there already and differ.")
@json_option
def self_chat_merge(folders: Sequence[str], out: str | None, allow_missing: bool, force: bool, as_json: bool) -> None:
    """Put the shards of a self-chat together into the files that a run without shards makes.

    FOLDERS are shards, or hold shards: the --out of `parlai-humaneval self-chat --shard`, copied here from other machines
    as the case may be. Where dialogues are missing, or shards do not belong together, you are told so with the command
    that helps, and nothing is written. The shards stay as they are; `self-chat` without --shard goes on with the result.

    \b
    Examples:
      parlai-humaneval self-chat-merge chats
      parlai-humaneval self-chat-merge from_node_1/chats from_node_2/chats --out chats
    """
    if out is None and len(folders) > 1:
        raise SelfChatError("several folders are named", try_="say where the files go, for example --out chats")
    merged = merge(list(map(Path, folders)), Path(out or folders[0]), allow_missing=allow_missing, force=force)
    _show_merged(merged, as_json)


def _show_merged(merged: Merged, as_json: bool) -> None:
    if as_json:
        files = [file.model_dump(mode="json") for file in merged.files]
        say_json({"files": files, "missing": merged.missing})
        return
    for file in merged.files:
        lacking = len(merged.missing.get(file.path.name, ()))
        click.echo(f"{file.path}: {file.dialogues} dialogues" + (f", {lacking} are missing" if lacking else ""))
