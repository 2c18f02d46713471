"""The page of ``parlai-humaneval new``: served on this machine behind a secret, with a try-out of the rater's page that
stores nothing."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web
from pydantic import ValidationError

from mephisto_tasks.cli.demo import PRACTICE
from mephisto_tasks.config.names import texts_of
from mephisto_tasks.crowds.registry import crowds
from mephisto_tasks.launch import new_study
from mephisto_tasks.launch.config_reference import Setting
from mephisto_tasks.monitoring.web import LOCAL, behind, is_from_page
from mephisto_tasks.server.security import new_token
from mephisto_tasks.server.static import StaticFiles
from mephisto_tasks.server.thread import listen
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval.i18n.translate import AUTO, tags
from parlai_humaneval.planning.inputs import PlanError
from parlai_humaneval.techniques.registry import technique, techniques

BUILT = Path(__file__).resolve().parents[1] / "webapp" / "new_dist"
MOST = 256 * 1024  # Bytes of a request
READY_S = 60.0
_LINK = re.compile(r"http://127\.0\.0\.1:\d+\S*")
_APART = frozenset(
    {"models", "groups", "zoo_files", "place", "server", "workers", "port", "hostname", "public_url", "prereg"}
)
"""Settings that a try-out on this machine, with embedded models, does not take over; so it is with all of crowds."""
WRONG_LINK = "This link is not valid. Use the link that `parlai-humaneval new` printed when it last started."
NOT_FROM_HERE = "Only this page can send requests."
# A launch in its temporary folder, which ends, and takes the folder away, with the process that holds its input open.
_WITH_ITS_PARENT = """import os, runpy, shutil, sys, threading

def end():
    sys.stdin.read()  # until the parent ends, however it does
    shutil.rmtree(os.getcwd(), ignore_errors=True)
    os._exit(0)

threading.Thread(target=end, daemon=True).start()
runpy.run_module("mephisto_tasks", run_name="__main__", alter_sys=True)
"""


class Preview:
    """The rater's page of the study in a process of its own, with embedded models, whose answers go to a folder that is
    deleted. One at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def open(self, choices: new_study.Choices, site: str) -> str:
        """The address of the rater's page, once it is served; ``site`` may show it in a frame. Raises HumanevalError."""
        self.close()
        self._folder = tempfile.TemporaryDirectory(prefix="parlai-humaneval-preview-")
        folder = Path(self._folder.name)
        (folder / "study.yaml").write_text(self._study(choices, site), encoding="utf-8")
        with (folder / "log").open("w", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _WITH_ITS_PARENT, "study.yaml", "--yes", "--data-dir", str(folder / "data")],
                cwd=folder,
                env={**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "400"},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
            )
        return self._link(folder / "log")

    def _study(self, choices: new_study.Choices, site: str) -> str:
        entry, conf = technique(choices.technique), new_study.conf_of(choices)
        known = new_study.settings_of_technique(entry.name, conf)
        left_out = _APART | {field for crowd in crowds() for field in crowd.Settings.model_fields}
        settings = {k: v for k, v in choices.settings.items() if k not in left_out and (k in known or "." in k)}
        with listen(LOCAL, 0) as listener:
            settings |= {"task_name": "preview", "port": listener.getsockname()[1], "frame_sites": [site], "conf": conf}
        if settings.get(PRACTICE, yaml.safe_load(known[PRACTICE].default)) is not None:
            settings[PRACTICE] = ""  # what raters will read; the practice itself would precede the task
        settings |= {"embedded": True} if new_study.speaking(entry.name) else {}
        settings |= {entry.amount: 200} if entry.amount.endswith("_per_group") and "stop" not in settings else {}
        return yaml.safe_dump({"technique": entry.name, **settings}, allow_unicode=True, sort_keys=False)

    def _link(self, log: Path) -> str:
        assert self._process is not None
        process, deadline = self._process, time.monotonic() + READY_S
        while time.monotonic() < deadline and process.poll() is None:
            if link := _LINK.search(log.read_text(encoding="utf-8")):
                return link.group()
            time.sleep(0.1)
        said = log.read_text(encoding="utf-8").strip().splitlines() if log.is_file() else []
        why = next((line for line in said if line.startswith("error:")), " ".join(said[-3:]))
        raise HumanevalError(f"the rater's page cannot be shown: {why.removeprefix('error: ')}")

    def interrupt(self) -> None:
        """End one that is being opened, as nobody waits for it any more."""
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()  # nothing of it is kept
            self._process.communicate()
            self._process = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


