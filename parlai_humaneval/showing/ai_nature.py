"""What a program says of how it exists: “I'm just software”, “I exist only as code”, “unlike humans, I …”.

Each pattern ends the clause after what tells, since people say its beginning: “I'm not really hungry”, “I exist on
coffee”, “as an assistant at a dentist's I earn little” stay.
"""

from __future__ import annotations

import re

from parlai_humaneval.showing.ai_words import ADJECTIVE, HEDGE, I_AM, TO_THE_COMMA, compiled, words
from parlai_humaneval.showing.identity_names import ORDINARY_MAKERS, TELLING_MAKERS, any_of
from parlai_humaneval.showing.windows import Triggers

_MAKER = any_of([*ORDINARY_MAKERS, *TELLING_MAKERS])
_MADE = r"(?:made|built|trained|created|developed|designed|programmed|powered)"
_DESCRIBED = r"(?:(?!(?:of|the|for|with|in|at|on|and|who|that|to|from|by)\b)[\w-]+\s+){0,4}"
_CLAUSE_ENDS = r"(?=\s*(?:[.,;!?)…–—-]|$)|\s+(?:and|but|so|after|like|lol|haha|you|though|that)\b)"
_HUMANS = r"unlike\s+(?:(?:a|an\s+actual|a\s+real|real|actual|most|you)\s+)?human(?:s|\s+beings?)?"
_BEGINS = r"(?:^|(?<=[.!?,;:“\"(–—-])|(?<=\b(?:but|and)\b)|(?<=\bso\b)|(?<=\bsorry\b))\s*"

NATURE: tuple[tuple[Triggers, re.Pattern[str]], ...] = (
    # I'm Max, an assistant from OpenAI; I'm a model made by Google
    (
        (words("ai assistant model companion chatbot bot program helper llm"), words("by from at"), words("i im")),
        compiled(
            rf"{I_AM}{HEDGE}?(?:[\w.-]+(?:\s[\w.-]+){{0,2}},\s+)?(?P<hidden>(?:an?|the|your)\s+{_DESCRIBED}"
            rf"(?:AI|assistant|model|companion|chat\s?bot|bot|program|helper|LLM)(?:\s+(?:from|by)|,?\s+{_MADE}\s+(?:by|at))\s+"
            rf"(?:[\w-]+\s+){{0,5}}?{_MAKER}\b)"
        ),
    ),
    # Sorry, as an assistant I can't …
    (
        (words("assistant"), words("as"), words("can cannot not don t unable")),
        compiled(
            rf"{_BEGINS}(?P<hidden>\bas\s+(?:an?|your)\s+{ADJECTIVE}{{0,3}}assistant)(?=,?\s+I(?:['’]m|\s+am)?\s+"
            r"(?:can\s?not|can['’]?t|do\s+not|don['’]?t|not\s+able|unable)\b"
            r"(?!\s+(?:leave|afford|complain|take|earn|pay|sign|decide|work|get|like|want|mind|miss)\b))"
        ),
    ),
    (
        (words("assistant"), words("call")),
        compiled(
            r"(?P<hidden>\b(?:(?:you\s+(?:can|may)\s+)?(?:just\s+|simply\s+)?call\s+me)\s+(?:your\s+|the\s+)?Assistant)"
            r"(?=\s*(?:[.,;!?]|$))"
        ),
    ),
    (
        (words("assistant"), words("i im name")),
        compiled(rf"(?:{I_AM}|\bmy\s+name(?:['’]s|\s+is)\s+)(?P<hidden>(?-i:Assistant))(?=\s*(?:[.,;!?]|$))"),
    ),
    # I'm just software; I exist only as code on a server
    (
        (words("software code"), words("i im")),
        compiled(
            rf"{I_AM}(?:{HEDGE}{{0,3}}|made\s+of\s+|nothing\s+but\s+)(?P<hidden>(?:a\s+piece\s+of\s+|lines\s+of\s+)?(?:software|code)"
            rf"(?:\s+running\b{TO_THE_COMMA}(?<!\s))?){_CLAUSE_ENDS}"
        ),
    ),
    (
        (
            words("exist live run"),
            words("code software program data text server servers digitally computer computers cloud"),
        ),
        compiled(
            rf"(?P<hidden>\bI\s+{HEDGE}?(?:exist\s+(?:(?:only|just|merely|solely|purely|entirely)\s+)?(?:(?:as|in|inside)\s+"
            r"(?:an?\s+|the\s+)?(?:(?:computer|software|lines\s+of)\s+)?(?:code|software|program|data|text)\b|digitally\b|"
            r"(?:on|in|inside)\s+(?:an?\s+|the\s+)?(?:servers?|computers?|cloud)\b)|"
            rf"(?:live|run)\s+{HEDGE}?(?:on|in|inside)\s+(?:an?\s+|the\s+)?(?:servers?|computers?)\b(?!\s+\w)){TO_THE_COMMA}(?<!\s))"
        ),
    ),
    # … because I'm not real; unlike humans, I …
    (
        (words("real"), words("not"), words("i im")),
        compiled(
            rf"{I_AM}{HEDGE}?(?P<hidden>not\s+(?:actually\s+|even\s+)?real)(?=\s*(?:[.,;!?…]|$)|\s+(?:and|but|so)\b)"
        ),
    ),
    (
        (words("unlike"), words("human humans people")),
        compiled(rf"{_BEGINS}(?P<hidden>\b(?:{_HUMANS}(?=,?\s+I\b)|unlike\s+people(?=,\s+I\b)))"),
    ),
    (
        (words("unlike"), words("human humans")),
        compiled(
            rf"\bI(?:,|\s+(?:never|don['’]?t|can['’]?t|do\s+not|cannot)\b[^.!?\n]{{0,80}},)\s+(?P<hidden>{_HUMANS})(?=\s*[,.!?]|\s*$)"
        ),
    ),
)
"""What a sentence must hold to be looked at, and a pattern whose group ``hidden`` is to be hidden."""
