"""The ``parlai-humaneval`` command.

Subcommands are loaded when they are used, so that ``--help`` is quick and nothing here
imports Mephisto or torch.
"""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import Any

import click

from parlai_humaneval import __version__
from parlai_humaneval.ending import end_quickly
from parlai_humaneval.suggesting import SuggestingGroup

COMMANDS: dict[str, tuple[str, str]] = {
    # name: (module:attribute, one line for the list of commands)
    "demo": ("mephisto_tasks.commands.demo:demo", "Rate two embedded models on this machine, now."),
    "launch": ("mephisto_tasks.commands.launch:launch", "Launch a crowd task (locally or on MTurk)."),
    "try": ("mephisto_tasks.commands.try_model:try_model", "Have people chat with your model, by one link."),
    "invite": ("mephisto_tasks.commands.invite:invite", "Invite colleagues or a class by signed links."),
    "models": ("parlai_humaneval.models.commands:models", "List, check, train and chat with the models."),
    "self-chat": (
        "parlai_humaneval.self_chat.commands:self_chat",
        "Have models talk to themselves, or to each other.",
    ),
    "self-chat-merge": (
        "parlai_humaneval.self_chat.commands:self_chat_merge",
        "Put together what several machines had them say.",
    ),
    "plan": ("parlai_humaneval.planning.command:plan", "How large a study must be, before you run it."),
    "watch": ("mephisto_tasks.commands.watch:watch", "How a study stands, while it runs: terminal, page, leaderboard."),
    "steer": (
        "mephisto_tasks.commands.steer:steer",
        "Pause a running study, collect more, stop a pair, retire a model.",
    ),
    "report": ("mephisto_tasks.commands.report:report", "Who won, and how sure that is."),
    "export": ("mephisto_tasks.commands.export:export", "Write the answers as tidy tables."),
    "import": (
        "parlai_humaneval.importing.command:import_tables",
        "Turn data from elsewhere into tidy tables.",
    ),
    "pay": ("mephisto_tasks.commands.pay:pay", "What everybody is owed; pay it, each exactly once."),
    "returned": (
        "mephisto_tasks.commands.returned:returned",
        "Free the places of submissions that were returned at a panel.",
    ),
    "workers": (
        "mephisto_tasks.commands.workers:workers",
        "Who took part; block them, let them in, note what matters.",
    ),
    "unblock": ("mephisto_tasks.commands.unblock:unblock", "List workers whom checks blocked, and let them in again."),
    "requester": ("mephisto_tasks.commands.requester:requester", "Register the MTurk accounts that launch tasks."),
    "doctor": ("mephisto_tasks.commands.doctor:doctor", "Check this installation and say how to mend it."),
    "parlai": ("parlai_humaneval.parlai_commands:parlai", "ParlAI's own commands with this plug-in loaded."),
}


class LazyGroup(SuggestingGroup):
    """A group whose commands are imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module_name, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(import_module(module_name), attribute)
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """A misspelt option of any command is an error with the nearest right one."""
        try:
            return super().invoke(ctx)
        except click.NoSuchOption as error:
            if error.ctx is not None and not error.possibilities:
                options = [word for parameter in error.ctx.command.params for word in parameter.opts]
                error.possibilities = difflib.get_close_matches(error.option_name, options, n=1)
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="parlai-humaneval")
def main() -> None:
    """Find out, with real people, which of your chatbots is better, and how sure you can be.

    \b
    Example:
      parlai-humaneval demo
    """
    end_quickly()
