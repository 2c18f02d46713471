"""The life of a study on MTurk, told on a stand-in for it: real boto3, real commands as processes, a worker in a browser."""

from __future__ import annotations

import signal
from decimal import Decimal
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from servers.mturk import CUT_AFTER, CUT_BEFORE, KEY, SECRET, SERVICE_FAULT, THROTTLED, Assignment, StandIn, Worker
from servers.mturk.turker import page_of, take_hit, work

from mephisto_tasks.simulation.raters import Behaviour
from mephisto_tasks.storage.results import read_dialogues

from .conftest import open_context
from .rater import is_good
from .techniques import practice_of
from .turking import REQUESTER, Lab, Turker, eventually, finished

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TASK = "which-bot"
DIALOGUES = 3
ALLOWED_S = 1800
STUDY = (
    "mephisto.blueprint.models=[eliza,retrieval,dull]",
    "mephisto.blueprint.turns=2",
    "mephisto.blueprint.dialogues_per_group=1",
    "mephisto.architect.port=0",
    "mephisto.task.task_reward=0.50",
    "mephisto.blueprint.workers.locales=[US,GB]",
    "mephisto.blueprint.workers.min_approval_rate=95",
    f"mephisto.task.assignment_duration_in_seconds={ALLOWED_S}",
    f"mephisto.task.task_name={TASK}",
    f"mephisto.provider.requester_name={REQUESTER}",
)
REASON = "It asks me something back."


def test_a_study_in_the_sandbox(tmp_path: Path, chromium: Browser) -> None:
    """An account; HITs; people who do them, return them, are too slow; their pay; a crash; nothing left on the market."""
    with StandIn(sandbox=True) as mturk:
        lab = Lab(tmp_path, mturk)
        the_line_is_bad(mturk)
        register(lab)
        with lab.launched("pw_turn", "place=mturk_sandbox", *STUDY) as launch:
            eventually(lambda: len(mturk.crowd.hits()) == DIALOGUES, "a HIT for each dialogue")
            only_those_who_qualify_find_them(mturk)
            bob_at_first = talks_a_turn_and_returns(mturk, "ABOB")
            carl = is_too_slow(mturk, "ACARL")
            fiona = fails_the_practice(mturk, "AFIONA")
            ann = looks_accepts_and_finishes(chromium, mturk, "AANN")
            eventually(lambda: statuses(lab) == ["complete", "partial"], "the places of those who left are free again")
            bob = does_all_of_it(mturk, "ABOB")
            assert len(mturk.crowd.offered("ASOMEBODY")) == 1
            assert launch.end(signal.SIGINT) == 0, launch.said
        assert [each.status for each in (ann, bob)] == ["Submitted", "Submitted"]
        assert [each.status for each in (bob_at_first, carl, fiona)] == ["Returned", "Abandoned", "Returned"]
        assert statuses(lab) == ["complete", "complete", "partial"]
        assert nothing_is_on_the_market(mturk)

        everybody_is_paid_once(lab, [ann, bob])
        blocked_for_good(lab, "ACARL")

        with lab.launched("pw_turn", "place=mturk_sandbox", *STUDY) as crashed:
            eventually(lambda: len(mturk.crowd.offered("ASOMEBODY")) == 1, "a HIT for the dialogue that lacks")
            assert mturk.crowd.offered("ACARL") == mturk.crowd.offered("AFIONA") == []
            crashed.end(signal.SIGKILL)
        assert len(mturk.crowd.offered("ASOMEBODY")) == 1
        with lab.launched("pw_turn", "place=mturk_sandbox", *STUDY) as launch:
            assert "1 HIT(s) of an earlier launch, which did not end cleanly" in launch.said
            eventually(lambda: len(mturk.crowd.offered("ASOMEBODY")) == 1, "one HIT, and not that of the crash")
            assert launch.end(signal.SIGTERM) == 0, launch.said
        assert nothing_is_on_the_market(mturk)
        assert mturk.faults.left() == []


