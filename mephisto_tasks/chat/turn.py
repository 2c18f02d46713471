"""One turn of a conversation: its steps (openings, messages, ratings, ways to end it), and the wait for the replies.

Replies do not appear as soon as a model has one, by which a fast model would be known, but by a rule for all. All replies of
a turn appear together. The rule knows what is said, and never who says it or how long that took. A reply that comes later
than the rule says is shown when it is there: only ``fixed``, with more seconds than the slowest model needs, hides every
difference in speed.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mephisto_tasks.chat.config import InteractiveConfig
from mephisto_tasks.chat.plans import Plan
from mephisto_tasks.session.answers import MAX_TOPIC_CHARS
from mephisto_tasks.session.page import PageSession
from mephisto_tasks.session.steps import choose_step, tick_step
from parlai_humaneval.display.settings import ReplySettings
from parlai_humaneval.i18n.translate import phrase, t, tn
from parlai_humaneval.models.bot_speaker.bot_speaker import BotSpeakerAgent, standing_for
from parlai_humaneval.schema.events import Answered, Delayed, NoneChosen
from parlai_humaneval.schema.records import Candidate
from parlai_humaneval.schema.steps import Action, Card, Option, TopicStep, WriteStep
from parlai_humaneval.techniques.questions import VERDICTS

OPINIONS = {
    "liked": phrase("I like it"),
    "ambivalent": phrase("I have no strong feelings about it"),
    "disliked": phrase("I dislike it"),
}
"""Ji et al. 2022, §4: liked, ambivalent about it, or disliked."""
END_ACTION, TOPIC_ACTION = "end", "topic"


def write_step(config: InteractiveConfig, step_id: str, cards: list[Card]) -> WriteStep:
    """Write what the partner should have said (Liu et al. 2023, SATA-User)."""
    return WriteStep(
        step_id=step_id,
        label=t("None of the responses fits. Please write a better one: what should your partner have said?"),
        cards=cards,
        min_words=config.min_written_words,
        max_chars=config.max_message_chars,
    )


def verdict_actions(config: InteractiveConfig) -> list[Action]:
    """Buttons beside the message field that say, at any turn, which of two partners is better."""
    return [
        Action(
            action_id=verdict,
            label=label,
            group=config.question,
            hint=t("Your answer ends the conversation."),
            confirm=t("“{verdict}” ends the conversation. Is that your answer?", verdict=t(label)),
        )
        for verdict, label in VERDICTS.items()
    ]


def end_action(config: InteractiveConfig, complete_turns: int) -> Action:
    """End the conversation; from ``turns`` complete turns on."""
    missing = config.turns - complete_turns
    hint = tn(
        "You can end the conversation after one more message.",
        "You can end the conversation after {n} more messages.",
        missing,
    )
    return Action(
        action_id=END_ACTION,
        label=t("End the conversation"),
        enabled=missing <= 0,
        hint=None if missing <= 0 else hint,
        confirm=t("Do you want to end this conversation now?"),
    )


def topic_action() -> Action:
    """Note that the talk has come to something else (Ji et al. 2022, Fig. 5)."""
    return Action(action_id=TOPIC_ACTION, label=t("Topic"), text_label=t("What are you talking about now?"))


def topic_step(config: InteractiveConfig) -> TopicStep:
    """What to talk about, named before the conversation (Ji et al. 2022, §4)."""
    opinions = [Option(option_id=name, label=label) for name, label in OPINIONS.items()] if config.ask_opinion else []
    return TopicStep(
        step_id="topic",
        label=t("What would you like to talk about? Name a topic of your choice."),
        opinion_label=t("What do you think of this topic?"),
        opinions=opinions,
        max_chars=MAX_TOPIC_CHARS,
    )


@dataclass
class TurnRating:
    """Asks about the candidates of a turn, writes the answer down, and has the conversation go on with it.

    Args:
        config: settings as they hold for this dialogue.
        plan: the dialogue; its seed decides what a random continuation is.
        page: the rater's page.
        speaker: hears what continues.
    """

    config: InteractiveConfig
    plan: Plan
    page: PageSession
    speaker: BotSpeakerAgent

    def rate(self, turn: int, candidates: Sequence[Candidate]) -> None:
        """One turn, up to the line that continues; what was answered in an earlier visit is not asked again."""
        shown = [c for c in candidates if not c.failed and c.same_as is None]
        none_chosen = self.page.recorded.take(NoneChosen)
        answer = self.page.recorded.take(Answered)
        if answer is None:
            if none_chosen is not None:
                answer = self._written(none_chosen, _cards(shown))
            else:
                answer = self._answer(turn, shown, candidates)
            self.page.state.append(answer)
        self._go_on(answer, shown)

    def _answer(self, turn: int, shown: Sequence[Candidate], candidates: Sequence[Candidate]) -> Answered:
        if self.config.verdict:
            # Every partner goes on with its own reply; what they are like is asked for at the end.
            return Answered(at=time.time(), turn=turn, continued_each=True)
        if self.config.turn_question == "tick":
            return self._tick(turn, shown[0])
        if self.config.turn_question == "none":
            return Answered(at=time.time(), turn=turn, continued=shown[0].candidate_id)
        if len(shown) == 1 and self.config.min_choices > 0:
            # Every model said the same, and one must be chosen: there is nothing to ask, and all of them are credited.
            everybody, only = standing_for(candidates, shown[0].candidate_id), shown[0].candidate_id
            return Answered(at=time.time(), turn=turn, selected=everybody, continued=only, automatic=True)
        return self._choose(turn, shown, candidates)

    def _tick(self, turn: int, reply: Candidate) -> Answered:
        card = Card(candidate_id=reply.candidate_id, text=reply.text)
        answer = self.page.ask_ticks(tick_step(self.config, f"rate-{turn}", card))
        now = time.time()
        return Answered(
            at=now,
            turn=turn,
            none_said=answer.none,
            ticks=answer.selected,
            continued=reply.candidate_id,
            seconds=now - self.page.shown_at,
        )

    def _choose(self, turn: int, shown: Sequence[Candidate], candidates: Sequence[Candidate]) -> Answered:
        cards = _cards(shown)
        answer = self.page.ask_choice(choose_step(self.config, f"choose-{turn}", cards))
        now = time.time()
        seconds, reason = now - self.page.shown_at, answer.reason if self.config.reason_required else None
        if not answer.selected and self.config.fallback == "write":
            none_chosen = NoneChosen(at=now, turn=turn, reason=reason, seconds=seconds)
            self.page.state.append(none_chosen)
            return self._written(none_chosen, cards)
        # Both or several picked: a random one of the picked continues; none: a random candidate (Liu et al. 2023).
        chance = random.Random(f"continue:{self.plan.seed}:{turn}")
        continued = chance.choice(answer.selected or [card.candidate_id for card in cards])
        credited = [name for chosen in answer.selected for name in standing_for(candidates, chosen)]
        return Answered(
            at=now,
            turn=turn,
            selected=credited,
            none_said=answer.none,
            continued=continued,
            reason=reason,
            seconds=seconds,
        )

    def _written(self, none_chosen: NoneChosen, cards: list[Card]) -> Answered:
        turn = none_chosen.turn
        written = self.page.ask_written(write_step(self.config, f"write-{turn}", cards)).text.strip()
        now = time.time()
        return Answered(
            at=now,
            turn=turn,
            none_said=True,
            written=written,
            reason=none_chosen.reason,
            seconds=none_chosen.seconds + now - self.page.shown_at,
        )

    def _go_on(self, answer: Answered, shown: Sequence[Candidate]) -> None:
        if answer.continued_each:
            self.speaker.accept_all()
            for candidate in sorted(shown, key=lambda candidate: candidate.position):
                self.page.say("partner", candidate.text, entry_id=candidate.candidate_id, column=candidate.position - 1)
        elif answer.written is not None:
            self.speaker.accept(text=answer.written)
            self.page.say("partner", answer.written)
        else:
            assert answer.continued is not None
            self.speaker.accept(answer.continued)
            line = next(c for c in shown if c.candidate_id == answer.continued)
            self.page.say("partner", line.text, entry_id=line.candidate_id)


def _cards(shown: Sequence[Candidate]) -> list[Card]:
    in_order = sorted(shown, key=lambda candidate: candidate.position)
    return [Card(candidate_id=candidate.candidate_id, text=candidate.text) for candidate in in_order]


PARTNER_TYPING = phrase("Your partner is typing…")
PARTNERS_TYPING = phrase("Your partners are typing…")
TYPING = (PARTNER_TYPING, PARTNERS_TYPING)
PARTNER_AWAY = phrase("Your partner is not there just now. The reply may take some minutes. Please stay on this page.")
PARTNERS_AWAY = phrase(
    "Your partners are not all there just now. The replies may take some minutes. Please stay on this page."
)
INTERRUPTED = phrase(
    "One moment, please: the connection to your partner was interrupted. The conversation goes on by itself as "
    "soon as it is back, and nothing you wrote is lost. Please stay on this page."
)
PARTNER_SLOW = phrase("Your partner needs a little longer than usual. Please stay on this page.")
WORDS_PER_S = 4.0
"""Several times as fast as people type: the wait is to hide the models' speed, not to cost raters their time."""
THINKING_S = 1.0
"""Before the first word."""
JITTER = 0.2
"""The part by which a natural wait varies, up or down."""


