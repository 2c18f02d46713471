"""Raters of finished dialogues, led by hand or simulated, and the dialogues that they are shown."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hands import Hands
from live import REASON, browser_of, composed, eventually, launch, records, rows

from mephisto_tasks.launch import launch as launching
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.server.packets import Packet
from mephisto_tasks.server.security import Browser
from mephisto_tasks.simulation import raters as simulated_raters
from mephisto_tasks.simulation.page_client import Details, PageClient
from mephisto_tasks.simulation.raters import Behaviour, Outcome, run_raters
from mephisto_tasks.storage.results import read_judgements
from parlai_humaneval.schema.records import DialogueRecord, JudgementRecord, Turn
from parlai_humaneval.schema.steps import EndStep, FormStep, PageState, Panel, RankStep

WORDY, TERSE = "zz-wordy-model", "zz-terse-model"
"""Models of files; their names are in no text that anybody says."""
LONG = "That sounds lovely, and I would like to hear a good deal more about it, please."
SHORT = "I see."
Say = Callable[[int, int], str]
"""(dialogue, exchange), from 1 → what the model answers."""


def long_texts(text: str) -> float:
    """A taste for longer texts."""
    return 1.0 if len(text) > 40 else 0.05


def says(reply: str) -> Say:
    return lambda dialogue, exchange: f"{reply} ({dialogue}.{exchange})"


def chats(folder: Path, model: str, say: Say, *, dialogues: int = 4, exchanges: int = 3) -> str:
    """A file of dialogues of a person, who begins, with a model; ParlAI's format, with the speakers' names."""
    found = []
    for number in range(1, dialogues + 1):
        acts = []
        for exchange in range(1, exchanges + 1):
            acts.append({"id": "person", "text": f"What about thing {number}.{exchange}?"})
            acts.append({"id": "bot", "text": say(number, exchange)})
        found.append(
            {
                "dialog": [acts[at : at + 2] for at in range(0, len(acts), 2)],
                "dialogue_id": f"{model}-{number}",
                "entities": {"person": "human", "bot": model},
            }
        )
    return written(folder / f"{model}.jsonl", found)


def duets(folder: Path, first: str, second: str, *, dialogues: int = 4, exchanges: int = 5) -> str:
    """A file of dialogues of two models (or people: ``human``)."""
    name = f"{first}--{second}"
    found = [
        {
            "dialog": [
                [{"id": side, "text": f"{side} says {number}.{exchange}"} for side in ("one", "two")]
                for exchange in range(1, exchanges + 1)
            ],
            "dialogue_id": f"{name}-{number}",
            "entities": {"one": first, "two": second},
        }
        for number in range(1, dialogues + 1)
    ]
    return written(folder / f"{name}.jsonl", found)


def written(path: Path, objects: Sequence[Mapping[str, Any]]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in objects), encoding="utf-8")
    return str(path)


@contextmanager
def launch_study(data_dir: Path, task: str, **settings: Any) -> Iterator[RunningStudy]:
    """A launch of a task on finished dialogues; no practice and no attention checks unless asked for."""
    data_dir.mkdir(parents=True, exist_ok=True)
    settings = {"golds_per_unit": 0, **settings}
    with launching.run_launch(task, composed(task, settings), data_dir) as run:
        yield run


@asynccontextmanager
async def study_beside(data_dir: Path, task: str, **settings: Any) -> AsyncIterator[RunningStudy]:
    """:func:`launch_study` from a coroutine."""
    manager = launch_study(data_dir, task, **settings)
    run = await asyncio.to_thread(manager.__enter__)
    try:
        yield run
    finally:
        await asyncio.to_thread(manager.__exit__, None, None, None)


class Watched(PageClient):
    """A page that keeps all that it was sent, as text."""

    heard: list[str]

    def _take(self, packet: Packet) -> None:
        self._hear(packet)
        super()._take(packet)

    async def _become(self, packet: Packet) -> Details:
        self._hear(packet)
        return await super()._become(packet)

    def _hear(self, packet: Packet) -> None:
        if "heard" not in vars(self):
            self.heard = []
        self.heard.append(json.dumps(packet, ensure_ascii=False))


@contextmanager
def everything_heard() -> Iterator[list[str]]:
    """All that pages of simulated raters are sent meanwhile."""
    heard: list[str] = []

    class Overheard(Watched):
        def _hear(self, packet: Packet) -> None:
            heard.append(json.dumps(packet, ensure_ascii=False))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulated_raters, "PageClient", Overheard)
        yield heard


def page_config(run: RunningStudy) -> str:
    """The words of the page, as anybody can load them."""
    with urllib.request.urlopen(f"{run.url}/task_config.json", timeout=10) as response:
        return str(response.read().decode())


def told_of(heard: Sequence[str], secrets: Sequence[str]) -> list[str]:
    """Those of ``secrets`` that stand in what was heard."""
    text = "\n".join(heard).lower()
    return [secret for secret in secrets if secret.lower() in text]


class Judge(Hands):
    """A rater of finished dialogues, led step by step."""

    def __init__(
        self,
        where: RunningStudy | str,
        worker: str = "w1",
        assignment: str | None = None,
        *,
        browser: Browser | None = None,
    ) -> None:
        super().__init__(where, worker, assignment, browser=browser)
        self.client: Watched = Watched(
            self.url,
            worker_id=worker,
            assignment_id=assignment or f"a-{worker}",
            heartbeat_s=0.5,
            browser=browser or browser_of(worker),
        )

    async def fill(self, reason: str = REASON, **values: str) -> PageState:
        """A form: the named answers, and of every other question its first; the reason wherever one is asked for."""
        step = (await self.state()).step
        assert isinstance(step, FormStep), step
        whole = {one.question_id: values.get(one.question_id, one.options[0].option_id) for one in step.questions}
        reasons = {one.question_id: reason for one in step.questions if one.reason}
        return await self.answer(kind="form", values=whole, reasons=reasons)

    async def rank(self, *places: int) -> PageState:
        """A place for each card in the order in which they stand; none given: 1, 2, 3 …"""
        step = (await self.state()).step
        assert isinstance(step, RankStep), step
        ranks = {card.candidate_id: place for card, place in zip(step.cards, places or range(1, 99), strict=False)}
        return await self.answer(kind="rank", ranks=ranks)

    async def answer_somehow(self) -> PageState:
        """Any right answer to the step that is shown."""
        step = (await self.state()).step
        match step.kind:
            case "form":
                return await self.fill()
            case "rank":
                return await self.rank()
            case "choose":
                return await self.pick(0)
            case "tick":
                return await self.tick(step.options[0].option_id)
            case "rate":
                return await self.rate(step.scales[0].maximum)
        raise AssertionError(f"not a question about a finished dialogue: {step}")

    async def to_feedback(self) -> list[PageState]:
        """Every question answered somehow; the states that asked."""
        asked = []
        state = await self.state()
        while state.step.kind != "feedback":
            assert not isinstance(state.step, EndStep), state.step
            asked.append(state)
            state = await self.answer_somehow()
        return asked

    async def whole_unit(self) -> list[PageState]:
        """From the first question to the submit; the states that asked."""
        assert self.client.refused is None, self.client.refused
        asked = await self.to_feedback()
        await self.hand_in()
        return asked

    def judgements(self, run: RunningStudy) -> list[JudgementRecord]:
        """What is stored of this page's unit, in order."""
        name = f"{run.task_run_id}-{self.client.agent_id}-"
        return [one for one in judgements(run) if one.judgement_id.startswith(name)]


