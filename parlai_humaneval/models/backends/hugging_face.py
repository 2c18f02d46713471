"""Models of Hugging Face, by folder or name, ready to speak: weights, tokenizer, device, and context length.

What goes wrong with files of this size is known beforehand, and has a sentence of its own. What a causal model bears
(padding on the left, replies that join and leave between two words) no architecture says: each is tried when it is
loaded.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from parlai.core.opt import Opt

from parlai_humaneval._util.files import json_object_in
from parlai_humaneval.i18n.translate import worded
from parlai_humaneval.models.agent.names import is_transformers_5
from parlai_humaneval.models.zoo.entries import ZooError
from parlai_humaneval.models.zoo.files import expand_home, free_bytes, is_out_of_memory

if TYPE_CHECKING:
    import torch


Kind = Literal["causal", "seq2seq"]
OTHER_AGENT = {"causal": "parlai_humaneval/seq2seq_lm", "seq2seq": "parlai_humaneval/causal_lm"}
DTYPES = ("auto", "float32", "bfloat16", "float16")
UNLIMITED = 1_000_000


@dataclass(frozen=True)
class Pretrained:
    """A loaded model and its tokenizer. ``settings``: how its makers have it search (transformers 5 would fill in by
    them whatever is None). ``context``: most tokens that it can read, where there is a limit. ``pads_left``: whether
    prompts of several lengths can share a batch. ``grows``: whether replies can be joined between two words. ``made``:
    what agents have derived from it."""

    model: Any
    tokenizer: Any
    settings: Any
    context: int | None
    pads_left: bool
    grows: bool = False
    made: dict[Any, Any] = field(default_factory=dict)

    @property
    def device(self) -> torch.device:
        return self.model.device

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """What ``make`` gave the first time under ``key``: clones with equal settings share it."""
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]


def device_of(opt: Opt) -> str:
    """The device that ParlAI's ``no_cuda`` and ``gpu`` name, else the first GPU; a ZooError for one that is not here."""
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
    """Load a model from a folder or by its name on Hugging Face; a ZooError where that cannot be. ``dtype``: auto is
    float32 on a processor, else as saved. ``device_map``: of accelerate."""
    import torch
    import transformers

    if dtype not in DTYPES:
        raise ZooError(f"dtype must be one of {', '.join(DTYPES)}, not {dtype}")
    path = str(Path(expand_home(name)).expanduser()) if is_folder(name) else name
    with explained(path), warnings.catch_warnings():  # transformers warns about newer torch
        warnings.simplefilter("ignore")
        config = transformers.AutoConfig.from_pretrained(path, trust_remote_code=trust_remote_code)
        if bool(config.is_encoder_decoder) != (kind == "seq2seq"):
            what = "an encoder–decoder" if config.is_encoder_decoder else "a causal language model"
            raise ZooError(f"{path} is {what}", try_=f"use the agent {OTHER_AGENT[kind]} for it")
        tokenizer = transformers.AutoTokenizer.from_pretrained(path, trust_remote_code=trust_remote_code)
        words = tokenizer.get_vocab().keys() - set(tokenizer.all_special_tokens)
        if not any(any(map(str.isalnum, str(word))) for word in words):  # where no file is, transformers 5 makes one up
            raise no_tokenizer(path)
        if device_map is None:
            check_memory(path, device)
        auto = transformers.AutoModelForCausalLM if kind == "causal" else transformers.AutoModelForSeq2SeqLM
        kept = device != "cpu" or getattr(config, "quantization_config", None) is not None
        numbers = "auto" if dtype == "auto" and kept else getattr(torch, "float32" if dtype == "auto" else dtype)
        places = {"": device} if device_map is None else device_map
        model = _load_weights(auto, path, numbers, device_map=places, trust_remote_code=trust_remote_code).eval()
    settings, model.generation_config = model.generation_config, transformers.GenerationConfig()
    pads_left = kind == "seq2seq" or bears_padding(model)
    joins = kind == "causal" and pads_left and grows(model)
    if hasattr(config, "get_text_config"):  # of a model that could also see
        config = config.get_text_config()
    limits = (getattr(config, "max_position_embeddings", None), getattr(config, "n_positions", None))
    known = [limit for limit in (*limits, tokenizer.model_max_length) if limit and 0 < limit < UNLIMITED]
    return Pretrained(model, tokenizer, settings, min(known, default=None), pads_left, joins)


