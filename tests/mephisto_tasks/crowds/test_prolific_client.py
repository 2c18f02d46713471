"""The client of Prolific against its stand-in: patience, pages, what is never sent twice, and errors as sentences."""

from __future__ import annotations

import logging
import pickle
import stat
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from servers.prolific import (
    BAD_GATEWAY,
    BUSY,
    BUSY_FOR_A_SECOND,
    CUT_AFTER,
    CUT_BEFORE,
    EMPTY_GATEWAY,
    ERROR_AFTER,
    FOREIGN,
    SERVER_ERROR,
    TOKEN,
    WRONG_PROJECT,
    WRONG_TOKEN,
    ApiError,
    Fault,
    StandIn,
)
from servers.prolific.hands import OURS, REVIEW

from mephisto_tasks.crowds.prolific.client import (
    BASE,
    Patience,
    Prolific,
    ProlificError,
    Uncertain,
    asking,
    base_address,
    forget_token,
    has_token,
    read_token,
    stand_in,
    token_names,
    write_token,
)
from mephisto_tasks.crowds.prolific.statuses import AWAITING_REVIEW, TIMED_OUT, plain
from parlai_humaneval._util.text import seconds_to_wait

QUICK = Patience(tries=4, pause_s=0.01, timeout_s=2.0)
ME = "GET users/me/"
PUBLISH = {"action": "PUBLISH"}


@pytest.fixture
def prolific() -> Iterator[StandIn]:
    with StandIn() as server:
        yield server


@pytest.fixture
def api(prolific: StandIn) -> Iterator[Prolific]:
    with Prolific(prolific.token, prolific.base, QUICK) as client:
        yield client


def study(prolific: StandIn, **changes: Any) -> dict[str, Any]:
    """A study as it is sent."""
    return {
        "name": "Talk",
        "description": "Talk to a bot",
        "external_study_url": "https://study.example/?p={{%PROLIFIC_PID%}}",
        "prolific_id_option": "url_parameters",
        "total_available_places": 3,
        "estimated_completion_time": 5,
        "reward": 100,
        "completion_codes": [REVIEW, OURS],
        "project": prolific.project.id,
        **changes,
    }


def live(prolific: StandIn, api: Prolific, **changes: Any) -> str:
    made = str(api.post("studies/", study(prolific, **changes))["id"])
    api.post(f"studies/{made}/transition/", PUBLISH, repeat=True)
    prolific.clock.move(1)
    return made


@pytest.mark.parametrize(
    "fault", [BUSY, BUSY_FOR_A_SECOND, SERVER_ERROR, BAD_GATEWAY, EMPTY_GATEWAY, CUT_BEFORE, CUT_AFTER, ERROR_AFTER]
)
def test_reads_are_asked_again(prolific: StandIn, api: Prolific, fault: Any) -> None:
    prolific.faults.next(ME, fault)
    assert api.get("users/me/")["currency_code"] == "GBP"
    assert len(prolific.journal.of(ME)) == 2


def test_reads_end_with_a_sentence(prolific: StandIn, api: Prolific) -> None:
    for fault, words, status in (
        (BUSY, "too many requests", 429),
        (BAD_GATEWAY, "not working at the moment (status 502)", 502),
        (Fault(wait_s=5), "did not answer in time", 0),
        (CUT_BEFORE, "could not be reached", 0),
    ):
        prolific.faults.clear()
        prolific.faults.always(ME, fault)
        client = Prolific(prolific.token, prolific.base, Patience(tries=2, pause_s=0.01, timeout_s=0.3))
        with pytest.raises(ProlificError) as error:
            client.get("users/me/")
        assert words in str(error.value)
        assert (error.value.status, error.value.may_pass) == (status, True)
        assert not isinstance(error.value, Uncertain)


