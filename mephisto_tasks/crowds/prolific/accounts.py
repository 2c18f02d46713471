"""Prolific accounts: a token each, readable only by its owner, and the workspaces that pay."""

from __future__ import annotations

import os
from pathlib import Path

from mephisto_tasks.config.names import ConfigError
from mephisto_tasks.crowds.crowd import AccountCheck
from mephisto_tasks.crowds.prolific import client as api
from mephisto_tasks.crowds.prolific import statuses
from mephisto_tasks.crowds.prolific.handed_in import major
from mephisto_tasks.crowds.prolific.store import PROVIDER, ProlificStore
from mephisto_tasks.storage.provider_names import Finding
from mephisto_tasks.storage.results import requesters
from parlai_humaneval._util.errors import misspelt
from parlai_humaneval._util.files import make_private_folder


class ProlificAccounts:
    words = api.WORDS
    has_keys = staticmethod(api.has_token)

    def needs_keys(self, name: str) -> bool:
        return api.has_token(name) or not os.environ.get(api.TOKEN_ENV)

    def add(self, data_dir: Path, name: str, keys: tuple[str, ...] | None) -> str:
        """Raises ProlificError: Prolific does not know the token, which is then not kept; the name is another crowd's."""
        from mephisto_tasks.crowds.registry import ensure_requester, opened

        token = api.read_token(name) if keys is None else keys[0]
        with api.Prolific(token, patience=api.BRIEF) as client, api.asking(f"register {name}"):
            client.get("users/me/")
        make_private_folder(data_dir)
        with opened(data_dir / "database.db") as db:
            ensure_requester(db, name, PROVIDER)
        if keys is not None:
            api.write_token(name, keys[0])
        return name

    def check(self, name: str) -> list[AccountCheck]:
        found = []
        try:
            with api.Prolific(api.read_token(name), patience=api.BRIEF) as client, api.asking("read the balance"):
                for one in client.pages("workspaces/"):
                    balance = client.get(f"workspaces/{one['id']}/balance/")
                    workspace = f"{one.get('title') or 'without a title'} ({one['id']})"
                    available, currency = major(balance["available_balance"]), str(balance["currency_code"]).upper()
                    found.append(AccountCheck(name, PROVIDER, client.base, available, None, currency, workspace))
            wrong = "the account has no workspace; create one in Prolific's web app"
            return found or [AccountCheck(name, PROVIDER, wrong=wrong)]
        except api.ProlificError as error:
            return [AccountCheck(name, PROVIDER, wrong=str(error))]

    def forget(self, name: str) -> str:
        if api.forget_token(name):
            return f"The token of {name} was deleted here, but is still valid. Delete the token in Prolific as well."
        return f"No token is stored for {name}."

    def take_off(self, data_dir: Path, task_name: str) -> int:
        from mephisto_tasks.crowds.prolific.market import pause_left_over

        store = ProlificStore(data_dir)
        paused = 0
        for account in dict.fromkeys(study.account for study in store.studies(task_name)):
            with api.Prolific(api.read_token(account)) as client:
                paused += len(pause_left_over(client, store, task_name, account))
        return paused


def check_name(data_dir: Path, name: str) -> None:
    """Raises ConfigError for a requester nobody added, where there are others: a token of the environment pays for any."""
    added = (known for known, kind in requesters(data_dir) if kind == PROVIDER)
    known = sorted({*api.token_names(), *added})
    if name in known or (not known and os.environ.get(api.TOKEN_ENV)):
        return
    if not known:
        advice = "parlai-humaneval requester add NAME --provider prolific"
        raise ConfigError("no Prolific account is registered here", where="requester_name", try_=advice)
    there = f"set requester_name=…; there {'is' if len(known) == 1 else 'are'}: {', '.join(known)}"
    if name == PROVIDER:  # the conf's, which nobody typed
        raise ConfigError("the settings do not say which account pays", where="requester_name", try_=there)
    what, where = f"there is no requester {name!r}", "requester_name"
    raise ConfigError(what, where=where, misspelt=misspelt(name, known), try_=there)


def left_open(data_dir: Path) -> list[Finding]:
    """Studies that are open though no launch of ours follows them."""
    from mephisto_tasks.control.snapshot import is_alive

    found = []
    studies = [study for study in ProlificStore(data_dir).studies() if study.study_id]
    for study in (study for study in studies if not is_alive(data_dir, study.task_name)):
        try:
            with api.Prolific(api.read_token(study.account), patience=api.BRIEF) as client:
                status = statuses.plain(client.get(f"studies/{study.study_id}/").get("status"))
        except api.ProlificError:  # deleted there, perhaps
            continue
        if status in (statuses.ACTIVE, statuses.PUBLISHING):
            pauses = f"parlai-humaneval requester expire --task-name {study.task_name} pauses it"
            text = f"study {study.study_id} is {status}, but no launch is following it"
            found.append(Finding(f"Provider {PROVIDER}", "warning", text, f"{pauses}; so does the next launch"))
    return found
