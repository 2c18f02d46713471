"""A study during its set-up: its cost and power, refusals by a launch, and the file that ``launch`` reads."""

from __future__ import annotations

import os
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf
from pydantic import BaseModel, Field, JsonValue

from mephisto_tasks.adapter import settings_model
from mephisto_tasks.config.files import typed_settings, with_files
from mephisto_tasks.config.names import PLAIN_CONF, ConfigError, short_name, texts_of
from mephisto_tasks.crowds.crowd import Crowd
from mephisto_tasks.crowds.registry import crowds, default_place
from mephisto_tasks.launch.config import MissingSettings, Task, blueprint_names, check_name, compose_config, conf_names
from mephisto_tasks.launch.config_reference import Setting, as_text, list_settings
from mephisto_tasks.launch.preparation import checked_settings
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval._util.terminal import typed_program
from parlai_humaneval.dialogues import PACKAGED
from parlai_humaneval.models.selection import Given, named_apart, specs_of
from parlai_humaneval.models.zoo.entries import ModelSpec, load_zoo
from parlai_humaneval.parlai_plugin.setup import parlai_without_torch
from parlai_humaneval.planning.inputs import FEE, HOURLY_WAGE, PlanInputs, ask, plannable
from parlai_humaneval.planning.layout import collection_of, layout
from parlai_humaneval.planning.plan import Plan, compare_techniques, plan_study, power_of
from parlai_humaneval.planning.preregistration import amount_of_group
from parlai_humaneval.statistics.core.formatting import counted, percent
from parlai_humaneval.techniques.registry import Technique, technique, techniques

CONF = "conf"
FIELDS = (
    CONF, "task_name", "models", "dialogues", "setting", "metric", "question", "turns", "exchanges", "language", "place",
    "task_reward",
)  # fmt: skip
"""Settings that everybody is asked for, where the technique has them, in this order; the amount goes before the language."""
LEAST_POWER_SIZE = 2
WIDTH = 100
DECIDED = "The study stops once it reaches a decision. The figures are for a study of fixed size."
GAPS = "enter more than 0 and less than 100 points, such as 10"
LONGER = "Raters may chat on after {}. These figures count {} per dialogue."
SAMPLES = "Your study needs {:,} dialogues, more than the samples in the package. Use your own dialogues."


class Choices(BaseModel, extra="forbid"):
    """The user's choices. ``settings``: of the launch, by the names by which they are typed; ``gap``: the smallest
    difference of two win rates that must be found, 0–1, with this ``power``; ``wage``: dollars an hour, by which a
    reward is suggested."""

    technique: str = "pw_turn"
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    gap: float = 0.1
    power: float = 0.8
    wage: float = HOURLY_WAGE


class Estimate(BaseModel):
    """What the study takes. ``amount``: of each group, None if the technique has no such setting; ``planned``: the
    amount with the ``power`` that was asked for; ``judgements``: what checks leave of those ``collected``;
    ``turns``: that are counted of each dialogue; ``least``: after which raters may chat on, 0 if they may not;
    ``generated``: dialogues of each model that are to be generated before they are judged; ``reward``: for an
    assignment, by the wage; ``cost``: in dollars, with the reward of the settings and the site's fee."""

    amount: int | None
    planned: int | None
    generated: int | None
    turns: int
    least: int
    judgement: str
    judgements: int
    collected: int
    dialogues: int
    raters: int
    hours: float
    cost: float
    power: float
    gap: float
    reward: float


class Bar(BaseModel):
    """A technique's cost for the gap, at the wage and with the usual fee."""

    technique: str
    setting: str
    title: str
    hours: float
    cost: float


class Draft(BaseModel):
    """The study as it is now. ``problems``: why a launch would refuse it, each a sentence; ``missing``: settings that the
    place needs; ``zoo``: entries of models that are in no zoo file, as YAML; ``remark``: why there is no estimate."""

    choices: Choices
    estimate: Estimate | None
    remark: str
    problems: list[str]
    missing: list[str]
    text: str
    zoo: str
    errors: list[Any] = Field(exclude=True)


