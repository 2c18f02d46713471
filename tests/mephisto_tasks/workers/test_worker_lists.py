"""Files that name workers: what is read from them, and what is said of those that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from mephisto_tasks.workers.roster import FollowedList, read_worker_list
from parlai_humaneval._util.data_files import DataError

HERE = ("w3f9a0c1b2d4e", "w000000000001")


def write(tmp_path: Path, content: bytes | str, name: str = "workers.txt") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", "A1\n# a comment\n\n  w3f9a0c1b2d4e  \r\n"),
        ("bom.txt", b"\xef\xbb\xbfA1\nw3f9a0c1b2d4e"),
        ("mturk.csv", 'Worker ID,Name\n"A1","x, y"\nw3f9a0c1b2d4e,\n\n'),
        ("prolific.csv", "Submission id,Participant id\n1,A1\n2,w3f9a0c1b2d4e\n"),
    ],
)
def test_ids_and_pseudonyms_are_read(tmp_path: Path, name: str, content: bytes | str) -> None:
    listed = read_worker_list(write(tmp_path, content, name), lambda: HERE)
    assert listed.names == {"A1", "w3f9a0c1b2d4e"}
    assert listed.remarks == []


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.txt", "", "names nobody"),
        ("a.txt", "# nobody\n", "names nobody"),
        ("a.txt", "A1\n=HYPERLINK(1)\n", "line 2: begins with '=' like a spreadsheet's formula"),
        ("a.csv", 'worker\n"+1234"\n', "line 2: begins with '+'"),
        ("a.txt", "A1, A2\n", "line 1: 'A1, A2' is not an ID: write one per line"),
        ("a.txt", "A1\nJane Doe\n", "line 2: 'Jane Doe' is not an ID"),
        ("a.txt", "A" * 300, "is not an ID"),
        (
            "a.txt",
            "A1\nJos\xe9\n".encode("latin-1"),
            "line 2: is not text in UTF-8 (byte 7); save it as UTF-8 (“CSV UTF-8” in spreadsheets)",
        ),
        ("a.txt", "A1\n".encode("utf-16"), "is not text in UTF-8"),
        ("a.txt", "A1\nw0123456789ab\n", "line 2: w0123456789ab is not a pseudonym in this data directory"),
        ("a.csv", "name\nA1\n", "has no column of workers: its first line must have a heading “worker” (it has: name)"),
        ("a.csv", "name,worker\nx,A1\ny\n", "line 3: it has no ID"),
        ("a.csv", "", "no heading"),
    ],
)
def test_what_cannot_be_used_names_the_line(tmp_path: Path, name: str, content: bytes | str, said: str) -> None:
    path = write(tmp_path, content, name)
    with pytest.raises(DataError) as error:
        read_worker_list(path, lambda: HERE)
    assert said in str(error.value)
    assert str(path) in str(error.value)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing\.txt: .*\(No such file"):
        read_worker_list(tmp_path / "nothing.txt", lambda: HERE)
    with pytest.raises(DataError, match=str(tmp_path)):
        read_worker_list(tmp_path, lambda: HERE)


def test_twice_is_a_remark_and_no_error(tmp_path: Path) -> None:
    listed = read_worker_list(write(tmp_path, "A1\nA2\nA1\n"), lambda: HERE)
    assert listed.names == {"A1", "A2"}
    assert "lists 1 twice (line 1 and 3). Once is enough." in listed.remarks[0]


@pytest.mark.parametrize("stored", ["A1", "A1_sandbox", "prolific:A1"])
def test_an_id_means_the_worker_however_mephisto_stores_them(tmp_path: Path, stored: str) -> None:
    listed = read_worker_list(write(tmp_path, "A1\n"), lambda: HERE)
    assert listed.has(stored, "w1")
    assert not listed.has(stored.replace("A1", "B1"), "w1")


def test_a_pseudonym_means_its_worker(tmp_path: Path) -> None:
    listed = read_worker_list(write(tmp_path, f"{HERE[0]}\n"), lambda: HERE)
    assert listed.has("whoever", HERE[0])
    assert not listed.has("whoever", HERE[1])


def test_a_running_launch_follows_a_file_that_is_saved(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Guards who is added while raters are at work; a slip of the pen, or a file on its way, keeps nobody out or in."""
    followed = FollowedList(write(tmp_path, "A1\n"), lambda: HERE)
    assert not followed.has("A2", "w2")
    path = write(tmp_path, "A1\nA2\n")
    assert followed.has("A2", "w2")
    for broken in ("", "A2\n=1+1\nA3\n"):
        path.write_text(broken)
        assert [followed.has(name, "w2") for name in ("A1", "A1", "A2", "A3")] == [True, True, True, False]
    path.unlink()
    assert followed.has("A1", "w1")
    said = [record.getMessage() for record in caplog.records]
    assert [words.startswith(str(path)) for words in said] == [True] * 3
    assert "cannot be read (No such file" in said[-1]
    write(tmp_path, "A2\n")
    assert not followed.has("A1", "w1")
