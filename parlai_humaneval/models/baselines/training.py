"""Train a model of the zoo from its ``training`` block, with ParlAI's loop, into the place where it is used."""

from __future__ import annotations

import contextlib
import json
import shlex
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parlai.core.loader import load_teacher_module
from parlai.core.metrics import dict_report
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser
from parlai.scripts.train_model import TrainLoop, TrainModel, set_seed
from parlai.utils.io import PathManager

from parlai_humaneval._util.data_files import DataError, packaged, read_json, read_yaml
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval._util.files import json_object_in
from parlai_humaneval.dialogues.dialogue import OWN, PARTNERS, Dialogue, persona_line
from parlai_humaneval.dialogues.files import PACKAGED_CORPUS, load_dialogues
from parlai_humaneval.i18n.translate import worded
from parlai_humaneval.models.agent.isolation import silent_parlai
from parlai_humaneval.models.agent.names import UnknownOptions, parse
from parlai_humaneval.models.pool.loading import device_options
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError
from parlai_humaneval.models.zoo.files import HOME_PREFIX, expand_home, make_importable, models_home

HELD_OUT = 10

Folds = Mapping[str, Sequence[Dialogue]]


def read_folds(prefix: str) -> Folds:
    """The dialogues of ``PREFIX_train.*`` and, where they are there, ``_valid.*`` and ``_test.*``, or of one file."""
    found = {fold: _file(prefix, fold) for fold in ("train", "valid", "test")}
    train = found["train"] or (Path(prefix) if Path(prefix).is_file() else None)
    if train is None:
        raise DataError(worded(__file__, "no_training_file", prefix=prefix))
    folds = {"train": load_dialogues(train)}
    if found["valid"] is None:
        if len(folds["train"]) < 2:
            raise DataError(worded(__file__, "one_dialogue"), where=train)
        numbered = list(enumerate(folds["train"]))
        folds["train"] = [dialogue for number, dialogue in numbered if number % HELD_OUT]
        folds["valid"] = [dialogue for number, dialogue in numbered if number % HELD_OUT == 0]
    else:
        folds["valid"] = load_dialogues(found["valid"])
    return {**folds, "test": folds["valid"] if found["test"] is None else load_dialogues(found["test"])}


