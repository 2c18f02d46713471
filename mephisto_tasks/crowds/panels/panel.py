"""A panel that sends raters by link: the names of its parameters, and its return addresses, from a YAML file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter
from typing import Annotated, Literal
from urllib.parse import quote, urlsplit

from pydantic import BaseModel, Field, model_validator
from typing_extensions import Self

from mephisto_tasks.admission.visits import Arrival, Outcome, Parameters, TurnedAway
from mephisto_tasks.config.task import ConfigError
from parlai_humaneval._util.data_files import read_yaml, validated
from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval._util.text import clean_label
from parlai_humaneval.i18n.translate import phrases, t
from parlai_humaneval.schema.wire import Redirect

FOLDER = Path(__file__).parent
NO_PANEL = "none"
CODE = "code"
OF_VISITOR = ("worker", "study", "session")  # what a redirect may hold of the visitor
CODES: dict[Outcome, str] = {
    "complete": "completion_code",
    "screened_out": "screen_out_code",
    "no_consent": "no_consent_code",
    "timed_out": "time_out_code",
}  # outcome → the setting below ``mephisto.provider`` with its code
OUR_DOORS = ("invitation", "open")
OUR_PARAMETERS = ("invitation", "visitor")  # these identify an invitation, which works alongside any panel
PHRASES = phrases(__file__)
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\$\{|^%.*%$|^<.*>$|^\[.*\]$")
_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._@:+=~-]{0,127}")
_HOST_PART = re.compile(r"[A-Za-z0-9-]{1,63}")
_LOOPBACK = ("127.0.0.1", "localhost")
Meaning = Literal["finished", "paid", "at_work", "over", "rejected", "unknown"]
"""finished: waits for approval. over: returned, or out of time. unknown: the panel's file does not have the word."""
Words = list[Annotated[str, Field(min_length=1)]]


class PanelStatuses(BaseModel, extra="forbid", frozen=True):
    """A panel's words for states of submissions (by default Prolific's), in any case, with any of “ -_”."""

    finished: Words = ["AWAITING REVIEW"]
    paid: Words = ["APPROVED"]
    at_work: Words = ["ACTIVE", "RESERVED"]
    over: Words = ["RETURNED", "TIMED-OUT", "EXPIRED"]
    rejected: Words = ["REJECTED"]

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        words = [plain_status(word) for of_meaning in self.model_dump().values() for word in of_meaning]
        twice = [word for word in words if words.count(word) > 1]
        if twice:
            raise InvalidValue(f"{twice[0]!r} is in more than one list", where="statuses", try_="keep it in one")
        return self

    def meaning(self, status: str) -> Meaning:
        names: tuple[Meaning, ...] = ("finished", "paid", "at_work", "over", "rejected")
        wanted = plain_status(status)
        return next((name for name in names if wanted in map(plain_status, getattr(self, name))), "unknown")


def plain_status(status: str) -> str:
    """A status as it is compared: “timed out”, “Timed_Out” and “TIMED-OUT” are one word."""
    return "-".join(re.split(r"[\s_-]+", status.strip().upper()))


class PanelParameters(BaseModel, extra="forbid"):
    """Names of the parameters in the address; ``session`` is one participation, of which each has one unit."""

    worker: Annotated[str, Field(min_length=1)]
    study: str | None = None
    session: str | None = None


class PanelFile(BaseModel, extra="forbid"):
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,30}$", description="Prefix of each rater's ID.")]
    title: Annotated[str, Field(min_length=1, max_length=60, description="The panel's name for raters.")]
    parameters: PanelParameters
    link: Annotated[str, Field(description="Query string of the study's link, for the panel's form.")] = ""
    values: Annotated[list[str], Field(description="Names of values that a study must set (values.NAME).")] = []
    redirects: dict[Literal["complete", "screened_out", "no_consent", "timed_out", "returned"], str] = {}
    statuses: Annotated[PanelStatuses, Field(description="The panel's names for the states of a submission.")] = (
        PanelStatuses()
    )
    show_code: Annotated[bool, Field(description="Let raters copy the completion code from the last page.")] = False

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.name in OUR_DOORS:
            raise InvalidValue(f"{self.name!r} is reserved for this package", where="name", try_="choose another")
        for parameter in self.parameters.model_dump(exclude_none=True).values():
            if parameter in OUR_PARAMETERS:
                what = f"{parameter!r} is reserved for this package's invitations"
                raise InvalidValue(what, where="parameters", try_="choose another")
        allowed = {CODE, *OF_VISITOR, *self.values}
        for outcome, template in self.redirects.items():
            where = f"redirects.{outcome}"
            try:
                fields = list(Formatter().parse(template))
            except ValueError as error:
                what = f"braces only enclose names ({error})"
                raise InvalidValue(what, where=where, try_="double a brace that is part of the address") from error
            if any(spec or conversion for _, _, spec, conversion in fields):
                raise InvalidValue("braces enclose only a name", where=where, try_="write them as in {worker}")
            if unknown := sorted(fields_of(template) - allowed):
                known = ", ".join(f"{{{name}}}" for name in sorted(allowed))
                raise InvalidValue(f"{{{unknown[0]}}} is unknown", where=where, try_=f"choose one of {known}")
            if fields_of(_authority(template)) - set(self.values):
                raise InvalidValue("the host must not depend on the visitor", where=where, try_="write it out")
            parts = urlsplit(template)
            here = parts.scheme == "http" and parts.hostname in _LOOPBACK
            if not (parts.scheme == "https" or here) or not parts.hostname or "@" in parts.netloc:
                raise InvalidValue(f"{template!r} is not a secure address", where=where, try_="write https://…")
        return self


