"""Errors with what is wrong, where, and what to try: how they read, how they travel, and that none hides its advice."""

from __future__ import annotations

import ast
import pickle
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError, field_validator

from parlai_humaneval._util.data_files import DataError, read_yaml
from parlai_humaneval._util.errors import (
    HumanevalError,
    InvalidValue,
    Misspelt,
    Problem,
    choose_from,
    misspelt,
    value_problem,
)
from parlai_humaneval.tables.columns import TableError


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (HumanevalError("no space is left"), "no space is left"),
        (HumanevalError("is empty", where="a.csv", try_="expected names"), "a.csv: is empty; expected names"),
        (HumanevalError("a", try_=("run b", "or run c")), "a; run b; or run c"),
        (HumanevalError("is it misspelt?", try_="see the list"), "is it misspelt? See the list"),
        (HumanevalError("is it there?", try_="--zoo names it"), "is it there? --zoo names it"),
        (HumanevalError("no x", **choose_from("x", ["y"])), "no x; choose one of: y"),
        (HumanevalError("no ab", **choose_from("ab", ["abc"])), "no ab. Did you mean abc? Choose one of: abc"),
        (HumanevalError("no x", misspelt=Misspelt("x", ("a", "b"), is_setting=True)), "no x. Did you mean a=… or b=…?"),
        (HumanevalError([Problem("a"), Problem("b", "c")]), "a\nc: b"),
    ],
)
def test_an_error_reads_as_a_sentence(error: HumanevalError, sentence: str) -> None:
    assert str(error) == sentence


def test_an_error_is_made_of_another_and_says_where_from_farther_away() -> None:
    error = HumanevalError("is 0", where="gap", try_="give 1")
    outer = InvalidValue(error, where="x.yaml", try_="or leave it out")
    assert (outer.what, outer.where, outer.try_) == ("is 0", "x.yaml: gap", ("give 1", "or leave it out"))
    assert InvalidValue(KeyError("a")).what == "'a'"


def test_errors_travel_between_processes_with_their_parts() -> None:
    error = TableError("empty", [3], where="a.csv", try_="fill it")
    there = pickle.loads(pickle.dumps(error))
    assert (there.problems, there.rows, str(there)) == (error.problems, (3,), str(error))


def test_the_likeliest_names_come_first() -> None:
    assert misspelt("modls", ["models", "model", "turns"], most=2) == Misspelt("modls", ("models", "model"))
    assert misspelt("pw-turn", ["pw_turn"], spelled="pw_turn") == Misspelt("pw-turn", ("pw_turn",))
    assert misspelt("zzz", ["models"]) is None


def test_pydantic_hands_on_the_parts_of_an_error() -> None:
    class Settings(BaseModel):
        gap: float

        @field_validator("gap")
        @classmethod
        def _positive(cls, gap: float) -> float:
            raise InvalidValue(f"{gap:g} is no gap", try_="give 0.1")

    with pytest.raises(ValidationError) as refused:
        Settings(gap=0)
    assert value_problem(refused.value.errors()[0]) == Problem("0 is no gap", try_=("give 0.1",))


ROOT = Path(__file__).parents[2]
PACKAGES = ("parlai_humaneval", "mephisto_tasks")
HIDDEN = re.compile(r"; (?=[a-z`{-])|(?<![.…A-Z])(?<!al)\. (?=[A-Z`{])|\bdid you mean|(?<![.…])\.$", re.IGNORECASE)
"""A second clause or sentence, in which advice would stand; or a full stop."""


def test_no_error_hides_its_advice() -> None:
    """What is wrong is one clause: what to do, and what may have been meant, are parts of their own."""
    texts = {
        path.relative_to(ROOT): path.read_text(encoding="utf-8")
        for package in ("parlai_humaneval", "mephisto_tasks")
        for path in sorted((ROOT / package).rglob("*.py"))
    }
    names = _subclasses(texts.values(), {"HumanevalError", "Problem", "BadValue"})
    made = re.compile(rf"\b({'|'.join(names)})\(")
    hidden = [
        f"{path}:{call.lineno}: {text}"
        for path, source in texts.items()
        if made.search(source)  # parsing and walking through all files takes seconds
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call) and call.args and _name(call.func) in names
        if HIDDEN.search(text := _text(call.args[0]))
    ]
    assert {"TableError", "InvalidValue"} <= names
    assert hidden == [], "\n".join(hidden)


