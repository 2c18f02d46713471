"""Every module can be imported: on the oldest libraries and the newest, and where PyTorch is not installed."""

from __future__ import annotations

import ast
import json
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from warm_python import WarmPython

import mephisto_tasks
import parlai_humaneval

WITHOUT_TORCH = """\
import sys
for name in ("torch", "transformers", "accelerate"):
    sys.modules[name] = None  # how Python marks a module as absent
"""
IMPORTING = """\
import gc, importlib, json, sys, warnings
gc.disable()  # nothing that is imported is ever garbage
warnings.simplefilter("ignore")
failed = {}
from mephisto_tasks._util import compat
compat.prepare()
for name in json.loads(sys.argv[1]):
    try:
        importlib.import_module(name)
    except BaseException as error:
        failed[name] = f"{type(error).__name__}: {error}"
print(json.dumps(failed))
"""
NEED_TORCH = ("parlai_humaneval.agents.", "parlai_humaneval.models.")
"""Where modules may be about models of this machine."""


def all_modules() -> list[str]:
    return [
        module.name
        for package in (parlai_humaneval, mephisto_tasks)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if not module.name.endswith("__main__")
    ]


@pytest.fixture(scope="module")
def libraries() -> Iterator[WarmPython]:
    """Processes that have the libraries which know nothing of PyTorch."""
    with WarmPython(imports=("scipy.stats", "pandas", "statsmodels.api", "matplotlib.figure", "pydantic")) as started:
        yield started


def failing(program: str, names: list[str], folder: Path, libraries: WarmPython) -> dict[str, str]:
    """Modules that cannot be imported in a process of their own, with why."""
    script = folder / "importing.py"
    script.write_text(program, encoding="utf-8")
    done = libraries.run(str(script), json.dumps(names), cwd=folder)
    assert done.returncode == 0, done.stderr
    failed: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return failed


def test_every_module_is_importable(tmp_path: Path, libraries: WarmPython) -> None:
    """Guards names that a release of a library has renamed or dropped, where no other test would meet them."""
    names = all_modules()
    assert len(names) > 400
    assert failing(IMPORTING, names, tmp_path, libraries) == {}


def test_mephisto_is_prepared_before_it_is_imported() -> None:
    """Guards commands that import one module alone: on today's Python, Mephisto cannot be imported unprepared."""
    unprepared = []
    for path in Path(mephisto_tasks.__file__).parent.rglob("*.py"):
        prepared = False
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(statement, ast.Expr | ast.Import | ast.ImportFrom):
                continue  # no source is written of classes and functions, which is most of the time that this takes
            prepared = prepared or ast.unparse(statement) == "compat.prepare()"
            if ast.unparse(statement).startswith(("from mephisto.", "import mephisto.")) and not prepared:
                unprepared.append(path.name)
    assert unprepared == []


def test_only_models_of_this_machine_need_pytorch(tmp_path: Path, libraries: WarmPython) -> None:
    """Studies of functions and hosted models, plans and reports are to run without two gigabytes of PyTorch."""
    failed = failing(WITHOUT_TORCH + IMPORTING, all_modules(), tmp_path, libraries)
    assert [name for name in failed if not name.startswith(NEED_TORCH)] == []
