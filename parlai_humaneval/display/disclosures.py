"""Talk by which a model says that it is a program: “As an AI language model, …”, “my knowledge cutoff is …”.

It tells a rater that the partner is a bot and, since each family has words of its own, often which one. People say much
that sounds like it (“as an AI researcher, I …”, “I don't have feelings for him”). So a phrase holds the first person and
something that only a program says of itself, and ends where a person would go on. It is a short list, not a grammar: what
it finds and what it wrongly finds is measured on the lists of sentences in the tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from parlai_humaneval.display.model_names import any_of
from parlai_humaneval.display.text import words_in
from parlai_humaneval.display.vocabulary import packaged

_MAKER = any_of([*packaged().words.ordinary_makers, *packaged().words.makers])
_HEDGES = (
    "(?:(?:just|only|merely|simply|actually|really|still|also|afraid|basically|essentially|after all|of course) ){0,3}"
)
_I_AM = r"\bi(?: am|'m) "
_I_AM_MAX = rf"{_I_AM}{_HEDGES}(?:[\w.-]+(?: [\w.-]+){{0,2}}, )?"
"""“I am just”, “I'm Max, ”: what stands before the kind of program."""
_I_WAS = r"\bi(?: was| am| have been|'m|'ve been)(?: \w+ly)?"
_CANNOT = r"\bi(?: cannot| can not| can't|(?: am|'m) (?:not able|unable) to| won't be able to)(?: actually)?"
_LACK = (
    r"\bi (?:(?:do not|don't|cannot|can not|can't)(?: actually| really| truly)? "
    r"(?:have|possess|experience|feel|hold|form)|lack) "
)

_ADJECTIVES = r"(?:(?!(?:of|the|for|with|in|at|on|and|who|that|to|from|by|an?|my|your|our|their|\w+ing)\b)[\w-]+ ){0,4}"
_KIND = (
    rf"(?:an?|the|your) {_ADJECTIVES}(?:"
    r"(?:a\.i\.|ai|artificial intelligence)"
    r"(?:[\s-](?:language )?(?:model|system|assistant|program|chat ?bot|bot|companion|entity|agent)(?: assistant)?)?|"
    r"(?:language|conversational|dialogue|neural|machine learning|generative) (?:model|agent|system|network)|"
    r"(?:computer|software) program|(?:virtual|digital|automated) (?:assistant|system)|"
    r"llm|chat ?bot|bot|robot|android|computer)(?![\w-])"
)
"""How a program names what it is."""
_MADE = (
    r"(?:,? (?:(?:that|which) (?:was|is|has been) )?(?:trained|developed|created|made|built|designed|programmed|powered)"
    r"(?: (?:by|on|to|for|at)\b[^,.;!?\n]{1,60})?| (?:from|by) (?-i:[A-Z][\w-]*(?: [A-Z][\w-]*){0,2}))?"
)

_STOP = r"(?=\s*(?:[.,;:!?)…–—-]|$))"
_ENDS = (
    r"(?=\s*(?:[.,;:!?)…–—-]|$)|\s+(?:and|so|but|or|that|which|who|with|without|here|now|then|I|my|lol|not|you|like|"
    r"from|myself|after|too|though|haha|because|since|unfortunately)\b)"
)
"""What follows a kind of program, and no “researcher”, “student” or “of”."""
_REST = r"\b(?:[^,.;!?\n]|(?<=\d)[.,](?=\d))*(?<!\s)"
"""The rest of the clause."""

_INNER = "(?:feelings?|emotions?|experiences|opinions|beliefs|preferences|desires|memories|thoughts|sensations)"
_INNERS = rf"(?:(?:any|personal|real|human|true|actual|subjective|genuine|own) )*{_INNER}"
_HUMAN_WAY = r"(?:(?:in )?the (?:same )?way|like|as|that) (?:a )?(?:humans?|people|person)(?: do)?"
_TALKS = (
    r"(?:(?:any|our|your|my|the) )?(?:(?:past|previous|earlier|prior|different|other|individual) )?"
    r"(?:conversations|chats|interactions|discussions|sessions)"
)
_NEWS = (
    r"(?:real[\s-]time|live|current|up[\s-]to[\s-]date) (?:\w+ )?"
    r"(?:information|data|news|updates|events|content|results)"
)
_WEB = r"(?:browse|access|search) the (?:internet|web)"
_TO_DO = (
    r"(?:help|assist|answer|respond|provide|generate|chat|talk|discuss|engage|avoid|simulate|understand|process|support|"
    r"interact|have (?:conversations|no|feelings)|like every\w+|"
    r"be (?:always )?(?:polite|helpful|friendly|safe|neutral|honest|harmless|respectful|kind|unbiased|an?))"
)


