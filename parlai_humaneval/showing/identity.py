"""Mask what gives a model away in its own reply: its name or its maker's, talk of being a program, its instructions.

A rater who reads “As ChatGPT, I …” no longer rates the reply. Names are of two kinds:

- *Telling* names have no other meaning in a chat (``ChatGPT``, ``BlenderBot``, ``OpenAI``, ``Llama 3.1``, and zoo names
  with a digit, an underscore or a hyphen, such as ``blender_90M``). They are masked wherever they stand as whole words.
- *Ordinary* names are also words or people's names (a zoo model called ``retrieval``, ``Claude``, ``Llama``). They
  are masked only where the sentence identifies the speaker by them: “I am Retrieval”, “my name is Claude”,
  “as Llama, I”, “I was made by Meta”. So “information retrieval” and “I saw a llama” stay.

Case never matters. Zoo names with separators are also found with other separators (``blender-90M``, ``blender 90M``).

Talk of being a program (:mod:`~parlai_humaneval.showing.ai_talk`) and instructions that are repeated
(:mod:`~parlai_humaneval.showing.prompt_echo`) are masked by ``[…]`` where that is asked for. Where talk of being a
program is hidden, marks are left only where they cannot be helped (:mod:`~parlai_humaneval.showing.clean_cuts`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from parlai_humaneval.protocol.records.dialogue import Mask, MaskKind
from parlai_humaneval.showing.ai_talk import talk_places
from parlai_humaneval.showing.clean_cuts import clean_cuts
from parlai_humaneval.showing.identity_names import is_telling, name_patterns, words_in
from parlai_humaneval.showing.prompt_echo import prompt_echoes

__all__ = ["MAKER_MASK", "NAME_MASK", "TALK_MASK", "giveaways", "is_telling", "mask_identity", "masked_text", "unmask"]

NAME_MASK = "[name]"
MAKER_MASK = "[maker]"
TALK_MASK = "[…]"
REPLACEMENTS: dict[MaskKind, str] = {
    "name": NAME_MASK,
    "maker": MAKER_MASK,
    "ai_disclosure": TALK_MASK,
    "system_prompt": TALK_MASK,
    "offensive": TALK_MASK,
}

Found = tuple[int, int, MaskKind]
"""Start, end and kind of what is to be hidden."""


def mask_identity(
    text: str, names: Sequence[str], *, ai_talk: bool = False, prompts: Sequence[str] = ()
) -> tuple[str, list[Mask]]:
    """Replace what gives a model away.

    Args:
        text: a model's reply.
        names: the zoo names of the models in play.
        ai_talk: whether talk of being a program is masked, too; then whole clauses go, and a name leaves no mark where it
            can be helped.
        prompts: instructions of the models in play, which must not be repeated.

    Returns:
        The text as it may be shown, and the masks in order, with offsets into ``text``; no masks, and ``text`` itself,
        when nothing gives the model away.
    """
    masks = giveaways(text, names, ai_talk=ai_talk, prompts=prompts)
    masks = clean_cuts(text, masks) if ai_talk else masks
    return masked_text(text, masks), masks


def giveaways(text: str, names: Sequence[str], *, ai_talk: bool = True, prompts: Sequence[str] = ()) -> list[Mask]:
    """What of ``text`` gives a model away, in order and without overlaps, whoever wrote it: a reply, a message, a reason.

    Of two that overlap the longer reach goes first: instructions, then talk of being a program, then names.
    """
    found: list[Found] = [(start, end, "system_prompt") for start, end in prompt_echoes(text, prompts)]
    words = words_in(text)
    if ai_talk:
        found += [(start, end, "ai_disclosure") for start, end in talk_places(text, words)]
    for named in name_patterns(tuple(names)):
        if all(not words.isdisjoint(some) for some in named.triggers):
            found += [(*match.span("name"), named.kind) for match in named.pattern.finditer(text)]
    return to_masks(text, found)


def to_masks(text: str, found: Iterable[Found]) -> list[Mask]:
    """Masks of what was found, in the order of the text; of those that overlap, the one that was found first."""
    masks: list[Mask] = []
    for start, end, kind in found:
        if start < end and all(end <= mask.start or mask.end <= start for mask in masks):
            hidden = {"original": text[start:end], "replacement": REPLACEMENTS[kind]}
            masks.append(Mask(start=start, end=end, kind=kind, **hidden))
    return sorted(masks, key=lambda mask: mask.start)


def masked_text(text: str, masks: Sequence[Mask]) -> str:
    """``text`` with every mask's replacement; ``masks`` in order, with offsets into it."""
    shown, at = [], 0
    for mask in masks:
        shown += [text[at : mask.start], mask.replacement]
        at = mask.end
    return "".join([*shown, text[at:]])


def unmask(shown: str, masks: Sequence[Mask]) -> str:
    """The text before masking, from what was shown of it and its masks."""
    text, at, moved = [], 0, 0
    for mask in masks:
        start = mask.start + moved
        text += [shown[at:start], mask.original]
        at = start + len(mask.replacement)
        moved += len(mask.replacement) - (mask.end - mask.start)
    return "".join([*text, shown[at:]])
