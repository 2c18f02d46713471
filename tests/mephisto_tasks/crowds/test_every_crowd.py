"""The contract of a crowd, held against every one that is registered: this package's, and the example of a plug-in."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, closing, nullcontext
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from click.testing import CliRunner
from crowd_cases import CASES, Case, by_link, hits_open, with_the_example
from live import TASK, Launch, eventually, records, rows
from mephisto.operations.registry import get_crowd_provider_from_type
from mturk_hands import arguments
from prolific_hands import blocked_group, person_id
from servers import prolific
from servers.mturk import DENIED, Worker
from stored_study import StoredStudy, choices

from mephisto_tasks.admission.visits import Arrival
from mephisto_tasks.control.orders import Pause, Resume, give
from mephisto_tasks.crowds import registry
from mephisto_tasks.crowds.crowd import Crowd, CrowdError, Forgotten
from mephisto_tasks.crowds.link.crowd import DONE_ALREADY, LinkCrowd, arrival_by
from mephisto_tasks.crowds.link.datastore import LinkDatastore
from mephisto_tasks.crowds.panels.panel import panel_names
from mephisto_tasks.launch import launch as launching
from mephisto_tasks.launch import running
from mephisto_tasks.launch.config import ConfigError, compose_config
from mephisto_tasks.launch.config import choices as choices_of
from mephisto_tasks.payments.ledger import Ledger
from mephisto_tasks.payments.policy import Quote
from mephisto_tasks.server.security import security_headers
from mephisto_tasks.storage.provider_names import SANDBOX_SUFFIX
from mephisto_tasks.workers.qualifications import BlockError, block_by_hand
from mephisto_tasks.workers.roster import known_workers
from parlai_humaneval._util.data_files import read_yaml
from parlai_humaneval.cli import main


@pytest.fixture(scope="module", autouse=True)
def _example(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch, with_the_example(tmp_path_factory.mktemp("site"), patch):
        yield


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    assert isinstance(request.param, Case)
    return request.param


@pytest.fixture
def site(case: Case, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """What stands in for the crowd's site, where it has one."""
    with case.site(monkeypatch, tmp_path) as stand_in:
        yield stand_in


