"""Settings → a study: models, materials and counts. Everything that can go wrong with the settings goes wrong here."""

from __future__ import annotations

import secrets
from pathlib import Path

from mephisto_tasks.engine.building import (
    NUMBERS,
    instructions_of,
    is_paid,
    nothing_to_do,
    pay_in_words,
    restore_practice,
    study_presenter,
    tries_in_words,
    unfit_practice,
)
from mephisto_tasks.engine.config import ConfigError, resolve_file
from mephisto_tasks.engine.rating import check_practice
from mephisto_tasks.engine.study import steer
from mephisto_tasks.engine.task_folder import task_dir
from mephisto_tasks.live.config import InteractiveConfig
from mephisto_tasks.live.plans import Planner, UnitPlan
from mephisto_tasks.live.study import Study, field_of, restore_allocation
from mephisto_tasks.running.orders import orders
from mephisto_tasks.running.steering import fold
from mephisto_tasks.stored.results import past_dialogues, stored_states, task_names
from parlai_humaneval.models.options import placed
from parlai_humaneval.models.outside.human import is_person
from parlai_humaneval.models.pool.pool import ModelPool
from parlai_humaneval.models.zoo.entries import load_zoo, resolve
from parlai_humaneval.protocol.materials.contexts import SpeakerContext, load_contexts
from parlai_humaneval.protocol.materials.files import load_personas
from parlai_humaneval.protocol.materials.openers import load_openers, load_topics
from parlai_humaneval.protocol.page.practice import Practice, load_practice
from parlai_humaneval.protocol.records.rebuilding import build_record, split_dialogues

PACKAGED = "packaged"


def build_study(config: InteractiveConfig, task: str, data_dir: Path, task_name: str, reward: float) -> Study:
    """The study that the settings describe, with what earlier launches of the same name did.

    Raises:
        ConfigError, MaterialError, ZooError: each names the setting or file and what was expected.
        NothingToDo: earlier launches already collected all.
    """
    task_config = task_dir(task) / "task_config"
    seed = config.seed if config.seed is not None else secrets.randbelow(2**31)
    allocator = restore_allocation(config, past_dialogues(data_dir, task_name), seed=seed)
    zoo = load_zoo(more=config.zoo_files)
    specs = resolve(config.model_names(), zoo)
    specs = placed(specs, config.engine or None, config.replicas, config.ray_address or None)
    # What orders say holds from the start: a model that was retired is not loaded any more.
    asked = allocator.progress().wanted
    given = orders(data_dir, task_name)
    steered = fold(given, field_of(config, asked, None))
    steer(allocator, steered)
    speaking = {name for cell in asked if str(cell) not in steered.stopped for name in cell.models}
    spoken = [spec for spec in specs if spec.name in speaking | {config.quality_control_model}]
    practice = _practice(config, task_config)
    planner = _planner(config, seed)
    unit = allocator.per_unit + bool(config.quality_control_model)
    person = any(is_person(spec) for spec in spoken)
    study = Study(
        config=config,
        seed=seed,
        specs={spec.name: spec for spec in specs},
        pool=ModelPool(
            spoken,
            timeout_s=config.model_timeout_s,
            retries=config.model_retries,
            outage_s=config.model_outage_s,
            seed=seed,
        ),
        allocator=allocator,
        asked=asked,
        planner=planner,
        presenter=study_presenter(
            config.replies,
            (spec.options for spec in spoken),
            compared=config.hides_ai_talk,
            ask_again=config.replies.ask_again,
        ),
        practice=practice,
        is_paid=is_paid(config, reward),
        instructions=instructions_of(
            config, task_config, _values(config, unit, reward), _flags(config, planner.begun, person)
        ),
        topics=load_topics(_file(config.topics_file)) if config.offer_topics else [],
        unfinished=_still_asked_for(unfinished_units(data_dir, task_name), config),
    )
    study.steer(given)
    restore_practice(study, data_dir, task_name)
    if allocator.remaining == 0:
        what = f"all {config.dialogues_per_group} dialogues per group"
        raise nothing_to_do(task_name, what, "mephisto.blueprint.dialogues_per_group=…", steered)
    return study


