"""A study on MTurk's stand-in: what of its rules MTurk enforces, and the qualifications of practice and blocks there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from live import TASK
from mephisto.abstractions.databases.local_database import LocalMephistoDB
from mephisto.data_model.worker import Worker
from scripted_models import zoo_file
from servers.mturk import DENIED, KEY, SECRET, StandIn
from servers.mturk import Worker as Turker

from mephisto_tasks.config.task import ConfigError
from mephisto_tasks.crowds.mturk.crowd import MTurkAccounts
from mephisto_tasks.crowds.registry import crowd_of, register_providers
from mephisto_tasks.launch import launch as launching
from mephisto_tasks.launch.config import compose_config
from mephisto_tasks.storage.database import close_connections
from mephisto_tasks.storage.logs import BLOCKED_EVERYWHERE
from mephisto_tasks.workers.qualifications import (
    BlockError,
    block_by_hand,
    grant,
    list_blocks,
    reset_practice,
    unblock,
    unblock_on_sites,
)
from mephisto_tasks.workers.roster import KnownWorker, SiteBlocks, known_workers
from parlai_humaneval.cli import main

PRACTICE = "pw-practice"


@pytest.fixture
def mturk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """An account with money, and people who work there: each of the last four fails another rule."""
    with StandIn(sandbox=False) as server:
        for name, value in {**server.environment, "HOME": str(tmp_path)}.items():
            monkeypatch.setenv(name, value)
        for name in ("AGOOD", "ACLUMSY", "ARUDE"):
            server.crowd.add_worker(Turker(name, "US", number_approved=900, adult=True))
        server.crowd.add_worker(Turker("AFRESH", "US", number_approved=3, adult=True))
        server.crowd.add_worker(Turker("APOOR", "US", number_approved=900, percent_approved=95, adult=True))
        server.crowd.add_worker(Turker("ASHY", "US", number_approved=900))
        server.crowd.add_worker(Turker("ABROAD", "FR", number_approved=900, adult=True))
        yield server


@pytest.fixture
def db(mturk: StandIn, data_dir: Path) -> Iterator[Any]:
    register_providers()
    MTurkAccounts("mturk").add(data_dir, "me", (KEY, SECRET))
    db = LocalMephistoDB(str(data_dir / "database.db"))
    yield db
    close_connections(db)


def on_mturk(data_dir: Path, *rules: str) -> Any:
    """Settings of a study there, of four units."""
    blueprint = [
        "models=[alpha,beta]",
        f"zoo_files=['{zoo_file(data_dir, ['alpha', 'beta'])}']",
        f"onboarding_qualification={PRACTICE}",
        "block_qualification=careless",
        "dialogues_per_group=4",
        *(f"workers.{rule}" for rule in rules),
    ]
    crowd = [
        "provider.requester_name=me",
        "architect.public_url=https://study.example",
        "architect.port=0",
        f"task.task_name={TASK}",
    ]
    overrides = [*(f"mephisto.blueprint.{one}" for one in blueprint), *(f"mephisto.{one}" for one in crowd)]
    return compose_config("pw_turn", "mturk", overrides)


def site_of(provider: str) -> SiteBlocks | None:
    return crowd_of(provider).blocks()


def agree(_: object) -> None:
    """To spend the stand-in's money."""


def known(data_dir: Path, name: str) -> KnownWorker:
    return next(worker for worker in known_workers(data_dir).values() if worker.name == name)


def offered(mturk: StandIn) -> set[str]:
    """Who sees a HIT of the study."""
    return {name for name in mturk.crowd.workers if mturk.crowd.offered(name)}


