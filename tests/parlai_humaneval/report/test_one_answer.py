"""One study of every technique: terminal, page, JSON and CSV give the same answer, number by number."""

from __future__ import annotations

import csv
import html
import json
import re
from io import StringIO

import numpy as np
import pytest
from fake_sections import fake_summary
from make_judgements import make_pair, make_pairs, make_spotting, make_third_party
from make_live_records import TICKS, make_assessment, make_choice, make_choices, make_ticked, make_verdict
from make_records import make_study
from rich.console import Console

from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.conclusions import rank_words
from parlai_humaneval.report.document import SCHEMA, TaskFacts
from parlai_humaneval.report.facts import qualifying
from parlai_humaneval.report.render.files import folder_of, write_document
from parlai_humaneval.report.render.leaderboard import leaderboard_of, to_page
from parlai_humaneval.report.render.terminal import print_document, print_report_summary
from parlai_humaneval.report.section import Options, PairLine
from parlai_humaneval.report.summary import heading_of, leading, pairs_table, verdict_of
from parlai_humaneval.report.views import cell_text, interval_text
from parlai_humaneval.statistics.core.formatting import ABSENT
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.tables.build import tables
from parlai_humaneval.tables.example import example_tables
from parlai_humaneval.tables.files import read_tables
from parlai_humaneval.techniques.registry import techniques

OPTIONS = Options(draws=20)
LONG = "blenderbot_3B_with_a_long_name"
"""As long as names of models get."""


def sata():
    names = {LONG: 0.8, f"{LONG}_2": 0.6, "c": 0.5, "[red]d[/red]": 0.1}
    soba = make_choices({LONG: 0.6, f"{LONG}_2": 0.4}, setting="soba", one_pick=True)
    left = make_choice("left", [(LONG,)], models=list(names), worker="w99", setting="sata_random", status="partial")
    return [*make_choices(names, setting="sata_random", workers=14), *soba, left]


def single_model():
    rng = np.random.default_rng(3)
    return [
        make_ticked(
            f"{model}-{worker}",
            [[tick for tick in TICKS if rng.random() < chance] for _ in range(6)],
            model=model,
            worker=f"w{worker}",
            ratings={tick: float(rng.integers(1, 6)) for tick in TICKS},
        )
        for model, chance in ((LONG, 0.5), (f"{LONG}_2", 0.7), ("[red]d[/red]", 0.1))
        for worker in range(11)
    ]


def free_for_all():
    weights = {LONG: 4, f"{LONG}_2": 3, "c": 2, "[red]d[/red]": 1}
    return make_choices(weights, technique="free_for_all", setting="", one_pick=True)


def arena():
    rounds = ["a", "a", "b", "tie", "a", "both_bad"] * 4
    return [
        make_verdict(f"{models[0]}-{number}", verdict, models=models, worker=f"w{number % 11}")
        for models in ((LONG, f"{LONG}_2"), ("[red]d[/red]", LONG))
        for number, verdict in enumerate(rounds)
    ]


def direct_assessment():
    return make_assessment({LONG: 75, f"{LONG}_2": 60, "[red]d[/red]": 55, "qc": 20})


def pw_dialog():
    return [
        *make_pairs({LONG: 3, f"{LONG}_2": 2, "[red]d[/red]": 1}),
        *make_pairs({LONG: 3, "c": 2}, setting="human_bot", left_bias=0.2),
        make_pair("gold", "x", "y", "second", expected={"preference": "first"}),
        make_pair("left", "x", "y", "first", end="left"),
    ]


def self_chat():
    return make_pairs({LONG: 3, "[red]d[/red]": 2}, setting="self_chat")


def spot_the_bot():
    return make_spotting({LONG: 0.7, f"{LONG}_2": 0.4, "[red]d[/red]": 0.2, "human": 0.9})


def third_party():
    return make_third_party((LONG, f"{LONG}_2", "[red]d[/red]"))


STUDIES = {
    "pw_turn": lambda: make_study(12, 2),
    "sata": sata,
    "single_model": single_model,
    "free_for_all": free_for_all,
    "arena": arena,
    "direct_assessment": direct_assessment,
    "pw_dialog": pw_dialog,
    "self_chat": self_chat,
    "spot_the_bot": spot_the_bot,
    "third_party": third_party,
}


