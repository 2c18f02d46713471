"""The Architect that serves a task from this process; its Channel is a method call instead of a socket."""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from mephisto_tasks._util import compat
from parlai_humaneval._util.data_files import DataError, read_json
from parlai_humaneval._util.errors import InvalidValue

compat.prepare()

from mephisto.abstractions._subcomponents.channel import Channel
from mephisto.abstractions.architect import Architect, ArchitectArgs
from mephisto.abstractions.architects.ec2 import ec2_helpers
from mephisto.data_model.packet import Packet
from mephisto.operations.registry import register_mephisto_abstraction
from mephisto.utils.dirs import get_mephisto_tmp_dir
from omegaconf import DictConfig, OmegaConf

from mephisto_tasks.config.names import ConfigError
from mephisto_tasks.config.task import ARCHITECT_TYPE, ArchitectSettings, hydra_arguments
from mephisto_tasks.crowds.registry import crowd_of
from mephisto_tasks.server.app import Serving, create_app
from mephisto_tasks.server.hosts import Hosts, public_names
from mephisto_tasks.server.packets import Packet as WirePacket
from mephisto_tasks.server.router import Router
from mephisto_tasks.server.security import THIS_MACHINE, Visitors, address_of, origin, trusted_networks
from mephisto_tasks.server.thread import CannotListen, PortInUse, RouterThread, listen

__all__ = ["ARCHITECT_TYPE", "CannotListen", "HumanevalLocalArchitect", "InProcessChannel", "PortInUse"]

logger = logging.getLogger(__name__)


class InProcessChannel(Channel):
    """An OperatorLink for the router, and a Channel for Mephisto's ClientIOHandler."""

    def __init__(self, channel_id: str, *callbacks: Any, router: Router) -> None:
        super().__init__(channel_id, *callbacks)
        self._router = router
        self._open = False
        self._closed = False

    def open(self) -> None:
        self._open = self._router.connect_operator(self)
        if self._open:
            self.on_channel_open(self.channel_id)

    def close(self) -> None:
        if not self._closed:
            self._closed, self._open = True, False
            self._router.disconnect_operator()

    def is_closed(self) -> bool:
        return self._closed

    def is_alive(self) -> bool:
        return self._open

    def enqueue_send(self, packet: Packet) -> bool:
        return self._open and self._router.from_operator(packet.to_sendable_dict())

    def to_operator(self, packet: WirePacket) -> None:
        try:
            self.on_message(self.channel_id, Packet.from_dict(packet))
        except Exception:
            # Mephisto's loop closes a moment before its channels: that must not end the router.
            logger.exception("The operator failed to process a packet of type %s.", packet.get("packet_type"))


PAGE_LIBRARY_VERSION = "2.0.3"  # what Mephisto's own pages compare their version with; ours ignores it


HumanevalLocalArchitectArgs = hydra_arguments(
    ArchitectSettings,
    "HumanevalLocalArchitectArgs",
    (ArchitectArgs,),
    typed=ArchitectSettings.model_fields.keys() - {"port"},  # its error is of parse_port
    _architect_type=ARCHITECT_TYPE,
)


def parse_port(value: object) -> int:
    """A port from a configuration, where it may be a number or text. Raises :class:`CannotListen`."""
    text = str(value).strip()
    if text.isascii() and text.isdigit() and int(text) <= 65535:
        return int(text)
    raise CannotListen(f"port={value!r} is not a port: expected a number from 0 to 65535")


def address_of_page(public_url: str) -> str:
    address = public_url.rstrip("/")
    return f"{address}/" if urlsplit(address).path else address


