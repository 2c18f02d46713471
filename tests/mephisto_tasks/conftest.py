"""Launches of real Mephisto runs for tests: temporary data, a page folder of one line, models that need no time."""

from __future__ import annotations

import hashlib
import os
import pickle
import signal
import tempfile
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

_HOME = tempfile.TemporaryDirectory(prefix="home-of-mephisto-")


def _prepare_mephisto() -> None:
    """Mephisto finds its config file at import: in a temporary home, never in that of who runs the tests."""
    home = os.environ.get("HOME")
    os.environ["HOME"] = _HOME.name
    try:
        from mephisto_tasks._util import compat

        compat.prepare()
    finally:
        if home is None:
            del os.environ["HOME"]
        else:
            os.environ["HOME"] = home


_prepare_mephisto()

import botocore.session
import composing
import httpx._transports.default
import live
import scripted_models
from live import Launch, launch_beside
from mephisto.data_model import task_run
from mephisto.operations import client_io_handler

from mephisto_tasks.adapter import blueprint, operator
from mephisto_tasks.cli.report import report
from mephisto_tasks.launch import config
from mephisto_tasks.launch import launch as launching
from mephisto_tasks.monitoring.observe import Observer
from parlai_humaneval.materials import instructions
from parlai_humaneval.models.zoo import entries
from parlai_humaneval.models.zoo.entries import ModelSpec, zoo_dir
from parlai_humaneval.report import build
from parlai_humaneval.report.section import Section


@pytest.fixture(scope="module", autouse=True)
def _threads_of_others() -> None:
    """What runs before the first test of a file is none of its launches'."""
    live.OTHERS.update(threading.enumerate())


@pytest.fixture(scope="session", autouse=True)
def _page_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The real page need not be built for these tests."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "index.html").write_text("<html></html>")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blueprint, "webapp_dist", lambda: folder)
        patch.setattr(launching, "webapp_dist", lambda: folder)
        yield


@pytest.fixture(scope="session", autouse=True)
def _short_waits() -> Iterator[None]:
    """Seconds of the real thing, cut down: the good-bye, and how often Mephisto asks the router who is there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operator, "GOODBYE_S", 0.3)
        patch.setattr(client_io_handler, "STATUS_CHECK_TIME", 0.2)
        yield


@pytest.fixture(scope="session", autouse=True)
def _few_draws() -> Iterator[None]:
    """Bootstraps of reports, of which no test here asks more than that they are there, and the same on every way to them."""
    (draws,) = (option for option in report.params if option.name == "draws")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draws, "default", 100)
        patch.setitem(Observer.__init__.__kwdefaults__, "draws", 100)
        yield


@pytest.fixture(scope="session", autouse=True)
def _the_same_answers_are_computed_once() -> Iterator[None]:
    """Reports of the same tables, of which one test may look at the terminal, the next at the JSON."""
    compute, computed = build.sections, {}

    def sections(*asked: object) -> dict[str, Section]:
        key = hashlib.sha256(pickle.dumps(asked)).digest()
        if key not in computed:
            computed[key] = compute(*asked)
        return dict(computed[key])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "sections", sections)
        yield


@pytest.fixture(scope="session", autouse=True)
def _what_clients_read_is_read_once() -> Iterator[None]:
    """Most of the time in which a client is made goes into megabytes of JSON on Amazon's services, or into the certificates
    of a hundred authorities, the same each time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(botocore.session, "create_loader", cache(botocore.session.create_loader))
        module = httpx._transports.default
        patch.setattr(module, "create_ssl_context", cache(module.create_ssl_context))
        yield


@pytest.fixture(scope="session", autouse=True)
def _confs_are_composed_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        composing.take_the_place_of_hydra(patch.setattr)
        patch.setattr(task_run, "OmegaConf", SimpleNamespace(create=composing.created_quickly))
        yield


@pytest.fixture(scope="session", autouse=True)
def _files_of_the_package_are_read_once() -> Iterator[None]:
    """Every launch reads its instructions and all zoo files, and makes ninety models of these."""
    read, finish, folder = entries.read_yaml, entries._finish, zoo_dir()
    packaged, models = cache(read), {}

    def read_yaml(path: Path, *how: object) -> object:
        return packaged(path, *how) if path.is_relative_to(folder.parent) else read(path, *how)

    def finished(name: str, known: dict[str, Any], origin: dict[str, Path]) -> ModelSpec:
        if origin[name].parent != folder:
            return finish(name, known, origin)
        chain = tuple(origin[parent.extends] for parent in entries._chain(name, known, name) if parent.extends)
        if (name, chain) not in models:
            models[name, chain] = finish(name, known, origin)
        return models[name, chain].model_copy()

    with pytest.MonkeyPatch.context() as patch:
        for module in (entries, instructions):
            patch.setattr(module, "read_yaml", read_yaml)
        patch.setattr(entries, "_finish", finished)
        yield


@pytest.fixture
def composed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of how settings are composed: all of it by hydra, each time."""
    monkeypatch.setattr(config, "compose", composing.compose)


@pytest.fixture(autouse=True)
def _scripts_as_before() -> Iterator[None]:
    """What a test had scripted models say is forgotten after it."""
    yield
    scripted_models.SCRIPTS.clear()
    scripted_models.HEARD.clear()


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def start(data_dir: Path) -> Launch:
    """``async with start(turns=2, …) as run``: a PW-Turn study of two scripted models, without practice unless asked."""
    return lambda **settings: launch_beside(settings.pop("data_dir", data_dir), **settings)


@pytest.fixture
def signals_as_before() -> Iterator[None]:
    """A demo takes over what Ctrl-C does."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
