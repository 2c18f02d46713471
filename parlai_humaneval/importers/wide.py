"""Tables with a column for each criterion, each model, or each of both: a row for every cell.

Ratings may stand under criteria, under models, or under names of both (``gpt4_fluent``, also in two rows of a header); ranks
under models become a comparison of every two.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal

import pandas as pd

from parlai_humaneval._util.errors import choose_from
from parlai_humaneval._util.table_files import plain_name
from parlai_humaneval.importers import vocabulary
from parlai_humaneval.importers.vocabulary import MOSTLY, NO_CRITERION, SIDES, WORDS, Understood, are_ratings
from parlai_humaneval.tables.columns import TableError, with_our_names
from parlai_humaneval.tables.schema import TABLES, TIE, TableName
from parlai_humaneval.techniques.questions import CRITERIA

AUTO = "auto"
ANSWERS: Mapping[TableName, tuple[str, str]] = {"ratings": ("criterion", "value"), "comparisons": ("metric", "winner")}
"""For tables that may have a column per criterion: the column of names, and the column of answers."""
ALONE = "answers without another answer that fits the table"
BETWEEN = " | "
_SEPARATORS = (BETWEEN, "__", ":", "/", ".", "_", " ", "-")
_FIELDS = re.compile(r"\{(model|criterion)\}")
_BRACKETS = re.compile(r"(.+?)\s*[\[(](.+)[\])]")  # “Model A [Fluency]”, as forms on the web name the columns of a grid
FEWEST_RANKED = 3  # Rows by which ranks are recognised
_UNNAMED = re.compile(r"(?:Unnamed: \d+.*)?")
_AGAIN = re.compile(r"(.+)\.\d+")  # How pandas names the second column of a name
_KNOWN = {plain_name(name) for one in (WORDS["criteria"], *CRITERIA.values()) for name in one}
_KEYS = ("item_id", "dialogue_id", "worker_id", "model", *SIDES)  # What a rater was asked about, and who it was


@dataclass(frozen=True)
class Wide:
    """``columns`` to make rows of, and what they are. ``names``: the model and the criterion of each of ``both``; what each
    column is of, twice, where it differs from the column's name."""

    columns: Sequence[str]
    kind: Literal["criteria", "models", "both", "ranks"]
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def makes(self) -> Sequence[str]:
        """Our columns that come of it."""
        return tuple(WORDS["wide"][self.kind]["makes"])


def one_header(frame: pd.DataFrame) -> pd.DataFrame:
    """``frame`` with one row of names, where its first row goes on with a header: models above, criteria below. A name
    above goes for the columns without a name that follow."""
    above: list[str] = []
    for name in map(str, frame.columns):
        again = _AGAIN.fullmatch(name)
        name = again[1] if again and again[1] in above else name
        above.append(above[-1] if above and _UNNAMED.fullmatch(name) else name)
    several = {name for name in above if name and above.count(name) > 1}
    if vocabulary.questions_below(frame):
        return frame.iloc[2:]
    if not several or len(frame) < 2:
        return frame
    below = ["" if pd.isna(cell) else str(cell) for cell in frame.iloc[0]]
    rest = frame.iloc[1:]
    under = [place for place, name in enumerate(above) if name in several]
    if not all(below[place] and not are_ratings(frame.iloc[:1, place]) for place in under):
        return frame
    if not all(are_ratings(rest.iloc[:, place]) for place in under):
        return frame
    names = [
        f"{high}{BETWEEN}{low}" if high in several else high or low for high, low in zip(above, below, strict=True)
    ]
    return rest.set_axis(names, axis=1)


