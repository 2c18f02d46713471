"""A stand-in for Prolific on this machine: its API with state, money, time and faults, and its participants.

>>> with StandIn() as prolific:                                  # doctest: +SKIP
...     api = Prolific(prolific.token, prolific.base)            # or PROLIFIC_API=prolific.base
...     someone = prolific.participant()
...     address = someone.take(study_id)                         # a participant, without a browser

Operations are called as in ``POST studies/{}/transition/``; those that say an action also with it, as in
``POST studies/{}/transition/ PUBLISH``. So are faults planned, and calls noted.
"""

from ..mechanics import CUT_AFTER, CUT_BEFORE, Call, Fault, Faults
from .errors import (
    BAD_GATEWAY,
    BUSY,
    BUSY_FOR_A_SECOND,
    EMPTY_GATEWAY,
    ERROR_AFTER,
    FOREIGN,
    SERVER_ERROR,
    WRONG_PROJECT,
    WRONG_TOKEN,
    ApiError,
    refused_after,
)
from .market import Market, NotAllowed
from .records import Charge, Delays, Group, Person, Price, Study, Submission, Unknowns, Workspace
from .server import TOKEN, Participant, StandIn

__all__ = [
    "BAD_GATEWAY",
    "BUSY",
    "BUSY_FOR_A_SECOND",
    "CUT_AFTER",
    "CUT_BEFORE",
    "EMPTY_GATEWAY",
    "ERROR_AFTER",
    "FOREIGN",
    "SERVER_ERROR",
    "TOKEN",
    "WRONG_PROJECT",
    "WRONG_TOKEN",
    "ApiError",
    "Call",
    "Charge",
    "Delays",
    "Fault",
    "Faults",
    "Group",
    "Market",
    "NotAllowed",
    "Participant",
    "Person",
    "Price",
    "StandIn",
    "Study",
    "Submission",
    "Unknowns",
    "Workspace",
    "refused_after",
]
