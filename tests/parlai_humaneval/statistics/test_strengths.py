"""Plackett–Luce and Bradley–Terry strengths: against choix and statsmodels, by hand, and where nothing can be said."""

from __future__ import annotations

import math
from itertools import combinations

import choix
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import helmert
from scipy.special import expit
from statsmodels.api import Logit
from statsmodels.discrete.conditional_models import ConditionalLogit
from statsmodels.miscmodels.ordinal_model import OrderedModel

from parlai_humaneval.statistics.core.sign_flip import sign_flip_p_value
from parlai_humaneval.statistics.ranking.bradley_terry import bradley_terry
from parlai_humaneval.statistics.ranking.fit import contrasts, strength_note
from parlai_humaneval.statistics.ranking.plackett_luce import (
    _inclusion,
    comparison_strengths,
    plackett_luce,
    turn_strengths,
)
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.choices import choice_groups
from parlai_humaneval.tables.columns import from_rows

THETA = np.array([0.8, 0.2, -0.3, -0.7])
PULL = np.array([0.5, 0.0, -0.1, -0.4])


def _turns(n, seed, *, several=False, pull=PULL, workers=40):
    """Choices of four models at four places; who chose, and where each stood."""
    rng = np.random.default_rng(seed)
    places = np.argsort(rng.random((n, 4)), axis=1)
    utility = THETA + pull[places]
    if several:
        chosen = rng.random((n, 4)) < expit(utility + rng.normal(size=(n, 1)))
    else:
        utility = utility + rng.gumbel(size=(n, 4))
        chosen = utility == utility.max(axis=1, keepdims=True)
    return chosen.astype(float), rng.integers(0, workers, n), places + 1


def _estimates(results):
    return np.array([result.estimate for result in results], dtype=float)


def _centred(values):
    return np.asarray(values) - np.mean(values)


def test_one_pick_is_what_choix_gives():
    """Without positions: Luce's choice model as choix fits it."""
    chosen, workers, _ = _turns(300, 1, pull=np.zeros(4))
    data = [(int(row.argmax()), tuple(np.flatnonzero(row == 0))) for row in chosen]
    expected = choix.opt_top1(4, data, tol=1e-10)
    assert _estimates(plackett_luce(chosen, workers).models) == pytest.approx(_centred(expected), abs=1e-5)


def test_any_number_of_picks_of_many_models():
    """20 replies a turn, of which up to 19 are picked: strengths come back, which subsets could never be listed for."""
    rng = np.random.default_rng(5)
    truth = np.linspace(-1, 1, 20)
    chosen = rng.random((400, 20)) < expit(truth + rng.normal(size=(400, 1)))
    found = _estimates(plackett_luce(chosen.astype(float), rng.integers(0, 40, 400)).models)
    assert np.corrcoef(found, truth)[0, 1] > 0.95
    assert np.abs(found - truth).max() < 0.6


def test_picks_are_the_subsets_one_by_one():
    """Log normaliser, chances and covariances of the picks: as listing all subsets gives them, also far apart."""
    odds = np.random.default_rng(6).normal(0, 3, (5, 7))
    for picks in range(1, 7):
        subsets = np.array([[i in subset for i in range(7)] for subset in combinations(range(7), picks)], dtype=float)
        products = odds @ subsets.T
        shares = np.exp(products - np.logaddexp.reduce(products, axis=1, keepdims=True))
        log_sum, chance, covariance = _inclusion(odds, picks)
        expected = shares @ subsets
        together = np.einsum("rs,si,sj->rij", shares, subsets, subsets)
        assert log_sum == pytest.approx(np.logaddexp.reduce(products, axis=1), rel=1e-12)
        assert chance == pytest.approx(expected, abs=1e-12)
        assert covariance == pytest.approx(together - expected[:, :, None] * expected[:, None, :], abs=1e-12)


