"""What a language model reads: the dialogue in the format that the model knows, as long as it may be.

A format renders a persona and the turns as text, and knows how a reply ends. What people and models wrote is data: it
cannot contain a control token of the model, nor begin a line with another speaker's label.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.dialogues.personas import PARTNERS, with_persona
from parlai_humaneval.display.thoughts import without_thoughts
from parlai_humaneval.models.agent.dialogue_agent import Line
from parlai_humaneval.models.agent.history import newest_turns

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


class PromptFormat(ABC):
    """How a model wants its dialogue.

    Args:
        tokenizer: the model's.
        system_prompt: what the model is told before everything else.
    """

    with_special_tokens = True
    """Whether the tokenizer adds the tokens with which its texts begin and end."""
    begun = ""
    """The mark of thoughts with which a prompt ends, so that the model's text begins within them."""

    def __init__(self, tokenizer: Any, system_prompt: str = "") -> None:
        self.tokenizer = tokenizer
        self.system_prompt = system_prompt
        self._control_tokens = _control_tokens(tokenizer)

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
        while before != text:  # what remains could form a token anew
            before = text
            for token in self._control_tokens:
                text = text.replace(token, "")
        return text.strip()


def _control_tokens(tokenizer: Any) -> tuple[str, ...]:
    added = [str(token) for token in tokenizer.added_tokens_decoder.values() if token.special]
    return tuple(sorted({*tokenizer.all_special_tokens, *added}, key=len, reverse=True))


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
    """Where the model begins another turn by a label (“Human:”)."""
    label = NEXT_TURN.search(text, len(text) - len(OWN_LABELS.sub("", text.lstrip())))
    return label.start() if label else None


class Prompt(list[int]):
    """The tokens that a model reads. ``turns_left_out``: how many of the oldest turns are not among them."""

    turns_left_out = 0


def fit(
    form: PromptFormat, played: Played, dialogue: Sequence[Line], room: int | None, most_turns: int | None = None
) -> Prompt:
    """The tokens of the prompt with as many of the newest turns as fit into ``room`` tokens; the personas always do.

    A last line that is too long alone keeps its end.

    Args:
        form: of the prompt.
        played: the personas.
        dialogue: so far, oldest line first.
        room: most tokens of a prompt.
        most_turns: that are read, even where more would fit.

    Raises:
        ValueError: when system prompt and personas leave no room for a turn.
    """
    dialogue = [(speaker, text) for speaker, text in dialogue if text]

    def tokens(lines: Sequence[Line]) -> list[int]:
        return form.encode(form.render(played, lines))

    def fits(lines: Sequence[Line]) -> bool:
        return room is None or len(tokens(lines)) <= room

    kept, left_out = newest_turns(dialogue, fits, most_turns)
    if len(kept) == 1 and room is not None:
        kept = [_end_of_line(kept[0], room, tokens)]
    prompt = Prompt(tokens(kept))
    prompt.turns_left_out = left_out
    if room is not None and len(prompt) > room:
        raise InvalidValue(
            f"system prompt and persona take {len(prompt)} tokens, where the model reads {room}",
            try_="shorten them, or lower max_new_tokens, which is kept free for the reply",
        )
    return prompt


def _end_of_line(line: Line, room: int, tokens: Callable[[Sequence[Line]], list[int]]) -> Line:
    speaker, text = line
    if len(tokens([line])) <= room:
        return line
    length = bisect_right(range(1, len(text)), room, key=lambda count: len(tokens([(speaker, text[-count:])])))
    return speaker, text[-max(length, 1) :]


class PlainFormat(PromptFormat):
    """``Human: …`` and ``Bot: …``, a line each, for models that were trained on no dialogue format at all."""

    def render(self, played: Played, dialogue: Sequence[Line]) -> str:
        heading = system_text(self.system_prompt, played)
        labels = {"human": HUMAN, "bot": BOT}
        lines = [f"{labels[speaker]}: {' '.join(self.clean(text).split())}" for speaker, text in dialogue]
        return "\n".join([*([heading, ""] if heading else []), *lines, f"{BOT}:"])

    def end(self, text: str) -> int | None:
        """A turn is one line."""
        line = text.find("\n", len(text) - len(text.lstrip()))
        return min((place for place in (next_turn(text), line) if place is not None and place >= 0), default=None)


class JoinedFormat(PromptFormat):
    """Turns one after the other with ``separator`` between them, and no labels: the speakers take turns.

    DialoGPT has its ending token after every turn (Zhang et al. 2020, §2; ``trailing``), BlenderBot two spaces between
    them (Roller et al. 2021, as in ParlAI). A persona comes first, in ParlAI's convention, as in the data they learnt from.
    """

    def __init__(
        self,
        tokenizer: Any,
        system_prompt: str = "",
        *,
        separator: str = "\n",
        trailing: bool = False,
        indent: str = "",
    ) -> None:
        super().__init__(tokenizer, system_prompt)
        self._separator = separator
        self._trailing = trailing
        self._indent = indent

    def render(self, played: Played, dialogue: Sequence[Line]) -> str:
        partner = [f"{PARTNERS} {sentence}" for sentence in played.partner]
        turns = [self.clean(text) for _, text in dialogue] or [""]
        turns[0] = with_persona(played.own, "\n".join([*partner, turns[0]]).strip())
        turns = [turn for turn in (self.system_prompt, *turns) if turn]
        return self._indent + self._separator.join([*turns, ""] if self._trailing and turns else turns)
