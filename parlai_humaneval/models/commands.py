"""``parlai-humaneval models``: list, check, try and train the models of the zoo."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from parlai_humaneval.models.zoo import ModelSpec, ZooError, load_zoo, resolve, zoo_dir

zoo_option = click.option(
    "--zoo",
    "zoo_files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=str),
    help="A zoo file of your own, besides those packaged; may be given more than once.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


@click.group()
def models() -> None:
    """List, check, train and chat with the models.

    \b
    Example:
      parlai-humaneval models chat retrieval
    """


@models.command("list")
@zoo_option
@json_option
def list_command(zoo_files: Sequence[str], as_json: bool) -> None:
    """Show every model of the zoo: what it is, what it needs.

    \b
    Example:
      parlai-humaneval models list --zoo my_models.yaml
    """
    specs = list(_zoo(zoo_files).values())
    if as_json:
        click.echo(json.dumps([spec.model_dump() for spec in specs], indent=2, ensure_ascii=False))
        return
    table = Table("model", "what it is", "needs", box=None, pad_edge=False)
    for spec in specs:
        table.add_row(spec.name, spec.description, "; ".join(spec.needs) or "nothing")
    Console().print(table)


@models.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@click.option(
    "--load", "load_too", is_flag=True, help="Also load each model (ParlAI may download it) and ask it for a reply."
)
@zoo_option
@json_option
@click.pass_context
def check(ctx: click.Context, names: Sequence[str], load_too: bool, zoo_files: Sequence[str], as_json: bool) -> None:
    """Say what models lack on this machine. Nothing is downloaded, unless --load is given.

    Ends with status 1 when a model cannot be used.

    \b
    Examples:
      parlai-humaneval models check eliza tiny_generator
      parlai-humaneval models check blender_90M --load
    """
    results = [_check(spec, load_too) for spec in _resolve(names, _zoo(zoo_files))]
    if as_json:
        click.echo(json.dumps(results, indent=2, ensure_ascii=False))
    else:
        for result in results:
            _print_check(result)
    if not all(result["ok"] for result in results):
        ctx.exit(1)


@models.command()
@click.argument("name")
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Of the embedded models' choices; ParlAI's sampling is not repeatable.",
)
@zoo_option
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object a reply: text, raw_text, latency_s, masks."
)
def chat(name: str, seed: int, zoo_files: Sequence[str], as_json: bool) -> None:
    """Talk to one model; an empty line or Ctrl-D ends it.

    \b
    Examples:
      parlai-humaneval models chat eliza
      echo "Hi!" | parlai-humaneval models chat retrieval --json
    """
    from parlai_humaneval.models.pool import ModelFailed, ModelPool
    from parlai_humaneval.models.quiet import quiet_parlai

    spec = _resolve([name], _zoo(zoo_files))[0]
    try:
        with quiet_parlai(), ModelPool([spec], seed=seed) as pool:
            speaker = pool.speaker([name], seed=seed)
            while message := _next_message():
                speaker.observe({"text": message, "episode_done": False})
                reply = speaker.act(on_delay=lambda sentence: click.echo(sentence, err=True))
                candidate = reply["candidates"][0]
                click.echo(json.dumps(candidate, ensure_ascii=False) if as_json else f"{name}: {candidate['text']}")
    except (ZooError, ModelFailed) as error:
        raise click.ClickException(str(error)) from error


@models.command("train-tiny")
@click.option(
    "--out", type=click.Path(file_okay=False), help="Folder for the model; by default where the zoo looks for it."
)
@click.option(
    "--corpus",
    type=click.Path(exists=True, dir_okay=False),
    help="Conversations to learn from (JSONL), instead of the packaged ones.",
)
@click.option("--seconds", type=click.FloatRange(min=1), default=95.0, show_default=True, help="Longest training time.")
@click.option("--verbose", is_flag=True, help="Show ParlAI's training log.")
@json_option
def train_tiny_command(out: str | None, corpus: str | None, seconds: float, verbose: bool, as_json: bool) -> None:
    """Train the zoo's tiny_generator here; under two minutes on two cores, and nothing is downloaded.

    \b
    Example:
      parlai-humaneval models train-tiny
    """
    from parlai_humaneval.agents.corpus import PACKAGED_CORPUS, CorpusError
    from parlai_humaneval.models.tiny import TinySize, default_folder, train_tiny

    folder = Path(out) if out else default_folder()
    started = time.monotonic()
    try:
        with _working(f"Training a tiny generator, at most {seconds + 15:.0f} s"):
            made = train_tiny(
                folder,
                size=TinySize(max_seconds=seconds),
                corpus=Path(corpus) if corpus else PACKAGED_CORPUS,
                quiet=not verbose,
            )
    except (CorpusError, OSError) as error:
        raise click.ClickException(str(error)) from error
    took = round(time.monotonic() - started, 1)
    if as_json:
        click.echo(json.dumps({"model_file": str(made), "seconds": took}))
    else:
        click.echo(f"{made} is ready after {took:.0f} s. Try it: parlai-humaneval models chat tiny_generator")


@contextmanager
def _working(what: str) -> Iterator[None]:
    """Show on the terminal that something takes its time, and how long so far."""
    # The stream is named now, because ParlAI's own output is led elsewhere meanwhile.
    console = Console(file=sys.stderr)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        progress.add_task(what, total=None)
        yield


def _zoo(files: Sequence[str]) -> dict[str, ModelSpec]:
    try:
        return load_zoo([*sorted(zoo_dir().glob("*.yaml")), *map(Path, files)])
    except ZooError as error:
        raise click.ClickException(str(error)) from error


def _resolve(names: Sequence[str], zoo: dict[str, ModelSpec]) -> list[ModelSpec]:
    try:
        return resolve(names, zoo)
    except ZooError as error:
        raise click.ClickException(str(error)) from error


def _check(spec: ModelSpec, load_too: bool) -> dict[str, Any]:
    """What is missing, what would be downloaded, and with ``load_too`` how long loading took and a reply to “Hi!”."""
    from parlai_humaneval.models.files import missing, to_download
    from parlai_humaneval.models.loading import parlai_opt

    result: dict[str, Any] = {"name": spec.name, "ok": True, "missing": missing(spec), "downloads": to_download(spec)}
    try:
        if not result["missing"] and not result["downloads"]:
            parlai_opt(spec)
        if load_too and not result["missing"]:
            result |= _try(spec)
    except (ZooError, RuntimeError) as error:
        result["missing"] = [str(error)]
    result["ok"] = not result["missing"]
    return result


def _try(spec: ModelSpec) -> dict[str, Any]:
    from parlai_humaneval.models.pool import ModelPool
    from parlai_humaneval.models.quiet import quiet_parlai

    started = time.monotonic()
    with quiet_parlai(), ModelPool([spec]) as pool:
        loaded = time.monotonic() - started
        speaker = pool.speaker([spec.name], seed=0)
        speaker.observe({"text": "Hi!", "episode_done": False})
        return {"load_s": round(loaded, 2), "reply": speaker.act()["text"], "downloads": []}


def _print_check(result: dict[str, Any]) -> None:
    click.echo(f"{result['name']}: {'ready' if result['ok'] else 'cannot be used'}")
    for sentence in [*result["missing"], *result["downloads"]]:
        click.echo(f"  {sentence}")
    if "reply" in result:
        click.echo(f"  loaded in {result['load_s']} s; answers “Hi!” with: {result['reply']}")


def _next_message() -> str:
    """The next line typed, or an empty text at the end."""
    try:
        text: str = click.prompt("you", default="", show_default=False, err=True)
    except click.Abort:
        return ""
    return text.strip()
