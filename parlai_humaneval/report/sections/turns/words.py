"""The sentences of the section on turns, and how its numbers were made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from parlai_humaneval.report.section import ALPHA, disagreement
from parlai_humaneval.report.sections.turns.combos import METHOD as COMBO
from parlai_humaneval.report.sections.turns.strengths import METHOD as STRENGTHS
from parlai_humaneval.report.sections.turns.types import ModelRow, OfGroup, TestRow, TurnsSection
from parlai_humaneval.report.views import Method
from parlai_humaneval.statistics.clustered import MIN_CLUSTERS
from parlai_humaneval.statistics.turn_patterns import fixed_places
from parlai_humaneval.statistics.wording import counted, p_words, percent, percent_range
from parlai_humaneval.tables.choices import ChoiceGroup

SENTENCES = 3
"""As many groups as a headline names."""

Where = tuple[str, str, str, str]


def where(row: OfGroup) -> Where:
    """What a row belongs to: rows of one group share it."""
    return row.technique, row.setting, row.metric, row.group


def title(row: OfGroup | ChoiceGroup, *, with_metric: bool = True) -> str:
    """“sata, sata_user, preference”."""
    parts = (row.technique, row.setting, row.metric if with_metric else "")
    return ", ".join(part for part in parts if part)


def headline(section: TurnsSection, level: float) -> str:
    """What was found in each group, most turns first."""
    groups = [(list(rows), key) for key, rows in groupby(section.models, key=where)]
    groups.sort(key=lambda found: -sum(row.n for row in found[0]))
    if not groups:
        return "No turn that counts has been answered yet, so nothing can be said about the models."
    sentences = [_group_sentence(rows, section.tests, len(groups) > 1, level) for rows, _ in groups[:SENTENCES]]
    more = len(groups) - SENTENCES
    return " ".join(sentences) + (f" {counted(more, 'more comparison')}: see the tables." if more > 0 else "")


def _group_sentence(rows: Sequence[ModelRow], tests: Sequence[TestRow], named: bool, level: float) -> str:
    ranked = sorted(rows, key=lambda row: (-(row.win_rate or 0.0), row.model))
    verb = "found good" if rows[0].kind == "single" else "chosen"
    best = ranked[0]
    prefix = f"{title(best)}: " if named else ""
    turns = counted(best.n, "turn")
    first = f"{prefix}{best.model} was {verb} in {percent(best.win_rate)} of {turns} ({_interval(best, level)})"
    if len(ranked) == 1:
        return f"{first}."
    others = ", ".join(f"{row.model} in {percent(row.win_rate)}" for row in ranked[1:])
    return f"{first}, {others}; {_verdict(best, tests)}."


def _interval(row: ModelRow, level: float) -> str:
    if row.ci_low is None:
        return f"{counted(row.n_workers, 'worker')}: too few for an interval, at least {MIN_CLUSTERS} are needed"
    interval = f"{100 * level:.0f} % interval {percent_range(row.ci_low, row.ci_high)}"
    return f"{interval}, clustered by {counted(row.n_workers, 'worker')}"


def _verdict(best: ModelRow, tests: Sequence[TestRow]) -> str:
    """By the clustered tests of pairs, Holm's correction where the metric has several."""
    pairs = [test for test in tests if where(test) == where(best) and len(test.models) == 2]
    made = [test for test in pairs if test.p_clustered_holm is not None]
    if not made:
        return "whether they differ cannot be tested"
    if len(pairs) == 1:
        corrected = " after Holm's correction" if made[0].p_clustered_holm != made[0].p_clustered else ""
        p = f"{p_words(made[0].p_clustered_holm)}{corrected}"
        return f"they differ ({p})" if _apart(made[0]) else f"they cannot be told apart ({p})"
    apart = [" from ".join(test.models) for test in made if _apart(test)]
    if not apart:
        return f"no pair of {len(made)} can be told apart (Holm's correction)"
    named = ", ".join(apart[:6]) + (f" and {len(apart) - 6} more" if len(apart) > 6 else "")
    return f"{len(apart)} of {len(made)} pairs differ (Holm's correction): {named}"


def _apart(test: TestRow) -> bool:
    return test.p_clustered_holm is not None and test.p_clustered_holm < ALPHA


def remarks(section: TurnsSection, groups: Sequence[ChoiceGroup], own_rival: int) -> list[str]:
    """What was left out, where the two kinds of tests disagree, and signs that turns are not independent.

    ``own_rival``: turns in which a model stood against itself.
    """
    alone = [f"{counted(own_rival, 'turn')} of a model against itself count nowhere."] if own_rival else []
    found = [
        *alone,
        *(text for group in groups for text in _left_out(group)),
        *_few_workers(section.models),
        *_disagreements(section.tests),
        *_patterns(section),
        *(
            f"{title(row)}, strengths: {note.removesuffix('.')}."
            for row in section.strengths
            if row.ci_low is None
            for note in row.notes
        ),
        *(f"{title(row)}, PW combo of {row.group}: {note}." for row in section.combos for note in row.notes),
    ]
    return list(dict.fromkeys(found))


def _left_out(group: ChoiceGroup) -> Iterator[str]:
    name = title(group)
    if group.unfinished_turns:
        turns, dialogues = counted(group.unfinished_turns, "turn"), counted(group.unfinished_dialogues, "dialogue")
        yield f"{name}: {turns} of {dialogues} that did not end do not count."
    if group.automatic_turns:
        yield f"{name}: {counted(group.automatic_turns, 'turn')} with equal replies only do not count: nothing was asked."
    if group.failed_replies:
        n = group.failed_replies
        yield f"{name}: {n} {'reply' if n == 1 else 'replies'} failed and {'was' if n == 1 else 'were'} not shown."
    n = len(set(group.turns.dialogues))
    fixed = 0 if group.kind == "single" else len(fixed_places(group.turns))
    if fixed:
        yield (
            f"{name}: in {fixed} of {counted(n, 'dialogue')} the same places were chosen at every turn. They count here; "
            "Liu et al. 2023 leave such dialogues out."
        )
    if not len(group.turns.turns):
        yield f"{name}: no turn counts."


