"""The report's section on direct assessment: published data, tables from elsewhere, and what cannot be estimated."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from make_live_records import REVERSED, SLIDERS, make_assessment, make_rated, make_ticked
from reference import REFERENCE

from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.direct_assessment import build
from parlai_humaneval.statistics.ratings.likert import likert_rows
from parlai_humaneval.tables.build import Tables, tables
from parlai_humaneval.tables.columns import TableError, from_rows, typed
from parlai_humaneval.tables.files import read_tables
from parlai_humaneval.tables.filters import on_sliders, taken_as_finished

RUN1 = REFERENCE.parent / "data" / "dialogue_eval_run1"
COLUMNS = ["dialogue_id", "worker_id", "model", "criterion", "value", "degraded"]

NOTHING = {name: from_rows(name, []) for name in ("turns", "dialogues", "comparisons")}


def exchange(rows, **more):
    """Tables with exchange columns of ``ratings`` only; ``more``: other tables."""
    return Tables(**{**NOTHING, **more}, ratings=typed("ratings", pd.DataFrame(rows, columns=COLUMNS)))


def section_of(data, **options):
    """The section, which every time must show itself, and must be JSON without nan."""
    section = build(data, Options(**options))
    if section is not None:
        text = section.model_dump_json()
        assert "NaN" not in text
        keys = [view.key for view in [*section.data_tables(), *section.figures()]]
        assert len(keys) == len(set(keys))
        for table in section.data_tables():
            assert all({column.key for column in table.columns} == set(row) for row in table.rows)
            assert not any(isinstance(cell, float) and np.isnan(cell) for row in table.rows for cell in row.values())
        assert section.headline.endswith(".")
        assert section.methods()
    return section


def rated(worker, model, value, degraded=0, criteria=SLIDERS):
    """One dialogue; ratings go up by one from criterion to criterion."""
    return [(f"{worker}{model}", worker, model, name, value + i, degraded) for i, name in enumerate(criteria)]


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The published ratings read from a file with the exchange columns only, as they were given; and what is expected."""
    if not RUN1.is_dir():
        pytest.skip("the published ratings are not beside this checkout")
    folder = tmp_path_factory.mktemp("run1")
    with (RUN1 / "ratings.csv").open(encoding="utf-8", newline="") as file:
        dialogues = list(csv.DictReader(file))
    with (folder / "ratings.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for number, row in enumerate(dialogues):
            for name in SLIDERS:
                writer.writerow([number, row["worker"], row["model"], name, row[name], int(row["model"] == "qc")])
    with (folder / "dialogues.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["dialogue_id", "worker_id", "technique", "setting", "started", "seconds", "n_turns", "complete", "opinion"]
        )
        for number, row in enumerate(dialogues):
            seconds = float(row["hit_seconds"]) / 6
            known = ["direct_assessment", "", "", seconds, 10, 1, row["topic_attitude"]]
            writer.writerow([number, row["worker"], *known])
    expected = json.loads((RUN1 / "expected.json").read_text(encoding="utf-8"))
    return read_tables(folder), expected


def test_the_published_study_comes_out(published):
    """173 of 248 workers; z to three decimals and raw to two, of ten models; numbers of ratings; minutes."""
    data, expected = published
    section = section_of(data)
    assert (section.workers.total, section.workers.passed) == (expected["workers"], expected["workers_passed"])
    assert section.dialogues.total == expected["dialogues"]
    assert section.dialogues.passed == expected["dialogues_passed"]
    minutes = expected["minutes_per_dialogue"]
    found = (section.dialogues.minutes, section.dialogues.minutes_passed, section.dialogues.minutes_failed)
    assert found == pytest.approx((minutes["all"], minutes["passed"], minutes["failed"]), abs=6e-4)
    assert {model.model for model in section.models} == set(expected["z"])
    for model in section.models:
        assert model.n_ratings == expected["n_ratings"][model.model]
        z, raw = expected["z"][model.model], expected["raw"][model.model]
        assert {"overall": model["overall"], **model["criteria"]} == pytest.approx(z, abs=6e-5)
        assert {"overall": model["raw_overall"], **model["raw"]} == pytest.approx(raw, abs=6e-4)
        assert model.z_overall.ci_low < model.z_overall.estimate < model.z_overall.ci_high
    assert [model.model for model in section.models][:3] == ["A", "B", "A_p"]
    assert [model.rank for model in section.models] == list(range(1, 11))
    assert section.basis.reversed == sorted(REVERSED)


def test_the_published_correlations_and_opinions_come_out(published):
    """Table 8 (interesting and fun: r .992, ρ .988) and Table 2 (84 % like the topic) of the paper."""
    section = section_of(published[0])
    names = section.correlations.criteria
    i, j = names.index("interesting"), names.index("fun")
    assert section.correlations.pearson[i][j] == pytest.approx(0.992, abs=5e-4)
    assert section.correlations.spearman[i][j] == pytest.approx(0.988, abs=5e-4)
    shares = {row.opinion: (row.share_passed, row.share_failed) for row in section.opinions}
    assert shares["like"] == pytest.approx((0.839, 0.886), abs=6e-4)
    assert shares["dislike"] == pytest.approx((0.087, 0.077), abs=6e-4)
    assert [row.opinion for row in section.opinions] == ["like", "ambivalent", "dislike"]
    by_workers = {row.workers: row.middle.estimate for row in section.rater_pairs}
    assert by_workers["passed"] > by_workers["failed"] + 0.1


def test_our_own_tables_and_exchange_columns_give_the_same():
    """With all columns of our records, and with the exchange columns alone."""
    full = tables(make_assessment({"a": 70, "b": 55, "qc": 20}, workers=15))
    alone = exchange(full.ratings[COLUMNS])
    one, other = section_of(full), section_of(alone)
    assert one.model_dump()["models"] == other.model_dump()["models"]
    assert one.workers == other.workers
    assert [model.model for model in one.models] == ["a", "b"]
    assert one.workers.passed == one.workers.counted == 15


def test_order_and_names_do_not_matter():
    """Rows shuffled, and models renamed: the same scores."""
    rows = tables(make_assessment({"a": 60, "b": 55, "c": 50, "qc": 20}, workers=8, seed=3)).ratings[COLUMNS]
    shuffled = rows.sample(frac=1, random_state=1)
    renamed = shuffled.assign(model=shuffled["model"].map({"a": "z", "b": "y", "c": "x", "qc": "qc"}))
    one, other = section_of(exchange(rows)), section_of(exchange(renamed))
    assert [m["overall"] for m in one.models] == pytest.approx([m["overall"] for m in other.models])
    assert [m["overall_low"] for m in one.models] == pytest.approx([m["overall_low"] for m in other.models])
    assert {m.model for m in other.models} == {"x", "y", "z"}


def test_the_significance_matrix_holds_both_directions():
    """Row better than column; the diagonal is empty; a far better model is so by every test."""
    section = section_of(tables(make_assessment({"a": 80, "b": 50, "qc": 20}, workers=15)))
    p = section.significance.p
    assert p[0][0] is None
    assert p[0][1] < 1e-3 < 0.99 < p[1][0]
    assert section.significance.p_clustered[0][1] == section.significance.p_clustered[1][0] < 1e-3
    (pair,) = section.pairs
    assert (pair.model_a, pair.difference.p_decides) == ("a", pair.difference.p_value)
    assert "they differ" in section.headline


def test_unfinished_dialogues_and_repeated_ratings_do_not_count():
    """Rows of a cut-off dialogue, and of third parties who rated once more, are left out."""
    records = make_assessment({"a": 70, "b": 50, "qc": 20}, workers=6)
    left = make_rated("left", "a", dict.fromkeys(SLIDERS, 1.0), worker="w0", status="partial")
    before, after = tables(records), tables([*records, left])
    again = after.ratings.assign(own_worker=None)
    again.loc[again["worker_id"] == "w1", "own_worker"] = "w9"
    assert section_of(before).models == section_of(after).models
    assert section_of(Tables(**{**vars(after), "ratings": again})).workers.total == 5


def test_likert_ratings_are_not_sliders():
    """Scales of five points belong to another section; a table from elsewhere is told by its values."""
    assert section_of(tables([make_ticked("d")])) is None
    assert section_of(exchange(rated("w", "a", 1, criteria=SLIDERS[:4]))) is None
    assert section_of(exchange([])) is None
    assert section_of(exchange(rated("w", "a", 5))) is not None
    # None is reversed: on a scale whose end nobody knows, that would be refused.
    few = SLIDERS[:4]
    assert section_of(exchange([*rated("w", "a", 1, criteria=few), *rated("w", "q", 1, 1, criteria=few)])) is not None


def test_every_rating_is_a_slider_or_a_likert_rating():
    """No table's rows are lost between the two sections, and none stands in both."""
    both = tables([*make_assessment({"a": 70, "qc": 20}, workers=3), make_ticked("d", worker="w9")])
    elsewhere = exchange([*rated("w", "a", 3), *rated("v", "a", 30)])
    for data in (both, elsewhere, exchange(rated("w", "a", 1, criteria=SLIDERS[:4]))):
        points = set(likert_rows(data).index)
        sliders = set(data.ratings.index[on_sliders(data.ratings)])
        assert points.isdisjoint(sliders)
        assert points | sliders == set(data.ratings.index)
    assert likert_rows(both)["worker_id"].unique().tolist() == ["w9"]


def test_dialogues_that_their_table_calls_unfinished_do_not_count():
    """Ratings from elsewhere do not say so themselves."""
    rows = [*rated("w", "a", 40), *rated("v", "a", 60)]
    dialogue = {"dialogue_id": "va", "worker_id": "v", "technique": "direct_assessment", "n_turns": 3, "complete": 0}
    assert section_of(exchange(rows)).workers.total == 2
    assert section_of(exchange(rows, dialogues=from_rows("dialogues", [dialogue]))).workers.total == 1


def test_without_a_degraded_model_everybody_counts():
    """And a remark says that nobody could be checked."""
    rows = [row for w in "uvwxy" for m, v in (("a", 30), ("b", 40 + ord(w) % 4)) for row in rated(w, m, v)]
    section = section_of(exchange(rows))
    assert (section.workers.passed, section.workers.counted, section.basis.who) == (None, 5, "everyone")
    assert any("no rater could be checked" in text for text in section.remarks)


def test_one_worker_has_scores_without_intervals():
    """Nothing says how other workers would rate."""
    section = section_of(exchange([*rated("w", "a", 40), *rated("w", "b", 60)]))
    best = section.models[0]
    assert (best.model, best.rank, best.z_overall.ci_low, best.z_overall.ci_high) == ("b", 1, None, None)
    assert section.pairs[0].difference.p_value is None
    assert "cannot be tested" in section.headline


def test_constant_ratings_have_no_z():
    """Raw scores stand, standardised ones cannot be had, and the section says so."""
    rows = [(f"{m}", "w", m, name, 50, 0) for m in "ab" for name in SLIDERS]
    section = section_of(exchange(rows))
    assert [(m.rank, m["overall"], m["raw_overall"]) for m in section.models] == [(None, None, 50), (None, None, 50)]
    assert section.workers.constant == 1
    assert "no score can be standardised" in section.headline


def test_when_nobody_passes_the_scores_are_not_to_be_trusted():
    """The headline says so instead of naming a best model; scores of everyone are shown."""
    section = section_of(exchange([*rated("w", "qc", 80, 1), *rated("w", "a", 20), *rated("w", "b", 30)]))
    assert (section.basis.who, section.workers.passed) == ("nobody_passed", 0)
    assert "no score can be trusted" in section.headline
    assert len(section.models) == 2


def test_a_check_that_nobody_could_pass_blames_nobody():
    """Two ratings a side: however far apart, p is no smaller than one sixth, which is not the workers' fault."""
    rows = [(m, "w", m, name, value, m == "qc") for m, value in (("qc", 5), ("a", 90)) for name in ("fluent", "warm")]
    section = section_of(exchange(rows))
    assert section.basis.too_few_to_check
    assert section.headline.startswith("None of 1 rater could pass the check, because they rated the degraded model")


def test_only_the_degraded_model_rated():
    """There is nothing to say of others."""
    section = section_of(exchange(rated("w", "qc", 10, 1)))
    assert section.models == []
    assert "Only the degraded model" in section.headline


def test_a_rating_beyond_its_scale_is_named():
    """The message says where it is and what was expected."""
    with pytest.raises(TableError, match=r"value: 106 on repetitive \(dialogue wa, rater w\), expected 0 to 100"):
        build(exchange(rated("w", "a", 100)[:1] + rated("w", "a", 100)[-1:]), Options())


def test_two_settings_are_a_replication():
    """Scores of both correlate; they are taken together above, which a remark says."""
    free = make_assessment({"a": 80, "b": 60, "c": 40, "qc": 10}, workers=8, seed=1)
    again = make_assessment({"a": 80, "b": 60, "c": 40, "qc": 10}, workers=8, seed=2)
    for record in again:
        record.setting, record.dialogue_id = "icebreaker", f"i{record.dialogue_id}"
    section = section_of(tables([*free, *again]))
    (row,) = section.replications
    assert (row.run_a, row.run_b, row.n_models) == ("free", "icebreaker", 3)
    assert row["r"]["overall"] > 0.99
    assert row["same_at_05"] == 1
    assert any("pooled: free, icebreaker" in text for text in section.remarks)


def test_two_tasks_of_one_setting_are_a_replication():
    """The same study launched twice under two names; a column ``run`` of a table from elsewhere says it too."""
    first = make_assessment({"a": 80, "b": 60, "c": 40, "qc": 10}, workers=8, seed=1)
    second = make_assessment({"a": 80, "b": 60, "c": 40, "qc": 10}, workers=8, seed=2)
    for record in second:
        record.task_name, record.dialogue_id = "again", f"i{record.dialogue_id}"
    data = tables([*first, *second])
    (row,) = section_of(data).replications
    assert {row.run_a, row.run_b} == {"again", "direct_assessment-demo"}
    ratings = data.ratings[COLUMNS].assign(run=np.where(data.ratings["dialogue_id"].str.startswith("i"), "2", "1"))
    elsewhere = Tables(**NOTHING, ratings=typed("ratings", ratings))
    (other,) = section_of(elsewhere).replications
    assert (other.run_a, other.run_b) == ("1", "2")
    assert other["r"] == pytest.approx(row["r"])
    assert section_of(tables(first)).replications == []


def test_disagreement_of_tests_is_said():
    """Workers who rate many dialogues each and differ in which model they like: i.i.d. significant, clustered not."""
    rng = np.random.default_rng(2)
    rows = []
    for number in range(6):
        taste = 30 if number < 4 else -25
        for repeat in range(12):
            for model, lift in (("a", taste), ("b", 0)):
                value = float(np.clip(50 + lift + rng.normal(0, 8), 0, 100))
                rows += [(f"{number}-{repeat}-{model}", f"w{number}", model, name, value, 0) for name in SLIDERS[:5]]
    section = section_of(exchange(rows))
    assert section.pairs[0].paper.p_value < 0.05 < section.pairs[0].difference.p_value
    assert any(
        r.startswith("a against b: significant if all answers are treated as independent") for r in section.remarks
    )


def spread(models, workers=12):
    """Ratings of ``models`` (name → level) by workers who all agree but for a little."""
    rng = np.random.default_rng(0)
    return [
        (f"{worker}{model}", f"w{worker}", model, name, float(level + rng.normal(0, 4)), 0)
        for worker in range(workers)
        for model, level in models.items()
        for name in SLIDERS
    ]


def test_the_answer_names_the_pairs_that_differ():
    """The better one first, with the p that decides."""
    section = section_of(exchange(spread({"good": 80, "low": 30, "also_good": 80.5})))
    apart = [pair for pair in section.pairs if pair.difference.p_decides < 0.05]
    assert {frozenset((pair.model_a, pair.model_b)) for pair in apart} == {
        frozenset(("good", "low")),
        frozenset(("also_good", "low")),
    }
    assert "2 of 3 pairs differ" in section.headline
    assert "good from low (p = .001)" in section.headline
    assert "also_good from low (p = .001)" in section.headline
    assert "low from" not in section.headline


def test_two_models_need_no_matrices():
    """One number is no matrix, and a correlation over two models is none."""
    kinds = [figure.kind for figure in section_of(exchange(spread({"good": 80, "low": 30}))).figures()]
    assert kinds.count("heat") == 0
    three = [figure.kind for figure in section_of(exchange(spread({"good": 80, "low": 30, "mid": 50}))).figures()]
    assert three.count("heat") == 3


QUALITY = {"good": 75, "fair": 60, "poor": 45, "qc": 15}


def careless(worker):
    """Rates the degraded model best."""
    levels = {"good": 20, "fair": 40, "poor": 30, "qc": 90}
    return [
        make_rated(
            f"{worker}-{model}",
            model,
            {name: level + i for i, name in enumerate(SLIDERS)},
            worker=worker,
            session=worker,
        )
        for model, level in levels.items()
    ]


def test_the_scores_rest_on_workers_who_passed():
    """A worker who likes the degraded model best stands beside, in the scores of everyone, and by name."""
    section = section_of(tables([*make_assessment(QUALITY), *careless("x")]))
    assert (section.workers.total, section.workers.passed, section.workers.left_out) == (13, 12, ["x"])
    (failed,) = [check for check in section.checks if not check.passed]
    assert (failed.worker, failed.p > 0.9, len(section.checks)) == ("x", True, 13)
    assert [row.model for row in section.models] == ["good", "fair", "poor"]
    assert [(row.n_dialogues, row["n_dialogues_everyone"]) for row in section.models] == [(12, 13)] * 3
    assert section.models[0]["everyone"] < section.models[0]["overall"]
    assert "12 of 13 raters (92 %) passed the check." in section.remarks
    assert section.headline.startswith("good is rated best by 12 raters who passed the check: overall z ")
    assert section_of(tables(make_assessment(QUALITY))).models[0].everyone is None, "nobody was left out"


def test_overall_is_the_mean_of_the_criteria():
    """Raw ratings with the reversed ones turned round."""
    records = make_assessment(QUALITY)
    best = section_of(tables(records)).models[0]
    for overall, criteria in ((best.raw_overall, best.raw), (best.z_overall, best.z)):
        assert overall.estimate == pytest.approx(np.mean([result.estimate for result in criteria.values()]))
    given = [record.final_ratings["robotic"] for record in records if record.models[0].name == "good"]
    assert best.raw["robotic"].estimate == pytest.approx(100 - np.mean(given))


def test_pairs_go_from_better_to_worse_and_are_one_family():
    """Three pairs, Holm's correction of both tests, the paper's one-sided test beside."""
    pairs = section_of(tables(make_assessment(QUALITY))).pairs
    assert [(pair.model_a, pair.model_b) for pair in pairs] == [("good", "fair"), ("good", "poor"), ("fair", "poor")]
    assert all(pair.difference.estimate > 0 and pair.a_higher.p_value < 0.05 for pair in pairs)
    for tests in ([pair.difference for pair in pairs], [pair.paper for pair in pairs]):
        assert min(test.p_holm for test in tests) == pytest.approx(3 * min(test.p_value for test in tests))
    assert {(pair["family"], pair["family_tests"]) for pair in pairs} == {
        ("direct_assessment, free, preference, overall", 3)
    }


def test_constant_scores_do_not_pass_and_have_no_z():
    """They are told, and named among those who failed."""
    constant = [make_rated(f"c-{model}", model, worker="c", session="c") for model in QUALITY]
    section = section_of(tables([*make_assessment(QUALITY), *constant]))
    assert (section.workers.constant, section.workers.passed) == (1, 12)
    assert [check.worker for check in section.checks if check.constant] == ["c"]
    assert any("gave the same rating throughout" in remark for remark in section.remarks)


def test_unfinished_conversations_count_when_they_are_asked_for():
    """A conversation that was cut off was rated all the same."""
    records = make_assessment(QUALITY)
    records[0].status = "partial"
    left, whole = section_of(tables(records)), section_of(taken_as_finished(tables(records)))
    assert (left.dialogues.total, whole.dialogues.total) == (35, 36)


def test_each_setting_stands_by_itself_too():
    """Free topics and ice-breakers of one task: the scores of each, best first; of one setting there is nothing more."""
    records = make_assessment(QUALITY)
    for record in records:
        record.setting = "icebreaker" if record.worker in ("w0", "w1", "w2", "w3") else "free"
    section = section_of(tables(records))
    assert [(row.setting, row.model, row.n_dialogues) for row in section.settings] == [
        *(("free", model, 8) for model in ("good", "fair", "poor")),
        *(("icebreaker", model, 4) for model in ("good", "fair", "poor")),
    ]
    assert "direct_assessment_settings" in {table.key for table in section.data_tables()}
    assert section_of(tables(make_assessment(QUALITY))).settings == []


def test_the_summary_is_the_rows():
    """Overall z of each model with its number of dialogues, and the pairs with the better one first."""
    section = section_of(tables(make_assessment(QUALITY)))
    (summary,) = section.summary()
    assert [(line.model, line.estimate, line.low, line.n) for line in summary.models] == [
        (row.model, row["overall"], row["overall_low"], row.n_dialogues) for row in section.models
    ]
    assert [(line.first, line.second, line.gap, line.p_decides) for line in summary.pairs] == [
        (row.model_a, row.model_b, row["difference"], row["p_clustered_holm"])
        for row in sorted(section.pairs, key=lambda row: -row["difference"])
    ]
    one_sided = {(row.model_a, row.model_b): row["p_a_higher"] for row in section.pairs}
    assert {(line.first, line.second): line.p_paper for line in summary.pairs} == one_sided
    assert (summary.verdict, summary.setting, summary.metric) == (section.headline, "free", "preference")
    assert {summary.model_table, summary.pair_table} <= {table.key for table in section.data_tables()}


def test_the_highest_mean_is_the_best_only_if_it_differs():
    """Models of the same quality: one has the highest mean, which is not to be the best."""
    section = section_of(tables(make_assessment(QUALITY | dict.fromkeys(("good", "fair", "poor"), QUALITY["good"]))))
    assert not any(line.differs for line in section.lines)
    assert " has the highest mean rating given by " in section.headline
    assert ", but no pair of 3 differs" in section.headline


def test_a_dialogue_that_was_left_open_is_left_out_of_mean_times():
    """As measured and trimmed stand in the JSON; the table shows the trimmed mean, and says what was cut."""
    given = tables(make_assessment({"a": 70, "b": 50, "qc": 20}, workers=6))
    models = given.ratings.drop_duplicates("dialogue_id").set_index("dialogue_id")["model"]
    at = int((given.dialogues["dialogue_id"].map(models) == "a").to_numpy().argmax())
    seconds = [600.0] * len(given.dialogues)
    seconds[at] = 600_000.0
    section = section_of(replace(given, dialogues=given.dialogues.assign(seconds=seconds)))
    times = section.dialogues
    assert (times.n_cut, times.trimmed_minutes, times.trimmed_minutes_passed) == (1, 10.0, 10.0)
    assert times.minutes == pytest.approx((11 * 600 + 600_000) / 12 / 60)
    (table,) = [table for table in section.data_tables() if table.key == "direct_assessment_workers"]
    assert table.rows[0]["seconds"] == 600
    assert "1 dialogue whose page was left open" in table.notes[0]
