"""Money at the stand-in of Prolific: what a study costs, who is paid what, bonuses, screening out, and currencies."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from servers.prolific import (
    NotAllowed,
    StandIn,
)

from .hands import OURS, REVIEW, Api, screen_out


def test_a_study_from_draft_to_paid(prolific: StandIn, api: Api) -> None:
    """States and money follow participants and researcher step by step; a reward of 1.00 costs 1.40 with fee and tax."""
    study = api.draft()
    assert api.study(study)["status"] == "UNPUBLISHED"
    assert api("POST", "study-cost-calculator/", {"reward": 100, "total_available_places": 3})["total_cost"] == 420
    assert api.move(study, "PUBLISH")["status"] == "PUBLISHING"
    assert api.balance() == (10000, 9580)
    prolific.clock.move(1)
    assert api.study(study)["status"] == "ACTIVE"
    people = [prolific.participant() for _ in range(3)]
    for person in people:
        person.reserve(study)
    assert api.study(study)["status"] == "AWAITING REVIEW", "a full house"
    for person in people:
        link = person.open()
        assert link == (
            f"https://study.example/?PROLIFIC_PID={person.id}&STUDY_ID={study}&SESSION_ID={person.submission_id}"
        )
        person.follow("https://app.prolific.com/submissions/complete?cc=C-DONE")
    assert api("GET", f"studies/{study}/submissions/counts/")["AWAITING REVIEW"] == 3
    first = people[0].submission_id
    (row, *_) = api("GET", f"studies/{study}/submissions/")["results"]
    assert (row["participant_id"], row["study_code"]) == (people[0].id, "C-DONE")
    single = api("GET", f"submissions/{first}/")
    assert (single["participant"], single["entered_code"], single["study_id"]) == (people[0].id, "C-DONE", study)
    assert api.act(people[0], "APPROVE")["status"] == "APPROVED"
    assert api.act(people[0], "APPROVE")["status"] == "APPROVED", "repeating it is ignored"
    assert api.balance() == (9860, 9580)
    ids = [person.submission_id for person in people]
    assert "successfully" in api("POST", "submissions/bulk-approve/", {"submission_ids": ids})["message"]
    assert people[1].status == "AWAITING REVIEW", "it has not happened yet"
    prolific.clock.move(1)
    assert {person.status for person in people} == {"APPROVED"}
    assert api.study(study)["status"] == "COMPLETED"
    assert [(c.kind, c.participant, c.price.amount, c.price.total, c.balance) for c in prolific.charges] == [
        ("reward", people[0].id, 100, 140, 9860),
        ("reward", people[1].id, 100, 140, 9720),
        ("reward", people[2].id, 100, 140, 9580),
    ]
    assert api.balance() == (9580, 9580)


def test_bonuses_are_paid_as_often_as_they_are_asked_for(prolific: StandIn, api: Api) -> None:
    """A set-up costs nothing; each ``pay/`` charges all of it; what was paid is seen only later."""
    study, someone = api.inside()
    rows = f"{someone.id},1.50\n{someone.submission_id},0.30\n"
    batch = api("POST", "submissions/bonus-payments/", {"study_id": study, "csv_bonuses": rows}, 201)
    assert (batch["amount"], batch["fees"], batch["vat"], batch["total_amount"]) == (180, 60, 12, 252)
    prolific.clock.move(60)
    assert prolific.charges == []
    pay = f"bulk-bonus-payments/{batch['id']}/pay/"
    assert isinstance(api("POST", pay, status=202), str)
    assert prolific.charges == []
    prolific.clock.move(prolific.market.delays.pay_s)
    assert [charge.price.amount for charge in prolific.charges] == [150, 30]
    assert api("GET", f"submissions/{someone.submission_id}/")["bonus_payments"] == [], "they lag"
    prolific.clock.move(prolific.market.delays.bonus_seen_s)
    assert api("GET", f"submissions/{someone.submission_id}/")["bonus_payments"] == [150, 30]
    api("POST", pay, status=202)
    prolific.clock.move(60)
    assert someone.earned == 360
    assert api.balance()[0] == 10000 - 2 * 252


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("aaaaaaaaaaaaaaaaaaaaaaaa,1.00\n{who},1.00", "aaaaaaaaaaaaaaaaaaaaaaaa"),
        ("{who},1.005", "not a valid amount"),
        ("{who},-1", "not a valid amount"),
        ("", "between 1 and 200"),
        ("{who},0.01\n" * 201, "between 1 and 200"),
    ],
)
def test_bonuses_that_cannot_be_set_up(prolific: StandIn, api: Api, rows: str, words: str) -> None:
    study, someone = api.inside()
    body = {"study_id": study, "csv_bonuses": rows.format(who=someone.id)}
    assert words in str(api.detail("POST", "submissions/bonus-payments/", body))
    assert prolific.market.batches == {}


def test_money_is_checked_where_it_is_promised(prolific: StandIn, api: Api) -> None:
    """At publishing, at more places, and when bonuses are paid: a refusal leaves everything as it was."""
    prolific.workspace.total = 420
    rich, poor = api.draft(), api.draft(total_available_places=1)
    api.move(rich, "PUBLISH")
    assert "enough money" in api.detail("POST", f"studies/{poor}/transition/", {"action": "PUBLISH"})
    assert api.study(poor)["status"] == "UNPUBLISHED"
    prolific.clock.move(1)
    assert "enough money" in api.detail("PATCH", f"studies/{rich}/", {"total_available_places": 4})
    assert api.study(rich)["total_available_places"] == 3
    someone = prolific.participant()
    someone.take(rich)
    batch = api("POST", "submissions/bonus-payments/", {"study_id": rich, "csv_bonuses": f"{someone.id},1"}, 201)
    assert "enough money" in api.detail("POST", f"bulk-bonus-payments/{batch['id']}/pay/")
    assert (prolific.charges, prolific.market.owed[prolific.workspace.id].total) == ([], 0)
    prolific.market.unknowns.refusal_status = 422
    api.detail("POST", f"bulk-bonus-payments/{batch['id']}/pay/", status=422)
    api.move(rich, "STOP")
    assert api.balance() == (420, 280), "free places are released, the one inside is not"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"completion_code": "X"}, "no longer supported"),
        ({"eligibility_requirements": []}, "no longer supported"),
        ({"reward": 1.5}, "integer"),
        ({"reward": True}, "integer"),
        ({"reward": 0}, "greater than or equal to 1"),
        ({"prolific_id_option": "query"}, "not a valid choice"),
        ({"completion_codes": []}, "required"),
        ({"completion_codes": [REVIEW, {**OURS, "code": "C-DONE"}]}, "unique"),
        ({"completion_codes": [{**REVIEW, "code": None}]}, "null"),
        ({"completion_codes": [{**REVIEW, "actions": [{"action": "PAY"}]}]}, "not a valid action"),
        ({"completion_codes": [{**REVIEW, "actions": [{"action": "DYNAMIC_PAYMENT"}]}]}, "researcher only"),
        ({"completion_codes": [REVIEW, screen_out(5, 100)]}, "below the reward"),
        ({"completion_codes": [REVIEW, screen_out(5), {**screen_out(5), "code": "X"}]}, "Only one"),
        ({"maximum_allowed_time": 10}, "at least 17"),
        ({"maximum_allowed_time": 1440}, "below 24 hours"),
        ({"external_study_url": "http://study.example"}, "valid URL"),
        ({"filters": [{"filter_id": "shoe-size", "selected_values": ["1"]}]}, "does not exist"),
        ({"filters": [{"filter_id": "current-country-of-residence", "selected_values": ["US"]}]}, "not valid choices"),
        ({"project": "0" * 24}, "no such project"),
    ],
)
def test_drafts_that_are_refused(prolific: StandIn, api: Api, change: dict[str, Any], words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        api.draft(**change)
    assert prolific.market.studies == {}
    study = api.draft()
    assert words in str(api.detail("PATCH", f"studies/{study}/", change)), "and a change to the same"


def test_what_is_missing_is_named(api: Api) -> None:
    wrong = api.detail("POST", "studies/", {"name": "Talk"})
    assert set(wrong) == {
        "description", "external_study_url", "prolific_id_option", "total_available_places",
        "estimated_completion_time", "reward", "completion_codes",
    }  # fmt: skip


@pytest.mark.parametrize("grow", [True, False])
@pytest.mark.parametrize("seen", [True, False])
def test_screened_out_with_pay(prolific: StandIn, api: Api, grow: bool, seen: bool) -> None:
    """The place is free, the money paid; without slots the study pauses itself until there are more."""
    prolific.market.unknowns.screen_out_is_bonus = seen
    prolific.market.unknowns.slots_grow = grow
    study = api.live(completion_codes=[REVIEW, screen_out(1)])
    assert api.balance() == (10000, 10000 - 3 * 140 - 28)
    first, second = prolific.participant(), prolific.participant()
    first.take(study)
    second.take(study)
    assert api.act(first, "COMPLETE", completion_code="R-OUT")["status"] == "SCREENED OUT"
    told = api.study(study)
    assert (told["status"], told["places_taken"]) == ("PAUSED", 1)
    assert [(c.kind, c.price.amount) for c in prolific.charges] == [("screen_out", 20)]
    prolific.clock.move(60)
    assert api("GET", f"submissions/{first.submission_id}/")["bonus_payments"] == ([20] if seen else [])
    api.act(second, "COMPLETE", 400, completion_code="R-OUT")
    api.move(study, "START", 400)
    more = {"completion_codes": [REVIEW, screen_out(2)]}
    api("PATCH", f"studies/{study}/", more, 200 if grow else 400)
    if grow:
        assert api.move(study, "START")["status"] == "ACTIVE"
        api.act(second, "COMPLETE", completion_code="R-OUT")
        fewer = {"completion_codes": [REVIEW, screen_out(1)]}
        assert "only be increased" in str(api.detail("PATCH", f"studies/{study}/", fewer))
        changed = {"completion_codes": [{**REVIEW, "code": "C-NEW"}, screen_out(9)]}
        assert "cannot be changed" in str(api.detail("PATCH", f"studies/{study}/", changed))


def test_paid_in_part(prolific: StandIn, api: Api) -> None:
    partly = {**OURS, "code": "R-PART", "actions": [{"action": "DYNAMIC_PAYMENT"}]}
    _, someone = api.inside(completion_codes=[REVIEW, partly])
    api.act(someone, "COMPLETE", 400, completion_code="R-PART")
    share = {"percentage_of_reward": 40, "message_to_participant": "Thanks"}
    told = api.act(someone, "COMPLETE", completion_code="R-PART", completion_code_data=share)
    assert (told["status"], someone.earned) == ("PARTIALLY APPROVED", 40)


def test_a_storm(prolific: StandIn, api: Api) -> None:
    """Many at once: never more people than places, and every penny that left the workspace is somebody's."""
    prolific.workspace.total = 1000_00
    study = api.live(total_available_places=40)
    refused: list[str] = []

    def take_part(number: int) -> None:
        someone = prolific.participant()
        try:
            someone.take(study)
        except NotAllowed:
            refused.append(someone.id)
            return
        if number % 4:
            someone.hand_in("C-DONE")
            Api(prolific).act(someone, "APPROVE")
        else:
            someone.give_back()

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(take_part, range(80)))
    told = api.study(study)
    approved = len(prolific.market.submissions("APPROVED"))
    assert told["places_taken"] == approved <= 40
    assert approved + len(prolific.market.submissions("RETURNED")) + len(refused) == 80
    assert [charge.balance for charge in prolific.charges] == [100_000 - 140 * n for n in range(1, approved + 1)]
    assert api.balance() == (100_000 - 140 * approved, 100_000 - 140 * 40)


def test_dollars(api: Api) -> None:
    """A workspace of another currency, without fee: every figure is in its cents."""
    with StandIn(currency="USD", balance=2_00, fee=0, vat=0) as dollars:
        there = Api(dollars)
        study = there.live(total_available_places=2)
        assert there.study(study)["currency_code"] == "USD"
        assert there.study(study)["total_cost"] == 200
        assert (
            there("GET", "reward-recommendations/", workspace_id=dollars.workspace.id)[0]["min_reward_per_hour"] == 800
        )
