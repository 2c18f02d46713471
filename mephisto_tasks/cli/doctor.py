"""``parlai-humaneval doctor``: checks of this installation. Each reports its findings, and how to fix problems."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import logging
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from rich.markup import escape

from mephisto_tasks.cli.options import console, described, waiting_for
from mephisto_tasks.storage.provider_names import Finding, Status
from parlai_humaneval._util import installing
from parlai_humaneval._util.files import open_to_strangers
from parlai_humaneval._util.terminal import say_json
from parlai_humaneval.cli.errors import WrongUsage
from parlai_humaneval.cli.options import table_console
from parlai_humaneval.statistics.core.formatting import counted

if TYPE_CHECKING:
    from mephisto_tasks.adapter.architect import Server
    from mephisto_tasks.launch.preparation import Statuses
    from parlai_humaneval.models.check import Checked, State
    from parlai_humaneval.models.zoo.entries import ModelSpec


PROVIDER = "Provider "  # Begins what findings on crowds are called
LINES = (
    ("Python", ("Python", "Packages")),
    ("Rater's page", ("Rater's page",)),
    ("Port", ("Port",)),
    ("Data directory", ("Data directory",)),
    ("Statuses", ("Statuses",)),
    ("Raters", (PROVIDER,)),
    ("Models", ("Models",)),
)
"""Headings of the checks that passed, and the checks that share a line."""
UNTOLD = ("Plain parlai", "Mephisto", "Node.js", "Privacy")  # Has a line only where it is not right
MARKS = {"ok": "[green]ok[/green]", "warning": "[yellow]look[/yellow]", "error": "[red]wrong[/red]"}


@described("doctor")
def doctor(
    data_dir: Path,
    host: str,
    port: int,
    with_models: bool,
    load: str | None,
    server: Server | None,
    profile: str,
    repair: bool,
    as_json: bool,
) -> None:
    if profile and server != "ec2":
        raise WrongUsage("--profile needs --server ec2", try_="add --server ec2, or leave --profile out")
    checked: list[Checked] | None = None
    wanted = named_models([name.strip() for name in load.split(",") if name.strip()]) if load else []
    with waiting_for("Checking this installation…"):
        findings = examine(data_dir, host, port)
        of_statuses, rewritten = statuses(data_dir, repair=repair)
        findings += of_statuses
        if server:
            from mephisto_tasks.adapter import architect as hosting

            ready = [Finding(f"Server {server}", "ok", f"ready for server={server}")]
            missing = hosting.lacks(server, {"profile_name": profile})
            findings += [Finding(f"Server {server}", "error", lack) for lack in missing] or ready
    if with_models:
        with waiting_for("Checking what each model needs…"):
            from parlai_humaneval.models.check import check
            from parlai_humaneval.models.zoo.entries import load_zoo

            with nothing_said():
                checked = [check(spec) for spec in load_zoo().values()]
        states = [one.state for one in checked]
        counts = [f"{states.count(state)} {MODELS_ARE[state]}" for state in MODELS_ARE if state in states]
        findings.append(Finding("All models", "ok", "; ".join(counts)))
    for spec in wanted:
        with waiting_for(f"Loading {spec.name}…"):
            findings.append(load_model(spec))
    wrong = [finding for finding in findings if finding.status == "error"]
    if as_json:
        said = {"ok": not wrong, "verdict": closing_sentence(findings), "findings": [asdict(each) for each in findings]}
        told = {"statuses": None if rewritten is None else rewritten.model_dump()}
        say_json({**said, **told, "models": None if checked is None else [one.as_json() for one in checked]})
    else:
        _print(findings, checked)
    sys.exit(1 if wrong else 0)


def _print(findings: Sequence[Finding], checked: Sequence[Checked] | None) -> None:
    from rich.table import Table

    from parlai_humaneval.cli.models import table_of

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for _ in range(3):
        table.add_column(overflow="fold")  # an address that is cut off helps nobody
    for name, status, text in lines(findings):
        table.add_row(MARKS[status], f"[bold]{name}[/bold]", escape(text))
    console().print(table)
    if checked is not None:
        click.echo()
        table_console().print(table_of(checked))
    click.echo(f"\n{closing_sentence(findings)}")


def lines(findings: Sequence[Finding]) -> list[tuple[str, Status, str]]:
    """What is printed: name, status and text; what is right stands together, and each finding that is not by itself."""
    of_line = {what: name for name, whats in LINES for what in whats}
    of_line |= {finding.what: of_line[PROVIDER] for finding in findings if finding.what.startswith(PROVIDER)}
    told: dict[str, list[str]] = {name: [] for name, _ in LINES}
    others = []
    for finding in findings:
        if finding.status == "ok" and finding.what in of_line:
            told[of_line[finding.what]].append(finding.found)
        elif finding.status != "ok" or finding.what not in UNTOLD:
            mend = f"\n→ {finding.mend}" if finding.mend else ""
            others.append((finding.what, finding.status, f"{finding.found}{mend}"))
    return [*((name, "ok", "; ".join(texts)) for name, texts in told.items() if texts), *others]


def closing_sentence(findings: Sequence[Finding]) -> str:
    wrong = list(dict.fromkeys(finding.what for finding in findings if finding.status == "error"))
    if wrong:
        return f"The lines marked “wrong” explain how to fix these problems: {', '.join(wrong)}."
    if any(finding.status == "warning" for finding in findings):
        of_crowds = [finding.found for finding in findings if finding.what.startswith(PROVIDER)]
        if any("no launch is following it" in found for found in of_crowds):
            return "A study is open on a crowd's site, but no launch is watching it. See the lines marked “look”."
        return "Everything works. You can ignore a line marked “look” unless you need the feature that it names."
    return "Everything works. To see it in action: parlai-humaneval demo"


OLDEST_NODE = 18


@contextlib.contextmanager
def nothing_said() -> Iterator[None]:
    """Discard output, logs and warnings of libraries in the block: important ones become findings."""
    nowhere, before = io.StringIO(), logging.root.manager.disable
    with warnings.catch_warnings(), contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        try:
            yield
        finally:
            logging.disable(before)


def examine(data_dir: Path, host: str, port: int) -> list[Finding]:
    """Every check that needs no model in memory; of the models, only those that a demo starts with."""
    first = [python_version(), *packages()]
    if any(finding.what == "Packages" and finding.status == "error" for finding in first):
        return first  # the rest imports what is missing or wrong
    with nothing_said():
        here = [plain_parlai(), mephisto_imports(), page(), node(), port_free(data_dir, host, port)]
        stored = [data_directory(data_dir), private_data(data_dir), *providers(data_dir)]
        return [*first, *here, *stored, packaged_models()]


def python_version() -> Finding:
    version = ".".join(str(part) for part in sys.version_info[:3])
    is_there = installing.installed(installing.DISTRIBUTION)
    wanted = metadata.metadata(installing.DISTRIBUTION)["Requires-Python"] if is_there else ""
    if SpecifierSet(wanted).contains(version):
        return Finding("Python", "ok", version)
    return Finding("Python", "error", version, f"make a new environment with Python {wanted}")


def packages() -> list[Finding]:
    """Installed packages against the ranges that the distribution asks for; ParlAI and Mephisto, which it cannot ask for."""
    if not installing.installed(installing.DISTRIBUTION):
        mend = "run `make install`, or pip install it"
        return [Finding("Packages", "error", f"{installing.DISTRIBUTION} is not installed", mend)]
    wanted = [Requirement(line) for line in metadata.requires(installing.DISTRIBUTION) or []]
    mend = "run `make install`, or: pip install --upgrade parlai-humaneval"
    findings = [Finding("Packages", "error", problem, mend) for line in wanted if (problem := _package_problem(line))]
    for name in installing.ENGINES:
        try:
            installing.check_release(name)
        except installing.UntestedRelease as error:
            findings.append(Finding("Packages", "error", str(error).partition(";")[0], f"run `{installing.SETUP}`"))
        if importlib.util.find_spec(name) is None:
            missing = f"{installing.NAMES[name]} is not installed"
            findings.append(Finding("Packages", "error", missing, f"run `{installing.SETUP}`"))
    there = [f"{name} {version}" for name in (*installing.ENGINES, "torch") if (version := installing.installed(name))]
    return findings or [Finding("Packages", "ok", ", ".join(there))]


def _package_problem(wanted: Requirement) -> str | None:
    there = installing.installed(wanted.name)
    if wanted.marker is not None and not wanted.marker.evaluate({"extra": ""}):
        return None
    if there is None:
        return f"{wanted.name} is missing (wanted: {wanted})"
    if wanted.specifier.contains(there, prereleases=True):
        return None
    return f"{wanted.name} {there} does not fit {wanted.specifier}"


def plain_parlai(python: str = sys.executable) -> Finding:
    """Whether the start of Python has told ParlAI's commands of this package."""
    program = "import sys; sys.exit('parlai_humaneval_hook' not in sys.modules)"
    known = subprocess.run([python, "-c", program], check=False)
    if known.returncode == 0:
        return Finding("Plain parlai", "ok", "loads this package's agents, presets and scripts")
    mend = "reinstall the package to restore its path file: `make install`, or pip install"
    return Finding("Plain parlai", "warning", "does not load this package (`parlai-humaneval parlai …` does)", mend)


