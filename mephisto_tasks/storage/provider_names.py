"""MTurk's two sites, as Mephisto calls them. Whoever needs only these loads no client of AWS."""

from __future__ import annotations

MTURK, SANDBOX = "mturk", "mturk_sandbox"
PROVIDERS = (MTURK, SANDBOX)
SANDBOX_SUFFIX = "_sandbox"
"""What Mephisto adds to the names of requesters, workers and qualifications of its sandboxes, that on this machine too."""
