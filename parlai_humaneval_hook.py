"""Tells ParlAI of this package when ParlAI is imported, by whomever: ParlAI has no entry points.

Each start of Python imports this module, so it imports nothing, least of all ParlAI, torch or the package itself.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing's own costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

WATCHED: Mapping[str, str] = {
    "parlai.core.loader": "parlai_humaneval.parlai_plugin.setup:register_agents",
    "parlai.core.opt": "parlai_humaneval.parlai_plugin.setup:find_presets",
    "parlai.core.params": "parlai_humaneval.parlai_plugin.setup:suggest_options",
    "parlai.core.script": "parlai_humaneval.parlai_plugin.setup:register_scripts",
    "parlai.agents.hugging_face.dialogpt": "parlai_humaneval.parlai_plugin.setup:mend_gpt2",
    "parlai.agents.hugging_face.gpt2": "parlai_humaneval.parlai_plugin.setup:mend_gpt2",
    "parlai.nn.lr_scheduler": "parlai_humaneval.parlai_plugin.setup:mend_plateau",
}
"""Module of ParlAI → function of this package (``module:name``) that is given the module once it is imported."""


class _Watch:
    """A finder that finds nothing itself: the watched modules, which others find, are given to our functions."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What the other finders find."""
        if fullname not in WATCHED:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, (finder.find_spec(fullname, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            # The loader stays the one that it is: importlib.resources and inspect ask it for data and sources.
            setattr(spec.loader, "exec_module", _then_told(fullname, spec.loader.exec_module))  # noqa: B010 - mypy allows no method here
        return spec


def _then_told(name: str, exec_module: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
    def execute(module: ModuleType) -> None:
        exec_module(module)
        if module.__name__ == name:  # one loader serves all modules of an archive
            _tell(module)

    return execute


def _tell(module: ModuleType) -> None:
    """Give a watched module to its function. Where this package is broken, ParlAI works as without it."""
    from importlib import import_module

    home, _, name = WATCHED[module.__name__].partition(":")
    try:
        tell = getattr(import_module(home), name)
    except (ImportError, AttributeError) as error:
        from warnings import warn

        warn(f"ParlAI knows nothing of parlai-humaneval, which is to be installed again: {error}", stacklevel=2)
        return
    tell(module)


def install() -> None:
    """Watch from now on; what is imported already is given to its function at once."""
    if any(isinstance(finder, _Watch) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, _Watch())
    for name in WATCHED:
        if name in sys.modules:
            _tell(sys.modules[name])


install()
