"""A small base for agents that compute their reply from the dialogue alone.

As with ParlAI's TorchAgent, the observation that ``observe`` returns carries all that a
reply needs, so that ``batch_act`` of any clone can answer for all of them, and
``self_observe`` tells a clone what it was taken to have said.

It keeps a dialogue as TorchAgent does, too. Where the messages carry the right answers, as in ``parlai eval_model``, the
dialogue goes on with those and not with its own (``--use-reply``); and after the answer to a message with
``episode_done`` it is forgotten.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from parlai.core.agents import Agent
from parlai.core.message import Message
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser

from parlai_humaneval.dialogues.personas import split_persona
from parlai_humaneval.display.thoughts import without_thoughts

Speaker = Literal["human", "bot"]
Line = tuple[Speaker, str]
"""Who spoke, seen from the Bot Speaker, and what."""

UseReply = Literal["label", "model", "none"]
"""What a dialogue goes on with: the right answer where there is one, the agent's own, or none. TorchAgent's words."""

DIALOGUE_FIELD = "dialogue"
SEED_FIELD = "dialogue_seed"
PERSONA_FIELD = "persona"
PARTNER_PERSONA_FIELD = "partner_persona"
RAW_FIELD = "reply_raw_text"
"""Where a message carries all that a model wrote, if its ``text`` leaves the model's thoughts out."""


class DialogueAgent(Agent):
    """Keeps both sides of one dialogue; a subclass says what comes next in :meth:`reply`.

    Replies depend on the dialogue and the seed only, so that the same dialogue under the same seed
    gets the same answer in any process, batch or order. :meth:`reset` gives the next dialogue a seed that follows from
    the first: ``parlai self_chat`` would else hear the same dialogue each time.

    Persona lines before the person's first words (``your persona: …``) are not taken for something said: they
    are kept in ``persona`` and ``partner_persona`` and travel with every observation.
    """

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        """``--use-reply``, which every agent that keeps a dialogue has."""
        return add_use_reply(parser)

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        if shared is not None:
            self.opt = Opt(
                opt
            )  # ParlAI would copy it through and through, and note in it where, for every conversation
        super().__init__(opt, shared)
        self.observation: Message | None = None
        self.id = type(self).__name__.removesuffix("Agent")
        self.dialogue: list[Line] = []
        self.persona: tuple[str, ...] = ()
        self.partner_persona: tuple[str, ...] = ()
        self.dialogue_seed = self._first_seed = int(opt.get("seed") or 0)  # a subclass may have a set_seed of its own
        self._ended = 0
        self.use_reply: UseReply = opt.get("use_reply") or "label"

    def set_seed(self, seed: int) -> None:
        """Give this conversation its own chance: two conversations need not get equal answers to “Hi!”."""
        self.dialogue_seed = self._first_seed = seed
        self._ended = 0

    def reply(self, dialogue: Sequence[Line], rng: random.Random) -> str:
        """The next line of the bot. ``dialogue`` is never empty; ``rng`` is seeded for this turn."""
        raise NotImplementedError

    def observe(self, observation: Message) -> Message:
        """Hear the partner; after a dialogue that is over, the first words of the next one."""
        if _is_over(self.observation):  # it was not answered
            self._forget()
        text = self._without_persona(str(observation.get("text") or ""))
        if text:
            self.dialogue.append(("human", text))
        known = {
            DIALOGUE_FIELD: tuple(self.dialogue),
            SEED_FIELD: self.dialogue_seed,
            PERSONA_FIELD: self.persona,
            PARTNER_PERSONA_FIELD: self.partner_persona,
        }
        self.observation = Message({**observation, **known})
        return self.observation

    def _without_persona(self, text: str) -> str:
        if any(speaker == "human" for speaker, _ in self.dialogue):
            return text  # later, such a line is the person's own
        heard = split_persona(text)
        self.persona += heard.own
        self.partner_persona += heard.partner
        return heard.said

    def self_observe(self, message: Message) -> None:
        """Hear what was said in this agent's name, and forget a dialogue that is over with it."""
        if _is_over(self.observation):
            self._forget()
            self.observation = None
            return
        text = said_for(self.observation or {}, message.get("text"), self.use_reply, self._chance_of_label())
        if text is not None:
            self.dialogue.append(("bot", text))

    def batch_act(self, observations: Sequence[Message]) -> list[Message]:
        """One reply for each observation, of whichever clones; no text for those that ask nothing."""
        asking = [observation for observation in observations if not _asks_nothing(observation)]
        answers = iter(self._answers(asking) if asking else [])
        return [
            Message({"id": self.id, "episode_done": False}) if _asks_nothing(observation) else next(answers)
            for observation in observations
        ]

    def act(self) -> Message:
        """Reply to the last observation, and take the reply as said."""
        message = self.batch_act([self.observation or Message({DIALOGUE_FIELD: (), SEED_FIELD: self.dialogue_seed})])[0]
        self.self_observe(message)
        return message

    def reset(self) -> None:
        """Forget the dialogue and the personas; the next dialogue has a chance of its own."""
        super().reset()
        if self.dialogue:
            self._ended += 1
            self.dialogue_seed = seed_of(self._first_seed, self._ended)
        self._forget()

    def _forget(self) -> None:
        self.dialogue = []
        self.persona = self.partner_persona = ()

    def _chance_of_label(self) -> random.Random:
        """Between several right answers: of the dialogue, so that it is the same in any batch."""
        return random.Random(f"label|{self.dialogue_seed}|{self.dialogue}")

    def _answers(self, observations: Sequence[Message]) -> list[Message]:
        return [self._answer(observation) for observation in observations]

    def _answer(self, observation: Message) -> Message:
        return spoken(self.id, self.reply(_heard(observation), chance_of(observation)))


