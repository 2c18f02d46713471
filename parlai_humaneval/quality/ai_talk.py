"""Talk by which a model says that it is a program: “As an AI language model, …”, “my knowledge cutoff is …”.

It tells a rater that the partner is a bot and, since each family has words of its own, often which one. People say much
that sounds like it (“as an AI researcher, I …”, “I don't have feelings for him”), so that every pattern needs
what only a program would add: the first person, and a kind of program that is not the first part of a profession.
"""

from __future__ import annotations

import re

from parlai_humaneval.quality.windows import Triggers

_ADJECTIVE = (
    r"(?:(?:large|big|small|little|mere|simple|humble|helpful|friendly|artificial|neural|conversational|virtual|digital|"
    r"open[\s-]domain|open[\s-]source|text[\s-]based|computer[\s-]based|AI[\s-](?:powered|based|driven)|machine[\s-]learning|"
    r"generative|advanced|intelligent|automated|automatic|online|trained|pre-?trained|social|non-human|AI|neural|"
    r"artificial\s+intelligence|natural\s+language|language|deep\s+learning|dialogue|chat)\s+)"
)
_CERTAIN = (
    r"(?:artificial\s+intelligence(?:\s+(?:language\s+)?(?:model|system|assistant|program|chat\s?bot))?|"
    r"(?:A\.I\.|AI)(?!\w)(?:[\s-]+(?:language\s+)?(?:model|system|assistant|program|chat\s?bot|bot|companion|entity|agent))?|"
    r"language\s+model|LLM|chat\s?bot|bot|robot|android|(?:computer|software)\s+program|(?:virtual|digital)\s+assistant|"
    r"automated\s+(?:system|assistant)|conversational\s+agent|dialogue\s+system|neural\s+net(?:work)?|"
    r"machine\s+learning\s+(?:model|system|algorithm)|generative\s+model|computer)"
)
_PERHAPS = r"(?:machine|program|algorithm|piece\s+of\s+(?:software|code)|bunch\s+of\s+code|simulation|script)"
"""Of themselves people say these only as a joke; with “just” or “only” a program says them."""

_HEDGE = r"(?:(?:just|only|merely|simply|actually|really|still|also|after\s+all|of\s+course|basically|essentially)\s+)"
_MINE = r"(?:an?|the|your)\s+"
_MAKING = (
    r"(?:,?\s+(?:that\s+(?:was|is|has\s+been)\s+|which\s+(?:was|is)\s+)?(?:trained|developed|created|made|built|designed|"
    r"programmed|powered)(?:\s+(?:by|on|to|for|at)\b[^,.;!?\n]{1,60})?)"
)
_ENDS = (
    r"(?=\s*(?:[.,;:!?)…–—-]|$)|\s+(?:and|so|but|or|that|which|who|with|without|here|now|then|I|my|lol|not|you|like|from|"
    r"myself|after|too|though|haha)\b)"
)
_I_AM = r"\b(?:i\s+am|i['’]m|im)\s+"
_FROM_BEGINNING = r"(?:(?=,?\s+(?:i|i['’]\w+|my|it)\b)|(?=,))"

_LACK = (
    r"\bi\s+(?:do\s+not|don['’]?t|can\s?not|can['’]?t|am\s+not\s+able\s+to|am\s+unable\s+to)\s+(?:actually\s+|really\s+|truly\s+)?"
    r"(?:have|possess|experience|feel|hold|form)\s+|\bi\s+lack\s+"
)
_INNER = r"(?:feelings?|emotions?|experiences|opinions|beliefs|preferences|desires|memories|thoughts|sensations)"
_OWN = r"(?:(?:any|personal|real|human|true|actual|subjective|genuine|physical|own)\s+)"
_TWO = rf"{_OWN}*{_INNER}(?:,\s+{_OWN}*{_INNER})*,?\s+(?:or|and)\s+{_OWN}*{_INNER}"
_HUMAN_WAY = (
    r"\s+(?:(?:in\s+)?the\s+(?:same\s+)?way|like|as|that)\s+(?:a\s+)?(?:humans?|people|person)"
    r"(?:\s+(?:do(?:es)?|can|would|have|has))?"
)
_BODY = (
    r"(?:(?:an?|any)\s+)?(?:physical\s+(?:body|form|presence|existence)|consciousness|sentience|self-?awareness|taste\s?buds)|"
    r"access\s+to\s+(?:real[\s-]time|up-to-date|current|live)\s+(?:information|data|news|events|updates)|"
    r"(?:the\s+)?(?:ability|capacity)\s+to\s+(?:feel|experience|have)(?:\s+\w+)?(?:\s+(?:or|and)\s+\w+)?|"
    r"real[\s-]time\s+(?:information|data|access|capabilities)"
)
_LACKING = (
    rf"(?:{_OWN}*{_INNER}{_HUMAN_WAY}|{_TWO}(?:{_HUMAN_WAY})?|{_BODY}|(?:any\s+)?personal\s+(?:experiences|feelings|emotions|opinions|"
    r"preferences|beliefs|desires|memories)\b)"
)
_TO_THE_COMMA = r"(?:[^,.;!?\n]|(?<=\d)[.,](?=\d))*"


