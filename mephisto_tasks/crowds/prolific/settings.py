"""Settings of a launch on Prolific."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from pydantic import Field

from mephisto_tasks.config.names import ConfigError
from mephisto_tasks.crowds.crowd import AccountSettings


class ProlificSettings(AccountSettings):
    """Below ``mephisto.provider``."""

    workspace: str = Field(default="", examples=["65f0a1b2c3d4e5f60718293a"])
    """Id of the workspace that pays (Prolific); empty: the only one of the account. Its balance is what a launch may
    spend."""
    project: str = Field(default="", examples=["65f0a1b2c3d4e5f60718293b"])
    """Id of the project that the study is made in (Prolific); empty: the first of the workspace. Colleagues look for it
    there."""
    currency: str = Field(default="USD", examples=["GBP"])
    """Of task_reward and all other amounts (Prolific): USD or GBP, as the workspace pays. A launch is refused where they
    differ, so that nobody is paid a pound for a dollar."""
    draft_only: bool = False
    """Make the study as a draft on Prolific, show its price and serve its page, and publish nothing. It is the way to
    look at all of it before anything is spent."""
    start_places: int = Field(default=0, ge=0)
    """Places open at once, at most (Prolific); 0: all that remain, or with stop=decided as many people as may be inside.
    Places can only grow there, so fewer of them bound what is spent when something goes wrong."""
    screen_out_pay: float = Field(default=0, ge=0)
    """Prolific pays this at once to raters who fail the practice; 0: nothing. The page promises it. Where the workspace has
    no fixed screen-out payments, these raters are asked to return, and are owed the same as a bonus."""
    screen_out_slots: int = Field(default=0, ge=0)
    """Number of screen-out payments, at most (Prolific). They are part of the price that you agree to. Raters beyond it are
    owed the same as a bonus."""
    devices: list[str] = Field(default_factory=lambda: ["desktop"], examples=["[desktop, tablet]"])
    """Devices that participants may use (Prolific): desktop, tablet, mobile. Prolific shows the study on these only. The
    conversation needs a keyboard."""
    labels: list[str] = Field(default_factory=lambda: ["ai_evaluation"], max_length=1, examples=["[ai_annotation]"])
    """What kind of work it is (Prolific): one of its study labels. Participants look for work by it."""
    content_warnings: list[str] = Field(default_factory=list, examples=["[sensitive]"])
    """What participants are warned of (Prolific): sensitive, explicit. Models may say what offends."""
    fluent: list[str] = Field(default_factory=list, examples=["[English]"])
    """Only participants who are fluent in one of these languages, as Prolific calls them (English). It finds people who
    read the language of the study well."""
    secure_link: bool = False
    """Have Prolific sign the link of each participant, and check it. The workspace needs the feature; without it every
    arrival is looked up at Prolific all the same."""
    pay_returned: bool = True
    """Pay complete work as a bonus where its submission was returned or timed out (Prolific). Nobody should lose pay to a
    clock."""
    webhooks: bool = False
    """Have Prolific call the launch at once when something changes. The launch asks every ten seconds in any case."""


def cents(name: str, value: object) -> int:
    """An amount of the settings in hundredths, as Prolific counts. Raises ConfigError."""
    try:
        hundredths = Decimal(str(value)) * 100
    except InvalidOperation:
        hundredths = Decimal("NaN")
    if not hundredths.is_finite() or hundredths < 0 or hundredths != int(hundredths):
        advice = "write it with two digits at most, such as 1.50"
        raise ConfigError(f"{name}={value} is no amount that Prolific pays", try_=advice)
    return int(hundredths)
