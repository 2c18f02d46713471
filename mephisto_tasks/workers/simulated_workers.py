"""Workers that are programs of this project: each is marked in Mephisto's database, so that none passes for a person.

The mark is a qualification that only a launch grants, to workers whose names it announced itself before they came;
nothing that a page sends can give it or take it away. A worker who was simulated once stays so in every later launch.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mephisto_tasks.stored.results import PSEUDONYM_KEY, query
from mephisto_tasks.workers.qualifications import grant
from parlai_humaneval.protocol.records.pseudonym import Pseudonymizer

SIMULATED = "parlai-humaneval-simulated-rater"
"""Name of the qualification."""
_SANDBOX = "_sandbox"
"""Mephisto puts this behind the names of workers in a sandbox."""
_MARKED = """
    SELECT workers.worker_name FROM workers
      JOIN granted_qualifications ON granted_qualifications.worker_id = workers.worker_id
      JOIN qualifications ON qualifications.qualification_id = granted_qualifications.qualification_id
     WHERE qualifications.qualification_name = ?
"""


def is_simulated(worker: Any, announced: Callable[[str], bool]) -> bool:
    """Whether a worker is a program; one whose name is ``announced`` is marked by this."""
    if worker.get_granted_qualification(SIMULATED) is not None:
        return True
    if not announced(str(worker.worker_name).removesuffix(_SANDBOX)):
        return False
    grant(worker, SIMULATED)
    return True


def simulated_workers(data_dir: Path) -> set[str]:
    """Pseudonyms of all workers of a data directory that are marked; read only, without Mephisto.

    Raises:
        ResultsError: there is no database.
    """
    rows = query(data_dir, _MARKED, [SIMULATED])
    pseudonyms = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY)
    return {pseudonyms.worker(str(name)) for (name,) in rows}
