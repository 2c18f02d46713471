"""One loaded copy of each model, and the worker that asks it, for any number of conversations."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType

from parlai.core.agents import Agent
from typing_extensions import Self

from parlai_humaneval.models.backends.base import OutsideAgent
from parlai_humaneval.models.pool.breaker import OUTAGE_S
from parlai_humaneval.models.pool.child import Child
from parlai_humaneval.models.pool.loading import load_agent, twin_of
from parlai_humaneval.models.pool.worker import ModelWorker
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError
from parlai_humaneval.schema.records import ModelHealth


class LoadedModels:
    """Loads each model once and lets any number of conversations ask it.

    Models that differ only in how they search for a reply share one copy of the weights. Requests of different
    conversations to one model are answered in batches; models answer in parallel.

    Args:
        specs: the models; names must be unique.
        timeout_s: seconds that a conversation waits for a model before it asks again.
        retries: how often it asks again, after a time-out or a failure, before it gives up.
        outage_s: how long it waits for a server that is not there (refuses connections, say, because it is started anew),
            beside these; 0: not at all.
        max_batch: most requests that a model answers at once.
        seed: the chance of conversations that are given no seed of their own.
        threads: worker threads of a model, for all or by name. Leave it at 1 for one that computes on this machine.
        torch_threads: processor threads that torch may use for one operation. By default the processors that this
            process may use, or ``OMP_NUM_THREADS`` of them, are shared out evenly among the models, and the processes
            of those that have some of their own. The setting is the process's.
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
        """Load the models that are not loaded yet; ``progress`` gets each name before its turn.

        Raises:
            ZooError: when a model cannot be loaded.
        """
        # A thread inside torch while the interpreter ends would abort the process.
        atexit.register(self.close)
        for name, spec in self.specs.items():
            if name in self._workers:
                continue
            if progress:
                progress(name)
            self._workers[name] = self._worker(spec, self._start(spec))
        return self

    def _start(self, spec: ModelSpec) -> Agent:
        there = {name: (self.specs[name], worker.agent) for name, worker in self._workers.items()}
        return twin_of(spec, there) or load_agent(spec)

    def _worker(self, spec: ModelSpec, agent: Agent) -> ModelWorker:
        """What the zoo file says goes before what the agent wants, and that before the pool's own settings."""
        own, outside = spec.running, isinstance(agent, OutsideAgent)
        alone, patience = (agent.concurrency, agent.patience_s) if outside else (None, None)
        threads = self._threads if isinstance(self._threads, int) else self._threads.get(spec.name, 1)
        return ModelWorker(
            spec.name,
            agent,
            max_batch=own.max_batch or (1 if alone else self.max_batch),
            threads=own.threads or alone or threads,
            torch_threads=self.torch_threads,
            timeout_s=own.timeout_s or (max(patience, self.timeout_s) if patience else None),
            retries=own.retries,
            outage_s=self.outage_s if own.outage_s is None else own.outage_s,
        )

    def close(self) -> None:
        """End the worker threads, and what agents that ask elsewhere keep open; may be called twice.

        Conversations that still wait get :class:`~parlai_humaneval.models.pool.asking.ModelFailed`.
        """
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def worker(self, name: str) -> ModelWorker:
        """The loaded model called ``name``.

        Raises:
            ZooError: when the pool does not hold it.
            RuntimeError: before :meth:`load` or after :meth:`close`.
        """
        if name not in self.specs:
            raise ZooError(f"the pool holds no model called “{name}”, but {', '.join(self.specs)}")
        if name not in self._workers:
            raise RuntimeError(f"{name} is not loaded: call ModelPool.load() first")
        return self._workers[name]

    def out(self, *, for_good: bool = False) -> frozenset[str]:
        """Models whose servers are out; ``for_good``: those only that were waited for in vain."""
        breakers = {name: worker.breaker for name, worker in self._workers.items()}
        return frozenset(name for name, one in breakers.items() if (one.is_given_up if for_good else one.is_out))

    def figures(self) -> list[ModelHealth]:
        """How each model has answered so far."""
        return [worker.figures.now(name, worker.breaker.out_since) for name, worker in self._workers.items()]

    def children(
        self, models: Sequence[str], seed: int, personas: Mapping[str, Sequence[str]] | None = None
    ) -> list[Child]:
        """Fresh histories for one conversation, in the order of ``models``; ``personas``: model → what it plays.

        Raises:
            ZooError: for a model that the pool does not hold, or a persona of one that does not speak.
            ValueError: for a persona that is not a list of sentences, each on one line.
        """
        given = personas or {}
        strangers = [name for name in given if name not in models]
        if strangers:
            raise ZooError(f"a persona is given for {', '.join(strangers)}, but only {', '.join(models)} speak")
        return [Child(self.worker(name), seed, given.get(name, ())) for name in models]


def processors() -> int:
    """How many processors this process may compute on: those it is bound to, or fewer if ``OMP_NUM_THREADS`` says so.

    A container or a batch system leaves it some of the machine's; more threads than those would wait for each other.
    """
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()  # further numbers are of nested loops
    return min(bound, int(wanted)) if wanted.isdecimal() and int(wanted) else bound
