"""``parlai-humaneval pay``: amounts owed to raters, and their payment, exactly once."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mephisto_tasks.cli.options import LONGEST, READING, confirm, console, described, waiting_for
from mephisto_tasks.storage.provider_names import CrowdError
from parlai_humaneval._util.errors import Problem
from parlai_humaneval._util.terminal import say_json
from parlai_humaneval._util.text import csv_text, on_one_line
from parlai_humaneval.cli.errors import BadValue, CommandError, WrongUsage
from parlai_humaneval.statistics.core.formatting import counted, sentence

if TYPE_CHECKING:
    from mephisto_tasks.crowds.send_payments import Answer
    from mephisto_tasks.payments.ledger import Payment
    from mephisto_tasks.payments.statement import Books, WorkerPay


def amount(value: str) -> Decimal:
    try:
        number = Decimal(value)
    except InvalidOperation as error:
        raise BadValue(f"{value!r} is not an amount of money", try_="write 8 or 8.50") from error
    if not number.is_finite() or not 0 <= number <= 1000 or number != round(number, 2):
        raise BadValue(f"{value} is not between 0 and 1000, in whole cents")
    return number


@described(
    "pay",
    practice={"type": amount},
    minimum={"type": amount},
    by_hand={"type": (click.Choice(["paid", "unpaid"]), str)},
)
def pay(
    task_name: str,
    partial: str | None,
    practice: Decimal | None,
    minimum: Decimal | None,
    withhold: tuple[str, ...],
    sending: bool,
    yes: bool,
    settled: tuple[str, ...],
    submissions: str | None,
    by_hand: tuple[tuple[Answer, str], ...],
    reject_file: str | None,
    auditing: bool,
    csv_file: str | None,
    data_dir: Path,
    as_json: bool,
) -> None:
    from mephisto_tasks.crowds.registry import crowd_of, offered, payer_of
    from mephisto_tasks.crowds.send_payments import settle, settle_by_hand
    from mephisto_tasks.payments.ledger import only_payer
    from mephisto_tasks.payments.statement import WorkerPay, open_books, terms_of
    from mephisto_tasks.storage.logs import note_written

    if sending + auditing + bool(settled) + bool(by_hand) + bool(reject_file) > 1:
        raise WrongUsage("choose one of --send, --settled, --by-hand, --reject and --audit")
    if csv_file is not None and not Path(csv_file).absolute().parent.is_dir():
        raise BadValue(f"there is no folder {Path(csv_file).parent}", option="--csv")
    refused = False
    if submissions is not None:
        offered(lambda crowd: crowd.submissions(data_dir, task_name)).note(Path(submissions))
    terms = terms_of(data_dir, task_name, partial=partial, practice=practice, minimum=minimum)

    def open_now() -> Books:
        with waiting_for(READING, on_screens_only=True):
            noting = bool(settled or by_hand)
            return open_books(data_dir, task_name, terms, payer_of, withhold, without_sites=noting)

    if settled:
        with only_payer(data_dir, task_name):
            settle(data_dir, open_now(), settled)
        books = open_now()
    elif by_hand:
        with only_payer(data_dir, task_name):
            settle_by_hand(data_dir, open_now(), by_hand)
        books = open_now()
    elif sending:
        with only_payer(data_dir, task_name):
            proposed = open_now()
            books = _sent(data_dir, proposed, yes, as_json)
            refused = books.refused_of(proposed)
    elif reject_file is not None:
        with only_payer(data_dir, task_name):
            _reject(open_now(), Path(reject_file), yes)
        return
    else:
        books = open_now()
    if auditing:
        _show_audit(books, as_json)
        return
    if csv_file is not None:
        path = Path(csv_file)
        rows = [[*line.model_dump().values(), line.hourly] for line in books.workers]
        path.write_text(csv_text([*WorkerPay.model_fields, "hourly"], rows), encoding="utf-8")
        click.echo(f"{path}: {len(rows)} workers", err=True)
        note_written(data_dir, [task_name], "table", [Path(csv_file)])
    if as_json:
        say_json(as_data(books))
    else:
        if not sending:
            show(books)
            if books.to_send:
                click.echo(f"Proposed: {total_in_words(books, books.to_send)}. Nothing is sent without --send.")
        show_remaining(books)
    # A crowd that has closed never answers again, and what it owes remains.
    not_asked = bool(books.remaining or books.in_between) and any(
        one.not_asked and crowd_of(one.payer.account.partition(":")[0]).status() is None for one in books.accounts
    )
    if refused or not_asked:  # all else was sent; a script that runs this learns that somebody must look
        raise SystemExit(1)


def _sent(data_dir: Path, books: Books, yes: bool, as_json: bool) -> Books:
    from mephisto_tasks.crowds.send_payments import send
    from mephisto_tasks.payments.ledger import Ledger

    if not as_json:
        show(books)
    if books.to_send and not yes:
        if not sys.stdin.isatty():
            raise CommandError("nothing was sent: this is not a terminal", try_="check the table, and add --yes")
        click.confirm(f"Send {total_in_words(books, books.to_send)}?", abort=True, err=True)
    with click.progressbar(length=len(books.to_send), label="Paying", file=sys.stderr) as bar:
        finished: set[str] = set()

        def step(payment: Payment, state: str) -> None:
            if state not in ("intended", "sent") and payment.token not in finished:
                finished.add(payment.token)
                bar.update(1)

        send(data_dir, books, step)
    payments = Ledger(data_dir, books.task_name).payments()
    click.echo(sent_in_words(books, payments), err=as_json)
    return books.after_sending(payments)


def _reject(books: Books, path: Path, yes: bool) -> None:
    from mephisto_tasks.payments.ledger import Rejects, read_rejections

    rejections = read_rejections(path)
    payers = [account.payer for account in books.accounts if isinstance(account.payer, Rejects)]
    if not payers:
        raise CommandError("no rater of this task came from a site where this command can reject work")
    # With several accounts, each line is for the one that knows it.
    found = [(one, [payer.problems([one]) for payer in payers]) for one in rejections]
    problems = [min(said, key=len)[0] for _, said in found if all(said)]
    if problems:
        raise CommandError([Problem(problem, try_=(f"correct {path}, and run this again",)) for problem in problems])
    many = counted(len(rejections), "submission")
    confirm(yes, why=f"rejecting {many} means that {'it is' if len(rejections) == 1 else 'they are'} not paid, and ")
    for done, (one, said) in enumerate(found):
        try:
            next(payer for payer, wrong in zip(payers, said, strict=True) if not wrong).reject(one)
        except CrowdError as error:
            before = Problem(f"{done} of {len(found)} were rejected before the failure")
            raise CommandError([*error.problems, before]) from error
    click.echo(f"Rejected: {len(found)} of {len(found)}.")


def sent_in_words(books: Books, payments: list[Payment]) -> str:
    """The outcome of the proposed payments, by the ledger's ``payments``."""
    from mephisto_tasks.payments.ledger import SETTLED

    if not books.to_send:
        return "There is nothing to send."
    proposed = {payment.token for payment in books.to_send}
    ours = [payment for payment in payments if payment.token in proposed and payment.state in SETTLED]
    sent = [payment for payment in ours if not payment.is_unconfirmed]
    left = len(proposed) - len(sent)
    not_sent = f" Not sent: {left} of {len(proposed)}, for the reasons below." if left else ""
    written = [payment for payment in sent if payment.state == "written"]
    by_file = "".join(f"\nWritten {where}" for where in sorted({payment.words for payment in written}))
    done = "Written to a file for you to send" if len(written) == len(sent) else "Sent"
    return (f"{done}: {total_in_words(books, sent)}." if sent else "Nothing was sent.") + not_sent + by_file


