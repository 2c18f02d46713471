"""Plans: the papers' numbers, arithmetic by hand, what must be monotone, and wrong questions."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval.planning.designs import (
    MIN_WORKERS,
    clustered_power,
    clustered_size,
)
from parlai_humaneval.planning.inputs import LEAST_DIALOGUES, PlanError, ask, plannable
from parlai_humaneval.planning.layout import layout
from parlai_humaneval.planning.plan import Plan, compare_techniques, comparison_words, plan_study
from parlai_humaneval.statistics.core.two_way import FEW_DIALOGUES


def plan(**question: Any) -> Plan:
    return plan_study(ask(**{"technique": "pw_turn", "gap": 0.1, **question}))


@pytest.mark.parametrize(
    ("question", "turns"),
    [
        ({"technique": "pw_turn"}, 196),
        ({"technique": "sata", "setting": "soba"}, 196),
        ({"technique": "sata", "setting": "sata_random"}, 667),
        ({"technique": "sata", "setting": "sata_user"}, 667),
        ({"technique": "sata", "setting": "soba", "models": 4, "shares": (54, 53, 48, 35)}, 430),
        ({"technique": "sata", "setting": "soba", "gap": None, "shares": (54, 53, 48, 35)}, 430),
        ({"technique": "sata", "setting": "sata_random", "models": 4, "discordance": 0.408}, 445),
        ({"technique": "sata", "models": 4, "discordance": 0.408, "shares": (0.35, 0.25, 0.3, 0.3)}, 445),
        ({"technique": "single_model"}, 126),
        ({"technique": "single_model", "models": 4}, 4 * 126),
    ],
)
def test_numbers_of_liu_et_al(question: dict[str, Any], turns: int) -> None:
    """Guards method liu2023: the turns of Table 1, rounded as there, with its reading of the gap."""
    found = plan(method="liu2023", **question)
    assert found.n_turns == turns
    assert found.design_effect == 1


def test_what_196_turns_buy() -> None:
    """Guards the warning: .77 by the exact test, 199 and 210 turns for .80, and .25 if .1 is between two models."""
    found = plan(method="liu2023")
    assert found.power == pytest.approx(0.772, abs=5e-4)
    assert (found.exact_first, found.exact_always) == (199, 210)
    assert found.power_of_gap_between_models == pytest.approx(0.2506, abs=5e-4)
    assert any("power would be only 25 %" in note for note in found.notes)


def test_gap_is_on_one_scale() -> None:
    """Guards the default reading: a gap of 10 points is .55 against .45, which asks for 783 independent turns by the
    formula; the exact test first reaches the power with 786."""
    assert math.ceil(plan(icc=0).n_independent) == 783
    assert (plan(icc=0).n_turns, plan(icc=0).exact_first) == (783, 786)
    assert plan(technique="sata", setting="soba", icc=0).n_turns == 783
    assert plan(technique="free_for_all", icc=0).n_turns == 783
    assert plan(technique="sata", icc=0).n_turns == 665
    assert plan(technique="single_model", icc=0).n_turns == 2 * 250
    assert math.ceil(plan(technique="single_model", icc=0, models=1).n_independent) == 137
    assert plan(technique="single_model", icc=0, models=1).n_turns == 137
    assert "0.55 and 0.45" in plan().gap_means


def test_arithmetic_by_hand() -> None:
    """Guards dialogues, workers, hours and dollars of turns: six a dialogue, a quarter lost. 782.5 · 1.25 = 979 turns have
    the power in the clustered test; eight more have it in the larger p of that and the binomial test, which decides."""
    found = plan(turns=6, icc=0.05, exclusion=0.25, pay=2.0, fee=0.2, minutes=9, onboarding=3, dialogues_per_worker=1)
    assert math.ceil(782.526 * 1.25) == 979
    assert found.n_turns == 987
    dialogues = math.ceil(math.ceil(987 / 6) / 0.75)
    assert (found.n_dialogues, found.n_workers) == (dialogues, dialogues) == (220, 220)
    assert found.hours == pytest.approx(220 * (9 + 3) / 60, abs=0.01)
    assert found.cost == pytest.approx(220 * 2 * 1.2)
    assert found.n_judgements_collected == 220 * 6
    two = plan(turns=6, icc=0.05, exclusion=0.25, pay=2.0, dialogues_per_worker=2)
    assert two.design_effect == pytest.approx(1 + 11 * 0.05)
    assert two.n_workers == math.ceil(two.n_dialogues / 2)


def test_arithmetic_of_finished_dialogues() -> None:
    """Guards PW-Dialog: comparisons, the dialogues that are held for them and reused, raters and talkers."""
    held = plan(technique="pw_dialog", exclusion=0, reuse=10, pay=0.5, fee=0.5, wage=15, onboarding=0, minutes=1)
    n = held.n_judgements
    assert held.n_dialogues == 2 * math.ceil(n / 10)
    assert held.n_workers == math.ceil(n / 5) + held.n_dialogues
    assert held.hours == pytest.approx((n + 4 * held.n_dialogues) / 60, abs=0.01)
    assert held.cost == pytest.approx((0.5 * n + held.n_dialogues * 1.0) * 1.5, abs=0.01)
    chats = plan(technique="self_chat", exclusion=0, reuse=10, pay=0.5, fee=0.5, onboarding=0, minutes=1)
    assert (chats.n_judgements, chats.n_dialogues) == (n, held.n_dialogues)
    assert chats.hours == pytest.approx(n / 60, abs=0.01)
    # no two dialogues are compared twice: N of each model make N² pairs, however often they may be reused
    often = plan(technique="self_chat", exclusion=0, reuse=10_000)
    assert often.n_dialogues == 2 * math.ceil(math.sqrt(often.n_judgements))
    assert often.n_judgements == plan(technique="self_chat", exclusion=0, reuse=40).n_judgements


def test_arithmetic_of_direct_assessment() -> None:
    """Guards that the degraded model is talked with, too, and that all of a worker's dialogues are one visit."""
    found = plan(technique="direct_assessment", models=5, gap=0.2, exclusion=0)
    assert found.n_judgements == 5 * found.n_per_sample
    assert found.n_dialogues == 6 * found.n_per_sample
    assert found.n_workers == found.n_per_sample
    assert found.tests == 10
    assert found.alpha_per_test == pytest.approx(0.005)