@pytest.mark.parametrize("several", [False, True])
def test_positions_and_several_picks_are_the_conditional_logit(several):
    """Strengths, position effects and independent standard errors as statsmodels' conditional logit."""
    chosen, workers, places = _turns(250, 2, several=several)
    chosen[::7, 0] = np.nan  # not all models are always shown
    shown = ~np.isnan(chosen)
    picks = np.nansum(chosen, axis=1)
    rows, models = np.nonzero(shown & ((picks > 0) & (picks < shown.sum(axis=1)))[:, None])
    design = np.zeros((len(rows), 6))
    for column in (1, 2, 3):
        design[:, column - 1] = models == column
        design[:, column + 2] = places[rows, models] == column + 1
    fit = ConditionalLogit(chosen[rows, models], design, groups=rows).fit(method="newton", disp=0)
    found = plackett_luce(chosen, workers, positions=np.where(shown, places, np.nan))
    assert _estimates(found.models) == pytest.approx(_centred([0, *fit.params[:3]]), abs=1e-6)
    assert _estimates(found.positions) == pytest.approx(_centred([0, *fit.params[3:]]), abs=1e-6)
    assert found.pairs[0].details["standard_error_independent"] == pytest.approx(fit.bse[0], abs=1e-6)


def test_comparisons_with_ties_are_an_ordinal_logit():
    """Rao–Kupper's model has symmetric thresholds about the effect of the place: statsmodels gives the same."""
    rng = np.random.default_rng(3)
    first = rng.integers(0, 4, 600)
    second = (first + rng.integers(1, 4, 600)) % 4
    lead = THETA[first] - THETA[second] + 0.4 + rng.logistic(size=600)
    outcome = np.where(lead > 0.5, 1, np.where(lead < -0.5, -1, 0))
    design = np.eye(4)[first] - np.eye(4)[second]
    model = OrderedModel(outcome + 1, design[:, 1:], distr="logit")
    fit = model.fit(method="bfgs", gtol=1e-9, disp=0)
    low, high = model.transform_threshold_params(fit.params[-2:])[1:-1]
    found = bradley_terry([f"m{i}" for i in first], [f"m{i}" for i in second], outcome, rng.integers(0, 30, 600))
    assert _estimates(found.models) == pytest.approx(_centred([0, *fit.params[:3]]), abs=1e-5)
    assert found.tie.estimate == pytest.approx((high - low) / 2, abs=1e-5)
    assert found.positions[0].estimate - found.positions[1].estimate == pytest.approx(-(low + high) / 2, abs=1e-5)


def test_comparisons_without_ties_and_places_are_what_choix_gives():
    """Plain Bradley–Terry."""
    rng = np.random.default_rng(4)
    data = [
        (a, b) if rng.random() < expit(THETA[a] - THETA[b]) else (b, a) for a, b in [*combinations(range(4), 2)] * 40
    ]
    winner, loser = np.array(data).T
    found = bradley_terry(winner.astype(str), loser.astype(str), np.ones(len(data)), range(len(data)), slots=False)
    assert _estimates(found.models) == pytest.approx(choix.opt_pairwise(4, data, tol=1e-10), abs=1e-5)
    assert found.tie is None
    assert found.positions == ()


def test_two_models_by_hand():
    """30 of 40 turns: log odds log 3; the clustered error is the sandwich that statsmodels gives."""
    workers = np.repeat(np.arange(8), 5)
    wins = np.tile([1, 1, 1, 0, 1, 1, 0, 1], 5)[:40].astype(float)
    found = plackett_luce(np.column_stack([wins, 1 - wins]), workers, models=["a", "b"])
    (pair,) = found.pairs
    share = wins.mean()
    assert pair.estimate == pytest.approx(np.log(share / (1 - share)))
    assert pair.details["chance"] == pytest.approx(share)
    fit = Logit(wins, np.ones((40, 1))).fit(
        disp=0, cov_type="cluster", cov_kwds={"groups": workers, "use_correction": False}, use_t=True
    )
    assert pair.details["standard_error"] == pytest.approx(fit.bse[0] * np.sqrt(8 / 7), rel=1e-6)
    # All turns rest on one strength, so that flipping signs of the log-odds is flipping those of the shares.
    parts = np.bincount(workers, weights=wins - share)
    assert pair.p_value == pytest.approx(sign_flip_p_value(parts + 5 * pair.estimate * share * (1 - share)))
    assert (pair.p_value < 0.05) == (pair.ci_low > 0)
    assert pair.p_value == pytest.approx(found.equal.p_value)
    assert pair.p_holm == pair.p_value
    assert found.models[0].estimate == pytest.approx(pair.estimate / 2)


