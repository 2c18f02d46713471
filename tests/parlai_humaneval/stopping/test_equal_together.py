"""Two models are called equal by what all dialogues say of them, and all pairs together; who is asked about meanwhile."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlai_humaneval._util.arrays import Flags, Floats
from parlai_humaneval.stopping.batch import AGAINST, Decisions, alike, contradictions, rivals_apart, rivals_of, to_ask
from parlai_humaneval.stopping.events import Outcome, log_rows, read_log
from parlai_humaneval.stopping.evidence import ORDER_KINDS, Evidence, pairs_of
from parlai_humaneval.stopping.rule import StoppingRule
from parlai_humaneval.stopping.study import SequentialStudy, replay

ROW = np.zeros(1, dtype=np.int64)
BETA = 0.05
AB, AC, BC = range(3)


def folded(evidence: Evidence, pair: int, share: float, likely: tuple[int, ...] = (AB, AC, BC)) -> None:
    """A worker with one dialogue."""
    could = np.isin(np.arange(evidence.pairs.count), likely)[None]
    evidence.fold(ROW, np.array([[pair]]), np.array([[share]]), could)


def worth(*outcomes: float) -> float:
    """Of two bets, at .65 and .85 of half the margin over a variance of .05, with half the capital each."""
    return sum(0.5 * float(np.prod([1 + stake * outcome for outcome in outcomes])) for stake in (0.65, 0.85))


def test_a_dialogue_tells_of_its_pair_and_of_each_model_and_a_third() -> None:
    """A wins four of six turns against B: 1/6 above one half against a bound of .05, and half of that, against a quarter
    of the bound, of A against C and of C against B."""
    learnt = Evidence(1, 3, 0.1, pooled=True)
    folded(learnt, AB, 4 / 6)
    assert learnt.equal_now[0, :, AB] == pytest.approx([worth(0.05 - 1 / 6), worth(0.05 + 1 / 6)])
    assert learnt.equal_now[0, :, AC] == pytest.approx([worth(0.0125 - 1 / 12), worth(0.0125 + 1 / 12)])
    assert learnt.equal_now[0, :, BC] == pytest.approx([worth(0.0125 + 1 / 12), worth(0.0125 - 1 / 12)])
    assert learnt.equal[0, 0, AB] == 1, "the highest so far"


def test_what_a_third_model_says_is_measured_at_the_mean_against_it() -> None:
    """B and C together won 1/3 + 1 of 1 + 2 turns against A, when C wins all of a dialogue with A."""
    learnt = Evidence(1, 3, 0.1, pooled=True)
    folded(learnt, AB, 4 / 6)
    variance = (8 * 0.05 + 1 / 36) / 9
    stakes = np.array([0.65, 0.85]) * 0.05 / variance
    folded(learnt, AC, 0.0)
    said = 0.5 * (1 - (1 / 3 + 1) / 3)  # of C against B
    before = 1 + np.array([0.65, 0.85]) * (0.0125 + 1 / 12)
    assert learnt.equal_now[0, 0, BC] == pytest.approx(float((before * (1 + stakes * (0.0125 + said))).mean()))


@pytest.mark.parametrize("likely", [(AB,), (AB, AC)])
def test_a_third_model_counts_only_if_it_could_have_been_met_instead(likely: tuple[int, ...]) -> None:
    """A dialogue of A and B tells of A and C only if one of C and B was as probable."""
    learnt = Evidence(1, 3, 0.1, pooled=True)
    folded(learnt, AB, 4 / 6, likely)
    assert (learnt.equal_now[0, :, AC] == 1).all()
    assert (learnt.equal_now[0, :, BC] != 1).all() == (AC in likely)


@pytest.mark.parametrize("how", [{"pooled": False}, {"pooled": True, "together": False}])
def test_dialogues_of_the_two_alone_count_where_nothing_is_pooled(how: dict[str, bool]) -> None:
    """Without transitivity, and in studies that began before."""
    learnt = Evidence(1, 3, 0.1, **how)
    folded(learnt, AB, 4 / 6)
    assert (learnt.equal_now[0, :, [AC, BC]] == 1).all()


def _expected(met: tuple[int, int], lost: tuple[int, int], lead: float, theirs: float, *, even: bool) -> float:
    """What a capital of 1, bet on A not being better than B by the margin, is worth on average after one more dialogue,
    where A is better just by the margin. ``met``, ``lost``: dialogues with C so far, of A and of B, that were answered,
    and that were not: the next ones are left as often. ``lead``: what A won of C above one half. ``theirs``: B's share
    against C."""
    shares = 0.55, theirs + 0.05, theirs  # of A against B, of A against C, of B against C
    worth = Evidence(6, 3, 0.1, pooled=True, even=even)
    for model, (answered, left, won) in enumerate(zip(met, lost, (0.5 + lead, 0.5), strict=True)):
        worth.met[:, [model, 2], [2, model]], worth._lost[:, [model, 2], [2, model]] = answered, left
        worth.won[:, model, 2], worth.won[:, 2, model] = won * answered, (1 - won) * answered
    asked = np.array([AB, AC, BC])
    answers = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])[:, None]
    worth.fold(np.arange(6), np.tile(asked, 2)[:, None], answers, np.ones((6, 3), dtype=bool))
    capital = worth.equal_now[:, 0, AB].reshape(2, 3)
    rates = np.array([1.0, *((answered + 1) / (answered + left + 1) for answered, left in zip(met, lost, strict=True))])
    won = np.array(shares) * capital[0] + (1 - np.array(shares)) * capital[1]
    return float((rates * won + 1 - rates).mean())


COUNTS = st.tuples(st.integers(0, 30), st.integers(0, 30))


@given(met=COUNTS, lost=COUNTS, lead=st.floats(-0.5, 0.5), theirs=st.floats(0, 0.95))
def test_the_bet_is_fair_whichever_model_raters_leave(
    met: tuple[int, int], lost: tuple[int, int], lead: float, theirs: float
) -> None:
    """Who leaves a model's dialogues before the first answer neither shifts what the others say, nor how often they do."""
    assert _expected(met, lost, lead, theirs, even=True) == pytest.approx(1, abs=1e-9)


