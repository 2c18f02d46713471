"""Find a function of the user's by its name, and find out how it wants to be called."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import operator
import sys
import sysconfig
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

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
        raise ValueError(
            f"function: {place} ends the program when it is imported; put what it runs under "
            '`if __name__ == "__main__":`'
        ) from error
    except AttributeError as error:
        raise ValueError(f"function: {place} has no {name}: {error}") from error
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
