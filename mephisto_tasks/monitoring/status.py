"""Blind names of models, for public pages, are drawn with a secret seed, and never change.

The state of a study at one moment, as terminal, page and ``--json`` show it, and the forecast of its end."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime
from math import sqrt
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_serializer

from mephisto_tasks.control.snapshot import DecidingNow, Door, GroupStatus, Inside, OrderResult, Snapshot, so_far
from mephisto_tasks.crowds.crowd import SiteState
from mephisto_tasks.payments.policy import DOLLARS
from parlai_humaneval._util.data_files import DataError, read_yaml
from parlai_humaneval._util.files import write_private
from parlai_humaneval.report.document import Flagged, PracticeCount
from parlai_humaneval.report.section import Summary
from parlai_humaneval.schema.records import ModelHealth
from parlai_humaneval.statistics.core.formatting import counted

BLIND_NAMES = "blind_names.json"
WORDS: dict[str, Any] = read_yaml(Path(__file__).with_name("words.yaml"))


class _Kept(BaseModel, extra="forbid"):
    """``seed``: of the draw, a secret: with it and the models' names anybody could draw again."""

    seed: str
    names: dict[str, str]


def kept_blind_names(folder: Path, models: Iterable[str]) -> dict[str, str]:
    """Model → blind name, as kept in ``folder``, where new ones are drawn and written. Raises DataError, OSError."""
    path = folder / BLIND_NAMES
    try:
        kept = _Kept.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        kept = _Kept(seed=secrets.token_hex(16), names={})
    except ValidationError as error:
        what = f"{path} is damaged, so the models' blind names are lost"
        raise DataError(what, try_="move it away to draw new names") from error
    from parlai_humaneval.report.render.leaderboard import blind_names  # what draws pages takes long to load

    names = blind_names(models, kept.seed, kept.names)
    if names != kept.names:
        content = kept.model_copy(update={"names": names}).model_dump_json(indent=2).encode()
        write_private(path, content, outlasts_power=True)
    return names


SCHEMA = "parlai-humaneval/watch"
SCHEMA_VERSION = 1

State = Literal["not_running", "starting", "running", "paused", "broken", "ending", "ended", "cut_off", "silent"]
"""not_running: nothing runs, and nothing says that a launch of this version ever did. broken: nothing is given out, units
failed in a row. cut_off: the last launch was killed. silent: a launch is alive, and has said nothing for a while."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class LookedAt(_Part):
    """A p-value of two models that allows for looking at every answer; other ones are right for one planned look."""

    first: str
    second: str
    p: float | None


class Answer(_Part):
    """The report's current answer to one question. ``looked_at``: empty where the technique has none."""

    name: str
    summary: Summary
    looked_at: list[LookedAt] = Field(default_factory=list)


class LeftAfter(_Part):
    """Workers who left when so many parts of a unit were done."""

    done: int
    whole: int
    counted: str
    count: int


class DropOuts(_Part):
    """Units that their workers left, of those that they ended or left; over all launches."""

    left: int
    of: int
    after: list[LeftAfter]  # most frequent first


class PayIn(_Part):
    """Amounts in another currency; amounts in different currencies are never added."""

    currency: str
    owed: float
    paid: float
    written: float


class Pay(_Part):
    """In the currency of the newest unit, without fees and bonuses; of people, for programs are not paid."""

    reward: float  # of the newest unit
    per_hour: float | None
    """What an hour of work comes to, practice included: median over workers who are owed anything."""
    owed: float  # for all that was done so far, paid or not, by the study's own terms
    paid: float  # of it, as the ledger says
    written: float = 0.0  # the part of it written into files (for panels or manual payment) and not known to be paid
    owed_in_sandbox: float = 0.0
    """Part of ``owed`` for units at sites for trials, where no real money is spent; and the paid part of that."""
    paid_in_sandbox: float = 0.0
    to_spend: float | None  # rewards of units that are still to be done; None where it is not known how many
    currency: str = DOLLARS
    also: list[PayIn] = Field(default_factory=list)  # for a study that changed its currency: amounts in the other ones


class End(_Part):
    """When all units will be there if they come as in the last hour. Seconds since the epoch."""

    at: float | None = None
    earliest: float | None = None
    latest: float | None = None
    words: str


class Raters(_Part):
    workers: int
    simulated: int
    median_turn_seconds: float | None
    median_dialogue_seconds: float | None
    median_judgement_seconds: float | None


