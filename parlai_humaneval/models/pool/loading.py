"""A spec → a loaded ParlAI agent, its side of a conversation, and the pool of loaded agents."""

from __future__ import annotations

import atexit
import logging
import os
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parlai.core.agents import Agent, create_agent, create_agent_from_shared
from parlai.core.message import Message
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser
from typing_extensions import Self

from parlai_humaneval._util.errors import HumanevalError, InvalidValue
from parlai_humaneval._util.installing import check_release, lacking
from parlai_humaneval.dialogues.dialogue import with_persona
from parlai_humaneval.models.agent.dialogue_agent import Speaker
from parlai_humaneval.models.agent.isolation import isolate_model_code
from parlai_humaneval.models.agent.names import UnknownOptions, needs_local_packages, parse, refusal
from parlai_humaneval.models.backends.base import OutsideAgent
from parlai_humaneval.models.pool.breaker import OUTAGE_S, Request
from parlai_humaneval.models.pool.worker import ModelWorker
from parlai_humaneval.models.zoo import files
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError
from parlai_humaneval.models.zoo.secrets import key_trouble
from parlai_humaneval.schema.records import ModelHealth

logger = logging.getLogger(__name__)

DEFAULTS: Mapping[str, Any] = {
    # 'train' would build an optimiser, that is up to three times the memory.
    "datatype": "valid",
    "interactive_mode": True,
}
SCRIPT_OPTIONS = ("interactive_mode",)
"""Options that agents read but that ParlAI's scripts, not the agents, declare."""


def options_of(spec: ModelSpec) -> dict[str, Any]:
    """The spec's options over our defaults, with ``home:`` paths resolved and the device in ParlAI's words."""
    merged = {**DEFAULTS, **spec.options, **device_options(spec.device)}
    for key in files.PATH_OPTIONS:
        if isinstance(merged.get(key), str):
            merged[key] = files.expand_home(merged[key])
    return merged


def device_options(device: str | None) -> dict[str, Any]:
    if device is None:
        return {}
    return {"no_cuda": True} if device == "cpu" else {"no_cuda": False, "gpu": int(device.partition(":")[2])}


def parlai_opt(spec: ModelSpec) -> Opt:
    """The spec as a ParlAI ``Opt``, every option checked by the agent's own command line; a ZooError where one is wrong."""
    if key := key_trouble(spec.options, "options."):
        raise ZooError(key, where=spec.name)
    options = options_of(spec)
    undeclared = {key: options.pop(key) for key in SCRIPT_OPTIONS if key in options}
    try:
        files.make_importable(spec.folder)
        opt = _parsed(options, spec)
        trouble = refusal({**opt, **_saved(opt), **opt["override"]})
    except UnknownOptions as error:
        what = f"ParlAI's agent has no option called {', '.join(error.names)}"
        raise ZooError(what, where=f"{spec.name}: options", misspelt=error.problems[0].misspelt) from error
    except ZooError:
        raise
    except (ValueError, TypeError, ImportError, AttributeError) as error:
        if isinstance(error, ImportError) and (packages := needs_local_packages(spec.name)):
            raise ZooError(packages.what, try_=packages.try_) from error
        raise ZooError(error, where=f"{spec.name}: options") from error
    except (RuntimeError, OSError) as error:  # ParlAI downloads a zoo model while it reads its options
        what = f"{spec.name} cannot be fetched: {error} (ParlAI downloads its files from the internet at first use)"
        raise ZooError(what, try_=f"`parlai-humaneval models check {spec.name}` lists these files") from error
    if trouble:
        raise ZooError(trouble, where=f"{spec.name}: options")
    opt.update(undeclared)
    opt["override"].update(undeclared)
    if spec.folder is not None:
        opt[files.FOLDER_OPTION] = str(spec.folder)
    return opt


def _saved(opt: Opt) -> Opt:
    file = Path(f"{opt.get('model_file')}.opt")
    saved = Opt.load(str(file)) if file.is_file() else Opt()
    if "beam_size" in saved and "inference" not in saved:  # before there were others, several beams meant beam search
        saved["inference"] = "beam" if saved["beam_size"] > 1 else "greedy"
    return saved


