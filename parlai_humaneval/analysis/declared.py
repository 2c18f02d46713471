"""The columns of the tidy tables: names, types and meanings, in one place.

``exchange`` columns are those that a table from anywhere must have; the others are what our own
records hold besides, and are empty where a table from elsewhere lacks them. Columns that are not
listed here pass through. An empty text is a missing value: CSV cannot tell them apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

TableName = Literal["turns", "dialogues", "comparisons", "ratings", "points"]
Kind = Literal["text", "integer", "number", "flag"]


@dataclass(frozen=True)
class Column:
    """``flag`` is 0 or 1. ``empty_ok``: a missing value is allowed."""

    name: str
    kind: Kind
    description: str
    exchange: bool = False
    empty_ok: bool = False


def _must(name: str, kind: Kind, description: str, empty_ok: bool = False) -> Column:
    return Column(name, kind, description, exchange=True, empty_ok=empty_ok)


def _more(name: str, kind: Kind, description: str) -> Column:
    return Column(name, kind, description, empty_ok=True)


_QUESTION = _more("question", "text", "the question exactly as the rater saw it")
_STATUS = _more("dialogue_status", "text", "running, complete, partial (left or cut off) or failed")

_TURNS = (
    _must("dialogue_id", "text", "the rated dialogue"),
    _must("worker_id", "text", "pseudonym of the rater"),
    _must("technique", "text", "evaluation technique, e.g. pw_turn"),
    _must("setting", "text", "variant of the technique, empty where it has none", empty_ok=True),
    _must("metric", "text", "what the question is about, e.g. preference"),
    _must("turn", "integer", "turn of the Bot Speaker, from 1"),
    _must("model", "text", "model that wrote this candidate"),
    _must("position", "integer", "place of the candidate as shown, from 1 (top or left); 0 where it failed"),
    _must("selected", "flag", "1: the rater chose this candidate"),
    _must("continued", "flag", "1: the dialogue went on with this candidate"),
    _must(
        "written",
        "flag",
        "1: the dialogue went on with a reply that the rater wrote (every row of that turn)",
    ),
    _must("seconds", "number", "from candidates shown to answer; empty where unanswered", empty_ok=True),
    _more("candidate_id", "text", "the candidate, unique within its dialogue"),
    _more("text", "text", "the reply as shown"),
    _more("raw_text", "text", "the model's own text where masking changed it, else empty"),
    _more("masked", "flag", "1: words that named the model or its maker were replaced"),
    _more("latency_s", "number", "seconds the model took to reply"),
    _more("human_text", "text", "what the Human Speaker said before"),
    _more("human_fixed", "flag", "1: that message was given, not typed (the opening “Hi!”)"),
    _more("written_text", "text", "the reply the rater wrote, if any"),
    _more("reason", "text", "the rater's written reason for the choice of this turn"),
    _more("complete", "flag", "1: this turn was answered"),
    _more("none_said", "flag", "1: the rater said that no reply fits, or that none of the ticks applies"),
    _more("ticks", "text", "what the rater ticked of this reply, joined by ;"),
    _more("tick_choices", "text", "what could be ticked, joined by ;. Empty where ticks were not asked"),
    _more("automatic", "flag", "1: nothing was asked, as all replies of the turn were the same"),
    _more("same_as", "text", "candidate_id under which this reply was shown, where two models said the same"),
    _more("failed", "flag", "1: the model gave only blank replies; this row was not shown and could not be chosen"),
    _more("human_suggested", "flag", "1: the Human Speaker's message is one of the openings that the page offered"),
    _more("continued_each", "flag", "1: nothing was chosen, every model went on with its own reply"),
    _QUESTION,
    _STATUS,
)

_DIALOGUES = (
    _must("dialogue_id", "text", "the rated dialogue"),
    _must("worker_id", "text", "pseudonym of the rater"),
    _must("technique", "text", "evaluation technique, e.g. pw_turn"),
    _must("setting", "text", "variant of the technique, empty where it has none", empty_ok=True),
    _must("started", "text", "when it began: ISO 8601, UTC", empty_ok=True),
    _must("seconds", "number", "from beginning to end; empty where it did not end", empty_ok=True),
    _must("n_turns", "integer", "turns that were answered"),
    _must("complete", "flag", "1: the dialogue was finished"),
    _more("status", "text", "running, complete, partial (left or cut off) or failed"),
    _more("failure", "text", "what went wrong, where the status is failed"),
    _more("n_turns_started", "integer", "turns begun: answered ones and the one that was cut off"),
    _more("metric", "text", "what the question is about, e.g. preference"),
    _QUESTION,
    _more("models", "text", "names of the models, joined by ;"),
    _more("topic", "text", "what the dialogue was to be about, if anything"),
    _more("topic_source", "text", "free (the rater named it) or icebreaker (it was given)"),
    _more("opinion", "text", "what the rater thinks of the topic: liked, ambivalent or disliked"),
    _more("session", "text", "unit of work that holds several dialogues, where one does"),
    _more("conversation", "integer", "place of the dialogue in its session, from 1"),
    _more("conversations", "integer", "dialogues of the session"),
    _more("quality_control_model", "text", "the degraded model of the session, if any"),
    _more("verdict", "text", "of two partners side by side: a, b, tie or both_bad"),
    _more("verdict_model", "text", "name of the better one of them"),
    _more("ended_by_rater", "flag", "1: the rater ended the conversation"),
    _more("final_seconds", "number", "from the last questions shown to answered"),
    _more("feedback", "text", "the rater's free text at the end"),
    _more("checks_failed", "text", "names of the quality checks that this dialogue failed, joined by ;. Empty: none"),
    _more("refused_answers", "integer", "answers that the server refused (unknown candidate, no reason …)"),
    # Text, as a seed may need more bits than an integer column has.
    _more(
        "seed", "text", "whole number: seed of the order of candidates; what a sampling model says is not repeatable"
    ),
    _more("task_name", "text", "name of the task"),
    _more("task_run_id", "text", "launch of the task"),
    _more("unit_id", "text", "unit of work"),
    _more("assignment_id", "text", "assignment of the unit"),
    _more("schema_version", "integer", "version of the record that this row was read from"),
    # JSON comes last: it is hard to read in a spreadsheet, and long.
    _more("model_settings", "text", "JSON list: name, options, description and source of each model"),
    _more("settings", "text", "JSON object: full setting of the technique"),
    _more("persona", "text", "JSON list: the Human Speaker's persona sentences"),
    _more("topic_changes", "text", "JSON list: turn and text of each new topic that the rater noted"),
    _more("context", "text", "JSON object: all of the context, also the models' personas and the opening lines"),
    _more("turn_criteria", "text", "JSON list: what could be ticked at each turn, as it was worded"),
    _more("final_ratings", "text", "JSON object: answers at the end of the dialogue (tidy in the table ratings)"),
    _more("checks", "text", "JSON object: each quality check by name, with verdict and reason; and the practice"),
)

_COMPARISONS = (
    _must(
        "item_id",
        "text",
        "what was compared: dialogue_id:turn (with more than two models a row for each pair), or dialogue_id:verdict",
    ),
    _must("worker_id", "text", "pseudonym of the rater"),
    _must("metric", "text", "what the question is about, e.g. preference"),
    _must("model_a", "text", "the model whose name comes first in the alphabet"),
    _must("model_b", "text", "the other model"),
    _must("dialogue_a", "text", "dialogue in which model_a spoke"),
    _must(
        "dialogue_b",
        "text",
        "dialogue in which model_b spoke (the same one when replies of a turn are compared)",
    ),
    _must("winner", "text", "the model that was chosen where the other was not, or tie (both or none chosen)"),
    _must("seconds", "number", "from shown to answered", empty_ok=True),
    _more("technique", "text", "evaluation technique, e.g. pw_turn"),
    _more("setting", "text", "variant of the technique"),
    _more("turn", "integer", "turn of the Bot Speaker, from 1"),
    _more("position_a", "integer", "place of model_a's reply as shown, from 1"),
    _more("selected_a", "flag", "1: the rater chose model_a's reply, alone or with others"),
    _more("selected_b", "flag", "1: the rater chose model_b's reply, alone or with others"),
    _more("n_models", "integer", "models that were shown together"),
    _more("both_bad", "flag", "1: the rater said that both are bad; winner is tie"),
    _more("automatic", "flag", "1: nothing was asked, as all replies of the turn were the same"),
    _more("reason", "text", "the rater's written reason"),
    _QUESTION,
    _STATUS,
)

_RATINGS = (
    _must("dialogue_id", "text", "the rated dialogue"),
    _must("worker_id", "text", "pseudonym of the rater"),
    _must("technique", "text", "evaluation technique, e.g. direct_assessment"),
    _must("setting", "text", "variant of the technique, empty where it has none", empty_ok=True),
    _must("model", "text", "model that was rated; names joined by ; where several spoke as one partner"),
    _must("criterion", "text", "what was rated, e.g. fluent"),
    _must("rating", "number", "as the rater gave it: not reversed, not standardised"),
    _must("reversed", "flag", "1: a high rating is a bad one", empty_ok=True),
    _must("is_quality_control", "flag", "1: of the degraded model, which is there to check raters", empty_ok=True),
    _more("statement", "text", "the statement or question exactly as the rater saw it"),
    _more("scale", "text", "likert or slider"),
    _more("minimum", "number", "lowest rating possible"),
    _more("maximum", "number", "highest rating possible"),
    _more("session", "text", "unit of work that holds several dialogues, where one does"),
    _more("conversation", "integer", "place of the dialogue in its session, from 1"),
    _more("metric", "text", "what the dialogue's question is about, where it has one"),
    _more("seconds", "number", "from all questions of the dialogue shown to answered"),
    _STATUS,
)

_POINTS = (
    _must("dialogue_id", "text", "the rated dialogue"),
    _must("worker_id", "text", "pseudonym of the rater"),
    _must("technique", "text", "evaluation technique, e.g. free_for_all"),
    _must("setting", "text", "variant of the technique, empty where it has none", empty_ok=True),
    _must("model", "text", "one of the models of the dialogue"),
    _must("points", "integer", "turns in which its reply was chosen"),
    _must("rank", "integer", "1: most points; equal points share the better rank"),
    _must("n_turns", "integer", "turns of the dialogue that were answered"),
    _more("metric", "text", "what the question is about, e.g. preference"),
    _more("started", "text", "when the dialogue began: ISO 8601, UTC"),
    _STATUS,
)

TABLES: Mapping[TableName, tuple[Column, ...]] = {
    "turns": _TURNS,
    "dialogues": _DIALOGUES,
    "comparisons": _COMPARISONS,
    "ratings": _RATINGS,
    "points": _POINTS,
}

TABLE_DESCRIPTIONS: Mapping[TableName, str] = {
    "turns": "A row per candidate reply, in turns answered and not. One that failed keeps its row, though not shown.",
    "dialogues": "A row per dialogue, finished and not. Columns that hold JSON stand last.",
    "comparisons": "A row per answered comparison of two models: a pair of replies of a turn, or a verdict at the end.",
    "ratings": "A row per dialogue, model and criterion, of the ratings at the end of a dialogue.",
    "points": "A row per dialogue and model, where replies are chosen from several.",
}

COLUMNS: Mapping[TableName, Mapping[str, str]] = {
    table: {column.name: column.description for column in columns} for table, columns in TABLES.items()
}
"""Table → column → meaning."""
