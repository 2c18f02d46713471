"""A small base for agents that compute a reply from the dialogue alone, and limits on what a model reads of it."""

from __future__ import annotations

import random
import re
from argparse import ArgumentTypeError
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal

from parlai.core.agents import Agent
from parlai.core.message import Message
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser

from parlai_humaneval._util.data_files import packaged, read_yaml
from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.dialogues.dialogue import split_persona
from parlai_humaneval.display.images import IMAGES_FIELD, SeenImage
from parlai_humaneval.display.text import without_thoughts

Speaker = Literal["human", "bot"]
Line = tuple[Speaker, str]
"""The speaker, from the Bot Speaker's point of view, and the text."""

UseReply = Literal["label", "model", "none"]
"""What a dialogue goes on with: the right answer where there is one, the agent's own, or none. TorchAgent's words."""

DIALOGUE_FIELD = "dialogue"
SEED_FIELD = "dialogue_seed"
PERSONA_FIELD = "persona"
PARTNER_PERSONA_FIELD = "partner_persona"
SEEN_FIELD = "dialogue_images"
"""Pictures of the dialogue's lines, by their places from its end: -1 is the last line."""
HEARS_FIELD = "reply_hears"
"""Where an observation carries the function that gets all of the reply so far, as often as it grows."""
RAW_FIELD = "reply_raw_text"
"""Where a message carries all that a model wrote, if its ``text`` leaves the model's thoughts out."""


class DialogueAgent(Agent):
    """Keeps both sides of one dialogue; a subclass says what comes next in :meth:`reply`. Replies depend on the
    dialogue and the seed only: in any process, batch or order they are the same. Persona lines before the person's
    first words are kept apart, and travel with every observation."""

    OPTIONS: ClassVar[str] = "dialogue"
    """Its options, and those of the classes above it, stand under these names in ``data/agent_options.yaml``."""
    KNOWN: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """What of these options the code alone knows, such as their defaults."""
    SHARED: ClassVar[tuple[str, ...]] = ()
    """Attributes that clones have in common."""
    streams: ClassVar[bool] = False
    """Whether a reply can be heard while it is written: then an observation may have :data:`HEARS_FIELD`."""

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        classes = _of_this_package(cls)
        known = {name: what for each in classes for name, what in each.get("KNOWN", {}).items()}
        for each in classes:
            if "OPTIONS" in each:
                add_options(parser, each["OPTIONS"], known)
        return parser

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        if shared is not None:  # ParlAI would copy it through and through, and note in it where, for every conversation
            self.opt = Opt(opt)
        super().__init__(opt, shared)
        self.observation: Message | None = None
        self.id = type(self).__name__.removesuffix("Agent")
        self.dialogue: list[Line] = []
        self._images: dict[int, tuple[SeenImage, ...]] = {}  # of the lines, by their places
        self.persona: tuple[str, ...] = ()
        self.partner_persona: tuple[str, ...] = ()
        self.dialogue_seed = self._first_seed = int(opt.get("seed") or 0)  # a subclass may have a set_seed of its own
        self._ended = 0
        self.use_reply: UseReply = opt.get("use_reply") or "label"

    def share(self) -> dict[str, Any]:
        names = [name for each in _of_this_package(type(self)) for name in each.get("SHARED", ())]
        return {**super().share(), **{name: getattr(self, name) for name in names}}

    def set_seed(self, seed: int) -> None:
        """Give this conversation its own chance: two conversations need not get equal answers to “Hi!”."""
        self.dialogue_seed = self._first_seed = seed
        self._ended = 0

    def reply(self, dialogue: Sequence[Line], rng: random.Random) -> str:
        """The next line of the bot. ``dialogue`` is never empty; ``rng`` is seeded for this turn."""
        raise NotImplementedError

    def observe(self, observation: Message) -> Message:
        if _is_over(self.observation):  # it was not answered
            self._forget()
        text = str(observation.get("text") or "")
        if not any(speaker == "human" for speaker, _ in self.dialogue):  # later, such a line is the person's own
            heard = split_persona(text)
            self.persona += heard.own
            self.partner_persona += heard.partner
            text = heard.said
        if text:
            self._add("human", text, observation)
        known = {
            DIALOGUE_FIELD: tuple(self.dialogue),
            SEEN_FIELD: {place - len(self.dialogue): images for place, images in self._images.items()},
            SEED_FIELD: self.dialogue_seed,
            PERSONA_FIELD: self.persona,
            PARTNER_PERSONA_FIELD: self.partner_persona,
        }
        self.observation = Message({**observation, **known})
        return self.observation

    def self_observe(self, message: Message) -> None:
        if _is_over(self.observation):
            self._forget()
            self.observation = None
            return
        text = said_for(
            self.observation or {},
            message.get("text"),
            self.use_reply,
            random.Random(f"label|{self.dialogue_seed}|{self.dialogue}"),
        )
        if text is not None:
            self._add("bot", text, message)

    def _add(self, speaker: Speaker, text: str, message: Mapping[str, Any]) -> None:
        if images := message.get(IMAGES_FIELD):
            self._images[len(self.dialogue)] = tuple(images)
        self.dialogue.append((speaker, text))

    def batch_act(self, observations: Sequence[Message]) -> list[Message]:
        """One reply for each observation, of whichever clones; no text for those that ask nothing."""
        asking = [observation for observation in observations if not _asks_nothing(observation)]
        answers = iter(self._answers(asking) if asking else [])
        return [
            Message({"id": self.id, "episode_done": False}) if _asks_nothing(observation) else next(answers)
            for observation in observations
        ]

    def act(self) -> Message:
        message = self.batch_act([self.observation or Message({DIALOGUE_FIELD: (), SEED_FIELD: self.dialogue_seed})])[0]
        self.self_observe(message)
        return message

    def reset(self) -> None:
        super().reset()
        if self.dialogue:
            self._ended += 1
            self.dialogue_seed = seed_of(self._first_seed, self._ended)
        self._forget()

    def _forget(self) -> None:
        self.dialogue, self._images = [], {}
        self.persona = self.partner_persona = ()

    def _answers(self, observations: Sequence[Message]) -> list[Message]:
        return [self._answer(observation) for observation in observations]

    def _answer(self, observation: Message) -> Message:
        return spoken(self.id, self.reply(_heard(observation), chance_of(observation)))


