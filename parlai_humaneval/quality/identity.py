"""Mask what gives a model away: its name, or its maker's, in its own reply.

A rater who reads “As ChatGPT, I …” no longer rates the reply. Names are of two kinds:

- *Telling* names have no other meaning in a chat (``ChatGPT``, ``BlenderBot``, ``OpenAI``, and zoo names with a digit,
  an underscore or a hyphen, such as ``blender_90M``). They are masked wherever they stand as whole words.
- *Ordinary* names are also words or people's names (a zoo model called ``retrieval``, ``Claude``, ``Llama``). They
  are masked only where the sentence identifies the speaker by them: “I am Retrieval”, “my name is Claude”,
  “as Llama, I”, “I was made by Meta”. So “information retrieval” and “I saw a llama” stay.

Case never matters. Zoo names with separators are also found with other separators (``blender-90M``, ``blender 90M``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from parlai_humaneval.protocol.records import Mask

NAME_MASK = "[name]"
MAKER_MASK = "[maker]"

TELLING_NAMES = (
    "ChatGPT", "GPT", "InstructGPT", "DialoGPT", "BlenderBot", "Blender Bot", "Blenderbot 2", "SeeKeR", "Godel-large",
    "Cleverbot", "Mitsuku", "Kuki AI", "XiaoIce", "Replika", "LaMDA", "Meena chatbot", "Plato-2", "PLATO-XL",
    "Vicuna", "Llama 2", "Llama 3", "Code Llama", "DeepSeek", "Qwen", "ChatGLM", "Mixtral", "Bing Chat",
    "EVA2.0", "Google Assistant", "Google Bard", "Google Gemini", "Microsoft Copilot", "GitHub Copilot",
)  # fmt: skip
"""Well-known models that no chat means otherwise. A version that follows (``GPT-4``, ``BlenderBot 3``) goes with them."""

TELLING_MAKERS = (
    "OpenAI", "Open AI", "Facebook AI Research", "Facebook AI", "Meta AI", "Google AI", "Google DeepMind", "DeepMind",
    "Google Brain", "Microsoft Research", "Anthropic AI", "Mistral AI", "Hugging Face", "HuggingFace", "EleutherAI", "xAI",
    "Cohere AI", "Stability AI", "Baidu Research",
)  # fmt: skip

ORDINARY_NAMES = (
    "ELIZA", "Claude", "Gemini", "Bard", "Llama", "Meena", "Mistral", "Copilot", "Grok", "Alexa", "Siri", "Cortana",
    "Falcon", "Alpaca", "Plato", "Godel", "Kuki", "Bing", "Sydney", "Pi",
)  # fmt: skip
ORDINARY_MAKERS = (
    "Facebook", "Meta", "Google", "Microsoft", "Amazon", "Apple", "Anthropic", "Mistral", "Cohere", "Baidu", "Alibaba",
)  # fmt: skip

_VERSION = r"(?:[\s_-]?v?\d+(?:\.\d+)*[a-z]?\b)?"
_BEFORE = (
    r"(?:\b(?:i\s+am|i['’]m|im|my\s+name\s+is|my\s+name['’]s|name['’]s|call\s+me|known\s+as|called|named|this\s+is|as)"
    r"(?:\s+(?:the|a|an|your))?\s+)"
)
_KIND = r"(?:chat\s?bot|bot|model|language\s+model|assistant|a\.?i\.?)"
_ADDRESS = r"(?:\byou(?:\s+are|['’]re)\s+(?:now\s+)?(?:talking|speaking|chatting)\s+(?:to|with)\s+)"
_START = r"(?:(?:^|[.!?,;])\s*|\b(?:hi|hello|hey)\s+(?:there\s+)?)"
_MAKING = (
    r"(?:\b(?:made|built|trained|created|developed|designed|programmed|invented|released|published|powered)"
    r"\s+(?:by|at)(?:\s+(?:the\s+)?(?:people|researchers|engineers|team)\s+(?:at|of|from))?(?:\s+the)?\s+)"
)


def mask_identity(text: str, names: Sequence[str]) -> tuple[str, list[Mask]]:
    """Replace what names a model or its maker.

    Args:
        text: a model's reply.
        names: the zoo names of the models in play.

    Returns:
        The text as it may be shown, and the masks in order, with offsets into ``text``; no masks, and ``text`` itself,
        when nothing gives the model away.
    """
    spans: list[Mask] = []
    for pattern, replacement in _patterns(tuple(names)):
        for match in pattern.finditer(text):
            start, end = match.span("name")
            if all(end <= mask.start or mask.end <= start for mask in spans):
                spans.append(Mask(start=start, end=end, original=text[start:end], replacement=replacement))
    spans.sort(key=lambda mask: mask.start)
    shown, at = [], 0
    for mask in spans:
        shown += [text[at : mask.start], mask.replacement]
        at = mask.end
    return "".join([*shown, text[at:]]), spans


def is_telling(name: str) -> bool:
    """Whether a zoo name is unmistakable: it holds a digit or a separator, which no ordinary word does."""
    return any(character.isdigit() or character in "_-" for character in name)


@lru_cache(maxsize=256)
def _patterns(names: tuple[str, ...]) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Patterns with their replacement; an earlier one wins where two overlap."""
    telling = [name for name in names if is_telling(name)]
    ordinary = [name for name in names if not is_telling(name)]
    named = _any_of([*telling, *TELLING_NAMES])
    speaker = _any_of([*ordinary, *ORDINARY_NAMES])
    return (
        (_whole(_any_of(TELLING_MAKERS)), MAKER_MASK),
        (_whole(named + _VERSION), NAME_MASK),
        (
            re.compile(
                rf"{_BEFORE}(?P<name>{speaker}{_VERSION})(?=\s*(?:[.,;:!?)]|$|and\b|from\b|speaking\b|here\b|{_KIND}\b))",
                re.I,
            ),
            NAME_MASK,
        ),
        (re.compile(rf"{_ADDRESS}(?P<name>{speaker}{_VERSION})(?!\w)", re.I), NAME_MASK),
        (
            re.compile(
                rf"{_START}(?P<name>{speaker}{_VERSION})(?=\s+here\s*(?:[.,;!?]|$)|\s+at\s+your\s+service\b)",
                re.I | re.M,
            ),
            NAME_MASK,
        ),
        (re.compile(rf"^\s*(?P<name>{speaker}{_VERSION})(?=\s*:)", re.I | re.M), NAME_MASK),
        (re.compile(rf"{_MAKING}(?P<name>{_any_of(ORDINARY_MAKERS)})\b", re.I), MAKER_MASK),
    )


def _whole(expression: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?P<name>{expression})(?!\w)", re.IGNORECASE)


def _any_of(names: Sequence[str]) -> str:
    """An expression for any of ``names``, longest first; a separator in a name stands for any separator."""
    parts = [
        r"[\s_-]".join(re.escape(part) for part in re.split(r"[\s_-]+", name))
        for name in sorted(names, key=len, reverse=True)
    ]
    return f"(?:{'|'.join(parts)})"
