"""``parlai-humaneval judge``: a model answers the raters' questions, and its answers are kept apart from theirs."""

from __future__ import annotations

import sys
from dataclasses import asdict
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mephisto_tasks.cli.options import READING, described, task_options, waiting_for
from mephisto_tasks.storage.locks import only_judging
from parlai_humaneval._util.terminal import say, say_json

if TYPE_CHECKING:
    from mephisto_tasks.annotation.judging import JudgedStudy
    from parlai_humaneval.judges.run import Ran
    from parlai_humaneval.schema.records import JudgementRecord


def _draw(*drawn_from: Any) -> list[JudgementRecord]:
    from mephisto_tasks.annotation.build import unjudged  # most judge what raters judged, and need nothing of it

    return unjudged(*drawn_from)


@described("judge")
def judge(
    judge_file: str,
    task_name: str,
    max_cost: float | None,
    unjudged: int | None,
    dry_run: bool,
    data_dir: Path,
    as_json: bool,
) -> None:
    from parlai_humaneval.judges.config import JudgeError, estimate, load_judge

    if max_cost is not None and isnan(max_cost):
        raise JudgeError("--max-cost must be 0 or more, not nan")
    spec = load_judge(Path(judge_file).expanduser(), None if max_cost is None else "--max-cost")
    from mephisto_tasks.annotation.judging import JudgedStudy, ask
    from mephisto_tasks.storage.logs import JUDGE_ANSWERS
    from parlai_humaneval.judges.run import Ran

    with waiting_for(READING, on_screens_only=True):
        study = JudgedStudy.read(data_dir, task_name, spec, unjudged or 0, _draw)
    if dry_run:
        expected = asdict(estimate(study.missing, spec, study.reply_tokens))
        done = len(study.questions) - len(study.missing)
        if as_json:
            say_json({"judge": spec.name, "task": study.task_name, "answered": done, **expected}, indent=None)
            return
        from parlai_humaneval.report.section import say as sentences

        units = len({(one.unit, one.setting, one.metric) for one in study.questions})
        facts = {"judge": spec.name, "units": units, "done": done, "both_orders": spec.both_orders}
        for line in sentences("judge_run", "estimate", **facts, **expected):
            say(line)
        return
    ran = Ran()
    if study.missing or study.has_new_card:
        with only_judging(data_dir, task_name):
            if len(JUDGE_ANSWERS.read(data_dir, task_name)) > study.n_lines:  # somebody else was at it until now
                study = JudgedStudy.read(data_dir, task_name, spec, unjudged or 0, _draw)
            try:
                ran = ask(study, max_cost)
            except KeyboardInterrupt:
                kept = f"{len(study.answers):,} answers are stored"
                say(f"Stopped. {kept}. Run the same command to ask the remaining questions.", err=True)
                sys.exit(130)
    summary = summary_of(study, ran)
    if as_json:
        say_json(summary, indent=None)
    else:
        for line in lines_of(summary, task_options(task_name, data_dir)):
            say(line)
    # A script should not go on as if it had judged, where not one of its replies is an answer.
    says_nothing = study.kept and not any(answer.outcome == "answered" for answer in study.kept)
    if ran.stopped == "failed" or says_nothing:
        sys.exit(1)


def summary_of(study: JudgedStudy, ran: Ran) -> dict[str, Any]:
    """Answers, cost, and open questions; how often the first candidate was chosen, and how often order mattered."""
    from parlai_humaneval.statistics.judges.answers import choices, first_chosen, inconsistent
    from parlai_humaneval.tables.build import judge_tables

    kept = study.kept
    tables = judge_tables(study.records, [*study.cards, *study.answers])
    chosen = None if tables is None else choices(tables)
    by_place: dict[str, Any] = {"first_chosen": None, "changed_with_order": None, "choices": 0}
    if chosen is not None and len(chosen):
        first, changed = first_chosen(chosen[chosen["options"] == 2]), inconsistent(chosen).estimate
        by_place = {"first_chosen": first.estimate, "choices": first.n, "changed_with_order": changed}
    outcomes = {name: sum(one.outcome == name for one in kept) for name in ("answered", "refused", "unparsable")}
    price = study.spec.price
    return {
        "judge": study.spec.name,
        "version": study.spec.version,
        "task": study.task_name,
        "questions": len(study.questions),
        **outcomes,
        "asked_now": ran.kept,
        "reminded_now": ran.reminded,
        "failed": ran.failed,
        "failures": ran.failures,
        "left": ran.left,
        "stopped": ran.stopped,
        "needed": ran.needed,
        "overspent": ran.overspent,
        "images_described": sum(one.images_described for one in kept),
        "questions_described": sum(one.images_described > 0 for one in kept),
        "prompt_tokens": sum(one.prompt_tokens or 0 for one in kept),
        "completion_tokens": sum(one.completion_tokens or 0 for one in kept),
        "cost_now": None if price is None else ran.spent,
        "cost": None if price is None else sum(answer.cost or 0.0 for answer in kept),
        "currency": None if price is None else price.currency,
        **by_place,
    }


def lines_of(found: dict[str, Any], options: str) -> list[str]:
    """The summary in sentences; ``options``: those that name the task to a command."""
    from parlai_humaneval.report.section import say as sentences
    from parlai_humaneval.report.sections.judges import goes_by_place

    kept, first = found["answered"] + found["refused"] + found["unparsable"], found["first_chosen"]
    by_place = first is not None and goes_by_place(first, options=2)
    return sentences("judge_run", "run", **found, kept=kept, options=options, by_place=by_place)
