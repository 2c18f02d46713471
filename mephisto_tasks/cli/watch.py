"""``parlai-humaneval watch``: the state of a study, during and after its launches."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mephisto_tasks._util.gc import collector_off
from mephisto_tasks.cli.options import READING, console, described, waiting_for
from parlai_humaneval._util.terminal import say
from parlai_humaneval.cli.errors import CommandError
from parlai_humaneval.i18n.translate import worded

if TYPE_CHECKING:
    from mephisto_tasks.control.orders import Order
    from mephisto_tasks.monitoring.status import StudyStatus
    from mephisto_tasks.monitoring.web import Told

EVERY_S = 2.0
LINE_S = 60.0  # without a terminal, print one line per this time


@described("watch")
def watch(
    task_name: str | None,
    data_dir: Path,
    once: bool,
    as_json: bool,
    page: bool,
    public: bool,
    port: int,
    host: str | None,
    blind_names: bool,
    title: str,
) -> None:
    if (once or as_json) and (page or public):
        raise CommandError("--once and --json print once, so they cannot be combined with --page or --public")
    alone = {"--host": host is not None, "--blind-names": blind_names, "--title": bool(title)}
    lonely = [name for name, given in alone.items() if given]
    if lonely and not public:
        raise CommandError(worded(__file__, "for_public", lonely=", ".join(lonely)))
    if port and page and public:
        raise CommandError("--port can serve only one page", try_="run one command for each page")
    if port and not (page or public):
        raise CommandError("--port needs a page to serve", try_="add --page or --public")
    with ExitStack() as stack:
        if task_name is None:
            from mephisto_tasks.cli.report import list_tasks

            list_tasks(data_dir, as_json)
            return
        from mephisto_tasks.storage.results import check_task

        check_task(data_dir, task_name)
        with waiting_for(READING, on_screens_only=True), collector_off():
            from mephisto_tasks.monitoring.observe import Observer

            observer = Observer(data_dir, task_name)
            standing = observer.standing()
        if as_json:
            say(standing.model_dump_json(indent=2, by_alias=True))
            return
        if once:
            from mephisto_tasks._util.compat import default_data_dir
            from mephisto_tasks.monitoring.terminal import shown, steering

            screen = console()
            screen.print(shown(standing, screen, once=True))
            where = () if data_dir == default_data_dir() else ("--data-dir", str(data_dir))
            screen.print(steering(task_name, where, is_decided=standing.deciding is not None))
            return
        links: list[str] = []
        shows: list[Callable[[StudyStatus], None]] = []
        if page or public:
            from mephisto_tasks.monitoring.web import LOCAL, LeaderboardPage, WatchPage, serve
            from mephisto_tasks.storage.locks import study_folder
        if page:
            from mephisto_tasks.cli.report import viewer_of_task

            give = partial(given_by_page, data_dir, task_name)
            buttons = WatchPage(standing, give, partial(viewer_of_task, data_dir, task_name))
            address, stop_serving = serve(buttons.app(), port)
            stack.callback(stop_serving)
            links.append(f"Page with buttons (its link is secret): {address}{buttons.path()}")
            shows.append(buttons.show)
        if public:
            blind_in = study_folder(data_dir, task_name) if blind_names else None
            board = LeaderboardPage(observer.document, title=title, blind_in=blind_in)
            address, stop_serving = serve(board.app(), port, host or LOCAL)
            stack.callback(stop_serving)
            links.append(f"Public leaderboard: {address}/")
            shows.append(lambda _: board.show(observer.document))
        for link in links:
            click.echo(link)
        from mephisto_tasks.launch.running import stop_on_signals

        stop = stop_on_signals()

        def look() -> StudyStatus:
            now = observer.standing()
            for show in shows:
                show(now)
            return now

        if console().is_terminal:
            _draw(look, standing, links, stop)
        else:
            _lines(look, standing, stop)


def given_by_page(data_dir: Path, task_name: str, order: Order, agreed: str) -> Told:
    """Gives an order as ``steer`` does: what became of it, or what it can cost, which is to be agreed to first."""
    from mephisto_tasks.cli.steer import give_and_wait, price_of, refusals
    from mephisto_tasks.monitoring.web import Told

    for refused in refusals(data_dir, task_name, [order]):
        return Told(refused)
    cost = price_of(data_dir, task_name, [order])
    if cost is not None and cost != agreed:
        return Told(cost, asks=True)
    return Told(give_and_wait(data_dir, task_name, [order])[0].text)


def _draw(look: Callable[[], StudyStatus], standing: StudyStatus, links: list[str], stop: threading.Event) -> None:
    from rich.live import Live

    from mephisto_tasks.monitoring.terminal import Window, pressed_keys, shown

    screen = console()
    with pressed_keys() as keys:
        window = Window(shown(standing, screen, links=links), keys=keys.can_be_read)
        with Live(window, console=screen, auto_refresh=False) as live:
            while not stop.is_set():
                key = keys.wait(EVERY_S, stop)
                if key == "quit":
                    break
                if key is None:
                    window.content = shown(look(), screen, links=links)
                else:
                    window.press(key)
                live.refresh()


def _lines(look: Callable[[], StudyStatus], standing: StudyStatus, stop: threading.Event) -> None:
    from mephisto_tasks.monitoring.terminal import plain
    from mephisto_tasks.monitoring.view import line

    said, due = "", 0.0
    while True:
        if standing.state != said or time.monotonic() >= due:
            click.echo(plain(line(standing)))
            said, due = standing.state, time.monotonic() + LINE_S
        if stop.wait(EVERY_S):
            return
        standing = look()
