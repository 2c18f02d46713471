"""The additions of Mephisto's sandboxes to names in databases, the errors of a crowd and of stored data, and the findings
of ``doctor``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from parlai_humaneval._util.errors import HumanevalError

SANDBOX_SUFFIX = "_sandbox"
"""What Mephisto adds to the names of requesters, workers and qualifications of its sandboxes, that on this machine too."""


def plain_name(stored: str) -> str:
    return stored.removesuffix(SANDBOX_SUFFIX)


def stored_names(name: str) -> tuple[str, str]:
    """What a worker whose page says this name may be called in the database."""
    return name, name + SANDBOX_SUFFIX


class ResultsError(HumanevalError, RuntimeError):
    """Stored results that cannot be read."""


class CrowdError(HumanevalError, RuntimeError):
    """A crowd's site refused something, or could not be asked; the message says what to do."""


class NotYetKnown(Exception):
    """It is not known yet whether a visitor comes from the crowd's site; their page asks again by itself."""


Status = Literal["ok", "warning", "error"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. ``mend``: what to do, empty where there is nothing to do."""

    what: str
    status: Status
    found: str
    mend: str = ""
