"""Facts about agents without heavy imports: names, options, packages, and how they receive a dialogue."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from parlai_humaneval._util.errors import HumanevalError, Misspelt, misspelt
from parlai_humaneval._util.installing import LOCAL, SETUP_LOCAL, PackageError

if TYPE_CHECKING:
    from parlai.core.opt import Opt
    from parlai.core.params import ParlaiParser


@dataclass(frozen=True)
class Turn:
    """What one side said. ``speaker``: ``human`` is the person, ``bot`` is you, whichever model's words were picked."""

    speaker: Literal["human", "bot"]
    text: str
    images: tuple[str, ...] = ()  # data URLs, with the option ``images``


SHORT_PREFIX = "parlai_humaneval/"

AGENT_HOMES: Mapping[str, str] = {
    name: f"parlai_humaneval.models.{folder}.{name}"
    for folder, names in (
        ("bot_speaker", ("bot_speaker",)),
        ("baselines", ("eliza", "retrieval", "degraded", "transfer_transfo", "kv_memnn", "lstm")),
        ("backends", ("chat_completions", "http_endpoint", "callable", "human")),
        ("agent", ("dialogue_agent",)),
    )
    for name in names
} | {
    "command": "parlai_humaneval.models.backends.program",
    "causal_lm": "parlai_humaneval.models.backends.language_models",
    "seq2seq_lm": "parlai_humaneval.models.backends.language_models",
    "vision_lm": "parlai_humaneval.models.backends.language_models",
}
"""Name under ``parlai_humaneval.agents``, which ParlAI users type and saved options hold → module."""
BASES = ("dialogue_agent",)
"""Modules of base classes for custom agents; these are not models."""
AGENT_MODULES: Mapping[str, str] = {name: module for name, module in AGENT_HOMES.items() if name not in BASES}


class NoSuchAgent(HumanevalError, ImportError):
    """No agent of this package is called so; the message says what may have been meant."""


def module_of(name: str) -> str:
    """The module that registers the agent of a short name; :class:`NoSuchAgent` where none of ours is called so."""
    bare = name.removeprefix(SHORT_PREFIX)
    if bare in AGENT_MODULES:
        return AGENT_MODULES[bare]
    near = misspelt(bare, AGENT_MODULES, most=2)
    known = [f"{SHORT_PREFIX}{agent}" for agent in (near.nearest if near else AGENT_MODULES)]
    raise NoSuchAgent(
        f"no agent is called {name}",
        misspelt=Misspelt(name, tuple(known)) if near else None,
        try_=() if near else f"choose one of: {', '.join(known)}",
    )


class UnknownOptions(HumanevalError, LookupError):
    """Options that neither ParlAI nor the agent has. The message names them, and those that may have been meant."""

    def __init__(self, names: Sequence[str], known: Iterable[str]) -> None:
        super().__init__(", ".join(names), misspelt=meant_options(names, known))
        self.names = names


def parse(parser: ParlaiParser, options: Mapping[str, Any]) -> Opt:
    """``options`` as a command line of ParlAI reads them, that of the agent included; unknown ones are an UnknownOptions."""
    try:
        return parser.parse_kwargs(**options)
    except KeyError as error:
        names = str(error.args[0]).rpartition(": ")[2].split(", ")
    raise UnknownOptions(names, [action.dest for action in parser._actions])  # it knows the agent's own by now


def meant_options(names: Sequence[str], known: Iterable[str]) -> Misspelt | None:
    choices = sorted(set(known))
    found = [meant for name in names if (meant := misspelt(name, choices, cutoff=0.7, most=2))]
    near = dict.fromkeys(name for meant in found for name in meant.nearest)
    return Misspelt(", ".join(names), tuple(near)) if near else None


def as_sentence(message: str) -> str:
    return message if message.endswith((".", "?", "!")) else f"{message}."


USED_BY: Mapping[str, Collection[str]] = {
    "topk": {"topk", "delayedbeam"},
    "topp": {"nucleus", "delayednucleusbeam", "factual_nucleus"},
    "beam_delay": {"delayedbeam", "delayednucleusbeam"},
    **dict.fromkeys(("lambda_decay", "omega_bound", "p_reset"), ("factual_nucleus",)),
}
"""Options that some values of ``inference`` alone read."""
WITHOUT_EFFECT_ON_GREEDY = ("beam_min_length", "beam_length_penalty", "temperature")


def refusal(options: Mapping[str, Any]) -> str | None:
    """Why a generator with these options, all of them, would say nothing; None where it would speak, or is none."""
    inference, beams = options.get("inference"), options.get("beam_size")
    if inference is None or beams is None:
        return None
    if options.get("skip_generation"):
        return "`skip_generation` is true, as in training, so the model would never reply; set `skip_generation: false`"
    if inference == "greedy" and beams != 1:
        return (
            f"inference greedy uses one beam, but beam_size is {beams}; set beam_size: 1, or another inference such "
            "as beam"
        )
    read = {key: options.get(key) for key in _OUT_OF_RANGE if inference in USED_BY.get(key, (inference,))}
    return next((_OUT_OF_RANGE[key] for key, value in read.items() if value is not None and value <= 0), None)


_OUT_OF_RANGE = {
    "beam_size": "beam_size must be at least 1",
    "temperature": "temperature must be above 0",
    "topk": "topk must be at least 1",
    "topp": "topp must be above 0",
}


def without_effect(inference: object, given: Collection[str]) -> list[str]:
    """Those of the ``given`` options that a generator with this ``inference`` does not read."""
    passed_over = [key for key in given if inference not in USED_BY.get(key, (inference,))]
    return passed_over + [key for key in given if inference == "greedy" and key in WITHOUT_EFFECT_ON_GREEDY]


def needs_local_packages(name: str) -> PackageError | None:
    if all(find_spec(package) for package in LOCAL):
        return None
    return PackageError(f"{name} needs PyTorch and transformers, which are not both installed", f"run `{SETUP_LOCAL}`")


@cache
def is_transformers_5() -> bool:
    return int(version("transformers").partition(".")[0]) >= 5
