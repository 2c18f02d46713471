"""A launch on Prolific: what it says before it asks, what it makes and when, and what a launch that was killed left."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from live import eventually, lasting_port
from prolific_hands import FromProlific, on_prolific, only_study, open_places, person_id, prolific_at_home, settings
from servers.prolific import BAD_GATEWAY, CUT_AFTER, CUT_BEFORE, SERVER_ERROR, StandIn

from mephisto_tasks.config.names import ConfigError
from mephisto_tasks.crowds.crowd import CrowdError
from mephisto_tasks.crowds.prolific import market, store
from mephisto_tasks.crowds.prolific.arrivals import PHRASES
from mephisto_tasks.crowds.prolific.client import Patience, Prolific
from mephisto_tasks.crowds.prolific.store import ProlificStore
from mephisto_tasks.payments.policy import Quote
from parlai_humaneval.cli import main

SCREEN_OUT = ("mephisto.provider.screen_out_pay=0.15", "mephisto.provider.screen_out_slots=4")


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StandIn]:
    monkeypatch.setattr(store, "LISTED_LATE_S", 0.1)
    with prolific_at_home(monkeypatch, tmp_path / "home") as prolific:
        yield prolific


async def quoted(data_dir: Path, *more: str) -> Quote:
    """What a launch says that it can cost; it ends there."""
    told: list[Quote] = []

    def stop(quote: Quote) -> None:
        told.append(quote)
        raise InterruptedError

    with pytest.raises(InterruptedError):
        async with on_prolific(data_dir, *more, agree=stop):
            pass
    return told[0]


async def test_the_price(site: StandIn, data_dir: Path) -> None:
    """Prolific's calculator has the last word: rewards, screen-outs, bonuses, each with its fee and VAT."""
    quote = await quoted(data_dir, *SCREEN_OUT, "mephisto.provider.bonus_budget=2")
    pays = site.workspace.price
    assert quote.total * 100 == pays(50).times(2).total + pays(15).times(4).total + pays(200).total
    assert [(line.kind, line.amount) for line in quote.lines if line.kind in ("reward", "screen_out", "bonus")] == [
        ("reward", Decimal("1.00")),
        ("screen_out", Decimal("0.60")),
        ("bonus", Decimal("2.00")),
    ]
    facts = dict(quote.table())
    assert facts["people that the balance can pay for"] == str(site.market.available(site.workspace) // pays(50).total)
    assert facts["people on Prolific who may take part"] == f"{site.market.pool:,}"
    assert facts["reward for an hour of work"] == "$10.00"
    assert site.market.studies == {}
    assert not ProlificStore(data_dir).studies()


async def test_fee_and_vat_stand_apart_once_a_study_has_told_them(site: StandIn, data_dir: Path) -> None:
    async with on_prolific(data_dir, "mephisto.provider.draft_only=true"):
        pass
    quote = await quoted(data_dir)
    price = site.workspace.price(50).times(2)
    assert {line.kind: int(line.amount * 100) for line in quote.lines} == {
        "reward": price.amount,
        "fee": price.fee,
        "vat": price.vat,
    }


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["mephisto.provider.currency=GBP"], "the workspace pays in USD"),
        (["mephisto.task.task_reward=0.05"], r"\$1.00 an hour is less than Prolific's minimum of \$8.00"),
        (["mephisto.task.task_reward=80"], "the workspace has .*top up"),
        (["mephisto.task.task_reward=0"], "requires that people are paid"),
        (["mephisto.task.task_reward=0.505"], "0.505 is not an amount"),
        (["mephisto.blueprint.workers.locales=[BR]"], "no 'BR' among its choices"),
        (["mephisto.provider.fluent=[Klingon]"], "no 'Klingon' among its choices"),
        (["mephisto.blueprint.workers.min_approval_rate=100"], "fewer than 25 people"),
        (["mephisto.provider.workspace=5e5e5e5e5e5e5e5e5e5e5e5e"], "no workspace 5e5e"),
        (["mephisto.provider.project=5e5e5e5e5e5e5e5e5e5e5e5e"], "no project 5e5e"),
    ],
)
async def test_what_is_refused_before_anything_is_made(
    site: StandIn, data_dir: Path, more: list[str], words: str
) -> None:
    with pytest.raises((CrowdError, ConfigError), match=words):
        async with on_prolific(data_dir, *more):
            pass
    assert site.market.studies == {}


