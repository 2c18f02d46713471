"""Dialogues that models hold before a launch: the missing ones are made, those of earlier launches are used again."""

from __future__ import annotations

import hashlib
from pathlib import Path

from mephisto_tasks.engine.config import ConfigError
from mephisto_tasks.judging.config import StaticConfig
from parlai_humaneval.models.zoo.entries import load_zoo, resolve, zoo_dir

FOLDER = "self_chats"
"""In the data directory."""


def generated_files(config: StaticConfig, data_dir: Path) -> list[Path]:
    """One file for each model, or pair of models, of a study that has them talk first; none where it does not.

    Raises:
        ConfigError: the dialogues of an earlier launch were made by other models of the same names.
        SelfChatError: settings that do not go together.
        ZooError: a model that is not known or cannot be loaded.
        MaterialError: a file of openers, dialogues or contexts that cannot be used.
    """
    if not config.generate:
        return []
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from parlai_humaneval.self_chat import GenerationProgress, SelfChatError, generate, pairs_of
    from parlai_humaneval.self_chat.files import ANEW
    from parlai_humaneval.self_chat.settings import checked_settings
    from parlai_humaneval.self_chat.starts import fingerprint

    settings = checked_settings(
        num_dialogues=config.num_dialogues,
        exchanges=config.exchanges,
        start=config.start,
        start_file=config.start_file,
        context_kind=config.context_kind,
        seed=config.seed or 0,  # a seed that is drawn at every launch would have them talk anew every time
    )
    zoo = load_zoo([*sorted(zoo_dir().glob("*.yaml")), *(Path(file).expanduser() for file in config.zoo_files)])
    specs = resolve(config.model_names(), zoo)
    pairs = pairs_of(config.model_names(), pairs=config.generate == "pairs")
    folder = data_dir / FOLDER / _name(settings.model_dump_json(exclude={"num_dialogues"}) + fingerprint(settings))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        total = bar.add_task("dialogues between models", total=len(pairs) * config.num_dialogues)
        done: dict[Path, int] = {}

        def note(file: GenerationProgress) -> None:
            done[file.path] = min(file.done, config.num_dialogues)
            bar.update(total, completed=sum(done.values()))

        try:
            made = generate(specs, pairs, settings, folder, batch_size=config.batch_size, on_progress=note)
        except SelfChatError as error:
            words = str(error).replace(ANEW, f"remove the folder {folder} to have the models talk anew")
            raise ConfigError(words) from error
    return [file.path for file in made]


def _name(settings: str) -> str:
    """The same for the same settings: a folder for each way to make dialogues."""
    return hashlib.sha256(settings.encode()).hexdigest()[:12]
