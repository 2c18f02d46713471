"""State shared by the raters of a launch, for both engines; and one rater's unit of dialogues or items."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from mephisto_tasks.admission.visits import StudyState
from mephisto_tasks.config.task import TaskConfig
from mephisto_tasks.control.orders import Field, Group, Order, Steered, fold
from mephisto_tasks.control.snapshot import DecidingNow, GroupStatus, Presence, so_far
from mephisto_tasks.session.page import PageSession
from mephisto_tasks.session.steps import PracticeLoop
from mephisto_tasks.storage.sqlite import Saving
from mephisto_tasks.storage.work import CutOff, part_name
from parlai_humaneval.allocation.groups import Allocator, Cell
from parlai_humaneval.allocation.items import ItemAllocator
from parlai_humaneval.display.images import ImageStore
from parlai_humaneval.i18n.translate import Offered, phrase, phrases, spoken, t
from parlai_humaneval.materials.instructions import Instructions, Practice
from parlai_humaneval.schema.events import Failed, FeedbackGiven, parse_events
from parlai_humaneval.schema.rebuild import build_rated, split_dialogues
from parlai_humaneval.schema.records import HUMAN, ModelHealth
from parlai_humaneval.schema.steps import FeedbackAnswer, FeedbackStep, Notice, Progress
from parlai_humaneval.stopping.events import StoppingStatus

if TYPE_CHECKING:
    from mephisto_tasks.session.stopping import StoppingMonitor


PHRASES = phrases(__file__)
Partial = Literal["pro_rata", "full", "none"]

OF_PAY = {
    "and_paid": phrase(", and you are paid for the whole {whole}"),
    "and_the_rest_paid": phrase(", and you are paid in full for the {whole} in progress"),
    "too_paid": phrase(" and paid"),
    "still_paid": phrase("; you are paid for the whole set"),
}  # what is said where work is paid, and left out where it is not
OF_PART: dict[Partial, str] = {
    "pro_rata": phrase(", and you are paid for the part that you completed"),
    "full": phrase(", and you are paid for the whole {whole} if you rated any of it"),
    "none": "",
}  # what is said of work that its rater left, in the place of ``part_paid``

THANKS = (phrase("Thank you!"), phrase("{complete} {pay}"))
STOPPED = (
    phrase("We have to stop here"),
    phrase("Our system had a problem, and this {one} cannot continue. None of your work is lost{and_paid}."),
)
AWAY = (phrase("You were away for a while"), PHRASES["away"])
AWAY_FOR_GOOD = (AWAY[0], PHRASES["away_for_good"])
NOTHING_LEFT = (phrase("All {many} have been given out"), PHRASES["nothing_left"])
PAUSED = (phrase("The study was paused"), PHRASES["paused"])
RETURNED = (phrase("You have returned the task"), PHRASES["returned"])
PRACTICE_PASSED = phrase("Practice passed. {begins}")
AGAIN = PHRASES["again"]
AGAIN_OF_SEVERAL = PHRASES["again_of_several"]
ALL_DONE = (phrase("The study is complete"), PHRASES["all_done"])


@dataclass(frozen=True)
class UnitWords:
    """The words for a unit."""

    complete: str = phrase("Your conversation is complete and saved.")  # a sentence
    whole: str = phrase("conversation")  # “set of six conversations”
    one: str = phrase("conversation")  # of what units hold
    many: str = phrase("conversations")
    begins: str = phrase("Now the real conversation begins.")  # said when the practice is over
    counted: str = "conversations"  # what progress counts; read by researchers alone
    number: int = 1  # of what a unit holds

    @property
    def whole_in_words(self) -> str:
        return t(self.whole, number=self.number)


def conversations(number: int) -> UnitWords:
    """Units of so many conversations."""
    if number == 1:
        return UnitWords()
    return UnitWords(
        complete=phrase("Your conversations are complete and saved."),
        whole=phrase("set of {number} conversations"),
        number=number,
    )


def filled(text: str, words: UnitWords, pay: str = "", *, is_paid: bool = True, partial: Partial = "pro_rata") -> str:
    """A text above in the language in force, with its braces filled; where work is not paid, nothing is promised."""
    unit = {name: t(str(said)) for name, said in asdict(words).items()} | {"whole": words.whole_in_words}
    of_pay = {name: t(promise, **unit) if is_paid else "" for name, promise in OF_PAY.items()}
    of_pay["part_paid"] = t(OF_PART[partial], **unit) if is_paid else ""
    return t(text, pay=pay, **of_pay, **unit)


LITTLE = 0.2
"""Part of a fixed plan for one pair; two models that are twice the margin apart take about as much in simulations."""


def why_decided(models: Collection[str], standing: StoppingStatus) -> str | None:
    """Why no dialogues are given out any more that are about just these models; None: they are."""
    if len(models) == 2:
        pair = next(pair for pair in standing.pairs if {pair.first, pair.second} == set(models))
        return f"decided: {pair.claim}{', through others' if pair.through else ''}" if pair.claim else None
    still_open = {model for pair in standing.open for model in pair}
    if len(models) == 1:
        return None if still_open.issuperset(models) else "decided"
    return None if set(models) == still_open else "decided in part"


def until_decided(standing: StoppingStatus, what: str) -> str:
    """What is collected, and how long; ``what``: conversations, judgements."""
    of_a_pair = standing.fixed_of_a_pair
    little = (
        f", which most likely leaves pairs open (a fixed plan takes about {of_a_pair:,.0f} for each pair)"
        if standing.cap < LITTLE * of_a_pair
        else ""
    )
    return f"{what.capitalize()} are collected until each pair of models is decided (at most {standing.cap:,}){little}:"


P = TypeVar("P")

WHERE_YOU_WERE = Notice(
    level="info", text=phrase("Welcome back! You can continue where you left off. None of your work is lost.")
)
"""Said to a rater who comes back in the middle of something."""


class World(Protocol):
    @property
    def name(self) -> str: ...  # the part is called so in logs

    def run(self) -> None:
        """Hold the part to its end; what the page raises when the rater leaves goes on to the caller."""


@dataclass(eq=False, repr=False)
class HeldUnit(ABC, Generic[P]):
    """Holds the parts of a unit in order; an engine says how. ``go_on`` is said above the first question of a rater who
    did some earlier, ``between`` above that of every further part, and ``over`` asks for a comment."""

    page: PageSession
    parts: Sequence[P]
    _: KW_ONLY
    unit: str  # it is called so in logs before its first part
    over: str
    go_on: Notice | None = None
    between: Notice | None = None
    greeting: Notice | None = None
    """Said above the first question of somebody whose earlier unit was cut off by the end of a launch."""
    done: list[P] = field(default_factory=list)
    world: World | None = None  # the part that runs, or ran last

    @property
    def name(self) -> str:
        return self.unit if self.world is None else self.world.name

    def run(self) -> None:
        """Hold every part to its end. Raises AbsentAgentError: the rater left, timed out, or the launch ends."""
        held = False
        for part in self.parts:
            name = self.part_id(part)
            if not self.page.recorded.finished(name):
                welcome = WHERE_YOU_WERE if self.page.recorded.begun(name) else self.go_on
                notice = self.between if held else welcome
                if notice is not None:
                    self.page.notice = notice
                self.hold(part)
                held = True
            else:
                self.page.progress = self.progress_at(part)
            self.done.append(part)

    @abstractmethod
    def part_id(self, part: P) -> str: ...  # the part is called so in records
    @abstractmethod
    def hold(self, part: P) -> None: ...  # one part to its end; :attr:`world` is what holds it

    @abstractmethod
    def progress_at(self, part: P) -> Progress | None:
        """What the page counts at the end of a part, of those that an earlier visit did; None: nothing is known."""

    @abstractmethod
    def leave(self, worker: str, agent: str) -> None: ...  # the rater went away: what is left is given out again

    def ask_feedback(self) -> None:
        """The comment box at the end; the unit is complete whatever happens here."""
        if self.page.recorded.has_feedback:
            return
        text = self.page.ask(FeedbackAnswer, FeedbackStep(step_id="feedback", label=self.over)).text
        if text.strip():
            self.page.state.append(FeedbackGiven(at=time.time(), text=text))

    def fail(self, reason: str) -> None:
        if self.world is not None:
            self.page.state.append(Failed(at=time.time(), reason=reason))


Availability = Literal["open", "busy", "done_all", "all_taken", "interrupted"]
"""Whether a worker can begin: now; not while their other page is open; never again; not until somebody leaves; not
until a model's server is back."""


