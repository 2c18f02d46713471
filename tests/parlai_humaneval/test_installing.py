"""What stands outside of pip's requirements: which release is taken, what a failed import says, which PyTorch is chosen."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Iterator
from importlib import import_module
from io import BytesIO
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from warm_python import WarmPython

from mephisto_tasks.cli.doctor import examine
from parlai_humaneval._util import installing
from parlai_humaneval._util.installing import UntestedRelease, check_code, check_release, has_gpu, lacking
from parlai_humaneval.models.pool.loading import load_agent
from parlai_humaneval.models.zoo.entries import ModelSpec
from parlai_humaneval.models.zoo.files import missing
from parlai_humaneval.parlai_plugin.setup import _OnUse as OnUse


def failed_import(name: str) -> ImportError:
    with pytest.raises(ImportError) as failed:
        import_module(name)
    return failed.value


@pytest.fixture
def releases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose metadata of packages go before those of the environment."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def release(folder: Path, name: str, version: str) -> None:
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


@pytest.mark.parametrize("version", ["1.6.0", "1.7.1", "1.8.0", "2.0"])
def test_another_line_of_parlai_is_refused_with_the_tested_release(releases: Path, version: str) -> None:
    """Guards patches of ParlAI's inside against code that nobody has tested them with."""
    release(releases, "parlai", version)
    with pytest.raises(UntestedRelease, match=rf"ParlAI {version} is installed, .* works with 1\.7\.2; run `parlai-hu"):
        check_release("parlai")


@pytest.mark.parametrize("version", ["1.7.2", "1.7.3", "1.7.2.post1"])
def test_a_parlai_of_the_tested_line_stays(releases: Path, version: str) -> None:
    release(releases, "parlai", version)
    check_release("parlai")


def test_changed_code_is_refused_before_it_is_patched() -> None:
    """A patch that meets other code than it was written for must not be applied silently."""
    loader = import_module("parlai.core.loader")
    function = loader.load_agent_module
    digest = hashlib.sha256(inspect.getsource(function).encode()).hexdigest()[:8]
    check_code(function, digest)
    with pytest.raises(UntestedRelease, match=r"load_agent_module differs from the one in ParlAI 1\.7\.2"):
        check_code(function, "00000000")


def test_a_package_that_is_not_there_is_named_as_pip_names_it() -> None:
    """What was left out of ParlAI's requirements must be installable by whoever's own agent wants it."""
    assert str(lacking(ModuleNotFoundError("No module named 'rouge'", name="rouge"))) == (
        "the package py-rouge is not installed; run `pip install py-rouge`"
    )
    assert "run `pip install fairscale`" in str(lacking(ModuleNotFoundError("…", name="fairscale.nn")))


def test_a_part_of_a_name_that_several_packages_share_is_named_by_itself() -> None:
    """``google`` is there with protobuf; its cloud storage, which ParlAI names, is not."""
    assert "run `pip install google-cloud-storage`" in str(
        lacking(ModuleNotFoundError("…", name="google.cloud.storage"))
    )


def test_an_agent_that_wants_a_package_that_was_left_out_names_it(tmp_path: Path) -> None:
    """Guards users' own agents, where ParlAI's metadata promised packages that are not installed."""
    (tmp_path / "my_agent.py").write_text("import no_such_package_of_parlai\n")
    spec = ModelSpec(name="mine", options={"model": "my_agent:MyAgent"}, folder=tmp_path)
    (sentence,) = missing(spec)
    assert "run `pip install no_such_package_of_parlai`" in sentence


def test_a_model_is_not_loaded_into_another_parlai(releases: Path) -> None:
    """Guards self-chats and checks, which no launch stands before."""
    release(releases, "parlai", "1.8.0")
    with pytest.raises(UntestedRelease, match=r"ParlAI 1\.8\.0"):
        load_agent(ModelSpec(name="dull", options={"model": "fixed_response"}))


def test_doctor_says_of_another_parlai_what_to_do(releases: Path) -> None:
    """The checks behind import what is wrong; they must not hide that finding."""
    release(releases, "parlai", "1.8.0")
    wrong = [finding for finding in examine(releases, "127.0.0.1", 0) if finding.status == "error"]
    assert [(finding.what, finding.mend) for finding in wrong if "ParlAI 1.8.0" in finding.found] == [
        ("Packages", "run `parlai-humaneval setup`")
    ]


