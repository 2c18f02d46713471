"""The additions of Mephisto's sandboxes to names in databases, and the errors of a crowd."""

from __future__ import annotations

from parlai_humaneval._util.errors import HumanevalError

SANDBOX_SUFFIX = "_sandbox"
"""What Mephisto adds to the names of requesters, workers and qualifications of its sandboxes, that on this machine too."""


def plain_name(stored: str) -> str:
    return stored.removesuffix(SANDBOX_SUFFIX)


def stored_names(name: str) -> tuple[str, str]:
    """What a worker whose page says this name may be called in the database."""
    return name, name + SANDBOX_SUFFIX


class CrowdError(HumanevalError, RuntimeError):
    """A crowd's site refused something, or could not be asked; the message says what to do."""


class NotYetKnown(Exception):
    """It is not known yet whether a visitor comes from the crowd's site; their page asks again by itself."""
