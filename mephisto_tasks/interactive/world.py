"""One rated dialogue: a person writes, models answer, the person chooses, and so on.

Source of the procedure: Smith et al. 2022, §3.1.1 (setting) and §3.1.2 (PW-Turn).
"""

from __future__ import annotations

import threading
import time
from typing import Any

from mephisto_tasks.interactive.page_session import PageSession
from mephisto_tasks.interactive.study import Plan, Study
from parlai_humaneval.protocol.events import (
    Answered,
    CandidatesShown,
    Delayed,
    Failed,
    FeedbackGiven,
    Finished,
    HumanMessage,
    Started,
)
from parlai_humaneval.protocol.records import SCHEMA_VERSION, Candidate
from parlai_humaneval.protocol.steps import (
    Card,
    ChooseStep,
    Context,
    FeedbackStep,
    MessageStep,
    Notice,
    Progress,
    ReasonField,
)

PARTNER_TYPING = "Your partner is typing…"
PARTNER_SLOW = "Your partner needs a little longer than usual. Please stay on this page."


class ConversationWorld:
    """Runs one plan with one rater, writing down each event when it happens.

    Args:
        study: the launch that it belongs to.
        plan: what to compare, in which context.
        page: the rater's page.
        greeting: said above the first question.

    :meth:`run` raises what the page raises when the rater leaves, and
    :class:`~parlai_humaneval.models.pool.ModelFailed` when the models cannot answer; the events up to there are stored.
    """

    def __init__(self, study: Study, plan: Plan, page: PageSession, greeting: Notice | None = None) -> None:
        self.study = study
        self.config = study.config
        self.plan = plan
        self.page = page
        self._greeting = greeting
        self.rated_turns = 0
        self.finished = False
        self._shown: list[str] = []

    def run(self) -> None:
        """The whole dialogue, up to and including the last rating. Ends with ``finished``."""
        self._start()
        speaker = self.study.speaker(self.plan)
        try:
            for turn in range(1, self.config.turns + 1):
                self.page.progress = Progress(unit="turn", current=turn, total=self.config.turns)
                self._human_message(speaker, turn)
                self._rate(speaker, turn, self._candidates(speaker, turn))
            self.page.state.append(Finished(at=time.time()))
            self.finished = True
        finally:
            self.study.forget_candidates(self._shown)

    def _start(self) -> None:
        config, plan = self.config, self.plan
        self.page.state.append(
            Started(
                at=time.time(),
                schema_version=SCHEMA_VERSION,
                dialogue_id=plan.dialogue_id,
                technique=config.technique,
                setting=config.setting,
                settings={**config.model_dump(mode="json"), "study_seed": self.study.seed},
                metric=config.metric,
                question=config.question,
                models=self.study.model_records(plan.cell),
                context=plan.context,
                seed=plan.seed,
            )
        )
        if plan.context.persona:
            self.page.context = Context(title="Your character", lines=plan.context.persona)

    def _human_message(self, speaker: Any, turn: int) -> None:
        fixed = turn == 1 and bool(self.config.first_message)
        if fixed:
            text = self.config.first_message
        else:
            step = MessageStep(
                step_id=f"message-{turn}",
                label="Write your next message",
                min_words=self.config.min_message_words,
                max_chars=self.config.max_message_chars,
            )
            text = self.page.ask_message(step).text
        self.page.state.append(HumanMessage(at=time.time(), turn=turn, text=text, fixed=fixed))
        self.page.say("you", text)
        self.page.wait(PARTNER_TYPING)
        speaker.observe({"id": "Human Speaker", "text": text.strip(), "episode_done": False})

    def _candidates(self, speaker: Any, turn: int) -> list[Candidate]:
        waiting = threading.Event()
        waiting.set()

        def on_delay(reason: str) -> None:
            if waiting.is_set():  # a model that hangs may report when this dialogue has long ended
                self.page.state.append(Delayed(at=time.time(), turn=turn, reason=reason))
                self.page.wait(PARTNER_SLOW, slow=True)

        try:
            message = self.page.while_open(lambda: speaker.act(on_delay=on_delay))
        finally:
            waiting.clear()
        candidates = [Candidate.model_validate(candidate) for candidate in message["candidates"]]
        self._shown += [candidate.candidate_id for candidate in candidates]
        self.study.note_candidates((candidate.candidate_id, candidate.model) for candidate in candidates)
        self.page.state.append(CandidatesShown(at=time.time(), turn=turn, candidates=candidates))
        return candidates

    def _rate(self, speaker: Any, turn: int, candidates: list[Candidate]) -> None:
        answer = self.page.ask_choice(self._choose_step(turn, candidates), self._greeting)
        self._greeting = None
        now = time.time()
        continued = answer.selected[0]
        self.page.state.append(
            Answered(
                at=now,
                turn=turn,
                selected=answer.selected,
                continued=continued,
                reason=answer.reason if self.config.reason_required else None,
                seconds=now - self.page.shown_at,
            )
        )
        self.rated_turns += 1
        speaker.accept(continued)
        self.page.say("partner", next(c.text for c in candidates if c.candidate_id == continued))

    def _choose_step(self, turn: int, candidates: list[Candidate]) -> ChooseStep:
        reason = ReasonField(
            label="Why is this response better? Please say it in your own words.",
            required=True,
            min_words=self.config.min_reason_words,
        )
        return ChooseStep(
            step_id=f"choose-{turn}",
            question=self.config.question,
            cards=[Card(candidate_id=c.candidate_id, text=c.text) for c in candidates],
            min_choices=self.config.min_choices,
            max_choices=self.config.max_choices,
            reason=reason if self.config.reason_required else None,
        )

    def ask_feedback(self) -> None:
        """The comment box after the last turn; the dialogue is complete whatever happens here."""
        self.page.progress = None
        step = FeedbackStep(
            step_id="feedback",
            label="That was the conversation, thank you! Is there anything you would like to tell us? (optional)",
        )
        text = self.page.ask_feedback(step).text
        if text.strip():
            self.page.state.append(FeedbackGiven(at=time.time(), text=text))

    def fail(self, reason: str) -> None:
        """Write down that the dialogue could not go on through no fault of the rater."""
        self.page.state.append(Failed(at=time.time(), reason=reason))
