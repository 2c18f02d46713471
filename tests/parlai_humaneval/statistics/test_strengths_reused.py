"""Strengths from comparisons of dialogues that several workers judged: workers and dialogues both count."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from parlai_humaneval.statistics.core.two_way import ABOUT, either_side_covariances, is_by_both
from parlai_humaneval.statistics.ranking.bradley_terry import bradley_terry
from parlai_humaneval.statistics.ranking.fit import TOO_FEW_FOR_ALL
from parlai_humaneval.statistics.ranking.plackett_luce import comparison_strengths
from parlai_humaneval.tables.columns import from_rows

NAMES = np.array(list("abcd"))


def _study(rng, *, dialogues=30, workers=150, models=4, quality=0.7, strengths=(0.0, 0.0, 0.0, 0.0)):
    """Arguments of ``bradley_terry``: workers with unequal numbers of comparisons, dialogues of equal models."""
    each = np.clip(np.round(np.exp(rng.normal(np.log(2), 1.1, workers))), 1, 25).astype(int)
    who = np.repeat(np.arange(workers), each)
    first = rng.integers(0, models, len(who))
    second = (first + rng.integers(1, models, len(who))) % models
    shown = rng.integers(0, dialogues, (2, len(who)))
    of_dialogues = rng.normal(0, quality, (models, dialogues)) + np.array(strengths[:models])[:, None]
    won = rng.random(len(who)) < expit(of_dialogues[first, shown[0]] - of_dialogues[second, shown[1]])
    names = tuple(side * dialogues + dialogue for side, dialogue in zip((first, second), shown, strict=True))
    return (NAMES[first], NAMES[second], np.where(won, 1, -1), who), names


def test_equal_models_differ_in_a_twentieth_of_studies():
    """Jointly, by pairs, and of the best set; by worker alone it was a fifth."""
    rng = np.random.default_rng(5)
    joint, by_worker, pairs, left_out = [], [], [], []
    for _ in range(60):  # .05 with an error of .028, and a fifth with one of .052
        study, dialogues = _study(rng)
        found = bradley_terry(*study, slots=False, dialogues=dialogues)
        joint.append(found.equal.p_value < 0.05)
        by_worker.append(found.equal.details["p_by_worker"] < 0.05)
        pairs += [pair.p_value < 0.05 for pair in found.pairs]
        left_out.append(len(found.best.told) > 0)
        assert bool(found.best.told) == any(pair.p_holm < 0.05 for pair in found.pairs)
    assert np.mean(joint) < 0.11
    assert np.mean(pairs) < 0.09
    assert np.mean(left_out) < 0.11
    assert np.mean(by_worker) > 0.12


def test_fresh_dialogues_give_the_answer_by_worker():
    """Each judged once, or again and again by the same worker: to the last digit."""
    study, _ = _study(np.random.default_rng(1), workers=30)
    fresh = np.arange(2 * len(study[0])).reshape(2, -1)
    own = np.stack([study[3] * 10 + np.char.find("abcd", side) for side in study[:2]])
    expected = bradley_terry(*study)
    for dialogues in (fresh, own):
        assert bradley_terry(*study, dialogues=tuple(dialogues)) == expected
    assert not any(map(is_by_both, [*expected.models, *expected.pairs, *expected.positions, expected.equal]))


def test_all_results_say_that_they_are_by_both():
    """And keep the p by worker; intervals say what tests say, and those of the best set are wider."""
    study, dialogues = _study(np.random.default_rng(2), strengths=(1.2, 0.3, 0, -0.3))
    ties = np.where(np.random.default_rng(3).random(len(study[2])) < 0.2, 0, study[2])
    found = bradley_terry(*study[:2], ties, study[3], dialogues=dialogues)
    tested = [*found.models, *found.pairs, *found.positions]
    assert all(map(is_by_both, [*tested, found.tie, found.equal, found.no_position_effect, *found.best.pairs]))
    for result in tested:
        assert (result.p_value < 0.05) == (not result.ci_low <= 0 <= result.ci_high)
        assert result.details["p_by_worker"] is not None
    assert found.tie.p_value is None
    assert found.equal.p_value < 0.01
    assert found.best.leader == "a"
    for alone, together in zip(found.pairs, found.best.pairs, strict=True):
        assert together.ci_low < alone.ci_low < alone.ci_high < together.ci_high


def test_a_dialogue_counts_on_either_side():
    """Which model stood first changes nothing, and all comparisons of a dialogue hang together, on whichever side."""
    rng = np.random.default_rng(4)
    study, (first, second) = _study(rng, workers=300, dialogues=60)
    turned = rng.random(len(first)) < 0.5
    ends = np.where(turned, second, first), np.where(turned, first, second)
    influence = rng.normal(size=(2, len(first))) + first / 100
    by_both, _, by_dialogue = either_side_covariances(influence, study[3], (first, second))
    assert either_side_covariances(influence, study[3], ends)[0] == pytest.approx(by_both)
    alike = np.any([one[:, None] == other for one in ends for other in ends], axis=0)
    assert by_dialogue == pytest.approx(influence @ alike @ influence.T, rel=0.02)
    alike |= study[3][:, None] == study[3]
    assert by_both == pytest.approx(influence @ alike @ influence.T, rel=0.02)


def test_few_dialogues_are_named():
    """Of five a model it is said; of one a model nothing can be said of others, and the answer by worker stays."""
    study, dialogues = _study(np.random.default_rng(6), dialogues=5, workers=40)
    found = bradley_terry(*study, dialogues=dialogues)
    assert found.pairs[0].details[ABOUT] == 10
    assert "these 10 dialogues" in found.pairs[0].notes[-1]
    study, dialogues = _study(np.random.default_rng(6), dialogues=1, models=2, workers=40)
    pair, by_worker = (bradley_terry(*study, dialogues=shown).pairs[0] for shown in (dialogues, None))
    assert (pair.p_value, is_by_both(pair)) == (by_worker.p_value, False)
    assert "these 2 dialogues" in pair.notes[-1]


def test_too_few_workers_for_a_joint_test():
    """Three workers cannot tell of four models at once how alike the answers of a worker are."""
    study, dialogues = _study(np.random.default_rng(7), workers=60)
    found = bradley_terry(*study[:3], study[3] % 3, dialogues=dialogues)
    assert found.equal.p_value is None
    assert TOO_FEW_FOR_ALL in found.equal.notes[-1]
    assert found.pairs[0].p_value is not None


def test_dialogues_of_a_table_are_read():
    """Whichever side a row is, as from the arrays."""
    study, dialogues = _study(np.random.default_rng(8), workers=40, models=3)
    rows = [
        {
            "item_id": f"i{i}", "worker_id": f"w{worker}", "metric": "preference", "model_a": a, "model_b": b,
            "dialogue_a": f"d{of_a}", "dialogue_b": f"d{of_b}", "winner": a if won > 0 else b, "seconds": 1, "side": 1,
        }
        for i, (a, b, won, worker, of_a, of_b) in enumerate(zip(*study, *dialogues, strict=True))
    ]  # fmt: skip
    found, expected = comparison_strengths(from_rows("comparisons", rows)), bradley_terry(*study, dialogues=dialogues)
    assert all(map(is_by_both, found.pairs))
    assert [pair.p_value for pair in found.pairs] == pytest.approx([pair.p_value for pair in expected.pairs])


def test_dialogues_without_a_name_are_fresh():
    """Each is one of its own; lists of another length are refused."""
    study, dialogues = _study(np.random.default_rng(9), workers=30)
    assert bradley_terry(*study, dialogues=([None] * len(study[0]), [None] * len(study[0]))) == bradley_terry(*study)
    with pytest.raises(ValueError, match="dialogues must have"):
        bradley_terry(*study, dialogues=(dialogues[0][1:], dialogues[1]))