def _parsed(options: Mapping[str, Any], spec: ModelSpec) -> Opt:
    """The options as the agent's command line reads them, without the device where it takes none and needs none."""
    placed = device_options(spec.device).keys() - spec.options.keys()
    try:
        return parse(ParlaiParser(True, True), options)
    except UnknownOptions as error:
        if placed.isdisjoint(error.names):
            raise
        if spec.device != "cpu":
            raise ZooError(f"{spec.name} cannot be put on a device: its agent has no option for one") from error
    return parse(ParlaiParser(True, True), {key: options[key] for key in options.keys() - placed})


def load_agent(spec: ModelSpec) -> Agent:
    """Load the model, weights and all; a ZooError when something is missing, or the agent cannot be built."""
    check_release("parlai")
    if absent := files.missing(spec):
        raise ZooError(f"{spec.name} cannot be loaded: {' '.join(absent)}")
    files.check_memory(spec)
    opt, threads = parlai_opt(spec), spec.running.threads
    # An agent's own limit of requests at once follows `running.threads`, where the entry leaves it open.
    if threads is not None and "concurrency" in opt and "concurrency" not in spec.options:
        opt["concurrency"] = opt["override"]["concurrency"] = threads
    elif threads is not None and spec.options.get("concurrency", threads) != threads:
        logger.warning(
            "%s: running.threads is %s and options.concurrency is %s. The lower value limits the model's parallel requests. "
            "Setting running.threads is enough",
            spec.name, threads, spec.options["concurrency"],
        )  # fmt: skip
    try:
        with files.default_gpu_kept(spec), isolate_model_code():
            agent: Agent = create_agent(opt, requireModelExists=True)
        if _is_generator(agent):  # each conversation draws its words by its own seed
            from parlai_humaneval.models.pool.seeded_sampling import seeded

            return seeded(agent)
        return agent
    except Exception as error:  # an agent's constructor may raise anything
        if files.is_out_of_memory(error):
            raise files.out_of_memory(spec) from error
        where = f"{spec.name} cannot be loaded"
        if isinstance(error, HumanevalError):
            raise ZooError(error, where=where) from error
        if package := lacking(error):
            raise ZooError(package.what, where=where, try_=package.try_) from error
        raise ZooError(f"{type(error).__name__}: {error}", where=where) from error


def _is_generator(agent: Agent) -> bool:
    generators = sys.modules.get("parlai.core.torch_generator_agent")
    # Without the module, torch, which takes seconds, is not there either.
    return generators is not None and isinstance(agent, generators.TorchGeneratorAgent)


GENERATION_OPTIONS = frozenset(
    {
        "inference", "beam_size", "beam_min_length", "beam_block_ngram", "beam_context_block_ngram",
        "beam_block_full_context", "beam_length_penalty", "beam_delay", "temperature", "topk", "topp", "lambda_decay",
        "omega_bound", "p_reset", "skip_generation", "compute_tokenized_bleu",
    }
)  # fmt: skip
"""Options that ParlAI's TorchGeneratorAgent reads again for every clone, and that change nothing in its network."""


def generation_options(agent: Agent) -> frozenset[str]:
    own: frozenset[str] = getattr(agent, "GENERATION_OPTIONS", frozenset())
    return own | GENERATION_OPTIONS if _is_generator(agent) else own


def twin_of(spec: ModelSpec, loaded: Mapping[str, tuple[ModelSpec, Agent]]) -> Agent | None:
    """An agent for ``spec`` over the weights of one of ``loaded`` (name → spec and agent); None where none has them."""
    for other, agent in loaded.values():
        free = generation_options(agent)
        mine, theirs = ({k: v for k, v in options_of(one).items() if k not in free} for one in (spec, other))
        if not isinstance(agent, OutsideAgent) and mine == theirs:
            # For the search: the zoo file's value, else the one saved with the model, else the default, as in ParlAI.
            asked = parlai_opt(spec)
            known = {**asked, **_saved(asked), **asked["override"]}
            opt = Opt({**agent.opt, **{key: known[key] for key in generation_options(agent) if key in known}})
            opt["override"] = asked["override"]
            # A TorchAgent reads its options from `shared`, not from its other argument.
            return create_agent_from_shared({**agent.share(), "opt": opt})
    return None


WITHHELD = frozenset(
    {"labels", "eval_labels", "episode_done", "reward", "metrics", "text_candidates", "candidates", "text"}
)
"""Fields that no child sees: a label would enter its history, and an end of episode have it wait for a reset."""


@dataclass(frozen=True)
class Utterance:
    """A line of the dialogue, with the other fields of its message (an image, candidates to rank, …)."""

    speaker: Speaker
    text: str
    extra: Mapping[str, Any] = field(default_factory=dict)


