"""The options of a training, checked before any time is spent on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from parlai_humaneval.models.option_names import UnknownOptions, parse
from parlai_humaneval.models.zoo.entries import ModelSpec
from parlai_humaneval.models.zoo.own_code import make_importable

if TYPE_CHECKING:
    from parlai.core.params import ParlaiParser

CHECKPOINT = ".checkpoint"
"""Ending of the file that an interrupted training goes on from."""


class TrainingError(ValueError):
    """A model cannot be trained; the message says what to do."""


def named_task(spec: ModelSpec, options: Mapping[str, Any]) -> None:
    """Raises TrainingError where the options name nothing to learn from."""
    if not options.get("task"):
        raise TrainingError(
            f"{spec.name}: nothing to learn from is named: give --data with dialogues of your own, or "
            "training.options.task in the zoo file"
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
    from parlai_humaneval.models.quiet import silent_parlai

    make_importable(spec.folder)
    _check_tasks(spec, options)
    try:
        with silent_parlai():
            return parse(parser(), options)
    except UnknownOptions as error:
        raise TrainingError(
            f"{spec.name}: neither ParlAI's training nor the agent has an option called {error}"
        ) from error
    except (ValueError, TypeError, ImportError, AttributeError) as error:
        raise TrainingError(f"{spec.name}: {error}") from error


def _check_tasks(spec: ModelSpec, options: Mapping[str, Any]) -> None:
    """Each of the tasks must be one that ParlAI finds."""
    from parlai.core.loader import load_teacher_module

    from parlai_humaneval.models.quiet import silent_parlai

    for task in filter(None, (name.strip() for name in str(options.get("task") or "").split(","))):
        try:
            with silent_parlai():
                load_teacher_module(task)
        except (ImportError, AttributeError, RuntimeError) as error:
            raise TrainingError(
                f"{spec.name}: task: ParlAI finds no task “{task}” ({error}); name one of its tasks, or give dialogues of "
                "your own with --data"
            ) from error
