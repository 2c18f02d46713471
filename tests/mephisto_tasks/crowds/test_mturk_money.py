"""Real money: the total comes first, and nothing is made before somebody agreed to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from mturk_hands import arguments, mturk_at_home
from servers.mturk import CLOCK_WRONG, DENIED, NOT_LINKED, THROTTLED, UNAVAILABLE, AwsError, StandIn
from stored_study import StoredStudy, choices

import mephisto_tasks
from mephisto_tasks.cli import options as agreeing
from mephisto_tasks.cli.doctor import providers
from mephisto_tasks.cli.launch import launch
from mephisto_tasks.cli.requester import requester
from mephisto_tasks.crowds.mturk.launch import fee_share, quote
from mephisto_tasks.payments.policy import Quote


@pytest.fixture
def mturk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StandIn]:
    with mturk_at_home(monkeypatch, tmp_path, sandbox=False, deposited="10.00") as mturk:
        yield mturk


def run(folder: Path, *more: str, place: str = "mturk", dialogues: int = 10, typed: str | None = None) -> Result:
    settings = arguments(folder, place, f"mephisto.blueprint.dialogues_per_group={dialogues}", *more)
    return CliRunner().invoke(launch, ["pw_turn", "--data-dir", str(folder / "data"), *settings], input=typed)


def total(**changes: Any) -> Quote:
    values: dict[str, Any] = {
        "provider": "mturk",
        "requester": "lab",
        "endpoint": "https://mturk.example",
        "units": 10,
        "reward": Decimal("0.50"),
        "share": fee_share(masters_only=False),
        "most_open": 10,
        "balance": Decimal("10.00"),
    }
    return quote(**(values | changes))


@pytest.mark.parametrize(
    ("changes", "rewards", "fees", "all_of_it"),
    [
        ({}, "5.00", "1.00", "6.00"),
        ({"reward": Decimal("0.01")}, "0.10", "0.10", "0.20"),  # at least a cent of fee for each
        ({"reward": Decimal("0.13")}, "1.30", "0.30", "1.60"),  # that of each is rounded
        ({"reward": Decimal("0.12")}, "1.20", "0.20", "1.40"),
        ({"bonus_budget": Decimal("2.00")}, "5.00", "1.00", "8.40"),
        ({"share": fee_share(masters_only=True)}, "5.00", "1.30", "6.30"),  # half a cent up
        ({"share": fee_share(masters_only=True), "bonus_budget": Decimal("2.00")}, "5.00", "1.30", "8.70"),
        ({"units": 0}, "0.00", "0.00", "0.00"),
    ],
)
def test_the_sum(changes: dict[str, Any], rewards: str, fees: str, all_of_it: str) -> None:
    one = total(**changes)
    assert [f"{amount:.2f}" for amount in (one.rewards, one.fees, one.total)] == [rewards, fees, all_of_it]
    assert f"${all_of_it}" in dict(one.table()).values()
    assert one.model_dump()["total"] == one.total


def test_it_refuses_without_a_terminal_and_makes_nothing(mturk: StandIn, tmp_path: Path) -> None:
    told = run(tmp_path)
    assert told.exit_code == 1
    assert "$6.00" in told.output
    assert "add --yes to agree" in told.output
    assert mturk.journal.names() == ["GetAccountBalance"]
    assert not (tmp_path / "data" / "database.db").exists()


@pytest.mark.parametrize(("typed", "outcome"), [("n\n", "Nothing was created"), ("\n", "Nothing was created")])
def test_it_asks_at_a_terminal(
    mturk: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, outcome: str
) -> None:
    """No is the answer of who only presses Enter."""
    monkeypatch.setattr(agreeing, "at_a_terminal", lambda: True)
    told = run(tmp_path, typed=typed)
    assert (told.exit_code, "Go on? [y/N]" in told.output, outcome in told.output) == (1, True, True)
    assert mturk.journal.names() == ["GetAccountBalance"]


def test_the_total_alone_as_words_and_as_json(mturk: StandIn, tmp_path: Path) -> None:
    more = ("mephisto.provider.bonus_budget=1", "mephisto.task.max_num_concurrent_units=3")
    told = run(tmp_path, "--total", *more)
    assert told.exit_code == 0
    for part in ("10 assignments at $0.50", "$5.00", "bonuses, at most", "$7.20", "balance of lab"):
        assert part in told.output
    read = json.loads(run(tmp_path, "--total", "--json", *more).stdout)
    assert (read["total"], read["most_open"], read["balance"], read["is_real"]) == ("7.20", 3, "10.00", True)
    assert set(mturk.journal.names()) == {"GetAccountBalance"}


def test_a_trial_elsewhere_is_told_before_money_is_spent(mturk: StandIn, tmp_path: Path) -> None:
    """``place=mturk`` is one word: what was tried in the sandbox, or here, counts unless the task has another name."""
    study = StoredStudy(tmp_path / "data", provider="mturk_sandbox", requester="lab_sandbox")
    study.add("my-trial", "ATRY_sandbox", choices("d1", [[1], [2]]))
    told = run(tmp_path, "mephisto.task.task_name=my-trial")
    assert told.exit_code == 1
    words = " ".join(told.output.split())
    assert "1 assignment done in MTurk's sandbox." in words
    assert words.index("MTurk's sandbox") < words.index("add --yes to agree")
    assert "MTurk's sandbox" not in run(tmp_path, "mephisto.task.task_name=my-study").output


def test_not_enough_in_the_account(mturk: StandIn, tmp_path: Path) -> None:
    told = run(tmp_path, "--yes", dialogues=20)
    assert told.exit_code == 1
    assert "has $10.00, but this launch can cost $12.00: add $2.00" in told.output
    assert mturk.journal.names() == [
        "GetAccountBalance",
        "ListHITs",
    ]  # what an earlier launch holds
    only_told = run(tmp_path, "--total", dialogues=20)
    assert (only_told.exit_code, "$12.00" in only_told.output) == (0, True), only_told.output


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("mephisto.task.task_reward=0.505", "at most two decimals"),
        ("mephisto.task.task_reward=-1", "task_reward: must be 0.0 or more"),
        ("mephisto.provider.bonus_budget=-1", "bonus_budget: must be 0.0 or more"),
        ("mephisto.task.assignment_duration_in_seconds=5", "assignment_duration_in_seconds: must be 30 or more"),
        ("mephisto.architect.frame_sites=[a.b]", "is not a site"),
        ("mephisto.provider.auto_approval_delay_in_seconds=9999999", "0 to 2592000 seconds"),
        (f"mephisto.task.task_title={'x' * 129}", "task_title has 129 characters, and MTurk accepts 128"),
        (
            f"mephisto.task.task_description={'x' * 2001}",
            "task_description has 2001 characters, and MTurk accepts 2000",
        ),
        (f"mephisto.task.task_tags={'x' * 1001}", "task_tags has 1001 characters, and MTurk accepts 1000"),
        ("mephisto.blueprint.workers.locales=[US-NY,CA-ON]", "MTurk can filter by parts of US only, not 'CA-ON'"),
    ],
)
def test_amounts_times_words_and_places_that_mturk_does_not_take(
    mturk: StandIn, tmp_path: Path, setting: str, told: str
) -> None:
    got = run(tmp_path, "--yes", setting)
    assert (got.exit_code, told in " ".join(got.output.split())) == (1, True), got.output
    assert "Loading the models" not in got.output
    assert "CreateHITType" not in mturk.journal.names()


def test_a_title_out_of_the_instructions_is_looked_at_before_models_load(mturk: StandIn, tmp_path: Path) -> None:
    """Where no title is set, MTurk shows that of the page."""
    words = tmp_path / "words.yaml"
    ours = Path(mephisto_tasks.__file__).parent / "presets" / "pw_turn" / "task_config" / "instructions.yaml"
    lines = ours.read_text(encoding="utf-8").splitlines()
    longer = [f"title: {'long ' * 30}" if line.startswith("title:") else line for line in lines]
    words.write_text("\n".join(longer), encoding="utf-8")
    got = run(tmp_path, "--yes", f"instructions_file={words}", "mephisto.task.task_title=''")
    assert (got.exit_code, "and MTurk accepts 128" in got.output) == (1, True), got.output
    assert "Loading the models" not in got.output


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (CLOCK_WRONG, "clock is wrong"),
        (AwsError("RequestExpired", "Request has expired."), "clock is wrong"),
        (
            AwsError("SignatureDoesNotMatch", "The request signature we calculated does not match."),
            "does not know these",
        ),
        (DENIED, "AmazonMechanicalTurkFullAccess"),
        (NOT_LINKED, "link the AWS"),
    ],
)
def test_what_mturk_refuses_is_told_in_a_sentence(mturk: StandIn, tmp_path: Path, error: AwsError, told: str) -> None:
    mturk.faults.always("GetAccountBalance", error)
    got = run(tmp_path, place="mturk_sandbox")
    assert (got.exit_code, told in " ".join(got.output.split())) == (1, True), got.output
    assert "Traceback" not in got.output


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("AWS_ACCESS_KEY_ID", "AKIAWRONG", "does not know these AWS keys"),
        ("AWS_ACCESS_KEY_ID", None, "there are no AWS keys for the requester 'lab'"),
        ("AWS_ENDPOINT_URL_MTURK", "https://mturk-requester.eu-west-1.amazonaws.com", "only in the region us-east-1"),
        ("AWS_ENDPOINT_URL_MTURK", "nonsense", "is not an address"),
    ],
)
def test_keys_and_addresses_that_are_wrong(
    mturk: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str | None, told: str
) -> None:
    monkeypatch.delenv(name) if value is None else monkeypatch.setenv(name, value)
    got = run(tmp_path, "mephisto.architect.public_url=https://my.host", place="mturk_sandbox")
    assert (got.exit_code, told in " ".join(got.output.split())) == (1, True), got.output


def test_the_region_of_the_environment_does_not_matter(
    mturk: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MTurk is in one region; the one that somebody set for other services is left alone."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    assert run(tmp_path, "--total").exit_code == 0


# Requesters


def requesters(data_dir: Path, *words: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(requester, [*words, "--data-dir", str(data_dir)], input=typed)


def test_requesters_by_the_environment(mturk: StandIn, data_dir: Path) -> None:
    added = requesters(data_dir, "add", "lab", "--provider", "mturk_sandbox")
    assert (added.exit_code, "requester_name=lab_sandbox" in added.output) == (0, True), added.output
    assert requesters(data_dir, "add", "lab", "--provider", "mturk").exit_code == 0
    checked = requesters(data_dir, "check")
    assert checked.exit_code == 0
    assert checked.output.count(f"balance $10.00, at {mturk.url}") == 2
    read = json.loads(requesters(data_dir, "check", "lab", "--json").stdout)
    assert (read[0]["provider"], read[0]["balance"], read[0]["wrong"]) == ("mturk", "10.00", None)
    assert any(
        f"requester lab (mturk): balance $10.00, at {mturk.url}" == finding.found for finding in providers(data_dir)
    )


def test_a_check_that_fails(mturk: StandIn, data_dir: Path) -> None:
    requesters(data_dir, "add", "lab", "--provider", "mturk_sandbox")
    mturk.faults.always("GetAccountBalance", DENIED)
    checked = requesters(data_dir, "check")
    assert (checked.exit_code, "AmazonMechanicalTurkFullAccess" in checked.output) == (1, True)
    assert [finding.status for finding in providers(data_dir)] == ["ok", "warning"]
    assert requesters(data_dir, "check", "nobody").exit_code == 1


def test_no_keys_and_no_terminal(mturk: StandIn, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what to give, and does not wait for an answer that cannot come."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    added = requesters(data_dir, "add", "lab", "--provider", "mturk_sandbox")
    assert added.exit_code == 1
    assert "AWS_ACCESS_KEY_ID" in added.output
    assert not data_dir.exists()


def test_waiting_has_an_end(mturk: StandIn, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look does not wait as long as work that must be done."""
    mturk.faults.always("GetAccountBalance", THROTTLED)
    requesters(data_dir, "add", "lab", "--provider", "mturk_sandbox")
    assert "too many requests" in requesters(data_dir, "check").output
    mturk.faults.always("GetAccountBalance", UNAVAILABLE)
    assert requesters(data_dir, "check").exit_code == 1
    monkeypatch.setenv("AWS_ENDPOINT_URL_MTURK", "http://127.0.0.1:9")
    assert "could not be reached" in requesters(data_dir, "check").output
