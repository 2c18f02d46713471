"""Models that were not all shown side by side: one ranking of them, in every form of a report."""

from __future__ import annotations

import csv
import json
from io import StringIO
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.render.files import write_document
from parlai_humaneval.report.render.terminal import print_report_summary
from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.turn_choices import build
from parlai_humaneval.report.summary import pairs_table, superiority_table
from parlai_humaneval.statistics.core.formatting import p_relation
from parlai_humaneval.tables.files import read_tables

OPTIONS = Options(draws=20)


def study(folder, quality, sets, *, dialogues=120, workers=30, turns=5, seed=0):
    """Tables of picks of one reply a turn: ``quality`` of each model, and who is shown in each dialogue, in turn."""
    rng, rows, names = np.random.default_rng(seed), [], list(quality)
    for dialogue in range(dialogues):
        shown = sets[dialogue % len(sets)]
        for turn in range(1, turns + 1):
            order = [names[i] for i in rng.permutation([names.index(name) for name in shown])]
            liked = [quality[name] + rng.gumbel() for name in order]
            rows += [
                {
                    "dialogue_id": f"d{dialogue}",
                    "worker_id": f"w{dialogue % workers}",
                    "technique": "sata",
                    "setting": "soba",
                    "metric": "preference",
                    "turn": turn,
                    "model": name,
                    "position": place,
                    "selected": int(like == max(liked)),
                    "continued": int(like == max(liked)),
                    "written": 0,
                    "seconds": 5.0,
                }
                for place, (name, like) in enumerate(zip(order, liked, strict=True), start=1)
            ]
    folder.mkdir(exist_ok=True)
    pd.DataFrame(rows).to_csv(folder / "turns.csv", index=False)
    return read_tables(folder)


SIX = dict(zip(["tie", "1", "human", "d", "e", "f"], [1.2, 0.7, 0.3, -0.2, -0.6, -1.2], strict=True))


@pytest.fixture(scope="module")
def six(tmp_path_factory):
    """Six models, three in each dialogue, every three of them."""
    folder = tmp_path_factory.mktemp("six") / "tables"
    return study(folder, SIX, list(combinations(SIX, 3)), dialogues=200)


@pytest.fixture(scope="module")
def reported(six, tmp_path_factory, all_undrawn, all_only_answers):
    """The report of the six, and the folder of its files."""
    document = build_report(six, OPTIONS)
    page = tmp_path_factory.mktemp("page") / "report.html"
    write_document(document, page, six)
    return document, page.with_suffix("")


def test_six_models_three_a_dialogue_have_one_ranking(reported):
    """The true order comes back, over all turns, with simultaneous intervals; each pair is tested once."""
    section = reported[0].sections["turns"]
    (answer,) = section.summary()
    assert [row.model for row in section.pooled] == list(SIX)
    assert [line.model for line in answer.models] == list(SIX)
    assert answer.best.leader == "tie"
    assert {row.met for row in section.pooled} == {5}
    assert len(section.pooled_pairs) == len(answer.pairs) == 15
    assert {line.family_tests for line in answer.pairs} == {15}
    truth = np.array([*SIX.values()]) - np.mean([*SIX.values()])
    for row, value in zip(section.pooled, truth, strict=True):
        assert row["ci_low"] <= value <= row["ci_high"]
    for row in section.pooled_pairs:
        assert row["simultaneous_low"] < row["ci_low"] < row["ci_high"] < row["simultaneous_high"]
        assert np.tanh(row["difference"] / 2) == pytest.approx(row["lead_a"])


