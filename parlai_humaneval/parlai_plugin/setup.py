"""What ParlAI is told of this package: its agents, its script and its presets; and what it says of misspelt names.

``parlai_humaneval_hook`` calls these functions with ParlAI's modules once they are imported. Nothing of this package is
registered before it is used.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from parlai_humaneval._util.errors import HumanevalError, Problem, choose_from
from parlai_humaneval.models.agent.names import SHORT_PREFIX, module_of
from parlai_humaneval.models.agent.options import meant_options

SCRIPTS = ("parlai_humaneval.cli.self_chat_script",)
"""Modules that register commands of ``parlai``."""
UNRECOGNISED = "unrecognized arguments: "
"""How ``argparse`` begins to tell of options that there are not."""
_CHOICE = re.compile(r"^argument (\S+): invalid choice: (.*?) \(choose from (.*)\)$", re.DOTALL)
"""How ``argparse`` tells of a word that there is not."""
_QUOTES = "'"
NOT_IN_OPT = "does not exist: "
"""After this, ParlAI names an option of a preset that there is not."""


class _Agents(dict[str, type]):
    """ParlAI's register of agents. Those of this package are in it by their short names: looking for one imports it."""

    def __contains__(self, name: object) -> bool:
        if not super().__contains__(name) and isinstance(name, str) and name.startswith(SHORT_PREFIX):
            import_module(module_of(name))
        return super().__contains__(name)


def register_agents(loader: Any) -> None:
    """Have ``parlai.core.loader`` find the agents by their short names, such as ``parlai_humaneval/retrieval``."""
    loader.AGENT_REGISTRY = _Agents(loader.AGENT_REGISTRY)


def register_scripts(script: Any) -> None:
    """Have ``parlai.core.script`` load the commands of this package beside ParlAI's own."""
    setup, logging = script.setup_script_registry, script.logging

    def setup_script_registry() -> None:
        setup()
        for module in SCRIPTS:
            try:
                import_module(module)
            except ImportError as error:  # ParlAI's own commands do not depend on it
                logging.warning(f"parlai-humaneval: {module} cannot be imported: {error}")

    script.setup_script_registry = setup_script_registry
    script.superscript_main = _told_on_the_command_line(script.superscript_main)


def _told_on_the_command_line(superscript_main: Callable[..., Any]) -> Callable[..., Any]:
    """The same function; called as the command ``parlai``, it tells this package's expected errors in a sentence."""

    def main(args: Sequence[str] | None = None) -> Any:
        if args is not None:  # a program calls it, and may want to catch them
            return superscript_main(args)
        try:
            return superscript_main()
        except HumanevalError as error:
            sys.exit(f"Error: {error}")

    return main


def find_presets(opt: Any) -> None:
    """Have ``parlai.core.opt`` look for ``-o NAME`` in this package, where it has found none elsewhere."""
    load_init = opt.Opt.load_init.__func__

    def with_ours(cls: Any, optfile: str) -> Any:
        try:
            return load_init(cls, optfile)
        except FileNotFoundError as error:
            from parlai_humaneval.models.zoo.files import preset_file, preset_names  # it takes a while

            if (ours := preset_file(optfile)) is None:
                problem = Problem(str(error), misspelt=meant_options([optfile], preset_names()))
                raise FileNotFoundError(str(problem)) from error
            return cls.load(str(ours))

    opt.Opt.load_init = classmethod(with_ours)


def suggest_options(params: Any) -> None:
    """Have the command line say, of an option that there is not, there or in a preset, which one may have been meant."""
    error, load_opts = params.ParlaiParser.error, params.ParlaiParser._load_opts

    def with_suggestions(self: Any, message: str) -> None:
        error(self, str(parser_problem(self, message)))

    def of_preset(self: Any, opt: dict[str, Any]) -> None:
        try:
            load_opts(self, opt)
        except RuntimeError as refused:
            name = str(refused).rpartition(NOT_IN_OPT)[2]
            raise RuntimeError(str(Problem(str(refused), misspelt=meant_options([name], opt)))) from refused

    params.ParlaiParser.error, params.ParlaiParser._load_opts = with_suggestions, of_preset


def parser_problem(parser: Any, message: str) -> Problem:
    """What a message of ParlAI's parser says; of options or words that there are not, with what may have been meant."""
    if choice := _CHOICE.match(message):
        argument, given, known = choice.groups()
        there = [word.strip(_QUOTES) for word in known.split(", ")]
        return HumanevalError(f"{argument} cannot be {given}", **choose_from(given.strip(_QUOTES), there)).problems[0]
    _, unknown, words = message.partition(UNRECOGNISED)
    # That of `parlai COMMAND` has the options of its agent.
    command = getattr(parser, "_help_subparser", None) or parser
    options = [word.partition("=")[0] for word in words.split() if unknown and word.startswith("--")]
    known = [name for action in command._actions for name in action.option_strings if name.startswith("--")]
    return Problem(message, misspelt=meant_options(options, known))
