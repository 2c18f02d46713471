"""``parlai-humaneval plan``: how large a study must be, before it is run."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parlai_humaneval.cli.errors import ExtraWord, WrongUsage
from parlai_humaneval.cli.options import TechniqueChoice, described
from parlai_humaneval.i18n.translate import worded
from parlai_humaneval.planning import inputs as asked
from parlai_humaneval.statistics.core.formatting import listed
from parlai_humaneval.techniques.registry import PlanningDefaults
from parlai_humaneval.techniques.registry import technique as technique_named

if TYPE_CHECKING:
    from parlai_humaneval.planning.pilot import Pilot
    from parlai_humaneval.planning.plan import Plan
    from parlai_humaneval.planning.preregistration import Preregistration
    from parlai_humaneval.tables.columns import Repeats

_WIDTH = 100


@described(
    "plan",
    words={"icc": asked.ICC, "two": asked.STUDIES[2], "few": asked.STUDIES[4], "many": asked.STUDIES[5]},
    technique={"type": TechniqueChoice(list(asked.plannable()))},
    wage={"default": asked.HOURLY_WAGE},
    fee={"default": asked.FEE},
    onboarding={"default": asked.ONBOARDING_MINUTES},
    replicates={"type": click.IntRange(min=100, max=1_000_000)},
)
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
    prereg: str | None,
    exclude: str | None,
    chosen: tuple[str, ...],
    as_json: bool,
    **question: Any,
) -> None:
    question["setting"] = question["setting"] or click.get_current_context().meta.get("setting")
    try:
        settings = _registered_settings(prereg, exclude, chosen)
        if question.get("models") is None and isinstance(settings.get("models"), list):
            question["models"] = len(settings["models"])
        for name, option in _OF_SETTINGS.items():  # the study that is registered is the one that is planned
            if question.get(option) is None and isinstance(settings.get(name), int):
                question[option] = settings[name]
        typed = {name: value for name, value in question.items() if value is not None}
        found_pilot = _pilot(pilot, repeats, compare, technique, typed.get("setting"))
        known = {} if found_pilot is None else found_pilot.question()
        known |= of_settings(settings)
        if known.get("discordance") == 0 and "discordance" not in typed:
            raise asked.PlanError(worded(__file__, "ties_only"))
        technique = technique or known.get("technique")
        compare = compare or technique is None
        for option, applies in _APPLIES.items():
            having = [name for name, habits in asked.plannable().items() if applies(habits)]
            if option in typed and not compare and technique not in having:
                flag = f"--{option.replace('_', '-')}"
                of = " and ".join(part for part in (", ".join(having[:-1]), having[-1]) if part)
                raise asked.PlanError(f"{flag} is for {of}, not for {technique}", try_=f"leave {flag} out")
        _check_comparison(
            compare,
            technique,
            {"shares": shares, "simulate": simulate, "curve": curve, "stop": stop, "prereg": prereg, **question},
        )
        _check_stop(stop, {"margin": margin, "max_dialogues": max_dialogues}, typed)
        if "dialogue_sd" in typed:
            known.pop("dialogue_icc", None)
        inputs = asked.ask(**{**known, "technique": technique or "pw_turn", "shares": _numbers(shares), **typed})
        if compare:
            from parlai_humaneval.planning.plan import compare_techniques, comparison_notes, comparison_words

            plans, impossible = compare_techniques(inputs)
            if not plans:
                raise asked.PlanError(problem for error in impossible.values() for problem in error.problems)
            result = {
                "headline": comparison_words(plans),
                "plans": [one.model_dump(mode="json") for one in plans],
                "notes": comparison_notes(plans),
                "impossible": {name: str(error) for name, error in impossible.items()},
            }
            _print(result, comparison_text(plans, impossible), out, as_json)
            return
        from parlai_humaneval.planning.plan import plan_study

        found = plan_study(inputs)
        if found_pilot is not None:
            from parlai_humaneval.planning.pilot import with_pilot

            found = with_pilot(found, inputs, found_pilot, typed)
        if curve:
            from parlai_humaneval.planning.plan import draw_curve

            draw_curve(inputs, found, Path(curve))
        if simulate:
            from rich.console import Console
            from rich.progress import Progress

            from parlai_humaneval.planning.made_studies import simulated_power, usual_replicates

            with Progress(console=Console(stderr=True), transient=True) as bar:
                task = bar.add_task("Simulating studies", total=replicates or usual_replicates(inputs))
                simulated = simulated_power(
                    inputs, replicates=replicates, on_progress=lambda done: bar.update(task, advance=done)
                )
            found = found.model_copy(update={"simulated": simulated.to_dict()})
        if stop:
            found = found.model_copy(update={"stop": until_decided(inputs, margin, max_dialogues, replicates)})
        written, text = found.model_dump(mode="json"), plan_text(found)
        if prereg:
            zoo_files = list(settings.pop("zoo_files", ()))
            facts, lacking = _launchable(facts_of(inputs, found, settings, exclude), zoo_files)
            write_registered(Path(prereg).expanduser(), facts, found)
            written["preregistration"] = {"file": prereg, "digest": facts.digest}
            zoo_files = zoo_files or (["FILE"] if lacking else [])
            own = [f"zoo_files=[{','.join(zoo_files)}]"] if zoo_files else []
            command = shlex.join(["parlai-humaneval", "launch", str(technique), f"prereg={prereg}", *own])
            text += f"\n\nRegistered as {facts.name} in {prereg}: {command}"
            if lacking and zoo_files == ["FILE"]:
                text += (
                    f"\nReplace FILE with the zoo file that contains {listed(lacking)}; the packaged zoo files do not."
                )
        _print(written, text, out, as_json)
    except asked.PlanError as error:
        raise WrongUsage(error) from error
    if curve and not as_json:
        click.echo(f"\nThe power curve is in {curve}.")


_OF_SETTINGS = {
    "turns": "turns",
    "conversations_per_unit": "dialogues_per_worker",
    "items_per_unit": "dialogues_per_worker",
}
"""Settings of the launch → options of the plan that they answer."""
_APPLIES: dict[str, Callable[[PlanningDefaults], bool]] = {
    "baseline": lambda habits: habits.measures == "share",
    "reuse": lambda habits: not habits.held,
    "dialogue_icc": lambda habits: not habits.held,
    "dialogue_sd": lambda habits: not habits.held,
    "dialogue_pay": lambda habits: not habits.held,
    "rating_sd": lambda habits: habits.measures != "choice",
    "rater_sd": lambda habits: habits.measures != "choice",
}


def _pilot(
    path: str | None, repeats: Repeats | None, compare: bool, technique: str | None, setting: str | None
) -> Pilot | None:
    if path is None:
        if repeats is not None:
            raise asked.PlanError(worded(__file__, "repeats"))
        return None
    if compare:
        raise asked.PlanError("--pilot covers one technique and no others", try_="leave --compare out")
    if not Path(path).expanduser().exists():  # told before seconds of imports
        raise asked.PlanError(worded(__file__, "pilot_missing", path=path))
    from parlai_humaneval.planning.pilot import read_pilot

    return read_pilot(Path(path).expanduser(), technique, setting, repeats)


def _check_comparison(compare: bool, technique: str | None, given: dict[str, Any]) -> None:
    if compare and (given["simulate"] or given["curve"]):
        raise asked.PlanError(
            "--simulate and --curve are for one plan", try_="add --technique, and leave --compare out"
        )
    for option in ("stop", "prereg"):
        if compare and given[option]:
            raise asked.PlanError(f"--{option} is for one plan", try_="add --technique, and leave --compare out")
    own = [f"--{name}" for name in ("setting", "discordance", "shares") if given[name] is not None]
    if technique is None and own:
        raise asked.PlanError("this needs a single technique", where=f"{' and '.join(own)}", try_="add --technique")


def _check_stop(stop: str | None, own: dict[str, Any], typed: dict[str, Any]) -> None:
    """``own``: options that only a study has which stops once it reaches a decision."""
    given = [f"--{name.replace('_', '-')}" for name, value in own.items() if value is not None]
    if given and not stop:
        named = " and ".join(given)
        what = "this is only for studies with stop=decided"
        raise asked.PlanError(what, where=named, try_=f"add --stop decided, or leave {named} out")
    if stop and "judge_agreement" in typed:
        raise asked.PlanError(worded(__file__, "judge_stop"))


def _print(result: dict[str, Any], text: str, out: str | None, as_json: bool) -> None:
    written = json.dumps(result, indent=2, ensure_ascii=False)
    if out:
        try:
            Path(out).write_text(written + "\n", encoding="utf-8")
        except OSError as error:
            raise asked.PlanError(f"the plan cannot be written to {out}: {error.strerror}") from error
    click.echo(written if as_json else text)


def _registered_settings(prereg: str | None, exclude: str | None, chosen: Sequence[str]) -> dict[str, Any]:
    """Settings of the launch that are registered as they are typed; their names are checked by the launch."""
    if prereg is None:
        if lists := [word for word in chosen if "=[" in word]:
            what = f"settings such as {lists[0]} belong in a preregistration, but no file is named"
            raise asked.PlanError(what, try_="add --prereg FILE, or use an option, such as --models 2")
        if chosen:
            raise ExtraWord(chosen[0])
        if exclude is not None:
            raise asked.PlanError("--exclude is for a preregistration", try_="add --prereg FILE, or leave it out")
        return {}
    import yaml

    from parlai_humaneval.planning.preregistration import check_new

    check_new(Path(prereg).expanduser())
    settings = {}
    for word in chosen:
        name, is_set, value = word.partition("=")
        try:
            settings[name] = yaml.safe_load(value) if is_set and name else None
        except yaml.YAMLError:
            is_set = ""
        if not is_set or not name or settings[name] is None:
            raise asked.PlanError(f"{word!r} is not a setting", try_="write NAME=VALUE, as `launch` takes it")
    return settings


def of_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What settings of a launch say of the plan: dialogues that are there, and workers who rate no degraded model."""
    known: dict[str, Any] = {"are_held": False} if settings.get("dialogues") else {}
    return known | ({"degraded": False} if settings.get("quality_control_model", "some") in ("", None) else {})


