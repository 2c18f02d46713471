"""State shared by the raters of one launch of engine 2: dialogues, items, allocation, and the texts of the page."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mephisto_tasks.annotation import steps
from mephisto_tasks.annotation.config import StaticConfig
from mephisto_tasks.annotation.items import BatchPlan, PlannedItem, plan_batch
from mephisto_tasks.annotation.steps import ItemPage, Names, panel, speakers_of
from mephisto_tasks.config.names import ConfigError
from mephisto_tasks.config.task import RatingConfig
from mephisto_tasks.control.orders import Field
from mephisto_tasks.session import steps as live_steps
from mephisto_tasks.session import study as engine
from mephisto_tasks.session.page import PageSession
from mephisto_tasks.session.study import HeldUnit, UnitWords
from mephisto_tasks.storage.work import CutOff
from parlai_humaneval._util.data_files import validated
from parlai_humaneval.allocation.groups import Cell, Item
from parlai_humaneval.allocation.items import ItemAllocator
from parlai_humaneval.dialogues.dialogue import Dialogue
from parlai_humaneval.display.images import pictures
from parlai_humaneval.display.presenter import AS_SAID, Presenter
from parlai_humaneval.i18n.translate import phrase, t
from parlai_humaneval.materials.instructions import PairItem, SegmentItem
from parlai_humaneval.models.bot_speaker.bot_speaker import shown_cards
from parlai_humaneval.schema import records
from parlai_humaneval.schema import steps as asking
from parlai_humaneval.schema.events import Finished, JudgingStarted
from parlai_humaneval.schema.records import JudgementItem
from parlai_humaneval.techniques.questions import READ_AGAIN, VERDICTS


def own_settings(shown: records.ShownDialogue, reasons: bool) -> RatingConfig:
    """The settings with which the dialogue's own rater was asked. Raises ConfigError: not known, or not understood."""
    known = {name: value for name, value in shown.settings.items() if name in RatingConfig.model_fields}
    where = f"dialogue {shown.dialogue_id} cannot be rated again: this version cannot read its settings"
    config = validated(RatingConfig, known, where, error=ConfigError)
    ticks, scales = (
        [one.model_copy(update={"text": READ_AGAIN.get(one.text, one.text)}).model_dump() for one in criteria]
        for criteria in (config.ticks(), config.scales())
    )
    words = {"turn_criteria": ticks, "final_criteria": scales}
    return config.model_copy(update={"reason_required": config.reason_required and reasons, **words})


