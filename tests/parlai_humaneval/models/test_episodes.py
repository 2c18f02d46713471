"""Where a dialogue ends, and with whose words it goes on, in the worlds of ParlAI's tasks."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import pytest
from parlai.core.message import Message
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser

from parlai_humaneval.models.agent.dialogue_agent import DialogueAgent, Line
from parlai_humaneval.models.bot_speaker.bot_speaker import BotSpeakerAgent
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.zoo.entries import ModelSpec


class CountingAgent(DialogueAgent):
    """Says how many lines it heard, and a number by chance."""

    asked = 0

    def reply(self, dialogue: Sequence[Line], rng: random.Random) -> str:
        CountingAgent.asked += 1
        return f"{len(dialogue)} lines, {rng.randrange(10**9)}"


def heard(text: str, **more: Any) -> Message:
    return Message({"text": text, "episode_done": False, **more})


def exchange(agent: Any, text: str, **more: Any) -> str:
    agent.observe(heard(text, **more))
    return str(agent.act()["text"])


def test_the_answer_to_the_last_message_ends_the_dialogue() -> None:
    """Guards against histories that grow from one episode to the next, and personas of the one before."""
    agent = CountingAgent(Opt())
    exchange(agent, "your persona: I ski.\nHi!", eval_labels=["Hello."])
    assert exchange(agent, "Bye.", eval_labels=["Bye!"], episode_done=True).startswith("3 lines")
    assert (agent.dialogue, agent.persona, agent.observation) == ([], (), None)
    assert exchange(agent, "your persona: I dance.\nHi again!").startswith("1 lines")
    assert agent.persona == ("I dance.",)


def test_an_episode_that_was_not_answered_is_forgotten_all_the_same() -> None:
    """Guards a world that does not let the agent answer the last message."""
    agent = CountingAgent(Opt())
    agent.observe(heard("Bye.", episode_done=True))
    assert exchange(agent, "Hi!").startswith("1 lines")


@pytest.mark.parametrize("labels", ["labels", "eval_labels"])
@pytest.mark.parametrize(("use_reply", "said"), [("label", "Gold."), ("model", None), ("none", "")])
def test_a_dialogue_goes_on_with_the_right_answer(labels: str, use_reply: str, said: str | None) -> None:
    """Guards `--use-reply`, whose default is the task's own words, as TorchAgent's is."""
    agent = CountingAgent(Opt(use_reply=use_reply))
    reply = exchange(agent, "Hi!", **{labels: ["Gold."]})
    expected = [("human", "Hi!"), ("bot", reply if said is None else said)]
    assert agent.dialogue == (expected if said != "" else expected[:1])


def test_of_several_right_answers_every_clone_takes_the_same() -> None:
    """Guards metrics against the size of the batch: TorchAgent's clones draw by what each has drawn before."""
    answers = [f"Answer {number}." for number in range(20)]
    agents = [CountingAgent(Opt()) for _ in range(2)]
    exchange(agents[0], "Before", eval_labels=answers, episode_done=True)
    for agent in agents:
        exchange(agent, "Hi!", eval_labels=answers)
        exchange(agent, "And you?", eval_labels=answers)
    assert agents[0].dialogue == agents[1].dialogue
    assert len({text for speaker, text in agents[0].dialogue if speaker == "bot"}) == 2


def test_what_only_fills_up_a_batch_is_not_answered() -> None:
    """Guards servers against questions that nobody asked, and clones that have no episode left."""
    agents = [CountingAgent(Opt()) for _ in range(2)]
    CountingAgent.asked = 0
    observations = [agents[0].observe(heard("Hi!")), agents[1].observe(Message.padding_example())]
    answers = agents[0].batch_act(observations)
    for agent, answer in zip(agents, answers, strict=True):
        agent.self_observe(answer)
    assert (CountingAgent.asked, "text" in answers[1], agents[1].dialogue) == (1, False, [])


def test_each_dialogue_of_one_agent_has_a_chance_of_its_own() -> None:
    """Guards `parlai self_chat` against the same dialogue again and again, and a run against another with its seed."""

    def run(seed: int) -> list[str]:
        agent = CountingAgent(Opt(seed=seed))
        replies = []
        for _ in range(3):
            replies.append(exchange(agent, "Hi!"))
            agent.reset()
            agent.reset()  # ParlAI's worlds do so twice; a dialogue in which nothing was said counts for nothing
        return replies

    assert run(1) == run(1)
    assert len({*run(1), *run(2)}) == 6


