"""The tests that a report leads with, of any tables: of every two models, of all at once, or of one against a baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby

from parlai_humaneval.statistics.core.multiplicity import ALPHA, Family, deciding
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.preference.pairs import GROUP, counted_comparisons, orient_pairs, wins_of_pairs
from parlai_humaneval.statistics.preference.turn_families import family_tests
from parlai_humaneval.statistics.ranking.fit import Strengths
from parlai_humaneval.statistics.ranking.from_tables import one_ranking, strength_tests
from parlai_humaneval.statistics.ranking.plackett_luce import plackett_luce
from parlai_humaneval.statistics.ratings.sliders import TECHNIQUE as SLIDERS
from parlai_humaneval.statistics.ratings.sliders import assessed
from parlai_humaneval.statistics.ratings.standardised import score_gaps
from parlai_humaneval.statistics.survival.spotting import bot_contests, contest_wins, spot_the_bot_segments
from parlai_humaneval.tables.choices import ComparisonGroup, choice_groups
from parlai_humaneval.tables.columns import Tables
from parlai_humaneval.tables.filters import finished
from parlai_humaneval.tables.free_for_all import TECHNIQUE as FREE_FOR_ALL
from parlai_humaneval.tables.free_for_all import free_for_all_dialogues


@dataclass(frozen=True)
class Lead:
    """One test. ``models``: two; more, where it asks whether all are equal; or one, which is held against a baseline.

    ``told``: by worker, as the models are told by it; ``paper``: the paper's test, which may decide. Both of pairs have
    Holm's correction over the pairs of the ``family``.
    """

    family: Family
    models: tuple[str, ...]
    told: Result
    paper: Result | None = None

    def p_decides(self, alpha: float = ALPHA) -> float | None:
        """The p that a report goes by; None where it tells of no difference of the two."""
        if len(self.models) == 2 and self.told.estimate is None:
            return None
        return deciding(self.paper if len(self.models) == 2 else None, self.told, alpha)[0]


def leads(tables: Tables, *, baseline: bool = False) -> list[Lead]:
    """All tests of ``tables``, each question by itself; single models also against the paper's ``baseline``, which a report
    does where that was the only question."""
    found = [lead for groups in _families(tables) for lead in _of_turns(groups, baseline)]
    found += list(_of_free_for_alls(tables))
    return [*found, *_of_comparisons(tables), *_of_segments(tables), *_of_sliders(tables)]


def turn_leads(tables: Tables, *, baseline: bool = False) -> list[Lead]:
    """The tests of turns by shares alone, also where one ranking leads, or strengths do."""
    return [lead for groups in _families(tables, every=True) for lead in _by_shares(groups, baseline)]


def _families(tables: Tables, *, every: bool = False) -> list[list[ComparisonGroup]]:
    answered = [group for group in choice_groups(tables) if len(group.turns.turns)] if len(tables.turns) else []
    kept = [group for group in answered if every or group.technique != FREE_FOR_ALL]
    return [list(groups) for _, groups in groupby(kept, key=lambda group: group.family)]


def _of_turns(groups: Sequence[ComparisonGroup], baseline: bool) -> Iterator[Lead]:
    ranked = one_ranking(groups)
    if ranked is None:
        yield from _by_shares(groups, baseline)
    else:
        together, strengths = ranked
        yield from _by_strength(Family(*together.family), together.models, strengths)


def _by_shares(groups: Sequence[ComparisonGroup], baseline: bool) -> Iterator[Lead]:
    for found in family_tests(groups, asked_alone=baseline):
        paper = None if found.adjusted else found.test.paper
        yield Lead(Family(*groups[0].family), found.test.models, found.told, paper)


def _by_strength(family: Family, models: Sequence[str], strengths: Strengths) -> Iterator[Lead]:
    for pair, (test, independent) in zip(combinations(models, 2), strength_tests(strengths, family), strict=True):
        yield Lead(family, pair, test, independent)
    if len(models) > 2:
        yield Lead(family, tuple(models), strengths.equal)


def _of_free_for_alls(tables: Tables) -> Iterator[Lead]:
    for group in free_for_all_dialogues(tables) if len(tables.turns) else ():
        strengths = plackett_luce(group.chosen, group.turn_workers, positions=group.positions, models=group.models)
        yield from _by_strength(Family(FREE_FOR_ALL, group.setting, group.metric), group.models, strengths)


def _of_comparisons(tables: Tables) -> Iterator[Lead]:
    rows = counted_comparisons(tables) if len(tables.comparisons) else tables.comparisons
    for key, own in orient_pairs(rows).groupby(list(GROUP), sort=True) if len(rows) else ():
        technique, setting, kind, metric = map(str, key)
        family = Family(technique, setting, metric, kind)
        for pair in wins_of_pairs(own, family=family):
            paper = None if pair.adjusted else pair.paper
            yield Lead(family, (pair.model_a, pair.model_b), pair.adjusted or pair.win_rate, paper)


def _of_segments(tables: Tables) -> Iterator[Lead]:
    rows = tables.segments[finished(tables.segments)] if len(tables.segments) else tables.segments
    if len(rows):
        family = Family("spot_the_bot", "", "")
        for pair in contest_wins(bot_contests(spot_the_bot_segments(rows)), family):
            yield Lead(family, (pair.model_a, pair.model_b), pair.win_rate, pair.paper)


def _of_sliders(tables: Tables) -> Iterator[Lead]:
    data = assessed(tables) if len(tables.ratings) else None
    if data is not None:
        family = Family(SLIDERS, "", "", "overall")
        for gap in score_gaps(data.counted, sorted(data.counted["model"].unique()), family=family):
            yield Lead(family, (gap.model_a, gap.model_b), gap.difference, gap.paper)
