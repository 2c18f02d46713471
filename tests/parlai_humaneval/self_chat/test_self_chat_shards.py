"""Shards: parts of the dialogues made apart, on many machines, and put together as if one run had made them."""

from __future__ import annotations

import itertools
import json
import shlex
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from make_talkers import Talkers, chancy, contents, counting, dialogues

from parlai_humaneval.cli import main
from parlai_humaneval.models.zoo.entries import ModelSpec
from parlai_humaneval.self_chat import SelfChatError, SelfChatSettings, generate, pairs_of
from parlai_humaneval.self_chat.files import locked
from parlai_humaneval.self_chat.merge import merge
from parlai_humaneval.self_chat.settings import Shard, shard_of

SETTINGS = SelfChatSettings(num_dialogues=7, exchanges=2, start="openers", seed=3)
PAIRS = [("a", "b"), ("a", "a")]


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


@pytest.fixture
def specs(talkers: Talkers) -> list[ModelSpec]:
    return talkers.specs(a=chancy, b=chancy)


@pytest.fixture
def shards(specs: list[ModelSpec], tmp_path: Path) -> Path:
    """A folder with all three shards of two pairs."""
    for number in (3, 1, 2):
        generate(specs, PAIRS, SETTINGS, tmp_path / "shards", shard=Shard(number, 3))
    return tmp_path / "shards"


@pytest.fixture
def whole(specs: list[ModelSpec], tmp_path: Path) -> Path:
    generate(specs, PAIRS, SETTINGS, tmp_path / "whole")
    return tmp_path / "whole"


def test_shards_together_are_one_run(shards: Path, whole: Path) -> None:
    """Guards the promise: the files of an unsharded run, byte for byte, with the runs of all shards beside them."""
    assert [path.name for path in sorted(shards.iterdir())] == [f"shard-0{n}-of-03" for n in (1, 2, 3)]
    numbers = [[d["number"] for d in dialogues(shards / f"shard-0{n}-of-03" / "a--b.jsonl")] for n in (1, 2, 3)]
    assert numbers == [[0, 3, 6], [1, 4], [2, 5]]
    before = {path: path.read_bytes() for path in shards.rglob("*.*") if path.is_file()}
    merged = merge([shards], shards)
    assert contents(shards) == contents(whole)
    assert [(file.path.name, file.dialogues) for file in merged.files] == [("a--b.jsonl", 7), ("a.jsonl", 7)]
    ours, one_run = (json.loads((folder / "a--b.metadata").read_text()) for folder in (shards, whole))
    assert {**ours, "runs": [], "date": ""} == {**one_run, "runs": [], "date": ""}
    assert sorted(run["shard"] for run in ours["runs"]) == ["1/3", "2/3", "3/3"]
    assert {path: path.read_bytes() for path in before} == before, "the shards are left as they are"


def test_an_unsharded_run_goes_on_with_what_was_merged(shards: Path, specs: list[ModelSpec]) -> None:
    """Guards a study that grows after its shards were put together."""
    merge([shards], shards)
    (file, _) = generate(specs, PAIRS, SETTINGS.model_copy(update={"num_dialogues": 9}), shards)
    assert (file.dialogues, file.generated) == (9, 2)


def test_shards_of_several_machines_and_renamed_ones(shards: Path, whole: Path, tmp_path: Path) -> None:
    """Guards folders that were copied together: which shard it is stands in the files, not in the folder's name."""
    (tmp_path / "node").mkdir()
    (shards / "shard-02-of-03").rename(tmp_path / "node" / "shard-02-of-03")
    (shards / "shard-03-of-03").rename(tmp_path / "third")
    merge([shards, tmp_path / "node", tmp_path / "third"], tmp_path / "out")
    assert contents(tmp_path / "out") == contents(whole)


