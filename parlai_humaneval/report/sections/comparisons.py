"""Section ``comparisons``: who won against whom, over turns, verdicts and finished dialogues (Smith et al. 2022)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import ClassVar, TypeVar

import pandas as pd
from pydantic import Field

from parlai_humaneval.report.conclusions import (
    BY_WORKER,
    WonPair,
    about_dialogues,
    apart_words,
    best_of_pairs,
    clearness,
    counted_once,
    holm_methods,
    matrix_of,
    once_more,
    order_words,
    reuse_methods,
    rough_guides,
    to_cite,
)
from parlai_humaneval.report.rows import Labels, Row, columns, ends, part_table, published, whole
from parlai_humaneval.report.section import (
    ModelLine,
    Options,
    Section,
    Summary,
    results_disagree,
)
from parlai_humaneval.report.views import DataTable, Figure, Method, interval_figures, method, with_note
from parlai_humaneval.statistics.core.formatting import counted, format_p, percent
from parlai_humaneval.statistics.core.multiplicity import ALPHA, Family
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.preference.pairs import (
    GROUP,
    PairWins,
    counted_comparisons,
    first_shown,
    model_wins,
    orient_pairs,
    wins_of_pairs,
)
from parlai_humaneval.statistics.ranking.fit import Strengths, strength_note
from parlai_humaneval.statistics.ranking.from_tables import oriented_strengths
from parlai_humaneval.statistics.ranking.order import EQUAL, ModelOrder
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.free_for_all import TECHNIQUE as FREE_FOR_ALL

KEY = "comparisons"
KINDS = {"turn": "turn by turn", "verdict": "verdicts at the end", "dialogue": "finished dialogues"}
UNITS = {"turn": "turn", "verdict": "verdict", "dialogue": "judgement"}
ONLY_DECIDED = "of every two models only those that favour one of them, ties left out"
NOT_TURNS = (
    "Turn by turn: do not cite these p-values. The same answers with their ties are tested in the section that the headline "
    "names."
)
NAMED = 6
"""As many pairs, or models, as are told one by one."""
BY_ITSELF = " (each interval by itself, not corrected for several pairs)"


class ComparedRow(Row):
    """Comparisons of one technique, setting, kind (turn, verdict or dialogue) and metric; "" where there is none."""

    technique: str
    setting: str
    kind: str
    metric: str

    @property
    def group(self) -> Family:
        return Family(self.technique, self.setting, self.metric, KINDS.get(self.kind, self.kind))


class ComparedPair(WonPair, ComparedRow):
    """Two models under one metric.

    ``win_rate`` and ``score`` are clustered by worker, and by dialogue where several workers judged the same.
    ``by_worker``: the win rate by worker alone, which ``p_sign_flip`` is of too; ``by_dialogue``: by the dialogues of A
    and of B alone. ``paper``: the binomial test. ``both_bad``: None where raters could not say so.
    """

    FROM = published(
        WonPair.FROM,
        worker_low="by_worker.ci_low",
        worker_high="by_worker.ci_high",
        p_worker="by_worker.p_value",
        p_worker_holm="by_worker.p_decides",
        dialogue_low="by_dialogue.ci_low",
        dialogue_high="by_dialogue.ci_high",
        p_dialogue="by_dialogue.p_value",
        p_dialogue_holm="by_dialogue.p_decides",
        notes="win_rate.notes",
    )

    n: int
    n_workers: int
    n_dialogues: int
    both_bad: int | None
    tie_rate: float | None
    p_sign_flip: float | None
    by_worker: Result
    by_dialogue: Result


class ComparedModel(ComparedRow):
    """One model against all its opponents; ``strength`` is that of Bradley and Terry, relative to the mean.

    ``strength_note``: with which models it can be compared where that is not with all, or why there is none.
    """

    FROM = published(ends("win_rate", "win_rate"), whole("strength"))

    model: str
    wins: int
    losses: int
    ties: int
    win_rate: Result
    strength: Result | None
    strength_note: str = ""


class FirstShown(ComparedRow):
    """How often the reply or dialogue that was shown first won, of decided comparisons; tested against one half."""

    FROM = published(ends("result", "share"), n="result.n", p_clustered="result.p_value")

    result: Result


class Reuse(ComparedRow):
    """How often the finished dialogues of a model were judged: in all, in the ``mean``, and the ``most`` of them."""

    model: str
    dialogues: int
    judgements: int
    mean: float
    most: int


R = TypeVar("R", bound=ComparedRow)


class Comparisons(Section):
    """Win rates of every two models that were compared; models are listed by strength, as far as answers order them.

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
        """A summary of each group, but of turns that the section on them tells."""
        summaries: list[Summary] = []
        of_groups = {remark for pairs in grouped(self.pairs) for remark in self._remarks_of(pairs)}
        general = [remark for remark in self.remarks if remark not in of_groups]
        for pairs in grouped(self.pairs):
            group = pairs[0].group
            if group in self.told_elsewhere:
                continue
            models = [model for model in self.models if model.group == group]
            lines, order = [pair.line() for pair in pairs], self.order.get(group)
            summaries.append(
                Summary(
                    section=KEY,
                    **group._asdict(),
                    what="win rate against the other models, ties left out",
                    verdict=_answer(pairs, models),
                    models=_model_lines(pairs, models),
                    pairs=lines,
                    reference=0.5,
                    model_table="comparisons_models" if models else "comparisons_pairs",
                    pair_table="comparisons_pairs",
                    remarks=[*self._remarks_of(pairs), *([] if summaries else general)],
                    best=None if order is None else best_of_pairs(dict.fromkeys(order.names), lines, order),
                )
            )
        return summaries

    def _remarks_of(self, pairs: Sequence[ComparedPair]) -> list[str]:
        group = pairs[0].group
        return [
            *self.of_order.get(group, []),
            *_remarks(pairs, [row for row in self.first_shown if row.group == group]),
        ]

    def data_tables(self) -> list[DataTable]:
        notes = (
            "Win rates leave ties out. Intervals are clustered by worker, and by dialogue where several workers judged the "
            "same, unless another is named; each stands by itself, not corrected for several pairs, as Holm's p are.",
        )
        reused = [row for row in self.reuse if row.most > 1]
        own = [pair for pair in self.pairs if pair.group not in self.told_elsewhere]
        alike = any(pair.adjusted for pair in own)
        cited = to_cite([pair.line() for pair in own], alike=alike) if own else ()
        if len(own) < len(self.pairs):
            others = " of finished dialogues and verdicts" if own else ""
            cited = (*(words.replace("Cite the", f"Cite{others} the", 1) for words in cited), NOT_TURNS)
        few = "The more often the same dialogues are shown, the less is known of others of the models."
        tables = [
            part_table(
                "comparisons_pairs", "Win rates of every two models", (*_GROUP, *_PAIRS), self.pairs, (*notes, *cited)
            ),
            part_table("comparisons_models", "Each model against all that it met", (*_GROUP, *_MODELS), self.models),
            part_table(
                "comparisons_first_shown",
                "Is the one shown first chosen more often?",
                (*_GROUP, *_FIRST),
                self.first_shown,
            ),
            part_table("comparisons_reuse", "How often a dialogue was judged", (*_GROUP, *_REUSE), reused, (few,)),
        ]
        return [table for table in tables if table.rows]

    def figures(self) -> list[Figure]:
        """Win rates with intervals of each group, and for more than two models the matrix of who beats whom."""
        return [
            figure
            for place, pairs in enumerate(grouped(self.pairs), 1)
            for figure in _figures(self.models, pairs, place, of_several=len(grouped(self.pairs)) > 1)
        ]

    def methods(self) -> list[Method]:
        strengths = any(model.strength is not None for model in self.models)
        places = [_PLACES] if any(pair.adjusted for pair in self.pairs) else []
        rates = [pair.win_rate for pair in self.pairs]
        return [*_METHODS, *places, *reuse_methods(rates), *holm_methods(rates), *([_STRENGTH] if strengths else [])]