def wide_columns(
    table: TableName, frame: pd.DataFrame, asked: Sequence[str], missing: Sequence[str], seen: Understood
) -> Wide | None:
    """The columns to make rows of: those of ``--wide``, or, where criterion and rating are both missing, what holds nothing
    but numbers. ``missing``: our columns that neither the file nor ``--set`` has. Raises TableError."""
    ours = {column.name for column in TABLES[table]}
    if table not in ANSWERS:
        if asked:
            raise TableError(f"--wide makes rows of {' and '.join(ANSWERS)}, not of {table}", where=seen.source)
        return None
    further = [name for name in map(str, frame.columns) if name not in ours]
    known = [name for name in vocabulary.with_known_names(frame) if name not in ours]
    nameless = [name for name in missing if not vocabulary.guessed_columns([name], known, seen.questions)]
    if any(_FIELDS.search(name) for name in asked):
        others = vocabulary.guessed_columns(
            [name for name in missing if name not in ANSWERS[table]], list(frame.columns)
        )
        return _by_pattern(",".join(asked), frame, [name for name in further if name not in others], seen)
    if asked and AUTO not in asked:
        for name in asked:
            if name not in frame.columns:
                raise TableError(f"no column {name} for --wide", where=seen.source, **choose_from(name, further))
        return _meant(table, frame, list(asked), nameless, seen)
    asked_for = [name for name in missing if name not in (*ANSWERS[table], *nameless)]
    others = vocabulary.guessed_columns(asked_for, known, seen.questions)
    hidden = {*vocabulary.identifying(frame[further]), *others}
    open_to = [name for name in further if name not in hidden and not NO_CRITERION.fullmatch(name)]
    found = [name for name in open_to if len(frame) and are_ratings(frame[name], MOSTLY)]
    found = found or [name for name in open_to if vocabulary.yes_or_no(frame[name])]
    if not asked:
        absent = set(ANSWERS[table]) <= set(missing) and not vocabulary.guessed_columns(ANSWERS[table], known)
        models = {one for name in frame if others.get(str(name), name) in SIDES for one in frame[name]}
        if table == "comparisons" and models and {"metric", "winner"} <= {*nameless}:
            found = [name for name in further if name not in hidden and vocabulary.are_winners(frame[name], models)]
        elif table == "comparisons" and not (
            set(SIDES) <= set(nameless) and len(found) > 1 and _are_ranks(frame[found])
        ):
            return None
        if table == "ratings" and not absent and not {"value", "model"} <= set(nameless):
            return None
    wide = _meant(table, frame, found, nameless, seen) if found else None
    if wide is not None and not asked:
        what = WORDS["wide"][wide.kind]["is"]
        seen.guesses.append(f"{what} each: {', '.join(found)} (--wide names others, --drop leaves them out)")
    return wide


def likely_table(frame: pd.DataFrame, given: Collection[str]) -> TableName | None:
    """The table that a file may be whose columns name models or raters, and which holds a column for each criterion.
    ``given``: our columns with a value from elsewhere."""
    for table in ("comparisons", "ratings"):
        named = with_our_names(table, frame)
        needed = [one.name for one in TABLES[table] if one.exchange and not one.empty_ok and one.name not in given]
        missing = [name for name in needed if name not in named]
        absent = {*missing} - {*vocabulary.guessed_columns(missing, vocabulary.with_known_names(named)).values()}
        if table == "comparisons" and not absent.isdisjoint(SIDES):
            continue
        if table == "ratings" and (named.get("n_turns") is not None or absent >= {"worker_id", "model"}):
            continue
        is_long = absent.isdisjoint(("model", "value", "winner"))
        if is_long or wide_columns(table, named, [], missing, Understood("", table)):
            return table
    return None


def _meant(
    table: TableName, frame: pd.DataFrame, columns: Sequence[str], missing: Sequence[str], seen: Understood
) -> Wide:
    """What columns are. A model each only where the file, or ``--set``, says which criterion they are of: criteria taken for
    models would be compared with each other."""
    if table == "comparisons" and set(SIDES) <= set(missing):
        return Wide(columns, "ranks")
    if table == "comparisons" or "model" not in missing:
        return Wide(columns, "criteria")
    for separator in (None, *_SEPARATORS):
        pattern = re.compile(f"(.*?){re.escape(separator)}(.*)", re.DOTALL) if separator else _BRACKETS
        parts = [(match[1], match[2]) for name in columns if (match := pattern.fullmatch(name))]
        first, second = ({part[place] for part in parts} for place in (0, 1))
        whole = len(parts) == len(columns) and len(first) * len(second) == len(columns)
        if whole and min(len(first), len(second)) > 1:
            known = [sum(plain_name(name) in _KNOWN for name in names) for names in (first, second)]
            turned = known[0] > known[1]
            order = ("{criterion}", "{model}") if turned else ("{model}", "{criterion}")
            between = separator or columns[0][len(parts[0][0]) : -len(parts[0][1]) - 1]
            seen.guesses.append(f"names are --wide '{between.join(order)}{'' if separator else columns[0][-1]}'")
            names = [(b, a) if turned else (a, b) for a, b in parts]
            return Wide(columns, "both", dict(zip(columns, names, strict=True)))
    return Wide(columns, "criteria" if "criterion" in missing else "models")


