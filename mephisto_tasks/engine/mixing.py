"""Dialogues that were cut off go on under the settings that they began with, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from mephisto_tasks.config_error import ConfigError
from mephisto_tasks.stored.cut_off import CutOff
from parlai_humaneval.protocol.records.events import JudgingStarted, Started
from parlai_humaneval.statistics.wording import counted

Beginning = Started | JudgingStarted
Difference = tuple[str, object, object]
"""A setting's name, what it was, and what it is now."""

MOST_SHOWN = 160
"""Characters of a value in the refusal."""


def going_on(
    units: Mapping[str, CutOff], differences: Callable[[CutOff], Iterable[Difference]], *, anew: bool
) -> dict[str, CutOff]:
    """Units that go on in a launch. Where it has other settings than they began with, nothing is mixed.

    Those of simulated raters begin anew then: nobody waits for them.

    Args:
        units: by worker; each of them could go on.
        differences: of a unit, from the settings of this launch.
        anew: their raters are to begin anew, whatever the settings; what they did stays partial.

    Raises:
        ConfigError: naming each setting that differs, and what can be done.
    """
    if anew:
        return {}
    told: dict[str, Difference] = {}
    fit, cut_off = {}, 0
    for worker, unit in units.items():
        found = list(differences(unit))
        if not found:
            fit[worker] = unit
        elif not all(beginning.simulated for beginning in unit.beginnings):
            cut_off += 1
            told |= {name: (name, then, now) for name, then, now in found}
    if told:
        raise ConfigError(_refusal(cut_off, told.values()))
    return fit


def _refusal(number: int, differences: Iterable[Difference]) -> str:
    lines = "\n".join(f"  {name}: {_shown(then)} then, {_shown(now)} now" for name, then, now in differences)
    units = counted(number, "unit")
    return (
        f"{units} of this task {'was' if number == 1 else 'were'} cut off and can go on, but not with other settings than "
        f"they began with:\n{lines}\nLaunch with the old settings, and they go on; or say cut_off=anew: "
        "then their raters begin anew, and what they did stays partial; or begin another study: task_name=…"
    )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def settings_that_differ(
    then: Mapping[str, Any], now: Mapping[str, Any], apart: Collection[str], within: str = "mephisto.blueprint"
) -> Iterator[Difference]:
    """Settings that are others now, but for those ``apart`` that do not shape a dialogue; ``within``: where they stand.

    A setting that did not exist then changes nothing by being there now.
    """
    for name, value in now.items():
        if name not in then or name in apart or then[name] == value:
            continue
        if isinstance(value, Mapping) and isinstance(then[name], Mapping):
            yield from settings_that_differ(then[name], value, (), f"{within}.{name}")
        else:
            yield f"{within}.{name}", then[name], value


def options_that_differ(model: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Difference]:
    """Options of a model that are others now."""
    for name in sorted({*then, *now}):
        if then.get(name) != now.get(name):
            yield f"option {name} of the model {model}", then.get(name), now.get(name)
