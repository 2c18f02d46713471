"""Where this package keeps what it makes on the user's machine: trained models."""

from __future__ import annotations

import os
from pathlib import Path

HOME_VARIABLE = "PARLAI_HUMANEVAL_HOME"
HOME_PREFIX = "home:"
"""In a zoo file, ``home:tiny_generator/model`` is that path below :func:`models_home`."""


def user_home() -> Path:
    """``$PARLAI_HUMANEVAL_HOME``, else ``parlai-humaneval`` in ``$XDG_DATA_HOME`` or ``~/.local/share``."""
    own = os.environ.get(HOME_VARIABLE)
    if own:
        return Path(own).expanduser()
    xdg = os.environ.get("XDG_DATA_HOME")
    base = Path(xdg).expanduser() if xdg else Path.home() / ".local" / "share"
    return base / "parlai-humaneval"


def models_home() -> Path:
    """The folder of locally trained models; it need not exist yet."""
    return user_home() / "models"


def expand_home(path: str) -> str:
    """Resolve the ``home:`` prefix of a zoo file's path; any other path is returned as it is."""
    if not path.startswith(HOME_PREFIX):
        return path
    return str(models_home() / path[len(HOME_PREFIX) :])
