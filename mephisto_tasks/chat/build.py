"""Settings → a study: models, materials and counts. All errors in the settings are raised here."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from mephisto_tasks.chat.config import APART, InteractiveConfig
from mephisto_tasks.chat.plans import Planner
from mephisto_tasks.chat.study import ChatStudy, cells_of, field_of, restore_allocation
from mephisto_tasks.config.task import ConfigError, resolve_file
from mephisto_tasks.control.orders import fold
from mephisto_tasks.session.build import Setup, number_in_words, study_presenter, unfit_practice, unprotected_languages
from mephisto_tasks.session.page import Difference, in_brief, settings_that_differ, settled
from mephisto_tasks.session.steps import check_practice
from mephisto_tasks.session.study import conversations as conversations_in_a_unit
from mephisto_tasks.session.study import steer
from mephisto_tasks.storage.locks import image_store
from mephisto_tasks.storage.results import past_dialogues
from mephisto_tasks.storage.work import CutOff
from parlai_humaneval.allocation.groups import Cell, PastDialogue
from parlai_humaneval.cli.options import placed
from parlai_humaneval.display.images import IMAGES_FIELD
from parlai_humaneval.i18n.translate import t
from parlai_humaneval.materials.contexts import SpeakerContext, load_contexts, load_openers, load_personas, load_topics
from parlai_humaneval.materials.instructions import Practice, load_practice
from parlai_humaneval.models.backends.human import is_person
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.zoo.entries import ModelSpec, load_zoo, resolve
from parlai_humaneval.models.zoo.files import code_file
from parlai_humaneval.schema.events import Started
from parlai_humaneval.schema.records import ModelRecord
from parlai_humaneval.statistics.core.formatting import counted
from parlai_humaneval.techniques.registry import techniques

PACKAGED = "packaged"


def build_study(setup: Setup[InteractiveConfig]) -> ChatStudy:
    """The study that the settings describe, with what earlier launches did. Raises ConfigError, DataError, ZooError:
    each names the setting or file; NothingToDo: all is collected."""
    config, seed = setup.config, setup.seed
    past = past_dialogues(setup.data_dir, setup.task_name)
    monitor = setup.monitor(lambda: (config.model_names(), config.model_groups(), config.settings()[0]))
    allocator = restore_allocation(config, past, monitor, seed=seed)
    zoo = load_zoo(more=config.zoo_files)
    specs = resolve(config.model_names(), zoo)
    specs = placed(specs, config.engine or None, config.replicas, config.ray_address or None)
    config = config.model_copy(update={"replies": settled(config.replies, specs, setup.data_dir, setup.task_name)})
    records = {spec.name: _record(spec) for spec in specs}
    # What orders say holds from the start: a model that was retired is not loaded any more.
    asked = allocator.progress().wanted
    steered = fold(setup.orders, field_of(config, asked, None))
    steer(allocator, steered)
    speaking = {name for cell in asked if str(cell) not in steered.stopped for name in cell.models}
    spoken = [spec for spec in specs if spec.name in speaking | {config.quality_control_model}]
    blind = [spec.name for spec in spoken if not spec.options.get(IMAGES_FIELD)]
    some_see = config.images == "models" and len(blind) < len(spoken)
    if blind and config.images != "none" and not some_see:
        raise ConfigError(
            f"{', '.join(blind)} {'takes' if len(blind) == 1 else 'take'} no pictures as input",
            where=f"images={config.images}",
            try_=(
                "if it does, set images: true in the options of its zoo entry (chat completions, vision_lm, HTTP "
                "servers, programs and functions can)",
                "or leave images at none",
            ),
        )
    openers = load_openers(None if config.openers == PACKAGED else _file(config.openers)) if config.openers else []
    planner = Planner(
        config,
        seed,
        personas=load_personas(_file(config.persona_file)) if config.persona else [],
        contexts=_contexts(config),
        openers=openers,
    )
    unit = allocator.per_unit + bool(config.quality_control_model)
    instructions = setup.words(
        lambda: _values(config, unit),
        lambda: conversations_in_a_unit(unit).whole_in_words,
        _flags(config, planner.begun, any(is_person(spec) for spec in spoken)),
    )
    presenter = study_presenter(
        config.replies,
        (spec.options for spec in spoken),
        compared=config.hides_ai_talk,
        ask_again=config.replies.ask_again,
    )
    study = ChatStudy(
        config=config,
        seed=seed,
        specs={spec.name: spec for spec in specs},
        records=records,
        pool=ModelPool(
            spoken,
            timeout_s=config.model_timeout_s,
            retries=config.model_retries,
            outage_s=config.model_outage_s,
            seed=seed,
        ),
        allocator=allocator,
        monitor=monitor,
        closing=setup.closing,
        asked=asked,
        planner=planner,
        presenter=presenter,
        once_open=lambda: study.presenter.prepare([spec.name for spec in spoken]),
        remarks=[*_changed(records, specs, past), *unprotected_languages(config, presenter)],
        practice=_practice(config, setup.task_config),
        draws_markdown=config.replies.appearance == "markdown",
        is_paid=setup.is_paid,
        acquainted={dialogue.worker for dialogue in past},
        minutes=setup.minutes(unit * _turns(config)),
        instructions=next(iter(instructions.values())),
        instructions_in=instructions,
        topics=load_topics(_file(config.topics_file)) if config.offer_topics else [],
        images=None
        if config.images == "none"
        else image_store(setup.data_dir, setup.task_name, uploads=config.images != "models"),
    )
    return _with_earlier(setup, study, past)


def _with_earlier(setup: Setup[InteractiveConfig], study: ChatStudy, past: Sequence[PastDialogue]) -> ChatStudy:
    config, done = study.config, Counter(dialogue.cell.key for dialogue in past if dialogue.complete)

    def gone(left: CutOff) -> list[Cell]:
        """The parts of a unit that are left, but no longer wanted."""
        return [
            cell
            for cell in cells_of(left)[1]
            if cell not in study.asked and cell.models != (config.quality_control_model,)
        ]

    def can_go_on(worker: str, left: CutOff) -> bool:
        cells, open_ = cells_of(left)
        if not open_ or study.allocator.wants_again(worker, cells, open_):
            return True
        return any(done[cell.key] < config.dialogues_per_group for cell in gone(left))

    def differences(left: CutOff) -> Iterator[Difference]:
        for beginning in left.beginnings if cells_of(left)[1] else []:
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
                    continue
                differing = _options_that_differ(model, study.records[spec.name], spec.folder or Path())
                for name, before, after in differing:
                    yield f"option {name} of the model {model.name}", before, after
        for cell in gone(left):
            yield f"the group {cell}", "asked for", "not asked for"

    what = f"all {counted(config.dialogues_per_group, 'dialogue')} per group"
    return setup.finish(study, can_go_on, differences, what, "dialogues_per_group=…")


def _record(spec: ModelSpec) -> ModelRecord:
    record = ModelRecord(name=spec.name, options=spec.options, description=spec.description, source=spec.source)
    for option in ("model", "function"):  # they may name a Python file of the user's
        with suppress(OSError, RuntimeError):  # loading the model says what is wrong
            if file := code_file(str(spec.options.get(option, "")), spec.folder or Path()):
                record.code[option] = hashlib.sha256(file.read_bytes()).hexdigest()
    return record


def _options_that_differ(then: ModelRecord, now: ModelRecord, folder: Path) -> Iterator[Difference]:
    """The same file by another path is the same, and so is a function whose file was moved."""
    for name in sorted({*then.options, *now.options}):
        was, is_now = str(before := then.options.get(name)), str(after := now.options.get(name))
        moved = then.code.get(name, "") == now.code.get(name) and was.rpartition(":")[2] == is_now.rpartition(":")[2]
        if before != after and not moved and os.path.normpath(folder / was) != os.path.normpath(folder / is_now):
            yield name, before, after


def _changed(
    records: Mapping[str, ModelRecord], specs: Iterable[ModelSpec], past: Iterable[PastDialogue]
) -> Iterator[str]:
    """A remark for each model that is not what it was when raters last answered about it."""
    then = {model.name: model for one in past if one.rated_turns for model in one.models if model.options}
    for spec in specs:
        now, folder = records[spec.name], spec.folder or Path()
        had = then.get(spec.name, now)
        whys = [
            f"{name} was {in_brief(was)} and is now {in_brief(is_now)}"
            for name, was, is_now in _options_that_differ(had, now, folder)
        ]
        edited = (name for name, digest in now.code.items() if had.code.get(name, digest) != digest)
        whys += [f"the code in {code_file(str(now.options[name]), folder)} is different" for name in edited]
        if whys:
            yield (
                f"{spec.name} has changed since raters last answered about it ({whys[0]}). The report treats all answers "
                "as about one model. To keep them apart, give the model another name, or begin another study: "
                "task_name=…"
            )


def _turns(config: InteractiveConfig) -> int:
    entry = techniques().get(config.technique)
    if not config.rater_ends or entry is None or entry.habits is None:
        return config.turns
    return entry.habits.turns_within(config.turns, config.max_turns)


def _file(configured: str) -> Path | None:
    return Path(configured).expanduser() if configured else None


def _contexts(config: InteractiveConfig) -> list[SpeakerContext]:
    needed = bool(config.bot_persona) or config.topic == "icebreaker"
    if not needed and not config.context_file:
        return []
    contexts = load_contexts(config.context_kind, _file(config.context_file))
    if needed and not all(context.bot_persona for context in contexts):
        without = next(context.context_id for context in contexts if not context.bot_persona)
        what = f"context {without!r} has no persona for the bot, which this study needs"
        raise ConfigError(what, where=config.context_file)
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


def _values(config: InteractiveConfig, conversations: int) -> dict[str, str]:
    return {
        "question": t(config.question or config.of(config.settings()[0]).question),
        **{name: str(getattr(config, name)) for name in ("turns", "max_turns", "min_written_words")},
        "models": number_in_words(config.group_size),
        "conversations": str(conversations),
        "settings": str(len(config.settings())),
    }


def _flags(config: InteractiveConfig, begun: bool, person: bool) -> Mapping[str, bool]:
    configs = [config.of(setting) for setting in config.settings()]
    return {
        **config.model_dump(include={"persona", "rater_ends", "topic_changes", "offer_topics"}),
        "human_partner": person,
        "first_message": begun or bool(config.first_message),
        "one_turn": all(variant.turns == 1 for variant in configs),
        "several_conversations": config.conversations_per_unit > 1,
        "opinion": config.ask_opinion,
        "topic_free": config.topic == "free",
        "topic_icebreaker": config.topic == "icebreaker",
        "several_settings": len(configs) > 1,
        "none_allowed": any(variant.min_choices == 0 for variant in configs),
        "several_choices": any(variant.max_choices != 1 for variant in configs),
        "written_fallback": any(variant.min_choices == 0 and variant.fallback == "write" for variant in configs),
        "reasons": any(variant.reason_required for variant in configs),
    }
