"""The only access to MTurk: address, keys, patience when MTurk asks for it, and errors that say what to do.

Mephisto's own clients retry little, and its sandbox ignores ``AWS_ENDPOINT_URL_MTURK``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore import exceptions as aws
from botocore.config import Config
from botocore.session import get_session
from typing_extensions import Unpack

from mephisto_tasks.crowds.crowd import CrowdError
from mephisto_tasks.crowds.mturk.settings import AMAZONS_HOST, CLOSED, MTURK, SANDBOX, asks_amazon, endpoint_named
from mephisto_tasks.server.hosts import opens_elsewhere
from mephisto_tasks.storage.provider_names import plain_name
from parlai_humaneval._util.data_files import read_yaml
from parlai_humaneval._util.errors import Parts

REGION = "us-east-1"  # the only region in which MTurk is


@cache
def _known_errors() -> list[dict[str, Any]]:
    """``what`` is wrong and what to ``try``, for AWS's ``codes``, and for what the ``message`` of an answer matches."""
    errors: list[dict[str, Any]] = read_yaml(Path(__file__).parent / "errors.yaml")
    return errors


class MTurkError(CrowdError):
    """MTurk refused, or could not be asked. ``code``: AWS's word for it, empty where there is none."""

    def __init__(self, what: str | BaseException, code: str = "", **parts: Unpack[Parts]) -> None:
        super().__init__(what, **parts)
        self.code = code


@contextmanager
def asking(what: str, whom: str = "MTurk") -> Iterator[None]:
    """Convert botocore's errors in the block to an :class:`MTurkError`: “cannot WHAT: …”."""
    try:
        yield
    except (aws.BotoCoreError, aws.ClientError) as error:
        raise explained(error, what, whom) from error


def explained(error: Exception, what: str, whom: str = "MTurk") -> MTurkError:
    why = (str(error).strip().splitlines() or [type(error).__name__])[0]
    code, message, codes = "", "", {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, aws.ClientError):
        code, message = turk_code(error), str(error.response.get("Error", {}).get("Message", ""))
        why, codes = f"MTurk says: {message or code}", {code}
    by_message = [one for one in _known_errors() if "message" in one and re.search(one["message"], message)]
    known = by_message or [one for one in _known_errors() if codes.intersection(one.get("codes", ()))]
    says = known[0]["what"].format(whom=whom, why=why) if known else why
    answers_as_ever = code.startswith("AWS.MechanicalTurk.") or "Throttl" in code or not (code or known)
    advice = [known[0].get("try") if known else None, CLOSED if asks_amazon() and not answers_as_ever else None]
    return MTurkError(f"cannot {what}: {says}", code, try_=[*filter(None, advice)])


def turk_code(error: aws.ClientError) -> str:
    """The code of an AWS error: MTurk's own code if there is one, because AWS calls everything a RequestError."""
    response = error.response
    return str(response.get("TurkErrorCode") or response.get("Error", {}).get("Code", ""))


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
        what = f"AWS_ENDPOINT_URL_MTURK={address!r} is not an address"
        raise MTurkError(what, try_="write https://… or http://127.0.0.1:PORT")
    amazons = AMAZONS_HOST.match(parts.hostname)
    if amazons is not None and amazons["region"] != REGION:
        what = f"cannot ask MTurk at {address}: MTurk is available only in the region {REGION}"
        raise MTurkError(what, try_="correct AWS_ENDPOINT_URL_MTURK, which names another region, or unset it")
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
    profile, session = plain_name(requester_name), get_session()
    with asking("use the AWS keys of the environment"):
        has_profile = profile in session.available_profiles
        if not (has_profile or keys_in_environment()):
            raise explained(aws.NoCredentialsError(), "ask MTurk", f"the requester {profile!r}")
        return boto3.Session(None, None, None, REGION, session, profile if has_profile else None)


def client_for(requester_name: str, provider: str, config: Config = PATIENT) -> Any:
    """A client of MTurk, which threads may share. Raises MTurkError: no keys, or another region."""
    session = session_for(requester_name)
    with asking("ask MTurk", f"the requester {plain_name(requester_name)!r}"):
        return session.client(MTURK, region_name=REGION, endpoint_url=endpoint(provider), config=config)


def balance(client: Any) -> Decimal:
    """Dollars in the account. Raises MTurkError."""
    with asking("read the balance of the MTurk account"):
        return Decimal(client.get_account_balance()["AvailableBalance"])
