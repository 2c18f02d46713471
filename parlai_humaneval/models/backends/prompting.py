"""The input of a language model: the dialogue in the model's or server's format, cut to the allowed length. What people
and models wrote is data: it cannot contain a control token, nor begin a line with another speaker's label."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import reduce
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, TypedDict

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.dialogues.dialogue import PARTNERS, with_persona
from parlai_humaneval.display.images import SeenImage
from parlai_humaneval.display.text import begins_thoughts, is_channel, is_mark, without_thoughts
from parlai_humaneval.models.agent.dialogue_agent import Line, newest_turns
from parlai_humaneval.models.backends.base import Heard
from parlai_humaneval.models.zoo.entries import ZooError

HUMAN, BOT = "Human", "Bot"
OWN_LABELS = re.compile(r"^(?:bot|assistant|ai)\s*:\s*", re.IGNORECASE)
NEXT_TURN = re.compile(r"^\W{0,4}(?:human|user|person|bot|assistant|ai|system)\s*:", re.IGNORECASE | re.MULTILINE)
"""A label at the start of a line: the model goes on to write the next turn itself."""
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u2029\ufeff]")
BEGIN = "(The conversation begins.)"
"""Stands for the person where a chat model wants the person's words first, and the bot is to speak."""
GO_ON = "(Please go on.)"
"""Stands for the person where the bot spoke last and is to go on."""
HALF = "\ufffd"
"""What is left of a character of several tokens when the reply is cut off within it."""
PERSONA_PLACE = "{persona}"


@dataclass(frozen=True)
class Played:
    """What the bot knows before the first word: sentences about itself, and about the person."""

    own: tuple[str, ...] = ()
    partner: tuple[str, ...] = ()


@dataclass(eq=False)
class PromptFormat(ABC):
    """How a model wants its dialogue. ``system_prompt``: the instructions before everything else."""

    tokenizer: Any
    system_prompt: str = ""
    with_special_tokens = True
    """Whether the tokenizer adds the tokens with which its texts begin and end."""
    begun = ""
    """The mark of thoughts with which a prompt ends, so that the model's text begins within them."""

    def __post_init__(self) -> None:
        added = [str(token) for token in self.tokenizer.added_tokens_decoder.values() if token.special]
        self._control_tokens = sorted({*self.tokenizer.all_special_tokens, *added}, key=len, reverse=True)

    @property
    def turn_ends(self) -> list[int]:
        """Tokens that end a turn, besides those that the model's own settings name."""
        return []

    @abstractmethod
    def render(self, played: Played, dialogue: Sequence[Line]) -> str:
        """The text after which the bot's next turn follows; ``dialogue`` may be empty: the bot is to begin."""

    def end(self, text: str) -> int | None:
        """Where in generated text the reply is over; None: it may go on."""
        return next_turn(text)

    def encode(self, text: str) -> list[int]:
        """The tokens of ``text``; of nothing, the one with which a text begins or ends."""
        ids: list[int] = self.tokenizer(text, add_special_tokens=self.with_special_tokens, verbose=False)["input_ids"]
        first = (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id, 0)
        return ids or [next(token for token in first if token is not None)]

    def clean(self, text: str) -> str:
        """``text`` as data: no control characters, half characters or control tokens of the model."""
        text = CONTROL.sub(" ", text.replace("\r\n", "\n").encode("utf-8", "replace").decode())
        before = None
        while before != text:  # the rest could form a token again
            before = text
            for token in self._control_tokens:
                text = text.replace(token, "")
        return text.strip()


def system_text(prompt: str, played: Played) -> str:
    """The system prompt with the personas: in the place of ``{persona}``, or after it."""
    persona = " ".join(played.own)
    lines = [prompt.replace(PERSONA_PLACE, persona)]
    if persona and PERSONA_PLACE not in prompt:
        lines.append(f"Your persona: {persona}")
    if played.partner:
        lines.append(f"The persona of the person you talk to: {' '.join(played.partner)}")
    return "\n".join(line for line in lines if line.strip())


def finish(text: str, end: Callable[[str], int | None]) -> str:
    """A reply out of generated text: without reasoning, a label of its own, the next turn, and control characters."""
    text = OWN_LABELS.sub("", without_thoughts(CONTROL.sub(" ", text)).strip())
    return text[: end(text)].rstrip(HALF).strip()


def next_turn(text: str) -> int | None:
    label = NEXT_TURN.search(text, len(text) - len(OWN_LABELS.sub("", text.lstrip())))
    return label.start() if label else None


class Prompt(list[int]):
    """The tokens that a model reads. ``turns_left_out``: how many of the oldest turns are not among them."""

    turns_left_out = 0


