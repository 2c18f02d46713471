"""Workers that are programs of this project: each is marked in Mephisto's database, so that none passes for a person.

The mark is a qualification that only a launch grants, to workers whose names it announced itself before they came;
nothing that a page sends can give it or take it away. A worker who was simulated once stays so in every later launch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mephisto_tasks.crowds.mturk.names import SANDBOX_SUFFIX
from mephisto_tasks.workers.known_workers import SIMULATED
from mephisto_tasks.workers.qualifications import grant


def is_simulated(worker: Any, announced: Callable[[str], bool]) -> bool:
    """Whether a worker is a program; one whose name is ``announced`` is marked by this."""
    if worker.get_granted_qualification(SIMULATED) is not None:
        return True
    if not announced(str(worker.worker_name).removesuffix(SANDBOX_SUFFIX)):
        return False
    grant(worker, SIMULATED)
    return True
