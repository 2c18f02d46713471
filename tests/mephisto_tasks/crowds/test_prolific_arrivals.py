"""Who comes from Prolific, and how they go back: checked with Prolific, ended by our server, whatever does not answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from live import eventually, good_replies
from mephisto.data_model.agent import OnboardingAgent
from prolific_hands import FromProlific, on_prolific, only_study, open_places, person_id, prolific_at_home
from servers.prolific import BAD_GATEWAY, CUT_AFTER, ApiError, StandIn

from mephisto_tasks.adapter.client_io import OUR_ERROR
from mephisto_tasks.crowds.link.crowd import DECLINED
from mephisto_tasks.crowds.panels import panel
from mephisto_tasks.crowds.prolific import arrivals
from mephisto_tasks.crowds.prolific.arrivals import NOT_SIGNED, PHRASES, SIGNATURE
from mephisto_tasks.crowds.prolific.client import Patience
from mephisto_tasks.crowds.prolific.market import StudyFollower
from mephisto_tasks.crowds.prolific.store import ProlificStore, code_of

PRACTICE = ("mephisto.blueprint.onboarding_qualification=practised", "mephisto.task.task_reward=1.50")
WRONG = ["bad"] * 8
SUBMISSION = "GET submissions/{}/"
COMPLETE = "POST submissions/{}/transition/ COMPLETE"


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StandIn]:
    monkeypatch.setattr(Patience, "pause", lambda *_: 0.01)
    monkeypatch.setattr(arrivals, "FRESH_S", 0.0)
    monkeypatch.setattr(arrivals, "AGAIN_S", 0.1)
    with prolific_at_home(monkeypatch, tmp_path / "home") as prolific:
        yield prolific


def changed(address: str, **parameters: str) -> str:
    return f"{address.partition('?')[0]}?{urlencode({**dict(parse_qsl(urlsplit(address).query)), **parameters})}"


def ended(data_dir: Path) -> list[tuple[str, str, bool]]:
    """Kind, what Prolific said, and whether it took it, of every ending."""
    return [(ending.kind, ending.said, ending.done is not None) for ending in ProlificStore(data_dir).endings()]


def limits_of(site: StandIn) -> dict[str, int]:
    """How many people Prolific lets in at once."""
    return dict(only_study(site).fields["submissions_config"])


Change = Callable[[str, str, StandIn], str]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda mine, hers, site: changed(mine, PROLIFIC_PID=person_id("bob")), PHRASES["not_yours"]),
        (lambda mine, hers, site: changed(mine, STUDY_ID="9" * 24), PHRASES["not_yours"]),
        (
            lambda mine, hers, site: changed(mine, SESSION_ID=dict(parse_qsl(urlsplit(hers).query))["SESSION_ID"]),
            PHRASES["not_yours"],
        ),
        (lambda mine, hers, site: changed(mine, SESSION_ID="9" * 24), PHRASES["preview"]),
        (lambda mine, hers, site: site.market.preview(only_study(site)), PHRASES["preview"]),
        (lambda mine, hers, site: str(only_study(site).fields["external_study_url"]), panel.PHRASES["not_filled_in"]),
    ],
    ids=["another person", "another study", "another's submission", "an unknown submission", "preview", "placeholders"],
)
async def test_who_does_not_come_from_the_study(site: StandIn, data_dir: Path, change: Change, words: str) -> None:
    async with on_prolific(data_dir) as run:
        await eventually(lambda: open_places(site) == 2)
        mine = site.participant(person_id("ann")).take()
        hers = site.participant(person_id("bob")).take()
        async with FromProlific.by_link(run, change(mine, hers, site), "ann") as ann:
            assert ann.client.refused is not None
            assert ann.client.refused.split("}")[-1][:40] in words.replace("{panel}", "Prolific")
        assert run.study.presence.inside(str) == []


async def test_who_returned_before_they_came(site: StandIn, data_dir: Path) -> None:
    async with on_prolific(data_dir) as run:
        await eventually(lambda: open_places(site) == 2)
        ann = site.participant(person_id("ann"))
        address = ann.take()
        ann.give_back()
        async with FromProlific.by_link(run, address, "ann") as page:
            assert page.client.refused == PHRASES["over"]


async def test_nobody_is_let_in_blind_and_nobody_inside_is_lost(site: StandIn, data_dir: Path) -> None:
    """While Prolific is out of reach, newcomers wait; who was let in before goes on."""
    async with on_prolific(data_dir) as run:
        await eventually(lambda: open_places(site) == 2)
        bob = FromProlific(run, site, "bob")  # takes a place before the study pauses, which shows it to nobody
        async with FromProlific(run, site, "ann") as ann:
            await ann.begin_work()
            address = ann.person.open()
            site.faults.always(SUBMISSION, BAD_GATEWAY)
            async with FromProlific.by_link(run, address, "ann") as again:
                assert again.client.refused is None
            comes = asyncio.create_task(bob.__aenter__())
            await asyncio.sleep(0.5)
            assert not comes.done()
            site.faults.clear()
            await asyncio.wait_for(comes, 20)
            assert bob.client.refused is None
            await bob.__aexit__(None, None, None)


@pytest.mark.parametrize("breaks", ["practice", "unit"])
async def test_our_own_error_ends_nobodys_submission(
    site: StandIn, data_dir: Path, breaks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page tries again, then says that the fault is ours; it counts as such, and later the same person comes in."""

    def fails(*_: object) -> None:
        raise TypeError("no such method")

    async with on_prolific(data_dir, *(PRACTICE if breaks == "practice" else ())) as run:
        await eventually(lambda: open_places(site) == 2)
        ann = FromProlific(run, site, "ann")
        with monkeypatch.context() as patch:
            if breaks == "practice":
                patch.setattr(OnboardingAgent, "set_live_run", fails)
            else:
                patch.setattr(run.live_run.task_runner, "get_init_data_for_agent", fails)
            async with ann:
                assert ann.client.refused == OUR_ERROR
                assert ann.redirect is None
        assert (ann.status, ended(data_dir)) == ("ACTIVE", [])
        assert run.study.presence.door().turned_away == {"our_error": 1}
        async with FromProlific.by_link(run, ann.person.open(), "ann") as again:
            assert again.client.refused is None
            assert again.client.agent_id is not None


