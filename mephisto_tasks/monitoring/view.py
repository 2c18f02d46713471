"""A standing in words and tables: the same ones on the terminal and on the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from mephisto_tasks.control.snapshot import GroupStatus, Inside, done_words, inside_words, one_line
from mephisto_tasks.crowds.base import SiteState
from mephisto_tasks.monitoring.observe import ago
from mephisto_tasks.monitoring.status import Answer, StudyStatus
from mephisto_tasks.payments.quote import sign_of
from parlai_humaneval.report.sections.stopping import DecidedPair, pair_rows, pairs_figures, pairs_table
from parlai_humaneval.report.summary import pairs_table as table_of_pairs
from parlai_humaneval.report.views import Cell, DataTable, IntervalFigure, TableColumn
from parlai_humaneval.statistics.core.formatting import counted, money_words, percent, seconds_words, sentence

Pair = tuple[str, str]
"""A label and what it says."""

STEPS = {
    "": "has just come",
    "message": "writes a message",
    "write": "writes a better reply",
    "choose": "chooses a reply",
    "tick": "ticks what applies",
    "rate": "rates",
    "form": "answers questions",
    "rank": "ranks replies",
    "topic": "picks a topic",
    "feedback": "gives feedback",
    "wait": "waits for a reply",
    "end": "has reached the end",
}
PLACES = {"": "before the first step", "end": "at the end"} | {
    step: f"at “{step}”" for step in STEPS if step not in ("", "end")
}
PLACES_NAMED = 4
SHOWN_ORDERS = 5
COLLECTED = "Collected"


def progress_words(standing: StudyStatus) -> str:
    """“12 of 40 conversations”, “12 of at most 400 conversations”; without the 40 where it is not known."""
    done = done_words(standing.completed, standing.wanted, standing.deciding)
    return f"{done} {standing.counted} are complete"


def progress_facts(standing: StudyStatus) -> list[Pair]:
    """What is looked at first, in a line each."""
    inside = [("Now", f"{inside_words(standing.inside)}.")] if standing.is_alive else []
    return [("Complete", f"{progress_words(standing)}."), ("End", standing.end.words), *inside]


def rater_facts(standing: StudyStatus) -> list[Pair]:
    """What raters did, their time and their pay, in a line each; what is not known has no line."""
    return list(_rater_facts(standing))


def _rater_facts(standing: StudyStatus) -> Iterator[Pair]:
    door = standing.door
    if door is not None:
        refused = sum(door.turned_away.values())
        away = f"; {counted(refused, 'visit')} {'was' if refused == 1 else 'were'} turned away" if refused else ""
        yield "Came", f"{door.came:,} came, {door.let_in:,} began, {door.completed:,} finished in this launch{away}."
        if door.waited:
            yield "Waited", f"{counted(door.waited, 'worker')} came while the study was full, and waited for a place."
        kinds = sorted(door.turned_away.items(), key=lambda one: -one[1])[:PLACES_NAMED]
        if kinds:
            yield "Turned away", "; ".join(f"{count:,}: {kind.replace('_', ' ')}" for kind, count in kinds)
    yield "Drop-outs", drop_out_words(standing)
    if door is not None and door.left:
        named = [f"{place.count:,} {_place(place.step, place.phase)}" for place in door.left[:PLACES_NAMED]]
        yield "Left at", f"{', '.join(named)} (this launch)."
    if standing.practice is not None:
        practice = standing.practice
        ended = practice.passed + practice.failed
        rate = f" ({percent(practice.passed / ended)})" if ended else ""
        open_ = f"; {practice.not_ended:,} left it or are in it" if practice.not_ended else ""
        yield "Practice", f"{practice.passed:,} of {ended:,} passed{rate}{open_}."
    if times := times_words(standing):
        yield "Median time", times
    for site in standing.sites:
        yield site.title, site_words(site)
    if standing.site_problem is not None:
        yield "Not asked", sentence(standing.site_problem)
    yield from _pay_words(standing)


def site_words(site: SiteState) -> str:
    """“active: 12 of 20 places taken, 3 at work; 2 returned, 1 timed out; …”, without what there is none of."""
    ends = {
        "approved": site.approved,
        "returned": site.returned,
        "timed out": site.timed_out,
        "screened out": site.screened_out,
        "rejected": site.rejected,
    }
    parts = [
        f"{site.status}: {site.taken:,} of {counted(site.places, 'place')} taken, {site.at_work:,} at work",
        ", ".join(f"{count:,} {words}" for words, count in ends.items() if count),
    ]
    if site.waiting:
        first = site.approved_by_itself_at
        by_itself = (
            "" if first is None else f" (the first is approved by itself on {datetime.fromtimestamp(first):%-d %B})"
        )
        parts.append(f"{site.waiting:,} wait{'s' if site.waiting == 1 else ''} for approval{by_itself}")
    if site.unread:
        parts.append(counted(site.unread, "unread message"))
    return f"{'; '.join(filter(None, parts))}."


def drop_out_words(standing: StudyStatus) -> str:
    """“2 of 14 left (14 %): 1 after 0 of 6 turns, …”."""
    drop = standing.drop_outs
    if not drop.of:
        return "Nobody has ended or left yet."
    if not drop.left:
        return f"None of {drop.of:,} left."
    places = [f"{one.count:,} after {one.done:,} of {one.whole:,} {one.counted}" for one in drop.after[:PLACES_NAMED]]
    more = len(drop.after) - PLACES_NAMED
    listed = ", ".join([*places, *([f"{counted(more, 'other place')}"] if more > 0 else [])])
    return f"{drop.left:,} of {drop.of:,} left ({percent(drop.left / drop.of)}): {listed}."


def _place(step: str, phase: str) -> str:
    where = PLACES.get(step, f"at “{step}”")
    return f"{where} of the practice" if phase == "practice" else where


def times_words(standing: StudyStatus) -> str:
    """“34 s a turn, 5 min 10 s a dialogue”; empty where no time is known."""
    raters = standing.raters
    times = (
        (raters.median_turn_seconds, "turn"),
        (raters.median_dialogue_seconds, "dialogue"),
        (raters.median_judgement_seconds, "judgement"),
    )
    known = [f"{seconds_words(seconds)} a {unit}" for seconds, unit in times if seconds is not None]
    return f"{', '.join(known)}." if known else ""


def _pay_words(standing: StudyStatus) -> Iterator[Pair]:
    pay = standing.pay
    if pay is None:
        return
    if pay.per_hour is not None:
        hourly = _money(pay.per_hour, pay.currency)
        yield "Effective pay", f"{hourly} an hour, practice included (median over workers)."
    at_most = "at most " if standing.deciding is not None else ""
    spent = _spent(pay.currency, pay.owed - pay.owed_in_sandbox, pay.paid - pay.paid_in_sandbox, pay.written)
    to_spend = ""
    if pay.to_spend is not None:
        to_spend = f"; {at_most}{_money(pay.to_spend, pay.currency)} to spend for what is still to be done"
    yield "Money", f"{spent}{to_spend}. Without fees."
    for one in pay.also:
        yield f"In {one.currency}", f"{_spent(one.currency, one.owed, one.paid, one.written)}. Without fees."
    if pay.owed_in_sandbox:
        sandbox = _spent(pay.currency, pay.owed_in_sandbox, pay.paid_in_sandbox, what="")
        yield "In the sandbox", f"{sandbox}. No real money is spent there."


def _spent(currency: str, owed: float, paid: float, written: float = 0.0, what: str = " earned") -> str:
    files = f", {_money(written, currency)} written into files" if written else ""
    waits = max(0.0, owed - paid - written)
    return f"{_money(owed, currency)}{what}: {_money(paid, currency)} paid{files}, {_money(waits, currency)} to be paid"


def _money(amount: float, currency: str) -> str:
    return f"{sign_of(currency)}{money_words(amount)}"


def decided_pairs(standing: StudyStatus) -> list[DecidedPair]:
    """Of a study that ends when it is decided: each two models, as the report's section has them; of another, none."""
    if standing.deciding is None:
        return []
    names = {"study": standing.task_name, "technique": standing.technique, "setting": "", "metric": ""}
    return pair_rows(standing.deciding.standing, names)


