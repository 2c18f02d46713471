"""Cox's model of current-status data: the reference, a constrained optimiser, statsmodels, separation, clusters."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from statsmodels.genmod import families
from statsmodels.genmod.generalized_linear_model import GLM

from parlai_humaneval.statistics.survival.curve import COLLINEAR, cloglog_cox, survival_curve


def study(seed, *, n=300, beta=(-0.5, 0.3), lengths=(2, 3, 5), hazard=0.25):
    """Judgements whose hazard of being spotted depends on features of −1, 0 and 1."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-1, 2, (n, len(beta))).astype(float)
    k = rng.choice(lengths, n)
    spotted = rng.random(n) < 1 - np.exp(-hazard * k * np.exp(x @ np.array(beta)))
    return k, spotted.astype(int), x


def test_reference(gold_cases):
    """The published case: β, log-likelihood and baseline."""
    cases = [case for case in gold_cases if case["function"] == "cloglog_cox"]
    assert cases
    for case in cases:
        fit = cloglog_cox(*case["args"])
        assert fit.beta == pytest.approx(case["expected"]["beta"], abs=1e-4)
        assert fit.loglik == pytest.approx(case["expected"]["loglik"], rel=1e-4)
        expected = {int(k): value for k, value in case["expected"]["Lambda"].items()}
        assert fit.baseline == pytest.approx(expected, rel=1e-4)


def test_it_is_the_binomial_model_of_statsmodels():
    """Rows one by one, a dummy for each k; the model's own errors and, but for its factor, the clustered ones."""
    k, spotted, x = study(0)
    design = np.column_stack([x, (k[:, None] == np.unique(k)).astype(float)])
    worker = np.arange(300) % 25
    family = families.Binomial(link=families.links.CLogLog())
    plain = GLM(spotted, design, family=family).fit(tol=1e-12)
    by_worker = GLM(spotted, design, family=family).fit(
        tol=1e-12, cov_type="cluster", cov_kwds={"groups": worker, "use_correction": False}
    )
    fit = cloglog_cox(k, spotted, x, clusters={"worker": worker, "dialogue": np.arange(300) // 2})
    assert fit.beta == pytest.approx(list(plain.params[:2]), abs=1e-6)
    assert fit.loglik == pytest.approx(plain.llf, abs=1e-6)
    for place, effect in enumerate(fit.effects):
        assert effect.details["se_independent"] == pytest.approx(plain.bse[place], rel=1e-4)
        assert effect.details["p_independent"] == pytest.approx(plain.pvalues[place], rel=1e-3)
        error = effect.estimate / effect.statistic
        assert error == pytest.approx(by_worker.bse[place] * np.sqrt(25 / 24), rel=1e-3)
        assert effect.p_value == effect.details["p_worker"] != effect.details["p_dialogue"]
        assert effect.details["n_workers"] == 25


def constrained(k, spotted, x):
    """The greatest likelihood with a baseline of rises that are not negative, by a general optimiser."""
    lengths, place = np.unique(k, return_inverse=True)

    def minus(parameters):
        rises, beta = np.exp(parameters[: lengths.size]), parameters[lengths.size :]
        hazard = np.cumsum(rises)[place] * np.exp(x @ beta)
        hazard = np.maximum(hazard, 1e-12)
        return -np.where(spotted == 1, np.log(-np.expm1(-hazard)), -hazard).sum()

    starts = [np.concatenate([np.full(lengths.size, value), np.zeros(x.shape[1])]) for value in (-1.0, -4.0)]
    bounds = [(-25, 4)] * lengths.size + [(-8, 8)] * x.shape[1]
    return -min(minimize(minus, start, method="L-BFGS-B", bounds=bounds).fun for start in starts)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000))
def test_a_falling_baseline_is_pooled_as_the_likelihood_wants(seed):
    """Where later segments are spotted less often: no other baseline that never falls has a greater likelihood."""
    rng = np.random.default_rng(seed)
    k = rng.choice([1, 2, 3, 5], 80)
    x = rng.integers(-1, 2, (80, 1)).astype(float)
    spotted = (rng.random(80) < rng.uniform(0.2, 0.8, 6)[k]).astype(int)
    fit = cloglog_cox(k, spotted, x)
    hazards = [value for value in fit.baseline.values() if value is not None]
    assert all(a <= b + 1e-9 for a, b in pairwise(hazards))
    best = constrained(k, spotted, x)
    assert fit.loglik >= best - 1e-4
    assert fit.loglik == pytest.approx(best, abs=2e-2), "a greater one would break the rule"


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([1, 2, 3, 5]), st.integers(0, 1)), min_size=1, max_size=40))
def test_without_covariates_the_baseline_is_the_npmle(seen):
    """S = exp(−Λ), at lengths where none or all were spotted as well."""
    k, spotted = (np.array(values) for values in zip(*seen, strict=True))
    fit = cloglog_cox(k, spotted, np.zeros((len(seen), 0)))
    curve = {length: 0.0 if value is None else float(np.exp(-value)) for length, value in fit.baseline.items()}
    assert curve == pytest.approx(survival_curve(k, spotted), abs=1e-5)


