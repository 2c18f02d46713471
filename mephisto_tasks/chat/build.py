"""Settings → a study: models, materials and counts. Everything that can go wrong with the settings goes wrong here."""

from __future__ import annotations

import secrets
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mephisto_tasks.admission.wording import conversations as conversations_in_a_unit
from mephisto_tasks.chat.config import APART, InteractiveConfig
from mephisto_tasks.chat.plans import Planner, UnitPlan
from mephisto_tasks.chat.study import Study, field_of, open_cells, restore_allocation
from mephisto_tasks.config.files import task_dir
from mephisto_tasks.config.task import ConfigError, resolve_file
from mephisto_tasks.control.orders import ORDERS
from mephisto_tasks.control.steering import fold
from mephisto_tasks.payments.quote import DOLLARS
from mephisto_tasks.session.build import (
    in_each_language,
    instructions_of,
    is_paid,
    minutes_of,
    nothing_to_do,
    number_in_words,
    pay_in_words,
    practice_pay,
    restore_practice,
    seconds_of,
    study_presenter,
    tries_in_words,
    unfit_practice,
    unprotected_languages,
)
from mephisto_tasks.session.display import settled
from mephisto_tasks.session.resume import Difference, going_on, options_that_differ, settings_that_differ
from mephisto_tasks.session.steps import check_practice
from mephisto_tasks.session.stopping_build import already_over, build_course, refuse_to_go_on_without
from mephisto_tasks.session.study import steer
from mephisto_tasks.storage.results import past_dialogues
from mephisto_tasks.storage.unfinished import CutOff, cut_off_units
from parlai_humaneval.allocation.groups import Cell, PastDialogue
from parlai_humaneval.cli.model_options import placed
from parlai_humaneval.i18n.translate import t
from parlai_humaneval.materials.contexts import SpeakerContext, load_contexts, load_openers, load_personas, load_topics
from parlai_humaneval.materials.practice import Practice, load_practice
from parlai_humaneval.models.backends.human import is_person
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.zoo.entries import load_zoo, resolve
from parlai_humaneval.schema.events import Started

if TYPE_CHECKING:
    from mephisto_tasks.session.stopping import Course

PACKAGED = "packaged"


def build_study(
    config: InteractiveConfig, task: str, data_dir: Path, task_name: str, reward: float, currency: str = DOLLARS
) -> Study:
    """The study that the settings describe, with what earlier launches of the same name did.

    Raises:
        ConfigError, DataError, ZooError: each names the setting or file and what was expected.
        NothingToDo: earlier launches already collected all.
    """
    task_config = task_dir(task) / "task_config"
    seed = config.seed if config.seed is not None else secrets.randbelow(2**31)
    past = past_dialogues(data_dir, task_name)
    closing = threading.Event()
    course = _course(config, data_dir, task_name, seed, closing)
    allocator = restore_allocation(config, past, course, seed=seed)
    zoo = load_zoo(more=config.zoo_files)
    specs = resolve(config.model_names(), zoo)
    specs = placed(specs, config.engine or None, config.replicas, config.ray_address or None)
    config = config.model_copy(update={"replies": settled(config.replies, specs, data_dir, task_name)})
    # What orders say holds from the start: a model that was retired is not loaded any more.
    asked = allocator.progress().wanted
    given = ORDERS.read(data_dir, task_name)
    steered = fold(given, field_of(config, asked, None))
    steer(allocator, steered)
    speaking = {name for cell in asked if str(cell) not in steered.stopped for name in cell.models}
    spoken = [spec for spec in specs if spec.name in speaking | {config.quality_control_model}]
    practice = _practice(config, task_config)
    planner = _planner(config, seed)
    unit = allocator.per_unit + bool(config.quality_control_model)
    person = any(is_person(spec) for spec in spoken)
    instructions = in_each_language(
        config,
        lambda: instructions_of(
            config, task_config, _values(config, unit, reward, currency), _flags(config, planner.begun, person)
        ),
    )
    presenter = study_presenter(
        config.replies,
        (spec.options for spec in spoken),
        compared=config.hides_ai_talk,
        ask_again=config.replies.ask_again,
        names=(spec.name for spec in spoken),
    )
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
        course=course,
        closing=closing,
        asked=asked,
        planner=planner,
        presenter=presenter,
        remarks=unprotected_languages(config, presenter),
        practice=practice,
        draws_markdown=config.replies.appearance == "markdown",
        is_paid=is_paid(config, reward),
        acquainted={dialogue.worker for dialogue in past},
        minutes=minutes_of(config, seconds_of(config), unit * config.turns),
        instructions=next(iter(instructions.values())),
        instructions_in=instructions,
        topics=load_topics(_file(config.topics_file)) if config.offer_topics else [],
    )
    study.steer(given)
    _take_up_left(study, data_dir, task_name, past)
    restore_practice(study, data_dir, task_name)
    if course is not None and course.is_over:
        raise already_over(task_name, course.standing())
    if allocator.remaining == 0:
        what = f"all {config.dialogues_per_group} dialogues per group"
        raise nothing_to_do(task_name, what, "dialogues_per_group=…", steered)
    return study


