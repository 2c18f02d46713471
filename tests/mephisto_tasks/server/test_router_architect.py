"""The Architect: one launch, one port, and nothing left behind."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from forked import Forked
from omegaconf import OmegaConf

from mephisto_tasks._util import compat
from mephisto_tasks.adapter.architect import (
    CannotListen,
    HumanevalLocalArchitect,
    HumanevalLocalArchitectArgs,
    PortInUse,
)
from mephisto_tasks.simulation.page_client import PageClient

compat.prepare()

from mephisto.data_model.packet import Packet

SERVE_FOR_EVER = """
import sys, time
from pathlib import Path
from mephisto_tasks.server.router import Router
from mephisto_tasks.server.app import create_app
from mephisto_tasks.server.thread import RouterThread

thread = RouterThread(create_app(Router(), Path(sys.argv[1])), "127.0.0.1", 0)
thread.start()
print(thread.port, flush=True)
if sys.argv[2] == "crash":
    sys.stdin.read(1)
    raise RuntimeError("crash")
time.sleep(60)
"""


class Builder:
    """Stands for the blueprint's TaskBuilder: puts the built page where Mephisto's would."""

    def __init__(self, task_run: object, args: object) -> None:
        pass

    def build_in_dir(self, build_dir: str) -> None:
        assert (Path(build_dir) / "static" / "task_config.json").exists()
        (Path(build_dir) / "static" / "index.html").write_text("<title>Page</title>")


Make = Callable[..., HumanevalLocalArchitect]


@pytest.fixture
def architect(tmp_path: Path) -> Iterator[Make]:
    """Makes architects with a mock task run; all are shut down in the end."""
    made: list[HumanevalLocalArchitect] = []

    def make(provider_type: str = "mock", **options: Any) -> HumanevalLocalArchitect:
        args = config(**options)
        blueprint = SimpleNamespace(TaskBuilderClass=Builder, get_frontend_args=lambda: {"title": "A study"})
        script = tmp_path / "provider.js"
        provider = SimpleNamespace(get_wrapper_js_path=lambda: str(script))
        script.write_text("// the provider's own")
        run = SimpleNamespace(
            db_id="1",
            provider_type=provider_type,
            args=args,
            get_blueprint=lambda: blueprint,
            get_provider=lambda: provider,
        )
        new = HumanevalLocalArchitect(None, args, None, run, str(tmp_path / f"build{len(made)}"))
        made.append(new)
        return new

    yield make
    for each in made:
        each.shutdown()


def config(**options: Any) -> Any:
    return OmegaConf.create({"architect": OmegaConf.structured(HumanevalLocalArchitectArgs(**options))})


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5) as response:
        text: str = response.read().decode()
        return text


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_it_serves_what_the_blueprint_built(architect: Make) -> None:
    """Page, configuration and script are served, also after Mephisto has removed the built folder."""
    one = architect(port="0")
    built = Path(one.prepare())
    url = one.deploy()
    one.cleanup()
    assert not built.exists()
    assert "Page" in get(url)
    shown = json.loads(get(f"{url}/task_config.json"))
    assert (shown["title"], shown["provider_type"]) == ("A study", "mock")
    script = get(f"{url}/wrap_crowd_source.js")
    for name in ("getWorkerName", "getAssignmentId", "getAgentRegistration", "handleSubmitToProvider"):
        assert f"function {name}(" in script
    assert "alert(" not in script


def test_a_site_that_one_names_may_show_the_page(architect: Make) -> None:
    one = architect("mturk_sandbox", port=0, frame_sites=["https://crowd.example.org/", "http://127.0.0.1:8111"])
    one.prepare()
    with urllib.request.urlopen(one.deploy(), timeout=5) as response:
        policy = response.headers["Content-Security-Policy"]
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    for directive in ("frame-ancestors", "form-action"):
        assert directives[directive].endswith("https://crowd.example.org http://127.0.0.1:8111")


@pytest.mark.parametrize(
    "site", ["*", "http://crowd.example.org", "https://a.b/path", "https://a.b; script-src *", "https://a b", "a.b", ""]
)
def test_what_is_no_site_is_refused_before_a_launch(site: str) -> None:
    """It goes into a header that says who may do what."""
    with pytest.raises(ValueError, match=r"^frame_sites: "):
        HumanevalLocalArchitect.assert_task_args(config(port=0, frame_sites=[site]), None)


def test_other_providers_keep_their_own_script(architect: Make) -> None:
    one = architect("mturk_sandbox", port=0)
    one.prepare()
    assert get(f"{one.deploy()}/wrap_crowd_source.js") == "// the provider's own"


def test_a_port_in_use_is_refused_before_and_at_launch(architect: Make) -> None:
    """A second launch never attaches to the first: it stops, and says which option helps."""
    first = architect(port=0)
    first.prepare()
    url = first.deploy()
    port = int(url.rsplit(":", 1)[1])
    with pytest.raises(PortInUse, match=r"\(0 takes any free one\): port=…$"):
        HumanevalLocalArchitect.assert_task_args(config(port=port), None)
    second = architect(port=str(port))
    second.prepare()
    with pytest.raises(PortInUse):
        second.deploy()
    second.shutdown()
    assert "Page" in get(url)


def test_a_port_taken_on_all_addresses_is_in_use_too(architect: Make) -> None:
    """Mephisto's own router listens on every address; binding beside it would split the raters."""
    with socket.socket() as other:
        other.bind(("0.0.0.0", 0))
        other.listen()
        with pytest.raises(PortInUse):
            HumanevalLocalArchitect.assert_task_args(config(port=other.getsockname()[1]), None)


