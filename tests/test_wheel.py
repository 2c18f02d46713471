"""The wheel alone gives launchable tasks: in an environment that has its dependencies and nothing of the repository."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from parlai_humaneval.report.facts import VERSIONS

REPOSITORY = Path(__file__).parents[1]


LOCAL = "torch|transformers|accelerate"
"""What only models of this machine need."""


def repository_files(*folders: str) -> list[Path]:
    """Files of the repository that git tracks, or would."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *folders]
    listed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    return [REPOSITORY / line for line in listed.splitlines()]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the sources: an old ``build`` folder of the repository must not get in."""
    out, sources = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("sources")
    page = REPOSITORY / "mephisto_tasks" / "webapp"
    built = [page / "dist", page / "new_dist", REPOSITORY / "parlai_humaneval" / "viewer" / "static"]
    for path in [*repository_files(), *(file for folder in built for file in folder.rglob("*"))]:
        if path.is_file():
            copy = sources / path.relative_to(REPOSITORY)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(sources)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    (made,) = out.glob("*.whl")
    return made


def test_reports_name_versions_of_what_is_always_installed() -> None:
    """Guards reports of users who have no tools of developers: a version is asked of no library that pip leaves out."""
    text = (REPOSITORY / "setup.py").read_text(encoding="utf-8")
    needed = set(re.findall(r'"([\w-]+)', text.partition("install_requires=[")[2].partition("\n    ],")[0]))
    assert set(VERSIONS) <= needed


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``bin`` of a new environment with the wheel in it, and all else but PyTorch."""
    root = tmp_path_factory.mktemp("environment")
    install(wheel, new_environment(root, without=LOCAL))
    return root / "bin"


@pytest.fixture(scope="module")
def by_pip(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``bin`` of a new environment with what ``pip install`` of the wheel gives: no ParlAI, no Mephisto, no PyTorch.

    What pip has put into the other environment is copied, with what Python has compiled of it.
    """
    root = tmp_path_factory.mktemp("by-pip")
    packages = new_environment(root, without=f"parlai|mephisto|projects|tests|{LOCAL}")
    for path in (installed.parent / packages.relative_to(root)).iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, packages / path.name)
        elif not path.is_symlink():
            shutil.copy2(path, packages)
    return root / "bin"


def new_environment(root: Path, without: str = "(?!)") -> Path:
    """The folder of packages of a new environment, with links to all dependencies (gigabytes) but those that are named."""
    venv.create(root, with_pip=False, symlinks=True)
    packages = root / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    of_this_repository = "__editable__|parlai_humaneval"
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not re.match(f"{of_this_repository}|{without}", path.name, re.IGNORECASE):
            (packages / path.name).symlink_to(path)
    return packages


def install(wheel: Path, packages: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--force-reinstall",
        "--no-compile",
        str(wheel),
    ]
    subprocess.run([*command, "--target", str(packages)], check=True, timeout=300, capture_output=True)


def run(installed: Path, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The installed command, from an empty folder and with an empty home."""
    environment = {"HOME": str(home), "PATH": os.defpath, "PYTHONWARNINGS": "ignore"}
    program = "from parlai_humaneval.cli import main; main()"
    command = [str(installed / "python"), "-c", program, *arguments]
    return subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, timeout=180)


def test_wheel_carries_page_models_and_every_data_file(wheel: Path) -> None:
    """A file that a launch reads and that the wheel lacks would fail only on the user's machine."""
    names = set(zipfile.ZipFile(wheel).namelist())
    for name in (
        "parlai_humaneval/py.typed",
        "mephisto_tasks/py.typed",
        "mephisto_tasks/webapp/dist/index.html",
        "parlai_humaneval/viewer/index.html",
        "parlai_humaneval/viewer/static/viewer.js",
        "parlai_humaneval/viewer/static/viewer.css",
        "mephisto_tasks/webapp/new_dist/index.html",
        "mephisto_tasks/crowds/local/mock_crowd_source.js",
        "mephisto_tasks/crowds/panels/confs/place/link.yaml",
        "parlai_humaneval/zoo_configs/embedded.yaml",
        "parlai_humaneval/zoo_configs/blenderbot.yaml",
    ):
        assert name in names
    files = [path.relative_to(REPOSITORY).as_posix() for path in repository_files("parlai_humaneval", "mephisto_tasks")]
    data = [
        name for name in files if name.endswith((".yaml", ".json", ".jsonl", ".sql", ".txt")) and "/webapp/" not in name
    ]
    assert data
    assert set(data) <= names


