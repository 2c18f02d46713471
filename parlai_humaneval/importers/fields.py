"""Fields of a nested row, by the small language that ``data/releases.yaml`` explains: where they stand, how rows multiply,
and what a criterion holds.
"""

from __future__ import annotations

import json
import re
from ast import literal_eval
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from parlai_humaneval._util.table_files import plain_name
from parlai_humaneval.importers.units import content_id, metric_of
from parlai_humaneval.importers.vocabulary import SIDES, WORDS, Written, side_of
from parlai_humaneval.tables.schema import TIE

Data = dict[str, Any]
PLACE = "@"
"""The key under which a row keeps its ``path``, ``folder`` and ``file``, its ``place`` there from 0, its name ``row``,
and the number of its ``element``."""
_BRACES = re.compile(r"\{([^{}]+)\}")
_PAIR = re.compile(r"(?<=.)~(?=.)")
_SCALE = re.compile(r"scale_(\d+)")  # How Potato names the points of a scale
_OTHER = re.compile(r"(scale_)?\d+|free_response|bad_text")  # labels whose values are not keys
_ONE, _DIGITS = ("1", "1.0", "True", "true"), frozenset("0123456789")
_YES = ("true", "True", "on")
_NO = ("false", "False", "0", "")
_TEXT_BOXES = ("text_box", "free_response")  # What Potato calls them


def take(row: Data, field: Any) -> Any:
    """What a field of ``releases.yaml`` means in ``row``; None where it is not there."""
    if isinstance(field, list):
        return next((found for one in field if (found := take(row, one)) not in (None, "")), None)
    if isinstance(field, dict):
        return _computed(row, field)
    if field.startswith("="):
        return field[1:]
    if "{" in field:
        return _BRACES.sub(lambda match: _in_text(row, match[1]), field)
    if field.startswith("#"):
        first, *others = (at(row, path) for path in field[1:].split("+"))
        return None if first is None else content_id("i", first, *(one for one in others if one not in (None, "")))
    return at(row, f"{PLACE}.{field[1:]}" if field.startswith(PLACE) else field)


def _in_text(row: Data, field: str) -> str:
    first, *second = _PAIR.split(field, maxsplit=1)
    if second:
        return " | ".join(sorted(str(take(row, one) or "") for one in (first, *second)))
    found = take(row, field)
    return "" if found is None or found != found else str(found)


def at(data: Any, path: str) -> Any:
    """The value at a path such as ``summaries.0.policy``, or as a list at ``dialog.*.score``; texts that hold JSON are
    opened on the way."""
    first, of_each, inner = path.partition(".*.")
    if of_each:
        held = opened(at(data, first))
        return [at(one, inner) for one in held] if isinstance(held, list) else None
    for step in path.split(".") if path else ():
        data = opened(data)
        if isinstance(data, list):
            data = data[int(step)] if step.isdigit() and int(step) < len(data) else None
        elif not isinstance(data, Mapping):
            return None
        elif step.startswith("~"):
            words = _words(step)
            names = {plain_name(name): name for name in reversed(list(data)) if isinstance(name, str)}
            data = next((data[names[word]] for word in words if word in names), None)
        else:
            data = data.get(step)
    return data


def _words(step: str) -> list[str]:
    """``model`` and the common words for it, of ``~model``; any other name as it is."""
    name = step.removeprefix("~")
    return [plain_name(word) for word in (name, *(WORDS["columns"].get(name, ()) if name != step else ()))]


def opened(data: Any) -> Any:
    """What a text of JSON, or of Python's own words for lists and objects, holds; anything else as it is."""
    for read in (json.loads, literal_eval) if isinstance(data, str) and data[:1] in ("{", "[") else ():
        try:
            return read(data)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return data


