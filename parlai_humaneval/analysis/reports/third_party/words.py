"""The sentences of a third party's report."""

from __future__ import annotations

from parlai_humaneval.analysis.reports.pw_dialog.words import disagreements
from parlai_humaneval.analysis.reports.third_party.types import AnswerAgreement, RankGroup, ReplayGroup, ScaleGroup
from parlai_humaneval.analysis.reports.words import ALPHA, note_remarks, titled, verdict_of_pairs
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.wording import counted, p_words, percent, signed, signed_range


def title(group: ReplayGroup | RankGroup | ScaleGroup) -> str:
    """What was rated: “sata, sata_user, preference”, “rankings”, “whole dialogues, dimensions”."""
    if isinstance(group, ReplayGroup):
        return ", ".join(part for part in (group.technique, group.setting, group.metric) if part)
    if isinstance(group, RankGroup):
        return f"rankings, {group.metric}" if group.metric != "rank" else "rankings"
    return ", ".join(part for part in ("scales", group.setting, group.metric) if part)


def headline(group: ReplayGroup | RankGroup | ScaleGroup) -> str:
    """The finding of a group in a sentence or two."""
    if isinstance(group, ReplayGroup):
        return titled(title(group), _replay(group))
    if isinstance(group, RankGroup):
        return titled(title(group), _ranking(group))
    return titled(title(group), _scales(group))


def with_interval(result: Result) -> str:
    """“0.47 (0.40 to 0.55)”, “0.47 (no interval)”, or that it cannot be estimated."""
    if result.estimate is None:
        return "cannot be estimated"
    if result.ci_low is None:
        return f"{signed(result.estimate)} ({result.notes[0] if result.notes else 'no interval'})"
    return f"{signed(result.estimate)} ({signed_range(result.ci_low, result.ci_high)})"


def _replay(group: ReplayGroup) -> str:
    found = [_answer(answer) for answer in group.answers]
    found += [f"{row.criterion}: Krippendorff's α {with_interval(row.alpha)}" for row in group.ratings]
    basis = f"({counted(group.n_dialogues, 'dialogue')}, {counted(group.n_workers, 'third-party rater')})"
    return (
        f"agreement with the dialogue's own rater {basis}: {'; '.join(found)}." if found else "nothing was rated twice."
    )


def _answer(answer: AnswerAgreement) -> str:
    what = f"{answer.what}: " if answer.what != "chosen" else ""
    return (
        f"{what}{percent(answer.percent.estimate)} of {counted(answer.n, 'answer')}, "
        f"Cohen's κ {with_interval(answer.kappa)}"
    )


def _ranking(group: RankGroup) -> str:
    order = ", ".join(f"{row.model} {signed(row.mean_rank.estimate)}" for row in group.models)
    verdict = f" {verdict_of_pairs(group.pairs, group.n_workers)}" if group.pairs else ""
    tau = f" Kendall's τ-b with the own raters' picks of {counted(group.tau.n, 'turn')}: {with_interval(group.tau)}."
    tau = tau if group.tau.n else ""
    return f"mean place in {counted(group.n_rankings, 'ranking')}: {order}.{verdict}{tau}"


def _scales(group: ScaleGroup) -> str:
    criteria = dict.fromkeys(row.criterion for row in group.rows)
    parts = []
    for name in criteria:
        own = sorted((row for row in group.rows if row.criterion == name), key=lambda row: -(row.mean.estimate or 0))
        parts.append(f"{name} {', '.join(f'{row.model} {signed(row.mean.estimate)}' for row in own)}")
    return f"means over {counted(group.n_dialogues, 'dialogue')}: {'; '.join(parts)}."


def remarks(group: ReplayGroup | RankGroup | ScaleGroup) -> list[str]:
    """What a reader of the headline should know besides; often nothing."""
    if isinstance(group, RankGroup):
        rates = [pair.win_rate_a for pair in group.pairs]
        return disagreements(group.pairs, "rankings") + note_remarks(rates, group.headline)
    if isinstance(group, ScaleGroup):
        return note_remarks((row.mean for row in group.rows), group.headline)
    found = []
    for row in group.ratings:
        gap = row.difference
        if gap.p_value is not None and gap.p_value < ALPHA:
            way = "higher" if (gap.estimate or 0) > 0 else "lower"
            size = signed(abs(gap.estimate or 0))
            found.append(f"The third party rates {row.criterion} {way} by {size} on average ({p_words(gap.p_value)}).")
    return found + note_remarks((answer.kappa for answer in group.answers), group.headline)
