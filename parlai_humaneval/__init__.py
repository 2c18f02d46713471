"""Human evaluation of dialogue models: agents, protocol and statistics."""

import parlai_humaneval_hook  # noqa: F401 - its import is its effect; where no path file has done it
from parlai_humaneval._util import __version__
from parlai_humaneval._util.renamed import find_old_names
from parlai_humaneval.models.agent.names import Turn

__all__ = ["Turn", "__version__"]

find_old_names()
