"""A model as people name it: a file with a function, a folder of weights, a server's address → an entry of the zoo.

Nothing is loaded here, and of a server only its list of models is asked for.
"""

from __future__ import annotations

import ast
import json
import os
import re
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from parlai_humaneval._util.errors import misspelt
from parlai_humaneval._util.text import on_one_line
from parlai_humaneval.models.agent.packages import needs_local_packages
from parlai_humaneval.models.backends.addresses import base_of, speaks_chat
from parlai_humaneval.models.zoo.entries import ZooError

FUNCTION = "reply"
"""The function of a file that names none."""
KEY_VARIABLE = "OPENAI_API_KEY"
LISTING_S = 10.0
"""How long a server may take to list its models."""
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
    "a file (my_bot.py:reply), a folder of weights, an address (http://localhost:8000/v1), or a model of `models list`"
)


@dataclass(frozen=True)
class Given:
    """``name``: of the model in the study. ``options``: of its entry; empty where the zoo has one of that name.

    ``told``: what was made of what was given, for the error if it does not answer.
    """

    name: str
    told: str
    options: Mapping[str, Any] = field(default_factory=dict)


def model_given(
    given: str, zoo: Collection[str], *, served_model: str | None = None, key_variable: str | None = None
) -> Given:
    """What somebody means who names a model so.

    Args:
        given: a file or module with a function, a folder, an address, or a name of the zoo.
        zoo: names that are there already.
        served_model: of a server, the name by which it calls the model; needed where it has several.
        key_variable: of a server that wants a key, the environment variable that holds it.

    Raises:
        ZooError: it is none of these; the message says what it could be.
    """
    if not given.strip():
        raise ZooError("no model is named", try_=f"expected {_WORTH}")
    if given in zoo:
        return Given(given, f"the model {given}")
    if given.startswith(("http://", "https://")):
        return _server(given, zoo, served_model, key_variable)
    place, _, function = given.rpartition(":") if ":" in given else (given, "", FUNCTION)
    path = Path(place).expanduser()
    if path.is_dir():
        return _folder(path, zoo)
    if path.is_file():
        return _weights_file(path, zoo) if path.suffix != ".py" else _function(path, function, zoo)
    beside = path.with_name(f"{path.name}.py")
    if ":" in given and beside.is_file():
        return _function(beside, function, zoo)
    raise _nothing(given, path, zoo)


def _nothing(given: str, path: Path, zoo: Collection[str]) -> ZooError:
    there = [str(path.parent / name.name) for name in _entries(path.parent)]
    meant = misspelt(given, [*there, *zoo], cutoff=0.7, most=2, spelled=str(path))
    return ZooError(
        f"there is no file, folder or model “{given}”", misspelt=meant, try_=() if meant else f"expected {_WORTH}"
    )


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _name(text: str, zoo: Collection[str]) -> str:
    """As models are called in settings: letters, digits, underscores; none that is taken."""
    name = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_") or "my_model"
    return f"{name}_tried" if name in zoo else name


def _function(path: Path, function: str, zoo: Collection[str]) -> Given:
    names = _names_in(path)
    if names is not None and function.partition(".")[0] not in names:
        others = [name for name, is_function in names.items() if is_function and not name.startswith("_")]
        there = f", but {', '.join(others[:SHOWN])}" if others else ""
        advice = f"name one as {path}:{others[0]}" if others else ""
        raise ZooError(f"{path} has no function {function}{there}", try_=advice)
    where = f"{path.resolve()}:{function}"
    options = {"model": _AGENTS["function"], "function": where}
    return Given(_name(path.stem, zoo), f"the function {function} of {path}", options)


def _names_in(path: Path) -> dict[str, bool] | None:
    """The names that a file defines, and which of them are functions, without running it; None: only that would tell."""
    try:
        body = ast.parse(path.read_bytes()).body
    except (SyntaxError, ValueError):  # loading it says what is wrong
        return None
    names: dict[str, bool] = {}
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names[name] = True
            case ast.Assign(targets=[ast.Name(id=name)]):
                names[name] = False
            case ast.ClassDef(name=name):
                names[name] = False
            case ast.Expr():
                pass
            case ast.Import(names=imported) | ast.ImportFrom(names=imported):
                names |= {alias.asname or alias.name: False for alias in imported}
            case _:  # an `if` or a `try` may define anything
                return None
    return None if "*" in names else names


def _folder(path: Path, zoo: Collection[str]) -> Given:
    name = _name(path.resolve().name, zoo)
    if (path / "model.opt").is_file():
        return Given(name, f"ParlAI's model in {path}", _parlai_options(path / "model"))
    if (path / "config.json").is_file():
        options = {"model": _AGENTS[_kind(path)], "hf_model": str(path.resolve())}
        return Given(name, f"the model of Hugging Face in {path}", options)
    there = sorted(entry.name for entry in _entries(path))
    holds = ", ".join(there[:SHOWN]) + (" …" if len(there) > SHOWN else "") if there else "nothing"
    raise ZooError(
        f"{path} is no model: neither config.json with weights (Hugging Face) nor model and model.opt (ParlAI) are in it, "
        f"but {holds}"
    )


