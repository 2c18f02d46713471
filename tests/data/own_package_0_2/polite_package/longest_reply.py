"""A statistic."""

from collections.abc import Sequence

from parlai_humaneval.statistics.result import Result


def longest_reply(texts: Sequence[str]) -> Result:
    """Characters of the longest reply."""
    return Result(
        name="longest reply",
        estimate=max(map(len, texts), default=None),
        n=len(texts),
        method="maximum",
        source="Nobody 2020, §2",
    )
