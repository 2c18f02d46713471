"""One turn of a conversation: its steps, and the wait for the replies. These appear together, by a rule that depends on
the replies but not on the models. Only ``fixed``, longer than the slowest model, hides every difference."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mephisto_tasks.chat.config import InteractiveConfig
from mephisto_tasks.chat.plans import DialoguePlan
from mephisto_tasks.session.answers import MAX_TOPIC_CHARS
from mephisto_tasks.session.page import PageSession
from mephisto_tasks.session.steps import choose_step, credited, tick_step
from parlai_humaneval.display import ReplySettings
from parlai_humaneval.display.images import pictures
from parlai_humaneval.i18n.translate import phrase, phrases, t, tn
from parlai_humaneval.models.bot_speaker.bot_speaker import BotSpeakerAgent
from parlai_humaneval.models.bot_speaker.growth import Growth
from parlai_humaneval.schema import steps
from parlai_humaneval.schema.events import Answered, Delayed, NoneChosen
from parlai_humaneval.schema.records import Candidate
from parlai_humaneval.techniques.questions import VERDICTS

OPINIONS = {
    "liked": phrase("I like it"),
    "ambivalent": phrase("I have no strong feelings about it"),
    "disliked": phrase("I dislike it"),
}
"""Ji et al. 2022, §4: liked, ambivalent about it, or disliked."""
END_ACTION, TOPIC_ACTION = "end", "topic"


def write_step(config: InteractiveConfig, step_id: str, cards: list[steps.Card]) -> steps.WriteStep:
    """Write what the partner should have said (Liu et al. 2023, SATA-User)."""
    return steps.WriteStep(
        step_id=step_id,
        label=t("None of the responses fits. Please write a better response: what should your partner have said?"),
        cards=cards,
        min_words=config.min_written_words,
        max_chars=config.max_message_chars,
    )


def verdict_actions(config: InteractiveConfig) -> list[steps.Action]:
    """Buttons next to the message field that say, at any turn, which of two partners is better."""
    return [
        steps.Action(
            action_id=verdict,
            label=label,
            group=config.question,
            hint=t("Your answer ends the conversation."),
            confirm=t("“{verdict}” ends the conversation. Is that your answer?", verdict=t(label)),
        )
        for verdict, label in VERDICTS.items()
    ]


def end_action(config: InteractiveConfig, complete_turns: int) -> steps.Action:
    missing = config.turns - complete_turns
    hint = tn(
        "You can end the conversation after one more message.",
        "You can end the conversation after {n} more messages.",
        missing,
    )
    return steps.Action(
        action_id=END_ACTION,
        label=t("End the conversation"),
        enabled=missing <= 0,
        hint=None if missing <= 0 else hint,
        confirm=t("Do you want to end this conversation now?"),
    )


def topic_action() -> steps.Action:
    """Note that the talk has come to something else (Ji et al. 2022, Fig. 5)."""
    return steps.Action(
        action_id=TOPIC_ACTION, label=t("Change the topic"), text_label=t("What are you talking about now?")
    )


def topic_step(config: InteractiveConfig) -> steps.TopicStep:
    """Ask for a topic before the conversation (Ji et al. 2022, §4)."""
    opinions = (
        [steps.Option(option_id=name, label=label) for name, label in OPINIONS.items()] if config.ask_opinion else []
    )
    return steps.TopicStep(
        step_id="topic",
        label=t("What would you like to talk about? Name a topic of your choice."),
        opinion_label=t("What do you think of this topic?"),
        opinions=opinions,
        max_chars=MAX_TOPIC_CHARS,
    )


@dataclass
class TurnRating:
    """Asks about the candidates of a turn, writes the answer down, and has the conversation go on with it."""

    config: InteractiveConfig  # settings as they hold for this dialogue
    plan: DialoguePlan  # the dialogue; its seed decides what a random continuation is
    page: PageSession
    speaker: BotSpeakerAgent  # hears what continues

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
            reply = shown[0]
            ticked = self.page.ask(steps.TickAnswer, tick_step(self.config, f"rate-{turn}", _cards(shown)[0]))
            now = time.time()
            return Answered(
                at=now,
                turn=turn,
                none_said=ticked.none,
                ticks=ticked.selected,
                continued=reply.candidate_id,
                seconds=now - self.page.shown_at,
            )
        if self.config.turn_question == "none":
            return Answered(at=time.time(), turn=turn, continued=shown[0].candidate_id)
        if len(shown) == 1 and self.config.min_choices > 0:
            # Every model said the same, and one must be chosen: there is nothing to ask, and all of them are credited.
            only = shown[0].candidate_id
            everybody = credited(candidates, [only])
            return Answered(at=time.time(), turn=turn, selected=everybody, continued=only, automatic=True)
        return self._choose(turn, shown, candidates)

    def _choose(self, turn: int, shown: Sequence[Candidate], candidates: Sequence[Candidate]) -> Answered:
        cards = _cards(shown)
        answer = self.page.ask(steps.ChooseAnswer, choose_step(self.config, f"choose-{turn}", cards))
        now = time.time()
        seconds, reason = now - self.page.shown_at, answer.reason if self.config.reason_required else None
        if not answer.selected and self.config.fallback == "write":
            none_chosen = NoneChosen(at=now, turn=turn, reason=reason, seconds=seconds)
            self.page.state.append(none_chosen)
            return self._written(none_chosen, cards)
        # Both or several picked: a random one of the picked continues; none: a random candidate (Liu et al. 2023).
        chance = random.Random(f"continue:{self.plan.seed}:{turn}")
        continued = chance.choice(answer.selected or [card.candidate_id for card in cards])
        return Answered(
            at=now,
            turn=turn,
            selected=credited(candidates, answer.selected),
            none_said=answer.none,
            continued=continued,
            reason=reason,
            seconds=seconds,
        )

    def _written(self, none_chosen: NoneChosen, cards: list[steps.Card]) -> Answered:
        turn = none_chosen.turn
        written = self.page.ask(steps.WriteAnswer, write_step(self.config, f"write-{turn}", cards)).text.strip()
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
            for one in sorted(shown, key=lambda candidate: candidate.position):
                self.page.say(
                    "partner", one.text, entry_id=one.candidate_id, column=one.position - 1, images=one.images
                )
        elif answer.written is not None:
            self.speaker.accept(text=answer.written)
            self.page.say("partner", answer.written)
        else:
            assert answer.continued is not None
            self.speaker.accept(answer.continued)
            line = next(c for c in shown if c.candidate_id == answer.continued)
            self.page.say("partner", line.text, entry_id=line.candidate_id, images=line.images)


def _cards(shown: Sequence[Candidate]) -> list[steps.Card]:
    in_order = sorted(shown, key=lambda candidate: candidate.position)
    return [steps.Card(candidate_id=one.candidate_id, text=one.text, images=pictures(one.images)) for one in in_order]


PARTNER_TYPING = phrase("Your partner is typing…")
PARTNERS_TYPING = phrase("Your partners are typing…")
TYPING = (PARTNER_TYPING, PARTNERS_TYPING)
PHRASES = phrases(__file__)
PARTNER_AWAY = PHRASES["partner_away"]
PARTNERS_AWAY = PHRASES["partners_away"]
INTERRUPTED = PHRASES["interrupted"]
PARTNER_SLOW = phrase("Your partner is taking a little longer than usual. Please stay on this page.")
GROWTH_LOOK_S = 0.1  # How often it is looked whether replies that are shown as they come have grown.
GROWN_S = 0.25  # Between two pages that show more words of them; the first words come at once.
WORDS_PER_S = 4.0
"""Several times as fast as people type: the wait is to hide the models' speed, not to cost raters their time."""
THINKING_S = 1.0  # before the first word
JITTER = 0.2  # the part by which a natural wait varies, up or down


