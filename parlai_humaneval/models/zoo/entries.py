"""The zoo: which models exist, and with which generation settings.

A zoo file is YAML: ``models: {my_model: {options: {model_file: /data/my_model/model}, description: …, extends:
other}}``. ``options`` are ParlAI's, spelled with underscores; one that is ``null`` is left out. ``extends`` merges
``options``, ``running`` and the options of ``training`` over the other's, and inherits everything else that the entry
does not set.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from parlai_humaneval._util.data_files import nearest_file, read_yaml
from parlai_humaneval._util.errors import HumanevalError, InvalidValue, Misspelt, Problem, misspelt
from parlai_humaneval._util.files import json_object_in
from parlai_humaneval._util.text import clean_label
from parlai_humaneval.models.zoo.secrets import key_trouble

PACKAGE = Path(__file__).resolve().parents[2]
FEW = 5
DEVICE = r"^(cpu|cuda:\d+)$"


class ZooError(HumanevalError, ValueError):
    """A zoo file or a model name is wrong; the message names the file, the key and what was expected."""


Origin = Literal["packaged", "download", "training", "endpoint", "yours"]
"""Where a model is from: packaged, weights of ParlAI or Hugging Face, trained here, on a server, or the user's own."""


Engine = Literal["here", "processes", "ray"]
"""Where a model is loaded: in the process that asks it, in processes of their own on this machine, on a Ray cluster."""
ENGINE_KEYS: Mapping[Engine, frozenset[str]] = {
    "here": frozenset(),
    "processes": frozenset({"replicas", "devices", "cpus"}),
    "ray": frozenset({"replicas", "gpus", "cpus", "address"}),
}


class Running(BaseModel, extra="forbid", frozen=True):
    """How the pool runs a model; None: as the pool does, or the agent wants. ``threads``: how many batches at once, of
    ``max_batch`` conversations. ``engine``: where it is loaded, in ``replicas`` copies. ``devices``: of those
    processes, in turn. ``gpus``: of each copy on Ray, or a share of one (0.5). ``address``: of the Ray cluster; else
    ``$RAY_ADDRESS``, or this machine's."""

    threads: int | None = Field(default=None, ge=1)
    max_batch: int | None = Field(default=None, ge=1)
    timeout_s: float | None = Field(default=None, gt=0)
    retries: int | None = Field(default=None, ge=0)
    outage_s: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    engine: Engine | None = None
    replicas: int | None = Field(default=None, ge=1)
    devices: list[Annotated[str, Field(pattern=DEVICE)]] | None = Field(default=None, min_length=1)
    cpus: float | None = Field(default=None, gt=0)
    gpus: float | None = Field(default=None, ge=0)
    address: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _of_one_engine(self) -> Running:
        if self.engine is None:  # which one is still to be said
            return self
        said = {name for keys in ENGINE_KEYS.values() for name in keys if getattr(self, name) is not None}
        if strange := sorted(said - ENGINE_KEYS[self.engine]):
            engines = [engine for engine, keys in ENGINE_KEYS.items() if strange[0] in keys]
            what = f"{strange[0]} is for engine: {' or '.join(engines)}, not for {self.engine}"
            raise InvalidValue(what, try_=f"leave {strange[0]} out, or change the engine")
        return self

    @property
    def elsewhere(self) -> bool:
        return self.engine not in (None, "here")

    @property
    def copies(self) -> int:
        return (self.replicas or len(self.devices or [0])) if self.elsewhere else 1


class Training(BaseModel, extra="forbid", frozen=True):
    """How a model is made here: options of ``parlai train_model``, what has to be there ``before``, and how long it
    takes."""

    options: dict[str, Any] = Field(default_factory=dict)
    before: list[str] = Field(default_factory=list)
    takes: str = ""


