"""How many sentences by which programs give themselves away the packaged lists and the classifier find.

    pip download --no-deps --dest texts chatterbot-corpus==1.3.3 python-aiml==0.9.3
    npm pack nlp-corpus@3.3.0 --pack-destination texts
    python -m benchmarks.disclosures texts

The two Python packages hold what chat programs of three decades say. A part of their sentences was drawn at random, and
labelled before anything was measured on it; ``held_out.tsv`` holds the labels. The third package holds dialogues of a
television series and text messages: people speak, and whatever is found there is a false alarm. No sentence of the three
was learned from. More files may be named: JSON lines with ``text`` and ``discloses``, one sentence each.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml
from scipy.stats import binomtest

from benchmarks.disclosures.sentences import HERE, Labelled
from parlai_humaneval.display.disclosure_model import packaged_model
from parlai_humaneval.display.masking import giveaways

_GAP = re.compile(r"(?<=[^\s.][^\s.][.!?])\s+")
_OF_A_SPEAKER = re.compile(r"\b(?:i|i['’]m|my|me|myself)\b", re.IGNORECASE)


def held_out(texts: Path) -> list[Labelled]:
    """The labelled sentences, of both programs."""
    lines = (HERE / "held_out.tsv").read_text(encoding="utf-8").splitlines()
    labels = dict(line.split("\t") for line in lines if line and not line.startswith("#"))
    said = dict.fromkeys(sentence for text in _of_programs(texts) for sentence in _sentences(text))
    found = {_key(sentence): sentence for sentence in said}
    return [(found[key], label == "+") for key, label in labels.items() if key in found]


def of_people(texts: Path) -> dict[str, list[str]]:
    """Source → sentences in which people speak of themselves."""
    found: dict[str, list[str]] = {"television dialogues": [], "text messages": []}
    with tarfile.open(next(texts.glob("nlp-corpus-*.tgz"))) as archive:
        for member in archive.getmembers():
            source = {"friends": "television dialogues", "sms": "text messages"}.get(Path(member.name).parent.name)
            file = archive.extractfile(member) if source else None
            if source and file:
                for line in re.split(r"[\n`]", file.read().decode("utf-8", "replace")):
                    spoken = re.sub(r"^\s*[A-Z][A-Za-z. ]{1,18}:\s*|[\[(].*?[\])]", "", line).strip(" \"',")
                    found[source] += [sentence for sentence in _sentences(spoken) if _OF_A_SPEAKER.search(sentence)]
    return {source: list(dict.fromkeys(sentences)) for source, sentences in found.items()}


def _of_programs(texts: Path) -> Iterator[str]:
    with zipfile.ZipFile(next(texts.glob("python-aiml-*.zip"))) as archive:
        for name in archive.namelist():
            if name.endswith(".aiml"):
                for answer in re.findall(
                    r"<template>(.*?)</template>", archive.read(name).decode("latin-1"), re.DOTALL
                ):
                    plain = re.sub(r"<(srai|think|system|javascript)>.*?</\1>", " ", answer, flags=re.DOTALL)
                    plain = re.sub(r'<bot name="name"\s*/>', "Ann", plain)
                    yield from (re.sub(r"<[^>]+>", " ", item) for item in re.split(r"</?li>", plain))
    with zipfile.ZipFile(next(texts.glob("chatterbot_corpus-*.whl"))) as archive:
        for name in archive.namelist():
            if "/english/" in name and name.endswith(".yml"):
                for conversation in yaml.safe_load(archive.read(name))["conversations"]:
                    yield from map(str, conversation)


def _sentences(text: str) -> list[str]:
    plain = re.sub(r"\s+", " ", html.unescape(text)).strip()
    return [sentence.strip() for sentence in _GAP.split(plain) if 12 < len(sentence) < 220]


def _key(sentence: str) -> str:
    return hashlib.sha1(re.sub(r"\W+", " ", sentence).strip().lower().encode()).hexdigest()[:12]


def _row(name: str, sentences: Iterable[str]) -> str:
    sentences = list(sentences)
    model = packaged_model()
    lists = [bool(giveaways(sentence, ())) for sentence in sentences]
    both = [known or model.tells(sentence) for known, sentence in zip(lists, sentences, strict=True)]
    return f"{name:44}{_share(sum(lists), len(lists)):>34}{_share(sum(both), len(both)):>34}"


def _share(count: int, of: int) -> str:
    if not of:
        return "none"
    low, high = binomtest(count, of).proportion_ci(method="wilson")
    return f"{count:,} of {of:,} = {count / of:.1%} ({low:.1%}, {high:.1%})"


def main() -> None:
    folder, *files = map(Path, sys.argv[1:])
    print(f"{'':44}{'lists':>34}{'lists and classifier':>34}")
    sets = {"chat programs": held_out(folder)}
    for file in files:
        rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        sets[file.stem] = [(row["text"], row["discloses"]) for row in rows]
    for name, labelled in sets.items():
        print(_row(f"{name}: disclosures found", (text for text, discloses in labelled if discloses)))
        print(_row(f"{name}: others taken for one", (text for text, discloses in labelled if not discloses)))
    for source, sentences in of_people(folder).items():
        print(_row(f"{source}: taken for one", sentences))


if __name__ == "__main__":
    main()
