"""The sentences of a single-model report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parlai_humaneval.analysis.reports.single_model.types import CriterionPair, SingleModelGroup
from parlai_humaneval.analysis.reports.words import TOO_FEW, decisive, note_remarks, titled, unfinished_remark
from parlai_humaneval.statistics.clustered import MIN_CLUSTERS
from parlai_humaneval.statistics.wording import counted, percent, signed

_TICKED, _RATED = "by ticked replies", "by ratings at the end"


def headline(group: SingleModelGroup) -> str:
    """Which model leads on which criteria: a sentence on replies and one on ratings; all numbers are in the tables."""
    title = ", ".join(part for part in (group.setting, group.metric) if part)
    if not group.all_turns.rates and not group.ratings:
        return titled(title, "no answer that counts has been given yet.")
    if len(group.models) == 1:
        return titled(title, " ".join(_alone(group)))
    if group.n_workers < MIN_CLUSTERS:
        return titled(title, f"{TOO_FEW}.")
    parts = [(what, pairs) for what, pairs in ((_TICKED, group.tick_pairs), (_RATED, group.rating_pairs)) if pairs]
    if not parts:
        return titled(title, "no two models were judged by the same criterion, so that they cannot be compared.")
    correction = ", Holm's correction" if any(p.difference.p_holm is not None for _, ps in parts for p in ps) else ""
    basis = f" (clustered by {counted(group.n_workers, 'worker')}{correction})"
    sentences = [f"{what}, {'; '.join(_findings(pairs))}" for what, pairs in parts]
    first, *others = sentences
    return titled(title, " ".join([f"{first}{basis}.", *(titled("", f"{text}.") for text in others)]))


def _alone(group: SingleModelGroup) -> Iterator[str]:
    """A model that has no other beside it: its own numbers."""
    (model,) = group.models
    rates = [f"{rate.criterion} {percent(rate.rate.estimate)}" for rate in group.all_turns.rates]
    means = [f"{rating.criterion} {signed(rating.mean.estimate)}" for rating in group.ratings]
    if rates:
        yield f"Replies of {model} ticked: {', '.join(rates)}."
    if means:
        yield f"Mean ratings of {model} at the end: {', '.join(means)}."


def _findings(pairs: Sequence[CriterionPair]) -> Iterator[str]:
    """“b leads on engaging, humanlike”, “no model leads on fun”, …: each criterion once."""
    kinds: dict[str, list[str]] = {}
    for criterion in dict.fromkeys(pair.criterion for pair in pairs):
        kind = _kind([pair for pair in pairs if pair.criterion == criterion])
        kinds.setdefault(kind, []).append(criterion)
    for kind, criteria in kinds.items():
        yield f"{kind} {', '.join(criteria)}"


def _kind(pairs: Sequence[CriterionPair]) -> str:
    """What the pairs of one criterion say; a model leads that is found better than every other."""
    tested = [pair for pair in pairs if decisive(pair.difference) is not None]
    if not tested:
        return "whether the models differ cannot be tested on"
    apart = [pair for pair in tested if decisive(pair.difference)]
    models = {name for pair in pairs for name in (pair.model_a, pair.model_b)}
    for model in sorted(models):
        if sum(pair.leader == model for pair in apart) == len(models) - 1:
            return f"{model} leads on"
    return "no model leads all others, but some differ, on" if apart else "the models cannot be told apart on"


def remarks(group: SingleModelGroup, include_partial: bool) -> list[str]:
    """What a reader of the headline should know besides; often nothing."""
    left = unfinished_remark(group.unfinished_turns, group.unfinished_dialogues, include_partial)
    pairs = [*group.tick_pairs, *group.rating_pairs]
    return ([left] if left else []) + note_remarks((pair.difference for pair in pairs), group.headline)