@cache
def settings_of_technique(task: str, conf: str = PLAIN_CONF) -> dict[str, Setting]:
    """Name → setting, with the defaults of the conf that the study begins with."""
    begins = Setting(
        name=CONF,
        full_name=CONF,
        topic="The study",
        default=PLAIN_CONF,
        description="Config file to start from. Choose “local” unless you want a paper's settings.",
        allowed=f"one of: {', '.join(_confs(task))}",
        example=f"{CONF}={PLAIN_CONF}",
    )
    return {CONF: begins} | {setting.name: setting for setting in list_settings(task, conf)}


def _confs(task: str) -> list[str]:
    """Those of this machine: the others are for a crowd, which is a setting of its own."""
    crowds_of = {crowd.place for crowd in crowds()} - {PLAIN_CONF}
    return [PLAIN_CONF, *(name for name in conf_names(task) if name != PLAIN_CONF and name not in crowds_of)]


def conf_of(choices: Choices) -> str:
    conf = choices.settings.get(CONF)
    return str(conf) if conf in _confs(choices.technique) else PLAIN_CONF


def fields(task: str, conf: str = PLAIN_CONF) -> list[Setting]:
    """The settings that everybody is asked for. Raises ConfigError: there is no such technique."""
    entry, known = technique(task), settings_of_technique(task, conf)
    speaks = speaking(task)
    left_out = {"dialogues"} if speaks else {"models", "exchanges"}
    left_out |= set() if any(entry.picks) else {"setting"}
    left_out |= set() if entry.questions else {"metric", "question"}
    names = [name for name in FIELDS if name not in left_out]
    names.insert(names.index("language"), entry.amount)
    return [known[name] for name in names if name in known]


def speaking(task: str) -> bool:
    """Whether models speak in the study; otherwise dialogues are there already."""
    return technique(task).engine == "live" or settings_of_technique(task)["generate"].default not in ("", "null")


def choices_of(task: str, name: str) -> list[str]:
    """Values of a setting to choose from; none where anything may be typed."""
    if name == "setting":
        return list(filter(None, technique(task).picks))
    if name == "metric":
        return list(technique(task).questions)
    allowed = settings_of_technique(task)[name].allowed
    return allowed.removeprefix("one of: ").split(", ") if allowed.startswith("one of: ") else []


def closed(places: Sequence[str]) -> str:
    """Why nobody should launch in some of the places, in a sentence each."""
    return " ".join({f"{status}.": None for crowd in crowds() if crowd.place in places and (status := crowd.status())})


def value_of(setting: Setting, text: str) -> Any:
    """The typed value: text unchanged, everything else as YAML reads it."""
    if setting.allowed.startswith("text") and not text.startswith("["):
        return text
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text


def published_question(choices: Choices) -> str:
    """What raters are asked unless the study has a question of its own; empty where there is none for the metric."""
    entry, known = technique(choices.technique), settings_of_technique(choices.technique, conf_of(choices))
    metric, setting = (
        str(choices.settings.get(name) or (known[name].default if name in known else ""))
        for name in ("metric", "setting")
    )
    return entry.questions_of.get(setting, entry.questions).get(metric, "")


def draft(choices: Choices, path: Path) -> Draft:
    """The study as it would be written to ``path``. Raises ConfigError: there is no such technique, or setting."""
    entry = technique(choices.technique)
    settings, zoo, errors = _with_own_models(choices, path)
    estimate, remark, missing = None, "", []
    conf = str(settings.get(CONF) or PLAIN_CONF)
    try:
        if not 0 < choices.gap < 1:
            raise ConfigError(f"no study finds a gap of {100 * choices.gap:g} points", try_=GAPS)
        check_name(f"place={settings.get('place') or default_place()}", (), entry.name)
        # The study without the place where raters come from, which may ask for an account or an address.
        known = {*map(short_name, blueprint_names(settings_model(choices.technique))), *Task.model_fields}
        shape = {name: value for name, value in settings.items() if name.partition(".")[0] in known}
        config = compose_config(choices.technique, conf, list(typed_settings(shape)))
        checked_settings(entry.name, config)
        if entry.name in plannable():
            estimate = _estimate(choices, settings, config)
            # With the amount of the plan, and a reward where raters expect one, unless they were chosen.
            is_open = estimate.amount is None or settings.get("stop") == "decided"
            planned = {} if is_open else {entry.amount: estimate.amount}
            planned |= {} if estimate.generated is None else {"num_dialogues": estimate.generated}
            reward = {"task_reward": estimate.reward} if is_paid(settings) else {}
            given = {name: value for name, value in settings.items() if value not in (None, "")}
            settings = {**planned, **reward, **given}
            if settings.get("stop") == "decided":
                remark = DECIDED
            elif _samples(config) and (estimate.amount or 0) < (estimate.planned or 0):
                remark = SAMPLES.format(estimate.planned)
            elif estimate.least:
                remark = LONGER.format(counted(estimate.least, "turn"), counted(estimate.turns, "turn"))
        else:
            remark = f"{entry.title} has no significance test, so the size of the study cannot be planned."
        typed = {name: value for name, value in settings.items() if name != CONF}
        checked_settings(entry.name, compose_config(entry.name, conf, list(typed_settings(typed))))
    except MissingSettings as error:
        missing = list(error.names)
    except HumanevalError as error:
        errors.append(error)
    return Draft(
        choices=choices,
        estimate=estimate,
        remark=remark,
        problems=list(map(str, errors)),
        errors=errors,
        missing=missing,
        text="".join(_lines(entry, settings, estimate, path, missing, conf_of(choices))),
        zoo=zoo,
    )


