"""Everything around studies: workspaces, projects, filters, participant groups, messages, hooks and test participants."""

from __future__ import annotations

from typing import Any

from .errors import bad, not_found
from .filters import catalogue, check_filters, eligible
from .market import stamp
from .records import Group, Project, Subscription, Workspace
from .wire import Ask, listed, route, whole

EVENTS = (
    "submission.status.change", "study.status.change", "study.progress.change", "study.has_high_return_rate",
)  # fmt: skip


@route("GET users/me/")
def me(ask: Ask) -> dict[str, Any]:
    first = ask.market.workspaces[ask.user.workspaces[0]]
    return {
        "id": ask.user.id,
        "email": ask.user.email,
        "user_type": "researcher",
        "currency_code": first.currency,
        "balance": first.total,
        "available_balance": ask.market.available(first),
    }


# Workspaces and projects


@route("GET workspaces/")
def workspaces(ask: Ask) -> dict[str, Any]:
    mine = [ask.market.workspaces[name] for name in ask.user.workspaces]
    return listed(ask, mine, lambda workspace: _workspace(ask, workspace))


@route("GET workspaces/{}/")
def workspace(ask: Ask) -> dict[str, Any]:
    return _workspace(ask, ask.workspace(ask.ids[0]))


@route("GET workspaces/{}/balance/")
def balance(ask: Ask) -> dict[str, Any]:
    """What is available has shares of fee and tax as a reward of that sum would."""
    mine = ask.workspace(ask.ids[0])
    available = ask.market.available(mine)

    def parts(total: int) -> dict[str, int]:
        rewards = round(total / (1 + float(mine.fee) * (1 + float(mine.vat))))
        fees = round(rewards * float(mine.fee))
        return {"rewards": rewards, "fees": fees, "vat": total - rewards - fees}

    return {
        "currency_code": mine.currency,
        "total_balance": mine.total,
        "balance_breakdown": parts(mine.total),
        "available_balance": available,
        "available_balance_breakdown": parts(available),
    }


@route("GET workspaces/{}/projects/")
def projects(ask: Ask) -> dict[str, Any]:
    mine = ask.workspace(ask.ids[0])
    return listed(ask, [p for p in ask.market.projects.values() if p.workspace == mine.id], _project)


@route("POST workspaces/{}/projects/", 201)
def create_project(ask: Ask) -> dict[str, Any]:
    mine = ask.workspace(ask.ids[0])
    project = Project(ask.market.ids.new(), mine.id, ask.field("title"), ask.body.get("description", ""))
    ask.market.projects[project.id] = project
    return _project(project)


@route("GET projects/{}/")
def read_project(ask: Ask) -> dict[str, Any]:
    project = ask.market.projects.get(ask.ids[0])
    if project is None:
        raise not_found("Project")
    ask.workspace(project.workspace)
    return _project(project)


def _workspace(ask: Ask, mine: Workspace) -> dict[str, Any]:
    users = [{"id": ask.user.id, "name": "Researcher", "email": ask.user.email, "roles": ["WORKSPACE_ADMIN"]}]
    about = {"description": "", "owner": ask.user.id, "users": users, "naivety_distribution_rate": None}
    return {"id": mine.id, "title": mine.title, **about}


def _project(project: Project) -> dict[str, Any]:
    return {
        "id": project.id,
        "title": project.title,
        "description": project.description,
        "workspace": project.workspace,
        "naivety_distribution_rate": None,
    }


# Filters and groups


@route("GET filters/")
def filters(ask: Ask) -> dict[str, Any]:
    return whole(catalogue(ask.market.unknowns.lists_approvals), dict)


@route("POST eligibility-count/")
def eligibility_count(ask: Ask) -> dict[str, int]:
    ask.workspace(ask.field("workspace_id"))
    check_filters(ask.market, ask.field("filters", list))
    return {"count": eligible(ask.market, ask.body["filters"])}


@route("GET participant-groups/")
def groups(ask: Ask) -> dict[str, Any]:
    name, project = ask.query.get("workspace_id"), ask.query.get("project_id")
    if not name and not project:
        raise bad({"workspace_id": ["Give a workspace_id or a project_id."]})
    if name:
        ask.workspace(name)
    chosen = [g for g in ask.market.groups.values() if not g.deleted and (name == g.workspace or project == g.project)]
    return listed(ask, chosen, _group)


