"""The settings of every task, checked before anything is launched: one model for Hydra, the engine, and the records."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import field, make_dataclass, replace
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal, TypeVar, get_origin

from omegaconf import MISSING
from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator
from typing_extensions import Self

from mephisto_tasks.config.names import ConfigError as ConfigError
from mephisto_tasks.config.stopping import StoppingSettings
from parlai_humaneval._util.errors import InvalidValue, Problem, value_problem
from parlai_humaneval._util.text import clean_label
from parlai_humaneval.i18n.translate import Offered, offered, phrase
from parlai_humaneval.techniques.questions import Criterion, criteria_for

MOST_LOCALES = 30  # no site takes more of them in one requirement


class WorkerRules(BaseModel, extra="forbid", frozen=True, use_attribute_docstrings=True):
    """Rules that a crowd's site can enforce become its requirements; all others hold at our own door, in any place."""

    locales: list[str] = Field(default_factory=list, max_length=MOST_LOCALES)
    """Where raters live: ISO codes such as US, GB or US-NY (part of a country, if the crowd's site supports it). The
    site checks this if it can. Use it to find people who read the language well."""
    min_approval_rate: int | None = Field(default=None, ge=0, le=100)
    """Minimum percentage of a rater's earlier work that was approved. The crowd's site checks it. It excludes people
    whose work was often rejected; 95 or more is common."""
    min_approved: int | None = Field(default=None, ge=0)
    """Minimum number of a rater's earlier tasks that were approved. The crowd's site checks it. With only a few tasks,
    the approval rate means little."""
    adult: bool = False
    """Admit only raters who agreed to see adult content. The crowd's site checks it. You need this if models may say
    something offensive."""
    masters: bool = False
    """Admit only raters whom the crowd's site calls Masters, for a higher fee. The site checks it. Masters are
    experienced but few, so collection takes longer."""
    qualifications: list[str] = Field(default_factory=list)
    """Admit only raters with all of these qualifications, by their names in the data directory (an earlier practice,
    for example) or on the crowd's site. People who have already proved their skill need no second practice."""
    not_qualifications: list[str] = Field(default_factory=list)
    """Turn away raters with any of these. This keeps out people who know too much, for example from a pilot."""
    allow_list: str = ""
    """File of the only raters who may take part: IDs or pseudonyms, one per line, or a CSV file with a column worker. A
    running launch follows when you save the file."""
    block_list: str = ""
    """File of raters who may not take part, like allow_list. Use it for opt-outs, or for your own lab."""
    exclude_tasks: list[str] = Field(default_factory=list)
    """Earlier studies here whose raters may not take part. What they saw there has shaped their opinions."""
    max_units: int | None = Field(default=None, ge=1)
    """Maximum number of assignments that one rater may begin in this study, over all its launches; null: no limit. It
    keeps a study from depending on a few busy raters."""
    across_tasks: list[str] = Field(default_factory=list)
    """Other studies that count for max_units_across and pair_once. Use it for studies with the same question."""
    max_units_across: int | None = Field(default=None, ge=1)
    """Maximum number of assignments that one rater may begin in this study and those of across_tasks together. A study
    that is split into several then does not use the same people more often."""
    pair_once: bool = False
    """Let a rater rate the same models only once, in any setting of this study and of across_tasks. Raters who compare
    two models a second time remember the first."""

    @field_validator("locales")
    @classmethod
    def _known_places(cls, locales: list[str]) -> list[str]:
        codes = [code.strip().upper() for code in locales]
        for code in codes:
            country, _, part = code.partition("-")
            parts = _parts_of_countries()
            if country not in parts:
                what = f"{code!r} is not an ISO 3166 code of a country or of a part of a country"
                raise InvalidValue(what, try_="write codes such as US, GB, DE or US-NY")
            if part and code not in parts[country]:
                known = ", ".join(sorted(parts[country])[:5])
                what = f"{code!r} is not an ISO 3166-2 code in {country}"
                raise InvalidValue(what, try_=f"choose one such as {known}" if known else f"write {country}")
        return list(dict.fromkeys(codes))

    @field_validator("qualifications", "not_qualifications", "exclude_tasks", "across_tasks")
    @classmethod
    def _named(cls, names: list[str]) -> list[str]:
        if any(not name.strip() for name in names):
            raise InvalidValue("a name is empty", try_="leave it out")
        return list(dict.fromkeys(names))

    @model_validator(mode="after")
    def _consistent(self) -> WorkerRules:
        both = set(self.qualifications) & set(self.not_qualifications)
        if both:
            what = f"{sorted(both)[0]!r} is in both qualifications and not_qualifications, so nobody could take part"
            raise InvalidValue(what, try_="leave it out of one of them")
        if self.max_units_across is not None and not self.across_tasks:
            what = "max_units_across needs across_tasks, whose assignments it counts"
            raise InvalidValue(what, try_="set across_tasks, or use max_units")
        if self.across_tasks and self.max_units_across is None and not self.pair_once:
            raise InvalidValue("across_tasks needs max_units_across or pair_once", try_="set one of them")
        return self

    def checked_by_site(self) -> dict[str, str]:
        """Name of a rule that is set and that only a crowd's site can check → the rule in words."""
        worded = {
            "locales": f"live in {', '.join(self.locales)}",
            "min_approval_rate": f"had at least {self.min_approval_rate} % of their work approved",
            "min_approved": f"had at least {self.min_approved} tasks approved",
            "adult": "have agreed to adult content",
            "masters": "are Masters",
        }
        return {name: words for name, words in worded.items() if getattr(self, name) not in (None, False, [])}


