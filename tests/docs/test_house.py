"""The page on the rooms of the code, and the pictures that it draws."""

from __future__ import annotations

import re
from xml.etree.ElementTree import fromstring

import pytest
from pages import PAGES, REPOSITORY

from docs.facts.house import facts, layers

PACKAGES = ("parlai_humaneval", "mephisto_tasks")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_room_stands_in_the_picture_and_says_what_it_is(package: str) -> None:
    """Guards the contract, the folders and the page against each other."""
    rooms = {room for layer in layers(package) for room in layer}
    assert rooms == {path.parent.name for path in (REPOSITORY / package).glob("*/__init__.py")}
    drawn, _, listed = facts()[f"house_{package}.md"].partition("\n\n")
    namespace = "{http://www.w3.org/2000/svg}"
    assert {text.text for text in fromstring(drawn).iter(f"{namespace}text")} == rooms
    for line in listed.splitlines()[2:]:
        assert re.fullmatch(r"\| `\w+/` \| [A-Z“`].+[.?] \| [\d,]+ \|", line), line


def test_what_the_page_sends_people_to_exists() -> None:
    """Guards the answers to “where do I change …?” against moves."""
    named = re.findall(r"`((?:parlai_humaneval|mephisto_tasks)/[\w./]+)`", (PAGES / "develop" / "house.md").read_text())
    assert len(named) > 10
    assert [name for name in named if not (REPOSITORY / name).exists()] == []


def test_modules_that_pages_for_maintainers_name_exist() -> None:
    """Guards them against merges and moves; names with capitals stand for any module."""
    modules = [path.as_posix() for path in REPOSITORY.rglob("*.py") if "node_modules" not in path.parts]
    named = {
        (page.name, name)
        for page in sorted((PAGES / "develop").glob("*.md"))
        for name in re.findall(r"`([a-z_/0-9]+\.py)`", page.read_text(encoding="utf-8"))
    }
    assert len(named) > 30
    assert [(page, name) for page, name in sorted(named) if not any(m.endswith(f"/{name}") for m in modules)] == []
