"""A judge as it is written down, in YAML: which model, which prompt, what it costs, and which models are of its house.

    name: my_judge
    model: my_server            # of the zoo, or written out in place:
    # model: {options: {model: parlai_humaneval/chat_completions, base_url: …, served_model: …, temperature: 0}}
    price_per_1k: {prompt: 0.00015, completion: 0.0006}
    family: [my_small_model]    # models of the study that come from the same house

The version of a judge is a digest of all that shapes its answers; where and how fast its model is served does not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from typing_extensions import Self

from parlai_humaneval._util.data_files import read_yaml
from parlai_humaneval._util.errors import HumanevalError, InvalidValue, Problem, choose_from, value_problem
from parlai_humaneval.judges.prompts import default_template, template_trouble
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError, load_zoo, resolve
from parlai_humaneval.models.zoo.secrets import key_trouble
from parlai_humaneval.schema.judge_answers import AnswerFormat

MOST_TOKENS = 512
"""Of an answer, where the model's entry sets no limit: a judge that explains itself at length costs money."""
PER_PRICE = 1000
"""Tokens that a price is for."""
_PLACE_ALONE = frozenset(
    {
        "base_url",
        "url",
        "api_key_env",
        "authorization_env",
        "request_timeout_s",
        "request_retries",
        "connect_retries",
        "concurrency",
        "stream",
        "price_prompt",
        "price_completion",
        "currency",
    }
)
"""Options that say where a model is, how patiently it is asked and what it costs: answers are the same without them."""


class JudgeError(HumanevalError, ValueError):
    """A judge that cannot be used as it is written down; the message says where, and what to do."""


class Price(BaseModel):
    """Of a thousand tokens, in ``currency``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    completion: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    currency: Annotated[str, Field(min_length=1, max_length=10)] = "USD"

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Of one request."""
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / PER_PRICE


