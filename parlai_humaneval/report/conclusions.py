"""What decides: which p-value, how it was corrected, which pair is the clearest, who leads and who may be as good.

Two models of which one won more often: a row, its line in a summary, its words, and the matrix of several.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from math import isclose

import numpy as np

from parlai_humaneval.report.rows import Row, both_tests, ends, published
from parlai_humaneval.report.section import Best, ModelLine, PairLine, Summary
from parlai_humaneval.report.views import HeatFigure, Method, method, square
from parlai_humaneval.statistics.core.clustered import AGREE, FLIPPED_CLUSTERS
from parlai_humaneval.statistics.core.effect_sizes import complement
from parlai_humaneval.statistics.core.formatting import (
    ABSENT,
    counted,
    format_number,
    format_p,
    format_range,
    listed,
    percent,
)
from parlai_humaneval.statistics.core.once_each import counts_matter, once_each_of, rescaled
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.sign_flip import EXACT_CLUSTERS
from parlai_humaneval.statistics.core.two_way import ABOUT, CROSSED_SOURCE, about_words, is_by_both
from parlai_humaneval.statistics.ranking.fit import other_groups
from parlai_humaneval.statistics.ranking.order import EQUAL, ModelOrder, not_compared, order_of

DECIDED = "stopping"
"""The section of studies that end when they are decided."""
SMALLEST = 0.0001
"""Smaller p are written “< .0001”, and no pair is clearer than another by them."""


def clearness(pair: PairLine) -> tuple[float, float]:
    """For sorting, the clearest pair first: the smallest p that decides, and of equal ones the largest gap."""
    p = 1.0 if pair.p_decides is None else max(pair.p_decides, SMALLEST)
    return p, -(pair.gap or 0.0)


def ahead_of_all(pairs: Sequence[PairLine]) -> str | None:
    """The model that is ahead of every other one by the tests that decide; None where there is none.

    It has met each of them: where a pair was never compared nobody is ahead of all. With fewer than three models the one
    pair says as much.
    """
    models = {name for pair in pairs for name in (pair.first, pair.second)}
    for model in sorted(models) if len(models) > 2 else ():
        of_model = [pair for pair in pairs if model in (pair.first, pair.second)]
        won = all(pair.first == model and pair.differs and pair.met for pair in of_model)
        if won and {pair.second for pair in of_model} == models - {model}:
            return model
    return None


def winner_words(pairs: Sequence[PairLine]) -> str:
    """“retrieval is ahead of both others”; empty where no model is ahead of all others."""
    winner = ahead_of_all(pairs)
    others = len({name for pair in pairs for name in (pair.first, pair.second)}) - 1
    return f"{winner} is ahead of {'both' if others == 2 else f'all {others}'} others" if winner else ""


HOLM = "Holm's correction over the pairs"
NAMED_TOGETHER = 6
"""As many models are named that cannot be told from the best."""


def best_of_pairs(
    models: Mapping[str, float | None], pairs: Sequence[PairLine], order: ModelOrder | None = None
) -> Best | None:
    """By the tests of pairs: each model may be the best that is not significantly below another. None without tests.

    ``models``: their values, the best first; nobody leads where the first two that may be the best have the same, or one of
    them has none. ``order``: what ranks them instead, where values do not compare them all. As Holm's correction is over
    all pairs, at most one study in twenty leaves out a best model.
    """
    tested = [pair for pair in pairs if pair.differs is not None]
    if not tested:
        return None
    named = list(dict.fromkeys([*models, *(name for pair in pairs for name in (pair.first, pair.second))]))
    below = {pair.second for pair in tested if pair.differs}
    met = {name for pair in tested for name in (pair.first, pair.second)}
    together = [name for name in named if name in met - below]
    if not together:  # each lost to another one, in a circle
        return None
    first = (
        _first(together, models, pairs) if order is None else order.first([name for name in named if name not in below])
    )
    leader = first[0] if len(first) == 1 else None
    return Best(
        leader=leader,
        together=[leader, *(name for name in together if name != leader)] if leader in together else together,
        unordered=[] if order is None or _all_tested(first, tested) else [[*group] for group in order.unordered(first)],
        told=[name for name in named if name in below],
        untested=[name for name in named if name not in met],
        by=HOLM,
    )


def _all_tested(models: Sequence[str], tested: Sequence[PairLine]) -> bool:
    return (
        sum(pair.first in models and pair.second in models for pair in tested) == len(models) * (len(models) - 1) // 2
    )


def _first(together: Sequence[str], models: Mapping[str, float | None], pairs: Sequence[PairLine]) -> list[str]:
    """The first of ``together``, and those that have the same value; where one has none, the gap of the pair says so."""
    first, value = together[0], models.get(together[0])
    ahead = {pair.second for pair in pairs if pair.first == first and (pair.gap or 0.0) > EQUAL}

    def is_tied(name: str) -> bool:
        other = models.get(name)
        return name not in ahead if value is None or other is None else isclose(value, other, abs_tol=EQUAL)

    return [first, *filter(is_tied, together[1:])]


def order_words(shares: str, first: str, why: str) -> str:
    """Why a model leads that has the smaller share: “…, but it stood beside weaker models: …”.

    ``shares``: both shares in words, of the model behind first. ``why``: what that one did; empty where it is not known.
    """
    but = f"the former {why}" if why else "that does not allow for who met whom, and where"
    return f"{shares}, but {but}: strengths, which allow for it, put {first} ahead."


def circles(pairs: Iterable[PairLine]) -> list[list[str]]:
    """Groups of models of which each is significantly ahead of another one and behind another one, in a circle."""
    ahead = {(pair.first, pair.second) for pair in pairs if pair.differs}
    names = sorted({name for pair in ahead for name in pair})
    over = np.array([[float((a, b) in ahead) for b in names] for a in names])
    linked = other_groups(over, ()) if names else []
    return [[names[i] for i in group] for group in linked]


def rank_ranges(models: Sequence[str], pairs: Sequence[PairLine]) -> dict[str, tuple[int, int]]:
    """Model → the ranks that the tests of pairs leave possible, 1 the best; nothing where no pair was tested.

    At least as many others are above a model as are significantly ahead of it, and below it as it is ahead of. As the tests
    of all pairs are corrected together, all ranges hold at once in 95 of 100 studies (Al Mohamad et al. 2022). Models that
    are ahead of each other in a circle are not ranked within it.
    """
    if all(pair.differs is None for pair in pairs):
        return {}
    inside = {pair for circle in circles(pairs) for pair in permutations(circle, 2)}
    ahead = {(pair.first, pair.second) for pair in pairs if pair.differs} - inside
    above = {model: sum(second == model for _, second in ahead) for model in models}
    below = {model: sum(first == model for first, _ in ahead) for model in models}
    return {model: (1 + above[model], len(models) - below[model]) for model in models}


def rank_words(low: int | None, high: int | None) -> str:
    """“1”, “2–3”, or a dash."""
    if low is None or high is None:
        return ABSENT
    return f"{low}" if low == high else f"{low}–{high}"


def below_words(best: Best, pairs: Sequence[PairLine]) -> str:
    """What is told of the models below another one: “eliza and dull are statistically tied (p = .46).”; may be empty."""
    if len(best.told) > 2:
        models = [*best.together, *best.told]
        ranks = rank_ranges(models, pairs)
        more = f" and {len(models) - NAMED_TOGETHER - 2} more" if len(models) > NAMED_TOGETHER + 2 else ""
        named = ", ".join(f"{name} ({rank_words(*ranks[name])})" for name in models[: NAMED_TOGETHER + 2])
        return f"Ranks: {named}{more}."
    between = [pair for pair in pairs if {pair.first, pair.second} == {*best.told} and pair.differs is not None]
    for pair in between:
        if pair.differs:
            return f"{pair.first} ranks above {pair.second} ({format_p(pair.p_decides)})."
        return f"{listed(best.told)} are statistically tied ({format_p(pair.p_decides)})."
    return ""


def leader_words(best: Best | None, pairs: Sequence[PairLine] = ()) -> str:
    """“ada ranks first, statistically tied with bob (family-wise 5 %).” Empty of two models, whose pair says as much.

    ``pairs``: say why nobody leads where all are beaten.
    """
    if best is None and (circle := circles(pairs)):
        return f"No model leads: {'; '.join(map(listed, circle))} beat each other in a circle."
    if best is None or len(best.together) + len(best.told) < 3:
        return ""
    others = best.together if best.leader is None else best.together[1:]
    if best.unordered:
        told = f"No model leads: {not_compared(best.unordered)}"
    elif best.leader in best.untested:
        return f"{best.leader} ranks first; no test compares it with the others."
    elif others and not best.told:
        highest = f"; {best.leader} has the best estimate" if best.leader else ""
        told = f"No model leads: all are statistically tied{highest}"
    elif best.leader is None:
        told = f"No model leads: {_named(others)} are statistically tied"
    else:
        told = f"{best.leader} ranks first{f', statistically tied with {_named(others)}' if others else ''}"
    untested = f"; not tested: {', '.join(best.untested)}" if best.untested else ""
    return f"{told} (family-wise {percent(best.risk)}){untested}."


def _named(models: Sequence[str]) -> str:
    more = len(models) - NAMED_TOGETHER
    return listed([*models[:NAMED_TOGETHER], f"{more} more"] if more > 1 else models)


def told_leader(summary: Summary) -> Summary:
    """The summary with ranks and who leads, by its pairs where its section does not say, also in the words of its verdict.

    The answer of a study that ended when it was decided says so itself.
    """
    if summary.section == DECIDED:
        return summary
    best = summary.best or best_of_pairs({line.model: line.estimate for line in summary.models}, summary.pairs)
    words = leader_words(best, summary.pairs)
    winner = winner_words(summary.pairs)
    unordered = not_compared(best.unordered) if best and best.unordered else words
    if unordered in summary.verdict or (winner and winner in summary.verdict):
        words = ""
    ranks = rank_ranges([line.model for line in summary.models], summary.pairs)
    models = [
        line.model_copy(update=dict(zip(("rank_low", "rank_high"), ranks.get(line.model, (None, None)), strict=True)))
        for line in summary.models
    ]
    verdict = " ".join(filter(None, (summary.verdict, words)))
    return summary.model_copy(update={"best": best, "verdict": verdict, "models": models})


def apart_words(pairs: Sequence[PairLine], what: str) -> str:
    """How many of several pairs of ``what`` differ, and which model is ahead of all others.

    “2 of 3 pairs of models differ after Holm's correction: a is ahead of both others”; “None of 3 pairs … differs …”.
    """
    apart = sum(bool(pair.differs) for pair in pairs)
    verb = "differ" if apart > 1 else "differs"
    winner = winner_words(pairs) if what == "models" else ""
    told = f"{apart or 'None'} of {counted(len(pairs), 'pair')} of {what} {verb} after Holm's correction"
    return f"{told}: {winner}" if winner else told


def rough_guides(results: Iterable[Result]) -> list[str]:
    """“Fewer than 10 workers: take the interval as a rough guide.”, or why there is none where all agree, each once.

    Where results differ in it, each is told with what it is of.
    """
    told: dict[str, list[str]] = {}
    known = [result for result in results if result.estimate is not None]
    for result in known:
        for note in result.notes:
            if "rough" in note or note.endswith(AGREE):
                told.setdefault(note, []).append(result.name)
    of = {
        note: f" ({_named(list(dict.fromkeys(names)))})"
        if len(told) > 1 or (note.endswith(AGREE) and len(names) < len(known))
        else ""
        for note, names in told.items()
    }
    return [f"{note[:1].upper()}{note[1:]}{of[note]}." for note in told]


def counted_once(results: Iterable[Result]) -> list[str]:
    """Where it matters for the answer whether every answer counts, or every worker once: a sentence for each result."""
    return [
        f"{result.name[:1].upper()}{result.name[1:]} is {format_number(result.estimate)} ({format_p(result.p_decides)}) "
        f"when every answer counts, but {format_number(once.estimate)} ({format_p(once.p_decides)}) when every worker "
        "counts once: workers with many answers judge differently from the others. Say which of the two your claim is about."
        for result in results
        if (once := once_each_of(result)) and counts_matter(result)
    ]


def about_dialogues(results: Iterable[Result]) -> list[str]:
    """“The answer is about these 12 dialogues: …”, once; nothing where many dialogues were judged, or each once.

    Of several pairs it is the number of each pair, so that a study may have more.
    """
    of_pairs = [int(result.details.get(ABOUT) or 0) for result in results if result.estimate is not None]
    few = sorted({*of_pairs} - {0})
    if not few:
        return []
    words = f"{'of each pair ' if len(of_pairs) > 1 else ''}{about_words(few[0])}"
    several = f" (of some pairs {few[0]:,}, of others up to {few[-1]:,})" if len(few) > 1 else ""
    return [f"{words[:1].upper()}{words[1:]}{several}."]


def clusters_words(result: Result | None, workers: int, whose: str = "") -> str:
    """“clustered by 20 workers and 40 dialogues”, or by workers alone; ``whose`` dialogues, “its”."""
    basis = f"clustered by {counted(workers, 'worker')}"
    if result is None or not is_by_both(result):
        return basis
    return f"{basis} and {whose}{counted(int(result.details['n_dialogues'] or 0), 'dialogue')}"


def deciding_p(p: float | None, p_holm: float | None) -> str:
    """“p = .011 after Holm's correction (p = .004 without)”; the one p where nothing was corrected."""
    if p is None or p_holm is None or format_p(p) == format_p(p_holm):
        return format_p(p)
    return f"{format_p(p_holm)} after Holm's correction ({format_p(p)} without)"


