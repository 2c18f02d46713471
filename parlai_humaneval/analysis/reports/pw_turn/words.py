"""The sentences of a pairwise report: what was found, how sure it is, what to beware of."""

from __future__ import annotations

from parlai_humaneval.analysis.reports.pw_turn.types import PairReport, PositionRow, Rate
from parlai_humaneval.analysis.reports.words import TOO_FEW
from parlai_humaneval.statistics.wording import counted, p_words, percent, percent_range

ALPHA = 0.05

_VERBS = {
    "preference": "was preferred to",
    "humanness": "was found more human than",
    "interestingness": "was found more interesting than",
}


def headline(pair: PairReport) -> str:
    """One sentence on the pair: the favoured model's Lin over all turns, its interval and p."""
    names = f"{pair.model_a} and {pair.model_b}"
    if not pair.n_turns:
        return f"No turn that counts has compared {names} yet{_metric(pair)}."
    if not pair.wins_a + pair.wins_b:
        return f"{names} cannot be told apart{_metric(pair)}: every one of {counted(pair.ties, 'turn')} was a tie."
    rate = pair.win_rates[pair.favoured or pair.model_a].all_turns.lin
    finding = f"{_finding(pair)} in {percent(rate.estimate)} of {_turns(pair)}"
    if rate.ci_low is None:
        subject = "" if pair.favoured else f"{names}{_metric(pair)}: "
        return f"{subject}{finding}; {TOO_FEW}."
    certainty = (
        f"(95 % interval {percent_range(rate.ci_low, rate.ci_high)}, "
        f"clustered by {counted(pair.n_workers, 'worker')}; {_p(pair)})"
    )
    if _decisive(pair):
        return f"{finding} {certainty}."
    return f"{names} cannot be told apart{_metric(pair)}: {finding} {certainty}."


def remarks(pair: PairReport) -> list[str]:
    """What a reader of the headline should know besides; often nothing."""
    rate = pair.win_rates[pair.model_a].all_turns.lin
    found = [_disagreement(pair), _position(pair.by_position), _unfinished(pair)]
    return [sentence for sentence in found if sentence] + [_sentence(note) for note in _notes(rate)]


def no_pairs() -> str:
    """The headline of a report with nothing to compare."""
    return "No turn has been answered yet, so nothing can be said about the models."


def significance(pair: PairReport) -> float | None:
    """The p-value that decides: Holm's where several tests were made."""
    return pair.p_clustered if pair.p_holm is None else pair.p_holm


def _decisive(pair: PairReport) -> bool:
    p = significance(pair)
    return p is not None and p < ALPHA


def _finding(pair: PairReport) -> str:
    if pair.favoured is None:
        return "each was chosen"
    other = pair.model_b if pair.favoured == pair.model_a else pair.model_a
    verb = _VERBS.get(pair.metric)
    return f"{pair.favoured} {verb} {other}" if verb else f"{pair.favoured} was chosen over {other} ({pair.metric})"


def _metric(pair: PairReport) -> str:
    return f" ({pair.metric})"


def _turns(pair: PairReport) -> str:
    decided = pair.wins_a + pair.wins_b
    if not pair.ties:
        return counted(decided, "turn")
    return f"{counted(decided, 'decided turn')} ({counted(pair.ties, 'tie')} left out)"


def _p(pair: PairReport) -> str:
    if pair.p_holm is None:
        return p_words(pair.p_clustered)
    return f"{p_words(pair.p_holm)} after Holm's correction"


def _disagreement(pair: PairReport) -> str | None:
    """Same question, two answers: once with turns as independent, once with workers."""
    if pair.p_clustered is None or (pair.p_value < ALPHA) == (pair.p_clustered < ALPHA):
        return None
    paper, clustered = p_words(pair.p_value), p_words(pair.p_clustered)
    if pair.p_value < ALPHA:
        return (
            f"Taken as independent, the turns would show a difference (binomial test, {paper}); but answers of one "
            f"worker resemble each other, and with that counted they do not ({clustered}). Trust the second."
        )
    return (
        f"Taken as independent, the turns would show no difference (binomial test, {paper}); counted by worker they "
        f"do ({clustered}), as the workers agree more than chance would have it."
    )


def _position(rows: list[PositionRow]) -> str | None:
    first = next((row for row in rows if row.position == 1), None)
    if first is None or first.p_value is None or first.p_value >= ALPHA:
        return None
    return (
        f"Position matters: the reply shown first was chosen in {percent(first.share.estimate)} of "
        f"{counted(first.n, 'turn')} ({p_words(first.p_value)})."
    )


def _unfinished(pair: PairReport) -> str | None:
    left = pair.unfinished
    if not left.turns:
        return None
    what = f"{counted(left.turns, 'answered turn')} of {counted(left.dialogues, 'unfinished dialogue')}"
    if left.included:
        return f"{what} counted as well."
    model = pair.favoured or pair.model_b
    return f"{what} left out; with them {model} would have won {percent(left.win_rates_with_them[model])}."


def _notes(rate: Rate) -> list[str]:
    """Those that the headline does not say already."""
    return rate.notes if rate.ci_low is not None else []


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:]}."
