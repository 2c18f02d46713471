"""How one turn is rated: choose among the replies, tick what is true of the reply, or just go on."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from mephisto_tasks.engine.page_session import PageSession
from mephisto_tasks.engine.rating import choose_step, tick_step
from mephisto_tasks.live.asking import write_step
from mephisto_tasks.live.config import InteractiveConfig
from mephisto_tasks.live.plans import Plan
from parlai_humaneval.models.speaker.bot_speaker import BotSpeakerAgent, standing_for
from parlai_humaneval.protocol.page.steps import Card, ChooseAnswer
from parlai_humaneval.protocol.records.dialogue import Candidate
from parlai_humaneval.protocol.records.events import Answered, NoneChosen


class TurnRating:
    """Asks about the candidates of a turn, writes the answer down, and has the conversation go on with it.

    Args:
        config: settings as they hold for this dialogue.
        plan: the dialogue; its seed decides what a random continuation is.
        page: the rater's page.
        speaker: hears what continues.
    """

    def __init__(self, config: InteractiveConfig, plan: Plan, page: PageSession, speaker: BotSpeakerAgent) -> None:
        self.config = config
        self.plan = plan
        self.page = page
        self.speaker = speaker

    def rate(self, turn: int, candidates: Sequence[Candidate]) -> None:
        """One turn, up to the line that continues."""
        shown = [c for c in candidates if not c.failed and c.same_as is None]
        if self.config.verdict:
            self._side_by_side(turn, shown)
        elif self.config.turn_question == "tick":
            self._tick(turn, shown[0])
        elif self.config.turn_question == "none":
            self._continue(Answered(at=time.time(), turn=turn, continued=shown[0].candidate_id), shown)
        elif len(shown) == 1 and self.config.min_choices > 0:
            self._all_the_same(turn, shown[0], candidates)
        else:
            self._choose(turn, shown, candidates)

    def _side_by_side(self, turn: int, shown: Sequence[Candidate]) -> None:
        """Every partner goes on with its own reply; what they are like is asked for at the end."""
        self._store(Answered(at=time.time(), turn=turn, continued_each=True))
        self.speaker.accept_all()
        for candidate in sorted(shown, key=lambda candidate: candidate.position):
            self.page.say("partner", candidate.text, entry_id=candidate.candidate_id, column=candidate.position - 1)

    def _tick(self, turn: int, reply: Candidate) -> None:
        card = Card(candidate_id=reply.candidate_id, text=reply.text)
        answer = self.page.ask_ticks(tick_step(self.config, f"rate-{turn}", card))
        now = time.time()
        self._continue(
            Answered(
                at=now,
                turn=turn,
                none_said=answer.none,
                ticks=answer.selected,
                continued=reply.candidate_id,
                seconds=now - self.page.shown_at,
            ),
            [reply],
        )

    def _all_the_same(self, turn: int, only: Candidate, candidates: Sequence[Candidate]) -> None:
        """Every model said the same, and one must be chosen: there is nothing to ask, and all of them are credited."""
        everybody = standing_for(candidates, only.candidate_id)
        event = Answered(at=time.time(), turn=turn, selected=everybody, continued=only.candidate_id, automatic=True)
        self._continue(event, [only])

    def _choose(self, turn: int, shown: Sequence[Candidate], candidates: Sequence[Candidate]) -> None:
        cards = [Card(candidate_id=c.candidate_id, text=c.text) for c in sorted(shown, key=lambda c: c.position)]
        answer = self.page.ask_choice(choose_step(self.config, f"choose-{turn}", cards))
        seconds = time.time() - self.page.shown_at
        if not answer.selected and self.config.fallback == "write":
            self._write(turn, answer, cards, seconds)
            return
        # Both or several picked: a random one of the picked continues; none: a random candidate (Liu et al. 2023).
        chance = random.Random(f"continue:{self.plan.seed}:{turn}")
        continued = chance.choice(answer.selected or [card.candidate_id for card in cards])
        credited = [name for chosen in answer.selected for name in standing_for(candidates, chosen)]
        self._continue(
            Answered(
                at=time.time(),
                turn=turn,
                selected=credited,
                none_said=answer.none,
                continued=continued,
                reason=self._reason(answer),
                seconds=seconds,
            ),
            shown,
        )

    def _write(self, turn: int, answer: ChooseAnswer, cards: list[Card], seconds: float) -> None:
        reason = self._reason(answer)
        self.page.state.append(NoneChosen(at=time.time(), turn=turn, reason=reason))
        written = self.page.ask_written(write_step(self.config, f"write-{turn}", cards)).text.strip()
        self._store(
            Answered(
                at=time.time(),
                turn=turn,
                none_said=True,
                written=written,
                reason=reason,
                seconds=seconds + time.time() - self.page.shown_at,
            )
        )
        self.speaker.accept(text=written)
        self.page.say("partner", written)

    def _reason(self, answer: ChooseAnswer) -> str | None:
        return answer.reason if self.config.reason_required else None

    def _store(self, event: Answered) -> None:
        self.page.state.append(event)

    def _continue(self, event: Answered, shown: Sequence[Candidate]) -> None:
        self._store(event)
        assert event.continued is not None
        self.speaker.accept(event.continued)
        line = next(c for c in shown if c.candidate_id == event.continued)
        self.page.say("partner", line.text, entry_id=line.candidate_id)