def write_folds(prefix: Path, folds: Folds) -> dict[str, object]:
    prefix.parent.mkdir(parents=True, exist_ok=True)
    for fold, dialogues in folds.items():
        lines = [line for dialogue in dialogues for side in (0, 1) for line in _episode(dialogue, side)]
        Path(f"{prefix}_{fold}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return _of_files(prefix)


def _of_files(prefix: Path) -> dict[str, object]:
    return {"task": "fromfile:parlaiformat", "fromfile_datapath": str(prefix), "fromfile_datatype_extension": True}


def _file(prefix: str, fold: str) -> Path | None:
    stem = Path(f"{prefix}_{fold}")
    # A metadata file may be next to ParlAI's conversations; it holds no dialogues.
    files = [path for path in sorted(stem.parent.glob(f"{stem.name}.*")) if path.suffix != ".metadata"]
    if len(files) > 1:
        raise DataError(f"{stem}.*: expected one file, found {', '.join(path.name for path in files)}")
    return files[0] if files else None


def _episode(dialogue: Dialogue, side: int) -> Iterator[str]:
    """The dialogue as one of its speakers lived it, an exchange a line. ``side`` 0: the one who hears the first line."""
    texts = [line.text for line in dialogue.lines[side:]]
    pairs = list(zip(texts[::2], texts[1::2], strict=False))
    context = [_flat(line) for line in dialogue.context]
    if side:  # of a persona, “your” and “partner's” swap; any other line is the same for both
        known = [(line, persona_line(line)) for line in dialogue.context]
        context = [
            _flat(line if found is None else f"{PARTNERS if found[0] == 'own' else OWN} {found[1]}")
            for line, found in known
        ]
    for number, (heard, said) in enumerate(pairs, start=1):
        # ParlAI reads “\n” as the end of a line within a field.
        text = "\\n".join([*(context if number == 1 else []), _flat(heard)])
        yield f"text:{text}\tlabels:{_flat(said)}" + ("\tepisode_done:True" if number == len(pairs) else "")


def _flat(text: str) -> str:
    """A tab or a line's end would end the field; a bar would begin another label."""
    return " ".join(text.replace("|", ",").split())


CHECKPOINT = ".checkpoint"


class TrainingError(HumanevalError, ValueError):
    """A model cannot be trained; the message says what to do."""


def named_task(spec: ModelSpec, options: Mapping[str, Any]) -> None:
    if not options.get("task"):
        raise TrainingError(worded(__file__, "no_task"), where=spec.name)


def parser() -> ParlaiParser:
    return TrainModel.setup_args()


def parsed(spec: ModelSpec, options: Mapping[str, Any]) -> Any:
    """The options as ParlAI's Opt, checked by its and the agent's command line; a TrainingError where one is wrong."""
    make_importable(spec.folder)
    for task in filter(None, (name.strip() for name in str(options.get("task") or "").split(","))):
        try:
            with silent_parlai():
                load_teacher_module(task)
        except (ImportError, AttributeError, RuntimeError) as error:
            raise TrainingError(
                worded(__file__, "unknown_task", task=task, error=error), where=f"{spec.name}: task"
            ) from error
    try:
        with silent_parlai():
            return parse(parser(), options)
    except UnknownOptions as error:
        what = f"neither ParlAI's training nor the agent has an option called {', '.join(error.names)}"
        raise TrainingError(what, where=spec.name) from error
    except (ValueError, TypeError, ImportError, AttributeError) as error:
        raise TrainingError(error, where=spec.name) from error


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
    """Train as ``parlai train_model`` does, from a checkpoint where there is one; the validation report is returned."""
    before = signal.getsignal(signal.SIGINT)
    try:
        started_from = opt.get("init_model")
        loop = TrainLoop(opt)
        # ParlAI names the checkpoint as what the model starts from, and would save that, and reload it at the end in place
        # of the best model.
        opt["init_model"] = loop.agent.opt["init_model"] = started_from
        # Nor does it know after an interruption that the best model so far was saved; it would save the last over it.
        loop.saved = PathManager.exists(opt["model_file"])
        save = loop.save_model

        def saving(suffix: str | None = None) -> None:
            """ParlAI drops a Ctrl-C that comes while it saves: this one counts when the file is complete."""
            pressed: list[int] = []
            handler = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
            try:
                save(suffix)
            finally:
                signal.signal(signal.SIGINT, handler)
            if pressed:
                raise KeyboardInterrupt

        loop.save_model = saving
        if progress:
            log = loop.log

            def telling() -> Any:
                report = log()
                figures = dict_report(report)
                parts = [f"epoch {loop._total_epochs:.1f}, step {loop._train_steps}"]
                parts += [f"{key} {figures[key]:.3g}" for key in ("loss", "mean_loss", "ppl") if key in figures]
                progress(", ".join(parts))
                return report

            loop.log = telling
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
    finally:  # ParlAI's loop sets the process's Ctrl-C; outside the main thread neither can
        signal.signal(signal.SIGINT, before)


def _count_step_in_hand(loop: TrainLoop) -> None:
    """Ctrl-C may fall after an update of the weights and before ParlAI counts it: the checkpoint's count holds it too."""
    if getattr(loop.agent, "_number_training_updates", 0) == loop._train_steps + 1:
        loop._train_steps += 1
        loop.parleys = loop._train_steps * loop.update_freq


def keep_for_inference(work: Path, made: Path) -> None:
    """Copy a trained model, with all files next to it, to where it is used, without what only training needs."""
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


DEFAULTS: Mapping[str, Any] = {"save_after_valid": True, "save_every_n_secs": 300, "log_every_n_secs": 10, "seed": 1}
"""Options that go before ParlAI's own defaults, and behind those of a ``training`` block."""
LIMITS = frozenset({"num_epochs", "max_train_time", "max_train_steps", "save_every_n_secs", "log_every_n_secs"})
SETTINGS = "settings.json"
DIALOGUES = "dialogues"


@dataclass(frozen=True)
class TrainingPlan:
    """``spec`` is to be trained and put at ``made``. ``data``: prefix of your dialogues, instead of the block's
    task."""

    spec: ModelSpec
    made: Path
    data: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def work(self) -> Path:
        return self.made.with_name(f"{self.made.name}.unfinished")

    def options(self) -> dict[str, Any]:
        training = self.spec.training.options if self.spec.training else {}
        own = {"model": self.spec.options["model"]} if "model" in self.spec.options else {}
        merged = {**DEFAULTS, **device_options(self.spec.device), **own, **training, **self.settings}
        if self.data is not None:
            # Drop all options of the task that the dialogues replace.
            stay = [key for key in merged if not key.startswith("fromfile_") and key != "evaltask"]
            merged = {**{key: merged[key] for key in stay}, **_of_files(self.work / DIALOGUES)}
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
) -> TrainingPlan:
    """What training ``spec`` means here; a TrainingError for one that is not trained here, or nowhere to put it."""
    if spec.training is None:
        raise TrainingError(worded(__file__, "not_trained_here", model=spec.name))
    where = spec.options.get("model_file")
    if folder is None and (not isinstance(where, str) or where.startswith(("zoo:", "models:"))):
        raise TrainingError(f"{spec.name} has no `model_file` of its own", try_="name a folder for it with --out")
    made = folder / "model" if folder is not None else Path(expand_home(str(where))).expanduser()
    plan = TrainingPlan(spec, made.absolute(), data, settings or {})
    if "model" not in plan.options():
        raise TrainingError(worded(__file__, "no_agent_to_train"), where=spec.name)
    return plan


