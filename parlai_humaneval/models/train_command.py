"""``parlai-humaneval models train``: make a model whose weights are nowhere to be had."""

from __future__ import annotations

import logging
import shlex
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import yaml

from parlai_humaneval.models.local.packages import needs_local_packages
from parlai_humaneval.models.options import json_option, named, read_zoo, zoo_option
from parlai_humaneval.models.working import working
from parlai_humaneval.plain_output import say_json

if TYPE_CHECKING:
    from parlai_humaneval.models.trained.training import Plan, Trained

FIGURES = ("ppl", "hits@1", "accuracy", "token_acc", "f1", "loss", "exs")
"""Of ParlAI's validation report, what the last line shows."""


@click.command()
@click.argument("name")
@zoo_option
@click.option(
    "--data",
    metavar="PREFIX",
    help="Dialogues of your own instead of the model's task: PREFIX_train.*, and if there PREFIX_valid.* and "
    "PREFIX_test.*; JSONL, ParlAI's text, fbdialog or Conversations format. Or one file.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of ParlAI's train_model over the zoo file's.",
)
@click.option("--out", type=click.Path(file_okay=False), help="Folder for the model, instead of where the zoo looks.")
@click.option("--seconds", type=click.FloatRange(min=1), help="Longest training time, interrupted ones included.")
@click.option("--print-command", is_flag=True, help="Only print the command of ParlAI's that does the same.")
@click.option("--verbose", is_flag=True, help="Show ParlAI's training log.")
@json_option
def train(
    name: str,
    zoo_files: Sequence[str],
    data: str | None,
    settings: Sequence[str],
    out: str | None,
    seconds: float | None,
    print_command: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """Train a model on this machine, as the zoo says how.

    Interrupted (Ctrl-C, or worse), the same command goes on from its last checkpoint.

    \b
    Examples:
      parlai-humaneval models train ji2022_lstm
      parlai-humaneval models train ji2022_lstm --data my_dialogues --set batchsize=16 --seconds 3600
    """
    with _interruptible() as begun, _clear_errors():
        from parlai_humaneval.models.trained.training import command_line, plan_training

        spec = named([name], read_zoo(zoo_files))[0]
        over = _settings(settings) | ({"max_train_time": seconds} if seconds else {})
        plan = plan_training(spec, folder=Path(out) if out else None, data=data, settings=over)
        if print_command:
            click.echo(command_line(plan))
            return
        if lacking := needs_local_packages(name):
            raise click.ClickException(lacking)
        begun.append(plan)
        started = time.monotonic()
        trained = _train(plan, verbose)
    took = round(time.monotonic() - started, 1)
    if as_json:
        valid = {key: value for key, value in trained.valid.items() if isinstance(value, (int, float))}
        answer = {"name": name, "model_file": str(trained.model_file), "seconds": took}
        say_json({**answer, "resumed": trained.resumed, "valid": valid}, indent=None)
        return
    click.echo(f"{trained.model_file} is ready after {took:.0f} s ({_figures(trained.valid)}).")
    click.echo(f"Try it: {_try_it(name, out, trained)}")


def _train(plan: Plan, verbose: bool) -> Trained:
    from parlai_humaneval.models.trained.training import train as train_model

    training = plan.spec.training

    def resumes(where: str) -> None:
        click.echo(f"An interrupted training of {plan.spec.name} goes on from its checkpoint: {where}.", err=True)

    if training is not None and training.takes:
        click.echo(f"It takes {training.takes}.", err=True)
    if verbose:
        logging.getLogger("parlai").setLevel(logging.INFO)
        return train_model(plan, quiet=False, on_resume=resumes)
    with working(f"Training {plan.spec.name}") as how_far:
        return train_model(plan, progress=how_far, on_resume=resumes)


def _settings(pairs: Iterable[str]) -> dict[str, Any]:
    """``KEY=VALUE`` pairs; values are written as in a zoo file."""
    found: dict[str, Any] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key.strip():
            raise click.BadParameter(f"“{pair}” is not KEY=VALUE", param_hint="--set")
        if key.strip() in ("model_file", "mf"):
            raise click.BadParameter("name the model's folder with --out", param_hint="--set model_file")
        try:
            found[key.strip().lstrip("-").replace("-", "_")] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise click.BadParameter(f"“{pair}”: the value is not YAML: {error}", param_hint="--set") from error
    return found


def _figures(valid: Mapping[str, Any]) -> str:
    shown = [f"{key} {valid[key]:.4g}" for key in FIGURES if isinstance(valid.get(key), (int, float))]
    return f"validation: {', '.join(shown)}" if shown else "not validated"


def _try_it(name: str, out: str | None, trained: Trained) -> str:
    if out is None:
        return f"parlai-humaneval models chat {name}"
    return f"parlai-humaneval parlai interactive --model-file {trained.model_file}"


@contextmanager
def _clear_errors() -> Iterator[None]:
    """What can go wrong, in one line and without a traceback."""
    from parlai_humaneval.models.trained.training_options import TrainingError
    from parlai_humaneval.protocol.materials.files import MaterialError

    try:
        yield
    except (TrainingError, MaterialError) as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"{error.filename or 'the model'}: cannot be written ({error.strerror})") from error


@contextmanager
def _interruptible() -> Iterator[list[Plan]]:
    """Ctrl-C becomes a sentence on what is kept. What is yielded gets the plan, once the training begins."""
    begun: list[Plan] = []
    try:
        yield begun
    except KeyboardInterrupt as error:
        raise click.ClickException(_interrupted(begun[0] if begun else None)) from error


def _interrupted(plan: Plan | None) -> str:
    words = click.get_current_context().command_path.split() + _given(click.get_current_context())
    command = f"the same command goes on: {shlex.join(words)}"
    if plan is None:
        return f"interrupted before the training began; {command}"
    from parlai_humaneval.models.trained.training import checkpoint_of

    where = checkpoint_of(plan)
    if where is None:
        again = f"the same command begins anew: {shlex.join(words)}"
        return f"interrupted before the first checkpoint, so nothing is kept; {again}"
    return f"interrupted; what was learned up to the last checkpoint ({where}) is kept in {plan.work}; {command}"


def _given(ctx: click.Context) -> list[str]:
    """The arguments that the command was given, as words."""
    words: list[str] = []
    for parameter in ctx.command.params:
        value = ctx.params.get(parameter.name or "")
        if isinstance(parameter, click.Argument):
            words.insert(0, str(value))
        elif value is True:
            words.append(parameter.opts[0])
        elif value not in (None, False, ()):
            for one in value if isinstance(value, tuple) else (value,):
                words += [parameter.opts[0], str(one)]
    return words
