"""The steps of a conversation: openings, messages, how a turn is rated (choose, tick, or go on), and ways to end it."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from mephisto_tasks.chat.config import InteractiveConfig
from mephisto_tasks.chat.plans import Plan
from mephisto_tasks.session.answers import MAX_TOPIC_CHARS
from mephisto_tasks.session.page import PageSession
from mephisto_tasks.session.steps import choose_step, tick_step
from parlai_humaneval.i18n.translate import phrase, t, tn
from parlai_humaneval.models.bot_speaker.bot_speaker import BotSpeakerAgent, standing_for
from parlai_humaneval.schema.events import Answered, NoneChosen
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


class TurnRating:
    """Asks about the candidates of a turn, writes the answer down, and has the conversation go on with it.

    Args:
        config: settings as they hold for this dialogue.
        plan: the dialogue; its seed decides what a random continuation is.
        page: the rater's page.
        speaker: hears what continues.
    """

    def __init__(self, config: InteractiveConfig, plan: Plan, page: PageSession, speaker: BotSpeakerAgent) -> None:
        self.config = config
        self.plan = plan
        self.page = page
        self.speaker = speaker

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