def _by_pattern(pattern: str, frame: pd.DataFrame, columns: Sequence[str], seen: Understood) -> Wide:
    """The columns of ratings that a pattern such as ``{model}_{criterion}`` or ``{model}`` fits."""
    parts = _FIELDS.split(pattern)
    fields = sorted(parts[1::2])
    if len(set(fields)) < len(fields):
        raise TableError(f"--wide {pattern}: expected {{model}} and {{criterion}}, each once", where=seen.source)
    form = "".join(f"(?P<{part}>.+?)" if place % 2 else re.escape(part) for place, part in enumerate(parts))
    matches = {
        name: match for name in columns if (match := re.fullmatch(form, name)) and are_ratings(frame[name], MOSTLY)
    }
    if not matches:
        raise TableError(
            f"--wide {pattern} matches no column of ratings", where=seen.source, try_=f"it has: {', '.join(columns)}"
        )
    if len(fields) == 1:
        named = {name: (match[1], match[1]) for name, match in matches.items()}
        return Wide(list(matches), "models" if fields == ["model"] else "criteria", named)
    return Wide(list(matches), "both", {name: (match["model"], match["criterion"]) for name, match in matches.items()})


def _are_ranks(frame: pd.DataFrame) -> bool:
    """Whether every row counts its models from 1."""
    numbers = frame.apply(pd.to_numeric, errors="coerce")
    rows = numbers.dropna(how="all")
    return len(rows) >= FEWEST_RANKED and all(
        min(row, default=0) == 1 and max(row) <= len(row)
        for row in ([one for one in row if one == one] for row in rows.values)
    )


def long(table: TableName, frame: pd.DataFrame, wide: Wide, seen: Understood) -> tuple[pd.DataFrame, int]:
    """A row for each of the columns, and how many cells had no answer, which make none. Raises TableError."""
    name, value = ANSWERS[table]
    if wide.kind == "models":
        name = "model"
    listed = ", ".join(wide.columns)
    if wide.kind == "ranks":
        seen.columns.update(dict.fromkeys(SIDES, f"every pair of {listed}"))
        seen.columns["winner"] = "the better rank; 1 is the best"
        given = frame.drop(columns=list(wide.columns)).to_dict("records")
        ranks = frame[list(wide.columns)].apply(pd.to_numeric, errors="coerce")
        rows = [
            (index, {**row, **pair})
            for (index, ranked), row in zip(ranks.iterrows(), given, strict=True)
            for pair in ranked_pairs(ranked.dropna().to_dict())
        ]
        compared = pd.DataFrame([row for _, row in rows], index=pd.Index([index for index, _ in rows]), dtype=object)
        return compared, int(frame[list(wide.columns)].isna().sum().sum())
    for column in (name, value):
        if column in frame.columns:
            raise TableError(f"the file already has a column {column}", where=seen.source, try_=f"--drop {column}")
    kept = [column for column in frame.columns if column not in wide.columns]
    melted = frame.melt(kept, list(wide.columns), var_name=name, value_name=value, ignore_index=False)
    melted = melted.sort_index(kind="stable").astype(object)
    if seen.questions and (asked := {"ratings": "statement", "comparisons": "question"}[table]) not in frame:
        melted[asked] = melted[name].map(seen.questions)
        seen.columns[asked] = "the questions below the header"
    seen.columns.update({name: f"the names of {listed}", value: "the values of these columns"})
    if wide.kind == "both":
        melted = melted.assign(
            model=[wide.names[one][0] for one in melted[name]], criterion=[wide.names[one][1] for one in melted[name]]
        )
        seen.columns.update({"model": f"the names of {listed}"})
    elif wide.names:
        melted[name] = [wide.names[one][0] for one in melted[name]]
    empty = melted[value].isna()
    return melted[~empty], int(empty.sum())


def ranked_pairs(ranks: Mapping[Any, Any]) -> Iterator[dict[str, Any]]:
    """A comparison of every two models by the ranks that they have, 1 the best."""
    for (a, rank_a), (b, rank_b) in combinations(ranks.items(), 2):
        winner = TIE if rank_a == rank_b else a if rank_a < rank_b else b
        yield {"model_a": a, "model_b": b, "winner": winner, "rank_a": rank_a, "rank_b": rank_b, "n_models": len(ranks)}