def build(tables: Tables, options: Options) -> Comparisons | None:
    """Win rates of all pairs, by technique, setting, kind and metric; None where nothing was compared.

    Comparisons of a rater who rated somebody else's dialogue again are left to the section on agreement.
    """
    rows = counted_comparisons(tables)
    if rows.empty:
        return None
    rows = orient_pairs(rows)
    section = Comparisons(pairs=[], models=[], first_shown=[], reuse=[], told_elsewhere=_turns_of(tables))
    for key, of_group in rows.groupby(list(GROUP), sort=True):
        group = dict(zip(GROUP, map(str, key), strict=True))
        family = ComparedRow(**group).group
        wins = wins_of_pairs(of_group, family=family, level=options.level, seed=options.seed)
        section.pairs += [_pair(pair, group) for pair in wins]
        _add_models(section, of_group, group, options)
        section.reuse += _reuse(of_group, group)
        result = first_shown(of_group, level=options.level)
        section.first_shown += [FirstShown(**group, result=result)] if result.n else []
    told = {pair.technique for pair in section.pairs if pair.group in section.told_elsewhere}
    titles = dict.fromkeys(
        "Free-for-all" if technique == FREE_FOR_ALL else "Turn by turn" for technique in sorted(told)
    )
    section.headline = " ".join(
        [_answer(section.pairs, section.models), *(once_more(title, ONLY_DECIDED) for title in titles)]
    )
    groups = [remark for pairs in grouped(section.pairs) for remark in section._remarks_of(pairs)]
    section.remarks = [*dict.fromkeys(groups), *_left_out(len(tables.comparisons) - len(rows))]
    return section


