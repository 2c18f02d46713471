"""Spot The Bot: wins of segments, the bot that wins more often in each pair, ranks over resamples, and how many
dialogues of each pair a stable ranking needs (Deriu et al. 2020, §3.2 and §5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval._util.arrays import Floats, Ints
from parlai_humaneval.statistics.core.clustered import with_dispersion
from parlai_humaneval.statistics.core.multiplicity import Family, corrected_fields, with_once_each
from parlai_humaneval.statistics.core.ranks import ranks_of
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.rows import Part
from parlai_humaneval.statistics.core.two_way import crossed_share
from parlai_humaneval.statistics.preference.tests import goodness_of_fit_test
from parlai_humaneval.statistics.ranking.trueskill import SkillModel, rate_two_player
from parlai_humaneval.tables.columns import TableError, check_unique
from parlai_humaneval.tables.files import dialogue_ids
from parlai_humaneval.tables.schema import HUMAN, LABELS, TIE

SEGMENT = ("dialogue_id", "worker_id", "judgement_id", "k")  # What makes two rows of speakers one judged segment
GOODNESS = {label: place for place, label in enumerate(reversed(LABELS))}  # human > unsure > bot
MOST_MATCHES = 6_000
"""TrueSkill goes from match to match; with more of them strengths are fitted to the counts of each pair."""
_STEPS = 2_000_000  # Matches over all resamples that TrueSkill may take; with more, fewer resamples are drawn

Unit = Literal["segment", "worker"]
LEAST = 3  # Fewest dialogues of a pair that are tried, as in the paper


def win_by_label(first: str, second: str) -> int:
    """1 where the first label is the better one, −1 where the second is, 0 for a tie: human > unsure > bot."""
    for label in (first, second):
        if label not in GOODNESS:
            raise ValueError(f"unknown label {label!r}: expected {', '.join(LABELS[:-1])} or {LABELS[-1]}.")
    return (GOODNESS[first] > GOODNESS[second]) - (GOODNESS[first] < GOODNESS[second])


def spot_the_bot_segments(rows: pd.DataFrame) -> pd.DataFrame:
    """A row for each judged segment of which both speakers were labelled."""
    check_unique("segments", rows)  # a repeated row would meet itself below
    columns = [*SEGMENT, "answer_number", "model", "opponent", "label", "seconds"]
    first, second = (rows.loc[(rows["entity"] == entity).to_numpy(dtype=bool), columns] for entity in (0, 1))
    both = first.merge(second, on=[*SEGMENT, "answer_number"], suffixes=("_0", "_1"))
    wrong = ((both["model_0"] != both["opponent_1"]) | (both["model_1"] != both["opponent_0"])).to_numpy(dtype=bool)
    if wrong.any():
        bad = both[wrong].iloc[0]
        raise TableError(
            f"dialogue {bad['dialogue_id']!r}, rater {bad['worker_id']!r}, k {bad['k']}: speakers 0 and 1 "
            f"are {bad['model_0']!r} and {bad['model_1']!r}, but name {bad['opponent_0']!r} and "
            f"{bad['opponent_1']!r} as opponents, where each must name the other",
            where="segments",
        )
    goodness = [both[f"label_{entity}"].map(GOODNESS).to_numpy(dtype=np.int64) for entity in (0, 1)]
    seconds = both["seconds_0"].fillna(both["seconds_1"])
    lead = np.sign(goodness[0] - goodness[1])
    return both[[*SEGMENT, "model_0", "model_1"]].assign(dialogue_id=dialogue_ids(both), seconds=seconds, lead=lead)


def bot_contests(segments: pd.DataFrame) -> pd.DataFrame:
    """The segments of two different bots, with ``model_a`` < ``model_b`` by name, and ``winner`` (a name, or tie)."""
    speaker_0, speaker_1 = segments["model_0"], segments["model_1"]
    counted = ((speaker_0 != speaker_1) & (speaker_0 != HUMAN) & (speaker_1 != HUMAN)).to_numpy(dtype=bool)
    between_bots = segments[counted]
    first = (between_bots["model_0"] < between_bots["model_1"]).to_numpy(dtype=bool)
    lead = between_bots["lead"].to_numpy(dtype=np.int64)
    winner = np.where(lead > 0, between_bots["model_0"], between_bots["model_1"]).astype(object)
    winner[lead == 0] = TIE
    return between_bots.assign(
        model_a=np.where(first, between_bots["model_0"], between_bots["model_1"]),
        model_b=np.where(first, between_bots["model_1"], between_bots["model_0"]),
        lead_a=np.where(first, lead, -lead),
        winner=winner,
    )


def equal_weights(opponents: npt.ArrayLike, decided: npt.ArrayLike) -> Floats:
    """Weights of a bot's segments under which its share of wins is the mean over opponents of the win rates (Eq. 1)."""
    counts = np.asarray(decided, dtype=float)
    codes, names = pd.factorize(np.asarray(opponents, dtype=object))
    sizes = np.bincount(codes, weights=counts, minlength=len(names))
    met = np.count_nonzero(sizes)
    if not met:
        return np.zeros_like(counts)
    share_of_each = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    return np.asarray(counts * share_of_each[codes] * counts.sum() / met)


