"""The Bot Speaker: one partner to the person, several models behind it. They share one history (Ma et al. 2023, §2.2),
or each hears the person and its own replies only (their ablation of §4.5, and side-by-side comparison)."""

from __future__ import annotations

import itertools
import random
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, get_args

from parlai.core.agents import Agent
from parlai.core.loader import register_agent
from parlai.core.message import Message
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser
from parlai.utils.strings import colorize
from pydantic import ValidationError

from parlai_humaneval._util.errors import Problem, value_problem
from parlai_humaneval.allocation.groups import History, Order, shown_order
from parlai_humaneval.dialogues.files import LOCAL_HUMANS
from parlai_humaneval.display import ReplyDisplay
from parlai_humaneval.display.images import IMAGES_FIELD, ImageStore
from parlai_humaneval.display.presenter import AS_SAID, Presented, Presenter, presenter_of
from parlai_humaneval.display.text import is_blank
from parlai_humaneval.models.agent.dialogue_agent import Line, UseReply, add_options, said_for, seed_of
from parlai_humaneval.models.backends.server_refusals import OUT_OF_TOKENS
from parlai_humaneval.models.bot_speaker.growth import Growth
from parlai_humaneval.models.pool.asking import Answer, ModelFailed, Objections, ask_all
from parlai_humaneval.models.pool.breaker import OUTAGE_S
from parlai_humaneval.models.pool.loading import WITHHELD, LoadedModels, Utterance
from parlai_humaneval.models.workers.hosts import ModelPlacement
from parlai_humaneval.models.zoo.entries import ZooError, load_zoo, resolve
from parlai_humaneval.schema.records import Candidate


class UnknownCandidate(KeyError):
    """An id that is not among the candidates of this turn, or that of one that was not shown."""

    def __str__(self) -> str:
        return str(self.args[0])


def to_candidate(
    model: str,
    answer: Answer,
    names: Sequence[str],
    presenter: Presenter = AS_SAID,
    candidate_id: str | None = None,
    images: ImageStore | None = None,
) -> Candidate:
    """An answer as it may be shown, under the given id or one that cannot be guessed. ``names``: zoo names to mask.
    ``images``: where its pictures are kept; None: it has none."""
    shown = Presented("") if answer.failed else presenter.present(answer.text, names)
    given = [replace(image, alt=presenter.present(image.alt, names).text) for image in answer.images]
    kept, left_out = ([], []) if images is None or answer.failed else images.keep_all(given)
    return Candidate(
        candidate_id=candidate_id or secrets.token_hex(8),
        model=model,
        text=shown.text,
        position=0,
        latency_s=round(answer.latency_s, 4),
        first_token_s=None if answer.first_token_s is None else round(answer.first_token_s, 4),
        raw_text=answer.text if answer.text != shown.text else None,
        masks=shown.masks,
        changes=shown.changes,
        failed=answer.failed,
        blocked=answer.blocked,
        asked_again=list(answer.withdrawn),
        info=answer.info,
        images=kept,
        images_left_out=left_out,
    )


def lay_out(candidates: Sequence[Candidate], order: Sequence[int], *, merge: bool) -> list[Candidate]:
    """Give each candidate its place, in the ``order`` of showing. With ``merge``, one with the text of an
    earlier card is ``same_as`` that card. Failed ones come last, with position 0."""
    in_order = [candidates[index] for index in order]
    placed: list[Candidate] = []
    cards: dict[str, Candidate] = {}
    for candidate in (c for c in in_order if not c.failed):
        key = " ".join([*candidate.text.split(), *(image.digest for image in candidate.images)])
        key = key if merge else candidate.candidate_id
        card = cards.get(key)
        if card is None:
            cards[key] = candidate.model_copy(update={"position": len(cards) + 1})
            placed.append(cards[key])
        else:
            placed.append(candidate.model_copy(update={"position": card.position, "same_as": card.candidate_id}))
    return placed + [candidate.model_copy(update={"position": 0}) for candidate in in_order if candidate.failed]


def shown_cards(candidates: Sequence[Candidate]) -> list[Candidate]:
    cards = (candidate for candidate in candidates if not candidate.failed and candidate.same_as is None)
    return sorted(cards, key=lambda candidate: candidate.position)


def card_of(candidates: Sequence[Candidate], candidate_id: str) -> Candidate:
    by_id = {candidate.candidate_id: candidate for candidate in candidates}
    candidate = by_id.get(candidate_id)
    if candidate is None:
        raise UnknownCandidate(f"no candidate of this turn has the id “{candidate_id}”")
    if candidate.failed:
        raise UnknownCandidate(f"the candidate “{candidate_id}” gave only blank replies and was not shown")
    return by_id[candidate.same_as] if candidate.same_as is not None else candidate


