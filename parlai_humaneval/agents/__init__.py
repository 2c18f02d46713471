"""What speaks: ParlAI agents."""

import parlai_humaneval.models  # noqa: F401 - it silences a warning of ParlAI's before ParlAI is imported
