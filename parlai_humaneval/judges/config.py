"""A judge as it is written down, in YAML: which model (``model: my_server`` of the zoo, or an entry), which prompt,
what it costs (``price_per_1k``), and which models are of its house (``family``). The version of a judge is a digest of
all that shapes its answers; where and how fast its model is served does not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator
from typing_extensions import Self

from parlai_humaneval._util.data_files import read_text, read_yaml
from parlai_humaneval._util.errors import HumanevalError, InvalidValue, Problem, choose_from, value_problem
from parlai_humaneval.judges.questions import JudgeQuestion, default_template, prompt_of, reminder_of, template_trouble
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError, load_zoo, resolve
from parlai_humaneval.models.zoo.secrets import key_trouble
from parlai_humaneval.schema.judge_answers import AnswerFormat

MOST_TOKENS = 512
"""Limit on an answer, if the model's entry sets none: a judge that explains itself at length costs money."""
PER_PRICE = 1000
_PLACE_OPTIONS = """
    base_url url api_key_env authorization_env request_timeout_s request_retries connect_retries concurrency stream
    price_prompt price_completion currency
"""
_PLACE_ALONE = frozenset(_PLACE_OPTIONS.split())
"""Options that say where a model is, how patiently it is asked and what it costs: answers are the same without them."""


class JudgeError(HumanevalError, ValueError):
    """A judge that cannot be used as it is written down; the message says where, and what to do."""


class Price(BaseModel, extra="forbid", frozen=True):
    """Price of a thousand tokens, in ``currency``."""

    prompt: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    completion: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    currency: Annotated[str, Field(min_length=1, max_length=10)] = "USD"

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / PER_PRICE