def spoken(agent_id: str, written: str, **fields: Any) -> Message:
    """The message of an agent that wrote this: its thoughts are not among what it said."""
    text = without_thoughts(written)
    raw = {} if text == written else {RAW_FIELD: written}
    return Message({"id": agent_id, "text": text, **raw, **fields, "episode_done": False})


def seed_of(first_seed: int, number: int) -> int:
    """The seed of a dialogue: the one that was given for the first, number 0, and others for those after it."""
    return random.Random(f"dialogue|{first_seed}|{number}").getrandbits(31) if number else first_seed


def _of_this_package(agent: type) -> list[Mapping[str, Any]]:
    """The attributes of the classes that are ours, from the base on: a user's may have others by the same names."""
    ours = __name__.partition(".")[0]
    return [vars(each) for each in reversed(agent.__mro__) if each.__module__.partition(".")[0] == ours]


@cache
def _described() -> Mapping[str, Mapping[str, Mapping[str, Mapping[str, Any]]]]:
    content: Mapping[str, Any] = read_yaml(packaged("agent_options.yaml"))
    return content


def option_names(agent: str) -> frozenset[str]:
    return frozenset(name for options in _described()[agent].values() for name in options)


def add_options(parser: ParlaiParser, agent: str, known: Mapping[str, Mapping[str, Any]] | None = None) -> ParlaiParser:
    """The options of an agent as ``data/agent_options.yaml`` has them, in their groups; ``known``: more of some of them."""
    for title, options in _described()[agent].items():
        add_group(parser, title, {name: {**option, **(known or {}).get(name, {})} for name, option in options.items()})
    return parser


