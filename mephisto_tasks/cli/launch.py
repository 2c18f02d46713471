"""``parlai-humaneval launch``: run a crowd task until it is done, or you stop it; or list its settings."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from itertools import combinations, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.text import Text

from mephisto_tasks._util.gc import collector_off
from mephisto_tasks.cli import options
from mephisto_tasks.config.files import check_models, check_typed, read_short_conf, technique_of_file
from mephisto_tasks.config.names import PLAIN_CONF, ROOT, name_of
from mephisto_tasks.storage.locks import any_running
from mephisto_tasks.storage.sqlite import passing
from parlai_humaneval._util.errors import misspelt
from parlai_humaneval._util.terminal import say, say_json
from parlai_humaneval._util.text import on_one_line
from parlai_humaneval.cli.errors import CommandError, WrongUsage
from parlai_humaneval.i18n.translate import worded
from parlai_humaneval.statistics.core.formatting import sentence
from parlai_humaneval.techniques.registry import technique, techniques

if TYPE_CHECKING:
    from mephisto_tasks.config.task import ArchitectSettings
    from mephisto_tasks.crowds.crowd import Agree, Crowd
    from mephisto_tasks.launch.config import Takes
    from mephisto_tasks.launch.config_reference import Setting
    from mephisto_tasks.launch.launch import RunningStudy
    from mephisto_tasks.payments.policy import Quote
    from mephisto_tasks.session.study import Study


def show_settings(task: str, chosen: Sequence[str], as_json: bool) -> None:
    """Print all settings of a task, those named, or those of a place; ``conf=NAME``: whose defaults. Raises ConfigError."""
    from mephisto_tasks.crowds.registry import crowds
    from mephisto_tasks.launch.config_reference import list_settings, one_setting

    confs = [word.partition("=")[2] for word in chosen if word.startswith("conf=")]
    names = [word.partition("=")[0] for word in chosen if not word.startswith("conf=")]
    listed = list_settings(task, confs[-1] if confs else PLAIN_CONF)
    of_place = {
        f"{ROOT}provider.{field}"
        for crowd in crowds()
        if [crowd.place] == names
        for field in crowd.Settings.model_fields
    }
    if of_place:
        listed, names = [setting for setting in listed if setting.full_name in of_place], []
    shown = [setting for name in names for setting in one_setting(task, listed, name)] if names else listed
    if as_json:
        say_json([setting.model_dump() for setting in shown])
    elif names:
        click.echo("\n\n".join(_all_of(setting, task) for setting in shown))
    else:
        out = options.console()
        for topic, group in groupby(shown, key=lambda setting: setting.topic):
            settings = [(setting, on_one_line(setting.default, 24)) for setting in group]  # a single setting shows all
            columns = zip(*((each.name, text) for each, text in settings), strict=True)
            longest_name, longest_default = (max(map(len, column)) for column in columns)
            out.print(f"\n[bold]{topic}[/bold]")
            for setting, default in settings:
                named, begins = (setting.name.ljust(longest_name), "bold"), (default.ljust(longest_default), "cyan")
                line = Text.assemble(named, "  ", begins, "  ", setting.in_a_sentence)
                if out.is_terminal:
                    line.truncate(out.width, overflow="ellipsis")
                out.print(line, soft_wrap=True)
        click.echo(f"\nDetails of one setting:  {options.PROGRAM} launch {task} --list-settings NAME")
        click.echo(
            "In most shells, values with brackets or spaces need quotes (zsh otherwise looks for files): 'models=[a,b]'"
        )


def _all_of(setting: Setting, task: str) -> str:
    rows = {
        "default": setting.default or "(nothing)",
        "allowed": setting.allowed,
        "example": f"{options.PROGRAM} launch {task} {setting.example}",
        "stored as": setting.full_name,
    }
    lines = [f"  {name:<10}{value}" for name, value in rows.items() if value != setting.name]
    return "\n".join([click.style(setting.name, bold=True), f"  {' '.join(setting.description.split())}", *lines])


_ALIKE = 0.75  # A word as like a technique's name as this is that name, misspelt; “turns” is less like “pw_turn”.
CUT_SHORT = """
The second Ctrl-C interrupted the launch while it was shutting down, so {units} may still be {where}.
The next launch removes them, as does
  parlai-humaneval requester expire {task}"""


@options.described("launch", cls=options.TechniqueCommand)
def launch(
    task: str,
    chosen: tuple[str, ...],
    data_dir: Path,
    list_confs: bool,
    list_settings: bool,
    only_total: bool,
    as_json: bool,
    yes: bool,
    verbose: bool,
) -> None:
    task, chosen = technique_of_file(task, chosen)
    if as_json and not (only_total or list_settings):
        raise WrongUsage("--json requires --total or --list-settings", try_="add one of them, or leave --json out")
    if list_settings:
        known = techniques()
        if task not in known and misspelt(task, known, cutoff=_ALIKE, spelled=task.replace("-", "_")) is None:
            raise WrongUsage(worded(__file__, "technique_first", task=task, options=options))
    entry = technique(task)
    if list_confs or list_settings:
        with options.waiting_for(options.LOADING), collector_off():
            from mephisto_tasks.launch.config import conf_names
        if list_confs:
            click.echo("\n".join(conf_names(task)))
        else:
            show_settings(task, chosen, as_json)
        return
    split_settings(chosen)  # missing files are reported before the models in them
    check_models(entry, chosen)
    server = check_settings(task, chosen, _check_paid if only_total else bool)
    if not only_total:
        if not any_running(data_dir):  # it may learn of changes
            check_port(server)
        click.echo(f"Launching {entry.title}: {entry.summary}.", err=True)
    with options.waiting_for(options.LOADING), collector_off():
        from mephisto_tasks.cli.steer import change_running
        from mephisto_tasks.control.snapshot import is_alive
        from mephisto_tasks.crowds.registry import crowd_in
        from mephisto_tasks.launch import config as settings
        from mephisto_tasks.launch import launch as launching
        from mephisto_tasks.launch.preparation import settings_of

    conf, overrides = split_settings(chosen)
    if verbose:
        overrides.append("mephisto.log_level=info")
        logging.getLogger("mephisto_tasks").setLevel(logging.INFO)
    with options.waiting_for("Reading the settings…", on_screens_only=True):
        config = settings.compose_config(task, conf, overrides)
    crowd = crowd_in(config)
    if only_total:
        _check_paid(crowd)
    task_name = str(config.mephisto.task.task_name)
    if data_dir.is_dir() and is_alive(data_dir, task_name) and not only_total:
        change_running(task, settings_of(config), data_dir, task_name, yes)
        return
    agree: Agree = partial(show_total, as_json) if only_total else partial(ask_about_total, yes)
    stop = launching.stop_on_signals()
    try:
        with launching.run_launch(task, config, data_dir, options.waiting_for, agree, stop) as run:
            announce(
                run, paid_by_hand=crowd.accounts() is None, is_draft=bool(config.mephisto.provider.get("draft_only"))
            )
            follow(run, stop)
            tell_answer(run)
            why = None if stop.is_set() else run.unfinished()
            if why is not None:
                options.console().print(options.as_written(why, "yellow"), soft_wrap=True)
    except KeyboardInterrupt:
        if crowd.accounts() is not None:
            where, unit = crowd.words.where, f"{crowd.words.unit}s"
            task = options.task_options(task_name, data_dir)
            click.echo(CUT_SHORT.format(task=task, where=where, units=unit), err=True)
        raise
    click.echo(f"See the results:  {options.as_typed_here('report', run.task_name, run.data_dir)}")
    if run.study.is_paid and not crowd.is_practice:
        click.echo(f"Pay the raters:   {options.as_typed_here('pay', run.task_name, run.data_dir)}")
    if run.live_run.task_launcher.left_on_site or why is not None:  # what stayed on the crowd's site was told
        raise click.exceptions.Exit(1)


def _check_paid(crowd: Crowd) -> None:
    """Refuse ``--total`` where the crowd has no price."""
    from mephisto_tasks.crowds.registry import crowds

    if not crowd.market.has_price:
        paid = [f"place={each.place}" for each in crowds() if each.market.has_price and each.status() is None]
        advice = f"add {' or '.join(paid)}" if paid else "leave it out, because this launch pays no site"
        raise WrongUsage("`--total` works only with a crowd that you pay", try_=advice)


def show_total(as_json: bool, total: Quote) -> None:
    if as_json:
        click.echo(total.model_dump_json(indent=2))
    else:
        print_total(total)
        if total.refusal is not None:
            click.echo(f"A launch would be refused: {CommandError(total.refusal, try_=total.advice)}", err=True)
    raise click.exceptions.Exit(0)


def ask_about_total(yes: bool, total: Quote) -> None:
    """Shows the total of a launch that costs real money, and goes on only where somebody agrees."""
    if not (total.is_real or total.shown_only):
        return
    print_total(total)
    if total.refusal is not None:
        raise CommandError(total.refusal, try_=total.advice)
    if total.is_real:
        options.confirm(
            yes,
            why=f"this spends real money, up to {total.money(total.total)}, and ",
            otherwise="Nothing was created, and nothing was spent.",
        )


def print_total(total: Quote) -> None:
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column()
    table.add_column(justify="right")
    for words, amount in total.table():
        table.add_row(words, amount)
    options.console().print(f"\n[bold]{total.heading}:[/bold]")
    options.console().print(table)
    if total.remark is not None:
        options.console().print(options.as_written(total.remark, "yellow"), soft_wrap=True)


def split_settings(settings: tuple[str, ...]) -> tuple[str, list[str]]:
    confs = [setting.partition("=")[2] for setting in settings if setting.startswith("conf=")]
    if len(confs) > 1:
        raise WrongUsage("conf= is given more than once", try_="keep only one of them")
    if torn := _torn_apart(settings):
        whole = re.sub(r"(?<![,\[:]) (?![,\]])", ", ", " ".join(torn))
        raise WrongUsage(f"{' '.join(torn)} was split into {len(torn)} pieces", try_=f"quote it: '{whole}'")
    wrong = [setting for setting in settings if "=" not in setting and not setting.startswith("~")]
    if wrong:
        raise WrongUsage(f"{wrong[0]!r} is not a setting", try_="write NAME=VALUE, or conf=NAME")

    conf = confs[0] if confs else PLAIN_CONF
    check_typed(settings)
    if (of_file := read_short_conf(conf)) is not None:
        check_typed(of_file.overrides, of_file)
    return conf, [s for s in settings if not s.startswith("conf=")]


def check_settings(task: str, chosen: tuple[str, ...], takes: Takes | None = None) -> ArchitectSettings | None:
    """Say what is wrong with settings, before seconds of imports; as :func:`check_first` does. Raises ConfigError."""
    conf, overrides = split_settings(chosen)
    with collector_off():
        from mephisto_tasks.launch.config import check_first
    return check_first(task, conf, overrides, takes)


def check_port(server: ArchitectSettings | None, chosen: Sequence[str] = (), **options: Any) -> None:
    """Raises PortInUse; ``options``: the command's ``port`` and ``hostname``, unless they were typed as settings."""
    if server is not None:
        from mephisto_tasks.server.thread import listen

        for name in {name_of(word).rpartition(".")[2] for word in chosen} & set(options):
            del options[name]
        at = {"hostname": server.hostname, "port": server.port, **options}
        listen(at["hostname"], at["port"], "--port …" if "port" in options else "port=…").close()


