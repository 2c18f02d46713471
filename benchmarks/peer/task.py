"""Launches ParlAI's pairwise per-turn task: ``python -m benchmarks.peer.task PORT CONVERSATIONS WORK_FOLDER``.

ParlAI's blueprint, world and bot agents, Mephisto's operator, LocalArchitect and node router run unchanged, except:

* what Mephisto 1.1.1 needs to be imported at all on this Python (``mephisto_tasks._util.compat``), and the name
  ``InaccessiblePrometheusServer`` that ParlAI imports and Mephisto 1.1.1 does not have;
* ParlAI's checker of offensive words, which is not used here, but would be downloaded by every world.
"""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from mephisto_tasks._util import compat

compat.prepare()

import mephisto.utils.metrics as mephisto_metrics

from benchmarks.models import AGENTS
from benchmarks.peer.copy import FRONTEND

READY = "PEER IS READY"
CONF = Path(__file__).parent / "conf"


@contextmanager
def _importable() -> Iterator[None]:
    """Python 3.11 refuses ParlAI's configuration classes too; with ``unsafe_hash`` they are accepted."""
    mephisto_metrics.InaccessiblePrometheusServer = type("InaccessiblePrometheusServer", (Exception,), {})
    original = dataclasses.dataclass

    def dataclass(cls: Any = None, /, **options: Any) -> Any:
        def decorate(target: Any) -> Any:
            ours = target.__module__.startswith("parlai.crowdsourcing.") and not options.get("frozen")
            return original(**options, **({"unsafe_hash": True} if ours else {}))(target)

        return decorate if cls is None else decorate(cls)

    dataclasses.dataclass = dataclass
    try:
        yield
    finally:
        dataclasses.dataclass = original


class NoChecker:
    """In place of ParlAI's AcceptabilityChecker."""


def write_task_files(folder: Path) -> None:
    """What ParlAI's wheel lacks: the model options, the description and the left pane."""
    (folder / FRONTEND).mkdir(parents=True, exist_ok=True)
    options = {name: f"--model {agent}" for name, agent in AGENTS.items()}
    (folder / "model_opts.yaml").write_text(yaml.safe_dump(options), encoding="utf-8")
    (folder / "task_description.html").write_text("<p>Chat.</p>", encoding="utf-8")
    (folder / "left_pane_text.html").write_text("<p>{task_question}</p>", encoding="utf-8")


def settings(port: int, conversations: int, folder: Path) -> list[str]:
    """Overrides of ``conf/peer.yaml``."""
    return [
        f"mephisto.architect.port={port}",
        f"mephisto.blueprint.conversations_needed_string='{':'.join(AGENTS)}:{conversations}'",
        f"mephisto.blueprint.task_config_path={folder}",
        f"mephisto.blueprint.custom_source_dir={folder}/{FRONTEND}",
        f"mephisto.blueprint.chat_data_folder={folder}/chats",
    ]


def launch(port: int, conversations: int, folder: Path) -> None:
    """Launch, print :data:`READY`, and run until SIGTERM."""
    with _importable():
        import parlai.crowdsourcing.tasks.pairwise_per_turn_eval.worlds as world_module
        from parlai.crowdsourcing.tasks.model_chat.model_chat_blueprint import SharedModelChatTaskState
        from parlai.crowdsourcing.tasks.pairwise_per_turn_eval import per_turn_eval_blueprint  # noqa: F401  (registers the blueprint)

    from hydra import compose, initialize_config_dir
    from mephisto.abstractions.databases.local_database import LocalMephistoDB
    from mephisto.operations.operator import Operator
    from mephisto.utils.testing import get_mock_requester

    world_module.AcceptabilityChecker = NoChecker
    write_task_files(folder)
    with initialize_config_dir(config_dir=str(CONF), version_base="1.3"):
        config = compose(config_name="peer", overrides=settings(port, conversations, folder))
    database = LocalMephistoDB()
    get_mock_requester(database)
    operator = Operator(database)
    signal.signal(signal.SIGTERM, lambda *_: _end(operator))
    operator.launch_task_run_or_die(config.mephisto, SharedModelChatTaskState(world_module=world_module))
    print(READY, flush=True)
    operator.wait_for_runs_then_shutdown(skip_input=True, log_rate=None)


def _end(operator: Any) -> None:
    """Mephisto would leave its router running."""
    for run in operator.get_running_task_runs().values():
        if run.architect.server_process is not None:
            run.architect.server_process.kill()
    os._exit(0)


if __name__ == "__main__":
    launch(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