def test_the_first_dialogue_has_the_seed_that_was_given() -> None:
    """Guards the replies that the pool's conversations got before later dialogues had seeds of their own."""
    agent = CountingAgent(Opt())
    agent.reset()
    agent.set_seed(5)
    assert exchange(agent, "Hi!") == f"1 lines, {random.Random('5|1|Hi!').randrange(10**9)}"


@pytest.fixture
def pool(agent_pool: Any) -> Iterator[ModelPool]:
    return agent_pool({name: CountingAgent({}) for name in "ab"})  # type: ignore[no-any-return]


def chances(speaker: BotSpeakerAgent, dialogues: int) -> list[str]:
    """The replies to “Hi!” in ``dialogues`` dialogues."""
    replies = []
    for _ in range(dialogues):
        replies.append(exchange(speaker, "Hi!"))
        speaker.reset()
        speaker.reset()
    return replies


def test_a_bot_speakers_dialogues_differ_and_a_run_does_not(pool: ModelPool) -> None:
    """Guards `parlai self_chat` with models that sample: each dialogue a chance of its own, by the first seed."""
    runs = [chances(pool.speaker(["a", "b"], seed=seed), 3) for seed in (1, 1, 2)]
    assert runs[0] == runs[1]
    assert len({*runs[0], *runs[2]}) == 6
    assert runs[0][0] == f"1 lines, {random.Random('1|1|Hi!').randrange(10**9)}", "the first has the seed as it is"


def test_clones_of_a_bot_speaker_number_their_dialogues_together(pool: ModelPool) -> None:
    """Guards a batch: its clones' chances differ, and are those that one Bot Speaker has after another."""
    alone = chances(pool.speaker(["a", "b"], seed=1), 4)
    root = pool.speaker(["a", "b"], seed=1)
    clones = [root.clone(), root.clone()]
    together = [chances(clone, 1)[0] for _ in range(2) for clone in clones]
    assert together == alone


def test_a_bot_speaker_goes_on_with_the_right_answer(pool: ModelPool) -> None:
    """Guards `parlai eval_model`: every model hears the task's words as its own, in a batch and alone."""
    speaker = pool.speaker(["a", "b"], seed=1)
    exchange(speaker, "Hi!", eval_labels=["Gold."])
    exchange(speaker, "And you?", eval_labels=["Old."])
    assert speaker.dialogue == [("human", "Hi!"), ("bot", "Gold."), ("human", "And you?")]
    speaker.self_observe(speaker.act())
    assert speaker.dialogue[-1] == ("bot", "Old.")


@pytest.mark.parametrize(("use_reply", "said"), [("model", True), ("none", False)])
def test_a_bot_speaker_can_go_on_with_its_own_words_or_none(use_reply: str, said: bool) -> None:
    """Guards `--use-reply` of the Bot Speaker on ParlAI's command line."""
    with ModelPool([ModelSpec(name="eliza", options={"model": "parlai_humaneval.agents.eliza:ElizaAgent"})]) as pool:
        options = Opt({"seed": 1, "use_reply": use_reply})
        speaker = BotSpeakerAgent(options, {"models": ["eliza"], "pool": pool})
        reply = exchange(speaker, "Hi!", eval_labels=["Gold."])
        speaker.observe(heard("And you?"))
        assert speaker.dialogue == [("human", "Hi!"), *([("bot", reply)] if said else []), ("human", "And you?")]


def test_a_bot_speaker_is_silent_where_a_batch_is_only_filled_up(pool: ModelPool) -> None:
    """Guards `eval_model` in batches, which ended in a KeyError once the first of their dialogues had no successor."""
    speaker = pool.speaker(["a", "b"], seed=1)
    exchange(speaker, "Bye.", episode_done=True)
    speaker.observe(Message.padding_example())
    message = speaker.act()
    speaker.self_observe(message)
    assert "text" not in message
    assert speaker.dialogue == []


def test_an_agent_may_have_attributes_by_the_names_of_ours() -> None:
    """Guards agents of a user's own that were written before ours said their options by class attributes."""

    class OwnAgent(CountingAgent):
        OPTIONS: ClassVar[Any] = {"a": 1}
        KNOWN: ClassVar[Any] = {"use_reply": 3}
        SHARED: ClassVar[Any] = ["weights"]

    parser = OwnAgent.add_cmdline_args(ParlaiParser(False, False))
    assert parser.parse_args([])["use_reply"] == "label"
    assert OwnAgent(Opt()).share()["class"] is OwnAgent
