"""A person as a model: the agent, and the desk where requests wait, without any page."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from parlai_humaneval.agents.human import HumanAgent, is_person
from parlai_humaneval.agents.outside import Heard
from parlai_humaneval.models.desk import Desk, NobodyAnswered, NobodyThere, Withdrawn, errand_id_of, offered
from parlai_humaneval.models.loading import load_agent
from parlai_humaneval.models.pool import ModelFailed, ModelPool
from parlai_humaneval.models.zoo import ModelSpec, Running, ZooError

HUMAN = ModelSpec(
    name="person",
    options={"model": "parlai_humaneval.agents.human:HumanAgent", "patience_s": 5.0},
    running=Running(timeout_s=5.0),
)
PERSONA = ["I keep bees."]


def heard(seed: int = 1, text: str = "Hi!") -> Heard:
    return Heard(dialogue=(("human", text),), persona=(), partner_persona=(), seed=seed)


def eventually(condition: Callable[[], Any], timeout: float = 5.0) -> None:
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.005)


def test_checks_say_that_it_needs_a_launch(desk: Desk) -> None:
    """`models check human`, which loads nothing; in a launch nothing is lacking."""
    (sentence,) = HumanAgent.lacks({}, Path())
    assert "partners' page of a launch" in sentence
    with offered(desk):
        assert HumanAgent.lacks({}, Path()) == []


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk()
    yield made
    made.close()


@pytest.fixture
def asking(desk: Desk) -> Iterator[Callable[..., Future[str]]]:
    """``asking(heard(…), patience_s=…)``: a model asks, in a thread of its own."""
    with ThreadPoolExecutor(8) as threads:
        yield lambda what, patience_s=5.0, **more: threads.submit(desk.ask, what, patience_s=patience_s, **more)
        desk.close()


def in_hand(desk: Desk, partner: str) -> Heard:
    eventually(lambda: desk.in_hand(partner))
    errand = desk.in_hand(partner)
    assert errand is not None
    return errand.heard


def reply(desk: Desk, partner: str, text: str) -> None:
    assert desk.answer(partner, errand_id_of(in_hand(desk, partner)), text)


def test_outside_of_a_launch_it_says_what_it_needs() -> None:
    """In self-chat, `models chat` and `models check --load` there is no desk: a sentence names the launch."""
    with pytest.raises(ZooError, match="partners' page of a launch"):
        load_agent(HUMAN)


def test_the_loaded_model_asks_the_desk_that_was_offered(desk: Desk) -> None:
    """In a pool: the person sees the persona and what was said; their words are the reply, with no server's account."""
    with offered(desk):
        pool = ModelPool([HUMAN]).load()
    assert desk.used
    desk.sit_down("p")
    with pool, ThreadPoolExecutor(1) as thread:
        speaker = pool.speaker(["person"], seed=7, personas={"person": PERSONA})
        speaker.observe({"text": "Hi!", "episode_done": False})
        act = thread.submit(speaker.act)
        assert in_hand(desk, "p") == Heard((("human", "Hi!"),), tuple(PERSONA), (), 7)
        reply(desk, "p", "Hello!")
        (candidate,) = act.result(5)["candidates"]
        assert (candidate["text"], candidate["info"]) == ("Hello!", None)
        speaker.observe({"text": "And now?", "episode_done": False})
        act = thread.submit(speaker.act)
        assert in_hand(desk, "p").dialogue == (("human", "Hi!"), ("bot", "Hello!"), ("human", "And now?"))
        reply(desk, "p", "Now this.")
        assert act.result(5)["text"] == "Now this."


def test_who_leaves_is_not_asked_for_again(desk: Desk) -> None:
    """The rater has left: the request is gone at once, and the pool does not put it back."""
    with offered(desk):
        pool = ModelPool([HUMAN]).load()
    desk.sit_down("p")
    with pool, ThreadPoolExecutor(1) as thread:
        speaker = pool.speaker(["person"], seed=7)
        speaker.observe({"text": "Hi!", "episode_done": False})
        act = thread.submit(speaker.act)
        in_hand(desk, "p")
        speaker.leave()
        with pytest.raises(ModelFailed, match="no reply is needed any more"):
            act.result(5)
        assert (desk.in_hand("p"), desk.waiting()) == (None, 0)


