"""TrueSkill of many replicates at once, against the package that plays one match after the other."""

from __future__ import annotations

import numpy as np
import pytest
import trueskill as package
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval.analysis.skill_batch import rate_two_player
from parlai_humaneval.analysis.skill_update import SkillModel

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
        ([0], [1], [2], "result holds"),
        ([0], [1], [np.nan], "no missing values"),
        ([1], [1], [1], "against itself"),
    ],
)
def test_what_is_no_match_is_refused(first, second, result, said):
    """Wrong lengths, indices and results are named."""
    with pytest.raises(ValueError, match=said):
        rate_two_player(first, second, result, 2)


def test_orders_and_constants_are_checked():
    """An order beyond the matches, a flat order, ties that cannot be, and impossible constants."""
    with pytest.raises(ValueError, match="beyond the 1"):
        rate_two_player([0], [1], [1], 2, orders=[[0, 1]])
    with pytest.raises(ValueError, match="a row a replicate"):
        rate_two_player([0], [1], [1], 2, orders=[0])
    with pytest.raises(ValueError, match="chance of one is 0"):
        rate_two_player([0], [1], [0], 2, model=SkillModel(draw=0))
    with pytest.raises(ValueError, match="above 0"):
        SkillModel(beta=0)
