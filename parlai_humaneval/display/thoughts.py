"""What of a model's text is its reply, and what are its thoughts, by the marks of the formats that are known.

Models that reason write their plan before the reply, each family between marks of its own. A server or a tokenizer that
tells the two apart is believed (see :mod:`~parlai_humaneval.models.backends.chat_replies`); this reads what they leave.

People talk about these marks, too. What stands in code or in quotation marks is a word like any other, and so is a tag in
the middle of a sentence: “Qwen puts its plan between <think> and </think>.”
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import islice

ONLY_THOUGHTS = (
    "its thoughts left no room for a reply: raise max_tokens (a model on a server) or max_new_tokens (one that runs here), "
    "or turn its thinking off"
)
"""Why a reply of thoughts alone is none."""
MOST_ROUNDS = 50
"""Blocks of thoughts that are looked for; nobody writes more, and a text of nothing but tags must not take seconds."""
MOST_MENTIONS = 20
"""Tags that are spoken of before one that is meant; likewise."""
NEAR = 200
"""Characters before a mark that tell whether it is spoken of."""

_ALWAYS = r"(?:\w{1,12}:)?think(?:ing)?"
"""Tags that are meant anywhere: some models think again after the first words. With the prefixes of MiniMax and Seed."""
_AT_LINE_START = (
    r"(?:\w{1,12}:)?(?:thoughts?|reason(?:ing)?|scratchpad|reflection|analysis|inner_monologue|"
    r"(?:thought|thinking)_process|antthinking)"
)
"""Words that name other things, too: tags of these begin a line."""
_OPENING = re.compile(
    rf"<(?P<tag>{_ALWAYS}|(?P<early>{_AT_LINE_START}))(?:[ ][^<>\n]*)?>|(?-i:\[(?:THINK|THINKING|REASONING)\])|◁think▷"
    r"|<\|(?:start_|begin_of_|begin_)?(?:think(?:ing)?|thoughts?|reasoning)\|>|<\|channel>thought\b|<unused94>(?:thought\b)?",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    rf"</(?:{_ALWAYS}|(?P<early>{_AT_LINE_START}))\s*>|(?-i:\[/(?:THINK|THINKING|REASONING)\])|◁/think▷"
    r"|<\|(?:(?:end_of_|end_|/)(?:think(?:ing)?|thoughts?|reasoning))\|>|<channel\|>|<unused95>"
    r"|(?-i:\[BEGIN FINAL RESPONSE\])",
    re.IGNORECASE,
)
"""What ends thoughts that the chat template had begun, so that they have no beginning here."""

_HARMONY = re.compile(
    r"\A(?:\s|assistant|<\|\w+\|>)*<\|channel\|>|\A(?P<begun>.*?)(?:<\|end\|>)?<\|start\|>assistant<\|channel\|>"
    r"(?:final\b[^<]*<\|message\|>|(?:analysis|commentary)\b(?=.*<\|channel\|>final\b[^<]*<\|message\|>))",
    re.DOTALL,
)
"""A text in channels, the first of which the prompt may have ``begun``; elsewhere their marks are spoken of."""
_HARMONY_MESSAGE = re.compile(
    r"<\|start\|>\s*(?:user|system|developer)\b(?P<other>)"
    r"|<\|channel\|>\s*(?P<channel>\w*)[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>"
    r"(?P<content>.*?)(?=<\|(?:start|end|return|call|channel)\|>|\Z)",
    re.DOTALL,
)
"""A message of OpenAI's harmony format, or the header of another speaker's."""
_BARE_HARMONY = re.compile(
    r"\A\s*(?:(?:assistant)?analysis(?! )(?P<thoughts>.*))?assistantfinal(?P<reply>.*)\Z", re.DOTALL
)
"""The same where a decoder left the marks out: “analysisA plan.assistantfinalHello”."""
_BARE_HARMONY_CUT = re.compile(
    r"\A\s*analysis(?:[A-Z]\w*:|(?:The|We|User|I|I'm|I'll|Need|Let|Let's|This|It|It's|They|You|Simple|Just|Okay|OK|So|In|As|A|"
    r"Should|Must|Could|Provide|Respond|Answer|Reply|According|Given|My|There|That|What|First|Now|Maybe|Probably)\b[ ,.])"
)
"""As it begins where it was cut before that: no word goes on so, but names in programs might."""
_GRANITE = re.compile(
    r"\A\s*Here(?:'s| is) my thought process:(?P<thoughts>.*?)Here(?:'s| is) my response:(?P<reply>.*)\Z", re.DOTALL
)

_FENCE = r"^[ ]{0,3}(?P<fence>`{3,}|~{3,})[^\n]*\n.*?^[ ]{0,3}(?P=fence)[`~]*[ \t]*$"
_TICKS = r"(?<!`)(?P<ticks>`{1,3})(?!`)(?:[^`\n]|\n(?![ \t]*\n)|(?<!`)(?!(?P=ticks)(?!`))`+)+?(?P=ticks)(?!`)"
_FENCED = re.compile(_FENCE, re.DOTALL | re.MULTILINE)
_CODE = re.compile(f"{_FENCE}|{_TICKS}", re.DOTALL | re.MULTILINE)
_IN_SENTENCE = re.compile(r"[\w,;]['’]?[ ]*\Z")
_SPOKEN_OF = re.compile(r"[ ](?:and|are|as|blocks?|comes?|in|is|marks?|markers?|means?|or|tags?|tokens?|was|were)\b")
_NOUN = re.compile(r"[ ](?:blocks?|marks?|markers?|tags?|tokens?)\b")
_LITTLE = re.compile(r"[\W_]*(?P<word>and|or|to|und|oder|et|ou|y|o|e|и|和|与|と)?[\W_]*")
"""Between two tags that are spoken of: “<think> and </think>”, “<think>…</think>”."""
_GOES_ON = re.compile(r"[.,;:!?)]|[ ]+(?![A-Z])\w|\s*\Z")
_QUOTES = (frozenset("`\"“„«‘'("), frozenset("`\"”“»’')"))


@dataclass(frozen=True)
class Parted:
    """A text in its two parts. ``is_open``: it ends within the thoughts, so that the reply had not begun (again)."""

    reply: str
    thoughts: tuple[str, ...] = ()
    is_open: bool = False


class Code:
    """The code in a markdown text: fences and, unless ``only_fences``, words between backticks; those that are closed."""

    def __init__(self, text: str, *, only_fences: bool = False) -> None:
        pattern = _FENCED if only_fences else _CODE
        self._places = [match.span() for match in pattern.finditer(text)] if "`" in text or "~~~" in text else []
        self._starts = [start for start, _ in self._places]

    def holds(self, place: int) -> bool:
        """Whether a place of the text is within code."""
        at = bisect_right(self._starts, place) - 1
        return at >= 0 and place < self._places[at][1]


def parted(text: str) -> Parted:
    """``text`` as the reply in it and the thoughts around; unchanged where it holds none."""
    if not _may_hold_marks(text):
        return Parted(text)
    if (harmony := _of_harmony(text)) is not None:
        return harmony
    for pattern in (_BARE_HARMONY, _GRANITE):
        if match := pattern.match(text):
            return Parted(match["reply"], (match["thoughts"].strip(),) if match["thoughts"] else ())
    if _BARE_HARMONY_CUT.match(text):
        return Parted("", (text.strip().removeprefix("analysis"),), is_open=True)
    return _of_tags(text)


def without_thoughts(text: str) -> str:
    """The reply in ``text``; the very same text where it holds no thoughts."""
    both = parted(text)
    return text if both.reply == text else both.reply.strip()


def only_thoughts(text: str) -> str | None:
    """Why ``text`` is no reply: it is nothing but thoughts. None: it is more, or something else."""
    both = parted(text)
    return ONLY_THOUGHTS if (both.thoughts or both.is_open) and not both.reply.strip() else None


def begins_thoughts(text: str) -> str:
    """The mark at the end of ``text`` after which thoughts follow, as a chat template may write one; often empty."""
    ends = [match for match in _OPENING.finditer(text) if not text[match.end() :].strip()]
    return ends[-1].group() if ends else ""


def is_channel(token: str) -> bool:
    """Whether a token of a model tells the channels of OpenAI's harmony format apart."""
    return token in ("<|channel|>", "<|message|>", "<|start|>", "<|constrain|>")


