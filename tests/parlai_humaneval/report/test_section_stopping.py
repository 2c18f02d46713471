"""The section on studies that stop once they reach a decision: it answers first, by the log; others say what they are."""

from __future__ import annotations

import html
import io
import json
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest
from make_judgements import make_pair
from make_live_records import make_choice
from make_stopped import DESIGN, log_of, stopped, tables_of
from rich.console import Console

from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.document import Document
from parlai_humaneval.report.render.figures import to_svg
from parlai_humaneval.report.render.html import references_of, to_html
from parlai_humaneval.report.render.leaderboard import leaderboard_of, ranks_table, to_page
from parlai_humaneval.report.render.terminal import print_document, print_report_summary
from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.stopping import CHANGED, Stopping, build, pairs_remark, pairs_table
from parlai_humaneval.report.summary import figure_of, leading
from parlai_humaneval.report.summary import pairs_table as table_of_pairs
from parlai_humaneval.report.views import IntervalFigure
from parlai_humaneval.stopping.events import WIDEST
from parlai_humaneval.stopping.study import SequentialStudy
from parlai_humaneval.tables.build import tables
from parlai_humaneval.tables.columns import StoppingLog, Tables

OPTIONS = Options(draws=20)
CHANGED_LOG = CHANGED.partition("). ")[2]


@pytest.fixture(scope="module")
def study() -> SequentialStudy:
    """A is better than B and C, which are equal; decided."""
    return stopped()


@pytest.fixture(scope="module")
def document(study: SequentialStudy) -> Document:
    return build_report(tables_of(study), OPTIONS)


def section(*logs: StoppingLog) -> Stopping:
    made = build(replace(tables([]), stopping=logs), OPTIONS)
    assert made is not None
    return made


def changed(log: StoppingLog, **values: Any) -> StoppingLog:
    """The log with other values in its first event that was answered."""
    events = [dict(event) for event in log.events]
    next(event for event in events if event["event"] == "answered").update(values)
    return replace(log, events=tuple(events))


def test_the_answer_is_that_of_the_study(study: SequentialStudy, document: Document) -> None:
    """Guards the one answer: the head of the report says what was decided, and each number is the study's own."""
    standing = study.standing()
    assert standing.ended == "decided"
    share = f"{standing.answered / standing.fixed:.0%}".replace("%", " %")
    assert document.headline() == (
        f"Answer reached: A > {{B ≈ C within 30 points}}; {share} of the dialogues of a fixed plan."
    )
    found = document.sections["stopping"]
    assert isinstance(found, Stopping)
    assert [(pair.first, pair.second, pair.decided, pair.estimate, pair.low, pair.high) for pair in found.pairs] == [
        (pair.first, pair.second, pair.decided, pair.estimate, pair.low, pair.high) for pair in standing.pairs
    ]
    (told,) = found.studies
    assert (told.fixed, told.fixed_pooled, told.dialogues) == (standing.fixed, standing.fixed_pooled, standing.answered)
    assert told.of_fixed == standing.answered / standing.fixed
    strengths = study.strengths()
    assert strengths is not None
    assert [model.strength for model in found.strengths] == list(strengths.models)
    claimed = {(event.first, event.second): event.dialogues for event in study.log if event.event == "claimed"}
    assert {pair.after for pair in found.pairs} == set(claimed.values())


@pytest.mark.usefixtures("only_answers")
def test_while_it_runs_strengths_are_not_shown() -> None:
    """Guards the promise of the section: their intervals are right for one look, at a study that ended."""
    found = build_report(tables_of(stopped(workers=12)), OPTIONS).sections["stopping"]
    assert isinstance(found, Stopping)
    assert found.pairs
    assert found.strengths == []