def test_unequal_workers_cost_more() -> None:
    """Guards the effective number: m becomes m(1 + cv²), degrees of freedom and the floor are of effective workers."""
    equal, unequal = plan(dialogues_per_worker=2), plan(dialogues_per_worker=2, worker_inequality=1.0)
    assert unequal.design_effect == pytest.approx(1 + (12 * 2 - 1) * 0.05)
    assert unequal.n_turns >= equal.n_turns * unequal.design_effect / equal.design_effect
    assert unequal.effective_workers == pytest.approx(unequal.n_per_sample / 12 / 2)
    assert plan(gap=0.9, worker_inequality=1.0).n_turns == 2 * plan(gap=0.9).n_turns
    assert any("100 raters are worth 50 with equal numbers" in note for note in unequal.notes)
    alone = plan(technique="arena", worker_inequality=1.0)
    assert alone.n_judgements == plan(technique="arena").n_judgements, (
        "who gives one answer cannot give more than others"
    )


def test_dialogues_that_differ_cost_more() -> None:
    """Guards the design effect of reused dialogues: both sides of PW-Dialog, one of Spot The Bot, of what is kept."""
    pw = plan(technique="pw_dialog", dialogue_icc=0.1, exclusion=0)
    assert pw.design_effect == pytest.approx(1 + 4 * 0.05 + 2 * 4 * 0.1)
    spot = plan(technique="spot_the_bot", dialogue_icc=0.1, exclusion=0.5)
    assert spot.design_effect == pytest.approx(1 + 19 * 0.05 + 2 * 0.1)
    assert plan(technique="pw_turn", dialogue_icc=0.1).n_turns == plan().n_turns, "its dialogues have one rater"
    (told,) = [note for note in plan(technique="pw_dialog").notes if "equally good" in note]
    assert "the power would be 0.68" in told
    lost = plan(technique="pw_dialog", dialogue_sd=0.7)
    assert lost.n_judgements > plan(technique="pw_dialog").n_judgements
    assert lost.power >= 0.795


