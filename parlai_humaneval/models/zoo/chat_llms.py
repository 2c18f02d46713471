"""Which models of the zoo are large language models that chat: they are known by how they are asked, without loading any."""

from __future__ import annotations

import json
from pathlib import Path

from parlai_humaneval.models.zoo.entries import ModelSpec

_SERVED = "chat_completions:ChatCompletionsAgent"
_LOCAL = "causal_lm:CausalLmAgent"


def is_chat_llm(spec: ModelSpec) -> bool:
    """Whether a model is asked as a chat LLM: over a server with OpenAI's interface, or here with a chat template.

    Of a local model that is still to be downloaded, a ``system_prompt`` or a ``chat_template`` of its entry says so.
    """
    agent = str(spec.options.get("model", ""))
    if agent.endswith(_SERVED):
        return True
    if not agent.endswith(_LOCAL):
        return False
    form = spec.options.get("prompt_format") or "auto"
    if form != "auto":
        return bool(form == "chat")
    told = spec.options.get("system_prompt") or spec.options.get("chat_template")
    return bool(told) or _has_template(Path(str(spec.options.get("hf_model", ""))).expanduser())


def _has_template(folder: Path) -> bool:
    """Whether a folder of weights comes with a chat template."""
    if (folder / "chat_template.jinja").is_file():
        return True
    try:
        return bool(json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8")).get("chat_template"))
    except (OSError, ValueError, AttributeError):
        return False