def _turns_of(tables: Tables) -> list[Family]:
    asked = tables.turns[["technique", "setting", "metric"]].fillna("").astype(str).drop_duplicates()
    return [Family(technique, setting, metric, KINDS["turn"]) for technique, setting, metric in asked.to_numpy()]


def _pair(pair: PairWins, group: dict[str, str]) -> ComparedPair:
    n = pair.wins_a + pair.wins_b + pair.ties
    # Only a verdict has a button for it; of turns in which no reply was chosen it is not known why.
    both_bad = pair.both_bad if pair.both_bad or group["kind"] == "verdict" else None
    return ComparedPair(**group, **{**vars(pair), "both_bad": both_bad}, n=n, tie_rate=pair.ties / n if n else None)


def _add_models(section: Comparisons, rows: pd.DataFrame, group: dict[str, str], options: Options) -> None:
    standings = model_wins(rows, level=options.level)
    if len(standings) < 3:
        return
    fitted = _strengths(rows, [standing.model for standing in standings], options.level)
    if fitted is None:
        section.models += [ComparedModel(**group, **vars(standing), strength=None) for standing in standings]
        return
    order = fitted.order
    models = [
        ComparedModel(
            **group,
            **vars(standing),
            strength=strength,
            strength_note=strength_note(order, standing.model, strength),
        )
        for standing, strength in zip(standings, fitted.models, strict=True)
    ]
    if rows["outcome"].any():
        models.sort(key=lambda row: order.names.index(row.model))
        section.order[models[0].group] = order
        section.of_order[models[0].group] = [*_of_order(models, rows, order), *order.reasons()]
    section.models += models


def _strength(row: ComparedModel) -> float | None:
    return None if row.strength is None else row.strength.estimate


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
        yield (
            f"{rates}, but {below.model} never won over {above.model}, directly or through other models, so "
            f"{above.model} ranks above."
        )
        return
    strengths = {row.model: _strength(row) or 0.0 for row in models}
    faced = [_faced(row.model, rows, strengths) for row in (below, above)]
    yield order_words(rates, above.model, "met weaker models" if len(order.groups) == 1 and faced[0] < faced[1] else "")


def _faced(model: str, rows: pd.DataFrame, strengths: Mapping[str, float]) -> float:
    a, b = rows["model_a"], rows["model_b"]
    return float(pd.concat([b[a == model], a[b == model]]).map(strengths).mean())


def _strengths(rows: pd.DataFrame, models: list[str], level: float) -> Strengths | None:
    """Bradley and Terry's, of the models in their order. Pairs that stem from turns of more models are no such pairs:
    their replies were chosen from all of them at once."""
    if not (rows["n_models"].fillna(2) == 2).all():
        return None
    return oriented_strengths(rows, models=models, level=level)


def _reuse(rows: pd.DataFrame, group: dict[str, str]) -> list[Reuse]:
    if group["kind"] != "dialogue":
        return []
    sides = [rows[[f"model_{side}", f"dialogue_{side}"]].set_axis(["model", "dialogue"], axis=1) for side in "ab"]
    times = pd.concat(sides).groupby(["model", "dialogue"]).size().groupby(level="model")
    return [
        Reuse(
            **group,
            model=str(model),
            dialogues=len(judged),
            judgements=int(judged.sum()),
            mean=float(judged.mean()),
            most=int(judged.max()),
        )
        for model, judged in times
    ]


def grouped(rows: Iterable[R]) -> list[list[R]]:
    """Rows of each group together, in the order in which they stand."""
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
    clearest = min(decided, key=lambda pair: clearness(pair.line()), default=None)
    if clearest is None:
        return f"All {counted(sum(pair.n for pair in pairs), 'comparison')} are ties: nothing tells the models apart."
    sentence = clearest.sentence(group_words(clearest))
    if len(pairs) == 1:
        return f"{sentence}."
    one_group = len({pair.group for pair in pairs}) == 1
    lines = [pair.line() for pair in pairs]
    apart = apart_words(lines, "models" if one_group else "models and questions")
    if (clearest.line().gap or 0.0) < EQUAL:
        return f"{_order(pairs, models, clearest)}{apart}: nothing tells the models apart."
    different = [pair for pair in pairs if pair.win_rate.estimate is not None and pair.differs]
    different.sort(key=lambda pair: -(pair.line().gap or 0.0))
    named = f" ({_named(different)})" if different and one_group else ""
    return f"{_order(pairs, models, clearest)}{apart}{named}; the clearest: {sentence}."


