"""What the words in tables from elsewhere mean: names of columns, winners by their side, scales in words, blanks.

The words are in ``data/import_words.yaml``. A reading that is not certain is a guess, which the caller shows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise
from shlex import quote
from types import MappingProxyType
from typing import Any

import pandas as pd

from parlai_humaneval._util.data_files import packaged, read_yaml
from parlai_humaneval._util.errors import misspelt
from parlai_humaneval._util.table_files import plain_name
from parlai_humaneval._util.text import clean_label, escaped, visible
from parlai_humaneval.tables.columns import TableError
from parlai_humaneval.tables.schema import COLUMNS_FILE, TABLES, TIE, TableName
from parlai_humaneval.techniques.registry import picking, techniques

WORDS: Mapping[str, Any] = read_yaml(packaged("import_words.yaml"))
BOTH_BAD = "both_bad"
SIDES = ("model_a", "model_b")
MOSTLY = 0.8
"""Share of ratings from which on a column is one of ratings with slips, each of which is refused by itself."""
NEARLY = 0.85  # Names that are so much like each other may be the same
LONGEST_MODEL = 60  # Characters of a model's name
LONGEST = 100  # Characters of an address
ADDRESS = re.compile("|".join(WORDS["addresses"]), re.IGNORECASE)
_AROUND = re.compile(r"[\s\[\]()_.\-]+")
_WHOLE, _IMPORT_ID = re.compile(r"(-?\d+)\.0"), '{"ImportId"'
LONGEST_STEP = 200  # Letters of an answer that may be a step of a scale
MINUS = "−"  # as forms and printed scales write it
_DECIMAL_COMMA = re.compile(r"(-?\d{1,3}),(\d{1,2})")
_LEADING_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)\s*(?:[-–—:：.,)(（=]\s*[^\d\s].*|/\s*\d+)", re.DOTALL)


def _plain(word: str) -> str:
    return _AROUND.sub("", word.lower())


def _word(cell: Any) -> str:
    """A cell as somebody would type it: 1 of 1.0, as spreadsheets and pandas have whole numbers."""
    word = clean_label(str(cell))
    whole = _WHOLE.fullmatch(word)
    return whole[1] if whole else word


_BLANK, _COMMENTS = frozenset(WORDS["blank"]), frozenset(WORDS["comments"])
NO_CRITERION = re.compile(rf"(.*[\W_])?({'|'.join(WORDS['no_criterion'])})\W*", re.IGNORECASE)
_OURS = {plain_name(column.name) for columns in TABLES.values() for column in columns}
_FLAGS = {word: number for number, words in WORDS["flags"].items() for word in words}
_WINNERS = {_plain(word): meaning for meaning, words in WORDS["winner"].items() for word in words}
_SCALES = [
    {_plain(word): place for place, step in enumerate(scale, start=1) for word in step.split("|")}
    for scale in WORDS["scales"]
]


_POINTS, _OF_QUESTION = re.compile(r"[\d.]+ / [\d.]+"), re.compile(r"(.+) \[(?:Score|Feedback)\]")


class Written(str):
    """What somebody wrote where a text was asked for."""


@dataclass
class Understood:
    """What was made of a file. ``columns``: our column → the column or value that it comes from; ``values``: column →
    what its values are taken for, with counts; ``guesses``: readings that may be wrong; ``row_names``: place of a row →
    words for it; ``questions``: column → what was asked, in words."""

    source: str
    table: TableName
    rows: int = 0
    columns: dict[str, str] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    passed: list[str] = field(default_factory=list)
    guesses: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    row_names: dict[int, int | str] = field(default_factory=dict)
    questions: Mapping[str, str] = field(default_factory=dict)
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)


def guessed_columns(
    missing: Sequence[str], present: Sequence[str], questions: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Column of a file → required column that it may be: by name, question or misspelt name; each is taken once."""
    free = {plain_name(name): name for name in reversed(present)}
    found: dict[str, str] = {}
    for name in missing:
        words = (plain_name(word) for word in _words_for(name))
        if (plain := next((word for word in words if word in free), None)) is not None:
            found[free.pop(plain)] = name
        elif asking := next((one for one in free if name in _asks_for(questions.get(free[one], free[one]))), None):
            found[free.pop(asking)] = name
    for name in [one for one in missing if one not in found.values()]:
        if len(near := [one for one in free if _is_slip(one, plain_name(name))]) == 1:
            found[free.pop(near[0])] = name
    return found