@pytest.mark.parametrize("answers", ["cut", "down", "late"])
async def test_a_finished_dialogue_is_completed_whatever_goes_wrong(
    site: StandIn, data_dir: Path, answers: str
) -> None:
    """A lost answer changes nothing; while Prolific is down, the rater takes the code along; one who just leaves is
    completed later."""
    async with on_prolific(data_dir) as run:
        await eventually(lambda: open_places(site) == 2)
        study = only_study(site)
        async with FromProlific(run, site, "ann") as ann:
            if answers == "cut":
                site.faults.next(COMPLETE, CUT_AFTER, CUT_AFTER)
            else:
                site.faults.always(COMPLETE, BAD_GATEWAY)
            await ann.finish()
            if answers == "down":
                known = ProlificStore(data_dir).studies()[0]
                assert ann.redirect == f"{site.url}/submissions/complete?cc={code_of(known, 'by_hand')}"
                ann.person.follow(ann.redirect)
        site.faults.clear()
        await eventually(lambda: ann.status == "AWAITING REVIEW")
        await eventually(lambda: ended(data_dir) == [("complete", "AWAITING REVIEW", True)])
    assert [submission.status for submission in study.submissions] == ["AWAITING REVIEW"]


async def test_a_rater_who_leaves_at_the_comment_box_is_completed(
    site: StandIn, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrivals, "PROMISED_S", 0.2)
    async with on_prolific(data_dir) as run:
        await eventually(lambda: open_places(site) == 2)
        async with FromProlific(run, site, "ann") as ann:
            await ann.talk_until("feedback")
        await eventually(lambda: ann.status == "AWAITING REVIEW")