def test_rules_practice_and_blocks_on_mturk(mturk: StandIn, db: Any, data_dir: Path) -> None:
    """Who does not fulfil a rule sees no HIT; nor who failed the practice or was blocked, until that is taken back."""
    provider_worker = {name: Worker.get(db, db.new_worker(name, "mturk")) for name in ("ACLUMSY", "ARUDE")}
    assert block_by_hand(db, [known(data_dir, "ARUDE")], "Writes insults.", None, site_of) == []
    assert mturk.journal.of("CreateWorkerBlock")[0].params["WorkerId"] == "ARUDE"
    rules = ("locales=[US]", "min_approved=500", "min_approval_rate=96", "adult=true")
    with launching.run_launch("pw_turn", on_mturk(data_dir, *rules), data_dir, agree=agree):
        assert offered(mturk) == {"AGOOD", "ACLUMSY"}
        (made,) = mturk.journal.of("CreateHITType")
        names = {kind.id: kind.params["Name"] for kind in mturk.crowd.qualification_types.values()}
        required = {
            names.get(one["QualificationTypeId"], one["QualificationTypeId"])
            for one in made.params["QualificationRequirements"]
        }
        assert required >= {f"{PRACTICE}-failed", "careless", BLOCKED_EVERYWHERE}
        grant(provider_worker["ACLUMSY"], PRACTICE)
        provider_worker["ACLUMSY"].grant_qualification(PRACTICE, 0)
        provider_worker["ACLUMSY"].grant_qualification(f"{PRACTICE}-failed", 0)
        assert offered(mturk) == {"AGOOD"}
        assert reset_practice(db, TASK, [known(data_dir, "ACLUMSY")]) == []
        assert offered(mturk) == {"AGOOD", "ACLUMSY"}
        grant(provider_worker["ACLUMSY"], "careless")
        assert offered(mturk) == {"AGOOD"}
        (lifted,) = unblock(db, TASK, None)
        assert (lifted.block.qualification, lifted.provider_agreed) == ("careless", True)
        unblock(db, None, [known(data_dir, "ARUDE").pseudonym])
        assert unblock_on_sites(db, [known(data_dir, "ARUDE")], site_of) == []
        assert mturk.journal.of("DeleteWorkerBlock")[0].params["WorkerId"] == "ARUDE"
        assert offered(mturk) == {"AGOOD", "ACLUMSY", "ARUDE"}


def test_a_qualification_that_does_not_exist_stops_the_launch_before_anything_is_made(
    mturk: StandIn, db: Any, data_dir: Path
) -> None:
    with (
        pytest.raises(
            ConfigError,
            match=r"workers.qualifications: your MTurk account has no qualification 'trained'",
        ),
        launching.run_launch("pw_turn", on_mturk(data_dir, "qualifications=[trained]"), data_dir, agree=agree),
    ):
        raise AssertionError
    assert not [name for name in mturk.journal.names() if name.startswith("Create")]


def test_a_block_holds_here_where_mturk_refuses_it(mturk: StandIn, db: Any, data_dir: Path) -> None:
    """What was not done there is said in a sentence without the worker's id; who is not of MTurk cannot be blocked there."""
    db.new_task(TASK, "mock")
    db.new_worker("ARUDE", "mturk")
    db.new_worker("colleague", "mock")
    rude, colleague = known(data_dir, "ARUDE"), known(data_dir, "colleague")
    mturk.faults.always("*", DENIED)
    (problem,) = block_by_hand(db, [rude], "Writes insults.", None, site_of)
    assert problem.startswith(
        f"{rude.pseudonym}: cannot change the account's blocks in the name of me: these AWS keys may not"
    )
    assert "ARUDE" not in problem
    assert [block.worker for block in list_blocks(data_dir, TASK)] == [rude.pseudonym]
    with pytest.raises(BlockError, match=f"{colleague.pseudonym}: their crowd's site cannot block them"):
        block_by_hand(db, [colleague], "Too kind.", None, site_of)
    assert [block.worker for block in list_blocks(data_dir, TASK)] == [rude.pseudonym]


def test_lifting_a_block_says_which_others_hold(mturk: StandIn, db: Any, data_dir: Path) -> None:
    """In a study, in all, and on MTurk, where a block can be left that is none here any more."""
    db.new_task(TASK, "mock")
    db.new_worker("ARUDE", "mturk")
    name = known(data_dir, "ARUDE").pseudonym

    def workers(*arguments: str) -> str:
        return CliRunner().invoke(main, ["workers", *arguments, "--data-dir", str(data_dir)]).output

    workers("block", name, "--reason", "Writes insults.", "--all-tasks", "--everywhere")
    workers("block", name, "--reason", "Copies.", "--task-name", TASK)
    lifted = workers("unblock", name, "--task-name", TASK)
    assert lifted == (
        f"{name} may take part again (was blocked: Copies.); but still blocked in all studies: Writes insults. (lifted by "
        f"workers unblock {name} --all-tasks)\n"
    )
    assert f"lift that: parlai-humaneval workers unblock {name} --all-tasks" in workers(
        "unblock", name, "--task-name", TASK
    )
    assert workers("unblock", name, "--all-tasks") == f"{name} may take part again (was blocked: Writes insults.)\n"
    assert mturk.journal.of("DeleteWorkerBlock") == []
    assert "None of these raters are blocked on MTurk any more." in workers(
        "unblock", name, "--all-tasks", "--everywhere"
    )
    assert [call.params["WorkerId"] for call in mturk.journal.of("DeleteWorkerBlock")] == ["ARUDE"]
    assert "where nobody is blocked" in workers("unblock", name, "--all-tasks")
