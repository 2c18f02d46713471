"""One walk past every screen of the task, looking at each: accessibility, width, and a picture."""

from __future__ import annotations

from playwright.sync_api import expect

from .looks import Looks
from .rater import Rater, is_bad, is_good

SCREENS = (
    "preview",
    "instructions",
    "practice",
    "practice-feedback",
    "choose",
    "chosen",
    "missing-reason",
    "message",
    "choose-late",
    "feedback",
    "end",
    "taken-part",
    "practice-failed",
)


class Tour(Looks):
    """The screens of PW-Turn."""

    def walk(self, rater: Rater) -> None:
        """From the preview to the thanks, then two people who are turned away."""
        page = rater.page
        page.goto(rater.url)
        expect(page.get_by_role("button", name="Start")).to_be_visible()
        self.look(page, "preview")
        worker = rater.start_from_preview()
        rater.sees_task()
        rater.cards()
        self.look(page, "practice")
        rater.press("Instructions")
        self.look(page, "instructions")
        rater.press("Got it")
        rater.practise(is_bad)
        expect(page.get_by_role("alert")).to_contain_text("not what we were looking for")
        self.look(page, "practice-feedback")
        rater.practise(is_good)
        self._talk(rater)
        rater.finish()
        self.look(page, "end")
        rater.arrive(worker, "another")
        expect(page.get_by_role("heading", name="There is no conversation for you here")).to_be_visible()
        self.look(page, "taken-part")
        rater.arrive(f"tour-fails-{self.shape}")
        rater.practise(is_bad)
        rater.practise(is_bad)
        expect(page.get_by_role("heading", name="The practice ends here")).to_be_visible()
        self.look(page, "practice-failed")

    def _talk(self, rater: Rater) -> None:
        page = rater.page
        rater.progress("Turn 1 of 6")
        rater.cards()
        self.look(page, "choose")
        rater.choose(2)
        self.look(page, "chosen")
        rater.write("Nice.")
        rater.send("Continue")
        expect(page.get_by_role("alert").last).to_be_visible()
        self.look(page, "missing-reason")
        rater.write(" It is friendly.")
        rater.send("Continue")
        expect(page.get_by_label("Write your next message")).to_be_visible()
        rater.write("I spend my weekends mending old bicycles. What about you?")
        self.look(page, "message")
        rater.send("Send")
        for turn in range(2, 7):
            rater.progress(f"Turn {turn} of 6")
            if turn > 2:
                rater.say(f"Message number {turn}: what would you do about it?")
            rater.cards()
            if turn == 5:
                self.look(page, "choose-late")
            rater.rate(1 + turn % 2, "It takes up what I said.")
        expect(page.get_by_role("heading", name="One last thing")).to_be_visible()
        self.look(page, "feedback")
