"""Who comes by a link: the parameters of an address become an arrival, or a sentence that says why not.

The page sends the parameters as they stand in its address, and the server decides who that is. A launch has several
doors: one of a panel, one for invitations. The first that knows its own parameters answers for the visitor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mephisto_tasks.admission.visits import Arrival, Outcome, Parameters, TurnedAway
from parlai_humaneval.i18n.translate import phrase
from parlai_humaneval.schema.steps import Redirect

MOST_PARAMETERS = 50
LONGEST_NAME = 100
LONGEST_VALUE = 2000

NO_LINK = phrase(
    "The address of this page does not say who you are. Please open the study with the link that you were given, or "
    "from the site that sent you here."
)
UNREADABLE = phrase(
    "The address of this page cannot be read: a part of the link is damaged, or too long. Please open the study again "
    "with the link that you were given."
)
TWICE = phrase(
    "The address of this page names two different people. Please open the study again from the site that sent you "
    "here, or with the link that you were given."
)


class Door(Protocol):
    """One way in, and the ways out that belong to it."""

    @property
    def name(self) -> str:
        """Such as ``invitation``; it is stored with every visit."""

    @property
    def takes_back(self) -> bool:
        """Whether visitors came from a site to which they return the task; others just close the page."""

    def arrival(self, parameters: Parameters) -> Arrival | None:
        """Who came; None when the address has none of this door's parameters, so that another door may know them.

        Raises:
            TurnedAway: it has, and they are not good (forged, expired, incomplete).
        """

    def begins(self, arrival: Arrival) -> None:
        """Note that the visitor begins, who so far may only have looked.

        Raises:
            TurnedAway: others were quicker.
        """

    def exit(self, arrival: Arrival, outcome: Outcome) -> Redirect | None:
        """Where the visitor goes in the end; None: they may just close the page."""


def read_parameters(sent: object) -> Parameters:
    """The parameters of an address, which a page sends as pairs of a name and a value.

    Raises:
        TurnedAway: they are no such pairs, or too many or too long; or one name has two values.
    """
    if not isinstance(sent, Sequence) or isinstance(sent, str) or len(sent) > MOST_PARAMETERS:
        raise TurnedAway(UNREADABLE)
    parameters: dict[str, str] = {}
    for pair in sent:
        name, value = _pair(pair)
        if parameters.setdefault(name, value) != value:
            raise TurnedAway(TWICE)
    return parameters


def _pair(pair: object) -> tuple[str, str]:
    match pair:
        case [str(name), str(value)] if len(name) <= LONGEST_NAME and len(value) <= LONGEST_VALUE:
            return name, value
    raise TurnedAway(UNREADABLE)


def arrival_by(doors: Sequence[Door], parameters: Parameters) -> Arrival:
    """Who came, as the first door says that knows the parameters.

    Raises:
        TurnedAway: no door does, or the one that does does not let them in.
    """
    for door in doors:
        arrival = door.arrival(parameters)
        if arrival is not None:
            return arrival
    raise TurnedAway(NO_LINK)
