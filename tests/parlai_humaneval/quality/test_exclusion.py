"""Leaving out by checks: who goes, why, how much each check took, and that nothing is lost."""

from __future__ import annotations

import copy

from rated import answered, of_turns, rated_alike, said

from parlai_humaneval.quality import exclude, exclude_everywhere
from parlai_humaneval.schema.records import DialogueRecord

FINE = ("I have two dogs and a cat.", "They sleep all day long.")


def good(dialogue: str, worker: str) -> DialogueRecord:
    return said(*FINE, fixed="Hi!", dialogue_id=dialogue, worker=worker)


def short(dialogue: str, worker: str) -> DialogueRecord:
    return said("ok", "yes", fixed="Hi!", dialogue_id=dialogue, worker=worker)


def loud(dialogue: str, worker: str) -> DialogueRecord:
    return said("I HAVE TWO DOGS", "YES TWO BIG DOGS", fixed="Hi!", dialogue_id=dialogue, worker=worker)


RECORDS = [good("a", "w1"), short("b", "w2"), good("c", "w2"), loud("d", "w3"), good("e", "w4")]


def ids(records: list[DialogueRecord]) -> list[str]:
    return [record.dialogue_id for record in records]


def test_a_failed_dialogue_takes_its_worker_along() -> None:
    kept, exclusions = exclude(RECORDS, ["short_messages"])
    assert ids(kept) == ["a", "d", "e"]
    assert exclusions.workers == ["w2"]
    assert exclusions.dialogues == ["b", "c"]
    (failure,) = exclusions.failures
    assert (failure.check, failure.worker, failure.dialogue_id) == ("short_messages", "w2", "b")
    assert "mean message length in words is 1;" in failure.reason
    assert (exclusions.turns_total, exclusions.turns_removed) == (15, 6)


def test_or_goes_alone() -> None:
    kept, exclusions = exclude(RECORDS, ["short_messages"], scope="dialogue")
    assert ids(kept) == ["a", "c", "d", "e"]
    assert exclusions.workers == []
    assert exclusions.dialogues == ["b"]


def test_counts_say_what_each_check_took() -> None:
    both = loud("f", "w2")
    _, exclusions = exclude([*RECORDS, both], ["short_messages", "capitals", "offensive"])
    short_row, loud_row, offensive_row = exclusions.counts
    assert short_row.model_dump() == {
        "check": "short_messages",
        "judged": 6,
        "not_judged": 0,
        "dialogues_failed": 1,
        "workers_failed": 1,
        "dialogues_removed": 3,
        "turns_removed": 9,
        "judgements_removed": 0,
    }
    assert (loud_row.dialogues_failed, loud_row.workers_failed, loud_row.dialogues_removed) == (2, 2, 4)
    assert (offensive_row.dialogues_failed, offensive_row.turns_removed) == (0, 0)
    assert exclusions.turns_removed == 12, "checks overlap: the total is no sum of the rows"


def test_only_complete_turns_are_counted() -> None:
    unfinished = answered(4, "no", answered_at=None, continued=None)
    record = short("b", "w1")
    record = record.model_copy(update={"turns": [*record.turns, unfinished], "status": "partial"})
    _, exclusions = exclude([record], ["short_messages"])
    assert exclusions.turns_removed == 3


def test_what_cannot_be_judged_excludes_nobody() -> None:
    cut_off = said("ok", fixed="Hi!", status="partial")
    kept, exclusions = exclude([cut_off, of_turns([], worker="w2")])
    assert len(kept) == 2
    row = next(count for count in exclusions.counts if count.check == "short_messages")
    assert (row.judged, row.not_judged) == (0, 2)


def test_a_failed_worker_goes_whole_in_either_scope() -> None:
    records = [rated_alike(model, 70, 70, worker=worker) for worker in ("w1", "w2") for model in ("bad", "m1", "m2")]
    for record in records[3:]:
        low = record.models[0].name == "bad"
        record.final_ratings = {name: (5 if low else 80) + number for number, name in enumerate(record.final_ratings)}
    for scope in ("worker", "dialogue"):
        kept, exclusions = exclude(records, None, scope=scope)
        assert {record.worker for record in kept} == {"w2"}
        assert exclusions.workers == ["w1"]
        rows = {row.check: row for row in exclusions.counts}
        assert (rows["rank_sum"].workers_failed, rows["rank_sum"].dialogues_failed) == (1, 0)
        assert (rows["rank_sum"].dialogues_removed, rows["rank_sum"].judged) == (3, 2)
        assert {failure.dialogue_id for failure in exclusions.failures} == {None}


def test_nothing_is_deleted_or_changed() -> None:
    before = copy.deepcopy(RECORDS)
    kept, exclusions = exclude(RECORDS)
    assert before == RECORDS
    assert all(any(record is one for one in RECORDS) for record in kept)
    assert sorted([*ids(kept), *exclusions.dialogues]) == ids(RECORDS)


def test_no_checks_and_no_records_exclude_nothing() -> None:
    kept, exclusions = exclude(RECORDS, [])
    assert (kept, exclusions.counts) == (RECORDS, [])
    kept, exclusions = exclude([])
    assert (kept, exclusions.dialogues_total, exclusions.counts) == ([], 0, [])


def test_who_fails_in_one_technique_is_left_out_of_all() -> None:
    """Smith et al. 2022, App. B.3: w2 shouts in PW-Turn, so their single-model dialogue goes too, and nobody else's."""
    tasks = {
        "pairs": [good("p1", "w1"), loud("p2", "w2")],
        "single": [good("s1", "w1"), good("s2", "w2"), good("s3", "w3")],
        "empty": [],
    }
    kept, exclusions = exclude_everywhere(tasks)
    assert {task: ids(records) for task, records in kept.items()} == {
        "pairs": ["p1"],
        "single": ["s1", "s3"],
        "empty": [],
    }
    assert exclusions.workers == ["w2"]
    assert exclusions.dialogues == ["p2", "s2"]


def test_each_task_is_judged_by_its_own_papers_checks() -> None:
    """Capitals are Smith's check: in a SATA task, whose paper has none, they exclude nobody."""
    shouted = loud("x", "w1").model_copy(update={"technique": "sata", "setting": "soba"})
    kept, _ = exclude_everywhere({"sata": [shouted]})
    assert ids(kept["sata"]) == ["x"]
    kept, _ = exclude_everywhere({"sata": [shouted]}, ["capitals"])
    assert kept["sata"] == []
