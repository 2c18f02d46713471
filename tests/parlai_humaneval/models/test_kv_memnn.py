"""The key-value memory network: it learns, remembers, hears its persona, and answers for many at once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from parlai.core.agents import Agent
from parlai.core.message import Message
from taught import KV_MEMNN, PETS, dialogues, spec_of, taught
from warm_python import WarmPython

from parlai_humaneval.models.baselines.kv_memnn import MemoryNetwork, ReplyMemory
from parlai_humaneval.models.baselines.training import Trained
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.pool.loading import load_agent
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[ModelSpec, Trained]:
    return taught("kv_memnn", tmp_path_factory.mktemp("kv") / "kv", KV_MEMNN)


@pytest.fixture(scope="module")
def agent(trained: tuple[ModelSpec, Trained]) -> Agent:
    return load_agent(trained[0])


def observed(agent: Agent, *texts: str) -> Message:
    """What a fresh clone observes last."""
    clone = agent.clone()
    for text in texts:
        observation = clone.observe(Message({"text": text, "episode_done": False}))
        clone.self_observe(Message({"id": "kv", "text": "well .", "episode_done": False}))
    return observation


def test_unseen_dialogues_are_ranked_far_better_than_by_chance(trained: tuple[ModelSpec, Trained]) -> None:
    """Guards that it learns: batches of 20 candidates, so chance is a twentieth; and the loss is below that of chance."""
    valid = trained[1].valid
    assert valid["hits@1"] > 0.2
    assert valid["loss"] < 2.6  # the logarithm of 20 is 3.0


def test_it_answers_from_its_memory_without_another_file(agent: Agent, trained: tuple[ModelSpec, Trained]) -> None:
    """Guards the model's file as all that is needed: every answer is a reply of the training data, on the topic asked."""
    replies = {str(dialogue["turns"][1]) for dialogue in dialogues()}
    answer = agent.batch_act([observed(agent, "do you like pizza and soup ?")])[0]
    assert {answer["text"], *answer["text_candidates"]} <= replies
    assert any(word in answer["text"] for word in ("cooking", "dinner", "kitchens", "recipes"))
    assert not list(trained[1].model_file.parent.glob("*cands*"))


@pytest.mark.parametrize("pet", PETS)
def test_the_persona_decides(agent: Agent, pet: str) -> None:
    """Guards the hop over the profile: the same question is answered by whatever pet the persona has."""
    answer = agent.batch_act([observed(agent, f"your persona: i own a {pet}\nhi , which pet ?")])[0]
    assert answer["text"] == f"a {pet} ."


def test_without_the_hop_over_the_profile_the_persona_would_not_decide(agent: Agent) -> None:
    """Guards the test above: the persona is not in the query, where it would be mere words."""
    message = observed(agent, "your persona: i own a dog\nhi , which pet ?")
    assert agent.dict.txt2vec("hi , which pet ?") == message["text_vec"].tolist()


@settings(deadline=None, max_examples=20)
@given(st.lists(st.sampled_from(range(40)), min_size=2, max_size=6))
def test_many_are_answered_as_each_alone(agent: Agent, chosen: list[int]) -> None:
    """Guards padding of queries and profiles: lengths of the others in a batch change no answer and no ranking."""
    messages = []
    for index in chosen:
        dialogue = dialogues()[index]
        messages.append(observed(agent, "\n".join([*dialogue.get("context", ()), dialogue["turns"][0]])))
    together = agent.clone().batch_act(messages)
    for message, answer in zip(messages, together, strict=True):
        alone = agent.clone().batch_act([message])[0]
        assert alone["text"] == answer["text"]
        assert alone["text_candidates"][:5] == answer["text_candidates"][:5]


def test_hops_over_remembered_dialogues_change_the_ranking(trained: tuple[ModelSpec, Trained], agent: Agent) -> None:
    """Guards the second hop, and that two names can share one copy of weights and memory with other hops."""
    opt = {**agent.opt, "hops": 0}
    profile_only = type(agent)(opt, agent.share())
    assert profile_only.memory is agent.memory
    message = observed(agent, "do you like sailing and waves ?")
    rankings = [model.batch_act([message])[0]["text_candidates"] for model in (agent.clone(), profile_only)]
    assert rankings[0] != rankings[1]


