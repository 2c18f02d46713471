"""What a launch on Prolific can cost, by Prolific's own calculator, and whether pay, balance and people suffice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from mephisto_tasks.config.errors import ConfigError
from mephisto_tasks.crowds.prolific.client import Prolific
from mephisto_tasks.crowds.prolific.errors import ProlificError, asking
from mephisto_tasks.crowds.prolific.requirements import Filter
from mephisto_tasks.crowds.prolific.store import PROVIDER
from mephisto_tasks.payments.quote import Quote, QuoteLine, money
from parlai_humaneval.statistics.core.formatting import counted, sentence

FEW = 25
"""Prolific counts fewer people as none."""
ADDS_MONEY = "top up the workspace in Prolific's web app, or ask for less; nothing was made"


@dataclass(frozen=True)
class Workspace:
    """Who pays, and what is left. ``available``: in cents."""

    id: str
    project: str
    currency: str
    available: int


@dataclass(frozen=True)
class Asked:
    """What a launch asks for, in cents. ``open_first``: places at first. ``draft``: nothing is published.

    ``set_aside``: of the balance, for places of the same study that nobody has taken.
    """

    units: int
    reward: int
    minutes: int
    screen_out: tuple[int, int] | None = None
    bonus_budget: int = 0
    open_first: int = 0
    draft: bool = False
    set_aside: int = 0


def find_workspace(client: Prolific, workspace: str, project: str, currency: str) -> Workspace:
    """That of the settings, or the only one.

    Raises:
        ConfigError: there are several, none, or it pays in another currency; ProlificError.
    """
    with asking("look at the workspace"):
        known = {str(one["id"]): str(one.get("title") or "") for one in client.pages("workspaces/")}
        if workspace and workspace not in known:
            raise ConfigError(f"the account has no workspace {workspace}", where="workspace", try_=_choose(known))
        if not workspace and len(known) != 1:
            raise ConfigError(f"the account has {len(known)} workspaces", where="workspace", try_=_choose(known))
        workspace = workspace or next(iter(known))
        projects = {
            str(one["id"]): str(one.get("title") or "") for one in client.pages(f"workspaces/{workspace}/projects/")
        }
        if project and project not in projects:
            raise ConfigError(f"the workspace has no project {project}", where="project", try_=_choose(projects))
        if not projects:
            raise ConfigError("the workspace has no project", where="project", try_="make one in Prolific's web app")
        balance = client.get(f"workspaces/{workspace}/balance/")
    pays_in = str(balance["currency_code"]).upper()
    if pays_in != currency:
        raise ConfigError(
            f"the workspace pays in {pays_in}, and task_reward is in {currency}",
            where="currency",
            try_=f"set currency={pays_in}, and all amounts accordingly",
        )
    return Workspace(workspace, project or next(iter(projects)), pays_in, int(balance["available_balance"]))


def _choose(known: dict[str, str]) -> str:
    listed = ", ".join(f"{one} ({title})" for one, title in sorted(known.items())[:10])
    return f"choose one: {listed}" if listed else "make one in Prolific's web app"


def quote_of(
    client: Prolific,
    workspace: Workspace,
    account: str,
    asked: Asked,
    filters: Sequence[Filter] | None,
    fee: Decimal | None,
) -> Quote:
    """The sum, and what stands against it. Nothing is made.

    ``filters``: None: it was looked at before who may take part. ``fee``: Prolific's share, as a former study of the
    workspace had it, so that VAT stands by itself. Raises ProlificError.
    """
    parts = _parts(asked)
    totals = [_calculated(client, amount, number) for _, _, amount, number in parts]
    lines, rewards_fee = _lines(parts, totals, fee, workspace.currency)
    total, one = sum(totals), totals[0] / max(1, asked.units)
    available = workspace.available + asked.set_aside
    eligible = None if filters is None else _eligible(client, workspace, filters)
    least, advised = _floor(client, workspace)
    hourly = asked.reward * 60 / asked.minutes

    def said(cents: float) -> str:
        return money(_major(round(cents)), workspace.currency)

    refusals, advice, remarks = [], [], []
    if hourly < least:
        enough = _major(math.ceil(least * asked.minutes / 60))
        refusals.append(f"{said(hourly)} an hour is less than the {said(least)} that Prolific demands at least")
        advice.append(
            f"set task_reward={enough:.2f} for {counted(asked.minutes, 'minute')}, or minutes=… if a unit takes less time"
        )
    elif hourly < advised:
        remarks.append(f"Prolific recommends {said(advised)} an hour, and this is {said(hourly)}.")
    if eligible == 0:
        refusals.append(f"fewer than {FEW} people on Prolific may take part under these rules")
        advice.append("widen them (workers.…, fluent)")
    if total > available:
        words = f"the workspace has {said(available)}, and this launch can cost {said(total)}"
        if asked.draft:
            remarks.append(sentence(f"{words}: {ADDS_MONEY}"))
        else:
            refusals.append(words)
            advice.append(ADDS_MONEY)
    facts = [
        ("places open at once, at most", f"{asked.open_first:,}"),
        ("people whom the balance can pay", f"{int(available // one):,}" if one else "any number"),
    ]
    if eligible is not None:
        facts.append(("people on Prolific who may take part", f"{eligible:,}" if eligible else f"fewer than {FEW}"))
    return Quote(
        provider=PROVIDER,
        requester=account,
        endpoint=client.base,
        units=asked.units,
        reward=_major(asked.reward),
        fee_share=rewards_fee,
        bonus_budget=_major(asked.bonus_budget),
        most_open=asked.open_first,
        balance=_major(workspace.available),
        remark=" ".join(remarks) or None,
        currency=workspace.currency,
        hourly=_major(round(hourly)),
        lines=lines,
        facts=facts,
        heading="A draft on Prolific spends nothing. Published, it costs"
        if asked.draft
        else "This launch spends real money on Prolific",
        is_real=not asked.draft,
        shown_only=asked.draft,
        refusal=". ".join(refusals) or None,
        advice=". ".join(advice),
    )


_Part = tuple[Any, str, int, int]
"""Kind of a line, its words with ``{amount}``, cents and how often."""


def _parts(asked: Asked) -> list[_Part]:
    parts: list[_Part] = [
        ("reward", f"{counted(asked.units, 'unit')} of work at {{amount}}", asked.reward, asked.units)
    ]
    if asked.screen_out is not None:
        paid, slots = asked.screen_out
        parts.append(("screen_out", f"{counted(slots, 'failed practice')} at {{amount}}, at most", paid, slots))
    if asked.bonus_budget:
        parts.append(("bonus", "bonuses, at most", asked.bonus_budget, 1))
    return parts


def _lines(
    parts: list[_Part], totals: list[int], fee: Decimal | None, currency: str
) -> tuple[list[QuoteLine], Decimal]:
    """The sum, part by part; and Prolific's share of rewards, with VAT where that is not known by itself."""
    lines, share = [], Decimal(0)
    for (kind, words, amount, number), total in zip(parts, totals, strict=True):
        paid, more = amount * number, total - amount * number
        lines.append(
            QuoteLine(kind=kind, words=words.format(amount=money(_major(amount), currency)), amount=_major(paid))
        )
        whole = Decimal(more) / paid if paid else Decimal(0)
        share = share or (fee if fee is not None and fee <= whole else whole)
        of_one = int((amount * share).quantize(Decimal(1), ROUND_HALF_UP))
        fees = more if fee is None else min(more, number * of_one)
        is_bonus, vat = kind == "bonus", more - fees
        named = f"Prolific's fee{'' if fee is not None else ' with its tax'} on {kind.replace('_', '-')}s"
        lines.append(QuoteLine(kind="bonus_fee" if is_bonus else "fee", words=named, amount=_major(fees)))
        if vat > 0:
            lines.append(QuoteLine(kind="bonus_fee" if is_bonus else "vat", words="VAT on it", amount=_major(vat)))
    return lines, share


