"""A study as a Mephisto blueprint; each technique is a subclass, made from its entry."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from mephisto_tasks._util import compat
from parlai_humaneval._util.errors import HumanevalError

compat.prepare()

from mephisto.abstractions._subcomponents.task_builder import TaskBuilder
from mephisto.abstractions.blueprint import Blueprint, BlueprintArgs, SharedTaskState
from mephisto.abstractions.blueprints.mixins.onboarding_required import (
    OnboardingRequired,
    OnboardingSharedState,
)

from mephisto_tasks.adapter.task_runner import StudyTaskRunner, one_unit
from mephisto_tasks.admission.visits import NoSite, Site
from mephisto_tasks.config.task import TaskConfig, hydra_arguments
from mephisto_tasks.server.app import FreshIds, Guard
from mephisto_tasks.server.side_door import SideDoor
from mephisto_tasks.session.agent_state import LiveAgentState
from mephisto_tasks.session.study import Study
from parlai_humaneval.i18n.languages import Offered
from parlai_humaneval.schema.events import PracticeEnded, parse_events

if TYPE_CHECKING:
    from aiohttp.typedefs import Handler
    from mephisto.data_model.agent import OnboardingAgent
    from mephisto.data_model.worker import Worker


class WebAppMissing(HumanevalError, FileNotFoundError):
    """The rater's page has not been built."""


def webapp_dist() -> Path:
    """The built page.

    Raises:
        WebAppMissing: saying how to build it.
    """
    dist = Path(str(files("mephisto_tasks") / "webapp" / "dist"))
    if not (dist / "index.html").is_file():
        raise WebAppMissing(
            f"the rater's page is not built ({dist} has no index.html)",
            try_="run `make install` in a clone of the repository",
        )
    return dist


class PrebuiltPage(TaskBuilder):
    """Copies the built page; runs no npm, ever."""

    def build_in_dir(self, build_dir: str) -> None:
        shutil.copytree(webapp_dist(), Path(build_dir) / "static", dirs_exist_ok=True)


@dataclass
class StudySharedState(OnboardingSharedState, SharedTaskState):
    """What hydra cannot carry: the study, the way in for partners, and who sends the raters. Filled by the launcher."""

    study: Study | None = None
    side_door: SideDoor | None = None
    guard: Guard | None = None
    site_calls: dict[str, Handler] = field(default_factory=dict)
    fresh_ids: FreshIds | None = None
    site: Site = field(default_factory=NoSite)
    site_requirements: list[dict[str, Any]] = field(default_factory=list)
    languages: Offered = field(default_factory=Offered)


class StudyBlueprint(OnboardingRequired, Blueprint):
    """What the blueprints of all techniques have in common; each names the settings of its engine."""

    CONFIG: ClassVar[type[TaskConfig]]

    AgentStateClass = LiveAgentState
    OnboardingAgentStateClass = LiveAgentState
    TaskRunnerClass = StudyTaskRunner
    TaskBuilderClass = PrebuiltPage
    ArgsClass: ClassVar[type]
    SharedStateClass = StudySharedState

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Each technique gets the engine's arguments under its own type."""
        super().__init_subclass__(**kwargs)
        if "BLUEPRINT_TYPE" in vars(cls):
            cls.ArgsClass = hydra_arguments(
                cls.CONFIG, f"{cls.__name__}Args", (BlueprintArgs,), _blueprint_type=cls.BLUEPRINT_TYPE
            )

    def __init__(self, task_run: Any, args: Any, shared_state: Any) -> None:
        super().__init__(task_run, args, shared_state)
        self._onboarding_agents: dict[str, OnboardingAgent] = {}

    @property
    def study(self) -> Study:
        study = self.shared_state.study
        assert isinstance(study, Study), "a task is launched through mephisto_tasks.launch.launch"
        return study

    def get_initialization_data(self) -> Iterable[Any]:
        """As many units as are missing; what a unit holds is decided when a rater takes it. None in a pause."""
        return [] if self.study.paused else [one_unit() for _ in range(self.study.remaining)]

    def remember_onboarding(self, agent: OnboardingAgent) -> None:
        """So that a reload in the practice conversation finds its place."""
        self._onboarding_agents[agent.worker_id] = agent

    def forget_onboarding(self, agent: OnboardingAgent) -> None:
        """The practice is over: who comes back begins anew, and not with its last page."""
        self._onboarding_agents.pop(agent.worker_id, None)

    def get_onboarding_data(self, worker_id: str) -> dict[str, Any]:
        """What the page of a practising worker shows now (nothing yet at the first call)."""
        agent = self._onboarding_agents.get(worker_id)
        state = None if agent is None else agent.state.get_init_state()
        return state if isinstance(state, dict) else {"task_data": {}, "past_live_updates": []}

    def validate_onboarding(self, worker: Worker, onboarding_agent: OnboardingAgent) -> bool:
        """The verdict of the practice as the server wrote it down; what the page submits is ignored."""
        events = parse_events(onboarding_agent.state.messages)
        onboarding_agent.hide_state()  # Mephisto keeps the agent for the whole launch
        return any(isinstance(event, PracticeEnded) and event.passed for event in events)
