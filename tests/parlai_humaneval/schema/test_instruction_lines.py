"""Lines of instructions stay or go with what is true of a study; a condition that cannot be meant is told by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.materials.instructions import FLAGS, load_instructions, shared_parts, that_holds, with_shared

PARTS = {"line": "Be kind.", "lines": ["One.", {"when": "persona", "text": "Two."}], "nested": {"text": "{shared}"}}


def kept(lines: list[Any], *flags: str) -> Any:
    return that_holds({"part": {"heading": "H", "lines": lines}}, flags).get("part", {"lines": "all gone"})["lines"]


@pytest.mark.parametrize(
    ("condition", "flags", "stays"),
    [
        ({"when": "persona"}, [], False),
        ({"when": "persona"}, ["persona"], True),
        ({"when": ["persona", "practice"]}, ["persona"], False),
        ({"when": ["persona", "practice"]}, ["persona", "practice"], True),
        ({"unless": "persona"}, [], True),
        ({"unless": "persona"}, ["persona"], False),
        ({"unless": ["persona", "practice"]}, ["practice"], False),
        ({"when": "persona", "unless": "practice"}, ["persona"], True),
        ({"when": "persona", "unless": "practice"}, ["persona", "practice"], False),
    ],
)
def test_a_line_stays_where_all_of_when_and_none_of_unless_is_on(
    condition: dict[str, Any], flags: list[str], stays: bool
) -> None:
    lines = kept(["Always.", {**condition, "text": "Sometimes."}], *flags)
    assert lines == (["Always.", "Sometimes."] if stays else ["Always."])


def test_sections_go_by_their_own_condition_or_without_lines() -> None:
    sections = [
        {"heading": "A", "when": "persona", "lines": ["Play."]},
        {"heading": "B", "lines": [{"when": "persona", "text": "Play."}]},
        {"heading": "C", "lines": ["Chat."]},
    ]
    data = {"preview": {"sections": sections}}
    assert [s["heading"] for s in that_holds(data, [])["preview"]["sections"]] == ["C"]
    found = that_holds(data, ["persona"])["preview"]["sections"]
    assert found[0] == {"heading": "A", "lines": ["Play."]}
    assert [s["heading"] for s in found] == ["A", "B", "C"]


def test_pieces_of_a_text_are_joined() -> None:
    title = ["Chat", {"when": "persona", "text": "in a role"}, {"unless": "persona", "text": "freely"}]
    assert that_holds({"title": title}, ["persona"])["title"] == "Chat in a role"
    assert that_holds({"title": title}, [])["title"] == "Chat freely"


def test_empty_lines_are_left_for_the_check() -> None:
    """A line that was forgotten in the file must be told, and not silently go like one whose condition is off."""
    assert kept([None, "A."]) == [None, "A."]


def test_shared_parts_take_their_place() -> None:
    assert with_shared(["A.", {"shared": "line"}, {"shared": "lines"}], PARTS) == [
        "A.",
        "Be kind.",
        "One.",
        {"when": "persona", "text": "Two."},
    ]
    assert with_shared({"consent": {"shared": "line"}}, PARTS) == {"consent": "Be kind."}
    assert with_shared({"when": "persona", "shared": "line"}, PARTS) == {"when": "persona", "text": "Be kind."}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"shared": "lime"}, "no shared part 'lime'; known: line, lines, nested"),
        ({"when": "persona", "shared": "lines"}, "'lines' has conditions of its own"),
    ],
)
def test_wrong_parts(data: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        with_shared(data, PARTS)


@pytest.mark.parametrize("condition", [{"when": "personas"}, {"unless": ["practice", "personas"]}])
def test_unknown_conditions_name_the_known_ones(condition: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="'personas', which is not a flag; known: persona, first_message"):
        kept([{**condition, "text": "Play."}])


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "the_file.yaml"
    section = {"sections": [{"heading": "H", "lines": [{"when": "personas", "text": "Play."}]}]}
    path.write_text(yaml.safe_dump({"title": "T", "preview": section}))
    with pytest.raises(DataError, match=r"the_file.*'personas', which is not a flag"):
        load_instructions(path, {}, ["persona"])


def test_packaged_parts_are_all_used_and_depend_on_known_flags() -> None:
    """A part that no task names is a leftover."""
    tasks = Path(__file__).parents[3] / "mephisto_tasks" / "presets"
    source = "\n".join(path.read_text(encoding="utf-8") for path in tasks.glob("*/task_config/*.yaml"))
    parts = shared_parts()
    source += yaml.safe_dump(parts, width=1000)
    assert [name for name in parts if f"shared: {name}" not in source] == []
    everything = with_shared({"all": {"lines": [{"shared": name} for name in parts]}}, parts)
    assert that_holds(everything, FLAGS)["all"]["lines"]