def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.IGNORECASE | re.MULTILINE)


_KIND = rf"{_ADJECTIVE}{{0,4}}{_CERTAIN}(?![\w-])"


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NEEDS_KIND = words(
    "ai a.i. artificial language llm chatbot chat bot robot android program assistant automated agent dialogue neural "
    "machine generative computer"
)
_NEEDS_KINDS = words(
    "ais llms chatbots bots robots androids programs assistants machines computers language chat neural"
)
_NEEDS_LACK = words("have possess experience feel hold form lack")
_NEEDS_INNER = words(
    "feeling feelings emotion emotions experiences opinions beliefs preferences desires memories thoughts sensations"
)
_NEEDS_BODY = words(
    "body form presence existence consciousness sentience awareness selfawareness taste tastebuds access ability "
    "capacity real"
)

AI_TALK: tuple[tuple[Triggers, re.Pattern[str]], ...] = (
    # As an AI language model trained by …, I; being a chatbot, I; my limitations as a language model
    (
        (
            _NEEDS_KIND,
            words("as being"),
        ),
        _compiled(
            rf"(?:^|(?<=[.!?,;:—–-])|(?<=\s)|(?<=[\"“(]))\s*(?P<hidden>\b(?:as|being)\s+{_HEDGE}{{0,2}}{_MINE}{_KIND}{_MAKING}?){_FROM_BEGINNING}"
        ),
    ),
    (
        (
            _NEEDS_KIND,
            words("my"),
            words("as"),
        ),
        _compiled(rf"\b(?P<hidden>my\s+(?:\w+\s+){{1,3}}as\s+{_MINE}{_KIND})(?:{_ENDS}|\s+(?:to|is|are|was|means)\b)"),
    ),
    # I am an AI …; I'm just a program; I'm not a human
    (
        (
            _NEEDS_KIND,
            words("i im"),
        ),
        _compiled(rf"{_I_AM}{_HEDGE}{{0,3}}(?P<hidden>{_MINE}{_KIND}{_MAKING}?){_ENDS}"),
    ),
    (
        (
            words("machine program algorithm piece bunch simulation script"),
            words("i im"),
        ),
        _compiled(
            rf"{_I_AM}(?:afraid\s+)?{_HEDGE}{{1,3}}(?P<hidden>{_MINE}{_ADJECTIVE}{{0,3}}{_PERHAPS}{_MAKING}?){_ENDS}"
        ),
    ),
    (
        (
            words("human person"),
            words("not"),
            words("i im"),
        ),
        _compiled(
            rf"{_I_AM}{_HEDGE}?(?P<hidden>not\s+(?:actually\s+|really\s+|even\s+)?(?:an?\s+)?"
            rf"(?:(?:real|actual|living)\s+)?(?:human(?:\s+being)?|(?<=real\s)person|(?<=actual\s)person)){_ENDS}"
        ),
    ),
    # You are talking to an AI; bots like me; we robots
    (
        (
            _NEEDS_KIND,
            words("talking speaking chatting"),
        ),
        _compiled(
            rf"\byou(?:\s+are|['’]re)\s+(?:just\s+|only\s+|now\s+)?(?:talking|speaking|chatting)\s+(?:to|with)\s+(?P<hidden>{_MINE}{_KIND}){_ENDS}"
        ),
    ),
    (
        (
            _NEEDS_KIND | _NEEDS_KINDS,
            words("like as"),
            words("me myself us"),
        ),
        _compiled(
            rf"\b(?P<hidden>(?:an?\s+)?{_ADJECTIVE}{{0,4}}{_CERTAIN}(?:['’]?s)?\s+(?:like|such\s+as)\s+(?:me|myself|us)\b)"
        ),
    ),
    (
        (
            _NEEDS_KINDS,
            words("we"),
        ),
        _compiled(r"\b(?P<hidden>we\s+(?:A\.?I\.?s|robots|chat\s?bots|bots|language\s+models|machines)\b)"),
    ),
    # what a program lacks
    (
        (
            _NEEDS_LACK,
            _NEEDS_INNER | _NEEDS_BODY,
        ),
        _compiled(rf"(?:{_LACK})(?P<hidden>{_LACKING})(?!\s+(?:with|for|about|of|left)\b)"),
    ),
    (
        (
            words("browse access search"),
            words("internet web"),
        ),
        _compiled(
            r"(?P<hidden>\bI\s+(?:can\s?not|can['’]?t|am\s+(?:not\s+able|unable)\s+to)\s+(?:browse|access|search)\s+the\s+(?:internet|web)\b)"
        ),
    ),
    (
        (
            words("browse access search"),
            words("internet web"),
        ),
        _compiled(
            r"(?P<hidden>\bI['’]m\s+(?:not\s+able|unable)\s+to\s+(?:browse|access|search)\s+the\s+(?:internet|web)\b)"
        ),
    ),
    # training
    (
        (
            words("knowledge"),
            words("my"),
        ),
        _compiled(rf"(?P<hidden>\bmy\s+knowledge\s+cut-?\s?off{_TO_THE_COMMA}(?<!\s))"),
    ),
    (
        (
            words("last latest"),
            words("my"),
        ),
        _compiled(
            rf"(?P<hidden>\b(?:as\s+of|since|up\s+to|until|at\s+the\s+time\s+of)\s+my\s+(?:last|latest)\s+(?:(?:knowledge|training)\s+)?(?:update|training|cut-?\s?off)"
            rf"{_TO_THE_COMMA}(?<!\s))"
        ),
    ),
    (
        (
            words("training"),
            words("my"),
        ),
        _compiled(
            rf"(?P<hidden>\bmy\s+training\s+data(?:\s+(?:only\s+)?(?:goes|ends|stops|extends|includes|was|is|does|has|comes|cuts){_TO_THE_COMMA})?(?<!\s))"
        ),
    ),
    (
        (
            words("trained"),
            words("on with using"),
        ),
        _compiled(
            rf"(?P<hidden>\b(?:I\s+(?:was|am|have\s+been)|I['’](?:m|ve\s+been))\s+(?:\w+ly\s+)?trained\s+(?:on|with|using)\s+(?:an?\s+|the\s+)?"
            rf"(?:(?:large|huge|vast|massive|big|diverse|wide|enormous|different|many|of|range|amounts?|variety|lots|lot|public)\s+)*"
            rf"(?:data(?:sets?)?|text|texts|corpus|corpora|books|internet|web|conversations|dialogues|tokens)\b{_TO_THE_COMMA}(?<!\s))"
        ),
    ),
    (
        (
            words("programmed designed coded"),
            words("i"),
        ),
        _compiled(
            rf"(?P<hidden>\b(?:I\s+(?:was|am|have\s+been)|I['’](?:m|ve\s+been))\s+(?:\w+ly\s+)?(?:programmed|designed|coded)\s+(?:to|for|by)\b{_TO_THE_COMMA}(?<!\s))"
        ),
    ),
    (
        (
            words("programming algorithm algorithms code"),
            words("my"),
        ),
        _compiled(
            rf"(?P<hidden>\bmy\s+(?:programming|algorithms?|code)\s+(?:does|do|did|doesn['’]t|don['’]t|is\s+not|isn['’]t|allows?|prevents?|"
            rf"tells?|won['’]t)\s+(?:not\s+)?(?:allow|let|permit|me|enable|support|include){_TO_THE_COMMA}(?<!\s))"
        ),
    ),
    (
        (
            words("creator creators developers"),
            words("my"),
        ),
        _compiled(
            rf"(?P<hidden>\bmy\s+(?:creators?|developers)\s+(?:have\s+|has\s+|did\s+)?(?:not\s+)?(?:taught|told|made|trained|programmed|designed|"
            rf"gave|given|built|wanted|did|coded){_TO_THE_COMMA}(?<!\s))"
        ),
    ),
    (
        (
            words("system context training language"),
            words("my"),
        ),
        _compiled(
            r"(?P<hidden>\bmy\s+(?:system\s+prompt|context\s+window|training\s+corpus|training\s+cut-?\s?off|language\s+model)\b)"
        ),
    ),
)
"""What a sentence must hold to be looked at, and a pattern whose group ``hidden`` is to be hidden; an earlier one wins."""

LACKS_MORE: tuple[Triggers, re.Pattern[str]] = (
    (_NEEDS_LACK, _NEEDS_INNER),
    _compiled(
        rf"(?:{_LACK})(?P<hidden>(?:any\s+)?{_OWN}*{_INNER})(?=\s*(?:[.,;!?]|$)|\s+(?:or|and|of\s+my|like|but|so)\b)"
    ),
)
"""“I don't have feelings”: anybody may say so, and it tells only in a text where :data:`AI_TALK` was found."""