def _is_slip(typed: str, name: str) -> bool:
    """Whether ``winnr`` may be ``winner``: not ``winner2``, nor another column of ours."""
    is_other = typed in _OURS or (name in typed and typed != f"{name}s")
    is_near = sorted(typed) == sorted(name) or misspelt(typed, [name], cutoff=NEARLY) is not None
    return is_near and not is_other


def _asks_for(heading: str) -> set[str]:
    """The required columns that a heading such as “What is your e-mail?” may ask for."""
    asked = {name for name, form in WORDS["questions"].items() if re.fullmatch(form, heading.strip(), re.IGNORECASE)}
    return asked | ({"worker_id"} if _names_any(heading, WORDS["accounts"]) else set())


def _names_any(heading: str, words: Sequence[str]) -> bool:
    """Whether one of these words is in a heading: of a language without blanks, anywhere in it."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", heading)
    parts = re.findall(r"\w+", re.sub(r"\be[\W_]?mail", "email", spaced.lower().replace("_", " ")))
    parts += [first + second for first, second in pairwise(parts)]
    return any(word in parts if word.isascii() else word in heading for word in words)


def identifying(frame: pd.DataFrame) -> list[str]:
    """The columns that may say who a person is: by their names, because most of their cells are addresses, or as lists of
    raters. Ratings, choices and long texts under such a name are none."""
    found = []
    for name in map(str, frame.columns):
        cells = frame[name].dropna()
        texts = [str(cell).strip() for cell in cells]
        is_called = plain_name(name) in WORDS["called"] or _names_any(name, [*WORDS["accounts"], *WORDS["contacts"]])
        is_address = sum(ADDRESS.fullmatch(text) is not None for text in texts) >= max(MOSTLY * len(texts), 1)
        if is_called and not is_address:
            is_long = any(len(text) > LONGEST for text in texts)
            is_called = not (is_long or are_ratings(cells) or are_winners(cells, frozenset()))
        is_list = plain_name(name).endswith("s") or (texts and all(text.startswith(("[", "{")) for text in texts))
        lists_raters = is_list and re.fullmatch(WORDS["raters"], plain_name(name)) and not are_ratings(cells)
        if plain_name(name) in WORDS["private"] or is_address or is_called or lists_raters:
            found.append(name)
    return found


def _words_for(column: str) -> list[str]:
    return [*WORDS["columns"].get(column, ()), *WORDS["headings"].get(column, ())]


def with_known_names(frame: pd.DataFrame) -> list[str]:
    """The columns that may be taken by their names: not texts under “left” and “right”, nor ratings under “quality”."""
    sides = {plain_name(word) for words in WORDS["headings"].values() for word in words}

    def holds_other(name: str) -> bool:
        cells = frame[name].dropna()
        if _asks_for(name):
            is_number = "dialogue_id" not in _asks_for(name) and are_ratings(cells)
            return is_number or any(len(str(cell)) > LONGEST for cell in cells)
        if plain_name(name) in sides:
            return any(len(str(cell)) > LONGEST_MODEL or "\n" in str(cell) for cell in cells)
        is_criterion = plain_name(name) in WORDS["answers"] and "criterion" not in frame
        return is_criterion and (are_ratings(cells) or are_winners(cells, frozenset()))

    return [name for name in map(str, frame.columns) if not holds_other(name)]


def guessed_table(names: Sequence[str]) -> TableName | None:
    """The table that a file with these columns is: of comparisons or ratings."""
    plain = {plain_name(name) for name in names}

    def has(column: str) -> bool:
        return not plain.isdisjoint(plain_name(word) for word in (column, *_words_for(column)))

    if all(map(has, (*SIDES, "winner"))):
        return "comparisons"
    return "ratings" if has("model") and has("criterion") and has("value") else None


def summaries(frame: pd.DataFrame) -> list[Any]:
    """The index of the last rows whose first filled cell is a word such as AVERAGE, which no other row has there."""
    words = frozenset(WORDS["summaries"])
    last = [cell for cell in frame.iloc[-1] if not pd.isna(cell)] if len(frame) else []
    if not last or clean_label(str(last[0])).lower() not in words:
        return []
    first = [clean_label(str(cell)).lower() for cell in frame.bfill(axis=1).iloc[:, 0]]
    length = next((place for place, word in enumerate(reversed(first)) if word not in words), 0)
    below = first[len(first) - length :]
    return [] if {*below} & {*first[: len(first) - length]} else list(frame.index[len(first) - length :])


def of_quiz(frame: pd.DataFrame) -> list[str]:
    """The columns that a quiz of Google Forms adds: points and feedback of each question, and points in all."""
    names = list(map(str, frame.columns))
    found = [name for name in names if (match := _OF_QUESTION.fullmatch(name)) and match[1] in names]
    of_form = found or "timestamp" in map(plain_name, names)
    sums = [name for name in names if of_form and plain_name(name) in ("score", "totalscore")]
    return [*found, *(name for name in sums if all(_POINTS.fullmatch(str(cell)) for cell in frame[name].dropna()))]


def table_advice(names: Sequence[str]) -> tuple[str, str]:
    """Which table a file with these columns is likeliest to be, and which of its required columns it has and lacks."""
    found = []
    for table, columns in TABLES.items():
        needed = [column.name for column in columns if column.exchange and not column.empty_ok]
        ours = {plain_name(name): name for name in needed}
        there = {ours[plain_name(name)] for name in names if plain_name(name) in ours}
        there |= set(guessed_columns([name for name in needed if name not in there], names).values())
        found.append((len(there) / len(needed), len(there), table, there, needed))
    share, _, table, there, needed = max(found, key=lambda one: one[:2])
    wide = "if its columns are ratings of a criterion each, name them with --wide COLUMN,COLUMN"
    if not share:
        return (f"name it with --table: {', '.join(TABLES)}", wide)
    has, lacks = (", ".join(name for name in needed if (name in there) == is_there) for is_there in (True, False))
    return (f"name it with --table: it is most like {table} (it has {has}; it lacks {lacks or 'nothing'})", wide)


def questions_below(frame: pd.DataFrame) -> dict[str, str]:
    """Column → question, where the rows below a header are those of Qualtrics: the questions and their ids."""
    if len(frame) < 2 or not frame.iloc[1].astype(str).str.startswith(_IMPORT_ID).any():
        return {}
    return {str(name): str(cell).strip() for name, cell in frame.iloc[0].items() if not pd.isna(cell)}


def sided(frame: pd.DataFrame, name: str) -> tuple[str, str] | None:
    """The columns of this name for both sides, such as ``score_a`` and ``Score B``, or ``score1`` and ``score2``."""
    plain = {plain_name(one): one for one in reversed(list(map(str, frame.columns)))}
    stem, both = plain_name(name), (("a", "b"), ("1", "2"), ("left", "right"))
    names = (named.format(stem, side) for sides in both for named in ("{0}{1}", "{1}{0}") for side in sides)
    pairs = zip(*[(plain.get(one, "") for one in names)] * 2, strict=True)
    return next(((first, second) for first, second in pairs if first and second), None)


def with_texts_of_sides(frame: pd.DataFrame, understood: Understood) -> pd.DataFrame:
    """``frame`` with ``response_a`` and ``response_b`` for what it calls ``response1`` and ``Response 2``."""
    stems = COLUMNS_FILE["reply_columns"]
    found = {} if {f"{stem}_a" for stem in stems} & {*frame.columns} else {stem: sided(frame, stem) for stem in stems}
    names = {
        old: f"{stem}_{side}" for stem, both in found.items() if both for side, old in zip("ab", both, strict=True)
    }
    understood.columns.update({new: old for old, new in names.items()})
    return frame.rename(columns=names)


def winner_of_scores(frame: pd.DataFrame, understood: Understood) -> pd.DataFrame:
    """``frame`` of two models with a score each, such as ``score_a`` and ``score_b``, and no winner: the higher one wins."""
    for name in ("score", "rating", "rank"):
        first, second = sided(frame, name) or ("", "")
        if not first or not (are_ratings(frame[first]) and are_ratings(frame[second])):
            continue
        ahead = pd.to_numeric(frame[first], errors="coerce") - pd.to_numeric(frame[second], errors="coerce")
        ahead = -ahead if name == "rank" else ahead
        winner = [None if gap != gap else TIE if not gap else SIDES[gap < 0] for gap in ahead]
        understood.columns["winner"] = f"{first} and {second}"
        understood.guesses.append(
            f"the winner has the {'lower' if name == 'rank' else 'higher'} of {first} and {second}"
        )
        return frame.assign(winner=pd.Series(winner, frame.index, dtype=object))
    return frame


def blanks_removed(table: TableName, frame: pd.DataFrame) -> pd.DataFrame:
    """``frame`` with empty cells for words such as N/A, in columns of numbers and of winners."""
    numbers = {column.name for column in TABLES[table] if column.kind != "text"} | {"winner"}
    changed = {
        name: [None if isinstance(cell, str) and cell.strip().lower() in _BLANK else cell for cell in frame[name]]
        for name in numbers & set(frame.columns)
    }
    models = set(frame["model_a"]) | set(frame["model_b"]) if {*SIDES, "winner"} <= set(frame.columns) else set()
    if any(isinstance(model, str) and model.lower() in _BLANK for model in models):
        changed.pop("winner", None)  # a model may be called so
    return frame.assign(**{name: pd.Series(cells, frame.index, dtype=object) for name, cells in changed.items()})


def mapped(
    table: TableName, frame: pd.DataFrame, maps: Mapping[str, Mapping[str, str]], understood: Understood
) -> pd.DataFrame:
    """``frame`` with its values as ``maps`` (column → from → to) and the common vocabularies have them."""
    frame = frame.copy(deep=False)
    for name, words in maps.items():
        if name == "winner" and table == "comparisons":
            continue
        columns = [name] if name in frame.columns else [*SIDES] if name == "model" and table == "comparisons" else []
        for column in columns:
            frame[column] = translated(frame[column], words, understood)
    flags = {column.name for column in TABLES[table] if column.kind == "flag"}
    for column in flags & set(frame.columns):
        cells = [_FLAGS.get(cell.strip().lower(), cell) if isinstance(cell, str) else cell for cell in frame[column]]
        frame[column] = pd.Series(cells, frame.index, dtype=object)
    if table == "comparisons" and {*SIDES, "winner"} <= set(frame.columns):
        given = {**maps.get("model", {}), **maps.get("winner", {})}
        frame = _winners(frame, given, understood)
    if table == "ratings" and "value" in frame.columns:
        frame = _numbers(frame, understood)
    return frame


def translated(column: pd.Series[Any], words: Mapping[str, str], understood: Understood) -> pd.Series[Any]:
    """``column`` with the words of a ``--map``."""
    understood.values[str(column.name)] = ", ".join(f"{old} → {new or 'empty'}" for old, new in words.items())
    cells = [cell if pd.isna(cell) else _filled(words.get(_word(cell), cell)) for cell in column]
    return pd.Series(cells, column.index, dtype=object, name=column.name)


def words_in(column: pd.Series[Any]) -> set[str]:
    """The values of a column, as ``--map`` writes them."""
    return {_word(cell) for cell in column.dropna()}


def yes_or_no(column: pd.Series[Any]) -> dict[str, str]:
    """Word → 1 or 0, where a column holds no others than “yes” and “no”."""
    words = words_in(column)
    known = {word: str(_FLAGS[word.lower()]) for word in sorted(words) if word.lower() in _FLAGS}
    return known if len(known) == len(words) else {}


def _filled(cell: Any) -> Any:
    """None for an empty text; 0 and False are answers."""
    return None if isinstance(cell, str) and not cell else cell


def _winners(frame: pd.DataFrame, given: Mapping[str, str], understood: Understood) -> pd.DataFrame:
    """``frame`` with models' names as winners. Where sides were named, ``side`` says that model_a was the first of two, if
    nothing else does; where some are both bad, ``both_bad`` says which."""
    rows = list(zip(frame["model_a"], frame["model_b"], frame["winner"], strict=True))
    named = (winner for a, b, winner in rows if not pd.isna(winner) and winner not in (a, b, TIE))
    foreign = {word for winner in named if (word := _word(winner)) not in given}
    if not foreign and not given:
        return frame
    names = {str(model).casefold() for a, b, _ in rows for model in (a, b)}
    meanings = dict(given)
    by_word = {
        word: _WINNERS[_plain(word)] for word in foreign if _plain(word) in _WINNERS and word.casefold() not in names
    }
    numbers = _by_number(foreign - by_word.keys(), understood)
    meanings |= by_word | numbers
    counts: Counter[tuple[str, str]] = Counter()
    winners: list[Any] = []
    bad: list[int] = []
    both: list[bool] = []
    any_number = picking("any") | {name for name, entry in techniques().items() if "any" in entry.picks.values()}
    studies = frame.reindex(columns=["technique", "setting"]).astype(str).to_numpy()
    for (a, b, winner), study in zip(rows, studies, strict=True):
        word = "" if pd.isna(winner) else _word(winner)
        meaning = winner if not word or (winner in (a, b) and word not in given) else meanings.get(word)
        both.append(not any_number.isdisjoint(study) and {part.strip() for part in re.split("[,;]", word)} == {a, b})
        if both[-1]:
            meaning = TIE
        if meaning is None:  # a model's name in other letters
            meaning = next((model for model in (a, b) if str(model).casefold() == word.casefold()), winner)
            if meaning != winner:
                understood.guesses.append(f"winner {word} is the model {meaning}")
        if word:
            counts[word, str(meaning)] += 1
        bad.append(int(meaning == BOTH_BAD))
        winners.append(TIE if meaning == BOTH_BAD else _filled({"model_a": a, "model_b": b}.get(meaning, meaning)))
    models = {str(model) for a, b, _ in rows for model in (a, b)}
    shown = [
        f"{visible(old)} → {new or 'empty'} ({n:,})" for (old, new), n in sorted(counts.items()) if new not in models
    ]
    if shown:
        understood.values["winner"] = ", ".join(shown)
    understood.guesses[:] = list(dict.fromkeys(understood.guesses))
    columns: dict[str, Any] = {"winner": pd.Series(winners, frame.index, dtype=object)}
    for side in SIDES if any(both) else ():
        chosen = [int(one or a == b) for one, a, b in zip(both, winners, frame[side], strict=True)]
        columns[side.replace("model", "selected")] = chosen
    if any(both):
        what = f"where a cell names both models, both were chosen, which is a tie: {sum(both):,}"
        understood.notes.append(f"{understood.source}: {what}.")
    if numbers and any(word.startswith(("-", MINUS)) for word in numbers):
        columns["winner_as_given"] = frame["winner"]
    if any(bad) and BOTH_BAD not in frame.columns:
        columns[BOTH_BAD] = bad
    if not {"side", "position_a"} & set(frame.columns) and {*SIDES} & set(meanings.values()):
        columns["side"] = 1
        understood.columns["side"] = "1: model_a was the first of the two, as winners are named by their side"
    return frame.assign(**columns)


def _by_number(words: set[str], understood: Understood) -> dict[str, str]:
    """1 and 2 (0: a tie), or numbers on both sides of 0; 0 and 1 alone may mean either side."""
    found = {word: float(word.replace(MINUS, "-")) for word in words if re.fullmatch(r"[-−+]?\d+(\.0)?", word)}
    if len(found) < len(words) or not found:
        return {}
    values = set(found.values())
    if min(values) < 0:
        understood.guesses.append("winner: numbers below 0 are for model_a, numbers above 0 for model_b")
        end = min(-min(values), max(values))
        beyond = [word for word, number in found.items() if abs(number) > max(end, 3)]
        if end > 0 and beyond:
            ends = f"{understood.source}: winners go from {min(values):g} to {max(values):g}"
            out = f"leave out the answers beyond it with {map_option('winner', beyond, '')}"
            understood.notes.append(f"{ends}. If the scale ends at {max(end, 3):g}, {out}.")
        return {word: TIE if not n else SIDES[n > 0] for word, n in found.items()}
    if 2 in values and values <= {0, 1, 2}:
        understood.guesses.append(f"winner: 1 is model_a, 2 is model_b{', 0 is a tie' if 0 in values else ''}")
        return {word: (TIE, *SIDES)[int(n)] for word, n in found.items()}
    return {}


def winner_advice(frame: pd.DataFrame, row: int) -> str:
    """What to type if the winner of one or more rows is not a model's name."""
    winner = frame["winner"].iloc[row]
    near = misspelt(str(winner), [str(frame[side].iloc[row]) for side in SIDES])
    if near is not None:
        return f"if it is misspelt, {map_option('winner', [near.word], near.nearest[0])}"
    models = set(frame["model_a"]) | set(frame["model_b"]) | {TIE}
    foreign = {_word(word) for word in frame["winner"].dropna() if word not in models}
    given = map_option("winner", foreign, "…")
    return f"give its meaning with {given}, with model_a, model_b, tie, both_bad or a name for each …"


