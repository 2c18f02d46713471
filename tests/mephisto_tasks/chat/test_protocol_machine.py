"""Random raters, honest and not, in any order that hypothesis can think of: a real launch, a real router, real pages.

One launch serves all examples of a technique; each example brings workers of its own.
"""

from __future__ import annotations

import json
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from judging_hands import chats, launch_study, says
from live import launch
from protocol_page import LONGEST_PACKET, WRONG, Loop, Page
from storm.facts import stored

from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.server.packets import MAX_SEQ
from mephisto_tasks.server.router import OTHER_WINDOW
from mephisto_tasks.simulation.page_client import PageClient
from mephisto_tasks.simulation.raters import Behaviour
from mephisto_tasks.storage.results import read_records
from parlai_humaneval.schema.pseudonyms import Pseudonymizer
from parlai_humaneval.schema.steps import EndStep

TECHNIQUES: dict[str, dict[str, Any]] = {
    "sata": {"setting": "sata_user", "turns": 2, "onboarding_qualification": "machine-practice"},
    "direct_assessment": {
        "models": ["eliza", "retrieval"],
        "turns": 2,
        "conversations_per_unit": 2,
        "quality_control_model": "",
    },
    "pw_dialog": {"items_per_unit": 2, "judgements_per_group": 90},
}
WANTED = 200
QUEUED_PER_PAGE = 60
"""Packets that may wait for one page: it confirms what it gets."""
SEQS = st.one_of(st.integers(0, 50), st.integers(0, MAX_SEQ), st.integers(-(2**70), 2**70))
STRANGE = st.sampled_from(
    [
        "",
        "not json",
        "[1, 2]",
        "null",
        '{"packet_type": "win"}',
        '{"packet_type": NaN}',
        "[" * 5000,
        '{"data": "\\ud800"}',
    ]
)


def short() -> settings:
    """A handful of examples in ``make test``, many in ``make explore``."""
    few = settings.get_current_profile_name() != "explore"
    return settings(
        max_examples=4 if few else 60,
        stateful_step_count=14 if few else 60,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate] if few else [Phase.reuse, Phase.generate, Phase.shrink],
        deadline=None,
    )


class Study:
    """A launch for all examples, and names that no example has had before."""

    def __init__(self, run: RunningStudy, loop: Loop) -> None:
        self.run = run
        self.loop = loop
        self.behaviour = Behaviour(practice=run.study.practice)
        self.workers = 0

    def page(self) -> Page:
        self.workers += 1
        return Page(self.loop, self.run.url, f"m{self.workers}", self.behaviour)


