"""Facts of a document in words and tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from parlai_humaneval.report.document import DialogueCount, Excluded, Facts
from parlai_humaneval.report.section import SectionLeftOut, Summary
from parlai_humaneval.report.views import Cell, DataTable, TableColumn
from parlai_humaneval.statistics.core.formatting import counted, percent, seconds_words

NAMED = 20
"""As many workers are named in a line."""
MANY_LEFT = 0.1
"""Share of dialogues that were left in the middle, from which on that is warned of."""

CHECKS_IN_DOCS = "Which answers count"
"""Title of the documentation's page that says what each check means."""

OVERLAP = "Checks overlap: what fails two is counted in both rows."

Pair = tuple[str, str]
"""A label and what it says."""


def qualifying(facts: Facts, answers: Sequence[Summary], in_short: Sequence[str]) -> list[str]:
    """What qualifies the verdict, each once: what was left out or is unfinished, and the remarks of the answers.

    ``in_short``: what sections say that answer no question.
    """
    found = [
        left_out_here(facts.excluded) if facts.excluded is not None else "",
        *(f"{left.section}: left out are {_left_out_words(left)}." for left in facts.left_out),
        _unfinished(facts),
        *(one.words for one in facts.repeats),
        *(remark for answer in answers for remark in answer.remarks),
        _flagged(facts),
        *in_short,
        *facts.notes,
    ]
    models = {model.name for model in facts.models}
    return list(dict.fromkeys(_begun(line, models) for line in found if line))


def _flagged(facts: Facts) -> str:
    """“Check too_fast: failed by 8 of 10 workers, in 90 of 90 judgements; they count all the same. …”; may be empty."""
    raters = facts.raters
    kinds = ((raters.dialogues, "dialogue"), (raters.judgements, "judgement"))
    noun = " or ".join(noun for count, noun in kinds if count is not None)
    failed = [
        f"{one.check}: failed by {one.workers:,} of {counted(one.of_workers, 'worker')}, "
        f"in {one.units:,} of {_units(one.of_units, noun)}"
        for one in facts.flagged
    ]
    if not failed:
        return ""
    count = "it counts" if len(failed) == 1 and facts.flagged[0].units == 1 else "they count"
    which = "Check" if len(failed) == 1 else "Checks"
    checks = f"{which} {'; '.join(failed)}; {count} all the same."
    return f"{checks} What {'it' if len(failed) == 1 else 'each'} means: documentation, “{CHECKS_IN_DOCS}”."


def _units(number: int, noun: str) -> str:
    """“90 judgements”, “12 dialogues or judgements”."""
    return counted(number, noun) if number == 1 else f"{number:,} {noun.replace(' or ', 's or ')}s"


def _begun(sentence: str, models: set[str]) -> str:
    """The sentence with a capital, unless it begins with the name of a model."""
    return sentence if any(map(sentence.startswith, models)) else f"{sentence[:1].upper()}{sentence[1:]}"


def left_out_here(excluded: Excluded) -> str:
    """“Left out by quality checks: 1 dialogue, 6 turns; 1 worker with all they did (same_position; nothing is deleted).”"""
    here = excluded.here
    left = [
        counted(number, noun)
        for number, noun in ((here.dialogues, "dialogue"), (here.turns, "turn"), (here.judgements, "judgement"))
        if number
    ]
    checks = [f"{row.check} {row.workers_failed:,}" for row in excluded.counts if row.workers_failed]
    where = f"judged in {counted(len(excluded.tasks), 'task')}" if excluded.tasks else ""
    failing = f"workers who failed: {', '.join(checks)}" if checks else ""
    basis = "; ".join(filter(None, (failing, where, "nothing is deleted")))
    what = ", ".join(left) or "nothing"
    return f"Left out by quality checks: {what}; {counted(here.workers, 'worker')} with all they did ({basis})."


def _unfinished(facts: Facts) -> str:
    parts = []
    for count, noun in ((facts.raters.dialogues, "dialogue"), (facts.raters.judgements, "judgement")):
        if count is not None and count.unfinished:
            done = (
                f"{counted(count.unfinished, noun)} not finished ({count.partial:,} partial, {count.failed:,} failed, "
            )
            parts.append(f"{done}{count.running:,} running)")
    counts = " and left out" if not facts.include_partial else ""
    return f"Unfinished{counts}: {'; '.join(parts)}.{_of_taste(facts)}" if parts else ""


