"""Tidy tables → entries: a dialogue, or an item of finished dialogues, with all answers of raters and judges about it.

A live dialogue, or a dialogue that was rated again turn by turn, is named by its ``dialogue_id``. Finished dialogues that
were judged as a whole are named by their ``item_id``. All answers about the same thing are in one entry.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, cast

from parlai_humaneval.dialogues.chats import chats_of
from parlai_humaneval.dialogues.messages import PEOPLE, json_in, role_of, text_of, told_in
from parlai_humaneval.display.images import NO_ALT
from parlai_humaneval.display.markdown import markup_of
from parlai_humaneval.tables.schema import COLUMNS, COLUMNS_FILE, FEATURES, HUMAN, TIE
from parlai_humaneval.viewer.parts import Answer, Check, Details, Kind, Line, Reply, Said, Talk, Turn

if TYPE_CHECKING:
    import pandas as pd

    from parlai_humaneval.tables.columns import Tables
    from parlai_humaneval.tables.schema import TableName

_FACETS = "technique setting metric model pair outcome answer rater judge check status language kind k criterion mark"
FACETS: tuple[str, ...] = tuple(dict.fromkeys([*_FACETS.split(), *COLUMNS_FILE["groupings"]]))
"""What entries can be filtered by; an entry may have several values of each."""
_OF_ROWS = {"technique", "setting", "metric", *COLUMNS_FILE["groupings"]}
Row = Mapping[str, Any]
REMARKS = re.compile(
    r"(.*[\W_])?(reason|comment|note|remark|explanation|rationale|justification|feedback)s?", re.IGNORECASE
)
"""Columns of tables from elsewhere with what a rater wrote besides."""
_REPLIES = {f"{stem}{end}" for stem in COLUMNS_FILE["reply_columns"] for end in ("", "_a", "_b")}
GROUPS = 50  # Values of a grouping, the most frequent ones
PREVIEW = 110  # Characters of an entry's first words in the list
CELL = 2000  # Characters of a further cell that are shown
RATED = 3  # Criteria in the list


def pair_of(first: str, second: str) -> str:
    """The value of the facet ``pair``: “alpha vs. beta”, whichever comes first."""
    return " vs. ".join(sorted((first, second)))


def answer_of(first: str, second: str, winner: str | None, *, both_bad: bool = False) -> str:
    """The value of the facet ``answer``, of each comparison of two models: “alpha better than beta”. ``winner``: None for a
    tie."""
    if winner is None:
        return f"{' and '.join(sorted((first, second)))} {'both bad' if both_bad else 'alike'}"
    return f"{winner} better than {second if winner == first else first}"


@dataclass
class Entry:
    """``disagreement``: of two answers to the same question, the share that differs (ratings: by how much of their
    scale), from 0 to 1; None: nothing was answered twice."""

    id: str
    facets: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    questions: dict[str, None] = field(default_factory=dict)
    about: dict[tuple[str, str], None] = field(default_factory=dict)
    talks: dict[Hashable, Talk] = field(default_factory=dict)
    turns: dict[int, Turn] = field(default_factory=dict)
    answers: dict[tuple[str, ...], Answer] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)
    feedback: list[tuple[str, str]] = field(default_factory=list)
    started: str = ""
    seconds: float | None = None
    points: Counter[str] = field(default_factory=Counter)
    values: dict[tuple[object, ...], list[Any]] = field(default_factory=lambda: defaultdict(list))

    rated: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def note(self, facet: str, *values: object) -> None:
        self.facets[facet].update((str(value), None) for value in values if value not in (None, ""))

    def details(self) -> Details:
        turns = [self.turns[number] for number in sorted(self.turns)]
        for turn in turns:
            turn["replies"].sort(key=lambda reply: reply.get("position") or 99)
        everything: Details = {
            "questions": list(self.questions),
            "about": list(self.about),
            "talks": list(self.talks.values()),
            "turns": turns,
            "answers": list(self.answers.values()),
            "checks": self.checks,
            "feedback": self.feedback,
        }
        return everything

    @property
    def length(self) -> int:
        """Turns, or exchanges of the longest dialogue that was shown."""
        return max([*self.turns, *((len(talk["lines"]) + 1) // 2 for talk in self.talks.values()), 0])

    @cached_property
    def preview(self) -> str:
        said = [turn["human"]["text"] for turn in self.turns.values() if "human" in turn and not turn.get("given")]
        said += [reply["text"] for turn in self.turns.values() for reply in turn["replies"]]
        said += [line["text"] for talk in self.talks.values() for line in talk["lines"]]
        first = " ".join(next((text for text in said if text.strip()), "").split())
        return first if len(first) <= PREVIEW else first[:PREVIEW].rstrip() + "…"

    @property
    def means(self) -> str:
        """The mean rating of the first criteria, for the list."""
        told = [f"{name} {sum(given) / len(given):.3g}" for name, given in self.rated.items()]
        return ", ".join([*told[:RATED], *(["…"] if len(told) > RATED else [])])

    @property
    def disagreement(self) -> float | None:
        apart = [
            min(1.0, abs(a - b)) if isinstance(a, float) and isinstance(b, float) else float(a != b)
            for given in self.values.values()
            for a, b in combinations(given[:40], 2)
        ]
        return sum(apart) / len(apart) if apart else None


def entries(tables: Tables, pictures: Container[str] = ()) -> list[Entry]:
    """All entries of the tables, in their order. Ids and names are as the tables have them. ``pictures``: digests of those
    that the viewer shows; of others it has words."""
    made = _Entries(pictures)
    made.add(tables, "rater")
    if tables.judges is not None:
        made.add(tables.judges, "judge")
    for answer, given in made.unread:
        if "says" not in answer:
            # Answers that are in no other table, such as those of attention checks, in the words of the record.
            of = json_in(given) if isinstance(json_in(given), list) else []
            told = [one for one in of if isinstance(one, dict) and one.get("option")]
            answer["says"] = [(str(one.get("question_id", "")), str(one["option"])) for one in told]
    every = list(made.all.values())
    for entry in every:
        _settle(entry)
    for name in COLUMNS_FILE["groupings"]:
        common = dict(Counter(value for entry in every for value in entry.facets[name]).most_common(GROUPS))
        for entry in every:
            entry.facets[name] = {value: None for value in entry.facets[name] if value in common}
    return every


def facets_of(every: Iterable[Entry]) -> frozenset[tuple[str, str]]:
    """All that entries can be filtered by: facet and value; and which pairs a technique has, as “pair of …”."""
    found = {(name, value) for entry in every for name, values in entry.facets.items() for value in values}
    pairs = (
        (f"pair of {technique}", pair)
        for entry in every
        for technique in entry.facets["technique"]
        for pair in entry.facets["pair"]
    )
    return frozenset(found.union(pairs))


def _settle(entry: Entry) -> None:
    """Sum up all answers: the preferred model, and the values that readers can filter by."""
    (best, most), *others = entry.points.most_common(2) or [("", 0)]
    if most:
        is_tie = best == TIE or (bool(others) and others[0][1] == most)
        entry.note("outcome", "tie" if is_tie else f"{best} preferred")
    if not entry.facets["opener"]:
        entry.note(
            "opener", *(turn["human"]["text"] for turn in entry.turns.values() if "human" in turn and turn["turn"] == 1)
        )
    for number, turn in entry.turns.items():
        entry.note(
            "pair", *(pair_of(*two) for two in combinations(sorted({reply["model"] for reply in turn["replies"]}), 2))
        )
        for answer in turn["answers"]:
            chosen, ticks = sorted(answer.get("chosen", [])), sorted(answer.get("ticks", {}).items())
            if "chosen" in answer or "ticks" in answer or answer.get("none"):
                entry.values[number, "ticks" if ticks else "chosen"].append((chosen, ticks))
    replies = [reply for turn in entry.turns.values() for reply in turn["replies"]]
    answers = [*entry.answers.values(), *(answer for turn in entry.turns.values() for answer in turn["answers"])]
    marks = {
        "masked words": any(reply.get("masked") for reply in replies),
        "reply failed": any(reply.get("failed") for reply in replies),
        "asked again": any(reply.get("withdrawn") for reply in replies),
        "none fits": any(answer.get("none") for answer in answers),
        "rater wrote a reply": any(answer.get("written") for answer in answers),
        "reason given": any(answer.get("reason") for answer in answers),
        "feedback": bool(entry.feedback),
        "no texts": not any(reply["text"] for reply in replies) and not entry.talks,
    }
    entry.note("mark", *(name for name, holds in marks.items() if holds))


class _Entries:
    def __init__(self, pictures: Container[str]) -> None:
        self._pictures = pictures
        self.all: dict[str, Entry] = {}
        self._replies: dict[tuple[str, int, str], Reply] = {}
        self._choices: dict[tuple[str, int, str, str], Answer] = {}
        self.unread: list[tuple[Answer, str | None]] = []
        self._settings: dict[str, str] = {}  # judgement or dialogue → settings of its study, in JSON

    def add(self, tables: Tables, kind: Kind) -> None:
        """Everything in these tables, of raters or of judges."""
        judgements = {row["judgement_id"]: row for row in _rows(tables.judgements)}
        self._settings |= {one: row.get("settings", "") for one, row in judgements.items()}
        for row in _rows(tables.dialogues):
            entry = self._entry(row["dialogue_id"], row, "rater")
            entry.note("status", row.get("status") or ("complete" if row["complete"] else "partial"))
            entry.note("language", row.get("language"))
            entry.note("model", *row.get("models", "").split(";"))
            entry.started, entry.seconds = row.get("started", ""), row.get("seconds")
            self._settings[entry.id] = row.get("settings", "")
            persona = json_in(row.get("persona"))
            told = [
                ("Topic", row.get("topic")),
                ("Opinion of the topic", row.get("opinion")),
                ("Failure", row.get("failure")),
            ]
            told += [("Persona", sentence) for sentence in (persona if isinstance(persona, list) else [])]
            entry.about.update(((name, str(text)), None) for name, text in told if text)
            self._of_rater(entry, row)
        for row in _rows(tables.turns):
            self._candidate(row, kind)
        of_turns = set(map(str, tables.turns["judgement_id"].dropna().unique()))
        places = {one: self._place(row, kind, one in of_turns) for one, row in judgements.items()}
        for one, row in judgements.items():
            self._judgement(self._entry(places[one], row, kind), row, kind)
        for row in _rows(tables.segments):
            fallback = row.get("item_id", f"{row['dialogue_id']}:{row['k']}")
            self._segment(self._entry(places.get(row.get("judgement_id", ""), fallback), row, kind), row, kind)
        for row in _rows(tables.ratings):
            self._rating(self._entry(places.get(row.get("judgement_id", ""), row["dialogue_id"]), row, kind), row, kind)
        for row in _rows(tables.comparisons):
            self._comparison(row, kind, places)

    def _place(self, row: Row, kind: Kind, has_turns: bool) -> str:
        """The entry of a judgement: a dialogue that is there turn by turn, else its item. A judge answers on either."""
        if has_turns:
            return str(row["dialogues"])
        known = [name for name in (row["dialogues"], row["item_id"]) if name in self.all]
        same = [name for name in known if row["technique"] in self.all[name].facets["technique"]]
        return str(same[0]) if kind == "judge" and same else str(row["item_id"])

    def _entry(self, name: str, row: Row, kind: Kind) -> Entry:
        entry = self.all.get(name)
        if entry is None:
            entry = self.all[name] = Entry(name)
        for facet in _OF_ROWS & row.keys():
            entry.note(facet, row[facet])
        entry.note("rater" if kind == "rater" else "judge", row.get("worker_id"))
        if row.get("simulated") and kind == "rater":
            entry.note("mark", "rated by a program")
        if row.get("question"):
            entry.questions.update(dict.fromkeys(row["question"].split("\n")))
        return entry

    def _of_rater(self, entry: Entry, row: Row) -> None:
        """Checks and feedback, which a dialogue and a judgement have alike."""
        by, checks = row["worker_id"], json_in(row.get("checks"))
        entry.note("check", *row.get("checks_failed", "").split(";"))
        if row.get("feedback"):
            entry.feedback.append((by, row["feedback"]))
        for name, outcome in (checks if isinstance(checks, dict) else {}).items():
            if isinstance(outcome, dict) and isinstance(outcome.get("passed"), bool):
                reason = str(outcome.get("reason") or "")
                entry.checks.append({"name": name, "passed": outcome["passed"], "reason": reason, "by": by})

    def _candidate(self, row: Row, kind: Kind) -> None:
        entry = self._entry(row["dialogue_id"], row, kind)
        number = int(row["turn"])
        turn = entry.turns.get(number)
        if turn is None:
            turn = entry.turns[number] = {"turn": number, "replies": [], "answers": []}
        if row.get("human_text") and "human" not in turn:
            turn["human"] = _pictured({"text": row["human_text"]}, json_in(row.get("human_images")), self._pictures)
            if row.get("human_fixed"):
                turn["given"] = True
        entry.note("model", row["model"])
        card = row.get("candidate_id", row["model"])
        known = self._replies.get((entry.id, number, card))
        if known is None:
            settings = self._settings.get(row.get("judgement_id", entry.id), "")
            known = self._replies[entry.id, number, card] = _reply(row, settings)
            _pictured(known, json_in(row.get("images")), self._pictures)
            turn["replies"].append(known)
        if row.get("complete", 1):
            self._choice(entry, turn, row, kind)

    def _choice(self, entry: Entry, turn: Turn, row: Row, kind: Kind) -> None:
        """What a row says of its candidate, put to the answer that it is part of."""
        made: list[tuple[str, Kind, Any, Any]] = [(row["worker_id"], kind, row.get("selected"), row.get("ticks"))]
        if row.get("own_worker") and row.get("own_asked"):
            made.append((row["own_worker"], "own", row.get("own_selected"), row.get("own_ticks")))
        for by, which, selected, ticks in made:
            order = row.get("order")
            key = (entry.id, turn["turn"], by, "" if which == "own" else row.get("judgement_id", ""))
            answer = self._choices.get(key)
            if answer is None:
                answer = self._choices[key] = Answer(by=by, kind=which)
                turn["answers"].append(answer)
                if which != "own":
                    _put(answer, none=bool(row.get("none_said")), same=bool(row.get("automatic")), order=order)
                    _put(
                        answer, written=row.get("written_text"), **{key: row.get(key) for key in ("reason", "seconds")}
                    )
            if selected and not row.get("continued_each") and row["model"] not in answer.get("chosen", ()):
                answer.setdefault("chosen", []).append(row["model"])
                entry.points[row["model"]] += kind == "rater" and not row.get("automatic")
            if ticks:
                answer.setdefault("ticks", {})[row["model"]] = ticks.split(";")
            if row.get("rank") and which != "own":
                answer.setdefault("ranks", {})[row["model"]] = int(row["rank"])

    def _judgement(self, entry: Entry, row: Row, kind: Kind) -> None:
        settings = row.get("settings", "")
        if kind == "rater":
            for facet, column in (("status", "status"), ("language", "language"), ("kind", "kind"), ("k", "k")):
                entry.note(facet, *str(row.get(column, "")).split(";"))
            entry.note("model", *row.get("group", "").split(";"))
            entry.started = entry.started or row.get("started", "")
            self._of_rater(entry, row)
        if row.get("gold"):
            entry.note("mark", "attention check", *(["attention check failed"] if row.get("gold_passed") == 0 else []))
        shown = json_in(row.get("shown"))
        for dialogue in shown if isinstance(shown, list) and not entry.turns else ():
            if isinstance(dialogue, dict) and str(dialogue.get("dialogue_id")) not in entry.talks:
                talk = _talk(dialogue, settings, self._pictures)
                entry.talks[talk["id"]] = talk
        entry.seconds = entry.seconds or row.get("seconds")
        if kind == "judge":
            # What a judge wrote, put to its answer on a turn, or on the whole.
            reply = json_in(row.get("reply"))
            words = "\n".join(map(str, reply)) if isinstance(reply, list) else str(row.get("outcome", ""))
            number = row["item_id"].removeprefix(f"{entry.id}:")
            key = (entry.id, int(number), row["worker_id"], row["judgement_id"]) if number.isdigit() else None
            judged = (self._choices.get(key) if key else None) or self._answer(entry, row, "judge")
            judged.setdefault("says", []).append(("wrote", words))
        elif not entry.turns:
            answer = self._answer(entry, row, kind)
            _put(answer, seconds=row.get("seconds"), reason=row.get("reason"))
            self.unread.append((answer, row.get("answers")))

    def _answer(self, entry: Entry, row: Row, kind: Kind) -> Answer:
        """The answer about the whole that a row is part of."""
        key = (row["worker_id"], kind, str(row.get("judgement_id", "")))
        if key not in entry.answers:
            entry.answers[key] = {"by": row["worker_id"], "kind": kind}
            if row.get("order"):
                entry.answers[key]["order"] = int(row["order"])
        return entry.answers[key]

    def _segment(self, entry: Entry, row: Row, kind: Kind) -> None:
        name = row["model"]
        entry.note("model", *({name, row.get("opponent")} - {HUMAN}))
        entry.note("kind", row.get("kind"))
        entry.note("k", row["k"])
        if kind == "rater":
            entry.note("outcome", f"{name} taken for {row['label']}")
        entry.values["label", row["entity"]].append(row["label"])
        says = self._answer(entry, row, kind).setdefault("says", [])
        says.append((f"{name} (speaks {'second' if row['entity'] else 'first'}) taken for", row["label"]))
        signs = {1: f"{name} is more so", 0: "both alike", -1: f"{name} is less so"}
        if not row["entity"]:
            says += [(one, signs[int(row[one])]) for one in FEATURES if one in row]

    def _rating(self, entry: Entry, row: Row, kind: Kind) -> None:
        low, high, value = row.get("minimum"), row.get("maximum"), float(row["value"])
        entry.note("criterion", row["criterion"])
        entry.note("language", row.get("language"))
        entry.note("model", *row["model"].split(";"))
        if kind == "rater":
            entry.rated[row["criterion"]].append(value)
        scale = f" ({low:g}–{high:g})" if low is not None and high is not None else ""
        answer = self._answer(entry, row, kind)
        answer.setdefault("says", []).append((f"{row['model']}: {row['criterion']}", f"{value:g}{scale}"))
        _put(answer, reason=_remark(row) or answer.get("reason"))
        _add_further(answer, row, "ratings")
        stem = _stem(row, "")
        if (row.get(stem) or row.keys() & {*COLUMNS_FILE["prompt_columns"]}) and not entry.turns:
            _take_talk(entry, row, stem, row["model"], entry.id)
        span = high - low if low is not None and high is not None and high > low else None
        entry.values["rating", row["model"], row["criterion"]].append(value if span is None else value / span)
        if row.get("statement"):
            entry.questions.setdefault(row["statement"])

    def _comparison(self, row: Row, kind: Kind, places: Mapping[str, str]) -> None:
        first, second = row["model_a"], row["model_b"]
        dialogue, turn = row.get("dialogue_a"), row.get("turn")
        is_one = dialogue is not None and dialogue == row.get("dialogue_b")
        name = places.get(row.get("judgement_id", ""), dialogue if is_one and dialogue in self.all else row["item_id"])
        entry = self._entry(name, row, kind)
        entry.note("model", first, second)
        entry.note("pair", pair_of(first, second))
        entry.note("language", row.get("language"))
        tie = row.get("tied", row["winner"] == TIE) == 1
        said = answer_of(first, second, None if tie else row["winner"], both_bad=bool(row.get("both_bad")))
        entry.note("answer", said)
        if row.get("both_bad"):
            entry.note("mark", "both bad")
        if turn is not None and int(turn) in entry.turns:
            given = entry.turns[int(turn)]["answers"]
            if not any(one["by"] == row["worker_id"] for one in given):  # else its choice is there already
                says = [(row.get("metric") or "preference", said)]
                given.append({"by": row["worker_id"], "kind": kind, "says": says})
            return
        entry.values[row.get("metric"), pair_of(first, second)].append(said)
        entry.points[TIE if tie else row["winner"]] += kind == "rater"
        sides = [("a", first, dialogue), ("b", second, row.get("dialogue_b"))]
        if row.get("side", row.get("position_a")) == 2:  # as the rater saw them
            sides.reverse()
        stem = _stem(row, "_a", "_b")
        shown = sides if stem and not entry.turns else []
        keys = {side: _take_talk(entry, row, f"{stem}_{side}", *one) for side, *one in shown}
        numbers = (
            " and ".join(f"{list(entry.talks).index(key) + 1}" for _, key in sorted(keys.items()))
            if len(entry.talks) > 2
            else ""
        )
        question = (row.get("metric") or "preference") + (f" (dialogues {numbers})" if numbers else "")
        answer = self._answer(entry, row, kind)
        answer.setdefault("says", []).append((question, said))
        rest = {"reason": _remark(row), "seconds": row.get("seconds")}
        _put(answer, **{key: value for key, value in rest.items() if key not in answer})
        _add_further(answer, row, "comparisons")
        if not entry.talks and not entry.turns:
            entry.about.update((("Dialogue", f"{one}: {where}"), None) for _, one, where in sides if where)


def _remark(row: Row) -> str:
    return "\n".join(dict.fromkeys(str(cell) for name, cell in row.items() if cell and REMARKS.fullmatch(name)))


def _add_further(answer: Answer, row: Row, table: TableName) -> None:
    """Columns that only this table has, shown once with the answer."""
    if answer["kind"] == "rater":
        known = {*COLUMNS[table], *_OF_ROWS, *_REPLIES, *COLUMNS_FILE["prompt_columns"]}
        further = ((name, str(cell)) for name, cell in row.items() if name not in known and not REMARKS.fullmatch(name))
        cut = ((name, cell if len(cell) <= CELL else f"{cell[:CELL]}…") for name, cell in further)
        says = answer.setdefault("says", [])
        says += [one for one in cut if one[1] and one not in says]


def _put(part: Reply | Answer, **values: Any) -> None:
    """Fill fields of a part that have a value; the others stay away, so that files are small."""
    cast(dict[str, Any], part).update({name: value for name, value in values.items() if value})


def _reply(row: Row, settings: str) -> Reply:
    reply = Reply(model=row["model"], text=row.get("text", ""))
    _put(reply, markup=_said(reply["text"], settings).get("markup"))
    changes = str(row.get("changes", "")).split(";") if row.get("changes") else []
    again = json_in(row.get("withdrawn"))
    _put(reply, **{name: bool(row.get(name)) for name in ("continued", "failed", "masked")})
    _put(reply, raw=row.get("raw_text"), latency=row.get("latency_s"), changes=changes)
    _put(reply, position=int(row.get("position") or 0), **{name: row.get(name) for name in ("blocked", "thoughts")})
    _put(reply, withdrawn=[str(one.get("text", "")) for one in again] if isinstance(again, list) else None)
    return reply


def _talk(dialogue: Row, settings: str, pictures: Container[str]) -> Talk:
    """A dialogue of the column ``shown``. Any program may have written it, so its fields may hold anything."""
    said = dialogue.get("lines")
    names = [str(name) for name in entities] if isinstance(entities := dialogue.get("entities"), list) else []
    lines: list[Line] = []
    for line in said if isinstance(said, list) else ():
        if isinstance(line, dict):
            speaker = number if isinstance(number := line.get("speaker"), int) else 0
            who = names[speaker] if 0 <= speaker < len(names) else f"Speaker {speaker + 1}"
            said_there: Said = _pictured(_said(str(line.get("text", "")), settings), line.get("images"), pictures)
            lines.append({**said_there, "who": who, "person": who == HUMAN})
    judged = dialogue.get("judged")
    title = " and ".join(dict.fromkeys(names))
    if isinstance(judged, int) and 0 <= judged < len(names) and len(set(names)) > 1:
        title = f"{names[judged]} (judged), with {names[1 - judged] if len(names) == 2 else 'others'}"
    return {"id": str(dialogue.get("dialogue_id", "")), "title": title, "lines": lines}


def _stem(row: Row, *ends: str) -> str:
    """The name, without its end, of the columns with replies: those that have any in this row, else one that others have."""
    stems = COLUMNS_FILE["reply_columns"]
    every = {one: {f"{one}{end}" for end in ends}.difference(COLUMNS["ratings"]) for one in stems}
    of_row = (one for one, names in every.items() if any(row.get(name) for name in names))
    return next(of_row, next((one for one, names in every.items() if names & row.keys()), ""))


def _take_talk(entry: Entry, row: Row, column: str, model: str, dialogue: str | None) -> Hashable:
    """What a model said, by the ``column`` of a table that holds it, and to what; the key of it in the entry."""
    prompt = next((str(row[name]) for name in COLUMNS_FILE["prompt_columns"] if row.get(name)), "")
    key = (dialogue, model, prompt, str(row.get(column, "")))
    if key not in entry.talks:
        lines: list[Line] = []
        asked, replied = told_in(*key[2:])
        is_empty = column in row and (not replied or not (text_of(replied[-1]) or role_of(replied[-1]) in PEOPLE))
        # The models behind the replies in a prompt are unknown.
        for messages, who in ((asked, ""), (replied, model)):
            for chat in chats_of({"messages": messages, "model": who}, "messages", entry.id) if messages else ():
                names = [chat["entities"].get(speaker, speaker) for speaker in chat["speakers"]]
                said = zip(names, chat["turns"], strict=True)
                lines += [{"text": text, "who": name, "person": name == HUMAN} for name, text in said]
        lines += [{"text": "", "who": model, "person": False}] if is_empty else []
        taken = {"", *(talk["id"] for talk in entry.talks.values())}  # an id may be given to several texts
        name = dialogue or ""
        name = f"{name or entry.id}-{len(entry.talks) + 1}" if name in taken else name
        entry.talks[key] = {"id": name, "title": model, "lines": lines}
    return key


def _pictured(said: Any, listed: object, pictures: Container[str]) -> Any:
    """With its pictures, where the viewer has them, and else with their descriptions; tables from elsewhere may list
    anything."""
    for one in [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else ():
        digest = str(one.get("digest"))
        alt, (width, height) = str(one.get("alt") or NO_ALT), (int(one.get(side) or 0) for side in ("width", "height"))
        if digest in pictures:
            said.setdefault("images", []).append({"digest": digest, "alt": alt, "width": width, "height": height})
        else:
            said["text"] += f"\n[image: {alt}]"
            if "markup" in said:
                said["markup"] = [*said["markup"], f"\n[image: {alt}]"]
    return said


def _said(text: str, settings: str) -> Said:
    """With its markup where raters saw that drawn."""
    markup = markup_of(text) if text and _draws_markdown(settings) else None
    return {"text": text} if markup is None else {"text": text, "markup": markup}


@lru_cache(maxsize=256)
def _draws_markdown(settings: str) -> bool:
    known = json_in(settings)
    replies = known.get("replies") if isinstance(known, dict) else None
    return isinstance(replies, dict) and replies.get("appearance") == "markdown"


def _rows(frame: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Each row as what is in it: cells that are missing are left out, but for replies, which may be empty."""
    filled = [str(name) for name in frame.columns if frame[name].notna().any()]
    columns = [frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in filled]
    for values in zip(*columns, strict=True):
        cells = zip(filled, values, strict=True)
        yield {name: "" if value is None else value for name, value in cells if value is not None or name in _REPLIES}
