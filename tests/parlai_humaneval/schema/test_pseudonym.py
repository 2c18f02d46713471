"""Pseudonyms: stable with the key, meaningless without it."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from parlai_humaneval.schema.pseudonyms import Pseudonymizer, PseudonymKeyError


def test_pseudonyms_are_those_of_hmac_sha256():
    """The published form never changes, or exports of one study would no longer join."""
    assert Pseudonymizer(bytes(range(32))).worker("A1B2C3") == "w84617f2c4602"


def test_same_key_same_name_other_key_other_name():
    """Exports of one data directory join; nobody else can compute them."""
    one, other = Pseudonymizer(b"a" * 32), Pseudonymizer(b"b" * 32)
    assert one.worker("A1") == one.worker("A1") != one.worker("A2")
    assert one.worker("A1") != other.worker("A1")


def test_the_key_is_made_once_and_only_its_owner_reads_it(tmp_path):
    """A second launch gives the same pseudonyms; no draft is left behind."""
    path = tmp_path / "deep" / "pseudonym.key"
    first = Pseudonymizer.load_or_create(path).worker("A1")
    assert Pseudonymizer.load_or_create(path).worker("A1") == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["pseudonym.key"]


def test_many_at_once_end_with_one_key(tmp_path):
    """Two processes that start together must not give one worker two names."""
    with ThreadPoolExecutor(16) as pool:
        names = list(pool.map(lambda _: Pseudonymizer.load_or_create(tmp_path / "key").worker("A1"), range(64)))
    assert len(set(names)) == 1


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33])
def test_a_file_that_is_no_key_is_refused(tmp_path, content):
    """A truncated key would silently rename every worker."""
    path = tmp_path / "key"
    path.write_bytes(content)
    with pytest.raises(PseudonymKeyError, match=str(path)):
        Pseudonymizer.load_or_create(path)


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    """The error names the file, not a line of code."""
    (tmp_path / "file").write_text("")
    with pytest.raises(PseudonymKeyError, match=str(tmp_path / "file" / "key")):
        Pseudonymizer.load_or_create(tmp_path / "file" / "key")


def test_a_short_key_is_refused():
    """A guessable key protects nobody."""
    with pytest.raises(PseudonymKeyError, match="at least 32 bytes"):
        Pseudonymizer(b"guess")
