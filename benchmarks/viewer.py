"""Milliseconds until the viewer of ten thousand dialogues is drawn, and is filtered, in a browser without a server."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, median
from benchmarks.processes import NothingToMeasure
from benchmarks.simulated_dialogues import many
from parlai_humaneval.viewer.entries import entries
from parlai_humaneval.viewer.write import is_built, viewer_files, write_viewer

DIALOGUES = 10_000
REPEATS = 5
PATIENCE_MS = 60_000
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
AIMS_MS = {"first paint": 1000, "list drawn": 1000, "filter": 100}
# When the count of entries is first in the page, and the frame after it: what a person waits for.
LISTED = """
new MutationObserver((_, observer) => {
  if (document.querySelector("[role=status]")) {
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => { window.listedAt = performance.now(); }));
  }
}).observe(document, { childList: true, subtree: true });
"""
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
# From the change of the address, as a choice in the filters makes it, to the frame with another count.
FILTERED = """(hash) => new Promise((done) => {
  const status = document.querySelector("[role=status]");
  const before = status.textContent;
  const began = performance.now();
  const look = () => status.textContent === before
    ? requestAnimationFrame(look)
    : requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
  window.location.hash = hash;
  requestAnimationFrame(look);
})"""
FILTERS = ("#?language=zh", "#?language=en", "#?check=too_fast", "#?q=d00007")
NOTE = (
    "{count:,} simulated dialogues of four turns with two replies, from file:// in {browser}; the page is opened anew each "
    "time. List drawn: until the count of entries is in sight. Filter: from a choice to the next drawn list. Aims: "
    "{aims}"
)


def browser_path() -> str:
    """``$CHROMIUM``, or a Chromium on the PATH. Raises NothingToMeasure."""
    named = os.environ.get("CHROMIUM")
    found = next((path for name in ((named,) if named else BROWSERS) if (path := shutil.which(name))), None)
    if found is None:
        raise NothingToMeasure("browser", f"this machine has no Chromium ({', '.join(BROWSERS)}, or $CHROMIUM)")
    return found


def opened(browser: Any, page_of: Path) -> dict[str, list[float]]:
    """Milliseconds of one visit by what was waited for."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    try:
        page = context.new_page()
        page.add_init_script(LISTED)
        page.goto(page_of.as_uri())
        page.wait_for_function("window.listedAt", timeout=PATIENCE_MS)
        first = {"first paint": [page.evaluate(PAINTED)], "list drawn": [page.evaluate("window.listedAt")]}
        return first | {"filter": [page.evaluate(FILTERED, one) for one in FILTERS]}
    finally:
        context.close()


def run(quick: bool) -> list[Figure]:
    """Each wait, and the seconds that writing the folder takes; ``quick`` opens the page of 200 dialogues once."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise NothingToMeasure("browser", "the package playwright is not installed") from error
    path = browser_path()
    if not is_built():
        raise NothingToMeasure("npm", "the viewer's page is not built: run `make install`")
    count, repeats = (200, 1) if quick else (DIALOGUES, REPEATS)
    with tempfile.TemporaryDirectory() as folder:
        tables = many(count)
        started = time.perf_counter()
        page_of = write_viewer(viewer_files(entries(tables), title="Simulated"), Path(folder) / "viewer")[0]
        written = time.perf_counter() - started
        size = sum(file.stat().st_size for file in page_of.parent.rglob("*") if file.is_file()) / 1e6
        visits: list[dict[str, list[float]]] = []
        with sync_playwright() as playwright, playwright.chromium.launch(executable_path=path) as browser:
            for _ in range(repeats):
                visits.append(opened(browser, page_of))
    aims = ", ".join(f"{name} {aim} ms" for name, aim in AIMS_MS.items())
    note = NOTE.format(count=count, browser=Path(path).name, aims=aims)
    waits = {name: [wait for visit in visits for wait in visit[name]] for name in AIMS_MS}
    return [
        *(
            Figure(name=f"viewer: {name}", unit="ms", ours=median(found), note=note, repeats=len(found))
            for name, found in waits.items()
        ),
        Figure(name="viewer: slowest filter", unit="ms", ours=max(waits["filter"]), note=note),
        Figure(name="viewer: write the folder", unit="s", ours=written, note=f"{count:,} dialogues; {size:.0f} MB"),
    ]
