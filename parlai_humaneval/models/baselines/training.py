"""Train a model of the zoo from its ``training`` block, with ParlAI's training loop, into the place where it is used.

Dialogues of any format → the text files that ParlAI's ``fromfile:parlaiformat`` task trains on.

The options of a training, checked before any time is spent on it.

ParlAI's training loop, run in this process, with what it lacks: it tells how far it is, and an interruption is no loss.

Importing this takes seconds: ParlAI and torch come with it.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parlai.core.metrics import dict_report
from parlai.core.opt import Opt
from parlai.scripts.train_model import TrainLoop, set_seed
from parlai.utils.io import PathManager

from parlai_humaneval._util.data_files import DataError
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval.dialogues.dialogue import Dialogue
from parlai_humaneval.dialogues.files import load_dialogues
from parlai_humaneval.dialogues.personas import OWN, PARTNERS, persona_line
from parlai_humaneval.models.agent.options import UnknownOptions, parse
from parlai_humaneval.models.pool.loading import device_options
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError
from parlai_humaneval.models.zoo.files import HOME_PREFIX, expand_home, make_importable

if TYPE_CHECKING:
    from parlai.core.params import ParlaiParser


FOLDS = ("train", "valid", "test")
HELD_OUT = 10
"""Without a file of its own, validation gets one dialogue in this many."""

Folds = Mapping[str, Sequence[Dialogue]]
"""Fold → its dialogues."""


def read_folds(prefix: str) -> Folds:
    """The dialogues of ``PREFIX_train.*``, ``PREFIX_valid.*`` and ``PREFIX_test.*``, whatever their format and ending.

    Only the first must be there: without the second every tenth dialogue is held out, without the third the second
    serves again. ``prefix`` may also be one file, which is then all there is.

    Raises:
        DataError: when there is no such file, more than one for a fold, or one that cannot be read.
    """
    found = {fold: _file(prefix, fold) for fold in FOLDS}
    train = found["train"] or (Path(prefix) if Path(prefix).is_file() else None)
    if train is None:
        raise DataError(
            f"{prefix}_train.*: there is no such file",
            try_=f"expected dialogues to learn from there, and others, if you have them, in {prefix}_valid.* and "
            f"{prefix}_test.*",
        )
    folds = {"train": load_dialogues(train)}
    if found["valid"] is None:
        folds = _hold_out(folds["train"], train)
    else:
        folds["valid"] = load_dialogues(found["valid"])
    return {**folds, "test": folds["valid"] if found["test"] is None else load_dialogues(found["test"])}


def write_folds(prefix: Path, folds: Folds) -> dict[str, object]:
    """Write ``PREFIX_train.txt`` and so on; the answer are ParlAI's options that train on them."""
    prefix.parent.mkdir(parents=True, exist_ok=True)
    for fold, dialogues in folds.items():
        lines = [line for dialogue in dialogues for side in (0, 1) for line in _episode(dialogue, side)]
        Path(f"{prefix}_{fold}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {
        "task": "fromfile:parlaiformat",
        "fromfile_datapath": str(prefix),
        "fromfile_datatype_extension": True,
    }


def _file(prefix: str, fold: str) -> Path | None:
    stem = Path(f"{prefix}_{fold}")
    # A metadata file may stand beside ParlAI's conversations; it holds no dialogues.
    files = [path for path in sorted(stem.parent.glob(f"{stem.name}.*")) if path.suffix != ".metadata"]
    if len(files) > 1:
        raise DataError(f"{stem}.*: expected one file, found {', '.join(path.name for path in files)}")
    return files[0] if files else None


def _hold_out(dialogues: Sequence[Dialogue], source: Path) -> dict[str, list[Dialogue]]:
    if len(dialogues) < 2:
        raise DataError(
            "one dialogue is not enough", where=source, try_="expected one to learn from and one to validate with"
        )
    kept = [index % HELD_OUT == 0 for index in range(len(dialogues))]
    return {
        "train": [dialogue for dialogue, out in zip(dialogues, kept, strict=True) if not out],
        "valid": [dialogue for dialogue, out in zip(dialogues, kept, strict=True) if out],
    }


def _episode(dialogue: Dialogue, side: int) -> Iterator[str]:
    """The dialogue as one of its speakers lived it, an exchange a line. ``side`` 0: the one who hears the first line."""
    texts = [line.text for line in dialogue.lines[side:]]
    pairs = list(zip(texts[::2], texts[1::2], strict=False))
    context = [_flat(line if side == 0 else _other_side(line)) for line in dialogue.context]
    for number, (heard, said) in enumerate(pairs, start=1):
        # ParlAI reads “\n” as the end of a line within a field.
        text = "\\n".join([*(context if number == 1 else []), _flat(heard)])
        yield f"text:{text}\tlabels:{_flat(said)}" + ("\tepisode_done:True" if number == len(pairs) else "")