class Replay:
    """Asks about one recorded dialogue (two, where partners stood side by side): all turns, as its own rater was asked,
    or the one ``turn``, by ranking its replies."""

    def __init__(self, config: StaticConfig, dialogues: list[records.ShownDialogue], turn: int | None) -> None:
        self._config = config
        self._dialogues = dialogues
        self._shown = dialogues[0]
        self._turn = turn
        self._own = own_settings(self._shown, config.reason_required)

    @property
    def rating(self) -> records.ReplayedRating:
        assert self._shown.replayed is not None
        rating = self._shown.replayed
        return rating.model_copy(update={"question": READ_AGAIN.get(rating.question, rating.question)})

    @property
    def _final_question(self) -> str:
        return READ_AGAIN.get(live_steps.final_question(self._own), live_steps.final_question(self._own))

    def questions(self) -> list[records.AskedQuestion]:
        if self._turn is not None:
            return steps.asked(self._config)
        asked_then, rating = self._own, self.rating
        questions = []
        if not asked_then.verdict and asked_then.turn_question == "choose":
            questions.append(records.AskedQuestion(question_id="turn", kind="choose", text=rating.question))
        elif asked_then.turn_question == "tick":
            criteria = live_steps.criterion_records("tick", asked_then.ticks())
            questions.append(
                records.AskedQuestion(question_id="turn", kind="tick", text=rating.question, criteria=criteria)
            )
        if asked_then.verdict:
            questions.append(
                records.AskedQuestion(question_id="verdict", kind="tick", text=rating.question, options=dict(VERDICTS))
            )
        if asked_then.final_criteria:
            criteria = live_steps.criterion_records(asked_then.final_scale, asked_then.scales())
            questions.append(
                records.AskedQuestion(question_id="final", kind="rate", text=self._final_question, criteria=criteria)
            )
        return questions

    def run(self, on_page: ItemPage) -> None:
        if self._turn is not None:
            self._rank(on_page, next(turn for turn in self.rating.turns if turn.turn == self._turn))
            return
        kinds = {question.question_id for question in self.questions()}
        if "turn" in kinds:
            turns = [turn for turn in self.rating.turns if turn.complete and not turn.automatic]
            for number, turn in enumerate(turns, start=1):
                on_page.page.within = asking.Progress(unit="turn", current=number, total=len(turns))
                if on_page.is_answered():
                    continue
                self._show(on_page, turn)
                cards = self._cards(on_page, turn)
                page, number = on_page.page, turn.turn
                step_id = on_page.step_id(f"turn-{number}")
                if self._own.turn_question == "tick":
                    ticked = page.ask(
                        asking.TickAnswer, live_steps.tick_step(self._own, step_id, cards[0], self.rating.question)
                    )
                    selected, none, reason = ticked.selected, ticked.none, ticked.reason
                else:
                    chosen = page.ask(
                        asking.ChooseAnswer, live_steps.choose_step(self._own, step_id, cards, self.rating.question)
                    )
                    selected = live_steps.credited(turn.candidates, chosen.selected)
                    none, reason = chosen.none, chosen.reason
                answer = {"selected": selected, "none_said": none, "reason": reason or None}
                on_page.store({"question_id": "turn", "turn": number, **answer})
            on_page.page.within = None
        self._show(on_page, None)
        if "verdict" in kinds and not on_page.is_answered():
            verdict = live_steps.verdict_step(self._own, on_page.step_id("verdict"), self.rating.question)
            on_page.store({"question_id": "verdict", "selected": on_page.page.ask(asking.TickAnswer, verdict).selected})
        if "final" in kinds and not on_page.is_answered():
            rate = live_steps.rate_step(self._own, on_page.step_id("final"), self._own.scales(), self._final_question)
            on_page.store({"question_id": "final", "ratings": on_page.page.ask(asking.RateAnswer, rate).values})

    def _show(self, on_page: ItemPage, before: records.Turn | None) -> None:
        several = len(self._dialogues) > 1
        panels, speakers = [], []
        for shown in self._dialogues:
            lines = shown.lines if before is None else self._lines_before(shown, before)
            side = live_steps.SIDES[shown.position - 1]
            title = t("Conversation with partner {name}", name=side) if several else t("Conversation")
            with_lines = panel(shown, "replay", title=title, lines=lines, context=True)
            panels.append(with_lines)
            speakers.append(speakers_of(with_lines, lines, shown))
        on_page.show_panels(panels, speakers)

    def _lines_before(self, shown: records.ShownDialogue, turn: records.Turn) -> list[records.ShownLine]:
        """Up to and with the person's message of ``turn``: the complete turns from there on have two lines each."""
        complete = [earlier.turn for earlier in self.rating.turns if earlier.complete]
        left = len(complete) - complete.index(turn.turn)
        return shown.lines[: len(shown.lines) - 2 * left + 1]

    def _cards(self, on_page: ItemPage, turn: records.Turn) -> list[asking.Card]:
        candidates = shown_cards(turn.candidates)
        on_page.note([(candidate.candidate_id, candidate.model) for candidate in candidates])
        return [
            asking.Card(candidate_id=one.candidate_id, text=one.text, images=pictures(one.images)) for one in candidates
        ]

    def _rank(self, on_page: ItemPage, turn: records.Turn) -> None:
        if on_page.is_answered():
            return
        self._show(on_page, turn)
        question = self.questions()[0].text
        step = steps.rank_step(self._config, on_page.step_id("rank"), question, self._cards(on_page, turn))
        ranks = on_page.page.ask(asking.RankAnswer, step).ranks
        everybody = {
            name: place for card, place in ranks.items() for name in live_steps.credited(turn.candidates, [card])
        }
        on_page.store({"question_id": "rank", "turn": turn.turn, "ranks": everybody})