def test_one_pick_and_comparisons_of_two_agree():
    """Two replies a turn: the conditional logit and Bradley–Terry are the same model."""
    rng = np.random.default_rng(5)
    shown = np.array([rng.permutation(4)[:2] for _ in range(200)])
    workers = rng.integers(0, 20, 200)
    chosen = np.full((200, 4), np.nan)
    wins = rng.random(200) < expit(THETA[shown[:, 0]] - THETA[shown[:, 1]] + 0.3)
    chosen[np.arange(200), shown[:, 0]], chosen[np.arange(200), shown[:, 1]] = wins, ~wins
    places = np.full((200, 4), np.nan)
    places[np.arange(200), shown[:, 0]], places[np.arange(200), shown[:, 1]] = 1, 2
    turns = plackett_luce(chosen, workers, positions=places, models=list("0123"))
    pairs = bradley_terry(shown[:, 0].astype(str), shown[:, 1].astype(str), np.where(wins, 1, -1), workers)
    for one, other in zip(
        [*turns.models, *turns.pairs, *turns.positions], [*pairs.models, *pairs.pairs, *pairs.positions], strict=True
    ):
        assert (one.estimate, one.ci_low, one.p_value) == pytest.approx(
            (other.estimate, other.ci_low, other.p_value), rel=1e-6
        )
        assert one.details["p_independent"] == pytest.approx(other.details["p_independent"], rel=1e-6)


@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 999), several=st.booleans())
def test_names_and_order_do_not_matter(seed, several):
    """Models in other columns, turns in another order: the same strengths; pairs change sign with their order."""
    chosen, workers, places = _turns(120, seed, several=several)
    rng = np.random.default_rng(seed)
    models, turns = rng.permutation(4), rng.permutation(120)
    one = plackett_luce(chosen, workers, positions=places)
    other = plackett_luce(chosen[turns][:, models], workers[turns], positions=places[turns][:, models])
    assert _estimates(other.models) == pytest.approx(_estimates(one.models)[models], abs=1e-6)
    assert _estimates(other.positions) == pytest.approx(_estimates(one.positions), abs=1e-6)
    assert other.equal.p_value == pytest.approx(one.equal.p_value, rel=1e-4)
    assert _estimates(one.models).sum() == pytest.approx(0, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 999))
