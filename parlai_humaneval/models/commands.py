"""``parlai-humaneval models``: list, check, try and train the models of the zoo."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from rich.table import Column, Table

from parlai_humaneval.command_groups import SuggestingGroup
from parlai_humaneval.models.check_command import check
from parlai_humaneval.models.local.packages import needs_local_packages
from parlai_humaneval.models.options import json_option, named, read_zoo, table_console, zoo_option
from parlai_humaneval.models.train_command import train
from parlai_humaneval.models.working import working
from parlai_humaneval.models.zoo.entries import Origin, ZooError
from parlai_humaneval.plain_output import say, say_json

ORIGINS: Mapping[Origin, str] = {
    "packaged": "Packaged",
    "download": "Downloaded",
    "training": "Trained",
    "endpoint": "Served",
    "yours": "Yours",
}
"""In what order the models are listed, and what stands above them."""


@click.group(cls=SuggestingGroup)
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
    """Show every model of the zoo: what it is, and how large. `models check --all` says which are ready here.

    \b
    Examples:
      parlai-humaneval models list
      parlai-humaneval models list --zoo my_models.yaml
      parlai-humaneval models list --json
    """
    specs = list(read_zoo(zoo_files).values())
    if as_json:
        listed = [spec.model_dump() for spec in specs]
        say_json(listed)
        return
    table = Table(Column("model", no_wrap=True), "size", "what it is", box=None, pad_edge=False)
    for origin, heading in ORIGINS.items():
        group = [spec for spec in specs if spec.origin == origin]
        if group:
            table.add_row("")
            table.add_row(f"[bold]{heading}")
        for spec in group:
            table.add_row(spec.name, spec.size, spec.description)
    table_console().print(table)


models.add_command(check)
models.add_command(train)


@models.command()
@click.argument("name")
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Of what the model draws: the same words under the same seed get the same replies.",
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
    from parlai_humaneval.models.checking import impatient
    from parlai_humaneval.models.pool.pool import ModelFailed, ModelPool
    from parlai_humaneval.models.quiet import quiet_parlai, quiet_tries

    spec = named([name], read_zoo(zoo_files))[0]
    try:
        with quiet_parlai(), quiet_tries(), ModelPool([impatient(spec)], seed=seed) as pool:
            speaker = pool.speaker([name], seed=seed)
            while message := _next_message():
                speaker.observe({"text": message, "episode_done": False})
                reply = speaker.act(on_delay=lambda sentence: say(sentence, err=True))
                candidate = reply["candidates"][0]
                if as_json:
                    say_json(candidate, indent=None)
                else:
                    say(f"{name}: {candidate['text']}")
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
    from parlai_humaneval.models.trained.tiny import TinySize, default_folder, train_tiny
    from parlai_humaneval.protocol.dialogues.files import PACKAGED_CORPUS
    from parlai_humaneval.protocol.materials.files import MaterialError

    if lacking := needs_local_packages("Training"):
        raise click.ClickException(lacking)
    folder = Path(out) if out else default_folder()
    started = time.monotonic()
    try:
        with working(f"Training a tiny generator, at most {seconds + 15:.0f} s"):
            made = train_tiny(
                folder,
                size=TinySize(max_seconds=seconds),
                corpus=Path(corpus) if corpus else PACKAGED_CORPUS,
                quiet=not verbose,
            )
    except (MaterialError, OSError) as error:
        raise click.ClickException(str(error)) from error
    took = round(time.monotonic() - started, 1)
    if as_json:
        say_json({"model_file": str(made), "seconds": took}, indent=None)
    else:
        click.echo(f"{made} is ready after {took:.0f} s. Try it: parlai-humaneval models chat tiny_generator")


def _next_message() -> str:
    """The next line typed, or an empty text at the end."""
    try:
        text: str = click.prompt("you", default="", show_default=False, err=True)
    except click.Abort:
        return ""
    return text.strip()