def fit(
    form: PromptFormat, played: Played, dialogue: Sequence[Line], room: int | None, most_turns: int | None = None
) -> Prompt:
    """The prompt's tokens, with as many of the newest turns as fit; a ValueError where there is no room for one."""
    dialogue = [(speaker, text) for speaker, text in dialogue if text]

    def tokens(lines: Sequence[Line]) -> list[int]:
        return form.encode(form.render(played, lines))

    def fits(lines: Sequence[Line]) -> bool:
        return room is None or len(tokens(lines)) <= room

    kept, left_out = newest_turns(dialogue, fits, most_turns)
    if len(kept) == 1 and room is not None and not fits(kept):
        speaker, text = kept[0]
        length = bisect_right(range(1, len(text)), room, key=lambda count: len(tokens([(speaker, text[-count:])])))
        kept = [(speaker, text[-max(length, 1) :])]
    prompt = Prompt(tokens(kept))
    prompt.turns_left_out = left_out
    if room is not None and len(prompt) > room:
        what = f"system prompt and persona take {len(prompt)} tokens, but the model reads only {room}"
        raise InvalidValue(what, try_="shorten them, or lower max_new_tokens, which is kept free for the reply")
    return prompt


class PlainFormat(PromptFormat):
    """``Human: …`` and ``Bot: …``, a line each, for models that were trained on no dialogue format at all."""

    def render(self, played: Played, dialogue: Sequence[Line]) -> str:
        heading = system_text(self.system_prompt, played)
        labels = {"human": HUMAN, "bot": BOT}
        lines = [f"{labels[speaker]}: {' '.join(self.clean(text).split())}" for speaker, text in dialogue]
        return "\n".join([*([heading, ""] if heading else []), *lines, f"{BOT}:"])

    def end(self, text: str) -> int | None:
        line = text.find("\n", len(text) - len(text.lstrip()))
        return min((place for place in (next_turn(text), line) if place is not None and place >= 0), default=None)


@dataclass(eq=False)
class JoinedFormat(PromptFormat):
    """Turns with a ``separator`` between them, and no labels: ``trailing`` as DialoGPT's (Zhang et al. 2020, §2), two
    spaces as BlenderBot's (Roller et al. 2021)."""

    _: KW_ONLY
    separator: str = "\n"
    trailing: bool = False
    indent: str = ""

    def render(self, played: Played, dialogue: Sequence[Line]) -> str:
        partner = [f"{PARTNERS} {sentence}" for sentence in played.partner]
        turns = [self.clean(text) for _, text in dialogue] or [""]
        turns[0] = with_persona(played.own, "\n".join([*partner, turns[0]]).strip())
        turns = [turn for turn in (self.system_prompt, *turns) if turn]
        return self.indent + self.separator.join([*turns, ""] if self.trailing and turns else turns)


SystemRole = Literal["system", "developer", "user"]
"""The role that instructs the model; ``user`` is for servers and templates that know no such role."""


Content = str | list[dict[str, Any]]
"""A text, or content parts, of which some are pictures."""


class ChatMessage(TypedDict):
    """One message of a request."""

    role: str
    content: Content


def text_of(content: Content) -> str:
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content if "text" in part)


def _parts(content: Content) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _joined(first: Content, second: Content, between: str = "\n") -> Content:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}{between}{second}"
    return [*_parts(first), *_parts(second)]


def _with_images(speaker: str, text: str, images: Sequence[SeenImage]) -> Content:
    """Servers take pictures in the person's messages alone: of the bot's own, it reads the descriptions."""
    if not images:
        return text
    if speaker == "bot":
        return "\n".join([text, *(f"[{image.alt or 'A picture'}]" for image in images)])
    return [*_parts(text), *({"type": "image_url", "image_url": {"url": image.url}} for image in images)]


@dataclass(frozen=True)
class Wording:
    """How a dialogue is sent to a server. ``alternate``: consecutive lines by one speaker become one message;
    ``begin_prompt`` is used if the bot has the first line, ``go_on_prompt`` if it had the last."""

    system_prompt: str = ""
    system_role: SystemRole = "system"
    alternate: bool = True
    begin_prompt: str = BEGIN
    go_on_prompt: str = GO_ON

    def messages(self, heard: Heard) -> list[ChatMessage]:
        """The dialogue as the server is to see it: the person is ``user``, all bots' lines are ``assistant``'s."""
        dialogue = heard.dialogue
        lines = [
            ChatMessage(role="assistant" if who == "bot" else "user", content=_with_images(who, text, images))
            for (who, text), images in heard.with_images()
        ]
        if self.begin_prompt and (not dialogue or dialogue[0][0] == "bot"):
            lines.insert(0, ChatMessage(role="user", content=self.begin_prompt))
        if self.go_on_prompt and dialogue and dialogue[-1][0] == "bot":
            lines.append(ChatMessage(role="user", content=self.go_on_prompt))
        system = system_text(self.system_prompt, Played(heard.persona, heard.partner_persona))
        if system and self.system_role == "user" and lines and lines[0]["role"] == "user":
            lines[0] = ChatMessage(role="user", content=_joined(system, lines[0]["content"], "\n\n"))
        elif system:
            lines.insert(0, ChatMessage(role=self.system_role, content=system))
        if not self.alternate:
            return lines
        turns = groupby(lines, key=lambda message: message["role"])
        return [
            ChatMessage(role=role, content=reduce(_joined, (one["content"] for one in turn))) for role, turn in turns
        ]


