"""ParlAI's generators with a separate seed for each conversation, instead of torch's global generator."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from parlai.core.message import Message
from parlai.core.torch_agent import Batch
from parlai.core.torch_generator_agent import BeamSearch, GreedySearch, TorchGeneratorAgent, TreeSearch
from torch.overrides import TorchFunctionMode

CHANCE_FIELD = "chance_of_reply"


def seeded(agent: TorchGeneratorAgent) -> TorchGeneratorAgent:
    """The same agent, which from now on takes ``set_seed``, as do its clones; one that has a seed already stays as it is."""
    if not hasattr(agent, "set_seed"):
        kind: Any = type(agent)
        # Under its own name, which ParlAI gives to what the agent says.
        about = {"__module__": kind.__module__, "__doc__": kind.__doc__}
        agent.__class__ = type(kind.__name__, (_Seeded, kind), about)
    return agent


class _Seeded(TorchGeneratorAgent):
    """Goes before the class of a generator. Without a seed, nothing is changed."""

    _dialogue_seed: int | None = None
    _lines = 0
    _chances: Sequence[str | None] = ()
    _searches = 0

    def set_seed(self, seed: int) -> None:
        self._dialogue_seed = seed

    def reset(self) -> None:
        super().reset()
        self._lines = 0

    def observe(self, observation: Any) -> Any:
        """Hear the partner. The chance goes with the observation, which any clone may answer."""
        self._lines += observation.get("text") is not None
        heard = super().observe(observation)
        if self._dialogue_seed is not None:
            heard.force_set(CHANCE_FIELD, f"{self._dialogue_seed}|{self._lines}")
        return heard

    def self_observe(self, self_message: Message) -> None:
        super().self_observe(self_message)
        self._lines += 1

    def batchify(self, obs_batch: Sequence[Message], sort: bool = False) -> Batch:
        batch = super().batchify(obs_batch, sort=sort)
        rows = batch.valid_indices.tolist() if batch.batchsize else []
        batch[CHANCE_FIELD] = [obs_batch[row].get(CHANCE_FIELD) for row in rows]
        return batch

    def _generate(self, batch: Batch, *arguments: Any, **named: Any) -> Any:
        self._chances, self._searches = batch.get(CHANCE_FIELD, ()), 0
        return super()._generate(batch, *arguments, **named)

    def _treesearch_factory(self, device: Any, verbose: bool = False) -> TreeSearch:
        """ParlAI calls it for each row of a batch in turn; agents that search twice, for all rows again."""
        search = super()._treesearch_factory(device, verbose)
        chance = None
        if self._chances:
            again, row = divmod(self._searches, len(self._chances))
            chance = self._chances[row] and f"{self._chances[row]}|{again}"
        self._searches += 1
        if chance and not isinstance(search, (GreedySearch, BeamSearch)):
            search.select_paths = _drawing(search.select_paths, random.Random(chance))
        return search


def _drawing(select_paths: Callable[..., Any], chance: random.Random) -> Callable[..., Any]:
    def select(*arguments: Any) -> Any:
        with _DrawnBy(chance):
            return select_paths(*arguments)

    return select


class _DrawnBy(TorchFunctionMode):
    """Within it, this thread's ``torch.multinomial`` draws by ``chance``, from cumulated doubles; all else is torch's
    own."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self._chance = chance

    def __torch_function__(
        self, function: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if function is not torch.multinomial or args[1:] != (1,):
            return function(*args, **(kwargs or {}))
        cumulated = args[0].double().cumsum(dim=-1)
        numbers = [[self._chance.random()] for _ in cumulated]
        at = torch.tensor(numbers, dtype=torch.double, device=cumulated.device) * cumulated[:, -1:]
        return torch.searchsorted(cumulated, at, right=True).clamp(max=cumulated.shape[-1] - 1)
