"""Made-up crowds that rate made-up models: how often a rule claims something false, how many dialogues it takes, and how
many a study still needs, which is run to its end many times with what is known of its models."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel
from scipy.special import betaincinv, expit, ndtr

from parlai_humaneval._util.arrays import Flags, Floats, Ints
from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.statistics.core.clustering_effects import detectable_gap
from parlai_humaneval.statistics.core.sequential import PRIOR_VARIANCE, crossing, mean_p_values
from parlai_humaneval.stopping.batch import Studies, drawn_pairs
from parlai_humaneval.stopping.events import Forecast, PairForecast
from parlai_humaneval.stopping.evidence import pairs_of
from parlai_humaneval.stopping.rule import IN_FLIGHT, StoppingRule

_STEPS = 256  # Steps in which the distribution of workers' chances is tabled
_HELD = 64  # With more workers in memory, those who are evidence already are dropped


@dataclass(frozen=True)
class Crowd:
    """Raters who come one after the other. ``turns``: of a dialogue; one of two models wins each turn, unless it is a
    tie. ``icc``: how alike the turns are that a worker judges of one pair. Workers like models: workers who prefer A to
    B and B to C more than others do also prefer A to C. ``dialogues``: of a worker, as a mean. ``heavy_tail``: standard
    deviation of the logarithm of that number; 0: all give equally many. ``most``: the largest number of dialogues of a
    worker. ``leave``: chance of leaving, before each dialogue but the first. ``quit``: chance of leaving before each
    turn but the very first one. ``quit_by_taste``: by how much the logarithm of that chance is lower for somebody who
    likes the first model of the pair more than others do, by one standard deviation. ``quit_by_choice``: by how much it
    is higher after a turn that the first model won, and lower after one that it lost. ``haste``: by how much faster (in
    the logarithm of seconds) somebody is who likes the first model more than others do, by one standard deviation.
    ``in_flight``: raters at a time. ``ties``: share of turns that neither model wins, the same with all raters; they
    count half for each."""

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
            what = f"turns cannot have an ICC of {self.icc:g} when a share of {self.ties:g} are ties"
            raise InvalidValue(what, try_="choose a lower ICC, or fewer ties")
        if not 0 <= self.quit < 1:
            what = f"a chance of {self.quit:g} of leaving before a turn is not possible"
            raise InvalidValue(what, try_="choose a chance of at least 0 and below 1")

    def share_variance(self, rate: float = 0.5) -> float:
        """Variance of the share of a dialogue's turns that is won at this mean rate."""
        return (rate * (1 - rate) - self.ties / 4) * (self.icc + (1 - self.icc) / self.turns)

    def design_effect(self) -> float:
        """Factor on the dialogues of a fixed plan whose workers each judge one pair: 1 + (m − 1)·likeness of two."""
        likeness = self.icc / (self.icc + (1 - self.icc) / self.turns)
        return 1 + (self.dialogues - 1) * likeness

    @property
    def independent(self) -> float:
        """The share of a rater's comparisons that are independent."""
        return 1.0

    def before(self, studies: Studies, rates: Floats, *, begun: Ints, seed: int) -> Crowded:
        """The studies with such raters before them. ``rates``: of each, models × models; ``begun``: dialogues of each."""
        return Crowded(studies, rates, self, begun=begun, seed=seed)


class Raters(Protocol):
    """Raters of one kind of study: a :class:`Crowd` that chooses, or one that scores."""

    @property
    def independent(self) -> float: ...

    def share_variance(self) -> float: ...

    def before(self, studies: Studies, rates: Floats, *, begun: Ints, seed: int) -> Crowded: ...


def win_rates(strengths: npt.ArrayLike) -> Floats:
    """Models × models; how often the row's model wins against the column's, after Bradley and Terry."""
    theta = np.asarray(strengths, dtype=float)
    return np.asarray(expit(theta[:, None] - theta[None, :]), dtype=float)


