"""The short names of this package's agents, for ParlAI's ``-m`` and the ``model`` of zoo files."""

from __future__ import annotations

from collections.abc import Mapping

from parlai_humaneval._util.errors import HumanevalError, Misspelt, misspelt

SHORT_PREFIX = "parlai_humaneval/"

AGENT_HOMES: Mapping[str, str] = {
    name: f"parlai_humaneval.models.{folder}.{name}"
    for folder, names in (
        ("bot_speaker", ("bot_speaker",)),
        ("baselines", ("eliza", "retrieval", "degraded", "transfer_transfo", "kv_memnn", "lstm")),
        (
            "backends",
            ("causal_lm", "seq2seq_lm", "chat_completions", "http_endpoint", "callable", "human"),
        ),
        ("agent", ("dialogue_agent",)),
    )
    for name in names
} | {"command": "parlai_humaneval.models.backends.program"}
"""Name under ``parlai_humaneval.agents``, which ParlAI users type and saved options hold → module."""
BASES = ("dialogue_agent",)
"""Modules of base classes for agents of one's own, which are no models by themselves."""
AGENT_MODULES: Mapping[str, str] = {name: module for name, module in AGENT_HOMES.items() if name not in BASES}
"""Short name, without its prefix → module."""


class NoSuchAgent(HumanevalError, ImportError):
    """No agent of this package is called so; the message says what may have been meant."""


def module_of(name: str) -> str:
    """The module that registers the agent of a short name.

    Raises:
        NoSuchAgent: when no agent of this package is called so.
    """
    bare = name.removeprefix(SHORT_PREFIX)
    if bare in AGENT_MODULES:
        return AGENT_MODULES[bare]
    near = misspelt(bare, AGENT_MODULES, most=2)
    known = [f"{SHORT_PREFIX}{agent}" for agent in (near.nearest if near else AGENT_MODULES)]
    raise NoSuchAgent(
        f"no agent is called {name}",
        misspelt=Misspelt(name, tuple(known)) if near else None,
        try_=() if near else f"there are {', '.join(known)}",
    )
