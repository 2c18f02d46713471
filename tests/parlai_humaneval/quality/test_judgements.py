"""Checks on who judges finished dialogues, and leaving them out, also of live tasks."""

from __future__ import annotations

import copy
import warnings
from importlib import import_module

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from judged import SPEED, dialogue, gold, judgement, judgements, segment
from rated import answered, records, said, shown

from parlai_humaneval.quality import (
    JUDGEMENT_CHECKS,
    check_dialogue,
    check_workers,
    checked,
    default_checks,
    exclude,
    exclude_everywhere,
    known_checks,
    needs_all_records,
)
from parlai_humaneval.quality.answers import failed_gold, one_label, same_side, too_fast_items
from parlai_humaneval.schema.records import JudgementRecord, Rated, ReplayedRating

SHOUTED = ("I LIKE THE SEA", "WHAT ABOUT YOU", "TELL ME MORE NOW", "I REALLY LOVE IT")


def left(*numbers: int, **fields: object) -> list[JudgementRecord]:
    return [judgement(number, {"preference": "first"}, **fields) for number in numbers]


def alternating(count: int, **fields: object) -> list[JudgementRecord]:
    return [judgement(n, {"preference": ("first", "second")[n % 2]}, **fields) for n in range(count)]


@pytest.mark.parametrize(
    ("given_answers", "passed"),
    [
        (["first"], True),
        (["second"], False),
        (["first", "second"], False),
        (["first", "first", "second"], True),
        (["first", "second", "second"], False),
    ],
)
def test_attention_checks_may_be_failed_once_in_three(given_answers: list[str], passed: bool) -> None:
    """A third is a slip, more is not."""
    finding = failed_gold([gold(number, answer) for number, answer in enumerate(given_answers)])
    assert finding.passed is passed
    assert finding.value == given_answers.count("second") / len(given_answers)


def test_ordinary_items_and_unanswered_checks_are_no_attention_checks() -> None:
    assert failed_gold([*left(1, 2), gold(3, "second", status="partial")]).passed is None


@pytest.mark.parametrize(("seconds", "hasty"), [(7.9, True), (8.1, False)])
def test_reading_takes_its_time(seconds: float, hasty: bool) -> None:
    """Two dialogues of four lines of ten words: 80 words, eight seconds at 600 words a minute."""
    finding = too_fast_items(alternating(4, seconds=seconds))
    assert (finding.passed, finding.value) == (not hasty, float(hasty))
    assert f"{SPEED:g} words per minute" in finding.reason