@dataclass(frozen=True)
class Simulated:
    """The outcome of each study: arrays with the studies as first axis. ``dialogues``: that were begun, with those in
    flight when the answer was reached. ``folded``: of these, the ones that were evidence. ``given``: studies × pairs;
    how many dialogues were begun of each while it was simulated, until it was decided. ``better``, ``equal``: claims,
    as in :class:`~parlai_humaneval.stopping.batch.Decisions`. ``decided``: whether every pair was, below the cap."""

    dialogues: Ints
    folded: Floats
    given: Ints
    better: Flags
    equal: Flags
    decided: Flags

    def among(self, rows: Ints | slice) -> Simulated:
        """The outcomes of these studies."""
        return Simulated(*(getattr(self, field)[rows] for field in self.__dataclass_fields__))

    def false_claims(self, rates: Floats, margin: float) -> Flags:
        """Studies that wrongly call a model better, or two models equal although they are a margin or more apart."""
        pairs = pairs_of(len(rates))
        gap = rates - rates.T
        wrong = (self.better & (gap <= 1e-9)).any(axis=(1, 2))
        wide = np.abs(gap[pairs.first, pairs.second]) >= margin - 1e-9
        return np.asarray(wrong | (self.equal & wide).any(axis=1))


class Crowded:
    """Studies with a crowd before each, in which so many dialogues have ``begun``. ``rates``: models × models, or
    studies × models × models. ``cap``: of dialogues, which may be lowered while they run. ``done``: what became of those
    that have ended."""

    def __init__(self, studies: Studies, rates: Floats, crowd: Crowd, *, begun: int | Ints = 0, seed: int = 0) -> None:
        self.rule, self.crowd, self.rng = studies.rule, crowd, np.random.default_rng(seed)
        self.studies = studies
        self.pairs = pairs_of(len(self.rule.models))
        self._steps, self.chances = self._chances(np.broadcast_to(rates, (studies.count, *rates.shape[-2:])))
        self.free_at = np.zeros((studies.count, crowd.in_flight))
        self.begun = np.full(studies.count, begun, dtype=np.int64)
        self.place = np.arange(studies.count)
        n, models, self.cap = studies.count, len(self.rule.models), self.rule.max_dialogues
        better, equal, decided = ((models, models), (self.pairs.count,), ())
        claims = (np.zeros((n, *shape), dtype=bool) for shape in (better, equal, decided))
        self.given = np.zeros((n, self.pairs.count), dtype=np.int64)
        self.done = Simulated(np.zeros(n, dtype=np.int64), np.zeros(n), self.given.copy(), *claims)

    def _chances(self, rates: Floats) -> tuple[Floats, Ints]:
        """Chances of winning a turn, of the workers who like the pair's first model least to most (… × steps), and which
        of these there are in each study of each pair. Ties are left out. Beta distributed, which gives two turns of a
        worker just the asked likeness."""
        decided = 1 - self.crowd.ties
        mean = 0.5 + (rates[:, self.pairs.first, self.pairs.second] - 0.5) / decided
        known, which = np.unique(mean, return_inverse=True)
        table = np.repeat(known[:, None], _STEPS, axis=1)
        if self.crowd.icc:
            size = decided / self.crowd.icc - 1
            middle = (np.arange(_STEPS) + 0.5) / _STEPS
            table = betaincinv(table * size, (1 - table) * size, middle)
            table += (known - table.mean(axis=1))[:, None]
        return np.clip(table, 0, 1), which.reshape(mean.shape)

    def run(self, on_ended: Callable[[int], None] | None = None) -> Simulated:
        """Let workers come until every study is decided, or at its cap; ``on_ended`` gets how many ended."""
        done = self.done
        while self.studies.count:
            rows = np.arange(self.studies.count)
            slot = self.free_at.argmin(axis=1)
            now = self.free_at[rows, slot]
            capped = self.begun >= self.cap
            # Each study goes its own way: one folds somebody else in while another lets the next one come.
            come = self.advance(rows, np.where(capped, np.inf, now))
            over = (capped & come) | ~self.studies.decisions.going
            if over.any():
                at, decisions = self.place[over], self.studies.decisions
                done.dialogues[at], done.better[at] = self.begun[over], decisions.better[over]
                done.equal[at], done.decided[at] = decisions.equal[over], ~decisions.going[over]
                done.given[at] = self.given[over]
                done.folded[at] = self.studies.evidence.dialogues[over].sum(axis=1) / 2
                self.take(~over)
                if on_ended:
                    on_ended(int(over.sum()))
                slot, now, come, capped = slot[~over], now[~over], come[~over], capped[~over]
            come &= ~capped
            if come.any():
                self._arrive(np.flatnonzero(come), slot[come], now[come])
            if self.studies.ended.shape[1] > _HELD:
                self.studies.drop_folded()
        return done

    def advance(self, rows: Ints, now: Floats) -> Flags:
        """Fold in the next worker who has ended, at most one per study; return the studies with nobody left."""
        self.studies.advance(rows, now, most=1)
        return ~self.studies.ready(rows, now)

    def go_on(self) -> None:
        """Workers in flight finish, as others do, after part of the time; all earlier workers count as soon as it is
        their turn."""
        studies, slot = self.studies, np.zeros(self.studies.count, dtype=np.int64)
        for place in range(int((studies.arrived - studies.folded).max(initial=0))):
            rows = np.flatnonzero(studies.folded + place < studies.arrived)
            numbers = studies.folded[rows] + place
            is_inside = np.isinf(studies.ended[rows, numbers - studies.dropped[rows]])
            studies.end(rows, numbers, np.zeros(len(rows)))
            rows, numbers = rows[is_inside], numbers[is_inside]
            shown, shares, done = studies.of_worker(rows, numbers)
            likes = self.rng.standard_normal((len(rows), len(self.rule.models)))
            studies.answer(rows, numbers, np.where(done == 1, shares, self._shares(rows, shown, likes)))
            through = self.rng.random(len(rows)) * self._seconds(shown.shape, likes).sum(axis=1)
            studies.end(rows, numbers, through)
            self.free_at[rows, slot[rows] % self.crowd.in_flight] = through
            slot[rows] += 1

    def take(self, rows: Flags) -> None:
        """Keep only these studies."""
        self.studies.take(rows)
        for name in ("chances", "free_at", "begun", "given", "place"):
            setattr(self, name, getattr(self, name)[rows])

    def _arrive(self, come: Ints, slot: Ints, now: Floats) -> None:
        """Somebody comes to each of the studies ``come``, to the raters' places ``slot``."""
        counts = np.minimum(self._wanted(len(come)), self.cap - self.begun[come])
        shown = drawn_pairs(self.studies.decisions.asked[come], int(counts.max()), self.rng)
        shown[np.arange(shown.shape[1]) >= counts[:, None]] = -1
        likes = self.rng.standard_normal((len(come), len(self.rule.models)))
        shares = self._shares(come, shown, likes)
        if self.crowd.leave:
            leaves = self.rng.random(shown.shape) < self.crowd.leave * (np.arange(shown.shape[1]) > 0)
            shares[np.cumsum(leaves, axis=1) > 0] = np.nan
        shares, done = self._until_quit(shown, shares, likes)
        spent = np.where(np.isnan(shares), 0.0, done * self._seconds(shown.shape, likes)).cumsum(axis=1)
        allowed, through = self._allowed(shown), spent[:, -1]
        in_time = np.where(spent <= allowed[:, None], shares, np.nan)
        self.enter(come, shown, in_time, now, now + through, done)
        self.free_at[come, slot] = now + np.minimum(through, allowed)
        begun, each = ~np.isnan(shares) & (done == 1), np.arange(len(come))
        self.begun[come] += begun.sum(axis=1)
        open_pairs = self.studies.decisions.open(come)
        for pair, is_begun in zip(shown.T, begun.T, strict=True):
            self.given[come, pair] += is_begun & open_pairs[each, pair]

    def enter(self, rows: Ints, shown: Ints, shares: Floats, now: Floats, ended: Floats, done: Floats) -> None:
        """Note one worker of each study: what they were shown, what they answered in time, which part of each dialogue, and
        when they were through."""
        self.studies.enter(rows, shown, shares, done, due=now + self._allowed(shown), ended=ended)

    def _until_quit(self, shown: Ints, shares: Floats, likes: Floats) -> tuple[Floats, Floats]:
        """The answers that workers give before they leave in mid-dialogue: the shares of those turns, and which part of
        each dialogue they cover."""
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

    def _shares(self, of: Ints, shown: Ints, likes: Floats) -> Floats:
        """What the first model of each shown pair wins, by workers who like each model so much more than others do, in the
        studies ``of``."""
        rows, pair = of[:, None], np.maximum(shown, 0)
        step = np.minimum((ndtr(self._liking(shown, likes)) * _STEPS).astype(np.int64), _STEPS - 1)
        turns, ties = self.crowd.turns, self.crowd.ties
        decided = turns - self.rng.binomial(turns, ties, shown.shape) if ties else np.full(shown.shape, turns)
        won = self.rng.binomial(decided, self._steps[self.chances[rows, pair], step])
        return np.where(shown >= 0, (won + (turns - decided) / 2) / turns, np.nan)

    def _seconds(self, shape: tuple[int, ...], likes: Floats) -> Floats:
        others = likes.shape[1] - 1
        pace = (likes[:, 0] - likes[:, 1:].mean(axis=1)) / np.sqrt(1 + 1 / others)
        logs = 0.4 * self.rng.standard_normal(shape) - self.crowd.haste * pace[:, None]
        return np.asarray(600 * np.exp(logs), dtype=float)


