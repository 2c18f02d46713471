"""Plans as text for the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from parlai_humaneval.planning.comparing import comparison_notes, comparison_words
from parlai_humaneval.planning.study_plan import Plan

_WIDTH = 100


def plan_text(plan: Plan) -> str:
    """The headline, the numbers, the notes and the sources."""
    rows = [
        (f"{plan.judgement}s, kept", f"{plan.n_judgements:,}"),
        ("to collect", f"{plan.n_judgements_collected:,} {plan.judgement}s in {plan.n_dialogues:,} dialogues"),
        ("workers", f"{plan.n_workers:,}"),
        ("hours", f"{plan.hours:,.1f}"),
        ("cost", f"${plan.cost:,.2f}"),
        ("power", f"{plan.power:.3f} ({plan.analysis})"),
    ]
    if plan.simulated is not None:
        found = plan.simulated
        ends = f"{found['ci_low']:.3f} to {found['ci_high']:.3f}"
        rows.append(
            ("simulated power", f"{found['estimate']:.3f} (Monte Carlo interval {ends}, {found['n']:,} studies)")
        )
    lines = [*_wrapped(plan.headline), "", *_columns(rows), ""]
    for note in (*plan.notes, *_simulation_notes(plan)):
        lines += _wrapped(note, "- ")
    lines += ["", "Sources and assumptions:"]
    for source in plan.sources:
        lines += _wrapped(source, "- ")
    return "\n".join(lines)


def comparison_text(plans: Sequence[Plan], impossible: dict[str, str]) -> str:
    """A row for each technique, the sentence, and what the gap is in each."""
    head = ("technique", "judgements", "dialogues", "workers", "hours", "cost", "power")
    rows = [
        (
            plan.title,
            f"{plan.n_judgements:,} {plan.judgement}s",
            f"{plan.n_dialogues:,}",
            f"{plan.n_workers:,}",
            f"{plan.hours:,.1f}",
            f"${plan.cost:,.0f}",
            f"{plan.power:.2f}",
        )
        for plan in plans
    ]
    lines = [*_columns([head, *rows]), "", *_wrapped(comparison_words(list(plans))), ""]
    if plans and plans[0].models > 2 and plans[0].method != "liu2023":
        lines += [*_wrapped(f"All are planned to tell each pair of {plans[0].models} models apart, corrected."), ""]
    for note in comparison_notes(plans):
        lines += [*_wrapped(note), ""]
    lines.append("The gap is")
    for plan in plans:
        lines += _wrapped(f"{plan.title}: {plan.gap_means}", "- ")
    for name, reason in impossible.items():
        lines += _wrapped(f"no plan for {name}: {reason}", "- ")
    return "\n".join(lines)


def _simulation_notes(plan: Plan) -> list[str]:
    return [f"Beware: {note}." for note in (plan.simulated or {}).get("notes", ())]


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _wrapped(text: str, mark: str = "") -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=mark, subsequent_indent=" " * len(mark))
