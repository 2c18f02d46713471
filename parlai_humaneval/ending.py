"""Ending quickly."""

from __future__ import annotations

import atexit
import gc


def end_quickly() -> None:
    """Have the interpreter end without searching once more for garbage, of which nothing would be left anyhow.

    Measured: with torch, ParlAI and Mephisto loaded, a command is over 0.2 s after its last word, and not 1.7 s.
    """
    atexit.unregister(gc.freeze)  # once is enough
    atexit.register(gc.freeze)
