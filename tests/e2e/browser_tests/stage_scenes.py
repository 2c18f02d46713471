"""Every step of every technique, as the studies' own settings and builders make it, with long and short replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from omegaconf import OmegaConf

from mephisto_tasks.annotation import steps as judging
from mephisto_tasks.annotation.config import StaticConfig
from mephisto_tasks.chat import turn as asking
from mephisto_tasks.chat.config import InteractiveConfig
from mephisto_tasks.config.files import task_dir
from mephisto_tasks.config.task import read_config
from mephisto_tasks.launch.config import compose_config
from mephisto_tasks.session.page import marked_up
from mephisto_tasks.session.steps import (
    SIDES,
    choose_step,
    final_question,
    numbered_cards,
    rate_step,
    tick_step,
    verdict_step,
)
from parlai_humaneval.materials.instructions import (
    PairItem,
    Practice,
    RateItem,
    SegmentItem,
    load_instructions,
    load_practice,
)
from parlai_humaneval.schema.steps import (
    Card,
    Context,
    Entry,
    MessageStep,
    PageState,
    Panel,
    PanelLine,
    Progress,
    Step,
    WaitStep,
)
from parlai_humaneval.techniques.questions import PAIR_SPEAKERS, READ_AGAIN, SPOT_SPEAKERS

LONG = """## Two ways to mend an old boat

It depends on what you want of it. **Here is what I would do**, and what it costs:

1. Take the old paint off, down to the wood.
2. Let it dry for a month, under a roof but in the wind.
3. Look for rot with a blunt knife, above all under the seats.

| part | hours | price |
|---|---|---|
| planks | 40 | 120 |
| seats | 12 | 35 |
| oars | 6 | 20 |

### If you have little time

Leave the planks as they are and use a filler. It holds for a summer or two, and nobody sees it from the shore. My aunt
did that for years, and her boat carried four people over the lake every Sunday, with a dog and a basket of bread.

```python
def hours(parts):
    return sum(part.hours for part in parts)
```

- A boat that is *used* lasts longer than one that is admired.
- Wood wants air: never wrap it up in plastic.

What kind of wood is yours, and how long has it been out of the water? If it was last summer, then you have no time to
lose; if it was ten years ago, then a week more or less does not matter, and we can talk about the colour first."""
SHORT = "Boats are nice. Do you sail?"
MEDIUM = "That sounds like slow, patient work. What kind of boat is it, and who taught you how to mend it?"
TALK = (
    "Hi! I restore old wooden boats. And you?",
    MEDIUM,
    "A small rowing boat, about sixty years old. How would you mend it?",
)


@dataclass(frozen=True)
class Scene:
    """A step. ``before``: what the page shows until it comes; the first is there when the page opens.

    ``judged``: CSS of what one has to see to answer, each in its first lines; ``asks``: CSS of the words that ask.
    ``explains``: a choice is made by the key 1 (or a tap), and then a reason is asked for. ``both``: two are judged at once.
    """

    name: str
    task: str
    state: PageState
    judged: str
    asks: str = "#question"
    before: Sequence[PageState] = ()
    explains: bool = False
    both: bool = False


CARDS = "label:has([data-number]) [data-said]"
PANELS = "[data-testid=panel] [data-said]"


@cache
def live(task: str, conf: str = "local", *settings: str) -> InteractiveConfig:
    """The settings of a live study."""
    return read_config(InteractiveConfig, _blueprint(task, conf, settings))


@cache
def static(task: str, conf: str = "local", *settings: str) -> StaticConfig:
    """The settings of a study of finished dialogues."""
    return read_config(StaticConfig, _blueprint(task, conf, settings))


def _blueprint(task: str, conf: str, settings: Sequence[str]) -> dict[str, Any]:
    composed = OmegaConf.to_container(compose_config(task, conf, list(settings)), resolve=True)
    return dict(composed["mephisto"]["blueprint"])  # type: ignore[index,call-overload]


def practice(task: str, name: str, metric: str) -> Practice:
    """The packaged practice."""
    return load_practice(task_dir(task) / "task_config" / f"onboarding_{name}.json", metric)


def card(text: str, number: int = 0) -> Card:
    return Card(candidate_id=f"c{number}-{len(text)}", text=text)


def talk(lines: Sequence[str], *, columns: bool = False) -> list[Entry]:
    """A chat: the rater's line first; in ``columns`` two partners answer each of them, the second in short."""
    said: list[Entry] = []
    for number, line in enumerate(lines):
        if number % 2 == 0:
            said.append(Entry(entry_id=f"e{number}", speaker="you", text=line))
        elif columns:
            said.append(Entry(entry_id=f"e{number}a", speaker="partner", text=line, column=0))
            said.append(Entry(entry_id=f"e{number}b", speaker="partner", text=SHORT, column=1))
        else:
            said.append(Entry(entry_id=f"e{number}", speaker="partner", text=line))
    return said


