"""How printed figures of the papers are recomputed from their inputs, each by the public function that makes them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chi2

from parlai_humaneval import analysis as a
from parlai_humaneval.statistics.core.ranks import kendall_tau_b
from parlai_humaneval.statistics.core.shares import binomial_p, wald_interval
from parlai_humaneval.statistics.preference.win_rates import lin_pooled, pw_combo_score

Inputs = Mapping[str, Any]
Recompute = Callable[[Mapping[str, Any]], float]
ALPHA = 0.05


def _lin_over_turns(figure: Mapping[str, Any]) -> float:
    """Lin pooled over turns of equally many dialogues: each turn is printed as the percentage that was won."""
    won = figure["inputs"]["per_turn_pct"]
    return _percent(lin_pooled([(share, 100 - share) for share in won]))


def _percent(share: float | None) -> float:
    assert share is not None
    return 100 * share


def _discordant(inputs: Inputs) -> tuple[int, int]:
    """Turns in which only A, and only B, was selected: win rates less the turns in which both were."""
    only_a, only_b = (round(inputs["n"] * (inputs[model] - inputs["tie_win"])) for model in ("a", "b"))
    return only_a, only_b


def _mcnemar_significant(figure: Mapping[str, Any]) -> float:
    p = a.mcnemar_test(*_discordant(figure["inputs"]), n=figure["inputs"]["n"]).p_value
    assert p is not None
    return float(p < ALPHA)


def _selections(inputs: Inputs, n: int = 1_000) -> pd.DataFrame:
    """Turns × (A, B) whose tie-wins, tie-losses and wins are those printed."""
    both, neither = round(n * inputs["tie_win"]), round(n * inputs["tie_loss"])
    only_a = round(n * inputs["a"]) - both
    only_b = n - both - neither - only_a
    rows = [(1, 1)] * both + [(0, 0)] * neither + [(1, 0)] * only_a + [(0, 1)] * only_b
    return pd.DataFrame(rows, columns=["A", "B"])


def _tie_identity(figure: Mapping[str, Any]) -> float:
    """What the printed win rate of B is off from the one that A's win rate and the ties imply."""
    return float(figure["inputs"]["b"] - _selections(figure["inputs"])["B"].mean())


def _wald(figure: Mapping[str, Any]) -> float:
    k, n = figure["inputs"]["k"], figure["inputs"]["n"]
    low, high = wald_interval(k, n) or (math.nan, math.nan)
    return {"WR": k / n, "lo": low, "hi": high}[figure["cell"].split()[-1]]


def _binomial_significant(figure: Mapping[str, Any]) -> float:
    return float(binomial_p(figure["inputs"]["k"], figure["inputs"]["n"]) < ALPHA)


def _fit_significant(figure: Mapping[str, Any]) -> float:
    inputs = figure["inputs"]
    p = a.goodness_of_fit_test([round(inputs["n"] * share) for share in inputs["win_rates"]]).p_value
    assert p is not None
    return float(p < ALPHA)


def _chi2_p(figure: Mapping[str, Any]) -> float:
    """The p nearest to the printed one of those that the printed χ², itself rounded to two decimals, can stand for."""
    inputs = figure["inputs"]
    if "Q" in inputs:
        return float(chi2.sf(inputs["Q"], inputs["df"]))
    least, most = (_mcnemar_p(inputs["chi2"] + shift) for shift in (0.005, -0.005))
    return min(max(figure["expected"], least), most)


def _mcnemar_p(statistic: float) -> float:
    """McNemar's p of a χ², of discordant counts that give it: 10⁸ turns, so that their rounding does not show."""
    total = 10**8
    lead = math.sqrt(statistic * total)
    p = a.mcnemar_test(round((total + lead) / 2), round((total - lead) / 2)).p_value
    assert p is not None
    return p


def _soba_turns(figure: Mapping[str, Any]) -> float:
    inputs = figure["inputs"]
    if "z_sum" in inputs:
        return math.ceil(round(inputs["z_sum"] ** 2 * inputs["p0"] * (1 - inputs["p0"]) / inputs["margin"] ** 2, 9))
    p1 = inputs["p0"] + inputs["margin"]
    return round(a.one_proportion_size(inputs["p0"], p1, alpha=inputs["alpha"], power=inputs["power"], variance="null"))


