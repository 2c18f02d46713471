"""Votes and ratings of the releases in samples, by plain counting in the files themselves."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).parent / "samples" / "releases"
Vote = tuple[str, str, str]
"""Both models in the order of the alphabet, and the winner or ``tie``."""
Rating = tuple[str, str, float]
"""Model, criterion and value."""


def rows_of(name: str) -> Any:  # a list of rows, or one object, as the file has it
    text = (SAMPLES / name).read_text(encoding="utf-8")
    if name.endswith(".csv"):
        return list(csv.DictReader(text.splitlines()))
    return [json.loads(line) for line in text.splitlines()] if name.endswith("l") else json.loads(text)


def vote(first: str, second: str, side: int | None) -> Vote:
    """``side``: 0 for the first, 1 for the second, None for a tie."""
    a, b = sorted((first, second))
    return a, b, "tie" if side is None else (first, second)[side]


def arena(name: str) -> Iterator[Vote]:
    for row in rows_of(name):
        yield vote(row["model_a"], row["model_b"], {"model_a": 0, "model_b": 1}.get(row["winner"]))


def server_log(name: str) -> Iterator[Vote]:
    sides = {"leftvote": 0, "rightvote": 1, "tievote": None, "bothbad_vote": None}
    for row in rows_of(name):
        if row["type"] in sides:
            yield vote(*(state["model_name"] for state in row["states"]), sides[row["type"]])


def one_hot(name: str) -> Iterator[Vote]:
    for row in rows_of(name):
        side = None if row["winner_tie"] == "1" else int(row["winner_model_b"])
        yield vote(row["model_a"], row["model_b"], side)


def alpaca(name: str) -> Iterator[Vote]:
    for row in rows_of(name):
        if row["preference"] is not None:
            side = None if row["preference"] == 1.5 else int(row["preference"] > 1.5)
            yield vote(row["generator_1"], row["generator_2"], side)


def pairs(name: str) -> Iterator[Vote]:
    return (vote(row["chosen_model"], row["rejected_model"], 0) for row in rows_of(name))


def summaries(name: str) -> Iterator[Vote]:
    return (vote(*(one["policy"] for one in row["summaries"]), row["choice"]) for row in rows_of(name))


def acute(name: str) -> Iterator[Vote]:
    return (vote(row["winner"], row["loser"], 0) for row in rows_of(name))


def per_turn(name: str) -> Iterator[Vote]:
    for row in rows_of(name):
        if row["human_choice"]:
            models = row["model_pair_nickname"].split(":")
            yield vote(models[0], models[1], models.index(row["human_choice"]))


def label_studio_pairs(name: str) -> Iterator[Vote]:
    for task in rows_of(name):
        for annotation in task["annotations"]:
            if not annotation["was_cancelled"]:
                side = annotation["result"][0]["value"]["selected"] == "right"
                yield vote(task["data"]["model_a"], task["data"]["model_b"], int(side))


def potato_pairs(name: str) -> Iterator[Vote]:
    items = {row["id"]: row for row in rows_of("potato_pair_items.jsonl")}
    for user in ("ann", "ben"):
        for item, given in rows_of(f"{name}/{user}/user_state.json")["instance_id_to_label_to_value"].items():
            (label,) = given["better"]["labels"]
            yield vote(items[item]["model_a"], items[item]["model_b"], {"A": 0, "B": 1}.get(label))


def mturk(name: str) -> Iterator[Vote]:
    sides = {"left": 0, "right": 1, "no difference": None}
    for row in rows_of(name):
        if row["AssignmentStatus"] != "Rejected":
            yield vote(row["Input.model_a"], row["Input.model_b"], sides[row["Answer.choice"]])


def prodigy(name: str) -> Iterator[Vote]:
    for row in rows_of(name):
        yield vote(row["meta"]["model_a"], row["meta"]["model_b"], "AB".index(row["accept"][0]))


def judge_pairs(name: str) -> Iterator[Vote]:
    """FastChat's rule: who does not win from both sides ties."""
    for row in rows_of(name):
        both = [row["g1_winner"], row["g2_winner"]]
        if "error" not in both:
            side = {"model_1": 0, "model_2": 1}.get(both[0]) if both[0] == both[1] else None
            yield vote(row["model_1"], row["model_2"], side)


