"""Settings → a study of finished dialogues, and its unjudged items, for judges."""

from __future__ import annotations

import random
import time
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mephisto_tasks.annotation import steps as asking
from mephisto_tasks.annotation.config import APART, Show, StaticConfig
from mephisto_tasks.annotation.items import Gathered, compared, gather, held_by_rater, images_of, is_of_people, the_kind
from mephisto_tasks.annotation.steps import PREFIX, GoldDeck, load_golds, masked, shown_dialogue, shown_item, unfit
from mephisto_tasks.annotation.study import AnnotationStudy, open_items, own_settings
from mephisto_tasks.config.files import task_dir
from mephisto_tasks.config.task import ConfigError, resolve_file
from mephisto_tasks.session.build import Setup, study_presenter, unfit_practice, unprotected_languages
from mephisto_tasks.session.page import Difference, recorded_settings, settings_that_differ, settled
from mephisto_tasks.session.steps import check_practice
from mephisto_tasks.storage.locks import only_judging
from mephisto_tasks.storage.results import past_judgements
from mephisto_tasks.storage.work import CutOff
from parlai_humaneval._util.data_files import validated
from parlai_humaneval.allocation.adaptive import DrawnItemAllocator
from parlai_humaneval.allocation.groups import Item
from parlai_humaneval.allocation.items import ItemAllocator
from parlai_humaneval.dialogues import PACKAGED
from parlai_humaneval.dialogues.dialogue import HUMAN
from parlai_humaneval.i18n.translate import t
from parlai_humaneval.materials.instructions import Practice, load_practice
from parlai_humaneval.models.zoo.entries import ModelSpec, load_zoo
from parlai_humaneval.planning.inputs import ONE_DIALOGUE_MINUTES
from parlai_humaneval.schema.records import JudgementRecord, Rated
from parlai_humaneval.statistics.core.formatting import counted
from parlai_humaneval.techniques.questions import READ_AGAIN
from parlai_humaneval.techniques.registry import techniques

if TYPE_CHECKING:
    from mephisto_tasks.session.stopping import StoppingMonitor
    from parlai_humaneval.judges.config import JudgeSpec


THIRD_PARTY_SECONDS: dict[Show, float] = {"replay": 60 * ONE_DIALOGUE_MINUTES, "whole": 120, "turn": 40}
"""Seconds for an item, if no plan knows its technique's: a replay takes as long as the dialogue, the others are
assumed."""
OWN = "own"  # metric of replays: whatever the dialogue's own rater was asked


