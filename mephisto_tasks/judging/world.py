"""One item on a rater's page: shown, asked about, and every answer written down when it arrives."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mephisto_tasks.engine.page_session import PageSession
from mephisto_tasks.judging import asking
from mephisto_tasks.judging.replaying import Replay
from mephisto_tasks.judging.showing import panel, speakers_of
from parlai_humaneval.protocol.page.panels import Panel
from parlai_humaneval.protocol.records.dialogue import SCHEMA_VERSION
from parlai_humaneval.protocol.records.events import Failed, Finished, Judged, JudgingStarted
from parlai_humaneval.protocol.records.judgement import AskedQuestion, GivenAnswer, ShownDialogue

if TYPE_CHECKING:
    from mephisto_tasks.judging.study import Study


@dataclass(frozen=True)
class ItemToJudge:
    """An item as it goes to one rater; see :class:`~parlai_humaneval.protocol.records.judgement.JudgementRecord`.

    ``turn``: the turn whose replies are ranked, where that is asked.
    """

    judgement_id: str
    item_id: str
    group: tuple[str, ...]
    setting: str
    dialogues: list[ShownDialogue]
    seed: int
    session: str
    number: int
    numbers: int
    expected: dict[str, str] | None = None
    turn: int | None = None


class JudgingWorld:
    """Runs one item with one rater.

    :meth:`run` raises what the page raises when the rater leaves; what was answered up to there is stored.
    """

    def __init__(self, study: Study, item: ItemToJudge, page: PageSession) -> None:
        self.study = study
        self.config = study.config
        self.item = item
        self.page = page
        self._shown_lines: list[str] = []

    def run(self) -> None:
        """The item to its last answer. Ends with ``finished``."""
        replay = (
            Replay(self.config, self.item.dialogues, self.item.turn) if self.config.show in ("replay", "turn") else None
        )
        questions = asking.asked(self.config) if replay is None else replay.questions()
        self.page.clear()
        self._start(questions)
        try:
            match self.config.show:
                case "pair" | "segment":
                    self._ask_form(questions)
                case "whole":
                    self._ask_scales(questions[0])
                case "replay" | "turn":
                    assert replay is not None
                    replay.run(self)
            self.page.state.append(Finished(at=time.time()))
        finally:
            self.study.forget_shown(self._shown_lines)

    def _start(self, questions: Sequence[AskedQuestion]) -> None:
        item = self.item
        self.page.state.append(
            JudgingStarted(
                at=time.time(),
                simulated=self.page.simulated,
                schema_version=SCHEMA_VERSION,
                judgement_id=item.judgement_id,
                item_id=item.item_id,
                technique=self.config.technique,
                setting=item.setting,
                settings=self.study.recorded_settings,
                metric=self.config.metric,
                group=list(item.group),
                dialogues=item.dialogues,
                questions=list(questions),
                expected=item.expected,
                seed=item.seed,
                session=item.session,
                number=item.number,
                numbers=item.numbers,
            )
        )

    def show_panels(self, panels: list[Panel], shown: Sequence[Sequence[tuple[str, str]]] = ()) -> None:
        """Put dialogues on the page; ``shown``: line id → speaker of each panel, known to the launch alone."""
        self.page.panels = panels
        for lines in shown:
            self.study.note_shown(lines)
            self._shown_lines += [line_id for line_id, _ in lines]

    def note_replies(self, replies: Sequence[tuple[str, str]]) -> None:
        """Candidate id → model of replies on the page, known to the launch alone."""
        self.study.note_shown(replies)
        self._shown_lines += [candidate_id for candidate_id, _ in replies]

    def _show_whole(self, how: Any, titles: Sequence[str], *, context: bool = False) -> None:
        panels = [
            panel(shown, how, title=title, context=context)
            for shown, title in zip(self.item.dialogues, titles, strict=True)
        ]
        self.show_panels(
            panels,
            [
                speakers_of(on_page, shown.lines, shown)
                for on_page, shown in zip(panels, self.item.dialogues, strict=True)
            ],
        )

    def _ask_form(self, questions: list[AskedQuestion]) -> None:
        pair = self.config.show == "pair"
        titles = ("Conversation 1", "Conversation 2") if pair else ("Conversation",)
        self._show_whole("pair" if pair else "segment", titles)
        answer = self.page.ask_form(asking.form_step(self.config, self.step_id("form"), questions))
        now = time.time()
        seconds = now - self.page.shown_at
        self.store(
            [
                GivenAnswer(
                    question_id=one.question_id,
                    option=answer.values[one.question_id],
                    reason=answer.reasons.get(one.question_id) or None,
                    seconds=seconds,
                    at=now,
                )
                for one in questions
            ]
        )

    def _ask_scales(self, question: AskedQuestion) -> None:
        self._show_whole("replay", ("Conversation",), context=True)
        step = asking.scales_step(self.config, self.step_id("rate"), question.text)
        values = self.page.ask_ratings(step).values
        now = time.time()
        self.store([GivenAnswer(question_id="rate", ratings=values, seconds=now - self.page.shown_at, at=now)])

    def step_id(self, what: str) -> str:
        """Unique among the steps of a unit."""
        return f"{what}-{self.item.number}"

    def store(self, answers: list[GivenAnswer]) -> None:
        """Write answers down, now."""
        self.page.state.append(Judged(at=time.time(), answers=answers))

    def fail(self, reason: str) -> None:
        """Write down that the item could not go on through no fault of the rater."""
        self.page.state.append(Failed(at=time.time(), reason=reason))