def _with_own_models(choices: Choices, path: Path) -> tuple[dict[str, Any], str, list[HumanevalError]]:
    """The settings with names of the zoo in place of files and addresses; the entries of these, in YAML; errors."""
    found = dict(choices.settings)
    named = found.get("models")
    zoo_files = [file for file in texts_of(found.get("zoo_files")) if file != str(zoo_path(path))]
    if not isinstance(named, list) or not speaking(choices.technique):
        return found, "", []
    named = found["models"] = [name for name in named if str(name).strip()]  # not a box that is still empty
    try:
        known = [(_served if "://" in str(name) else _named)(str(name), tuple(zoo_files)) for name in named]
        given = named_apart([one for _, one in known if one is not None], load_zoo(more=zoo_files))
    except HumanevalError as error:
        return found, "", [error]
    left = iter(given)
    names: list[JsonValue] = [spec.name if one is None else next(left).name for spec, one in known]
    found["models"] = names
    if not given:
        return found, "", []
    found["zoo_files"] = [*zoo_files, str(zoo_path(path))]
    folder = path.parent.resolve()
    models = {
        one.name: {"options": {k: _seen_from(folder, v) if k == "function" else v for k, v in one.options.items()}}
        for one in given
    }
    entries = yaml.safe_dump({"models": models}, allow_unicode=True, sort_keys=False)
    return found, f"# Models of {path.name}, as `launch` finds them.\n{entries}", []


def _seen_from(folder: Path, function: str) -> str:
    """The function by its path from ``folder``, where a launch looks for it; its whole path if only the root is shared."""
    share = os.path.commonpath([folder, function]) != folder.anchor
    return os.path.relpath(function, folder) if share else function


def _named(name: str, zoo_files: tuple[str, ...]) -> tuple[ModelSpec, Given | None]:
    """The model, and its entry where it is in no zoo file. Raises ZooError."""
    (spec,), given = specs_of([name], load_zoo(more=zoo_files))
    return spec, given[0] if given else None


_served = cache(_named)  # A server is asked once what it serves, not at each change.


def zoo_path(path: Path) -> Path:
    """Where your own models are written."""
    return path.with_name(f"{path.stem}_models.yaml")