def add_group(parser: ParlaiParser, title: str, options: Mapping[str, Mapping[str, Any]]) -> ParlaiParser:
    """Options by their names with underscores; without a ``type`` it is that of the ``default``."""
    group = parser.add_argument_group(title)
    for name, given in options.items():
        default, kind, short = given.get("default"), given.get("type"), given.get("short")
        kind = kind or ("bool" if isinstance(default, bool) else type(default))
        flags = [f"--{name.replace('_', '-')}", *([short] if short else [])]
        more = {key: given.get(key) for key in ("help", "choices", "nargs")}
        group.add_argument(*flags, type=_KINDS.get(kind, kind), default=default, **more)
    return parser


def said_for(
    observation: Mapping[str, Any], reply: str | None, use_reply: UseReply, chance: random.Random
) -> str | None:
    """What goes into the dialogue as the answer to ``observation``, where the agent said ``reply``; None: nothing does."""
    if use_reply == "none":
        return None
    labels = (observation.get("labels") or observation.get("eval_labels")) if use_reply == "label" else None
    return str(chance.choice(list(labels))) if labels else reply


def _is_over(observation: Mapping[str, Any] | None) -> bool:
    return bool(observation and observation.get("episode_done"))


def _asks_nothing(observation: Mapping[str, Any]) -> bool:
    return _is_over(observation) and observation.get("text") is None


def chance_of(observation: Message) -> random.Random:
    """The chance of the next reply: of the conversation's seed and the place in the dialogue, and of nothing else."""
    dialogue = _heard(observation)
    return random.Random(f"{observation[SEED_FIELD]}|{len(dialogue)}|{dialogue[-1][1]}")


def _heard(observation: Message) -> Sequence[Line]:
    return observation[DIALOGUE_FIELD] or (("human", ""),)


OPTION = "history_limit"
LETTERS_PER_TOKEN = 4
"""For servers, whose tokenizers are not known here: about so many bytes of UTF-8 text make a token."""
_WRITTEN = re.compile(r"\s*(\d{1,9})\s*(turn|token)s?\s*", re.IGNORECASE)


@dataclass(frozen=True)
class HistoryLimit:
    """The newest turns that a model reads (what the person said, and the reply), or the tokens, system text included."""

    turns: int | None = None
    tokens: int | None = None


def history_limit(given: Any) -> HistoryLimit:
    """The option as it is written in a zoo file. Raises ValueError for anything but a number of turns or of tokens."""
    if given in (None, ""):
        return HistoryLimit()
    written = _WRITTEN.fullmatch(str(given))
    if written is None or int(written[1]) < 1:
        what = f"{OPTION} must be a number of turns or of tokens, not “{given}”"
        raise InvalidValue(what, try_="write it as “20 turns” or “4000 tokens”")
    return HistoryLimit(**{f"{written[2].lower()}s": int(written[1])})


def written_history_limit(given: str) -> str:
    try:
        history_limit(given)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
    return given


_KINDS: Mapping[Any, Any] = {"str": str, "int": int, "float": float, "history_limit": written_history_limit}


def count_turns(dialogue: Sequence[Line]) -> int:
    return len(_begins(dialogue))


def _begins(dialogue: Sequence[Line]) -> list[int]:
    return [
        place
        for place, (speaker, _) in enumerate(dialogue)
        if place == 0 or (speaker == "human" and dialogue[place - 1][0] == "bot")
    ]


def newest_turns(
    dialogue: Sequence[Line], fits: Callable[[Sequence[Line]], bool], most: int | None = None
) -> tuple[Sequence[Line], int]:
    """The longest end of a dialogue that ``fits``, of ``most`` turns, and how many are left out; the last line stays."""
    begins = _begins(dialogue)
    if not begins:
        return dialogue, 0
    ends = [*reversed(range(begins[-1] + 1, len(dialogue))), *reversed(begins if most is None else begins[-most:])]
    fitting = len(ends) if fits(dialogue[ends[-1] :]) else 0
    fitting = fitting or bisect_right(range(len(ends)), False, key=lambda place: not fits(dialogue[ends[place] :]))
    start = ends[max(fitting, 1) - 1]
    return dialogue[start:], sum(begin < start for begin in begins[:-1])
