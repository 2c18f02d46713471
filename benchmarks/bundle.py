"""Size of the page that a rater's browser loads, gzipped."""

from __future__ import annotations

import gzip
from pathlib import Path

from benchmarks.figures import Figure

PEER_KB = 323.0
LOADED = {".html", ".css", ".js"}


def gzipped_kb(folder: Path) -> float:
    """Size of all pages, styles and scripts below ``folder``, each gzipped by itself, in kB of 1000 bytes."""
    files = [path for path in folder.rglob("*") if path.suffix in LOADED and path.is_file()]
    return sum(len(gzip.compress(path.read_bytes(), 9)) for path in files) / 1000


def run(quick: bool) -> list[Figure]:
    """One figure; ``quick`` changes nothing. Raises WebAppMissing when the page is not built."""
    from mephisto_tasks.adapter.blueprint import webapp_dist

    return [
        Figure(
            name="page, gzipped",
            unit="kB",
            ours=gzipped_kb(webapp_dist()),
            peer=PEER_KB,
            peer_source="quoted",
            note="html, css and js. Peer: the bundle of ParlAI's per-turn task, measured before; it cannot be built here, "
            "because ParlAI's wheel lacks its sources. Bootstrap, which it loads from a CDN, is not counted",
        )
    ]
