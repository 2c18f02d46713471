"""The logs of studies that stop once they reach a decision, in the folder of their tables and back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from make_stopped import log_of, stopped, tables_of

from parlai_humaneval.stopping.events import read_log
from parlai_humaneval.stopping.study import replay
from parlai_humaneval.tables.columns import TableError
from parlai_humaneval.tables.example import example_tables
from parlai_humaneval.tables.files import STOPPING, Format, read_tables, save_tables, write_tables


@pytest.mark.parametrize("file_format", ["csv", "jsonl"])
def test_the_log_goes_with_the_tables_and_comes_back(tmp_path: Path, file_format: Format) -> None:
    """Guards every event, also of several studies whose names are odd; the log leads to the same decisions."""
    study = stopped()
    logs = (log_of(study), log_of(stopped(seed=2), 'näme "2"\nof two'))
    write_tables(replace(tables_of(study), stopping=logs), tmp_path, file_format)
    assert "## sequential.jsonl" in (tmp_path / "README.md").read_text()
    back = read_tables(tmp_path)
    assert back.stopping == logs
    assert replay(read_log(back.stopping[0].events)).standing() == study.standing()


def test_without_a_log_there_is_no_file(tmp_path: Path) -> None:
    """Guards the tables of every other study."""
    written = write_tables(example_tables(), tmp_path)
    assert not (tmp_path / STOPPING).exists()
    assert STOPPING not in (tmp_path / "README.md").read_text()
    assert STOPPING not in {path.name for path in written}
    assert read_tables(tmp_path).stopping == ()


def test_a_damaged_line_keeps_nobody_from_the_tables(tmp_path: Path) -> None:
    """Guards the tables: what is no event is kept as it stands, and is for the report to complain of."""
    tables = tables_of(stopped())
    write_tables(tables, tmp_path)
    path = tmp_path / STOPPING
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:3], lines[3][:10], *lines[4:]]))
    (log,) = read_tables(tmp_path).stopping
    assert log.events[3] == {"line": lines[3][:10]}
    assert log.events[4] == tables.stopping[0].events[4]


def test_an_old_log_is_replaced_with_its_tables(tmp_path: Path) -> None:
    """Guards against a log of another study beside new tables."""
    save_tables(tables_of(stopped()), tmp_path)
    with pytest.raises(TableError, match=STOPPING):
        save_tables(example_tables(), tmp_path)
    save_tables(example_tables(), tmp_path, force=True)
    assert not (tmp_path / STOPPING).exists()
