"""TrueSkill of many replicates at once, against the package that plays one match after the other."""

from __future__ import annotations

from itertools import chain
from math import erfc, sqrt
from statistics import NormalDist

import numpy as np
import pytest
import trueskill as package
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from parlai_humaneval.statistics.ranking import trueskill as skill_update
from parlai_humaneval.statistics.ranking.trueskill import (
    SkillModel,
    free_for_all_path,
    free_for_all_ratings,
    rate_free_for_all,
    rate_two_player,
)

MATCHES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 3), st.sampled_from([-1, 0, 1])), min_size=1, max_size=12
).map(lambda rows: [(a, (a + step) % 4, result) for a, step, result in rows])


def _columns(matches):
    return tuple(np.array(column) for column in zip(*matches, strict=True))


def _by_package(matches, n_models, **constants):
    """One match after the other, by the package with scipy's normal distribution."""
    world = package.TrueSkill(backend="scipy", **constants)
    beliefs = [world.create_rating() for _ in range(n_models)]
    for a, b, result in matches:
        ranks = [0, 0] if result == 0 else [0, 1] if result == 1 else [1, 0]
        (beliefs[a],), (beliefs[b],) = world.rate([(beliefs[a],), (beliefs[b],)], ranks=ranks)
    return np.array([(own.mu, own.sigma) for own in beliefs]).T


@settings(max_examples=40, deadline=None)
@given(matches=MATCHES)
def test_two_players_match_the_package(matches):
    """Wins, losses and ties in any order give the package's beliefs."""
    mu, sigma = rate_two_player(*_columns(matches), 4)
    assert np.array([mu[0], sigma[0]]) == pytest.approx(_by_package(matches, 4), abs=1e-9)


def test_two_players_with_other_constants():
    """All five constants are used as the package uses them."""
    matches = [(0, 1, 1), (1, 2, 0), (2, 0, -1), (0, 1, 0), (1, 0, 1)]
    model = SkillModel(mu=10, sigma=3, beta=2, tau=0.5, draw=0.4)
    expected = _by_package(matches, 3, mu=10, sigma=3, beta=2, tau=0.5, draw_probability=0.4)
    assert np.concatenate(rate_two_player(*_columns(matches), 3, model=model)) == pytest.approx(expected, abs=1e-9)


def test_upsets_far_in_the_tail_stay_finite():
    """A win or a tie that hardly could be: the normal tail must not underflow."""
    model = SkillModel(sigma=40, beta=0.01, tau=0)
    first, second, result = [0] * 30 + [0, 0], [1] * 30 + [1, 1], [1] * 30 + [-1, 0]
    for values in rate_two_player(first, second, result, 2, model=model):
        assert np.isfinite(values).all()
    points = [[1, 0, 0]] * 30 + [[0, 1, 1], [0, 0, 0], [1, 2, 1]]
    for orders in (None, [range(33)] * 20):
        for values in free_for_all_ratings(points, model=model, orders=orders):
            assert np.isfinite(values).all()