def decided_warnings(standing: StudyStatus) -> list[str]:
    """What speaks against trusting what is decided."""
    return [] if standing.deciding is None else [sentence(words) for words in standing.deciding.standing.warnings]


def decided_table(standing: StudyStatus) -> DataTable:
    """What is decided of each pair, and what its dialogues say, with intervals that hold at all times."""
    return pairs_table(decided_pairs(standing), while_it_runs=True)


def decided_figures(standing: StudyStatus) -> list[IntervalFigure]:
    """The same as a picture; none before two models have met."""
    deciding = standing.deciding
    return [] if deciding is None else pairs_figures("decided", decided_pairs(standing), deciding.margin)


def answer_table(answer: Answer) -> DataTable:
    """The report's table of pairs, and beside it the p that allows for looks, where there is one."""
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


def groups_table(groups: Sequence[GroupStatus], *, open_ended: bool = False) -> DataTable:
    """What is collected of what is wanted; the question and the setting stand above where all groups have the same.

    ``open_ended``: as many are as it takes.
    """
    asked = {_of(group) for group in groups}
    columns = (
        TableColumn(key="models", label="Pair" if all(len(group.models) == 2 for group in groups) else "Models"),
        *([TableColumn(key="of", label="Of")] if len(asked) > 1 else []),
        TableColumn(key="completed", label="Complete", kind="count"),
        *([] if open_ended else [TableColumn(key="wanted", label="Target", kind="count")]),
        TableColumn(key="running", label="Running", kind="count"),
        TableColumn(key="stopped", label="Stopped"),
    )
    rows: list[dict[str, Cell]] = [
        {
            "models": " vs ".join(group.models),
            "of": _of(group),
            "completed": group.completed,
            "wanted": group.wanted,
            "running": group.running,
            "stopped": group.stopped,
        }
        for group in groups
    ]
    title = f"{COLLECTED}: {asked.pop()}" if len(asked) == 1 else COLLECTED
    return DataTable(key="groups", title=title, columns=columns, rows=tuple(rows))