async def test_low_pay_is_remarked_upon(site: StandIn, data_dir: Path) -> None:
    quote = await quoted(data_dir, "mephisto.task.task_reward=0.45")
    assert "Prolific recommends $12.00 an hour, but you pay $9.00" in str(quote.remark)


def test_the_total_alone_and_without_a_yes(site: StandIn, data_dir: Path) -> None:
    words = [word.removeprefix("mephisto.") for word in settings(data_dir.parent)]
    for more, status, told in (("--total", 0, "This launch spends real money on Prolific"), ("port=0", 1, "--yes")):
        done = CliRunner().invoke(main, ["launch", "pw_turn", "--data-dir", str(data_dir), more, *words])
        assert (done.exit_code, told in done.output) == (status, True), done.output
    assert site.market.studies == {}


async def test_a_draft_alone(site: StandIn, data_dir: Path) -> None:
    """It is shown with its price, its page is served, its preview is told as one, and nothing is published."""
    told: list[Quote] = []
    async with on_prolific(data_dir, "mephisto.provider.draft_only=true", agree=told.append) as run:
        study = only_study(site)
        assert (told[0].is_real, told[0].shown_only) == (False, True)
        assert any("draft_only" in remark for remark in run.study.remarks)
        async with FromProlific.by_link(run, site.market.preview(study)) as researcher:
            assert (researcher.client.refused, researcher.client.details["preview"]) == (PHRASES["preview"], True)
        assert (run.study.presence.door().came, run.study.presence.door().turned_away) == (0, {})
    assert study.status == "UNPUBLISHED"
    assert study.places == 2
    assert not site.journal.of("POST studies/{}/transition/")


async def test_a_draft_is_published_by_the_next_launch(site: StandIn, data_dir: Path) -> None:
    port = f"mephisto.architect.port={lasting_port()}"
    async with on_prolific(data_dir, port, "mephisto.provider.draft_only=true"):
        draft = only_study(site)
    async with on_prolific(data_dir, port):
        await eventually(lambda: open_places(site) == 2)
        assert only_study(site) is draft


async def test_a_draft_whose_reward_was_changed_there_is_not_published(site: StandIn, data_dir: Path) -> None:
    """Somebody agreed to another price."""
    port = f"mephisto.architect.port={lasting_port()}"
    async with on_prolific(data_dir, port, "mephisto.provider.draft_only=true"):
        pass
    only_study(site).fields["reward"] = 500
    with pytest.raises(CrowdError, match="it now pays 500 cents on Prolific, but task_reward is 50"):
        async with on_prolific(data_dir, port):
            pass


@pytest.mark.parametrize("cut", [CUT_AFTER, CUT_BEFORE])
async def test_a_lost_answer_makes_one_study(site: StandIn, data_dir: Path, cut: Any) -> None:
    site.faults.next("POST studies/", cut)
    async with on_prolific(data_dir):
        await eventually(lambda: open_places(site) == 2)
    assert len(site.market.studies) == 1


async def test_two_studies_with_one_mark_are_for_a_person_to_sort_out(site: StandIn, data_dir: Path) -> None:
    """As after a launch that was killed in the middle of it."""
    async with on_prolific(data_dir, "mephisto.provider.draft_only=true"):
        pass
    (study,), mark = site.market.studies.values(), ProlificStore(data_dir).studies()[0].mark
    ProlificStore(data_dir).made(mark, "")
    twin = type(study)("f" * 24, dict(study.fields), study.user, study.created)
    site.market.studies[twin.id] = twin
    with pytest.raises(CrowdError, match=f"2 studies named '{mark}'.*{twin.id}"):
        async with on_prolific(data_dir):
            pass
    del site.market.studies[twin.id]
    async with on_prolific(data_dir):
        await eventually(lambda: open_places(site) == 2)


