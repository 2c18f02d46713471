"""The report's section on agreement: every kind of doubly judged thing, and none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from krippendorff import alpha as alpha_of
from make_judgements import (
    make_pair,
    make_pairs,
    make_ranking,
    make_replay,
    make_spotting,
    make_third_party,
    one_of_each,
)
from make_live_records import make_assessment, make_choice, make_choices, make_rated, make_ticked, make_verdict
from sklearn.metrics import cohen_kappa_score

from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.agreement import build
from parlai_humaneval.statistics.raters.agreement import ALIKE
from parlai_humaneval.tables.build import Tables, tables
from parlai_humaneval.tables.columns import from_rows, typed

FAST = Options(draws=100)
NOTHING = {name: from_rows(name, []) for name in ("turns", "dialogues", "comparisons")}


def section_of(data, options=FAST):
    """The section, which every time must show itself, and must be JSON without nan."""
    section = build(data, options)
    if section is not None:
        assert "NaN" not in section.model_dump_json()
        for table in section.data_tables():
            assert all({column.key for column in table.columns} == set(row) for row in table.rows)
        assert section.figures() or all(row.alpha.estimate is None for row in section.rows)
        assert section.headline.endswith(".")
        assert section.methods()
        assert len({(r.source, r.technique, r.setting, r.metric, r.what, r.kind) for r in section.rows}) == len(
            section.rows
        )
    return section


def only(section, **wanted):
    """The one row with these values."""
    (row,) = [row for row in section.rows if all(getattr(row, key) == value for key, value in wanted.items())]
    return row


def segments_of(labels):
    """Exchange columns only; ``labels``: worker → label of each of several dialogues' first speakers."""
    rows = [
        {
            "dialogue_id": f"d{number}",
            "worker_id": worker,
            "k": 2,
            "entity": 0,
            "model": "a",
            "opponent": "b",
            "label": label,
            "fluent": 0,
            "sensible": 0,
            "specific": 0,
            "seconds": 9,
        }
        for worker, own in labels.items()
        for number, label in enumerate(own)
        if label
    ]
    return Tables(**NOTHING, segments=typed("segments", pd.DataFrame(rows)))


def test_nothing_judged_twice_has_no_section():
    """Live dialogues have one rater each; an empty table has none."""
    assert section_of(Tables(**NOTHING)) is None
    assert section_of(tables([*make_choices({"a": 0.6, "b": 0.4}), *make_assessment({"a": 60, "qc": 20})])) is None
    assert section_of(segments_of({"w": ["bot", "human", "bot"], "v": []})) is None


def test_labels_of_several_raters():
    """Four speakers, two raters, from exchange columns only: three alike; α is that of ordered labels."""
    section = section_of(segments_of({"w": ["bot", "human", "unsure", "bot"], "v": ["bot", "human", "bot", "bot"]}))
    row = only(section, source="segments")
    assert (row.kind, row.n, row.n_raters, row.n_dialogues, row.same.estimate) == ("several", 4, 2, 4, 0.75)
    expected = alpha_of([[0, 2, 1, 0], [0, 2, 0, 0]], level_of_measurement="ordinal")
    assert row.alpha.estimate == pytest.approx(expected)
    assert section.headline.startswith("label, several raters: 75 %")


def test_how_often_each_was_judged_is_told():
    """Three raters of each are no double judgement; where some skipped, the mean is told; two of each are."""
    three = section_of(segments_of({"w": ["bot", "human"], "v": ["bot", "human"], "u": ["bot", "bot"]}))
    assert three.rows[0].per_thing == 3
    assert "of the pairs of answers about the same item, for 2 items that 3 people judged, agree" in three.headline
    some = section_of(segments_of({"w": ["bot", "human"], "v": ["bot", "human"], "u": ["bot", None]}))
    assert some.rows[0].per_thing == 2.5
    assert "2 items that 2.5 people on average judged" in some.headline
    two = section_of(segments_of({"w": ["bot", "human"], "v": ["bot", "bot"]}))
    assert two.rows[0].per_thing == 2
    assert "of 2 doubly judged answers agree" in two.headline


def test_a_thing_that_one_person_judged_does_not_count():
    """Only two of three speakers have two raters."""
    row = only(section_of(segments_of({"w": ["bot", "human", "unsure"], "v": ["bot", "human", None]})))
    assert (row.n, row.same.estimate) == (2, 1)


