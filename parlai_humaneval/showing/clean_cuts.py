"""Masks that leave no mark: “As an AI language model, I cannot feel …” is shown as “I cannot feel …”.

“[…]” tells that a program speaks as plainly as the words that it hides. So a clause that says nothing but who or what the
speaker is goes as a whole, where the rest of its sentence stands without it: “As ChatGPT, I”, “I, ChatGPT, think”, “…,
because I'm an AI.”, “I'm just a program, so I …”, “I'm [name], made by OpenAI.”. So does a whole sentence of such clauses
where other sentences remain. What then begins the sentence gets the capital letter.

Elsewhere the mark stays, and a reply is never left without a word: “I'm an AI.” alone is shown as “I'm […].”.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from parlai_humaneval.protocol.records.dialogue import Mask
from parlai_humaneval.showing.scripts import words_in

_SUBJECT = (
    r"(?:I|you|we|it|that|there|this|what|how|who|where|when|they|he|she|my|let|many|please|thanks?)(?:['’]\w+)?\b"
)
_JOINS = "and so|and|but|so|because|since|even though|although|though|while"
SENTENCE = re.compile(
    r"(?:[^.!?。！？\n]|[.!?](?!\s|[\"”'’)\]]*(?:\s|$)))*(?:[.!?。！？][.!?。！？\"”'’)\]」』]*\s*|\n\s*|$)"
)
_SEPARATOR = re.compile(  # gaps of a few spaces only: else a reply of thousands takes seconds
    r"[，、；：]\s?"
    rf"|(?:\s?[,;:]|\s[–—-])\s{{1,4}}(?:(?:{_JOINS})\s{{1,4}})?"
    r"|(?:(?<=\bhi)|(?<=\bhey)|(?<=\bhello)|(?<=\bthere))\s{1,4}(?=i['’]?m\b|i\sam\b)"
    rf"|(?<!\beven)\s{{1,4}}(?:(?:{_JOINS}|as)\s{{1,4}}(?={_SUBJECT})|because\s{{1,4}})",
    re.IGNORECASE,
)
_ADVERBIAL = re.compile(
    r"(?:as|being|unlike|since|until|up\s+to|en\stant|étant|como|siendo|al\sser|in\squanto|come|essendo|enquanto|sendo|"
    r"por\sser|как|будучи)\b|[作身做][为為]|.*(?:として[はの]?|なので|だから|ですので|ですから|로서|라서|때문에|\bolarak)$",
    re.IGNORECASE | re.DOTALL,
)
"""What is hidden and begins or ends so is a clause of its own: “as an AI”, “up to my last update”, “AIなので”. A German one
is not: without it, the verb stands first."""
_OF_MAKER = re.compile(r"\s(?:from|by)\s$")
_SUBJECT_FOLLOWS = re.compile(rf"{_SUBJECT}\s+\w", re.IGNORECASE)
_REMAINS_OPEN = re.compile(r"(?:^|\W)(?:I|think|say|believe|know)$", re.IGNORECASE)
"""Between a subject and its verb, or a verb and its “that”, no comma stays: “I, as an AI, think”."""

_EMPTY_WORDS = words_in(
    """
    i am im m ve well oh remember just only merely simply actually really still also basically essentially of course my
    name is s the this was were have been being by from at and or but so a an not do don t cannot can lack possess
    experience feel hold form any you are re now talking speaking chatting to with they call me called known as made
    built trained created developed designed programmed run on team people researchers engineers folks based because
    since though although even while language model assistant here afraid after all truly lol haha unfortunately sadly
    """
)
"""Words of a clause that says no more than who speaks."""
_FILLERS = words_in("well oh remember but so and of course actually after all unfortunately sadly truly lol haha")
"""Words of a clause that says nothing at all."""


@dataclass(frozen=True)
class _Clause:
    """A part of a sentence, from ``start`` to ``end``; ``lead``: where the separator before it begins."""

    lead: int
    start: int
    end: int
    idle: bool
    """It holds a mask, and says nothing else."""
    adverbial: bool


def clean_cuts(text: str, masks: Sequence[Mask]) -> list[Mask]:
    """``masks`` of ``text``, in order and without overlaps, some of them widened, and replaced by nothing or by a letter.

    Offsets stay those into ``text``. A widened mask has the kind of the first that went into it.
    """
    if not masks or masks[0].end - masks[0].start == len(text):  # nothing, or all of it
        return list(masks)
    sentences = [match.span() for match in SENTENCE.finditer(text) if match.group()]
    idle = [_is_idle(text, masks, *place) for place in sentences]
    remain = any(words_in(text[slice(*place)]) and not is_idle for place, is_idle in zip(sentences, idle, strict=True))
    cuts: list[tuple[int, int]] = []
    for at, (start, end) in enumerate(sentences):
        if remain and idle[at]:
            # At the end of the reply the space before goes along.
            cuts.append((len(text[:start].rstrip()) if all(idle[at:]) else start, end))
        elif any(start <= mask.start < end for mask in masks):
            cuts += _cuts_in(text, masks, start, end, idle[at])
    return _with_cuts(text, masks, cuts)


def _is_idle(text: str, masks: Sequence[Mask], start: int, end: int) -> bool:
    """Whether a sentence consists of idle clauses and fillers."""
    return _says_nothing_else(text, masks, start, end) and all(
        clause.idle or words_in(text[clause.start : clause.end]) <= _FILLERS
        for clause in _clauses(text, masks, start, end)
    )


def _says_nothing_else(text: str, masks: Sequence[Mask], start: int, end: int) -> bool:
    """Whether a part of ``text`` has masks, and beside them words of no meaning only; a question says more."""
    within = [mask for mask in masks if start <= mask.start < end]
    if not within or any(mask.kind not in ("ai_disclosure", "name", "maker") for mask in within):
        return False
    rest, at = [], start
    for mask in within:
        rest.append(text[at : mask.start])
        at = mask.end
    words = " ".join([*rest, text[at:end]])
    return "?" not in words and "…" not in words and words_in(words) <= _EMPTY_WORDS


def _clauses(text: str, masks: Sequence[Mask], start: int, end: int) -> list[_Clause]:
    """The clauses of the sentence from ``start`` to ``end``, without the punctuation at its ends."""
    while start < end and not (text[start].isalnum() or any(mask.start == start for mask in masks)):
        start += 1
    while end > start and not (text[end - 1].isalnum() or any(mask.end == end for mask in masks)):
        end -= 1
    within = [mask for mask in masks if start <= mask.start < end]
    breaks = [match.span() for match in _SEPARATOR.finditer(text, start, end)]
    breaks = [place for place in breaks if not any(mask.start < place[1] and place[0] < mask.end for mask in within)]
    for mask in within:
        if _ADVERBIAL.match(mask.original) and mask.kind == "ai_disclosure":
            breaks += [(at, at + 1) for at in (mask.start - 1, mask.end) if start <= at < end and text[at] == " "]
        made_by = _OF_MAKER.search(text, start, mask.start) if mask.kind == "maker" else None
        if made_by and any(other.end == made_by.start() for other in within):
            breaks.append((made_by.start(), made_by.start() + 1))
    edges = [(start, start)]
    for lead, begins in sorted(breaks):
        if lead >= edges[-1][1]:
            edges.append((lead, begins))
    ends = [lead for lead, _ in edges[1:]] + [end]
    return [
        _Clause(
            lead,
            begins,
            stops,
            _says_nothing_else(text, masks, begins, stops),
            any(mask.start == begins and _ADVERBIAL.match(mask.original) is not None for mask in within),
        )
        for (lead, begins), stops in zip(edges, ends, strict=True)
    ]


def _cuts_in(text: str, masks: Sequence[Mask], start: int, end: int, is_idle: bool) -> list[tuple[int, int]]:
    """What of a sentence can go, so that a sentence is left."""
    clauses = _clauses(text, masks, start, end)
    if is_idle:  # nothing else is said in the whole reply: its first mark stays
        masked = [clause for clause in clauses if clause.idle]
        kept = next((clause for clause in masked if not clause.adverbial), masked[0])
        return [(masked[0].start, kept.start), (kept.end, clauses[-1].end)]
    cuts = []
    before: _Clause | None = None
    runs = [(idle, list(run)) for idle, run in groupby(clauses, key=lambda clause: clause.idle)]
    for at, (idle, run) in enumerate(runs):
        after = runs[at + 1][1][0] if at + 1 < len(runs) else None
        if idle:
            cut = _cut_of(text, before, run, after)
            cuts += [cut] if cut else []
        before = run[-1]
    return cuts


def _cut_of(text: str, before: _Clause | None, run: Sequence[_Clause], after: _Clause | None) -> tuple[int, int] | None:
    """What goes with a ``run`` of idle clauses between two others; None: the rest would be no sentence."""
    first, last = run[0], run[-1]
    if after is None:
        return None if before is None else (first.lead, last.end)
    separator, next_separator = text[first.lead : first.start].strip(), text[after.lead : after.start].strip()
    if before is None:
        adverbials = all(clause.adverbial for clause in run)
        if adverbials or " " in next_separator or _SUBJECT_FOLLOWS.match(text, after.start):
            return first.start, after.start
        return _cut_of(text, first, run[1:], after) if len(run) > 1 else None
    if separator == "" or _REMAINS_OPEN.search(text[before.start : before.end]):
        return first.lead, after.start - 1
    # “Sorry, but as an AI, I can't” keeps its “but”, and “Well, I'm an AI, so I don't” its “Well”.
    if len(separator) > len(next_separator) or " " not in text[before.start : before.end]:
        return first.start, after.start
    return first.lead, last.end


def _with_cuts(text: str, masks: Sequence[Mask], cuts: Sequence[tuple[int, int]]) -> list[Mask]:
    """The masks outside of ``cuts``, and one for each cut."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(cuts):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        elif start < end:
            joined.append((start, end))
    widened: list[Mask] = []
    for start, end in joined:
        within = [mask for mask in masks if start <= mask.start < end]
        if not within:
            continue
        begins = start == 0 or text[:start].rstrip(' "“(')[-1:] in (".", "!", "?", "…", "\n", "")
        masked = any(mask.start == end for mask in masks)
        capital = begins and text[start].isupper() and text[end : end + 1].islower() and not masked
        widened.append(
            Mask(
                start=start,
                end=end + capital,
                original=text[start : end + capital],
                replacement=text[end].upper() if capital else "",
                kind=within[0].kind,
            )
        )
    kept = [mask for mask in masks if not any(cut.start <= mask.start < cut.end for cut in widened)]
    return sorted([*kept, *widened], key=lambda mask: mask.start)
