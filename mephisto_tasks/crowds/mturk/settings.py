"""Settings of a launch on MTurk, and the notice of its closing, which applies only to Amazon's own address.

No date is compared with a clock: what the site answers decides. Old studies are read as before, and other sites that speak
MTurk's protocol are reached by ``AWS_ENDPOINT_URL_MTURK``."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from pydantic import Field

from mephisto_tasks.crowds.crowd import AccountSettings

MTURK, SANDBOX = "mturk", "mturk_sandbox"
WEEK_S = 7 * 24 * 3600
CLOSED = "Amazon closed MTurk on 30 September 2026: use a panel such as Prolific, or invitations (place=link)"
ENDPOINT_ENV = ("AWS_ENDPOINT_URL_MTURK", "AWS_ENDPOINT_URL")
AMAZONS_HOST = re.compile(r"^mturk-requester(?P<sandbox>-sandbox)?\.(?P<region>[a-z0-9-]+)\.amazonaws\.com$")


class MTurkSettings(AccountSettings):
    auto_approval_delay_in_seconds: int = Field(default=WEEK_S, ge=0)
    """Seconds until MTurk approves work that nobody has reviewed. This gives you time to look at answers, and people
    are paid even if you forget."""


def endpoint_named() -> str:
    """The address of a site that the environment names; empty: Amazon's own."""
    return next((os.environ[name] for name in ENDPOINT_ENV if os.environ.get(name)), "")


def asks_amazon() -> bool:
    """Whether requests go to Amazon itself, and to no other site that speaks its protocol."""
    named = endpoint_named()
    return not named or AMAZONS_HOST.match(urlsplit(named).hostname or "") is not None
