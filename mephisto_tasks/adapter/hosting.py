"""What a machine elsewhere (Heroku, EC2) needs to serve a study's pages, looked at before a launch writes anything."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

from omegaconf import DictConfig, OmegaConf

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.abstractions.architects.ec2 import ec2_helpers
from mephisto.utils.dirs import get_mephisto_tmp_dir

from mephisto_tasks.adapter.architect import ARCHITECT_TYPE, HumanevalLocalArchitect
from mephisto_tasks.config.names import ConfigError

Server = Literal["heroku", "ec2"]
SERVERS: tuple[Server, ...] = get_args(Server)
WHOAMI_S = 30
FALLBACK_KEYS = ("domain", "key_pair_name", "security_group_id", "vpc_details", "listener_arn")
"""What `prepare_ec2_servers` of Mephisto writes down of the machines that it makes once."""
CLI_ADDRESS = "https://devcenter.heroku.com/articles/heroku-cli"


def check_server(mephisto: DictConfig) -> None:
    """Whether pages can be served as the settings of a launch say. Raises ConfigError, PortInUse, CannotListen."""
    server = str(mephisto.architect._architect_type)
    if server == ARCHITECT_TYPE:
        HumanevalLocalArchitect.assert_task_args(mephisto, None)
    elif server in SERVERS:
        settings = OmegaConf.to_container(mephisto.architect, throw_on_missing=False)
        assert isinstance(settings, dict)
        if missing := lacks(server, {str(key): value for key, value in settings.items()}):
            raise ConfigError(f"server={server} is not set up here: {'; '.join(missing)}")


def lacks(server: str, settings: Mapping[str, object]) -> list[str]:
    """What is still to be done for one of SERVERS, a sentence each. ``settings``: those below ``mephisto.architect``."""
    return _heroku() if server == "heroku" else _ec2(str(settings.get("profile_name") or ""))


def _programs(*names: str) -> list[str]:
    return [f"the program `{name}` is not installed" for name in names if shutil.which(name) is None]


def _heroku() -> list[str]:
    missing = _programs("git", "node", "npm")
    program = heroku_program()
    if program is None:
        where = Path(get_mephisto_tmp_dir()) / "heroku"
        return [*missing, f"Heroku's command line is not installed: unpack it from {CLI_ADDRESS} into {where}"]
    try:
        known = subprocess.run([program, "auth:whoami"], capture_output=True, timeout=WHOAMI_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return [*missing, f"{program} does not run ({type(error).__name__}): install it again from {CLI_ADDRESS}"]
    if known.returncode != 0:
        missing.append(f"nobody is logged in to Heroku on this machine: {program} login -i")
    return missing


def heroku_program() -> Path | None:
    """Heroku's command line where Mephisto looks for it, which is not PATH; it would fetch one that is not there."""
    folders = sorted((Path(get_mephisto_tmp_dir()) / "heroku").glob("heroku-cli-*"))
    program = folders[0] / "bin" / "heroku" if folders else None
    return program if program is not None and program.is_file() else None


def _ec2(profile: str) -> list[str]:
    missing = _programs("ssh", "scp", "node", "npm")
    if not profile:
        missing.append("no AWS profile is named: profile_name=…")
    elif not ec2_helpers.check_aws_credentials(profile):
        missing.append(f"~/.aws/credentials has no profile {profile!r} with keys")
    details = Path(ec2_helpers.DEFAULT_FALLBACK_FILE)
    prepare = "python -m mephisto_tasks._util.compat mephisto.abstractions.architects.ec2.prepare_ec2_servers"
    try:
        known = json.loads(details.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return [*missing, f"the machines that all studies share do not exist yet: run `{prepare}` once to create them"]
    except ValueError:
        return [*missing, f"{details} is damaged: `{prepare}` writes it again"]
    absent = [key for key in FALLBACK_KEYS if key not in known]
    return [*missing, f"{details} lacks {', '.join(absent)}: `{prepare}` continues"] if absent else missing
