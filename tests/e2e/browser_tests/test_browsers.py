"""One place, and several browsers that want it: the one that began goes on, others wait or are refused."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Error, expect

from .conftest import launched, open_context
from .looks import Looks
from .rater import Rater
from .study import ODD_MODELS, Study, odd_zoo
from .watch import Watch

pytestmark = pytest.mark.browser

GREETING = "It is a friendly greeting."


@dataclass
class CrowdSite:
    """A page of another site, which shows what its own address names in a frame."""

    port: int

    def framing(self, address: str) -> str:
        # By name, where the study goes by number: to a browser these are two sites.
        return f"http://localhost:{self.port}/?{urlencode({'show': address})}"


class _Framing(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        page = (
            "<!doctype html><html lang=en><title>Crowd</title><iframe title='The task' width=1200 height=700></iframe>"
            "<script>document.querySelector('iframe').src = new URLSearchParams(location.search).get('show')</script>"
        )
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(page.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Not here."""


@pytest.fixture(scope="module")
def crowd_site() -> Iterator[CrowdSite]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Framing)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield CrowdSite(server.server_port)
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def one_place(tmp_path_factory: pytest.TempPathFactory, crowd_site: CrowdSite) -> Iterator[Study]:
    folder = tmp_path_factory.mktemp("one-place") / "study"

    def launch(folder: Path) -> Study:
        settings = [
            f"models=[{','.join(ODD_MODELS)}]",
            f"zoo_files=[{odd_zoo(folder)}]",
            "dialogues_per_group=20",
            "turns=1",
            "onboarding_qualification=null",
            "max_concurrent=1",
        ]
        frame = f'mephisto.architect.frame_sites=["http://localhost:{crowd_site.port}"]'
        return Study(folder, "e2e-one-place", [*(f"mephisto.blueprint.{setting}" for setting in settings), frame])

    yield from launched(launch, folder)


def test_a_place_is_its_browser_s_and_the_next_comes_in_when_it_is_free(
    visit: Callable[..., Rater], one_place: Study
) -> None:
    """Start gives a signed address. Whoever copies it reads where to go on, and disturbs nobody; a reload, a second tab, and
    the loss of the cookie or of what the page stores change nothing. Who is too many waits, and need press nothing."""
    looks = Looks("phone")
    first = visit(one_place.url)
    worker = first.start_from_preview()
    address = first.page.url
    first.sees_task()
    cards = first.cards()

    thief = visit(one_place.url, "finger")
    thief.page.goto(address)
    expect(thief.page.get_by_role("heading", name="This task is open in another browser")).to_be_visible()
    expect(thief.page.get_by_role("main")).not_to_contain_text(cards[0].text)
    looks.look(thief.page, "other-browser")
    thief.page.goto(address.partition("&sig=")[0])  # without its signature
    expect(thief.page.get_by_role("heading", name="This task is open in another browser")).to_be_visible()

    late = visit(one_place.url, "finger")
    late.start_from_preview()
    expect(late.page.get_by_role("heading", name="The study is full right now")).to_be_visible()
    expect(late.page.get_by_text("The next try is in")).to_be_visible()
    looks.look(late.page, "full")
    waits_as = late.page.url

    assert first.cards() == cards
    first.page.context.clear_cookies()
    first.page.reload()
    assert first.cards() == cards
    first.page.evaluate("localStorage.clear()")
    first.page.reload()
    assert first.cards() == cards
    tab = first.another_tab()
    tab.page.goto(address)
    tab.sees_task()
    assert tab.cards() == cards
    expect(first.page.get_by_role("heading", name="This task is open in another window")).to_be_visible()

    tab.rate(1, GREETING)
    tab.finish()
    late.sees_task()
    late.rate(1, GREETING)
    late.finish()
    assert late.page.url == waits_as
    assert one_place.finished_record_of(worker).status == "complete"
    assert {
        name: look.sideways for name, look in looks.looks.items() if any(n > 0 for n in look.sideways.values())
    } == {}
    assert {name: look.violations for name, look in looks.looks.items() if any(look.violations.values())} == {}


def test_a_frame_of_another_site_is_known_again_though_its_page_may_store_nothing(
    whole_chromium: Browser, one_place: Study, crowd_site: CrowdSite
) -> None:
    """Guards the way of MTurk and of panels: to the browser, all that is kept there is a third party's, and only a cookie
    that is marked so is taken."""
    context = open_context(whole_chromium)
    page = context.new_page()
    page.goto(crowd_site.framing(f"{one_place.url}?worker_id=framed&assignment_id=a"))

    def rater() -> Rater:
        element = page.get_by_title("The task").element_handle()
        frame = element.content_frame()
        assert frame is not None
        return Rater(page, one_place.url, Watch(context), screen=frame)

    rater().sees_task()
    cards = rater().cards()
    kept = [(cookie["sameSite"], cookie["secure"], cookie["httpOnly"]) for cookie in context.cookies()]
    assert kept == [("None", True, True)]
    with pytest.raises(Error, match="Access is denied"):
        rater().screen.evaluate("localStorage.length")
    page.reload()
    rater().sees_task()
    assert rater().cards() == cards
    rater().rate(1, GREETING)
    rater().finish()
    alone = open_context(whole_chromium)
    other = alone.new_page()
    other.goto(f"{one_place.url}?worker_id=framed&assignment_id=a")
    expect(other.get_by_role("heading", name="This task is open in another browser")).to_be_visible()
    alone.close()
    context.close()
