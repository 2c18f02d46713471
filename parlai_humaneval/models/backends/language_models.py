"""Language models of Hugging Face as agents: causal ones (chat models, DialoGPT, plain ones), encoder–decoders, and vision
models, which read pictures with the dialogue by their processor and answer in words."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Any, ClassVar

import yaml
from parlai.core.loader import register_agent
from parlai.core.message import Message
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser

from parlai_humaneval._util.data_files import read_text
from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.display.images import IMAGES_FIELD, decoded
from parlai_humaneval.display.text import parted
from parlai_humaneval.models.agent import dialogue_agent as agents
from parlai_humaneval.models.agent.names import is_transformers_5
from parlai_humaneval.models.backends import continuous as batching
from parlai_humaneval.models.backends import hugging_face, prompting
from parlai_humaneval.models.backends.base import INFO_FIELD, Heard
from parlai_humaneval.models.backends.prompting import Content, Wording
from parlai_humaneval.models.zoo.entries import ZooError
from parlai_humaneval.models.zoo.files import expand_home
from parlai_humaneval.schema.records import ReplyInfo

COMMON_OPTIONS = frozenset(
    {*batching.SEARCH_OPTIONS, "do_sample", "system_prompt", "max_context", agents.OPTION, "prompt_format", "seed"}
)


class HuggingFaceAgent(agents.DialogueAgent):
    """Answers with a model of Hugging Face, a batch at once: the same dialogue under the same seed gets the same reply
    (but for rounding), whatever shares its batch."""

    KIND: ClassVar[hugging_face.Kind]
    GENERATION_OPTIONS: ClassVar[frozenset[str]] = COMMON_OPTIONS
    """They change no weights: agents that differ in nothing else share one copy."""

    OPTIONS = "hugging_face"
    SHARED = ("pretrained",)
    streams = True

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        super().add_cmdline_args(parser, partial_opt)
        parser.add_argument("--no-cuda", action="store_true", default=False, help="Do not use a GPU")
        search: dict[str, dict[str, Any]] = {
            "do_sample": {"help": "Sample words instead of taking the most likely ones", "type": "bool"}
        }
        for name, (_, wanted) in batching.SEARCH_OPTIONS.items():
            is_share = name in ("temperature", "top_p", "repetition_penalty")
            search[name] = {"help": wanted, "type": float if is_share else int}
        return agents.add_group(parser, "How the reply is generated. Default: the model's own settings", search)

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        name = opt.get("hf_model")
        if not shared and not name:
            raise InvalidValue("hf_model is missing", try_="give the model's folder, or its name on Hugging Face")
        self.pretrained: hugging_face.Pretrained = (
            shared["pretrained"]
            if shared
            else hugging_face.load_pretrained(
                str(name),
                self.KIND,
                dtype=opt.get("dtype") or "auto",
                device=hugging_face.device_of(opt),
                device_map=opt.get("device_map"),
                trust_remote_code=bool(opt.get("trust_remote_code")),
            )
        )
        self.model = self.pretrained.model
        settings = (type(self), *(repr(opt.get(name)) for name in sorted(self.GENERATION_OPTIONS - {"seed"})))
        prepared = self.pretrained.once(settings, lambda: self._prepare(opt))
        self._form, self._config, self._room, self._most_turns = prepared

    @abstractmethod
    def prompt_format(self, opt: Opt) -> prompting.PromptFormat: ...

    def _answers(self, observations: Sequence[Message]) -> list[Message]:
        prompts, chances = zip(*map(self._prompt_key, observations), strict=True)
        replies = self._tokens(prompts, chances)
        return [self._message(prompt, tokens) for prompt, tokens in zip(prompts, replies, strict=True)]

    def continuous(self) -> batching.ContinuousBatch | None:
        """Replies that requests can join between two words; None: this model, or its search, answers whole batches."""
        has_own_way = type(self).batch_act is not HuggingFaceAgent.batch_act
        if has_own_way or not batching.can_grow(self.pretrained, self._config):
            return None
        return batching.ContinuousBatch(self.pretrained, self._config, self._is_over, self._prompt_key, self._message)

    def reply(self, dialogue: Sequence[agents.Line], rng: random.Random) -> str:
        played = prompting.Played(self.persona, self.partner_persona)
        prompt = prompting.fit(self._form, played, dialogue, self._room, self._most_turns)
        return self._spoken(self._tokens([prompt], [rng])[0])

    def _tokens(self, prompts: Sequence[Sequence[int]], chances: Sequence[random.Random]) -> list[list[int]]:
        return batching.generate(self.pretrained, self._config, prompts, chances, self._is_over)

    def _is_over(self, text: str) -> bool:
        both = parted(self._form.begun + text)  # what ends a reply ends no thoughts
        return not both.is_open and self._form.end(both.reply) is not None

    def _prompt_key(self, observation: Message) -> tuple[prompting.Prompt, random.Random]:
        return self._prompt(observation), agents.chance_of(observation)

    def _prompt(self, observation: Message) -> prompting.Prompt:
        personas = (tuple(observation.get(field, ())) for field in (agents.PERSONA_FIELD, agents.PARTNER_PERSONA_FIELD))
        dialogue = observation[agents.DIALOGUE_FIELD]
        return prompting.fit(self._form, prompting.Played(*personas), dialogue, self._room, self._most_turns)

    def _message(self, prompt: prompting.Prompt, tokens: Sequence[int]) -> Message:
        thoughts = "\n\n".join(filter(None, parted(self._written(tokens)).thoughts))
        left_out = prompt.turns_left_out or None
        told = ReplyInfo(requests=0, turns_left_out=left_out, thoughts=thoughts or None)
        info = {INFO_FIELD: told} if thoughts or left_out else {}
        return Message({"id": self.id, "text": self._spoken(tokens), **info, "episode_done": False})

    def _prepare(self, opt: Opt) -> tuple[prompting.PromptFormat, Any, int | None, int | None]:
        form = self.prompt_format(opt)
        config = batching.search_config(
            self.pretrained, {name: opt.get(name) for name in (*batching.SEARCH_OPTIONS, "do_sample")}, form.turn_ends
        )
        limit = agents.history_limit(opt.get(agents.OPTION))
        limits = [most for most in (self.pretrained.context, opt.get("max_context")) if most is not None]
        room = min(limits) - (config.max_new_tokens if self.KIND == "causal" else 0) if limits else None
        if room is not None and room < 1:
            what = f"max_context {min(limits)} leaves no room for max_new_tokens {config.max_new_tokens}"
            raise InvalidValue(what, try_="choose a larger context, or fewer new tokens")
        room = min((most for most in (room, limit.tokens) if most is not None), default=None)
        prompting.fit(form, prompting.Played(), (), room)  # a system prompt that is too long is known now
        return form, config, room, limit.turns

    def _spoken(self, tokens: Sequence[int]) -> str:
        return str(self._form.clean(prompting.finish(self._written(tokens), self._form.end)))

    def _written(self, tokens: Sequence[int]) -> str:
        """The text of generated tokens: up to the first special one that marks no thoughts, those at its start aside."""
        tokenizer = self.pretrained.tokenizer
        special = batching.wordless(tokenizer)
        words = takewhile(lambda token: token not in special, dropwhile(special.__contains__, tokens))
        return f"{self._form.begun}{tokenizer.decode(list(words))}"


@register_agent("parlai_humaneval/causal_lm")
class CausalLmAgent(HuggingFaceAgent):
    """A causal model: ``chat`` by its template, or the file ``chat_template``; ``dialogpt``, whose turns end with the
    ending token; or ``plain`` (``Human: …``, ``Bot: …``)."""

    KIND: ClassVar[hugging_face.Kind] = "causal"
    KNOWN: ClassVar = {"prompt_format": {"choices": ("auto", "chat", "dialogpt", "plain")}}
    GENERATION_OPTIONS = COMMON_OPTIONS | {"chat_template", "chat_template_kwargs"}

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        super().add_cmdline_args(parser, partial_opt)
        parser.add_argument(
            "--chat-template", type=str, default=None, help="Jinja file that replaces the model's own chat template"
        )
        parser.add_argument(
            "--chat-template-kwargs",
            default=None,
            help="Values for the template, as a mapping or as JSON: '{\"enable_thinking\": false}'",
        )
        return parser

    def prompt_format(self, opt: Opt) -> prompting.PromptFormat:
        tokenizer, system = self.pretrained.tokenizer, str(opt.get("system_prompt") or "")
        kind, file = opt.get("prompt_format") or "auto", opt.get("chat_template")
        template = prompting.own_template(tokenizer)
        if file:
            template = read_text(Path(str(file)).expanduser(), "give the path of a Jinja file", ZooError)
        if kind == "auto":
            names = f"{opt['hf_model']} {getattr(self.model.config, '_name_or_path', '')}".lower()
            kind = "chat" if template else "dialogpt" if "dialogpt" in names else "plain"
        if kind == "plain":
            return prompting.PlainFormat(tokenizer, system)
        if kind == "dialogpt":
            if not (end := getattr(tokenizer, "eos_token", None)):
                needs = "needs a tokenizer with an ending token (eos_token); this one has none"
                raise InvalidValue(f"prompt_format dialogpt {needs}", try_="choose another prompt_format")
            return prompting.JoinedFormat(tokenizer, system, separator=str(end), trailing=True)
        if not template:
            what = "this model has no chat template"
            raise InvalidValue(what, try_="set chat_template to a Jinja file, or prompt_format to plain")
        switches: Any = opt.get("chat_template_kwargs") or "{}"
        with suppress(yaml.YAMLError):
            switches = yaml.safe_load(switches) if isinstance(switches, str) else switches
        if not isinstance(switches, dict):
            raise InvalidValue("must be a mapping", where="chat_template_kwargs", try_="write {enable_thinking: false}")
        if overlap := switches.keys() & WRITTEN_BY_US:
            what = f"cannot set {', '.join(sorted(overlap))}"
            raise InvalidValue(what, where="chat_template_kwargs", try_="leave that out")
        return prompting.ChatFormat(tokenizer, system, template=template, switches=switches)


WRITTEN_BY_US = frozenset({"conversation", "messages", "chat_template", "tokenize", "add_generation_prompt"})
BLENDERBOT = "blenderbot"  # not blenderbot-small, whose turns are lines


@register_agent("parlai_humaneval/seq2seq_lm")
class Seq2SeqLmAgent(HuggingFaceAgent):
    """An encoder–decoder: ``blenderbot`` has two spaces between turns, ``lines`` a line for each; a persona comes
    first."""

    KIND: ClassVar[hugging_face.Kind] = "seq2seq"
    KNOWN: ClassVar = {"prompt_format": {"choices": ("auto", "blenderbot", "lines")}}

    def prompt_format(self, opt: Opt) -> prompting.PromptFormat:
        tokenizer, system = self.pretrained.tokenizer, str(opt.get("system_prompt") or "")
        kind = opt.get("prompt_format") or "auto"
        if kind == "lines" or (kind == "auto" and self.model.config.model_type != BLENDERBOT):
            return prompting.JoinedFormat(tokenizer, system)
        return prompting.JoinedFormat(
            tokenizer, system, separator="  ", indent="" if getattr(tokenizer, "add_prefix_space", False) else " "
        )


@register_agent("parlai_humaneval/vision_lm")
class VisionLmAgent(agents.DialogueAgent):
    """One reply at a time; the same dialogue under the same seed gets the same reply."""

    OPTIONS = "vision_lm"
    SHARED = ("loaded",)

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        self.limit = agents.history_limit(opt.get(agents.OPTION))
        if self.limit.tokens is not None:
            raise InvalidValue("vision_lm counts turns, not tokens", where=agents.OPTION, try_="write “20 turns”")
        self.wording = Wording(system_prompt=str(opt.get("system_prompt") or ""))
        self.temperature = float(opt.get("temperature") or 0)
        self.loaded: tuple[Any, Any] = shared["loaded"] if shared else _load(opt)

    def _answer(self, observation: Message) -> Message:
        import torch

        processor, model = self.loaded
        kept, _ = agents.newest_turns(observation[agents.DIALOGUE_FIELD], lambda end: True, self.limit.turns)
        heard = replace(Heard.of(observation, sees=bool(self.opt.get(IMAGES_FIELD))), dialogue=tuple(kept))
        chat = [{**message, "content": _parts(message["content"])} for message in self.wording.messages(heard)]
        inputs = processor.apply_chat_template(
            chat, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
        ).to(model.device, dtype=model.dtype)
        drawn = {"temperature": self.temperature, "do_sample": True} if self.temperature else {"do_sample": False}
        with torch.inference_mode(), torch.random.fork_rng():
            torch.manual_seed(agents.chance_of(observation).getrandbits(31))
            tokens = model.generate(**inputs, max_new_tokens=int(self.opt.get("max_new_tokens") or 128), **drawn)
        text = processor.decode(tokens[0][inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        return agents.spoken(self.id, str(text).strip())


def _parts(content: Content) -> list[dict[str, Any]]:
    """Content parts as processors take them: pictures are opened."""
    from PIL import Image

    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [
        part if "text" in part else {"type": "image", "image": Image.open(BytesIO(decoded(part["image_url"]["url"])))}
        for part in content
    ]


def _load(opt: Opt) -> tuple[Any, Any]:
    import torch
    import transformers

    name, dtype, trusted = (
        str(opt.get("hf_model") or ""),
        opt.get("dtype") or "auto",
        bool(opt.get("trust_remote_code")),
    )
    if not name or dtype not in hugging_face.DTYPES:
        raise InvalidValue(
            f"dtype {dtype} is unknown" if name else "hf_model is missing",
            try_=f"choose one of {', '.join(hugging_face.DTYPES)}"
            if name
            else "give the model's folder, or its name on Hugging Face",
        )
    auto = getattr(transformers, "AutoModelForImageTextToText", None)
    if auto is None:
        what = f"transformers {transformers.__version__} cannot load vision models this way"
        raise ZooError(what, try_="install 4.46 or newer")
    path = str(Path(expand_home(name)).expanduser()) if hugging_face.is_folder(name) else name
    device = hugging_face.device_of(opt)
    with hugging_face.explained(path):
        processor = transformers.AutoProcessor.from_pretrained(path, trust_remote_code=trusted)
        if getattr(processor, "image_processor", None) is None or not processor.chat_template:
            what = f"{path} has no processor for pictures with a chat template"
            raise ZooError(what, try_="use parlai_humaneval/causal_lm for it")
        hugging_face.check_memory(path, device)
        numbers = getattr(torch, dtype) if dtype != "auto" else torch.float32 if device == "cpu" else "auto"
        known_as = "dtype" if is_transformers_5() else "torch_dtype"
        model = auto.from_pretrained(path, trust_remote_code=trusted, **{known_as: numbers}).to(device).eval()
    return processor, model
