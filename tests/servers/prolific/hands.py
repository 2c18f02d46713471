"""Requests to the stand-in of Prolific, without a client of ours."""

from __future__ import annotations

from typing import Any

import httpx

from servers.prolific import (
    Participant,
    StandIn,
)

LINK = "https://study.example/?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
REVIEW = {"code": "C-DONE", "code_type": "COMPLETED", "actions": [{"action": "MANUALLY_REVIEW"}]}
OURS = {"code": "R-DONE", "code_type": "COMPLETED", "actor": "researcher", "actions": [{"action": "MANUALLY_REVIEW"}]}
DAY_S = 24 * 3600


def screen_out(slots: int, amount: int = 20) -> dict[str, Any]:
    action = {"action": "FIXED_SCREEN_OUT_PAYMENT", "fixed_screen_out_reward": amount, "slots": slots}
    return {"code": "R-OUT", "code_type": "FIXED_SCREENOUT", "actor": "researcher", "actions": [action]}


class Api:
    """Requests without a client of ours."""

    def __init__(self, prolific: StandIn, token: str | None = None) -> None:
        self.prolific = prolific
        signature = {"Authorization": f"Token {token or prolific.token}"}
        self.http = httpx.Client(base_url=prolific.base, headers=signature, timeout=10, verify=False)

    def __call__(self, method: str, path: str, body: Any = None, status: int = 200, **params: Any) -> Any:
        answer = self.http.request(method, path, json=body, params=params or None)
        assert answer.status_code == status, answer.text
        if not answer.content:
            return None
        return answer.json() if "json" in answer.headers["Content-Type"] else answer.text

    def draft(self, **changes: Any) -> str:
        """A new study: three places of 1.00."""
        given = {
            "name": "Talk",
            "description": "Talk to a bot",
            "external_study_url": LINK,
            "prolific_id_option": "url_parameters",
            "total_available_places": 3,
            "estimated_completion_time": 5,
            "reward": 100,
            "completion_codes": [REVIEW, OURS],
            "project": self.prolific.project.id,
            **changes,
        }
        return str(self("POST", "studies/", given, 201)["id"])

    def move(self, study: str, action: str, status: int = 200) -> Any:
        return self("POST", f"studies/{study}/transition/", {"action": action}, status)

    def live(self, **changes: Any) -> str:
        """A study that recruits."""
        study = self.draft(**changes)
        self.move(study, "PUBLISH")
        self.prolific.clock.move(1)
        return study

    def inside(self, **changes: Any) -> tuple[str, Participant]:
        """A study that recruits, and somebody who takes part in it."""
        study, someone = self.live(**changes), self.prolific.participant()
        someone.take(study)
        return study, someone

    def study(self, study: str) -> dict[str, Any]:
        return dict(self("GET", f"studies/{study}/"))

    def act(self, someone: Participant, action: str, status: int = 200, **more: Any) -> Any:
        return self("POST", f"submissions/{someone.submission_id}/transition/", {"action": action, **more}, status)

    def balance(self) -> tuple[int, int]:
        """Total and available."""
        told = self("GET", f"workspaces/{self.prolific.workspace.id}/balance/")
        return told["total_balance"], told["available_balance"]

    def detail(self, method: str, path: str, body: Any = None, status: int = 400) -> Any:
        return self(method, path, body, status)["error"]["detail"]
