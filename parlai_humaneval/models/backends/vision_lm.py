"""Local vision models of Hugging Face, by their processor: they read pictures with the dialogue, and answer in words."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

from parlai.core.loader import register_agent
from parlai.core.message import Message
from parlai.core.opt import Opt

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.display.images import IMAGES_FIELD, decoded
from parlai_humaneval.models.agent import dialogue_agent as agents
from parlai_humaneval.models.agent.names import is_transformers_5
from parlai_humaneval.models.backends.base import Heard
from parlai_humaneval.models.backends.hugging_face import (
    DTYPES,
    check_memory,
    device_of,
    explained,
    is_folder,
)
from parlai_humaneval.models.backends.prompting import Content, Wording
from parlai_humaneval.models.zoo.entries import ZooError
from parlai_humaneval.models.zoo.files import expand_home

NEW_TOKENS = 128


@register_agent("parlai_humaneval/vision_lm")
class VisionLmAgent(agents.DialogueAgent):
    """One reply at a time; the same dialogue under the same seed gets the same reply."""

    OPTIONS = "vision_lm"
    SHARED = ("loaded",)

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        self.limit = agents.history_limit(opt.get(agents.OPTION))
        if self.limit.tokens is not None:
            raise InvalidValue("vision_lm counts turns, not tokens", where=agents.OPTION, try_="write “20 turns”")
        self.wording = Wording(system_prompt=str(opt.get("system_prompt") or ""))
        self.temperature = float(opt.get("temperature") or 0)
        self.loaded: tuple[Any, Any] = shared["loaded"] if shared else _load(opt)

    def _answer(self, observation: Message) -> Message:
        import torch

        processor, model = self.loaded
        kept, _ = agents.newest_turns(observation[agents.DIALOGUE_FIELD], lambda end: True, self.limit.turns)
        heard = replace(Heard.of(observation, sees=bool(self.opt.get(IMAGES_FIELD))), dialogue=tuple(kept))
        chat = [{**message, "content": _parts(message["content"])} for message in self.wording.messages(heard)]
        inputs = processor.apply_chat_template(
            chat, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
        ).to(model.device, dtype=model.dtype)
        drawn = {"temperature": self.temperature, "do_sample": True} if self.temperature else {"do_sample": False}
        with torch.inference_mode(), torch.random.fork_rng():
            torch.manual_seed(agents.chance_of(observation).getrandbits(31))
            tokens = model.generate(**inputs, max_new_tokens=int(self.opt.get("max_new_tokens") or NEW_TOKENS), **drawn)
        text = processor.decode(tokens[0][inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        return agents.spoken(self.id, str(text).strip())


def _parts(content: Content) -> list[dict[str, Any]]:
    """Content parts as processors take them: pictures are opened."""
    from PIL import Image

    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [
        part if "text" in part else {"type": "image", "image": Image.open(BytesIO(decoded(part["image_url"]["url"])))}
        for part in content
    ]


def _load(opt: Opt) -> tuple[Any, Any]:
    """The processor and the model. Raises ZooError."""
    import torch
    import transformers

    name, dtype, trusted = (
        str(opt.get("hf_model") or ""),
        opt.get("dtype") or "auto",
        bool(opt.get("trust_remote_code")),
    )
    if not name or dtype not in DTYPES:
        raise InvalidValue(
            f"dtype {dtype} is unknown" if name else "hf_model is missing",
            try_=f"choose one of {', '.join(DTYPES)}"
            if name
            else "give the model's folder, or its name on Hugging Face",
        )
    auto = getattr(transformers, "AutoModelForImageTextToText", None)
    if auto is None:
        raise ZooError(
            f"transformers {transformers.__version__} does not know vision models this way",
            try_="install 4.46 or newer",
        )
    path = str(Path(expand_home(name)).expanduser()) if is_folder(name) else name
    device = device_of(opt)
    with explained(path):
        processor = transformers.AutoProcessor.from_pretrained(path, trust_remote_code=trusted)
        if getattr(processor, "image_processor", None) is None or not processor.chat_template:
            raise ZooError(
                f"{path} has no processor for pictures with a chat template",
                try_="use parlai_humaneval/causal_lm for it",
            )
        check_memory(path, device)
        numbers = getattr(torch, dtype) if dtype != "auto" else torch.float32 if device == "cpu" else "auto"
        known_as = "dtype" if is_transformers_5() else "torch_dtype"
        model = auto.from_pretrained(path, trust_remote_code=trusted, **{known_as: numbers}).to(device).eval()
    return processor, model
