"""Soft blocks while a study runs: a worker who fails a blocking check gets no more of it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from mephisto_tasks.blocking import block
from mephisto_tasks.interactive.study import Study
from parlai_humaneval.protocol.events import build_record, parse_events, split_dialogues
from parlai_humaneval.quality.registry import check_dialogue, check_workers

logger = logging.getLogger(__name__)


def block_if_failed(study: Study, worker: Any, messages: Sequence[dict[str, Any]], task_name: str) -> None:
    """Judge a unit that is complete by the study's ``blocking_checks``; the first that fails blocks its worker.

    Args:
        study: the launch.
        worker: Mephisto's worker.
        messages: the unit's stored events.
        task_name: of the study.
    """
    names, qualification = study.config.blocking_checks, study.config.block_qualification
    if not names or not qualification:
        return
    records = [build_record(events) for events in split_dialogues(parse_events(messages))]
    verdicts = [verdict for record in records for verdict in check_dialogue(record, names)]
    verdicts += [verdict for own in check_workers(records, names).values() for verdict in own]
    failed = next((verdict for verdict in verdicts if verdict.passed is False), None)
    if failed is not None:
        block(worker, qualification, failed.reason, check=failed.check, task_name=task_name)
        logger.info("a worker is blocked by %s: %s", failed.check, failed.reason)
