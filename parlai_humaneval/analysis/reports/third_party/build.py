"""Tables of dialogues that others rated → the report of a third party (Liu et al. 2023; Ma et al. 2023, App. A)."""

from __future__ import annotations

import pandas as pd

from parlai_humaneval.analysis.reports.duels import Duel, correct_duels
from parlai_humaneval.analysis.reports.facts import CLUSTERED, methods_of
from parlai_humaneval.analysis.reports.judged import NOTHING, judged_facts
from parlai_humaneval.analysis.reports.third_party import words
from parlai_humaneval.analysis.reports.third_party.rankings import rank_groups
from parlai_humaneval.analysis.reports.third_party.replays import replay_groups
from parlai_humaneval.analysis.reports.third_party.scales import scale_groups
from parlai_humaneval.analysis.reports.third_party.types import RankGroup, ReplayGroup, ScaleGroup, ThirdPartyReport
from parlai_humaneval.tables.counting import finished
from parlai_humaneval.tables.from_records import Tables

REPLAYS = (
    "Agreement with the dialogue's own rater: reply by reply, of turns in which both were asked. Percent: CR1 interval "
    "clustered by dialogue. Cohen's κ: percentile bootstrap over dialogues."
)
RANKINGS = (
    "Rankings: place 1 is the best. Of two replies the better place wins; ties are left out of win rates. Kendall's τ-b "
    "with the own rater's picks is had for each turn, where neither ties all replies. Binomial p: takes all rankings as "
    "independent."
)
SCALES = "Krippendorff's α: interval level, over what several people rated; percentile bootstrap over dialogues."
HOLM = "Holm: clustered p corrected for all pairs of the report, the binomial p for those of its group."


def build_report(tables: Tables, *, seed: int = 0, include_partial: bool = False) -> ThirdPartyReport:
    """Agreement with own raters, ranks, and ratings; reads ``turns``, ``comparisons`` and ``ratings``.

    Only complete judgements count; ``include_partial`` changes nothing, as an item is judged as a whole.
    """
    turns, pairs, ratings = (
        frame[finished(frame)].assign(setting=frame["setting"].fillna(""))
        for frame in (tables.turns, tables.comparisons, tables.ratings)
    )
    groups: list[ReplayGroup | RankGroup | ScaleGroup] = [
        *replay_groups(turns, pairs, ratings, seed=seed),
        *rank_groups(turns, pairs, seed=seed),
        *scale_groups(ratings, seed=seed),
    ]
    duels: list[Duel] = [pair for group in groups if isinstance(group, RankGroup) for pair in group.pairs]
    correct_duels(duels)
    for group in groups:
        group.headline = words.headline(group)
        group.remarks = words.remarks(group)
    tested = [result for pair in duels for result in (pair.win_rate_a, pair.paper)]
    rows = pd.concat([frame[["worker_id", "technique"]] for frame in (turns, pairs, ratings)])
    kinds = ((ReplayGroup, REPLAYS), (RankGroup, RANKINGS), (ScaleGroup, SCALES))
    found = [text for kind, text in kinds if any(isinstance(group, kind) for group in groups)]
    return ThirdPartyReport(
        **judged_facts(tables, rows, seed=seed),
        headline=" ".join(group.headline for group in groups) or NOTHING,
        groups=groups,
        methods=methods_of([*found, CLUSTERED] if groups else [], HOLM, tested),
    )
