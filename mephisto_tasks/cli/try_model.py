"""``parlai-humaneval try``: from a model to somebody's opinion, by one link."""

from __future__ import annotations

import secrets
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mephisto_tasks._util.gc import collector_off
from mephisto_tasks.cli.invite import show_code
from mephisto_tasks.cli.launch import follow, split_settings
from mephisto_tasks.cli.options import (
    LOADING,
    READING,
    as_typed_here,
    clear_errors,
    console,
    data_dir_of,
    data_dir_option,
    not_twice,
    waiting_for,
)
from mephisto_tasks.config.names import name_of, short_name
from parlai_humaneval._util.text import on_one_line
from parlai_humaneval.cli.errors import WrongUsage
from parlai_humaneval.techniques.registry import technique, techniques

if TYPE_CHECKING:
    from mephisto_tasks.launch.launch import RunningStudy
    from parlai_humaneval.models.selection import Given

EPILOG = """\b
Examples:
  parlai-humaneval try my_bot.py                              # its function `reply`; my_bot.py:answer names another
  parlai-humaneval try weights/my_model turns=4 metric=humanness
  parlai-humaneval try http://localhost:8000/v1 --opponent eliza --host 0.0.0.0
"""
OF_TRIAL = ("models", "groups", "embedded", "zoo_files", "place", "task_name")
"""Settings that a trial has by itself."""
SHOWN = 200
"""As many letters of the model's answer are printed."""
MOST_TOLD = 1000
"""As many letters of what went wrong are told."""
LASTING_S = 14 * 86400.0


@click.command(name="try", epilog=EPILOG)
@click.argument("model")
@click.argument("chosen", nargs=-1, metavar="[conf=NAME] [SETTING=VALUE]...")
@click.option("--opponent", default="retrieval", show_default=True, help="What it is compared with, of `models list`.")
@click.option(
    "--technique",
    "task",
    type=click.Choice(list(techniques("live"))),
    default="pw_turn",
    show_default=True,
    help="How it is judged.",
)
@click.option("--turns", type=click.IntRange(min=1), help="Length of a chat. Default: the technique's.")
@click.option("--limit", type=click.IntRange(min=1), default=30, show_default=True, help="How many people may come.")
@click.option("--practice", is_flag=True, help="People practise first, as in a study; else they begin at once.")
@click.option("--host", default="127.0.0.1", show_default=True, help="0.0.0.0 lets others in your network in.")
@click.option("--port", type=click.IntRange(0, 65535), default=3000, show_default=True, help="0: any free one.")
@click.option("--url", help="Address for people, where it is another: https://… of a tunnel or a reverse proxy.")
@click.option("--served-model", help="Of a server with several models, which one.")
@click.option("--api-key-env", metavar="NAME", help="Environment variable that holds the key of a server.")
@data_dir_option
def try_model(
    model: str,
    chosen: tuple[str, ...],
    opponent: str,
    task: str,
    turns: int | None,
    limit: int,
    practice: bool,
    host: str,
    port: int,
    url: str | None,
    served_model: str | None,
    api_key_env: str | None,
    data_dir: str | None,
) -> None:
    """Let people chat with MODEL and another one, and say which is better: prints a link for them, and in the end who won.

    MODEL is a Python file with a function (my_bot.py, or my_bot.py:reply), a folder of weights (Hugging Face, ParlAI), the
    address of a server (OpenAI-compatible, or of the JSON contract), or a name of `models list`. Settings are as for
    `launch`, such as metric=humanness.
    """
    directory = data_dir_of(data_dir)
    conf, overrides = split_settings(chosen)
    for setting in (short_name(name_of(override)) for override in overrides):
        if setting in OF_TRIAL:
            raise WrongUsage(
                f"{setting}=… goes with `launch`: here MODEL and --opponent say who talks, and a link brings people",
                try_=f"leave {setting}=… out",
            )
    not_twice({"turns": turns}, overrides)
    with clear_errors():
        with waiting_for(LOADING), collector_off():
            from mephisto_tasks.config.files import as_typed
            from mephisto_tasks.launch import config as settings
            from mephisto_tasks.launch import launch as launching

        with waiting_for(f"Asking {model}…"):
            given = given_model(model, opponent, served_model, api_key_env)
            given, answer, seconds = first_answer(given)
        click.echo(f"{given.told} says “{on_one_line(answer, SHOWN)}” to “Hi!” (ready in {seconds:.1f} s)")
        task_name = f"try-{given.name}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
        of_trial = {
            **_study_of(task, given, opponent, directory, task_name, limit, practice),
            **({} if turns is None else {"turns": turns}),
            "hostname": host,
            "port": port,
            "public_url": url or "",
        }
        beneath = ["place=link", *(f"{name}={as_typed(value)}" for name, value in of_trial.items())]
        config = settings.compose_config(task, conf, overrides, beneath=beneath)
        stop = launching.stop_on_signals()
        with launching.run_launch(task, config, directory, waiting_for, stop=stop) as run:
            announce(run, given.name, opponent, limit)
            follow(run, stop)
        tell_who_won(run)


