"""Figures of speed rest on replies that were given: models of fixed lengths, and an error where a reply failed."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from parlai.core.message import Message

from benchmarks import __main__ as command
from benchmarks import results
from benchmarks.conversations import LINES, OurConversation, talk_for
from benchmarks.figures import Figure
from benchmarks.limits import bare_calls, calls_for
from benchmarks.processes import BenchmarkError
from benchmarks.self_chat import must_have_spoken, our_rate
from benchmarks.serving_models import LONGEST, MODEL, TOKENS, causal_lm, generator, mixed_lengths
from parlai_humaneval.models.agent.dialogue_agent import DialogueAgent
from parlai_humaneval.models.agent.isolation import quiet_parlai
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.pool.loading import load_agent
from parlai_humaneval.models.zoo.entries import ModelSpec


class SilentAgent(DialogueAgent):
    """Has nothing to say to “Hi!”, as a model that was hardly trained."""

    def batch_act(self, observations: Sequence[Message]) -> list[Message]:
        return [Message({"id": self.id, "text": ""}) for _ in observations]


SILENT = ModelSpec(name=MODEL, options={"model": f"{__name__}:SilentAgent"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the models of this file are made."""
    return tmp_path_factory.mktemp("models")


@pytest.mark.parametrize("seed", range(4))
def test_every_reply_of_a_generator_has_the_same_length(folder: Path, seed: int) -> None:
    """Guards figures against luck: whatever the weights, no reply ends early, or holds what is no word."""
    with quiet_parlai():
        agent = load_agent(generator(folder, "small", seed=seed))
        replies = agent.batch_act(_heard(agent))
    assert all(len(reply["text"].split()) == TOKENS for reply in replies)
    assert not any(word.startswith("__") for reply in replies for word in reply["text"].split())


def test_every_reply_of_a_causal_model_has_the_same_length(folder: Path) -> None:
    """Guards the same of GPT-2's shape, whose ending token is a word like others."""
    agent = load_agent(causal_lm(folder, "quick"))
    assert {len(agent._tokens(*zip(agent._prompt_key(one)))[0]) for one in _heard(agent)} == {TOKENS}


def test_mixed_lengths_are_the_same_replies_either_way(folder: Path) -> None:
    """Guards the comparison of waits: both sides say the same, some of it short and some long."""
    joining, whole = (load_agent(mixed_lengths(folder, "quick", joining=way)) for way in (True, False))
    assert joining.continuous() is not None
    assert whole.continuous() is None
    replies = [[message["text"] for message in agent.batch_act(_heard(agent))] for agent in (joining, whole)]
    assert replies[0] == replies[1]
    lengths = {len(text.split()) for text in replies[0]}
    assert max(lengths) <= LONGEST
    assert len(lengths) > 2


def _heard(agent: Any) -> list[Message]:
    observations = []
    for seed, line in enumerate(LINES):
        clone = agent.clone()
        if hasattr(clone, "set_seed"):
            clone.set_seed(seed)
        observations.append(clone.observe({"id": "human", "text": line, "episode_done": False}))
    return observations


def test_a_reply_that_failed_is_no_figure() -> None:
    """Guards rates: conversations of a silent model would be as quick as they are worthless."""
    with (
        quiet_parlai(),
        ModelPool([SILENT], retries=0) as pool,
        pytest.raises(BenchmarkError, match="a reply failed, so that there is no figure: no reply from m"),
    ):
        talk_for([OurConversation(pool, seed) for seed in range(2)], 5.0)


def test_self_chats_of_a_silent_model_are_no_figure() -> None:
    """Guards the same of self-chats, which go on after an empty reply, as those of others do."""
    with pytest.raises(BenchmarkError, match="replies of the self-chats were empty, so that there is no figure"):
        our_rate(SILENT, batch=2, dialogues=2, seed=0)
    said = {"dialog": [[{"id": "a", "text": "Hi!"}, {"id": "b", "text": "Hello."}]]}
    must_have_spoken(json.dumps(said))
    said["dialog"][0][1]["text"] = " "
    for lines, failed in ((json.dumps(said), None), ("", None), ("", {"m": "broken"})):
        with pytest.raises(BenchmarkError, match="no figure"):
            must_have_spoken(lines, failed)


