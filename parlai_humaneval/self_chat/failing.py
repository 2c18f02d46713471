"""Models that failed while others talked on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parlai_humaneval.models.pool.asking import ModelFailed
from parlai_humaneval.self_chat.counting import GeneratedFile


class ModelsFailed(ModelFailed):
    """Some models gave no reply after all retries; what the others have made is in ``files``.

    Args:
        reasons: model → why.
        files: of all pairs, those of the failed models included.
    """

    def __init__(self, reasons: Mapping[str, str], files: Sequence[GeneratedFile]) -> None:
        super().__init__(list(reasons), "; ".join(dict.fromkeys(reasons.values())))
        self.files = list(files)
