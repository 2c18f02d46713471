"""A plain Python function as a model: ``reply(history: list[Turn]) -> str``; its signature determines the call."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib
import importlib.util
import inspect
import logging
import operator
import re
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Coroutine, Mapping
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from parlai.core.loader import register_agent
from parlai.core.opt import Opt

from parlai_humaneval._util.data_files import nearest_file
from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval._util.installing import lacking
from parlai_humaneval.display.images import IMAGES_FIELD, images_in
from parlai_humaneval.i18n.translate import worded
from parlai_humaneval.models.agent.isolation import isolate_model_code
from parlai_humaneval.models.agent.names import Turn
from parlai_humaneval.models.backends.base import Heard, OutsideAgent, OutsideError, Said
from parlai_humaneval.models.zoo.files import code_file, folder_of

logger = logging.getLogger(__name__)

OFFERED: dict[str, object] = {"persona": [], "seed": 0}
"""Keyword arguments that a function may declare: the sentences it is to play, and the conversation's seed."""
TURN_ADVICE = "use history[-1].text for the last message, and history[-1].speaker for its side (human or bot)"


class OwnFunction:
    """A function of the user's, called with what it declares; an asynchronous one runs in an event loop of its own."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self._function = function
        self._wanted = wanted(function, OFFERED)
        self._starting = threading.Lock()
        self._told: set[str] = set()  # errors whose frames are in the log

    def __call__(self, heard: Heard) -> Said:
        """What the function says: a text, or an object with ``text`` and ``images``."""
        history = [
            Turn(speaker, text, tuple(image.url for image in images)) for (speaker, text), images in heard.with_images()
        ]
        offered = {"persona": list(heard.persona), "seed": heard.seed}
        text = self._function(history, **{name: offered[name] for name in self._wanted})
        if inspect.iscoroutine(text):
            with self._starting:
                loop = self._loop
            text = asyncio.run_coroutine_threadsafe(_awaited(text), loop).result()
        images = images_in(text.get(IMAGES_FIELD)) if isinstance(text, dict) else ()
        text = text.get("text") if isinstance(text, dict) else text
        if not isinstance(text, str):
            kind = type(text).__name__
            what = "None" if text is None else f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"
            streams = inspect.isgenerator(text) or inspect.isasyncgen(text)
            raise OutsideError(worded(__file__, "streams" if streams else "no_string", name=self.name, what=what))
        return Said(text, images=images)

    def failure(self, error: Exception) -> OutsideError:
        """What the function raised, in one line; where, in full, is logged once."""
        frames = own_frames(error, __file__)
        place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
        said = f"{type(error).__name__}: {error}{place}"
        if frames and said not in self._told:
            self._told.add(said)
            where = "".join(traceback.format_list(frames)).rstrip()
            logger.error("%s raised %s: %s\n%s", self.name, type(error).__name__, error, where)
        of_turn = isinstance(error, (TypeError, AttributeError)) and re.search(r"['\"]Turn['\"]", str(error))
        return OutsideError(said, try_=TURN_ADVICE if of_turn else ())

    def close(self) -> None:
        with self._starting:
            loop = self.__dict__.pop("_loop", None)
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """One for all calls: what a function keeps open between them (a client's connections) belongs to its loop."""
        loop = asyncio.new_event_loop()

        def run() -> None:
            with contextlib.closing(loop):
                loop.run_forever()

        threading.Thread(target=run, name="own-function", daemon=True).start()
        return loop


async def _awaited(answer: Coroutine[Any, Any, Any]) -> Any:
    """What would end the program ends the loop at least, and then nobody hears of the answer."""
    with isolate_model_code():
        return await answer


@register_agent("parlai_humaneval/callable")
class CallableAgent(OutsideAgent):
    """Answers with what the function returns, called by one thread at a time unless ``concurrency`` says more."""

    OPTIONS = "callable"
    # Few models that compute here may be called by two threads at once.
    KNOWN: ClassVar = {"concurrency": {"default": 1}}
    SHARED = ("function",)

    @classmethod
    def lacks(cls, options: Mapping[str, Any], folder: Path) -> list[str]:
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

    def shutdown(self) -> None:
        self.function.close()

    def ask(self, heard: Heard) -> Said:
        try:
            with isolate_model_code():
                return self.function(heard)
        except OutsideError:
            raise
        except Exception as error:  # noqa: BLE001 - the user's code may raise anything
            failure = self.function.failure(error)
        raise failure  # outside of the handler: it drags no traceback of ours along


EXAMPLES = "my_module:reply or my_folder/my_file.py:reply"


def find_function(where: str, folder: Path) -> Callable[..., Any]:
    """The function that ``module:function`` or ``file.py:function`` names; a module in ``folder`` goes before others of
    its name. An InvalidValue where there is none, or the import ends the program; what else it raises goes through."""
    place, _, name = where.rpartition(":")
    if not place or not name:
        raise InvalidValue(f"{where!r} does not name a function", where="function", try_=f"write {EXAMPLES}")
    try:
        file = code_file(where, folder)
        module = importlib.import_module(place) if file is None else _from_file(file)
        function = operator.attrgetter(name)(module)
    except SystemExit as error:
        raise InvalidValue(worded(__file__, "ends_program", place=place), where="function") from error
    except AttributeError as error:
        # Python's message names the module as it is called here; if something else is missing, pass the message on.
        lacking = isinstance(error.obj, ModuleType) and error.name == name.partition(".")[0]
        what = f"{place} has no {name}" + ("" if lacking else f": {error}")
        raise InvalidValue(what, where="function", try_="check the spelling") from error
    if not callable(function):
        what = f"{name} in {place} is not a function, but {type(function).__name__}"
        raise InvalidValue(what, where="function", try_="name a function")
    return function  # type: ignore[no-any-return]  # attrgetter does not know


def _from_file(path: Path) -> ModuleType:
    """The module in a file, loaded again once the file has changed. Two files with the same name are two modules; each
    can import its neighbours."""
    if not path.is_file():
        raise InvalidValue(worded(__file__, "no_python", path=path), where="function", misspelt=nearest_file(path))
    path = path.resolve()
    name = f"{path.stem}_{hashlib.sha256(f'{path}|{path.stat().st_mtime_ns}'.encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InvalidValue(f"{path} is not a Python file", where="function", try_=f"write {EXAMPLES}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickles look their module up by its name
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def wanted(function: Callable[..., Any], offered: Mapping[str, object]) -> frozenset[str]:
    """Which of the keyword arguments on offer ``function`` takes, besides the one argument that it must take."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in functions have none
        return frozenset()
    every = any(parameter.kind is parameter.VAR_KEYWORD for parameter in signature.parameters.values())
    kinds = {name: parameter.kind for name, parameter in signature.parameters.items()}
    by_keyword = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    taken = frozenset(name for name in offered if every or kinds.get(name) in by_keyword)
    try:
        signature.bind([], **{name: offered[name] for name in taken})
    except TypeError as error:
        facts = {"signature": signature, "error": error, "offered": ", ".join(offered)}
        raise InvalidValue(worded(__file__, "parameters", **facts), where="function") from error
    return taken


def own_frames(error: BaseException, caller: str) -> list[traceback.FrameSummary]:
    """Where in the user's code an error came up: neither ``caller`` (a file of ours) nor libraries, unless that is all."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [index for index, frame in enumerate(frames) if frame.filename == caller]
    below = frames[ours[-1] + 1 :] if ours else list(frames)
    paths = sysconfig.get_paths()
    libraries = (paths["stdlib"], paths["purelib"], paths["platlib"])
    return [frame for frame in below if not frame.filename.startswith((*libraries, "<frozen"))] or below