def _course(
    config: InteractiveConfig, data_dir: Path, task_name: str, seed: int, closing: threading.Event
) -> Course | None:
    if not config.is_decided:
        refuse_to_go_on_without(data_dir, task_name)
        return None
    (setting,) = config.settings()
    return build_course(
        config,
        data_dir,
        task_name,
        models=config.model_names(),
        groups=config.model_groups(),
        setting=setting,
        seed=seed,
        closing=closing,
    )


def _take_up_left(study: Study, data_dir: Path, task_name: str, past: Sequence[PastDialogue]) -> None:
    config, done = study.config, Counter(dialogue.cell.key for dialogue in past if dialogue.complete)

    def gone(left: CutOff) -> list[Cell]:
        """What is left of a unit, and not asked for any more."""
        open_ = open_cells(UnitPlan.restored(left.plan), left)
        return [cell for cell in open_ if cell not in study.asked and cell.models != (config.quality_control_model,)]

    def can_go_on(worker: str, left: CutOff) -> bool:
        unit = UnitPlan.restored(left.plan)
        open_ = open_cells(unit, left)
        if not open_ or study.allocator.wants_again(worker, unit.cells, open_):
            return True
        return any(done[cell.key] < config.dialogues_per_group for cell in gone(left))

    def differences(left: CutOff) -> Iterator[Difference]:
        open_ = open_cells(UnitPlan.restored(left.plan), left)
        for beginning in left.beginnings if open_ else []:
            assert isinstance(beginning, Started)
            if beginning.setting not in config.settings():
                yield "setting", beginning.setting, config.setting
                continue
            now = config.of(beginning.setting).model_dump(mode="json")
            yield from settings_that_differ(beginning.settings, now, APART)
            for model in beginning.models:
                spec = study.specs.get(model.name)
                if spec is None:
                    yield "models", f"with {model.name}", config.model_names()
                else:
                    yield from options_that_differ(model.name, model.options, spec.options)
        for cell in gone(left):
            yield f"the group {cell}", "asked for", "not asked for"

    units = {worker: left for worker, left in cut_off_units(data_dir, task_name).items() if can_go_on(worker, left)}
    for worker, left in going_on(units, differences, anew=config.cut_off == "anew").items():
        study.note_left(worker, left)


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
    needed = bool(config.bot_persona) or config.topic == "icebreaker"
    if not needed and not config.context_file:
        return []
    contexts = load_contexts(config.context_kind, _file(config.context_file))
    if needed and not all(context.bot_persona for context in contexts):
        without = next(context.context_id for context in contexts if not context.bot_persona)
        raise ConfigError(
            f"context {without!r} has no persona for the bot, which this study needs", where=config.context_file
        )
    return contexts


def _practice(config: InteractiveConfig, task_config: Path) -> Practice | None:
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


def _values(config: InteractiveConfig, conversations: int, reward: float, currency: str) -> dict[str, str]:
    return {
        "question": t(config.question or config.of(config.settings()[0]).question),
        "turns": str(config.turns),
        "max_turns": str(config.max_turns),
        "models": number_in_words(config.group_size),
        "conversations": str(conversations),
        "min_reason_words": str(config.min_reason_words),
        "min_written_words": str(config.min_written_words),
        "tries": tries_in_words(config),
        "settings": str(len(config.settings())),
        "practice_pay": practice_pay(config, currency),
        "pay": pay_in_words(config, reward, currency, conversations_in_a_unit(conversations).whole_in_words),
    }


def _flags(config: InteractiveConfig, begun: bool, person: bool = False) -> set[str]:
    configs = [config.of(setting) for setting in config.settings()]
    flags = {
        "persona": config.persona,
        "human_partner": person,
        "first_message": begun or bool(config.first_message),
        "rater_ends": config.rater_ends,
        "one_turn": all(variant.turns == 1 for variant in configs),
        "several_conversations": config.conversations_per_unit > 1,
        "opinion": config.ask_opinion,
        "topic_free": config.topic == "free",
        "topic_icebreaker": config.topic == "icebreaker",
        "topic_changes": config.topic_changes,
        "offer_topics": config.offer_topics,
        "several_settings": len(configs) > 1,
        "none_allowed": any(variant.min_choices == 0 for variant in configs),
        "several_choices": any(variant.max_choices != 1 for variant in configs),
        "written_fallback": any(variant.min_choices == 0 and variant.fallback == "write" for variant in configs),
        "reasons": any(variant.reason_required for variant in configs),
    }
    return {name for name, true in flags.items() if true}