def bootstrap_ranks(
    contests: pd.DataFrame, models: list[str], *, unit: Unit = "segment", draws: int = 1_000, seed: int = 0
) -> Ints:
    """Ranks by TrueSkill's μ over resamples of the contests, each of the data's own size and in random order."""
    place = {name: number for number, name in enumerate(models)}
    unknown = sorted({*contests["model_a"], *contests["model_b"]} - set(place))
    if unknown:
        raise ValueError(f"models lacks {', '.join(unknown)}, which played.")
    first, second = (np.asarray(contests[name].map(place), dtype=np.int64) for name in ("model_a", "model_b"))
    lead = contests["lead_a"].to_numpy(dtype=np.int64)
    workers, _ = pd.factorize(contests["worker_id"].to_numpy(dtype=object))
    rng = np.random.default_rng(seed)
    n = lead.size
    if not lead.any():
        return np.zeros((0, len(models)), dtype=np.int64)
    if n > MOST_MATCHES:
        points = _drawn_points(first, second, lead, None if unit == "segment" else workers, len(models), draws, rng)
        return ranks_of(np.round(bradley_terry_strengths(points), 9))
    size = min(draws, _STEPS // n)
    orders = rng.integers(0, n, (size, n)) if unit == "segment" else _workers(workers, size, rng)
    ties = float(np.clip((lead == 0).mean(), 0.01, 0.99))
    mu, _ = rate_two_player(first, second, lead, len(models), orders=orders, model=SkillModel(tau=0.0, draw=ties))
    return ranks_of(mu)


def _drawn_points(
    first: Ints, second: Ints, lead: Ints, workers: Ints | None, size: int, draws: int, rng: np.random.Generator
) -> Floats:
    """Points of row against column in each resample (… × models × models): a win is one, a tie half a point."""
    cells = 3 * (first * size + second) + lead + 1
    if workers is None:
        counts = np.bincount(cells, minlength=3 * size * size)
        drawn = rng.multinomial(lead.size, counts / lead.size, size=draws).astype(float)
    else:
        groups = int(workers.max()) + 1
        sums = np.bincount(workers * 3 * size * size + cells, minlength=groups * 3 * size * size)
        weights = rng.multinomial(groups, np.full(groups, 1 / groups), size=draws).astype(float)
        drawn = weights @ sums.reshape(groups, -1).astype(float)
    lost, tied, won = np.moveaxis(drawn.reshape(draws, size, size, 3), -1, 0)
    return won + tied / 2 + np.swapaxes(lost + tied / 2, 1, 2)


def bradley_terry_strengths(points: Floats) -> Floats:
    """Log strengths (… × models, mean 0) from the points of row against column (… × models × models), by Newton's
    steps."""
    met = points + np.swapaxes(points, -1, -2)
    won = np.where(met > 0, points + 0.5, 0.0).sum(axis=-1)
    both = np.where(met > 0, met + 1.0, 0.0)
    size = points.shape[-1]
    strengths: Floats = np.zeros(points.shape[:-1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(strengths[..., None, :] - strengths[..., :, None]))
        spread = both * chance * (1 - chance)
        information = np.eye(size) * spread.sum(axis=-1)[..., None] - spread
        # Only differences are known: the ones hold the mean at 0, the ridge those who met nobody.
        change = np.linalg.solve(
            information + 1.0 + 1e-6 * np.eye(size), (won - (both * chance).sum(axis=-1))[..., None]
        )[..., 0]
        strengths = strengths + np.clip(change, -1.0, 1.0)
        if np.abs(change).max(initial=0.0) < 1e-10:
            break
    return strengths


def _workers(codes: Ints, draws: int, rng: np.random.Generator) -> Ints:
    """Orders in which as many workers as there are, drawn with replacement, bring all their segments."""
    groups, n = int(codes.max()) + 1, codes.size
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
    orders: Ints = by_worker[starts[pick] + places - (end - sizes[pick])]
    return rng.permuted(orders, axis=1)


class StabilityCurve(Part):
    """Share of subsamples with the most frequent ranking (``stability``) and with that of all data (``as_all``).

    ``dialogues``: of each pair of bots; ``left_out``: the bot taken out of the pool, empty: none.
    """

    left_out: str
    dialogues: list[int]
    stability: list[float]
    as_all: list[float]


def ranking_stability(
    contests: pd.DataFrame, models: Sequence[str], *, points: int = 15, draws: int = 500, seed: int = 0
) -> list[StabilityCurve]:
    """Stability of the ranking for the whole pool, and for the pool without each bot in turn."""
    if contests.empty:
        return []
    pairs, wins, losses, sizes = _pairs(contests, {name: place for place, name in enumerate(models)})
    most = int(sizes.max())
    numbers = np.unique(np.linspace(min(LEAST, most), most, points).round().astype(int))
    rng = np.random.default_rng(seed)
    won = np.zeros((draws, len(numbers), len(pairs)))
    lost = np.zeros_like(won)
    for pair, (own_wins, own_losses) in enumerate(zip(wins, losses, strict=True)):
        order = np.argsort(rng.random((draws, own_wins.size)), axis=1)
        last = np.minimum(numbers, own_wins.size) - 1
        won[:, :, pair] = np.cumsum(own_wins[order], axis=1)[:, last]
        lost[:, :, pair] = np.cumsum(own_losses[order], axis=1)[:, last]
    rates = np.full(won.shape, 0.5)
    np.divide(won, won + lost, out=rates, where=won + lost > 0)
    pools = [None, *range(len(models))] if len(models) > 2 else [None]
    met = [left_out for left_out in pools if left_out is None or (pairs != left_out).all(axis=1).any()]
    return [_curve(pairs, rates, models, left_out, numbers) for left_out in met]


def _pairs(contests: pd.DataFrame, place: dict[str, int]) -> tuple[Ints, list[Floats], list[Floats], Ints]:
    lead = contests["lead_a"].to_numpy(dtype=np.int64)
    counts = (
        contests.assign(won=lead > 0, lost=lead < 0)
        .groupby(["model_a", "model_b", "dialogue_id"], sort=True)[["won", "lost"]]
        .sum()
    )
    of_pairs = [
        ((place[str(a)], place[str(b)]), judged["won"].to_numpy(dtype=float), judged["lost"].to_numpy(dtype=float))
        for (a, b), judged in counts.groupby(level=[0, 1], sort=True)
    ]
    pairs = np.array([pair for pair, _, _ in of_pairs], dtype=np.int64)
    sizes = np.array([won.size for _, won, _ in of_pairs], dtype=np.int64)
    return pairs, [won for _, won, _ in of_pairs], [lost for _, _, lost in of_pairs], sizes


def _curve(pairs: Ints, rates: Floats, models: Sequence[str], left_out: int | None, numbers: Ints) -> StabilityCurve:
    kept = np.ones(len(pairs), dtype=bool) if left_out is None else (pairs != left_out).all(axis=1)
    size = len(models)
    first, second = np.eye(size)[pairs[kept, 0]], np.eye(size)[pairs[kept, 1]]
    opponents = (first + second).sum(axis=0)
    sums = rates[:, :, kept] @ first + (1 - rates[:, :, kept]) @ second
    playing = opponents > 0
    # Rounded, so that equal means of sums in another order stay equal.
    means = np.round(sums[:, :, playing] / opponents[playing], 9)
    draws, points, bots = means.shape
    ranks = ranks_of(means.reshape(-1, bots)).reshape(draws, points, bots)
    stability, as_all = [], []
    for point in range(points):
        _, which = np.unique(ranks[:, point], axis=0, return_inverse=True)
        stability.append(float(np.bincount(np.asarray(which).ravel()).max() / draws))
        as_all.append(float((ranks[:, point] == ranks[0, -1]).all(axis=1).mean()))
    return StabilityCurve(
        left_out="" if left_out is None else models[left_out],
        dialogues=[int(number) for number in numbers],
        stability=stability,
        as_all=as_all,
    )


@dataclass(frozen=True)
class ContestWins:
    """Two bots, the segments in which they talk to each other, A's win rate of those that were decided, and χ²
    (``paper``)."""

    model_a: str
    model_b: str
    rows: pd.DataFrame
    wins: int
    losses: int
    win_rate: Result
    paper: Result


def contest_wins(contests: pd.DataFrame, family: Family, *, level: float = 0.95) -> list[ContestWins]:
    """Every pair of bots that met, by name; ``contests`` are those of :func:`bot_contests`."""
    pairs: list[ContestWins] = []
    for (model_a, model_b), met in contests.groupby(["model_a", "model_b"], sort=True):
        lead = met["lead_a"].to_numpy(dtype=np.int64)
        wins, losses = (int((lead == sign).sum()) for sign in (1, -1))
        name = f"win rate of {model_a} over {model_b}"
        rate = with_once_each(contest_share, lead > 0, lead != 0, met, name=name, level=level)
        rate = with_dispersion(rate, np.where(lead == 0, np.nan, lead > 0), met["worker_id"])
        paper = goodness_of_fit_test([wins, losses], name=rate.name)
        pairs.append(ContestWins(str(model_a), str(model_b), met, wins, losses, rate, paper))
    return corrected_fields(pairs, family, "win_rate", "paper")


def contest_share(
    given: npt.ArrayLike, of: npt.ArrayLike, rows: pd.DataFrame, *, name: str, level: float = 0.95, once: bool = False
) -> Result:
    """A share tested against one half, clustered by rater, and by dialogue where several workers judged the same."""
    workers, dialogues = (ids.to_numpy(dtype=object) for ids in (rows["worker_id"], dialogue_ids(rows)))
    return crossed_share(given, of, workers, [dialogues], name=name, level=level, once=once)