def test_counting_every_answer_would_favor_who_is_left_less() -> None:
    """As studies did that began before: what counts more often is measured against a mean that is mostly its own."""
    how = {"met": (30, 9), "lost": (0, 21), "lead": 0.05, "theirs": 0.5}
    assert _expected(**how, even=False) > 1.0009
    assert _expected(**how, even=True) == pytest.approx(1)


def _closed(now: Floats, highest: Floats, equal: Flags, *, models: int, line: bool) -> list[bool]:
    """Brute force: which pairs no set of pairs holds whose mean is below the bar, on either side of the pair."""
    pairs = pairs_of(models)
    free = [pair for pair in range(pairs.count) if not equal[pair]]
    lowest = now.min(axis=0)

    def possible(chosen: tuple[int, ...]) -> bool:
        corners = combinations(range(models), 3)
        return not line or not any(
            {pairs.number[a, b], pairs.number[b, c], pairs.number[a, c]} <= set(chosen) for a, b, c in corners
        )

    def passes(pair: int) -> bool:
        others = [other for other in free if other != pair]
        sets = [chosen for size in range(1, len(others) + 1) for chosen in combinations(others, size)]
        means = [
            (now[side, pair] + lowest[list(chosen)].sum()) / (1 + len(chosen))
            for side in range(2)
            for chosen in sets
            if possible((pair, *chosen))
        ]
        return bool(highest[:, pair].min() >= 1 / BETA and min(means, default=np.inf) >= 1 / BETA)

    return [pair in free and passes(pair) for pair in range(pairs.count)]


VALUES = st.sampled_from([0.0, 1.0, 15.0, 19.0, 20.0, 21.0, 30.0, 41.0, 60.0, 81.0, 100.0, 130.0])


@given(data=st.data(), models=st.sampled_from([2, 3, 4]), line=st.booleans())
def test_closed_testing_is_that_of_all_sets(data: st.DataObject, models: int, line: bool) -> None:
    """Nothing is called equal that a set of pairs speaks against; where all sets count, or there are three models,
    everything is that none does."""
    count = pairs_of(models).count
    now = np.array(data.draw(st.lists(VALUES, min_size=2 * count, max_size=2 * count))).reshape(2, count)
    risen = np.array(data.draw(st.lists(VALUES, min_size=2 * count, max_size=2 * count))).reshape(2, count)
    equal = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    highest, rivals = np.maximum(now, risen), rivals_of(models, line=line)
    reached = alike(now[None], highest[None], equal[None], ~equal[None], rivals, BETA)[0]
    wanted = np.array(_closed(now, highest, equal, models=models, line=line))
    assert not (reached & ~wanted).any()
    if not line or models < 4:
        assert (reached == wanted).all()


@pytest.mark.parametrize(("now", "claims"), [(5.0, [False, False, False]), (10.0, [True, True, True])])
def test_what_a_pair_was_worth_once_counts_for_itself_and_in_no_mean(now: float, claims: list[bool]) -> None:
    """The mean of running maxima is no bet that anybody could have held."""
    learnt = Evidence(1, 3, 0.1, pooled=True)
    learnt.dialogues[:] = 10
    learnt.equal_now[:], learnt.equal[:] = [now, 30, 30], [50, 30, 30]
    decisions = Decisions(1, 3, alpha=0.05, beta=BETA, floor=1, pooled=True)
    decisions.look(ROW, learnt)
    assert decisions.equal[0].tolist() == claims


