"""Settings composed in a quarter of the time: a session of tests composes the same few confs eight hundred times.

Which files they come from is decided by a few words (``place=…``); hydra composes those once. The values are put into a
copy of that, by hydra as well. Where it does compose, each packaged file is read once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy
from functools import cache
from io import StringIO
from pathlib import Path
from typing import IO, Any, TypeVar
from unittest import mock

import omegaconf
import yaml
from hydra import compose
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.defaults_list import create_defaults_list
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import AnyNode, Container, DictConfig, Node, OmegaConf
from omegaconf._utils import OmegaConfDumper, get_yaml_loader
from omegaconf.errors import OmegaConfBaseException

from parlai_humaneval._util.data_files import FASTEST

Settings = TypeVar("Settings", bound=Node)
OURS = f"{Path(__file__).resolve().parents[2]}/mephisto_tasks/"


_load = OmegaConf.load


def load_once(file: IO[str]) -> Container:
    """In the place of OmegaConf's reading of a file: what has the same text is the same."""
    text = file.read()
    try:
        return copied(_of_text(text))
    except (yaml.YAMLError, OSError):  # which shall name the file
        file.seek(0)
        return _load(file)


def copied(settings: Settings, parent: Node | None = None) -> Settings:
    """As OmegaConf's own copy of settings, which asks Python's general way for each of them: three times as quick."""
    made = settings.__class__.__new__(settings.__class__)
    metadata = copy(settings._metadata)
    metadata.flags, metadata.resolver_cache = copy(metadata.flags), copy(metadata.resolver_cache)
    made.__dict__.update(settings.__dict__, _metadata=metadata, _parent=parent, _flags_cache=None)
    inside = settings.__dict__.get("_content")
    if isinstance(inside, dict):
        made.__dict__["_content"] = {name: copied(value, made) for name, value in inside.items()}
    elif isinstance(inside, list):
        made.__dict__["_content"] = [copied(value, made) for value in inside]
    return made


NEW_MAPPING, NEW_LIST, NEW_VALUE = OmegaConf.create({}), OmegaConf.create([]), AnyNode(None)


def created_quickly(kept: Any) -> Container:
    """In the place of OmegaConf's settings, of a text as Mephisto keeps them of each launch: six times as quick."""
    settings: Container = _created(yaml.load(kept, quick_loader()) if isinstance(kept, str) else kept)
    return settings


def _created(data: Any, key: str | int | None = None, parent: Node | None = None) -> Any:
    made = copied(NEW_MAPPING if isinstance(data, dict) else NEW_LIST if isinstance(data, list) else NEW_VALUE, parent)
    made._metadata.key = key
    if isinstance(data, dict):
        made.__dict__["_content"] = {name: _created(value, name, made) for name, value in data.items()}
    elif isinstance(data, list):
        made.__dict__["_content"] = [_created(value, place, made) for place, value in enumerate(data)]
    else:
        made.__dict__["_val"] = data
    return made


@cache
def quick_loader() -> type[yaml.SafeLoader]:
    """In the place of OmegaConf's loader, which it makes anew for each text: the same above the parser written in C."""
    with mock.patch.object(yaml, "SafeLoader", FASTEST):
        loader: type[yaml.SafeLoader] = get_yaml_loader()
    return loader


class QuickDumper(getattr(yaml, "CDumper", yaml.Dumper)):
    """In the place of OmegaConf's dumper."""


QuickDumper.add_representer(str, OmegaConfDumper.str_representer)


@cache
def _of_text(text: str) -> Container:
    return _load(StringIO(text))


@cache
def _of_files(folder: str, config_name: str, words: tuple[str, ...]) -> DictConfig:
    """As hydra's ``compose``, without hydra's own settings, which that loads, merges and throws away."""
    loader = GlobalHydra.instance().config_loader()
    overrides, files = loader._parse_overrides_and_create_caching_repo(config_name, list(words))
    overrides = [override for override in overrides if not override.is_hydra_override()]
    chosen = create_defaults_list(files, config_name, overrides, prepend_hydra=False, skip_missing=False)
    composed = loader._compose_config_from_defaults_list(chosen.defaults, files)
    OmegaConf.set_struct(composed, True)
    loader._apply_overrides_to_config(chosen.config_overrides, composed)
    return composed


@cache
def _parsed(value: str) -> Override:
    return OverridesParser.create().parse_override(value)


def compose_quickly(config_name: str, overrides: list[str]) -> DictConfig:
    """In the place of hydra's ``compose``, which still composes what a test has written, and says what is wrong."""
    searched = GlobalHydra.instance().config_loader().get_search_path().get_path()
    folder = next(entry.path for entry in searched if entry.provider == "main")
    words = tuple(override for override in overrides if not _is_value(override))
    if all(path.startswith(OURS) for path in (folder, *re.findall(r"file://([^',]+)", "".join(words)))):
        try:
            values = [_parsed(value) for value in overrides if _is_value(value)]
            if not any(value.is_sweep_override() for value in values):
                composed = copied(_of_files(folder, config_name, words))
                ConfigLoaderImpl._apply_overrides_to_config(values, composed)
                return composed
        except (HydraException, OmegaConfBaseException):
            pass
    return compose(config_name=config_name, overrides=overrides)


def _is_value(override: str) -> bool:
    return override.lstrip("+~").startswith("mephisto.")


def take_the_place_of_hydra(put: Callable[[Any, str, Any], None]) -> None:
    """Have launches compose as this file does; ``put`` as ``setattr``, or as that of ``pytest.MonkeyPatch``."""
    from mephisto_tasks.launch import config

    put(config, "compose", compose_quickly)
    put(OmegaConf, "load", load_once)
    put(omegaconf._utils, "get_yaml_loader", quick_loader)
    put(omegaconf.omegaconf, "get_omega_conf_dumper", lambda: QuickDumper)