def _load_weights(auto: Any, path: str, dtype: Any, **options: Any) -> Any:
    # Put on its device file by file, with the help of accelerate: never are there two copies of the weights.
    options["dtype" if is_transformers_5() else "torch_dtype"] = dtype
    model, loading = auto.from_pretrained(path, output_loading_info=True, **options)
    absent = set(loading["missing_keys"]) & {name for name, _ in model.named_parameters()}
    if absent:
        raise ZooError(worded(__file__, "lacks_weights", path=path, number=len(absent), first=min(absent)))
    return model


WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
CODE_FILES = ("config.json", "tokenizer_config.json")


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
    folder = _weights_folder(path)
    sizes = (sum(file.stat().st_size for file in folder.glob(pattern)) for pattern in WEIGHTS) if folder else ()
    return next((size for size in sizes if size), 0)


def check_memory(path: str, device: str) -> None:
    size, free = _size_of_weights(path), free_bytes(device)
    if size > free:
        raise _too_large(path, size, free, device)


def _too_large(path: str, size: int, free: float, device: str) -> ZooError:
    return ZooError(
        f"{path} does not fit into memory: its files have {size / 1e9:.1f} GB, and {free / 1e9:.1f} GB "
        f"are free on {device}",
        try_="use a smaller model, another device, a smaller dtype (bfloat16), or unload other models",
    )


@contextmanager
def explained(path: str) -> Iterator[None]:
    try:
        yield
    except ZooError:
        raise
    except Exception as error:  # a model's files may have them raise anything
        raise _explanation(path, error) from error


def _explanation(path: str, error: Exception) -> ZooError:
    import torch
    import transformers

    said = " ".join(str(error).split())
    is_tokenizers = "not currently imported" in said and _code_in(path, "tokenizer_config.json")
    if "trust_remote_code" in said or is_tokenizers:
        files = [file for name in CODE_FILES for file in _code_in(path, name)]
        code = f" ({', '.join(dict.fromkeys(files))})" if files else ""
        return ZooError(
            f"{path} runs Python code that comes with it{code}, which is not allowed yet",
            try_="read the code; if you trust it, set trust_remote_code: true in the options of the zoo entry",
        )
    if is_out_of_memory(error):
        device = "cuda" if isinstance(error, torch.cuda.OutOfMemoryError) else "cpu"
        return _too_large(path, _size_of_weights(path), free_bytes(device), device)
    if isinstance(error, ImportError):
        return ZooError(f"{path} needs a package that is not installed: {said}")
    kind = _read_json(path, "config.json").get("model_type")
    if kind is not None and kind not in transformers.CONFIG_MAPPING:
        what = f"{path} is of the architecture {kind}, which transformers {transformers.__version__} does not support"
        return ZooError(what, try_="install a newer transformers, or choose another model")
    if (folder := Path(path)).is_dir():
        if not (folder / "config.json").exists():
            return ZooError(f"{folder} has no config.json: it is not the folder of a Hugging Face model")
        if not any(any(folder.glob(pattern)) for pattern in WEIGHTS):
            return ZooError(f"{folder} has no weights: neither {' nor '.join(WEIGHTS)} is there")
        if not any(folder.glob("*token*")) and not (folder / "vocab.json").exists():
            return no_tokenizer(str(folder))
        return ZooError(f"{folder} cannot be loaded: {said}")
    if is_folder(path):
        what = f"the folder {path} does not exist"
        return ZooError(what, try_="set hf_model to a model's folder, or to its name on Hugging Face")
    if any(word in said.lower() for word in ("gated", "401", "403")):
        return ZooError(
            f"{path} is not public, or there is no model with this name: accept its terms on "
            f"https://huggingface.co/{path}, then run `{_hub('login')}` and load it again ({said})"
        )
    return ZooError(
        f"{path} is not on this machine and cannot be fetched from Hugging Face",
        try_=f"check the name and the connection, or run `{_hub('download')} {path} --local-dir FOLDER` "
        f"elsewhere and set hf_model to that folder ({said})",
    )


def no_tokenizer(path: str) -> ZooError:
    return ZooError(f"{path} has no tokenizer", try_="copy tokenizer.json and tokenizer_config.json there")


def _code_in(path: str, name: str) -> list[str]:
    named = _read_json(path, name).get("auto_map") or {}
    classes = [each for value in named.values() for each in (value if isinstance(value, list) else [value]) if each]
    return [f"{each.rpartition('.')[0]}.py" for each in map(str, classes)]


def _read_json(path: str, name: str) -> dict[str, Any]:
    folder = _weights_folder(path)
    return json_object_in(folder / name) if folder else {}


def _hub(verb: str) -> str:
    renamed = tuple(map(int, version("huggingface_hub").split(".")[:2])) >= (0, 34)
    return f"hf {'auth ' if verb == 'login' else ''}{verb}" if renamed else f"huggingface-cli {verb}"


