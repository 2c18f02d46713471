"""The command, run in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from turk_study import TASK

from parlai_humaneval.cli import main


def pay(data_dir: Path, *arguments: str, task: str = TASK) -> Result:
    return CliRunner().invoke(
        main, ["pay", "--task-name", task, "--data-dir", str(data_dir), *arguments], catch_exceptions=False
    )


def as_json(data_dir: Path, *arguments: str) -> dict[str, Any]:
    result = pay(data_dir, "--json", *arguments)
    assert result.exit_code == 0, result.stderr
    data = json.loads(result.stdout)
    assert isinstance(data, dict)
    return data


def refused(data_dir: Path, *arguments: str, task: str = TASK) -> str:
    """What is said where nothing was done."""
    result = pay(data_dir, *arguments, task=task)
    assert result.exit_code in (1, 2)
    return str(result.stderr)
