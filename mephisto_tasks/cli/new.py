"""``parlai-humaneval new``: set up a study on a page or in the terminal, and write it as one commented file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import yaml
from rich.text import Text

from mephisto_tasks._util.gc import collector_off
from mephisto_tasks.cli.launch import check_settings
from mephisto_tasks.cli.options import LOADING, as_written, console, described, waiting_for
from mephisto_tasks.config.files import typed_settings
from mephisto_tasks.config.names import texts_of
from parlai_humaneval._util.terminal import say_json
from parlai_humaneval.cli.errors import CommandError, WrongUsage
from parlai_humaneval.cli.options import TechniqueChoice
from parlai_humaneval.planning.inputs import HOURLY_WAGE
from parlai_humaneval.techniques.registry import technique, techniques

if TYPE_CHECKING:
    from mephisto_tasks.launch.config_reference import Setting
    from mephisto_tasks.launch.new_study import Bar, Choices, Draft

BAR = 24  # Letters of the longest bar
PARTNERS = ("retrieval", "eliza")  # What the only model that is named is compared with
MANY = " (separate several by commas)"


@described(
    "new", task={"type": TechniqueChoice(list(techniques()))}, wage={"default": HOURLY_WAGE}, gap={"default": 0.1}
)
def new(
    chosen: tuple[str, ...],
    models: tuple[str, ...],
    task: str,
    out: str,
    gap: float,
    power: float,
    wage: float,
    terminal: bool,
    yes: bool,
    force: bool,
    as_json: bool,
    port: int,
) -> None:
    if as_json and not yes:
        raise WrongUsage("--json prints the study without questions", try_="add --yes")
    of_title = click.get_current_context().meta
    settings: dict[str, Any] = {"setting": of_title["setting"]} if "setting" in of_title else {}
    for word in chosen:
        name, is_set, value = word.partition("=")
        try:
            settings[name] = yaml.safe_load(value)
        except yaml.YAMLError:
            is_set = ""
        if not is_set or not name:
            raise WrongUsage(f"{word!r} is not a setting", try_="write NAME=VALUE, as `launch` takes it")
    if not 0 < gap < 1:
        raise WrongUsage(f"--gap {gap:g} is not a share between 0 and 1", try_="write ten points as --gap 0.1")
    path = Path(out).expanduser()
    if path.name != "study.yaml":  # two files are two studies, which launches tell apart by this name
        settings.setdefault("task_name", path.stem)
    if models and "models" in settings:
        raise WrongUsage("--model and models=… are the same setting", try_="leave one of them out")
    if models:
        settings["models"] = with_partners(models)
    if yes and technique(task).engine == "live":  # the page and the terminal ask again
        from parlai_humaneval.models.selection import specs_of
        from parlai_humaneval.models.zoo.entries import load_zoo

        named, zoo_files = settings.get("models"), settings.get("zoo_files") or []
        if isinstance(named, list) and isinstance(zoo_files, list):
            here = [name for name in map(str, named) if "://" not in name]
            specs_of(here, load_zoo(more=map(str, zoo_files)))  # raises ZooError where one of this machine is not there
    if terminal or yes:
        check_settings(task, (*typed_settings(settings),))
    else:
        from mephisto_tasks.server.thread import listen

        listen("127.0.0.1", port, "--port …").close()
    with waiting_for(LOADING), collector_off():
        from mephisto_tasks.launch.new_study import Choices, closed, draft, in_words, launch_command, write_study

    choices = Choices(technique=task, settings=settings, gap=gap, power=power, wage=wage)
    if not (terminal or yes):
        _serve(choices, path, port)
        return
    if terminal and not yes:
        choices = _Interview(choices, path).choices()
    made = draft(choices, path)
    if made.problems and yes:
        raise CommandError([problem for error in made.errors for problem in error.problems])
    if not force and path.is_file() and not yes:
        force = click.confirm(f"{path} already exists. Replace it?", default=False)
    written = write_study(made, path, replace=force)
    if as_json:
        say_json(
            {
                **made.model_dump(mode="json"),
                "files": list(map(str, written)),
                "command": launch_command(path, made.missing),
            }
        )
        return
    screen = console()
    for sentence in filter(None, ["" if made.estimate is None else in_words(made.estimate), made.remark]):
        screen.print(as_written(sentence), soft_wrap=True)
    for problem in made.problems:
        screen.print(as_written(f"Before you launch: {problem}", "yellow"), soft_wrap=True)
    if status := closed([str(choices.settings.get("place"))]):
        screen.print(as_written(f"Before you launch: {status}", "yellow"), soft_wrap=True)
    command = launch_command(path, made.missing)
    screen.print(as_written(f"Wrote {' and '.join(map(str, written))}. Launch it:  {command}"), soft_wrap=True)


def _serve(choices: Choices, path: Path, port: int) -> None:
    from mephisto_tasks.cli.new_page import NewPage
    from mephisto_tasks.launch.running import stop_on_signals
    from mephisto_tasks.monitoring.web import serve

    page = NewPage(choices, path)
    address, stop_serving = serve(page.app(), port)
    page.address = address
    stop = stop_on_signals()
    try:
        click.echo(f"Set up your study here (the link is secret): {address}{page.path()}")
        click.echo(f"It writes {path}. Ctrl-C ends the page.")
        stop.wait()
    finally:
        stop_serving()
        page.close()


def with_partners(models: Sequence[str]) -> list[str]:
    """At least two models to compare."""
    return list(dict.fromkeys([*models, *PARTNERS]))[: max(2, len(models))]


class _Interview:
    """Questions in the terminal, each with a default; a wrong answer is explained, and asked for again."""

    def __init__(self, choices: Choices, path: Path) -> None:
        self._choices, self._path, self._out = choices, path, console()

    def choices(self) -> Choices:
        from mephisto_tasks.launch.new_study import bars, conf_of, draft, fields, speaking

        self._models()
        self._again(self._ask_gap)
        self._ask_technique(bars(self._choices))
        if not speaking(self._choices.technique):
            self._set("models", None)
        self._tell(draft(self._choices, self._path))
        conf, *_ = fields(self._choices.technique)
        self._again(partial(self._ask, conf))
        for setting in fields(self._choices.technique, conf_of(self._choices)):
            if setting.name not in ("models", conf.name):
                self._again(partial(self._ask, setting))
        return self._choices

    def _again(self, ask: Callable[[], None]) -> None:
        """Ask until the answer is one that a launch takes."""
        from mephisto_tasks.launch.new_study import draft

        before = self._choices
        while True:
            ask()
            if self._choices == before:
                return
            known, made = draft(before, self._path), draft(self._choices, self._path)
            problems = [problem for problem in made.problems if problem not in known.problems]
            if not problems:
                if made.estimate != known.estimate:
                    self._tell(made)
                return
            self._choices = before
            for problem in problems:
                self._out.print(as_written(problem, "yellow"), soft_wrap=True)

    def _models(self) -> None:
        from mephisto_tasks.launch.new_study import draft, first_reply

        given = texts_of(self._choices.settings.get("models")) or with_partners([])
        zoo_files = texts_of(self._choices.settings.get("zoo_files"))
        self._set("models", None)
        before = self._choices
        while True:
            answer = click.prompt("Models: names, files, folders or addresses" + MANY, ",".join(given))
            named = [name.strip() for name in answer.split(",") if name.strip()]
            names = with_partners(named)
            if added := [name for name in names if name not in named]:
                self._out.print(as_written(f"Compared with: {', '.join(added)}"))
            with waiting_for("Asking the models…"):
                replies = [first_reply(name, zoo_files) for name in names]
            for one in replies:
                self._out.print(as_written(f"{one.model}: “{one.reply}”" if one.reply else f"{one.model}: {one.why}"))
            self._set("models", names)
            if all(one.reply for one in replies):
                return
            are_there = set(draft(self._choices, self._path).problems) <= set(draft(before, self._path).problems)
            if are_there and click.confirm("Continue with these models?", default=False):
                return
            self._choices, given = before, with_partners([one.model for one in replies if one.reply])

    def _ask_gap(self) -> None:
        points = click.prompt("Smallest difference that you must not miss, in points of 100", 100 * self._choices.gap)
        self._update(gap=points / 100)

    def _ask_technique(self, found: list[Bar]) -> None:
        self._out.print(drawn(found))
        title = technique(self._choices.technique).title
        words = TechniqueChoice(list(techniques()))
        self._update(technique=click.prompt("Technique", title, type=words, show_choices=False))

    def _tell(self, made: Draft) -> None:
        from mephisto_tasks.launch.new_study import in_words

        for words in filter(None, [made.remark, "" if made.estimate is None else in_words(made.estimate)]):
            self._out.print(as_written(words, "bold"), soft_wrap=True)

    def _ask(self, setting: Setting) -> None:
        from mephisto_tasks.launch.new_study import choices_of, closed, draft, is_paid, published_question, value_of

        known = choices_of(self._choices.technique, setting.name)
        if len(known) == 1:
            return
        self._out.print(Text(setting.in_a_sentence, "dim"))
        if known:
            self._out.print(Text(f"One of: {', '.join(known)}. {closed(known)}", "dim"))
        if setting.name == "question":
            self._out.print(Text(f"Now: {published_question(self._choices)}", "dim"))
        # What holds if nothing is typed: the amount of the plan, the wage where raters expect a reward.
        found, given = draft(self._choices, self._path).estimate, self._choices.settings
        held: Any = given.get(setting.name, setting.default)
        if found is not None and setting.name == technique(self._choices.technique).amount:
            held = found.amount or held
        if found is not None and setting.name == "task_reward" and is_paid(given):
            held = given.get("task_reward", found.reward)
        default = "" if held in (None, "null") else str(held)
        answer = click.prompt(setting.name, default)
        if answer != default:
            self._set(setting.name, value_of(setting, answer))

    def _set(self, name: str, value: Any) -> None:
        kept = {key: kept for key, kept in self._choices.settings.items() if key != name}
        self._update(settings=kept if value in (None, "") else {**kept, name: value})

    def _update(self, **changes: Any) -> None:
        self._choices = self._choices.model_copy(update=changes)


def drawn(bars: list[Bar]) -> Text:
    """The cost of each technique for the gap, as bars."""
    longest = max((bar.cost for bar in bars), default=1.0) or 1.0
    width = max((len(bar.title) for bar in bars), default=0)
    lengths = [max(1, round(BAR * bar.cost / longest)) for bar in bars]
    lines = (
        f"{bar.title:<{width}}  {'█' * length:<{BAR}}  ${bar.cost:,.0f}, {bar.hours:,.0f} hours"
        for bar, length in zip(bars, lengths, strict=True)
    )
    return Text("\n".join(lines))