@cache
def _parts_of_countries() -> dict[str, set[str]]:
    """Country → codes of its parts. The tables are read at the first use only."""
    import pycountry

    parts: dict[str, set[str]] = {country.alpha_2: set() for country in pycountry.countries}
    for part in pycountry.subdivisions:
        parts[part.country_code].add(part.code)
    return parts


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


class PaymentConfig(BaseModel, extra="forbid", use_attribute_docstrings=True):
    """How `parlai-humaneval pay` computes what is owed, unless its options say otherwise."""

    partial: Literal["pro_rata", "full", "none"] = "pro_rata"
    """Pay for unfinished work: in proportion to the part that is done, the full reward, or nothing. With pro_rata,
    people are paid for all of the time that they gave."""
    practice: float = Field(default=0.0, ge=0, le=1000)
    """Pay for raters who only did the practice round, in the currency of task_reward. Raters who fail the practice
    round have worked too, and some sites require that they are paid."""
    minimum: float = Field(default=8.0, ge=0, le=1000)
    """Warn about raters who earn less than this per hour, in the currency of task_reward. The warning tells you early
    that an assignment takes longer than its reward covers."""


class TaskConfig(StoppingSettings, extra="forbid", use_attribute_docstrings=True):
    """The settings that both engines have."""

    technique: str
    """Set by the task. To use another technique, name another task after `launch`."""
    metric: str
    """What raters judge, such as preference, humanness or interestingness. The wording is the published question,
    letter for letter, unless ``question`` replaces it. Each metric has its own practice."""
    models: list[str] = Field(default_factory=list)
    """Models to rate: every pair (group) of them, unless ``groups`` lists pairs. Each additional model adds pairs, and
    every pair needs its own dialogues."""
    groups: list[list[str]] = Field(default_factory=list)
    """Pairs (groups) to rate, such as [[a,b],[a,c]]; if empty, all pairs of ``models``. This saves money if only some
    comparisons matter, such as each model with one baseline."""
    zoo_files: list[str] = Field(default_factory=list)
    """Zoo files (YAML) to use in addition to the packaged ``zoo_configs``. Define your own models there once, and rate
    them like those of `models list`."""
    engine: Literal["", "here", "processes", "ray"] = ""
    """Where models compute: in the launch, in separate processes, or on a Ray cluster; if empty, as their zoo entries
    say. Separate processes keep the page fast while models generate replies. Ray spreads large models over machines."""
    replicas: int | None = Field(default=None, ge=1)
    """With ``engine``: copies of each model, each in its own process. More copies serve more raters, but need more
    memory."""
    ray_address: str = ""
    """With ``engine=ray``: address of the cluster, HOST:PORT; if empty, $RAY_ADDRESS or the cluster of this machine.
    You need it if the launch runs on a machine outside the cluster."""
    reason_required: bool = True
    """Whether raters must explain their choice. Smith et al. 2022 ask for reasons, to interpret the results."""
    min_reason_words: int = Field(default=3, ge=0, le=200)
    """Minimum words in a reason. This rules out “good”, which explains nothing, but long reasons tire people."""

    onboarding_file: str = ""
    """JSON file of practice items; if empty, the task's own for the metric. Write your own if you change the question,
    because the practice teaches what the question means."""
    onboarding_tries: int = Field(default=2, ge=1)
    """Attempts at the practice. A second one forgives a slip. With many, raters can guess their way through."""
    onboarding_feedback: Literal["after_try", "each_item"] = "each_item"
    """When raters learn whether an answer was right, and why: after each item, or after a whole attempt. After each
    item, people learn more. After a whole attempt, the practice works more like a test."""
    onboarding_qualification: str | None = None
    """Name of the qualification that the practice grants; null: no practice; empty: the practice is announced, but left
    out. Raters with this qualification do not practice again in any study with the same name here."""
    language: str = "en"
    """Language of the page: en, zh, a file from ``languages_dir``, or auto for the rater's browser language (en if it
    is not available). An assignment keeps the language it began in. People answer best in the language that the models
    speak."""
    languages_dir: str = ""
    """Folder of gettext PO files (``de.po``), one for each additional language; if empty, none. A zh.po in it extends
    the packaged translation. A new language needs only one such file."""
    instructions_file: str = ""
    """YAML file with the texts of the page; if empty, the task's own. Write your own if your study asks raters for
    something that the techniques do not."""
    consent_file: str = ""
    """YAML file with the consent that people give before they take part; if empty, nobody is asked. Most ethics boards
    require consent. `parlai_humaneval/data/consent_example.yaml` is an example."""
    pay: str = ""
    """The pay in words (“$2.50 for one conversation”); if empty, derived from ``task.task_reward``. Write your own
    words if people are rewarded differently, for example with course credit."""
    minutes: int | None = Field(default=None, ge=1, le=1000)
    """Minutes that the page announces for an assignment (“About 10 minutes”), practice included; null: the estimate
    that plans use. People use it to decide whether to start, so give the time that you measured in a pilot."""
    payment: PaymentConfig = Field(default_factory=PaymentConfig)
    """What is owed for work that is not complete."""
    seed: int | None = None
    """Random seed; null: drawn at launch, and recorded. The same seed gives the same orders, personas and pairs."""
    answer_timeout_s: int = Field(default=900, ge=5)
    """Seconds of silence after which a rater counts as gone. Someone else then gets the place, so a short time cuts off
    raters who are thinking. With ``stop=decided``, the time between two launches counts as well."""
    max_concurrent: int = Field(default=250, ge=1)
    """Number of raters who can be active at once. Others wait on a page that keeps trying. More raters make models
    slower for all of them."""
    stop_after_failures: int = Field(default=5, ge=1)
    """Number of consecutive assignments lost to our own failures that ends the launch. Each one is paid, so a broken
    model would otherwise cost one assignment after another."""
    block_qualification: str | None = None
    """Qualification whose holders are turned away. It applies to all studies that name it, so no check is repeated."""
    reading_speed_wpm: float = Field(default=600.0, gt=0)
    """Reading speed in words per minute that nobody exceeds, used by the check ``too_fast``. Raters who answer
    faster have not read the text. Raise it for texts that are easy to skim."""
    blocking_checks: list[str] = Field(default_factory=list)
    """Quality checks that give ``block_qualification`` to raters who fail them (`parlai-humaneval unblock` removes it).
    They keep out careless raters while the study runs. Reports can exclude them later as well."""
    workers: WorkerRules = Field(default_factory=WorkerRules)
    """Who may take part."""

    cut_off: Literal["go_on", "anew"] = "go_on"
    """Dialogues that were interrupted when an earlier launch ended: raters continue them (go_on) or begin again (anew).
    Continuing saves what people did. Beginning again keeps every dialogue within one launch."""

    planned_for_looking: bool = False
    """Whether the plan allows you to check answers and stop early, using p-values that account for this (`watch` shows
    them). Decide before the study: if you check often and stop at p < .05, you will find false differences."""

    prereg: str = Field(default="", examples=["prereg=study.md"])
    """Preregistration from `parlai-humaneval plan --prereg` or `pilot --prereg`. The study uses its settings and
    refuses others. It also stores the hash, and the report lists deviations."""

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
                "planned_for_looking is for studies that you end because of p-values: with stop=decided, the study ends by "
                "itself, and you may check it at any time",
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
        """Check that every blocking check exists, and that there is a qualification to block by. Raises InvalidValue."""
        from parlai_humaneval.quality.registry import known_checks  # it loads the records

        known_checks(self.blocking_checks)
        if self.blocking_checks and not self.block_qualification:
            what = "blocking_checks need a block_qualification to give to raters who fail"
            raise InvalidValue(what, try_="add block_qualification=NAME, or leave blocking_checks out")


