"""A launch stays a list of phases that can be read at a glance."""

from __future__ import annotations

import ast
from pathlib import Path

import mephisto_tasks.launch

TREE = ast.parse((Path(mephisto_tasks.launch.__file__).parent / "launch.py").read_text(encoding="utf-8"))
OURS = ("mephisto_tasks", "parlai_humaneval")


def test_no_phase_is_longer_than_twenty_lines() -> None:
    """Without its docstring. Guards against the one function of all decisions that a launch once was."""
    for function in (node for node in ast.walk(TREE) if isinstance(node, ast.FunctionDef)):
        first = function.body[1] if ast.get_docstring(function) else function.body[0]
        lines = (function.end_lineno or 0) - first.lineno + 1
        assert lines <= 20, f"{function.name} has {lines}"


def test_a_launch_names_at_most_twenty_things_of_ours() -> None:
    """Whoever reads it need not know every room: what phases do stands in modules of its own."""
    imports = [node for node in ast.walk(TREE) if isinstance(node, ast.ImportFrom)]
    names = [alias.name for node in imports if (node.module or "").startswith(OURS) for alias in node.names]
    assert len(names) <= 20, names
