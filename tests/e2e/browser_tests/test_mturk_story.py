"""The life of a study on MTurk, told on a stand-in for it: real boto3, real commands as processes, workers in a browser."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from servers.mturk import KEY, SECRET, Assignment, StandIn
from servers.mturk.turker import page_of, take_hit

from .conftest import open_context
from .rater import is_good
from .turking import REQUESTER, Lab, Turker, eventually, finished
from .watch import Watch

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TASK = "which-bot"
STUDY = (
    "mephisto.blueprint.models=[eliza,retrieval]",
    "mephisto.blueprint.turns=2",
    "mephisto.blueprint.dialogues_per_group=4",
    "mephisto.architect.port=0",
    "mephisto.task.task_reward=0.50",
    "mephisto.task.assignment_duration_in_seconds=1800",
    f"mephisto.task.task_name={TASK}",
    f"mephisto.provider.requester_name={REQUESTER}",
)
REASON = "It asks me something back."


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """A researcher's machine, with MTurk's sandbox."""
    with StandIn(sandbox=True) as mturk:
        yield Lab(tmp_path, mturk)


def test_a_study_in_the_sandbox(lab: Lab, chromium: Browser) -> None:
    """From an account to an end: HITs, people who do them, return them, are too slow; nothing is left on the market."""
    mturk = lab.mturk
    register(lab)
    launch = lab.launch("pw_turn", "place=mturk_sandbox", *STUDY).wait_until_up()
    try:
        eventually(lambda: len(mturk.crowd.hits()) == 4, "four HITs, as many as dialogues")
        bob = talks_and_returns(mturk, "ABOB")
        carl = is_too_slow(mturk, "ACARL")
        context = open_context(chromium)
        watch = Watch(context)
        ann = looks_accepts_and_finishes(Turker(context.new_page(), mturk, "AANN", watch), mturk)
        assert watch.problems() == []
        context.close()
        assert launch.end(signal.SIGINT) == 0, launch.said
    finally:
        launch.kill()
    assert (ann.status, bob.status, carl.status) == ("Submitted", "Returned", "Abandoned")
    assert nothing_is_on_the_market(mturk)


def register(lab: Lab) -> None:
    """The account: the secret key is asked for, and is nowhere but in the file for it."""
    done = lab.run(
        "requester", "add", REQUESTER, "--provider", "mturk_sandbox", "--access-key-id", KEY, said=f"{SECRET}\n"
    )
    assert done.returncode == 0, done.stderr
    assert SECRET not in done.stdout + done.stderr


def talks_and_returns(mturk: StandIn, worker: str) -> Assignment:
    """Somebody who says one thing, and gives the HIT back."""
    assignment = take_hit(mturk, worker)

    async def look_in() -> None:
        async with page_of(mturk, assignment) as page:
            await page.register()
            await page.next_state()

    finished(look_in())
    mturk.crowd.give_back(assignment.id)
    return assignment


def is_too_slow(mturk: StandIn, worker: str) -> Assignment:
    """Somebody whose half hour is over before they are done."""
    assignment = take_hit(mturk, worker)
    mturk.clock.move(1801)
    mturk.crowd.pass_time()
    return assignment


def looks_accepts_and_finishes(turker: Turker, mturk: StandIn) -> Assignment:
    """Preview, accept, practice, two turns, submit: in MTurk's frame, seen by a person."""
    preview = turker.preview()
    expect(preview.get_by_text("You must accept the HIT before you can start")).to_be_visible()
    assert mturk.crowd.assignments("InProgress") == []
    rater = turker.accept()
    rater.close_instructions()
    rater.practise(is_good)
    rater.progress("Turn 1 of 2")
    rater.rate(1, REASON)
    rater.say("I mend old bicycles.")
    rater.rate(2, REASON)
    expect(rater.screen.get_by_role("heading", name="One last thing")).to_be_visible()
    rater.send("Finish without feedback")
    expect(rater.screen.get_by_role("heading", name="Your work was submitted")).to_be_visible()
    (done,) = mturk.crowd.assignments("Submitted")
    return done


def nothing_is_on_the_market(mturk: StandIn) -> bool:
    return mturk.crowd.offered("ASOMEBODYNEW") == []