def test_an_interrupted_shard_goes_on(shards: Path, whole: Path, specs: list[ModelSpec]) -> None:
    """Guards a node that is killed while it writes: the merge says so, and the same command completes the shard."""
    path = shards / "shard-01-of-03" / "a.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(SelfChatError, match=r"a.jsonl lacks 1 dialogue \(number 6\).* 1/3 \(unfinished\)"):
        merge([shards], shards)
    assert not contents(shards)
    files = generate(specs, PAIRS, SETTINGS, shards, shard=Shard(1, 3))
    assert [file.generated for file in files] == [0, 1]
    merge([shards], shards)
    assert contents(shards) == contents(whole)


def test_a_hole_is_told_with_the_command_that_fills_it(tmp_path: Path) -> None:
    """Guards the whole way as people go it: two shards of three, the merge's own words, and the command it names."""
    base = [
        "self-chat",
        "--models",
        "eliza,retrieval",
        "--pairs",
        "--num-dialogues",
        "5",
        "--exchanges",
        "2",
        "--seed",
        "4",
    ]
    for number in ("1/3", "3/3"):
        assert call(*base, "--out", str(tmp_path / "out"), "--shard", number).exit_code == 0
    told = call("self-chat-merge", str(tmp_path / "out"))
    assert told.exit_code == 1
    assert "lacks 2 dialogues (number 1, 4)" in told.stderr
    assert "shards of these dialogues: 2/3 (missing)" in told.stderr
    command = shlex.split(told.stderr.splitlines()[-1])
    assert command[0] == "parlai-humaneval"
    partly = call(
        "self-chat-merge", str(tmp_path / "out"), "--allow-missing", "--out", str(tmp_path / "part"), "--json"
    )
    assert json.loads(partly.stdout)["missing"] == {"eliza--retrieval.jsonl": [1, 4]}
    assert call(*command[1:]).exit_code == 0
    merged = call("self-chat-merge", str(tmp_path / "out"), "--json")
    assert merged.exit_code == 0, merged.stderr
    assert json.loads(merged.stdout)["files"][0]["dialogues"] == 5
    assert call(*base, "--out", str(tmp_path / "part")).exit_code == 0, "what lacked is made without shards, too"
    assert contents(tmp_path / "part") == contents(tmp_path / "out")


def test_more_shards_than_dialogues(specs: list[ModelSpec], tmp_path: Path) -> None:
    """Guards a shard that has nothing to do: it is finished at once, and the merge knows it."""
    settings = SETTINGS.model_copy(update={"num_dialogues": 2})
    for number in (1, 2, 3):
        (file,) = generate(specs, [("a", "b")], settings, tmp_path, shard=Shard(number, 3))
        assert file.dialogues == (1 if number < 3 else 0)
        generate(
            specs, [("a", "b")], settings, tmp_path, shard=Shard(number, 3)
        )  # again: there is nothing to complain of
    assert merge([tmp_path], tmp_path).files[0].dialogues == 2


def _copied(shards: Path) -> list[Path]:
    shutil.copytree(shards / "shard-02-of-03", shards.parent / "copy" / "shard-02-of-03")
    return [shards, shards.parent / "copy"]


def _renumbered(shards: Path) -> list[Path]:
    path = shards / "shard-02-of-03" / "a.metadata"
    path.write_text(path.read_text().replace('"2/3"', '"2/4"'), encoding="utf-8")
    return [shards]


def _of_other_settings(shards: Path) -> list[Path]:
    path = shards / "shard-03-of-03" / "a--b.metadata"
    path.write_text(path.read_text().replace('"seed": 3', '"seed": 4'), encoding="utf-8")
    return [shards]


def _without_metadata(shards: Path) -> list[Path]:
    (shards / "shard-03-of-03" / "a.metadata").write_text("{", encoding="utf-8")
    return [shards]


def _with_a_stranger(shards: Path) -> list[Path]:
    path = shards / "shard-03-of-03" / "a.jsonl"
    path.write_text(path.read_text() + (shards / "shard-01-of-03" / "a.jsonl").read_text(), encoding="utf-8")
    return [shards]