def acute_lines(name: str) -> Iterator[Vote]:
    """Without the pair of the onboarding."""
    for row in rows_of(name):
        if not row["is_onboarding"]:
            yield vote(*row["speakers_to_eval"], row["speakers_to_eval"].index(row["speakerChoice"]))


def arena_hard(name: str) -> Iterator[Vote]:
    """By Arena-Hard's own table of scores: in the first game the baseline is A, in the second the model."""
    worth = {"A>B": 0, "A>>B": 0, "A=B": None, "B>A": 1, "B>>A": 1}
    for row in rows_of(name):
        for game, shown in zip(row["games"], (("baseline", row["model"]), (row["model"], "baseline")), strict=True):
            if game["score"] is not None:
                yield vote(*shown, worth[game["score"]])


def pandalm(name: str) -> Iterator[Vote]:
    for row in rows_of(name):
        first, second = row["cmp_key"].split("_")
        yield from (vote(first, second, (None, 0, 1)[row[f"annotator{number}"]]) for number in (1, 2, 3))


VOTES: dict[str, tuple[str, Callable[[str], Iterable[Vote]], int]] = {
    "arena_conversations.jsonl": ("arena", arena, 5),
    "arena_votes.jsonl": ("arena", arena, 4),
    "arena_one_hot.csv": ("arena", one_hot, 9),
    "mt_bench_human.jsonl": ("arena", arena, 3),
    "fastchat_server_log.jsonl": ("arena", server_log, 3),
    "alpaca_annotations.json": ("alpaca_eval", alpaca, 1),
    "preference_pairs.jsonl": ("hh_rlhf", pairs, 8),
    "summaries.jsonl": ("hh_rlhf", summaries, 3),
    "run.full.csv": ("acute_eval", acute, 4),
    "acute_lines.jsonl": ("acute_pairs", acute_lines, 3),
    "per_turn_results.csv": ("pairwise_per_turn_eval", per_turn, 3),
    "label_studio_pairs.json": ("label_studio", label_studio_pairs, 2),
    "potato_pairs": ("potato", potato_pairs, 2),
    "mturk_batch.csv": ("mturk", mturk, 3),
    "prodigy_choices.jsonl": ("prodigy", prodigy, 2),
    "mt_bench_judge_pairs.jsonl": ("arena", judge_pairs, 1),
    "arena_hard.jsonl": ("arena", arena_hard, 1),
    "pandalm_testset.json": ("pandalm", pandalm, 3),
}
"""File → release, its votes by plain counting, and how many raters it has."""
ITEMS = {"potato": "potato_items.jsonl", "potato_pairs": "potato_pair_items.jsonl"}


def paths_of(name: str) -> list[Path]:
    return [SAMPLES / name, *([SAMPLES / ITEMS[name]] if name in ITEMS else [])]


def sheets(name: str) -> Iterator[Rating]:
    for row in rows_of(name):
        for reply in row["responses"]:
            for criterion in ("Understandable", "Natural", "Overall"):
                yield from ((reply["model"], criterion, value) for value in reply[criterion])


def fed(name: str) -> Iterator[Rating]:
    for row in rows_of(name):
        for criterion, values in row["annotations"].items():
            yield from ((row["system"], criterion, value) for value in values)


def inspect_log(name: str) -> Iterator[Rating]:
    for sample in rows_of(name)["samples"]:
        worth = {"C": 1, "P": 0.5, "I": 0, "N": 0}[sample["scores"]["model_graded_qa"]["value"]]
        yield "lab/heron", "model_graded_qa", worth
        yield "lab/heron", "kind", sample["scores"]["kind"]["value"]


def lm_eval(name: str) -> Iterator[Rating]:
    return (("heron", "judge_score", row["judge_score"]) for row in rows_of(name))


def final_ratings(name: str) -> Iterator[Rating]:
    for row in rows_of(name):
        if row["final_rating"]:
            yield row["model_nickname"], "final_rating", float(row["final_rating"])


def label_studio(name: str) -> Iterator[Rating]:
    words = {"Disagree": 2, "Agree": 4, "Strongly agree": 5}
    for task in rows_of(name):
        for annotation in task["annotations"]:
            rating, choice = (one["value"] for one in annotation["result"])
            yield task["data"]["model"], "fluency", rating["rating"]
            yield task["data"]["model"], "useful", words[choice["choices"][0]]