def test_every_form_names_who_leads(reported):
    """The same words on the screen and the page, the same names in JSON and CSV."""
    document, folder = reported
    stream = StringIO()
    print_report_summary(document, Console(file=stream, width=200, highlight=False))
    (summary,) = json.loads((folder / "report.json").read_text(encoding="utf-8"))["summaries"]
    assert summary["best"]["leader"] == "tie"
    assert {*summary["best"]["together"], *summary["best"]["told"]} == set(SIX)
    assert set(summary["best"]["told"]) == {pair["second"] for pair in summary["pairs"] if pair["differs"]}
    assert "tie" in summary["verdict"]
    assert summary["verdict"] in " ".join(stream.getvalue().split())
    with (folder / "leaders.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["leader"] == "tie"
    assert row["together"] == ", ".join(summary["best"]["together"])
    with (folder / "turns_pooled.csv").open(encoding="utf-8", newline="") as file:
        strengths = {row["model"]: row for row in csv.DictReader(file)}
    for line in summary["models"]:
        found = [float(strengths[line["model"]][name]) for name in ("chance", "chance_low", "chance_high")]
        assert [line["estimate"], line["low"], line["high"]] == pytest.approx(found)


def test_a_gap_of_the_model_has_no_superiority_of_direct_meetings_beside_it(reported):
    """Guards “+0.7 points, but superior in 45 %” in one row: the two are of different turns; JSON keeps both."""
    (answer,) = reported[0].sections["turns"].summary()
    table = pairs_table(answer)
    assert "superiority" not in {column.key for column in table.columns}
    assert any("not the difference between the shares" in note for note in table.notes)
    assert all(pair.superiority is not None for pair in answer.pairs)
    other = answer.model_copy(update={"technique": "arena", "pairs": answer.pairs[:1]})
    across = superiority_table([answer, other])
    assert any("turns and dialogues include only those with both models. sata" in note for note in across.notes)


def test_who_may_be_the_best_is_told_by_the_pairs_of_few_workers(tmp_path):
    """Guards a page that tells two models apart by Holm's p and then calls them alike, or the other way round."""
    quality = dict(zip("abcdef", [0.9, 0.6, 0.3, 0.0, -0.3, -0.6], strict=True))
    data = study(tmp_path / "tables", quality, list(combinations(quality, 3)), dialogues=60, workers=12, turns=4)
    section = build(data, OPTIONS)
    (answer,) = section.summary()
    lost = {pair.second for pair in answer.pairs if pair.differs}
    assert {*answer.best.told} == {row.model for row in section.pooled if not row.may_be_best} == lost != set()


def test_few_workers_of_many_sets_are_told_once(tmp_path):
    """Guards a line for each model of each set, under a table that has all turns of the model."""
    quality = dict(zip("abcd", [0.5, 0.2, -0.2, -0.5], strict=True))
    data = study(tmp_path / "tables", quality, list(combinations(quality, 3)), dialogues=8, workers=8)
    (answer,) = build(data, OPTIONS).summary()
    told = [remark for remark in answer.remarks if "judged by" in remark]
    assert len(told) == 1
    assert "fewer than 3 raters in 4 sets of models" in told[0]


def test_strengths_lead_where_shares_mislead(tmp_path):
    """The best two meet each other and strong models, the third only weak ones: it has the larger share, not the lead."""
    quality = {"a": 1.4, "b": 1.1, "c": 0.8, "d": 0.5, "x": -1.2, "y": -1.5}
    sets = [("c", "x", "y"), ("c", "x", "y"), ("a", "b", "d"), ("a", "b", "d"), ("b", "d", "x"), ("a", "c", "d")]
    section = build(study(tmp_path / "tables", quality, sets, dialogues=240), OPTIONS)
    shares = {row.model: row.share for row in section.pooled}
    assert shares["c"] > shares["a"]
    (answer,) = section.summary()
    assert answer.models[0].model == answer.best.leader == "a"
    assert answer.verdict.startswith("a ranks first (family-wise 5 %). Ranks: a (1), b (2–3), c (2–3), d (4)")
    told = [remark for remark in answer.remarks if "Strengths account for" in remark]
    assert len(told) == 1
    assert told[0].startswith("c was chosen in")
    assert "the former met weaker models" in told[0]


def test_nobody_is_ahead_of_all_others_without_having_met_them(tmp_path):
    """a meets b and c only: it may be told from d and e by strengths, but it has not won against them."""
    quality = {"a": 2.5, "b": 0.2, "c": 0.1, "d": -0.4, "e": -0.5}
    sets = [("a", "b", "c"), ("b", "d", "e"), ("c", "d", "e")]
    data = study(tmp_path / "tables", quality, sets, dialogues=240)
    section = build(data, OPTIONS)
    assert {row.model: row.met for row in section.pooled} == {"a": 2, "b": 4, "c": 4, "d": 3, "e": 3}
    verdict = build_report(data, OPTIONS).headline()
    assert "a ranks first (family-wise 5 %)" in verdict
    assert "all 4 others" not in verdict
    assert {(line.first, line.second) for line in section.summary()[0].pairs if not line.met} == {
        ("a", "d"),
        ("a", "e"),
    }


def test_many_sets_of_models_are_one_group(tmp_path):
    """Four of seven drawn for each dialogue: hardly a set comes twice, and the turns are told together."""
    names = [f"m{number}" for number in range(7)]
    rng = np.random.default_rng(1)
    sets = [tuple(rng.choice(names, 4, replace=False)) for _ in range(40)]
    quality = dict(zip(names, np.linspace(1, -1, 7), strict=True))
    section = build(study(tmp_path / "tables", quality, sets, dialogues=40, turns=3), OPTIONS)
    assert {row.group for row in section.models} == {" – ".join(names)}
    assert {row.n for row in section.models} != {120}
    assert len(section.pooled) == 7
    assert section.summary()[0].best.leader in names[:3]


def test_models_that_always_stand_side_by_side_are_told_by_shares(tmp_path):
    """No second analysis of what shares say; who leads is by the pairs."""
    data = study(tmp_path / "tables", {"a": 1.0, "b": 0.2, "c": 0.1}, [("a", "b", "c")])
    assert build(data, OPTIONS).pooled == []
    (summary,) = build_report(data, OPTIONS).to_json()["summaries"]
    assert summary["best"]["leader"] == "a"
    assert summary["best"]["by"] == "Holm's correction over the pairs"


def test_a_pair_of_the_one_ranking_has_one_p_to_cite(reported):
    """Guards three p-values of one pair on one page with no word on which to cite, and “p, paper” of what no paper tests."""
    document, folder = reported
    (answer,) = document.summaries()
    assert answer.cite == "“One ranking: pairs of models” of “Turn by turn”"
    labels = {column.key: column.label for column in pairs_table(answer).columns}
    assert (labels["p_paper"], labels["p_decides"]) == ("p, independent", "Holm")
    with (folder / "turns_pooled_pairs.csv").open(encoding="utf-8", newline="") as file:
        rows = {frozenset((row["model_a"], row["model_b"])): row for row in csv.DictReader(file)}
    for pair in answer.pairs:
        row = rows[frozenset((pair.first, pair.second))]
        found = [float(row[name]) for name in ("p_value", "p_clustered", "p_clustered_holm")]
        assert [pair.p_paper, pair.p_clustered, pair.p_decides] == pytest.approx(found)
    notes = {table.key: " ".join(table.notes) for table in document.sections["turns"].data_tables()}
    assert "Cite the clustered p-value with Holm's correction." in notes["turns_pooled_pairs"]
    for other in ("turns_tests", "turns_tests_from_2", "turns_pairs"):
        assert "Cite “One ranking: pairs of models”" in notes[other], other
    assert all(f"\\caption{{{words}" in (folder / f"{key}.tex").read_text() for key, words in TEX.items())


TEX = {"answer_models": "Chance of being chosen", "answer_pairs": "How far the first is ahead"}


def test_ties_are_named_and_share_ranks(tmp_path, all_undrawn):
    """Guards an order of two models that no test tells apart: one ranks first, two share the ranks 2 and 3."""
    quality = {"retrieval": 1.6, "eliza": 0.0, "dull": 0.05}
    data = study(tmp_path / "tables", quality, list(combinations(quality, 2)), dialogues=90)
    document = build_report(data, OPTIONS)
    (answer,) = document.summaries()
    (tied,) = [pair for pair in answer.pairs if not pair.differs]
    assert answer.verdict.startswith("retrieval ranks first (family-wise 5 %). ")
    assert f"are statistically tied (p {p_relation(tied.p_decides)})." in answer.verdict
    assert "Best first" not in answer.verdict
    assert {line.model: (line.rank_low, line.rank_high) for line in answer.models} == {
        "retrieval": (1, 1),
        "eliza": (2, 3),
        "dull": (2, 3),
    }
    page = tmp_path / "report.html"
    write_document(document, page, data)
    with (tmp_path / "report" / "answer_models.csv").open(encoding="utf-8", newline="") as file:
        assert [row["rank"] for row in csv.DictReader(file)] == ["1", "2–3", "2–3"]
    assert (tmp_path / "report" / "answer_models.tex").read_text(encoding="utf-8").count("2--3 &") == 2
    stream = StringIO()
    print_report_summary(document, Console(file=stream, width=120, highlight=False))
    assert stream.getvalue().count("2–3  ") == 2
    with (tmp_path / "report" / "turns_pooled.csv").open(encoding="utf-8", newline="") as file:
        assert [row["ranks"] for row in csv.DictReader(file)] == ["1", "2–3", "2–3"]
