"""Output of commands that fail: the error, the command, and what to try."""

from __future__ import annotations

import errno
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import click
from typing_extensions import Unpack

from parlai_humaneval._util.errors import HumanevalError, Misspelt, Parts, Problem, choose_from, misspelt
from parlai_humaneval._util.installing import PackageError
from parlai_humaneval._util.terminal import say_json
from parlai_humaneval._util.text import printable

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FOREIGN = ("EntryDoesNotExistException",)
"""Errors of Mephisto, whose classes take seconds to import, that its user can mend."""
_PARTS = ("error", "in", "try")
_EXTRA = re.compile(r"^Got unexpected extra arguments? \((.*)\)$", re.DOTALL)


class CommandError(HumanevalError, click.ClickException):
    """An error that ends a command with status 1; ``command``: that was called; ``typed``: after the program."""

    exit_code = 1

    def __init__(self, *args: Any, **parts: Any) -> None:
        super().__init__(*args, **parts)
        context = click.get_current_context(silent=True)  # it is gone when the error is shown
        self.command = context.command_path if context is not None else "parlai-humaneval"
        self.typed: Sequence[str] = ()
        # The help explains only what was typed.
        self._is_about_call = not args or isinstance(args[0], (str, Problem)) or self.where.startswith("--")

    def lines(self) -> tuple[str, str, str]:
        """What is wrong, where, and what to try; the first and the last may have several lines."""
        command, program = self.command, self.command.partition(" ")[0]
        what = "\n".join(problem.fact for problem in self.problems)
        advice = [line for problem in self.problems for line in _advice(problem, program, self.typed)]
        advice = advice or [f"{command} --help"] * self._is_about_call
        return what.removesuffix("."), command, "\n".join(dict.fromkeys(advice))

    def show(self, file: IO[Any] | None = None) -> None:
        """Print it on standard error, without codes that a terminal would obey: it may quote a file or a model. Programs
        that read the command's JSON get it there, too."""
        if "--json" in self.typed:
            say_json(dict(zip(_PARTS, self.lines(), strict=True)), indent=None)
        for name, colour, text in filter(all, zip(_PARTS, ("red", "cyan", "green"), self.lines(), strict=True)):
            indented = printable(text).replace("\n", "\n" + " " * 7)
            click.echo(f"{click.style(f'{name:>5}:', fg=colour, bold=True)} {indented}", file=file, err=file is None)


class WrongUsage(CommandError):
    """A command was called wrongly: status 2."""

    exit_code = click.UsageError.exit_code


class ExtraWord(click.UsageError):
    """A word that nothing takes, of a command that takes some at other times; refused as click refuses it."""

    def __init__(self, word: str) -> None:
        super().__init__(f"Got unexpected extra argument ({word})", click.get_current_context())


class BadValue(click.BadParameter):
    """A value that an option or argument does not take; click fills in which one it is, unless ``option`` says so."""

    def __init__(self, what: str | HumanevalError, *, option: str | None = None, **parts: Unpack[Parts]) -> None:
        self.error = HumanevalError(what, **parts)
        super().__init__(str(self.error), param_hint=option)


def _advice(problem: Problem, program: str, typed: Sequence[str]) -> list[str]:
    """What to try: the command put right, as far as a misspelt name shows how, and what the problem says itself."""
    advice, meant = list(problem.try_), problem.misspelt
    if meant is None:
        return advice
    wrong = re.compile(rf"(?<![\w.-]){re.escape(meant.word)}(?![\w.-])")
    matches = [(place, match) for place, word in enumerate(typed) if (match := wrong.search(word))]
    if len(matches) == 1:
        ((place, match),) = matches
        before, after = match.string[: match.start()], match.string[match.end() :]
        first, rest = [program, *typed[:place]], typed[place + 1 :]
        advice = [shlex.join([*first, f"{before}{right}{after}", *rest]) for right in meant.nearest] + advice
    return advice or [str(meant)] * bool(meant.nearest)


def click_problem(error: click.ClickException) -> Problem:
    for kind in type(error).__mro__:
        if (describe := _OF_CLICK.get(kind)) is not None:
            return describe(error)
    return Problem(error.format_message())


def _no_such_option(error: Any) -> Problem:
    known = [] if error.ctx is None else _options(error.ctx.command)
    return Problem(f"no such option: {error.option_name}", misspelt=misspelt(error.option_name, known))


def _missing(error: Any) -> Problem:
    what = f"the {error.param_type or error.param.param_type_name} {_name(error)} is missing"
    choices = getattr(None if error.param is None else error.param.type, "choices", ())
    return Problem(what, try_=(f"choose one of: {', '.join(choices)}",) if choices else ())


def _bad_option(error: Any) -> Problem:
    params = [] if error.ctx is None else error.ctx.command.params
    flag = any(getattr(param, "is_flag", False) for param in params if error.option_name in param.opts)
    return Problem(f"{error.option_name} {'takes no value' if flag else 'needs a value after it'}")


