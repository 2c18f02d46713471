"""Plans of studies that stop once they reach a decision: the numbers are the simulation's, priced like a fixed plan."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from parlai_humaneval.cli import main
from parlai_humaneval.planning.inputs import PlanError, ask, plannable
from parlai_humaneval.planning.plan import plan_study
from parlai_humaneval.planning.stopping import UntilDecided, is_usual, most_likely, plan_until_decided
from parlai_humaneval.stopping.batch import Studies
from parlai_humaneval.stopping.rule import StoppingRule
from parlai_humaneval.stopping.simulation import Crowd, Crowded, fixed_plan, made_up, win_rates
from parlai_humaneval.stopping.units import Scores

STUDIES = 50


def until_decided(**question: Any) -> UntilDecided:
    own = {name: question.pop(name) for name in ("margin", "max_dialogues") if name in question}
    inputs = ask(**{"technique": "pw_turn", "gap": 0.3, **question})
    return plan_until_decided(inputs, studies=STUDIES, **own)


def call(arguments: str) -> Result:
    return CliRunner().invoke(main, ["plan", *arguments.split()])


def test_numbers_are_of_the_simulation() -> None:
    """Guards that nothing stands between the simulated studies and the plan but losses to checks."""
    found = until_decided(exclusion=0.2, icc=0.1, max_dialogues=50, seed=3)
    rule = StoppingRule(models=("a", "b"), margin=0.3, max_dialogues=40)
    shares = [0.5 + step * 0.15 for step in (0, 0.5, 1, 2)]
    truths = [win_rates([math.log(share / (1 - share)), 0]) for share in shares]
    of_all = made_up(rule, np.repeat(truths, STUDIES, axis=0), Crowd(icc=0.1), studies=4 * STUDIES, seed=3).run()
    for at, (truth, rates) in enumerate(zip(found.truths, truths, strict=True)):
        done = of_all.among(slice(at * STUDIES, (at + 1) * STUDIES))
        assert truth.expected.n == math.ceil(math.ceil(done.dialogues.mean()) / 0.8)
        assert truth.percentile_90.n == math.ceil(np.quantile(done.dialogues, 0.9, method="higher") / 0.8)
        error = done.dialogues.std(ddof=1) / math.sqrt(STUDIES)
        assert truth.error == pytest.approx(error / 0.8, rel=0.05)
        assert truth.at_cap == pytest.approx((~done.decided).mean())
        assert truth.false_claims == pytest.approx(done.false_claims(rates, 0.3).mean())
        assert truth.of_fixed == truth.expected.n / found.fixed.n


@pytest.mark.parametrize(
    "question",
    [
        {"models": 3},
        {"technique": "arena"},
        {"technique": "sata"},
        {"technique": "free_for_all"},
        {"technique": "pw_dialog", "models": 3},
        {"technique": "self_chat", "worker_inequality": 1.0, "margin": 0.4},
        {"technique": "single_model"},
        {"technique": "single_model", "dialogues_per_worker": 2},
        {"technique": "direct_assessment", "models": 3, "gap": 0.2},
        {"technique": "sata", "models": 3, "gap": 0.2},
        {"technique": "free_for_all", "models": 3, "gap": 0.1},
    ],
    ids=lambda question: " ".join(map(str, question.values())),
)
def test_more_than_expected_is_to_be_had_in_hand(question: dict[str, Any]) -> None:
    """Guards the order of what is promised, of every technique that can end so, and that larger gaps take less."""
    found = until_decided(**question)
    for truth in found.truths:
        assert truth.expected.n <= truth.percentile_90.n <= found.max_dialogues
        assert truth.expected.hours <= truth.percentile_90.hours
        assert truth.expected.cost <= truth.percentile_90.cost
    assert found.truths[-1].expected.n < found.truths[0].expected.n
    assert found.truths[0].at_cap <= 0.08, "95 % of studies of equal models end before the chosen cap"
    assert found.truths[0].false_claims <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / STUDIES)
    compares_all = found.at_once > 2 or found.rating_sd is not None
    assert (found.fixed_pooled is None) == (found.models == 2 or compares_all)


@pytest.mark.parametrize("technique", [name for name in plannable() if is_usual(name, 2)])
def test_priced_as_a_fixed_plan(technique: str) -> None:
    """Guards that dialogues of both kinds of studies take the same hours and dollars."""
    inputs = ask(technique=technique, gap=0.2, pay=2.0, icc=0.0)
    fixed = plan_study(inputs.model_copy(update={"power": 0.95}))
    found = plan_until_decided(inputs, max_dialogues=300, studies=STUDIES)
    assert (found.fixed.n_workers, found.fixed.hours, found.fixed.cost) == (fixed.n_workers, fixed.hours, fixed.cost)
    truth = found.truths[0]
    for part in ("hours", "cost"):
        each = [getattr(needed, part) / needed.n for needed in (found.fixed, truth.expected)]
        assert each[0] == pytest.approx(each[1], rel=0.03), part


def test_the_fixed_plan_is_that_of_the_method() -> None:
    """Guards the comparison: the planner's size for the errors of the rule is the one that savings are counted against."""
    found = until_decided(models=4, gap=0.1, icc=0.05, exclusion=0.0, max_dialogues=40)
    rule = StoppingRule(models=tuple("abcd"), margin=0.1, max_dialogues=1000)
    variance = Crowd(icc=0.05).share_variance()
    assert found.fixed.n == pytest.approx(fixed_plan(rule, variance=variance), rel=0.02)
    assert found.fixed_pooled is not None
    assert found.fixed_pooled.n == pytest.approx(fixed_plan(rule, variance=variance, pooled=True), rel=0.02)