def groups_of(asked: Mapping[Cell, int], most: Mapping[Cell, int]) -> list[Group]:
    return [Group(str(cell), cell.models, cell.setting, number, most.get(cell)) for cell, number in asked.items()]


def steer(allocator: Allocator | ItemAllocator, steered: Steered) -> None:
    """Have an allocator give out what holds by the settings and all orders."""
    cells = {str(cell): cell for cell in allocator.progress().wanted}
    wanted = {cells[label]: number for label, number in steered.wanted.items()}
    allocator.ask_for(wanted, {cells[label] for label in steered.stopped})


@dataclass(kw_only=True)
class Study(StudyState, ABC):
    """One launch. Thread-safe: every rater's unit runs in a thread of its own. Workers go by Mephisto's ids."""

    config: TaskConfig
    seed: int
    practice: Practice | None
    instructions: Instructions  # in the main language
    allocator: Allocator | ItemAllocator
    draws_markdown: bool = False  # whether pages draw the markdown of replies
    images: ImageStore | None = None  # pictures on its pages; None: there are none
    instructions_in: Mapping[str, Instructions] = field(default_factory=dict)  # the same by each language's tag
    languages: Offered = field(init=False)
    is_paid: bool = True  # whether raters are promised money
    minutes: int | None = None  # minutes per unit, as raters see them; None: not shown
    asked: Mapping[Cell, int] = field(default_factory=dict)
    """What the settings ask for of each cell; empty: what the allocator begins with."""
    steered: Steered = field(default_factory=lambda: fold([], Field([])))  # what orders have made of it
    presence: Presence = field(default_factory=Presence)  # active raters
    practising: set[str] = field(default_factory=set)
    """Workers who are in the practice, or have just passed it and are about to begin."""
    closing: threading.Event = field(default_factory=threading.Event)
    saving: Saving = field(init=False)  # raters who wait for a write
    practice_tries_used: dict[str, int] = field(default_factory=dict)
    """Worker → failed attempts at the practice, so that leaving it does not give them back."""
    remarks: list[str] = field(default_factory=list)  # what whoever launches should know, in sentences
    broken: str | None = None  # why nothing is given out any more: units failed in a row. None while all is well.
    acquainted: set[str] = field(default_factory=set)
    """Workers who have answered something in an earlier unit, and are not led through a first turn."""
    left: dict[str, CutOff] = field(default_factory=dict)
    """Worker → their unit that was cut off, with which they go on as long as it is not given to somebody else."""
    strangers: set[str] = field(default_factory=set)
    """Workers who came last with a browser that was never theirs: they start over, and see no earlier work."""
    simulated: set[str] = field(default_factory=set)
    """Names of workers, who will come next, that are programs and no people. Only who launches can say so."""
    shown: dict[str, str] = field(default_factory=dict)  # the model of every reply or line while it is on a page
    once_open: Callable[[], object] = lambda: None  # what the first replies need; the page is served before
    monitor: StoppingMonitor | None = None  # set if the study stops once it reaches a decision
    _failures: int = 0
    _outages_counted_at: float = 0.0  # outages that had begun by then are counted
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.asked = self.asked or self.allocator.progress().wanted
        self.saving = Saving(self.closing) if self.monitor is None else self.monitor.saving
        self.languages = self.config.languages()

    @property
    def pay(self) -> str:
        return self.instructions_in.get(spoken().tag, self.instructions).pay

    @property
    @abstractmethod
    def unit_words(self) -> UnitWords: ...  # what a unit is called on its rater's page

    def in_words(self, text: str) -> str:
        return filled(text, self.unit_words)

    @property
    @abstractmethod
    def rated_models(self) -> list[str]: ...  # the models that raters will meet

    def resources(self) -> AbstractContextManager[Any]:
        """Resources to keep open while the launch runs (such as loaded models)."""
        return nullcontext()

    @abstractmethod
    def begin_unit(self, worker: str, agent: str, name: str) -> dict[str, Any] | None:
        """The plan of a worker's unit as JSON, counted under ``agent``; None: there is nothing for them."""

    def take_up(self, worker: str, agent: str, name: str) -> CutOff | None:
        """The unit with which the worker goes on, counted under ``agent``; None: there is none that can go on."""
        with self._lock:
            left = None if worker in self.strangers else self.left.pop(worker, None)
        if left is None:
            return None
        plan = self.claim_left(worker, agent, name, left)
        if plan is None:
            self.note_left(worker, left)  # the worker who has it now may leave it, too
            return None
        return replace(left, plan=plan)

    def note_left(self, worker: str, left: CutOff) -> None:
        with self._lock:
            self.left[worker] = left

    @abstractmethod
    def claim_left(self, worker: str, agent: str, name: str, left: CutOff) -> dict[str, Any] | None:
        """Count a unit that was cut off as under way again; its plan, or None where others have it by now."""

    @abstractmethod
    def hold_unit(self, stored: dict[str, Any], agent: str, page: PageSession) -> HeldUnit[Any]:
        """The unit of a stored plan, ready to run."""

    @abstractmethod
    def drop_unit(self, agent: str, held: HeldUnit[Any] | None) -> None:
        """A unit that could not begin (``held`` None) or go on: it is given out again."""

    def take_cut_off(self, worker: str) -> bool:
        """True, once, for a worker whose earlier unit was ended by the end of its launch, and does not say so itself."""
        return False

    def bar_groups(self, worker: str, groups: Collection[frozenset[str]]) -> None:
        self.allocator.bar_groups(worker, groups)

    @property
    def remaining(self) -> int:
        return self.allocator.remaining

    @property
    def awaited(self) -> int:
        """Raters whom an earlier launch cut off, and whose places are kept for now."""
        return 0 if self.monitor is None else self.monitor.awaited

    def keeps_places(self, ahead: int = 0) -> bool:
        """Whether only interrupted workers hold open places; ``ahead``: workers about to begin."""
        return self.monitor is not None and self.monitor.keeps_places(ahead * self.allocator.per_unit)

    def went_on_without(self, worker: str) -> bool:
        """Whether the worker did not finish, and their answers would come too late for the study's answer."""
        return self.monitor is not None and self.monitor.went_on_without(worker)

    @abstractmethod
    def steered_by(self) -> Field: ...  # what orders are about

    def models_now(self) -> list[ModelHealth]:
        """How the models answer; empty where none speaks."""
        return []

    def steer(self, orders: Sequence[Order]) -> Steered:
        """Follow all orders for the task, each from the start. What is under way goes on."""
        steered = fold(orders, self.steered_by())
        steer(self.allocator, steered)
        self.steered = steered
        return steered

    def progress(self) -> list[GroupStatus]:
        now = self.allocator.progress()
        standing = None if self.monitor is None else self.monitor.standing()
        stopped = self.steered.stopped
        return [
            GroupStatus.of(
                cell,
                completed=now.completed[cell],
                wanted=now.wanted[cell] if standing is None else None,
                running=now.running[cell],
                stopped=stopped.get(str(cell)) if standing is None else why_decided(cell.models, standing),
                asked=self.asked.get(cell, now.wanted[cell]),
            )
            for cell in (self.asked if standing is None else now.wanted)
            if standing is None or HUMAN not in cell.models  # dialogues between people do not count as evidence
        ]

    def so_far(self) -> tuple[int, int]:
        """Complete dialogues (judgements), and how many it will be; at most, where answers decide."""
        return so_far(self.progress(), self.deciding_now())

    def note_answers(self, page: PageSession, name: str) -> None:
        """A part came to its end, or a turn further: where answers decide, it counts from now on."""
        if self.monitor is None:
            return
        from mephisto_tasks.session.stopping import note_record  # tables take a while to load

        parts = split_dialogues(parse_events(page.state.messages))
        events = next(part for part in reversed(parts) if part_name(part[0]) == name)
        note_record(self.monitor, page.worker_id, build_rated(events))

    def deciding_now(self) -> DecidingNow | None:
        if self.monitor is None:
            return None
        margin, standing, forecast = self.monitor.rule.margin, self.monitor.standing(), self.monitor.forecast()
        if forecast is not None:  # it was made a while ago
            forecast = forecast.after(standing.answered + standing.in_flight, standing.cap)
        return DecidingNow(standing=standing, margin=margin, forecast=forecast)

    @abstractmethod
    def practice_loop(
        self, page: PageSession, *, seed: int, used: int, on_verdict: Callable[[bool], None]
    ) -> PracticeLoop:
        """The practice on a rater's page; only where there is one."""

    def may_begin(self, worker: str) -> bool:
        """Whether there is something for this worker now; during a pause, a worker in the practice still goes on."""
        held = self.steered.paused is not None and worker not in self.practising
        return not held and self.availability(worker) == "open"

    @property
    def paused(self) -> bool:
        """True when nobody new may begin: the launch ends, its units fail, or an order says so."""
        return self.closing.is_set() or self.broken is not None or self.steered.paused is not None

    def note_complete(self) -> None:
        with self._lock:
            self._failures = 0

    def note_failure(self, reason: str, out_since: float | None = None) -> None:
        """A unit failed on our side; after ``stop_after_failures`` in a row the study is :attr:`broken`. All units that
        one outage (``out_since``) of a server ends count as one."""
        with self._lock:
            if out_since is not None and out_since <= self._outages_counted_at:
                return
            if out_since is not None:
                self._outages_counted_at = time.time()
            self._failures += 1
            if self._failures >= self.config.stop_after_failures:
                self.broken = reason
