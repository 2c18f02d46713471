"""Generate the dialogues of many pairs of models into a folder, a file a pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from parlai_humaneval._util.errors import Problem
from parlai_humaneval.models.zoo.entries import ModelSpec, resolve
from parlai_humaneval.self_chat.files import DialogueFile, GeneratedFile, count, locked
from parlai_humaneval.self_chat.settings import Pair, SelfChatError, SelfChatSettings, Shard, fingerprint, load_starts

TIMEOUT_S = 600.0
"""Seconds that a batch may take: a large model on a processor takes minutes for a full one."""
RETRIES = 2


class GenerationProgress(NamedTuple):
    """How far the file of a pair is: ``done`` of ``wanted`` dialogues, those of earlier runs included."""

    path: Path
    models: Pair
    done: int
    wanted: int


OnProgress = Callable[[GenerationProgress], None]


def generate(
    specs: Sequence[ModelSpec],
    pairs: Sequence[Pair],
    settings: SelfChatSettings,
    out: Path,
    *,
    batch_size: int = 32,
    on_progress: OnProgress | None = None,
    on_load: Callable[[str], None] | None = None,
    force: bool = False,
    shard: Shard | None = None,
    timeout_s: float = TIMEOUT_S,
    retries: int = RETRIES,
) -> list[GeneratedFile]:
    """Have each pair talk, and keep every dialogue in ``out`` as soon as it is complete; the answer is a file for each
    pair.

    A folder that holds some of the dialogues is gone on with; none is lost or made twice. Equal settings give equal
    dialogues whatever the batch size and whatever else is generated, but for rounding (words of equal score to six
    digits) and chance that is not in our hands: a server that takes no seed, a function of your own, agents that ParlAI
    puts together of several. ``batch_size``: most replies that a model computes at once. ``on_progress``: called for
    each file at first, and after each dialogue. ``force``: throw away what the folder holds of these pairs. ``shard``:
    make only this part, in a folder of its own within ``out``.

    Raises:
        SelfChatError: the settings do not fit each other or what the folder holds.
        ModelsFailed: some could not be loaded, broke or were silent. It comes last: the dialogues of all others are
        made.
    """
    if batch_size < 1:
        raise SelfChatError(f"a batch must hold at least one dialogue, not {batch_size}")
    known = {spec.name: spec for spec in specs}
    resolve([name for pair in pairs for name in pair], known)
    if len(set(pairs)) < len(pairs):
        raise SelfChatError("a pair is named twice")
    starts = load_starts(settings)
    folder = out / shard.folder if shard else out
    with locked(folder):
        files = [DialogueFile(folder, pair, settings, known, fingerprint(settings), shard) for pair in pairs]
        for file in files:
            if not force:
                file.check()
        for file in files:  # only once all of them are known to fit
            file.begin(force=force)
            _report(file, on_progress)
        failed: dict[str, Problem] = {}
        # Files that have a model in common: each group has its models loaded at once and no others.
        groups: list[list[DialogueFile]] = []
        for one in [file for file in files if file.missing]:
            joined = [group for group in groups if any(set(one.pair) & set(other.pair) for other in group)]
            groups = [group for group in groups if group not in joined]
            groups.append([*(other for group in joined for other in group), one])
        for group in groups:
            # ParlAI takes seconds to import, and nobody waits for it who has all dialogues already.
            from parlai_humaneval.models.model_pool import ModelPool
            from parlai_humaneval.self_chat.dialogue import talk

            wanted = [known[name] for name in dict.fromkeys(name for file in group for name in file.pair)]
            pool = ModelPool(wanted, timeout_s=timeout_s, retries=retries, max_batch=batch_size)
            failed |= talk(pool, group, starts, settings, on_load, lambda file: _report(file, on_progress))
        for file in files:
            file.put_in_order()
        made = [count(file.path, file.pair, file.added) for file in files]
    if failed:
        from parlai_humaneval.self_chat.dialogue import ModelsFailed

        raise ModelsFailed(failed, made)
    return made


def _report(file: DialogueFile, on_progress: OnProgress | None) -> None:
    if on_progress:
        on_progress(GenerationProgress(file.path, file.pair, len(file.numbers), file.wanted))
