"""What the README says of tables from elsewhere is so."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from parlai_humaneval.cli import main
from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.comparisons import build
from parlai_humaneval.tables.files import read_tables
from parlai_humaneval.tables.schema import required_columns

README = Path(__file__).parents[3] / "README.md"


def test_the_required_columns_are_the_declared_ones():
    """Made by ``required_columns()``: put its text there when a column changes."""
    assert required_columns() in README.read_text(encoding="utf-8")


def test_the_example_of_the_readme_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Its file and its command, as they stand there: tables come of it that can be reported."""
    text = README.read_text(encoding="utf-8").split("## Data from elsewhere")[1]
    votes, commands = re.findall(r"```(?:bash)?\n(.*?)```", text, flags=re.DOTALL)[:2]
    (tmp_path / "votes.csv").write_text(votes, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PARLAI_HUMANEVAL_DATA_DIR", str(tmp_path / "data"))
    lines = commands.replace("\\\n", " ").strip().splitlines()
    assert [line.split()[1] for line in lines] == ["import", "report"]
    done = CliRunner().invoke(main, shlex.split(lines[0])[1:], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    section = build(read_tables("tables"), Options())
    assert section is not None
    assert (section.pairs[0].wins_a, section.pairs[0].wins_b, section.pairs[0].ties) == (4, 1, 1)
