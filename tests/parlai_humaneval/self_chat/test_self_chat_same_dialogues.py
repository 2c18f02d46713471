"""The same seeds give the same dialogues, whatever the batch size and whatever else is generated."""

from __future__ import annotations

from pathlib import Path

import pytest
from make_talkers import Talkers, acts, chancy, contents, counting, dialogues

from parlai_humaneval.models.zoo.entries import ModelSpec, load_zoo, resolve
from parlai_humaneval.self_chat import SelfChatSettings, generate, pairs_of

BATCHES = (1, 4, 32)
"""Alone, in batches of which the last is not full, and all at once."""


def beam(spec: ModelSpec) -> ModelSpec:
    """The same weights under beam search that blocks what the context says: all of it hangs on padding being right."""
    search = {"inference": "beam", "beam_size": 4, "beam_block_ngram": 2, "beam_context_block_ngram": 2}
    return spec.model_copy(update={"name": f"{spec.name}_beam", "options": {**spec.options, **search}})


@pytest.mark.slow
def test_generators_say_the_same_in_every_batch(tiny_specs: list[ModelSpec], tmp_path: Path) -> None:
    """Guards against padding, or another dialogue of the batch, that reaches a reply: real ParlAI transformers, greedy and
    beam search, openers of unlike lengths, in a tournament and alone."""
    specs = [tiny_specs[0], beam(tiny_specs[1])]
    pairs = pairs_of([spec.name for spec in specs], pairs=True) + pairs_of([spec.name for spec in specs], pairs=False)
    settings = SelfChatSettings(num_dialogues=5, exchanges=2, start="openers", seed=5)
    found = []
    for batch in BATCHES:
        generate(specs, pairs, settings, tmp_path / str(batch), batch_size=batch)
        found.append(contents(tmp_path / str(batch)))
    assert all(files == found[0] for files in found[1:])
    said = {act["text"] for text in found[0] for act in acts(dialogues(tmp_path / "1" / text)[0])}
    assert len(said) > 5, "models that always say the same would pass whatever is wrong"


def test_what_generators_draw_is_the_same_in_every_batch(tiny_specs: list[ModelSpec], tmp_path: Path) -> None:
    """Guards nucleus sampling: its dialogues hang on their seeds, and another seed gives others."""
    search = {"inference": "nucleus", "topp": 0.95, "temperature": 3.0}
    spec = tiny_specs[0].model_copy(update={"options": {**tiny_specs[0].options, **search}})
    found = {}
    for batch, seed in ((1, 5), (8, 5), (8, 6)):
        settings = SelfChatSettings(num_dialogues=4, exchanges=2, start="openers", seed=seed)
        generate([spec], [(spec.name, spec.name)], settings, tmp_path / f"{batch}-{seed}", batch_size=batch)
        found[batch, seed] = dialogues(tmp_path / f"{batch}-{seed}" / f"{spec.name}.jsonl")
    assert found[1, 5] == found[8, 5]
    drawn = [{act["text"] for dialogue in made for act in acts(dialogue)[1:]} for made in found.values()]
    assert drawn[1] != drawn[2]
    assert len(drawn[1]) > 6, "a model that always says the same would pass whatever is wrong"


@pytest.mark.parametrize("pairs", [False, True])
def test_embedded_models_say_the_same_in_every_batch(tmp_path: Path, pairs: bool) -> None:
    """Guards eliza's, retrieval's and degraded's chance: it hangs on the dialogue's own seed alone."""
    names = ["eliza", "retrieval", "degraded"]
    specs = resolve(names, load_zoo())
    settings = SelfChatSettings(num_dialogues=5, exchanges=3, start="openers", seed=2)
    found = []
    for batch in (1, 3, 32):
        generate(specs, pairs_of(names, pairs=pairs), settings, tmp_path / str(batch), batch_size=batch)
        found.append(contents(tmp_path / str(batch)))
    assert found[0] == found[1] == found[2]


