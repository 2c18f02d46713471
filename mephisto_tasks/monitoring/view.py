"""A study's state in words and tables, the same on the terminal and on the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from mephisto_tasks.control.snapshot import GroupStatus, Inside, done_words, inside_words, one_line
from mephisto_tasks.crowds.crowd import SiteState
from mephisto_tasks.monitoring.observe import ago
from mephisto_tasks.monitoring.status import WORDS, Answer, StudyStatus
from mephisto_tasks.payments.policy import sign_of
from parlai_humaneval.report.sections.stopping import DecidedPair, pair_rows, pairs_figures, pairs_table
from parlai_humaneval.report.summary import pairs_table as table_of_pairs
from parlai_humaneval.report.views import Cell, DataTable, IntervalFigure, TableColumn
from parlai_humaneval.statistics.core.formatting import counted, money_words, percent, seconds_words, sentence

Pair = tuple[str, str]  # A label and what it says

STEPS: dict[str, str] = WORDS["steps"]
PLACES = {step: f"at “{step}”" for step in STEPS} | {"": "before the first step", "end": "at the end"}
PLACES_NAMED = 4
SHOWN_ORDERS = 5
COLLECTED = "Collected"


def progress_words(standing: StudyStatus) -> str:
    """“12 of 40 conversations”, “12 of at most 400 conversations”; without the 40 where it is not known."""
    done = done_words(standing.completed, standing.wanted, standing.deciding)
    return f"{done} {standing.counted} are complete"


def progress_facts(standing: StudyStatus) -> list[Pair]:
    inside = [("Now", f"{inside_words(standing.inside)}.")] if standing.is_alive else []
    return [("Complete", f"{progress_words(standing)}."), ("End", standing.end.words), *inside]


def rater_facts(standing: StudyStatus) -> Iterator[Pair]:
    """What raters did, their time and their pay, and what a judge adds, in a line each; what is not known has no line."""
    if standing.deciding is not None and (judge := standing.deciding.standing.judge) is not None:
        yield "Judge", sentence(judge.said)
    door = standing.door
    if door is not None:
        refused = sum(door.turned_away.values())
        away = f"; {counted(refused, 'visit')} {'was' if refused == 1 else 'were'} turned away" if refused else ""
        yield "Came", f"{door.came:,} came, {door.let_in:,} began, {door.completed:,} finished in this launch{away}."
        if door.waited:
            yield "Waited", f"{counted(door.waited, 'rater')} arrived while the study was full, and waited for a place."
        kinds = sorted(door.turned_away.items(), key=lambda one: -one[1])[:PLACES_NAMED]
        if kinds:
            yield "Turned away", "; ".join(f"{count:,}: {kind.replace('_', ' ')}" for kind, count in kinds)
    yield "Drop-outs", drop_out_words(standing)
    if door is not None and door.left:
        named = []
        for one in door.left[:PLACES_NAMED]:
            of, place = " of the practice" if one.phase == "practice" else "", PLACES.get(one.step, f"at “{one.step}”")
            named.append(f"{one.count:,} {place}{of}")
        yield "Left at", f"{', '.join(named)} (this launch)."
    if standing.practice is not None:
        practice = standing.practice
        ended = practice.passed + practice.failed
        rate = f" ({percent(practice.passed / ended)})" if ended else ""
        open_ = f"; {practice.not_ended:,} left it or are in it" if practice.not_ended else ""
        yield "Practice", f"{practice.passed:,} of {ended:,} passed{rate}{open_}."
    times = {unit: getattr(standing.raters, f"median_{unit}_seconds") for unit in ("turn", "dialogue", "judgement")}
    if known := [f"{seconds_words(seconds)} a {unit}" for unit, seconds in times.items() if seconds is not None]:
        yield "Median time", f"{', '.join(known)}."
    for site in standing.sites:
        yield site.title, site_words(site)
    if standing.site_problem is not None:
        yield "Not asked", sentence(standing.site_problem)
    pay = standing.pay
    if pay is None:
        return
    if pay.per_hour is not None:
        hourly = _money(pay.per_hour, pay.currency)
        yield "Effective pay", f"{hourly} an hour, including practice (median over raters)."
    at_most = "at most " if standing.deciding is not None else ""
    spent = _spent(pay.currency, pay.owed - pay.owed_in_sandbox, pay.paid - pay.paid_in_sandbox, pay.written)
    left = "" if pay.to_spend is None else f"; {at_most}{_money(pay.to_spend, pay.currency)} to spend"
    to_spend = f"{left} for the remaining work" if left else ""
    yield "Money", f"{spent}{to_spend}. Without fees."
    for also in pay.also:
        yield f"In {also.currency}", f"{_spent(also.currency, also.owed, also.paid, also.written)}. Without fees."
    if pay.owed_in_sandbox:
        sandbox = _spent(pay.currency, pay.owed_in_sandbox, pay.paid_in_sandbox, what="")
        yield "In the sandbox", f"{sandbox}. No real money is spent in the sandbox."


def site_words(site: SiteState) -> str:
    """“active: 12 of 20 places taken, 3 at work; 2 returned, 1 timed out; …”, without what there is none of."""
    names = ("approved", "returned", "timed_out", "screened_out", "rejected")
    ends = {name.replace("_", " "): getattr(site, name) for name in names}
    parts = [
        f"{site.status}: {site.taken:,} of {counted(site.places, 'place')} taken, {site.at_work:,} at work",
        ", ".join(f"{count:,} {words}" for words, count in ends.items() if count),
    ]
    if site.waiting:
        first = None if site.approved_by_itself_at is None else datetime.fromtimestamp(site.approved_by_itself_at)
        by_itself = "" if first is None else f" (the first is approved automatically on {first:%-d %B})"
        parts.append(f"{site.waiting:,} wait{'s' if site.waiting == 1 else ''} for approval{by_itself}")
    if site.unread:
        parts.append(counted(site.unread, "unread message"))
    return f"{'; '.join(filter(None, parts))}."


def drop_out_words(standing: StudyStatus) -> str:
    """“2 of 14 left (14 %): 1 after 0 of 6 turns, …”."""
    drop = standing.drop_outs
    if not drop.of:
        return "Nobody has finished or left yet."
    if not drop.left:
        return f"None of {drop.of:,} left."
    places = [f"{one.count:,} after {one.done:,} of {one.whole:,} {one.counted}" for one in drop.after[:PLACES_NAMED]]
    more = len(drop.after) - PLACES_NAMED
    listed = ", ".join([*places, *([f"{counted(more, 'other place')}"] if more > 0 else [])])
    return f"{drop.left:,} of {drop.of:,} left ({percent(drop.left / drop.of)}): {listed}."


def _spent(currency: str, owed: float, paid: float, written: float = 0.0, what: str = " earned") -> str:
    files = f", {_money(written, currency)} written to files" if written else ""
    waits = max(0.0, owed - paid - written)
    return f"{_money(owed, currency)}{what}: {_money(paid, currency)} paid{files}, {_money(waits, currency)} to be paid"


def _money(amount: float, currency: str) -> str:
    return f"{sign_of(currency)}{money_words(amount)}"


def decided_pairs(standing: StudyStatus) -> list[DecidedPair]:
    """Every pair of models in a study that stops once it reaches a decision, as in the report; empty for other studies."""
    if standing.deciding is None:
        return []
    names = {"study": standing.task_name, "technique": standing.technique, "setting": "", "metric": ""}
    return pair_rows(standing.deciding.standing, names)


def decided_warnings(standing: StudyStatus) -> list[str]:
    return [] if standing.deciding is None else [sentence(words) for words in standing.deciding.standing.warnings]


def decided_table(standing: StudyStatus) -> DataTable:
    """The pairs as they stand, and of each open one how many more dialogues of the two are foreseen."""
    table, deciding = pairs_table(decided_pairs(standing), while_it_runs=True), standing.deciding
    if deciding is None or not (foreseen := deciding.pairs_to_go()):
        return table
    to_go = (foreseen.get(frozenset((str(row["model_a"]), str(row["model_b"])))) for row in table.rows)
    rows = tuple(
        {**row, "to_go": "" if pair is None else str(pair)} for row, pair in zip(table.rows, to_go, strict=True)
    )
    place = 1 + [column.key for column in table.columns].index("state")
    column = TableColumn(key="to_go", label="More dialogues of the two")
    columns = (*table.columns[:place], column, *table.columns[place:])
    return table.model_copy(update={"columns": columns, "rows": rows, "notes": (*table.notes, WORDS["foreseen"])})


def decided_figures(standing: StudyStatus) -> list[IntervalFigure]:
    """The same as a picture; none before two models have met."""
    deciding = standing.deciding
    return [] if deciding is None else pairs_figures("decided", decided_pairs(standing), deciding.margin)


def answer_table(answer: Answer) -> DataTable:
    """The report's table of pairs, with the p that allows for looks, where there is one."""
    table = table_of_pairs(answer.summary)
    if not answer.looked_at:
        return table
    by_pair = {(one.first, one.second): one.p for one in answer.looked_at}
    values = [by_pair.get((pair.first, pair.second)) for pair in answer.summary.pairs]
    rows = tuple({**row, "p_looks": p} for row, p in zip(table.rows, values, strict=True))
    column = TableColumn(key="p_looks", label="p allowing for looks", kind="p")
    place = next((place for place, known in enumerate(table.columns) if known.kind == "p"), len(table.columns))
    columns = (*table.columns[:place], column, *table.columns[place:])
    return table.model_copy(update={"columns": columns, "rows": rows})