@pytest.fixture(scope="module", params=STUDIES)
def study(request, tmp_path_factory, all_undrawn):
    """Technique, document, and the page that was written of it."""
    data = tables(STUDIES[request.param]())
    document = build_report(data, OPTIONS)
    page = tmp_path_factory.mktemp("page") / "report.html"
    write_document(document, page, data)
    return request.param, document, page


PRINTED = {}
"""By number of the document, what it was printed by and how wide: the document, which so keeps its number, and the text."""


def printed(document, show=print_report_summary, width=200):
    if (key := (id(document), show, width)) not in PRINTED:
        stream = StringIO()
        show(document, Console(file=stream, width=width, highlight=False))
        PRINTED[key] = document, stream.getvalue()
    return PRINTED[key][1]


def flat(text):
    return " ".join(text.replace("\u2060", "").split())


def test_every_technique_has_a_study_here():
    """A new technique is held to these tests."""
    assert set(STUDIES) == set(techniques())


def test_who_is_told_from_the_best_is_what_the_pairs_say(study):
    """Guards against a second test beside the pairs that are shown: who lost one is out, nobody else."""
    _, document, _ = study
    for summary in document.summaries():
        lost = {pair.second for pair in summary.pairs if pair.differs}
        assert set() if summary.best is None else set(summary.best.told) == lost
        assert summary.best is None or not lost & set(summary.best.together)


def test_a_section_that_says_the_same_again_names_the_one_to_go_by(study):
    """Guards two verdicts on the same choices without a word of which counts."""
    technique, document, _ = study
    answers = leading(document.summaries())
    for key, section in document.sections.items():
        left_out = [answer for answer in section.summary() if answer.section not in {one.section for one in answers}]
        assert not left_out or "Cite “" in section.headline, key
    told = {"sata": "Turn by turn", "free_for_all": "Free-for-all"}.get(technique)
    assert (
        told is None
        or f"Cite “{told}”. This section tests the same answers" in document.sections["comparisons"].headline
    )


def test_the_leaderboard_ranks_by_the_same_pairs(study):
    """Guards the page that others see, of every technique: who is ahead in the report stands above, nobody else does; the
    values are the report's; what it does not rank is of one model alone."""
    _, document, _ = study
    answers, board = leading(document.summaries()), leaderboard_of(document)
    assert board.nothing == ("" if board.boards else "Only one model was rated, so there is nothing to rank.")
    several = [answer for answer in answers if len({*_names(answer)}) > 1]
    assert [shown.title for shown in board.boards] == [heading_of(answer) for answer in several]
    headings = [shown.title.partition(",")[0] for shown in board.boards]
    assert headings == [techniques()[answer.technique].title for answer in several], "a title, whatever settings follow"
    for answer, shown in zip(several, board.boards, strict=True):
        ranks = {one.model: (one.rank_low, one.rank_high) for one in shown.standings}
        for pair in answer.pairs:
            if pair.differs:
                assert ranks[pair.first][0] < ranks[pair.second][0]
                assert ranks[pair.first][1] < ranks[pair.second][1]
        values = {line.model: line.estimate for line in answer.models}
        assert {one.model: one.estimate for one in shown.standings if one.model in values} == values
    page = to_page(board)
    assert all(html.escape(one.model) in page for shown in board.boards for one in shown.standings)


def _names(answer):
    return [
        *(line.model for line in answer.models),
        *(name for pair in answer.pairs for name in (pair.first, pair.second)),
    ]


