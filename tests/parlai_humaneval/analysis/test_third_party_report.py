"""The report of a third party: agreement with own raters, rankings, scales."""

from __future__ import annotations

import numpy as np
import pytest
from make_judgements import make_ranking, make_replay, make_third_party, make_whole, shown
from make_live_records import make_choice, make_rated, make_ticked, make_verdict
from scipy.stats import kendalltau
from sklearn.metrics import cohen_kappa_score

from parlai_humaneval.analysis.reports.third_party.build import build_report
from parlai_humaneval.analysis.reports.third_party.types import RankGroup, ReplayGroup, ScaleGroup
from parlai_humaneval.tables.from_records import tables


def only(records, kind):
    (group,) = [group for group in build_report(tables(records)).groups if isinstance(group, kind)]
    return group


def replays(pairs):
    """Own and third-party choices of one-turn dialogues, each by its own two people."""
    return [
        make_replay(f"j{i}", make_choice(f"d{i}", [own], worker=f"own{i}"), [third], worker=f"t{i % 4}")
        for i, (own, third) in enumerate(pairs)
    ]


def test_agreement_is_reply_by_reply():
    """Choices of a and b by both raters, against scikit-learn on the same eight answers."""
    pairs = [(("a",), ("a",)), (("a",), ("a", "b")), ((), ("b",)), (("a", "b"), ("a", "b"))]
    (answer,) = only(replays(pairs), ReplayGroup).answers
    own = [int(name in one) for one, _ in pairs for name in "ab"]
    third = [int(name in other) for _, other in pairs for name in "ab"]
    assert (answer.what, answer.n, answer.n_dialogues) == ("chosen", 8, 4)
    assert answer.percent.estimate == pytest.approx(np.mean(np.array(own) == np.array(third)))
    assert answer.kappa.estimate == pytest.approx(cohen_kappa_score(own, third))
    assert (answer.own_share, answer.third_share) == (np.mean(own), np.mean(third))


def test_turn_by_turn_and_setting_by_setting():
    """Turn 1 always agrees, turn 2 never; another setting stands apart."""
    records = [
        make_replay(f"j{i}", make_choice(f"d{i}", [("a",), ("a",)], setting=setting), [("a",), ("b",)], worker=f"t{i}")
        for i, setting in enumerate(["sata_user", "sata_user", "soba"])
    ]
    groups = build_report(tables(records)).groups
    assert [(group.technique, group.setting, group.n_dialogues) for group in groups] == [
        ("sata", "sata_user", 2),
        ("sata", "soba", 1),
    ]
    (answer,) = groups[0].answers
    assert [(row.turn, row.n, row.percent.estimate) for row in answer.by_turn] == [(1, 4, 1.0), (2, 4, 0.0)]


def test_equal_replies_and_turns_without_a_question_do_not_count():
    """A reply shown under another's card is one answer; where nothing was asked there is none."""
    live = make_choice("d1", [("a", "b"), ("a",)])
    live.turns[0].candidates[1].same_as = live.turns[0].candidates[0].candidate_id
    live.turns[1].automatic = True
    (answer,) = only([make_replay("j1", live, [("a", "b"), ("b",)])], ReplayGroup).answers
    assert (answer.n, answer.percent.estimate) == (1, 1.0)


def test_each_tick_is_an_answer_of_its_own():
    """engaging: yes–yes, no–no; humanlike: no–yes, no–no."""
    live = make_ticked("d1", [["engaging"], []], ratings={"engaging": 4})
    group = only([make_replay("j1", live, [["engaging", "humanlike"], []], final={"engaging": 2})], ReplayGroup)
    found = {answer.what: (answer.n, answer.percent.estimate) for answer in group.answers}
    assert found == {"engaging": (2, 1.0), "humanlike": (2, 0.5), "interesting": (2, 1.0)}
    assert [(row.criterion, row.own_mean, row.third_mean) for row in group.ratings] == [("engaging", 4, 2)]


def test_ratings_of_both_are_compared():
    """The third party is 10 lower throughout: a difference, and no equal rating."""
    own = [20.0, 40.0, 60.0, 80.0]
    records = [
        make_replay(
            f"j{i}", make_rated(f"d{i}", "a", {"fluent": value}), final={"fluent": value - 10 - i % 2}, worker=f"t{i}"
        )
        for i, value in enumerate(own)
    ]
    (row,) = only(records, ReplayGroup).ratings
    assert (row.n, row.own_mean, row.third_mean, row.equal.estimate) == (4, 50, 39.5, 0)
    assert row.difference.estimate == pytest.approx(-10.5)
    assert row.difference.p_value < 0.001
    assert 0.5 < row.alpha.estimate < 1


