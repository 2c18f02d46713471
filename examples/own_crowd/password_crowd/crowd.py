"""Raters with a name and a password: a file has a line NAME:PASSWORD for each."""

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
from parlai_humaneval.schema.steps import Redirect


class PasswordSettings(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)

    password_file: str = ""
    """A line NAME:PASSWORD for each person who may take part (place=password). It is read again at each visit."""


class PasswordDoor:
    name = "password"
    takes_back = False  # raters came from no site: in the end they close the page

    def __init__(self, file: Path) -> None:
        self.file = file

    def arrival(self, parameters: Parameters) -> Arrival | None:
        """Who comes by an address such as https://study.example.org/?name=ann&password=…"""
        if "password" not in parameters:
            return None
        lines = self.file.read_text(encoding="utf-8").splitlines()
        passwords = dict(line.split(":", 1) for line in lines if ":" in line)
        name = parameters.get("name", "")
        right = passwords.get(name, "")
        if not right or not hmac.compare_digest(right.encode(), parameters["password"].encode()):
            raise TurnedAway(
                "This name and this password do not belong together. Please open the link that we sent you."
            )
        return Arrival(worker_name=f"{self.name}:{name}", door=self.name, vouched=True)

    def begins(self, arrival: Arrival) -> None:
        """Nothing has to be noted."""

    def exit(self, arrival: Arrival, outcome: Outcome) -> Redirect | None:
        return None


class PasswordCrowd(LinkCrowd):
    place = provider_type = "password"
    title = "A file of passwords"
    words = CrowdWords(where="by password", summary="is a file of names and passwords", link="Link for each person:")
    personal_link = "?name=NAME&password=PASSWORD"
    Settings = PasswordSettings

    def doors(self, settings: Mapping[str, Any], data_dir: Path, task_name: str) -> list[Door]:
        return [PasswordDoor(Path(settings["password_file"]).expanduser())]

    def check(self, settings: Mapping[str, Any]) -> None:
        file = Path(str(settings["password_file"])).expanduser()
        if not file.is_file():
            given = settings["password_file"] or "nothing"
            raise ConfigError(
                f"{given} is no file", where="password_file", try_="give one with a line NAME:PASSWORD for each person"
            )

    def is_near(self, settings: Mapping[str, Any]) -> bool:
        return True  # in the same room no https address is needed


register_crowd(PasswordCrowd())
