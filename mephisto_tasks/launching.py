"""Launching a task: settings → checked study → running crowd task → clean end.

``parlai-humaneval launch TASK``, ``python -m mephisto_tasks.TASK.run``, the demo and the tests all go through here.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mephisto_tasks import compat

compat.prepare()

from mephisto.abstractions.databases.local_singleton_database import MephistoSingletonDB
from mephisto.data_model.worker import Worker
from omegaconf import DictConfig, OmegaConf

from mephisto_tasks.interactive.blueprint import InteractiveSharedState, webapp_dist
from mephisto_tasks.interactive.config import InteractiveConfig, read_config, resolve_file
from mephisto_tasks.interactive.explain import StudyDoor
from mephisto_tasks.interactive.study import Study, restore_allocation
from mephisto_tasks.operator import StudyOperator
from mephisto_tasks.practice_results import failed_tries
from mephisto_tasks.results import past_dialogues, past_practices
from mephisto_tasks.router.architect import ARCHITECT_TYPE, HumanevalLocalArchitect
from mephisto_tasks.settings import task_dir
from mephisto_tasks.task_lock import task_lock
from parlai_humaneval.models.pool import ModelPool
from parlai_humaneval.models.quiet import quiet_parlai
from parlai_humaneval.models.zoo import load_zoo, resolve, zoo_dir
from parlai_humaneval.protocol.materials import load_instructions, load_personas
from parlai_humaneval.protocol.practice import load_practice

logger = logging.getLogger(__name__)


class StudyBroken(RuntimeError):
    """Dialogues failed one after another; the message says with what."""


class NothingToDo(Exception):
    """Every dialogue that the settings ask for is there already."""


@dataclass
class Launched:
    """A running study."""

    study: Study
    operator: StudyOperator
    url: str
    data_dir: Path
    task_name: str
    task_run_id: str
    live_run: Any

    def is_done(self) -> bool:
        """True when every dialogue asked for is complete and no rater is on a page any more, or nothing can go on."""
        if self.study.broken is not None:
            return True
        return self.study.allocator.remaining == 0 and not self.live_run.task_runner.running_units

    def wait(self, stop: threading.Event, *, poll_s: float = 0.2) -> None:
        """Block until done or until ``stop`` is set."""
        while not self.is_done() and not stop.wait(poll_s):
            pass


def build_study(config: InteractiveConfig, task: str, data_dir: Path, task_name: str, reward: float) -> Study:
    """Everything that can go wrong with the settings goes wrong here, before anything is launched.

    Raises:
        ConfigError, MaterialError, ZooError: each names the setting or file and what was expected.
        NothingToDo: earlier launches already collected all.
    """
    own = task_dir(task) / "task_config"
    seed = config.seed if config.seed is not None else secrets.randbelow(2**31)
    allocator = restore_allocation(config, past_dialogues(data_dir, task_name), seed=seed)
    zoo = load_zoo([*sorted(zoo_dir().glob("*.yaml")), *(Path(f).expanduser() for f in config.zoo_files)])
    specs = resolve(config.model_names(), zoo)
    practice = None
    if config.onboarding_qualification:
        practice_file = resolve_file(config.onboarding_file, own / f"onboarding_{config.metric}.json")
        practice = load_practice(practice_file, config.metric)
    values = {
        "question": config.question,
        "turns": str(config.turns),
        "min_reason_words": str(config.min_reason_words),
        "pay": config.pay or f"${reward:.2f} for one complete conversation, practice included",
    }
    study = Study(
        config=config,
        seed=seed,
        specs={spec.name: spec for spec in specs},
        pool=ModelPool(specs, timeout_s=config.model_timeout_s, retries=config.model_retries, seed=seed),
        allocator=allocator,
        personas=load_personas(Path(config.persona_file).expanduser() if config.persona_file else None),
        practice=practice,
        instructions=load_instructions(resolve_file(config.instructions_file, own / "instructions.yaml"), values),
    )
    if practice is not None:
        for worker_id, past in past_practices(data_dir, task_name).items():
            study.practice_tries_used[worker_id] = failed_tries(past, len(practice.items))
    if allocator.remaining == 0:
        raise NothingToDo(
            f"all {config.dialogues_per_group} dialogues per group of task {task_name!r} are there already. See them with "
            f"`parlai-humaneval report --task-name {task_name}`, or ask for more: mephisto.blueprint.dialogues_per_group=…"
        )
    return study


@contextmanager
def launched(task: str, config: DictConfig, data_dir: Path) -> Iterator[Launched]:
    """Launch a task; on leaving the block, end it cleanly (answers are stored as they arrive).

    Raises:
        what :func:`build_study` raises; PortInUse; WebAppMissing; on leaving, StudyBroken.
    """
    webapp_dist()
    blueprint = OmegaConf.to_container(config.mephisto.blueprint, resolve=True, throw_on_missing=False)
    assert isinstance(blueprint, dict)
    settings = read_config({str(key): (None if value == "???" else value) for key, value in blueprint.items()})
    task_name = str(config.mephisto.task.task_name)
    data_dir.mkdir(parents=True, exist_ok=True)
    reward = float(config.mephisto.task.task_reward)
    with ExitStack() as stack:
        lock = stack.enter_context(task_lock(data_dir, task_name))
        study = build_study(settings, task, data_dir, task_name, reward)
        if config.mephisto.architect._architect_type == ARCHITECT_TYPE:
            HumanevalLocalArchitect.assert_task_args(config.mephisto, None)  # before models take minutes to load
        with quiet_parlai():  # it logs every option of every model between people and the link they wait for
            stack.enter_context(study.pool)
        db = MephistoSingletonDB(str(data_dir / "database.db"))
        operator = StudyOperator(db, StudyDoor(study, lambda worker_id: Worker.get(db, worker_id)))
        shared_state = InteractiveSharedState(study=study, task_config=_page_config(study, config))
        # Before any practice: nobody should practise for a study that has nothing for them.
        shared_state.worker_can_do_unit = lambda worker, unit: bool(study.allocator.available(worker.db_id))
        config.mephisto.blueprint.seed = study.seed  # what was drawn is stored with the run
        live_run = operator.launch(config.mephisto, shared_state)
        lock.name_run(str(live_run.task_run.db_id))
        try:
            yield Launched(
                study=study,
                operator=operator,
                url=str(live_run.task_launcher.launch_url),
                data_dir=data_dir,
                task_name=task_name,
                task_run_id=str(live_run.task_run.db_id),
                live_run=live_run,
            )
        finally:
            study.closing.set()
            operator.close()
    if study.broken is not None:
        raise StudyBroken(
            f"stopped after {settings.stop_after_failures} failed dialogues in a row, the last with: {study.broken}. Their "
            "raters are to be paid. Mend that (`parlai-humaneval models check … --load` asks a model) and launch again: it "
            "goes on."
        )


def _page_config(study: Study, config: DictConfig) -> dict[str, Any]:
    """The public configuration of the page: words only; no model, no right answer."""
    return {
        **study.instructions.model_dump(mode="json"),
        "provider_type": str(config.mephisto.provider._provider_type),
    }


def stop_on_signals() -> threading.Event:
    """An event that Ctrl-C and SIGTERM set, instead of killing the program in the middle of something."""
    import signal

    stop = threading.Event()

    def handler(signum: int, frame: Any) -> None:
        if stop.is_set() and signum == signal.SIGINT:
            raise KeyboardInterrupt  # a second Ctrl-C means it
        stop.set()

    signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGTERM, handler)
    return stop
