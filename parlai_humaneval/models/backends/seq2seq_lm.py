"""Encoder–decoders of Hugging Face: BART, T5, BlenderBot and the like read the dialogue and write the reply."""

from __future__ import annotations

from typing import ClassVar

from parlai.core.loader import register_agent
from parlai.core.opt import Opt

from parlai_humaneval.models.backends.hugging_face import Kind
from parlai_humaneval.models.backends.hugging_face_agent import HuggingFaceAgent
from parlai_humaneval.models.backends.prompting import JoinedFormat, PromptFormat

BLENDERBOT = "blenderbot"  # not blenderbot-small, whose turns are lines
TWO_SPACES = "  "


@register_agent("parlai_humaneval/seq2seq_lm")
class Seq2SeqLmAgent(HuggingFaceAgent):
    """An encoder–decoder, in one of two formats (``prompt_format``).

    - ``blenderbot``: turns with two spaces between them, as in ParlAI (``--delimiter "  "``).
    - ``lines``: each turn begins a line, as ParlAI's other models and BlenderBot 90M have it.
    - ``auto``: as the model's type says.

    A persona is put before the first turn in ParlAI's convention (``your persona: …``), the system prompt before that.

    Example of a zoo entry::

        blenderbot_hf:
          options: {model: parlai_humaneval/seq2seq_lm, hf_model: facebook/blenderbot-400M-distill}
    """

    KIND: ClassVar[Kind] = "seq2seq"
    FORMATS = ("auto", "blenderbot", "lines")

    def prompt_format(self, opt: Opt) -> PromptFormat:
        tokenizer, system = self.pretrained.tokenizer, str(opt.get("system_prompt") or "")
        kind = opt.get("prompt_format") or "auto"
        if kind == "lines" or (kind == "auto" and self.model.config.model_type != BLENDERBOT):
            return JoinedFormat(tokenizer, system)
        return JoinedFormat(
            tokenizer, system, separator=TWO_SPACES, indent="" if getattr(tokenizer, "add_prefix_space", False) else " "
        )
