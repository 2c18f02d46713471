"""The section on judged segments: its keys, hand-made numbers, poor data, settings, speed of thought."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from make_judgements import make_segment, make_spotting
from scipy.stats import chisquare

from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.spot_the_bot import build
from parlai_humaneval.statistics.core.multiplicity import holm
from parlai_humaneval.statistics.survival.curve import survival_curve
from parlai_humaneval.statistics.survival.tests import survival_score_test
from parlai_humaneval.tables.build import tables
from parlai_humaneval.tables.files import read_tables
from parlai_humaneval.tables.schema import TABLES

QUICK = Options(draws=60)
MUST = [column.name for column in TABLES["segments"] if column.exchange]


def segment(number, labels, entities=("a", "b"), *, worker=None, **fields):
    return make_segment(
        f"j{number}", entities, labels, worker=worker or f"w{number % 5}", dialogue=f"d{number}", **fields
    )


def section_of(records, options=QUICK):
    section = build(tables(records), options)
    assert section is not None
    return section


def numbers(section):
    """What the section publishes, but for the names of what was asked, and times."""
    unnamed = {"seconds", "technique", "setting", "metric"}
    tested = [
        [{key: value for key, value in row.model_dump().items() if key != "family"} for row in table]
        for table in (section.pairs, section.tests, section.features)
    ]
    return tested, section.model_dump(exclude={*unnamed, "pairs", "tests", "features"})


@pytest.fixture(scope="module")
def spotted():
    """Three bots of which one is far ahead, and people; two raters a segment."""
    return tables(make_spotting({"good": 0.95, "mean": 0.5, "bad": 0.08, "human": 0.9}, dialogues=10, seed=2))


@pytest.fixture(scope="module")
def section(spotted):
    return build(spotted, Options(draws=300))


def test_the_keys_of_the_json(section):
    """What other programs read: names, plain numbers, texts as lengths, no nan."""
    found = json.loads(section.model_dump_json())
    for row in found["models"]:
        assert {"model", "win_rate", "survival", "rank_low", "rank_high", "cluster"} <= set(row)
        assert list(row["survival"]) == ["2", "3", "5"]
    for row in found["tests"]:
        assert {"name", "models", "statistic", "p_value", "p_holm", "method"} <= set(row)
        assert row["models"][0] < row["models"][1]
    assert len(found["tests"]) == len(found["pairs"]) == 3
    assert "NaN" not in section.model_dump_json()


def test_bots_stand_best_first_and_people_apart(section):
    """Far apart: a cluster each, by segments and by workers; people are no bots."""
    assert [row.model for row in section.models] == ["good", "mean", "bad"]
    assert [row.cluster for row in section.models] == [1, 2, 3]
    assert [(row.rank_low, row.rank_high, row.cluster_workers) for row in section.models] == [
        (1, 1, 1),
        (2, 2, 2),
        (3, 3, 3),
    ]
    for row in section.models:
        assert row.rank_low_workers <= row.rank <= row.rank_high_workers, "the rank shown lies inside of its range"
    assert section.humans.model == "human"
    assert "good wins" in section.headline
    assert "clustered by 12 raters" in section.headline
    assert "by ranks over resampled raters (not a test of pairs)" in section.headline
    assert "good, then mean, then bad" in section.headline


def test_numbers_are_those_of_the_rows(spotted, section):
    """Win rates, ties, survival and score tests from the table itself."""
    rows = spotted.segments
    for row in section.models:
        own = rows[(rows["model"] == row.model).to_numpy(dtype=bool)]
        seen = own["label"] == "bot"
        assert {int(k): share for k, share in row["survival"].items()} == pytest.approx(survival_curve(own["k"], seen))
        assert row.win_rate_pooled.estimate == pytest.approx(row.wins / (row.wins + row.losses))
        met = {
            pair.model_b if pair.model_a == row.model else pair.model_a: pair
            for pair in section.pairs
            if row.model in (pair.model_a, pair.model_b)
        }
        rates = [
            pair.win_rate.estimate if pair.model_a == row.model else 1 - pair.win_rate.estimate for pair in met.values()
        ]
        assert row.win_rate.estimate == pytest.approx(np.mean(rates))
        assert row.wins + row.losses + row.ties == row.n == len(own)
        for point in row.curve.values():
            assert point.ci_low is None or point.ci_low <= point.estimate <= point.ci_high
    for pair in section.pairs:
        assert pair.paper.p_value == pytest.approx(chisquare([pair.wins_a, pair.wins_b]).pvalue)
        assert pair.win_rate.ci_low <= pair.win_rate.estimate <= pair.win_rate.ci_high
    assert sum(row.wins for row in section.models) == sum(row.losses for row in section.models)
    for test in section.tests:
        own = rows[rows["model"].isin(test.models).to_numpy(dtype=bool)]
        expected = survival_score_test(own["k"], own["label"] == "bot", own["model"] == test.models[1])
        assert test.score.p_value == pytest.approx(expected.p_value)
        assert test.clustered.estimate == pytest.approx(expected.estimate)


@pytest.mark.parametrize("family", ["pairs", "tests", "features"])
def test_each_kind_of_p_is_corrected_over_its_table(section, family):
    """Holm over all rows of the table."""
    rows = getattr(section, family)
    for plain, corrected in (("p_value", "p_holm"), ("p_clustered", "p_clustered_holm")):
        assert [row[corrected] for row in rows] == holm([row[plain] for row in rows])


def test_tables_and_figures_fit_each_other(section):
    """Unique keys, cells of declared columns only, bands and matrices of the right size."""
    made = section.data_tables()
    assert len({table.key for table in made}) == len(made) == 10
    for table in made:
        assert all(set(row) == {column.key for column in table.columns} for row in table.rows)
    figures = {figure.key: figure for figure in section.figures()}
    assert set(figures) == {
        f"segments_{name}" for name in ("survival", "ranks", "win_rates", "win_p", "survival_p", "stability")
    }
    for curve in figures["segments_survival"].curves:
        assert (curve.x[0], curve.y[0]) == (0, 1)
        assert len(curve.x) == len(curve.y) == len(curve.low) == len(curve.high)
    heat = figures["segments_win_rates"]
    assert heat.values[0][1] == pytest.approx(1 - heat.values[1][0])
    assert heat.values[0][0] is None
    assert {method.name for method in section.methods()} >= {"Win rate", "Survival", "Ranks and clusters", "Stability"}


def test_exchange_columns_are_enough(spotted, tmp_path):
    """Only what the exchange format asks for, from a file, gives the same numbers."""
    spotted.segments[MUST].to_csv(tmp_path / "segments.csv", index=False)
    read = build(read_tables(tmp_path), QUICK)
    ours = build(spotted, QUICK)
    assert numbers(read) == numbers(ours)
    times = [[row.median_seconds for row in section.seconds] for section in (read, ours)]
    assert times[0] == pytest.approx(times[1]), "a file rounds"


def test_names_of_bots_do_not_matter(spotted):
    """Renamed bots keep their numbers, with the pairs turned round where the alphabet says so."""
    names = {"good": "z", "mean": "y", "bad": "x", "human": "human"}
    renamed = spotted.segments.assign(
        **{column: spotted.segments[column].map(names) for column in ("model", "opponent")}
    )
    one, other = build(spotted, QUICK), build(type(spotted)(**{**vars(spotted), "segments": renamed}), QUICK)
    assert [names[row.model] for row in one.models] == [row.model for row in other.models]
    for row, again in zip(one.models, other.models, strict=True):
        assert (row["win_rate"], row["survival"], row["ci_low"]) == (
            again["win_rate"],
            again["survival"],
            again["ci_low"],
        )
    before = {frozenset(names[name] for name in test.models): test for test in one.tests}
    for test in other.tests:
        same = before[frozenset(test.models)]
        sign = 1 if [names[name] for name in same.models] == test.models else -1
        assert test.score.p_value == pytest.approx(same.score.p_value)
        assert test.clustered.estimate == pytest.approx(sign * same.clustered.estimate)
        assert test.clustered.p_value == pytest.approx(same.clustered.p_value)


def test_nothing_to_say():
    """No rows, or only unfinished ones: no section."""
    assert build(tables([]), QUICK) is None
    assert build(tables([segment(1, ("bot", "human"), end="left")]), QUICK) is None


def test_unfinished_judgements_are_counted_only():
    """Their labels are not there, or do not count."""
    records = [segment(i, ("human", "bot")) for i in range(6)]
    table = tables(records)
    status = table.segments["dialogue_status"].where(table.segments["dialogue_id"] != "d0", "partial")
    left = type(table)(**{**vars(table), "segments": table.segments.assign(dialogue_status=status)})
    section = build(left, QUICK)
    assert (section.n_segments, section.unfinished, section.models[0].n) == (5, 1, 5)
    assert any("1 unfinished judgement" in remark for remark in section.remarks)


def test_one_rater():
    """Estimates, but neither intervals nor clustered p; the paper's p stands."""
    section = section_of([segment(i, ("human", "bot"), worker="w") for i in range(8)])
    (pair,) = section.pairs
    assert (pair.win_rate.estimate, pair.win_rate.ci_low, pair.win_rate.p_value) == (1.0, None, None)
    assert pair.paper.p_value < 0.01
    assert section.models[0].rank is None
    assert section.models[0].cluster == 1
    assert any("1 rater" in remark for remark in section.remarks)
    assert "no interval" in section.headline


