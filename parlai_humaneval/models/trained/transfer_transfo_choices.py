"""Wrong replies to set beside a true one: true replies to something else."""

from __future__ import annotations

import copy
import random
from collections import OrderedDict
from collections.abc import Mapping
from itertools import islice
from typing import Any

from parlai.core.opt import Opt
from parlai.utils import logging

from parlai_humaneval.models.quiet import quiet_parlai

KEPT = 1024


class OtherReplies:
    """Remembers the latest true replies of one fold; a wrong one is drawn from them, each as likely as another.

    Args:
        kept: how many are remembered.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._texts: OrderedDict[str, None] = OrderedDict()

    def add(self, text: str) -> None:
        """Remember a true reply."""
        self._texts[text] = None
        self._texts.move_to_end(text)
        if len(self._texts) > self._kept:
            self._texts.popitem(last=False)

    def draw(self, number: int, *, true: str, heard: str, rng: random.Random) -> list[str]:
        """``number`` different replies that are neither ``true`` nor part of the dialogue ``heard``; none if too few."""
        texts = list(self._texts)
        fitting = (text for text in rng.sample(texts, len(texts)) if text != true and text not in heard)
        drawn = list(islice(fitting, number))
        return drawn if len(drawn) == number else []


def replies_for_evaluation(opt: Opt) -> OtherReplies:
    """The first replies of the validation data of the agent's task, in their order; none where it has no data.

    Whichever examples were evaluated before or beside one, and of whichever fold, its wrong replies are drawn from the
    same: else, scores would depend on the batch size.
    """
    others = OtherReplies()
    task, fold = opt.get("evaltask") or opt.get("task"), str(opt.get("datatype") or "").partition(":")[0]
    if not task:
        return others
    try:
        texts = _first_replies(opt, task, "valid")
    except Exception as error:  # noqa: BLE001 - a task may raise anything, and some have no such fold
        logging.warning(f"{task} gives no validation data to draw wrong replies from ({error}); fold: {fold}")
        # Without :evalmode, ParlAI's training data have no end.
        texts = _first_replies(opt, task, "train:evalmode" if fold == "train" else fold)
    for text in texts:
        others.add(text)
    return others


def _first_replies(opt: Opt, task: str, fold: str) -> list[str]:
    """True replies of a task's fold, different ones, in their order."""
    from parlai.agents.repeat_label.repeat_label import RepeatLabelAgent
    from parlai.core.worlds import create_task

    ordered = copy.deepcopy(opt)
    ordered.update(task=task, datatype=fold, batchsize=1, num_workers=0, dynamic_batching=None)
    ordered["image_mode"] = "no_image_model"
    with quiet_parlai():
        world = create_task(ordered, RepeatLabelAgent(ordered))
    texts: dict[str, None] = {}
    while len(texts) < KEPT and not world.epoch_done():
        world.parley()
        example = world.get_acts()[0]
        texts.update(dict.fromkeys(list(example.get("eval_labels") or example.get("labels") or ())[:1]))
    return list(texts)


def offered(example: Mapping[str, Any], true: str) -> list[str]:
    """The task's own candidates for this example; none when the true reply is not among them.

    (Some tasks offer candidates of another kind, as Wizard of Wikipedia does sentences of knowledge.)
    """
    candidates = list(dict.fromkeys(map(str, example.get("label_candidates") or ())))
    return candidates if true in candidates else []


def wrong_replies(
    example: Mapping[str, Any], true: str, number: int, others: OtherReplies, rng: random.Random
) -> list[str]:
    """``number`` wrong replies, of the task's own candidates where it has enough, else of ``others``; else none."""
    own = [candidate for candidate in offered(example, true) if candidate != true]
    if len(own) >= number:
        return rng.sample(own, number)
    return others.draw(number, true=true, heard=str(example.get("full_text") or ""), rng=rng)
