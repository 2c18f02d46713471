"""Section ``comparisons``: models' wins, by turns, verdicts and finished dialogues (Smith et al. 2022)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Annotated, ClassVar, TypeVar

import pandas as pd
from pydantic import Field

from parlai_humaneval.report import conclusions, views
from parlai_humaneval.report.facts import decided_designs
from parlai_humaneval.report.section import ModelLine, Options, Section, Summary, say, sentence
from parlai_humaneval.statistics.core.formatting import percent
from parlai_humaneval.statistics.core.multiplicity import ALPHA, Family
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.rows import EVERY, Column, Count, Estimate, Name, Row
from parlai_humaneval.statistics.core.two_way import shared_by
from parlai_humaneval.statistics.preference import pairs as paired
from parlai_humaneval.statistics.ranking.fit import strength_note
from parlai_humaneval.statistics.ranking.order import EQUAL, ModelOrder
from parlai_humaneval.statistics.ranking.plackett_luce import oriented_strengths
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.techniques.registry import with_trait

KEY = "comparisons"
KINDS = {"turn": "turn by turn", "verdict": "verdicts at the end", "dialogue": "finished dialogues"}
UNITS = {"turn": "turn", "verdict": "verdict", "dialogue": "judgement"}
ONLY_DECIDED = "but only those that favour one model of a pair, with ties left out"
NAMED = 6
"""The most pairs, or models, to name."""
BY_ITSELF = " (each interval by itself, not corrected for several pairs)"


class ComparedRow(Row):
    """Comparisons of one technique, setting, kind (turn, verdict or dialogue) and metric; "" where there is none."""

    technique: Name
    setting: Name
    kind: Annotated[str, Column("Compared", table=EVERY)]
    metric: Name

    @property
    def group(self) -> Family:
        return Family(self.technique, self.setting, self.metric, KINDS.get(self.kind, self.kind))


class ComparedPair(paired.PairOutcome, conclusions.WonPair, ComparedRow):
    """Two models under one metric. ``both_bad``: None where raters could not say so."""


class ComparedModel(paired.ModelOutcome, ComparedRow):
    """One model against all its opponents; ``strength`` is that of Bradley and Terry, relative to the mean.

    ``strength_note``: with which models it can be compared where that is not with all, or why there is none.
    """

    strength: Annotated[Result | None, Estimate(end_labels=("From, strength", "To, strength"))]
    strength_note: Annotated[str, Column()] = ""


class FirstShown(ComparedRow):
    """How often the reply or dialogue that was shown first won, of decided comparisons; tested against one half."""

    result: Annotated[
        Result,
        Column("Decided", "count", name="n", path="n"),
        Estimate("First one won", "share", name="share", ends="ci"),
        Column(kind="p", name="p_clustered", path="p_value"),
    ]


class Reuse(ComparedRow):
    """How often the finished dialogues of a model were judged: in all, in the ``mean``, and the ``most`` of them."""

    model: Name
    dialogues: Count
    judgements: Annotated[int, Column("Judged")]
    mean: Annotated[float, Column()]
    most: Annotated[int, Column("Most")]


R = TypeVar("R", bound=ComparedRow)


class Comparisons(Section):
    """Win rates of every pair of models that were compared; models are listed by strength, as far as answers order them.

    ``told_elsewhere``: groups of turns that another section tells. ``order``: of each group of three models or more;
    ``of_order``: why that is not the order of win rates, and what strengths cannot compare.
    """

    TITLE: ClassVar[str] = "Models compared two at a time"

    pairs: list[ComparedPair]
    models: list[ComparedModel]
    first_shown: list[FirstShown]
    reuse: list[Reuse]
    told_elsewhere: list[Family] = Field(default_factory=list, exclude=True)
    order: dict[Family, ModelOrder] = Field(default_factory=dict, exclude=True)
    of_order: dict[Family, list[str]] = Field(default_factory=dict, exclude=True)

    def summary(self) -> list[Summary]:
        """A summary of each group, except turns, which have their own section."""
        summaries: list[Summary] = []
        of_groups = {remark for pairs in grouped(self.pairs) for remark in self._remarks_of(pairs)}
        general = [remark for remark in self.remarks if remark not in of_groups]
        for pairs in grouped(self.pairs):
            group = pairs[0].group
            if group in self.told_elsewhere:
                continue
            models = [model for model in self.models if model.group == group]
            lines, order = [pair.line() for pair in pairs], self.order.get(group)
            unit = f"decided {UNITS.get(pairs[0].kind, pairs[0].kind)}s"
            of_models = [ModelLine.of(model.model, model.win_rate, unit, share=True) for model in models]
            summaries.append(
                Summary(
                    section=KEY,
                    **group._asdict(),
                    what="win rate against the other models, ties left out",
                    verdict=_answer(pairs, models),
                    models=of_models or [line for pair in pairs for line in pair.model_lines(unit)],
                    pairs=lines,
                    reference=0.5,
                    model_table="comparisons_models" if models else "comparisons_pairs",
                    pair_table="comparisons_pairs",
                    remarks=[*self._remarks_of(pairs), *([] if summaries else general)],
                    best=None if order is None else conclusions.best_of_pairs(dict.fromkeys(order.names), lines, order),
                )
            )
        return summaries

    def tested(self) -> list[tuple[str, str, str]]:
        """Also of turns that the section on them tells."""
        return list(dict.fromkeys((pair.technique, pair.setting, pair.metric) for pair in self.pairs))

    def _remarks_of(self, pairs: Sequence[ComparedPair]) -> list[str]:
        group = pairs[0].group
        return [
            *self.of_order.get(group, []),
            *_remarks(pairs, [row for row in self.first_shown if row.group == group]),
        ]

    def data_tables(self) -> list[views.DataTable]:
        reused = [row for row in self.reuse if row.most > 1]
        own = [pair for pair in self.pairs if pair.group not in self.told_elsewhere]
        alike = any(pair.adjusted for pair in own)
        cited = conclusions.to_cite([pair.line() for pair in own], self.of_decided, alike=alike)
        if len(own) < len(self.pairs):
            others = " of finished dialogues and verdicts" if own else ""
            cited = tuple(note.replace("Cite the", f"Cite{others} the", 1) for note in cited)
        by = shared_by(*(pair.win_rate for pair in self.pairs))
        notes = say(KEY, "of_pairs", turns=len(own) < len(self.pairs), cited=cited, by=by)
        of_both = {"dialogue_low": "From", "dialogue_high": "To", "p_dialogue": "p", "p_dialogue_holm": "p"}
        ends = {name: ", Holm" if name.endswith("holm") else "" for name in of_both}
        labels = {name: f"{end}, by {by} alone{ends[name]}" for name, end in of_both.items()}
        return views.shown(
            views.table("comparisons_pairs", self.pairs, *notes, labels=labels),
            views.table("comparisons_models", self.models),
            views.table("comparisons_first_shown", self.first_shown),
            views.table("comparisons_reuse", reused, *say(KEY, "of_reuse")),
        )

    def figures(self) -> list[views.Figure]:
        """Win rates with intervals for each group, and for more than two models the matrix of wins between them."""
        groups, figures = grouped(self.pairs), list[views.Figure]()
        for place, pairs in enumerate(groups, 1):
            where = f", {group_words(pairs[0])}" if len(groups) > 1 else ""
            rates = [(f"{pair.model_a} over {pair.model_b}", pair.win_rate) for pair in pairs]
            estimated = sum(rate.estimate is not None for _, rate in rates)
            words = {"where": where, "by_itself": BY_ITSELF if estimated > 1 else ""}
            looks = views.look("comparisons_win_rates", f"_{place}", **words)
            figures += views.interval_figures(**looks, results=rates)
            strengths = [
                (views.with_note(row.model, row.strength_note), row.strength)
                for row in self.models
                if row.group == pairs[0].group
            ]
            figures += views.interval_figures(
                **views.look("comparisons_strengths", f"_{place}", where=where), results=strengths
            )
            models = sorted({name for pair in pairs for name in (pair.model_a, pair.model_b)})
            if len(models) > 2:
                of_pairs = {(pair.model_a, pair.model_b): pair.win_rate.estimate for pair in pairs}
                looks = views.look("comparisons_matrix", f"_{place}", where=where)
                figures.append(conclusions.matrix_of(**looks, models=models, win_rates=of_pairs))
        return figures

    def methods(self) -> list[views.Method]:
        rates = [pair.win_rate for pair in self.pairs]
        places = any(pair.adjusted for pair in self.pairs)
        strengths = any(model.strength is not None for model in self.models)
        return [
            views.method(KEY, "win_rate"),
            conclusions.BY_WORKER,
            views.method(KEY, "binomial_p"),
            *([views.method(KEY, "places_counting_alike")] if places else []),
            *conclusions.reuse_methods(rates),
            *conclusions.holm_methods(rates),
            *([views.method(KEY, "strength")] if strengths else []),
        ]


def build(tables: Tables, options: Options) -> Comparisons | None:
    """Win rates of all pairs, by technique, setting, kind and metric; None where nothing was compared.

    Comparisons of a rater who rated somebody else's dialogue again are left to the section on agreement.
    """
    rows = paired.counted_comparisons(tables)
    if rows.empty:
        return None
    rows = paired.orient_pairs(rows)
    asked = tables.turns[["technique", "setting", "metric"]].fillna("").astype(str).drop_duplicates().to_numpy()
    section = Comparisons(pairs=[], models=[], first_shown=[], reuse=[])
    section.told_elsewhere = [Family(*map(str, question))._replace(question=KINDS["turn"]) for question in asked]
    for key, of_group in rows.groupby(list(paired.GROUP), sort=True):
        group = dict(zip(paired.GROUP, map(str, key), strict=True))
        family = ComparedRow(**group).group
        wins = paired.wins_of_pairs(of_group, family=family, level=options.level, seed=options.seed)
        for pair in wins:
            # Only a verdict has a button for it; of turns in which no reply was chosen it is not known why.
            both_bad = pair.both_bad if pair.both_bad or group["kind"] == "verdict" else None
            section.pairs.append(ComparedPair.of(pair, group, both_bad=both_bad))
        _add_models(section, of_group, group, options)
        if group["kind"] == "dialogue":
            ends = [
                of_group[[f"model_{end}", f"dialogue_{end}"]].set_axis(["model", "dialogue"], axis=1) for end in "ab"
            ]
            times = pd.concat(ends).groupby(["model", "dialogue"]).size().groupby(level="model")
            counts = {"dialogues": times.size(), "judgements": times.sum(), "mean": times.mean(), "most": times.max()}
            of_models = pd.DataFrame(counts).reset_index(names="model").to_dict("records")
            section.reuse += [Reuse.of(group, of_model) for of_model in of_models]
        result = paired.first_shown(of_group, level=options.level)
        section.first_shown += [FirstShown(**group, result=result)] if result.n else []
    decided = decided_designs(tables)
    told = {
        (pair.technique, (pair.technique, pair.setting, pair.metric) in decided)
        for pair in section.pairs
        if pair.group in section.told_elsewhere
    }
    by_points = with_trait("points")
    again = dict.fromkeys(
        conclusions.once_more("Free-for-all" if name in by_points else "Turn by turn", ONLY_DECIDED, decided=ends)
        for name, ends in sorted(told)
    )
    section.headline = " ".join([_answer(section.pairs, section.models), *again])
    groups = [remark for pairs in grouped(section.pairs) for remark in section._remarks_of(pairs)]
    left_out = len(tables.comparisons) - len(rows)
    section.remarks = [*dict.fromkeys(groups), *say(KEY, "left_out", n=left_out)]
    return section


def _add_models(section: Comparisons, rows: pd.DataFrame, group: dict[str, str], options: Options) -> None:
    standings = paired.model_wins(rows, level=options.level)
    if len(standings) < 3:
        return
    # Pairs from turns with more models do not count: their replies were chosen from all of them at once.
    of_two = (rows["n_models"].fillna(2) == 2).all()
    names = [standing.model for standing in standings]
    fitted = oriented_strengths(rows, models=names, level=options.level) if of_two else None
    if fitted is None:
        section.models += [ComparedModel.of(group, standing, strength=None) for standing in standings]
        return
    order = fitted.order
    notes = [strength_note(order, *of_model) for of_model in zip(names, fitted.models, strict=True)]
    models = [
        ComparedModel.of(group, standing, strength=strength, strength_note=note)
        for standing, strength, note in zip(standings, fitted.models, notes, strict=True)
    ]
    if rows["outcome"].any():
        models.sort(key=lambda row: order.names.index(row.model))
        section.order[models[0].group] = order
        section.of_order[models[0].group] = [*_of_order(models, rows, order), *order.reasons()]
    section.models += models


def _of_order(models: Sequence[ComparedModel], rows: pd.DataFrame, order: ModelOrder) -> Iterator[str]:
    """Why the order is not that of the win rates, in one sentence, where it is not."""
    known = [row for row in models if row.win_rate.estimate is not None]
    swapped = [
        (above, below)
        for above, below in combinations(known, 2)
        if (above.win_rate.estimate or 0.0) < (below.win_rate.estimate or 0.0)
        and order.is_above(above.model, below.model)
    ]
    if not swapped:
        return
    above, below = max(swapped, key=lambda two: (two[1].win_rate.estimate or 0.0) - (two[0].win_rate.estimate or 0.0))
    rates = f"{below.model} won {percent(below.win_rate.estimate)}, {above.model} {percent(above.win_rate.estimate)}"
    if below.model not in order.group_of(above.model):
        yield f"{rates}, but {sentence(KEY, 'never_won', below=below.model, above=above.model)}"
        return
    strengths = {row.model: 0.0 if row.strength is None else row.strength.estimate or 0.0 for row in models}
    a, b = rows["model_a"], rows["model_b"]
    faced = [pd.concat([b[a == one.model], a[b == one.model]]).map(strengths).mean() for one in (below, above)]
    why = "met weaker models" if len(order.groups) == 1 and faced[0] < faced[1] else ""
    yield sentence("conclusions", "order", shares=rates, first=above.model, why=why)


def grouped(rows: Iterable[R]) -> list[list[R]]:
    """Rows of each group together, in their order."""
    groups: dict[Family, list[R]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    return list(groups.values())


def group_words(row: ComparedRow) -> str:
    """“preference (pw_dialog, self_chat, finished dialogues)”."""
    group = row.group
    return f"{group.metric} ({', '.join(filter(None, (group.technique, group.setting, group.question)))})"


def _answer(pairs: Sequence[ComparedPair], models: Sequence[ComparedModel]) -> str:
    decided = [pair for pair in pairs if pair.win_rate.estimate is not None]
    clearest = min(decided, key=lambda pair: conclusions.clearness(pair.line()), default=None)
    one_group = len({pair.group for pair in pairs}) == 1
    different = sorted((pair for pair in decided if pair.differs), key=lambda pair: -(pair.line().gap or 0.0))
    of_group = [model for model in models if clearest and model.group == clearest.group]
    met = sum(pair.group == clearest.group for pair in pairs) if clearest else 0
    return sentence(
        KEY,
        "answer",
        pairs=pairs,
        clearest=clearest,
        told=clearest.sentence(group_words(clearest)) if clearest else "",
        where=group_words(clearest) if clearest else "",
        apart=conclusions.apart_words(
            [pair.line() for pair in pairs], "models" if one_group else "models and questions"
        ),
        different=different if one_group else [],
        equal=clearest is not None and (clearest.line().gap or 0.0) < EQUAL,
        # How often each model won, where there are more than two.
        ranked=[model for model in of_group if model.win_rate.estimate is not None],
        all_met=met == len(of_group) * (len(of_group) - 1) // 2,
        named=NAMED,
    )


def _remarks(pairs: Sequence[ComparedPair], first: Sequence[FirstShown]) -> Iterator[str]:
    where = group_words(pairs[0])
    for pair in pairs:
        told = (
            None
            if pair.adjusted
            else conclusions.results_disagree(f"{pair.names()}, {where}", pair.paper, pair.win_rate)
        )
        yield from filter(None, [told])
        by_worker, by_both = pair.by_worker.p_decides, pair.win_rate.p_decides
        # A difference of two handfuls of dialogues may be no difference of their models.
        if by_worker is not None and by_both is not None and by_worker < ALPHA <= by_both:
            yield from say(KEY, "by_worker_alone", pair=pair, where=where, by_worker=by_worker, by_both=by_both)
    yield from conclusions.rough_guides(pair.win_rate for pair in pairs)
    yield from conclusions.counted_once(pair.told for pair in pairs)
    yield from conclusions.about_dialogues(pair.win_rate for pair in pairs)
    yield from say(
        KEY,
        "remarks",
        where=where,
        ties=sum(pair.ties for pair in pairs) if len(pairs) > 1 else 0,
        adjusted=[pair for pair in pairs if pair.adjusted],
        habits=[row.result for row in first if row.result.p_value is not None and row.result.p_value < ALPHA],
        undecided=[pair for pair in pairs if pair.win_rate.estimate is None],
        few=[pair for pair in pairs if pair.win_rate.estimate is not None and pair.win_rate.p_value is None],
        bad=sum(pair.both_bad or 0 for pair in pairs),
    )
