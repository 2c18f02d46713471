"""One option of one model, written into the zoo file that people keep: their comments, order and spelling stay as they are.

PyYAML says where in the text each value stands; only that place is written anew.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from parlai_humaneval._util.files import write_private
from parlai_humaneval._util.text import clean_label
from parlai_humaneval.models.backends.server_refusals import Mend, written
from parlai_humaneval.models.zoo.entries import ZooError


def file_of(model: str, files: Iterable[str]) -> Path | None:
    """The zoo file that has the entry of a model; None where none of these has."""
    for file in files:
        path = Path(file).expanduser()
        names = (yaml.safe_load(path.read_text(encoding="utf-8")) or {}).get("models") or {}
        if any(clean_label(str(name)) == model for name in names):
            return path
    return None


def write_option(file: Path, model: str, mend: Mend) -> None:
    """Write the option that ``mend`` names into the entry of a model; in one step, so that nobody reads half of it.

    Raises:
        ZooError: where the file is such that only people should change it; it is then as it was.
    """
    target = file.resolve()  # a link stays one
    text = target.read_bytes().decode("utf-8")
    changed = _changed(text, model, mend)
    if changed is None or not _differs_in(yaml.safe_load(text), _read(changed), model, mend):
        raise ZooError(
            f"`{mend.as_yaml}` cannot be written into the options of {model}, which are not a mapping of their own",
            where=file,
            try_="write it yourself",
        )
    try:
        mode = stat.S_IMODE(target.stat().st_mode)
        write_private(target, changed.encode("utf-8"), mode=mode)
        target.chmod(mode)  # whatever the umask took from it
    except OSError as error:
        raise ZooError(
            f"cannot be written ({error.strerror})", where=file, try_=f"write `{mend.as_yaml}` yourself"
        ) from error


def _changed(text: str, model: str, mend: Mend) -> str | None:
    """The text with the option; None where it has no place in it."""
    models = _value(yaml.compose(text, yaml.SafeLoader), "models")
    entry = _value(models, model)
    if not isinstance(entry, yaml.MappingNode) or not _is_inside(entry, models):
        return None
    options = _value(entry, "options")
    if options is None:
        return _with_key(text, entry, "options", f"{{{mend.as_yaml}}}")
    if not isinstance(options, yaml.MappingNode) or not _is_inside(options, entry):
        return None  # it stands elsewhere, and other models have it too
    pair = _yaml_pair(options, mend.option)
    if pair is None:
        return _with_key(text, options, mend.option, written(mend.value))
    key, value = pair
    if not _is_inside(value, options):
        return None
    before, after = text[: value.start_mark.index], text[_end(value, text) :]
    if value.start_mark.line == key.end_mark.line:
        return f"{before}{written(mend.value)}{after}"
    # A block begins on the next line, and a comment may stand on this one.
    colon = text.index(":", key.end_mark.index) + 1
    line_end = text.index("\n", colon)
    line_end -= text[line_end - 1] == "\r"
    return f"{text[:colon]} {written(mend.value)}{text[colon:line_end]}{after}"


def _value(node: yaml.Node | None, key: str) -> yaml.Node | None:
    """The value under a key of a mapping; None where there is none."""
    pair = _yaml_pair(node, key)
    return None if pair is None else pair[1]


def _yaml_pair(node: yaml.Node | None, key: str) -> tuple[yaml.Node, yaml.Node] | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((pair for pair in node.value if clean_label(str(pair[0].value)) == key), None)


def _is_inside(inner: yaml.Node, outer: yaml.Node | None) -> bool:
    return outer is not None and bool(outer.start_mark.index <= inner.start_mark.index <= outer.end_mark.index)


def _with_key(text: str, mapping: yaml.MappingNode, key: str, value: str) -> str:
    if not mapping.value:  # {}
        opening = text.index("{", mapping.start_mark.index) + 1
        return f"{text[:opening]}{key}: {value}{text[opening:]}"
    end = _end(mapping.value[-1][1], text)
    if mapping.flow_style:
        return f"{text[:end]}, {key}: {value}{text[end:]}"
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end + 1
    before = text[:line_end] if text[:line_end].endswith("\n") else f"{text[:line_end]}\n"
    newline = "\r\n" if before.endswith("\r\n") else "\n"
    indent = " " * mapping.value[0][0].start_mark.column
    return f"{before}{indent}{key}: {value}{newline}{text[line_end:]}"


def _end(node: yaml.Node, text: str) -> int:
    """Where the text of a node ends; PyYAML counts the lines behind a block to it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last: Any = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last, text)
    return (
        len(text[: node.end_mark.index].rstrip())
        if node.end_mark.index > node.start_mark.index
        else node.end_mark.index
    )


def _read(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return None


def _differs_in(before: Any, after: Any, model: str, mend: Mend) -> bool:
    """Whether the option is all that is other than before, whatever the change of the text was meant to do."""
    names: Sequence[Any] = [name for name in before["models"] if clean_label(str(name)) == model]
    if not isinstance(after, dict) or len(names) != 1:
        return False
    entry = before["models"][names[0]]
    wanted = {**entry, "options": {**(entry.get("options") or {}), mend.option: mend.value}}
    return bool(after == {**before, "models": {**before["models"], names[0]: wanted}})
