"""Accounts on Prolific: the token is asked for and hidden, kept for its owner, checked, shown, and deleted."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from prolific_hands import prolific_at_home
from prolific_study import ProlificStudy
from servers.prolific import BAD_GATEWAY, TOKEN, StandIn
from turk_study import TASK, whole

from mephisto_tasks.cli import requester as command
from mephisto_tasks.cli.doctor import providers
from mephisto_tasks.cli.requester import requester
from mephisto_tasks.crowds.prolific import accounts
from mephisto_tasks.crowds.prolific.client import Patience, token_names


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StandIn]:
    with prolific_at_home(monkeypatch, tmp_path / "home", currency="GBP") as prolific:
        monkeypatch.delenv("PROLIFIC_TOKEN")
        monkeypatch.setattr(command, "at_a_terminal", lambda: True)
        monkeypatch.setattr(accounts.api, "BRIEF", Patience(tries=1))
        yield prolific


def asked(data_dir: Path, *words: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(requester, [*words, "--data-dir", str(data_dir)], input=typed)


def test_a_token_is_asked_for_kept_and_deleted(site: StandIn, data_dir: Path, tmp_path: Path) -> None:
    added = asked(data_dir, "add", "lab", "--provider", "prolific", typed=f"{TOKEN}\n")
    assert added.exit_code == 0, added.output
    assert "API token" in added.output
    assert TOKEN not in added.output
    assert "place=prolific requester_name=lab" in added.output
    assert f"lab (prolific): workspace The lab ({site.workspace.id}), balance £100.00, at {site.base}" in added.output
    (kept,) = (path for path in (tmp_path / "home").rglob("*") if path.is_file() and TOKEN in path.read_text())
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    site.market.open_workspace(TOKEN, title="Abroad", currency="USD", total=12_34)
    checked = json.loads(asked(data_dir, "check", "lab", "--json").stdout)
    assert [(one["currency"], one["balance"]) for one in checked] == [("GBP", "100.00"), ("USD", "12.34")]
    assert "token of lab was deleted here" in asked(data_dir, "forget", "lab").output
    assert token_names() == []
    check = asked(data_dir, "check", "lab")
    assert (check.exit_code, "there is no Prolific token for the requester 'lab'" in check.output) == (1, True)


def test_a_wrong_token_is_not_kept(site: StandIn, data_dir: Path) -> None:
    said = asked(data_dir, "add", "lab", "--provider", "prolific", typed="mistyped\n")
    assert said.exit_code == 1
    assert "cannot register lab: Prolific does not" in said.output
    assert token_names() == []
    assert json.loads(asked(data_dir, "list", "--json").stdout) == []


def test_the_environment_has_the_token(site: StandIn, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROLIFIC_TOKEN", TOKEN)
    said = asked(data_dir, "add", "lab", "--provider", "prolific")
    assert "Its token comes from PROLIFIC_TOKEN and is not stored" in said.output
    assert token_names() == []
    assert "no access key id" in asked(data_dir, "add", "lab", "--provider", "prolific", "--access-key-id", "A").output


def test_help_says_what_keys_must_be_allowed(site: StandIn, data_dir: Path) -> None:
    said = " ".join(CliRunner().invoke(requester, ["add", "--help"]).output.split())
    assert "Settings → API tokens" in said
    assert "policy AmazonMechanicalTurkFullAccess" in said
    assert "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" in said
    assert "requester add my_lab --provider prolific" in said


def test_doctor_names_what_is_left_open(site: StandIn, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A study that is open though no launch is following it; ``expire`` pauses it."""
    monkeypatch.setenv("PROLIFIC_TOKEN", TOKEN)
    study = ProlificStudy(data_dir, site)
    study.does(whole("a"))
    found = {(one.status, one.found): one.mend for one in providers(data_dir) if one.what == "Provider prolific"}
    left = ("warning", f"study {study.id} is ACTIVE, but no launch is following it")
    assert f"requester expire --task-name {TASK}" in found[left]
    assert (
        "ok",
        f"requester lab (prolific): workspace The lab ({site.workspace.id}), balance £63.25, at {site.base}",
    ) in {*found}
    assert "1 assignment of" in asked(data_dir, "expire", "--task-name", TASK).output
    assert site.market.studies[study.id].status == "PAUSED"
    site.faults.always("*", BAD_GATEWAY)
    (wrong,) = (one for one in providers(data_dir) if one.what == "Provider prolific")
    assert (wrong.status, "out of order" in wrong.mend or "status 502" in wrong.mend) == ("warning", True)