def test_no_listed_problem_hides_its_advice() -> None:
    """The same of ``problems.yaml``, whose first entry is what is wrong, and of what servers answer (``errors.yaml``)."""
    asks = re.compile(
        r"(^|[:,] (so )?)(add|choose|correct|give|leave|name|plan|put|renew|run|set|use|write)\b", re.IGNORECASE
    )
    paths = [
        path for package in PACKAGES for path in (ROOT / package).rglob("*.yaml") if "node_modules" not in path.parts
    ]
    hidden, read = [], set()
    for path in (path for path in paths if path.name.endswith(("problems.yaml", "errors.yaml"))):
        listed = read_yaml(path)
        for problem in listed.values() if isinstance(listed, dict) else listed:
            what = problem["what"] if isinstance(problem, dict) else problem[0]
            hidden += [f"{path.relative_to(ROOT)}: {what}"] if HIDDEN.search(what) or asks.search(what) else []
        read.add(path.relative_to(ROOT).as_posix())
    assert read >= {"mephisto_tasks/crowds/mturk/errors.yaml", "parlai_humaneval/planning/problems.yaml"}
    assert hidden == [], "\n".join(hidden)


def test_commands_raise_errors_with_parts() -> None:
    """click's own classes have a sentence only."""
    plain = [
        f"{path}:{number}"
        for package in ("parlai_humaneval", "mephisto_tasks")
        for path in sorted((ROOT / package).rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if re.search(r"raise click\.(ClickException|UsageError|BadParameter)|\bctx\.fail\(", line)
    ]
    assert plain == []


UNTYPED = {
    "parlai_humaneval/statistics": 129,
    "parlai_humaneval/planning/power.py": 16,
    "parlai_humaneval/allocation/groups.py": 5,
    "parlai_humaneval/allocation/items.py": 8,
    "parlai_humaneval/models/bot_speaker": 6,
    "mephisto_tasks/crowds/prolific/arrivals.py": 1,
    "mephisto_tasks/crowds/prolific/client.py": 1,
    "mephisto_tasks/server/packets.py": 1,
    "mephisto_tasks/storage/logs.py": 1,
    "mephisto_tasks/webapp/scripts": 1,
}
"""Rooms where a plain ValueError meets a programmer only, who called a function wrongly or catches it next door, and how
many there are; these numbers fall. Anywhere else, what somebody wrote or typed is refused, which takes a typed error."""


def test_a_users_input_is_refused_by_typed_errors() -> None:
    """Guards the parts of an error: of a plain ValueError a command shows a traceback, or a sentence without advice."""
    found = Counter(
        next((room for room in UNTYPED if path.is_relative_to(room)), str(path))
        for path in (path.relative_to(ROOT) for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py")))
        if "node_modules" not in path.parts
        for _ in re.findall(r"\braise ValueError\b", (ROOT / path).read_text(encoding="utf-8"))
    )
    assert {room: count for room, count in found.items() if count > UNTYPED.get(room, 0)} == {}


def test_typed_errors_of_values_are_still_value_errors() -> None:
    """pydantic reports nothing else among its problems, and ``except ValueError`` in programs of others goes on working."""
    assert issubclass(InvalidValue, ValueError)
    assert issubclass(DataError, ValueError)


def _subclasses(texts: Iterable[str], names: set[str]) -> set[str]:
    """These names, and those of the classes that derive from what is called so."""
    heads = [head for text in texts for head in re.findall(r"^ *class (\w+)\(([^)]*)\)", text, re.MULTILINE)]
    while more := {name for name, bases in heads if names & set(re.findall(r"\w+", bases))} - names:
        names = names | more
    return names


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _text(node: ast.expr) -> str:
    """A text that is written out, with {} for what stands in braces; of anything else nothing."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
