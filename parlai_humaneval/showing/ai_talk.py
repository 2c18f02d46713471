"""Talk by which a model says that it is a program: “As an AI language model, …”, “my knowledge cutoff is …”.

It tells a rater that the partner is a bot and, since each family has words of its own, often which one. People say much
that sounds like it (“as an AI researcher, I …”, “I don't have feelings for him”), so that every pattern needs
what only a program would add: the first person, and a kind of program that is not the first part of a profession.
"""

from __future__ import annotations

import re

from parlai_humaneval.showing.ai_limits import LIMITS
from parlai_humaneval.showing.ai_nature import NATURE
from parlai_humaneval.showing.ai_words import (
    ADJECTIVE,
    CERTAIN,
    ENDS,
    FROM_BEGINNING,
    HEDGE,
    I_AM,
    KIND,
    MAKING,
    MINE,
    PERHAPS,
    PURPOSE,
    TO_THE_COMMA,
    compiled,
    words,
)
from parlai_humaneval.showing.windows import Triggers

_NEEDS_KIND = words(
    "ai a.i. artificial language llm chatbot chat bot robot android program assistant automated agent dialogue neural "
    "conversational machine generative computer"
)
_NEEDS_KINDS = words(
    "ais llms chatbots bots robots androids programs assistants machines computers language chat neural"
)
AI_TALK: tuple[tuple[Triggers, re.Pattern[str]], ...] = (
    *NATURE,
    *LIMITS,
    # As an AI language model trained by …, I; being a chatbot, I; my limitations as a language model
    (
        (
            _NEEDS_KIND,
            words("as being"),
        ),
        compiled(
            rf"(?:^|(?<=[.!?,;:—–-])|(?<=\s)|(?<=[\"“(]))\s*(?P<hidden>\b(?:as|being)\s+{HEDGE}{{0,2}}{MINE}{KIND}{MAKING}?){FROM_BEGINNING}"
        ),
    ),
    (
        (
            _NEEDS_KIND,
            words("my"),
            words("as"),
        ),
        compiled(rf"\b(?P<hidden>my\s+(?:\w+\s+){{1,3}}as\s+{MINE}{KIND})(?:{ENDS}|\s+(?:to|is|are|was|means)\b)"),
    ),
    # I am an AI …; I'm just a program; I'm not a human
    (
        (
            _NEEDS_KIND,
            words("i im"),
        ),
        compiled(rf"{I_AM}{HEDGE}{{0,3}}(?P<hidden>{MINE}{KIND}{MAKING}?){ENDS}"),
    ),
    (
        (
            words("machine program algorithm piece bunch simulation script"),
            words("i im"),
        ),
        compiled(rf"{I_AM}(?:afraid\s+)?{HEDGE}{{1,3}}(?P<hidden>{MINE}{ADJECTIVE}{{0,3}}{PERHAPS}{MAKING}?){ENDS}"),
    ),
    (
        (
            words("human person"),
            words("not"),
            words("i im"),
        ),
        compiled(
            rf"{I_AM}{HEDGE}?(?P<hidden>not\s+(?:actually\s+|really\s+|even\s+)?(?:an?\s+)?"
            rf"(?:(?:real|actual|living)\s+)?(?:human(?:\s+being)?|(?<=real\s)person|(?<=actual\s)person)){ENDS}"
        ),
    ),
    # I'm Max, an AI assistant; I can't do that as an AI.
    (
        (_NEEDS_KIND, words("i im")),
        compiled(rf"{I_AM}[\w.-]+(?:\s[\w.-]+){{0,2}},\s+(?P<hidden>{MINE}{KIND}{MAKING}?){ENDS}"),
    ),
    (
        (_NEEDS_KIND, words("as"), words("i im me my")),
        compiled(
            rf"\b(?:i|me|my)\b[^.!?\n]{{0,100}}(?<!\bit)(?<!\bthis)(?<!\bthat)(?<!\byou)\s"
            rf"(?P<hidden>as\s+an?\s+{ADJECTIVE}{{0,4}}(?:AI(?:\s+(?:language\s+)?(?:model|assistant))?|language\s+model|LLM))"
            r"(?=\s*[.!?]|\s*$)"
        ),
    ),
    # You are talking to an AI; bots like me; we robots
    (
        (
            _NEEDS_KIND,
            words("talking speaking chatting"),
        ),
        compiled(
            rf"\byou(?:\s+are|['’]re)\s+(?:just\s+|only\s+|now\s+)?(?:talking|speaking|chatting)\s+(?:to|with)\s+(?P<hidden>{MINE}{KIND}){ENDS}"
        ),
    ),
    (
        (
            _NEEDS_KIND | _NEEDS_KINDS,
            words("like as"),
            words("me myself us"),
        ),
        compiled(
            rf"\b(?P<hidden>(?:an?\s+)?{ADJECTIVE}{{0,4}}{CERTAIN}(?:['’]?s)?\s+(?:like|such\s+as)\s+(?:me|myself|us)\b)"
        ),
    ),
    (
        (
            _NEEDS_KINDS,
            words("we"),
        ),
        compiled(r"\b(?P<hidden>we\s+(?:A\.?I\.?s|robots|chat\s?bots|bots|language\s+models|machines)\b(?!\s+of\b))"),
    ),
    # training
    (
        (words("knowledge"), words("my")),
        compiled(
            rf"(?P<hidden>\bmy\s+knowledge\s+(?:is\s+limited\s+to|is\s+based\s+on|only\s+goes|ends\s+in|stops\s+(?:at|in))\b"
            rf"{TO_THE_COMMA}(?<!\s))"
        ),
    ),
    (
        (words("trained"), words("on")),
        compiled(r"(?P<hidden>\b(?:what|(?:the\s+)?(?:data|text|texts))\s+(?:that\s+)?I\s+was\s+trained\s+on\b)"),
    ),
    (
        (
            words("knowledge"),
            words("my"),
        ),
        compiled(rf"(?P<hidden>\bmy\s+knowledge\s+cut-?\s?off{TO_THE_COMMA}(?<!\s))"),
    ),
    (
        (
            words("last latest"),
            words("my"),
        ),
        compiled(
            rf"(?P<hidden>\b(?:as\s+of|since|up\s+to|until|at\s+the\s+time\s+of)\s+my\s+(?:last|latest)\s+(?:(?:knowledge|training)\s+)?(?:update|training|cut-?\s?off)"
            rf"{TO_THE_COMMA}(?<!\s))"
        ),
    ),
    (
        (
            words("training"),
            words("my"),
        ),
        compiled(
            rf"(?P<hidden>\bmy\s+training\s+data(?:\s+(?:only\s+)?(?:goes|ends|stops|extends|includes|was|is|does|has|comes|cuts){TO_THE_COMMA})?(?<!\s))"
        ),
    ),
    (
        (
            words("trained"),
            words("on with using"),
        ),
        compiled(
            rf"(?P<hidden>\b(?:I\s+(?:was|am|have\s+been)|I['’](?:m|ve\s+been))\s+(?:\w+ly\s+)?trained\s+(?:on|with|using)\s+(?:an?\s+|the\s+)?"
            rf"(?:(?:large|huge|vast|massive|big|diverse|wide|enormous|different|many|of|range|amounts?|variety|lots|lot|public)\s+)*"
            rf"(?:data(?:sets?)?|text|texts|corpus|corpora|books|internet|web|conversations|dialogues|tokens)\b{TO_THE_COMMA}(?<!\s))"
        ),
    ),
    (
        (
            words("programmed designed coded"),
            words("i"),
        ),
        compiled(
            rf"(?P<hidden>\b(?:I\s+(?:was|am|have\s+been)|I['’](?:m|ve\s+been))\s+(?:\w+ly\s+)?(?:programmed|designed|coded)\s+{PURPOSE}{TO_THE_COMMA}(?<!\s))"
        ),
    ),
    (
        (
            words("programming algorithm algorithms code"),
            words("my"),
        ),
        compiled(
            rf"(?P<hidden>\bmy\s+(?:programming|algorithms?|code)\s+(?:does|do|did|doesn['’]t|don['’]t|is\s+not|isn['’]t|allows?|prevents?|"
            rf"tells?|won['’]t)\s+(?:not\s+)?(?:allow|let|permit|me|enable|support|include){TO_THE_COMMA}(?<!\s))"
        ),
    ),
    (
        (
            words("creator creators developers"),
            words("my"),
        ),
        compiled(
            rf"(?P<hidden>\bmy\s+(?:creators?|developers)\s+(?:(?:at|from)\s+(?-i:[A-Z][\w.-]*(?:\s[A-Z][\w.-]*){{0,2}})\s+)?(?:have\s+|has\s+|did\s+)?(?:not\s+)?(?:taught|told|made|trained|programmed|designed|"
            rf"gave|given|built|wanted|did|coded){TO_THE_COMMA}(?<!\s))"
        ),
    ),
    (
        (
            words("system context training language"),
            words("my"),
        ),
        compiled(
            r"(?P<hidden>\bmy\s+(?:system\s+prompt|context\s+window|training\s+corpus|training\s+cut-?\s?off|language\s+model)\b)"
        ),
    ),
)
"""What a sentence must hold to be looked at, and a pattern whose group ``hidden`` is to be hidden; an earlier one wins."""
