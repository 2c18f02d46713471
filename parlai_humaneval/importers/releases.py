"""Files of known releases and logs → rows with our columns, as ``data/releases.yaml`` declares each of them.

A release may come in several forms. What a file's rows hold tells which of them it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from parlai_humaneval._util.data_files import nearest_file, packaged, read_yaml
from parlai_humaneval._util.table_files import ENDINGS, INSPECT, ending, plain_cell, plain_name, read_rows
from parlai_humaneval.importers import fields
from parlai_humaneval.importers.fields import PLACE, Data, at, folded, multiplied, nested, opened, take
from parlai_humaneval.importers.vocabulary import WORDS, guessed_table, identifying
from parlai_humaneval.importers.wide import ALONE, ANSWERS, Apart, answers_apart, ranked_pairs
from parlai_humaneval.statistics.core.formatting import counted
from parlai_humaneval.tables.columns import TableError
from parlai_humaneval.tables.schema import TABLES, TableName

_ANY_WORD, _NAME = re.compile(r"~(\w+)"), re.compile(r"[\w-]+")
_MARKS = re.compile(r"(?<!\w)~|[@#]")
_PLACES = {"@row": "the number of each row", "@folder": "the name of the folder"}
SEEN = 1000  # Rows that say which of several fields a file has
SNIFFED = 20  # Rows by which a form is recognised
_RANKED = object()  # In the place of a ranking that became comparisons
_Made = tuple[Data, Data]  # An answer with our columns, and the row of the file that it was read from


@dataclass(frozen=True)
class Form:
    """One form of a release; its fields are those that ``data/releases.yaml`` explains."""

    table: TableName
    needs: Sequence[Any]
    columns: Mapping[str, Any] = field(default_factory=dict)
    lacks: Sequence[str] = ()
    each: Sequence[str] = ()
    where: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    criteria: Mapping[str, Any] | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    scales: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    observed: bool = False
    known: Sequence[str] = ()
    drop: Sequence[str] = ()
    unknown: Sequence[str] = ()
    notes: Sequence[str] = ()
    passing: bool = True
    lift: str | None = None
    join: Any = None
    inside: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unread: Sequence[str] = ()
    keep: bool = False
    fold: str | None = None
    nest: str | None = None
    gather: bool = False
    shuffled: bool = False
    programs: str | None = None
    asked: bool = False
    refuse: str | None = None
    advice: str = ""

    def rows(self, rows: Sequence[Data], items: Mapping[str, Data]) -> Iterator[Data]:
        """The rows of a file, multiplied, each with what is known of its item."""
        for whole in rows:
            whole = nested(whole, self.nest) if self.nest else folded(whole, self.fold) if self.fold else whole
            whole = fields.gathered(whole, self.known) if self.gather else whole
            for row in multiplied(whole, self.each):
                yield {**row, "item": items.get(str(take(row, self.join)), {})} if self.join else row

    def fits(self, row: Data) -> bool:
        return all(
            take(row, need) is not None
            if isinstance(need, Mapping)
            else any(at(row, path) is not None for path in (need if isinstance(need, list) else [need]))
            for need in self.needs
        ) and not any(at(row, path) is not None for path in self.lacks)


@dataclass(frozen=True)
class Release:
    """``title``: what it is; ``files``: patterns of what to look for in a folder, the first that is there."""

    name: str
    title: str
    source: str
    forms: Sequence[Form]
    files: Sequence[str] = ()


@dataclass(frozen=True)
class Reading:
    """The rows of a file with our columns. ``origins``: our column → where it comes from."""

    frame: pd.DataFrame
    origins: Mapping[str, str]
    notes: Sequence[str] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    guesses: Sequence[str] = ()
    advice: str = ""


class Source(NamedTuple):
    """A file, the table that it becomes, and its rows where a release says how they are read; ``guess``: by what
    it was taken for this table, if that may be wrong."""

    table: TableName
    path: Path
    reading: Reading | None = None
    guess: str = ""


@cache
def releases() -> Mapping[str, Release]:
    """Name → release."""
    declared: Mapping[str, Any] = read_yaml(packaged("releases.yaml"))
    words = {"pass": "passing", "try": "advice"}  # as YAML has them, they are Python's own
    forms = {
        name: [Form(**{words.get(key, key): value for key, value in form.items()}) for form in one["forms"]]
        for name, one in declared.items()
    }
    return {
        name: Release(name, one["title"], one["source"], forms[name], one.get("files", ()))
        for name, one in declared.items()
    }


def recognised(paths: Sequence[Path]) -> Release | None:
    """The release that the first of these files plainly is; a table that names its raters by our column is none. Raises
    TableError where it cannot be read."""
    read: dict[Path, list[Data]] = {}
    for release in releases().values():
        for path in islice(_files(release, paths), 1):
            if path not in read:
                read[path] = _placed(path)[:SNIFFED]
            names = {str(name) for row in read[path] for name in row}
            is_ours = "worker_id" in names and guessed_table(sorted(names)) is not None
            if not is_ours and _form(release, read[path], {}, asked=False) is not None:
                return release
    return None


def read_release(name: str, paths: Sequence[Path]) -> list[Source]:
    """The rows of all these files, as the release ``name`` has them. Raises TableError."""
    release = releases()[name]
    files = [(path, _placed(path)) for path in dict.fromkeys(_files(release, paths))]
    if not files:
        raise TableError(f"there is no file of {name} in {', '.join(map(str, paths))}")
    joins = [form.join for form in release.forms if form.join]
    items: dict[str, Data] = {}
    found = []
    for path, rows in files:
        form = _form(release, rows[:SNIFFED], {}, asked=True)
        if form is None and joins:
            items |= {str(one): row for row in rows if (one := take(row, ["id", "instance_id", "item_id"])) is not None}
        elif form is None:
            names = ", ".join(one for one in (rows[0] if rows else {}) if one != PLACE) or "nothing"
            needed = " or ".join(", ".join(map(_origin, one.needs)) for one in release.forms)
            what = f"it is not a file from {name} ({release.title}). Expected: {needed}; the file has {names}"
            raise TableError(what, where=path, try_="--from tables reads a plain table")
        else:
            found.append((path, rows))
    if not found:
        raise TableError(f"none of the files holds answers of {name}", where=files[0][0])
    by_form: dict[int, tuple[Form, list[tuple[Path, list[Data]]]]] = {}
    for path, rows in found:
        form = _form(release, rows[:SNIFFED], items, asked=True)
        assert form is not None  # it fitted without the items
        if form.refuse:
            raise TableError(form.refuse, where=path, try_=form.advice)
        by_form.setdefault(id(form), (form, []))[1].append((path, rows))
    return [source for form, of_form in by_form.values() for source in _read(release, form, of_form, items)]


def _files(release: Release, paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        inside = sorted(file for file in path.rglob("*") if file.is_file() and ending(file) in (*ENDINGS, INSPECT))
        matching = ([file for file in inside if file.match(pattern)] for pattern in release.files)
        yield from next((files for files in matching if files), [] if release.files else inside)


def _placed(path: Path) -> list[Data]:
    if not path.is_file():
        raise TableError("there is no such file or folder", where=path, misspelt=nearest_file(path))
    file = path.name.partition(".")[0]
    source = {"path": str(path), "folder": path.resolve().parent.name, "file": file}
    rows = read_rows(path, TableError).items()
    return [{**row, PLACE: {**source, "row": f"{file}-{place + 1}", "place": place}} for place, row in rows]


def _form(release: Release, rows: Sequence[Data], items: Mapping[str, Data], *, asked: bool) -> Form | None:
    for form in release.forms:
        if (asked or not form.asked) and any(form.fits(row) for row in islice(form.rows(rows, items), SNIFFED)):
            return form
    return None


def _read(
    release: Release, form: Form, files: Sequence[tuple[Path, Sequence[Data]]], items: Mapping[str, Data]
) -> list[Source]:
    """The answers of files of one form by table: those of the form's, and others that they hold besides. What a question
    asks for shows in all of its answers together."""
    ours = {plain_name(column.name) for column in TABLES[form.table]}
    name, value = ANSWERS.get(form.table, ("", ""))
    left_out: Counter[str] = Counter()
    made: list[_Made] = []
    unknown, unread, raters = set[str](), set[str](), set[str | None]()
    # Names in what the form reads, and the common words for those that it knows by any word.
    read = str([*form.needs, *form.columns.values(), form.join, form.each, form.where, form.criteria])
    used = {word for one in _ANY_WORD.findall(read) for word in WORDS["columns"].get(one, ())} | {*_NAME.findall(read)}
    is_numbered = False  # Some raters are called by the row, for want of a name
    every = [row for _, rows in files for row in form.rows(rows, items)]
    by_key = fields.questions_by_key(at(row, form.criteria["at"]) for row in every) if form.criteria else {}
    for row in every:
        if any(at(row, path) not in values for path, values in form.where.items()) or not form.fits(row):
            left_out[f"rows that hold no answer of {release.name}"] += 1
            continue
        further = _further(row, form, ours, release.name) if form.passing or form.lift else {}
        answers: list[Data] = [{}]
        if form.criteria:
            each = fields.criteria_in(row, {**form.criteria, "keys": by_key})
            answers = [{name: one, value: given, "criterion": one, **rater} for one, rater, given in each]
        flat = form.criteria is not None and not form.criteria["at"]
        rated = {answer["criterion"] for answer in answers if answer and flat}
        if form.passing or form.known:
            unknown |= row.keys() - {PLACE, "item", *form.known, *form.drop, *used, *rated}
        for inner, known in form.inside.items():
            inside = opened(at(row, inner))
            if isinstance(inside, Mapping):
                unknown |= {f"{inner}.{one}" for one in inside if one not in known}
        unread |= {path for path in form.unread if _filled(at(row, path))}
        for answer in answers:
            cells = {column: take({**row, **answer}, spec) for column, spec in form.columns.items()}
            named = {column: answer[column] for column in (name, value) if column in answer}
            if form.shuffled:  # by its name, as a side would be taken for the place at which a rater saw it
                cells["winner"] = cells.get(str(cells["winner"]), cells["winner"])
            if form.programs and re.fullmatch(form.programs, str(cells["worker_id"]).lower()):
                cells["simulated"] = 1
            is_numbered |= isinstance(form.columns.get("worker_id"), list) and cells["worker_id"] == row[PLACE]["row"]
            raters.add(answer.get("rater_name", ""))
            told = {**further, **named, **cells}
            made.append(({**told, **{one: plain_cell(told[one]) for one in told.keys() & {name}}}, row))
    made = [one for answer, row in made for one in _out_of_buckets(answer, row, value)]
    compared, guesses = _rankings(made, name, value, in_order=form.gather) if name else ([], [])
    made = [(answer, row) for answer, row in made if answer.get(value) is not _RANKED]
    guesses += [f"{question}: numbers are keys of {', '.join(options)}" for question, options in by_key.items()]
    made, ticked, silent = _ticks(made, name, value) if form.table == "ratings" and name else (made, [], 0)
    frame = _frame(made)
    if form.values and value in frame:
        values = {str(word): number for word, number in form.values.items()}
        frame[value] = [values.get(str(cell), cell) for cell in frame[value]]
    has_answers, mixed = {name, value} <= set(frame.columns), "mixed" in (form.criteria or {})
    apart = answers_apart(form.table, frame, keep=form.keep, mixed=mixed) if has_answers else Apart(frame)
    answered = apart.answers
    if form.criteria and "alone" in form.criteria and name in answered and answered[name].nunique() == 1:
        answered = answered.assign(**{name: form.criteria["alone"]})
    seen, held = [row for _, row in made[:SEEN]], frame.columns[frame.notna().any()]
    of_columns = {column: _origin(spec, seen) for column, spec in form.columns.items() if column in held}
    of_columns |= {"simulated": "raters that are programs"} if "simulated" in frame else {}
    if form.criteria:
        of_columns |= dict.fromkeys((name, value), form.criteria["at"] or "a column each")
        if any(raters):
            of_columns["worker_id"] = listed = form.criteria["raters"]
            guesses.append(f"each list of ratings follows the order of {listed}, as the file names no raters")
        if mixed and name in answered:
            guesses.append(f"a {name} each: {', '.join(dict.fromkeys(answered[name]))} (--drop leaves them out)")
    costs = dict.fromkeys([*form.unknown, *(["worker_id"] if is_numbered or None in raters else [])])
    notes = [f"{note}." for note in (*(WORDS["unknown"][one] for one in costs), *form.notes)]
    if ticked:
        lacking = f" {counted(silent, 'rater')} answered only questions that have no ticks." if silent else ""
        notes.append(
            f"Each option that any rater ticked becomes a 0/1 criterion: {', '.join(ticked)}. Raters who ticked nothing "
            f"count only if the file has an empty answer from them.{lacking}"
        )
    if unknown := unknown - {*identifying(frame[[one for one in frame if one in unknown]])}:
        fate = "are kept" if form.passing else "are left out"
        notes.append(f"Unknown fields of {release.name} {fate}: {', '.join(sorted(unknown))}.")
    notes += [f"Fields that do not fit in any table are left out: {', '.join(sorted(unread))}."] if unread else []
    left_out.update({ALONE: apart.lost} if apart.lost else {})
    sources: list[Source] = []
    parts: list[tuple[TableName, pd.DataFrame, Mapping[str, str]]] = [(form.table, answered, of_columns)]
    parts += [("ratings", apart.ratings, {})] if apart.ratings is not None else []
    parts += [("comparisons", _frame(compared), {})] if compared else []
    for table, given, origin in parts:
        if table == "ratings":
            guesses += _with_scales({**form.scales, **dict.fromkeys(ticked, (0, 1))}, form, given)
        for path, _ in files:
            own = given[given[PLACE] == str(path)].drop(columns=PLACE) if len(given) else given
            own = own.drop(columns=[column for column in form.columns if column in own and own[column].isna().all()])
            if len(own) or (len(parts) == 1 and not sources):
                sources.append(Source(table, path, Reading(own, origin, advice=form.advice)))
    first = sources[0]
    assert first.reading is not None
    said = replace(first.reading, notes=[*notes, *apart.notes], left_out=left_out, guesses=guesses)
    return [first._replace(reading=said), *sources[1:]]


def _frame(made: Sequence[_Made]) -> pd.DataFrame:
    """Answers, each at the number, from 0, of its row in the file that the column :data:`PLACE` names."""
    cells = [{**answer, PLACE: row[PLACE]["path"]} for answer, row in made]
    frame = pd.DataFrame(cells, [row[PLACE]["place"] for _, row in made], dtype=object)
    return frame.assign(**{name: frame[name].map(plain_cell) for name in frame.columns})


def _rankings(made: Sequence[_Made], name: str, value: str, *, in_order: bool) -> tuple[list[_Made], list[str]]:
    """Comparisons of every two models that a rater ranked, and what was guessed; a ranking is marked in ``made``.
    ``in_order``: a list of options may be one; else they were ticked."""
    asked: dict[Any, list[_Made]] = {}
    for answer, row in made:
        asked.setdefault(answer.get(name), []).append((answer, row))
    found: list[_Made] = []
    guesses = []
    for criterion, answers in asked.items():
        themselves: set[str] = set()
        lists = [opened(answer.get(value)) for answer, _ in answers]
        options = {one for inside in lists if isinstance(inside, list) for one in inside if isinstance(one, str)}
        are_models = any(fields.model_of(row, option) for option in options for _, row in answers[:1])
        ranks = fields.ranks_in(lists, in_order=in_order, are_models=are_models)
        for (answer, row), inside, ranked in zip(answers, lists, ranks, strict=False):
            said = {str(one.get("model", one.get("value"))): one for one in inside if isinstance(one, Mapping)}
            models = {one: one if "model" in said.get(one, ()) else fields.model_of(row, one) for one in ranked}
            themselves |= {option for option, model in models.items() if model is None}
            dropped = (name, value, "model", "dialogue_id")
            kept = {column: cell for column, cell in answer.items() if column not in dropped}
            kept = {"item_id": answer.get("dialogue_id"), **kept}
            texts = {models[one] or one: at(said.get(one), "answer") or at(row, f"fields.{one}") for one in ranked}
            for pair in ranked_pairs({models[option] or option: rank for option, rank in ranked.items()}):
                pair |= {f"response_{side}": texts[pair[f"model_{side}"]] for side in "ab" if any(texts.values())}
                found.append(({**kept, "metric": criterion, **pair}, row))
            answer[value] = _RANKED
        if themselves:
            guesses.append(f"{criterion} ranks the models {', '.join(sorted(themselves))} (--map model:NAME=MODEL)")
    return found, guesses


def _out_of_buckets(answer: Data, row: Data, value: str) -> Iterator[_Made]:
    """An answer as it is, or one for each option that was put into a bucket, which is a tuple of ticks; ``_`` is none."""
    items = answer.get(value)
    is_sorted = isinstance(items, list) and all(isinstance(one, Mapping) and "bucket" in one for one in items)
    if not items or not is_sorted:
        yield answer, row
        return
    for one in items if "dialogue_id" in answer else ():
        model = one.get("model") or fields.model_of(row, one["value"]) or one["value"]
        about = {"model": model, "response": one["answer"], "dialogue_id": f"{answer['dialogue_id']}:{model}"}
        yield {**answer, **about, value: () if one["bucket"] == "_" else (one["bucket"],)}, row


def _ticks(made: list[_Made], name: str, value: str) -> tuple[list[_Made], list[str], int]:
    """Answers with several ticks as one for each option that anybody ticked, 1 or 0; the criteria that these are; and how
    many raters of an item have answers to other questions alone."""
    given = [opened(answer.get(value)) for answer, _ in made]
    lists = [[*one] if isinstance(one, (list, tuple)) else [] if one is None else [one] for one in given]
    options: dict[Any, dict[str, None]] = {
        answer.get(name): {}
        for (answer, _), one in zip(made, lists, strict=True)
        if (len(one) > 1 or isinstance(answer.get(value), tuple)) and all(isinstance(x, str) for x in one)
    }
    for (answer, _), one in zip(made, lists, strict=True):
        options.get(answer.get(name), {}).update(dict.fromkeys(map(str, one)))
    found: list[_Made] = []
    gave: dict[Any, set[tuple[str, ...]]] = {question: set() for question in options}
    raters = [tuple(str(answer.get(key)) for key in ("worker_id", "dialogue_id", "model")) for answer, _ in made]
    for rater, (answer, row), whole, one in zip(raters, made, given, lists, strict=True):
        asked = options.get(answer.get(name))
        ticks = [{name: f"{answer[name]}.{option}", value: int(option in map(str, one))} for option in asked or ()]
        nothing = {value: None} if whole == [] else {}
        found += [
            ({**answer, **tick}, row) for tick in ([nothing] if asked is None else ticks if whole is not None else [])
        ]
        gave.get(answer.get(name), set()).update([] if whole is None else [rater])
    silent = max((len({*raters} - some) for some in gave.values()), default=0)
    return found, [f"{question}.{option}" for question, asked in options.items() for option in asked], silent


def _filled(inside: Any) -> bool:
    held = inside.values() if isinstance(inside, Mapping) else inside
    return any(map(_filled, held)) if isinstance(inside, (Mapping, list)) else inside not in (None, "")


def _further(row: Data, form: Form, ours: set[str], release: str) -> Data:
    """Fields that pass through, other than those that are a column of ours as they are; one that would be taken for such a
    column gets the release's name in front."""
    found: Data = {}
    if form.passing:
        specs = (spec if isinstance(spec, list) else [spec] for spec in form.columns.values())
        whole = [[name for name in names if isinstance(name, str)] for names in specs]
        plain = {name for names in whole for name in names if row.get(name) in (None, "")}
        plain |= {next((name for name in names if row.get(name) not in (None, "")), "") for names in whole}
        held = {form.criteria["at"]} if form.criteria else set()
        left = row.keys() - {PLACE, "item", form.lift, *form.each, *form.drop, *plain, *held}
        found = {name: cell for name, cell in row.items() if name in left}
    inside = opened(at(row, form.lift)) if form.lift else None
    if isinstance(inside, dict):
        known = {PLACE, *(form.join if isinstance(form.join, list) else [])}
        found |= {name: cell for name, cell in inside.items() if name not in known}
    named = ((f"{release}_{name}" if plain_name(name) in ours else name, cell) for name, cell in found.items())
    return {name: cell for name, cell in named if name not in form.columns}