def _phrase(before: str, hidden: str, after: str) -> re.Pattern[str]:
    """A pattern whose group ``hidden`` stands between two others.

    A space in it stands for a few, as no two words are further apart, and an apostrophe for any or none.
    """
    expression = f"{before}(?P<hidden>{hidden}){after}".replace(" ?", r"\s{0,3}").replace(" ", r"\s{1,3}")
    return re.compile(expression.replace("'", "['’]?"), re.IGNORECASE | re.MULTILINE)


_PHRASES = tuple(
    _phrase(*parts)
    for parts in (
        # As an AI language model trained by …, I; my limitations as a language model; I can't love as an AI.
        (r"\b", rf"(?:as|being) {_HEDGES}{_KIND}{_MADE}", r"(?=,|,? (?:i|i'\w+|my|it)\b)"),
        (r"\b", rf"my (?:\w+ ){{1,3}}as {_KIND}", rf"(?={_ENDS}| (?:to|is|are|was|means)\b)"),
        (r"(?:not|n't|never|\bonly)\b[^.!?\n]{0,80} ", f"as {_KIND}", "(?=[.!?]|$)"),
        (r"\b", "as (?:an?|your) assistant", r"(?=,? i(?: am|'m)? (?:can't|cannot|unable|not able|don't have)\b)"),
        # I'm just an AI; I'm Max, an assistant from OpenAI; I'm only a machine; I'm made of code; I'm not real
        (_I_AM_MAX, f"{_KIND}{_MADE}", _ENDS),
        (
            _I_AM_MAX,
            rf"(?:an?|the|your) {_ADJECTIVES}(?:assistant|model|companion|program|helper)"
            rf"(?: (?:from|by)|,? (?:made|built|trained|created|developed) (?:by|at)) {_MAKER}",
            r"\b",
        ),
        (
            f"{_I_AM}(?:just|only|merely|simply) {_HEDGES}",
            f"an? (?:machine|program|algorithm|simulation|script){_MADE}",
            _ENDS,
        ),
        (
            f"{_I_AM}(?:{_HEDGES}|made of |nothing but )",
            rf"(?:a piece of |lines of )?(?:software|code)(?: running{_REST})?",
            _STOP,
        ),
        (f"{_I_AM}{_HEDGES}", "not (?:(?:actually|really|even|an?|real|living) )*human(?: being)?", _STOP),
        (f"{_I_AM}{_HEDGES}", "not (?:an?|actually) (?:real|actual) person|not (?:(?:actually|even) )?real", _STOP),
        (rf"(?:{_I_AM}|\bmy name(?: is|'s) )", "(?-i:Assistant)", _STOP),
        (r"\b", "(?:(?:you (?:can|may)|just) )?call me (?-i:Assistant)", _STOP),
        (
            r"\b",
            "i (?:only |just )?(?:exist|live|run) (?:(?:only|just) )?(?:as|in|on|inside) (?:(?:an?|the) )?(?:lines of )?"
            "(?:code|software|program|servers?|computers?|cloud)(?: on an? server)?",
            _STOP,
        ),
        # you are talking to an AI; bots like me; we robots; unlike humans, I …
        (r"\byou(?: are|'re) (?:(?:just|only|now) )?(?:talking|speaking|chatting) (?:to|with) ", _KIND, _ENDS),
        (r"\b", "(?:an? )?(?:ais?|(?:language )?models?|llms?|(?:chat)?bots?|robots?) like (?:me|us|myself)", r"\b"),
        (r"\b", "we (?:ais|robots|chat ?bots|bots|language models)", r"\b(?! of)"),
        (r"\b", "unlike (?:(?:you|an?|real|actual|most) )*human(?:s| beings?)?", r"(?=,? i\b)"),
        (r"\bi(?:,| never| don't| can't)[^.!?\n]{0,80} ", "unlike humans", _STOP),
        # I don't have personal opinions, or a body; I can't browse the internet; I can't help with that request
        (
            _LACK,
            rf"{_INNERS} {_HUMAN_WAY}|{_INNERS}(?:, {_INNERS})*,? (?:or|and) {_INNERS}|(?:any )?personal {_INNER}|"
            rf"(?:(?:an?|any) )?physical (?:body|form|presence)|consciousness|taste ?buds|(?:access to )?{_NEWS}|"
            r"the (?:ability|capacity) to (?:feel|experience)(?: \w+)?",
            r"\b(?! (?:with|for|of|left|at)\b)",
        ),
        (r"\bi (?:don't|do not)(?: actually| really)? (?:experience|possess) ", "emotions|feelings", _STOP),
        ("", f"{_CANNOT} {_WEB}", r"(?=[.!?]|$|, i'm|,? (?:or|and|but|so|to)\b)"),
        (
            "",
            f"{_CANNOT} (?:access|provide|retrieve|offer|look up) (?:you with )?{_NEWS}",
            r"\b(?! (?:at|from|on|in)\b)",
        ),
        (
            r"\bi (?:(?:do not|don't) have|lack) ",
            rf"the (?:ability|capacity|capability) to (?:(?:remember|recall|retain|store) {_TALKS}|{_WEB}|"
            "(?:see|view|hear|process) (?:images|pictures|videos))",
            r"\b",
        ),
        (
            r"\b",
            "i (?:do not|don't|cannot|can't) (?:retain|store|save|keep) (?:any )?(?:information|memory|data|anything) "
            f"(?:from|between|of|across) {_TALKS}",
            r"\b",
        ),
        (
            "",
            f"{_CANNOT} (?:(?:help|assist)(?: you)? with|comply with|fulfill?|process) (?:that|this|your|such) "
            "(?:(?:kind|type|sort) of )?requests?",
            _ENDS,
        ),
        # my knowledge cutoff is …; I was trained on text; I was programmed to help; my creators taught me
        (r"\b", "my (?:system prompt|context window|training corpus|language model)", r"\b"),
        (r"\b", "(?:what|(?:the )?(?:data|texts?)) (?:that )?i was trained on", r"\b"),
        (
            r"\b",
            r"(?:my knowledge (?:cut-?\s?off|is limited to what|only goes|ends in|stops (?:at|in))|"
            r"my training (?:data|cut-?\s?off)|"
            "(?:as of|since|up to|until) my (?:last|latest) (?:(?:knowledge|training) )?(?:update|training)|"
            rf"{_I_WAS} trained (?:on|with|using) (?:(?!this|the job)[\w-]+ ){{0,5}}?"
            "(?:data(?:sets?)?|texts?|corpus|books|internet|conversations|dialogues)|"
            rf"{_I_WAS} (?:programmed|designed) (?:not )?to {_TO_DO}|"
            rf"{_I_WAS} (?:programmed|designed) by (?:(?:an?|the) )?(?:\w+ )?(?:team|researchers|engineers|developers)|"
            "my (?:programming|algorithms?|code) (?:does not|doesn't|won't) (?:allow|let|permit|support)|"
            r"my (?:creators?|developers)(?: (?:at|from) (?-i:[A-Z][\w.-]*))? (?:(?:have|has) )?(?:not )?"
            rf"(?:taught|told|made|trained(?! for)|programmed|designed|gave|given|built|wanted)){_REST}",
            "",
        ),
    )
)
"""What stands before, what is to be hidden, and what follows."""