def _other_side(line: str) -> str:
    """Of a persona, “your” and “partner's” swap; any other line is the same for both."""
    found = persona_line(line)
    if found is None:
        return line
    whose, sentence = found
    return f"{PARTNERS if whose == 'own' else OWN} {sentence}"


def _flat(text: str) -> str:
    """A tab or a line's end would end the field; a bar would begin another label."""
    return " ".join(text.replace("|", ",").split())


CHECKPOINT = ".checkpoint"
"""Ending of the file that an interrupted training goes on from."""


class TrainingError(HumanevalError, ValueError):
    """A model cannot be trained; the message says what to do."""


def named_task(spec: ModelSpec, options: Mapping[str, Any]) -> None:
    """Raises TrainingError where the options name nothing to learn from."""
    if not options.get("task"):
        raise TrainingError(
            "nothing to learn from is named",
            where=spec.name,
            try_="give --data with dialogues of your own, or training.options.task in the zoo file",
        )


def parser() -> ParlaiParser:
    """The command line of ``parlai train_model``."""
    from parlai.scripts.train_model import TrainModel  # it takes seconds

    return TrainModel.setup_args()


def parsed(spec: ModelSpec, options: Mapping[str, Any]) -> Any:
    """The options as ParlAI's Opt, each checked by its and the agent's own command line.

    Raises:
        TrainingError: for an option that there is not, an ill-typed value, or an unknown task.
    """
    from parlai_humaneval.models.agent.isolation import silent_parlai

    make_importable(spec.folder)
    _check_tasks(spec, options)
    try:
        with silent_parlai():
            return parse(parser(), options)
    except UnknownOptions as error:
        raise TrainingError(
            f"neither ParlAI's training nor the agent has an option called {', '.join(error.names)}", where=spec.name
        ) from error
    except (ValueError, TypeError, ImportError, AttributeError) as error:
        raise TrainingError(error, where=spec.name) from error


def _check_tasks(spec: ModelSpec, options: Mapping[str, Any]) -> None:
    """Each of the tasks must be one that ParlAI finds."""
    from parlai.core.loader import load_teacher_module

    from parlai_humaneval.models.agent.isolation import silent_parlai

    for task in filter(None, (name.strip() for name in str(options.get("task") or "").split(","))):
        try:
            with silent_parlai():
                load_teacher_module(task)
        except (ImportError, AttributeError, RuntimeError) as error:
            raise TrainingError(
                f"ParlAI finds no task “{task}” ({error})",
                where=f"{spec.name}: task",
                try_="name one of its tasks, or give dialogues of your own with --data",
            ) from error


FOR_TRAINING_ONLY = (
    "optimizer",
    "optimizer_type",
    "lr_scheduler",
    "lr_scheduler_type",
    "warmup_scheduler",
    "number_training_updates",
)
"""What of a model's file inference does not need: two thirds of it."""

Progress = Callable[[str], None]


def run_loop(opt: Opt, progress: Progress | None = None) -> Mapping[str, Any]:
    """Train, validate and test as ``parlai train_model`` does; the answer is the report on the validation data.

    It goes on from ``MODEL_FILE.checkpoint`` where there is one. Interrupted by Ctrl-C it leaves one.
    """
    with _own_interrupts():
        started_from = opt.get("init_model")
        loop = TrainLoop(opt)
        # ParlAI names the checkpoint as what the model starts from, and would save that, and reload it at the end in place
        # of the best model.
        opt["init_model"] = loop.agent.opt["init_model"] = started_from
        # Nor does it know after an interruption that the best model so far was saved; it would save the last over it.
        loop.saved = PathManager.exists(opt["model_file"])
        if progress:
            loop.log = _telling(loop, progress)
        if opt.get("seed") is not None:
            set_seed(opt["seed"])
        try:
            report, _ = loop.train()
        except KeyboardInterrupt:
            if loop.parleys and hasattr(loop, "agent") and hasattr(loop, "_total_epochs"):
                _count_step_in_hand(loop)
                loop.save_model(CHECKPOINT)
            raise
        figures: Mapping[str, Any] = dict_report(report)
        return figures


def _count_step_in_hand(loop: TrainLoop) -> None:
    """Ctrl-C may fall after an update of the weights and before ParlAI counts it: the checkpoint's count holds it too."""
    if getattr(loop.agent, "_number_training_updates", 0) == loop._train_steps + 1:
        loop._train_steps += 1
        loop.parleys = loop._train_steps * loop.update_freq


