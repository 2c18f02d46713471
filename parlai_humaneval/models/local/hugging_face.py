"""Models of Hugging Face, by folder or by name, loaded to speak: weights, tokenizer, device, and how much they may read.

What goes wrong with files of this size is known beforehand (a name that cannot be fetched, a folder without weights, a
gated model, too little memory), so each has a sentence of its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from parlai.core.opt import Opt

from parlai_humaneval.models.pool.memory import free_bytes, is_out_of_memory
from parlai_humaneval.models.zoo.entries import ZooError
from parlai_humaneval.models.zoo.home import expand_home

if TYPE_CHECKING:
    import torch

Kind = Literal["causal", "seq2seq"]
OTHER_AGENT = {"causal": "parlai_humaneval/seq2seq_lm", "seq2seq": "parlai_humaneval/causal_lm"}
DTYPES = ("auto", "float32", "bfloat16", "float16")
WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
UNLIMITED = 1_000_000
"""Tokenizers that know no limit say 10³⁰."""
PROBE = 5
"""Tokens of the sentence that tells whether a model minds padding on its left."""


@dataclass(frozen=True)
class Pretrained:
    """A loaded model and its tokenizer.

    ``context``: most tokens that it can read and, if causal, write; None: it knows no limit. ``pads_left``: whether
    prompts of several lengths can share a batch. ``grows``: whether replies can be joined between two words, as the
    model's cache can be put together and cut row by row. ``made``: what agents have derived from it, by their settings.
    """

    model: Any
    tokenizer: Any
    context: int | None
    pads_left: bool
    grows: bool = False
    made: dict[Any, Any] = field(default_factory=dict)

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return self.model.device

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """What ``make`` gave the first time under ``key``: clones with equal settings share it."""
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]


def device_of(opt: Opt) -> str:
    """The device that ParlAI's ``no_cuda`` and ``gpu`` name: the first GPU, where there is one, unless they say otherwise.

    Raises:
        ZooError: for a GPU that this machine does not have.
    """
    import torch

    if opt.get("no_cuda"):
        return "cpu"
    gpu, here = int(opt.get("gpu", -1)), torch.cuda.device_count() if torch.cuda.is_available() else 0
    if gpu >= here:
        raise ZooError(f"gpu {gpu} is not on this machine, which has {here}; choose another, or no_cuda")
    return f"cuda:{max(gpu, 0)}" if here else "cpu"


def load_pretrained(name: str, kind: Kind, *, dtype: str = "auto", device: str = "cpu") -> Pretrained:
    """Load a model from a folder (``home:`` is understood) or by its name on Hugging Face.

    Args:
        name: where it is; a name that is not on this machine yet is downloaded.
        kind: what it has to be.
        dtype: one of :data:`DTYPES`. auto: float32 on a processor, on a GPU as it was saved.
        device: as torch names it.

    Raises:
        ZooError: when it cannot be had or is not of this kind, or does not fit into memory.
    """
    import transformers

    if dtype not in DTYPES:
        raise ZooError(f"dtype must be one of {', '.join(DTYPES)}, not {dtype}")
    path = str(Path(expand_home(name)).expanduser()) if _is_folder(name) else name
    with _told(path), _silent():
        config = transformers.AutoConfig.from_pretrained(path)
        _check_kind(path, kind, bool(config.is_encoder_decoder))
        tokenizer = transformers.AutoTokenizer.from_pretrained(path)
        auto = transformers.AutoModelForCausalLM if kind == "causal" else transformers.AutoModelForSeq2SeqLM
        _check_memory(path, device)
        model = _load_weights(auto, path, _dtype(dtype, device), device).eval()
    context = _context(config, tokenizer)
    if kind == "seq2seq":
        return Pretrained(model, tokenizer, context, pads_left=True)
    pads_left = _minds_no_padding(model)
    return Pretrained(model, tokenizer, context, pads_left, grows=pads_left and _grows(model))


def _is_folder(name: str) -> bool:
    """Whether ``name`` is meant for a folder: it is there, or is spelled as only a path is."""
    spelled = name.startswith(("/", ".", "~", "home:")) or name.count("/") > 1
    return spelled or Path(name).is_dir()


def _check_kind(path: str, kind: Kind, is_encoder_decoder: bool) -> None:
    if is_encoder_decoder != (kind == "seq2seq"):
        what = "an encoder–decoder" if is_encoder_decoder else "a causal language model"
        raise ZooError(f"{path} is {what}: use the agent {OTHER_AGENT[kind]} for it")


def _dtype(dtype: str, device: str) -> Any:
    import torch

    if dtype == "auto":
        return torch.float32 if device == "cpu" else "auto"
    return getattr(torch, dtype)


def _load_weights(auto: Any, path: str, dtype: Any, device: str) -> Any:
    # Put on its device file by file, with the help of accelerate: never are there two copies of the weights.
    model, loading = auto.from_pretrained(path, torch_dtype=dtype, device_map={"": device}, output_loading_info=True)
    absent = set(loading["missing_keys"]) & {name for name, _ in model.named_parameters()}
    if absent:
        raise ZooError(
            f"{path} lacks {len(absent)} of its model's weights ({min(absent)} …): they would be random. "
            "It may be a part of a model (an adapter, a body without a head); give the folder of the whole model"
        )
    return model


def _context(config: Any, tokenizer: Any) -> int | None:
    limits = (getattr(config, "max_position_embeddings", None), getattr(config, "n_positions", None))
    known = [limit for limit in (*limits, tokenizer.model_max_length) if limit and 0 < limit < UNLIMITED]
    return min(known) if known else None


def _minds_no_padding(model: Any) -> bool:
    """Whether padding on the left leaves what the model says next as it was.

    Most models count their positions from the attention mask; some do not (XGLM's here), and would answer otherwise in a
    batch than alone.
    """
    import torch

    ids, padded, mask = _probe(model)
    with torch.no_grad():
        alone = _next_scores(model, ids, torch.ones_like(ids))
        beside = _next_scores(model, padded, mask)
    return _alike(alone, beside)


def _grows(model: Any) -> bool:
    """Whether its cache is of the usual kind: keys and values of each layer by rows, with padding that it does not mind."""
    import torch

    ids, padded, mask = _probe(model)
    with torch.no_grad():
        alone = _next_scores(model, ids, torch.ones_like(ids))
        inputs = model.prepare_inputs_for_generation(padded[:, :-1], attention_mask=mask[:, :-1], use_cache=True)
        cache = getattr(model(**inputs), "past_key_values", None)
        if not _is_usual(cache, words=2 * PROBE - 1):
            return False
        beside = _next_scores(model, padded[:, -1:], mask, cache)
    return _alike(alone, beside)


def _is_usual(cache: Any, words: int) -> bool:
    if not isinstance(cache, tuple) or not all(isinstance(layer, tuple) and len(layer) == 2 for layer in cache):
        return False
    shapes = [each.shape for layer in cache for each in layer]
    return all(len(shape) == 4 and shape[0] == 1 and shape[2] == words for shape in shapes)


def _probe(model: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """A short text, the same with padding on its left, and the mask of that."""
    import torch

    ids = torch.arange(1, PROBE + 1, device=model.device)[None] % model.config.vocab_size
    nothing = torch.zeros_like(ids)
    return ids, torch.cat([nothing, ids], dim=1), torch.cat([nothing, torch.ones_like(ids)], dim=1)


def _alike(alone: torch.Tensor, beside: torch.Tensor) -> bool:
    import torch

    tolerance = 1e-3 if alone.dtype == torch.float32 else 5e-2
    return bool((alone - beside).abs().max() <= tolerance * (alone.max() - alone.min()))


def _next_scores(model: Any, ids: torch.Tensor, mask: torch.Tensor, cache: Any = None) -> torch.Tensor:
    inputs = model.prepare_inputs_for_generation(
        ids, past_key_values=cache, attention_mask=mask, use_cache=cache is not None
    )
    scores: torch.Tensor = model(**inputs).logits[0, -1]
    return scores


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


def _check_memory(path: str, device: str) -> None:
    """Before the system ends the process for it, as Linux does."""
    size, free = _size_of_weights(path), free_bytes(device)
    if size > free:
        raise ZooError(_too_large(path, size, free, device))


def _too_large(path: str, size: int, free: float, device: str) -> str:
    return (
        f"{path} does not fit into memory: its files have {size / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free on "
        f"{device}. Take a smaller model, another device, a smaller dtype (bfloat16), or end what else is loaded"
    )


@contextmanager
def _silent() -> Iterator[None]:
    with warnings.catch_warnings():  # transformers warns about newer torch
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Turn what transformers and torch raise into a sentence that says what to do."""
    try:
        yield
    except ZooError:
        raise
    except Exception as error:  # a model's files may have them raise anything
        raise ZooError(_explanation(path, error)) from error


def _explanation(path: str, error: Exception) -> str:
    import torch

    said = " ".join(str(error).split())
    if is_out_of_memory(error):
        device = "cuda" if isinstance(error, torch.cuda.OutOfMemoryError) else "cpu"
        return _too_large(path, _size_of_weights(path), free_bytes(device), device)
    if Path(path).is_dir():
        return _of_folder(Path(path), said)
    if _is_folder(path):
        return f"the folder {path} does not exist; hf_model is a model's folder, or its name on Hugging Face"
    if any(word in said.lower() for word in ("gated", "401", "403")):
        return (
            f"{path} is not open to all, or there is no model of this name: accept its terms on "
            f"https://huggingface.co/{path}, then run `huggingface-cli login` and load it again ({said})"
        )
    return (
        f"{path} is not on this machine and cannot be fetched from Hugging Face. Check the name and the connection, or "
        f"run `huggingface-cli download {path} --local-dir FOLDER` elsewhere and give that folder as hf_model ({said})"
    )


def _of_folder(folder: Path, said: str) -> str:
    if not (folder / "config.json").exists():
        return f"{folder} has no config.json: it is not the folder of a Hugging Face model"
    if not any(any(folder.glob(pattern)) for pattern in WEIGHTS):
        return f"{folder} has no weights: neither {' nor '.join(WEIGHTS)} is there"
    if not any(folder.glob("*token*")) and not (folder / "vocab.json").exists():
        return f"{folder} has no tokenizer: copy tokenizer.json and tokenizer_config.json there"
    return f"{folder} cannot be loaded: {said}"
