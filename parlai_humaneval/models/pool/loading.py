"""From a spec to a loaded ParlAI agent.

One copy of the weights for several names.

Two models of the zoo that differ only in how they search for a reply (BlenderBot 3B, and the same without a minimum
length) are two agents over one network: what differs between them is no part of it.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parlai.core.agents import Agent, create_agent, create_agent_from_shared
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser

from parlai_humaneval._util.installing import check_release, lacking
from parlai_humaneval.models.agent.isolation import isolate_model_code
from parlai_humaneval.models.agent.options import UnknownOptions, parse, refusal
from parlai_humaneval.models.agent.packages import needs_local_packages
from parlai_humaneval.models.backends.base import OutsideAgent, OutsideError
from parlai_humaneval.models.backends.memory import check_memory, default_gpu_kept, is_out_of_memory, out_of_memory
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError
from parlai_humaneval.models.zoo.files import FOLDER_OPTION, PATH_OPTIONS, expand_home, make_importable, missing
from parlai_humaneval.models.zoo.secrets import key_trouble

logger = logging.getLogger(__name__)

DEFAULTS: Mapping[str, Any] = {
    # 'train' would build an optimiser, that is up to three times the memory.
    "datatype": "valid",
    "interactive_mode": True,
}
SCRIPT_OPTIONS = ("interactive_mode",)
"""Options that agents read but that ParlAI's scripts, not the agents, declare."""


def options_of(spec: ModelSpec) -> dict[str, Any]:
    """The spec's options over our defaults, with ``home:`` paths resolved and the device in ParlAI's words."""
    merged = {**DEFAULTS, **spec.options, **device_options(spec.device)}
    for key in PATH_OPTIONS:
        if isinstance(merged.get(key), str):
            merged[key] = expand_home(merged[key])
    return merged


def device_options(device: str | None) -> dict[str, Any]:
    """A zoo file's ``device`` as ParlAI's options."""
    if device is None:
        return {}
    return {"no_cuda": True} if device == "cpu" else {"no_cuda": False, "gpu": int(device.partition(":")[2])}


def parlai_opt(spec: ModelSpec) -> Opt:
    """The spec as a ParlAI ``Opt``, every option checked by the agent's own command line.

    Raises:
        ZooError: for an option that the agent does not have, an ill-typed value, those with which it would not speak,
            or a key.
    """
    if key := key_trouble(spec.options, "options."):
        raise ZooError(key, where=spec.name)
    options = options_of(spec)
    undeclared = {key: options.pop(key) for key in SCRIPT_OPTIONS if key in options}
    try:
        make_importable(spec.folder)
        opt = _parsed(options, spec)
        trouble = refusal({**opt, **_saved(opt), **opt["override"]})
    except UnknownOptions as error:
        what = f"ParlAI's agent has no option called {', '.join(error.names)}"
        raise ZooError(what, where=f"{spec.name}: options", misspelt=error.problems[0].misspelt) from error
    except ZooError:
        raise
    except (ValueError, TypeError, ImportError, AttributeError) as error:
        if isinstance(error, ImportError) and (packages := needs_local_packages(spec.name)):
            raise ZooError(packages.what, try_=packages.try_) from error
        raise ZooError(error, where=f"{spec.name}: options") from error
    except (RuntimeError, OSError) as error:  # ParlAI downloads a zoo model while it reads its options
        raise ZooError(
            f"{spec.name} cannot be fetched: {error} (ParlAI downloads its files at first use, by the internet)",
            try_=f"`parlai-humaneval models check {spec.name}` names them",
        ) from error
    if trouble:
        raise ZooError(trouble, where=f"{spec.name}: options")
    opt.update(undeclared)
    opt["override"].update(undeclared)
    if spec.folder is not None:
        opt[FOLDER_OPTION] = str(spec.folder)
    return opt


def _saved(opt: Opt) -> Opt:
    """The options that were saved with a trained model, which go before ParlAI's defaults; empty where there are none."""
    file = Path(f"{opt.get('model_file')}.opt")
    saved = Opt.load(str(file)) if file.is_file() else Opt()
    if "beam_size" in saved and "inference" not in saved:  # before there were others, several beams meant beam search
        saved["inference"] = "beam" if saved["beam_size"] > 1 else "greedy"
    return saved


def _parsed(options: Mapping[str, Any], spec: ModelSpec) -> Opt:
    """The options as the agent's command line reads them, without the device where it takes none and needs none.

    Raises:
        ZooError: for a GPU that it does not take.
        UnknownOptions: for another option that it does not have; and whatever else ParlAI raises.
    """
    placed = device_options(spec.device).keys() - spec.options.keys()
    try:
        return parse(ParlaiParser(True, True), options)
    except UnknownOptions as error:
        if placed.isdisjoint(error.names):
            raise
        if spec.device != "cpu":
            raise ZooError(f"{spec.name} cannot be put on a device: its agent takes none") from error
    return parse(ParlaiParser(True, True), {key: options[key] for key in options.keys() - placed})


def load_agent(spec: ModelSpec) -> Agent:
    """Load the model, weights and all. ``zoo:`` files that are not here are downloaded by ParlAI.

    Raises:
        ZooError: when something is missing, memory does not suffice, or the agent cannot be built from its options.
        UntestedRelease: ParlAI is not of the line that this package works with.
    """
    check_release("parlai")
    if absent := missing(spec):
        raise ZooError(f"{spec.name} cannot be loaded: {' '.join(absent)}")
    check_memory(spec)
    opt = parlai_opt(spec)
    _let_through(opt, spec)
    try:
        with default_gpu_kept(spec), isolate_model_code():
            return _with_own_chances(create_agent(opt, requireModelExists=True))
    except Exception as error:  # an agent's constructor may raise anything
        if is_out_of_memory(error):
            raise out_of_memory(spec) from error
        where = f"{spec.name} cannot be loaded"
        if isinstance(error, OutsideError):
            raise ZooError(error, where=where) from error
        if package := lacking(error):
            raise ZooError(package.what, where=where, try_=package.try_) from error
        raise ZooError(f"{type(error).__name__}: {error}", where=where) from error


def _let_through(opt: Opt, spec: ModelSpec) -> None:
    """Have an agent's own limit of requests at once, where the entry leaves it open, follow ``running.threads``."""
    threads = spec.running.threads
    if threads is None or "concurrency" not in opt:
        return
    if "concurrency" not in spec.options:
        opt["concurrency"] = opt["override"]["concurrency"] = threads
    elif spec.options["concurrency"] != threads:
        logger.warning(
            "%s: running.threads is %s and options.concurrency %s: the lower of them is how many requests it gets at once. "
            "running.threads alone is enough",
            spec.name,
            threads,
            spec.options["concurrency"],
        )


def _with_own_chances(agent: Agent) -> Agent:
    """The agent; each conversation of one of ParlAI's generators draws its words by its own seed."""
    generators = sys.modules.get("parlai.core.torch_generator_agent")
    if generators is None or not isinstance(agent, generators.TorchGeneratorAgent):
        return agent  # without the module, torch, which takes seconds, is not there either
    from parlai_humaneval.models.pool.seeded_sampling import seeded

    return seeded(agent)


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
    file = Path(f"{asked.get('model_file') or ''}.opt")
    saved = Opt.load(str(file)) if file.is_file() else {}
    opt = Opt(agent.opt)
    for key in generation_options(agent):
        for source in (asked["override"], saved, asked):
            if key in source:
                opt[key] = source[key]
                break
    opt["override"] = asked["override"]
    return opt
