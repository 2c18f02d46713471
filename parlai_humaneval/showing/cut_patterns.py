"""Where what gives a model away can be cut out whole: patterns over a text in which each mask is one sign."""

from __future__ import annotations

import re

from parlai_humaneval.protocol.records.dialogue import Mask
from parlai_humaneval.showing.ai_words import HEDGE, words

AS_ONE, ONE, CLAUSE, TALK, NAME, MAKER, OTHER = SIGNS = "\ue000\ue001\ue002\ue003\ue004\ue005\ue006"
"""For “as an AI”, “an AI”, “I was programmed to”, other talk of being a program, a model's name, its maker's, and masks that
always stay. Letters for private use, which stand in no reply."""

_TALK_SIGNS = (
    (AS_ONE, re.compile(r"(?:as|being|unlike|since|until|up\s+to|at\s+the\s+time)\b", re.IGNORECASE)),
    (
        CLAUSE,
        re.compile(
            r"(?:I|you|call\s+me|my\s+(?:programming|algorithms?|code|creators?|developers)|"
            r"my\s+(?:knowledge|training\s+data)(?:\s+cut-?\s?off)?\s+(?:only|is|was|goes|ends|stops))\b",
            re.IGNORECASE,
        ),
    ),
    (ONE, re.compile(r"(?:an?|the|your|not|software|code|lines)\b(?!.*\btrained\s+on$)", re.IGNORECASE)),
)

SENTENCE = re.compile(r"(?:[^.!?\n]|[.!?](?!\s|[\"”'’)\]]*(?:\s|$)))*(?:[.!?][.!?\"”'’)\]]*\s*|\n\s*|$)")

_START = r"(?P<begins>(?:^|(?<=[.!?…]\s)|(?<=\n)|(?<=[\"“(])))"
_MADE = r"(?:made|built|trained|created|developed|designed|programmed|invented|released|published|powered|fine-?tuned)"
_BY = (
    rf"(?:(?:,?\s+(?:and\s+)?(?:(?:which|that|who)\s+(?:was|is)\s+|I\s+was\s+)?(?:\w+ly\s+)?{_MADE}\s+(?:by|at)|,?\s+(?:from|by|of))"
    rf"(?:\s+[\w-]+){{0,6}}?\s+{MAKER})"
)
_KIND = r"(?:AI|model|assistant|chat\s?bot|bot|program|LLM)"
_WHAT = rf"(?:,\s+(?:{ONE}|(?:an?|the|your|{MAKER}['’]s)\s+(?:[\w-]+\s+){{0,5}}{_KIND}))"
_NAMED = rf"(?:{NAME}{_WHAT}?{_BY}?)"
_AS = rf"(?:{AS_ONE}{_BY}?|as\s+(?:the\s+)?{_NAMED})"
_I_AM = rf"(?:I\s+am|I['’]m|im)\s+{HEDGE}{{0,3}}"
_LACK = (
    r"I\s+(?:(?:do\s+not|don['’]?t|can\s?not|can['’]?t)\s+(?:\w+ly\s+)?(?:have|possess|experience|feel|hold|form)|lack)\s+"
    rf"[{TALK}{ONE}]"
)
_IT_IS = rf"(?:{_I_AM}{ONE}{_BY}?|{CLAUSE}|{_LACK})"
_VERB = (
    r"(?:can|can['’]t|cannot|could|will|would|won['’]t|do|don['’]t|never|like|love|have|know|try|want|enjoy|think)\b"
)
_SUBJECT = (
    r"(?:I|you|we|it|that|there|this|what|how|who|where|when|they|he|she|my|your|our|the|let|please|thanks?)"
    r"(?:['’]\w+)?\b"
)
_ENDS = r"(?=\s*(?:[.!?;]|$))"
_BECAUSE = (
    r"(?:because|since|as|even\s+though|although|though|while|given\s+that|considering(?:\s+that)?|seeing\s+that)"
)
_THEN = rf"(?:,?\s+(?:and\s+so|so|but|and)\s+(?={_SUBJECT})|,\s+(?:so|but|and)\s+|[,;]\s+(?={_SUBJECT})|\s+[–—-]\s+)"


def _compiled(expression: str) -> re.Pattern[str]:
    # Longer gaps stand between no two words; else a reply of thousands of spaces takes seconds.
    return re.compile(expression.replace(r"\s+", r"\s{1,4}").replace(r"\s*", r"\s{0,4}"), re.IGNORECASE)


