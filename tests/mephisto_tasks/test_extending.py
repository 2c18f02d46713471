"""A package of one's own adds a technique, a statistic and a section, and nothing of this one is edited.

It is ``examples/own_package``, which the documentation shows file by file.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from mephisto_tasks.cli import demo
from mephisto_tasks.cli.launch import launch
from mephisto_tasks.cli.report import export, report
from mephisto_tasks.launch import launch as launching
from mephisto_tasks.launch.config import compose_config
from mephisto_tasks.storage.results import read_dialogues, read_judgements, task_names
from parlai_humaneval import analysis
from parlai_humaneval._util import plugins
from parlai_humaneval.planning.inputs import ask
from parlai_humaneval.planning.plan import compare_techniques, plan_study
from parlai_humaneval.report import registry as catalogue
from parlai_humaneval.techniques import registry as techniques

PACKAGE = "polite_package"
QUESTION = "Which response is more polite?"

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_package"


def installed(folder: Path) -> Path:
    """The package in a folder of its own, as pip would install it; the folder is to be put on Python's path."""
    shutil.copytree(EXAMPLE / PACKAGE, folder / PACKAGE)
    (entry_point,) = re.findall(
        r'^polite = "(.*)"$', (EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE
    )
    info = folder / f"{PACKAGE}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: polite-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{plugins.GROUP}]\npolite = {entry_point}\n")
    return folder


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package, installed for as long as a test lasts; afterwards everything is as it was."""
    monkeypatch.syspath_prepend(installed(tmp_path / "site"))
    for module, name in ((techniques, "_KNOWN"), (analysis, "_MODULES")):
        monkeypatch.setattr(module, name, dict(getattr(module, name)))
    known = set(catalogue._ADDED)
    monkeypatch.setattr(plugins, "_begun", set(plugins._begun))
    plugins._installed.cache_clear()
    yield
    plugins._installed.cache_clear()
    for key in catalogue._ADDED.keys() - known:
        if catalogue._ADDED[key].module.partition(".")[0] == PACKAGE:
            del catalogue._ADDED[key]
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


@pytest.mark.usefixtures("package", "signals_as_before")
def test_a_technique_a_statistic_and_a_section_are_added_launched_and_reported(data_dir: Path, tmp_path: Path) -> None:
    """Simulated raters go through Mephisto; records, quality checks, tables, sections and plans know all three."""
    invoke = CliRunner().invoke
    asked = ["--task", "politeness", "--raters", "2", "--dialogues", "2", "--prefer", "retrieval", "--strength", "1"]
    place = ["--data-dir", str(data_dir)]
    rated = invoke(demo.demo, [*asked, "--seed", "5", "--port", "0", "--json", *place])
    assert rated.exit_code == 0, rated.stderr
    (name,) = task_names(data_dir)
    records = read_dialogues(data_dir, name)
    assert [(record.technique, record.status, record.question) for record in records] == [
        ("politeness", "complete", QUESTION)
    ] * 2
    assert all("short_tokens" in record.checks for record in records)
    folder = str(tmp_path / "tables")
    exported = invoke(export, ["--task-name", name, *place, "--out", folder])
    assert exported.exit_code == 0, exported.stderr
    filled = {path.stem for path in Path(folder).glob("*.csv") if path.read_text(encoding="utf-8").count("\n") > 1}
    assert filled == set(techniques.technique("politeness").tables)
    reported = invoke(report, ["--tables", folder, "--draws", "100", "--json"])
    assert reported.exit_code == 0, reported.stderr
    found = json.loads(reported.stdout)
    assert {row["model"]: row["win_rate"] for row in found["turns"]["models"]} == {"eliza": 0.0, "retrieval": 1.0}
    longest = {
        model: max(len(c.text) for r in records for t in r.turns for c in t.candidates if c.model == model)
        for model in ("eliza", "retrieval")
    }
    assert {row["model"]: row["characters"] for row in found["longest_replies"]["rows"]} == longest
    plan = plan_study(ask(technique="politeness", gap=0.1))
    assert plan.headline.startswith("PoliteTurn needs ")
    assert plan.n_turns == plan_study(ask(technique="pw_turn", gap=0.1)).n_turns


@pytest.mark.usefixtures("package")
def test_a_technique_of_finished_dialogues_asks_its_own_questions(data_dir: Path) -> None:
    """Guards that an entry alone asks any question of two dialogues side by side, and that a plan names the technique."""
    name, question = "polite_dialogues", "Which speaker is easier to understand?"
    settings = {"metric": "clarity", "num_dialogues": 3, "judgements_per_group": 2, "seed": 5}
    overrides = [f"mephisto.blueprint.{key}={value}" for key, value in settings.items()]
    conf = compose_config(name, "local", [*overrides, "mephisto.architect.port=0"])
    with launching.run_launch(name, conf, data_dir) as run:
        demo.simulate(run, threading.Event(), raters=1, prefer="eliza", strength=1.0, seed=1, worst=None)
    records = read_judgements(data_dir, "polite-dialogues-clarity")
    assert [(record.technique, record.setting, [asked.text for asked in record.questions]) for record in records] == [
        (name, "self_chat", [question])
    ] * 2
    assert plan_study(ask(technique=name, gap=0.1)).headline.startswith("PoliteDialogues needs ")
    titles = [plan.title for plan in compare_techniques(ask(technique=name, gap=0.1))[0]]
    assert titles.count("PoliteDialogues") == titles.count("PW-Dialog (self-chat)") == 1


@pytest.mark.usefixtures("package")
def test_help_and_errors_list_the_techniques_of_packages_too() -> None:
    """Each with title and source; nobody needs to know where a technique comes from."""
    invoke = CliRunner().invoke
    assert "politeness" in techniques.techniques("live")
    for command in (launch, demo.demo):
        shown = "".join(invoke(command, ["--help"]).stdout.split())  # lines break within long ones
        for entry in techniques.techniques().values():
            assert f"{entry.name} {entry.line}".replace(" ", "") in shown
    wrong = invoke(launch, ["polite"])
    assert wrong.exit_code == 1
    assert "there is no technique 'polite'" in wrong.stderr
    listed = [" ".join(line.split()) for line in wrong.stderr.partition("choose one of:\n")[2].splitlines()]
    assert listed[0].startswith("pw_turn ")
    assert "politeness PoliteTurn (Nobody 2020, §1)" in listed


def test_a_package_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    """A report that lacks a section without a word would be worse than none."""
    site = installed(tmp_path)
    (site / PACKAGE / "plugin.py").write_text("import nothing_of_this_name\n")
    program = [
        sys.executable,
        "-W",
        "ignore",
        "-c",
        "from parlai_humaneval.cli import main; main()",
        "launch",
        "--help",
    ]
    path = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(program, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=60)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "the plug-in 'polite' of the package polite-package cannot be loaded (ModuleNotFoundError" in done.stderr
    assert "pip uninstall polite-package" in done.stderr


@pytest.mark.usefixtures("package")
def test_no_name_is_given_twice() -> None:
    """Two packages with the same names must not overwrite each other in silence; the same entry twice is no harm."""
    entry = techniques.technique("politeness")
    techniques.register(entry)
    with pytest.raises(ValueError, match="there is a technique 'pw_turn' already"):
        techniques.register(techniques.Technique("pw_turn", "live", "Mine", "mine", "me", ("turns",)))
    for taken in ("turns", "facts", "longest_replies"):
        with pytest.raises(ValueError, match=f"already has a key '{taken}'"):
            catalogue.register_section(taken, "mine")
    with pytest.raises(ValueError, match="'holm' is already taken"):
        analysis.register_statistic("holm", "mine")


def test_to_know_the_techniques_nothing_heavy_is_loaded() -> None:
    """Guards quick commands: the entries are plain data."""
    program = (
        "import sys, parlai_humaneval.techniques.registry as t; t.techniques(); "
        "print(sorted({'torch', 'pandas', 'numpy', 'pydantic', 'parlai', 'mephisto', 'click'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