def test_one_bot():
    """Self-chats: labels and survival, but no ranks; the headline says how long it passes."""
    section = section_of([segment(i, ("human", "bot"), ("a", "a"), k=2 + i % 2) for i in range(20)])
    (row,) = section.models
    assert (row.n, row.wins, row.win_rate, row.tie_share, row.cluster) == (40, 0, None, None, None)
    assert (section.pairs, section.tests, section.stability) == ([], [], [])
    assert section.headline.startswith("a is not taken for a bot within 3 exchanges in 50 %")
    assert any("Only one bot" in remark for remark in section.remarks)


def test_only_people():
    """No bots at all: what people are taken for."""
    section = section_of([segment(i, ("human", "bot"), ("human", "human")) for i in range(12)])
    assert (section.models, section.tests) == ([], [])
    assert section.headline.startswith("No bot was judged")
    assert section.humans.spotted.result.estimate == 0.5


def test_all_ties():
    """Nobody wins: no win rates and no ranks, and it is said; nobody spotted: p = 1."""
    section = section_of([segment(i, ("human", "human")) for i in range(20)])
    assert [(row["win_rate"], row.cluster, row.ties) for row in section.models] == [(None, None, 20)] * 2
    assert section.pairs[0].paper.p_value == 1.0
    assert section.tests[0].score.p_value == 1.0
    assert any("All 20 segments of two bots are ties" in remark for remark in section.remarks)
    assert not [figure for figure in section.figures() if figure.key == "segments_ranks"]


