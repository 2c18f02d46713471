"""ParlAI's commands, run in this process on one agent, and what there was to see of it."""

from __future__ import annotations

import builtins
import contextlib
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from parlai.core.agents import Agent
from parlai.core.loader import load_agent_module
from parlai.core.metrics import dict_report
from parlai.scripts.display_model import DisplayModel
from parlai.scripts.eval_model import EvalModel
from parlai.scripts.interactive import Interactive
from parlai.scripts.self_chat import SelfChat
from parlai.scripts.train_model import TrainModel

from parlai_humaneval.cli.self_chat_script import BatchedSelfChat
from parlai_humaneval.models.agent.isolation import silent_parlai

Options = Mapping[str, Any]


@dataclass
class Run:
    """What a command did with an agent and its clones.

    Args:
        heard: the lines that each reply answers, oldest first.
        said: the messages of the agent; those without a text answer what asked nothing.
        counts: what the command shows or writes, in numbers that do not depend on the agent's words.
        metrics: what it reports.
        refused: the error that ended it.
        file: of the model that it made.
    """

    heard: list[tuple[str, ...]] = field(default_factory=list)
    said: list[Mapping[str, Any]] = field(default_factory=list)
    counts: Any = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    refused: Exception | None = None
    file: Path | None = None

    @property
    def answers(self) -> list[Mapping[str, Any]]:
        """The messages with a text."""
        return [message for message in self.said if "text" in message]

    @property
    def replies(self) -> dict[tuple[str, ...], str]:
        """Dialogue → reply, of a command in which each is answered."""
        return {heard: str(answer["text"]) for heard, answer in zip(self.heard, self.answers, strict=True)}


def lines_of(agent: Any) -> tuple[str, ...]:
    """The dialogue as an agent has it in mind; TorchAgent keeps a line for an empty text too."""
    if hasattr(agent, "history"):
        return tuple(line for line in agent.history.history_strings if line)
    return tuple(text for _, text in agent.dialogue)


@contextlib.contextmanager
def watched(model: str) -> Iterator[Run]:
    """What an agent and all its clones hear and say within; an error ends the block, and is noted."""
    kind: Any = load_agent_module(model)
    run, acts = Run(), "batch_act" if hasattr(kind, "batch_act") else "act"
    observe, act = kind.observe, getattr(kind, acts)

    def observing(agent: Agent, message: Mapping[str, Any]) -> Any:
        observation = observe(agent, message)
        if message.get("text"):
            run.heard.append(lines_of(agent))
        return observation

    def acting(agent: Agent, *arguments: Any) -> Any:
        answer = act(agent, *arguments)
        run.said += answer if isinstance(answer, list) else [answer]
        return answer

    with mock.patch.object(kind, "observe", observing), mock.patch.object(kind, acts, acting), silent_parlai():
        try:
            yield run
        except Exception as error:  # noqa: BLE001 - whatever the agent or ParlAI raises is the result
            run.refused = error


def eval_model(model: str, options: Options, task: Options, batch: int, folder: Path) -> Run:
    """With the examples of batches shown, which ``display_model`` cannot do."""
    with watched(model) as run:
        how = {"datatype": "valid", "display_examples": batch > 1, "loglevel": "error"}
        run.metrics = dict_report(EvalModel.main(**task, **options, **how, batchsize=batch))
    return run


def display_model(model: str, options: Options, task: Options, batch: int, folder: Path) -> Run:
    shown = io.StringIO()
    with watched(model) as run, contextlib.redirect_stdout(shown):
        DisplayModel.main(**task, **options, batchsize=batch, num_examples=9, loglevel="error")
    run.counts = shown.getvalue().count("model: ")
    return run


def self_chat(model: str, options: Options, task: Options, batch: int, folder: Path) -> Run:
    """ParlAI's, of one dialogue at a time; in batches it is ``batched_self_chat``."""
    with watched(model) as run:
        length = {"selfchat_max_turns": 3, "seed": 1, "loglevel": "error"}
        if batch == 1:
            SelfChat.main(**options, **length, num_self_chats=3, outfile=str(folder / "chats.jsonl"))
        else:
            BatchedSelfChat.main(**options, **length, num_self_chats=batch, batchsize=batch, outdir=str(folder))
        (out,) = folder.glob("*.jsonl")
        run.counts = [len(json.loads(line)["dialog"]) for line in out.read_text(encoding="utf-8").splitlines()]
    if batch > 1:
        run.said = []  # the pool asks agents in their own ways, for some of which there are no messages
    return run


def interactive(model: str, options: Options, task: Options, batch: int, folder: Path) -> Run:
    """A dialogue of two messages, one of one message after ``[DONE]``, and the end of input."""
    typed = ["Hello.", "Do you like dogs?", "[DONE]", "Hello again."] if batch == 1 else ["Hello."] * batch
    lines = iter(typed)

    def next_line(prompt: str = "") -> str:
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    with watched(model) as run, mock.patch.object(builtins, "input", next_line):
        Interactive.main(**options, batchsize=batch, loglevel="error")
    return run


def train_model(model: str, options: Options, task: Options, batch: int, folder: Path) -> Run:
    """A few steps with ParlAI's defaults."""
    made = folder / "model"
    with watched(model) as run, torch.random.fork_rng():
        torch.manual_seed(1)  # ParlAI seeds only what comes after the first weights
        length = {"max_train_steps": 20, "validation_max_exs": 8, "short_final_eval": True, "seed": 1}
        where = {"model": model, "model_file": str(made), "no_cuda": True, "loglevel": "error"}
        valid, _ = TrainModel.main(**task, **options, **length, **where, batchsize=batch)
        run.metrics, run.file = dict_report(valid), made
    return run
