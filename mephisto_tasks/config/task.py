"""The settings of every task, checked before anything is launched: one model for Hydra, the engine, and the records."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field, make_dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal, TypeVar, get_origin

from omegaconf import MISSING
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from typing_extensions import Self

from mephisto_tasks.config.names import ConfigError as ConfigError
from mephisto_tasks.config.stopping import StoppingSettings
from mephisto_tasks.config.worker_rules import WorkerRules
from parlai_humaneval._util.errors import InvalidValue, Problem, value_problem
from parlai_humaneval._util.text import clean_label
from parlai_humaneval.i18n.languages import Offered, offered
from parlai_humaneval.quality.registry import known_checks

MEPHISTOS_OWN = {"_blueprint_type", "tips_location"}  # Mephisto's settings in the same section


APART = frozenset(
    {
        "models", "groups", "zoo_files", "engine", "replicas", "ray_address", "onboarding_file", "onboarding_tries",
        "onboarding_feedback", "onboarding_qualification", "instructions_file", "pay", "payment", "seed", "answer_timeout_s",
        "stop_after_failures", "block_qualification", "reading_speed_wpm", "blocking_checks", "workers",
        "planned_for_looking", "prereg", "cut_off", "max_concurrent", "consent_file", "language", "languages_dir", "minutes",
        *StoppingSettings.model_fields,
    }
)  # fmt: skip
"""Settings that may change before an unfinished dialogue or judgement is resumed, as they do not shape it. (Its models are
checked separately.)"""


class PaymentConfig(BaseModel):
    """How `parlai-humaneval pay` computes what is owed, unless its options say otherwise."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    partial: Literal["pro_rata", "full", "none"] = "pro_rata"
    """For work that its worker left: by what was done of the whole, all of the reward, or nothing. By the share
    of it, people are paid for all of the time that they gave."""
    practice: float = Field(default=0.0, ge=0, le=1000)
    """Pay for raters who did nothing but practise, in the currency of task_reward. Those who fail a practice have worked,
    too; some sites demand that it is paid."""
    minimum: float = Field(default=8.0, ge=0, le=1000)
    """You are warned about workers who earn less an hour, in the currency of task_reward. It tells you early that a unit
    takes longer than its reward pays for."""