def _estimate(choices: Choices, settings: Mapping[str, Any], config: DictConfig) -> Estimate:
    blueprint, entry = config.mephisto.blueprint, technique(choices.technique)
    in_a_unit = int(blueprint.get("conversations_per_unit") or blueprint.get("items_per_unit") or 1)
    question = _question(choices, settings, config, in_a_unit).filled()
    plan, reward = plan_study(question), round(choices.wage * (question.minutes or 0) * in_a_unit / 60, 2)
    amount = planned = _amount(entry, question, plan)
    is_set = _samples(config) or conf_of(choices) != PLAIN_CONF
    chosen = settings.get(entry.amount) or (blueprint.get(entry.amount) if is_set else None)
    numbers, power = plan.model_dump(), plan.power
    if planned and isinstance(chosen, int) and chosen not in (0, planned):
        amount, found = chosen, layout(question)
        of_plan = plan.n_dialogues if question.habits.held else plan.n_judgements_collected
        numbers |= collection_of(question, round(of_plan * chosen / planned), found.sets).numbers
        n = max(LEAST_POWER_SIZE, round(plan.n_per_sample * chosen / planned))
        power, numbers["n_judgements"] = power_of(question, found, n), n * found.sets
    talks = bool(blueprint.get("generate")) and entry.amount == "judgements_per_group"  # models do, to themselves
    return Estimate(
        amount=amount,
        planned=planned,
        generated=-(-numbers["n_dialogues"] // plan.models) if talks else None,
        turns=question.turns or 1,
        least=int(blueprint.turns) if blueprint.get("rater_ends") and blueprint.turns < blueprint.max_turns else 0,
        judgement=plan.judgement,
        judgements=numbers["n_judgements"],
        collected=numbers["n_judgements_collected"],
        dialogues=numbers["n_dialogues"],
        raters=numbers["n_workers"],
        hours=numbers["hours"],
        cost=numbers["cost"],
        power=power,
        gap=choices.gap,
        reward=reward,
    )


def _samples(config: DictConfig) -> bool:
    return any(PACKAGED in (config.mephisto.blueprint.get(name) or ()) for name in ("dialogues", "human_dialogues"))


def _amount(entry: Technique, question: PlanInputs, plan: Plan) -> int | None:
    if entry.amount.endswith("_per_group"):
        return amount_of_group(question, plan)
    return plan.n_dialogues // layout(question).sets if entry.amount == "num_dialogues" else None


def _question(choices: Choices, settings: Mapping[str, Any], config: DictConfig, in_a_unit: int) -> PlanInputs:
    blueprint, entry = config.mephisto.blueprint, technique(choices.technique)
    assert entry.habits is not None
    has_fee = any(crowd.market.has_price for crowd in crowds_in(settings))
    asked: dict[str, Any] = {"technique": choices.technique, "gap": choices.gap, "power": choices.power}
    asked |= {"models": len(blueprint.models) or 2, "wage": choices.wage, "fee": FEE if has_fee else 0.0}
    if entry.habits.held:
        least, most = int(blueprint.turns), int(blueprint.max_turns)
        expects_more = blueprint.rater_ends and settings.get("turns") in (None, "")
        turns = entry.habits.turns_within(least, most) if expects_more else least
        asked |= {"dialogues_per_worker": in_a_unit, "turns": turns}
    elif not speaking(choices.technique):
        asked["are_held"] = False
    setting = OmegaConf.select(blueprint, "setting")
    asked |= {"setting": setting} if setting in entry.habits.settings else {}
    asked |= {"degraded": False} if blueprint.get("quality_control_model", "some") in ("", None) else {}
    reward = settings.get("task_reward")
    if isinstance(reward, (int, float)):
        asked["pay"] = round(reward / in_a_unit, 4)
    elif not is_paid(settings):
        asked["pay"] = 0.0
    return ask(**asked)


def crowds_in(settings: Mapping[str, Any]) -> list[Crowd]:
    """The crowds of the place in the settings."""
    place = settings.get("place") or default_place()
    return [crowd for crowd in crowds() if crowd.place == place]


def is_paid(settings: Mapping[str, Any]) -> bool:
    """Whether raters expect a reward; a practice crowd promises none unless it is set."""
    return any(not crowd.is_practice for crowd in crowds_in(settings))


def _lines(
    entry: Technique,
    settings: Mapping[str, Any],
    estimate: Estimate | None,
    path: Path,
    missing: Sequence[str],
    conf: str,
) -> Iterator[str]:
    """The file, a comment above each setting: the first sentence of its description."""
    known = settings_of_technique(entry.name, conf)
    own = str(zoo_path(path))

    def next_to_it(file: str) -> str:
        return os.path.relpath(file, path.parent) if file == own or Path(file).exists() else file

    yield _comment(entry.line + ".")
    if estimate is not None:
        yield _comment(in_words(estimate))
    yield f"# Launch it:      {launch_command(path, missing)}\n"
    yield f"# All settings:   parlai-humaneval launch {entry.name} --list-settings\n"
    yield f"\ntechnique: {entry.name}\n"
    yield f"conf: {conf}\n" if conf != PLAIN_CONF else ""
    asked = [setting.name for setting in fields(entry.name, conf) if setting.name != CONF]
    if settings.get("stop") == "decided":
        asked.remove(entry.amount)
    defaults = {name: yaml.safe_load(known[name].default) for name in asked}
    for name, value in {**defaults, **settings}.items():
        if value in (None, "", []) or name == CONF:
            continue
        yield "\n"
        yield _comment(known[name].in_a_sentence) if name in known else ""
        yield f"{name}: {as_text(with_files(name, value, next_to_it))}\n"


def _comment(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), WIDTH, initial_indent="# ", subsequent_indent="# ") + "\n"