def test_wheel_has_neither_sources_of_the_page_nor_tests(wheel: Path) -> None:
    """The page travels built; node_modules in a wheel would be hundreds of megabytes."""
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if "node_modules" in name or "webapp/src" in name or name.startswith("tests")]


def test_installed_code_is_the_wheels(installed: Path, tmp_path: Path) -> None:
    """Guards this very test: without it, the repository's development install could be what runs."""
    program = "import parlai_humaneval, mephisto_tasks; print(parlai_humaneval.__file__, mephisto_tasks.__file__)"
    command = [str(installed / "python"), "-c", program]
    out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert str(REPOSITORY) + "/parlai_humaneval" not in out
    assert out.count(str(installed.parent)) == 2


def test_installed_wheel_runs_a_whole_study(installed: Path, tmp_path: Path) -> None:
    """pip install of the wheel is enough: page, models, personas, practice and report are all there; studies of functions
    need no PyTorch."""
    done = run(
        installed, tmp_path, "demo", "--raters", "1", "--dialogues", "1", "--port", "0", "--json", "--data-dir", "data"
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["dialogue_count"]["complete"] == 1


def test_installed_wheel_lists_confs_and_models(installed: Path, tmp_path: Path) -> None:
    """Every conf and zoo file is found from inside the wheel."""
    confs = run(installed, tmp_path, "launch", "pw_turn", "--list-confs").stdout.split()
    assert {"local", "mturk_sandbox", "mturk"} <= set(confs)
    models = json.loads(run(installed, tmp_path, "models", "list", "--json").stdout)
    assert "blender_90M" in json.dumps(models)


def test_parlai_finds_the_wheel_by_itself(wheel: Path, installed: Path, tmp_path: Path) -> None:
    """The path file is there, goes again at uninstall, and has ParlAI find our agents."""
    names = zipfile.ZipFile(wheel).read
    record = next(name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("dist-info/RECORD"))
    assert {"parlai_humaneval.pth", "parlai_humaneval_hook.py"} <= {
        line.partition(",")[0] for line in names(record).decode().splitlines()
    }
    program = "from parlai.core.loader import load_agent_module as load; print(load('parlai_humaneval/eliza').__name__)"
    command = [str(installed / "python"), "-c", program]
    environment = {"HOME": str(tmp_path), "PATH": os.defpath}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=180)
    assert done.stdout == "ElizaAgent\n", done.stderr


def test_wheel_declares_its_command(wheel: Path) -> None:
    """The console script is what people type; the run above calls its function directly."""
    archive = zipfile.ZipFile(wheel)
    (entry_points,) = [name for name in archive.namelist() if name.endswith("dist-info/entry_points.txt")]
    assert "parlai-humaneval = parlai_humaneval.cli:main" in archive.read(entry_points).decode()


def test_plain_pip_gives_a_sentence_that_mends_it(by_pip: Path, tmp_path: Path) -> None:
    """ParlAI and Mephisto cannot be requirements of the wheel: commands that need them name the line that installs them."""
    for command in (["demo", "--raters", "1", "--dialogues", "1"], ["launch", "pw_turn", "port=0"], ["doctor"]):
        done = run(by_pip, tmp_path, *command)
        assert done.returncode != 0
        assert "ParlAI" in done.stdout + done.stderr
        assert "parlai-humaneval setup" in done.stdout + done.stderr, done.stdout
        assert "Traceback" not in done.stderr
    assert run(by_pip, tmp_path, "plan", "--gap", "0.2").returncode == 0, "planning needs neither"


def test_setup_brings_what_pip_left_out(by_pip: Path, tmp_path: Path) -> None:
    """Guards the two commands of a pip user: ParlAI and Mephisto are there, and are those that this package works with."""
    done = run(by_pip, tmp_path, "setup")
    if "No matching distribution" in done.stderr:
        pytest.skip("no index of packages can be reached")
    assert done.returncode == 0, done.stderr
    assert "ParlAI 1.7.2" in done.stdout
    listed = run(by_pip, tmp_path, "launch", "pw_turn", "--list-settings")
    assert "task_name" in listed.stdout, listed.stderr
    assert "retrieval: ready" in run(by_pip, tmp_path, "models", "check", "retrieval", "--load").stdout