def test_one_length_is_said(section):
    """The survival is known at one point."""
    only = section_of([segment(i, ("human", "bot")) for i in range(10)])
    assert only.lengths == [2]
    assert any("All segments have 2 exchanges" in remark for remark in only.remarks)
    assert not any("All segments have" in remark for remark in section.remarks)


def test_features_that_were_not_asked():
    """No rows for them; those asked stand alone."""
    rng = np.random.default_rng(0)
    records = [
        segment(
            i, (str(rng.choice(["human", "bot"])), "bot"), features={"fluent": str(rng.choice(["first", "second"]))}
        )
        for i in range(40)
    ]
    section = section_of(records)
    assert {row.feature for row in section.features} == {"fluent"}
    assert section_of([segment(i, ("human", "bot")) for i in range(5)]).features == []


def test_a_feature_that_is_always_the_same():
    """Its effect cannot be estimated, which is said."""
    records = [segment(i, (("human", "bot")[i % 2], "bot"), features={"fluent": "same"}) for i in range(20)]
    section = section_of(records)
    row = next(row for row in section.features if row.model == "a")
    assert (row.clustered.estimate, row.paper.p_value, row.same) == (None, None, 20)
    assert any("Effects that cannot be estimated" in remark and "same in all" in remark for remark in section.remarks)


def test_settings_are_pooled_and_stand_by_themselves():
    """Two domains with opposite winners: neither wins over both, each wins in its own."""
    records = [segment(i, ("human", "bot"), setting="one") for i in range(20)]
    records += [segment(100 + i, ("bot", "human"), setting="two") for i in range(20)]
    section = section_of(records)
    assert [row["win_rate"] for row in section.models] == [0.5, 0.5]
    assert [part.setting for part in section.settings] == ["one", "two"]
    assert [part.models[0].model for part in section.settings] == ["a", "b"]
    assert "2 settings are pooled here (one, two)" in section.remarks[0]
    for shown in (section.data_tables(), section.figures()):
        keys = [one.key for one in shown]
        assert len(set(keys)) == len(keys)
        assert {"segments_survival", "segments_survival_one", "segments_survival_two"} <= set(keys)
    assert section_of(records[:20]).settings == []


