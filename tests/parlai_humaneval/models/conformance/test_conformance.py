"""Every registered agent in ParlAI's commands, alone and in batches of eight, held against ParlAI's own generator.

``pytest tests/parlai_humaneval/models/conformance --conformance-table`` shows which agent does what. A new agent is in it by
being registered, and fails until ``agent_rows.py`` says what it needs.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import agent_rows
import parlai_runs
import pytest
from agent_rows import OTHERWISE, REFERENCE, TRAINING, NoRow, Options, Workshop, agent_names, model_name, options_of
from parlai.core.agents import Agent, create_agent, create_agent_from_model_file
from parlai.core.loader import AGENT_REGISTRY, load_agent_module, register_agent
from parlai.core.message import Message
from parlai.core.params import ParlaiParser
from parlai.core.torch_agent import TorchAgent
from parlai_runs import Run, lines_of

from parlai_humaneval.models.agent.dialogue_agent import DialogueAgent, Line
from parlai_humaneval.models.agent.isolation import silent_parlai
from parlai_humaneval.models.agent.names import SHORT_PREFIX
from parlai_humaneval.models.backends.human import offered

AGENTS = (REFERENCE, *agent_names())
BATCHES = (1, 8)
COMMANDS = ("eval_model", "display_model", "self_chat", "interactive")
ON_A_TASK = ("eval_model", "display_model")
"""Commands in which the dialogue goes on with the task's words, whatever an agent says."""
REFUSED_BY_PARLAI = {
    ("display_model", 8): "Simple view only support batchsize=1",
    ("interactive", 8): "Agents should return what they observed.",
}
"""Command, batch → the words with which ParlAI ends it for any agent."""


class Suite:
    """Runs each agent in each command once, when the first test asks for it."""

    def __init__(self, made: Workshop, folders: pytest.TempPathFactory) -> None:
        self.made = made
        self._folders = folders
        self.run = cache(self._run)

    def _run(self, agent: str, command: str, batch: int) -> Run:
        folder = self._folders.mktemp(command)
        options = TRAINING[agent](self.made) if command == "train_model" else self.started(agent)
        run: Run = getattr(parlai_runs, command)(model_name(agent), options, self.made.task, batch, folder)
        return run

    def started(self, agent: str) -> Options:
        """Options that start an agent: a trained one from its file, any other by its name."""
        options = options_of(agent, self.made)
        if agent not in TRAINING:
            return {"model": model_name(agent), **options}
        trained = self.run(agent, "train_model", 8)
        assert trained.refused is None, f"{agent} cannot be trained: {trained.refused!r}"
        return {"model_file": str(trained.file), **options, "no_cuda": True}

    def loaded(self, agent: str) -> Agent:
        """An agent as a command loads it."""
        with silent_parlai():
            return create_agent(ParlaiParser(True, True).parse_kwargs(**self.started(agent), loglevel="error"))

    @property
    def equal_metrics(self) -> frozenset[str]:
        """Metrics of the generator that have nothing to do with the size of the batch, as numbers of tokens a batch do."""
        alone, together = (self.run(REFERENCE, "eval_model", batch).metrics for batch in BATCHES)
        return frozenset(name for name, value in alone.items() if together[name] == about(value))


def about(value: float) -> Any:
    return pytest.approx(value, rel=1e-3, abs=1e-6)


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Suite]:
    made = Workshop(tmp_path_factory.mktemp("made"))
    with offered(made.desk):
        yield Suite(made, tmp_path_factory)
    made.close()


@pytest.fixture
def cell(record_property: Callable[[str, object], None]) -> Callable[..., None]:
    """Notes a place of the table, and what stands there unless the test fails."""
    return lambda agent, command, batch=0, word="yes": record_property("conformance", [agent, command, batch, word])


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("agent", AGENTS)
def test_in_parlais_commands(agent: str, command: str, batch: int, suite: Suite, cell: Callable[..., None]) -> None:
    """Guards ParlAI's users: what its generator does, each agent does, with the same histories and messages."""
    cell(agent, command, batch)
    done, reference = suite.run(agent, command, batch), suite.run(REFERENCE, command, batch)
    assert REFUSED_BY_PARLAI.get((command, batch), "None") in str(reference.refused)
    if words := OTHERWISE.get((agent, command, batch)):
        assert words in str(done.refused)
        cell(agent, command, batch, "own way")
        return
    behaves(done, reference, exactly=command in ON_A_TASK)
    if command == "eval_model":
        measures(done, suite.run(agent, command, 1), suite)
    elif done.refused is not None:
        cell(agent, command, batch, "as ParlAI")


def behaves(done: Run, reference: Run, *, exactly: bool) -> None:
    """Whether an agent hears and says, in one run of a command, what the generator would; ``exactly``: word by word."""
    assert str(done.refused) == str(reference.refused)
    assert done.counts == reference.counts
    assert sorted(map(len, done.heard)) == sorted(map(len, reference.heard))
    if exactly:
        assert done.heard == reference.heard
    assert len(done.answers) == len(reference.answers)
    assert len(done.said) == len(reference.said), "what asks nothing has no answer"
    for message in done.answers:
        assert isinstance(message["id"], str)
        assert isinstance(message["text"], str)
        assert message["episode_done"] is False