def test_the_p_to_cite_is_that_of_the_table_it_names(study):
    """Guards a p at the head of a report that no table below has: page, screen and JSON name the table, whose file has the p
    that decides in the row of the pair."""
    _, document, page = study
    found = json.loads((folder_of(page) / "report.json").read_text(encoding="utf-8"))["summaries"]
    text = html.unescape(page.read_text(encoding="utf-8")).replace("\u00a0", " ").replace("\u2060", "")
    for answer, in_json in zip(document.summaries(), found, strict=True):
        assert bool(answer.cite) == any(pair.p_decides is not None for pair in answer.pairs)
        if not answer.cite:
            continue
        section = document.sections[answer.section]
        (table,) = [one for one in section.data_tables() if one.key == answer.pair_table]
        assert answer.cite == f"“{table.title}” of “{section.TITLE}”" == in_json["cite"]
        assert any(note.startswith("Cite ") for note in table.notes) or answer not in leading(document.summaries())
        rows = {models_of(row): row for row in rows_of(folder_of(page), answer.pair_table, in_json)}
        for pair in in_json["pairs"]:
            row = rows[frozenset((pair["first"], pair["second"]))]
            tests = [float(value) for name, value in row.items() if name.startswith("p_") and value]
            assert any(p == pytest.approx(pair["p_decides"]) for p in tests)
        if answer in leading(document.summaries()):
            assert f"which are those of {answer.cite}." in text
    (answer, *others) = leading(document.summaries())
    assert others or not answer.cite or f"which are those of {answer.cite}." in flat(printed(document))


def models_of(row):
    return frozenset(
        (row["model_a"], row["model_b"]) if "model_a" in row else re.split(" against | over ", row["name"])
    )


def test_every_form_begins_with_the_same_verdict(study):
    """Word for word, and the summary fits 80 columns."""
    technique, document, page = study
    verdict = document.headline()
    found = json.loads((folder_of(page) / "report.json").read_text(encoding="utf-8"))
    assert found["headline"] == verdict
    assert found["schema"] == SCHEMA
    assert found["techniques"] == [techniques()[technique].recorded_as or technique]
    assert flat(verdict) in flat(printed(document))
    assert flat(verdict) in flat(printed(document, print_document))
    text = html.unescape(page.read_text(encoding="utf-8")).replace("\u00a0", " ").replace("\u2060", "")
    assert f'<p class="verdict">{verdict}</p>' in text
    assert max(map(len, printed(document, width=80).splitlines())) <= 80
    assert verdict in (folder_of(page) / "README.md").read_text(encoding="utf-8")


RATE, MEAN = ("win_rate", "ci_low", "ci_high"), ("mean", "ci_low", "ci_high")
MODEL_COLUMNS = {
    "turns_models": ("share", RATE),
    "comparisons_models": ("share", RATE),
    "segments_models": ("share", RATE),
    "likert_models": ("number", MEAN),
    "direct_assessment_z": ("number", ("overall", "low", "high")),
    "rankings_models": ("number", ("mean_rank", "mean_rank_low", "mean_rank_high")),
    "free_for_all_models": ("number", ("typical_score", "bootstrap_low", "bootstrap_high")),
}
"""File of models → how its answer is written, and the columns of estimate and interval."""
LEAD, GAP = ("lead_a", "lead_low", "lead_high"), ("difference", "ci_low", "ci_high")
ESTIMATE = ("estimate", "ci_low", "ci_high")
TESTS = ("p_value", "p_clustered", "p_clustered_holm")
SUPERIORITY = ("superiority", "superiority_low", "superiority_high")
SCORE = ("score_a", "score_low", "score_high")
EFFECT_COLUMNS = {
    "turns_tests": SUPERIORITY,
    "comparisons_pairs": SCORE,
    "segments_pairs": SCORE,
    "rankings_pairs": SCORE,
    "likert_pairs": ("effective_win_rate", "effective_low", "effective_high"),
    "direct_assessment_pairs": SUPERIORITY,
    "free_for_all_tests": SUPERIORITY,
}
"""File of pairs → the columns of the probability of superiority of the model that it names first."""
PAIR_COLUMNS = {
    "turns_tests": ("points", ESTIMATE, TESTS),
    "comparisons_pairs": ("points", LEAD, TESTS),
    "segments_pairs": ("points", LEAD, TESTS),
    "rankings_pairs": ("points", LEAD, TESTS),
    "likert_pairs": ("number", GAP, TESTS),
    "direct_assessment_pairs": ("number", GAP, ("p_a_higher", "p_clustered", "p_clustered_holm")),
    "free_for_all_tests": ("number", ESTIMATE, ("p_independent", "p_value", "p_holm")),
}
"""File of pairs → how its gaps are written, the columns of gap and interval, and those of the three p-values."""


