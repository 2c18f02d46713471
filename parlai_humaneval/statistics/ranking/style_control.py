"""Leads at equal length, format and position: strengths next to effects of style, as in Chatbot Arena.

Li, Angelopoulos & Chiang (2024) add to the logistic regression of Bradley and Terry, for each countable mark of style, the
difference of the two replies divided by their sum. Here it is scaled by its root mean square, the standard deviation of
sides that are drawn at random, and not centred: a lead at equal style is that between two replies of the same style.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import expit

from parlai_humaneval._util.arrays import Flags, Floats
from parlai_humaneval.statistics.core.clustered import MIN_CLUSTERS
from parlai_humaneval.statistics.core.multiplicity import ALPHA, NO_FAMILY, Family, corrected, corrected_fields
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.rows import FAMILY, Column, Count, Estimate, Key, Row, interval_keys, p_columns
from parlai_humaneval.statistics.preference.paired_answers import STYLE
from parlai_humaneval.statistics.ranking.bradley_terry import ASSUMPTIONS, Comparisons, maximised
from parlai_humaneval.statistics.ranking.fit import Asked, Fitted, Inference, linked_models

SOURCE = "Li, Angelopoulos & Chiang 2024, Does style matter?; Bradley & Terry 1952; ties: Rao & Kupper 1967"
ADDITIVE = "effects of {} on the log odds are the same for all models, and unrelated to anything else that raters see"
FIRST = "shown first"
FEWEST = 20
"""A mark of style in which fewer comparisons differ is left out: its effect would be a guess, or without bound."""
TWICE = 1 / 3
"""The relative difference of two replies of which one has twice as much of something."""
LINKED, SEPARATED, FEW = "linked", "separated", "few"
"""Why there is nothing: no two models each won; length or models decide all, or lengths are alike; too few raters."""


class StylePair(Row):
    """Two models: how often the first is chosen over the second, as it was and at equal style.

    ``before``, ``after``: log odds, after Holm's correction over the pairs, and so ``change``, before − after in the same
    comparisons. ``words_a``, ``words_b``: mean words of a reply.
    """

    model_a: Annotated[str, Column()]
    model_b: Annotated[str, Column()]
    after: Annotated[
        Result,
        Estimate("A over B, at equal style", "share", name="chance_after", of="chance_after"),
        Key(name="log_odds_after", path="estimate"),
        p_columns("p_value", "p_after", "p, at equal style", "p, at equal style, Holm"),
        FAMILY,
    ]
    before: Annotated[
        Result,
        Estimate("A over B, as rated", "share", name="chance_before", of="chance_before"),
        Key(name="log_odds_before", path="estimate"),
        p_columns("p_value", "p_before", "p, as rated", "p, as rated, Holm"),
    ]
    change: Annotated[
        Result,
        interval_keys("log_odds_change", "log_odds_change"),
        p_columns("p_value", "p_change", "p, change", "p, change, Holm"),
    ]
    n: Count
    words_a: Annotated[float, Column("Words, A", "tenths")]
    words_b: Annotated[float, Column("Words, B", "tenths")]

    @property
    def chance_before(self) -> Result:
        return as_chance(self.before)

    @property
    def chance_after(self) -> Result:
        return as_chance(self.after)

    @property
    def changed(self) -> bool:
        """Whether style takes something from the lead, or adds to it: by the test, and as intervals read."""
        low, before, high = self.after.ci_low, self.before.estimate or 0.0, self.after.ci_high
        held = low is None or high is None or low <= before <= high
        return _is_significant(self.change) and not held

    @property
    def became(self) -> str:
        """The fate of the lead: kept, gone, turned or shown (only at equal style); none if there never was one.

        "cannot tell": there is none at equal style, and no change either, as style goes with the model or answers are few.
        """
        led, leads = _is_significant(self.before), _is_significant(self.after)
        before, after = self.before.estimate or 0.0, self.after.estimate or 0.0
        if led and leads:
            return "kept" if before * after > 0 else "turned"
        if led:
            return "gone" if self.changed and before * (before - after) > 0 else "cannot tell"
        return "shown" if leads else "none"


def _is_significant(result: Result) -> bool:
    return result.p_decides is not None and result.p_decides < ALPHA


class StyleEffect(Row):
    """How strongly ``feature`` is associated with being chosen: words, list items, headers, bold, or position.

    ``effect``: log odds for a difference of one root mean square (``scale``); of the first, for being shown so.
    ``double``: how often a reply with twice as much of it (or shown first) is chosen over one that is equal in all else.
    ``differing``: comparisons in which the two replies differ in it.
    """

    feature: Annotated[str, Column("Feature")]
    differing: Annotated[int, Column("Differ in it")]
    scale: float
    double: Annotated[Result, Estimate("Chosen over an equal reply", "share")]
    effect: Annotated[Result, Estimate("Log odds per SD"), p_columns("p_value", "p_value", "p", "p, Holm", "p_decides")]


@dataclass(frozen=True)
class StyleControl:
    """``pairs`` that were compared and ``effects`` of style; both empty where there is a reason ``why`` not.

    ``left_out``: marks → why: "unknown" (place), "few" replies differ, or they go with "winning" or are "confounded".
    ``n``, ``n_workers``: comparisons and raters used.
    """

    pairs: list[StylePair]
    effects: list[StyleEffect]
    left_out: Mapping[str, str]
    n: int
    n_workers: int
    why: str = ""


def as_chance(result: Result, by: float = 1.0) -> Result:
    """Log odds (times ``by``) as the share of wins that they mean."""
    ends = {name: getattr(result, name) for name in ("estimate", "ci_low", "ci_high")}
    return result.but(**{name: None if end is None else float(expit(end * by)) for name, end in ends.items()})


def relative_differences(first: npt.ArrayLike, second: npt.ArrayLike) -> Floats:
    """(a − b) / (a + b) of counts, 0 where both are 0: 1/3 where there is twice as much of it in the first.

    >>> relative_differences([40, 0, 0], [20, 0, 5]).round(3).tolist()
    [0.333, 0.0, -1.0]
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    return np.asarray((a - b) / np.where(a + b == 0, 1.0, a + b))


