"""What a plain ``pip install`` leaves out (ParlAI and Mephisto pin libraries of 2022), with nothing but Python.

Every command imports this module: what only an installation or a broken package needs is imported when it is used.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

DISTRIBUTION = "parlai-humaneval"
ENGINES = {"parlai": "1.7.2", "mephisto": "1.1.1"}
"""What this package is built on, with the releases that it is tested with: the last of each."""
NAMES = {"parlai": "ParlAI", "mephisto": "Mephisto"}
LOCAL = ("torch", "transformers", "accelerate")
"""What only models of this machine need: the extra ``local``."""
SETUP, SETUP_LOCAL = f"{DISTRIBUTION} setup", f"{DISTRIBUTION} setup --local"
CPU_BUILDS = "https://download.pytorch.org/whl/cpu"
"""Where PyTorch keeps its builds without CUDA; those of the usual index have it."""
PACKAGE_OF = {
    "PIL": "Pillow",
    "cv2": "opencv-python",
    "distutils": "'setuptools<81'",
    "git": "GitPython",
    "google.cloud": "google-cloud-storage",
    "pkg_resources": "'setuptools<81'",
    "pytorch_pretrained_bert": "pytorch-pretrained-bert",
    "rouge": "py-rouge",
    "sklearn": "scikit-learn",
    "subword_nmt": "subword-nmt",
    "unidecode": "Unidecode",
    "websocket": "websocket-client",
    "yaml": "PyYAML",
}
"""Module → package, where ParlAI, Mephisto and their agents import what is called otherwise."""


def module_alone(name: str) -> Any:
    """A module without what its parent packages import for themselves: all of NLTK takes seconds, for SciPy and
    scikit-learn. If the package is imported later, all of it is there.
    """
    root, *parts = name.split(".")
    if root in sys.modules:  # to take modules away again would make their classes twice
        return importlib.import_module(name)
    spec = importlib.util.find_spec(root)
    if spec is not None and spec.submodule_search_locations:
        for depth in range(len(parts)):
            package = sys.modules[".".join([root, *parts[:depth]])] = ModuleType(root)
            package.__path__ = [os.path.join(spec.submodule_search_locations[0], *parts[:depth])]
    try:
        return importlib.import_module(name)
    finally:
        for new in [each for each in sys.modules if each.partition(".")[0] == root]:
            del sys.modules[new]


class PackageError(Exception):
    """A package is unsuitable. Raised while only Python is available, so it does not derive from ``HumanevalError``."""

    def __init__(self, what: str, try_: str) -> None:
        super().__init__(f"{what}; {try_}")
        self.what = what
        self.try_ = try_


class InstallingFailed(PackageError):
    """A package cannot be installed."""


class UntestedRelease(PackageError, ImportError):
    """ParlAI or Mephisto is there in a release whose inside this package does not know."""


def check_release(name: str) -> None:
    """Ask that ParlAI or Mephisto, where installed, is of the tested line. Raises UntestedRelease."""
    tested, there = ENGINES[name], installed(name)
    if there and (_numbers(there)[:2] != _numbers(tested)[:2] or _numbers(there) < _numbers(tested)):
        what = f"{NAMES[name]} {there} is installed, but {DISTRIBUTION} works with {tested}"
        raise UntestedRelease(what, f"run `{SETUP}`")


def check_code(target: Any, digest: str) -> None:
    """Ask that code of ParlAI or Mephisto is what a patch relies on: eight digits of the SHA-256. Raises UntestedRelease."""
    import inspect

    source = inspect.getsource(target)
    if hashlib.sha256(source.encode()).hexdigest()[:8] != digest:
        name = target.__module__.partition(".")[0]
        raise UntestedRelease(
            f"{target.__module__}.{target.__qualname__} differs from the one in {NAMES[name]} {ENGINES[name]}, so "
            f"{DISTRIBUTION} must not change it",
            f"run `pip install --force-reinstall --no-deps {name}=={ENGINES[name]}`",
        )


def installed(name: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def lacking(error: BaseException, wanted: str = "") -> PackageError | None:
    """What to install for a failed import; None: no package is missing. ``wanted``: a module that a user named."""
    name = error.name if isinstance(error, ModuleNotFoundError) and error.name else ""
    top = next((known for known in PACKAGE_OF if f"{name}.".startswith(f"{known}.")), name.partition(".")[0])
    if not top or top == wanted.partition(".")[0] or top in sys.stdlib_module_names or _is_there(top):
        return None  # part of a package that is there: a mistake, or an old release
    if top in ENGINES:
        run = f"run `{SETUP}`, or `{_shown(_engine_arguments())}`"
        return PackageError(f"{NAMES[top]} {ENGINES[top]} is not installed", run)
    if top in LOCAL:
        return PackageError(f"models on this machine need {top}, which is not installed", f"run `{SETUP_LOCAL}`")
    package = PACKAGE_OF.get(top, top)
    return PackageError(f"the package {package} is not installed", f"run `pip install {package}`")


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of its parent
        return False


def _shown(arguments: Sequence[str]) -> str:
    return " ".join(["pip", "install", *arguments])


def _engine_arguments() -> list[str]:
    return ["--no-deps", *(f"{name}=={version}" for name, version in ENGINES.items())]


def install_engines() -> None:
    """ParlAI and Mephisto without what they ask for; tested releases stay. Raises InstallingFailed."""
    _install("--no-deps", *(f"{name}=={version}" for name, version in ENGINES.items() if not _is_tested(name)))


def _is_tested(name: str) -> bool:
    try:
        check_release(name)
    except UntestedRelease:
        return False
    return importlib.util.find_spec(name) is not None


def install_local() -> None:
    """What the extra ``local`` asks for; installed packages stay as they are. Raises InstallingFailed."""
    from importlib import metadata

    asked = [
        line.partition(";")[0].strip() for line in metadata.requires(DISTRIBUTION) or [] if 'extra == "local"' in line
    ]
    install_torch(next(line for line in asked if line.startswith("torch")))
    _install(*asked)


def install_torch(wanted: str, *versions: str) -> None:
    """PyTorch, without CUDA where there is no NVIDIA GPU and its index is in reach; ``versions``: ``-c`` and a file."""
    if importlib.util.find_spec("torch") is None:
        _install("--no-deps", *versions, *_builds(), wanted)
    importlib.invalidate_caches()
    _install(*versions, wanted)  # what this build needs; CUDA's libraries, where it is CUDA's


def _builds() -> list[str]:
    """Where pip is to look for PyTorch besides its index: nowhere where the index has the right build."""
    if sys.platform != "linux" or platform.machine() != "x86_64" or has_gpu():
        return []
    import urllib.request

    try:
        with urllib.request.urlopen(f"{CPU_BUILDS}/torch/", timeout=10):
            return ["--extra-index-url", CPU_BUILDS]
    except OSError:
        _say("PyTorch's builds for CPUs cannot be reached: other builds that pip finds may include CUDA, about 5 GB")
        return []


def has_gpu() -> bool:
    command = shutil.which("nvidia-smi")
    if command is None:
        return Path("/proc/driver/nvidia/version").exists()
    try:
        listed = subprocess.run([command, "-L"], capture_output=True, timeout=30, check=False)
    except (subprocess.TimeoutExpired, OSError):
        return False
    return listed.returncode == 0 and b"GPU" in listed.stdout


def _install(*arguments: str) -> None:
    """Install with uv if it is on PATH. If it is missing or fails, use pip: each has its own mirrors."""
    if all(argument.startswith("-") for argument in arguments):
        return
    ways = []
    if (uv := shutil.which("uv")) is not None:
        ways.append([uv, "pip", "install", "--python", sys.executable])
    if importlib.util.find_spec("pip") is not None:
        ways.append([sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-compile"])
    if not ways:
        raise InstallingFailed(f"{sys.executable} has neither pip nor uv", "run `python -m ensurepip`, then try again")
    if not any(subprocess.run([*way, "--quiet", *arguments], check=False).returncode == 0 for way in ways):
        raise InstallingFailed(f"{_shown(arguments)} failed, for the reason above", "fix it, and run this again")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _from_sources() -> None:
    """What ``make`` calls: this package from the sources in the current folder, with the versions of its lock."""
    import argparse

    parser = argparse.ArgumentParser(description="Install this repository into this Python's environment.")
    parser.add_argument("lock", nargs="?", default="requirements/lock.txt", help="file of exact versions")
    parser.add_argument("--all", action="store_true", help="everything in the file, not only what this package needs")
    parser.add_argument(
        "--but-local", action="store_true", help="everything in the file except PyTorch and what needs it"
    )
    parser.add_argument("--engines", action="store_true", help="only name ParlAI and Mephisto, as pip takes them")
    arguments = parser.parse_args()
    if arguments.engines:
        print(*_engine_arguments()[1:], sep="\n")
        return
    if arguments.but_local:
        pinned = re.findall(r"^([\w.-]+)(==.+)", Path(arguments.lock).read_text(encoding="utf-8"), re.MULTILINE)
        _install("--no-deps", *(name + version for name, version in pinned if name not in LOCAL), "-e", ".")
        return
    if not arguments.all:
        _say(f"Installing {DISTRIBUTION} and about 90 packages that it needs (the first time a minute or so)")
        _install("-c", arguments.lock, "setuptools", "-e", ".")
        install_engines()
        return
    torch = re.search(r"^torch==\S+", Path(arguments.lock).read_text(encoding="utf-8"), re.MULTILINE)
    assert torch is not None
    _say("Installing, 1 of 2: PyTorch (a large download; the first time a minute or more)")
    install_torch(torch[0], "-c", arguments.lock)
    _say("Installing, 2 of 2: about 180 packages (the first time a minute or two)")
    _install("--no-deps", "-r", arguments.lock)
    _install("--no-deps", "-e", ".")


if __name__ == "__main__":
    os.environ.setdefault("PIP_ROOT_USER_ACTION", "ignore")
    try:
        _from_sources()
    except InstallingFailed as failed:
        sys.exit(str(failed))
