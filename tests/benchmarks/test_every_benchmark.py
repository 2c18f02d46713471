"""Every benchmark runs with ``--quick`` and gives figures, or says what this machine lacks.

Nothing is asserted about time, which would only test the machine: programs that benchmarks start begin as forks of one that
has imported what takes seconds. A new benchmark is in here by itself.
"""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from importlib import util
from pathlib import Path
from typing import Any, get_args

import pytest
from click.testing import CliRunner
from forked import LAUNCH, Forked, WarmServer

from benchmarks import processes, report, startup
from benchmarks.__main__ import BENCHMARKS, main
from benchmarks.figures import Figure
from benchmarks.processes import Need

Measured = dict[str, float]


def _nobody_is_lost(measured: Measured) -> None:
    assert measured["3 raters: turns lost, changed or doubled"] == 0
    assert measured["3 raters: came to no end"] == 0


def _weights_are_loaded_once(measured: Measured) -> None:
    """Guards machines whose memory holds a large model once and not twice: a plain load takes 2.1 times its files."""
    assert all(1.0 <= share < 1.5 for share in measured.values())


CLAIMS: dict[str, Callable[[Measured], None]] = {"load": _nobody_is_lost, "loading": _weights_are_loaded_once}


@pytest.fixture(scope="module", autouse=True)
def forks() -> Iterator[None]:
    """A module ``subprocess`` of the benchmarks' own, whose processes of Python are forks; not where memory is measured."""
    spec = util.find_spec("subprocess")
    assert spec is not None
    assert spec.loader is not None
    forking = util.module_from_spec(spec)
    spec.loader.exec_module(forking)
    server = WarmServer((*LAUNCH, "benchmarks.sides"))
    vars(forking).update(Popen=partial(Forked, server=server), TimeoutExpired=subprocess.TimeoutExpired)
    with pytest.MonkeyPatch.context() as patch:
        for module in (processes, report, startup):
            patch.setattr(module, "subprocess", forking)
        yield
    server.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_runs_quickly(name: str) -> None:
    """Guards each benchmark, by its command, against changes in what it drives."""
    ended = CliRunner().invoke(main, [name, "--quick", "--json"], catch_exceptions=False)
    assert ended.exit_code == 0, ended.stderr
    printed: dict[str, Any] = json.loads(ended.stdout)
    lack = printed["not_measured"].get(name)
    if lack is not None:
        assert lack["need"] in get_args(Need)
        pytest.skip(lack["reason"])
    figures = [Figure.model_validate({key: each[key] for key in Figure.model_fields}) for each in printed["figures"]]
    measured = {figure.name: figure.ours for figure in figures}
    assert len(figures) == len(measured) > 0
    assert all(math.isfinite(value) for value in measured.values())
    assert all((figure.peer is None) == (figure.peer_source == "none") for figure in figures)
    CLAIMS.get(name, lambda _: None)(measured)


def test_a_module_with_a_run_is_a_benchmark() -> None:
    """Guards the list of benchmarks, and so the test above: no module has to be registered."""
    folder = Path(__file__).parents[2] / "benchmarks"
    files = [*folder.glob("*.py"), *folder.glob("*/__init__.py")]
    with_run = {file for file in files if "\ndef run(quick: bool)" in file.read_text(encoding="utf-8")}
    assert {file.parent.name if file.stem == "__init__" else file.stem for file in with_run} == set(BENCHMARKS)
    assert all(BENCHMARKS.values()), "each says in its first line what it measures"
