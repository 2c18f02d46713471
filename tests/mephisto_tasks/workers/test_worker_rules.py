"""Rules who may take part: what may be written, and what MTurk makes of them, asked by real boto3."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from pydantic import ValidationError
from servers.mturk import KEY, SECRET, StandIn, Worker

from mephisto_tasks.config.task import MOST_LOCALES, ConfigError, WorkerRules
from mephisto_tasks.crowds.mturk.launch import (
    MASTERS,
    MASTERS_SANDBOX,
    mturk_requirements,
    qualification_id,
)


@pytest.fixture(scope="module")
def mturk() -> Iterator[StandIn]:
    with StandIn(sandbox=False) as server:
        yield server


@pytest.fixture(scope="module")
def client(mturk: StandIn) -> Any:
    keys = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET}
    return boto3.client("mturk", endpoint_url=mturk.url, region_name="us-east-1", **keys)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"locales": ["USA"]}, "'USA' is not an ISO 3166 code of a country"),
        ({"locales": ["UK"]}, "'UK' is not an ISO 3166 code of a country"),
        ({"locales": [""]}, "'' is not an ISO 3166 code"),
        ({"locales": ["US-XX"]}, "'US-XX' is not an ISO 3166-2 code in US; choose one such as US-A"),
        ({"locales": ["DE"] * (MOST_LOCALES + 1)}, "30"),
        ({"min_approval_rate": 101}, "100"),
        ({"min_approved": -1}, "0"),
        ({"max_units": 0}, "1"),
        ({"qualifications": ["a"], "not_qualifications": ["a"]}, "nobody could take part"),
        ({"max_units_across": 2}, "set across_tasks, or use max_units"),
        ({"across_tasks": ["a"]}, "needs max_units_across or pair_once"),
        ({"exclude_tasks": [" "]}, "a name is empty"),
        ({"country": "US"}, "country"),
    ],
)
def test_what_cannot_be_is_a_sentence(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as error:
        WorkerRules.model_validate(settings)
    assert said in str(error.value)


def test_codes_may_be_written_small_and_twice() -> None:
    assert WorkerRules(locales=["us", "US", " gb", "us-ny"]).locales == ["US", "GB", "US-NY"]


WORKERS = {
    "good": Worker("good", "US", "NY", percent_approved=97, number_approved=900, adult=True, masters=True),
    "abroad": Worker("abroad", "FR", percent_approved=99, number_approved=900, adult=True, masters=True),
    "careless": Worker("careless", "US", percent_approved=80, number_approved=900, adult=True, masters=True),
    "new": Worker("new", "US", percent_approved=100, number_approved=3, adult=True, masters=True),
    "shy": Worker("shy", "US", percent_approved=100, number_approved=900, masters=True),
    "plain": Worker("plain", "US", percent_approved=100, number_approved=900, adult=True),
}


@pytest.mark.parametrize(
    ("rules", "out"),
    [
        (WorkerRules(), set()),
        (WorkerRules(locales=["US"]), {"abroad"}),
        (WorkerRules(locales=["US-NY", "FR"]), {"careless", "new", "shy", "plain"}),
        (WorkerRules(min_approval_rate=97), {"careless"}),
        (WorkerRules(min_approved=500), {"new"}),
        (WorkerRules(adult=True), {"shy"}),
        (WorkerRules(masters=True), {"plain"}),
        (
            WorkerRules(locales=["US"], min_approval_rate=97, min_approved=500, adult=True, masters=True),
            set(WORKERS) - {"good"},
        ),
    ],
)
def test_mturk_hides_the_hits_from_whom_the_rules_leave_out(
    mturk: StandIn, client: Any, rules: WorkerRules, out: set[str]
) -> None:
    """The requirements are taken by MTurk, and mean there what the rules say."""
    for worker in WORKERS.values():
        mturk.crowd.add_worker(worker)
    hit = client.create_hit(
        Title="t", Description="d", Reward="0.10", AssignmentDurationInSeconds=60, LifetimeInSeconds=60,
        Question="<ExternalQuestion xmlns='http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/"
        "ExternalQuestion.xsd'><ExternalURL>https://a.example/</ExternalURL><FrameHeight>0</FrameHeight></ExternalQuestion>",
        QualificationRequirements=mturk_requirements(rules, sandbox=False),
    )["HIT"]["HITId"]  # fmt: skip
    offered = {name for name in WORKERS if hit in {one.id for one in mturk.crowd.offered(name)}}
    assert offered == set(WORKERS) - out


def test_masters_are_another_qualification_in_the_sandbox() -> None:
    ids = [
        mturk_requirements(WorkerRules(masters=True), sandbox)[0]["QualificationTypeId"] for sandbox in (False, True)
    ]
    assert ids == [MASTERS, MASTERS_SANDBOX]


def test_a_place_without_its_part_is_the_whole_country() -> None:
    """A hyphen too many is let through, and MTurk would refuse an empty part."""
    (wanted,) = mturk_requirements(WorkerRules(locales=["US-", "US-CA"]), sandbox=False)
    assert wanted["LocaleValues"] == [{"Country": "US"}, {"Country": "US", "Subdivision": "CA"}]


def test_qualifications_of_the_account_by_name_and_by_id(client: Any) -> None:
    """Who has it, who has it not; one that is not there is an error that names those that are."""
    made = client.create_qualification_type(Name="passed last year", Description="d", QualificationTypeStatus="Active")
    type_id = made["QualificationType"]["QualificationTypeId"]
    rules = WorkerRules(qualifications=["passed last year"], not_qualifications=[type_id])
    wanted = mturk_requirements(rules, False, lambda name: qualification_id(client, name))
    assert [(one["QualificationTypeId"], one["Comparator"]) for one in wanted] == [
        (type_id, "Exists"),
        (type_id, "DoesNotExist"),
    ]
    with pytest.raises(ConfigError, match="'passed last yaer'; choose one that it has: passed last year"):
        qualification_id(client, "passed last yaer")
    with pytest.raises(ConfigError, match="no qualification with the ID '0000"):
        qualification_id(client, "0" * 24)


def test_what_only_mturk_checks_is_worded() -> None:
    rules = WorkerRules(locales=["US", "GB"], min_approved=500, max_units=3)
    assert rules.checked_by_site() == {"locales": "live in US, GB", "min_approved": "had at least 500 tasks approved"}
    assert WorkerRules().checked_by_site() == {}
