"""Studies of the other live techniques, as short as they can be and with their own practice."""

from __future__ import annotations

from pathlib import Path

from mephisto_tasks.config.files import task_dir
from parlai_humaneval.materials.instructions import Practice, load_practice

from .study import ODD_MODELS, Study, odd_zoo

TURNS = 2
"""Fewest turns of each study."""


def launch_sata(folder: Path) -> Study:
    """SATA-User of three models: the two that obey, and the degraded one."""
    return _odd(folder, "sata", ["setting=sata_user", "group_size=3"], [*ODD_MODELS, "degraded"])


def launch_single_model(folder: Path) -> Study:
    """Ticks at each turn, Likert scales at the end."""
    return _odd(folder, "single_model", [])


def launch_appropriate(folder: Path) -> Study:
    """Is the reply appropriate, yes or no."""
    return _odd(folder, "single_model", [], conf="appropriate")


def launch_free_for_all(folder: Path) -> Study:
    """Three packaged models."""
    return _study(folder, "free_for_all", ["models=[eliza,retrieval,degraded]"])


_TALKERS = """
models:
  tea: {options: {model: "parlai_humaneval.agents.callable:CallableAgent", function: "browser_tests.talkers:of_tea"}}
  rain: {options: {model: "parlai_humaneval.agents.callable:CallableAgent", function: "browser_tests.talkers:of_rain"}}
"""


def launch_in_languages(folder: Path, own: Path) -> Study:
    """The Chinese study of Ma et al. with two stand-ins, for who reads Chinese; ``own``: a folder of further languages."""
    folder.mkdir(parents=True, exist_ok=True)
    zoo = folder / "talkers.yaml"
    zoo.write_text(_TALKERS, encoding="utf-8")
    settings = ["language=auto", f"languages_dir={own}", "models=[tea,rain]", "group_size=2", f"zoo_files=[{zoo}]"]
    return _study(folder, "free_for_all", settings, "ma2023_zh")


def launch_arena(folder: Path) -> Study:
    """The two models that obey, side by side."""
    return _odd(folder, "arena", [])


def launch_unpractised(folder: Path, task: str) -> Study:
    """Any live technique, with the two models that obey and no practice."""
    return _odd(folder, task, ["onboarding_qualification=null"])


def launch_direct_assessment(folder: Path) -> Study:
    """Two packaged models and the degraded one: three conversations."""
    return _study(folder, "direct_assessment", ["models=[eliza,retrieval]"])


def practice_of(task: str, name: str, metric: str) -> Practice:
    """The right answers, which a person can tell."""
    return load_practice(task_dir(task) / "task_config" / f"onboarding_{name}.json", metric)


def _odd(folder: Path, task: str, settings: list[str], models: list[str] | None = None, conf: str = "local") -> Study:
    names = ",".join(models or ODD_MODELS)
    return _study(folder, task, [f"models=[{names}]", f"zoo_files=[{odd_zoo(folder)}]", *settings], conf)


def _study(folder: Path, task: str, settings: list[str], conf: str = "local") -> Study:
    common = ["dialogues_per_group=20", "seed=7"] + ([] if task == "arena" else [f"turns={TURNS}"])
    overrides = [f"mephisto.blueprint.{setting}" for setting in common + settings]
    return Study(folder, f"e2e-{task}", [f"conf={conf}", *overrides], task=task)