@route("POST participant-groups/", 201)
def create_group(ask: Ask) -> dict[str, Any]:
    name, project = ask.field("name"), ask.body.get("project_id")
    if project is None:
        workspace_id = ask.workspace(ask.field("workspace_id")).id
    elif project in ask.market.projects:
        workspace_id = ask.market.projects[project].workspace
    else:
        raise not_found("Project")
    group = Group(ask.market.ids.new(), workspace_id, project, name, ask.body.get("description") or "")
    _add(ask, group, ask.body.get("participant_ids") or [])
    ask.market.groups[group.id] = group
    return _group(group)


@route("GET participant-groups/{}/")
def read_group(ask: Ask) -> dict[str, Any]:
    return _group(_my_group(ask))


@route("PATCH participant-groups/{}/")
def change_group(ask: Ask) -> dict[str, Any]:
    group = _my_group(ask)
    group.name, group.description = ask.body.get("name", group.name), ask.body.get("description", group.description)
    return _group(group)


@route("DELETE participant-groups/{}/", 204)
def delete_group(ask: Ask) -> None:
    _my_group(ask).deleted = True


@route("GET participant-groups/{}/participants/")
def members(ask: Ask) -> dict[str, Any]:
    return _members(_my_group(ask))


@route("POST participant-groups/{}/participants/")
def add_members(ask: Ask) -> dict[str, Any]:
    group = _my_group(ask)
    _add(ask, group, ask.field("participant_ids", list))
    return _members(group)


@route("DELETE participant-groups/{}/participants/")
def remove_members(ask: Ask) -> dict[str, Any]:
    group = _my_group(ask)
    for person in ask.field("participant_ids", list):
        group.members.pop(person, None)
    return _members(group)


def _add(ask: Ask, group: Group, people: list[str]) -> None:
    unknown = [person for person in people if person not in ask.market.people]
    if not unknown or ask.market.unknowns.group_takes_known:
        for person in people:
            if person not in unknown:
                group.members.setdefault(person, ask.market.now)
    if unknown:
        raise bad({"participant_ids": [f"Unknown participants: {', '.join(unknown)}"]}, 140003)


def _my_group(ask: Ask) -> Group:
    group = ask.market.groups.get(ask.ids[0])
    if group is None or group.deleted:
        raise not_found("ParticipantGroup")
    ask.workspace(group.workspace)
    return group


def _group(group: Group) -> dict[str, Any]:
    return {
        "id": group.id,
        "name": group.name,
        "project_id": group.project,
        "workspace_id": group.workspace,
        "organisation_id": None,
        "description": group.description,
        "participant_count": len(group.members),
        "is_deleted": group.deleted,
        "feeder_studies": [],
    }


def _members(group: Group) -> dict[str, Any]:
    rows = sorted(group.members.items(), key=lambda member: member[1])
    return whole(rows, lambda row: {"participant_id": row[0], "datetime_created": stamp(row[1])})


# Messages


@route("POST messages/", 204)
def send_message(ask: Ask) -> None:
    _send(ask, [ask.field("recipient_id")])


@route("POST messages/bulk/", 204)
def send_messages(ask: Ask) -> None:
    _send(ask, ask.field("ids", list))


@route("POST messages/participant-group/", 204)
def send_to_group(ask: Ask) -> None:
    group = ask.market.groups.get(ask.field("participant_group_id"))
    if group is None:
        raise not_found("ParticipantGroup")
    _send(ask, list(group.members))


@route("GET messages/")
def read_messages(ask: Ask) -> dict[str, Any]:
    if not {"user_id", "created_after"} & set(ask.query):
        raise bad("Give a user_id or created_after.")
    sender, after = ask.query.get("user_id"), ask.query.get("created_after", "")
    chosen = [m for m in ask.user.messages if sender in (None, m["sender_id"]) and m["sent_at"] >= after]
    return whole(chosen, dict)


@route("GET messages/unread/")
def read_unread(ask: Ask) -> dict[str, Any]:
    return whole(ask.user.messages, dict)


def _send(ask: Ask, people: list[str]) -> None:
    body, study = ask.field("body"), ask.body.get("study_id")
    for person in people:
        if person not in ask.market.people:
            raise not_found("Participant")
        ask.market.people[person].mails.append({"study_id": study, "body": body})