class Child:
    """Keeps one clone of a model level with one dialogue; a failed one is replaced. ``persona``: sentences of one line
    each, else a ValueError, which are heard once, at the start."""

    def __init__(self, worker: ModelWorker, seed: int, persona: Sequence[str] = ()) -> None:
        self.worker = worker
        self._seed = seed
        if isinstance(persona, str):
            raise InvalidValue(
                f"a persona is a list of sentences, not a single text: “{persona}”", try_="put it in a list"
            )
        # A line break within a sentence would make its rest words of the person.
        if wrong := [sentence for sentence in persona if len(sentence.splitlines()) != 1 or not sentence.strip()]:
            what = f"a sentence of a persona must be one line that is not empty, not {wrong[0]!r}"
            raise InvalidValue(what, try_="write one sentence per entry")
        self._persona = tuple(persona)
        self.renew()

    @property
    def model(self) -> str:
        return self.worker.name

    def renew(self, attempt: int = 0, line: int = 0) -> None:
        """Start again with a fresh clone; each ``attempt`` over 0 at each ``line`` has a chance of its own."""
        self.agent: Agent = self.worker.clone()
        if hasattr(self.agent, "set_seed"):
            chance = random.Random(f"attempt|{self._seed}|{line}|{attempt}")
            self.agent.set_seed(chance.getrandbits(31) if attempt else self._seed)
        # For those who know conversations by their seeds, whatever the chance.
        if hasattr(self.agent, "set_conversation"):
            self.agent.set_conversation(self._seed)
        self._heard = 0
        self._knows_persona = not self._persona
        self._observation: Any = None
        self._request: Request | None = None

    def hear(self, dialogue: Sequence[Utterance]) -> None:
        try:
            self._catch_up(dialogue)
        except Exception:
            logger.exception("%s failed to process a message; a fresh copy will process the dialogue again", self.model)
            self.renew()

    def ask(self, dialogue: Sequence[Utterance], hears: Callable[[str], None] | None = None) -> Request:
        """Queue a request for the next line of ``dialogue``, which ``hears`` gets as it grows where the model can tell;
        what the agent raises at hearing the dialogue goes through."""
        self._catch_up(dialogue)
        if self._observation is None:  # the Bot Speaker spoke last and is to go on
            with self.worker.observing:
                self._observe(None, {})
        self._request = self.worker.submit(self.agent, self._observation, hears)
        return self._request

    def interrupted(self) -> bool:
        return self._request is not None and self._request.wait.since is not None

    def absent(self) -> bool:
        answered = self._request is not None and self._request.future.done()
        return not answered and hasattr(self.agent, "partner_absent") and bool(self.agent.partner_absent())

    def hold(self, away: bool) -> None:
        if hasattr(self.agent, "person_away"):
            self.agent.person_away(away)

    def leave(self) -> None:
        if hasattr(self.agent, "leave"):
            self.agent.leave()
        if self._request is not None:
            self.worker.breaker.withdraw(self._request)

    def _catch_up(self, dialogue: Sequence[Utterance]) -> None:
        with self.worker.observing:
            for utterance in dialogue[self._heard :]:
                self._request = None
                if utterance.speaker == "human":
                    self._observe(utterance.text, utterance.extra)
                else:
                    if hasattr(self.agent, "self_observe"):
                        if self.agent.observation is None:  # TorchAgent refuses to hear itself before it heard anything
                            self._observe(None, {})
                        said = {**utterance.extra, "id": self.agent.id, "text": utterance.text, "episode_done": False}
                        with isolate_model_code():
                            self.agent.self_observe(Message(said))
                    self._observation = None
                self._heard += 1

    def _observe(self, text: str | None, extra: Mapping[str, Any]) -> None:
        if not self._knows_persona:
            text, self._knows_persona = with_persona(self._persona, text or ""), True
        # A text of None leaves the history as it is, yet has TorchAgent vectorise it.
        message = Message({**extra, "text": text, "episode_done": False})
        with isolate_model_code():
            self._observation = self.agent.observe(message)