@pytest.mark.parametrize(
    ("wanted", "expected"), [("3", 3.0), ("9999", 60.0), ("-5", 0.0), (None, None), ("soon", None)]
)
def test_how_long_it_waits(wanted: str | None, expected: float | None) -> None:
    """As Prolific asks, within reason; else ever longer, and not all at the same moment."""
    seconds = seconds_to_wait(wanted)
    pauses = [Patience().pause(number, seconds) for number in (1, 3, 9)]
    if expected is None:
        assert 0.5 <= pauses[0] <= 1.0 < 2.0 <= pauses[1] <= 4.0 < 30.0 <= pauses[2] <= 60.0
    else:
        assert pauses == [expected] * 3


def test_it_waits_until_a_given_time() -> None:
    assert (seconds_to_wait("Fri, 01 Jan 2100 00:00:00 GMT") or 0) > 0


CREATE = "POST studies/"


@pytest.mark.parametrize(("fault", "made"), [(CUT_BEFORE, 0), (CUT_AFTER, 1), (ERROR_AFTER, 1), (BAD_GATEWAY, 0)])
def test_nothing_that_creates_is_sent_twice(prolific: StandIn, api: Prolific, fault: Any, made: int) -> None:
    """Nobody can say whether it was done; so the caller is told, and has to look."""
    prolific.faults.next(CREATE, fault)
    with pytest.raises(Uncertain, match="may have acted"):
        api.post("studies/", study(prolific))
    assert len(prolific.market.studies) == made
    assert len(prolific.journal.of(CREATE)) == 1


@pytest.mark.parametrize("answer", [Fault(wait_s=3), Fault(change=lambda _: "<html>Welcome to our WLAN</html>")])
def test_an_answer_that_is_none_is_in_doubt(prolific: StandIn, answer: Fault) -> None:
    api = Prolific(prolific.token, prolific.base, Patience(tries=2, pause_s=0.01, timeout_s=0.5))
    prolific.faults.next(CREATE, answer)
    with pytest.raises(Uncertain):
        api.post("studies/", study(prolific))
    assert len(prolific.journal.of(CREATE)) <= 1


def test_what_was_refused_for_the_moment_is_sent_again(prolific: StandIn, api: Prolific) -> None:
    """Too many requests, or nobody at the other end: it was not done."""
    prolific.faults.next(CREATE, BUSY, BUSY)
    api.post("studies/", study(prolific))
    assert len(prolific.market.studies) == 1
    with pytest.raises(ProlificError) as error:
        Prolific("t", "http://127.0.0.1:9/", Patience(tries=2, pause_s=0.01)).post("studies/", {})
    assert not isinstance(error.value, Uncertain)
    assert "could not be reached" in str(error.value)


def test_paying_is_sent_once_whatever_happens(prolific: StandIn, api: Prolific) -> None:
    """Neither a lost answer, nor a refusal for the moment, nor the caller makes the client send it again."""
    made = live(prolific, api)
    someone = prolific.participant()
    someone.take(made)
    batch = api.post("submissions/bonus-payments/", {"study_id": made, "csv_bonuses": f"{someone.id},0.50"})["id"]
    path, operation = f"bulk-bonus-payments/{batch}/pay/", "POST bulk-bonus-payments/{}/pay/"
    with pytest.raises(ValueError, match="never repeated"):
        api.post(path, repeat=True)
    for fault, kind, calls in ((BUSY, ProlificError, 1), (CUT_BEFORE, Uncertain, 2), (CUT_AFTER, Uncertain, 3)):
        prolific.faults.next(operation, fault)
        with pytest.raises(kind):
            api.post(path)
        assert len(prolific.journal.of(operation)) == calls
    prolific.clock.move(60)
    assert someone.earned == 50
    assert isinstance(api.post(path), str)


