"""What ParlAI's generators sample hangs on the conversation's seed and the turn, and on nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from parlai.core.agents import create_agent

from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.pool.asking import ask_all
from parlai_humaneval.models.pool.loading import Child, Utterance, parlai_opt
from parlai_humaneval.models.pool.seeded_sampling import _drawing
from parlai_humaneval.models.zoo.entries import ModelSpec

SEARCHES: Mapping[str, dict[str, Any]] = {
    "topk": {"inference": "topk", "topk": 20},
    "nucleus": {"inference": "nucleus", "topp": 0.95},
    "nucleus_best_of_3": {"inference": "nucleus", "topp": 0.95, "beam_size": 3},
    "factual_nucleus": {"inference": "factual_nucleus", "topp": 0.95},
    "delayed_beam": {"inference": "delayedbeam", "topk": 20, "beam_delay": 6, "beam_size": 2},
}
HEARD = [Utterance("human", "Hi!"), Utterance("bot", "Hello there."), Utterance("human", "What do you like to eat?")]
SEEDS = range(6)


def sampling(spec: ModelSpec, search: str) -> ModelSpec:
    # Warm enough that a model of forty steps does not say the same whatever is drawn.
    return spec.model_copy(update={"name": search, "options": {**spec.options, "temperature": 3.0, **SEARCHES[search]}})


@pytest.fixture(scope="module")
def pool(tiny_specs: list[ModelSpec]) -> Iterator[ModelPool]:
    """The same weights under every search that draws."""
    with ModelPool([sampling(tiny_specs[0], search) for search in SEARCHES], max_batch=8) as pool:
        yield pool


def said(pool: ModelPool, model: str, seeds: Sequence[int], dialogue: Sequence[Utterance] = HEARD) -> list[str]:
    """The replies of conversations that ask together."""
    children = [Child(pool.worker(model), seed) for seed in seeds]
    answers = ask_all(children, [dialogue] * len(children), timeout_s=60, retries=0)
    return [answer.text for answer in answers]


@pytest.mark.parametrize("search", SEARCHES)
def test_a_seed_decides_whatever_is_drawn_beside_it(pool: ModelPool, search: str) -> None:
    """Guards each search of ParlAI that draws: alone, in a batch, in another order, after other draws of torch's."""
    together = said(pool, search, SEEDS)
    torch.manual_seed(1)
    alone = [said(pool, search, [seed])[0] for seed in SEEDS]
    torch.rand(7)
    turned = said(pool, search, [99, *reversed(SEEDS)])[:0:-1]
    assert alone == together == turned
    assert len(set(together)) > 3, "the seeds are to lead to different replies"


def test_conversations_in_threads_do_not_disturb_each_other(pool: ModelPool) -> None:
    """Guards a chance that belongs to the row and not to torch: other models draw at the same time."""
    searches = [search for search in SEARCHES for _ in range(3)]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda search: (search, tuple(said(pool, search, SEEDS))), searches))
    assert len(set(found)) == len(SEARCHES)


def test_a_fresh_clone_that_hears_it_again_says_the_same(pool: ModelPool) -> None:
    """Guards conversations that go on after a failure or in another process: all along, or from the start at once."""
    along = Child(pool.worker("nucleus"), 3)
    first = ask_all([along], [HEARD[:1]], timeout_s=60, retries=0)[0].text
    dialogue = [HEARD[0], Utterance("bot", first), HEARD[2]]
    second = ask_all([along], [dialogue], timeout_s=60, retries=0)[0].text
    assert said(pool, "nucleus", [3], dialogue) == [second]


def test_turns_and_tries_draw_anew(pool: ModelPool) -> None:
    """Guards against one draw for a whole conversation, and against a refused reply that is drawn again."""
    child = Child(pool.worker("nucleus"), 3)
    texts = [ask_all([child], [HEARD], timeout_s=60, retries=0)[0].text]
    again = [*HEARD, Utterance("bot", texts[0]), HEARD[2]]
    texts += [answer.text for answer in ask_all([child], [again], timeout_s=60, retries=0)]
    child.renew(attempt=1)
    texts += [answer.text for answer in ask_all([child], [HEARD], timeout_s=60, retries=0)]
    assert len(set(texts)) == 3


def test_without_a_seed_torch_draws_as_in_parlai(pool: ModelPool, tiny_specs: list[ModelSpec]) -> None:
    """Guards ParlAI's own commands: a clone that no conversation has seeded draws what ParlAI's agent would."""
    ours = pool.worker("nucleus").clone()
    theirs = create_agent(parlai_opt(sampling(tiny_specs[0], "nucleus")))
    assert ours.getID() == theirs.getID()
    assert type(ours).__name__ == type(theirs).__name__
    texts = []
    for agent in (ours, theirs):
        torch.manual_seed(5)
        agent.observe({"text": "Hi!", "episode_done": False})
        texts.append(agent.act()["text"])
    assert texts[0] == texts[1]


def test_greedy_search_is_as_it_was(tiny_pool: ModelPool) -> None:
    """Guards the searches that draw nothing against seeds."""
    assert len(set(said(tiny_pool, "tiny_a", SEEDS))) == 1


def test_words_are_drawn_as_often_as_they_are_likely() -> None:
    """Guards the draw itself: a word without weight never comes, the others by their shares, each row on its own."""
    import random

    weights = torch.tensor([[0.0, 0.7, 0.1, 0.0, 0.2], [0.25, 0.0, 0.0, 0.75, 0.0]])
    draw = _drawing(lambda: torch.multinomial(weights, 1)[:, 0].tolist(), random.Random(4))
    rows = [draw() for _ in range(4000)]
    for row, expected in enumerate(({1: 0.7, 2: 0.1, 4: 0.2}, {0: 0.25, 3: 0.75})):
        counts = Counter(found[row] for found in rows)
        assert counts.keys() == expected.keys()
        assert all(abs(counts[word] / 4000 - share) < 0.04 for word, share in expected.items())
    assert Counter(rows[0][0] == row[0] for row in rows)[False], "the rows are not all alike"
