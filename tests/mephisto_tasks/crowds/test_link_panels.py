"""Panels: which parameters are whose, where everybody goes in the end, and what a panel's file may say."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from mephisto_tasks.admission.visits import Arrival, Outcome, TurnedAway
from mephisto_tasks.config.task import ConfigError
from mephisto_tasks.crowds.link.crowd import arrival_by, read_parameters
from mephisto_tasks.crowds.panels.panel import PanelDoor, panel_door

PID, STUDY, SESSION = "5f1a2b3c4d5e6f7a8b9c0d1e", "61aaaaaaaaaaaaaaaaaaaaaa", "62bbbbbbbbbbbbbbbbbbbbbb"
PROLIFIC = {"PROLIFIC_PID": PID, "STUDY_ID": STUDY, "SESSION_ID": SESSION}


def prolific(**codes: str) -> PanelDoor:
    outcomes: dict[str, Outcome] = {"screen_out": "screened_out", "no_consent": "no_consent", "time_out": "timed_out"}
    return panel_door("prolific", {"complete": "C1DONE"} | {outcomes[name]: code for name, code in codes.items()}, {})


def arrived(door: PanelDoor, parameters: dict[str, str]) -> Arrival:
    arrival = door.arrival(parameters)
    assert arrival is not None
    return arrival


def url_of(door: PanelDoor, parameters: dict[str, str], outcome: Outcome = "complete") -> str | None:
    redirect = door.exit(arrived(door, parameters), outcome)
    return None if redirect is None else redirect.url


def test_each_way_out_has_its_own_code_and_none_without_one() -> None:
    door = prolific(screen_out="S2&x=1", time_out="T4")
    complete = "https://app.prolific.com/submissions/complete?cc="
    assert url_of(door, PROLIFIC) == complete + "C1DONE"
    assert url_of(door, PROLIFIC, "screened_out") == complete + "S2%26x%3D1"  # a code is data
    assert url_of(door, PROLIFIC, "timed_out") == complete + "T4"
    assert url_of(door, PROLIFIC, "no_consent") is None
    assert not door.may_decline
    assert prolific(no_consent="N3").may_decline


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"PROLIFIC_PID": ""}, "does not contain your ID"),
        ({"PROLIFIC_PID": "{{%PROLIFIC_PID%}}"}, "placeholder"),
        ({"SESSION_ID": "{{%SESSION_ID%}}"}, "placeholder"),
        ({"PROLIFIC_PID": "a" * 1500}, "not an ID from Prolific"),
        ({"PROLIFIC_PID": "../../etc/passwd"}, "not an ID from Prolific"),
        ({"PROLIFIC_PID": "<script>alert(1)</script>"}, "placeholder"),
        ({"SESSION_ID": "x\x00y"}, "not an ID from Prolific"),
    ],
)
def test_a_link_that_names_nobody_is_turned_away_with_what_to_do(changed: dict[str, str], says: str) -> None:
    with pytest.raises(TurnedAway, match=says) as turned_away:
        prolific().arrival(PROLIFIC | changed)
    assert "Please open the study from its page on Prolific" in str(turned_away.value)


def test_a_missing_session_is_no_half_visit() -> None:
    with pytest.raises(TurnedAway, match="does not contain your ID"):
        prolific().arrival({"PROLIFIC_PID": PID})


def test_an_address_without_the_panels_parameters_is_left_to_other_doors() -> None:
    assert prolific().arrival({"invitation": "abc"}) is None
    with pytest.raises(TurnedAway, match="does not identify you"):
        arrival_by([prolific()], {})


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        (None, "cannot be read"),
        ("PROLIFIC_PID=x", "cannot be read"),
        ([["a"]], "cannot be read"),
        ([["a", 1]], "cannot be read"),
        ([["a", "b"]] * 51, "cannot be read"),
        ([["a", "b" * 2001]], "cannot be read"),
        ([["PROLIFIC_PID", "one"], ["PROLIFIC_PID", "two"]], "two different people"),
    ],
)
def test_what_a_page_sends_is_checked(sent: object, says: str) -> None:
    with pytest.raises(TurnedAway, match=says):
        read_parameters(sent)


def test_the_same_parameter_twice_with_one_value_is_one() -> None:
    assert read_parameters([["a", "b"], ["a", "b"]]) == {"a": "b"}


def test_a_sona_student_gets_credit_at_their_own_university() -> None:
    values = {"site": "my-uni", "experiment_id": "12", "credit_token": "t&k"}
    door = panel_door("sona", {}, values)
    expected = "https://my-uni.sona-systems.com/webstudy_credit.aspx?experiment_id=12&credit_token=t%26k&survey_code=77"
    assert url_of(door, {"survey_code": "77"}) == expected
    assert arrived(door, {"survey_code": "77"}) == Arrival(worker_name="sona:77", door="sona", session="77")
    assert url_of(door, {"survey_code": "77"}, "screened_out") is None
    with pytest.raises(TurnedAway, match="placeholder"):
        door.arrival({"survey_code": "%SURVEY_CODE%"})


def test_a_sona_site_is_one_name_and_no_way_to_another_host() -> None:
    values = {"site": "evil.example/", "experiment_id": "1", "credit_token": "2"}
    with pytest.raises(ConfigError, match=r"^values\.site="):
        panel_door("sona", {}, values)
    with pytest.raises(ConfigError, match=r"needs values\.experiment_id"):
        panel_door("sona", {}, {"site": "my"})


def test_toloka_asks_for_a_code_in_the_end() -> None:
    door = panel_door("toloka", {"complete": "T0L0"}, {})
    arrival = arrived(door, {"worker_id": "w", "assignment_id": "a"})
    redirect = door.exit(arrival, "complete")
    assert redirect is not None
    assert (redirect.site, redirect.url, redirect.code) == ("Toloka", None, "T0L0")
    assert door.exit(arrival, "screened_out") is None
    with pytest.raises(TurnedAway, match="placeholder"):
        door.arrival({"worker_id": "${workerId}", "assignment_id": "a"})


def test_a_panel_that_asks_for_a_code_needs_one() -> None:
    for panel in ("prolific", "toloka"):
        with pytest.raises(ConfigError, match="needs completion_code="):
            panel_door(panel, {}, {})


@pytest.mark.parametrize("panel", ["mturk", "../arrivals", "", "nowhere.yaml"])
def test_an_unknown_panel_is_named_with_those_that_there_are(panel: str) -> None:
    with pytest.raises(ConfigError, match="cloudconnect, prolific, sona, toloka, none"):
        panel_door(panel, {}, {})


OWN = {
    "name": "ours",
    "title": "Our panel",
    "parameters": {"worker": "who"},
    "redirects": {"complete": "https://panel.example.org/done?w={worker}"},
}


def written(folder: Path, **changed: object) -> str:
    path = folder / "ours.yaml"
    path.write_text(yaml.safe_dump({**OWN, **changed}), encoding="utf-8")
    return str(path)


def test_a_panel_of_ones_own_is_a_file(tmp_path: Path) -> None:
    door = panel_door(written(tmp_path), {}, {})
    assert arrived(door, {"who": "me@example.org"}) == Arrival(worker_name="ours:me@example.org", door="ours")
    assert url_of(door, {"who": "me@example.org"}) == "https://panel.example.org/done?w=me%40example.org"
    for worker in ("-x_Y0", "_b64url-"):  # as random ids of many sites begin
        assert arrived(door, {"who": worker}).worker_name == f"ours:{worker}"


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"redirects": {"complete": "https://{worker}.example.org/"}}, "host must not depend on the visitor"),
        ({"redirects": {"complete": "javascript:alert(1)"}}, "is not a secure address; write https://…"),
        ({"redirects": {"complete": "http://panel.example.org/"}}, "is not a secure address; write https://…"),
        ({"redirects": {"complete": "https://good.org@evil.org/"}}, "is not a secure address; write https://…"),
        ({"redirects": {"complete": "https://a.org/?x={who}"}}, r"\{who\} is unknown; choose one of \{code\}"),
        ({"redirects": {"complete": "https://a.org/?x={worker.__class__}"}}, "is unknown"),
        (
            {"redirects": {"complete": "https://a.org/?x={worker:{code}}"}},
            "redirects.complete: braces enclose only a name",
        ),
        ({"redirects": {"complete": "https://a.org/?x={"}}, "redirects.complete: braces only enclose names"),
        ({"parameters": {"worker": "invitation"}}, "'invitation' is reserved for this package's invitations"),
        ({"redirects": {"finished": "https://a.org/"}}, "redirects.finished"),
        ({"name": "invitation"}, "reserved for this package"),
        ({"name": "Our Panel"}, "name: String should match pattern"),
        ({"parameters": {}}, "parameters.worker: is missing"),
        ({"colour": "red"}, "colour: is not a known name here"),
    ],
)
def test_a_panels_file_says_what_is_wrong(tmp_path: Path, changed: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        panel_door(written(tmp_path, **changed), {}, {})


def test_a_file_that_is_no_yaml_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("name: [", encoding="utf-8")
    with pytest.raises(ConfigError, match="not YAML"):
        panel_door(str(path), {}, {})
    path.write_text("", encoding="utf-8")
    with pytest.raises(ConfigError, match="contains no settings of a panel; start from a copy of one of those in"):
        panel_door(str(path), {}, {})