def test_covariates_turned_round_turn_the_effect():
    """Better ↔ worse: the sign changes, nothing else; the order of rows does not matter."""
    k, spotted, x = study(2)
    one, other = cloglog_cox(k, spotted, x), cloglog_cox(k[::-1], spotted[::-1], -x[::-1])
    assert one.beta == pytest.approx([-value for value in other.beta], abs=1e-6)
    assert one.effects[0].p_value == pytest.approx(other.effects[0].p_value, rel=1e-4)


def test_the_truth_is_found():
    """Many judgements: β within its interval's reach of what made the data."""
    fit = cloglog_cox(*study(4, n=20_000))
    assert fit.beta == pytest.approx([-0.5, 0.3], abs=0.05)
    assert fit.baseline == pytest.approx({2: 0.5, 3: 0.75, 5: 1.25}, rel=0.08)


@pytest.mark.parametrize(("spotted", "hazard"), [(0, 0.0), (1, None)])
def test_all_or_none_spotted(spotted, hazard):
    """No effect can be estimated; the baseline is 0, or beyond all bounds."""
    fit = cloglog_cox([2, 3], [spotted] * 2, [[0.0], [1.0]], clusters={"worker": ["a", "b"]})
    assert (fit.beta, fit.loglik, fit.baseline) == ([None], 0.0, {2: hazard, 3: hazard})
    assert "no effect can be estimated" in fit.effects[0].notes[0]


def test_separation_is_said():
    """Spotted only when it was not more fluent: no finite effect, and no p-value; the other one stays."""
    k, _, x = study(6, n=240)
    rng = np.random.default_rng(0)
    more = (x[:, 0] > 0).astype(float)
    for chance in (1.0, 0.6):
        spotted = np.where(more == 1, 0, rng.random(240) < chance).astype(int)
        fit = cloglog_cox(k, spotted, np.column_stack([more, x[:, 1]]), clusters={"worker": np.arange(240) % 20})
        assert (fit.effects[0].estimate, fit.effects[0].p_value, fit.effects[0].ci_low) == (None, None, None)
        assert "separates" in fit.effects[0].notes[0]
    assert fit.effects[1].ci_low < fit.beta[1] < fit.effects[1].ci_high


def test_covariates_that_do_not_vary_or_depend_on_each_other():
    """A constant one is left out; two that are the same cannot be told apart."""
    k, spotted, x = study(7)
    with_constant = cloglog_cox(k, spotted, np.column_stack([np.ones(300), x]))
    assert with_constant.beta[0] is None
    assert "the same in all" in with_constant.effects[0].notes[0]
    assert with_constant.beta[1:] == pytest.approx(cloglog_cox(k, spotted, x).beta, abs=1e-6)
    twice = cloglog_cox(k, spotted, np.column_stack([x[:, 0], x[:, 0]]))
    assert twice.beta == [None, None]
    assert COLLINEAR in twice.effects[0].notes[0]


def test_nothing_and_few():
    """No data: p = 1 and no estimate. Two workers: an estimate, but no interval."""
    empty = cloglog_cox([], [], np.zeros((0, 2)))
    assert (empty.beta, [effect.p_value for effect in empty.effects]) == ([None, None], [1.0, 1.0])
    k, spotted, x = study(8, n=80)
    effect = cloglog_cox(k, spotted, x, clusters={"worker": np.arange(80) % 2}).effects[0]
    assert effect.estimate is not None
    assert (effect.ci_low, effect.p_value) == (None, None)


def test_bad_input_is_named():
    """Missing values, and names or clusters that do not fit."""
    with pytest.raises(ValueError, match="none missing"):
        cloglog_cox([2, 3], [0, 1], [[1.0], [np.nan]])
    with pytest.raises(ValueError, match="2 names for 1"):
        cloglog_cox([2, 3], [0, 1], [[1.0], [0.0]], names=["a", "b"])
    k, spotted, x = study(9, n=60)
    with pytest.raises(ValueError, match="3 clusters for 60"):
        cloglog_cox(k, spotted, x, clusters={"worker": [1, 2, 3]})


def test_clustered_errors_hold_their_level():
    """Workers of different suspicion who also differ in the feature they tick: 5 % by worker, far more without."""
    plain, clustered = [], []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        worker = np.repeat(np.arange(30), 10)
        k = rng.choice([2, 3, 5], 300)
        x = np.sign(rng.normal(0, 1, 30))[worker][:, None]
        hazard = 0.25 * np.exp(rng.normal(0, 0.8, 30))[worker]
        spotted = (rng.random(300) < 1 - np.exp(-hazard * k)).astype(int)
        effect = cloglog_cox(k, spotted, x, clusters={"worker": worker}).effects[0]
        plain.append(effect.details["p_independent"] < 0.05)
        clustered.append(effect.p_value < 0.05)
    assert np.mean(plain) > 0.15
    assert 0.01 <= np.mean(clustered) <= 0.11


SEPARATED_STUDY = """
from parlai_humaneval.statistics.survival.curve import cloglog_cox
fit = cloglog_cox([2, 3, 5] * 8, [0, 1, 0] * 4 + [1, 1, 1] * 4, [[0.0]] * 12 + [[1.0]] * 12)
assert fit.effects[0].estimate is None and fit.effects[0].notes
"""


def test_separation_is_told_in_words_and_nowhere_else():
    """In a fresh interpreter, where importing statsmodels turns its warnings on: nothing is printed."""
    done = subprocess.run([sys.executable, "-c", SEPARATED_STUDY], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
