"""What a program says that it lacks or cannot do: “I don't have a body”, “I can't access real-time information”.

People lack much as well, so that each pattern names what only a program is asked for, or ends the clause there:
“I can't access the internet at my grandma's place” and “I can't help with that, I'm at work” stay. So does “How can I
assist you today?”, which shop assistants say.
"""

from __future__ import annotations

import re

from parlai_humaneval.showing.ai_words import INNER, LACK, LACKING, OWN, compiled, words
from parlai_humaneval.showing.windows import Triggers

_NEEDS_LACK = words("have possess experience feel hold form lack")
_NEEDS_INNER = words(
    "feeling feelings emotion emotions experiences opinions beliefs preferences desires memories thoughts sensations"
)
_NEEDS_BODY = words(
    "body form presence existence consciousness sentience awareness selfawareness taste tastebuds access ability "
    "capacity real"
)
_NEEDS_TALKS = words("conversations chats interactions discussions sessions exchanges")

_CANNOT = (
    r"\b(?:I\s+(?:(?:can\s?not|can['’]?t)(?:\s+actually)?|am\s+(?:not\s+able|unable)\s+to)|"
    r"I['’]?m\s+(?:not\s+able|unable)\s+to|I\s+won['’]?t\s+be\s+able\s+to)\s+"
)
_CLAUSE_ENDS = r"(?=\s*(?:[.,;!?–—]|$)|\s+(?:because|as|since|but|and|so|or|though|right|unfortunately)\b)"
_WEB_ENDS = (
    r"(?=\s*(?:[.;!?]|$)|,\s+(?:I['’]m|I\s+am|but|so|and|or|sorry|unfortunately)\b|"
    r"\s+(?:or|and|but|so|to|for|directly|in\s+real)\b)"
)
_TALKS = (
    r"(?:(?:any|our|your|my|the)\s+)?(?:(?:past|previous|earlier|prior|different|other|individual|separate)\s+)?"
    r"(?:conversations|chats|interactions|discussions|sessions|exchanges)"
)
_NEWS = r"(?:information|data|news|updates|events|content|weather|results|facts|sources)"

LIMITS: tuple[tuple[Triggers, re.Pattern[str]], ...] = (
    (
        (
            _NEEDS_INNER | _NEEDS_BODY,  # the rarer words first: identity._needed takes those
            _NEEDS_LACK,
        ),
        compiled(rf"(?:{LACK})(?P<hidden>{LACKING})(?!\s+(?:with|for|about|of|left|at)\b)"),
    ),
    (
        (words("experience possess"), _NEEDS_INNER),
        compiled(
            r"\bi\s+(?:do\s+not|don['’]?t|can\s?not|can['’]?t)\s+(?:actually\s+|really\s+|truly\s+)?(?:experience|possess)\s+"
            rf"(?P<hidden>{OWN}*(?:emotions|feelings))(?=\s*(?:[.,;!?]|$)|\s+(?:or|and|but|so)\b)"
        ),
    ),
    (
        (words("access"), words("information data news events updates"), words("about")),
        compiled(
            rf"(?:{LACK})(?P<hidden>access\s+to\s+(?:real[\s-]time|up[\s-]to[\s-]date)\s+(?:information|data|news|events|"
            r"updates))(?=\s+about\b)"
        ),
    ),
    # I can't browse the internet; I can't access real-time information
    (
        (words("browse access search"), words("internet web")),
        compiled(rf"(?P<hidden>{_CANNOT}(?:browse|access|search)\s+the\s+(?:internet|web)\b){_WEB_ENDS}"),
    ),
    (
        (
            words("access provide retrieve offer fetch look"),
            words("information data news updates events content weather results facts sources"),
        ),
        compiled(
            rf"(?P<hidden>{_CANNOT}(?:access|provide|retrieve|offer|fetch|look\s+up)\s+(?:you\s+)?(?:with\s+)?(?:any\s+)?"
            rf"(?:real[\s-]?time|live|current|up[\s-]to[\s-]date)\s+(?:\w+\s+)?{_NEWS}\b)(?!\s+(?:at|from|on|here|in)\b)"
        ),
    ),
    # I don't have the ability to remember past conversations; I don't retain information between conversations
    (
        (words("ability capacity capability"), words("have possess lack")),
        compiled(
            r"\bi\s+(?:(?:do\s+not|don['’]?t)\s+(?:actually\s+)?(?:have|possess)|lack)\s+(?P<hidden>the\s+(?:ability|capacity|"
            rf"capability)\s+to\s+(?:(?:remember|recall|retain|store|access|save)\s+(?:(?:information|anything|memories)\s+"
            rf"(?:from|between|of|across)\s+)?{_TALKS}|(?:browse|access|search)\s+the\s+(?:internet|web)|"
            r"(?:see|view|hear|process)\s+(?:images|pictures|photos|videos|audio|files)))\b"
        ),
    ),
    (
        (words("retain store save keep"), _NEEDS_TALKS),
        compiled(
            rf"(?P<hidden>(?:\bI\s+(?:do\s+not|don['’]?t)\s+|{_CANNOT})(?:retain|store|save|keep)\s+(?:any\s+)?(?:personal\s+)?"
            rf"(?:information|memory|memories|data|anything|context)\s+(?:from|between|of|across)\s+{_TALKS}\b)"
        ),
    ),
    # I can't assist with that request
    (
        (words("request requests"), words("help assist comply fulfil fulfill process")),
        compiled(
            rf"(?P<hidden>{_CANNOT}(?:(?:help|assist)\s+(?:you\s+)?with|comply\s+with|fulfill?|process)\s+(?:that|this|your|such)\s+"
            rf"(?:(?:kind|type|sort)\s+of\s+)?requests?){_CLAUSE_ENDS}"
        ),
    ),
)
"""What a sentence must hold to be looked at, and a pattern whose group ``hidden`` is to be hidden."""

LACKS_MORE: tuple[Triggers, re.Pattern[str]] = (
    (_NEEDS_LACK, _NEEDS_INNER),
    compiled(
        rf"(?:{LACK})(?P<hidden>(?:any\s+)?{OWN}*{INNER})(?=\s*(?:[.,;!?]|$)|\s+(?:or|and|of\s+my|like|but|so)\b)"
    ),
)
"""“I don't have feelings”: anybody may say so, and it tells only in a text where other talk of a program was found."""
