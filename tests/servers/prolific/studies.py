"""Studies: made, changed, published, paused, stopped and read; what they cost."""

from __future__ import annotations

import math
from typing import Any

from .errors import WRONG_PROJECT, bad, not_found
from .filters import check_filters
from .market import stamp
from .records import (
    ACTIVE,
    APPROVED,
    AWAITING_REVIEW,
    COMPLETED,
    DRAFTS,
    PAUSED,
    SCHEDULED,
    UNPUBLISHED,
    Price,
    Study,
)
from .wire import Ask, listed, ordered, route

REQUIRED: dict[str, type] = {
    "name": str,
    "description": str,
    "external_study_url": str,
    "prolific_id_option": str,
    "total_available_places": int,
    "estimated_completion_time": int,
    "reward": int,
    "completion_codes": list,
}
OPTIONAL: dict[str, tuple[type, ...]] = {
    "internal_name": (str,),
    "maximum_allowed_time": (int,),
    "device_compatibility": (list,),
    "peripheral_requirements": (list,),
    "filters": (list,),
    "filter_set_id": (str,),
    "filter_set_version": (int,),
    "naivety_distribution_rate": (int, float, type(None)),
    "project": (str,),
    "submissions_config": (dict,),
    "study_labels": (list,),
    "content_warnings": (list,),
    "content_warning_details": (str, type(None)),
    "metadata": (str, type(None)),
    "access_details": (list,),
    "is_external_study_url_secure": (bool,),
    "annotators_per_task": (int,),
}
RETIRED = {
    "completion_code": "completion_codes",
    "completion_option": "completion_codes",
    "failed_attention_code": "completion_codes",
    "eligibility_requirements": "filters",
    "is_custom_screening": "completion_codes",
}
WHILE_RUNNING = {
    "internal_name",
    "total_available_places",
    "submissions_config",
    "access_details",
    "annotators_per_task",
}
WORDS = {
    "prolific_id_option": {"url_parameters", "question", "not_required"},
    "device_compatibility": {"desktop", "tablet", "mobile"},
    "peripheral_requirements": {"audio", "camera", "download", "microphone"},
    "content_warnings": {"sensitive", "explicit"},
    "study_labels": {
        "survey", "writing_task", "annotation", "decision_making_task", "interview", "other", "ai_annotation",
        "ai_evaluation", "ai_reasoning", "ai_fact_checking", "ai_safety", "ai_other",
    },
}  # fmt: skip
AT_LEAST_ONE = ("total_available_places", "estimated_completion_time", "reward", "maximum_allowed_time")
ACTIONS = {
    "AUTOMATICALLY_APPROVE": (),
    "MANUALLY_REVIEW": (),
    "ADD_TO_PARTICIPANT_GROUP": ("participant_group",),
    "REMOVE_FROM_PARTICIPANT_GROUP": ("participant_group",),
    "REQUEST_RETURN": ("return_reason",),
    "FIXED_SCREEN_OUT_PAYMENT": ("fixed_screen_out_reward", "slots"),
    "DYNAMIC_PAYMENT": (),
}
SMALLEST_SCREEN_OUT = {"GBP": 10, "USD": 14}
DAY_MINUTES = 24 * 60
FLOOR, RECOMMENDED = {"GBP": 600, "USD": 800}, {"GBP": 900, "USD": 1200}
"""An hour."""


@route("POST studies/", 201)
def create_study(ask: Ask) -> dict[str, Any]:
    if not isinstance(ask.body, dict):
        raise bad("Expected an object.")
    if missing := [name for name in REQUIRED if name not in ask.body]:
        raise bad({name: ["This field is required."] for name in missing})
    market = ask.market
    first = market.project_of(market.workspaces[ask.user.workspaces[0]])
    study = Study(market.ids.new(), {"project": first.id, "submissions_config": {}}, ask.user.id, market.now)
    _enter(ask, study, ask.body)
    market.studies[study.id] = study
    return study_view(ask, study)


@route("GET studies/{}/")
def read_study(ask: Ask) -> dict[str, Any]:
    return study_view(ask, ask.study())


