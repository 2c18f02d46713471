"""Which pair is the clearest, and who is ahead of all others: the same in every section."""

from __future__ import annotations

from parlai_humaneval.report.conclusions import (
    ahead_of_all,
    apart_words,
    best_of_pairs,
    clearness,
    leader_words,
    rough_guides,
    told_leader,
)
from parlai_humaneval.report.section import PairLine, Summary
from parlai_humaneval.report.summary import pairs_table, verdict_of
from parlai_humaneval.report.views import cell_text
from parlai_humaneval.statistics.core.clustered import AGREE
from parlai_humaneval.statistics.core.formatting import hours_words
from parlai_humaneval.statistics.core.result import Result


def line(first: str, second: str, gap: float, p: float) -> PairLine:
    """``first`` is ahead of ``second`` by ``gap``, with ``p`` after the correction over three pairs."""
    test = Result(
        name="gap",
        estimate=gap,
        p_value=p / 3,
        p_holm=p,
        n=90,
        method="CR1 t",
        source="",
        details={"family": "sata, soba, preference", "family_tests": 3},
    )
    return PairLine.of(first, second, test, p / 3, share=True)


AHEAD = [line("dull", "eliza", 0.1, 0.3), line("retrieval", "dull", 0.52, 1e-7), line("retrieval", "eliza", 0.65, 1e-6)]


def summary(pairs: list[PairLine], setting: str = "soba") -> Summary:
    """An answer with these pairs."""
    words = dict.fromkeys(("section", "technique", "metric", "question", "what", "verdict"), "sata")
    return Summary(
        **words,
        setting=setting,
        models=[],
        pairs=pairs,
        reference=None,
        model_table="",
        pair_table="",
        remarks=[],
    )


def test_a_winner_is_named():
    """Who is ahead of every other model by the corrected tests; nobody where one of these pairs does not differ."""
    assert apart_words(AHEAD, "models") == (
        "2 of 3 pairs of models differ after Holm's correction: retrieval is ahead of both others"
    )
    unsure = [*AHEAD[:2], line("retrieval", "eliza", 0.2, 0.06)]
    assert ahead_of_all(unsure) is None
    assert apart_words(unsure, "models") == "1 of 3 pairs of models differs after Holm's correction"
    beaten = [*AHEAD, line("cyd", "retrieval", 0.1, 0.9)]
    assert ahead_of_all(beaten) is None
    assert ahead_of_all(AHEAD[1:2]) is None, "of two models the pair says as much"
    assert apart_words(AHEAD[:1] * 3, "models") == "None of 3 pairs of models differs after Holm's correction"
    assert "ahead" not in apart_words(AHEAD, "models and criteria")


def test_a_pair_that_cannot_be_tested_has_no_p():
    """Guards a p-value in the table below the sentence that nothing can be tested, as after one rater."""
    tested = line("alpha", "beta", 0.2, 0.01).model_copy(update={"p_paper": 0.5})
    untested = tested.model_copy(update={"p_clustered": None, "p_decides": None, "differs": None})
    rows = {row["p_paper"] for row in pairs_table(summary([tested, untested])).rows}
    assert rows == {0.5, None}
    assert [column.label for column in pairs_table(summary([untested])).columns if column.kind == "p"] == []


def test_the_clearest_has_the_largest_gap_of_equal_p():
    """p that are both written “< .0001” do not make a smaller gap the clearer one; a smaller p otherwise does."""
    assert min(AHEAD, key=clearness) is AHEAD[2]
    assert min([line("a", "b", 0.9, 0.04), line("a", "c", 0.1, 0.01)], key=clearness).second == "c"


def test_pairs_of_a_summary_stand_by_their_gaps():
    """The largest first, those without a gap last."""
    unknown = AHEAD[0].model_copy(update={"gap": None})
    assert [pair.gap for pair in summary([unknown, *AHEAD]).pairs] == [0.65, 0.52, 0.1, None]


def test_winners_of_several_questions_are_told_once():
    """Of a winner its pairs are not told one by one, and what is left out is counted."""
    lone = [line("dull", "retrieval", 0.2, 0.02), line("eliza", "dull", 0.01, 1.0)]
    verdict = verdict_of([summary(AHEAD), summary(lone, "sata_user")])
    assert "3 of 5 comparisons of two models show a difference (2 questions" in verdict
    assert "retrieval is ahead of both others (sata, soba, sata, largest p < .0001); dull is ahead of ret" in verdict
    assert "more" not in verdict


def test_rough_guides_once():
    """Few workers are told once, however many results rest on them; nothing where nothing could be estimated."""
    few = Result(
        name="x",
        estimate=0.5,
        n=9,
        method="CR1 t",
        notes=("fewer than 10 raters: take the interval as a rough guide",),
    )
    assert rough_guides([few, few, few.but(notes=())]) == ["Fewer than 10 raters: take the interval as a rough guide."]
    assert rough_guides([few.but(estimate=None)]) == []
    other = few.but(name="y", notes=("10 weigh like 8.2: take the interval as a rough guide",))
    assert [words.split(" ")[-1] for words in rough_guides([few, other])] == ["(x).", "(y)."]


