"""Places and submissions at the stand-in of Prolific: taken, given back, reviewed, and what each code does."""

from __future__ import annotations

import pytest

from servers.prolific import (
    NotAllowed,
    StandIn,
)

from .hands import DAY_S, OURS, REVIEW, Api, screen_out


def test_places_only_grow(prolific: StandIn, api: Api) -> None:
    """And more of them bring a study back that was full or stopped."""
    study = api.live(total_available_places=1)
    assert "only be increased" in str(api.detail("PATCH", f"studies/{study}/", {"total_available_places": 0}))
    assert "cannot be changed" in str(api.detail("PATCH", f"studies/{study}/", {"reward": 200}))
    prolific.participant().take(study)
    assert api.study(study)["status"] == "AWAITING REVIEW"
    assert api("PATCH", f"studies/{study}/", {"total_available_places": 2})["status"] == "ACTIVE"
    api.move(study, "STOP")
    assert api("PATCH", f"studies/{study}/", {"total_available_places": 3})["status"] == "ACTIVE"
    assert api("PATCH", f"studies/{study}/", {"total_available_places": 3})["total_available_places"] == 3
    assert api.balance() == (10000, 10000 - 3 * 140)
    api.detail("DELETE", f"studies/{study}/")
    draft = api.draft()
    api("DELETE", f"studies/{draft}/", status=204)
    api("GET", f"studies/{draft}/", status=404)


@pytest.mark.parametrize("refuses", [True, False])
def test_the_table_of_transitions(prolific: StandIn, api: Api, refuses: bool) -> None:
    prolific.market.unknowns.refuses_wrong_transition = refuses
    study = api.draft()
    wrong = 400 if refuses else 200
    for action in ("PAUSE", "START", "STOP", "CANCEL_PUBLISH"):
        api.move(study, action, wrong)
    api("POST", f"studies/{study}/transition/", {"action": "SCHEDULE_PUBLISH", "publish_at": "2030-01-01T00:00:00Z"})
    assert api.study(study)["status"] == "SCHEDULED"
    assert api.move(study, "CANCEL_PUBLISH")["status"] == "UNPUBLISHED"
    api.move(study, "PUBLISH")
    prolific.clock.move(1)
    for action, status in (("PAUSE", "PAUSED"), ("START", "ACTIVE"), ("PAUSE", "PAUSED"), ("STOP", "COMPLETED")):
        assert api.move(study, action)["status"] == status
        api.move(study, "PUBLISH", wrong)
    api.move(study, "STOP", wrong)
    api.move(study, "EXPIRE", 400)


def test_returned_lapsed_and_timed_out(prolific: StandIn, api: Api) -> None:
    """Each frees its place; a reservation that lapses leaves no trace; who is late cannot hand in."""
    study = api.live(total_available_places=3, maximum_allowed_time=20)
    returns, lapses, late = (prolific.participant() for _ in range(3))
    returns.take(study)
    returns.give_back()
    lapses.reserve(study)
    late.take(study)
    assert api.study(study)["places_taken"] == 2
    prolific.clock.move(10 * 60 + 1)
    assert lapses.status is None
    prolific.clock.move(10 * 60)
    assert (returns.status, late.status) == ("RETURNED", "TIMED-OUT")
    with pytest.raises(NotAllowed):
        late.hand_in("C-DONE")
    told = api.study(study)
    assert (told["status"], told["places_taken"], told["number_of_submissions"]) == ("ACTIVE", 0, 2)
    assert lapses.studies() == [study], "who did not begin may come again"
    assert returns.studies() == []
    lapses.take(study)
    lapses.hand_in("C-DONE")
    lapses.give_back()
    assert lapses.status == "RETURNED", "as long as nobody has reviewed it"


@pytest.mark.parametrize("reopens", [True, False])
def test_a_place_given_back_in_a_full_house(prolific: StandIn, api: Api, reopens: bool) -> None:
    prolific.market.unknowns.reopens = reopens
    study, someone = api.inside(total_available_places=1)
    someone.give_back()
    assert api.study(study)["status"] == ("ACTIVE" if reopens else "COMPLETED")


@pytest.mark.parametrize("counts", [True, False])
def test_whether_reserved_places_are_taken(prolific: StandIn, api: Api, counts: bool) -> None:
    prolific.market.unknowns.reserved_is_taken = counts
    study = api.live()
    prolific.participant().reserve(study)
    assert api.study(study)["places_taken"] == int(counts)


@pytest.mark.parametrize("frees", [True, False])
def test_rejecting(prolific: StandIn, api: Api, frees: bool) -> None:
    prolific.market.unknowns.rejected_frees_place = frees
    study, someone = api.inside(total_available_places=1)
    why = {"rejection_category": "LOW_EFFORT", "message": "x" * 99}
    api.act(someone, "REJECT", 400, **why)
    someone.hand_in("C-DONE")
    api.act(someone, "REJECT", 400, **why)
    api.act(someone, "REJECT", 400, **{**why, "rejection_category": "BORED"}, completion_code="x")
    assert api.act(someone, "REJECT", **{**why, "message": "x" * 100})["status"] == "REJECTED"
    api.act(someone, "APPROVE", 400)
    assert api.study(study)["status"] == ("ACTIVE" if frees else "COMPLETED")
    assert prolific.charges == []