def test_shutdown_frees_the_port_at_once_and_may_be_repeated(architect: Make) -> None:
    one = architect(port=0)
    one.shutdown()
    one.prepare()
    port = int(one.deploy().rsplit(":", 1)[1])
    assert is_listening(port)
    one.shutdown()
    one.shutdown()
    assert not is_listening(port)
    again = architect(port=port)
    again.prepare()
    assert again.deploy().endswith(f":{port}")


async def test_shutdown_does_not_wait_for_pages(architect: Make) -> None:
    """Raters' open websockets must not hold Ctrl-C up."""
    one = architect(port=0)
    one.prepare()
    url = one.deploy()
    heard: list[Any] = []
    (channel,) = one.get_channels(lambda _: None, lambda _: None, lambda _, packet: heard.append(packet))
    channel.open()
    async with PageClient(url, worker_id="w", assignment_id="a") as client:
        asking = asyncio.create_task(client.register())
        while not heard:
            await asyncio.sleep(0.01)
        one._router.from_operator(
            {
                "packet_type": "agent_details",
                "subject_id": "x",
                "data": {"request_id": heard[0].data["request_id"], "agent_id": "1"},
            }
        )
        await asking
        await asyncio.sleep(0.1)
        await asyncio.wait_for(asyncio.to_thread(one.shutdown), 20)  # a server waits a minute for open connections
    assert not [thread for thread in threading.enumerate() if thread.name == "router"]


@pytest.mark.parametrize("port", ["many", -1, 70000, "3000.5", None])
def test_a_port_that_is_none_is_named(port: object) -> None:
    with pytest.raises(CannotListen, match="0 to 65535"):
        HumanevalLocalArchitect.assert_task_args(config(port=port), None)


def test_an_address_that_is_not_ours_is_named(architect: Make) -> None:
    one = architect(port=0, hostname="no such host")
    one.prepare()
    with pytest.raises(CannotListen, match="hostname"):
        one.deploy()


def test_workers_get_the_public_address(architect: Make) -> None:
    """Behind a reverse proxy, as MTurk demands with its https."""
    one = architect(port=0, public_url="https://study.example.org/")
    one.prepare()
    assert one.deploy() == "https://study.example.org"


def test_nothing_listens_beyond_loopback_by_default(architect: Make) -> None:
    one = architect(port=0)
    one.prepare()
    assert one.deploy().startswith("http://127.0.0.1:")
    assert HumanevalLocalArchitectArgs().hostname == "127.0.0.1"


def test_uploads_are_not_fetched(architect: Make, tmp_path: Path) -> None:
    with pytest.raises(NotImplementedError, match="uploads"):
        architect(port=0).download_file("x", str(tmp_path))


def test_the_channel_carries_packets_both_ways(architect: Make) -> None:
    """Mephisto's ClientIOHandler speaks to the router through it, and gets answers in order."""
    one = architect(port=0)
    one.prepare()
    one.deploy()
    heard: list[Any] = []
    opened: list[str] = []
    done = threading.Event()

    def take(_: str, packet: Any) -> None:
        heard.append(packet)
        if len(heard) == 50:
            done.set()

    (channel,) = one.get_channels(opened.append, lambda _: None, take)
    assert not channel.is_alive()
    assert not channel.enqueue_send(Packet("request_statuses", "mephisto"))
    channel.open()
    assert channel.is_alive()
    assert opened == [channel.channel_id]
    for number in range(50):
        assert channel.enqueue_send(Packet("update_status", str(number), {"status": "in task"}))
        assert channel.enqueue_send(Packet("request_statuses", "mephisto"))
    assert done.wait(5)
    assert [len(packet.data) for packet in heard] == list(range(1, 51))
    channel.close()
    assert (channel.is_closed(), channel.is_alive()) == (True, False)


@pytest.mark.parametrize("end", ["SIGTERM", "SIGKILL", "SIGINT", "crash"])
def test_no_listener_survives_its_process(tmp_path: Path, end: str) -> None:
    """Mephisto's routers are processes of their own, and stay behind."""
    with Forked(
        [sys.executable, "-c", SERVE_FOR_EVER, str(tmp_path), end],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            assert is_listening(port)
            if end == "crash":
                process.communicate(b"x", timeout=30)
            else:
                process.send_signal(getattr(signal, end))
                process.wait(30)
        finally:
            process.kill()
    assert process.returncode != 0
    assert not is_listening(port)
