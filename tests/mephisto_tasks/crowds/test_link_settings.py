"""Settings of a launch by link: what a panel needs, and which address its raters may be sent to."""

from __future__ import annotations

from pathlib import Path

import pytest

from mephisto_tasks.config.task import ConfigError
from mephisto_tasks.crowds.panels.crowd import panel_of
from mephisto_tasks.launch.config import compose_config

PANEL = ["place=link", "mephisto.provider.panel=prolific", "mephisto.blueprint.models=[eliza,retrieval]"]
CODE_IS = "mephisto.provider.completion_code="
CODE = f"{CODE_IS}C1"
PUBLIC = "mephisto.architect.public_url=https://study.example.org"


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        ([*PANEL, CODE], r"needs more settings; add public_url=…"),
        ([*PANEL, CODE, "mephisto.architect.public_url=http://study.example.org"], "need an https address"),
        ([*PANEL, PUBLIC], r"needs completion_code=…"),
        (["place=link", "mephisto.provider.panel=my.yaml", PUBLIC], "there is no file /.*/my.yaml"),
        (["place=link", "mephisto.provider.panel=nobody"], "public_url|no panel 'nobody'"),
        ([*PANEL, CODE, PUBLIC, "mephisto.provider.code=x"], "there is no setting 'code'."),
        ([*PANEL, f"{CODE_IS}null", PUBLIC], r"needs completion_code=…"),
        ([*PANEL, CODE, PUBLIC, "mephisto.provider.values.site=x"], "the panel prolific has no value 'site'"),
        (
            ["place=link", "mephisto.architect.public_url=javascript:alert"],
            "public_url=javascript:alert is not an address",
        ),
    ],
)
def test_what_is_missing_for_a_panel_is_named(overrides: list[str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        compose_config("pw_turn", "local", overrides)


@pytest.mark.parametrize("code", ["73E91204", "1E5", "0123", "12_34", "true", "a'b", "a,b=[c] {d}", "back\\"])
def test_a_code_is_what_was_typed(code: str) -> None:
    """Prolific's codes may look like numbers; read as one, the panel would not know its own code again."""
    for typed in (code, f'"{code}"') if code[-1] != "\\" else (code,):
        assert (
            compose_config("pw_turn", "local", [*PANEL, CODE_IS + typed, PUBLIC]).mephisto.provider.completion_code
            == code
        )


def test_a_panels_own_values_are_given_as_the_readme_says() -> None:
    """SONA's, which differ from study to study, and are no numbers either."""
    values = {"site": "my-uni", "experiment_id": "0012", "credit_token": "12e4"}
    given = [f"mephisto.provider.values.{name}={value}" for name, value in values.items()]
    composed = compose_config("pw_turn", "local", ["place=link", "mephisto.provider.panel=sona", PUBLIC, *given])
    door = panel_of(composed.mephisto.provider)
    assert door is not None
    assert door.values == values


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("completion_code: 73E91204", r"completion_code was read as the value inf; put it in quotes"),
        ("completion_code: 1E5", "was read as the value 100000.0"),
        ("values: {credit_token: 12e4}", r"values\.credit_token was read as the value"),
    ],
)
def test_a_code_that_yaml_has_made_a_number_is_told(tmp_path: Path, setting: str, says: str) -> None:
    """In a file of one's own only quotes help; without them the wrong code would be sent to the panel."""
    conf = tmp_path / "mine.yaml"
    conf.write_text(
        "#@package _global_\ndefaults: [local, override /place: link, _self_]\nmephisto:\n"
        f"  architect: {{public_url: 'https://a.org'}}\n  provider:\n    panel: prolific\n    {setting}\n"
    )
    with pytest.raises(ConfigError, match=says):
        compose_config("pw_turn", str(conf))
