"""Packages that add techniques, statistics and sections, by an entry point that names a module to import."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from parlai_humaneval._util.errors import HumanevalError

GROUP = "parlai_humaneval.plugins"

_begun: set[str] = set()
"""Modules that are loaded, or being loaded: what a plug-in asks for while it is imported must not load it again."""


class PluginError(HumanevalError, ImportError):
    """A plug-in that cannot be loaded; the message names it, and says what to do."""


def load_plugins() -> None:
    """Import every plug-in that is installed, once. Raises PluginError: one of them cannot be imported."""
    for plugin in _installed():
        if plugin.module in _begun:
            continue
        _begun.add(plugin.module)
        try:
            import_module(plugin.module)
        except Exception as error:
            _begun.discard(plugin.module)
            package = plugin.dist.name if plugin.dist is not None else plugin.module
            raise PluginError(
                f"the plug-in {plugin.name!r} of the package {package} cannot be loaded ({type(error).__name__}: "
                f"{error})",
                try_=f"fix it, or uninstall it: pip uninstall {package}",
            ) from error


@cache
def _installed() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=GROUP))
