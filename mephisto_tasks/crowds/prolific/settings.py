"""Settings of a launch on Prolific."""

from __future__ import annotations

from pydantic import Field

from mephisto_tasks.crowds.crowd import AccountSettings


class ProlificSettings(AccountSettings):
    """Below ``mephisto.provider``."""

    workspace: str = Field(default="", examples=["65f0a1b2c3d4e5f60718293a"])
    """ID of the workspace that pays (Prolific); if empty, the account's only one. A launch can spend its balance."""
    project: str = Field(default="", examples=["65f0a1b2c3d4e5f60718293b"])
    """ID of the project for the study (Prolific); if empty, the workspace's first one. Colleagues look for the study
    there."""
    currency: str = Field(default="USD", examples=["GBP"])
    """Currency of task_reward and all other amounts (Prolific): USD or GBP, like the workspace. If they differ, the
    launch is refused, so nobody is paid a pound instead of a dollar."""
    draft_only: bool = False
    """Create the study as a draft on Prolific, show its price and serve its page, but do not publish it. Use it to
    review everything before you spend money."""
    start_places: int = Field(default=0, ge=0)
    """Maximum number of places to open at once (Prolific); 0: all that remain, or with stop=decided as many as
    raters_at_a_time and max_concurrent allow. Prolific can only add places, so a low number limits the cost if
    something goes wrong."""
    screen_out_pay: float = Field(default=0, ge=0)
    """Pay that Prolific sends immediately to raters who fail the practice round; 0: nothing. The page promises it. If the
    workspace has no fixed screen-out payments, these raters are asked to return the submission, and are owed the same
    amount as a bonus."""
    screen_out_slots: int = Field(default=0, ge=0)
    """Maximum number of screen-out payments (Prolific). They are part of the price that you accept. Further raters are
    owed the same amount as a bonus."""
    devices: list[str] = Field(default_factory=lambda: ["desktop"], examples=["[desktop, tablet]"])
    """Devices that participants may use (Prolific): desktop, tablet, mobile. Prolific shows the study only on these.
    The conversation needs a keyboard."""
    labels: list[str] = Field(default_factory=lambda: ["ai_evaluation"], max_length=1, examples=["[ai_annotation]"])
    """Type of work (Prolific): one of its study labels. Participants use it to search for work."""
    content_warnings: list[str] = Field(default_factory=list, examples=["[sensitive]"])
    """Content warnings for participants (Prolific): sensitive, explicit. Use them if models may offend."""
    fluent: list[str] = Field(default_factory=list, examples=["[English]"])
    """Admit only participants who are fluent in one of these languages, by Prolific's names (English). Use it to find
    people who read the study's language well."""
    secure_link: bool = False
    """Have Prolific sign each participant's link, and check the signature. The workspace needs this feature. Without
    it, the launch still looks up every arrival on Prolific."""
    pay_returned: bool = True
    """Pay a bonus for complete work whose submission was returned or timed out (Prolific). Nobody should lose pay to a
    clock."""
    webhooks: bool = False
    """Have Prolific notify the launch of changes immediately. The launch asks every ten seconds in any case."""