def test_clusters_that_differ_are_told():
    """One suspicious worker decides for a: by segments a leads alone, by workers it cannot be told."""
    records = [segment(i, ("human", "bot"), worker="w0") for i in range(60)]
    records += [segment(100 + i, (("human", "bot"), ("bot", "human"))[i % 2], worker=f"v{i % 4}") for i in range(40)]
    section = section_of(records, Options(draws=300))
    assert [row.cluster for row in section.models] == [1, 2]
    assert [row.cluster_workers for row in section.models] == [1, 1]
    assert any("Rely on the second result" in remark and "a > b" in remark for remark in section.remarks)
    assert any(
        "Wins of a against b: significant if all answers are treated as independent" in r for r in section.remarks
    )


def test_seconds_by_kind_and_length():
    """Medians; each segment once, though two speakers share it; unknown times do not count."""
    records = [segment(i, ("human", "bot"), k=2, seconds=10.0 + i) for i in range(3)]
    records += [segment(10 + i, ("human", "human"), ("human", "human"), k=5, seconds=40.0 + i) for i in range(5)]
    rows = {(row.kind, row.k): (row.n, row.median_seconds) for row in section_of(records).seconds}
    assert rows[(None, None)] == (8, 40.5)
    assert rows[("bot_bot", None)] == rows[(None, 2)] == rows[("bot_bot", 2)] == (3, 11.0)
    assert rows[("human_human", None)] == (5, 42.0)
    table = tables(records)
    unknown = type(table)(**{**vars(table), "segments": table.segments.assign(seconds=pd.NA)})
    assert build(unknown, QUICK).seconds == []


def test_lengths_below_one_are_refused():
    """A segment has at least one exchange."""
    table = tables([segment(1, ("human", "bot"))])
    wrong = type(table)(**{**vars(table), "segments": table.segments.assign(k=0)})
    with pytest.raises(ValueError, match="whole number, 1 or more"):
        build(wrong, QUICK)


def test_what_people_were_taken_for_says_how_many_judged(section):
    """An interval wider than its cases would have it: it is clustered."""
    (remark,) = [text for text in section.remarks if text.startswith("People were taken for bots")]
    assert remark.endswith("clustered by 12 raters and 10 dialogues.")
    alone = section_of([segment(n, ["human", "human"], ("human", "human")) for n in range(10)])
    assert "clustered by 5 raters" in alone.headline


def test_two_bots_need_no_matrices():
    """One number is no matrix; of three there are some."""
    two = build(tables(make_spotting({"good": 0.9, "bad": 0.2}, dialogues=8, seed=1)), QUICK)
    assert two.pairs
    assert not [figure for figure in two.figures() if figure.kind == "heat"]


@pytest.mark.parametrize(
    ("labels", "wins_ties"),
    [
        (("human", "unsure"), (1, 0, 0)),
        (("human", "bot"), (1, 0, 0)),
        (("unsure", "bot"), (1, 0, 0)),
        (("bot", "human"), (0, 1, 0)),
        (("bot", "unsure"), (0, 1, 0)),
        (("human", "human"), (0, 0, 1)),
        (("unsure", "unsure"), (0, 0, 1)),
        (("bot", "bot"), (0, 0, 1)),
    ],
)
def test_the_better_label_wins(labels, wins_ties):
    """human > unsure > bot; the same label is a tie. Who speaks first makes no difference."""
    for order in (1, -1):
        (pair,) = section_of([segment(1, labels[::order], ("a", "b")[::order])]).pairs
        assert (pair.wins_a, pair.wins_b, pair.ties) == wins_ties


def test_equation_1_drops_ties():
    """6 wins, 2 losses, 4 ties: .75, and a third are ties."""
    labels = [("human", "bot")] * 6 + [("bot", "unsure")] * 2 + [("bot", "bot")] * 4
    section = section_of([segment(i, pair) for i, pair in enumerate(labels)])
    (pair,) = section.pairs
    assert (pair.win_rate.estimate, pair.ties, pair.n) == (0.75, 4, 12)
    assert pair.paper.p_value == pytest.approx(chisquare([6, 2]).pvalue)
    assert any("33 % of 12 segments of two bots are ties" in remark for remark in section.remarks)


def test_people_and_self_chats_are_labelled_but_win_against_nobody():
    """People are the upper bound; a model's self-chat says nothing of others."""
    given = [(("human", "human"), "human"), (("human", "bot"), "human"), (("bot", "human"), "a")]
    section = section_of([segment(i, labels, (who, who)) for i, (labels, who) in enumerate(given)])
    assert (section.pairs, [row.win_rate for row in section.models]) == ([], [None])
    rows = {row.model: (row.n, row.human, row.unsure, row.bot) for row in section.speakers}
    assert rows == {"human": (4, 3, 0, 1), "a": (2, 1, 0, 1)}
    (summary,) = section.summary()
    assert {line.model: line.estimate for line in summary.models} == {"a": 0.5, "human": 0.75}
    assert (summary.what, summary.reference) == ("taken for a person", None)