def made_up(rule: StoppingRule, rates: Floats, crowd: Crowd, *, studies: int, seed: int = 0) -> Crowded:
    """Make studies without any workers so far."""
    begun = Studies(rule, studies)
    begun.evidence.only_decide()
    return Crowded(begun, rates, crowd, seed=seed)


SIMULATIONS = 200
SPREADS, LIKELY = (0.01, 0.1, 0.3, 0.9), (0.6, 0.2, 0.1, 0.1)
"""Standard deviations of a model's strength in log-odds, and how probable each is before anything is known: most models are
alike, and some far apart. Of two models only the larger ones: with the others, ranges of 80 % held in .60 of studies of two
that are 20 points apart."""
ROUNDS = 40  # rounds of drawing strengths and spreads in turn


def forecast(
    studies: Studies, *, begun: int, crowd: Raters | None = None, simulations: int = SIMULATIONS, seed: int = 0
) -> Forecast:
    """Run the first of ``studies`` on, ``simulations`` times; see :func:`forecasts`."""
    first = copy.deepcopy(studies)
    first.take(np.zeros(1, dtype=np.int64))
    return forecasts(first, begun=np.array([begun]), crowd=crowd or Crowd(), simulations=simulations, seed=seed)[0]


def forecasts(
    studies: Studies, *, begun: Ints, crowd: Raters, simulations: int = SIMULATIONS, seed: int = 0
) -> list[Forecast]:
    """Run each of ``studies`` on, ``simulations`` times, with strengths drawn from what is known of them. ``begun``:
    dialogues of each that count towards its cap; ``crowd``: what their workers are like. Raters who have begun are
    assumed to finish."""
    rng, each = np.random.default_rng(seed), np.repeat(np.arange(studies.count), simulations)
    rates = [
        win_rates(drawn) for row in range(studies.count) for drawn in _strengths(studies, row, crowd, simulations, rng)
    ]
    ahead = copy.deepcopy(studies)
    ahead.drop_folded()
    ahead.evidence.only_decide()
    ahead.take(each)
    crowded = crowd.before(ahead, np.stack(rates), begun=begun[each], seed=seed)
    crowded.go_on()
    done, models, pairs = crowded.run(), studies.rule.models, studies.evidence.pairs

    def of_many(to_go: Ints) -> dict[str, Any]:
        low, high = np.quantile(to_go, [0.1, 0.9], method="weibull")  # 80 % in between, however few are simulated
        return {"expected": float(to_go.mean()), "low": int(np.floor(low)), "high": int(np.ceil(high))}

    return [
        Forecast(
            **of_many(np.minimum(done.dialogues[each == row], studies.rule.max_dialogues) - begun[row]),
            pairs=tuple(
                PairForecast(
                    first=models[pairs.first[pair]],
                    second=models[pairs.second[pair]],
                    **of_many(done.given[each == row, pair]),
                )
                for pair in np.flatnonzero(studies.decisions.open()[row])
            ),
            capped=float((~done.decided[each == row]).mean()),
            simulations=simulations,
            seed=seed,
            begun=int(begun[row]),
        )
        for row in range(studies.count)
    ]