def _bad_parameter(error: Any) -> Problem:
    name, taken = _name(error), None if error.param is None else error.param.type
    if isinstance(taken, click.Choice):
        given = error.message.removeprefix("invalid choice: ")
        given = re.split(r"\. \(choose from | is not one of | is not '", given)[0].strip("'")
        return HumanevalError(f"{name} cannot be '{given}'", **choose_from(given, taken.choices)).problems[0]
    if isinstance(taken, (click.types.IntParamType, click.types.FloatParamType)):
        hints = (f"write ten points as {name} 0.1",) if name in ("--gap", "--margin") else ()
        return Problem(f"{name} takes {_numbers(taken)}, not {_given_number(error.message, taken)}", try_=hints)
    return Problem(error.message.removesuffix("."), where=name)


def _given_number(message: str, taken: Any) -> str:
    """What was typed where a number belongs, in quotes unless it is one; click has it in its message alone."""
    given = message.partition(" is ")[0].strip("'")
    try:
        (int if isinstance(taken, click.types.IntParamType) else float)(given)
    except ValueError:
        return f"'{given}'"
    return given


def _numbers(taken: Any) -> str:
    kind = "a whole number" if isinstance(taken, click.types.IntParamType) else "a number"
    low, high = getattr(taken, "min", None), getattr(taken, "max", None)
    if low is None:
        return kind if high is None else f"{kind} up to {high}"
    return f"{kind} from {low} up" if high is None else f"{kind} from {low} to {high}"


def _usage(error: click.UsageError) -> Problem:
    message = error.format_message()
    if (extra := _EXTRA.match(message)) is None:
        return Problem(message.removesuffix("."))
    name, equals, value = extra[1].partition("=")
    option = "" if error.ctx is None or not equals else _option_called(name, error.ctx.command)
    meant = Misspelt(extra[1], (f"{option}={value}",)) if option else None
    if equals or error.ctx is None or not {"--task-name", "--tables"} <= {*_options(error.ctx.command)}:
        return Problem(f"unexpected argument '{extra[1]}' here", misspelt=meant)
    study = Path(extra[1])
    text = study.read_text("utf-8", "replace") if study.suffix in (".yaml", ".yml") and study.is_file() else ""
    task = next(iter(re.findall(r"^task_name: *(.+)$", text, re.MULTILINE)), "NAME")
    ways = f"name a task (--task-name {task}) or a folder of tables (--tables DIR)"
    return Problem(f"unexpected argument '{extra[1]}' here", try_=(ways,))


_OF_CLICK: Mapping[type[BaseException], Callable[[Any], Problem]] = {
    click.NoSuchOption: _no_such_option,
    click.MissingParameter: _missing,
    click.BadOptionUsage: _bad_option,
    BadValue: lambda error: error.error.problems[0].within(_name(error)),
    click.BadParameter: _bad_parameter,
    click.UsageError: _usage,
}


def _name(error: click.BadParameter) -> str:
    hint = error.param_hint
    if hint is None:
        hint = "" if error.param is None else error.param.get_error_hint(error.ctx)
    first = hint.split(" / ")[0] if isinstance(hint, str) else next(iter(hint))
    return first.strip("'")


def _option_called(name: str, command: click.Command) -> str:
    option = f"--{name.replace('_', '-')}"
    return option if option in _options(command) else ""


def _options(command: click.Command) -> list[str]:
    return [word for parameter in command.params for word in (*parameter.opts, *parameter.secondary_opts)]


def command_error(error: HumanevalError | PackageError | click.ClickException) -> CommandError:
    if isinstance(error, CommandError):
        return error
    if isinstance(error, PackageError):
        return CommandError(error.what, try_=error.try_)
    if isinstance(error, HumanevalError):
        return CommandError(error)
    kind = WrongUsage if error.exit_code == WrongUsage.exit_code else CommandError
    return kind(click_problem(error))


@contextmanager
def cli_errors(*foreign: str) -> Iterator[None]:
    """End a command with errors that its user can mend; ``foreign``: names of such classes of other, slow packages."""
    try:
        yield
    except CommandError:
        raise
    except (HumanevalError, PackageError) as error:
        # The option of the running command stands with a setting that was typed and that only an option can set.
        context = click.get_current_context(silent=True)
        takes_zoo = context is not None and "--zoo" in _options(context.command)
        changed = []
        for problem in command_error(error).problems:
            meant = problem.misspelt
            if takes_zoo:
                advice = tuple(said.replace("'zoo_files=[FILE]'", "--zoo FILE") for said in problem.try_)
                problem = replace(problem, try_=advice)
            if context is not None and meant is not None and meant.is_setting:
                option = _option_called(meant.word, context.command)
                problem = replace(problem, try_=(), misspelt=Misspelt(meant.word, (option,))) if option else problem
            changed.append(problem)
        raise CommandError(changed) from error
    except OSError as error:
        if error.filename is not None:
            raise CommandError(error.strerror or type(error).__name__, where=error.filename) from error
        if error.errno in NO_ROOM:  # it names no file
            raise CommandError(
                error.strerror or "no space is left", try_="free some space, and run this again"
            ) from error
        raise
    except Exception as error:
        if any(base.__name__ in (*FOREIGN, *foreign) for base in type(error).__mro__):
            raise CommandError(error) from error
        raise
