"""Practice of every kind of item: several replies or none, ticks, scales, two partners; feedback at once or after all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hands import Hands, texts
from live import Launch, launch

from mephisto_tasks.config.task import ConfigError
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.session.steps import FAILED_TITLE, PASSED_TITLE
from mephisto_tasks.session.study import THANKS
from mephisto_tasks.storage.results import past_practices
from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.schema.steps import ChooseStep, EndStep, PageState, RateStep, TickStep

WHY = "Because it says so."
CHOICES: list[dict[str, Any]] = [
    {
        "human": "Hi, I have a dog.",
        "replies": ["Nice dog!", "The bus is late.", "How old?"],
        "right": [1, 3],
        "why": WHY,
    },
    {
        "human": "She is two.",
        "replies": ["Nonsense.", "More nonsense."],
        "right": [],
        "why": WHY,
        "continues": "So young!",
    },
    {"human": "Yes, she is.", "replies": ["Sweet!", "A puppy!"], "right": [1, 2], "why": WHY},
]
TICKS: list[dict[str, Any]] = [
    {"human": "Hi!", "reply": "I ride elephants.", "must": ["engaging"], "must_not": ["human-like"], "why": WHY},
    {"human": "Really?", "reply": "ERROR 7", "must_not": ["engaging", "interesting"], "why": WHY},
]
RATES: list[dict[str, Any]] = [
    {"lines": ["Hi!", "bla bla bla"], "sides": {"fun": "low", "robotic": "high"}, "why": WHY}
]
VERDICTS: list[dict[str, Any]] = [
    {"human": "Hi!", "replies": ["Hello!", "ERROR"], "better": "a", "why": WHY},
    {"human": "And you?", "replies": ["bla", "bla bla"], "better": "both_bad", "why": WHY},
]


def practice_file(folder: Path, metric: str, items: list[dict[str, Any]]) -> str:
    folder.mkdir(exist_ok=True)
    path = folder / "practice.json"
    path.write_text(json.dumps({"metric": metric, "items": items}))
    return str(path)


def with_practice(folder: Path, metric: str, items: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {
        "onboarding_file": practice_file(folder, metric, items),
        "onboarding_qualification": "practised",
        "turns": 1,
        **more,
    }


def given(run: RunningStudy) -> list[list[Any]]:
    """What the one rater of a study chose in each try: good or bad."""
    (practice,) = past_practices(run.data_dir, run.task_name).values()
    return practice.choices


async def pick_texts(rater: Hands, *wanted: str) -> PageState:
    """The cards with these texts, wherever they stand."""
    step = (await rater.state()).step
    assert isinstance(step, ChooseStep)
    selected = [card.candidate_id for card in step.cards if card.text in wanted]
    assert len(selected) == len(wanted)
    return await rater.answer(kind="choose", selected=selected, none=not selected)


async def passed(rater: Hands) -> None:
    step = (await rater.state()).step
    assert isinstance(step, EndStep)
    assert (step.title, step.next) == (PASSED_TITLE, "submit_onboarding")
    await rater.client.submit_onboarding()
    assert (await rater.state()).phase == "task"


async def test_some_none_and_all_with_feedback_at_once(start: Launch, tmp_path: Path) -> None:
    """SATA's practice: one reply too few or too many is wrong, and told at each item; the right reply goes on anyway."""
    settings = with_practice(tmp_path, "appropriate", CHOICES, task="sata", onboarding_feedback="each_item")
    async with start(**settings) as run, Hands(run) as rater:
        state = await pick_texts(rater, "Nice dog!")
        assert state.notice is not None
        assert (state.notice.level, state.notice.text) == (
            "info",
            f"Your last answer was not what we were looking for. {WHY}",
        )
        assert texts(state) == ["Hi, I have a dog.", "Nice dog!", "She is two."]
        assert "say that none fits" in await rater.refused(selected=[])
        state = await pick_texts(rater)
        assert state.notice is not None
        assert (state.notice.level, state.notice.text) == ("success", f"Your last answer was right. {WHY}")
        assert texts(state)[-2] == "So young!"
        state = await pick_texts(rater, "Sweet!", "A puppy!")
        assert state.notice is not None
        assert state.notice.level == "info"
        assert texts(state) == ["Hi, I have a dog."], "the second try begins anew"
        await pick_texts(rater, "How old?", "Nice dog!")
        await pick_texts(rater)
        await pick_texts(rater, "A puppy!", "Sweet!")
        await passed(rater)
        assert given(run) == [["bad", "good", "good"], ["good"] * 3]


