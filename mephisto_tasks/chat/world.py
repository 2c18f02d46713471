"""One rated dialogue: a person writes, models answer, the person rates (Smith et al. 2022, §3.1; Liu et al. 2023,
“Evaluation Mechanisms”; Ma et al. 2023, §3; Ji et al. 2022, §3 and §4). Settings hold the differences."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, cast

from mephisto_tasks.chat import turn as asking
from mephisto_tasks.chat.config import InteractiveConfig
from mephisto_tasks.chat.plans import DialoguePlan, UnitPlan
from mephisto_tasks.chat.turn import TurnRating, Waiting, typing_seconds
from mephisto_tasks.session.page import POLL_S, PageSession
from mephisto_tasks.session.steps import SIDES, criterion_records, final_question, rate_step, verdict_step
from parlai_humaneval.display.images import IMAGES_FIELD, MOST_IMAGES
from parlai_humaneval.i18n.translate import t
from parlai_humaneval.models.bot_speaker.bot_speaker import BotSpeakerAgent
from parlai_humaneval.models.bot_speaker.growth import Growth
from parlai_humaneval.schema import events as log
from parlai_humaneval.schema import steps
from parlai_humaneval.schema.records import SCHEMA_VERSION, Candidate, ImageRecord, ModelRecord
from parlai_humaneval.techniques.questions import VERDICTS

SUGGESTIONS = 12  # topics offered behind the button, a random part of the file

Verdict = Literal["a", "b", "tie", "both_bad"]


@dataclass(eq=False)
class ConversationWorld:
    """Runs one plan with one rater, writing down each event; what is on record is not asked again. :meth:`run` raises
    what the page raises when the rater leaves, and ModelFailed."""

    config: InteractiveConfig  # settings as they hold for this dialogue
    unit: UnitPlan  # the rater's unit of work, which may hold several conversations
    plan: DialoguePlan  # what to rate, in which context
    page: PageSession
    open_speaker: Callable[[], BotSpeakerAgent]  # makes the models of the plan one partner, when the dialogue has begun
    models: list[ModelRecord] = field(kw_only=True)  # what the record says of these models
    shown: dict[str, str] = field(kw_only=True)  # receives the model behind each reply on the page
    topics: Sequence[str] = field(default=(), kw_only=True)  # openings that the page offers; empty where it offers none
    study_seed: int = field(kw_only=True)  # of the launch, for the record

    def __post_init__(self) -> None:
        self.rated_turns = 0
        self.after_turn: Callable[[], None] = lambda: None  # is called when another turn is rated
        self._recorded = self.page.recorded
        self._heard_at = 0.0
        self._waits_in = 0
        self._on_page: list[str] = []
        self._suggestions: list[str] = []

    @property
    def name(self) -> str:
        return f"dialogue {self.plan.dialogue_id}"

    def run(self) -> None:
        """The whole dialogue, up to and including the last rating. Ends with ``finished``."""
        self.page.clear()
        self._recorded.open(self.plan.dialogue_id)
        if self._recorded.take(log.Started) is None:
            self._start()
        speaker = self.open_speaker()
        rating = TurnRating(self.config, self.plan, self.page, speaker)
        self._waiting = Waiting(self.config, self.page, speaker)
        try:
            context = self.plan.context
            self._count(1)
            if self.config.verdict:
                self.page.columns = SIDES
            if context.persona:
                self.page.context = steps.Context(title=t("Your character"), lines=context.persona)
            self.page.topic = context.topic
            if self.config.topic == "free":
                chosen = self._recorded.take(log.TopicChosen)
                if chosen is None:
                    answer = self.page.ask(steps.TopicAnswer, asking.topic_step(self.config))
                    chosen = log.TopicChosen(at=time.time(), text=answer.text.strip(), opinion=answer.opinion or None)
                    self.page.state.append(chosen)
                self.page.topic = chosen.text
            if self.config.offer_topics:
                chance = random.Random(f"topics:{self.plan.seed}")
                drawn = chance.sample(self.topics, min(SUGGESTIONS, len(self.topics)))
                self._suggestions = [t(topic) for topic in drawn]
            given = self._open(speaker)
            verdict, by_rater = self._converse(speaker, rating, given)
            config = self.config
            self.page.within = None  # no turn any more
            if config.verdict and self._recorded.take(log.VerdictGiven) is None:
                if verdict is None:
                    ticked = self.page.ask(steps.TickAnswer, verdict_step(config, "verdict"))
                    verdict = cast("Verdict", ticked.selected[0])
                better = None
                if verdict in ("a", "b"):  # the model that speaks in a column is the same in all turns
                    column = SIDES.index(verdict.upper())
                    ids = [entry.entry_id for entry in self.page.transcript if entry.column == column]
                    better = next((model for model in map(self.shown.get, ids) if model is not None), None)
                given_at, turn = time.time(), self.rated_turns
                self.page.state.append(log.VerdictGiven(at=given_at, turn=turn, verdict=verdict, model=better))
            if config.final_criteria and self._recorded.take(log.FinalRated) is None:
                step = rate_step(config, "final", config.scales(), final_question(config))
                values = self.page.ask(steps.RateAnswer, step).values
                now = time.time()
                self.page.state.append(log.FinalRated(at=now, ratings=values, seconds=now - self.page.shown_at))
            self._recorded.must_be_over()
            self.page.state.append(log.Finished(at=time.time(), by_rater=by_rater))
        finally:
            speaker.leave()
            for candidate_id in self._on_page:
                self.shown.pop(candidate_id, None)

    def _start(self) -> None:
        config, plan = self.config, self.plan
        self.page.state.append(
            log.Started(
                at=time.time(),
                simulated=self.page.simulated,
                language=self.page.language.tag,
                schema_version=SCHEMA_VERSION,
                dialogue_id=plan.dialogue_id,
                technique=config.technique,
                setting=plan.cell.setting,
                settings={**config.model_dump(mode="json"), "study_seed": self.study_seed},
                metric=config.metric,
                question=config.question,
                models=self.models,
                context=plan.context,
                seed=plan.seed,
                session=self.unit.session,
                conversation=plan.conversation,
                conversations=self.unit.conversations,
                quality_control_model=config.quality_control_model,
                turn_criteria=criterion_records("tick", config.ticks()),
                criteria=criterion_records(config.final_scale, config.scales()),
            )
        )

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
                columns: list[int | None] = list(range(len(self.page.columns))) or [None]
                for column in columns:
                    self.page.say("partner", line.text, column=column)
        return given

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
        turns = steps.Progress(
            unit="turn",
            current=turn,
            total=None if config.rater_ends else config.turns,
            minimum=config.turns if config.rater_ends and not config.verdict else None,
        )
        if self.unit.conversations == 1:
            self.page.progress = turns
            return
        self.page.progress = steps.Progress(
            unit="conversation", current=self.plan.conversation, total=self.unit.conversations
        )
        self.page.within = turns

    def _human_message(self, speaker: BotSpeakerAgent, turn: int, given: str | None) -> str | None:
        """The rater's next message, heard by the models; or the id of the action that ended the conversation."""
        while (change := self._recorded.take(log.TopicChanged)) is not None:
            self.page.topic = change.text
        if self._recorded.take(log.EndChosen) is not None:
            return asking.END_ACTION
        if (verdict := self._recorded.next(log.VerdictGiven)) is not None:
            return verdict.verdict
        said = self._recorded.take(log.HumanMessage)
        if said is not None:
            self.page.say("you", said.text, images=said.images)
        else:
            text, images = given, list[ImageRecord]()
            if text is None:
                answer = self.page.ask_message(self._message_step(turn))
                while isinstance(answer, steps.ActionAnswer):
                    if answer.action_id == asking.END_ACTION:
                        self.page.state.append(log.EndChosen(at=time.time(), turn=turn))
                    if answer.action_id != asking.TOPIC_ACTION:
                        return answer.action_id
                    self.page.topic = answer.text.strip()
                    self.page.state.append(log.TopicChanged(at=time.time(), turn=turn, text=self.page.topic))
                    answer = self.page.ask_message(self._message_step(turn))
                text, images = answer.text, self._kept(answer.images)
            suggested = given is None and text.strip() in self._suggestions
            said = log.HumanMessage(
                at=time.time(), turn=turn, text=text, fixed=given is not None, suggested=suggested, images=images
            )
            self.page.state.append(said)
            self.page.say("you", text, images=images)
            self._wait_for_replies(turn)
        heard: dict[str, Any] = {"id": "Human Speaker", "text": said.text.strip(), "episode_done": False}
        if said.images and self.page.images is not None:
            heard[IMAGES_FIELD] = self.page.images.seen(said.images)
        speaker.observe(heard)
        return None

    def _kept(self, sent: Sequence[steps.SentImage]) -> list[ImageRecord]:
        """The pictures of a message in files, however long that takes, before it is written down."""
        store = self.page.images
        if not sent or store is None:
            return []
        kept = [self.page.patiently(partial(store.keep, image.digest, image.alt.strip())) for image in sent]
        return [image for image in kept if image is not None]

    def _wait_for_replies(self, turn: int) -> None:
        self._waiting.begin(turn)
        self._heard_at, self._waits_in = time.monotonic(), turn

    def _message_step(self, turn: int) -> steps.MessageStep:
        actions = [asking.topic_action()] if self.config.topic_changes else []
        if self.config.verdict and self.rated_turns >= self.config.turns:
            actions += asking.verdict_actions(self.config)
        elif self.config.rater_ends and not self.config.verdict:
            actions.append(asking.end_action(self.config, self.rated_turns))
        return steps.MessageStep(
            step_id=f"message-{turn}",
            label=t("Write your next message") if self.page.transcript else t("Write your first message"),
            min_words=self.config.min_message_words,
            max_chars=self.config.max_message_chars,
            suggestions=self._suggestions,
            actions=actions,
            max_images=MOST_IMAGES if self.config.images in ("people", "both") else 0,
        )

    def _candidates(self, speaker: BotSpeakerAgent, turn: int) -> list[Candidate]:
        shown = self._recorded.take(log.CandidatesShown)
        if shown is None:
            candidates = self._asked_for(speaker, turn)
            shown = log.CandidatesShown(at=time.time(), turn=turn, candidates=candidates)
            self.page.state.append(shown)
        else:
            speaker.recall(shown.candidates)
        self._on_page += [candidate.candidate_id for candidate in shown.candidates]
        self.shown.update((candidate.candidate_id, candidate.model) for candidate in shown.candidates)
        return shown.candidates

    def _asked_for(self, speaker: BotSpeakerAgent, turn: int) -> list[Candidate]:
        self._recorded.must_be_over()
        if self._waits_in != turn:  # the message was taken in an earlier visit
            self._wait_for_replies(turn)
        waiting = self._waiting
        growth = speaker.growth() if self.config.replies.streaming else None
        every_s = POLL_S
        if growth is not None:
            waiting.follow(growth)
            every_s = asking.GROWTH_LOOK_S
        try:
            message = self.page.while_open(
                lambda: speaker.act(on_delay=waiting.delayed, growth=growth), waiting.look, every_s
            )
            if growth is not None:
                self._show_rest(growth)
        finally:
            waiting.end()
        candidates = [Candidate.model_validate(candidate) for candidate in message["candidates"]]
        if growth is not None:
            for candidate in candidates:
                candidate.replaced = candidate.candidate_id in growth.replaced
        # The time that typing takes, counted from the rater's message; of the models' own time it is the rest.
        seconds = typing_seconds(self.config.replies, message["text_candidates"], f"{self.plan.seed}:{turn}")
        left = self._heard_at + seconds - time.monotonic()
        if left > 0:
            over = threading.Event()
            try:
                self.page.while_open(lambda: over.wait(left))
            finally:
                over.set()
        return candidates

    def _show_rest(self, growth: Growth) -> None:
        """All replies are there: whatever of them is not shown yet comes word by word."""
        over = threading.Event()

        def look() -> None:
            self._waiting.look()
            if growth.is_over:
                over.set()

        try:
            self.page.while_open(over.wait, look, asking.GROWTH_LOOK_S)
        finally:
            over.set()
