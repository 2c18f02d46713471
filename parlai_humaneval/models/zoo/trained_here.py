"""Whether a model's weights are made on this machine, and how. Nothing heavy is imported: a command asks this first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError
from parlai_humaneval.models.zoo.home import HOME_PREFIX, expand_home


def to_be_trained(spec: ModelSpec) -> bool:
    """Whether its weights are to be made on this machine, and are not there yet."""
    file = spec.options.get("model_file")
    return isinstance(file, str) and file.startswith(HOME_PREFIX) and not Path(expand_home(file)).exists()


def not_trained(path: Path) -> str:
    """The sentence on a model that was not trained yet; ``path``: where its weights will be."""
    return f"It has not been trained on this machine yet ({path})."


def what_to_do(spec: ModelSpec) -> list[str]:
    """What a model needs that lacks something, and how it is trained, as sentences."""
    todo = [f"Needed: {_list(spec.needs)}."] if spec.needs else []
    if spec.training is not None:
        if spec.training.before:
            todo.append(f"Before its training: {_list(spec.training.before)}.")
        takes = f" ({spec.training.takes})" if spec.training.takes else ""
        todo.append(f"To train it: `parlai-humaneval models train {spec.name}`{takes}.")
    return todo


def check_trained(specs: Sequence[ModelSpec]) -> None:
    """Raises ZooError where a model is still to be trained, with how to do it."""
    for spec in specs:
        if to_be_trained(spec):
            where = expand_home(str(spec.options["model_file"]))
            first = (
                f". Before its training: {_list(spec.training.before)}"
                if spec.training and spec.training.before
                else ""
            )
            how = f"`parlai-humaneval models train {spec.name}`" if spec.training else _list(spec.needs)
            raise ZooError(f"{spec.name} has not been trained on this machine yet ({where}){first}; run {how}")


def _list(sentences: Sequence[str]) -> str:
    return "; ".join(_with_paths(sentence) for sentence in sentences)


def _with_paths(sentence: str) -> str:
    """A sentence of a zoo file names files below ``home:``; here it says where they are on this machine."""
    return sentence.replace(HOME_PREFIX, expand_home(HOME_PREFIX) + "/")
