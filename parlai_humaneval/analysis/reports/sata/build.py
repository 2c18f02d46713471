"""Tables of chosen replies → the report of SOBA and SATA (Liu et al. 2023, “Results”, Tables 3–5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from parlai_humaneval.analysis.reports.facts import CLUSTERED, LEVEL, common_facts, methods_of
from parlai_humaneval.analysis.reports.gaps import correct_gaps
from parlai_humaneval.analysis.reports.sata import words
from parlai_humaneval.analysis.reports.sata.types import ChoicePair, ModelWins, SataGroup, SataReport, TurnSpan
from parlai_humaneval.analysis.reports.types import PlaceRow
from parlai_humaneval.analysis.reports.words import NO_TURNS
from parlai_humaneval.statistics.choice_tests import SOURCE, cochran_q_test, goodness_of_fit_test, mcnemar_test
from parlai_humaneval.statistics.clustered import DIFFERENCE_LIMITS, cluster_sums, clustered_share
from parlai_humaneval.statistics.correction import holm
from parlai_humaneval.statistics.means import clustered_mean
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.shares import binomial_test
from parlai_humaneval.tables.choices import ChosenTurns, Floats, TurnGroup, turn_groups
from parlai_humaneval.tables.from_records import Tables

SOBA = "soba"
SATA = ("sata_random", "sata_user")

METHODS = [
    "Win rate: turns in which the reply was chosen, of those in which it was shown. Tie-win: all replies chosen; "
    "tie-loss: none (Liu et al. 2023, Table 3). The paper leaves the first turns out.",
    "Paper's tests, which take all turns as independent: with one pick a turn the two-sided binomial test (two models) "
    "or Pearson's χ² (more); with any number of picks McNemar's χ² without correction and Cochran's Q.",
    CLUSTERED + " Of pairs: of the difference of the two win rates, turn by turn.",
]
HOLM = "Holm: clustered p corrected for all pairs of the report, the paper's p for those of its group."


def build_report(tables: Tables, *, seed: int = 0, include_partial: bool = False) -> SataReport:
    """Who was chosen how often, for each setting, metric and set of models in ``tables``; reads ``turns``.

    Only complete dialogues count unless ``include_partial``. Turns in which nothing was asked, and replies that
    failed, do not count; how many there were is reported.
    """
    groups = [_group(found) for found in turn_groups(tables.turns, include_partial=include_partial)]
    for span in ("all_turns", "turns_2_to_last"):
        correct_gaps([pair for group in groups for pair in getattr(group, span).pairs])
    for group in groups:
        group.headline = words.headline(group)
        group.remarks = words.remarks(group, include_partial)
    return SataReport(
        **common_facts(tables, include_partial=include_partial, seed=seed),
        headline=" ".join(group.headline for group in groups) or NO_TURNS,
        groups=groups,
        methods=methods_of(METHODS if groups else [], HOLM, _tested(groups)),
    )


def _tested(groups: Sequence[SataGroup]) -> list[Result]:
    pairs = [pair for group in groups for span in (group.all_turns, group.turns_2_to_last) for pair in span.pairs]
    return [result for pair in pairs for result in (pair.difference, pair.paper)]


def _group(found: TurnGroup) -> SataGroup:
    one_pick = picks_one(found)
    return SataGroup(
        setting=found.setting,
        metric=found.metric,
        models=found.counted.models,
        all_turns=_span(found.counted, 1, one_pick),
        turns_2_to_last=_span(found.counted, 2, one_pick),
        by_position=places(found.counted),
        anchoring=anchoring(found.counted, one_pick),
        automatic_turns=found.automatic_turns,
        failed_replies=found.failed_replies,
        unfinished_dialogues=found.unfinished_dialogues,
        unfinished_turns=found.unfinished_turns,
    )


def picks_one(group: TurnGroup) -> bool:
    """Whether raters had to pick one reply a turn; where the setting does not tell, from what they did."""
    if group.setting == SOBA or group.setting in SATA:
        return group.setting == SOBA
    return bool((np.nansum(group.counted.by_position, axis=1) == 1).all())


def _span(turns: ChosenTurns, first: int, one_pick: bool) -> TurnSpan:
    counted = turns.from_turn(first)
    seen = ~np.isnan(counted.chosen)
    several = np.where(seen.sum(axis=1) > 1, 1.0, np.nan)
    picks = np.nansum(counted.chosen, axis=1)
    return TurnSpan(
        first_turn=first,
        last_turn=int(counted.turns.max()) if counted.turns.size else None,
        n_turns=len(counted.turns),
        n_dialogues=len(set(counted.dialogues)),
        n_workers=len(set(counted.workers)),
        models=[_wins(counted, column) for column in range(len(counted.models))],
        tie_win=share((picks == seen.sum(axis=1)) * several, counted, "all replies chosen"),
        tie_loss=share((picks == 0) * several, counted, "no reply chosen"),
        written=share(counted.written, counted, "reply written by the rater"),
        test=_all_at_once(counted, one_pick) if len(counted.models) > 2 else None,
        pairs=_pairs(counted, one_pick),
    )


def _wins(turns: ChosenTurns, column: int) -> ModelWins:
    chosen, model = turns.chosen[:, column], turns.models[column]
    return ModelWins(
        model=model,
        shown=int((~np.isnan(chosen)).sum()),
        chosen=int(np.nansum(chosen)),
        win_rate=share(chosen, turns, f"win rate of {model}"),
    )


def share(values: Floats, turns: ChosenTurns, name: str) -> Result:
    """Share of ones, clustered by worker; nan does not count. An estimate: it is tested against nothing."""
    result = clustered_share(cluster_sums(values, np.ones_like(values), turns.workers), name=name, level=LEVEL)
    return result.model_copy(update={"p_value": None, "statistic": None})


def _all_at_once(turns: ChosenTurns, one_pick: bool) -> Result:
    chosen = turns.all_shown().chosen
    if not one_pick:
        return cochran_q_test(chosen)
    # Where two models said the same and it was picked, both have the point; such a turn is no single pick.
    return goodness_of_fit_test(_counts(chosen[chosen.sum(axis=1) == 1]))


def _counts(chosen: Floats) -> list[int]:
    return [int(count) for count in chosen.sum(axis=0)]


def _pairs(turns: ChosenTurns, one_pick: bool) -> list[ChoicePair]:
    pairs = [_pair(turns, a, b, one_pick) for a, b in turns.pairs()]
    if len(pairs) > 1:
        for pair, p in zip(pairs, holm([pair.paper.p_value for pair in pairs]), strict=True):
            pair.paper = pair.paper.model_copy(update={"p_holm": p})
    return pairs


def _pair(turns: ChosenTurns, column_a: int, column_b: int, one_pick: bool) -> ChoicePair:
    model_a, model_b = turns.models[column_a], turns.models[column_b]
    a, b = turns.chosen[:, column_a], turns.chosen[:, column_b]
    n = int((~np.isnan(a) & ~np.isnan(b)).sum())
    only_a, only_b = _count((a == 1) & (b == 0)), _count((a == 0) & (b == 1))
    name = f"{model_a} against {model_b}"
    if one_pick and len(turns.models) == 2:
        paper = binomial_test(only_a, only_a + only_b, name=name).model_copy(update={"source": SOURCE})
    else:
        paper = mcnemar_test(only_a, only_b, n=n, name=name)
    return ChoicePair(
        model_a=model_a,
        model_b=model_b,
        n_turns=n,
        only_a=only_a,
        only_b=only_b,
        both=_count((a == 1) & (b == 1)),
        neither=_count((a == 0) & (b == 0)),
        difference=gap_of_shares(a - b, turns, f"win rate of {model_a} − {model_b}"),
        paper=paper,
    )


def gap_of_shares(differences: Floats, turns: ChosenTurns, name: str) -> Result:
    """Mean of turn-by-turn differences of two 0/1 choices, clustered by worker, tested against 0; nan does not count."""
    return clustered_mean(differences, turns.workers, name=name, null=0, limits=DIFFERENCE_LIMITS, level=LEVEL)


def _count(where: npt.NDArray[np.bool_]) -> int:
    return int(where.sum())


def places(turns: ChosenTurns) -> list[PlaceRow]:
    """How often each position was chosen."""
    return [
        PlaceRow(
            position=column + 1,
            shown=_count(~np.isnan(chosen)),
            chosen=int(np.nansum(chosen)),
            share=share(chosen, turns, f"position {column + 1}"),
        )
        for column, chosen in enumerate(turns.by_position.T)
    ]


def anchoring(turns: ChosenTurns, one_pick: bool) -> Result:
    """The paper's test of all models, of positions instead: turns that showed a reply at each."""
    full = turns.by_position[~np.isnan(turns.by_position).any(axis=1)]
    test = goodness_of_fit_test(_counts(full)) if one_pick else cochran_q_test(full, name="all positions")
    return test.model_copy(update={"name": "all positions"})
