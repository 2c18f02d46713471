"""``parlai-humaneval pilot``: a few dialogues with colleagues, and a plan of the main study based on them."""

from __future__ import annotations

import secrets
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mephisto_tasks._util.gc import collector_off
from mephisto_tasks.cli.options import LOADING, PROGRAM, READING, TechniqueCommand, described, waiting_for
from mephisto_tasks.config.files import check_models, read_short_conf, technique_of_file
from mephisto_tasks.config.names import PLAIN_CONF, name_of, short_name
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
    from parlai_humaneval.planning.plan import Plan
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

USUAL = 6  # Dialogues of each pair or group


@described("pilot", cls=TechniqueCommand)
def pilot(
    task: str,
    chosen: tuple[str, ...],
    dialogues: int | None,
    raters: int | None,
    port: int,
    name: str | None,
    tables_dir: str | None,
    as_json: bool,
    **planned: Any,
) -> None:
    if name is not None and tables_dir is not None:
        raise WrongUsage("--task-name and --tables both name a pilot", try_="leave one of them out")
    if planned["exclude"] is not None and planned["prereg"] is None:
        raise WrongUsage("--exclude is for a preregistration", try_="add --prereg FILE")
    task, chosen = technique_of_file(task, chosen)
    if name is None and tables_dir is None:  # a pilot that is there already may have models that are elsewhere
        check_models(technique(task), chosen)
    main = _MainStudy(task, chosen, **planned)
    main.compose()
    main.check()
    collects = tables_dir is None and (name is None or dialogues is not None or raters is not None)
    if collects:
        name = _collected(main, name, dialogues or USUAL, raters, port)
    with waiting_for(READING, on_screens_only=True):
        tables = _tables(tables_dir, main.data_dir, str(name))
    frames = (tables.turns, tables.comparisons, tables.ratings, tables.segments)
    workers = {worker for frame in frames for worker in frame["worker_id"]}
    if len(workers) < 2:
        one = "the pilot has 1 rater, which shows nothing about how raters differ"
        what = one if workers else "the pilot has no ratings"
        raise CommandError(what, try_="use two or more raters, ten if you can")
    main.learn(tables)
    main.plan_fixed()
    main.plan_until_decided()
    main.register()
    main.show(as_json, name if collects else None)


