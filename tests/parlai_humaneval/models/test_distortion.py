"""Meaning distortion, word for word as Ji et al. 2022, App. A.1."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.models.baselines.degraded import Distorter, span_length, span_starts

GOLD = Path(__file__).resolve().parents[4] / "shared" / "reference" / "gold_cases.json"


@pytest.mark.parametrize(
    ("words", "length"),
    [(0, 0), (1, 1), (3, 1), (4, 2), (5, 2), (6, 3), (8, 3), (9, 4), (15, 4), (16, 5), (29, 5), (30, 6), (34, 6), (35, 7)],
)  # fmt: skip
def test_length_of_the_replaced_span(words: int, length: int) -> None:
    """Guards both ends of every band of the paper's list."""
    assert span_length(words) == length


@pytest.mark.parametrize(
    ("words", "starts"), [(0, []), (1, [0]), (2, [0, 1]), (3, [1]), (4, [1]), (5, [1, 2]), (6, [1, 2])]
)
def test_first_and_last_word_are_spared_from_three_words_on(words: int, starts: list[int]) -> None:
    """Guards the shortest replies, where one word more or less would touch an end."""
    assert list(span_starts(words)) == starts


def test_reference_cases() -> None:
    """Guards against a misreading of the paper: cases computed by another implementation."""
    if not GOLD.exists():
        pytest.skip(f"{GOLD} is not on this machine")
    functions = {"distortion_len": span_length, "distortion_starts": lambda words: list(span_starts(words))}
    cases = [case for case in json.loads(GOLD.read_text(encoding="utf-8")) if case["function"] in functions]
    assert len(cases) >= 10
    for case in cases:
        assert functions[case["function"]](*case["args"]) == case["expected"], case


@given(words=st.integers(1, 60), seed=st.integers(0, 10_000))
def test_one_span_is_replaced_by_as_many_words_in_a_row_of_another_dialogue(words: int, seed: int) -> None:
    """Guards the whole procedure: number of words, place, source, and that the source is one sequence."""
    reply = [f"own{index}" for index in range(words)]
    other = [f"other{index}" for index in range(80)]
    distorter = Distorter([[" ".join(reply), "own line"], ["short", " ".join(other)]])
    result = distorter.distort(" ".join(reply), 0, random.Random(seed)).split()
    changed = [index for index in range(words) if result[index] != reply[index]]
    assert len(result) == words
    assert changed == list(range(changed[0], changed[0] + span_length(words)))
    assert changed[0] in span_starts(words)
    taken = [result[index] for index in changed]
    assert taken in [["short"], *(other[start : start + len(taken)] for start in range(len(other)))]


def test_all_places_and_dialogues_are_drawn() -> None:
    """Guards chance: no place of the span and no other dialogue is left out."""
    distorter = Distorter([["a b c d e f"], ["k l m"], ["x y z"]])
    results = {distorter.distort("a b c d e f", 0, random.Random(seed)) for seed in range(60)}
    assert results == {"a k l m e f", "a b k l m f", "a x y z e f", "a b x y z f"}


def test_the_sequence_is_distinct_and_not_of_the_same_dialogue() -> None:
    """Guards “distinct”: neither the same words in other capitals, nor other words of the reply's own dialogue."""
    distorter = Distorter([["I like dogs", "own words only"], ["LIKE, cats"]])
    assert {distorter.distort("I like dogs", 0, random.Random(seed)) for seed in range(30)} == {"I cats dogs"}
    with pytest.raises(InvalidValue, match="differ from “like”"):
        Distorter([["I like dogs", "own words only"], ["Like like!"]]).distort("I like dogs", 0, random.Random(0))


def test_a_span_longer_than_every_line_is_taken_from_a_dialogue_end_to_end() -> None:
    """Guards long replies of a file of short lines: they are distorted all the same, at full length."""
    reply = " ".join(f"w{index}" for index in range(30))
    distorter = Distorter([[reply], ["a b c d", "e f g h"]])
    assert len(distorter.distort(reply, 0, random.Random(1)).split()) == 30
    with pytest.raises(InvalidValue, match="6 words in a row"):
        Distorter([[reply], ["a b", "c d e"]]).distort(reply, 0, random.Random(1))


def test_a_reply_without_words_is_refused() -> None:
    """Guards the caller against an endless search for a span in nothing."""
    with pytest.raises(InvalidValue, match="no word"):
        Distorter([["a"], ["b"]]).distort("  ", 0, random.Random(0))