class RatingConfig(TaskConfig):
    """Settings of what a rater is asked about a dialogue with models, at its turns and at its end."""

    question: str = ""
    """Question at each turn, or at the end if turns are not rated; if empty, the published wording for the metric. You
    can compare results with others' only if the wording is the same."""
    turn_question: Literal["choose", "tick", "none"] = "choose"
    """What raters do at a turn: choose among the replies, tick statements about the reply, or nothing (none). Choices
    separate replies best. Ticks rate one model alone. Asking nothing leaves chats undisturbed."""
    min_choices: int = Field(default=1, ge=0)
    """Fewest replies to choose at a turn. With 0, raters can say that no reply is good instead of guessing."""
    max_choices: int | None = Field(default=1, ge=1)
    """Most replies to choose at a turn; null: all. A limit of one finds the best reply. Without a limit, raters choose
    all good replies, which is faster."""
    turn_criteria: list[str | dict[str, Any]] = Field(default_factory=list)
    """Statements to tick at a turn: names, or your own as {name, text}. They say what was right or wrong, which a
    choice alone does not."""
    none_label: str = phrase("None of these")
    """Label of the explicit “none” of a choice. Word it for your question, such as “None is appropriate”."""
    verdict: bool = False
    """Whether the rater says which of two partners is better, which ends the dialogue. This gives one judgement per
    chat, from people who stop as soon as they are sure."""
    final_scale: Literal["likert", "slider"] = "slider"
    """Scale of ``final_criteria``: Likert 1–5, or a continuous slider 0–100. Everybody knows Likert scales. A slider
    captures smaller differences."""
    final_criteria: list[str | dict[str, Any]] = Field(default_factory=list)
    """Criteria to rate at the end of the dialogue: names, or your own as {name, text, reversed}. They judge the chat as
    a whole, about which single turns say little."""

    @model_validator(mode="after")
    def _known_criteria(self) -> Self:
        self.ticks()
        self.scales()
        return self

    def ticks(self) -> list[Criterion]:
        return criteria_for("tick", self.turn_criteria)

    def scales(self) -> list[Criterion]:
        return criteria_for(self.final_scale, self.final_criteria)


