"""Spot The Bot: who wins a segment, and ranks over resamples of the segments (Deriu et al. 2020, §3.2)."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval.analysis.columns import TableError
from parlai_humaneval.analysis.declared_judged import LABELS
from parlai_humaneval.analysis.ranks import Ints, ranks_of
from parlai_humaneval.analysis.skill_batch import rate_two_player
from parlai_humaneval.analysis.skill_update import SkillModel
from parlai_humaneval.analysis.table_rows import TIE
from parlai_humaneval.protocol.judgements import HUMAN

SEGMENT = ("dialogue_id", "worker_id", "k")
"""What makes two rows of speakers one judged segment."""
GOODNESS = {label: place for place, label in enumerate(reversed(LABELS))}
"""human > unsure > bot."""
MOST_STEPS = 12_000_000
"""Matches over all resamples that a ranking may take; with more, fewer resamples are drawn, but never below 200."""

Unit = Literal["segment", "worker"]


def label_winner(first: str, second: str) -> int:
    """1 where the first label is the better one, −1 where the second is, 0 for a tie: human > unsure > bot.

    Raises:
        ValueError: an unknown label.

    Source: Deriu et al. 2020, §3.2.
    """
    for label in (first, second):
        if label not in GOODNESS:
            raise ValueError(f"unknown label {label!r}: expected {', '.join(LABELS[:-1])} or {LABELS[-1]}.")
    return (GOODNESS[first] > GOODNESS[second]) - (GOODNESS[first] < GOODNESS[second])


def judged_segments(rows: pd.DataFrame) -> pd.DataFrame:
    """A row for each judged segment of which both speakers were labelled.

    Args:
        rows: the table ``segments``.

    Returns:
        Columns ``dialogue_id``, ``worker_id``, ``k``, ``seconds``, the speakers ``model_0`` and ``model_1``, and
        ``lead``: 1 where speaker 0 got the better label, −1 where speaker 1 did, 0 for a tie.

    Raises:
        TableError: speaker 0 is not the opponent that speaker 1 is said to have.
    """
    columns = [*SEGMENT, "model", "opponent", "label", "seconds"]
    first, second = (rows.loc[(rows["entity"] == entity).to_numpy(dtype=bool), columns] for entity in (0, 1))
    both = first.merge(second, on=list(SEGMENT), suffixes=("_0", "_1"))
    wrong = ((both["model_0"] != both["opponent_1"]) | (both["model_1"] != both["opponent_0"])).to_numpy(dtype=bool)
    if wrong.any():
        bad = both[wrong].iloc[0]
        raise TableError(
            f"segments: dialogue {bad['dialogue_id']!r}, worker {bad['worker_id']!r}, k {bad['k']}: speakers 0 and 1 "
            f"are {bad['model_0']!r} and {bad['model_1']!r}, but name {bad['opponent_0']!r} and {bad['opponent_1']!r} as "
            "opponents. Each must name the other."
        )
    goodness = [both[f"label_{entity}"].map(GOODNESS).to_numpy(dtype=np.int64) for entity in (0, 1)]
    seconds = both["seconds_0"].fillna(both["seconds_1"])
    segments: pd.DataFrame = both[[*SEGMENT, "model_0", "model_1"]].assign(
        seconds=seconds, lead=np.sign(goodness[0] - goodness[1])
    )
    return segments


def bot_contests(segments: pd.DataFrame) -> pd.DataFrame:
    """The segments of two different bots, with ``model_a`` < ``model_b`` by name, and ``winner`` (a name, or tie).

    People win against nobody, and a self-chat says nothing of others.
    """
    one, two = segments["model_0"], segments["model_1"]
    counted = ((one != two) & (one != HUMAN) & (two != HUMAN)).to_numpy(dtype=bool)
    own = segments[counted]
    first = (own["model_0"] < own["model_1"]).to_numpy(dtype=bool)
    lead = own["lead"].to_numpy(dtype=np.int64)
    winner = np.where(lead > 0, own["model_0"], own["model_1"]).astype(object)
    winner[lead == 0] = TIE
    contests: pd.DataFrame = own.assign(
        model_a=np.where(first, own["model_0"], own["model_1"]),
        model_b=np.where(first, own["model_1"], own["model_0"]),
        lead_a=np.where(first, lead, -lead),
        winner=winner,
    )
    return contests


def bootstrap_ranks(
    contests: pd.DataFrame, models: list[str], *, unit: Unit = "segment", draws: int = 1_000, seed: int = 0
) -> Ints:
    """Ranks by TrueSkill's μ over resamples of the contests, each of the data's own size and in random order.

    Bots do not learn while they are judged: skills do not drift (τ = 0), as in the authors' program. With drift the last
    hundred segments would decide, and rank ranges would never narrow, however many segments there are. Ties are played
    as draws, with their share of the data as the chance of one.

    Args:
        contests: rows of :func:`bot_contests`.
        models: whose ranks are wanted, those of ``contests`` at least.
        unit: what is drawn: single segments, as the paper does, or workers with all their segments.
        draws: resamples; fewer where there are very many segments (``MOST_STEPS``).
        seed: of the resamples.

    Returns:
        Resamples × models, best 1; no resamples where nothing was decided.

    Raises:
        ValueError: a model of ``contests`` is missing from ``models``.
    """
    place = {name: number for number, name in enumerate(models)}
    unknown = sorted({*contests["model_a"], *contests["model_b"]} - set(place))
    if unknown:
        raise ValueError(f"models lacks {', '.join(unknown)}, which played.")
    lead = contests["lead_a"].to_numpy(dtype=np.int64)
    n = lead.size
    if not lead.any():
        return np.zeros((0, len(models)), dtype=np.int64)
    size = min(draws, max(200, MOST_STEPS // n))
    rng = np.random.default_rng(seed)
    orders = rng.integers(0, n, (size, n)) if unit == "segment" else _workers(contests["worker_id"], size, rng)
    ties = float(np.clip((lead == 0).mean(), 0.01, 0.99))
    first, second = (contests[name].map(place).to_numpy(dtype=np.int64) for name in ("model_a", "model_b"))
    mu, _ = rate_two_player(first, second, lead, len(models), orders=orders, model=SkillModel(tau=0.0, draw=ties))
    return ranks_of(mu)


def _workers(workers: pd.Series[str], draws: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Orders in which as many workers as there are, drawn with replacement, bring all their segments.

    Cut to the number of segments; where the drawn workers have fewer, they begin again with the first.
    """
    codes, names = pd.factorize(workers.to_numpy(dtype=object))
    groups, n = len(names), codes.size
    by_worker = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes, minlength=groups)
    starts = np.cumsum(sizes) - sizes
    drawn = rng.integers(0, groups, (draws, groups))
    ends = np.cumsum(sizes[drawn], axis=1)
    places = np.arange(n)[None, :] % ends[:, -1:]
    # One sorted list of all replicates' ends, each replicate moved beyond the one before, so that one search does.
    beyond = np.arange(draws)[:, None] * (int(ends.max()) + 1)
    which = np.searchsorted((ends + beyond).ravel(), (places + beyond).ravel(), side="right").reshape(draws, n)
    pick, end = drawn.ravel()[which], ends.ravel()[which]
    orders: npt.NDArray[np.int64] = by_worker[starts[pick] + places - (end - sizes[pick])]
    return rng.permuted(orders, axis=1)
