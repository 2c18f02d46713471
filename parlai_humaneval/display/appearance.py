"""The look of a reply, apart from its words: markdown, emoji, invisible characters, length; and a cut where other
speakers begin. Changes are noted under the names in :data:`CHANGES`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Literal

import regex

from parlai_humaneval.display import Emoji
from parlai_humaneval.display.markdown import without_markdown
from parlai_humaneval.display.text import Code, marks, without_control, without_thoughts
from parlai_humaneval.display.vocabulary import Vocabulary, packaged

Appearance = Literal["as_said", "plain", "markdown"]

CHANGES = (
    "control_characters", "thoughts", "unsafe_mark", "model_tokens", "speaker_labels", "markdown", "emoji", "white_space",
    "length",
)  # fmt: skip
"""What may be done to how a reply looks, in this order, by the names in ``Candidate.changes``."""

ELLIPSIS = "…"
_SHORTEST_CUT = 0.5

_FENCE = re.compile(r"^ {0,3}(?:`{3,}|~{3,})", re.MULTILINE)
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*(?=\s)")


def looked_over(
    text: str,
    *,
    appearance: Appearance = "as_said",
    emoji: Emoji = "keep",
    max_chars: int | None = None,
    vocabulary: Vocabulary | None = None,
) -> tuple[str, list[str]]:
    """``text`` as it is to look, and the names of what was changed; ``max_chars``: cut off, if possible after a
    sentence."""
    plain = appearance == "plain"
    steps: list[tuple[str, Any]] = [
        ("control_characters", without_control),
        ("thoughts", without_thoughts),
        ("unsafe_mark", lambda text: _UNSAFE.sub("", text).strip() if "__" in text and _UNSAFE.search(text) else text),
        ("model_tokens", lambda text: without_model_tokens(text, all_of_them=plain)),
        ("speaker_labels", lambda text: without_labels(text, vocabulary or packaged())),
    ]
    if plain:
        steps.append(("markdown", lambda text: without_control(without_markdown(text))))
    if emoji == "strip":
        steps.append(("emoji", without_emoji))
    if plain:
        steps.append(("white_space", with_single_spaces))
    if max_chars is not None:
        cut = shortened_markdown if appearance == "markdown" else shortened
        steps.append(("length", lambda text: cut(text, max_chars)))
    changes = []
    for name, step in steps:
        changed = step(text)
        if changed != text:
            changes.append(name)
        text = changed
    return text, changes


def without_emoji(text: str) -> str:
    if text.isascii():
        return text
    import emoji

    marked = emoji.replace_emoji(text, "\0")
    return re.sub(r"^(?:\0 ?)+| ?\0+(?: \0+)*", "", marked, flags=re.MULTILINE)


def with_single_spaces(text: str) -> str:
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def shortened(text: str, max_chars: int) -> str:
    """At most ``max_chars`` characters: up to the end of a sentence, a word, or what is seen as a character, and “…”."""
    if len(text) <= max_chars:
        return text
    room = text[: max(0, max_chars - 2)]
    least = int(len(room) * _SHORTEST_CUT)
    ends = [match.end() for match in _SENTENCE_END.finditer(text, 0, len(room) + 1) if match.end() <= len(room)]
    if ends and ends[-1] >= least:
        return f"{room[: ends[-1]]} {ELLIPSIS}"
    space = max(room.rfind(" "), room.rfind("\n"))
    end = space if space >= least else whole_up_to(text, max_chars - 1)
    return text[:end].rstrip() + ELLIPSIS


def shortened_markdown(text: str, max_chars: int) -> str:
    """Like :func:`shortened`, for markdown: a cut within code, a table or bold words leaves no sign over."""
    if len(text) <= max_chars:
        return text
    cut = shortened(text, max_chars - 4).removesuffix(ELLIPSIS).rstrip()
    before, _, last_line = cut.rpartition("\n")
    in_code = len(_FENCE.findall(cut)) % 2 == 1
    at_fence = _FENCE.match(last_line) is not None
    if in_code and not at_fence:
        return f"{cut}\n{ELLIPSIS}"
    begun = at_fence if in_code else last_line.startswith("|") and not last_line.endswith("|")
    if begun or at_fence or last_line.endswith("|"):
        return f"{before if begun else cut}\n\n{ELLIPSIS}".lstrip("\n")
    bold = cut.rpartition("\n\n")[2].count("**") % 2
    return cut + ELLIPSIS + "**" * bold


def whole_up_to(text: str, end: int) -> int:
    r"""The last place up to ``end`` that splits no character as it is seen: a grapheme cluster (UAX #29, ``\X``)."""
    if end >= len(text):
        return len(text)
    for cluster in regex.finditer(r"\X", text):
        if cluster.end() > end:
            return int(cluster.start())
    return end


_HEADER = marks("HEADER")
_ASKED = marks("ASKED")
_CALLS = marks("CALLS")
_TOKENS = marks("TOKENS")
_UNSAFE = marks("UNSAFE")
_WRAPPER = marks("WRAPPER")
_BETWEEN_MARKS = marks("BETWEEN_MARKS")
_SENTENCE_TOKENS = marks("SENTENCE_TOKENS")


def without_model_tokens(text: str, *, all_of_them: bool = False) -> str:
    """No ``<|im_end|>`` and the like, nothing before the reply, and no turn after it; ``<s>`` only with
    ``all_of_them``."""
    if not ("<" in text or "[" in text or "__" in text):
        return text
    reply = _outside_code(_CALLS, text, "")
    reply = _ASKED.sub("", reply, count=1) if _ASKED.match(reply) else reply
    start, code = 0, Code(reply)
    for header in _HEADER.finditer(reply):
        if code.holds(header.start()):
            continue
        if _TOKENS.sub("", reply[start : header.start()]).strip(" \t\n") not in ("", "<s>"):
            reply = reply[: header.start()].rstrip()
            break
        start = header.end()
    reply = _outside_code(_TOKENS, reply[start:], " ")
    if "<s>" in reply or "</s>" in reply:
        reply = _without_sentence_tokens(reply, all_of_them)
    reply = _without_answer_tag(reply)
    return text if reply == text else reply.strip()


def _outside_code(pattern: re.Pattern[str], text: str, put: str) -> str:
    code = Code(text)
    return pattern.sub(lambda match: match.group() if code.holds(match.start()) else put, text)


def _without_answer_tag(text: str) -> str:
    wrapped = _WRAPPER.match(text) if "<" in text else None
    if wrapped is None:
        return text
    if wrapped["tag"] is not None:
        return text if _BETWEEN_MARKS.fullmatch(wrapped["reply"]) else wrapped["reply"] + wrapped["rest"]
    inner: str = wrapped["cut"] if wrapped["begun"] is None else wrapped["begun"]
    return text if Code(text).holds(len(text.rstrip()) - 1) or "<answer>" in inner else inner


def _without_sentence_tokens(text: str, all_of_them: bool) -> str:
    """``<s>`` and ``</s>`` are HTML, too: a pair around words in the middle of a text stays."""
    if all_of_them:
        return _outside_code(_SENTENCE_TOKENS, text, " ")
    text = text.strip()
    while text.endswith("</s>") and "<s>" not in text[3:]:
        text = text[: -len("</s>")].rstrip()
    while text.startswith("<s>") and "</s>" not in text:
        text = text[len("<s>") :].lstrip()
    return text


def without_labels(text: str, vocabulary: Vocabulary) -> str:
    """No “Assistant:” before the reply, nor the person's last words again, and nothing from a line “User:” on."""
    if ":" not in text and "：" not in text:
        return text
    leading, echo, next_turn = _speaker_labels(vocabulary)
    label = echo.match(text) or leading.match(text)
    reply = text[label.end() :] if label else text
    following = next_turn.search(reply)
    if following and reply[: following.start()].strip():
        reply = reply[: following.start()].rstrip()
    return reply


@lru_cache(maxsize=64)
def _speaker_labels(vocabulary: Vocabulary) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    languages = vocabulary.words.languages.values()
    person = [label for language in languages for label in language.human_labels]
    program = [label for language in languages for label in language.labels]
    return (
        re.compile(rf"\s*{_label(person + program)}[ \t]*\n?", re.IGNORECASE),
        re.compile(
            rf"\s*{_label(person)}[^\n]*\n(?:[^\n]*\n){{0,5}}?[ \t]*{_label(program)}[ \t]*\n?(?=\s*\S)", re.IGNORECASE
        ),
        re.compile(rf"\n[ \t]*{_label([*person, *map(str.upper, person)])}"),
    )


def _label(labels: list[str]) -> str:
    longest_first = "|".join(map(re.escape, sorted(set(labels), key=lambda label: (-len(label), label))))
    return rf"(?:\#{{1,4}}[ ]?|\*\*)?(?:{longest_first})(?:[ ]?\d)?(?:\*\*)?[ ]?[:：](?!//)(?:\*\*)?"
