"""What the commands share: the data directory, errors without tracebacks, the console, questions before money is spent."""

from __future__ import annotations

import inspect
import shlex
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from mephisto_tasks.config.names import name_of, short_name
from parlai_humaneval._util.errors import misspelt
from parlai_humaneval._util.terminal import PROGRAM as PROGRAM
from parlai_humaneval._util.terminal import PlainConsole, typed_program, yielding
from parlai_humaneval._util.text import on_one_line
from parlai_humaneval.cli import options
from parlai_humaneval.cli.errors import CommandError, WrongUsage, cli_errors
from parlai_humaneval.cli.options import Command, SuggestingGroup
from parlai_humaneval.techniques.registry import Engine, techniques

UNCHANGED = "Nothing was changed."


def confirm(yes: bool, *, why: str = "", otherwise: str = UNCHANGED) -> None:
    """Go on only where somebody agrees. ``why`` begins the sentence where nobody can be asked. Raises CommandError."""
    if yes:
        return
    if not at_a_terminal():
        what = f"{why}this is not a terminal, so the command cannot ask you"
        raise CommandError(what, try_=f"add --yes to agree. {otherwise}")
    before: Any = signal.signal(signal.SIGINT, signal.default_int_handler)  # Ctrl-C is an answer, too
    try:
        agreed = click.confirm("Go on?", default=False)
    finally:
        signal.signal(signal.SIGINT, before)
    if not agreed:
        raise CommandError(otherwise)


def at_a_terminal() -> bool:
    return sys.stdin.isatty()


ENGINES: dict[Engine, str] = {
    "live": "Techniques in which people talk to models",
    "judging": "Techniques in which people judge finished dialogues",
}


def about_crowds(text: str) -> str:
    """Help with what crowds say of themselves and their accounts in place of ``{places}``, ``{closed}``, ``{needs}`` …."""
    if "{" not in text:
        return text
    with cli_errors():  # a plug-in may not load
        from mephisto_tasks.crowds.registry import crowds, places_in_words

        places = places_in_words()
    said = {
        "{places}": places,
        "{closed}": " ".join(dict.fromkeys(f"{status}." for crowd in crowds() if (status := crowd.status()))),
        "{example}": next((crowd.example for crowd in crowds() if crowd.example), ""),
    }
    if "{needs}" in text or "{account}" in text:
        accounts = {crowd.place: (crowd.accounts(), crowd.status()) for crowd in crowds()}
        needs: dict[str, list[str]] = {}
        for place, (of_crowd, _) in accounts.items():
            if of_crowd is not None:
                needs.setdefault(of_crowd.words["needs"], []).append(place)
        said["{needs}"] = "\n\n".join(f"With --provider {' or '.join(of)}: {words}." for words, of in needs.items())
        said["{account}"] = min((closed is not None, place) for place, (has, closed) in accounts.items() if has)[1]
    for mark, words in said.items():
        text = text.replace(mark, words)
    return text


class _AboutCrowds(click.Command):
    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(about_crowds(inspect.cleandoc(self.help or "")))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        formatter.write_text(about_crowds(inspect.cleandoc(self.epilog or "")))


class CrowdCommand(_AboutCrowds, Command):
    """A command whose help has :func:`about_crowds`."""


class CrowdGroup(_AboutCrowds, SuggestingGroup):
    """A group whose help has :func:`about_crowds`."""


class TechniqueCommand(Command):
    """A command whose help lists the techniques, those of plug-ins too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As in click; if a setting is typed as an option, an error shows the correct spelling."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if misspelt(error.option_name, (option for parameter in self.params for option in parameter.opts)) is None:
                setting = error.option_name.lstrip("-").replace("-", "_")
                what = f"no such option: {error.option_name}"
                raise WrongUsage(what, try_=f"write a setting without dashes: {setting}=…") from error
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with cli_errors():
            for engine, heading in ENGINES.items():
                with formatter.section(heading):
                    formatter.write_dl([(name, entry.line) for name, entry in techniques(engine).items()])
        super().format_options(ctx, formatter)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One sentence, then the examples: users look for them, so they are on the first screen."""
        first, _, rest = inspect.cleandoc(self.help or "").partition("\n\n")
        for text in (first, self.epilog, rest):
            if text:
                formatter.write_paragraph()
                with formatter.indentation():
                    formatter.write_text(about_crowds(text))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples stand above."""


DATA_DIR_GIVEN = f"{__name__}.data_dir_given"
"""In the meta of a context: whether the command line names the directory. Click 7 does not say so itself."""


def _data_dir(context: click.Context, _: click.Parameter, value: str | None) -> Path:
    from mephisto_tasks._util.compat import default_data_dir

    context.meta[DATA_DIR_GIVEN] = value is not None
    return Path(value).expanduser().resolve() if value else default_data_dir()


described = partial(options.described, data_dir={"callback": _data_dir})
"""Like that of the other commands; only this package can resolve the folder of ``--data-dir``."""


def not_twice(options: Mapping[str, object], chosen: Sequence[str]) -> None:
    """Raises UsageError where a setting is typed whose option (``metric``: ``--metric``) was given, too."""
    typed = {short_name(name_of(setting)) for setting in chosen}
    for name, value in options.items():
        if value is not None and name in typed:
            raise WrongUsage(f"--{name} and {name}=… are the same setting", try_="leave one of them out")


def console(*, stderr: bool = False) -> PlainConsole:
    return PlainConsole(stderr=stderr, highlight=False)


LONGEST = 2000  # Letters of a text that somebody else wrote, on one line


def as_written(text: str, style: str = "", indent: int = 0) -> Text:
    """Text that people, models and sites wrote, for the console: no markup, no emoji, nothing that a terminal would obey."""
    return Text(" " * indent + on_one_line(text, LONGEST), style)


@contextmanager
def waiting_for(what: str, *, on_screens_only: bool = False) -> Iterator[None]:
    """Say on standard error what takes its time, moving on screens; elsewhere unless ``on_screens_only``."""
    # Named now: what libraries print may be led elsewhere meanwhile.
    out = PlainConsole(file=sys.stderr, highlight=False)
    if not out.is_terminal:
        if not on_screens_only:
            out.print(what)
        yield
        return
    with out.status(what) as status, yielding(status):
        yield


READING = "Reading the answers…"
LOADING = "Loading ParlAI and Mephisto…"


def task_options(task_name: str, data_dir: Path) -> str:
    """The options that name a task to a command, as they can be typed; the default directory need not be named."""
    from mephisto_tasks._util.compat import default_data_dir

    where = [] if data_dir == default_data_dir() else ["--data-dir", str(data_dir)]
    return shlex.join(["--task-name", task_name, *where])


def as_typed_here(command: str, task_name: str, data_dir: Path) -> str:
    """A command about a task as it can be typed here."""
    return f"{typed_program()} {command} {task_options(task_name, data_dir)}"
