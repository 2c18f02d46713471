"""The examples of deployment: an image whose steps run, and a service that systemd understands."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from test_wheel import REPOSITORY, new_environment, repository_files

EXAMPLES = REPOSITORY / "examples" / "deploy"
IGNORED = REPOSITORY / ".dockerignore"
ONLY_IN_AN_IMAGE = ("apt-get ", "useradd ", "chown ", "rm -rf /var", "mkdir /data")
"""Commands on the image's own system: its packages, its user, its folders."""
WEB = REPOSITORY / "mephisto_tasks" / "webapp"
PAGES = (WEB / "dist", WEB / "new_dist", REPOSITORY / "parlai_humaneval" / "viewer" / "static")
"""What ``npm run build`` makes."""
RELATIVE = re.compile(r"""["'](\.\.?/[^"'\s]*)["']""")
"""A file beside the one that names it: what a page imports."""
NOTHING_NEW = {"PATH": os.defpath, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}
"""For ``setup``. Packages are links to those of this environment, which uv does not take for installed: it wrote PyTorch's
newest release through them, under every other test.
"""


def instructions(text: str) -> list[tuple[str, str]]:
    """A Dockerfile's instructions with what follows them, lines that go on joined."""
    joined = re.sub(r"\\\n\s*", "", re.sub(r"(?m)^#.*\n", "", text))
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in joined.splitlines() if line.strip()]


