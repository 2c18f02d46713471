"""Whatever is wrong with a file that somebody wrote: the error names the file, the line or field, and what to do."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, ConfigDict

import parlai_humaneval
from parlai_humaneval._util import data_files
from parlai_humaneval._util.data_files import FASTEST, DataError, read_json, read_jsonl, read_text, read_yaml, validated
from parlai_humaneval._util.errors import HumanevalError


class Pet(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    legs: int = 4


class PetError(HumanevalError):
    """What the reader of a room raises."""


def pets(path: Path) -> Any:
    return read_jsonl(path, Pet, "pet", lambda pet: pet.name)


@pytest.mark.parametrize(
    ("read", "content", "where", "what"),
    [
        (read_text, None, "", "cannot be read (No such file or directory)"),
        (read_text, b"caf\xe9", ", line 1", "is not text in UTF-8 (byte 4)"),
        (read_yaml, b"name: Zeb\nlegs: [\n", ", line 3", "not YAML (expected a value): legs: ["),
        (
            read_yaml,
            b"pets: [Zeb\nlegs: 4\n",
            ", line 2",
            "(expected a comma, or the ] that ends the list from line 1): legs: 4",
        ),
        (read_yaml, b"name: 'Zeb\nlegs: 4\n", ", line 3", "closing quotation mark of the text that begins in line 1"),
        (read_yaml, b"name: Zeb: dog\n", ", line 1", "(expected one `name: value` per line, "),
        (read_yaml, b"name: Zeb\n\tlegs: 4\n", ", line 2", "(expected spaces, not a tab): legs: 4"),
        (read_yaml, b"- Zeb\nlegs: 4\n", ", line 2", "(expected a dash, because the lines above are a list): legs: 4"),
        (
            read_yaml,
            b"a:\n  - Zeb\n legs: 4\n",
            ", line 3",
            "(expected the next `name: value`, indented like the others, ",
        ),
        (read_yaml, b"a: \x07", "", "not YAML"),
        (read_yaml, b"a: 1\nb:\n- {c: 1}\na: 2\n", ", line 4", "“a” appears twice, first in line 1"),
        (read_yaml, b"b:\n- c: 1\n  d: 1\n  'c': 2\n", ", line 4", "“c” appears twice, first in line 2"),
        (read_json, b'{"name":\n"Zeb",}', ", line 2", "not JSON"),
        (read_json, b"[" * 100_000, "", "is nested too deeply"),
        (pets, b'{"name": "Zeb"}\n{"name": "Quince"', ", line 2", "not JSON"),
        (pets, b'{"name": "Zeb"}\n\n{"name": "Quince"}', ", line 2", "the line is empty"),
        (pets, b'{"name": "Zeb", "legs": "many"}', ", line 1: at legs", "must be a whole number, not 'many'"),
        (pets, b'{"nam": "Zeb"}', ", line 1: at name", "is missing"),
        (pets, b'{"name": "Zeb"}\n{"name": "Zeb"}', "", "these pet ids appear twice: Zeb"),
        (pets, b"", "", "holds no pet"),
    ],
)
def test_an_error_names_the_file_and_the_place(
    tmp_path: Path, read: Callable[[Path], Any], content: bytes | None, where: str, what: str
) -> None:
    path = tmp_path / "pets"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError) as raised:
        read(path)
    assert raised.value.where == f"{path}{where}"
    assert what in raised.value.what


def test_a_room_raises_its_error_with_what_it_expects(tmp_path: Path) -> None:
    path = tmp_path / "pets.yaml"
    for use in (
        lambda: read_yaml(path, "name a file of pets", PetError),
        lambda: validated(Pet, 3, path, "name a file of pets", PetError),
    ):
        with pytest.raises(PetError) as raised:
            use()
        assert raised.value.try_ == ("name a file of pets",)


def test_a_mark_of_byte_order_and_odd_ends_of_lines_are_text(tmp_path: Path) -> None:
    """Editors put the first in front; Python, and not JSON, takes the second for the end of a line."""
    path = tmp_path / "pets.jsonl"
    path.write_text('\ufeff{"name": "Zeb\u2028Quince"}\n', encoding="utf-8")
    assert [pet.name for pet in pets(path)] == ["Zeb\u2028Quince"]


def test_every_word_of_both_parsers_for_a_fault_of_yaml_is_put_in_plain_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyYAML's parser in C and that in Python say the same in different words."""
    path = tmp_path / "a.yaml"
    faults = (
        "a: {b: 1\nc: 2\n",
        'a: "C:\\d"\n',
        "a: &\n",
        "a: @x\n",
        "a: |x\n  y\n",
        "a: [1]]\n",
        "b: 1\n- a\n",
        "a: \tb: c\n",
    )
    for text in faults:
        path.write_text(text)
        for loader in (FASTEST, yaml.SafeLoader):
            monkeypatch.setattr(data_files, "UniqueKeys", loader)
            with pytest.raises(DataError, match=r"line \d: not YAML \(expected .*\): \S"):
                read_yaml(path)


