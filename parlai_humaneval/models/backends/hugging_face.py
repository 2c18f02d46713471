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

from parlai_humaneval.models.agent.packages import is_transformers_5
from parlai_humaneval.models.backends.forward_pass import bears_padding, grows
from parlai_humaneval.models.backends.weights_refusals import (
    check_memory,
    explained,
    has_words,
    is_folder,
    no_tokenizer,
)
from parlai_humaneval.models.zoo.entries import ZooError
from parlai_humaneval.models.zoo.files import expand_home

if TYPE_CHECKING:
    import torch

Kind = Literal["causal", "seq2seq"]
OTHER_AGENT = {"causal": "parlai_humaneval/seq2seq_lm", "seq2seq": "parlai_humaneval/causal_lm"}
DTYPES = ("auto", "float32", "bfloat16", "float16")
DEVICE_MAPS = ("auto", "balanced", "balanced_low_0", "sequential")
"""How one model is spread over several GPUs, in the words of accelerate."""
UNLIMITED = 1_000_000
"""Tokenizers that know no limit say 10³⁰."""


@dataclass(frozen=True)
class Pretrained:
    """A loaded model and its tokenizer.

    ``settings``: how its makers have it search for a reply; not the model's any more, as in transformers 5 ``generate``
    would fill in by them whatever a config sets to None. ``context``: most tokens that it can read and, if causal, write;
    None: it knows no limit. ``pads_left``: whether prompts of several lengths can share a batch. ``grows``: whether
    replies can be joined between two words, as the model's cache can be put together and cut row by row. ``made``: what
    agents have derived from it, by their settings.
    """

    model: Any
    tokenizer: Any
    settings: Any
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
        raise ZooError(f"gpu {gpu} is not on this machine, which has {here}", try_="choose another, or no_cuda")
    return f"cuda:{max(gpu, 0)}" if here else "cpu"


def load_pretrained(
    name: str,
    kind: Kind,
    *,
    dtype: str = "auto",
    device: str = "cpu",
    device_map: str | None = None,
    trust_remote_code: bool = False,
) -> Pretrained:
    """Load a model from a folder (``home:`` is understood) or by its name on Hugging Face.

    Args:
        name: where it is; a name that is not on this machine yet is downloaded.
        kind: what it has to be.
        dtype: one of :data:`DTYPES`. auto: float32 on a processor, on a GPU or where they are quantised as they were saved.
        device: as torch names it.
        device_map: one of :data:`DEVICE_MAPS`, to spread it over all devices; None: all of it goes to ``device``.
        trust_remote_code: whether Python files that come with the model may run here.

    Raises:
        ZooError: when it cannot be had or is not of this kind, or does not fit into memory.
    """
    import transformers

    if dtype not in DTYPES:
        raise ZooError(f"dtype must be one of {', '.join(DTYPES)}, not {dtype}")
    path = str(Path(expand_home(name)).expanduser()) if is_folder(name) else name
    with explained(path), _silent():
        config = transformers.AutoConfig.from_pretrained(path, trust_remote_code=trust_remote_code)
        _check_kind(path, kind, bool(config.is_encoder_decoder))
        tokenizer = transformers.AutoTokenizer.from_pretrained(path, trust_remote_code=trust_remote_code)
        if not has_words(tokenizer):
            raise no_tokenizer(path)
        if device_map is None:
            check_memory(path, device)
        auto = transformers.AutoModelForCausalLM if kind == "causal" else transformers.AutoModelForSeq2SeqLM
        kept = device != "cpu" or getattr(config, "quantization_config", None) is not None
        numbers = "auto" if dtype == "auto" and kept else _dtype(dtype)
        places = {"": device} if device_map is None else device_map
        model = _load_weights(auto, path, numbers, device_map=places, trust_remote_code=trust_remote_code).eval()
    settings, model.generation_config = model.generation_config, transformers.GenerationConfig()
    pads_left = kind == "seq2seq" or bears_padding(model)
    joins = kind == "causal" and pads_left and grows(model)
    return Pretrained(model, tokenizer, settings, _context(config, tokenizer), pads_left, joins)


def _check_kind(path: str, kind: Kind, is_encoder_decoder: bool) -> None:
    if is_encoder_decoder != (kind == "seq2seq"):
        what = "an encoder–decoder" if is_encoder_decoder else "a causal language model"
        raise ZooError(f"{path} is {what}", try_=f"use the agent {OTHER_AGENT[kind]} for it")


def _dtype(dtype: str) -> torch.dtype:
    import torch

    number: torch.dtype = getattr(torch, "float32" if dtype == "auto" else dtype)
    return number


def _load_weights(auto: Any, path: str, dtype: Any, **options: Any) -> Any:
    # Put on its device file by file, with the help of accelerate: never are there two copies of the weights.
    options["dtype" if is_transformers_5() else "torch_dtype"] = dtype
    model, loading = auto.from_pretrained(path, output_loading_info=True, **options)
    absent = set(loading["missing_keys"]) & {name for name, _ in model.named_parameters()}
    if absent:
        raise ZooError(
            f"{path} lacks {len(absent)} of its model's weights ({min(absent)} …): they would be random",
            try_="give the folder of the whole model: this may be a part of one (an adapter, a body without a head)",
        )
    return model


def _context(config: Any, tokenizer: Any) -> int | None:
    if hasattr(config, "get_text_config"):  # of a model that could also see
        config = config.get_text_config()
    limits = (getattr(config, "max_position_embeddings", None), getattr(config, "n_positions", None))
    known = [limit for limit in (*limits, tokenizer.model_max_length) if limit and 0 < limit < UNLIMITED]
    return min(known) if known else None


@contextmanager
def _silent() -> Iterator[None]:
    with warnings.catch_warnings():  # transformers warns about newer torch
        warnings.simplefilter("ignore")
        yield
