"""Preregistration: facts with a hash, the text around them, and a study's deviations."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, JsonValue

from parlai_humaneval._util.data_files import parse_json, read_text, validated
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval.i18n.translate import worded
from parlai_humaneval.planning.inputs import PlanInputs, text_template
from parlai_humaneval.planning.layout import layout
from parlai_humaneval.planning.plan import Plan
from parlai_humaneval.statistics.core.formatting import counted, listed, percent
from parlai_humaneval.stopping.rule import Change, StoppingRule
from parlai_humaneval.techniques.registry import technique

_FACTS = re.compile(r"^```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")
_SHOWN = 12  # Letters of a hash that are shown
_UNORDERED = frozenset({"blocking_checks"})  # Settings whose order says nothing
_OF_OPTIONS = {"margin", "alpha", "max_dialogues", "seed", "stop", "setting"}
"""Settings that the options of a plan name."""
_OF_TEXT = {
    "models",
    "metric",
    "question",
    "raters_at_a_time",
    "time_out_minutes",
    "transitive",
    "judge",
    "blocking_checks",
}
"""Those that the text has words for, besides them."""
_EXPECTED = "name a file that `parlai-humaneval plan --prereg FILE` wrote"


class PreregistrationError(HumanevalError, ValueError):
    """A preregistration that cannot be written or read."""


class Preregistration(BaseModel, extra="forbid", frozen=True):
    """The facts. ``settings``: of the launch, by the names by which they are typed. ``question``: its words.
    ``exclude``: checks; the report leaves out workers who fail them, but decisions never do. ``aims``: of a fixed plan,
    the ``gap`` that it finds with which ``power`` at which ``alpha``. ``judge``: name and version of the judge whose
    file the settings name, as the file can be changed."""

    technique: str
    question: str
    settings: dict[str, JsonValue]
    exclude: tuple[str, ...] = ()
    aims: dict[str, float] = {}
    judge: str = ""

    @property
    def canonical(self) -> str:
        """The facts in the form to hash: JSON without blanks, names sorted, whole numbers without a point."""
        facts = self.model_dump(mode="json") | {"exclude": sorted(self.exclude)}
        if not self.judge:  # as of studies that were registered without it
            del facts["judge"]
        facts["settings"] = {name: _normal(name, value) for name, value in self.settings.items()}
        return json.dumps(_normal("", facts), sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    @property
    def digest(self) -> str:
        """SHA-256 of :attr:`canonical`."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    @property
    def name(self) -> str:
        """The beginning of the hash, for display."""
        return self.digest[:_SHOWN]

    @property
    def is_decided(self) -> bool:
        return self.settings.get("stop") == "decided"

    def changes(self, now: Mapping[str, Any]) -> list[Change]:
        """The differences from a launch with such settings."""
        both = ((name, _normal(name, value), _normal(name, now.get(name))) for name, value in self.settings.items())
        return [Change(name, _shown(before), _shown(after)) for name, before, after in both if before != after]