def standing_for(candidates: Sequence[Candidate], candidate_id: str) -> list[str]:
    """Ids of all candidates that a card shows, its own first: all of them are credited when the card is chosen."""
    card = card_of(candidates, candidate_id).candidate_id
    return [candidate.candidate_id for candidate in candidates if card in (candidate.candidate_id, candidate.same_as)]


QUESTION = "Which reply should come next? Type a number from 1 to {most}, or press Enter for the first:"
AGAIN = "Please type a number from 1 to {most}, or press Enter for the first reply."


def choose(cards: Sequence[Candidate], *, names: bool) -> Candidate:
    """Show the replies, numbered, and have one chosen; ``names``: with the models'. The end of input takes the first."""
    for number, card in enumerate(cards, start=1):
        lead = f"[{number}] {card.model}: " if names else f"[{number}] "
        print(colorize(lead, "id") + card.text.replace("\n", "\n" + " " * len(lead)))
    while True:
        try:
            typed = input(colorize(QUESTION.format(most=len(cards)), "text") + " ").strip()
        except EOFError:
            typed = ""
        if not typed:
            return cards[0]
        if typed.isdecimal() and 1 <= int(typed) <= len(cards):
            return cards[int(typed) - 1]
        print(AGAIN.format(most=len(cards)))


__all__ = ["BotSpeakerAgent", "NothingToAnswer", "UnknownCandidate", "standing_for"]


class NothingToAnswer(RuntimeError):
    """``act`` was called before anything was said."""