def mephisto_imports() -> Finding:
    from mephisto_tasks._util import compat

    began = time.perf_counter()
    try:
        compat.prepare()
        from mephisto_tasks.launch import launch as launching  # noqa: F401  (the import is the check)
    except Exception as error:  # noqa: BLE001  (whatever stops the import is the finding)
        why = f"cannot be imported: {type(error).__name__}: {error}"
        return Finding("Mephisto", "error", why, "run `make install`")
    return Finding("Mephisto", "ok", f"imports in {time.perf_counter() - began:.1f} s")


def page() -> Finding:
    from mephisto_tasks.adapter.blueprint import WebAppMissing, webapp_dist

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
        return Finding("Node.js", "ok", f"not found (only needed to change the page: {OLDEST_NODE} or newer)")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    digits = version.removeprefix("v").partition(".")[0]
    if digits.isdigit() and int(digits) >= OLDEST_NODE:
        return Finding("Node.js", "ok", f"{version} (only needed to change the page)")
    return Finding("Node.js", "ok", f"{version or 'does not run'} (to change the page, install {OLDEST_NODE} or newer)")


def port_free(data_dir: Path, host: str, port: int) -> Finding:
    from mephisto_tasks.server.thread import CannotListen, PortInUse, listen
    from mephisto_tasks.storage.locks import running_url
    from mephisto_tasks.storage.results import ResultsError, task_names

    try:
        listen(host, port).close()
    except (PortInUse, CannotListen) as error:
        with contextlib.suppress(ResultsError):
            for task in task_names(data_dir) if (data_dir / "database.db").exists() else ():
                if (url := running_url(data_dir, task)) and urlsplit(url).port == port:
                    return Finding("Port", "ok", f"{host}:{port} serves task {task}; other tasks need another port")
        why = getattr(error.__cause__, "strerror", None) or type(error).__name__
        mend = "stop the program that uses it, or launch with mephisto.architect.port=… (demo: --port …)"
        return Finding("Port", "error", f"cannot listen on {host}:{port} ({why})", mend)
    return Finding("Port", "ok", f"{host}:{port} is free")


