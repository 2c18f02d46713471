"""Writes ``src/wire/schema.gen.ts``, the page's types and checks of what travels, from ``parlai_humaneval.schema``.

``npm run wire`` after a change there; with ``--check`` it writes nothing and fails where the file is stale.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from parlai_humaneval.schema.steps import Answer, PageState, Step
from parlai_humaneval.schema.wire import MAX_TEXT, MOST_LEVELS, MOST_PARTS

FILE = Path(__file__).resolve().parents[1] / "mephisto_tasks/webapp/src/wire/schema.gen.ts"
WIDTH = 120
HEAD = f"""\
/** Written by .ci/wire_types.py from parlai_humaneval/schema; `npm run wire` rewrites it. */
import * as v from "valibot";
import {{ WebAddress, within }} from "./lenient";

/** The most characters of a text in an answer. */
export const MAX_TEXT = {MAX_TEXT};
"""
LENIENT = {
    "PageState.language": "v.nullish(v.string(), null)",
    "Redirect.url": "v.nullish(WebAddress, null)",
    "redirect": "v.fallback(v.nullish(RedirectSchema, null), null)",
    "markup": "v.optional(v.fallback(v.nullable(v.pipe(MarkupSchema, "
    f"v.check((some) => within(some, {MOST_LEVELS}, {MOST_PARTS})))), null))",
    "Picture.digest": "v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/))",
    "MessageAnswer.images": "v.optional(v.array(SentImageSchema))",
    "images": "v.optional(v.fallback(v.array(PictureSchema), []))",
    "max_images": "v.optional(v.number())",
}
"""Fields, or fields of one model, that must not spoil the words around them: what the page cannot read, or an earlier server
does not say, is null."""

ROOTS: Mapping[str, Any] = {"PageState": PageState, "Step": Step, "Answer": Answer}
Schema = Mapping[str, Any]


def written() -> str:
    """The whole file."""
    schemas, shared = TypeAdapter.json_schemas(
        [(name, "validation", TypeAdapter(root)) for name, root in ROOTS.items()], ref_template="{model}"
    )
    models: dict[str, Schema] = {
        **shared["$defs"],
        **{name: schemas[name, "validation"] for name in ("Step", "Answer")},
    }
    models["Markup"] = models["Card"]["properties"]["markup"]["anyOf"][0]
    return "\n".join([HEAD, *(_declared(name, models) for name in _ordered(models))])


def _ordered(models: Mapping[str, Schema]) -> Iterator[str]:
    """Each model after those that it holds."""
    done: set[str] = set()

    def visit(name: str) -> Iterator[str]:
        if name not in done:
            done.add(name)
            text = json.dumps(models[name])
            for other in models:
                if f'"$ref": "{other}"' in text or (other, name) in {("Step", "PageState"), ("Markup", "Card")}:
                    yield from visit(other)
            yield name

    for name in models:
        yield from visit(name)


def _declared(name: str, models: Mapping[str, Schema]) -> str:
    schema = models[name]
    if name == "Part":  # the one model that holds itself
        fields = schema["properties"]
        tags = " | ".join(map(json.dumps, fields["tag"]["enum"]))
        return f"""\
export interface Part {{
  tag: {tags};
  start?: number | undefined;
  parts: Markup;
}}
const PartSchema: v.GenericSchema<Part> = v.lazy(() => {_expression(schema, name)});
"""
    if name == "Markup":
        return f"export type Markup = (Part | string)[];\nconst MarkupSchema = {_expression(schema, name)};\n"
    checked = f"const {name}Schema = {_expression(schema, name)};\n"
    if name.endswith("Answer") and name != "Answer":  # known by its kind
        return checked
    export = "export " if name in (*ROOTS, "Redirect") else ""
    return f"{export}{checked}export type {name} = v.InferOutput<typeof {name}Schema>;\n"


def _expression(schema: Schema, name: str = "") -> str:
    """The valibot schema of a JSON schema; ``name``: of the model that it is."""
    match schema:
        case {"$ref": model}:
            return f"{model}Schema"
        case {"oneOf": options, "discriminator": {"propertyName": tag}}:
            if not name and len(options) > 10:
                return "StepSchema"
            return f'v.variant("{tag}", {_list(map(_expression, options))})'
        case {"anyOf": [inner, {"type": "null"}]}:
            return f"v.nullish({_expression(inner)}, null)"
        case {"anyOf": options}:
            return f"v.union({_list(map(_expression, options))})"
        case {"const": value}:
            return f"v.literal({json.dumps(value)})"
        case {"enum": values}:
            return f"v.picklist({_list(map(json.dumps, values))})"
        case {"type": "array", "items": items}:
            return f"v.array({_expression(items)})"
        case {"properties": fields}:
            return f"v.object({{{_fields(name, fields, schema.get('required', []))}}})"
        case {"type": "object", "additionalProperties": values}:
            return f"v.record(v.string(), {_expression(values)})"
        case {"type": "integer"}:
            return "v.number()"
        case {"type": kind}:
            return f"v.{kind}()"
    raise ValueError(f".ci/wire_types.py cannot write a check for {schema}: add this check to the script.")


def _fields(name: str, fields: Mapping[str, Schema], required: list[str]) -> str:
    lines = []
    for key, schema in fields.items():
        text = LENIENT.get(f"{name}.{key}") or LENIENT.get(key) or _expression(schema)
        if key not in required and "nullish" not in text and not {key, f"{name}.{key}"} & LENIENT.keys():
            text = f"v.optional({text}{_default(schema)})" if "const" not in schema else text
        lines.append(f"{key}: {text}")
    filled = [f" {lines[0]},"]
    for line in lines[1:]:
        if len(filled[-1]) + len(line) > WIDTH:
            filled.append("")
        filled[-1] += f" {line},"
    return "".join(f"\n {line}" for line in filled) + "\n"


def _default(schema: Schema) -> str:
    if "default" in schema:
        return f", {json.dumps(schema['default'])}"
    empty = {"array": ", []", "object": ", {}"}
    return empty.get(schema["type"], "")


def _list(items: Iterator[str] | map[str]) -> str:
    return f"[{', '.join(items)}]"


if __name__ == "__main__":
    text = written()
    if "--check" not in sys.argv:
        FILE.write_text(text, encoding="utf-8")
    elif FILE.read_text(encoding="utf-8") != text:
        sys.exit(f"{FILE.name} does not match parlai_humaneval/schema: run npm run wire.")
