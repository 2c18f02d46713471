"""The sentences of a single-model report."""

from __future__ import annotations

from collections.abc import Iterator

from parlai_humaneval.analysis.reports.single_model.types import CriterionPair, SingleModelGroup
from parlai_humaneval.analysis.reports.words import note_remarks, unfinished_remark, verdict_of_pairs
from parlai_humaneval.analysis.wording import number_words, percent


def headline(group: SingleModelGroup) -> str:
    """Each criterion with its models from best to worst, and which of them differ."""
    title = ", ".join(part for part in (group.setting, group.metric) if part)
    sentences = [*_ticks(group), *_means(group)]
    if not sentences:
        return f"{title}: no answer that counts has been given yet."
    return f"{title}: {' '.join(sentences)}"


def _ticks(group: SingleModelGroup) -> Iterator[str]:
    for criterion in dict.fromkeys(rate.criterion for rate in group.all_turns.rates):
        rates = [rate for rate in group.all_turns.rates if rate.criterion == criterion]
        rates.sort(key=lambda rate: -(rate.rate.estimate or 0))
        shares = ", ".join(f"{rate.model} {percent(rate.rate.estimate)}" for rate in rates)
        pairs = [pair for pair in group.tick_pairs if pair.criterion == criterion]
        yield f"Replies {criterion}: {shares}. {_verdict(pairs, group)}".strip()


def _means(group: SingleModelGroup) -> Iterator[str]:
    for criterion in dict.fromkeys(rating.criterion for rating in group.ratings):
        means = [rating for rating in group.ratings if rating.criterion == criterion]
        means.sort(key=lambda rating: -(rating.mean.estimate or 0))
        shown = ", ".join(f"{rating.model} {number_words(rating.mean.estimate)}" for rating in means)
        pairs = [pair for pair in group.rating_pairs if pair.criterion == criterion]
        yield f"Mean {criterion} at the end: {shown}. {_verdict(pairs, group)}".strip()


def _verdict(pairs: list[CriterionPair], group: SingleModelGroup) -> str:
    return verdict_of_pairs(pairs, group.n_workers) if pairs else ""


def remarks(group: SingleModelGroup, include_partial: bool) -> list[str]:
    """What a reader of the headline should know besides; often nothing."""
    left = unfinished_remark(group.unfinished_turns, group.unfinished_dialogues, include_partial)
    pairs = [*group.tick_pairs, *group.rating_pairs]
    return ([left] if left else []) + note_remarks(pair.difference for pair in pairs)