def data_directory(data_dir: Path) -> Finding:
    from mephisto_tasks.storage.results import ResultsError, task_names

    parent = next((folder for folder in (data_dir, *data_dir.parents) if folder.exists()), data_dir)
    try:  # not every folder whose mode says so can be written: some file systems take no files at all
        tempfile.TemporaryFile(dir=parent).close()
    except OSError:
        return Finding("Data directory", "error", f"{data_dir} is not writable", "choose another one with --data-dir")
    if not (data_dir / "database.db").exists():
        return Finding("Data directory", "ok", f"{data_dir} (empty: no launch has used it yet)")
    try:
        names = task_names(data_dir)
    except ResultsError as error:
        mend = "restore database.db from a copy, or use another --data-dir"
        return Finding("Data directory", "error", str(error), mend)
    return Finding("Data directory", "ok", f"{data_dir} ({counted(len(names), 'task')})")


def private_data(data_dir: Path) -> Finding:
    """Whether other users of this machine can read what raters said; a directory that a group shares is meant so."""
    from mephisto_tasks.launch.preparation import shut

    if data_dir.is_dir() and open_to_strangers(data_dir):
        return Finding("Privacy", "warning", f"everybody on this machine can read {data_dir}", shut(data_dir))
    return Finding("Privacy", "ok", "other users of this machine cannot read the answers")


