"""Spot The Bot: which of every two bots got the better label more often (Deriu et al. 2020, §3.2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval.statistics.choice_tests import goodness_of_fit_test
from parlai_humaneval.statistics.correction import Family, corrected
from parlai_humaneval.statistics.crossed import crossed_share
from parlai_humaneval.statistics.dispersion import decided_wins, with_dispersion
from parlai_humaneval.statistics.once_each import with_once_each
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.tables.repeats import dialogue_ids


@dataclass(frozen=True)
class ContestWins:
    """Two bots in ``rows``, the segments in which they talk to each other.

    ``win_rate``: of A, of the segments that were decided, clustered by worker, and by dialogue where several workers judged
    the same; ``paper``: χ² of wins against losses. Both have Holm's correction over all pairs.
    """

    model_a: str
    model_b: str
    rows: pd.DataFrame
    wins: int
    losses: int
    win_rate: Result
    paper: Result


def contest_wins(contests: pd.DataFrame, family: Family, *, level: float = 0.95) -> list[ContestWins]:
    """Every pair of bots that met, by name, of ``contests`` as :func:`~parlai_humaneval.statistics.spotting.bot_contests`
    gives them."""
    pairs = [_pair(met, str(a), str(b), level) for (a, b), met in contests.groupby(["model_a", "model_b"], sort=True)]
    families = [family] * len(pairs)
    rates, papers = (corrected([getattr(pair, name) for pair in pairs], families) for name in ("win_rate", "paper"))
    return [replace(pair, win_rate=rate, paper=paper) for pair, rate, paper in zip(pairs, rates, papers, strict=True)]


def contest_share(
    given: npt.ArrayLike, of: npt.ArrayLike, rows: pd.DataFrame, *, name: str, level: float = 0.95, once: bool = False
) -> Result:
    """A share tested against one half, clustered by worker, and by dialogue where several workers judged the same."""
    workers, dialogues = (ids.to_numpy(dtype=object) for ids in (rows["worker_id"], dialogue_ids(rows)))
    return crossed_share(given, of, workers, [dialogues], name=name, level=level, once=once)


def _pair(rows: pd.DataFrame, model_a: str, model_b: str, level: float) -> ContestWins:
    lead = rows["lead_a"].to_numpy(dtype=np.int64)
    wins, losses = (int((lead == sign).sum()) for sign in (1, -1))
    name = f"win rate of {model_a} over {model_b}"
    rate = with_once_each(contest_share, lead > 0, lead != 0, rows, name=name, level=level)
    rate = with_dispersion(rate, *decided_wins(lead, rows["worker_id"]))
    return ContestWins(model_a, model_b, rows, wins, losses, rate, goodness_of_fit_test([wins, losses], name=rate.name))
