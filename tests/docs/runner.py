"""Runs commands of this package one after the other, each in its folder: a process of its own, so that imports cost once.

A line of JSON (what to do, with what, folder, data directory) comes in, one (exit code, output) goes out.

Launches are real until the moment at which raters would be let in: settings are composed and checked, the study is built,
models are loaded. There they are stopped, as if somebody had pressed Ctrl-C while they began. The one whose raters are
simulated goes on to its end, in a fork.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import pickle
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

from mephisto_tasks._util import compat

compat.prepare()
sys.path.append(str(Path(__file__).resolve().parents[1] / "mephisto_tasks"))

import composing

from mephisto_tasks.adapter import blueprint
from mephisto_tasks.cli import report_documents
from mephisto_tasks.launch import launch as launching
from parlai_humaneval.cli import main
from parlai_humaneval.models.zoo import entries
from parlai_humaneval.report.render import figures

STOPPED = "stopped, as you asked, before anything was offered to raters"
RATERS = "--raters"


def stopped() -> threading.Event:
    """Somebody wants the launch to end."""
    event = threading.Event()
    event.set()
    return event


def run_command(arguments: list[str]) -> tuple[int, str]:
    """Exit code and output; a launch that would have let raters in is a success."""
    done = CliRunner().invoke(main, arguments, prog_name="parlai-humaneval")
    if STOPPED in done.output:
        return 0, done.output
    broken = done.exception is not None and not isinstance(done.exception, SystemExit)
    return done.exit_code, f"{done.output}{done.exception!r}" if broken else done.output


def read_command(arguments: list[str]) -> tuple[int, str]:
    """Whether there are such a command and such options; nothing is run, and files need not be there."""
    command: click.Command = main
    context, rest = None, arguments
    try:
        while True:
            context = command.make_context(command.name or "", list(rest), parent=context)
            if not isinstance(command, click.MultiCommand):
                return 0, ""
            _, found, rest = command.resolve_command(context, context.protected_args + context.args)
            assert found is not None
            command = found
    except click.MissingParameter as error:
        return 1, error.format_message()
    except click.BadParameter:  # a file that is not here
        return 0, ""
    except click.ClickException as error:
        return 1, error.format_message()


def run_code(text: str) -> tuple[int, str]:
    """What a piece of Python prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, "page", "exec"), {"__name__": "page"})
    return 0, printed.getvalue()


stop_on_signals = launching.stop_on_signals


def run_study(arguments: list[str]) -> tuple[int, str]:
    """The same of a study that raters, who are simulated, hold to its end."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as answered:
        child = os.fork()
        if child == 0:
            try:
                launching.stop_on_signals = stop_on_signals
                json.dump(run_command(arguments), answered)
                answered.flush()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        answered.seek(0)
        code, output = json.load(answered)
    return code, output


ANSWERS: dict[str, Callable[[Any], tuple[int, str]]] = {
    "run": run_command,
    "study": run_study,
    "read": read_command,
    "code": run_code,
}


def made_once(make: Callable[..., Any]) -> Callable[..., Any]:
    """Of the same tables and options the same report, which many pages show."""
    made: dict[bytes, Any] = {}

    def ask(*of: Any, **settings: Any) -> Any:
        key = pickle.dumps((of, settings))
        if key not in made:
            made[key] = make(*of, **settings)
        return made[key]

    return ask


def compose_quickly() -> None:
    """Settings are composed, and files of the package read, as in the tests of launches."""
    composing.take_the_place_of_hydra(setattr)
    read, folder = entries.read_yaml, entries.zoo_dir()
    packaged = cache(read)
    entries.read_yaml = lambda path, *how: (packaged if path.parent == folder else read)(path, *how)


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """What comes of a line."""
    os.chdir(asked["folder"])
    os.environ["PARLAI_HUMANEVAL_DATA_DIR"] = asked["data"]
    code, output = ANSWERS[asked["what"]](asked["asked"])
    return {"code": code, "output": output}


if __name__ == "__main__":
    gc.freeze()
    gc.set_threshold(50_000)  # as for the tests themselves
    page = Path(sys.argv[1])
    blueprint.webapp_dist = launching.webapp_dist = lambda: page  # type: ignore[assignment]  # a page of one line
    figures._drawn = lambda *figure: b'<svg xmlns="http://www.w3.org/2000/svg"/>'  # which other tests guard
    report_documents.build_report = made_once(report_documents.build_report)
    launching.stop_on_signals = stopped  # type: ignore[assignment]  # it ends at once
    compose_quickly()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what is printed past click goes elsewhere
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=answers, flush=True)
