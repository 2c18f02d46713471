"""A stand-in for Amazon Mechanical Turk on this machine: its protocol with state, money, time and faults, and its workers.

>>> with StandIn() as mturk:                                             # doctest: +SKIP
...     client = boto3.client("mturk", endpoint_url=mturk.url, ...)      # or AWS_ENDPOINT_URL_MTURK=mturk.url
...     mturk.crowd.accept("A1", hit_id)                                 # a worker, without a browser

What a request may say comes from botocore's own description of the service, so that it follows the real one. In the
sandbox (``StandIn(sandbox=True)``) the balance is always $10,000.00; else it is what was deposited.
"""

from ..mechanics import CUT_AFTER, CUT_BEFORE, Call, Fault, Faults
from .crowd import NO_ASSIGNMENT, Crowd, NotAllowed
from .errors import (
    CLOCK_WRONG,
    DENIED,
    NOT_LINKED,
    SERVICE_FAULT,
    THROTTLED,
    UNAVAILABLE,
    AwsError,
)
from .records import Account, Assignment, Bonus, Hit, QualificationType, Worker
from .server import KEY, SECRET, StandIn

__all__ = [
    "CLOCK_WRONG",
    "CUT_AFTER",
    "CUT_BEFORE",
    "DENIED",
    "KEY",
    "NOT_LINKED",
    "NO_ASSIGNMENT",
    "SECRET",
    "SERVICE_FAULT",
    "THROTTLED",
    "UNAVAILABLE",
    "Account",
    "Assignment",
    "AwsError",
    "Bonus",
    "Call",
    "Crowd",
    "Fault",
    "Faults",
    "Hit",
    "NotAllowed",
    "QualificationType",
    "StandIn",
    "Worker",
]