class Waiting:
    """The waits of one conversation: nobody is said to be typing who is not there. Thread-safe.

    Args:
        page: the rater's.
        speaker: may be people, who come and go.
    """

    def __init__(self, page: PageSession, speaker: BotSpeakerAgent) -> None:
        self._page = page
        self._speaker = speaker
        self._turn = 0
        self._open = False
        self._said = PARTNER_TYPING
        self._held = False
        self._lock = threading.Lock()

    def begin(self, turn: int) -> None:
        """The rater has said something, and waits from now on."""
        with self._lock:
            self._turn, self._open = turn, True
            self._hold(False)
            self._say()

    def look(self) -> None:
        """Called again and again, until :meth:`end`: a partner may have come or gone, and so may a server, or the rater."""
        with self._lock:
            self._hold(not self._page.is_here())
            if self._now() != self._said:
                self._say()

    def delayed(self, reason: str) -> None:
        """A model is asked again, or its server is out; one that hangs may say so when the wait has long ended."""
        with self._lock:
            if not self._open:
                return
            self._page.state.note(Delayed(at=time.time(), turn=self._turn, reason=reason))
            if self._now() != self._said:
                self._say()
            elif self._said in TYPING:
                self._page.wait(PARTNER_SLOW, slow=True)

    def end(self) -> None:
        """The replies are there, or never will be."""
        with self._lock:
            self._open = False

    # -- with the lock held

    def _now(self) -> str:
        several = bool(self._page.columns)
        if self._speaker.interrupted():
            return INTERRUPTED
        if self._speaker.absent():
            return PARTNERS_AWAY if several else PARTNER_AWAY
        return TYPING[several]

    def _say(self) -> None:
        self._said = self._now()
        self._page.wait(self._said, idle=self._said not in TYPING)

    def _hold(self, away: bool) -> None:
        if away != self._held:
            self._held = away
            self._speaker.hold(away)


def typing_seconds(settings: ReplySettings, texts: Iterable[str], chance: str) -> float:
    """Seconds from the rater's message to the replies ``texts``, which appear together; 0: at once.

    ``natural`` goes by the longest of them: the time to think and to type its words, a little more or less by the seed
    ``chance``, and never more than ``typing_seconds``.
    """
    if settings.typing == "none":
        return 0.0
    if settings.typing == "fixed":
        return settings.typing_seconds
    words = max((len(text.split()) for text in texts), default=0)
    varied = 1 + random.Random(f"typing:{chance}").uniform(-JITTER, JITTER)
    return min(settings.typing_seconds, (THINKING_S + words / WORDS_PER_S) * varied)