def _strengths(studies: Studies, row: int, crowd: Raters, draws: int, rng: np.random.Generator) -> Floats:
    """Draws × models: strengths of a study's models as probable as they are now, after Bradley and Terry. How far each
    model is from the others is drawn by turns with where it is (Gibbs sampling): several models may be alike, and another
    one far away. What was seen counts by a normal approximation (Laplace's)."""
    won, met = studies.evidence.won[row], studies.evidence.met[row]
    turns, models = crowd.independent * 0.25 / crowd.share_variance(), len(studies.rule.models)
    spreads, likely = (np.array(each if models > 2 else each[2:]) for each in (SPREADS, LIKELY))
    theta, seen = np.zeros(models), np.zeros((models, models))
    slope, wide = np.zeros(models), np.eye(models) / spreads[-1] ** 2
    for _ in range(25):
        theta = theta + np.linalg.solve(seen + wide, slope - wide @ theta)
        rate = expit(theta[:, None] - theta[None, :])
        slope = turns * (won - met * rate).sum(axis=1)
        weight = turns * met * rate * (1 - rate)
        seen = np.diag(weight.sum(axis=1)) - weight
    pull: Floats = seen @ theta + slope
    drawn: Floats = np.zeros((draws, models))
    of_each = rng.choice(spreads, (draws, models))
    for _ in range(ROUNDS):
        roots = np.linalg.cholesky(seen + np.eye(models) / of_each[:, None] ** 2)
        upper, noise = np.swapaxes(roots, 1, 2), rng.standard_normal((draws, models, 1))
        centre = np.linalg.solve(roots, np.broadcast_to(pull[:, None], noise.shape))
        drawn = np.asarray(np.linalg.solve(upper, centre + noise)[..., 0], dtype=float)
        log_density = -((drawn[..., None] / spreads) ** 2) / 2 + np.log(likely / spreads)
        of_each = spreads[(log_density + rng.gumbel(size=log_density.shape)).argmax(axis=2)]
    return drawn