def test_it_answers_before_the_tests_of_one_look(document: Document) -> None:
    """Guards against two answers: p-values of a fixed study lead nowhere, and stand with a label where they stand."""
    (answer,) = leading(document.summaries())
    assert answer.section == "stopping"
    assert all(pair.p_decides is None for pair in answer.pairs)
    assert [pair.differs for pair in answer.pairs] == [True, True, False]
    assert pairs_remark(document.sections["stopping"].pairs, in_points=True) in answer.remarks  # type: ignore[attr-defined]  # of this section alone
    others = [summary for summary in document.summaries() if summary.section != "stopping"]
    assert others
    (label,) = document.sections["stopping"].labels().values()
    assert label.startswith("The numbers here are estimates after optional stopping.")
    assert "The p-values here do not determine the outcome" in label
    assert all(summary.remarks[0] == label for summary in others)
    for key in ("turns", "crowd_time"):
        assert document.sections[key].remarks[0] == label
    assert label not in document.sections["replies"].remarks
    assert document.sections["comparisons"].remarks[0] == label
    shown = [
        words
        for section in document.sections.values()
        for words in (
            section.headline,
            *section.remarks,
            *(note for table in section.data_tables() for note in table.notes),
        )
    ]
    cited = [part for words in shown for part in words.split(". ") if "Cite" in part]
    assert len(cited) > 2
    assert all("Cite “What was decided, and when”" in part for part in cited)
    (turns,) = (answer for answer in others if answer.section == "turns")
    assert any("rather than these p-values" in note for note in table_of_pairs(turns).notes)


@pytest.mark.usefixtures("only_answers")
def test_attention_checks_are_no_study() -> None:
    """Guards studies of finished dialogues: nothing is said of their checks, whose setting is another one."""
    settings = {"stop": "decided", "metric": "preference"}
    pair = make_pair("j1", "A", "B", "first", settings=settings)
    gold = make_pair("j2", "A", "B", "first", settings=settings, setting="human_bot", expected={"preference": "first"})
    found = build_report(tables([pair, gold]), OPTIONS).sections["stopping"]
    assert isinstance(found, Stopping)
    (study,) = found.studies
    assert study.design == ("pw_dialog", "self_chat", "preference")


def test_what_peeking_would_have_said(study: SequentialStudy) -> None:
    """Guards the sentence on a fixed analysis: who is called better, after how many workers, and whether wrongly."""
    found = section(log_of(study))
    better = {(peek.model_a, peek.model_b): peek for peek in found.peeks}
    assert (better["A", "B"].better, better["A", "B"].wrongly) == ("A", False)
    (words,) = [remark for remark in found.remarks if remark.startswith("If you had tested")]
    assert "stopped at p < .05, you would have claimed: A is better than B after" in words
    equal = next(
        made
        for seed in range(40)
        for made in [stopped(strength={"A": 0.0, "B": 0.0}, seed=seed)]
        if made.ended == "decided" and made.peeks()[0].wrongly
    )
    (peek,) = section(log_of(equal)).peeks
    assert peek.wrongly is True
    (words,) = [remark for remark in section(log_of(equal)).remarks if remark.startswith("If you had tested")]
    assert words.endswith(f"after {peek.after} raters, which the decision contradicts.")


@pytest.mark.usefixtures("only_answers")
def test_a_study_that_goes_on() -> None:
    """Guards the report of a running study: what is open is said, nothing is saved yet, and other sections say so, too."""
    going = stopped(workers=12)
    found = build_report(tables_of(going), OPTIONS)
    assert going.ended is None
    assert found.headline() == f"{going.standing().open_words}."
    assert (
        found.sections["turns"]
        .remarks[0]
        .startswith("This study stops once it reaches a decision, which it has not done yet")
    )
    (told,) = [
        remark for remark in found.sections["stopping"].remarks if remark.startswith("Two models count as equal")
    ]
    assert "There are 12 dialogues; all of them count, from 12 raters." in told
    assert "of it)" not in told
    assert {row["state"] for row in pairs_table(found.sections["stopping"].pairs).rows} == {"open"}  # type: ignore[attr-defined]  # of this section alone