def test_verdicts_agree_by_partner_not_by_name():
    """a–a, b–a, tie–tie of partners that change sides."""
    given = [("a", "a", ("x", "y")), ("b", "a", ("y", "x")), ("tie", "tie", ("x", "y"))]
    records = [
        make_replay(f"j{i}", make_verdict(f"d{i}", own, models=models), verdict=third, worker=f"t{i}")
        for i, (own, third, models) in enumerate(given)
    ]
    (answer,) = only(records, ReplayGroup).answers
    assert (answer.what, answer.n, answer.percent.estimate) == ("verdict", 3, pytest.approx(2 / 3))
    assert answer.own_share is None


def test_several_third_parties_are_compared_with_each_other_too():
    """Three who rated the same: own, and two others who both disagree with them."""
    live = [make_choice(f"d{i}", [("a",)]) for i in range(4)]
    records = [make_replay(f"j{i}{r}", one, [("b",)], worker=f"t{r}") for i, one in enumerate(live) for r in range(2)]
    (answer,) = only(records, ReplayGroup).answers
    assert answer.percent.estimate == 0
    assert (answer.among_several.n, answer.among_several.percent.estimate) == (8, pytest.approx(1 / 3))
    assert only(records[::2], ReplayGroup).answers[0].among_several is None


def test_ranks_by_hand():
    """Places of a: 1, 1, 2; of b: 2, 1, 1; a was picked in all, b in none: τ-b of the three turns 1, –, −1."""
    live = [make_choice(f"d{i}", [("a",)]) for i in range(3)]
    places = [{"a": 1, "b": 2}, {"a": 1, "b": 1}, {"a": 2, "b": 1}]
    records = [
        make_ranking(f"j{i}", one, 1, of, worker=f"t{i}") for i, (one, of) in enumerate(zip(live, places, strict=True))
    ]
    group = only(records, RankGroup)
    rows = {row.model: (row.mean_rank.estimate, row.best.estimate, row.own_picked) for row in group.models}
    assert rows["a"] == (pytest.approx(4 / 3), pytest.approx(2 / 3), 1)
    assert rows["b"] == (pytest.approx(4 / 3), pytest.approx(2 / 3), 0)
    (pair,) = group.pairs
    assert (pair.wins_a, pair.wins_b, pair.ties) == (1, 1, 1)
    assert (group.tau.n, group.tau.estimate) == (2, 0)
    assert (group.n_rankings, group.n_turns, group.n_workers) == (3, 3, 3)


def test_tau_is_the_mean_of_scipys_over_rankings():
    """Where the own rater picked none or all, there is none."""
    records = [record for record in make_third_party(seed=3) if record.metric == "rank"]
    expected = []
    for record in records:
        (answer,) = record.answers
        turn = record.dialogues[0].replayed.turns[answer.turn - 1]
        places = [-answer.ranks[c.candidate_id] for c in turn.candidates]
        picked = [int(c.candidate_id in turn.selected) for c in turn.candidates]
        asked = turn.complete and len(set(picked)) > 1
        expected += [kendalltau(places, picked).statistic] if asked else []
    group = only(records, RankGroup)
    assert group.tau.n == len(expected) > 5
    assert group.tau.estimate == pytest.approx(np.mean(expected))


def test_whole_dialogues_are_means_by_model_and_dimension():
    """overall 4 and 2 for a, 5 for b; two raters of d1 agree on nothing."""
    chats = {"d1": "a", "d2": "b"}
    given = [("d1", 4, 3), ("d1", 2, 1), ("d2", 5, 2)]
    records = [
        make_whole(f"j{i}", shown(d, (chats[d],) * 2, judged=0), {"overall": o, "coherence": c}, worker=f"t{i}")
        for i, (d, o, c) in enumerate(given)
    ]
    group = only(records, ScaleGroup)
    rows = {(row.criterion, row.model): (row.n, row.mean.estimate) for row in group.rows}
    assert rows == {
        ("overall", "a"): (2, 3.0),
        ("overall", "b"): (1, 5.0),
        ("coherence", "a"): (2, 2.0),
        ("coherence", "b"): (1, 2.0),
    }
    assert [(row.criterion, row.minimum, row.maximum) for row in group.agreement] == [
        ("overall", 1, 5),
        ("coherence", 1, 3),
    ]
    assert "overall b 5.00, a 3.00" in group.headline


def test_a_replay_that_was_left_does_not_count():
    """Its answers are in the table; the report waits for the whole item."""
    good = replays([(("a",), ("a",))] * 3)
    left = make_replay("left", make_choice("dx", [("a",), ("a",)]), [("b",)], end="left")
    one, other = build_report(tables(good)), build_report(tables([*good, left]))
    assert one.groups == other.groups
    assert other.judgements.partial == 1


def test_perfect_agreement_that_chance_explains_is_not_called_agreement():
    """Both always chose both: 100 %, and κ cannot be estimated."""
    group = only(replays([(("a", "b"), ("a", "b"))] * 4), ReplayGroup)
    (answer,) = group.answers
    assert (answer.percent.estimate, answer.kappa.estimate) == (1.0, None)
    assert "Cohen's κ cannot be estimated" in group.headline
