"""The one way to MTurk: which address, whose keys, and patience where MTurk asks for it.

Mephisto's own clients retry little, and its sandbox ignores ``AWS_ENDPOINT_URL_MTURK``.
"""

from __future__ import annotations

import os
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import ProfileNotFound

from mephisto_tasks.crowds.mturk.errors import NO_KEYS, REGION, WRONG_REGION, MTurkError, asking, closed
from mephisto_tasks.crowds.mturk.settings import AMAZONS_HOST, endpoint_named
from mephisto_tasks.server.hosts import opens_elsewhere
from mephisto_tasks.storage.provider_names import MTURK, SANDBOX, plain_name

KEYS_ENV = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
LIVE_ENDPOINT = f"https://mturk-requester.{REGION}.amazonaws.com"
SANDBOX_ENDPOINT = f"https://mturk-requester-sandbox.{REGION}.amazonaws.com"

PATIENT = Config(retries={"mode": "standard", "max_attempts": 10}, connect_timeout=10, read_timeout=30)
"""For work that must be done: throttling and passing failures are tried again, ever later (together some minutes)."""
BRIEF = Config(retries={"mode": "standard", "max_attempts": 2}, connect_timeout=3, read_timeout=5)
"""For a look: somebody waits for the answer."""

WORKER_SITE, SANDBOX_WORKER_SITE = "https://worker.mturk.com", "https://workersandbox.mturk.com"


def endpoint(provider: str) -> str:
    """Where a provider's requests go. Raises MTurkError where the environment names another region."""
    address = endpoint_named() or (SANDBOX_ENDPOINT if provider == SANDBOX else LIVE_ENDPOINT)
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise MTurkError(
            f"AWS_ENDPOINT_URL_MTURK={address!r} is no address", try_="write https://… or http://127.0.0.1:PORT"
        )
    amazons = AMAZONS_HOST.match(parts.hostname)
    if amazons is not None and amazons["region"] != REGION:
        raise MTurkError(f"cannot ask MTurk at {address}: {WRONG_REGION}")
    return address


def worker_site(provider: str) -> str:
    """Where workers find what is offered by way of :func:`endpoint`: a stand-in serves both itself."""
    address = endpoint(provider).rstrip("/")
    amazons = AMAZONS_HOST.match(urlsplit(address).hostname or "")
    if amazons is None:
        return address
    return SANDBOX_WORKER_SITE if amazons["sandbox"] else WORKER_SITE


def stand_in(provider: str) -> str | None:
    """The address of a program on this machine that answers for MTurk; None: another site does."""
    address = endpoint(provider)
    return None if opens_elsewhere(address) else address.rstrip("/")


def keys_in_environment() -> bool:
    return all(os.environ.get(name) for name in KEYS_ENV)


def session_for(requester_name: str) -> boto3.Session:
    """With the keys of the requester's AWS profile, else those in the environment. Raises MTurkError: there are none."""
    profile = plain_name(requester_name)
    try:
        return boto3.Session(profile_name=profile, region_name=REGION)
    except ProfileNotFound:
        if not keys_in_environment():
            no_keys = NO_KEYS.format(whom=f"the requester {profile!r}")
            raise MTurkError(f"cannot ask MTurk: {no_keys}{closed()}") from None
    with asking("use the AWS keys of the environment"):
        return boto3.Session(region_name=REGION)


def has_keys(requester_name: str) -> bool:
    """Whether :func:`session_for` would find keys."""
    try:
        return session_for(requester_name).get_credentials() is not None
    except MTurkError:
        return False


def client_for(requester_name: str, provider: str, config: Config = PATIENT) -> Any:
    """A client of MTurk, which threads may share. Raises MTurkError: no keys, or another region."""
    session = session_for(requester_name)
    with asking("ask MTurk", f"the requester {plain_name(requester_name)!r}"):
        return session.client(MTURK, region_name=REGION, endpoint_url=endpoint(provider), config=config)


def balance(client: Any) -> Decimal:
    """Dollars in the account. Raises MTurkError."""
    with asking("read the balance of the MTurk account"):
        return Decimal(client.get_account_balance()["AvailableBalance"])