@pytest.mark.usefixtures("undrawn", "only_answers")
def test_a_log_that_was_changed_breaks_nothing(study: SequentialStudy) -> None:
    """Guards against claims of a log that does not lead to them: it is said, no number is made of it, the rest stands."""
    log, whole = log_of(study), tables_of(study)
    for made in (
        changed(log, outcome={"picks": [0, 6], "turns": 6}),
        changed(log, outcome={"picks": [9], "turns": 6}),
        replace(log, events=log.events[1:]),
        replace(log, events=(*log.events[:5], {"line": "…"})),
        replace(log, events=()),
    ):
        stopping = section(made)
        assert stopping.pairs == []
        assert "The log was changed or is incomplete" in stopping.headline
    for made in (changed(log, outcome={"picks": [9], "turns": 6}), replace(log, events=())):
        found = build_report(replace(whole, stopping=(made,)), OPTIONS)
        assert [answer.section for answer in leading(found.summaries())] == ["turns"]
        if made.events and made.events[0] == log.events[0]:
            (answer,) = leading(found.summaries())
            assert CHANGED_LOG in answer.remarks[0]
        assert CHANGED_LOG in to_html(found)


@pytest.mark.usefixtures("only_answers")
def test_tables_without_their_log_say_so() -> None:
    """Guards a release, which has no log: its settings tell that it stopped once it reached a decision."""
    settings = {"stop": "decided", "metric": "preference"}
    record = make_choice("d1", [["a"]] * 3, technique="sata", setting="soba")
    record.settings = settings
    found = build_report(tables([record]), OPTIONS)
    assert found.sections["stopping"].headline == (
        "This study stops once it reaches a decision, and its log of decisions is not among these tables, so its decisions "
        "are unknown."
    )
    assert "log of decisions is not among these tables" in found.sections["turns"].remarks[0]
    record.settings = {"stop": "collected", "metric": "preference"}
    assert "stopping" not in build_report(tables([record]), OPTIONS).sections


@pytest.mark.usefixtures("only_answers")
def test_warnings_are_said_first() -> None:
    """Guards what speaks against trusting the answer: it stands in the summary and in the section."""
    slow = stopped(slow=5, timeout=100.0)
    assert slow.standing().warnings
    found = build_report(tables_of(slow), OPTIONS)
    (answer,) = leading(found.summaries())
    assert answer.remarks[0].endswith("Set a longer time limit in your next study; the limit of this study is fixed.")
    assert found.sections["stopping"].remarks[0] == answer.remarks[0]


def test_two_studies_together(study: SequentialStudy) -> None:
    """Guards reports on several tasks: each is named, and the numbers of one are not the other's."""
    other = stopped(seed=2, design={**DESIGN, "metric": "humanness"})
    found = section(log_of(study, "first"), log_of(other, "second"))
    assert found.headline.startswith("first: Answer reached: A")
    assert " second: Answer reached: A" in found.headline
    assert [summary.question for summary in found.summary()] == ["first", "second"]
    assert {row["study"] for row in found.data_tables()[0].rows} == {"first", "second"}


@pytest.mark.usefixtures("undrawn")
def test_the_same_numbers_everywhere(study: SequentialStudy, document: Document) -> None:
    """Guards the one object: JSON, CSV, page and terminal draw it."""
    whole = document.to_json()
    pair = whole["stopping"]["pairs"][0]
    low = study.standing().pairs[0].low
    assert pair["anytime_low"] == low
    assert document.sections["stopping"].data_tables()[0].rows[0]["anytime_low"] == low
    assert json.dumps(whole)
    html = to_html(document)
    assert "What was decided, and when" in html
    assert "Strengths, after optional stopping" in html
    out = io.StringIO()
    print_report_summary(document, Console(file=out, width=100))
    assert "Answer reached: A > {B ≈ C within 30 points}" in out.getvalue()
    assert " p " not in out.getvalue().split("Intervals use")[0]


