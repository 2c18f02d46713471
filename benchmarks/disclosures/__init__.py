"""How many sentences by which programs give themselves away are found by lists alone and with the classifier.

The texts are not distributed here; fetch them first:

    pip download --no-deps --dest build/disclosures chatterbot-corpus==1.3.3 python-aiml==0.9.3
    npm pack nlp-corpus@3.3.0 --pack-destination build/disclosures
    python -m benchmarks disclosures

The two Python packages hold what chat programs of three decades say. A part of their sentences was drawn at random, and
labelled before anything was measured on it; ``held_out.tsv`` holds the labels. The third package holds dialogues of a
television series and text messages: people speak, and whatever is found there is a false alarm. No sentence of the three
was learned from. More files may be put beside them: JSON lines with ``text`` and ``discloses``, one sentence each.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import yaml
from scipy.stats import binomtest

from benchmarks.disclosures.sentences import HERE, ROOT, Labelled, people
from benchmarks.figures import Figure
from benchmarks.processes import NothingToMeasure
from parlai_humaneval.display.masking import giveaways, packaged_model

TEXTS = ROOT / "build" / "disclosures"
ARCHIVES = ("chatterbot_corpus-*.whl", "python-aiml-*.zip", "nlp-corpus-*.tgz")
_GAP = re.compile(r"(?<=[^\s.][^\s.][.!?])\s+")
_OF_A_SPEAKER = re.compile(r"\b(?:i|i['’]m|my|me|myself)\b", re.IGNORECASE)


def run(quick: bool) -> list[Figure]:
    """What is found of programs, and wrongly of people; with ``quick`` of a few packaged sentences of people.

    Raises:
        NothingToMeasure: the texts were not fetched; not with ``quick``, which needs none.
    """
    if quick:
        return [_figure("packaged dialogues: taken for one", people()[:100], "less")]
    if not all(any(TEXTS.glob(pattern)) for pattern in ARCHIVES):
        where = f"benchmarks/disclosures/__init__.py says where to get them and puts them into {TEXTS}"
        raise NothingToMeasure("texts", f"the texts of programs and people are missing: {where}")
    figures = []
    sets = {"chat programs": held_out(TEXTS)}
    for file in sorted(TEXTS.glob("*.jsonl")):
        rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        sets[file.stem] = [(row["text"], row["discloses"]) for row in rows]
    for name, labelled in sets.items():
        figures.append(
            _figure(f"{name}: disclosures found", [text for text, discloses in labelled if discloses], "more")
        )
        others = [text for text, discloses in labelled if not discloses]
        figures.append(_figure(f"{name}: others taken for one", others, "less"))
    for source, sentences in of_people(TEXTS).items():
        figures.append(_figure(f"{source}: taken for one", sentences, "less"))
    return figures


def held_out(texts: Path) -> list[Labelled]:
    """The labelled sentences, of both programs."""
    lines = (HERE / "held_out.tsv").read_text(encoding="utf-8").splitlines()
    labels = dict(line.split("\t") for line in lines if line and not line.startswith("#"))
    said = dict.fromkeys(sentence for text in _of_programs(texts) for sentence in _sentences(text))
    found = {key_of(sentence): sentence for sentence in said}
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


def key_of(sentence: str) -> str:
    """By which a sentence is named in ``held_out.tsv``."""
    return hashlib.sha1(re.sub(r"\W+", " ", sentence).strip().lower().encode()).hexdigest()[:12]


def _figure(name: str, sentences: Sequence[str], better: Literal["less", "more"]) -> Figure:
    model = packaged_model()
    lists = [bool(giveaways(sentence, ())) for sentence in sentences]
    both = [known or model.tells(sentence) for known, sentence in zip(lists, sentences, strict=True)]
    low, high = binomtest(sum(both), len(sentences)).proportion_ci(method="wilson")
    note = f"ours: lists and classifier, {sum(both):,} of {len(sentences):,} ({low:.1%} to {high:.1%})"
    return Figure(
        name=name,
        unit="share of sentences",
        ours=sum(both) / len(sentences),
        peer=sum(lists) / len(sentences),
        better=better,
        peer_source="same run",
        note=f"{note}; peer: lists alone, {sum(lists):,}",
        repeats=len(sentences),
    )
