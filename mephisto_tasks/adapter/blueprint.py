"""A study as a Mephisto blueprint; each technique is a subclass, made from its entry."""

from __future__ import annotations

from mephisto_tasks._util import compat

compat.prepare()

import dataclasses
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

from mephisto.abstractions._subcomponents.task_builder import TaskBuilder
from mephisto.abstractions.blueprint import Blueprint, BlueprintArgs, SharedTaskState
from mephisto.abstractions.blueprints.mixins.onboarding_required import OnboardingRequired, OnboardingSharedState
from mephisto.data_model.agent import OnboardingAgent
from mephisto.data_model.task_run import TaskRunArgs
from mephisto.data_model.worker import Worker
from mephisto.operations import registry

from mephisto_tasks.adapter import settings_model
from mephisto_tasks.adapter.task_runner import StudyTaskRunner, one_unit
from mephisto_tasks.admission.visits import Site
from mephisto_tasks.config.task import TaskConfig, hydra_arguments
from mephisto_tasks.crowds.registry import register_providers
from mephisto_tasks.payments.policy import DOLLARS
from mephisto_tasks.server.app import Serving
from mephisto_tasks.session.agent_state import LiveAgentState
from mephisto_tasks.session.study import Study
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval.schema.events import PracticeEnded, parse_events
from parlai_humaneval.techniques.registry import technique


class WebAppMissing(HumanevalError, FileNotFoundError):
    """The rater's page has not been built."""


def webapp_dist() -> Path:
    """The built page. Raises WebAppMissing: saying how to build it."""
    dist = Path(str(files("mephisto_tasks") / "webapp" / "dist"))
    if not (dist / "index.html").is_file():
        what = f"the rater's page is not built ({dist} has no index.html)"
        raise WebAppMissing(what, try_="run `make install` in a clone of the repository")
    return dist


class PrebuiltPage(TaskBuilder):
    """Copies the built page; runs no npm, ever."""

    def build_in_dir(self, build_dir: str) -> None:
        shutil.copytree(webapp_dist(), Path(build_dir) / "static", dirs_exist_ok=True)


@dataclass
class StudySharedState(OnboardingSharedState, SharedTaskState):
    """State that hydra cannot carry: the study, the entry for partners, and the crowd. Filled by the launcher."""

    study: Study | None = None
    serving: Serving = field(default_factory=Serving)
    site: Site = field(default_factory=Site)
    site_requirements: list[dict[str, Any]] = field(default_factory=list)


class StudyBlueprint(OnboardingRequired, Blueprint):
    """The base of all techniques' blueprints; each names the settings of its engine."""

    CONFIG: ClassVar[type[TaskConfig]]

    AgentStateClass = LiveAgentState
    OnboardingAgentStateClass = LiveAgentState
    TaskRunnerClass = StudyTaskRunner
    TaskBuilderClass = PrebuiltPage
    ArgsClass: ClassVar[type]
    SharedStateClass = StudySharedState

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "BLUEPRINT_TYPE" in vars(cls):
            cls.ArgsClass = hydra_arguments(
                cls.CONFIG, f"{cls.__name__}Args", (BlueprintArgs,), _blueprint_type=cls.BLUEPRINT_TYPE
            )

    def __init__(self, task_run: Any, args: Any, shared_state: Any) -> None:
        super().__init__(task_run, args, shared_state)
        self.onboarding_agents: dict[str, OnboardingAgent] = {}
        """Worker → the agent of their practice, with which a reload of the page goes on."""

    @property
    def study(self) -> Study:
        study = self.shared_state.study
        assert isinstance(study, Study), "a task is launched through mephisto_tasks.launch.launch"
        return study

    def get_initialization_data(self) -> Iterable[Any]:
        """As many units as are missing; what a unit holds is decided when a rater takes it. None in a pause."""
        return [] if self.study.paused else [one_unit() for _ in range(self.study.remaining)]

    def get_onboarding_data(self, worker_id: str) -> dict[str, Any]:
        """The current page of a practising worker (empty at the first call)."""
        agent = self.onboarding_agents.get(worker_id)
        state = None if agent is None else agent.state.get_init_state()
        return state if isinstance(state, dict) else {"task_data": {}, "past_live_updates": []}

    def validate_onboarding(self, worker: Worker, onboarding_agent: OnboardingAgent) -> bool:
        """The verdict of the practice as the server wrote it down; what the page submits is ignored."""
        events = parse_events(onboarding_agent.state.messages)
        onboarding_agent.hide_state()  # Mephisto keeps the agent for the whole launch
        return any(isinstance(event, PracticeEnded) and event.passed for event in events)


@cache
def blueprint_of(task: str) -> type[StudyBlueprint]:
    """The blueprint of a technique, registered with Mephisto by this. Raises ConfigError."""
    settings, entry = settings_model(task), technique(task)
    name = entry.name.title().replace("_", "") + "Blueprint"
    members = {"BLUEPRINT_TYPE": entry.name, "CONFIG": settings, "__doc__": entry.line, "__module__": __name__}
    blueprint: type[StudyBlueprint] = type(name, (StudyBlueprint,), members)
    registry.register_mephisto_abstraction()(blueprint)
    return blueprint


def build_study(
    config: TaskConfig, task: str, data_dir: Path, task_name: str, reward: float, currency: str = DOLLARS
) -> Study:
    """The study that the settings describe, with what earlier launches did. Raises as the engine's ``build_study``."""
    # Imported here: they load all that speaks, which a report does not need.
    from mephisto_tasks.session.build import Setup

    assert isinstance(config, blueprint_of(task).CONFIG)
    setup: Setup[Any] = Setup(config, task, data_dir, task_name, reward, currency)
    if technique(task).engine == "live":
        from mephisto_tasks.chat.build import build_study as build_live

        return build_live(setup)
    from mephisto_tasks.annotation.build import build_study as build_judging

    return build_judging(setup, task)


@cache
def mephisto_settings() -> dict[str, list[str]]:
    """Full name of each setting besides those of a technique → the servers or crowds that have it; empty: any launch."""
    register_providers()
    import_module(f"{__package__}.architect")  # it registers our server
    classes: list[tuple[str, str, Any]] = [
        *(("architect", kind, registry.get_architect_from_type(kind)) for kind in registry.get_valid_architect_types()),
        *(
            ("provider", kind, registry.get_crowd_provider_from_type(kind))
            for kind in registry.get_valid_provider_types()
        ),
    ]
    having: dict[str, list[str]] = {f"mephisto.task.{entry.name}": [] for entry in dataclasses.fields(TaskRunArgs)}
    having["mephisto.log_level"] = []
    for section, kind, its_class in classes:
        for entry in dataclasses.fields(its_class.ArgsClass):
            having.setdefault(f"mephisto.{section}.{entry.name}", []).append(kind)
    return having
