"""What the documentation says of tables from elsewhere is so."""

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

PAGE = Path(__file__).parents[3] / "docs" / "pages" / "analysis" / "import.md"


def test_the_example_of_the_page_gives_the_answers_of_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Its file and its command, as they stand there: tables come of it that can be reported."""
    text = PAGE.read_text(encoding="utf-8")
    (votes,) = re.findall(r'```csv title="votes.csv"\n(.*?)```', text, flags=re.DOTALL)
    commands = re.findall(r"```bash\n(.*?)```", text, flags=re.DOTALL)[0]
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