_LACK_OF_FEELINGS = _phrase(_LACK, _INNERS, r"(?=\s*(?:[.,;!?]|$)| (?:or|and|of my|like|but|so)\b)")
"""“I don't have feelings”: anybody may say so, and it tells only in a text where other talk of a program was found."""

_HINTS = words_in(
    """
    ai ais bot bots chatbot chatbots robot robots android intelligence llm llms model models computer program
    machine algorithm algorithms software code programming programmed system network agent server servers cloud
    assistant assistants companion helper simulation script human humans person people real request requests
    internet web live current date time data consciousness taste tastebuds physical ability capacity capability
    trained training knowledge update prompt context language designed creator creators developers conversations
    chats interactions discussions sessions personal feeling feelings emotion emotions experiences opinions beliefs
    preferences desires memories thoughts sensations
    """
)
"""Each phrase holds one of these: most of what people say holds none, and is passed over at once."""
_BETWEEN_SENTENCES = re.compile(r"(?<=[^\s.][^\s.][.!?])\s")
"""No gap follows the dots of “A.I.”."""


def english_talk(text: str, words: frozenset[str]) -> list[tuple[int, int]]:
    """Where ``text`` says that a program speaks, as (start, end); they may overlap.

    ``words``: those in it.
    """
    if words.isdisjoint(_HINTS) and "a.i." not in text.casefold():
        return []
    places = []
    for start, end in _sentence_spans(text):
        said = text[start:end]
        if not words_in(said).isdisjoint(_HINTS) or "a.i." in said.casefold():
            places += [match.span("hidden") for phrase in _PHRASES for match in phrase.finditer(text, start, end)]
    if places:
        places += [match.span("hidden") for match in _LACK_OF_FEELINGS.finditer(text)]
    return places


def _sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for gap in _BETWEEN_SENTENCES.finditer(text):
        yield start, gap.start()
        start = gap.start()
    yield start, len(text)
