"""Conclusions: the deciding p-value and its correction, the clearest pair, the leader and its ties.

Two models of which one won more often: a row, its line in a summary, its words, and the matrix of several.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from math import isclose

import numpy as np

from parlai_humaneval.report.section import Best, ModelLine, OfDecided, PairLine, Summary, say, sentence
from parlai_humaneval.report.views import HeatFigure, Method, method, square
from parlai_humaneval.statistics.core.clustered import AGREE, FLIPPED_CLUSTERS, RATIO, agreement_shown
from parlai_humaneval.statistics.core.formatting import ABSENT, counted, format_p, listed
from parlai_humaneval.statistics.core.multiplicity import ALPHA, counts_matter, once_each_of
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.sign_flip import EXACT_CLUSTERS
from parlai_humaneval.statistics.core.two_way import ABOUT, CROSSED_SOURCE, about_words, in_words, is_by_both, shared_by
from parlai_humaneval.statistics.preference.pairs import DecidedPair, as_lead
from parlai_humaneval.statistics.preference.win_rates import complement
from parlai_humaneval.statistics.ranking.fit import other_groups
from parlai_humaneval.statistics.ranking.order import EQUAL, ModelOrder, not_compared, order_of

DECIDED = "stopping"
"""The section of studies that stop once they reach a decision."""
DECIDED_TITLE = "What was decided, and when"
SMALLEST = 0.0001
"""Smaller p are written “< .0001”, and no pair is clearer than another by them."""


def clearness(pair: PairLine) -> tuple[float, float]:
    """Sorting key, the clearest pair first: the smallest deciding p, then the largest gap."""
    p = 1.0 if pair.p_decides is None else max(pair.p_decides, SMALLEST)
    return p, -(pair.gap or 0.0)


def ahead_of_all(pairs: Sequence[PairLine]) -> str | None:
    """The model that is ahead of all others by the deciding tests, or None.

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
"""The most models to name that are tied with the best."""