async def test_a_rater_who_returns_at_the_comment_box_keeps_nobody_waiting(site: StandIn, data_dir: Path) -> None:
    """Their work is whole, and they never press Finish."""
    async with on_prolific(data_dir, "mephisto.blueprint.dialogues_per_group=1") as run:
        await eventually(lambda: open_places(site) == 1)
        async with FromProlific(run, site, "ann") as ann:
            await ann.talk_until("feedback")
            assert not run.is_done()
            ann.person.give_back()
            await eventually(run.is_done)
            assert (await ann.talk_until("end")).step.kind == "end"
        assert run.study.presence.inside(str) == []


async def test_what_a_killed_launch_had_promised_is_kept_by_the_next(
    site: StandIn, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrivals, "PROMISED_S", 0.1)
    with monkeypatch.context() as killed:
        killed.setattr(arrivals.Endings, "flush", lambda self: None)
        killed.setattr(arrivals.Endings, "end", lambda self, *_: "")
        killed.setattr(StudyFollower, "close", lambda self: "")
        async with on_prolific(data_dir) as run:
            await eventually(lambda: open_places(site) == 2)
            async with FromProlific(run, site, "ann") as ann:
                await ann.talk_until("feedback")
    assert (ann.status, ended(data_dir)) == ("ACTIVE", [("complete", "", False)])
    async with on_prolific(data_dir):
        await eventually(lambda: ann.status == "AWAITING REVIEW")


async def test_who_does_not_want_to_take_part_is_asked_to_return(site: StandIn, data_dir: Path) -> None:
    async with on_prolific(data_dir) as run:
        await eventually(lambda: open_places(site) == 2)
        ann = FromProlific(run, site, "ann")
        await ann.client.__aenter__()
        details = await ann.client.register("decline")
        assert (details["title"], details["redirect"]["url"]) == (DECLINED[0], f"{site.url}/studies")
        assert "Please return your submission on Prolific." in details["failure_reason"]
        await ann.client.__aexit__(None, None, None)
        (submission,) = only_study(site).submissions
        assert submission.return_requested is not None
        assert open_places(site) == 1, "no more than were agreed to"
        run.live_run.task_launcher.pay_for(1)
        await eventually(lambda: open_places(site) == 2)  # one more, for who came in vain
        ann.person.give_back()
        await eventually(lambda: limits_of(site)["max_concurrent_submissions"] == 2)
        assert open_places(site) == 3
    assert site.charges == []


async def test_a_failed_practice_without_screen_outs_is_asked_to_return(site: StandIn, data_dir: Path) -> None:
    async with on_prolific(data_dir, *PRACTICE) as run:
        await eventually(lambda: open_places(site) == 2)
        async with FromProlific(run, site, "dan") as dan:
            await dan.practise(WRONG, good_replies(run))
            await dan.client.submit_onboarding()
            assert "Please return your submission on Prolific" in str(dan.client.refused)
        assert only_study(site).submissions[0].return_requested is not None
        assert ended(data_dir) == [("turned_away", "AWAITING REVIEW", True)]
    assert site.charges == []