def test_replies_chosen_by_the_own_rater_and_another():
    """Reply by reply; κ is that of another package; the techniques are the own rater's."""
    records = [make_choice(f"l{i}", [("a",), ("b",), ("a", "b")], worker=f"w{i}") for i in range(6)]
    picks = [[("a",), ("b",), ("a",)], [("b",), ("b",), ("b",)]] * 3
    replays = [
        make_replay(f"j{i}", record, picked, worker=f"t{i % 3}")
        for i, (record, picked) in enumerate(zip(records, picks, strict=True))
    ]
    row = only(section_of(tables(replays)), kind="own")
    own = [x for _ in records for x in (1, 0, 0, 1, 1, 1)]
    other = [x for picked in picks for turn in picked for x in (int("a" in turn), int("b" in turn))]
    assert (row.source, row.technique, row.what, row.n, row.n_raters) == ("turns", "sata", "chosen", 36, 3)
    assert row.same.estimate == pytest.approx(np.mean(np.array(own) == other))
    assert row.kappa.estimate == pytest.approx(cohen_kappa_score(own, other))
    assert row.kappa.ci_low <= row.kappa.estimate <= row.kappa.ci_high


def test_the_own_rater_counts_once_among_several():
    """Whether the table holds their dialogue too, or only what others were told of it."""
    records = [make_choice(f"l{i}", [("a",), ("b",)], worker=f"w{i}") for i in range(4)]
    replays = [
        make_replay(f"j{i}{t}", record, [("a",), ("a",)], worker=t) for i, record in enumerate(records) for t in "uv"
    ]
    alone, together = (section_of(tables(part)) for part in (replays, [*records, *replays]))
    one, two = (only(section, kind="several") for section in (alone, together))
    assert one == two
    assert (one.n, one.n_raters) == (16, 6)
    # The first turn: three of three alike, both replies; the second: one of three pairs.
    assert one.same.estimate == pytest.approx((1 + 1 / 3) / 2)
    assert only(alone, kind="own") == only(together, kind="own")


def test_ticks_verdicts_ranks_and_ratings_of_the_own_rater():
    """Each has a row, by what was asked; replies ranked in pairs, ratings at interval level."""
    ticked = [make_ticked(f"s{i}", worker=f"w{i}") for i in range(4)]
    rated = [
        make_rated(f"r{i}", "a", {"fluent": 60.0 + i, "robotic": 20.0 + i}, worker=f"w{i}", degraded="")
        for i in range(4)
    ]
    verdicts = [make_verdict(f"v{i}", "ab"[i % 2], worker=f"w{i}") for i in range(4)]
    chosen = [make_choice(f"c{i}", [("a",), ("b",)], worker=f"w{i}") for i in range(4)]
    section = section_of(
        tables(
            [
                *(make_replay(f"s{i}", r, [("engaging",), ("engaging",)], worker="t") for i, r in enumerate(ticked)),
                *(
                    make_replay(f"r{i}", r, final={"fluent": 62.0, "robotic": 21.0}, worker="t")
                    for i, r in enumerate(rated)
                ),
                *(make_replay(f"v{i}", r, verdict="a", worker="t") for i, r in enumerate(verdicts)),
                *(make_ranking(f"c{i}", r, 1, {"a": 1, "b": 2}, worker="t") for i, r in enumerate(chosen)),
            ]
        )
    )
    engaging = only(section, what="engaging", source="turns")
    assert (engaging.technique, engaging.n, engaging.same.estimate) == ("single_model", 8, 0.5)
    fluent = only(section, what="fluent")
    assert (fluent.technique, fluent.scale, fluent.n, fluent.same.estimate) == (
        "direct_assessment",
        "interval",
        4,
        0.25,
    )
    assert fluent.alpha.estimate == pytest.approx(
        alpha_of([[60, 61, 62, 63], [62] * 4], level_of_measurement="interval")
    )
    verdict = only(section, what="winner", metric="preference")
    assert (verdict.n, verdict.same.estimate) == (4, 0.5)
    rank = only(section, what="winner", metric="rank")
    assert (rank.n, rank.same.estimate, rank.kappa.estimate) == (4, 1, None)
    assert any(ALIKE.capitalize() in text for text in section.remarks)


def test_sliders_have_no_kappa():
    """Forty ratings of 0 to 100 are hardly ever the same number; α takes their distance."""
    rng = np.random.default_rng(0)
    truth = rng.integers(20, 80, 40)
    rows = [
        {
            "dialogue_id": f"d{i}",
            "worker_id": worker,
            "model": "a",
            "criterion": "fluent",
            "value": int(truth[i] + rng.integers(-5, 6)),
            "degraded": 0,
        }
        for i in range(40)
        for worker in ("u", "v", "w")
    ]
    row = only(section_of(Tables(**NOTHING, ratings=typed("ratings", pd.DataFrame(rows)))))
    assert (row.source, row.kappa, row.scale, row.n) == ("ratings", None, "interval", 40)
    assert row.alpha.ci_low < row.alpha.estimate < row.alpha.ci_high
    assert row.alpha.estimate > 0.85
    assert row.same.estimate < 0.3