def build_study(setup: Setup[StaticConfig], task: str) -> AnnotationStudy:
    """The study that the settings describe, with what earlier launches did; models that are to talk first do. Raises
    ConfigError, DataError, ZooError, NotEnough: each names the setting or file; NothingToDo: all is collected."""
    config, seed, data_dir, task_name = setup.config, setup.seed, setup.data_dir, setup.task_name
    setup.task_config = _task_config(config, task)
    recorded = recorded_settings(data_dir, task_name) if config.pairing == "auto" else None
    if recorded is not None:  # the study may have begun when all were compared with all
        earlier = {"pairing": "any", "keep_pairs": False}.items()
        config = config.model_copy(update={name: value for name, value in earlier if name not in recorded})
    gathered = gather(config, data_dir, steady(task_name) if config.seed is None else config.seed)
    models = {name for item in gathered.items for name in item.cell.models}
    specs = known_specs(config, models)
    said_by_models = (
        line.text for one in gathered.dialogues for line in one.lines if one.entities.get(line.speaker, HUMAN) != HUMAN
    )
    replies = settled(config.replies, specs, data_dir, task_name, said_by_models)
    config = config.model_copy(update={"replies": replies})
    for dialogue in gathered.dialogues if config.show in ("replay", "turn") else []:
        own_settings(shown_dialogue(dialogue), config.reason_required)
    practice = _practice(config, setup.task_config, gathered)
    if practice is None:
        config = config.model_copy(update={"onboarding_qualification": None})
    setup.config = config
    golds = GoldDeck(_golds(config, setup.task_config), config.golds_per_unit, seed)
    trial = ItemAllocator(
        gathered.items,
        per_unit=config.items_per_unit,
        per_worker_and_cell=config.items_per_worker_and_group,
        group_once=config.workers.pair_once,
    )
    batch = trial.claim("somebody", "a unit", "a unit")
    whole = 0 if batch is None else len(batch.items)  # that a rater can get at once: nobody meets a dialogue twice
    unit = whole + min(config.golds_per_unit, len(golds.items))
    images = images_of(config, gathered.dialogues, data_dir, task_name)  # before a judge is asked, who may see them
    judge = judge_of(config)
    monitor = setup.monitor(lambda: _asked(config, gathered), judge=f"{judge.name}@{judge.version}" if judge else "")
    said: list[str] = []
    if monitor is not None and judge is not None and not monitor.is_over:
        monitor.predictions, said = _predicted(config, gathered, judge, data_dir, task_name)
    allocator = _allocator(config, gathered, monitor, seed)
    past, seen_golds = past_judgements(data_dir, task_name)
    cells = {item.item_id: item.cell for item in gathered.items}
    allocator.restore(replace(judgement, cell=cells.get(judgement.item_id, judgement.cell)) for judgement in past)
    for worker, held in held_by_rater(config, gathered, data_dir).items():
        allocator.bar(worker, held)
    for gold in seen_golds:
        golds.note_shown(gold.worker, gold.item_id)
        if gold.judged:
            golds.note_judged(gold.session)
    instructions = setup.words(lambda: _values(config, unit), lambda: _unit_of(config, unit), _flags(config, unit))
    options = (spec.options for spec in specs)
    presenter = study_presenter(config.replies, options, compared=config.hides_ai_talk)
    study = AnnotationStudy(
        config=config,
        seed=seed,
        practice=practice,
        draws_markdown=config.replies.appearance == "markdown",
        is_paid=setup.is_paid,
        acquainted={judgement.worker for judgement in past},
        minutes=setup.minutes(unit, THIRD_PARTY_SECONDS.get(config.show)),
        instructions=next(iter(instructions.values())),
        instructions_in=instructions,
        dialogues={dialogue.dialogue_id: dialogue for dialogue in gathered.dialogues},
        items={item.item_id: item for item in gathered.items},
        allocator=allocator,
        monitor=monitor,
        closing=setup.closing,
        golds=golds,
        presenter=presenter,
        images=images,
        once_open=lambda: presenter.prepare(sorted(models)),
        remarks=[*_remarks(config, whole), *said, *unprotected_languages(config, presenter)],
    )
    now = config.model_dump(mode="json")

    def differences(left: CutOff) -> Iterator[Difference]:
        for beginning in left.beginnings if open_items(left) else []:
            yield from settings_that_differ(beginning.settings, now, APART)

    more = "judgements_per_item=… or judgements_per_group=…"
    return setup.finish(study, study.can_go_on, differences, "all judgements", more)


def _asked(config: StaticConfig, gathered: Gathered) -> tuple[list[str], list[tuple[str, ...]], str]:
    """The models of a study that stops once it reaches a decision, their groups, and the kind of their dialogues."""
    groups = list(dict.fromkeys(item.cell.models for item in gathered.items if not is_of_people(item)))
    return compared(config, groups), groups, the_kind(gathered.items)


def judge_of(config: StaticConfig) -> JudgeSpec | None:
    """The judge whose predictions are to be taken off what raters say. Raises JudgeError, ZooError."""
    if not config.judge:
        return None
    from parlai_humaneval.judges.config import load_judge

    limit = None if config.judge_max_cost is None else "judge_max_cost"
    return load_judge(resolve_file(config.judge, Path()), limit)


