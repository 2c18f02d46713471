"""The cost of a launch by Prolific's calculator; whether balance and people suffice; rules as filters."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from mephisto_tasks.config.names import ConfigError
from mephisto_tasks.config.task import WorkerRules
from mephisto_tasks.crowds.prolific.client import Prolific, ProlificError, asking
from mephisto_tasks.crowds.prolific.handed_in import major
from mephisto_tasks.crowds.prolific.store import PROVIDER
from mephisto_tasks.payments.policy import Quote, QuoteLine, money
from parlai_humaneval.statistics.core.formatting import counted, sentence

FEW = 25  # Prolific counts fewer people as none
ADDS_MONEY = "top up the workspace in Prolific's web app, or collect less; nothing was created"


@dataclass(frozen=True)
class Workspace:
    """The paying account, and its balance. ``available``: in cents."""

    id: str
    project: str
    currency: str
    available: int


@dataclass(frozen=True)
class Asked:
    """The request of a launch, in cents."""

    units: int
    reward: int
    minutes: int
    screen_out: tuple[int, int] | None = None
    bonus_budget: int = 0
    open_first: int = 0  # places at first
    draft: bool = False  # nothing is published
    set_aside: int = 0  # of the balance, for places of the same study that nobody has taken


def find_workspace(client: Prolific, workspace: str, project: str, currency: str) -> Workspace:
    """The workspace of the settings, or the only one. Raises ConfigError."""
    with asking("look at the workspace"):
        known = {str(one["id"]): str(one.get("title") or "") for one in client.pages("workspaces/")}
        if workspace and workspace not in known:
            raise ConfigError(f"the account has no workspace {workspace}", where="workspace", try_=_choose(known))
        if not workspace and len(known) != 1:
            raise ConfigError(f"the account has {len(known)} workspaces", where="workspace", try_=_choose(known))
        workspace = workspace or next(iter(known))
        of_workspace = client.pages(f"workspaces/{workspace}/projects/")
        projects = {str(one["id"]): str(one.get("title") or "") for one in of_workspace}
        if project and project not in projects:
            raise ConfigError(f"the workspace has no project {project}", where="project", try_=_choose(projects))
        if not projects:
            raise ConfigError("the workspace has no project", where="project", try_="create one in Prolific's web app")
        balance = client.get(f"workspaces/{workspace}/balance/")
    pays_in = str(balance["currency_code"]).upper()
    if pays_in != currency:
        what = f"the workspace pays in {pays_in}, but task_reward is in {currency}"
        raise ConfigError(what, where="currency", try_=f"set currency={pays_in}, and all amounts accordingly")
    return Workspace(workspace, project or next(iter(projects)), pays_in, int(balance["available_balance"]))


def _choose(known: dict[str, str]) -> str:
    listed = ", ".join(f"{one} ({title})" for one, title in sorted(known.items())[:10])
    return f"choose one: {listed}" if listed else "create one in Prolific's web app"


def quote_of(
    client: Prolific,
    workspace: Workspace,
    account: str,
    asked: Asked,
    filters: Sequence[Filter] | None,
    fee: Decimal | None,
) -> Quote:
    """The sum, and what stands against it. Nothing is made. ``filters``: None: it was looked at before who may take
    part. ``fee``: Prolific's share, as a former study of the workspace had it, so that VAT stands by itself. Raises
    ProlificError."""
    work = f"{counted(asked.units, 'assignment')} at {{amount}}"
    parts: list[_Part] = [("reward", work, asked.reward, asked.units)]
    if asked.screen_out is not None:
        paid, slots = asked.screen_out
        parts.append(("screen_out", f"{counted(slots, 'failed practice')} at {{amount}}, at most", paid, slots))
    if asked.bonus_budget:
        parts.append(("bonus", "bonuses, at most", asked.bonus_budget, 1))
    totals = [int(client.cost(amount, number)) for _, _, amount, number in parts]
    lines, rewards_fee = _lines(parts, totals, fee, workspace.currency)
    total, one = sum(totals), totals[0] / max(1, asked.units)
    available = workspace.available + asked.set_aside
    eligible: int | None = None
    if filters is not None:
        with asking("count who may take part"):
            body = {"filters": list(filters), "workspace_id": workspace.id}
            eligible = int(client.post("eligibility-count/", body, repeat=True)["count"])
    least, advised = _floor(client, workspace)
    hourly = asked.reward * 60 / asked.minutes

    def said(cents: float) -> str:
        return money(major(round(cents)), workspace.currency)

    refusals, advice, remarks = [], [], []
    if hourly < least:
        enough = major(math.ceil(least * asked.minutes / 60))
        refusals.append(f"{said(hourly)} an hour is less than Prolific's minimum of {said(least)}")
        minutes = counted(asked.minutes, "minute")
        advice.append(f"set task_reward={enough:.2f} for {minutes}, or minutes=… if an assignment takes less time")
    elif hourly < advised:
        remarks.append(f"Prolific recommends {said(advised)} an hour, but you pay {said(hourly)}.")
    if eligible == 0:
        refusals.append(f"fewer than {FEW} people on Prolific may take part under these rules")
        advice.append("widen them (workers.…, fluent)")
    if total > available:
        words = f"the workspace has {said(available)}, but this launch can cost {said(total)}"
        if asked.draft:
            remarks.append(sentence(f"{words}: {ADDS_MONEY}"))
        else:
            refusals.append(words)
            advice.append(ADDS_MONEY)
    facts = [
        ("places open at once, at most", f"{asked.open_first:,}"),
        ("people that the balance can pay for", f"{int(available // one):,}" if one else "any number"),
    ]
    if eligible is not None:
        facts.append(("people on Prolific who may take part", f"{eligible:,}" if eligible else f"fewer than {FEW}"))
    return Quote(
        provider=PROVIDER,
        requester=account,
        endpoint=client.base,
        units=asked.units,
        reward=major(asked.reward),
        fee_share=rewards_fee,
        bonus_budget=major(asked.bonus_budget),
        most_open=asked.open_first,
        balance=major(workspace.available),
        remark=" ".join(remarks) or None,
        currency=workspace.currency,
        hourly=major(round(hourly)),
        lines=lines,
        facts=facts,
        heading="A draft on Prolific costs nothing. Once published, it costs"
        if asked.draft
        else "This launch spends real money on Prolific",
        is_real=not asked.draft,
        shown_only=asked.draft,
        refusal=". ".join(refusals) or None,
        advice=". ".join(advice),
    )


_Part = tuple[Any, str, int, int]  # kind of a line, its words with ``{amount}``, cents and how often


def _lines(
    parts: list[_Part], totals: list[int], fee: Decimal | None, currency: str
) -> tuple[list[QuoteLine], Decimal]:
    """The sum, part by part; and Prolific's share of rewards, with VAT where that is not known by itself."""
    lines, share = [], Decimal(0)
    for (kind, words, amount, number), total in zip(parts, totals, strict=True):
        paid, more = amount * number, total - amount * number
        words = words.format(amount=money(major(amount), currency))
        lines.append(QuoteLine(kind=kind, words=words, amount=major(paid)))
        whole = Decimal(more) / paid if paid else Decimal(0)
        share = share or (fee if fee is not None and fee <= whole else whole)
        of_one = int((amount * share).quantize(Decimal(1), ROUND_HALF_UP))
        fees = more if fee is None else min(more, number * of_one)
        is_bonus, vat = kind == "bonus", more - fees
        named = f"Prolific's fee{'' if fee is not None else ' with its tax'} on {kind.replace('_', '-')}s"
        lines.append(QuoteLine(kind="bonus_fee" if is_bonus else "fee", words=named, amount=major(fees)))
        if vat > 0:
            lines.append(QuoteLine(kind="bonus_fee" if is_bonus else "vat", words="VAT on it", amount=major(vat)))
    return lines, share