def test_comparisons_agree_whichever_way_round_their_rows_stand():
    """The same winner with the models exchanged is the same judgement."""
    names = ("item_id", "worker_id", "metric", "model_a", "model_b", "dialogue_a", "dialogue_b", "winner", "seconds")
    rows = [
        ("i1", "u", "preference", "a", "b", "d1", "d2", "a", 5),
        ("i1", "v", "preference", "b", "a", "d2", "d1", "a", 5),
        ("i2", "u", "preference", "a", "b", "d3", "d4", "tie", 5),
        ("i2", "v", "preference", "a", "b", "d3", "d4", "b", 5),
        ("i3", "u", "preference", "a", "b", "d5", "d6", "b", 5),
        ("i3", "u", "humanness", "a", "b", "d5", "d6", "b", 5),
    ]
    frame = pd.DataFrame(rows, columns=names)
    section = section_of(Tables(**{**NOTHING, "comparisons": typed("comparisons", frame)}))
    row = only(section)
    assert (row.metric, row.scale, row.n, row.same.estimate) == ("preference", "ordinal", 2, 0.5)


def test_our_own_studies_have_their_rows():
    """Pairs of dialogues, segments and third parties; a judgement of every kind."""
    for records, sources in (
        (make_pairs({"a": 2.0, "b": 1.0}), {"comparisons"}),
        (make_spotting({"a": 0.6, "b": 0.4, "human": 0.9}), {"segments"}),
        (make_third_party(), {"turns", "comparisons", "ratings"}),
        (one_of_each(), {"turns", "comparisons", "ratings"}),
    ):
        section = section_of(tables(records))
        assert {row.source for row in section.rows} == sources
        assert all(row.same.estimate is None or 0 <= row.same.estimate <= 1 for row in section.rows)


def replays(pairs):
    """Own and third-party choices of one-turn dialogues, each by its own two people."""
    return [
        make_replay(f"j{i}", make_choice(f"d{i}", [own], worker=f"own{i}"), [third], worker=f"t{i % 4}")
        for i, (own, third) in enumerate(pairs)
    ]


def test_how_often_each_said_yes():
    """Choices of a and b by both raters, and their shares of yes beside the agreement."""
    pairs = [(("a",), ("a",)), (("a",), ("a", "b")), ((), ("b",)), (("a", "b"), ("a", "b"))]
    section = section_of(tables(replays(pairs)))
    row = only(section, kind="own")
    own = [int(name in picked) for picked, _ in pairs for name in "ab"]
    third = [int(name in picked) for _, picked in pairs for name in "ab"]
    assert (row.what, row.n, row.n_dialogues) == ("chosen", 8, 4)
    assert (row.own_mean, row.other_mean, row.difference) == (np.mean(own), np.mean(third), None)
    assert row.same.estimate == np.mean(np.array(own) == np.array(third))
    assert "agreement_with_own_rater" in {table.key for table in section.data_tables()}


def test_turn_by_turn_and_setting_by_setting():
    """Turn 1 always agrees, turn 2 never; another setting stands apart; of one turn there is nothing to tell."""
    records = [
        make_replay(f"j{i}", make_choice(f"d{i}", [("a",), ("a",)], setting=setting), [("a",), ("b",)], worker=f"t{i}")
        for i, setting in enumerate(["sata_user", "sata_user", "soba"])
    ]
    section = section_of(tables(records))
    assert [(row.technique, row.setting, row.n_dialogues) for row in section.rows] == [
        ("sata", "sata_user", 2),
        ("sata", "soba", 1),
    ]
    turns = [(row.turn, row.n, row.same.estimate) for row in section.by_turn if row.setting == "sata_user"]
    assert turns == [(1, 4, 1.0), (2, 4, 0.0)]
    assert section_of(tables(replays([(("a",), ("b",))] * 3))).by_turn == []


def test_equal_replies_and_turns_without_a_question_do_not_count():
    """A reply shown under another's card is one answer; where nothing was asked there is none."""
    live = make_choice("d1", [("a", "b"), ("a",)])
    live.turns[0].candidates[1].same_as = live.turns[0].candidates[0].candidate_id
    live.turns[1].automatic = True
    row = only(section_of(tables([make_replay("j1", live, [("a", "b"), ("b",)])])))
    assert (row.n, row.same.estimate) == (1, 1.0)