@route("PATCH studies/{}/")
def change_study(ask: Ask) -> dict[str, Any]:
    study, market = ask.study(), ask.market
    if not isinstance(ask.body, dict):
        raise bad("Expected an object.")
    if study.status == UNPUBLISHED:
        _enter(ask, study, ask.body)
        return study_view(ask, study)
    allowed = set(WHILE_RUNNING)
    if market.unknowns.slots_grow:
        allowed.add("completion_codes")
    if market.unknowns.edits_published:
        allowed |= {"description", "external_study_url"}
    if shut := sorted(set(ask.body) - allowed):
        raise bad({name: ["This field cannot be changed once the study is published."] for name in shut})
    before, places = dict(study.fields), ask.body.get("total_available_places")
    if isinstance(places, int) and places < study.places:
        raise bad({"total_available_places": ["The number of places can only be increased."]})
    if "completion_codes" in ask.body:
        _only_slots_grow(study, ask.body["completion_codes"])
    _enter(ask, study, ask.body)
    grown = study.places - int(before["total_available_places"])
    reopens = grown > 0 and study.status in (AWAITING_REVIEW, COMPLETED)
    status = study.status
    study.status = ACTIVE if reopens else status
    try:
        market.must_afford(market.workspace_of(study))
    except Exception:
        study.fields, study.status = before, status
        raise
    study.status = status
    if reopens:
        market.set_status(study, ACTIVE)
    return study_view(ask, study)


@route("DELETE studies/{}/", 204)
def delete_study(ask: Ask) -> None:
    study = ask.study()
    if study.status != UNPUBLISHED:
        raise bad("A study that was published cannot be deleted.")
    del ask.market.studies[study.id]


@route("POST studies/{}/clone/", 201)
def clone_study(ask: Ask) -> dict[str, Any]:
    former, market = ask.study(), ask.market
    fields = {**former.fields, "name": f"{former.fields['name']} Copy"}
    if (ask.body or {}).get("block_previous_participants"):
        others = {"filter_id": "previous_studies_blocklist", "selected_values": [former.id]}
        fields["filters"] = [*(fields.get("filters") or []), others]
    study = Study(market.ids.new(), fields, ask.user.id, market.now)
    market.studies[study.id] = study
    return study_view(ask, study)


@route("POST studies/{}/test-study")
def test_study(ask: Ask) -> dict[str, Any]:
    former, market = ask.study(), ask.market
    ask.must_have(market.workspace_of(former), "test_participants")
    if not any(person.test for person in market.people.values()):
        raise bad("There are no test participants in this workspace.")
    study = Study(market.ids.new(), dict(former.fields), ask.user.id, market.now, test=True)
    market.studies[study.id] = study
    market.publish(study)
    return {"study_id": study.id, "study_url": f"https://app.prolific.com/studies/{study.id}"}


@route("POST studies/{}/transition/")
def move_study(ask: Ask) -> dict[str, Any]:
    study, market, action = ask.study(), ask.market, ask.field("action")
    allowed = {
        "PUBLISH": (UNPUBLISHED,),
        "SCHEDULE_PUBLISH": (UNPUBLISHED,),
        "CANCEL_PUBLISH": (SCHEDULED,),
        "PAUSE": (ACTIVE,),
        "START": (PAUSED,),
        "STOP": (ACTIVE, PAUSED),
    }
    if action not in allowed:
        raise bad({"action": [f'"{action}" is not a valid choice.']})
    if study.status not in allowed[action]:
        if not market.unknowns.refuses_wrong_transition:
            return study_view(ask, study)
        raise bad(f"You can't {action} a study that is {study.status}.")
    if action in ("PUBLISH", "SCHEDULE_PUBLISH") and market.workspace_of(study).id not in ask.user.workspaces:
        raise WRONG_PROJECT
    if action == "PUBLISH":
        market.publish(study)
    elif action == "SCHEDULE_PUBLISH":
        study.fields["publish_at"] = ask.field("publish_at")
        market.set_status(study, SCHEDULED)
    elif action == "CANCEL_PUBLISH":
        market.set_status(study, UNPUBLISHED)
    elif action == "START" and (slots := study.screen_out()) and study.screened_out >= slots["slots"]:
        raise bad("All screen-out slots of this study are used up. Add some before you start it again.")
    else:
        market.set_status(study, {"PAUSE": PAUSED, "START": ACTIVE, "STOP": COMPLETED}[action])
        market.settle(study)
    return study_view(ask, study)


