"""The stand-in of MTurk answers real boto3 as the documentation of MTurk says: state, money, time, refusals and faults."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError, HTTPClientError

from servers.mturk import CUT_AFTER, CUT_BEFORE, KEY, SECRET, SERVICE_FAULT, THROTTLED, NotAllowed, StandIn, Worker

QUESTION = (
    '<ExternalQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/'
    'ExternalQuestion.xsd"><ExternalURL>{url}</ExternalURL><FrameHeight>650</FrameHeight></ExternalQuestion>'
)
PAGE = "https://study.example/?x=1&amp;y=2"
WEEK_S = 7 * 24 * 3600
ADULT = {"QualificationTypeId": "00000000000000000060", "Comparator": "EqualTo", "IntegerValues": [1]}


def connect(mturk: StandIn, key: str = KEY, region: str = "us-east-1", attempts: int = 1) -> Any:
    return boto3.client(
        "mturk",
        endpoint_url=mturk.url,
        aws_access_key_id=key,
        aws_secret_access_key=SECRET,
        region_name=region,
        config=Config(retries={"total_max_attempts": attempts, "mode": "standard"}),
    )


@pytest.fixture
def mturk() -> Iterator[StandIn]:
    with StandIn(sandbox=False, deposited="10.00") as server:
        yield server


@pytest.fixture
def client(mturk: StandIn) -> Any:
    return connect(mturk)


def new_type(client: Any, **changes: Any) -> str:
    params = {
        "AssignmentDurationInSeconds": 600,
        "AutoApprovalDelayInSeconds": WEEK_S,
        "Reward": "1.00",
        "Title": "Talk",
        "Description": "Talk to a bot",
        **changes,
    }
    return str(client.create_hit_type(**params)["HITTypeId"])


def new_hit(client: Any, hit_type: str | None = None, **changes: Any) -> str:
    params = {"LifetimeInSeconds": 3600, "Question": QUESTION.format(url=PAGE), "MaxAssignments": 1, **changes}
    made = client.create_hit_with_hit_type(HITTypeId=hit_type or new_type(client), **params)
    return str(made["HIT"]["HITId"])


def hit(client: Any, hit_id: str) -> dict[str, Any]:
    return dict(client.get_hit(HITId=hit_id)["HIT"])


def work(mturk: StandIn, hit_id: str, worker: str = "A1") -> str:
    """Accepted and handed in; the assignment."""
    assignment = mturk.crowd.accept(worker, hit_id)
    mturk.crowd.submit(assignment.id, {"answer": "<yes & no>"})
    return assignment.id


def balance(client: Any) -> tuple[str, str]:
    answer = client.get_account_balance()
    return answer["AvailableBalance"], answer["OnHoldBalance"]


def refused(call: Any, **params: Any) -> tuple[str, str, str]:
    """Code, MTurk's code and message of the refusal."""
    with pytest.raises(ClientError) as error:
        call(**params)
    answer = error.value.response
    turk_code = str(answer.get("TurkErrorCode", "")).removeprefix("AWS.MechanicalTurk.")
    return answer["Error"]["Code"], turk_code, answer["Error"]["Message"]


def test_a_hit_from_made_to_paid(mturk: StandIn, client: Any) -> None:
    """The states of a HIT and of the account's money follow the worker and the requester, step by step."""
    hit_id = new_hit(client)
    assert balance(client) == ("8.80", "1.20")
    assert hit(client, hit_id)["HITStatus"] == "Assignable"
    assignment = mturk.crowd.accept("A1", hit_id).id
    now = hit(client, hit_id)
    assert (now["HITStatus"], now["NumberOfAssignmentsPending"], now["NumberOfAssignmentsAvailable"]) == (
        "Unassignable", 1, 0,
    )  # fmt: skip
    assert client.list_assignments_for_hit(HITId=hit_id)["Assignments"] == []
    _, code, said = refused(client.get_assignment, AssignmentId=assignment)
    assert code == "InvalidAssignmentState"
    assert said.startswith("This operation can be called with a status of: Reviewable,Approved,Rejected")
    mturk.crowd.submit(assignment, {"answer": "<yes & no>"})
    (handed_in,) = client.list_assignments_for_hit(HITId=hit_id)["Assignments"]
    assert handed_in["AssignmentStatus"] == "Submitted"
    assert "<FreeText>&lt;yes &amp; no&gt;</FreeText>" in handed_in["Answer"]
    assert hit(client, hit_id)["HITStatus"] == "Reviewable"
    client.approve_assignment(AssignmentId=assignment)
    assert client.get_assignment(AssignmentId=assignment)["Assignment"]["AssignmentStatus"] == "Approved"
    assert refused(client.approve_assignment, AssignmentId=assignment)[2].startswith(
        "This operation can be called with a status of: Submitted"
    )
    client.send_bonus(WorkerId="A1", BonusAmount="0.50", AssignmentId=assignment, Reason="thanks")
    assert balance(client) == ("8.20", "0.00")
    assert [p["BonusAmount"] for p in client.list_bonus_payments(AssignmentId=assignment)["BonusPayments"]] == ["0.50"]
    client.delete_hit(HITId=hit_id)
    assert hit(client, hit_id)["HITStatus"] == "Disposed"
    assert client.list_hits()["HITs"] == []
    mturk.crowd.forget_hit(hit_id)
    assert refused(client.get_hit, HITId=hit_id)[2].startswith(f"Hit {hit_id} does not exist.")