def test_ties_are_simulated() -> None:
    """Guards workers who tie: the win rate, ties counting half, its variance, and the asked likeness of two turns."""
    crowd = Crowd(turns=4, icc=0.2, dialogues=1, ties=0.3)
    rates = np.array([[0.5, 0.6], [0.4, 0.5]])
    rule = StoppingRule(models=("a", "b"), margin=0.1, max_dialogues=1000)
    crowded = Crowded(Studies(rule, 1), rates, crowd, seed=1)
    crowd_of = np.zeros(40_000, dtype=np.int64)
    likes = crowded.rng.standard_normal((40_000, 2))
    shares = crowded._shares(crowd_of, np.zeros((40_000, 1), dtype=np.int64), likes)[:, 0]
    assert shares.mean() == pytest.approx(0.6, abs=0.005)
    assert shares.var() == pytest.approx(crowd.share_variance(0.6), rel=0.03)
    with pytest.raises(ValueError, match=r"turns cannot have an ICC of 0\.7"):
        Crowd(icc=0.7, ties=0.3)


def test_how_much_ratings_differ_is_what_such_a_plan_rests_on() -> None:
    """Guards the spread of ratings: of one rater's where models are compared, of raters, too, where each rates one."""
    two, one, wide = (
        until_decided(technique="single_model", gap=0.2, max_dialogues=400, **more)
        for more in ({"dialogues_per_worker": 2}, {}, {"dialogues_per_worker": 2, "rating_sd": 0.3})
    )
    for found, spread in ((two, 0.15), (one, math.hypot(0.15, 0.14)), (wide, 0.3)):
        rule = StoppingRule(models=("a", "b"), margin=0.2, max_dialogues=1000)
        differences = np.clip(np.random.default_rng(0).normal(0, math.sqrt(2) * spread, 200_000) / 0.5, -1, 1)
        size = 2 * fixed_plan(rule, variance=float(differences.var() / 4))
        assert found.fixed.n * (1 - ask(technique="single_model", gap=0.2).filled().exclusion) == pytest.approx(
            size, rel=0.03
        )
    assert two.truths[0].expected.n < min(one.truths[0].expected.n, wide.truths[0].expected.n)
    assert (two.rating_sd, one.rater_sd, two.margin) == (0.15, 0.14, 0.2)


