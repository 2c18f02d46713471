"""``parlai batched_self_chat``: the same generation as a ParlAI script."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, get_args

from parlai.core.params import ParlaiParser
from parlai.core.script import ParlaiScript, register_script

from parlai_humaneval.models.agent.dialogue_agent import add_options, option_names
from parlai_humaneval.models.zoo.entries import ModelSpec, load_zoo, resolve
from parlai_humaneval.models.zoo.secrets import key_trouble
from parlai_humaneval.self_chat.files import GeneratedFile
from parlai_humaneval.self_chat.settings import SelfChatError, StartKind, checked_settings, pairs_of, shard_of

SET = frozenset({"batchsize", "interactive_mode", "task", "loglevel"})
"""What the script sets: like its own options, none of them says which model it is."""


@register_script("batched_self_chat")
class BatchedSelfChat(ParlaiScript):  # type: ignore[misc]  # ParlAI is not typed
    @classmethod
    def setup_args(cls) -> ParlaiParser:
        """``-m`` or ``-mf`` for one model with ParlAI's own options, or ``--models`` for some of the zoo."""
        parser = ParlaiParser(True, True, "Have models talk to themselves or to each other, many dialogues at once")
        add_options(parser, "batched_self_chat", {"start": {"choices": get_args(StartKind)}})
        parser.set_defaults(interactive_mode=True, task="self_chat", batchsize=32)
        return parser

    def run(self) -> list[GeneratedFile]:
        from parlai_humaneval.cli.self_chat import run_with_bar, show

        opt = self.opt
        if not opt.get("outdir"):
            raise SelfChatError("there is no folder for the dialogues", try_="name one, for example --outdir chats")
        specs = _specs(opt)
        began = time.monotonic()
        settings = checked_settings(
            num_dialogues=opt["num_self_chats"],
            exchanges=opt["selfchat_max_turns"],
            start=opt["start"],
            start_file=opt["start_file"],
            context_kind=opt["context_kind"],
            seed=opt["seed"],
        )
        files = run_with_bar(
            specs,
            pairs_of([spec.name for spec in specs], pairs=opt["pairs"]),
            settings,
            Path(opt["outdir"]),
            batch_size=opt["batchsize"],
            force=opt["overwrite"],
            shard=shard_of(opt["shard"]) if opt["shard"] else None,
        )
        show(files, time.monotonic() - began, as_json=False)
        return files


def _specs(opt: dict[str, Any]) -> list[ModelSpec]:
    names = [name.strip() for name in (opt.get("models") or "").split(",") if name.strip()]
    given = {key: value for key, value in opt["override"].items() if key not in SET | option_names("batched_self_chat")}
    single = bool(given.get("model") or given.get("model_file"))
    if bool(names) == single:
        raise SelfChatError("name the models of the zoo (--models eliza,retrieval) or one model (-m or -mf), not both")
    if single:
        if trouble := key_trouble(given):  # options are written next to the dialogues
            raise SelfChatError(trouble)
        return [ModelSpec(name=_name_of(given), options=given)]
    own_files = [part.strip() for part in (opt.get("zoo") or "").split(",") if part.strip()]
    return resolve(names, load_zoo(more=own_files))


def _name_of(options: dict[str, Any]) -> str:
    if options.get("model_file"):
        path = Path(str(options["model_file"]))
        return path.parent.name if path.name == "model" and path.parent.name else path.name
    return str(options["model"]).rpartition("/")[2].rpartition(":")[2]
