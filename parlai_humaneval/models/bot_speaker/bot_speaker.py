"""The Bot Speaker: one partner to the person, several models behind it.

The models share one history (Ma et al. 2023, §2.2): whatever continues the dialogue, each model hears it as its own
words. With independent histories (their ablation, and side-by-side comparison) each hears its own replies only.

Who has heard what in one conversation.

Shared: whatever continues the dialogue, every model hears it as its own words (Ma et al. 2023, §2.2). Independent (their
ablation of §4.5, and side-by-side comparison): a model hears the person and its own replies.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, get_args

from parlai.core.agents import Agent
from parlai.core.loader import register_agent
from parlai.core.message import Message
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser

from parlai_humaneval._util.errors import Problem
from parlai_humaneval.allocation.groups import History, Order, shown_order
from parlai_humaneval.display.presenter import AS_SAID, Presenter
from parlai_humaneval.display.text import is_blank
from parlai_humaneval.models.agent.dialogue_agent import Line, UseReply, said_for, seed_of
from parlai_humaneval.models.backends.server_refusals import OUT_OF_TOKENS
from parlai_humaneval.models.bot_speaker.cards import (
    UnknownCandidate,
    card_of,
    lay_out,
    shown_cards,
    standing_for,
    to_candidate,
)
from parlai_humaneval.models.bot_speaker.options import add_speaker_args, pool_of, presenter_from
from parlai_humaneval.models.bot_speaker.terminal import at_terminal, choose
from parlai_humaneval.models.pool.asking import Answer, ModelFailed, Objections, ask_all
from parlai_humaneval.models.pool.child import WITHHELD, Child, Utterance
from parlai_humaneval.models.pool.loaded import LoadedModels
from parlai_humaneval.models.zoo.entries import ZooError
from parlai_humaneval.schema.records import Candidate


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


__all__ = ["BotSpeakerAgent", "NothingToAnswer", "UnknownCandidate", "standing_for"]


class NothingToAnswer(RuntimeError):
    """``act`` was called before anything was said."""


@register_agent("parlai_humaneval/bot_speaker")
class BotSpeakerAgent(Agent):
    """One partner to the person and several models behind it.

    ``observe(message)`` → ``act()`` → ``accept(…)``, again and again. An ``observe()`` without ``accept()``
    accepts the first reply shown, so that ParlAI's own worlds can use the agent unchanged; or the one that the person at
    the terminal of ``parlai interactive`` chose. Where the message had the right answer, as in ``parlai eval_model``, it
    accepts that instead, as TorchAgent does (``--use-reply``).

    The first dialogue has the seed that was given, each later one a seed of its own that follows from it and from the
    number of the dialogue. Clones number their dialogues together, by their beginnings: those of a batch all differ,
    and with one seed a task's dialogues are the same in batches of any size.

    Every model has one candidate in each turn. Those whose shown texts are equal share a card: the first shown has
    it, the others are the ``same_as`` it and have its ``position``. (Side by side each has a card.)
    A model that gave only blank replies is ``failed``: it has no card, and position 0. Cards count 1, 2, … without holes.

    Clones share the models' weights and nothing else. Not for use by two threads at once.
    """

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        """``--models`` is needed; the models' own options come from the zoo files."""
        return add_speaker_args(parser)

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        if shared is not None:
            self.opt = Opt(opt)  # as a DialogueAgent's
        super().__init__(opt, shared)
        self.id = "BotSpeaker"
        self._owner = shared is None
        self._seed = int(opt.get("seed") or 0)
        self._history: History = _one_of(History, "history", opt.get("history") or "shared")
        self._order_kind: Order = _one_of(Order, "order", opt.get("order") or "balanced")
        self._use_reply: UseReply = _one_of(UseReply, "use_reply", opt.get("use_reply") or "label")
        self._choose, self._with_names = bool(opt.get("choose", True)), bool(opt.get("show_models"))
        self._presenter: Presenter
        if shared is None:
            self._models, self._pool = pool_of(opt)
            self._presenter = presenter_from(opt, self._pool)
        else:
            self._models, self._pool = shared["models"], shared["pool"]
            self._presenter = shared.get("presenter", AS_SAID)
        self._personas: Mapping[str, Sequence[str]] = (shared or {}).get("personas", {})
        self._numbers: Iterator[int] = (shared or {}).get("numbers") or itertools.count()
        self.reset()

    @classmethod
    def in_pool(
        cls,
        pool: LoadedModels,
        models: Sequence[str],
        *,
        seed: int,
        history: History = "shared",
        order: Order = "balanced",
        personas: Mapping[str, Sequence[str]] | None = None,
        presenter: Presenter = AS_SAID,
    ) -> BotSpeakerAgent:
        """A Bot Speaker for one conversation with ``models`` of a loaded pool; see ``ModelPool.speaker``."""
        if not models:
            raise ZooError("a Bot Speaker needs at least one model")
        options = {
            "model": "parlai_humaneval/bot_speaker",
            "models": ",".join(models),
            "seed": seed,
            "history": history,
            "order": order,
        }
        shared = {"models": list(models), "pool": pool, "personas": dict(personas or {}), "presenter": presenter}
        return cls(Opt(options), shared)

    def share(self) -> dict[str, Any]:
        """The pool, the personas, the presenter and the count of dialogues; a clone's histories are its own."""
        mine = {"models": self._models, "pool": self._pool, "personas": self._personas, "presenter": self._presenter}
        return {**super().share(), **mine, "numbers": self._numbers}

    @property
    def dialogue(self) -> list[Line]:
        """What was said, as ``(speaker, text)``, speaker ``"human"`` or ``"bot"``; of replies, those that were accepted."""
        return _lines(self._histories.dialogue)

    def dialogue_of(self, model: str) -> list[Line]:
        """What this model has heard and said; with a shared history that is :attr:`dialogue`.

        Of a model that stands against itself, it is that of the first of the two.

        Raises:
            ZooError: when ``model`` does not speak here.
        """
        if model not in self._models:
            raise ZooError(f"“{model}” does not speak in this conversation, {', '.join(self._models)} do")
        return _lines(self._histories.of_models[self._models.index(model)])

    def reset(self) -> None:
        """Begin a new dialogue: nothing has been said."""
        super().reset()
        self._pending: Message | None = None
        self._candidates: list[Candidate] = []  # of the pending turn, as shown
        self._replies: list[str] = []  # of the pending turn, in the order of the models
        self._chosen = ""  # the candidate of the pending turn that goes on by default
        self._turn = 0
        self._ending = False
        self._prepare(self._seed)

    def _prepare(self, seed: int) -> None:
        self._begun = False
        self._order = shown_order(self._order_kind, len(self._models), seed)
        self._children = self._pool.children(self._models, seed, self._personas)
        self._histories = Histories(self._children, independent=self._history == "independent")
        self._side_by_side = self._histories.independent and self._order_kind == "fixed"

    def _begin(self) -> None:
        if self._begun:
            return
        if number := next(self._numbers):
            self._prepare(seed_of(self._seed, number))
        self._begun = True

    def leave(self) -> None:
        """The conversation is over, or the person has gone: no model needs to answer any more. From any thread."""
        for child in self._children:
            child.leave()

    def absent(self) -> bool:
        """Whether the next line waits for somebody who is not there (people write it, and none is). From any thread."""
        return any(child.absent() for child in self._children)

    def interrupted(self) -> bool:
        """Whether the next line waits for a server that is out. From any thread."""
        return any(child.interrupted() for child in self._children)

    def hold(self, away: bool) -> None:
        """The person is away from their page, or back: those who wait at theirs come first meanwhile. From any thread."""
        for child in self._children:
            child.hold(away)

    def observe(self, observation: Mapping[str, Any]) -> Message:
        """Hear the person's message; all models hear it.

        A reply that is still pending is accepted first. ``episode_done`` ends the dialogue
        once it has been answered; without a text it ends it at once.
        """
        self._accept_default()
        message = Message(observation)
        text = message.get("text")
        if self._ending:
            self.reset()
        self._ending = bool(message.get("episode_done"))
        if text:
            self._begin()
            extra = {key: value for key, value in message.items() if key not in WITHHELD and value is not None}
            self._histories.say(Utterance("human", str(text), extra))
        self.observation = message
        return message

    def act(self, on_delay: Callable[[str], None] | None = None) -> Message:
        """Ask all models at once for the next line.

        Returns:
            A message with ``text`` (the reply that continues by default: the one that was chosen, or the first shown),
            ``text_candidates`` (the texts shown, in order, equal ones once) and ``candidates`` (dicts of
            ``protocol.records.Candidate``, one a model, in shown order, failed ones last). It holds plain values
            only. Called again before ``accept`` or ``observe``, it gives the same message.

        Args:
            on_delay: gets a sentence for the person whenever a model is late, failed or blank and is asked again, and
                when its server is out.

        Raises:
            ModelFailed: when a model was silent or broke after all retries, or when blank replies leave fewer than
                two to compare (of several). What was said is kept, and ``act`` may be called again.
            NothingToAnswer: when nothing has been said yet.
        """
        if self._pending is not None:
            return self._pending
        if self._ending and not (self.observation or {}).get("text"):
            self.reset()
            return Message({"id": self.id, "episode_done": True})
        chooses = self._choose and at_terminal(self.observation)
        if not self._histories.dialogue:
            raise NothingToAnswer("nothing has been said yet: give the Bot Speaker a message with observe() first")
        answers = ask_all(
            self._children,
            self._histories.of_models,
            timeout_s=self._pool.timeout_s,
            retries=self._pool.retries,
            on_delay=print if chooses and on_delay is None else on_delay,
            objections=self._objections(),
        )
        self._must_suffice(answers)
        self._pending = self._message(answers)
        if chooses and len(cards := shown_cards(self._candidates)) > 1:
            card = choose(cards, names=self._with_names)
            self._chosen = card.candidate_id
            self._pending.force_set("text", card.text)
        self._turn += 1
        return self._pending

    def recall(self, candidates: Sequence[Candidate]) -> None:
        """What :meth:`act` had given for the next line, where it is known already: no model is asked.

        Args:
            candidates: of every model, in shown order, as they were recorded.

        Raises:
            ValueError: they are not those of the models that speak here.
        """
        if sorted(candidate.model for candidate in candidates) != sorted(self._models):
            raise ValueError(
                f"recorded are replies of {', '.join(candidate.model for candidate in candidates)}, but "
                f"{', '.join(self._models)} speak here"
            )
        text_of = {candidate.model: candidate.text for candidate in candidates}
        self._replies = [text_of[model] for model in self._models]
        self._pending = self._message_of(candidates)
        self._turn += 1

    def accept(self, candidate_id: str | None = None, *, text: str | None = None) -> str:
        """Say what continues the dialogue, a candidate or a written text.

        With a shared history every model hears it as its own words. With independent ones that is so of a written
        text only: after a candidate, which is then the visible reply, every model goes on with its own.

        A written text needs no preceding ``act``: it is then an opening that the Bot Speaker is given.

        Returns:
            The line that was added to the dialogue, as it was shown.

        Raises:
            UnknownCandidate: when ``candidate_id`` is none of this turn's, or failed.
            ValueError: unless exactly one of the two is given, or when the text is blank.
        """
        if (candidate_id is None) == (text is None):
            raise ValueError("accept() takes either a candidate_id or a text")
        line = str(text) if candidate_id is None else card_of(self._candidates, candidate_id).text
        if is_blank(line):
            raise ValueError("a text that continues the dialogue cannot be blank")
        self._begin()
        replies = self._taken_replies()
        if candidate_id is not None and self._histories.independent:
            self._histories.go_on(replies, visible=line)
        else:
            self._histories.say(Utterance("bot", line))
        return line

    def accept_all(self) -> None:
        """Every model goes on with its own reply, and none is chosen: ``dialogue`` gets no line.

        Raises:
            ValueError: with a shared history, or when no reply is pending.
        """
        if not self._histories.independent:
            raise ValueError("accept_all() needs independent histories; with a shared one, accept() a candidate")
        if self._pending is None:
            raise ValueError("accept_all() needs replies: call act() first")
        self._histories.go_on(self._taken_replies(), visible=None)

    def self_observe(self, message: Mapping[str, Any]) -> None:
        """ParlAI's way to say what continues: its worlds call it for openers and after a batch."""
        text = message.get("text")
        if self._pending is not None and text == self._pending["text"]:
            self._accept_default()
        elif text is not None:
            self.accept(text=str(text))

    def shutdown(self) -> None:
        """End the model threads, if this agent started them."""
        super().shutdown()
        if self._owner:
            self._pool.close()

    def _accept_default(self) -> None:
        """What continues the dialogue where nobody chose: the right answer if it is known, else the first reply shown."""
        if self._pending is None:
            return
        shown = str(self._pending["text"])
        chance = random.Random(f"label|{self._seed}|{self.dialogue}")
        line = said_for(self.observation or {}, shown, self._use_reply, chance)
        if line is None:
            self._taken_replies()
        elif line == shown or is_blank(line):
            self.accept(self._chosen or shown_cards(self._candidates)[0].candidate_id)
        else:
            self.accept(text=line)

    def _taken_replies(self) -> list[str]:
        replies, self._replies = self._replies, []
        self._pending, self._candidates, self._chosen = None, [], ""
        return replies

    def _must_suffice(self, answers: Sequence[Answer]) -> None:
        """Blank replies may be left out as long as there is something to compare."""
        silent = [model for model, answer in zip(self._models, answers, strict=True) if answer.failed]
        if len(answers) - len(silent) < min(2, len(answers)):
            blank = [answer.info for answer in answers if answer.failed]
            if all(info is not None and info.finish_reason == "length" for info in blank):
                ran_out = Problem("its tokens ran out before any text of its reply", try_=(OUT_OF_TOKENS.sentence,))
                raise ModelFailed(silent, ran_out, mends=[OUT_OF_TOKENS])
            why = "; ".join(dict.fromkeys(answer.blocked for answer in answers if answer.blocked))
            raise ModelFailed(silent, f"no reply that may be shown: {why}" if why else "no text in any of its replies")

    def _objections(self) -> Objections:
        names, presenter = list(self._pool.specs), self._presenter
        return Objections(presenter.refuse, lambda text: presenter.doubt(text, names), presenter.ask_again)

    def _message(self, answers: Sequence[Answer]) -> Message:
        names = list(self._pool.specs)
        pairs = zip(self._models, answers, strict=True)
        each = [to_candidate(model, answer, names, self._presenter) for model, answer in pairs]
        self._replies = [candidate.text for candidate in each]
        return self._message_of(lay_out(each, self._order.of_turn(self._turn), merge=not self._side_by_side))

    def _message_of(self, candidates: Sequence[Candidate]) -> Message:
        self._candidates = list(candidates)
        texts = [candidate.text for candidate in shown_cards(self._candidates)]
        return Message(
            {
                "id": self.id,
                "text": texts[0],
                "text_candidates": texts,
                "candidates": [candidate.model_dump() for candidate in self._candidates],
                "episode_done": False,
            }
        )


def _lines(utterances: Sequence[Utterance]) -> list[Line]:
    return [(utterance.speaker, utterance.text) for utterance in utterances]


def _one_of(kind: Any, name: str, value: str) -> Any:
    """``value``, which must be one of the literals of ``kind``."""
    if value not in get_args(kind):
        raise ValueError(f"{name} must be {' or '.join(get_args(kind))}, not “{value}”")
    return value