def test_given_back_and_too_slow(mturk: StandIn, client: Any) -> None:
    """A HIT given back, or held too long, is free again; the next worker gets the same assignment id, as with MTurk."""
    hit_id = new_hit(client)
    first = mturk.crowd.accept("A1", hit_id).id
    mturk.crowd.give_back(first)
    assert refused(client.get_assignment, AssignmentId=first)[1] == "InvalidAssignmentState"
    assert hit(client, hit_id)["HITStatus"] == "Assignable"
    assert mturk.crowd.accept("A2", hit_id).id == first
    mturk.clock.move(601)
    assert hit(client, hit_id)["HITStatus"] == "Assignable"
    with pytest.raises(NotAllowed):
        mturk.crowd.submit(first, {"late": "yes"})
    mturk.clock.move(3600)
    now = hit(client, hit_id)
    assert (now["HITStatus"], now["NumberOfAssignmentsAvailable"]) == ("Reviewable", 1)
    assert mturk.crowd.offered("A3") == []
    assert balance(client) == ("10.00", "0.00")


def test_expired_while_somebody_works(mturk: StandIn, client: Any) -> None:
    """Expiring keeps nobody from handing in what they began, and is what makes a HIT deletable."""
    hit_id = new_hit(client)
    assignment = mturk.crowd.accept("A1", hit_id).id
    client.update_expiration_for_hit(HITId=hit_id, ExpireAt=0)
    assert hit(client, hit_id)["HITStatus"] == "Unassignable"
    assert refused(client.delete_hit, HITId=hit_id)[1] == "InvalidHITState"
    mturk.crowd.submit(assignment, {"answer": "in time"})
    assert refused(client.delete_hit, HITId=hit_id)[1] == "InvalidHITState"
    mturk.clock.move(WEEK_S + 1)
    assert client.get_assignment(AssignmentId=assignment)["Assignment"]["AssignmentStatus"] == "Approved"
    assert balance(client) == ("8.80", "0.00")
    client.delete_hit(HITId=hit_id)


def test_a_rejection_taken_back(mturk: StandIn, client: Any) -> None:
    assignment = work(mturk, new_hit(client))
    client.reject_assignment(AssignmentId=assignment, RequesterFeedback="no")
    assert balance(client) == ("10.00", "0.00")
    assert refused(client.approve_assignment, AssignmentId=assignment)[1] == "InvalidAssignmentState"
    client.approve_assignment(AssignmentId=assignment, OverrideRejection=True)
    assert balance(client) == ("8.80", "0.00")


def test_money_that_is_not_there(mturk: StandIn, client: Any) -> None:
    """Nothing is made or paid that the account cannot pay, fees included; ten assignments cost twice the fee."""
    hit_type = new_type(client, Reward="5.00")
    assignment = work(mturk, new_hit(client, hit_type))
    code = ("RequestError", "InsufficientFunds")
    assert refused(new_hit, client=client, hit_type=hit_type)[:2] == code
    assert len(client.list_hits()["HITs"]) == 1
    bonus = {"WorkerId": "A1", "AssignmentId": assignment, "Reason": "thanks"}
    assert refused(client.send_bonus, BonusAmount="3.40", **bonus)[:2] == code
    client.send_bonus(BonusAmount="3.33", **bonus)
    assert balance(client) == ("0.00", "6.00")
    mturk.account.deposited += 14
    new_hit(client, new_type(client), MaxAssignments=10)
    assert balance(client) == ("0.00", "20.00")


def test_a_bonus_is_paid_once(mturk: StandIn, client: Any) -> None:
    """The token keeps a bonus from being paid again, also if the answer was lost on its way; for a day, and no longer."""
    assignment = work(mturk, new_hit(client))
    bonus = {
        "WorkerId": "A1", "AssignmentId": assignment, "Reason": "thanks", "BonusAmount": "0.10",
        "UniqueRequestToken": "once",
    }  # fmt: skip
    mturk.faults.next("SendBonus", CUT_BEFORE, CUT_AFTER)
    for paid in (0, 1):
        with pytest.raises((ConnectionClosedError, HTTPClientError)):
            client.send_bonus(**bonus)
        assert len(mturk.account.bonuses) == paid
    assert refused(client.send_bonus, **bonus)[:2] == ("RequestError", "DuplicateRequest")
    assert 'token "once" has already been processed' in refused(client.send_bonus, **bonus)[2]
    mturk.clock.move(24 * 3600 + 1)
    client.send_bonus(**bonus)
    assert len(mturk.account.bonuses) == 2
    hits = [call.outcome for call in mturk.journal.of("SendBonus")]
    assert hits == ["cut before", "cut after", *["RequestError"] * 2, "ok"]