def dialogue(title: str, lines: Sequence[str], speaker: str | None = None, other: str = "Partner") -> Panel:
    """A finished dialogue in which ``speaker``, who comes second, is judged."""
    names = (other, speaker or "Speaker B")
    return Panel(
        title=title,
        judged_label=speaker,
        lines=[
            PanelLine(
                line_id=f"{title}-{at}", speaker=names[at % 2], judged=speaker is not None and at % 2 == 1, text=line
            )
            for at, line in enumerate(lines)
        ],
    )


def state(step: Step, **more: Any) -> PageState:
    """A turn of the task, unless it says otherwise; what models say is drawn as markdown."""
    filled = {"phase": "task", "progress": Progress(unit="turn", current=3, total=6), **more}
    return marked_up(PageState(version=1, step=step, **filled))


WAIT = WaitStep(text="Your partner is typing…")


def _choosing(name: str, task: str, step: Any, **more: Any) -> Scene:
    lines = more.pop("lines", TALK)
    before = state(WAIT, transcript=talk(lines), **more)
    explains = step.reason is not None
    return Scene(name, task, state(step, transcript=talk(lines), **more), CARDS, before=[before], explains=explains)


def _message(step_label: str, actions: Sequence[Any] = (), suggestions: Sequence[str] = ()) -> MessageStep:
    return MessageStep(step_id="message-2", label=step_label, actions=list(actions), suggestions=list(suggestions))


PERSONA = Context(
    title="Your character",
    lines=[
        "I restore old wooden boats in a shed behind my grandmother's house, mostly on Sundays.",
        "My sister drives a night train between two cities that I have never seen.",
    ],
)
DIALOGUE = [line for _ in range(5) for line in (*TALK, LONG, "That is a lot of work.", MEDIUM)]
SHORT_DIALOGUE = ["Hi! How are you?", "Fine. And you?", "I bake bread today.", SHORT]