def total_in_words(books: Books, payments: list[Payment]) -> str:
    """“12 approvals ($30.00) and 3 bonuses ($1.25), $6.25 of fees: $37.50 in all”; of each currency, with a semicolon."""
    from mephisto_tasks.payments.policy import money
    from mephisto_tasks.payments.statement import sums

    totals, fees, said = sums(payments), books.fees_of(payments), []
    for currency, total in totals.items():
        parts = []
        for kind, several in (("approval", "approvals"), ("bonus", "bonuses")):
            amounts = [payment.amount for payment in payments if (payment.kind, payment.currency) == (kind, currency)]
            if amounts:
                of_kind = money(sum(amounts, Decimal(0)), currency)
                parts.append(f"{len(amounts)} {kind if len(amounts) == 1 else several} ({of_kind})")
        fee = fees.get(currency, Decimal("0.00"))
        in_all = f"{money(fee, currency)} of fees: {money(total + fee, currency)} in all"
        said.append(f"{' and '.join(parts)}, {in_all}")
    return "; ".join(said)


def as_data(books: Books) -> dict[str, Any]:
    """The books for programs; amounts are texts, as JSON knows no cents."""
    return {
        "task_name": books.task_name,
        "terms": books.terms.model_dump(mode="json"),
        "currencies": books.currencies,
        "workers": [{**line.model_dump(mode="json"), "hourly": _text(line.hourly)} for line in books.workers],
        "median_hourly": _only(books.hourly, books.currencies, None),
        "median_hourly_in": _texts(books.hourly),
        "to_send": [_shown(payment) for payment in books.to_send],
        "fees": _only(books.fees_of(books.to_send), books.currencies, "0.00"),
        "fees_in": _texts(books.fees_of(books.to_send)),
        "remaining": [
            {
                "worker": one.worker,
                "unit": one.owed.due.work.session,
                "amount": str(one.amount),
                "currency": one.owed.due.currency,
                "why": one.why,
            }
            for one in books.remaining
        ],
        "ledger": [_shown(payment) for payment in books.payments],
        "notes": books.notes,
    }


def _shown(payment: Payment) -> dict[str, Any]:
    return payment.model_dump(mode="json", exclude={"worker_id", "agent_id"})


def _text(amount: Decimal | None) -> str | None:
    return None if amount is None else str(amount)


def _texts(amounts: Mapping[str, Decimal]) -> dict[str, str]:
    return {currency: str(amount) for currency, amount in amounts.items()}