class Image:
    """Runs a Dockerfile's steps below a folder, as far as they are about this project.

    ``FROM`` begins a stage, ``WORKDIR`` and ``COPY`` do what Docker does, ``RUN`` runs the commands that do not change the
    system. What npm has fetched is linked, the pages are those that ``make install`` has built, once it is certain that
    npm would build them of the same files, and pip installs without dependencies, which this environment has.
    """

    def __init__(self, folder: Path, context: Path) -> None:
        self._folder, self._context = folder, context
        self._stages: list[str] = []
        self._workdir = "/"
        self.ran: list[str] = []
        self.said: dict[str, str] = {}
        self.python = folder / "python"
        new_environment(self.python)

    def build(self, text: str) -> None:
        for name, rest in instructions(text):
            {"FROM": self._from, "WORKDIR": self._go, "COPY": self._copy, "RUN": self._run}.get(name, self._say(name))(
                rest
            )

    def _from(self, rest: str) -> None:
        self._stages.append(rest.partition(" AS ")[2])
        self._root.mkdir()

    @property
    def _root(self) -> Path:
        return self._folder / f"stage-{len(self._stages)}"

    def _inside(self, path: str) -> Path:
        return self._root / os.path.join(self._workdir, path).lstrip("/")

    def _go(self, rest: str) -> None:
        self._workdir = rest
        self._inside(".").mkdir(parents=True, exist_ok=True)

    def _say(self, name: str):  # type: ignore[no-untyped-def]  # one of the methods above, or this
        return lambda rest: self.said.__setitem__(name, rest)

    def _copy(self, rest: str) -> None:
        *sources, target = [word for word in rest.split() if not word.startswith("--from=")]
        stage = re.search(r"--from=(\S+)", rest)
        for source in sources:
            from_stage = self._folder / f"stage-{self._stages.index(stage[1]) + 1}" if stage else self._context
            path = from_stage / source.lstrip("/")
            assert path.exists(), f"COPY {rest}: there is no {path}"
            into = self._inside(target)
            if path.is_dir():
                shutil.copytree(path, into, dirs_exist_ok=True, symlinks=True)
            else:
                into.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, into)

    def _run(self, rest: str) -> None:
        for command in (part.strip() for part in rest.split("&&")):
            if command.startswith(ONLY_IN_AN_IMAGE):
                continue
            self.ran.append(command)
            self._really_run(shlex.split(command))

    def _really_run(self, words: list[str]) -> None:
        where = self._inside(".")
        if words[:2] == ["npm", "ci"]:
            subprocess.run([*words, "--dry-run", "--silent"], cwd=where, check=True, capture_output=True, timeout=120)
            (where / "node_modules").symlink_to(REPOSITORY / "mephisto_tasks" / "webapp" / "node_modules")
            return
        if words == ["npm", "run", "build"]:
            build_pages(where)
            return
        if words[:2] == ["pip", "install"]:
            pip = [str(self.python / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-build-isolation"]
            words = [*pip, "--no-deps", "--no-compile", *words[2:]]
        environment = dict(os.environ)
        if words[0] == "parlai-humaneval":
            words[0] = str(self.python / "bin" / words[0])
            environment |= NOTHING_NEW
        ended = subprocess.run(
            words, cwd=where, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert ended.returncode == 0, f"{shlex.join(words)}: {ended.stdout[-1000:]}{ended.stderr[-2000:]}"


def build_pages(folder: Path) -> None:
    """Put the pages where npm would, which takes a quarter of a minute to build them anew: in a folder with all of their
    sources and what npm has fetched, none of which asks for a file beyond it."""
    assert (folder / "node_modules").exists(), "npm ci comes before npm run build"
    for path in repository_files(str(WEB)):
        copy = folder / path.relative_to(WEB)
        assert copy.is_file(), f"{path} is not copied before npm run build"
        assert copy.read_bytes() == path.read_bytes()
    for path in (each for each in repository_files(str(WEB / "src")) if each.suffix in (".ts", ".tsx", ".css")):
        for named in RELATIVE.findall(path.read_text(encoding="utf-8")):
            assert (path.parent / named).resolve().is_relative_to(WEB.resolve()), (
                f"{path} needs {named}, which the image lacks"
            )
    for page in PAGES:
        shutil.copytree(page, folder / os.path.relpath(page, WEB))


def ignored(path: Path) -> bool:
    """Whether ``.dockerignore`` keeps a file out of the context."""
    lines = [line for line in IGNORED.read_text().splitlines() if line]
    parts = path.relative_to(REPOSITORY).parts
    for line in lines:
        below = line.removeprefix("**/")
        if below in parts if line.startswith("**/") else Path(*parts[: line.count("/") + 1]).match(line):
            return True
    return False


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    context, folder = tmp_path_factory.mktemp("context"), tmp_path_factory.mktemp("image")
    for path in repository_files():
        if path.is_file() and not ignored(path):
            copy = context / path.relative_to(REPOSITORY)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)
    built = Image(folder, context)
    built.build((EXAMPLES / "Dockerfile").read_text(encoding="utf-8"))
    return built


def test_the_images_steps_give_the_command_with_the_page(image: Image) -> None:
    """Guards the Dockerfile where no Docker is: every file that it copies is there, the page can be built, pip installs."""
    ran = [" ".join(command.split()[:2]) for command in image.ran]
    assert ran == ["npm ci", "npm run", "pip install", "parlai-humaneval setup"]
    (command,) = json.loads(image.said["ENTRYPOINT"])
    program = image.python / "bin" / command
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, timeout=120)
    assert shown.stdout.startswith("parlai-humaneval, version")
    (page,) = (image.python / "lib").glob("python*/site-packages/mephisto_tasks/webapp/dist/index.html")
    assert "<script" in page.read_text(encoding="utf-8")
    packages = page.parents[3]
    assert (packages / "mephisto_tasks/webapp/new_dist/index.html").is_file(), "the page of `new`"
    assert (packages / "parlai_humaneval/viewer/static/viewer.js").is_file(), "the viewer"


def test_the_image_starts_with_a_command_that_exists(image: Image) -> None:
    """Guards the container's first start: what CMD and the comments say is understood by the command line."""
    words = json.loads(image.said["CMD"])
    program = image.python / "bin" / json.loads(image.said["ENTRYPOINT"])[0]
    helped = subprocess.run([program, words[0], "--help"], capture_output=True, text=True, timeout=120, check=True)
    assert "[SETTING=VALUE]" in helped.stdout
    listed = subprocess.run(
        [program, "launch", "pw_turn", "--list-settings"], capture_output=True, text=True, timeout=120, check=True
    )
    assert words[1].partition("=")[0] in listed.stdout
    assert image.said["STOPSIGNAL"] == "SIGTERM"


def test_systemd_understands_the_service(tmp_path: Path) -> None:
    """Guards the unit file's words; its program is put where this machine has one."""
    systemd = shutil.which("systemd-analyze")
    if systemd is None:
        pytest.skip("systemd-analyze is not installed on this machine")
    text = (EXAMPLES / "parlai-humaneval@.service").read_text(encoding="utf-8")
    program = "/opt/parlai-humaneval/bin/parlai-humaneval"
    assert f"ExecStart={program} launch $TASK $SETTINGS" in text
    unit = tmp_path / "parlai-humaneval@.service"
    unit.write_text(text.replace(program, "/bin/true"))
    ended = subprocess.run(
        [systemd, "verify", "--man=no", str(unit)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
