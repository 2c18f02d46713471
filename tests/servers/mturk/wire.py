"""MTurk's JSON protocol, read from botocore's description of the service: what a request may say, and how it is answered."""

from __future__ import annotations

import json
import re
from datetime import datetime
from functools import lru_cache
from typing import Any

import botocore.session
from botocore.model import OperationModel, ServiceModel, Shape
from botocore.validate import ParamValidator

from .errors import AwsError

REGION = "us-east-1"
"""The only one where MTurk is."""


@lru_cache(maxsize=1)
def service() -> ServiceModel:
    """MTurk as botocore knows it."""
    return botocore.session.get_session().get_service_model("mturk")


def operation_model(target: str) -> OperationModel:
    """The operation that the header ``X-Amz-Target`` names."""
    prefix, _, name = target.partition(".")
    if prefix != service().metadata["targetPrefix"] or name not in service().operation_names:
        raise AwsError("UnknownOperationException", f"There is no operation {target!r}.")
    return service().operation_model(name)


def read_request(operation: OperationModel, body: bytes) -> dict[str, Any]:
    """The parameters, checked as the service description says."""
    try:
        params = json.loads(body or b"{}")
    except ValueError as error:
        raise AwsError("SerializationException", str(error)) from error
    shape = operation.input_shape
    report = ParamValidator().validate(params, shape)
    if report.has_errors():
        raise AwsError("ValidationException", report.generate_report())
    wrong = _constraints(params, shape, "")
    if wrong:
        many = f"{len(wrong)} validation error{'s' * (len(wrong) > 1)} detected: "
        raise AwsError("ValidationException", many + "; ".join(wrong))
    return params


def _constraints(value: Any, shape: Shape, at: str) -> list[str]:
    """What botocore does not check before it sends: patterns, enumerations and greatest lengths."""
    if shape.type_name == "structure":
        members = shape.members.items()
        return [wrong for name, member in members if name in value for wrong in _constraints(value[name], member, name)]
    if shape.type_name == "list":
        return [wrong for item in value for wrong in _constraints(item, shape.member, at)]
    name = at[:1].lower() + at[1:]
    said = f"Value '{value}' at '{name}' failed to satisfy constraint: Member must "
    wrong = []
    if getattr(shape, "enum", None) and value not in shape.enum:
        wrong.append(f"{said}satisfy enum value set: [{', '.join(shape.enum)}]")
    pattern, most = shape.metadata.get("pattern"), shape.metadata.get("max")
    if pattern and not re.search(pattern, str(value)):
        wrong.append(f"{said}satisfy regular expression pattern: {pattern}")
    if most is not None and (len(value) if isinstance(value, str) else value) > most:
        wrong.append(f"{said}have length less than or equal to {most}")
    return wrong


def write_answer(operation: OperationModel, answer: dict[str, Any] | None) -> str:
    """The body of a yes: only what the service description has, times as seconds."""
    shape = operation.output_shape
    return json.dumps(_plain(answer or {}, shape) if shape else {})


def _plain(value: Any, shape: Shape) -> Any:
    if shape.type_name == "structure":
        unknown = set(value) - set(shape.members)
        assert not unknown, f"{shape.name} has no {unknown}"
        return {name: _plain(item, shape.members[name]) for name, item in value.items() if item is not None}
    if shape.type_name == "list":
        return [_plain(item, shape.member) for item in value]
    if shape.type_name == "timestamp":
        return value.timestamp() if isinstance(value, datetime) else round(float(value), 3)
    return value


def access_key(authorization: str) -> str:
    """The key id in a signature's scope; the signature itself is not checked, but that it is for MTurk's region is."""
    scope = re.search(r"Credential=([^/]+)/\d+/([^/]+)/([^/]+)/aws4_request", authorization)
    if scope is None:
        raise AwsError("MissingAuthenticationTokenException", "Missing Authentication Token")
    key, region, _ = scope.groups()
    if region != REGION:
        raise AwsError("InvalidSignatureException", f"Credential should be scoped to a valid region, not '{region}'. ")
    return key
