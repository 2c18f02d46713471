"""A model as people name it (a file with a function, a folder, a server's address) → an entry of the zoo."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from itertools import chain, count
from pathlib import Path
from symtable import Function, symtable
from typing import Any
from urllib.parse import unquote, urlsplit

import yaml

from parlai_humaneval._util.data_files import DataError, read_json
from parlai_humaneval._util.errors import misspelt
from parlai_humaneval._util.text import on_one_line
from parlai_humaneval.models.agent.names import needs_local_packages
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError, resolve
from parlai_humaneval.models.zoo.secrets import base_of, speaks_chat

FUNCTION = "reply"
KEY_VARIABLE = "OPENAI_API_KEY"
LISTING_S = 10.0
SHOWN = 8
LONGEST_NAME = 200
_AGENTS = {
    "function": "parlai_humaneval.agents.callable:CallableAgent",
    "chat": "parlai_humaneval.agents.chat_completions:ChatCompletionsAgent",
    "contract": "parlai_humaneval.agents.http_endpoint:HttpEndpointAgent",
    "causal": "parlai_humaneval.agents.causal_lm:CausalLmAgent",
    "seq2seq": "parlai_humaneval.agents.seq2seq_lm:Seq2SeqLmAgent",
}
_WORTH = (
    "a file (my_bot.py:reply), a folder of weights, an address (http://localhost:8000/v1, or with #NAME of one of its "
    "models), or a model of `models list`"
)


@dataclass(frozen=True)
class Given:
    """A model of the study, with the ``options`` of its entry, unless the zoo has it; ``told``: what it was taken for."""

    name: str
    told: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def entry(self) -> str:
        """The zoo file, in YAML, by which a launch has it."""
        models = {self.name: {"options": dict(self.options)}}
        return yaml.safe_dump({"models": models}, allow_unicode=True, sort_keys=False)


def specs_of(names: Collection[str], zoo: Mapping[str, ModelSpec]) -> tuple[list[ModelSpec], list[Given]]:
    """The specs of what people name, in their order, and which of them are in no zoo file; a ZooError where one is
    nothing."""
    own = [
        name
        for name in names
        if name not in zoo and (name.endswith(".py") or {"/", ":"} & set(name) or Path(name).expanduser().exists())
    ]
    given = named_apart([model_given(name, zoo) for name in own], zoo)
    specs = {
        name: ModelSpec(name=model.name, options=dict(model.options)) for name, model in zip(own, given, strict=True)
    }
    return [specs[name] if name in specs else resolve([name], zoo)[0] for name in names], given


def named_apart(models: Sequence[Given], zoo: Collection[str]) -> list[Given]:
    """Functions of one name get that of their file before it, and other models a number. The same model twice is one."""
    named: dict[str, Given] = {}
    apart = []
    for model in models:
        place, _, function = str(model.options.get("function", "")).rpartition(":")
        joined = [f"{_name(Path(place).stem, zoo)}_{function.replace('.', '_')}"] if function else []
        names = chain([model.name], joined, (f"{model.name}_{number}" for number in count(2)))
        name = next(name for name in names if name not in named or named[name].options == model.options)
        named[name] = replace(model, name=name)
        apart.append(named[name])
    return apart


def model_given(
    given: str, zoo: Collection[str], *, served_model: str | None = None, key_variable: str | None = None
) -> Given:
    """What somebody means who names a model so; a ZooError, which says what it could be, where it is nothing."""
    if not given.strip():
        raise ZooError("no model is given", try_=f"expected {_WORTH}")
    if given in zoo:
        return Given(given, f"the model {given}")
    if given.startswith(("http://", "https://")):
        address, _, named = given.partition("#")
        return _server(address, zoo, served_model or unquote(named) or None, key_variable)
    place, _, function = given.rpartition(":") if ":" in given else (given, "", FUNCTION)
    path = Path(place).expanduser()
    if path.is_dir():
        return _folder(path, zoo)
    if path.is_file():
        if path.suffix == ".py":
            return _function(path, function, zoo)
        if not path.with_name(f"{path.name}.opt").is_file():
            raise ZooError(f"{path} is not a model: expected {_WORTH}")
        return Given(_name(path.stem, zoo), f"ParlAI's model {path}", _parlai_options(path))
    beside = path.with_name(f"{path.name}.py")
    if ":" in given and beside.is_file():
        return _function(beside, function, zoo)
    there = [str(path.parent / name.name) for name in _entries(path.parent)]
    meant = misspelt(given, [*there, *zoo], cutoff=0.7, most=2, spelled=str(path))
    what = f"there is no file, folder or model “{given}”"
    raise ZooError(what, misspelt=meant, try_=() if meant else f"expected {_WORTH}")


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _name(text: str, zoo: Collection[str]) -> str:
    name = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_") or "my_model"
    return f"{name}_tried" if name in zoo else name


def _function(path: Path, function: str, zoo: Collection[str]) -> Given:
    names = _names_in(path)
    if names is not None and function.partition(".")[0] not in names:
        others = [name for name, is_function in names.items() if is_function and not name.startswith("_")]
        there = f", but {', '.join(others[:SHOWN])}" if others else ""
        advice = f"name one as {path}:{others[0]}" if others else f"add one: def {function}(history): return …"
        raise ZooError(f"{path} has no function {function}{there}", try_=advice)
    where = f"{path.resolve()}:{function}"
    options = {"model": _AGENTS["function"], "function": where}
    stem, name = _name(path.stem, zoo), function.replace(".", "_")  # by their names, functions of one file stay apart
    name = stem if name == FUNCTION else f"{stem}_{name}" if name in zoo else name
    return Given(name, f"the function {function} of {path}", options)


def _names_in(path: Path) -> dict[str, bool] | None:
    """The names that a file defines, and which of them are functions, without running it; None: only that would tell."""
    try:
        code = path.read_text(encoding="utf-8")
        symbols = symtable(code, str(path), "exec").get_symbols()
    except (SyntaxError, ValueError):  # loading it says what is wrong
        return None
    if re.search(r"^\s*from .* import \*|\b(?:exec|globals|setattr)\(", code, re.MULTILINE):
        return None
    known = (name for name in symbols if name.is_assigned() or name.is_imported() or name.is_namespace())
    return {name.get_name(): any(isinstance(one, Function) for one in name.get_namespaces()) for name in known}


def _folder(path: Path, zoo: Collection[str]) -> Given:
    name = _name(path.resolve().name, zoo)
    if (path / "model.opt").is_file():
        return Given(name, f"ParlAI's model in {path}", _parlai_options(path / "model"))
    if (path / "config.json").is_file():
        if needed := needs_local_packages(path.name):
            raise ZooError(needed.what, try_=needed.try_)
        try:
            with warnings.catch_warnings():  # transformers warns about newer torch
                warnings.simplefilter("ignore")
                from transformers import AutoConfig

                config = AutoConfig.from_pretrained(str(path.resolve()))
        except Exception as error:  # whatever a broken config.json makes of the library
            what = f"{path / 'config.json'} is not a model's configuration: {' '.join(str(error).split())}"
            raise ZooError(what) from error
        kind = "seq2seq" if config.is_encoder_decoder else "causal"
        options = {"model": _AGENTS[kind], "hf_model": str(path.resolve())}
        return Given(name, f"the model of Hugging Face in {path}", options)
    there = sorted(entry.name for entry in _entries(path))
    holds = ", ".join(there[:SHOWN]) + (" …" if len(there) > SHOWN else "") if there else "nothing"
    raise ZooError(
        f"{path} is not a model: it has neither config.json with weights (Hugging Face) nor model and model.opt (ParlAI), "
        f"but {holds}"
    )


def _parlai_options(file: Path) -> dict[str, Any]:
    """Its file, and that it is to speak: quick trainings say that it need not, and that is saved with it."""
    saved = file.with_name(f"{file.name}.opt")
    try:
        silent = bool(read_json(saved).get("skip_generation"))
    except (DataError, AttributeError) as error:
        raise ZooError("has no ParlAI options", where=saved) from error
    return {"model_file": str(file.resolve()), **({"skip_generation": False} if silent else {})}


def _server(url: str, zoo: Collection[str], served_model: str | None, key_variable: str | None) -> Given:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        is_address = bool(host) and parts.port != 0  # a port that is none is found when it is asked for
    except ValueError as error:
        raise ZooError(f"{on_one_line(url, LONGEST_NAME)} is not an address: {error}") from error
    if parts.username or parts.password or parts.query or not is_address:
        what = "the address of a server must not contain a user, password or query"
        raise ZooError(what, try_="put a key into an environment variable")
    base = base_of(url)
    listed = _listed(base, key_variable) or (None if base.endswith("/v1") else _listed(f"{base}/v1", key_variable))
    if listed is None and speaks_chat(url):
        if served_model is None:
            raise ZooError(f"{base} lists no models (GET /models)", try_=f"name its model: {url}#NAME")
        listed = (base, [served_model], key_variable or "")
    if listed is None:
        name = _name(host, zoo)
        told = f"the server at {url}, asked with the JSON contract because it lists no models (GET /models)"
        key = {} if key_variable is None else {"authorization_env": key_variable}
        return Given(name, told, {"model": _AGENTS["contract"], "url": url, **key})
    address, models, variable = listed
    if served_model is None and len(models) != 1:
        names, first = ", ".join(models[:SHOWN]) or "none", models[0] if models else "NAME"
        raise ZooError(f"{url} lists {len(models)} models ({names})", try_=f"choose one: {url}#{first}")
    model = served_model or models[0]
    options = {"model": _AGENTS["chat"], "base_url": address, "served_model": model, "api_key_env": variable}
    return Given(_name(model.rpartition("/")[2], zoo), f"the model {model} of the server at {address}", options)


def _listed(base_url: str, key_variable: str | None) -> tuple[str, list[str], str] | None:
    """Base, models and key variable of a chat server; None: it is none. A key is sent only where it is asked for."""
    import httpx

    variable = key_variable or ""
    refused = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
    try:
        response = httpx.get(f"{base_url}/models", headers=_authorization(variable), timeout=LISTING_S)
        if response.status_code in refused and not variable:
            variable = KEY_VARIABLE
            response = httpx.get(f"{base_url}/models", headers=_authorization(variable), timeout=LISTING_S)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        said = error or type(error).__name__
        raise ZooError(f"{base_url} does not respond ({said})", try_="check that the server is running") from error
    if response.status_code in refused:
        advice = f"put it into the environment variable {variable}, or name one (--api-key-env)"
        raise ZooError(f"{base_url} requires a key", try_=advice)
    try:
        names = [str(model["id"]) for model in response.json()["data"]]
    except (ValueError, KeyError, TypeError):
        return None
    return base_url, [on_one_line(name, LONGEST_NAME) for name in names], variable


def _authorization(variable: str) -> dict[str, str]:
    key = os.environ.get(variable, "").strip() if variable else ""
    return {"Authorization": f"Bearer {key}"} if key else {}
