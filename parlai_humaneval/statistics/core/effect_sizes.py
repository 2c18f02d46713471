"""The probability of superiority: one effect size for all techniques, on one scale whatever raters are asked.

It is the chance that the first of two models does better than the second in one judgement, ties counting half: 50 % where
neither is better, 100 % where the first always is. What a judgement is depends on the technique:

- two replies, verdicts, segments, rankings, finished dialogues: (wins + ½ ties) / n (:func:`paired_superiority`);
- turns with one pick or several: that the first was chosen and the second was not, plus ½ that both or neither was, of
  turns that showed both (:func:`superiority_of_difference`);
- models rated one at a time (ticks, Likert scales, sliders): over all pairs of a rating of each, which is the effective win
  rate of Smith et al. 2022
  (:func:`~parlai_humaneval.statistics.preference.win_rates.effective_win_test`); of ticks that is ½ plus
  half of the difference of their rates;
- free-for-alls: which of two had more points in a dialogue (:func:`paired_superiority`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from parlai_humaneval.statistics.core.clustered import cluster_sums, clustered_share
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.two_way import crossed_share

SOURCE = "Grissom & Kim 2001; McGraw & Wong 1992; Smith et al. 2022, §4.3.1"
NAME = "probability of superiority"


def paired_superiority(
    gaps: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    name: str = NAME,
    dialogues: Sequence[npt.ArrayLike] = (),
    level: float = 0.95,
) -> Result:
    """How often the first of two models did better in a judgement of both, ties counting half; tested against ½.

    Args:
        gaps: of each judgement something above 0 where the first did better, below 0 where the second did, 0 for a tie;
            nan does not count.
        clusters: who judged.
        name, level: of the result, and of its interval.
        dialogues: what was judged, as for :func:`~parlai_humaneval.statistics.core.two_way.crossed_share`; empty: by worker.

    .5: neither is better; .56, .64 and .71 are what a small, medium and large difference of two normal means gives
    (Cohen's d of .2, .5 and .8). It can be compared across techniques, but mind ties: a technique in which many judgements
    tell nothing gives values nearer to .5.

    Assumes that judgements without a common worker or dialogue are independent.

    Source: Grissom & Kim 2001 (ties half); McGraw & Wong 1992; Smith et al. 2022, §4.3.1.

    >>> found = paired_superiority([1, 1, 0, -1, 1, 1, 0, 1], list('aabbccdd'))
    >>> found.name, found.estimate, found.n
    ('probability of superiority', 0.75, 8)
    """
    scores = (np.sign(np.asarray(gaps, dtype=float)) + 1) / 2
    known = (~np.isnan(scores)).astype(float)
    shares = (np.nan_to_num(scores), known, clusters)
    if dialogues:
        return crossed_share(*shares, dialogues, name=name, level=level).but(source=SOURCE)
    return clustered_share(cluster_sums(*shares), name=name, level=level).but(source=SOURCE)


def superiority_of_difference(difference: Result) -> Result:
    """The probability of superiority that a difference of two selected rates stands for: ½ plus half of it.

    Of turns that show both models the difference of their rates is the share in which only the first was chosen, minus
    that in which only the second was; of ticks of single replies it is the same over all pairs of a reply of each. So
    this is the same test, with the same p, on the scale of the other techniques.

    Args:
        difference: of two shares, from −1 to 1.

    Assumes what ``difference`` does.

    Source: Grissom & Kim 2001; Smith et al. 2022, §4.3.1.

    >>> difference = Result(name='a − b', estimate=0.2, ci_low=-0.1, ci_high=0.5, n=40, method='by hand')
    >>> found = superiority_of_difference(difference)
    >>> round(found.estimate, 2), round(found.ci_low, 2), round(found.ci_high, 2)
    (0.6, 0.45, 0.75)
    """
    estimate, low, high = (
        None if end is None else 0.5 + end / 2 for end in (difference.estimate, difference.ci_low, difference.ci_high)
    )
    return difference.but(estimate=estimate, ci_low=low, ci_high=high, source=SOURCE)


def complement(share: Result) -> Result:
    """The same share of the other of two models, which is the rest."""
    estimate, low, high = (None if end is None else 1 - end for end in (share.estimate, share.ci_high, share.ci_low))
    return share.but(estimate=estimate, ci_low=low, ci_high=high)
