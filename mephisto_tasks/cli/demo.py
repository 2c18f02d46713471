"""``parlai-humaneval demo``: embedded models on this machine, rated by you or by simulated raters."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

import click

from mephisto_tasks._util.gc import collector_off
from mephisto_tasks.cli.options import (
    LOADING,
    READING,
    TechniqueCommand,
    as_typed_here,
    clear_errors,
    console,
    data_dir_of,
    data_dir_option,
    json_option,
    not_twice,
    waiting_for,
)
from parlai_humaneval._util.errors import HumanevalError, choose_from, reworded
from parlai_humaneval._util.terminal import counting
from parlai_humaneval.cli.errors import CommandError, WrongUsage
from parlai_humaneval.statistics.core.formatting import counted
from parlai_humaneval.techniques.registry import Technique, technique

if TYPE_CHECKING:
    from mephisto_tasks.launch.launch import RunningStudy

EPILOG = """\b
Examples:
  parlai-humaneval demo
  parlai-humaneval demo --raters 4 --dialogues 20 --prefer retrieval --strength 0.7
  parlai-humaneval demo --task sata setting=sata_user turns=3
  parlai-humaneval demo --task sata conf=liu2023_mm embedded=true --raters 4 --dialogues 3
  parlai-humaneval demo --task direct_assessment --raters 4 --dialogues 8 --json > report.json
  parlai-humaneval demo --task self_chat --raters 4 --dialogues 20
  parlai-humaneval demo --task spot_the_bot
  parlai-humaneval demo --task third_party 'dialogues=[{task: NAME}]'