def _authority(template: str) -> str:
    return template.partition("://")[2].partition("/")[0].partition("?")[0]


def fields_of(template: str) -> set[str]:
    """Names in braces. Raises ValueError for braces that do not match."""
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


@dataclass(frozen=True)
class PanelDoor:
    """The way in for those whom a panel sends, and their way back. It is a :class:`.arrivals.Door`."""

    panel: PanelFile
    codes: Mapping[Outcome, str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    takes_back = True

    @property
    def name(self) -> str:
        return self.panel.name

    def arrival(self, parameters: Parameters) -> Arrival | None:
        names = self.panel.parameters
        if not {names.worker, names.study, names.session} & set(parameters):
            return None
        worker = self._id(parameters, names.worker)
        session = "" if names.session is None else self._id(parameters, names.session)
        study = "" if names.study is None or names.study not in parameters else self._id(parameters, names.study)
        return Arrival(worker_name=f"{self.name}:{worker}", door=self.name, study=study, session=session)

    def _id(self, parameters: Parameters, name: str) -> str:
        value = clean_label(parameters.get(name, ""))
        if not value or _PLACEHOLDER.search(value) or not _ID.fullmatch(value):
            words = (
                PHRASES["no_id"]
                if not value
                else PHRASES["not_filled_in"]
                if _PLACEHOLDER.search(value)
                else PHRASES["odd_id"]
            )
            raise TurnedAway(t(words, panel=self.panel.title))
        return value

    def begins(self, arrival: Arrival) -> None:
        """Nothing to note: the panel counts its participants."""

    def exit(self, arrival: Arrival, outcome: Outcome) -> Redirect | None:
        """Back to the panel, with the code for this outcome; None where the study has none for it."""
        template = self.panel.redirects.get(outcome)
        code = self.codes.get(outcome, "")
        if self.panel.show_code and code:
            return Redirect(site=self.panel.title, code=code)
        if template is None or (CODE in fields_of(template) and not code):
            return None
        worker = arrival.worker_name.removeprefix(f"{self.name}:")
        told = {**self.values, CODE: code, "worker": worker, "study": arrival.study, "session": arrival.session}
        url = template.format(**{name: quote(value, safe="") for name, value in told.items()})
        return Redirect(site=self.panel.title, url=url)

    @property
    def may_decline(self) -> bool:
        """Whether those who do not want to take part are sent back with a code for that."""
        template = self.panel.redirects.get("no_consent")
        return template is not None and (CODE not in fields_of(template) or bool(self.codes.get("no_consent")))


def panel_names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def panel_door(panel: str, codes: Mapping[Outcome, str], values: Mapping[str, str]) -> PanelDoor:
    """The door of a panel: one of :func:`panel_names`, or your YAML file. Raises ConfigError."""
    file = read_panel(panel)
    for name in file.values:
        if not values.get(name):
            raise ConfigError(f"the panel {file.name} needs values.{name}=…")
    if unknown := set(values) - set(file.values):
        known = f"its values are: {', '.join(file.values)}"
        raise ConfigError(f"the panel {file.name} has no value {sorted(unknown)[0]!r}", try_=known)
    for template in file.redirects.values():
        for name in fields_of(_authority(template)):
            if not _HOST_PART.fullmatch(values[name]):
                raise ConfigError(f"values.{name}={values[name]!r} cannot be part of a host's name")
    asks_for_code = file.show_code or CODE in fields_of(file.redirects.get("complete", ""))
    if asks_for_code and not codes.get("complete"):
        raise ConfigError(f"the panel {file.name} needs {CODES['complete']}=…")
    return PanelDoor(file, codes, values)


def panel_named(name: str, launched_with: str) -> PanelFile | None:
    """The panel by which raters came: of a launch's file, else a packaged one; None: its file is gone, or unreadable."""
    for panel in (launched_with, name):
        try:
            file = read_panel(panel)
        except ConfigError:
            continue
        if file.name == name:
            return file
    return None


def read_panel(panel: str) -> PanelFile:
    """A panel's file. Raises ConfigError."""
    is_file = panel.endswith((".yaml", ".yml"))
    path = Path(panel).expanduser() if is_file else FOLDER / f"{panel}.yaml"
    if not path.is_file() or (path.parent == FOLDER and panel not in panel_names()):
        missing = f"file {path.absolute()}" if is_file else f"panel {panel!r}"
        known = f"choose one of: {', '.join(panel_names())}, {NO_PANEL}, or a .yaml file"
        raise ConfigError(f"there is no {missing}", try_=known)
    content = read_yaml(path, error=ConfigError)
    if not isinstance(content, dict):
        advice = f"start from a copy of one of those in {FOLDER}"
        raise ConfigError("contains no settings of a panel", where=path, try_=advice)
    return validated(PanelFile, content, path, error=ConfigError)
