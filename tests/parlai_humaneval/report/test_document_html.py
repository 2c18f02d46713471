"""The page: one file, everything in it, texts of raters and models as text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from fake_sections import HOSTILE, fake_document, fake_summary

from parlai_humaneval.quality.registry import CheckCount, Failure
from parlai_humaneval.report import sections
from parlai_humaneval.report.document import Document, Excluded, Left, PracticeCount, SectionLeftOut
from parlai_humaneval.report.render.html import Files, figure_count, joined, references_in, to_html

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Outline(HTMLParser):
    """What a page holds; fails where elements are not closed in turn."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: set[str] = set()
        self.headings: list[tuple[int, str]] = []
        self.text = ""
        self.unfolded = ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        values = dict(attrs)
        self.attributes |= set(values)
        if values.get("id"):
            self.ids.append(str(values["id"]))
        if tag == "a":
            self.links.append(str(values.get("href")))
        if tag in ("h1", "h2", "h3"):
            self.headings.append((int(tag[1]), ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        folded = self.open[self.open.index("details") + 1 :] if "details" in self.open else ["summary"]
        if folded[:1] == ["summary"] and not {"style", "head", "title", "desc"} & set(self.open):
            self.unfolded += f" {data}"
        if self.open and self.open[-1] in ("h1", "h2", "h3"):
            level, words = self.headings[-1]
            self.headings[-1] = level, words + data


@pytest.fixture(scope="module")
def document() -> Document:
    return fake_document()


@pytest.fixture(scope="module")
def page(document: Document) -> str:
    return to_html(document, files=Files("report", ["report.json"], frozenset({"turns"})))


@pytest.fixture(scope="module")
def outline(page: str) -> Outline:
    return Outline(page)


def test_nothing_is_loaded_and_nothing_runs(page: str, outline: Outline) -> None:
    """No script, picture, font or style sheet from anywhere; the browser is told to refuse them too."""
    assert not set(outline.tags) & {"script", "img", "link", "iframe", "object", "embed", "base", "form", "image"}
    assert not [name for name in outline.attributes if name.startswith("on") or name in ("src", "srcset")]
    assert "default-src 'none'; style-src 'unsafe-inline'" in page
    assert not re.search(r"@import|url\((?!#)", page)
    assert not re.search(r"https?://(?!www\.w3\.org/)", page)


def test_markup_in_texts_is_text(page: str, outline: Outline) -> None:
    """Names, questions, replies, reasons, headlines, remarks, notes and methods: all of them are shown as typed."""
    assert "<script" not in page
    assert outline.text.count(HOSTILE) > 12
    assert "Hi & <b>bye</b> 1" in outline.text
    assert "b" not in outline.tags


def test_the_answer_comes_first(outline: Outline) -> None:
    """Headings are in order, none is skipped; the answer stands before everything else."""
    titles = [words for level, words in outline.headings if level == 2]
    assert titles == ["The answer", "Caveats", "Tables and methods", "The study"]
    levels = [level for level, _ in outline.headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_links_lead_somewhere(outline: Outline) -> None:
    """To files of the folder beside the page, and nowhere else; no id stands twice, and each section has one."""
    assert len(outline.ids) == len(set(outline.ids))
    assert {"turns", "design", "examples"} <= set(outline.ids)
    assert set(outline.links) == {"report/report.json", "report/references.bib", "report/turns.csv"}


def test_tables_say_what_they_are(page: str) -> None:
    """A caption, heads with a scope, numbers on the right, the words of numbers; empty tables are not shown."""
    assert page.count("<table>") == page.count("<caption>") == 3
    assert all('scope="' in head for head in re.findall(r"<th\b[^>]*>", page))
    assert '<td class="number">55–69 %</td>' in page
    assert '<td class="number">.043</td>' in page
    assert "<caption>Nothing</caption>" not in page


def test_figures_say_what_they_show(page: str, document: Document) -> None:
    """Each has a title, a description and a caption."""
    assert page.count("<svg") == page.count("<figcaption>") == figure_count(document) == 6
    with_answer = fake_document(answers=[fake_summary()])
    assert to_html(with_answer).count("<svg") == figure_count(with_answer) == 7
    assert page.count('role="img"') == 6


def test_how_it_was_made_can_be_cited(outline: Outline, document: Document) -> None:
    """Seed, draws, versions, the papers that methods name, and where the numbers are."""
    text = outline.text
    assert "1,000 draws each, seed 3" in text
    assert all(version in text for version in document.facts.versions.values())
    assert "Human Evaluation of Conversations is an Open Problem" in text
    assert "FFAEval" not in text
    assert "Made 2024-05-06T07:08:09+00:00" in text


def test_example_dialogues_are_shown_as_said(outline: Outline) -> None:
    """What was said, which reply was chosen, and the reason."""
    assert f"alpha says {HOSTILE} in 1" in outline.text
    assert outline.text.count("chosen") >= 4
    assert "Reason: “=1+1”" in outline.text


def test_a_page_without_anything_says_so() -> None:
    """No section, no example: still a page."""
    document = fake_document()
    empty = Document(facts=document.facts, sections={}, examples=[])
    text = Outline(to_html(empty)).text
    assert "Nothing has been rated yet" in text
    assert "Example dialogues" not in text


def test_who_was_left_out_and_why() -> None:
    """Counts of each check, what went, and each failure with its reason, as text."""
    excluded = Excluded(
        scope="worker",
        failures=[Failure(check="capitals", worker="w9", dialogue_id="d7", reason=f"SHOUTS {HOSTILE}")],
        counts=[CheckCount(check="capitals", judged=4, dialogues_failed=1, workers_failed=1, turns_removed=6)],
        dialogues_total=4,
        here=Left(dialogues=1, workers=1, turns=6),
    )
    document = fake_document()
    raters = document.facts.raters.model_copy(update={"practice": PracticeCount(passed=3, failed=2, not_ended=1)})
    facts = document.facts.model_copy(update={"excluded": excluded, "raters": raters})
    text = Outline(to_html(Document(facts=facts, sections={}))).text
    assert "Left out by quality checks: 1 dialogue, 6 turns; 1 rater with all their work" in text
    assert f"rater w9, dialogue d7: SHOUTS {HOSTILE}" in text
    assert "3 passed, 2 failed, 1 not finished" in text
    assert "left anybody out" not in text


def test_progress_is_told_figure_by_figure(document: Document) -> None:
    steps: list[int] = []
    to_html(document, on_figure=lambda: steps.append(1))
    assert len(steps) == figure_count(document)


@pytest.mark.parametrize(
    ("source", "begins"),
    [
        ("Smith et al. 2022, §4.1", ["E. M. Smith"]),
        ("Zhao & Sun 2004; Deriu et al. (2020)", ["J. Deriu", "Q. Zhao"]),
        ("Jin et al. 2022", []),
        ("Sun 1996", ["J. Sun. A"]),
        ("Kish 1965; Cameron, Gelbach & Miller 2011", ["A. C. Cameron, J. B. Gelbach", "L. Kish"]),
        ("Liu 2019; Smith 2022", ["E. M. Smith"]),
        ("", []),
    ],
)
def test_sources_are_found_by_author_and_year(source: str, begins: list[str]) -> None:
    """A name alone, or another year, is another work."""
    texts = [reference.text for reference in references_in([source])]
    assert [text[: len(begin)] for text, begin in zip(texts, begins, strict=True)] == begins


def test_who_was_left_out_by_a_section_is_said_where_it_says_who_rated() -> None:
    """No “No quality check left anybody out” over an answer that rests on some of the workers."""
    document = fake_document()
    left = SectionLeftOut(section="Direct assessment", why="failed", workers=["w1", HOSTILE], of=5)
    facts = document.facts.model_copy(update={"left_out": [left]})
    text = Outline(to_html(Document(facts=facts, sections={}))).text
    assert f"2 of 5 raters, who failed: w1, {HOSTILE}" in text
    assert "No quality check left anybody out" not in text
    assert "No other check left anybody out of this report." in text
    before = "Tables do not say whether anybody was left out before"
    of_task = document.model_copy(update={"facts": document.facts.model_copy(update={"from_task": True})})
    assert "No quality check left anybody out" in Outline(to_html(document)).text
    assert before in Outline(to_html(document)).text
    assert before not in Outline(to_html(of_task)).text


SOURCES = {
    part.strip()
    for path in (*Path(sections.__file__).parent.rglob("*.py"), Path(sections.__file__).parents[1] / "methods.yaml")
    for source in re.findall(r'source(?:=f?|: )"([^"]+)"', path.read_text(encoding="utf-8"))
    for part in source.split(";")
    if re.search(r"\b(?:18|19|20)\d\d\b", part)
}


@pytest.mark.parametrize("source", sorted(SOURCES))
def test_every_source_of_a_section_has_its_reference(source: str) -> None:
    """What is cited by author and year is listed in full, once."""
    assert len(references_in([source])) == 1


def test_sources_were_found() -> None:
    assert len(SOURCES) > 15


def test_what_is_wider_than_the_screen_shows_it(page: str) -> None:
    """A shadow at the edge that has more; figures fit a phone of 390 pixels beside its margins of 16 each."""
    assert "no-repeat local" in page
    assert 'class="small hint"' in page
    (least,) = re.findall(r"^figure svg {[^}]*min-width: (\d+)rem", page, re.MULTILINE)
    assert int(least) * 16 <= 390 - 2 * 16


def test_two_models_are_told_in_few_words() -> None:
    """Verdict, figure, ranking and what qualifies it are in sight; tables and methods are folded."""
    outline = Outline(to_html(fake_document(answers=[fake_summary()])))
    assert len(outline.unfolded.split()) < 900
    for words in ("alpha is ahead of beta (p\u00a0=\u00a0.012", "60 %", "Fewer than 10 raters", "Rated by 2 raters"):
        assert words in outline.unfolded
    for words in ("Shares.", "says <script>", "1,000 draws"):
        assert words in outline.text
        assert words not in outline.unfolded


def test_the_answer_can_be_taken_along() -> None:
    """As a sentence, as BibTeX, and as files of the figure, which are beside the page."""
    page = to_html(fake_document(answers=[fake_summary()]), files=Files("report", ["report.json"]))
    outline = Outline(page)
    assert {"report/figure.svg", "report/figure.pdf", "report/references.bib"} <= set(outline.links)
    assert "(Human evaluation with sata, 2 raters; intervals clustered by rater; parlai-humaneval" in outline.text
    assert "@inproceedings{smith2022," in outline.text


def test_a_number_leads_to_its_rows() -> None:
    """To the file that holds them, and which of its rows they are; without files there is no link."""
    document = fake_document(answers=[fake_summary()])
    page = to_html(document, files=Files("report", [], frozenset({"turns"})))
    rows = "turns.csv where technique = sata and setting = soba and metric = preference and model"
    assert f'<a href="report/turns.csv" title="{rows} = alpha">60 %</a>' in page
    assert f'title="{rows} is alpha or beta">12</a>' in page
    assert '<a href="report/turns.csv" class="same" tabindex="-1">' in page, "the other numbers of the row do, too"
    assert "turns.csv" not in to_html(document)
    on_a_phone = Outline(page)
    assert f"{rows} = alpha" in on_a_phone.text
    assert f"{rows} is alpha or beta" in on_a_phone.text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("32 % of 10 turns", "32_% of 10 turns"),
        ("36–68 %", "36–\u206068_%"),
        ("(p < .0001), p = .05", "(p_<_.0001), p_=_.05"),
        ("interval −20 to 37, r = −.3", "interval −20 to 37, r_=_−.3"),
        ("model = alpha", "model = alpha"),
    ],
)
def test_numbers_and_their_units_stay_on_one_line(text: str, words: str) -> None:
    assert joined(text) == words.replace("_", "\u00a0")


def test_several_answers_have_one_verdict() -> None:
    """How many pairs differ in all; each answer is told below, and folded where there are many."""
    answers = [fake_summary(setting=f"s{number}") for number in range(5)]
    outline = Outline(to_html(fake_document(answers=answers)))
    assert "5 of 5 comparisons of two models show a difference (5 questions" in outline.unfolded
    assert "sata, s4, preference" in outline.unfolded
    assert outline.text.count("alpha is ahead of beta (p\u00a0=\u00a0.012, clustered") == 5
    assert "alpha is ahead of beta (p\u00a0=\u00a0.012, clustered" not in outline.unfolded


def test_techniques_are_folded_apart() -> None:
    """The rows of each stand with it, and what is of all of them comes last."""
    document = fake_document()
    both = document.facts.model_copy(update={"techniques": ["pw_turn", "sata"]})
    headings = Outline(to_html(document.model_copy(update={"facts": both}))).headings
    folded = headings[headings.index((2, "Tables and methods")) : headings.index((2, "The study"))]
    assert [words for level, words in folded if level == 3] == ["All techniques together"]


def test_simulated_raters_are_named_first() -> None:
    """Before the title, and in the name of the window; a mix says how many of each."""
    document = fake_document(answers=[fake_summary()])
    assert "program" not in to_html(document)
    for simulated, words in ((2, "All raters are programs (2)"), (1, "1 program, 1 person")):
        raters = document.facts.raters.model_copy(update={"simulated": simulated, "people": 2 - simulated})
        facts = document.facts.model_copy(update={"raters": raters})
        page = to_html(document.model_copy(update={"facts": facts}))
        assert page.index("<header>") < page.index(words, page.index("<body>")) < page.index("</header>")  # a landmark
        outline = Outline(page)
        assert words in outline.unfolded
        assert outline.unfolded.index(words) < outline.unfolded.index("Study")
