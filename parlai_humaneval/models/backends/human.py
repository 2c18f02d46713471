"""A person as one of the models: the Wizard-of-Oz partner, an upper bound among the candidates.

Whoever opens the partners' link that a launch prints sees the dialogue from the bot's side, its persona included, and
writes the replies. Raters cannot tell: a person's reply is masked, shown and timed as any model's.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from parlai.core.loader import load_agent_module, register_agent
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser

from parlai_humaneval.models.backends.base import Heard, OutsideAgent, Said
from parlai_humaneval.models.backends.human_desk import offered_desk
from parlai_humaneval.models.zoo.entries import ModelSpec
from parlai_humaneval.models.zoo.files import make_importable

CONCURRENCY = 64
"""Conversations that may wait for people at once; each takes a thread that sleeps."""
PATIENCE_S = 360.0
"""Longer than the 300 s after which the pool asks again (``running`` in the zoo file): what a partner is writing then
stays in front of them."""
UNATTENDED_S = 120.0
"""A rater who waits for partners of whom none is there is not kept for longer."""
NEEDS_LAUNCH = (
    "A launch is needed: people write the replies on the partners' page of a launch, whose link `parlai-humaneval launch …` "
    "prints. Elsewhere, as in self-chats, there is nobody to ask."
)


@register_agent("parlai_humaneval/human")
class HumanAgent(OutsideAgent):
    """Its replies are written by people at the :class:`~parlai_humaneval.models.backends.human_desk.Desk` of a launch.

    Against itself in one conversation it gives one and the same reply while the two dialogues are equal.

    Raises:
        ValueError: outside of a launch.
    """

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        super().add_cmdline_args(parser, partial_opt)
        parser.set_defaults(concurrency=CONCURRENCY)
        group = parser.add_argument_group("Human arguments")
        group.add_argument(
            "--patience-s",
            type=float,
            default=PATIENCE_S,
            help="Seconds until a request that nobody answers is withdrawn",
        )
        group.add_argument(
            "--unattended-s",
            type=float,
            default=UNATTENDED_S,
            help="Seconds without any partner after which a conversation that waits for one is given up",
        )
        return parser

    @classmethod
    def lacks(cls, options: Mapping[str, Any], folder: Path) -> list[str]:
        """The desk, outside of a launch."""
        return [] if offered_desk() else [NEEDS_LAUNCH]

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        desk = offered_desk() if shared is None else shared["desk"]
        if desk is None:
            raise ValueError(NEEDS_LAUNCH)
        desk.used = True
        self._desk = desk
        self._patience_s = _seconds(opt, "patience_s", PATIENCE_S)
        self._unattended_s = _seconds(opt, "unattended_s", UNATTENDED_S)

    def share(self) -> dict[str, Any]:
        """The desk."""
        return {**super().share(), "desk": self._desk}

    def ask(self, heard: Heard) -> Said:
        """What a person writes. Raises what :meth:`Desk.ask` raises."""
        return Said(self._desk.ask(heard, patience_s=self._patience_s, unattended_s=self._unattended_s))

    def set_conversation(self, seed: int) -> None:
        """Which conversation this is: a person needs no other chance when they are asked again."""
        self.dialogue_seed = seed

    def partner_absent(self) -> bool:
        """Whether nobody is there to write."""
        return self._desk.partners() == 0

    def person_away(self, away: bool) -> None:
        """Whether the rater is away from their page: meanwhile, those who are there come first."""
        self._desk.hold(self.dialogue_seed, away)

    def leave(self) -> None:
        """The conversation is over: whoever was about to write for it need not."""
        self._desk.leave(self.dialogue_seed)


def is_person(spec: ModelSpec) -> bool:
    """Whether people write the replies of a model. An agent that cannot be imported is for its loading to complain of."""
    model = str(spec.options.get("model"))
    with suppress(Exception):  # a module may raise anything when it is imported
        make_importable(spec.folder)
        return issubclass(load_agent_module(model), HumanAgent)
    return False


def _seconds(opt: Opt, name: str, default: float) -> float:
    """An option that is a time. Raises ValueError where it is none."""
    value = opt.get(name)
    seconds = default if value is None else float(value)
    if not seconds > 0:
        raise ValueError(f"{name} must be a number of seconds over 0, not {value}")
    return seconds
