"""What `parlai-humaneval models check` finds out about a model. It downloads nothing and asks no server."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from parlai_humaneval.models.agent.isolation import quiet_parlai, quiet_tries, silent_parlai
from parlai_humaneval.models.agent.options import without_effect
from parlai_humaneval.models.backends.human import NEEDS_LAUNCH
from parlai_humaneval.models.backends.memory import check_memory
from parlai_humaneval.models.backends.server_refusals import Mend
from parlai_humaneval.models.pool.loading import parlai_opt
from parlai_humaneval.models.zoo.entries import ModelSpec
from parlai_humaneval.models.zoo.files import PATH_OPTIONS, missing, to_be_trained, to_download
from parlai_humaneval.models.zoo.secrets import key_trouble

State = Literal["ready", "to download", "to train", "to serve", "in a launch", "cannot"]
"""What is left to do: nothing; the first load downloads; its training is run; its server is started; nothing, but it talks
in a launch only; or more than that."""

ADDRESSES = ("base_url", "url")
KEY_VARIABLES = ("api_key_env", "authorization_env")
"""Options of the agents that ask a server: where it is, and the environment variable that holds the key."""

NOT_TRIED = ", which is not tried here; --load does"


@dataclass(frozen=True)
class Checked:
    """What was found. ``why``: a word or two on the state. The lists hold sentences.

    ``missing``: why it cannot be used now. ``downloads``: what its first load downloads. ``asks``: whom it asks for
    replies, and how it gets in; whether the server is there is not tried.
    """

    spec: ModelSpec
    state: State
    why: str
    missing: list[str]
    downloads: list[str]
    asks: list[str]

    @property
    def ok(self) -> bool:
        """Whether it can be used, once it is downloaded or served."""
        return not self.missing

    @property
    def notes(self) -> list[str]:
        """Sentences on options that stop nothing, and change nothing either."""
        options = self.spec.options
        idle = without_effect(options["inference"], options) if options.get("inference") else []
        return [f"With inference {options['inference']}, {', '.join(idle)} changes nothing."] if idle else []

    @property
    def reason(self) -> str:
        """``why`` for people: where it cannot be used, what it lacks."""
        if self.state != "cannot":
            return self.why
        if self.why == "agent" and self.spec.needs:  # what to do about it, rather than what Python says
            return f"it needs {self.spec.needs[0]}"
        return self.missing[0].rstrip(".")

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        spec = self.spec
        about = {"name": spec.name, "origin": spec.origin, "size": spec.size, "memory_gb": spec.memory_gb}
        found = {"missing": self.missing, "downloads": self.downloads, "asks": self.asks, "notes": self.notes}
        return {**about, "ok": self.ok, "state": self.state, "why": self.why, **found}


def check(spec: ModelSpec) -> Checked:
    """Build the model's options with its agent's own command line and look for all that it needs on this machine."""
    if trouble := key_trouble(spec.options, "options."):
        return Checked(spec, "cannot", "key", [f"{trouble}."], [], [])
    with silent_parlai(), quiet_parlai(logging.CRITICAL):  # what is wrong is said below
        lacking = missing(spec)
        if to_be_trained(spec) and lacking and "cannot be imported" not in lacking[0]:
            wrong = _complaint(_parse, spec) or _complaint(_parse_training, spec)
            return Checked(
                spec, "cannot" if wrong else "to train", "options" if wrong else "", [*wrong, *lacking], [], []
            )
        if lacking[:1] == [NEEDS_LAUNCH]:
            return Checked(spec, "in a launch", "", [], [], [NEEDS_LAUNCH])
        if lacking:
            return Checked(spec, "cannot", _missing_kind(lacking[0]), lacking, to_download(spec), [])
        if wrong := _complaint(_parse, spec) or _complaint(_parse_training, spec):
            return Checked(spec, "cannot", "options", wrong, [], [])
        downloads, asks = to_download(spec), (list(_asked(spec)) if _is_served(spec) else [])
        if wrong := _complaint(check_memory, spec):
            return Checked(spec, "cannot", "memory", wrong, downloads, asks)
    if key := _missing_key(spec):
        return Checked(spec, "cannot", "key", [key], [], asks)
    if downloads:
        return Checked(
            spec, "to download", "ParlAI" if "ParlAI" in downloads[0] else "Hugging Face", [], downloads, asks
        )
    if _is_served(spec):
        return Checked(spec, "to serve", _address(spec), [], [], asks)
    return Checked(spec, "ready", "", [], [], asks)


def impatient(spec: ModelSpec) -> ModelSpec:
    """The same model for somebody who wants to know at once that its server is not there."""
    return spec.model_copy(update={"running": spec.running.model_copy(update={"outage_s": 0.0})})


def load_and_ask(spec: ModelSpec) -> dict[str, Any]:
    """Load the model and say “Hi!” to it: seconds it took to load, and its reply.

    Raises:
        ZooError, ModelFailed: when it cannot be loaded, or does not answer.
    """
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
    """Changes of a model's zoo entry after which its server would not refuse; empty where it is something else."""
    from parlai_humaneval.models.model_pool import ModelFailed

    return error.mends if isinstance(error, ModelFailed) else []


def told(error: Exception) -> str:
    """What went wrong, with the kind of error where nobody wrote it for people."""
    return str(error) if isinstance(error, (ValueError, RuntimeError)) else f"{type(error).__name__}: {error}"


def _missing_kind(sentence: str) -> str:
    if "cannot be imported" in sentence:
        return "agent"
    return "file" if sentence.split()[0] in (*PATH_OPTIONS, "hf_model") else "set-up"


def _complaint(test: Callable[[ModelSpec], object], spec: ModelSpec) -> list[str]:
    try:
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
        yield f"It asks the server at {address}{NOT_TRIED}."
    if variable := _first(KEY_VARIABLES, spec):
        yield f"Its key is read from the environment variable {variable}."
    if spec.needs:
        yield f"Needed: {'; '.join(spec.needs)}."


def _missing_key(spec: ModelSpec) -> str:
    variable = _first(KEY_VARIABLES, spec)
    if not variable or os.environ.get(variable):
        return ""
    return f"The environment variable {variable} is not set; it holds the key of {_address(spec) or 'its server'}."
