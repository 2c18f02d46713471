"""Soft blocks while a study runs: a worker who fails a blocking check gets no more of it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mephisto_tasks.stored.results import worker_records
from mephisto_tasks.workers.blocking import block
from parlai_humaneval.protocol.records.events import parse_events
from parlai_humaneval.protocol.records.rebuilding import build_rated, split_dialogues
from parlai_humaneval.quality import check_dialogue, check_workers, needs_all_records
from parlai_humaneval.quality.verdicts import Verdict

logger = logging.getLogger(__name__)


def block_if_failed(
    names: Sequence[str], qualification: str | None, worker: Any, messages: Sequence[dict[str, Any]], task_name: str
) -> None:
    """Judge a unit that is complete by checks; the first that fails blocks its worker.

    Checks on workers look at all that the worker has done in the task (Ji et al. 2022: all units pooled).

    Args:
        names: of the checks.
        qualification: with which the study blocks; without one nobody is judged.
        worker: Mephisto's worker.
        messages: the unit's stored events.
        task_name: of the study.
    """
    if not names or not qualification:
        return
    try:
        failed = _first_failure(names, worker, messages, task_name)
        if failed is not None:
            block(worker, qualification, failed.reason, check=failed.check, task_name=task_name)
            logger.info("a worker is blocked by %s: %s", failed.check, failed.reason)
    except Exception:  # a damaged file of somebody else's, say: this rater has done the work and must get their thanks
        logger.exception("a unit of task %r could not be judged by %s; nobody is blocked", task_name, ", ".join(names))


def _first_failure(
    names: Sequence[str], worker: Any, messages: Sequence[dict[str, Any]], task_name: str
) -> Verdict | None:
    records = [build_rated(events) for events in split_dialogues(parse_events(messages))]
    verdicts = [verdict for record in records for verdict in check_dialogue(record, names)]
    if needs_all_records(names):
        all_of_theirs = worker_records(Path(worker.db.db_root), task_name, worker.db_id)
        verdicts += [verdict for of_worker in check_workers(all_of_theirs, names).values() for verdict in of_worker]
    return next((verdict for verdict in verdicts if verdict.passed is False), None)
