"""A finished dialogue → what is recorded of it, and the panel on a rater's page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar
from uuid import uuid4

from parlai_humaneval.allocation.item import Item
from parlai_humaneval.dialogues.dialogue import HUMAN, Dialogue
from parlai_humaneval.dialogues.personas import persona_line
from parlai_humaneval.display.masking import TALK_MASK
from parlai_humaneval.display.presenter import AS_SAID, Presented, Presenter
from parlai_humaneval.display.text import is_blank
from parlai_humaneval.i18n.translate import phrase, t
from parlai_humaneval.schema.panels import Panel, PanelLine
from parlai_humaneval.schema.records import Candidate, ReplayedRating, ShownDialogue, ShownLine
from parlai_humaneval.techniques.questions import PAIR_SPEAKERS, SPOT_SPEAKERS

OTHER = phrase("Partner")
"""What the speaker is called who is not judged."""
REPLAYED = (phrase("Person"), phrase("Partner"))
"""What the two speakers of a dialogue with a chatbot are called where it is rated once more."""

Said = TypeVar("Said", ShownLine, Candidate)
Names = Literal["pair", "segment", "replay"]


def shown_dialogue(
    dialogue: Dialogue, *, position: int = 1, judged: int | None = None, k: int | None = None, seeded: int = 0
) -> ShownDialogue:
    """What a record says of a dialogue of which ``k`` exchanges are shown after ``seeded`` ones (None: all of it).

    Raises:
        ValueError: more than two people or models speak, or it is shorter than that.
    """
    speakers = dialogue.speakers
    if len(speakers) != 2:
        raise ValueError(f"dialogue {dialogue.dialogue_id} has {len(speakers)} speakers; two can be shown")
    if k is not None and dialogue.exchanges < k + seeded:
        raise ValueError(f"dialogue {dialogue.dialogue_id} has {dialogue.exchanges} exchanges, not {k + seeded}")
    lines = dialogue.lines if k is None else dialogue.lines[: 2 * (k + seeded)]
    return ShownDialogue(
        dialogue_id=dialogue.dialogue_id,
        position=position,
        kind=dialogue.kind,
        entities=[dialogue.entities.get(speaker, HUMAN) for speaker in speakers],
        judged=judged,
        k=k,
        lines=[ShownLine(speaker=speakers.index(line.speaker), text=line.text) for line in lines],
        context=list(dialogue.context),
        source=dialogue.source,
        settings=dict(dialogue.settings),
        replayed=dialogue.rating,
    )


def shown_item(
    item: Item, dialogues: Mapping[str, Dialogue], seeded: int, *, swapped: bool = False
) -> list[ShownDialogue]:
    """The dialogues of an item in their places; ``swapped``: the second stands on the left.

    Raises:
        ValueError: as :func:`shown_dialogue`.
    """
    order = list(zip(item.dialogues, item.judged, strict=True))
    if swapped:
        order.reverse()
    return [
        shown_dialogue(dialogues[name], position=position, judged=judged, k=item.k, seeded=seeded)
        for position, (name, judged) in enumerate(order, start=1)
    ]


def masked(shown: ShownDialogue, models: Sequence[str], presenter: Presenter = AS_SAID) -> ShownDialogue:
    """The same as people may see it: what gives one of ``models``, or a well-known one, away is masked in what models say,
    and their lines look as ``presenter`` has them look."""
    lines = [
        line if shown.entities[line.speaker] == HUMAN else _presented(line, models, presenter) for line in shown.lines
    ]
    return shown.model_copy(update={"lines": lines, "replayed": _rated_alike(shown.replayed, models, presenter)})


def _rated_alike(replayed: ReplayedRating | None, models: Sequence[str], presenter: Presenter) -> ReplayedRating | None:
    if replayed is None:
        return None
    turns = [
        turn.model_copy(
            update={"candidates": [_presented(candidate, models, presenter) for candidate in turn.candidates]}
        )
        for turn in replayed.turns
    ]
    return replayed.model_copy(update={"turns": turns})


def _presented(said: Said, models: Sequence[str], presenter: Presenter) -> Said:
    """What a model said, as it is shown; something is shown of every line, though only an emoji stood in it."""
    presented: Presented = presenter.present(said.text, models)
    if presented.text == said.text:
        return said
    before = {"raw_text": said.raw_text or said.text, "masks": [*said.masks, *presented.masks]}
    text = TALK_MASK if is_blank(presented.text) else presented.text
    return said.model_copy(update={"text": text, **before, "changes": [*said.changes, *presented.changes]})


def names_of(shown: ShownDialogue, how: Names) -> list[str]:
    """What the two speakers of a dialogue are called on the page, by their index."""
    if how == "segment":
        return list(SPOT_SPEAKERS)
    if how == "pair":
        return [PAIR_SPEAKERS[shown.position - 1] if index == shown.judged else OTHER for index in range(2)]
    return [REPLAYED[0] if entity == HUMAN else REPLAYED[1] for entity in shown.entities]


def panel(
    shown: ShownDialogue, how: Names, *, title: str, lines: Sequence[ShownLine] | None = None, context: bool = False
) -> Panel:
    """A dialogue on the page; line ids are random, so that nothing tells who said them.

    Args:
        shown: the dialogue.
        how: which names the speakers have.
        title: of the panel.
        lines: those to show; None: all.
        context: whether persona sentences and topics are shown, with the names of the page in place of ParlAI's words.
    """
    names = names_of(shown, how)
    return Panel(
        title=title,
        context=[_plain(line, shown.replayed is not None) for line in shown.context] if context else [],
        judged_label=None if shown.judged is None else names[shown.judged],
        lines=[
            PanelLine(
                line_id=uuid4().hex, speaker=names[line.speaker], judged=line.speaker == shown.judged, text=line.text
            )
            for line in (shown.lines if lines is None else lines)
        ],
    )


def speakers_of(panel: Panel, lines: Sequence[ShownLine], shown: ShownDialogue) -> list[tuple[str, str]]:
    """(line id, who said it) of a panel's lines, for the launch alone."""
    return [(on_page.line_id, shown.entities[line.speaker]) for on_page, line in zip(panel.lines, lines, strict=True)]


def _plain(line: str, rated: bool) -> str:
    """A persona's sentence under the name of its speaker on the page; in a ``rated`` dialogue the rest is its topic."""
    persona = persona_line(line)
    if persona is None:
        return t("Topic: {topic}", topic=line) if rated else line
    whose, sentence = persona  # written as the bot would hear it
    speaker = REPLAYED[whose == "own"]
    return t("{speaker}: {sentence}", speaker=t(speaker), sentence=sentence)
