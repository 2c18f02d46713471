"""Causal language models of Hugging Face: chat models in their own template, DialoGPT, and plain ones such as GPT-2."""

from __future__ import annotations

from typing import ClassVar

from parlai.core.loader import register_agent
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser

from parlai_humaneval.models.local.chat_format import ChatFormat, own_template, read_template
from parlai_humaneval.models.local.hugging_face import Kind
from parlai_humaneval.models.local.hugging_face_agent import COMMON_OPTIONS, HuggingFaceAgent
from parlai_humaneval.models.local.prompting import JoinedFormat, PlainFormat, PromptFormat


@register_agent("parlai_humaneval/causal_lm")
class CausalLmAgent(HuggingFaceAgent):
    """A causal model, in one of three formats (``prompt_format``).

    - ``chat``: the template of its tokenizer, or that of the Jinja file ``chat_template``.
    - ``dialogpt``: every turn ends with the ending token.
    - ``plain``: ``Human: …`` and ``Bot: …``, a line each; a reply is one line.
    - ``auto``: ``chat`` where there is a template, ``dialogpt`` where the model is called so, else ``plain``.

    Example of a zoo entry::

        my_chat_model:
          options: {model: parlai_humaneval/causal_lm, hf_model: /data/my_chat_model, do_sample: true, top_p: 0.9}
    """

    KIND: ClassVar[Kind] = "causal"
    FORMATS = ("auto", "chat", "dialogpt", "plain")
    GENERATION_OPTIONS = COMMON_OPTIONS | {"chat_template"}

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        super().add_cmdline_args(parser, partial_opt)
        parser.add_argument("--chat-template", type=str, default=None, help="A Jinja file, in place of the model's own")
        return parser

    def prompt_format(self, opt: Opt) -> PromptFormat:
        tokenizer, system = self.pretrained.tokenizer, str(opt.get("system_prompt") or "")
        kind, file = opt.get("prompt_format") or "auto", opt.get("chat_template")
        template = read_template(str(file)) if file else own_template(tokenizer)
        if kind == "auto":
            kind = (
                "chat" if template else "dialogpt" if _is_dialogpt(str(opt["hf_model"]), self.model.config) else "plain"
            )
        if kind == "plain":
            return PlainFormat(tokenizer, system)
        if kind == "dialogpt":
            return JoinedFormat(tokenizer, system, separator=_end_of_turn(tokenizer), trailing=True)
        if not template:
            raise ValueError(
                "this model has no chat template: name a Jinja file by chat_template, or choose prompt_format plain"
            )
        return ChatFormat(tokenizer, system, template=template)


def _is_dialogpt(name: str, config: object) -> bool:
    return "dialogpt" in f"{name} {getattr(config, '_name_or_path', '')}".lower()


def _end_of_turn(tokenizer: object) -> str:
    end = getattr(tokenizer, "eos_token", None)
    if not end:
        raise ValueError("prompt_format dialogpt needs a tokenizer with an ending token (eos_token); this one has none")
    return str(end)
