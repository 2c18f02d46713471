"""Agreement of those who judged the same, as reports hold it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval.analysis.reports.types import Part
from parlai_humaneval.statistics.agreement import fleiss_kappa, krippendorff_alpha, pair_agreement, rating_counts
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.wording import counted, percent, percent_range, signed, signed_range


class Agreement(Part):
    """Of ``n`` things that several people judged.

    ``percent``: pairs of raters who said the same. Raters come and go, so that Cohen's κ, which is for two with fixed
    parts, cannot be had: ``fleiss`` and ``alpha`` (Krippendorff's) are for any.
    """

    n: int
    percent: Result
    fleiss: Result
    alpha: Result


def agreement_of(
    things: npt.ArrayLike, labels: npt.ArrayLike, clusters: pd.Series[str], *, cluster: str, seed: int
) -> Agreement | None:
    """Agreement on ``things``, an entry a judgement each; None where nothing was judged twice.

    ``clusters``: for each entry, what is drawn as a whole; ``cluster`` is what that is.
    """
    counts, _, names = rating_counts(things, labels)
    several = counts.sum(axis=1) > 1
    if not several.any():
        return None
    cluster_of = dict(zip(np.asarray(things, dtype=object), clusters, strict=True))
    groups = np.array([cluster_of[name] for name in names], dtype=object)
    return Agreement(
        n=int(several.sum()),
        percent=pair_agreement(counts, groups, name="pairs of raters who agree", cluster=cluster),
        fleiss=fleiss_kappa(counts, groups, cluster=cluster, seed=seed),
        alpha=krippendorff_alpha(counts, groups, cluster=cluster, seed=seed),
    )


def agreement_words(agreement: Agreement | None, thing: str) -> str:
    """“120 pairs judged by several: 78 % agree (70–86 %); Fleiss' κ 0.53 (0.40 to 0.66), Krippendorff's α 0.53”."""
    if agreement is None:
        return f"Agreement cannot be estimated: no {thing} was judged by several people"
    same, fleiss = agreement.percent, agreement.fleiss
    return (
        f"{counted(agreement.n, thing)} judged by several: {percent(same.estimate)} of pairs of raters agree "
        f"({percent_range(same.ci_low, same.ci_high)}); Fleiss' κ {signed(fleiss.estimate)} "
        f"({signed_range(fleiss.ci_low, fleiss.ci_high)}), Krippendorff's α {signed(agreement.alpha.estimate)}"
    )
