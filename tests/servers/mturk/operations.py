"""What requesters can do: one function for each operation of the service.

Each takes the crowd, the account that asks and the request's parameters, and returns what is answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, TypeVar

from .crowd import Crowd, external_url
from .errors import already_processed, does_not_exist, insufficient_funds, invalid, request_error
from .money import CENT, bonus_fee
from .qualifying import check_requirements
from .records import (
    APPROVED,
    IN_PROGRESS,
    REJECTED,
    REVIEWED,
    SUBMITTED,
    SYSTEM_TYPES,
    Account,
    Assignment,
    Bonus,
    Hit,
    HitType,
    QualificationType,
)

Params = dict[str, Any]
Operation = Callable[[Crowd, Account, Params], "Params | None"]
Item = TypeVar("Item")

OPERATIONS: dict[str, Operation] = {}
PAGE = 10
"""Results at a time where the request does not say."""
DAY_S = 24 * 3600
TOKEN_S = DAY_S
"""How long a UniqueRequestToken is remembered."""
OVERRIDE_S = 30 * DAY_S
"""How long a rejection can be taken back."""
MOST_MAILS = 100
MOST_LETTERS = (("Title", 128), ("Description", 2000), ("Keywords", 1000))
HIT_TYPE_FIELDS = (
    "AutoApprovalDelayInSeconds",
    "AssignmentDurationInSeconds",
    "Reward",
    "Title",
    "Keywords",
    "Description",
    "QualificationRequirements",
)


def operation(function: Operation) -> Operation:
    """Register a function under the name of its operation: ``get_hit`` does ``GetHIT``."""
    words = function.__name__.split("_")
    spelt = {"hit": "HIT", "hits": "HITs"}
    OPERATIONS["".join(spelt.get(word, word.capitalize()) for word in words)] = function
    return function


def _page(name: str, items: Sequence[Item], params: Params, view: Callable[[Item], Params]) -> Params:
    """Some of many. As with the real one, any page that holds something names a next one, which may be empty."""
    token = params.get("NextToken", "p0")
    if not token.removeprefix("p").isdigit():
        raise invalid("The NextToken is not valid.")
    begin = int(token.removeprefix("p"))
    part = items[begin : begin + params.get("MaxResults", PAGE)]
    answer: Params = {"NumResults": len(part), name: [view(item) for item in part]}
    if part:
        answer["NextToken"] = f"p{begin + len(part)}"
    return answer


def _once(account: Account, name: str, params: Params, now: float) -> tuple[str, str] | None:
    """The key under which a request's token is remembered; refuses one that was used in the last day."""
    token = params.get("UniqueRequestToken")
    if token is None:
        return None
    used = account.tokens.get((name, token))
    if used is not None and now - used[0] < TOKEN_S:
        if name == "CreateHIT":
            raise request_error("HITAlreadyExists", f"HIT {used[1]} already exists for the token {token}.")
        raise already_processed(token)
    return name, token


# The account


@operation
def get_account_balance(crowd: Crowd, account: Account, params: Params) -> Params:
    now = crowd.clock.now()
    held = Decimal(0) if account.sandbox else account.held(now)
    return {"AvailableBalance": f"{account.available(now):.2f}", "OnHoldBalance": f"{held:.2f}"}


# HITs


@operation
def create_hit_type(crowd: Crowd, account: Account, params: Params) -> Params:
    return {"HITTypeId": _hit_type(crowd, account, params).id}


def _hit_type(crowd: Crowd, account: Account, params: Params) -> HitType:
    """The type with these values: they make one type, however often it is made."""
    check_requirements(params.get("QualificationRequirements") or [], crowd.qualification_types)
    for name, most in MOST_LETTERS:
        if len(params.get(name, "")) > most:
            raise invalid(f"The value is invalid for {name}. It must be no longer than {most} characters.")
    if params["AssignmentDurationInSeconds"] < 30:
        raise invalid("AssignmentDurationInSeconds must be at least 30.")
    fields = {name: params[name] for name in HIT_TYPE_FIELDS if name in params}
    same = [hit_type for hit_type in account.types.values() if hit_type.params == fields]
    hit_type = same[0] if same else HitType(crowd.names.new(), account.name, fields)
    account.types[hit_type.id] = hit_type
    return hit_type


@operation
def create_hit_with_hit_type(crowd: Crowd, account: Account, params: Params) -> Params:
    hit_type = account.types.get(params["HITTypeId"])
    if hit_type is None:
        raise does_not_exist("HITType", params["HITTypeId"])
    return _new_hit(crowd, account, hit_type, params)


