"""The system's Chromium; nothing is downloaded."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

WHOLE = ("chromium", "chromium-browser", "google-chrome")
NAMES = ("chromium-headless-shell", *WHOLE)
"""The first is the same browser without windows and settings: it needs half of a processor's time for the same pages."""

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--in-process-gpu",  # nothing is drawn for a screen: a process for it takes a twentieth of the browser's time
]


def find_chromium(names: Sequence[str] = NAMES) -> str | None:
    """Path of ``$CHROMIUM``, else of the first of these names on the PATH; None where there is none."""
    named = os.environ.get("CHROMIUM")
    for name in (named,) if named else names:
        path = shutil.which(name)
        if path is not None:
            return path
    return None
