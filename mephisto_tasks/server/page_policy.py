"""Which other sites may show the raters' page: light, as every crowd has one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PagePolicy:
    """How the page may stand on a crowd's site.

    Args:
        frame_ancestors: sites that may show it in a frame.
        form_targets: sites to which it may send a form.
        referrer: what other sites learn of where a rater comes from.
    """

    frame_ancestors: tuple[str, ...] = ()
    form_targets: tuple[str, ...] = ()
    referrer: str = "no-referrer"


ONLY_HERE = PagePolicy()
"""No other site may show the page."""
