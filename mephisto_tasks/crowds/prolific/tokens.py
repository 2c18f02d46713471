"""API tokens of Prolific, each under the name of a requester, in files that their owner alone can read."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote, unquote

from pydantic import SecretStr

from mephisto_tasks.crowds.prolific.errors import NEW_TOKEN, ProlificError
from parlai_humaneval._util.files import make_private_folder, read_private, write_private
from parlai_humaneval.models.zoo.files import user_home

TOKEN_ENV = "PROLIFIC_TOKEN"
_ENDING = ".token"


def read_token(name: str) -> SecretStr:
    """The token kept under a requester's name, else that of the environment. Raises ProlificError: there is none."""
    if has_token(name):
        return _checked(SecretStr(read_private(_file(name)).decode("ascii", "replace")))
    if os.environ.get(TOKEN_ENV):
        return _checked(SecretStr(os.environ[TOKEN_ENV]))
    raise ProlificError(f"there is no Prolific token for the requester {name!r}", try_=NEW_TOKEN)


def which_token(name: str) -> str:
    """A sentence where there are two, of which one is used; else empty."""
    if not has_token(name) or not os.environ.get(TOKEN_ENV):
        return ""
    return f"The token stored for {name} is used, not {TOKEN_ENV}: `parlai-humaneval requester forget {name}` changes that."


def has_token(name: str) -> bool:
    """Whether a token is kept under this name."""
    return _file(name).is_file()


def write_token(name: str, token: str | SecretStr) -> None:
    """Keep a token under a requester's name, in place of the former one. Raises ProlificError: it cannot be one."""
    secret = SecretStr(token) if isinstance(token, str) else token
    del token  # no variable holds it that a traceback could show
    checked = _checked(secret)
    make_private_folder(user_home())
    make_private_folder(_folder())
    write_private(_file(name), checked.get_secret_value().encode("ascii"), outlasts_power=True)


def forget_token(name: str) -> bool:
    """Delete the token kept under this name; whether there was one."""
    kept = has_token(name)
    _file(name).unlink(missing_ok=True)
    return kept


def token_names() -> list[str]:
    """The names under which tokens are kept."""
    return sorted(unquote(file.name.removesuffix(_ENDING)) for file in _folder().glob(f"*{_ENDING}"))


def _folder() -> Path:
    return user_home() / "prolific"


def _file(name: str) -> Path:
    return _folder() / f"{quote(name, safe=' ')}{_ENDING}"


def _checked(given: SecretStr) -> SecretStr:
    """A token that can stand in a header."""
    token = SecretStr(given.get_secret_value().strip())
    if not _is_word(token):
        raise ProlificError("this is no API token of Prolific: it must be one word of plain letters", try_=NEW_TOKEN)
    return token


def _is_word(token: SecretStr) -> bool:
    text = token.get_secret_value()
    return bool(text) and text.isascii() and text.isprintable() and " " not in text