def style_control(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    outcome: npt.ArrayLike,
    clusters: npt.ArrayLike,
    styles: tuple[npt.ArrayLike, npt.ArrayLike],
    *,
    names: Sequence[str] = STYLE,
    first_shown: npt.ArrayLike | None = None,
    dialogues: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    family: Family = NO_FAMILY,
    level: float = 0.95,
) -> StyleControl:
    """Every pair's lead as it was rated and at equal style, and the effects of style.

    Args:
        first, second: per comparison, the names of the two models.
        outcome: 1 the first won, 0 a tie, −1 the second won.
        clusters: per comparison, who judged.
        styles: of the first and of the second reply, comparisons × ``names``, counts of 0 or more.
        names: of the counts; the first is the length.
        first_shown: 1 the first was shown first, 0 the second was, nan not known. None: never known.
        dialogues: as of :func:`.bradley_terry`, where several raters judged the same.
        family: of Holm's correction over the pairs.
        level: coverage of the intervals.

    Raises:
        ValueError: lists of unequal length, a missing value, a model against itself, or one model only.

    ``after`` of a pair is its lead between two replies of equal style. Where it is near 0 and ``change`` is significant,
    style goes with the lead; it need not be its cause: what makes a reply long may also make it better.

    Assumes that style adds to the log odds for every model alike, and that raters are independent. Source: ``SOURCE``.

    >>> rng = np.random.default_rng(0)
    >>> words = rng.integers(10, 60, (400, 2)) * [2, 1]
    >>> longer = np.where(rng.random(400) < expit(3 * relative_differences(*words.T)), 1, -1)
    >>> raters = np.repeat(np.arange(40), 10)
    >>> found = style_control(['a'] * 400, ['b'] * 400, longer, raters, (words[:, :1], words[:, 1:]), names=['words'])
    >>> (pair,) = found.pairs
    >>> pair.became, round(pair.chance_before.estimate, 2), round(pair.chance_after.estimate, 2)
    ('gone', 0.7, 0.54)
    """
    comparisons = Comparisons.of(first, second, outcome, clusters, None, dialogues)
    counts = [np.asarray(side, dtype=float).reshape(len(comparisons.won), -1) for side in styles]
    if any(side.shape[1] != len(names) or not np.isfinite(side).all() or (side < 0).any() for side in counts):
        raise ValueError(f"styles need a count of 0 or more for each of {', '.join(names)} in every comparison")
    over = np.zeros((len(comparisons.names),) * 2)
    np.add.at(over, (comparisons.ones[comparisons.won >= 0], comparisons.twos[comparisons.won >= 0]), 1)
    np.add.at(over, (comparisons.twos[comparisons.won <= 0], comparisons.ones[comparisons.won <= 0]), 1)
    known = linked_models(over)
    keep, own = comparisons.among(known)
    workers = len(pd.unique(own.owners))
    if not known or not own.won.any():
        return StyleControl([], [], {}, len(comparisons.won), workers, LINKED)
    counts = [side[keep] for side in counts]
    places = np.zeros(len(own.won)) if first_shown is None else np.asarray(first_shown, dtype=float)[keep] * 2 - 1
    table = np.column_stack([relative_differences(*counts), np.nan_to_num(places)])
    differing = (table != 0).sum(axis=0)
    scales = np.append(np.sqrt((table[:, :-1] ** 2).mean(axis=0)), 1.0)
    # Marks in which enough replies differ, without those that go with models and earlier ones without exception.
    models = np.eye(len(own.names))
    design, marks = models[own.ones] - models[own.twos], list[int]()
    rank = np.linalg.matrix_rank(design)
    for place in np.flatnonzero(differing >= FEWEST).tolist():
        wider = np.column_stack([design, table[:, place]])
        if np.linalg.matrix_rank(wider) > rank:
            design, rank = wider, rank + 1
            marks.append(place)
    found = StyleControl([], [], {}, len(own.won), workers)
    if workers < MIN_CLUSTERS or workers <= len(known) - 1 + len(marks) + bool((own.won == 0).any()):
        return replace(found, why=FEW)
    plain = maximised(own, known, slots=False)
    # A rare mark may go with winning without exception: then only length and place are taken out.
    for used in (marks, [mark for mark in marks if mark in (0, len(names))]):
        styled = maximised(own, known, slots=False, covariates=table[:, used])
        if styled is not None:
            break
    features = [*names, FIRST]
    whys = ["few" if n < FEWEST else "winning" if mark in marks else "confounded" for mark, n in enumerate(differing)]
    whys[-1] = whys[-1] if differing[-1] else "unknown"
    found = replace(found, left_out={features[mark]: why for mark, why in enumerate(whys) if mark not in used})
    if plain is None or styled is None or 0 not in used:
        return replace(found, why=SEPARATED)
    assumptions = (*ASSUMPTIONS, ADDITIVE.format(", ".join(features[mark] for mark in used)))
    asked = Asked(own.names, over, "Bradley–Terry with style", assumptions, SOURCE, level, "worker")
    before, after = Inference(plain[0], asked), Inference(styled[0], asked)
    effects = [
        after.effect(f"effect of {features[mark]}", row * scales[mark])
        for mark, row in zip(used, after.fit.blocks["covariates"], strict=True)
    ]
    rows = [
        StyleEffect(
            feature=features[mark],
            differing=int(differing[mark]),
            scale=float(scales[mark]),
            double=as_chance(effect, 1.0 if mark == len(names) else TWICE / float(scales[mark])),
            effect=effect,
        )
        for mark, effect in zip(used, corrected(effects), strict=True)
    ]
    fits = before, after, Inference(_change_of(plain[0], styled[0]), asked)
    pairs: list[StylePair] = []
    for one, two in combinations(range(len(own.names)), 2):
        met = ((own.ones == one) & (own.twos == two)) | ((own.ones == two) & (own.twos == one))
        if met.any():
            pairs.append(_pair(own, counts, met, one, two, fits))
    return replace(found, pairs=corrected_fields(pairs, family, "before", "after", "change"), effects=rows)