def test_who_is_let_in(mturk: StandIn, client: Any) -> None:
    """Requirements are truly checked: MTurk's own, and those of the requester; the blocked find nothing."""
    own = client.create_qualification_type(Name="trained", Description="d", QualificationTypeStatus="Active")
    own_id = own["QualificationType"]["QualificationTypeId"]
    needed = [
        {
            "QualificationTypeId": "00000000000000000071",
            "Comparator": "In",
            "LocaleValues": [{"Country": "US", "Subdivision": "CA"}, {"Country": "GB"}],
            "ActionsGuarded": "DiscoverPreviewAndAccept",
        },
        {
            "QualificationTypeId": "000000000000000000L0",
            "Comparator": "GreaterThanOrEqualTo",
            "IntegerValues": [95],
            "ActionsGuarded": "DiscoverPreviewAndAccept",
        },
        {"QualificationTypeId": own_id, "Comparator": "DoesNotExist", "ActionsGuarded": "PreviewAndAccept"},
        ADULT,
    ]
    hit_id = new_hit(client, new_type(client, QualificationRequirements=needed))
    crowd = mturk.crowd
    for worker in (
        Worker("AGOOD", "US", "CA", 99, adult=True),
        Worker("AELSEWHERE", "US", "NY", 99, adult=True),
        Worker("APOOR", "GB", "", 94, adult=True),
        Worker("ACHILD", "GB", "", 99),
        Worker("ATRAINED", "GB", "", 99, adult=True),
        Worker("ABLOCKED", "GB", "", 99, adult=True),
    ):
        crowd.add_worker(worker)
    client.associate_qualification_with_worker(QualificationTypeId=own_id, WorkerId="ATRAINED", IntegerValue=3)
    client.create_worker_block(WorkerId="ABLOCKED", Reason="why not")
    found = {worker for worker in crowd.workers if crowd.offered(worker)}
    assert found == {"AGOOD", "ACHILD", "ATRAINED"}
    one = crowd.hits()[0]
    assert [crowd.may("preview", worker, one) for worker in ("AGOOD", "ACHILD", "ATRAINED")] == [True, True, False]
    with pytest.raises(NotAllowed, match="qualifications"):
        crowd.accept("ACHILD", hit_id)
    crowd.accept("AGOOD", hit_id)
    assert (
        client.get_qualification_score(QualificationTypeId=own_id, WorkerId="ATRAINED")["Qualification"]["IntegerValue"]
        == 3
    )
    client.disassociate_qualification_from_worker(QualificationTypeId=own_id, WorkerId="ATRAINED")
    assert client.list_workers_with_qualification_type(QualificationTypeId=own_id)["Qualifications"] == []
    assert client.list_worker_blocks()["WorkerBlocks"] == [{"WorkerId": "ABLOCKED", "Reason": "why not"}]


@pytest.mark.parametrize(
    ("call", "params", "code", "said"),
    [
        ("create_worker_block", {"WorkerId": "bob", "Reason": "r"}, "ValidationException", "regular expression"),
        ("send_bonus", {"WorkerId": "A1", "BonusAmount": "0.123", "AssignmentId": "3", "Reason": "r"},
         "ValidationException", "bonusAmount"),
        ("get_hit", {"HITId": "3NONE"}, "RequestError", "Hit 3NONE does not exist"),
        ("get_assignment", {"AssignmentId": "3NONE"}, "RequestError", "Assignment 3NONE does not exist"),
        ("get_qualification_score", {"QualificationTypeId": "3NONE", "WorkerId": "A1"}, "RequestError",
         "QualificationType 3NONE does not exist"),
        ("create_hit_with_hit_type", {"HITTypeId": "3NONE", "LifetimeInSeconds": 60}, "RequestError",
         "HITType 3NONE does not exist"),
        ("list_review_policy_results_for_hit", {"HITId": "3NONE"}, "NotImplemented", "ListReviewPolicyResultsForHIT"),
    ],
)  # fmt: skip
def test_what_is_refused(client: Any, call: str, params: dict[str, Any], code: str, said: str) -> None:
    answer = refused(getattr(client, call), **params)
    assert answer[0] == code
    assert said in answer[2]