def keep_for_inference(work: Path, made: Path) -> None:
    """Copy a trained model, with all files beside it, to where it is used, without what only training needs."""
    import shutil

    import torch

    made.parent.mkdir(parents=True, exist_ok=True)
    for file in sorted(work.parent.glob(f"{work.name}.*")):
        if not file.name.startswith(work.name + CHECKPOINT):
            shutil.copyfile(file, made.parent / (made.name + file.name[len(work.name) :]))
    opt = Opt.load(f"{work}.opt")
    # The dictionary has moved along, and generation may have been skipped in training only.
    opt.update(
        model_file=str(made),
        dict_file=f"{made}.dict",
        **({"skip_generation": False} if "skip_generation" in opt else {}),
    )
    opt["override"] = {}
    opt.save(f"{made}.opt")
    states = torch.load(work, map_location="cpu", weights_only=False)
    # Last, and under another name until it is whole: a model file that is there is a trained model.
    unfinished = made.with_name(f"{made.name}.part")
    torch.save({key: value for key, value in states.items() if key not in FOR_TRAINING_ONLY}, unfinished)
    unfinished.replace(made)


def _telling(loop: Any, progress: Progress) -> Callable[[], Any]:
    log = loop.log

    def telling() -> Any:
        report = log()
        figures = dict_report(report)
        parts = [f"epoch {loop._total_epochs:.1f}, step {loop._train_steps}"]
        parts += [f"{key} {figures[key]:.3g}" for key in ("loss", "mean_loss", "ppl") if key in figures]
        progress(", ".join(parts))
        return report

    return telling


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """ParlAI's loop sets the process's Ctrl-C; afterwards it is as before. Outside the main thread neither can."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


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
        data: prefix of one's own dialogues (see :func:`parlai_humaneval.models.baselines.training.read_folds`); None: the
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
            f"{spec.name} has no `training` in its zoo file, so it is not trained here",
            try_=f"`parlai-humaneval models check {spec.name}` says how to get it",
        )
    where = spec.options.get("model_file")
    if folder is None and (not isinstance(where, str) or where.startswith(("zoo:", "models:"))):
        raise TrainingError(f"{spec.name} has no `model_file` of its own", try_="say with --out where to put the model")
    made = folder / "model" if folder is not None else Path(expand_home(str(where))).expanduser()
    plan = Plan(spec, made.absolute(), data, settings or {})
    if "model" not in plan.options():
        raise TrainingError(
            "neither options nor training.options name the agent (`model`) to be trained", where=spec.name
        )
    return plan


def command_line(plan: Plan) -> str:
    """The same as one command of ParlAI's. Dialogues of one's own are written beside the model's file for it.

    Raises:
        TrainingError: for an option that the agent does not have, or an ill-typed value.
        DataError: when one's own dialogues cannot be read.
        OSError: when they cannot be written.
    """

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
        DataError: when one's own dialogues cannot be read.
        OSError: when the folder cannot be written.
    """
    named_task(plan.spec, plan.options())
    if plan.made.exists():
        raise TrainingError(
            f"{plan.spec.name} is trained already: {plan.made}",
            try_="move that folder away or name another with --out, to train it again",
        )
    # Imported here: ParlAI takes seconds.

    folds = read_folds(plan.data) if plan.data is not None else None
    options = {**_scheduler_begun_with(plan), **plan.options()}
    _there(plan, options)
    opt = parsed(plan.spec, options)
    resumed = _prepare_folder(plan, options)
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


def _prepare_folder(plan: Plan, options: Mapping[str, Any]) -> bool:
    settings = json.loads(json.dumps({key: value for key, value in options.items() if key not in LIMITS}))
    settings["data"] = plan.data
    noted = plan.work / SETTINGS
    if begun_with := _interrupted(plan):
        if begun_with != settings:
            raise TrainingError(
                f"an interrupted training of {plan.spec.name} with other options is in {plan.work}",
                try_="give the same ones to go on with it, or remove that folder to begin anew",
            )
        return True
    if noted.exists():  # it ended before anything was learned; its dictionary may be of other data
        shutil.rmtree(plan.work)
    plan.work.mkdir(parents=True, exist_ok=True)
    noted.write_text(json.dumps(settings, indent=2), encoding="utf-8")
    return False


def _run(plan: Plan, opt: Any, quiet: bool, progress: Callable[[str], None] | None) -> Mapping[str, Any]:
    from parlai_humaneval.models.agent.isolation import silent_parlai

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