def test_other_pairs_change_nothing(talkers: Talkers, tmp_path: Path) -> None:
    """Guards a pool that grows later: the dialogues of a pair stay as they are, in whatever order pairs are named."""
    specs = talkers.specs(a=chancy, b=chancy, c=chancy)
    settings = SelfChatSettings(num_dialogues=6, start="openers")
    generate(specs, [("a", "b")], settings, tmp_path / "one")
    generate(specs[::-1], [("b", "c"), ("a", "c"), ("a", "b")], settings, tmp_path / "all", batch_size=2)
    assert contents(tmp_path / "all")["a--b.jsonl"] == contents(tmp_path / "one")["a--b.jsonl"]


def test_every_dialogue_and_side_has_its_own_chance(talkers: Talkers, tmp_path: Path) -> None:
    """Guards against dialogues that are copies of each other, and against another seed that changes nothing."""
    specs = talkers.specs(a=chancy)
    texts = []
    for seed in (0, 1):
        (file,) = generate(specs, [("a", "a")], SelfChatSettings(num_dialogues=4, seed=seed), tmp_path / str(seed))
        drawn = [act["text"] for dialogue in dialogues(file.path) for act in acts(dialogue)[1:]]
        assert len(set(drawn)) == len(drawn) == 4 * 11
        texts.append(set(drawn))
    assert not texts[0] & texts[1]


def test_more_dialogues_leave_the_first_ones(talkers: Talkers, tmp_path: Path) -> None:
    """Guards the beginnings: how many dialogues are asked for changes none of them."""
    specs = talkers.specs(a=counting)
    for number in (3, 7):
        settings = SelfChatSettings(num_dialogues=number, start="openers")
        generate(specs, [("a", "a")], settings, tmp_path / str(number))
    assert contents(tmp_path / "7")["a.jsonl"].startswith(contents(tmp_path / "3")["a.jsonl"])


def test_batches_are_full(talkers: Talkers, tmp_path: Path) -> None:
    """Guards the speed: batches of a self-chat and of a pair are full. Of a pair a busy machine may split a few: the first
    of a model's answers can reach the other model before the rest."""
    specs = talkers.specs(a=counting, b=counting)
    generate(specs, [("a", "a")], SelfChatSettings(num_dialogues=16, exchanges=3), tmp_path / "self", batch_size=8)
    assert talkers.agents["a"].batches == [8] * 10
    talkers.agents["a"].batches.clear()
    generate(specs, [("a", "b")], SelfChatSettings(num_dialogues=16, exchanges=3), tmp_path / "pair", batch_size=8)
    for agent in talkers.agents.values():
        assert sum(agent.batches) == 40
        assert agent.batches.count(8) >= 3
        assert len(agent.batches) <= 7


def test_a_model_speaks_in_several_pairs_at_once(talkers: Talkers, tmp_path: Path) -> None:
    """Guards tournaments of few dialogues a pair: the batches of a model are filled over its pairs."""
    specs = talkers.specs(a=counting, b=counting, c=counting)
    settings = SelfChatSettings(num_dialogues=4, exchanges=3)
    generate(specs, pairs_of(["a", "b", "c"], pairs=True), settings, tmp_path, batch_size=32)
    assert talkers.loaded == ["a", "b", "c"]
    assert all(talkers.agents[name].batches[0] == 4 for name in "abc")


def test_a_models_own_batch_size_is_held_to(talkers: Talkers, tmp_path: Path) -> None:
    """Guards ParlAI's GPT-2 without a token for padding, which says nonsense in batches."""
    (spec,) = talkers.specs(a=counting)
    single = spec.model_copy(update={"options": {**spec.options, "batchsize": 1}})
    generate([single], [("a", "a")], SelfChatSettings(num_dialogues=3, exchanges=2), tmp_path, batch_size=8)
    assert set(talkers.agents["a"].batches) == {1}


def test_models_that_never_meet_are_not_loaded_together(talkers: Talkers, tmp_path: Path) -> None:
    """Guards memory: self-chats of ten large models need the memory of one."""
    from parlai_humaneval.models.model_pool import ModelPool

    open_pools: list[int] = []
    original = ModelPool.close

    def closing(pool: ModelPool) -> None:
        open_pools.append(len(pool.specs))
        original(pool)

    specs = talkers.specs(a=counting, b=counting, c=counting)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ModelPool, "close", closing)
        generate(specs, pairs_of(["a", "b", "c"], pairs=False), SelfChatSettings(num_dialogues=2), tmp_path)
    assert open_pools == [1, 1, 1]
