"""Whatever happens at the desk, and in whichever order: nothing is lost or doubled, and nobody idles."""

from __future__ import annotations

import threading
from functools import partial

from at_desk import eventually, heard
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from parlai_humaneval.models.backends.base import Heard
from parlai_humaneval.models.backends.human import Desk, Withdrawn, errand_id_of


class DeskRules(RuleBasedStateMachine):
    """Whoever comes, asks, answers and goes: the desk stays in order. No time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk()
        self.here: set[str] = set()
        self.turn = 0
        self.threads: list[threading.Thread] = []
        self.waiting: dict[str, Heard] = {}
        self.said: dict[str, str] = {}

    partners = st.sampled_from(["p1", "p2", "p3"])
    seeds = st.integers(1, 4)

    @rule(partner=partners)
    def come(self, partner: str) -> None:
        self.desk.sit_down(partner)
        self.here.add(partner)

    @rule(partner=partners)
    def go(self, partner: str) -> None:
        self.desk.stand_up(partner)
        self.here.discard(partner)

    @rule(seed=seeds)
    def ask(self, seed: int) -> None:
        if any(request.seed == seed for request in self.waiting.values()):
            return  # a rater writes again only when they were answered
        self.turn += 1
        what = heard(seed, f"turn {self.turn}")
        self.waiting[errand_id_of(what)] = what
        before = self._errands()
        thread = threading.Thread(target=self._ask, args=[what], daemon=True)
        thread.start()
        self.threads.append(thread)
        eventually(lambda: self._errands() > before)

    def _ask(self, what: Heard) -> None:
        try:
            self.said[errand_id_of(what)] = self.desk.ask(what, patience_s=30)
        except Withdrawn:
            self.said[errand_id_of(what)] = "withdrawn"

    @precondition(lambda self: self.waiting)
    @rule(partner=partners)
    def answer(self, partner: str) -> None:
        errand = self.desk.in_hand(partner)
        if errand is None:
            return
        assert self.desk.answer(partner, errand.errand_id, f"{partner}: {errand.errand_id}")
        del self.waiting[errand.errand_id]
        eventually(lambda: self.said.get(errand.errand_id) == f"{partner}: {errand.errand_id}")
        assert errand.conversation in self.desk.conversations(partner)

    @rule(seed=seeds, away=st.booleans())
    def hold(self, seed: int, away: bool) -> None:
        self.desk.hold(seed, away)

    @rule(seed=seeds)
    def leave(self, seed: int) -> None:
        self.desk.leave(seed)
        for errand_id in [key for key, request in self.waiting.items() if request.seed == seed]:
            del self.waiting[errand_id]
            eventually(partial(self._is_withdrawn, errand_id))

    def _is_withdrawn(self, errand_id: str) -> bool:
        return self.said.get(errand_id) == "withdrawn"

    def _errands(self) -> int:
        return self.desk.waiting() + sum(self.desk.in_hand(partner) is not None for partner in self.here)

    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        """Every request is with one partner who is here, or waits."""
        assert self._errands() == len(self.waiting)
        assert self.desk.partners() == len(self.here)

    @invariant()
    def nobody_idles_beside_a_message_of_nobody(self) -> None:
        """A message waits only where all are busy, or for its own partner."""
        free = {partner for partner in self.here if self.desk.in_hand(partner) is None}
        held = {errand.heard for partner in self.here if (errand := self.desk.in_hand(partner))}
        owned = {seed for partner in self.here for seed in self.desk.conversations(partner)}
        for request in set(self.waiting.values()) - held:
            assert not free or request.seed in owned

    @invariant()
    def a_conversation_has_one_partner(self) -> None:
        owned = [seed for partner in ("p1", "p2", "p3") for seed in self.desk.conversations(partner)]
        assert len(owned) == len(set(owned))

    def teardown(self) -> None:
        self.desk.close()
        for thread in self.threads:
            thread.join(5)


DeskRules.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestDesk = DeskRules.TestCase