def once_more(first: str, how: str) -> str:
    """Said by a section that has answers of another one, ``first``, in another way: which to cite, and why both differ."""
    return f"Cite “{first}”. Here are the same answers again, {how}, so p may differ."


def pair_p(pair: PairLine) -> str:
    """The p that decides of a pair, and how it came about: whether it was corrected, and where it is not that by worker."""
    if pair.decided_by == "clustered":
        return deciding_p(pair.p_clustered, pair.p_decides)
    holm = " after Holm's correction" if pair.family_tests > 1 else ""
    return (
        f"{format_p(pair.p_decides)}{holm} if every answer were independent, which as the larger decides (by worker "
        f"{format_p(pair.p_clustered)}{' without' if holm else ''})"
    )


def to_cite(pairs: Sequence[PairLine], *, alike: bool = False) -> tuple[str, ...]:
    """Said below the table of pairs that answers: which of its p-values to cite; nothing where none was made.

    ``alike``: some pairs have a p with both places counting alike.
    """
    if all(pair.p_decides is None for pair in pairs):
        return ()
    holm = ", Holm" if any(pair.family_tests > 1 for pair in pairs) else ""
    own = ", of pairs with places alike that one" if alike else ""
    larger = [f"{pair.first} over {pair.second}" for pair in pairs if pair.decided_by == "paper"]
    or_larger = f" Of {', '.join(larger)} cite the larger p, that of independent answers." if larger else ""
    return (f"Cite the clustered p{holm}{own}.{or_larger} The other p-values are checks.",)


