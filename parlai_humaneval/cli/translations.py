"""``python -m parlai_humaneval.cli.translations`` brings the catalogues up to date with what raters read in the sources."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from parlai_humaneval._util.data_files import read_json, read_yaml
from parlai_humaneval.i18n.translate import PACKAGED, catalogue
from parlai_humaneval.materials.instructions import NO_WORDS
from parlai_humaneval.techniques.questions import CRITERIA, DIMENSIONS, READ_AGAIN, label_questions
from parlai_humaneval.techniques.registry import techniques

ROOT = Path(__file__).parents[2]
KEYWORDS: Mapping[str, tuple[int, ...] | None] = {"t": None, "tn": (1, 2), "phrase": None}
CODE = {
    "python": ("mephisto_tasks/**/*.py", "parlai_humaneval/**/*.py"),
    "javascript": ("mephisto_tasks/webapp/src/**/*.ts*",),
}
INSTRUCTIONS = (
    "mephisto_tasks/*/phrases.yaml",
    "mephisto_tasks/crowds/*/phrases.yaml",
    "mephisto_tasks/presets/*/task_config/*.yaml",
    "mephisto_tasks/chat/task_config/*.yaml",
    "parlai_humaneval/data/shared_instructions.yaml",
)
PRACTICE = ("mephisto_tasks/presets/*/task_config/*.json",)
NOT_SAID = frozenset(
    {*NO_WORDS, "shared", "metric", "better", "labels", "sides", "must", "must_not", "judged", "right"}
)
CONFS = ("mephisto_tasks/presets/*/hydra_configs/conf/**/*.yaml",)
SAID_IN_CONFS = frozenset({"question", "none_label", "first_message"})
LINES = ("parlai_humaneval/data/openers.txt", "parlai_humaneval/data/topics.txt")
SENTENCES = ("parlai_humaneval/data/personas.jsonl", "parlai_humaneval/data/contexts.jsonl")
SAID_OF_PEOPLE = frozenset({"sentences", "human_persona", "bot_persona", "topic", "opening"})

Text = str | tuple[str, str]


def refresh(folder: Path = PACKAGED) -> dict[str, int]:
    """Bring every catalogue of a folder up to date; tag → texts that have no translation yet."""
    from babel.messages.catalog import Catalog
    from babel.messages.pofile import write_po

    template = Catalog(project="parlai-humaneval", charset="utf-8", fuzzy=False)
    for text, places in collected().items():
        template.add(text, locations=[(place, 0) for place in sorted(places)])
    missing = {}
    for path in sorted(folder.glob("*.po")):
        of_language = catalogue(path)
        of_language.update(template, no_fuzzy_matching=True, update_creation_date=False)
        of_language.obsolete.clear()
        with path.open("wb") as file:
            write_po(file, of_language, width=120, sort_by_file=True, include_lineno=False, omit_header=False)
        missing[path.stem] = sum(not message.string or not all(message.string) for message in of_language if message.id)
    return missing


@cache
def collected() -> dict[Text, set[str]]:
    """Every text that a rater may read → the files where it stands. Only where the sources lie, in a clone."""
    found: dict[Text, set[str]] = {}
    for text, place in (*_of_code(), *_of_materials(), *_of_questions()):
        if any(character.isalpha() for character in "".join(text)):
            found.setdefault(text, set()).add(place)
    return found


def _files(patterns: Iterable[str]) -> Iterator[tuple[Path, str]]:
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            if ".test." not in path.name and "/test/" not in path.as_posix():
                yield path, path.relative_to(ROOT).as_posix()


def _of_code() -> Iterator[tuple[Text, str]]:
    from babel.messages.extract import extract_from_file

    for method, patterns in CODE.items():
        for path, name in _files(patterns):
            said = extract_from_file(method, str(path), dict(KEYWORDS), options={"parse_template_string": True})
            for _, text, _, _ in said:
                yield text if isinstance(text, str) else (text[0], text[1]), name


def _of_materials() -> Iterator[tuple[Text, str]]:
    for path, name in _files(INSTRUCTIONS):
        yield from ((text, name) for text in _texts_of(read_yaml(path)))
    for path, name in _files(PRACTICE):
        yield from ((text, name) for text in _texts_of(read_json(path)))
    for path, name in _files(CONFS):
        conf = read_yaml(path)
        blueprint = conf.get("mephisto", {}).get("blueprint", {})
        yield from ((text, name) for key in SAID_IN_CONFS & set(blueprint) for text in _texts_of(blueprint[key]))
    for path, name in _files(LINES):
        yield from ((line, name) for line in path.read_text(encoding="utf-8").splitlines() if line)
    for path, name in _files(SENTENCES):
        for line in path.read_text(encoding="utf-8").splitlines():
            said = {key: value for key, value in json.loads(line).items() if key in SAID_OF_PEOPLE}
            yield from ((text, name) for text in _texts_of(said))


def _texts_of(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield " ".join(data.split()) if "\n" in data else data
    elif isinstance(data, list):
        for item in data:
            yield from _texts_of(item)
    elif isinstance(data, dict):
        for key, item in data.items():
            if key not in NOT_SAID:
                yield from _texts_of(item)


def _of_questions() -> Iterator[tuple[Text, str]]:
    data = "parlai_humaneval/data"
    for criteria in CRITERIA.values():
        yield from ((criterion.text, f"{data}/criteria.yaml") for criterion in criteria.values())
    for dimension in DIMENSIONS.values():
        yield from ((text, f"{data}/criteria.yaml") for text in (dimension.text, *dimension.hints))
    yield from ((text, f"{data}/read_again.yaml") for text in READ_AGAIN.values())
    yield from ((text, "parlai_humaneval/techniques/questions.py") for text in label_questions().values())
    for technique in techniques().values():
        for questions in (technique.questions, *technique.questions_of.values()):
            yield from ((text, f"{data}/techniques.yaml") for text in questions.values())


if __name__ == "__main__":
    for tag, missing in refresh().items():
        print(f"{tag}.po: {f'texts without a translation: {missing}' if missing else 'complete'}")