def _table(key: str, title: str, columns: Sequence[str], rows: Iterable[dict[str, Cell]], *notes: str) -> DataTable:
    """``columns``: “key Label”, with the kind after a colon where it is not text."""
    made = []
    for column in columns:
        name, _, rest = column.partition(" ")
        label, _, kind = rest.partition(":")
        made.append(TableColumn.model_validate({"key": name, "label": label, **({"kind": kind} if kind else {})}))
    return DataTable(key=key, title=title, columns=tuple(made), rows=tuple(rows), notes=notes)


def groups_table(groups: Sequence[GroupStatus], *, open_ended: bool = False) -> DataTable:
    """Collected and wanted amounts. ``open_ended``: as many are as it takes."""
    asked = {group_words(group) for group in groups}
    columns = [
        f"models {'Pair' if all(len(group.models) == 2 for group in groups) else 'Models'}",
        *(["of Of"] if len(asked) > 1 else []),
        "completed Complete:count",
        *([] if open_ended else ["wanted Target:count"]),
        *("running Running:count", "stopped Stopped"),
    ]
    names = ("completed", "wanted", "running", "stopped")
    rows: Iterator[dict[str, Cell]] = (
        {
            "models": " vs ".join(group.models),
            "of": group_words(group),
            **{name: getattr(group, name) for name in names},
        }
        for group in groups
    )
    return _table("groups", f"{COLLECTED}: {asked.pop()}" if len(asked) == 1 else COLLECTED, columns, rows)


