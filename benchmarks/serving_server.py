"""A server that answers like an OpenAI-compatible one, after a fixed time.

python -m benchmarks.serving_server PORT SECONDS
"""

from __future__ import annotations

import asyncio
import sys

from aiohttp import web


async def complete(request: web.Request) -> web.Response:
    """One sentence, whatever was asked."""
    asked = await request.json()
    await asyncio.sleep(request.app[SECONDS])
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "I see what you mean."}}
    usage = {"prompt_tokens": 9, "completion_tokens": 6, "total_tokens": 15}
    head = {"id": "1", "object": "chat.completion", "created": 0, "model": asked["model"]}
    return web.json_response({**head, "choices": [choice], "usage": usage})


SECONDS = web.AppKey("seconds", float)


async def serve(port: int, seconds: float) -> None:
    """Until the process is ended."""
    app = web.Application()
    app[SECONDS] = seconds
    app.router.add_post("/v1/chat/completions", complete)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    print("READY", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), float(sys.argv[2])))
