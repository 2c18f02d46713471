"""From a dialogue to the messages of a chat-completions request."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypedDict

from parlai_humaneval.models.backends.base import Heard
from parlai_humaneval.models.backends.prompting import BEGIN, GO_ON, Played, system_text

SystemRole = Literal["system", "developer", "user"]
"""Who tells the model how to behave; ``user``: the first message of the user begins with it, for servers and chat
templates that know no such role (Gemma's, some of Mistral's)."""


class ChatMessage(TypedDict):
    """One message of a request."""

    role: str
    content: str


@dataclass(frozen=True)
class Wording:
    """How a dialogue is told to a server.

    ``system_prompt``: may hold ``{persona}``. ``alternate``: lines of one speaker in a row become one message, since
    many chat templates refuse roles that do not alternate. ``begin_prompt``: stands where the bot has the first line,
    because most servers want the user's first; ``go_on_prompt``: where it had the last one and is to go on. Empty:
    nothing stands there.
    """

    system_prompt: str = ""
    system_role: SystemRole = "system"
    alternate: bool = True
    begin_prompt: str = BEGIN
    go_on_prompt: str = GO_ON

    def messages(self, heard: Heard) -> list[ChatMessage]:
        """The dialogue as the server is to see it: the person is ``user``, and the bot's lines are ``assistant``'s,
        whichever model wrote them."""
        lines = list(self._lines(heard))
        system = system_text(self.system_prompt, Played(heard.persona, heard.partner_persona))
        if system:
            lines = self._with_system(system, lines)
        return _joined(lines) if self.alternate else lines

    def _with_system(self, system: str, lines: list[ChatMessage]) -> list[ChatMessage]:
        if self.system_role == "user" and lines and lines[0]["role"] == "user":
            return [ChatMessage(role="user", content=f"{system}\n\n{lines[0]['content']}"), *lines[1:]]
        return [ChatMessage(role=self.system_role, content=system), *lines]

    def _lines(self, heard: Heard) -> Iterator[ChatMessage]:
        dialogue = heard.dialogue
        if self.begin_prompt and (not dialogue or dialogue[0][0] == "bot"):
            yield ChatMessage(role="user", content=self.begin_prompt)
        for speaker, text in dialogue:
            yield ChatMessage(role="assistant" if speaker == "bot" else "user", content=text)
        if self.go_on_prompt and dialogue and dialogue[-1][0] == "bot":
            yield ChatMessage(role="user", content=self.go_on_prompt)


def _joined(messages: list[ChatMessage]) -> list[ChatMessage]:
    joined: list[ChatMessage] = []
    for message in messages:
        if joined and joined[-1]["role"] == message["role"]:
            joined[-1] = ChatMessage(role=message["role"], content=f"{joined[-1]['content']}\n{message['content']}")
        else:
            joined.append(message)
    return joined
