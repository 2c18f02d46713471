"""Nobody but the entries asks which technique it is: tables, statistics and reports ask for a trait."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import mephisto_tasks
import parlai_humaneval
from parlai_humaneval.techniques.registry import Technique, register, techniques, with_trait

ROOTS = (Path(parlai_humaneval.__file__).parent, Path(mephisto_tasks.__file__).parent)
NAMES = set(techniques()) - {"self_chat"}  # which is a kind of dialogue, too


def compares(text: str) -> bool:
    """Whether a name of a technique is compared, or a constant that holds or is called like one."""
    if not any(name in text.lower() for name in NAMES):
        return False  # most files, which need not be parsed
    tree = ast.parse(text)
    constants = {name.upper() for name in NAMES} | {
        target.id
        for line in tree.body
        if isinstance(line, ast.Assign) and isinstance(line.value, (ast.Constant, ast.Tuple)) and named(line.value)
        for target in line.targets
        if isinstance(target, ast.Name)
    }
    return any(
        named(node) or any(isinstance(part, ast.Name) and part.id in constants for part in ast.walk(node))
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        or (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("isin", "eq", "ne")
        )
    )


def named(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Constant) and part.value in NAMES for part in ast.walk(node))


def test_names_of_techniques_are_compared_in_no_file() -> None:
    found = {
        path.relative_to(root).as_posix()
        for root in ROOTS
        for path in root.rglob("*.py")
        if "node_modules" not in path.parts and path.parent.name != "techniques" and compares(path.read_text("utf-8"))
    }
    assert found == set()


@pytest.mark.parametrize(
    "planted",
    [
        'x = technique == "sata"\n',
        'PAIRS = ("arena", "pw_turn")\nx = technique in PAIRS\n',
        "from parlai_humaneval.techniques.registry import SATA\nx = entry.name != SATA.name\n",
        'x = rows["technique"].eq("free_for_all")\n',
    ],
)
def test_the_guard_sees_what_is_planted(planted: str) -> None:
    assert compares(planted)


def test_the_guard_leaves_names_alone_that_are_given() -> None:
    assert not compares('family = Family("sata", "", "")\nif technique in with_trait("points"): ...\n')


def test_a_technique_of_a_package_may_have_a_trait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the seam: what is asked for a trait counts techniques that nobody here knows."""
    monkeypatch.setattr("parlai_humaneval.techniques.registry._KNOWN", dict(techniques()))
    assert with_trait("sliders") == {"direct_assessment"}
    register(
        Technique("feelings", "live", "Feelings", "rated on sliders", "Nobody 2020", ("ratings",), traits=("sliders",))
    )
    assert with_trait("sliders") == {"direct_assessment", "feelings"}