def _floor(client: Prolific, workspace: Workspace) -> tuple[int, int]:
    """Cents an hour: the least, and what is recommended; nothing where Prolific does not say."""
    try:
        listed = client.get("reward-recommendations/", workspace_id=workspace.id, currency=workspace.currency)
    except ProlificError:
        return 0, 0
    entries = listed.get("results", [listed]) if isinstance(listed, dict) else listed
    of_currency = (one for one in entries if str(one.get("currency", "")).upper() == workspace.currency)
    ours: dict[str, Any] = next(of_currency, {})
    return int(ours.get("min_reward_per_hour") or 0), int(ours.get("recommended_reward_per_hour") or 0)


COUNTRY, LANGUAGES = "Current country of residence", "Fluent languages"
RATE, NUMBER = "Approval rate", "Number of previous submissions"
BLOCKED, ALLOWED, EARLIER = "participant_group_blocklist", "participant_group_allowlist", "previous_studies_blocklist"
_MANY = 1_000_000

Filter = dict[str, Any]


def filters(
    rules: WorkerRules, fluent: Sequence[str], known: Sequence[Mapping[str, Any]]
) -> tuple[list[Filter], list[str]]:
    """Filters for the rules, and remarks on what Prolific does not check. Raises ConfigError."""
    made: list[Filter] = []
    remarks: list[str] = []
    if rules.locales:
        countries = list(dict.fromkeys(code.partition("-")[0] for code in rules.locales))
        made.append(_choice(known, COUNTRY, "workers.locales", [(code, _names_of(code)) for code in countries]))
        if parts := [code for code in rules.locales if "-" in code]:
            remarks.append(f"Prolific filters by country only: nothing checks that people live in {', '.join(parts)}.")
    if fluent:
        made.append(_choice(known, LANGUAGES, "fluent", [(word, {word}) for word in fluent]))
    if rules.min_approval_rate is not None:
        made.append(_range(_filter(known, RATE), rules.min_approval_rate, 100))
    if rules.min_approved is not None:
        try:
            made.append(_range(_filter(known, NUMBER), rules.min_approved, _MANY))
        except ConfigError:
            remarks.append("Prolific does not list a filter for workers.min_approved, so this rule is not checked.")
    return made, remarks