def group_words(group: GroupStatus) -> str:
    return ", ".join(filter(None, (group.metric, group.setting)))


def inside_table(standing: StudyStatus) -> DataTable:
    rows: list[dict[str, Cell]] = [
        {
            "worker": f"{one.worker}{' (simulated)' if one.simulated else ''}",
            "where": _where(one),
            "step": f"{STEPS.get(one.step, one.step)}{'' if one.here else ', page closed'}",
            "since": ago(standing.at - (one.step_since or one.since)),
        }
        for one in sorted(standing.inside, key=lambda one: one.step_since or one.since)
    ]
    columns = ("worker Rater", "where Where", "step Now", "since For")
    return _table("inside", f"{counted(len(rows), 'rater')} active", columns, rows)


def _where(inside: Inside) -> str:
    unit = "practice" if inside.phase == "practice" else inside.unit or "task"
    if inside.part is None:
        return unit
    return f"{unit} {inside.part}" if inside.parts is None else f"{unit} {inside.part} of {inside.parts}"


def models_table(standing: StudyStatus) -> DataTable:
    figures = ("model", "replies", "median_s", "p95_s", "retries", "errors")
    rows: list[dict[str, Cell]] = []
    for one in standing.models:
        out = "" if one.outage_since is None else f"down for {ago(standing.at - one.outage_since)}"
        rows.append({**{name: getattr(one, name) for name in figures}, "state": "retired" if one.retired else out})
    columns = ["model Model", "replies Replies:count", "median_s Median:seconds", "p95_s 95 % within:seconds"]
    columns += ["retries Asked again:count", "errors Errors:count", "state State"]
    return _table("models", "Models in the newest launch", columns, rows)


def checks_table(standing: StudyStatus) -> DataTable:
    rows: Iterator[dict[str, Cell]] = (
        {
            "check": one.check,
            "units": f"{one.units:,} of {one.of_units:,}",
            "workers": f"{one.workers:,} of {one.of_workers:,}",
        }
        for one in standing.checks
    )
    note = "Answers that fail a check still count unless you exclude them with report --exclude."
    return _table("checks", "Checks that fail", ("check Check", "units Failed in", "workers By raters"), rows, note)


def orders_words(standing: StudyStatus) -> list[str]:
    newest = standing.orders[: -SHOWN_ORDERS - 1 : -1]
    return [f"{ago(standing.at - one.at)} ago, {one.kind.replace('_', ' ')}: {one.text}" for one in newest]


def cost_of_more(standing: StudyStatus) -> str:
    pay = standing.pay
    paid = "" if pay is None else f" An assignment pays {_money(pay.reward, pay.currency)}, excluding fees."
    return f"This many more {standing.counted} are collected for every pair (group) that is not stopped.{paid}"


def line(standing: StudyStatus) -> str:
    """The study in one plain line, for a log: the launch's own, and when it will be done."""
    now = datetime.fromtimestamp(standing.at).strftime("%Y-%m-%d %H:%M:%S")
    if not standing.is_alive or standing.door is None or standing.wanted is None:
        decided = "" if standing.deciding is None else f"{sentence(str(standing.deciding))} "
        return f"{now}  {progress_words(standing)}. {decided}{standing.state_words}"
    launch = one_line(
        standing.completed,
        standing.wanted,
        standing.counted,
        inside=standing.inside,
        door=standing.door,
        models=standing.models,
        is_paused=standing.state == "paused",
        deciding=standing.deciding,
    )
    return f"{now}  {launch}. End: {standing.end.words}"
