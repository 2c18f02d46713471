"""The files, agents and downloads that a model needs, and which of them this machine lacks. Nothing is loaded here.

Also: where code of the user's is found, where trained models are kept, and ParlAI's presets of options
(``-o gen/blenderbot``), which its wheel leaves out and this package brings.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from parlai_humaneval._util.installing import lacking
from parlai_humaneval.models.agent.options import as_sentence
from parlai_humaneval.models.agent.packages import needs_local_packages
from parlai_humaneval.models.zoo.entries import PACKAGE, ModelSpec, ZooError

FOLDER_OPTION = "zoo_folder"
"""Where an agent's options name the folder of its zoo file. It is no option of the zoo file itself."""
Lacks = Callable[[Mapping[str, Any], Path], list[str]]
"""What a class of agents may offer as ``lacks``: from a model's options and the folder of its zoo file to what this machine
lacks for it, as sentences. It loads nothing and asks nobody."""


def make_importable(folder: Path | None) -> None:
    """From now on, modules in ``folder`` and in the current one can be imported.

    They come after all that is installed, so that no file there takes a library's place.
    """
    for place in (folder, Path.cwd()):
        if place is not None and str(place) not in sys.path:
            sys.path.append(str(place))


def mistaken(model: str, folder: Path | None) -> list[str]:
    """Python imports one module of a name: says so where that is not the one beside the zoo file."""
    module = model.partition(":")[0].split(".")[0]
    beside = None if folder is None else folder / f"{module}.py"
    taken = getattr(sys.modules.get(module), "__file__", None)
    if beside is None or taken is None or not beside.is_file() or Path(taken).resolve() == beside.resolve():
        return []
    return [f"The agent {model} is taken from {taken}, not from {beside}: give that file another name."]


def folder_of(options: Mapping[str, Any]) -> Path:
    """The folder of the zoo file that an agent comes from; the current one, where it comes from the command line."""
    return Path(options.get(FOLDER_OPTION) or Path.cwd())


HOME_VARIABLE = "PARLAI_HUMANEVAL_HOME"
HOME_PREFIX = "home:"
"""In a zoo file, ``home:tiny_generator/model`` is that path below :func:`models_home`."""


def user_home() -> Path:
    """``$PARLAI_HUMANEVAL_HOME``, else ``parlai-humaneval`` in ``$XDG_DATA_HOME`` or ``~/.local/share``."""
    own = os.environ.get(HOME_VARIABLE)
    if own:
        return Path(own).expanduser()
    xdg = os.environ.get("XDG_DATA_HOME")
    base = Path(xdg).expanduser() if xdg else Path.home() / ".local" / "share"
    return base / "parlai-humaneval"


def models_home() -> Path:
    """The folder of locally trained models; it need not exist yet."""
    return user_home() / "models"


def expand_home(path: str) -> str:
    """Resolve the ``home:`` prefix of a zoo file's path; any other path is returned as it is."""
    if not path.startswith(HOME_PREFIX):
        return path
    return str(models_home() / path[len(HOME_PREFIX) :])


FOLDER = PACKAGE / "opt_presets"
SUFFIX = ".opt"


def preset_names() -> list[str]:
    """The presets of this package, such as ``gen/blenderbot``."""
    return sorted(file.relative_to(FOLDER).with_suffix("").as_posix() for file in FOLDER.rglob(f"*{SUFFIX}"))


def preset_file(name: str) -> Path | None:
    """The preset's file; None where this package has none of that name.

    In ``--init-opt=gen/seeker_dialogue``, one word, ParlAI turns the name's underscores into hyphens.
    """
    ours = {known.replace("_", "-"): known for known in preset_names()}.get(name.replace("_", "-"))
    return None if ours is None else FOLDER / f"{ours}{SUFFIX}"


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
            raise ZooError(f"{spec.name} has not been trained on this machine yet ({where}){first}", try_=f"run {how}")


def _list(sentences: Sequence[str]) -> str:
    return "; ".join(sentence.replace(HOME_PREFIX, expand_home(HOME_PREFIX) + "/") for sentence in sentences)


PATH_OPTIONS = ("model_file", "init_model", "dict_file", "fixed_candidates_path", "corpus", "dialogue_file")
PARLAI_ZOO = ("zoo:", "models:")
HUGGING_FACE_NAMES: Mapping[str, Callable[[str | None], str]] = {
    "hugging_face/dialogpt": lambda size: f"microsoft/DialoGPT-{size or 'medium'}",
    "hugging_face/gpt2": lambda size: {None: "gpt2", "small": "gpt2", "distilgpt2": "distilgpt2"}.get(
        size, f"gpt2-{size}"
    ),
}
"""Agents of ParlAI that take a model of Hugging Face, and its name there for a ``--gpt2-size``."""
HUGGING_FACE_OPTIONS: Mapping[str, str] = dict.fromkeys(HUGGING_FACE_NAMES, "model_name")
"""The option in which an agent takes another model of Hugging Face; in those of this package it is ``hf_model``."""
HUGGING_FACE_WEIGHTS = tuple(
    f"{file}{index}" for file in ("model.safetensors", "pytorch_model.bin") for index in ("", ".index.json")
)