@pytest.mark.parametrize(
    "scores",
    [
        Scores(2, within=0.15),
        Scores(1, within=0.15, between=0.14),
        Scores(3, turns=9, icc=0.1),
        Scores(3, turns=9, any_number=True, icc=0.05),
    ],
    ids=["two of a rater", "a rater each", "one of three", "any of three"],
)
def test_made_up_scores_are_as_asked(scores: Scores) -> None:
    """Guards means and variances of what raters of scores say, from which truths and fixed plans are made."""
    rng, equal = (
        np.random.default_rng(1),
        np.full((60_000, 3), 1 / 3 if scores.turns > 1 and not scores.any_number else 0.5),
    )
    x = scores.drawn(equal, rng)
    assert scores.share(x[:, 0] - x[:, 1]).var() == pytest.approx(scores.share_variance(), rel=0.05)
    levels = equal[0] + [0.1, 0.0, -0.1]
    x = scores.drawn(np.tile(levels, (60_000, 1)), rng)
    assert scores.share(x[:, 0] - x[:, 2]).mean() == pytest.approx(scores.mean_share(levels)[0, 2], abs=0.004)


def test_a_share_of_few_studies_has_an_upper_end() -> None:
    """Guards against “0 % of 50 studies” read as never."""
    assert 0.05 < most_likely(0.0, 50) < 0.08
    assert most_likely(0.05, 10_000) == pytest.approx(0.0545, abs=5e-4)


def test_arena_counts_the_gap_without_ties_and_the_margin_with_them() -> None:
    """Guards the two scales: the margin is what a study is begun with, where ties count half."""
    found = until_decided(technique="arena")
    assert found.margin == pytest.approx(0.3 * 0.85)
    assert found.ties == pytest.approx(0.15)
    assert any("a gap of 30 points is 25.5 points on the scale of the margin" in note for note in found.notes)
    assert until_decided(technique="sata", max_dialogues=60).margin == 0.3


def test_what_is_printed_is_what_is_written(tmp_path: Path) -> None:
    """Guards one answer for all readers: the JSON, the file and every cell of the text; the same with the same seed."""
    asked = "--technique pw_turn --models 3 --gap 0.4 --stop decided --replicates 100"
    path = tmp_path / "plan.json"
    printed = json.loads(call(f"{asked} --json --out {path}").stdout)
    assert json.loads(path.read_text(encoding="utf-8")) == printed
    found = UntilDecided.model_validate(printed["stop"])
    text = call(asked).stdout
    words = " ".join(text.split())
    assert found.headline in words
    assert all(note in words for note in found.notes)
    (row,) = [line for line in text.splitlines() if line.startswith("dialogues, on average")]
    assert found.fixed_pooled is not None
    numbers = [truth.expected.n for truth in found.truths]
    assert row.split()[3:] == [f"{n:,}" for n in (*numbers, found.fixed.n, found.fixed_pooled.n)]
    assert max(len(line) for line in text.splitlines()) <= 100
    assert json.loads(call(f"{asked} --seed 1 --json").stdout)["stop"]["truths"] != printed["stop"]["truths"]
    assert json.loads(call("--technique pw_turn --gap 0.2 --json").stdout)["stop"] is None


def test_a_cap_at_which_nothing_is_decided_is_the_headline() -> None:
    """Guards against a promise where there is none: studies end at the cap, all of it, with pairs open."""
    found = until_decided(models=3, gap=0.1, max_dialogues=20)
    assert {(truth.expected.n, truth.percentile_90.n, truth.at_cap) for truth in found.truths} == {(20, 20, 1.0)}
    assert found.headline.startswith(
        "With a cap of 20 dialogues, PW-Turn most likely ends before there is a decision about every pair of models"
    )
    assert "100 % of studies reach the cap with pairs open" in found.headline
    assert any("Many studies reach the cap (see the table)" in note for note in found.notes)


def test_why_other_fixed_plans_are_of_another_size_is_said() -> None:
    """Guards several numbers of one thing: the plan's is for planned workers, others for those that came."""
    notes = until_decided(max_dialogues=100).notes
    assert any("a fixed plan that has the observed variance of answers" in note for note in notes)


