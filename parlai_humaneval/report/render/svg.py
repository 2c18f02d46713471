"""An SVG of matplotlib → an element that may stand in a page beside others."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from parlai_humaneval.report.render.palette import to_css

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_LEFT_OUT = ("metadata", "style")
"""Elements: who made it, and a style sheet that would hold for the whole page."""
_COLOURED = ("style", "fill", "stroke")
_TO_ID = re.compile(r"url\(#")


def inline_svg(svg: str, key: str, title: str, description: str) -> str:
    """The bare ``<svg>`` element: ids that no other figure has, colours and size left to the page, words for readers.

    Works on the parsed tree, so that what models are called stays text.
    """
    prefix = f"fig-{re.sub(r'[^A-Za-z0-9_-]', '-', key)}-"
    root = ElementTree.fromstring(svg)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in {f"{{{_SVG}}}{name}" for name in _LEFT_OUT}:
                parent.remove(child)
        _with_own_ids(parent, prefix)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.attrib |= {"role": "img", "aria-labelledby": f"{prefix}title {prefix}desc"}
    for place, (name, words) in enumerate((("title", title), ("desc", description))):
        element = ElementTree.Element(f"{{{_SVG}}}{name}", {"id": f"{prefix}{name}"})
        element.text = words
        root.insert(place, element)
    ElementTree.register_namespace("", _SVG)
    return ElementTree.tostring(root, encoding="unicode")


def _with_own_ids(element: ElementTree.Element, prefix: str) -> None:
    attributes = element.attrib
    link = attributes.pop(f"{{{_XLINK}}}href", None)
    if link is not None:
        attributes["href"] = f"#{prefix}{link.removeprefix('#')}"
    if "id" in attributes:
        attributes["id"] = prefix + attributes["id"]
    for name, value in attributes.items():
        attributes[name] = _TO_ID.sub(f"url(#{prefix}", to_css(value) if name in _COLOURED else value)
