"""Amazon closed MTurk: one sentence says so, and what to use instead, wherever somebody would go there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from click.testing import CliRunner
from mturk_hands import arguments, mturk_at_home

import mephisto_tasks
from mephisto_tasks.cli.doctor import providers
from mephisto_tasks.config.task import WorkerRules
from mephisto_tasks.crowds.mturk.client import explained
from mephisto_tasks.crowds.mturk.settings import CLOSED, ENDPOINT_ENV
from mephisto_tasks.crowds.registry import crowds
from parlai_humaneval.cli import main

ROOT = Path(mephisto_tasks.__file__).parents[1]


@pytest.fixture
def amazons(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Requests would go to Amazon, and there are no keys."""
    for name in (*ENDPOINT_ENV, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name, file in (("AWS_SHARED_CREDENTIALS_FILE", "credentials"), ("AWS_CONFIG_FILE", "config")):
        monkeypatch.setenv(name, str(tmp_path / file))


def said(*words: str) -> str:
    return " ".join(CliRunner().invoke(main, list(words)).output.split())


def refusal(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "GetAccountBalance")


@pytest.mark.parametrize("file", ["README.md", "docs/pages/crowds/mturk.md", "docs/pages/studies/trouble.md"])
def test_texts_have_the_sentence(file: str) -> None:
    path = ROOT / file
    if not path.is_file():
        pytest.skip("an installed package has no documentation")
    assert CLOSED in " ".join(path.read_text(encoding="utf-8").replace("`", "").split())


@pytest.mark.parametrize("command", ["launch", "requester"])
def test_help_has_the_sentence(command: str) -> None:
    assert CLOSED in said(command, "--help")


def test_no_conf_sends_anybody_there() -> None:
    confs = list((ROOT / "mephisto_tasks" / "presets").rglob("*.yaml"))
    assert confs
    assert [path.name for path in confs if "place=mturk" in path.read_text(encoding="utf-8")] == []


def test_a_launch_there_ends_with_what_to_use_instead(amazons: None, tmp_path: Path) -> None:
    told = said(
        "launch",
        "pw_turn",
        "--data-dir",
        str(tmp_path / "data"),
        *arguments(tmp_path, "mturk", "public_url=https://a.example"),
    )
    assert "AWS_ACCESS_KEY_ID" in told
    assert CLOSED.partition(":")[0] in told
    assert "place=link" in told


def test_who_sets_a_study_up_there_is_told_before_its_account_and_address(amazons: None, tmp_path: Path) -> None:
    """Guards who opens an account and finds an address first, for a site that is closed."""
    study = str(tmp_path / "study.yaml")
    assert CLOSED in said("new", "--yes", "--out", study, "place=mturk")
    refused = said("launch", study, "--data-dir", str(tmp_path / "data"))
    assert CLOSED in refused
    assert "add requester_name=… public_url=…" in refused
    assert "Loading" not in refused  # what is missing is seen without Mephisto


def test_the_total_of_a_place_without_a_price_is_refused_at_once(tmp_path: Path) -> None:
    refused = said("launch", "pw_turn", "--total", "--data-dir", str(tmp_path / "data"))
    assert refused.startswith("error: `--total` works only with a crowd that you pay")


def test_doctor_says_it(amazons: None, tmp_path: Path) -> None:
    assert CLOSED in [finding.found for finding in providers(tmp_path)]


@pytest.mark.parametrize(
    ("error", "adds_it"),
    [
        (EndpointConnectionError(endpoint_url="https://mturk-requester.us-east-1.amazonaws.com"), True),
        (refusal("AccessDeniedException"), True),
        (refusal("SomethingNewOfAmazons"), True),
        (refusal("ThrottlingException"), False),
        (refusal("AWS.MechanicalTurk.HITDoesNotExist"), False),
    ],
)
def test_the_sites_own_answer_decides(
    amazons: None, error: Any, adds_it: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it answers as it always did, that is what is said; of other sites the sentence is not true."""
    assert str(explained(error, "ask")).endswith(CLOSED) == adds_it
    monkeypatch.setenv("AWS_ENDPOINT_URL_MTURK", "https://requester.a-site-of-yours.example")
    assert CLOSED not in str(explained(error, "ask"))


def test_another_site_is_launched_on_as_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with mturk_at_home(monkeypatch, tmp_path, sandbox=False, deposited="10.00"):
        told = said("launch", "pw_turn", "--data-dir", str(tmp_path / "data"), "--total", *arguments(tmp_path, "mturk"))
    assert "balance of lab" in told
    assert "Amazon closed" not in told


def test_rules_that_only_mturk_checked_send_nobody_there(amazons: None) -> None:
    """Guards the remark of a launch on this machine with a paper's rules."""
    (local,) = (crowd for crowd in crowds() if crowd.place == "local")
    (remark,) = local.remarks(WorkerRules(locales=["US"]), {})
    assert "workers.locales" in remark
    assert "mturk" not in remark.lower()