def _of_taste(facts: Facts) -> str:
    """What leaving many dialogues out may do to the answer; empty where few were left, or they count."""
    dialogues = facts.raters.dialogues
    if facts.include_partial or dialogues is None:
        return ""
    share = dialogues.partial / max(1, dialogues.complete + dialogues.partial)
    if share <= MANY_LEFT:
        return ""
    return (
        f" Raters left {percent(share)} of dialogues in the middle. If raters with other tastes leave more often, that "
        "alone can tell equal models apart: compare with --include-partial."
    )


def raters_line(facts: Facts) -> str:
    """Who rated, and how much, in one line."""
    raters = facts.raters
    kind = "simulated rater" if raters.simulated and raters.simulated == raters.workers else "worker"
    parts = [f"{counted(raters.workers, kind)}{_finished(facts)}"]
    if raters.dialogues is not None:
        parts.append(counted(raters.dialogues.complete, "complete dialogue"))
    if raters.turns:
        parts.append(counted(raters.turns, "answered turn"))
    if raters.judgements is not None:
        parts.append(counted(raters.judgements.complete, "complete judgement"))
    if raters.attention_checks is not None:
        checks = raters.attention_checks
        by = f" (by {counted(checks.workers_failing, 'worker')})" if checks.failed else ""
        parts.append(f"attention checks {checks.passed:,} passed, {checks.failed:,} failed{by}")
    if raters.practice is not None:
        practice = raters.practice
        parts.append(
            f"practice {practice.passed:,} passed, {practice.failed:,} failed, {practice.not_ended:,} not ended"
        )
    for seconds, unit in ((raters.median_dialogue_seconds, "dialogue"), (raters.median_judgement_seconds, "judgement")):
        if seconds is not None:
            parts.append(f"median {seconds_words(seconds)} a {unit}")
    return "; ".join(parts)


def _finished(facts: Facts) -> str:
    """“, 1 of whom finished” where not all did; else empty."""
    workers, finished = facts.raters.workers, facts.raters.workers_finished
    if finished is None or finished >= workers:
        return ""
    if workers == 1:
        return ", who has not finished"
    return f", {f'{finished:,}' if finished else 'none'} of whom finished"


def data_words(facts: Facts) -> list[Pair]:
    """When, and with what: for the head of the document."""
    raters = facts.raters
    pairs = [("Techniques", ", ".join(facts.techniques)), ("Models", ", ".join(model.name for model in facts.models))]
    days = raters.first_day if raters.first_day == raters.last_day else f"{raters.first_day} to {raters.last_day}"
    return [(label, words) for label, words in [*pairs, ("Rated", days)] if words]


def raters_words(facts: Facts) -> list[Pair]:
    """Who rated, and how much, line by line; what is not known has no line."""
    return list(_raters_words(facts))


def _raters_words(facts: Facts) -> Iterator[Pair]:
    raters = facts.raters
    simulated = f", {raters.simulated:,} of them simulated" if raters.simulated else ""
    yield "Workers", f"{raters.workers:,}{simulated}{_finished(facts)}"
    for left in facts.left_out:
        yield f"Left out of “{left.section}”", _left_out_words(left)
    if raters.practice is not None:
        practice = raters.practice
        yield "Practice", f"{practice.passed:,} passed, {practice.failed:,} failed, {practice.not_ended:,} not ended"
    if raters.dialogues is not None:
        yield "Dialogues", _by_status(raters.dialogues)
    if raters.turns is not None:
        begun = f", {raters.turns_not_answered:,} begun and not answered" if raters.turns_not_answered else ""
        yield "Turns", f"{raters.turns:,} answered{begun}"
    if raters.judgements is not None:
        yield "Judgements", _by_status(raters.judgements)
    if raters.items is not None and raters.dialogues_shown is not None:
        yield "Shown", f"{counted(raters.items, 'item')} of {counted(raters.dialogues_shown, 'dialogue')}"
    if raters.attention_checks is not None:
        checks = raters.attention_checks
        by = f" (by {counted(checks.workers_failing, 'worker')})" if checks.failed else ""
        yield (
            "Attention checks",
            f"{checks.passed:,} passed, {checks.failed:,} failed{by}, {checks.not_answered:,} not answered",
        )
    if raters.units_per_worker_median is not None and raters.units_per_worker_most is not None:
        amount = f"{raters.units_per_worker_median:g} of each worker, at most {raters.units_per_worker_most:,}"
        yield "Dialogues or judgements", f"in the median {amount}"
    if raters.median_turn_seconds is not None:
        yield "Median turn", seconds_words(raters.median_turn_seconds)
    if raters.median_dialogue_seconds is not None:
        yield "Median dialogue", seconds_words(raters.median_dialogue_seconds)
    if raters.median_judgement_seconds is not None:
        yield "Median judgement", seconds_words(raters.median_judgement_seconds)


