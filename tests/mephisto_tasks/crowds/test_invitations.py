"""Who is invited, what a link says, and who comes by it: the book, the signature and the door, on real files."""

from __future__ import annotations

import stat
import string
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mephisto_tasks.crowds.invitations.entry import (
    BROKEN,
    EXPIRED,
    FULL,
    INVITATION,
    REVOKED,
    VISITOR,
    WRONG,
    BadLink,
    InvitationDoor,
    link_signer,
    worker_namer,
)
from mephisto_tasks.crowds.invitations.store import (
    FILE,
    LINGERING_S,
    Invitation,
    InvitationError,
    InvitationStore,
    Person,
    read_people,
)
from mephisto_tasks.crowds.signing import DamagedKey
from mephisto_tasks.storage.locks import study_folder
from parlai_humaneval._util.data_files import DataError

TASK = "a study: with any / name"
DAY = 86400.0
LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
"""Of base64 in addresses, by what they mean."""
ANN, BEN = Person("Ann Example", "ann@example.org"), Person("Ben")


class Study:
    """A study with people who are invited, at a time of one's own."""

    def __init__(self, data_dir: Path, task: str = TASK) -> None:
        self.now = 1_800_000_000.0
        self.data_dir = data_dir
        self.task = task
        self.book = InvitationStore(study_folder(data_dir, task), lambda: self.now)
        self.door = InvitationDoor(data_dir, task, self.book)

    def invite(self, *people: Person, days: float = 14) -> list[Invitation]:
        return self.book.invite(people, worker_namer(self.data_dir), days * DAY)

    def token(self, invitation: Invitation) -> str:
        return link_signer(self.data_dir, self.task).signed(invitation.invitation_id)

    def comes(self, invitation: Invitation, **others: str) -> str:
        """The name of the worker who comes by it, and begins."""
        arrival = self.door.arrival({INVITATION: self.token(invitation), **others})
        assert arrival is not None
        self.door.begins(arrival)
        return arrival.worker_name

    def refused(self, token: str, **others: str) -> tuple[str, int]:
        """Title of the refusal, before the page and after it alike, and the page's status."""
        with pytest.raises(BadLink) as looked:
            self.door.look({INVITATION: token, **others}, None)
        with pytest.raises(BadLink) as came:
            self.door.arrival({INVITATION: token, **others})
        assert looked.value.refusal == came.value.refusal
        return str(looked.value.refusal.title), looked.value.status

    def visitor(self, invitation: Invitation, remembered: str | None = None) -> str:
        """What a browser remembers once it has opened the link of a class."""
        entry = self.door.look({INVITATION: self.token(invitation)}, remembered)
        assert entry is not None
        assert entry.parameters[INVITATION] == self.token(invitation)
        return entry.parameters[VISITOR]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return Study(tmp_path)


def test_a_person_is_one_worker_over_links_studies_and_spellings(study: Study) -> None:
    """Invited again, in another study, or with another spelling of the address: the same name in Mephisto's database."""
    (first,) = study.invite(ANN)
    name = study.comes(first)
    study.book.revoke(["Ann Example"])
    (again,) = study.invite(Person("Dr. Ann", "  ANN@example.org"))
    assert again.invitation_id != first.invitation_id
    assert study.comes(again) == name
    other = Study(study.data_dir, "another study")
    assert other.comes(other.invite(ANN)[0]) == name
    assert study.comes(study.invite(BEN)[0]) != name


def test_the_name_in_the_database_tells_nothing_of_the_person(study: Study, tmp_path: Path) -> None:
    """It is a keyed pseudonym: in another data directory the same person has another one."""
    name = study.comes(study.invite(ANN)[0])
    assert name.startswith("invitation:")
    assert not any(part in name.lower() for part in ("ann", "example"))
    elsewhere = Study(tmp_path / "other")
    assert elsewhere.comes(elsewhere.invite(ANN)[0]) != name


def test_invited_twice_is_one_link_with_a_new_end(study: Study) -> None:
    """The mail that was sent first is good again; nobody has two links."""
    (first,) = study.invite(ANN, days=1)
    study.now += 2 * DAY
    assert study.refused(study.token(first)) == (EXPIRED[0], 410)
    (again,) = study.invite(ANN, days=1)
    assert study.token(again) == study.token(first)
    study.comes(first)
    assert len(study.book.all()) == 1


