"""Refusals as Prolific words and shapes them, and faults to plan."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ..mechanics import Fault

Detail = "str | list[Any] | dict[str, Any]"
GATEWAY_PAGE = (
    "<html><head><title>{status}</title></head><body><center><h1>{status} {words}</h1></center></body></html>"
)
WORDS = {500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Time-out"}


@dataclass
class ApiError(Exception):
    """An answer other than yes.

    ``detail``: a sentence, a list of them, or sentences by field. ``html``: something between us and Prolific answers, with
    a page. ``shape``: of the body; empty: that which the stand-in has by default.
    """

    status: int
    detail: Any
    code: int = 140000
    html: bool = False
    retry_after: str | None = None
    shape: str = ""

    def body(self, shape: str) -> str:
        """What goes over the wire. ``shape``: ``wrapped``, ``bare``, ``message`` or ``empty``."""
        if self.html:
            return GATEWAY_PAGE.format(status=self.status, words=WORDS.get(self.status, "Error"))
        shape = self.shape or shape
        if shape == "empty":
            return ""
        if shape == "message":
            return json.dumps({"message": "The request could not be done.", "detail": self.detail})
        inner = {
            "status": self.status,
            "error_code": self.code,
            "title": "The request could not be done",
            "detail": self.detail,
            "additional_information": "/api/v1/errors/",
            "traceback": None,
            "interactive": False,
        }
        return json.dumps(inner if shape == "bare" else {"error": inner})


def bad(detail: Any, code: int = 140000) -> ApiError:
    """The request is wrong, or wrong as things are."""
    return ApiError(400, detail, code)


def not_found(kind: str = "object") -> ApiError:
    return ApiError(404, f"No {kind} matches the given query.", 140001)


NO_TOKEN = ApiError(401, "Authentication credentials were not provided.", 140100)
WRONG_TOKEN = ApiError(401, "Invalid token.", 140101)
FOREIGN = ApiError(403, "You do not have permission to perform this action.", 140300)
GATED = "This feature is not enabled for your workspace."
WRONG_PROJECT = bad("The API token does not match the project of the study.", 140007)
BUSY = ApiError(429, "Request was throttled.", 140429)
BUSY_FOR_A_SECOND = ApiError(429, "Request was throttled.", 140429, retry_after="1")
SERVER_ERROR = ApiError(500, "", html=True)
BAD_GATEWAY = ApiError(502, "", html=True)
EMPTY_GATEWAY = ApiError(503, "", shape="empty")
ERROR_AFTER = Fault(error_after=SERVER_ERROR)
"""It is done, and answered as if it were not."""


def refused_after(status: int) -> Fault:
    """It is done, and refused."""
    return Fault(error_after=ApiError(status, "This is not possible in its state."))
