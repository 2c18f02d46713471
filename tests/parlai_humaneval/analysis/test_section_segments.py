"""The section on judged segments: its keys, hand-made numbers, poor data, settings, speed of thought."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from make_judgements import make_segment, make_spotting
from scipy.stats import chisquare

from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.segments import build
from parlai_humaneval.statistics.correction import holm
from parlai_humaneval.statistics.survival.curve import survival_curve
from parlai_humaneval.statistics.survival.tests import survival_score_test
from parlai_humaneval.tables.files import read_tables
from parlai_humaneval.tables.from_records import tables
from parlai_humaneval.tables.schema import SEGMENTS

QUICK = Options(draws=60)
MUST = [column.name for column in SEGMENTS if column.exchange]


def segment(number, labels, entities=("a", "b"), *, worker=None, **fields):
    return make_segment(
        f"j{number}", entities, labels, worker=worker or f"w{number % 5}", dialogue=f"d{number}", **fields
    )


def section_of(records, options=QUICK):
    section = build(tables(records), options)
    assert section is not None
    return section


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
    assert section.humans.model == "human"
    assert "good wins" in section.headline
    assert "clustered by 12 workers" in section.headline
    assert "good, then mean, then bad" in section.headline


def test_numbers_are_those_of_the_rows(spotted, section):
    """Win rates, ties, survival and score tests from the table itself."""
    rows = spotted.segments
    for row in section.models:
        own = rows[(rows["model"] == row.model).to_numpy(dtype=bool)]
        seen = own["label"] == "bot"
        assert {int(k): share for k, share in row.survival.items()} == pytest.approx(survival_curve(own["k"], seen))
        assert row.win_rate == pytest.approx(row.wins / (row.wins + row.losses))
        assert row.wins + row.losses + row.ties == row.n == len(own)
        for k, share in row.survival.items():
            assert row.survival_low[k] is None or row.survival_low[k] <= share <= row.survival_high[k]
    for pair in section.pairs:
        assert pair.p_value == pytest.approx(chisquare([pair.wins_a, pair.wins_b]).pvalue)
        assert pair.ci_low <= pair.win_rate_a <= pair.ci_high
    assert sum(row.wins for row in section.models) == sum(row.losses for row in section.models)
    for test in section.tests:
        own = rows[rows["model"].isin(test.models).to_numpy(dtype=bool)]
        expected = survival_score_test(own["k"], own["label"] == "bot", own["model"] == test.models[1])
        assert test.p_value == pytest.approx(expected.p_value)
        assert test.log_hazard_ratio == pytest.approx(expected.estimate)


@pytest.mark.parametrize("family", ["pairs", "tests", "features"])
def test_each_kind_of_p_is_corrected_over_its_table(section, family):
    """Holm over all rows of the table."""
    rows = getattr(section, family)
    for plain, corrected in (("p_value", "p_holm"), ("p_clustered", "p_clustered_holm")):
        assert [getattr(row, corrected) for row in rows] == holm([getattr(row, plain) for row in rows])


def test_the_report_agrees(spotted, section):
    """The report of the technique counts the same wins, ties, agreement and times."""
    from parlai_humaneval.analysis.reports.spot_the_bot.build import build_report

    (group,) = build_report(spotted).groups
    duels = {(duel.model_a, duel.model_b): (duel.wins_a, duel.wins_b, duel.ties) for duel in group.pairs}
    assert duels == {(pair.model_a, pair.model_b): (pair.wins_a, pair.wins_b, pair.ties) for pair in section.pairs}
    rates = {(row.model, row.feature): row.win_rate.estimate for row in group.features}
    assert rates == {(row.model, row.feature): row.win_rate for row in section.features}
    shares = {(row.model, row.label): (row.both, row.either, row.share.ci_low) for row in group.label_agreement}
    assert shares == {(row.model, row.label): (row.both, row.either, row.ci_low) for row in section.labels}
    assert section.seconds[0].median_seconds == pytest.approx(group.median_seconds)


def test_tables_and_figures_fit_each_other(section):
    """Unique keys, cells of declared columns only, bands and matrices of the right size."""
    made = section.data_tables()
    assert len({table.key for table in made}) == len(made) == 9
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
    assert read.model_dump(exclude={"seconds"}) == ours.model_dump(exclude={"seconds"})
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
        assert (row.win_rate, row.survival, row.ci_low) == (again.win_rate, again.survival, again.ci_low)
    before = {frozenset(names[name] for name in test.models): test for test in one.tests}
    for test in other.tests:
        same = before[frozenset(test.models)]
        sign = 1 if [names[name] for name in same.models] == test.models else -1
        assert test.p_value == pytest.approx(same.p_value)
        assert test.log_hazard_ratio == pytest.approx(sign * same.log_hazard_ratio)
        assert test.p_clustered == pytest.approx(same.p_clustered)


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
    assert (pair.win_rate_a, pair.ci_low, pair.p_clustered) == (1.0, None, None)
    assert pair.p_value < 0.01
    assert section.models[0].rank is None
    assert section.models[0].cluster == 1
    assert any("1 worker" in remark for remark in section.remarks)
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
    assert section.humans.spotted.estimate == 0.5


def test_all_ties():
    """Nobody wins: no win rates and no ranks, and it is said; nobody spotted: p = 1."""
    section = section_of([segment(i, ("human", "human")) for i in range(20)])
    assert [(row.win_rate, row.cluster, row.ties) for row in section.models] == [(None, None, 20)] * 2
    assert section.pairs[0].p_value == 1.0
    assert section.tests[0].p_value == 1.0
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
    assert (row.effect, row.p_value, row.same) == (None, None, 20)
    assert any("Effects that cannot be estimated" in remark and "same in all" in remark for remark in section.remarks)


def test_settings_are_pooled_and_stand_by_themselves():
    """Two domains with opposite winners: neither wins over both, each wins in its own."""
    records = [segment(i, ("human", "bot"), setting="one") for i in range(20)]
    records += [segment(100 + i, ("bot", "human"), setting="two") for i in range(20)]
    section = section_of(records)
    assert [row.win_rate for row in section.models] == [0.5, 0.5]
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
    assert any("Believe the second" in remark and "a > b" in remark for remark in section.remarks)
    assert any("Wins of a against b: significant if every answer were independent" in r for r in section.remarks)


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
    with pytest.raises(ValueError, match="whole numbers from 1"):
        build(wrong, QUICK)


def test_what_people_were_taken_for_says_how_many_judged(section):
    """An interval wider than its cases would have it: it is clustered."""
    (remark,) = [text for text in section.remarks if text.startswith("People were taken for bots")]
    assert remark.endswith("clustered by 12 workers.")
    alone = section_of([segment(n, ["human", "human"], ("human", "human")) for n in range(10)])
    assert "clustered by 5 workers" in alone.headline


def test_two_bots_need_no_matrices():
    """One number is no matrix; of three there are some."""
    two = build(tables(make_spotting({"good": 0.9, "bad": 0.2}, dialogues=8, seed=1)), QUICK)
    assert two.pairs
    assert not [figure for figure in two.figures() if figure.kind == "heat"]
