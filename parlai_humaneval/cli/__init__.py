"""The ``parlai-humaneval`` command.

Subcommands are loaded when they are used, so that ``--help`` is quick and nothing here
imports Mephisto or torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from parlai_humaneval import __version__
from parlai_humaneval._util.installing import PackageError, lacking
from parlai_humaneval._util.terminal import end_quickly
from parlai_humaneval.cli.errors import CommandError, command_error
from parlai_humaneval.cli.options import SuggestingGroup

TOPICS: dict[str, dict[str, tuple[str, str]]] = {
    # heading: {name: (module:attribute, one line for the list of commands)}
    "Begin": {
        "demo": ("mephisto_tasks.cli.demo:demo", "Rate two embedded models on this machine, now."),
        "try": ("mephisto_tasks.cli.try_model:try_model", "Have people chat with your model, by one link."),
        "setup": ("parlai_humaneval.cli.setup:setup", "Install what pip leaves out: ParlAI and Mephisto."),
        "doctor": ("mephisto_tasks.cli.doctor:doctor", "Check this installation and say how to mend it."),
        "models": ("parlai_humaneval.cli.models:models", "List, check, train and chat with the models."),
    },
    "Run a study": {
        "plan": ("parlai_humaneval.cli.plan:plan", "How large a study must be, before you run it."),
        "launch": ("mephisto_tasks.cli.launch:launch", "Launch a crowd task: here, by link, or at a crowd's site."),
        "invite": ("mephisto_tasks.cli.invite:invite", "Invite colleagues or a class by signed links."),
        "watch": ("mephisto_tasks.cli.watch:watch", "How a study stands, while it runs."),
        "steer": ("mephisto_tasks.cli.steer:steer", "Pause a running study, collect more, retire a model."),
    },
    "Have the results": {
        "report": ("mephisto_tasks.cli.report:report", "Who won, and how sure that is."),
        "export": ("mephisto_tasks.cli.export:export", "Write the answers as tidy tables."),
        "judge": ("mephisto_tasks.cli.judge:judge", "Ask a model what raters were asked, beside them."),
        "import": ("mephisto_tasks.cli.import_data:import_tables", "Turn data from elsewhere into tidy tables."),
    },
    "Pay raters and look after them": {
        "pay": ("mephisto_tasks.cli.pay:pay", "What everybody is owed; pay it, each exactly once."),
        "workers": ("mephisto_tasks.cli.workers:workers", "Who took part; block them, let them in."),
        "unblock": ("mephisto_tasks.cli.workers:unblock", "Let in again whom checks blocked."),
        "returned": ("mephisto_tasks.cli.workers:returned", "Free places that were returned at a panel."),
        "forget": ("mephisto_tasks.cli.privacy:forget", "Delete all that is known of a worker."),
        "requester": (
            "mephisto_tasks.cli.requester:requester",
            "Register accounts of crowds' sites that launch tasks.",
        ),
    },
    "Have models talk": {
        "self-chat": ("parlai_humaneval.cli.self_chat:self_chat", "With themselves, or with each other."),
        "self-chat-merge": (
            "parlai_humaneval.cli.self_chat:self_chat_merge",
            "Put together what several machines had them say.",
        ),
        "parlai": ("parlai_humaneval.cli.parlai:parlai", "ParlAI's own commands with this plug-in loaded."),
    },
}
COMMANDS = {name: where for commands in TOPICS.values() for name, (where, _) in commands.items()}
"""Command → module:attribute."""
TYPED = "parlai_humaneval.typed"
"""The key, in click's context, of what was typed."""


class LazyGroup(SuggestingGroup):
    """A group whose commands are imported on use, and whose errors have one form."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module_name, _, attribute = COMMANDS[cmd_name].partition(":")
        command = getattr(import_module(module_name), attribute)
        assert isinstance(command, click.Command)
        return command

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Keeps what was typed, for errors to show it as it was meant."""
        typed = list(args)
        try:
            context: click.Context = super().make_context(info_name, args, parent, **extra)
        except click.ClickException as error:
            raise _called(command_error(error), info_name or "", typed) from error
        context.meta[TYPED] = typed
        return context

    def invoke(self, ctx: click.Context) -> Any:
        """Every error is printed in the same form; a misspelt option of any command with the nearest right one."""
        typed = ctx.meta[TYPED]
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            raise _called(command_error(error), self._command(ctx, typed), typed) from error
        except ImportError as error:
            package = error if isinstance(error, PackageError) else lacking(error)
            if package is None:
                raise
            raise _called(command_error(package), ctx.command_path, typed) from error

    def _command(self, ctx: click.Context, typed: list[str]) -> str:
        words: list[str] = [ctx.command_path]
        group: click.Group = self
        for word in typed:
            command = group.get_command(ctx, word)
            if command is None:
                break
            words.append(word)
            if not isinstance(command, click.Group):
                break
            group = command
        return " ".join(words)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Under headings of what people do, a line each."""
        for heading, commands in TOPICS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, line) for name, (_, line) in commands.items()])


def _called(error: CommandError, command: str, typed: list[str]) -> CommandError:
    error.command, error.typed = command, typed
    return error


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="parlai-humaneval")
def main() -> None:
    """Find out, with real people, which of your chatbots is better, and how sure you can be.

    \b
    Example:
      parlai-humaneval demo
    """
    end_quickly()
