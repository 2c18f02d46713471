"""A real nginx before a launch: the site of ``examples/deploy``, with other names, ports and certificates."""

from __future__ import annotations

import re
import shutil
import socket
import ssl
import subprocess
import time
from pathlib import Path
from types import TracebackType

import pytest

SITE = Path(__file__).parents[1] / "examples" / "deploy" / "nginx.conf"
NAME = "127.0.0.1"
START_S = 10

_AROUND = """
daemon off;
master_process off;
error_log {folder}/error.log warn;
pid {folder}/nginx.pid;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""


def find_nginx() -> str | None:
    """Debian keeps it where only root's PATH leads."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")


class ReverseProxy:
    """nginx with TLS, which serves what listens on ``port`` below ``/study/``, as long as the block runs."""

    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        self._backend = port
        self._own_port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address for raters, as a researcher would give it: without the slash at its end."""
        return f"https://{NAME}:{self._own_port}/study"

    def certificates(self) -> ssl.SSLContext:
        """What believes this server's certificate."""
        return ssl.create_default_context(cafile=str(self._folder / "cert.pem"))

    def __enter__(self) -> ReverseProxy:
        nginx = find_nginx()
        if nginx is None:
            pytest.skip("nginx is not installed on this machine (Debian: apt-get install nginx-light)")
        self._folder.mkdir(parents=True, exist_ok=True)
        self._make_certificate()
        (self._folder / "site.conf").write_text(self._site(), encoding="utf-8")
        around = self._folder / "nginx.conf"
        around.write_text(_AROUND.format(folder=self._folder), encoding="utf-8")
        self._process = subprocess.Popen([nginx, "-c", str(around), "-p", str(self._folder)])
        self._wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait(START_S)

    def _site(self) -> str:
        """The example's site; each thing that a researcher changes must be there to be changed."""
        site = SITE.read_text(encoding="utf-8")
        for there, here in (
            (r"listen 443 ssl;", f"listen 127.0.0.1:{self._own_port} ssl;"),
            (r"server_name study\.example\.org;", f"server_name {NAME};"),
            (r"/etc/letsencrypt/live/study\.example\.org/fullchain\.pem", str(self._folder / "cert.pem")),
            (r"/etc/letsencrypt/live/study\.example\.org/privkey\.pem", str(self._folder / "key.pem")),
            (r"http://127\.0\.0\.1:3000/;", f"http://127.0.0.1:{self._backend}/;"),
        ):
            site, changed = re.subn(there, here, site)
            assert changed == 1, f"{there} stands {changed} times in {SITE}"
        return site

    def _make_certificate(self) -> None:
        subject = ["-subj", f"/CN={NAME}", "-addext", f"subjectAltName=IP:{NAME}"]
        files = ["-keyout", str(self._folder / "key.pem"), "-out", str(self._folder / "cert.pem")]
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject, *files]
        subprocess.run(command, check=True, capture_output=True)

    def _wait(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self._own_port), 1).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise AssertionError(f"nginx did not start: {(self._folder / 'error.log').read_text(errors='replace')}")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port
