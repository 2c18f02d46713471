"""Raters with a name and a password: a file has a line NAME:PASSWORD for each, and each password is used once."""

import hmac
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from mephisto_tasks.admission.visits import Arrival, Outcome, Parameters, TurnedAway
from mephisto_tasks.config.names import ConfigError
from mephisto_tasks.crowds.crowd import CrowdWords
from mephisto_tasks.crowds.link.crowd import Door, LinkCrowd
from mephisto_tasks.crowds.registry import register_crowd
from parlai_humaneval.i18n.translate import phrase
from parlai_humaneval.schema.steps import Redirect

EXPECTED = "name a file with a line NAME:PASSWORD for each person"
WRONG = phrase("This name and this password do not belong together. Please open the link that we sent you.")
LATER = phrase("Nobody can sign in right now. Please try again in a few minutes.")
USED = phrase(
    "Somebody has already used this link. If it was you, please continue in the browser in which you started. "
    "If it was not you, please write to us."
)


class PasswordSettings(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)

    password_file: str = ""
    """A line NAME:PASSWORD for each person who may take part (place=password). It is read again at each visit."""


def passwords_in(file: Path) -> dict[str, str]:
    """Name → password. Raises ConfigError, which names every line that cannot be used."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}", where="password_file", try_=EXPECTED) from error
    passwords: dict[str, str] = {}
    faults = []
    for number, line in enumerate(lines, start=1):
        name, _, password = (part.strip() for part in line.partition(":"))
        if line.strip() and not (name and password):
            faults.append(f"line {number} is not NAME:PASSWORD")
        elif name in passwords:
            faults.append(f"line {number} names {name!r} again")
        elif name:
            passwords[name] = password
    if faults or not passwords:
        what = "; ".join(faults) or "it has no lines"
        raise ConfigError(f"{file} cannot be used: {what}", where="password_file", try_=EXPECTED)
    return passwords


class PasswordDoor:
    name = "password"
    takes_back = False  # raters came from no site: in the end they close the page

    def __init__(self, file: Path) -> None:
        self.file = file

    def arrival(self, parameters: Parameters) -> Arrival | None:
        """Who comes by an address such as https://study.example.org/?name=ann&password=…"""
        if "password" not in parameters:
            return None
        name = parameters.get("name", "")
        try:
            right = passwords_in(self.file).get(name, "")
        except ConfigError as error:  # somebody is editing the file
            raise TurnedAway(LATER) from error
        if not right or not hmac.compare_digest(right.encode(), parameters["password"].encode()):
            raise TurnedAway(WRONG)
        return Arrival(worker_name=f"{self.name}:{name}", door=self.name, session=name)  # one assignment for a name

    def begins(self, arrival: Arrival) -> None:
        """Nothing has to be noted."""

    def exit(self, arrival: Arrival, outcome: Outcome) -> Redirect | None:
        return None


class PasswordCrowd(LinkCrowd):
    place = provider_type = "password"
    title = "A file of passwords"
    words = CrowdWords(where="by password", summary="is a file of names and passwords", link="Link for each person:")
    personal_link = "?name=NAME&password=PASSWORD"
    claim_advice = USED
    Settings = PasswordSettings

    def doors(self, settings: Mapping[str, Any], data_dir: Path, task_name: str) -> list[Door]:
        return [PasswordDoor(Path(settings["password_file"]).expanduser())]

    def check(self, settings: Mapping[str, Any]) -> None:
        if not settings["password_file"]:
            raise ConfigError("the file of passwords is missing", where="password_file", try_=EXPECTED)
        passwords_in(Path(str(settings["password_file"])).expanduser())

    def is_near(self, settings: Mapping[str, Any]) -> bool:
        return True  # in the same room no https address is needed


register_crowd(PasswordCrowd())
