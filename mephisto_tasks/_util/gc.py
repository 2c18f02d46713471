"""Less frequent garbage collection: Python's collector stops all threads while it searches."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

NEW_OBJECTS = 10_000
"""After so many more objects the newest are searched; Python's own 700 are made by every second packet of a page."""


@contextmanager
def collector_off() -> Iterator[None]:
    """No garbage collection in the block (a sixth of a launch's imports, half of the time to read a database)."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def only_new_garbage() -> Iterator[None]:
    """In the block, the collector looks at nothing that was there before it."""
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
