"""State shared by the dialogues of one launch of engine 1: settings, models, allocation, and the texts of the page."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from mephisto_tasks.chat.config import InteractiveConfig
from mephisto_tasks.chat.plans import DialoguePlan, Planner, UnitPlan
from mephisto_tasks.chat.world import ConversationWorld
from mephisto_tasks.control.orders import Field, Order, Steered
from mephisto_tasks.session import steps
from mephisto_tasks.session import study as engine
from mephisto_tasks.session.page import PageSession
from mephisto_tasks.session.study import AGAIN, AGAIN_OF_SEVERAL, HeldUnit, UnitWords, conversations, filled
from mephisto_tasks.storage.work import CutOff
from parlai_humaneval.allocation.adaptive import DrawnAllocator
from parlai_humaneval.allocation.groups import Allocator, Cell, PastDialogue
from parlai_humaneval.display.appearance import Appearance
from parlai_humaneval.display.markdown import is_formatted
from parlai_humaneval.display.presenter import AS_SAID, Presenter
from parlai_humaneval.i18n.translate import phrase, phrases, t
from parlai_humaneval.materials.instructions import ChooseItem, PracticeItem, RateItem, TickItem, VerdictItem
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.zoo.entries import ModelSpec, may_be_chat_llm
from parlai_humaneval.models.zoo.files import check_trained
from parlai_humaneval.schema.records import ModelHealth, ModelRecord
from parlai_humaneval.schema.steps import Card, ChooseAnswer, Notice, Progress, RateAnswer, TickAnswer
from parlai_humaneval.statistics.core.formatting import listed
from parlai_humaneval.techniques.questions import RANGES

if TYPE_CHECKING:
    from mephisto_tasks.session.stopping import StoppingMonitor


@dataclass(eq=False, repr=False)
class PracticeWorld(steps.PracticeLoop):
    """The right reply continues the conversation whatever was chosen. ``seed``: of the order of the replies."""

    config: InteractiveConfig  # the study's settings; where it has several, those of its first
    _: KW_ONLY
    begins: str = UnitWords().begins
    seed: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self.question = self.practice.question or self.config.question
        if any(isinstance(item, ChooseItem) for item in self.practice.items):
            self.again = phrase("The order of the replies may have changed.")
        self._random = random.Random(f"practice:{self.seed}")

    def place(self, number: int, item: PracticeItem) -> str:
        if isinstance(item, (ChooseItem, TickItem, VerdictItem)):
            return t("After “{line}”", line=item.human)
        assert isinstance(item, RateItem)
        return t("After “{line}”", line=item.lines[-1])

    def ask(self, step_id: str, item: PracticeItem) -> tuple[bool, Any]:
        match item:
            case ChooseItem():
                return self._choose(step_id, item)
            case TickItem():
                self.page.say("you", item.human)
                step = steps.tick_step(
                    self.config, step_id, Card(candidate_id=uuid4().hex, text=item.reply), self.question
                )
                given = self.page.ask(TickAnswer, step).selected
                self.page.say("partner", item.reply)
                return set(item.must) <= set(given) and not set(item.must_not) & set(given), given
            case RateItem():
                return self._rate(step_id, item)
            case VerdictItem():
                return self._compare(step_id, item)
            case _:
                raise AssertionError("check_practice let an item of another engine through")

    def _choose(self, step_id: str, item: ChooseItem) -> tuple[bool, list[int]]:
        self.page.say("you", item.human)
        cards, numbers = steps.numbered_cards(item)
        self._random.shuffle(cards)
        step = steps.choose_step(self.config, step_id, cards, self.question).model_copy(update={"reason": None})
        given = sorted(numbers[key] for key in self.page.ask(ChooseAnswer, step).selected)
        self.page.say("partner", item.next_line)
        return given == sorted(item.right), given

    def _rate(self, step_id: str, item: RateItem) -> tuple[bool, dict[str, float]]:
        self.page.clear()
        for number, line in enumerate(item.lines):
            self.page.say("partner" if number % 2 else "you", line)
        asked = [criterion for criterion in self.config.scales() if criterion.name in item.sides]
        given = self.page.ask(RateAnswer, steps.rate_step(self.config, step_id, asked, self.question)).values
        middle = sum(RANGES[self.config.final_scale]) / 2
        return steps.on_right_sides(given, item, dict.fromkeys(item.sides, middle)), given

    def _compare(self, step_id: str, item: VerdictItem) -> tuple[bool, str]:
        self.page.clear()
        self.page.columns = steps.SIDES
        self.page.say("you", item.human)
        for column, reply in enumerate(item.replies):
            self.page.say("partner", reply, column=column)
        given = self.page.ask(TickAnswer, steps.verdict_step(self.config, step_id, self.question)).selected[0]
        return given == item.better, given


NEXT = Notice(
    level="success", text=phrase("That conversation is saved. The next conversation is with a different partner.")
)
GO_ON = Notice(level="info", text=phrase("Welcome back! Your earlier conversations are saved. Here is the next one."))
OVER = phrase("That was the whole conversation. Thank you! Is there anything you would like to tell us? (optional)")
PHRASES = phrases(__file__)
ALL_OVER = PHRASES["all_over"]
FIRST_QUESTION = "What are three good things to do on a rainy day? Please list them."
FIRST_REPLY_S = 20.0


@dataclass(kw_only=True)
class ChatStudy(engine.Study):
    config: InteractiveConfig
    specs: dict[str, ModelSpec]
    records: dict[str, ModelRecord]
    pool: ModelPool
    allocator: Allocator
    planner: Planner
    presenter: Presenter = AS_SAID  # how replies are shown, and which are not
    topics: list[str] = field(default_factory=list)  # openings that the page offers; empty where it offers none

    @property
    def unit_words(self) -> UnitWords:
        return conversations(self.allocator.per_unit + bool(self.config.quality_control_model))

    @property
    def rated_models(self) -> list[str]:
        return self.config.model_names()

    def resources(self) -> AbstractContextManager[Any]:
        """The loaded models. Raises ZooError where one is still to be trained, before others load for minutes."""
        check_trained([spec for spec in self.pool.specs.values() if not spec.running.elsewhere])
        return self._loaded()

    @contextmanager
    def _loaded(self) -> Iterator[ModelPool]:
        with self.pool:
            if self.config.replies.appearance == "auto":
                self._choose_look([name for name, spec in self.pool.specs.items() if may_be_chat_llm(spec)])
            yield self.pool

    def _choose_look(self, models: Sequence[str]) -> None:
        """Choose the appearance by the first replies of ``models`` whose zoo entries do not mention markdown."""
        said = self.pool.first_replies(models, FIRST_QUESTION, FIRST_REPLY_S)
        formatted = [name for name, text in said.items() if is_formatted(text)]
        self.draws_markdown = bool(formatted)
        appearance: Appearance = "markdown" if formatted else "as_said"
        replies = self.config.replies.model_copy(update={"appearance": appearance})
        self.config = self.config.model_copy(update={"replies": replies})
        self.presenter = replace(self.presenter, appearance=appearance)
        if formatted:
            self.remarks.append(
                f"Markdown is rendered in the replies of all models, because {listed(formatted)} used it in a test "
                "reply. To show replies exactly as written, set replies.appearance=as_said."
            )
        elif silent := [name for name in models if name not in said]:
            self.remarks.append(
                f"Replies are shown as written, because {listed(silent)} sent no test reply within {FIRST_REPLY_S:g} "
                "seconds. If the replies contain markdown, set replies.appearance=markdown."
            )

    def begin_unit(self, worker: str, agent: str, name: str) -> dict[str, Any] | None:
        cells = self.allocator.claim(worker, agent, rather_without=self.pool.out())
        if cells is None:
            return None
        try:
            return self.planner.plan(name, cells).stored()
        except BaseException:  # nobody would ever end a unit that did not begin
            self.allocator.abandon(agent, rated=[])
            raise

    def claim_left(self, worker: str, agent: str, name: str, left: CutOff) -> dict[str, Any] | None:
        cells, open_ = cells_of(left)
        return left.plan if not open_ or self.allocator.claim_again(worker, agent, cells, open_) else None

    def note_left(self, worker: str, left: CutOff) -> None:
        super().note_left(worker, left)
        if open_ := cells_of(left)[1]:
            self.allocator.note_left(worker, open_)

    def hold_unit(self, stored: dict[str, Any], agent: str, page: PageSession) -> HeldConversations:
        return HeldConversations(self, UnitPlan.model_validate(stored), page)

    def drop_unit(self, agent: str, held: HeldUnit[Any] | None) -> None:
        begun = held.begun if isinstance(held, HeldConversations) else []
        self.allocator.abandon(agent, rated=begun)

    def take_cut_off(self, worker: str) -> bool:
        return self.allocator.take_cut_off(worker)

    def availability(self, worker: str) -> engine.Availability:
        if self.allocator.is_busy(worker):
            return "busy"
        left = self._open_of(worker)
        if left is not None:
            return self._open_for(left, len(left))
        if self.allocator.has_done_all(worker):
            return "done_all"
        cells = self.allocator.available(worker)
        return self._open_for(cells, self.allocator.per_unit) if cells else "all_taken"

    def _open_for(self, cells: Sequence[Cell], needed: int) -> engine.Availability:
        """Whether so many of ``cells`` can be begun, as far as their models' servers go; all, where they are drawn."""
        gone = self.pool.out(for_good=True)
        needed = needed if self.allocator.goes_around else len(cells)
        able = [cell for cell in cells if gone.isdisjoint(cell.models)]
        return "open" if len(able) >= needed and self.config.quality_control_model not in gone else "interrupted"

    def can_resume(self, worker: str) -> bool:
        return self._open_of(worker) is not None

    def _open_of(self, worker: str) -> list[Cell] | None:
        left = self.left.get(worker)
        if left is None:
            return None
        cells, open_ = cells_of(left)
        return open_ if not open_ or self.allocator.wants_again(worker, cells, open_) else None

    def steer(self, orders: Sequence[Order]) -> Steered:
        before = self.unit_words.whole_in_words
        steered = super().steer(orders)
        now = self.unit_words.whole_in_words
        if now != before:
            self.remarks.append(
                f"From now on, each rater gets only one {now}, because no other groups are left. The instructions on the "
                f"page say {before} until the next launch. The pay is the same."
            )
        return steered

    def steered_by(self) -> Field:
        return field_of(self.config, self.asked, self.pool.specs)

    def models_now(self) -> list[ModelHealth]:
        retired = self.steered.retired
        return [one.model_copy(update={"retired": one.model in retired}) for one in self.pool.figures()]

    def practice_loop(
        self, page: PageSession, *, seed: int, used: int, on_verdict: Callable[[bool], None]
    ) -> PracticeWorld:
        assert self.practice is not None, "onboarding runs only if practice items are configured"
        configs = [self.config.of(setting) for setting in self.config.settings()]
        fitting = (config for config in configs if steps.check_practice(self.practice, config) is None)
        return PracticeWorld(
            self.practice, next(fitting, configs[0]), page, seed=seed, used=used, on_verdict=on_verdict
        )

    def world(self, unit: UnitPlan, plan: DialoguePlan, page: PageSession) -> ConversationWorld:
        config = self.config.of(plan.cell.setting)
        return ConversationWorld(
            config,
            unit,
            plan,
            page,
            # Two models that stand side by side keep their places.
            lambda: self.pool.speaker(
                list(plan.cell.models),
                seed=plan.seed,
                history=config.history,
                order="fixed" if config.verdict else "balanced",
                personas=plan.context.bot_personas,
                presenter=self.presenter,
                images=self.images if self.config.images in ("models", "both") else None,
            ),
            models=[self.records[name] for name in plan.cell.models],
            shown=self.shown,
            topics=self.topics,
            study_seed=self.seed,
        )