class StudyStatus(_Part):
    """A study at one moment. Times are seconds since the epoch; workers are pseudonyms."""

    schema_name: str = Field(default=SCHEMA, serialization_alias="schema")
    schema_version: int = SCHEMA_VERSION
    task_name: str
    technique: str
    at: float
    state: State
    state_words: str
    url: str | None = None  # where raters go, of a launch that runs
    note: str = ""  # said first where raters were simulated
    headline: str
    answers: list[Answer]
    deciding: DecidingNow | None = None
    """If the study stops once it reaches a decision: what is decided, and what remains. ``answers`` is empty then: its
    intervals and p-values are right for one look at an end that was planned."""
    looking: str  # what it costs to look at the answers while the study goes on; empty where there are none
    counted: str  # what groups count: conversations, judgements
    groups: list[GroupStatus]
    remaining: int | None = None  # units that are still to be done
    inside: list[Inside] = Field(default_factory=list)
    door: Door | None = None  # arrivals in the newest launch
    drop_outs: DropOuts
    practice: PracticeCount | None
    raters: Raters
    pay: Pay | None
    end: End
    models: list[ModelHealth] = Field(default_factory=list)  # how models answer, in the newest launch
    checks: list[Flagged] = Field(default_factory=list)  # those that fail most often first
    orders: list[OrderResult] = Field(default_factory=list)
    sites: list[SiteState] = Field(default_factory=list)  # states at crowds' sites that report one
    site_problem: str | None = None  # why a site could not be asked
    remarks: list[str] = Field(default_factory=list)
    problem: str | None = None
    """Why what is stored could not be read this time; the answers are then those of ``read_at``."""
    read_at: float  # when the stored answers were read
    snapshot: Snapshot | None = Field(default=None, exclude=True)  # the launch's own word

    @property
    def is_alive(self) -> bool:
        return self.state in ("starting", "running", "paused", "broken", "ending", "silent")

    @property
    def completed(self) -> int:
        return so_far(self.groups, self.deciding)[0]

    @property
    def wanted(self) -> int | None:
        """How many it will be, or at most where answers decide; None where it is not known of every group."""
        known = self.groups and all(group.stopped or group.wanted is not None for group in self.groups)
        return so_far(self.groups, self.deciding)[1] if known or self.deciding is not None else None

    @field_serializer("groups")
    def _without_asked(self, groups: list[GroupStatus]) -> list[dict[str, Any]]:
        return [group.model_dump(exclude={"asked"}) for group in groups]


HOUR = 3600.0
LEAST = 3  # with fewer units in the last hour there is no forecast
LONGEST = 90 * 24 * HOUR  # no forecast beyond this


def estimated_end(
    now: float,
    state: State,
    remaining: int | None,
    ended: Sequence[float],
    began: float | None = None,
    groups: Sequence[GroupStatus] = (),
    deciding: DecidingNow | None = None,
) -> End:
    """When ``remaining`` units are done if they come as those that ``ended`` in the last hour. The range is that of a
    Poisson count, at two standard errors of its root, and of the forecast."""
    if remaining == 0:
        besides = ", except for stopped groups" if any(group.stopped for group in groups) else ""
        if running := sum(group.running for group in groups):
            are = "is" if running == 1 else "are"
            return End(words=f"No new work starts, but {running:,} in progress {are} still to be finished.")
        if deciding is not None and deciding.standing.ended is not None:
            reached = "The answer is reached." if deciding.standing.ended == "decided" else "The cap is reached."
            return End(words=" ".join(filter(None, (reached, deciding.standing.next_step))))
        return End(words=f"Everything has been collected{besides}.")
    if state in WORDS["no_end"]:
        return End(words=WORDS["no_end"][state])
    if remaining is None:
        return End(words="No forecast: the launch has not reported how much work is left.")
    to_go: tuple[float, ...] = (remaining,) * 3  # units: as is likely, at least and at most
    if deciding is not None:
        forecast, dialogues = deciding.forecast, sum(group.completed for group in groups)
        if forecast is None:
            at_most = counted(deciding.standing.cap, deciding.standing.unit)
            return End(words=f"When every pair is decided. There is no forecast yet; the cap is {at_most}.")
        a_unit = dialogues / len(ended) if dialogues and ended else 1.0
        to_go = forecast.expected / a_unit, forecast.low / a_unit, forecast.high / a_unit
    since = max(now - HOUR, min(began or 0.0, now))
    count = sum(since <= at <= now for at in ended)
    span, hour = now - since, "the last hour" if now - since >= HOUR else "this launch so far"
    if count < LEAST:
        was = f"only {counted(count, 'assignment')} {'was' if count == 1 else 'were'}" if count else "no assignment was"
        return End(words=f"No forecast yet: {was} completed in {hour}.")
    likely, low, high = count / span, (sqrt(count) - 1) ** 2 / span, (sqrt(count) + 1) ** 2 / span
    at, earliest, latest = (now + units / rate for units, rate in zip(to_go, (likely, high, low), strict=True))
    if at - now > LONGEST:
        return End(words=f"At the current rate ({count} in {hour}), the study will take months.")
    first, last = _clock(earliest, now), _clock(latest, now)
    words = f"About {_clock(at, now)}{'' if first == last else f', likely between {first} and {last}'}"
    foreseen = "" if deciding is None else " and the forecast is right"
    words = f"{words}, if the rate stays the same as in {hour} ({count:,}){foreseen}."
    return End(at=at, earliest=earliest, latest=latest, words=words)


def _clock(at: float, now: float) -> str:
    """“21:40”, of another day “24 Nov 21:40”; in local time."""
    moment, today = datetime.fromtimestamp(at), datetime.fromtimestamp(now)
    return moment.strftime("%H:%M" if moment.date() == today.date() else "%-d %b %H:%M")
