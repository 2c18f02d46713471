"""Names of crowd providers as databases, books and pages have them (those of old runs stay), and the error of a crowd."""

from __future__ import annotations

from parlai_humaneval._util.errors import HumanevalError

LOCAL, LINK = "mock", "link"
MTURK, SANDBOX = "mturk", "mturk_sandbox"
PROVIDERS = (MTURK, SANDBOX)
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
    """It cannot be said at this moment whether somebody comes from the crowd's site; their page asks again by itself."""
