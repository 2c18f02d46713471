"""Pages that are served from elsewhere: what lacks is said before anything is written, and confs go there by one word."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from omegaconf import OmegaConf

from mephisto_tasks.adapter import architect as hosting
from mephisto_tasks.config.task import ConfigError
from mephisto_tasks.launch.config import compose_config
from mephisto_tasks.launch.launch import run_launch
from parlai_humaneval.cli import main

ON_EC2 = ("server=ec2", "mephisto.architect.profile_name=lab")


@pytest.fixture
def nothing_set_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine where Heroku's program, AWS's keys and Mephisto's shared machines are looked for in an empty folder."""
    monkeypatch.setattr(hosting, "get_mephisto_tmp_dir", lambda: str(tmp_path))
    monkeypatch.setattr(hosting.ec2_helpers, "DEFAULT_FALLBACK_FILE", str(tmp_path / "fallback.json"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def put_heroku(folder: Path, *, logged_in: bool) -> Path:
    """A command line of Heroku's that answers as theirs does."""
    program = folder / "heroku" / "heroku-cli-v7" / "bin" / "heroku"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho me@example.org\nexit {0 if logged_in else 100}\n")
    program.chmod(0o755)
    return program


def test_heroku_wants_its_program_and_somebody_logged_in(nothing_set_up: Path) -> None:
    """Guards against Mephisto's own way: a download in the middle of a launch, and a bare exception."""
    assert any("Heroku's command line is not installed" in lack for lack in hosting.lacks("heroku", {}))
    program = put_heroku(nothing_set_up, logged_in=False)
    assert f"nobody is logged in to Heroku on this machine: {program} login -i" in hosting.lacks("heroku", {})
    program.write_text("#!/bin/sh\nexit 0\n")
    assert not [lack for lack in hosting.lacks("heroku", {}) if "Heroku" in lack]


def test_ec2_wants_keys_and_the_machines_that_studies_share(nothing_set_up: Path) -> None:
    """Guards against bare assertions; each thing that lacks is named with what to do."""
    lack = "; ".join(hosting.lacks("ec2", {"profile_name": "lab"}))
    assert "no profile 'lab' with keys" in lack
    assert "python -m mephisto_tasks._util.compat mephisto.abstractions.architects.ec2.prepare_ec2_servers" in lack
    assert "profile_name=…" in "; ".join(hosting.lacks("ec2", {}))
    details = nothing_set_up / "fallback.json"
    details.write_text("{")
    assert f"{details} is damaged" in "; ".join(hosting.lacks("ec2", {"profile_name": "lab"}))
    details.write_text(json.dumps(dict.fromkeys(hosting.FALLBACK_KEYS[1:], "x")))
    assert f"{details} lacks domain" in "; ".join(hosting.lacks("ec2", {"profile_name": "lab"}))


def test_a_launch_says_so_before_anything_is_written(nothing_set_up: Path) -> None:
    """Guards against a half-made launch: no database and no run of a study whose pages nobody could serve."""
    data_dir = nothing_set_up / "data"
    config = compose_config("pw_turn", "local", ["server=heroku"])
    wanted = r"server=heroku is not set up here: .*command line is not installed"
    with pytest.raises(ConfigError, match=wanted), run_launch("pw_turn", config, data_dir):
        pytest.fail("it was launched")
    assert not (data_dir / "database.db").exists()


@pytest.mark.parametrize("place", ["local", "mturk_sandbox"])
@pytest.mark.parametrize("server", [("server=heroku",), ON_EC2], ids=["heroku", "ec2"])
def test_every_place_goes_with_every_server(place: str, server: tuple[str, ...]) -> None:
    """Guards the two words: neither knows of the other, and what only this machine's server has is not asked for."""
    requester = [] if place == "local" else ["mephisto.provider.requester_name=me"]
    models = "mephisto.blueprint.models=[eliza,retrieval]"
    config = compose_config("pw_turn", "local", [f"place={place}", *server, *requester, models])
    assert config.mephisto.architect._architect_type == server[0].removeprefix("server=")
    assert "port" not in config.mephisto.architect
    assert OmegaConf.missing_keys(config) <= {
        "mephisto.architect.server_source_path",
        "mephisto.blueprint.block_qualification",
    }


def test_an_unknown_server_is_refused() -> None:
    """Guards against a misspelt word."""
    with pytest.raises(
        ConfigError, match=r"no server 'herokku'\. Did you mean heroku\? Choose one of: ec2, here, heroku"
    ):
        compose_config("pw_turn", "local", ["server=herokku"])


def test_doctor_says_what_a_server_lacks(nothing_set_up: Path) -> None:
    """Guards who sets it up: each lack is a line of its own, and the exit code tells programs."""
    command = ["doctor", "--server", "heroku", "--json", "--data-dir", str(nothing_set_up / "data"), "--port", "39461"]
    ended = CliRunner().invoke(main, command)
    assert ended.exit_code == 1
    findings = [line for line in json.loads(ended.stdout)["findings"] if line["what"] == "Server heroku"]
    assert [line["status"] for line in findings] == ["error"] * len(hosting.lacks("heroku", {}))
    assert "Heroku's command line is not installed" in findings[-1]["found"]