def test_training_does_not_read_what_is_remembered(trained: tuple[ModelSpec, Trained], agent: Agent) -> None:
    """Guards the paper's way (section 4.2), and the loss: the example's own reply is among what is remembered."""
    learner = agent.clone()
    batch = learner.batchify([observed(agent, "do you like sailing and waves ?")])
    candidates = learner.fixed_candidate_vecs[:5]
    scores = {}
    for training, hops in ((True, 0), (True, 1), (False, 0), (False, 1)):
        learner.is_training, learner.hops = training, hops
        with torch.no_grad():
            scores[training, hops] = learner.score_candidates(batch, candidates)
    torch.testing.assert_close(scores[True, 1], scores[True, 0])
    torch.testing.assert_close(scores[True, 0], scores[False, 0])
    assert not torch.allclose(scores[False, 1], scores[False, 0]), "hops that change nothing would prove nothing"


def test_no_line_of_the_dialogue_is_repeated_in_a_pool(trained: tuple[ModelSpec, Trained]) -> None:
    """Guards against ParlAI's own block of repetitions, which knows the history of the answering clone alone."""
    with ModelPool([trained[0]]) as pool:
        speaker = pool.speaker([trained[0].name], seed=1)
        said = []
        for _ in range(3):
            speaker.observe({"text": "do you like pizza and soup ?", "episode_done": False})
            said.append(speaker.act()["text"])
    assert len(set(said)) == 3


def test_an_untrained_one_says_what_it_lacks(tmp_path: Path) -> None:
    """Guards the clear words for a model that has no replies yet."""
    model = spec_of("kv_memnn", tmp_path, {}).options["model"]
    with pytest.raises(ZooError, match="has no replies to choose from"):
        load_agent(ModelSpec(name="kv", options={"model": model, "model_file": str(_empty_dictionary(tmp_path))}))


def _empty_dictionary(folder: Path) -> Path:
    torch.save({}, folder / "model")
    (folder / "model.dict").write_text("__null__\t1\n__start__\t1\n__end__\t1\n__unk__\t1\nhi\t1\n", encoding="utf-8")
    return folder / "model"


@pytest.mark.slow
def test_parlais_own_commands_work_with_it(trained: tuple[ModelSpec, Trained], warm: WarmPython) -> None:
    """Guards `parlai eval_model`: the agent is found by the model's file, and the batch brings the candidates."""
    model_file = trained[1].model_file
    done = warm.run(
        str(Path(sys.executable).parent / "parlai"), "eval_model", "--model-file", str(model_file), "--no-cuda",
        "--task", "fromfile:parlaiformat", "--fromfile-datapath", str(_as_text(model_file.parent)),
        "--batchsize", "5",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert "hits@1" in done.stdout


def _as_text(folder: Path) -> Path:
    path = folder / "examples.txt"
    lines = [f"text:{d['turns'][0]}\tlabels:{d['turns'][1]}\tepisode_done:True" for d in dialogues()[:15]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_sentences_of_padding_are_no_sentences() -> None:
    """Guards the mask: a profile with empty rows adds what it adds without them, and an empty one nothing at all."""
    torch.manual_seed(1)
    model = MemoryNetwork(20, 8, 0)
    query = model.hear(torch.tensor([[4, 5]]))
    sentences = torch.tensor([[[6, 7], [8, 9]]])
    filled = torch.cat([sentences, torch.zeros(1, 3, 2, dtype=torch.long)], dim=1)
    torch.testing.assert_close(model.read_profile(query, filled), model.read_profile(query, sentences))
    torch.testing.assert_close(model.read_profile(query, torch.zeros(1, 2, 2, dtype=torch.long)), query)


@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(1, 9), max_size=4), st.text(max_size=5), st.lists(st.integers(1, 9), max_size=3)
        ),
        max_size=12,
    ),
    st.integers(1, 8),
)
def test_a_memory_is_read_as_it_was_written(pairs: list[tuple[list[int], str, list[int]]], limit: int) -> None:
    """Guards the flat form in the model's file, the limit, and that no pair is kept and no bag is offered twice."""
    memory = ReplyMemory(limit)
    for key, reply, tokens in pairs * 2:
        memory.add(key, reply, tokens)
    again = ReplyMemory.from_state(memory.state(), limit)
    assert [*again.pairs.items()] == [*memory.pairs.items()]
    known = {(tuple(key), reply) for key, reply, tokens in pairs if key and tokens}
    assert len(memory) == min(limit, len(known))
    assert len(memory.candidates()) == len({tuple(sorted(tokens)) for tokens in memory.pairs.values()})
