"""A conf file of settings by their short names, as they are typed on the command line.

.. code-block:: yaml

    conf: smith2022_size_humanness   # what it begins with; without it: local
    models: [my_bot, eliza]
    turns: 4
    place: link
    replies: {appearance: plain}

Files with ``defaults`` or ``mephisto`` are hydra's, and are read by hydra.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from mephisto_tasks.config_error import ConfigError
from mephisto_tasks.study.typed_values import as_typed

_HYDRAS = frozenset({"defaults", "mephisto", "hydra"})
"""A file with one of these is read by hydra."""


class ShortConf(NamedTuple):
    """What a file says: the conf that it begins with, and settings as they could be typed."""

    conf: str
    overrides: list[str]


def read_short_conf(conf: str) -> ShortConf | None:
    """The settings of a file; None for the name of a conf, a file of hydra's, and one that cannot be read as YAML."""
    path = Path(conf).expanduser()
    if path.suffix not in (".yaml", ".yml") or not path.is_file():
        return None
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except (yaml.YAMLError, UnicodeDecodeError, OSError):
        return None  # hydra says what is wrong with it
    if not isinstance(content, dict) or _HYDRAS & set(content):
        return None
    begins_with = content.pop("conf", "local")
    if not isinstance(begins_with, str) or begins_with.endswith((".yaml", ".yml")):
        raise ConfigError(f"{path}: conf: {begins_with!r} is no conf of the task; name one of `--list-confs`")
    return ShortConf(begins_with, list(_overrides("", content)))


def _overrides(prefix: str, content: dict[Any, Any]) -> Iterator[str]:
    """``NAME=VALUE`` of every setting; those of a block each by itself."""
    for name, value in content.items():
        if isinstance(value, dict) and value:
            yield from _overrides(f"{prefix}{name}.", value)
        else:
            yield f"{prefix}{name}={as_typed(value)}"