@register_agent("parlai_humaneval/bot_speaker")
class BotSpeakerAgent(Agent):
    """One partner to the person and several models behind it: ``observe(message)`` → ``act()`` → ``accept(…)``, again
    and again.

    An ``observe()`` without ``accept()`` accepts the first reply shown, the one chosen at a terminal, or the right
    answer that the message had (``--use-reply``), so that ParlAI's own worlds can use the agent. Each later dialogue
    has a seed that follows from the first and its number; clones number their dialogues together. Every model has one
    candidate in each turn. Those of equal texts share a card (``same_as``); one with blank replies only is ``failed``:
    no card, position 0. Not for two threads at once.
    """

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        # ParlAI has many options; ours of replies say so, so that a model's own “filter” cannot be meant.
        known = {f"reply_{name}": {"help": field.description} for name, field in ReplyDisplay.model_fields.items()}
        known["reply_max_chars"] = {
            "help": f"{ReplyDisplay.model_fields['max_chars'].description} Use 0 to allow any length."
        }
        del known["reply_hide_ai_talk"]
        add_options(parser, "bot_speaker", {**known, "model_outage": {"default": OUTAGE_S}})
        return add_options(parser, "dialogue")

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        if shared is not None:
            self.opt = Opt(opt)  # as a DialogueAgent's
        super().__init__(opt, shared)
        self.id = "BotSpeaker"
        self._owner = shared is None
        self._seed = int(opt.get("seed") or 0)
        self._independent = _one_of(History, "history", opt.get("history") or "shared") == "independent"
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
        self._images: ImageStore | None = (shared or {}).get("images")  # of the replies, where they may have pictures
        self._personas: Mapping[str, Sequence[str]] = (shared or {}).get("personas", {})
        self._numbers: Iterator[int] = (shared or {}).get("numbers") or itertools.count()
        self.reset()

    def share(self) -> dict[str, Any]:
        mine = {"models": self._models, "pool": self._pool, "personas": self._personas, "presenter": self._presenter}
        return {**super().share(), **mine, "numbers": self._numbers, "images": self._images}

    @property
    def dialogue(self) -> list[Line]:
        """What was said, as ``(speaker, text)``, speaker ``"human"`` or ``"bot"``; of replies, those that were accepted."""
        return _lines(self._dialogue)

    def dialogue_of(self, model: str) -> list[Line]:
        """What this model (against itself: the first of the two) has heard and said."""
        if model not in self._models:
            raise ZooError(f"“{model}” does not speak in this conversation, only {', '.join(self._models)}")
        return _lines(self._heard[self._models.index(model)])

    def reset(self) -> None:
        super().reset()
        self._pending: Message | None = None
        self._candidates: list[Candidate] = []  # of the pending turn, as shown
        self._replies: list[Utterance | None] = []  # of the pending turn, in the order of the models
        self._chosen = ""  # the candidate of the pending turn that goes on by default
        self._turn = 0
        self._ending = False
        self._prepare(self._seed)

    def _prepare(self, seed: int) -> None:
        self._begun = False
        self._order = partial(shown_order, self._order_kind, len(self._models), seed)
        self._children = self._pool.children(self._models, seed, self._personas)
        self._dialogue: list[Utterance] = []  # as the person sees it
        # What each model has heard and said: each line is heard when it is said.
        self._heard = [[] if self._independent else self._dialogue for _ in self._children]

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
        return any(child.absent() for child in self._children)

    def interrupted(self) -> bool:
        return any(child.interrupted() for child in self._children)

    def hold(self, away: bool) -> None:
        """The person is away from their page, or back: those who wait at theirs come first meanwhile. From any thread."""
        for child in self._children:
            child.hold(away)

    def observe(self, observation: Mapping[str, Any]) -> Message:
        """All models hear the person's message. ``episode_done`` ends the dialogue after the answer, or at once without
        a text."""
        self._accept_default()
        message = Message(observation)
        text = message.get("text")
        if self._ending:
            self.reset()
        self._ending = bool(message.get("episode_done"))
        if text:
            self._begin()
            extra = {key: value for key, value in message.items() if key not in WITHHELD and value is not None}
            self._say(Utterance("human", str(text), extra))
        self.observation = message
        return message

    def growth(self) -> Growth:
        """What the replies of the next turn grow in, for :meth:`act` to fill."""
        return Growth(self._order(self._turn), self._presenter, list(self._pool.specs))

    def act(self, on_delay: Callable[[str], None] | None = None, growth: Growth | None = None) -> Message:
        """Ask all models at once for the next line; called again before ``accept`` or ``observe``, it gives the same
        message.

        The message holds plain values only: ``text`` (the reply that continues by default), ``text_candidates`` (those
        shown, equal ones once) and ``candidates`` (dicts of :class:`Candidate`, one a model, in shown order, failed
        ones last). ``on_delay`` gets a sentence for the person whenever a model is late, failed or blank and is asked
        again, and when its server is out. ``growth`` hears the replies while they are written.

        Raises:
            ModelFailed: a model gave nothing after all retries, or fewer than two of several are left. ``act`` may be
            called again.
            NothingToAnswer: when nothing has been said yet.
        """
        if self._pending is not None:
            return self._pending
        if self._ending and not (self.observation or {}).get("text"):
            self.reset()
            return Message({"id": self.id, "episode_done": True})
        asked = (self.observation or {}).get("id") in LOCAL_HUMANS  # ParlAI's agent for people asked somebody here
        chooses = self._choose and asked and sys.stdin is not None and sys.stdin.isatty()
        if not self._dialogue:
            raise NothingToAnswer("nothing has been said yet: give the Bot Speaker a message with observe() first")
        names, presenter = list(self._pool.specs), self._presenter
        answers = ask_all(
            self._children,
            self._heard,
            timeout_s=self._pool.timeout_s,
            retries=self._pool.retries,
            on_delay=print if chooses and on_delay is None else on_delay,
            objections=Objections(presenter.refuse, lambda text: presenter.doubt(text, names), presenter.ask_again),
            listener=growth,
        )
        self._must_suffice(answers)
        each = [
            to_candidate(
                model, answer, names, presenter, None if growth is None else growth.candidate_id(place), self._images
            )
            for place, (model, answer) in enumerate(zip(self._models, answers, strict=True))
        ]
        self._replies = list(map(self._said, each))
        cards = lay_out(each, self._order(self._turn), merge=not (self._independent and self._order_kind == "fixed"))
        self._pending = self._message_of(cards)
        if chooses and len(cards := shown_cards(self._candidates)) > 1:
            card = choose(cards, names=self._with_names)
            self._chosen = card.candidate_id
            self._pending.force_set("text", card.text)
        self._turn += 1
        return self._pending

    def recall(self, candidates: Sequence[Candidate]) -> None:
        """What :meth:`act` had given, where it is recorded already; a ValueError for other models' ``candidates``."""
        if sorted(candidate.model for candidate in candidates) != sorted(self._models):
            raise ValueError(
                f"the recorded replies are from {', '.join(candidate.model for candidate in candidates)}, but "
                f"{', '.join(self._models)} speak here"
            )
        said = {candidate.model: self._said(candidate) for candidate in candidates}
        self._replies = [said[model] for model in self._models]
        self._pending = self._message_of(candidates)
        self._turn += 1

    def accept(self, candidate_id: str | None = None, *, text: str | None = None) -> str:
        """Say what continues the dialogue, a candidate or a written text, and return the line as it was shown. With
        independent histories every model goes on with its own reply after a candidate. A written text needs no
        preceding ``act``.

        Raises:
            UnknownCandidate: when ``candidate_id`` is none of this turn's, or failed.
            ValueError: unless exactly one of the two is given, or when the text is blank.
        """
        if (candidate_id is None) == (text is None):
            raise ValueError("accept() takes either a candidate_id or a text")
        chosen = None if candidate_id is None else self._said(card_of(self._candidates, candidate_id))
        line = chosen.text if chosen is not None else str(text or "")
        if is_blank(line):
            raise ValueError("a text that continues the dialogue cannot be blank")
        goes_on = chosen or Utterance("bot", line)
        self._begin()
        replies = self._taken_replies()
        if candidate_id is not None and self._independent:
            self._go_on(goes_on, replies)
        else:
            self._say(goes_on)
        return line

    def accept_all(self) -> None:
        """Every model goes on with its own reply, and none is chosen; a ValueError with a shared history."""
        if not self._independent:
            raise ValueError("accept_all() needs independent histories; with a shared one, accept() a candidate")
        if self._pending is None:
            raise ValueError("accept_all() needs replies: call act() first")
        self._go_on(None, self._taken_replies())

    def self_observe(self, message: Mapping[str, Any]) -> None:
        """ParlAI's way to say what continues: its worlds call it for openers and after a batch."""
        text = message.get("text")
        if self._pending is not None and text == self._pending["text"]:
            self._accept_default()
        elif text is not None:
            self.accept(text=str(text))

    def shutdown(self) -> None:
        super().shutdown()
        if self._owner:
            self._pool.close()

    def _accept_default(self) -> None:
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

    def _say(self, utterance: Utterance) -> None:
        """A line that the person and every model hear; the Bot Speaker's are everybody's own words."""
        self._go_on(utterance, [utterance] * len(self._children))

    def _go_on(self, visible: Utterance | None, said: Sequence[Utterance | None]) -> None:
        """The dialogue goes on with ``visible``, and each model with its own of what is ``said``, if anything."""
        if visible is not None:
            self._dialogue.append(visible)
        for child, heard, line in zip(self._children, self._heard, said, strict=True):
            if line is not None and self._independent:
                heard.append(line)
            child.hear(heard)

    def _taken_replies(self) -> list[Utterance | None]:
        replies = self._replies
        self._pending, self._candidates, self._replies, self._chosen = None, [], [], ""
        return replies

    def _said(self, candidate: Candidate) -> Utterance | None:
        """A reply as its line of the dialogue; None: it is empty."""
        images = self._images.seen(candidate.images) if self._images is not None else ()
        return Utterance("bot", candidate.text, {IMAGES_FIELD: images} if images else {}) if candidate.text else None

    def _must_suffice(self, answers: Sequence[Answer]) -> None:
        silent = [model for model, answer in zip(self._models, answers, strict=True) if answer.failed]
        if len(answers) - len(silent) < min(2, len(answers)):
            blank = [answer.info for answer in answers if answer.failed]
            if all(info is not None and info.finish_reason == "length" for info in blank):
                ran_out = Problem("it ran out of tokens before any text of its reply", try_=(OUT_OF_TOKENS.sentence,))
                raise ModelFailed(silent, ran_out, mends=[OUT_OF_TOKENS])
            why = "; ".join(dict.fromkeys(answer.blocked for answer in answers if answer.blocked))
            raise ModelFailed(silent, f"no reply that may be shown: {why}" if why else "no text in any of its replies")

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
    if value not in get_args(kind):
        raise ValueError(f"{name} must be {' or '.join(get_args(kind))}, not “{value}”")
    return value