def test_where_a_fixed_plan_is_smaller_is_said() -> None:
    """Guards honesty: a plan with less power is smaller than an answer either way, and the text does not hide it."""
    found = until_decided(power=0.5)
    asked = plan_study(ask(technique="pw_turn", gap=0.3, power=0.5)).n_dialogues
    assert found.truths[0].expected.n > asked
    assert any(
        f"Those {asked:,} are fewer than a study with --stop decided takes on average" in note for note in found.notes
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--technique pw_turn --gap 0.1 --stop decided --margin 0", "never find two models equal"),
        ("--technique pw_turn --gap 0.1 --stop decided --margin 1", "set a margin such as --margin 0.1"),
        ("--technique pw_turn --gap 0.1 --stop decided --margin nan", "set a margin such as --margin 0.1"),
        (
            "--technique pw_turn --gap 0.1 --stop decided --margin 1.5",
            "--margin 1.5: win rates are between 0 and 1, and so",
        ),
        (
            "--technique pw_turn --gap 0.1 --stop decided --margin 0.001",
            "--margin 0.001: with a margin below 0.01, a study takes",
        ),
        ("--technique pw_turn --gap 0.1 --judge-agreement 70", "--judge-agreement 70.0: expected a share of answers"),
        ("--technique pw_turn --gap 0.005 --stop decided", "set a --margin of 0.01 or more"),
        (
            "--technique pw_turn --models 4 --gap 0.1 --stop decided --max-dialogues 5",
            "set --max-dialogues 11 or more",
        ),
        ("--technique pw_turn --gap 0.1 --stop decided --max-dialogues 0", "is too low"),
        ("--technique pw_turn --gap 0.1 --margin 0.1", "add --stop decided, or leave --margin out"),
        ("--technique pw_turn --gap 0.1 --max-dialogues 90", "add --stop decided"),
        ("--technique pw_turn --gap 0.1 --stop decided --method liu2023", "leave --method out"),
        ("--technique pw_turn --gap 0.1 --stop decided --alpha 0.7", "set --alpha 0.05"),
        ("--technique pw_turn --gap 0.1 --stop decided --judge-agreement 0.7", "leave --judge-agreement out"),
        ("--gap 0.1 --stop decided", "add --technique"),
        ("--technique single_model --models 1 --gap 0.1 --stop decided", "set --models 2 or more"),
        ("--technique pw_turn --gap 0.1 --stop decided --rating-sd 0.1", "leave --rating-sd out"),
        ("--technique direct_assessment --gap 0.1 --stop decided --rating-sd 20", "0.15 for 15 points out of 100"),
        ("--technique spot_the_bot --gap 0.1 --stop decided --reuse 2 --dialogue-icc 0.1", "set --reuse 1"),
        ("--technique free_for_all --models 4 --gap 0.2 --stop decided", "set a --gap below 0.17"),
        ("--technique pw_turn --models 11 --gap 0.1 --stop decided", "set --models 10"),
        ("--technique pw_dialog --gap 0.1 --stop decided --dialogue-icc 0.1", "set --reuse 1"),
        ("--technique sata --gap 0.85 --stop decided", "set a smaller --gap"),
        ("--technique arena --gap 0.1 --stop decided --icc 0.9", "set an --icc below 0.85"),
        ("--technique pw_turn --gap 0.1 --stop never", "decided"),
    ],
)
def test_wrong_input(arguments: str, words: str) -> None:
    """Guards the errors: what, where and how to mend it, in a moment, and nothing else."""
    result = call(arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert [line[:6] for line in result.stderr.splitlines() if line[:6].strip().endswith(":")] == [
        "error:",
        "   in:",
        "  try:",
    ]
    assert words in result.stderr


def test_dialogues_that_nobody_shares_may_differ() -> None:
    """Guards the advice of the error: judged once, dialogues that differ make no two workers alike."""
    with pytest.raises(PlanError, match="--reuse 1"):
        until_decided(technique="pw_dialog", dialogue_icc=0.1)
    assert until_decided(technique="pw_dialog", dialogue_icc=0.1, reuse=1, max_dialogues=400).truths