class Waiting:
    """The waits of one conversation: nobody is said to be typing who is not there. Where replies are shown as they
    come, it shows them. Thread-safe."""

    def __init__(self, config: InteractiveConfig, page: PageSession, speaker: BotSpeakerAgent) -> None:
        self._config = config
        self._page = page
        self._speaker = speaker
        self._growth: Growth | None = None
        self._shown: Sequence[steps.Card] = ()
        self._sent_at = 0.0
        self._slow = False
        self._turn = 0
        self._open = False
        self._said = PARTNER_TYPING
        self._held = False
        self._lock = threading.Lock()

    def begin(self, turn: int) -> None:
        with self._lock:
            self._turn, self._open = turn, True
            self._hold(False)
            self._say()

    def follow(self, growth: Growth) -> None:
        """From now on :meth:`look` shows what of these replies may be shown."""
        with self._lock:
            self._growth, self._shown = growth, ()

    def look(self) -> None:
        """Called again and again, until :meth:`end`: a partner may have come or gone, and so may a server, or the rater;
        and replies may have grown."""
        with self._lock:
            self._hold(not self._page.is_here())
            grew = not self._held and self._grew()
            if grew or self._now() != self._said:
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
                self._slow = True
                self._show(PARTNER_SLOW)

    def end(self) -> None:
        with self._lock:
            self._open = self._slow = False
            self._growth, self._shown, self._page.growing = None, (), []

    # -- with the lock held

    def _now(self) -> str:
        several = bool(self._page.columns)
        if self._speaker.interrupted():
            return INTERRUPTED
        if self._speaker.absent():
            return PARTNERS_AWAY if several else PARTNER_AWAY
        return TYPING[several]

    def _say(self) -> None:
        said, self._said = self._said, self._now()
        self._slow = self._slow and self._said == said
        self._show(PARTNER_SLOW if self._slow else self._said)

    def _show(self, text: str) -> None:
        coming: steps.ChooseStep | steps.TickStep | None = None
        if self._shown and self._config.turn_question == "choose":
            coming = choose_step(self._config, f"choose-{self._turn}", list(self._shown))
        elif self._shown and self._config.turn_question == "tick":
            coming = tick_step(self._config, f"rate-{self._turn}", self._shown[0])
        self._page.wait(text, slow=self._slow, idle=self._said not in TYPING, coming=coming)

    def _grew(self) -> bool:
        """Whether the page shows more of the replies than before; replies without a step are in the transcript."""
        now = time.monotonic()
        if self._growth is None:
            return False
        self._page.refuse_early()
        each = enumerate(self._growth.shown(now))
        if self._shown and now < self._sent_at + GROWN_S:
            return False
        self._sent_at = now
        cards = [(column, steps.Card(candidate_id=name, text=text)) for column, (name, text) in each if text]
        before, self._shown = self._shown, [card for _, card in cards]
        if self._config.turn_question == "none":
            self._page.growing = [
                steps.Entry(
                    entry_id=card.candidate_id,
                    speaker="partner",
                    text=card.text,
                    column=column if self._page.columns else None,
                    growing=True,
                )
                for column, card in cards
            ]
        return self._shown != before

    def _hold(self, away: bool) -> None:
        if away != self._held:
            self._held = away
            self._speaker.hold(away)


def typing_seconds(settings: ReplySettings, texts: Iterable[str], chance: str) -> float:
    """Seconds from the rater's message to the replies; 0: at once. ``natural``: the time to think and to type the
    longest, varied by the seed ``chance``, and never more than ``typing_seconds``."""
    if settings.typing == "none":
        return 0.0
    if settings.typing == "fixed":
        return settings.typing_seconds
    words = max((len(text.split()) for text in texts), default=0)
    varied = 1 + random.Random(f"typing:{chance}").uniform(-JITTER, JITTER)
    return min(settings.typing_seconds, (THINKING_S + words / WORDS_PER_S) * varied)
