"""What the tests of models in other processes share: dialogues in a pool that is loaded, and what they are held against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tiny_hugging_face import folder_of, spec_of

from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.zoo.entries import ModelSpec, Running
from parlai_humaneval.self_chat.dialogue import talk_in
from parlai_humaneval.self_chat.files import DialogueFile, locked
from parlai_humaneval.self_chat.settings import Pair, SelfChatSettings, load_starts

SETTINGS = SelfChatSettings(num_dialogues=6, exchanges=4, start="contexts", seed=3)
"""With personas, so that all that travels with a question is there."""


def run_on(spec: ModelSpec, **running: object) -> ModelSpec:
    """The model with a ``running`` of these keys."""
    return spec.model_copy(update={"running": Running.model_validate(running)})


def drawn() -> ModelSpec:
    """A model of Hugging Face that draws its words."""
    return spec_of(folder_of("gpt2"), "gpt2", name="drawn", do_sample=True)


def self_chats(
    pool: ModelPool,
    pairs: Sequence[Pair],
    folder: Path,
    *,
    settings: SelfChatSettings = SETTINGS,
    on_dialogue: Callable[[DialogueFile], None] = lambda file: None,
) -> dict[str, str]:
    """The files that the dialogues of ``pairs`` are written to, by name."""
    with locked(folder):
        files = [DialogueFile(folder, pair, settings, pool.specs, "") for pair in pairs]
        for file in files:
            file.begin(force=False)
        assert talk_in(pool, files, load_starts(settings), settings, on_dialogue) == {}
        for file in files:
            file.put_in_order()
    return {file.path.name: file.path.read_text(encoding="utf-8") for file in files}


def self_chats_here(specs: Sequence[ModelSpec], pairs: Sequence[Pair], folder: Path) -> dict[str, str]:
    """The same dialogues with all models in this process."""
    with ModelPool([run_on(spec) for spec in specs]) as pool:
        return self_chats(pool, pairs, folder)
