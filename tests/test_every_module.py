"""Every module can be imported: on the oldest libraries and the newest, and where PyTorch is not installed."""

from __future__ import annotations

import ast
import gc
import importlib
import json
import os
import pkgutil
import subprocess
import sys
import warnings
from pathlib import Path

import mephisto_tasks
import parlai_humaneval
from mephisto_tasks._util import compat

WITHOUT_TORCH = """\
import json, sys
for name in ("torch", "transformers", "accelerate"):
    sys.modules[name] = None  # how Python marks a module as absent
sys.path += [sys.argv[1], f"{sys.argv[1]}/tests"]
from test_every_module import _failing
print(json.dumps(_failing(json.loads(sys.argv[2]))))
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


def failing_here(names: list[str]) -> dict[str, str]:
    """Modules that cannot be imported, with why: in a fork of this process, which has most libraries already."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, json.dumps(_failing(names)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as said:
        answer = said.read()
    os.waitpid(child, 0)
    failed: dict[str, str] = json.loads(answer)
    return failed


def _failing(names: list[str]) -> dict[str, str]:
    gc.disable()  # nothing that is imported is ever garbage
    warnings.simplefilter("ignore")
    compat.prepare()
    failed = {}
    for name in names:
        try:
            importlib.import_module(name)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the module cannot be imported
            failed[name] = f"{type(error).__name__}: {error}"
    return failed


def test_every_module_is_importable() -> None:
    """Guards names that a release of a library has renamed or dropped, where no other test would meet them."""
    names = all_modules()
    assert len(names) > 400
    assert failing_here(names) == {}


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


def test_only_models_of_this_machine_need_pytorch(tmp_path: Path) -> None:
    """Studies of functions and hosted models, plans and reports are to run without two gigabytes of PyTorch."""
    script = tmp_path / "importing.py"
    script.write_text(WITHOUT_TORCH, encoding="utf-8")
    asked = [sys.executable, str(script), str(Path(__file__).parents[1]), json.dumps(all_modules())]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    failed = json.loads(done.stdout.splitlines()[-1])
    assert [name for name in failed if not name.startswith(NEED_TORCH)] == []