@dataclass(frozen=True)
class Apart:
    """``answers``: those that a table holds, with others of the same rater in columns next to them.
    ``ratings``: of one of both models. ``lost``: how many others have no answer to stand next to. ``notes``: what became of
    them, in words."""

    answers: pd.DataFrame
    ratings: pd.DataFrame | None = None
    lost: int = 0
    notes: Sequence[str] = ()


def answers_apart(
    table: TableName, frame: pd.DataFrame, *, keep: bool, only_comments: bool = False, mixed: bool = False
) -> Apart:
    """Answers to several questions, a row each, by what they are. ``keep``: others than those of ``table`` become
    columns; ``only_comments``: none but comments are others; ``mixed``: what was rated is among them. Where none is one of
    ``table``, all stay, so that the error can say what was expected."""
    name, value = ANSWERS[table]
    keys = [key for key in _KEYS if key in frame.columns]
    called = [one if pd.isna(one) else str(one) for one in frame[name]]  # of JSON and Excel it may be a number
    frame = frame.assign(**{name: pd.Series(called, frame.index, dtype=object)})
    groups = {str(one): group for one, group in frame.groupby(name, sort=False)}
    asked = len(frame[keys].astype(str).drop_duplicates())
    cells = {
        one: pd.Series([*group[value], *[None] * (asked - len(group))], dtype=object, name=one)
        for one, group in groups.items()
    }
    rated = [one for one in cells if are_ratings(cells[one], 0.5) and not (mixed and NO_CRITERION.fullmatch(one))]
    chosen = [one for one in groups if one in rated or (only_comments and not vocabulary.is_comment(one))]
    sides: dict[str, tuple[str, str]] = {}
    if table == "comparisons":
        models = {*frame["model_a"], *frame["model_b"]} if {*SIDES} <= set(frame.columns) else set()
        chosen = [one for one, column in cells.items() if vocabulary.are_winners(column, models)]
        chosen = chosen or [one for one in groups if one not in rated and not vocabulary.is_comment(one)]
        sides = _by_side([one for one in rated if one not in chosen]) if models else {}
    if not chosen and not sides:
        return Apart(frame)
    answers = frame[frame[name].isin(chosen)]
    ratings = [_of_side(groups[one], *sides[one]) for one in sides]
    held, lost, beside = set(_ids(answers, keys)), 0, []
    taken = {*frame.columns, *(column.name for column in TABLES[table])} - {"reason"}
    for one in (one for one in groups if one not in (*chosen, *sides)):
        beside.append(f"answer_{one}" if one in taken else one)
        given = dict(zip(_ids(groups[one], keys), groups[one][value], strict=True))
        lost += len(given.keys() - held)
        if keep:
            answers = answers.copy()
            answers[beside[-1]] = [given.get(key) for key in _ids(answers, keys)]
    what, fate = "rating" if table == "ratings" else "choice", "become columns" if keep else "are left out"
    notes = [f"Fields without a {what} {fate}: {', '.join(beside)}."] if beside else []
    return Apart(answers, pd.concat(ratings) if ratings else None, lost if keep else 0, notes)


def _ids(frame: pd.DataFrame, keys: Sequence[str]) -> list[tuple[str, ...]]:
    return list(zip(*(frame[key].astype(str) for key in keys), strict=True))


def _by_side(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Name → criterion and side, of names such as ``fluency_a`` and ``B: fluency`` that there are for both sides."""
    found: dict[str, tuple[str, str]] = {}
    for name in names:
        parts = re.split(r"[\W_]+", name.strip("()[] "))
        for place in range(1, len(parts)):
            for side, criterion in ((parts[place:], parts[:place]), (parts[:place], parts[place:])):
                if (meaning := vocabulary.side_of("".join(side))) is not None:
                    found.setdefault(name, ("_".join(criterion), meaning))
    both = {criterion for criterion, side in found.values() if (criterion, SIDES[side == SIDES[0]]) in found.values()}
    return {name: (criterion, side) for name, (criterion, side) in found.items() if criterion in both}


def _of_side(group: pd.DataFrame, criterion: str, side: str) -> pd.DataFrame:
    ours = {column.name for column in TABLES["comparisons"]} - {"worker_id", "seconds"}
    kept = group.drop(columns=[name for name in group.columns if name in ours])
    dialogue = group["item_id"].astype(str) + ":" + group[side].astype(str)
    return kept.assign(dialogue_id=dialogue, model=group[side], criterion=criterion, value=group["winner"])