class _About(BaseModel, extra="forbid", frozen=True, protected_namespaces=()):
    options: dict[str, Any] = Field(default_factory=dict)
    description: str = ""
    source: str = ""
    license: str = ""
    origin: Origin = "yours"
    size: str = ""
    memory_gb: float | None = Field(default=None, gt=0)
    device: str | None = Field(default=None, pattern=DEVICE)
    needs: list[str] = Field(default_factory=list)
    running: Running = Running()
    training: Training | None = None


class ModelSpec(_About):
    """A model that can take part: name, ParlAI options, and what a reader of the results should know. ``memory_gb``: in
    10⁹ bytes. ``folder``: of the zoo file, where its own code is looked for."""

    name: str = Field(min_length=1)
    options: dict[str, Any]
    folder: Path | None = Field(default=None, exclude=True)

    def run_with(self, **changes: Any) -> ModelSpec:
        return self.model_copy(update={"running": self.running.model_copy(update=changes)})

    @field_validator("options")
    @classmethod
    def _that_are_given(cls, options: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in options.items() if value is not None}


class _Entry(_About):
    """One model as written in YAML, before ``extends`` is followed; a key that is null is not given."""

    extends: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _that_are_given(cls, entry: Any) -> Any:
        if not isinstance(entry, dict):
            return entry
        may_be_null = cls.model_fields.keys() - {"options"}  # a key that there is not is refused with any value
        return {key: value for key, value in entry.items() if value is not None or key not in may_be_null}


BLOCKS: Mapping[str, type[BaseModel]] = {"running": Running, "training": Training}


class _File(BaseModel, extra="forbid"):
    models: dict[str, _Entry]


def zoo_dir() -> Path:
    inside = PACKAGE / "zoo_configs"
    return inside if inside.is_dir() else PACKAGE.parent / "zoo_configs"


def load_zoo(paths: Sequence[Path] | None = None, *, more: Iterable[str | Path] = ()) -> dict[str, ModelSpec]:
    """Read zoo files, by default those of :func:`zoo_dir`; ``more``: the user's own besides. A ZooError for a wrong
    key, a name twice, an ``extends`` in a circle, or a secret."""
    files = sorted(zoo_dir().glob("*.yaml")) if paths is None else [Path(path) for path in paths]
    files += [Path(path).expanduser() for path in more]
    entries: dict[str, _Entry] = {}
    origin: dict[str, Path] = {}
    for file in files:
        if not file.exists():
            raise ZooError(f"there is no file {file.absolute()}", misspelt=nearest_file(file))
        data = read_yaml(file, "expected a YAML file of models", ZooError)
        try:
            content = _File.model_validate(data)
        except ValidationError as error:
            raise ZooError(_entry_problem(file, problem) for problem in error.errors()) from error
        for typed, entry in content.models.items():
            name = clean_label(typed)
            if name in entries:
                what = f"this name is already taken by {origin[name]}"
                raise ZooError(what, where=f"{file}: models.{name}", try_="choose another")
            entries[name], origin[name] = entry, file
    return {name: _finish(name, entries, origin) for name in entries}


def resolve(names: Sequence[str], zoo: Mapping[str, ModelSpec]) -> list[ModelSpec]:
    """The specs of ``names``, in their order; a ZooError, with near matches, for a name that is not in the zoo."""
    typed = {name: name if name in zoo else clean_label(name) for name in names}
    for name, known in typed.items():
        if known not in zoo:
            raise _no_such(name, zoo)
    return [zoo[typed[name]] for name in names]


def _no_such(name: str, names: Iterable[str]) -> ZooError:
    known = list(names)
    near = (
        difflib.get_close_matches(name, known, n=3, cutoff=0.6)
        or [one for one in known if name and one.startswith(name)][:3]
    )
    shown = near or (known if len(known) <= FEW else [])
    count = "all" if shown else f"all {len(known)}"
    return ZooError(
        f"no model is called “{name}”",
        misspelt=Misspelt(name, tuple(shown)),
        try_=f"`parlai-humaneval models list` shows {count}; add 'zoo_files=[FILE]' for models of your own file",
    )


