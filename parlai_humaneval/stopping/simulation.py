"""Made-up crowds that rate made-up models: how often a rule claims something false, and how many dialogues it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, expit, ndtr

from parlai_humaneval._util.arrays import Flags, Floats, Ints
from parlai_humaneval.stopping.batch import Studies, drawn_pairs
from parlai_humaneval.stopping.evidence import pairs_of
from parlai_humaneval.stopping.rule import IN_FLIGHT, StoppingRule

_STEPS = 256
"""Steps in which the distribution of workers' chances is tabled."""
_HELD = 300
"""With more workers in memory, those who are evidence already are dropped."""


@dataclass(frozen=True)
class Crowd:
    """How raters are, who come one after the other.

    Attributes:
        turns: of a dialogue, each of which one of two models wins, if it is no tie.
        icc: how alike the turns are that a worker judges of one pair. Workers like models: who prefers A to B and B to C
            more than others do also prefers A to C.
        dialogues: of a worker, as a mean.
        heavy_tail: standard deviation of the logarithm of that number; 0: all give equally many.
        most: the largest number of dialogues of a worker.
        leave: chance of leaving, before each dialogue but the first.
        quit: chance of leaving before each turn but the very first one.
        quit_by_taste: by how much the logarithm of that chance is lower for somebody who likes the first model of the pair
            more than others do, by one standard deviation.
        quit_by_choice: by how much it is higher after a turn that the first model won, and lower after one that it lost.
        haste: by how much faster (in the logarithm of seconds) somebody is who likes the first model more than others do, by
            one standard deviation.
        in_flight: raters at a time.
        ties: share of turns that neither model wins, the same with all raters; they count half for each.
    """

    turns: int = 6
    icc: float = 0.05
    dialogues: float = 1.0
    heavy_tail: float = 0.0
    most: int = 12
    leave: float = 0.0
    quit: float = 0.0
    quit_by_taste: float = 0.0
    quit_by_choice: float = 0.0
    haste: float = 0.0
    in_flight: int = IN_FLIGHT
    ties: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.icc < 1 - self.ties:
            raise ValueError(
                f"an ICC of {self.icc:g} and a share of ties of {self.ties:g}: turns that are no tie cannot be so much alike"
            )

        if not 0 <= self.quit < 1:
            raise ValueError(f"a chance of {self.quit:g} of leaving before a turn: give one from 0, below 1")

    def share_variance(self, rate: float = 0.5) -> float:
        """Variance of the share of turns of a dialogue that is won at this mean rate."""
        return (rate * (1 - rate) - self.ties / 4) * (self.icc + (1 - self.icc) / self.turns)

    def design_effect(self) -> float:
        """By how much more dialogues a fixed plan needs whose workers each judge one pair: 1 + (m − 1)·likeness of two."""
        likeness = self.icc / (self.icc + (1 - self.icc) / self.turns)
        return 1 + (self.dialogues - 1) * likeness


def win_rates(strengths: npt.ArrayLike) -> Floats:
    """Models × models; how often the row's model wins against the column's, after Bradley and Terry."""
    theta = np.asarray(strengths, dtype=float)
    return np.asarray(expit(theta[:, None] - theta[None, :]), dtype=float)


@dataclass(frozen=True)
class Simulated:
    """What became of each study: arrays with the studies as first axis.

    Attributes:
        dialogues: that were begun, with those in flight when the answer was reached.
        folded: of these, the ones that were evidence.
        better, equal: claims, as in :class:`~parlai_humaneval.stopping.batch.Decisions`.
        decided: whether every pair was, below the cap.
    """

    dialogues: Ints
    folded: Floats
    better: Flags
    equal: Flags
    decided: Flags

    def false_claims(self, rates: Floats, margin: float) -> Flags:
        """Studies that call a model better that is not, or two models equal that are a margin or more apart."""
        pairs = pairs_of(len(rates))
        gap = rates - rates.T
        wrong = (self.better & (gap <= 1e-9)).any(axis=(1, 2))
        wide = np.abs(gap[pairs.first, pairs.second]) >= margin - 1e-9
        return np.asarray(wrong | (self.equal & wide).any(axis=1))


