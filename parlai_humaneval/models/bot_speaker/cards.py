"""Which of a turn's replies are shown, and where.

Every model keeps a candidate of its own. Replies of equal text share one card, so that nobody has to choose between two
things that are the same; blank replies have none.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from parlai_humaneval.display.presenter import AS_SAID, Presented, Presenter
from parlai_humaneval.models.pool.asking import Answer
from parlai_humaneval.schema.records import Candidate


class UnknownCandidate(KeyError):
    """An id that is not among the candidates of this turn, or that of one that was not shown."""

    def __str__(self) -> str:
        return str(self.args[0])


def to_candidate(model: str, answer: Answer, names: Sequence[str], presenter: Presenter = AS_SAID) -> Candidate:
    """An answer as it may be shown, under an id that cannot be guessed; it has no place yet.

    Args:
        model: who answered.
        answer: what it answered.
        names: zoo names of the models in play, which are masked in the text.
        presenter: how it is shown.
    """
    shown = Presented("") if answer.failed else presenter.present(answer.text, names)
    return Candidate(
        candidate_id=secrets.token_hex(8),
        model=model,
        text=shown.text,
        position=0,
        latency_s=round(answer.latency_s, 4),
        raw_text=answer.text if answer.text != shown.text else None,
        masks=shown.masks,
        changes=shown.changes,
        failed=answer.failed,
        blocked=answer.blocked,
        asked_again=list(answer.withdrawn),
        info=answer.info,
    )


def lay_out(candidates: Sequence[Candidate], order: Sequence[int], *, merge: bool) -> list[Candidate]:
    """Give each candidate its place.

    Args:
        candidates: one of each model.
        order: their indices in the order of showing.
        merge: whether replies of equal text, white space aside, share a card.

    Returns:
        The candidates in the order of showing, with positions 1 to k of k cards. One that shares an earlier card has
        its position and is the ``same_as`` it. Failed ones come last, with position 0.
    """
    in_order = [candidates[index] for index in order]
    placed: list[Candidate] = []
    cards: dict[str, Candidate] = {}
    for candidate in (c for c in in_order if not c.failed):
        key = " ".join(candidate.text.split()) if merge else candidate.candidate_id
        card = cards.get(key)
        if card is None:
            cards[key] = candidate.model_copy(update={"position": len(cards) + 1})
            placed.append(cards[key])
        else:
            placed.append(candidate.model_copy(update={"position": card.position, "same_as": card.candidate_id}))
    return placed + [candidate.model_copy(update={"position": 0}) for candidate in in_order if candidate.failed]


def shown_cards(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates that have a card of their own, by position."""
    cards = (candidate for candidate in candidates if not candidate.failed and candidate.same_as is None)
    return sorted(cards, key=lambda candidate: candidate.position)


def card_of(candidates: Sequence[Candidate], candidate_id: str) -> Candidate:
    """The card that shows a candidate's text: its own, or that of another model's equal text.

    Raises:
        UnknownCandidate: when ``candidate_id`` is none of these, or of one that gave only blank replies.
    """
    by_id = {candidate.candidate_id: candidate for candidate in candidates}
    candidate = by_id.get(candidate_id)
    if candidate is None:
        raise UnknownCandidate(f"no candidate of this turn has the id “{candidate_id}”")
    if candidate.failed:
        raise UnknownCandidate(f"the candidate “{candidate_id}” gave only blank replies and was not shown")
    return by_id[candidate.same_as] if candidate.same_as is not None else candidate


def standing_for(candidates: Sequence[Candidate], candidate_id: str) -> list[str]:
    """Ids of all candidates that a card stands for: its own first, then those whose texts equal it.

    All of them are credited when the card is chosen.

    Raises:
        UnknownCandidate: as :func:`card_of`.
    """
    card = card_of(candidates, candidate_id).candidate_id
    return [candidate.candidate_id for candidate in candidates if card in (candidate.candidate_id, candidate.same_as)]
