"""Words that distinguish models, and win rates that differ between groups: found where they are, and not by chance."""

from __future__ import annotations

import numpy as np
import pytest

from parlai_humaneval.statistics.preference.reasons import telling_words
from parlai_humaneval.statistics.preference.win_rates import equal_in_groups


def reasons(seed, planted, raters=60):
    """Reasons in words of a long-tailed vocabulary, and a word that goes with ``a`` where it is planted."""
    rng = np.random.default_rng(seed)
    chances = 1 / np.arange(1, 301)
    given = {"a": [], "b": []}
    for rater in range(raters):
        for model in rng.permutation(["a", "b"] * 2):
            words = [f"w{'abcdefghij'[word % 10]}{word}" for word in rng.choice(300, 6, p=chances / chances.sum())]
            if planted and rng.random() < (0.5 if model == "a" else 0.05):
                words.append("planted")
            given[str(model)].append((str(rater), " ".join(words)))
    return given


def test_a_planted_word_is_found_and_random_words_are_not():
    for seed in range(3):
        found = telling_words(reasons(seed, planted=True))
        assert [word.word for word in found["a"] if word.p_holm < 0.05] == ["planted"]
        assert not any(word.p_holm < 0.05 for word in found["b"])
        assert not any(word.p_holm < 0.05 for words in telling_words(reasons(seed, False)).values() for word in words)


def test_log_odds_are_those_of_the_paper():
    """Equations 16 and 20 by hand, with a prior of all words."""
    given = {"a": [(str(i), "kind warm") for i in range(6)], "b": [(str(i), "kind") for i in range(4)]}
    (word,) = telling_words(given, prior=16)["a"]
    y, n, y_b, n_b, alpha = 6, 12, 0, 4, 6.0
    log_odds = np.log((y + alpha) / (n + 16 - y - alpha)) - np.log((y_b + alpha) / (n_b + 16 - y_b - alpha))
    assert (word.word, word.raters, word.others) == ("warm", 6, 0)
    assert word.log_odds == pytest.approx(log_odds)
    assert word.z == pytest.approx(log_odds / np.sqrt(1 / (y + alpha) + 1 / (y_b + alpha)))


def test_a_rater_counts_once_for_each_word():
    once = {"a": [(str(i), "kind") for i in range(5)], "b": [(str(i), "short") for i in range(5)]}
    often = {model: texts * 10 for model, texts in once.items()}
    assert telling_words(often) == telling_words(once)


def test_one_model_or_no_words_tell_nothing():
    assert telling_words({"a": [("1", "kind")]}) == {"a": []}
    assert telling_words({"a": [("1", "the")], "b": []}) == {"a": [], "b": []}


def test_groups_differ_by_chance_in_one_of_twenty_studies():
    """Raters with tastes of their own, each in all groups or in one."""
    rng = np.random.default_rng(1)
    workers = np.repeat(np.arange(30), 6)
    for groups in (rng.integers(0, 3, 180), (np.arange(30) % 3)[workers]):
        tastes = rng.normal(0.5, 0.2, (200, 30))[:, workers]
        p_values = [equal_in_groups(rng.random(180) < taste, groups, workers).p_value for taste in tastes]
        assert np.mean(np.array(p_values) < 0.05) <= 0.08
    assert equal_in_groups(rng.random(180) < np.where(groups == 0, 0.8, 0.4), groups, workers).p_value < 0.01
