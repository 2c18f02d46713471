"""What can go wrong between us and MTurk, as sentences that say what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from botocore import exceptions as aws
from typing_extensions import Unpack

from mephisto_tasks.crowds.base import CrowdError
from mephisto_tasks.crowds.mturk.settings import CLOSED, asks_amazon
from parlai_humaneval._util.errors import Parts

REGION = "us-east-1"
"""The only region in which MTurk is."""

NO_KEYS = (
    "there are no AWS keys for {whom}. Run `parlai-humaneval requester add NAME --provider mturk` (or mturk_sandbox), or "
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY here"
)
WRONG_KEYS = (
    "MTurk does not know these AWS keys. Renew them: `parlai-humaneval requester add NAME --provider … --access-key-id …` "
    "(the secret is asked for), or correct AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
)
WRONG_REGION = (
    f"MTurk is in the region {REGION} only. Correct AWS_ENDPOINT_URL_MTURK, which names another one, or unset it"
)
WRONG_CLOCK = (
    "this machine's clock is wrong, and AWS refuses requests of another time: set it (`timedatectl set-ntp true`)"
)
NOT_ALLOWED = (
    "these AWS keys may not use MTurk. Give their IAM user the policy AmazonMechanicalTurkFullAccess, and link the AWS "
    "account to the MTurk account (requester.mturk.com/developer; for the sandbox requestersandbox.mturk.com/developer)"
)
NO_MONEY = "the MTurk account has not enough money for it. Add some at requester.mturk.com/account, and launch again"
THROTTLED = "MTurk says that it is asked too often, though we waited between tries. Try again in a few minutes"
NOT_HANDED_IN = "its worker has not handed this assignment in: they are still at work, returned it, or were too slow"
UNREACHABLE = "MTurk could not be reached ({why}). Check the network, and AWS_ENDPOINT_URL_MTURK if it is set"

_BY_CODE = {
    "UnrecognizedClientException": WRONG_KEYS,
    "InvalidClientTokenId": WRONG_KEYS,
    "InvalidAccessKeyId": WRONG_KEYS,
    "AuthFailure": WRONG_KEYS,
    "InvalidSignatureException": WRONG_KEYS,
    "SignatureDoesNotMatch": WRONG_KEYS,
    "IncompleteSignature": WRONG_KEYS,
    "RequestExpired": WRONG_CLOCK,
    "RequestInTheFuture": WRONG_CLOCK,
    "RequestTimeTooSkewed": WRONG_CLOCK,
    "ExpiredToken": "these AWS keys were temporary, and have run out: get new ones",
    "ExpiredTokenException": "these AWS keys were temporary, and have run out: get new ones",
    "AccessDenied": NOT_ALLOWED,
    "AccessDeniedException": NOT_ALLOWED,
    "NotAuthorized": NOT_ALLOWED,
    "OptInRequired": NOT_ALLOWED,
    "Throttling": THROTTLED,
    "ThrottlingException": THROTTLED,
    "RequestThrottled": THROTTLED,
    "TooManyRequestsException": THROTTLED,
    "AWS.MechanicalTurk.InsufficientFunds": NO_MONEY,
    "AWS.MechanicalTurk.AWSAccountNotLinked": NOT_ALLOWED,
    "AWS.MechanicalTurk.HITDoesNotExist": "MTurk has no such HIT: it was deleted, by hand perhaps",
    "AWS.MechanicalTurk.HITTypeDoesNotExist": "MTurk has no such HIT type",
    "AWS.MechanicalTurk.AssignmentDoesNotExist": (
        "MTurk has no such assignment: its worker returned it, was too slow, or its HIT was deleted"
    ),
    "AWS.MechanicalTurk.QualificationTypeDoesNotExist": (
        "MTurk has no such qualification in this account (the sandbox has its own). Correct its id, or leave it out"
    ),
}
_BY_MESSAGE = (
    (re.compile(r"status of: Reviewable,"), NOT_HANDED_IN),
    (re.compile(r"signature (has )?expired|not yet current|clock", re.I), WRONG_CLOCK),
    (re.compile(r"scoped to (a valid|correct) region", re.I), WRONG_REGION),
    (re.compile(r"insufficient funds", re.I), NO_MONEY),
    (re.compile(r"account must be linked|not linked", re.I), NOT_ALLOWED),
)


class MTurkError(CrowdError):
    """MTurk refused, or could not be asked. ``code``: AWS's word for it, empty where there is none."""

    def __init__(self, what: str | BaseException, code: str = "", **parts: Unpack[Parts]) -> None:
        super().__init__(what, **parts)
        self.code = code


@contextmanager
def asking(what: str, whom: str = "MTurk") -> Iterator[None]:
    """What botocore raises in the block becomes an :class:`MTurkError`: “cannot WHAT: …”."""
    try:
        yield
    except (aws.BotoCoreError, aws.ClientError) as error:
        raise explained(error, what, whom) from error


def explained(error: Exception, what: str, whom: str = "MTurk") -> MTurkError:
    """The sentence for an error of botocore's."""
    if isinstance(error, aws.ClientError):
        code = turk_code(error)
        answers_as_ever = code.startswith("AWS.MechanicalTurk.") or "Throttl" in code
        return MTurkError(f"cannot {what}: {_of_response(error, code)}{'' if answers_as_ever else closed()}", code)
    if isinstance(error, (aws.NoCredentialsError, aws.PartialCredentialsError, aws.ProfileNotFound)):
        return MTurkError(f"cannot {what}: {NO_KEYS.format(whom=whom)}{closed()}")
    if isinstance(error, (aws.ConnectionError, aws.HTTPClientError)):
        return MTurkError(f"cannot {what}: {UNREACHABLE.format(why=_first_line(error))}{closed()}")
    return MTurkError(f"cannot {what}: {_first_line(error)}")


def closed() -> str:
    """What is added where Amazon's own MTurk does not answer as it did."""
    return f". {CLOSED}" if asks_amazon() else ""


def turk_code(error: aws.ClientError) -> str:
    """AWS's word for an error: MTurk's own where it gives one, as it calls everything a RequestError."""
    response = error.response
    return str(response.get("TurkErrorCode") or response.get("Error", {}).get("Code", ""))


def _of_response(error: aws.ClientError, code: str) -> str:
    message = str(error.response.get("Error", {}).get("Message", ""))
    for pattern, sentence in _BY_MESSAGE:
        if pattern.search(message):
            return sentence
    return _BY_CODE.get(code) or f"MTurk says: {message or code}"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