def launch_command(path: Path, missing: Sequence[str]) -> str:
    """The launch of the study, as it can be typed; ``missing``: settings that are still to be given."""
    return " ".join([typed_program(), shlex.join(["launch", str(path)]), *(f"{name}=…" for name in missing)])


def in_words(estimate: Estimate) -> str:
    """The estimate in a sentence."""
    pay = f" and ${estimate.cost:,.0f}" if estimate.cost else ", unpaid"
    amount = (
        f"{counted(estimate.collected, estimate.judgement)} to collect in {counted(estimate.dialogues, 'dialogue')}"
    )
    return (
        f"{amount} ({estimate.judgements:,} kept) from {counted(estimate.raters, 'rater')} take "
        f"{estimate.hours:,.1f} hours{pay}. A study of this size detects a gap of {100 * estimate.gap:.3g} points with a "
        f"power of {percent(estimate.power)}."
    )


def fee_of(settings: Mapping[str, Any]) -> float:
    """The share that the site of the settings takes; a usual one where nobody is paid."""
    return FEE if not is_paid(settings) or any(crowd.market.has_price for crowd in crowds_in(settings)) else 0.0


def bars(choices: Choices, estimate: Estimate | None = None) -> list[Bar]:
    """Each technique's cost for the gap, the cheapest first; that of the study's technique is its ``estimate``, if it is
    paid and as large as planned. Raises PlanError."""
    models = choices.settings.get("models")
    count = len(models) if isinstance(models, list) and len(models) > 1 else 2
    asked = {"gap": choices.gap, "power": choices.power, "models": count, "wage": choices.wage}
    plans, _ = compare_techniques(ask(technique="pw_turn", fee=fee_of(choices.settings), **asked))
    planned = estimate is not None and estimate.cost > 0 and estimate.amount == estimate.planned
    found = []
    for plan in plans:
        name = _launched(plan)
        source = estimate if estimate is not None and planned and name == choices.technique else plan
        words = plan.model_dump(include={"setting", "title"})
        found.append(Bar(**words, technique=name, hours=source.hours, cost=source.cost))
    return sorted(found, key=lambda bar: bar.cost)


def _launched(plan: Plan) -> str:
    """The technique that collects what was planned: that of self-chats is a way to PW-Dialog, for example."""
    ways = (name for name, entry in techniques().items() if entry.recorded_as == plan.technique)
    return next((name for name in ways if plan.setting in plannable()[name].settings), plan.technique)


def write_study(made: Draft, path: Path, *, replace: bool = False) -> list[Path]:
    """Write the study, and its models next to it if they are in no zoo file. Raises ConfigError: a file already exists, and
    not ``replace``; or nothing can be written there."""
    files = {path: made.text, **({zoo_path(path): made.zoo} if made.zoo else {})}
    for file in files:
        if file.is_dir() or (file.exists() and not replace):
            what = "is a folder" if file.is_dir() else "already exists"
            raise ConfigError(what, where=file, try_="choose another name (--out), or replace it (--force)")
    for file, text in files.items():
        try:
            file.write_text(text, encoding="utf-8")
        except OSError as error:
            what = f"cannot be written ({error.strerror})"
            raise ConfigError(what, where=file, try_="choose another folder") from error
    return list(files)


class FirstReply(BaseModel):
    """A model's answer to “Hi!”; ``why``: its fault, or why it was not asked."""

    model: str
    reply: str = ""
    why: str = ""


def first_reply(name: str, zoo_files: Sequence[str] = ()) -> FirstReply:
    """Ask a model once; one that would have to be downloaded or trained is not asked."""
    from parlai_humaneval.models.check import check, try_out

    parlai_without_torch()
    try:
        spec, _ = _named(name, tuple(zoo_files))
    except HumanevalError as error:
        return FirstReply(model=name, why=error.on_page())
    checked = check(spec)
    if checked.downloads or not checked.ok:
        return FirstReply(model=name, why=" ".join([*checked.missing, *checked.downloads]))
    found = try_out(checked)
    return FirstReply(model=name, reply=str(found.get("reply", "")), why=" ".join(found["missing"]))
