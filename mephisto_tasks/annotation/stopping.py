"""What dialogues must be there so that a study of them can end when it is decided (``stop=decided``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mephisto_tasks.annotation.config import Pair, StaticConfig, check_cap
from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.allocation.item import Item


def check_dialogues(config: StaticConfig, dialogues: Mapping[Pair, tuple[int, int]]) -> None:
    """Raise where the dialogues that are there are not those of such a study.

    ``dialogues``: how many there are of either model, for each pair that is compared.

    Raises:
        ValueError: says what to do.
    """
    pairs = list(dialogues)
    config.check_stopping(compared(config, pairs), pairs, [config.setting])
    check_cap(config, dialogues)


def compared(config: StaticConfig, groups: Sequence[Sequence[str]]) -> list[str]:
    """The models of the study, in the same order in every launch, in whatever order their dialogues come."""
    return config.model_names() or sorted({model for group in groups for model in group})


def the_kind(items: Sequence[Item]) -> str:
    """Of which kind the dialogues are, such as self_chat.

    Raises:
        ValueError: they are of several kinds.
    """
    kinds = sorted({item.cell.setting for item in items})
    if len(kinds) > 1:
        raise InvalidValue(
            "stop=decided answers one question, and these dialogues make pairs of several kinds "
            f"({', '.join(kinds)}), which are judged apart",
            try_="name dialogues of one kind",
        )
    return kinds[0]