def _filter(known: Sequence[Mapping[str, Any]], title: str) -> Mapping[str, Any]:
    for one in known:
        if _plain(title) in (_plain(one.get("title")), _plain(one.get("filter_id"))):
            return one
    advice = "leave that rule out, and ask people in a practice round"
    raise ConfigError(f"Prolific no longer lists a filter “{title}”", try_=advice)


def _choice(
    known: Sequence[Mapping[str, Any]], title: str, setting: str, wanted: Iterable[tuple[str, set[str]]]
) -> Filter:
    found = _filter(known, title)
    labels = {_plain(label): str(choice) for choice, label in dict(found.get("choices") or {}).items()}
    chosen = []
    for word, names in wanted:
        choice = next((labels[_plain(name)] for name in names if _plain(name) in labels), None)
        if choice is None:
            what = f"Prolific has no {word!r} among its choices of “{title}”"
            raise ConfigError(what, where=setting, try_="leave it out")
        chosen.append(choice)
    return {"filter_id": found["filter_id"], "selected_values": chosen}


def _range(found: Mapping[str, Any], lower: int, upper: int) -> Filter:
    most = found.get("max")
    bounds = {"lower": lower, "upper": upper if most is None else min(upper, int(most))}
    return {"filter_id": found["filter_id"], "selected_range": bounds}


def _names_of(country: str) -> set[str]:
    import pycountry

    entry = pycountry.countries.get(alpha_2=country)
    names = (getattr(entry, name, "") for name in ("name", "common_name", "official_name"))
    return {country, *filter(None, names)}


def _plain(text: object) -> str:
    return " ".join(re.findall(r"\w+", str(text or "").replace("_", " ").casefold()))