def test_real_money_is_one_word_more(tmp_path: Path) -> None:
    """``place=mturk``: the total is told first, and without a yes nothing is made; then all is as in the sandbox.

    One worker closes the browser before MTurk hears that they are done, and the next gets the HIT under the same ids: each
    is paid for their own work only.
    """
    with StandIn(sandbox=False, deposited="5.00") as mturk:
        lab = Lab(tmp_path, mturk)
        register(lab, "mturk")
        refused = lab.run("launch", "pw_turn", "place=mturk", *STUDY)
        assert refused.returncode == 1
        assert "$1.80" in refused.stdout + refused.stderr
        assert "--yes" in refused.stderr
        assert mturk.crowd.hits() == []
        with lab.launched("pw_turn", "place=mturk", *STUDY, "--yes") as launch:
            eventually(lambda: len(mturk.crowd.hits()) == DIALOGUES, "a HIT for each dialogue")
            assert lab.balance() == ("3.20", "1.80")
            ann = does_all_of_it(mturk, "AANN")
            gina = finishes_but_never_submits(mturk, "AGINA")
            hugo = does_all_of_it(mturk, "AHUGO")
            assert hugo.id == gina.id
            assert launch.ends_by_itself() == 0, launch.said
        assert statuses(lab) == ["complete"] * DIALOGUES
        assert nothing_is_on_the_market(mturk)
        assert lab.balance() == ("3.80", "1.20")
        practised = [
            call.params["WorkerId"] for call in mturk.journal.of("AssociateQualificationWithWorker", outcome="ok")
        ]
        assert practised == ["AANN", "AGINA", "AHUGO"], "MTurk is told once that somebody passed the practice"
        paid = lab.run("pay", "--task-name", TASK, "--send", "--yes")
        assert paid.returncode == 0, paid.stderr
        assert [each.status for each in (ann, gina, hugo)] == ["Approved", "Abandoned", "Approved"]
        assert (mturk.account.rewards, mturk.account.bonus_total) == (Decimal("1.00"), 0)
        assert "Still owed: $0.50" in paid.stdout
        assert lab.balance() == ("3.80", "0.00")


def the_line_is_bad(mturk: StandIn) -> None:
    """MTurk is asked too often, fails, and is cut off before and after it has done something: that must change nothing."""
    mturk.faults.next("GetAccountBalance", THROTTLED)
    mturk.faults.next("CreateHITType", CUT_AFTER)
    mturk.faults.next("CreateHITWithHITType", THROTTLED, CUT_AFTER, None, SERVICE_FAULT)
    mturk.faults.next("AssociateQualificationWithWorker", THROTTLED)
    mturk.faults.next("UpdateExpirationForHIT", CUT_AFTER)
    mturk.faults.next("ApproveAssignment", CUT_AFTER, None, CUT_BEFORE)
    mturk.faults.next("SendBonus", THROTTLED, CUT_AFTER)
    mturk.faults.next("CreateWorkerBlock", SERVICE_FAULT)


def register(lab: Lab, provider: str = "mturk_sandbox") -> None:
    """The account: the secret key is asked for, and is nowhere but in the file for it."""
    done = lab.run("requester", "add", REQUESTER, "--provider", provider, "--access-key-id", KEY, said=f"{SECRET}\n")
    assert done.returncode == 0, done.stderr
    assert SECRET not in done.stdout + done.stderr


def statuses(lab: Lab) -> list[str]:
    """Of all dialogues."""
    return sorted(record.status for record in read_dialogues(lab.data_dir, TASK))


def nothing_is_on_the_market(mturk: StandIn) -> bool:
    """Nobody finds a HIT, nor would if somebody gave one back."""
    handed_in = {assignment.hit.id for assignment in mturk.crowd.assignments("Submitted", "Approved", "Rejected")}
    return all(hit.expires <= mturk.clock.now() for hit in mturk.crowd.hits() if hit.id not in handed_in)


def only_those_who_qualify_find_them(mturk: StandIn) -> None:
    """MTurk keeps out whom the study does not want."""
    mturk.crowd.add_worker(Worker("AFAR", country="FR"))
    mturk.crowd.add_worker(Worker("APOOR", percent_approved=94))
    assert mturk.crowd.offered("AFAR") == mturk.crowd.offered("APOOR") == []