class JudgeFile(BaseModel, extra="forbid", frozen=True):
    """The YAML file."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,59}$", description="name of the judge")]
    model: str | dict[str, Any] = Field(description="name of a model in the zoo, or an entry with its `options`")
    zoo_files: list[str] = Field(default_factory=list, description="your own zoo files with the model")
    prompt: str = Field("", description="your own prompt, with placeholders in braces; empty: the packaged one")
    prompt_file: str = Field("", description="or a file that contains the prompt")
    answer_format: AnswerFormat = Field(
        "json",
        description="`json`: an object; `letter`: the letter alone, where one of several is chosen; `score`: a number for "
        "each candidate on its own, and the highest is chosen",
    )
    both_orders: bool = Field(True, description="also ask with the candidates in reverse order")
    price_per_1k: Price | None = Field(
        None,
        description="`prompt`, `completion` and `currency` of 1,000 tokens; by default, the prices of the zoo entry",
    )
    family: list[str] = Field(default_factory=list, description="models of the study by the judge's own maker")
    max_reply_tokens: Annotated[int, Field(ge=1)] = Field(
        MOST_TOKENS, description="longest answer, for servers whose entry has no `max_tokens`; a budget counts with it"
    )
    seed: Annotated[int, Field(ge=0)] = Field(0, description="random seed of the model")
    version: str = Field("", description="your own version label, such as that of the function's code")

    @field_validator("version", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, int | float) else value

    @model_validator(mode="after")
    def _one_prompt(self) -> Self:
        if self.prompt and self.prompt_file:
            raise InvalidValue("prompt and prompt_file are both given", try_="keep one of them")
        return self


class JudgeSpec(BaseModel, frozen=True):
    """A judge that is ready to be asked. ``template``: of its prompts; ``version``: see above."""

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

    @property
    def sees(self) -> bool:
        """Whether its model takes pictures."""
        return bool(self.model.options.get("images"))


def load_judge(path: Path, limit: str | None = None) -> JudgeSpec:
    """Read a judge's YAML file; a JudgeError for a wrong key or value, a ZooError where its model is not in the zoo.
    ``limit``: the setting that limits what the judge may cost; a JudgeError where it has no price."""
    given = _read(path)
    template = _template(given, path)
    if trouble := template_trouble(template):
        raise JudgeError(trouble, where=f"{path}: {'prompt_file' if given.prompt_file else 'prompt'}")
    model = _model(given, path)
    # A server's answers are as long as the budget counts with, unless its entry says how long they may be.
    served = "served_model" in model.options and model.options.get("max_tokens") is None
    options = {**model.options, "max_tokens": given.max_reply_tokens} if served else dict(model.options)
    shaping = {
        "options": {name: value for name, value in sorted(options.items()) if name not in _PLACE_ALONE},
        "template": template,
        **given.model_dump(include={"answer_format", "both_orders", "seed", "version"}),
    }
    price = given.price_per_1k or _price(options)
    if limit is not None and price is None:
        what = f"the judge has no price, which {limit} needs"
        raise JudgeError(what, where=path, try_="add price_per_1k: {prompt: …, completion: …}")
    return JudgeSpec(
        name=given.name,
        model=model.model_copy(update={"options": options}),
        template=template,
        answer_format=given.answer_format,
        both_orders=given.both_orders and given.answer_format != "score",  # each is scored alone: no order
        price=price,
        family=tuple(dict.fromkeys(given.family)),
        max_reply_tokens=int(options.get("max_tokens") or given.max_reply_tokens),
        seed=given.seed,
        version=hashlib.sha256(json.dumps(shaping, sort_keys=True, default=str).encode()).hexdigest()[:12],
    )


def _read(path: Path) -> JudgeFile:
    data = read_yaml(path, "name the YAML file of a judge", JudgeError)
    if not isinstance(data, dict):
        raise JudgeError(f"{path} contains no judge", try_="the file needs at least name: and model:")
    try:
        return JudgeFile.model_validate(data)
    except ValidationError as error:
        raise JudgeError(_key_problem(path, problem) for problem in error.errors()) from error


def _key_problem(path: Path, error: Mapping[str, Any]) -> Problem:
    place = ".".join(str(part) for part in error["loc"] if part not in ("str", "dict[str,any]"))
    where = f"{path}: {place}" if place else f"{path}"
    if error["type"] == "extra_forbidden":
        name, known = str(error["loc"][-1]), (Price if len(error["loc"]) > 1 else JudgeFile).model_fields
        return JudgeError("this key does not exist", where=where, **choose_from(name, known)).problems[0]
    if error["type"] == "missing":
        return Problem(f"{where} is missing", try_=("add it, as the page on judges shows",))
    return (
        Problem(str(error["msg"]).removeprefix("Value error, "), where) if place else value_problem(error).within(where)
    )


def _template(given: JudgeFile, path: Path) -> str:
    if not given.prompt_file:
        return given.prompt or default_template()
    return read_text(path.parent / Path(given.prompt_file).expanduser(), f"correct prompt_file in {path}", JudgeError)


def _model(given: JudgeFile, path: Path) -> ModelSpec:
    if isinstance(given.model, str):
        files = [path.parent / Path(file).expanduser() for file in given.zoo_files]
        (found,) = resolve([given.model], load_zoo(more=files))
        return found
    try:
        spec = ModelSpec.model_validate({"name": given.name, **given.model, "folder": path.parent.resolve()})
    except ValidationError as error:
        told = ((value_problem(one), ".".join(map(str, ("model", *one["loc"])))) for one in error.errors())
        raise JudgeError(problem.within(f"{path}: {place}") for problem, place in told) from error
    if "model" not in spec.options and "model_file" not in spec.options:
        raise JudgeError("expected `model` (an agent) or `model_file` (a trained one)", where=f"{path}: model.options")
    if trouble := key_trouble(spec.options, "model.options."):
        raise ZooError(trouble, where=path)
    return spec


def _price(options: Mapping[str, Any]) -> Price | None:
    prompt, completion = options.get("price_prompt"), options.get("price_completion")
    if prompt is None or completion is None:
        return None
    currency = str(options.get("currency") or "USD")
    return Price(prompt=float(prompt) / PER_PRICE, completion=float(completion) / PER_PRICE, currency=currency)


AROUND = 64
"""Tokens that a server may put around what it is sent: roles, marks of its template."""
LETTERS_OF_A_TOKEN = 4
"""In English, about; no token is less than one byte."""
SHORT_REPLY = 12
IMAGE_TOKENS = 1600  # for an image in the store, on servers that count many tokens for it


@dataclass(frozen=True)
class Usage:
    """Tokens of one question: its requests, and what they may hold."""

    requests: int
    prompt_tokens: int
    completion_tokens: int

    def cost(self, price: Price | None) -> float | None:
        return None if price is None else price.cost(self.prompt_tokens, self.completion_tokens)


def texts_of(question: JudgeQuestion, spec: JudgeSpec) -> list[str]:
    if spec.answer_format != "score":
        return [prompt_of(question, spec.template, spec.answer_format)]
    said = ["\n".join(line.text for line in one.lines) for one in question.conversations]
    return [f"{said[0]}\n{reply.text}" for reply in question.replies] or said


def about(question: JudgeQuestion, spec: JudgeSpec, reply_tokens: float = SHORT_REPLY) -> Usage:
    texts = [f"{_system(spec)}{text}" for text in texts_of(question, spec)]
    tokens = sum(tokens_of(text) for text in texts) + spec.sees * len(question.images) * IMAGE_TOKENS * len(texts)
    return Usage(len(texts), tokens, round(len(texts) * min(reply_tokens, spec.max_reply_tokens)))


def at_most(question: JudgeQuestion, spec: JudgeSpec) -> Usage:
    """What it takes where every letter is a token, every reply as long as may be, and the judge is asked twice."""
    texts = texts_of(question, spec)
    pictures = spec.sees * len(question.images) * IMAGE_TOKENS
    first = sum(_bytes(text) for text in texts) + len(texts) * (AROUND + _bytes(_system(spec)) + pictures)
    replies = len(texts) * spec.max_reply_tokens
    if spec.answer_format == "score":
        return Usage(len(texts), first, replies)
    again = first + spec.max_reply_tokens + _bytes(reminder_of(question, spec.answer_format)) + AROUND
    return Usage(2, first + again, 2 * replies)


def tokens_of(text: str) -> int:
    return -(-len(text) // LETTERS_OF_A_TOKEN)


def _bytes(text: str) -> int:
    return len(text.encode())


def _system(spec: JudgeSpec) -> str:
    return str(spec.model.options.get("system_prompt") or "")


class Budget:
    """What may be spent, what is, and what those under way may still come to. ``most`` None: as much as it takes."""

    def __init__(self, most: float | None, spec: JudgeSpec) -> None:
        self.most, self.spent = most, 0.0
        self._spec, self._reserved = spec, 0.0

    def most_of(self, question: JudgeQuestion) -> float:
        return at_most(question, self._spec).cost(self._spec.price) or 0.0

    def reserve(self, question: JudgeQuestion) -> float | None:
        cost = self.most_of(question)
        if self.most is not None and self.spent + self._reserved + cost > self.most:
            return None
        self._reserved += cost
        return cost

    @property
    def is_overspent(self) -> bool:
        return self.most is not None and self.spent > self.most

    def settle(self, reserved: float, cost: float) -> None:
        self._reserved -= reserved
        self.spent += cost


@dataclass(frozen=True)
class Estimate:
    """What questions will take, before they are asked. Costs are None where the judge has no price."""

    questions: int
    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    cost_at_most: float | None
    currency: str | None


def estimate(questions: Sequence[JudgeQuestion], spec: JudgeSpec, reply_tokens: float = SHORT_REPLY) -> Estimate:
    likely = [about(question, spec, reply_tokens) for question in questions]
    prompt, completion = sum(one.prompt_tokens for one in likely), sum(one.completion_tokens for one in likely)
    price = spec.price
    return Estimate(
        questions=len(questions),
        requests=sum(one.requests for one in likely),
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost=None if price is None else price.cost(prompt, completion),
        cost_at_most=None if price is None else sum(at_most(one, spec).cost(price) or 0.0 for one in questions),
        currency=None if price is None else price.currency,
    )
