"""The columns of the tables that judgements of finished dialogues fill: segments, and the judgements themselves."""

from __future__ import annotations

from parlai_humaneval.protocol.records.judgement import HUMAN as HUMAN
from parlai_humaneval.tables.column_types import more, must

LABELS = ("human", "unsure", "bot")
SIGNS = (-1, 0, 1)
FEATURES = ("fluent", "sensible", "specific")
"""Features of Spot The Bot, as columns."""

_STATUS = more("dialogue_status", "text", "of the judgement: running, complete, partial (left or cut off) or failed")

SEGMENTS = (
    must("dialogue_id", "text", "the dialogue whose beginning was shown"),
    must("worker_id", "text", "pseudonym of the rater"),
    must("k", "integer", "exchanges shown, from 1"),
    must("entity", "integer", "the judged speaker: 0 who speaks first, 1 the other", allowed=(0, 1)),
    must("model", "text", "who that is: a model's name, or human"),
    must("opponent", "text", "who the other speaker is"),
    must("label", "text", "what the rater took the speaker for: human, unsure or bot", allowed=LABELS),
    *(
        must(name, "integer", f"1: more {name} than the other speaker, 0: as much, -1: less", True, SIGNS)
        for name in FEATURES
    ),
    must("seconds", "number", "from shown to answered, of the segment with both speakers", empty_ok=True),
    more("item_id", "text", "the segment: the same for everybody who judged it"),
    more("judgement_id", "text", "one rater's judgement; both speakers share it"),
    more("position", "integer", "1: shown as Speaker A, who speaks first; 2: Speaker B"),
    more("technique", "text", "evaluation technique, spot_the_bot"),
    more("setting", "text", "variant of the technique, e.g. the domain of the dialogues"),
    more("metric", "text", "what the questions are about"),
    more("kind", "text", "who talks: bot_bot, self_chat, human_bot or human_human"),
    _STATUS,
)

JUDGEMENTS = (
    must("judgement_id", "text", "one rater's judgement of one item"),
    must("item_id", "text", "what was judged: the same for everybody who judged it"),
    must("worker_id", "text", "pseudonym of the rater"),
    must("technique", "text", "evaluation technique, e.g. pw_dialog"),
    must("setting", "text", "variant of the technique, empty where it has none", empty_ok=True),
    must("metric", "text", "what the questions are about, e.g. preference"),
    must("group", "text", "the models that the item is about, joined by ;, empty of attention checks", empty_ok=True),
    must("dialogues", "text", "ids of the dialogues shown, joined by ;, from left to right"),
    must("status", "text", "running, complete, partial (left or cut off) or failed"),
    more("seconds", "number", "from shown to the last answer: all steps of the item; empty where none was answered"),
    more("gold", "flag", "1: an attention check, which stands in no other table"),
    more("gold_passed", "flag", "1: the attention check was answered right"),
    more("checks_failed", "text", "names of the quality checks that failed, joined by ;. Empty: none"),
    more("reason", "text", "the rater's written reasons, joined by ; where there are several"),
    more("session", "text", "unit of work that holds several items"),
    more("number", "integer", "place of the item in its session, from 1"),
    more("numbers", "integer", "items of the session"),
    more("kind", "text", "who talks in the dialogues: human_bot, self_chat, bot_bot or human_human, joined by ;"),
    more("k", "text", "exchanges shown of each dialogue, joined by ;. Empty: all"),
    more("question", "text", "the questions exactly as the rater saw them, joined by a line break"),
    more("started", "text", "when it was shown: ISO 8601, UTC"),
    more("interrupted", "flag", "1: cut off by the end of its launch, not by its rater"),
    more("failure", "text", "what went wrong, where the status is failed"),
    more("feedback", "text", "the rater's free text at the end"),
    more("refused_answers", "integer", "answers that the server refused"),
    # Text, as a seed may need more bits than an integer column has.
    more("seed", "text", "whole number: seed of the order of the dialogues"),
    more("task_name", "text", "name of the task"),
    more("task_run_id", "text", "launch of the task"),
    more("unit_id", "text", "unit of work"),
    more("assignment_id", "text", "assignment of the unit"),
    more("schema_version", "integer", "version of the record that this row was read from"),
    more("settings", "text", "JSON object: full setting of the technique"),
    more("answers", "text", "JSON list: every answer as it was given"),
    more("shown", "text", "JSON list: the dialogues as shown: speakers, lines; what was said, where a name was masked"),
    more("checks", "text", "JSON object: each quality check by name, with verdict and reason; and the practice"),
)