class HeldConversations(HeldUnit[DialoguePlan]):
    """The dialogues of one rater's unit that are still to be held, one after another (Ji et al. 2022, §3.2: six)."""

    def __init__(self, study: ChatStudy, unit: UnitPlan, page: PageSession) -> None:
        super().__init__(
            page,
            unit.plans,
            unit=f"dialogue {unit.plans[0].dialogue_id}",
            over=OVER if unit.conversations == 1 else ALL_OVER,
            go_on=GO_ON if page.recorded.finished(unit.plans[0].dialogue_id) or unit.held else None,
            between=NEXT,
        )
        again = AGAIN if unit.conversations == 1 else AGAIN_OF_SEVERAL
        self.greeting = Notice(level="info", text=filled(again, study.unit_words, is_paid=study.is_paid))
        self.begun: list[Cell] = []  # what the rater has rated anything of
        self._study = study
        self._unit = unit

    def part_id(self, part: DialoguePlan) -> str:
        return part.dialogue_id

    def hold(self, part: DialoguePlan) -> None:
        world = self.world = self._study.world(self._unit, part, self.page)
        world.after_turn = partial(self._study.note_answers, self.page, part.dialogue_id)
        try:
            world.run()
        finally:
            if world.rated_turns:
                self.begun.append(part.cell)
        self._study.note_answers(self.page, part.dialogue_id)

    def progress_at(self, part: DialoguePlan) -> Progress | None:
        if self._unit.conversations > 1:
            return Progress(unit="conversation", current=part.conversation, total=self._unit.conversations)
        config = self._study.config
        return None if config.rater_ends else Progress(unit="turn", current=config.turns, total=config.turns)

    def leave(self, worker: str, agent: str) -> None:
        self._study.allocator.abandon(agent, rated=[*self._unit.held, *(plan.cell for plan in self.done), *self.begun])


