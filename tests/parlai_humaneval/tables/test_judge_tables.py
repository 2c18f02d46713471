"""Answers of judges as tables: rows like those of a rater with the same answers, in a place of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from make_judgements import make_pair, make_segment
from make_judges import card, judged, letter
from make_live_records import make_choice, make_rated, make_ticked, make_verdict

from parlai_humaneval.judges.questions import JudgeQuestion
from parlai_humaneval.schema.records import Rated
from parlai_humaneval.tables.build import judge_tables, tables
from parlai_humaneval.tables.columns import Tables
from parlai_humaneval.tables.files import JUDGES, read_tables, save_tables, write_tables
from parlai_humaneval.tables.filters import rater_kinds

OWN = ["worker_id", "simulated", "judgement_id", "seconds", "reason", "position", "position_a", "side"]
"""Columns in which a judge's row differs from that of a rater with the same answer."""


def of_judge(records: list[Rated], says: object) -> Tables:
    found = judge_tables(records, judged(records, says))  # type: ignore[arg-type]  # tests hand over functions
    assert found is not None
    return found


def always(number: int) -> object:
    return lambda question: letter(number)


def picks(question: JudgeQuestion) -> str:
    """What the raters of these tests said, wherever it stands."""
    first = question.asked[0]
    if first.kind == "choose":
        return letter([reply.text for reply in question.replies].index("reply of a") + 1)
    if first.question_id == "verdict":
        return letter(question.shown.index("m2") + 1)
    if first.kind == "form" and len(question.asked) == 1:
        return letter(question.shown.index("a-1") + 1)
    if first.kind == "form":
        return '{"answer": {"label_0": "C", "label_1": "A"}}'
    return '{"answer": ["engaging"]}' if first.kind == "tick" else '{"answer": {"engaging": 4}}'


RECORDS: list[Rated] = [
    make_choice("d1", [["a"], ["a"]], technique="pw_turn", setting=""),
    make_ticked("d2", [["engaging"]], worker="w2"),
    make_verdict("d3", "b", worker="w3"),
    make_pair("j1", "a", "b", "first", worker="w4"),
    make_segment("s1", ("a", "human"), ("bot", "human"), worker="w5"),
]


def test_a_judge_that_says_the_same_has_the_same_rows() -> None:
    """Guards every comparison of judges with people: things have the same names, and answers the same values."""
    people, judges = tables(RECORDS), of_judge(RECORDS, picks)
    for name in ("turns", "comparisons", "ratings", "segments"):
        theirs, its = getattr(people, name), getattr(judges, name)
        if name == "turns":  # what nobody was asked about has no row of a judge's
            theirs = theirs[theirs["dialogue_id"] != "d3"]
        shared = [column for column in theirs.columns if column not in OWN]
        once = its[its["order"] == 1][shared].reset_index(drop=True)
        pd.testing.assert_frame_equal(theirs[shared].reset_index(drop=True), once)
        assert len(theirs)
        assert set(its["rater_kind"]) == {"judge"}
        assert set(its["simulated"]) == {1}  # it is a program, should anybody put its rows among people's
        assert set(its["worker_id"]) == set(its["judge"]) == {"j"}


def test_places_are_those_in_which_the_judge_read() -> None:
    """Guards the position bias: who always takes what stands first has chosen each model once."""
    judges = of_judge(RECORDS, always(1))
    turns = judges.turns[judges.turns["tick_choices"].isna()]
    assert turns[turns["selected"] == 1]["position"].tolist() == [1, 1, 1, 1]
    assert turns[turns["selected"] == 1]["model"].tolist() == ["a", "a", "b", "b"]
    rows = judges.comparisons[judges.comparisons["turn"].isna()]
    assert rows["winner"].tolist() == ["m1", "m2", "a", "b"]
    assert rows["position_a"].tolist() == [1, 2, 1, 2]


