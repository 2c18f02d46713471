"""Train a model of the zoo from its ``training`` block, with ParlAI's training loop, into the place where it is used."""

from __future__ import annotations

import contextlib
import json
import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parlai_humaneval.models.pool.loading import device_options
from parlai_humaneval.models.trained.training_options import CHECKPOINT, TrainingError, named_task, parsed, parser
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError
from parlai_humaneval.models.zoo.home import HOME_PREFIX, expand_home

DEFAULTS: Mapping[str, Any] = {
    "save_after_valid": True,
    "save_every_n_secs": 300,
    "log_every_n_secs": 10,
    "seed": 1,
}
"""Options that go before ParlAI's own defaults, and behind those of a ``training`` block."""
LIMITS = frozenset({"num_epochs", "max_train_time", "max_train_steps", "save_every_n_secs", "log_every_n_secs"})
"""Options that may change when an interrupted training goes on."""
SETTINGS = "settings.json"
DIALOGUES = "dialogues"


@dataclass(frozen=True)
class Plan:
    """What is to be trained.

    Args:
        spec: the model.
        made: where its file will be.
        data: prefix of one's own dialogues (see :func:`parlai_humaneval.models.trained.training_data.read_folds`); None: the
            task of the ``training`` block.
        settings: options over those of the block.
    """

    spec: ModelSpec
    made: Path
    data: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def work(self) -> Path:
        """The folder of an unfinished training."""
        return self.made.with_name(f"{self.made.name}.unfinished")

    def options(self) -> dict[str, Any]:
        """ParlAI's options for it, as ``parlai train_model`` takes them."""
        training = self.spec.training.options if self.spec.training else {}
        own = {"model": self.spec.options["model"]} if "model" in self.spec.options else {}
        merged = {**DEFAULTS, **device_options(self.spec.device), **own, **training, **self.settings}
        if self.data is not None:
            # Of the task that the dialogues replace, nothing remains.
            merged = {
                key: value for key, value in merged.items() if not key.startswith("fromfile_") and key != "evaltask"
            }
            merged |= {
                "task": "fromfile:parlaiformat",
                "fromfile_datapath": str(self.work / DIALOGUES),
                "fromfile_datatype_extension": True,
            }
        merged = {key: expand_home(value) if isinstance(value, str) else value for key, value in merged.items()}
        return {**merged, "model_file": str(self.work / "model")}


@dataclass(frozen=True)
class Trained:
    """A model that is ready. ``resumed``: an interrupted training was gone on with; ``valid``: its validation report."""

    model_file: Path
    resumed: bool
    valid: Mapping[str, Any]


def plan_training(
    spec: ModelSpec, *, folder: Path | None = None, data: str | None = None, settings: Mapping[str, Any] | None = None
) -> Plan:
    """What training ``spec`` means on this machine; ``folder``: where to put the model, by default where the zoo looks.

    Raises:
        TrainingError: for a model that is not trained here, or nowhere to put it.
    """
    if spec.training is None:
        raise TrainingError(
            f"{spec.name} has no `training` in its zoo file, so it is not trained here; "
            f"`parlai-humaneval models check {spec.name}` says how to get it"
        )
    where = spec.options.get("model_file")
    if folder is None and (not isinstance(where, str) or where.startswith(("zoo:", "models:"))):
        raise TrainingError(f"{spec.name} has no `model_file` of its own; say with --out where to put the model")
    made = folder / "model" if folder is not None else Path(expand_home(str(where))).expanduser()
    plan = Plan(spec, made.absolute(), data, settings or {})
    if "model" not in plan.options():
        raise TrainingError(f"{spec.name}: neither options nor training.options name the agent (`model`) to be trained")
    return plan


def command_line(plan: Plan) -> str:
    """The same as one command of ParlAI's. Dialogues of one's own are written beside the model's file for it.

    Raises:
        TrainingError: for an option that the agent does not have, or an ill-typed value.
        MaterialError: when one's own dialogues cannot be read.
        OSError: when they cannot be written.
    """
    from parlai_humaneval.models.trained.training_data import read_folds, write_folds

    options = {**plan.options(), "model_file": str(plan.made)}
    named_task(plan.spec, options)
    if plan.data is not None:
        options |= write_folds(plan.made.with_name(DIALOGUES), read_folds(plan.data))
    parsed(plan.spec, options)
    command = parser()
    words = command._kwargs_to_str_args(**options)
    # ParlAI takes the last name of each option, which is a short one; the longest says what it is.
    names = {action.option_strings[-1]: max(action.option_strings, key=len) for action in command._actions}
    return shlex.join(["parlai-humaneval", "parlai", "train_model", *(names.get(word, word) for word in words)])


def train(
    plan: Plan,
    *,
    quiet: bool = True,
    progress: Callable[[str], None] | None = None,
    on_resume: Callable[[str], None] | None = None,
) -> Trained:
    """Train a model. What is interrupted is gone on with by the same call; ``on_resume`` is told from where.

    Raises:
        TrainingError: for wrong options, data that is missing, or a model that is there already.
        MaterialError: when one's own dialogues cannot be read.
        OSError: when the folder cannot be written.
    """
    named_task(plan.spec, plan.options())
    if plan.made.exists():
        raise TrainingError(
            f"{plan.spec.name} is trained already: {plan.made}. To train it anew, move that folder away or name another "
            "with --out"
        )
    # Imported here: ParlAI takes seconds.
    from parlai_humaneval.models.trained.train_loop import keep_for_inference
    from parlai_humaneval.models.trained.training_data import read_folds, write_folds

    folds = read_folds(plan.data) if plan.data is not None else None
    options = {**_scheduler_begun_with(plan), **plan.options()}
    _there(plan, options)
    opt = parsed(plan.spec, options)
    resumed = _prepare(plan, options)
    if resumed and on_resume:
        on_resume(checkpoint_of(plan) or "")
    if folds is not None:
        write_folds(plan.work / DIALOGUES, folds)
    report = _run(plan, opt, quiet, progress)
    keep_for_inference(plan.work / "model", plan.made)
    shutil.rmtree(plan.work)
    return Trained(plan.made, resumed, report)


