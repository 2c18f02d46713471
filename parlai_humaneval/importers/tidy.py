"""Tidy tables from anywhere → tables of ours: renamed, completed, in our words, checked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import combinations
from pathlib import Path
from shlex import quote
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval._util.data_files import nearest_file
from parlai_humaneval._util.errors import misspelt
from parlai_humaneval._util.table_files import NAMED, in_folder, plain_name, read_frame, row_names, rows_named, stem
from parlai_humaneval._util.text import on_one_line, visible
from parlai_humaneval.dialogues.chats import form_of
from parlai_humaneval.dialogues.messages import SYSTEM, json_in, role_of, text_of, told_in
from parlai_humaneval.importers import vocabulary
from parlai_humaneval.importers.readers import Imported
from parlai_humaneval.importers.releases import Source
from parlai_humaneval.importers.units import content_id
from parlai_humaneval.importers.vocabulary import NEARLY, SIDES, WORDS, Understood
from parlai_humaneval.importers.wide import ALONE, ANSWERS, answers_apart, likely_table, long, one_header, wide_columns
from parlai_humaneval.statistics.core.formatting import counted
from parlai_humaneval.statistics.preference.turn_dependence import data_warnings
from parlai_humaneval.tables import columns
from parlai_humaneval.tables.files import Checked, all_faults, checked, settled, tables_of
from parlai_humaneval.tables.schema import COLUMNS_FILE, TABLES, TableName

SINGLE = 10
"""Up to this many bad rows may be slips, even if they are most of a short file."""
_ROW = re.compile(r" in rows? [\d, ]*\d")


@dataclass(frozen=True)
class TidyPlan:
    """How files become tables.

    Attributes:
        renames: name in the files → names of ours, each of which gets the column.
        values: columns that the files lack → what is in them; an id that is empty is numbered.
        repeats: which answers count that a worker gave again; None: they are refused.
        maps: column → value in the files → value of ours.
        wide: columns that are a criterion each, of which rows are made; ``auto``: all of numbers that are not ours.
        drop: columns of the files to leave out.
    """

    renames: Mapping[str, Sequence[str]] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    repeats: columns.Repeats | None = None
    maps: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    wide: Sequence[str] = ()
    drop: Sequence[str] = ()


def table_paths(paths: Sequence[Path], table: TableName | None, plan: TidyPlan | None = None) -> list[Source]:
    """Files with their tables: the files themselves, and of folders those that are named as a table. Where neither
    ``table`` nor its name says which table a file is, its columns do. Raises TableError."""
    plan = plan or TidyPlan()
    found: list[Source] = []
    for path in paths:
        if path.is_dir():
            inside = [Source(name, file) for name in get_args(TableName) for file in in_folder(path, name)]
            if not inside:
                raise columns.TableError(f"{path} holds none of {', '.join(get_args(TableName))} as {NAMED}")
            found += inside
        elif not path.is_file():
            raise columns.TableError("there is no such file or folder", where=path, misspelt=nearest_file(path))
        elif table or stem(path) in get_args(TableName):
            found.append(Source(table or stem(path), path))  # type: ignore[arg-type]  # the stem is one of the names
        else:
            frame = read_frame(path, columns.TableError)
            names = list(map(str, frame.columns))
            called = one_header(frame.drop(columns=[name for name in plan.drop if name in names]))
            called = _distinct_names(called).rename(columns={old: new for old, (new, *_) in plan.renames.items()})
            guess = vocabulary.guessed_table([*called.columns, *plan.values])
            if guess is None and plan.wide:
                guess = "comparisons" if {*SIDES} <= {*called.columns} else "ratings"
            if guess is None and _only_dialogues(frame):
                launch = f"parlai-humaneval launch pw_dialog {quote(f'dialogues=[{path}]')}"
                advice = f"to have its dialogues judged, run {launch}"
                raise columns.TableError("there are no judgements in it, only dialogues", where=path, try_=advice)
            if guess is None and (likely := likely_table(called, plan.values)) is not None:
                guessed = f"the file holds {likely}, by its columns (--table names another)"
                found.append(Source(likely, path, guess=guessed))
                continue
            if guess is None and not (len(frame) and names):
                raise columns.TableError("it has no rows", where=path)
            if guess is None:
                what = "the file's name does not show which table it is"
                if twice := [visible(name) for name, count in Counter(names).items() if name and count > 1]:
                    what += f", and the header has {', '.join(twice)} more than once"
                raise columns.TableError(what, where=path, try_=vocabulary.table_advice(names))
            found.append(Source(guess, path))
    return found


def _only_dialogues(frame: pd.DataFrame) -> bool:
    """Whether a file holds dialogues or parts of them, and no column that may be a rating or a choice."""
    row = {str(name): json_in(cell) or cell for name, cell in _shown_row(frame).items() if isinstance(cell, str)}
    answers = {plain_name(word) for name in ("winner", "value") for word in (name, *WORDS["columns"][name])}
    return (form_of(row) is not None or isinstance(row.get("turns"), list)) and not any(
        plain_name(str(name)) in answers
        or (not vocabulary.NO_CRITERION.fullmatch(str(name)) and vocabulary.are_ratings(column))
        for name, column in frame.items()
    )


@dataclass
class _Use:
    """What of a plan the files had a use for, over all of them."""

    names: set[str] = field(default_factory=set)
    present: set[str] = field(default_factory=set)
    contradicted: dict[str, columns.TableError] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    words: dict[str, set[str]] = field(default_factory=dict)

    def maps(self, column: str, *cells: pd.Series[Any]) -> None:
        """A column of ``--map``, and what stood there before."""
        self.names.add(column)
        self.words.setdefault(column, set()).update(*(vocabulary.words_in(one) for one in cells))


def read_tidy(
    files: Sequence[Source | tuple[TableName, Path]],
    plan: TidyPlan,
    *,
    skip_bad: bool = False,
    on_file: Callable[[Path], None] = lambda path: None,
) -> Imported:
    """Read, rename, complete, clean and check tables; several files of one table are put together. In ``comparisons``
    the model whose name comes first in the alphabet becomes ``model_a``. A flag may be true or false. Raises
    TableError."""
    sources = [Source(*file) for file in files]
    _check_names(sources, plan)
    skipped: list[str] = []
    use = _Use()
    understood: list[Understood] = []
    frames: list[pd.DataFrame] = []
    cleaned: list[columns.CleanedLabels] = []
    for source in sources:
        seen = Understood(str(source.path), source.table)
        frame, clean = _completed(source, plan, use, seen)
        cleaned += clean
        frames.append(frame)
        understood.append(seen)
        on_file(source.path)
    for option, asked in (("rename", plan.renames), ("drop", plan.drop), ("map", plan.maps)):
        for column in asked:
            if column in use.names:
                continue
            near = misspelt(column, use.present)
            if option == "rename" and near is not None and near.nearest[0] in plan.renames[column]:
                what = f"No file has a column {column} to rename, and {near.nearest[0]} is there already"
                raise columns.TableError(what, try_=f"leave out --rename {column}={near.nearest[0]}")
            raise columns.TableError(f"No file has a column {column} to {option}", misspelt=near)
    for column, error in use.contradicted.items():
        if column not in use.names:
            raise error
    parts: dict[TableName, list[tuple[Path, pd.DataFrame]]] = {}
    kept = skipped if skip_bad else None
    for source, frame, seen in zip(sources, frames, understood, strict=True):
        good = _checked(source, frame, plan.repeats, kept, seen.row_names)
        parts.setdefault(source.table, []).append((source.path, good))
        seen.after = _shown_row(good)
    together = {name: _together(name, parts.get(name, []), plan.repeats, kept) for name in get_args(TableName)}
    tables = replace(tables_of(together), cleaned=columns.added_up(cleaned))
    units = sum(len(table.frame) for table in together.values())
    if not units:
        named = ", ".join(str(path) for path in dict.fromkeys(source.path for source in sources))
        raise columns.TableError(f"There is nothing to import: {skipped[0] if skipped else f'{named} has no rows.'}")
    notes = [note for seen in understood for note in seen.notes]
    for column, held in use.words.items():
        for word in (word for word in plan.maps[column] if word not in held):
            near = misspelt(word, sorted(held), most=columns.MOST, cutoff=0.5)
            offered = near.nearest if near else sorted(held)[: columns.MOST]
            listed = ", ".join(map(visible, offered)) + (" …" if len(held) > len(offered) else "")
            notes.append(
                f"--map {column}:{visible(word)}= changes nothing: no cell contains that word. The column has: {listed}."
            )
    notes += [*data_warnings(tables.turns), *_near_models(tables)]
    return Imported(tables, units, use.left_out, skipped, notes, understood)


def _check_names(files: Sequence[Source], plan: TidyPlan) -> None:
    """Refuse names that no table has; a column of ours that is in the way may get any other name."""
    tables = sorted({source.table for source in files})
    known = {column.name for table in tables for column in TABLES[table]}
    for table, ends in (("comparisons", ("_a", "_b")), ("ratings", ("",))):
        if table in tables:
            of_replies = (f"{name}{end}" for name in COLUMNS_FILE["reply_columns"] for end in ends)
            known |= {*COLUMNS_FILE["prompt_columns"], *of_replies}
    wanted = [new for old, names in plan.renames.items() if old not in known for new in names]
    for new in [*wanted, *plan.values] if files else ():
        if new not in known:
            olds = [old for old, names in plan.renames.items() if new in names]
            plain = [source.path for source in files if source.reading is None]
            if (
                olds
                and plain
                and not any({*olds} & {*map(str, read_frame(path, columns.TableError).columns)} for path in plain)
            ):
                raise columns.TableError(f"No file has a column {olds[0]} to rename")
            raise columns.TableError(
                f"no column of {', '.join(tables)}", where=new, misspelt=misspelt(new, known), try_="see --list-columns"
            )


def _completed(
    source: Source, plan: TidyPlan, use: _Use, seen: Understood
) -> tuple[pd.DataFrame, tuple[columns.CleanedLabels, ...]]:
    """The rows of a file with our names and words, and what was cleaned of them."""
    table, path, reading, guess = source
    seen.guesses += [guess] if guess else []
    if reading is None:
        whole = read_frame(path, columns.TableError)
        seen.notes += [f"{path}: {note}" for note in whole.attrs.get("notes", ())]
        seen.row_names = {
            place: name for place, name in zip(whole.index, row_names(whole), strict=True) if place != name
        }
        seen.questions = vocabulary.questions_below(whole)
        frame = _distinct_names(one_header(whole))
        if below := vocabulary.summaries(frame):
            frame = frame.drop(index=below)
            use.left_out["rows below the table with averages or sums"] += len(below)
    else:
        frame = reading.frame
        seen.columns.update(reading.origins)
        seen.guesses += reading.guesses
        seen.notes += [f"{path}: {note}" for note in reading.notes]
        use.left_out.update(reading.left_out)
    seen.rows, seen.before = len(frame), _shown_row(frame)
    use.present.update(map(str, frame.columns))
    use.names.update(name for name in plan.drop if name in frame.columns)
    frame = _without(frame, plan.drop, seen)
    names = {old: new for old, new in plan.renames.items() if old in frame.columns}
    use.names.update(names)
    copies = [frame[[old]].rename(columns={old: name}) for old, (_, *more) in names.items() for name in more]
    seen.columns.update({new: old for old, news in names.items() for new in news})
    given = pd.concat([frame.rename(columns={old: new for old, (new, *_) in names.items()}), *copies], axis=1)
    frame = columns.with_our_names(table, given)
    seen.columns.update({new: old for old, new in zip(given.columns, frame.columns, strict=True) if new != old})
    frame = vocabulary.with_texts_of_sides(frame, seen) if table == "comparisons" else frame
    ours = {column.name: column for column in TABLES[table]}
    of_form = [name for name in map(str, frame.columns) if plain_name(name) in WORDS["of_forms"]]
    of_form = [*(of_form if len(of_form) > 2 else []), *(vocabulary.of_quiz(frame) if reading is None else [])]
    if reading is None and of_form and not {*of_form} & {*plan.wide}:
        frame = _without(frame, of_form, seen)
        seen.notes.append(f"{path}: columns of form metadata are left out (--rename keeps them): {', '.join(of_form)}.")
    further = {name: words for name, words in plan.maps.items() if name in frame.columns and name not in ours}
    for name in further:
        use.maps(name, frame[name])
    frame = frame.assign(**{name: vocabulary.translated(frame[name], words, seen) for name, words in further.items()})
    there = {*frame.columns, *plan.values}
    missing = [c.name for c in ours.values() if c.exchange and not c.empty_ok and c.name not in there]
    if (table, missing) == ("comparisons", ["winner"]) and not vocabulary.guessed_columns(missing, [*frame.columns]):
        frame = vocabulary.winner_of_scores(frame, seen)
        missing = [name for name in missing if name not in frame.columns]
    wide = wide_columns(table, frame, plan.wide, missing, seen)
    taken = {*ours, *(wide.columns if wide else ())} - ({"metric"} if table == "ratings" else set())
    free = [name for name in vocabulary.with_known_names(frame) if name not in taken]
    needed = [name for name in missing if not (wide and name in wide.makes)]
    guesses = vocabulary.guessed_columns(needed, free, seen.questions)
    nameless = {*needed} - {*guesses.values()}
    if "item_id" in nameless and "question" in frame and frame["question"].nunique() > 1:
        guesses["question"] = "item_id"
    texts = {old: frame[old] for old in guesses if old in COLUMNS_FILE["prompt_columns"]}  # which the viewer shows
    frame = frame.rename(columns=guesses).assign(**texts)
    seen.columns.update({new: old for old, new in guesses.items()})
    asked = [new for old, new in guesses.items() if plain_name(old) in WORDS["of_questions"]]
    if asked and table == "comparisons" and "start" not in frame:
        frame = frame.assign(start=frame[asked[0]])
        seen.columns["start"] = seen.columns[asked[0]]
    seen.guesses += [f"{old} is {new}" for old, new in guesses.items()]
    if wide:
        use.names.update(wide.columns)
        answered = {name: words for name in wide.columns if (words := vocabulary.yes_or_no(frame[name]))}
        for name, words in answered.items():
            frame = frame.assign(**{name: vocabulary.translated(frame[name], words, seen)})
        frame, empty_cells = long(table, frame, wide, seen)
        if empty_cells:
            use.left_out["empty cells of columns that became rows"] += empty_cells
    first = {plain_name(str(name)) for name in given.columns[:1] if reading is None}
    is_form = bool(of_form or seen.questions or first & {*WORDS["first_of_forms"]})
    if is_form and table == "ratings" and "dialogue_id" in nameless:
        plan = replace(plan, values={**plan.values, "dialogue_id": ""})
        seen.guesses.append("dialogue_id is the row number, as no column has it (--rename COLUMN=dialogue_id)")
    frame = _with_values(table, frame, plan, use, seen)
    frame = _with_starts(frame, seen) if table == "comparisons" else frame
    frame, clean = columns.with_clean_labels(table, frame)
    seen.values |= {name: f"cleaned in {counted(n, 'cell')}" for one in clean for name, n in one.cells.items()}
    if reading is None and table == "ratings" and {"criterion", "value"} <= set(frame.columns):
        apart = answers_apart(table, frame, keep=True, only_comments=True)
        frame = apart.answers
        seen.notes += [f"{path}: {note}" for note in apart.notes]
        use.left_out.update({ALONE: apart.lost} if apart.lost else {})
    maps: dict[str, Mapping[str, str]] = {}
    for column in (one for one in plan.maps if one not in further):
        name = column if column in frame else next(iter(plan.renames.get(column, [column])))
        maps[name] = plan.maps[column]
        if name in (*frame.columns, "model"):
            among = [*SIDES, "winner"] if name not in frame else [name]
            use.maps(column, *(frame[one] for one in among if one in frame))
    frame = vocabulary.mapped(table, vocabulary.blanks_removed(table, frame), maps, seen)
    answer = {"comparisons": "winner", "ratings": "value"}.get(table)
    if answer in frame.columns and (empty := frame[answer].isna()).any():
        use.left_out[f"rows of {table} without an answer ({answer})"] += int(empty.sum())
        frame = frame[~empty]
    asked_for = next(iter(ANSWERS.get(table, ())), "")
    if asked_for in frame.columns and not seen.columns.get(asked_for, "").startswith("“"):
        counts = Counter(map(str, frame[asked_for].dropna())).most_common()
        more = f" … and {len(counts) - columns.MOST:,} more" if len(counts) > columns.MOST else ""
        listed = ", ".join(f"{visible(one)} ({n:,})" for one, n in counts[: columns.MOST])
        seen.values[asked_for] = "; ".join(filter(None, (seen.values.get(asked_for), listed + more)))
    if private := vocabulary.identifying(frame.drop(columns=[name for name in ours if name in frame])):
        frame = _without(frame, private, seen)
        seen.notes.append(f"{path}: columns that can identify raters are left out: {', '.join(private)}.")
    seen.passed = [name for name in map(str, frame.columns) if name not in ours and name not in seen.columns]
    for name in (one for one in seen.passed if one not in COLUMNS_FILE["reply_columns"]):
        if (near := misspelt(name, ours.keys() - set(frame.columns), cutoff=NEARLY)) is not None:
            seen.notes.append(f"{path}: the column {name} is ignored. If {near} is meant, add --rename {name}={near}.")
    return frame, clean


def _without(frame: pd.DataFrame, names: Sequence[str], seen: Understood) -> pd.DataFrame:
    """``frame`` without these columns, which the row that is shown leaves out, too."""
    seen.before = {name: cell for name, cell in seen.before.items() if name not in names}
    return frame.drop(columns=[name for name in names if name in frame.columns])


def _distinct_names(frame: pd.DataFrame) -> pd.DataFrame:
    """The second column of a name with “ (2)” behind it, so that it can be renamed or dropped; none without a name."""
    names = [str(name) or "unnamed" for name in frame.columns]
    places = [names[: place + 1].count(name) for place, name in enumerate(names)]
    return frame.set_axis([f"{one} ({n})" if n > 1 else one for one, n in zip(names, places, strict=True)], axis=1)


def _with_values(table: TableName, frame: pd.DataFrame, plan: TidyPlan, use: _Use, seen: Understood) -> pd.DataFrame:
    """``frame`` with the columns of ``--set``, and others that have a usual value."""
    defaults: Mapping[str, str] = WORDS["defaults"]
    for column in TABLES[table]:
        name = column.name
        if name in plan.values:
            value = plan.values[name] or None
            if name in frame.columns and not frame[name].isna().all():
                others = sorted({str(cell) for cell in frame[name].dropna()} - {str(value)})
                if others:
                    what = f"the file has a column {name} with other values: {', '.join(map(visible, others[:3]))}"
                    advice = f"leave out --set {name}=, or leave out the column with --drop {name}"
                    use.contradicted[name] = columns.TableError(what, where=seen.source, try_=advice)
                else:
                    use.names.add(name)
                continue
            use.names.add(name)
            frame[name] = value
            if value is None and name in WORDS["unknown"]:
                # Use the row of the file: in a form with a column per criterion, a row becomes several answers.
                frame[name] = [f"{seen.table}-{Path(seen.source).name}-{place + 1}" for place in frame.index]
                seen.notes.append(f"{seen.source}: {WORDS['unknown'][name]}.")
            nothing = "the row" if name in WORDS["unknown"] else "empty (--set)"
            seen.columns[name] = f"“{value}” (--set)" if value else nothing
        elif column.exchange and name in defaults and name not in frame.columns:
            frame[name] = defaults[name]
            seen.columns[name] = f"“{defaults[name]}”"
            seen.guesses.append(f"{name} is “{defaults[name]}”, because the file does not say (--set {name}=…)")
    return frame


def _with_starts(frame: pd.DataFrame, seen: Understood) -> pd.DataFrame:
    """``frame`` with a ``start`` for what both models of a row were asked, so that answers about it are a cluster."""
    prompts = [name for name in COLUMNS_FILE["prompt_columns"] if name in frame]
    sides = [[f"{stem}_a", f"{stem}_b"] for stem in COLUMNS_FILE["reply_columns"]]
    used = prompts or next((both for both in sides if {*both} <= {*frame}), [])
    if "start" in frame or not used:
        return frame
    rows = frame[used].astype(object).where(frame[used].notna(), "").astype(str).to_numpy().tolist()
    texts = ["\n".join(row) for row in rows] if prompts else [_opener(*row) for row in rows]
    if not any(map(str.strip, texts)):
        return frame
    seen.columns["start"] = f"the text of {' and '.join(prompts)}" if prompts else "the first message of both dialogues"
    starts = [content_id("s", text.strip().casefold()) if text.strip() else None for text in texts]
    return frame.assign(start=pd.Series(starts, index=frame.index, dtype=object))


def _opener(*cells: str) -> str:
    """The message with which all these conversations begin; empty where they differ."""
    told = [[text_of(one) for one in told_in("", cell)[1] if role_of(one).lower() not in SYSTEM] for cell in cells]
    first = {said[0] if len(said) > 1 else "" for said in told}
    return first.pop() if len(first) == 1 else ""


def _shown_row(frame: pd.DataFrame) -> dict[str, Any]:
    """The first row without empty cells, and with “…” for addresses of people."""
    row = {str(name): cell for name, cells in frame[:1].dropna(axis=1).items() for cell in cells}
    return {name: "…" if vocabulary.ADDRESS.fullmatch(str(cell).strip()) else cell for name, cell in row.items()}


def _near_models(tables: columns.Tables) -> list[str]:
    """Remarks on models whose names differ in case, blanks and hyphens alone, or of which one is rare and nearly another."""
    counts: Counter[str] = Counter()
    for table, names in (("comparisons", SIDES), ("ratings", ("model",)), ("turns", ("model",))):
        for name in names:
            counts.update(getattr(tables, table)[name].tolist())
    told = []
    for name, other in combinations(sorted(counts), 2):
        one, two = plain_name(name), plain_name(other)
        rare, common = sorted((name, other), key=counts.__getitem__)
        typo = counts[rare] * 10 <= counts[common] and re.sub(r"\d", "", one) != re.sub(r"\d", "", two)
        if one == two or (typo and SequenceMatcher(None, one, two).ratio() > NEARLY):
            told.append(
                f"{visible(rare)} (rows: {counts[rare]:,}) and {visible(common)} (rows: {counts[common]:,}) count as two "
                f"models. If both are the same, repeat the import with {vocabulary.map_option('model', [rare], common)}."
            )
    return told


def _checked(
    source: Source,
    frame: pd.DataFrame,
    repeats: columns.Repeats | None,
    skipped: list[str] | None,
    names: Mapping[int, int | str],
) -> pd.DataFrame:
    """The typed table, with the places of its rows in the file as index; rows that do not pass are listed in ``skipped``,
    where that is asked for."""
    table, path, reading, _ = source
    places: npt.NDArray[np.int64] = frame.index.to_numpy(dtype=np.int64)
    frame = frame.reset_index(drop=True)

    def check(frame: pd.DataFrame) -> Checked:
        whole = columns.typed(table, frame)
        # Which of them count is said once, of all files together.
        return checked(table, in_order(whole) if table == "comparisons" else whole, None if repeats is None else "keep")

    while len(frame):
        try:
            return check(frame).frame.set_axis(places)
        except columns.TableError as wrong:
            named = np.array([names.get(place, place) for place in places.tolist()], dtype=object)
            error = wrong.of_file(named)
            most_are_bad = len(error.rows) > SINGLE and 2 * len(error.rows) > len(frame)
            if skipped is None or not error.rows or most_are_bad:
                hints = [*([reading.advice] if reading and reading.advice else []), *_hints(table, frame, error, named)]
                if skipped is not None:
                    hints = [one for one in hints if "--skip-bad" not in one]
                    hints += [WORDS["advice"]["most_bad"]] if most_are_bad else []
                raise all_faults(frame, check, named, path, hints) from wrong
            bad = list(error.rows)
            rows = rows_named([*dict.fromkeys(named[bad])])  # of a wide row several are bad
            skipped.append(f"{path}, {rows}: {_ROW.sub('', str(wrong))}")
            places = np.delete(places, bad)
            frame = frame.drop(index=bad).reset_index(drop=True)
    return columns.from_rows(table, [])


def _hints(table: TableName, frame: pd.DataFrame, error: columns.TableError, places: npt.NDArray[Any]) -> list[str]:
    """What to try besides, and the first row that is wrong, as it is."""
    text = str(error)
    hints = []
    if "missing column" in text:
        twice = [name for name in map(str, frame.columns) if name.endswith(" (2)")]
        missing = text.partition("missing column ")[2].partition(". The table has")[0].split(", ")
        if twice:
            named = twice[0].removesuffix(" (2)")
            hints.append(
                f"the header has {named} twice: name the second with --rename '{twice[0]}={missing[0]}', or leave it "
                f"out with --drop '{twice[0]}'"
            )
        hints.append(WORDS["advice"]["missing"])
        if table == "ratings" and "model" in missing:
            hints.append(WORDS["advice"]["model"])
        unknown: Mapping[str, str] = WORDS["unknown"]
        hints += [f"--set {name}= where it is not known: {unknown[name]}" for name in missing if name in unknown]
    column = error.where.removeprefix(f"{table}.")
    if error.rows and error.what.startswith("empty in row"):
        hints.append("fill it in, or leave such rows out with --skip-bad")
    if column == "winner" and error.rows:
        hints.append(vocabulary.winner_advice(frame, error.rows[0]))
    elif column == "value" and error.what.endswith("expected a number"):
        hints.append(vocabulary.value_advice(frame))
    elif column in {c.name for c in TABLES[table] if not c.exchange}:
        hints.append(f"if {column} means something else here, --rename {column}=NAME or --drop {column}")
    if error.rows:
        cells = _shown_row(frame.iloc[[error.rows[0]]])
        row = ", ".join(f"{name} {on_one_line(visible(str(cell)), 40)}" for name, cell in cells.items())
        hints.append(f"{rows_named([places[error.rows[0]]])} of the file: {row}")
    return hints


def _together(
    table: TableName,
    files: Sequence[tuple[Path, pd.DataFrame]],
    repeats: columns.Repeats | None,
    skipped: list[str] | None,
) -> Checked:
    filled = [(path, frame) for path, frame in files if len(frame)]
    if not filled:
        return Checked(columns.from_rows(table, []))
    places = np.array([f"{place + 1} of {path}" for path, frame in filled for place in frame.index], dtype=object)
    rows = pd.concat([frame for _, frame in filled], ignore_index=True)
    while len(filled) > 1:
        try:
            return checked(table, rows, repeats)
        except columns.TableError as wrong:
            error, bad = wrong.of_file(places), list(wrong.rows)
            if skipped is None or not bad or 2 * len(bad) > len(rows):
                raise error from wrong
            skipped.append(f"{rows_named([*dict.fromkeys(places[bad])])}: {error}")
            rows, places = rows.drop(index=bad).reset_index(drop=True), np.delete(places, bad)
    whole, told = settled(table, rows, repeats)
    return Checked(whole.reset_index(drop=True), told)


def in_order(frame: pd.DataFrame) -> pd.DataFrame:
    """``comparisons`` with the first model in the alphabet as ``model_a``, and all that belongs to it: also in columns of
    the file's own, such as ``response_a`` and ``response_b``."""
    swap = (frame["model_a"] > frame["model_b"]).to_numpy(dtype=bool)
    if not swap.any():
        return frame
    frame = frame.copy()
    names = [str(name).removesuffix("_a") for name in frame.columns if str(name).endswith("_a")]
    for first, second in ((f"{name}_a", f"{name}_b") for name in names if name != "position"):
        if second not in frame.columns:
            continue
        if frame[first].dtype != frame[second].dtype:  # such as numbers of the one, and “n/a” among those of the other
            frame[[first, second]] = frame[[first, second]].astype(object)
        frame.loc[swap, [first, second]] = frame.loc[swap, [second, first]].to_numpy(copy=True)
    for name in ("side", "position_a"):
        # With two models, the other position; with more, the other model's position is unknown.
        two = frame[name].isin([1, 2]) & (frame["n_models"].fillna(2) == 2)
        frame.loc[swap, name] = (3 - frame[name]).where(two, pd.NA)[swap]
    return frame
