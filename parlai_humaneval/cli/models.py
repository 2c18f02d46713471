"""``parlai-humaneval models``: list, check, try and train the models of the zoo."""

from __future__ import annotations

import logging
import shlex
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import yaml
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Column, Table

from parlai_humaneval._util.terminal import say, say_json
from parlai_humaneval.cli.errors import BadValue, CommandError, WrongUsage
from parlai_humaneval.cli.options import SuggestingGroup, described, table_console
from parlai_humaneval.models.agent.isolation import working
from parlai_humaneval.models.agent.names import needs_local_packages
from parlai_humaneval.models.backends.server_refusals import Mend, file_of, write_option
from parlai_humaneval.models.selection import specs_of
from parlai_humaneval.models.zoo.entries import ModelSpec, Origin, load_zoo, resolve

if TYPE_CHECKING:
    from parlai_humaneval.models.baselines.training import Trained, TrainingPlan
    from parlai_humaneval.models.check import Checked


@described("models check")
@click.pass_context
def check(
    ctx: click.Context,
    names: Sequence[str],
    every: bool,
    load_too: bool,
    fix: bool | None,
    zoo_files: Sequence[str],
    as_json: bool,
) -> None:
    if every == bool(names):
        raise WrongUsage("Give the names of models, or --all")
    if every and load_too:
        raise WrongUsage("--load needs names: --all would load and download every model")
    if fix and not load_too:
        raise WrongUsage("--fix needs --load: only a request shows what a server rejects")
    if fix is None:
        fix = None if sys.stdin.isatty() and not as_json else False
    zoo = load_zoo(more=zoo_files)
    specs, given = (list(zoo.values()), []) if every else specs_of(names, zoo)
    found = _check_all(specs)
    results = [_loaded(one, zoo_files, fix, quiet=as_json) if load_too else one.as_json() for one in found]
    if as_json:
        say_json(results)
    elif every:
        table_console().print(table_of(found))
    elif not load_too:  # else they were printed as they came
        for result in results:
            _print(result)
    for one in () if as_json else given:
        click.echo(f"To launch {one.name}, put this in a file, and use it with zoo_files=[FILE]:\n{one.entry}".rstrip())
    if not every and not all(result["ok"] for result in results):
        ctx.exit(1)


def _check_all(specs: Sequence[ModelSpec]) -> list[Checked]:
    from parlai_humaneval.parlai_plugin.setup import parlai_without_torch

    parlai_without_torch()  # a model that needs it imports it
    # Imported here: ParlAI takes seconds, and --help needs none of it.
    from parlai_humaneval.models.check import check as check_one

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        return [check_one(spec) for spec in progress.track(specs, description="Checking models")]


def _loaded(checked: Checked, zoo_files: Sequence[str], fix: bool | None, *, quiet: bool) -> dict[str, Any]:
    """Describe a model that was asked, with options that its server wants. ``fix`` None: ask at the terminal."""
    result, fixed = _asked(checked, quiet), list[str]()
    while result.get("mends") and fix is not False:
        mend = Mend(**result["mends"][0])
        if mend.as_yaml in fixed or not _write_option(checked.spec.name, mend, zoo_files, ask=fix is None):
            break
        fixed.append(mend.as_yaml)
        result = _asked(_check_all(resolve([checked.spec.name], load_zoo(more=zoo_files)))[0], quiet)
    return {**result, "fixed": fixed} if fixed else result


def _asked(checked: Checked, quiet: bool) -> dict[str, Any]:
    from parlai_humaneval.models.check import try_out

    result = try_out(checked)
    if not quiet:
        _print(result)
    return result


def _write_option(name: str, mend: Mend, zoo_files: Sequence[str], *, ask: bool) -> bool:
    file = file_of(name, zoo_files)
    if file is None:
        entry = f"{name}_here: {{extends: {name}, options: {{{mend.as_yaml}}}}}"
        say(f"{name} is not in any of the --zoo files. Add this to the models in your own file: {entry}", err=True)
        return False
    if ask and not click.confirm(f"Write `{mend.as_yaml}` into {file}?", default=False, err=True):
        return False
    write_option(file, name, mend)
    say(f"Wrote `{mend.as_yaml}` to the options of {name} in {file}. Asking the model again.", err=True)
    return True


def table_of(found: Sequence[Checked]) -> Table:
    model, origin, gb, state = (Column(name, no_wrap=True) for name in ("model", "origin", "GB", "state"))
    why = Column("why", no_wrap=True, ratio=1, min_width=24)  # what is left of the line, and cut to it
    table = Table(model, origin, "size", gb, state, why, box=None, pad_edge=False, expand=True)
    for one in found:
        spec = one.spec
        memory = "" if spec.memory_gb is None else f"{spec.memory_gb:g}"
        table.add_row(spec.name, spec.origin, spec.size, memory, one.state, escape(one.reason))
    return table


def _print(result: dict[str, Any]) -> None:
    state = result["state"]
    click.echo(f"{result['name']}: {'cannot be used' if state == 'cannot' else state}")
    for sentence in [*result["missing"], *result["downloads"], *result["asks"], *result["notes"]]:
        say(f"  {sentence}")
    if "reply" in result:
        say(f"  loaded in {result['load_s']} s; answers “Hi!” with: {result['reply']}")


FIGURES = ("ppl", "hits@1", "accuracy", "token_acc", "f1", "loss", "exs")