@pytest.mark.parametrize("allowed", [True, False])
def test_approving_what_was_given_back(prolific: StandIn, api: Api, allowed: bool) -> None:
    """Where it is possible, it takes a place again, or one more."""
    prolific.market.unknowns.approves_returned = allowed
    study = api.live(total_available_places=1, maximum_allowed_time=20)
    gone, other = prolific.participant(), prolific.participant()
    gone.take(study)
    gone.give_back()
    other.take(study)
    api.act(gone, "APPROVE", 200 if allowed else 400)
    assert gone.earned == (100 if allowed else 0)
    assert api.study(study)["total_available_places"] == (2 if allowed else 1)
    api("POST", "submissions/bulk-approve/", {"study_id": study, "participant_ids": [gone.id, other.id]})
    prolific.clock.move(1)
    assert other.status == "ACTIVE", "what cannot be approved is passed over without a word"
    api.act(other, "APPROVE", 400)


def test_nobody_reviews(prolific: StandIn, api: Api) -> None:
    _, someone = api.inside()
    someone.hand_in("not the code")
    assert api("GET", f"submissions/{someone.submission_id}/")["entered_code"] == "not the code"
    prolific.clock.move(21 * DAY_S - 60)
    assert someone.status == "AWAITING REVIEW"
    prolific.clock.move(120)
    assert (someone.status, someone.earned) == ("APPROVED", 100)


def test_codes_act(prolific: StandIn, api: Api) -> None:
    """Approved at once unless too fast; put into a group; asked to return; no code; another's code."""
    group = api("POST", "participant-groups/", {"workspace_id": prolific.workspace.id, "name": "done"}, 201)["id"]
    quick = {"code": "C-AUTO", "code_type": "COMPLETED", "actions": [{"action": "AUTOMATICALLY_APPROVE"}]}
    joins = {
        "code": "C-JOIN", "code_type": "SCREENED_IN",
        "actions": [{"action": "ADD_TO_PARTICIPANT_GROUP", "participant_group": group}],
    }  # fmt: skip
    leaves = {
        "code": "C-OUT", "code_type": "NO_CONSENT", "actions": [{"action": "REQUEST_RETURN", "return_reason": "no"}]
    }  # fmt: skip
    study = api.live(total_available_places=9, completion_codes=[quick, joins, leaves, OURS])
    fast, slow, joining, leaving, silent = (prolific.participant() for _ in range(5))
    for person in (fast, slow, joining, leaving, silent):
        person.take(study)
    fast.hand_in("C-AUTO")
    joining.hand_in("C-JOIN")
    leaving.hand_in("C-OUT")
    silent.hand_in(None)
    prolific.clock.move(150)
    slow.hand_in("C-AUTO")
    assert (fast.status, slow.status) == ("AWAITING REVIEW", "APPROVED")
    members = api("GET", f"participant-groups/{group}/participants/")["results"]
    assert [member["participant_id"] for member in members] == [joining.id]
    assert api("GET", f"submissions/{leaving.submission_id}/")["return_requested"]
    assert silent.status == "AWAITING REVIEW"
    assert api("GET", f"submissions/{silent.submission_id}/")["entered_code"] is None
    with pytest.raises(NotAllowed):
        fast.hand_in("C-AUTO")


@pytest.mark.parametrize("possible", [True, False])
def test_the_researcher_completes(prolific: StandIn, api: Api, possible: bool) -> None:
    """With a researcher's code, which participants cannot use; reserved and timed-out ones as the switches say."""
    prolific.market.unknowns.completes_reserved = possible
    prolific.market.unknowns.completes_timed_out = possible
    study = api.live(total_available_places=3, maximum_allowed_time=20)
    inside, reserved, late, cheat = (prolific.participant() for _ in range(4))
    late.take(study)
    prolific.clock.move(20 * 60 + 1)
    inside.take(study)
    reserved.reserve(study)
    cheat.take(study)
    cheat.hand_in("R-DONE")
    assert cheat.status == "AWAITING REVIEW", "with a code that is none for participants"
    api.act(inside, "COMPLETE", 400, completion_code="C-DONE")
    for _ in range(2):
        assert api.act(inside, "COMPLETE", completion_code="R-DONE")["entered_code"] == "R-DONE"
    api.act(reserved, "COMPLETE", 200 if possible else 400, completion_code="R-DONE")
    api.act(late, "COMPLETE", 200 if possible else 400, completion_code="R-DONE")
    assert late.status == ("AWAITING REVIEW" if possible else "TIMED-OUT")
    assert api.study(study)["total_available_places"] == (4 if possible else 3), "a place more"


@pytest.mark.parametrize("strict", [True, False])
def test_figures_that_nobody_knows(prolific: StandIn, api: Api, strict: bool) -> None:
    """The shortest time for an estimate of 5 minutes is 16.47; the smallest screen-out; what test participants cost."""
    prolific.market.unknowns.shortest_time_rounds_up = strict
    prolific.market.unknowns.has_smallest_screen_out = strict
    prolific.market.unknowns.test_study_costs = strict
    study, wanted = api.draft(), 400 if strict else 200
    api("PATCH", f"studies/{study}/", {"maximum_allowed_time": 16}, wanted)
    api("PATCH", f"studies/{study}/", {"completion_codes": [REVIEW, screen_out(1, 9)]}, wanted)
    someone = prolific.participant(test=True)
    copy = api("POST", f"studies/{study}/test-study")["study_id"]
    prolific.clock.move(1)
    someone.take(copy)
    someone.hand_in("C-DONE")
    api.act(someone, "APPROVE")
    assert someone.earned == (100 if strict else 0)


@pytest.mark.parametrize("possible", [True, False])
def test_editing_a_published_study(prolific: StandIn, api: Api, possible: bool) -> None:
    prolific.market.unknowns.edits_published = possible
    prolific.market.unknowns.holds_screen_outs = possible
    study = api.live(completion_codes=[REVIEW, screen_out(1)])
    api("PATCH", f"studies/{study}/", {"description": "Another"}, 200 if possible else 400)
    assert api.balance()[1] == 10000 - 3 * 140 - (28 if possible else 0)
