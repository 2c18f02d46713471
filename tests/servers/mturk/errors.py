"""Refusals as Amazon words and shapes them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any


@dataclass
class AwsError(Exception):
    """An answer other than yes. ``code``: the name that botocore gives it in ``error.response["Error"]["Code"]``."""

    code: str
    message: str
    status: int = 400
    turk_code: str = ""
    """MTurk's own code (``AWS.MechanicalTurk.…``), for RequestError and ServiceFault."""

    def body(self) -> dict[str, Any]:
        """What goes over the wire."""
        if not self.turk_code:
            return {"__type": self.code, "message": self.message}
        stamped = f"{self.message} ({int(time.time() * 1000)} s)"
        return {"__type": self.code, "Message": stamped, "TurkErrorCode": f"AWS.MechanicalTurk.{self.turk_code}"}


def request_error(turk_code: str, message: str) -> AwsError:
    """The request is wrong as things are: the error of MTurk that callers meet most."""
    return AwsError("RequestError", message, turk_code=turk_code)


def does_not_exist(kind: str, identifier: str) -> AwsError:
    """``kind``: Hit, HITType, Assignment, QualificationType, Worker."""
    turk_code = {"Hit": "HITDoesNotExist"}.get(kind, f"{kind}DoesNotExist")
    return request_error(turk_code, f"{kind} {identifier} does not exist.")


def insufficient_funds() -> AwsError:
    return request_error(
        "InsufficientFunds", "This Requester has insufficient funds in their account to complete this transaction."
    )


def already_processed(token: str) -> AwsError:
    return request_error("DuplicateRequest", f'The idempotency token "{token}" has already been processed.')


def invalid(message: str) -> AwsError:
    return request_error("ParameterValidationError", message)


THROTTLED = AwsError("ThrottlingException", "Rate exceeded")
SERVICE_FAULT = AwsError(
    "ServiceFault", "Amazon Mechanical Turk is unable to process your request.", 500, "ServiceFault"
)
UNAVAILABLE = AwsError("ServiceUnavailableException", "Service Unavailable", 503)
UNKNOWN_KEY = AwsError("UnrecognizedClientException", "The security token included in the request is invalid.")
DENIED = AwsError("AccessDeniedException", "User is not authorized to perform this operation.")
CLOCK_WRONG = AwsError(
    "InvalidSignatureException", "Signature expired: the time of the request is too far from the time of the server."
)
NOT_LINKED = request_error(
    "NotAuthorized",
    "To use the MTurk API, you will need an Amazon Web Services (AWS) Account. Your AWS account must be linked to your "
    "Amazon Mechanical Turk Account.",
)