def given_model(model: str, opponent: str, served_model: str | None, api_key_env: str | None) -> Given:
    """What was named, once the opponent is known to exist. Raises ZooError."""
    from parlai_humaneval.models.selection import model_given
    from parlai_humaneval.models.zoo.entries import ZooError, load_zoo, resolve

    zoo = load_zoo()
    resolve([opponent], zoo)
    given = model_given(model, zoo, served_model=served_model, key_variable=api_key_env)
    if given.name == opponent:
        raise ZooError(f"{opponent} cannot be its own opponent", try_="name another one: --opponent eliza")
    return given


def first_answer(given: Given) -> tuple[Given, str, float]:
    """The model as it is asked from now on, what it says to a greeting, and how long it took to be ready.

    Of a server that refuses a part of the request, the entry that was made for it gets the option that mends that; the
    terminal is told.

    Raises:
        ZooError: it lacks something, cannot be loaded, or does not answer: in one sentence, before anybody waits for it.
    """
    from parlai_humaneval.models.check import check, load_and_ask, mends_of
    from parlai_humaneval.models.model_pool import ModelFailed
    from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError, load_zoo

    options = dict(given.options)
    spec = ModelSpec(name=given.name, options=options) if options else load_zoo()[given.name]
    checked = check(spec)
    if not checked.ok:
        raise ZooError(f"{given.told} cannot be asked: {checked.reason}")
    try:
        asked = load_and_ask(spec)
    except (ZooError, ModelFailed, RuntimeError) as error:
        mend = next((mend for mend in mends_of(error) if mend.is_settled and mend.option != "served_model"), None)
        if options and mend is not None and options.get(mend.option, ...) != mend.value:
            click.echo(
                f"{given.told} refuses a part of the request: it is asked with `{mend.as_yaml}` from here on", err=True
            )
            return first_answer(replace(given, options={**options, mend.option: mend.value}))
        why = on_one_line(str(error).removeprefix(f"{given.name} cannot be loaded: "), MOST_TOLD)
        raise ZooError(f"{given.told} does not answer: {why}") from error
    return given, str(asked["reply"]), float(asked["load_s"])


def _study_of(
    task: str, given: Given, opponent: str, data_dir: Path, task_name: str, limit: int, practice: bool
) -> dict[str, Any]:
    zoo_files = [str(_zoo_file(given, data_dir, task_name))] if given.options else []
    return {
        "models": [given.name, opponent],
        "zoo_files": zoo_files,
        technique(task).amount: limit,
        "onboarding_qualification": task_name if practice else None,
        "task_name": task_name,
        "task_reward": 0,  # whoever is asked what they think is promised no pay
    }


def _zoo_file(given: Given, data_dir: Path, task_name: str) -> Path:
    """The model's entry, kept with the study: what was tried can be seen, and launched, later on."""
    import yaml

    from mephisto_tasks.storage.locks import study_folder

    path = study_folder(data_dir, task_name) / "model.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    entry = {"description": f"Tried: {given.told}.", "options": dict(given.options)}
    path.write_text(yaml.safe_dump({"models": {given.name: entry}}, allow_unicode=True), encoding="utf-8")
    return path


def announce(run: RunningStudy, name: str, opponent: str, limit: int) -> None:
    """The link for whoever should say what they think, as a QR code, too."""
    from mephisto_tasks.cli.invite import links_of
    from mephisto_tasks.crowds.invitations.store import InvitationStore
    from mephisto_tasks.server.hosts import opens_elsewhere
    from mephisto_tasks.storage.locks import study_folder

    made = InvitationStore(study_folder(run.data_dir, run.task_name)).invite_class("try", limit, LASTING_S)
    (link,) = links_of([made], run.data_dir, run.task_name, run.url)
    for remark in run.study.remarks:
        click.echo(remark)
    click.echo(f"\n{name} against {opponent}. Send this link to up to {limit} people:\n\n  {link}\n")
    if not opens_elsewhere(run.url):
        click.echo("It opens on this machine only: --host 0.0.0.0 lets others of your network in.\n")
    show_code(link)
    click.echo("Ctrl-C ends it and says who is ahead.\n")


def tell_who_won(run: RunningStudy) -> None:
    """The report's own headline, and where all the rest is."""
    with waiting_for(READING, on_screens_only=True):
        from mephisto_tasks.cli.report import answers_of
        from parlai_humaneval.report.build import build_report
        from parlai_humaneval.report.section import Options

        tables, known = answers_of(run.data_dir, run.task_name)
        headline = build_report(tables, Options(), title=run.task_name, task=known).headline()
    console().print(headline, style="bold", markup=False)
    click.echo(f"The whole report:       {as_typed_here('report', run.task_name, run.data_dir)} --full")
    click.echo(f"The answers as tables:  {as_typed_here('export', run.task_name, run.data_dir)} --out tables")
    click.echo(f"They are kept in        {run.data_dir}")