def _predicted(
    config: StaticConfig, gathered: Gathered, judge: JudgeSpec, data_dir: Path, task_name: str
) -> tuple[dict[str, tuple[str, float]], list[str]]:
    """The judge's answer for every pairing, with missing answers requested, and remarks for the user. Raises
    ConfigError, JudgeError, CannotJudge, JudgingElsewhere, ZooError."""
    from mephisto_tasks.annotation.judging import JudgedStudy, ask, predictions

    records = _as_records(config, gathered, gathered.items, task_name)
    with only_judging(data_dir, task_name):
        judged = JudgedStudy.of_items(data_dir, task_name, judge, records)
        ran = ask(judged, config.judge_max_cost)
    if ran.stopped == "failed":
        raise ConfigError(
            f"judge {judge.name} gave no replies ({'; '.join(ran.failures)})",
            try_="fix that and launch again, which asks only for the missing replies, or leave judge=… out",
        )
    foretold = predictions(judged)
    lacking = len(records) - len(foretold)
    nothing = f"For {counted(lacking, 'pairing')} that {judge.name} did not judge, only raters' answers count."
    return foretold, [nothing] if lacking else []


def _allocator(config: StaticConfig, gathered: Gathered, monitor: StoppingMonitor | None, seed: int) -> ItemAllocator:
    if monitor is not None:
        people = [item for item in gathered.items if is_of_people(item)]
        return DrawnItemAllocator(
            monitor,
            [item for item in gathered.items if not is_of_people(item)],
            people,
            cap=monitor.rule.max_dialogues,
            per_unit=config.items_per_unit,
            people_per_unit=min(len(people), round(config.human_share * config.items_per_unit)),
            per_worker_and_cell=config.items_per_worker_and_group,
            group_once=config.workers.pair_once,
            seed=seed,
            by_lot=bool(monitor.rule.judge),
        )
    return ItemAllocator(
        gathered.items,
        gathered.wanted(config),
        per_unit=config.items_per_unit,
        units_per_worker=config.units_per_worker,
        per_worker_and_cell=config.items_per_worker_and_group,
        group_once=config.workers.pair_once,
        seed=seed,
    )


def known_specs(config: StaticConfig, models: Collection[str]) -> list[ModelSpec]:
    """Dialogues may be of models that no zoo file knows; of those that it knows, instructions are not repeated."""
    zoo = load_zoo(more=config.zoo_files)
    return [zoo[name] for name in sorted(models) if name in zoo]


def _remarks(config: StaticConfig, whole: int) -> Iterator[str]:
    if PACKAGED in config.dialogues:
        yield "The dialogues are samples that come with this project. To use your own: 'dialogues=[chats.jsonl]'."
    if whole < config.items_per_unit:
        yield (
            f"Assignments have {whole} items instead of items_per_unit={config.items_per_unit}, because raters never see a "
            "dialogue twice. The setting items_per_worker_and_group can also limit the number of items. The pay is the "
            "same. Lower items_per_unit, or add dialogues."
        )
    each = 1 if config.workers.pair_once else config.items_per_worker_and_group
    if config.is_decided and each is not None and each < config.items_per_unit:
        yield (
            f"Each rater judges at most {counted(each, 'item')} for each open pair of models. As pairs are decided, "
            f"assignments become shorter, down to {counted(each, 'item')}. The pay is the same. If shorter assignments cost "
            "too much, raise items_per_worker_and_group."
        )


def steady(task_name: str) -> int:
    """Keep a study's items the same in every launch: counts continue, and a sample stays the same."""
    return zlib.crc32(task_name.encode())


def _task_config(config: StaticConfig, task: str) -> Path:
    task_config = task_dir(task) / "task_config"
    if (task_config / "instructions.yaml").is_file() or config.technique not in techniques():
        return task_config
    return task_dir(config.technique) / "task_config"


def _practice(config: StaticConfig, task_config: Path, gathered: Gathered) -> Practice | None:
    metric: str | None = config.metric
    if metric == OWN:
        metrics = {dialogue.rating.metric for dialogue in gathered.dialogues if dialogue.rating}
        metric = metrics.pop() if len(metrics) == 1 else None
    if config.onboarding_qualification is None or (metric is None and not config.onboarding_file):
        return None
    path = resolve_file(config.onboarding_file, task_config / f"onboarding_{metric}.json")
    if not config.onboarding_file and not path.is_file():
        return None
    practice = load_practice(path, metric or config.metric)
    problem = unfit(practice, config)
    if config.show == "replay" and problem is None:
        rated = gathered.dialogues[0]
        assert rated.rating is not None
        problem = check_practice(practice, own_settings(shown_dialogue(rated), config.reason_required))
        question = practice.question or READ_AGAIN.get(rated.rating.question, rated.rating.question)
        practice = practice.model_copy(update={"question": question})
    if problem is None:
        return practice
    if not config.onboarding_file:
        return None
    raise unfit_practice(path, problem)


