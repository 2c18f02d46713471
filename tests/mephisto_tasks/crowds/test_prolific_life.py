"""A study on Prolific from its draft to its end, with people who come from there to our page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from judging_hands import LONG, SHORT, TERSE, WORDY, Judge, Watched, chats, judgements, says
from live import browser_of, eventually, good_replies, records
from panel_hands import local_url
from prolific_hands import FromProlific, on_prolific, only_study, open_places, person_id, prolific_at_home
from servers.prolific import StandIn

WRONG = ["bad"] * 4
REWARD = "mephisto.task.task_reward=1.50"
PRACTICE = "mephisto.blueprint.onboarding_qualification=practised"


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StandIn]:
    with prolific_at_home(monkeypatch, tmp_path / "home") as prolific:
        yield prolific


async def test_five_people(site: StandIn, data_dir: Path, tmp_path: Path) -> None:
    """One completes, one returns, one times out, one fails the practice, and one is blocked; then the study is stopped."""
    blocked = tmp_path / "blocked.txt"
    blocked.write_text(f"{person_id('eve')}\n")
    site.participant(person_id("eve"))
    pay = ["mephisto.provider.screen_out_pay=0.15", "mephisto.provider.screen_out_slots=3"]
    rules = [f"mephisto.blueprint.workers.block_list={blocked}"]
    async with on_prolific(data_dir, PRACTICE, REWARD, *pay, *rules) as run:
        study, good = only_study(site), good_replies(run)
        await eventually(lambda: open_places(site) == 2)
        assert site.participant(person_id("eve")).studies() == []
        assert "you are paid $0.15 for the practice" in run.study.instructions.model_dump_json()

        async with FromProlific(run, site, "ann") as ann:
            await ann.practise(["good"] * 4, good)
            await ann.client.submit_onboarding()
            await ann.finish()
            assert ann.status == "AWAITING REVIEW"
            assert ann.redirect == f"{site.url}/studies"  # and no code
        await eventually(lambda: run.study.remaining == 1 and open_places(site) == 1)

        async with FromProlific(run, site, "bob") as bob:
            await bob.practise(["good"] * 4, good)
            await bob.client.submit_onboarding()
            await bob.begin_work()
            assert open_places(site) == 0
            bob.person.give_back()
            await eventually(lambda: not run.live_run.task_runner.running_units and open_places(site) == 1)

        async with FromProlific(run, site, "cat") as cat:
            await cat.practise(["good"] * 4, good)
            await cat.client.submit_onboarding()
            await cat.begin_work()
            site.clock.move(study.allowed_s + 1)
            await eventually(lambda: cat.status == "TIMED-OUT")
            await eventually(lambda: not run.live_run.task_runner.running_units and open_places(site) == 1)

        async with FromProlific(run, site, "dan") as dan:
            await dan.practise([*WRONG, *WRONG], good)
            await dan.client.submit_onboarding()
            assert "you are paid for the practice: please go back to Prolific" in str(dan.client.refused)
            assert dan.redirect == f"{site.url}/studies"
            await eventually(lambda: dan.status == "SCREENED OUT")
        assert [(charge.kind, charge.participant, charge.price.amount) for charge in site.charges] == [
            ("screen_out", person_id("dan"), 15)
        ]
        await eventually(lambda: open_places(site) == 1)

        async with FromProlific(run, site, "fay") as fay:
            await fay.practise(["good"] * 4, good)
            await fay.client.submit_onboarding()
            await fay.finish()
        await eventually(lambda: run.is_done())
    assert study.status == "AWAITING REVIEW"  # full, and nobody new can come
    assert study.places == 2
    assert [record.status for record in records(run)].count("complete") == 2


async def test_finished_dialogues_are_judged_there(site: StandIn, data_dir: Path, tmp_path: Path) -> None:
    """The other engine, in a study that ends when it is decided: a window of places, which moves as people finish."""
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