def facts_of(
    inputs: asked.PlanInputs,
    found: Plan,
    settings: Mapping[str, Any],
    exclude: str | None,
    rule: Mapping[str, Any] | None = None,
) -> Preregistration:
    """What is registered of a plan; ``rule``: as it was typed, of a study that cannot be simulated. Raises
    PreregistrationError, CheckError."""
    from parlai_humaneval.planning.preregistration import preregistration_of
    from parlai_humaneval.quality.registry import known_checks

    if found.stop is not None:
        from parlai_humaneval.planning.stopping import UntilDecided

        until = UntilDecided.model_validate(found.stop)
        rule = {**until.model_dump(include={"margin", "alpha", "max_dialogues"}), "raters_at_a_time": until.in_flight}
    names = known_checks(name.strip() for name in (exclude or "").split(",") if name.strip())
    return preregistration_of(inputs, found, settings, rule=rule, exclude=names)


def write_registered(path: Path, facts: Preregistration, found: Plan, expected: str = "") -> None:
    """Write the file, with the headline of the plan unless something else is ``expected``. Raises PreregistrationError."""
    from parlai_humaneval._util import __version__
    from parlai_humaneval.planning.preregistration import write_preregistration

    headline = found.headline
    if found.stop is not None:
        headline = " ".join(
            [found.stop["headline"], *asked.paragraphs("until_raters", until=found.stop, pilot=found.pilot)]
        )
    write_preregistration(path, facts, expected=expected or headline, version=__version__)


