"""Two names over one copy of the weights: BlenderBot 3B and 3B-M0 must not be loaded twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from parlai_humaneval.models.agent.isolation import quiet_parlai
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.zoo.entries import ModelSpec

LINES = ("Hi!", "What do you do?", "I like dogs and the sea.", "I am a cook.")
# ParlAI's greedy search has no minimum length; sampling from the one best token has, and is as repeatable.
LONG: Mapping[str, Any] = {"inference": "topk", "topk": 1, "beam_min_length": 9}
BEAM: Mapping[str, Any] = {"inference": "beam", "beam_size": 3, "beam_min_length": 10}


def another(spec: ModelSpec, name: str, **options: Any) -> ModelSpec:
    return spec.model_copy(update={"name": name, "options": {**spec.options, **options}})


def replies(pool: ModelPool, name: str) -> list[str]:
    """What the model says to each line, each in a dialogue of its own."""
    said = []
    for line in LINES:
        speaker = pool.speaker([name], seed=0)
        speaker.observe({"text": line, "episode_done": False})
        said.append(str(speaker.act()["candidates"][0]["text"]))
    return said


def network(pool: ModelPool, name: str) -> int:
    return id(pool.worker(name).agent.model)


@pytest.mark.parametrize("options", [LONG, BEAM])
@pytest.mark.parametrize("first", ["plain", "other"])
def test_other_search_same_weights_and_the_replies_of_a_model_of_its_own(
    tiny_specs: list[ModelSpec], options: Mapping[str, Any], first: str
) -> None:
    """One network; each name speaks as if it had been loaded alone, whichever came first."""
    plain, other = tiny_specs[0], another(tiny_specs[0], "other", **options)
    order = [plain, other] if first == "plain" else [other, plain]
    with quiet_parlai(), ModelPool(order) as together:
        assert network(together, "tiny_a") == network(together, "other")
        got = {spec.name: replies(together, spec.name) for spec in order}
    for spec in order:
        with quiet_parlai(), ModelPool([spec]) as alone:
            assert got[spec.name] == replies(alone, spec.name)
    assert got["tiny_a"] != got["other"]


def test_a_twin_does_not_inherit_what_only_the_first_sets(tiny_specs: list[ModelSpec]) -> None:
    """An option that the first name overrides is, for the second, what was saved with the model."""
    short = another(tiny_specs[0], "short", beam_min_length=1)
    options = {key: value for key, value in tiny_specs[0].options.items() if key != "beam_min_length"}
    bare = tiny_specs[0].model_copy(update={"name": "bare", "options": options})
    long = another(bare, "long", beam_min_length=14)
    with quiet_parlai(), ModelPool([long, bare, short]) as pool:
        lengths = {name: pool.worker(name).agent.beam_min_length for name in ("long", "bare", "short")}
        assert lengths == {"long": 14, "bare": 1, "short": 1}
        assert len({network(pool, name) for name in lengths}) == 1


@pytest.mark.parametrize("changed", [{"text_truncate": 8}, {"interactive_mode": False}])
def test_what_is_more_than_the_search_is_a_model_of_its_own(
    tiny_specs: list[ModelSpec], changed: dict[str, Any]
) -> None:
    """Options whose effect on the network or the history nobody has looked into are never shared."""
    with quiet_parlai(), ModelPool([tiny_specs[0], another(tiny_specs[0], "other", **changed)]) as pool:
        assert network(pool, "tiny_a") != network(pool, "other")


def test_another_checkpoint_or_device_is_another_model(tiny_specs: list[ModelSpec]) -> None:
    """Equal options over other files, or asked for elsewhere, are not the same weights."""
    on_cpu = tiny_specs[0].model_copy(update={"name": "on_cpu", "device": "cpu"})
    with quiet_parlai(), ModelPool([*tiny_specs, on_cpu]) as pool:
        assert len({network(pool, name) for name in ("tiny_a", "tiny_b", "on_cpu")}) == 3


def test_twins_answer_at_the_same_time(tiny_specs: list[ModelSpec]) -> None:
    """Two threads in one network do not disturb each other: replies are those of one at a time."""
    pair = [tiny_specs[0], another(tiny_specs[0], "other", **LONG)]
    with quiet_parlai(), ModelPool(pair) as pool:
        expected = [replies(pool, spec.name) for spec in pair]
        speakers = [pool.speaker(["tiny_a", "other"], seed=0, order="fixed") for _ in LINES]
        for speaker, line in zip(speakers, LINES, strict=True):
            speaker.observe({"text": line, "episode_done": False})
        for number, speaker in enumerate(speakers):
            by_model = {c["model"]: c["text"] for c in speaker.act()["candidates"]}
            assert by_model == {"tiny_a": expected[0][number], "other": expected[1][number]}
