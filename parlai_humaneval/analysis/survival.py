"""How long a speaker passes for a person: the share not spotted within k exchanges (Deriu et al. 2020, §3.3).

A segment of k exchanges tells only whether its speaker was spotted in (0, k] or later: current-status data. Its
non-parametric maximum-likelihood estimate (Turnbull 1974) is isotonic regression of the spotted share, in closed form.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd


def survival(k: npt.ArrayLike, spotted: npt.ArrayLike) -> dict[int, float]:
    """Exchanges → share not spotted by then, at the lengths that were shown.

    Where a longer segment was spotted less often than a shorter one, the two are pooled (pool adjacent violators): being
    spotted is for good. ``spotted``: 1 where the speaker was taken for a bot.
    """
    rows: pd.DataFrame = pd.DataFrame({"k": np.asarray(k, dtype=int), "spotted": np.asarray(spotted, dtype=float)})
    lengths = rows.groupby("k")["spotted"].agg(["sum", "count"])
    blocks: list[tuple[float, float, list[int]]] = []
    for length, found, seen in lengths.itertuples():
        blocks.append((float(found), float(seen), [int(length)]))
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] > blocks[-1][0] * blocks[-2][1]:
            last = blocks.pop()
            before = blocks.pop()
            blocks.append((before[0] + last[0], before[1] + last[1], before[2] + last[2]))
    return {length: 1 - found / seen for found, seen, pooled in blocks for length in pooled}