def test_labels_at_each_length_and_survival():
    """a is spotted in 1 of 2 after 2 exchanges and in 2 of 2 after 5; b never."""
    given = [(2, "bot"), (2, "human"), (5, "bot"), (5, "bot")]
    section = section_of([segment(i, (label, "unsure"), k=k) for i, (k, label) in enumerate(given)])
    rows = {(row.model, row.k): (row.n, row.human, row.bot, row.spotted.result.estimate) for row in section.by_length}
    assert (rows[("a", 2)], rows[("a", 5)]) == ((2, 1, 1, 0.5), (2, 0, 2, 1.0))
    survival = {row.model: row["survival"] for row in section.models}
    assert survival == {"a": {"2": 0.5, "5": 0.0}, "b": {"2": 1.0, "5": 1.0}}
    table = next(table for table in section.data_tables() if table.key == "segments_lengths")
    assert [(row["model"], row["k"], row["taken_for_human"]) for row in table.rows][:2] == [("a", 2, 0.5), ("a", 5, 0)]


def test_feature_win_rates_by_hand():
    """a is more fluent in 3, less in 1, the same in 2: .75 for a, .25 for b, whoever speaks first."""
    options = ["first", "first", "second", "second", "same", "same"]
    orders = [("a", "b"), ("a", "b"), ("b", "a"), ("a", "b"), ("a", "b"), ("b", "a")]
    records = [
        segment(i, ("bot", "bot"), order, features={"fluent": option})
        for i, (option, order) in enumerate(zip(options, orders, strict=True))
    ]
    section = section_of(records)
    rows = {row.model: (row.better, row.worse, row.same, row.win_rate.estimate) for row in section.features}
    assert rows == {"a": (3, 1, 2, 0.75), "b": (1, 3, 2, 0.25)}
    assert section.same_features == pytest.approx(1 / 3)
    (note,) = next(table.notes for table in section.data_tables() if table.key == "segments_features")
    assert note.endswith("In 33 % of answers, both speakers were rated the same.")


def test_agreement_on_a_label_by_hand():
    """Of a: human–human, human–bot, bot–bot: both said human once of two pairs of whom one did; bot likewise."""
    twice = [("human", "human"), ("human", "bot"), ("bot", "bot")]
    records = [
        make_segment(f"j{i}{r}", ("a", "b"), (label, "unsure"), worker=f"w{i}{r}", dialogue=f"d{i}")
        for i, both in enumerate(twice)
        for r, label in enumerate(both)
    ]
    rows = {(row.model, row.label): row for row in section_of(records).labels}
    counts = {key: (row["both"], row["either"]) for key, row in rows.items()}
    assert (counts["a", "human"], counts["a", "bot"], counts["a", "unsure"]) == ((1, 2), (1, 2), (0, 0))
    assert counts["b", "unsure"] == (3, 3)
    unsure = rows["a", "unsure"].agreement
    assert (unsure.estimate, unsure.ci_low) == (None, None), "nobody gave the label: nothing is claimed"


def test_attention_checks_and_segments_that_were_left_do_not_count():
    """Only what was judged to its end, and has no answer that is known."""
    counts = section_of([segment(1, ("human", "bot")), segment(2, ("bot", "human"), setting="other")])
    more = [
        segment(1, ("human", "bot")),
        segment(2, ("bot", "human"), setting="other"),
        segment(3, ("bot", "bot"), expected={"label_0": "human"}),
        segment(4, ("bot", "bot"), end="left"),
    ]
    assert section_of(more).models == counts.models


def test_families_are_the_pairs_of_one_question(section):
    """Wins, survival and effects are corrected apart, each over what is asked of all bots; an empty pair is no test."""
    sizes = [(rows[0]["family"], rows[0]["family_tests"]) for rows in (section.pairs, section.tests, section.features)]
    assert sizes == [
        ("spot_the_bot, dailydialog, spot, the bot with the better label", 3),
        ("spot_the_bot, dailydialog, spot, the bot that is spotted sooner", 3),
        ("spot_the_bot, dailydialog, spot, effects of features", 9),
    ]
    tied = [segment(i, ("human", "human")) for i in range(8)]
    decided = [segment(20 + i, ("human", "bot"), ("a", "c")) for i in range(8)]
    pairs = {row.model_b: row for row in section_of([*tied, *decided]).pairs}
    assert pairs["c"]["family_tests"] == 1
    assert pairs["c"]["p_holm"] == pairs["c"]["p_value"]


