"""A crowd's settings in Mephisto's terms."""

from __future__ import annotations

import dataclasses
from typing import Any

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.abstractions.crowd_provider import ProviderArgs
from omegaconf import MISSING
from pydantic import BaseModel

_PLAIN = (str, int, float, bool)
"""Kinds of settings that OmegaConf converts; anything else is taken as it is."""


def provider_arguments(
    settings: type[BaseModel], provider_type: str, base: type[ProviderArgs] = ProviderArgs
) -> type[ProviderArgs]:
    """A crowd's settings as the dataclass that hydra composes: unknown ones are refused."""
    fields: list[tuple[str, Any, Any]] = [("_provider_type", str, dataclasses.field(default=provider_type))]
    for name, info in settings.model_fields.items():
        default = info.get_default(call_default_factory=True)
        if name == "requester_name" and not default:
            default = MISSING  # whoever launches must say it
        kept = (
            dataclasses.field(default_factory=default.copy)
            if isinstance(default, (dict, list))
            else dataclasses.field(default=default)
        )
        fields.append((name, info.annotation if info.annotation in _PLAIN else Any, kept))
    return dataclasses.make_dataclass(f"{provider_type}_arguments", fields, bases=(base,))
