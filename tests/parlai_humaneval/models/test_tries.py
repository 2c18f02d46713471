"""Second tries for a reply: with another chance where the first words could not be shown, and with all costs counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from parlai_humaneval.display.presenter import Presenter
from parlai_humaneval.models.backends.base import Heard, OutsideAgent, Said
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.zoo.entries import ModelSpec
from parlai_humaneval.schema.records import ReplyInfo, in_all

SEED = 42
SEEDS: list[int] = []
FAILURES: list[Exception] = []


class Seeded(OutsideAgent):
    """Says its seed; nothing at all under the conversation's own. Each request costs."""

    def ask(self, heard: Heard) -> Said:
        SEEDS.append(heard.seed)
        if FAILURES:
            raise FAILURES.pop()
        text = "" if heard.seed == SEED else f"seed {heard.seed}"
        return Said(text, ReplyInfo(served_model="m", prompt_tokens=10, completion_tokens=1, cost=0.5, currency="USD"))


class NeverNice(Presenter):
    """Refuses every reply."""

    def refuse(self, text: str) -> str | None:
        return "not nice"


@pytest.fixture
def pool() -> Iterator[ModelPool]:
    SEEDS.clear()
    FAILURES.clear()
    with ModelPool([ModelSpec(name="m", options={"model": f"{__name__}:Seeded"})], retries=2) as made:
        yield made


def said(pool: ModelPool, **arguments: Any) -> dict[str, Any]:
    speaker = pool.speaker(["m", "m"], seed=SEED, **arguments)
    speaker.observe({"text": "Hi!", "episode_done": False})
    return dict(speaker.act()["candidates"][0])


def test_a_blank_reply_is_asked_for_with_another_chance(pool: ModelPool) -> None:
    """A seeded model would say the same nothing again and again; the new chance is the same in every run."""
    first, second = said(pool), said(pool)
    assert first["text"] == second["text"] != ""
    assert SEED in SEEDS
    assert len(set(SEEDS)) == 2


def test_a_broken_try_is_repeated_with_the_same_chance(pool: ModelPool) -> None:
    """Whether a server hiccups must not change what a seeded model says."""
    FAILURES.extend([RuntimeError("gone"), RuntimeError("gone")])
    said(pool)
    assert SEEDS.count(SEED) == 4  # each of the two, once broken and once blank


def test_what_blank_tries_cost_is_in_the_bill(pool: ModelPool) -> None:
    """The provider charges for them as well."""
    info = ReplyInfo.model_validate(said(pool)["info"])
    assert (info.prompt_tokens, info.completion_tokens, info.cost, info.requests) == (20, 2, 1.0, 2)


def test_what_refused_replies_cost_is_in_the_bill_of_the_one_that_is_not_shown(pool: ModelPool) -> None:
    """Three tries, none of them shown, all of them paid."""
    answers: list[Any] = []
    speaker = pool.speaker(["m"], seed=1, presenter=NeverNice())
    speaker.observe({"text": "Hi!", "episode_done": False})
    speaker._must_suffice = answers.extend
    with pytest.raises(IndexError):  # there is no card to show
        speaker.act()
    assert [(answer.blocked, answer.info.cost) for answer in answers] == [("not nice", 1.5)]


def test_infos_add_up_whatever_is_missing() -> None:
    """None is “not told”, not zero; the second's words count."""
    one = ReplyInfo(served_model="a", prompt_tokens=1, currency="USD", cost=1.0)
    two = ReplyInfo(served_model="b", completion_tokens=2, finish_reason="stop")
    assert in_all(None, None) is None
    assert in_all(one, None) == one
    assert in_all(None, two) == two
    both = ReplyInfo(
        served_model="b",
        prompt_tokens=1,
        completion_tokens=2,
        cost=1.0,
        currency="USD",
        finish_reason="stop",
        requests=2,
    )
    assert in_all(one, two) == both
