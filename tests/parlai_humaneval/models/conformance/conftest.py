"""``--conformance-table``: after the tests, which agent does what in which command of ParlAI."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

COLUMNS = ("eval_model", "display_model", "self_chat", "interactive", "train_model", "clone", "model file", "-o preset")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--conformance-table", action="store_true", help="Show the table of agents and ParlAI's commands")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if not config.getoption("--conformance-table", default=False):
        return
    reports = [report for group in terminalreporter.stats.values() for report in group]
    cells = dict(_cells(report) for report in reports if getattr(report, "when", "") == "call" and _noted(report))
    terminalreporter.section("ParlAI's commands, in batches of 1 / 8")
    for line in _table(cells):
        terminalreporter.write_line(line)


def _noted(report: pytest.TestReport) -> list[Any]:
    return [value for key, value in report.user_properties if key == "conformance"]


def _cells(report: pytest.TestReport) -> tuple[tuple[str, str, int], str]:
    agent, command, batch, word = _noted(report)[-1]
    return (agent, command, batch), word if report.passed else "NO"


def _table(cells: dict[tuple[str, str, int], str]) -> Iterator[str]:
    """Rows of Markdown."""
    yield "| agent | " + " | ".join(COLUMNS) + " |"
    yield "|---" * (len(COLUMNS) + 1) + "|"
    for agent in dict.fromkeys(agent for agent, _, _ in cells):
        words = (" / ".join(_words(cells, agent, command)) for command in COLUMNS)
        yield f"| {agent} | " + " | ".join(word or "–" for word in words) + " |"


def _words(cells: dict[tuple[str, str, int], str], agent: str, command: str) -> list[str]:
    """By the size of the batch; 0: there is none."""
    return [cells[agent, command, batch] for batch in (0, 1, 8) if (agent, command, batch) in cells]