def spoken(agent_id: str, written: str, **fields: Any) -> Message:
    """The message of an agent that wrote this: its thoughts are not among what it said."""
    text = without_thoughts(written)
    raw = {} if text == written else {RAW_FIELD: written}
    return Message({"id": agent_id, "text": text, **raw, **fields, "episode_done": False})


def seed_of(first_seed: int, number: int) -> int:
    """The seed of a dialogue: the one that was given for the first, number 0, and others for those after it."""
    return random.Random(f"dialogue|{first_seed}|{number}").getrandbits(31) if number else first_seed


def add_use_reply(parser: ParlaiParser) -> ParlaiParser:
    """The option ``--use-reply``."""
    group = parser.add_argument_group("Arguments of agents that keep a dialogue")
    group.add_argument(
        "--use-reply",
        type=str,
        choices=get_args(UseReply),
        default="label",
        help="What the dialogue goes on with: the task's right answer where it gives one, the agent's own, or neither",
    )
    return parser


def said_for(
    observation: Mapping[str, Any], reply: str | None, use_reply: UseReply, chance: random.Random
) -> str | None:
    """What goes into the dialogue as an agent's answer to ``observation``; None: nothing does.

    Args:
        reply: what the agent itself said, if anything.
        chance: chooses between several right answers.
    """
    if use_reply == "none":
        return None
    labels = (observation.get("labels") or observation.get("eval_labels")) if use_reply == "label" else None
    return str(chance.choice(list(labels))) if labels else reply


def _is_over(observation: Mapping[str, Any] | None) -> bool:
    return bool(observation and observation.get("episode_done"))


def _asks_nothing(observation: Mapping[str, Any]) -> bool:
    """Whether ``observation`` ends a dialogue without a word: the end of input, or what fills up ParlAI's last batches."""
    return _is_over(observation) and observation.get("text") is None


def chance_of(observation: Message) -> random.Random:
    """The chance of the next reply: of the conversation's seed and the place in the dialogue, and of nothing else."""
    dialogue = _heard(observation)
    return random.Random(f"{observation[SEED_FIELD]}|{len(dialogue)}|{dialogue[-1][1]}")


def _heard(observation: Message) -> Sequence[Line]:
    return observation[DIALOGUE_FIELD] or (("human", ""),)
