"""Mephisto's table of HITs, with our clients, and with what it forgets."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.abstractions.providers.mturk.mturk_datastore import MTurkDatastore

from mephisto_tasks.crowds.mturk.client import client_for, session_for
from mephisto_tasks.storage.provider_names import MTURK, SANDBOX

_AGENTS_TABLE = """CREATE TABLE IF NOT EXISTS agent_assignments (
    agent_id TEXT PRIMARY KEY,
    hit_id TEXT NOT NULL,
    assignment_id TEXT NOT NULL
);"""
_HITS_OF_RUNS = "SELECT hit_id, unit_id FROM hits INNER JOIN run_mappings USING (hit_id) WHERE run_id IN ({})"


class HitStore(MTurkDatastore):
    """Mephisto's, but:

    * clients are ours (:mod:`~mephisto_tasks.crowds.mturk.client`), one for all threads;
    * which assignment an agent had is kept. Mephisto keeps that of a unit only while its worker is there, so that
      nobody could be paid who had left.
    """

    def __init__(self, datastore_root: str) -> None:
        super().__init__(datastore_root)
        self._clients: dict[tuple[str, str], Any] = {}
        self._making = threading.Lock()
        self._hits_made_now = 0
        with self.table_access_condition, self._get_connection() as connection:
            connection.execute(_AGENTS_TABLE)

    def get_session_for_requester(self, requester_name: str) -> Any:
        return session_for(requester_name)

    def get_client_for_requester(self, requester_name: str) -> Any:
        return self._client(requester_name, MTURK)

    def get_sandbox_client_for_requester(self, requester_name: str) -> Any:
        return self._client(requester_name, SANDBOX)

    def _client(self, requester_name: str, provider: str) -> Any:
        with self._making:
            if (requester_name, provider) not in self._clients:
                self._clients[requester_name, provider] = client_for(requester_name, provider)
            return self._clients[requester_name, provider]

    def note_assignment(self, agent_id: str, hit_id: str, assignment_id: str) -> None:
        """An agent works on an assignment of a HIT, for good."""
        with self.table_access_condition, self._get_connection() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO agent_assignments VALUES (?, ?, ?)", (agent_id, hit_id, assignment_id)
            )

    def assignment_of(self, agent_id: str) -> tuple[str, str] | None:
        """HIT and assignment of an agent; None for one of a launch before these were kept."""
        with self.table_access_condition:
            row = (
                self._get_connection()
                .execute("SELECT hit_id, assignment_id FROM agent_assignments WHERE agent_id = ?", (agent_id,))
                .fetchone()
            )
        return None if row is None else (str(row["hit_id"]), str(row["assignment_id"]))

    @contextmanager
    def making_a_hit(self) -> Iterator[None]:
        """In the block MTurk makes a HIT: workers find it there a moment before it is known here."""
        with self._making:
            self._hits_made_now += 1
        try:
            yield
        finally:
            with self._making:
                self._hits_made_now -= 1

    @property
    def are_hits_made_now(self) -> bool:
        """Whether somebody may come with a HIT that is not known yet."""
        return self._hits_made_now > 0

    def knows_hit(self, hit_id: str) -> bool:
        """Whether a launch of this data directory made the HIT."""
        with self.table_access_condition:
            rows = self._get_connection().execute("SELECT 1 FROM hits WHERE hit_id = ?", (hit_id,)).fetchall()
        return bool(rows)

    def hits_of_runs(self, run_ids: list[str]) -> dict[str, str | None]:
        """Every HIT that these runs made, with the unit that its worker was given."""
        with self.table_access_condition:
            rows = (
                self._get_connection().execute(_HITS_OF_RUNS.format(", ".join("?" * len(run_ids))), run_ids).fetchall()
            )
        return {str(row["hit_id"]): row["unit_id"] for row in rows}

    def forget_qualification(self, name: str) -> None:
        """Its counterpart on MTurk is gone."""
        with self.table_access_condition, self._get_connection() as connection:
            connection.execute("DELETE FROM qualifications WHERE qualification_name = ?", (name,))
