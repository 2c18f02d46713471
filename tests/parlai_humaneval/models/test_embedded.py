"""The embedded models that need no training: ELIZA and retrieval."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.dialogues.files import load_dialogues
from parlai_humaneval.models.agent.dialogue_agent import DialogueAgent
from parlai_humaneval.models.baselines.eliza import ElizaAgent
from parlai_humaneval.models.baselines.retrieval import RetrievalAgent

LINES = ["Hi!", "I have two dogs.", "What do you do for work?", "I need a holiday.", "I need a holiday.", "Because."]


def talk(agent: DialogueAgent, lines: list[str], seed: int = 0) -> list[str]:
    agent.reset()
    agent.set_seed(seed)
    replies = []
    for line in lines:
        agent.observe({"text": line, "episode_done": False})
        replies.append(agent.act()["text"])
    return replies


@pytest.fixture(scope="module", params=[ElizaAgent, RetrievalAgent])
def agent(request: pytest.FixtureRequest) -> Any:
    return request.param({})


def test_replies_are_fixed_by_the_seed_and_differ_between_conversations(agent: DialogueAgent) -> None:
    """Guards reproducible runs, and raters against all getting the same answer to “Hi!”."""
    assert talk(agent, LINES, seed=3) == talk(agent.clone(), LINES, seed=3)
    assert len({talk(agent, ["Hi!"], seed)[0] for seed in range(20)}) > 1


def test_nothing_is_said_twice_and_nothing_is_blank(agent: DialogueAgent) -> None:
    """Guards the demonstration: a model that repeats itself looks broken."""
    for seed in range(5):
        replies = talk(agent, LINES, seed)
        assert all(reply.strip() for reply in replies)
        assert len(set(replies)) == len(replies)


@pytest.mark.parametrize("text", ["", "?", "¿Qué?", "日本語", "a" * 5000, "I am \n new", "%1 %2"])
def test_any_message_gets_an_answer(agent: DialogueAgent, text: str) -> None:
    """Guards the page: a person may type anything; NLTK's ELIZA hangs at “%1”."""
    assert talk(agent, [text])[0].strip()


def test_batch_act_of_a_clone_answers_for_the_others(agent: DialogueAgent) -> None:
    """Guards the pool, which runs one clone's batch_act on the observations of all."""
    first, second = agent.clone(), agent.clone()
    observations = [
        first.observe({"text": "I have two dogs.", "episode_done": False}),
        second.observe({"text": "What do you do for work?", "episode_done": False}),
    ]
    together = [message["text"] for message in agent.batch_act(observations)]
    assert together == [first.act()["text"], second.act()["text"]]


def test_eliza_turns_what_is_said_into_a_question() -> None:
    """Guards NLTK's rules and their reflection of person."""
    reply = talk(ElizaAgent({}), ["I need my coffee"])[0]
    assert "your coffee" in reply
    assert reply.endswith("?")


@pytest.fixture
def small_corpus(tmp_path: Path) -> Path:
    dialogues = [
        {"dialogue_id": "1", "turns": ["I have a dog.", "What is your dog called?", "Rex.", "A fine name."]},
        {"dialogue_id": "2", "turns": ["I play the violin.", "For how long have you played?"]},
    ]
    path = tmp_path / "corpus.jsonl"
    path.write_text("\n".join(json.dumps(dialogue) for dialogue in dialogues) + "\n", encoding="utf-8")
    return path


def test_retrieval_answers_from_the_most_similar_context(small_corpus: Path) -> None:
    """Guards the index: the reply of the similar context, and no repetition while others are left."""
    agent = RetrievalAgent({"corpus": str(small_corpus)})
    assert talk(agent, ["So you have a dog."]) == ["What is your dog called?"]
    assert talk(agent, ["Do you like the violin?"]) == ["For how long have you played?"]
    assert len(set(talk(agent, ["a dog", "a dog", "a dog", "a dog"]))) == 4


def test_retrieval_shares_its_index_and_loads_in_a_second() -> None:
    """Guards start-up (“in a second”) and memory (clones hold no second index)."""
    started = time.process_time()
    agent = RetrievalAgent({})
    assert time.process_time() - started < 1.0
    assert agent.clone().index is agent.index


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ('{"dialogue_id": "1", "turns": ["one"]}', r"corpus\.jsonl, line 1: at turns: .*needs 2 or more"),
        ('{"dialogue_id": "1", "turns": ["a", "b"]}\nnot json', r"corpus\.jsonl, line 2: not JSON"),
        ('{"turns": ["a", "b"]}', r"at dialogue_id: is missing; expected"),
    ],
)
def test_an_ill_formed_corpus_is_told_file_line_and_form(tmp_path: Path, text: str, said: str) -> None:
    """Guards the message for a corpus of one's own."""
    path = tmp_path / "corpus.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=said):
        load_dialogues(path)


def test_a_missing_corpus_is_told(tmp_path: Path) -> None:
    """Guards a wrong path."""
    with pytest.raises(DataError, match=r"none\.jsonl"):
        load_dialogues(tmp_path / "none.jsonl")