def _entry_problem(file: Path, error: Any) -> Problem:
    place, kind, got = error["loc"], error["type"], error["input"]
    where = f"{file}: {'.'.join(str(part) for part in place) or '(the whole file)'}"
    if kind == "extra_forbidden":
        block = BLOCKS.get(str(place[2])) if len(place) > 3 else None
        fields = (_File if len(place) == 1 else block or _Entry).model_fields
        known, name = sorted(fields, key=lambda field: field != "extends"), str(place[-1])
        return Problem("unknown key", where, (f"choose one of {', '.join(known)}",), misspelt(name, known, most=2))
    if kind == "model_type":
        return Problem(f"expected a mapping, got {got!r}", where)
    if kind == "string_pattern_mismatch":
        return Problem(f"expected cpu, or cuda:0, cuda:1 …, got {got!r}", where)
    if isinstance(raised := error.get("ctx", {}).get("error"), HumanevalError):
        problem = raised.problems[0]
        return replace(problem, what=f"{problem.what}, got {got!r}").within(where)
    return Problem(f"{error['msg'].removeprefix('Value error, ')}, got {got!r}", where)


def _finish(name: str, entries: Mapping[str, _Entry], origin: Mapping[str, Path]) -> ModelSpec:
    where = f"{origin[name]}: models.{name}"
    merged: dict[str, Any] = {}
    for entry in reversed(_chain(name, entries, where)):
        for key, value in entry.model_dump(exclude={"extends"}, exclude_none=True, exclude_unset=True).items():
            below = merged.get(key)
            if isinstance(value, dict) and isinstance(below, dict):
                inner = {"options": {**below.get("options", {}), **value["options"]}} if "options" in value else {}
                merged[key] = {**below, **value, **inner}
            else:
                merged[key] = value
    options = merged.setdefault("options", {})
    if "model" not in options and "model_file" not in options:
        what = "expected `model` (an agent) or `model_file` (a trained one), found neither"
        raise ZooError(what, where=f"{where}.options")
    for block in ("options", "training"):
        if trouble := key_trouble(merged.get(block) or {}, f"{where}.{block}."):
            raise ZooError(trouble)
    try:
        return ModelSpec(name=name, folder=origin[name].parent.resolve(), **merged)
    except ValidationError as error:  # each entry is right, but not what one makes of the other
        problem = error.errors()[0]
        place = ("models", name, *problem["loc"])
        raise ZooError(_entry_problem(origin[name], {**problem, "loc": place})) from error


def _chain(name: str, entries: Mapping[str, _Entry], where: str) -> list[_Entry]:
    seen = [name]
    while (parent := entries[seen[-1]].extends) is not None:
        if parent not in entries:
            raise ZooError(_no_such(parent, entries), where=f"{where}.extends")
        if parent in seen:
            raise ZooError(f"forms a circle ({' → '.join([*seen, parent])})", where=f"{where}.extends")
        seen.append(parent)
    return [entries[one] for one in seen]


def is_chat_llm(spec: ModelSpec) -> bool:
    """Whether a model is asked as a chat LLM: over a server, or here with a chat template, as its files or entry say."""
    agent = str(spec.options.get("model", ""))
    if agent.endswith("chat_completions:ChatCompletionsAgent"):
        return True
    if not agent.endswith("causal_lm:CausalLmAgent"):
        return False
    form = spec.options.get("prompt_format") or "auto"
    if form != "auto":
        return bool(form == "chat")
    folder = Path(str(spec.options.get("hf_model", ""))).expanduser()
    told = spec.options.get("system_prompt") or spec.options.get("chat_template")
    has_template = (folder / "chat_template.jinja").is_file()
    return bool(told or has_template or json_object_in(folder / "tokenizer_config.json").get("chat_template"))


def may_be_chat_llm(spec: ModelSpec) -> bool:
    """Whether it is a function, program or server of the user's: only its replies reveal whether it writes markdown."""
    agent = str(spec.options.get("model", ""))
    return agent.endswith((":CallableAgent", ":HttpEndpointAgent", ":CommandAgent"))
