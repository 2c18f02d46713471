"""Property tests: from fixed examples in ``make test``, which never fails by chance; at random in ``make explore``.

Runners of commands are those of click 8.2 and later on older ones, too: ``stdout`` and ``stderr`` apart, ``output`` both.

A process computes with one thread unless told otherwise. Tiny models gain nothing by more, and where tests run beside each
other, threads that wait for a core burn five times the processor time that the models need.
"""

from __future__ import annotations

import gc
import inspect
import os
from collections.abc import Iterator
from functools import partialmethod

import pytest
from click.testing import CliRunner, Result
from collected_once import Processes
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from unsynced import wait_for_no_disk
from warm_python import WarmPython, end

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when PyTorch is imported, here and in processes that tests start
# By Ray's default its models give way to all other tests, and wait for minutes.
os.environ.setdefault("RAY_worker_niceness", "0")
# Nor is a process started for each processor of a node before anything is asked: models have processes of their own.
os.environ.setdefault("RAY_prestart_worker_first_driver", "0")

wait_for_no_disk()

if "mix_stderr" in inspect.signature(CliRunner).parameters:
    CliRunner.__init__ = partialmethod(CliRunner.__init__, mix_stderr=False)
    Result.output = property(lambda result: result.stdout + result.stderr)

settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", derandomize=False, deadline=None, print_blob=True)
settings.load_profile("fixed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--processes", type=int, default=1, help="run the tests in so many processes (see collected_once.py)"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Fixed examples hold no constants of the modules that are loaded by then: a test draws the same ones alone and among
    others, and nobody waits half a minute until two thousand files are read for them."""
    if not config.getoption("hypothesis_profile", None) and hasattr(providers, "_get_local_constants"):
        providers._get_local_constants = lambda: providers._local_constants
    if (processes := config.getoption("processes")) > 1 and not _by_xdist(config):
        config.pluginmanager.register(Processes(processes))


def _by_xdist(config: pytest.Config) -> bool:
    return config.getoption("numprocesses", None) is not None or hasattr(config, "workerinput")


SESSION = pytest.StashKey[pytest.Session]()


def pytest_sessionstart(session: pytest.Session) -> None:
    session.config.stash[SESSION] = session


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """All is said and done: what was imported is the kernel's to clear away, for which Python takes three seconds."""
    session = config.stash.get(SESSION, None)
    if session is not None and not _by_xdist(config):
        config.get_terminal_writer().flush()
        end(int(session.exitstatus))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Millions of objects of libraries and tests are made to stay: looking for garbage among them finds nothing.

    Among young objects it is looked for every 50,000 and not every 700: settings are composed in 4 % less processor time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()  # and processes that are forked from here share it, where a search would write to all of it
        gc.set_threshold(50_000)
        gc.enable()


@pytest.fixture(scope="session")
def warm() -> Iterator[WarmPython]:
    """Runs scripts in processes that need not import PyTorch."""
    with WarmPython() as started:
        yield started
