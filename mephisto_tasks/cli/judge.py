"""``parlai-humaneval judge``: a model answers what raters were asked, beside them and never among them."""

from __future__ import annotations

import sys
from dataclasses import asdict
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mephisto_tasks.cli.options import READING, described, task_options, waiting_for
from mephisto_tasks.storage.locks import only_judging
from parlai_humaneval._util.terminal import say, say_json
from parlai_humaneval.statistics.core.formatting import money_words, percent

if TYPE_CHECKING:
    from mephisto_tasks.annotation.judging import JudgedStudy
    from parlai_humaneval.judges.config import Estimate
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
    from mephisto_tasks.annotation.judging import JudgedStudy, ask
    from mephisto_tasks.storage.logs import JUDGE_ANSWERS
    from parlai_humaneval.judges.config import JudgeError, estimate, load_judge
    from parlai_humaneval.judges.run import Ran

    if max_cost is not None and isnan(max_cost):
        raise JudgeError("--max-cost must be 0 or more, not nan")
    spec = load_judge(Path(judge_file).expanduser(), None if max_cost is None else "--max-cost")
    with waiting_for(READING, on_screens_only=True):
        study = JudgedStudy.read(data_dir, task_name, spec, unjudged or 0, _draw)
    if dry_run:
        tell_estimate(study, estimate(study.missing, spec, study.reply_tokens), as_json)
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
                say(f"Stopped. {kept}. Run the same command to ask the rest.", err=True)
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


def tell_estimate(study: JudgedStudy, expected: Estimate, as_json: bool) -> None:
    done = len(study.questions) - len(study.missing)
    if as_json:
        say_json({"judge": study.spec.name, "task": study.task_name, "answered": done, **asdict(expected)}, indent=None)
        return
    units = len({(one.unit, one.setting, one.metric) for one in study.questions})
    say(
        f"{study.spec.name} would be asked {expected.questions:,} questions in {expected.requests:,} requests: "
        f"{units:,} turns, dialogues or items{' in both orders' if study.spec.both_orders else ''}"
        + (f". {done:,} questions have already been answered." if done else ".")
    )
    say(f"That is about {expected.prompt_tokens:,} input tokens and {expected.completion_tokens:,} output tokens.")
    if expected.cost is None:
        say("The cost is unknown, because the judge's file has no price_per_1k.")
    else:
        most = money_words(expected.cost_at_most)
        say(f"It would cost about {money_words(expected.cost)} {expected.currency}, and at most {most}.")
    say("No questions were asked.")


def summary_of(study: JudgedStudy, ran: Ran) -> dict[str, Any]:
    """What was answered, what it cost, what is left; how often what stood first was chosen, and the order changed that."""
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
        "prompt_tokens": sum(one.prompt_tokens or 0 for one in kept),
        "completion_tokens": sum(one.completion_tokens or 0 for one in kept),
        "cost_now": None if price is None else ran.spent,
        "cost": None if price is None else sum(answer.cost or 0.0 for answer in kept),
        "currency": None if price is None else price.currency,
        **by_place,
    }


def lines_of(found: dict[str, Any], task: str) -> list[str]:
    from parlai_humaneval.report.sections.judges import goes_by_place

    kept = found["answered"] + found["refused"] + found["unparsable"]
    lines = [
        f"{found['judge']} has {kept:,} of {found['questions']:,} answers to the questions of {found['task']}, "
        f"{found['asked_now']:,} of them new: {found['answered']:,} answered, {found['refused']:,} refused, "
        f"{found['unparsable']:,} unreadable ({found['reminded_now']:,} asked twice in this run)."
    ]
    if kept and not found["answered"]:
        lines.append(
            "No answer could be read. Look at the replies (`export` saves them). Then describe the expected answer more "
            "clearly in the prompt, or use another model."
        )
    if found["cost"] is not None:
        lines.append(
            f"Cost: {money_words(found['cost_now'])} {found['currency']} in this run, {money_words(found['cost'])} in all; "
            f"{found['prompt_tokens']:,} input tokens, {found['completion_tokens']:,} output tokens."
        )
    if found["first_chosen"] is not None:
        changed = found["changed_with_order"]
        other = "" if changed is None else f"; {percent(changed)} of its answers depended on the order"
        lines.append(f"It chose the first of two candidates in {percent(found['first_chosen'])} of cases{other}.")
        if goes_by_place(found["first_chosen"], options=2):
            lines.append("It judges by position rather than content, so its answers say nothing about the models.")
    if found["failed"]:
        lines.append(f"{found['failed']:,} got no reply: {'; '.join(found['failures'])}.")
    left = f"{found['left']:,} questions are left"
    if found["overspent"]:
        lines.append(
            "The run cost more than --max-cost allows, because replies were longer than max_reply_tokens. Raise that to "
            f"the length of the longest possible reply. {left}."
        )
    elif found["stopped"] == "failed":
        lines.append(f"The run gave up, and {left}. Fix the problem, then run the same command again.")
    elif found["stopped"] == "budget":
        lines.append(
            f"Stopped before exceeding --max-cost, and {left}. The next question may cost up to "
            f"{money_words(found['needed'])} {found['currency']} (asked twice, with the longest reply that max_reply_tokens "
            "allows). Run the same command to continue."
        )
    elif found["left"]:
        lines.append(f"{left}. Run the same command to ask them.")
    return [*lines, *([f"`parlai-humaneval report {task} --full` compares its answers with people's."] if kept else [])]
