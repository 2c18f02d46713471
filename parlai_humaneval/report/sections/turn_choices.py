"""Section ``turns``: how often each model was chosen (Smith et al. 2022; Liu et al. 2023; Ma et al. 2023)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import ClassVar, TypeVar

from parlai_humaneval.report import conclusions, views
from parlai_humaneval.report.section import ModelLine, Options, Summary, say, sentence
from parlai_humaneval.report.sections import turn_numbers, turn_rows
from parlai_humaneval.report.sections.pooled_ranking import AXIS, PooledAnswer, pooled_answer
from parlai_humaneval.report.sections.turn_numbers import ranking
from parlai_humaneval.report.views import method
from parlai_humaneval.statistics.core.clustered import MIN_CLUSTERS
from parlai_humaneval.statistics.core.multiplicity import ALPHA, Family, holm
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.rows import Row
from parlai_humaneval.statistics.preference.tests import BASELINE
from parlai_humaneval.statistics.preference.turn_dependence import data_warnings, fixed_places
from parlai_humaneval.statistics.ranking.order import ModelOrder
from parlai_humaneval.statistics.ranking.plackett_luce import pooled_strengths
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.choices import ComparisonGroup, choice_groups, self_comparisons
from parlai_humaneval.techniques.registry import with_trait

NAMED_PAIRS = 6


def axis_of(row: turn_rows.OfQuestion) -> str:
    """What the rates of a question are, as the label of an axis."""
    if row.problem:
        return f"replies marked as {row.metric} (fewer is better)"
    return "replies found good" if row.kind == "single" else "turns in which the reply was chosen"


def title_of(row: turn_rows.OfQuestion | ComparisonGroup | Summary) -> str:
    """“sata, sata_user, preference”."""
    return ", ".join(part for part in (row.technique, row.setting, row.metric) if part)


def summaries_of(
    section: turn_rows.TurnRows,
    groups: Sequence[ComparisonGroup],
    pooled: Mapping[Family, PooledAnswer],
    orders: Mapping[Family, ModelOrder],
    level: float,
) -> list[Summary]:
    """An answer for each question; of several a remark says of which it is, unless it holds for all of them."""
    answers = []
    for family, rows in groupby(section.models, key=lambda row: row.family):
        found = pooled.get(family)
        answer = (
            _summary(section, family, list(rows), orders.get(family), level)
            if found is None
            else Summary(
                section="turns",
                **family._asdict(),
                what=AXIS,
                verdict=found.verdict(level),
                models=found.lines(),
                pairs=[pair.line() for pair in found.pairs],
                reference=0.5,
                model_table="turns_pooled",
                pair_table="turns_pooled_pairs",
                remarks=list(found.remarks()),
                best=found.best,
            )
        )
        mine = [group for group in groups if Family(*group.family) == family]
        answer.remarks += list(dict.fromkeys(_family_remarks(section, family, mine)))
        answers.append(answer)
    for_all = set.intersection(*(set(answer.remarks) for answer in answers)) if answers else set()
    for answer in answers:
        where = f"In {title_of(answer)}: "
        answer.remarks = [text if text in for_all else f"{where}{text}" for text in answer.remarks]
    return sorted(answers, key=lambda answer: -sum(line.n for line in answer.models))


def _summary(
    section: turn_rows.TurnRows,
    family: Family,
    models: list[turn_rows.TurnModel],
    order: ModelOrder | None,
    level: float,
) -> Summary:
    """The answer to one question; more remarks are still to come. ``order``: of models that were not all shown together."""
    pairs = [row for row in section.tests if row.family == family and row.test.of_pair]
    ranking = [row for row in section.ranking if row.family == family]
    place = {} if order is None else {model: place for place, model in enumerate(order.names)}
    rated: list[turn_rows.RankRow | turn_rows.TurnModel] = [*(ranking or models)]
    rated.sort(key=lambda row: (place.get(row.model, 0), row.rank, row.model))
    lines = [row.line() for row in pairs]
    if ranking or order:
        met = [line for row, line in zip(pairs, lines, strict=True) if row.test.clustered.n]
        verdict = sentence(
            "turns",
            "several_groups",
            untested=all(row.test.clustered.p_holm is None for row in pairs),
            clearest=min(met, key=conclusions.clearness, default=None),
            differing=conclusions.apart_words(met, "models"),
            level=level,
            pair_p=conclusions.pair_p,
        )
    else:
        # Which models differ is by the clustered tests of pairs, Holm's correction where the family has several.
        best, *others = sorted(models, key=lambda row: (row.rank, row.model))
        made = [row.line() for row in pairs if row.test.clustered.p_holm is not None]
        tested = sorted(made, key=lambda line: -(line.gap or 0.0))
        verdict = sentence(
            "turns",
            "one_group",
            models=models,
            best=best,
            others=others,
            alike=any(row.adjusted for row in models),
            level=level,
            least=MIN_CLUSTERS,
            lines=tested,
            single=len(pairs) == 1,
            apart=[line for line in tested if line.differs],
            smallest=min((line.p_decides or 0.0 for line in tested), default=None),
            winner=conclusions.winner_words(tested),
            named=NAMED_PAIRS,
            pair_p=conclusions.pair_p,
        )
    return Summary(
        section="turns",
        **family._asdict(),
        what=axis_of(models[0]),
        verdict=verdict,
        models=[ModelLine.of(row.model, row.told, "turns", share=True, n=row.n) for row in rated],
        pairs=lines,
        reference=1 / len(models) if models[0].kind == "one" and not ranking else None,
        model_table="turns_ranking" if ranking else "turns_models",
        pair_table="turns_tests" if pairs else "",
        remarks=say("turns", "of_ranking", ranking=ranking, order=order),
        best=None if order is None else conclusions.best_of_pairs(dict.fromkeys(order.names), lines, order),
    )


def _family_remarks(section: turn_rows.TurnRows, family: Family, groups: Sequence[ComparisonGroup]) -> list[str]:
    models = [row for row in section.models if row.family == family]
    # Where one ranking answers, tests and strengths of its parts decide nothing.
    in_parts = any(row.family == family for row in section.pooled)
    tests = [] if in_parts else [row for row in section.tests if row.family == family]
    # What decides is the corrected p where there is one.
    disagreeing = [
        conclusions.results_disagree(row.test.paper.name, row.test.paper, row.test.clustered)
        for row in tests
        if not row.adjusted
    ]
    anchoring = [row for row in section.patterns.anchoring if row.family == family]
    again = [row for row in section.patterns.reselection if row.family == family and row.scope == "all models"]
    strengths = [row for row in section.strengths if row.family == family and row.strength.ci_low is None]
    return say(
        "turns",
        "remarks",
        groups=groups,
        groups_with=[
            (
                group,
                [row for row in models if row.group == " – ".join(group.models)],
                0 if group.kind == "single" else len(fixed_places(group.turns)),
            )
            for group in groups
        ],
        in_parts=in_parts,
        few=[row for row in models if row.rate.ci_low is None],
        least=MIN_CLUSTERS,
        about_tests=[
            *filter(None, disagreeing),
            *conclusions.rough_guides(row.told for row in tests),
            *conclusions.counted_once(row.told for row in tests),
        ],
        adjusted=[row.test.paper.name for row in tests if row.adjusted],
        places=_clear([(row.group, row.test) for row in anchoring if row.test.name != turn_numbers.ALL_PLACES]),
        again=_clear([(row.group, row.excess) for row in again]),
        strengths=[] if in_parts else strengths,
        combos=[row for row in section.combos if row.family == family],
    )


def _clear(tests: Sequence[tuple[str, Result]]) -> list[tuple[str, Result, str]]:
    """Tests that are significant after Holm's correction: where, and with which p."""
    made = [(f" where {group} were shown together" if len(tests) > 1 else "", test) for group, test in tests if test.n]
    corrected = zip(made, holm([test.p_value for _, test in made]), strict=True)
    return [
        (where, test, conclusions.deciding_p(test.p_value, p))
        for (where, test), p in corrected
        if p is not None and p < ALPHA
    ]


