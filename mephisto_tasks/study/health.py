"""Checks of an installation: each says what it found, and how to mend what is wrong."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from packaging.requirements import Requirement

from parlai_humaneval.statistics.wording import counted

if TYPE_CHECKING:
    from mephisto_tasks.study.hosting import Server
    from parlai_humaneval.models.checking import State
    from parlai_humaneval.models.zoo.entries import ModelSpec

DISTRIBUTION = "parlai-humaneval"
OLDEST_NODE = 18


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. ``mend``: what to do, empty where there is nothing to do."""

    what: str
    status: Literal["ok", "warning", "error"]
    found: str
    mend: str = ""


def examine(data_dir: Path, host: str, port: int) -> list[Finding]:
    """Every check that needs no model in memory."""
    checks: list[Callable[[], list[Finding]]] = [
        lambda: [python_version()],
        packages,
        lambda: [plain_parlai()],
        lambda: [mephisto_imports()],
        lambda: [page()],
        lambda: [node()],
        lambda: [port_free(host, port)],
        lambda: [data_directory(data_dir)],
        lambda: providers(data_dir),
        models,
    ]
    return [finding for check in checks for finding in check()]


def python_version() -> Finding:
    version = ".".join(str(part) for part in sys.version_info[:3])
    if (3, 10) <= sys.version_info[:2] <= (3, 11):
        return Finding("Python", "ok", version)
    return Finding(
        "Python", "error", version, "ParlAI's numpy needs Python 3.10 or 3.11: make a new environment with one"
    )


def packages() -> list[Finding]:
    """Installed packages against the ranges that the distribution asks for."""
    try:
        wanted = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return [
            Finding("Packages", "error", f"{DISTRIBUTION} is not installed", "run `make install`, or pip install it")
        ]
    problems = [problem for line in wanted if (problem := _package_problem(Requirement(line)))]
    if not problems:
        names = ("parlai", "mephisto", "torch", "numpy")
        return [Finding("Packages", "ok", ", ".join(f"{name} {metadata.version(name)}" for name in names))]
    mend = "run `make install`, or: pip install -c constraints.txt parlai-humaneval"
    return [Finding("Packages", "error", problem, mend) for problem in problems]


def _package_problem(wanted: Requirement) -> str | None:
    if wanted.marker is not None and not wanted.marker.evaluate({"extra": ""}):
        return None
    try:
        found = metadata.version(wanted.name)
    except metadata.PackageNotFoundError:
        return f"{wanted.name} is missing (wanted: {wanted})"
    if wanted.specifier.contains(found, prereleases=True):
        return None
    return f"{wanted.name} {found} does not fit {wanted.specifier}"


def plain_parlai(python: str = sys.executable) -> Finding:
    """Whether the start of Python has told ParlAI's commands of this package."""
    known = subprocess.run(
        [python, "-c", "import sys; sys.exit('parlai_humaneval_hook' not in sys.modules)"], check=False
    )
    if known.returncode == 0:
        return Finding("Plain parlai", "ok", "finds this package's agents, presets and scripts")
    return Finding(
        "Plain parlai",
        "warning",
        "does not find this package (`parlai-humaneval parlai …` does)",
        "install it again, so that its path file is there: `make install`, or pip install",
    )


def mephisto_imports() -> Finding:
    from mephisto_tasks import compat

    began = time.perf_counter()
    try:
        compat.prepare()
        from mephisto_tasks.study import launching  # noqa: F401  (the import is the check)
    except Exception as error:  # noqa: BLE001  (whatever stops the import is the finding)
        return Finding(
            "Mephisto", "error", f"cannot be imported: {type(error).__name__}: {error}", "run `make install`"
        )
    return Finding("Mephisto", "ok", f"imports in {time.perf_counter() - began:.1f} s")


def page() -> Finding:
    from mephisto_tasks.engine.blueprint import WebAppMissing, webapp_dist

    try:
        folder = webapp_dist()
    except WebAppMissing as error:
        return Finding("Rater's page", "error", "not built", str(error))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Finding("Rater's page", "ok", f"built, {size / 1000:.0f} kB")


def node() -> Finding:
    """Node is needed to build the page, never to launch."""
    found = shutil.which("node")
    if found is None:
        return Finding(
            "Node.js", "warning", "not found", f"only needed to change the page: install {OLDEST_NODE} or newer"
        )
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    digits = version.removeprefix("v").partition(".")[0]
    if digits.isdigit() and int(digits) >= OLDEST_NODE:
        return Finding("Node.js", "ok", f"{version} (only needed to change the page)")
    mend = f"only needed to change the page: install {OLDEST_NODE} or newer"
    return Finding("Node.js", "warning", f"{version or 'does not run'}", mend)