def value_advice(frame: pd.DataFrame) -> str:
    """What to type if ratings are not numbers."""
    words = {word for cell in frame["value"].dropna() if not _is_number(word := _word(cell))}
    return f"leave such answers out with {map_option('value', words, '')}, or write the number that each means behind its ="


def map_option(column: str, words: Iterable[str], meaning: str, most: int = 4) -> str:
    """The option that gives words of a column a meaning, with escapes for what cannot be seen in them."""
    pairs = (f'"{word}={meaning}"' if "," in word else f"{word}={meaning}" for word in sorted(words)[:most])
    return f"--map {quote(escaped(column + ':' + ','.join(pairs)))}"


def in_numbers(values: Iterable[Any], beside: Set[str] = frozenset()) -> tuple[dict[str, Any], dict[str, int]]:
    """Word → number, of ratings in words such as “agree”, “4 – good” or “4,5”, and the scale of words that has the most
    of them, then of the other columns; nothing where they are numbers already, or too few of them are understood."""
    every = Counter(clean_label(value) for value in values if isinstance(value, str))
    del every[""]
    words = {word for word in every if not (word.isascii() and _is_number(word))}
    numbered = {word: match[1] for word in words if (match := _LEADING_NUMBER.fullmatch(word))}
    numbered |= {word: f"{match[1]}.{match[2]}" for word in words if (match := _DECIMAL_COMMA.fullmatch(word))}
    numbered |= {word: f"{float(word.replace(MINUS, '-')):g}" for word in words if _is_number(word)}  # in any script
    if len(numbered) == len(words):
        return numbered, {}

    plain = {word: _plain(word) for word in every if len(word) <= LONGEST_STEP}  # whole dialogues would take minutes

    def fit(scale: dict[str, int]) -> tuple[int, int, int, int]:
        held = {word: scale[short] for word, short in plain.items() if short in scale}
        answers = sum(every[word] for word in held)
        return answers, len({*held.values()}), len(beside & scale.keys()), -max(scale.values())

    scale = max(_SCALES, key=fit)
    known = {word: scale[short] for word, short in plain.items() if word in words and short in scale}
    if len(words) < len(every) or sum(every[word] for word in known) < MOSTLY * every.total():
        return {}, {}
    return known, scale