def label_studio_min(name: str) -> Iterator[Rating]:
    return ((row["model"], "fluency", row["fluency"]) for row in rows_of(name))


def labelbox(name: str) -> Iterator[Rating]:
    for row in rows_of(name):
        for label in row["projects"]["p"]["labels"]:
            (given,) = label["annotations"]["classifications"]
            yield row["metadata_fields"][0]["value"], given["name"], float(given["radio_answer"]["name"])


def doccano(name: str) -> Iterator[Rating]:
    words = {"bad": 2, "good": 4, "very good": 5}
    return ((row["model"], "label", words[row["label"][0]]) for row in rows_of(name))


def potato(name: str) -> Iterator[Rating]:
    models = {row["id"]: row["model"] for row in rows_of("potato_items.jsonl")}
    for user in ("ann", "ben"):
        for row in rows_of(f"{name}/{user}/annotated_instances.jsonl"):
            given = row["label_annotations"]
            yield models[row["id"]], "fluent", int(next(iter(given["fluent"].values())))
            yield models[row["id"]], "useful", 4
            yield models[row["id"]], "warmth", int(given["warmth"]["slider"])


def judge_scores(name: str) -> Iterator[Rating]:
    return ((row["model"], "score", row["score"]) for row in rows_of(name))


def prism(name: str) -> Iterator[Rating]:
    return ((row["model_name"], "score", row["score"]) for row in rows_of(name))


def summeval(name: str) -> Iterator[Rating]:
    for row in rows_of(name):
        for given in row["expert_annotations"]:
            yield from ((row["model_id"], criterion, value) for criterion, value in given.items())


def ultrafeedback(name: str) -> Iterator[Rating]:
    for row in rows_of(name):
        for one in row["completions"]:
            yield from ((one["model"], name, float(given["Rating"])) for name, given in one["annotations"].items())


def argilla(name: str) -> Iterator[Rating]:
    for row in rows_of(name):
        yield from ((row["metadata"]["model"], "quality", one["value"]) for one in row["responses"]["quality"])


def convai2(name: str) -> Iterator[Rating]:
    """Of the last two dialogues, as the first was not scored; in the third the bot is the first participant."""
    for row in rows_of(name)[1:]:
        (bot,) = (one["user_id"] for key, one in row.items() if key.endswith("_id") and one["class"] == "Bot")
        yield from ((bot, criterion, row[criterion]) for criterion in ("eval_score", "profile_match"))


def see2019(name: str) -> Iterator[Rating]:
    for row in rows_of(name):
        yield from ((row["model_name"], criterion, value) for criterion, value in row["evaluation_results"].items())


def see2019_dialogue(name: str) -> Iterator[Rating]:
    row: Any = rows_of(name)
    asked = ["engagingness", "interestingness", "listening", "consistency", "inquisitiveness", "repetitiveness"]
    for criterion in (*asked, "humanness", "fluency", "persona"):
        yield row["model_config"], criterion, float(row[criterion][0])


RATINGS: dict[str, tuple[str, Callable[[str], Iterable[Rating]], int]] = {
    "usr_sheet.json": ("usr", sheets, 27),
    "fed_sheet.json": ("fed", fed, 30),
    "inspect_log.json": ("inspect", inspect_log, 2),
    "heron/samples_chat_2025-01-01.jsonl": ("lm_eval", lm_eval, 1),
    "model_chat_results.csv": ("model_chat", final_ratings, 4),
    "label_studio_ratings.json": ("label_studio", label_studio, 2),
    "label_studio_min.json": ("label_studio", label_studio_min, 2),
    "labelbox.jsonl": ("labelbox", labelbox, 2),
    "doccano.jsonl": ("doccano", doccano, 4),
    "potato": ("potato", potato, 2),
    "mt_bench_judge_scores.jsonl": ("arena", judge_scores, 1),
    "prism_utterances.jsonl": ("prism", prism, 2),
    "summeval.jsonl": ("summeval", summeval, 3),
    "ultrafeedback.jsonl": ("ultrafeedback", ultrafeedback, 1),
    "argilla_records.json": ("argilla", argilla, 2),
    "convai2_volunteers.json": ("convai2", convai2, 2),
    "see2019_logs.jsonl": ("controllable_dialogue", see2019, 1),
    "see2019_dialogue.json": ("controllable_dialogue", see2019_dialogue, 1),
}