@operation
def create_hit(crowd: Crowd, account: Account, params: Params) -> Params:
    return _new_hit(crowd, account, _hit_type(crowd, account, params), params)


def _new_hit(crowd: Crowd, account: Account, hit_type: HitType, params: Params) -> Params:
    now = crowd.clock.now()
    token = _once(account, "CreateHIT", params, now)
    if "Question" not in params:
        raise invalid("A HIT needs a Question (layouts are not known here).")
    external_url(params["Question"])
    if not 30 <= params["LifetimeInSeconds"] <= 365 * DAY_S:
        raise invalid("LifetimeInSeconds must be between 30 and 31536000.")
    most = params.get("MaxAssignments", 1)
    hit = Hit(
        crowd.names.new(), hit_type, params["Question"], now, now + params["LifetimeInSeconds"], most,
        params.get("RequesterAnnotation", ""),
    )  # fmt: skip
    if hit.held(now) > account.available(now):
        raise insufficient_funds()
    account.hits[hit.id] = hit
    if token:
        account.tokens[token] = now, hit.id
    return {"HIT": _hit_view(crowd, hit)}


def _hit_view(crowd: Crowd, hit: Hit) -> Params:
    return {
        **hit.type.params,
        "HITId": hit.id,
        "HITTypeId": hit.type.id,
        "HITGroupId": hit.type.id,
        "CreationTime": hit.created,
        "Question": hit.question,
        "HITStatus": hit.status(crowd.clock.now()),
        "MaxAssignments": hit.max_assignments,
        "Reward": f"{hit.type.reward:.2f}",
        "Expiration": hit.expires,
        "RequesterAnnotation": hit.annotation or None,
        "HITReviewStatus": "NotReviewed",
        "NumberOfAssignmentsPending": hit.count(IN_PROGRESS),
        "NumberOfAssignmentsAvailable": hit.available,
        "NumberOfAssignmentsCompleted": hit.count(*REVIEWED),
    }


def _own_hit(account: Account, params: Params) -> Hit:
    hit = account.hits.get(params["HITId"])
    if hit is None:
        raise does_not_exist("Hit", params["HITId"])
    return hit


def _must_be(hit: Hit, status: str, *allowed: str) -> None:
    if status not in allowed:
        raise request_error(
            "InvalidHITState",
            f"This HIT is currently in the state '{status}'.  "
            f"This operation can be called with a status of: {', '.join(allowed)}",
        )


@operation
def get_hit(crowd: Crowd, account: Account, params: Params) -> Params:
    return {"HIT": _hit_view(crowd, _own_hit(account, params))}


@operation
def list_hits(crowd: Crowd, account: Account, params: Params) -> Params:
    newest_first = [hit for hit in reversed(account.hits.values()) if not hit.disposed]
    return _page("HITs", newest_first, params, lambda hit: _hit_view(crowd, hit))


@operation
def list_reviewable_hits(crowd: Crowd, account: Account, params: Params) -> Params:
    now = crowd.clock.now()
    wanted = [
        hit
        for hit in account.hits.values()
        if hit.status(now) == params.get("Status", "Reviewable") and params.get("HITTypeId") in (None, hit.type.id)
    ]
    return _page("HITs", wanted, params, lambda hit: {"HITId": hit.id, "HITTypeId": hit.type.id})


@operation
def list_hits_for_qualification_type(crowd: Crowd, account: Account, params: Params) -> Params:
    kind = _own_qualification_type(crowd, account, params).id
    needing = [
        hit
        for hit in account.hits.values()
        if not hit.disposed and any(r["QualificationTypeId"] == kind for r in hit.type.requirements)
    ]
    return _page("HITs", needing, params, lambda hit: _hit_view(crowd, hit))


@operation
def update_expiration_for_hit(crowd: Crowd, account: Account, params: Params) -> None:
    hit, now = _own_hit(account, params), crowd.clock.now()
    _must_be(hit, hit.status(now), "Assignable", "Unassignable", "Reviewable", "Reviewing")
    before = hit.expires
    hit.expires = min(float(params["ExpireAt"]), now + 365 * DAY_S)
    if account.available(now) < 0:
        hit.expires = before
        raise insufficient_funds()