def are_ratings(column: pd.Series[Any], least: float = 1.0) -> bool:
    """Whether a column holds numbers, or words of a scale: at ``least`` this share of its answers. Where it is one of
    comments by its name, or half of it is empty, words are not a scale: a rater may have written only “good”."""
    cells = pd.Series(
        [None if isinstance(cell, str) and cell.strip().lower() in _BLANK else cell for cell in column], dtype=object
    ).dropna()
    words, scale = in_numbers(cells)
    written = is_comment(str(column.name)) or any(isinstance(cell, Written) for cell in cells)
    if scale and (written or 2 * len(cells) <= len(column)):
        return False
    known = [words.get(clean_label(cell), cell) if isinstance(cell, str) else cell for cell in cells]
    numbers = pd.to_numeric(pd.Series(known, dtype=object), errors="coerce").notna().sum()
    return bool(numbers and numbers >= least * len(cells))


def side_of(word: str) -> str | None:
    """``model_a`` or ``model_b`` of a word such as “left” for one of two."""
    meaning = _WINNERS.get(_plain(word))
    return meaning if meaning in SIDES else None


def are_winners(column: pd.Series[Any], models: Set[str]) -> bool:
    """Whether nearly all answers are words for a winner, or models."""
    words = [_word(cell) for cell in column.dropna()]
    return sum(_plain(word) in _WINNERS or word in models for word in words) >= max(MOSTLY * len(words), 1)


