"""One copy of the weights for several names.

Two models of the zoo that differ only in how they search for a reply (BlenderBot 3B, and the same without a minimum
length) are two agents over one network: what differs between them is no part of it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from parlai.core.agents import Agent, create_agent_from_shared
from parlai.core.opt import Opt

from parlai_humaneval.models.outside.base import OutsideAgent
from parlai_humaneval.models.pool.loading import options_of, parlai_opt
from parlai_humaneval.models.zoo.entries import ModelSpec

GENERATION_OPTIONS = frozenset(
    {
        "inference", "beam_size", "beam_min_length", "beam_block_ngram", "beam_context_block_ngram",
        "beam_block_full_context", "beam_length_penalty", "beam_delay", "temperature", "topk", "topp", "lambda_decay",
        "omega_bound", "p_reset", "skip_generation", "compute_tokenized_bleu",
    }
)  # fmt: skip
"""Options that ParlAI's TorchGeneratorAgent reads again for every clone, and that change nothing in its network."""


def generation_options(agent: Agent) -> frozenset[str]:
    """The options of ``agent`` that its weights do not depend on: its own ``GENERATION_OPTIONS``, and ParlAI's."""
    own: frozenset[str] = getattr(agent, "GENERATION_OPTIONS", frozenset())
    generators = sys.modules.get(
        "parlai.core.torch_generator_agent"
    )  # not there: torch, which takes seconds, is not either
    return own | GENERATION_OPTIONS if generators and isinstance(agent, generators.TorchGeneratorAgent) else own


def twin_of(spec: ModelSpec, loaded: Mapping[str, tuple[ModelSpec, Agent]]) -> Agent | None:
    """An agent for ``spec`` over the weights of one of ``loaded``; None where none of them has its weights.

    Agents that ask elsewhere have no weights, and each keeps its own connections.

    Args:
        spec: the model that is wanted.
        loaded: name → spec and agent of the models that are there.
    """
    for other, agent in loaded.values():
        if not isinstance(agent, OutsideAgent) and _same_weights(spec, other, agent):
            return _twin(spec, agent)
    return None


def _same_weights(spec: ModelSpec, other: ModelSpec, agent: Agent) -> bool:
    free = generation_options(agent)
    mine, theirs = ({k: v for k, v in options_of(one).items() if k not in free} for one in (spec, other))
    return mine == theirs


def _twin(spec: ModelSpec, agent: Agent) -> Agent:
    shared = agent.share()
    # A TorchAgent reads its options from `shared`, not from what it is given beside it.
    return create_agent_from_shared({**shared, "opt": _opt_of_twin(spec, agent)})


def _opt_of_twin(spec: ModelSpec, agent: Agent) -> Opt:
    """The loaded agent's options, with those of the search as ParlAI would have merged them for ``spec``.

    That is: what the zoo file says, else what was saved with the model, else the default.
    """
    asked = parlai_opt(spec)
    saved = _saved_opt(asked)
    opt = Opt(agent.opt)
    for key in generation_options(agent):
        for source in (asked["override"], saved, asked):
            if key in source:
                opt[key] = source[key]
                break
    opt["override"] = asked["override"]
    return opt


def _saved_opt(opt: Opt) -> Mapping[str, object]:
    file = Path(f"{opt.get('model_file') or ''}.opt")
    return Opt.load(str(file)) if file.is_file() else {}