def _computed(row: Data, field: Mapping[str, Any]) -> Any:
    if "metric" in field:
        question = take(row, field["metric"])
        return metric_of(None if question is None else str(question))
    if "split" in field:
        parts = str(take(row, field["split"]) or "").split(field["by"])
        return parts[field["part"]] if len(parts) == 2 else None
    if "one_hot" in field:
        chosen = [meaning for name, meaning in field["one_hot"].items() if str(row.get(name)) in _ONE]
        return chosen[0] if len(chosen) == 1 else None
    if "agree" in field:
        given = [take(row, one) for one in field["agree"]]
        alike = given[0] if given.count(given[0]) == len(given) else TIE
        return None if any(one in field["but"] for one in given) else alike
    if "number" in field:
        number = take(row, field["number"])
        return take(row, field["of"][number - 1]) if number in range(1, len(field["of"]) + 1) else None
    if "class" in field:
        among = (at(row, path) for path in field["among"])
        held = (one for one in among if at(one, field.get("by", "class")) == field["class"])
        return at(next(held, None), field["take"])
    if "side" in field:
        held = opened(take(row, field["among"]))
        named = [one for one in held if side_of(str(at(one, "id"))) == field["side"]] if isinstance(held, list) else []
        return at(named[0] if named else held, "text" if named else f"{SIDES.index(field['side'])}.text")
    if "single" in field:
        return _single(opened(take(row, field["single"])))
    if "several" in field:
        held = opened(take(row, field["several"]))
        only = next(iter(held.values())) if isinstance(held, Mapping) and len(held) == 1 else held
        is_text = isinstance(held, Mapping) and "text" in held
        return only if isinstance(only, list) and len(only) != 1 and not is_text else _single(held)
    if "joined" in field:
        return ":".join(str(found) for one in field["joined"] if (found := take(row, one)) not in (None, "")) or None
    if "ranked" in field:
        held = opened(take(row, field["ranked"]))
        held = next(iter(held.values())) if isinstance(held, Mapping) and len(held) == 1 else held
        if isinstance(held, Mapping):
            return [{**_ranked(row, 0, x), "bucket": b} for b, of in held.items() if isinstance(of, list) for x in of]
        ranked = [_ranked(row, *one) for one in enumerate(held, start=1)] if isinstance(held, list) else None
        return ranked and (ranked if len(ranked) > 1 else [])
    if "over" in field:
        held = opened(take(row, field["list"]))
        return held if isinstance(held, list) and len(held) > field["over"] else None
    if "likeliest" in field:
        scores, asked = (opened(take(row, field[name])) for name in ("likeliest", "of"))
        try:  # None if the scores are not likelihoods
            best = max(range(len(scores)), key=lambda place: float(scores[place][0]))
            asked = {"asked": (list(asked.values()) if isinstance(asked, Mapping) else asked)[best]}
        except (TypeError, ValueError, LookupError):
            return None
        return found if isinstance(found := take(asked, ["asked.arg_1", "asked.1"]), str) else None
    if "turns" in field:
        lines = str(take(row, field["turns"]) or "").split("\n")
        said = enumerate(line for line in lines if line.strip())
        return [{"role": f"speaker_{place % 2 + 1}", "content": line} for place, line in said] or None
    value = take(row, field["of"])
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    if number in field.get("tie", ()) or number == field["middle"]:
        return TIE
    return None if number != number else "model_a" if number < field["middle"] else "model_b"


def _ranked(row: Data, place: int, option: Any) -> Data:
    """An option, by its id or as a message that names its model, with its rank, and its text where ``data`` lists it."""
    if isinstance(option, Mapping):
        order = option.get("order")
        return {"rank": order if isinstance(order, int) else place, "model": at(option, "~model_config_name")}
    data = opened(row.get("data"))
    lists = [opened(one) for one in data.values()] if isinstance(data, Mapping) else []
    listed = (one for held in lists if isinstance(held, list) for one in held)
    known: Data = next((one for one in listed if str(at(one, "id")) == str(option)), {})
    text = take(known, ["body", "text", "content", "messages", "html"])
    model = at(known, "~model")
    return {"rank": place, "value" if model is None else "model": option if model is None else model, "answer": text}


def _single(value: Any) -> Any:
    """The only thing in objects and lists of one."""
    written = isinstance(value, Mapping) and "text" in value
    while isinstance(value, (Mapping, list)):
        inside = list(value.values()) if isinstance(value, Mapping) else value
        if len(inside) != 1:
            return None
        value = inside[0]
    return Written(value) if written and isinstance(value, str) else value


def multiplied(row: Data, each: Sequence[str]) -> Iterator[Data]:
    """``row`` with one element in the place of every list and object at the paths ``each``."""
    if not each:
        yield row
        return
    first, *others = each
    first, *more = first.split("|")
    inside = opened(at(row, first))
    if isinstance(inside, Mapping):
        inside = [{"name": name, "value": value} for name, value in inside.items()]
    lists = [inside, *(opened(at(row, path)) for path in more)]
    elements = [element for one in lists if isinstance(one, list) for element in one]
    for number, element in enumerate(elements, start=1):
        whole = _with(row, first.split("."), element)
        yield from multiplied({**whole, PLACE: {**row[PLACE], "element": number}}, others)


