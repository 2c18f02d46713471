"""Real and scripted models for the tests of the pool and the Bot Speaker."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from pydantic import TypeAdapter
from reference import REFERENCE

from parlai_humaneval.models.agent.dialogue_agent import DIALOGUE_FIELD, DialogueAgent
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.zoo.entries import ModelSpec
from parlai_humaneval.report import registry

Behaviour = Callable[[str], str]
"""From the partner's last message to a reply; it may sleep or raise."""


TINY_TURNS = (
    ("Hi!", "Hello, how are you today?", "I am fine, and you?", "I am fine too."),
    ("Hi!", "Hello, what do you like?", "I like dogs and the sea.", "I like the sea too."),
    ("What do you do?", "I am a teacher, and you?", "I am a cook.", "What do you like to cook?"),
)
"""All that the tiny models ever learn: fixed, so that a growing corpus changes no test."""


class ScriptedAgent(DialogueAgent):
    """Answers by a function, and counts what all of its clones were asked together."""

    def __init__(self, opt: Any, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        self.behaviour: Behaviour = shared["behaviour"] if shared else str
        self.batches: list[int] = shared["batches"] if shared else []

    def share(self) -> dict[str, Any]:
        return {**super().share(), "behaviour": self.behaviour, "batches": self.batches}

    def batch_act(self, observations: Sequence[Mapping[str, Any]]) -> list[Any]:
        self.batches.append(len(observations))
        return [
            {"id": "scripted", "text": self.behaviour(observation[DIALOGUE_FIELD][-1][1]), "episode_done": False}
            for observation in observations
        ]


MakePool = Callable[..., ModelPool]


@pytest.fixture
def scripted_pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[MakePool]:
    """``scripted_pool({"name": behaviour, …}, **pool_arguments)``: a loaded pool of scripted models."""
    pools = []

    def make(behaviours: Mapping[str, Behaviour], **arguments: Any) -> ModelPool:
        agents = {name: ScriptedAgent({}) for name in behaviours}
        for name, behaviour in behaviours.items():  # not by opt, which every agent copies
            agents[name].behaviour = behaviour
        monkeypatch.setattr("parlai_humaneval.models.pool.loading.load_agent", lambda spec: agents[spec.name])
        pool = ModelPool(
            [ModelSpec(name=name, options={"model": "scripted", "script": name}) for name in behaviours], **arguments
        )
        pools.append(pool)
        return pool.load()

    yield make
    for pool in pools:
        pool.close()


@pytest.fixture(scope="session")
def tiny_specs(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> list[ModelSpec]:
    """Two different ParlAI transformers, trained for a moment: real TorchAgents, if no good ones.

    The processes of one run share them: the first that comes trains.
    """
    base = tmp_path_factory.getbasetemp()
    base = base if worker_id == "master" else base.parent
    with FileLock(base / "tiny.lock"):
        folder, made = base / "tiny", base / "tiny.made"
        specs = TypeAdapter(list[ModelSpec])
        if not made.exists():
            folder.mkdir(exist_ok=True)
            made.write_bytes(specs.dump_json(_tiny_specs(folder)))
        return specs.validate_json(made.read_bytes())


def _tiny_specs(folder: Path) -> list[ModelSpec]:
    corpus = folder / "corpus.jsonl"
    dialogues = [{"dialogue_id": str(number), "turns": turns} for number, turns in enumerate(TINY_TURNS)]
    corpus.write_text("\n".join(map(json.dumps, dialogues)) + "\n", encoding="utf-8")
    return [_tiny_spec(folder, corpus, name, seed) for name, seed in (("tiny_a", 1), ("tiny_b", 2))]


def _tiny_spec(folder: Path, corpus: Path, name: str, seed: int) -> ModelSpec:
    from parlai_humaneval.models.baselines.training import train_tiny  # where PyTorch is not installed, others run

    size = {"n_layers": 2, "embedding_size": 32, "ffn_size": 128, "n_heads": 2}
    model_file = train_tiny(folder / name, corpus=corpus, max_train_steps=40, seed=seed, **size)
    options = {"model_file": str(model_file), "skip_generation": False, "beam_min_length": 3, "label_truncate": 12}
    return ModelSpec(name=name, options=options)


@pytest.fixture(scope="session")
def tiny_pool(tiny_specs: list[ModelSpec]) -> Iterator[ModelPool]:
    """The two tiny transformers, loaded."""
    with ModelPool(tiny_specs) as pool:
        yield pool


@pytest.fixture
def only_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports of the sections that say who is ahead, for tests that read nothing else: half of a report's time."""
    _answer_only(monkeypatch)


@pytest.fixture(scope="module")
def all_only_answers() -> Iterator[None]:
    """The same for all tests of a module."""
    with pytest.MonkeyPatch.context() as patch:
        _answer_only(patch)
        yield


def _answer_only(patch: pytest.MonkeyPatch) -> None:
    others = ("agreement", "design", "crowd_time", "justifications", "replies", "judges")
    patch.setattr(registry, "SECTIONS", {key: needs for key, needs in registry.SECTIONS.items() if key not in others})


@pytest.fixture(scope="session")
def gold_cases() -> list[dict[str, Any]]:
    """The reference cases: function, args, kwargs, expected, tolerance."""
    path = REFERENCE / "gold_cases.json"
    if not path.is_file():
        pytest.skip("the reference cases are not beside this checkout")
    cases: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return cases