@dataclass
class JudgingWorld:
    """Runs one item with one rater; what is on record is shown as it was. :meth:`run` raises what the page raises."""

    config: StaticConfig
    item: records.JudgementItem
    turn: int | None
    page: PageSession
    shown: dict[str, str]
    settings: dict[str, Any]

    def __post_init__(self) -> None:
        self.page.recorded.open(self.item.judgement_id)
        self._begun = self.page.recorded.take(JudgingStarted)
        self.item = self._begun or self.item
        self._item_page = ItemPage(self.item, self.page, self.shown)

    @property
    def name(self) -> str:
        return f"judgement {self.item.judgement_id}"

    def run(self) -> None:
        """The item to its last answer. Ends with ``finished``."""
        is_replay = self.config.show in ("replay", "turn")
        replay = Replay(self.config, self.item.dialogues, self.turn) if is_replay else None
        questions = steps.asked(self.config) if replay is None else replay.questions()
        self.page.clear()
        if self._begun is None:
            started = JudgingStarted(
                **dict(self.item),
                at=time.time(),
                simulated=self.page.simulated,
                language=self.page.language.tag,
                schema_version=records.SCHEMA_VERSION,
                technique=self.config.technique,
                settings=self.settings,
                metric=self.config.metric,
                questions=list(questions),
            )
            self.page.state.append(started)
        try:
            if replay is not None:
                replay.run(self._item_page)
            elif not self._item_page.is_answered():
                if self.config.show == "whole":
                    self._show_whole("replay", (t("Conversation"),), context=True)
                    step = steps.scales_step(self.config, self._item_page.step_id("rate"), questions[0].text)
                    self._item_page.store(
                        {"question_id": "rate", "ratings": self.page.ask(asking.RateAnswer, step).values}
                    )
                else:
                    pair = self.config.show == "pair"
                    titles = (t("Conversation 1"), t("Conversation 2")) if pair else (t("Conversation"),)
                    self._show_whole("pair" if pair else "segment", titles)
                    form = steps.form_step(self.config, self._item_page.step_id("form"), questions)
                    answer = self.page.ask(asking.FormAnswer, form)
                    values, reasons = answer.values, answer.reasons
                    names = [question.question_id for question in questions]
                    self._item_page.store(
                        *(
                            {"question_id": name, "option": values[name], "reason": reasons.get(name) or None}
                            for name in names
                        )
                    )
            self.page.recorded.must_be_over()
            self.page.state.append(Finished(at=time.time()))
        finally:
            self._item_page.forget()

    def _show_whole(self, how: Names, titles: Sequence[str], *, context: bool = False) -> None:
        panels, speakers = [], []
        for shown, title in zip(self.item.dialogues, titles, strict=True):
            panels.append(panel(shown, how, title=title, context=context))
            speakers.append(speakers_of(panels[-1], shown.lines, shown))
        self._item_page.show_panels(panels, speakers)


GO_ON = asking.Notice(level="info", text=phrase("Welcome back! Your earlier answers are saved. Please continue here."))
JUDGING = UnitWords(
    complete=phrase("Your answers are complete and saved."),
    whole=phrase("task"),
    one=phrase("task"),
    begins=phrase("Now the real conversations begin."),
    counted="judgements",
)
JUDGING_PAIRS = replace(JUDGING, many=phrase("pairs"), begins=phrase("Now the real pairs of conversations begin."))


