"""Causal language models of Hugging Face: chat models in their own template, DialoGPT, and plain ones such as GPT-2.

The template is a Jinja text that comes with a tokenizer. Templates differ in what they accept, and many say so only by an
error, or by leaving a message out. So each is tried once with marks in the place of messages: whether it shows a system
message, whether a bot may begin, and which control words stand between two turns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import yaml
from parlai.core.loader import register_agent
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.display.thoughts import begins_thoughts, is_channel, is_mark
from parlai_humaneval.models.agent.dialogue_agent import Line
from parlai_humaneval.models.backends.base import Heard
from parlai_humaneval.models.backends.chat_messages import ChatMessage, Wording
from parlai_humaneval.models.backends.hugging_face import Kind
from parlai_humaneval.models.backends.hugging_face_agent import COMMON_OPTIONS, HuggingFaceAgent
from parlai_humaneval.models.backends.prompting import BEGIN, JoinedFormat, PlainFormat, Played, PromptFormat, next_turn
from parlai_humaneval.models.zoo.entries import ZooError

Chat = list[ChatMessage]

MARKER = re.compile(r"<[^<>\s]{1,40}>|\[/?[A-Z_]{2,20}\]|<<[A-Z/]{2,10}>>|^\W{0,4}\w{2,20}:", re.MULTILINE)
"""A word that a template has between turns: ``<|im_end|>``, ``[/INST]``, ``### User:``."""
TEMPLATE_FILE = "chat_template.jinja"
WRITTEN_BY_US = frozenset({"conversation", "messages", "chat_template", "tokenize", "add_generation_prompt"})


def own_template(tokenizer: Any) -> str | None:
    """The template that came with the tokenizer, also where newer versions of transformers keep it; None: there is none."""
    template = tokenizer.chat_template
    if isinstance(template, list):  # several, by name
        template = {item["name"]: item["template"] for item in template}
    if isinstance(template, dict):  # as transformers 5 has them
        template = template.get("default")
    beside = Path(str(tokenizer.name_or_path)) / TEMPLATE_FILE
    if template is None and beside.is_file():
        return beside.read_text(encoding="utf-8")
    return template if template is None else str(template)