def test_the_best_reuse_is_the_cheapest() -> None:
    """Guards the advice: no other number of judgements costs less; dear dialogues are used more, free ones once."""
    for pay in (0.2, 1.0, 10.0):
        found = plan(technique="pw_dialog", dialogue_icc=0.08, dialogue_pay=pay)
        best = found.best_reuse
        assert best is not None
        for reuse in sorted({1, 2, 3, 5, 8, 13, 21, 29, *(max(1, best["reuse"] + step) for step in (-2, -1, 0, 1, 2))}):
            other = plan(technique="pw_dialog", dialogue_icc=0.08, dialogue_pay=pay, reuse=reuse)
            assert other.cost >= 0.99 * best["cost"] or other.n_dialogues < 2 * LEAST_DIALOGUES
        assert any("It is cheapest" in note or "No other" in note for note in found.notes)
    free = plan(technique="self_chat", dialogue_icc=0.08)
    assert free.best_reuse is not None
    assert free.best_reuse["reuse"] == 1
    dear = plan(technique="pw_dialog", dialogue_icc=0.08, dialogue_pay=10.0).best_reuse
    assert dear is not None
    assert dear["reuse"] > 10
    assert plan(technique="pw_dialog").best_reuse is None, "of equal dialogues the fewest cost least"


def test_few_dialogues_are_told() -> None:
    """Guards the words for an answer that is about the dialogues at hand, by the report's own number; none is advised."""
    assert LEAST_DIALOGUES == FEW_DIALOGUES
    few = plan(technique="pw_dialog", gap=0.4, reuse=20, dialogue_icc=0.01)
    assert any(
        "dialogues per model are judged, each of them repeatedly, so the result is about these" in note
        for note in few.notes
    )
    assert few.best_reuse is not None
    assert few.best_reuse["reuse"] < 20


def test_spot_the_bot_counts_ties() -> None:
    """Guards that annotations which tie are paid for and do not count: at 30 %, 783/.3 at least."""
    found = plan(technique="spot_the_bot", icc=0)
    assert found.n_judgements == pytest.approx(782.5 / 0.3, rel=0.01)
    assert plan(technique="spot_the_bot", icc=0, discordance=0.6).n_judgements == pytest.approx(782.5 / 0.6, rel=0.01)


def test_several_models() -> None:
    """Guards the number of tests and of samples: pairs have each their own turns, or all models stand in every turn."""
    pairs = plan(models=4)
    assert pairs.tests == 6
    assert pairs.n_judgements == 6 * pairs.n_per_sample
    assert pairs.alpha_per_test == pytest.approx(0.05 / 6)
    overall = plan(technique="sata", models=4)
    assert (overall.tests, overall.n_judgements) == (1, overall.n_per_sample)
    assert overall.pairs is not None
    each = plan(technique="sata", models=4, tests="pairs")
    assert (each.n_turns, each.tests, each.pairs) == (overall.pairs["n_turns"], 6, None)


def test_notes_say_what_to_beware_of() -> None:
    """Guards the words: workers alike, a floor of workers, the fee, the pilot, pairs of several models."""
    assert any("design effect of 1.25" in note for note in plan().notes)
    assert any("independent (ICC 0)" in note for note in plan(icc=0).notes)
    few = plan(gap=0.9)
    assert few.n_turns == 6 * MIN_WORKERS
    assert any("at least 10 effective raters" in note for note in few.notes)
    assert any("one ranking of all models compares each pair" in note for note in plan(models=3).notes)
    assert not any("one ranking" in note for note in plan().notes)
    assert any("That fee is an assumption" in note for note in plan().notes)
    assert not any("That fee is an assumption" in note for note in plan(fee=0.4).notes)
    pilot = plan(technique="sata", setting="soba", models=4, method="liu2023")
    assert any("54,53,48,35" in note for note in pilot.notes)
    assert any("Bonferroni" in note for note in plan(models=3).notes)
    assert any("--tests pairs" in note for note in plan(technique="free_for_all", models=3).notes)


