"""What `parlai-humaneval models check` finds out about a model. It downloads nothing and asks no server."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from parlai_humaneval.models.agent.isolation import quiet_parlai, quiet_tries, silent_parlai
from parlai_humaneval.models.agent.names import without_effect
from parlai_humaneval.models.backends.human import NEEDS_LAUNCH
from parlai_humaneval.models.backends.server_refusals import Mend
from parlai_humaneval.models.pool.loading import parlai_opt
from parlai_humaneval.models.zoo.entries import ModelSpec
from parlai_humaneval.models.zoo.files import PATH_OPTIONS, check_memory, missing, to_be_trained, to_download
from parlai_humaneval.models.zoo.secrets import key_trouble

State = Literal["ready", "to download", "to train", "to serve", "in a launch", "cannot"]
"""What is left to do: nothing, a download by the first load, its training, starting its server, a launch; or more."""

ADDRESSES = ("base_url", "url")
KEY_VARIABLES = ("api_key_env", "authorization_env")

NOT_TRIED = ", which is only contacted with --load"


@dataclass(frozen=True)
class Checked:
    """What was found, in sentences. ``why``: a word or two on the state. ``asks``: whom it asks; that is not tried."""

    spec: ModelSpec
    state: State
    why: str
    missing: list[str] = field(default_factory=list)
    downloads: list[str] = field(default_factory=list)
    asks: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.missing

    @property
    def notes(self) -> list[str]:
        options = self.spec.options
        idle = without_effect(options["inference"], options) if options.get("inference") else []
        return [f"With inference {options['inference']}, {', '.join(idle)} has no effect."] if idle else []

    @property
    def reason(self) -> str:
        if self.state != "cannot":
            return self.why
        if self.why == "agent" and self.spec.needs:  # what to do about it, rather than what Python says
            return f"it needs {self.spec.needs[0]}"
        return self.missing[0].rstrip(".")

    def as_json(self) -> dict[str, Any]:
        spec = self.spec
        about = {"name": spec.name, "origin": spec.origin, "size": spec.size, "memory_gb": spec.memory_gb}
        found = {"missing": self.missing, "downloads": self.downloads, "asks": self.asks, "notes": self.notes}
        return {**about, "ok": self.ok, "state": self.state, "why": self.why, **found}


def check(spec: ModelSpec) -> Checked:
    """Build the model's options with its agent's own command line and look for all that it needs on this machine."""
    if trouble := key_trouble(spec.options, "options."):
        return Checked(spec, "cannot", "key", [f"{trouble}."])
    with silent_parlai(), quiet_parlai(logging.CRITICAL):  # what is wrong is said below
        lacking = missing(spec)
        if to_be_trained(spec) and lacking and "cannot be imported" not in lacking[0]:
            wrong = _complaint(spec, _parse, _parse_training)
            state: tuple[State, str] = ("cannot", "options") if wrong else ("to train", "")
            return Checked(spec, *state, [*wrong, *lacking])
        if lacking[:1] == [NEEDS_LAUNCH]:
            return Checked(spec, "in a launch", "", asks=[NEEDS_LAUNCH])
        if lacking:
            kind = "file" if lacking[0].split()[0] in (*PATH_OPTIONS, "hf_model") else "set-up"
            kind = "agent" if "cannot be imported" in lacking[0] else kind
            return Checked(spec, "cannot", kind, lacking, to_download(spec))
        if wrong := _complaint(spec, _parse, _parse_training):
            return Checked(spec, "cannot", "options", wrong)
        downloads, asks = to_download(spec), (list(_asked(spec)) if _is_served(spec) else [])
        if wrong := _complaint(spec, check_memory):
            return Checked(spec, "cannot", "memory", wrong, downloads, asks)
    if (variable := _first(KEY_VARIABLES, spec)) and not os.environ.get(variable):
        holds = f"it contains the key of {_address(spec) or 'its server'}"
        return Checked(spec, "cannot", "key", [f"The environment variable {variable} is not set; {holds}."], asks=asks)
    if downloads:
        source = "ParlAI" if "ParlAI" in downloads[0] else "Hugging Face"
        return Checked(spec, "to download", source, downloads=downloads, asks=asks)
    if _is_served(spec):
        return Checked(spec, "to serve", _address(spec), asks=asks)
    return Checked(spec, "ready", "", asks=asks)


def impatient(spec: ModelSpec) -> ModelSpec:
    return spec.run_with(outage_s=0.0)


def load_and_ask(spec: ModelSpec) -> dict[str, Any]:
    """Load the model and say “Hi!” to it: seconds it took, and its reply; a ZooError or ModelFailed when it cannot."""
    from parlai_humaneval.models.model_pool import ModelPool

    started = time.monotonic()
    with quiet_parlai(), quiet_tries(), ModelPool([impatient(spec)]) as pool:
        loaded = time.monotonic() - started
        speaker = pool.speaker([spec.name], seed=0)
        speaker.observe({"text": "Hi!", "episode_done": False})
        return {"load_s": round(loaded, 2), "reply": speaker.act()["text"]}


def try_out(checked: Checked) -> dict[str, Any]:
    """What was found of a model, and what it answers to “Hi!”; one that lacks something is not loaded."""
    found = checked.as_json()
    if not checked.ok:
        return found
    found["asks"] = [sentence.replace(NOT_TRIED, "") for sentence in found["asks"]]
    try:
        return {**found, **load_and_ask(checked.spec), "state": "ready", "why": "", "downloads": []}
    except Exception as error:  # noqa: BLE001  (a model is somebody else's code: what it raises is the finding)
        mends = [{"option": mend.option, "value": mend.value} for mend in mends_of(error) if mend.is_settled]
        return {**found, "ok": False, "state": "cannot", "why": "load", "missing": [told(error)], "mends": mends}


def mends_of(error: Exception) -> list[Mend]:
    from parlai_humaneval.models.model_pool import ModelFailed

    return error.mends if isinstance(error, ModelFailed) else []


def told(error: Exception) -> str:
    from parlai_humaneval.models.model_pool import ModelFailed

    if isinstance(error, ModelFailed):  # the caller knows the model
        return str(error.reason)
    return str(error) if isinstance(error, (ValueError, RuntimeError)) else f"{type(error).__name__}: {error}"


def _complaint(spec: ModelSpec, *tests: Callable[[ModelSpec], object]) -> list[str]:
    try:
        for test in tests:
            test(spec)
    except ValueError as error:  # ZooError, TrainingError
        return [str(error)]
    return []


def _parse(spec: ModelSpec) -> None:
    """Have the agent's command line read the options, but for files that are not here: ParlAI would fetch those."""
    options = {key: value for key, value in spec.options.items() if key not in PATH_OPTIONS}
    if not to_download(spec) and not to_be_trained(spec):
        parlai_opt(spec)
    elif "model" in options:
        parlai_opt(spec.model_copy(update={"options": options}))


def _parse_training(spec: ModelSpec) -> None:
    if spec.training is not None and spec.training.options:
        from parlai_humaneval.models.baselines.training import check_options

        check_options(spec)


def _address(spec: ModelSpec) -> str:
    return _first(ADDRESSES, spec)


def _first(options: Sequence[str], spec: ModelSpec) -> str:
    return next((str(spec.options[key]) for key in options if spec.options.get(key)), "")


def _is_served(spec: ModelSpec) -> bool:
    return spec.origin == "endpoint" or bool(_address(spec))


def _asked(spec: ModelSpec) -> Iterator[str]:
    if address := _address(spec):
        yield f"The model sends requests to the server at {address}{NOT_TRIED}."
    if variable := _first(KEY_VARIABLES, spec):
        yield f"The model's key is read from the environment variable {variable}."
    if spec.needs:
        yield f"Needed: {'; '.join(spec.needs)}."