def test_rivals_that_are_apart_are_counted_once_for_each_third_model() -> None:
    """A is better than B, C and D: of B and C, the pairs AB or AC, and AD."""
    pairs = pairs_of(4)
    apart = (pairs.first == 0)[None]
    counted = rivals_apart(apart, rivals_of(4, line=True))[0]
    assert counted[pairs.number[1, 2]] == 2
    assert rivals_apart(apart, rivals_of(4, line=False))[0, pairs.number[1, 2]] == 3


@pytest.mark.parametrize(
    ("wanted", "apart", "asked"),
    [
        ([(0, 1)], [], [(0, 1)]),
        ([(0, 1), (0, 2), (1, 2)], [], [(0, 1), (0, 2), (1, 2)]),
        ([(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)], [], [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]),
        ([(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)], [(1, 3)], [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)]),
        ([(0, 1), (2, 3)], [], [(0, 1), (2, 3)]),
    ],
)
def test_decided_pairs_are_asked_about_where_that_tells_more(wanted: Any, apart: Any, asked: Any) -> None:
    """Of five of six pairs, four have one way around and one has two: (4 · 1½ + 2)/5 = 1.6 in all; if all six are asked
    about, each has two: 5 · 2/6 = 1.67."""
    pairs = pairs_of(4)
    named = [(int(i), int(j)) for i, j in zip(pairs.first, pairs.second, strict=True)]
    flags = [np.array([[name in chosen for name in named]]) for chosen in (wanted, apart)]
    told = to_ask(flags[0], flags[1], pairs)[0]
    assert [name for name, is_asked in zip(named, told, strict=True) if is_asked] == asked


def circled(dialogues: int) -> Evidence:
    """B and C won alike against A, and B nearly always against C, which happens in no world of one line."""
    learnt = Evidence(1, 3, 0.1, pooled=True)
    for _ in range(dialogues):
        for pair, share in ((AB, 0.5), (AC, 0.5), (BC, 0.6)):
            folded(learnt, pair, share)
    return learnt


def test_what_no_line_explains_is_warned_of() -> None:
    """Of B and C, those with A say that they are equal, and more often those of the two that they are not."""
    learnt = circled(1)
    learnt.of("wide")[0, 0, BC] = learnt.equal[0, 0, BC] = 60
    nobody = np.zeros((1, 3, 3), dtype=bool)
    assert not contradictions(learnt, nobody, 0.05).any()
    learnt.equal[0, 1, BC] = 60
    assert contradictions(learnt, nobody, 0.05)[0].tolist() == [False, False, True]


def test_nobody_is_called_equal_against_their_own_dialogues() -> None:
    """However sure all dialogues are; and dialogues go to such a pair."""
    learnt = circled(30)
    for kind in ORDER_KINDS:
        learnt.of(kind)[:] = 1
    learnt.order_now[:] = 1
    learnt.equal[:] = learnt.equal_now[:] = 1000
    assert (learnt.least_alone[0] < AGAINST).tolist() == [False, False, True]
    decisions = Decisions(1, 3, alpha=0.05, beta=BETA, floor=1, pooled=True)
    decisions.look(ROW, learnt)
    assert decisions.equal[0].tolist() == [True, True, False]
    assert decisions.asked[0].tolist() == [False, False, True]


def test_a_study_of_before_goes_on_by_its_rule_and_a_new_one_needs_less() -> None:
    """Its log names no way to call pairs equal; it draws from the open pairs, as it did."""
    rule = StoppingRule(models=("A", "B", "C", "D"), margin=0.4, max_dialogues=900)
    new = SequentialStudy(rule, seed=3)
    row = log_rows([new.log[0]])[0]
    del row["equality"]
    (began,) = read_log([row])
    assert began.event == "began"
    assert new.studies.evidence.even
    assert not SequentialStudy.of(began.model_copy(update={"equality": "together"})).studies.evidence.even
    old = SequentialStudy.of(began)
    for study in (new, old):
        for number in range(900):
            if study.ended is None:
                study.arrive(f"w{number}", at=60.0 * number)
                study.finish(
                    f"w{number}", [Outcome(picks=(3, 3) if number % 2 else (4, 2), turns=6)], at=60.0 * number + 5
                )
    assert old.ended == new.ended == "decided"
    assert new.folded < 0.8 * old.folded
    arrivals = [[event for event in study.log if event.event == "arrived"] for study in (old, new)]
    assert not any(event.among for event in arrivals[0])
    assert any(event.among for event in arrivals[1])
    for study, came in zip((old, new), arrivals, strict=True):
        for number, event in enumerate(came):
            likely = {study._names(int(pair)) for pair in np.flatnonzero(study.studies._likely[0, number])}
            assert likely == set(event.among or event.open), "what pooling takes for as probable is what was drawn from"
        assert replay(read_log(log_rows(study.log))).log == study.log
