"""The sentences of an arena's report."""

from __future__ import annotations

from parlai_humaneval.analysis.reports.arena.types import ArenaPair
from parlai_humaneval.analysis.reports.words import ALPHA, TOO_FEW, corrected_p, decisive, note_remarks, titled
from parlai_humaneval.statistics.wording import counted, p_words, percent, percent_range

NOTHING = "No verdict has been given yet, so nothing can be said about the models."


def headline(pair: ArenaPair) -> str:
    """One sentence on the pair: who won how many of the decided verdicts, and how sure that is."""
    names = f"{pair.model_a} and {pair.model_b}"
    title = ", ".join(part for part in (pair.setting, pair.metric) if part)
    start = f"{title}: " if title else ""  # a model's name, which may follow, keeps its first letter
    decided = pair.wins_a + pair.wins_b
    if not pair.n_verdicts:
        return titled(title, f"no verdict that counts has compared {names} yet.")
    if not decided:
        return f"{start}{names} cannot be told apart; none of {counted(pair.n_verdicts, 'verdict')} favoured either."
    winner, loser = (pair.model_a, pair.model_b) if pair.wins_a >= pair.wins_b else (pair.model_b, pair.model_a)
    won = percent(max(pair.wins_a, pair.wins_b) / decided)
    share = f"{winner} was found better than {loser} in {won} of {counted(decided, 'decided verdict')}"
    rate = pair.win_rate_a
    if rate.ci_low is None or rate.ci_high is None:
        return f"{start}{share}; {TOO_FEW}."
    low, high = (rate.ci_low, rate.ci_high) if winner == pair.model_a else (1 - rate.ci_high, 1 - rate.ci_low)
    sure = (
        f"(95 % interval {percent_range(low, high)}, clustered by {counted(pair.n_workers, 'worker')}; "
        f"{corrected_p(rate)})"
    )
    if decisive(rate):
        return f"{start}{share} {sure}."
    return f"{start}{names} cannot be told apart; {share} {sure}."


def remarks(pair: ArenaPair, include_partial: bool) -> list[str]:
    """What a reader of the headline should know besides; often nothing."""
    found = []
    first = pair.by_position[0].share
    if first.n and first.p_value is not None and first.p_value < ALPHA:
        found.append(
            f"Position matters: the partner shown first was found better in {percent(first.estimate)} of "
            f"{counted(first.n, 'decided verdict')} ({p_words(first.p_value)})."
        )
    if pair.unfinished_dialogues:
        what = counted(pair.unfinished_dialogues, "verdict")
        found.append(f"{what} of unfinished dialogues {'counted as well' if include_partial else 'left out'}.")
    return found + (note_remarks([pair.win_rate_a], pair.headline) if pair.win_rate_a.ci_low is not None else [])
