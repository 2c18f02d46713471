"""How commands tell what went wrong: in three lines, of what, where, and how to mend it.

Messages are written as sentences (“there is no file x.csv; name another one with --out”). What is to be done stands at the
end of a message and begins with a verb, and a name that was misspelt stands in quotes before “did you mean …?”: so the three
lines, and the command as it was meant, are made of any message here.
"""

from __future__ import annotations

import errno
import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import click

from parlai_humaneval._util.text import choose_of, printable, suggestion

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_VERBS = (
    "add|ask|begin|call|change|check|choose|close|copy|correct|cut|download|drop|end|export|fetch|free|give|import|"
    "install|invite|keep|launch|leave|lock|log|look|lower|make|mend|move|name|open|put|raise|register|remove|repeat|restore|"
    "run|save|say|see|serve|set|shorten|start|stop|take|tell|train|try|type|unset|update|use|wait|write"
)
_ADVICE = re.compile(
    rf"(?:[;:.] (?:please |then |first )?(?=(?:{_VERBS})\b)|[;.] (?=`|--\w|expected |there (?:are|is): |"
    r"tasks there: |known(?: here| checks)?: ))",
    re.IGNORECASE,
)
"""Where a message goes on with what to do."""
_MEANT = re.compile(r"[;,.]?\s+did you mean ([^?]+?)(?:=…)?\?\s*", re.IGNORECASE)
_QUOTED = re.compile("['“`]([^'”`]+)['”`]")
_FEWEST_WORDS = 2
"""A message that begins with what to do is not divided."""
_OF_CLICK = (
    (re.compile(r"^Missing (argument|option) '(.+?)'\.\s*(.*)$", re.DOTALL), r"the \1 \2 is missing. \3"),
    (re.compile(r"^Invalid value for '(.+?)(?:' / '.+?)*': (.*)$", re.DOTALL), r"\1: \2"),
    (re.compile(r"^(\S+): '?(.*?)'? is not a valid integer(?: range)?\.?$"), r"\1 takes a whole number, not '\2'"),
    (
        re.compile(r"^(\S+): '?(.*?)'? is not a valid float(?:ing point value| range)?\.?$"),
        r"\1 takes a number, not '\2'",
    ),
    (
        re.compile(r"^(\S+): (\S+) is not in the (?:valid range of (\S+) to (\S+?)|range (\S+?)<=x<=(\S+?))\.(.*)$"),
        r"\1 takes a number from \3\5 to \4\6, not \2.\7",
    ),
    (
        re.compile(
            r"^(\S+): (\S+) is (?:smaller than the minimum valid value (\S+?)|not in the range x>=(\S+?))\.(.*)$"
        ),
        r"\1 takes a number from \3\4 up, not \2.\5",
    ),
    (re.compile(r"^(?:Option '(.+?)'|(\S+) option) requires an argument\.?$"), r"\1\2 needs a value after it"),
    (re.compile(r"^Got unexpected extra arguments? \((.*)\)$"), r"nothing takes '\1' here"),
    (re.compile(r"[Cc]hoose from:\s*(.*?)\.?$", re.DOTALL), r"Choose one of: \1"),
    (re.compile(r"^No such command:? '?(.+?)'?\.?$"), r"no such command: \1"),
)
"""Words of click's, 7 and 8, and ours for them."""
_EXTRA = re.compile(r"^nothing takes '(\w+)=(\S+)' here$")
_NO_SETTING = re.compile(r"^there is no setting '(\w+)'\.")
_CHOICE = re.compile(r"^(\S+): (?:invalid choice: (.*)\. \(choose from (.*)\)|'(.*)' is not one of (.*)\.)$")


@dataclass(frozen=True)
class ErrorLines:
    """What is wrong, where, and how to mend it."""

    what: str
    where: str
    how: str

    def __str__(self) -> str:
        """Three lines, in colour where a terminal shows them (click leaves colours out elsewhere)."""
        named = (("error", "red", self.what), (" in", "cyan", self.where), ("try", "green", self.how))
        lines = []
        for name, colour, text in named:
            if text:
                indented = text.replace("\n", "\n" + " " * 7)
                lines.append(f"{click.style(f'{name:>5}:', fg=colour, bold=True)} {indented}")
        return "\n".join(lines)


class CommandError(click.ClickException):
    """An error of a command, which shows itself in :class:`ErrorLines`."""

    def __init__(self, message: str, lines: ErrorLines) -> None:
        super().__init__(message)
        self.lines = lines

    def show(self, file: IO[Any] | None = None) -> None:
        """Print it on standard error, and nothing that a terminal would obey: it may quote a file, a server or a model."""
        lines = ErrorLines(printable(self.lines.what), printable(self.lines.where), printable(self.lines.how))
        click.echo(str(lines), file=file, err=file is None)


class WrongUsage(CommandError):
    """A command was called wrongly."""

    exit_code = click.UsageError.exit_code