def unfinished_units(data_dir: Path, task_name: str) -> dict[str, UnitPlan]:
    """Mephisto's worker id → what is left of their newest unit of several conversations that was cut off between two.

    Of such a unit at least one conversation is complete; its rater can go on.

    A unit may have gone on in several visits; no database, or no such task, is an empty past.

    Raises:
        ResultsError: stored files that cannot be read.
    """
    if not (data_dir / "database.db").is_file() or task_name not in task_names(data_dir):
        return {}
    plans: dict[str, UnitPlan] = {}
    done: dict[str, set[int]] = {}
    newest: dict[str, str] = {}
    for agent, state in stored_states(data_dir, task_name):
        if not state.inputs or "plans" not in state.inputs or state.inputs["conversations"] < 2:
            continue
        plan = UnitPlan.restored(state.inputs)
        plans.setdefault(plan.session, plan)
        newest[agent.worker_id] = plan.session
        records = [build_record(events) for events in split_dialogues(state.outputs.messages)]
        done.setdefault(plan.session, set()).update(r.conversation for r in records if r.status == "complete")
    left = {worker: plans[session].without(sorted(done[session])) for worker, session in newest.items()}
    return {worker: plan for worker, plan in left.items() if plan.plans and len(plan.plans) < plan.conversations}


def _still_asked_for(units: dict[str, UnitPlan], config: InteractiveConfig) -> dict[str, UnitPlan]:
    """Units that were cut off and whose models, metric and setting this study has, too; raters of others begin anew."""
    models, settings = set(config.model_names()), config.settings()
    return {
        worker: unit
        for worker, unit in units.items()
        if all(
            set(cell.models) <= models and cell.metric == config.metric and cell.setting in settings
            for cell in unit.cells
        )
    }


def _file(configured: str) -> Path | None:
    return Path(configured).expanduser() if configured else None


def _planner(config: InteractiveConfig, seed: int) -> Planner:
    openers = load_openers(None if config.openers == PACKAGED else _file(config.openers)) if config.openers else []
    return Planner(
        config,
        seed,
        personas=load_personas(_file(config.persona_file)) if config.persona else [],
        contexts=_contexts(config),
        openers=openers,
    )


def _contexts(config: InteractiveConfig) -> list[SpeakerContext]:
    """Contexts, where a setting asks for them: a file of one's own, a persona for a model, or an ice-breaker from one."""
    needed = bool(config.bot_persona) or config.topic == "icebreaker"
    if not needed and not config.context_file:
        return []
    contexts = load_contexts(config.context_kind, _file(config.context_file))
    if needed and not all(context.bot_persona for context in contexts):
        without = next(context.context_id for context in contexts if not context.bot_persona)
        raise ConfigError(
            f"{config.context_file}: context {without!r} has no persona for the bot, which this study needs"
        )
    return contexts


def _practice(config: InteractiveConfig, task_config: Path) -> Practice | None:
    """The practice items: a file of one's own, the task's for the one setting of this study, or that for the metric."""
    if not config.onboarding_qualification:
        return None
    of_setting = task_config / f"onboarding_{config.settings()[0]}.json"
    alone = len(config.settings()) == 1 and of_setting.is_file()
    path = resolve_file(
        config.onboarding_file, of_setting if alone else task_config / f"onboarding_{config.metric}.json"
    )
    practice = load_practice(path, config.metric)
    problems = [check_practice(practice, config.of(setting)) for setting in config.settings()]
    if all(problems):  # of several settings, the practice need fit one only
        raise unfit_practice(path, str(problems[0]))
    return practice


def _values(config: InteractiveConfig, conversations: int, reward: float) -> dict[str, str]:
    unit = "conversation" if conversations == 1 else f"set of {conversations} conversations"
    return {
        "question": config.question or config.of(config.settings()[0]).question,
        "turns": str(config.turns),
        "max_turns": str(config.max_turns),
        "models": NUMBERS[config.group_size],
        "conversations": str(conversations),
        "min_reason_words": str(config.min_reason_words),
        "min_written_words": str(config.min_written_words),
        "tries": tries_in_words(config),
        "settings": str(len(config.settings())),
        "pay": pay_in_words(config, reward, unit),
    }


def _flags(config: InteractiveConfig, begun: bool, person: bool = False) -> set[str]:
    """What is true of the study, for lines of the instructions that hold only then.

    ``begun``: lines stand there already. ``person``: one of the models is a person.
    """
    configs = [config.of(setting) for setting in config.settings()]
    flags = {
        "persona": config.persona,
        "human_partner": person,
        "first_message": begun or bool(config.first_message),
        "rater_ends": config.rater_ends,
        "several_conversations": config.conversations_per_unit > 1,
        "opinion": config.ask_opinion,
        "topic_free": config.topic == "free",
        "topic_icebreaker": config.topic == "icebreaker",
        "topic_changes": config.topic_changes,
        "offer_topics": config.offer_topics,
        "practice": bool(config.onboarding_qualification),
        "several_settings": len(configs) > 1,
        "none_allowed": any(variant.min_choices == 0 for variant in configs),
        "several_choices": any(variant.max_choices != 1 for variant in configs),
        "written_fallback": any(variant.min_choices == 0 and variant.fallback == "write" for variant in configs),
        "reasons": any(variant.reason_required for variant in configs),
    }
    return {name for name, true in flags.items() if true}
