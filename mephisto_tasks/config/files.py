"""Files of settings: a task's confs, and your files with short names, as on the command line: ``turns: 4``, ``embedded:
true``, ``replies: {appearance: plain}``; ``conf:`` to begin with; or Hydra's format."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from mephisto_tasks.config.names import BLUEPRINT, PLAIN_CONF, ConfigError
from parlai_humaneval._util.data_files import read_text, read_yaml
from parlai_humaneval._util.errors import misspelt
from parlai_humaneval.techniques.registry import Technique, UnknownTechnique, recorded_as, technique, typed_technique

if TYPE_CHECKING:
    from parlai_humaneval.models.zoo.entries import ModelSpec

MOST_PRESETS = 3  # of those that an error names
PRESETS = Path(__file__).resolve().parents[1] / "presets"


def task_dir(task: str) -> Path:
    """Folder of a task's ``hydra_configs/conf`` and ``task_config``. Raises ConfigError."""
    try:
        entry = technique(task)
    except UnknownTechnique as error:
        what = f"there is no task {task!r}"
        raise ConfigError(what, misspelt=error.problems[0].misspelt, try_=error.try_) from error
    folder = entry.folder or PRESETS / task
    if not (folder / "hydra_configs" / "conf").is_dir():
        raise ConfigError(f"the folder of the technique {task!r} has no hydra_configs/conf: {folder}")
    return folder


_PLAIN = re.compile(r"[A-Za-z_][\w./-]*")  # words that need no quotes
_OTHER_THAN_WORDS = frozenset({"null", "true", "false", "nan", "inf"})


def in_quotes(value: str) -> str:
    """A quoted value in Hydra's grammar, where a backslash escapes only quotes and backslashes before them."""
    escaped = re.sub(r"(\\*)('|$)", lambda match: match[1] * 2 + ("\\'" if match[2] else ""), value)
    return f"'{escaped}'"


