"""axe-core, as installed beside the page's own tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page

SOURCE = Path(__file__).resolve().parents[3] / "mephisto_tasks/webapp/node_modules/axe-core/axe.min.js"
GRAVE = ("serious", "critical")

_RUN = """
async (rules) => {
  const options = {resultTypes: ['violations'], ...(rules ? {runOnly: {type: 'rule', values: rules}} : {})};
  const found = await axe.run(document, options);
  return found.violations.map((v) => ({
    rule: v.id, impact: v.impact, help: v.help, nodes: v.nodes.map((node) => node.html.slice(0, 160)),
  }));
}
"""


@dataclass(frozen=True)
class Violation:
    """One rule that a screen breaks, and where."""

    rule: str
    impact: str
    help: str
    nodes: tuple[str, ...]

    @property
    def grave(self) -> bool:
        return self.impact in GRAVE


def violations(page: Page, rules: list[str] | None = None) -> list[Violation]:
    """All that axe finds (by ``rules`` only, if given)."""
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(SOURCE.read_text(encoding="utf-8"))
    found = page.evaluate(_RUN, rules)
    return [Violation(v["rule"], v["impact"] or "", v["help"], tuple(v["nodes"])) for v in found]
