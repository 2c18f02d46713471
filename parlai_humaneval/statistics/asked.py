"""What public functions are asked for, checked: a wrong argument must not come back as a number."""

from __future__ import annotations

import math


def check_level(level: float) -> None:
    """Refuse a coverage that no interval can have.

    Raises:
        ValueError: ``level`` is not above 0 and below 1.
    """
    if not 0 < level < 1:
        raise ValueError(f"level {level}: expected a share above 0 and below 1; a 95 % interval is level=0.95")


def check_null(null: float | None, limits: tuple[float, float] | None = None) -> None:
    """Refuse a hypothesis that cannot be true; None, where nothing is tested, is one.

    Raises:
        ValueError: ``null`` is not finite, or beyond ``limits``.
    """
    if null is None:
        return
    least, most = limits or (-math.inf, math.inf)
    if not math.isfinite(null):
        raise ValueError(f"null {null}: expected a finite number, the value that is tested")
    if not least <= null <= most:
        raise ValueError(f"null {null}: expected a value from {least:g} to {most:g}, all that is possible here")


def check_share(numerators: float, denominators: float) -> None:
    """Refuse sums of which one is no part of the other.

    Single clusters may lie beyond, as where answers are weighted so that all places count alike; all together cannot.

    Raises:
        ValueError: ``numerators``, the sum of them, is not from 0 to ``denominators``.
    """
    slack = 1e-9 * max(1.0, denominators)
    if not -slack <= numerators <= denominators + slack:
        raise ValueError(
            f"{numerators:g} of {denominators:g} is no share: expected numerators that sum to between 0 and the "
            "denominators; take clustered_mean for other values"
        )
