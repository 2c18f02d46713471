"""ParlAI's commands, run in this process on one agent, and what there was to see of it."""

from __future__ import annotations

import builtins
import contextlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from parlai.core.agents import Agent
from parlai.core.loader import load_agent_module
from parlai.core.metrics import dict_report
from parlai.scripts.display_model import DisplayModel
from parlai.scripts.eval_model import EvalModel
from parlai.scripts.interactive import Interactive
from parlai.scripts.self_chat import SelfChat
from parlai.scripts.train_model import TrainModel

from parlai_humaneval.models.quiet import silent_parlai
from parlai_humaneval.self_chat.script import BatchedSelfChat

Options = Mapping[str, Any]
SELF_CHATS = 3
EXCHANGES = 3


@dataclass
class Run:
    """What a command did with an agent and its clones.

    ``heard``: the lines that each reply answers, oldest first; ``said``: the messages; ``refused``: the kind of error with
    which ParlAI, or the agent, ended it; ``results``: what the command itself tells or writes.
    """

    heard: list[tuple[str, ...]] = field(default_factory=list)
    said: list[Mapping[str, Any]] = field(default_factory=list)
    results: Any = None
    refused: Exception | None = None


def lines_of(agent: Any) -> tuple[str, ...]:
    """The dialogue as an agent has it in mind."""
    if hasattr(agent, "history"):
        return tuple(agent.history.history_strings)
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
    with watched(model) as run:
        report = EvalModel.main(**task, **options, batchsize=batch, datatype="valid", loglevel="error")
        run.results = dict_report(report)
    return run


def display_model(model: str, options: Options, task: Options, batch: int, folder: Path) -> Run:
    shown = io.StringIO()
    with watched(model) as run, contextlib.redirect_stdout(shown):
        DisplayModel.main(**task, **options, batchsize=batch, num_examples=9, loglevel="error")
    run.results = shown.getvalue().count("model: ")
    return run


def self_chat(model: str, options: Options, task: Options, batch: int, folder: Path) -> Run:
    """ParlAI's, of one dialogue at a time; in batches it is ``batched_self_chat``."""
    with watched(model) as run:
        if batch == 1:
            out = folder / "chats.jsonl"
            SelfChat.main(
                **options, num_self_chats=SELF_CHATS, selfchat_max_turns=EXCHANGES, seed=1, outfile=str(out),
                loglevel="error",
            )  # fmt: skip
            run.results = [dialogue["dialog"] for dialogue in _lines(out)]
            run.results = [[act["text"] for pair in dialogue for act in pair] for dialogue in run.results]
        else:
            BatchedSelfChat.main(
                **options, num_self_chats=batch, selfchat_max_turns=EXCHANGES, batchsize=batch, seed=1,
                outdir=str(folder), loglevel="error",
            )  # fmt: skip
            (out,) = folder.glob("*.jsonl")
            run.results = _lines(out)
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
    """A few steps with ParlAI's defaults; ``results``: what its last evaluation reports."""
    with watched(model) as run:
        length = {"max_train_steps": 6, "validation_max_exs": 8, "short_final_eval": True}
        valid, _ = TrainModel.main(
            **task, **options, **length, model=model, model_file=str(folder / "model"), batchsize=batch, no_cuda=True,
            loglevel="error",
        )  # fmt: skip
        run.results = dict_report(valid)
    return run


def _lines(path: Path) -> Sequence[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
