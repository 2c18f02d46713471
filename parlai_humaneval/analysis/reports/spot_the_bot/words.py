"""The sentences of a Spot The Bot report."""

from __future__ import annotations

from parlai_humaneval.analysis.reports.pw_dialog.words import disagreements, pair_sentence
from parlai_humaneval.analysis.reports.spot_the_bot.types import LabelRow, SpotGroup
from parlai_humaneval.analysis.reports.words import note_remarks, titled, verdict_of_pairs
from parlai_humaneval.protocol.records.judgement import HUMAN
from parlai_humaneval.statistics.wording import counted, percent, percent_range


def headline(group: SpotGroup) -> str:
    """How often each model was taken for a person, and which differ by their win rates."""
    if not group.n_segments:
        return titled(group.setting, "no segment that counts has been judged yet.")
    whole = [row for row in group.labels if row.k is None]
    models = [row for row in whole if row.model != HUMAN]
    taken = ", ".join(f"{row.model} {percent(row.taken_for_human.estimate)}" for row in models)
    sentence = f"taken for a person: {taken}{_people(whole)}." if models else f"only people were shown{_people(whole)}."
    return f"{titled(group.setting, sentence)}{_verdict(group)}"


def _people(rows: list[LabelRow]) -> str:
    """The upper bound."""
    found = [percent(row.taken_for_human.estimate) for row in rows if row.model == HUMAN]
    return f" (people themselves {found[0]})" if found else ""


def _verdict(group: SpotGroup) -> str:
    if not group.pairs:
        return " No two models talked to each other, so that there are no win rates."
    if len(group.pairs) == 1:
        sentence = pair_sentence(group.pairs[0], "segment").replace(
            "was found better than", "got the better label than"
        )
        return f" {sentence}"
    return f" {verdict_of_pairs(group.pairs, group.n_workers)}"


def remarks(group: SpotGroup) -> list[str]:
    """What a reader of the headline should know besides; often nothing."""
    found = disagreements(group.pairs, "segments")
    people = next((row for row in group.labels if row.model == HUMAN and row.k is None), None)
    if people is not None and people.n and people.spotted.ci_low is not None:
        spotted = people.spotted
        found.append(
            f"People were taken for bots in {percent(spotted.estimate)} of {counted(spotted.n, 'case')} "
            f"({percent_range(spotted.ci_low, spotted.ci_high)})."
        )
    ties, total = sum(pair.ties for pair in group.pairs), sum(pair.n for pair in group.pairs)
    if ties:
        found.append(
            f"{percent(ties / total)} of {counted(total, 'segment')} of two models are ties, left out of win rates."
        )
    if group.unfinished:
        found.append(f"{counted(group.unfinished, 'unfinished judgement')} left out.")
    return found + note_remarks((pair.win_rate_a for pair in group.pairs), group.headline)