def _with_scales(scales: Mapping[str, tuple[float, float]], form: Form, frame: pd.DataFrame) -> list[str]:
    """Give ratings the ends of their scales, and say which were taken from the answers."""
    if not {"criterion", "value"} <= set(frame.columns) or "minimum" in form.columns:
        return []
    numbers = pd.to_numeric(frame["value"], errors="coerce")
    ends: dict[str, tuple[float, float]] = {}
    guesses = []
    for criterion, values in numbers.groupby(frame["criterion"]):
        low, high = float(values.min()), float(values.max())
        declared = scales.get(str(criterion))
        if declared and declared[0] <= low and high <= declared[1]:
            ends[str(criterion)] = declared
        elif (form.observed or form.table == "comparisons") and low < high:
            ends[str(criterion)] = low, high
            guesses.append(f"{criterion} goes from {low:g} to {high:g}, its lowest and highest answers")
    for place, name in enumerate(("minimum", "maximum") if ends else ()):
        frame[name] = [ends[one][place] if one in ends else None for one in frame["criterion"]]
    return guesses


def _origin(spec: Any, rows: Sequence[Data] = ()) -> str:
    """A field in words; of a list, those that these ``rows`` have."""
    if isinstance(spec, list):
        taken = {next((n for n, one in enumerate(spec) if fields.take(row, one) not in (None, "")), -1) for row in rows}
        return " or ".join(_origin(one) for n, one in enumerate(spec) if n in taken or taken <= {-1})
    if isinstance(spec, dict):
        named = spec.get("one_hot") or spec.get("agree", ())
        plain = (_origin(value) for value in spec.values() if isinstance(value, str if named else (str, list)))
        return next(plain, ", ".join(named))
    if spec.startswith("=") or spec in _PLACES:
        return _PLACES.get(spec, f"“{spec[1:]}”")
    return _MARKS.sub("", " ".join(spec.split())).replace("~", " | ")