async def test_ticks(start: Launch, tmp_path: Path) -> None:
    """What must be ticked, what must not, and what is free; feedback after the try names the messages."""
    settings = with_practice(
        tmp_path, "quality", TICKS, task="single_model", models=["alpha"], onboarding_feedback="after_try"
    )
    async with start(**settings) as run, Hands(run) as rater:
        step = (await rater.state()).step
        assert isinstance(step, TickStep)
        assert step.reply is not None
        assert step.reply.text == "I ride elephants."
        state = await rater.tick("engaging", "human-like")
        assert state.notice is None, "after_try: nothing is told before the end of the try"
        state = await rater.tick("interesting")
        assert state.notice is not None
        assert state.notice.points == [f"After “Hi!”: {WHY}", f"After “Really?”: {WHY}"]
        await rater.tick("engaging", "interesting")
        await rater.tick()
        await passed(rater)
        assert given(run) == [["bad", "bad"], ["good", "good"]]


@pytest.mark.parametrize(
    ("values", "right"),
    [
        ({"fun": 12, "robotic": 88}, True),
        ({"fun": 49.9, "robotic": 50.1}, True),
        ({"fun": 50, "robotic": 88}, False),
        ({"fun": 80, "robotic": 88}, False),
    ],
)
async def test_scales(start: Launch, tmp_path: Path, values: Mapping[str, float], right: bool) -> None:
    """Only the criteria of the item are asked; the right half counts, the middle is neither."""
    settings = with_practice(tmp_path, "quality", RATES, task="direct_assessment", onboarding_tries=1)
    async with start(**settings) as run, Hands(run) as rater:
        state = await rater.state()
        assert isinstance(state.step, RateStep)
        assert sorted(scale.scale_id for scale in state.step.scales) == ["fun", "robotic"]
        assert texts(state) == ["Hi!", "bla bla bla"]
        state = await rater.answer(kind="rate", values=dict(values))
        assert isinstance(state.step, EndStep)
        assert state.step.title == (PASSED_TITLE if right else FAILED_TITLE)


async def test_two_partners(start: Launch, tmp_path: Path) -> None:
    """The columns stand as in the task; after the practice nothing of it stays on the page."""
    settings = with_practice(tmp_path, "better", VERDICTS, task="arena")
    async with start(**settings) as run, Hands(run) as rater:
        state = await rater.state()
        assert state.columns == ["A", "B"]
        assert [(entry.text, entry.column) for entry in state.transcript] == [
            ("Hi!", None),
            ("Hello!", 0),
            ("ERROR", 1),
        ]
        await rater.tick("a")
        await rater.tick("both_bad")
        await passed(rater)
        state = await rater.state()
        assert texts(state) == []
        await rater.say("hello both of you")
        await rater.do("tie")
        state = await rater.answer(kind="feedback", text="")
        assert isinstance(state.step, EndStep)
        assert state.step.title == THANKS[0]


@pytest.mark.parametrize(
    ("task", "metric", "items", "said"),
    [
        ("sata", "appropriate", [{"human": "Hi!", "replies": ["A.", "B."], "why": WHY}], "has no right answer"),
        ("sata", "appropriate", [{**CHOICES[0], "right": [4]}], "right names reply 4, but there are 3"),
        ("sata", "appropriate", [{**CHOICES[0], "right": [1, 1]}], "names a reply twice"),
        ("sata", "appropriate", [{**CHOICES[0], "replies": ["A.", "A."], "right": [1]}], "two replies are the same"),
        ("sata", "appropriate", TICKS, "item 1 names engaging, human-like, but this study asks for none"),
        ("single_model", "quality", [{**TICKS[0], "must": [], "must_not": []}], "there is no right answer"),
        (
            "single_model",
            "quality",
            [{**TICKS[0], "must": ["fun"]}],
            "item 1 names fun, but this study asks for engaging, human-like",
        ),
        ("single_model", "quality", CHOICES, "item 1 asks raters to choose a reply, but this study does not"),
        ("free_for_all", "appropriate", CHOICES, "item 1 has 2 right replies, but raters choose 1 to 1"),
        ("arena", "better", [{**VERDICTS[0], "better": "c"}], "better"),
        (
            "direct_assessment",
            "quality",
            VERDICTS,
            "item 1 asks raters to compare two partners, but this study does not",
        ),
        ("direct_assessment", "quality", [{**RATES[0], "sides": {}}], "sides"),
        ("arena", "quality", VERDICTS, "is for the metric 'quality', but this study asks for 'better'"),
        ("arena", "better", [], "items"),
    ],
)
def test_practices_that_nobody_could_pass(
    tmp_path: Path, task: str, metric: str, items: list[dict[str, Any]], said: str
) -> None:
    """Told with the file and the item before anything is launched; nothing is begun."""
    models = ["alpha", "beta", "gamma"][: 3 if task == "free_for_all" else 2]
    settings = with_practice(tmp_path, metric, items, task=task, models=models)
    with pytest.raises((ConfigError, DataError)) as caught, launch(tmp_path / "data", **settings):
        pass
    assert said in str(caught.value)
    assert "practice.json" in str(caught.value)
    assert not (tmp_path / "data" / "database.db").exists()