class ChatFormat(PromptFormat):
    """Roles ``system``, ``user`` and ``assistant`` in the template of a model.

    A system prompt that the template has no place for is put before the person's first words. Turns of one speaker in
    succession are joined, since most templates demand that speakers alternate.

    Args:
        tokenizer: the model's.
        system_prompt: what the model is told before everything else.
        template: the Jinja text.
        switches: further values that the template asks for, such as ``enable_thinking``.

    Raises:
        ZooError: for a template that is no Jinja, or shows not even what the person says.
    """

    with_special_tokens = False  # the template has written them

    def __init__(
        self, tokenizer: Any, system_prompt: str = "", *, template: str, switches: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(tokenizer, system_prompt)
        self._template = template
        self._switches = dict(switches or {})
        if not self._shows(_chat("user")):
            raise ZooError(f"the chat template cannot be used: {self._problem(_chat('user'))}")
        self._takes_system = self._shows(_chat("system", "user"))
        self._takes_bot_first = self._shows(_chat("assistant", "user"))
        self.markers = self._markers_between_turns()
        self._opening = self._opening_of_reply()
        self.begun = begins_thoughts(self.render(Played(), [("human", "Hi!")]))

    @property
    def turn_ends(self) -> list[int]:
        """Tokens that end a turn of this template: a marker between two turns that is a token of its own."""
        ids = (self.tokenizer.convert_tokens_to_ids(marker) for marker in self.markers)
        return [token for token in ids if token is not None and token != self.tokenizer.unk_token_id]

    def render(self, played: Played, dialogue: Sequence[Line]) -> str:
        return self._render(self._messages(played, dialogue), add_generation_prompt=True) + self._opening

    def end(self, text: str) -> int | None:
        start = len(text) - len(text.lstrip())
        places = [text.find(marker, start) for marker in self.markers]
        labelled = next_turn(text)
        return min([place for place in (*places, -1 if labelled is None else labelled) if place >= 0], default=None)

    def _messages(self, played: Played, dialogue: Sequence[Line]) -> Chat:
        lines = tuple((speaker, self.clean(text)) for speaker, text in dialogue)
        wording = Wording(
            self.system_prompt,
            system_role="system" if self._takes_system else "user",
            begin_prompt="" if lines and self._takes_bot_first else BEGIN,
        )
        return wording.messages(Heard(lines, played.own, played.partner, seed=0))

    def _render(self, chat: Chat, *, add_generation_prompt: bool) -> str:
        text: str = self.tokenizer.apply_chat_template(
            chat,
            chat_template=self._template,
            tokenize=False,
            add_generation_prompt=add_generation_prompt,
            **self._switches,
        )
        return text

    def _problem(self, chat: Chat) -> str | None:
        """Why the template cannot show these messages; None: it can."""
        from jinja2.exceptions import TemplateError

        try:
            text = self._render(chat, add_generation_prompt=True)
        except (TemplateError, TypeError, AttributeError) as error:
            return f"{type(error).__name__}: {error}"
        absent = [message["role"] for message in chat if message["content"] not in text]
        return f"it leaves out what the {absent[0]} says" if absent else None

    def _shows(self, chat: Chat) -> bool:
        return self._problem(chat) is None

    def _markers_between_turns(self) -> tuple[str, ...]:
        """The control words between the bot's turn and the person's next: one of them in a reply ends it."""
        chat = _chat("user", "assistant", "user")
        text = self._render(chat, add_generation_prompt=False)
        between = text.partition(chat[1]["content"])[2].partition(chat[2]["content"])[0]
        markers = dict.fromkeys(marker.strip() for marker in MARKER.findall(between))
        if any(
            map(is_channel, markers)
        ):  # the end of thoughts is that of a reply there: the model's own settings know more
            return ()
        return tuple(marker for marker in markers if not is_mark(marker))

    def _opening_of_reply(self) -> str:
        """What comes before the bot's words, where a template does not write it when asked for a reply; often nothing."""
        chat = _chat("user", "assistant")
        heard = self._render(chat[:1], add_generation_prompt=False)
        whole = self._render(chat, add_generation_prompt=False)
        if heard != self._render(chat[:1], add_generation_prompt=True) or not whole.startswith(heard):
            return ""
        opening = whole[len(heard) :].partition(chat[1]["content"])[0]
        return opening if opening.strip() else ""


def _chat(*roles: str) -> Chat:
    return [ChatMessage(role=role, content=f"mark{place}of{role}") for place, role in enumerate(roles)]


def read_template(path: str) -> str:
    """The Jinja file that the option ``chat_template`` names.

    Raises:
        ZooError: when it cannot be read.
    """
    try:
        return Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ZooError(
            f"{path} cannot be read ({error})", where="chat_template", try_="give the path of a Jinja file"
        ) from error


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
    GENERATION_OPTIONS = COMMON_OPTIONS | {"chat_template", "chat_template_kwargs"}

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        super().add_cmdline_args(parser, partial_opt)
        parser.add_argument("--chat-template", type=str, default=None, help="A Jinja file, in place of the model's own")
        parser.add_argument(
            "--chat-template-kwargs",
            default=None,
            help="Values for the template, as a mapping or as JSON: '{\"enable_thinking\": false}'",
        )
        return parser

    def prompt_format(self, opt: Opt) -> PromptFormat:
        tokenizer, system = self.pretrained.tokenizer, str(opt.get("system_prompt") or "")
        kind, file = opt.get("prompt_format") or "auto", opt.get("chat_template")
        template = read_template(str(file)) if file else own_template(tokenizer)
        if kind == "auto":
            names = f"{opt['hf_model']} {getattr(self.model.config, '_name_or_path', '')}".lower()
            kind = "chat" if template else "dialogpt" if "dialogpt" in names else "plain"
        if kind == "plain":
            return PlainFormat(tokenizer, system)
        if kind == "dialogpt":
            return JoinedFormat(tokenizer, system, separator=_end_of_turn(tokenizer), trailing=True)
        if not template:
            raise InvalidValue(
                "this model has no chat template",
                try_="name a Jinja file by chat_template, or choose prompt_format plain",
            )
        return ChatFormat(tokenizer, system, template=template, switches=_switches(opt.get("chat_template_kwargs")))


def _switches(given: Any) -> dict[str, Any]:
    try:
        switches = yaml.safe_load(given or "{}") if isinstance(given or "", str) else given
    except yaml.YAMLError:
        switches = None
    if not isinstance(switches, dict):
        raise ValueError("chat_template_kwargs must be a mapping, such as {enable_thinking: false}")
    if overlap := switches.keys() & WRITTEN_BY_US:
        raise ValueError(f"chat_template_kwargs cannot set {', '.join(sorted(overlap))}")
    return switches


def _end_of_turn(tokenizer: object) -> str:
    end = getattr(tokenizer, "eos_token", None)
    if not end:
        raise ValueError("prompt_format dialogpt needs a tokenizer with an ending token (eos_token); this one has none")
    return str(end)