@register_mephisto_abstraction()
class HumanevalLocalArchitect(Architect):
    """Runs the router in a thread of the launching process, with the page in memory; it ends with the process."""

    ArgsClass = HumanevalLocalArchitectArgs
    ARCHITECT_TYPE = ARCHITECT_TYPE

    def __init__(self, db: Any, args: Any, shared_state: Any, task_run: Any, build_dir_root: str) -> None:
        self.task_run = task_run
        self._hostname = str(args.architect.hostname)
        self._port = parse_port(args.architect.port)
        self._public_url = address_of_page(str(args.architect.get("public_url") or ""))
        visitors = Visitors(trusted_networks(args.architect.get("trusted_proxies") or ()))
        self._static_dir = Path(build_dir_root) / "router" / "static"
        here = "" if address_of(self._hostname) else self._hostname  # on an address, other programs listen as well
        names = public_names(args.architect.get("public_names") or ())
        self._serving = replace(
            getattr(shared_state, "serving", Serving()),
            visitors=visitors,
            hosts=Hosts((here, urlsplit(self._public_url).hostname or "", *names), visitors.is_proxy),
            frame_sites=[origin(site) for site in args.architect.get("frame_sites") or ()],
            secure=self._public_url.startswith("https://"),
        )
        self._router = Router(disconnect_after_s=float(args.architect.disconnect_after_s))
        self._thread: RouterThread | None = None

    @classmethod
    def assert_task_args(cls, args: Any, shared_state: Any) -> None:
        """Finds a port in use before anything is written. Raises PortInUse, CannotListen or InvalidValue."""
        for site in args.architect.get("frame_sites") or ():
            origin(site)
        public_names(args.architect.get("public_names") or ())
        port = parse_port(args.architect.port)
        if float(args.architect.disconnect_after_s) <= 0:
            raise InvalidValue("must be greater than 0", where="disconnect_after_s", try_="write a number of seconds")
        listen(str(args.architect.hostname), port).close()

    def prepare(self) -> str:
        server_dir = self._static_dir.parent
        shutil.rmtree(server_dir, ignore_errors=True)
        self._static_dir.mkdir(parents=True)
        provider, blueprint = self.task_run.provider_type, self.task_run.get_blueprint()
        script = crowd_of(provider).page_script or self.task_run.get_provider().get_wrapper_js_path()
        shutil.copyfile(script, self._static_dir / "wrap_crowd_source.js")
        config = {
            "provider_type": provider,
            **blueprint.get_frontend_args(),
            "mephisto_task_version": PAGE_LIBRARY_VERSION,
        }
        (self._static_dir / "task_config.json").write_text(json.dumps(config), encoding="utf-8")
        blueprint.TaskBuilderClass(self.task_run, self.task_run.args).build_in_dir(str(server_dir))
        return str(server_dir)

    def deploy(self) -> str:
        """Starts to serve and returns the address for workers. Raises PortInUse or CannotListen."""
        serving = replace(self._serving, page=crowd_of(self.task_run.provider_type).page)
        app = create_app(self._router, self._static_dir, serving)
        if self._hostname not in THIS_MACHINE:
            serving.hosts.look_up_full_name()
        thread = RouterThread(app, self._hostname, self._port, serving.visitors.is_one_visitor)
        thread.start()
        self._thread, self._port = thread, thread.port
        host = f"[{self._hostname}]" if ":" in self._hostname else self._hostname
        return self._public_url or f"http://{host}:{self._port}"

    def cleanup(self) -> None:
        shutil.rmtree(self._static_dir.parent, ignore_errors=True)

    def shutdown(self) -> None:
        """Ends the router and frees its port; may be called at any time, and again."""
        if self._thread is not None:
            self._thread.stop()
        self.cleanup()

    def get_channels(
        self,
        on_channel_open: Callable[[str], None],
        on_catastrophic_disconnect: Callable[[str], None],
        on_message: Callable[[str, Packet], None],
    ) -> list[Channel]:
        name = f"in_process_{self.task_run.db_id}"
        callbacks = (on_channel_open, on_catastrophic_disconnect, on_message)
        return [InProcessChannel(name, *callbacks, router=self._router)]

    def is_here(self, agent_id: str) -> bool:
        return self._router.is_here(agent_id)

    def download_file(self, filename: str, save_dir: str) -> None:
        raise NotImplementedError("The router does not accept uploads, so no uploaded file exists.")


Server = Literal["heroku", "ec2"]
SERVERS: tuple[Server, ...] = get_args(Server)
WHOAMI_S = 30
FALLBACK_KEYS = ("domain", "key_pair_name", "security_group_id", "vpc_details", "listener_arn")
"""What `prepare_ec2_servers` of Mephisto writes down of the machines that it makes once."""
CLI_ADDRESS = "https://devcenter.heroku.com/articles/heroku-cli"


def check_server(mephisto: DictConfig) -> None:
    """Check that pages can be served with the settings of a launch. Raises ConfigError, PortInUse, CannotListen."""
    server = str(mephisto.architect._architect_type)
    if server == ARCHITECT_TYPE:
        HumanevalLocalArchitect.assert_task_args(mephisto, None)
    elif server in SERVERS:
        settings = OmegaConf.to_container(mephisto.architect, throw_on_missing=False)
        assert isinstance(settings, dict)
        if missing := lacks(server, {str(key): value for key, value in settings.items()}):
            raise ConfigError(f"server={server} is not set up here: {'; '.join(missing)}")


def lacks(server: str, settings: Mapping[str, object]) -> list[str]:
    """The missing steps for one of SERVERS, a sentence each. ``settings``: those below ``mephisto.architect``."""
    return _heroku() if server == "heroku" else _ec2(str(settings.get("profile_name") or ""))


def _programs(*names: str) -> list[str]:
    return [f"the program `{name}` is not installed" for name in names if shutil.which(name) is None]


def _heroku() -> list[str]:
    # Mephisto looks for the command line here, and not on PATH; it would fetch one that is not there.
    missing, where = _programs("git", "node", "npm"), Path(get_mephisto_tmp_dir()) / "heroku"
    program = next((folder / "bin" / "heroku" for folder in sorted(where.glob("heroku-cli-*"))), None)
    if program is None or not program.is_file():
        return [*missing, f"Heroku's command line is not installed: unpack it from {CLI_ADDRESS} into {where}"]
    try:
        known = subprocess.run([program, "auth:whoami"], capture_output=True, timeout=WHOAMI_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return [*missing, f"{program} does not run ({type(error).__name__}): install it again from {CLI_ADDRESS}"]
    if known.returncode != 0:
        missing.append(f"nobody is logged in to Heroku on this machine: {program} login -i")
    return missing


def _ec2(profile: str) -> list[str]:
    missing = _programs("ssh", "scp", "node", "npm")
    if not profile:
        missing.append("no AWS profile is set: add profile_name=…")
    elif not ec2_helpers.check_aws_credentials(profile):
        missing.append(f"~/.aws/credentials has no profile {profile!r} with keys")
    details = Path(ec2_helpers.DEFAULT_FALLBACK_FILE)
    prepare = "python -m mephisto_tasks._util.compat mephisto.abstractions.architects.ec2.prepare_ec2_servers"
    if not details.exists():
        return [*missing, f"the machines that all studies share do not exist yet: run `{prepare}` once to create them"]
    try:
        known = read_json(details)
    except DataError:
        return [*missing, f"{details} is damaged: `{prepare}` writes it again"]
    absent = [key for key in FALLBACK_KEYS if key not in known]
    return [*missing, f"{details} lacks {', '.join(absent)}: `{prepare}` continues"] if absent else missing