def is_mark(token: str) -> bool:
    """Whether a token of a model begins or ends thoughts, or tells its channels apart."""
    return is_channel(token) or token == "<|channel>" or any(each.fullmatch(token) for each in (_OPENING, _CLOSING))


def _may_hold_marks(text: str) -> bool:
    """False for nearly all texts: nothing in them could begin or end thoughts."""
    return "<" in text or "[" in text or "▷" in text or text.lstrip().startswith(("analysis", "assistant", "Here"))


def _of_harmony(text: str) -> Parted | None:
    """None: the text has no channels."""
    mark = _HARMONY.match(text) if "<|channel|>" in text else None
    if mark is None or Code(text).holds(text.index("<|channel|>")):
        return None
    said: list[str] = []
    thoughts: list[str] = [(mark["begun"] or "").strip()]
    for message in _HARMONY_MESSAGE.finditer(text):
        if message["other"] is not None:
            if said or any(thoughts):
                break
            continue
        (said if message["channel"] == "final" else thoughts).append(message["content"].strip())
    return Parted("\n".join(said), tuple(filter(None, thoughts)), is_open=not said)


def _of_tags(text: str) -> Parted:
    said = ""
    thoughts: list[str] = []
    rest = text
    for _ in range(MOST_ROUNDS):
        code = Code(rest)
        closing = _first_mark(_CLOSING, rest, code, partial(_closes, said))
        opening = _first_mark(_OPENING, rest, code, partial(_opens, said))
        if closing is not None and (opening is None or closing.start() < opening.start()):
            thoughts.append(said + rest[: closing.start()])  # the chat template had begun them
            said, rest = "", rest[closing.end() :]
            continue
        if opening is None:
            break
        end = _end_of(opening)
        said += rest[: opening.start()]
        thoughts.append(rest[opening.end() : end.start() if end else None])
        rest = rest[end.end() :] if end else ""
        if end is None:
            return Parted(said, _stripped(thoughts), is_open=True)
    return Parted(said + rest, _stripped(thoughts))


