"""The studies of a storm: chats that are rated turn by turn, finished dialogues, units of several chats, and one study that
stops once it reaches a decision."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import yaml
from forked import WarmServer
from killable_server import KillableServer

from mephisto_tasks.simulation.raters import Behaviour
from parlai_humaneval.materials.instructions import Practice, load_practice
from storm.study import StormStudy

AWAY_AFTER_S = 25
"""After how much silence a rater counts as gone."""
THINK_S = 0.35
DECIDING = "deciding"
"""What the study is called that stops once it reaches a decision."""


def most_wanted(seconds: float) -> int:
    """What a study asks for of each group: the quickest has it all near the end of a storm, the others never."""
    return round(150 + 3 * seconds)


def most_decided(seconds: float) -> int:
    """The cap of the study that stops once it reaches a decision, which its raters reach soon after a storm."""
    return round(10 + 0.5 * seconds)


@dataclass(frozen=True)
class Script:
    """A study of the storm, and how its raters judge."""

    study: StormStudy
    behaviour: Behaviour
    wanted: int
    """Of each group, at most."""

    @property
    def is_decided(self) -> bool:
        """Whether it stops once it reaches a decision; the others ask for more than they get."""
        return self.study.task_name.endswith(DECIDING)


def scripts(
    folder: Path,
    data_dir: Path,
    server: KillableServer,
    environment: Mapping[str, str],
    forks: WarmServer,
    seconds: float,
    seed: int,
) -> list[Script]:
    """Not launched yet; all of them in one data directory. Which engine decides follows from the seed."""
    wanted = most_wanted(seconds)
    blueprints: dict[str, dict[str, object]] = {
        "sata": {
            "setting": "sata_user",
            "models": "[retrieval,served]",
            "zoo_files": f"[{_zoo(folder, server)}]",
            "turns": 3,
            "dialogues_per_group": wanted,
            "model_outage_s": 30,
        },
        "pw_dialog": {
            "dialogues": f"[{_chats(folder, 'wordy', 'Tell me more!', wanted)},{_chats(folder, 'terse', 'Yes.', wanted)}]",
            "judgements_per_group": wanted,
            "items_per_unit": 4,
            "onboarding_qualification": "null",
        },
        "direct_assessment": {
            "models": "[eliza,retrieval]",
            "turns": 2,
            "dialogues_per_group": wanted,
            "onboarding_qualification": "null",
        },
    }
    practices = {"sata": _practice("sata", "appropriate")}
    return [
        _deciding(folder, data_dir, environment, forks, most_decided(seconds), judging=seed % 2 == 0),
        *(
            Script(
                StormStudy(task, _settings(blueprint), folder, data_dir, dict(environment), forks),
                Behaviour(practice=practices.get(task), think_s=THINK_S),
                wanted,
            )
            for task, blueprint in blueprints.items()
        ),
    ]


def _deciding(
    folder: Path, data_dir: Path, environment: Mapping[str, str], forks: WarmServer, cap: int, *, judging: bool
) -> Script:
    """Its raters like both models equally well, so that it ends at its cap."""
    of_engine: dict[str, object] = {"models": "[eliza,retrieval]", "turns": 2}
    if judging:
        files = (
            _chats(folder, name, reply, math.ceil(math.sqrt(cap)))
            for name, reply in (("long", "Do go on!"), ("short", "No."))
        )
        of_engine = {"dialogues": f"[{','.join(map(str, files))}]", "items_per_unit": 3}
    blueprint = {
        **of_engine,
        "stop": "decided",
        "margin": 0.1,
        "max_dialogues": cap,
        "answer_timeout_s": AWAY_AFTER_S,
        "onboarding_qualification": "null",
    }
    task = "pw_dialog" if judging else "pw_turn"
    study = StormStudy(task, _settings(blueprint), folder, data_dir, dict(environment), forks, DECIDING)
    return Script(study, Behaviour(think_s=THINK_S), cap)


def _settings(blueprint: Mapping[str, object]) -> list[str]:
    chosen = [f"mephisto.blueprint.{name}={value}" for name, value in blueprint.items()]
    return [*chosen, "mephisto.blueprint.seed=5", f"mephisto.architect.disconnect_after_s={AWAY_AFTER_S}"]


@cache
def _practice(task: str, metric: str) -> Practice:
    folder = files("mephisto_tasks") / "presets" / task / "task_config"
    return load_practice(Path(str(folder)) / f"onboarding_{metric}.json", metric)


def _zoo(folder: Path, server: KillableServer) -> Path:
    options = {
        "model": "parlai_humaneval.agents.chat_completions:ChatCompletionsAgent",
        "base_url": server.base_url,
        "served_model": "m",
        "api_key_env": "",
        "request_retries": 1,
    }
    path = folder / "served.yaml"
    path.write_text(yaml.safe_dump({"models": {"served": {"options": options}}}), encoding="utf-8")
    return path


def _chats(folder: Path, model: str, reply: str, dialogues: int) -> Path:
    """Finished dialogues of a model with a person, in ParlAI's format."""
    path = folder / f"{model}.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(1, dialogues + 1):
            dialog = [
                [{"id": "person", "text": f"What of thing {number}.{exchange}?"}, {"id": "bot", "text": reply}]
                for exchange in (1, 2)
            ]
            entities = {"person": "human", "bot": model}
            file.write(json.dumps({"dialog": dialog, "dialogue_id": f"{model}-{number}", "entities": entities}) + "\n")
    return path
