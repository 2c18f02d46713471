"""One rated dialogue: a person writes, models answer, the person rates, and so on.

Sources of the procedure: Smith et al. 2022, §3.1; Liu et al. 2023, “Evaluation Mechanisms”; Ma et al. 2023, §3;
Ji et al. 2022, §3 and §4. What differs between them is in the settings.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Literal, cast

from mephisto_tasks.chat import turn as asking
from mephisto_tasks.chat.config import InteractiveConfig
from mephisto_tasks.chat.plans import Plan, UnitPlan
from mephisto_tasks.chat.turn import TurnRating
from mephisto_tasks.chat.waiting import Waiting, typing_seconds
from mephisto_tasks.session.display import ShownModels
from mephisto_tasks.session.page import PageSession
from mephisto_tasks.session.steps import SIDES, final_question, rate_step, verdict_step
from parlai_humaneval.i18n.translate import t
from parlai_humaneval.models.bot_speaker.bot_speaker import BotSpeakerAgent
from parlai_humaneval.schema.events import (
    CandidatesShown,
    EndChosen,
    FinalRated,
    Finished,
    HumanMessage,
    Started,
    TopicChanged,
    TopicChosen,
    VerdictGiven,
)
from parlai_humaneval.schema.records import SCHEMA_VERSION, Candidate, ModelRecord
from parlai_humaneval.schema.steps import (
    Action,
    ActionAnswer,
    Context,
    MessageStep,
    Progress,
)
from parlai_humaneval.techniques.criteria import criterion_records
from parlai_humaneval.techniques.questions import VERDICTS

SUGGESTIONS = 12
"""Topics offered behind the button, a random part of the file."""

Verdict = Literal["a", "b", "tie", "both_bad"]


class ConversationWorld:
    """Runs one plan with one rater, writing down each event when it happens.

    Args:
        config: settings as they hold for this dialogue.
        unit: the rater's unit of work, which may hold several conversations.
        plan: what to rate, in which context.
        page: the rater's page.
        open_speaker: makes the models of the plan one partner, when the dialogue has begun.
        models: what the record says of these models.
        shown: is told which model is behind each reply on the page.
        topics: openings that the page offers; empty where it offers none.
        study_seed: of the launch, for the record.

    What stands on record of it, because an earlier visit was cut off, is not asked again: the dialogue goes on where it was.

    :meth:`run` raises what the page raises when the rater leaves, and
    :class:`~parlai_humaneval.models.model_pool.ModelFailed` when the models cannot answer; the events up to there are
    stored.
    """

    def __init__(
        self,
        config: InteractiveConfig,
        unit: UnitPlan,
        plan: Plan,
        page: PageSession,
        open_speaker: Callable[[], BotSpeakerAgent],
        *,
        models: list[ModelRecord],
        shown: ShownModels,
        topics: Sequence[str] = (),
        study_seed: int,
    ) -> None:
        self.config = config
        self.plan = plan
        self.page = page
        self.rated_turns = 0
        self.after_turn: Callable[[], None] = lambda: None
        """Is called when another turn is rated."""
        self.finished = False
        self._session = unit.session
        self._conversations = unit.conversations
        self._open_speaker = open_speaker
        self._models = models
        self._shown = shown
        self._topics = topics
        self._study_seed = study_seed
        self._recorded = page.recorded
        self._heard_at = 0.0
        self._waits_in = 0
        self._on_page: list[str] = []
        self._suggestions: list[str] = []

    @property
    def name(self) -> str:
        """The dialogue is called so in logs."""
        return f"dialogue {self.plan.dialogue_id}"

    def run(self) -> None:
        """The whole dialogue, up to and including the last rating. Ends with ``finished``."""
        self.page.clear()
        self._recorded.open(self.plan.dialogue_id)
        if self._recorded.take(Started) is None:
            self._start()
        speaker = self._open_speaker()
        rating = TurnRating(self.config, self.plan, self.page, speaker)
        self._waiting = Waiting(self.page, speaker)
        try:
            self._set_scene()
            given = self._open(speaker)
            verdict, by_rater = self._converse(speaker, rating, given)
            self._final(verdict)
            self._recorded.must_be_over()
            self.page.state.append(Finished(at=time.time(), by_rater=by_rater))
            self.finished = True
        finally:
            speaker.leave()
            self._shown.forget(self._on_page)

    def _start(self) -> None:
        config, plan = self.config, self.plan
        self.page.state.append(
            Started(
                at=time.time(),
                simulated=self.page.simulated,
                language=self.page.language.tag,
                schema_version=SCHEMA_VERSION,
                dialogue_id=plan.dialogue_id,
                technique=config.technique,
                setting=plan.cell.setting,
                settings={**config.model_dump(mode="json"), "study_seed": self._study_seed},
                metric=config.metric,
                question=config.question,
                models=self._models,
                context=plan.context,
                seed=plan.seed,
                session=self._session,
                conversation=plan.conversation,
                conversations=self._conversations,
                quality_control_model=config.quality_control_model,
                turn_criteria=criterion_records("tick", config.ticks()),
                criteria=criterion_records(config.final_scale, config.scales()),
            )
        )

    def _set_scene(self) -> None:
        """Who the rater is, what to talk about, and where two partners stand."""
        context = self.plan.context
        self._count(1)
        if self.config.verdict:
            self.page.columns = SIDES
        if context.persona:
            self.page.context = Context(title=t("Your character"), lines=context.persona)
        self.page.topic = context.topic
        if self.config.topic == "free":
            chosen = self._recorded.take(TopicChosen)
            if chosen is None:
                answer = self.page.ask_topic(asking.topic_step(self.config))
                chosen = TopicChosen(at=time.time(), text=answer.text.strip(), opinion=answer.opinion or None)
                self.page.state.append(chosen)
            self.page.topic = chosen.text
        if self.config.offer_topics:
            chance = random.Random(f"topics:{self.plan.seed}")
            self._suggestions = [t(topic) for topic in chance.sample(self._topics, min(SUGGESTIONS, len(self._topics)))]

    def _open(self, speaker: BotSpeakerAgent) -> str | None:
        """Say the lines of the context; returns the rater's first message where it is given to them."""
        lines = list(self.plan.context.opening)
        if not lines:
            return t(self.config.first_message) or None
        given = lines.pop().text if lines[-1].speaker == "human" else None
        for line in lines:
            if line.speaker == "human":
                speaker.observe({"id": "Human Speaker", "text": line.text, "episode_done": False})
                self.page.say("you", line.text)
            else:
                speaker.accept(text=line.text)
                self._say_for_partner(line.text)
        return given

    def _say_for_partner(self, text: str) -> None:
        columns: list[int | None] = list(range(len(self.page.columns))) or [None]
        for column in columns:
            self.page.say("partner", text, column=column)

    def _converse(self, speaker: BotSpeakerAgent, rating: TurnRating, given: str | None) -> tuple[Verdict | None, bool]:
        """All turns. Returns the verdict, if it was given on the way, and whether the rater ended the conversation."""
        last = self.config.max_turns if self.config.rater_ends else self.config.turns
        for turn in range(1, last + 1):
            self._count(turn)
            action = self._human_message(speaker, turn, given if turn == 1 else None)
            if action is not None:
                verdict = cast("Verdict", action) if action in VERDICTS else None
                return verdict, True
            rating.rate(turn, self._candidates(speaker, turn))
            self.rated_turns += 1
            self.after_turn()
        return None, False

    def _count(self, turn: int) -> None:
        config = self.config
        turns = Progress(
            unit="turn",
            current=turn,
            total=None if config.rater_ends else config.turns,
            minimum=config.turns if config.rater_ends and not config.verdict else None,
        )
        if self._conversations == 1:
            self.page.progress = turns
            return
        self.page.progress = Progress(unit="conversation", current=self.plan.conversation, total=self._conversations)
        self.page.within = turns

    def _human_message(self, speaker: BotSpeakerAgent, turn: int, given: str | None) -> str | None:
        """The rater's next message, heard by the models; or the id of the action that ended the conversation."""
        while (change := self._recorded.take(TopicChanged)) is not None:
            self.page.topic = change.text
        if self._recorded.take(EndChosen) is not None:
            return asking.END_ACTION
        if (verdict := self._recorded.next(VerdictGiven)) is not None:
            return verdict.verdict
        said = self._recorded.take(HumanMessage)
        if said is not None:
            self.page.say("you", said.text)
        else:
            text = given
            if text is None:
                answer = self.page.ask_message(self._message_step(turn))
                while isinstance(answer, ActionAnswer):
                    if answer.action_id == asking.END_ACTION:
                        self.page.state.append(EndChosen(at=time.time(), turn=turn))
                    if answer.action_id != asking.TOPIC_ACTION:
                        return answer.action_id
                    self._note_topic(turn, answer.text.strip())
                    answer = self.page.ask_message(self._message_step(turn))
                text = answer.text
            suggested = given is None and text.strip() in self._suggestions
            said = HumanMessage(at=time.time(), turn=turn, text=text, fixed=given is not None, suggested=suggested)
            self.page.state.append(said)
            self.page.say("you", text)
            self._wait_for_replies(turn)
        speaker.observe({"id": "Human Speaker", "text": said.text.strip(), "episode_done": False})
        return None

    def _wait_for_replies(self, turn: int) -> None:
        self._waiting.begin(turn)
        self._heard_at, self._waits_in = time.monotonic(), turn

    def _message_step(self, turn: int) -> MessageStep:
        return MessageStep(
            step_id=f"message-{turn}",
            label=t("Write your next message") if self.page.transcript else t("Write your first message"),
            min_words=self.config.min_message_words,
            max_chars=self.config.max_message_chars,
            suggestions=self._suggestions,
            actions=self._actions(),
        )

    def _actions(self) -> list[Action]:
        actions: list[Action] = []
        if self.config.topic_changes:
            actions.append(asking.topic_action())
        if self.config.verdict and self.rated_turns >= self.config.turns:
            actions += asking.verdict_actions(self.config)
        elif self.config.rater_ends and not self.config.verdict:
            actions.append(asking.end_action(self.config, self.rated_turns))
        return actions

    def _note_topic(self, turn: int, text: str) -> None:
        self.page.state.append(TopicChanged(at=time.time(), turn=turn, text=text))
        self.page.topic = text

    def _candidates(self, speaker: BotSpeakerAgent, turn: int) -> list[Candidate]:
        shown = self._recorded.take(CandidatesShown)
        if shown is None:
            candidates = self._asked_for(speaker, turn)
            shown = CandidatesShown(at=time.time(), turn=turn, candidates=candidates)
            self.page.state.append(shown)
        else:
            speaker.recall(shown.candidates)
        self._on_page += [candidate.candidate_id for candidate in shown.candidates]
        self._shown.note((candidate.candidate_id, candidate.model) for candidate in shown.candidates)
        return shown.candidates

    def _asked_for(self, speaker: BotSpeakerAgent, turn: int) -> list[Candidate]:
        self._recorded.must_be_over()
        if self._waits_in != turn:  # the message was taken in an earlier visit
            self._wait_for_replies(turn)
        waiting = self._waiting
        try:
            message = self.page.while_open(lambda: speaker.act(on_delay=waiting.delayed), waiting.look)
        finally:
            waiting.end()
        candidates = [Candidate.model_validate(candidate) for candidate in message["candidates"]]
        self._let_type(message["text_candidates"], turn)
        return candidates

    def _let_type(self, texts: Sequence[str], turn: int) -> None:
        """The time that typing takes, counted from the rater's message; of the models' own time it is the rest."""
        seconds = typing_seconds(self.config.replies, texts, f"{self.plan.seed}:{turn}")
        left = self._heard_at + seconds - time.monotonic()
        if left > 0:
            over = threading.Event()
            try:
                self.page.while_open(lambda: over.wait(left))
            finally:
                over.set()

    def _final(self, verdict: Verdict | None) -> None:
        config = self.config
        self.page.within = None  # no turn any more
        if config.verdict:
            self._give_verdict(verdict)
        if config.final_criteria and self._recorded.take(FinalRated) is None:
            step = rate_step(config, "final", config.scales(), final_question(config))
            values = self.page.ask_ratings(step).values
            now = time.time()
            self.page.state.append(FinalRated(at=now, ratings=values, seconds=now - self.page.shown_at))

    def _give_verdict(self, verdict: Verdict | None) -> None:
        if self._recorded.take(VerdictGiven) is not None:
            return
        if verdict is None:
            answer = self.page.ask_ticks(verdict_step(self.config, "verdict"))
            verdict = cast("Verdict", answer.selected[0])
        better = self._model_at(SIDES.index(verdict.upper())) if verdict in ("a", "b") else None
        self.page.state.append(VerdictGiven(at=time.time(), turn=self.rated_turns, verdict=verdict, model=better))

    def _model_at(self, column: int) -> str | None:
        """The model that spoke in a column; its place is the same in all turns."""
        ids = [entry.entry_id for entry in self.page.transcript if entry.column == column]
        return next((model for model in map(self._shown.model_of, ids) if model is not None), None)
