"""A candidate's columns in the table ``turns``: what was shown of it, and what a server said it took."""

from __future__ import annotations

from collections.abc import Sequence

from parlai_humaneval.protocol.records.dialogue import Candidate
from parlai_humaneval.tables.record_rows import Row


def shown_columns(candidate: Candidate) -> Row:
    """Whose it is, where it stood and how it was shown."""
    return {
        "model": candidate.model,
        "position": candidate.position,
        "candidate_id": candidate.candidate_id,
        "text": candidate.text,
        "raw_text": candidate.raw_text,
        "masked": int(bool(candidate.masks)),
        "changes": ";".join(candidate.changes),
        "blocked": candidate.blocked,
        "latency_s": candidate.latency_s,
        "same_as": candidate.same_as,
        "failed": int(candidate.failed),
    }


def server_columns(candidate: Candidate) -> Row:
    """What the server said of this one reply; empty for a model that computed here."""
    info = candidate.info
    return {
        "served_model": info and info.served_model,
        "finish_reason": info and info.finish_reason,
        "requests": info and info.requests,
    }


def usage_columns(candidates: Sequence[Candidate]) -> Row:
    """Tokens and money of all these replies, as far as servers told; None where none did.

    Costs in several currencies have no sum.
    """
    infos = [candidate.info for candidate in candidates if candidate.info is not None]
    prompt = [info.prompt_tokens for info in infos if info.prompt_tokens is not None]
    completion = [info.completion_tokens for info in infos if info.completion_tokens is not None]
    priced = [(info.cost, info.currency) for info in infos if info.cost is not None]
    currencies = {currency for _, currency in priced}
    one = len(currencies) == 1
    return {
        "prompt_tokens": sum(prompt) if prompt else None,
        "completion_tokens": sum(completion) if completion else None,
        "cost": sum(cost for cost, _ in priced) if one else None,
        "currency": currencies.pop() if one else None,
    }
