"""A rated dialogue once more: a new rater reads it turn by turn, and answers what its own rater was asked.

Sources: Liu et al. 2023, “Data Cleaning” (agreement with third parties); Ma et al. 2023, §3.2 (Preference Ranking: all
replies to one context). What the own rater answered is not shown; which reply went on shows in the turn after.
"""

from __future__ import annotations

import time

from pydantic import ValidationError

from mephisto_tasks.annotation import steps as asking
from mephisto_tasks.annotation.config import StaticConfig
from mephisto_tasks.annotation.display import panel, speakers_of
from mephisto_tasks.annotation.steps import ItemPage
from mephisto_tasks.session.steps import (
    SIDES,
    RatingConfig,
    choose_step,
    final_question,
    rate_step,
    tick_step,
    verdict_step,
)
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval.i18n.translate import t
from parlai_humaneval.models.bot_speaker.cards import shown_cards, standing_for
from parlai_humaneval.schema.records import (
    AskedQuestion,
    GivenAnswer,
    ReplayedRating,
    ShownDialogue,
    ShownLine,
    Turn,
)
from parlai_humaneval.schema.steps import Card, Progress
from parlai_humaneval.techniques.criteria import criterion_records
from parlai_humaneval.techniques.questions import VERDICTS


class CannotReplay(HumanevalError, ValueError):
    """A dialogue that was not rated, or whose settings are of another version."""


def own_settings(shown: ShownDialogue, reasons: bool) -> RatingConfig:
    """The settings with which the dialogue's own rater was asked.

    Raises:
        CannotReplay: they are not known, or not understood.
    """
    known = {name: value for name, value in shown.settings.items() if name in RatingConfig.model_fields}
    try:
        config = RatingConfig.model_validate(known)
    except ValidationError as error:
        raise CannotReplay(
            f"dialogue {shown.dialogue_id} cannot be asked about again: its settings are not those of this version "
            f"({error.errors()[0]['msg']})"
        ) from error
    return config.model_copy(update={"reason_required": config.reason_required and reasons})