def test_the_margin_is_a_band_in_the_figure(document: Document) -> None:
    """Guards the picture: what counts as equal is shaded, and reaches as far as the margin."""
    (figure,) = document.sections["stopping"].figures()
    assert isinstance(figure, IntervalFigure)
    assert figure.band == (-0.3, 0.3)
    plain = figure.model_copy(update={"band": None})
    assert len(to_svg(figure)) > len(to_svg(plain))


def test_the_leaderboard_ranks_by_what_was_decided(document: Document) -> None:
    """Guards the page for everybody: models have names and ranks, and the words are of claims and not of one look."""
    board = leaderboard_of(document)
    (one,) = board.boards
    assert [(row["rank"], row["model"]) for row in ranks_table(one).rows] == [("1", "A"), ("2–3", "B"), ("2–3", "C")]
    assert one.told == "A ranks first (family-wise 5 %)."
    page = to_page(board)
    assert "ranks follow the decisions so far" in page
    assert "clustered by rater" not in page


def test_another_risk_is_said_as_it_is() -> None:
    """Guards “family-wise 5 %” and “95 %”: they are those of the study's own chance of a false claim."""
    found = section(log_of(stopped(alpha=0.1)))
    (answer,) = found.summary()
    assert answer.best is not None
    assert (answer.best.leader, answer.best.risk) == ("A", 0.1)
    assert "90 % from" in {column.label for column in table_of_pairs(answer).columns}
    assert "Simultaneous coverage of the intervals at all times: 90 %." in found.data_tables()[0].notes


def test_tables_of_other_studies_have_no_such_section() -> None:
    """Guards everybody else: nothing is said of stopping where nothing stopped."""
    empty: Tables = tables([make_choice("d1", [["a"]] * 3)])
    assert build(empty, OPTIONS) is None


@pytest.mark.usefixtures("only_answers")
def test_a_log_without_its_beginning_is_of_the_study_by_its_settings(study: SequentialStudy) -> None:
    """Guards against two studies out of one: the log that cannot be read is that of what was launched so."""
    record = make_choice("d1", [["a"]] * 3, technique="sata", setting="soba")
    record.settings = {"stop": "decided", "metric": "preference"}
    log = replace(log_of(study), events=log_of(study).events[1:])
    found = build_report(replace(tables([record]), stopping=(log,)), OPTIONS)
    stopping = found.sections["stopping"]
    assert isinstance(stopping, Stopping)
    assert [(one.study, one.design) for one in stopping.studies] == [("study", ("sata", "soba", "preference"))]
    assert CHANGED_LOG in found.sections["turns"].remarks[0]


def test_what_follows_through_others_is_said_so() -> None:
    """Guards a claim that no dialogue of the two has made: the table names it, and the pair counts as decided."""
    apart = {"A": 2.4, "B": 1.2, "C": 0.0, "D": -1.2}
    made = stopped(strength=apart, seed=10, margin=0.2, cap=2000, evidence="direct")
    found = section(log_of(made))
    states = {(pair.first, pair.second): pair.state for pair in found.pairs}
    assert states["A", "D"] == "A > D, through others"
    assert states["A", "B"] == "A > B"
    assert [pair.through for pair in found.pairs] == [pair.through for pair in made.standing().pairs]


def test_what_intervals_are_of_is_said_in_the_unit_that_is_shown(document: Document) -> None:
    """Guards the note on intervals: shares beside shares, points beside points, and no stopping where nothing stopped."""
    found = document.sections["stopping"]
    (answer,) = leading(document.summaries())
    (of_points,) = [remark for remark in answer.remarks if remark.startswith("Intervals use only dialogues")]
    assert "the mean is too far from 0 after optional stopping" in of_points
    assert of_points.endswith("contain 0.")
    (of_shares,) = [note for note in found.data_tables()[0].notes if note.startswith("Intervals use only dialogues")]
    assert "the mean is too far from one half after optional stopping" in of_shares
    assert of_shares.endswith("contain 50 %.")
    (going,) = section(log_of(stopped(workers=12))).summary()
    (so_far,) = [remark for remark in going.remarks if remark.startswith("Intervals use only dialogues")]
    assert "stopp" not in so_far


