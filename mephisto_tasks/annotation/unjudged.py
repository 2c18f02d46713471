"""Items of a study of finished dialogues that no rater has judged: a judge can be asked about them as well."""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Sequence
from pathlib import Path

from pydantic import ValidationError

from mephisto_tasks.annotation import steps as asking
from mephisto_tasks.annotation.build import known_specs, steady
from mephisto_tasks.annotation.config import StaticConfig
from mephisto_tasks.annotation.display import masked, shown_item
from mephisto_tasks.annotation.items import Gathered, gather
from mephisto_tasks.config.task import ConfigError
from mephisto_tasks.session.build import study_presenter
from parlai_humaneval.allocation.item import Item
from parlai_humaneval.schema.records import JudgementRecord, Rated

FORMS = ("pair", "segment")


def unjudged(
    records: Sequence[Rated], data_dir: Path, task_name: str, number: int, known: Collection[str], seed: int
) -> list[JudgementRecord]:
    """``number`` items of the study that stand in none of ``records``, drawn by ``seed``, as records without answers.

    Args:
        records: of the study's raters; the newest has its settings.
        data_dir: of the study.
        task_name: of the study.
        number: how many; fewer where there are no more.
        known: items that were drawn before.
        seed: of the draw.

    Raises:
        ConfigError: the study has no items, as its raters talked to the models; or its settings are of another version.
        DataError: its dialogues are not there any more.
    """
    judgements = [record for record in records if isinstance(record, JudgementRecord)]
    config = _settings(judgements[-1] if judgements else None)
    gathered = gather(config, data_dir, steady(task_name) if config.seed is None else config.seed)
    judged = {record.item_id for record in judgements} | {*known}
    open_items = [item for item in gathered.items if item.item_id not in judged]
    drawn = random.Random(f"unjudged:{seed}").sample(open_items, min(number, len(open_items)))
    return _as_records(config, gathered, drawn, task_name)


def _settings(newest: JudgementRecord | None) -> StaticConfig:
    if newest is None:
        raise ConfigError("--unjudged is of studies of finished dialogues: here each dialogue was rated by who held it")
    known = {name: value for name, value in newest.settings.items() if name in StaticConfig.model_fields}
    try:
        config = StaticConfig.model_validate(known)
    except ValidationError as error:
        raise ConfigError(
            f"the settings of this study are not those of this version ({error.errors()[0]['msg']})"
        ) from error
    if config.show not in FORMS:
        raise ConfigError("--unjudged is of studies that compare two dialogues, or spot the bot")
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