@settings(max_examples=30, deadline=None)
@given(matches=MATCHES, seed=st.integers(0, 99))
def test_each_replicate_plays_its_own_order(matches, seed):
    """Row r of ``orders`` gives what the matches of that row give alone, repeated ones too."""
    first, second, result = _columns(matches)
    orders = np.random.default_rng(seed).integers(0, len(matches), (5, 7))
    mu, sigma = rate_two_player(first, second, result, 4, orders=orders)
    for row, order in enumerate(orders):
        alone = rate_two_player(first[order], second[order], result[order], 4)
        assert mu[row] == pytest.approx(alone[0][0], abs=1e-12)
        assert sigma[row] == pytest.approx(alone[1][0], abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(matches=MATCHES)
def test_who_is_called_first_does_not_matter(matches):
    """Swapping the two of every match, and its result, changes nothing; nor does renaming the models."""
    first, second, result = _columns(matches)
    mu, sigma = rate_two_player(first, second, result, 4)
    swapped = rate_two_player(second, first, -result, 4)
    renamed = rate_two_player(3 - first, 3 - second, result, 4)
    assert np.concatenate(swapped) == pytest.approx(np.concatenate([mu, sigma]), abs=1e-9)
    assert np.concatenate(renamed)[:, ::-1] == pytest.approx(np.concatenate([mu, sigma]), abs=1e-9)


def test_nobody_played():
    """No matches leave every replicate with what was believed at the start."""
    mu, sigma = rate_two_player([], [], [], 3)
    assert mu.tolist() == [[25.0] * 3]
    assert sigma == pytest.approx(np.full((1, 3), 25 / 3))


@pytest.mark.parametrize(
    ("first", "second", "result", "said"),
    [
        ([0], [1, 0], [1], "same length"),
        ([0], [2], [1], "from 0 to 1"),
        ([-1], [0], [1], "from 0 to 1"),
        ([0], [1], [2], "result must be"),
        ([0], [1], [np.nan], "none missing"),
        ([1], [1], [1], "against itself"),
    ],
)
def test_what_is_no_match_is_refused(first, second, result, said):
    """Wrong lengths, indices and results are named."""
    with pytest.raises(ValueError, match=said):
        rate_two_player(first, second, result, 2)


def test_orders_and_constants_are_checked():
    """An order beyond the matches, a flat order, ties that cannot be, and impossible constants."""
    with pytest.raises(ValueError, match="not between 0 and 0"):
        rate_two_player([0], [1], [1], 2, orders=[[0, 1]])
    with pytest.raises(ValueError, match="one row per replicate"):
        rate_two_player([0], [1], [1], 2, orders=[0])
    with pytest.raises(ValueError, match="draw chance is 0"):
        rate_two_player([0], [1], [0], 2, model=SkillModel(draw=0))
    with pytest.raises(ValueError, match="above 0"):
        SkillModel(beta=0)


def _below(x):
    """The normal distribution function, also far in its tail."""
    return erfc(-x / sqrt(2)) / 2


def _reference_match(mu, sigma, ranks):
    """One match by plain message passing, forth and back along the chain, written from Herbrich et al. 2006."""
    order = sorted(range(len(mu)), key=lambda i: ranks[i])
    beta2, tau2 = (25 / 6) ** 2, (25 / 300) ** 2
    margin = NormalDist().inv_cdf(0.55) * sqrt(2) * 25 / 6
    prior = [(sigma[i] ** 2 + tau2, mu[i]) for i in order]
    own = [(1 / (v + beta2), m / (v + beta2)) for v, m in prior]
    n = len(order)
    right = [(0.0, 0.0)] * n  # to player i from the difference with player i + 1
    left = [(0.0, 0.0)] * n  # to player i from the difference with player i - 1

    def visit(i):
        pa, ta = own[i][0] + left[i][0], own[i][1] + left[i][1]
        pb, tb = own[i + 1][0] + right[i + 1][0], own[i + 1][1] + right[i + 1][1]
        mean, variance = ta / pa - tb / pb, 1 / pa + 1 / pb
        c = sqrt(variance)
        t, e = mean / c, margin / c
        if ranks[order[i]] == ranks[order[i + 1]]:
            low, high = -e - t, e - t
            mass = _below(high) - _below(low)
            v = (NormalDist().pdf(low) - NormalDist().pdf(high)) / mass
            w = v * v + (high * NormalDist().pdf(high) - low * NormalDist().pdf(low)) / mass
        else:
            v = NormalDist().pdf(t - e) / _below(t - e)
            w = v * (v + t - e)
        new_variance = variance * (1 - w)
        p = 1 / new_variance - 1 / variance
        q = (mean + c * v) / new_variance - mean / variance
        right[i] = (p / (1 + p / pb), (tb / pb * p + q) / (1 + p / pb))
        left[i + 1] = (p / (1 + p / pa), (ta / pa * p - q) / (1 + p / pa))

    for _ in range(100):
        before = [*right, *left]
        for i in [*range(n - 1), *range(n - 2, -1, -1)]:
            visit(i)
    # After an upset that hardly could be, messages creep for thousands of passes, and 1 - w has few digits left.
    assume(all(abs(a - b) <= 1e-12 * abs(b) for a, b in zip(chain(*before), chain(*right, *left), strict=True)))
    found = [(0.0, 0.0)] * n
    for place, i in enumerate(order):
        p, q = left[place][0] + right[place][0], left[place][1] + right[place][1]
        variance, mean = prior[place]
        precision = 1 / variance + p / (1 + beta2 * p)
        found[i] = ((mean / variance + q / (1 + beta2 * p)) / precision, 1 / sqrt(precision))
    return np.array(found).T


@pytest.fixture(params=[0, 99], ids=["arrays", "one by one"])
def either_way(request, monkeypatch):
    """Few replicates are rated one by one, many as arrays: both must be right."""
    monkeypatch.setattr(skill_update, "FEW", request.param)


PLAYERS = st.lists(st.tuples(st.floats(10, 40), st.floats(0.5, 9), st.integers(0, 3)), min_size=2, max_size=6)


@pytest.mark.usefixtures("either_way")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(players=PLAYERS)
def test_free_for_all_matches_plain_message_passing(players):
    """Any number of players, ties anywhere: the same beliefs as messages passed one at a time.

    Where 1 - w is a thousandth, v keeps ten digits of its sixteen in it, and each further message loses some: 1e-6.
    """
    mu, sigma, ranks = zip(*players, strict=True)
    assert np.array(rate_free_for_all(mu, sigma, ranks)) == pytest.approx(_reference_match(mu, sigma, ranks), abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(players=PLAYERS)
def test_free_for_all_is_near_the_package(players):
    """The package stops its messages early, at a change of 1e-4: it is as near as that."""
    mu, sigma, ranks = zip(*players, strict=True)
    world = package.TrueSkill(backend="scipy")
    rated = world.rate([(world.create_rating(m, s),) for m, s in zip(mu, sigma, strict=True)], ranks=ranks)
    expected = np.array([(own.mu, own.sigma) for (own,) in rated]).T
    assert np.array(rate_free_for_all(mu, sigma, ranks)) == pytest.approx(expected, abs=5e-3)


@pytest.mark.usefixtures("either_way")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(matches=MATCHES)
def test_free_for_all_of_two_is_the_closed_form(matches):
    """A dialogue of two models gives what a match of two gives; the models that were not there stay as they were."""
    first, second, result = _columns(matches)
    points = np.full((len(matches), 4), np.nan)
    rows = np.arange(len(matches))
    points[rows, first], points[rows, second] = result, 0
    expected = rate_two_player(first, second, result, 4)
    assert np.concatenate(free_for_all_ratings(points)) == pytest.approx(np.concatenate(expected), abs=1e-9)


POINTS = st.lists(st.lists(st.integers(0, 4), min_size=4, max_size=4), min_size=1, max_size=6)


@pytest.mark.usefixtures("either_way")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(points=POINTS, seed=st.integers(0, 99))
def test_free_for_all_replicates_and_stops(points, seed):
    """Each replicate is its own study, and a stop is the study that ended there; absent models differ by row."""
    rng = np.random.default_rng(seed)
    table = np.where(rng.random((len(points), 4)) < 0.3, np.nan, points)
    orders = rng.integers(0, len(points), (3, 5))
    mu, sigma = free_for_all_path(table, [0, 2, 5], orders=orders)
    assert (mu[0] == 25).all()
    for stop, at in ((2, 1), (5, 2)):
        for row, order in enumerate(orders):
            alone = free_for_all_ratings(table[order[:stop]])
            assert np.array([mu[at, row], sigma[at, row]]) == pytest.approx(np.concatenate(alone), abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(players=PLAYERS, by=st.integers(1, 5))
def test_points_count_only_by_their_order(players, by):
    """More of the same order of points changes nothing."""
    points = np.array([[rank for _, _, rank in players]])
    assert np.array_equal(free_for_all_ratings(points)[0], free_for_all_ratings(points * by + 1)[0])


@pytest.mark.usefixtures("either_way")
def test_who_was_not_there_is_not_touched():
    """A model alone in its dialogue plays no match, and gains no uncertainty from one it was not in."""
    mu, sigma = free_for_all_ratings([[3, np.nan, np.nan], [np.nan, np.nan, np.nan]])
    assert mu.tolist() == [[25.0] * 3]
    assert sigma.tolist() == [[25 / 3] * 3]


def test_what_is_no_free_for_all_is_refused():
    """Shapes, unknown beliefs, impossible ties and stops are named."""
    with pytest.raises(ValueError, match="same shape"):
        rate_free_for_all([25, 25], [8, 8], [0])
    with pytest.raises(ValueError, match="known for every player"):
        rate_free_for_all([25, np.nan], [8, 8], [0, 1])
    with pytest.raises(ValueError, match="draw chance is 0"):
        rate_free_for_all([25, 25], [8, 8], [0, 0], model=SkillModel(draw=0))
    with pytest.raises(ValueError, match="row per dialogue"):
        free_for_all_ratings([1, 2])
    with pytest.raises(ValueError, match="between 0 and 1, the number"):
        free_for_all_path([[1, 2]], [2])
