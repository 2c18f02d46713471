"""``parlai-humaneval pilot``: a few dialogues with colleagues, and the plan of the main study by what they tell."""

from __future__ import annotations

import secrets
import shlex
import time
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mephisto_tasks._util.gc import collector_off
from mephisto_tasks.cli.options import LOADING, PROGRAM, READING, TechniqueCommand, console, described, waiting_for
from mephisto_tasks.config.files import technique_of_file
from mephisto_tasks.config.names import name_of, short_name
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval._util.terminal import say_json
from parlai_humaneval.cli.errors import CommandError, WrongUsage
from parlai_humaneval.statistics.core.formatting import counted, listed, percent
from parlai_humaneval.techniques.registry import technique

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from mephisto_tasks.payments.policy import Quote
    from parlai_humaneval.planning.inputs import PlanInputs
    from parlai_humaneval.planning.pilot import Pilot
    from parlai_humaneval.planning.preregistration import Preregistration
    from parlai_humaneval.tables.columns import Tables

MARGIN = 0.1
REGISTERED = (
    "metric", "question", "models", "turns", "conversations_per_unit", "items_per_unit", "blocking_checks"
)  # fmt: skip
"""Settings of the main study that its preregistration holds besides those that are planned, where the technique has them."""
RULE = ("stop", "margin", "max_dialogues")
OF_RULE = ("raters_at_a_time", "time_out_minutes", "transitive", "judge")
OF_MAIN_STUDY = frozenset(
    {"prereg", "task_name", "place", "server", "workers", "port", "hostname", "public_url", "task_reward", "pay"}
)
"""Settings that the pilot on this machine does not take over; so it is with all of crowds, and of the rule."""