def test_equal_replies_are_chosen_together() -> None:
    """Guards ties by equal words: whoever chose the card chose both models."""
    record = make_choice("d1", [["a"]], models=("a", "b", "c"), setting="soba")
    record.turns[0].candidates[1].same_as = record.turns[0].candidates[0].candidate_id
    judges = of_judge([record], always(1))
    first = judges.turns[judges.turns["order"] == 1]
    assert dict(zip(first["model"], first["selected"], strict=True)) == {"a": 1, "b": 1, "c": 0}
    assert dict(zip(first["model"], first["position"], strict=True)) == {"a": 1, "b": 1, "c": 2}


def test_what_was_refused_or_unreadable_stands_in_judgements_alone() -> None:
    """Guards the counts, and that nothing is guessed."""
    records: list[Rated] = [make_choice("d1", [["a"], ["b"]], setting="soba")]
    replies = iter(["I'm sorry, I can't.", "Both.", letter(1), letter(1)])
    judges = of_judge(records, lambda question: next(replies))
    assert judges.judgements["outcome"].tolist() == ["refused", "unparsable", "answered", "answered"]
    assert judges.judgements["status"].tolist() == ["failed", "failed", "complete", "complete"]
    assert judges.judgements["reply"].tolist()[1] == '["Both."]'
    assert set(judges.turns["turn"]) == {1, 2}
    assert len(judges.turns) == 4


def test_other_versions_other_tasks_and_second_answers_do_not_count() -> None:
    """Guards one answer for each order: the first, of a judge that is known, about what is in the study."""
    records: list[Rated] = [make_choice("d1", [["a"]], setting="soba")]
    lines = judged(records, lambda question: letter(1))
    again = judged(records, lambda question: letter(2))
    found = judge_tables(records, [*lines, *again])
    assert found is not None
    assert found.turns[found.turns["selected"] == 1]["position"].tolist() == [1, 1]
    assert judge_tables(records, [card(version="v2"), *lines[1:]]) is None
    assert judge_tables(records, [*lines, card(version="v2")]) is not None  # of another task, say
    assert judge_tables([make_choice("d9", [["a"]], setting="soba")], lines) is None
    assert judge_tables(records, []) is None


def test_tables_of_judges_have_a_folder_of_their_own(tmp_path: Path) -> None:
    """Guards today's files, and that a judge is never read as a rater: nothing of it stands among people's rows."""
    people = tables(RECORDS)
    write_tables(people, tmp_path / "before")
    both = replace(people, judges=of_judge([*RECORDS, make_rated("d6", ratings={"engaging": 4.0})], picks))
    save_tables(both, tmp_path / "after")
    for path in sorted((tmp_path / "before").iterdir()):
        assert path.read_bytes() == (tmp_path / "after" / path.name).read_bytes()
    folder = tmp_path / "after" / JUDGES
    assert sorted(path.stem for path in folder.iterdir()) == [
        "README", "comparisons", "judgements", "ratings", "segments", "turns",
    ]  # fmt: skip
    assert "nothing was rated by people" in (folder / "README.md").read_text()
    assert "| rater_kind |" in (folder / "README.md").read_text()
    back = read_tables(tmp_path / "after")
    assert back.judges is not None
    assert both.judges is not None
    for name in ("turns", "comparisons", "ratings", "segments", "judgements"):
        pd.testing.assert_frame_equal(getattr(both.judges, name), getattr(back.judges, name), check_dtype=False)
    assert rater_kinds(back) == rater_kinds(people)
    save_tables(people, tmp_path / "after", "jsonl", force=True)
    assert read_tables(tmp_path / "after").judges is None


def test_a_row_of_a_judge_that_says_it_is_a_person_is_refused(tmp_path: Path) -> None:
    """Guards the folder: whoever puts rows of people there is told."""
    write_tables(replace(tables(RECORDS), judges=of_judge(RECORDS, picks)), tmp_path)
    file = tmp_path / JUDGES / "turns.csv"
    file.write_text(file.read_text().replace('"judge","j"', '"person","j"'))
    with pytest.raises(ValueError, match="rater_kind"):
        read_tables(tmp_path)
