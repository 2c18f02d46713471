"""Mephisto crowd tasks of parlai-humaneval."""

import parlai_humaneval  # noqa: F401 - its import lets old names of modules be imported