def _with(data: Data, steps: Sequence[str], element: Any) -> Data:
    first, *others = steps
    return {**data, first: _with(opened(data[first]), others, element) if others else element}


def nested(row: Data, mark: str) -> Data:
    """A row whose columns ``Input.model`` and ``Input.text`` have become the object ``Input``."""
    found: Data = {}
    for name, cell in row.items():
        above, _, below = name.partition(mark)
        if below and name != PLACE:
            found.setdefault(above, {})[below] = cell
        else:
            found[name] = cell
    return found


def folded(row: Data, mark: str) -> Data:
    """A row whose columns ``criterion:::option`` have become the object ``label_annotations``."""
    names = [name for name in row if mark in name]
    answers = {name: row[name] for name in names if row[name] not in (None, "")}
    others = {name: cell for name, cell in row.items() if name not in names}
    return {**others, "label_annotations": nested(answers, mark)} if names else row


def gathered(row: Data, known: Sequence[str]) -> Data:
    """A record of Argilla, of whichever version and export, with ``responses``, lists of answers by question, and
    ``fields``, which are all that are not ``known`` where a record is a flat row."""
    found: dict[str, list[Any]] = {}
    held = opened(row.get("responses"))
    for one in held if isinstance(held, list) else ():  # a response of each user, with all their answers
        values = one.get("values") if isinstance(one, Mapping) else None
        for name, answer in values.items() if isinstance(values, Mapping) else ():
            found.setdefault(name, []).append(
                {**one, **answer} if isinstance(answer, Mapping) else {**one, "value": answer}
            )
    for name, cell in row.items():
        question, inside = name.removesuffix(".responses"), opened(cell)
        if not isinstance(inside, list) or not inside:
            continue
        if question != name:
            users, states = (opened(row.get(f"{name}.{kind}")) or [None] * len(inside) for kind in ("users", "status"))
            found[question] = [
                {"value": one, "user_id": user, "status": status}
                for one, user, status in zip(inside, users, states, strict=False)
            ]
        elif all(isinstance(one, Mapping) and {"user_id", "value"} <= one.keys() for one in inside):
            found[name] = inside
    if row.get("annotation") is not None and {"prediction", "annotation_agent"} <= row.keys():
        found["annotation"] = [{"value": row["annotation"], "user_id": row["annotation_agent"]}]
    if not found:
        return row
    if not {"fields", "inputs"} & row.keys():
        of_questions = tuple(f"{name}{mark}" for name in found for mark in (".responses", ".suggestion", "-suggestion"))
        rest = [one for one in row if one not in (PLACE, *known, *found) and not one.startswith(of_questions)]
        row = {**{one: row[one] for one in row if one in (PLACE, *known)}, "fields": {one: row[one] for one in rest}}
    return {**row, "responses": found}


def ranks_in(answers: Sequence[Any], *, in_order: bool, are_models: bool) -> list[dict[str, int]]:
    """Option → rank, of each answer to a question; nothing where it asked for no ranking. ``in_order``: lists of options may
    be rankings; ``are_models``: models of the options are known."""
    lists = [opened(one) for one in answers]
    if not any(lists) or not all(isinstance(one, list) and len(one) != 1 for one in lists):
        return []
    for name in ("value", "model"):
        if all(isinstance(one, Mapping) and {"rank", name} <= one.keys() for inside in lists for one in inside):
            return [{str(one[name]): one["rank"] for one in inside if one["rank"] is not None} for inside in lists]
    if not in_order or not all(lists) or not all(isinstance(one, str) for inside in lists for one in inside):
        return []
    orders = {tuple(inside) for inside in lists}
    if len({*map(frozenset, orders)}) > 1 or (len(orders) == 1 and not are_models):
        return []  # several may have been ticked
    return [{one: rank for rank, one in enumerate(inside, start=1)} for inside in lists]


def model_of(row: Data, option: str) -> str | None:
    """The model that an option means, by a field that is named after it; None where there is none."""
    names = [f"{option}_model", f"{option}-model", f"model_{option}", f"model-{option}"]
    side = side_of(option)
    places = ("metadata.", "fields.", "item.", "data.", "")
    names = [f"{path}{name}" for path in places for name in names] + [f"metadata.{option}"]
    names += [f"{path}~{side}" for path in places] if side else []
    found = take(row, names)
    return None if found is None else str(found)