BY_WORKER = method(
    "conclusions", "intervals_and_tests_by_worker", exact_clusters=EXACT_CLUSTERS, flipped_clusters=FLIPPED_CLUSTERS
)
"""Said by each section whose intervals are by worker."""


def reuse_methods(results: Iterable[Result]) -> list[Method]:
    """How dialogues that several workers judged were allowed for; nothing where none was."""
    if not any(is_by_both(result) for result in results):
        return []
    text = (
        "Where several workers judged the same dialogue, intervals and clustered p are by worker and by dialogue: the "
        "variance by worker, plus that by dialogue (of a comparison: of A's and of B's), minus that of both together, and "
        "never below the largest of them; Student's t with the smallest effective number of them − 1 degrees of freedom, a "
        "share's variance scaled to the value that is tested. Where no dialogue has several workers they are by worker."
    )
    return [Method(name="Dialogues judged by several workers", text=text, source=CROSSED_SOURCE)]


NAMED = 6
"""As many families are named."""


def holm_methods(tests: Iterable[Result]) -> list[Method]:
    """How ``tests`` were corrected: which of them together, and how many; nothing where none was."""
    details = [test.details for test in tests]
    families = {str(of["family"]): int(of["family_tests"] or 0) for of in details if of.get("family_tests")}
    several = [f"{name or 'all pairs'} ({n} tests)" for name, n in families.items() if n > 1]
    if not several:
        return []
    more = f" and {len(several) - NAMED} more" if len(several) > NAMED else ""
    text = (
        "The pairs of models of one technique, setting, metric and question are one family; the p of the paper's test and "
        f"the clustered p are each corrected over it. Here: {'; '.join(several[:NAMED])}{more}."
    )
    return [Method(name="Holm's correction", text=text, source="Holm 1979")]