def best_of_pairs(
    models: Mapping[str, float | None], pairs: Sequence[PairLine], order: ModelOrder | None = None
) -> Best | None:
    """The models that may be the best: those that are not significantly below another. None without tests of pairs.

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
    above = [name for name in named if name not in below]
    first = _first(together, models, pairs) if order is None else order.first(above)
    leader = first[0] if len(first) == 1 else None
    all_tested = sum({pair.first, pair.second} <= {*first} for pair in tested) == len(first) * (len(first) - 1) // 2
    return Best(
        leader=leader,
        together=[leader, *(name for name in together if name != leader)] if leader in together else together,
        unordered=[] if order is None or all_tested else [[*group] for group in order.unordered(first)],
        told=[name for name in named if name in below],
        untested=[name for name in named if name not in met],
        by=HOLM,
    )


def _first(together: Sequence[str], models: Mapping[str, float | None], pairs: Sequence[PairLine]) -> list[str]:
    """The first of ``together``, and those that have the same value; where one has none, the gap of the pair says so."""
    first, value = together[0], models.get(together[0])
    ahead = {pair.second for pair in pairs if pair.first == first and (pair.gap or 0.0) > EQUAL}

    def is_tied(name: str) -> bool:
        other = models.get(name)
        return name not in ahead if value is None or other is None else isclose(value, other, abs_tol=EQUAL)

    return [first, *filter(is_tied, together[1:])]


def circles(pairs: Iterable[PairLine]) -> list[list[str]]:
    """Groups of models that are significantly ahead of each other in a circle."""
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
    """A sentence about the models below another one: “eliza and dull are statistically tied (p = .46).”; may be empty."""
    ranks: list[tuple[str, str]] = []
    if len(best.told) > 2:
        models = [*best.together, *best.told]
        ranks = [(name, rank_words(*places)) for name, places in rank_ranges(models, pairs).items()]
    told = (pair for pair in pairs if {pair.first, pair.second} == {*best.told} and pair.differs is not None)
    facts = {"ranks": ranks, "most": NAMED_TOGETHER + 2, "pair": next(told, None), "told": best.told}
    return sentence("conclusions", "below", **facts)


def leader_words(best: Best | None, pairs: Sequence[PairLine] = ()) -> str:
    """“ada ranks first, statistically tied with bob (family-wise 5 %).” Empty of two models, whose pair says as much.

    ``pairs``: say why nobody leads where all are beaten.
    """
    in_circles = circles(pairs) if best is None else []
    if not in_circles and (best is None or len(best.together) + len(best.told) < 3):
        return ""
    others = [] if best is None else best.together[0 if best.leader is None else 1 :]
    facts = {"best": best, "others": others, "named": _named, "not_compared": not_compared}
    return sentence("conclusions", "leader", circles=in_circles, **facts)


def _named(models: Sequence[str]) -> str:
    more = len(models) - NAMED_TOGETHER
    return listed([*models[:NAMED_TOGETHER], f"{more} more"] if more > 1 else models)


def told_leader(summary: Summary) -> Summary:
    """The summary with ranks and who leads, by its pairs where its section does not say, also in the words of its verdict.

    The answer of a study that stopped once it reached a decision says so itself.
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

    “2 of 3 pairs of models differ after Holm's correction: ada is ahead of both others”; “None of 3 pairs … differs …”.
    """
    apart = sum(bool(pair.differs) for pair in pairs)
    winner = winner_words(pairs) if what == "models" else ""
    verb = "differ" if apart > 1 else "differs"
    told = f"{apart or 'None'} of {counted(len(pairs), 'pair')} of {what} {verb} after Holm's correction"
    return f"{told}: {winner}" if winner else told


def rough_guides(results: Iterable[Result]) -> list[str]:
    """“Fewer than 10 workers: take the interval as a rough guide.”, or why there is none where all agree, each once.

    If results differ in it, each line says what it is about; with unequal numbers of answers, only the worst.
    """
    told: dict[str, list[str]] = {}
    known = [result for result in results if result.estimate is not None]
    for result in known:
        for note in result.notes:
            if "rough" in note or note.endswith(AGREE):
                told.setdefault(note, []).append(result.name)
    unequal = [note for note in told if " weigh like " in note]
    if len(unequal) > 1:
        worst = min(unequal, key=lambda note: float(note.partition(" weigh like ")[2].split()[0].rstrip(":")))
        at_worst = [told.pop(note) for note in unequal][unequal.index(worst)]
        told[worst.replace(" equal ones", " equal ones at worst")] = at_worst
    lines = []
    for note, names in told.items():
        differs = len(told) > 1 or len(unequal) > 1 or (note.endswith(AGREE) and len(names) < len(known))
        lines.append(f"{note[:1].upper()}{note[1:]}{f' ({_named(list(dict.fromkeys(names)))})' if differs else ''}.")
    return lines


def counted_once(results: Iterable[Result]) -> list[str]:
    """A sentence for each result that depends on whether every answer counts, or every worker once."""
    both = [(result, once) for result in results if (once := once_each_of(result)) and counts_matter(result)]
    return say("conclusions", "counted_once", results=both)


def about_dialogues(results: Iterable[Result]) -> list[str]:
    """“The answer is about these 12 dialogues: …”, once; nothing where many dialogues were judged, or each once.

    With several pairs it is the number for each pair, so a study may have more.
    """
    known = [result for result in results if result.estimate is not None]
    of_pairs = [int(result.details.get(ABOUT) or 0) for result in known]
    few = sorted({*of_pairs} - {0})
    if not few:
        return []
    words = f"{'for each pair, ' if len(of_pairs) > 1 else ''}{in_words(about_words(few[0]), shared_by(*known))}"
    several = f" ({few[0]:,} for some pairs, up to {few[-1]:,} for others)" if len(few) > 1 else ""
    return [f"{words[:1].upper()}{words[1:]}{several}."]


def clusters_words(result: Result | None, workers: int, whose: str = "") -> str:
    """“clustered by 20 workers and 40 dialogues”, or by workers alone; ``whose`` dialogues, “its”."""
    basis = f"clustered by {counted(workers, 'rater')}"
    if result is None or not is_by_both(result):
        return basis
    return f"{basis} and {whose}{counted(int(result.details['n_dialogues'] or 0), shared_by(result))}"


def deciding_p(p: float | None, p_holm: float | None) -> str:
    """“p = .011 after Holm's correction (p = .004 without)”; the one p where nothing was corrected."""
    if p is None or p_holm is None or format_p(p) == format_p(p_holm):
        return format_p(p)
    return f"{format_p(p_holm)} after Holm's correction ({format_p(p)} without)"


