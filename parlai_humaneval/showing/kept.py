"""Keeping what takes a second to be made, where the threads of many conversations ask for it at the same moment."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def made_once(maxsize: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function whose last ``maxsize`` values are kept, each made by one thread only: the others wait for it.

    With ``lru_cache`` alone all threads make it that ask before it is there. They hinder each other: for two hundred
    conversations that began in the same second, the words of all languages were read two hundred times, in twenty seconds.
    """

    def decorate(make: Callable[P, R]) -> Callable[P, R]:
        kept: Callable[..., R] = lru_cache(maxsize=maxsize)(make)
        lock = threading.RLock()
        if hasattr(os, "register_at_fork"):  # a child must not wait for a thread that it does not have
            os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)

        @wraps(make)
        def ask(*args: P.args, **kwargs: P.kwargs) -> R:
            with lock:
                return kept(*args, **kwargs)

        return ask

    return decorate
