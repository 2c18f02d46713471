"""What is left of a chat-completions model when its pool is closed: nothing."""

from __future__ import annotations

from typing import Any


def test_closing_the_pool_closes_the_client(chat: Any) -> None:
    """Guards a process that runs many studies against connections that stay open; it may be closed twice."""
    pool = chat()
    client = pool.worker("m").agent.server._client
    assert not client.is_closed()
    pool.close()
    pool.close()
    assert client.is_closed()
