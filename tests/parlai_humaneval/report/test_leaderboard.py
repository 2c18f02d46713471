"""Leaderboards: ranks as far as the tests tell them, under names that may be blind."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.conclusions import rank_words
from parlai_humaneval.report.render.leaderboard import blind_names, leaderboard_of, standings_of, to_page
from parlai_humaneval.report.section import ModelLine, Options, PairLine, Summary
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.columns import from_rows


def _pair(first: str, second: str, differs: bool | None) -> PairLine:
    p = {True: 0.01, False: 0.5, None: None}[differs]
    return PairLine(
        first=first,
        second=second,
        gap=0.1,
        low=0.0,
        high=0.2,
        share=True,
        p_paper=p,
        p_clustered=p,
        p_decides=p,
        differs=differs,
        family="",
        family_tests=1,
    )


def _summary(models: list[str], pairs: list[PairLine]) -> Summary:
    lines = [ModelLine(model=name, n=9, unit="turns", estimate=0.5, low=0.4, high=0.6, share=True) for name in models]
    return Summary(
        section="turns",
        technique="sata",
        setting="",
        metric="appropriate",
        question="",
        what="turns",
        verdict="ann leads by far",
        models=lines,
        pairs=pairs,
        reference=None,
        model_table="",
        pair_table="",
        remarks=["ann is good"],
    )


def _ranks(answer: Summary) -> dict[str, str]:
    return {one.model: rank_words(one.rank_low, one.rank_high) for one in standings_of(answer)}


def test_models_that_cannot_be_told_apart_share_ranks() -> None:
    """Guards honest ties: the first is ahead of the last alone, so that both stand in a range with the one between."""
    answer = _summary(
        ["ann", "ben", "cem"], [_pair("ann", "ben", False), _pair("ben", "cem", False), _pair("ann", "cem", True)]
    )
    assert _ranks(answer) == {"ann": "1–2", "ben": "1–3", "cem": "2–3"}


def test_a_whole_order() -> None:
    """Guards that ranks are single ones where all pairs differ, whatever the order of the lines."""
    answer = _summary(["cem", "ann", "ben"], [_pair(a, b, True) for a, b in combinations(["ann", "ben", "cem"], 2)])
    assert _ranks(answer) == {"ann": "1", "ben": "2", "cem": "3"}


def test_without_a_test_there_is_no_rank() -> None:
    """Guards the first days: values, and a dash for the rank; a pair that never met widens its models' ranges only."""
    assert _ranks(_summary(["ann", "ben"], [_pair("ann", "ben", None)])) == {"ann": "–", "ben": "–"}
    partly = _summary(["ann", "ben", "cem"], [_pair("ann", "ben", True), _pair("ann", "cem", None)])
    assert _ranks(partly) == {
        "ann": "1–2",
        "ben": "2–3",
        "cem": "1–3",
    }


def test_true_ranks_lie_in_their_ranges() -> None:
    """Guards the claim on the page: of 300 studies of four models with known strengths, ranks are wrong in a few at most."""
    draw, wrong = random.Random(7), 0
    strengths = {"a": 0.0, "b": 0.3, "c": 0.3, "d": 1.2}
    for _ in range(300):
        seen = {pair: strengths[pair[0]] - strengths[pair[1]] + draw.gauss(0, 0.3) for pair in combinations("abcd", 2)}
        # Each of six tests at .05 / 6, two-sided: z = 2.64.
        pairs = [_pair(*(pair if gap > 0 else pair[::-1]), differs=abs(gap) / 0.3 > 2.64) for pair, gap in seen.items()]
        for one in standings_of(_summary([*"abcd"], pairs)):
            better = sum(value > strengths[one.model] for value in strengths.values())
            as_good = sum(value >= strengths[one.model] for value in strengths.values())
            assert one.rank_low is not None
            assert one.rank_high is not None
            if one.rank_low > as_good or one.rank_high < better + 1:
                wrong += 1
                break
    assert wrong <= 0.05 * 300


def _turns(models: tuple[str, ...] = ("quokka", "wombat", "numbat"), workers: int = 10) -> Tables:
    """Every worker chooses mostly the first of the models, four turns each."""
    rows: list[dict[str, Any]] = []
    for worker in range(workers):
        for turn in range(1, 5):
            chosen = 0 if worker % 5 else turn % len(models)
            rows += [
                {
                    "dialogue_id": f"d{worker}",
                    "worker_id": f"secret-worker-{worker}",
                    "technique": "sata",
                    "setting": "soba",
                    "metric": "appropriate",
                    "turn": turn,
                    "model": model,
                    "position": (place + turn) % len(models) + 1,
                    "selected": int(place == chosen),
                    "continued": int(place == chosen),
                    "written": 0,
                    "seconds": 10.0,
                    "reason": "a secret reason",
                    "question": "Which do you prefer?",
                }
                for place, model in enumerate(models)
            ]
    empty = {name: from_rows(name, []) for name in ("dialogues", "comparisons")}
    return Tables(turns=from_rows("turns", rows), **empty)


def test_the_page_has_the_reports_numbers_and_nobody_in_it() -> None:
    """Guards one answer to one question, and raters: ids, reasons and the study's own title stay out."""
    document = build_report(_turns(), Options(draws=100), title="an internal name")
    board = leaderboard_of(document)
    (answer,) = board.boards
    lines = {line.model: line for line in document.summaries()[0].models}
    assert {one.model: (one.estimate, one.low, one.high) for one in answer.standings} == {
        name: (line.estimate, line.low, line.high) for name, line in lines.items()
    }
    assert answer.asked == ["Which do you prefer?"]
    page = to_page(board)
    assert "quokka" in page
    for secret in ("secret-worker", "a secret reason", "an internal name"):
        assert secret not in page
    assert "D. Al Mohamad, J. J. Goeman, E. W. van Zwet. Simultaneous Confidence Intervals for Ranks" in page
    assert "default-src 'none'" in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/", "")


def test_blind_names_hide_who_is_who() -> None:
    """Guards blinding: no own name on the page, the letters say nothing of the ranks, and are the same by the same seed."""
    document = build_report(_turns(), Options(draws=100))
    names = blind_names(["quokka", "wombat", "numbat"], "seed")
    page = to_page(leaderboard_of(document, blind=names))
    body = page.split("</style>")[1]
    assert not any(own in body for own in ("quokka", "wombat", "numbat"))
    assert "names are withheld" in body
    assert names == blind_names(["numbat", "quokka", "wombat"], "seed")
    firsts = {blind_names(["quokka", "wombat", "numbat"], str(seed))["quokka"] for seed in range(40)}
    assert firsts == {"Model A", "Model B", "Model C"}
    many = blind_names([f"m{number}" for number in range(30)], "seed")
    assert len(set(many.values())) == 30
    assert {"Model Z", "Model 27"} <= set(many.values())


def test_nothing_to_rank_is_said() -> None:
    """Guards empty studies, and those of one model."""
    empty = Tables(**{name: from_rows(name, []) for name in ("turns", "dialogues", "comparisons")})
    nothing = leaderboard_of(build_report(empty))
    assert nothing.boards == []
    assert nothing.nothing in to_page(nothing)
    assert nothing.nothing.startswith("Nothing has been rated yet")
    few = leaderboard_of(build_report(_turns(workers=2), Options(draws=100)))
    assert few.boards[0].told.startswith("No two models can be tested against each other yet")
    alone = leaderboard_of(build_report(_turns(("quokka",)), Options(draws=100)))
    assert alone.boards == []
    assert alone.nothing
