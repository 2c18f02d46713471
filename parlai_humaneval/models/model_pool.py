"""The model pool: loaded models, shared by any number of conversations."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from typing import Any

from parlai.core.opt import Opt

from parlai_humaneval.allocation.groups import History, Order
from parlai_humaneval.display.appearance import looked_over
from parlai_humaneval.display.images import ImageStore
from parlai_humaneval.display.presenter import AS_SAID, Presenter
from parlai_humaneval.models.bot_speaker.bot_speaker import BotSpeakerAgent
from parlai_humaneval.models.pool.asking import ModelFailed
from parlai_humaneval.models.pool.loading import Utterance
from parlai_humaneval.models.workers.hosts import ModelPlacement
from parlai_humaneval.models.zoo.entries import ZooError

__all__ = ["History", "ModelFailed", "ModelPool", "Order"]


class ModelPool(ModelPlacement):
    """Loads each model once, or as often as its entry says, and lets any number of conversations speak with it.

    Its arguments are those of :class:`~parlai_humaneval.models.pool.loading.LoadedModels`.

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
        images: ImageStore | None = None,
    ) -> BotSpeakerAgent:
        """A Bot Speaker for one conversation, which costs no weights. ``seed``: of the order shown. ``personas``: model
        → sentences that it plays. ``images``: where pictures in replies are kept; None: replies have none. A ZooError
        for a model that the pool does not hold."""
        if not models:
            raise ZooError("a Bot Speaker needs at least one model")
        chosen = self.seed if seed is None else seed
        names = {"model": "parlai_humaneval/bot_speaker", "models": ",".join(models)}
        shared = {
            "models": list(models),
            "pool": self,
            "personas": dict(personas or {}),
            "presenter": presenter,
            "images": images,
        }
        return BotSpeakerAgent(Opt({**names, "seed": chosen, "history": history, "order": order}), shared)

    def first_replies(self, models: Sequence[str], question: str, wait_s: float) -> dict[str, str]:
        """What ``models`` answer to ``question``, without thoughts. A model is missing if it fails, if its server is out,
        or if it needs longer than ``wait_s``."""
        until = time.monotonic() + wait_s
        asked = []
        for child in self.children(models, self.seed):
            with suppress(Exception):  # an agent may raise anything at hearing a message
                asked.append((child, child.ask([Utterance("human", question)])))
        replies = {}
        for child, request in asked:
            answer = request.future
            either: list[Future[Any]] = [answer, request.wait.began]  # a reply, or an outage
            wait(either, max(0.0, until - time.monotonic()), FIRST_COMPLETED)
            if answer.done() and answer.exception() is None:
                replies[child.model] = looked_over(answer.result().text)[0]
            else:
                child.leave()
        return replies
