"""What the documentation promises of itself; links and anchors within the site are checked where it is built."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token
from pages import PAGES, REPOSITORY, documents

from docs.included import INCLUDED, on_page_markdown
from parlai_humaneval.report.facts import CHECKS_IN_DOCS
from parlai_humaneval.techniques.registry import techniques

MOST_LINES = 200
MOST_WORDS = 800
SEARCHED = {
    "Elo": "analysis/statistics.md",
    "A/B test": "tutorials/two_prompts.md",
    "win rate": "analysis/formulas.md",
    "Chatbot Arena": "techniques/arena.md",
    "human evaluation": "techniques/index.md",
    "Likert": "techniques/single_model.md",
    "inter-annotator agreement": "techniques/third_party.md",
    "kappa": "analysis/index.md",
    "power analysis": "studies/planning.md",
    "LLM-as-a-judge": "analysis/judges.md",
    "crowdsourcing": "crowds/index.md",
}
"""Words that people search for, and the page that answers."""
IN_REPOSITORY = re.compile(
    r"(?:benchmarks|docs|examples|mephisto_tasks|parlai_humaneval|tests|zoo_configs)/[\w./@-]*\w/?"
)
"""What names a file or folder of the repository in a page."""
FACTS = {
    f"{name}.md"
    for name in ("checks", "columns", "commands", "functions", "plan", "references", "required_columns", "settings")
} | {
    "after_stopping.md",
    "decided_many.md",
    "decided_pairs.md",
    "decided_picture.md",
    "house_mephisto_tasks.md",
    "house_parlai_humaneval.md",
    "judge_columns.md",
    "judge_keys.md",
    "judge_prompt.md",
    "looking.md",
    "server_options.md",
    "server_refusals.md",
    "three_truths.md",
}
AGENTS = ("parlai_humaneval/bot_speaker",)
"""These names are ParlAI's for agents."""


def names(document: Path) -> str:
    return str(document.relative_to(REPOSITORY))


def tokens(document: Path) -> Iterator[Token]:
    for token in MarkdownIt().enable("table").parse(document.read_text(encoding="utf-8")):
        yield token
        yield from token.children or ()


def test_readme_is_short() -> None:
    """Guards the first five minutes against what belongs to the site."""
    assert len((REPOSITORY / "README.md").read_text(encoding="utf-8").splitlines()) <= MOST_LINES


def prose(page: Path) -> list[str]:
    """The words of a page's text and tables, without code, pictures and what is included."""
    inline = [
        token
        for token in MarkdownIt().enable("table").parse(INCLUDED.sub("", page.read_text(encoding="utf-8")))
        if token.type == "inline"
    ]
    parts = [part for token in inline for part in token.children or () if part.type in ("text", "code_inline")]
    return " ".join(part.content for part in parts).split()


def test_pages_are_short() -> None:
    """Guards readers: a page that grows beyond this is split where they would look, or cut."""
    long = {str(page.relative_to(PAGES)) for page in PAGES.rglob("*.md") if len(prose(page)) > MOST_WORDS}
    assert long == set()


@pytest.mark.parametrize("words", SEARCHED)
def test_search_finds_the_words_that_people_use(words: str) -> None:
    """Guards the page that answers against a rewrite without the field's word."""
    assert words.lower() in " ".join(prose(PAGES / SEARCHED[words])).lower()


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md"])
def test_links_to_files_of_the_repository_lead_somewhere(name: str) -> None:
    """Guards what no build of the site reads."""
    document = REPOSITORY / name
    targets = [str(token.attrs.get("href") or token.attrs.get("src") or "") for token in tokens(document)]
    missing = [
        target
        for target in targets
        if target and "://" not in target and not (document.parent / target.partition("#")[0]).exists()
    ]
    assert missing == []


@pytest.mark.parametrize("document", documents(), ids=names)
def test_files_that_are_named_exist(document: Path) -> None:
    """Guards paths in code, which no link leads to; a name with a place for another word is none."""
    named = [token.content for token in tokens(document) if token.type == "code_inline"]
    paths = [word for text in named for word in text.split() if IN_REPOSITORY.fullmatch(word)]
    assert [path for path in paths if not (REPOSITORY / path).exists() and path not in AGENTS] == []


def test_every_page_stands_in_the_list_of_pages() -> None:
    """Guards a page that nobody finds; ``make docs`` would only remark it."""
    listed: list[str] = []

    def collect(entry: object) -> None:
        if isinstance(entry, str):
            listed.append(entry)
        elif isinstance(entry, list | dict):
            for part in entry.values() if isinstance(entry, dict) else entry:
                collect(part)

    text = (REPOSITORY / "docs" / "mkdocs.yml").read_text(encoding="utf-8").replace("!relative ", "")
    collect(yaml.safe_load(text)["nav"])
    assert sorted(listed) == sorted(str(page.relative_to(PAGES)) for page in PAGES.rglob("*.md"))


def test_what_pages_include_is_a_fact_or_a_file() -> None:
    """Guards facts that no page shows; one that lacks stops the build of the site. Those of techniques have many names."""
    drawn = set()
    for page in PAGES.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert "--8<--" not in text, f"{page}: readers of the page itself see a hole"
        drawn |= {match["fact"] for match in INCLUDED.finditer(text)} - {None}
        files = [match["file"] for match in INCLUDED.finditer(text) if match["file"]]
        linked = [match.strip("(") for match in re.findall(r'\((?:\.\./)+\S+(?= "included)', text)]
        assert [(page.parent / link).resolve() for link in linked] == [REPOSITORY / name for name in files], page
        assert [name for name in files if not (REPOSITORY / name).is_file()] == [], page
    assert {name for name in drawn if "/" not in name} == FACTS
    assert {name.partition("/")[2] for name in drawn if "/" in name} == {f"{name}.md" for name in techniques()}


def test_what_is_included_stands_in_the_site() -> None:
    """Guards readers of the site from a link where the content belongs."""
    page = 'See\n\n    [`a/b.py`](../../a/b.py "included as python")\n*Only there.* <!-- included: plan.md -->\n'
    shown = 'See\n\n    ```python title="a/b.py"\n    --8<-- "a/b.py"\n    ```\n--8<-- "plan.md"\n'
    assert on_page_markdown(page) == shown


def test_the_page_that_reports_speak_of_is_there() -> None:
    """Guards “For its meaning, see “Which answers count” in the documentation.” in every report."""
    assert (PAGES / "analysis" / "exclusion.md").read_text(encoding="utf-8").startswith(f"# {CHECKS_IN_DOCS}\n")


@pytest.mark.parametrize("document", documents(), ids=names)
def test_modules_that_readers_run_can_be_run(document: Path) -> None:
    """``python -m`` of a package needs its ``__main__``; a module that moved would end in “No module named”."""
    for module in re.findall(r"python -m ([a-z][\w.]*\w)", document.read_text(encoding="utf-8")):
        found = find_spec(module)
        assert found is not None, module
        assert found.submodule_search_locations is None or find_spec(f"{module}.__main__"), f"{module} cannot be run"
