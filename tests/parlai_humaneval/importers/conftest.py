"""The command, with a key of pseudonyms of each test's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result


@pytest.fixture
def command(tmp_path: Path):
    """Run ``import`` with these arguments; ``command.out`` is the folder that it writes."""
    from mephisto_tasks.cli.import_data import import_tables

    def run(*arguments: str | Path) -> Result:
        given = [*map(str, arguments), "--out", str(run.out), "--key", str(tmp_path / "keys" / "pseudonym.key")]
        return CliRunner().invoke(import_tables, given, catch_exceptions=False)

    run.out = tmp_path / "out"
    return run
