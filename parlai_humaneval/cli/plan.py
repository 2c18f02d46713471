"""``parlai-humaneval plan``: how large a study must be, before it is run."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parlai_humaneval.cli.errors import WrongUsage
from parlai_humaneval.cli.options import repeats_option
from parlai_humaneval.planning.inputs import (
    FEE,
    HOURLY_WAGE,
    ICC,
    ONBOARDING_MINUTES,
    PlanError,
    PlanInputs,
    ask,
    plannable,
)
from parlai_humaneval.planning.plan import Plan, compare_techniques, comparison_notes, comparison_words, plan_study
from parlai_humaneval.planning.stopping_summary import STUDIES, UntilDecided, until_decided_rows
from parlai_humaneval.techniques.registry import PlanningDefaults

if TYPE_CHECKING:
    from parlai_humaneval.planning.pilot import Pilot
    from parlai_humaneval.tables.columns import Repeats

_WIDTH = 100


@click.command("plan")
@click.option(
    "--technique", type=click.Choice(list(plannable())), help="How is judged. Without it, all techniques are compared."
)
@click.option("--setting", help="sata: sata_random, sata_user, soba; pw_dialog: human_bot, self_chat.")
@click.option(
    "--models", type=int, metavar="K", help="Number of models.  [default: as many as --shares has numbers, or 2]"
)
@click.option(
    "--gap",
    type=float,
    help="The smallest difference between the win rates of two models that you must find: 0.1 is ten points, "
    "such as .55 against .45.",
)
@click.option("--power", type=float, default=0.8, show_default=True, help="Chance to find that gap.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Level of the two-sided test.")
@click.option(
    "--discordance",
    type=float,
    help="Share of judgements that tell two models apart, that is 1 − ties.  [default: of the papers]",
)
@click.option(
    "--baseline",
    type=float,
    help="single_model: the share of good turns around which two models differ; with --models 1, against which one is "
    "tested.  [default: 0.8]",
)
@click.option("--turns", type=int, help="Turns of a dialogue that count.  [default: of the papers]")
@click.option("--icc", type=float, help=f"How alike the answers of one worker are, 0 to 1.  [default: {ICC}]")
@click.option(
    "--dialogue-icc",
    type=float,
    help="pw_dialog, self_chat, spot_the_bot: how alike judgements are that share a dialogue, 0 to 1.  [default: 0]",
)
@click.option(
    "--dialogue-sd",
    type=float,
    help="The same as the standard deviation of the quality of one model's dialogues, in log-odds of winning: .7 is much.",
)
@click.option(
    "--worker-inequality",
    type=float,
    help="How unequally workers share the work: standard deviation by mean of the number of their judgements; 0: all give "
    "equally many, which a limit per worker makes true; about 1 in open crowds. W workers weigh like W/(1 + x²) equal "
    "ones.  [default: 0]",
)
@click.option("--exclusion", type=float, help="Share of dialogues that checks drop.  [default: .26; Ji et al.: .30]")
@click.option(
    "--pay",
    type=float,
    help="Dollars for a dialogue; of finished dialogues, for a judgement.  [default: --wage times the minutes]",
)
@click.option("--wage", type=float, default=HOURLY_WAGE, show_default=True, help="Dollars an hour, without --pay.")
@click.option("--fee", type=float, default=FEE, show_default=True, help="Of the platform, as a share of the pay.")
@click.option(
    "--method",
    type=click.Choice(["two_variance", "liu2023"]),
    default="two_variance",
    show_default=True,
    help="liu2023: that paper's formulas and numbers. Its gap is the distance from one half (or from the baseline), and "
    "all turns are independent.",
)
@click.option(
    "--shares",
    help="How often each model was chosen in a pilot, comma separated: picks (54,53,48,35), or shares of turns where "
    "several may be chosen (.35,.25,.30,.30).",
)
@click.option(
    "--tests",
    type=click.Choice(["overall", "pairs"]),
    default="overall",
    show_default=True,
    help="sata, free_for_all with several models: plan for the test of all, or for each pair.",
)
@click.option(
    "--judge-agreement",
    type=float,
    help="A judge (a model that answers the raters' question) answers all dialogues, people a part: how many human ones "
    "that saves, by the share of answers in which judge and person agree, such as 0.7.",
)
@click.option(
    "--stop",
    type=click.Choice(["decided"]),
    help="decided: beside the fixed plan, what a study takes that ends when every two models are decided (one is better, or "
    "they are equal within the margin): dialogues, hours and dollars on average and in 90 % of simulated studies.",
)
@click.option(
    "--margin",
    type=float,
    help="--stop: models whose win rates, ties counting half, are less apart count as equal.  [default: the gap]",
)
@click.option(
    "--max-dialogues",
    type=int,
    metavar="N",
    help="--stop: the cap; of finished dialogues, of comparisons.  [default: what 95 % of studies of equal models need]",
)
@click.option(
    "--dialogues-per-worker",
    type=float,
    help="Dialogues that a worker holds; of finished ones, how many judgements they give.  [default: of the papers]",
)
@click.option("--minutes", type=float, help="For a dialogue; of finished dialogues, for a judgement.")
@click.option(
    "--onboarding",
    type=float,
    default=ONBOARDING_MINUTES,
    show_default=True,
    help="Minutes that instructions and practice take a worker.",
)
@click.option(
    "--reuse",
    type=int,
    help="pw_dialog, self_chat, spot_the_bot: judgements that each dialogue is in.  [default: 5; spot_the_bot: 6]",
)
@click.option(
    "--dialogue-pay",
    type=float,
    help="pw_dialog, self_chat, spot_the_bot: dollars for a dialogue that is judged.  [default: of people, --wage times 4 "
    "minutes; of models alone, 0]",
)
@click.option(
    "--pilot",
    type=click.Path(path_type=str),
    metavar="TABLES",
    help="Tidy tables of a pilot (a folder, as of report --tables, or one table): how alike its workers and dialogues are, "
    "ties, dialogues and turns of a worker, how unequal workers are, and times are taken from it. What is typed wins.",
)
@repeats_option
@click.option("--compare", is_flag=True, help="All techniques for this gap, the fewest hours first.")
@click.option(
    "--simulate", is_flag=True, help="Check the promise: the report's verdicts on made-up studies with this ICC."
)
@click.option(
    "--replicates",
    type=click.IntRange(min=100, max=1_000_000),
    help="Studies to simulate.  [default: 1,000, of free_for_all and direct_assessment 400; with --stop of each truth "
    f"{STUDIES[2]}, of three or four "
    f"models {STUDIES[4]}, of more {STUDIES[5]}]",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of simulations.")
@click.option(
    "--curve",
    type=click.Path(dir_okay=False, path_type=str),
    metavar="FILE",
    help="Draw power against size into a png, svg or pdf file.",
)
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=str), metavar="FILE", help="Write the plan there, too, as JSON."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def plan(
    technique: str | None,
    shares: str | None,
    pilot: str | None,
    repeats: Repeats | None,
    compare: bool,
    simulate: bool,
    stop: str | None,
    margin: float | None,
    max_dialogues: int | None,
    replicates: int | None,
    curve: str | None,
    out: str | None,
    as_json: bool,
    **question: Any,
) -> None:
    """How many turns, dialogues, workers, hours and dollars a study takes, and how sure it is to find a difference.

    Say how small a difference between two models you must not miss (--gap). The plan is for the test that reports
    lead with, which knows that answers of one worker are alike; times and habits are the papers' unless you give yours.
    Give the tables of a pilot (--pilot): how alike its workers and dialogues are is taken from there, with an interval.

    \b
    Examples:
      parlai-humaneval plan --gap 0.1
          every technique, for ten points between two models
      parlai-humaneval plan --technique pw_turn --gap 0.1 --simulate
          one technique, and simulated workers to check the promise
      parlai-humaneval plan --technique sata --models 4 --gap 0.1 --tests pairs --curve power.png
          four models in each turn; tell any two of them apart
      parlai-humaneval plan --pilot tables --gap 0.1
          as workers judged in a pilot (export --out tables), at its ICC and at the upper end of that
      parlai-humaneval plan --technique pw_dialog --gap 0.1 --dialogue-sd 0.7
          dialogues of a model differ, and each is judged several times: how often is best for the money
      parlai-humaneval plan --technique pw_turn --gap 0.1 --worker-inequality 1
          an open crowd, in which a few workers give most answers
      parlai-humaneval plan --technique pw_dialog --gap 0.1 --judge-agreement 0.7
          a judge answers ten times as many: how many human judgements that saves, and on what it rests
      parlai-humaneval plan --technique pw_turn --models 4 --gap 0.1 --stop decided
          a study that ends when every two models are decided: on average, and what to have in hand
      parlai-humaneval plan --technique direct_assessment --models 5 --gap 0.2 --pay 0.165 --json
      parlai-humaneval plan --technique sata --setting soba --gap 0.1 --method liu2023
          the 196 turns of Liu et al. 2023; --setting sata_random gives their 667, --technique single_model
          their 126, --setting soba --shares 54,53,48,35 their 430, and
          --setting sata_random --models 4 --discordance 0.408 their 445
    """
    try:
        typed = {name: value for name, value in question.items() if value is not None}
        found_pilot = _pilot(pilot, repeats, compare, technique, typed.get("setting"))
        known = {} if found_pilot is None else found_pilot.question()
        if known.get("discordance") == 0 and "discordance" not in typed:
            raise PlanError(
                "the pilot holds only ties, and does not say how often judges tell models apart",
                try_="type --discordance, such as --discordance 0.5 where half are ties",
            )
        technique = technique or known.get("technique")
        compare = compare or technique is None
        _check_applies(typed, compare, technique)
        _check_comparison(
            compare, technique, {"shares": shares, "simulate": simulate, "curve": curve, "stop": stop, **question}
        )
        _check_stop(stop, {"margin": margin, "max_dialogues": max_dialogues}, typed)
        if "dialogue_sd" in typed:
            known.pop("dialogue_icc", None)
        inputs = ask(**{**known, "technique": technique or "pw_turn", "shares": _numbers(shares), **typed})
        if compare:
            _compare(inputs, out, as_json)
            return
        found = plan_study(inputs)
        if found_pilot is not None:
            from parlai_humaneval.planning.pilot import with_pilot

            found = with_pilot(found, inputs, found_pilot, typed)
        if curve:
            from parlai_humaneval.planning.plan import draw_curve

            draw_curve(inputs, found, Path(curve))
        if simulate:
            found = found.model_copy(update={"simulated": _simulate(inputs, replicates)})
        if stop:
            found = found.model_copy(update={"stop": _until_decided(inputs, margin, max_dialogues, replicates)})
        _show(found, out, as_json)
    except PlanError as error:
        raise WrongUsage(error) from error
    if curve and not as_json:
        click.echo(f"\nThe power curve is in {curve}.")


_APPLIES: dict[str, Callable[[PlanningDefaults], bool]] = {
    "baseline": lambda habits: habits.measures == "share",
    "reuse": lambda habits: not habits.held,
    "dialogue_icc": lambda habits: not habits.held,
    "dialogue_sd": lambda habits: not habits.held,
    "dialogue_pay": lambda habits: not habits.held,
}
"""Option → whether a technique has it."""


def _check_applies(typed: dict[str, Any], compare: bool, technique: str | None) -> None:
    for option, applies in _APPLIES.items():
        having = [name for name, habits in plannable().items() if applies(habits)]
        if option in typed and not compare and technique not in having:
            flag = f"--{option.replace('_', '-')}"
            of = " and ".join(part for part in (", ".join(having[:-1]), having[-1]) if part)
            raise PlanError(f"{flag} is for {of}, not for {technique}", try_=f"leave {flag} out")


def _pilot(
    path: str | None, repeats: Repeats | None, compare: bool, technique: str | None, setting: str | None
) -> Pilot | None:
    if path is None:
        if repeats is not None:
            raise PlanError(
                "--repeats is about the answers of a pilot", try_="give its tables with --pilot, or leave --repeats out"
            )
        return None
    if compare:
        raise PlanError("--pilot is of one technique, and says nothing of others", try_="leave --compare out")
    from parlai_humaneval.planning.pilot import read_pilot

    return read_pilot(Path(path).expanduser(), technique, setting, repeats)


def _check_comparison(compare: bool, technique: str | None, given: dict[str, Any]) -> None:
    if compare and (given["simulate"] or given["curve"]):
        raise PlanError("--simulate and --curve are for one plan", try_="give --technique, and leave --compare out")
    if compare and given["stop"]:
        raise PlanError("--stop is for one plan", try_="give --technique, and leave --compare out")
    own = [f"--{name}" for name in ("setting", "discordance", "shares") if given[name] is not None]
    if technique is None and own:
        raise PlanError(
            "only one technique at a time can have that", where=f"{' and '.join(own)}", try_="give --technique, too"
        )


def _check_stop(stop: str | None, own: dict[str, Any], typed: dict[str, Any]) -> None:
    """``own``: options that only a study has which ends when it is decided."""
    given = [f"--{name.replace('_', '-')}" for name, value in own.items() if value is not None]
    if given and not stop:
        named = " and ".join(given)
        raise PlanError(
            "only a study has that which ends when it is decided",
            where=named,
            try_=f"add --stop decided, or leave {named} out",
        )
    if stop and "judge_agreement" in typed:
        raise PlanError(
            "no study ends on a judge's word, as error rates are not shown to hold then",
            try_="leave --judge-agreement out, or --stop",
        )


def _compare(inputs: PlanInputs, out: str | None, as_json: bool) -> None:
    plans, impossible = compare_techniques(inputs)
    if not plans:
        raise PlanError(problem for error in impossible.values() for problem in error.problems)
    result = {
        "headline": comparison_words(plans),
        "plans": [one.model_dump(mode="json") for one in plans],
        "notes": comparison_notes(plans),
        "impossible": {name: str(error) for name, error in impossible.items()},
    }
    _print(result, comparison_text(plans, impossible), out, as_json)


def _show(found: Plan, out: str | None, as_json: bool) -> None:
    _print(found.model_dump(mode="json"), plan_text(found), out, as_json)


def _print(result: dict[str, Any], text: str, out: str | None, as_json: bool) -> None:
    written = json.dumps(result, indent=2, ensure_ascii=False)
    if out:
        try:
            Path(out).write_text(written + "\n", encoding="utf-8")
        except OSError as error:
            raise PlanError(f"the plan cannot be written to {out}: {error.strerror}") from error
    click.echo(written if as_json else text)


def _simulate(inputs: PlanInputs, replicates: int | None) -> dict[str, Any]:
    from rich.console import Console
    from rich.progress import Progress

    from parlai_humaneval.planning.simulation import simulated_power, usual_replicates

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Simulating studies", total=replicates or usual_replicates(inputs))
        result = simulated_power(inputs, replicates=replicates, on_progress=lambda done: bar.update(task, advance=done))
    return result.to_dict()


def _until_decided(
    inputs: PlanInputs, margin: float | None, max_dialogues: int | None, studies: int | None
) -> dict[str, Any]:
    from rich.console import Console
    from rich.progress import Progress

    from parlai_humaneval.planning.stopping import plan_until_decided

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Simulating studies", total=None)
        found = plan_until_decided(
            inputs,
            margin=margin,
            max_dialogues=max_dialogues,
            studies=studies,
            on_progress=lambda ended, of: bar.update(task, completed=ended, total=of),
        )
    return found.model_dump(mode="json")


def _numbers(text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise PlanError(f"--shares {text!r}: expected numbers, comma separated, such as 54,53,48,35") from error


def _power(plan: Plan) -> str:
    """The formula's size is kept where its power is the asked one in whole percents: said where it is a little below."""
    rounded = f", which is {100 * plan.power:.0f} % in whole percents" if plan.power < plan.inputs["power"] else ""
    return f"{plan.power:.3f}{rounded} ({plan.analysis})"


