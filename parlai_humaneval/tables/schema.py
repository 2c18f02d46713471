"""The columns of the tidy tables: names, types and meanings, in one place, and listed as text.

``exchange`` columns are those that a table from anywhere must have; the others are what our own records hold besides, and
are empty where a table from elsewhere lacks them. Columns that are not listed here pass through. An empty text is a
missing value: CSV cannot tell them apart.

Ticks that say what is wrong with a reply, so that fewer is better: told by their names, where nothing else tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

_PROBLEM = re.compile(
    # ParlAI calls its buckets of problems so where nobody names them.
    r"bucket_\d+"
    r"|(\w+_)?(contradict\w*|inconsisten\w*|incoheren\w*|incorrect|irrelevan\w*|misinformation|hallucinat\w*|problems?)"
    r"|(non_?sens\w*|repetit\w*|repeat\w*|redundan\w*|robotic|bias\w*|toxic\w*|offensive|unsafe|rude|wrong|bad|boring)"
    r"|off_topic|generic|ignor\w*|disfluen\w*|non_fluent|ungrammatical|lack_of_\w+|lacks_\w+|not_\w+"
)
_GOOD = re.compile(
    r"engag\w*|human_?(like|ness)?|interesting\w*|appropriate|consisten\w*|coheren\w*|fluen\w*|fun|good|natural\w*"
    r"|sensib\w*|makes_sense|specific\w*|relevan\w*|on_topic|(factually_)?correct|factual|informative\w*"
    r"|knowledgeable|empath\w*|helpful\w*|polite\w*|safe"
)


def is_problem(name: str, *, otherwise: bool = False) -> bool:
    """Whether what is ticked under ``name`` is a problem of a reply. ``otherwise``: of names that are not known."""
    plain = re.sub(r"[\s-]+", "_", name.strip().lower())
    return _PROBLEM.fullmatch(plain) is not None or (otherwise and _GOOD.fullmatch(plain) is None)


Kind = Literal["text", "integer", "number", "flag"]


@dataclass(frozen=True)
class Column:
    """``flag`` is 0 or 1. ``empty_ok``: a missing value is allowed. ``allowed``: the only values, where it is so."""

    name: str
    kind: Kind
    description: str
    exchange: bool = False
    empty_ok: bool = False
    allowed: tuple[str | int, ...] = ()


def must(
    name: str, kind: Kind, description: str, empty_ok: bool = False, allowed: tuple[str | int, ...] = ()
) -> Column:
    """A column of the exchange format."""
    return Column(name, kind, description, exchange=True, empty_ok=empty_ok, allowed=allowed)


def more(name: str, kind: Kind, description: str) -> Column:
    """A column that our own records fill besides."""
    return Column(name, kind, description, empty_ok=True)


TIE = "tie"
"""``winner`` where both candidates were chosen, or none."""

HUMAN = "human"
"""Name of a person among the speakers of a dialogue, and the label of one who was taken for a person."""

LABELS = (HUMAN, "unsure", "bot")
SIGNS = (-1, 0, 1)
FEATURES = ("fluent", "sensible", "specific")
"""Features of Spot The Bot, as columns."""

_JUDGED_STATUS = more(
    "dialogue_status", "text", "of the judgement: running, complete, partial (left or cut off) or failed"
)

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
    _JUDGED_STATUS,
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
    more("question", "text", "the questions as the rater saw them (in English), joined by a line break"),
    more("language", "text", "of the rater's page, such as en or zh"),
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

_OF_JUDGES = (
    must("rater_kind", "text", "judge: a model answered, and no person", allowed=("judge",)),
    must("judge", "text", "name of the judge; worker_id is the same"),
    must("order", "integer", "1: the candidates in the order that a rater saw; 2: the other way round", allowed=(1, 2)),
)
_OF_JUDGEMENTS_BY_JUDGES = (
    must("outcome", "text", "answered, refused (or silent), or unparsable: nobody can tell what was chosen"),
    more("reminded", "flag", "1: its first answer could not be read, and it was asked once more"),
    more("judge_version", "text", "digest of all that shapes its answers: model, options, prompt, format, seed"),
    more("package_version", "text", "of the package that asked"),
    more("judge_model", "text", "zoo name of its model"),
    more("served_model", "text", "the name by which its server calls the model"),
    more("family", "text", "models of the same house as the judge's own, joined by ;"),
    more("prompt", "text", "JSON list: what was sent"),
    more("reply", "text", "JSON list: what came back"),
    more("prompt_tokens", "integer", "tokens that its server read, of all requests for this answer"),
    more("completion_tokens", "integer", "tokens that it wrote"),
    more("estimated", "flag", "1: the tokens were not told, but estimated by letters"),
    more("cost", "number", "what the answer cost, in currency"),
    more("currency", "text", "of the cost"),
)


TableName = Literal["turns", "dialogues", "comparisons", "ratings", "points", "segments", "judgements"]

_QUESTION = more("question", "text", "the question as the rater saw it; in English, whatever language the page spoke")
_STATUS = more("dialogue_status", "text", "running, complete, partial (left or cut off) or failed")

_TURNS = (
    must("dialogue_id", "text", "the rated dialogue"),
    must("worker_id", "text", "pseudonym of the rater"),
    must("technique", "text", "evaluation technique, e.g. pw_turn"),
    must("setting", "text", "variant of the technique, empty where it has none", empty_ok=True),
    must("metric", "text", "what the question is about, e.g. preference"),
    must("turn", "integer", "turn of the Bot Speaker, from 1"),
    must("model", "text", "model that wrote this candidate"),
    must("position", "integer", "place of the candidate as shown, from 1 (top or left); 0: failed, or not known"),
    must("selected", "flag", "1: the rater chose this candidate"),
    must("continued", "flag", "1: the dialogue went on with this candidate"),
    must(
        "written",
        "flag",
        "1: the dialogue went on with a reply that the rater wrote (every row of that turn)",
    ),
    must("seconds", "number", "from candidates shown to answer; empty where unanswered", empty_ok=True),
    more("candidate_id", "text", "the candidate, unique within its dialogue"),
    more("text", "text", "the reply as shown"),
    more("raw_text", "text", "the model's own text where it was shown otherwise, or not at all; else empty"),
    more("masked", "flag", "1: words that gave the model away or were offensive were replaced"),
    more("changes", "text", "what else was changed of the reply before it was shown, joined by ;"),
    more(
        "blocked",
        "text",
        "why nobody could see it: the response filter, or nothing but thoughts; empty: it was not refused",
    ),
    more(
        "withdrawn",
        "text",
        "JSON list: what the model said before in this turn, and why it was asked again; empty: it was asked once",
    ),
    more("thoughts", "text", "what the model thought before it replied, which no rater saw"),
    more("latency_s", "number", "seconds the model took to reply"),
    more("human_text", "text", "what the Human Speaker said before"),
    more("human_fixed", "flag", "1: that message was given, not typed (the opening “Hi!”)"),
    more("written_text", "text", "the reply the rater wrote, if any"),
    more("reason", "text", "the rater's written reason for the choice of this turn"),
    more("complete", "flag", "1: this turn was answered"),
    more("none_said", "flag", "1: the rater said that no reply fits, or that none of the ticks applies"),
    more("ticks", "text", "what the rater ticked of this reply, joined by ;"),
    more("tick_choices", "text", "what could be ticked, joined by ;. Empty where ticks were not asked"),
    more("tick_problems", "text", "which of them are problems, so that fewer is better; empty: by their names"),
    more("automatic", "flag", "1: nothing was asked, as all replies of the turn were the same"),
    more("same_as", "text", "candidate_id under which this reply was shown, where two models said the same"),
    more("failed", "flag", "1: blank or refused replies only; this row was not shown and could not be chosen"),
    more("human_suggested", "flag", "1: the Human Speaker's message is one of the openings that the page offered"),
    more("continued_each", "flag", "1: nothing was chosen, every model went on with its own reply"),
    _QUESTION,
    _STATUS,
    more("judgement_id", "text", "of a finished dialogue that was rated once more: the judgement of the new rater"),
    more(
        "rank", "integer", "place that the new rater gave the reply, 1 the best; then selected is 1 for the best place"
    ),
    more("served_model", "text", "of a model that a server has: the name by which the server calls it"),
    more("prompt_tokens", "integer", "tokens that the server read for this reply"),
    more("completion_tokens", "integer", "tokens that it wrote"),
    more("cost", "number", "what the reply cost, in currency"),
    more("currency", "text", "of the cost"),
    more("finish_reason", "text", "why the server's model stopped, e.g. length"),
    more("requests", "integer", "requests that the server was sent for this reply"),
    more("outage_s", "number", "of latency_s: seconds for which the server was out; empty: it was not"),
    more(
        "turns_left_out", "integer", "oldest turns of the dialogue that the model did not read; empty: it read them all"
    ),
    more("own_worker", "text", "pseudonym of the dialogue's own rater, where it was rated once more by worker_id"),
    more("own_selected", "flag", "1: the dialogue's own rater chose this candidate"),
    more("own_ticks", "text", "what the dialogue's own rater ticked of this reply, joined by ;"),
    more("own_asked", "flag", "1: the dialogue's own rater was asked about this turn"),
    more("own_technique", "text", "technique of the dialogue's own rating"),
    more("own_setting", "text", "setting of the dialogue's own rating"),
)

_DIALOGUES = (
    must("dialogue_id", "text", "the rated dialogue"),
    must("worker_id", "text", "pseudonym of the rater"),
    must("technique", "text", "evaluation technique, e.g. pw_turn"),
    must("setting", "text", "variant of the technique, empty where it has none", empty_ok=True),
    must("started", "text", "when it began: ISO 8601, UTC", empty_ok=True),
    must("seconds", "number", "from beginning to end; empty where it did not end", empty_ok=True),
    must("n_turns", "integer", "turns that were answered"),
    must("complete", "flag", "1: the dialogue was finished"),
    more("status", "text", "running, complete, partial (left or cut off) or failed"),
    more("failure", "text", "what went wrong, where the status is failed"),
    more("n_turns_started", "integer", "turns begun: answered ones and the one that was cut off"),
    more("metric", "text", "what the question is about, e.g. preference"),
    _QUESTION,
    more("language", "text", "of the rater's page, such as en or zh"),
    more("models", "text", "names of the models, joined by ;"),
    more("topic", "text", "what the dialogue was to be about, if anything"),
    more("topic_source", "text", "free (the rater named it) or icebreaker (it was given)"),
    more("opinion", "text", "what the rater thinks of the topic: liked, ambivalent or disliked"),
    more("session", "text", "unit of work that holds several dialogues, where one does"),
    more("conversation", "integer", "place of the dialogue in its session, from 1"),
    more("conversations", "integer", "dialogues of the session"),
    more("quality_control_model", "text", "the degraded model of the session, if any"),
    more("verdict", "text", "of two partners side by side: a, b, tie or both_bad"),
    more("verdict_model", "text", "name of the better one of them"),
    more("ended_by_rater", "flag", "1: the rater ended the conversation"),
    more("final_seconds", "number", "from the last questions shown to answered"),
    more("prompt_tokens", "integer", "tokens that servers read for all replies of the dialogue"),
    more("completion_tokens", "integer", "tokens that they wrote"),
    more("cost", "number", "what the replies cost, in currency; empty where nothing is known or currencies differ"),
    more("currency", "text", "of the cost"),
    more("feedback", "text", "the rater's free text at the end"),
    more("checks_failed", "text", "names of the quality checks that this dialogue failed, joined by ;. Empty: none"),
    more("refused_answers", "integer", "answers that the server refused (unknown candidate, no reason …)"),
    # Text, as a seed may need more bits than an integer column has.
    more("seed", "text", "whole number: seed of the order of candidates, and of what models draw"),
    more("task_name", "text", "name of the task"),
    more("task_run_id", "text", "launch of the task"),
    more("unit_id", "text", "unit of work"),
    more("assignment_id", "text", "assignment of the unit"),
    more("schema_version", "integer", "version of the record that this row was read from"),
    # JSON comes last: it is hard to read in a spreadsheet, and long.
    more("model_settings", "text", "JSON list: name, options, description and source of each model"),
    more("settings", "text", "JSON object: full setting of the technique"),
    more("persona", "text", "JSON list: the Human Speaker's persona sentences"),
    more("topic_changes", "text", "JSON list: turn and text of each new topic that the rater noted"),
    more("context", "text", "JSON object: all of the context, also the models' personas and the opening lines"),
    more("turn_criteria", "text", "JSON list: what could be ticked at each turn, as it was worded"),
    more("final_ratings", "text", "JSON object: answers at the end of the dialogue (tidy in the table ratings)"),
    more("checks", "text", "JSON object: each quality check by name, with verdict and reason; and the practice"),
)

_COMPARISONS = (
    must(
        "item_id",
        "text",
        "what was compared: dialogue_id:turn (with more than two models a row for each pair), dialogue_id:verdict, or "
        "two finished dialogues (the same id for everybody who judged them)",
    ),
    must("worker_id", "text", "pseudonym of the rater"),
    must("metric", "text", "what the question is about, e.g. preference"),
    must("model_a", "text", "the model whose name comes first in the alphabet"),
    must("model_b", "text", "the other model"),
    must(
        "dialogue_a",
        "text",
        "dialogue in which model_a spoke; empty where finished dialogues have no ids: then each item has its own two",
        empty_ok=True,
    ),
    must(
        "dialogue_b",
        "text",
        "dialogue in which model_b spoke (the same one when replies of a turn are compared)",
        empty_ok=True,
    ),
    must("winner", "text", "the model that was chosen where the other was not, or ranked better; or tie"),
    must("seconds", "number", "from shown to answered", empty_ok=True),
    more("technique", "text", "evaluation technique, e.g. pw_turn"),
    more("setting", "text", "variant of the technique"),
    more("turn", "integer", "turn of the Bot Speaker, from 1"),
    more("position_a", "integer", "place of model_a's reply as shown, from 1"),
    more("selected_a", "flag", "1: the rater chose model_a's reply, alone or with others"),
    more("selected_b", "flag", "1: the rater chose model_b's reply, alone or with others"),
    more("n_models", "integer", "models that were shown together"),
    more("both_bad", "flag", "1: the rater said that both are bad; winner is tie"),
    more("tied", "flag", "1: nobody won, 0: winner is a model's name; empty: nobody won where winner is tie"),
    more("automatic", "flag", "1: nothing was asked, as all replies of the turn were the same"),
    more("reason", "text", "the rater's written reason"),
    _QUESTION,
    _STATUS,
    more("judgement_id", "text", "of finished dialogues: one rater's judgement; its metrics share it"),
    more("side", "integer", "of two dialogues side by side: where that of model_a stood, 1 left or 2 right"),
    more("rank_a", "integer", "place that the rater gave model_a's reply, where replies were ranked; 1 the best"),
    more("rank_b", "integer", "place of model_b's reply"),
    more("own_worker", "text", "pseudonym of the dialogue's own rater, where it was rated once more by worker_id"),
    more("own_winner", "text", "the winner by the dialogue's own rater; tie; empty where they were not asked"),
    more("own_tied", "flag", "1: own_winner is nobody, 0: it is a model's name; empty: nobody where it is tie"),
)

_RATINGS = (
    must("dialogue_id", "text", "the rated dialogue"),
    must("worker_id", "text", "pseudonym of the rater"),
    must("model", "text", "model that was rated; names joined by ; where several spoke as one partner"),
    must("criterion", "text", "what was rated, e.g. fluent"),
    must("value", "number", "as the rater gave it: not reversed, not standardised"),
    must("degraded", "flag", "1: of the degraded model, which is there to check raters", empty_ok=True),
    more("technique", "text", "evaluation technique, e.g. direct_assessment"),
    more("setting", "text", "variant of the technique, empty where it has none"),
    more("reversed", "flag", "1: a high rating is a bad one; without the column, of robotic and repetitive"),
    more("statement", "text", "the statement or question exactly as the rater saw it"),
    more("scale", "text", "likert, slider or points"),
    more("minimum", "number", "lowest rating possible"),
    more("maximum", "number", "highest rating possible"),
    more("session", "text", "unit of work that holds several dialogues, where one does"),
    more("conversation", "integer", "place of the dialogue in its session, from 1"),
    more("metric", "text", "what the dialogue's question is about, where it has one"),
    more("seconds", "number", "from all questions of the dialogue shown to answered"),
    _STATUS,
    more("judgement_id", "text", "of a finished dialogue: the judgement of the rater who read it"),
    more("own_worker", "text", "pseudonym of the dialogue's own rater, where it was rated once more by worker_id"),
    more("own_value", "number", "rating by the dialogue's own rater"),
    more("own_technique", "text", "technique of the dialogue's own rating"),
    more("own_setting", "text", "setting of the dialogue's own rating"),
)

_POINTS = (
    must("dialogue_id", "text", "the rated dialogue"),
    must("worker_id", "text", "pseudonym of the rater"),
    must("technique", "text", "evaluation technique, e.g. free_for_all"),
    must("setting", "text", "variant of the technique, empty where it has none", empty_ok=True),
    must("model", "text", "one of the models of the dialogue"),
    must("points", "integer", "turns in which its reply was chosen"),
    must("rank", "integer", "1: most points; equal points share the better rank"),
    must("n_turns", "integer", "turns of the dialogue that were answered"),
    more("metric", "text", "what the question is about, e.g. preference"),
    more("started", "text", "when the dialogue began: ISO 8601, UTC"),
    _STATUS,
)

_OF_EVERY_TABLE = (
    more("simulated", "flag", "1: the rater is a program, 0: a person. Empty: not known"),
    more(
        "answer_number",
        "integer",
        "2, 3 …: the worker's second or further answer to the same, kept by --repeats keep and numbered in its ids too",
    ),
)


def _with_shared(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """The columns with those that every table has, after the ones that must be there."""
    needed = tuple(column for column in columns if column.exchange)
    return (*needed, *_OF_EVERY_TABLE, *(column for column in columns if not column.exchange))


TABLES: Mapping[TableName, tuple[Column, ...]] = {
    "turns": _with_shared(_TURNS),
    "dialogues": _with_shared(_DIALOGUES),
    "comparisons": _with_shared(_COMPARISONS),
    "ratings": _with_shared(_RATINGS),
    "points": _with_shared(_POINTS),
    "segments": _with_shared(SEGMENTS),
    "judgements": _with_shared(JUDGEMENTS),
}

JUDGE_COLUMNS: Mapping[TableName, tuple[Column, ...]] = {
    name: (*_OF_JUDGES, *(_OF_JUDGEMENTS_BY_JUDGES if name == "judgements" else ())) for name in TABLES
}
"""Columns that the tables of judges have besides, which stand in a folder of their own."""

_STUDY = ("technique", "setting", "metric")

KEYS: Mapping[TableName, tuple[str, ...]] = {
    "turns": ("dialogue_id", "worker_id", "judgement_id", *_STUDY, "turn", "model", "position"),
    "dialogues": ("dialogue_id", "worker_id"),
    "comparisons": ("item_id", "worker_id", "judgement_id", *_STUDY, "model_a", "model_b", "dialogue_a", "dialogue_b"),
    "ratings": ("dialogue_id", "worker_id", "judgement_id", *_STUDY, "model", "criterion"),
    "points": ("dialogue_id", "model"),
    "segments": ("dialogue_id", "worker_id", "judgement_id", *_STUDY, "k", "entity"),
    "judgements": ("judgement_id",),
}
"""Columns that name a row: no two rows of a table may share them all."""

TABLE_DESCRIPTIONS: Mapping[TableName, str] = {
    "turns": "A row per candidate reply, in turns answered and not. One that failed keeps its row, though not shown.",
    "dialogues": "A row per dialogue, finished and not. Columns that hold JSON stand last.",
    "comparisons": "A row per answered comparison of two models: a pair of replies of a turn, a verdict at the end, or "
    "two finished dialogues under one metric.",
    "ratings": "A row per dialogue, model and criterion, of the ratings at the end of a dialogue.",
    "points": "A row per dialogue and model, where replies are chosen from several.",
    "segments": "A row per speaker who was judged in the beginning of a finished dialogue, people among them.",
    "judgements": "A row per judgement of finished dialogues, finished and not; attention checks stand here alone.",
}

COLUMNS: Mapping[TableName, Mapping[str, str]] = {
    table: {column.name: column.description for column in columns} for table, columns in TABLES.items()
}
"""Table → column → meaning."""


_KINDS = {"text": "text", "integer": "whole number", "number": "number", "flag": "0 or 1"}


def listed_columns(table: TableName) -> str:
    """The columns that a table from elsewhere must have, each with kind and meaning, then the names of the others."""
    return "\n".join(_listed(table))


def _listed(table: TableName) -> Iterator[str]:
    yield f"{table}: {TABLE_DESCRIPTIONS[table]}"
    yield "Required:"
    for column in TABLES[table]:
        if column.exchange:
            yield f"  {column.name} ({_kind(column)}): {column.description}"
    others = ", ".join(column.name for column in TABLES[table] if not column.exchange)
    yield f"Read where they are there: {others}."


def _kind(column: Column) -> str:
    return _KINDS[column.kind] + (", may be empty" if column.empty_ok else "")


def required_columns() -> str:
    """A Markdown table: the columns that each table from elsewhere must have; * where cells may be empty."""
    lines = ["| table | required columns (*: the cells may be empty) |", "|---|---|"]
    for table, columns in TABLES.items():
        names = ", ".join(f"`{c.name}`{'*' if c.empty_ok else ''}" for c in columns if c.exchange)
        lines.append(f"| `{table}` | {names} |")
    return "\n".join(lines)