def _of(group: GroupStatus) -> str:
    return ", ".join(filter(None, (group.metric, group.setting)))


def inside_table(standing: StudyStatus) -> DataTable:
    """Who is in now and at which step, longest at it first."""
    columns = (
        TableColumn(key="worker", label="Worker"),
        TableColumn(key="where", label="Where"),
        TableColumn(key="step", label="Now"),
        TableColumn(key="since", label="For"),
    )
    rows: list[dict[str, Cell]] = [
        {
            "worker": f"{one.worker}{' (simulated)' if one.simulated else ''}",
            "where": _where(one),
            "step": f"{STEPS.get(one.step, one.step)}{'' if one.here else ', page closed'}",
            "since": ago(standing.at - (one.step_since or one.since)),
        }
        for one in sorted(standing.inside, key=lambda one: one.step_since or one.since)
    ]
    return DataTable(key="inside", title=f"{counted(len(rows), 'worker')} inside", columns=columns, rows=tuple(rows))


def _where(inside: Inside) -> str:
    unit = "practice" if inside.phase == "practice" else inside.unit or "task"
    if inside.part is None:
        return unit
    return f"{unit} {inside.part}" if inside.parts is None else f"{unit} {inside.part} of {inside.parts}"


def models_table(standing: StudyStatus) -> DataTable:
    """How models answer, in the newest launch."""
    columns = (
        TableColumn(key="model", label="Model"),
        TableColumn(key="replies", label="Replies", kind="count"),
        TableColumn(key="median_s", label="Median", kind="seconds"),
        TableColumn(key="p95_s", label="95 % within", kind="seconds"),
        TableColumn(key="retries", label="Asked again", kind="count"),
        TableColumn(key="errors", label="Errors", kind="count"),
        TableColumn(key="state", label="State"),
    )
    rows: list[dict[str, Cell]] = [
        {
            **{column.key: getattr(one, column.key) for column in columns[:-1]},
            "state": "retired"
            if one.retired
            else f"out for {ago(standing.at - one.outage_since)}"
            if one.outage_since is not None
            else "",
        }
        for one in standing.models
    ]
    return DataTable(key="models", title="Models in the newest launch", columns=columns, rows=tuple(rows))


def checks_table(standing: StudyStatus) -> DataTable:
    columns = (
        TableColumn(key="check", label="Check"),
        TableColumn(key="units", label="Failed in"),
        TableColumn(key="workers", label="By workers"),
    )
    rows: list[dict[str, Cell]] = [
        {
            "check": check.check,
            "units": f"{check.units:,} of {check.of_units:,}",
            "workers": f"{check.workers:,} of {check.of_workers:,}",
        }
        for check in standing.checks
    ]
    note = "They count all the same; report --exclude leaves them out."
    return DataTable(key="checks", title="Checks that fail", columns=columns, rows=tuple(rows), notes=(note,))


def orders_words(standing: StudyStatus) -> list[str]:
    """The newest orders and what became of them, newest first."""
    newest = standing.orders[: -SHOWN_ORDERS - 1 : -1]
    return [f"{ago(standing.at - one.at)} ago, {one.kind.replace('_', ' ')}: {one.text}" for one in newest]


def cost_of_more(standing: StudyStatus) -> str:
    """What is to be known before more are ordered."""
    pay = standing.pay
    paid = "" if pay is None else f" A unit of work is paid {_money(pay.reward, pay.currency)}, without fees."
    return f"So many more {standing.counted} of every pair (group) that is not stopped are collected.{paid}"


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