def measures(done: Run, alone: Run, suite: Suite) -> None:
    """Whether replies and metrics are those of batches of one."""
    assert done.replies == alone.replies
    assert done.metrics.keys() == alone.metrics.keys()
    of_the_batch = suite.run(REFERENCE, "eval_model", 1).metrics.keys() - suite.equal_metrics
    for name in alone.metrics.keys() - of_the_batch:
        assert done.metrics[name] == about(alone.metrics[name]), name


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("agent", [agent for agent in AGENTS if agent in TRAINING])
def test_train_model(agent: str, batch: int, suite: Suite, cell: Callable[..., None]) -> None:
    """Guards `parlai train_model` with ParlAI's own defaults."""
    cell(agent, "train_model", batch)
    trained, reference = suite.run(agent, "train_model", batch), suite.run(REFERENCE, "train_model", batch)
    assert trained.refused is None
    assert {*trained.heard, *reference.heard} <= {*suite.run(REFERENCE, "eval_model", 1).heard}, (
        "no line of another episode"
    )
    assert trained.file is not None
    assert trained.file.is_file()
    assert trained.metrics["exs"] == reference.metrics["exs"]
    assert math.isfinite(trained.metrics["loss"])


@pytest.mark.parametrize("agent", AGENTS)
def test_share_and_clone(agent: str, suite: Suite, cell: Callable[..., None]) -> None:
    """Guards conversations: a clone has the weights, and a dialogue of its own."""
    cell(agent, "clone")
    root = suite.loaded(agent)
    first, second = root.clone(), root.clone()
    assert all(answer(first, text).strip() for text in ("Hello.", "Do you like dogs?"))
    answer(second, "Do you like tea?")
    first.observe(message("And the sea?"))
    assert [len(lines_of(each)) for each in (root, first, second)] == [0, 5, 2 - unanswered(second)]
    assert getattr(first, "model", None) is getattr(root, "model", None)


@pytest.mark.parametrize("agent", AGENTS)
def test_model_file(agent: str, suite: Suite, cell: Callable[..., None], tmp_path: Path) -> None:
    """Guards `-mf`: the options that stand beside a model's file start the same agent; saved by its training or not."""
    cell(agent, "model file")
    before = suite.loaded(agent)
    options = suite.started(agent)
    made = Path(options.pop("model_file", tmp_path / "model"))
    if agent not in TRAINING:
        made.touch()
        before.opt.save(f"{made}.opt")
        options = {}
    with silent_parlai():
        after = create_agent_from_model_file(str(made), options)
    assert type(after) is type(before)
    assert talk(after) == talk(before)


@pytest.mark.parametrize("agent", AGENTS)
def test_preset(agent: str, suite: Suite, cell: Callable[..., None], tmp_path: Path) -> None:
    """Guards `-o`: a preset with an agent's options starts the same agent, and ours of a search reach a generator."""
    cell(agent, "-o preset")
    preset = tmp_path / "mine.opt"
    preset.write_text(json.dumps(suite.started(agent)), encoding="utf-8")
    before = suite.loaded(agent)
    after = started_by("-o", str(preset))
    assert type(after) is type(before)
    assert talk(after) == talk(before)
    if "beam_size" in before.opt:
        assert started_by("-o", "gen/seq2seq", "-mf", str(before.opt["model_file"])).opt["beam_size"] == 5


def started_by(*words: str) -> Agent:
    """An agent as the command line starts it."""
    with silent_parlai():
        return create_agent(ParlaiParser(True, True).parse_args([*words, "--loglevel", "error"]))


def message(text: str) -> Message:
    return Message({"id": "partner", "text": text, "episode_done": False})


def answer(agent: Agent, text: str) -> str:
    agent.observe(message(text))
    return str(agent.act()["text"])


def unanswered(agent: Agent) -> int:
    """1 where a reply counts as said only once the partner goes on: the Bot Speaker's, which may still be exchanged."""
    return int(not hasattr(agent, "batch_act"))


def talk(agent: Agent) -> list[str]:
    """Two exchanges."""
    return [answer(agent, text) for text in ("Hello.", "Do you like dogs?")]


@pytest.mark.parametrize("agent", AGENTS)
def test_what_is_trained_is_known(agent: str, suite: Suite) -> None:
    """Guards the table's column of `train_model`: an agent of ParlAI's kind that learns is trained here too."""
    assert issubclass(load_agent_module(model_name(agent)), TorchAgent) == (agent in TRAINING)


def test_a_new_agent_is_in_the_suite_by_being_registered(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the suite itself: it demands a row for a plug-in's agent, and passes it, or not, by what it does."""
    monkeypatch.setitem(AGENT_REGISTRY, f"{SHORT_PREFIX}plugged_in", None)
    register_agent(f"{SHORT_PREFIX}plugged_in")(PluggedInAgent)
    assert "plugged_in" in agent_names()
    with pytest.raises(NoRow, match=r"add it to ROWS in agent_rows\.py"):
        suite.run("plugged_in", "eval_model", 1)
    monkeypatch.setitem(agent_rows.ROWS, "plugged_in", lambda made: {})
    for batch in BATCHES:
        done = suite.run("plugged_in", "eval_model", batch)
        behaves(done, suite.run(REFERENCE, "eval_model", batch), exactly=True)
        measures(done, suite.run("plugged_in", "eval_model", 1), suite)
    monkeypatch.setattr(PluggedInAgent, "_forget", lambda agent: None)
    with pytest.raises(AssertionError):
        behaves(suite._run("plugged_in", "eval_model", 1), suite.run(REFERENCE, "eval_model", 1), exactly=True)


class PluggedInAgent(DialogueAgent):
    """An agent of somebody's own."""

    def reply(self, dialogue: Sequence[Line], rng: random.Random) -> str:
        return f"{len(dialogue)} lines, {rng.randrange(100)}"
