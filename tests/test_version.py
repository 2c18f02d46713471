"""A release has one version: the package names it, and everything else that names it agrees."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import yaml

from parlai_humaneval import __version__

REPOSITORY = Path(__file__).parents[1]
RELEASE = re.compile(r"^## (\d+\.\d+\.\d+) – (\d{4}-\d{2}-\d{2})$", re.MULTILINE)


def test_the_newest_release_notes_and_the_citation_are_of_this_version() -> None:
    """Guards what people cite and read against a version that was raised in one place only."""
    releases = RELEASE.findall((REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8"))
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))
    assert releases[0] == (citation["version"], str(citation["date-released"]))
    assert citation["version"] == __version__
    assert releases == sorted(releases, key=lambda release: [int(part) for part in release[0].split(".")], reverse=True)


def test_changes_after_the_release_have_a_place() -> None:
    """Guards release notes against entries of a later change."""
    text = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE)[0] == "Unreleased"


def test_the_distribution_has_the_version_of_the_package() -> None:
    """Guards the wheel: ``setup.py`` reads the version where it is written."""
    command = [sys.executable, "-W", "ignore", "setup.py", "--version"]
    told = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    assert told.split()[-1] == __version__
