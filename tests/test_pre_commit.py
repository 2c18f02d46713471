"""What pre-commit runs is what ``make lint`` runs: the same tools, with the same arguments, in the project's environment."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

REPOSITORY = Path(__file__).parents[1]


def test_pre_commit_has_the_tools_of_make_lint() -> None:
    """Guards both lists: a tool that is in one only would fail for somebody else, and later."""
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    venv = re.search(r"^VENV := (.*)$", makefile, re.MULTILINE)
    assert recipe is not None
    assert venv is not None
    linted = [line.strip().replace("$(BIN)", f"{venv[1]}/bin") for line in recipe[1].splitlines()]
    config = yaml.safe_load((REPOSITORY / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    hooks = [hook for repository in config["repos"] for hook in repository["hooks"]]
    assert [hook["entry"] for hook in hooks] == linted
    # Files that pre-commit would append, or an environment of its own, would make them other commands after all.
    assert {(hook["language"], hook["pass_filenames"]) for hook in hooks} == {("system", False)}
