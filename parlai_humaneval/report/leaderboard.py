"""Who stands where, for a page that one may show: ranks as far as the tests tell them, and nothing of who rated.

Ranks are those that the pairs' tests leave possible: a model has at least as many others above it as are significantly
ahead of it, and at least as many below it as are significantly behind. As the tests of all pairs are corrected together,
all these ranges hold at once in 95 of 100 studies. Models that are statistically tied share ranks.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from string import ascii_uppercase

from parlai_humaneval.report.conclusions import DECIDED, leader_words, rank_ranges, rank_words
from parlai_humaneval.report.document import Document, Facts, Part
from parlai_humaneval.report.section import PairLine, Summary
from parlai_humaneval.report.summary import heading_of, leading, title_of
from parlai_humaneval.statistics.core.formatting import counted

RANKS_SOURCE = "Al Mohamad et al. 2022"
HOW_RANKED = (
    "A model's best possible rank is one more than the number of models that are significantly ahead of it, its worst the "
    "number of models less those that are significantly behind it. Models whose ranks overlap are statistically tied. Pairs "
    "are tested by rater and corrected together, so that in 95 of 100 studies no rank is wrong. Intervals of values "
    "cover 95 % each and are clustered by rater."
)
HOW_DECIDED = (
    "Where a study ends when every two models are decided, ranks go by what is decided so far, which stays right however "
    "often one looks. Intervals are of dialogues of the two models alone, and hold at all times together."
)
ONE_MODEL = "One model was rated alone, so there is nothing to rank."
BY_STRENGTH = "The order allows for whom each model met, so the values need not fall from rank to rank."
ONLY_TIES = "All answers are ties: nothing tells the models apart."
UNTESTED = "No two models can be tested against each other yet, so no rank can be told."


class Ranked(Part):
    """A model's place: its ranks from ``first`` to ``last``, None where nothing can be told; its value and interval."""

    model: str
    first: int | None
    last: int | None
    estimate: float | None
    low: float | None
    high: float | None
    n: int | None

    @property
    def rank(self) -> str:
        """“1”, “2–3”, or a dash."""
        return rank_words(self.first, self.last)


class Board(Part):
    """The models of one question. ``asked``: as raters read it. ``told``: who leads, in a sentence.

    ``answer``: the report's own answer, under the names that are shown; its words are not shown.
    """

    title: str
    asked: list[str]
    told: str
    standings: list[Ranked]
    answer: Summary


class Leaderboard(Part):
    """All that a leaderboard says. ``nothing``: why it ranks nobody; empty where it does."""

    title: str
    made: str
    note: str
    basis: str
    boards: list[Board]
    nothing: str = ""
    blinded: bool = False
    version: str


def leaderboard_of(document: Document, *, title: str = "", blind: Mapping[str, str] | None = None) -> Leaderboard:
    """The leaderboard of a report: its answers, and what its pairs tell of ranks.

    ``title``: None: made of the techniques. ``blind``: name of a model → what it is called here; None: by its own name.
    """
    answers = [_renamed(answer, blind or {}) for answer in leading(document.summaries())]
    boards = [board for answer in answers if (board := _board(answer, document.facts))]
    facts = document.facts
    return Leaderboard(
        title=title or _title(facts.techniques),
        made=facts.made,
        note=facts.note,
        basis=_basis(facts),
        boards=boards,
        nothing="" if boards else _nothing(document),
        blinded=blind is not None,
        version=facts.versions["parlai-humaneval"],
    )


def how_ranked(boards: Sequence[Board]) -> str:
    """How ranks came about, and what the intervals are."""
    decided = [board.answer.section == DECIDED for board in boards]
    return " ".join([*([] if decided and all(decided) else [HOW_RANKED]), *([HOW_DECIDED] if any(decided) else [])])


def ranked_models(document: Document) -> list[str]:
    """Names of all models that a leaderboard shows, sorted."""
    return sorted({name for answer in leading(document.summaries()) for name in _ranked_models(answer)})


def blind_names(models: Iterable[str], seed: str, known: Mapping[str, str] | None = None) -> dict[str, str]:
    """Name of a model → “Model A”, in an order that tells nothing unless one knows ``seed``; ``known`` ones stay."""
    names = dict(known or {})
    new = sorted(set(models) - names.keys())
    random.Random(f"blind names:{seed}:{len(names)}").shuffle(new)
    free = (label for label in _labels() if label not in set(names.values()))
    return names | dict(zip(new, free, strict=False))