@route("GET studies/")
def list_studies(ask: Ask) -> dict[str, Any]:
    """Of all workspaces of the user. ``state=(active|paused)``."""
    wanted = [state.upper().replace("_", " ") for state in ask.query.get("state", "").strip("()").split("|") if state]
    mine = [
        study
        for study in ask.market.studies.values()
        if ask.market.workspace_of(study).id in ask.user.workspaces and (not wanted or study.status in wanted)
    ]
    return listed(ask, _in_order(ask, mine), lambda study: _row(ask, study))


@route("GET projects/{}/studies/")
def list_studies_of_project(ask: Ask) -> dict[str, Any]:
    project = ask.market.projects.get(ask.ids[0])
    if project is None:
        raise not_found("Project")
    ask.workspace(project.workspace)
    mine = [study for study in ask.market.studies.values() if study.fields["project"] == project.id]
    return listed(ask, _in_order(ask, mine), lambda study: _row(ask, study))


@route("POST study-cost-calculator/")
def calculate(ask: Ask) -> dict[str, Any]:
    """By the fee and tax of the user's first workspace: “the account's”."""
    workspace = ask.market.workspaces[ask.user.workspaces[0]]
    price = workspace.price(ask.field("reward", int)).times(ask.field("total_available_places", int))
    return {"total_cost": price.total}


@route("GET studies/{}/cost/")
def study_cost(ask: Ask) -> dict[str, Any]:
    study = ask.study()
    workspace = ask.market.workspace_of(study)
    bonuses = sum(c.price.amount for c in workspace.charges if c.study == study.id and c.kind == "bonus")
    many = study.places if ask.query.get("is_projected") == "true" else study.count(APPROVED)

    def shown(price: Price) -> dict[str, Any]:
        amounts = {"rewards": price.amount, "fees": price.fee, "tax": price.vat}
        return {name: {"amount": amount, "currency": workspace.currency} for name, amount in amounts.items()}

    return {
        "rewards": shown(workspace.price(study.reward).times(many)),
        "bonuses": shown(workspace.price(bonuses)),
    }


@route("GET reward-recommendations/")
def recommend(ask: Ask) -> list[dict[str, Any]]:
    currency = ask.query.get("currency") or ask.workspace(ask.query.get("workspace_id", "")).currency
    least, better = FLOOR[currency], RECOMMENDED[currency]
    return [{"currency": currency, "min_reward_per_hour": least, "recommended_reward_per_hour": better}]


@route("GET studies/{}/predicted-recruitment-time/")
def predict(ask: Ask) -> dict[str, Any]:
    return {"estimated_recruitment_time_seconds": ask.study().places * 60}


