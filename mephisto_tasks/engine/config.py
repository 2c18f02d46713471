"""The settings that every task has, and how settings are read and checked before anything is launched.

One model serves three readers: hydra (as the blueprint's arguments), the engine, and the record, which keeps
all of it. Every field can be overridden on the command line as ``mephisto.blueprint.<field>=…``.
"""

from __future__ import annotations

from dataclasses import field, make_dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from omegaconf import MISSING
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mephisto_tasks.config_error import ConfigError as ConfigError
from mephisto_tasks.workers.rules import WorkerRules
from parlai_humaneval.protocol.materials.files import in_words
from parlai_humaneval.quality.registry import known_checks

MEPHISTOS_OWN = {"_blueprint_type", "tips_location"}
"""What Mephisto keeps in the same place."""


class PaymentConfig(BaseModel):
    """How `parlai-humaneval pay` works out what is owed, where its options do not say."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    partial: Literal["pro_rata", "full", "none"] = "pro_rata"
    """For work that its worker left: by what was done of the whole, all of the reward, or nothing."""
    practice: float = Field(default=0.0, ge=0, le=1000)
    """Dollars for who did nothing but practise."""
    minimum: float = Field(default=8.0, ge=0, le=1000)
    """Workers who earn fewer dollars an hour are warned about."""


class TaskConfig(BaseModel):
    """Settings of both engines."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    technique: str
    """Set by the task."""
    metric: str
    """What is asked for, such as preference, humanness or interestingness."""
    models: list[str] = Field(default_factory=list)
    """Every pair (group) of these is rated, unless ``groups`` names them."""
    groups: list[list[str]] = Field(default_factory=list)
    """The pairs (groups) to rate, such as [[a,b],[a,c]]; empty: all of ``models``."""
    zoo_files: list[str] = Field(default_factory=list)
    """Model files (YAML) besides the packaged ``zoo_configs``."""
    engine: Literal["", "here", "processes", "ray"] = ""
    """Where models compute: in the launch, in processes of their own, on a Ray cluster; empty: as their entries say."""
    replicas: int | None = Field(default=None, ge=1)
    """With ``engine``: copies of each model, in a process each."""
    ray_address: str = ""
    """With ``engine=ray``: of the cluster, HOST:PORT; empty: $RAY_ADDRESS, or the one that this machine belongs to."""
    reason_required: bool = True
    """Whether raters say why they chose."""
    min_reason_words: int = Field(default=3, ge=0, le=200)
    """Shortest reason, in words."""

    onboarding_file: str = ""
    """Practice items; empty: the task's own for the metric."""
    onboarding_tries: int = Field(default=2, ge=1)
    """Attempts at the practice."""
    onboarding_feedback: Literal["after_try", "each_item"] = "after_try"
    """When raters are told what was wrong: after a whole try, or at once."""
    onboarding_qualification: str | None = None
    """Name of the qualification that the practice grants; null: no practice."""
    instructions_file: str = ""
    """YAML with the words of the page; empty: the task's own."""
    pay: str = ""
    """What is paid, in words (“$2.50 for one conversation”); empty: from ``task.task_reward``."""
    payment: PaymentConfig = Field(default_factory=PaymentConfig)
    """What is owed for work that is not complete."""
    seed: int | None = None
    """None: drawn at launch, and recorded."""
    answer_timeout_s: int = Field(default=900, ge=5)
    """A rater silent for this long is taken to have left."""
    stop_after_failures: int = Field(default=5, ge=1)
    """So many units in a row that failed on our side end the launch: each one is paid for."""
    block_qualification: str | None = None
    """Workers who hold this qualification are turned away."""
    reading_speed_wpm: float = Field(default=600.0, gt=0)
    """Words a minute that nobody reads faster; the check ``too_fast`` goes by it."""
    blocking_checks: list[str] = Field(default_factory=list)
    """Checks on raters; who fails one is given ``block_qualification`` (`parlai-humaneval unblock` takes it back)."""
    workers: WorkerRules = Field(default_factory=WorkerRules)
    """Who may take part."""

    planned_for_looking: bool = False
    """Whether the plan allows to look at answers and stop early, by the p-values that allow for it; `watch` says so."""

    def check_blocking(self) -> None:
        """Every blocking check is known, and there is something to give to those who fail.

        Raises:
            ValueError: if not.
        """
        known_checks(self.blocking_checks)
        if self.blocking_checks and not self.block_qualification:
            raise ValueError("blocking_checks need a block_qualification to give to those who fail")


C = TypeVar("C", bound=TaskConfig)


def read_config(model: type[C], data: dict[str, Any]) -> C:
    """Settings as composed by hydra → checked.

    Raises:
        ConfigError: naming each wrong setting.
    """
    settings = {key: value for key, value in data.items() if key not in MEPHISTOS_OWN}
    try:
        return model.model_validate(settings)
    except ValidationError as error:
        lines = [_explain(problem) for problem in error.errors()]
        raise ConfigError("\n".join(lines)) from error


def _explain(problem: Any) -> str:
    place = ".".join(str(part) for part in problem["loc"])
    message = in_words(problem)
    if not place:
        return message
    got = "" if "got " in message else f" (got {problem['input']!r})"
    return f"mephisto.blueprint.{place}: {message}{got}"


def hydra_arguments(model: type[TaskConfig], name: str, blueprint_type: str, bases: tuple[type, ...]) -> type:
    """A dataclass with the config's fields, for hydra: unknown settings are refused when composing."""
    fields: list[tuple[str, Any, Any]] = [("_blueprint_type", str, field(default=blueprint_type))]
    for key, info in model.model_fields.items():
        default = info.get_default(call_default_factory=True)
        if info.is_required():
            default = ""
        if key == "block_qualification":
            default = MISSING  # Mephisto declares it as text that may be missing, not as None
        fields.append((key, Any, _default(default)))
    return make_dataclass(name, fields, bases=bases)


def _default(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return field(default_factory=value.model_dump)
    if isinstance(value, (list, dict)):
        return field(default_factory=value.copy)
    return field(default=value)


def resolve_file(configured: str, fallback: Path) -> Path:
    """A configured file (``~`` allowed), or the task's own."""
    return Path(configured).expanduser() if configured else fallback