POWER = 0.95
FEWEST = 4  # Workers before the first test


def fixed_plan(
    rule: StoppingRule, *, variance: float = PRIOR_VARIANCE, design_effect: float = 1.0, pooled: bool = False
) -> float:
    """Dialogues with which a gap of the margin is found in 95 % of studies, in any one of all pairs corrected for.
    ``variance``: of the share of a dialogue's turns that is won. ``pooled``: all dialogues together estimate strengths
    (Bradley–Terry), so that a pair learns from those of its models with others as well, as K/2 times as many dialogues
    of its own would tell it; else each pair is a study of its own."""
    models = len(rule.models)
    pairs = models * (models - 1) / 2
    errors = detectable_gap(1.0, alpha=rule.alpha / pairs, power=POWER) or 0.0
    each = errors**2 * variance / (rule.margin / 2) ** 2
    return float(each * design_effect * pairs / (models / 2 if pooled else 1))


class Peek(BaseModel, frozen=True):
    """Two models, by a t test of the workers' shares against one half after each of them. ``after``: workers at the
    first p < α; None: there was none. ``better``: whom it called better then. ``wrongly``: it called better who, by the
    study's claims, is worse, or equal within the margin; None where nothing is decided, or nobody was called better."""

    first: str
    second: str
    after: int | None
    better: Literal["first", "second"] | None
    wrongly: bool | None


def first_crossing(shares: Floats, alpha: float) -> tuple[int, Literal["first", "second"]] | None:
    """The number of workers at which the two-sided t test first has p < ``alpha``, and the leader then; None: never."""
    look = crossing(mean_p_values(shares - 0.5), alpha, FEWEST).first
    return None if look is None else (look + 1, "first" if np.mean(shares[: look + 1]) > 0.5 else "second")
