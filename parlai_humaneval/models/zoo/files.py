"""A model's needs (files, an agent, downloads, memory), what this machine lacks, and where files are stored; and
ParlAI's presets of options, which its wheel leaves out."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from parlai_humaneval._util.files import user_home
from parlai_humaneval._util.installing import lacking
from parlai_humaneval.models.agent.names import as_sentence, needs_local_packages
from parlai_humaneval.models.zoo.entries import PACKAGE, ModelSpec, ZooError

FOLDER_OPTION = "zoo_folder"
"""Where an agent's options name the folder of its zoo file. The zoo file itself does not have it."""
Lacks = Callable[[Mapping[str, Any], Path], list[str]]
"""What agents may offer as ``lacks``: from options and the zoo file's folder to what this machine lacks, in sentences."""


def make_importable(folder: Path | None) -> None:
    """From now on, modules in ``folder`` and in the current one can be imported, after all that is installed."""
    for place in (folder, Path.cwd()):
        if place is not None and str(place) not in sys.path:
            sys.path.append(str(place))


def mistaken(model: str, folder: Path | None) -> list[str]:
    """A warning if Python imports another module of this name than the one next to the zoo file."""
    module = model.partition(":")[0].split(".")[0]
    beside = None if folder is None else folder / f"{module}.py"
    taken = getattr(sys.modules.get(module), "__file__", None)
    if beside is None or taken is None or not beside.is_file() or Path(taken).resolve() == beside.resolve():
        return []
    return [f"The agent {model} comes from {taken}, not from {beside}. Rename {beside.name}."]


def code_file(where: str, folder: Path) -> Path | None:
    """The file of ``file.py:function``, or of ``module:function`` if the module lies in ``folder``; otherwise None."""
    place = where.rpartition(":")[0]
    if place.endswith(".py") or "/" in place:
        return folder / Path(place).expanduser()
    beside = folder / f"{place}.py"
    return beside if beside.is_file() else None


def folder_of(options: Mapping[str, Any]) -> Path:
    return Path(options.get(FOLDER_OPTION) or Path.cwd())


HOME_PREFIX = "home:"
"""In a zoo file, ``home:tiny_generator/model`` is that path below :func:`models_home`."""


def models_home() -> Path:
    return user_home() / "models"


def expand_home(path: str) -> str:
    if not path.startswith(HOME_PREFIX):
        return path
    return str(models_home() / path[len(HOME_PREFIX) :])


FOLDER = PACKAGE / "opt_presets"
SUFFIX = ".opt"


def preset_names() -> list[str]:
    return sorted(file.relative_to(FOLDER).with_suffix("").as_posix() for file in FOLDER.rglob(f"*{SUFFIX}"))


def preset_file(name: str) -> Path | None:
    """The preset's file; None where there is none. In ``--init-opt=gen/seeker_dialogue``, one word, ParlAI has hyphens."""
    ours = {known.replace("_", "-"): known for known in preset_names()}.get(name.replace("_", "-"))
    return None if ours is None else FOLDER / f"{ours}{SUFFIX}"


def to_be_trained(spec: ModelSpec) -> bool:
    file = spec.options.get("model_file")
    return isinstance(file, str) and file.startswith(HOME_PREFIX) and not Path(expand_home(file)).exists()


def check_trained(specs: Sequence[ModelSpec]) -> None:
    for spec in specs:
        if to_be_trained(spec):
            where = expand_home(str(spec.options["model_file"]))
            before = spec.training.before if spec.training else []
            first = f". Before its training: {_list(before)}" if before else ""
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
HUGGING_FACE_OPTIONS: Mapping[str, str] = dict.fromkeys(HUGGING_FACE_NAMES, "model_name")
"""The option in which an agent takes another model of Hugging Face; in those of this package it is ``hf_model``."""
HUGGING_FACE_WEIGHTS = tuple(
    f"{file}{index}" for file in ("model.safetensors", "pytorch_model.bin") for index in ("", ".index.json")
)


def missing(spec: ModelSpec) -> list[str]:
    found = _missing_agent(spec)
    if spec.options.get("hf_model") and (lacking := needs_local_packages(spec.name)):
        found = [as_sentence(str(lacking))]
    for key in (*PATH_OPTIONS, "hf_model"):
        value = spec.options.get(key)
        if isinstance(value, str) and (key != "hf_model" or _is_path(value)):
            found += _missing_file(key, value)
    if found and spec.needs:
        found.append(f"Needed: {_list(spec.needs)}.")
    if found and spec.training is not None:
        if spec.training.before:
            found.append(f"Before its training: {_list(spec.training.before)}.")
        takes = f" ({spec.training.takes})" if spec.training.takes else ""
        found.append(f"To train it: `parlai-humaneval models train {spec.name}`{takes}.")
    return found


