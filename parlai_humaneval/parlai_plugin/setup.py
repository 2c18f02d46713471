"""Registers this package with ParlAI, and adapts ParlAI to today's torch and transformers, or to their absence."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from parlai_humaneval._util.errors import HumanevalError, Problem, choose_from
from parlai_humaneval._util.installing import check_code, check_release
from parlai_humaneval.models.agent.names import SHORT_PREFIX, meant_options, module_of

SCRIPTS = ("parlai_humaneval.cli.self_chat_script",)
_CHOICE = re.compile(r"^argument (\S+): invalid choice: (.*?) \(choose from (.*)\)$", re.DOTALL)
_QUOTES = "'"


class _Agents(dict[str, type]):
    """ParlAI's register of agents. Those of this package are in it by their short names: looking for one imports it."""

    def __contains__(self, name: object) -> bool:
        if not super().__contains__(name) and isinstance(name, str) and name.startswith(SHORT_PREFIX):
            import_module(module_of(name))
        return super().__contains__(name)


def register_agents(loader: Any) -> None:
    """Have ``parlai.core.loader`` find the agents by their short names, such as ``parlai_humaneval/retrieval``."""
    loader.AGENT_REGISTRY = _Agents(loader.AGENT_REGISTRY)


def register_scripts(script: Any) -> None:
    """Have ``parlai.core.script`` load the commands of this package as well as ParlAI's."""
    setup, logging = script.setup_script_registry, script.logging

    def setup_script_registry() -> None:
        setup()
        for module in SCRIPTS:
            try:
                import_module(module)
            except ImportError as error:  # ParlAI's own commands do not depend on it
                logging.warning(f"parlai-humaneval: {module} cannot be imported: {error}")

    script.setup_script_registry = setup_script_registry
    superscript_main = script.superscript_main

    def main(args: Sequence[str] | None = None) -> Any:
        """Called as the command ``parlai``, it tells this package's expected errors in a sentence."""
        if args is not None:  # a program calls it, and may want to catch them
            return superscript_main(args)
        try:
            return superscript_main()
        except HumanevalError as error:
            sys.exit(f"Error: {error}")

    script.superscript_main = main


def find_presets(opt: Any) -> None:
    """Have ``parlai.core.opt`` look for ``-o NAME`` in this package, where it has found none elsewhere."""
    load_init = opt.Opt.load_init.__func__

    def with_ours(cls: Any, optfile: str) -> Any:
        try:
            return load_init(cls, optfile)
        except FileNotFoundError as error:
            from parlai_humaneval.models.zoo.files import preset_file, preset_names  # it takes a while

            if (ours := preset_file(optfile)) is None:
                problem = Problem(str(error), misspelt=meant_options([optfile], preset_names()))
                raise FileNotFoundError(str(problem)) from error
            return cls.load(str(ours))

    opt.Opt.load_init = classmethod(with_ours)


def suggest_options(params: Any) -> None:
    """Have the command line say, of an option that there is not, there or in a preset, which one may have been meant."""
    error, load_opts = params.ParlaiParser.error, params.ParlaiParser._load_opts

    def with_suggestions(self: Any, message: str) -> None:
        error(self, str(parser_problem(self, message)))

    def of_preset(self: Any, opt: dict[str, Any]) -> None:
        try:
            load_opts(self, opt)
        except RuntimeError as refused:
            name = str(refused).rpartition("does not exist: ")[2]
            raise RuntimeError(str(Problem(str(refused), misspelt=meant_options([name], opt)))) from refused

    params.ParlaiParser.error, params.ParlaiParser._load_opts = with_suggestions, of_preset


def parser_problem(parser: Any, message: str) -> Problem:
    if choice := _CHOICE.match(message):
        argument, given, known = choice.groups()
        there = [word.strip(_QUOTES) for word in known.split(", ")]
        return HumanevalError(f"{argument} cannot be {given}", **choose_from(given.strip(_QUOTES), there)).problems[0]
    _, unknown, words = message.partition("unrecognized arguments: ")
    # That of `parlai COMMAND` has the options of its agent.
    command = getattr(parser, "_help_subparser", None) or parser
    options = [word.partition("=")[0] for word in words.split() if unknown and word.startswith("--")]
    known = [name for action in command._actions for name in action.option_strings if name.startswith("--")]
    return Problem(message, misspelt=meant_options(options, known))


