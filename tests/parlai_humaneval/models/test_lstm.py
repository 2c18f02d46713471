"""The LSTM language model: it learns, hears its persona, and generates the same in a batch, a beam, and alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from parlai.core.agents import Agent
from parlai.core.message import Message
from taught import LSTM, PETS, dialogues, taught

from parlai_humaneval.models.baselines.training import Trained
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.pool.loading import load_agent
from parlai_humaneval.models.zoo.entries import ModelSpec


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[ModelSpec, Trained]:
    return taught("lstm", tmp_path_factory.mktemp("lstm") / "lstm", LSTM)


@pytest.fixture(scope="module")
def agent(trained: tuple[ModelSpec, Trained]) -> Agent:
    return load_agent(trained[0])


def loaded(trained: tuple[ModelSpec, Trained], **options: Any) -> Agent:
    spec = trained[0]
    return load_agent(spec.model_copy(update={"options": {**spec.options, **options}}))


def observed(agent: Agent, *texts: str) -> list[Message]:
    return [agent.clone().observe(Message({"text": text, "episode_done": False})) for text in texts]


def asked(number: int) -> str:
    dialogue = dialogues()[number]
    return "\n".join([*dialogue.get("context", ()), dialogue["turns"][0]])


def test_perplexity_on_unseen_dialogues_falls(trained: tuple[ModelSpec, Trained], tmp_path: Any) -> None:
    """Guards that it learns: a fraction of the perplexity that the same network has after one epoch."""
    _, hardly = taught("lstm", tmp_path / "hardly", LSTM, num_epochs=1)
    assert trained[1].valid["ppl"] < 0.3 * hardly.valid["ppl"]


def test_the_persona_is_in_its_context(agent: Agent) -> None:
    """Guards the state that the dialogue leaves behind: each persona's line, and nothing else, makes other words likely."""
    messages = observed(agent, *(f"your persona: i own a {pet}\nhi , which pet ?" for pet in PETS))
    replies = torch.tensor([agent.dict.txt2vec("a dog .")])
    likely = []
    for message, pet in zip(messages, PETS, strict=True):
        assert agent.dict[pet] in message["text_vec"]
        with torch.no_grad():
            scores, _ = agent.model.decode_forced(agent.model.encoder(message["text_vec"].unsqueeze(0)), replies)
        likely.append(scores[0, 1].log_softmax(-1))
    gaps = [(one - other).abs().max().item() for one in likely for other in likely if one is not other]
    assert min(gaps) > 1e-3


@pytest.mark.parametrize(
    "search", [{"inference": "greedy"}, {"inference": "beam", "beam_size": 4, "beam_min_length": 3}]
)
def test_many_are_answered_as_each_alone(trained: tuple[ModelSpec, Trained], search: dict[str, Any]) -> None:
    """Guards padding, and the beams' states: a beam that goes on from another's state says something else."""
    agent = loaded(trained, **search)
    messages = observed(agent, *map(asked, range(12)), "hi")
    together = agent.clone().batch_act(messages)
    alone = [agent.clone().batch_act([message])[0] for message in messages]
    assert [answer["text"] for answer in together] == [answer["text"] for answer in alone]
    assert len({answer["text"] for answer in together}) > 3


def test_beams_score_what_the_network_scores(trained: tuple[ModelSpec, Trained]) -> None:
    """Guards `reorder_decoder_incremental_state`: a beam's score is that of its words read in one go, from the start."""
    agent = loaded(trained, inference="beam", beam_size=5, beam_length_penalty=0.0)
    (message,) = observed(agent, "do you like pizza and soup ?")
    for text, score in agent.batch_act([message])[0]["beam_texts"]:
        said = torch.tensor([[*agent.dict.txt2vec(text), agent.END_IDX]])
        with torch.no_grad():
            scores, _ = agent.model.decode_forced(agent.model.encoder(message["text_vec"].unsqueeze(0)), said)
        whole = scores.log_softmax(-1).gather(-1, said.unsqueeze(-1)).sum().item()
        assert score == pytest.approx(whole, abs=1e-3)


def test_the_state_goes_on_word_by_word(agent: Agent) -> None:
    """Guards incremental decoding against reading all words anew, with rows exchanged on the way."""
    model = agent.model.eval()
    torch.manual_seed(1)
    text, words = torch.randint(4, 40, (3, 7)), torch.randint(4, 40, (3, 4))
    with torch.no_grad():
        read = model.encoder(text)
        _, state = model.decoder(words[:, :3], read)
        rows = [2, 0, 0]
        outputs, _ = model.decoder(words[rows], read, model.reorder_decoder_incremental_state(state, rows))
        whole, _ = model.decoder(
            words[rows][:, :3].new_tensor(_joined(words, rows)), model.reorder_encoder_states(read, rows)
        )
    torch.testing.assert_close(outputs[:, -1], whole[:, -1])


def _joined(words: torch.Tensor, rows: list[int]) -> list[list[int]]:
    return [words[row].tolist() for row in rows]


def test_padding_leaves_no_trace_in_the_state(agent: Agent) -> None:
    """Guards `pack_padded_sequence`: the state after a dialogue is that after its last word."""
    text = torch.tensor([[5, 6, 7]])
    with torch.no_grad():
        short = agent.model.encoder(text).state
        filled = agent.model.encoder(torch.cat([text, torch.zeros(1, 4, dtype=torch.long)], dim=1)).state
    for one, other in zip(short, filled, strict=True):
        torch.testing.assert_close(one, other)


def test_it_also_learns_what_it_heard(trained: tuple[ModelSpec, Trained], tmp_path: Any) -> None:
    """Guards the language model's own loss: without it, questions stay as unlikely to the network as at first."""
    _, replies_only = taught("lstm", tmp_path / "replies", LSTM, num_epochs=5, learn_context=False)
    _, all_words = taught("lstm", tmp_path / "all", LSTM, num_epochs=5)
    losses = []
    for made in (replies_only, all_words):
        model = load_agent(trained[0].model_copy(update={"options": {"model_file": str(made.model_file)}}))
        (message,) = observed(model, "do you like pizza and soup ?")
        heard = message["text_vec"].unsqueeze(0)
        with torch.no_grad():
            losses.append(float(model._loss_of_heard(model.model.encoder(heard).outputs[:, :-1], heard[:, 1:])))
    assert losses[1] < 0.6 * losses[0]


def test_nucleus_sampling_in_a_pool(trained: tuple[ModelSpec, Trained]) -> None:
    """Guards ParlAI's other searches, with several conversations at once."""
    sampled = trained[0].model_copy(update={"options": {**trained[0].options, "inference": "nucleus", "topp": 0.9}})
    with ModelPool([sampled]) as pool:
        speakers = [pool.speaker([sampled.name], seed=seed) for seed in range(3)]
        for speaker in speakers:
            speaker.observe({"text": "do you like boats and waves ?", "episode_done": False})
            assert speaker.act()["text"].strip()