def _torn_apart(settings: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a list that a shell took apart at its spaces, where there is one: ``models=[a,`` and ``b]``."""
    spans = (settings[first:last] for first, last in combinations(range(len(settings) + 1), 2))
    begun = (words for words in spans if words[0].count("[") > words[0].count("]"))
    return next((words for words in begun if "".join(words).count("[") == "".join(words).count("]")), ())


def announce(
    run: RunningStudy,
    stopping: str = "Ctrl-C stops the launch. Launching again continues the study.",
    *,
    paid_by_hand: bool = False,
    is_draft: bool = False,
) -> None:
    """Where raters go, and how to stop; ``paid_by_hand``: by whoever launched; ``is_draft``: nothing is published."""
    from mephisto_tasks.session.study import until_decided

    out = options.console()
    groups = run.study.progress()
    what = run.study.unit_words.counted
    deciding = run.study.deciding_now()
    to_collect = f"{what.capitalize()} to collect:" if deciding is None else until_decided(deciding.standing, what)
    out.print(Text.assemble("\n", (run.task_name, "bold"), f" is {'a draft' if is_draft else 'running'}. {to_collect}"))
    for group in groups:
        done = f", {group.completed} done already" if group.completed else ""
        stopped = f"; none more: {group.stopped}" if group.stopped else ""
        number = "" if group.wanted is None else f"{group.wanted} of "
        out.print(f"  {number}{group.label}{done}{stopped}", markup=False)
    if run.study.steered.paused is not None:
        task = options.task_options(run.task_name, run.data_dir)
        out.print(
            options.as_written(f"Paused: no new raters start until `parlai-humaneval steer resume {task}`.", "yellow")
        )
    for remark in run.study.remarks:
        out.print(options.as_written(remark, "yellow"))
    if run.only_invited:
        out.print("Raters join through links that you send them:")
        invite = f"{options.as_typed_here('invite', run.task_name, run.data_dir)} --names people.csv"
        out.print(Text(f"  {invite}", style="bold cyan"), soft_wrap=True)
        _print_promise(run, out)
    elif run.panel_link is None:
        out.print(f"{run.link_words}  [bold cyan]{run.raters_link}[/bold cyan]", soft_wrap=True)
        if paid_by_hand:
            _print_promise(run, out)
    else:
        out.print(run.link_words)
        out.print(Text(f"  {run.panel_link}", style="bold cyan"), soft_wrap=True)
    announce_partners(run, out)
    out.print(f"Answers are stored in {run.data_dir}\n{stopping}\n", markup=False, emoji=False)


def _print_promise(run: RunningStudy, out: Console) -> None:
    if run.study.is_paid:
        promise = f"The page tells raters: “{run.study.instructions.pay}”"
        how = "" if run.study.config.pay else " (task_reward=0 promises no pay)"
        out.print(options.as_written(promise + how), soft_wrap=True)


def announce_partners(run: RunningStudy, out: Console) -> None:
    """Where the people write who are one of the models, if one is; simulated raters wait for them as people do."""
    if run.partner_url is not None:
        out.print("Secret link for partners, who write the replies of the human model:")
        out.print(f"  [bold cyan]{run.partner_url}[/bold cyan]", soft_wrap=True)


def follow(run: RunningStudy, stop: threading.Event) -> None:
    """A progress bar until done or stopped; where nobody looks on, a line a minute."""
    (follow_on_screen if options.console().is_terminal else follow_in_lines)(run, stop)
    if stop.is_set():
        click.echo("Stopping: raters see a message, and all of their work is kept…")


def tell_answer(run: RunningStudy) -> None:
    """Print the answer of a study that stops once it reaches a decision, or how far it is and what can be done."""
    if (deciding := run.study.deciding_now()) is not None:
        options.console().print(options.as_written(sentence(str(deciding)), "bold"), soft_wrap=True)
        if deciding.standing.next_step:
            options.console().print(options.as_written(deciding.standing.next_step), soft_wrap=True)


def follow_on_screen(run: RunningStudy, stop: threading.Event) -> None:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.fields[so_far]}"), BarColumn(), TextColumn("{task.fields[running]}"))
    with Progress(*columns, TimeElapsedColumn(), console=options.console()) as progress:
        bar = progress.add_task("", **_on_bar(run))
        while not stop.is_set() and not run.is_done():
            if warning := run.warning():
                progress.console.print(options.as_written(warning, "yellow"), soft_wrap=True)
            progress.update(bar, **_on_bar(run))
            stop.wait(0.5)
        while warning := run.warning():  # such as the order that ended it
            progress.console.print(options.as_written(warning, "yellow"), soft_wrap=True)
        progress.update(bar, **{**_on_bar(run), "running": ""})


def _on_bar(run: RunningStudy) -> dict[str, Any]:
    from mephisto_tasks.control.snapshot import done_words, so_far

    groups, deciding = run.study.progress(), run.study.deciding_now()
    done, wanted = so_far(groups, deciding)
    running = sum(group.running for group in groups)
    paused = " (paused)" if run.study.steered.paused else ""
    still_open = "" if deciding is None or deciding.standing.ended else f"; {deciding.standing.open_words}"
    return {
        "completed": done,
        "total": wanted,
        "so_far": f"{done_words(done, wanted, deciding)} {run.study.unit_words.counted}",
        "running": f"{running} running{paused}{still_open}",
    }


EVERY_S = 60.0


def follow_in_lines(run: RunningStudy, stop: threading.Event) -> None:
    """A line at the beginning, a minute after the last one, and at the end; warnings and orders at once."""
    next_line = time.monotonic()
    while not stop.is_set() and not run.is_done():
        if said := run.warning():
            _say(said)
        if time.monotonic() >= next_line:
            _say(line(run.study))
            next_line += EVERY_S
        stop.wait(0.5)
    while said := run.warning():  # such as the order that ended it
        _say(said)
    _say(line(run.study))


def line(study: Study) -> str:
    from mephisto_tasks.control.snapshot import one_line

    done, wanted = study.so_far()
    return one_line(
        done,
        wanted,
        study.unit_words.counted,
        inside=study.presence.inside(str),
        door=study.presence.door(),
        models=study.models_now(),
        is_paused=study.steered.paused is not None,
        deciding=study.deciding_now(),
    )


def _say(text: str) -> None:
    try:
        say(f"{datetime.now():%Y-%m-%d %H:%M:%S}  {text}")
    except OSError as error:  # lines that go into a file of a full disk must not end the study
        if passing(error) is None:
            raise
