"""Raters who come from a panel by link, on a launch of this machine."""

from __future__ import annotations

from typing import Any

from live import Rater, browser_of

from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.simulation.page_client import PageClient
from parlai_humaneval.schema.steps import EndStep

LINK = [
    "place=link",
    "mephisto.provider.panel=prolific",
    "mephisto.provider.completion_code=C1DONE",
    "mephisto.provider.screen_out_code=S2OUT",
    "mephisto.provider.no_consent_code=N3NO",
    "mephisto.provider.time_out_code=T4LATE",
    "mephisto.architect.public_url=https://study.example.org",
]
COMPLETE = "https://app.prolific.com/submissions/complete?cc="


def address(person: str, session: str = "", study: str = "study1") -> list[tuple[str, str]]:
    return [("PROLIFIC_PID", person), ("STUDY_ID", study), ("SESSION_ID", session or f"session-of-{person}")]


class Participant(Rater):
    """Somebody's page with an address of Prolific's; it is served from here, whatever its public address is."""

    def __init__(self, run: RunningStudy, person: str, session: str = "", **parameters: Any) -> None:
        super().__init__(local_url(run), person)
        sent = parameters.get("parameters") or address(person, session)
        self.client = PageClient(self.url, parameters=sent, heartbeat_s=0.5, browser=browser_of(person))

    async def begin_work(self) -> None:
        """One turn, with words that are known again."""
        await self.choose()
        await self.write("hello to both")

    @property
    def redirect(self) -> str | None:
        """Where the page is to go: with a refusal, or with the last step."""
        if self.client.refused is not None or self.client.agent_id is None:
            redirect = self.client.details.get("redirect")
            return None if redirect is None else str(redirect["url"])
        step = self.newest.step
        assert isinstance(step, EndStep)
        return None if step.redirect is None else step.redirect.url


def local_url(run: RunningStudy) -> str:
    return f"http://127.0.0.1:{run.live_run.architect._port}"