def _golds(config: StaticConfig, task_config: Path) -> Practice | None:
    if not config.golds_per_unit:
        return None
    path = resolve_file(config.gold_file, task_config / f"golds_{config.metric}.json")
    golds = load_golds(path, config)
    problem = unfit(golds, config)
    if problem is not None:
        raise ConfigError(problem, where=path, try_=f"name {PREFIX[:-1]} items of the right kind: gold_file=…")
    return golds


def _values(config: StaticConfig, items: int) -> dict[str, str]:
    questions = asking.asked(config)
    return {
        "question": t(questions[0].text) if questions else "",
        "items": str(items),
        "judgements": str(config.judgements_per_item),
        "units": str(config.units_per_worker or ""),
    }


def _unit_of(config: StaticConfig, items: int) -> str:
    if items == 1:
        return t("task")
    if config.show == "pair":
        return t("set of {number} pairs of conversations", number=items)
    return t("set of {number} conversations", number=items)


def _flags(config: StaticConfig, items: int) -> Mapping[str, bool]:
    return {
        "reasons": config.reason_required and config.show in ("pair", "replay"),
        "several_items": items > 1,
        "self_chat": config.setting == "self_chat",
        "human_bot": config.setting == "human_bot",
        "labels": config.show == "segment",
        "features": bool(config.features),
        "human_dialogues": bool(config.human_dialogues),
        "replay": config.show == "replay",
        "ranking": config.show == "turn",
        "scales": config.show == "whole",
        "ties": config.ties and config.show == "turn",
    }


FORMS = ("pair", "segment")


def unjudged(
    records: Sequence[Rated], data_dir: Path, task_name: str, number: int, known: Collection[str], seed: int
) -> list[JudgementRecord]:
    """``number`` items that stand neither in ``records`` nor in ``known``, drawn by ``seed``, as records without
    answers. Raises ConfigError: raters talked to models; other settings; DataError: dialogues are gone."""
    judgements = [record for record in records if isinstance(record, JudgementRecord)]
    config = _settings(judgements[-1] if judgements else None)
    gathered = gather(config, data_dir, steady(task_name) if config.seed is None else config.seed)
    judged = {record.item_id for record in judgements} | {*known}
    open_items = [item for item in gathered.items if item.item_id not in judged]
    drawn = random.Random(f"unjudged:{seed}").sample(open_items, min(number, len(open_items)))
    return _as_records(config, gathered, drawn, task_name)


def _settings(newest: JudgementRecord | None) -> StaticConfig:
    if newest is None:
        raise ConfigError("--unjudged is for studies of finished dialogues: here raters judged their own dialogues")
    known = {name: value for name, value in newest.settings.items() if name in StaticConfig.model_fields}
    config = validated(StaticConfig, known, "this version cannot read the settings of this study", error=ConfigError)
    if config.show not in FORMS:
        raise ConfigError("--unjudged is for studies that compare two dialogues, or spot the bot")
    return config


def _as_records(
    config: StaticConfig, gathered: Gathered, items: Sequence[Item], task_name: str
) -> list[JudgementRecord]:
    models = sorted({name for item in gathered.items for name in item.cell.models})
    options = [spec.options for spec in known_specs(config, models)]
    presenter = study_presenter(config.replies, options, compared=config.hides_ai_talk)
    dialogues = {dialogue.dialogue_id: dialogue for dialogue in gathered.dialogues}
    return [
        JudgementRecord(
            judgement_id=f"unjudged:{item.item_id}",
            item_id=item.item_id,
            task_name=task_name,
            technique=config.technique,
            setting=item.cell.setting if config.show == "pair" else config.setting,
            metric=config.metric,
            group=list(item.cell.models),
            dialogues=[
                masked(shown, models, presenter) for shown in shown_item(item, dialogues, config.seed_exchanges)
            ],
            questions=asking.asked(config),
            seed=0,
            status="complete",
            started_at=time.time(),
        )
        for item in items
    ]