def _change_of(plain: Fitted, styled: Fitted) -> Fitted:
    """Both fits of the same comparisons as one, whose strengths are those of the first less those of the second."""
    from scipy.linalg import block_diag

    judged = plain.judged
    if judged and styled.judged:
        judged = replace(judged, influence=np.vstack([judged.influence, styled.judged.influence]))
    return replace(
        plain,
        parameters=np.concatenate([plain.parameters, styled.parameters]),
        information=block_diag(plain.information, styled.information),
        cluster_scores=np.hstack([plain.cluster_scores, styled.cluster_scores]),
        blocks={"models": np.hstack([plain.blocks["models"], -styled.blocks["models"]])},
        judged=judged,
    )


def _pair(
    own: Comparisons, counts: Sequence[Floats], met: Flags, one: int, two: int, fits: Sequence[Inference]
) -> StylePair:
    contrast = np.eye(len(own.names))[one] - np.eye(len(own.names))[two]
    name, of_first = f"{own.names[one]} over {own.names[two]}", own.ones[met] == one
    lengths = [side[met, 0] for side in counts]
    words = [np.where(of_first, *sides).mean() for sides in (lengths, lengths[::-1])]
    return StylePair(
        model_a=own.names[one],
        model_b=own.names[two],
        n=int(met.sum()),
        words_a=float(words[0]),
        words_b=float(words[1]),
        before=fits[0].of_models(name, contrast),
        after=fits[1].of_models(name, contrast),
        change=fits[2].of_models(f"{name}, change at equal style", contrast),
    )