# Hooks


@route("POST hooks/secrets/", 201)
def create_secret(ask: Ask) -> dict[str, str]:
    """It takes the place of the former one."""
    mine = ask.workspace(ask.field("workspace_id"))
    secret = {"id": ask.market.ids.opaque(), "value": ask.market.ids.opaque(), "workspace_id": mine.id}
    ask.market.secrets[mine.id] = secret
    return secret


@route("GET hooks/secrets/")
def read_secrets(ask: Ask) -> dict[str, Any]:
    mine = ask.workspace(ask.query.get("workspace_id", ""))
    return whole([ask.market.secrets[mine.id]] if mine.id in ask.market.secrets else [], dict)


@route("GET hooks/event-types/")
def event_types(ask: Ask) -> dict[str, Any]:
    return whole(EVENTS, lambda name: {"event_type": name, "description": ""})


@route("POST hooks/subscriptions/", 201)
def subscribe(ask: Ask) -> dict[str, Any]:
    mine, url, event = ask.workspace(ask.field("workspace_id")), ask.field("target_url"), ask.field("event_type")
    if event not in EVENTS:
        raise bad({"event_type": ["Not a valid choice."]})
    if not url.startswith(("https://", "http://127.0.0.1", "http://localhost")):  # the latter two: for tests
        raise bad({"target_url": ["Must be a public https address."]})
    if mine.id not in ask.market.secrets:
        raise bad("Make a secret for this workspace first.")
    market = ask.market
    new = Subscription(market.ids.opaque(), mine.id, event, url, market.ids.opaque())
    market.subscriptions[new.id] = new
    return _subscription(new)


@route("GET hooks/subscriptions/")
def subscriptions(ask: Ask) -> dict[str, Any]:
    mine = ask.workspace(ask.query.get("workspace_id", ""))
    return listed(ask, [s for s in ask.market.subscriptions.values() if s.workspace == mine.id], _subscription)


@route("GET hooks/subscriptions/{}/")
def read_subscription(ask: Ask) -> dict[str, Any]:
    return _subscription(_my_subscription(ask))


@route("POST hooks/subscriptions/{}/")
def confirm(ask: Ask) -> dict[str, Any]:
    """With the header's value of the answer to :func:`subscribe`."""
    mine = _my_subscription(ask)
    if ask.field("secret") != mine.secret:
        raise bad({"secret": ["This is not the secret of the subscription."]})
    mine.confirmed = True
    return _subscription(mine)


@route("PATCH hooks/subscriptions/{}/")
def change_subscription(ask: Ask) -> dict[str, Any]:
    mine = _my_subscription(ask)
    mine.event_type = ask.body.get("event_type", mine.event_type)
    mine.target_url = ask.body.get("target_url", mine.target_url)
    mine.enabled = bool(ask.body.get("is_enabled", mine.enabled))
    return _subscription(mine)


@route("DELETE hooks/subscriptions/{}/", 204)
def unsubscribe(ask: Ask) -> None:
    del ask.market.subscriptions[_my_subscription(ask).id]


@route("GET hooks/subscriptions/{}/events/")
def events(ask: Ask) -> dict[str, Any]:
    mine, wanted = _my_subscription(ask), ask.query.get("status")
    chosen = [e for e in ask.market.events if e.subscription is mine and wanted in (None, e.status)]
    return whole(chosen, lambda e: {"id": e.id, "status": e.status, "payload": e.body, "datetime_created": stamp(e.at)})


def _my_subscription(ask: Ask) -> Subscription:
    mine = ask.market.subscriptions.get(ask.ids[0])
    if mine is None:
        raise not_found("Subscription")
    ask.workspace(mine.workspace)
    return mine


def _subscription(mine: Subscription) -> dict[str, Any]:
    return {
        "id": mine.id,
        "event_type": mine.event_type,
        "target_url": mine.target_url,
        "is_enabled": mine.enabled and mine.confirmed,
        "workspace_id": mine.workspace,
    }


# Trying things out


@route("POST researchers/participants/", 201)
def test_participant(ask: Ask) -> dict[str, str]:
    ask.field("email")
    ask.must_have(ask.market.workspaces[ask.user.workspaces[0]], "test_participants")
    return {"participant_id": ask.market.add_person(test=True).id}
