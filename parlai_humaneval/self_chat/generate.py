"""Generate the dialogues of many pairs of models into a folder, a file a pair."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from parlai_humaneval._util.errors import Problem
from parlai_humaneval.models.zoo.entries import ModelSpec, resolve
from parlai_humaneval.self_chat.files import DialogueFile, GeneratedFile, count, locked
from parlai_humaneval.self_chat.settings import Pair, SelfChatError, SelfChatSettings, Shard, fingerprint, load_starts

TIMEOUT_S = 600.0
"""Seconds that a batch may take: a large model on a processor takes minutes for a full one."""
RETRIES = 2
"""How often a model is asked again that failed, was silent, or gave no text."""


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
    """Have each pair talk, and keep every dialogue in ``out`` as soon as it is complete.

    A folder that holds some of the dialogues is gone on with; none is lost or made twice. Equal settings give equal
    dialogues whatever the batch size and whatever else is generated, of models that sample (nucleus, top-k), too: what
    they draw hangs on the seed, the dialogue and the turn. Two exceptions remain. Rounding: a batch of another shape may
    add up in another order, so that two words of equal score to six digits may change places. And chance that is not
    in our hands: of a server that takes no seed, of a function or program of your own, of the agents that ParlAI puts
    together of several (SeeKeR, BlenderBot 3).

    Args:
        specs: the models of the pairs; others are not loaded.
        pairs: see :func:`~parlai_humaneval.self_chat.settings.pairs_of`.
        settings: how many dialogues, how long, and how they begin.
        out: the folder; it is made.
        batch_size: most replies that a model computes at once. An option ``batchsize`` of a model lowers it.
        on_progress: called once for each file at first, and then after each dialogue.
        on_load: gets the name of a model before it is loaded.
        force: throw away what the folder holds of these pairs.
        shard: make only this part of the dialogues, in a folder of its own within ``out``, the same as without shards;
            :func:`~parlai_humaneval.self_chat.merge.merge` puts the shards together.
        timeout_s: seconds that a reply may take before it is asked for again.
        retries: how often a reply is asked for again.

    Returns:
        A file for each pair, in their order.

    Raises:
        SelfChatError: the settings do not fit each other or what the folder holds.
        DataError: a file of beginnings cannot be used.
        ZooError: a model is not among ``specs``.
        ModelsFailed: some could not be loaded, broke or were silent. It comes last: the dialogues of all others are
            made, and complete ones are kept.
    """
    if batch_size < 1:
        raise SelfChatError(f"a batch holds at least one dialogue, not {batch_size}")
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
        for group in _talking_together([file for file in files if file.missing]):
            # ParlAI takes seconds to import, and nobody waits for it who has all dialogues already.
            from parlai_humaneval.self_chat.dialogue import talk

            wanted = dict.fromkeys(name for file in group for name in file.pair)
            failed |= talk(
                [known[name] for name in wanted],
                group,
                starts,
                settings,
                batch_size=batch_size,
                timeout_s=timeout_s,
                retries=retries,
                on_load=on_load,
                on_dialogue=lambda file: _report(file, on_progress),
            )
        for file in files:
            file.put_in_order()
        made = [count(file.path, file.pair, file.added) for file in files]
    if failed:
        raise _models_failed(failed, made)
    return made


def _models_failed(failed: Mapping[str, Problem], made: list[GeneratedFile]) -> Exception:
    from parlai_humaneval.self_chat.dialogue import ModelsFailed

    return ModelsFailed(failed, made)


def _report(file: DialogueFile, on_progress: OnProgress | None) -> None:
    if on_progress:
        on_progress(GenerationProgress(file.path, file.pair, len(file.numbers), file.wanted))


def _talking_together(files: Iterable[DialogueFile]) -> list[list[DialogueFile]]:
    """Files that have a model in common, directly or over others, belong together.

    Each group has its models loaded at once and no others: ten models that talk to themselves need the memory of one.
    """
    groups: list[list[DialogueFile]] = []
    for file in files:
        joined = [group for group in groups if any(set(file.pair) & set(other.pair) for other in group)]
        groups = [group for group in groups if group not in joined]
        groups.append([*(other for group in joined for other in group), file])
    return groups
