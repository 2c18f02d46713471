"""Studies of finished dialogues, and the dialogues that they are about."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from forked import run

from .oddities import LONG_WORD, MARKUP
from .study import ODD_MODELS, Study, environment

LINES = 30
"""Of a long dialogue."""
ODD_LINES = {9: MARKUP, 11: LONG_WORD}
"""Said in every long dialogue of the first model, by place."""
RATED = "e2e-rated"
"""Task name of the conversations that third parties judge."""
LIVE_MODELS = ("eliza", "retrieval", "degraded")
LIVE_TURNS = 3
SIMULATION_S = 90


def long_chats(folder: Path, model: str, *, count: int, first: int, odd: bool = False) -> Path:
    """A file of dialogues of a person, who begins, with a model: each of three packaged ones after another.

    ``first``: which of the packaged ones begins, so that two files do not say the same.
    """
    packaged = [one["turns"][:10] for one in _packaged()]
    found = []
    for number in range(count):
        chosen = [packaged[(first + 3 * number + part) % len(packaged)] for part in range(LINES // 10)]
        said = [line for turns in chosen for line in turns]
        # Models talk more than the people of these files do.
        said = [f"{line} {said[(at + 7) % LINES]}" if at % 2 else line for at, line in enumerate(said)]
        if odd:
            said = [ODD_LINES.get(at, line) for at, line in enumerate(said)]
        found.append(_conversation(f"{model}-{number}", said, model))
    path = folder / f"{model}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in found), encoding="utf-8")
    return path


def _packaged() -> list[dict[str, list[str]]]:
    text = (files("parlai_humaneval") / "data" / "human_dialogues.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _conversation(name: str, said: Sequence[str], model: str) -> dict[str, object]:
    acts = [{"id": "bot" if at % 2 else "person", "text": text} for at, text in enumerate(said)]
    return {
        "dialogue_id": name,
        "dialog": [acts[at : at + 2] for at in range(0, len(acts), 2)],
        "entities": {"person": "human", "bot": model},
    }


def launch_pw_dialog(folder: Path) -> Study:
    """Long dialogues of two models with people: three pairs a unit, and an attention check."""
    paths = [
        long_chats(folder / "chats", model, count=12, first=16 * place, odd=place == 0)
        for place, model in enumerate(ODD_MODELS)
    ]
    settings = [f"dialogues=[{','.join(map(str, paths))}]", "judgements_per_group=100", "items_per_unit=3", "seed=7"]
    return _study(folder, "pw_dialog", settings)


def launch_self_chat(folder: Path) -> Study:
    """From nothing: two models talk to themselves, and two pairs are all that is to be judged."""
    settings = ["models=[eliza,retrieval]", "num_dialogues=2", "judgements_per_group=2", "items_per_unit=2", "seed=7"]
    return _study(folder, "self_chat", settings)


def launch_spot_the_bot(folder: Path) -> Study:
    """Three models talk to each other first; two exchanges after the seed; three segments a unit, and a check."""
    settings = ["num_dialogues=6", "segment_lengths=[2]", "exchanges=3", "items_per_unit=3", "seed=7"]
    return _study(folder, "spot_the_bot", settings)


def rate_live(folder: Path) -> Path:
    """A live task in which simulated raters choose among three replies at every turn; its data directory."""
    data_dir, home = folder / "data", folder / "home"
    home.mkdir(parents=True)
    settings = ["setting=sata_user", f"turns={LIVE_TURNS}", "group_size=3"]
    command = [
        *(
            str(Path(sys.executable).with_name("parlai-humaneval")),
            "demo",
            "--task",
            "sata",
            "--raters",
            "4",
            "--dialogues",
            "4",
        ),
        *("--models", ",".join(LIVE_MODELS), "--seed", "7", "--port", "0", "--data-dir", str(data_dir)),
        f"mephisto.task.task_name={RATED}",
        *(f"mephisto.blueprint.{setting}" for setting in settings),
    ]
    done = run(command, env=environment(home), timeout=SIMULATION_S)
    assert done.returncode == 0, f"the simulated raters did not rate:\n{done.stderr[-3000:]}"
    return data_dir


def launch_replay(folder: Path, data_dir: Path) -> Study:
    """Two of those conversations once more, turn by turn."""
    settings = [f"dialogues=[{{task: {RATED}}}]", "items_per_unit=2", "judgements_per_item=3", "seed=7"]
    return _study(folder, "third_party", settings, name="e2e-replay", data_dir=data_dir)


def launch_ranking(folder: Path, data_dir: Path) -> Study:
    """All replies of one turn in order, without ties."""
    settings = ["show=turn", "metric=rank", "ties=false", f"dialogues=[{{task: {RATED}}}]", "items_per_unit=2"]
    common = ["judgements_per_item=3", "seed=7"]
    return _study(folder, "third_party", [*settings, *common], name="e2e-ranking", data_dir=data_dir)


def launch_dimensions(folder: Path, data_dir: Path) -> Study:
    """A long dialogue with a model on all scales of Ma et al. 2023."""
    path = long_chats(folder / "chats", ODD_MODELS[0], count=3, first=0, odd=True)
    settings = [f"mephisto.blueprint.{one}" for one in (f"dialogues=[{path}]", "items_per_unit=1", "seed=7")]
    return Study(folder, "e2e-dimensions", ["conf=ma2023_gold", *settings], task="third_party", data_dir=data_dir)


def _study(
    folder: Path, task: str, settings: list[str], *, name: str | None = None, data_dir: Path | None = None
) -> Study:
    overrides = [f"mephisto.blueprint.{setting}" for setting in settings]
    return Study(
        folder, name or f"e2e-{task.replace('_', '-')}", ["conf=local", *overrides], task=task, data_dir=data_dir
    )
