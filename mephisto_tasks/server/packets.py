"""The packets and request bodies of the wire, and the checks that they must pass first."""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Packet = dict[str, Any]  # ``{packet_type, subject_id, data, …timestamps, router_seq?}``; JSON values only.

ALIVE = "alive"
HEARTBEAT = "heartbeat"
ACK = "ack"
ERROR = "error"
LOG_ERROR = "log_error"
REGISTER_AGENT = "register_agent"
AGENT_DETAILS = "agent_details"
SUBMIT_ONBOARDING = "submit_onboarding"
SUBMIT_UNIT = "submit_unit"
SUBMIT_METADATA = "submit_metadata"
CLIENT_BOUND = "client_bound_live_update"
MEPHISTO_BOUND = "mephisto_bound_live_update"
UPDATE_STATUS = "update_status"
REQUEST_STATUSES = "request_statuses"
RETURN_STATUSES = "return_statuses"

OPERATOR = "mephisto"  # ``subject_id`` of what concerns no single agent

MAX_BODY = 256 * 1024  # Most bytes of one websocket message
MAX_REQUEST = 64 * 1024  # Most bytes of one HTTP body: a page sends who it is, and what it wants

MAX_SEQ = 2**53 - 1  # Greatest integer that a browser's number holds exactly


class BadPacket(ValueError):
    """A page sent something unusable; the message is a sentence for its log."""


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def parse_object(text: str | bytes) -> dict[str, Any]:
    """One JSON object, in UTF-8, without NaN, Infinity and halves of characters. Raises BadPacket."""
    try:
        text = text if isinstance(text, str) else text.decode()
        value = json.loads(text, parse_constant=_refuse_constant)
        if "\\u" in text:  # halves of characters come in no other way
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise BadPacket("That message is not valid JSON.") from error
    if not isinstance(value, dict):
        raise BadPacket("A message must be a JSON object.")
    return value


def timestamp(value: object) -> float | None:
    """A page's time stamp, or None when it is not a finite number: Mephisto does arithmetic with it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


Model = TypeVar("Model", bound=BaseModel)
ShortText = Annotated[str, Field(min_length=1, max_length=300)]


class _Request(BaseModel):
    agent_token: str = ""
    client_timestamp: Any = None


class _Open(BaseModel):
    model_config = ConfigDict(extra="allow")


class Registration(_Open):
    """What ``getAgentRegistration()`` of the provider's script gives; other keys pass through."""

    worker_name: ShortText
    agent_registration_id: ShortText


class OnboardingRegistration(_Open):
    USED_AGENT_ID: ShortText
    onboarding_data: dict[str, Any] = Field(default_factory=dict)


class RequestAgentBody(_Request):
    provider_data: Registration


class SubmitOnboardingBody(_Request):
    provider_data: OnboardingRegistration


class SubmitTaskBody(_Request):
    USED_AGENT_ID: ShortText
    final_data: dict[str, Any] = Field(default_factory=dict)


class _Tip(BaseModel):
    header: Annotated[str, Field(max_length=300)]
    text: Annotated[str, Field(max_length=2000)]


class _Feedback(BaseModel):
    question: Annotated[str, Field(max_length=2000)]
    text: Annotated[str, Field(max_length=2000)]


class _Feedbacks(BaseModel):
    data: Annotated[list[_Feedback], Field(max_length=20)]


class Metadata(BaseModel):
    """What Mephisto's own pages say of a task. It reads these keys without looking whether they are there."""

    tips: _Tip | None = None
    feedback: _Feedbacks | None = None


class SubmitMetadataBody(_Request):
    USED_AGENT_ID: ShortText
    metadata: Metadata


class LogErrorBody(_Request):
    USED_AGENT_ID: str | None = None
    error_data: dict[str, Any]


class PageData(_Open):
    agent_token: str = ""
    page_id: str = ""  # what one load of a page calls itself, or "" when it does not say
    last_seq: Annotated[int, Field(ge=0, le=MAX_SEQ)] = 0


class PagePacket(BaseModel):
    """A packet as a page sends it over the websocket; ``data`` is checked by its own type."""

    packet_type: ShortText
    subject_id: ShortText
    data: dict[str, Any] = Field(default_factory=dict)
    client_timestamp: Any = None

    def of_page(self) -> PageData:
        """What the page says of itself. Raises BadPacket."""
        return validated(PageData, self.data)


class AnswerEnvelope(_Open):
    """The part of an answer that is checked here; the world checks the rest."""

    # Mephisto keeps update ids in a set to drop repeats: anything but a string would break it.
    update_id: Annotated[str, Field(min_length=1, max_length=100)]


def validated(model: type[Model], data: object) -> Model:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "message"
        raise BadPacket(f"{where}: {first['msg']}.") from error


def page_packet(text: str) -> PagePacket:
    raw = parse_object(text)
    if raw.get("data") is None:  # Mephisto's own page leaves it out where there is nothing to say
        raw = {**raw, "data": {}}
    return validated(PagePacket, raw)


def encode(packet: Packet) -> str:
    """A packet as compact JSON that can be sent whatever a model wrote in it."""
    text = json.dumps(packet, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, as byte-level models write: escaped, it passes
        return json.dumps(packet, separators=(",", ":"))
    return text