Layers = tuple[tuple["torch.Tensor", "torch.Tensor"], ...]
"""Keys and values of each layer, in the shape ``(rows, heads, words, size)``."""


class Reader:
    """Reads token ids with a causal language model."""

    def __init__(self, model: Any) -> None:
        takes = inspect.signature(model.forward).parameters
        self._model = model
        self._cache_name = cache_name(model)
        self._takes_positions = "position_ids" in takes
        self._always: dict[str, Any] = {"use_cache": True, "return_dict": True}
        if "logits_to_keep" in takes:
            self._always["logits_to_keep"] = 1  # large vocabularies: scores of the whole prompt fill gigabytes

    def __call__(self, ids: torch.Tensor, mask: torch.Tensor, cache: Any = None) -> tuple[torch.Tensor, Any]:
        """Scores of each row's next word, and the cache with ``ids``; ``mask``: of all tokens, without which positions
        count."""
        inputs: dict[str, Any] = {self._cache_name: cache_of(()) if cache is None else cache}
        if self._takes_positions:
            inputs["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        out = self._model(input_ids=ids, attention_mask=mask, **inputs, **self._always)
        return out.logits[:, -1].float(), out[self._cache_name]


def cache_name(model: Any) -> str:
    return "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"


def layers_of(cache: Any) -> Layers | None:
    """The tensors of a cache; None: it is of a kind that cannot be put together row by row."""
    pairs = (
        [(layer.keys, layer.values) if type(layer).__name__ == "DynamicLayer" else None for layer in cache.layers]
        if hasattr(cache, "layers")
        else cache
    )
    if not isinstance(pairs, (list, tuple)) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        return None
    return tuple(pairs)


def cache_of(layers: Layers) -> Any:
    """The library's cache of these tensors, without a copy; the window of sliding layers is in the attention mask."""
    try:
        from transformers.cache_utils import DynamicCache, DynamicLayer
    except ImportError:  # transformers 4: tuples, of which the first pass gets none
        return layers or None
    cache = DynamicCache()
    for keys, values in layers:
        layer = DynamicLayer()
        layer.lazy_initialization(keys, values)
        layer.keys, layer.values = keys, values
        cache.layers.append(layer)
    return cache


PROBE = 5


def bears_padding(model: Any) -> bool:
    """Whether padding on the left changes nothing: some models do not count positions from the mask, or keep one state."""
    ids, padded, mask = _probe(model)
    return _alike(_next_scores(model, ids), _next_scores(model, padded, mask), model.dtype)


def grows(model: Any) -> bool:
    """Whether its cache is of the usual kind: keys and values of each layer by rows, with padding that it does not mind."""
    import torch

    ids, padded, mask = _probe(model)
    read = Reader(model)
    with torch.inference_mode():
        try:
            _, cache = read(padded[:, :-1], mask[:, :-1])
            layers = layers_of(cache)
            shapes = [each.shape for layer in layers or () for each in layer]
            words = 2 * PROBE - 1
            if not shapes or not all(len(shape) == 4 and shape[0] == 1 and shape[2] == words for shape in shapes):
                return False
            assert layers is not None
            beside, _ = read(padded[:, -1:], mask, cache_of(layers))
        except Exception:  # noqa: BLE001 - a model with a cache of its own kind may raise anything
            return False
    return _alike(_next_scores(model, ids), beside[0], model.dtype)


def _probe(model: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    import torch

    words = model.get_input_embeddings().num_embeddings
    ids = torch.arange(1, PROBE + 1, device=model.device)[None] % words
    nothing = torch.zeros_like(ids)
    return ids, torch.cat([nothing, ids], dim=1), torch.cat([nothing, torch.ones_like(ids)], dim=1)


def _next_scores(model: Any, ids: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
    import torch
    from transformers import GenerationConfig

    config = GenerationConfig(
        max_new_tokens=1, do_sample=False, num_beams=1, pad_token_id=0, return_dict_in_generate=True, output_scores=True
    )
    mask = torch.ones_like(ids) if mask is None else mask
    with torch.inference_mode():
        out = model.generate(ids, attention_mask=mask, generation_config=config)
    scores: torch.Tensor = out.scores[0][0]
    return scores


def _alike(alone: torch.Tensor, beside: torch.Tensor, dtype: torch.dtype) -> bool:
    import torch

    tolerance = 1e-3 if dtype == torch.float32 else 5e-2
    return bool((alone - beside).abs().max() <= tolerance * (alone.max() - alone.min()))