@pytest.fixture(scope="module")
def config(case: Case, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Settings of a launch there, composed once."""
    folder = tmp_path_factory.mktemp(case.name)
    with pytest.MonkeyPatch.context() as patch, case.site(patch, folder):
        return compose_config("pw_turn", "local", _settings(case, folder))


@pytest.fixture(scope="module")
def crowd(config: Any) -> Crowd:
    return registry.crowd_in(config)


def _settings(case: Case, folder: Path, *more: str) -> list[str]:
    mine = [word for word in arguments(folder, "local", *more) if not word.startswith(("place=", "mephisto.provider."))]
    return [*mine, *case.overrides(folder)]


def test_every_crowd_is_met() -> None:
    """A crowd that nobody holds to the contract may break it."""
    met = {name.partition("=")[2] for case in CASES for name in case.settings if name.startswith("place=")}
    assert met == {crowd.place for crowd in registry.crowds()}
    panels = {name.rpartition("=")[2] for case in CASES for name in case.settings if ".panel=" in name}
    assert panels == set(panel_names())


def test_a_crowd_that_could_never_be_reached_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever chooses a name that is taken reads so, instead of seeing their raters come from the other crowd."""
    taken = type("Mine", (Crowd,), {"place": "mine", "provider_type": "password", "title": "Mine"})()
    assert taken.place not in {crowd.place for crowd in registry.crowds()}  # all that are installed are loaded by now
    monkeypatch.setattr(registry, "_registered", [*registry._registered, taken])
    done = CliRunner().invoke(main, ["launch", "pw_turn", "place=mine"])
    assert done.exit_code == 1
    said = " ".join(done.stderr.split())
    assert "the crowd 'Mine' (" in said
    assert "the provider_type 'password', which 'A file of passwords' uses" in said


def test_names(case: Case, crowd: Crowd, config: Any) -> None:
    """By its type in databases it is found again, and Mephisto knows its provider."""
    assert crowd.place in choices_of("place")
    assert config.mephisto.provider._provider_type == crowd.provider_type
    assert registry.crowd_of(crowd.provider_type).provider_type == crowd.provider_type
    assert crowd.provider_type == get_crowd_provider_from_type(crowd.provider_type).PROVIDER_TYPE
    assert crowd.title
    assert crowd.words.where
    assert f"{crowd.place} " in " ".join(CliRunner().invoke(main, ["launch", "--help"]).output.split())


def test_settings_are_documented_and_their_kinds_checked(crowd: Crowd) -> None:
    for name, info in crowd.Settings.model_fields.items():
        assert (info.description or "").strip().endswith("."), f"{name} says what it is"


def test_settings_that_cannot_be_are_refused(case: Case, site: object, tmp_path: Path) -> None:
    unknown = ("mephisto.provider.no_such_setting=1", "no_such_setting")
    for wrong, words in [*case.wrong, unknown]:
        with pytest.raises(ConfigError) as refused:
            compose_config("pw_turn", "local", [*_settings(case, tmp_path), wrong.replace("FOLDER", str(tmp_path))])
        assert words in str(refused.value)


def test_page_policy(crowd: Crowd) -> None:
    """Only named sites, by https, may show the page or take its form; no site learns more of where a rater is."""
    headers = security_headers(crowd.page)
    assert all(re.fullmatch(r"https://[a-z0-9.*-]+\.[a-z]+", site) for site in crowd.page.frame_ancestors)
    assert all(re.fullmatch(r"https://[a-z0-9.*-]+\.[a-z]+", site) for site in crowd.page.form_targets)
    assert bool(crowd.page.frame_ancestors) == ("https://" in headers["Content-Security-Policy"])
    assert crowd.page.referrer in ("no-referrer", "strict-origin-when-cross-origin")
    script = crowd.page_script
    assert script is None or "getWorkerName" in script.read_text(encoding="utf-8")


def test_identity(case: Case, crowd: Crowd, config: Any, tmp_path: Path) -> None:
    """What binds a worker to a browser is kept under the provider's stored name; a door names each person once."""
    assert crowd.claims.provider == crowd.provider_type
    assert "browser" in crowd.claims.advice
    if isinstance(crowd, LinkCrowd) and case.parameters:
        doors = crowd.doors(dict(config.mephisto.provider), tmp_path, TASK)
        arrival = arrival_by(doors, case.parameters)
        assert arrival == case.arrival == arrival_by(doors, {**case.parameters, "utm_source": "a mail"})
        if crowd.market.lists_study:  # its site gives people the link of a study that was made there
            return
        launch = crowd.launch(config, tmp_path, TASK, lambda _: nullcontext())
        if not launch.only_invited and launch.panel_link("http://here") is None and crowd.accounts() is None:
            link = urlsplit(launch.raters_link("http://here", None))
            assert case.parameters.keys() == dict(parse_qsl(link.query)).keys(), "a link that lets nobody in"


def test_exit(case: Case, crowd: Crowd, config: Any, tmp_path: Path) -> None:
    """Everybody is sent back with what their site wants, and nobody to a site that they did not come from."""
    if not isinstance(crowd, LinkCrowd) or not case.parameters:
        return
    doors = crowd.doors(dict(config.mephisto.provider), tmp_path, TASK)
    arrival = arrival_by(doors, case.parameters)
    door = next(door for door in doors if door.name == arrival.door)
    for outcome in ("complete", "screened_out", "no_consent", "timed_out", "returned"):
        redirect = door.exit(arrival, outcome)  # type: ignore[arg-type]  # each is an Outcome
        there = "" if redirect is None else f"{redirect.url}{redirect.code}"
        assert case.exits.get(outcome, "") in there


def test_words_of_a_site_are_its_own(crowd: Crowd) -> None:
    """Nobody reads of units by another site's name."""
    assert crowd.market.lists_units or crowd.words.unit == "assignment"


def test_a_quote_before_anything_is_offered(case: Case, crowd: Crowd, config: Any, site: Any, data_dir: Path) -> None:
    """It adds up; where it is real money somebody must agree, and until then nothing is made there or here."""
    told: list[Quote] = []

    def stop(quote: Quote) -> None:
        told.append(quote)
        raise InterruptedError

    try:
        with launching.run_launch("pw_turn", config, data_dir, agree=stop):
            pass
    except InterruptedError:
        assert hits_open(site) == 0
        assert not (data_dir / "database.db").exists()
    assert bool(told) == crowd.market.has_price
    for quote in told:
        assert quote.total == sum((line.amount for line in quote.lines), Decimal(0)) > 0
        assert (quote.currency, quote.is_real) == ("USD", crowd.costs_money)
        assert ("real money" in quote.heading) == crowd.costs_money
        assert quote.money(quote.total) in dict(quote.table()).values()
    if crowd.costs_money:
        with pytest.raises(CrowdError, match="nobody has agreed"), launching.run_launch("pw_turn", config, data_dir):
            pass
        assert hits_open(site) == 0


def test_a_quote_for_more(crowd: Crowd, site: object) -> None:
    settings = {"task.task_reward": 0.5, "provider.requester_name": "lab", "provider.currency": "USD"}
    quote = crowd.quote_more(3, settings)
    assert (quote is not None) == crowd.costs_money
    assert quote is None or quote.total > Decimal("1.50")


@asynccontextmanager
async def _beside(launch: AbstractContextManager[launching.RunningStudy]) -> AsyncIterator[launching.RunningStudy]:
    """A launch from a coroutine: pages live on while it starts and ends."""
    run = await asyncio.to_thread(launch.__enter__)
    try:
        yield run
    finally:
        await asyncio.to_thread(launch.__exit__, None, None, None)


async def test_life(case: Case, site: Any, tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opened, held, resumed, worked at, stopped: whoever comes from the crowd does a unit, and nothing stays open."""
    if case.come is None:
        pytest.skip("its raters come as those of another panel do")
    monkeypatch.setattr(running, "LOOK_S", 0.05)
    data_dir.mkdir()
    config = compose_config("pw_turn", "local", _settings(case, tmp_path, "mephisto.blueprint.dialogues_per_group=2"))
    has_places = registry.crowd_in(config).market.has_price
    async with _beside(launching.run_launch("pw_turn", config, data_dir, agree=lambda quote: None)) as run:
        await eventually(lambda: hits_open(site) == (2 if has_places else 0))
        give(data_dir, TASK, Pause())
        await eventually(lambda: run.study.paused and hits_open(site) == 0)
        give(data_dir, TASK, Resume())
        await eventually(lambda: not run.study.paused and (hits_open(site) > 0) == has_places)
        async with case.come(run, site, "ann") as rater:
            assert rater.client.refused is None
            await (rater.do_all() if hasattr(rater, "do_all") else rater.finish())
        await eventually(lambda: run.study.remaining == 1)
    assert hits_open(site) == 0
    assert [record.status for record in records(run)] == ["complete"]
    ((worker, provider),) = rows(data_dir, "SELECT worker_name, provider_type FROM workers")
    assert provider == config.mephisto.provider._provider_type
    assert case.stored in worker.lower()


async def test_the_example_admits_each_password_once(start: Launch, tmp_path: Path) -> None:
    """A wrong password, and one that somebody else has used, let nobody in; each of them reads why."""
    case = next(case for case in CASES if case.name == "password")
    async with start(overrides=case.overrides(tmp_path), turns=1, dialogues_per_group=2) as run:
        async with by_link(run, "?name=ann&password=opensesame", "ann") as ann:
            await ann.finish()
        refused = {"wrong": "do not belong together", "opensesame": "Somebody has already used this link"}
        for password, words in refused.items():
            async with by_link(run, f"?name=ann&password={password}", "somebody else") as rater:
                assert words in str(rater.client.refused)
        async with by_link(run, "?name=ann&password=opensesame", "ann") as again:
            assert DONE_ALREADY[1] in str(again.client.refused)
    assert [record.status for record in records(run)] == ["complete"]


def test_what_cannot_be_taken_off_at_the_end(
    case: Case, crowd: Crowd, site: Any, tmp_path: Path, data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever launched is told what to do, in words that can be typed as they are, and that then does it."""
    if not crowd.market.lists_units:
        return
    settings = _settings(case, tmp_path, "mephisto.blueprint.dialogues_per_group=2")
    with launching.run_launch(
        "pw_turn", compose_config("pw_turn", "local", settings), data_dir, agree=lambda quote: None
    ):
        asyncio.run(eventually(lambda: hits_open(site) == 2))
        site.faults.always("UpdateExpirationForHIT", DENIED)
    assert f"2 of 2 {crowd.words.unit}s are still on MTurk" in caplog.text
    assert f"requester expire --task-name {TASK} --data-dir {data_dir}" in caplog.text
    site.faults.clear()
    assert hits_open(site) == 2
    accounts = crowd.accounts()
    assert accounts is not None
    assert accounts.take_off(data_dir, TASK) == 2
    assert hits_open(site) == 0


def test_payer_by_file_or_hand(case: Case, crowd: Crowd, tmp_path: Path) -> None:
    """Owed amounts in whole cents are written once, in the account's currency, and never again."""
    if crowd.market.has_price:
        return  # those of a site are in test_pay_mturk.py and test_pay_prolific.py, with work that was done there
    registry.register_providers()
    study = StoredStudy(tmp_path / "study", provider=crowd.provider_type, requester="lab", reward=1.25)
    for worker in ("ann", "bob"):
        study.add(TASK, f"{case.name}:{worker}", choices(worker, [[1], [2]]))
    command = ["pay", "--task-name", TASK, "--data-dir", str(study.data_dir), "--send", "--yes"]
    for _ in range(2):
        assert CliRunner().invoke(main, command).exit_code == 0
        payments = Ledger(study.data_dir, TASK).payments()
        assert [(payment.state, payment.amount, payment.currency) for payment in payments] == [
            ("written", Decimal("1.25"), "USD")
        ] * 2
        assert {payment.account for payment in payments} == {f"{crowd.provider_type}:lab"}
    assert CliRunner().invoke(main, [*command[:-2], "--audit"]).exit_code == 0


def test_blocks(crowd: Crowd, site: Any, tmp_path: Path) -> None:
    """A crowd without a list of its own refuses to be asked, before anybody is blocked; one with it asks its site."""
    registry.register_providers()
    suffix = SANDBOX_SUFFIX if crowd.provider_type.endswith(SANDBOX_SUFFIX) else ""
    study = StoredStudy(tmp_path / "study", provider=crowd.provider_type, requester=f"lab{suffix}")
    known = f"prolific:{person_id('ann')}" if isinstance(site, prolific.StandIn) else f"A1ANN{suffix}"
    study.add(TASK, known, choices("a", [[1]]))
    whom = list(known_workers(study.data_dir).values())
    own = crowd.blocks()
    if own is None:
        with pytest.raises(BlockError, match="--everywhere"):
            block_by_hand(study._db, whom, "copies", None, site_of=lambda provider: own)
        return
    if isinstance(site, prolific.StandIn):
        group = blocked_group(study.data_dir, site)
        site.participant(person_id("ann"))
    else:
        site.crowd.add_worker(Worker("A1ANN", "US"))
    assert block_by_hand(study._db, whom, "copies", None, site_of=lambda provider: own) == []
    if isinstance(site, prolific.StandIn):
        assert list(group.members) == [person_id("ann")]
    else:
        assert "CreateWorkerBlock" in site.journal.names()


def test_traces_of_somebody_who_is_forgotten(crowd: Crowd, data_dir: Path) -> None:
    """Statements are for stores of this data directory, and of the person alone."""

    person = Forgotten("7", "somebody", [TASK], ["9"], everywhere=True)
    for trace in crowd.traces(data_dir, person):
        assert data_dir in trace.store.parents
        for sql, values in trace.statements:
            assert " WHERE " in sql
            assert {str(value) for value in values} <= {"7", "9", "somebody", TASK}
    assert crowd.outside_ids(data_dir, person) == []
    assert crowd.people(data_dir, [TASK]) == []
    if isinstance(crowd, LinkCrowd):
        _forget_in_a_single_task(crowd, data_dir)


def _forget_in_a_single_task(crowd: LinkCrowd, data_dir: Path) -> None:
    """Visits in other tasks, of other people and blocks are there afterwards."""
    store = LinkDatastore(data_dir / crowd.provider_type)
    everybody = [(name, task) for name in ("somebody", "somebody else") for task in (TASK, "another task")]
    for name, task in everybody:
        store.add(task, Arrival(name, "a door", "", f"{name} in {task}"))
    store.set_blocked("7", True)
    person = Forgotten("7", "somebody", [TASK], ["9"], everywhere=False)
    of_store = [each for each in registry.crowds() if each.provider_type == crowd.provider_type]  # some share theirs
    ids = {name for each in of_store for name in each.outside_ids(data_dir, person)}
    assert (f"somebody in {TASK}" in ids, "somebody in another task" in ids) == (True, False)
    for trace in (trace for each in of_store for trace in each.traces(data_dir, person)):
        if trace.store.exists():
            with closing(sqlite3.connect(trace.store)) as connection, connection:
                for sql, values in trace.statements:
                    connection.execute(sql, values)
    left = [(visit.worker_name, task) for task in (TASK, "another task") for visit in store.of_task(task)]
    assert sorted(left) == sorted(set(everybody) - {("somebody", TASK)})
    assert store.is_blocked("7")


def test_private_ids_and_health(crowd: Crowd, data_dir: Path) -> None:
    for pattern in crowd.private_ids:
        assert re.compile(pattern).search("nobody speaks like this") is None
    for line in crowd.health(data_dir):
        assert line.what == f"Provider {crowd.provider_type}"
        assert line.status in ("ok", "warning")


@pytest.mark.parametrize(
    ("provider", "person"), [("prolific", "5f1c9a0b2d3e4f5a6b7c8d9e"), ("mturk", "A1B2C3D4E5F6G7")]
)
def test_a_crowd_knows_ids_of_its_people(provider: str, person: str) -> None:
    """Each by itself: which of several crowds hides an id must not matter."""
    assert any(re.search(pattern, f"I am {person}.") for pattern in registry.crowd_of(provider).private_ids)


def test_an_unknown_provider_of_old_runs_is_read_and_paid_by_hand(tmp_path: Path) -> None:
    crowd = registry.crowd_of("a_crowd_that_is_gone")
    study = StoredStudy(tmp_path / "study", reward=1.0)
    study.add(TASK, "ann", choices("a", [[1]]))
    assert crowd.payer(study.data_dir, TASK, "lab", []).account == "a_crowd_that_is_gone:lab"
    assert (crowd.costs_money, crowd.accounts(), crowd.blocks(), crowd.status()) == (False, None, None, None)


@pytest.mark.parametrize("folder", sorted(path.parent for path in Path(registry.__file__).parent.glob("*/payer.yaml")))
def test_a_payer_says_every_sentence_of_its_file_and_no_other(folder: Path) -> None:
    said = re.findall(r'WORDS\["(\w+)"\]', (folder / "payer.py").read_text(encoding="utf-8"))
    assert set(said) == set(read_yaml(folder / "payer.yaml"))
