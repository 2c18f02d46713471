"""``python -m docs.facts FOLDER``: write all facts, each as a file."""

from __future__ import annotations

import sys
from pathlib import Path

from docs.facts import all_facts


def write_facts(folder: Path) -> None:
    """Write them; what stands there under their names is replaced."""
    for name, text in all_facts():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.strip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_facts(Path(sys.argv[1]))