def test_the_pool_asks_again_and_the_same_request_is_still_there(desk: Desk) -> None:
    """After a time-out of the pool the partner goes on writing: one reply answers both tries, and the rater heard of it."""
    delays: list[str] = []
    spec = HUMAN.model_copy(update={"running": Running(timeout_s=0.2, retries=50)})
    with offered(desk):
        pool = ModelPool([spec]).load()
    desk.sit_down("p")
    with pool, ThreadPoolExecutor(1) as thread:
        speaker = pool.speaker(["person"], seed=7)
        speaker.observe({"text": "Hi!", "episode_done": False})
        act = thread.submit(speaker.act, delays.append)
        in_hand(desk, "p")
        errand = desk.in_hand("p")
        eventually(lambda: len(delays) >= 2)
        assert desk.in_hand("p") is errand
        reply(desk, "p", "Sorry, I was typing.")
        assert act.result(5)["text"] == "Sorry, I was typing."


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


def test_nobody_there_is_given_up_soon_and_for_good(desk: Desk, asking: Callable[..., Future[str]]) -> None:
    """With no partner at all it ends long before the patience, and the pool does not ask again."""
    with pytest.raises(NobodyThere, match=r"no person was there .* for 0\.05 s") as raised:
        asking(heard(), unattended_s=0.05).result(5)
    assert raised.value.final
    assert desk.waiting() == 0


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
    reply(desk, "p", "here I am")
    assert waiting.result(5) == "here I am"


def test_a_pool_gives_up_at_once_where_nobody_is_there(desk: Desk) -> None:
    """However many tries are left: the rater is to be told, and not kept."""
    options = {**HUMAN.options, "unattended_s": 0.05}
    spec = HUMAN.model_copy(update={"options": options, "running": Running(timeout_s=60, retries=50)})
    with offered(desk):
        pool = ModelPool([spec]).load()
    with pool:
        speaker = pool.speaker(["person"], seed=7)
        speaker.observe({"text": "Hi!", "episode_done": False})
        with pytest.raises(ModelFailed, match="no person was there"):
            speaker.act()


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


def test_the_speaker_knows_whether_a_line_waits_for_somebody_absent(desk: Desk) -> None:
    """Before it is asked for and while it is; not once it is there, though nobody sits here any more."""
    with offered(desk):
        pool = ModelPool([HUMAN]).load()
    with pool, ThreadPoolExecutor(1) as thread:
        speaker = pool.speaker(["person"], seed=7)
        speaker.observe({"text": "Hi!", "episode_done": False})
        assert speaker.absent()
        act = thread.submit(speaker.act)
        eventually(lambda: desk.waiting() == 1)
        assert speaker.absent()
        desk.sit_down("p")
        assert not speaker.absent()
        reply(desk, "p", "Hello!")
        assert act.result(5)["text"] == "Hello!"
        desk.stand_up("p")
        assert not speaker.absent()
        speaker.observe({"text": "And now?", "episode_done": False})
        assert speaker.absent()


def test_the_oldest_wait_is_that_of_messages_of_nobody(desk: Desk, asking: Callable[..., Future[str]]) -> None:
    """What is in hand does not count."""
    assert desk.oldest_wait_s() == 0
    asking(heard())
    eventually(lambda: desk.oldest_wait_s() > 0)
    desk.sit_down("p")
    assert desk.oldest_wait_s() == 0


def test_who_is_a_person() -> None:
    """By class, so that one of your own counts; what cannot be imported is none."""
    assert is_person(HUMAN)
    for model in ("parlai_humaneval.agents.eliza:ElizaAgent", "no.such.module:Agent", "repeat_query"):
        assert not is_person(HUMAN.model_copy(update={"options": {"model": model}}))
    assert not is_person(HUMAN.model_copy(update={"options": {"model_file": "somewhere"}}))


@pytest.mark.parametrize("option", ["patience_s", "unattended_s"])
@pytest.mark.parametrize("value", [0, -1])
def test_times_must_be_times(desk: Desk, option: str, value: float) -> None:
    """Said when the model is loaded."""
    with offered(desk), pytest.raises(ZooError, match=f"{option} must be a number of seconds over 0"):
        load_agent(HUMAN.model_copy(update={"options": {**HUMAN.options, option: value}}))


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