def _labels() -> Iterator[str]:
    """Model A … Model Z, Model 27 …, without an end."""
    yield from (f"Model {letter}" for letter in ascii_uppercase)
    yield from (f"Model {number}" for number in count(len(ascii_uppercase) + 1))


def _ranked_models(answer: Summary) -> list[str]:
    of_pairs = (name for pair in answer.pairs for name in (pair.first, pair.second))
    return list(dict.fromkeys([*(line.model for line in answer.models), *of_pairs]))


def _renamed(answer: Summary, names: Mapping[str, str]) -> Summary:
    best = answer.best

    def called(listed: Sequence[str]) -> list[str]:
        return [names.get(name, name) for name in listed]

    return answer.model_copy(
        update={
            "verdict": "",
            "remarks": [],
            "models": [line.model_copy(update={"model": names.get(line.model, line.model)}) for line in answer.models],
            "pairs": [_pair_renamed(pair, names) for pair in answer.pairs],
            "best": best
            and best.model_copy(
                update={
                    "leader": None if best.leader is None else names.get(best.leader, best.leader),
                    "together": called(best.together),
                    "told": called(best.told),
                    "untested": called(best.untested),
                    "unordered": [called(group) for group in best.unordered],
                }
            ),
        }
    )


def _pair_renamed(pair: PairLine, names: Mapping[str, str]) -> PairLine:
    first, second = (names.get(name, name) for name in (pair.first, pair.second))
    return pair.model_copy(update={"first": first, "second": second})


def _board(answer: Summary, facts: Facts) -> Board | None:
    standings = standings_of(answer)
    if len(standings) < 2:
        return None
    asked = [
        one.text
        for one in facts.questions
        if (one.technique, one.metric) in ((answer.technique, answer.metric), ("", ""))
    ]
    stated = [one.text for one in facts.statements if one.criterion == answer.question]
    return Board(
        title=heading_of(answer),
        asked=list(dict.fromkeys(stated or asked)),
        told=_verdict(answer),
        standings=standings,
        answer=answer,
    )


def standings_of(answer: Summary) -> list[Ranked]:
    """The models of an answer by their best possible rank; of equal ones the order is the answer's own."""
    models = _ranked_models(answer)
    lines = {line.model: line for line in answer.models}
    ranks = rank_ranges(models, answer.pairs)
    standings = []
    for model in models:
        first, last = ranks.get(model, (None, None))
        line = lines.get(model)
        standings.append(
            Ranked(
                model=model,
                first=first,
                last=last,
                estimate=line and line.estimate,
                low=line and line.low,
                high=line and line.high,
                n=line and line.n,
            )
        )
    return sorted(standings, key=lambda one: one.first or 0)


def _verdict(answer: Summary) -> str:
    tested = [pair for pair in answer.pairs if pair.differs is not None]
    if not tested:
        only_ties = all(pair.p_clustered is not None and pair.gap is None for pair in answer.pairs)
        return ONLY_TIES if answer.pairs and only_ties else UNTESTED
    words = leader_words(answer.best, answer.pairs)
    if words or len(tested) > 1:
        return " ".join(filter(None, (words, _order_note(answer))))
    pair = tested[0]
    apart = f"{pair.first} is ahead of {pair.second}"
    return f"{apart}." if pair.differs else f"{pair.first} and {pair.second} are statistically tied."


def _order_note(answer: Summary) -> str:
    values = [line.estimate for line in answer.models if line.estimate is not None]
    return "" if values in (sorted(values), sorted(values, reverse=True)) else BY_STRENGTH


def _title(names: Sequence[str]) -> str:
    titles = [title_of(name) for name in names]
    return f"Leaderboard: {', '.join(titles)}" if titles else "Leaderboard"


def _basis(facts: Facts) -> str:
    """“24 people, 48 complete dialogues.”: how much it rests on; programs are no people."""
    raters = facts.raters
    who = "simulated rater" if raters.simulated and raters.simulated == raters.workers else "rater"
    counts = ((raters.dialogues, "complete dialogue"), (raters.judgements, "complete judgement"))
    parts = [counted(raters.workers, who), *(counted(one.complete, noun) for one, noun in counts if one is not None)]
    return f"{', '.join(parts)}."


def _nothing(document: Document) -> str:
    answers = leading(document.summaries())
    return ONE_MODEL if answers else document.facts.nothing
