"""Everything that Mephisto 1.1.1, which is no longer developed, needs to run on today's Python: :func:`prepare` comes
before the first ``import mephisto``."""

from __future__ import annotations

import dataclasses
import importlib
import logging
import os
import runpy
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rich.console import Console

from parlai_humaneval._util.files import make_private_folder, user_home
from parlai_humaneval._util.installing import check_code, check_release
from parlai_humaneval._util.terminal import PLAIN_RECORDS
from parlai_humaneval.parlai_plugin.setup import parlai_without_torch

_lock = threading.Lock()
_prepared = False

DATA_DIR_ENV = "PARLAI_HUMANEVAL_DATA_DIR"


def default_data_dir() -> Path:
    """Where answers are kept unless a command says otherwise: ``$PARLAI_HUMANEVAL_DATA_DIR`` or a user folder."""
    override = os.environ.get(DATA_DIR_ENV)
    return Path(override).expanduser() if override else user_home() / "mephisto"


@contextmanager
def _patched_dataclasses() -> Iterator[None]:
    """Python 3.11 refuses an unhashable instance as a field's default; ``unsafe_hash=True`` makes Mephisto's pass."""
    module: Any = dataclasses
    original = module.dataclass

    def dataclass(cls: type | None = None, /, **options: Any) -> Any:
        if cls is None:
            return lambda target: dataclass(target, **options)
        is_mephistos = cls.__module__.partition(".")[0] == "mephisto" and not options.get("frozen")
        return original(cls, **({"unsafe_hash": True} if is_mephistos else {}) | options)

    module.dataclass = dataclass
    try:
        yield
    finally:
        module.dataclass = original


@contextmanager
def _without_detoxify() -> Iterator[None]:
    """Hide detoxify, with which Mephisto downloads a classifier in the middle of a study."""
    missing = object()
    before: Any = sys.modules.get("detoxify", missing)
    sys.modules["detoxify"] = None  # type: ignore[assignment]  # None is how Python marks a module as absent
    try:
        yield
    finally:
        if before is missing:
            del sys.modules["detoxify"]
        else:
            sys.modules["detoxify"] = before


@contextmanager
def _one_log_to_stderr() -> Iterator[None]:
    """One handler on standard error replaces Mephisto's on standard output, unless the program has set up its logging."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    core: Any = importlib.import_module("mephisto.utils.logger_core")
    check_code(core.get_logger, "ab71274e")
    for logger in core.loggers.values():
        logger.handlers.clear()
    rich_handler, core.RichHandler = core.RichHandler, logging.NullHandler  # for the modules that come later
    if not handlers:
        handlers = [rich_handler(console=Console(stderr=True), show_path=False)]
        handlers[0].addFilter(PLAIN_RECORDS)
    root.handlers[:] = handlers
    root.setLevel(level)


def _sends_by_any_websocket() -> None:
    """Mephisto's channel to a server elsewhere asks its socket whether it is ``closed``, which websockets 14 has dropped."""
    module: Any = importlib.import_module("mephisto.abstractions.architects.channels.websocket_channel")
    check_code(module.WebsocketChannel.enqueue_send, "66316be2")

    def enqueue_send(channel: Any, packet: Any) -> bool:
        if channel.socket is None or channel.socket.close_code is not None or channel.loop_wrap is None:
            return False
        channel.outgoing_queue.put(packet)
        channel.loop_wrap.execute_coro(channel._async_send_all())
        return True

    module.WebsocketChannel.enqueue_send = enqueue_send


def prepare() -> None:
    """Make ``import mephisto`` work on this Python, and quiet; safe to call often, by any thread. Raises UntestedRelease."""
    global _prepared
    with _lock:
        if _prepared:
            return
        check_release("mephisto")
        # Mephisto's own config file is created at import; its folder must be creatable.
        Path("~/.mephisto").expanduser().mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # torch breaks when its own dataclasses are made while the wrapper is in place: what Mephisto's ParlAI
            # blueprint imports of ParlAI comes first.
            parlai_without_torch()
            importlib.import_module("parlai.core.agents")
            with _patched_dataclasses(), _without_detoxify(), _one_log_to_stderr():
                importlib.import_module("mephisto")
                importlib.import_module("mephisto.operations.operator")
                importlib.import_module("mephisto.abstractions.databases.local_database")
                importlib.import_module("mephisto.abstractions.databases.local_singleton_database")
        # Mephisto's Operator opens a metrics port (3031) on all interfaces: both starters become no-ops.
        operator: Any = importlib.import_module("mephisto.operations.operator")
        check_code(operator.Operator.__init__, "dfae99fc")
        operator.start_metrics_server = lambda args=None: None
        operator.launch_prometheus_server = lambda args=None: False
        # Mephisto's mock provider and task runs print lines, which would land in the middle of a report or of JSON.
        mock_unit: Any = importlib.import_module("mephisto.abstractions.providers.mock.mock_unit")
        task_run: Any = importlib.import_module("mephisto.data_model.task_run")
        check_code(mock_unit.MockUnit.launch, "dc095d00")
        check_code(task_run.TaskRun.reserve_unit, "ebb12130")
        for module in (mock_unit, task_run):
            module.print = lambda *args, **kwargs: None
        # Mephisto's launcher thread sleeps 10 s after its last unit; the process could not end before that.
        launcher: Any = importlib.import_module("mephisto.operations.task_launcher")
        check_code(launcher.TaskLauncher.generate_units, "a809b3c2")
        launcher.UNIT_GENERATOR_WAIT_SECONDS = 0.5
        _sends_by_any_websocket()
        # Mephisto asks on the terminal for its data directory at the first use; a program cannot answer: it gets ours.
        dirs: Any = importlib.import_module("mephisto.utils.dirs")
        handler: Any = importlib.import_module("mephisto.operations.config_handler")
        check_code(dirs.get_root_data_dir, "c3677fc9")
        if handler.get_config_arg(handler.CORE_SECTION, handler.DATA_STORAGE_KEY) is None:
            data_dir = default_data_dir()
            with suppress(OSError):  # a command that needs this one says so; another one may be named
                make_private_folder(data_dir)
            dirs.loaded_data_dir = str(data_dir)
        # Hydra copies its whole store at each composition, half of the time; here one store copies what it gives out.
        config_store: Any = importlib.import_module("hydra.core.config_store")
        config_store.ConfigStore.__deepcopy__ = lambda self, memo: self
        _prepared = True


if __name__ == "__main__":  # a program of Mephisto's own: python -m mephisto_tasks._util.compat MODULE [ARGUMENTS]
    prepare()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
