"""Options of ParlAI's generators that go together, and those that do not: ParlAI tells of these at the first reply.

Options that an agent does not have, and which of its own may have been meant.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from parlai_humaneval._util.errors import HumanevalError, Misspelt, misspelt

if TYPE_CHECKING:
    from parlai.core.opt import Opt
    from parlai.core.params import ParlaiParser


class UnknownOptions(HumanevalError, LookupError):
    """Options that neither ParlAI nor the agent has. The message names them, and those that may have been meant."""

    def __init__(self, names: Sequence[str], known: Iterable[str]) -> None:
        super().__init__(", ".join(names), misspelt=meant_options(names, known))
        self.names = names


def parse(parser: ParlaiParser, options: Mapping[str, Any]) -> Opt:
    """``options`` as a command line of ParlAI reads them, that of the agent that they name included.

    Raises:
        UnknownOptions: for those that there are not; and whatever else ParlAI raises.
    """
    try:
        return parser.parse_kwargs(**options)
    except KeyError as error:
        names = str(error.args[0]).rpartition(": ")[2].split(", ")
    raise UnknownOptions(names, [action.dest for action in parser._actions])  # it knows the agent's own by now


def meant_options(names: Sequence[str], known: Iterable[str]) -> Misspelt | None:
    """What may have been meant by the names, of all that are ``known``."""
    choices = sorted(set(known))
    found = [meant for name in names if (meant := misspelt(name, choices, cutoff=0.7, most=2))]
    near = dict.fromkeys(name for meant in found for name in meant.nearest)
    return Misspelt(", ".join(names), tuple(near)) if near else None


def as_sentence(message: str) -> str:
    """The message with a full stop, unless it ends in one, or in the question mark of a suggestion."""
    return message if message.endswith((".", "?", "!")) else f"{message}."


NUCLEUS = frozenset({"nucleus", "delayednucleusbeam", "factual_nucleus"})
TOP_K = frozenset({"topk", "delayedbeam"})
DELAYED = frozenset({"delayedbeam", "delayednucleusbeam"})
FACTUAL = frozenset({"factual_nucleus"})
USED_BY: Mapping[str, Collection[str]] = {
    "topk": TOP_K,
    "topp": NUCLEUS,
    "beam_delay": DELAYED,
    **dict.fromkeys(("lambda_decay", "omega_bound", "p_reset"), FACTUAL),
}
"""Options that some values of ``inference`` alone read."""
WITHOUT_EFFECT_ON_GREEDY = ("beam_min_length", "beam_length_penalty", "temperature")


def refusal(options: Mapping[str, Any]) -> str | None:
    """Why a generator with these options, all of them, would say nothing; None where it would speak.

    Options of other agents are none of its business.
    """
    inference, beams = options.get("inference"), options.get("beam_size")
    if inference is None or beams is None:
        return None
    if options.get("skip_generation"):
        return (
            "skip_generation is true, as in trainings, so that it would never say anything; give skip_generation: false"
        )
    if inference == "greedy" and beams != 1:
        return (
            f"inference greedy searches with one beam, and beam_size is {beams}; give beam_size: 1, or another inference "
            "such as beam"
        )
    return next((said for key, said in _OUT_OF_RANGE.items() if _out_of_range(key, inference, options)), None)


_OUT_OF_RANGE = {
    "beam_size": "beam_size must be at least 1",
    "temperature": "temperature must be above 0",
    "topk": "topk must be at least 1",
    "topp": "topp must be above 0",
}


def _out_of_range(key: str, inference: str, options: Mapping[str, Any]) -> bool:
    value = options.get(key)
    return value is not None and value <= 0 and inference in USED_BY.get(key, (inference,))


def without_effect(inference: object, given: Collection[str]) -> list[str]:
    """Those of the ``given`` options that a generator with this ``inference`` does not read."""
    passed_over = [key for key in given if inference not in USED_BY.get(key, (inference,))]
    return passed_over + [key for key in given if inference == "greedy" and key in WITHOUT_EFFECT_ON_GREEDY]
