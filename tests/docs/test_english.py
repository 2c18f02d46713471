"""Pages, help, settings and messages keep the first, third and fifth rule of the page on writing, as far as a pattern can
tell. ``make lint`` runs the grammar checker as well."""

from __future__ import annotations

from pathlib import Path

import english
import pytest


def test_no_sentence_breaks_a_rule_that_a_pattern_can_find() -> None:
    """Guards the words of users against those that a native reader stumbles over."""
    assert len(english.prose()) > 5000
    assert english.breaches() - english.accepted() == set()
    assert len(english.accepted()) <= 27  # which falls with every sentence that is mended


@pytest.mark.parametrize(
    "words",
    [
        "Open chat models that run on this machine",  # a comment of a zoo file
        "a small open chat model",  # a description there
        "The two-sided t test of two independent samples",  # the docstring of a public function
        "With the exact binomial test, power",  # a template
        "One row per candidate reply",  # the meaning of a table
        "this worker has submitted no assignment",  # a YAML file of errors, of which there are many
        "raters see two replies at every turn",  # a YAML file of another name
        "The smallest difference between two models that you must not miss",  # the page of `new`
    ],
)
def test_every_kind_of_text_is_read(words: str) -> None:
    """Guards the list of sources, which said nothing of what it left out."""
    assert any(words in text for text in english.prose())


def test_every_docstring_and_comment_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards what maintainers read against a kind of text that the checks pass over."""
    (tmp_path / "parlai_humaneval").mkdir()
    (tmp_path / "parlai_humaneval" / "module.py").write_text(
        '''"""This module is read anew every time."""
class A:
    """This class is read anew every time."""
    async def b(self) -> None:
        """This method is read anew every time."""
        def c() -> None:
            """This function is read anew, but ``anew`` is code."""
B = 1
"""This constant is read anew every time."""
# This line is read
# anew every time.
C = 2  # This rest is read anew every time.
''',
        "utf-8",
    )
    monkeypatch.setattr(english, "REPOSITORY", tmp_path)
    monkeypatch.setattr(english, "prose", list)
    monkeypatch.setattr(english, "of_code", english.of_code.__wrapped__)
    kinds = ("class", "constant", "function", "line", "method", "module", "rest")
    ends = {kind: ", but `x` is code." if kind == "function" else " every time." for kind in kinds}
    assert english.breaches() == {f"plain words: This {kind} is read [anew]{ends[kind]}" for kind in kinds}


def test_what_is_accepted_but_gone_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Guards the list against growing old: it only shrinks. A new fault fails as well."""
    monkeypatch.setattr(english, "breaches", lambda: {"plain words: [anew]"})
    monkeypatch.setattr(english, "faults", lambda: {"AnA: [an] rater"})
    monkeypatch.setattr(english, "accepted", lambda: {"plain words: [anew]", "AnA: [a] hour"})
    assert english.main() == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "English: AnA: [an] rater"
    assert said[1].endswith("remove it from english_accepted.txt: AnA: [a] hour")
    monkeypatch.setattr(english, "accepted", lambda: {"plain words: [anew]", "AnA: [an] rater"})
    assert english.main() == 0
