"""The file of which browser holds what: all or nothing, whoever writes beside, and nothing in it that opens a door."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mephisto_tasks.admission import browsers as browser_book
from mephisto_tasks.admission.browsers import FILE, MOST_DIGESTS, BookUnusable, BrowserBook, Shown

ANN, BEN = Shown.of(["a" * 43]), Shown.of(["b" * 43])


def test_what_one_browser_holds_no_other_gets_and_not_a_part_of_it(tmp_path: Path) -> None:
    book, beside = BrowserBook(tmp_path), BrowserBook(tmp_path)  # of two launches of one data directory
    assert book.hold("w", ["name", "page 1"], ANN)
    assert not beside.hold("w", ["page 2", "name"], BEN)
    assert not book.held_by_another(["page 2"], BEN), "what was free is free still"
    assert book.held_by_another(["name"], BEN)
    assert book.held_by_another(["name"], Shown.of([]))
    assert not book.held_by_another(["name", "page 1", "page 2"], ANN)
    assert beside.holds_any(["page 2", "page 1"], ANN)


def test_a_browser_is_known_by_any_of_what_it_showed(tmp_path: Path) -> None:
    """It may lose its cookie, or what its page stores; yet nobody fills the disk with new ones."""
    book = BrowserBook(tmp_path)
    both = Shown(ANN.digests | BEN.digests)
    assert book.hold("w", ["name"], ANN)
    assert book.hold("w", ["name"], both)
    assert not book.held_by_another(["name"], BEN)
    for number in range(2 * MOST_DIGESTS):
        assert book.hold("w", ["name"], Shown(ANN.digests | Shown.of([f"{number:040}"]).digests))
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        assert connection.execute("SELECT COUNT(*) FROM held").fetchone() == (MOST_DIGESTS,)


def test_what_need_not_be_theirs_stays_with_whom_it_was_first(tmp_path: Path) -> None:
    book = BrowserBook(tmp_path)
    for shown in (ANN, BEN):
        assert book.hold("w", [f"page of {shown is ANN}"], shown, also=["name"])
    assert not book.held_by_another(["name"], ANN)
    assert book.held_by_another(["name"], BEN)


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a full disk; with room again, the next try is as the first."""
    monkeypatch.setattr(browser_book, "WAIT_S", 0.05)
    book = BrowserBook(tmp_path)
    assert book.hold("w", ["first"], ANN)
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(BookUnusable, match=r"browsers\.db"):
            book.hold("w", ["name", "page"], BEN)
        assert not book.holds_any(["first"], BEN), "it can be read meanwhile"
        other.execute("ROLLBACK")
    assert book.hold("w", ["name", "page"], ANN)
    (tmp_path / "another").write_text("a file in the way")
    with pytest.raises(BookUnusable):
        BrowserBook(tmp_path / "another").hold("w", ["name"], ANN)


def test_a_group_that_shares_its_data_directory_shares_this(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o2770)
    before = os.umask(0o002)
    try:
        BrowserBook(folder).hold("w", ["name"], ANN)
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o660}


def test_it_is_private_holds_no_secret_and_finds_its_rows_without_reading_all(tmp_path: Path) -> None:
    book = BrowserBook(tmp_path)
    book.hold("w", ["name"], ANN)
    files = [path for path in tmp_path.iterdir() if path.name.startswith(FILE)]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert not any(b"a" * 43 in path.read_bytes() for path in files)
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        plan = connection.execute("EXPLAIN QUERY PLAN SELECT digest FROM held WHERE thing = 'name'").fetchall()
    assert "SEARCH held USING PRIMARY KEY" in plan[0][3]