def test_a_hit_type_that_makes_no_sense(client: Any) -> None:
    """A qualification that does not exist, and a page that no browser would load in MTurk's frame."""
    gone = {**ADULT, "QualificationTypeId": "3NONE"}
    assert refused(new_type, client=client, QualificationRequirements=[gone])[1] == "QualificationTypeDoesNotExist"
    places = [{"Country": "CA", "Subdivision": "ON"}]
    ontario = {"QualificationTypeId": "00000000000000000071", "Comparator": "In", "LocaleValues": places}
    assert refused(new_type, client=client, QualificationRequirements=[ontario])[1] == "ParameterValidationError"
    for name, most in (("Title", 128), ("Description", 2000), ("Keywords", 1000)):
        assert refused(new_type, client=client, **{name: "x" * (most + 1)})[1] == "ParameterValidationError"
        new_type(client=client, **{name: "x" * most})
    wrong = {**ADULT, "Comparator": "Exists"}
    assert refused(new_type, client=client, QualificationRequirements=[wrong])[1] == "ParameterValidationError"
    hit_type = new_type(client)
    for url in ("study.example:3000", "http://study.example"):
        answer = refused(new_hit, client=client, hit_type=hit_type, Question=QUESTION.format(url=url))
        assert "must begin with https://" in answer[2]
    assert refused(new_hit, client=client, hit_type=hit_type, Question="<a>&b</a>")[1] == "XMLParseError"
    assert new_type(client) == hit_type


def test_keys_regions_and_faults(mturk: StandIn, client: Any) -> None:
    assert refused(connect(mturk, key="AKIAWRONG").get_account_balance)[0] == "UnrecognizedClientException"
    assert refused(connect(mturk, region="eu-west-1").get_account_balance)[0] == "InvalidSignatureException"
    mturk.faults.next("GetAccountBalance", THROTTLED, None, SERVICE_FAULT)
    assert refused(client.get_account_balance)[0] == "ThrottlingException"
    assert balance(client)[0] == "10.00"
    assert refused(client.get_account_balance)[:2] == ("ServiceFault", "ServiceFault")
    mturk.throttle.most_per_second = 1
    assert balance(client)[0] == "10.00"
    assert refused(client.get_account_balance)[2] == "Rate exceeded"
    assert connect(mturk, attempts=5).get_account_balance()["AvailableBalance"] == "10.00"


def test_every_page_names_the_next(client: Any) -> None:
    """As with MTurk, also the last page that holds something names a next one, which is empty."""
    hit_type = new_type(client, Reward="0.01")
    made = [new_hit(client, hit_type) for _ in range(3)]
    first = client.list_hits(MaxResults=2)
    assert [one["HITId"] for one in first["HITs"]] == made[:0:-1]
    second = client.list_hits(MaxResults=2, NextToken=first["NextToken"])
    assert [one["HITId"] for one in second["HITs"]] == made[:1]
    third = client.list_hits(MaxResults=2, NextToken=second["NextToken"])
    assert third["HITs"] == []
    assert "NextToken" not in third


def test_the_sandbox_never_gets_poor() -> None:
    with StandIn(sandbox=True) as mturk:
        client = connect(mturk)
        client.approve_assignment(AssignmentId=work(mturk, new_hit(client)))
        assert balance(client) == ("10000.00", "0.00")
        assert str(mturk.account.spent) == "1.20"


def test_mails_reach_those_one_knows(mturk: StandIn, client: Any) -> None:
    assignment = work(mturk, new_hit(client))
    mail = {"Subject": "Hello", "MessageText": "There is more to do.", "WorkerIds": ["A1"]}
    (failure,) = client.notify_workers(**mail)["NotifyWorkersFailureStatuses"]
    assert failure["NotifyWorkersFailureCode"] == "HardFailure"
    client.approve_assignment(AssignmentId=assignment)
    assert client.notify_workers(**mail)["NotifyWorkersFailureStatuses"] == []
    assert mturk.crowd.worker("A1").mails == [("Hello", "There is more to do.")]


def test_by_hand() -> None:
    """What the command prints is all that a program needs; Ctrl-C ends it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "servers.mturk", "--port", "0", "--real", "--deposited", "7.50"],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # in the background it is ignored
    )
    assert process.stdout is not None
    try:
        lines = [process.stdout.readline() for _ in range(5)]
        told = dict(line.removeprefix("export ").strip().split("=", 1) for line in lines[:4])
        client = boto3.client(
            "mturk",
            endpoint_url=told["AWS_ENDPOINT_URL_MTURK"],
            aws_access_key_id=told["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=told["AWS_SECRET_ACCESS_KEY"],
            region_name=told["AWS_DEFAULT_REGION"],
        )
        assert balance(client) == ("7.50", "0.00")
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.communicate()
