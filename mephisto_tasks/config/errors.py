"""What is raised where settings cannot be run, by whoever reads them."""

from __future__ import annotations


class ConfigError(ValueError):
    """Settings that cannot be run; the message names the setting and what was expected."""
