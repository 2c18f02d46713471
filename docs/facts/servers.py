"""The options of a model behind an OpenAI-compatible server, and what such servers say when they want another."""

from __future__ import annotations

from docs.facts.markdown import code, table
from parlai_humaneval.models.backends.server_refusals import REFUSALS, written

SHARED = ("concurrency",)
"""Options of all models that are asked elsewhere, which are worth a word here."""


def facts() -> dict[str, str]:
    """All options in one table, and the refusals in another."""
    return {"server_options.md": _options(), "server_refusals.md": _refusals()}


def _options() -> str:
    # Imported on use: they bring PyTorch, which no other fact needs.
    from parlai.core.params import ParlaiParser

    from parlai_humaneval.models.backends.chat_completions import ChatCompletionsAgent

    parser = ChatCompletionsAgent.add_cmdline_args(ParlaiParser(False, False, "A server"))
    groups = [group for group in parser._action_groups if (group.title or "").startswith("Chat-completions")]
    actions = [action for group in groups for action in group._group_actions]
    actions += [action for action in parser._actions if action.dest in SHARED]
    rows = [
        [code(action.dest), _default(action.default), (action.help or "").replace("<", "&lt;")] for action in actions
    ]
    return table(["option", "default", "what it does"], rows)


def _default(value: object) -> str:
    if value in (None, ""):
        return ""
    return code(written(int(value) if isinstance(value, float) and value.is_integer() else value))  # type: ignore[arg-type]  # a default may be of any kind


def _refusals() -> str:
    rows = [[f"“{said}”", cure] for refusal in REFUSALS for said, cure in refusal.examples.items()]
    return table(["the server says, for example", "write into `options`"], rows)