def _normal(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _normal("", inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        items = [_normal("", item) for item in value]
        return sorted(items, key=str) if name in _UNORDERED else items
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _shown(value: Any) -> Any:
    """Lists as they are typed; nothing as such."""
    return "nothing" if value in (None, "", []) else tuple(map(str, value)) if isinstance(value, list) else value


def preregistration_of(
    inputs: PlanInputs,
    plan: Plan,
    settings: Mapping[str, JsonValue],
    *,
    rule: Mapping[str, JsonValue] | None = None,
    exclude: tuple[str, ...] = (),
) -> Preregistration:
    """The facts of the study that was planned. ``settings``: of its launch, among them the names of its models;
    ``rule``: of a study that stops once it reaches a decision. Raises PreregistrationError."""
    question = inputs.filled()
    entry, models = question.entry, settings.get("models")
    if not isinstance(models, list) or len(models) != question.models:
        count = question.models or 2
        names = ",".join(f"model{number + 1}" for number in range(count))
        raise PreregistrationError(worded(__file__, "names_models", models=counted(count, "model"), names=names))
    if twice := sorted(_OF_OPTIONS & settings.keys()):
        raise PreregistrationError(worded(__file__, "of_options", setting=twice[0], option=twice[0].replace("_", "-")))
    metric = str(settings.get("metric") or next(iter(entry.questions), ""))
    found: dict[str, JsonValue] = {"metric": metric} if metric else {}
    setting = question.setting if question.setting and question.setting in entry.picks else ""
    found |= {"setting": setting} if setting else {}
    found["seed"] = question.seed
    if rule is None:
        found["stop"] = "collected"
        if entry.amount.endswith("_per_group"):
            found[entry.amount] = amount_of_group(question, plan)
    else:
        fields = StoppingRule.model_fields
        found |= {
            "stop": "decided",
            **rule,
            "time_out_minutes": fields["timeout"].default / 60,
            "transitive": fields["transitive"].default,
            "judge": fields["judge"].default,
        }
        if question.habits.judgements_per_dialogue is not None:  # raters of one dialogue are not independent
            found |= {"judgements_per_item": 1, "units_per_worker": 1}
            found |= {} if "dialogues" in settings else {"num_dialogues": rule["max_dialogues"]}
    asked = settings.get("question") or (entry.question(metric, setting) if metric and entry.questions else "")
    aims = {} if rule else {"gap": question.gap or 0.0, "power": question.power, "alpha": question.alpha}
    return Preregistration(
        technique=question.technique, question=str(asked), settings={**found, **settings}, exclude=exclude, aims=aims
    )


def amount_of_group(question: PlanInputs, plan: Plan) -> int:
    """Dialogues (of finished ones: judgements) to collect of each pair or group; the question is filled up."""
    amount = plan.n_dialogues if question.habits.held else plan.n_judgements_collected
    return math.ceil(amount / (layout(question).sets + question.degraded_model))


def check_new(path: Path) -> None:
    """Refuse an existing file: a registration is never overwritten. Raises PreregistrationError."""
    if path.exists():
        what = "a folder is there" if path.is_dir() else "it exists already, and a registration is never overwritten"
        raise PreregistrationError(what, where=path, try_="name another file")


def write_preregistration(path: Path, facts: Preregistration, *, expected: str, version: str) -> None:
    """Write the text. ``expected``: how large the study will be, in a sentence. Raises PreregistrationError."""
    check_new(path)
    text = preregistration_text(facts, expected=expected, version=version)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise PreregistrationError(f"cannot be written ({error.strerror})", where=path) from error


def preregistration_text(facts: Preregistration, *, expected: str, version: str) -> str:
    """The text of the file."""
    entry, of_launch = technique(facts.technique), dict(facts.settings)
    described = {*_OF_OPTIONS, *_OF_TEXT, entry.amount} - {"setting"}
    others = {name: value for name, value in sorted(of_launch.items()) if name not in described}
    written = json.dumps(json.loads(facts.canonical), indent=2, ensure_ascii=False)
    habits = entry.habits
    text: str = text_template("preregistration.md.jinja").render(
        listed=listed,
        percent=percent,
        facts=facts,
        entry=entry,
        models=of_launch["models"],
        of=of_launch,
        others=others,
        written=written,
        expected=expected,
        version=version,
        of_turns=habits is None or habits.of_turns,
    )
    return text


def read_preregistration(path: Path) -> Preregistration:
    """The facts in a file, whose hash is checked; whatever else is written around them may change. Raises
    PreregistrationError."""
    text = read_text(path, _EXPECTED, PreregistrationError)
    block, digest = _FACTS.search(text), _DIGEST.search(text)
    if block is None or digest is None:
        raise PreregistrationError("holds no registered facts", where=path, try_=_EXPECTED)
    facts = parse_preregistration(block[1], path)
    if facts.digest != digest[0]:
        raise PreregistrationError(
            worded(__file__, "facts_changed", facts=facts, digest=digest[0][:_SHOWN]), where=path
        )
    return facts


def parse_preregistration(text: str, where: object) -> Preregistration:
    """The facts as they are in a file, or in a study's settings. Raises PreregistrationError."""
    place = where if isinstance(where, Path) else str(where)
    return validated(
        Preregistration, parse_json(text, place, _EXPECTED, PreregistrationError), place, "", PreregistrationError
    )
