"""Errors of crowds' sites, for rooms below ``crowds`` that have to catch them."""

from __future__ import annotations

from parlai_humaneval._util.errors import HumanevalError


class CrowdError(HumanevalError, RuntimeError):
    """A crowd's site refused something, or could not be asked; the message says what to do."""


class NotYetKnown(Exception):
    """It cannot be said at this moment whether somebody comes from the crowd's site; their page asks again by itself."""
