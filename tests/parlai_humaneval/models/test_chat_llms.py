"""Chat LLMs are known by their entries of the zoo, without loading anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from own_models import AGENTS

from parlai_humaneval.models.zoo.entries import ModelSpec, is_chat_llm, load_zoo, may_be_chat_llm

LOCAL = "parlai_humaneval.agents.causal_lm:CausalLmAgent"


@pytest.mark.parametrize(
    ("name", "chats"),
    [("local_vllm", True), ("hosted_gpt-4o-mini", True), ("tinyllama_chat", True), ("zephyr_7b", True), ("eliza", False),
     ("hf_blenderbot_400M", False), ("blender_90M", False), ("human", False)],
)  # fmt: skip
def test_packaged_models(name: str, chats: bool) -> None:
    assert is_chat_llm(load_zoo()[name]) is chats


def test_folder_of_weights_is_one_by_its_chat_template(tmp_path: Path) -> None:
    """Guards models of one's own, which say nothing of themselves in the zoo; the format that was chosen goes first."""
    spec = ModelSpec(name="mine", options={"model": LOCAL, "hf_model": str(tmp_path)})
    assert not is_chat_llm(spec)
    (tmp_path / "tokenizer_config.json").write_text('{"chat_template": "{{ messages }}"}', encoding="utf-8")
    assert is_chat_llm(spec)
    assert not is_chat_llm(spec.model_copy(update={"options": {**spec.options, "prompt_format": "plain"}}))


@pytest.mark.parametrize("kind", AGENTS)
def test_entries_of_ones_own_code_do_not_tell(kind: str) -> None:
    """Guards functions, programs and servers behind which there may be an LLM: their replies are looked at."""
    assert may_be_chat_llm(ModelSpec(name="mine", options={"model": AGENTS[kind]}))
    assert not any(may_be_chat_llm(load_zoo()[name]) for name in ("eliza", "retrieval", "local_vllm", "human"))