def test_a_forged_link_is_refused(study: Study) -> None:
    """Each letter that is changed, another study's link, no link at all; nothing is written for any of them."""
    (ann,) = study.invite(ANN)
    token = study.token(ann)
    other = Study(study.data_dir, "another study")
    forged = [
        "",
        ".",
        ann.invitation_id,
        token[:-2],
        token.swapcase(),
        "x" + token,
        "é" + token,
        other.token(ann),
        other.token(other.invite(ANN)[0]),
        "a" * 2000,
        f"{token}=",
        token[:-1] + LETTERS[LETTERS.index(token[-1]) ^ 1],  # the same bytes, as careless decoders read it
        *(f"{token[:at]}{'A' if token[at] != 'A' else 'B'}{token[at + 1 :]}" for at in range(len(token) - 1)),
    ]
    for attempt in forged:
        assert study.refused(attempt) == (WRONG[0], 403), attempt
    assert study.book.all()[0].guests == 0


def test_a_link_expires_but_not_under_who_has_begun(study: Study) -> None:
    """Who came in time may reload for two hours more; who comes then for the first time is told when it ended."""
    ann, ben = study.invite(ANN, BEN, days=1)
    study.now += DAY - 60
    study.comes(ann)
    study.now += 120
    study.comes(ann)
    assert study.refused(study.token(ben)) == (EXPIRED[0], 410)
    study.now += LINGERING_S
    assert study.refused(study.token(ann)) == (EXPIRED[0], 410)


def test_a_withdrawn_link_is_closed_at_once(study: Study) -> None:
    """Also for who has come by it; others stay."""
    ann, ben = study.invite(ANN, BEN)
    study.comes(ann)
    study.book.revoke(["ann@EXAMPLE.org"])
    assert study.refused(study.token(ann)) == (REVOKED[0], 410)
    study.comes(ben)


def test_withdrawing_is_all_or_nothing_and_says_who_was_meant(study: Study) -> None:
    """A misspelt name, or one of two people of the same name: nobody is withdrawn, and the message says why."""
    study.invite(ANN, BEN, Person("Ben", "ben@example.org"))
    with pytest.raises(InvitationError, match="“Anne” has no invitation"):
        study.book.revoke(["ann@example.org", "Anne"])
    with pytest.raises(InvitationError, match=r"“Ben” is the name of 2 invitations: .*ben@example.org"):
        study.book.revoke(["Ann Example", "Ben"])
    assert {invitation.revoked for invitation in study.book.all()} == {None}


def test_a_class_has_so_many_places_and_a_browser_has_one(study: Study) -> None:
    """A browser that comes back is the same worker, and takes no second place, though all are taken."""
    link = study.book.invite_class("class 3b", 2, DAY)
    first = study.visitor(link)
    study.door.arrival({INVITATION: study.token(link), VISITOR: first})
    assert study.book.all()[0].guests == 0, "a program that looks at a link takes no place"
    ada = study.comes(link, visitor=first)
    late = study.visitor(link)
    bob = study.comes(link, visitor=study.visitor(link))
    assert ada != bob
    assert study.refused(study.token(link), visitor=late) == (FULL[0], 410)
    assert study.visitor(link, remembered=first) == first
    assert study.comes(link, visitor=first) == ada
    assert [(invitation.guests, invitation.state(study.now)) for invitation in study.book.all()] == [(2, "full")]


def test_what_mail_programs_put_behind_a_link_is_no_part_of_it(study: Study) -> None:
    """The end of a sentence, of brackets or of a quotation; and a class's link is open while it has places."""
    (ann,) = study.invite(ANN)
    link = study.book.invite_class("class", 30, DAY)
    visitor = study.visitor(link)
    for end in (".", ",", ")", ">", ").", "!”"):
        for invitation in (ann, link):
            arrival = study.door.arrival({INVITATION: study.token(invitation) + end, VISITOR: visitor + end})
            assert arrival is not None
            study.door.begins(arrival)
        entry = study.door.look({INVITATION: study.token(link) + end}, visitor)
        assert entry is not None
        assert entry.parameters == {INVITATION: study.token(link), VISITOR: visitor}
    assert [(made.guests, made.state(study.now)) for made in study.book.all()] == [(1, "used"), (1, "open")]