CUTS = tuple(
    map(
        _compiled,
        (
            # As an AI, I …; As ChatGPT, a language model by OpenAI, I …
            rf"{_START}(?P<gone>{_AS}(?:,\s*|\s+(?={_SUBJECT})))(?=\S)",
            # …, but as an AI, I …
            rf"\b(?:but|and|so|because|since|that|while|though|although|if)(?P<gone>,?\s+{_AS}(?:,|(?=\s+{_SUBJECT})))(?=\s)",
            # I, as an AI, …; I, ChatGPT, …; I, developed by OpenAI, …
            rf"\b(?:I|think|say|believe|know)(?P<gone>,\s+{_AS},)(?=\s)",
            rf"\bI(?P<gone>,\s+(?:{_AS}|{ONE}|{_NAMED})(?:,|(?=\s*[.!?])))",
            rf"\bI(?P<gone>(?=,){_BY}(?:,|(?=\s*[.!?])))",
            # Sorry, as an AI, I …
            rf",\s+(?P<gone>{_AS}(?:,\s+|\s+(?={_SUBJECT})))(?=\S)",
            # … as an AI.
            rf"(?<=\w)(?P<gone>,?\s+{AS_ONE}{_BY}?){_ENDS}",
            rf"(?P<gone>\s+\({AS_ONE}{_BY}?\))",
            # Because I'm an AI, I …; I'm an AI, so I …; Well, I'm an AI, so I …
            rf"{_START}(?P<gone>(?:based\s+on|according\s+to)\s+{TALK},\s*)(?=\S)",
            rf"{_START}(?P<gone>{_BECAUSE}\s+{_IT_IS}(?:,\s*|\s+(?={_SUBJECT})))(?=\S)",
            rf"{_START}(?P<gone>{_IT_IS}{_THEN})(?=\S)",
            rf"(?:,\s|\b(?:but|and|so|because|since)\s)(?P<gone>{_IT_IS}{_THEN})(?=\S)",
            # I'm just a program and cannot love.
            rf"\bI(?P<gone>(?:\s+am|['’]m)\s+{HEDGE}{{0,3}}{ONE}{_BY}?,?\s+(?:and|but|so))(?=\s+{_VERB})",
            # …, because I'm an AI.
            rf"(?<=\w)(?<!\bwell)(?<!\bremember)(?<!\bunfortunately)(?<!\bsadly)(?P<gone>(?:,?\s+(?:{_BECAUSE}|but|so|and|for)\s+|[,;]\s+|\s+[–—-]\s+){_IT_IS}){_ENDS}",
            # Hi, I'm ChatGPT.
            rf"\b(?:hi|hello|hey)(?:\s+there)?(?P<gone>,?\s+{_I_AM}(?:{ONE}|{_NAMED}){_BY}?){_ENDS}",
            # I'm Max, an AI assistant.
            rf"(?<=[\w{NAME}])(?P<gone>,\s+{ONE}{_BY}?)(?=\s*(?:[.!?,;]|$)|\s+and\b)",
            # I'm ChatGPT, made by OpenAI.
            rf"{NAME}(?P<gone>{_WHAT}?{_BY})(?=\s*(?:[.!?,;]|$)|\s+and\b)",
        ),
    )
)
"""Group ``gone`` is cut out; where group ``begins`` matched, what follows begins the sentence. Tried in this order."""

_EMPTY_WORDS = words(
    """
    i am im m ve well oh remember just only merely simply actually really still also basically essentially of course my
    name is s the this was were have been being by from at and or but so a an not do don t cannot can lack possess
    experience feel hold form any you are re now talking speaking chatting to with they call me called known as made
    built trained created developed designed programmed run on team people researchers engineers folks based
    here afraid after all truly lol haha unfortunately sadly
    """
)
_WORD = re.compile(r"[^\W\d_]+")


def sign_of(mask: Mask) -> str:
    """The sign that stands for ``mask``."""
    if mask.kind == "ai_disclosure":
        return next((sign for sign, begins in _TALK_SIGNS if begins.match(mask.original)), TALK)
    return {"name": NAME, "maker": MAKER}.get(mask.kind, OTHER)


def says_nothing_else(sentence: str) -> bool:
    """Whether a sentence with signs says only who or what the speaker is; a question, or one cut off, says more."""
    if any(sign in sentence for sign in (OTHER, "?", "…")) or not any(sign in sentence for sign in SIGNS):
        return False
    return _EMPTY_WORDS.issuperset(_WORD.findall(sentence.casefold()))
