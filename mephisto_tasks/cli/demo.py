"""``parlai-humaneval demo``: embedded models on this machine, rated by you or by simulated raters; and ``try``: from a model
to somebody's opinion, by one link."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import click
import yaml

from mephisto_tasks._util.gc import collector_off
from mephisto_tasks.cli import options as common
from mephisto_tasks.config.files import technique_of_file
from mephisto_tasks.config.names import NAME_MODELS, PLAIN_CONF, name_of, short_name
from parlai_humaneval._util.errors import HumanevalError, choose_from
from parlai_humaneval._util.terminal import counting
from parlai_humaneval._util.text import on_one_line
from parlai_humaneval.cli.errors import CommandError, WrongUsage
from parlai_humaneval.cli.options import TechniqueChoice
from parlai_humaneval.i18n.translate import worded
from parlai_humaneval.techniques.registry import Technique, technique, techniques

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from mephisto_tasks.launch.launch import RunningStudy
    from parlai_humaneval.models.selection import Given


PRACTICE = "onboarding_qualification"
PORT = 3000
PAIRED = "judgements_per_group"  # Amount of techniques that compare finished dialogues
BY_OPTION = {NAME_MODELS: "name them: --models a,b"}  # Advice for any command: that of this one


@common.described("demo", cls=common.TechniqueCommand)
def demo(
    task: str,
    raters: int | None,
    dialogues: int | None,
    port: int | None,
    data_dir: Path,
    as_json: bool,
    metric: str | None,
    models: str | None,
    prefer: str | None,
    strength: float,
    seed: int | None,
    chosen: tuple[str, ...],
) -> None:
    common.not_twice({"models": models, "metric": metric, "seed": seed}, chosen)
    if dialogues is not None and "stop=decided" in chosen:
        raise WrongUsage(worded(__file__, "decided"))
    if prefer is not None and raters is None:
        raise WrongUsage("--prefer is for simulated raters", try_="add --raters N")
    task, chosen = technique_of_file(task, chosen)
    entry = technique(task)
    port = port if port is not None else 0 if raters else PORT
    who = "You are the rater. A link to open in your browser will appear in a few seconds."
    if raters is not None:
        who = f"Simulated raters will do all the work, {raters} at a time, and you will get the report."
    _check_at_once(entry, models, port, chosen)
    click.echo(f"Demo of {entry.title}: {entry.summary}.\n{who}", err=True)
    typed_seed, drawn = seed is not None, secrets.randbelow(2**31)
    what = f"{task}-{metric}" if metric else task
    task_name = f"demo-{what.replace('_', '-')}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    # Slow imports are here, so that the first line appears before them.
    from mephisto_tasks.cli.launch import announce, announce_partners, follow, split_settings, tell_answer

    conf, overrides = split_settings(chosen)
    asked = [f"seed={seed}"] if typed_seed else []
    settings_of_demo = [
        f"seed={drawn}",
        f"port={port}",
        f"task_name={task_name}",
        *([f"models=[{models}]"] if models else []),
        *([f"metric={metric}"] if metric else []),
    ]
    try:
        with common.waiting_for(common.LOADING), collector_off():
            from mephisto_tasks.launch import config as settings
            from mephisto_tasks.launch import launch as launching

        amount = dialogues or entry.demo_amount
        how_many = [] if amount is None else [f"{entry.amount}={amount}"]
        if entry.amount == PAIRED and PAIRED not in (short_name(name_of(override)) for override in overrides):
            how_many.append("keep_pairs=true")  # nobody asked for this number if that breaks pairs up
        with common.waiting_for("Reading the settings…", on_screens_only=True):
            config = settings.compose_config(task, conf, [*overrides, *asked], beneath=[*how_many, *settings_of_demo])
        blueprint = config.mephisto.blueprint
        seed = int(blueprint.seed)
        practise_anew(blueprint, overrides, task_name)
        named = [*blueprint.models, *(model for group in blueprint.groups for model in group)]
        if named:  # else it is known only when the dialogues have been read
            _check_preference(prefer, named)
        stop = launching.stop_on_signals()
        with launching.run_launch(task, config, data_dir, common.waiting_for, stop=stop) as run:
            _check_preference(prefer, run.study.rated_models)
            if raters is None:
                announce(run, "Open the link and press Start. Each Start adds a rater. Press Ctrl-C to see the report.")
                follow(run, stop)
            else:
                announce_partners(run, common.console(stderr=True))
                worst = str(blueprint.get("quality_control_model") or "") or None
                simulate(run, stop, raters, prefer, strength, seed, worst)
        if not as_json:
            tell_answer(run)
        with common.waiting_for(common.READING):
            from mephisto_tasks.cli.report import answers_of
            from mephisto_tasks.cli.report_documents import Wanted

            tables, known = answers_of(run.data_dir, run.task_name)
        Wanted(page=None, as_json=as_json).report(tables, run.task_name, known)
        if not as_json:
            click.echo()
            tell_more(run)
    except HumanevalError as error:
        advised = [replace(one, try_=tuple(BY_OPTION.get(said, said) for said in one.try_)) for one in error.problems]
        raise CommandError(advised) from error


def practise_anew(blueprint: DictConfig, overrides: Sequence[str], task_name: str) -> None:
    """Raters practise for this task, whatever they did before; some techniques have no practice."""
    if blueprint.get(PRACTICE) and PRACTICE not in (short_name(name_of(override)) for override in overrides):
        blueprint[PRACTICE] = task_name


def _check_at_once(entry: Technique, models: str | None, port: int, chosen: tuple[str, ...]) -> None:
    from mephisto_tasks.cli.launch import check_port, check_settings
    from mephisto_tasks.config.files import check_models
    from parlai_humaneval.models.zoo.files import check_trained

    check_port(check_settings(entry.name, chosen), chosen, port=port)
    check_trained(check_models(entry, chosen, [name.strip() for name in (models or "").split(",") if name.strip()]))


def _check_preference(prefer: str | None, models: Sequence[str]) -> None:
    if prefer is not None and prefer not in models:
        raise WrongUsage(f"this demo has no model {prefer!r}", where="--prefer", **choose_from(prefer, models))


def simulate(
    run: RunningStudy,
    stop: threading.Event,
    raters: int,
    prefer: str | None,
    strength: float,
    seed: int,
    worst: str | None,
) -> None:
    from mephisto_tasks.simulation.raters import Behaviour, Outcome, run_raters
    from mephisto_tasks.storage.results import stored_runs

    behaviour = Behaviour(
        model_of=run.study.shown.get, prefer=prefer, strength=strength, practice=run.study.practice, worst=worst
    )
    _, wanted = run.study.so_far()
    what, is_decided = f"Simulated raters ({raters} at a time)", run.study.monitor is not None
    launches = len(stored_runs(run.data_dir, run.task_name))  # others came to each
    prefix = "sim" if launches < 2 else f"sim{launches}-"
    with counting(what, wanted, run.study.unit_words.counted, at_most=is_decided) as count_to:

        async def round_of(number: int) -> list[Outcome]:
            work = asyncio.ensure_future(
                run_raters(
                    run.url,
                    behaviour,
                    announce=run.study.simulated.add,
                    raters=raters,
                    dialogues=run.study.remaining,
                    seed=seed,
                    name=f"{prefix}{number}",
                    on_outcome=lambda _: count_to(*run.study.so_far()),
                )
            )
            while not work.done() and not stop.is_set():
                await asyncio.wait([work], timeout=0.2)
            if not work.done():
                work.cancel()
                return []
            return await work

        # One who may not judge what is left (a dialogue that they know, say) leaves it to others: rounds until all is done.
        for number in count(1):
            outcomes = asyncio.run(round_of(number))
            turned_away = [outcome for outcome in outcomes if not outcome.finished]
            if stop.is_set() or run.study.remaining == 0:
                break
            if len(turned_away) == len(outcomes):
                why = turned_away[0].refused or turned_away[0].stopped
                raise CommandError(f"{len(turned_away)} of {len(outcomes)} simulated raters could not finish: {why}")


def tell_more(run: RunningStudy) -> None:
    click.echo(f"The whole report:       {common.as_typed_here('report', run.task_name, run.data_dir)} --full")
    click.echo(f"The answers as tables:  {common.as_typed_here('export', run.task_name, run.data_dir)} --out tables")


OF_TRIAL = ("models", "groups", "embedded", "zoo_files", "place", "task_name")  # Settings that a trial has by itself
SHORT = 3  # turns of a chat: people who try a model have minutes
SHOWN = 200  # As many letters of the model's answer are printed
MOST_TOLD = 1000  # the longest part of an error to show, in characters
LASTING_S = 14 * 86400.0


@common.described("try", task={"type": TechniqueChoice(list(techniques("live")))})
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
    data_dir: Path,
) -> None:
    from mephisto_tasks.cli.launch import check_port, check_settings, follow, split_settings

    of_title = click.get_current_context().meta.get("setting")
    conf, overrides = split_settings((f"setting={of_title}", *chosen) if of_title else chosen)
    for setting in (short_name(name_of(override)) for override in overrides):
        if setting in OF_TRIAL:
            raise WrongUsage(worded(__file__, "for_launch", setting=setting))
    common.not_twice({"turns": turns}, overrides)
    if chosen:
        check_port(check_settings(task, chosen), chosen, port=port, hostname=host)
    else:  # without Hydra, so that a mistyped model is reported at once
        from mephisto_tasks.server.thread import listen

        listen(host, port, "--port …").close()
    with common.waiting_for(f"Looking for {model}…"):
        given = given_model(model, opponent, served_model, api_key_env)
    with common.waiting_for(common.LOADING), collector_off():
        from mephisto_tasks.config.files import as_typed
        from mephisto_tasks.crowds.registry import invited_place, offered
        from mephisto_tasks.launch import config as settings
        from mephisto_tasks.launch import launch as launching

    with common.waiting_for(f"Asking {model}…"):
        given, answer, seconds = first_answer(given)
    click.echo(f"{given.told} says “{on_one_line(answer, SHOWN)}” to “Hi!” (ready in {seconds:.1f} s)")
    task_name = f"try-{given.name}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    zoo_files = [str(_zoo_file(given, data_dir, task_name))] if given.options else []
    of_trial = {
        "models": [given.name, opponent],
        "zoo_files": zoo_files,
        technique(task).amount: limit,
        "onboarding_qualification": task_name if practice else None,
        "task_name": task_name,
        "task_reward": 0,  # people who try a model are not promised any pay
        "hostname": host,
        "port": port,
        "public_url": url or "",
    }
    beneath = [f"place={invited_place()}", *(f"{name}={as_typed(value)}" for name, value in of_trial.items())]
    config = settings.compose_config(task, conf, overrides, beneath=beneath)
    if turns is not None or (conf == PLAIN_CONF and "turns" not in map(short_name, map(name_of, overrides))):
        config.mephisto.blueprint.turns = turns or min(int(config.mephisto.blueprint.turns), SHORT)
    stop = launching.stop_on_signals()
    with launching.run_launch(task, config, data_dir, common.waiting_for, stop=stop) as run:
        from mephisto_tasks.cli.invite import show_code
        from mephisto_tasks.server.hosts import opens_elsewhere

        book = offered(lambda crowd: crowd.invitations(run.data_dir, run.task_name))
        link = book.link(book.invite_class("try", limit, LASTING_S), run.url)
        for remark in run.study.remarks:
            click.echo(remark)
        click.echo(f"\n{given.name} against {opponent}. Send this link to at most {limit} people:\n\n  {link}\n")
        if not opens_elsewhere(run.url):
            click.echo(
                "The link works only on this machine. To let others on your network open it, use --host 0.0.0.0.\n"
            )
        show_code(link)
        click.echo("Press Ctrl-C to end the study and see which model is ahead.\n")
        follow(run, stop)
    with common.waiting_for(common.READING, on_screens_only=True):
        from mephisto_tasks.cli.report import answers_of
        from parlai_humaneval.report.build import build_report
        from parlai_humaneval.report.section import Options

        tables, known = answers_of(run.data_dir, run.task_name)
        headline = build_report(tables, Options(), title=run.task_name, task=known).headline()
    common.console().print(headline, style="bold", markup=False)
    tell_more(run)
    click.echo(f"They are stored in      {run.data_dir}")


def given_model(model: str, opponent: str, served_model: str | None, api_key_env: str | None) -> Given:
    """The named model, after a check that the opponent exists. Raises ZooError."""
    from parlai_humaneval.models.selection import model_given
    from parlai_humaneval.models.zoo.entries import ZooError, load_zoo, resolve

    zoo = load_zoo()
    resolve([opponent], zoo)
    given = model_given(model, zoo, served_model=served_model, key_variable=api_key_env)
    if given.name == opponent:
        raise ZooError(f"{opponent} cannot be its own opponent", try_="choose another: --opponent eliza")
    return given


def first_answer(given: Given) -> tuple[Given, str, float]:
    """The model as it is asked from now on, its answer to a greeting, and seconds to it; where a server refuses a part
    of the request, with the option that mends that. Raises ZooError."""
    from parlai_humaneval.models.agent.isolation import FUNCTION_LOGGER, quiet_tries
    from parlai_humaneval.models.check import check, load_and_ask, mends_of, told
    from parlai_humaneval.models.model_pool import ModelFailed
    from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError, load_zoo

    options = dict(given.options)
    spec = ModelSpec(name=given.name, options=options) if options else load_zoo()[given.name]
    checked = check(spec)
    if not checked.ok:
        raise ZooError(f"{given.told} cannot be asked: {checked.reason}")
    try:
        with quiet_tries(FUNCTION_LOGGER):  # the error names the file and the line
            asked = load_and_ask(spec)
    except (ZooError, ModelFailed, RuntimeError) as error:
        mend = next((mend for mend in mends_of(error) if mend.is_settled and mend.option != "served_model"), None)
        if options and mend is not None and options.get(mend.option, ...) != mend.value:
            now = f"From now on, requests use `{mend.as_yaml}`."
            click.echo(f"{given.told} rejected part of the request. {now}", err=True)
            return first_answer(replace(given, options={**options, mend.option: mend.value}))
        why = told(error).removeprefix(f"{given.name} failed: ").removeprefix(f"{given.name} cannot be loaded: ")
        says_which = why.startswith(str(options.get("function") or "\n"))
        raise ZooError(on_one_line(why if says_which else f"{given.told} does not answer: {why}", MOST_TOLD)) from error
    return given, str(asked["reply"]), float(asked["load_s"])


def _zoo_file(given: Given, data_dir: Path, task_name: str) -> Path:
    """The model's entry, kept with the study: what was tried can be seen, and launched, later on."""

    from mephisto_tasks.storage.locks import study_folder

    path = study_folder(data_dir, task_name) / "model.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    entry = {"description": f"Tried: {given.told}.", "options": dict(given.options)}
    path.write_text(yaml.safe_dump({"models": {given.name: entry}}, allow_unicode=True), encoding="utf-8")
    return path