def _with_rubbish(shards: Path) -> list[Path]:
    (shards / "shard-03-of-03" / "a.jsonl").write_text("not a dialogue\n", encoding="utf-8")
    return [shards]


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (_copied, r"shard 2/3 appears twice: .*shards/shard-02-of-03/.* and .*copy/shard-02-of-03/"),
        (_renumbered, r"belongs to 3 shards, and .*shard-02-of-03 to 4"),
        (_of_other_settings, r"generated with different settings \(seed: 3 there, 4 now"),
        (_without_metadata, r"a.metadata next to it is damaged"),
        (_with_a_stranger, r"dialogue 0 does not belong to shard 3/3"),
        (_with_rubbish, r"line 1: is not a dialogue of this file"),
        (lambda shards: [shards / "shard-09-of-03"], "is not a folder"),
        (lambda shards: [shards.parent / "whole"], "holds no shard"),
    ],
)
def test_shards_that_do_not_belong_together_are_refused(
    shards: Path, whole: Path, spoil: Callable[[Path], list[Path]], told: str
) -> None:
    """Guards against a file of two kinds of dialogues, or with one twice; nothing is written then."""
    folders = spoil(shards)
    before = {path: path.read_bytes() for path in shards.parent.rglob("*.*") if path.is_file()}
    with pytest.raises(SelfChatError, match=told):
        merge(folders, shards.parent / "out")
    assert {path: path.read_bytes() for path in shards.parent.rglob("*.*") if path.is_file()} == before


def test_a_target_that_is_there_is_kept(shards: Path, whole: Path, tmp_path: Path) -> None:
    """Guards what was made before: equal files are fine, others are replaced with --force only, a shard is no target."""
    before = contents(whole)
    merge([shards], whole)
    assert contents(whole) == before
    (whole / "a.jsonl").write_text("something else\n")
    with pytest.raises(SelfChatError, match=r"a.jsonl: already exists and differs"):
        merge([shards], whole)
    assert (whole / "a.jsonl").read_text() == "something else\n"
    merge([shards], whole, force=True)
    assert contents(whole) == before
    with pytest.raises(SelfChatError, match="shard-01-of-03"):
        merge([shards], shards / "shard-01-of-03", force=True)


def test_a_shard_at_work_is_waited_for(shards: Path, tmp_path: Path) -> None:
    """Guards a merge while a node still writes; shards on a read-only disk can be merged."""
    with locked(shards / "shard-02-of-03"), pytest.raises(SelfChatError, match="shard-02-of-03: another run"):
        merge([shards], tmp_path / "out")
    for folder in shards.iterdir():
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert len(merge([shards], tmp_path / "out").files) == 2
    finally:
        for folder in shards.iterdir():
            folder.chmod(stat.S_IRWXU)


def test_another_shard_in_its_folder_is_refused(shards: Path, specs: list[ModelSpec]) -> None:
    """Guards a folder that was renamed to another shard's."""
    shutil.rmtree(shards / "shard-01-of-03")
    (shards / "shard-02-of-03").rename(shards / "shard-01-of-03")
    with pytest.raises(SelfChatError, match=r'shard: "2/3" there, "1/3" now'):
        generate(specs, PAIRS, SETTINGS, shards, shard=Shard(1, 3))


@pytest.mark.parametrize(
    ("changes", "shard", "told"),
    [
        ({}, Shard(2, 4), r"is shard 1/3 of .* \(shards: 3 there, 4 now\)"),
        ({"seed": 5}, Shard(2, 3), r"is shard 1/3 of .* \(seed: 3 there, 5 now\)"),
    ],
)
def test_a_shard_that_does_not_fit_with_those_beside_it_is_refused_at_the_start(
    specs: list[ModelSpec], tmp_path: Path, changes: dict[str, int], shard: Shard, told: str
) -> None:
    """Guards hours of a GPU for dialogues that no merge takes; another pair may be shared out otherwise."""
    generate(specs, PAIRS[:1], SETTINGS, tmp_path, shard=Shard(1, 3))
    settings = SETTINGS.model_copy(update=changes)
    with pytest.raises(SelfChatError, match=told):
        generate(specs, PAIRS[:1], settings, tmp_path, shard=shard)
    assert not list(tmp_path.glob(f"{shard.folder}/*.*l"))
    generate(specs, PAIRS[1:], settings, tmp_path, shard=shard)
    more = SETTINGS.model_copy(update={"num_dialogues": 9})  # a larger number fits, as it does within a shard
    assert generate(specs, PAIRS[:1], more, tmp_path, shard=Shard(2, 3))[0].dialogues == 3