def test_the_summary_is_the_rows(section):
    """Win rates of bots, the pairs with the leader first; the keys name tables that exist."""
    (summary,) = section.summary()
    assert {line.model: line.estimate for line in summary.models} == {
        row.model: row["win_rate"] for row in section.models
    }
    rows = {frozenset((row.model_a, row.model_b)): row for row in section.pairs}
    for line in summary.pairs:
        row = rows[frozenset((line.first, line.second))]
        assert (line.gap, line.p_decides) == (abs(row["lead_a"]), row["p_clustered_holm"])
        assert line.gap >= 0
    assert {summary.model_table, summary.pair_table} <= {table.key for table in section.data_tables()}
    assert summary.verdict == section.headline


def lopsided():
    """“a” meets “b” in 16 segments and wins 12; it meets “c” in 4 and wins 1; “c” and “b” only tie."""
    met = [("b", 12, 4), ("c", 1, 3)]
    outcomes = [(other, won) for other, wins, losses in met for won in [True] * wins + [False] * losses]
    won = [
        segment(i, ("human", "bot") if w else ("bot", "human"), ("a", other)) for i, (other, w) in enumerate(outcomes)
    ]
    return [*won, *(segment(100 + i, ("bot", "bot"), ("b", "c")) for i in range(3))]


def test_win_rates_are_told_both_ways():
    """The paper's is the mean over opponents, (12/16 + 1/4) / 2; pooled it is 13/20. An opponent of ties only is none."""
    section = section_of(lopsided())
    rows = {row["model"]: row for row in json.loads(section.model_dump_json())["models"]}
    assert (rows["a"]["win_rate"], rows["a"]["win_rate_pooled"]) == (pytest.approx(0.5), pytest.approx(13 / 20))
    for name in ("b", "c"):
        assert rows[name]["win_rate"] == pytest.approx(rows[name]["win_rate_pooled"])
    for row in rows.values():
        for end in ("low", "high"):
            assert row[f"ci_{end}"] is not None
            assert row[f"win_rate_pooled_{end}"] is not None
    (table,) = [table for table in section.data_tables() if table.key == "segments_models"]
    labels = {column.key: column.label for column in table.columns}
    assert (labels["win_rate"], labels["win_rate_pooled"]) == ("Win rate, mean over opponents", "Win rate, pooled")
    assert "averaged over" in table.notes[0]
    assert section.headline.startswith("c wins 75 %")
    assert "on average over the other bots (pooled 75 %" in section.headline
    assert any("pooled" in method.text for method in section.methods() if method.name == "Win rate")


def test_ties_only_have_no_rate_of_either_kind():
    """Nothing is decided: no estimate, and p = 1."""
    section = section_of([segment(i, ("bot", "bot")) for i in range(8)])
    for row in section.models:
        assert (row.win_rate.estimate, row.win_rate_pooled.estimate, row.win_rate.p_value) == (None, None, 1)


def test_a_release_in_which_workers_annotated_twice(spotted, tmp_path):
    """The second annotation of a segment is another answer of its worker about the same dialogue."""
    again = spotted.segments[spotted.segments["worker_id"] == spotted.segments["worker_id"].iloc[0]]
    more = len(again) // 2
    rows = pd.concat([spotted.segments, again.assign(seconds=again["seconds"] + 9)])[MUST]
    rows.to_csv(tmp_path / "segments.csv", index=False)
    kept = build(read_tables(tmp_path, repeats="keep"), QUICK)
    first = build(read_tables(tmp_path, repeats="first"), QUICK)
    once = build(read_tables(folder_of(spotted, tmp_path)), QUICK)
    assert numbers(first) == numbers(once)
    assert kept.n_segments == once.n_segments + more
    assert (kept.n_dialogues, kept.n_workers) == (once.n_dialogues, once.n_workers)
    assert [row.agreement for row in kept.labels] == [row.agreement for row in once.labels], (
        "nobody agrees with himself"
    )
    assert sum(pair.n for pair in kept.pairs) > sum(pair.n for pair in once.pairs)


def folder_of(tables, path):
    """The exchange columns of the segments, in a folder of their own."""
    folder = path / "once"
    folder.mkdir()
    tables.segments[MUST].to_csv(folder / "segments.csv", index=False)
    return folder
