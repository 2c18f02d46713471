"""The sentences of a PW-Dialog report."""

from __future__ import annotations

from collections.abc import Sequence

from parlai_humaneval.analysis.reports.duels import Duel
from parlai_humaneval.analysis.reports.pw_dialog.types import DialogGroup
from parlai_humaneval.analysis.reports.words import (
    ALPHA,
    TOO_FEW,
    corrected_p,
    decisive,
    note_remarks,
    titled,
    verdict_of_pairs,
)
from parlai_humaneval.statistics.wording import counted, p_words, percent, percent_range

SETTINGS = {
    "self_chat": "self-chats",
    "human_bot": "human–bot dialogues",
    "mixed": "self-chats beside human–bot dialogues",
}


def title(group: DialogGroup) -> str:
    """“self-chats, preference”."""
    return ", ".join(part for part in (SETTINGS.get(group.setting, group.setting), group.metric) if part)


def headline(group: DialogGroup) -> str:
    """One sentence: who was found better, and how sure that is."""
    if not group.n_judgements:
        return titled(title(group), "no judgement that counts has been made yet.")
    if len(group.pairs) == 1:
        return titled(title(group), pair_sentence(group.pairs[0], "judgement"))
    order = ", ".join(f"{row.model} {percent(row.win_rate.estimate)}" for row in group.standings)
    verdict = verdict_of_pairs(group.pairs, group.n_workers)
    return titled(title(group), f"win rate over all opponents: {order}. {verdict}")


def pair_sentence(pair: Duel, noun: str) -> str:
    """“a was found better than b in 68 % of 120 decided judgements (95 % interval …).”"""
    decided = pair.wins_a + pair.wins_b
    names = f"{pair.model_a} and {pair.model_b}"
    if not decided:
        return f"{names} cannot be told apart; none of {counted(pair.n, noun)} favoured either."
    other = pair.model_b if pair.a_leads else pair.model_a
    share = percent(max(pair.wins_a, pair.wins_b) / decided)
    found = f"{pair.leader} was found better than {other} in {share} of {counted(decided, f'decided {noun}')}"
    result, won = pair.win_rate_a, pair.share_of_leader
    if won.ci_low is None or won.ci_high is None:
        return f"{found}; {TOO_FEW}."
    basis = f"clustered by {counted(pair.n_workers, 'worker')}; {corrected_p(result)}"
    sure = f"(95 % interval {percent_range(won.ci_low, won.ci_high)}, {basis})"
    return f"{found} {sure}." if decisive(result) else f"{names} cannot be told apart; {found} {sure}."


def remarks(group: DialogGroup) -> list[str]:
    """What a reader of the headline should know besides; often nothing."""
    found = disagreements(group.pairs, "judgements")
    left = group.left
    if left.p_value is not None and left.p_value < ALPHA:
        found.append(
            f"The side matters: the dialogue on the left was chosen in {percent(left.estimate)} of "
            f"{counted(left.n, 'decided judgement')} ({p_words(left.p_value)})."
        )
    if group.unfinished:
        found.append(f"{counted(group.unfinished, 'answer')} of unfinished judgements left out.")
    return found + note_remarks((pair.win_rate_a for pair in group.pairs), group.headline)


def disagreements(pairs: Sequence[Duel], noun: str) -> list[str]:
    """Pairs that differ by the paper's test only, which takes the answers of a worker as independent."""
    only = [pair for pair in pairs if decisive(pair.win_rate_a) is False and decisive(pair.paper)]
    if not only:
        return []
    names = ", ".join(
        f"{pair.leader_first} ({pair.paper.method.split(',')[0]}, {corrected_p(pair.paper)})" for pair in only
    )
    return [
        f"Taken as independent, the {noun} would show a difference: {names}. But answers of one worker resemble each "
        "other, and with that counted they do not."
    ]
