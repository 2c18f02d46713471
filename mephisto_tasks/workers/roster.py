"""Everybody who was ever here: Mephisto's workers, by their pseudonyms. Read only."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from mephisto_tasks.storage.provider_names import plain_name
from mephisto_tasks.storage.results import PSEUDONYM_KEY, ResultsError, query
from parlai_humaneval._util.errors import misspelt
from parlai_humaneval._util.text import clean_label
from parlai_humaneval.schema.pseudonyms import Pseudonymizer

SIMULATED = "parlai-humaneval-simulated-rater"
"""Name of the qualification that marks programs of this project."""

_WORKERS = """
    SELECT worker_id, worker_name, provider_type, creation_date,
           EXISTS (SELECT 1 FROM granted_qualifications AS granted
                     JOIN qualifications ON qualifications.qualification_id = granted.qualification_id
                    WHERE granted.worker_id = workers.worker_id AND qualifications.qualification_name = ?)
      FROM workers
  ORDER BY worker_id
"""


class UnknownWorker(ResultsError):
    """Nobody of that name was here; the message says what to do."""


@dataclass(frozen=True)
class KnownWorker:
    """A worker of Mephisto's database. ``name`` is who they are and never printed; ``since``: seconds since the epoch."""

    pseudonym: str
    worker_id: str
    name: str
    provider: str
    since: float
    simulated: bool


def known_workers(data_dir: Path) -> dict[str, KnownWorker]:
    """Pseudonym → worker, in order of their coming.

    Raises:
        ResultsError: there is no database.
    """
    rows = query(data_dir, _WORKERS, [SIMULATED])
    pseudonyms = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY)
    workers = (
        KnownWorker(
            pseudonyms.worker(str(name)), str(worker_id), str(name), str(provider), seconds(str(at)), bool(simulated)
        )
        for worker_id, name, provider, at, simulated in rows
    )
    return {worker.pseudonym: worker for worker in workers}


def named(workers: dict[str, KnownWorker], given: Iterable[str]) -> list[KnownWorker]:
    """The workers of these pseudonyms.

    Raises:
        UnknownWorker: nobody has one of them; the message names the nearest that there is.
    """
    given = list(dict.fromkeys(map(clean_label, given)))
    for name in given:
        if name not in workers:
            raise UnknownWorker(
                "no worker of this data directory has this pseudonym",
                where=name,
                try_="`parlai-humaneval workers list` shows all, and --worker-id finds the pseudonym of an id",
                misspelt=misspelt(name, workers, cutoff=0.8),
            )
    return [workers[name] for name in given]


def by_worker_id(workers: Collection[KnownWorker], worker_id: str) -> list[KnownWorker]:
    """The workers whom their crowd's site calls so; a site and its sandbox may both know the same id.

    Raises:
        UnknownWorker: nobody has.
    """
    found = [worker for worker in workers if clean_label(worker_id) in names_of(worker.name)]
    if not found:
        raise UnknownWorker("nobody with this worker id was ever here (in this data directory)")
    return found


def names_of(worker_name: str) -> set[str]:
    """What a worker may be called by: as stored, without Mephisto's suffix of a sandbox, and without their panel's name."""
    plain = plain_name(worker_name)
    return {worker_name, plain, plain.rpartition(":")[2]}


def seconds(stored: str) -> float:
    """A time of Mephisto's database (UTC) in seconds since the epoch."""
    return datetime.fromisoformat(stored).replace(tzinfo=timezone.utc).timestamp()