def plan_text(plan: Plan) -> str:
    """The headline, the numbers, the notes and the sources."""
    rows = [
        (f"{plan.judgement}s, kept", f"{plan.n_judgements:,}"),
        ("to collect", f"{plan.n_judgements_collected:,} {plan.judgement}s in {plan.n_dialogues:,} dialogues"),
        ("workers", f"{plan.n_workers:,}"),
        ("hours", f"{plan.hours:,.1f}"),
        ("cost", f"${plan.cost:,.2f}"),
        ("power", _power(plan)),
    ]
    if plan.simulated is not None:
        found = plan.simulated
        ends = f"{found['ci_low']:.3f} to {found['ci_high']:.3f}"
        rows.append(
            ("simulated power", f"{found['estimate']:.3f} (Monte Carlo interval {ends}, {found['n']:,} studies)")
        )
    judge = plan.judge or {"notes": []}
    if plan.judge is not None:
        rows.append(("with the judge", f"{judge['n_judgements']:,} {plan.judgement}s, kept, of people; {_left(judge)}"))
    until = None if plan.stop is None else UntilDecided.model_validate(plan.stop)
    headlines = [plan.headline, *([judge["headline"]] if plan.judge else []), *([until.headline] if until else [])]
    lines = [line for headline in headlines for line in _wrapped(headline)]
    lines += ["", *_columns(rows), ""]
    for note in (
        *plan.notes,
        *judge["notes"],
        *[f"Beware: {note}." for note in (plan.simulated or {}).get("notes", ())],
    ):
        lines += _wrapped(note, "- ")
    lines += _until_decided_lines(until) if until else []
    lines += ["", "Sources and assumptions:"]
    for source in (*plan.sources, *(until.sources if until else ())):
        lines += _wrapped(source, "- ")
    return "\n".join(lines)


