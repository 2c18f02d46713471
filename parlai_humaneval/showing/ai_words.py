"""Words by which a program speaks of itself, as parts of the patterns of :mod:`~parlai_humaneval.showing.ai_talk`."""

from __future__ import annotations

import re


def words(text: str) -> frozenset[str]:
    """The words of a list that is written with spaces, for :data:`~parlai_humaneval.showing.windows.Triggers`."""
    return frozenset(text.split())


def compiled(expression: str) -> re.Pattern[str]:
    """A pattern over replies: case does not matter, and ``^`` and ``$`` stand for lines."""
    return re.compile(expression, re.IGNORECASE | re.MULTILINE)


ADJECTIVE = (
    r"(?:(?:large|big|small|little|mere|simple|humble|helpful|friendly|artificial|neural|conversational|virtual|digital|"
    r"everyday|personal|creative|capable|versatile|open[\s-](?:domain|source|weights?)|text[\s-]based|computer[\s-]based|AI[\s-](?:powered|based|driven)|machine[\s-]learning|"
    r"generative|advanced|intelligent|automated|automatic|online|trained|pre-?trained|social|non-human|AI|neural|"
    r"artificial\s+intelligence|natural\s+language|language|deep\s+learning|dialogue|chat)\s+)"
)
CERTAIN = (
    r"(?:artificial\s+intelligence(?:\s+(?:language\s+)?(?:model|system|assistant|program|chat\s?bot))?|"
    r"(?:A\.I\.|AI)(?!\w)(?:[\s-]+(?:language\s+)?(?:model|system|assistant|program|chat\s?bot|bot|companion|entity|agent)(?:\s+assistant)?)?|"
    r"(?:language|conversational|dialogue|chat)\s+model|LLM|chat\s?bot|bot|robot|android|(?:computer|software)\s+program|(?:virtual|digital)\s+assistant|"
    r"automated\s+(?:system|assistant)|conversational\s+agent|dialogue\s+system|neural\s+net(?:work)?|"
    r"machine\s+learning\s+(?:model|system|algorithm)|generative\s+model|computer)"
)
PERHAPS = r"(?:machine|program|algorithm|piece\s+of\s+(?:software|code)|bunch\s+of\s+code|simulation|script)"
"""Of themselves people say these only as a joke; with “just” or “only” a program says them."""

HEDGE = r"(?:(?:just|only|merely|simply|actually|really|still|also|after\s+all|of\s+course|basically|essentially)\s+)"
MINE = r"(?:an?|the|your)\s+"
MAKING = (
    r"(?:,?\s+(?:that\s+(?:was|is|has\s+been)\s+|which\s+(?:was|is)\s+)?(?:trained|developed|created|made|built|designed|"
    r"programmed|powered)(?:\s+(?:by|on|to|for|at)\b[^,.;!?\n]{1,60})?|"
    r"\s+(?:from|by)\s+(?-i:[A-Z][\w-]*(?:\s[A-Z][\w-]*){0,2}))"
)
ENDS = (
    r"(?=\s*(?:[.,;:!?)…–—-]|$)|\s+(?:and|so|but|or|that|which|who|with|without|here|now|then|I|my|lol|not|you|like|from|"
    r"myself|after|too|though|haha)\b)"
)
I_AM = r"\b(?:i\s+am|i['’]m|im)\s+"
FROM_BEGINNING = r"(?:(?=,?\s+(?:i|i['’]\w+|my|it)\b)|(?=,))"

LACK = (
    r"\bi\s+(?:do\s+not|don['’]?t|can\s?not|can['’]?t|am\s+not\s+able\s+to|am\s+unable\s+to)\s+(?:actually\s+|really\s+|truly\s+)?"
    r"(?:have|possess|experience|feel|hold|form)\s+|\bi\s+lack\s+"
)
INNER = r"(?:feelings?|emotions?|experiences|opinions|beliefs|preferences|desires|memories|thoughts|sensations)"
OWN = r"(?:(?:any|personal|real|human|true|actual|subjective|genuine|physical|own)\s+)"
TWO = rf"{OWN}*{INNER}(?:,\s+{OWN}*{INNER})*,?\s+(?:or|and)\s+{OWN}*{INNER}"
HUMAN_WAY = (
    r"\s+(?:(?:in\s+)?the\s+(?:same\s+)?way|like|as|that)\s+(?:a\s+)?(?:humans?|people|person)"
    r"(?:\s+(?:do(?:es)?|can|would|have|has))?"
)
BODY = (
    r"(?:(?:an?|any)\s+)?(?:physical\s+(?:body|form|presence|existence)|consciousness|sentience|self-?awareness|taste\s?buds)|"
    r"access\s+to\s+(?:real[\s-]time|up-to-date|current|live)\s+(?:information|data|news|events|updates)|"
    r"(?:the\s+)?(?:ability|capacity)\s+to\s+(?:feel|experience|have)(?:\s+\w+)?(?:\s+(?:or|and)\s+\w+)?|"
    r"real[\s-]time\s+(?:information|data|access|capabilities)"
)
LACKING = (
    rf"(?:{OWN}*{INNER}{HUMAN_WAY}|{TWO}(?:{HUMAN_WAY})?|{BODY}|(?:any\s+)?personal\s+(?:experiences|feelings|emotions|opinions|"
    r"preferences|beliefs|desires|memories)\b)"
)
TO_THE_COMMA = r"(?:[^,.;!?\n]|(?<=\d)[.,](?=\d))*"
KIND = rf"{ADJECTIVE}{{0,4}}{CERTAIN}(?![\w-])"
"""How a program names what it is."""

_TO_DO = (
    r"(?:help|assist|answer|respond|reply|provide|generate|chat|talk|converse|discuss|follow|learn|engage|avoid|simulate|"
    r"mimic|imitate|understand|process|serve|offer|support|interact|communicate|entertain|hold\s+conversations|"
    r"have\s+(?:conversations|no|feelings|opinions)|(?:like|love|please|obey)\s+(?:every\w+|people|humans?|you)|"
    r"(?:say|tell|give|ask|refuse|sound|speak|act|behave)|"
    r"be\s+(?:as\s+|very\s+|always\s+)?(?:polite|helpful|friendly|safe|neutral|honest|harmless|respectful|kind|nice|"
    r"informative|unbiased|objective|patient|conversational|engaging|supportive|an?\s+(?:\w+\s+)?(?:assistant|companion|bot|"
    r"chat\s?bot|AI|partner)))"
)
PURPOSE = (
    rf"(?:(?:not\s+)?to\s+(?:(?:always|only|never|not|just)\s+)?{_TO_DO}|for\s+(?:conversations?|chatting|chat|dialogue|talking|helping|"
    r"assisting|answering|this|that|such)|by\s+(?:(?:an?|the|my|some)\s+)?(?:\w+\s+)?(?:team|researchers?|engineers?|"
    r"developers?|scientists?|creators?|programmers?|humans?|people|company|makers?))\b"
)
"""What programs are made for, and by whom: people are “designed for greatness” and “programmed to wake up at six”."""
