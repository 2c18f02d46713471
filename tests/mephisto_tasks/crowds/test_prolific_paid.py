"""A paid study on Prolific leaves no token, no ids in its release, and nothing of who is forgotten; and Prolific's hooks."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest
from click.testing import CliRunner
from live import TASK, eventually, good_replies
from panel_hands import local_url
from prolific_hands import FromProlific, on_prolific, only_study, open_places, person_id, prolific_at_home
from servers.prolific import TOKEN, WRONG_TOKEN, Fault, StandIn
from servers.prolific import server as site_server
from servers.prolific.records import Subscription
from servers.prolific.signing import hook_signature

from mephisto_tasks.crowds.prolific import arrivals, market, payer
from parlai_humaneval.cli import main


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StandIn]:
    monkeypatch.setattr(payer, "WAITS", payer.Waits(approved=5.0, listed=5.0, poll=0.1))
    with prolific_at_home(monkeypatch, tmp_path / "home") as prolific:
        yield prolific


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def command(data_dir: Path, *words: str) -> str:
    """What it prints, with errors."""
    told = CliRunner().invoke(main, [*words, "--data-dir", str(data_dir)])
    assert told.exit_code == 0, told.output
    return str(told.output)


async def test_no_token_and_no_ids_are_left(
    site: StandIn, data_dir: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Ann completes, bob leaves half-way, dan fails the practice: they are paid, released as data, and ann is forgotten."""
    said = [command(data_dir, "requester", "add", "lab", "--provider", "prolific")]
    assert "balance $100.00" in said[0]
    practice = ["mephisto.blueprint.onboarding_qualification=practised", "mephisto.provider.requester_name=lab"]
    pays = ["mephisto.provider.screen_out_pay=0.15", "mephisto.provider.screen_out_slots=3"]
    money = ["mephisto.task.task_reward=1.50", "mephisto.blueprint.payment.practice=0.15"]
    async with on_prolific(data_dir, *practice, *pays, *money) as run:
        good = good_replies(run)
        for name in ("ann", "bob", "dan"):
            await eventually(lambda: bool(site.participant(person_id("x")).studies()))
            async with FromProlific(run, site, name) as rater:
                if name == "dan":
                    await rater.practise(["bad"] * 8, good)
                    await rater.client.submit_onboarding()
                    await eventually(lambda: rater.status == "SCREENED OUT")
                    continue
                await rater.practise(["good"] * 4, good)
                await rater.client.submit_onboarding()
                if name == "bob":
                    await rater.begin_work()
                    rater.person.give_back()
                    await eventually(lambda: not run.live_run.task_runner.running_units)
                else:
                    await rater.finish()
    said.append(command(data_dir, "watch", "--task-name", TASK, "--json"))
    (there,) = json.loads(said[-1])["sites"]
    assert (there["waiting"], there["returned"], there["screened_out"]) == (1, 1, 1)
    said += [command(data_dir, "pay", "--task-name", TASK, *words) for words in ([], ["--send", "--yes"], ["--json"])]
    said.append(command(data_dir, "doctor", "--json", "--port", str(free_port())))
    release = ["export", "--release", "--task-name", TASK, "--out", str(tmp_path / "release")]
    said.append(command(data_dir, *release, "--without-consent-text", "Signed forms on paper."))
    submissions = {one.person: one.id for one in site.market.submissions()}
    released = b"".join(path.read_bytes() for path in (tmp_path / "release").rglob("*") if path.is_file())
    for known in (*submissions, *submissions.values(), only_study(site).id):
        assert known.encode() not in released

    group = next(group for group in site.market.groups.values() if group.name.endswith(TASK))
    group.members[person_id("ann")] = 0.0
    said.append(command(data_dir, "forget", person_id("ann"), "--yes"))
    assert person_id("ann") not in group.members
    assert "PLEASE CHECK" not in said[-1]
    for path in data_dir.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert person_id("ann").encode() not in content, path
            assert submissions[person_id("ann")].encode() not in content, path
    said.append(command(data_dir, "pay", "--task-name", TASK, "--audit"))
    assert "and Prolific agree" in said[-1]

    site.faults.always("*", WRONG_TOKEN)
    told = CliRunner().invoke(main, ["pay", "--task-name", TASK, "--audit", "--data-dir", str(data_dir)])
    assert "this API token: it is wrong or was deleted" in told.output
    everything = "".join([*said, told.output, caplog.text, *capfd.readouterr()])
    assert TOKEN not in everything
    for path in (*data_dir.rglob("*"), *(tmp_path / "release").rglob("*"), *(tmp_path / "home").rglob("*")):
        assert not path.is_file() or TOKEN.encode() not in path.read_bytes(), path


async def test_prolific_tells_what_has_changed(
    site: StandIn, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signed call hastens a look; one that is not signed does nothing; the workspace's secret is not replaced."""
    monkeypatch.setattr(market, "POLL_S", 600.0)
    monkeypatch.setattr(market, "NOTICED_S", 0.05)
    monkeypatch.setattr(site_server, "LOOK_S", 0.05)
    site.market.secrets[site.workspace.id] = {"id": "1", "value": "ours", "workspace_id": site.workspace.id}
    async with on_prolific(data_dir, "mephisto.provider.webhooks=true") as run:
        await eventually(lambda: open_places(site) > 0)
        (subscription,) = site.market.subscriptions.values()
        assert subscription.confirmed
        looks = len(site.journal.of("GET studies/{}/submissions/counts/"))
        path = urlsplit(subscription.target_url).path
        async with aiohttp.ClientSession() as session:
            headers = {arrivals.CALL_TIME: "1", arrivals.CALL_SIGNATURE: hook_signature("theirs", "1", b"{}")}
            async with session.post(f"{local_url(run)}{path}", data=b"{}", headers=headers) as answer:
                assert answer.status == 403
            async with session.post(f"{local_url(run)}{path}", data=b"{}") as answer:
                assert answer.status == 403
        assert len(site.journal.of("GET studies/{}/submissions/counts/")) == looks
        async with FromProlific(run, site, "ann") as ann:
            await ann.begin_work()
            ann.person.give_back()
            await eventually(lambda: len(site.journal.of("GET studies/{}/submissions/counts/")) > looks)
            await eventually(lambda: any(event.status == "SUCCEEDED" for event in site.market.events))
    assert not site.market.subscriptions
    assert site.market.secrets[site.workspace.id]["value"] == "ours"


async def test_what_a_killed_launch_subscribed_to_ends_with_the_next(
    site: StandIn, data_dir: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """That of others stays; and a launch goes well though Prolific answers a subscription with a word."""
    site.market.secrets[site.workspace.id] = {"id": "1", "value": "ours", "workspace_id": site.workspace.id}
    others = Subscription("others", site.workspace.id, arrivals.EVENT, "https://lab.example/hooks/theirs", "")
    site.market.subscriptions["others"] = others
    with monkeypatch.context() as killed:
        killed.setattr(arrivals.Hooks, "unsubscribe", lambda self: None)
        async with on_prolific(data_dir, "mephisto.provider.webhooks=true"):
            await eventually(lambda: len(site.market.subscriptions) == 2)
    (left,) = {*site.market.subscriptions} - {"others"}
    site.faults.next("POST hooks/subscriptions/", Fault(change=lambda answer: "made"))
    async with on_prolific(data_dir, "mephisto.provider.webhooks=true"):
        await eventually(lambda: left not in site.market.subscriptions)
        await eventually(lambda: "it is asked every few seconds, as without webhooks=true" in caplog.text)
        assert "others" in site.market.subscriptions
