"""Single models against each other by their scores: effective win rates with clustered intervals."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from parlai_humaneval.statistics.means import clustered_difference
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.win_rates import effective_win_rate, placements

SOURCE = "Smith et al. 2022, §4.3.1; DeLong, DeLong & Clarke-Pearson 1988 (variance from placements)"


def effective_win_test(
    scores_a: npt.ArrayLike,
    clusters_a: npt.ArrayLike,
    scores_b: npt.ArrayLike,
    clusters_b: npt.ArrayLike,
    *,
    name: str = "effective win rate",
    level: float = 0.95,
    cluster: str = "worker",
) -> Result:
    """Chance that a score of A is higher than one of B, equal ones counting half, clustered, tested against ½.

    The share of B that each score of A beats, and of A that beats each score of B, are what an observation adds to
    the estimate; their sums by cluster give the CR1 variance, t with clusters − 1 degrees of freedom. A cluster may
    hold scores of both. p = 1 with no scores of one of them, and no estimate.

    Raises:
        ValueError: a score is missing, or not every score has its cluster.
    """
    a, b = np.asarray(scores_a, dtype=float), np.asarray(scores_b, dtype=float)
    if len(a) != np.size(clusters_a) or len(b) != np.size(clusters_b):
        raise ValueError(f"expected a {cluster} for each score of A and of B")
    rate = effective_win_rate(a, b)
    # Each value deviates as its placement does, and the difference of the two means is the rate less ½.
    of_a, of_b = placements(a, b) - 0.5, (rate or 0.0) - (1 - placements(b, a))
    centred = clustered_difference(
        of_a, clusters_a, of_b, clusters_b, name=name, limits=(-0.5, 0.5), level=level, cluster=cluster
    )
    return centred.model_copy(
        update={
            "estimate": rate,
            "ci_low": None if centred.ci_low is None else centred.ci_low + 0.5,
            "ci_high": None if centred.ci_high is None else centred.ci_high + 0.5,
            "source": SOURCE,
            "details": {**centred.details, "null": 0.5},
        }
    )