@pytest.mark.parametrize("fault", [CUT_BEFORE, CUT_AFTER, ERROR_AFTER, BAD_GATEWAY, BUSY, ApiError(409, "Conflict")])
def test_what_may_be_done_twice_is_repeated(prolific: StandIn, api: Prolific, fault: Any) -> None:
    """Transitions, absolute numbers of places, members of groups."""
    prolific.market.unknowns.refuses_wrong_transition = False
    made = str(api.post("studies/", study(prolific))["id"])
    prolific.faults.next("POST studies/{}/transition/", fault)
    assert api.post(f"studies/{made}/transition/", PUBLISH, repeat=True)["status"] == "PUBLISHING"
    prolific.clock.move(1)
    prolific.faults.next("PATCH studies/{}/", fault)
    assert api.patch(f"studies/{made}/", {"total_available_places": 5})["total_available_places"] == 5
    group = api.post("participant-groups/", {"workspace_id": prolific.workspace.id, "name": "g"})["id"]
    who = {"participant_ids": [prolific.participant().id]}
    members = f"participant-groups/{group}/participants/"
    prolific.faults.next("POST participant-groups/{}/participants/", fault)
    assert len(api.post(members, who, repeat=True)["results"]) == 1
    prolific.faults.next("DELETE participant-groups/{}/participants/", fault)
    assert api.delete(members, who)["results"] == []


def test_writes_of_a_token_wait_for_each_other(prolific: StandIn) -> None:
    """Of all clients together; reads do not."""
    prolific.faults.always("POST eligibility-count/", Fault(wait_s=0.1))
    clients = [Prolific(prolific.token, prolific.base, QUICK) for _ in range(3)]
    body = {"workspace_id": prolific.workspace.id, "filters": []}
    with ThreadPoolExecutor(4) as threads:
        for client in clients:
            threads.submit(client.post, "eligibility-count/", body)
        threads.submit(clients[0].get, "users/me/")
    times = [call.at for call in prolific.journal.of("POST eligibility-count/")]
    assert all(later - earlier > 0.09 for earlier, later in pairwise(times))
    assert prolific.journal.of(ME)[0].at < times[-1]


def taken(prolific: StandIn, api: Prolific, many: int) -> str:
    """A study with so many people inside."""
    made = live(prolific, api, total_available_places=many)
    for _ in range(many):
        prolific.participant().take(made)
        prolific.clock.move(1)
    return made


@pytest.mark.parametrize("pages", [True, False])
def test_every_page_is_read(prolific: StandIn, api: Prolific, pages: bool) -> None:
    prolific.market.unknowns.pages_study_submissions = pages
    made = taken(prolific, api, 45)
    for path in ("submissions/", f"studies/{made}/submissions/"):
        rows = list(api.pages(path, study=made, ordering="started_at"))
        assert len({row["id"] for row in rows}) == len(rows) == 45
    assert len(prolific.journal.of("GET submissions/")) == 3
    assert list(api.pages("participant-groups/", workspace_id=prolific.workspace.id)) == []
    with pytest.raises(ProlificError, match="nothing with this id"):
        list(api.pages(f"studies/{'0' * 24}/submissions/"))


@pytest.mark.parametrize("which", ["shorter", "longer", "shorter by a page"])
def test_pages_that_shift_while_they_are_read(prolific: StandIn, api: Prolific, which: str) -> None:
    """Those that are there all the time are given, and given once."""
    made = taken(prolific, api, 41)
    entries = prolific.market.studies[made].submissions
    at_first = [entry.id for entry in entries]
    gone = {"shorter": at_first[:1], "longer": [], "shorter by a page": at_first[:1] + at_first[-20:]}[which]

    def shift(answer: Any) -> Any:
        if which == "longer":
            newcomer = entries.pop()
            newcomer.started = 0.0
            entries.insert(0, newcomer)
        entries[:] = [entry for entry in entries if entry.id not in gone]
        return answer

    prolific.faults.next("GET submissions/", Fault(change=shift))
    rows = [row["id"] for row in api.pages("submissions/", study=made, ordering="started_at")]
    assert len(rows) == len(set(rows))
    assert set(at_first) - set(gone) <= set(rows)