def _enter(ask: Ask, study: Study, given: dict[str, Any]) -> None:
    """Check fields, and set them; none where any is wrong."""
    wrong: dict[str, list[str]] = {}
    value: Any
    for name, value in given.items():
        if name in RETIRED:
            wrong[name] = [f"This field is no longer supported. Use {RETIRED[name]}."]
            continue
        kinds = (REQUIRED[name],) if name in REQUIRED else OPTIONAL.get(name)
        if kinds is None:
            continue  # as with the real one, words that it does not know are passed over
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            wrong[name] = ["A valid integer is required." if kinds == (int,) else "Not a valid value."]
        elif name in AT_LEAST_ONE and value < 1:
            wrong[name] = ["Ensure this value is greater than or equal to 1."]
        elif name in WORDS and (bad_words := sorted({*([value] if isinstance(value, str) else value)} - WORDS[name])):
            wrong[name] = [f'"{word}" is not a valid choice.' for word in bad_words]
        elif kinds == (str,) and name in REQUIRED and not value.strip():
            wrong[name] = ["This field may not be blank."]
    fields = {**study.fields, **{name: value for name, value in given.items() if name not in RETIRED}}
    if not str(fields.get("external_study_url")).startswith("https://") and not wrong:
        local = str(fields.get("external_study_url")).startswith(("http://127.0.0.1", "http://localhost"))
        if not local:
            wrong["external_study_url"] = ["Enter a valid URL."]
    if fields.get("filters") and fields.get("filter_set_id"):
        wrong["filters"] = ["Give either filters or filter_set_id."]
    if fields["project"] not in ask.market.projects:
        wrong["project"] = ["There is no such project."]
    if wrong:
        raise bad(wrong)
    shortest = 2 + 2 * fields["estimated_completion_time"] + 2 * math.sqrt(fields["estimated_completion_time"])
    fields.setdefault("maximum_allowed_time", DAY_MINUTES - 1)
    shortest = math.ceil(shortest) if ask.market.unknowns.shortest_time_rounds_up else math.floor(shortest)
    if not shortest <= fields["maximum_allowed_time"] < DAY_MINUTES:
        raise bad({"maximum_allowed_time": [f"Must be at least {shortest} minutes, and below 24 hours."]})
    if "access_details" in given:
        fields["total_available_places"] = sum(detail["total_allocation"] for detail in given["access_details"])
    check_filters(ask.market, fields.get("filters") or [])
    study.fields, before = fields, study.fields
    try:
        workspace = ask.market.workspace_of(study)
        if workspace.id in ask.user.workspaces and fields.get("is_external_study_url_secure"):
            ask.must_have(workspace, "secure_link", "is_external_study_url_secure")
        _check_codes(ask, study)
    except Exception:
        study.fields = before
        raise


def _check_codes(ask: Ask, study: Study) -> None:
    entries = study.codes
    if not entries:
        raise _code("At least one completion code is required.")
    names = [entry.get("code") for entry in entries if isinstance(entry, dict)]
    if len(names) != len(entries) or len(set(names)) != len(names):
        raise _code("Completion codes must be unique.")
    people = [entry for entry in entries if entry.get("actor", "participant") == "participant"]
    kinds: list[str] = []
    for entry in entries:
        actor, actions = entry.get("actor", "participant"), entry.get("actions") or []
        if not entry.get("code_type"):
            raise _code("code_type is required.")
        if actor not in ("participant", "researcher"):
            raise _code(f'"{actor}" is not a valid actor.')
        if not entry.get("code") and (actor != "participant" or len(people) > 1 or actions):
            raise _code("code may only be null for the only participant code, without actions.")
        for action in actions:
            _check_action(ask, study, actor, action)
            kinds.append(action["action"])
    if kinds.count("FIXED_SCREEN_OUT_PAYMENT") > 1:
        raise _code("Only one completion code may have FIXED_SCREEN_OUT_PAYMENT.")


def _check_action(ask: Ask, study: Study, actor: str, action: Any) -> None:
    name = action.get("action") if isinstance(action, dict) else action
    if name not in ACTIONS:
        raise _code(f'"{name}" is not a valid action.')
    if missing := [word for word in ACTIONS[name] if word not in action]:
        raise _code(f"{name} needs {', '.join(missing)}.")
    workspace = ask.market.workspace_of(study)
    if name.endswith("_PARTICIPANT_GROUP") and action["participant_group"] not in ask.market.groups:
        raise _code("There is no such participant group.")
    if name == "DYNAMIC_PAYMENT":
        ask.must_have(workspace, "dynamic_payment", "completion_codes")
        if actor != "researcher":
            raise _code("DYNAMIC_PAYMENT is for the actor researcher only.")
    if name == "FIXED_SCREEN_OUT_PAYMENT":
        ask.must_have(workspace, "screen_out", "completion_codes")
        amount, slots = action["fixed_screen_out_reward"], action["slots"]
        least = SMALLEST_SCREEN_OUT[workspace.currency] if ask.market.unknowns.has_smallest_screen_out else 1
        if not isinstance(amount, int) or not least <= amount < study.reward:
            raise _code("fixed_screen_out_reward must be below the reward, and not too small.")
        if not isinstance(slots, int) or slots < 1:
            raise _code("slots must be a whole number above 0.")