def test_checks_of_judgements_are_found_where_they_were() -> None:
    """Guards scripts and pickles of other people: live dialogues have a check of the same name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        before = import_module("parlai_humaneval.quality.judgements")
    for given_records in ([], alternating(4, seconds=7.9)):
        assert before.too_fast(given_records) == too_fast_items(given_records)


def test_half_of_the_items_too_fast_is_too_fast() -> None:
    """One in three is human, one in two is not; the answers of one form share their time."""
    slow, quick = alternating(2), judgement(9, {"preference": "first", "humanness": "first"}, seconds=5)
    assert too_fast_items([*slow, quick]).passed is True
    assert too_fast_items([*slow, quick, judgement(10, {"preference": "first"}, seconds=5)]).passed is False


def test_the_study_says_how_fast_people_read_and_few_items_say_nothing() -> None:
    assert too_fast_items(alternating(4, seconds=20, settings={"reading_speed_wpm": 200})).passed is False
    assert too_fast_items(alternating(2, seconds=0.1)).passed is None
    assert too_fast_items(alternating(4, seconds=0.1, status="partial")).passed is None


def test_replies_that_could_be_chosen_are_read_too() -> None:
    """One line of ten words, and a reply of 90 that was not continued: ten seconds. The continued one is a line already."""
    turn = answered(1, "hello").model_copy(update={"candidates": shown(1, ["word " * 30, " ".join(["word"] * 90)])})
    rating = ReplayedRating(technique="sata", metric="preference", question="?", turns=[turn])
    replay = {"dialogues": [dialogue("d", lines=1, replayed=rating)]}
    for seconds, passed in ((9.9, False), (10.1, True)):
        found = [judgement(n, {"turn": None}, seconds=seconds, technique="third_party", **replay) for n in range(3)]
        assert too_fast_items(found).passed is passed


def test_always_the_same_side_is_a_fixed_pattern() -> None:
    """Six items, by any metric; one other choice, or fewer items, and nothing is said."""
    assert same_side(left(*range(6))).passed is False
    assert same_side([*left(*range(6)), judgement(7, {"humanness": "second"})]).passed is True
    assert same_side(left(*range(5))).passed is None
    assert same_side([judgement(n, {"preference": "tie"}) for n in range(9)]).passed is None


def test_features_of_spot_the_bot_have_no_side() -> None:
    """“first” there is a speaker, not a place on the screen."""
    found = [judgement(n, {"fluent": "first"}, dialogues=[dialogue(f"d{n}")]) for n in range(9)]
    assert same_side(found).passed is None


def test_one_label_for_people_and_programs_is_a_fixed_pattern() -> None:
    """All “bot” is right where no person was shown; all “unsure” never is."""
    bots = [segment(n, ("bot", "bot")) for n in range(6)]
    people = segment(7, ("bot", "bot"), ("human", "human"))
    assert one_label(bots).passed is None
    assert one_label([*bots, people]).passed is False
    assert one_label([*bots, segment(8, ("bot", "human"), ("human", "human"))]).passed is True
    assert one_label([segment(n, ("unsure", "unsure")) for n in range(6)]).passed is False
    assert one_label(bots[:5]).passed is None


def test_defaults_and_names() -> None:
    """Of each technique; every name is known to --exclude."""
    assert default_checks("pw_dialog") == ("failed_gold", "same_side", "too_fast")
    assert default_checks("spot_the_bot") == ("failed_gold", "too_fast")
    assert default_checks("third_party") == ("failed_gold", "too_fast")
    assert known_checks(JUDGEMENT_CHECKS) == tuple(JUDGEMENT_CHECKS)
    assert needs_all_records(["too_fast"])
    assert needs_all_records(["rank_sum"])
    assert not needs_all_records(["greeting"])


def test_verdicts_are_written_into_the_judgements() -> None:
    """Those on the worker into each; live dialogues of the same worker keep theirs, and get no others."""
    live = said("I like the sea", "What about you", "Tell me more")
    found: list[Rated] = [gold(1, "second"), *alternating(3), live]
    checked(found)
    assert found[0].checks["failed_gold"]["passed"] is False
    assert found[1].checks["failed_gold"] == found[0].checks["failed_gold"]
    assert "failed_gold" not in live.checks
    assert live.checks["greeting"]["passed"] is not False
    assert "greeting" not in found[1].checks
    assert check_dialogue(found[0]) == []


def test_who_fails_is_left_out_with_all_judgements() -> None:
    """And is counted: one worker, four judgements, among them the attention check."""
    good = [
        record.model_copy(update={"worker": "w2", "judgement_id": f"k{i}"}) for i, record in enumerate(alternating(3))
    ]
    found = [gold(9, "second"), *alternating(3), *good]
    kept, exclusions = exclude(found)
    assert kept == good
    assert exclusions.workers == ["w1"]
    assert exclusions.judgements == ["j9", "j0", "j1", "j2"]
    assert (exclusions.judgements_total, exclusions.dialogues_total, exclusions.dialogues) == (7, 0, [])
    rows = {
        row.check: (row.judged, row.not_judged, row.workers_failed, row.judgements_removed) for row in exclusions.counts
    }
    assert rows == {"failed_gold": (1, 1, 1, 4), "same_side": (0, 2, 0, 0), "too_fast": (2, 0, 0, 0)}


def test_failing_live_leaves_out_of_finished_dialogues_and_the_other_way_round() -> None:
    """Smith et al. 2022, App. B.3: w1 shouts in PW-Turn, w2 fails an attention check: both go everywhere, w3 stays."""
    shouting = said(*SHOUTED, dialogue_id="d1", worker="w1")
    calm = [
        said("I like the sea", "What about you", "Tell me more", dialogue_id=f"d{n}", worker=f"w{n}") for n in (2, 3)
    ]
    judged = [record.model_copy(update={"worker": f"w{n}"}) for n, record in enumerate(alternating(3), start=1)]
    tasks: dict[str, list[Rated]] = {
        "live": [shouting, *calm],
        "static": [*judged, gold(9, "second", worker="w2")],
    }
    kept, exclusions = exclude_everywhere(tasks, ["capitals", "failed_gold"])
    assert {task: [record.worker for record in found] for task, found in kept.items()} == {
        "live": ["w3"],
        "static": ["w3"],
    }
    assert exclusions.workers == ["w1", "w2"]
    assert (len(exclusions.dialogues), len(exclusions.judgements)) == (2, 3)
    assert {failure.check: failure.worker for failure in exclusions.failures} == {"capitals": "w1", "failed_gold": "w2"}


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(judgements(), max_size=6), st.lists(records(), max_size=2))
def test_no_check_ever_raises_and_none_deletes(found: list[JudgementRecord], live: list[Rated]) -> None:
    """Whatever a valid judgement holds; live dialogues beside it."""
    together: list[Rated] = [*found, *live]
    before = copy.deepcopy(together)
    for own in check_workers(found, JUDGEMENT_CHECKS).values():
        assert [verdict.check for verdict in own] == list(JUDGEMENT_CHECKS)
        assert all(verdict.reason.endswith(".") for verdict in own)
    kept, exclusions = exclude(together)
    assert len(kept) + len(exclusions.dialogues) + len(exclusions.judgements) == len(together)
    assert repr(together) == repr(before), "judging changes no record"
    checked(together)