def test_every_form_has_the_same_numbers(study):
    """Estimate and interval of each model; gap, interval, the paper's p, p by worker and corrected p of each pair: as the
    CSV file has them that the answer names, so the JSON has them, and so they are written on the page and the screen."""
    _, document, page = study
    answers = leading(document.summaries())
    assert answers
    on_page = cells_of(page.read_text(encoding="utf-8"))
    screen = [flat(line) for line in printed(document).splitlines()] if len(answers) == 1 else None
    found = json.loads((folder_of(page) / "report.json").read_text(encoding="utf-8"))["summaries"]
    for answer in answers:
        keys = {name: getattr(answer, name) for name in ("section", "technique", "setting", "metric", "question")}
        (same,) = [one for one in found if keys.items() <= one.items()]
        models = models_in_csv(folder_of(page), same)
        assert {line["model"] for line in same["models"]} == set(models)
        for line in same["models"]:
            kind, numbers = models[line["model"]]
            told = [line["estimate"], line["low"], line["high"]]
            assert cut(told, kind) == pytest.approx(numbers)
            ranks = [] if line["rank_low"] is None else [rank_words(line["rank_low"], line["rank_high"])]
            check_written([*ranks, line["model"], *words(numbers, kind), f"{line['n']:,}"], on_page, screen)
        pairs = pairs_in_csv(folder_of(page), same)
        assert {(line["first"], line["second"]) for line in same["pairs"]} == set(pairs)
        corrected = sum(numbers[4] is not None for _, numbers, _ in pairs.values()) > 1
        for line in same["pairs"]:
            kind, numbers, effect = pairs[line["first"], line["second"]]
            if line["decided_by"] == "paper":  # as the larger one of the two
                assert line["p_decides"] >= 0.05 > numbers[5]
                numbers[5] = line["p_decides"]
            told = [line[name] for name in ("gap", "low", "high", "p_paper", "p_clustered", "p_decides", *SUPERIORITY)]
            assert told == pytest.approx([*numbers, *effect])
            decides = corrected or any(pair["decided_by"] == "paper" for pair in same["pairs"])
            p_values = [cell_text(p, "p") for p in (numbers[3:] if decides else numbers[3:5])]
            name = f"{line['first']} over {line['second']}"
            check_written([name, *words(numbers[:3], kind), *p_values, *words(effect, "share")], on_page, screen)


def test_the_line_of_a_pair_by_hand():
    """b is ahead by 20 points (5 to 35): the gap and both ends of its interval are turned round, the p-values are not."""
    details = {"family": "sata, preference", "family_tests": 3}
    found = Result(name="a − b", n=40, method="by hand", p_value=0.02, p_holm=0.06, details=details)
    behind = found.but(estimate=-0.2, ci_low=-0.35, ci_high=-0.05)
    line = PairLine.of("a", "b", behind, 0.003, share=True)
    assert (line.first, line.second, line.gap, line.low, line.high) == ("b", "a", 0.2, 0.05, 0.35)
    assert (line.p_paper, line.p_clustered, line.p_decides, line.differs) == (0.003, 0.02, 0.06, False)
    ahead = PairLine.of("b", "a", found.but(estimate=0.2, ci_low=0.05, ci_high=0.35), 0.003, share=True)
    assert ahead == line


def test_each_p_stands_under_its_name():
    """Of a pair with three different p-values."""
    table = pairs_table(fake_summary(names=("a", "b", "c")))
    assert {"p_paper", "p_clustered", "p_decides"} < {column.key for column in table.columns}
    first = table.rows[0]
    assert (first["pair"], first["low"], first["gap"], first["high"]) == ("a over b", 0.01, 0.125, 0.2)
    assert (first["p_paper"], first["p_clustered"], first["p_decides"]) == (0.001, 0.004, 0.012)


@pytest.mark.parametrize(
    ("question", "heading"),
    [
        ("how fluent was all of this conversation", "how fluent was all of this conversation"),
        ("very " * 40, f"{'very ' * 16}…"),
        ("Fluency", "Fluency"),
    ],
)
def test_a_long_question_heads_its_answer(question, heading):
    """Guards imported ratings, whose criterion may be all that names an answer. A metric names it more briefly."""
    answer = fake_summary().model_copy(update={"technique": "", "setting": "", "metric": "", "question": question})
    assert heading_of(answer) == heading
    named = answer.model_copy(update={"metric": "m"})
    assert heading_of(named) == ("m, Fluency" if heading == "Fluency" else "m")


