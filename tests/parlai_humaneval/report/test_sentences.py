"""Sentences of templates: only the template's own text is folded, and what is filled in is text."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from jinja2.bccache import bc_magic

from parlai_humaneval.report import section as sentences
from parlai_humaneval.report.section import TEMPLATES, _templates, say


def test_what_is_filled_in_stays_as_it_is() -> None:
    """Guards names of users: one that looks like a template, an item of a list or several lines is a name all the same."""
    name = "j\n- k {% if x %}{{ y }}{% endif %} {# z #}  <b>"
    judge = SimpleNamespace(judge=name, refused=1, unparsable=2, asked=3)
    said = say("judges", "remarks", s=SimpleNamespace(judges=[judge]), by_place=[], partial=[])
    assert said == [f"{name}: of 3 answers 1 refused and 2 unreadable; they are not counted anywhere else."]


def test_every_template_can_be_read() -> None:
    """Guards sentences that only rare studies need: a template with a mistake in its tags fails here, not in a report."""
    names = [path.name for path in sorted(TEMPLATES.glob("*.md.j2"))]
    assert names
    for name in names:
        _templates().get_template(name)


def _half_written(folder: Path) -> None:
    for path in folder.iterdir():
        path.write_bytes(bc_magic)


def _unknown(folder: Path) -> None:
    for path in folder.iterdir():
        path.write_bytes(bc_magic + b"\x80\x09")


def _a_file_instead(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    folder.write_bytes(b"")


def _no_folder(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    folder.symlink_to("/nowhere")


@pytest.mark.parametrize("spoil", [_half_written, _unknown, _a_file_instead, _no_folder])
def test_no_sentence_hangs_on_what_was_kept_of_templates(spoil, tmp_path: Path, monkeypatch) -> None:
    """Guards reports against a folder of compiled templates that is broken, or that nobody can write to."""
    text = (TEMPLATES / "judges.md.j2").read_text(encoding="utf-8")
    (tmp_path / "judges.md.j2").write_text(text, encoding="utf-8")
    monkeypatch.setattr(sentences, "TEMPLATES", tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    make = _templates.__wrapped__
    make().get_template("judges.md.j2")
    assert list((tmp_path / "__pycache__").iterdir())
    spoil(tmp_path / "__pycache__")
    make().get_template("judges.md.j2")
