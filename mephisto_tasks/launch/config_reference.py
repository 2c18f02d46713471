"""The reference of settings: by topic, a line each; or one setting in full detail."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import yaml
from annotated_types import Ge, Gt, Le, Lt
from omegaconf import DictConfig, OmegaConf
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from mephisto_tasks.adapter import settings_model
from mephisto_tasks.config.names import BLUEPRINT, PLAIN_CONF, ROOT, meanings, no_setting, short_name
from mephisto_tasks.crowds.registry import places_in_words
from mephisto_tasks.launch import config
from parlai_humaneval._util.data_files import read_yaml
from parlai_humaneval.techniques.registry import technique

TOPICS: Mapping[str, Sequence[str]] = read_yaml(Path(__file__).with_name("topics.yaml"))
"""Topic → settings, and blocks of them, in the order in which they are shown."""
ELSE = "What raters are asked"  # the topic of all others
_SENTENCE_ENDS = re.compile(r"(?<=\.) (?=[A-Z`])")
_BOUNDS: dict[type, str] = {Ge: "from", Gt: "above", Le: "to", Lt: "below"}
_KINDS: dict[Any, str] = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}


class Setting(BaseModel):
    """One setting, as it is listed; every name is a key of the JSON for programs."""

    name: str  # as it is typed
    full_name: str  # as it is stored
    topic: str
    default: str  # with the conf that was named
    description: str
    allowed: str
    example: str

    @property
    def in_a_sentence(self) -> str:
        return _SENTENCE_ENDS.split(self.description.replace("\n", " "), 1)[0]


def list_settings(task: str, conf: str = PLAIN_CONF) -> list[Setting]:
    """All settings of a task, by topic, with the defaults of a conf. Raises ConfigError."""
    composed = config.compose_config(task, conf)
    listed = [
        *(_with_metrics(task, setting) for setting in _of_model(settings_model(task), BLUEPRINT, composed)),
        *(_with_choices(setting) for setting in _of_model(config.Words, "", composed)),
        *(each for section, model in config.documented() for each in _of_model(model, f"{ROOT}{section}.", composed)),
        _EMBEDDED,
    ]
    listed = list({setting.full_name: setting for setting in listed}.values())  # several crowds have the same ones
    order = [name for names in TOPICS.values() for name in names]
    topics = [*TOPICS, ELSE]
    ranks = {name: rank for rank, name in enumerate(order)}
    return sorted(listed, key=lambda one: (topics.index(one.topic), ranks.get(one.name.partition(".")[0], len(order))))


def one_setting(task: str, listed: list[Setting], name: str) -> list[Setting]:
    """The setting of this name, or those of a block. Raises ConfigError: there is none; it names the nearest."""
    full = {setting.full_name: setting for setting in listed}
    if name in full:
        return [full[name]]
    meant = [full[each] for each in meanings(name, full)]
    of_block = [setting for setting in listed if setting.name.startswith(f"{short_name(name)}.")]
    if not meant and not of_block:
        raise config.of_another_technique(task, name) or no_setting(name, full)
    return [*meant, *of_block]


def _of_model(model: type[BaseModel], prefix: str, composed: DictConfig) -> Iterator[Setting]:
    for name, info in config.all_settings(model).items():
        full = prefix + name
        there = OmegaConf.select(composed, full, default=info.get_default(call_default_factory=True))
        default = as_text(None if OmegaConf.is_missing(composed, full) else there)
        parts = _parts(info.annotation)
        words = " or ".join(dict.fromkeys(_kind(part) for part in parts if part is not NoneType))
        bounds = [f" {_BOUNDS[type(rule)]} {_bound(rule):g}" for rule in info.metadata if type(rule) in _BOUNDS]
        yield Setting(
            name=short_name(full),
            full_name=full,
            topic=next((topic for topic, names in TOPICS.items() if short_name(full).partition(".")[0] in names), ELSE),
            default=default,
            description=short_name((info.description or "").replace("``", "")),
            allowed=words + "".join(bounds) + (", or null" if NoneType in parts else ""),
            example=_example(short_name(full), info, default),
        )


def _with_choices(setting: Setting) -> Setting:
    known = config.choices(setting.name)
    other = next(word for word in known if word != setting.default)
    more = f" Places: {places_in_words()}." if setting.name == "place" else ""
    update = {"allowed": f"one of: {', '.join(known)}", "example": f"{setting.name}={other}"}
    return setting.model_copy(update={**update, "description": f"{setting.description}{more}"})


def _with_metrics(task: str, setting: Setting) -> Setting:
    if setting.name != "metric":
        return setting
    entry = technique(task)
    known = dict.fromkeys([*entry.questions, *(metric for asked in entry.questions_of.values() for metric in asked)])
    other = next((metric for metric in known if metric != setting.default), setting.default)
    allowed = f"one of: {', '.join(known)}; or any other, with your own question"
    return setting.model_copy(update={"allowed": allowed, "example": f"metric={other}"})


_EMBEDDED = Setting(
    name=config.EMBEDDED_WORD,
    full_name=config.EMBEDDED_WORD,
    topic="Models",
    default="false",
    description=f"Use models that need no download ({', '.join(config.EMBEDDED)}). With these models, you can try a "
    "config file before its own models are ready.",
    allowed=_KINDS[bool],
    example=f"{config.EMBEDDED_WORD}=true",
)


def as_text(value: object) -> str:
    plain = OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value
    if plain == "":
        return ""
    text = str(yaml.safe_dump(plain, default_flow_style=True, width=10_000, allow_unicode=True))
    return text.removesuffix("...\n").strip()


def _bound(rule: Any) -> float:
    return float(getattr(rule, type(rule).__name__.lower()))


def _parts(annotation: Any) -> list[Any]:
    return [annotation] if get_origin(annotation) in (None, list, dict, Literal) else list(get_args(annotation))


def _kind(annotation: Any) -> str:
    origin = get_origin(annotation)
    if origin is Literal:
        return "one of: " + ", ".join(str(word) or "nothing" for word in get_args(annotation))
    if origin is list:
        return "a list, such as [a,b]"
    if origin is dict:
        return "names and values, such as {a: b}"
    return _KINDS.get(annotation, "text")


def _example(name: str, info: FieldInfo, default: str) -> str:
    value = str(info.examples[0]) if info.examples else _other_than(info, default)
    if value == "TEXT" and name.endswith(("_file", "_list")):
        value = "FILE"
    if "=" in value:
        return value  # with its name, and others that go with it
    typed = f"{name}={value}"
    return f"'{typed}'" if set(typed) & set("[]{}() !") else typed


def _other_than(info: FieldInfo, default: str) -> str:
    first = next(part for part in _parts(info.annotation) if part is not NoneType)
    origin = get_origin(first)
    if origin is Literal:
        return next(str(word) for word in get_args(first) if str(word) not in ("", default))
    if origin is list:
        return "[[a,b],[a,c]]" if get_origin(get_args(first)[0]) is list else "[a,b]"
    if first is bool:
        return "false" if default == "true" else "true"
    if first in (int, float):
        most = next((_bound(rule) for rule in info.metadata if isinstance(rule, Le)), None)
        try:
            number = float(default)
        except ValueError:
            return "3"
        other = number + 1 if most is None or number + 1 <= most else number / 2
        return str(int(other)) if other == int(other) else str(other)
    return "TEXT"
