"""The rooms of the house: the picture of their layers, drawn from the import contracts, and what each room is."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

from docs.facts.markdown import table

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
WIDTH, ROW, GAP, BOX = 440, 40, 8, 28
"""Pixels: of a picture, from layer to layer, between rooms of a layer, and of a room's height."""


def layers(package: str) -> list[list[str]]:
    """The rooms of each layer, from the top down, as the contract of the package has them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (contract,) = (contract for contract in contracts if contract.get("containers") == [package])
    rooms = [[room.strip() for room in layer.split("|")] for layer in contract["layers"]]
    return [layer for layer in rooms if layer != ["__main__"]]


def facts() -> dict[str, str]:
    """``house_PACKAGE.md``: the picture of its layers and its rooms."""
    return {
        f"house_{package}.md": f"{_picture(package, layers(package))}\n\n{_rooms(package, layers(package))}"
        for package in ("parlai_humaneval", "mephisto_tasks")
    }


def _picture(package: str, rows: Sequence[Sequence[str]]) -> str:
    svg = Element(
        "svg",
        {"class": "layers", "viewBox": f"0 0 {WIDTH} {len(rows) * ROW}", "role": "img", "width": str(WIDTH)},
        xmlns="http://www.w3.org/2000/svg",
    )
    SubElement(svg, "title").text = f"The folders of {package}: each imports only from layers below its own"
    for number, rooms in enumerate(rows):
        width = (WIDTH - GAP * (len(rooms) - 1)) / len(rooms)
        for place, room in enumerate(rooms):
            left = place * (width + GAP)
            box = {
                "x": f"{left:g}",
                "y": f"{number * ROW + (ROW - BOX) / 2:g}",
                "width": f"{width:g}",
                "height": str(BOX),
            }
            SubElement(svg, "rect", {**box, "rx": "5", "fill": "currentColor", "fill-opacity": "0.09"})
            middle = {"x": f"{left + width / 2:g}", "y": f"{number * ROW + ROW / 2 + 5:g}", "text-anchor": "middle"}
            SubElement(svg, "text", {**middle, "font-size": "14", "fill": "currentColor"}).text = room
    return tostring(svg, encoding="unicode")


def _rooms(package: str, rows: Sequence[Sequence[str]]) -> str:
    return table(
        ["folder", "what it is for", "lines"],
        [[f"`{room}/`", _purpose(package, room), f"{_lines(package, room):,}"] for rooms in rows for room in rooms],
    )


def _purpose(package: str, room: str) -> str:
    text = (ROOT / package / room / "__init__.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(text)) or "").split("\n\n")[0].replace("\n", " ")


def _lines(package: str, room: str) -> int:
    files = (ROOT / package / room).rglob("*.py")
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