def test_a_browser_is_one_visitor_in_all_studies(study: Study) -> None:
    """Limits over studies hold for it; who forgets what it was told, or makes it up, is somebody new."""
    other = Study(study.data_dir, "another study")
    link, there = study.book.invite_class("a", 9, DAY), other.book.invite_class("b", 9, DAY)
    remembered = study.visitor(link)
    assert other.visitor(there, remembered) == remembered
    assert other.comes(there, visitor=remembered) == study.comes(link, visitor=remembered)
    assert study.visitor(link, remembered[:-3]) != remembered
    with pytest.raises(BadLink, match="only part of it"):
        study.comes(link, visitor="made up")
    with pytest.raises(BadLink, match="only part of it"):
        study.comes(link)


def test_places_are_not_given_out_twice_at_once(study: Study) -> None:
    """Forty browsers come at the same moment for five places: five get in, whatever the order."""
    link = study.book.invite_class("class", 5, DAY)
    visitors = [study.visitor(link) for _ in range(40)]

    def comes(visitor: str) -> bool:
        try:
            study.comes(link, visitor=visitor)
        except BadLink:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(comes, visitors)) == 5


def test_an_address_without_an_invitation_is_for_other_doors(study: Study) -> None:
    """A panel's parameters are none of this door's business."""
    assert study.door.arrival({"PROLIFIC_PID": "x"}) is None
    assert study.door.look({"PROLIFIC_PID": "x"}, None) is None


def test_files_are_private_and_hold_no_link(study: Study) -> None:
    """Keys and names are readable for their owner only, and no file holds what a link says."""
    (ann,) = study.invite(ANN)
    study.comes(ann)
    study.visitor(study.book.invite_class("class", 2, DAY))
    files = [path for path in study.data_dir.rglob("*") if path.is_file()]
    assert len(files) == 4
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
        assert study.token(ann).partition(".")[2].encode() not in path.read_bytes()


def test_a_key_that_is_damaged_signs_nothing_and_lets_nobody_in(study: Study) -> None:
    """With an empty key anybody could make links; its owner reads which file it is, visitors that it is not their link."""
    token = study.token(study.invite(ANN)[0])
    key = link_signer(study.data_dir, TASK).key_file
    for damage in (b"", b"half a key"):
        key.write_bytes(damage)
        with pytest.raises(DamagedKey, match=r"invitations\.key is damaged .* instead of 32"):
            study.token(study.book.all()[0])
        assert study.refused(token) == (BROKEN[0], 503)
    key.unlink()
    key.mkdir()  # no file at all, or one that is somebody else's
    assert study.refused(token) == (BROKEN[0], 503)


def test_a_key_that_is_gone_is_not_made_by_visitors(study: Study) -> None:
    """Nor by whoever tries a link before anybody was invited."""
    seal = link_signer(study.data_dir, TASK)
    assert study.refused("made.up") == (WRONG[0], 403)
    assert list(study.data_dir.iterdir()) == []
    token = study.token(study.invite(ANN)[0])
    seal.key_file.unlink()
    assert study.refused(token) == (WRONG[0], 403)
    assert not seal.has_key


def test_a_key_that_others_can_read_is_shut_to_them(study: Study, caplog: pytest.LogCaptureFixture) -> None:
    """As after a copy; its owner reads so, for somebody may have looked. A group that shares a folder keeps it."""
    token = study.token(study.invite(ANN)[0])
    key = link_signer(study.data_dir, TASK).key_file
    key.chmod(0o644)
    assert link_signer(study.data_dir, TASK).opened(token)
    assert stat.S_IMODE(key.stat().st_mode) == 0o640
    assert "invitations.key is secret, and everybody on this machine could read it" in caplog.text


def test_a_book_that_is_damaged_is_told(study: Study) -> None:
    token = study.token(study.invite(ANN)[0])
    path = study_folder(study.data_dir, TASK) / FILE
    path.write_bytes(b"no database" * 99)
    with pytest.raises(InvitationError, match=r"invitations\.db: it cannot be used .*restore a copy of it"):
        study.book.all()
    assert study.refused(token) == (BROKEN[0], 503)


def test_a_clock_that_was_set_back_is_told(study: Study) -> None:
    """Links made now would end at a wrong time; nothing is made."""
    study.invite(ANN)
    study.now -= DAY
    with pytest.raises(InvitationError, match="set the clock"):
        study.invite(BEN)
    assert len(study.book.all()) == 1


