"""Files that people write, read in one way; errors name the file, line or field, what is wrong, and what was expected."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, StringConstraints, ValidationError

from parlai_humaneval._util.errors import DataError as DataError  # For those who read files, too
from parlai_humaneval._util.errors import HumanevalError, Misspelt, misspelt, value_problem
from parlai_humaneval._util.text import on_one_line, visible

M = TypeVar("M", bound=BaseModel)
Sentence = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
FASTEST: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The safe loader written in C, ten times as fast, where PyYAML was built with it."""


CELL = 60  # Letters of a line that an error quotes
MEND_YAML = "indent with spaces, put one after each colon, quote texts with colons, and close all quotes and brackets"


def packaged(name: str) -> Path:
    return Path(str(files("parlai_humaneval") / "data" / name))


def read_text(path: Path, expected: str = "", error: type[HumanevalError] = DataError) -> str:
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
        return io.StringIO(content.decode("utf-8-sig"), newline=None).read()  # some editors put a mark in front
    except (OSError, EOFError) as problem:
        what = f"cannot be read ({getattr(problem, 'strerror', None) or problem})"
        raise error(what, where=path, try_=expected, misspelt=nearest_file(path)) from problem
    except UnicodeDecodeError as problem:
        line = problem.object.count(b"\n", 0, problem.start) + 1
        what = f"is not text in UTF-8 (byte {problem.start + 1})"
        raise error(
            what, where=f"{path}, line {line}", try_="save it as UTF-8 (“CSV UTF-8” in spreadsheets)"
        ) from problem


def nearest_file(path: Path) -> Misspelt | None:
    """The file of the same folder that is named most like a missing one."""
    with suppress(OSError):
        return None if path.exists() else misspelt(path.name, [one.name for one in path.parent.iterdir()], cutoff=0.8)
    return None


def text_lines(text: str) -> list[str]:
    """Lines as JSONL has them: other characters that Python takes for a line's end may be part of a sentence."""
    return text.removesuffix("\n").split("\n") if text.strip() else []


class UniqueKeys(FASTEST):  # type: ignore[valid-type, misc]  # which of PyYAML's safe loaders depends on how it was built
    """A safe loader which refuses a key twice in a mapping, where PyYAML takes the last; it may replace a merged one."""

    def get_single_node(self) -> yaml.Node | None:
        top: yaml.Node | None = super().get_single_node()
        nodes = [] if top is None else [top]
        seen = set()
        while nodes:
            node = nodes.pop()
            if id(node) in seen:  # an alias
                continue
            seen.add(id(node))
            if isinstance(node, yaml.MappingNode):
                first: dict[str, yaml.Node] = {}
                for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.value != "<<"):
                    if (before := first.setdefault(key.value, key)) is not key:
                        what = (
                            f"“{key.value}” appears twice, first in line {before.start_mark.line + 1}; keep one of them"
                        )
                        raise yaml.composer.ComposerError(None, None, what, key.start_mark)
                nodes += [value for _, value in reversed(node.value)]
            elif isinstance(node, yaml.SequenceNode):
                nodes += reversed(node.value)
        return top


def read_yaml(path: Path, expected: str = "", error: type[HumanevalError] = DataError, text: str | None = None) -> Any:
    """What a YAML file holds. Arguments as of :func:`read_text`; ``text``: of the file, where it is read already."""
    text = read_text(path, expected, error) if text is None else text
    try:
        return yaml.load(text, UniqueKeys)
    except yaml.YAMLError as problem:
        raise not_yaml(problem, path, expected, error) from problem


def not_yaml(
    problem: yaml.YAMLError, path: Path, expected: str = "", error: type[HumanevalError] = DataError
) -> HumanevalError:
    """The error for a fault that PyYAML reports. PyYAML's words assume knowledge of its grammar, so other words replace
    them, with the line."""
    mark, context = getattr(problem, "problem_mark", None), getattr(problem, "context_mark", None)
    where = path if mark is None else f"{path}, line {mark.line + 1}"
    what = getattr(problem, "problem", None) or " ".join(str(problem).split())
    if isinstance(problem, yaml.composer.ComposerError):
        return error(what, where=where, try_=expected)
    if mark is None or not isinstance(problem, (yaml.scanner.ScannerError, yaml.parser.ParserError)):
        return error(f"not YAML ({what})", where=where, try_=expected)
    known = yaml.load(packaged("yaml_faults.yaml").read_text(encoding="utf-8"), FASTEST)
    words = next((words for pattern, words in known if re.search(pattern, what)), what)
    said = words.replace("{line}", f"{(context or mark).line + 1}")
    lines = [line for line in read_text(path).splitlines()[: mark.line + 1] if line.strip()]  # the last may be empty
    quoted = f": {on_one_line(visible(lines[-1].strip()), CELL)}" if lines else ""
    return error(f"not YAML ({said}){quoted}", where=where, try_=list(filter(None, (MEND_YAML, expected))))


def read_json(path: Path, expected: str = "", error: type[HumanevalError] = DataError) -> Any:
    return parse_json(read_text(path, expected, error), path, expected, error)


def parse_json(text: str, where: Path | str, expected: str = "", error: type[HumanevalError] = DataError) -> Any:
    """The JSON of a text. ``where``: the file that the text is, or the file and line."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as problem:
        place = f"{where}, line {problem.lineno}" if isinstance(where, Path) else where
        raise error(f"not JSON ({problem.msg})", where=place, try_=expected) from problem
    except RecursionError as problem:
        raise error("is nested too deeply to be read", where=where, try_=expected) from problem


def validated(
    model: type[M], data: Any, where: object = "", expected: str = "", error: type[HumanevalError] = DataError
) -> M:
    """``where``: the file that the data are of; of what was typed, the name of the value says enough."""
    try:
        return model.model_validate(data)
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        at = f"{where}: at {place or 'the top'}" if where else place
        raise error(value_problem(first), where=at, try_=expected) from problem


def read_jsonl(path: Path, model: type[M], what: str, id_of: Callable[[M], str]) -> list[M]:
    """Every line of a JSONL file as ``model``; ``what`` is the word for one of them. Raises DataError."""
    found: list[M] = []
    for number, line in enumerate(text_lines(read_text(path)), start=1):
        where = f"{path}, line {number}"
        if not line.strip():
            raise DataError("the line is empty", where=where, try_=f"each line must be one {what}")
        found.append(validated(model, parse_json(line, where), where))
    if not found:
        raise DataError(f"holds no {what}", where=path)
    repeated = {name for name, count in Counter(map(id_of, found)).items() if count > 1}
    if repeated:
        raise DataError(f"these {what} ids appear twice: {', '.join(sorted(repeated))}", where=path)
    return found
