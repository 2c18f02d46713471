"""What the launch expects of any crowd provider, beside what Mephisto does."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from parlai_humaneval._util.errors import HumanevalError


class CrowdError(HumanevalError, RuntimeError):
    """A crowd's site refused something, or could not be asked; the message says what to do."""


class NotYetKnown(Exception):
    """It cannot be said at this moment whether somebody comes from the crowd's site; their page asks again by itself."""


@runtime_checkable
class ExpiresRuns(Protocol):
    """A provider that takes all that a run offers off its market at once, instead of unit by unit."""

    def expire_run(self, task_run: Any) -> None:
        """Nobody new can take a unit of the run afterwards. Raises CrowdError naming what could not be taken off."""


@runtime_checkable
class ChecksArrivals(Protocol):
    """A provider that knows who cannot come from its site."""

    def refusal(self, provider_data: dict[str, Any]) -> str | None:
        """What the page of somebody reads who cannot have come from there, by what their page registers with.

        Raises NotYetKnown.
        """
