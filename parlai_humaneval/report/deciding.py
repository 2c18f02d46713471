"""The p-value that decides, in words, and how it was corrected."""

from __future__ import annotations

from collections.abc import Iterable

from parlai_humaneval.report.views import Method
from parlai_humaneval.statistics.result import Result
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


NAMED = 6
"""As many families are named."""


def holm_methods(tests: Iterable[Result]) -> list[Method]:
    """How ``tests`` were corrected: which of them together, and how many; nothing where none was."""
    details = [test.details for test in tests]
    families = {str(of["family"]): int(of["family_tests"] or 0) for of in details if of.get("family_tests")}
    several = [f"{name or 'all pairs'} ({n} tests)" for name, n in families.items() if n > 1]
    if not several:
        return []
    more = f" and {len(several) - NAMED} more" if len(several) > NAMED else ""
    text = (
        "The pairs of models of one technique, setting, metric and question are one family; the p of the paper's test and "
        f"the clustered p are each corrected over it. Here: {'; '.join(several[:NAMED])}{more}."
    )
    return [Method(name="Holm's correction", text=text, source="Holm 1979")]
