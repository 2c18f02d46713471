"""Sentences for what goes wrong when a model of Hugging Face is loaded: what it is, and what to do about it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from parlai_humaneval.models.backends.memory import free_bytes, is_out_of_memory
from parlai_humaneval.models.zoo.entries import ZooError

WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
CODE_FILES = ("config.json", "tokenizer_config.json")
"""Where a model's folder names Python files of its own."""


def is_folder(name: str) -> bool:
    """Whether ``name`` is meant for a folder: it is there, or is spelled as only a path is."""
    spelled = name.startswith(("/", ".", "~", "home:")) or name.count("/") > 1
    return spelled or Path(name).is_dir()


def _weights_folder(path: str) -> Path | None:
    from huggingface_hub import try_to_load_from_cache

    if Path(path).is_dir():
        return Path(path)
    cached = try_to_load_from_cache(path, "config.json")
    return Path(cached).parent if isinstance(cached, str) else None


def _size_of_weights(path: str) -> int:
    """Bytes of the weights' files, in the one format that would be read; 0: unknown."""
    folder = _weights_folder(path)
    sizes = (sum(file.stat().st_size for file in folder.glob(pattern)) for pattern in WEIGHTS) if folder else ()
    return next((size for size in sizes if size), 0)


def check_memory(path: str, device: str) -> None:
    """Before the system ends the process for it, as Linux does."""
    size, free = _size_of_weights(path), free_bytes(device)
    if size > free:
        raise _too_large(path, size, free, device)


def _too_large(path: str, size: int, free: float, device: str) -> ZooError:
    return ZooError(
        f"{path} does not fit into memory: its files have {size / 1e9:.1f} GB, and {free / 1e9:.1f} GB "
        f"are free on {device}",
        try_="take a smaller model, another device, a smaller dtype (bfloat16), or end what else is loaded",
    )


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Turn what transformers and torch raise into a sentence that says what to do."""
    try:
        yield
    except ZooError:
        raise
    except Exception as error:  # a model's files may have them raise anything
        raise _explanation(path, error) from error


def _explanation(path: str, error: Exception) -> ZooError:
    import torch

    said = " ".join(str(error).split())
    is_tokenizers = "not currently imported" in said and _code_in(path, "tokenizer_config.json")
    if "trust_remote_code" in said or is_tokenizers:
        files = [file for name in CODE_FILES for file in _code_in(path, name)]
        code = f" ({', '.join(dict.fromkeys(files))})" if files else ""
        return ZooError(
            f"{path} runs Python code that comes with it{code}, and nobody has allowed that",
            try_="read the code; if you trust it, set trust_remote_code: true in the options of the zoo entry",
        )
    if is_out_of_memory(error):
        device = "cuda" if isinstance(error, torch.cuda.OutOfMemoryError) else "cpu"
        return _too_large(path, _size_of_weights(path), free_bytes(device), device)
    if isinstance(error, ImportError):
        return ZooError(f"{path} needs a package that is not installed: {said}")
    if unknown := _unknown_architecture(path):
        return unknown
    if Path(path).is_dir():
        return _of_folder(Path(path), said)
    if is_folder(path):
        return ZooError(
            f"the folder {path} does not exist", try_="give hf_model a model's folder, or its name on Hugging Face"
        )
    if any(word in said.lower() for word in ("gated", "401", "403")):
        return ZooError(
            f"{path} is not open to all, or there is no model of this name: accept its terms on "
            f"https://huggingface.co/{path}, then run `{_hub('login')}` and load it again ({said})"
        )
    return ZooError(
        f"{path} is not on this machine and cannot be fetched from Hugging Face",
        try_=f"check the name and the connection, or run `{_hub('download')} {path} --local-dir FOLDER` "
        f"elsewhere and give that folder as hf_model ({said})",
    )


def _of_folder(folder: Path, said: str) -> ZooError:
    if not (folder / "config.json").exists():
        return ZooError(f"{folder} has no config.json: it is not the folder of a Hugging Face model")
    if not any(any(folder.glob(pattern)) for pattern in WEIGHTS):
        return ZooError(f"{folder} has no weights: neither {' nor '.join(WEIGHTS)} is there")
    if not any(folder.glob("*token*")) and not (folder / "vocab.json").exists():
        return no_tokenizer(str(folder))
    return ZooError(f"{folder} cannot be loaded: {said}")


def has_words(tokenizer: Any) -> bool:
    """Whether a tokenizer knows any; of a folder without one, transformers 5 makes one that does not."""
    words = tokenizer.get_vocab().keys() - set(tokenizer.all_special_tokens)
    return any(any(map(str.isalnum, word)) for word in map(str, words))


def no_tokenizer(path: str) -> ZooError:
    """The sentence for a model whose tokenizer was left behind."""
    return ZooError(f"{path} has no tokenizer", try_="copy tokenizer.json and tokenizer_config.json there")


def _code_in(path: str, name: str) -> list[str]:
    named = _read_json(path, name).get("auto_map") or {}
    classes = [each for value in named.values() for each in (value if isinstance(value, list) else [value]) if each]
    return [f"{each.rpartition('.')[0]}.py" for each in map(str, classes)]


def _unknown_architecture(path: str) -> ZooError | None:
    import transformers

    kind = _read_json(path, "config.json").get("model_type")
    if kind is None or kind in transformers.CONFIG_MAPPING:
        return None
    return ZooError(
        f"{path} is of the architecture {kind}, which transformers {transformers.__version__} does not know",
        try_="install a newer transformers, or choose another model",
    )


def _read_json(path: str, name: str) -> dict[str, Any]:
    folder = _weights_folder(path)
    try:
        read = json.loads((folder / name).read_text(encoding="utf-8")) if folder else {}
    except (OSError, ValueError):
        return {}
    return read if isinstance(read, dict) else {}


def _hub(verb: str) -> str:
    renamed = tuple(map(int, version("huggingface_hub").split(".")[:2])) >= (0, 34)
    return f"hf {'auth ' if verb == 'login' else ''}{verb}" if renamed else f"huggingface-cli {verb}"
