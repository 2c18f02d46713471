"""Modules that have moved: importing an old name of the table returns the same module, with a warning, until 1.0."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.abc import InspectLoader, Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType

ROOTS = ("parlai_humaneval.", "mephisto_tasks.")


@cache
def new_names() -> Mapping[str, str]:
    lines = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    return {old: new for new, *olds in map(str.split, lines) for old in olds}


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
            warnings.warn(f"{old} is now {new}; version 1.0 removes its old name", DeprecationWarning, stacklevel=2)
            sys.modules[old] = import_module(new)

    def get_code(self, fullname: str) -> CodeType | None:
        spec = find_spec(new_names()[fullname])
        assert spec is not None
        assert isinstance(spec.loader, InspectLoader)
        return spec.loader.get_code(spec.name)


def find_old_names() -> None:
    if not any(isinstance(finder, _OldNames) for finder in sys.meta_path):
        sys.meta_path.append(_OldNames())