def test_swapping_winners_turns_bradley_terry_round(seed):
    """What was lost is won: every difference changes its sign and keeps its p-value."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, 90)
    second = (first + rng.integers(1, 3, 90)) % 3
    outcome, workers = rng.integers(-1, 2, 90), rng.integers(0, 12, 90)
    one = bradley_terry(first.astype(str), second.astype(str), outcome, workers)
    other = bradley_terry(first.astype(str), second.astype(str), -outcome, workers)
    assert _estimates(other.pairs) == pytest.approx(-_estimates(one.pairs), abs=1e-7)
    assert [r.p_value for r in other.pairs] == pytest.approx([r.p_value for r in one.pairs], rel=1e-5)
    assert other.tie.estimate == pytest.approx(one.tie.estimate, abs=1e-7)


def test_workers_who_repeat_themselves_widen_the_interval():
    """Ten equal answers of a worker are worth one, not ten."""
    chosen, _, places = _turns(60, 6)
    once = plackett_luce(chosen, np.arange(60), positions=places)
    again = plackett_luce(
        np.repeat(chosen, 10, axis=0), np.repeat(np.arange(60), 10), positions=np.repeat(places, 10, axis=0)
    )
    for one, ten in zip(once.pairs, again.pairs, strict=True):
        assert (ten.estimate, ten.details["standard_error"]) == pytest.approx(
            (one.estimate, one.details["standard_error"]), rel=1e-6
        )
        assert ten.details["standard_error_independent"] == pytest.approx(
            one.details["standard_error_independent"] / np.sqrt(10), rel=1e-6
        )


def test_joint_test_holds_its_level_with_few_workers():
    """Equal models, 12 workers with tastes of their own: about one study in twenty rejects."""
    rng = np.random.default_rng(7)
    rejected, studies = 0, 150  # .05 with an error of .018
    for _ in range(studies):
        taste = rng.normal(0, 1, (12, 3))
        utility = np.repeat(taste, 10, axis=0) + rng.gumbel(size=(120, 3))
        chosen = (utility == utility.max(axis=1, keepdims=True)).astype(float)
        rejected += plackett_luce(chosen, np.repeat(np.arange(12), 10)).equal.p_value < 0.05
    assert 0.015 < rejected / studies < 0.085


def test_a_model_that_was_never_chosen_has_no_strength():
    """It is said so; the others are estimated as without it; its pairs are tested by who was chosen more often."""
    chosen, workers, _ = _turns(150, 8)
    without = plackett_luce(chosen[:, :3][chosen[:, 3] == 0], workers[chosen[:, 3] == 0], models=list("abc"))
    chosen = np.column_stack([chosen[:, :3], np.zeros(150)])[chosen[:, 3] == 0]
    found = plackett_luce(chosen, workers[: len(chosen)], models=list("abcd"))
    assert _estimates(found.models[:3]) == pytest.approx(_estimates(without.models), abs=1e-7)
    assert found.models[3].estimate is None
    assert "is below any number" in found.models[3].notes[0]
    assert [r.estimate is None for r in found.pairs] == ["d" in r.name for r in found.pairs]
    of_d = [r for r in found.pairs if "d" in r.name]
    for model, pair in zip("abc", of_d, strict=True):
        chosen_by = np.bincount(workers[: len(chosen)], weights=chosen[:, "abc".index(model)])
        assert pair.name == f"{model} over d"
        assert pair.p_value == sign_flip_p_value(chosen_by)
        assert pair.details["lead"] == chosen_by.sum()
    assert {r.details["family_tests"] for r in found.pairs} == {6}
    assert "strength of d cannot be estimated" in found.notes[0]


def test_a_model_that_was_always_chosen_has_no_strength():
    """The others are known from the turns without it."""
    chosen = np.array([[1, 0, 0], [1, 0, np.nan], [np.nan, 1, 0], [np.nan, 0, 1], [np.nan, 1, 0]])
    found = plackett_luce(chosen, list("uvwxy"), models=list("abc"))
    assert found.models[0].estimate is None
    assert "above any number" in found.models[0].notes[0]
    assert found.pairs[2].estimate == pytest.approx(np.log(2))
    assert found.pairs[2].n == 3


def test_two_groups_that_nothing_links():
    """Models that only won within their own two have strengths there, and cannot be compared with the others."""
    chosen = np.full((8, 4), np.nan)
    chosen[:4, :2] = [[1, 0], [0, 1], [1, 0], [1, 0]]
    chosen[4:, 2:] = [[1, 0], [0, 1], [0, 1], [1, 0]]
    found = plackett_luce(chosen, range(8))
    half = np.log(3) / 2
    assert [model.estimate for model in found.models] == pytest.approx([half, -half, 0, 0], abs=1e-6)
    assert [pair.estimate is None for pair in found.pairs] == [False, True, True, True, True, False]
    assert found.best is None
    assert found.order.first(found.order.names) == ["model 1", "model 3", "model 4"]
    assert found.notes == (
        "No answer ranks model 1 and model 2 above or below model 3 and model 4, directly or through other models.",
    )


@pytest.mark.parametrize("table", [np.zeros((4, 2)), np.ones((4, 2)), np.zeros((0, 2)), [[1, 0], [1, 0], [1, 0]]])
def test_nothing_can_be_learnt(table):
    """All ties, nothing at all, or one model that won everything: no numbers, and a reason."""
    found = plackett_luce(table, range(len(table)))
    assert all(r.estimate is None and r.notes for r in [*found.models, *found.pairs, found.equal])
    assert found.notes[0].startswith("No strength can be estimated")


def test_only_ties_and_no_comparisons():
    """p is 1 with no observations; not a number anywhere."""
    ties = bradley_terry(["a", "b"], ["b", "a"], [0, 0], ["u", "v"])
    assert "every comparison is a tie" in ties.notes[0]
    none = bradley_terry([], [], [], [], models=["a", "b"])
    assert none.pairs[0].p_value == 1.0
    assert none.pairs[0].estimate is None


def test_few_workers_have_no_interval():
    """Estimates stand, intervals and p-values do not."""
    chosen, _, places = _turns(80, 9)
    found = plackett_luce(chosen, np.arange(80) % 2, positions=places)
    for result in [*found.models, *found.pairs, *found.positions]:
        assert result.estimate is not None
        assert result.ci_low is None
        assert result.p_value is None
    assert found.equal.p_value is None
    three = plackett_luce(chosen, np.arange(80) % 3, positions=places)
    assert three.pairs[0].p_value is not None
    assert three.equal.p_value >= 0.25, "of three raters all signs are eight"


def test_positions_that_say_what_the_model_says():
    """A model always at its own place: place and model cannot be told apart, and only strengths are given."""
    chosen, workers, _ = _turns(100, 10)
    found = plackett_luce(chosen, workers, positions=np.tile([1, 2, 3, 4], (100, 1)))
    assert found.positions == ()
    assert "Position effects cannot be estimated" in " ".join(found.notes)
    assert _estimates(found.models) == pytest.approx(_estimates(plackett_luce(chosen, workers).models))


def test_a_position_that_never_won():
    """Its pull has no end, so that positions are left out, in words."""
    chosen, workers, places = _turns(100, 11)
    keep = (chosen * (places == 4)).sum(axis=1) == 0
    found = plackett_luce(chosen[keep], workers[keep], positions=places[keep])
    assert found.positions == ()
    assert "not every position" in " ".join(found.notes)
    pairs = bradley_terry(list("abab"), list("baba"), [1, 1, 1, 1], list("uvwx"))
    assert "one position never won" in " ".join(pairs.notes)


def test_missing_places_leave_the_turn_out():
    """And the number of them is said."""
    chosen, workers, places = _turns(100, 12)
    holes = places.astype(float)
    holes[:5, 0] = np.nan
    found = plackett_luce(chosen, workers, positions=holes)
    assert _estimates(found.models) == pytest.approx(
        _estimates(plackett_luce(chosen[5:], workers[5:], positions=places[5:]).models)
    )
    assert "5 turns are left out" in found.notes[-1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([[1, 0]], ["u", "v"]), "clusters must name"),
        (([[1, 0]], [None]), "none missing"),
        (([[2, 0]], ["u"]), "1 \\(chosen\\)"),
        (([[1], [0]], ["u", "v"]), "two models"),
    ],
)
def test_turns_that_cannot_be_used_are_refused(arguments, said):
    """Values, shapes, clusters."""
    with pytest.raises(ValueError, match=said):
        plackett_luce(*arguments)


def test_more_turns_that_cannot_be_used():
    """Positions of another shape, names that repeat."""
    with pytest.raises(ValueError, match="same shape as chosen"):
        plackett_luce([[1, 0]], ["u"], positions=[[1]])
    with pytest.raises(ValueError, match="a different name for each column"):
        plackett_luce([[1, 0]], ["u"], models=["a", "a"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((["a"], ["b"], [1], ["u", "v"]), "same length"),
        ((["a"], ["a"], [1], ["u"]), "two models"),
        ((["a", "a"], ["b", "a"], [1, 1], ["u", "v"]), "with itself"),
        ((["a"], ["b"], [2], ["u"]), "outcome must be"),
        ((["a"], [None], [1], ["u"]), "missing"),
    ],
)
def test_comparisons_that_cannot_be_used_are_refused(arguments, said):
    """Lengths, names, outcomes."""
    with pytest.raises(ValueError, match=said):
        bradley_terry(*arguments)


def _tables(**frames):
    empty = {
        "turns": from_rows("turns", []),
        "dialogues": from_rows("dialogues", []),
        "comparisons": from_rows("comparisons", []),
    }
    return Tables(**{**empty, **frames})


def test_turns_of_a_table():
    """The same strengths as from its matrices, with the places that stand in the table."""
    chosen, workers, places = _turns(80, 13)
    rows = [
        {
            "dialogue_id": f"d{turn}", "worker_id": f"w{workers[turn]}", "technique": "free_for_all", "setting": "",
            "metric": "preference", "turn": 1, "model": "abcd"[model], "position": places[turn, model],
            "selected": int(chosen[turn, model]), "continued": int(chosen[turn, model]), "written": 0, "seconds": 3,
        }
        for turn in range(80)
        for model in range(4)
    ]  # fmt: skip
    (group,) = choice_groups(_tables(turns=from_rows("turns", rows)))
    found, expected = turn_strengths(group), plackett_luce(chosen, workers, positions=places, models=list("abcd"))
    assert _estimates(found.pairs) == pytest.approx(_estimates(expected.pairs), abs=1e-9)
    assert [r.ci_low for r in found.positions] == pytest.approx([r.ci_low for r in expected.positions], abs=1e-9)
    assert [r.name for r in found.models] == [f"strength of {m}" for m in "abcd"]


def test_comparisons_of_a_table():
    """``side`` says which stood first, else the positions; without them the place is not modelled."""
    rng = np.random.default_rng(14)
    sides, outcome, workers = rng.integers(1, 3, 60), rng.integers(-1, 2, 60), rng.integers(0, 9, 60)
    row = {"metric": "preference", "model_a": "a", "model_b": "b", "dialogue_a": "x", "dialogue_b": "y", "seconds": 1}
    rows = [
        {**row, "item_id": f"i{i}", "worker_id": f"w{workers[i]}", "winner": {1: "a", 0: "tie", -1: "b"}[outcome[i]]}
        for i in range(60)
    ]
    swapped = sides == 2
    first, second = np.where(swapped, "b", "a"), np.where(swapped, "a", "b")
    expected = bradley_terry(first, second, np.where(swapped, -outcome, outcome), workers)
    places = [{**r, "position_a": s, "n_models": 2} for r, s in zip(rows, sides, strict=True)]
    for given_rows in ([{**r, "side": s} for r, s in zip(rows, sides, strict=True)], places):
        found = comparison_strengths(from_rows("comparisons", given_rows))
        assert _estimates(found.positions) == pytest.approx(_estimates(expected.positions), abs=1e-9)
        assert _estimates(found.pairs) == pytest.approx(_estimates(expected.pairs), abs=1e-9)
    several = [{**r, "n_models": 3} for r in places]
    for without in (rows, several):
        assert comparison_strengths(from_rows("comparisons", without)).positions == ()
    assert comparison_strengths(from_rows("comparisons", [])) is None
    with pytest.raises(ValueError, match="neither of the models"):
        comparison_strengths(from_rows("comparisons", [{**rows[0], "winner": "c"}]))


def test_who_stood_first_turns_the_outcome_with_the_models():
    """A wins nine of ten wherever it stands: it is the stronger by log 9, and the place has no pull."""
    row = {"metric": "preference", "model_a": "a", "model_b": "b", "dialogue_a": "x", "dialogue_b": "y", "seconds": 1}
    rows = [
        {**row, "item_id": f"i{i}", "worker_id": f"w{i % 20}", "winner": "b" if i % 10 == 0 else "a", "side": side}
        for i in range(100)
        for side in (1, 2)
    ]
    found = comparison_strengths(from_rows("comparisons", rows))
    assert found.pairs[0].estimate == pytest.approx(np.log(9), abs=0.01)
    assert found.positions[0].estimate == pytest.approx(0, abs=1e-6)
    # An empty number of models means two, so that places of replies tell who stood first.
    places = [{**{k: v for k, v in r.items() if k != "side"}, "position_a": r["side"]} for r in rows]
    again = comparison_strengths(from_rows("comparisons", places))
    assert _estimates(again.positions) == pytest.approx(_estimates(found.positions))


@pytest.mark.parametrize("ties_first", [False, True])
def test_a_group_of_ties_takes_no_strengths_from_others(ties_first):
    """Where a group of models only tied, those of other groups have theirs, and its own say why they have none."""
    pairs = {("a", "b"): (9, 1, 0), ("c", "d"): (8, 2, 0), ("e", "f"): (0, 0, 10)}
    rows = [
        (*pair, outcome)
        for pair, counts in pairs.items()
        for outcome, count in zip((1, -1, 0), counts, strict=True)
        for _ in range(count)
    ]
    rows = rows[::-1] if ties_first else rows
    first, second, outcome = zip(*rows, strict=True)
    found = bradley_terry(first, second, outcome, [f"w{i % 6}" for i in range(30)], slots=False)
    estimates = [None if model.estimate is None else round(model.estimate, 3) for model in found.models]
    log9, log4 = round(math.log(9) / 2, 3), round(math.log(4) / 2, 3)
    assert estimates == [log9, -log9, log4, -log4, None, None]
    notes = [strength_note(found.order, name, model) for name, model in zip("abcdef", found.models, strict=True)]
    assert notes[:4] == ["among a and b"] * 2 + ["among c and d"] * 2
    assert all("are all ties" in note for note in notes[4:])


@pytest.mark.parametrize("size", [0, 1, 2, 3, 12])
def test_contrasts_are_those_of_scipy(size: int) -> None:
    """To the last digit: stored reports must not change."""
    expected = helmert(size).T if size > 1 else np.zeros((size, 0))
    np.testing.assert_array_equal(contrasts(size), expected)