def test_ratings_of_both_are_compared():
    """The third party is 10 lower throughout: a difference, which is told, and no equal rating."""
    records = [
        make_replay(
            f"j{i}", make_rated(f"d{i}", "a", {"fluent": value}), final={"fluent": value - 10 - i % 2}, worker=f"t{i}"
        )
        for i, value in enumerate([20.0, 40.0, 60.0, 80.0])
    ]
    section = section_of(tables(records))
    row = only(section)
    assert (row.n, row.own_mean, row.other_mean, row.same.estimate) == (4, 50, 39.5, 0)
    assert row.difference.estimate == pytest.approx(-10.5)
    assert row["p_difference"] < 0.001
    assert 0.5 < row.alpha.estimate < 1
    assert any(
        text.startswith(
            "People who rated a dialogue again rated fluent lower than the dialogue's own rater, by 10.50 on average (p"
        )
        for text in section.remarks
    )


def test_verdicts_agree_by_partner_not_by_name():
    """a–a, b–a, tie–tie of partners that change sides."""
    given = [("a", "a", ("x", "y")), ("b", "a", ("y", "x")), ("tie", "tie", ("x", "y"))]
    records = [
        make_replay(f"j{i}", make_verdict(f"d{i}", own, models=models), verdict=third, worker=f"t{i}")
        for i, (own, third, models) in enumerate(given)
    ]
    row = only(section_of(tables(records)))
    assert (row.what, row.n, row.same.estimate) == ("winner", 3, pytest.approx(2 / 3))
    assert row.own_mean is None


def test_a_replay_that_was_left_does_not_count():
    """Its answers are in the table; the section waits for the whole item."""
    good = replays([(("a",), ("a",))] * 3)
    left = make_replay("left", make_choice("dx", [("a",), ("a",)]), [("b",)], end="left")
    assert section_of(tables(good)) == section_of(tables([*good, left]))


def test_perfect_agreement_that_chance_explains_is_not_called_agreement():
    """Both always chose both: 100 %, and κ cannot be estimated, which is told."""
    section = section_of(tables(replays([(("a", "b"), ("a", "b"))] * 4)))
    row = only(section)
    assert (row.same.estimate, row.kappa.estimate) == (1.0, None)
    assert any(ALIKE.capitalize() in text for text in section.remarks)


def test_pairs_of_dialogues_that_several_judged():
    """Two items alike, one not, one judged once; whichever side the winner stood on."""
    chosen = [("i1", "a", "b", "first"), ("i1", "b", "a", "second"), ("i2", "a", "b", "second")]
    chosen += [("i2", "a", "b", "second"), ("i3", "a", "b", "first"), ("i3", "a", "b", "second")]
    chosen += [("i4", "a", "b", "first")]
    records = [
        make_pair(f"j{i}", left, right, side, worker=f"w{i}", item=item)
        for i, (item, left, right, side) in enumerate(chosen)
    ]
    row = only(section_of(tables(records)))
    assert (row.kind, row.n, row.same.estimate) == ("several", 3, pytest.approx(2 / 3))


def test_one_number_of_draws_and_one_seed():
    """All bootstraps are those of the options, as the rows and the method say."""
    section = section_of(tables(make_spotting({"a": 0.6, "b": 0.4})), Options(draws=120, seed=5, level=0.9))
    for row in section.rows:
        for result in (row.kappa, row.alpha):
            assert (result.details["draws"], result.details["seed"], result.level) == (120, 5, 0.9)
    assert any("120 bootstrap samples of whole dialogues, seed 5" in method.text for method in section.methods())


def test_raters_and_their_order_do_not_matter():
    """Rows shuffled and raters renamed; the same numbers, intervals too but for the draw of the bootstrap."""
    labels = np.array(["bot", "unsure", "human"])
    rng = np.random.default_rng(1)
    data = segments_of({w: list(labels[rng.integers(0, 3, 12)]) for w in "uvw"})
    other = data.segments.sample(frac=1, random_state=0)
    other = other.assign(worker_id=other["worker_id"].map({"u": "x", "v": "a", "w": "m"}))
    one, two = (only(section_of(Tables(**NOTHING, segments=frame))) for frame in (data.segments, other))
    assert (one.same.estimate, one.kappa.estimate, one.alpha.estimate) == pytest.approx(
        (two.same.estimate, two.kappa.estimate, two.alpha.estimate)
    )
    assert (one.same.ci_low, one.same.ci_high) == pytest.approx((two.same.ci_low, two.same.ci_high))