def everybody_is_paid_once(lab: Lab, done: list[Assignment]) -> None:
    """The reward for what is complete, a share as a bonus for what was left; again is nothing more, and the books agree."""
    account = lab.mturk.account
    for _ in range(2):
        paid = lab.run("pay", "--task-name", TASK, "--send", "--yes")
        assert paid.returncode == 0, paid.stderr
        assert [each.status for each in done] == ["Approved"] * len(done)
        assert (account.rewards, account.bonus_total) == (Decimal("1.00"), Decimal("0.25")), paid.stdout
    assert [bonus.worker for bonus in account.bonuses] == ["ABOB"]
    audit = lab.run("pay", "--task-name", TASK, "--audit")
    assert audit.returncode == 0, audit.stdout + audit.stderr


def blocked_for_good(lab: Lab, worker: str) -> None:
    """By MTurk itself."""
    block = (
        "workers",
        "block",
        "--worker-id",
        worker,
        "--reason",
        "Never does anything.",
        "--all-tasks",
        "--everywhere",
    )
    done = lab.run(*block)
    assert done.returncode == 0, done.stderr
    assert lab.mturk.account.blocks == {worker: "Never does anything."}


def talks_a_turn_and_returns(mturk: StandIn, worker: str) -> Assignment:
    """Somebody who rates one turn, and gives the HIT back."""
    assignment, outcome = finished(work(mturk, worker, knows_what_is_right(), leave_after=1))
    assert len(outcome.turns) == 1
    return mturk.crowd.give_back(assignment.id)


def is_too_slow(mturk: StandIn, worker: str) -> Assignment:
    """Somebody who looks at the task, and whose half hour is over before they begin."""
    assignment = take_hit(mturk, worker)

    async def look() -> None:
        async with page_of(mturk, assignment) as page:
            await page.register()
            await page.next_state()

    finished(look())
    assignment.accepted -= ALLOWED_S + 1
    mturk.crowd.pass_time()
    return assignment


def fails_the_practice(mturk: StandIn, worker: str) -> Assignment:
    """Somebody who gets all of it wrong, twice: MTurk keeps it in a qualification, and shows them no such HIT again."""
    right = practice_of("pw_turn", "preference", "preference")
    wrong = [item.model_copy(update={"right": [3 - n for n in item.right]}) for item in right.items]
    assignment, outcome = finished(work(mturk, worker, Behaviour(practice=right.model_copy(update={"items": wrong}))))
    assert not outcome.finished
    eventually(lambda: mturk.crowd.offered(worker) == [], "no more HITs for who failed")
    assert mturk.crowd.offered("ASOMEBODY") != []
    return mturk.crowd.give_back(assignment.id)


def does_all_of_it(mturk: StandIn, worker: str) -> Assignment:
    """Somebody who finishes, without a browser."""
    assignment, outcome = finished(work(mturk, worker, knows_what_is_right()))
    assert outcome.finished, outcome
    return assignment


def finishes_but_never_submits(mturk: StandIn, worker: str) -> Assignment:
    """Somebody whose browser is closed when all is done with us, and before it is submitted to MTurk."""
    assignment, outcome = finished(work(mturk, worker, knows_what_is_right(), submit=False))
    assert outcome.finished, outcome
    assignment.accepted -= ALLOWED_S + 1
    mturk.crowd.pass_time()
    return assignment


def knows_what_is_right() -> Behaviour:
    return Behaviour(practice=practice_of("pw_turn", "preference", "preference"))


def looks_accepts_and_finishes(chromium: Browser, mturk: StandIn, worker: str) -> Assignment:
    """Preview, accept, practice, two turns, submit: by a person, in MTurk's frame."""
    with Turker(open_context(chromium), mturk, worker) as turker:
        preview = turker.preview()
        expect(preview.get_by_text("You must accept the HIT before you can start")).to_be_visible()
        assert mturk.crowd.assignments("InProgress") == []
        rater = turker.accept()
        rater.sees_task()
        rater.practise(is_good)
        rater.progress("Turn 1 of 2")
        rater = turker.reload()
        rater.progress("Turn 1 of 2")
        rater.rate(1, REASON)
        rater.say("I mend old bicycles.")
        rater.rate(2, REASON)
        expect(rater.screen.get_by_role("heading", name="One last thing")).to_be_visible()
        rater.send("Finish")
        expect(rater.screen.get_by_role("heading", name="Your work was submitted")).to_be_visible()
    (done,) = mturk.crowd.assignments("Submitted")
    return done
