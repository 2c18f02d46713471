"""A plain Python function as a model.

``reply(history: list[Turn]) -> str``; :class:`~parlai_humaneval.models.agent.turns.Turn` is importable as
``from parlai_humaneval import Turn``. In a zoo file::

    my_bot:
      options: {model: "parlai_humaneval.agents.callable:CallableAgent", function: "my_bot.py:reply"}

The function is found by that name, and its signature says how it wants to be called.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib
import importlib.util
import inspect
import logging
import operator
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Coroutine, Mapping
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from parlai.core.loader import register_agent
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval._util.installing import lacking
from parlai_humaneval.models.agent.isolation import isolate_model_code
from parlai_humaneval.models.agent.turns import Turn
from parlai_humaneval.models.backends.base import Heard, OutsideAgent, OutsideError, Said
from parlai_humaneval.models.zoo.files import folder_of

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
            text = asyncio.run_coroutine_threadsafe(_awaited(text), self._running_loop()).result()
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


async def _awaited(answer: Coroutine[Any, Any, Any]) -> Any:
    """What would end the program ends the loop at least, and then nobody hears of the answer."""
    with isolate_model_code():
        return await answer


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
            said = lacking(error, where.partition(":")[0]) or f"{type(error).__name__}: {error}"
            return [f"function: {where} cannot be imported: {said}."]
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
            with isolate_model_code():
                return Said(self.function(heard))
        except Exception as error:  # noqa: BLE001 - the user's code may raise anything
            failure = self.function.failure(error)
        raise failure  # outside of the handler: it drags no traceback of ours along


EXAMPLES = "my_module:reply or my_folder/my_file.py:reply"


def find_function(where: str, folder: Path) -> Callable[..., Any]:
    """The function that ``where`` names, as ``module:function`` or ``path/to/file.py:function``.

    A relative path is looked for below ``folder``. A module that stands in ``folder`` goes before any other of its name:
    two studies may both have a ``bot``.

    Raises:
        ValueError: when there is no such file or function, or the code ends the program at import. What else the
            user's code raises at import goes through.
    """
    place, _, name = where.rpartition(":")
    if not place or not name:
        raise ValueError(f"function: expected {EXAMPLES}, not {where!r}")
    try:
        path = _file(place, folder)
        module = importlib.import_module(place) if path is None else _from_file(path)
        function = operator.attrgetter(name)(module)
    except SystemExit as error:
        raise InvalidValue(
            f"{place} ends the program when it is imported",
            where="function",
            try_='put what it runs under `if __name__ == "__main__":`',
        ) from error
    except AttributeError as error:
        # Python's words for it name the module as it is called here; of whatever else lacks something, they are told.
        lacking = isinstance(error.obj, ModuleType) and error.name == name.partition(".")[0]
        raise ValueError(f"function: {place} has no {name}" + ("" if lacking else f": {error}")) from error
    if not callable(function):
        raise ValueError(f"function: {name} in {place} is no function, but {type(function).__name__}")
    return function  # type: ignore[no-any-return]  # attrgetter does not know


def _file(place: str, folder: Path) -> Path | None:
    if place.endswith(".py") or "/" in place:
        return folder / Path(place).expanduser()
    beside = folder / f"{place}.py"
    return beside if beside.is_file() else None


def _from_file(path: Path) -> ModuleType:
    """The module in a file. Two files of one name are two modules; what stands beside it can be imported by it."""
    if not path.is_file():
        raise ValueError(f"function: there is no file {path}")
    path = path.resolve()
    name = f"{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"function: {path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickles look their module up by its name
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def wanted(function: Callable[..., Any], offered: Mapping[str, object]) -> frozenset[str]:
    """Which of the keyword arguments on offer ``function`` takes, besides the one argument that it must take.

    Raises:
        ValueError: when it cannot be called like that.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in functions have none
        return frozenset()
    every = any(parameter.kind is parameter.VAR_KEYWORD for parameter in signature.parameters.values())
    taken = frozenset(name for name in offered if every or _by_keyword(signature.parameters.get(name)))
    try:
        signature.bind([], **{name: offered[name] for name in taken})
    except TypeError as error:
        raise ValueError(
            f"function: it must take one argument, the history, and may take {', '.join(offered)} by these names; but its "
            f"parameters are {signature} ({error})"
        ) from error
    return taken


def _by_keyword(parameter: inspect.Parameter | None) -> bool:
    return parameter is not None and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)


def own_frames(error: BaseException, caller: str) -> list[traceback.FrameSummary]:
    """Where in the user's code an error came up, outermost first: neither ``caller`` (a file of ours) nor libraries.

    All below ``caller`` where nothing else is left: the function itself is a library's.
    """
    frames = traceback.extract_tb(error.__traceback__)
    ours = [index for index, frame in enumerate(frames) if frame.filename == caller]
    below = frames[ours[-1] + 1 :] if ours else list(frames)
    paths = sysconfig.get_paths()
    libraries = (paths["stdlib"], paths["purelib"], paths["platlib"])
    return [frame for frame in below if not frame.filename.startswith((*libraries, "<frozen"))] or below