def _there(plan: Plan, options: Mapping[str, Any]) -> None:
    """Files that the training reads must be there before it starts."""
    assert plan.spec.training is not None
    named = {**plan.spec.training.options, **plan.settings}
    lacking = [
        f"{key} {options[key]}"
        for key, value in named.items()
        if isinstance(value, str) and value.startswith(HOME_PREFIX) and key in options and not _exists(options[key])
    ]
    lacking += [f"data {options['fromfile_datapath']}_train.txt"] if _no_file_data(plan, options) else []
    if lacking:
        raise TrainingError(
            f"{plan.spec.name} cannot be trained yet: {'; '.join(lacking)} is not there.{_before(plan)}"
        )


def _exists(path: str) -> bool:
    """A file, a folder, or what several files' names begin with."""
    return Path(path).exists() or any(Path(path).parent.glob(f"{Path(path).name}*"))


def _no_file_data(plan: Plan, options: Mapping[str, Any]) -> bool:
    path = options.get("fromfile_datapath")
    return plan.data is None and isinstance(path, str) and not _exists(path)


def _before(plan: Plan) -> str:
    before = plan.spec.training.before if plan.spec.training else []
    return f" Needed first: {'; '.join(before)}." if before else ""


def check_options(spec: ModelSpec) -> None:
    """Have ParlAI's command line read the options of a ``training`` block; nothing is trained, no data are looked for.

    Raises:
        TrainingError: for an option that the agent does not have, an ill-typed value, or an unknown task.
    """
    plan = plan_training(spec, folder=Path())
    parsed(spec, plan.options())


def checkpoint_of(plan: Plan) -> str | None:
    """How far the checkpoint of an interrupted training is, in words; None where there is no checkpoint."""
    checkpoint = plan.work / f"model{CHECKPOINT}"
    if not checkpoint.exists():
        return None
    try:
        stats = json.loads(checkpoint.with_name(f"{checkpoint.name}.trainstats").read_text(encoding="utf-8"))
        return f"step {stats['train_steps']}, epoch {stats['total_epochs']:.1f}"
    except (OSError, ValueError, KeyError, TypeError):  # it ended while it wrote them
        return "its last step"


def _interrupted(plan: Plan) -> dict[str, Any]:
    """The settings of a training that can be gone on with; empty where there is none."""
    noted = plan.work / SETTINGS
    if not ((plan.work / f"model{CHECKPOINT}").exists() and noted.exists()):
        return {}
    settings: dict[str, Any] = json.loads(noted.read_text(encoding="utf-8"))
    return settings


def _scheduler_begun_with(plan: Plan) -> dict[str, Any]:
    """An interrupted training keeps its scheduler where none is named: the default was not always ParlAI's."""
    return {key: value for key, value in _interrupted(plan).items() if key == "lr_scheduler"}


def _prepare(plan: Plan, options: Mapping[str, Any]) -> bool:
    """Make the folder of the training; whether an interrupted one is there to go on with."""
    settings = json.loads(json.dumps({key: value for key, value in options.items() if key not in LIMITS}))
    settings["data"] = plan.data
    noted = plan.work / SETTINGS
    if begun_with := _interrupted(plan):
        if begun_with != settings:
            raise TrainingError(
                f"an interrupted training of {plan.spec.name} with other options is in {plan.work}: give the same ones to "
                "go on with it, or remove that folder to begin anew"
            )
        return True
    if noted.exists():  # it ended before anything was learned; its dictionary may be of other data
        shutil.rmtree(plan.work)
    plan.work.mkdir(parents=True, exist_ok=True)
    noted.write_text(json.dumps(settings, indent=2), encoding="utf-8")
    return False


def _run(plan: Plan, opt: Any, quiet: bool, progress: Callable[[str], None] | None) -> Mapping[str, Any]:
    from parlai_humaneval.models.quiet import silent_parlai
    from parlai_humaneval.models.trained.train_loop import run_loop

    try:
        with silent_parlai() if quiet else contextlib.nullcontext():
            return run_loop(opt, progress)
    except Exception as error:
        if isinstance(error, ZooError):
            raise
        raise TrainingError(f"{plan.spec.name} could not be trained: {_why(plan, opt, error)}") from error


def _why(plan: Plan, opt: Any, error: Exception) -> str:
    from requests import RequestException  # ParlAI downloads with it

    if isinstance(error, RequestException) or "Connection broken" in str(error):
        return (
            f"the data of its task {opt['task']} is not here, and ParlAI's download of it failed ({error}). It needs the "
            f"internet; or give dialogues of your own with --data.{_before(plan)}"
        )
    said = str(error) or "no reason given"
    return f"{type(error).__name__}: {said}.{_before(plan)} With --verbose, ParlAI's log tells more."
