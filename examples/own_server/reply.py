"""The answers of both the program and the server."""

from __future__ import annotations

from typing import Any


def reply(question: dict[str, Any]) -> dict[str, Any]:
    """``{"history": [{"speaker": "human", "text": "Hi!"}], "persona": [], "seed": 7}`` → ``{"text": "…"}``."""
    heard = [turn["text"] for turn in question["history"] if turn["speaker"] == "human"]
    if not heard:
        return {"text": "Hello!"}
    return {"text": f"You have told me {len(heard)} thing(s). The last had {len(heard[-1].split())} word(s)."}
