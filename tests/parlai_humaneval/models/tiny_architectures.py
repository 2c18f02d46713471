"""Tiny random models of architectures that people talk to today, as they are published: config, template, tokenizer."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tiny_hugging_face import POSITIONS, SIZE, tokenizer_of

from parlai_humaneval.models.agent.names import is_transformers_5

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
THINKING = CHATML.replace(
    "{{ '<|im_start|>assistant\n' }}",
    "{{ '<|im_start|>assistant\n' }}{% if enable_thinking is defined and not enable_thinking %}"
    "{{ '<think>\n\n</think>\n\n' }}{% endif %}",
)
LLAMA_3 = (
    "{{ bos_token }}{% for m in messages %}"
    "{{ '<|start_header_id|>' + m['role'] + '<|end_header_id|>\n\n' + m['content'] | trim + '<|eot_id|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
)
GEMMA = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    "{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate') }}{% endif %}"
    "{{ '<start_of_turn>' + ('model' if m['role'] == 'assistant' else m['role']) + '\n' + m['content'] | trim }}"
    "{{ '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"
)
PHI = (
    "{% for m in messages %}{{ '<|' + m['role'] + '|>' + m['content'] + '<|end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
MISTRAL = (
    "{{ bos_token }}{% for m in messages %}{% if m['role'] == 'system' %}"
    "{{ '[SYSTEM_PROMPT]' + m['content'] + '[/SYSTEM_PROMPT]' }}{% elif m['role'] == 'user' %}"
    "{{ '[INST]' + m['content'] + '[/INST]' }}{% else %}{{ m['content'] + eos_token }}{% endif %}{% endfor %}"
)
MARKS: Mapping[str, tuple[str, ...]] = {
    CHATML: ("<|im_start|>", "<|im_end|>"),
    THINKING: ("<|im_start|>", "<|im_end|>"),
    LLAMA_3: ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
    GEMMA: ("<start_of_turn>", "<end_of_turn>"),
    PHI: ("<|system|>", "<|user|>", "<|assistant|>", "<|end|>"),
    MISTRAL: ("[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"),
}
"""Special tokens of each template."""

WIDTH = {"hidden_size": 32, "num_hidden_layers": 2, "max_position_embeddings": POSITIONS}
HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 64}
USUAL = {**WIDTH, **HEADS}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
LLAMA_3_ROPE = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}  # fmt: skip
LINEAR = {
    "linear_key_head_dim": 8, "linear_value_head_dim": 8, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
    "head_dim": 8, "layer_types": ["linear_attention", "full_attention"],
}  # fmt: skip
APART = {"tie_word_embeddings": False}
"""With random weights, a model that says what it reads repeats its last word for ever."""
RELATIVE = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0}

CAUSAL_OF_TODAY: Mapping[str, tuple[dict[str, Any], str | None]] = {
    "gpt2": ({"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": POSITIONS}, None),
    "qwen2": (USUAL, CHATML),
    "qwen3": ({**USUAL, "head_dim": 16}, THINKING),
    "qwen3_moe": ({**USUAL, **EXPERTS, "head_dim": 16}, THINKING),
    "llama": ({**USUAL, "rope_scaling": LLAMA_3_ROPE, "rope_theta": 500_000.0}, LLAMA_3),
    "gemma2": ({**USUAL, "head_dim": 8, "sliding_window": 16, "query_pre_attn_scalar": 8, **APART}, GEMMA),
    "gemma3_text": ({**USUAL, "head_dim": 8, "sliding_window": 16, "query_pre_attn_scalar": 8, **APART}, GEMMA),
    "phi3": ({**USUAL, "sliding_window": 24, "original_max_position_embeddings": POSITIONS}, PHI),
    "mistral": ({**USUAL, "head_dim": 8, "sliding_window": 24}, MISTRAL),
    "smollm3": ({**USUAL, "no_rope_layers": [1, 0]}, THINKING),
    "olmo2": (USUAL, CHATML),
    "granite": (USUAL, CHATML),
    "gpt_oss": ({**USUAL, "head_dim": 8, "sliding_window": 16, "num_local_experts": 4, "num_experts_per_tok": 2}, CHATML),
    "deepseek_v3": (
        {
            **USUAL, "num_key_value_heads": 4, "kv_lora_rank": 16, "q_lora_rank": 16, "qk_rope_head_dim": 8,
            "qk_nope_head_dim": 8, "v_head_dim": 8, "n_routed_experts": 4, "n_group": 1, "topk_group": 1,
            "num_experts_per_tok": 2, "moe_intermediate_size": 32, "first_k_dense_replace": 1,
        },
        CHATML,
    ),
    "mamba": ({"hidden_size": 32, "num_hidden_layers": 2, "state_size": 8}, CHATML),
    "qwen3_next": ({**USUAL, **EXPERTS, **LINEAR, "shared_expert_intermediate_size": 32}, THINKING),
    "lfm2": ({**USUAL, "layer_types": ["conv", "full_attention"], "conv_L_cache": 3}, CHATML),
}  # fmt: skip
"""Architecture → what its ``config.json`` says beside the common sizes, and its chat template."""
SEQ2SEQ_OF_TODAY: Mapping[str, dict[str, Any]] = {
    "t5": RELATIVE,
    "bart": {
        "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "init_std": 0.4,
        "max_position_embeddings": POSITIONS, "decoder_start_token_id": 2, "forced_eos_token_id": 2,
    },
}  # fmt: skip
_kept: list[Any] = []  # a folder lives as long as this object


def known(kind: str) -> bool:
    """Whether the installed transformers has the architecture; ParlAI's pins have one from before many of them.

    It knows Llama, but not how Llama 3.1 stretches its positions.
    """
    import transformers

    return kind in transformers.CONFIG_MAPPING and (kind != "llama" or is_transformers_5())


@cache
def home_of(kind: str) -> Path:
    """A folder with a model of this architecture, made once for all tests of a process; do not write into it."""
    _kept.append(tempfile.TemporaryDirectory(prefix=f"today_{kind}_"))
    return save(Path(_kept[-1].name), kind)


def save(folder: Path, kind: str, **more: Any) -> Path:
    """Write ``config.json`` as the makers do, draw weights for it, and save the tokenizer with its template."""
    import torch
    import transformers

    sizes, template = (SEQ2SEQ_OF_TODAY[kind], None) if kind in SEQ2SEQ_OF_TODAY else CAUSAL_OF_TODAY[kind]
    tokenizer = tokenizer_of(chat_template=template, additional_special_tokens=list(MARKS.get(template or "", ())))
    said = {"model_type": kind, **SIZE, "vocab_size": len(tokenizer), **sizes, **more}
    (folder / "config.json").write_text(json.dumps(said), encoding="utf-8")
    config = transformers.AutoConfig.from_pretrained(folder)
    auto = transformers.AutoModelForSeq2SeqLM if kind in SEQ2SEQ_OF_TODAY else transformers.AutoModelForCausalLM
    with torch.random.fork_rng():
        torch.manual_seed(5)
        model = auto.from_config(config)
        _spread(model)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _spread(model: Any) -> None:
    """Larger weights than usual: with those, all words are as good as equally likely."""
    import torch

    for weight in model.parameters():
        if weight.dim() > 1:
            torch.nn.init.normal_(weight, std=0.4)