def test_many_unequal_numbers_are_one_remark():
    """Guards ten remarks that only differ in a number, where one model has hardly any answers."""
    note = "gave unequal numbers of answers, so 27 weigh like {} equal ones: take the interval as a rough guide"
    plain = Result(name="", estimate=0.5, n=9, method="", source="")
    unequal = [plain.but(name=f"x{i}", notes=(note.format(i + 1.5),)) for i in range(9)]
    (remark,) = rough_guides(unequal)
    assert "27 weigh like 1.5 equal ones at worst" in remark
    assert remark.endswith("(x0).")


def test_that_all_agree_is_said_of_those_results_only():
    """Guards a false sentence: of 45 pairs of models all workers agreed on one, and the report said that they all agree."""
    agree = f"all raters {AGREE}"
    agreed = [Result(name=f"x{i}", estimate=0.0, n=5, method="", source="", notes=(agree,)) for i in range(9)]
    other = agreed[0].but(name="y", notes=())
    assert rough_guides(agreed) == [f"All raters {AGREE}."]
    assert rough_guides([agreed[0], other]) == [f"All raters {AGREE} (x0)."]
    assert rough_guides([*agreed, other])[0].endswith("(x0, x1, x2, x3, x4, x5 and 3 more).")


def test_small_numbers_in_words():
    """No “−0.000”, and no time that is none."""
    assert [cell_text(value, "number") for value in (-0.0001, 0.0, -0.0, -0.001)] == ["0.000"] * 3 + ["−0.001"]
    assert cell_text(-0.0001, "points") == "0.0"
    assert cell_text(-0.001, "share") == "0 %"
    assert [hours_words(hours) for hours in (0.0, 0.001, 0.005, 1.25)] == ["0", "under 0.01", "0.01", "1.25"]


VALUES = {"retrieval": 0.7, "dull": 0.5, "eliza": 0.4}


def test_who_leads_and_who_may_be_as_good():
    """Of three models by their pairs: alone, together with some, together with all; nothing of two."""
    names = list(VALUES)
    assert leader_words(best_of_pairs(VALUES, AHEAD)) == "retrieval ranks first (family-wise 5 %)."
    unsure = [line("retrieval", "dull", 0.1, 0.2), *AHEAD[::2]]
    assert leader_words(best_of_pairs(VALUES, unsure)) == (
        "retrieval ranks first, statistically tied with dull (family-wise 5 %)."
    )
    equal = [line(*pair, 0.1, 0.5) for pair in (names[:2], names[1:], names[::2])]
    assert leader_words(best_of_pairs(VALUES, equal)) == (
        "No model leads: all are statistically tied; retrieval has the best estimate (family-wise 5 %)."
    )
    assert leader_words(best_of_pairs(dict(list(VALUES.items())[:2]), AHEAD[1:2])) == ""
    assert best_of_pairs(VALUES, []) is None
    circle = [line("a", "b", 0.1, 0.01), line("b", "c", 0.1, 0.01), line("c", "a", 0.1, 0.01)]
    assert best_of_pairs({"a": 0.3, "b": 0.2, "c": 0.1}, circle) is None


def test_a_larger_share_does_not_lead_where_another_is_significantly_ahead():
    """Of models by share the first is below another: the leader is the first that may be the best."""
    pairs = [line("b", "a", 0.1, 0.01), line("b", "c", 0.3, 0.01), line("a", "c", 0.2, 0.3)]
    best = best_of_pairs({"a": 0.6, "b": 0.5, "c": 0.3, "d": None}, pairs)
    assert (best.leader, best.together, best.told, best.untested) == ("b", ["b"], ["a", "c"], ["d"])


def test_at_an_exact_tie_nobody_leads():
    """Guards against a leader that only the alphabet makes; a model behind both is still told from them."""
    same = [line("a", "b", 0.0, 1.0), line("a", "c", 0.3, 0.01), line("b", "c", 0.3, 0.01)]
    best = best_of_pairs({"a": 0.7, "b": 0.7, "c": 0.4}, same)
    assert (best.leader, best.together, best.told) == (None, ["a", "b"], ["c"])
    assert leader_words(best) == "No model leads: a and b are statistically tied (family-wise 5 %)."
    all_alike = [line(*pair, 0.0, 1.0) for pair in ("ab", "ac", "bc")]
    words = leader_words(best_of_pairs(dict.fromkeys("abc", 3.0), all_alike))
    assert words == "No model leads: all are statistically tied (family-wise 5 %)."


def test_ahead_of_all_needs_to_have_met_all():
    """A pair that only a model of all choices tells of, or that is missing, makes no winner over all others."""
    apart = [one.model_copy(update={"met": False}) if one.second == "eliza" else one for one in AHEAD]
    assert ahead_of_all(apart) is None
    assert ahead_of_all(AHEAD[:2]) is None


def test_the_verdict_is_told_who_leads_once():
    """Words of the pairs stand in the verdict, unless it says the same already."""
    unsure = [line("retrieval", "dull", 0.1, 0.2), *AHEAD[::2]]
    told = told_leader(summary(unsure))
    assert told.verdict == "sata retrieval ranks first, statistically tied with dull (family-wise 5 %)."
    assert told_leader(told).verdict == told.verdict
    won = summary(AHEAD).model_copy(update={"verdict": "retrieval is ahead of both others."})
    assert told_leader(won).verdict == won.verdict
    assert told_leader(won).best.together == ["retrieval"]