def test_a_benchmark_that_failed_ends_the_command_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards whoever reads figures: a failure is no table, and its exit code is not 0."""

    def fail(quick: bool) -> list[Figure]:
        raise BenchmarkError("a reply failed, so that there is no figure: no reply from a")

    monkeypatch.setattr(command, "load", lambda name: fail)
    ended = CliRunner().invoke(command.main, ["self_chat", "--json"])
    assert ended.exit_code == 1
    assert ended.stdout == ""
    assert "error: self_chat: it failed: a reply failed, so that there is no figure: no reply from a\n" in ended.stderr


def test_results_keep_the_figures_of_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Guards minutes of measuring: what failed stands in the file as failed, and the command ends with an error."""
    figure = Figure(name="replies", unit="1/s", ours=2.0, note="a model")

    def measure(name: str) -> Any:
        def run(quick: bool) -> list[Figure]:
            if name == "waits":
                raise BenchmarkError("a reply failed")
            return [figure]

        return run

    monkeypatch.setattr(command, "load", measure)
    monkeypatch.setattr(results, "FILE", tmp_path / "RESULTS.md")
    ended = CliRunner().invoke(command.main, ["results"])
    assert ended.exit_code == 1
    text = results.FILE.read_text(encoding="utf-8")
    assert "Not measured: it failed: a reply failed." in text
    assert text.count("| replies | 2 |") == len(results.NAMES) - 1


def test_a_machine_without_a_gpu_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the run of everything on a machine that lacks one: a clear sentence, and no failure."""
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    ended = CliRunner().invoke(command.main, ["gpu"])
    assert (ended.exit_code, ended.stdout) == (0, "")
    assert "gpu: this machine has no GPU that PyTorch can use" in ended.stderr
    assert logging.root.manager.disable == logging.NOTSET, "a caller's own warnings are logged again"


def test_the_limit_reads_the_same_dialogues(folder: Path) -> None:
    """Guards the comparison: the bare calls are those of a conversation's turns, and as many at once."""
    with quiet_parlai(), ModelPool([causal_lm(folder, "quick")], retries=0) as pool:
        calls = bare_calls(pool, 2)
        assert len(calls) == len(LINES)
        new = [reply[-TOKENS:].tolist() for reply in calls[0]()]  # type: ignore[attr-defined]  # a tensor
        speaker = OurConversation(pool, 0).speaker
        speaker.observe({"id": "human", "text": LINES[0], "episode_done": False})
        said = pool.worker(MODEL).agent.pretrained.tokenizer.decode(new[0])
        assert new[0] == new[1]
        assert speaker.act()["text"] == said
        assert calls_for(calls, 2, 0.01) > 0


def test_results_name_the_machine_and_say_what_was_not_measured() -> None:
    """Guards the file that people quote: the device, how to repeat it, other work on the machine, and gaps."""
    figure = Figure(
        name="replies", unit="1/s", ours=2.0, peer=4.0, better="more", peer_source="same run", note="a model"
    )
    quiet = results.document({"limits": [figure]}, {"gpu": "no GPU is here"}, load=0.1, busy_after=2.0)
    assert results.device_name() in quiet
    assert "| replies | 2 | 4 | 1/s | 0.50× | 1 |" in quiet
    assert "Not measured: no GPU is here." in quiet
    assert "`python -m benchmarks limits`" in quiet
    assert "first look" not in quiet
    assert "first look" in results.document({}, {}, load=99.0, busy_after=99.0)
    assert set(results.NAMES) <= set(command.BENCHMARKS)