def test_only_packages_that_are_not_there_are_lacking() -> None:
    """A misspelt module of a package that is there is a mistake in somebody's code, and no reason to install anything."""
    assert lacking(failed_import("numpy.no_such_module")) is None
    assert lacking(failed_import("xml.no_such_module")) is None
    assert lacking(ImportError("cannot import name")) is None
    assert lacking(ValueError("other")) is None


@pytest.mark.parametrize(
    ("says", "expected"), [("echo 'GPU 0: NVIDIA H100'", True), ("exit 9", False), ("echo", False)]
)
def test_a_gpu_is_one_that_its_driver_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, expected: bool
) -> None:
    """The command stays on machines whose GPU is gone: its presence alone says nothing."""
    command = tmp_path / "nvidia-smi"
    command.write_text(f"#!/bin/sh\n{says}\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert has_gpu() is expected


def test_pytorch_without_cuda_is_asked_of_its_own_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA's libraries are 4 GB that a machine without a GPU has no use for."""
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(installing, "_install", lambda *arguments: asked.append(arguments))
    monkeypatch.setattr(installing.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(installing, "has_gpu", lambda: False)
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: BytesIO())
    monkeypatch.setattr(installing, "sys", _as_linux())
    monkeypatch.setattr(installing.platform, "machine", lambda: "x86_64")
    installing.install_torch("torch>=2")
    assert asked == [("--no-deps", "--extra-index-url", installing.CPU_BUILDS, "torch>=2"), ("torch>=2",)]
    monkeypatch.setattr(installing, "has_gpu", lambda: True)
    asked.clear()
    installing.install_torch("torch>=2")
    assert asked == [("--no-deps", "torch>=2"), ("torch>=2",)]


def _as_linux() -> ModuleType:
    linux = ModuleType("sys")
    vars(linux).update(vars(sys), platform="linux")
    return linux


def test_pip_installs_where_uv_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever's packages come from a mirror that only pip has been told of must not be stopped by uv."""
    uv = tmp_path / "uv"
    uv.write_text("#!/bin/sh\nexit 2\n")
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    ran: list[list[str]] = []

    def run(command: list[str], **_: object) -> SimpleNamespace:
        ran.append(command)
        return SimpleNamespace(returncode=2 if command[0] == str(uv) else 0)

    monkeypatch.setattr(installing.subprocess, "run", run)
    installing._install("--no-deps", "parlai==1.7.2")
    assert [command[0] for command in ran] == [str(uv), sys.executable]
    assert all(command[-2:] == ["--no-deps", "parlai==1.7.2"] for command in ran)


ALONE = """
import sys
{before}
from parlai_humaneval._util.installing import module_alone
words = module_alone("sklearn.feature_extraction._stop_words").ENGLISH_STOP_WORDS
assert "the" in words
import sklearn
whole = getattr(sklearn, "feature_extraction", None)
from sklearn.feature_extraction.text import TfidfVectorizer
assert whole is None or whole is sys.modules["sklearn.feature_extraction"]
assert sys.modules[TfidfVectorizer.__module__].TfidfVectorizer is TfidfVectorizer
assert "sklearn.utils" in sys.modules
"""


@pytest.fixture(scope="module")
def numeric() -> Iterator[WarmPython]:
    """Processes that have what scikit-learn imports, and nothing of it."""
    with WarmPython(imports=("numpy", "scipy.sparse", "scipy.stats", "scipy.linalg", "joblib", "threadpoolctl")) as one:
        yield one


@pytest.mark.parametrize("before", ["", "import sklearn", "import sklearn.feature_extraction"])
def test_a_module_alone_leaves_its_package_whole(before: str, numeric: WarmPython, tmp_path: Path) -> None:
    """Guards models of a user's own that import the package before ours: its classes would be there twice, and what one
    pickles or compares would not be the other's."""
    script = tmp_path / "alone.py"
    script.write_text(ALONE.format(before=before), encoding="utf-8")
    done = numeric.run(str(script))
    assert done.returncode == 0, done.stderr


def test_what_is_imported_on_use_may_be_used_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the import of ParlAI: what it imports meanwhile may use the module, whose stand-in found itself without end."""
    monkeypatch.setitem(sys.modules, "colorsys", OnUse("colorsys"))
    assert import_module("colorsys").hsv_to_rgb(0, 0, 1) == (1, 1, 1)
    assert not isinstance(sys.modules["colorsys"], OnUse)
