"""The steps by which a conversation is held, as a study's settings have it: openings, written replies, ways to end it."""

from __future__ import annotations

from mephisto_tasks.chat.config import InteractiveConfig
from mephisto_tasks.session.answers import MAX_TOPIC_CHARS
from parlai_humaneval.i18n.translate import phrase, t, tn
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