class TaskConfig(StoppingSettings):
    """The settings that both engines have."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    technique: str
    """Set by the task. Another technique is another task: it is named after `launch`."""
    metric: str
    """What is asked for, such as preference, humanness or interestingness. The question is the published one, word for word,
    unless ``question`` has another; a practice belongs to one metric."""
    models: list[str] = Field(default_factory=list)
    """Every pair (group) of these is rated, unless ``groups`` names them. Each further model makes more pairs, and
    every pair needs dialogues of its own."""
    groups: list[list[str]] = Field(default_factory=list)
    """The pairs (groups) to rate, such as [[a,b],[a,c]]; empty: all of ``models``. It saves money where only some
    comparisons matter, such as each model with one baseline."""
    zoo_files: list[str] = Field(default_factory=list)
    """Model files (YAML) besides the packaged ``zoo_configs``. Your own models are named there once, and can then be
    rated like those of `models list`."""
    engine: Literal["", "here", "processes", "ray"] = ""
    """Where models compute: in the launch, in processes of their own, on a Ray cluster; empty: as their entries say.
    Processes keep the page quick while models compute; Ray spreads large models over machines."""
    replicas: int | None = Field(default=None, ge=1)
    """With ``engine``: copies of each model, in a process each. More of them answer more raters at once, and take as
    much more memory."""
    ray_address: str = ""
    """With ``engine=ray``: of the cluster, HOST:PORT; empty: $RAY_ADDRESS, or the one that this machine belongs to.
    Needed where the launch runs on a machine outside of the cluster."""
    reason_required: bool = True
    """Whether raters say why they chose. Smith et al. 2022 ask for it, so that results can be understood."""
    min_reason_words: int = Field(default=3, ge=0, le=200)
    """Shortest reason, in words. It keeps out “good”, which explains nothing; long ones tire people."""

    onboarding_file: str = ""
    """A JSON file of practice items; empty: the task's own for the metric. Write your own where you changed the
    question, for it teaches what you mean by it."""
    onboarding_tries: int = Field(default=2, ge=1)
    """Attempts at the practice. A second one forgives a slip; with many, the practice can be guessed through."""
    onboarding_feedback: Literal["after_try", "each_item"] = "each_item"
    """When raters are told whether an answer was right, and why: at once, or after a whole try. At once, people learn
    from each item; after a try, the practice is more of a test."""
    onboarding_qualification: str | None = None
    """Name of the qualification that the practice grants; null: no practice. Who holds it is not asked to practise
    again, in any study that names it."""
    language: str = "en"
    """In which language raters read: en, zh, or a file of ``languages_dir``; auto: the one of all these that their
    browser wants, en for who wants none of them. A unit keeps the language in which it began. People answer best in the
    language in which models talk."""
    languages_dir: str = ""
    """Folder of gettext's PO files (``de.po``), one for each further language; zh.po there adds to ours. Empty: none. A
    further language takes no more than such a file."""
    instructions_file: str = ""
    """YAML with the words of the page; empty: the task's own. Write your own where your study asks something of raters
    that the techniques do not."""
    consent_file: str = ""
    """YAML with what people agree to before they take part (`parlai_humaneval/data/consent_example.yaml`); empty:
    nobody is asked. Most ethics boards ask for it."""
    pay: str = ""
    """What is paid, in words (“$2.50 for one conversation”); empty: from ``task.task_reward``. Say it yourself where
    people are paid otherwise, such as in credits of a course."""
    minutes: int | None = Field(default=None, ge=1, le=1000)
    """Minutes that raters are told a unit takes (“About 10 minutes”), practice included; null: as plans count. People
    decide by it whether to begin, so say what you measured in a pilot."""
    payment: PaymentConfig = Field(default_factory=PaymentConfig)
    """What is owed for work that is not complete."""
    seed: int | None = None
    """Number from which all that is drawn begins; null: drawn at launch, and recorded. The same one draws the same
    orders, personas and pairs again."""
    answer_timeout_s: int = Field(default=900, ge=5)
    """A rater silent for this long is taken to have left. Their place then goes to somebody else; too short a time cuts
    off those who think. With ``stop=decided`` the time between two launches counts, too."""
    max_concurrent: int = Field(default=250, ge=1)
    """So many workers may be inside at once; who comes then waits on a page that tries again by itself. More at a time
    make models slower for all of them."""
    stop_after_failures: int = Field(default=5, ge=1)
    """So many units in a row that failed on our side end the launch: each one is paid for. A model that is broken would
    otherwise cost a unit after the other."""
    block_qualification: str | None = None
    """Workers who hold this qualification are turned away. It holds for all studies that name it, so that nobody is
    checked twice."""
    reading_speed_wpm: float = Field(default=600.0, gt=0)
    """Words a minute that nobody reads faster; the check ``too_fast`` goes by it. Who answers faster has not read;
    raise it for texts that are easy to skim."""
    blocking_checks: list[str] = Field(default_factory=list)
    """Checks on raters; who fails one is given ``block_qualification`` (`parlai-humaneval unblock` takes it back). They
    keep out careless raters while the study runs; reports can leave them out later as well."""
    workers: WorkerRules = Field(default_factory=WorkerRules)
    """Who may take part."""

    cut_off: Literal["go_on", "anew"] = "go_on"
    """Dialogues that an earlier launch's end cut off: their raters go on where they were, or begin anew. Going on saves
    what people did; anew keeps every dialogue within one launch."""

    planned_for_looking: bool = False
    """Whether the plan allows to look at answers and stop early, by the p-values that allow for it; `watch` says so. It
    must be decided before: who looks often and stops at p < .05 finds differences that are not there."""

    prereg: str = Field(default="", examples=["prereg=study.md"])
    """A preregistration that `parlai-humaneval plan --prereg` or `pilot --prereg` wrote: its settings are taken, and others
    than those are refused. The study keeps its hash, and the report says what differs."""

    @property
    def most_inside(self) -> int:
        return min(self.max_concurrent, self.raters_at_a_time) if self.is_decided else self.max_concurrent

    @field_validator("models")
    @classmethod
    def _typed_models(cls, models: list[str]) -> list[str]:
        return list(map(clean_label, models))

    @field_validator("groups")
    @classmethod
    def _typed_groups(cls, groups: list[list[str]]) -> list[list[str]]:
        return [list(map(clean_label, group)) for group in groups]

    @model_validator(mode="after")
    def _one_way_of_looking(self) -> Self:
        if self.is_decided and self.planned_for_looking:
            raise InvalidValue(
                "planned_for_looking is for studies that somebody ends by p-values: with stop=decided the study "
                "ends itself, and one may look at any time",
                try_="leave it out",
            )
        return self

    @model_validator(mode="after")
    def _known_language(self) -> Self:
        self.languages()
        return self

    def languages(self) -> Offered:
        return offered(self.language, Path(self.languages_dir).expanduser() if self.languages_dir else None)

    def check_blocking(self) -> None:
        """Check that every blocking check exists, and that there is a qualification to block by. Raises ValueError."""
        known_checks(self.blocking_checks)
        if self.blocking_checks and not self.block_qualification:
            raise ValueError("blocking_checks need a block_qualification to give to those who fail")


C = TypeVar("C", bound=TaskConfig)


def read_config(model: type[C], data: dict[str, Any]) -> C:
    """Settings as Hydra composes them → checked settings. Raises ConfigError: names each wrong setting."""
    settings = {key: value for key, value in data.items() if key not in MEPHISTOS_OWN}
    try:
        return model.model_validate(settings)
    except ValidationError as error:
        raise explained(error, str(data.get("technique") or "TASK")) from error


def explained(error: ValidationError, task: str) -> ConfigError:
    return ConfigError(_setting_problem(problem, task) for problem in error.errors())


def _setting_problem(error: Any, task: str) -> Problem:
    place = [str(part) for part in error["loc"]]
    problem = value_problem(error)
    if not place:
        return problem
    got = "" if repr(error["input"]) in problem.what else f" (got {error['input']!r})"
    setting = ".".join(takewhile(lambda part: not part.isdigit(), place))
    more = problem.try_ or (f"see `parlai-humaneval launch {task} --list-settings {setting}`",)
    return replace(problem, what=f"{problem.what}{got}", try_=more).within(".".join(place))


def hydra_arguments(
    model: type[BaseModel], name: str, bases: tuple[type, ...], *, typed: Collection[str] = (), **kind: str
) -> type:
    """A dataclass by which Hydra refuses unknown settings, and of the fields ``typed`` values of another kind;
    ``kind``: Mephisto's name for the type."""
    fields: list[tuple[str, Any, Any]] = [(key, str, field(default=value)) for key, value in kind.items()]
    for key, info in model.model_fields.items():
        default = "" if info.is_required() else info.get_default(call_default_factory=True)
        if key in _MUST_BE_SAID and not default:
            default = MISSING
        checked = key in typed and (info.annotation in (str, int, float, bool) or get_origin(info.annotation) is list)
        fields.append((key, info.annotation if checked else Any, _default(default)))
    return make_dataclass(name, fields, bases=bases)


_MUST_BE_SAID = ("requester_name", "block_qualification")
"""By whoever launches; the other is declared by Mephisto as text that may be missing, not as None."""


def _default(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return field(default_factory=value.model_dump)
    if isinstance(value, (list, dict)):
        return field(default_factory=value.copy)
    return field(default=value)


def resolve_file(configured: str, fallback: Path) -> Path:
    return Path(configured).expanduser() if configured else fallback
