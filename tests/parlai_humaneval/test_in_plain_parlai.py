"""This package in plain `parlai`: the real script, in an environment in which an editable install has put a path file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from warm_python import WarmPython

from mephisto_tasks.cli.doctor import plain_parlai

REPOSITORY = Path(__file__).parents[2]
PARLAI = Path(sys.executable).with_name("parlai")
DIALOGUE = "text:Hi!\tlabels:Hello.\ntext:And you?\tlabels:I am fine.\tepisode_done:True\n"
TINY = ("--embeddingsize", "4", "--hiddensize", "4", "--numlayers", "1", "--no-cuda", "--skip-generation", "true")


class Place:
    """A folder of a user's with an environment, whose Python runs ``parlai`` without our command."""

    def __init__(self, folder: Path, python: Path, warm: WarmPython) -> None:
        self.folder = folder
        self.python = python
        self._warm = warm
        (folder / "d.txt").write_text(DIALOGUE, encoding="utf-8")

    def python_says(self, *words: str) -> subprocess.CompletedProcess[str]:
        """What a new Python does with these words."""
        return subprocess.run(
            [str(self.python), *words], cwd=self.folder, env=self._environment, input="", capture_output=True, text=True,
            timeout=180, check=False,
        )  # fmt: skip

    def run(self, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
        """``parlai`` with these words, in this folder, which is the home and on the path."""
        return self._warm.run(str(PARLAI), *words, cwd=self.folder, env=self._environment, text=text)

    @property
    def _environment(self) -> dict[str, str]:
        home = str(self.folder)
        return {"HOME": home, "PATH": os.defpath, "PYTHONPATH": home, "OMP_NUM_THREADS": "1"}

    def on_dialogue(self, command: str, *words: str) -> subprocess.CompletedProcess[str]:
        """A command over two lines of a dialogue."""
        return self.run(
            command, *words, "-t", "fromfile:parlaiformat", "--fromfile-datapath", str(self.folder / "d.txt")
        )


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment with an editable install of this checkout; dependencies are seen by a path file."""
    root = tmp_path_factory.mktemp("environment")
    venv.create(root, with_pip=False, symlinks=True)
    packages = root / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [str(root / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    offline = ["--no-build-isolation", "--force-reinstall", "--target", str(packages), "-e", str(REPOSITORY)]
    subprocess.run([*pip, *offline], check=True, timeout=300, capture_output=True)
    return root / "bin" / "python"


@pytest.fixture(scope="module")
def warm(python: Path) -> Iterator[WarmPython]:
    """The same Python, and PyTorch."""
    with WarmPython(python) as started:
        yield started


@pytest.fixture
def place(tmp_path: Path, python: Path, warm: WarmPython) -> Place:
    return Place(tmp_path, python, warm)


def test_the_check_of_an_installation_says_whether_parlai_finds_it(place: Place, tmp_path: Path) -> None:
    """Guards whoever has pulled newer sources over an older installation; an environment without one is shown, too."""
    assert plain_parlai(str(place.python)).status == "ok"
    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    assert plain_parlai(str(tmp_path / "bare" / "bin" / "python")).status == "warning"


def test_the_start_of_python_imports_the_hook_and_nothing_else(place: Place) -> None:
    """Guards every program of the environment: it pays for one small file, not for this package, ParlAI or torch."""
    shown = "import sys; print(*sorted(sys.modules))"
    with_hook = set(place.python_says("-c", shown).stdout.split())
    without = place.python.parents[1] / "lib" / place.python.resolve().name / "site-packages" / "parlai_humaneval.pth"
    text = without.read_text()
    without.unlink()
    try:
        alone = set(place.python_says("-c", shown).stdout.split())
    finally:
        without.write_text(text)
    assert with_hook - alone == {"parlai_humaneval_hook"}


def test_training_with_default_options_and_the_trained_model_by_its_file(place: Place) -> None:
    """Guards agents by their short names, ParlAI's default scheduler, and a file whose options hold the short name."""
    model = str(place.folder / "m" / "lstm")
    trained = place.on_dialogue("train_model", "-m", "parlai_humaneval/lstm", "-mf", model, "-eps", "1", *TINY)
    assert Path(model).exists(), trained.stdout[-2000:] + trained.stderr[-2000:]
    assert Path(f"{model}.opt").read_text().count('"parlai_humaneval/lstm"') == 1
    shown = place.on_dialogue("eval_model", "-mf", model)
    assert "ppl" in shown.stdout, shown.stderr[-2000:]


def test_presets_and_misspelt_options(place: Place) -> None:
    """Guards `-o gen/meena`, and a suggestion for an option that the agent does not have."""
    report = place.folder / "report.json"
    words = ("-m", "transformer/generator", "--embedding-size", "8", "--n-heads", "1", "--ffn-size", "8", "--n-layers", "1",
             "--no-cuda", "--skip-generation", "true", "--report-filename", str(report))  # fmt: skip
    done = place.on_dialogue("eval_model", "-o", "gen/meena", *words)
    assert report.exists(), done.stderr[-2000:]
    opt = json.loads(report.read_text(encoding="utf-8"))["opt"]
    assert (opt["inference"], opt["topk"], opt["beam_size"]) == ("topk", 40, 20)
    wrong = place.on_dialogue("eval_model", "--beam_sise", "3", *words)
    assert wrong.returncode == 2
    assert wrong.stderr.endswith("unrecognized arguments: --beam-sise 3. Did you mean --beam-size?\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-m", "parlai_humaneval/retreival"), "Did you mean parlai_humaneval/retrieval?"),
        (("-m", "parlai_humaneval/bot_speaker", "--models", "elizza"), "Did you mean eliza?"),
    ],
)
def test_a_misspelt_agent_or_model_is_a_sentence(place: Place, words: tuple[str, ...], told: str) -> None:
    """Guards against a traceback for a typing mistake in what is ours."""
    wrong = place.on_dialogue("eval_model", *words)
    assert wrong.returncode == 1
    assert "Traceback" not in wrong.stderr
    last = wrong.stderr.splitlines()[-1]
    assert last.startswith("Error: no ")
    assert told in last


