"""The names by which ParlAI, zoo files and saved options know the agents: ``parlai_humaneval.agents.eliza:ElizaAgent``.

The modules themselves are in `parlai_humaneval.models`. A name here is the same module, loaded on first use.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType

from parlai_humaneval.models.agent.names import AGENT_HOMES

PREFIX = f"{__name__}."


class _Aliases(MetaPathFinder, Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        known = fullname.startswith(PREFIX) and fullname.removeprefix(PREFIX) in AGENT_HOMES
        return spec_from_loader(fullname, self) if known else None

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = import_module(AGENT_HOMES[module.__name__.removeprefix(PREFIX)])


sys.meta_path.append(_Aliases())