@described("pilot", cls=TechniqueCommand)
def pilot(
    task: str,
    chosen: tuple[str, ...],
    dialogues: int,
    raters: int | None,
    port: int,
    name: str | None,
    tables_dir: str | None,
    margin: float | None,
    max_dialogues: int | None,
    replicates: int | None,
    seed: int | None,
    prereg: str | None,
    exclude: str | None,
    data_dir: Path,
    as_json: bool,
) -> None:
    from mephisto_tasks.cli.launch import split_settings

    if name is not None and tables_dir is not None:
        raise WrongUsage("--task-name and --tables both name a pilot", try_="leave one of them out")
    if exclude is not None and prereg is None:
        raise WrongUsage("--exclude is for a preregistration", try_="add --prereg FILE")
    task, chosen = technique_of_file(task, chosen)
    entry, (conf, overrides) = technique(task), split_settings(chosen)
    with waiting_for(LOADING), collector_off():
        from mephisto_tasks.config.files import read_short_conf
        from mephisto_tasks.launch.config import compose_config
        from mephisto_tasks.launch.preparation import launchable, unknown_models
        from parlai_humaneval.cli.plan import facts_of, of_settings, plan_text, until_decided, write_registered
        from parlai_humaneval.planning.inputs import PlanError, plannable
        from parlai_humaneval.planning.pilot import pilot_of, with_pilot
        from parlai_humaneval.planning.plan import plan_study
        from parlai_humaneval.planning.preregistration import check_new
        from parlai_humaneval.planning.stopping import can_plan_until_decided, is_usual
        from parlai_humaneval.quality.registry import known_checks
        from parlai_humaneval.stopping.rule import checked_margin

    # What is wrong is told before anybody rates anything.
    if task not in plannable():
        raise CommandError(f"a {task} study cannot be planned", try_=f"choose one of: {', '.join(plannable())}")
    path = None if prereg is None else Path(prereg).expanduser()
    if path is not None:
        check_new(path)
        known_checks(name.strip() for name in (exclude or "").split(",") if name.strip())
    main = compose_config(task, conf, overrides)
    blueprint = main.mephisto.blueprint
    if blueprint.prereg:
        raise CommandError(
            "a pilot comes before the study is registered, and is not part of it",
            where="prereg",
            try_="leave prereg out, or launch the registered study",
        )
    of_file = read_short_conf(conf)
    is_fixed = "stop=collected" in [*(of_file.overrides if of_file else ()), *overrides]
    is_fixed = is_fixed or not (blueprint.stop == "decided" or is_usual(task, len(_models(main)) or 2))
    is_planned = not is_fixed and can_plan_until_decided(task, len(_models(main)) or 2, MARGIN)
    blueprint.max_dialogues = cap = max_dialogues or blueprint.max_dialogues
    margin = blueprint.margin if margin is None else margin
    if is_planned or blueprint.stop == "decided":  # else it is the gap to find
        blueprint.margin = margin
    served = _checked(task, main, data_dir, is_planned=is_planned)
    gap = checked_margin(MARGIN if margin is None else margin)
    if tables_dir is not None:
        tables = _tables(Path(tables_dir).expanduser())
    else:
        pilot_task = name or _collected(task, conf, overrides, dialogues, raters, port, data_dir)
        with waiting_for(READING, on_screens_only=True):
            from mephisto_tasks.cli.report import answers_of

            tables, _ = answers_of(data_dir, pilot_task)
    _check_enough(tables)
    try:
        found_pilot = pilot_of(tables, task)
    except PlanError as error:
        other = f"name a study that used {task}, or the technique that this one used: {PROGRAM} pilot TASK …"
        raise CommandError(error.what, try_=other) from error
    is_named = conf != "local" or any(
        short_name(name_of(word)) in ("models", "groups", "embedded") for word in overrides
    )
    models = _models(main) if is_named else list(found_pilot.models)
    chosen = chosen if is_named else (*chosen, f"models=[{','.join(models)}]")
    typed = {"technique": task, "gap": gap, "models": len(models), "alpha": blueprint.alpha}
    degraded = {name: blueprint[name] for name in ("quality_control_model",) if name in blueprint}
    typed |= of_settings({"dialogues": _own_dialogues(main), **degraded})
    typed |= {"seed": (blueprint.seed or 0) if seed is None else seed, **_pay(main)}
    if found_pilot.dialogue_icc is not None and (found_pilot.dialogue_icc_low or 0.0) <= 0:
        typed["dialogue_icc"] = 0.0  # dialogues that may be equally good are taken for that
    if entry.habits is not None and (setting := str(blueprint.get("setting") or "")) in entry.habits.settings:
        typed["setting"] = setting
    inputs, quote, remarks = _priced(main, found_pilot, typed)
    plan = with_pilot(plan_study(inputs), inputs, found_pilot, {key: typed[key] for key in typed if key != "models"})
    amount = plan.n_dialogues if inputs.habits.held else plan.n_judgements_collected
    rule: dict[str, Any] | None = None
    expected = ""
    if not is_fixed and can_plan_until_decided(task, len(models), gap):
        try:
            stop = until_decided(inputs, margin, cap, replicates)
            if served is not None and stop["max_dialogues"] > served:
                remarks.append(
                    f"The cap is {served:,}, because the dialogues do not allow more judgements. Otherwise it would be "
                    f"{stop['max_dialogues']:,}."
                )
                stop = until_decided(inputs, margin, served, replicates)
        except PlanError as error:
            if blueprint.stop == "decided":  # with a plan of a fixed number it would be another study
                raise
            remarks.append(f"The plan does not include stop=decided: {error}.")
        else:
            plan, amount = plan.model_copy(update={"stop": stop}), int(stop["max_dialogues"])
    if plan.stop is None and blueprint.stop == "decided":
        if margin is None or cap is None:
            raise CommandError(
                f"the number of dialogues that a {task} study needs to reach a decision cannot be simulated",
                try_="set margin=… and max_dialogues=…, or leave stop=decided out",
            )
        rule, amount = {key: blueprint[key] for key in ("margin", "alpha", "max_dialogues", "raters_at_a_time")}, cap
        expected = (
            f"The cap of {cap:,} is yours: how long a {task} study takes to reach a decision cannot be simulated."
        )
        remarks.append(expected)
    quote = quote and _quote(main, amount)
    names = (*REGISTERED, *(OF_RULE if plan.stop or rule else ()))
    held = {key: blueprint[key] for key in names if key in blueprint and blueprint[key] not in (None, "")}
    settings = {key: _plain(value) for key, value in held.items()} | {"models": models}
    facts = facts_of(inputs, plan, settings, exclude, rule)
    words = [word for word in chosen if short_name(name_of(word)) not in {*RULE, technique(task).amount}]
    try:
        facts = launchable(facts, data_dir, *split_settings(tuple(words)))
    except HumanevalError as error:
        if path is not None:
            raise
        remarks.append(f"A launch would reject these settings: {error}.")
    if path is not None:
        write_registered(path, facts, plan, expected)
    command = _command(facts, words, prereg)
    lacking = [] if entry.engine == "judging" else unknown_models(models, list(blueprint.zoo_files))
    if lacking:
        command += " 'zoo_files=[FILE]'"
        remarks.append(f"FILE is your zoo file with {listed(lacking)}, which the packaged zoo files do not contain.")
    if as_json:
        say_json(
            {
                "pilot": found_pilot.model_dump(mode="json"),
                "figures": _figures(found_pilot, inputs),
                "plan": plan.model_dump(mode="json"),
                "quote": None if quote is None else quote.model_dump(mode="json"),
                "remarks": remarks,
                "preregistration": prereg,
                "digest": facts.digest if prereg else None,
                "command": command,
            }
        )
        return
    _print(found_pilot, inputs, quote, remarks)
    click.echo(plan_text(plan))
    if prereg is not None:
        click.echo(f"\nThe main study is registered as {facts.name} in {prereg}.")
    click.echo(f"\nThe main study:\n  {command}")