def test_our_script_is_a_command_of_parlais(place: Place) -> None:
    """Guards `parlai batched_self_chat`, from a shell."""
    out = place.folder / "chats"
    done = place.run("batched_self_chat", "-m", "parlai_humaneval/eliza", "--num-self-chats", "2", "--outdir", str(out))
    assert done.returncode == 0, done.stderr[-2000:]
    assert len((out / "eliza.jsonl").read_text(encoding="utf-8").splitlines()) == 2


INTERNAL = {
    "parlai_internal/__init__.py": "",
    "parlai_internal/agents/__init__.py": "",
    "parlai_internal/agents/echo/__init__.py": "",
    "parlai_internal/agents/echo/echo.py": (
        "from parlai.core.agents import Agent\n"
        "class EchoAgent(Agent):\n"
        "    def act(self):\n"
        "        return {'id': 'Echo', 'text': self.observation.get('text', '').upper(), 'episode_done': False}\n"
    ),
    "parlai_internal/opt_presets/gen/meena.opt": '{"batchsize": 7}',
}


def test_a_users_own_parlai_internal_works_as_before(place: Place) -> None:
    """Guards the place that ParlAI gives to its users' own agents and presets; nothing is written into their folders."""
    for name, text in INTERNAL.items():
        (place.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (place.folder / name).write_text(text, encoding="utf-8")
    own = place.run("interactive", "-m", "internal:echo", "-o", "gen/meena", text="Hi!\n")
    assert "[Echo]: HI!" in own.stdout, own.stderr[-2000:]
    assert "batchsize: 7" in own.stdout + own.stderr, "our preset has taken the place of theirs"
    ours = place.run("interactive", "-m", "parlai_humaneval/eliza", text="Hi!\n")
    assert "[Eliza]:" in ours.stdout, ours.stderr[-2000:]
    assert {path.name for path in place.folder.iterdir()} <= {"parlai_internal", "d.txt"}


LATE = """
import sys
sys.path[:0] = {paths}
import parlai.core.script, parlai.nn.lr_scheduler
from parlai.core.loader import load_agent_module
assert "parlai_humaneval_hook" not in sys.modules
import parlai_humaneval
print(load_agent_module("parlai_humaneval/eliza").__name__, end=" ")
import torch
optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
print(type(parlai.nn.lr_scheduler.ReduceOnPlateauLRScheduler(optimizer, 3, 0.5, -1, 1e-4).scheduler).__name__)
"""


def test_without_the_path_file_an_import_of_the_package_does_the_same(place: Place) -> None:
    """Guards a checkout on PYTHONPATH: ParlAI, imported before, is told when this package is."""
    paths = [str(REPOSITORY), sysconfig.get_path("purelib")]
    done = place.python_says("-S", "-c", LATE.replace("{paths}", repr(paths)))
    assert done.stdout == "ElizaAgent ReduceLROnPlateau\n", done.stderr[-2000:]


IN_AN_ARCHIVE = """
import sys
sys.path.insert(0, "parlai.zip")
import parlai.core.loader, parlai.core.innocent, parlai.core.opt
told = type(parlai.core.loader.AGENT_REGISTRY).__name__, parlai.core.opt.Opt.load_init.__name__
print(parlai.core.innocent.__file__, *told)
"""


def test_parlai_in_an_archive(place: Place) -> None:
    """Guards environments of one file: all modules of an archive have one loader, and few of them are watched."""
    modules = {
        "parlai/__init__.py": "",
        "parlai/core/__init__.py": "",
        "parlai/core/loader.py": "AGENT_REGISTRY = {}",
        "parlai/core/innocent.py": "",
        "parlai/core/opt.py": "class Opt(dict):\n    @classmethod\n    def load_init(cls, optfile):\n        return cls()",
    }
    with zipfile.ZipFile(place.folder / "parlai.zip", "w") as archive:
        for name, text in modules.items():
            archive.writestr(name, text)
    done = place.python_says("-c", IN_AN_ARCHIVE)
    assert done.stdout.split()[1:] == ["_Agents", "with_ours"], done.stderr[-2000:]
    assert "parlai.zip" in done.stdout


def test_a_broken_package_stops_no_parlai(place: Place) -> None:
    """Guards ParlAI's users against what is left of this package, or another of its versions: they are told, and go on."""
    (place.folder / "parlai_humaneval").mkdir()
    (place.folder / "parlai_humaneval" / "__init__.py").write_text("import lost_dependency\n")
    done = place.python_says(
        str(PARLAI), "display_data", "-t", "fromfile:parlaiformat", "--fromfile-datapath", str(place.folder / "d.txt")
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "No module named 'lost_dependency'" in done.stderr