def _only(amounts: Mapping[str, Decimal], currencies: Sequence[str], nothing: str | None) -> str | None:
    """The amount of a study in one currency; of several there is no sum."""
    return _text(amounts.get(currencies[0])) or nothing if len(currencies) == 1 else None


def show(books: Books) -> None:
    """The table of raters, what is proposed, and what one should know before it is sent."""
    if books.workers:
        from rich.table import Table

        from mephisto_tasks.payments.statement import in_words

        lines = [{"rater": line.worker, **_cells(line)} for line in books.workers]
        shown = [name for name in lines[0] if name not in SELDOM or any(cells[name] for cells in lines)]
        table = Table(box=None, padding=(0, 2, 0, 0))
        for name in shown:
            # A pseudonym is to be copied, so that the rest gives way.
            is_name = name == "rater"
            width = max(len(cells[name]) for cells in lines) if is_name else None
            table.add_column(name, justify="left" if is_name else "right", min_width=width)
        for cells in lines:
            table.add_row(*(cells[name] for name in shown))
        console().print(table)
        if books.hourly:
            click.echo(
                f"Effective pay: {in_words(books.hourly)} an hour (median over raters, including their practice)."
            )
    else:
        click.echo(f"Task {books.task_name!r} has no work to pay for.")
    for account in books.accounts:
        if account.resumed:
            begun = counted(len(account.resumed), "payment")
            click.echo(f"Payments from an earlier run whose outcome is unknown: {begun}. --send checks them first.")
        for payment in account.to_send:
            click.echo(f"  {payment.kind:<8}  {payment.money:>8}  {payment.worker}  {payment.why}")
    for note in books.notes:
        click.echo(f"{note}.")


SELDOM = ("partial", "stopped", "at work", "practice", "written")  # Columns that are shown where they hold something


def _cells(line: WorkerPay) -> dict[str, str]:
    counts = {"complete": line.complete, "partial": line.partial, "stopped": line.stopped, "at work": line.running}
    return {
        **{name: str(count) if count else "" for name, count in counts.items()},
        "practice": "only" if line.practice_only else "",
        "minutes": f"{line.seconds / 60:.1f}",
        "due": line.money(line.due),
        "paid": line.money(line.paid),
        "written": line.money(line.written) if line.written else "",
        "an hour": "" if line.hourly is None else line.money(line.hourly),
    }


def show_remaining(books: Books) -> None:
    for payment in books.payments:
        if payment.words and payment.state in ("failed", "intended", "sent"):
            said = "Refused" if payment.state == "failed" else "Uncertain"
            words = on_one_line(payment.words, LONGEST)
            click.echo(f"{said}: {payment.kind} of {payment.money} to {payment.worker}: {words}")
    for payment in books.in_between:
        said = f" ({on_one_line(payment.words, LONGEST)})" if payment.words else ""
        until = f"{datetime.fromtimestamp(payment.listed_by):%H:%M}" if payment.listed_by else ""
        unpaid = f"if it was not paid, run this again after {until}" if until else f"--by-hand unpaid {payment.token}"
        click.echo(
            f"Unknown: {payment.kind} of {payment.money} to {payment.worker}{said}. A run ended while it was sending "
            "this payment, which is not sent again. Check on the crowd's site whether it was paid, and record the result: "
            f"--by-hand paid {payment.token}, or {unpaid}"
        )
    for one in books.remaining:
        click.echo(f"Still owed: {one.money} to {one.worker} ({one.owed.due.why}): {one.why}.")
    written = sorted({payment.words for payment in books.payments if payment.state == "written"})
    for where in written:
        file = on_one_line(where, LONGEST) or "a file"
        click.echo(f"Payments written to {file}. Pay raters by hand, and record each payment with --settled PSEUDONYM.")
    for clause in books.not_asked:
        click.echo(sentence(clause))
    if not (books.remaining or books.to_send or books.in_between or books.not_asked or written):
        click.echo("Nothing is left to pay.")


def _show_audit(books: Books, as_json: bool) -> None:
    from mephisto_tasks.payments.statement import in_words, sums

    differences = []
    for account in books.accounts:
        try:
            paid_by_it = [payment for payment in books.payments if payment.account == account.payer.account]
            differences += account.payer.audit(paid_by_it)
        except CrowdError as error:
            differences.append(str(error))
    paid = sums(payment for payment in books.payments if payment.state != "failed")
    nothing = {books.currencies[0]: Decimal("0.00")}
    if as_json:
        total = _only(paid, list(paid or nothing), "0.00")
        say_json({"ledger_total": total, "ledger_total_in": _texts(paid), "differences": differences})
    else:
        for difference in differences:
            click.echo(f"{difference}.")
        if not differences:
            known = sorted({account.payer.witness for account in books.accounts})
            witnesses = " and ".join(known) or "the crowd's site"
            click.echo(
                f"The ledger ({counted(len(books.payments), 'payment')}, {in_words(paid or nothing)}) and {witnesses} agree."
            )
    if differences:
        raise SystemExit(1)
