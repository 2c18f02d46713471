"""Property tests: from fixed examples in ``make test``, which never fails by chance; at random in ``make explore``."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", derandomize=False, deadline=None, print_blob=True)
settings.load_profile("fixed")