def test_a_verdict_of_two_models_counts_no_pairs_of_models():
    """Guards “None of 2 pairs of models”, where there are only two models, and one comparison in each question."""
    answers = [fake_summary(setting=setting) for setting in ("s1", "s2")]
    pairs = [answers[0].pairs[0].model_copy(update={"differs": False})]
    equal = [answer.model_copy(update={"pairs": pairs}) for answer in answers]
    assert verdict_of(equal).startswith("None of 2 comparisons of two models shows a difference (2 questions; ")


def test_a_remark_about_one_of_several_answers_names_it():
    """Guards “these 3 dialogues” next to “these 4 dialogues”; what holds for all answers names none of them."""
    ratings = {"technique": "", "setting": "", "metric": ""}
    few = [
        fake_summary().model_copy(
            update={**ratings, "question": name, "remarks": [f"About {n} dialogues.", "Few raters."]}
        )
        for name, n in (("fluency", 3), ("warmth", 4))
    ]
    facts = build_report(example_tables()).facts
    told = qualifying(facts, few, [])
    assert told[-3:] == ["Fluency: About 3 dialogues.", "Few raters.", "Warmth: About 4 dialogues."]
    assert "About 3 dialogues." in qualifying(facts, few[:1], [])


def test_a_verdict_over_several_questions_counts_pairs_that_differ():
    """One pair of three differs in each of two questions; the others are tested, and not named."""
    answers = [fake_summary(names=("a", "b", "c"), setting=setting) for setting in ("s1", "s2")]
    verdict = verdict_of(answers)
    assert verdict.startswith("2 of 6 comparisons of two models show a difference (2 questions")
    assert verdict.count("a is ahead of b") == 2
    assert "of c" not in verdict