class WonPair(Row):
    """Two models that were compared; ``model_a`` comes first in the alphabet.

    ``win_rate``: wins of A of the decided comparisons, tested against one half; clustered by worker, and by dialogue where
    several workers judged the same. ``paper``: the paper's test of them, which takes all for independent. Both are
    corrected over the ``family`` (``…_holm``). ``score``: the probability of superiority of A, in which ties count half,
    clustered likewise. ``adjusted``, ``adjusted_score``: both with each place counting alike, where the effect of the place
    outweighs that of the models; then these are what the pair is told by.
    ``lead_a``: wins of A minus those of B, as a share of the decided ones, which is twice the win rate minus one.
    """

    FROM = published(
        ends("win_rate", "win_rate_a"),
        ends("lead", "lead_a", "lead"),
        both_tests("paper", "win_rate"),
        ends("score", "score_a", "score"),
        ends("adjusted", "win_rate_adjusted", "adjusted"),
        ends("adjusted_score", "score_adjusted", "score_adjusted"),
        win_rate_b="win_rate_b.estimate",
        p_adjusted="adjusted.p_value",
        p_adjusted_holm="adjusted.p_decides",
    )

    model_a: str
    model_b: str
    wins_a: int
    wins_b: int
    ties: int
    win_rate: Result
    paper: Result
    score: Result
    adjusted: Result | None = None
    adjusted_score: Result | None = None

    @property
    def told(self) -> Result:
        """The win rate that the pair is told by: the adjusted one where there is one."""
        return self.adjusted or self.win_rate

    @property
    def a_leads(self) -> bool:
        return self.wins_a >= self.wins_b if self.adjusted is None else (self.adjusted.estimate or 0.0) >= 0.5

    @property
    def leader(self) -> str:
        return self.model_a if self.a_leads else self.model_b

    @property
    def other(self) -> str:
        return self.model_b if self.a_leads else self.model_a

    @property
    def lead(self) -> Result:
        """The win rate as a difference: 0 where both win as often, 1 where A always does."""
        return _as_lead(self.win_rate)

    @property
    def win_rate_b(self) -> Result:
        """The win rate of the other model, which is the rest."""
        return complement(self.win_rate)

    @property
    def differs(self) -> bool | None:
        """Whether the test that decides tells the two apart; None where it cannot be made."""
        return self.line().differs

    def names(self) -> str:
        return f"{self.model_a} against {self.model_b}"

    def line(self) -> PairLine:
        """The pair in a summary, the leader first."""
        return PairLine.of(
            self.model_a,
            self.model_b,
            _as_lead(self.told),
            self.paper.p_value,
            share=True,
            # The paper's test knows no places: of an adjusted win rate it decides nothing.
            paper=None if self.adjusted else self.paper,
            superiority=self.adjusted_score or self.score,
        )

    def model_lines(self, unit: str) -> list[ModelLine]:
        """Both models, where nobody else was compared, the leader first."""
        rates = [(self.model_a, self.told), (self.model_b, complement(self.told))]
        lines = [ModelLine.of(model, rate, unit, share=True) for model, rate in rates]
        return lines if self.a_leads else lines[::-1]

    def sentence(self, where: str) -> str:
        """“a won 62 % of the comparisons with b that were decided, WHERE (1 tie left out); 95 % interval 47–72 %, p = .31;
        they are statistically tied”; where it is adjusted for places, this is said, with the win rate as counted."""
        rate = self.told if self.a_leads else complement(self.told)
        shares = format_range(rate.ci_low, rate.ci_high)
        interval = "no interval can be given" if rate.ci_low is None else f"{percent(rate.level)} interval {shares}"
        ties = f" ({counted(self.ties, 'tie')} left out)" if self.ties else ""
        apart = "; they are statistically tied" if self.differs is False else ""
        counted_as = (self.win_rate if self.a_leads else self.win_rate_b).estimate
        places = f", with both places counting alike ({percent(counted_as)} as counted)" if self.adjusted else ""
        return (
            f"{self.leader} won {percent(rate.estimate)} of the comparisons with {self.other} that were decided, {where}"
            f"{places}{ties}; {interval}, {pair_p(self.line())}{apart}"
        )


def _as_lead(rate: Result) -> Result:
    return rescaled(rate, lambda share: 2 * share - 1)


def matrix_of(
    key: str, title: str, models: Sequence[str], win_rates: Mapping[tuple[str, str], float | None]
) -> HeatFigure:
    """Win rate of row over column; the half that ``win_rates`` lacks is its mirror."""
    mirrored = {(b, a): None if rate is None else 1 - rate for (a, b), rate in win_rates.items()}
    both = {**mirrored, **win_rates}
    return square(key, title, models, [[both.get((row, column)) for column in models] for row in models], "share")


def order_of_pairs(values: Mapping[str, float | None], pairs: Sequence[WonPair]) -> ModelOrder | None:
    """The order of models by whom they won over; those that wins link by their ``values``. None where there are none."""
    names = list(values)
    over = np.zeros((len(names), len(names)))
    for pair in pairs:
        a, b = names.index(pair.model_a), names.index(pair.model_b)
        over[a, b] += pair.wins_a + pair.ties
        over[b, a] += pair.wins_b + pair.ties
    return order_of(over, names, list(values.values())) if names else None
