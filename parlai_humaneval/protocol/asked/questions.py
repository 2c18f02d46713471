"""The wordings of what raters are asked, by technique; they stand in :mod:`parlai_humaneval.techniques`."""

from __future__ import annotations

from parlai_humaneval.techniques import technique as entry_of


def question_for(technique: str, metric: str, setting: str = "") -> str:
    """The question of a technique's metric.

    Raises:
        ValueError: naming the techniques, or the metrics that the technique has.
    """
    return entry_of(technique).question(metric, setting)
