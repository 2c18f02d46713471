"""Units of several conversations that were cut off between two of them, so that their raters can go on."""

from __future__ import annotations

from pathlib import Path

from mephisto_tasks.live.plans import UnitPlan
from mephisto_tasks.stored.results import stored_states, task_names
from parlai_humaneval.protocol.records.rebuilding import build_record, split_dialogues


def unfinished_units(data_dir: Path, task_name: str) -> dict[str, UnitPlan]:
    """Mephisto's worker id → what is left of their newest unit, where at least one of its conversations is complete.

    A unit may have gone on in several visits; no database, or no such task, is an empty past.

    Raises:
        ResultsError: stored files that cannot be read.
    """
    if not (data_dir / "database.db").is_file() or task_name not in task_names(data_dir):
        return {}
    plans: dict[str, UnitPlan] = {}
    done: dict[str, set[int]] = {}
    newest: dict[str, str] = {}
    for agent, state in stored_states(data_dir, task_name):
        if not state.inputs or "plans" not in state.inputs or state.inputs["conversations"] < 2:
            continue
        plan = UnitPlan.restored(state.inputs)
        plans.setdefault(plan.session, plan)
        newest[agent.worker_id] = plan.session
        records = [build_record(events) for events in split_dialogues(state.outputs.messages)]
        done.setdefault(plan.session, set()).update(r.conversation for r in records if r.status == "complete")
    left = {worker: plans[session].without(sorted(done[session])) for worker, session in newest.items()}
    return {worker: plan for worker, plan in left.items() if plan.plans and len(plan.plans) < plan.conversations}