POOLED_TITLE = views.title_of("turns_pooled_pairs")
R = TypeVar("R", bound=Row)


class TurnsSection(turn_rows.TurnRows):
    """How often each model was chosen, and whether the models differ significantly."""

    TITLE: ClassVar[str] = "Turn by turn"

    def summary(self) -> list[Summary]:
        """An answer for each question; free-for-alls have theirs in their own section."""
        return [answer for answer in self.summaries if answer.technique not in with_trait("points")]

    def data_tables(self) -> list[views.DataTable]:
        """All tables that hold a row, as in the papers: win rates, tests, pairs, turns, places, patterns."""
        groups = list(dict.fromkeys(row.where for row in self.models))
        by_rank = sorted(self.models, key=lambda row: (groups.index(row.where), row.rank, row.model))
        singles = [row for row in self.models if row.kind == "single"]
        tests = conclusions.DECIDED_TITLE if self.of_decided == "all" else "Tests"
        answers = POOLED_TITLE if self.pooled and self.of_decided != "all" else tests
        pooled = conclusions.to_cite([row.line() for row in self.pooled_pairs], self.of_decided)
        # What the paper's p are, once for all rows: in each row they would make a tall column of the same words.
        of_pairs = {row.test.paper.method: row.test.of_pair for row in self.tests if row.test.paper.method}
        told = [
            f"of {which}: {', '.join(method for method, of_pair in of_pairs.items() if of_pair == pairs)}"
            for pairs, which in ((True, "two models"), (False, "all models, or of one"))
            if pairs in of_pairs.values()
        ]
        paper = say("turns", "notes", of="papers", tests=told) if told else []
        own, tables = {"turns_models": by_rank, turn_rows.SINGLE: singles}, []
        for key, path in views.rows_of("turns_").items():
            rows = own[key] if key in own else attrgetter(path)(self)
            notes = (
                say("turns", "notes", of=key, answers=answers, tests=tests) if key != "turns_tests" else self._cited()
            )
            cited = pooled if key == "turns_pooled_pairs" else notes
            first = paper if key in ("turns_tests", "turns_tests_from_2") else ()
            tables += [views.table(key, rows, *first, *cited, filled=True)] if rows else []
        return tables

    def _cited(self) -> list[str]:
        pooled = {row.family for row in self.pooled}
        pairs = [row for row in self.tests if row.test.of_pair]
        own = [row for row in pairs if row.family not in pooled and row.technique not in with_trait("points")]
        return [
            *say(
                "turns",
                "notes",
                of="turns_tests",
                title=POOLED_TITLE,
                families=sorted(pooled),
                own=own,
                in_pooled=self.of_decided != "all" and any(row.family in pooled for row in pairs),
                free_for_all=self.of_decided != "all" and any(row.technique in with_trait("points") for row in pairs),
            ),
            *conclusions.to_cite([row.line() for row in own], self.of_decided, alike=any(row.adjusted for row in own)),
        ]

    def figures(self) -> list[views.Figure]:
        """For each group: win rates with intervals and by turn; for more than two models p-values and strengths."""
        captions = self._captions()
        return [
            figure
            for number, (where, rows) in enumerate(groupby(self.models, key=lambda row: row.where), start=1)
            for figure in self._of_group(number, where, captions[where], list(rows))
        ]

    def _captions(self) -> dict[tuple[Family, str], str]:
        """What tells the groups apart, as the end of a title."""
        groups: dict[Family, set[str]] = {}
        for row in self.models:
            groups.setdefault(row.family, set()).add(row.group)
        parts = {
            row.where: [title_of(row)] * (len(groups) > 1) + [row.group] * (len(groups[row.family]) > 1)
            for row in self.models
        }
        return {where: f": {', '.join(filter(None, names))}" if any(names) else "" for where, names in parts.items()}

    def _of_group(
        self, number: int, where: tuple[Family, str], of: str, models: Sequence[turn_rows.TurnModel]
    ) -> Iterator[views.Figure]:
        one, rates = models[0].kind == "one", [(row.model, row.rate) for row in models]
        looks = views.look("turns_win_rates", f"_{number}", of=of) | {"x_label": axis_of(models[0])}
        yield from views.interval_figures(**looks, results=rates, reference=1 / len(models) if one else None)
        turns = [row for row in self.by_turn if row.where == where]
        names = sorted({row.model for row in turns})
        if len({row.turn for row in turns}) > 1:
            of_models = {name: [(row.turn, row.rate) for row in turns if row.model == name] for name in names}
            curves = [views.curve_of(name, *zip(*points, strict=True)) for name, points in of_models.items()]
            looks = views.look("turns_by_turn", f"_{number}", of=of) | ({"reference": 1 / len(names)} if one else {})
            yield from views.curve_figures(**looks, curves=curves)
        if len(models) < 3:
            return
        tests = [row for row in self.tests if row.where == where and row.test.of_pair]
        p_values = {row.pair: row.test.clustered.p_holm for row in tests}
        looks = views.look("turns_pairs", f"_{number}", of=of)
        yield views.p_matrix(**looks, names=[row.model for row in models], p_of_pairs=p_values)
        known = [row for row in self.strengths if row.where == where and row.strength.estimate is not None]
        known.sort(key=lambda row: -(row.strength.estimate or 0.0))
        strengths = [(views.with_note(row.model, row.strength_note), row.strength) for row in known if len(known) > 2]
        yield from views.interval_figures(**views.look("turns_strengths", f"_{number}", of=of), results=strengths)

    def methods(self) -> list[views.Method]:
        """How the numbers shown were made, and no others."""
        kinds = {row.kind for row in self.models}
        tests = [
            ("one", "one reply picked per turn", "two-sided binomial test for two models, Pearson's χ² for more"),
            ("any", "any number picked", "McNemar's χ² without correction for two models, Cochran's Q for more"),
        ]
        told = [
            ("cascading", self.patterns.reselection),
            ("strengths", self.strengths),
            ("one_ranking", self.pooled),
            ("pw_combo", self.combos),
            ("places_counting_alike", any(row.adjusted for row in self.tests)),
            ("anchoring", self.by_position),
        ]
        return [
            method("turn_choices", "win_rate"),
            conclusions.BY_WORKER,
            *(method("turn_choices", "tests", what=what, tests=how) for kind, what, how in tests if kind in kinds),
            *([method("turn_choices", "single_models", baseline=BASELINE)] if "single" in kinds else []),
            *([method("turn_choices", "pairs")] if self.pairs else []),
            *conclusions.holm_methods(row.test.clustered for row in self.tests),
            *(method("turn_choices", name) for name, shown in told if shown),
        ]


