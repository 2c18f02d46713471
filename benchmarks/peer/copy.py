"""A copy of Mephisto in which its own way of launching can run: it builds and installs inside its package.

Nothing is ever written to the installed package. Two versions that Mephisto's page asks for are no longer on npm
(mephisto-task 2.0.3, bootstrap-chat 2.0.1); the copy asks for the next ones.
"""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

from benchmarks.processes import environment

ON_NPM = {"mephisto-task": "2.0.4", "bootstrap-chat": "2.0.2"}


FRONTEND = "frontend"
"""Folder of ParlAI's own page below the task's folder. Its sources are not in ParlAI's wheel: it stays empty, and
Mephisto builds its standard page in its place."""


def copy_mephisto(folder: Path) -> Path:
    """Copy Mephisto to ``folder``, and return the folder to put on ``PYTHONPATH``."""
    spec = find_spec("mephisto")
    assert spec is not None
    assert spec.origin is not None
    target = folder / "mephisto"
    shutil.copytree(Path(spec.origin).parent, target, ignore=shutil.ignore_patterns("node_modules", "tmp", "build"))
    webapp = target / "abstractions" / "blueprints" / "parlai_chat" / "webapp"
    package = webapp / "package.json"
    wanted = json.loads(package.read_text(encoding="utf-8"))
    wanted["dependencies"].update(ON_NPM)
    package.write_text(json.dumps(wanted), encoding="utf-8")
    (webapp / "package-lock.json").unlink()  # it holds the versions that are gone
    return folder


def place_pages(copy: Path, task_folder: Path) -> None:
    """Put pages without content where Mephisto looks for built ones, so that it calls npm for its router only."""
    webapp = copy / "mephisto" / "abstractions" / "blueprints" / "parlai_chat" / "webapp"
    for build in (webapp / "build", task_folder / FRONTEND / "_generated" / "build"):
        build.mkdir(parents=True)
        (build / "bundle.js").write_text("// no page\n", encoding="utf-8")


def peer_environment(home: Path, copy: Path) -> dict[str, str]:
    """Environment in which ``import mephisto`` finds the copy, and npm a cache of its own."""
    env = environment(home, npm_config_legacy_peer_deps="true", npm_config_update_notifier="false")
    data = home / "mephisto"
    data.mkdir(exist_ok=True)
    config = home / ".mephisto" / "config.yml"
    config.parent.mkdir(exist_ok=True)
    # Without it Mephisto asks on the terminal.
    config.write_text(json.dumps({"core": {"main_data_directory": str(data)}}), encoding="utf-8")
    return {**env, "PYTHONPATH": f"{copy}:{env['PYTHONPATH']}"}
