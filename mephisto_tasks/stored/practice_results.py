"""How workers did in the practice of a task, read from the onboarding agents' logs. Read only, as ``results.py``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import ValidationError

from mephisto_tasks.stored.stored_state import StateFiles
from parlai_humaneval.protocol.records.dialogue import OnboardingRecord
from parlai_humaneval.protocol.records.events import Event, PracticeAnswered, PracticeEnded

ONBOARDINGS = """
    SELECT onboarding_agents.onboarding_agent_id, onboarding_agents.worker_id, onboarding_agents.task_run_id
      FROM onboarding_agents JOIN tasks ON tasks.task_id = onboarding_agents.task_id
     WHERE tasks.task_name = ?1 AND (?2 = '' OR onboarding_agents.worker_id = ?2)
  ORDER BY onboarding_agents.onboarding_agent_id
"""


def practice_of(events: Iterable[Event]) -> OnboardingRecord:
    """One worker's practice, over all visits: choices by attempt, and the verdict (None: not ended yet)."""
    choices: dict[int, list[str]] = defaultdict(list)
    passed: bool | None = None
    for event in events:
        if isinstance(event, PracticeAnswered):
            if event.item == 1:
                choices[event.attempt] = []  # an attempt that was left begins anew
            choices[event.attempt].append(event.choice)
        elif isinstance(event, PracticeEnded):
            passed = event.passed
    return OnboardingRecord(passed=passed, tries=len(choices), choices=[choices[number] for number in sorted(choices)])


def read_practices(
    data_dir: Path,
    onboardings: Iterable[tuple[object, ...]],
    since: Mapping[str, float],
    files: StateFiles | None = None,
) -> dict[str, OnboardingRecord]:
    """Mephisto's worker id → practice, of the rows that :data:`ONBOARDINGS` selects.

    ``since``: worker id → time before which nothing counts any more.
    """
    logs = practice_logs(data_dir, onboardings, files)
    counted = {worker: [event for event in log if event.at >= since.get(worker, 0.0)] for worker, log in logs.items()}
    return {worker: practice_of(log) for worker, log in counted.items() if log}


def practice_logs(
    data_dir: Path, onboardings: Iterable[tuple[object, ...]], files: StateFiles | None = None
) -> dict[str, list[Event]]:
    """Mephisto's worker id → what happened in their practice, over all visits; rows as :data:`ONBOARDINGS` selects them.

    ``files``: that were read before; None: each is read.

    A log that is missing or of another schema belongs to a practice that never began here; it is left out.
    """
    files = files or StateFiles()
    events: dict[str, list[Event]] = defaultdict(list)
    for agent_id, worker_id, run_id in onboardings:
        folder = data_dir / "data" / "runs" / "NO_PROJECT" / str(run_id) / "onboarding" / f"onboarding_{agent_id}"
        try:
            state = files.read(folder / "state.json")
        except (FileNotFoundError, ValidationError):
            continue
        if state.outputs.messages:
            events[str(worker_id)] += state.outputs.messages
    return dict(events)


def failed_tries(practice: OnboardingRecord, items: int) -> int:
    """Attempts that were gone through to their end with a wrong choice; ``items``: choices of a whole attempt."""
    return sum(len(choices) == items and "bad" in choices for choices in practice.choices)
