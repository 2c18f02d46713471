"""Settings of a launch by link: what a panel needs, and which address its raters may be sent to."""

from __future__ import annotations

import pytest

from mephisto_tasks.engine.config import ConfigError
from mephisto_tasks.study.settings import compose_config

PANEL = ["place=link", "mephisto.provider.panel=prolific", "mephisto.blueprint.models=[eliza,retrieval]"]
CODE = "mephisto.provider.completion_code=C1"
PUBLIC = "mephisto.architect.public_url=https://study.example.org"


def test_a_panel_goes_with_every_conf() -> None:
    composed = compose_config("pw_turn", "local", [*PANEL, CODE, PUBLIC])
    assert composed.mephisto.provider._provider_type == "link"
    assert composed.mephisto.provider.requester_name == "link"


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        ([*PANEL, CODE], r"needs these settings: mephisto\.architect\.public_url=…"),
        ([*PANEL, CODE, "mephisto.architect.public_url=http://study.example.org"], "need an https address"),
        ([*PANEL, PUBLIC], r"needs mephisto\.provider\.completion_code=…"),
        (["place=link", "mephisto.provider.panel=nobody"], "public_url|no panel 'nobody'"),
        ([*PANEL, CODE, PUBLIC, "mephisto.provider.code=x"], "Could not override 'mephisto.provider.code'"),
    ],
)
def test_what_is_missing_for_a_panel_is_named(overrides: list[str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        compose_config("pw_turn", "local", overrides)


def test_invitations_alone_may_stay_in_the_house() -> None:
    composed = compose_config("pw_turn", "local", ["place=link", "mephisto.architect.hostname=0.0.0.0"])
    assert composed.mephisto.provider.panel == "none"