@pytest.mark.parametrize("technique", list(plannable()))
def test_every_technique_has_a_plan(technique: str) -> None:
    """Guards all techniques: positive, finite numbers, a headline with them, sources, and every value that was used."""
    for models in (2, 5):
        found = plan(technique=technique, models=models)
        numbers = (found.n_turns, found.n_dialogues, found.n_workers, found.hours, found.cost, found.n_judgements)
        assert all(math.isfinite(value) and value > 0 for value in numbers)
        assert 0.79 <= found.power <= 1
        assert f"{found.n_workers:,} raters" in found.headline
        assert len(found.sources) >= 2
        used = {name for name, value in found.inputs.items() if value is None}
        assert used <= {"shares", "dialogue_sd", "judge_agreement", "rating_sd", "rater_sd"}


SENSIBLE = {
    "technique": st.sampled_from(list(plannable())),
    "gap": st.floats(0.03, 0.25),
    "icc": st.floats(0.001, 0.5),
    "models": st.integers(2, 4),
    "dialogues_per_worker": st.integers(1, 8),
}


@settings(max_examples=30, deadline=None)
@given(question=st.fixed_dictionaries(SENSIBLE))
def test_monotone(question: dict[str, Any]) -> None:
    """Guards that a wider gap never costs more; and more power, a stricter level, likeness or losses never cost less."""
    base = plan(**question)

    def costs(**other: Any) -> tuple[int, int]:
        found = plan(**{**question, **other})
        return found.n_judgements, found.n_judgements_collected

    own = (base.n_judgements, base.n_judgements_collected)
    assert costs(gap=question["gap"] * 1.1) <= own
    for other in ({"power": 0.9}, {"alpha": 0.01}, {"icc": question["icc"] * 1.2}, {"exclusion": 0.5}):
        more = costs(**other)
        # Of what checks leave, fewer share a dialogue the more they drop.
        assert more[0] >= own[0] or "exclusion" in other
        assert more[1] >= own[1]


@settings(max_examples=60, deadline=None)
@given(question=st.fixed_dictionaries({**SENSIBLE, "power": st.floats(0.5, 0.95)}), alpha=st.sampled_from([0.01, 0.05]))
def test_the_promise_is_kept(question: dict[str, Any], alpha: float) -> None:
    """Guards the size itself: its power is what was asked for, and so it is with the design effect of likeness."""
    found = plan(**question, alpha=alpha)
    assert found.power >= question["power"]
    alike = plan(**{**question, "icc": min(0.9, question["icc"] * 2)}, alpha=alpha)
    assert alike.n_per_sample >= found.n_per_sample


@settings(max_examples=60, deadline=None)
@given(question=st.fixed_dictionaries(SENSIBLE))
def test_smallest_size(question: dict[str, Any]) -> None:
    """Guards the search: one judgement fewer would break one of the rules that make the size."""
    filled = ask(**question).filled()
    found = layout(filled)
    keep = found.likeness
    n = clustered_size(found.design, found.alpha, 0.8, keep)
    workers = MIN_WORKERS / found.design.groups(1, found.likeness.per_worker)
    assert n == math.ceil(workers - 1e-9) or clustered_power(found.design, n - 1, found.alpha, keep) < 0.8
    assert clustered_power(found.design, n, found.alpha, keep) >= 0.8