class NewPage:
    """The page behind a secret. ``address``: where it is served, once that is known."""

    def __init__(self, choices: new_study.Choices, path: Path) -> None:
        if not (BUILT / "index.html").is_file():
            what = f"the page is not built ({BUILT} has no index.html)"
            raise HumanevalError(what, try_="run `make install` in a clone of the repository, or add --terminal")
        self.address = ""
        self._choices, self._path, self._secret = choices, path, new_token()
        self._preview, self._lock, self._files = Preview(), threading.Lock(), StaticFiles(BUILT)
        self._preview_lock = threading.Lock()

    def path(self) -> str:
        return f"/{self._secret}/"

    def close(self) -> None:
        self._preview.close()

    def app(self) -> web.Application:
        """Its pages and answers, on this machine only."""
        answers = {"draft": self._draft, "reply": self._reply, "preview": self._open_preview, "write": self._write}
        orders = {name: _answered(answer) for name, answer in answers.items()}
        pages = {"start": self._start, "{path:.*}": self._files.handle}
        app = behind(self._secret, pages, orders, MOST, WRONG_LINK)
        app.on_response_prepare.append(_let_in_a_preview)
        return app

    async def _start(self, _: web.Request) -> web.StreamResponse:
        listed = [
            {"name": name, "title": entry.title, "summary": entry.summary, "source": entry.source}
            for name, entry in techniques().items()
        ]
        choices, here = self._choices.model_dump(mode="json"), str(Path.cwd())
        return web.json_response({"choices": choices, "path": str(self._path), "folder": here, "techniques": listed})

    def _draft(self, asked: dict[str, Any]) -> dict[str, Any]:
        with self._lock:  # Hydra composes one thing at a time
            choices = _choices(asked)
            made = new_study.draft(choices, self._path)
            known = new_study.fields(choices.technique, new_study.conf_of(choices))
            others = [one for one in new_study.settings_of_technique(choices.technique).values() if one not in known]
        try:
            drawn = [bar.model_dump() for bar in new_study.bars(choices, made.estimate)]
        except PlanError:  # the draft says why
            drawn = []
        return {
            **made.model_dump(mode="json", exclude={"choices", "zoo"}),
            "problems": [error.on_page() for error in made.errors],
            "bars": drawn,
            "fee": new_study.fee_of(choices.settings),
            "question": new_study.published_question(choices),
            "amount": technique(choices.technique).amount,
            "fields": [_field(choices.technique, one) for one in known],
            "others": [_field(choices.technique, one) for one in others if one.name != "technique"],
        }

    def _reply(self, asked: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            zoo_files = texts_of(_choices(asked).settings.get("zoo_files"))
        return new_study.first_reply(str(asked["model"]), zoo_files).model_dump()

    def _open_preview(self, asked: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            choices = _choices(asked)
        self._preview.interrupt()
        with self._preview_lock:
            return {"url": self._preview.open(choices, self.address)}

    def _write(self, asked: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            made = new_study.draft(_choices(asked), self._path)
        if made.errors:
            raise made.errors[0]
        written = new_study.write_study(made, self._path, replace=asked.get("replace") is True)
        return {"files": list(map(str, written)), "command": new_study.launch_command(self._path, made.missing)}


def _choices(asked: dict[str, Any]) -> new_study.Choices:
    """What was chosen on the page, where everything is typed; numbers and lists become such. Raises ValidationError."""
    choices = new_study.Choices.model_validate(asked["choices"])
    known = new_study.settings_of_technique(choices.technique)
    settings = {
        name: new_study.value_of(known[name], value) if name in known and isinstance(value, str) else value
        for name, value in choices.settings.items()
    }
    return choices.model_copy(update={"settings": settings})


def _field(task: str, setting: Setting) -> dict[str, Any]:
    choices = new_study.choices_of(task, setting.name)
    suggestions = [*tags(), AUTO] if setting.name == "language" else choices if setting.name == "metric" else []
    return {
        "name": setting.name,
        "topic": setting.topic,
        "default": setting.default,
        "description": f"{setting.description} {new_study.closed(choices)}".strip(),
        "choices": [] if suggestions else choices,
        "suggestions": suggestions,
    }


def _answered(
    answer: Callable[[dict[str, Any]], dict[str, Any]],
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """Answer the page's requests in a thread; a fault is described in a sentence (``problem``)."""

    async def handle(request: web.Request) -> web.StreamResponse:
        if not is_from_page(request):
            return web.json_response({"problem": NOT_FROM_HERE}, status=403)
        try:
            asked = json.loads(await request.read())
            return web.json_response(await asyncio.to_thread(answer, asked))
        except HumanevalError as error:
            return web.json_response({"problem": error.on_page()}, status=409)
        except (ValueError, KeyError, TypeError, ValidationError) as error:
            return web.json_response({"problem": f"This request is not valid: {error}"}, status=400)

    return handle


async def _let_in_a_preview(_: web.Request, response: web.StreamResponse) -> None:
    response.headers["Content-Security-Policy"] += f"; frame-src http://{LOCAL}:*"