def missing(spec: ModelSpec) -> list[str]:
    """What the model needs and this machine lacks, as sentences; nothing is loaded or downloaded."""
    found = _missing_agent(spec)
    if spec.options.get("hf_model") and (lacking := needs_local_packages(spec.name)):
        found = [as_sentence(str(lacking))]
    for key in PATH_OPTIONS:
        value = spec.options.get(key)
        if isinstance(value, str):
            found += _missing_file(key, value)
    folder = spec.options.get("hf_model")
    if isinstance(folder, str) and _is_path(folder):
        found += _missing_file("hf_model", folder)
    return [*found, *what_to_do(spec)] if found else []


def to_download(spec: ModelSpec) -> list[str]:
    """What would be downloaded when the model is loaded, as sentences."""
    values = [(key, spec.options.get(key)) for key in PATH_OPTIONS]
    return [
        f"{key} {value} is not here yet: ParlAI downloads it to {parlai_zoo_path(value)} at the first load."
        for key, value in values
        if isinstance(value, str) and value.startswith(PARLAI_ZOO) and not parlai_zoo_path(value).exists()
    ] + [
        f"{name} is not here yet: it is downloaded from Hugging Face at the first load."
        for name in _hugging_face_names(spec)
        if not _on_this_machine(name)
    ]


def _hugging_face_names(spec: ModelSpec) -> list[str]:
    """The pretrained model that an agent starts from. ParlAI's GPT-2 agents fetch it even when they are fine-tuned."""
    agent = spec.options.get("model", "")
    own = spec.options.get(HUGGING_FACE_OPTIONS.get(agent, "hf_model"))
    if agent in HUGGING_FACE_NAMES:
        return [str(own) if own else HUGGING_FACE_NAMES[agent](spec.options.get("gpt2_size"))]
    return [str(own)] if own and "model_file" not in spec.options and not _is_path(str(own)) else []


def _is_path(name: str) -> bool:
    return name.startswith((HOME_PREFIX, "/", "~", "./", "../"))


def _on_this_machine(name: str) -> bool:
    if Path(name).expanduser().is_dir():
        return True
    try:
        from huggingface_hub import try_to_load_from_cache  # takes a second
    except ImportError:  # it comes with transformers
        return False
    return any(isinstance(try_to_load_from_cache(name, file), str) for file in HUGGING_FACE_WEIGHTS)


def parlai_zoo_path(path: str) -> Path:
    """Where ParlAI keeps a ``zoo:`` file on this machine."""
    from parlai.core.params import ParlaiParser

    datapath = ParlaiParser(True, False).parse_args([])["datapath"]
    return Path(datapath) / "models" / path.partition(":")[2]


def _missing_agent(spec: ModelSpec) -> list[str]:
    model = spec.options.get("model")
    if not isinstance(model, str):
        return []
    try:
        with warnings.catch_warnings():  # transformers warns about newer torch when it is imported
            warnings.simplefilter("ignore", FutureWarning)
            make_importable(spec.folder)
            from parlai.core.loader import load_agent_module

            agent = load_agent_module(model)
    except Exception as error:  # noqa: BLE001 - a module may raise anything when it is imported
        if isinstance(error, ImportError) and (needed := needs_local_packages(spec.name)):
            return [as_sentence(str(needed))]
        return [
            as_sentence(
                f"The agent {model} cannot be imported: {lacking(error, model.partition(':')[0]) or _first_line(error)}"
            )
        ]
    lacks: Lacks | None = getattr(agent, "lacks", None)
    return mistaken(model, spec.folder) + (lacks(spec.options, spec.folder or Path.cwd()) if lacks else [])


def _first_line(error: Exception) -> str:
    lines = (line.strip(" *") for line in str(error).splitlines())
    return next((line.rstrip(".") for line in lines if line), type(error).__name__)


def _missing_file(key: str, value: str) -> list[str]:
    if value.startswith(PARLAI_ZOO):
        family = value.partition(":")[2].partition("/")[0]
        known = importlib.util.find_spec(f"parlai.zoo.{family}") is not None
        return [] if known else [f"{key} {value} is not in ParlAI's zoo."]
    path = Path(expand_home(value)).expanduser()
    if path.exists():
        return []
    if key == "model_file" and value.startswith(HOME_PREFIX):
        return [not_trained(path)]
    return [f"{key} {path} does not exist."]