def presenter_from(opt: Opt, pool: LoadedModels) -> Presenter:
    given = {name: opt.get("reply_" + name) for name in ReplyDisplay.model_fields}
    looks = {name: value for name, value in given.items() if value is not None}
    looks["max_chars"] = given["max_chars"] or None
    try:
        settings = ReplyDisplay.model_validate(looks)
        options = (spec.options for spec in pool.specs.values())
        again = int(opt.get("reply_ask_again") or 0)
        return presenter_of(settings, options, compared=False, ask_again=again, names=pool.specs)
    except ValidationError as error:
        problem = error.errors()[0]
        place = ": ".join(f"--reply-{part}".replace("_", "-") for part in problem["loc"])
        raise ZooError(value_problem(problem), where=place) from error


def pool_of(opt: Opt) -> tuple[list[str], LoadedModels]:
    names = [name.strip() for name in (opt.get("models") or "").split(",") if name.strip()]
    zoo = load_zoo(more=[part.strip() for part in (opt.get("zoo") or "").split(",") if part.strip()])
    if not names:
        raise ZooError(
            "no model is named",
            try_=f"name the models that speak, for example --models eliza,retrieval; known models: {', '.join(zoo)}",
        )
    pool = ModelPlacement(
        resolve(list(dict.fromkeys(names)), zoo),
        timeout_s=float(opt.get("model_timeout") or 60.0),
        retries=int(opt.get("model_retries", 2)),
        outage_s=float(opt.get("model_outage", OUTAGE_S)),
        seed=int(opt.get("seed") or 0),
    )
    return names, pool.load()
