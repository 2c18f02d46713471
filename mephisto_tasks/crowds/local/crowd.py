"""This machine: to try things out, and for people at one desk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mephisto_tasks.admission.visits import Site, only_closing
from mephisto_tasks.crowds.crowd import Crowd, CrowdLaunch, CrowdSetup, CrowdWords, Forgotten, Market, Trace
from mephisto_tasks.crowds.registry import crowds, register_crowd
from mephisto_tasks.crowds.signing import SignedIds
from mephisto_tasks.storage.provider_names import Finding
from parlai_humaneval.schema.wire import Redirect


class _Here(Site):
    def for_them(self, worker_name: str, text: str, redirect: Redirect | None) -> str:
        return only_closing(text)


class LocalLaunch(CrowdLaunch):
    @cached_property
    def signed_ids(self) -> SignedIds | None:
        return SignedIds(self.data_dir)

    def setup(self, db: Any) -> CrowdSetup:
        return replace(super().setup(db), site=_Here())


class LocalCrowd(Crowd):
    place, provider_type = "local", "mock"
    title = "On this machine"
    words = CrowdWords(where="on this machine", summary="uses this machine, to try things out")
    is_practice = True
    page_entry = "start"
    Launch = LocalLaunch
    market = Market(opens_at_once=True)
    page_script = Path(__file__).parent / "mock_crowd_source.js"  # Mephisto's shows the raw answers in an alert

    def is_near(self, settings: Mapping[str, Any]) -> bool:
        return True

    def who_checks(self, settings: Mapping[str, Any]) -> str:
        site = next((crowd for crowd in crowds() if crowd.checks_rules and crowd.status() is None), None)
        return "invite only people who meet this rule" if site is None else f"{site.title} does (place={site.place})"

    def health(self, data_dir: Path) -> list[Finding]:
        return [Finding(f"Provider {self.provider_type}", "ok", self.words.where)]

    def traces(self, data_dir: Path, person: Forgotten) -> list[Trace]:
        if not person.everywhere:
            return []
        sql = "DELETE FROM workers WHERE worker_id = ?"
        return [Trace(data_dir / self.provider_type / f"{self.provider_type}.db", [(sql, (person.worker_id,))])]


register_crowd(LocalCrowd())
