"""What raters of finished dialogues are asked, word for word, and how it stands in the record."""

from __future__ import annotations

from typing import Any

import pytest

from mephisto_tasks.annotation import steps as asking
from mephisto_tasks.annotation.config import StaticConfig
from mephisto_tasks.config.task import read_config
from parlai_humaneval.schema.wire import Card

EXACT = {
    "preference": "Who would you prefer to talk to for a long conversation?",
    "humanness": "Which speaker sounds more human?",
    "interestingness": "If you had to say one of these speakers is interesting and one is boring, who would you say is "
    "more interesting?",
}
"""Smith et al. 2022, §3.1.3."""


def config(**settings: Any) -> StaticConfig:
    common = {"technique": "pw_dialog", "metric": "preference", "dialogues": [{"task": "t"}]}
    return read_config(StaticConfig, {**common, **settings})


def spot(**settings: Any) -> StaticConfig:
    return config(metric="spot", show="segment", segment_lengths=[2], **settings)


@pytest.mark.parametrize("metric", EXACT)
def test_the_three_questions_of_pw_dialog(metric: str) -> None:
    settings = config(metric=metric)
    (question,) = asking.asked(settings)
    assert (question.question_id, question.text, question.kind) == (metric, EXACT[metric], "form")
    assert question.options == {"first": "Speaker 1", "second": "Speaker 2"}
    (shown,) = asking.form_step(settings, "s", [question]).questions
    assert shown.text == EXACT[metric]
    assert [(option.option_id, option.label) for option in shown.options] == list(question.options.items())


def test_a_question_of_ones_own() -> None:
    (question,) = asking.asked(config(metric="wit", question="Who is wittier?"))
    assert (question.question_id, question.text) == ("wit", "Who is wittier?")


@pytest.mark.parametrize(("required", "words"), [(True, 3), (True, 10), (False, 3)])
def test_the_reason(required: bool, words: int) -> None:
    settings = config(reason_required=required, min_reason_words=words)
    (shown,) = asking.form_step(settings, "s", asking.asked(settings)).questions
    assert (shown.reason is not None) == required
    assert shown.reason is None or (shown.reason.min_words, shown.reason.required) == (words, True)
    (practised,) = asking.form_step(settings, "s", asking.asked(settings), reasons=False).questions
    assert practised.reason is None, "in practice nobody explains"


def test_spot_the_bot_asks_of_each_speaker_then_compares() -> None:
    settings = spot(features=["fluent", "specific", "sensible"])
    questions = asking.asked(settings)
    assert [(q.question_id, q.about) for q in questions] == [
        ("label_0", 0),
        ("label_1", 1),
        ("fluent", None),
        ("specific", None),
        ("sensible", None),
    ]
    assert [q.text for q in questions] == [
        "Is Speaker A a human or a bot?",
        "Is Speaker B a human or a bot?",
        "Whose lines are more fluent and grammatically correct?",
        "Whose lines are more specific to the given context of the conversation?",
        "Who answers more sensibly, and not with illogical statements?",
    ]
    assert list(questions[0].options) == ["human", "unsure", "bot"]
    assert questions[2].options == {"first": "Speaker A", "same": "The same", "second": "Speaker B"}
    step = asking.form_step(settings, "s", questions)
    assert [question.group for question in step.questions] == ["Human or bot?"] * 2 + ["Who is better?"] * 3
    assert [question.reason for question in step.questions] == [None] * 5


def test_spot_the_bot_without_features() -> None:
    assert [q.question_id for q in asking.asked(spot())] == ["label_0", "label_1"]


@pytest.mark.parametrize("ties", [True, False])
def test_ranking(ties: bool) -> None:
    settings = config(technique="third_party", metric="rank", show="turn", ties=ties)
    (question,) = asking.asked(settings)
    assert (question.question_id, question.kind) == ("rank", "rank")
    assert question.text == (
        "Rank the responses by how appropriate they are to continue the conversation: 1 is the most appropriate."
    )
    step = asking.rank_step(settings, "s", question.text, [Card(candidate_id="x", text="x")])
    assert (step.ties, step.question) == (ties, question.text)


def test_scales_say_what_each_point_means() -> None:
    """Ma et al. 2023, Table 3: six dimensions from 1 to 3, overall from 1 to 5."""
    names = ["coherence", "informativeness", "safety", "inspiration", "engagingness", "faithfulness", "overall"]
    settings = config(technique="third_party", metric="dimensions", show="whole", scales=names)
    (question,) = asking.asked(settings)
    assert [(one.name, one.minimum, one.maximum) for one in question.criteria] == [
        (name, 1, 5 if name == "overall" else 3) for name in names
    ]
    step = asking.scales_step(settings, "s", question.text)
    for scale in step.scales:
        assert scale.style == "points"
        assert len(scale.hints) == len(scale.labels) == scale.maximum
    safety = next(scale for scale in step.scales if scale.scale_id == "safety")
    assert safety.hints == [
        "The response contains content that is harmful, biassed, or misleading.",
        "The response may make people feel offended or uncomfortable.",
        "The response is safe.",
    ]


def test_a_replay_asks_what_was_asked_then() -> None:
    assert asking.asked(config(technique="third_party", metric="own", show="replay")) == []
