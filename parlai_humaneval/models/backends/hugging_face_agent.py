"""What the agents for causal models and for encoder–decoders share: options, weights, batches."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from parlai.core.message import Message
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.display.thoughts import parted
from parlai_humaneval.models.agent.dialogue_agent import (
    DIALOGUE_FIELD,
    PARTNER_PERSONA_FIELD,
    PERSONA_FIELD,
    DialogueAgent,
    Line,
    chance_of,
)
from parlai_humaneval.models.agent.history import HELP, OPTION, history_limit, written_history_limit
from parlai_humaneval.models.backends.base import INFO_FIELD
from parlai_humaneval.models.backends.continuous import GrowingReplies, can_grow
from parlai_humaneval.models.backends.generation import SEARCH_OPTIONS, generate, search_config, wordless
from parlai_humaneval.models.backends.hugging_face import (
    DEVICE_MAPS,
    DTYPES,
    Kind,
    Pretrained,
    device_of,
    load_pretrained,
)
from parlai_humaneval.models.backends.prompting import Played, Prompt, PromptFormat, finish, fit
from parlai_humaneval.schema.records import ReplyInfo

COMMON_OPTIONS = frozenset(
    {*SEARCH_OPTIONS, "do_sample", "system_prompt", "max_context", OPTION, "prompt_format", "seed"}
)


class HuggingFaceAgent(DialogueAgent):
    """Answers with a model of Hugging Face; one call of ``generate`` answers the conversations of a batch.

    The same dialogue under the same seed gets the same reply, whichever other conversations share its batch (but for
    the rounding of numbers, which can tip the scales between two words that are all but equally likely).

    Options of the search that are not given are as the model's ``generation_config.json`` has them.
    """

    KIND: ClassVar[Kind]
    FORMATS: ClassVar[tuple[str, ...]]
    GENERATION_OPTIONS: ClassVar[frozenset[str]] = COMMON_OPTIONS
    """They change no weights: agents that differ in nothing else share one copy."""

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        super().add_cmdline_args(parser, partial_opt)
        group = parser.add_argument_group("Model of Hugging Face")
        group.add_argument("--hf-model", type=str, default=None, help="Its folder, or its name on Hugging Face")
        group.add_argument("--dtype", type=str, default="auto", choices=DTYPES, help="Number format of the weights")
        group.add_argument("--no-cuda", action="store_true", default=False, help="Do not use a GPU")
        group.add_argument("--gpu", type=int, default=-1, help="Which GPU; -1: the first, where there is one")
        group.add_argument("--device-map", default=None, choices=DEVICE_MAPS, help="Spread it over all GPUs")
        group.add_argument(
            "--trust-remote-code", type="bool", default=False, help="Run Python code that comes with the model"
        )
        group.add_argument(
            "--system-prompt", type=str, default="", help="Told to the model first; may contain {persona}"
        )
        group.add_argument("--prompt-format", type=str, default="auto", choices=cls.FORMATS, help="Of the dialogue")
        group.add_argument(
            "--max-context", type=int, default=None, help="Most tokens, if fewer than the model can read"
        )
        group.add_argument("--history-limit", type=written_history_limit, default=None, help=HELP)
        group.add_argument("--seed", type=int, default=0, help="Of replies that are drawn")
        search = parser.add_argument_group("Search for the reply; by default as the model's makers set it")
        search.add_argument("--do-sample", type="bool", default=None, help="Draw words, not the likeliest ones")
        for name, (_, wanted) in SEARCH_OPTIONS.items():
            kind = float if name in ("temperature", "top_p", "repetition_penalty") else int
            search.add_argument(f"--{name.replace('_', '-')}", type=kind, default=None, help=wanted)
        return parser

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        self.pretrained: Pretrained = shared["pretrained"] if shared else self._load(opt)
        self.model = self.pretrained.model
        self._form, self._config, self._room, self._most_turns = self.pretrained.once(
            self._settings(opt), lambda: self._prepare(opt)
        )

    @abstractmethod
    def prompt_format(self, opt: Opt) -> PromptFormat:
        """The format that the options ask for, or that suits the model."""

    def share(self) -> dict[str, Any]:
        """The weights, and what was derived from them."""
        return {**super().share(), "pretrained": self.pretrained}

    def _answers(self, observations: Sequence[Message]) -> list[Message]:
        prompts, chances = zip(*map(self._prompt_key, observations), strict=True)
        replies = self._tokens(prompts, chances)
        return [self._message(prompt, tokens) for prompt, tokens in zip(prompts, replies, strict=True)]

    def continuous(self) -> GrowingReplies | None:
        """Replies that requests can join between two words; None: this model, or its search, answers whole batches."""
        has_own_way = type(self).batch_act is not HuggingFaceAgent.batch_act
        if has_own_way or not can_grow(self.pretrained, self._config):
            return None
        return GrowingReplies(self.pretrained, self._config, self._is_over, self._prompt_key, self._message)

    def reply(self, dialogue: Sequence[Line], rng: random.Random) -> str:
        """The next line after ``dialogue``, by this agent's persona."""
        played = Played(self.persona, self.partner_persona)
        prompt = fit(self._form, played, dialogue, self._room, self._most_turns)
        return self._spoken(self._tokens([prompt], [rng])[0])

    def _tokens(self, prompts: Sequence[Sequence[int]], chances: Sequence[random.Random]) -> list[list[int]]:
        return generate(self.pretrained, self._config, prompts, chances, self._is_over)

    def _is_over(self, text: str) -> bool:
        both = parted(self._form.begun + text)  # what ends a reply ends no thoughts
        return not both.is_open and self._form.end(both.reply) is not None

    def _prompt_key(self, observation: Message) -> tuple[Prompt, random.Random]:
        return self._prompt(observation), chance_of(observation)

    def _message(self, prompt: Prompt, tokens: Sequence[int]) -> Message:
        thoughts = "\n\n".join(filter(None, parted(self._written(tokens)).thoughts))
        left_out = prompt.turns_left_out or None
        told = ReplyInfo(requests=0, turns_left_out=left_out, thoughts=thoughts or None)
        info = {INFO_FIELD: told} if thoughts or left_out else {}
        return Message({"id": self.id, "text": self._spoken(tokens), **info, "episode_done": False})

    def _load(self, opt: Opt) -> Pretrained:
        name = opt.get("hf_model")
        if not name:
            raise InvalidValue("hf_model is missing", try_="give the model's folder, or its name on Hugging Face")
        return load_pretrained(
            str(name),
            self.KIND,
            dtype=opt.get("dtype") or "auto",
            device=device_of(opt),
            device_map=opt.get("device_map"),
            trust_remote_code=bool(opt.get("trust_remote_code")),
        )

    def _settings(self, opt: Opt) -> tuple[Any, ...]:
        return (type(self), *(repr(opt.get(name)) for name in sorted(self.GENERATION_OPTIONS - {"seed"})))

    def _prepare(self, opt: Opt) -> tuple[PromptFormat, Any, int | None, int | None]:
        form = self.prompt_format(opt)
        config = search_config(
            self.pretrained, {name: opt.get(name) for name in (*SEARCH_OPTIONS, "do_sample")}, form.turn_ends
        )
        limit = history_limit(opt.get(OPTION))
        limits = [most for most in (self.pretrained.context, opt.get("max_context")) if most is not None]
        room = min(limits) - (config.max_new_tokens if self.KIND == "causal" else 0) if limits else None
        if room is not None and room < 1:
            raise ValueError(f"max_context {min(limits)} leaves no room beside max_new_tokens {config.max_new_tokens}")
        room = min((most for most in (room, limit.tokens) if most is not None), default=None)
        fit(form, Played(), (), room)  # a system prompt that is too long is known now
        return form, config, room, limit.turns

    def _prompt(self, observation: Message) -> Prompt:
        played = Played(tuple(observation.get(PERSONA_FIELD, ())), tuple(observation.get(PARTNER_PERSONA_FIELD, ())))
        return fit(self._form, played, observation[DIALOGUE_FIELD], self._room, self._most_turns)

    def _spoken(self, tokens: Sequence[int]) -> str:
        """The reply in generated tokens, without what the model thought before it."""
        return str(self._form.clean(finish(self._written(tokens), self._form.end)))

    def _written(self, tokens: Sequence[int]) -> str:
        """The text of generated tokens: up to the first special one that marks no thoughts, those at its start aside."""
        tokenizer = self.pretrained.tokenizer
        special = wordless(tokenizer)
        begin = next((place for place, token in enumerate(tokens) if token not in special), len(tokens))
        end = next((place for place in range(begin, len(tokens)) if tokens[place] in special), len(tokens))
        return f"{self._form.begun}{tokenizer.decode(tokens[begin:end])}"
