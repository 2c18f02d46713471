"""Shards of self-chats as the jobs of a Hydra multirun: one after the other, as processes, or on a cluster.

    python -m parlai_humaneval.cli.self_chat_multirun --config-name slurm hydra.launcher.partition=gpu \
        models=[blender_3B] num_dialogues=1000 out=chats shards=8

``conf/self_chat.yaml`` holds the settings; ``hydra/launcher`` is ``basic`` (the default), ``submitit_local``,
``submitit_slurm`` (as in ``conf/slurm.yaml``), or any other plug-in's. The same command goes on with what is
unfinished.
"""

from __future__ import annotations

import shutil
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hydra
from hydra.experimental.callback import Callback
from omegaconf import OmegaConf

if TYPE_CHECKING:
    from omegaconf import DictConfig

# Hydra imports all of its plug-ins. Mephisto's adds places that no setting here comes from, and breaks on Python 3.11.
sys.modules.setdefault("hydra_plugins.mephisto_path_plugin", None)  # type: ignore[arg-type]  # marks it as absent

CONF = Path(__file__).parent / "conf"
OmegaConf.register_new_resolver("up_to", lambda last: ",".join(str(n) for n in range(1, int(last) + 1)), replace=True)


class SchedulerThere(Callback):  # type: ignore[misc]  # Hydra is not typed
    """Looks for Slurm before jobs are handed to it: without it, submitit ends in a traceback."""

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        if config.hydra.launcher._target_.endswith(".SlurmLauncher") and shutil.which("srun") is None:
            sys.exit(
                "Error: this machine has no Slurm (no srun on its PATH); start the command where jobs are submitted, or "
                "run the jobs here with --config-name self_chat, alone or with hydra/launcher=submitit_local"
            )


def make_shard(config: DictConfig) -> None:
    # Imported here: what starts the jobs needs no model.
    from parlai_humaneval.cli.self_chat import run_with_bar, show
    from parlai_humaneval.models.zoo.entries import load_zoo, resolve
    from parlai_humaneval.self_chat.settings import SelfChatSettings, checked_settings, pairs_of, shard_of

    given: dict[str, Any] = OmegaConf.to_container(config, resolve=True)
    began = time.monotonic()
    if given["start_file"]:
        given["start_file"] = _absolute(given["start_file"])
    files = run_with_bar(
        resolve(given["models"], load_zoo(more=map(_absolute, given["zoo_files"]))),
        pairs_of(given["models"], pairs=given["pairs"]),
        checked_settings(**{key: given[key] for key in SelfChatSettings.model_fields}),
        Path(_absolute(given["out"])),
        batch_size=given["batch_size"],
        force=False,
        shard=shard_of(f"{given['shard']}/{given['shards']}"),
    )
    show(files, time.monotonic() - began, as_json=False)


def _absolute(path: str) -> str:
    """A job may run elsewhere: relative paths are those of where it was asked for."""
    return str(hydra.utils.to_absolute_path(str(Path(path).expanduser())))


# Hydra hands the function to the processes of the jobs by its name; they import this module, and so hide the plug-in, too.
main = hydra.main(version_base="1.3", config_path=str(CONF), config_name="self_chat")(make_shard)

if __name__ == "__main__":
    # Under its full name, not the program's: pickled jobs must find it again there.
    import_module("parlai_humaneval.cli.self_chat_multirun").main()