def port_free(host: str, port: int) -> Finding:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            mend = "stop the program that uses it, or launch with mephisto.architect.port=… (demo: --port …)"
            return Finding("Port", "error", f"{host}:{port} cannot be listened on ({error.strerror})", mend)
    return Finding("Port", "ok", f"{host}:{port} is free")


def data_directory(data_dir: Path) -> Finding:
    from mephisto_tasks.stored.results import ResultsError, task_names

    parent = next((folder for folder in (data_dir, *data_dir.parents) if folder.exists()), data_dir)
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        return Finding("Data directory", "error", f"{data_dir} cannot be written", "name another one with --data-dir")
    if not (data_dir / "database.db").exists():
        return Finding("Data directory", "ok", f"{data_dir} (empty: nothing was launched from it yet)")
    try:
        names = task_names(data_dir)
    except ResultsError as error:
        return Finding(
            "Data directory", "error", str(error), "restore database.db from a copy, or use another --data-dir"
        )
    return Finding("Data directory", "ok", f"{data_dir} ({counted(len(names), 'task')})")


def providers(data_dir: Path) -> list[Finding]:
    """Local raters need nothing; MTurk needs a registered requester."""
    from mephisto_tasks.stored.results import ResultsError, requesters

    local = Finding("Provider mock", "ok", "raters on this machine: nothing to set up")
    try:
        found = requesters(data_dir) if (data_dir / "database.db").exists() else []
    except ResultsError:
        found = []  # said under “Data directory”
    known = [(name, kind) for name, kind in found if kind.startswith("mturk")]
    if not known:
        mend = "only for MTurk: parlai-humaneval requester add NAME --provider mturk_sandbox"
        return [local, Finding("Provider mturk", "warning", "no requester is registered in this data directory", mend)]
    return [local, *(_requester(name, kind) for name, kind in known)]


def _requester(name: str, kind: str) -> Finding:
    """Whether MTurk answers in a requester's name."""
    from mephisto_tasks.crowds.mturk.requesters import check_requester

    seen = check_requester(name, kind)
    if seen.wrong is not None:
        return Finding(f"Provider {kind}", "warning", f"requester {name}", seen.wrong)
    return Finding(f"Provider {kind}", "ok", f"requester {name}: balance ${seen.balance:,.2f}, at {seen.endpoint}")


def server(name: Server, profile: str) -> list[Finding]:
    """Whether pages can be served from Heroku or EC2; ``profile`` is AWS's."""
    from mephisto_tasks.study import hosting

    missing = hosting.lacks(name, {"profile_name": profile})
    what = f"Server {name}"
    return [Finding(what, "error", lack) for lack in missing] or [Finding(what, "ok", f"ready for server={name}")]


MODELS_ARE: dict[State, str] = {
    "ready": "ready",
    "to download": "downloaded at their first load",
    "to train": "to be trained on this machine first",
    "to serve": "asked of a server, which you start",
    "in a launch": "there in a launch only",
    "cannot": "not to be used here as it is",
}


def models() -> list[Finding]:
    """How many of the configured models are ready, and what the others need; nothing is loaded or downloaded."""
    from parlai_humaneval.models.checking import check
    from parlai_humaneval.models.zoo.entries import load_zoo

    by_state: dict[State, list[str]] = {state: [] for state in MODELS_ARE}
    for spec in load_zoo().values():
        by_state[check(spec).state].append(spec.name)
    ready = by_state.pop("ready")
    others = [f"{len(names)} {MODELS_ARE[state]}" for state, names in by_state.items() if names]
    return [
        Finding("Models", "ok" if ready else "warning", f"ready: {', '.join(ready) or 'none'}"),
        Finding("Other models", "ok", f"{'; '.join(others)} (`parlai-humaneval models check --all` lists them)"),
    ]


def load_models(names: Sequence[str]) -> list[Finding]:
    """Load each model and ask it one thing. Raises ZooError for a name that nobody knows."""
    from parlai_humaneval.models.zoo.entries import load_zoo, resolve

    zoo = load_zoo()
    wanted = list(zoo.values()) if list(names) == ["all"] else resolve(names, zoo)
    return [_load(spec) for spec in wanted]


def _load(spec: ModelSpec) -> Finding:
    from parlai_humaneval.models.checking import load_and_ask

    began = time.perf_counter()
    try:
        text = load_and_ask(spec)["reply"]
    except Exception as error:  # noqa: BLE001  (a model is somebody else's code: what it raises is the finding)
        mend = "; ".join(spec.needs) or "see `parlai-humaneval models check`"
        return Finding(f"Model {spec.name}", "error", f"{type(error).__name__}: {error}"[:500], mend)
    return Finding(f"Model {spec.name}", "ok", f"answers “{text}” ({time.perf_counter() - began:.1f} s with loading)")