@pytest.fixture(scope="module", params=list(TECHNIQUES))
def study(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    technique, folder = request.param, tmp_path_factory.mktemp(request.param)
    with ExitStack() as stack:
        run = stack.enter_context(_launched(technique, folder))
        yield Study(run, stack.enter_context(Loop()))


def _launched(technique: str, folder: Path) -> Any:
    chosen = TECHNIQUES[technique]
    if technique == "pw_dialog":
        files = [chats(folder, name, says(f"{name} says so"), dialogues=90) for name in ("wordy", "terse")]
        return launch_study(folder / "data", technique, dialogues=files, **chosen)
    return launch(folder / "data", task=technique, dialogues_per_group=WANTED, disconnect_after_s=120, **chosen)


class Protocol(RuleBasedStateMachine):
    """Rules are what pages can send; whatever that is, every rule ends with the study as it must be."""

    pages: Bundle[Page] = Bundle("pages")

    def __init__(self, study: Study) -> None:
        super().__init__()
        self.study = study
        self.all: list[Page] = []

    @initialize()
    def somebody_is_at_work(self) -> None:
        """The bystander: an honest page, which nothing of all this may disturb."""
        self.bystander = self._arrives()

    def _arrives(self) -> Page:
        page = self.study.page()
        assert page.closed is None, page.closed
        self.all.append(page)
        return page

    @rule(target=pages)
    def arrives(self) -> Page:
        return self._arrives()

    @rule(page=pages, steps=st.integers(1, 9))
    def goes_on(self, page: Page, steps: int) -> None:
        for _ in range(steps):
            page.go_on()

    @rule(page=pages, how=st.sampled_from(sorted(WRONG)))
    def answers_wrongly(self, page: Page, how: str) -> None:
        if self._asks(page):
            answer, _ = page.right_answer()
            assert len(page.refuses(WRONG[how](answer))) > 20

    @rule(page=pages)
    def repeats_an_answer(self, page: Page) -> None:
        """Sent again under its own id, it is dropped; under another one, it is too late."""
        if page.last is not None and self._asks(page) and page.state().step.kind != "topic":
            before = page.state()
            page.send(self._packet(page, page.last))
            again = {name: value for name, value in page.last.items() if name != "update_id"}
            if again["step_id"] != getattr(before.step, "step_id", None):
                assert page.refuses(again)
            assert page.state().step == before.step

    @rule(page=pages, text=STRANGE)
    def sends_no_packet(self, page: Page, text: str) -> None:
        if self._is_open(page):
            assert page.error_after(text)

    @rule(page=pages)
    def sends_too_much(self, page: Page) -> None:
        """The connection is closed with a sentence; loaded again, all is as it was."""
        if self._is_open(page):
            before = page.state()
            assert page.error_after(LONGEST_PACKET)
            page.register()
            assert page.state().step == before.step

    @rule(page=pages, seq=SEQS)
    def says_it_has_come_back(self, page: Page, seq: int) -> None:
        """With whatever it claims to have seen; after that it is loaded again, for it may have lied to its own harm."""
        if self._is_open(page):
            data = {"agent_token": page.client.agent_token, "last_seq": seq, "page_id": "p"}
            page.send({"packet_type": "alive", "subject_id": page.agent, "data": data})
            page.register()

    @rule(page=pages, seq=SEQS)
    def confirms_anything(self, page: Page, seq: int) -> None:
        if self._is_open(page):
            page.send({"packet_type": "ack", "subject_id": page.agent, "data": {"last_seq": seq}})
            page.register()

    @rule(page=pages)
    def loads_again(self, page: Page) -> None:
        if self._is_open(page):
            before = page.state()
            page.register()
            assert page.state().step == before.step

    @rule(page=pages)
    def opens_a_second_window(self, page: Page) -> None:
        """The newer one takes over, and the older one is told so."""
        if not self._is_open(page):
            return
        older, before = page.client, page.state()
        heard = len(older.errors)
        page.client = page.another()
        page.register()
        assert page.closed is None, page.closed
        assert page.state().step == before.step
        assert self.study.loop(older.next_error(after=heard)) == OTHER_WINDOW
        self.study.loop(older.__aexit__(None, None, None))

    @rule(page=pages)
    def hands_in_too_early(self, page: Page) -> None:
        if self._asks(page) and not page.practises:
            before = page.state()
            self.study.loop(page.client.submit_task())
            after = self.study.loop(page.client.next_state(after_version=before.version))
            assert after.notice is not None
            assert "not finished" in after.notice.text
            assert after.step == before.step
            page.refused += 1

    @rule(page=pages)
    def hands_in_twice(self, page: Page) -> None:
        if page.done:
            self.study.loop(page.client.submit_task())

    @rule(page=pages)
    def hands_a_practice_in_that_is_none(self, page: Page) -> None:
        """The task's agent is no practice: nothing ends, and nothing begins."""
        if self._asks(page) and not page.practises:
            before = page.state()
            assert page.refusal_of(PageClient.submit_onboarding)
            assert page.state().step == before.step

    @rule(page=pages)
    def practises_too_short(self, page: Page) -> None:
        """A practice that is handed in early is not passed."""
        if self._asks(page) and page.practises:
            self.study.loop(page.client.submit_onboarding())
            assert page.client.refused
            page.closed = page.client.refused

    @rule(page=pages, token=st.sampled_from(["", "x" * 43, None, 7]))
    def lies_about_its_token(self, page: Page, token: Any) -> None:
        """A heartbeat with another token closes the connection; loaded again, all is as it was."""
        if self._is_open(page):
            before = page.state()
            assert page.error_after(
                {"packet_type": "heartbeat", "subject_id": page.agent, "data": {"agent_token": token}}
            )
            page.register()
            assert page.state().step == before.step

    @rule(page=pages)
    def speaks_for_somebody_else(self, page: Page) -> None:
        """The bystander's agent, from this page's connection and with this page's token."""
        if self._is_open(page):
            answer, _ = self.bystander.right_answer() if self._asks(self.bystander) else ({"kind": "message"}, None)
            assert page.error_after(self._packet(self.bystander, answer))
            data = {"USED_AGENT_ID": self.bystander.agent, "agent_token": page.client.agent_token, "final_data": {}}
            assert page.refusal_of(lambda client: client._post("/submit_task", data))

    @rule(page=pages, size=st.integers(0, 5000))
    def reports_an_error(self, page: Page, size: int) -> None:
        """Anybody may; it is written down, cut, or left out."""
        if self._is_open(page):
            data = {"file": "x" * size, "\x1b]0;title\x07": "\x1b[2J"}
            page.send({"packet_type": "log_error", "subject_id": page.agent, "data": data})

    @invariant()
    def the_study_goes_on(self) -> None:
        assert self.study.run.study.broken is None

    def teardown(self) -> None:
        """Everybody finishes, as their page says; what is stored is what was taken, once, and of nobody else."""
        try:
            if sys.exc_info()[0] is None:  # else a rule has failed, and says more
                self._finish()
        finally:
            for page in self.all:
                page.close()

    def _finish(self) -> None:
        for page in self.all:
            for _ in range(80):
                page.go_on()
            assert page.done or page.closed, f"{page.worker} does not come to an end"
        self._memory_is_bounded()
        self._stored_once()

    def _memory_is_bounded(self) -> None:
        with urllib.request.urlopen(f"{self.study.run.url}/health", timeout=10) as answer:
            health = json.load(answer)
        assert health["queued"] <= QUEUED_PER_PAGE * len(self.all)
        assert health["agents"] <= 2 * self.study.workers

    def _stored_once(self) -> None:
        run = self.study.run
        names = Pseudonymizer.load_or_create(run.data_dir / "pseudonym.key")
        records = read_records(run.data_dir, run.task_name)
        for page in self.all:
            mine = [record for record in records if record.worker == names.worker(f"{page.worker}_sandbox")]
            assert Counter(stored(mine)) == Counter(page.taken), page.worker
            if page.done:
                assert {record.status for record in mine} == {"complete"}
        assert self.bystander.done
        own = [record for record in records if record.worker == names.worker(f"{self.bystander.worker}_sandbox")]
        assert sum(record.refused_answers for record in own) == 0

    def _is_open(self, page: Page) -> bool:
        return page.closed is None and not page.done

    def _asks(self, page: Page) -> bool:
        return self._is_open(page) and not isinstance(page.state().step, EndStep)

    @staticmethod
    def _packet(page: Page, answer: dict[str, Any]) -> dict[str, Any]:
        data = {"update_id": "forged", **answer}
        return {"packet_type": "mephisto_bound_live_update", "subject_id": page.agent, "data": data}


@pytest.mark.hypothesis
def test_nothing_that_a_page_can_send_harms_the_study(study: Study) -> None:
    """Nobody else is hurt, no answer is stored twice or lost, and whatever is refused is refused in words."""
    run_state_machine_as_test(lambda: Protocol(study), settings=short())
