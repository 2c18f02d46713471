"""Property tests: from fixed examples in ``make test``, which never fails by chance; at random in ``make explore``.

Runners of commands are those of click 8.2 and later on older ones, too: ``stdout`` and ``stderr`` apart, ``output`` both.
"""

from __future__ import annotations

import inspect
from functools import partialmethod

from click.testing import CliRunner, Result
from hypothesis import settings

if "mix_stderr" in inspect.signature(CliRunner).parameters:
    CliRunner.__init__ = partialmethod(CliRunner.__init__, mix_stderr=False)
    Result.output = property(lambda result: result.stdout + result.stderr)

settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", derandomize=False, deadline=None, print_blob=True)
settings.load_profile("fixed")
