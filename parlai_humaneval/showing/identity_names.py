"""Names of models and makers, and the patterns that find them in a model's own reply."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from parlai_humaneval.protocol.records.dialogue import MaskKind

TELLING_NAMES = (
    "ChatGPT", "Chat GPT", "GPT", "InstructGPT", "DialoGPT", "BlenderBot", "Blender Bot", "Blenderbot 2", "SeeKeR",
    "Godel-large", "Cleverbot", "Mitsuku", "Kuki AI", "XiaoIce", "Replika", "LaMDA", "Meena chatbot", "Plato-2", "PLATO-XL",
    "Vicuna-7B", "Vicuna-13B", "Code Llama", "DeepSeek", "Qwen", "QwQ", "ChatGLM", "Mixtral", "Bing Chat",
    "EVA2.0", "Google Assistant", "Google Bard", "Google Gemini", "Microsoft Copilot", "GitHub Copilot",
    "ERNIE Bot", "OpenAssistant", "Open Assistant", "HuggingChat", "StableLM", "WizardLM", "FLAN-T5", "Baichuan",
    "InternLM", "GigaChat", "YandexGPT", "Tongyi Qianwen", "Hunyuan", "Doubao", "Nemotron", "Codestral", "Pixtral",
    "Ministral", "SmolLM", "TinyLlama", "Command R+", "Command R Plus", "Claude Opus", "Claude Sonnet", "Claude Haiku",
    "Claude Instant", "Gemini Pro", "Gemini Flash", "Gemini Ultra", "Gemini Nano", "Mistral Large", "Mistral Small",
    "Mistral Medium", "Mistral Nemo", "Llama Chat", "o1-mini", "o1-preview", "o3-mini", "o4-mini", "Character.AI",
)  # fmt: skip
"""Well-known models that no chat means otherwise. A version that follows (``GPT-4``, ``BlenderBot 3``) goes with them."""

TELLING_MAKERS = (
    "OpenAI", "Open AI", "Facebook AI Research", "Facebook AI", "Meta AI", "Google AI", "Google DeepMind", "DeepMind",
    "Google Brain", "Microsoft Research", "Anthropic AI", "Mistral AI", "Hugging Face", "HuggingFace", "EleutherAI", "xAI",
    "Cohere AI", "Stability AI", "Baidu Research", "Alibaba Cloud", "Moonshot AI", "Zhipu AI", "01.AI", "Inflection AI",
    "AI21 Labs", "Nous Research", "Allen Institute for AI", "Microsoft AI", "Perplexity AI", "MosaicML", "LMSYS",
)  # fmt: skip

ORDINARY_NAMES = (
    "ELIZA", "Claude", "Gemini", "Bard", "Llama", "Meena", "Mistral", "Copilot", "Grok", "Alexa", "Siri", "Cortana",
    "Falcon", "Alpaca", "Vicuna", "Plato", "Godel", "Kuki", "Bing", "Sydney", "Pi", "Kimi", "Gemma", "Hermes", "Phi",
    "Ernie", "Bixby", "Jasper", "Zephyr", "Orca", "Dolly", "Bloom", "Koala", "Aya", "Nova", "Granite", "Perplexity",
)  # fmt: skip
ORDINARY_MAKERS = (
    "Facebook", "Meta", "Google", "Microsoft", "Amazon", "Apple", "Anthropic", "Mistral", "Cohere", "Baidu", "Alibaba",
    "DeepSeek", "Tencent", "ByteDance", "Nvidia", "IBM", "Salesforce", "Databricks", "Samsung", "Yandex", "Stanford",
)  # fmt: skip

VERSIONED = (
    "Claude", "Gemini", "Gemma", "Llama", "Mistral", "Grok", "Phi", "PaLM", "OLMo", "Yi", "Hermes", "Zephyr", "Falcon",
    "Vicuna", "Alpaca", "Tulu", "Koala", "Orca", "Starling", "Solar", "Aya", "Granite", "Jamba", "Pythia", "OPT", "MPT",
    "Bloom", "Dolly", "Kimi", "GLM", "Nova", "Ernie",
)  # fmt: skip
"""Families that are telling with a version that nothing else has (``Llama 3.1``, ``Falcon-40B``, ``phi-2``)."""

ANYBODYS = frozenset({"human", "person", "bot", "chatbot", "model", "assistant", "people", "user", "worker"})
"""Zoo names that anybody may call themselves, the zoo's ``human`` above all: “I am human” tells nobody's name."""

_TIER = (
    r"(?:[\s-](?:opus|sonnet|haiku|pro|flash|ultra|nano|turbo|mini|lite|instruct|chat|beta|hf|it|base|large|small|xl|xxl)"
    r"\b)"
)
_SIZE = r"(?:\d+x)?\d+(?:\.\d+)?[bm]\b"
_VERSION = rf"(?:[\s_-]?(?:{_SIZE}|[vr]?\d+(?:\.\d+)*[a-z]?\b))?(?:[\s_-]{_SIZE})?{_TIER}{{0,3}}"
_UNIT = r"(?!\s+(?:second|minute|hour|day|week|month|year|time|people|of\b|more\b|dollar|euro)|[:/]\d)"
_FAMILY_VERSION = (
    rf"(?:[\s_-]?(?:{_SIZE}|v?\d+\.\d+\b)|-v?\d+\b|[\s_]?\d\b{_UNIT}(?=\s*(?:[.,;:!?)]|$|is\b|was\b|and\b|here\b|{_TIER})))"
    rf"(?:[\s_-]{_SIZE})?{_TIER}{{0,3}}"
)
_BEFORE = (
    r"(?:\b(?:i\s+am|i['’]m|im|my\s+name\s+is|my\s+name['’]s|name['’]s|call\s+me|this\s+is|as|"
    r"(?:i\s+am|i['’]m|they['’]ve|me)\s+(?:also\s+)?(?:known\s+as|called|named))(?:\s+(?:the|your))?\s+)"
)
_INTRODUCED = (
    r"(?:\b(?:i\s+am|i['’]m|im|my\s+name\s+is|my\s+name['’]s|call\s+me|i\s+go\s+by|i\s+run\s+on|this\s+is)\s+)"
)
_KIND = r"(?:chat\s?bot|bot|model|language\s+model|assistant|a\.?i\.?)"
_ADDRESS = r"(?:\byou(?:\s+are|['’]re)\s+(?:now\s+)?(?:talking|speaking|chatting)\s+(?:to|with)\s+)"
_START = r"(?:(?:^|[.!?,;])\s*|\b(?:hi|hello|hey)\s+(?:there\s+)?)"
_MADE = r"(?:made|built|trained|created|developed|designed|programmed|invented|released|published|powered)"
_THOSE_AT = (
    r"(?:\s+(?:the\s+)?(?:an?\s+(?:team|group)\s+of\s+)?(?:(?:kind|good|smart|clever)\s+)?"
    r"(?:people|researchers|engineers|team|folks|scientists)"
    r"\s+(?:at|of|from))?"
)
_MAKING = rf"(?:{_MADE}\s+(?:by|at){_THOSE_AT}(?:\s+the)?\s+)"
_ME = (
    r"(?:\b(?:i\s+(?:am|was|have\s+been|got)|i['’]m|i['’]ve\s+been|im)\s+(?:(?:originally|first|actually|also|being)\s+)?"
    r"|\b(?:language\s+model|chat\s?bot|assistant|bot|a\.?i\.?|program|model)(?:\s+that\s+was)?,?\s+"
    r"|(?:[\]”\"]|\bname),?\s+(?:and\s+)?(?:i\s+was\s+)?)"
)
_DESCRIBED = r"(?:(?!(?:of|the|for|with|in|at|on|and|who|that|to|from|by)\b)[\w-]+\s+){0,4}"
_ANTHROPIC = r"(?<!\w)(?P<name>(?-i:Anthropic))(?!\w|\s+(?:principle|bias|reasoning|argument|mechanism))"


Triggers = tuple[frozenset[str], ...]
"""A text is looked at if it holds a word of each of these sets (see :func:`words_in`); no sets: always."""


_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class NamePattern:
    """A pattern whose group ``name`` is to be hidden, and what a text must hold to be looked at."""

    triggers: Triggers
    pattern: re.Pattern[str]
    kind: MaskKind

    def may_match(self, words: frozenset[str]) -> bool:
        """Whether ``words`` hold one of each set."""
        return not any(map(words.isdisjoint, self.triggers))


def words_in(text: str) -> frozenset[str]:
    """The casefolded runs of letters in ``text``: “GPT-4 is” holds “gpt” and “is”."""
    return frozenset(_WORD.findall(text.casefold()))


def is_telling(name: str) -> bool:
    """Whether a zoo name is unmistakable: it holds a digit or a separator, which no ordinary word does."""
    return any(character.isdigit() or character in "_-" for character in name)


@lru_cache(maxsize=256)
def name_patterns(names: tuple[str, ...]) -> tuple[NamePattern, ...]:
    """Patterns for zoo ``names`` and the well-known ones; an earlier pattern wins where two overlap."""
    ordinary_zoo = [name for name in names if not is_telling(name) and name.casefold() not in ANYBODYS]
    speaking = [*ordinary_zoo, *ORDINARY_NAMES]
    telling = [*(name for name in names if is_telling(name)), *TELLING_NAMES]
    makers = [*ORDINARY_MAKERS, *TELLING_MAKERS]
    ordinary, named = any_of(speaking), any_of(telling)
    speaker, maker = f"(?P<name>{ordinary}{_VERSION})", f"(?P<name>{any_of(makers)})"

    def of_maker(*expressions: str) -> list[NamePattern]:
        return [NamePattern(_telling_words(makers), _compiled(words), "maker") for words in expressions]

    def of_speaker(*expressions: str) -> list[NamePattern]:
        return [NamePattern(_telling_words(speaking), _compiled(words), "name") for words in expressions]

    return (
        *of_maker(rf"{_ME}{_MAKING}{maker}\b"),
        NamePattern(
            (*_telling_words(makers), *_telling_words([*speaking, *telling])),
            _compiled(rf"\b(?:{ordinary}|{named}){_VERSION},?\s+(?:(?:{_MAKING})|(?:from|by)\s+){maker}\b"),
            "maker",
        ),
        *of_maker(
            rf"(?<!\w){maker}(?=\s+{_MADE}\s+me\b)",
            rf"\bmy\s+(?:developers|creators|makers|programmers)\s+(?:at|from)\s+{maker}\b",
            rf"{_INTRODUCED}(?:[\w.-]+(?:\s[\w.-]+){{0,2}},\s+)?(?:an?|the|your)\s+{_DESCRIBED}(?:{_KIND}|companion|helper|program)"
            rf"\s+(?:from|by)\s+{maker}\b",
        ),
        NamePattern(_telling_words(TELLING_MAKERS), _whole(any_of(TELLING_MAKERS)), "maker"),
        NamePattern((frozenset({"anthropic"}),), _compiled(_ANTHROPIC), "maker"),
        NamePattern(_telling_words(VERSIONED), _whole(f"{any_of(VERSIONED)}{_FAMILY_VERSION}"), "name"),
        NamePattern(_telling_words(telling), _whole(named + _VERSION), "name"),
        *of_speaker(
            rf"{_BEFORE}{speaker}(?=\s*(?:[.,;:!?)]|$|and\b|from\b|speaking\b|here\b|{_KIND}\b))",
            rf"\b(?:i\s+am|i['’]m|im|as)\s+an?\s+{speaker}(?=\s+{_KIND}\b)",
            rf"{_INTRODUCED}{speaker}(?=,?\s+(?:an?\b|the\b|from\b|by\b|{_MADE}\b)|\s*[.,;:!?]|$)",
            rf"{_START}as\s+{speaker}(?=\s+i\b)",
            rf"{_START}i,\s+{speaker}(?=,)",
            rf"{_ADDRESS}{speaker}(?!\w)",
            rf"{_START}{speaker}(?=\s+here\s*(?:[.,;!?]|$)|\s+at\s+your\s+service\b)",
            rf"^\s*{speaker}(?=\s*:)",
        ),
    )


def _telling_words(names: Sequence[str]) -> Triggers:
    """What a text must hold to name one of ``names``: of each its longest word, which is rarer than the others;
    nothing, where one of them has no letters."""
    runs = [re.findall(r"[^\W\d_]+", name.casefold()) for name in names]
    if not all(runs):
        return ()
    longest = {max(run, key=len) for run in runs}
    return (frozenset(longest | {word + letter for word in longest for letter in "vr"}),)  # “GPTv2”


def _whole(expression: str) -> re.Pattern[str]:
    return _compiled(rf"(?<!\w)(?P<name>{expression})(?!\w)")


def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.IGNORECASE | re.MULTILINE)


def any_of(names: Sequence[str]) -> str:
    """An expression for any of ``names``, longest first; a separator in a name stands for any separator."""
    parts = [
        r"[\s_-]".join(re.escape(part) for part in re.split(r"[\s_-]+", name))
        for name in sorted(set(names), key=lambda name: (-len(name), name))
    ]
    return f"(?:{'|'.join(parts)})"