def to_download(spec: ModelSpec) -> list[str]:
    values = [(key, spec.options.get(key)) for key in PATH_OPTIONS]
    return [
        f"{key} {value} is not on this machine yet: the first load downloads it to {parlai_zoo_path(value)}."
        for key, value in values
        if isinstance(value, str) and value.startswith(PARLAI_ZOO) and not parlai_zoo_path(value).exists()
    ] + [
        f"{name} is not on this machine yet: the first load downloads it from Hugging Face."
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
        lines = [line.strip(" *").rstrip(".") for line in str(error).splitlines() if line.strip(" *")]
        said = lacking(error, model.partition(":")[0]) or next(iter(lines), type(error).__name__)
        return [as_sentence(f"The agent {model} cannot be imported: {said}")]
    lacks: Lacks | None = getattr(agent, "lacks", None)
    return mistaken(model, spec.folder) + (lacks(spec.options, spec.folder or Path.cwd()) if lacks else [])


def _missing_file(key: str, value: str) -> list[str]:
    if value.startswith(PARLAI_ZOO):
        family = value.partition(":")[2].partition("/")[0]
        known = importlib.util.find_spec(f"parlai.zoo.{family}") is not None
        return [] if known else [f"{key} {value} is not in ParlAI's zoo."]
    path = Path(expand_home(value)).expanduser()
    if path.exists():
        return []
    if key == "model_file" and value.startswith(HOME_PREFIX):
        return [f"The model has not been trained on this machine yet ({path})."]
    return [f"{key} {path} does not exist."]


GB = 1e9
_WORDS = ("out of memory", "can't allocate memory", "cannot allocate memory", "not enough memory")
"""How torch and the C library say it; torch has a class of its own for the GPU's only."""


def check_memory(spec: ModelSpec) -> None:
    """Compare ``memory_gb`` with what is free where the model is to be loaded: a ZooError where it does not fit."""
    if spec.memory_gb is None and spec.device is None:
        return
    where, free = _free_bytes(spec)
    if spec.memory_gb is not None and spec.memory_gb * GB > free:
        raise ZooError(
            f"{spec.name} cannot be loaded: it takes about {spec.memory_gb:g} GB of memory, and {free / GB:.1f} GB are free "
            f"{where}",
            try_=(*_CURE, f"if this number is wrong, set `memory_gb` in your own zoo file that extends {spec.name}"),
        )


def is_out_of_memory(error: BaseException) -> bool:
    text = str(error).lower()
    return isinstance(error, MemoryError) or any(words in text for words in _WORDS)


def out_of_memory(spec: ModelSpec) -> ZooError:
    where, free = _free_bytes(spec)
    takes = f" (it takes about {spec.memory_gb:g} GB)" if spec.memory_gb else ""
    what = f"{spec.name} cannot be loaded: memory ran out{takes}, with {free / GB:.1f} GB free {where} now"
    return ZooError(what, try_=_CURE)


@contextmanager
def default_gpu_kept(spec: ModelSpec) -> Iterator[None]:
    """A model on a GPU of its own leaves the default one, which ParlAI sets for the whole thread, as it was."""
    if spec.device is None or spec.device == "cpu":
        yield
        return
    import torch

    before = torch.cuda.current_device()
    try:
        yield
    finally:
        torch.cuda.set_device(before)


_CURE = (
    "close other programs, use a smaller model, give it another device (`device: cuda:1` in the zoo file), or have "
    "another machine serve it (zoo_configs/endpoints.yaml)",
)


def free_bytes(device: str) -> float:
    if device == "cpu":
        return float(psutil.virtual_memory().available)
    import torch

    return float(torch.cuda.mem_get_info(torch.device(device).index)[0])


def _free_bytes(spec: ModelSpec) -> tuple[str, float]:
    import torch

    device = spec.device or ("cuda:0" if torch.cuda.is_available() and not spec.options.get("no_cuda") else "cpu")
    if device == "cpu":
        return "in this machine", free_bytes(device)
    number, there = int(device.partition(":")[2]), torch.cuda.device_count()
    if number >= there:
        have = f"{there} GPU(s)" if there else "no GPU that PyTorch can use"
        raise ZooError(f"{spec.name} cannot be loaded: its device is {device}, and this machine has {have}")
    return f"on {device}", free_bytes(device)
