"""Errors of settings. All readers of settings import this module, so it imports none of them."""

from __future__ import annotations

from parlai_humaneval._util.errors import HumanevalError


class ConfigError(HumanevalError, ValueError):
    """Settings that cannot be run; the message names the setting and what was expected."""


class NothingToDo(HumanevalError):
    """Everything that the settings ask for is there already."""
