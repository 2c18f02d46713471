"""Somebody speaks to the study from inside the page: what does not fit is refused in words, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from .rater import Rater
from .study import Study

pytestmark = pytest.mark.browser

# Keeps the page's own sockets and what names its agent, so that a forged packet comes from where true ones do.
KEEP_SOCKETS = """
(() => {
  const Original = window.WebSocket;
  window.WebSocket = class extends Original {
    constructor(...rest) { super(...rest); window.forger = { socket: this, alive: null }; }
    send(text) {
      const packet = JSON.parse(text);
      if (packet.packet_type === 'alive') window.forger.alive = packet;
      super.send(text);
    }
  };
})();
"""
FORGE = """
(data) => window.forger.socket.send(JSON.stringify({
  packet_type: 'mephisto_bound_live_update', subject_id: window.forger.alive.subject_id, data,
}))
"""

# As the page itself would hand something in.
POST = """
async ([route, extra]) => {
  const alive = window.forger.alive;
  const body = {USED_AGENT_ID: alive.subject_id, agent_token: alive.data.agent_token, client_timestamp: 1, ...extra};
  if (extra.provider_data) {
    body.provider_data = {...getAgentRegistration(), USED_AGENT_ID: alive.subject_id, ...extra.provider_data};
    delete body.USED_AGENT_ID;
  }
  const answer = await fetch('./' + route, {
    method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body),
  });
  return answer.json();
}
"""


@pytest.fixture
def forger(visit: Callable[..., Rater], odd_study: Study) -> Rater:
    rater = visit(odd_study.url)
    rater.page.add_init_script(KEEP_SOCKETS)
    return rater


def _forge(rater: Rater, update_id: str, **answer: Any) -> None:
    rater.page.evaluate(FORGE, {"update_id": update_id, **answer})


def _refused(rater: Rater, words: str) -> None:
    expect(rater.page.get_by_role("alert").filter(has_text=words)).to_be_visible()


def test_forged_choices_change_nothing(forger: Rater, odd_study: Study) -> None:
    """Unknown candidate, no reason, two candidates, another kind, nonsense, second pick: each refused and said so."""
    forger.arrive("forger")
    forger.sees_task()
    cards = forger.cards()
    mine, other = cards[0].candidate_id, cards[1].candidate_id
    forger.choose(1)
    forger.write("It is half wri")
    pick = {"kind": "choose", "step_id": "choose-1", "reason": "It is a forged reason."}
    forged: list[tuple[dict[str, Any], str]] = [
        ({**pick, "selected": ["f" * 32]}, "You were not shown that reply"),
        ({**pick, "selected": [other], "reason": " "}, "Please give your reason in at least 3 words."),
        ({**pick, "selected": [other], "reason": "… !!! ?"}, "Please give your reason in at least 3 words."),
        ({**pick, "selected": [other, mine]}, "Please choose one reply."),
        ({**pick, "selected": []}, "Please choose one reply."),
        ({**pick, "step_id": "choose-2", "selected": [other]}, "Nothing has changed."),
        ({"kind": "message", "step_id": "choose-1", "text": "Hi"}, "different kind of answer"),
        ({"kind": "win", "step_id": "choose-1"}, "could not be read"),
    ]
    for number, (answer, words) in enumerate(forged, start=1):
        _forge(forger, f"forged-{number}", **answer)
        _refused(forger, words)
        forger.picture(f"forged-{number}")
        # Same step, same cards, same draft.
        forger.progress("Turn 1 of 2")
        assert forger.page.get_by_role("radio").first.get_attribute("value") == mine
        expect(forger.page.get_by_role("radio").first).to_be_checked()
        expect(forger.page.get_by_role("textbox")).to_have_value("It is half wri")
        assert len(odd_study.record_of("forger").complete_turns) == 0
    forger.write("tten.")
    forger.send("Continue")
    expect(forger.page.get_by_label("Write your next message")).to_be_visible()

    _forge(forger, "second-pick", **pick, selected=[other])
    _refused(forger, "belongs to an earlier step, which is already finished. Nothing has changed.")
    expect(forger.page.get_by_label("Write your next message")).to_be_visible()
    record = odd_study.record_of("forger")
    assert [turn.selected for turn in record.turns] == [[mine]]
    assert record.turns[0].reason == "It is half written."
    assert record.refused_answers == len(forged) + 1

    forger.say("I go on honestly.")
    forger.rate(2, "It is the better one.")
    forger.finish()
    record = odd_study.finished_record_of("forger")
    assert record.status == "complete"
    assert [turn.human_text for turn in record.turns] == ["Hi!", "I go on honestly."]


def test_unit_handed_in_early_goes_on(forger: Rater, odd_study: Study) -> None:
    """A page that submits after one turn reads that this cannot be, and the dialogue goes on to its true end."""
    forger.arrive("hasty")
    forger.sees_task()
    forger.rate(1, "It is a friendly greeting.")
    expect(forger.page.get_by_label("Write your next message")).to_be_visible()
    forger.page.evaluate(POST, ["submit_task", {"final_data": {"win": True}}])
    _refused(forger, "This task is not finished yet, so it cannot be submitted. Please continue below.")
    forger.picture("handed-in-early")
    assert odd_study.record_of("hasty").status == "running"
    forger.say("I was too quick.")
    forger.rate(2, "It is the better one.")
    forger.finish()
    record = odd_study.finished_record_of("hasty")
    assert record.status == "complete"
    assert [turn.human_text for turn in record.turns] == ["Hi!", "I was too quick."]


def test_practice_handed_in_early_opens_nothing(visit: Callable[..., Rater], embedded_study: Study) -> None:
    """A page that says of itself that it passed the practice gets no conversation."""
    rater = visit(embedded_study.url)
    rater.page.add_init_script(KEEP_SOCKETS)
    rater.watch.excuse("the server responded with a status of 4")
    rater.arrive("self-made")
    rater.sees_task()
    rater.cards()
    extra = {"provider_data": {"onboarding_data": {"success": True, "passed": True}}}
    answer = rater.page.evaluate(POST, ["submit_onboarding", extra])
    assert answer["data"]["failure_reason"]
    assert answer["data"]["agent_id"] is None
    assert embedded_study.records_of("self-made") == []


def test_nobody_speaks_for_another_worker(forger: Rater, odd_study: Study) -> None:
    """A second socket that names the agent but not its token is shut; the true page goes on undisturbed."""
    forger.arrive("owner")
    forger.sees_task()
    forger.cards()
    said = forger.page.evaluate(
        """() => new Promise((resolve) => {
             const agent = window.forger.alive.subject_id;
             const own = window.forger;
             const thief = new WebSocket('ws://' + location.host + '/');
             window.forger = own;
             const heard = [];
             thief.onopen = () => {
               const say = (packet_type, data) => thief.send(JSON.stringify({packet_type, subject_id: agent, data}));
               say('alive', {agent_token: 'x'.repeat(43), last_seq: 0});
             };
             thief.onmessage = (event) => heard.push(JSON.parse(event.data));
             thief.onclose = () => resolve(heard);
           })"""
    )
    assert [packet["packet_type"] for packet in said] == ["error"]
    assert said[0]["data"]["fatal"] is True
    forger.rate(1, "It is a friendly greeting.")
    expect(forger.page.get_by_label("Write your next message")).to_be_visible()
    assert odd_study.record_of("owner").refused_answers == 0
