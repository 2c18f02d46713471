"""Plans and studies that stop when decided ask the report's functions for every p-value."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from parlai_humaneval import planning, stopping

ROOMS = [Path(room.__path__[0]) for room in (planning, stopping)]
REPOSITORY = Path(__file__).parents[3]
SHAPES = {"betaincinv", "expit", "logit", "ndtr", "ndtri"}
"""By which answers are drawn; nothing else of scipy is for them."""
POWER = ("power.py", "designs.py")
"""The formulas of power, and nothing else, go by other distributions."""
OF_STATISTICS = {
    "planning": {
        "statistics.core.clustering_effects",
        "statistics.core.formatting",
        "statistics.core.result",
        "statistics.core.sequential",
        "statistics.core.shares",
        "statistics.leads",
        "statistics.ratings.correlations",
        "statistics.ratings.sliders",
    },
    "stopping": {
        "statistics.core.clustering_effects",
        "statistics.core.formatting",
        "statistics.core.result",
        "statistics.core.sequential",
        "statistics.preference.pairs",
        "statistics.ranking.bradley_terry",
        "statistics.ranking.fit",
        "statistics.ratings.sliders",
        "statistics.survival.spotting",
    },
}
"""The report's verdicts and estimates, what a pilot measures, how tables are read, and the bets that the rule is made of."""
OF_MODULE = {"core.shares": {"wilson_interval"}, "leads": {"leads", "turn_leads"}}
"""Of modules that hold tests of their own, what is not one: an interval of what was simulated, and the report's verdicts."""
BETS = {"order_bets", "equality_bets", "staked"}
"""What makes e-values."""
OF_PYTHON = {"NormalDist", "erf", "erfc"}
"""What Python itself offers for a normal p."""
TAILS = {"ndtr", "log_ndtr", "stdtr", "fdtrc", "chdtrc", "bdtrc", *OF_PYTHON}


def doubled_tails(tree: ast.AST) -> Iterator[str]:
    """``2 * ndtr(−z)``: a two-sided p of a shape that is there to draw answers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            sides = (node.left, node.right)
            twice = any(isinstance(side, ast.Constant) and side.value == 2 for side in sides)
            called = {
                getattr(side.func, "id", getattr(side.func, "attr", "")) for side in sides if isinstance(side, ast.Call)
            }
            yield from sorted(called & TAILS) if twice else ()


def imported(path: Path) -> Iterator[tuple[str, set[str]]]:
    """Modules of which something is imported, and what; of those that are imported whole, what is used of them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, set()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            folder, names = REPOSITORY.joinpath(*(node.module or "").split(".")), {alias.name for alias in node.names}
            whole = {name for name in names if folder.joinpath(f"{name}.py").exists()}
            for module in whole:
                yield (
                    f"{node.module}.{module}",
                    {
                        part.attr
                        for part in ast.walk(tree)
                        if isinstance(part, ast.Attribute) and getattr(part.value, "id", "") == module
                    },
                )
            if names - whole:
                yield node.module or "", names - whole


@pytest.mark.parametrize(
    "path",
    [path for room in ROOMS for path in sorted(room.glob("*.py"))],
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_no_p_value_is_computed(path: Path) -> None:
    """Guards against tests that are derived once more: nothing of scipy's tests, nor of a statistic that is not the
    report's, is imported; made-up answers are drawn by the shapes of a few distributions alone, and evidence grows by
    bets in one place."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert [*doubled_tails(tree)] == []
    written_out = {getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(tree)}
    assert not written_out & OF_PYTHON
    for module, names in imported(path):
        assert not names & OF_PYTHON
        assert not module.startswith("scipy.stats"), f"{path.name} imports {module}"
        if module.startswith("parlai_humaneval.statistics"):
            written = module.removeprefix("parlai_humaneval.")
            assert written in OF_STATISTICS[path.parent.name], f"{path.name} imports {module}"
        of_module = OF_MODULE.get(module.removeprefix("parlai_humaneval.statistics."))
        if of_module is not None:
            assert names
            assert names <= of_module, f"{path.name} imports {names - of_module} of {module}"
        if module == "scipy.special" and path.name not in POWER:
            assert names <= SHAPES, f"{path.name} imports {names}"
        if path.name != "evidence.py":
            assert not names & BETS, f"{path.name} imports {names & BETS}"


@pytest.mark.parametrize(
    ("line", "found"),
    [("p = 2 * ndtr(-z)", ["ndtr"]), ("p = special.stdtr(df, -t) * 2", ["stdtr"]), ("wins = ndtr(liking)", [])],
)
def test_a_two_sided_p_is_recognised(line: str, found: list[str]) -> None:
    assert [*doubled_tails(ast.parse(line))] == found