def _models(config: DictConfig) -> list[str]:
    groups = config.mephisto.blueprint.groups
    return list(dict.fromkeys([*config.mephisto.blueprint.models, *(model for group in groups for model in group)]))


def _checked(task: str, config: DictConfig, data_dir: Path, *, is_planned: bool) -> int | None:
    """Ask of the settings what a launch asks, before anybody rates anything; returns how many judgements the dialogues
    serve, where that is known. ``is_planned``: the plan says what the rule lacks."""
    from mephisto_tasks.annotation.build import judge_of
    from mephisto_tasks.annotation.config import StaticConfig
    from mephisto_tasks.config.stopping import StoppingSettings
    from mephisto_tasks.launch.preparation import check_dialogues, checked_settings, judgements_served

    blueprint, asked = config.mephisto.blueprint, config.copy()
    if is_planned and (blueprint.margin is None or blueprint.max_dialogues is None):
        fields = StoppingSettings.model_fields
        for name in fields.keys() - {"alpha", "transitive"}:
            asked.mephisto.blueprint[name] = fields[name].default
    elif is_planned:
        asked.mephisto.blueprint.stop = "decided"
    settings = checked_settings(task, asked)
    check_dialogues(settings, data_dir)
    if isinstance(settings, StaticConfig):
        judge_of(settings.model_copy(update={name: blueprint[name] for name in ("judge", "judge_max_cost")}))
    return judgements_served(settings, data_dir)


def _own_dialogues(config: DictConfig) -> list[Any]:
    """Finished dialogues that are named, and are not our samples."""
    from parlai_humaneval.dialogues.sources import PACKAGED

    named = _plain(config.mephisto.blueprint.get("dialogues")) or []
    return [] if PACKAGED in named else list(named)


def _plain(value: Any) -> Any:
    from omegaconf import OmegaConf

    return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value


def _tables(folder: Path) -> Tables:
    from parlai_humaneval.tables.files import read_tables

    if not folder.exists():
        raise CommandError("there is no such folder or table", where=folder, try_=f"{PROGRAM} export --out writes one")
    with waiting_for("Reading the tables…", on_screens_only=True):
        return read_tables(folder)


def _collected(
    task: str, conf: str, overrides: Sequence[str], dialogues: int, raters: int | None, port: int, data_dir: Path
) -> str:
    """Launch the pilot on this machine, with the settings of the main study that shape a dialogue; returns its name."""
    from mephisto_tasks.cli.demo import practise_anew, simulate
    from mephisto_tasks.cli.launch import announce, follow
    from mephisto_tasks.config.files import read_short_conf
    from mephisto_tasks.config.stopping import StoppingSettings
    from mephisto_tasks.crowds.registry import crowds
    from mephisto_tasks.launch import launch as launching
    from mephisto_tasks.launch.config import compose_config

    of_file = read_short_conf(conf)
    conf, typed = (conf, [*overrides]) if of_file is None else (of_file.conf, [*of_file.overrides, *overrides])
    of_crowds = {field for crowd in crowds() for field in crowd.Settings.model_fields}
    left_out = OF_MAIN_STUDY | of_crowds | StoppingSettings.model_fields.keys()
    kept = [override for override in typed if short_name(name_of(override)).partition(".")[0] not in left_out]
    task_name = f"pilot-{task.replace('_', '-')}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    seed, entry = secrets.randbelow(2**31), technique(task)
    amount = [f"{entry.amount}={dialogues}"]
    # Colleagues are not told of pay that raters of the main study get.
    config = compose_config(
        task, conf, [*kept, *amount, "task_reward=0"], beneath=[f"task_name={task_name}", f"port={port}"]
    )
    practise_anew(config.mephisto.blueprint, kept, task_name)
    stop = launching.stop_on_signals()
    with launching.run_launch(task, config, data_dir, waiting_for, stop=stop) as run:
        if raters is None:
            announce(run, "Each Start adds a rater. Press Ctrl-C to end the pilot and plan from its results so far.")
            follow(run, stop)
        else:
            simulate(
                run, stop, raters, None, 0.5, seed, str(config.mephisto.blueprint.get("quality_control_model") or "")
            )
    return task_name