@operation
def create_additional_assignments_for_hit(crowd: Crowd, account: Account, params: Params) -> None:
    hit, now = _own_hit(account, params), crowd.clock.now()
    token = _once(account, "CreateAdditionalAssignmentsForHIT", params, now)
    more = params["NumberOfAdditionalAssignments"]
    if hit.max_assignments < 10 <= hit.max_assignments + more:
        raise request_error(
            "InvalidMaximumAssignmentsIncrease",
            "HITs created with fewer than 10 assignments cannot be extended to have 10 or more assignments.",
        )
    if now < hit.expires and more * (hit.type.reward + hit.fee) > account.available(now):
        raise insufficient_funds()
    hit.max_assignments += more
    if token:
        account.tokens[token] = now, hit.id


@operation
def update_hit_review_status(crowd: Crowd, account: Account, params: Params) -> None:
    hit = _own_hit(account, params)
    revert = params.get("Revert", False)
    _must_be(hit, hit.status(crowd.clock.now()), "Reviewing" if revert else "Reviewable")
    hit.reviewing = not revert


@operation
def update_hit_type_of_hit(crowd: Crowd, account: Account, params: Params) -> None:
    hit = _own_hit(account, params)
    if params["HITTypeId"] not in account.types:
        raise does_not_exist("HITType", params["HITTypeId"])
    hit.type = account.types[params["HITTypeId"]]


@operation
def delete_hit(crowd: Crowd, account: Account, params: Params) -> None:
    hit = _own_hit(account, params)
    _must_be(hit, hit.status(crowd.clock.now()), "Reviewing", "Reviewable")
    if hit.count(SUBMITTED):
        raise request_error(
            "InvalidHITState", "This HIT has assignments that are neither approved nor rejected and cannot be deleted."
        )
    hit.disposed = True


# Assignments


def _assignment_view(assignment: Assignment) -> Params:
    approved = assignment.reviewed if assignment.status == APPROVED else None
    rejected = assignment.reviewed if assignment.status == REJECTED else None
    return {
        "AssignmentId": assignment.id,
        "WorkerId": assignment.worker,
        "HITId": assignment.hit.id,
        "AssignmentStatus": assignment.status,
        "AutoApprovalTime": assignment.auto_approval,
        "AcceptTime": assignment.accepted,
        "SubmitTime": assignment.submitted,
        "ApprovalTime": approved,
        "RejectionTime": rejected,
        "Deadline": assignment.deadline,
        "Answer": assignment.answer,
        "RequesterFeedback": assignment.feedback,
    }


def _own_assignment(account: Account, assignment_id: str) -> Assignment:
    """Of work that was handed in. One that a worker has, or gave back, is in the wrong state; it is not unknown.

    GetAssignment answers “…can be called with a status of: Reviewable,Approved,Rejected”
    (github.com/TurkServer/turkserver-meteor/issues/56).
    """
    same = [one for hit in account.hits.values() for one in hit.assignments if one.id == assignment_id]
    if not same:
        raise does_not_exist("Assignment", assignment_id)
    for assignment in same:
        if assignment.status in (SUBMITTED, *REVIEWED):
            return assignment
    raise _wrong_state("Reviewable", *REVIEWED)


@operation
def get_assignment(crowd: Crowd, account: Account, params: Params) -> Params:
    assignment = _own_assignment(account, params["AssignmentId"])
    return {"Assignment": _assignment_view(assignment), "HIT": _hit_view(crowd, assignment.hit)}


@operation
def list_assignments_for_hit(crowd: Crowd, account: Account, params: Params) -> Params:
    statuses = params.get("AssignmentStatuses") or [SUBMITTED, *REVIEWED]
    handed_in = [a for a in _own_hit(account, params).assignments if a.status in statuses]
    handed_in.sort(key=lambda assignment: assignment.submitted or 0)
    return _page("Assignments", handed_in, params, _assignment_view)


def _wrong_state(*allowed: str) -> Exception:
    return request_error(
        "InvalidAssignmentState", f"This operation can be called with a status of: {','.join(allowed)}"
    )


@operation
def approve_assignment(crowd: Crowd, account: Account, params: Params) -> None:
    assignment, now = _own_assignment(account, params["AssignmentId"]), crowd.clock.now()
    override = params.get("OverrideRejection", False) and assignment.status == REJECTED
    if assignment.status != SUBMITTED and not override:
        raise _wrong_state(SUBMITTED, *([REJECTED] if params.get("OverrideRejection") else []))
    if override and (assignment.hit.disposed or now - (assignment.submitted or now) > OVERRIDE_S):
        raise _wrong_state(SUBMITTED)
    crowd.approve(account, assignment, now)
    assignment.feedback = params.get("RequesterFeedback", assignment.feedback)