"""

NAME_MODELS = "'models=[a,b]'"
"""What errors of settings recommend, for any command."""


@click.command(cls=TechniqueCommand, epilog=EPILOG)
@click.option(
    "--task",
    default="pw_turn",
    show_default=True,
    help="One of the techniques above, as for `launch`.",
)
@click.option(
    "--raters",
    type=click.IntRange(min=1, max=64),
    help="So many simulated raters at a time, instead of waiting for people. Each unit of work is a new rater's.",
)
@click.option(
    "--dialogues",
    type=click.IntRange(min=1),
    help="Dialogues to collect, of each group (10). For self_chat and pw_dialog: judgements of each pair of "
    "models; for spot_the_bot: dialogues of each pair; for third_party: dialogues to rate (by default all).",
)
@click.option("--port", type=click.IntRange(0, 65535), default=3000, show_default=True, help="0: any free one.")
@data_dir_option
@json_option
@click.option("--metric", help="The question that raters answer, where the technique has several (pw_turn has three).")
@click.option("--models", help="Models to rate, from `models list`. Default: those of the task's conf `local`.")
@click.option("--prefer", metavar="MODEL", help="The model that simulated raters like better.")
@click.option(
    "--strength",
    type=click.FloatRange(0, 1),
    default=0.7,
    show_default=True,
    help="How often a simulated rater chooses it.",
)
@click.option("--seed", type=int, help="Of orders, personas and simulated raters. Default: drawn, and recorded.")
@click.argument("chosen", nargs=-1, metavar="[conf=NAME] [SETTING=VALUE]...")
def demo(
    task: str,
    raters: int | None,
    dialogues: int | None,
    port: int,
    data_dir: str | None,
    as_json: bool,
    metric: str | None,
    models: str | None,
    prefer: str | None,
    strength: float,
    seed: int | None,
    chosen: tuple[str, ...],
) -> None:
    """Rate embedded models on this machine, now.

    Without --raters it prints a link and waits for people; with it, simulated raters go through the same pages' protocol
    and the report is printed. Confs and settings are as for `launch`. Without --prefer simulated raters answer at random,
    but for a degraded model, which most of them rate low.
    """
    not_twice({"models": models, "metric": metric, "seed": seed}, chosen)
    if dialogues is not None and "stop=decided" in chosen:
        raise WrongUsage(
            "--dialogues asks for so many of each group, and stop=decided for as many as it takes",
            try_="say max_dialogues=N",
        )
    if prefer is not None and raters is None:
        raise WrongUsage("--prefer tells simulated raters what to like", try_="add --raters N")
    with clear_errors():
        entry = technique(task)
        click.echo(f"Demo of {entry.title}: {entry.summary}.\n{_who_rates(raters)}", err=True)
        _check_at_once(entry, models, port, chosen)
    seed = secrets.randbelow(2**31) if seed is None else seed
    what = f"{task}-{metric}" if metric else task
    task_name = f"demo-{what.replace('_', '-')}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    # Imported here, as all that takes its time: the first line stands before.
    from mephisto_tasks.cli.launch import announce, announce_partners, follow, split_settings, tell_answer

    conf, overrides = split_settings(chosen)
    settings_of_demo = [
        f"seed={seed}",
        f"onboarding_qualification={task_name}",
        f"port={port}",
        f"task_name={task_name}",
        *([f"models=[{models}]"] if models else []),
        *([f"metric={metric}"] if metric else []),
    ]
    with clear_errors(), _in_words_of_demo():
        with waiting_for(LOADING), collector_off():
            from mephisto_tasks.launch import config as settings
            from mephisto_tasks.launch import launch as launching

        amount = dialogues or entry.demo_amount
        how_many = [] if amount is None else [f"{entry.amount}={amount}"]
        with waiting_for("Reading the settings…", on_screens_only=True):
            config = settings.compose_config(task, conf, overrides, beneath=[*how_many, *settings_of_demo])
        blueprint = config.mephisto.blueprint
        named = [*blueprint.models, *(model for group in blueprint.groups for model in group)]
        if named:  # else it is known only when the dialogues have been read
            _check_preference(prefer, named)
        stop = launching.stop_on_signals()
        with launching.run_launch(task, config, data_dir_of(data_dir), waiting_for, stop=stop) as run:
            _check_preference(prefer, run.study.rated_models)
            if raters is None:
                announce(
                    run, "Open the link and press Start; each Start is a new rater. Ctrl-C stops and shows the report."
                )
                follow(run, stop)
            else:
                announce_partners(run, console(stderr=True))
                worst = str(blueprint.get("quality_control_model") or "") or None
                _simulate(run, stop, raters, prefer, strength, seed, worst)
        if not as_json:
            tell_answer(run)
        _print_report(run, as_json)


def _who_rates(raters: int | None) -> str:
    if raters is None:
        return "You rate, in a browser: a link comes in some seconds."
    return f"Nobody has to do anything: {counted(raters, 'simulated rater')} at a time rate, and the report follows."


def _check_at_once(entry: Technique, models: str | None, port: int, chosen: Sequence[str]) -> None:
    from mephisto_tasks.server.ports import listen
    from parlai_humaneval.models.zoo.entries import load_zoo, resolve
    from parlai_humaneval.models.zoo.files import check_trained

    if not chosen:  # what is wrong with settings is told before
        listen("127.0.0.1", port).close()
    if models is None or entry.engine != "live":  # others' models may speak in dialogues that are finished
        return
    zoo = load_zoo()
    names = [name.strip() for name in models.split(",")]
    more_to_know = any("zoo_files=" in setting or setting.startswith("conf=") for setting in chosen)
    check_trained(resolve([name for name in names if name in zoo] if more_to_know else names, zoo))


@contextmanager
def _in_words_of_demo() -> Iterator[None]:
    try:
        yield
    except HumanevalError as error:
        raise CommandError(reworded(error, NAME_MODELS, "--models a,b")) from error


def _check_preference(prefer: str | None, models: Sequence[str]) -> None:
    if prefer is not None and prefer not in models:
        raise WrongUsage(f"no model of this demo is called {prefer!r}", where="--prefer", **choose_from(prefer, models))


def _simulate(
    run: RunningStudy,
    stop: threading.Event,
    raters: int,
    prefer: str | None,
    strength: float,
    seed: int,
    worst: str | None,
) -> None:
    from mephisto_tasks.simulation.raters import Behaviour, Outcome, run_raters

    behaviour = Behaviour(
        model_of=run.study.model_of,
        prefer=prefer,
        strength=strength,
        practice=run.study.practice,
        worst=worst,
    )
    _, wanted = run.study.so_far()
    what, is_decided = counted(raters, "simulated rater"), run.study.course is not None
    with counting(what, wanted, run.study.unit_words.counted, at_most=is_decided) as count_to:

        def note(_: Outcome) -> None:
            count_to(*run.study.so_far())

        async def round_of(number: int) -> list[Outcome]:
            work = asyncio.ensure_future(
                run_raters(
                    run.url,
                    behaviour,
                    announce=run.study.expect_simulated,
                    raters=raters,
                    dialogues=run.study.remaining,
                    seed=seed,
                    name=f"sim{number}",
                    on_outcome=note,
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
                raise CommandError(
                    f"{len(turned_away)} of {len(outcomes)} simulated raters could not finish: "
                    f"{turned_away[0].refused or turned_away[0].stopped}"
                )


def _print_report(run: RunningStudy, as_json: bool) -> None:
    with waiting_for(READING):
        from mephisto_tasks.cli.report import answers_of
        from mephisto_tasks.cli.report_documents import Wanted

        tables, known = answers_of(run.data_dir, run.task_name)
    Wanted(page=None, as_json=as_json).report(tables, run.task_name, known)
    if as_json:
        return
    click.echo(f"\nThe whole report:       {as_typed_here('report', run.task_name, run.data_dir)} --full")
    click.echo(f"The answers as tables:  {as_typed_here('export', run.task_name, run.data_dir)} --out tables")