def _calculated(client: Prolific, amount: int, number: int) -> int:
    if not amount * number:
        return 0
    with asking("have Prolific calculate what it costs"):
        body = {"reward": amount, "total_available_places": number}
        return int(client.post("study-cost-calculator/", body, repeat=True)["total_cost"])


def _floor(client: Prolific, workspace: Workspace) -> tuple[int, int]:
    """Cents an hour: the least, and what is recommended; nothing where Prolific does not say."""
    try:
        listed = client.get("reward-recommendations/", workspace_id=workspace.id, currency=workspace.currency)
    except ProlificError:
        return 0, 0
    entries = listed.get("results", [listed]) if isinstance(listed, dict) else listed
    ours: dict[str, Any] = next(
        (one for one in entries if str(one.get("currency", "")).upper() == workspace.currency), {}
    )
    return int(ours.get("min_reward_per_hour") or 0), int(ours.get("recommended_reward_per_hour") or 0)


def _eligible(client: Prolific, workspace: Workspace, filters: Sequence[Filter]) -> int:
    with asking("count who may take part"):
        body = {"filters": list(filters), "workspace_id": workspace.id}
        return int(client.post("eligibility-count/", body, repeat=True)["count"])


def _major(cents: int) -> Decimal:
    return Decimal(cents) / 100