@operation
def reject_assignment(crowd: Crowd, account: Account, params: Params) -> None:
    assignment = _own_assignment(account, params["AssignmentId"])
    if assignment.status != SUBMITTED:
        raise _wrong_state(SUBMITTED)
    assignment.status, assignment.reviewed = REJECTED, crowd.clock.now()
    assignment.feedback = params["RequesterFeedback"]


@operation
def send_bonus(crowd: Crowd, account: Account, params: Params) -> None:
    now = crowd.clock.now()
    token = _once(account, "SendBonus", params, now)
    assignment = _own_assignment(account, params["AssignmentId"])
    amount = Decimal(params["BonusAmount"])
    if assignment.worker != params["WorkerId"]:
        raise request_error(
            "InvalidParameterValue", f"Worker {params['WorkerId']} did not do assignment {assignment.id}."
        )
    if amount < CENT:
        raise invalid("The BonusAmount must be at least 0.01.")
    if amount + bonus_fee(amount) > account.available(now):
        raise insufficient_funds()
    account.bonus_total += amount
    account.fees += bonus_fee(amount)
    account.bonuses.append(
        Bonus(assignment.worker, assignment.id, amount, params["Reason"], params.get("UniqueRequestToken"), now)
    )
    if token:
        account.tokens[token] = now, assignment.id


@operation
def list_bonus_payments(crowd: Crowd, account: Account, params: Params) -> Params:
    if ("HITId" in params) == ("AssignmentId" in params):
        raise invalid("Either HITId or AssignmentId must be given, and not both.")
    if "HITId" in params:
        wanted = {assignment.id for assignment in _own_hit(account, params).assignments}
    else:
        wanted = {_own_assignment(account, params["AssignmentId"]).id}
    paid = [bonus for bonus in account.bonuses if bonus.assignment in wanted]
    return _page("BonusPayments", paid, params, _bonus_view)


def _bonus_view(bonus: Bonus) -> Params:
    return {
        "WorkerId": bonus.worker,
        "BonusAmount": f"{bonus.amount:.2f}",
        "AssignmentId": bonus.assignment,
        "Reason": bonus.reason,
        "GrantTime": bonus.at,
    }


# Workers


@operation
def create_worker_block(crowd: Crowd, account: Account, params: Params) -> None:
    account.blocks[_known_worker(crowd, params)] = params["Reason"]


@operation
def delete_worker_block(crowd: Crowd, account: Account, params: Params) -> None:
    account.blocks.pop(_known_worker(crowd, params), None)


@operation
def list_worker_blocks(crowd: Crowd, account: Account, params: Params) -> Params:
    return _page("WorkerBlocks", list(account.blocks.items()), params, lambda b: {"WorkerId": b[0], "Reason": b[1]})


def _known_worker(crowd: Crowd, params: Params) -> str:
    if params["WorkerId"] not in crowd.workers:
        raise does_not_exist("Worker", params["WorkerId"])
    return str(params["WorkerId"])


@operation
def notify_workers(crowd: Crowd, account: Account, params: Params) -> Params:
    if len(params["WorkerIds"]) > MOST_MAILS:
        raise invalid(f"At most {MOST_MAILS} workers can be notified at a time.")
    reviewed = {a.worker for hit in account.hits.values() for a in hit.assignments if a.status in REVIEWED}
    failures = []
    for worker in params["WorkerIds"]:
        if worker in reviewed:
            crowd.worker(worker).mails.append((params["Subject"], params["MessageText"]))
        else:
            failures.append(
                {
                    "WorkerId": worker,
                    "NotifyWorkersFailureCode": "HardFailure",
                    "NotifyWorkersFailureMessage": "You have not approved or rejected work of this worker.",
                }
            )
    return {"NotifyWorkersFailureStatuses": failures}


# Qualifications


@operation
def create_qualification_type(crowd: Crowd, account: Account, params: Params) -> Params:
    if any(t.owner == account.name and t.params["Name"] == params["Name"] for t in crowd.qualification_types.values()):
        raise request_error(
            "QualificationTypeAlreadyExists",
            "You have already created a QualificationType with this name.  A QualificationType's name must be unique "
            "among all of the QualificationTypes created by the same user.",
        )
    made = QualificationType(crowd.names.new(), account.name, crowd.clock.now(), dict(params))
    crowd.qualification_types[made.id] = made
    return {"QualificationType": _type_view(made)}


