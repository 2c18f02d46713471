"""Who has heard what in one conversation.

Shared: whatever continues the dialogue, every model hears it as its own words (Ma et al. 2023, §2.2). Independent (their
ablation of §4.5, and side-by-side comparison): a model hears the person and its own replies.
"""

from __future__ import annotations

from collections.abc import Sequence

from parlai_humaneval.models.pool.child import Child, Utterance


class Histories:
    """The dialogue as the person sees it, and beside it what each model has heard and said.

    Args:
        children: the models' sides; they hear each line when it is said.
        independent: whether each model has a history of its own.

    ``dialogue`` is the visible one; ``of_models`` holds one for each child, all of them ``dialogue`` itself when shared.
    """

    def __init__(self, children: Sequence[Child], *, independent: bool) -> None:
        self.independent = independent
        self.dialogue: list[Utterance] = []
        self.of_models: list[list[Utterance]] = [[] if independent else self.dialogue for _ in children]
        self._children = children

    def say(self, utterance: Utterance) -> None:
        """A line that the person and every model hear; the Bot Speaker's are everybody's own words."""
        self.dialogue.append(utterance)
        if self.independent:
            for heard in self.of_models:
                heard.append(utterance)
        self._let_hear()

    def go_on(self, replies: Sequence[str], visible: str | None) -> None:
        """Every model goes on with its own reply, where histories are independent.

        Args:
            replies: one of each model; a blank one is left out of that model's history.
            visible: the reply that the person sees as the Bot Speaker's; None: none of them is.
        """
        if visible is not None:
            self.dialogue.append(Utterance("bot", visible))
        for heard, reply in zip(self.of_models, replies, strict=True):
            if reply:
                heard.append(Utterance("bot", reply))
        self._let_hear()

    def _let_hear(self) -> None:
        for child, heard in zip(self._children, self.of_models, strict=True):
            child.hear(heard)
