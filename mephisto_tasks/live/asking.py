"""The steps that a study's settings lead to, for the task and for its practice alike."""

from __future__ import annotations

from collections.abc import Sequence

from mephisto_tasks.engine.checks import MAX_TOPIC_CHARS
from mephisto_tasks.live.config import InteractiveConfig
from parlai_humaneval.protocol.asked.criteria import RANGES, Criterion
from parlai_humaneval.protocol.page.steps import (
    Action,
    Card,
    ChooseStep,
    Option,
    RateStep,
    ReasonField,
    Scale,
    TickStep,
    TopicStep,
    WriteStep,
)

SIDES = ["A", "B"]
"""Names of two partners side by side."""
VERDICTS = {"a": "A is better", "b": "B is better", "tie": "Tie: both are good", "both_bad": "Both are bad"}
OPINIONS = {"liked": "I like it", "ambivalent": "I have no strong feelings about it", "disliked": "I dislike it"}
"""Ji et al. 2022, §4: liked, ambivalent about it, or disliked."""
END_ACTION, TOPIC_ACTION = "end", "topic"


def choose_step(config: InteractiveConfig, step_id: str, cards: list[Card], question: str = "") -> ChooseStep:
    """Choose among ``cards``; where equal replies left fewer of them, so many at most."""
    most = len(cards) if config.max_choices is None else min(config.max_choices, len(cards))
    reason = ReasonField(
        label="Why is this response better? Please say it in your own words.",
        required=True,
        min_words=config.min_reason_words,
    )
    return ChooseStep(
        step_id=step_id,
        question=question or config.question,
        cards=cards,
        min_choices=min(config.min_choices, most),
        max_choices=most,
        none_label=config.none_label if config.min_choices == 0 else None,
        reason=reason if config.reason_required else None,
    )


def tick_step(config: InteractiveConfig, step_id: str, reply: Card, question: str = "") -> TickStep:
    """Tick what is true of ``reply``; nothing is ticked only by saying so."""
    options = [Option(option_id=criterion.name, label=criterion.text) for criterion in config.ticks()]
    return TickStep(
        step_id=step_id,
        question=question or config.question,
        reply=reply,
        options=options,
        min_choices=0,
        max_choices=len(options),
        none_label=config.none_label,
    )


def write_step(config: InteractiveConfig, step_id: str, cards: list[Card]) -> WriteStep:
    """Write what the partner should have said (Liu et al. 2023, SATA-User)."""
    return WriteStep(
        step_id=step_id,
        label="None of the responses fits. Please write a better one: what should your partner have said?",
        cards=cards,
        min_words=config.min_written_words,
        max_chars=config.max_message_chars,
    )


def rate_step(config: InteractiveConfig, step_id: str, criteria: Sequence[Criterion], question: str) -> RateStep:
    """Rate the conversation on every criterion."""
    return RateStep(step_id=step_id, question=question, scales=[_scale(config, criterion) for criterion in criteria])


def _scale(config: InteractiveConfig, criterion: Criterion) -> Scale:
    minimum, maximum = RANGES[config.final_scale]
    slider = config.final_scale == "slider"
    return Scale(
        scale_id=criterion.name,
        statement=criterion.text,
        style="slider" if slider else "points",
        minimum=minimum,
        maximum=maximum,
        left="strongly disagree" if slider else f"{minimum:g}",
        right="strongly agree" if slider else f"{maximum:g}",
        labels=[] if slider else [str(point) for point in range(int(minimum), int(maximum) + 1)],
    )


def final_question(config: InteractiveConfig) -> str:
    """Asked above the scales at the end; a study that rates turns has another question there."""
    if config.turn_question == "none":
        return config.question
    return "The conversation is over. How was your partner?"


def verdict_step(config: InteractiveConfig, step_id: str, question: str = "") -> TickStep:
    """Which of two partners is better, asked outright."""
    return TickStep(
        step_id=step_id,
        question=question or config.question,
        options=[Option(option_id=verdict, label=label) for verdict, label in VERDICTS.items()],
        min_choices=1,
        max_choices=1,
    )


def verdict_actions(config: InteractiveConfig) -> list[Action]:
    """The same beside the message field, at any turn."""
    return [
        Action(
            action_id=verdict,
            label=label,
            group=config.question,
            confirm=f"“{label}” ends the conversation. Is that your answer?",
        )
        for verdict, label in VERDICTS.items()
    ]


def end_action(config: InteractiveConfig, complete_turns: int) -> Action:
    """End the conversation; from ``turns`` complete turns on."""
    missing = config.turns - complete_turns
    more = "one more message" if missing == 1 else f"{missing} more messages"
    return Action(
        action_id=END_ACTION,
        label="End the conversation",
        enabled=missing <= 0,
        hint=None if missing <= 0 else f"You can end the conversation after {more}.",
        confirm="Do you want to end this conversation now?",
    )


def topic_action() -> Action:
    """Note that the talk has come to something else (Ji et al. 2022, Fig. 5)."""
    return Action(action_id=TOPIC_ACTION, label="Topic", text_label="What are you talking about now?")


def topic_step(config: InteractiveConfig) -> TopicStep:
    """What to talk about, named before the conversation (Ji et al. 2022, §4)."""
    opinions = [Option(option_id=name, label=label) for name, label in OPINIONS.items()] if config.ask_opinion else []
    return TopicStep(
        step_id="topic",
        label="What would you like to talk about? Name a topic of your choice.",
        opinion_label="What do you think of this topic?",
        opinions=opinions,
        max_chars=MAX_TOPIC_CHARS,
    )
