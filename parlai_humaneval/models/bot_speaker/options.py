"""The Bot Speaker on ParlAI's command line: its options, and the models that they name."""

from __future__ import annotations

from typing import get_args

from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser
from pydantic import ValidationError

from parlai_humaneval._util.errors import value_problem
from parlai_humaneval.allocation.groups import History, Order
from parlai_humaneval.display.appearance import Emoji
from parlai_humaneval.display.filtering import FilterError
from parlai_humaneval.display.presenter import Presenter
from parlai_humaneval.display.settings import AppearanceSetting, Filtering, ReplyLooks, presenter_of
from parlai_humaneval.display.vocabulary import VocabularyError
from parlai_humaneval.models.agent.dialogue_agent import add_use_reply
from parlai_humaneval.models.pool.breaker import OUTAGE_S
from parlai_humaneval.models.pool.loaded import LoadedModels
from parlai_humaneval.models.workers.placement import PlacedModels
from parlai_humaneval.models.zoo.entries import ZooError, load_zoo, resolve


def add_speaker_args(parser: ParlaiParser) -> ParlaiParser:
    """``--models`` is needed; the models' own options come from the zoo files."""
    group = parser.add_argument_group("Bot Speaker arguments")
    group.add_argument(
        "--models", type=str, default=None, help="Names from the zoo, comma separated, e.g. eliza,retrieval"
    )
    group.add_argument(
        "--zoo", type=str, default=None, help="Zoo files of your own besides those packaged, comma separated"
    )
    group.add_argument("--seed", type=int, default=0, help="Decides the order in which replies are shown")
    group.add_argument(
        "--history",
        type=str,
        choices=get_args(History),
        default="shared",
        help="Whether a model hears what continued as its own words, or its own replies only",
    )
    group.add_argument(
        "--order",
        type=str,
        choices=get_args(Order),
        default="balanced",
        help="Whether the replies change places from turn to turn",
    )
    group.add_argument("--model-timeout", type=float, default=60.0, help="Seconds after which a model is asked again")
    group.add_argument(
        "--model-retries", type=int, default=2, help="How often a late, failing or blank model is asked again"
    )
    group.add_argument(
        "--model-outage", type=float, default=OUTAGE_S, help="Seconds to wait for a model's server that is not there"
    )
    group.add_argument(
        "--choose",
        type="bool",
        default=True,
        help="In `parlai interactive`, choose each time which reply goes on; false: the first one does",
    )
    group.add_argument("--show-models", type="bool", default=False, help="Show there which model gave each reply, too")
    _add_reply_args(parser)
    return add_use_reply(parser)


def _add_reply_args(parser: ParlaiParser) -> None:
    """How replies are shown: those of :class:`ReplyLooks`, ``--filter-words-file`` for ``filter_words_file`` and so on."""
    group = parser.add_argument_group("How the Bot Speaker's replies are shown")
    for name, kind in {"appearance": AppearanceSetting, "emoji": Emoji, "filter": Filtering}.items():
        default = ReplyLooks.model_fields[name].default
        group.add_argument(_option(name), type=str, choices=get_args(kind), default=default, help=_what(name))
    group.add_argument(_option("max_chars"), type=int, default=0, help=f"{_what('max_chars')} Here 0 is any length.")
    group.add_argument(
        _option("hide_ai_talk"), type="bool", default=False, help="Whether “As an AI language model” is masked"
    )
    group.add_argument(
        _option("ask_again"), type=int, default=0, help="How often a model is asked again whose reply gives it away"
    )
    for name in ("disclosures_file", "disclosure_classifier", "filter_words_file", "filter_classifier"):
        group.add_argument(_option(name), type=str, default="", help=_what(name))
    for name in ("disclosure_threshold", "filter_threshold"):
        group.add_argument(_option(name), type=float, default=0.5, help=_what(name))


def _option(name: str) -> str:
    """ParlAI has many options; ours of replies say so, so that a model's own ``filter`` cannot be meant."""
    return "--reply-" + name.replace("_", "-")


def _what(name: str) -> str:
    return ReplyLooks.model_fields[name].description or ""


def presenter_from(opt: Opt, pool: LoadedModels) -> Presenter:
    """What shows the replies, by the options of :func:`add_speaker_args`.

    Raises:
        ZooError: options that do not go together, or name a file or function that cannot be used.
    """
    given = {name: opt.get("reply_" + name) for name in ReplyLooks.model_fields}
    looks = {name: value for name, value in given.items() if value is not None}
    looks["max_chars"] = given["max_chars"] or None
    try:
        settings = ReplyLooks.model_validate(looks)
        options = (spec.options for spec in pool.specs.values())
        again = int(opt.get("reply_ask_again") or 0)
        return presenter_of(settings, options, compared=False, ask_again=again, names=pool.specs)
    except ValidationError as error:
        problem = error.errors()[0]
        place = "".join(_option(str(part)) + ": " for part in problem["loc"])
        raise ZooError(value_problem(problem), where=place.removesuffix(": ")) from error
    except (FilterError, VocabularyError) as error:
        raise ZooError(error) from error


def pool_of(opt: Opt) -> tuple[list[str], LoadedModels]:
    """The models that ``--models`` names, and the pool of them, loaded.

    Raises:
        ZooError: when none is named, one is unknown, or one cannot be loaded.
    """
    names = [name.strip() for name in (opt.get("models") or "").split(",") if name.strip()]
    zoo = load_zoo(more=[part.strip() for part in (opt.get("zoo") or "").split(",") if part.strip()])
    if not names:
        raise ZooError(
            "no model is named",
            try_=f"say which models speak, for example --models eliza,retrieval; there are {', '.join(zoo)}",
        )
    pool = PlacedModels(
        resolve(list(dict.fromkeys(names)), zoo),
        timeout_s=float(opt.get("model_timeout") or 60.0),
        retries=int(opt.get("model_retries", 2)),
        outage_s=float(opt.get("model_outage", OUTAGE_S)),
        seed=int(opt.get("seed") or 0),
    )
    return names, pool.load()