def mend_plateau(lr_scheduler: ModuleType) -> None:
    """Let ``--lr-scheduler reduceonplateau`` run: newer torch has no ``verbose``."""
    plateau = lr_scheduler.optim.lr_scheduler.ReduceLROnPlateau
    if "verbose" in inspect.signature(plateau).parameters:
        return
    check_code(lr_scheduler.ReduceOnPlateauLRScheduler.__init__, "0bc893a8")

    def __init__(
        self: Any, optimizer: Any, patience: int, decay: float, warmup_updates: int, warmup_rate: float
    ) -> None:
        lr_scheduler.ParlAILRScheduler.__init__(self, warmup_updates, warmup_rate)
        self.scheduler = plateau(optimizer, "min", factor=decay, patience=patience)

    lr_scheduler.ReduceOnPlateauLRScheduler.__init__ = __init__


def mend_gpt2(agents: Any) -> None:
    """Let ``hugging_face/gpt2`` and ``dialogpt`` speak: they keep tuples, and transformers 5 keeps caches."""
    library = agents.GPT2Model
    if "past_key_values" in inspect.signature(library.forward).parameters:
        return
    check_code(agents.GPT2Decoder, "bb2586c2")
    from parlai_humaneval.models.backends.hugging_face import cache_of, layers_of

    class GPT2Model(library):  # type: ignore[misc, valid-type]  # its base is known at run time only
        """As it was in transformers 4: what it has read goes in and comes out as tensors, layer by layer."""

        def forward(self, *arguments: Any, past_key_values: Any = None, **options: Any) -> tuple[Any, Any]:
            read = cache_of(tuple((keys, values) for keys, values in past_key_values or ()))
            out = super().forward(*arguments, cache=read, **options)
            return out.last_hidden_state, layers_of(out.cache)

    agents.GPT2Model = GPT2Model


class _OnUse(ModuleType):
    """Stands for a module, which is imported when something of it is used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:  # else it would find itself
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


class _Lighter:
    """A finder that finds nothing itself: modules of ParlAI are run without what they import for training alone."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spared, run = LIGHTER.get(fullname, ("", None))
        if run is None or spared in sys.modules:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            setattr(spec.loader, "exec_module", partial(run, spec.loader.exec_module))  # noqa: B010 - mypy allows no method here
        return spec


def _run_without_sharding(exec_module: Callable[[ModuleType], None], module: ModuleType) -> None:
    """As on a torch without :data:`SHARDING`."""
    importlib.import_module("torch.distributed")
    sys.modules[SHARDING] = None  # type: ignore[assignment]  # how Python marks a module as absent
    try:
        exec_module(module)
    finally:
        del sys.modules[SHARDING]


def _run_with_areas_on_use(exec_module: Callable[[ModuleType], None], module: ModuleType) -> None:
    """Areas under a classifier's curve are all that scikit-learn is imported for: it is when one is computed."""
    later: Any = ModuleType(AREAS)
    later.auc = lambda *curve: importlib.import_module(AREAS).auc(*curve)
    sys.modules[AREAS] = later
    try:
        exec_module(module)
    finally:
        del sys.modules[AREAS]


SHARDING, AREAS = "torch.distributed.fsdp", "sklearn.metrics"
LIGHTER = {
    "parlai.utils.fsdp": (SHARDING, _run_without_sharding),
    "parlai.core.torch_classifier_agent": (AREAS, _run_with_areas_on_use),
}
"""Module of ParlAI → what it is spared, and how it is run then."""


def parlai_without_torch() -> None:
    """ParlAI's agents, without torch, whose import takes half of the seconds to a launch's link: two of its modules do
    without where torch is absent, and import it when a value may be a tensor. Generators are from now on without what
    trains one model on several GPUs, most of a second's import, and what rates classifiers, two seconds': those here only
    speak."""
    check_release("parlai")
    if not any(isinstance(finder, _Lighter) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Lighter())
    if "torch" in sys.modules or "parlai.core.build_data" in sys.modules:
        return
    hidden: dict[str, Any] = {"torch": None, "torch.multiprocessing": None}  # None is how Python marks one as absent
    if "pkg_resources" not in sys.modules:  # it is slow, and asked for files of options alone
        hidden["pkg_resources"] = _OnUse("pkg_resources")
    sys.modules.update(hidden)
    try:
        importlib.import_module("parlai.core.build_data")
        importlib.import_module("parlai.core.opt")
        misc: Any = importlib.import_module("parlai.utils.misc")
    finally:
        for name, instead in hidden.items():
            if sys.modules.get(name) is instead:
                sys.modules.pop(name, None)
    check_code(misc.round_sigfigs, "802892fb")
    if importlib.util.find_spec("torch") is not None:
        misc.torch = _OnUse("torch")
        vars(misc)["__TORCH_AVAILABLE"] = True
