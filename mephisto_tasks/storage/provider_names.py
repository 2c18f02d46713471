"""Names of crowd providers as databases, books and pages have them: those of old runs stay what they are.

Only crowds know what is behind a name (:func:`mephisto_tasks.crowds.registry.crowd_of`).
"""

from __future__ import annotations

LOCAL, LINK = "mock", "link"
MTURK, SANDBOX = "mturk", "mturk_sandbox"
PROVIDERS = (MTURK, SANDBOX)
SANDBOX_SUFFIX = "_sandbox"
"""What Mephisto adds to the names of requesters, workers and qualifications of its sandboxes, that on this machine too."""


def plain_name(stored: str) -> str:
    """A worker's or requester's name without Mephisto's suffix."""
    return stored.removesuffix(SANDBOX_SUFFIX)


def stored_names(name: str) -> tuple[str, str]:
    """What a worker whose page says this name may be called in the database."""
    return name, name + SANDBOX_SUFFIX