def statuses(data_dir: Path, *, repair: bool) -> tuple[list[Finding], Statuses | None]:
    """Whether Mephisto's statuses say of each unit what its record says; ``repair``: they are made to."""
    from mephisto_tasks.launch.preparation import all_statuses
    from mephisto_tasks.storage.results import ResultsError

    what = "Statuses"
    try:
        seen = all_statuses(data_dir, set_them=repair)
    except ResultsError as error:
        return [Finding(what, "error" if repair else "warning", str(error))], None
    left = [f"{task} is running, and was left unchanged" for task in seen.running]
    if not seen.behind:
        return [Finding(what, "ok", "; ".join(["the status of every assignment matches its record", *left]))], seen
    found = "; ".join([*(f"task {one.task_name}, {one}" for one in seen.behind), *left])
    if repair:
        return [Finding(what, "ok", f"set to completed: {found}")], seen
    return [Finding(what, "warning", found, "parlai-humaneval doctor --repair sets them to completed")], seen


def providers(data_dir: Path) -> list[Finding]:
    from mephisto_tasks.crowds.registry import crowds
    from mephisto_tasks.storage.results import ResultsError

    found: dict[str, list[Finding]] = {}
    for crowd in crowds():
        try:
            seen = crowd.health(data_dir)
        except ResultsError:
            continue  # said under “Data directory”
        found.setdefault(crowd.provider_type, seen)
    return [finding for of_type in found.values() for finding in of_type]


MODELS_ARE: dict[State, str] = {
    "ready": "ready",
    "to download": "to download when they are first loaded",
    "to train": "to train on this machine",
    "to serve": "to serve, from a server that you start",
    "in a launch": "available only in a launch",
    "cannot": "not usable on this machine",
}


def packaged_models() -> Finding:
    """Whether the models that come with this package are ready; nothing is loaded."""
    from parlai_humaneval.models.check import check
    from parlai_humaneval.models.zoo.entries import load_zoo

    zoo = load_zoo()
    checked = [check(spec) for spec in zoo.values() if spec.origin == "packaged"]
    ready = [one.spec.name for one in checked if one.state == "ready"]
    lacking = [f"{one.spec.name}: {one.reason}" for one in checked if one.state == "cannot"]
    if lacking:
        mend = "run `make install`, or pip install parlai-humaneval again"
        return Finding("Models", "error", "; ".join(lacking), mend)
    return Finding("Models", "ok", f"ready: {', '.join(ready)} (--models: all {len(zoo)})")


def named_models(names: Sequence[str]) -> list[ModelSpec]:
    """The models of these names, or ``all``. Raises ZooError for a name that nobody knows."""
    from parlai_humaneval.models.zoo.entries import load_zoo, resolve

    zoo = load_zoo()
    return list(zoo.values()) if list(names) == ["all"] else resolve(names, zoo)


def load_model(spec: ModelSpec) -> Finding:
    from parlai_humaneval.models.check import check, try_out

    what = f"Model {spec.name}"
    with nothing_said():
        tried = try_out(check(spec))
    if tried["ok"]:
        return Finding(what, "ok", f"answers “{tried['reply']}” ({tried['load_s']} s to load)")
    why, *todo = tried["missing"]
    return Finding(what, "error", why[:500], " ".join(todo) or "see `parlai-humaneval models check`")
