"""Pages, help, settings and messages keep the first, third and fifth rule of the page on writing, as far as a pattern can
tell. ``make lint`` runs the grammar checker as well."""

from __future__ import annotations

import english
import pytest


def test_no_sentence_breaks_a_rule_that_a_pattern_can_find() -> None:
    """Guards the words of users against those that a native reader stumbles over."""
    assert len(english.prose()) > 5000
    assert english.breaches() - english.accepted() == set()
    assert len(english.accepted()) <= 28  # which falls with every sentence that is mended


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