def _combo(figure: Mapping[str, Any]) -> float:
    return pw_combo_score(figure["inputs"]["lin26"], figure["inputs"]["self_"])


def _overall(figure: Mapping[str, Any]) -> float:
    return float(np.mean(figure["inputs"]["criteria"]))


def _pearson(figure: Mapping[str, Any]) -> float:
    return _known(a.correlation(figure["inputs"]["x"], figure["inputs"]["y"]))


def _correlation(figure: Mapping[str, Any]) -> float:
    kind = "spearman" if "Spearman" in figure["cell"] else "pearson"
    return _known(a.correlation(figure["inputs"]["x"], figure["inputs"]["y"], kind))


def _known(value: Any) -> float:
    found = getattr(value, "estimate", value)
    assert found is not None
    return float(found)


def _tau_on_grid(figure: Mapping[str, Any]) -> float:
    """The τ-b, in percent, of two orders without ties that is nearest to the printed one."""
    n, printed = figure["inputs"]["n"], figure["expected"]
    taus = {100 * _known(kendall_tau_b(range(n), order)) for order in permutations(range(n))}
    return min(taus, key=lambda tau: abs(tau - printed))


def _tau_with_a_tie(figure: Mapping[str, Any]) -> float:
    """The greatest number of orders is small: find one with the printed surplus and one tied pair."""
    inputs = figure["inputs"]
    for order in permutations((1, 2, 3, 4, 4)):
        pairs = [(order[j] > order[i]) - (order[j] < order[i]) for i in range(5) for j in range(i + 1, 5)]
        if sum(pairs) == inputs["concordant_minus_discordant"] and len(pairs) == inputs["pairs"]:
            return 100 * _known(kendall_tau_b(range(5), order))
    raise AssertionError("no order of five models has that surplus")


def _inputs_difference(figure: Mapping[str, Any]) -> float:
    first, second = (value for key, value in figure["inputs"].items() if key != "n")
    return abs(first - second)


def _sum(figure: Mapping[str, Any]) -> float:
    (numbers, *_) = (value for value in figure["inputs"].values() if isinstance(value, Sequence))
    return float(sum(numbers))


BY_FORMULA: Sequence[tuple[str, Recompute]] = (
    (r"McNemar chi2", _mcnemar_significant),
    (r"a\+b-\(1\+tw-tl\)", _tie_identity),
    (r"Wald", _wald),
    (r"exact binomial", _binomial_significant),
    (r"Pearson chi2", _fit_significant),
    (r"chi2\.sf", _chi2_p),
    (r"round\(\(\(z_a/2|ceil\(2\.8", _soba_turns),
    (r"\(1\*Lin", _combo),
    (r"mean of Table", _lin_over_turns),
    (r"= Table 1 WTA", lambda figure: float(figure["inputs"]["T1_WTA"])),
    (r"mean of 7 criteria", _overall),
    (r"Pearson r over 10", _pearson),
    (r"correlation over the 10", _correlation),
    (r"100\*passed/total", lambda figure: 100 * figure["inputs"]["passed"] / figure["inputs"]["total"]),
    (r"tau in", _tau_on_grid),
    (r"tau-b = s", _tau_with_a_tie),
    (r"\|wi-wj\||a-b$", _inputs_difference),
    (r"sum", _sum),
    (r"a\+b$", lambda figure: figure["inputs"]["a"] + figure["inputs"]["b"]),
    (r"7\*dialogues", lambda figure: 7 * figure["inputs"]["dialogues"]),
    (r"10 pairs\*16", lambda figure: figure["inputs"]["pairs"] * figure["inputs"]["min_per_pair"]),
)


def recompute(figure: Mapping[str, Any]) -> float | None:
    """The figure from its inputs; None where it has none (a number of ratings, which only the data can give)."""
    if not figure["inputs"]:
        return None
    return next(make(figure) for pattern, make in BY_FORMULA if re.match(pattern, figure["formula"]))