ARCHITECT_TYPE = "humaneval_local"


class ArchitectSettings(BaseModel, use_attribute_docstrings=True):
    """Settings below ``mephisto.architect``."""

    hostname: str = Field(default="127.0.0.1", examples=["0.0.0.0"])
    """Address to listen on; 0.0.0.0 lets other machines connect. Use it for raters in the same room or network."""
    port: int = Field(default=3000, ge=0, le=65535)
    """Port to listen on; 0 takes any free one. Change it if another program uses it, or if two studies run side by
    side."""
    public_url: str = Field(default="", examples=["https://study.example.org"])
    """The https address that crowd raters use. Browsers and sites refuse pages that are not encrypted."""
    trusted_proxies: list[str] = Field(default_factory=list, examples=["[127.0.0.1]"])
    """Addresses of reverse proxies in front of this machine, which are trusted to report a rater's address. Otherwise
    all raters seem to have the same address."""
    public_names: list[str] = Field(default_factory=list, examples=["[study.example.org]"])
    """Host names for the pages, in addition to this machine's and that of public_url. Requests for other names are
    refused, because they may be part of an attack."""
    disconnect_after_s: float = Field(default=300, gt=0)
    """Seconds without a sign of life after which a rater counts as gone. Allow enough time for a weak connection to
    recover, but not so much that the place is lost."""
    frame_sites: list[str] = Field(default_factory=list, examples=["[https://example.org]"])
    """Sites that may show the page in a frame, in addition to the crowd's: [https://…]. Any other site could overlay
    the page with its own buttons."""


C = TypeVar("C", bound=TaskConfig)


def read_config(model: type[C], data: dict[str, Any]) -> C:
    """Settings as Hydra composes them → checked settings. Raises ConfigError: names each wrong setting."""
    settings = {key: value for key, value in data.items() if key not in MEPHISTOS_OWN}
    try:
        return model.model_validate(settings)
    except ValidationError as error:
        raise explained(error.errors(), str(data.get("technique") or "TASK")) from error


def explained(problems: Iterable[Any], task: str, line_of: Callable[[str], str] = lambda setting: "") -> ConfigError:
    return ConfigError(_setting_problem(problem, task, line_of) for problem in problems)


def _setting_problem(error: Any, task: str, line_of: Callable[[str], str]) -> Problem:
    place = [str(part) for part in error["loc"]]
    problem = value_problem(error)
    if not place:
        return problem
    got = "" if repr(error["input"]) in problem.what else f" (got {error['input']!r})"
    setting = ".".join(takewhile(lambda part: not part.isdigit(), place))
    if error["input"] is None and error["type"].endswith("_type"):
        return Problem(f"{'.'.join(place)} cannot be null", line_of(setting), ("write a value, or leave it out",))
    more = problem.try_ or (f"see `parlai-humaneval launch {task} --list-settings {setting}`",)
    return replace(problem, what=f"{problem.what}{got}", try_=more).within(".".join(place)).within(line_of(setting))


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
"""Set by the launching researcher; Mephisto declares the other one as text that may be missing, not as None."""


def _default(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return field(default_factory=value.model_dump)
    if isinstance(value, (list, dict)):
        return field(default_factory=value.copy)
    return field(default=value)


def resolve_file(configured: str, fallback: Path) -> Path:
    return Path(configured).expanduser() if configured else fallback