def _live_scenes() -> list[Scene]:
    pw, sata, ffa = live("pw_turn"), live("sata"), live("free_for_all")
    one_model, yes_no = live("single_model"), live("single_model", "appropriate")
    arena, direct = live("arena"), live("direct_assessment")
    two = [card(LONG), card(SHORT, 1)]
    prose = [card(f"{MEDIUM} " * 6 + text, at) for at, text in enumerate((TALK[0], SHORT, TALK[2]))]
    eight = [
        card(text, at)
        for at, text in enumerate((MEDIUM, LONG, SHORT, MEDIUM + " Tell me.", SHORT + " I do.", "Hm.", "Yes!", "No."))
    ]
    first = {
        "context": PERSONA,
        "lines": ["Hi!"],
        "progress": Progress(unit="turn", current=1, total=6),
        "guided": True,
    }
    own = {"context": PERSONA}
    scenes = [
        _choosing("pw_turn-first", "pw_turn", choose_step(pw, "choose-1", two), **first),
        _choosing(
            "pw_turn-first-short", "pw_turn", choose_step(pw, "choose-1", [card(MEDIUM), card(SHORT, 1)]), **first
        ),
        _choosing("pw_turn", "pw_turn", choose_step(pw, "choose-3", [card(LONG), card(LONG + " Do you?", 1)]), **own),
        _choosing("pw_turn-short", "pw_turn", choose_step(pw, "choose-3", [card(MEDIUM), card(SHORT, 1)]), **own),
        _choosing(
            "pw_turn-medium",
            "pw_turn",
            choose_step(pw, "choose-3", [card(f"{MEDIUM} " * 3), card(f"{MEDIUM} {SHORT} " * 2, 1)]),
            **own,
        ),
        Scene(
            "pw_turn-message",
            "pw_turn",
            state(_message("Write your next message"), transcript=talk([*TALK, LONG]), **own),
            "li[data-speaker=partner]:last-child [data-said]",
            "label[for=message]",
        ),
    ]
    for setting in ("soba", "sata_random", "sata_user"):
        scenes.append(_choosing(f"sata-{setting}", "sata", choose_step(sata.of(setting), "choose-3", two)))
    scenes += [
        _choosing("sata-eight", "sata", choose_step(sata.of("sata_user"), "choose-3", eight)),
        _choosing(
            "sata-reason",
            "sata",
            choose_step(live("sata", "local", "setting=sata_user", "reason_required=true"), "choose-3", prose),
        ),
        Scene(
            "sata-write",
            "sata",
            state(asking.write_step(sata, "write-3", two), transcript=talk(TALK)),
            "main section [data-said]",
            "label[for=reply]",
        ),
        _choosing("free_for_all-one", "free_for_all", choose_step(ffa.of("one"), "choose-3", [*two, card(MEDIUM, 2)])),
        _choosing(
            "free_for_all-many",
            "free_for_all",
            choose_step(ffa.of("many"), "choose-3", [card(LONG, at) for at in range(3)]),
        ),
        Scene(
            "free_for_all-message",
            "free_for_all",
            state(
                _message("Write your next message", [asking.end_action(ffa, 1)], ["What do you do?"] * 4),
                transcript=talk([*TALK, MEDIUM]),
            ),
            "li[data-speaker=partner]:last-child [data-said]",
            "label[for=message]",
        ),
    ]
    for config, name in ((one_model, "single_model"), (yes_no, "single_model-yes-no")):
        for reply, size in ((LONG, ""), (SHORT, "-short")):
            step = tick_step(config, "rate-3", card(reply))
            scenes.append(
                Scene(
                    f"{name}{size}",
                    "single_model",
                    state(step, transcript=talk(TALK), **(own if config is one_model else {})),
                    "[data-testid=judged-reply] [data-said]",
                    before=[state(WAIT, transcript=talk(TALK))],
                )
            )
    likert = rate_step(one_model, "final", one_model.scales(), final_question(one_model))
    scenes.append(
        Scene(
            "single_model-likert",
            "single_model",
            state(likert, transcript=talk([*TALK, MEDIUM])),
            "[role=log] li:last-child [data-said]",
            before=[state(WAIT, transcript=talk(TALK))],
        )
    )
    two_partners = {"columns": SIDES, "progress": Progress(unit="turn", current=2, total=None)}
    verdict = _message("Write to both", asking.verdict_actions(arena))
    spoken = talk([*TALK, LONG], columns=True)
    waiting = state(WAIT, transcript=talk(TALK, columns=True), **two_partners)
    scenes.append(
        Scene(
            "arena",
            "arena",
            state(verdict, transcript=spoken, **two_partners),
            "li[data-speaker=partner]:nth-last-child(-n+2) [data-said]",
            "[role=group] h2",
            before=[waiting],
            both=True,
        )
    )
    one = [Entry(entry_id="x", speaker="you", text=TALK[0])]
    both_long = [*one, *(Entry(entry_id=f"y{c}", speaker="partner", text=LONG, column=c) for c in range(2))]
    scenes.append(
        Scene(
            "arena-long",
            "arena",
            state(verdict, transcript=both_long, **two_partners),
            "li[data-speaker=partner] [data-said]",
            "[role=group] h2",
            before=[state(WAIT, transcript=one, **two_partners)],
            both=True,
        )
    )
    several = {
        "progress": Progress(unit="conversation", current=2, total=6),
        "within": Progress(unit="turn", current=3, total=None, minimum=10),
    }
    sliders = rate_step(direct, "final", direct.scales(), final_question(direct))
    scenes += [
        Scene(
            "direct_assessment-topic",
            "direct_assessment",
            state(asking.topic_step(direct), **several),
            "#topic",
            "label[for=topic]",
        ),
        Scene(
            "direct_assessment-message",
            "direct_assessment",
            state(
                _message("Write your next message", [asking.topic_action(), asking.end_action(direct, 2)]),
                transcript=talk([*TALK, LONG]),
                topic="Whether to let an old boat rot or to mend it",
                **several,
            ),
            "li[data-speaker=partner]:last-child [data-said]",
            "label[for=message]",
            before=[state(WAIT, transcript=talk(TALK), topic="Boats", **several)],
        ),
        Scene(
            "direct_assessment-sliders",
            "direct_assessment",
            state(sliders, transcript=talk([*TALK, LONG]), topic="Boats", **several),
            "[role=log] li:last-child [data-said]",
            before=[state(WAIT, transcript=talk(TALK), topic="Boats", **several)],
        ),
    ]
    return scenes