def test_bad_options_are_refused(desk: Desk) -> None:
    """Not a number of seconds, and no such option."""
    with offered(desk), pytest.raises(ZooError, match="patience"):
        load_agent(HUMAN.model_copy(update={"options": {**HUMAN.options, "patience": 3}}))


class DeskRules(RuleBasedStateMachine):
    """Whoever comes, asks, answers and goes: the desk stays in order. No time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk()
        self.here: set[str] = set()
        self.turn = 0
        self.threads: list[threading.Thread] = []
        self.waiting: dict[str, Heard] = {}
        self.said: dict[str, str] = {}

    partners = st.sampled_from(["p1", "p2", "p3"])
    seeds = st.integers(1, 4)

    @rule(partner=partners)
    def come(self, partner: str) -> None:
        self.desk.sit_down(partner)
        self.here.add(partner)

    @rule(partner=partners)
    def go(self, partner: str) -> None:
        self.desk.stand_up(partner)
        self.here.discard(partner)

    @rule(seed=seeds)
    def ask(self, seed: int) -> None:
        if any(request.seed == seed for request in self.waiting.values()):
            return  # a rater writes again only when they were answered
        self.turn += 1
        what = heard(seed, f"turn {self.turn}")
        self.waiting[errand_id_of(what)] = what
        before = self._errands()
        thread = threading.Thread(target=self._ask, args=[what], daemon=True)
        thread.start()
        self.threads.append(thread)
        eventually(lambda: self._errands() > before)

    def _ask(self, what: Heard) -> None:
        try:
            self.said[errand_id_of(what)] = self.desk.ask(what, patience_s=30)
        except Withdrawn:
            self.said[errand_id_of(what)] = "withdrawn"

    @precondition(lambda self: self.waiting)
    @rule(partner=partners)
    def answer(self, partner: str) -> None:
        errand = self.desk.in_hand(partner)
        if errand is None:
            return
        assert self.desk.answer(partner, errand.errand_id, f"{partner}: {errand.errand_id}")
        del self.waiting[errand.errand_id]
        eventually(lambda: self.said.get(errand.errand_id) == f"{partner}: {errand.errand_id}")
        assert errand.conversation in self.desk.conversations(partner)

    @rule(seed=seeds, away=st.booleans())
    def hold(self, seed: int, away: bool) -> None:
        self.desk.hold(seed, away)

    @rule(seed=seeds)
    def leave(self, seed: int) -> None:
        self.desk.leave(seed)
        for errand_id in [key for key, request in self.waiting.items() if request.seed == seed]:
            del self.waiting[errand_id]
            eventually(partial(self._is_withdrawn, errand_id))

    def _is_withdrawn(self, errand_id: str) -> bool:
        return self.said.get(errand_id) == "withdrawn"

    def _errands(self) -> int:
        return self.desk.waiting() + sum(self.desk.in_hand(partner) is not None for partner in self.here)

    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        """Every request is with one partner who is here, or waits."""
        assert self._errands() == len(self.waiting)
        assert self.desk.partners() == len(self.here)

    @invariant()
    def nobody_idles_beside_a_message_of_nobody(self) -> None:
        """A message waits only where all are busy, or for its own partner."""
        free = {partner for partner in self.here if self.desk.in_hand(partner) is None}
        held = {errand.heard for partner in self.here if (errand := self.desk.in_hand(partner))}
        owned = {seed for partner in self.here for seed in self.desk.conversations(partner)}
        for request in set(self.waiting.values()) - held:
            assert not free or request.seed in owned

    @invariant()
    def a_conversation_has_one_partner(self) -> None:
        owned = [seed for partner in ("p1", "p2", "p3") for seed in self.desk.conversations(partner)]
        assert len(owned) == len(set(owned))

    def teardown(self) -> None:
        self.desk.close()
        for thread in self.threads:
            thread.join(5)


DeskRules.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestDesk = DeskRules.TestCase


def test_its_class_is_registered() -> None:
    """The short name leads to it, once its module is imported."""
    from parlai.core.loader import load_agent_module

    assert load_agent_module("parlai_humaneval/human") is HumanAgent