def _until_decided_lines(until: UntilDecided) -> list[str]:
    lines = [
        "",
        f"Ending when decided, by simulation ({until.studies:,} studies of each truth, --seed {until.seed}):",
        "",
    ]
    lines += [*_columns(until_decided_rows(until)), ""]
    return [*lines, *(line for note in until.notes for line in _wrapped(note, "- "))]


def _left(judge: dict[str, Any]) -> str:
    """What people must still give where a judge answers all dialogues."""
    return f"{judge['n_workers']:,} workers, {judge['hours']:,.1f} hours, ${judge['cost']:,.2f}"


def comparison_text(plans: Sequence[Plan], impossible: Mapping[str, PlanError]) -> str:
    """A row for each technique, the sentence, and what the gap is in each."""
    head = ("technique", "judgements", "dialogues", "workers", "hours", "cost", "power")
    rows = [
        (
            plan.title,
            f"{plan.n_judgements:,} {plan.judgement}s",
            f"{plan.n_dialogues:,}",
            f"{plan.n_workers:,}",
            f"{plan.hours:,.1f}",
            f"${plan.cost:,.0f}",
            f"{plan.power:.2f}",
        )
        for plan in plans
    ]
    lines = [*_columns([head, *rows]), "", *_wrapped(comparison_words(list(plans))), ""]
    for plan in plans:
        lines += _wrapped(f"{plan.title}: {plan.judge['headline']}", "- ") if plan.judge else []
    lines += [""] if any(plan.judge for plan in plans) else []
    if plans and plans[0].models > 2 and plans[0].method != "liu2023":
        lines += [*_wrapped(f"All are planned to tell each pair of {plans[0].models} models apart, corrected."), ""]
    for note in comparison_notes(plans):
        lines += [*_wrapped(note), ""]
    lines.append("The gap is")
    for plan in plans:
        lines += _wrapped(f"{plan.title}: {plan.gap_means}", "- ")
    for name, reason in impossible.items():
        lines += _wrapped(f"no plan for {name}: {reason}", "- ")
    return "\n".join(lines)


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _wrapped(text: str, mark: str = "") -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=mark, subsequent_indent=" " * len(mark))