def _practice_scenes() -> list[Scene]:
    def opened(number: int, total: int = 4) -> dict[str, Any]:
        return {"phase": "practice", "progress": Progress(unit="practice", current=number, total=total), "guided": True}

    scenes = []
    for task, name, metric, config in (
        ("pw_turn", "preference", "preference", live("pw_turn")),
        ("sata", "appropriate", "appropriate", live("sata")),
        ("free_for_all", "appropriate", "appropriate", live("free_for_all")),
    ):
        item = practice(task, name, metric).items[0]
        step = choose_step(config, "practice-1-1", numbered_cards(item)[0]).model_copy(update={"reason": None})  # type: ignore[arg-type]
        scenes.append(Scene(f"{task}-practice", task, state(step, transcript=talk([item.human]), **opened(1)), CARDS))  # type: ignore[union-attr]
    for task, name, metric, config in (
        ("single_model", "quality", "quality", live("single_model")),
        ("single_model", "appropriate", "appropriate", live("single_model", "appropriate")),
    ):
        item = practice(task, name, metric).items[0]
        step = tick_step(config, "practice-1-1", card(item.reply))  # type: ignore[union-attr]
        scenes.append(
            Scene(
                f"{task}-practice-{name}",
                task,
                state(step, transcript=talk([item.human]), **opened(1)),
                "[data-testid=judged-reply] [data-said]",
            )
        )  # type: ignore[union-attr]
    better = practice("arena", "better", "better")
    for number, item in enumerate(better.items[:2], start=1):
        said = [Entry(entry_id="a", speaker="you", text=item.human)]  # type: ignore[union-attr]
        said += [Entry(entry_id=f"b{c}", speaker="partner", text=text, column=c) for c, text in enumerate(item.replies)]  # type: ignore[union-attr]
        verdict = verdict_step(live("arena"), f"practice-1-{number}")
        scenes.append(
            Scene(
                f"arena-practice-{number}",
                "arena",
                state(verdict, transcript=said, columns=SIDES, **opened(number)),
                "li[data-speaker=partner] [data-said]",
                both=True,
            )
        )
    rated = next(
        item for item in practice("direct_assessment", "quality", "quality").items if isinstance(item, RateItem)
    )
    config = live("direct_assessment")
    sliders = rate_step(config, "practice-1-1", [c for c in config.scales() if c.name in rated.sides], config.question)
    scenes.append(
        Scene(
            "direct_assessment-practice",
            "direct_assessment",
            state(sliders, transcript=talk(rated.lines), **opened(1)),
            "[role=log] [data-said]",
        )
    )
    pair = next(item for item in practice("pw_dialog", "preference", "preference").items if isinstance(item, PairItem))
    panels = [
        dialogue(f"Conversation {at}", lines, PAIR_SPEAKERS[at - 1])
        for at, lines in enumerate(pair.conversations, start=1)
    ]
    form = judging.form_step(
        static("pw_dialog", "local", "dialogues=[x]"),
        "practice-1-1",
        judging.asked(static("pw_dialog", "local", "dialogues=[x]")),
        reasons=False,
    )
    scenes.append(Scene("pw_dialog-practice", "pw_dialog", state(form, panels=panels, **opened(1)), PANELS))
    spot = static("spot_the_bot")
    segment = next(item for item in practice("spot_the_bot", "spot", "spot").items if isinstance(item, SegmentItem))
    labels = [question for question in judging.asked(spot) if question.about is not None]
    shown = dialogue("Conversation", segment.lines, None, SPOT_SPEAKERS[0])
    scenes.append(
        Scene(
            "spot_the_bot-practice",
            "spot_the_bot",
            state(judging.form_step(spot, "practice-1-1", labels), panels=[shown], **opened(1)),
            PANELS,
            "[data-question]",
        )
    )
    return scenes


