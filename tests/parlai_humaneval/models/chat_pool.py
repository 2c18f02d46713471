"""Names and words of the tests that ask a server on loopback by the fixtures ``server`` and ``chat``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parlai_humaneval.models.bot_speaker.bot_speaker import BotSpeakerAgent
from parlai_humaneval.models.model_pool import ModelPool

AGENT = "parlai_humaneval.agents.chat_completions:ChatCompletionsAgent"
KEY = "sk-very-secret-0123456789"

MakePool = Callable[..., ModelPool]


def say(speaker: BotSpeakerAgent, text: str = "Hi!") -> dict[str, Any]:
    """The one model's candidate."""
    speaker.observe({"text": text, "episode_done": False})
    return dict(speaker.act()["candidates"][0])