def is_comment(name: str) -> bool:
    """Whether a question of this name asks for a text."""
    return not _COMMENTS.isdisjoint(re.split(r"[\W_]+", name.lower()))


def _numbers(frame: pd.DataFrame, understood: Understood) -> pd.DataFrame:
    """``frame`` with ratings in words as numbers, of each criterion by itself. Raises TableError where two words of a
    scale would be one number."""
    criteria = frame["criterion"] if "criterion" in frame.columns else pd.Series("", frame.index)
    value = frame["value"].astype(object)
    ends = {name: pd.Series(None, frame.index, dtype=object) for name in ("minimum", "maximum", "scale")}
    shown: dict[str, Any] = {}
    every = {_plain(clean_label(cell)) for cell in value if isinstance(cell, str)}
    for criterion in criteria.dropna().unique():
        rows = criteria == criterion
        words, scale = in_numbers(value[rows], every)
        if not words or (scale and is_comment(str(criterion))):
            continue
        are_texts = all(isinstance(cell, str) for cell in value[rows].dropna())
        if not scale and are_texts and (both := _turned(words)) is not None:
            cells = dict.fromkeys(map(clean_label, value[rows].dropna()))
            words = {cell: f"{both - float(words.get(cell, cell)):g}" for cell in cells}
            turned = next(cell for cell in cells if not _is_number(cell))
            understood.guesses.append(f"{criterion}: low numbers mean the most, so {turned} becomes {words[turned]}")
        if scale:
            _check_scale(str(criterion), words, scale, every, understood)
        shown |= words
        if comma := next(filter(_DECIMAL_COMMA.fullmatch, words), None):
            understood.guesses.append(f"{criterion}: {comma} is {words[comma]}")
        value[rows] = [words.get(clean_label(cell), cell) if isinstance(cell, str) else cell for cell in value[rows]]
        if scale:
            points = max(scale.values())
            for name, end in (("minimum", 1), ("maximum", points), ("scale", "likert")):
                ends[name][rows] = end
            understood.guesses.append(f"{criterion}: words of a scale from 1 to {points}")
    if not shown:
        return frame
    given = understood.values.get("value")
    understood.values["value"] = ", ".join([*([given] if given else []), *(f"{one} → {n}" for one, n in shown.items())])
    for name, column in ends.items() if ends["scale"].notna().any() else ():
        frame = frame.assign(**{name: column.combine_first(frame[name]) if name in frame.columns else column})
    return frame.assign(value=value)