def test_figures_of_gaps_are_in_points_on_a_band_and_name_the_leader_first(
    study: SequentialStudy, document: Document
) -> None:
    """Guards one picture: at the head of the report and in the section (so also in ``watch``), with the same pairs."""
    head, (own,) = figure_of(leading(document.summaries())), document.sections["stopping"].figures()
    assert isinstance(own, IntervalFigure)
    assert head is not None
    assert head.x_label == own.x_label == "percentage points; shaded: equal within 30"
    assert head.band == own.band == (-0.3, 0.3)
    assert {point.label: point for point in head.points} == {point.label: point for point in own.points}
    assert all(point.estimate >= 0 for point in own.points)
    texts = "".join(ElementTree.fromstring(to_svg(head)).itertext())
    assert "%" not in texts
    reversed_ = stopped(strength={"B": 0.0, "A": 1.4, "C": 0.0})
    (figure,) = section(log_of(reversed_)).figures()
    assert isinstance(figure, IntervalFigure)
    assert {point.label for point in figure.points} >= {"A over B", "A over C"}
    rows = pairs_table(section(log_of(reversed_)).pairs).rows
    assert ("A", "B", "A > B") in {(row["model_a"], row["model_b"], row["state"]) for row in rows}
    of_b = next(row for row in rows if (row["model_a"], row["model_b"]) == ("A", "B"))
    (pair,) = [one for one in reversed_.standing().pairs if {one.first, one.second} == {"A", "B"}]
    assert pair.first == "B"
    assert pair.share is not None
    assert of_b["share_after_stopping"] == 1 - pair.share
    assert (of_b["anytime_low"], of_b["anytime_high"]) == (1 - pair.high, 1 - pair.low)


@pytest.mark.usefixtures("undrawn")
def test_the_sentence_for_a_paper_has_estimates_and_rule(study: SequentialStudy, document: Document) -> None:
    """Guards what is copied: who was preferred, how often, with which interval; after how much, by which rule; and no
    interval of a fixed study. It is one sentence in every form of the report."""
    words, standing = document.sentence(), study.standing()
    (pair,) = [pair for pair in standing.pairs if (pair.first, pair.second) == ("A", "B")]
    assert pair.estimate is not None
    assert f"Raters preferred A to B in {pair.estimate:.0%}".replace("%", " %") in words
    assert f"(95 % anytime-valid interval {100 * pair.low:.0f}–{100 * pair.high:.0f} %)" in words
    assert "; equal)" in words
    assert (
        f"Every pair was decided after {standing.answered} of at most 600 dialogues by {standing.workers} raters"
        in words
    )
    assert "α = .05 for any false claim that one model is better, and for any false claim that two are equal" in words
    assert "less than 30 points apart" in words
    assert "clustered by rater" not in words
    assert document.to_json()["sentence"] == words
    page = html.unescape(to_html(document))
    assert words in page.replace("\u00a0", " ").replace("\u2060", "")
    out = io.StringIO()
    print_document(document, Console(file=out, width=10_000))
    assert f"For a paper: {words}" in out.getvalue()


