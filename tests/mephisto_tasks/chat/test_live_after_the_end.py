"""What Mephisto still queued when a run ended: it comes too late to be sent, and must not look like a crash."""

from __future__ import annotations

from live import Launch, Rater, eventually


async def test_what_is_sent_after_the_end_is_dropped(start: Launch) -> None:
    """A status that Mephisto's loop gets to after the connections were closed ends in nothing, not in a KeyError."""
    async with start() as run:
        async with Rater(run) as rater:
            await rater.finish()
        await eventually(run.is_done)
        wire = run.live_run.client_io
    (agent,) = wire.agent_id_to_channel_id
    assert not wire.channels
    wire.send_status_update(agent, "completed")
    wire.send_live_update(agent, {"state": {}})
