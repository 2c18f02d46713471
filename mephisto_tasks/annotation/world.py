"""Judging one item: it is shown, asked about, and its judgement is written down as it happens."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mephisto_tasks.annotation import steps as asking
from mephisto_tasks.annotation.config import StaticConfig
from mephisto_tasks.annotation.display import panel, speakers_of
from mephisto_tasks.annotation.items import ItemToJudge
from mephisto_tasks.annotation.replay import Replay
from mephisto_tasks.annotation.steps import ItemPage
from mephisto_tasks.session.display import ShownModels
from mephisto_tasks.session.page import PageSession
from parlai_humaneval.i18n.translate import t
from parlai_humaneval.schema.events import Finished, JudgingStarted
from parlai_humaneval.schema.records import SCHEMA_VERSION, AskedQuestion


class JudgingWorld:
    """Runs one item with one rater.

    Args:
        config: the study's settings.
        item: what is judged.
        page: the rater's page.
        shown: is told who said each line on the page.
        settings: as they stand with every judgement.

    What stands on record of it, because an earlier visit was cut off, is shown as it was, and not asked again.

    :meth:`run` raises what the page raises when the rater leaves; what was answered up to there is stored.
    """

    def __init__(
        self, config: StaticConfig, item: ItemToJudge, page: PageSession, shown: ShownModels, settings: dict[str, Any]
    ) -> None:
        page.recorded.open(item.judgement_id)
        self._begun = page.recorded.take(JudgingStarted)
        if self._begun is not None:
            item = replace(item, dialogues=self._begun.dialogues, expected=self._begun.expected)
        self.config = config
        self.item = item
        self.page = page
        self._item_page = ItemPage(item, page, shown)
        self._settings = settings

    @property
    def name(self) -> str:
        """The item is called so in logs."""
        return f"judgement {self.item.judgement_id}"

    def run(self) -> None:
        """The item to its last answer. Ends with ``finished``."""
        replay = (
            Replay(self.config, self.item.dialogues, self.item.turn) if self.config.show in ("replay", "turn") else None
        )
        questions = asking.asked(self.config) if replay is None else replay.questions()
        self.page.clear()
        if self._begun is None:
            self._start(questions)
        try:
            match self.config.show:
                case "pair" | "segment":
                    self._ask_form(questions)
                case "whole":
                    self._ask_scales(questions[0])
                case "replay" | "turn":
                    assert replay is not None
                    replay.run(self._item_page)
            self.page.recorded.must_be_over()
            self.page.state.append(Finished(at=time.time()))
        finally:
            self._item_page.forget()

    def _start(self, questions: Sequence[AskedQuestion]) -> None:
        item = self.item
        self.page.state.append(
            JudgingStarted(
                at=time.time(),
                simulated=self.page.simulated,
                language=self.page.language.tag,
                schema_version=SCHEMA_VERSION,
                judgement_id=item.judgement_id,
                item_id=item.item_id,
                technique=self.config.technique,
                setting=item.setting,
                settings=self._settings,
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

    def _show_whole(self, how: Any, titles: Sequence[str], *, context: bool = False) -> None:
        panels = [
            panel(shown, how, title=title, context=context)
            for shown, title in zip(self.item.dialogues, titles, strict=True)
        ]
        self._item_page.show_panels(
            panels,
            [
                speakers_of(on_page, shown.lines, shown)
                for on_page, shown in zip(panels, self.item.dialogues, strict=True)
            ],
        )

    def _ask_form(self, questions: list[AskedQuestion]) -> None:
        if self._item_page.is_answered():
            return
        pair = self.config.show == "pair"
        titles = (t("Conversation 1"), t("Conversation 2")) if pair else (t("Conversation"),)
        self._show_whole("pair" if pair else "segment", titles)
        answer = self.page.ask_form(asking.form_step(self.config, self._item_page.step_id("form"), questions))
        names = [question.question_id for question in questions]
        self._item_page.store(
            *(
                {"question_id": name, "option": answer.values[name], "reason": answer.reasons.get(name) or None}
                for name in names
            )
        )

    def _ask_scales(self, question: AskedQuestion) -> None:
        if self._item_page.is_answered():
            return
        self._show_whole("replay", (t("Conversation"),), context=True)
        step = asking.scales_step(self.config, self._item_page.step_id("rate"), question.text)
        self._item_page.store({"question_id": "rate", "ratings": self.page.ask_ratings(step).values})