def test_comparison() -> None:
    """Guards the comparison: every technique and setting once, sorted by hours, one sentence, one scale."""
    plans, impossible = compare_techniques(ask(technique="pw_turn", gap=0.1, models=4))
    titles = [found.title for found in plans]
    assert len(titles) == len(set(titles)) == 10
    assert {"PW-Turn", "MM-SATA-Random", "MM-SOBA", "PW-Dialog (self-chat)", "PW-Dialog (human–bot)"} <= set(titles)
    assert [found.hours for found in plans] == sorted(found.hours for found in plans)
    assert not impossible
    assert {found.tests for found in plans} == {6}, "each is planned for all pairs"
    words = comparison_words(plans)
    assert words.startswith("For a gap of 10 points, ")
    assert all(f"{title} needs " in words for title in titles)
    _, missing = compare_techniques(ask(technique="pw_turn", gap=0.45))
    assert set(missing) == {"single_model"}, "0.8 ± 0.225 is beyond 1"
    liu, others = compare_techniques(ask(technique="pw_turn", gap=0.1, method="liu2023"))
    assert sorted(found.n_turns for found in liu) == [126, 196, 196, 667]
    assert "arena" in others
    assert comparison_words([]) == "No technique can detect this gap."


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"gap": None}, "--gap 0.1"),
        ({"gap": 0}, "not there"),
        ({"gap": -0.1}, "above 0 and below 1"),
        ({"gap": 1}, "above 0 and below 1"),
        ({"gap": 1e-6}, "tenth of a point"),
        ({"gap": math.nan}, "gap nan"),
        ({"gap": 0.6, "method": "liu2023"}, "below .5"),
        ({"technique": "sata", "gap": 0.3, "discordance": 0.2}, "more often than the answers do"),
        ({"technique": "sata", "models": 4, "discordance": 0.9}, "at most 0.667"),
        ({"technique": "sata", "models": 13}, "12 or fewer"),
        ({"technique": "single_model", "gap": 0.5}, "another --baseline"),
        ({"technique": "single_model", "gap": 0.9, "models": 1}, "another --baseline"),
        ({"technique": "free_for_all", "models": 5, "gap": 0.5}, "more often than the answers do"),
        ({"discordance": 0.5}, "ties"),
        ({"models": 1}, "2 or more"),
        ({"models": 21}, "from 2 to 20"),
        ({"models": 0}, "from 2 to 20"),
        ({"icc": 1}, "all answers by a rater"),
        ({"icc": -0.1}, "from 0 to below 1"),
        ({"technique": "pw_dialog", "dialogue_icc": 0.1, "dialogue_sd": 0.5}, "set only one of them"),
        ({"dialogue_sd": -1}, "log-odds"),
        ({"worker_inequality": -1}, "coefficient of variation"),
        ({"dialogues_per_worker": 0.5}, "1 or more"),
        ({"dialogue_pay": -1}, "dialogue-pay -1: expected 0 or more dollars"),
        ({"power": 0.05}, "not above --alpha"),
        ({"power": 1}, "power 1: expected"),
        ({"alpha": 0}, "alpha 0: expected"),
        ({"exclusion": 1}, "0.26 for 26 %"),
        ({"pay": -1}, "--pay -1: expected 0 or more dollars"),
        ({"fee": 20}, "0.2 for 20 %"),
        ({"turns": 0}, "a whole number, 1 or more"),
        ({"setting": "soba"}, "has no such setting"),
        ({"technique": "sata", "setting": "best"}, "sata_random, sata_user, soba"),
        ({"technique": "arena", "method": "liu2023"}, "leave --method out"),
        ({"technique": "telepathy"}, "technique telepathy"),
        ({"shares": (1, 2)}, "not for pw_turn; leave --shares out"),
        ({"shares": (1, 2), "gap": None}, "set --gap instead"),
        ({"technique": "sata", "models": 4, "shares": (0.3, 0.4)}, "2 shares for 4 models"),
        ({"technique": "sata", "shares": (54, 53)}, "from 0 to 1"),
        ({"technique": "sata", "gap": None, "shares": (0.3, 0.3)}, "equal"),
        ({"technique": "sata", "gap": 0.2, "shares": (0.3, 0.4)}, "set only one of them"),
    ],
)
def test_wrong_questions_say_what_to_do(question: dict[str, Any], words: str) -> None:
    """Guards every check of a question: a sentence that names the value and what is expected."""
    with pytest.raises(PlanError) as caught:
        plan(**question)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_all_faults_at_once() -> None:
    """Guards that nobody mends one fault after the other: each wrong value has its line."""
    with pytest.raises(PlanError) as caught:
        plan(icc=1, pay=-1, fee=20)
    assert len(str(caught.value).splitlines()) == 3


def test_defaults_name_their_source() -> None:
    """Guards the table of habits: each technique says where its figures come from."""
    assert all("20" in " ".join(habits.sources) for habits in plannable().values())
