"""A person as a model: the agent and its pool, without any page."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from at_desk import eventually, heard, in_hand, reply

from parlai_humaneval.models.backends.base import Heard
from parlai_humaneval.models.backends.human import Desk, HumanAgent, NobodyThere, Withdrawn, is_person, offered
from parlai_humaneval.models.model_pool import ModelFailed, ModelPool
from parlai_humaneval.models.pool.loading import load_agent
from parlai_humaneval.models.zoo.entries import ModelSpec, Running, ZooError

HUMAN = ModelSpec(
    name="person",
    options={"model": "parlai_humaneval.agents.human:HumanAgent", "patience_s": 5.0},
    running=Running(timeout_s=5.0),
)
PERSONA = ["I keep bees."]


def test_checks_say_that_it_needs_a_launch(desk: Desk) -> None:
    """`models check human`, which loads nothing; in a launch nothing is lacking."""
    (sentence,) = HumanAgent.lacks({}, Path())
    assert "people write its replies on the partners' page" in sentence
    with offered(desk):
        assert HumanAgent.lacks({}, Path()) == []


def test_outside_of_a_launch_it_says_what_it_needs() -> None:
    """In self-chat, `models chat` and `models check --load` there is no desk: a sentence names the launch."""
    with pytest.raises(ZooError, match=HumanAgent.lacks({}, Path())[0]):
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
        with pytest.raises(ModelFailed, match=str(Withdrawn())):
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


def test_nobody_there_is_given_up_soon_and_for_good(desk: Desk, asking: Callable[..., Future[str]]) -> None:
    """With no partner at all it ends long before the patience, and the pool does not ask again."""
    with pytest.raises(NobodyThere, match=r"no person was there .* for 0\.05 s") as raised:
        asking(heard(), unattended_s=0.05).result(5)
    assert raised.value.final
    assert desk.waiting() == 0


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
    with offered(desk), pytest.raises(ZooError, match=f"{option}: .* is too low; choose more than 0 seconds"):
        load_agent(HUMAN.model_copy(update={"options": {**HUMAN.options, option: value}}))


def test_bad_options_are_refused(desk: Desk) -> None:
    """Not a number of seconds, and no such option."""
    with offered(desk), pytest.raises(ZooError, match="patience"):
        load_agent(HUMAN.model_copy(update={"options": {**HUMAN.options, "patience": 3}}))


def test_its_class_is_registered() -> None:
    """The short name leads to it, once its module is imported."""
    from parlai.core.loader import load_agent_module

    assert load_agent_module("parlai_humaneval/human") is HumanAgent
