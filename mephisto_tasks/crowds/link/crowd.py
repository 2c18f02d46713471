"""A crowd whose raters come by an address: subclasses say which doors they come by."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mephisto_tasks.admission.visits import ClaimPolicy
from mephisto_tasks.crowds.base import CrowdSetup, Forgotten, Market, Trace, Waiting
from mephisto_tasks.crowds.crowd import Crowd, CrowdLaunch
from mephisto_tasks.crowds.link.arrivals import Door
from mephisto_tasks.crowds.link.datastore import FILE
from mephisto_tasks.storage.provider_names import LINK
from parlai_humaneval.i18n.translate import phrase

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from mephisto_tasks.crowds.link.reception import Reception
    from mephisto_tasks.server.app import Guard

GO_ON_THERE_BY_LINK = phrase(
    "Please go on in the browser, and on the device, in which you began: everything that you did there is kept. If you "
    "cannot, please write to the people who gave you the link."
)


class LinkCrowd(Crowd, ABC):
    """Raters by an address."""

    market = Market(opens_at_once=True)
    page_script = Path(__file__).parent / "link_crowd_source.js"
    page_type = LINK
    page_entry = "address"
    personal_link: str = ""
    """What follows the pages' address in a rater's link, with words in capitals for what differs: ``?name=NAME``."""

    @property
    def claims(self) -> ClaimPolicy:
        return ClaimPolicy(self.provider_type, advice=GO_ON_THERE_BY_LINK)

    @abstractmethod
    def doors(self, settings: Mapping[str, Any], data_dir: Path, task_name: str) -> list[Door]:
        """The ways in of a launch, in the order in which they are asked. Raises ConfigError."""

    def guard(self, data_dir: Path, task_name: str, *, secure: bool) -> Guard | None:
        """Keeps the pages from whoever has no good link; ``secure``: they are reached by https only."""
        return None

    def register_provider(self) -> None:
        self.mephisto_provider()

    def mephisto_provider(self) -> Any:
        """Mephisto's provider of this type."""
        from mephisto_tasks.crowds.link.provider import link_provider

        return link_provider(self.provider_type, self.Settings)

    def check(self, settings: Mapping[str, Any]) -> None:
        self.doors(settings, Path(), "")

    def launch(self, config: DictConfig, data_dir: Path, task_name: str, waiting_for: Waiting) -> CrowdLaunch:
        return LinkLaunch(self, config, data_dir, task_name, waiting_for)

    def traces(self, data_dir: Path, person: Forgotten) -> list[Trace]:
        statements: list[tuple[str, Sequence[Any]]] = [
            ("DELETE FROM visits WHERE worker_name = ? AND task_name = ?", (person.name, task)) for task in person.tasks
        ]
        if person.everywhere:
            statements = [
                ("DELETE FROM visits WHERE worker_name = ?", (person.name,)),
                ("DELETE FROM blocked WHERE worker_id = ?", (person.worker_id,)),
            ]
        return [Trace(data_dir / self.provider_type / FILE, statements)]

    def outside_ids(self, data_dir: Path, person: Forgotten) -> list[str]:
        from mephisto_tasks.storage.results import rows_of

        rows = rows_of(
            data_dir / self.provider_type / FILE,
            "visits",
            f"SELECT session, registration FROM visits WHERE worker_name = ? AND task_name IN ({_marks(person.tasks)})",
            [person.name, *person.tasks],
        )
        return [str(value) for row in rows for value in row]


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))


@dataclass
class LinkLaunch(CrowdLaunch):
    """The server makes out of a page's address who its visitor is."""

    crowd: LinkCrowd

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Those below ``mephisto.provider``."""
        return {str(name): value for name, value in self.provider.items()}

    def prepare(self, db: Any) -> list[str]:
        requester = str(self.provider.requester_name)
        if not db.find_requesters(requester_name=requester):
            self.crowd.mephisto_provider().RequesterClass.new(db, requester)
        return []

    def receive(self, db: Any) -> Reception | None:
        from mephisto_tasks.crowds.link.reception import Reception

        doors = self.crowd.doors(self.settings, self.data_dir, self.task_name)
        store = self.crowd.mephisto_provider()(db).datastore
        self._reception = Reception(store, doors, self.task_name, self.crowd.provider_type)
        return self._reception

    def setup(self, db: Any) -> CrowdSetup:
        setup = super().setup(db)
        setup.site = self._reception
        secure = str(self.config.mephisto.architect.get("public_url") or "").startswith("https://")
        setup.guard = self.crowd.guard(self.data_dir, self.task_name, secure=secure)
        return setup

    def raters_link(self, url: str, live_run: Any) -> str:
        return f"{url.rstrip('/')}/{self.crowd.personal_link}" if self.crowd.personal_link else url

    def page_words(self) -> dict[str, Any]:
        return {"panel": None}