def build(tables: Tables, options: Options) -> TurnsSection | None:
    """The section; None where nobody chose anything turn by turn."""
    groups = choice_groups(tables)
    odd = data_warnings(tables.turns)
    if not groups and not odd:
        return None
    answered = [group for group in groups if len(group.turns.turns)]
    families = [list(family) for _, family in groupby(answered, key=lambda group: group.family)]
    unfinished, level = turn_numbers.with_unfinished(groups, tables), options.level
    fitted = [(family, pooled_strengths(family, level=level)) for family in families]
    several = [(family, found) for family, found in fitted if family[0].technique not in with_trait("points")]
    pooled = [answer for family, found in several if (answer := pooled_answer(family, found, level)) is not None]
    orders = {Family(*family[0].family): found.order for family, found in several if found is not None}
    strengths, pulls = turn_numbers.strength_rows(answered, level)

    def of_groups(rows: Callable[[ComparisonGroup, float], Iterable[R]]) -> list[R]:
        return [row for group in answered for row in rows(group, level)]

    section = TurnsSection(
        models=[row for group in answered for row in turn_numbers.model_rows(group, options, unfinished)],
        tests=turn_numbers.tested_rows(families, level, 1),
        by_turn=of_groups(turn_numbers.by_turn),
        by_position=of_groups(turn_numbers.by_position),
        pairs=[
            row
            for group in answered
            for first in (1, turn_numbers.LATER)
            for row in turn_numbers.pair_rows(group, first, options)
        ],
        effective=of_groups(turn_numbers.effective_rows),
        patterns=turn_rows.Patterns(
            reselection=of_groups(turn_numbers.reselection_rows),
            cascading=of_groups(turn_numbers.cascading_rows),
            anchoring=of_groups(turn_numbers.anchoring_rows),
        ),
        leave_one_out=[row for group in answered for row in turn_numbers.left_out_rows(group)],
        strengths=strengths,
        positions=pulls,
        combos=list(turn_numbers.combo_rows(answered, tables, level)),
        ranking=[
            row
            for family, found in fitted
            if len(family) > 1
            for row in ranking(family, level, None if found is None else found.order)
        ],
        pooled=[row for answer in pooled for row in answer.models],
        pooled_pairs=[row for answer in pooled for row in answer.pairs],
        ranges=[
            row
            for group in answered
            for first in (1, turn_numbers.LATER)
            for row in turn_numbers.range_rows(group, first, level)
        ],
        tests_from_2=turn_numbers.tested_rows(families, level, turn_numbers.LATER),
        nothing_ticked=list(turn_numbers.nothing_ticked(answered, level)),
    )
    section.summaries = summaries_of(section, groups, {answer.family: answer for answer in pooled}, orders, level)
    no_turn = odd[0] if odd and not answered else ""
    section.headline = sentence("turns", "headline", answers=section.summaries, title_of=title_of, no_turn=no_turn)
    # What was left out, where the two kinds of tests disagree, and signs that turns are not independent.
    own_rival, of_ranking = self_comparisons(tables.turns), {answer.family: [*answer.remarks()] for answer in pooled}
    told = [*odd, *say("turns", "general", own_rival=own_rival, include_partial=options.include_partial)]
    for question, part in groupby(groups, key=lambda group: group.family):
        mine, asked = list(part), Family(*question)
        of_family = (*of_ranking.get(asked, ()), *_family_remarks(section, asked, mine))
        told += [f"{title_of(mine[0])}: {text}" for text in of_family]
    section.remarks = list(dict.fromkeys(told))
    return section
