"""People who write the replies of a human model, led by the hand through their page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from live import Rater, Visitor

from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.simulation.page_client import PageClient
from parlai_humaneval.schema.steps import ChooseStep, MessageStep, PageState


def human_zoo(folder: Path, timeout_s: float = 30.0, *, retries: int = 2, **times: float) -> Path:
    """A zoo file of ``person``, who is asked again after ``timeout_s``, and the scripted model ``alpha``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "human.yaml"
    options = {"model": "parlai_humaneval.agents.human:HumanAgent", **times}
    running = {"timeout_s": timeout_s, "retries": retries}
    alpha = {"options": {"model": "scripted_models:ScriptedAgent", "script": "alpha"}}
    models = {"alpha": alpha, "person": {"options": options, "running": running}}
    path.write_text(yaml.safe_dump({"models": models}))
    return path


class Partner(Visitor):
    """One page of one partner. ``async with Partner(run, "p1") as partner`` registers."""

    def __init__(self, where: RunningStudy | str, name: str = "p1") -> None:
        url = where if isinstance(where, str) else where.partner_url
        assert url is not None
        super().__init__(PageClient(url, worker_id=name, assignment_id="partner", heartbeat_s=0.5))

    async def until(self, kind: str, timeout: float = 15.0) -> PageState:
        """The newest state once its step is of ``kind``."""
        state = await self.client.next_state(timeout=timeout)
        while state.step.kind != kind:
            state = await self.client.next_state(after_version=state.version, timeout=timeout)
        return state

    async def asked(self, about: str = "") -> PageState:
        """The state that asks for a reply; to a message that holds ``about``."""
        state = await self.until("message")
        while about not in (state.transcript[-1].text if state.transcript else "") or state.step.kind != "message":
            state = await self.client.next_state(after_version=state.version, timeout=15.0)
        return state

    async def reply(self, text: str, about: str = "") -> PageState:
        """Answer the message in hand; the state that confirmed it."""
        step = (await self.asked(about)).step
        assert isinstance(step, MessageStep)
        return await self.client.answer({"kind": "message", "step_id": step.step_id, "text": text})


def settings(data_dir: Path, **changed: Any) -> dict[str, Any]:
    """PW-Turn of ``alpha``, which is scripted, and a person."""
    times = {"patience_s": 60.0} | {key: changed.pop(key) for key in ("patience_s", "unattended_s") if key in changed}
    zoo = str(human_zoo(data_dir, changed.pop("timeout_s", 30.0), retries=changed.pop("retries", 2), **times))
    return {"models": ["alpha", "person"], "zoo_files": [zoo], **changed}


async def choose_reply(rater: Rater, text: str) -> PageState:
    step = (await rater.state()).step
    assert isinstance(step, ChooseStep), step
    place = next(place for place, card in enumerate(step.cards) if card.text == text)
    return await rater.choose(place)


async def say(rater: Rater, text: str) -> None:
    """Send a message; the replies to it need not be there yet."""
    step = (await rater.state()).step
    assert isinstance(step, MessageStep), step
    await rater.send(kind="message", step_id=step.step_id, text=text)