Chat = list[ChatMessage]

MARKER = re.compile(r"<[^<>\s]{1,40}>|\[/?[A-Z_]{2,20}\]|<<[A-Z/]{2,10}>>|^\W{0,4}\w{2,20}:", re.MULTILINE)
"""A word that a template has between turns: ``<|im_end|>``, ``[/INST]``, ``### User:``."""


def own_template(tokenizer: Any) -> str | None:
    """The template that came with the tokenizer, also where newer versions of transformers keep it; None: there is none."""
    template = tokenizer.chat_template
    if isinstance(template, list):  # several, by name
        template = {item["name"]: item["template"] for item in template}
    if isinstance(template, dict):  # as transformers 5 has them
        template = template.get("default")
    beside = Path(str(tokenizer.name_or_path)) / "chat_template.jinja"
    if template is None and beside.is_file():
        return beside.read_text(encoding="utf-8")
    return template if template is None else str(template)


@dataclass(eq=False)
class ChatFormat(PromptFormat):
    """The ``template`` of a model, with ``switches`` such as ``enable_thinking``; a ZooError for one that shows
    nobody's words."""

    with_special_tokens = False  # the template has written them
    _: KW_ONLY
    template: str
    switches: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
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
        lines = tuple((speaker, self.clean(text)) for speaker, text in dialogue)
        wording = Wording(
            self.system_prompt,
            system_role="system" if self._takes_system else "user",
            begin_prompt="" if lines and self._takes_bot_first else BEGIN,
        )
        messages = wording.messages(Heard(lines, played.own, played.partner, seed=0))
        return self._render(messages, add_generation_prompt=True) + self._opening

    def end(self, text: str) -> int | None:
        start = len(text) - len(text.lstrip())
        places = [text.find(marker, start) for marker in self.markers]
        labelled = next_turn(text)
        return min([place for place in (*places, -1 if labelled is None else labelled) if place >= 0], default=None)

    def _render(self, chat: Chat, *, add_generation_prompt: bool) -> str:
        text: str = self.tokenizer.apply_chat_template(
            chat,
            chat_template=self.template,
            tokenize=False,
            add_generation_prompt=add_generation_prompt,
            **self.switches,
        )
        return text

    def _problem(self, chat: Chat) -> str | None:
        from jinja2.exceptions import TemplateError

        try:
            text = self._render(chat, add_generation_prompt=True)
        except (TemplateError, TypeError, AttributeError) as error:
            return f"{type(error).__name__}: {error}"
        absent = [message["role"] for message in chat if text_of(message["content"]) not in text]
        return f"it leaves out the text of the {absent[0]}" if absent else None

    def _shows(self, chat: Chat) -> bool:
        return self._problem(chat) is None

    def _markers_between_turns(self) -> tuple[str, ...]:
        """The control words between the bot's turn and the person's next: one of them in a reply ends it."""
        chat = _chat("user", "assistant", "user")
        text = self._render(chat, add_generation_prompt=False)
        between = text.partition(text_of(chat[1]["content"]))[2].partition(text_of(chat[2]["content"]))[0]
        markers = dict.fromkeys(marker.strip() for marker in MARKER.findall(between))
        if any(map(is_channel, markers)):  # thoughts end there as a reply does: the model's own settings know more
            return ()
        return tuple(marker for marker in markers if not is_mark(marker))

    def _opening_of_reply(self) -> str:
        """What comes before the bot's words, where a template does not write it when asked for a reply; often nothing."""
        chat = _chat("user", "assistant")
        heard = self._render(chat[:1], add_generation_prompt=False)
        whole = self._render(chat, add_generation_prompt=False)
        if heard != self._render(chat[:1], add_generation_prompt=True) or not whole.startswith(heard):
            return ""
        opening = whole[len(heard) :].partition(text_of(chat[1]["content"]))[0]
        return opening if opening.strip() else ""


def _chat(*roles: str) -> Chat:
    return [ChatMessage(role=role, content=f"mark{place}of{role}") for place, role in enumerate(roles)]
