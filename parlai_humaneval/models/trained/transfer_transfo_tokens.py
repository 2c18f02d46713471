"""The tokens of a TransferTransfo model: GPT-2's, and five of its own."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from parlai.core.dict import DictionaryAgent
from parlai.core.opt import Opt

BOS, EOS, PARTNER, SELF, PAD = "<bos>", "<eos>", "<speaker1>", "<speaker2>", "<pad>"
OWN_TOKENS = (BOS, EOS, PARTNER, SELF, PAD)
"""Named as in the authors' code. ``<speaker2>`` begins what the model says, ``<speaker1>`` what it hears."""


class PretrainedMissing(RuntimeError):
    """What training is to start from is not on this machine and cannot be fetched."""


def pretrained_name(opt: Opt) -> str:
    """The folder or name on the hub of the GPT-2 that training starts from."""
    size = opt.get("gpt2_size") or "small"
    return (
        str(Path(opt["hf_model"]).expanduser()) if opt.get("hf_model") else {"small": "gpt2"}.get(size, f"gpt2-{size}")
    )


def pretrained_missing(name: str, error: Exception) -> PretrainedMissing:
    """The error for a GPT-2 called ``name`` that cannot be had."""
    return PretrainedMissing(
        f"GPT-2 “{name}” is neither a folder with a model nor on this machine, and could not be downloaded ({error}). "
        "Give hf_model a folder, or load it once where the internet is at hand."
    )


class TransferTransfoDictionary(DictionaryAgent):
    """Byte-level BPE of a GPT-2 tokenizer; ids are those of GPT-2, then :data:`OWN_TOKENS`.

    Text is data: whoever writes ``<speaker2>`` or ``<|endoftext|>`` gets the tokens of these characters, never the
    token of that name. The dictionary's file is a ``tokenizer.json``, so that a trained model needs nothing else.

    Raises:
        PretrainedMissing: when there is no such file yet, and no tokenizer to start from.
    """

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        # ParlAI's constructor would build a dictionary of words; what TorchAgent reads of it is set here.
        from tokenizers import Tokenizer

        self.opt = opt
        self.lower = False
        self.tokenizer = "hf"
        self.freq: dict[str, int] = defaultdict(int)
        self.additional_special_tokens: list[str] = []
        self.null_token, self.start_token, self.end_token, self.unk_token = PAD, SELF, EOS, PAD
        self._json = _tokenizer_json(opt)
        tokenizer = json.loads(self._json)
        special = [token["content"] for token in tokenizer["added_tokens"]]
        self._bpe = Tokenizer.from_str(json.dumps({**tokenizer, "added_tokens": [], "post_processor": None}))
        self.tok2ind: dict[str, int] = self._bpe.get_vocab()
        words = len(self.tok2ind)
        self.tok2ind |= {token: words + number for number, token in enumerate(OWN_TOKENS)}
        self.ind2tok: dict[int, str] = {index: token for token, index in self.tok2ind.items()}
        self._unk_token_idx = self.tok2ind[PAD]
        self._unspoken = [self.tok2ind[token] for token in special if token in self.tok2ind]
        self._words = words

    def is_prebuilt(self) -> bool:
        """There is nothing to count in the data."""
        return True

    def unspoken(self) -> list[int]:
        """Ids that are no part of a text: the model must say none of them, but for the one that ends its reply."""
        own = [index for index in range(self._words, len(self)) if index != self.tok2ind[EOS]]
        return [*self._unspoken, *own]

    def txt2vec(self, text: str, vec_type: Any = list) -> Any:
        """Token ids of ``text``; none of them is one of :data:`OWN_TOKENS`."""
        return vec_type(self._bpe.encode(text, add_special_tokens=False).ids)

    def vec2txt(self, vector: Iterable[Any], delimiter: str = " ") -> str:
        """The text of token ids; tokens that are no text are left out."""
        return str(self._bpe.decode([int(index) for index in vector if int(index) < self._words])).strip()

    def save(self, filename: str | None = None, append: bool = False, sort: bool = True) -> None:
        """Write the tokenizer to ``filename``, by default the ``dict_file``."""
        path = Path(filename or self.opt["dict_file"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._json, encoding="utf-8")


def _tokenizer_json(opt: Opt) -> str:
    saved = opt.get("dict_file")
    if saved and Path(saved).exists():
        return Path(saved).read_text(encoding="utf-8")
    from transformers import GPT2TokenizerFast

    name = pretrained_name(opt)
    try:
        tokenizer = GPT2TokenizerFast.from_pretrained(name)
    except Exception as error:  # offline it is an OSError, for a folder without a tokenizer a TypeError or another
        raise pretrained_missing(name, error) from error
    return str(tokenizer.backend_tokenizer.to_str())


def ids_of(dictionary: DictionaryAgent, tokens: Sequence[str] = OWN_TOKENS) -> list[int]:
    """Ids of tokens by their names."""
    return [int(dictionary[token]) for token in tokens]