@described("models train")
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
    begun: TrainingPlan | None = None
    try:
        from parlai_humaneval.models.baselines.training import command_line, plan_training

        spec = resolve([name], load_zoo(more=zoo_files))[0]
        over = _parse_settings(settings) | ({"max_train_time": seconds} if seconds else {})
        plan = plan_training(spec, folder=Path(out) if out else None, data=data, settings=over)
        if print_command:
            click.echo(command_line(plan))
            return
        if lacking := needs_local_packages(name):
            raise CommandError(lacking.what, try_=lacking.try_)
        begun = plan
        started = time.monotonic()
        trained = _train(plan, verbose)
    except KeyboardInterrupt as error:
        raise _interrupted(begun) from error
    took = round(time.monotonic() - started, 1)
    if as_json:
        valid = {key: value for key, value in trained.valid.items() if isinstance(value, (int, float))}
        answer = {"name": name, "model_file": str(trained.model_file), "seconds": took}
        say_json({**answer, "resumed": trained.resumed, "valid": valid}, indent=None)
        return
    shown = [f"{key} {value:.4g}" for key in FIGURES if isinstance(value := trained.valid.get(key), (int, float))]
    figures = f"validation: {', '.join(shown)}" if shown else "not validated"
    click.echo(f"{trained.model_file} is ready. Training took {took:.0f} s ({figures}).")
    with_file = f"parlai-humaneval parlai interactive --model-file {trained.model_file}"
    click.echo(f"Try it: {f'parlai-humaneval models chat {name}' if out is None else with_file}")


def _train(plan: TrainingPlan, verbose: bool) -> Trained:
    from parlai_humaneval.models.baselines.training import train as train_model

    training = plan.spec.training

    def resumes(where: str) -> None:
        click.echo(f"Continuing an interrupted training of {plan.spec.name} from its checkpoint: {where}.", err=True)

    if training is not None and training.takes:
        click.echo(f"It takes {training.takes}.", err=True)
    if verbose:
        logging.getLogger("parlai").setLevel(logging.INFO)
        return train_model(plan, quiet=False, on_resume=resumes)
    with working(f"Training {plan.spec.name}") as how_far:
        return train_model(plan, progress=how_far, on_resume=resumes)


def _parse_settings(pairs: Iterable[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key.strip():
            raise BadValue(f"“{pair}” is not KEY=VALUE", option="--set")
        if key.strip() in ("model_file", "mf"):
            raise BadValue("name the model's folder with --out", option="--set model_file")
        try:
            found[key.strip().lstrip("-").replace("-", "_")] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise BadValue(f"“{pair}”: the value is not YAML", option="--set", try_="put it in quotes") from error
    return found


def _interrupted(plan: TrainingPlan | None) -> CommandError:
    ctx = click.get_current_context()
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
    command = shlex.join([*ctx.command_path.split(), *words])
    if plan is None:
        return CommandError("interrupted before the training began", try_=command)
    from parlai_humaneval.models.baselines.training import checkpoint_of

    where = checkpoint_of(plan)
    if where is None:
        return CommandError("interrupted before the first checkpoint, so nothing was saved", try_=command)
    kept = f"the last checkpoint ({where}) is kept in {plan.work}"
    return CommandError(f"interrupted: {kept}", try_=f"{command} (continues from there)")


ORIGINS: Mapping[Origin, str] = {
    "packaged": "Packaged",
    "download": "Downloaded",
    "training": "Trained",
    "endpoint": "Served",
    "yours": "Yours",
}


@described("models", cls=SuggestingGroup)
def models() -> None:
    pass


@described("models list")
def list_command(zoo_files: Sequence[str], as_json: bool) -> None:
    specs = list(load_zoo(more=zoo_files).values())
    if as_json:
        say_json([spec.model_dump() for spec in specs])
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


@described("models chat")
def chat(name: str, seed: int, zoo_files: Sequence[str], as_json: bool) -> None:
    from parlai_humaneval.parlai_plugin.setup import parlai_without_torch

    parlai_without_torch()
    from parlai_humaneval.models.agent.isolation import quiet_parlai, quiet_tries
    from parlai_humaneval.models.check import impatient
    from parlai_humaneval.models.model_pool import ModelPool

    (spec,), _ = specs_of([name], load_zoo(more=zoo_files))
    with quiet_parlai(), quiet_tries(), ModelPool([impatient(spec)], seed=seed) as pool:
        speaker = pool.speaker([spec.name], seed=seed)
        while message := _next_message():
            speaker.observe({"text": message, "episode_done": False})
            reply = speaker.act(on_delay=lambda sentence: say(sentence, err=True))
            candidate = reply["candidates"][0]
            if as_json:
                say_json(candidate, indent=None)
            else:
                say(f"{spec.name}: {candidate['text']}")


@described("models train-tiny")
def train_tiny_command(out: str | None, corpus: str | None, seconds: float, verbose: bool, as_json: bool) -> None:
    from parlai_humaneval.dialogues.files import PACKAGED_CORPUS
    from parlai_humaneval.models.baselines.training import default_folder, train_tiny

    if lacking := needs_local_packages("Training"):
        raise CommandError(lacking.what, try_=lacking.try_)
    folder = Path(out) if out else default_folder()
    started = time.monotonic()
    with working(f"Training a tiny generator for at most {seconds + 15:.0f} s"):
        made = train_tiny(
            folder, corpus=Path(corpus) if corpus else PACKAGED_CORPUS, quiet=not verbose, max_train_time=seconds
        )
    took = round(time.monotonic() - started, 1)
    if as_json:
        say_json({"model_file": str(made), "seconds": took}, indent=None)
    else:
        click.echo(f"{made} is ready. Training took {took:.0f} s. Try it: parlai-humaneval models chat tiny_generator")


def _next_message() -> str:
    try:
        text: str = click.prompt("you", default="", show_default=False, err=True)
    except click.Abort:
        return ""
    return text.strip()


for each in (list_command, check, train, chat, train_tiny_command):
    models.add_command(each)
