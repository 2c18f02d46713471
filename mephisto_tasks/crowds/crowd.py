"""Where the raters of a launch come from, and what the launch does differently for it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.data_model.qualification import QUAL_NOT_EXIST
from mephisto.utils.qualifications import make_qualification_dict
from omegaconf import DictConfig

from mephisto_tasks.adapter.architect import MOCK_PROVIDER
from mephisto_tasks.adapter.blueprint import StudySharedState
from mephisto_tasks.config.worker_rules import WorkerRules
from mephisto_tasks.crowds.mturk.cost import LaunchTotal
from mephisto_tasks.crowds.signed_ids import SignedIds
from mephisto_tasks.session.study import Study
from mephisto_tasks.storage.logs import BLOCKED_EVERYWHERE, blocked_here

if TYPE_CHECKING:
    from mephisto_tasks.crowds.panels.reception import Reception

Agree = Callable[[LaunchTotal], None]
"""Shows what a launch can cost. Raises where nobody agrees."""
Waiting = Callable[[str], AbstractContextManager[None]]
"""Makes, of words for what is done, what is entered for as long as that takes."""


@dataclass
class Place:
    """This machine, whose raters name themselves. In the order in which a launch calls it.

    Args:
        config: of the launch, ``mephisto`` and all.
        data_dir: of the launch.
        task_name: of the launch.
        waiting_for: says what takes its time.
    """

    config: DictConfig
    data_dir: Path
    task_name: str
    waiting_for: Waiting

    link_words: ClassVar[str] = "Link for raters:"
    """What :meth:`raters_link` is."""

    @property
    def provider(self) -> DictConfig:
        """The settings of the crowd provider."""
        provider: DictConfig = self.config.mephisto.provider
        return provider

    def ask(self, units: int, rules: WorkerRules, agree: Agree | None) -> None:
        """Whether the place will take so many units, before models take minutes to load. Nothing is made there.

        Raises:
            CrowdError, ConfigError: it will not, and why; or what ``agree`` raises.
        """

    def prepare(self, db: Any) -> list[str]:
        """Make the database ready for the place, and the place for the launch; what was done there, in sentences."""
        return []

    def receive(self, db: Any) -> Reception | None:
        """What says who a visitor is, where the address of the page does."""
        return None

    def signed_ids(self) -> SignedIds | None:
        """What makes up raters' names where nobody else does."""
        return SignedIds(self.data_dir) if self.provider._provider_type == MOCK_PROVIDER else None

    def share(self, shared_state: StudySharedState, db: Any) -> None:
        """Hand over what the place adds to what a launch's parts share; who was blocked by hand is everywhere among it."""
        made = [block for block in self.blocks if db.find_qualifications(block)]  # somebody was blocked at least once
        shared_state.qualifications += [make_qualification_dict(block, QUAL_NOT_EXIST, None) for block in made]

    @property
    def blocks(self) -> tuple[str, str]:
        """The qualifications of those who were blocked by hand: everywhere, and in this study."""
        return BLOCKED_EVERYWHERE, blocked_here(self.task_name)

    def page_words(self) -> dict[str, Any]:
        """What the page is told of the place."""
        return {}

    def running(self, live_run: Any, study: Study) -> AbstractContextManager[Any]:
        """What has to be done for as long as raters are at work."""
        return nullcontext()

    @property
    def costs_money(self) -> bool:
        """No unit is offered beyond those that :meth:`ask` was about, unless somebody agrees again."""
        return False

    def raters_link(self, url: str, live_run: Any) -> str:
        """Where raters begin, given the address of the page."""
        return url

    def panel_link(self, url: str) -> str | None:
        """The link as it is entered at the panel that sends the raters."""
        return None

    @property
    def only_invited(self) -> bool:
        """Nobody comes in without an invitation."""
        return False
