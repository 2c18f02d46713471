"""The model pool: loaded models with which any number of conversations speak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parlai_humaneval.allocation.groups import History, Order
from parlai_humaneval.display.presenter import AS_SAID, Presenter
from parlai_humaneval.models.bot_speaker.bot_speaker import BotSpeakerAgent
from parlai_humaneval.models.pool.asking import ModelFailed
from parlai_humaneval.models.workers.placement import PlacedModels

__all__ = ["History", "ModelFailed", "ModelPool", "Order"]


class ModelPool(PlacedModels):
    """Loads each model once, or as often as its entry says, and lets any number of conversations speak with it.

    Its arguments are those of :class:`~parlai_humaneval.models.pool.loaded.LoadedModels`.

    Example:
        >>> with ModelPool(resolve(["eliza", "retrieval"], load_zoo())) as pool:
        ...     speaker = pool.speaker(["eliza", "retrieval"], seed=1)
    """

    def speaker(
        self,
        models: Sequence[str],
        *,
        seed: int | None = None,
        history: History = "shared",
        order: Order = "balanced",
        personas: Mapping[str, Sequence[str]] | None = None,
        presenter: Presenter = AS_SAID,
    ) -> BotSpeakerAgent:
        """A Bot Speaker for one conversation: it costs a history per model, and no weights.

        Args:
            models: names, in any order.
            seed: of the order shown; None: the pool's.
            history: shared (whatever continues, each model hears it as its own) or independent (each hears its own).
            order: balanced over the turns, or random once and then fixed for the whole conversation.
            personas: model → sentences that it plays, of those that are given any; no other model hears them.
            presenter: how replies are shown, and which are not.

        Raises:
            ZooError: for a model that the pool does not hold, or a persona of one that does not speak.
            ValueError: for a persona that is not a list of sentences, each on one line.
        """
        chosen = self.seed if seed is None else seed
        return BotSpeakerAgent.in_pool(
            self, models, seed=chosen, history=history, order=order, personas=personas, presenter=presenter
        )
