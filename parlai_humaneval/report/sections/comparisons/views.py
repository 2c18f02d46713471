"""Tables, figures and methods of the section ``comparisons``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from parlai_humaneval.report.rows import Columns, part_table
from parlai_humaneval.report.views import (
    DataTable,
    Figure,
    HeatFigure,
    IntervalFigure,
    IntervalPoint,
    Method,
)

if TYPE_CHECKING:
    from parlai_humaneval.report.sections.comparisons.parts import ComparedPair, ComparedPart, Comparisons

BY_ITSELF = " (each interval by itself, not corrected for several pairs)"
KINDS = {"turn": "turn by turn", "verdict": "verdicts at the end", "dialogue": "finished dialogues"}

_GROUP: Columns = (
    ("technique", "Technique", "text"),
    ("setting", "Setting", "text"),
    ("kind", "Compared", "text"),
    ("metric", "Metric", "text"),
)
_PAIRS: Columns = (
    ("model_a", "Model A", "text"),
    ("model_b", "Model B", "text"),
    ("wins_a", "A won", "count"),
    ("wins_b", "B won", "count"),
    ("ties", "Ties", "count"),
    ("both_bad", "Both bad", "count"),
    ("win_rate_a", "Win rate of A", "share"),
    ("ci_low", "From", "share"),
    ("ci_high", "To", "share"),
    ("p_clustered", "p, clustered", "p"),
    ("p_clustered_holm", "p, clustered, Holm", "p"),
    ("p_sign_flip", "p, sign flip", "p"),
    ("dialogue_low", "From, by dialogue", "share"),
    ("dialogue_high", "To, by dialogue", "share"),
    ("p_dialogue", "p, by dialogue", "p"),
    ("p_dialogue_holm", "p, by dialogue, Holm", "p"),
    ("p_value", "p, binomial (paper)", "p"),
    ("p_holm", "p, binomial, Holm", "p"),
    ("score_a", "Ties as half", "share"),
    ("score_low", "From, ties as half", "share"),
    ("score_high", "To, ties as half", "share"),
    ("n_workers", "Workers", "count"),
    ("n_dialogues", "Dialogues", "count"),
)
_MODELS: Columns = (
    ("model", "Model", "text"),
    ("wins", "Won", "count"),
    ("losses", "Lost", "count"),
    ("ties", "Ties", "count"),
    ("win_rate", "Win rate", "share"),
    ("ci_low", "From", "share"),
    ("ci_high", "To", "share"),
    ("strength", "Strength", "number"),
    ("strength_low", "From, strength", "number"),
    ("strength_high", "To, strength", "number"),
)
_FIRST: Columns = (
    ("n", "Decided", "count"),
    ("share", "First one won", "share"),
    ("ci_low", "From", "share"),
    ("ci_high", "To", "share"),
    ("p_clustered", "p, clustered", "p"),
)

P = TypeVar("P", bound="ComparedPart")


def data_tables(section: Comparisons) -> list[DataTable]:
    notes = (
        "Win rates leave ties out. Intervals are clustered by worker, unless another is named; each stands by itself, not "
        "corrected for several pairs, as Holm's p are.",
    )
    found = [
        part_table("comparisons_pairs", "Win rates of every two models", (*_GROUP, *_PAIRS), section.pairs, notes),
        part_table("comparisons_models", "Each model against all others", (*_GROUP, *_MODELS), section.models),
        part_table(
            "comparisons_first_shown",
            "Is the one shown first chosen more often?",
            (*_GROUP, *_FIRST),
            section.first_shown,
        ),
    ]
    return [table for table in found if table.rows]


def figures(section: Comparisons) -> list[Figure]:
    """Win rates with intervals of each group, and for more than two models the matrix of who beats whom."""
    found: list[Figure] = []
    for number, pairs in enumerate(grouped(section.pairs), start=1):
        title = group_words(pairs[0])
        points = tuple(
            IntervalPoint(
                label=f"{pair.model_a} over {pair.model_b}",
                estimate=pair.win_rate_a,
                low=pair.ci_low,
                high=pair.ci_high,
            )
            for pair in pairs
            if pair.win_rate_a is not None
        )
        if points:
            found.append(
                IntervalFigure(
                    key=f"comparisons_win_rates_{number}",
                    title=f"Win rates, {title}{BY_ITSELF if len(points) > 1 else ''}",
                    x_label="win rate of the first-named model, clustered interval",
                    points=points,
                    reference=0.5,
                    share=True,
                )
            )
        strong = tuple(
            IntervalPoint(label=one.model, estimate=one.strength, low=one.strength_low, high=one.strength_high)
            for one in section.models
            if one.group == pairs[0].group and one.strength is not None
        )
        if strong:
            found.append(
                IntervalFigure(
                    key=f"comparisons_strengths_{number}",
                    title=f"Strengths, {title}",
                    x_label="log odds against the mean of the models, clustered interval",
                    points=strong,
                    reference=0.0,
                )
            )
        models = sorted({name for pair in pairs for name in (pair.model_a, pair.model_b)})
        if len(models) > 2:
            found.append(
                _matrix(f"comparisons_matrix_{number}", f"Win rate of row over column, {title}", models, pairs)
            )
    return found


def _matrix(key: str, title: str, models: Sequence[str], pairs: Sequence[ComparedPair]) -> HeatFigure:
    rates = {(pair.model_a, pair.model_b): pair.win_rate_a for pair in pairs}
    rates.update({(b, a): None if rate is None else 1 - rate for (a, b), rate in list(rates.items())})
    values = tuple(tuple(rates.get((row, column)) for column in models) for row in models)
    return HeatFigure(key=key, title=title, rows=tuple(models), columns=tuple(models), values=values, scale="share")


def grouped(parts: Iterable[P]) -> list[list[P]]:
    """Parts of each group together, in the order in which they stand."""
    found: dict[tuple[str, str, str, str], list[P]] = {}
    for part in parts:
        found.setdefault(part.group, []).append(part)
    return list(found.values())


def group_words(part: ComparedPart) -> str:
    """“preference (pw_dialog, self_chat, finished dialogues)”."""
    known = [text for text in (part.technique, part.setting, KINDS.get(part.kind, part.kind)) if text]
    return f"{part.metric} ({', '.join(known)})"


def methods(section: Comparisons) -> list[Method]:
    found = [
        Method(
            name="Win rate",
            text="Comparisons that a model won, of those that either won; ties are left out and counted beside. Where "
            "ties count half they are kept. Turns, verdicts and finished dialogues are not taken together.",
            source="Smith et al. 2022, §3.1.3 and §4.3",
        ),
        Method(
            name="Intervals and clustered p",
            text="CR1 variance of each worker's sums, Student's t with workers − 1 degrees of freedom, against one half; "
            "beside it a test that flips the signs of workers' deviations. By dialogue: two-way clustering, as each "
            "dialogue of A and of B is compared several times.",
            source="Cameron & Miller 2015; Canay, Romano & Shaikh 2017; Cameron, Gelbach & Miller 2011",
        ),
        Method(
            name="Binomial p",
            text="The paper's two-sided exact test of the decided comparisons; takes all as independent.",
            source="Smith et al. 2022, App. C.7",
        ),
        Method(
            name="Holm",
            text="Corrected for all pairs of models that were compared under the same metric.",
            source="Holm 1979",
        ),
    ]
    if any(model.strength is not None for model in section.models):
        found.append(
            Method(
                name="Strength",
                text="Log odds of a model to be chosen over an average one, estimated from all pairs at once, with ties "
                "and with the advantage of the one shown first where that is known; 0 is the mean of the models.",
                source="Bradley & Terry 1952; Rao & Kupper 1967",
            )
        )
    return found
