"""What is made for all conversations is made once, however many begin at the same moment."""

from __future__ import annotations

import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from parlai_humaneval.display import vocabulary as identity_names
from parlai_humaneval.display.patterns import PhraseBook, stems_of
from parlai_humaneval.display.text import made_once, words_in
from parlai_humaneval.display.vocabulary import Vocabulary, Words, packaged

ASKING = 16


def test_only_one_of_many_threads_makes_it() -> None:
    """Guards the first replies of a launch: with a plain cache each thread that asks before it is there makes it, too."""
    made: list[int] = []
    start = threading.Barrier(ASKING)

    @made_once(maxsize=8)
    def double(number: int) -> int:
        made.append(number)
        time.sleep(0.02)
        return 2 * number

    def ask(_: int) -> int:
        start.wait()
        return double(4)

    with ThreadPoolExecutor(ASKING) as pool:
        assert list(pool.map(ask, range(ASKING))) == [8] * ASKING
    assert made == [4]


def test_the_words_of_all_languages_are_read_once() -> None:
    """Guards what takes a second of a processor: two hundred who began at once read it two hundred times."""
    start = threading.Barrier(ASKING)
    vocabulary = Vocabulary(Words(languages={"en": packaged().words.languages["en"]}))

    def ask(_: int) -> int:
        start.wait()
        return id(identity_names.talk_phrases(vocabulary))

    with ThreadPoolExecutor(ASKING) as pool:
        assert len(set(pool.map(ask, range(ASKING)))) == 1


def test_packaged_phrases_are_read_once_for_all_processes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Guards the start of launches and reports: reading takes seconds. A damaged or outdated file is read over."""
    small = Vocabulary(Words(languages={"en": packaged().words.languages["en"]}))
    monkeypatch.setattr(identity_names, "packaged", lambda: small)
    monkeypatch.setattr(identity_names, "__file__", str(tmp_path / "vocabulary.py"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    text = "As an AI language model, I have no body."
    stems = stems_of(text, words_in(text))

    def matching() -> list[tuple[str, bool]]:
        book = PhraseBook(identity_names._packaged_talk.__wrapped__())  # type: ignore[attr-defined]  # wraps() sets it
        return [(phrase.expression, phrase.unspaced) for phrase in book.that_may_match(stems)]

    read = matching()
    (kept,) = (tmp_path / "__pycache__").iterdir()
    with monkeypatch.context() as once:
        once.setattr(identity_names, "_with_names", lambda *_: pytest.fail("they are kept"))
        assert matching() == read != []
    kept.write_text("[", encoding="utf-8")
    assert matching() == read
    (tmp_path / "vocabulary.py").write_text("", encoding="utf-8")
    whole = kept.read_bytes()
    assert matching() == read
    assert kept.read_bytes() != whole
    for name in ("vocabulary.py", "english.yaml"):  # an image may give all files one time
        source = tmp_path / name
        source.write_text("{a: 1}", encoding="utf-8")
        monkeypatch.setattr(identity_names, "packaged_file", lambda _: tmp_path / "english.yaml")
        (tmp_path / "english.yaml").touch()
        times, whole = (0, 0), kept.read_bytes()
        os.utime(source, ns=times)
        assert matching() == read
        assert kept.read_bytes() != whole
        whole = kept.read_bytes()
        source.write_text("{a: 2}", encoding="utf-8")
        os.utime(source, ns=times)
        assert matching() == read
        assert kept.read_bytes() != whole


def test_phrases_are_kept_where_python_keeps_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Guards installations that nothing is to be written to: who has Python keep things elsewhere has these there, too."""
    small = Vocabulary(Words(languages={"en": packaged().words.languages["en"]}))
    monkeypatch.setattr(identity_names, "packaged", lambda: small)
    monkeypatch.setattr(identity_names, "__file__", str(tmp_path / "package" / "vocabulary.py"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "elsewhere"))
    identity_names._packaged_talk.__wrapped__()  # type: ignore[attr-defined]  # wraps() sets it
    assert not (tmp_path / "package").exists()
    assert list((tmp_path / "elsewhere").rglob("talk.*.json"))