class Crowded:
    """Studies with a crowd before each, in which so many dialogues have ``begun``.

    ``rates``: models × models, or studies × models × models.
    """

    def __init__(self, studies: Studies, rates: Floats, crowd: Crowd, *, begun: int = 0, seed: int = 0) -> None:
        self.rule, self.crowd, self.rng = studies.rule, crowd, np.random.default_rng(seed)
        self.studies = studies
        self.pairs = pairs_of(len(self.rule.models))
        self.chances = self._chances(np.broadcast_to(rates, (studies.count, *rates.shape[-2:])))
        self.free_at = np.zeros((studies.count, crowd.in_flight))
        self.begun = np.full(studies.count, begun)
        self.place = np.arange(studies.count)

    def _chances(self, rates: Floats) -> Floats:
        """Studies × pairs × steps: chances of winning a turn, of the workers who like the pair's first model least to most.

        Of turns that are no tie. Beta distributed, which gives two turns of a worker just the asked likeness.
        """
        decided = 1 - self.crowd.ties
        mean = 0.5 + (rates[:, self.pairs.first, self.pairs.second] - 0.5) / decided
        if not self.crowd.icc:
            return np.repeat(mean[:, :, None], _STEPS, axis=2)
        size = decided / self.crowd.icc - 1
        known, which = np.unique(mean, return_inverse=True)
        middle = (np.arange(_STEPS) + 0.5) / _STEPS
        table = betaincinv(known[:, None] * size, (1 - known[:, None]) * size, middle)
        table += (known - table.mean(axis=1))[:, None]
        return np.asarray(np.clip(table, 0, 1)[which.reshape(mean.shape)], dtype=float)

    def run(self, on_ended: Callable[[int], None] | None = None) -> Simulated:
        """Let workers come until every study is decided, or at its cap; ``on_ended`` is told how many have ended."""
        n, models = self.studies.count, len(self.rule.models)
        done = Simulated(
            np.zeros(n, dtype=np.int64),
            np.zeros(n),
            np.zeros((n, models, models), dtype=bool),
            np.zeros((n, self.pairs.count), dtype=bool),
            np.zeros(n, dtype=bool),
        )
        while self.studies.count:
            rows = np.arange(self.studies.count)
            slot = self.free_at.argmin(axis=1)
            now = self.free_at[rows, slot]
            capped = self.begun >= self.rule.max_dialogues
            before = self.studies.folded.copy()
            self.advance(rows, np.where(capped, np.inf, now))
            # Each study goes its own way: one folds somebody in while another lets the next one come.
            come = self.studies.folded == before
            over = (capped & come) | ~self.studies.decisions.open().any(axis=1)
            if over.any():
                self._note(done, over)
                if on_ended:
                    on_ended(int(over.sum()))
                slot, now, come, capped = slot[~over], now[~over], come[~over], capped[~over]
            if come.any():
                self._arrive(np.flatnonzero(come & ~capped), slot, now)
            if self.studies.ended.shape[1] > _HELD:
                self.studies.drop_folded()
        return done

    def advance(self, rows: Ints, now: Floats) -> None:
        """Fold in who is next and has ended, one of each study at most."""
        self.studies.advance(rows, now, most=1)

    def _note(self, done: Simulated, over: Flags) -> None:
        at, decisions = self.place[over], self.studies.decisions
        done.dialogues[at], done.better[at], done.equal[at] = (
            self.begun[over],
            decisions.better[over],
            decisions.equal[over],
        )
        done.folded[at] = self.studies.evidence.dialogues[over].sum(axis=1) / 2
        done.decided[at] = ~decisions.open()[over].any(axis=1)
        self.take(~over)

    def take(self, rows: Flags) -> None:
        """Keep only these studies."""
        self.studies.take(rows)
        for name in ("chances", "free_at", "begun", "place"):
            setattr(self, name, getattr(self, name)[rows])

    def _arrive(self, come: Ints, slot: Ints, now: Floats) -> None:
        """Somebody comes to each of the studies ``come``, of all of which is drawn."""
        n = self.studies.count
        counts = np.minimum(self._wanted(n), self.rule.max_dialogues - self.begun)
        shown = drawn_pairs(self.studies.decisions.open(), int(counts.max()), self.rng)
        shown[np.arange(shown.shape[1]) >= counts[:, None]] = -1
        likes = self.rng.standard_normal((n, len(self.rule.models)))
        shares = self._shares(shown, likes)
        stays = (
            np.cumprod(self.rng.random(shown.shape) >= self.crowd.leave * (np.arange(shown.shape[1]) > 0), axis=1) > 0
        )
        shares[~stays] = np.nan
        shares, done = self._until_quit(shown, shares, likes)
        spent = np.where(np.isnan(shares), 0.0, done * self._seconds(shown.shape, likes)).cumsum(axis=1)
        allowed, through = self._allowed(shown), spent[:, -1]
        in_time = np.where(spent <= allowed[:, None], shares, np.nan)
        self.enter(come, shown[come], in_time[come], now[come], (now + through)[come], done[come])
        self.free_at[come, slot[come]] = (now + np.minimum(through, allowed))[come]
        self.begun[come] += (~np.isnan(shares[come]) & (done[come] == 1)).sum(axis=1)

    def enter(self, rows: Ints, shown: Ints, shares: Floats, now: Floats, ended: Floats, done: Floats) -> None:
        """Note one worker of each study: what they were shown, what they answered in time, which part of each dialogue, and
        when they were through."""
        numbers = self.studies.admit(rows, shown, now + self._allowed(shown))
        self.studies.answer(rows, numbers, shares, done)
        self.studies.end(rows, numbers, ended)

    def _until_quit(self, shown: Ints, shares: Floats, likes: Floats) -> tuple[Floats, Floats]:
        """Of what workers would answer, what they do before they leave in mid-dialogue: shares of those turns, and which
        part of each dialogue's."""
        crowd, (n, dialogues) = self.crowd, shown.shape
        if not crowd.quit:
            return shares, np.ones_like(shares)
        halves = np.round(np.nan_to_num(shares) * 2 * crowd.turns)[..., None] - 2 * np.arange(crowd.turns)
        turns = self.rng.permuted(np.clip(halves, 0, 2) / 2, axis=2)
        log_chance = -crowd.quit_by_taste * np.repeat(self._liking(shown, likes), crowd.turns, axis=1)
        before = turns.reshape(n, -1)[:, :-1]
        log_chance[:, 1:] += crowd.quit_by_choice * (2 * before - 1)
        leaves = self.rng.random(log_chance.shape) < crowd.quit * np.exp(log_chance)
        leaves[:, 0] = False
        stays = (np.cumsum(leaves, axis=1) == 0).reshape(n, dialogues, crowd.turns)
        answered = stays.sum(axis=2)
        won = np.divide((turns * stays).sum(axis=2), answered, out=np.full(shown.shape, np.nan), where=answered > 0)
        return np.where(np.isnan(shares), np.nan, won), answered / crowd.turns

    def _liking(self, shown: Ints, likes: Floats) -> Floats:
        rows, pair = np.arange(len(shown))[:, None], np.maximum(shown, 0)
        liking = likes[rows, self.pairs.first[pair]] - likes[rows, self.pairs.second[pair]]
        return np.asarray(liking / np.sqrt(2), dtype=float)

    def _allowed(self, shown: Ints) -> Floats:
        return np.asarray(self.rule.timeout * (shown >= 0).sum(axis=1), dtype=float)

    def _wanted(self, n: int) -> Ints:
        crowd = self.crowd
        if not crowd.heavy_tail:
            whole, part = divmod(crowd.dialogues, 1)
            return np.asarray(int(whole) + (self.rng.random(n) < part), dtype=np.int64)
        drawn = self.rng.lognormal(np.log(crowd.dialogues) - crowd.heavy_tail**2 / 2, crowd.heavy_tail, n)
        return np.asarray(np.clip(np.round(drawn), 1, crowd.most), dtype=np.int64)

    def _shares(self, shown: Ints, likes: Floats) -> Floats:
        """What the first model of each shown pair wins, by workers who like each model so much more than others do."""
        rows, pair = np.arange(len(shown))[:, None], np.maximum(shown, 0)
        step = np.minimum((ndtr(self._liking(shown, likes)) * _STEPS).astype(np.int64), _STEPS - 1)
        turns, ties = self.crowd.turns, self.crowd.ties
        decided = turns - self.rng.binomial(turns, ties, shown.shape) if ties else np.full(shown.shape, turns)
        won = self.rng.binomial(decided, self.chances[rows, pair, step])
        return np.where(shown >= 0, (won + (turns - decided) / 2) / turns, np.nan)

    def _seconds(self, shape: tuple[int, ...], likes: Floats) -> Floats:
        others = likes.shape[1] - 1
        pace = (likes[:, 0] - likes[:, 1:].mean(axis=1)) / np.sqrt(1 + 1 / others)
        logs = 0.4 * self.rng.standard_normal(shape) - self.crowd.haste * pace[:, None]
        return np.asarray(600 * np.exp(logs), dtype=float)


def simulate(
    rule: StoppingRule,
    rates: Floats,
    crowd: Crowd,
    *,
    studies: int,
    seed: int = 0,
    on_ended: Callable[[int], None] | None = None,
) -> Simulated:
    """Run so many made-up studies to their end; ``on_ended`` is told of each few that get there."""
    return Crowded(Studies(rule, studies), rates, crowd, seed=seed).run(on_ended)