def _judging_scenes() -> list[Scene]:
    pairs = {"progress": Progress(unit="pair", current=2, total=6)}
    chats = {"progress": Progress(unit="conversation", current=2, total=6)}
    scenes = []
    for task, lines in (("pw_dialog", DIALOGUE), ("self_chat", SHORT_DIALOGUE * 3)):
        config = static(task, "local", *(["dialogues=[x]"] if task == "pw_dialog" else ["models=[a,b]"]))
        panels = [dialogue(f"Conversation {at}", lines, PAIR_SPEAKERS[at - 1]) for at in (1, 2)]
        form = judging.form_step(config, "pair-2", judging.asked(config))
        scenes.append(Scene(task, "pw_dialog", state(form, panels=panels, **pairs), PANELS, explains=True))
    spot = static("spot_the_bot")
    segment = dialogue("Conversation", [*TALK, MEDIUM, SHORT, MEDIUM], None, SPOT_SPEAKERS[0])
    scenes.append(
        Scene(
            "spot_the_bot",
            "spot_the_bot",
            state(judging.form_step(spot, "spot-2", judging.asked(spot)), panels=[segment], **chats),
            PANELS,
            "[data-question]",
        )
    )
    replayed = dialogue("Conversation", TALK, "Partner", "Person")
    rated = {"panels": [replayed], **chats}
    sata, one = live("sata").of("sata_user"), live("single_model")
    choice = choose_step(sata, "turn-3", [card(LONG), card(SHORT, 1)])
    scenes += [
        Scene(
            "third_party-choose",
            "third_party",
            state(choice.model_copy(update={"question": READ_AGAIN[choice.question]}), **rated),
            PANELS,
        ),
        Scene("third_party-tick", "third_party", state(tick_step(one, "turn-3", card(LONG)), **rated), PANELS),
        Scene(
            "third_party-verdict",
            "third_party",
            state(
                verdict_step(live("arena"), "verdict"),
                panels=[dialogue(f"Conversation with partner {side}", DIALOGUE, "Partner", "Person") for side in SIDES],
                **chats,
            ),
            PANELS,
        ),
    ]
    ranking = static("third_party", "local", "show=turn", "metric=rank", "ties=false", "dialogues=[{task: x}]")
    step = judging.rank_step(
        ranking, "rank", judging.asked(ranking)[0].text, [card(LONG), card(SHORT, 1), card(MEDIUM, 2)]
    )
    scenes.append(Scene("third_party-rank", "third_party", state(step, **rated), PANELS))
    whole = static("third_party", "ma2023_gold", "dialogues=[x]")
    scales = judging.scales_step(whole, "rate", judging.asked(whole)[0].text)
    scenes.append(
        Scene(
            "third_party-whole",
            "third_party",
            state(scales, panels=[dialogue("Conversation", DIALOGUE, "Partner", "Person")], **chats),
            PANELS,
        )
    )
    return scenes


def scenes() -> list[Scene]:
    """All of them."""
    return [*_live_scenes(), *_practice_scenes(), *_judging_scenes()]


@cache
def words_of(task: str) -> dict[str, Any]:
    """The task's description as its page gets it, guide and all."""
    values = {
        "question": "Which one?",
        "pay": "$1.00",
        "practice_pay": "$0.20",
        "models": "two",
        "settings": "1",
        "tries": "two tries",
    }
    numbers = ("turns", "max_turns", "conversations", "min_reason_words", "min_written_words", "items", "golds")
    file = task_dir(task) / "task_config" / "instructions.yaml"
    filled = load_instructions(
        file, {**dict.fromkeys(numbers, "3"), **values}, {"practice", "told_at_once", "reasons", "persona"}
    )
    return {**filled.model_dump(mode="json"), "entry": "start"}
