"""People of Prolific judge finished dialogues."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from judging_hands import LONG, SHORT, TERSE, WORDY, Judge, Watched, chats, judgements, says
from live import browser_of, eventually
from panel_hands import local_url
from prolific_hands import on_prolific, only_study, open_places, person_id, prolific_at_home
from servers.prolific import StandIn


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StandIn]:
    with prolific_at_home(monkeypatch, tmp_path / "home") as prolific:
        yield prolific


async def test_finished_dialogues_are_judged_there(site: StandIn, data_dir: Path, tmp_path: Path) -> None:
    """The other engine, in a study that stops once it reaches a decision: a window of places that moves as people finish."""
    files = [chats(tmp_path, name, says(text), dialogues=8) for name, text in ((WORDY, LONG), (TERSE, SHORT))]
    blueprint = [
        f"dialogues=[{','.join(files)}]",
        "stop=decided",
        "margin=0.3",
        "max_dialogues=60",
        "raters_at_a_time=2",
        "items_per_unit=3",
        "onboarding_qualification=null",
    ]
    more = [
        "place=prolific",
        "mephisto.architect.port=0",
        "mephisto.task.task_reward=1.00",
        "mephisto.task.task_name=judged",
    ]
    more += [f"mephisto.blueprint.{setting}" for setting in blueprint]
    async with on_prolific(data_dir, *more, task="pw_dialog") as run:
        study = only_study(site)
        for number in range(1, 4):
            await eventually(lambda: open_places(site) == 2)
            person = site.participant(person_id(f"judge {number}"))
            link = parse_qsl(urlsplit(person.take()).query)
            judge = Judge(local_url(run), person.id)
            judge.client = Watched(judge.url, parameters=link, heartbeat_s=0.5, browser=browser_of(person.id))
            async with judge:
                await judge.whole_unit()
            assert person.status == "AWAITING REVIEW"
        await eventually(lambda: open_places(site) == 2)
        assert study.places == 5
        assert run.study.remaining > 10
    assert (study.status, study.count("AWAITING REVIEW")) == ("PAUSED", 3)
    assert len({judgement.worker for judgement in judgements(run)}) == 3