def cells_of(left: CutOff) -> tuple[list[Cell], list[Cell]]:
    """What a unit that was cut off is about, and what of that is still to be rated; nothing, where only its rater was not
    told of its end."""
    unit = UnitPlan.model_validate(left.plan)
    return unit.cells, [plan.cell for plan in unit.plans if plan.dialogue_id not in left.finished]


def field_of(config: InteractiveConfig, asked: Mapping[Cell, int], loaded: Collection[str] | None) -> Field:
    """The groups and models that orders can name; ``loaded``: the models of this launch."""
    control = config.quality_control_model
    kept = {
        control: f"{control} cannot be retired because one conversation of every assignment uses it to check raters."
    }
    return Field(
        engine.groups_of(asked, {}),
        counted=conversations(1).counted,
        kept=kept if control else {},
        loaded=loaded,
        drawn=config.is_decided,
    )


def restore_allocation(
    config: InteractiveConfig, past: Iterable[PastDialogue], monitor: StoppingMonitor | None = None, *, seed: int
) -> Allocator:
    if monitor is not None:
        (setting,) = config.settings()
        allocator: Allocator = DrawnAllocator(
            monitor,
            config.model_groups(),
            config.metric,
            setting,
            cap=monitor.rule.max_dialogues,
            per_unit=config.conversations_per_unit,
            seed=seed,
        )
    else:
        allocator = Allocator(
            [
                Cell(models=group, metric=config.metric, setting=setting)
                for setting in config.settings()
                for group in config.model_groups()
            ],
            config.dialogues_per_group,
            seed=seed,
            per_unit=config.conversations_per_unit - bool(config.quality_control_model),
            per_worker=config.dialogues_per_worker,
            group_once=config.workers.pair_once,
        )
    allocator.restore(past)
    return allocator
