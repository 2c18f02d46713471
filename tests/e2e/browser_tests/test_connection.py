"""The line breaks in the middle of the work: the page says so, comes back by itself, and nothing is lost or doubled."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from .line import Line
from .rater import Rater
from .study import Study
from .watch import LINE_TROUBLE

pytestmark = pytest.mark.browser

LOST = "Connection lost. Your work is safe; trying again…"


@pytest.fixture
def line(odd_study: Study) -> Iterator[Line]:
    with Line(odd_study.port) as line:
        yield line


@pytest.fixture
def caller(visit: Callable[..., Rater], line: Line) -> Rater:
    """A person at the other end of the line."""
    rater = visit(line.url)
    rater.watch.excuse(LINE_TROUBLE)
    return rater


def test_message_written_while_cut_off_arrives_once(caller: Rater, line: Line, odd_study: Study) -> None:
    """Lost line in words, sending in words, the way back without a hand, and one message, one choice, one submit."""
    page = caller.page
    caller.arrive("cut-off")
    caller.sees_task()
    first = caller.rate(1, "It is a friendly greeting.")
    expect(page.get_by_label("Write your next message")).to_be_visible()
    line.cut()
    expect(page.get_by_text(LOST)).to_be_visible()
    caller.say("I wrote this in a tunnel.")
    expect(page.get_by_role("button", name="Sending…")).to_be_visible()
    caller.picture("connection-lost")
    line.mend()
    second = caller.rate(2, "It answers my message.")
    expect(page.get_by_text(LOST)).to_have_count(0)
    expect(page.get_by_role("heading", name="One last thing")).to_be_visible()
    line.cut()
    caller.write("The line was bad.")
    caller.send("Finish")
    expect(page.get_by_text(LOST)).to_be_visible()
    line.mend()
    expect(page.get_by_text("Your work has been sent. You can close this page.")).to_be_visible()

    record = odd_study.finished_record_of("cut-off")
    assert record.status == "complete"
    assert record.refused_answers == 0
    assert [turn.human_text for turn in record.turns] == ["Hi!", "I wrote this in a tunnel."]
    assert [turn.selected for turn in record.turns] == [[first[0].candidate_id], [second[1].candidate_id]]
    assert [turn.reason for turn in record.turns] == ["It is a friendly greeting.", "It answers my message."]
    assert record.feedback == "The line was bad."


def test_answer_whose_confirmation_was_lost_counts_once(caller: Rater, line: Line, odd_study: Study) -> None:
    """The study heard the answer, the page did not hear so and sends it again: still one answer, and no refusal."""
    caller.arrive("unheard")
    caller.sees_task()
    cards = caller.cards()
    caller.choose(2)
    caller.write("It sounds nicer to me.")
    line.deafen()
    caller.send("Continue")
    expect(caller.page.get_by_role("button", name="Sending…")).to_be_visible()
    caller.page.wait_for_timeout(500)  # time for the answer to arrive
    assert len(odd_study.record_of("unheard").complete_turns) == 1
    line.cut()
    line.mend()
    expect(caller.page.get_by_label("Write your next message")).to_be_visible()
    expect(caller.page.get_by_role("alert")).to_have_count(0)
    record = odd_study.record_of("unheard")
    assert [turn.selected for turn in record.turns] == [[cards[1].candidate_id]]
    assert record.refused_answers == 0


def test_work_is_handed_in_after_the_line_was_cut(caller: Rater, line: Line, odd_study: Study) -> None:
    """The submit itself is repeated until it arrives, and the page says that it does so."""
    page = caller.page
    caller.arrive("late-submit")
    caller.sees_task()
    caller.rate(1, "It is a friendly greeting.")
    caller.say("Nothing special.")
    caller.rate(1, "It answers my message.")
    expect(page.get_by_role("heading", name="One last thing")).to_be_visible()
    page.route("**/submit_task", lambda route: route.abort("connectionfailed"))
    caller.send("Finish")
    expect(page.get_by_text("Your work could not be sent yet.")).to_be_visible()
    caller.picture("submit-retried")
    page.unroute("**/submit_task")
    expect(page.get_by_text("Your work has been sent. You can close this page.")).to_be_visible()
    assert odd_study.finished_record_of("late-submit").status == "complete"


def test_lost_line_at_arrival_is_waited_for(caller: Rater, line: Line) -> None:
    """A task that is opened while the study restarts begins by itself once it is there."""
    caller.page.route("**/request_agent", lambda route: route.abort("connectionrefused"))
    caller.arrive("early")
    expect(caller.page.get_by_text("Asking for a conversation…")).to_be_visible()
    caller.page.unroute("**/request_agent")
    caller.sees_task()
    caller.cards()
