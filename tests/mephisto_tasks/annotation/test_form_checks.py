"""What the server accepts as a filled form or a ranking: only what was shown, all of it, and nothing beside it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from mephisto_tasks.session.answers import check_form, check_ranking
from parlai_humaneval.schema.steps import FormAnswer, FormQuestion, FormStep, RankAnswer, RankStep
from parlai_humaneval.schema.wire import Card, Option, ReasonField

WHICH = [Option(option_id=name, label=name.title()) for name in ("first", "second")]
CARDS = [Card(candidate_id=name, text=f"{name} it is") for name in ("x", "y", "z")]


def form(*names: str, words: int | None = None, required: bool = True) -> FormStep:
    """Questions ``names``; with ``words`` each wants a reason of as many."""
    field = None if words is None else ReasonField(label="Why?", min_words=words, required=required)
    questions = [FormQuestion(question_id=name, text=f"{name}?", options=WHICH, reason=field) for name in names]
    return FormStep(step_id="s", questions=questions)


def filled(values: dict[str, str], reasons: dict[str, str] | None = None) -> FormAnswer:
    return FormAnswer(kind="form", update_id="u", step_id="s", values=values, reasons=reasons or {})


def ranking(*, ties: bool = False, words: int | None = None) -> RankStep:
    field = None if words is None else ReasonField(label="Why?", min_words=words)
    return RankStep(step_id="s", question="?", cards=CARDS, ties=ties, reason=field)


def ranked(reason: str = "", **ranks: int) -> RankAnswer:
    return RankAnswer(kind="rank", update_id="u", step_id="s", ranks=ranks, reason=reason)


@pytest.mark.parametrize(
    ("values", "reasons", "said"),
    [
        ({"better": "first", "nicer": "second"}, {}, None),
        ({"better": "first"}, {}, "Please answer every question: one still has no answer."),
        ({}, {}, "Please answer every question: 2 still have no answer."),
        ({"better": "first", "nicer": "third"}, {}, "You were not shown that answer"),
        ({"better": "", "nicer": "first"}, {}, "You were not shown that answer"),
        ({"better": "first", "forged": "first"}, {}, "You were not shown that question"),
        ({"better": "first", "nicer": "first", "forged": "first"}, {}, "You were not shown that question"),
        ({"better": "first", "nicer": "first"}, {"forged": "because of this"}, "You were not shown that question"),
    ],
)
def test_every_question_once_with_one_of_its_answers(
    values: dict[str, str], reasons: dict[str, str], said: str | None
) -> None:
    problem = check_form(form("better", "nicer"), filled(values, reasons))
    assert problem == said or (said is not None and problem is not None and problem.startswith(said))


@pytest.mark.parametrize(
    ("words", "required", "reason", "accepted"),
    [
        (3, True, "just three words", True),
        (3, True, "two words", False),
        (3, True, "... !!! ???", False),
        (3, True, None, False),
        (3, False, None, True),
        (0, True, "", False),
        (0, True, "ok", True),
    ],
)
def test_reasons_of_a_form(words: int, required: bool, reason: str | None, accepted: bool) -> None:
    reasons = {} if reason is None else {"better": reason}
    problem = check_form(form("better", words=words, required=required), filled({"better": "first"}, reasons))
    assert (problem is None) == accepted
    assert accepted or "Please give your reason in at least" in str(problem)


def test_each_question_wants_a_reason_of_its_own() -> None:
    both = {"better": "first", "nicer": "first"}
    problem = check_form(form("better", "nicer", words=2), filled(both, {"better": "it asks back"}))
    assert problem == "Please give your reason in at least 2 words."


@pytest.mark.parametrize(
    ("ties", "ranks", "said"),
    [
        (False, {"x": 2, "y": 1, "z": 3}, None),
        (True, {"x": 1, "y": 1, "z": 2}, None),
        (True, {"x": 1, "y": 1, "z": 3}, None),
        (True, {"x": 1, "y": 1, "z": 1}, None),
        (False, {"x": 1, "y": 1, "z": 2}, "Two replies have the same rank. Please give each reply a different rank."),
        (False, {"x": 1, "y": 2}, "Please rank every reply: one has no rank yet."),
        (True, {}, "Please rank every reply: 3 have no rank yet."),
        (False, {"x": 1, "y": 2, "z": 4}, "Ranks go from 1 to 3. Please give every reply one of these ranks."),
        (True, {"x": 50, "y": 50, "z": 50}, "Ranks go from 1 to 3. Please give every reply one of these ranks."),
        (False, {"x": 1, "y": 2, "q": 3}, "You were not shown that reply"),
        (False, {"x": 1, "y": 2, "z": 3, "q": 4}, "You were not shown that reply"),
    ],
)
def test_every_reply_one_place(ties: bool, ranks: dict[str, int], said: str | None) -> None:
    problem = check_ranking(ranking(ties=ties), ranked(**ranks))
    assert problem == said or (said is not None and problem is not None and problem.startswith(said))


@pytest.mark.parametrize("place", [0, -1, 51, 1.5, 1.0, "1", True])
def test_a_place_is_a_whole_number(place: object) -> None:
    """The answer itself is refused, before any step is asked."""
    with pytest.raises(ValidationError):
        RankAnswer.model_validate({"kind": "rank", "update_id": "u", "step_id": "s", "ranks": {"x": place}})


def test_a_ranking_may_want_a_reason() -> None:
    places = {"x": 1, "y": 2, "z": 3}
    assert check_ranking(ranking(words=2), ranked(**places)) == "Please give your reason in at least 2 words."
    assert check_ranking(ranking(words=2), ranked("it fits", **places)) is None


@given(st.dictionaries(st.sampled_from("xyzq"), st.integers(1, 5)), st.booleans())
def test_only_whole_rankings_of_what_was_shown_pass(ranks: dict[str, int], ties: bool) -> None:
    passes = check_ranking(ranking(ties=ties), ranked(**ranks)) is None
    places = sorted(ranks.values())
    assert passes == (set(ranks) == set("xyz") and max(places) <= 3 and (ties or places == [1, 2, 3]))


@given(
    st.dictionaries(st.sampled_from(["a", "b", "forged"]), st.sampled_from(["first", "second", "third"])),
    st.dictionaries(st.sampled_from(["a", "b", "forged"]), st.sampled_from(["", "one", "one two"])),
)
def test_only_whole_forms_of_what_was_asked_pass(values: dict[str, str], reasons: dict[str, str]) -> None:
    passes = check_form(form("a", "b", words=2), filled(values, reasons)) is None
    whole = set(values) == {"a", "b"} and "third" not in values.values()
    assert passes == (whole and reasons == {"a": "one two", "b": "one two"})
