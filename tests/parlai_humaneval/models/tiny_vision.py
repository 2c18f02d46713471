"""A vision model of Hugging Face with random weights and a vocabulary of letters, made in a second without a network."""

from __future__ import annotations

from pathlib import Path

TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }}: {% for c in m['content'] %}{% if c['type'] == 'image' %}<image>"
    "{% else %}{{ c['text'] }}{% endif %}{% endfor %}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
)


def make_vision_model(folder: Path) -> Path:
    """The folder of a LLaVA with its processor."""
    import torch
    import transformers as hf
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ["<pad>", "<s>", "</s>", "<unk>", "<image>", *"abcdefghijklmnopqrstuvwxyz ?!.:"]
    letters = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, unk_token="<unk>"))
    letters.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    named = {"unk_token": "<unk>", "pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>"}
    tokenizer = hf.PreTrainedTokenizerFast(tokenizer_object=letters, additional_special_tokens=["<image>"], **named)
    seen = hf.CLIPImageProcessor(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28})
    hf.LlavaProcessor(
        image_processor=seen,
        tokenizer=tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        chat_template=TEMPLATE,
        num_additional_image_tokens=1,
    ).save_pretrained(folder)
    small = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = hf.LlavaConfig(
        vision_config=hf.CLIPVisionConfig(**small, image_size=28, patch_size=14).to_dict(),
        text_config=hf.LlamaConfig(**small, num_key_value_heads=2, vocab_size=len(words)).to_dict(),
        image_token_index=4,
        vision_feature_layer=-1,
    )
    torch.manual_seed(1)
    hf.LlavaForConditionalGeneration(config).save_pretrained(folder)
    return folder