def _type_view(qualification_type: QualificationType) -> Params:
    return {
        **qualification_type.params,
        "QualificationTypeId": qualification_type.id,
        "CreationTime": qualification_type.created,
        "IsRequestable": True,
    }


def _system_view(type_id: str) -> Params:
    name = SYSTEM_TYPES[type_id]
    return {
        "QualificationTypeId": type_id,
        "Name": name,
        "Description": name,
        "QualificationTypeStatus": "Active",
        "IsRequestable": False,
    }


def _own_qualification_type(crowd: Crowd, account: Account, params: Params) -> QualificationType:
    kind = crowd.qualification_types.get(params["QualificationTypeId"])
    if kind is None or kind.owner != account.name:
        raise does_not_exist("QualificationType", params["QualificationTypeId"])
    return kind


@operation
def get_qualification_type(crowd: Crowd, account: Account, params: Params) -> Params:
    if params["QualificationTypeId"] in SYSTEM_TYPES:
        return {"QualificationType": _system_view(params["QualificationTypeId"])}
    return {"QualificationType": _type_view(_own_qualification_type(crowd, account, params))}


@operation
def list_qualification_types(crowd: Crowd, account: Account, params: Params) -> Params:
    own_only = params.get("MustBeOwnedByCaller", False)
    views = [_type_view(t) for t in crowd.qualification_types.values() if not own_only or t.owner == account.name]
    if not own_only and not params["MustBeRequestable"]:
        views += [_system_view(type_id) for type_id in SYSTEM_TYPES]
    query = params.get("Query", "").lower()
    texts = ("Name", "Description", "Keywords")
    matching = [view for view in views if any(query in view.get(name, "").lower() for name in texts)]
    return _page("QualificationTypes", matching, params, lambda view: view)


@operation
def update_qualification_type(crowd: Crowd, account: Account, params: Params) -> Params:
    kind = _own_qualification_type(crowd, account, params)
    kind.params.update({name: value for name, value in params.items() if name != "QualificationTypeId"})
    return {"QualificationType": _type_view(kind)}


@operation
def delete_qualification_type(crowd: Crowd, account: Account, params: Params) -> None:
    del crowd.qualification_types[_own_qualification_type(crowd, account, params).id]


@operation
def associate_qualification_with_worker(crowd: Crowd, account: Account, params: Params) -> None:
    kind = _own_qualification_type(crowd, account, params)
    worker = _known_worker(crowd, params)
    kind.granted[worker] = params.get("IntegerValue", 1), crowd.clock.now()
    kind.revoked.pop(worker, None)


@operation
def disassociate_qualification_from_worker(crowd: Crowd, account: Account, params: Params) -> None:
    kind = _own_qualification_type(crowd, account, params)
    worker = _known_worker(crowd, params)
    if worker not in kind.granted:
        raise _no_qualification()
    kind.revoked[worker] = kind.granted.pop(worker)


def _no_qualification() -> Exception:
    return request_error("QualificationDoesNotExist", "You requested a Qualification that does not exist.")


@operation
def get_qualification_score(crowd: Crowd, account: Account, params: Params) -> Params:
    kind, worker = _own_qualification_type(crowd, account, params), params["WorkerId"]
    for status, held in (("Granted", kind.granted), ("Revoked", kind.revoked)):
        if worker in held:
            return {"Qualification": _qualification_view(kind, worker, held[worker], status)}
    raise _no_qualification()


def _qualification_view(kind: QualificationType, worker: str, value: tuple[int, float], status: str) -> Params:
    return {
        "QualificationTypeId": kind.id,
        "WorkerId": worker,
        "GrantTime": value[1],
        "IntegerValue": value[0],
        "Status": status,
    }


@operation
def list_workers_with_qualification_type(crowd: Crowd, account: Account, params: Params) -> Params:
    kind = _own_qualification_type(crowd, account, params)
    status = params.get("Status", "Granted")
    held = list((kind.granted if status == "Granted" else kind.revoked).items())
    return _page("Qualifications", held, params, lambda item: _qualification_view(kind, item[0], item[1], status))


@operation
def list_qualification_requests(crowd: Crowd, account: Account, params: Params) -> Params:
    """There are never any: workers of this crowd get qualifications from requesters only."""
    return _page("QualificationRequests", [], params, lambda request: request)