def once_more(first: str, how: str, *, decided: bool = False) -> str:
    """For a section on the same answers as another one, ``first``: which to cite, and why both differ.

    ``decided``: they are of studies that stop once they reach a decision, whose p-values nobody should cite.
    """
    return f"Cite “{DECIDED_TITLE if decided else first}”. This section tests the same answers, {how}, so p may differ."


def pair_p(pair: PairLine) -> str:
    """The deciding p of a pair, and its origin: whether it is corrected, and whether it is clustered by worker."""
    if pair.decided_by == "clustered":
        return deciding_p(pair.p_clustered, pair.p_decides)
    holm = " after Holm's correction" if pair.family_tests > 1 else ""
    return (
        f"{format_p(pair.p_decides)}{holm} if every answer were independent, which decides because it is larger "
        f"(clustered by rater: {format_p(pair.p_clustered)}{' without' if holm else ''})"
    )


def to_cite(pairs: Sequence[PairLine], decided: OfDecided, *, alike: bool = False) -> tuple[str, ...]:
    """For the leading table of pairs: which of its p-values to cite; nothing without tests.

    ``decided``: the number of its studies that stop once they reach a decision, so that no p-value is cited. ``alike``:
    some pairs have a p with both positions weighted equally.
    """
    if all(pair.p_decides is None for pair in pairs):
        return ()
    corrected = any(pair.family_tests > 1 for pair in pairs)
    larger = [pair for pair in pairs if pair.decided_by == "paper"]
    facts = {"corrected": corrected, "alike": alike, "larger": larger, "decided": decided, "title": DECIDED_TITLE}
    return tuple(say("conclusions", "cite", **facts))


def results_disagree(what: str, paper: Result, clustered: Result) -> str | None:
    """A sentence if the test of independent observations and the clustered one disagree.

    ``what`` begins the sentence: "A against B (preference)". The p-values are those to go by: corrected ones where there
    are. None where they agree, or one of them cannot be made.
    """
    p, p_clustered = paper.p_decides, clustered.p_decides
    if p is None or p_clustered is None or (p < ALPHA) == (p_clustered < ALPHA):
        return None
    both = f", and those on a {shared_by(clustered)},"
    facts = {
        "holm": ", corrected" if p_clustered != clustered.p_value else "",
        "together": f"the answers of a rater{both if is_by_both(clustered) else ''}",
        "ratio": float(clustered.details[RATIO] or 0) if agreement_shown(clustered) else None,
    }
    return sentence("conclusions", "disagree", what=what, p=p, p_clustered=p_clustered, alpha=ALPHA, **facts)


BY_WORKER = method(
    "conclusions", "intervals_and_tests_by_worker", exact_clusters=EXACT_CLUSTERS, flipped_clusters=FLIPPED_CLUSTERS
)
"""Said by each section whose intervals are by worker."""


def reuse_methods(results: Iterable[Result]) -> list[Method]:
    """The treatment of dialogues that several workers judged; nothing without such dialogues."""
    both = list(filter(is_by_both, results))
    shared = shared_by(*both)
    sides = " (in a comparison, A's and B's)" if shared == "dialogue" else ""
    facts = {"shared": shared, "Shared": shared.title(), "sides": sides, "source": CROSSED_SOURCE}
    return [method("conclusions", "reuse", **facts)] if both else []


NAMED = 6
"""As many families are named."""


def holm_methods(tests: Iterable[Result]) -> list[Method]:
    """The correction of ``tests``: which of them together, and how many; nothing without tests."""
    details = [test.details for test in tests]
    families = {str(of["family"]): int(of["family_tests"] or 0) for of in details if of.get("family_tests")}
    several = [f"{name or 'all pairs'} ({n} tests)" for name, n in families.items() if n > 1]
    texts = say("conclusions", "families_corrected", families=several, most=NAMED) if several else []
    return [Method(name="Holm's correction", text=text, source="Holm 1979") for text in texts]


class WonPair(DecidedPair):
    """Two models and the more frequent winner, as in the report."""

    @property
    def differs(self) -> bool | None:
        """Whether the deciding test distinguishes the two; None if it is impossible."""
        return self.line().differs

    def line(self) -> PairLine:
        """The pair in a summary, the leader first."""
        return PairLine.of(
            self.model_a,
            self.model_b,
            as_lead(self.told),
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
        counted_as = (self.win_rate if self.a_leads else self.win_rate_b).estimate
        facts = {"pair": self, "rate": rate, "counted_as": counted_as, "where": where, "p": pair_p(self.line())}
        return sentence("conclusions", "won", **facts)


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
