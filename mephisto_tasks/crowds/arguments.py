"""A crowd's settings in Mephisto's terms."""

from __future__ import annotations

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.abstractions.crowd_provider import ProviderArgs
from pydantic import BaseModel

from mephisto_tasks.config.task import hydra_arguments


def provider_arguments(
    settings: type[BaseModel], provider_type: str, base: type[ProviderArgs] = ProviderArgs
) -> type[ProviderArgs]:
    """A crowd's settings as the dataclass that hydra composes: unknown ones are refused."""
    name = f"{provider_type}_arguments"
    return hydra_arguments(settings, name, (base,), typed=settings.model_fields, _provider_type=provider_type)
