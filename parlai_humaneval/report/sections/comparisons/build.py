"""Tables → the section ``comparisons``."""

from __future__ import annotations

import pandas as pd

from parlai_humaneval.report.section import ALPHA, Options, disagreement
from parlai_humaneval.report.sections.comparisons.parts import (
    ComparedModel,
    ComparedPair,
    Comparisons,
    FirstShown,
)
from parlai_humaneval.report.sections.comparisons.views import group_words, grouped
from parlai_humaneval.report.sections.comparisons.words import headline
from parlai_humaneval.statistics.pair_wins import (
    GROUP,
    ModelWins,
    PairWins,
    counted_comparisons,
    first_shown,
    model_wins,
    oriented,
    wins_of_pairs,
)
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.strengths.tables import oriented_strengths
from parlai_humaneval.statistics.wording import counted, p_words, percent
from parlai_humaneval.tables.from_records import Tables


def build(tables: Tables, options: Options) -> Comparisons | None:
    """Win rates of all pairs, by technique, setting, kind and metric; None where nothing was compared.

    Comparisons of a rater who rated somebody else's dialogue again are left to the section on agreement.
    """
    rows = counted_comparisons(tables)
    if rows.empty:
        return None
    rows = oriented(rows)
    section = Comparisons(pairs=[], models=[])
    for key, own in rows.groupby(list(GROUP), sort=True):
        group = dict(zip(GROUP, map(str, key), strict=True))
        section.pairs += [_pair(pair, group) for pair in wins_of_pairs(own, level=options.level, seed=options.seed)]
        section.models += _models(own, group, options)
        section.first_shown += _first(own, group, options)
    section.headline = headline(section, options.level, of_turns=len(tables.turns) > 0)
    section.remarks = _remarks(section, len(tables.comparisons) - len(rows))
    return section


def _pair(pair: PairWins, group: dict[str, str]) -> ComparedPair:
    n = pair.wins_a + pair.wins_b + pair.ties
    clustered, dialogue, paper, score = pair.win_rate, pair.by_dialogue, pair.paper, pair.score
    return ComparedPair(
        **group,
        model_a=pair.model_a,
        model_b=pair.model_b,
        n=n,
        n_workers=pair.n_workers,
        n_dialogues=pair.n_dialogues,
        wins_a=pair.wins_a,
        wins_b=pair.wins_b,
        ties=pair.ties,
        # Only a verdict has a button for it; of turns in which no reply was chosen it is not known why.
        both_bad=pair.both_bad if pair.both_bad or group["kind"] == "verdict" else None,
        tie_rate=pair.ties / n if n else None,
        win_rate_a=clustered.estimate,
        ci_low=clustered.ci_low,
        ci_high=clustered.ci_high,
        p_value=paper.p_value,
        p_holm=paper.p_holm,
        p_clustered=clustered.p_value,
        p_clustered_holm=clustered.p_holm,
        p_sign_flip=pair.p_sign_flip,
        dialogue_low=dialogue.ci_low,
        dialogue_high=dialogue.ci_high,
        p_dialogue=dialogue.p_value,
        p_dialogue_holm=dialogue.p_holm,
        score_a=score.estimate,
        score_low=score.ci_low,
        score_high=score.ci_high,
        notes=list(clustered.notes),
    )


def _models(rows: pd.DataFrame, group: dict[str, str], options: Options) -> list[ComparedModel]:
    found = model_wins(rows, level=options.level)
    if len(found) < 3:
        return []
    strengths = _strengths(rows, [model.model for model in found], options.level)
    return [_model(model, group, strength) for model, strength in zip(found, strengths, strict=True)]


def _strengths(rows: pd.DataFrame, models: list[str], level: float) -> list[Result | None]:
    """Bradley and Terry's, of the models in their order. Pairs that stem from turns of more models are no such pairs:
    their replies were chosen from all of them at once."""
    if not (rows["n_models"].fillna(2) == 2).all():
        return [None] * len(models)
    return list(oriented_strengths(rows, models=models, level=level).models)


def _model(model: ModelWins, group: dict[str, str], strength: Result | None) -> ComparedModel:
    return ComparedModel(
        strength=strength and strength.estimate,
        strength_low=strength and strength.ci_low,
        strength_high=strength and strength.ci_high,
        **group,
        model=model.model,
        wins=model.wins,
        losses=model.losses,
        ties=model.ties,
        win_rate=model.win_rate.estimate,
        ci_low=model.win_rate.ci_low,
        ci_high=model.win_rate.ci_high,
    )


def _first(rows: pd.DataFrame, group: dict[str, str], options: Options) -> list[FirstShown]:
    result = first_shown(rows, level=options.level)
    if not result.n:
        return []
    return [
        FirstShown(
            **group,
            n=result.n,
            share=result.estimate,
            ci_low=result.ci_low,
            ci_high=result.ci_high,
            p_clustered=result.p_value,
        )
    ]


def _remarks(section: Comparisons, left: int) -> list[str]:
    found = [
        disagreement(
            f"{pair.model_a} against {pair.model_b}, {group_words(pair)}",
            # What decides is the corrected p.
            pair.p_value if pair.p_holm is None else pair.p_holm,
            pair.p_clustered if pair.p_clustered_holm is None else pair.p_clustered_holm,
        )
        for pair in section.pairs
    ]
    found += [_few_dialogues(pair) for pair in section.pairs]
    found += [_habit(one) for one in section.first_shown]
    for pairs in grouped(section.pairs):
        undecided = [f"{pair.model_a} against {pair.model_b}" for pair in pairs if pair.win_rate_a is None]
        if undecided:
            found.append(f"{group_words(pairs[0])}: only ties, so no win rate: {', '.join(undecided)}.")
        few = [
            f"{pair.model_a} against {pair.model_b}"
            for pair in pairs
            if pair.win_rate_a is not None and pair.ci_low is None
        ]
        if few:
            found.append(f"{group_words(pairs[0])}: too few workers for an interval: {', '.join(few)}.")
        bad = sum(pair.both_bad or 0 for pair in pairs)
        if bad:
            found.append(f"{group_words(pairs[0])}: both were called bad {counted(bad, 'time')}; counted as ties.")
    if left:
        found.append(
            f"{counted(left, 'comparison')} left out: nothing was asked, the rating was not finished, or somebody "
            "rated again what its own rater had rated."
        )
    return [remark for remark in found if remark]


def _few_dialogues(pair: ComparedPair) -> str | None:
    """A difference of two handfuls of dialogues may be no difference of their models."""
    by_worker, by_dialogue = pair.p_clustered, pair.p_dialogue
    if by_worker is None or by_dialogue is None or by_worker >= ALPHA or by_dialogue < ALPHA:
        return None
    return (
        f"{pair.model_a} against {pair.model_b}, {group_words(pair)}: significant when the answers of a worker are taken "
        f"together ({p_words(by_worker)}), but not when those on the same dialogue are ({p_words(by_dialogue)}): with "
        "other dialogues of the same models it might come out differently."
    )


def _habit(one: FirstShown) -> str | None:
    if one.p_clustered is None or one.share is None or one.p_clustered >= ALPHA:
        return None
    return (
        f"{group_words(one)}: the one shown first won {percent(one.share)} of decided comparisons "
        f"({p_words(one.p_clustered)}); as sides are drawn by chance this favours no model, but costs precision."
    )