def test_a_link_never_leads_the_token_away(prolific: StandIn, api: Prolific) -> None:
    made = taken(prolific, api, 25)

    def elsewhere(answer: Any) -> Any:
        answer["_links"]["next"]["href"] = "https://evil.example/api/v1/submissions/?page=2"
        return answer

    prolific.faults.next("GET submissions/", Fault(change=elsewhere))
    assert len(list(api.pages("submissions/", study=made))) == 25


@pytest.mark.parametrize(
    ("answer", "words", "code"),
    [
        (ApiError(400, "The name is taken."), "Prolific refused: The name is taken", 140000),
        (ApiError(400, ["It is late.", "It is dark."]), "It is late\nProlific refused: It is dark", 140000),
        (
            ApiError(400, {"reward": ["A valid integer is required."]}),
            "reward: Prolific refused: A valid integer",
            140000,
        ),
        (
            ApiError(400, {"completion_codes": [{}, {"code": ["Taken."]}]}),
            "completion_codes.1.code: Prolific refused: Taken",
            140000,
        ),
        (ApiError(400, "Bare.", shape="bare"), "Prolific refused: Bare", 140000),
        (ApiError(400, "Of a message.", shape="message"), "Prolific refused: Of a message", None),
        (ApiError(400, "", shape="empty"), "without saying why (status 400)", None),
        (ApiError(400, None), "The request could not be done", 140000),
        (ApiError(422, "Your balance is too low."), "does not have enough money", 140000),
        (ApiError(400, "Please top up your account."), "top up the workspace", 140000),
        (WRONG_TOKEN, "requester add NAME --provider prolific", 140101),
        (FOREIGN, "check workspace=… and project=…", 140300),
        (WRONG_PROJECT, "set project=… to a project of this token's workspace", 140007),
        (
            ApiError(400, {"participant_ids": ["Unknown: x"]}, 140003),
            "does not recognize some of these participants",
            140003,
        ),
        (ApiError(404, "Not found."), "Prolific has nothing with this id (it says: Not found)", 140000),
        (ApiError(409, "Changed."), "somebody changed this", 140000),
        (ApiError(400, "A code that is a status.", 401), "Prolific refused: A code that is a status", 401),
    ],
)
def test_errors_are_sentences(prolific: StandIn, answer: ApiError, words: str, code: int | None) -> None:
    """Whatever shape an answer has: what is wrong, of which field, and what to do."""
    api = Prolific(prolific.token, prolific.base, Patience(tries=1))
    prolific.faults.always(ME, answer)
    with pytest.raises(ProlificError) as error:
        api.get("users/me/")
    assert words in str(error.value)
    assert (error.value.status, error.value.code) == (answer.status, code)
    with pytest.raises(ProlificError, match="cannot look") as outer, asking("look"):
        api.get("users/me/")
    assert (outer.value.status, outer.value.code) == (answer.status, code)
    assert outer.value.try_ == error.value.try_


def test_a_web_page_is_read_as_words(prolific: StandIn, api: Prolific) -> None:
    prolific.faults.always(ME, ApiError(403, "", html=True))
    with pytest.raises(ProlificError) as error:
        api.get("users/me/")
    assert "403 Error" in str(error.value)
    assert "<" not in str(error.value)


@pytest.mark.parametrize("body", [b"\xff\xfe", b"[1, {}, null]", b'"no"', b'{"error": null}', b"{}", b"<html>", b"nan"])
def test_no_body_is_too_odd(body: bytes) -> None:
    from mephisto_tasks.crowds.prolific.client import refused

    assert "Prolific" in str(refused(400, body))


