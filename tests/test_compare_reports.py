"""The tool that compares the numbers of two reports finds every kind of difference, and nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest
from compare_reports import compare, main

REPORT: dict[str, Any] = {"turns": {"models": [{"name": "a", "rate": 0.5}, {"name": "b", "rate": None}], "n": 12}}


def changed(**new: Any) -> dict[str, Any]:
    """The report with other values in the row of model a."""
    first, second = REPORT["turns"]["models"]
    return {"turns": {"models": [{**first, **new}, second], "n": 12}}


@pytest.mark.parametrize(
    ("after", "differing", "missing", "new"),
    [
        (REPORT, 0, 0, 0),
        (changed(rate=0.5 * (1 + 1e-12)), 0, 0, 0),
        (changed(rate=0.5 * (1 + 1e-6)), 1, 0, 0),
        (changed(rate=None), 1, 0, 0),
        (changed(rate="0.5"), 1, 0, 0),
        (changed(rate=True), 1, 0, 0),
        (changed(interval=[0.1, 0.9]), 0, 0, 1),
        ({"turns": {"models": REPORT["turns"]["models"][:1], "n": 12}}, 0, 1, 0),
        ({"turns": {"models": [], "size": 12}}, 0, 3, 1),
        ({"turns": {"models": {}, "n": 12}}, 1, 0, 0),
    ],
)
def test_a_difference_is_found(after: dict[str, Any], differing: int, missing: int, new: int) -> None:
    """Each kind of change is counted once and as what it is."""
    comparison = compare(REPORT, after)
    assert (len(comparison.differing), len(comparison.missing), len(comparison.new)) == (differing, missing, new)
    assert comparison.equal == (not differing and not missing)


def test_reworded_sentences_do_not_fail_the_comparison() -> None:
    """Words may change; only numbers and keys are compared."""
    comparison = compare(REPORT, changed(name="A"))
    assert comparison.equal
    assert comparison.reworded == [".turns.models[0].name: 'a' is now 'A'"]


@pytest.mark.parametrize(("after", "code"), [(REPORT, 0), (changed(rate=0.6), 1), ({"turns": {}}, 1)])
def test_the_command_says_what_differs(
    after: dict[str, Any], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two files, or two folders of them, are compared; the exit status says whether the numbers are the same."""
    for folder, report in (("old", REPORT), ("new", after)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "study.json").write_text(json.dumps(report), encoding="utf-8")
    old, new = tmp_path / "old", tmp_path / "new"
    assert main([str(old), str(new)]) == main([str(old / "study.json"), str(new / "study.json")]) == code
    assert ("0 differ, 0 keys missing" in capsys.readouterr().out) == (code == 0)


def test_a_file_that_cannot_be_read_is_an_error_of_its_own(tmp_path: Path) -> None:
    """A missing file is not taken for a report without numbers."""
    assert main([str(tmp_path / "none.json"), str(tmp_path / "none.json")]) == 2
