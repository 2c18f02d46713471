"""Reasons: each counted once for what it speaks for, its words, and the terms that mark a group."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_comparisons import comparisons_frame
from make_judgements import make_pairs
from make_records import make_record, make_turn
from sklearn.feature_extraction.text import TfidfVectorizer

from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.justifications import build
from parlai_humaneval.statistics.preference.reasons import (
    NONE_CHOSEN,
    STOP_WORDS,
    mean_words,
    reasons,
    top_terms,
    word_counts,
)
from parlai_humaneval.tables.build import tables
from parlai_humaneval.tables.columns import typed

MODELS = ("eliza", "retrieval")


def _study():
    turns = [
        make_turn(1, MODELS, "eliza", reason="short and direct"),
        make_turn(2, MODELS, "retrieval", reason="more detailed information, I think"),
        make_turn(3, MODELS, "retrieval", reason="detailed"),
    ]
    return tables([make_record("d1", turns)])


def test_a_reason_counts_once_for_the_model_it_speaks_for():
    """It stands in the tables of turns and of comparisons, but is one reason."""
    rows = reasons(_study())
    assert rows[["model", "reason"]].values.tolist() == [
        ["eliza", "short and direct"],
        ["retrieval", "more detailed information, I think"],
        ["retrieval", "detailed"],
    ]
    assert set(rows["comparison"]) == {"eliza;retrieval"}


def test_reasons_of_judged_pairs_and_of_tables_from_elsewhere():
    """Comparisons bring theirs where the table of turns has none; a tie is named so."""
    frame = comparisons_frame({("a", "b"): 0.5}, n=30, tie=0.3).assign(reason="because it flows")
    frame.loc[0, "reason"] = " "
    rows = reasons(replace(tables([]), comparisons=typed("comparisons", frame)))
    assert len(rows) == 29
    assert set(rows["model"]) == {"a", "b", "tie"}
    assert set(rows["comparison"]) == {"a;b"}
    judged = tables(make_pairs({"a": 0.7, "b": 0.3}))
    assert len(reasons(judged)) == judged.comparisons["reason"].notna().sum() > 0


def test_a_turn_in_which_nobody_was_chosen():
    """Its reason is kept, for none of the models."""
    given_tables = _study()
    turns = given_tables.turns.copy()
    turns.loc[turns["turn"] == 1, "selected"] = 0
    rows = reasons(replace(given_tables, turns=turns))
    assert rows["model"].tolist().count(NONE_CHOSEN) == 1
    assert len(rows) == 3


def test_unfinished_dialogues_and_second_raters_are_left_out():
    """As everywhere in the analysis."""
    given_tables = _study()
    for column, value in (("dialogue_status", "partial"), ("own_worker", "w9")):
        turns = given_tables.turns.assign(**{column: value})
        comparisons = given_tables.comparisons.assign(**{column: value})
        assert reasons(replace(given_tables, turns=turns, comparisons=comparisons)).empty


def test_words_are_cut_at_blanks():
    """As the paper counts them."""
    assert word_counts(["it's  short-ish, really", "", " one\ntwo "]).tolist() == [3.0, 0.0, 2.0]
    result = mean_words(["a b", "a", "a b c", "a b c d"], ["w1", "w2", "w3", "w1"])
    assert result.estimate == 2.5
    assert result.ci_low < 2.5 < result.ci_high


def test_terms_of_groups_are_what_scikit_learn_finds():
    """A document a group: the same weights as TfidfVectorizer gives with these settings."""
    texts = {
        "a": ["It flows well", "it follows the topic", "follows me"],
        "b": ["short and simple", "simple, follows"],
        "c": ["detailed answer, never boring", "more detailed"],
    }
    got = top_terms(texts, n=3)
    stop = sorted({part for word in STOP_WORDS for part in word.split("'") if len(part) > 1})
    vectoriser = TfidfVectorizer(stop_words=stop, max_df=0.8)
    weights = vectoriser.fit_transform([" ".join(texts[name]) for name in texts]).toarray()
    vocabulary = vectoriser.get_feature_names_out()
    for row, name in enumerate(texts):
        best = np.sort(weights[row])[::-1][:3]
        assert [weight for _, weight in got[name]] == pytest.approx(best)
        for term, weight in got[name]:
            assert weights[row][list(vocabulary).index(term)] == pytest.approx(weight)
    assert got["c"][0][0] == "detailed"


def test_words_of_all_groups_fall_away():
    """“response”, which everybody writes, marks no group; “never” is no stop word, unlike in longer lists."""
    texts = {name: [f"better response {word}"] for name, word in (("a", "never"), ("b", "well"), ("c", "pets"))}
    got = top_terms(texts)
    assert [[term for term, _ in got[name]] for name in "abc"] == [["never"], ["well"], ["pets"]]


@pytest.mark.parametrize("texts", [{}, {"a": []}, {"a": ["the of and"], "b": ["it"]}, {"a": ["", "x"]}])
@pytest.mark.parametrize("unit", ["group", "reason"])
def test_nothing_to_weigh(texts, unit):
    """No texts, only stop words, only single letters: no terms, no error."""
    assert top_terms(texts, unit=unit) == {name: [] for name in texts}


@given(st.dictionaries(st.sampled_from("abc"), st.lists(st.text(max_size=30), max_size=4), max_size=3))
@settings(max_examples=60, deadline=None)
def test_any_texts_give_finite_weights_in_order(texts):
    """Whatever people type: weights fall, lie in 0–1, and no group is lost."""
    for unit in ("group", "reason"):
        got = top_terms(texts, unit=unit)
        assert set(got) == set(texts)
        for found in got.values():
            weights = [weight for _, weight in found]
            # Equal weights are sums in different orders: they may rise by their last digits.
            assert np.all(np.diff(weights) <= 1e-12)
            assert all(0 < weight <= 1 + 1e-9 for weight in weights)


def test_the_order_of_texts_does_not_matter():
    """Shuffled reasons have the same terms."""
    texts = {"a": ["one two", "two three", "four"], "b": ["five two", "six"], "c": ["seven"]}
    turned = {name: list(reversed(found)) for name, found in texts.items()}
    for unit in ("group", "reason"):
        assert top_terms(texts, unit=unit) == top_terms(turned, unit=unit)


def test_the_section():
    """A group for each chosen model, with lengths and terms; texts stay texts."""
    section = build(_study(), Options())
    assert [(group.model, group["n"], group["mean_words"]) for group in section.groups] == [
        ("eliza", 1, 3.0),
        ("retrieval", 2, 3.0),
    ]
    assert "detailed" in [term.term for term in section.groups[1].terms]
    assert section.headline.startswith("3 reasons by 1 rater, 3.0 words each")
    for table in section.data_tables():
        assert all(list(row) == [column.key for column in table.columns] for row in table.rows)
    assert section.figures()
    assert all(method.source for method in section.methods())


def test_a_table_of_words_without_words_is_left_out():
    """Guards a table that would only name models; a sentence says why."""
    turns = [make_turn(place, MODELS, MODELS[place % 2], reason="it is the") for place in range(1, 4)]
    section = build(tables([make_record("d1", turns)]), Options())
    assert [table.key for table in section.data_tables()] == ["justifications_words"]
    assert any(remark.startswith("No top terms are listed") for remark in section.remarks)


def test_no_reasons_no_section():
    """Nobody wrote anything."""
    assert build(tables([]), Options()) is None
    frame = comparisons_frame({("a", "b"): 0.5}, n=5)
    assert build(replace(tables([]), comparisons=typed("comparisons", frame)), Options()) is None


def test_a_worker_who_copies_is_named_as_one():
    """The same text five times is remarked on."""
    frame = comparisons_frame({("a", "b"): 0.5}, n=30, workers=2).assign(reason="good")
    section = build(replace(tables([]), comparisons=typed("comparisons", frame)), Options())
    assert any(remark.startswith("2 raters wrote the same reason") for remark in section.remarks)
    assert any("single word" in remark for remark in section.remarks)


def test_reasons_of_one_length_have_no_longest():
    """No “longest for bigbot, shortest for bigbot”."""
    frame = comparisons_frame({("a", "b"): 0.5}, n=30, workers=5).assign(reason="good")
    headline = build(replace(tables([]), comparisons=typed("comparisons", frame)), Options()).headline
    assert "longest" not in headline
    assert headline.endswith("1.0 words each on average, whichever model was chosen.")


def test_a_word_that_tells_a_model_from_several_is_named_once():
    """Guards studies of more than two models, whose words are tested for each pair: “better, better”."""
    shares = {("a", "b"): 0.5, ("a", "c"): 0.5, ("b", "c"): 0.5}
    frame = comparisons_frame(shares, n=120).assign(reason="it is good")
    frame["worker_id"] = [f"w{place % 40}" for place in range(len(frame))]
    frame.loc[frame["winner"] == "a", "reason"] = "it is sunny"
    section = build(replace(tables([]), comparisons=typed("comparisons", frame)), Options())
    assert section is not None
    assert [row.word for row in section.telling if row.model == "a"] == ["sunny", "sunny"]
    assert "Words associated with a: sunny." in section.headline
