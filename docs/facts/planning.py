"""What studies take and cost, by the planner."""

from __future__ import annotations

from docs.facts.markdown import table
from parlai_humaneval.planning.inputs import ask
from parlai_humaneval.planning.plan import Plan, compare_techniques, plan_study

GAP = 0.1
"""Ten points between two models: the gap that all figures of the site are for."""


def facts() -> dict[str, str]:
    """The comparison of all techniques, and the rows of each of them."""
    plans, _ = compare_techniques(ask(technique="pw_turn", gap=GAP))
    # The comparison has self-chats as a way of PW-Dialog; as a task they have a page of their own.
    by_technique = {"self_chat": [plan_study(ask(technique="self_chat", gap=GAP))]}
    for plan in plans:
        by_technique.setdefault(str(plan.inputs["technique"]), []).append(plan)
    return {"plan.md": _table(plans)} | {f"cost/{name}.md": _table(theirs) for name, theirs in by_technique.items()}


def _table(plans: list[Plan]) -> str:
    head = ["", "judgements", "dialogues", "raters", "hours", "cost"]
    return table(head, [_row(plan) for plan in plans])


def _row(plan: Plan) -> list[str]:
    return [
        plan.title,
        f"{plan.n_judgements:,} {plan.judgement}s",
        f"{plan.n_dialogues:,}",
        f"{plan.n_workers:,}",
        f"{plan.hours:,.0f}",
        f"${plan.cost:,.0f}",
    ]
