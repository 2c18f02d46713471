"""Options that an agent does not have, and which of its own may have been meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parlai.core.opt import Opt
    from parlai.core.params import ParlaiParser


class UnknownOptions(LookupError):
    """Options that neither ParlAI nor the agent has. The message names them, and those that may have been meant."""

    def __init__(self, names: Sequence[str], known: Iterable[str]) -> None:
        super().__init__(", ".join(names) + did_you_mean(names, known))
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


def did_you_mean(names: Iterable[str], known: Iterable[str]) -> str:
    """``; did you mean beam_size?``, or nothing where none of the ``known`` is much like one of the names."""
    choices = sorted(set(known))
    near = dict.fromkeys(like for name in names for like in difflib.get_close_matches(name, choices, n=2, cutoff=0.7))
    return f"; did you mean {' or '.join(near)}?" if near else ""


def as_sentence(message: str) -> str:
    """The message with a full stop, unless it ends in one, or in the question mark of a suggestion."""
    return message if message.endswith((".", "?", "!")) else f"{message}."