def judgements(run: RunningStudy) -> list[JudgementRecord]:
    return read_judgements(run.data_dir, run.task_name)


def judged_texts(panel: Panel) -> list[str]:
    """What the marked speaker says."""
    return [line.text for line in panel.lines if line.judged]


def panel_texts(state: PageState) -> list[list[str]]:
    """The lines of each dialogue in view."""
    return [[line.text for line in panel.lines] for panel in state.panels]


def agent_status(run: RunningStudy, rater: Judge) -> str:
    """What Mephisto knows of the page's rater."""
    ((status,),) = rows(run.data_dir, "SELECT status FROM agents WHERE agent_id = ?", rater.client.agent_id)
    return str(status)


async def one_unit(run: RunningStudy, worker: str) -> list[JudgementRecord]:
    """A whole unit of a rater; what is stored of it."""
    async with Judge(run, worker) as rater:
        await rater.whole_unit()
        return rater.judgements(run)


def simulate(
    run: RunningStudy, behaviour: Behaviour, *, raters: int = 3, seed: int = 1, rounds: int = 6
) -> list[Outcome]:
    """Simulated raters until the study has all; who finds nothing that they may judge makes room for a new one."""
    found: list[Outcome] = []
    for number in range(rounds):
        if run.study.remaining == 0:
            break
        units = run_raters(
            run.url,
            behaviour,
            announce=run.study.simulated.add,
            raters=raters,
            dialogues=run.study.remaining,
            seed=seed,
            name=f"sim{number}",
        )
        found += asyncio.run(asyncio.wait_for(units, timeout=60))
    assert run.study.remaining == 0, "there are as many workers as it takes"
    return found


def talked(
    data_dir: Path,
    task: str,
    name: str,
    *,
    dialogues: int = 2,
    raters: int | None = None,
    seed: int = 3,
    **settings: Any,
) -> list[DialogueRecord]:
    """A live task that simulated raters have done, with as many ``dialogues`` of each group; what is stored of it."""
    settings = {"models": [WORDY, TERSE], "turns": 2, "dialogues_per_group": dialogues, **settings}
    with launch(data_dir, task=task, task_name=name, **settings) as run:
        units = run.study.remaining if raters is None else raters
        behaviour = Behaviour(more_turns=1)
        asyncio.run(
            run_raters(
                run.url,
                behaviour,
                announce=run.study.simulated.add,
                raters=4,
                dialogues=units,
                seed=seed,
                name=f"talker-{name}",
            )
        )
        asyncio.run(eventually(run.is_done))
        return records(run)


def said_before(own: DialogueRecord, turn: Turn) -> list[str]:
    """What had been said when the own rater judged ``turn``: with their message, without any reply to it."""
    lines = [line.text for line in own.context.opening]
    for earlier in own.turns[: turn.turn - 1]:
        by_id = {candidate.candidate_id: candidate.text for candidate in earlier.candidates}
        lines += [earlier.human_text, earlier.written or by_id[str(earlier.continued)]]
    return [*lines, turn.human_text]


def judged_turns(own: DialogueRecord) -> list[Turn]:
    return [turn for turn in own.complete_turns if not turn.automatic]