class JudgeFile(BaseModel):
    """The YAML file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,59}$", description="what the judge is called")]
    model: str | dict[str, Any] = Field(description="a model of the zoo, by name; or an entry, with its `options`")
    zoo_files: list[str] = Field(default_factory=list, description="files of your own that have the model")
    prompt: str = Field("", description="your own prompt, with its places in braces; empty: the packaged one")
    prompt_file: str = Field("", description="a file with it instead")
    answer_format: AnswerFormat = Field(
        "json",
        description="`json`: an object; `letter`: the letter alone, where one of several is chosen; `score`: a number for "
        "each candidate by itself, of which the highest is chosen",
    )
    both_orders: bool = Field(True, description="ask with the candidates the other way round, too")
    price_per_1k: Price | None = Field(
        None, description="`prompt`, `completion` and `currency` of 1,000 tokens; else the prices of the zoo entry"
    )
    family: list[str] = Field(
        default_factory=list, description="models of the study that come from the judge's own house"
    )
    max_reply_tokens: Annotated[int, Field(ge=1)] = Field(
        MOST_TOKENS, description="longest answer, for servers whose entry has no `max_tokens`; a budget counts with it"
    )
    seed: Annotated[int, Field(ge=0)] = Field(0, description="of what the model draws")
    version: str = Field("", description="your own mark of a version, such as of the function's code")

    @field_validator("version", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, int | float) else value

    @model_validator(mode="after")
    def _one_prompt(self) -> Self:
        if self.prompt and self.prompt_file:
            raise InvalidValue("prompt and prompt_file are both given", try_="keep one of them")
        return self


class JudgeSpec(BaseModel):
    """A judge that is ready to be asked. ``template``: of its prompts; ``version``: see above."""

    model_config = ConfigDict(frozen=True)

    name: str
    model: ModelSpec
    template: str
    answer_format: AnswerFormat
    both_orders: bool
    price: Price | None
    family: tuple[str, ...]
    max_reply_tokens: int
    seed: int
    version: str


def load_judge(path: Path) -> JudgeSpec:
    """Read a judge's YAML file.

    Raises:
        JudgeError: it cannot be read, has a key that there is not, or a value that does not fit.
        ZooError: its model is not in the zoo, or its zoo file is wrong.
    """
    given = _read(path)
    template = _template(given, path)
    if trouble := template_trouble(template):
        raise JudgeError(trouble, where=f"{path}: {'prompt_file' if given.prompt_file else 'prompt'}")
    model = _model(given, path)
    # A server's answers are as long as the budget counts with, unless its entry says how long they may be.
    served = "served_model" in model.options and model.options.get("max_tokens") is None
    options = {**model.options, "max_tokens": given.max_reply_tokens} if served else dict(model.options)
    return JudgeSpec(
        name=given.name,
        model=model.model_copy(update={"options": options}),
        template=template,
        answer_format=given.answer_format,
        both_orders=given.both_orders and given.answer_format != "score",  # each is scored alone: no order
        price=given.price_per_1k or _price(options),
        family=tuple(dict.fromkeys(given.family)),
        max_reply_tokens=int(options.get("max_tokens") or given.max_reply_tokens),
        seed=given.seed,
        version=_version(given, options, template),
    )


def _read(path: Path) -> JudgeFile:
    data = read_yaml(path, "name the YAML file of a judge", JudgeError)
    if not isinstance(data, dict):
        raise JudgeError(f"{path} holds no judge", try_="give it at least name: and model:")
    try:
        return JudgeFile.model_validate(data)
    except ValidationError as error:
        raise JudgeError(_key_problem(path, problem) for problem in error.errors()) from error


def _key_problem(path: Path, error: Mapping[str, Any]) -> Problem:
    place = ".".join(str(part) for part in error["loc"] if part not in ("str", "dict[str,any]"))
    where = f"{path}: {place}" if place else f"{path}"
    if error["type"] == "extra_forbidden":
        name, known = str(error["loc"][-1]), (Price if len(error["loc"]) > 1 else JudgeFile).model_fields
        return JudgeError("there is no such key", where=where, **choose_from(name, known)).problems[0]
    if error["type"] == "missing":
        return Problem(f"{where} is missing", try_=("write it down as the page on judges shows",))
    return (
        Problem(str(error["msg"]).removeprefix("Value error, "), where) if place else value_problem(error).within(where)
    )


def _template(given: JudgeFile, path: Path) -> str:
    if not given.prompt_file:
        return given.prompt or default_template()
    file = path.parent / Path(given.prompt_file).expanduser()
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise JudgeError(f"{file} cannot be read ({error})", where=f"{path}: prompt_file") from error


def _model(given: JudgeFile, path: Path) -> ModelSpec:
    if isinstance(given.model, str):
        files = [path.parent / Path(file).expanduser() for file in given.zoo_files]
        (found,) = resolve([given.model], load_zoo(more=files))
        return found
    try:
        spec = ModelSpec.model_validate({"name": given.name, **given.model, "folder": path.parent.resolve()})
    except ValidationError as error:
        problems = [{**problem, "loc": ("model", *problem["loc"])} for problem in error.errors()]
        raise JudgeError(Problem(str(one["msg"]), f"{path}: {_place(one)}") for one in problems) from error
    if "model" not in spec.options and "model_file" not in spec.options:
        raise JudgeError("expected `model` (an agent) or `model_file` (a trained one)", where=f"{path}: model.options")
    if trouble := key_trouble(spec.options, "model.options."):
        raise ZooError(trouble, where=path)
    return spec


def _place(problem: Mapping[str, Any]) -> str:
    return ".".join(map(str, problem["loc"]))


def _price(options: Mapping[str, Any]) -> Price | None:
    """What the zoo entry says, which is per million tokens; None where it does not say both."""
    prompt, completion = options.get("price_prompt"), options.get("price_completion")
    if prompt is None or completion is None:
        return None
    currency = str(options.get("currency") or "USD")
    return Price(prompt=float(prompt) / PER_PRICE, completion=float(completion) / PER_PRICE, currency=currency)


def _version(given: JudgeFile, options: Mapping[str, Any], template: str) -> str:
    shaping = {
        "options": {name: value for name, value in sorted(options.items()) if name not in _PLACE_ALONE},
        "template": template,
        "answer_format": given.answer_format,
        "both_orders": given.both_orders,
        "seed": given.seed,
        "version": given.version,
    }
    return hashlib.sha256(json.dumps(shaping, sort_keys=True, default=str).encode()).hexdigest()[:12]