def test_a_merge_with_holes_is_completed_by_the_next(
    shards: Path, whole: Path, specs: list[ModelSpec], tmp_path: Path
) -> None:
    """Guards --allow-missing: what it wrote is added to without --force; changed or other dialogues are not replaced."""
    (shards / "shard-02-of-03").rename(tmp_path / "late")
    merged = merge([shards], shards, allow_missing=True)
    assert merged.missing == {"a--b.jsonl": [1, 4], "a.jsonl": [1, 4]}
    partial = (shards / "a.jsonl").read_text()
    (tmp_path / "late").rename(shards / "shard-02-of-03")
    (shards / "a.jsonl").write_text(partial.replace('"number": 0', '"number":  0'))
    with pytest.raises(SelfChatError, match=r"a.jsonl: already exists and differs"):
        merge([shards], shards)
    (shards / "a.jsonl").write_text(partial)
    merge([shards], shards)
    assert contents(shards) == contents(whole)
    # The dialogues of a run without shards are its own, fewer though they are.
    fewer = SETTINGS.model_copy(update={"num_dialogues": 2})
    generate(specs, PAIRS, fewer, tmp_path / "run")
    with pytest.raises(SelfChatError, match=str(tmp_path / "run")):
        merge([shards], tmp_path / "run")


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "1/0", "a/b", "-1/3", "1/3/5", ""])
def test_a_shard_that_is_none_is_told(text: str, tmp_path: Path) -> None:
    """Guards --shard against a mistyped number."""
    result = call("self-chat", "--models", "eliza", "--num-dialogues", "1", "--out", str(tmp_path), "--shard", text)
    assert result.exit_code == 1
    assert "shard" in result.stderr
    assert not list(tmp_path.iterdir())


def test_shards_share_out_all_dialogues_evenly() -> None:
    """Guards the numbers: each dialogue is in one shard, and no shard has two more than another."""
    for total in (1, 7, 100):
        numbers = [list(shard_of(f"{n}/7").numbers(total)) for n in range(1, 8)]
        assert sorted(itertools.chain(*numbers)) == list(range(total))
        assert max(map(len, numbers)) - min(map(len, numbers)) <= 1


def test_a_tournament_is_named_as_one_command(talkers: Talkers, tmp_path: Path) -> None:
    """Guards the told command for pairs whose order of names decides on their file's name."""
    names = ["c", "a", "b"]
    specs = talkers.specs(**dict.fromkeys(names, counting))
    settings = SelfChatSettings(num_dialogues=2, exchanges=1)
    generate(specs, pairs_of(names, pairs=True), settings, tmp_path, shard=Shard(1, 2))
    with pytest.raises(SelfChatError) as error:
        merge([tmp_path], tmp_path)
    (command,) = str(error.value).splitlines()[1:]
    assert command.split()[2:6] == ["--models", "c,a,b", "--pairs", "--num-dialogues"]


def test_parlais_script_makes_shards_too(tmp_path: Path) -> None:
    """Guards the two ways of calling: the same shard, byte for byte."""
    ours = call("self-chat", "--models", "dull", "--num-dialogues", "3", "--out", str(tmp_path / "a"), "--shard", "2/2")
    flags = ["--models", "dull", "--num-self-chats", "3", "--outdir", str(tmp_path / "b"), "--shard", "2/2"]
    theirs = call("parlai", "batched_self_chat", *flags)
    assert ours.exit_code == theirs.exit_code == 0, theirs.stderr
    shard = "shard-02-of-02"
    assert contents(tmp_path / "a" / shard) == contents(tmp_path / "b" / shard) != {}
