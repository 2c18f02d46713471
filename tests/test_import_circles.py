"""No two files of the product, its benchmarks and its documentation import each other, directly or round other files.

What is imported inside of functions, and what only type checkers import, counts too. Which room may import which is said
by the contracts in ``pyproject.toml``, which ``make lint`` checks.
"""

from __future__ import annotations

import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

PACKAGES = ("parlai_humaneval", "mephisto_tasks", "benchmarks", "docs")


def circle(*packages: str) -> list[str]:
    """The files of a circle, each of which imports the next one; empty where there is none."""
    graph = grimp.build_graph(*packages, cache_dir=None)
    importers = {module: graph.find_modules_that_directly_import(module) for module in graph.modules}
    try:
        TopologicalSorter(importers).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_file_imports_itself_round_others() -> None:
    assert circle(*PACKAGES) == []


@pytest.mark.parametrize(
    "back",
    [
        "from around.first import FIRST",
        "def late():\n    from around.first import FIRST",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from around.first import FIRST",
    ],
    ids=["at the top", "in a function", "for types"],
)
def test_a_circle_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, back: str) -> None:
    package = tmp_path / "around"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "first.py").write_text("from around.second import SECOND\nFIRST = 1\n")
    (package / "second.py").write_text("from around.third import THIRD\nSECOND = 2\n")
    (package / "third.py").write_text(f"{back}\nTHIRD = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    try:
        assert set(circle("around")) == {"around.first", "around.second", "around.third"}
    finally:
        sys.modules.pop("around", None)