def _named(pairs: Sequence[ComparedPair]) -> str:
    names = ", ".join(f"{pair.leader} from {pair.other}" for pair in pairs[:NAMED])
    return names + (f" and {len(pairs) - NAMED} more" if len(pairs) > NAMED else "")


def _order(pairs: Sequence[ComparedPair], models: Sequence[ComparedModel], clearest: ComparedPair) -> str:
    """How often each model won, where there are more than two; against all others only where all of them met."""
    ranked = [model for model in models if model.group == clearest.group and model.win_rate.estimate is not None]
    if len(ranked) < 3:
        return ""
    rates = ", ".join(f"{model.model} {percent(model.win_rate.estimate)}" for model in ranked[:NAMED])
    more = f" and {len(ranked) - NAMED} more" if len(ranked) > NAMED else ""
    of_group = [model for model in models if model.group == clearest.group]
    met = sum(pair.group == clearest.group for pair in pairs)
    whom = "all others" if met == len(of_group) * (len(of_group) - 1) // 2 else "those they met, not all others"
    return f"Won against {whom}, of what was decided, {group_words(clearest)}: {rates}{more}. "


def _model_lines(pairs: Sequence[ComparedPair], models: Sequence[ComparedModel]) -> list[ModelLine]:
    unit = f"decided {UNITS.get(pairs[0].kind, pairs[0].kind)}s"
    if not models:
        return [line for pair in pairs for line in pair.model_lines(unit)]
    return [ModelLine.of(model.model, model.win_rate, unit, share=True) for model in models]


def _remarks(pairs: Sequence[ComparedPair], first: Sequence[FirstShown]) -> Iterator[str]:
    where = group_words(pairs[0])
    for pair in pairs:
        told = None if pair.adjusted else results_disagree(f"{pair.names()}, {where}", pair.paper, pair.win_rate)
        yield from (sentence for sentence in (told, _by_worker_alone(pair)) if sentence)
    yield from rough_guides(pair.win_rate for pair in pairs)
    yield from counted_once(pair.told for pair in pairs)
    yield from about_dialogues(pair.win_rate for pair in pairs)
    ties = sum(pair.ties for pair in pairs)
    if ties and len(pairs) > 1:
        yield f"{where}: {counted(ties, 'tie')} left out of win rates."
    adjusted = [pair.names() for pair in pairs if pair.adjusted]
    yield from filter(None, (_habit(row, adjusted) for row in first))
    undecided = [pair.names() for pair in pairs if pair.win_rate.estimate is None]
    if undecided:
        yield f"{where}: only ties, so no win rate: {', '.join(undecided)}."
    few = [pair.names() for pair in pairs if pair.win_rate.estimate is not None and pair.win_rate.p_value is None]
    if few:
        yield f"{where}: too few workers for an interval: {', '.join(few)}."
    bad = sum(pair.both_bad or 0 for pair in pairs)
    if bad:
        yield f"{where}: both were called bad {counted(bad, 'time')}; counted as ties."


def _by_worker_alone(pair: ComparedPair) -> str | None:
    """A difference of two handfuls of dialogues may be no difference of their models; p corrected over the pairs."""
    by_worker, by_both = pair.by_worker.p_decides, pair.win_rate.p_decides
    if by_worker is None or by_both is None or by_worker >= ALPHA or by_both < ALPHA:
        return None
    return (
        f"{pair.names()}, {group_words(pair)}: significant of these very dialogues, when only the answers of a worker are "
        f"taken together ({format_p(by_worker)}), but not when those on the same dialogue are too ({format_p(by_both)}): "
        "with other dialogues of the same models it might come out differently."
    )


def _habit(row: FirstShown, adjusted: Sequence[str]) -> str | None:
    """``adjusted``: the pairs that are told with both places counting alike."""
    if row.result.p_value is None or row.result.estimate is None or row.result.p_value >= ALPHA:
        return None
    then = (
        f"this outweighs the difference of {', '.join(adjusted)}, so that both places count alike there"
        if adjusted
        else "as sides are drawn by chance this favours no model, but costs precision"
    )
    return (
        f"{group_words(row)}: the one shown first won {percent(row.result.estimate)} of decided comparisons "
        f"({format_p(row.result.p_value)}); {then}."
    )