class LoadedModels:
    """Loads each model once and lets any number of conversations ask it; requests to one model are answered in batches.

    ``timeout_s``: seconds that a conversation waits before it asks again, up to ``retries`` times. ``outage_s``: how
    long it waits for a server that is not there. ``threads``: of a model, for all or by name; 1 for one that computes
    here. ``torch_threads``: for one operation; by default the processors of this process (``OMP_NUM_THREADS``) are
    shared out among the models and their copies.
    """

    def __init__(
        self,
        specs: Sequence[ModelSpec],
        *,
        timeout_s: float = 60.0,
        retries: int = 2,
        outage_s: float = OUTAGE_S,
        max_batch: int = 32,
        seed: int = 0,
        threads: int | Mapping[str, int] = 1,
        torch_threads: int | None = None,
    ) -> None:
        names = [spec.name for spec in specs]
        if len(set(names)) < len(names):
            raise ZooError(f"the pool was given a model twice: {', '.join(names)}")
        self.specs = {spec.name: spec for spec in specs}
        self.timeout_s = timeout_s
        self.retries = retries
        self.outage_s = outage_s
        self.max_batch = max_batch
        self.seed = seed
        self._threads = threads
        self.torch_threads = torch_threads or max(
            1, processors() // max(1, sum(spec.running.copies for spec in specs if spec.running.engine != "ray"))
        )
        self._workers: dict[str, ModelWorker] = {}

    def load(self, progress: Callable[[str], None] | None = None) -> Self:
        """Load the models that are not loaded yet; ``progress`` gets each name. A ZooError when one cannot be."""
        # A thread inside torch while the interpreter ends would abort the process.
        atexit.register(self.close)
        for name, spec in self.specs.items():
            if name in self._workers:
                continue
            if progress:
                progress(name)
            agent, own, patience, batch = self._start(spec), spec.running, None, self.max_batch
            # What the zoo file says goes before what the agent wants, and that before the pool's own settings.
            threads = own.threads or (self._threads if isinstance(self._threads, int) else self._threads.get(name, 1))
            if isinstance(agent, OutsideAgent):
                patience = agent.patience_s
                batch, threads = agent.at_once(self.max_batch, own.threads)
            self._workers[name] = ModelWorker(
                name,
                agent,
                max_batch=own.max_batch or batch,
                threads=threads,
                torch_threads=self.torch_threads,
                timeout_s=own.timeout_s or (max(patience, self.timeout_s) if patience else None),
                retries=own.retries,
                outage_s=self.outage_s if own.outage_s is None else own.outage_s,
            )
        return self

    def _start(self, spec: ModelSpec) -> Agent:
        there = {name: (self.specs[name], worker.agent) for name, worker in self._workers.items()}
        return twin_of(spec, there) or load_agent(spec)

    def close(self) -> None:
        """End the worker threads, and what agents keep open; conversations that still wait get ModelFailed."""
        for worker in self._workers.values():
            worker.close()
        self._workers = {}
        atexit.unregister(self.close)

    def __enter__(self) -> Self:
        try:
            return self.load()
        except BaseException:  # nobody closes what was not entered: the models before the one that failed
            self.close()
            raise

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.close()

    def worker(self, name: str) -> ModelWorker:
        """The loaded model called ``name``; a ZooError for another, a RuntimeError before it is loaded."""
        if name not in self.specs:
            raise ZooError(f"the pool has no model called “{name}”, only {', '.join(self.specs)}")
        if name not in self._workers:
            raise RuntimeError(f"{name} is not loaded: call ModelPool.load() first")
        return self._workers[name]

    def out(self, *, for_good: bool = False) -> frozenset[str]:
        """Models whose servers are out; ``for_good``: those only that were waited for in vain."""
        outages = {name: worker.breaker.outage for name, worker in self._workers.items()}
        return frozenset(name for name, outage in outages.items() if outage and (outage.given_up or not for_good))

    def figures(self) -> list[ModelHealth]:
        workers = ((name, worker.figures, worker.breaker.outage) for name, worker in self._workers.items())
        return [figures.now(name, outage.since if outage else None) for name, figures, outage in workers]

    def children(
        self, models: Sequence[str], seed: int, personas: Mapping[str, Sequence[str]] | None = None
    ) -> list[Child]:
        given = personas or {}
        strangers = [name for name in given if name not in models]
        if strangers:
            raise ZooError(f"a persona is given for {', '.join(strangers)}, but only {', '.join(models)} speak")
        return [Child(self.worker(name), seed, given.get(name, ())) for name in models]


def processors() -> int:
    """How many processors this process may compute on: those it is bound to, or fewer if ``OMP_NUM_THREADS`` says so."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()  # further numbers are of nested loops
    return min(bound, int(wanted)) if wanted.isdecimal() and int(wanted) else bound
