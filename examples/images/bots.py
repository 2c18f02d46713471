"""Functions that see pictures and answer with one; each turn of ``history`` has ``images``, a tuple of data URLs."""

from __future__ import annotations

import base64
import io
from typing import Any

from PIL import Image, ImageDraw


def drawing(history: list[Any]) -> dict[str, Any]:
    """Answer with a picture and its description."""
    canvas = Image.new("RGB", (480, 320), "skyblue")
    ImageDraw.Draw(canvas).ellipse((160, 80, 320, 240), fill="gold")
    file = io.BytesIO()
    canvas.save(file, "PNG")
    url = f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
    return {"text": "I drew this for you.", "images": [{"url": url, "alt": "A golden sun in a blue sky"}]}


def counting(history: list[Any]) -> str:
    """Say how large the newest picture is."""
    pictures = [image for turn in history for image in turn.images]
    if not pictures:
        return "You have not sent me a picture yet."
    size = Image.open(io.BytesIO(base64.b64decode(pictures[-1].partition(",")[2]))).size
    return f"I have seen {len(pictures)} picture(s). The last one has {size[0]} × {size[1]} pixels."