def _left_out(comparisons: int) -> list[str]:
    if not comparisons:
        return []
    return [
        f"{counted(comparisons, 'comparison')} left out: nothing was asked, the rating was not finished, or somebody "
        "rated again what its own rater had rated."
    ]


def _figures(
    all_models: Sequence[ComparedModel], pairs: Sequence[ComparedPair], place: int, *, of_several: bool
) -> Iterator[Figure]:
    title = f", {group_words(pairs[0])}" if of_several else ""
    rates = [(f"{pair.model_a} over {pair.model_b}", pair.win_rate) for pair in pairs]
    estimated = sum(rate.estimate is not None for _, rate in rates)
    yield from interval_figures(
        f"comparisons_win_rates_{place}",
        f"Win rates{title}{BY_ITSELF if estimated > 1 else ''}",
        "win rate of the first-named model, clustered interval",
        rates,
        reference=0.5,
        share=True,
    )
    yield from interval_figures(
        f"comparisons_strengths_{place}",
        f"Strengths{title}",
        "log odds against the mean of the models, clustered interval",
        [(with_note(row.model, row.strength_note), row.strength) for row in all_models if row.group == pairs[0].group],
        reference=0.0,
    )
    models = sorted({name for pair in pairs for name in (pair.model_a, pair.model_b)})
    if len(models) > 2:
        of_pairs = {(pair.model_a, pair.model_b): pair.win_rate.estimate for pair in pairs}
        yield matrix_of(f"comparisons_matrix_{place}", f"Win rate of row over column{title}", models, of_pairs)


_LABELS: Labels = {
    "kind": ("Compared", "text"),
    "both_bad": ("Both bad", "count"),
    "win_rate_b": ("Win rate of B", "share"),
    "p_sign_flip": ("p, sign flip", "p"),
    "win_rate_adjusted": ("Win rate of A, places alike", "share"),
    "score_adjusted": ("Superiority of A, places alike", "share"),
    "score_adjusted_low": ("From, superiority, places alike", "share"),
    "score_adjusted_high": ("To, superiority, places alike", "share"),
    "adjusted_low": ("From, places alike", "share"),
    "adjusted_high": ("To, places alike", "share"),
    "p_adjusted": ("p, places alike", "p"),
    "p_adjusted_holm": ("p, places alike, Holm", "p"),
    "worker_low": ("From, by worker alone", "share"),
    "worker_high": ("To, by worker alone", "share"),
    "p_worker": ("p, by worker alone", "p"),
    "p_worker_holm": ("p, by worker alone, Holm", "p"),
    "dialogue_low": ("From, by dialogue alone", "share"),
    "dialogue_high": ("To, by dialogue alone", "share"),
    "p_dialogue": ("p, by dialogue alone", "p"),
    "p_dialogue_holm": ("p, by dialogue alone, Holm", "p"),
    "p_value": ("p, binomial (paper)", "p"),
    "p_holm": ("p, binomial, Holm", "p"),
    "wins": ("Won", "count"),
    "losses": ("Lost", "count"),
    "strength_low": ("From, strength", "number"),
    "strength_high": ("To, strength", "number"),
    "n": ("Decided", "count"),
    "share": ("First one won", "share"),
    "judgements": ("Judged", "count"),
    "most": ("Most", "count"),
}
_GROUP = columns("technique setting kind metric", _LABELS)
_PAIRS = columns(
    "model_a model_b wins_a wins_b ties both_bad win_rate_a ci_low ci_high win_rate_b lead_a lead_low lead_high "
    "p_clustered p_clustered_holm p_sign_flip worker_low worker_high p_worker p_worker_holm dialogue_low dialogue_high "
    "p_dialogue p_dialogue_holm p_value p_holm "
    "score_a score_low score_high win_rate_adjusted adjusted_low adjusted_high p_adjusted p_adjusted_holm "
    "score_adjusted score_adjusted_low score_adjusted_high per_worker p_per_worker_holm n_workers n_dialogues",
    {**_LABELS, "per_worker": ("Every worker once", "share")},
)
_MODELS = columns(
    "model wins losses ties win_rate ci_low ci_high strength strength_low strength_high strength_note", _LABELS
)
_FIRST = columns("n share ci_low ci_high p_clustered", _LABELS)
_REUSE = columns("model dialogues judgements mean most", _LABELS)
_METHODS = (
    method("comparisons", "win_rate"),
    BY_WORKER,
    method("comparisons", "binomial_p"),
)
_PLACES = method("comparisons", "places_counting_alike")
_STRENGTH = method("comparisons", "strength")