def rows_of(folder, key, answer):
    """The rows of a CSV file that are of the technique, setting, metric and question of an answer."""
    with (folder / f"{key}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for name in ("technique", "setting", "metric"):
        rows = [row for row in rows if row.get(name, answer[name]) == answer[name]]
    return [row for row in rows if row.get("criterion", answer["question"]) == answer["question"]]


def number(text):
    return float(text) if text else None


def adjusted(row):
    """Estimate and interval with all positions weighted equally, where these lead; else nothing."""
    names = ("adjusted" if "adjusted" in row else "win_rate_adjusted", "adjusted_low", "adjusted_high")
    return [float(row[name]) for name in names] if row.get("adjusted_low") else []


def models_in_csv(folder, answer):
    """Model → how its numbers are written, and its estimate and interval. A row on two models has those of both."""
    key, found = answer["model_table"], {}
    rows = rows_of(folder, key, answer)
    if key in MODEL_COLUMNS:
        kind, names = MODEL_COLUMNS[key]
        told = {line["model"] for line in answer["models"]}
        own = [row for row in rows if row["model"] in told]  # people stand beside the bots of segments
        return {row["model"]: (kind, adjusted(row) or [number(row[name]) for name in names]) for row in own}
    for row in rows:
        rate, low, high = adjusted(row) or (number(row[name]) for name in ("win_rate_a", "ci_low", "ci_high"))
        found[row["model_a"]] = ("share", [rate, low, high])
        found[row["model_b"]] = ("share", [1 - rate, 1 - high, 1 - low])
    return found


def pairs_in_csv(folder, answer):
    """Models, the one ahead first → how their numbers are written; gap, interval, and the three p-values; superiority."""
    found = {}
    kind, ends, tests = PAIR_COLUMNS[answer["pair_table"]]
    for row in rows_of(folder, answer["pair_table"], answer):
        models = (
            (row["model_a"], row["model_b"]) if "model_a" in row else tuple(re.split(" against | over ", row["name"]))
        )
        if len(models) != 2:  # a test of all models at once, or of one
            continue
        gap, low, high = (number(row[name]) for name in ends)
        p_values = [number(row[name]) for name in tests]
        effect = [number(row[name]) for name in EFFECT_COLUMNS[answer["pair_table"]]]
        alike = adjusted(row)
        if alike:
            gap, low, high = alike if "adjusted" in row else [2 * share - 1 for share in alike]
            p_values[1:] = number(row["p_adjusted"]), number(row["p_adjusted_holm"])
            if "score_adjusted" in row:
                effect = [number(row[f"score_adjusted{end}"]) for end in ("", "_low", "_high")]
        if gap < 0:
            assert "p_a_higher" not in tests, "the better model stands first"
            models, gap, low, high = models[::-1], -gap, -high, -low
            effect = [1 - effect[0], 1 - effect[2], 1 - effect[1]]
        found[models] = (kind, [gap, low, high, *p_values], effect)
    return found


def cut(numbers, kind):
    """Files have intervals of shares within 0 and 1."""
    return [None if one is None else min(1.0, max(0.0, one)) if kind == "share" else one for one in numbers]


def words(numbers, kind):
    """An estimate and its interval as people read them; what is not known is not written."""
    estimate, low, high = numbers
    written = [cell_text(estimate, kind), interval_text(low, high, kind)]
    return [words for words in written if words != ABSENT]


def cells_of(page):
    """The cells of each row of the page's tables, as they are read."""
    rows = re.findall(r"<tr.*?</tr>", page, flags=re.DOTALL)
    cells = [re.findall(r"<t[dh].*?</t[dh]>", row, flags=re.DOTALL) for row in rows]
    return [[flat(html.unescape(re.sub(r"<.*?>", "", cell))) for cell in row] for row in cells]


def check_written(cells, on_page, screen):
    """A row of just these cells stands on the page, and on the screen where it shows tables."""
    known = [flat(cell) for cell in cells if cell != ABSENT]
    assert known in [[cell for cell in row if cell != ABSENT] for row in on_page], known
    line = " ".join(known)
    assert screen is None or line in [" ".join(word for word in line.split() if word != ABSENT) for line in screen], (
        line
    )


@pytest.mark.usefixtures("only_answers")
def test_the_tables_beside_the_page_give_the_same_report(study):
    """Nothing that a report needs is lost in the files."""
    _, document, page = study
    again = build_report(read_tables(folder_of(page)), OPTIONS)
    assert [summary.model_dump() for summary in again.summaries()] == [
        summary.model_dump() for summary in document.summaries()
    ]
    assert again.headline() == document.headline()


def test_names_that_look_like_markup_print_as_they_are(study):
    _, document, _ = study
    if any("[red]" in model.name for model in document.facts.models):
        assert "[red]d[/red]" in printed(document, print_document)


@pytest.mark.parametrize("technique", STUDIES)
def test_a_study_without_any_answer_is_no_error(technique):
    """The task exists and nobody came yet."""
    document = build_report(tables([]), OPTIONS, title="t", task=TaskFacts(tasks=["t"], technique=technique))
    assert "nothing can be said about the models" in flat(printed(document))
    assert document.to_json()["technique"] == technique


@pytest.mark.usefixtures("only_answers")
def test_times_of_turns_are_of_turns_that_were_rated():
    """A conversation that is only rated at its end has no time a turn; one with choices has."""
    rated = make_assessment({"a": 75, "b": 60, "qc": 20})
    for record in rated:
        record.turns[0].seconds = 0
    raters = build_report(tables(rated), OPTIONS).facts.raters
    assert (raters.median_turn_seconds, raters.median_dialogue_seconds) == (None, 300)
    choices = make_choices({"a": 0.6, "b": 0.4}, workers=4)
    assert build_report(tables(choices), OPTIONS).facts.raters.median_turn_seconds == 8


@pytest.mark.usefixtures("only_answers")
def test_simulated_raters_are_counted():
    """Those of the records; a study of both says how many of each."""
    records = make_study(6)
    for record in records[::2]:
        record.simulated = True
    facts = build_report(tables(records), OPTIONS).facts
    simulated = {record.worker for record in records if record.simulated}
    people = {record.worker for record in records} - simulated
    assert (facts.raters.simulated, facts.raters.people) == (len(simulated), len(people))
    mixed = f"{len(simulated)} programs, {len(people)} people"
    assert facts.rater_kinds.kind == (mixed if people else "programs")