class Replay:
    """Asks about one recorded dialogue (two, where two partners stood side by side).

    Args:
        config: the study's settings.
        dialogues: as they are shown, with what their own rater answered.
        turn: the only turn that is asked about, by ranking its replies; None: all, as their own rater was asked.
    """

    def __init__(self, config: StaticConfig, dialogues: list[ShownDialogue], turn: int | None) -> None:
        self._config = config
        self._dialogues = dialogues
        self._shown = dialogues[0]
        self._turn = turn
        self._own = own_settings(self._shown, config.reason_required)

    @property
    def rating(self) -> ReplayedRating:
        assert self._shown.replayed is not None
        return self._shown.replayed

    def questions(self) -> list[AskedQuestion]:
        """What will be asked, as it stands in the record."""
        if self._turn is not None:
            return asking.asked(self._config)
        asked_then, rating = self._own, self.rating
        questions = []
        if not asked_then.verdict and asked_then.turn_question == "choose":
            questions.append(AskedQuestion(question_id="turn", kind="choose", text=rating.question))
        elif asked_then.turn_question == "tick":
            criteria = criterion_records("tick", asked_then.ticks())
            questions.append(AskedQuestion(question_id="turn", kind="tick", text=rating.question, criteria=criteria))
        if asked_then.verdict:
            questions.append(
                AskedQuestion(question_id="verdict", kind="tick", text=rating.question, options=dict(VERDICTS))
            )
        if asked_then.final_criteria:
            criteria = criterion_records(asked_then.final_scale, asked_then.scales())
            questions.append(
                AskedQuestion(question_id="final", kind="rate", text=final_question(asked_then), criteria=criteria)
            )
        return questions

    def run(self, on_page: ItemPage) -> None:
        """Every question to its answer."""
        if self._turn is not None:
            self._rank(on_page, self._turn_numbered(self._turn))
            return
        kinds = {question.question_id for question in self.questions()}
        if "turn" in kinds:
            turns = [turn for turn in self.rating.turns if turn.complete and not turn.automatic]
            for number, turn in enumerate(turns, start=1):
                on_page.page.within = Progress(unit="turn", current=number, total=len(turns))
                self._ask_turn(on_page, turn)
            on_page.page.within = None
        self._show(on_page, None)
        if "verdict" in kinds:
            self._ask_verdict(on_page)
        if "final" in kinds:
            self._ask_final(on_page)

    def _turn_numbered(self, number: int) -> Turn:
        return next(turn for turn in self.rating.turns if turn.turn == number)

    def _show(self, on_page: ItemPage, before: Turn | None) -> None:
        """The dialogue up to the replies of a turn; all of it where ``before`` is None."""
        several = len(self._dialogues) > 1
        panels, speakers = [], []
        for shown in self._dialogues:
            lines = shown.lines if before is None else self._lines_before(shown, before)
            side = SIDES[shown.position - 1]
            title = t("Conversation with partner {name}", name=side) if several else t("Conversation")
            with_lines = panel(shown, "replay", title=title, lines=lines, context=True)
            panels.append(with_lines)
            speakers.append(speakers_of(with_lines, lines, shown))
        on_page.show_panels(panels, speakers)

    def _lines_before(self, shown: ShownDialogue, turn: Turn) -> list[ShownLine]:
        """Up to and with the person's message of ``turn``: the complete turns from there on have two lines each."""
        complete = [earlier.turn for earlier in self.rating.turns if earlier.complete]
        left = len(complete) - complete.index(turn.turn)
        return shown.lines[: len(shown.lines) - 2 * left + 1]

    def _cards(self, on_page: ItemPage, turn: Turn) -> list[Card]:
        candidates = shown_cards(turn.candidates)
        on_page.note([(candidate.candidate_id, candidate.model) for candidate in candidates])
        return [Card(candidate_id=candidate.candidate_id, text=candidate.text) for candidate in candidates]

    def _ask_turn(self, on_page: ItemPage, turn: Turn) -> None:
        if on_page.is_answered():
            return
        self._show(on_page, turn)
        cards = self._cards(on_page, turn)
        page, number = on_page.page, turn.turn
        step_id = on_page.step_id(f"turn-{number}")
        if self._own.turn_question == "tick":
            ticked = page.ask_ticks(tick_step(self._own, step_id, cards[0], self.rating.question))
            selected, none, reason = ticked.selected, ticked.none, ticked.reason
        else:
            chosen = page.ask_choice(choose_step(self._own, step_id, cards, self.rating.question))
            selected = [name for chosen_id in chosen.selected for name in standing_for(turn.candidates, chosen_id)]
            none, reason = chosen.none, chosen.reason
        now = time.time()
        on_page.store(
            [
                GivenAnswer(
                    question_id="turn",
                    turn=number,
                    selected=selected,
                    none_said=none,
                    reason=reason or None,
                    seconds=now - page.shown_at,
                    at=now,
                )
            ]
        )

    def _rank(self, on_page: ItemPage, turn: Turn) -> None:
        if on_page.is_answered():
            return
        self._show(on_page, turn)
        question = self.questions()[0].text
        step = asking.rank_step(self._config, on_page.step_id("rank"), question, self._cards(on_page, turn))
        ranks = on_page.page.ask_ranking(step).ranks
        now = time.time()
        everybody = {name: place for card, place in ranks.items() for name in standing_for(turn.candidates, card)}
        on_page.store(
            [
                GivenAnswer(
                    question_id="rank", turn=turn.turn, ranks=everybody, seconds=now - on_page.page.shown_at, at=now
                )
            ]
        )

    def _ask_verdict(self, on_page: ItemPage) -> None:
        if on_page.is_answered():
            return
        answer = on_page.page.ask_ticks(verdict_step(self._own, on_page.step_id("verdict"), self.rating.question))
        now = time.time()
        on_page.store(
            [GivenAnswer(question_id="verdict", selected=answer.selected, seconds=now - on_page.page.shown_at, at=now)]
        )

    def _ask_final(self, on_page: ItemPage) -> None:
        if on_page.is_answered():
            return
        step = rate_step(self._own, on_page.step_id("final"), self._own.scales(), final_question(self._own))
        values = on_page.page.ask_ratings(step).values
        now = time.time()
        on_page.store([GivenAnswer(question_id="final", ratings=values, seconds=now - on_page.page.shown_at, at=now)])