def _only_slots_grow(study: Study, entries: Any) -> None:
    """Refuse changed codes of a published study that differ in more than a larger number of slots."""

    def without_slots(codes: list[Any]) -> list[Any]:
        return [
            {
                "actor": "participant",
                **code,
                "actions": [{k: v for k, v in a.items() if k != "slots"} for a in code.get("actions") or []],
            }
            for code in codes
        ]

    if without_slots(entries) != without_slots(study.codes):
        raise _code("Completion codes cannot be changed once the study is published.")
    before = (study.screen_out() or {}).get("slots", 0)
    after = [a.get("slots", 0) for code in entries for a in code.get("actions") or []]
    if max(after, default=0) < before:
        raise _code("The number of slots can only be increased.")


def _code(said: str) -> Exception:
    return bad({"completion_codes": [said]})


def _in_order(ask: Ask, studies: list[Study]) -> list[Study]:
    keys = {"date_created": lambda study: study.created, "name": lambda study: study.fields["name"]}
    return ordered(ask, studies, keys, "date_created")


def study_view(ask: Ask, study: Study) -> dict[str, Any]:
    """A study as it is answered."""
    market, workspace = ask.market, ask.market.workspace_of(study)
    fields = study.fields
    price = workspace.price(study.reward)
    seconds = [submission.seconds for submission in study.submissions if submission.seconds is not None]
    average = sum(seconds) / len(seconds) if seconds else None
    hourly = study.reward * 60 / fields["estimated_completion_time"]
    return {
        **_row(ask, study),
        "description": fields["description"],
        "external_study_url": fields["external_study_url"],
        "prolific_id_option": fields["prolific_id_option"],
        "maximum_allowed_time": fields["maximum_allowed_time"],
        "completion_codes": [{"actor": "participant", "actions": [], **code} for code in study.codes],
        "device_compatibility": fields.get("device_compatibility") or [],
        "peripheral_requirements": fields.get("peripheral_requirements") or [],
        "filters": fields.get("filters") or [],
        "filter_set_id": fields.get("filter_set_id"),
        "naivety_distribution_rate": fields.get("naivety_distribution_rate"),
        "submissions_config": {
            "max_submissions_per_participant": 1,
            "max_concurrent_submissions": -1,
            **fields["submissions_config"],
        },
        "study_labels": fields.get("study_labels") or [],
        "content_warnings": fields.get("content_warnings") or [],
        "content_warning_details": fields.get("content_warning_details"),
        "metadata": fields.get("metadata"),
        "is_external_study_url_secure": bool(fields.get("is_external_study_url_secure")),
        "fees_percentage": float(workspace.fee),
        "vat_percentage": float(workspace.vat),
        "fees_per_submission": price.fee,
        "currency_code": workspace.currency,
        "minimum_reward_per_hour": FLOOR[workspace.currency],
        "estimated_reward_per_hour": round(hourly),
        "average_reward_per_hour": round(study.reward * 3600 / average) if average else None,
        "average_time_taken": average,
        "is_underpaying": hourly < FLOOR[workspace.currency],
        "reward_level": {"below_prolific_min": hourly < FLOOR[workspace.currency], "below_original_estimate": False},
        "total_participant_pool": market.pool,
        "workspace": workspace.id,
        "researcher": {"id": study.user},
        "project": fields["project"],
    }


def _row(ask: Ask, study: Study) -> dict[str, Any]:
    fields = study.fields
    price = ask.market.workspace_of(study).price(study.reward)
    return {
        "id": study.id,
        "name": fields["name"],
        "internal_name": fields.get("internal_name"),
        "status": study.status,
        "study_type": "SINGLE",
        "estimated_completion_time": fields["estimated_completion_time"],
        "total_available_places": study.places,
        "places_taken": ask.market.places_taken(study),
        "number_of_submissions": len(study.submissions),
        "reward": study.reward,
        "total_cost": price.times(study.places).total,
        "published_at": stamp(study.published),
        "publish_at": fields.get("publish_at"),
        "date_created": stamp(study.created),
        "credential_pool_id": None,
        "is_ready_to_publish": study.status in DRAFTS,
    }
