"""Links as QR codes: in files, to be printed or mailed, and in a terminal, to be opened with a phone at once."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from parlai_humaneval.private_files import write_private

KINDS = {"svg": 4, "png": 8}
"""Format → pixels of a module."""


def write_codes(folder: Path, links: Sequence[tuple[str, str]]) -> list[Path]:
    """An SVG and a PNG of each link, named after whose it is, in a folder; the links are secret, and so are the files."""
    import segno

    written = []
    for number, (name, link) in enumerate(links, start=1):
        code = segno.make(link, error="m", micro=False)
        for kind, scale in KINDS.items():
            image = io.BytesIO()
            code.save(image, kind=kind, scale=scale)
            path = folder / f"{number:0{len(str(len(links)))}}-{_file_name(name)}.{kind}"
            write_private(path, image.getvalue())
            written.append(path)
    return written


def show_code(link: str) -> None:
    """The link as a QR code, where somebody sits at a terminal that can draw it."""
    import segno

    if sys.stdout.isatty() and (sys.stdout.encoding or "").lower().replace("-", "") == "utf8":
        segno.make(link, error="l", micro=False).terminal(compact=True)


def _file_name(name: str) -> str:
    """Letters and digits of a name, of any alphabet; everything else might mean something to a file system."""
    return re.sub(r"[^\w]+", "-", name).strip("-_").lower()[:60] or "link"
