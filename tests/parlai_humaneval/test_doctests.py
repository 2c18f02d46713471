"""The examples in docstrings are right, and every public statistic has one, with what it assumes and its source."""

from __future__ import annotations

import ast
import doctest
import pkgutil
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import parlai_humaneval.analysis as public
from parlai_humaneval import planning, statistics, stopping, tables
from parlai_humaneval.planning import power

PACKAGES = (statistics, tables, planning, stopping)
MODULES = sorted(
    found.name for package in PACKAGES for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
)
HOMES = (f"{statistics.__name__}.", f"{stopping.__name__}.", power.__name__)
"""Where public statistics live."""
SOURCE = re.compile(r"\bSources?:\s")
ASSUMPTION = re.compile(r"\bAssumes\b")


def public_functions() -> list[str]:
    return [name for name in public.__all__ if name[0].islower()]


def public_statistics() -> list[tuple[str, str]]:
    """Module and name of every function that the public stub takes from statistics, stopping and sample sizes."""
    stub = ast.parse(Path(str(public.__file__)).with_suffix(".pyi").read_text(encoding="utf-8"))
    return [
        (node.module, alias.name)
        for node in stub.body
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(HOMES)
        for alias in node.names
        if alias.name[0].islower()
    ]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_examples_of_every_package_are_met(package: ModuleType) -> None:
    """A package under the name that it had before is empty, and nothing of it would be held to this."""
    assert [module for module in MODULES if module.startswith(f"{package.__name__}.")]


@pytest.mark.parametrize("module", MODULES)
def test_examples_are_right(module: str) -> None:
    """What stands below each ``>>>`` is what Python prints, but for where lines are broken."""
    results = doctest.testmod(import_module(module), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert not results.failed, f"{results.failed} of {results.attempted} examples of {module}; see above"


@pytest.mark.parametrize(("module", "name"), public_statistics())
def test_a_public_statistic_has_an_example_its_assumptions_and_a_source(module: str, name: str) -> None:
    """Who reads the docstring can run it, and knows what must hold for it and where it comes from."""
    said = getattr(import_module(module), name).__doc__ or ""
    assert ">>> " in said, f"{name} shows no example"
    assert ASSUMPTION.search(said), f"{name} does not say what it assumes"
    assert SOURCE.search(said), f"{name} names no source"


@pytest.mark.parametrize("name", public_functions())
def test_a_public_function_has_an_example(name: str) -> None:
    """Plans, tables and reports, too, which assume nothing by themselves."""
    assert ">>> " in (getattr(public, name).__doc__ or ""), f"{name} shows no example"
