"""Where models are loaded, and what a person reads when they do not fit there."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from parlai.core.agents import Agent

from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.pool.loading import load_agent, options_of
from parlai_humaneval.models.pool.worker import ModelWorker
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError
from parlai_humaneval.models.zoo.files import check_memory, default_gpu_kept

ERRORS = {
    "cuda": torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    "torch": RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory: you tried …"),
    "python": MemoryError(),
    "other": RuntimeError("size mismatch"),
}


class Greedy(Agent):
    """Runs out of memory, or fails otherwise, while it is made."""

    def __init__(self, opt: Any, shared: Any = None) -> None:
        super().__init__(opt, shared)
        raise ERRORS[opt["history_size"]]

    @classmethod
    def add_cmdline_args(cls, parser: Any, partial_opt: Any = None) -> Any:
        parser.add_argument("--history-size", type=str)
        return parser


def spec_of(**fields: Any) -> ModelSpec:
    return ModelSpec(**{"name": "big", "options": {"model": "repeat_label"}, **fields})


@pytest.mark.parametrize("kind", ["cuda", "torch", "python"])
def test_memory_that_runs_out_while_loading_is_said_in_words(kind: str) -> None:
    """Whoever says it, and however: name, figure and ways out, not a traceback of an allocator."""
    options = {"model": f"{__name__}:Greedy", "history_size": kind}
    with pytest.raises(ZooError, match=r"^big cannot be loaded: memory ran out, with [\d.]+ GB free .* smaller model"):
        load_agent(spec_of(options=options))


def test_another_error_is_not_taken_for_it() -> None:
    """Nobody is sent to buy memory because of a bug."""
    with pytest.raises(ZooError, match=r"RuntimeError: size mismatch"):
        load_agent(spec_of(options={"model": f"{__name__}:Greedy", "history_size": "other"}))


def test_a_model_that_cannot_fit_is_not_even_begun() -> None:
    """The kernel would end the whole process, and every conversation with it."""
    with pytest.raises(ZooError, match=r"takes about 1e\+06 GB of memory, and [\d.]+ GB are free in this machine"):
        ModelPool([spec_of(memory_gb=1e6, device="cpu")]).load()


def test_what_fits_and_what_nobody_knows_is_loaded() -> None:
    """No figure, no verdict."""
    for spec in (spec_of(memory_gb=0.001, device="cpu"), spec_of()):
        check_memory(spec)
        with ModelPool([spec]) as pool:
            assert pool.worker("big").agent.getID() == "RepeatLabelAgent"


def test_a_gpu_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rather than a model that silently speaks from the processor, at a hundredth of the speed."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(ZooError, match=r"its device is cuda:1, and this machine has 1 GPU"):
        check_memory(spec_of(device="cuda:1"))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(ZooError, match=r"no GPU that PyTorch can use"):
        check_memory(spec_of(device="cuda:0"))


def test_free_memory_is_that_of_the_models_own_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device map is there to spread models: the full card must not stand for the empty one."""
    free = {0: (1e9, 8e9), 1: (7e9, 8e9)}
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda number: free[number])
    check_memory(spec_of(device="cuda:1", memory_gb=6))
    with pytest.raises(ZooError, match=re.escape("6 GB of memory, and 1.0 GB are free on cuda:0")):
        check_memory(spec_of(device="cuda:0", memory_gb=6))


@pytest.mark.parametrize(
    ("device", "expected"),
    [("cpu", {"no_cuda": True}), ("cuda:0", {"no_cuda": False, "gpu": 0}), ("cuda:3", {"no_cuda": False, "gpu": 3})],
)
def test_a_device_becomes_parlais_options(device: str, expected: dict[str, Any]) -> None:
    """Every agent of ParlAI's that computes knows these two."""
    options = options_of(spec_of(device=device))
    assert {key: options[key] for key in ("no_cuda", "gpu") if key in options} == expected


@pytest.mark.parametrize("device", ["gpu", "cuda", "cuda:x", "cuda:-1", "CPU"])
def test_a_misspelt_device_is_refused(device: str) -> None:
    """“cuda” alone would be any GPU."""
    with pytest.raises(ValueError, match="device"):
        spec_of(device=device)


def test_the_default_gpu_stays_what_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """ParlAI's agents move it; the next model, without a device, would follow them."""
    now = [0]
    monkeypatch.setattr(torch.cuda, "current_device", lambda: now[0])
    monkeypatch.setattr(torch.cuda, "set_device", lambda number: now.__setitem__(0, number))
    with default_gpu_kept(spec_of(device="cuda:1")):
        torch.cuda.set_device(1)
    assert now == [0]


def test_each_models_thread_computes_on_its_own_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch keeps the current GPU for each thread: a new one begins at the first."""
    chosen: list[int] = []
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    for gpu, used in ((1, True), (-1, True), (1, False)):
        agent = Agent({"gpu": gpu})
        agent.use_cuda = used
        ModelWorker("big", agent, torch_threads=1).close()
    assert chosen == [1]
