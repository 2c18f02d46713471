"""Judging one item: it is shown, asked about, and its judgement is written down as it happens."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mephisto_tasks.annotation import steps as asking
from mephisto_tasks.annotation.config import StaticConfig
from mephisto_tasks.annotation.steps import ItemPage, Names, panel, speakers_of
from mephisto_tasks.config.names import ConfigError
from mephisto_tasks.session import steps
from mephisto_tasks.session.page import PageSession, ShownModels
from parlai_humaneval._util.data_files import validated
from parlai_humaneval.display.images import pictures
from parlai_humaneval.i18n.translate import t
from parlai_humaneval.models.bot_speaker.bot_speaker import shown_cards
from parlai_humaneval.schema import records
from parlai_humaneval.schema.events import Finished, JudgingStarted
from parlai_humaneval.schema.steps import Card, ChooseAnswer, FormAnswer, Progress, RankAnswer, RateAnswer, TickAnswer
from parlai_humaneval.techniques.questions import READ_AGAIN, VERDICTS, criterion_records


def own_settings(shown: records.ShownDialogue, reasons: bool) -> steps.RatingConfig:
    """The settings with which the dialogue's own rater was asked. Raises ConfigError: not known, or not understood."""
    known = {name: value for name, value in shown.settings.items() if name in steps.RatingConfig.model_fields}
    where = f"dialogue {shown.dialogue_id} cannot be asked about again: its settings are not those of this version"
    config = validated(steps.RatingConfig, known, where, error=ConfigError)
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
        return READ_AGAIN.get(steps.final_question(self._own), steps.final_question(self._own))

    def questions(self) -> list[records.AskedQuestion]:
        if self._turn is not None:
            return asking.asked(self._config)
        asked_then, rating = self._own, self.rating
        questions = []
        if not asked_then.verdict and asked_then.turn_question == "choose":
            questions.append(records.AskedQuestion(question_id="turn", kind="choose", text=rating.question))
        elif asked_then.turn_question == "tick":
            criteria = criterion_records("tick", asked_then.ticks())
            questions.append(
                records.AskedQuestion(question_id="turn", kind="tick", text=rating.question, criteria=criteria)
            )
        if asked_then.verdict:
            questions.append(
                records.AskedQuestion(question_id="verdict", kind="tick", text=rating.question, options=dict(VERDICTS))
            )
        if asked_then.final_criteria:
            criteria = criterion_records(asked_then.final_scale, asked_then.scales())
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
                on_page.page.within = Progress(unit="turn", current=number, total=len(turns))
                if on_page.is_answered():
                    continue
                self._show(on_page, turn)
                cards = self._cards(on_page, turn)
                page, number = on_page.page, turn.turn
                step_id = on_page.step_id(f"turn-{number}")
                if self._own.turn_question == "tick":
                    ticked = page.ask(TickAnswer, steps.tick_step(self._own, step_id, cards[0], self.rating.question))
                    selected, none, reason = ticked.selected, ticked.none, ticked.reason
                else:
                    chosen = page.ask(ChooseAnswer, steps.choose_step(self._own, step_id, cards, self.rating.question))
                    selected = steps.credited(turn.candidates, chosen.selected)
                    none, reason = chosen.none, chosen.reason
                answer = {"selected": selected, "none_said": none, "reason": reason or None}
                on_page.store({"question_id": "turn", "turn": number, **answer})
            on_page.page.within = None
        self._show(on_page, None)
        if "verdict" in kinds and not on_page.is_answered():
            verdict = steps.verdict_step(self._own, on_page.step_id("verdict"), self.rating.question)
            on_page.store({"question_id": "verdict", "selected": on_page.page.ask(TickAnswer, verdict).selected})
        if "final" in kinds and not on_page.is_answered():
            rate = steps.rate_step(self._own, on_page.step_id("final"), self._own.scales(), self._final_question)
            on_page.store({"question_id": "final", "ratings": on_page.page.ask(RateAnswer, rate).values})

    def _show(self, on_page: ItemPage, before: records.Turn | None) -> None:
        several = len(self._dialogues) > 1
        panels, speakers = [], []
        for shown in self._dialogues:
            lines = shown.lines if before is None else self._lines_before(shown, before)
            side = steps.SIDES[shown.position - 1]
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

    def _cards(self, on_page: ItemPage, turn: records.Turn) -> list[Card]:
        candidates = shown_cards(turn.candidates)
        on_page.note([(candidate.candidate_id, candidate.model) for candidate in candidates])
        return [Card(candidate_id=one.candidate_id, text=one.text, images=pictures(one.images)) for one in candidates]

    def _rank(self, on_page: ItemPage, turn: records.Turn) -> None:
        if on_page.is_answered():
            return
        self._show(on_page, turn)
        question = self.questions()[0].text
        step = asking.rank_step(self._config, on_page.step_id("rank"), question, self._cards(on_page, turn))
        ranks = on_page.page.ask(RankAnswer, step).ranks
        everybody = {name: place for card, place in ranks.items() for name in steps.credited(turn.candidates, [card])}
        on_page.store({"question_id": "rank", "turn": turn.turn, "ranks": everybody})


@dataclass
class JudgingWorld:
    """Runs one item with one rater; what is on record is shown as it was. :meth:`run` raises what the page raises."""

    config: StaticConfig
    item: records.JudgementItem
    turn: int | None
    page: PageSession
    shown: ShownModels
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
        questions = asking.asked(self.config) if replay is None else replay.questions()
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
                    step = asking.scales_step(self.config, self._item_page.step_id("rate"), questions[0].text)
                    self._item_page.store({"question_id": "rate", "ratings": self.page.ask(RateAnswer, step).values})
                else:
                    pair = self.config.show == "pair"
                    titles = (t("Conversation 1"), t("Conversation 2")) if pair else (t("Conversation"),)
                    self._show_whole("pair" if pair else "segment", titles)
                    form = asking.form_step(self.config, self._item_page.step_id("form"), questions)
                    answer = self.page.ask(FormAnswer, form)
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