@dataclass
class _MainStudy:
    """The study that a pilot is for; each phase makes what the next ones need."""

    task: str
    chosen: tuple[str, ...]
    data_dir: Path
    margin: float | None
    max_dialogues: int | None
    replicates: int | None
    seed: int | None
    prereg: str | None
    exclude: str | None
    rule: dict[str, Any] | None = None
    expected: str = ""

    def compose(self) -> None:
        """Its settings, with the rule by which it will end."""
        from mephisto_tasks.cli.launch import check_settings, split_settings

        check_settings(self.task, self.chosen)
        self.entry = technique(self.task)
        self.conf, self.overrides = split_settings(self.chosen)
        with waiting_for(LOADING), collector_off():
            from mephisto_tasks.launch.config import compose_config
            from parlai_humaneval.planning.inputs import plannable
            from parlai_humaneval.planning.stopping import can_plan_until_decided, is_usual

        if self.task not in plannable():
            what = f"a {self.task} study cannot be planned"
            raise CommandError(what, try_=f"choose one of: {', '.join(plannable())}")
        self.config = compose_config(self.task, self.conf, self.overrides)
        self.blueprint = blueprint = self.config.mephisto.blueprint
        of_file, models = read_short_conf(self.conf), len(_models(self.config)) or 2
        typed_fixed = "stop=collected" in [*(of_file.overrides if of_file else ()), *self.overrides]
        self.is_fixed = typed_fixed or not (blueprint.stop == "decided" or is_usual(self.task, models))
        self.is_planned = not self.is_fixed and can_plan_until_decided(self.task, models, MARGIN)
        blueprint.max_dialogues = self.cap = self.max_dialogues or blueprint.max_dialogues
        self.margin = blueprint.margin if self.margin is None else self.margin
        if self.is_planned or blueprint.stop == "decided":  # else it is the gap to find
            blueprint.margin = self.margin

    def check(self) -> None:
        """Say what is wrong before anybody rates anything."""
        from parlai_humaneval.planning.preregistration import check_new
        from parlai_humaneval.quality.registry import known_checks
        from parlai_humaneval.stopping.rule import checked_margin

        self.path = None if self.prereg is None else Path(self.prereg).expanduser()
        if self.path is not None:
            check_new(self.path)
            known_checks(name.strip() for name in (self.exclude or "").split(",") if name.strip())
        if self.blueprint.prereg:
            what = "a pilot comes before the study is registered, and is not part of it"
            raise CommandError(what, where="prereg", try_="leave prereg out, or launch the registered study")
        # What a launch asks of the settings, before anybody rates anything; where it is planned, the plan says what the rule
        # lacks.
        from mephisto_tasks.annotation.build import judge_of
        from mephisto_tasks.annotation.config import StaticConfig
        from mephisto_tasks.config.stopping import StoppingSettings
        from mephisto_tasks.launch.preparation import check_dialogues, checked_settings

        blueprint, asked = self.config.mephisto.blueprint, self.config.copy()
        if self.is_planned and (blueprint.margin is None or blueprint.max_dialogues is None):
            fields = StoppingSettings.model_fields
            for name in fields.keys() - {"alpha", "transitive"}:
                asked.mephisto.blueprint[name] = fields[name].default
        elif self.is_planned:
            asked.mephisto.blueprint.stop = "decided"
        settings = checked_settings(self.task, asked)
        self.served = check_dialogues(settings, self.data_dir)
        if isinstance(settings, StaticConfig):
            judge_of(settings.model_copy(update={name: blueprint[name] for name in ("judge", "judge_max_cost")}))
        self.gap = checked_margin(MARGIN if self.margin is None else self.margin)

    def learn(self, tables: Tables) -> None:
        """Learn from the pilot about raters, and about models if the settings name none."""
        from parlai_humaneval.planning.inputs import PlanError
        from parlai_humaneval.planning.pilot import pilot_of

        try:
            self.pilot = pilot_of(tables, self.task)
        except PlanError as error:
            other = f"name a study that used {self.task}, or the technique that this one used: {PROGRAM} pilot TASK …"
            raise CommandError(error.what, try_=other) from error
        named = {short_name(name_of(word)) for word in self.overrides}
        if self.conf != PLAIN_CONF or named & {"models", "groups", "embedded"}:
            self.models = _models(self.config)
        else:
            self.models = list(self.pilot.models)
            self.chosen = (*self.chosen, f"models=[{','.join(self.models)}]")

    def plan_fixed(self) -> None:
        """The plan of so many dialogues, with the pay of the settings and the fee of their crowd."""
        from parlai_humaneval.cli.plan import of_settings
        from parlai_humaneval.dialogues import PACKAGED
        from parlai_humaneval.planning.pilot import with_pilot
        from parlai_humaneval.planning.plan import plan_study

        blueprint, habits = self.blueprint, self.entry.habits
        typed = {"technique": self.task, "gap": self.gap, "alpha": blueprint.alpha}
        if reward := float(self.config.mephisto.task.task_reward):
            typed["pay"] = round(reward / self._in_a_unit, 4)
        typed["seed"] = (blueprint.seed or 0) if self.seed is None else self.seed
        degraded = {name: blueprint[name] for name in ("quality_control_model",) if name in blueprint}
        named = list(_plain(blueprint.get("dialogues")) or [])
        typed |= of_settings({"dialogues": [] if PACKAGED in named else named, **degraded})
        if self.pilot.dialogue_icc is not None and (self.pilot.dialogue_icc_low or 0.0) <= 0:
            typed["dialogue_icc"] = 0.0  # dialogues that may be equally good are taken for that
        if habits is not None and (setting := str(blueprint.get("setting") or "")) in habits.settings:
            typed["setting"] = setting
        self.remarks: list[str] = []
        from parlai_humaneval.planning.inputs import FEE, ask

        self.quote = None
        try:
            self.quote = self._quote(1)
        except HumanevalError as error:
            self.remarks.append(f"The crowd's fee is unknown ({error.what}), so the plan assumes {percent(FEE)}.")
        if self.quote is not None and self.quote.rewards > Decimal(0):
            typed["fee"] = float(self.quote.fees / self.quote.rewards)
        self.inputs = ask(**{**self.pilot.question(), **typed, "models": len(self.models)})
        self.plan = with_pilot(plan_study(self.inputs), self.inputs, self.pilot, typed)
        self.amount = self.plan.n_dialogues if self.inputs.habits.held else self.plan.n_judgements_collected

    @property
    def _in_a_unit(self) -> int:
        return int(self.blueprint.get("conversations_per_unit") or self.blueprint.get("items_per_unit") or 1)

    def _quote(self, dialogues: int) -> Quote | None:
        """What the crowd takes for so many dialogues; None where nobody is paid there."""
        from mephisto_tasks.crowds.registry import crowd_in
        from mephisto_tasks.launch.preparation import settings_of

        return crowd_in(self.config).quote_more(-(-dialogues // self._in_a_unit), settings_of(self.config))

    def plan_until_decided(self) -> None:
        """The plan, if the study stops once it reaches a decision: simulated, or with the cap that was typed."""
        from parlai_humaneval.planning.inputs import PlanError
        from parlai_humaneval.planning.stopping import can_plan_until_decided

        must = self.blueprint.stop == "decided"
        if not self.is_fixed and can_plan_until_decided(self.task, len(self.models), self.gap):
            try:
                stop = self._simulated()
            except PlanError as error:
                if must:  # with a plan of a fixed number it would be another study
                    raise
                self.remarks.append(f"The plan does not include stop=decided: {error}.")
            else:
                self.plan, self.amount = self.plan.model_copy(update={"stop": stop}), int(stop["max_dialogues"])
        if self.plan.stop is None and must:
            what = f"the number of dialogues until a {self.task} study is decided cannot be simulated"
            if self.margin is None or self.cap is None:
                raise CommandError(what, try_="set margin=… and max_dialogues=…, or leave stop=decided out")
            names = ("margin", "alpha", "max_dialogues", "raters_at_a_time")
            self.rule, self.amount = {name: self.blueprint[name] for name in names}, self.cap
            self.expected = f"You set the cap to {self.cap:,}: {what}."
            self.remarks.append(self.expected)

    def _simulated(self) -> dict[str, Any]:
        """The plan until decided; its cap is at most what finished dialogues allow."""
        from parlai_humaneval.cli.plan import until_decided

        stop = until_decided(self.inputs, self.margin, self.cap, self.replicates)
        if self.served is None or stop["max_dialogues"] <= self.served:
            return stop
        self.remarks.append(
            f"The cap is {self.served:,}, because there are too few dialogues for more judgements. "
            f"Otherwise, the cap would be {stop['max_dialogues']:,}."
        )
        return until_decided(self.inputs, self.margin, self.served, self.replicates)

    def register(self) -> None:
        """What can be registered of it, which is written where that was asked for; and the command that launches it."""
        from mephisto_tasks.cli.launch import split_settings
        from mephisto_tasks.launch.preparation import launchable, unknown_models
        from parlai_humaneval.cli.plan import facts_of, write_registered

        names = (*REGISTERED, *(OF_RULE if self.plan.stop or self.rule else ()))
        held = {name: _plain(self.blueprint[name]) for name in names if self.blueprint.get(name) not in (None, "")}
        facts = facts_of(self.inputs, self.plan, held | {"models": self.models}, self.exclude, self.rule)
        words = [word for word in self.chosen if short_name(name_of(word)) not in {*RULE, self.entry.amount}]
        try:
            facts = launchable(facts, self.data_dir, *split_settings(tuple(words)))
        except HumanevalError as error:
            if self.path is not None:
                raise
            self.remarks.append(f"A launch would reject these settings: {error}.")
        if self.path is not None:
            write_registered(self.path, facts, self.plan, self.expected)
        self.facts, self.command = facts, _command(facts, words, self.prereg)
        zoo_files = list(self.blueprint.get("zoo_files", ()))
        if self.entry.engine == "live" and (lacking := unknown_models(self.models, zoo_files)):
            self.command += " 'zoo_files=[FILE]'"
            the_file = f"Replace FILE with the zoo file that contains {listed(lacking)}; the packaged zoo files do not."
            self.remarks.append(the_file)

    def show(self, as_json: bool, collected: str | None) -> None:
        """All of it; of a pilot that was ``collected`` now, also how it goes on."""
        quote, figures = self.quote and self._quote(self.amount), _figures(self.pilot, self.inputs, self.plan)
        if as_json:
            say_json(
                {
                    "pilot": self.pilot.model_dump(mode="json"),
                    "figures": figures,
                    "plan": self.plan.model_dump(mode="json"),
                    "quote": None if quote is None else quote.model_dump(mode="json"),
                    "remarks": self.remarks,
                    "preregistration": self.prereg,
                    "digest": self.facts.digest if self.prereg else None,
                    "command": self.command,
                }
            )
            return
        from mephisto_tasks.cli.launch import print_total
        from parlai_humaneval.cli.plan import plan_text, text_table

        raters = counted(self.pilot.n_workers, "rater")
        click.echo("\n".join(text_table("pilot", raters=raters, figures=figures, percent=percent)))
        if quote is not None:
            print_total(quote.model_copy(update={"heading": "The main study, at most", "facts": []}))
        click.echo("\n".join([*self.remarks, "", plan_text(self.plan)]))
        if self.prereg is not None:
            click.echo(f"\nThe main study is registered as {self.facts.name} in {self.prereg}.")
        if collected is not None:
            more = f"--task-name {collected} --dialogues {USUAL}"
            click.echo(f"\nTo add raters to this pilot, repeat the command with {more}")
        click.echo(f"\nThe main study:\n  {self.command}")


def _models(config: DictConfig) -> list[str]:
    groups = config.mephisto.blueprint.groups
    return list(dict.fromkeys([*config.mephisto.blueprint.models, *(model for group in groups for model in group)]))


def _plain(value: Any) -> Any:
    from omegaconf import OmegaConf

    return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value


def _tables(folder: str | None, data_dir: Path, task_name: str) -> Tables:
    """Those of a folder (or file) if one is named, else of a stored study."""
    from mephisto_tasks.cli.report import answers_of
    from parlai_humaneval.tables.files import read_tables

    if folder is None:
        return answers_of(data_dir, task_name)[0]
    path = Path(folder).expanduser()
    if not path.exists():
        raise CommandError("there is no such folder or table", where=path, try_=f"{PROGRAM} export --out writes one")
    return read_tables(path)


def _collected(main: _MainStudy, name: str | None, dialogues: int, raters: int | None, port: int) -> str:
    """Launch the pilot on this machine, a new one or that of this ``name`` again, and have so many more dialogues rated;
    returns its name."""
    from mephisto_tasks.cli.demo import practise_anew, simulate
    from mephisto_tasks.cli.launch import announce, follow
    from mephisto_tasks.launch import launch as launching
    from mephisto_tasks.launch.config import compose_config

    made_up = f"pilot-{main.task.replace('_', '-')}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    task_name = name or made_up
    amount = f"{main.entry.amount}={_continued(main, task_name, dialogues, raters)}"
    conf, kept = _of_dialogues(main.conf, main.overrides)
    # Colleagues are not told of pay that raters of the main study get.
    beneath = [f"task_name={task_name}", f"port={port}"]
    config = compose_config(main.task, conf, [*kept, amount, "task_reward=0"], beneath=beneath)
    blueprint = config.mephisto.blueprint
    practise_anew(blueprint, kept, task_name)
    stop = launching.stop_on_signals()
    with launching.run_launch(main.task, config, main.data_dir, waiting_for, stop=stop) as run:
        run.ends_when_stored = True
        if raters is None:
            announce(run, "Each Start adds a rater. Press Ctrl-C to end the pilot and plan from its results so far.")
            follow(run, stop)
        else:
            worst, seed = str(blueprint.get("quality_control_model") or ""), secrets.randbelow(2**31)
            simulate(run, stop, raters, None, 0.5, seed, worst)
    return task_name


def _of_dialogues(conf: str, overrides: Sequence[str]) -> tuple[str, list[str]]:
    """The settings of the main study that shape a dialogue."""
    from mephisto_tasks.config.stopping import StoppingSettings
    from mephisto_tasks.crowds.registry import crowds

    of_file = read_short_conf(conf)
    conf, typed = (conf, overrides) if of_file is None else (of_file.conf, [*of_file.overrides, *overrides])
    of_crowds = {field for crowd in crowds() for field in crowd.Settings.model_fields}
    left_out = OF_MAIN_STUDY | of_crowds | StoppingSettings.model_fields.keys()
    return conf, [word for word in typed if short_name(name_of(word)).partition(".")[0] not in left_out]


def _continued(main: _MainStudy, name: str, dialogues: int, raters: int | None) -> int:
    """The number that settings ask for, so that so many ``dialogues`` are collected beyond what the pilot of this name was
    to collect. If the study is running, its launch gets the order, and nothing else needs to be done."""
    from mephisto_tasks.cli.steer import give_and_wait, print_results, refusals
    from mephisto_tasks.control.orders import More
    from mephisto_tasks.control.snapshot import is_alive
    from mephisto_tasks.crowds.registry import crowd_of
    from mephisto_tasks.storage.results import read_settings

    earlier = read_settings(main.data_dir, name)
    if earlier is None:
        return dialogues
    settings = earlier.settings
    crowd = crowd_of(str(settings.get("provider._provider_type")))
    is_pilot = crowd.is_practice and not settings.get("task.task_reward")
    if not is_pilot or earlier.task != main.task:
        what = f"a pilot of {earlier.task}, not of {main.task}" if is_pilot else "a study, and not a pilot"
        raise CommandError(f"{name} is {what}", where="--task-name", try_="name a pilot, or leave the option out")
    order, is_running = More(number=dialogues), is_alive(main.data_dir, name)
    if is_running and raters is not None:
        what = f"{name} is running, and only its own launch can add simulated raters"
        raise CommandError(what, where="--raters", try_="leave --raters out, or end the pilot first")
    for refused in refusals(main.data_dir, name, [order]):
        raise CommandError(refused)
    results = give_and_wait(main.data_dir, name, [order])
    if is_running:
        print_results(results, running=True, as_json=False)
        click.echo("The running pilot shows the plan when it ends.")
        raise click.exceptions.Exit(0)
    return int(str(settings[f"blueprint.{main.entry.amount}"]))


def _command(facts: Preregistration, chosen: Sequence[str], prereg: str | None) -> str:
    planned = RULE if facts.is_decided else (technique(facts.technique).amount,)
    rest = [f"{name}={facts.settings[name]}" for name in planned if name in facts.settings]
    if prereg is not None:
        rest = [f"prereg={prereg}"]
    return shlex.join([PROGRAM, "launch", facts.technique, *chosen, *rest])


def _figures(found: Pilot, inputs: PlanInputs, main: Plan) -> list[dict[str, Any]]:
    """What the pilot tells, between which bounds, and what is planned with: a default where it does not tell."""
    plan, is_default, stop = inputs.filled(), not found.tells_icc, main.stop or {}
    ties = None if found.discordance is None else 1 - found.discordance
    low, high = (None if end is None else 1 - end for end in (found.discordance_high, found.discordance_low))
    rows = (
        ("icc", found.icc, found.icc_low, found.icc_high, plan.icc, is_default),
        ("drop_out", found.left, found.left_low, found.left_high, None, False),
        ("minutes", found.minutes, found.minutes_low, found.minutes_high, plan.minutes, found.minutes is None),
        ("ties", ties, low, high, 1 - (plan.discordance or 1.0), ties is None),
    )[: 4 if plan.habits.discordance < 1 else 3]  # where a choice is asked for, there are no ties
    if plan.habits.measures != "choice":
        rows += tuple(
            (name, *(getattr(found, name + end) for end in ("", "_low", "_high")), stop.get(name), used is None)
            for name, used in (("rating_sd", plan.rating_sd), ("rater_sd", plan.rater_sd))
        )
    return [dict(zip(("name", "pilot", "low", "high", "planned", "is_default"), row, strict=True)) for row in rows]
