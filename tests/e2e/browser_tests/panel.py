"""A panel of this machine: the site that sends raters and takes them back, and the file that describes it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode

_FILE = """
name: prolific
title: Prolific
parameters: {{worker: PROLIFIC_PID, study: STUDY_ID, session: SESSION_ID}}
redirects:
  complete: "{site}/submissions/complete?cc={{code}}"
  screened_out: "{site}/submissions/complete?cc={{code}}"
  no_consent: "{site}/submissions/complete?cc={{code}}"
  timed_out: "{site}/submissions/complete?cc={{code}}"
"""
CODES = {
    "completion_code": "C1DONE",
    "screen_out_code": "S2OUT",
    "no_consent_code": "N3NO",
    "time_out_code": "T4LATE",
}


class _Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<!doctype html><title>Panel</title><link rel='icon' href='data:,'><h1>Thank you from the panel</h1>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the tests look at the browser."""


@contextmanager
def panel_site() -> Iterator[str]:
    """The address of a panel that thanks everybody who comes back."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    thread = threading.Thread(target=server.serve_forever, name="panel-site", daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def panel_settings(folder: Path, site: str) -> list[str]:
    """The settings of a launch whose raters come from there, as they come from Prolific."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "panel.yaml"
    file.write_text(_FILE.format(site=site), encoding="utf-8")
    codes = [f"mephisto.provider.{name}={code}" for name, code in CODES.items()]
    public = "mephisto.architect.public_url=https://study.example.org"
    return ["place=link", f"mephisto.provider.panel={file}", *codes, public]


def address(url: str, person: str) -> str:
    """The link as Prolific fills it in."""
    return f"{url}?{urlencode({'PROLIFIC_PID': person, 'STUDY_ID': 'st1', 'SESSION_ID': f'se-{person}'})}"