def criteria_in(row: Data, spec: Mapping[str, Any]) -> Iterator[tuple[str, Data, Any]]:
    """Criterion, what is known of the rater, and answer (a number or a text), of all that ``criteria`` names."""
    held = _by_question(opened(at(row, spec["at"])))
    for name in spec.get("keys", ()) if isinstance(held, Mapping) else ():
        if isinstance(given := held.get(name), Mapping):
            held = {**held, name: {option: str(one) in _DIGITS or one for option, one in given.items()}}
    only, mixed = opened(at(row, spec["only"])) if "only" in spec else None, "mixed" in spec
    others = {word for name in spec["but"] for word in _words(name)} if mixed else set()
    raters = opened(at(row, spec["raters"])) if "raters" in spec else None
    raters = [str(one).strip() for one in raters if isinstance(one, (str, int))] if isinstance(raters, list) else []
    for name, value in held.items() if isinstance(held, Mapping) else ():
        if name in spec.get("but", ()) or name == PLACE or (isinstance(only, list) and name not in only):
            continue
        if plain_name(name) in others or ("like" in spec and not re.fullmatch(spec["like"], name)):
            continue
        value = opened(value)
        one_each = isinstance(value, list) and (not mixed or len(value) == 1)
        given = value if one_each else [value]
        names: list[Any] = raters if len({*raters} - {""}) == len(raters) == len(given) else [None] * len(given)
        for number, (name_of, one) in enumerate(zip(names, given, strict=True), start=1):
            rater = {"rater": f"rater {number}", **({"rater_name": name_of} if "raters" in spec else {})}
            is_whole = mixed and isinstance(one, (Mapping, list)) and len(one) != 1  # ticks, or what was rated
            for criterion, answer in [(name, one)] if is_whole else _answers(name, one):
                yield criterion, rater, answer


def questions_by_key(answers: Iterable[Any]) -> dict[str, list[str]]:
    """Questions of Potato, with their options, whose answers hold keys of options (``sequential_key_binding``): every option
    always has the same digit, another one than all others, and somebody did not choose it."""
    asked: dict[str, list[dict[str, str]]] = {}
    for held in map(_by_question, map(opened, answers)):
        for name, given in held.items() if isinstance(held, Mapping) else ():
            if isinstance(given, Mapping):
                keys = {option: str(one) for option, one in given.items() if one and not _OTHER.fullmatch(option)}
                asked.setdefault(str(name), []).append(keys)
    found: dict[str, list[str]] = {}
    for name, every in asked.items():
        keys = {option: key for one in every for option, key in one.items()}
        is_fixed = all(one.items() <= keys.items() for one in every) and any(one.keys() < keys.keys() for one in every)
        if is_fixed and len(_DIGITS & {*keys.values()}) == len(keys) > 1:
            found[name] = [*keys]
    return found


def _by_question(held: Any) -> Any:
    """Pairs of a schema with an option, and its value, as Potato 2 writes them, as an object of options by schema."""
    if not isinstance(held, list):
        return held
    found: Data = {}
    for one in held:
        label, value = one if isinstance(one, list) and len(one) == 2 else (None, None)
        if isinstance(label, Mapping) and "schema" in label:
            found.setdefault(str(label["schema"]), {})[str(label.get("name"))] = value
    return found


def _answers(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, (Mapping, list)):
        yield name, value
        return
    if not isinstance(value, Mapping) or not value:
        return
    inner = next((value[key] for key in ("labels", "value", "Rating") if key in value), None)
    if inner is not None:
        yield from _answers(name, inner)
        return
    if isinstance(value.get("rank_order"), str):
        groups = [part.split("=") for part in value["rank_order"].split(",")]
        yield name, [{"rank": n, "value": one.strip()} for n, group in enumerate(groups, start=1) for one in group]
        return
    if len(value) > 1 and "free_response" in value:
        yield f"{name}.free_response", Written(value["free_response"] or "")
        value = {option: one for option, one in value.items() if option != "free_response"}
    given = {option: one for option, one in value.items() if one and one not in _NO}
    option, one = next(iter(given.items()), ("", None))
    if len(given) == 1 and (match := _SCALE.fullmatch(option)):
        yield name, match[1]
    elif given and all(one is True or one in _YES or one == option for option, one in given.items()):
        yield name, option if len(given) == 1 else [*given]
    elif not given and all(one is False for one in value.values()):
        yield name, []
    elif len(value) == 1:
        given_text = isinstance(one, str) and option in _TEXT_BOXES
        yield name, Written(one) if given_text else None if "bad_text" in value else next(iter(value.values()))
    else:
        whole = ("selection", "scale_value")  # for a pair, next to a justification
        yield from ((name if option in whole else f"{name}.{option}", one) for option, one in value.items())