def _kind(path: Path) -> str:
    if needed := needs_local_packages(path.name):
        raise ZooError(needed.what, try_=needed.try_)
    try:
        with warnings.catch_warnings():  # transformers warns about newer torch
            warnings.simplefilter("ignore")
            from transformers import AutoConfig

            config = AutoConfig.from_pretrained(str(path.resolve()))
    except Exception as error:  # whatever a broken config.json makes of the library
        raise ZooError(f"{path / 'config.json'} is no model's configuration: {' '.join(str(error).split())}") from error
    return "seq2seq" if config.is_encoder_decoder else "causal"


def _weights_file(path: Path, zoo: Collection[str]) -> Given:
    if not path.with_name(f"{path.name}.opt").is_file():
        raise ZooError(f"{path} is no model: expected {_WORTH}")
    return Given(_name(path.stem, zoo), f"ParlAI's model {path}", _parlai_options(path))


def _parlai_options(file: Path) -> dict[str, Any]:
    """Its file, and that it is to speak: quick trainings say that it need not, and that is saved with it."""
    saved = file.with_name(f"{file.name}.opt")
    try:
        silent = bool(json.loads(saved.read_bytes()).get("skip_generation"))
    except (ValueError, AttributeError) as error:
        raise ZooError(f"{saved} holds no options of ParlAI: {error}") from error
    return {"model_file": str(file.resolve()), **({"skip_generation": False} if silent else {})}


def _server(url: str, zoo: Collection[str], served_model: str | None, key_variable: str | None) -> Given:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        is_address = bool(host) and parts.port != 0  # a port that is none is found when it is asked for
    except ValueError as error:
        raise ZooError(f"{on_one_line(url, LONGEST_NAME)} is no address: {error}") from error
    if parts.username or parts.password or parts.query or not is_address:
        raise ZooError(
            "the address of a server holds no user, password or query", try_="put a key into an environment variable"
        )
    base = base_of(url)
    listed = _listed(base, key_variable) or (None if base.endswith("/v1") else _listed(f"{base}/v1", key_variable))
    if listed is None and speaks_chat(url):
        if served_model is None:
            raise ZooError(f"{base} lists no models (GET /models)", try_="say which one it has: --served-model NAME")
        listed = _Listed(base, [served_model], key_variable or "")
    if listed is None:
        name = _name(host, zoo)
        told = f"the server at {url}, asked by the JSON contract since it lists no models (GET /models)"
        key = {} if key_variable is None else {"authorization_env": key_variable}
        return Given(name, told, {"model": _AGENTS["contract"], "url": url, **key})
    model = _chosen(url, listed.models, served_model)
    options = {
        "model": _AGENTS["chat"],
        "base_url": listed.base_url,
        "served_model": model,
        "api_key_env": listed.key_variable,
    }
    return Given(_name(model.rpartition("/")[2], zoo), f"the model {model} of the server at {listed.base_url}", options)


@dataclass(frozen=True)
class _Listed:
    base_url: str
    models: list[str]
    key_variable: str


def _listed(base_url: str, key_variable: str | None) -> _Listed | None:
    """The models of an OpenAI-compatible server; None where there is something else.

    A key is sent only to a server that asks for one, or where the caller says so.
    """
    import httpx

    variable = key_variable or ""
    try:
        response = httpx.get(f"{base_url}/models", headers=_authorization(variable), timeout=LISTING_S)
        if response.status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN) and not variable:
            variable = KEY_VARIABLE
            response = httpx.get(f"{base_url}/models", headers=_authorization(variable), timeout=LISTING_S)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ZooError(
            f"{base_url} does not answer ({error or type(error).__name__}): is the server running?"
        ) from error
    if response.status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        raise ZooError(
            f"{base_url} wants a key",
            try_=f"put it into the environment variable {variable}, or name one (--api-key-env)",
        )
    try:
        names = [str(model["id"]) for model in response.json()["data"]]
    except (ValueError, KeyError, TypeError):
        return None
    return _Listed(base_url, [on_one_line(name, LONGEST_NAME) for name in names], variable)


def _authorization(variable: str) -> dict[str, str]:
    key = os.environ.get(variable, "").strip() if variable else ""
    return {"Authorization": f"Bearer {key}"} if key else {}


def _chosen(url: str, models: list[str], served_model: str | None) -> str:
    if served_model is not None:
        return served_model
    if len(models) != 1:
        names = ", ".join(models[:SHOWN]) or "none"
        raise ZooError(f"{url} lists {len(models)} models ({names})", try_="say which: --served-model NAME")
    return models[0]