def _launchable(facts: Preregistration, zoo_files: Sequence[str]) -> tuple[Preregistration, list[str]]:
    """The facts as a launch takes them, and models of which no zoo file says anything. Raises HumanevalError: what the
    launch would refuse. Without the crowd tasks there is no launch that could."""
    try:
        preparation = import_module("mephisto_tasks.launch.preparation")
        data_dir = import_module("mephisto_tasks._util.compat").default_data_dir()
    except ImportError:
        return facts, []
    chosen = [f"zoo_files=[{','.join(zoo_files)}]"] if zoo_files else []
    checked: Preregistration = preparation.launchable(facts, data_dir, chosen=chosen)
    speaks = technique_named(facts.technique).engine == "live" or facts.settings.get("generate")
    return checked, preparation.unknown_models(checked.settings["models"], zoo_files) if speaks else []


def until_decided(
    inputs: asked.PlanInputs, margin: float | None, max_dialogues: int | None, studies: int | None
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
        raise asked.PlanError(f"--shares {text!r}: expected numbers, comma separated, such as 54,53,48,35") from error


def plan_text(plan: Plan) -> str:
    parts = [part for part in (plan.judge, plan.stop) if part]
    headlines = [plan.headline, *(part["headline"] for part in parts)]
    lines = [*_wrapped(*headlines), "", *text_table("rows", plan=plan), ""]
    lines += _wrapped(*plan.notes, *(plan.judge or {"notes": []})["notes"], mark="- ")
    lines += _wrapped(*(f"Beware: {note}." for note in (plan.simulated or {}).get("notes", ())), mark="- ")
    if plan.stop:
        from parlai_humaneval.planning.stopping import UntilDecided, most_likely

        until = UntilDecided.model_validate(plan.stop)
        studies = f"{until.studies:,} studies for each scenario, --seed {until.seed}"
        lines += ["", f"Simulated studies that stop once they reach a decision ({studies}):", ""]
        rows = text_table("until", until=until, percent=asked.percent, most_likely=most_likely)
        lines += [*rows, "", *_wrapped(*until.notes, mark="- ")]
    lines += ["", "Sources and assumptions:"]
    return "\n".join([*lines, *_wrapped(*plan.sources, *(plan.stop or {"sources": ()})["sources"], mark="- ")])


def comparison_text(plans: Sequence[Plan], impossible: Mapping[str, asked.PlanError]) -> str:
    from parlai_humaneval.planning.plan import comparison_notes, comparison_words

    lines = [*text_table("comparison", plans=plans), ""]
    lines += [] if plans else [*_wrapped(comparison_words([])), ""]
    judged = _wrapped(*(f"{plan.title}: {plan.judge['headline']}" for plan in plans if plan.judge), mark="- ")
    lines += [*judged, ""] if judged else []
    if plans and plans[0].models > 2 and plans[0].method != "liu2023":
        lines += [
            *_wrapped(f"With every plan, corrected p-values can distinguish any two of the {plans[0].models} models."),
            "",
        ]
    for note in comparison_notes(plans):
        lines += [*_wrapped(note), ""]
    titles: dict[str, list[str]] = {}
    for plan in plans:
        titles.setdefault(plan.gap_means, []).append(plan.title)
    lines += ["The gap is", *_wrapped(*(f"{means} ({listed(of)})" for means, of in titles.items()), mark="- ")]
    reasons = (f"no plan for {name}: {reason}" for name, reason in impossible.items())
    return "\n".join([*lines, *_wrapped(*reasons, mark="- ")])


def text_table(block: str, **facts: Any) -> list[str]:
    """The lines of a table, as a block of ``data/plan_text.jinja`` has them, in columns."""
    template = asked.text_template("plan_text.jinja")
    text = "".join(template.blocks[block](template.new_context(facts)))
    rows = [line.split(" | ") for line in text.splitlines() if line]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _wrapped(*texts: str, mark: str = "") -> list[str]:
    blank = " " * len(mark)
    each = (textwrap.wrap(text, _WIDTH, initial_indent=mark, subsequent_indent=blank) for text in texts)
    return [line for lines in each for line in lines]