@pytest.mark.usefixtures("only_answers")
def test_the_sentence_says_what_was_asked_of_what_and_with_which_judge() -> None:
    """Guards another question than a preference, judgements of finished dialogues, judges, and studies with open pairs."""
    judged = stopped(design={"technique": "pw_dialog", "setting": "self_chat", "metric": "humanness"})
    found = section(log_of(judged))
    (words,) = (answer.paper for answer in found.summary())
    assert words.startswith("Raters chose A over B (“Which speaker sounds more human?”) in ")
    assert f"after {judged.answered} of at most 600 judgements by " in words
    assert "judge " not in words
    assert found.headline.endswith("of the judgements of a fixed plan.")
    assert "The cap is 600 judgements." in found.remarks[0]
    asked = make_pair("j1", "A", "B", {"humanness": "first"})
    (told,) = build_report(replace(tables([asked]), stopping=(log_of(judged),)), OPTIONS).sections["stopping"].summary()
    assert "(“Which is better in humanness?”)" in told.paper
    found.studies = [found.studies[0].model_copy(update={"judge": "gpt"})]
    assert "share, minus what judge gpt had predicted (" in found.summary()[0].paper
    (going,) = section(log_of(stopped(workers=12))).summary()
    assert " 3 of 3 pairs are open after 12 of at most 600 dialogues by 12 raters whose answers counted" in going.paper


def test_wide_intervals_are_not_estimated_by_their_centre() -> None:
    """Guards pairs with few dialogues, whose interval is cut off at 0 or 1: the centre would be far from the truth."""
    for pair in stopped(workers=5).standing().pairs:
        if pair.share is not None and pair.high - pair.low > 2 * WIDEST:
            assert pair.estimate == pytest.approx(pair.share, abs=abs((pair.low + pair.high) / 2 - pair.share) / 4)
    close = [pair for pair in stopped(margin=0.15).standing().pairs if pair.high - pair.low <= WIDEST]
    assert close
    assert all(pair.estimate == pytest.approx((pair.low + pair.high) / 2) != pair.share for pair in close)


def test_sources_are_named(document: Document) -> None:
    """Guards the list of references: what the rule rests on is in it."""
    named = {(reference.first_author, reference.year) for reference in references_of(document)}
    assert {("Waudby-Smith", "2024"), ("Ramdas", "2023"), ("Ville", "1939"), ("Shaffer", "1986")} <= named


def test_numbers_of_dialogues_are_grammatical() -> None:
    """Guards “There are 1 dialogue”: of none, one and several, all or some of which count."""
    said = [
        next(words for words in section(log_of(stopped(workers=workers))).remarks if words.startswith("Two models"))
        for workers in (0, 1, 2)
    ]
    assert "There are no dialogues so far." in said[0]
    assert "There is 1 dialogue; it counts, from 1 rater." in said[1]
    assert "There are 2 dialogues; all of them count, from 2 raters." in said[2]


def test_a_study_at_its_cap_says_what_can_be_done() -> None:
    """Guards against a dead end: the report names the next step, which a study with its answer does not need."""
    capped = stopped(cap=12)
    assert capped.ended == "cap"
    found = section(log_of(capped))
    assert any("launch the study again with a higher max_dialogues" in words for words in found.remarks)
    assert not any("max_dialogues" in words for words in section(log_of(stopped())).remarks)


def test_a_study_without_answers_has_no_empty_table_and_no_peek() -> None:
    """Guards the first minutes: no pairs without numbers in the summary, and nothing on tests that nobody could make."""
    found = section(log_of(stopped(workers=0)))
    (answer,) = found.summary()
    assert answer.pairs == []
    assert found.headline == "3 of 3 pairs open."
    assert not any("Intervals use only dialogues" in words or "If you had tested" in words for words in answer.remarks)
    assert not any("If you had tested" in words for words in section(log_of(stopped(workers=3))).remarks)


def test_points_of_ratings_are_no_points_of_their_scale(study: SequentialStudy) -> None:
    """Guards “75 points”: of models that were rated each by itself it is said what a point is, and of no others."""
    (answer,) = section(log_of(study)).summary()
    assert answer.rule is not None
    apart = answer.model_copy(update={"rule": answer.rule.model_copy(update={"rated": "apart"})})
    assert any("100 points are half of the rating scale" in note for note in table_of_pairs(apart).notes)
    assert not any("half of the rating scale" in note for note in table_of_pairs(answer).notes)