def _few_workers(models: Sequence[ModelRow]) -> Iterator[str]:
    for row in models:
        if row.ci_low is None:
            yield (
                f"{title(row)}: {row.model} was judged by {counted(row.n_workers, 'worker')}; a clustered interval "
                f"needs at least {MIN_CLUSTERS}."
            )


def _disagreements(tests: Sequence[TestRow]) -> Iterator[str]:
    for test in tests:
        # What decides is the corrected p where there is one.
        paper = test.p_value if test.p_holm is None else test.p_holm
        clustered = test.p_clustered if test.p_clustered_holm is None else test.p_clustered_holm
        text = disagreement(f"{test.name} ({title(test)})", paper, clustered)
        if text:
            yield text


def _patterns(section: TurnsSection) -> Iterator[str]:
    for bias in section.patterns.anchoring:
        clustered = bias.estimate is not None and bias.p_value is not None and bias.p_value < ALPHA
        if clustered and bias.estimate is not None:
            more = "more" if bias.estimate > 0 else "less"
            yield (
                f"{title(bias)}: replies shown first were chosen {more} often than the others, by "
                f"{100 * abs(bias.estimate):.0f} points ({p_words(bias.p_value)})."
            )
    for row in section.patterns.reselection:
        pooled = row.what in ("any model", "mean of models")
        if pooled and row.p_clustered is not None and row.p_clustered < ALPHA and row.excess is not None:
            more = "more" if row.excess > 0 else "less"
            yield (
                f"{title(row)}: a model that was chosen is chosen again at the next turn {more} often than the order of "
                f"turns would give by chance ({p_words(row.p_clustered)}): turns are not independent."
            )


_LIU, _SMITH = "Liu et al. 2023", "Smith et al. 2022"


def methods(section: TurnsSection) -> list[Method]:
    """How the numbers shown were made, and no others."""
    kinds = {row.kind for row in section.models}
    found = [
        Method(
            name="Win rate",
            text="Turns in which the reply was chosen (a single reply: found good), of those in which it was shown and "
            "the turn answered. Intervals: CR1 variance of the sums of each worker, Student's t with workers − 1 degrees "
            "of freedom. Beside them percentiles over resampled workers (Boot), and Wald and Wilson intervals, which "
            "take all turns as independent.",
            source=f"{_LIU}, “Metrics” and Table 6; Cameron & Miller 2015; Cameron, Gelbach & Miller 2008",
        )
    ]
    if "one" in kinds:
        found.append(_tests("one reply picked a turn", "two-sided binomial test of two models, Pearson's χ² of more"))
    if "any" in kinds:
        found.append(_tests("any number picked", "McNemar's χ² without correction of two models, Cochran's Q of more"))
    if "single" in kinds:
        text = (
            "Pairs of models that were judged alone: two-sided t test of independent turns. Dialogues: share with at "
            "least half of the turns good. Effective win rate: how often a dialogue of A scores higher than one of B, "
            "over all pairs of dialogues, equal ones half; exact, not drawn. A single model that was asked one question "
            "is tested against .8 with the binomial test."
        )
        found.append(Method(name="Single models", text=text, source=f"{_SMITH}, §4.2–4.3, App. C.7; {_LIU}"))
    if section.pairs:
        text = (
            "Lin: turns won of turns decided. Sqr: mean over dialogues of x²/(x²+y²). WTA: dialogues with more turns won, "
            "tied ones half. Tie-win: both chosen; tie-loss: neither."
        )
        found.append(Method(name="Pairs", text=text, source=f"{_SMITH}, §4.1; {_LIU}, Table 3"))
    found.append(
        Method(
            name="Holm's correction",
            text="Over all pairs of a technique, setting and metric, of the paper's and the clustered p each; the paper "
            "does not correct its pairs.",
            source="Holm 1979",
        )
    )
    if section.patterns.reselection:
        text = (
            "Cascading: how often a reply of the same model is chosen in two consecutive turns, against what the same "
            "choices of each dialogue give in any order; so raters who like one model all along do not count as "
            "cascading. First choice: selected rate in later turns of what was chosen first, minus that of the others; "
            "adjusted for how often each model is chosen in all other dialogues."
        )
        found.append(
            Method(
                name="Cascading",
                text=text,
                source=f"{_LIU}, “Examining turn-level sample independence”; Ma et al. 2023, §4",
            )
        )
    if section.strengths:
        found.append(STRENGTHS)
    if section.combos:
        found.append(COMBO)
    if section.by_position:
        text = "Selected rate by the place at which a reply stood; places are drawn at random."
        found.append(Method(name="Anchoring", text=text, source=f"{_LIU}, “Examining anchoring effects”"))
    return found


def _tests(what: str, tests: str) -> Method:
    return Method(
        name=f"Tests, {what}",
        text=f"As the paper, which takes all turns as independent: {tests}, then each pair. Clustered beside them: the "
        "difference of the two selected rates turn by turn, CR1 t by worker; of all models Hotelling's T² by worker.",
        source=f"{_LIU}, “Sample Size for Different Evaluations”; Cameron & Miller 2015",
    )