def command_line(plan: TrainingPlan) -> str:
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
    plan: TrainingPlan,
    *,
    quiet: bool = True,
    progress: Callable[[str], None] | None = None,
    on_resume: Callable[[str], None] | None = None,
) -> Trained:
    """Train a model, or go on with it. A TrainingError for wrong options, missing data, or a model that is there."""
    named_task(plan.spec, plan.options())
    if plan.made.exists():
        raise TrainingError(worded(__file__, "trained_already", plan=plan))
    folds = read_folds(plan.data) if plan.data is not None else None
    options = {**({key: value for key, value in _interrupted(plan).items() if key == "lr_scheduler"}), **plan.options()}
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


def _there(plan: TrainingPlan, options: Mapping[str, Any]) -> None:
    assert plan.spec.training is not None
    named = {**plan.spec.training.options, **plan.settings}
    lacking = [
        f"{key} {options[key]}"
        for key, value in named.items()
        if isinstance(value, str) and value.startswith(HOME_PREFIX) and key in options and not _exists(options[key])
    ]
    path = options.get("fromfile_datapath")
    if plan.data is None and isinstance(path, str) and not _exists(path):
        lacking.append(f"data {path}_train.txt")
    if lacking:
        what = f"{plan.spec.name} cannot be trained yet: {'; '.join(lacking)} is not there.{_before(plan)}"
        raise TrainingError(what)


def _exists(path: str) -> bool:
    return Path(path).exists() or any(Path(path).parent.glob(f"{Path(path).name}*"))


def _before(plan: TrainingPlan) -> str:
    before = plan.spec.training.before if plan.spec.training else []
    return f" Needed first: {'; '.join(before)}." if before else ""


def check_options(spec: ModelSpec) -> None:
    plan = plan_training(spec, folder=Path())
    parsed(spec, plan.options())


def checkpoint_of(plan: TrainingPlan) -> str | None:
    checkpoint = plan.work / f"model{CHECKPOINT}"
    if not checkpoint.exists():
        return None
    stats = json_object_in(checkpoint.with_name(f"{checkpoint.name}.trainstats"))
    # Where there are none, it ended while it wrote them.
    return f"step {stats['train_steps']}, epoch {stats['total_epochs']:.1f}" if stats else "its last step"


def _interrupted(plan: TrainingPlan) -> dict[str, Any]:
    noted = plan.work / SETTINGS
    if not ((plan.work / f"model{CHECKPOINT}").exists() and noted.exists()):
        return {}
    return dict(read_json(noted))


def _prepare_folder(plan: TrainingPlan, options: Mapping[str, Any]) -> bool:
    settings = json.loads(json.dumps({key: value for key, value in options.items() if key not in LIMITS}))
    settings["data"] = plan.data
    noted = plan.work / SETTINGS
    if begun_with := _interrupted(plan):
        if begun_with != settings:
            raise TrainingError(worded(__file__, "interrupted", plan=plan))
        return True
    if noted.exists():  # it ended before anything was learned; its dictionary may be of other data
        shutil.rmtree(plan.work)
    plan.work.mkdir(parents=True, exist_ok=True)
    noted.write_text(json.dumps(settings, indent=2), encoding="utf-8")
    return False


def _run(plan: TrainingPlan, opt: Any, quiet: bool, progress: Callable[[str], None] | None) -> Mapping[str, Any]:
    try:
        with silent_parlai() if quiet else contextlib.nullcontext():
            return run_loop(opt, progress)
    except Exception as error:
        if isinstance(error, ZooError):
            raise
        from requests import RequestException  # ParlAI downloads with it

        said = str(error) or "no reason given"
        why = f"{type(error).__name__}: {said}.{_before(plan)} To see ParlAI's log, add --verbose."
        if isinstance(error, RequestException) or "Connection broken" in str(error):
            why = (
                f"the data of its task {opt['task']} is not on this machine, and ParlAI could not download it ({error}). "
                f"Connect to the internet, or pass your own dialogues with --data.{_before(plan)}"
            )
        raise TrainingError(f"{plan.spec.name} could not be trained: {why}") from error


def default_folder() -> Path:
    return models_home() / "tiny_generator"


def train_tiny(folder: Path, *, corpus: Path = PACKAGED_CORPUS, quiet: bool = True, **options: Any) -> Path:
    """Train a tiny generator, with ``options`` over those packaged, and return its model file, ``folder/model``."""
    dialogues = load_dialogues(corpus)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, silent_parlai() if quiet else contextlib.nullcontext():
        # All is training data: there is nothing to select, and the smaller corpus would be the worse parrot.
        data = write_folds(Path(work) / "data", {"train": dialogues, "valid": dialogues[:8], "test": dialogues[:8]})
        own = {**read_yaml(packaged("tiny_generator.yaml")), **options, "model_file": str(Path(work) / "model")}
        run_loop(parser().parse_kwargs(**data, **own))
        keep_for_inference(Path(work) / "model", folder / "model")
    return folder / "model"
