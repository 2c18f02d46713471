"""The keys of a judge's file, its prompt, and the columns of its tables."""

from __future__ import annotations

import json

from docs.facts.markdown import block, code, table
from parlai_humaneval.judges.config import JudgeFile
from parlai_humaneval.judges.questions import default_template
from parlai_humaneval.tables.schema import JUDGE_COLUMNS


def facts() -> dict[str, str]:
    """What a judge is told to be and to answer, and what is written down of it."""
    return {"judge_keys.md": _keys(), "judge_prompt.md": block(default_template()), "judge_columns.md": _columns()}


def _keys() -> str:
    rows = [
        [
            code(name),
            "" if field.is_required() else _default(field.get_default(call_default_factory=True)),
            field.description or "",
        ]
        for name, field in JudgeFile.model_fields.items()
    ]
    return table(["key", "default", "what it is"], rows)


def _default(value: object) -> str:
    """As YAML has it; nothing where there is none."""
    return code(json.dumps(value).strip('"')) if value not in ("", None) else ""


def _columns() -> str:
    rows = [[code(column.name), column.kind, column.description] for column in JUDGE_COLUMNS["judgements"]]
    return table(["column", "kind", "what it contains"], rows)
