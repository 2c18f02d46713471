"""Modules, and names in them, that have moved: an old name of the table is the same object, with a warning, until 1.0.

Lines of the table are a name of today and its old ones: all modules, or all ``module:name``, by today's name of the module.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from importlib.abc import InspectLoader, Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import find_spec, spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

ROOTS = ("parlai_humaneval.", "mephisto_tasks.")
_WARNING = "version 1.0 removes its old name"


@cache
def new_names() -> Mapping[str, str]:
    lines = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    return {old: new for new, *olds in map(str.split, lines) for old in olds}


def _moved(module: str, name: str) -> Any:
    """What a module that no longer has a name gives for it."""
    new, colon, attribute = new_names().get(f"{module}:{name}", "").partition(":")
    if not colon:
        raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name, obj=sys.modules[module])
    warnings.warn(f"{module}.{name} is now {new}.{attribute}; {_WARNING}", DeprecationWarning, stacklevel=2)
    return getattr(import_module(new), attribute)


@cache
def _old_folders() -> frozenset[str]:
    names = [name.split(".") for name in new_names()]
    return frozenset(".".join(parts[:end]) for parts in names for end in range(1, len(parts)))


class _OldNames(MetaPathFinder, Loader):
    """Finds modules by their old names, after Python has found nothing by that name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(ROOTS):
            return None
        if fullname in new_names():
            real = find_spec(new_names()[fullname])
            return spec_from_loader(fullname, self, origin=None if real is None else real.origin)
        return ModuleSpec(fullname, self, is_package=True) if fullname in _old_folders() else None

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__
        if old in new_names():
            new = new_names()[old]
            warnings.warn(f"{old} is now {new}; {_WARNING}", DeprecationWarning, stacklevel=2)
            sys.modules[old] = import_module(new)

    def get_code(self, fullname: str) -> CodeType | None:
        spec = find_spec(new_names()[fullname])
        assert spec is not None
        assert isinstance(spec.loader, InspectLoader)
        return spec.loader.get_code(spec.name)


class _LeftByNames(SourceFileLoader):
    """Loads a module that names have left."""

    @classmethod
    @cache
    def modules(cls) -> frozenset[str]:
        return frozenset(old.partition(":")[0] for old in new_names() if ":" in old)

    @classmethod
    def find_spec(cls, fullname: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path) if fullname in cls.modules() else None
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = cls(fullname, spec.loader.path)
        return spec

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        vars(module)["__getattr__"] = partial(_moved, module.__name__)


def find_old_names() -> None:
    if _LeftByNames not in sys.meta_path:
        sys.meta_path.insert(0, _LeftByNames)
        sys.meta_path.append(_OldNames())
