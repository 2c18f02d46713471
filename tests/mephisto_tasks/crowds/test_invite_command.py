"""``parlai-humaneval invite`` as it is typed: what it prints and writes, and what it refuses without doing half of it."""

from __future__ import annotations

import csv
import io
import json
import re
import stat
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import segno
from click.testing import CliRunner, Result
from live import TASK, Launch
from PIL import Image

from mephisto_tasks.cli.invite import KINDS, invite, write_links
from mephisto_tasks.crowds.invitations.entry import link_signer
from mephisto_tasks.crowds.invitations.store import InvitationStore
from mephisto_tasks.server.hosts import openable, opens_elsewhere
from mephisto_tasks.storage.locks import study_folder
from mephisto_tasks.storage.results import PSEUDONYM_KEY
from parlai_humaneval._util.text import guarded
from parlai_humaneval.schema.pseudonyms import Pseudonymizer

URL = "https://study.example.org/prefix"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("name,email\nAnn Example,ann@example.org\nZoë/../../etc,\n", encoding="utf-8")


def run(*arguments: str, url: str | None = URL) -> Result:
    there = [] if url is None else ["--url", url]
    command = ["--task-name", TASK, "--data-dir", "data", *there, *arguments]
    return CliRunner().invoke(invite, command)


def said(*arguments: str) -> str:
    done = run(*arguments)
    assert done.exit_code == 0, done.stderr
    return str(done.stdout)


def refused(*arguments: str, url: str | None = URL) -> str:
    """What it complains of; nothing was written."""
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    done = run(*arguments, url=url)
    assert done.exit_code != 0
    assert isinstance(done.exception, SystemExit), done.exception
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before
    return " ".join(done.stderr.split())


def test_links_are_printed_and_written_for_their_owner_only() -> None:
    """Each link is signed for its person, stands in print and in a private CSV, and leads below the address given."""
    printed = said("--names", "people.csv")
    with Path("people-links.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["name"], row["email"]) for row in rows] == [
        ("Ann Example", "ann@example.org"),
        ("Zoë/../../etc", ""),
    ]
    assert stat.S_IMODE(Path("people-links.csv").stat().st_mode) == 0o600
    links = [row["link"] for row in rows]
    assert len(set(links)) == 2
    for link in links:
        assert link in printed
        assert link.startswith(f"{URL}/?invitation=")
        (token,) = parse_qs(urlsplit(link).query)["invitation"]
        assert link_signer(Path("data"), TASK).opened(token)


def test_qr_codes_hold_the_links() -> None:
    """An SVG and a PNG for each, in files that no name can lead astray; the PNG's modules are those of the link."""
    made = json.loads(said("--names", "people.csv", "--qr", "codes", "--json"))
    links = [row["link"] for row in made["invitations"]]
    names = sorted(path.name for path in Path("codes").iterdir())
    assert names == ["1-ann-example.png", "1-ann-example.svg", "2-zoë-etc.png", "2-zoë-etc.svg"]
    assert sorted(made["codes"]) == [f"codes/{name}" for name in names]
    for link, name in zip(links, names[::2], strict=True):
        path = Path("codes") / name
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        scale, code = KINDS["png"], segno.make(link, error="m", micro=False)
        image = Image.open(io.BytesIO(path.read_bytes())).convert("L")
        size = image.width // scale
        modules = [[image.getpixel((x * scale, y * scale)) == 0 for x in range(size)] for y in range(size)]
        border = (size - len(code.matrix)) // 2
        assert border == 4, "readers need a quiet zone of four modules"
        assert [row[border:-border] for row in modules[border:-border]] == [
            [bool(m) for m in row] for row in code.matrix
        ]
        assert "<svg" in path.with_suffix(".svg").read_text()


def test_the_list_tells_the_state_of_each_and_revoking_changes_it() -> None:
    """As a table for people and as JSON for programs; a name is no markup of the terminal's."""
    Path("people.csv").write_text("name\nAnn\n[bold]Ben[/bold]\n")
    said("--names", "people.csv", "--expires", "36h")
    assert "The link of Ann has been withdrawn" in said("--revoke", "ann")
    said("--open", "--limit", "3", "--name", "class 3b")
    table = said("--list")
    assert re.search(r"Ann +revoked", table)
    assert re.search(r"\[bold\]Ben\[/bold\] +open", table)
    assert re.search(r"class 3b .* 0 of 3", table)
    rows = json.loads(said("--list", "--json"))["invitations"]
    assert [(row["name"], row["state"], row["limit"]) for row in rows] == [
        ("Ann", "revoked", None),
        ("[bold]Ben[/bold]", "open", None),
        ("class 3b", "open", 3),
    ]
    assert "invitation=" not in table


