"""Settings of a launch on MTurk, below ``mephisto.provider``."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

WEEK_S = 7 * 24 * 3600


class MTurkSettings(BaseModel):
    """Of both marketplaces."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    requester_name: str = Field(default="", examples=["my_lab"])
    """The account that launches (MTurk). It is the one that pays; `parlai-humaneval requester add` registers it."""
    bonus_budget: float = Field(default=0, ge=0)
    """Dollars set aside for bonuses, shown in the total of a launch (MTurk). It is asked about before anything is
    spent, so that bonuses surprise nobody."""
    auto_approval_delay_in_seconds: int = Field(default=WEEK_S, ge=0)
    """When MTurk approves what nobody has judged. It leaves you time to look at answers, and people are paid even where
    you forget."""
