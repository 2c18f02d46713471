"""The built page to look at by hand: each scene at an address of its own, and the screens of people who get no place.

``npm run dev:mock`` in ``mephisto_tasks/webapp``. What the page answers is printed, and ends the scene. A whole study to
click through is ``parlai-humaneval demo``.
"""

from __future__ import annotations

import json
import os
from typing import Any

from aiohttp import WSMsgType, web

from parlai_humaneval.schema.steps import EndStep, PageState

from .stage import CROWD, DIST, answer_to_packet, as_update
from .stage_scenes import scenes, state, words_of

PORT = int(os.environ.get("PORT", "3010"))
SCENES = {scene.name: scene for scene in scenes()}
DOORS: dict[str, dict[str, Any]] = {
    "refused": {"failure_reason": "You have done all conversations that we have for you."},
    "full": {"failure_reason": "All places are taken just now.", "title": "Full", "try_again_s": 10},
    "copied": {"failure_reason": "Go on in the browser in which you began.", "screen": "other_browser"},
    "stuck": {"agent_id": "stuck", "agent_token": "t", "init_task_data": {"past_live_updates": []}},
}
THANKS = state(EndStep(title="Thank you!", text="That was all.", next="submit"), phase="ended")


async def _agent(request: web.Request) -> web.Response:
    name = (await request.json())["provider_data"]["worker_name"]
    if name not in SCENES:
        return web.json_response({"data": {"agent_id": None, **DOORS.get(name, DOORS["refused"])}})
    states: list[PageState] = [*SCENES[name].before, SCENES[name].state]
    updates = [as_update(shown, version, name) for version, shown in enumerate(states, start=1)]
    details = {"agent_id": name, "agent_token": "t", "init_task_data": {"past_live_updates": updates}}
    return web.json_response({"data": details})


async def _line(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    async for message in socket:
        if message.type != WSMsgType.TEXT:
            continue
        packet = message.json()
        if reply := answer_to_packet(packet):
            await socket.send_json(reply)
        elif packet["packet_type"] == "mephisto_bound_live_update":
            print(json.dumps(packet["data"], ensure_ascii=False), flush=True)
            end = THANKS.model_copy(update={"confirmed": [packet["data"]["update_id"]]})
            update = as_update(end, 1000, packet["subject_id"])
            await socket.send_json({"packet_type": "client_bound_live_update", "subject_id": "", "data": update})
    return socket


async def _page(request: web.Request) -> web.StreamResponse:
    name = request.match_info["path"]
    worker = request.query.get("worker_id", "")
    if name == "task_config.json":
        task = SCENES[worker].task if worker in SCENES else "pw_turn"
        return web.json_response(words_of(task))
    if name == "wrap_crowd_source.js":
        return web.Response(text=CROWD, content_type="text/javascript")
    if not name and request.headers.get("Upgrade", "").lower() == "websocket":
        return await _line(request)
    return web.FileResponse(DIST / (name or "index.html"))


def main() -> None:
    """Prints the addresses, and serves them until it is interrupted."""
    for name in ("", *DOORS, *SCENES):
        print(f"http://localhost:{PORT}/" + (f"?worker_id={name}&assignment_id=1" if name else ""))
    app = web.Application()
    app.add_routes([web.post("/request_agent", _agent), web.get("/{path:.*}", _page)])
    app.add_routes([web.post("/{path:.*}", lambda _: web.json_response({}))])
    web.run_app(app, host="localhost", port=PORT, print=None)


if __name__ == "__main__":
    main()