def test_the_list_tells_the_pseudonym_of_who_has_come() -> None:
    """Whoever writes “I am Ann, and failed the practice” is found in all other commands."""
    Path("people.csv").write_text("name\nAnn\nBen\n")
    said("--names", "people.csv")
    book = InvitationStore(study_folder(Path("data"), TASK))
    (ann,) = (invitation for invitation in book.all() if invitation.name == "Ann")
    assert ann.worker is not None
    book.come(ann.invitation_id, ann.worker)
    pseudonym = Pseudonymizer.load_or_create(Path("data") / PSEUDONYM_KEY).worker(ann.worker)
    rows = json.loads(said("--list", "--json"))["invitations"]
    assert [(row["name"], row["worker"]) for row in rows] == [("Ann", pseudonym), ("Ben", None)]
    assert pseudonym in said("--list")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "choose one of --names, --open, --list and --revoke"),
        (["--names", "people.csv", "--list"], "choose one of"),
        (["--open"], "--open needs --limit N"),
        (["--names", "people.csv", "--limit", "3"], "--open needs --limit N"),
        (["--open", "--limit", "0"], "0 is not in the "),
        (["--open", "--limit", "3", "--expires", "0d"], "'0d' is not a valid time; write 90m, 36h, 14d or 2w"),
        (["--open", "--limit", "3", "--expires", "99999d"], "up to ten years"),
        (["--open", "--limit", "3", "--expires", "soon"], "'soon' is not a valid time"),
        (["--names", "nobody.csv"], "nobody.csv: cannot be read (No such file"),
        (["--names", "people.csv", "--out", "missing/links.csv"], "missing: there is no such folder"),
        (["--names", "people.csv", "--out", "people.csv"], "people.csv already exists"),
        (["--names", "people.csv", "--url", "study.example.org"], "--url study.example.org is not an address"),
        (["--names", "people.csv", "--url", "https://x/?a=b"], "is not an address such as"),
        (["--revoke", "Ann"], "“Ann” has no invitation to withdraw"),
        (["--open", "--limit", "9" * 30], "is not in the "),
        (["--open", "--limit", "3", "--name", " "], "--name is empty"),
        (["--open", "--limit", "3", "--name", "=1+1"], "--name “=1+1” is not a name"),
        (["--names", "people.csv", "--qr", "people.csv/codes"], "Not a directory"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(arguments: list[str], words: str) -> None:
    """Neither invitations nor files: only the empty book of a study may appear."""
    Path("data").mkdir()
    if arguments[:1] == ["--revoke"]:
        said("--list")
        run("--open", "--limit", "1")
    assert words in refused(*arguments)


def test_without_a_launch_or_an_address_nobody_is_invited() -> None:
    """Links need an address; the message says both ways to one."""
    told = refused("--names", "people.csv", url=None)
    assert "is not running" in told
    assert "--url https://study.example.org" in told


def test_a_key_that_was_lost_is_told_once() -> None:
    """The links that were sent are no good any more: whoever invites again must know that, and send the new ones."""
    first = said("--names", "people.csv")
    link_signer(Path("data"), TASK).key_file.unlink()
    again = run("--names", "people.csv", "--force")
    assert "invitations.key, the key that signs this study's links, was missing" in again.stderr
    assert again.stdout != first
    assert "was gone" not in run("--names", "people.csv", "--force").stderr
    link_signer(Path("data"), TASK).key_file.write_bytes(b"")
    assert "is damaged" in refused("--open", "--limit", "3")


def test_a_names_file_that_is_wrong_invites_nobody() -> None:
    """A formula and a double in one file: both lines are told, and the right ones are not invited either."""
    Path("people.csv").write_text('name\nAnn\n"=HYPERLINK(""http://x"")"\nann\n')
    told = refused("--names", "people.csv")
    assert "line 3: “=HYPERLINK" in told
    assert "line 4: “ann” is already in line 2" in told


async def test_a_launch_whose_raters_are_not_invited_says_so(start: Launch, data_dir: Path) -> None:
    """With place=local whoever opens the address takes part: links to it would promise what does not hold."""
    async with start():
        done = CliRunner().invoke(invite, ["--task-name", TASK, "--data-dir", str(data_dir), "--open", "--limit", "3"])
        misspelt = CliRunner().invoke(
            invite, ["--task-name", TASK + "s", "--data-dir", str(data_dir), "--open", "--limit", "3"]
        )
    assert done.exit_code == 1
    assert "launch it with place=link" in " ".join(done.stderr.split())
    assert f"Did you mean {TASK}?" in misspelt.stderr


def test_addresses_for_others() -> None:
    """All interfaces become the one that others see; what only this machine opens is known as such."""
    assert openable("https://study.example.org/a") == "https://study.example.org/a"
    assert openable("http://127.0.0.1:3000") == "http://127.0.0.1:3000"
    here = openable("http://0.0.0.0:3000")
    assert here.endswith(":3000")
    assert "0.0.0.0" not in here
    assert [
        opens_elsewhere(f"http://{host}:1/") for host in ("127.0.0.1", "localhost", "[::1]", "10.0.0.7", "a.org")
    ] == [
        False,
        False,
        False,
        True,
        True,
    ]


def test_a_name_that_became_a_formula_is_escaped_where_it_is_written() -> None:
    """No names file lets one in; whatever stands in the book all the same is not run by a spreadsheet."""
    made = InvitationStore(study_folder(Path("data"), TASK)).invite_class("=1+1", 3, 60.0)
    write_links(Path("links.csv"), [made], [URL])
    assert Path("links.csv").read_text().splitlines()[1].startswith(guarded("=1+1") + ",")