def _check_enough(tables: Tables) -> None:
    """Raises CommandError where nothing can be said at all."""
    frames = (tables.turns, tables.comparisons, tables.ratings, tables.segments)
    workers = {worker for frame in frames for worker in frame["worker_id"]}
    if not workers:
        raise CommandError("the pilot has no ratings", try_="have two or more raters finish a dialogue each")
    if len(workers) == 1:
        raise CommandError(
            "the pilot has 1 rater, which shows nothing about how raters differ", try_="use two or more, ten if you can"
        )


def _pay(config: DictConfig) -> dict[str, float]:
    """Dollars for a dialogue (of finished ones, a judgement), by the reward of a unit; empty where none is promised."""
    reward = float(config.mephisto.task.task_reward)
    return {"pay": round(reward / _in_a_unit(config), 4)} if reward else {}


def _in_a_unit(config: DictConfig) -> int:
    blueprint = config.mephisto.blueprint
    return int(blueprint.get("conversations_per_unit") or blueprint.get("items_per_unit") or 1)


def _quote(config: DictConfig, dialogues: int) -> Quote | None:
    """What the crowd takes for so many dialogues; None where nobody is paid there."""
    from mephisto_tasks.crowds.registry import crowd_in
    from mephisto_tasks.launch.preparation import settings_of

    return crowd_in(config).quote_more(-(-dialogues // _in_a_unit(config)), settings_of(config))


def _priced(config: DictConfig, found: Pilot, typed: dict[str, Any]) -> tuple[PlanInputs, Quote | None, list[str]]:
    """The question, with the fee that the main study's crowd takes, where it says one."""
    from parlai_humaneval.planning.inputs import FEE, ask

    quote, remarks = None, []
    try:
        quote = _quote(config, 1)
    except HumanevalError as error:
        remarks.append(f"The crowd's fee is unknown ({error.what}), so the plan assumes {percent(FEE)}.")
    if quote is not None and quote.rewards > Decimal(0):
        typed["fee"] = float(quote.fees / quote.rewards)
    return ask(**{**found.question(), **typed}), quote, remarks


def _command(facts: Preregistration, chosen: Sequence[str], prereg: str | None) -> str:
    """The launch of the main study, as it can be typed."""
    planned = RULE if facts.is_decided else (technique(facts.technique).amount,)
    rest = [f"{name}={facts.settings[name]}" for name in planned if name in facts.settings]
    if prereg is not None:
        rest = [f"prereg={prereg}"]
    return shlex.join([PROGRAM, "launch", facts.technique, *chosen, *rest])


def _figures(found: Pilot, inputs: PlanInputs) -> list[dict[str, Any]]:
    """What the pilot tells, between which bounds, and what is planned with: a default where it does not tell."""
    plan, is_default = inputs.filled(), not found.tells_icc
    ties = None if found.discordance is None else 1 - found.discordance
    low, high = (None if end is None else 1 - end for end in (found.discordance_high, found.discordance_low))
    rows = (
        ("icc", found.icc, found.icc_low, found.icc_high, plan.icc, is_default),
        ("drop_out", found.left, found.left_low, found.left_high, None, False),
        ("minutes", found.minutes, found.minutes_low, found.minutes_high, plan.minutes, found.minutes is None),
        ("ties", ties, low, high, 1 - (plan.discordance or 1.0), ties is None),
    )[: 4 if plan.habits.discordance < 1 else 3]  # where a choice is asked for, there are no ties
    return [dict(zip(("name", "pilot", "low", "high", "planned", "is_default"), row, strict=True)) for row in rows]


_LABELS = {
    "icc": "how alike a rater's answers are (ICC)",
    "drop_out": "raters who left something unfinished",
    "minutes": "minutes a dialogue",
    "ties": "ties",
}


def _print(found: Pilot, inputs: PlanInputs, quote: Quote | None, remarks: Sequence[str]) -> None:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in (f"The pilot ({counted(found.n_workers, 'rater')})", "value", "95 % interval", "planned with"):
        table.add_column(title)
    for row in _figures(found, inputs):
        write = {"icc": "{:.3f}".format, "minutes": "{:.3g}".format}.get(row["name"], percent)
        values = (row[key] for key in ("pilot", "low", "high", "planned"))
        told, low, high, planned = (None if value is None else write(value) for value in values)
        interval = "–" if low is None or high is None else f"{low} to {high}"
        default = " (default)" if row["is_default"] else ""
        table.add_row(_LABELS[row["name"]], told or "not known", interval, f"{planned or '–'}{default}")
    out = console()
    out.print(table)
    if quote is not None:
        from mephisto_tasks.cli.launch import print_total

        print_total(quote.model_copy(update={"heading": "The main study, at most", "facts": []}))
    for remark in remarks:
        out.print(remark, markup=False, soft_wrap=True)
    out.print()
