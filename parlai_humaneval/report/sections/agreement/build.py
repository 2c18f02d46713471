"""Tables → the section on agreement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy.typing as npt
import pandas as pd

from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.agreement.judged import Judged, judged
from parlai_humaneval.report.sections.agreement.types import Agreement, AgreementRow, Kind, name_of
from parlai_humaneval.statistics.agreement import (
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    pair_agreement,
    percent_agreement,
    rating_counts,
)
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.wording import ABSENT, counted, percent, percent_range, signed, signed_range
from parlai_humaneval.tables.from_records import Tables

MOST_LABELS = 10
"""κ asks for the very same answer: on longer scales that says nothing."""
NAMED = 3
"""As many as a remark names."""
Answers = tuple[AgreementRow, tuple[Result, ...]]


def build(tables: Tables, options: Options) -> Agreement | None:
    """Of everything that two people judged; None where nothing was judged twice."""
    found = [row for one in judged(tables) for row in (*_own(one, options), *_several(one, options))]
    if not found:
        return None
    rows = [row for row, _ in found]
    section = Agreement(rows=rows, seed=options.seed, draws=options.draws)
    section.headline = _headline(max(rows, key=lambda row: row.n))
    section.remarks = _remarks(found)
    return section


def _own(one: Judged, options: Options) -> Iterator[Answers]:
    """Of the dialogue's own rater and those who rated it once more."""
    rows = one.rows[one.rows["own"].notna().to_numpy(dtype=bool)]
    if rows.empty:
        return
    both = pd.concat([rows["label"], rows["own"]])
    kappa = None
    if both.nunique() <= MOST_LABELS:
        kappa = cohen_kappa(rows["label"], rows["own"], rows["dialogue"], seed=options.seed, draws=options.draws)
    same = percent_agreement(rows["label"], rows["own"], rows["dialogue"], cluster="dialogue")
    # Each pair of answers is a thing of its own here, so that α is of pairs, as κ is.
    things = [*range(len(rows))] * 2
    yield _row(one, "own", rows, (len(rows), 2.0), same, kappa, _alpha(one, things, both, rows["dialogue"], options))


def _several(one: Judged, options: Options) -> Iterator[Answers]:
    """Of all who judged the same thing, with the own rater, once, where it is known what they said."""
    if not one.rows["thing"].duplicated().any():
        return
    own = one.rows[one.rows["own"].notna().to_numpy(dtype=bool)]
    # The table may hold the own rater's answers too, as a row of theirs.
    everybody = pd.concat([one.rows, own.assign(label=own["own"], worker=own["own_worker"])])
    everybody = everybody.drop_duplicates(["thing", "worker"])
    counts, labels, things = rating_counts(everybody["thing"], everybody["label"])
    dialogues = everybody.drop_duplicates("thing").set_index("thing").loc[list(things), "dialogue"]
    twice = everybody[everybody["thing"].duplicated(keep=False).to_numpy(dtype=bool)]
    same = pair_agreement(counts, dialogues, cluster="dialogue")
    kappa = None
    if len(labels) <= MOST_LABELS:
        kappa = fleiss_kappa(counts, dialogues, seed=options.seed, draws=options.draws)
    alpha = _alpha(one, everybody["thing"], everybody["label"], dialogues, options)
    times = counts.sum(axis=1)
    yield _row(one, "several", twice, (int((times > 1).sum()), float(times[times > 1].mean())), same, kappa, alpha)


def _alpha(
    one: Judged, things: npt.ArrayLike, labels: pd.Series[float], dialogues: pd.Series[str], options: Options
) -> Result:
    counts, values, _ = rating_counts(things, labels)
    return krippendorff_alpha(
        counts,
        dialogues,
        [float(str(value)) for value in values] if one.scale == "interval" else None,
        ordered=one.scale == "ordinal",
        seed=options.seed,
        draws=options.draws,
    )


def _row(
    one: Judged,
    kind: Kind,
    rows: pd.DataFrame,
    judged_times: tuple[int, float],
    same: Result,
    kappa: Result | None,
    alpha: Result,
) -> Answers:
    """``judged_times``: how many things were judged, and how often each in the mean."""
    n, per_thing = judged_times
    row = AgreementRow(
        source=one.source,
        technique=one.technique,
        setting=one.setting,
        metric=one.metric,
        what=one.what,
        kind=kind,
        scale=one.scale,
        n=n,
        per_thing=per_thing,
        n_raters=int(rows["worker"].nunique()),
        n_dialogues=int(rows["dialogue"].nunique()),
        percent=same.estimate,
        percent_low=same.ci_low,
        percent_high=same.ci_high,
        kappa=kappa and kappa.estimate,
        kappa_low=kappa and kappa.ci_low,
        kappa_high=kappa and kappa.ci_high,
        alpha=alpha.estimate,
        alpha_low=alpha.ci_low,
        alpha_high=alpha.ci_high,
    )
    return row, tuple(result for result in (same, kappa, alpha) if result is not None)


def _headline(row: AgreementRow) -> str:
    """Of the question on which most was judged twice."""
    interval = percent_range(row.percent_low, row.percent_high)
    sure = "" if interval == ABSENT else f" (95 % interval {interval})"
    ends = signed_range(row.alpha_low, row.alpha_high)
    alpha = (
        "" if row.alpha is None else f", Krippendorff's α {signed(row.alpha)}{'' if ends == ABSENT else f' ({ends})'}"
    )
    return f"{name_of(row)}: {percent(row.percent)}{sure} of {_what(row)} agree{alpha}."


def _what(row: AgreementRow) -> str:
    """Of two answers each, or of the pairs of more."""
    if abs(row.per_thing - 2) < 1e-9:
        return counted(row.n, "doubly judged answer")
    times = f"{row.per_thing:.3g} people" if row.per_thing.is_integer() else f"{row.per_thing:.1f} people on average"
    return f"the pairs of answers to the same, of {counted(row.n, 'thing')} that {times} judged,"


def _remarks(found: Sequence[Answers]) -> list[str]:
    notes: dict[str, list[str]] = {}
    for row, results in found:
        for note in dict.fromkeys(note for result in results for note in result.notes):
            notes.setdefault(note, []).append(name_of(row))
    return [f"{note[:1].upper()}{note[1:]}: {_listed(names)}." for note, names in notes.items()]


def _listed(names: Sequence[str]) -> str:
    more = f"; and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return "; ".join(names[:NAMED]) + more