def as_typed(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}: {as_typed(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(as_typed, value)) + "]"
    if isinstance(value, (int, float)):
        return str(value)
    text = str(value)
    return text if _PLAIN.fullmatch(text) and text.lower() not in _OTHER_THAN_WORDS else in_quotes(text)


_HYDRAS = frozenset({"defaults", "mephisto", "hydra"})  # Hydra reads a file with one of these keys

_LISTS = frozenset({"models", "groups", "zoo_files"})
_FILES = re.compile(
    r"[\w.]+_file|zoo_files|(human_)?dialogues|judge|openers|panel|prereg|languages_dir|workers\.(allow|block)_list"
)


def check_typed(settings: Iterable[str], of_file: ShortConf | None = None) -> None:
    """What settings name is there, as far as that can be seen before anything is loaded; they were typed, or are
    ``of_file``. Raises ConfigError."""
    for setting in settings:
        name, _, value = setting.partition("=")
        try:
            _check_typed(name.removeprefix(BLUEPRINT), value, None if of_file is None else of_file.path.resolve())
        except ConfigError as error:
            raise ConfigError(error, where="" if of_file is None else of_file.where(name)) from error


def _check_typed(name: str, value: str, of_file: Path | None) -> None:
    if name in _LISTS and "," in value and value[0] not in "[{'\"":
        raise not_a_list(name, value)
    if name == "conf" and value.endswith((".yaml", ".yml")):
        conf_file(value)
    if _FILES.fullmatch(name):
        for entry in values_of(value):
            file = entry.get("file") if isinstance(entry, dict) else entry
            if isinstance(file, str) and Path(file).suffix and not Path(file).expanduser().exists():
                folders = list(dict.fromkeys([*([] if of_file is None else [of_file.parent]), Path.cwd()]))
                there = [one for folder in folders for one in (folder / Path(file).expanduser()).parent.glob("*.*")]
                others = [one.name for one in there if one.resolve() != of_file]
                near = misspelt(Path(file).name, others, cutoff=0.8)
                where_to = () if near else f"type its path from {' or '.join(map(str, folders))}, or its full path"
                raise ConfigError(f"there is no file {file}", where=name, misspelt=near, try_=where_to)


def values_of(typed: str) -> list[Any]:
    """The entries of a list as it is typed, or the only value; none where only Hydra can read it."""
    try:
        read = yaml.safe_load(typed)
    except yaml.YAMLError:
        return []
    return read if isinstance(read, list) else [read]


def check_models(entry: Technique, chosen: Sequence[str], named: Sequence[str] = ()) -> list[ModelSpec]:
    """The models that raters chat with, as far as settings and their file name them (``models=[…]``, or ``named``).
    Raises ZooError: a file cannot be read, or no file has such a model."""
    typed: dict[str, str] = {}
    of_file = next((read_short_conf(word[5:]) for word in chosen if word.startswith("conf=")), None)
    of_its_own = [] if of_file is None else of_file.overrides
    check_typed(of_its_own, of_file)
    for word in (*of_its_own, *chosen):
        name, _, typed[name.removeprefix(BLUEPRINT)] = word.partition("=")
    names = [*named, *map(str, values_of(typed["models"]) if typed.get("models", "").startswith("[") else ())]
    if not (names or typed.get("zoo_files", "").startswith("[")):
        return []
    from parlai_humaneval.models.zoo.entries import load_zoo, resolve

    zoo = load_zoo(more=map(str, values_of(typed.get("zoo_files", "[]"))))
    names = names if entry.engine == "live" else []  # others' models may speak in dialogues that are finished
    return resolve([name for name in names if name in zoo or of_file is not None or "conf" not in typed], zoo)


def not_a_list(name: str, value: str) -> ConfigError:
    return ConfigError(f"{name}={value} is not a list", try_=f"write '{name}=[{value}]'")


def conf_file(conf: str) -> Path:
    path = Path(conf).expanduser().resolve()
    if not path.is_file():
        near = misspelt(str(path), map(str, path.parent.glob("*.y*ml")), cutoff=0.8)
        packaged = sorted(PRESETS.glob(f"*/hydra_configs/conf/{glob.escape(path.stem)}*.yaml"))[:MOST_PRESETS]
        presets = [f"{one.parents[2].name} conf={one.stem}" for one in packaged]
        ways = f"the package has: {', '.join(presets)}" if presets else "`parlai-humaneval new` writes such a file"
        raise ConfigError(f"there is no file {path}", misspelt=near, try_=ways)
    return path


class ShortConf(NamedTuple):
    """A file by short names: the conf to begin with, and settings as they are typed."""

    conf: str
    overrides: list[str]
    path: Path

    def where(self, name: str) -> str:
        """The file, and the line of a setting in it where its name is there only once."""
        key = re.compile(rf"\s*['\"]?{re.escape(name.rpartition('.')[2])}['\"]?\s*:")
        lines = [number for number, line in enumerate(read_text(self.path).splitlines(), 1) if key.match(line)]
        return f"{self.path}, line {lines[0]}" if len(lines) == 1 else str(self.path)


def read_short_conf(conf: str, task: str = "") -> ShortConf | None:
    """The settings of a study of ``task``; None for the name of a conf, and a file of Hydra's. Raises ConfigError."""
    path = Path(conf).expanduser()
    if path.suffix not in (".yaml", ".yml") or not path.is_file():
        return None
    content = read_yaml(path, error=ConfigError)
    if not isinstance(content, dict) or _HYDRAS & set(content):
        return None
    begins_with = content.pop("conf", PLAIN_CONF)
    if not isinstance(begins_with, str) or begins_with.endswith((".yaml", ".yml")):
        what = f"{begins_with!r} is not a config file of the task"
        raise ConfigError(what, where=f"{path}: conf", try_="choose one that `--list-confs` shows")
    technique_named, _ = typed_technique(str(content.pop("technique", "")))

    def next_to_it(file: str) -> str:
        return str(path.parent / file) if (path.parent / file).exists() else file

    short = ShortConf(begins_with, list(typed_settings(content, moved=next_to_it)), path)
    if task and technique_named not in ("", task, recorded_as(task)):
        what = f"this study uses {technique_named}, not {task}"
        raise ConfigError(what, where=short.where("technique"), try_=f"parlai-humaneval launch {path}")
    return short


def technique_of_file(task: str, chosen: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The technique and the settings of a command; in the place of the technique, or after it, there may be a file of them.
    Raises ConfigError."""
    if not task.endswith((".yaml", ".yml")):
        files = [word for word in chosen if word.endswith((".yaml", ".yml")) and "=" not in word]
        task, setting = typed_technique(task)
        chosen = (f"setting={setting}", *chosen) if setting else chosen
        return task, tuple(f"conf={word}" if word in files and conf_file(word) else word for word in chosen)
    content = read_yaml(conf_file(task), error=ConfigError)
    named = content.get("technique") if isinstance(content, dict) else None
    if not isinstance(named, str):
        what = "it names no technique"
        raise ConfigError(what, where=task, try_=f"add `technique: pw_turn`, or type pw_turn conf={task}")
    named, setting = typed_technique(named)
    return named, (f"conf={task}", *([f"setting={setting}"] if setting else []), *chosen)


def typed_settings(content: Mapping[Any, Any], prefix: str = "", moved: Callable[[str], str] = str) -> Iterator[str]:
    """``NAME=VALUE`` for each setting, nested ones by names with dots; files as :func:`with_files` has them."""
    for name, value in content.items():
        if isinstance(value, dict) and value:
            yield from typed_settings(value, f"{prefix}{name}.", moved)
        else:
            yield f"{prefix}{name}={as_typed(with_files(f'{prefix}{name}', value, moved))}"


def with_files(name: str, value: Any, moved: Callable[[str], str]) -> Any:
    """The value of a setting; where it names files, each by the path that ``moved`` gives for it."""
    if not _FILES.fullmatch(name.removeprefix(BLUEPRINT)):
        return value
    if isinstance(value, list):
        return [with_files(name, entry, moved) for entry in value]
    if isinstance(value, dict):
        return {**value, "file": moved(str(value["file"]))} if "file" in value else value
    is_word = value == "packaged" or (name in ("panel", "openers") and not Path(str(value)).suffix)
    return moved(value) if isinstance(value, str) and value and not is_word else value
