"""Entries → the files of the viewer: the built page, an index to filter by, and texts in parts that are loaded later.

From ``file://`` browsers run no modules and fetch nothing. So the page is one classic script, and data are scripts that hand
JSON to its function :data:`RECEIVER`. In them ``<`` and line separators are escaped, wherever a server puts them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from parlai_humaneval._util import __version__
from parlai_humaneval._util.errors import HumanevalError, InvalidValue
from parlai_humaneval.display.images import SUFFIX
from parlai_humaneval.viewer.entries import FACETS, Entry

PAGE, INDEX = "index.html", "data/index.js"
BUILT = ("viewer.js", "viewer.css")
STATIC = Path(__file__).parent / "static"
IMAGES = "images"
RECEIVER = "humanevalViewer"
PART = 200  # Entries whose texts are in one file
_UNSAFE = re.compile("[<\u2028\u2029\ud800-\udfff]")


class ViewerMissing(HumanevalError, FileNotFoundError):
    """The viewer's page has not been built."""


def is_built() -> bool:
    return all((STATIC / name).is_file() for name in BUILT)


def viewer_files(
    every: Sequence[Entry], *, title: str, note: str = "", pictures: Mapping[str, bytes] = MappingProxyType({})
) -> Iterator[tuple[str, bytes]]:
    """Name and content of each file. ``note``: above the list, such as that raters are simulated; ``pictures``: by their
    digests. Raises ViewerMissing."""
    if not is_built():
        what = f"the viewer is not built ({STATIC} has no {' and '.join(BUILT)})"
        raise ViewerMissing(what, try_="run `make install` in a clone of the repository")
    yield PAGE, (Path(__file__).parent / PAGE).read_bytes()
    for name in BUILT:
        yield name, (STATIC / name).read_bytes()
    for digest, content in pictures.items():
        yield f"{IMAGES}/{digest}{SUFFIX}", content
    yield INDEX, _script("index", {"title": title, "note": note, "made_with": __version__, **_index(every)})
    for number, start in enumerate(range(0, len(every), PART)):
        details = {entry.id: entry.details() for entry in every[start : start + PART]}
        part = {name: {key: value for key, value in one.items() if value} for name, one in details.items()}
        yield f"data/texts-{number}.js", _script(number, part)


def write_viewer(files: Iterable[tuple[str, bytes]], folder: Path, *, force: bool = False) -> list[Path]:
    """Write :func:`viewer_files` into ``folder``, and take away what an older viewer has there; the page is first.

    Raises:
        InvalidValue: something else is there, or a viewer and not ``force``.
        OSError: the place cannot be written.
    """
    check_folder(folder, force=force)
    old = [folder / name for name in (PAGE, *BUILT)] + [*folder.glob("data/*.js"), *folder.glob(f"{IMAGES}/*{SUFFIX}")]
    content = dict(files)
    for path in old:
        path.unlink(missing_ok=True)
    for name, one in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(one)
    return [folder / name for name in content]


def check_folder(folder: Path, *, force: bool = False) -> None:
    """Refuse a place that is taken before any work is done. Raises InvalidValue."""
    if folder.is_dir() and not (folder / INDEX).is_file() and any(folder.iterdir()):
        raise InvalidValue(f"{folder} contains other files", try_="name another folder (--out)")
    if folder.exists() and not folder.is_dir():
        raise InvalidValue(f"{folder} is a file", try_="name another folder (--out)")
    if (folder / INDEX).is_file() and not force:
        raise InvalidValue(
            f"{folder} already contains a viewer", try_="name another folder, or replace it with --force"
        )


def _script(name: str | int, content: object) -> bytes:
    # A text that is parsed: quicker than a literal, in which a name such as __proto__ would be no name.
    text = json.dumps(json.dumps(content, ensure_ascii=False, separators=(",", ":")), ensure_ascii=False)
    safe = _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return f"{RECEIVER}({json.dumps(name)},{safe});\n".encode()


def _index(every: Sequence[Entry]) -> dict[str, Any]:
    """A list for each column, in the order of entries; of a facet its values, and which of them each entry has."""
    facets = {}
    for facet in FACETS:
        given = {value for entry in every for value in entry.facets.get(facet, ())}
        values = sorted(given, key=lambda one: (float(one) if one.isascii() and one.isdigit() else float("inf"), one))
        places = {value: place for place, value in enumerate(values)}
        of = [sorted(places[value] for value in entry.facets.get(facet, ())) for entry in every]
        if values:
            facets[facet] = {"values": values, "of": of}
    return {
        "part": PART,
        "ids": [entry.id for entry in every],
        "previews": [entry.preview for entry in every],
        "rated": [entry.means for entry in every],
        "turns": [entry.length for entry in every],
        "seconds": [None if entry.seconds is None else round(entry.seconds) for entry in every],
        "started": [entry.started[:16] for entry in every],
        "disagreement": [None if (apart := entry.disagreement) is None else round(apart, 3) for entry in every],
        "facets": facets,
    }