def test_files_of_ours_can_be_read_without_libyaml() -> None:
    """PyYAML's parser in C takes more than that in Python, which is all that some systems have."""
    for path in Path(parlai_humaneval.__file__).parent.rglob("*.yaml"):
        with path.open(encoding="utf-8") as file:
            assert list(yaml.parse(file, Loader=yaml.SafeLoader)), path


READERS = {
    "parlai_humaneval/_util/data_files.py": "the reader",
    "parlai_humaneval/_util/files.py": "a file that may be damaged or missing, read without pydantic",
    "parlai_humaneval/analysis/__init__.py": "former names, read before pydantic is loaded",
    "parlai_humaneval/cli/options.py": "a part of a file, read before pydantic is loaded",
    "parlai_humaneval/techniques/registry.py": "every command reads it, before pydantic is loaded",
    "mephisto_tasks/cli/privacy.py": "the help of a command reads it, before pydantic is loaded",
}
"""Files that parse what they read from a file → why they do not ask the reader."""
VALUES = {
    "parlai_humaneval/cli/models.py": "--set KEY=VALUE",
    "parlai_humaneval/cli/plan.py": "NAME=VALUE",
    "parlai_humaneval/models/backends/chat_completions.py": "the option extra_body",
    "parlai_humaneval/models/backends/language_models.py": "the option chat_template_kwargs",
    "parlai_humaneval/models/zoo/secrets.py": "options that are mappings as text",
    "mephisto_tasks/cli/new.py": "NAME=VALUE",
    "mephisto_tasks/cli/new_page.py": "a default",
    "mephisto_tasks/config/files.py": "a list as it is typed",
    "mephisto_tasks/launch/config.py": "the value of a misspelt setting",
    "mephisto_tasks/launch/new_study.py": "what was typed, and defaults",
    "mephisto_tasks/storage/mephisto_import.py": "settings in Mephisto's database",
    "mephisto_tasks/storage/results.py": "settings in Mephisto's database",
}
"""Files that parse YAML which is no file → what it is."""


def test_files_are_parsed_in_one_place() -> None:
    """Guards errors that name the file and the line, and keys given twice, which PyYAML and json pass over."""
    root = Path(parlai_humaneval.__file__).parents[1]
    direct, values = set(), set()
    for path in (path for package in ("parlai_humaneval", "mephisto_tasks") for path in (root / package).rglob("*.py")):
        name, tree = path.relative_to(root).as_posix(), ast.parse(path.read_text(encoding="utf-8"))
        for call in (ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Call)):
            if re.match(r"json\.load\(|(json\.loads|yaml\.\w*load)\(.*\.(read_|open)", call):
                direct.add(name)
            elif re.match(r"yaml\.\w*load", call):
                values.add(name)
        assert not re.search(r"^\s*from (yaml|json) import .*load", path.read_text(encoding="utf-8"), re.MULTILINE), (
            name
        )
    assert direct | (values & set(READERS)) == set(READERS)
    assert values - set(READERS) == set(VALUES)