def _turned(words: Mapping[str, str]) -> float | None:
    """The sum of both ends of a scale such as “1 = strongly agree” to “5 = strongly disagree”, where high numbers mean
    little; None of others."""
    for scale in _SCALES:
        rests = ((n, _plain(re.sub(r"^-?[\d.]+[\W_]*", "", word))) for word, n in words.items())
        said = {float(n): scale[rest] for n, rest in rests if rest in scale}
        places = [said[number] for number in sorted(said)]
        if len(places) < 2 or any(high <= low for high, low in pairwise(places)):
            continue
        sums = {number + place for number, place in said.items()}
        if {1, max(scale.values())} <= {*places}:
            return min(said) + max(said)
        if len(sums) == 1 and sums == {max(scale.values()) + 1}:
            return sums.pop()
    return None


def _check_scale(
    criterion: str, words: Mapping[str, int], scale: Mapping[str, int], every: set[str], understood: Understood
) -> None:
    """Refuse two words as one number; a remark where no answer, nor another of ``every``, is the middle of a scale."""
    advice = map_option("value", words, "…", 9)
    first: dict[int, str] = {}
    for word, number in sorted(words.items()):
        if _plain(other := first.setdefault(number, word)) != _plain(word):
            both = f"{visible(other)} and {visible(word)} would both be {number}"
            what = f"{criterion or 'value'}: no known scale has all these words, and {both}"
            raise TableError(what, where=understood.source, try_=f"number the words with {advice}")
    points = max(scale.values())
    steps = [step for step in range(1, points + 1) if 2 * step != points + 1]
    if points % 2 and {*steps} == {scale[word] for word in every & scale.keys()}:
        numbers = ", ".join(map(str, steps))
        note = f"{understood.source}: the words of {criterion or 'value'} become {numbers} (no word means “middle”)."
        understood.notes.append(f"{note} If the scale has no middle, number the words with {advice}.")


def _is_number(text: str) -> bool:
    try:
        float(text.replace(MINUS, "-"))
    except ValueError:
        return False
    return True