def error_lines(message: str, command: str, typed: Sequence[str] = ()) -> ErrorLines:
    """The lines of a message.

    Args:
        message: sentences, or several lines; where each is a problem that says what to do, all problems stand first.
        command: the command that was called, with its program.
        typed: what was typed after the program.
    """
    message = message.strip()
    several = message.splitlines()
    if len(several) > 1 and all(_MEANT.search(line) or _ADVICE.search(line) for line in several):
        each = [error_lines(line, command, typed) for line in several]
        return ErrorLines("\n".join(one.what for one in each), command, "\n".join({one.how: "" for one in each}))
    meant, advice = _MEANT.search(message), _ADVICE.search(message)
    if meant:
        what, rest = message[: meant.start()], message[meant.end() :].strip()
        corrected = _corrected(what, meant[1], command.split(maxsplit=1)[0], typed)
        how = "\n".join(part for part in (corrected, _as_advice(rest)) if part)
        return ErrorLines(f"{what}. Did you mean {meant[1]}?", command, how or meant[1])
    if advice and len(message[: advice.start()].split()) >= _FEWEST_WORDS:
        return ErrorLines(message[: advice.start()], command, _as_advice(message[advice.end() :]))
    return ErrorLines(message.removesuffix("."), command, f"{command} --help")


def _as_advice(text: str) -> str:
    """As it stands after ``try:``."""
    begins_a_sentence = text[:1].isupper() and text[1:2].islower()
    return (text[:1].lower() + text[1:] if begins_a_sentence else text).removesuffix(".")


def _corrected(what: str, right: str, program: str, typed: Sequence[str]) -> str:
    """The command with a misspelt name put right, where it stands there once; else nothing."""
    quoted = _QUOTED.findall(what) or [what.rpartition(": ")[2]]
    wrong = re.compile(rf"(?<![\w.-]){re.escape(quoted[-1])}(?![\w.-])")
    changed = [wrong.sub(lambda _: right, word, count=1) for word in typed]
    if sum(new != old for new, old in zip(changed, typed, strict=True)) != 1:
        return ""
    return shlex.join([program, *changed])


def in_our_words(error: click.ClickException) -> str:
    """The message of an error; click's own in the words of this package, with what may have been meant."""
    message = error.format_message()
    if not isinstance(error, click.UsageError):
        return message
    if isinstance(error, click.NoSuchOption):
        known = [] if error.ctx is None else _options(error.ctx.command)
        return f"no such option: {error.option_name}{suggestion(error.option_name, known)}"
    for theirs, ours in _OF_CLICK:
        message = theirs.sub(ours, message)
    if (extra := _EXTRA.match(message)) and error.ctx is not None:
        message += _as_option(extra[1], extra[2], error.ctx.command)
    if choice := _CHOICE.match(message):
        option, *words = filter(None, choice.groups())
        given, known = words[0], [word.strip("'") for word in words[1].split(", ")]
        message = f"{option} cannot be '{given}'{choose_of(given, known)}"
    return " ".join(message.split()) if "\t" in message else message.strip()


def _as_option(name: str, value: str, command: click.Command) -> str:
    """What follows where NAME=VALUE was typed to a command that takes it as an option: a question; else nothing."""
    option = f"--{name.replace('_', '-')}"
    return f". Did you mean {option}={value}?" if option in _options(command) else ""


def _options(command: click.Command) -> list[str]:
    return [word for parameter in command.params for word in (*parameter.opts, *parameter.secondary_opts)]


def told_by(error: click.ClickException, command: str, typed: Sequence[str]) -> CommandError:
    """The same error as :class:`CommandError`, if it is none yet."""
    if isinstance(error, CommandError) and not typed:
        return error
    message = error.message if isinstance(error, CommandError) else in_our_words(error)
    kind = WrongUsage if error.exit_code == WrongUsage.exit_code else CommandError
    return kind(message, error_lines(message, command, typed))


def is_one_of(error: Exception, classes: Collection[str]) -> bool:
    """Whether the error is of one of these classes, which are named, for to import their modules may load torch."""
    return any(base.__name__ in classes for base in type(error).__mro__)


@contextmanager
def told_plainly(expected: Collection[str]) -> Iterator[None]:
    """Errors of these classes, and of the file system, become one message and exit code 1; others keep their traceback.

    ``expected``: names of classes, as :func:`is_one_of` takes them.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise _failure(f"{error.filename}: {error.strerror}") from error
        if isinstance(error, OSError) and error.errno in NO_ROOM:  # it names no file
            raise _failure(f"{error.strerror}: make room, and run this again") from error
        if is_one_of(error, expected):
            raise _failure(str(error)) from error
        raise


def _failure(message: str) -> CommandError:
    context = click.get_current_context(silent=True)
    command = context.command_path if context is not None else "parlai-humaneval"
    if context is not None and (wrong := _NO_SETTING.match(message)):
        meant = _as_option(wrong[1], "…", context.command)
        message = f"there is no setting '{wrong[1]}'{meant}" if meant else message
    return CommandError(message, error_lines(message, command))