@dataclass(kw_only=True)
class AnnotationStudy(engine.Study):
    config: StaticConfig
    dialogues: Mapping[str, Dialogue]
    items: Mapping[str, Item]
    allocator: ItemAllocator
    golds: steps.GoldDeck
    presenter: Presenter = AS_SAID  # how what models said is shown

    @property
    def unit_words(self) -> UnitWords:
        return JUDGING_PAIRS if self.config.show == "pair" else JUDGING

    @cached_property
    def recorded_settings(self) -> dict[str, Any]:
        return {**self.config.model_dump(mode="json"), "study_seed": self.seed}

    @cached_property
    def rated_models(self) -> list[str]:
        return sorted({name for item in self.items.values() for name in item.cell.models})

    def begin_unit(self, worker: str, agent: str, name: str) -> dict[str, Any] | None:
        batch = self.allocator.claim(worker, agent, name)
        if batch is None:
            return None
        plan = plan_batch(
            session=batch.session,
            name=name,
            item_ids=[item.item_id for item in batch.items],
            golds=self.golds.draw(worker, batch.session, name),
            golds_done=self.golds.judged(batch.session),
            done=batch.done,
            wanted=batch.numbers,
            swap=self.config.show == "pair",
            seed=self.seed,
        )
        return plan.model_dump(mode="json")

    def claim_left(self, worker: str, agent: str, name: str, left: CutOff) -> dict[str, Any] | None:
        plan, open_ = BatchPlan.model_validate(left.plan), open_items(left)
        ordinary = [item.item_id for item in open_ if item.gold is None]
        claimed = self.allocator.claim_again(worker, agent, plan.session, ordinary)
        if ordinary and not claimed:
            return None
        others = {was: claimed[was].item_id if was in claimed else None for was in ordinary}
        lost = {was: now for was, now in others.items() if was != now}
        lost |= {item.item_id: None for item in open_ if item.gold is not None and item.gold > len(self.golds.items)}
        return plan.without(lost, name).model_dump(mode="json")

    def hold_unit(self, stored: dict[str, Any], agent: str, page: PageSession) -> HeldBatch:
        return HeldBatch(self, BatchPlan.model_validate(stored), agent, page)

    def drop_unit(self, agent: str, held: HeldUnit[Any] | None) -> None:
        self.allocator.abandon(agent)

    def availability(self, worker: str) -> engine.Availability:
        if self.allocator.is_busy(worker):
            return "busy"
        if self._can_go_on(worker) or self.allocator.available(worker):
            return "open"
        return "done_all" if self.allocator.has_done_all(worker) else "all_taken"

    def can_resume(self, worker: str) -> bool:
        return self._can_go_on(worker) or self.allocator.can_resume(worker)

    def _can_go_on(self, worker: str) -> bool:
        left = self.left.get(worker)
        return left is not None and self.can_go_on(worker, left)

    def can_go_on(self, worker: str, left: CutOff) -> bool:
        """Whether others have left anything of a worker's unit that was cut off."""
        return self.allocator.can_go_on(worker, [item.item_id for item in open_items(left) if item.gold is None])

    @cached_property
    def _most(self) -> Mapping[Cell, int]:
        """The judgements available: each pair of dialogues is judged once, everything else as often as requested."""
        return self.allocator.most() if self.config.show == "pair" else {}

    def steered_by(self) -> Field:
        groups = engine.groups_of(self.asked, self._most)
        return Field(groups, counted=JUDGING.counted, drawn=self.config.is_decided)

    def practice_loop(
        self, page: PageSession, *, seed: int, used: int, on_verdict: Callable[[bool], None]
    ) -> steps.JudgingPractice:
        assert self.practice is not None, "onboarding runs only if practice items are configured"
        return steps.JudgingPractice(
            self.practice, self.config, page, begins=self.unit_words.begins, used=used, on_verdict=on_verdict
        )

    def item_to_judge(self, plan: BatchPlan, index: int) -> JudgementItem:
        planned, number = plan.items[index], plan.number + index
        common: dict[str, Any] = {
            "judgement_id": plan.judgement_id(index),
            "item_id": planned.item_id,
            "seed": planned.seed,
            "session": plan.session,
            "number": number,
            "numbers": plan.numbers,
        }
        if planned.gold is not None:
            gold = self.golds.items[planned.gold - 1]
            if isinstance(gold, PairItem):
                shown = steps.shown_pair(gold, planned.item_id, planned.swapped)
                expected = {self.config.metric: steps.right_side(gold, planned.swapped)}
            else:
                assert isinstance(gold, SegmentItem)
                shown = steps.shown_segment(gold, planned.item_id)
                expected = {f"label_{index}": next(iter(right)) for index, right in enumerate(gold.right)}
            return JudgementItem(**common, setting=self.config.setting, group=[], dialogues=shown, expected=expected)
        item = self.items[planned.item_id]
        shown = [
            steps.masked(dialogue, self.rated_models, self.presenter)
            for dialogue in steps.shown_item(item, self.dialogues, self.config.seed_exchanges, swapped=planned.swapped)
        ]
        setting = item.cell.setting if self.config.show == "pair" else self.config.setting
        return JudgementItem(**common, setting=setting, group=list(item.cell.models), dialogues=shown)


class HeldBatch(HeldUnit[PlannedItem]):
    """The items of one rater's unit that are still to be judged, counted under ``agent``."""

    def __init__(self, study: AnnotationStudy, plan: BatchPlan, agent: str, page: PageSession) -> None:
        super().__init__(
            page,
            plan.items,
            unit=f"unit {plan.name}",
            over=phrase("That was the last one. Thank you! Is there anything you would like to tell us? (optional)"),
            go_on=GO_ON if plan.number > 1 or page.recorded.finished(plan.judgement_id(0)) else None,
        )
        self._study = study
        self._plan = plan
        self._agent = agent

    def part_id(self, part: PlannedItem) -> str:
        return self._plan.judgement_id(len(self.done))

    def hold(self, part: PlannedItem) -> None:
        study = self._study
        item = study.item_to_judge(self._plan, len(self.done))
        turn = None if part.gold is not None else study.items[part.item_id].turn
        self.world = JudgingWorld(study.config, item, turn, self.page, study.shown, study.recorded_settings)
        self.page.progress = self.progress_at(part)
        if part.gold is None:
            study.allocator.note_shown(self._agent, part.item_id)
        else:
            study.golds.note_shown(self.page.worker_id, part.item_id)
        self.world.run()
        if part.gold is None:
            study.allocator.note_done(self._agent, part.item_id)
        else:
            study.golds.note_judged(self._plan.session)
        study.note_answers(self.page, item.judgement_id)

    def progress_at(self, part: PlannedItem) -> asking.Progress:
        unit = "pair" if self._study.config.show == "pair" else "conversation"
        return asking.Progress(unit=unit, current=self._plan.number + len(self.done), total=self._plan.numbers)

    def leave(self, worker: str, agent: str) -> None:
        self._study.allocator.abandon(agent)

    def ask_feedback(self) -> None:
        self.page.clear()
        super().ask_feedback()


def open_items(left: CutOff) -> list[PlannedItem]:
    plan, finished = BatchPlan.model_validate(left.plan), left.finished
    return [item for index, item in enumerate(plan.items) if plan.judgement_id(index) not in finished]
