"""The short names of this package's agents, for ParlAI's ``-m`` and the ``model`` of zoo files.

ParlAI has no entry points: it knows a short name once the agent's module is imported.
"""

from __future__ import annotations

from collections.abc import Mapping

SHORT_PREFIX = "parlai_humaneval/"

AGENT_HOMES: Mapping[str, str] = {
    name: f"parlai_humaneval.models.{folder}{name}"
    for folder, names in (
        ("speaker.", ("bot_speaker",)),
        ("small.", ("eliza", "retrieval", "degraded")),
        ("trained.", ("transfer_transfo", "kv_memnn", "lstm")),
        ("local.", ("causal_lm", "seq2seq_lm")),
        ("hosted.", ("chat_completions", "http_endpoint")),
        ("outside.", ("callable", "command", "human")),
        ("", ("dialogue_agent",)),
    )
    for name in names
}
"""Name under ``parlai_humaneval.agents``, which ParlAI users type and saved options hold → module."""
BASES = ("dialogue_agent",)
"""Modules of base classes for agents of one's own, which are no models by themselves."""
AGENT_MODULES: Mapping[str, str] = {name: module for name, module in AGENT_HOMES.items() if name not in BASES}
"""Short name, without its prefix → module."""
