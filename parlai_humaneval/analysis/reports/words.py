"""Sentences that the reports of several techniques share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from parlai_humaneval.analysis.reports.gaps import Contest
from parlai_humaneval.statistics.clustered import MIN_CLUSTERS, too_few
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.wording import counted, p_words

ALPHA = 0.05
NAMED_PAIRS = 6
"""As many pairs as one sentence can name."""

NO_TURNS = "No turn has been answered yet, so nothing can be said about the models."
NO_RATINGS = "No dialogue has been rated to its end yet, so nothing can be said about the models."


TOO_FEW = too_few()


def titled(title: str, text: str) -> str:
    """“free: none passed.”, or without a title “None passed.”"""
    return f"{title}: {text}" if title else f"{text[:1].upper()}{text[1:]}"


def decisive(gap: Result) -> bool | None:
    """Whether the clustered test, corrected where there are several, tells the two apart; None: it cannot be made."""
    p = gap.p_value if gap.p_holm is None else gap.p_holm
    return None if p is None else p < ALPHA


def corrected_p(result: Result) -> str:
    """The p-value that decides: Holm's where several tests were made."""
    if result.p_holm is None:
        return p_words(result.p_value)
    return f"{p_words(result.p_holm)} after Holm's correction"


def verdict_of_pairs(gaps: Sequence[Contest], workers: int) -> str:
    """Which of several pairs differ; by the clustered test, corrected."""
    if workers < MIN_CLUSTERS:
        return titled("", f"{TOO_FEW}.")
    if len(gaps) == 1:
        return _verdict_of_one(gaps[0], workers)
    tested = [gap for gap in gaps if decisive(gap.tested) is not None]
    apart = [gap for gap in tested if decisive(gap.tested)]
    correction = ", Holm's correction" if len(tested) > 1 else ""
    basis = f"(clustered by {counted(workers, 'worker')}{correction})"
    if not tested:
        return f"Whether they differ cannot be tested {basis}."
    if not apart:
        return f"No two of them can be told apart {basis}."
    verb = "differs" if len(apart) == 1 else "differ"
    names = ", ".join(gap.leader_first for gap in apart[:NAMED_PAIRS])
    names += f" and {len(apart) - NAMED_PAIRS} more" if len(apart) > NAMED_PAIRS else ""
    return f"{len(apart)} of {counted(len(tested), 'pair')} {verb} {basis}: {names}."


def _verdict_of_one(gap: Contest, workers: int) -> str:
    basis = f"(clustered by {counted(workers, 'worker')}; {corrected_p(gap.tested)})"
    apart = decisive(gap.tested)
    if apart is None:
        return f"Whether they differ cannot be tested {basis}."
    return f"{gap.leader} is ahead {basis}." if apart else f"They cannot be told apart {basis}."


def note_remarks(results: Iterable[Result], headline: str) -> list[str]:
    """The notes on numbers that rest on something, as sentences; each once, and none that the headline says already."""
    notes = {note for result in results if result.n for note in result.notes}
    return sorted(titled("", f"{note}.") for note in notes if note.lower() not in headline.lower())


def position_remark(anchoring: Result) -> str | None:
    """Said where the places are not chosen alike."""
    if anchoring.p_value is None or anchoring.p_value >= ALPHA:
        return None
    return (
        f"Position matters: not all places were chosen as often ({anchoring.method}, {p_words(anchoring.p_value)}; "
        "turns taken as independent)."
    )


def unfinished_remark(turns: int, dialogues: int, included: bool) -> str | None:
    """How many answered turns of unfinished dialogues there are, and whether they count."""
    if not turns:
        return None
    what = f"{counted(turns, 'answered turn')} of {counted(dialogues, 'unfinished dialogue')}"
    return f"{what} counted as well." if included else f"{what} left out."


def not_counted_remarks(automatic_turns: int, failed_replies: int) -> list[str]:
    """Turns in which nothing was asked, and replies that were not shown."""
    found = []
    if automatic_turns:
        found.append(
            f"{counted(automatic_turns, 'turn')} not counted, as all models said the same and nothing was asked."
        )
    if failed_replies:
        replies = "1 reply" if failed_replies == 1 else f"{failed_replies:,} replies"
        found.append(f"Not counted: {replies} that failed, so that nothing was shown.")
    return found
