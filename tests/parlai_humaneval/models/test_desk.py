"""The desk where requests wait for a person's replies: who gets them, who waits, who gives up."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

import pytest
from at_desk import eventually, heard, in_hand, reply

from parlai_humaneval.models.backends.human import Desk, NobodyAnswered, NobodyThere, Withdrawn, errand_id_of


def test_what_was_answered_and_is_asked_again_is_another_request(
    desk: Desk, asking: Callable[..., Future[str]]
) -> None:
    """As when a filter lets nobody see the reply: the first answer, sent once more, does not answer the second request."""
    desk.sit_down("p")
    first = asking(heard())
    reply(desk, "p", "not fit to be shown")
    assert first.result(5) == "not fit to be shown"
    again = asking(heard())
    assert in_hand(desk, "p") == heard()
    assert not desk.answer("p", errand_id_of(heard()), "not fit to be shown")
    errand = desk.in_hand("p")
    assert errand is not None
    assert desk.answer("p", errand.errand_id, "fit")
    assert again.result(5) == "fit"


def test_nobody_answers(desk: Desk, asking: Callable[..., Future[str]]) -> None:
    """The request is withdrawn after the time; the next one is not held up by it."""
    with pytest.raises(NobodyAnswered, match=r"within 0\.05 s"):
        asking(heard(), 0.05).result(5)
    assert desk.waiting() == 0
    desk.sit_down("p")
    later = asking(heard(text="again"))
    reply(desk, "p", "here")
    assert later.result(5) == "here"


def test_somebody_who_is_there_is_waited_for(desk: Desk, asking: Callable[..., Future[str]]) -> None:
    """The time without partners counts from when the last one left, and not at all while somebody sits here."""
    desk.sit_down("p")
    waiting = asking(heard(), unattended_s=0.1)
    assert in_hand(desk, "p") == heard()
    with pytest.raises(TimeoutError):
        waiting.result(0.4)
    desk.stand_up("stranger")
    desk.stand_up("p")
    with pytest.raises(NobodyThere):
        waiting.result(5)


def test_whoever_comes_in_time_writes_it(desk: Desk, asking: Callable[..., Future[str]]) -> None:
    """A partner who sits down before the end finds the message."""
    waiting = asking(heard(), unattended_s=5.0)
    eventually(lambda: desk.waiting() == 1)
    desk.sit_down("p")
    reply(desk, "p", "Hello!")
    assert waiting.result(5) == "Hello!"


def test_raters_who_are_away_come_after_those_who_are_there(desk: Desk, asking: Callable[..., Future[str]]) -> None:
    """Theirs waits longest, and is taken up last, unless they come back; nothing is lost."""
    first = asking(heard(1))
    eventually(lambda: desk.waiting() == 1)
    second = asking(heard(2))
    eventually(lambda: desk.waiting() == 2)
    third = asking(heard(3))
    eventually(lambda: desk.waiting() == 3)
    desk.hold(1, True)
    desk.hold(2, True)
    desk.sit_down("p")
    assert in_hand(desk, "p").seed == 3
    desk.hold(2, False)
    reply(desk, "p", "to the third")
    assert in_hand(desk, "p").seed == 2
    reply(desk, "p", "to the second")
    reply(desk, "p", "to the first")
    assert [waiting.result(5) for waiting in (first, second, third)] == [
        "to the first",
        "to the second",
        "to the third",
    ]


def test_the_oldest_wait_is_that_of_messages_of_nobody(desk: Desk, asking: Callable[..., Future[str]]) -> None:
    """What is in hand does not count."""
    assert desk.oldest_wait_s() == 0
    asking(heard())
    eventually(lambda: desk.oldest_wait_s() > 0)
    desk.sit_down("p")
    assert desk.oldest_wait_s() == 0


def test_a_closed_desk_lets_everybody_go(desk: Desk, asking: Callable[..., Future[str]]) -> None:
    """Whoever waits, and whoever comes later."""
    waiting = asking(heard())
    eventually(lambda: desk.waiting() == 1)
    desk.close()
    with pytest.raises(Withdrawn):
        waiting.result(5)
    with pytest.raises(Withdrawn):
        asking(heard(2)).result(5)


def test_a_conversation_stays_with_its_partner_until_they_go(desk: Desk, asking: Callable[..., Future[str]]) -> None:
    """The owner is busy: the message waits for them, though another partner is free; when they go, it does not."""
    desk.sit_down("one")
    first = asking(heard(1))
    reply(desk, "one", "first")
    assert first.result(5) == "first"
    other = asking(heard(2))
    in_hand(desk, "one")
    desk.sit_down("two")
    mine = asking(heard(1, "and?"))
    eventually(lambda: desk.waiting() == 1)
    assert desk.in_hand("two") is None
    desk.stand_up("one")
    assert {in_hand(desk, "two").seed, desk.waiting()} == {2, 1}
    reply(desk, "two", "taken over")
    reply(desk, "two", "this one, too")
    assert (other.result(5), mine.result(5)) == ("taken over", "this one, too")


def test_only_who_has_it_in_hand_may_answer(desk: Desk, asking: Callable[..., Future[str]]) -> None:
    """A late answer, or one to another's message, changes nothing."""
    desk.sit_down("one")
    waiting = asking(heard())
    in_hand(desk, "one")
    desk.sit_down("two")
    assert not desk.answer("two", errand_id_of(heard()), "mine!")
    assert not desk.answer("one", errand_id_of(heard(9)), "what?")
    reply(desk, "one", "good")
    assert waiting.result(5) == "good"
    assert not desk.answer("one", errand_id_of(heard()), "again")
