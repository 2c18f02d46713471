"""A plain Python function as a model.

``reply(history: list[Turn]) -> str``; :class:`~parlai_humaneval.models.turns.Turn` is importable as
``from parlai_humaneval import Turn``. In a zoo file::

    my_bot:
      options: {model: "parlai_humaneval.agents.callable:CallableAgent", function: "my_bot.py:reply"}
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import threading
import traceback
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from parlai.core.loader import register_agent
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser

from parlai_humaneval.models.outside.base import Heard, OutsideAgent, OutsideError, Said
from parlai_humaneval.models.outside.own_function import EXAMPLES, find_function, own_frames, wanted
from parlai_humaneval.models.turns import Turn
from parlai_humaneval.models.zoo.own_code import folder_of

logger = logging.getLogger(__name__)

OFFERED: dict[str, object] = {"persona": [], "seed": 0}
"""Keyword arguments that a function may declare: the sentences it is to play, and the conversation's seed."""


class OwnFunction:
    """A function of the user's, called with what it declares; an asynchronous one runs in an event loop of its own."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self._function = function
        self._wanted = wanted(function, OFFERED)
        self._starting = threading.Lock()
        self._told: set[str] = set()  # errors whose frames are in the log

    def __call__(self, heard: Heard) -> str:
        history = [Turn(speaker, text) for speaker, text in heard.dialogue]
        offered = {"persona": list(heard.persona), "seed": heard.seed}
        text = self._function(history, **{name: offered[name] for name in self._wanted})
        if inspect.iscoroutine(text):
            text = asyncio.run_coroutine_threadsafe(text, self._running_loop()).result()
        if not isinstance(text, str):
            raise TypeError(f"{self.name} answered with {type(text).__name__}, not with a text (str)")
        return text

    def failure(self, error: Exception) -> OutsideError:
        """What the function raised, in one line; where, in full, is logged once."""
        frames = own_frames(error, __file__)
        place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
        said = f"{type(error).__name__}: {error}{place}"
        if frames and said not in self._told:
            self._told.add(said)
            where = "".join(traceback.format_list(frames)).rstrip()
            logger.error("%s raised %s: %s\n%s", self.name, type(error).__name__, error, where)
        return OutsideError(said)

    def close(self) -> None:
        """End the event loop, where there is one."""
        with self._starting:
            loop = self.__dict__.pop("_loop", None)
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            return self._loop

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """One for all calls: what a function keeps open between them (a client's connections) belongs to its loop."""
        loop = asyncio.new_event_loop()
        threading.Thread(target=_run, args=[loop], name="own-function", daemon=True).start()
        return loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    with contextlib.closing(loop):
        loop.run_forever()


@register_agent("parlai_humaneval/callable")
class CallableAgent(OutsideAgent):
    """Answers with what the function returns. What it raises is written down, and it is called again.

    It is called by one thread at a time unless ``concurrency`` says more.
    """

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        super().add_cmdline_args(parser, partial_opt)
        group = parser.add_argument_group("Arguments of a function as a model")
        group.add_argument("--function", type=str, help=f"The function: {EXAMPLES} (beside the zoo file)")
        parser.set_defaults(concurrency=1)  # few models that compute here may be called by two threads at once
        return parser

    @classmethod
    def lacks(cls, options: Mapping[str, Any], folder: Path) -> list[str]:
        """Why the function cannot be called; its module is imported."""
        where = str(options.get("function") or "")
        try:
            OwnFunction(where, find_function(where, folder))
        except ValueError as error:
            return [f"{error}."]
        except Exception as error:  # noqa: BLE001 - the user's code may raise anything when it is imported
            return [f"function: {where} cannot be imported: {type(error).__name__}: {error}."]
        return []

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        where = str(opt.get("function") or "")
        self.function: OwnFunction = (
            shared["function"] if shared else OwnFunction(where, find_function(where, folder_of(opt)))
        )

    def share(self) -> dict[str, Any]:
        """All clones call the one function."""
        return {**super().share(), "function": self.function}

    def shutdown(self) -> None:
        """End the event loop of an asynchronous function."""
        self.function.close()

    def ask(self, heard: Heard) -> Said:
        try:
            return Said(self.function(heard))
        except Exception as error:  # noqa: BLE001 - the user's code may raise anything
            failure = self.function.failure(error)
        raise failure  # outside of the handler: it drags no traceback of ours along
