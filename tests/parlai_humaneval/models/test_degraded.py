"""The quality-control model: random, distorted, and a ParlAI agent like any other."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from warm_python import WarmPython

from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.dialogues.files import PACKAGED_CORPUS, load_dialogues
from parlai_humaneval.models.baselines.degraded import DegradedAgent, span_length
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.pool.loading import load_agent
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError, load_zoo

LINES = ["Hi!", "I have two dogs.", "What do you do for work?", "I need a holiday."]


@pytest.fixture(scope="module")
def agent() -> DegradedAgent:
    return DegradedAgent({})


def talk(agent: DegradedAgent, lines: list[str], seed: int = 0) -> list[str]:
    agent.reset()
    agent.set_seed(seed)
    replies = []
    for line in lines:
        agent.observe({"text": line, "episode_done": False})
        replies.append(agent.act()["text"])
    return replies


def test_every_reply_is_a_line_of_the_file_with_one_span_changed(agent: DegradedAgent) -> None:
    """Guards that quality is lowered as the paper says, and no reply is left whole."""
    originals = [turn.split() for dialogue in load_dialogues(PACKAGED_CORPUS) for turn in dialogue.texts[1:]]
    known = {" ".join(words) for words in originals}
    for seed in range(15):
        for reply in talk(agent, LINES, seed):
            words = reply.split()
            near = [original for original in originals if len(original) == len(words)]
            fewest = min(sum(a != b for a, b in zip(words, original, strict=True)) for original in near)
            assert 0 < fewest <= span_length(len(words))
            assert reply not in known


def test_replies_are_fixed_by_dialogue_and_seed_and_vary_otherwise(agent: DegradedAgent) -> None:
    """Guards reproducible runs, resumed dialogues, and raters against one and the same answer to “Hi!”."""
    assert talk(agent, LINES, seed=3) == talk(agent.clone(), LINES, seed=3)
    assert len({talk(agent, ["Hi!"], seed)[0] for seed in range(20)}) > 15


def test_clones_share_the_replies(agent: DegradedAgent) -> None:
    """Guards memory: fifty conversations hold one file."""
    assert agent.clone().replies is agent.replies


def test_the_person_is_ignored(agent: DegradedAgent) -> None:
    """Guards relevance, which must be at chance: what is said only moves the draw."""
    about_dogs = [talk(agent, ["Tell me about your dogs."], seed)[0] for seed in range(40)]
    assert sum("dog" in reply.lower() for reply in about_dogs) < 10


def test_any_dialogue_file_will_do(tmp_path: Path) -> None:
    """Guards --dialogue-file with ParlAI's own formats: ConvAI2's here."""
    path = tmp_path / "convai2.txt"
    path.write_text(
        "1 your persona: i ski.\n2 hi there\tthe aa bb end\n3 bye\tthe cc dd end\n1 hello you\tthe ee ff end\n",
        encoding="utf-8",
    )
    replies = {talk(DegradedAgent({"dialogue_file": str(path)}), ["Hi!"], seed)[0] for seed in range(40)}
    assert all(len(reply.split()) in (1, 4) for reply in replies)
    assert not any("ski" in reply for reply in replies), "a persona is nobody's line"
    assert any(reply.startswith("the ") and reply.endswith(" end") for reply in replies)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"dialogue_id": "1", "turns": ["one two three", "four five six"]}', "only one dialogue.*two or more"),
        (
            '{"dialogue_id": "1", "turns": ["hi", "hi"]}\n{"dialogue_id": "2", "turns": ["Hi!", "hi"]}',
            "give a file whose dialogues differ",
        ),
        ("", "is empty"),
    ],
)
def test_a_file_that_cannot_distort_is_refused_at_the_start(tmp_path: Path, text: str, said: str) -> None:
    """Guards a launch: not the first rater, but the researcher meets the error."""
    path = tmp_path / "dialogues.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=said):
        DegradedAgent({"dialogue_file": str(path)})


def test_a_missing_file_is_told_before_loading(tmp_path: Path) -> None:
    """Guards `models check` for a dialogue file of one's own."""
    options = {**load_zoo()["degraded"].options, "dialogue_file": str(tmp_path / "none.txt")}
    with pytest.raises(ZooError, match=r"dialogue_file .*none\.txt does not exist"):
        load_agent(ModelSpec(name="mine", options=options))


def test_in_the_pool_beside_other_models() -> None:
    """Guards its place in any preset: candidates, shared history, a persona that it does not mind."""
    zoo = load_zoo()
    with ModelPool([zoo["degraded"], zoo["eliza"]], seed=1) as pool:
        speaker: Any = pool.speaker(["degraded", "eliza"], seed=1)
        for line in LINES:
            speaker.observe({"id": "human", "text": line, "episode_done": False})
            texts = speaker.act()["text_candidates"]
            assert len(texts) == 2
            assert all(text.strip() for text in texts)


def test_in_parlai_by_path_and_by_short_name(tmp_path: Path, warm: WarmPython) -> None:
    """Guards `parlai interactive -m module:Class` and `parlai-humaneval parlai self_chat -m parlai_humaneval/degraded`."""
    folder = Path(sys.executable).parent
    done = warm.run(
        str(folder / "parlai"), "interactive", "-m", "parlai_humaneval.agents.degraded:DegradedAgent",
        text="Hi!\nI have a dog.\n",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("[Degraded]:") >= 2  # the end of input is answered too
    out = tmp_path / "chats.jsonl"
    done = warm.run(
        str(folder / "parlai-humaneval"), "parlai", "self_chat", "-m", "parlai_humaneval/degraded",
        "--num-self-chats", "1", "--selfchat-max-turns", "4", "--outfile", str(out),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(out.read_text(encoding="utf-8").splitlines()[0])["dialog"]
