"""Answers that a worker gave again: refused with a hint, or all, the first or the last count, in every table."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from make_judgements import one_of_each
from make_live_records import make_choice, make_rated

from parlai_humaneval.tables.build import tables
from parlai_humaneval.tables.columns import TableError
from parlai_humaneval.tables.files import dialogue_ids, read_tables, settled, write_tables

NAMES = ["turns", "dialogues", "comparisons", "ratings", "points", "segments", "judgements"]


@pytest.fixture(scope="module")
def whole():
    """Tables of which none is empty."""
    return tables([make_choice("d1", [("a",)]), make_rated("d3"), *one_of_each()])


def doubled(whole, name):
    """That table alone with all rows given again, 5 seconds slower where they have a time; no rule spans two tables."""
    frame = getattr(whole, name)
    again = frame.assign(seconds=frame["seconds"] + 5) if "seconds" in frame.columns else frame
    return replace(tables([]), **{name: pd.concat([frame, again], ignore_index=True)})


@pytest.mark.parametrize("name", NAMES)
def test_what_counts_is_chosen_for_every_table(whole, tmp_path, name):
    """All rows, the first ones or the last ones are read back, and the count is told. What was kept once reads back without
    a word, is told again, and can still be cut to the first or last."""
    write_tables(doubled(whole, name), tmp_path / "raw")
    with pytest.raises(TableError, match="--repeats keep, first or last"):
        read_tables(tmp_path / "raw")
    frame, read = getattr(whole, name), {}
    for repeats, left_out in (("keep", 0), ("first", len(frame)), ("last", len(frame))):
        read[repeats] = read_tables(tmp_path / "raw", repeats=repeats)
        (told,) = read[repeats].repeats
        assert (told.table, told.repeats, told.more_rows, told.left_out) == (name, repeats, len(frame), left_out)
        assert f"--repeats {repeats}" in told.words
    keep, first, last = (getattr(found, name) for found in read.values())
    assert [len(keep), len(first), len(last)] == [2 * len(frame), len(frame), len(frame)]
    assert keep["answer_number"].fillna(1).tolist() == [1] * len(frame) + [2] * len(frame)
    assert keep["worker_id"].tolist() == 2 * frame["worker_id"].tolist()
    if "seconds" in frame.columns and frame["seconds"].notna().all():
        assert first["seconds"].tolist() == frame["seconds"].tolist()
        assert last["seconds"].tolist() == (frame["seconds"] + 5).tolist()
    write_tables(read["keep"], tmp_path / "kept")
    for repeats, found in read.items():
        again = read_tables(tmp_path / "kept", **({} if repeats == "keep" else {"repeats": repeats}))
        assert again.repeats == found.repeats
        pd.testing.assert_frame_equal(getattr(again, name), getattr(found, name), check_dtype=False)


def test_the_order_is_that_of_time_where_all_have_one(whole):
    """The later row began earlier; where one time is missing the rows decide."""
    frame = pd.concat([whole.segments[:2], whole.segments[:2]], ignore_index=True)
    timed = frame.assign(started=["2024-05-02T10:00:00", "2024-05-02T10:00:00", "2024-05-01", "2024-05-01"])
    timed["seconds"] = [1.0, 1.0, 2.0, 2.0]
    assert settled("segments", timed, "first")[0]["seconds"].tolist() == [2, 2]
    assert settled("segments", timed, "last")[0]["seconds"].tolist() == [1, 1]
    assert settled("segments", timed.assign(started=None), "first")[0]["seconds"].tolist() == [1, 1]
    assert settled("segments", timed.drop(columns="started"), "last")[0]["seconds"].tolist() == [2, 2]


def test_numbers_and_own_names(whole):
    """A third answer has its own number; the dialogue's own name is known behind it; copies are told."""
    frame = pd.concat([whole.segments[:2]] * 3, ignore_index=True)
    kept, (told,) = settled("segments", frame, "keep")
    dialogue = frame["dialogue_id"].iloc[0]
    assert kept["dialogue_id"].tolist()[::2] == [dialogue, f"{dialogue} (answer 2)", f"{dialogue} (answer 3)"]
    assert dialogue_ids(kept).tolist() == frame["dialogue_id"].tolist()
    assert (told.answers, told.more_rows, told.copies) == (1, 4, 4)
    assert "1 answer was given again by the same rater" in told.words
    assert "identical to another row in every cell" in told.words
    assert "1 row is identical to another" in replace(told, copies=1).words
    assert "(1 more row, numbered" in replace(told, more_rows=1).words


PAIR = {
    "item_id": "i1",
    "worker_id": "w1",
    "metric": "preference",
    "dialogue_a": None,
    "dialogue_b": None,
    "seconds": 1,
}


def pairs(*rows):
    return pd.DataFrame([{**PAIR, **row} for row in rows])


def test_a_pair_turned_round_is_the_same_pair(tmp_path):
    """The sides of the second answer are swapped; its dialogues are those of the item, not new ones."""
    rows = pairs(
        {"model_a": "a", "model_b": "b", "winner": "a"},
        {"model_a": "b", "model_b": "a", "winner": "b"},
        {"model_a": "a", "model_b": "b", "winner": "b", "worker_id": "w2"},
    )
    rows.to_csv(tmp_path / "comparisons.csv", index=False)
    with pytest.raises(TableError, match=r"swapped.*--repeats"):
        read_tables(tmp_path)
    kept = read_tables(tmp_path, repeats="keep").comparisons
    assert kept["item_id"].tolist() == ["i1", "i1 (answer 2)", "i1"]
    assert kept["dialogue_a"].tolist() == ["i1:a", "i1:b", "i1:a"]
    assert read_tables(tmp_path, repeats="last").comparisons["winner"].tolist() == ["b", "b"]


def test_another_worker_is_no_repeat(tmp_path, whole):
    """Two workers under one id are refused as ever: nobody's answer is left out for another's."""
    one = whole.judgements[:1]
    both = pd.concat([one, one.assign(worker_id="somebody else")], ignore_index=True)
    write_tables(replace(whole, judgements=both), tmp_path)
    with pytest.raises(TableError, match="contradict"):
        read_tables(tmp_path, repeats="first")


def test_a_verdict_stays_one():
    """Its id ends as the ids of verdicts do, behind the number."""
    rows = pairs(*[{"model_a": "a", "model_b": "b", "winner": "a", "item_id": "d:verdict"}] * 2)
    rows = rows.assign(
        dialogue_a="d", dialogue_b="d", answer_number=None, judgement_id=None, technique=None, setting=None
    )
    kept, _ = settled("comparisons", rows, "keep")
    assert kept["item_id"].tolist() == ["d:verdict", "d (answer 2):verdict"]
    assert kept["dialogue_a"].tolist() == ["d", "d (answer 2)"]


def test_records_of_one_id():
    """The same record twice is refused by name of the option, or counts once."""
    record = make_rated("d1", "a", {"fluent": 80})
    with pytest.raises(TableError, match=r"'d1' is in 2 records.*--repeats"):
        tables([record, record])
    found = tables([record, record], repeats="first")
    assert (len(found.dialogues), len(found.ratings)) == (1, 1)
    assert {one.table for one in found.repeats} == {"dialogues", "ratings", "turns"}
    assert tables([record], repeats="first").repeats == ()


def test_other_words_are_refused(tmp_path, whole):
    """A misspelt word is an error, and is not taken for “last”."""
    write_tables(whole, tmp_path)
    with pytest.raises(ValueError, match="repeats: cannot be 'foo'"):
        read_tables(tmp_path, repeats="foo")