async def test_a_study_is_written_down_before_it_is_made(
    site: StandIn, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the two, the next launch looks for it, and goes on with what it finds."""
    monkeypatch.setattr(ProlificStore, "made", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        async with on_prolific(data_dir):
            pass
    assert [study.study_id for study in ProlificStore(data_dir).studies()] == [""]
    monkeypatch.undo()
    with prolific_env(site):
        async with on_prolific(data_dir):
            await eventually(lambda: open_places(site) == 2)
    assert len(site.market.studies) == 1


async def test_what_a_workspace_lacks_is_told_and_remembered(site: StandIn, data_dir: Path) -> None:
    site.workspace.features.clear()
    more = (*SCREEN_OUT, "mephisto.provider.secure_link=true")
    async with on_prolific(data_dir, *more) as run:
        said = " ".join(run.study.remarks)
        assert "no fixed screen-out payments" in said
        assert "no signed links" in said
    quote = await quoted(data_dir, *more)
    assert "raters who fail the practice round are asked to return their submission" in str(quote.remark)
    assert all(line.kind != "screen_out" for line in quote.lines)


async def test_nothing_is_published_that_nobody_would_see(site: StandIn, data_dir: Path) -> None:
    with pytest.raises(CrowdError, match="nobody would see the page"):
        async with on_prolific(data_dir, "mephisto.architect.public_url=http://127.0.0.1:9"):
            pass
    assert only_study(site).status == "UNPUBLISHED"


async def test_what_prolific_refuses_to_publish_ends_the_launch(
    site: StandIn, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Patience, "pause", lambda *_: 0.01)
    site.faults.always("POST studies/{}/transition/ PUBLISH", SERVER_ERROR)
    with pytest.raises(CrowdError, match="cannot publish the study"):
        async with on_prolific(data_dir):
            pass
    assert only_study(site).status == "UNPUBLISHED"


async def test_a_study_that_a_killed_launch_left_is_paused_first(
    site: StandIn, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said, the same study goes on, and who was inside may finish there."""
    monkeypatch.setattr(market.StudyFollower, "close", lambda self: "killed")
    port = f"mephisto.architect.port={lasting_port()}"
    async with on_prolific(data_dir, port):
        await eventually(lambda: open_places(site) == 2)
    assert only_study(site).status == "ACTIVE"
    monkeypatch.undo()
    with prolific_env(site):
        async with on_prolific(data_dir, port) as run:
            assert any("did not end cleanly" in remark for remark in run.study.remarks)
            await eventually(lambda: open_places(site) == 2)
    actions = [call.params["action"] for call in site.journal.calls if "action" in call.params]
    assert actions[:3] == ["PUBLISH", "PAUSE", "START"]
    assert only_study(site).status == "PAUSED"


async def test_a_study_that_is_deleted_while_it_is_looked_at_is_no_trouble(
    site: StandIn, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody deletes what a killed launch left, at the moment at which the next one finds it open."""
    monkeypatch.setattr(market.StudyFollower, "close", lambda self: "killed")
    async with on_prolific(data_dir):
        await eventually(lambda: open_places(site) == 2)
    left, look = only_study(site).id, market.study_places
    monkeypatch.undo()

    def looked(client: Prolific, study_id: str) -> market.Places:
        there = look(client, study_id)
        site.market.studies.pop(left, None)
        return there

    monkeypatch.setattr(market, "study_places", looked)
    with prolific_env(site):
        async with on_prolific(data_dir) as run:
            assert not any("did not end cleanly" in remark for remark in run.study.remarks)
            await eventually(lambda: open_places(site) == 2)
    assert only_study(site).id != left


@pytest.mark.parametrize("says_processing", [False, True])
async def test_a_launch_that_ends_while_prolific_publishes_pauses_the_study(
    site: StandIn, data_dir: Path, says_processing: bool
) -> None:
    """Guards a study that recruits with nobody at home: Prolific refuses to pause what it is publishing."""
    site.market.delays.publish_s = 4.0
    site.market.unknowns.says_processing = says_processing
    async with on_prolific(data_dir) as run:
        await eventually(lambda: only_study(site).status in ("PUBLISHING", "PROCESSING"))
    assert only_study(site).status == "PAUSED"
    assert not run.live_run.task_launcher.left_on_site


async def test_a_launch_that_cannot_pause_at_its_end_says_so(
    site: StandIn, data_dir: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with on_prolific(data_dir) as run:
        await eventually(lambda: open_places(site) == 2)
        monkeypatch.setattr(Patience, "pause", lambda *_: 0.01)
        site.faults.always("POST studies/{}/transition/ PAUSE", BAD_GATEWAY)
    assert run.live_run.task_launcher.left_on_site
    assert "may still be open on Prolific" in caplog.text


async def test_a_study_with_another_reward_is_another_study(site: StandIn, data_dir: Path) -> None:
    async with on_prolific(data_dir):
        await eventually(lambda: open_places(site) == 2)
        first = only_study(site)
    async with on_prolific(data_dir, "mephisto.task.task_reward=0.60"):
        await eventually(lambda: open_places(site) == 2)
        assert first.status == "COMPLETED"
        (second,) = (study for study in site.market.studies.values() if study is not first)
        assert second.reward == 60


async def test_rules_are_prolifics_filters(site: StandIn, data_dir: Path, tmp_path: Path) -> None:
    """Whom they leave out does not see the study; what Prolific does not check is remarked."""
    rules = [
        "mephisto.blueprint.workers.locales=[GB,US-NY]",
        "mephisto.blueprint.workers.min_approval_rate=95",
        "mephisto.blueprint.workers.min_approved=20",
        "mephisto.blueprint.workers.adult=true",
        "mephisto.provider.fluent=[English]",
    ]
    async with on_prolific(data_dir, *rules) as run:
        await eventually(lambda: open_places(site) == 2)
        said = " ".join(run.study.remarks)
        assert "adult content" in said
        assert "approved" not in said
        assert site.participant(approval_rate=99).studies()
        for left_out in (
            {"country": "France"},
            {"approval_rate": 90},
            {"approval_numbers": 3},
            {"languages": ["German"]},
        ):
            assert not site.participant(**left_out).studies()
    quote = await quoted(data_dir, *rules)
    assert "country only: nothing checks that people live in US-NY" in str(quote.remark)


async def test_lists_are_followed_while_the_study_runs(
    site: StandIn, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mephisto_tasks.crowds.prolific.groups.AGAIN_S", 0.0)
    people = {name: site.participant(person_id(name)) for name in ("ann", "bob", "cat")}
    allowed = tmp_path / "allowed.txt"
    allowed.write_text(f"{person_id('ann')}\n{person_id('nobody')}\n")
    async with on_prolific(data_dir, f"mephisto.blueprint.workers.allow_list={allowed}"):
        await eventually(lambda: open_places(site) == 2)
        assert {name: bool(one.studies()) for name, one in people.items()} == {"ann": True, "bob": False, "cat": False}
        allowed.write_text(f"{person_id('bob')}\n")
        await eventually(lambda: people["bob"].studies() and not people["ann"].studies())


async def test_who_took_part_in_an_excluded_task_does_not_see_the_study(site: StandIn, data_dir: Path) -> None:
    async with on_prolific(data_dir, "mephisto.task.task_name=pilot") as run:
        await eventually(lambda: open_places(site) == 2)
        async with FromProlific(run, site, "ann") as ann:
            await ann.finish()
    async with on_prolific(data_dir, "mephisto.blueprint.workers.exclude_tasks=[pilot]"):
        await eventually(lambda: open_places(site) == 2)
        assert not site.participant(person_id("ann")).studies()
        assert site.participant(person_id("bob")).studies()


async def test_more_is_priced_by_prolific(site: StandIn, data_dir: Path) -> None:
    async with on_prolific(data_dir, "mephisto.blueprint.models=[alpha,beta]"):
        await eventually(lambda: open_places(site) == 2)
        words = [
            word.removeprefix("mephisto.") for word in settings(data_dir, "mephisto.blueprint.dialogues_per_group=5")
        ]
        typed = ["launch", "pw_turn", "--data-dir", str(data_dir), "--yes", *words]
        done = await asyncio.to_thread(CliRunner().invoke, main, typed)
        price = site.workspace.price(50).times(3).total / 100
        assert f"up to ${price:.2f} for 3 more assignments, including the fee" in " ".join(done.output.split())
        await eventually(lambda: open_places(site) == 5)


def prolific_env(site: StandIn) -> Any:
    """The stand-in, after patches of a test were undone."""
    patch = pytest.MonkeyPatch.context()

    class Env:
        def __enter__(self) -> None:
            mine = patch.__enter__()
            mine.setattr(market, "POLL_S", 0.1)
            for name, value in site.environment.items():
                mine.setenv(name, value)

        def __exit__(self, *error: Any) -> None:
            patch.__exit__(*error)

    return Env()
