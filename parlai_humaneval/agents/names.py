"""The short names of this package's agents, for ParlAI's ``-m`` and the ``model`` of zoo files.

ParlAI has no entry points: it knows a short name once the agent's module is imported.
"""

from __future__ import annotations

from collections.abc import Mapping

SHORT_PREFIX = "parlai_humaneval/"

_NAMES = (
    "bot_speaker",
    "eliza",
    "retrieval",
    "degraded",
    "transfer_transfo",
    "kv_memnn",
    "lstm",
    "causal_lm",
    "seq2seq_lm",
    "chat_completions",
    "callable",
    "command",
    "http_endpoint",
    "human",
)
AGENT_MODULES: Mapping[str, str] = {name: f"parlai_humaneval.agents.{name}" for name in _NAMES}
"""Short name, without its prefix → module."""