def _stripped(thoughts: Iterable[str]) -> tuple[str, ...]:
    return tuple(thought.strip() for thought in thoughts)


def _first_mark(
    pattern: re.Pattern[str], text: str, code: Code, is_meant: Callable[[re.Match[str]], bool]
) -> re.Match[str] | None:
    marks = (match for match in pattern.finditer(text) if not code.holds(match.start()))
    return next((match for match in islice(marks, MOST_MENTIONS) if is_meant(match)), None)


def _end_of(opening: re.Match[str]) -> re.Match[str] | None:
    """Where the thoughts end that begin there: at the tag of the same name, if there is one, else at any that ends some."""
    text, begin = opening.string, opening.end()
    code = Code(text[begin:], only_fences=True)  # a backtick of the thoughts may have its pair in the reply
    own = re.compile(rf"</{re.escape(opening['tag'])}\s*>", re.IGNORECASE) if opening["tag"] else _CLOSING
    for pattern in (own, _CLOSING):
        ends = list(islice(pattern.finditer(text, begin), MOST_MENTIONS))
        meant = (end for end in ends if not code.holds(end.start() - begin) and not _is_quoted(end, ""))
        if (end := next(meant, next(iter(ends), None))) is not None:
            return end
    return None


def _opens(said: str, mark: re.Match[str]) -> bool:
    """Whether thoughts begin at ``mark``, rather than that it is spoken of; ``said``: what precedes its text."""
    if _is_quoted(mark, said):
        return False
    before = _before(mark, said)
    if mark["early"] and not _is_line_start(before):
        return False
    end = _end_of(mark)
    if end is None:
        return not _IN_SENTENCE.search(before) and not _SPOKEN_OF.match(mark.string, mark.end())
    little = _LITTLE.fullmatch(mark.string, mark.end(), end.start())
    spoken_of = _SPOKEN_OF.match(mark.string, end.end()) is not None
    if _IN_SENTENCE.search(before):
        return not little and not spoken_of
    return not (little and (little["word"] or spoken_of))


def _closes(said: str, mark: re.Match[str]) -> bool:
    before = _before(mark, said)
    if _is_quoted(mark, said) or (mark["early"] and not _is_line_start(before)) or _NOUN.match(mark.string, mark.end()):
        return False
    return before[-1:] != " " or not (_IN_SENTENCE.search(before) and _GOES_ON.match(mark.string, mark.end()))


def _before(mark: re.Match[str], said: str) -> str:
    return (said[-NEAR:] + mark.string[max(0, mark.start() - NEAR) : mark.start()])[-NEAR:]


def _is_line_start(before: str) -> bool:
    line = before.rpartition("\n")[2].rstrip()
    return not line or line[-1] in ">]▷"


def _is_quoted(mark: re.Match[str], said: str) -> bool:
    opening, closing = _QUOTES
    return _before(mark, said)[-1:] in opening and mark.string[mark.end() : mark.end() + 1] in closing