def test_people_are_invited_all_or_none(study: Study) -> None:
    """An error at the second of them leaves the first uninvited, too."""
    named = iter(["worker-1"])

    def worker_of(person: Person) -> str:
        name = next(named, None)
        if name is None:
            raise RuntimeError("no name for this person")
        return name

    with pytest.raises(RuntimeError, match="no name"):
        study.book.invite([ANN, BEN], worker_of, DAY)
    assert study.book.all() == []


@pytest.mark.parametrize(
    ("content", "people"),
    [
        (b"name\nAnn\nBen\n", [Person("Ann"), Person("Ben")]),
        (b"\xef\xbb\xbfName , E-Mail\r\n Ann , ann@x.org \r\n\r\n", [Person("Ann", "ann@x.org")]),
        ('note,name\n"a, b",Zoë\n,李\n\n\n'.encode(), [Person("Zoë"), Person("李")]),
        (b"name,email\nAnn,a@x.org\nAnn,b@x.org", [Person("Ann", "a@x.org"), Person("Ann", "b@x.org")]),
        (b"name;email\r\nAnn, MD;a@x.org\r\n", [Person("Ann, MD", "a@x.org")]),
        (b"name\temail\nAnn\ta@x.org\n", [Person("Ann", "a@x.org")]),
        (
            "name\nعلی\u200cرضا\nAnn\u00a0\u3000Lee\n👩\u200d🔬".encode(),
            [Person("علی\u200cرضا"), Person("Ann Lee"), Person("👩\u200d🔬")],
        ),
    ],
)
def test_a_file_of_names_is_read(tmp_path: Path, content: bytes, people: list[Person]) -> None:
    """As spreadsheets write it: a mark before it, other ends of lines and of cells, further columns, empty lines at its
    end; and names of any alphabet, with what joins or parts their letters."""
    (tmp_path / "people.csv").write_bytes(content)
    assert read_people(tmp_path / "people.csv") == people


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", r"is empty; make the first line a header"),
        (b"name\n\n", r"holds no names"),
        (b"Ann\nBen\n", r"line 1: has no column “name”, but “Ann”"),
        (b"person,email\nAnn,a@x.org\n", r"line 1: has no column “name”, but “person, email”"),
        (b"name,Name\nAnn,Ann\n", r"line 1: the column “name” appears twice"),
        (b"name\nAnn\nBen\n  ann \n", r"line 4: “ann” is already in line 2 \(“Ann”\)"),
        (b"name,email\nAnn,a@x.org\nBen,A@X.org\n", r"line 3: “A@X.org” is already in line 2 \(“Ann”\)"),
        (b"name\nAnn\n\nBen\n", r"line 3: is empty; remove the line"),
        (b"name,email\nAnn,a@x.org\n,b@x.org\n", r"line 3: has no name for “b@x.org”"),
        (b'name\n"=HYPERLINK(""http://x"",""y"")"\n', r"line 2: “=HYPERLINK.*” is not a name: .* begins with '='"),
        (b"name\n+1\n-2+3\n@x\n", r"line 2: .*\n.*line 3: .*\n.*line 4: "),
        (b"name\nAnn\nJos\xe9\n", r"line 3: is not text in UTF-8 \(byte 13\)"),
        ("name\nAnn\n".encode("utf-16"), r"line 1: is not text in UTF-8"),
        (b'name\n"Ann\n', r"line 2: is not CSV"),
        (b'name\n"An\nn"\n', r"line 3: .* cannot be printed"),
        ("name\nAnn\n\u202eneB\n\u200d\n".encode(), r"line 3: .* cannot be printed.*\n.*line 4: is empty"),
        ("name\nعلی\u200cرضا\nعلیرضا\n".encode(), r"line 3: .* is already in line 2"),
        (b"name,email\nAnn,nowhere\n", r"line 2: “nowhere” is not an e-mail address"),
        (b"name\n" + b"a" * 201 + b"\n", r"line 2: .*… is longer than|line 2: “a*…” is longer than 200"),
        (b"name\n" + b"\n".join(b"=%d" % n for n in range(30)) + b"\n", r"and 20 more lines"),
    ],
)
def test_what_is_wrong_with_a_file_of_names_is_told_by_line(tmp_path: Path, content: bytes, words: str) -> None:
    """Duplicates, empty lines, formulas, a wrong encoding, no header, or another one."""
    (tmp_path / "people.csv").write_bytes(content)
    with pytest.raises(DataError, match=words):
        read_people(tmp_path / "people.csv")