def _left_out_words(left: SectionLeftOut) -> str:
    more = len(left.workers) - NAMED
    named = ", ".join(left.workers[:NAMED]) + (f" and {more:,} more (all are named in report.json)" if more > 0 else "")
    return f"{len(left.workers):,} of {counted(left.of, 'worker')}, who {left.why}: {named}"


def _by_status(count: DialogueCount) -> str:
    others = [f"{number:,} {name}" for name, number in count.model_dump().items() if number and name != "complete"]
    return ", ".join([f"{count.complete:,} complete", *others])


def facts_tables(facts: Facts) -> list[DataTable]:
    """Set-up: what was collected, what was rated on scales, and the models."""
    tables = [_designs(facts), _statements(facts), _models(facts)]
    return [table for table in tables if table.rows]


def _designs(facts: Facts) -> DataTable:
    columns = (
        TableColumn(key="technique", label="Technique"),
        TableColumn(key="setting", label="Setting"),
        TableColumn(key="metric", label="Metric"),
        TableColumn(key="models", label="Models"),
        TableColumn(key="workers", label="Workers", kind="count"),
        TableColumn(key="rows", label="Rows of tables"),
    )
    rows: list[dict[str, Cell]] = [
        {
            "technique": design.technique or None,
            "setting": design.setting or None,
            "metric": design.metric or None,
            "models": ", ".join(design.models),
            "workers": design.workers,
            "rows": ", ".join(f"{name} {count:,}" for name, count in design.tables.items()),
        }
        for design in facts.designs
    ]
    return DataTable(key="setup_designs", title="What was collected", columns=columns, rows=tuple(rows))


def _statements(facts: Facts) -> DataTable:
    columns = (
        TableColumn(key="criterion", label="Criterion"),
        TableColumn(key="text", label="As raters saw it"),
        TableColumn(key="scale", label="Scale"),
    )
    rows: list[dict[str, Cell]] = []
    for one in facts.statements:
        ends = "" if one.minimum is None or one.maximum is None else f" {one.minimum:g} to {one.maximum:g}"
        rows.append({"criterion": one.criterion, "text": one.text, "scale": f"{one.scale}{ends}".strip() or None})
    return DataTable(key="setup_statements", title="What was rated or ticked", columns=columns, rows=tuple(rows))


def _models(facts: Facts) -> DataTable:
    columns = (
        TableColumn(key="model", label="Model"),
        TableColumn(key="description", label="Description"),
        TableColumn(key="source", label="Source"),
        TableColumn(key="options", label="Options"),
    )
    rows: list[dict[str, Cell]] = [
        {
            "model": model.name,
            "description": model.description or None,
            "source": model.source or None,
            "options": json.dumps(model.options, ensure_ascii=False, default=str) if model.options else None,
        }
        for model in facts.models
        if model.description or model.source or model.options
    ]
    return DataTable(key="setup_models", title="The models", columns=columns, rows=tuple(rows))


def excluded_table(excluded: Excluded) -> DataTable:
    """What each check found, and what was left out by all of them together."""
    judged = excluded.judgements_total > 0
    live = excluded.dialogues_total > 0 or not judged
    counts = (
        ("dialogues_failed", "Dialogues failed", live),
        ("workers_failed", "Workers failed", True),
        ("dialogues_removed", "Dialogues removed", live),
        ("turns_removed", "Turns removed", live),
        ("judgements_removed", "Judgements removed", judged),
        ("not_judged", "Not judged", True),
    )
    shown = [(key, label) for key, label, applies in counts if applies]
    columns = [TableColumn(key="check", label="Check")]
    columns += [TableColumn(key=key, label=label, kind="count") for key, label in shown]
    rows: list[dict[str, Cell]] = [
        {"check": row.check} | {key: getattr(row, key) for key, _ in shown} for row in excluded.counts
    ]
    reach = "all that a failing worker did" if excluded.scope == "worker" else "the dialogues that failed"
    where = f"Checked in {counted(len(excluded.tasks), 'task')}: {', '.join(excluded.tasks)}." if excluded.tasks else ""
    return DataTable(
        key="excluded",
        title=f"Left out by quality checks ({reach}); nothing is deleted",
        columns=tuple(columns),
        rows=tuple(rows),
        notes=tuple(filter(None, (left_out_here(excluded), where, OVERLAP))),
    )