@pytest.mark.parametrize("pays", ["all", "one", "none there"])
async def test_screen_outs_are_paid_as_agreed(site: StandIn, data_dir: Path, pays: str) -> None:
    """Only who did the practice is paid, and no more people than agreed; the study goes on when its slots are used up."""
    slots = 1 if pays == "one" else 5
    more = ("mephisto.provider.screen_out_pay=0.20", f"mephisto.provider.screen_out_slots={slots}")
    async with on_prolific(data_dir, *PRACTICE, *more) as run:
        await eventually(lambda: open_places(site) == 2)
        assert "you are paid $0.20 for the practice" in run.study.instructions.model_dump_json()
        run.live_run.task_launcher.pay_for(2)  # whoever is asked to return may be replaced
        if pays == "none there":
            (entry,) = (code for code in only_study(site).codes if code["code_type"] == "FIXED_SCREENOUT")
            refused = ApiError(400, "There are no screen-out slots left.")
            site.faults.next(COMPLETE, refused, None, refused, None)
            assert entry["actor"] == "researcher"
        for name in ("dan", "eve"):
            async with FromProlific(run, site, name) as page:
                await page.practise(WRONG, good_replies(run))
                await page.client.submit_onboarding()
                if pays == "all":
                    assert "you are paid for the practice. Please go back to Prolific" in str(page.client.refused)
            await eventually(lambda: all(taken for _, _, taken in ended(data_dir)) and open_places(site) == 2)
        # Who comes again only hears so, and is not paid once more.
        async with FromProlific.by_link(
            run, page.person._market.link(only_study(site).submissions[-1]), "eve"
        ) as again:
            assert again.client.refused is not None
    kinds = [kind for kind, _, _ in ended(data_dir)]
    paid = {"all": 2, "one": 1, "none there": 0}[pays]
    assert kinds == ["screened_out"] * paid + ["turned_away"] * (2 - paid)
    assert [charge.price.amount for charge in site.charges] == [20] * paid


async def test_codes_of_our_server_never_reach_a_browser(site: StandIn, data_dir: Path) -> None:
    more = ("mephisto.provider.screen_out_pay=0.20", "mephisto.provider.screen_out_slots=5")
    async with on_prolific(data_dir, *PRACTICE, *more) as run:
        await eventually(lambda: open_places(site) == 2)
        heard: list[str] = []
        for name in ("ann", "dan"):
            await eventually(lambda: open_places(site) > 0)
            async with FromProlific(run, site, name) as page:
                await page.practise(["good"] * 4 if name == "ann" else WRONG, good_replies(run))
                heard.append(json.dumps(await page.client.submit_onboarding()))
                if name == "ann":
                    heard.append((await page.finish()).model_dump_json())
        known = ProlificStore(data_dir).studies()[0]
        assert all(code["code"] not in " ".join(heard) for code in known.body["completion_codes"])
        assert site.token not in " ".join(heard)


async def test_signed_links(site: StandIn, data_dir: Path) -> None:
    """A link counts with Prolific's signature for this very submission; a reload needs none any more."""
    async with on_prolific(data_dir, "mephisto.provider.secure_link=true") as run:
        await eventually(lambda: open_places(site) == 2)
        mine = site.participant(person_id("ann")).take()
        hers = dict(parse_qsl(urlsplit(site.participant(person_id("bob")).take()).query))
        token = dict(parse_qsl(urlsplit(mine).query))[SIGNATURE]
        head, claims, signature = token.split(".")
        unsigned = "eyJhbGciOiJub25lIn0"  # {"alg":"none"}
        for wrong in ("", "x", hers[SIGNATURE], f"{head}.{claims}.{signature[:-4]}AAAA", f"{unsigned}.{claims}."):
            async with FromProlific.by_link(run, changed(mine, **{SIGNATURE: wrong}), "ann") as page:
                assert page.client.refused == NOT_SIGNED
        async with FromProlific.by_link(run, mine, "ann") as page:
            assert page.client.refused is None
            await page.begin_work()
        site.clock.move(180)
        async with FromProlific.by_link(run, changed(mine, **{SIGNATURE: "x"}), "ann") as page:
            assert page.client.refused is None


async def test_an_old_signature_is_none(site: StandIn, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with on_prolific(data_dir, "mephisto.provider.secure_link=true") as run:
        await eventually(lambda: open_places(site) == 2)
        mine = site.participant(person_id("ann")).take()
        monkeypatch.setattr("mephisto_tasks.crowds.prolific.arrivals.SLACK_S", -300.0)
        async with FromProlific.by_link(run, mine, "ann") as page:
            assert page.client.refused == NOT_SIGNED
