"""The Bot Speaker on ParlAI's command line: its options, and the models that they name."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser

from parlai_humaneval.models.pool import History, ModelPool, Order
from parlai_humaneval.models.zoo import ZooError, load_zoo, resolve, zoo_dir


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
    return parser


def pool_of(opt: Opt) -> tuple[list[str], ModelPool]:
    """The models that ``--models`` names, and the pool of them, loaded.

    Raises:
        ZooError: when none is named, one is unknown, or one cannot be loaded.
    """
    names = [name.strip() for name in (opt.get("models") or "").split(",") if name.strip()]
    zoo = load_zoo(_zoo_files(opt.get("zoo")))
    if not names:
        raise ZooError(f"say which models speak, for example --models eliza,retrieval; there are {', '.join(zoo)}")
    pool = ModelPool(
        resolve(list(dict.fromkeys(names)), zoo),
        timeout_s=float(opt.get("model_timeout") or 60.0),
        retries=int(opt.get("model_retries", 2)),
        seed=int(opt.get("seed") or 0),
    )
    return names, pool.load()


def _zoo_files(option: str | None) -> list[Path] | None:
    if not option:
        return None
    return [
        *sorted(zoo_dir().glob("*.yaml")),
        *(Path(part.strip()).expanduser() for part in option.split(",")),
    ]
