"""Every setting of a launch, as ``launch TASK --list-settings`` describes it."""

from __future__ import annotations

from docs.facts.markdown import code
from mephisto_tasks.launch.config_reference import Setting, list_settings
from parlai_humaneval.techniques.registry import Engine, techniques

MANY = 3
"""Where techniques have more different defaults than this, they are not listed."""
ONLY: dict[Engine, str] = {"live": "for live chats", "judging": "for finished dialogues"}
"""What is said of a setting that one engine has."""
NOT_SET = "Set by the task"
"""How the description of a setting begins that is not for people."""


def facts() -> dict[str, str]:
    """All settings that one sets, by topic."""
    having: dict[str, dict[str, Setting]] = {}
    for task in techniques():
        for setting in list_settings(task):
            if not setting.description.startswith(NOT_SET):
                having.setdefault(setting.name, {})[task] = setting
    by_topic: dict[str, list[str]] = {}
    for settings in having.values():
        by_topic.setdefault(next(iter(settings.values())).topic, []).append(_described(settings))
    return {"settings.md": "\n\n".join(f"## {topic}\n\n" + "\n\n".join(each) for topic, each in by_topic.items())}


def _described(settings: dict[str, Setting]) -> str:
    """What it is, which techniques have it where not all do, what it may be, its default, an example: a definition."""
    first = next(iter(settings.values()))
    engines = {techniques()[task].engine for task in settings}
    only = f" (Only {ONLY[engines.pop()]}.)" if len(engines) == 1 else ""
    what = first.description.replace("\n", " ") + only
    return f"{code(first.name)}\n:   {what}\n    *{first.allowed}*; {_default(settings)}; such as {code(first.example)}"


def _default(settings: dict[str, Setting]) -> str:
    """The default; where techniques have others, each with those that have it."""
    by_default: dict[str, list[str]] = {}
    for task, setting in settings.items():
        by_default.setdefault(setting.default, []).append(task)
    if len(by_default) > MANY:
        return "the default depends on the technique"
    most = max(by_default, key=lambda default: len(by_default[default]))
    others = [
        f"{code(default) or 'none'} in {', '.join(tasks)}" for default, tasks in by_default.items() if default != most
    ]
    return "; ".join([f"default {code(most) or 'none'}", *others])
