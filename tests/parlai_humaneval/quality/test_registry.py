"""Checks by name, their defaults, and the promise that none of them ever fails on a record."""

from __future__ import annotations

import copy
import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rated import rated_alike, records, said

from parlai_humaneval.quality import (
    CHECKS,
    CheckError,
    check_dialogue,
    check_workers,
    checked,
    default_checks,
    exclude,
    exclude_everywhere,
    known_checks,
)
from parlai_humaneval.schema.records import DialogueRecord

SMITH = ("short_messages", "greeting", "capitals", "repeats_first", "offensive", "too_fast")
BAD = said("Hey", "ok", "ok", fixed="Hi!")


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(records(), max_size=4))
def test_no_check_ever_raises_and_every_verdict_has_a_reason(found: list[DialogueRecord]) -> None:
    """Whatever a valid record holds: no turns, emoji, contradictory turns, ratings of any size."""
    before = copy.deepcopy(found)
    verdicts = [verdict for record in found for verdict in check_dialogue(record, CHECKS)]
    verdicts += [verdict for own in check_workers(found, CHECKS).values() for verdict in own]
    for verdict in verdicts:
        assert verdict.check in CHECKS
        assert verdict.reason.endswith(".")
        assert verdict.value is None or math.isfinite(verdict.value)
    assert repr(found) == repr(before), "judging changes no record"
    kept, exclusions = exclude(found, None, scope="dialogue")
    assert len(kept) + len(exclusions.dialogues) == len(found)
    exclude_everywhere({"a": found[:2], "b": found[2:]}, CHECKS)
    checked(found)


@pytest.mark.parametrize(
    ("technique", "setting", "metric", "names"),
    [
        ("pw_turn", "", "preference", SMITH),
        ("single_model", "", "quality", SMITH),
        ("single_model", "", "appropriate", ("short_tokens", "too_fast")),
        ("single_model", "appropriate", "", ("short_tokens", "too_fast")),
        ("sata", "soba", "appropriate", ("same_position", "short_tokens", "too_fast")),
        ("direct_assessment", "", "quality", ("constant_scores", "rank_sum", "too_fast")),
        ("free_for_all", "", "appropriate", ("too_fast",)),
        ("arena", "", "better", ("too_fast",)),
    ],
)
def test_each_technique_has_the_checks_of_its_paper(
    technique: str, setting: str, metric: str, names: tuple[str, ...]
) -> None:
    assert default_checks(technique, setting, metric) == names
    assert set(names) <= set(CHECKS)


def test_every_check_says_where_it_comes_from() -> None:
    for name, check in CHECKS.items():
        assert check.name == name
        assert check.source
        assert check.description.endswith(".")


def test_an_unknown_name_lists_the_known_ones() -> None:
    for call in (
        lambda: known_checks(["short_messages", "shouting"]),
        lambda: check_dialogue(BAD, ["shouting"]),
        lambda: check_workers([BAD], ["shouting"]),
        lambda: exclude([], ["shouting"]),
    ):
        with pytest.raises(CheckError) as caught:
            call()
        assert str(caught.value) == f"there is no check 'shouting'; choose among these checks: {', '.join(CHECKS)}"


def test_names_choose_and_scope_decides_where() -> None:
    assert [v.check for v in check_dialogue(BAD)] == list(SMITH)
    assert [v.check for v in check_dialogue(BAD, ["rank_sum", "capitals", "capitals"])] == ["capitals"]
    assert check_dialogue(BAD, []) == []
    assert [v.check for v in check_workers([BAD], ["rank_sum", "capitals"])["w1"]] == ["rank_sum"]
    assert check_workers([BAD]) == {"w1": []}


def test_simulated_raters_are_not_asked_whether_they_read_too_fast() -> None:
    """Guards rehearsals against a warning on every rater; by its name the check is still made."""
    simulated = BAD.model_copy(update={"simulated": True})
    assert "too_fast" in SMITH
    assert [v.check for v in check_dialogue(simulated)] == [name for name in SMITH if name != "too_fast"]
    assert [v.check for v in check_dialogue(simulated, ["too_fast"])] == ["too_fast"]


def test_verdicts_stand_in_the_records_and_the_practice_stays() -> None:
    practice = {"passed": True, "tries": 1, "choices": []}
    talk = BAD.model_copy(update={"checks": {"practice": practice}})
    rated = [rated_alike("bad", 70, 70), rated_alike("m1", 70, 70)]
    checked([talk, *rated])
    assert talk.checks["practice"] == practice
    assert set(talk.checks) == {"practice", *SMITH}
    assert talk.checks["greeting"]["passed"] is False
    assert set(talk.checks["greeting"]) == {"check", "passed", "reason", "value"}
    for record in rated:
        assert record.checks["rank_sum"]["passed"] is False
    assert DialogueRecord.model_validate_json(talk.model_dump_json()).checks == talk.checks


def test_only_the_named_checks_are_written() -> None:
    record = BAD.model_copy(update={"checks": {}})
    checked([record], ["offensive"])
    assert set(record.checks) == {"offensive"}
