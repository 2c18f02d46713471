"""The p-value that decides, in words."""

from __future__ import annotations

from parlai_humaneval.statistics.wording import counted, p_words


def pairs_apart(apart: int, of: int, what: str) -> str:
    """“2 of 3 pairs of models differ after Holm's correction”; “none of 3 pairs of models differs …”."""
    verb = "differ" if apart > 1 else "differs"
    return f"{apart or 'none'} of {counted(of, 'pair')} of {what} {verb} after Holm's correction"


def deciding_p(p: float | None, p_holm: float | None) -> str:
    """“p = .011 after Holm's correction (p = .004 without)”; the one p where nothing was corrected."""
    if p is None or p_holm is None or p_words(p) == p_words(p_holm):
        return p_words(p)
    return f"{p_words(p_holm)} after Holm's correction ({p_words(p)} without)"