def test_the_token_is_nowhere(
    prolific: StandIn, api: Prolific, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not in errors, tracebacks with their variables, logs, names of objects or pickles; also where Prolific repeats it."""
    caplog.set_level(logging.DEBUG)
    shown = [repr(api), str(api), repr(vars(api))]
    prolific.faults.always(ME, ApiError(401, f"Invalid token {TOKEN}."))
    prolific.faults.always("GET workspaces/", ApiError(400, f"Token {TOKEN} may not."))
    prolific.faults.always("POST studies/", CUT_AFTER)
    for ask in (
        lambda: api.get("users/me/"),
        lambda: api.get("workspaces/"),
        lambda: api.post("studies/", study(prolific)),
        lambda: Prolific(TOKEN, "http://127.0.0.1:9/", Patience(tries=1)).get("x/"),
        lambda: Prolific(TOKEN, "http://prolific.example/"),
        lambda: write_token("lab", f"{TOKEN} {TOKEN}"),
    ):
        with pytest.raises(ProlificError) as error:
            ask()
        whole = traceback.TracebackException.from_exception(error.value, capture_locals=True)
        shown += [str(error.value), repr(error.value), "".join(whole.format()), str(pickle.dumps(error.value))]
    with pytest.raises(TypeError):
        pickle.dumps(api)
    printed = capsys.readouterr()
    everything = "\n".join([*shown, caplog.text, printed.out, printed.err])
    assert "could not be reached" in everything
    assert TOKEN not in everything
    assert "[key]" in everything


def test_where_it_asks(monkeypatch: pytest.MonkeyPatch, prolific: StandIn) -> None:
    """At Prolific, or where the environment says; never over a line on which others read along."""
    monkeypatch.delenv("PROLIFIC_API", raising=False)
    assert (base_address(), stand_in()) == (BASE, None)
    monkeypatch.setenv("PROLIFIC_API", prolific.base.rstrip("/"))
    assert base_address() == prolific.base
    assert prolific.base == f"{stand_in()}/api/v1/"
    assert Prolific(prolific.token).get("users/me/")["user_type"] == "researcher"
    assert Prolific(prolific.token).public_keys()["keys"][0]["alg"] == "RS256"
    assert base_address("https://prolific.example/v1") == "https://prolific.example/v1/"
    for wrong, words in (
        ("http://prolific.example/", "would expose the token"),
        ("ftp://127.0.0.1/", "is not an address"),
        ("https://me:secret@prolific.example/", "is not an address"),
        ("prolific", "is not an address"),
    ):
        with pytest.raises(ProlificError, match=words):
            Prolific("t", wrong)


def test_kept_tokens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """For their owner alone, each under a name, before that of the environment; and gone when they are forgotten."""
    monkeypatch.setenv("PARLAI_HUMANEVAL_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PROLIFIC_TOKEN", raising=False)
    with pytest.raises(ProlificError, match="no Prolific token for the requester 'lab'"):
        read_token("lab")
    assert (has_token("lab"), token_names(), forget_token("lab")) == (False, [], False)
    write_token("lab", f" {TOKEN}\n")
    write_token("../the other/lab", SecretStr("other"))
    assert read_token("lab").get_secret_value() == TOKEN
    assert TOKEN not in f"{read_token('lab')!r} {read_token('lab')}"
    assert token_names() == ["../the other/lab", "lab"]
    files = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert [stat.S_IMODE(path.stat().st_mode) for path in files] == [0o600] * 2
    assert stat.S_IMODE((tmp_path / "home" / "prolific").stat().st_mode) == 0o700
    monkeypatch.setenv("PROLIFIC_TOKEN", "of-the-environment")
    assert read_token("lab").get_secret_value() == TOKEN
    assert forget_token("lab")
    assert read_token("lab").get_secret_value() == "of-the-environment"
    for wrong in ("", "two words", "naïve", "line\nbreak"):
        with pytest.raises(ProlificError, match="not an API token"):
            write_token("lab", wrong)


@pytest.mark.parametrize(
    ("written", "word"),
    [
        ("TIMED-OUT", TIMED_OUT),
        ("timed_out", TIMED_OUT),
        ("Timed out", TIMED_OUT),
        ("AWAITING_REVIEW", AWAITING_REVIEW),
    ],
)
def test_words_are_read_however_they_are_written(written: str, word: str) -> None:
    assert plain(written) == word
    assert plain("dreaming") == "DREAMING"
    assert plain(None) == ""
